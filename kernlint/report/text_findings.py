"""Findings for a person at a terminal: message, source excerpt with carets, evidence, advice."""

from __future__ import annotations

from kernlint.lint.model import Finding
from kernlint.report.lint_report import LintReport, gain_text

_TAB = "    "
#: The places of remarks that a line names.
_LINES_TOLD = 8
_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m"}


def render(report: LintReport, colour: bool = False) -> str:
    """All findings and a summary; ``colour`` adds ANSI escapes, which only a terminal wants."""
    remarks: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in report.findings:
        if finding.severity == "info" and finding.kernel:
            remarks.setdefault(_subject(finding), []).append(finding)
    blocks = []
    for finding in report.findings:
        alike = remarks.get(_subject(finding), []) if finding.severity == "info" else []
        if len(alike) < 2:
            blocks.append("\n".join(_lines(finding, colour)) + "\n")
        elif finding is alike[0]:
            blocks.append(_together(alike, colour) + "\n")
    return "\n".join([*blocks, report.summary() + "\n"])


def _subject(finding: Finding) -> tuple[str, str, str]:
    """What remarks of one line have in common."""
    return finding.file, finding.kernel, finding.code


def _together(alike: list[Finding], colour: bool) -> str:
    """Remarks of one rule on one kernel in a line: the first one, and where the others are."""
    first = alike[0]
    lines = list(dict.fromkeys(finding.place.line for finding in alike[1:]))
    others = ", ".join(map(str, lines[:_LINES_TOLD])) + (", ..." if len(lines) > _LINES_TOLD else "")
    return f"{_head(first, colour)}: {printable(first.message)} (and {len(alike) - 1} more in `{first.kernel}`, lines {others})"


def where(finding: Finding) -> str:
    """``file:line:column``, with the cell of a notebook, free of control characters."""
    place = finding.place
    cell = "" if place.cell is None else f"cell {place.cell}:"
    return f"{printable(finding.file)}:{cell}{place.line}:{place.column}"


def _styled(text: str, style: str, colour: bool) -> str:
    return f"{style}{text}{_RESET}" if colour else text


def _head(finding: Finding, colour: bool) -> str:
    """Place, severity, rule and gain."""
    gain = gain_text(finding)
    return (
        f"{_styled(where(finding), _BOLD, colour)}: {_styled(finding.severity, _STYLES[finding.severity], colour)} "
        f"{_styled(f'{finding.code} {finding.name}', _BOLD, colour)}{f' [{gain}]' if gain else ''}"
    )


def _lines(finding: Finding, colour: bool) -> list[str]:
    def styled(text: str, style: str) -> str:
        return _styled(text, style, colour)

    lines = [_head(finding, colour), f"  {printable(finding.message)}", *excerpt(finding)]
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
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char == "\n" else "?" for char in text)
