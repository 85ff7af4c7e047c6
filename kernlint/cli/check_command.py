"""``kernlint check``: many files, one finding a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TextIO

import click

from kernlint.cli.completion import complete_device, complete_rule
from kernlint.cli.options import NOTE, list_devices
from kernlint.cli.streams import encodable, look_of
from kernlint.errors import UsageError

if TYPE_CHECKING:
    from kernlint.lint.baseline import Baseline
    from kernlint.lint.cache import Cache
    from kernlint.lint.config import Configurations, Overrides
    from kernlint.lint.discovery import Target
    from kernlint.lint.fixing import Fixes
    from kernlint.lint.model import Finding
    from kernlint.lint.run import Outcome
    from kernlint.lint.selection import Choice
    from kernlint.lint.settings import Settings
    from kernlint.report.lint_report import LintReport

_SEVERITY = click.Choice(["error", "warning", "info"])
_FORMATS = ["text", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson"]
_FOR_PEOPLE = frozenset({"text", "concise"})

#: The formats that carry fixes; for the others they are not worked out.
_WITH_FIXES = frozenset({"json", "json-lines", "rdjson"})

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
@click.option("--per-file-ignores", metavar="PATTERN:RULES", multiple=True, help="Not these rules on these files.")
@click.option("--severity", metavar="RULES=LEVEL", multiple=True, help="Report these rules as error, warning or info.")
@click.option(
    "--device",
    metavar="NAME",
    help="GPU that gains are predicted for, or `list` for all.  [default: h100-sxm]",
    shell_complete=complete_device,
)
@click.option("--reference", metavar="FILE", help="Python file with the PyTorch reference of what is checked.")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Override a module-level constant.")
@click.option("--assume", "assumptions", metavar="FACT", multiple=True, help="A fact, as of `kernlint PATH`.")
@click.option("--target-triton", metavar="VERSION", help="Triton version that the code is for.")
@click.option("--exclude", metavar="PATTERN", multiple=True, help="Leave out files and folders, besides the usual.")
@click.option("--no-respect-gitignore", is_flag=True, help="Check files that git ignores too.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded files even when they are named.")
@click.option("--config", metavar="FILE", help="Use this pyproject.toml or kernlint.toml for all files.")
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input (PATH -), and whose settings.")
@click.option("--output-format", type=click.Choice(_FORMATS), help="How to print the findings.  [default: text]")
@click.option("--output-file", metavar="FILE", help="Write the findings there; - for standard output.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead of listing them.")
@click.option(
    "--hide", type=click.Choice(["info"]), help="Do not print findings of this level (text and concise only)."
)
@click.option("--fail-on", type=_SEVERITY, help="Exit 1 from this severity on.  [default: warning]")
@click.option("--exit-zero", is_flag=True, help="Exit 0 whatever is found.")
@click.option("--baseline", metavar="FILE", help="Leave out the findings that this file holds.")
@click.option("--update-baseline", is_flag=True, help="Write all findings into the baseline file.")
@click.option("--fix", is_flag=True, help="Make the safe changes that findings ask for, and report what is left.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="With --fix or --diff: those too that alter results or lose comments."
)
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option("--add-ignore", metavar="REASON", help="Suppress each finding by a comment with this reason.")
@click.option("--diff-base", metavar="REF", help="Only findings on lines changed since this git commit.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes.  [default: one a processor]")
@click.option("--timeout", type=float, metavar="SECONDS", help="The most that one file may take.  [default: 60]")
@click.option("--cache-dir", metavar="DIR", envvar="KERNLINT_CACHE_DIR", help="Where to remember results.")
@click.option("--no-cache", is_flag=True, help="Remember nothing, and use nothing remembered.")
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
    """Check Python files, notebooks and Markdown for slow or wrong Triton code.

    PATHS are files, folders, patterns, or - for standard input; the working folder where there is none. Nothing of
    them is run. Status 0: nothing found; 1: findings; 2: wrong usage or configuration, or an internal error. Findings
    of level info do not count.
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
    _require_working_folder()
    paths = paths or (".",)
    fixing = fix or diff
    _refuse_together(
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
        (bool(select) and not _split(select), "--select: names no rule"),
    )
    cache, catalogued = (None, False) if no_cache else _opened_cache(cache_dir)
    overrides = Overrides(
        choice=_choice(select, extend_select, ignore),
        per_file_ignores=_per_file_ignores(per_file_ignores),
        severity=_severities(severity),
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
        assumptions=_facts(assumptions),
        constants=tuple(parse_overrides(settings).items()),
    )
    _check_overrides(overrides)
    configurations = Configurations(overrides, config, isolated)
    here = configurations.of(os.getcwd())
    if output_file == "-":
        output_file = None
    elif output_file is not None:
        require_folder(output_file)
    if statistics and here.output_format not in _COUNTED:
        raise UsageError(f"--statistics cannot be printed as {here.output_format}; there is {', '.join(_COUNTED)}")
    if show_settings:
        _show_settings(configurations, stdin_filename if paths == ("-",) else paths[0])
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
        outcome, fixes = _fixed(ask, narrowed, targets, stdin, unsafe_fixes, diff_base is not None)
    else:
        outcome = ask({})
    if cache is not None and not catalogued:
        cache.put_catalogue(catalogue())
    if fixing:
        outcome = _deliver(outcome, fixes, targets, stdin, diff)
        _tell_fixes(fixes, diff)
        if diff and fixes.changed and not exit_zero:
            raise click.exceptions.Exit(_FINDINGS)
        if diff:
            return
    elif not update_baseline:
        outcome = narrowed(outcome)
    if update_baseline and known is not None:
        _write_baseline(known, outcome)
        return
    if add_ignore is not None:
        outcome = _with_ignores(outcome, targets, add_ignore)
    report = _report(outcome)
    # With --fix standard output takes the new source of standard input.
    stream = sys.stderr if fixing and stdin is not None else sys.stdout
    if hide is not None and here.output_format in _FOR_PEOPLE and not statistics:
        report = report.without(hide)
    _print(report, here.output_format, output_file, stream, statistics)
    _tell(outcome, report, here)
    if not exit_zero and _fails(outcome.findings, here.fail_on):
        raise click.exceptions.Exit(_FINDINGS)


