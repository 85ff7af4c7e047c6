"""Findings for a person at a terminal: message, source excerpt with carets, evidence, advice."""

from __future__ import annotations

from kernlint.lint.model import Finding
from kernlint.report.lint_report import LintReport, gain_text

_TAB = "    "
_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m"}


def render(report: LintReport, colour: bool = False) -> str:
    """All findings and a summary; ``colour`` adds ANSI escapes, which only a terminal wants."""
    blocks = ["\n".join(_lines(finding, colour)) + "\n" for finding in report.findings]
    return "\n".join([*blocks, report.summary() + "\n"])


def where(finding: Finding) -> str:
    """``file:line:column``, with the cell of a notebook, free of control characters."""
    place = finding.place
    cell = "" if place.cell is None else f"cell {place.cell}:"
    return f"{printable(finding.file)}:{cell}{place.line}:{place.column}"


def _lines(finding: Finding, colour: bool) -> list[str]:
    def styled(text: str, style: str) -> str:
        return f"{style}{text}{_RESET}" if colour else text

    gain = gain_text(finding)
    head = (
        f"{styled(where(finding), _BOLD)}: {styled(finding.severity, _STYLES[finding.severity])} "
        f"{styled(f'{finding.code} {finding.name}', _BOLD)}{f' [{gain}]' if gain else ''}"
    )
    lines = [head, f"  {printable(finding.message)}", *excerpt(finding)]
    lines += [styled(f"  = {printable(fact)}", _DIM) for fact in finding.evidence]
    if finding.advice:
        lines.append(f"  {styled('help', _BOLD)}: {printable(finding.advice)}")
    if finding.fix is not None:
        lines.append(f"  {styled('fix', _BOLD)}: {finding.fix.message}")
    return lines


def excerpt(finding: Finding) -> list[str]:
    """The first source lines of the finding with numbers in front and carets below."""
    place = finding.place
    shown: list[str] = []
    last = place.line + len(finding.lines) - 1
    width = len(str(last))
    for number, line in enumerate(finding.lines, start=place.line):
        start = place.column - 1 if number == place.line else len(line) - len(line.lstrip())
        end = place.end_column - 1 if number == place.end_line else len(line.rstrip())
        before, marked = expanded(line[:start]), expanded(line[start:end])
        shown.append(f"  {number:>{width}} | {expanded(line)}".rstrip())
        shown.append(f"  {'':>{width}} | {' ' * len(before)}{'^' * max(1, len(marked))}")
    if shown and last < place.end_line:
        shown.append(f"  {'':>{width}} | ... {place.end_line - last} more lines")
    return shown


def expanded(line: str) -> str:
    """``line`` with tabs as four spaces and nothing that could drive the reader's terminal."""
    return printable(line.replace("\t", _TAB))


def printable(text: str) -> str:
    """``text`` on one line, each control character as a question mark."""
    return "".join(char if char.isprintable() else " " if char == "\n" else "?" for char in text)
