"""The findings and the answer of a verdict, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernlint.report.look import PLAIN, Look, printable
from kernlint.report.text_findings import body_of, headline
from kernlint.verdict.model import EstimateReport, FindingReport, Verdict
from kernlint.verdict.speedup import faster, format_speedup

#: Lines of source shown of one finding; a whole kernel would bury the message.
_EXCERPT_LINES = 4


def render_verdict(verdict: Verdict, sources: Mapping[str, Sequence[str]], look: Look = PLAIN) -> str:
    """The findings of ``verdict`` and its answer. ``sources`` maps a file name to its lines (without their ends); a finding in
    another file has no excerpt."""
    lines: list[str] = []
    for finding in verdict.details.findings:
        lines += [*_finding(finding, sources.get(finding.location.file, ()), look), ""]
    answer = look.styled("yes", "green") if verdict.worth_optimizing else "no"
    gain = f", {verdict.expected_speedup} on {verdict.details.estimate.device}" if verdict.expected_speedup else ""
    lines.append(f"{look.styled('worth optimizing:', 'bold')} {answer}{gain}")
    for line in verdict.reason.splitlines():
        lines += look.wrapped(printable(line))
    for follow_up in verdict.details.follow_ups:
        gain = _gain(follow_up.estimate)
        lines += look.wrapped(printable(f"then: {follow_up.change}{f' [{gain}]' if gain else ''}"))
    return "\n".join(lines) + "\n"


def _finding(finding: FindingReport, source: Sequence[str], look: Look) -> Iterator[str]:
    place, rule = finding.location, finding.rule
    where = f"{printable(place.file)}:{place.line}:{place.column}"
    yield from headline(where, finding.severity, rule.code, rule.name, _gain(finding.estimate), look)
    marked = source[place.line - 1 : place.end_line] if place.line >= 1 else ()
    begin, end = (place.line, place.column), (place.end_line, place.end_column)
    yield from body_of(finding.message, look.excerpt(marked, begin, end, _EXCERPT_LINES), finding.evidence, look)


def _gain(estimate: EstimateReport | None) -> str:
    interval = "" if estimate is None else format_speedup(estimate.chosen.low, estimate.chosen.high)
    return f"{interval} {faster(estimate.scope)}" if interval and estimate is not None else ""