# -- reading the options ----------------------------------------------------------------------------------------------


def _facts(texts: tuple[str, ...]) -> tuple[str, ...]:
    """``texts``, each of them a fact. Raises ``UsageError`` where one is none."""
    if texts:
        from kernlint.interpret.assume import parse_fact

        for text in texts:
            parse_fact(text)
    return texts


def _refuse_together(*cases: tuple[bool, str]) -> None:
    """Raise :class:`UsageError` with the text of the first case that is so."""
    for wrong, text in cases:
        if wrong:
            raise UsageError(text)


def _opened_cache(folder: str | None) -> tuple[Cache | None, bool]:
    """The cache in ``folder``, by default that of the project where it is no link, and whether it knows the catalogue of rules,
    which then need not be imported."""
    from kernlint.lint.cache import FOLDER, Cache
    from kernlint.lint.selection import remember

    path = os.path.join(_project_root(), FOLDER)
    if folder is None and os.path.islink(path):  # nobody has said that files are to be written, and removed, there
        return None, False
    cache = Cache(folder or path)
    entries = cache.catalogue()
    if entries is not None:
        remember(entries)
    return cache, entries is not None


def _choice(select: tuple[str, ...], extend_select: tuple[str, ...], ignore: tuple[str, ...]) -> Choice | None:
    """The rules that the options ask for; None where none of them is given."""
    from kernlint.lint.selection import Choice

    chosen = tuple(_split(select)) if select else None
    choice = Choice(chosen, tuple(_split(extend_select)), tuple(_split(ignore)))
    return choice if select or extend_select or ignore else None


def _split(values: tuple[str, ...]) -> list[str]:
    """``--select KL1,KL204 --select ALL`` as one list."""
    return [item.strip() for value in values for item in value.split(",") if item.strip()]


