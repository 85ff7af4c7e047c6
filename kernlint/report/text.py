"""The findings for a person at a terminal: message, source excerpt, carets, evidence, predicted gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from kernlint.verdict.model import EstimateReport, FindingReport, Location, Verdict
from kernlint.verdict.speedup import format_speedup

_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}

#: Lines of source shown of one finding; a whole kernel would bury the message.
_EXCERPT_LINES = 4

_TAB = "    "


def print_verdict(verdict: Verdict, sources: Mapping[str, Sequence[str]], console: Console) -> None:
    """Print the findings of ``verdict`` and its answer to ``console``.

    ``sources`` maps a file name to its lines (without their ends); a finding in another file has no excerpt.
    """
    for finding in verdict.details.findings:
        _print_finding(finding, sources, console)
    worth = Text("worth optimizing: ", style="bold")
    worth.append(*("yes", "bold green") if verdict.worth_optimizing else ("no", "bold"))
    if verdict.expected_speedup:
        worth.append(f", {verdict.expected_speedup} on {verdict.details.estimate.device}")
    console.print(worth)
    console.print(Text(verdict.reason))
    for follow_up in verdict.details.follow_ups:
        console.print(Text(f"then: {follow_up.change}{_gain(follow_up.estimate)}"))


def _print_finding(finding: FindingReport, sources: Mapping[str, Sequence[str]], console: Console) -> None:
    place = finding.location
    head = Text(f"{place.file}:{place.line}:{place.column}: ", style="bold")
    head.append(finding.severity, style=_STYLES[finding.severity])
    head.append(f" {finding.rule.code} {finding.rule.name}", style="bold")
    head.append(_gain(finding.estimate))
    console.print(head)
    console.print(Text(f"  {finding.message}"))
    for line in excerpt(place, sources.get(place.file, ())):
        console.print(Text(line), no_wrap=True, crop=True, overflow="ellipsis")
    for fact in finding.evidence:
        console.print(Text(f"  = {fact}", style="dim"))
    console.print()


def excerpt(place: Location, lines: Sequence[str]) -> list[str]:
    """The lines of ``place`` with numbers in front and carets below, at most a few; empty where the file has fewer."""
    if not 1 <= place.line <= len(lines):
        return []
    last = min(place.end_line, len(lines), place.line + _EXCERPT_LINES - 1)
    width = len(str(last))
    shown: list[str] = []
    for number in range(place.line, last + 1):
        line = lines[number - 1]
        start = place.column - 1 if number == place.line else len(line) - len(line.lstrip())
        end = place.end_column - 1 if number == place.end_line else len(line.rstrip())
        indent = len(line[:start].replace("\t", _TAB))
        carets = max(1, len(line[start:end].replace("\t", _TAB)))
        shown.append(f"  {number:>{width}} | {printable(line)}")
        shown.append(f"  {'':>{width}} | {' ' * indent}{'^' * carets}")
    if last < place.end_line:
        shown.append(f"  {'':>{width}} | ... {place.end_line - last} more lines")
    return shown


def printable(line: str) -> str:
    """``line`` with tabs as four spaces and without control characters, which could drive the reader's terminal."""
    return "".join(_TAB if char == "\t" else char if char.isprintable() else "?" for char in line)


def _gain(estimate: EstimateReport | None) -> str:
    interval = "" if estimate is None else format_speedup(estimate.chosen.low, estimate.chosen.high)
    return f" [{interval}]" if interval else ""
