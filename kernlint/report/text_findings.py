"""Findings for a person at a terminal: message, source excerpt with carets, evidence, advice."""

from __future__ import annotations

from collections.abc import Sequence

from kernlint.links import rule_url
from kernlint.lint.model import Finding
from kernlint.report.lint_report import LintReport, gain_text
from kernlint.report.look import PLAIN, Look, printable

#: The places of remarks that a line names.
_LINES_TOLD = 8


def render(report: LintReport, look: Look = PLAIN) -> str:
    """All findings and a summary."""
    remarks: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in report.findings:
        if finding.severity == "info" and finding.kernel:
            remarks.setdefault(_subject(finding), []).append(finding)
    blocks = []
    for finding in report.findings:
        alike = remarks.get(_subject(finding), []) if finding.severity == "info" else []
        if len(alike) < 2:
            blocks.append("\n".join(_lines(finding, look)) + "\n")
        elif finding is alike[0]:
            blocks.append(_together(alike, look) + "\n")
    return "\n".join([*blocks, "\n".join([report.summary(), *report.left_open()]) + "\n"])


def _subject(finding: Finding) -> tuple[str, str, str]:
    """What remarks of one line have in common."""
    return finding.file, finding.kernel, finding.code


def _together(alike: list[Finding], look: Look) -> str:
    """Remarks of one rule on one kernel in a line: the first one, and where the others are."""
    first = alike[0]
    lines = list(dict.fromkeys(finding.place.line for finding in alike[1:]))
    others = ", ".join(map(str, lines[:_LINES_TOLD])) + (", ..." if len(lines) > _LINES_TOLD else "")
    told = f"{printable(first.message)} (and {len(alike) - 1} more in `{first.kernel}`, lines {others})"
    head = _head(first, look)
    return f"{head[0]}: {told}" if look.width is None else "\n".join([*head, *look.wrapped(told, "  ")])


def where(finding: Finding) -> str:
    """``file:line:column``, with the cell of a notebook, free of control characters."""
    place = finding.place
    cell = "" if place.cell is None else f"cell {place.cell}:"
    return f"{printable(finding.file)}:{cell}{place.line}:{place.column}"


def headline(place: str, severity: str, code: str, name: str, gain: str, look: Look) -> list[str]:
    """The head of a finding; its gain has a line of its own where there is no room beside the rest."""
    head = f"{look.styled(place, 'bold')}: {look.styled(severity, severity)} {look.styled(f'{code} {name}', 'bold', rule_url(code))}"
    if not gain:
        return [head]
    fits = look.width is None or len(f"{place}: {severity} {code} {name} [{gain}]") <= look.width
    return [f"{head} [{gain}]"] if fits else [head, f"  [{gain}]"]


def body_of(message: str, excerpt: list[str], evidence: Sequence[str], look: Look) -> list[str]:
    """What stands below the head of a finding."""
    facts = [line for fact in evidence for line in look.wrapped(f"= {printable(fact)}", "  ", "    ")]
    return [*look.wrapped(printable(message), "  "), *excerpt, *(look.styled(line, "dim") for line in facts)]


def _head(finding: Finding, look: Look) -> list[str]:
    return headline(where(finding), finding.severity, finding.code, finding.name, gain_text(finding), look)


def _lines(finding: Finding, look: Look) -> list[str]:
    place = finding.place
    begin, end = (place.line, place.column), (place.end_line, place.end_column)
    excerpt = look.excerpt(finding.lines, begin, end, len(finding.lines))
    lines = [*_head(finding, look), *body_of(finding.message, excerpt, finding.evidence, look)]
    for label, text in (("help", finding.advice), ("fix", finding.fix.message if finding.fix is not None else "")):
        if text:
            first, *others = look.wrapped(f"{label}: {printable(text)}", "  ", "    ")
            lines += [first.replace(label, look.styled(label, "bold"), 1), *others]
    return lines
