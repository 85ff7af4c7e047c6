"""What `kernlint check` writes into files: fixes, comments that suppress, the baseline."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import click

from kernlint.cli.streams import encodable
from kernlint.errors import UsageError

if TYPE_CHECKING:
    from kernlint.lint.baseline import Baseline
    from kernlint.lint.discovery import Target
    from kernlint.lint.fixing import Fixes
    from kernlint.lint.model import Finding
    from kernlint.lint.run import Outcome


def fixed_outcome(
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


def deliver(outcome: Outcome, fixes: Fixes, targets: list[Target], stdin: bytes | None, diff: bool) -> Outcome:
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


def tell_fixes(fixes: Fixes, diff: bool) -> None:
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


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def with_ignores(outcome: Outcome, targets: list[Target], reason: str) -> Outcome:
    from dataclasses import replace

    from kernlint.lint.add_ignore import add_ignores
    from kernlint.write import leads_out

    outside = {target.shown: leads_out(target.outside) for target in targets if target.outside}
    added, left, unwritten = add_ignores(outcome.findings, reason, outside)
    _tell_of_files(unwritten.items())
    click.echo(f"{_counted(added, 'finding')} suppressed, {len(left)} left.", err=True)
    return replace(outcome, findings=tuple(left))


def write_baseline(baseline: Baseline, outcome: Outcome) -> None:
    from kernlint.lint.baseline import write_baseline

    noted, kept = write_baseline(baseline, outcome.findings, outcome.files)
    others = f", {kept} of other files and rules kept" if kept else ""
    click.echo(f"{baseline.path}: {_counted(noted, 'finding')} noted{others}.", err=True)
