"""The lines of a program that matter, marked: what each is predicted to take, and what was found at it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kernlint.report.hot_spots import HotSpot
from kernlint.report.page.programs import Program
from kernlint.report.page.svg import scrolling, text_of, worded
from kernlint.verdict.model import FindingReport

#: Lines shown around one that is marked.
_AROUND = 6

_WORDS = {"time": "of the time", "bytes": "of the bytes", "operations": "of the products"}


def source_table(lines: Sequence[str], shown: str, program: Program, ident: str) -> str:
    """The marked lines of the file called ``shown`` with those around them; empty where nothing is marked in it."""
    spots: dict[int, list[HotSpot]] = defaultdict(list)
    for spot in program.spots:
        if spot.file == shown:
            spots[spot.line].append(spot)
    findings: dict[int, list[FindingReport]] = defaultdict(list)
    for finding in program.verdict.details.findings:
        if finding.location.file == shown:
            findings[finding.location.line].append(finding)
    marked = sorted(number for number in {*spots, *findings} if 1 <= number <= len(lines))
    if not marked:
        return ""
    rows = []
    last = 0
    for number in _around(marked, len(lines)):
        if number != last + 1:
            rows.append('<tr class="gap"><td class="n">⋮</td><td></td><td></td></tr>')
        last = number
        hot = ", ".join(f"{spot.share:.0%} {_WORDS[spot.what]}" for spot in spots.get(number, ()))
        here = findings.get(number, ())
        rows.append(
            f'<tr id="{ident}-L{number}"{" class=marked" if here else ""}><td class="n">{number}</td>'
            f'<td class="hot">{hot}</td><td>{text_of(lines[number - 1])}</td></tr>'
        )
        for finding in here:
            words = f"{finding.rule.code} {finding.rule.name}: {finding.message}"
            rows.append(
                f'<tr class="said"><td colspan="2"></td><td><span class="{finding.severity}">{finding.severity}</span> '
                f"{worded(words)}</td></tr>"
            )
    caption = "Source, with what each line is predicted to take of the call, or of what its kernel moves and computes"
    table = f'<table class="source"><tbody>{"".join(rows)}</tbody></table>'
    return f"<h3>Source</h3>{scrolling(caption, table)}"


def _around(marked: Sequence[int], last: int) -> list[int]:
    wanted = {near for number in marked for near in range(number - _AROUND, number + _AROUND + 1)}
    return sorted(number for number in wanted if 1 <= number <= last)
