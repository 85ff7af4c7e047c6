"""``kernlint check``: many files, one finding a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import click

from kernlint.cli.check_changes import deliver, fixed_outcome, tell_fixes, with_ignores, write_baseline
from kernlint.cli.check_options import (
    check_overrides,
    checked_facts,
    choice_of,
    ignores_by_file,
    opened_cache,
    refuse_together,
    require_working_folder,
    severities_by_rule,
    split_names,
)
from kernlint.cli.check_report import FOR_PEOPLE, print_report, print_settings, report_of, tell_of_run
from kernlint.cli.completion import complete_folder, complete_rule
from kernlint.cli.options import (
    config_option,
    device_option,
    exclude_option,
    isolated_option,
    jobs_option,
    list_devices,
    reference_option,
    set_option,
)
from kernlint.cli.streams import encodable
from kernlint.errors import UsageError

if TYPE_CHECKING:
    from kernlint.lint.baseline import Baseline
    from kernlint.lint.config import Configurations
    from kernlint.lint.discovery import Target
    from kernlint.lint.model import Finding
    from kernlint.lint.run import Outcome


_SEVERITY = click.Choice(["error", "warning", "info"])


_FORMATS = ["text", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson"]


#: The formats that carry fixes; for the others they are not worked out.
_WITH_FIXES = frozenset({"json", "json-lines", "rdjson", "sarif"})


#: The formats that `--statistics` has.
_COUNTED = ("text", "concise", "json", "json-lines")


_FINDINGS = 1


_STDIN_NAME = "<stdin>"


@click.command()
@click.argument("paths", metavar="[PATH]...", type=click.Path(), nargs=-1)
@click.option(
    "--select",
    metavar="RULES",
    multiple=True,
    shell_complete=complete_rule,
    help="Run these rules only: codes, prefixes, names, ALL.",
)
@click.option(
    "--extend-select", metavar="RULES", multiple=True, shell_complete=complete_rule, help="Run these rules too."
)
@click.option("--ignore", metavar="RULES", multiple=True, shell_complete=complete_rule, help="Do not run these rules.")
@click.option(
    "--per-file-ignores", metavar="PATTERN:RULES", multiple=True, help="Do not run these rules on these files."
)
@click.option("--severity", metavar="RULES=LEVEL", multiple=True, help="Report these rules as error, warning or info.")
@device_option("GPU that gains are predicted for; `list` shows all.  [default: h100-sxm]")
@reference_option
@set_option
@click.option("--assume", "assumptions", metavar="FACT", multiple=True, help="A fact, as for `kernlint PATH`.")
@click.option(
    "--project/--no-project", default=None, help="Use facts from calls in other files of the project.  [default: no]"
)
@click.option("--target-triton", metavar="VERSION", help="Triton version that the code is for, such as 3.4.")
@exclude_option
@click.option("--no-respect-gitignore", is_flag=True, help="Check files that git ignores too.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded files even if they are named.")
@config_option
@isolated_option
@click.option("--stdin-filename", metavar="NAME", help="The file that standard input (PATH -) stands for.")
@click.option("--output-format", type=click.Choice(_FORMATS), help="How to print the findings.  [default: text]")
@click.option(
    "--output-file", metavar="FILE", type=click.Path(), help="Write the findings there; - for standard output."
)
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead of listing them.")
@click.option(
    "--hide", type=click.Choice(["info"]), help="Do not print findings of this level (text and concise only)."
)
@click.option("--fail-on", type=_SEVERITY, help="Exit 1 for findings of this severity or above.  [default: warning]")
@click.option("--exit-zero", is_flag=True, help="Exit 0 whatever is found.")
@click.option("--baseline", metavar="FILE", type=click.Path(), help="Leave out the findings that this file lists.")
@click.option("--update-baseline", is_flag=True, help="Write all findings to the baseline file.")
@click.option("--fix", is_flag=True, help="Make the safe changes, and report what is left.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="With --fix or --diff: also changes that may alter results or lose comments."
)
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option("--add-ignore", metavar="REASON", help="Suppress each finding with a comment that gives this reason.")
@click.option("--diff-base", metavar="REF", help="Report only findings on lines changed since this git commit.")
@jobs_option
@click.option("--timeout", type=float, metavar="SECONDS", help="Time limit for one file.  [default: 60]")
@click.option(
    "--cache-dir",
    metavar="DIR",
    type=click.Path(readable=False),
    shell_complete=complete_folder,
    envvar="KERNLINT_CACHE_DIR",
    help="Folder of the cache.",
)
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked.")
@click.option("--show-settings", is_flag=True, help="Print the settings for the first path as JSON.")
def check(
    paths: tuple[str, ...],
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    per_file_ignores: tuple[str, ...],
    severity: tuple[str, ...],
    device: str | None,
    reference: str | None,
    settings: tuple[str, ...],
    assumptions: tuple[str, ...],
    project: bool | None,
    target_triton: str | None,
    exclude: tuple[str, ...],
    no_respect_gitignore: bool,
    force_exclude: bool,
    config: str | None,
    isolated: bool,
    stdin_filename: str | None,
    output_format: str | None,
    output_file: str | None,
    statistics: bool,
    hide: str | None,
    fail_on: str | None,
    exit_zero: bool,
    baseline: str | None,
    update_baseline: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    add_ignore: str | None,
    diff_base: str | None,
    jobs: int | None,
    timeout: float | None,
    cache_dir: str | None,
    no_cache: bool,
    show_files: bool,
    show_settings: bool,
) -> None:
    """Find slow or wrong Triton code.

    Each PATH is a Python file, a notebook, a Markdown file, a folder, a pattern, or - for standard input; without one it is the
    working folder. Nothing in them is run. Status 0: nothing found; 1: findings; 2: wrong usage or configuration, or an internal
    error. Findings of level info do not count.
    """
    from kernlint.cli.settings import parse_overrides
    from kernlint.lint.config import Configurations, Overrides, device_id
    from kernlint.lint.diff import changed_lines
    from kernlint.lint.run import narrow
    from kernlint.lint.selection import catalogue
    from kernlint.write import require_folder

    if list_devices(device):
        return
    if device is not None and device.endswith(".json"):
        no_cache = True  # what was found holds for what the file said then
    require_working_folder()
    paths = paths or (".",)
    fixing = fix or diff
    refuse_together(
        (isolated and config is not None, "--isolated and --config contradict each other"),
        (
            update_baseline and diff_base is not None,
            "--update-baseline with --diff-base would forget the findings on other lines",
        ),
        (unsafe_fixes and not fixing, "--unsafe-fixes needs --fix or --diff"),
        (
            fixing and (update_baseline or add_ignore is not None),
            "--fix and --diff go with neither --update-baseline nor --add-ignore",
        ),
        (
            update_baseline and add_ignore is not None,
            "--update-baseline and --add-ignore are two ways to live with the same findings",
        ),
        (add_ignore is not None and "-" in paths, "--add-ignore writes into files, and standard input is none"),
        (bool(select) and not split_names(select), "--select: names no rule"),
    )
    cache, catalogued = (None, False) if no_cache else opened_cache(cache_dir)
    overrides = Overrides(
        choice=choice_of(select, extend_select, ignore),
        per_file_ignores=ignores_by_file(per_file_ignores),
        severity=severities_by_rule(severity),
        device=None if device is None else device_id(device),
        target_triton=target_triton,
        extend_exclude=exclude,
        respect_gitignore=False if no_respect_gitignore else None,
        force_exclude=True if force_exclude else None,
        timeout_s=timeout,
        baseline=baseline,
        fail_on=fail_on,
        output_format=output_format,
        reference=None if reference is None else os.path.abspath(reference),
        assumptions=checked_facts(assumptions),
        constants=tuple(parse_overrides(settings).items()),
        project=project,
    )
    check_overrides(overrides)
    configurations = Configurations(overrides, config, isolated)
    here = configurations.of(os.getcwd())
    if output_file == "-":
        output_file = None
    elif output_file is not None:
        require_folder(output_file)
    if statistics and here.output_format not in _COUNTED:
        raise UsageError(f"--statistics cannot be printed as {here.output_format}; there is {', '.join(_COUNTED)}")
    if show_settings:
        print_settings(configurations, stdin_filename if paths == ("-",) else paths[0])
        return
    targets, findings, stdin = _targets(paths, stdin_filename, configurations, show_files)
    if show_files:
        click.echo("".join(f"{encodable(target.shown, sys.stdout)}\n" for target in targets), nl=False)
        return
    known = _baseline(here.baseline, update_baseline)
    changed = None if diff_base is None else changed_lines(diff_base)
    narrowed = partial(narrow, changed=changed, baseline=known)
    wanted = fixing or here.output_format in _WITH_FIXES
    ask = partial(_run, targets, findings, stdin, configurations, cache, jobs, wanted)
    if fixing:
        outcome, fixes = fixed_outcome(ask, narrowed, targets, stdin, unsafe_fixes, diff_base is not None)
    else:
        outcome = ask({})
    if cache is not None and not catalogued:
        cache.put_catalogue(catalogue())
    if fixing:
        outcome = deliver(outcome, fixes, targets, stdin, diff)
        tell_fixes(fixes, diff)
        if diff and fixes.changed and not exit_zero:
            raise click.exceptions.Exit(_FINDINGS)
        if diff:
            return
    elif not update_baseline:
        outcome = narrowed(outcome)
    if update_baseline and known is not None:
        write_baseline(known, outcome)
        return
    if add_ignore is not None:
        outcome = with_ignores(outcome, targets, add_ignore)
    report = report_of(outcome)
    # With --fix standard output takes the new source of standard input.
    stream = sys.stderr if fixing and stdin is not None else sys.stdout
    if hide is not None and here.output_format in FOR_PEOPLE and not statistics:
        report = report.without(hide)
    print_report(report, here.output_format, output_file, stream, statistics)
    tell_of_run(outcome, here)
    if not exit_zero and _fails(outcome.findings, here.fail_on):
        raise click.exceptions.Exit(_FINDINGS)


def _targets(
    paths: tuple[str, ...], stdin_filename: str | None, configurations: Configurations, show_files: bool
) -> tuple[list[Target], list[Finding], bytes | None]:
    """The files, findings about folders, and what standard input held where it is what to check."""
    from kernlint.lint.discovery import Target, find_files, is_left_out, shown_name
    from kernlint.lint.reading import MAX_BYTES

    if "-" not in paths:
        if stdin_filename is not None:
            raise UsageError("--stdin-filename needs the path -")
        found = find_files(paths, configurations)
        return found.targets, found.findings, None
    if len(paths) > 1:
        raise UsageError("- stands for standard input and cannot be mixed with other paths")
    shown = _STDIN_NAME if stdin_filename is None else shown_name(stdin_filename)
    target = Target(os.path.abspath(stdin_filename or "stdin.py"), shown, explicit=True)
    targets = [] if stdin_filename is not None and is_left_out(target.path, configurations) else [target]
    return targets, [], b"" if show_files else sys.stdin.buffer.read(MAX_BYTES + 1)


def _run(
    targets: list[Target],
    findings: list[Finding],
    stdin: bytes | None,
    configurations: Configurations,
    cache: object,
    jobs: int | None,
    fixes: bool,
    contents: Mapping[str, bytes],
) -> Outcome:
    """What is found; in the files that ``contents`` gives other bytes for, by shown name, where it gives any."""
    from kernlint.cli.progress import Progress
    from kernlint.lint.run import check_targets

    with Progress("checking", "files") as progress:
        return check_targets(
            [target for target in targets if target.shown in contents] if contents else targets,
            configurations,
            cache=cache,  # type: ignore[arg-type]
            workers=jobs,
            progress=progress,
            stdin=stdin,
            contents={target.path: contents[target.shown] for target in targets if target.shown in contents},
            fixes=fixes,
            found=findings,
        )


def _baseline(path: str | None, update: bool) -> Baseline | None:
    """The baseline at ``path``, without entries where there is none and ``update`` is to make one."""
    from kernlint.lint.baseline import Baseline, read_baseline

    if path is None:
        if update:
            raise UsageError("--update-baseline needs --baseline FILE, or `baseline` in the configuration")
        return None
    return Baseline(path) if update and not os.path.exists(path) else read_baseline(path)


def _fails(findings: tuple[Finding, ...], fail_on: str) -> bool:
    from kernlint.lint.model import at_least

    return any(at_least(finding.severity, fail_on) for finding in findings)