def _per_file_ignores(values: tuple[str, ...]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    found = []
    for value in values:
        pattern, colon, rules = value.rpartition(":")
        if not colon or not pattern:
            raise UsageError(f"--per-file-ignores {value}: expected PATTERN:RULES, such as tests/**:KL2")
        found.append((os.getcwd(), pattern, tuple(_split((rules,)))))
    return tuple(found)


def _severities(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from kernlint.lint.model import SEVERITIES

    found = []
    for value in values:
        rules, equals, level = (part.strip() for part in value.rpartition("="))
        if not equals or level not in SEVERITIES:
            raise UsageError(f"--severity {value}: expected RULES=LEVEL, such as KL101=error")
        found += [(text, level) for text in _split((rules,))]
    return tuple(found)


def _check_overrides(overrides: Overrides) -> None:
    """Complain of unknown rules and patterns that are none before anything is read."""
    import re

    from kernlint.lint.config import is_timeout
    from kernlint.lint.patterns import Patterns
    from kernlint.lint.selection import parse_selector

    choice = overrides.choice
    texts = [] if choice is None else [*(choice.select or ()), *choice.extend_select, *choice.ignore]
    texts += [text for _, _, rules in overrides.per_file_ignores for text in rules]
    for text in [*texts, *(text for text, _ in overrides.severity)]:
        parse_selector(text)
    Patterns(os.getcwd(), [*overrides.extend_exclude, *(pattern for _, pattern, _ in overrides.per_file_ignores)])
    if overrides.target_triton is not None and not re.fullmatch(r"\d+\.\d+(\.\d+)?", overrides.target_triton):
        raise UsageError(f"--target-triton {overrides.target_triton}: expected a version such as 3.6")
    if overrides.target_triton is not None:
        _note_unknown_release(overrides.target_triton)
    if overrides.timeout_s is not None and not is_timeout(overrides.timeout_s):
        raise UsageError(f"--timeout {overrides.timeout_s:g}: expected a positive number of seconds, below a million")


def _note_unknown_release(version: str) -> None:
    """Say which release counts in place of one that is not known."""
    from kernlint.interpret.api import parse_version, supported

    oldest, newest = supported()[0], supported()[-1]
    if not parse_version(oldest) <= parse_version(version) <= parse_version(newest):
        nearest = oldest if parse_version(version) < parse_version(oldest) else newest
        note = f"Triton {version} is not known, from {oldest} to {newest} are; {nearest} is taken"
        click.get_current_context().meta[NOTE] = note


def _require_working_folder() -> None:
    try:
        os.getcwd()
    except OSError:
        raise UsageError("the working folder does not exist") from None


def _project_root() -> str:
    """The nearest folder, from the working one up, that looks like the top of a project; else the working one."""
    here = folder = os.getcwd()
    while True:
        if any(os.path.exists(os.path.join(folder, name)) for name in ("kernlint.toml", "pyproject.toml", ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return here
        folder = parent


# -- the run ----------------------------------------------------------------------------------------------------------


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


# -- fixes ------------------------------------------------------------------------------------------------------------


def _fixed(
    ask: Callable[[Mapping[str, bytes]], Outcome],
    narrowed: Callable[[Outcome], Outcome],
    targets: list[Target],
    stdin: bytes | None,
    unsafe: bool,
    once: bool,
) -> tuple[Outcome, Fixes]:
    """What is found after everything is fixed; where only some lines count, ``once``, for their numbers change."""
    from kernlint.lint.fixing import MAX_ROUNDS, apply_fixes
    from kernlint.lint.reading import read_bytes

    paths = {target.shown: target.path for target in targets}
    read = (lambda shown: read_bytes(paths[shown])) if stdin is None else (lambda shown: stdin)
    return apply_fixes(ask, narrowed, read, unsafe, 1 if once else MAX_ROUNDS)


def _deliver(outcome: Outcome, fixes: Fixes, targets: list[Target], stdin: bytes | None, diff: bool) -> Outcome:
    """Write the changed files, or show the changes; ``outcome`` with what was found before in files that could not be
    written."""
    from dataclasses import replace

    from kernlint.fix import diff_of
    from kernlint.syntax.source import decode_source
    from kernlint.write import leads_out, write_whole

    paths = {target.shown: target.path for target in targets}
    outside = {target.shown: target.outside for target in targets}
    output = sys.stdout.buffer
    for shown, data in sorted(fixes.changed.items()):
        before = fixes.original[shown]
        if diff:
            text = diff_of(decode_source(before, shown).text, decode_source(data, shown).text, shown)
            output.write(text.encode("utf-8", "backslashreplace"))
        elif stdin is None:
            try:
                if outside.get(shown):
                    raise UsageError(leads_out(outside[shown]))
                write_whole(paths[shown], data, expected=before)
            except UsageError as error:
                fixes.unwritten[shown] = str(error).removeprefix(f"{paths[shown]}: ")
                others = [finding for finding in outcome.findings if finding.file != shown]
                found = sorted([*others, *fixes.forget(shown)], key=lambda finding: finding.key)
                outcome = replace(outcome, findings=tuple(found))
    if stdin is not None and not diff:
        output.write(next(iter(fixes.changed.values()), stdin))
    output.flush()
    return outcome


def _tell_of_files(messages: Iterable[tuple[str, str]]) -> None:
    """A line a file on standard error."""
    for file, message in sorted(messages):
        click.echo(encodable(f"kernlint: {' '.join(f'{file}: {message}'.split())}", sys.stderr), err=True)


def _tell_fixes(fixes: Fixes, diff: bool) -> None:
    done = "would fix" if diff else "fixed"
    made = [(file, f"{done} {_fix_made(finding)}") for file, findings in fixes.fixed.items() for finding in findings]
    refused = [(file, f"{code} not fixed: {why}") for file, whys in fixes.refused.items() for code, why in whys.items()]
    _tell_of_files([*made, *refused, *fixes.unwritten.items()])
    count, files = len(made), len(fixes.changed)
    verb = "could be" if diff else "was" if count == 1 else "were"
    parts = [f"{_counted(count, 'finding')} in {_counted(files, 'file')} {verb} fixed"]
    if fixes.unsafe:
        parts.append(f"{fixes.unsafe} more with --unsafe-fixes")
    click.echo(f"kernlint: {'; '.join(parts)}.", err=True)


def _fix_made(finding: Finding) -> str:
    cell = "" if finding.place.cell is None else f"cell {finding.place.cell}, "
    what = f": {finding.fix.message}" if finding.fix is not None else ""
    return f"{finding.code} {finding.name} at {cell}line {finding.place.line}{what}"


# -- the answer -------------------------------------------------------------------------------------------------------


def _write_baseline(baseline: Baseline, outcome: Outcome) -> None:
    from kernlint.lint.baseline import write_baseline

    noted, kept = write_baseline(baseline, outcome.findings, outcome.files)
    others = f", {kept} of other files and rules kept" if kept else ""
    click.echo(f"{baseline.path}: {_counted(noted, 'finding')} noted{others}.", err=True)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _with_ignores(outcome: Outcome, targets: list[Target], reason: str) -> Outcome:
    from dataclasses import replace

    from kernlint.lint.add_ignore import add_ignores
    from kernlint.write import leads_out

    outside = {target.shown: leads_out(target.outside) for target in targets if target.outside}
    added, left, unwritten = add_ignores(outcome.findings, reason, outside)
    _tell_of_files(unwritten.items())
    click.echo(f"{_counted(added, 'finding')} suppressed, {len(left)} left.", err=True)
    return replace(outcome, findings=tuple(left))


def _report(outcome: Outcome) -> LintReport:
    from kernlint.lint.diff import repository_root
    from kernlint.report.lint_report import LintReport

    here = os.getcwd()
    return LintReport(outcome.findings, len(outcome.files), repository_root(here) or here)


def _print(report: LintReport, output_format: str, output_file: str | None, stream: TextIO, statistics: bool) -> None:
    text = _renderer(output_format, statistics, stream if output_file is None else None)(report)
    if output_file is None and output_format in _FOR_PEOPLE:
        stream.write(encodable(text, stream))
        stream.flush()
    elif output_file is None:
        # Programs read UTF-8, whatever the terminal's encoding.
        stream.flush()
        stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        stream.buffer.flush()
    else:
        from kernlint.write import write_output

        write_output(output_file, text.encode("utf-8", "backslashreplace"))


def _renderer(output_format: str, statistics: bool, stream: TextIO | None) -> Callable[[LintReport], str]:
    from importlib import import_module

    if statistics:
        from kernlint.report.statistics import render as counted

        return lambda report: counted(report, output_format)
    if output_format == "text":
        from kernlint.report.look import PLAIN
        from kernlint.report.text_findings import render

        look = PLAIN if stream is None else look_of(stream)
        return lambda report: render(report, look)
    module, function = {
        "json": ("findings_json", "render"),
        "json-lines": ("findings_json", "render_lines"),
    }.get(output_format, (output_format, "render"))
    renderer: Callable[[LintReport], str] = getattr(import_module(f"kernlint.report.{module}"), function)
    return renderer


def _tell(outcome: Outcome, report: LintReport, settings: Settings) -> None:
    """What is not about a finding goes to standard error."""
    for entry in outcome.stale:
        place = encodable(f"{entry.file}: {entry.code} {entry.message}", sys.stderr)
        click.echo(f"kernlint: baseline {settings.baseline}: no longer found: {place}", err=True)
    if outcome.stale:
        click.echo("kernlint: --update-baseline removes such entries", err=True)
    if not outcome.files:
        click.echo("kernlint: no Python files, notebooks or Markdown to check here", err=True)


def _show_settings(configurations: Configurations, path: str | None) -> None:
    import json

    absolute = os.path.abspath(path or ".")
    folder = absolute if os.path.isdir(absolute) else os.path.dirname(absolute)
    click.echo(json.dumps(configurations.of(folder).to_json(), indent=2))


def _fails(findings: tuple[Finding, ...], fail_on: str) -> bool:
    from kernlint.lint.model import at_least

    return any(at_least(finding.severity, fail_on) for finding in findings)
