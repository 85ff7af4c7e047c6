"""The findings and the answer of a verdict, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernlint.links import rule_url
from kernlint.report.look import PLAIN, Look, printable
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
        lines += look.wrapped(printable(f"then: {follow_up.change}{_gain(follow_up.estimate)}"))
    return "\n".join(lines) + "\n"


def _finding(finding: FindingReport, source: Sequence[str], look: Look) -> Iterator[str]:
    place, rule = finding.location, finding.rule
    where = look.styled(f"{printable(place.file)}:{place.line}:{place.column}", "bold")
    name = look.styled(f"{rule.code} {rule.name}", "bold", rule_url(rule.code))
    yield f"{where}: {look.styled(finding.severity, finding.severity)} {name}{_gain(finding.estimate)}"
    yield from look.wrapped(printable(finding.message), "  ")
    marked = source[place.line - 1 : place.end_line] if place.line >= 1 else ()
    yield from look.excerpt(marked, (place.line, place.column), (place.end_line, place.end_column), _EXCERPT_LINES)
    for fact in finding.evidence:
        yield from (look.styled(line, "dim") for line in look.wrapped(f"= {printable(fact)}", "  ", "    "))


def _gain(estimate: EstimateReport | None) -> str:
    interval = "" if estimate is None else format_speedup(estimate.chosen.low, estimate.chosen.high)
    return f" [{interval} {faster(estimate.scope)}]" if interval and estimate is not None else ""
