"""The page of ``kernlint report``: one file that needs nothing else, and runs nothing but its own few lines of script.

All text that comes from the programs is escaped; a content security policy names the style sheet and the script by their hashes, so that
nothing in a source could run even if it were not.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources

from kernlint.cost.device import find_device
from kernlint.cost.estimate import MODEL_VERSION
from kernlint.links import rule_url
from kernlint.records import dataclass
from kernlint.report.budget_text import tables
from kernlint.report.grid import Bar, Grid
from kernlint.report.page.programs import FileReport, KernelNumbers, Program
from kernlint.report.page.source import source_table
from kernlint.report.page.svg import bar_svg, roofline_svg, scrolling, text_of, waterfall_svg, worded
from kernlint.verdict.model import FindingReport, HeadroomReport
from kernlint.verdict.speedup import format_speedup, format_us
from kernlint.version import __version__


@dataclass(frozen=True)
class Page:
    """What a page is about: the ``paths`` that were asked for, the ``device`` and ``scope`` of the times, and at most how many programs
    it tells of at length."""

    paths: tuple[str, ...]
    device: str
    scope: str
    top: int


@dataclass(frozen=True)
class _Entry:
    """A program with the number that links to it (0: only its row is shown)."""

    file: FileReport
    program: Program
    number: int = 0

    @property
    def title(self) -> str:
        told = self.program.budget
        elsewhere = f" ({told.file})" if told.file != self.file.shown else ""
        return f"{self.file.shown}: {told.entry}{elsewhere}"


def render(page: Page, files: Sequence[FileReport]) -> str:
    """The page about ``files``."""
    entries = _ranked(page, files)
    timed = [entry for entry in entries if entry.program.timed]
    body = "".join(
        [
            _header(page, files, timed),
            '<main id="main">',
            _ranking(page, timed),
            _open_programs([entry for entry in entries if not entry.program.timed]),
            _not_told(files),
            *(_article(entry) for entry in timed if entry.number),
            "</main>",
            _footer(),
        ]
    )
    style, script = _asset("style.css"), _asset("script.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>kernlint report: {text_of(' '.join(page.paths))}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _ranked(page: Page, files: Sequence[FileReport]) -> list[_Entry]:
    """All programs, those with most to gain first; of those that gain nothing the ones with the widest gap."""
    found = [_Entry(file, program) for file in files for program in file.programs]
    # One that launches the kernels of several files is a program of each.
    first: dict[tuple[str, str], _Entry] = {}
    for entry in found:
        first.setdefault((entry.program.budget.file, entry.program.budget.entry), entry)
    found = list(first.values())
    found.sort(key=lambda e: (-e.program.gain_us, -e.program.gap_us, e.title))
    timed = [entry for entry in found if entry.program.timed]
    numbered = [_Entry(e.file, e.program, n) for n, e in enumerate(timed[: page.top], start=1)]
    return [*numbered, *timed[page.top :], *(entry for entry in found if not entry.program.timed)]


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# -- the top of the page ----------------------------------------------------------------------------------------------


def _header(page: Page, files: Sequence[FileReport], timed: Sequence[_Entry]) -> str:
    gain = sum(entry.program.gain_us for entry in timed)
    worth = sum(entry.program.verdict.worth_optimizing for entry in timed)
    shown = {
        "device": page.device,
        "files with Triton": str(len(files)),
        "programs timed": str(len(timed)),
        "worth optimizing": str(worth),
        "to gain in all, predicted": f"{format_us(gain)} us",
    }
    return (
        '<a class="skip" href="#main">To the ranking</a><header>'
        f"<h1>kernlint report</h1><p class='dim'>{text_of(', '.join(page.paths))}</p>"
        + _figures(shown)
        + "<p class='note'>Every time, share and occupancy on this page is <strong>predicted</strong> by a cost model from the source "
        f"alone, for scope <code>{page.scope}</code>; nothing was run or measured. Intervals are the model's own 80 % intervals."
        f"{_scaled(timed)}</p></header>"
    )


def _scaled(timed: Iterable[_Entry]) -> str:
    """That times are those of devices which nobody has measured for the model, where they are."""
    devices = sorted({entry.program.budget.device for entry in timed})
    scaled = [name for name in devices if find_device(name).kinship != "measured"]
    return (
        f" Times on {text_of(', '.join(scaled))} are scaled from those of another device by data sheet."
        if scaled
        else ""
    )


def _figures(shown: Mapping[str, str]) -> str:
    parts = (f"<div><dt>{text_of(name)}</dt><dd>{text_of(value)}</dd></div>" for name, value in shown.items())
    return f'<dl class="figures">{"".join(parts)}</dl>'


def _ranking(page: Page, entries: Sequence[_Entry]) -> str:
    if not entries:
        return "<h2>Programs by microseconds to gain</h2><p>No program here has a predicted time.</p>"
    head = ("#", "program", "now us", "to gain us", "gain (80 %)", "gap us", "facts", "change", "fix")
    rows = []
    for rank, entry in enumerate(entries, start=1):
        program = entry.program
        details = program.verdict.details
        found = details.estimate.chosen
        worth = program.verdict.worth_optimizing
        name = text_of(entry.title)
        link = f'<a href="#p{entry.number}">{name}</a>' if entry.number else name
        rule = program.budget.change.title if worth and program.budget.change is not None else "-"
        fix = "-" if details.fix is None else "automatic" if details.fix.automatic else "by hand"
        cells = [
            f'<td class="n">{rank}</td>',
            f'<td class="name">{link}</td>',
            f'<td class="n">{format_us(found.before_us)}</td>',
            f'<td class="n">{format_us(program.gain_us) if worth else "-"}</td>',
            f'<td class="n">{format_speedup(found.low, found.high) if worth else "-"}</td>',
            f'<td class="n">{format_us(program.gap_us)}</td>',
            f"<td>{details.certainty}</td><td>{text_of(rule)}</td><td>{fix}</td>",
        ]
        rows.append(
            f'<tr data-text="{text_of(f"{entry.title} {details.certainty} {rule} {fix}".lower())}">{"".join(cells)}</tr>'
        )
    tools = (
        '<div class="tools" id="tools" hidden><label for="filter">Filter by path, entry or rule'
        '<input id="filter" type="search" autocomplete="off" spellcheck="false"></label>'
        '<span id="count" role="status"></span>'
        "<span class='dim'><kbd>/</kbd> filter, <kbd>j</kbd> and <kbd>k</kbd> next and previous program</span></div>"
    )
    more = len(entries) - page.top
    rest = (
        f"<p class='dim'>The last {more} are in this table only; <code>--top</code> shows more.</p>" if more > 0 else ""
    )
    caption = (
        "“To gain” is what the advised change saves per call, “gap” what a well-written version would save. Facts are assumed where the "
        "source leaves sizes or types open and plausible ones were taken."
    )
    return f"<h2>Programs by microseconds to gain</h2>{tools}" + _table(head, rows, caption, {0, 2, 3, 4, 5}) + rest


def _table(head: Sequence[str], rows: Iterable[str], caption: str, numeric: set[int]) -> str:
    cells = (
        f'<th scope="col"{" class=n" if column in numeric else ""}>{text_of(name)}</th>'
        for column, name in enumerate(head)
    )
    head_row = f"<thead><tr>{''.join(cells)}</tr></thead>"
    return scrolling(caption, f'<table class="figures-table">{head_row}<tbody>{"".join(rows)}</tbody></table>')


def _open_programs(entries: Sequence[_Entry]) -> str:
    if not entries:
        return ""
    rows = []
    for entry in entries:
        missing = ", ".join(entry.program.budget.before.missing[:6])
        found = " ".join(sorted({finding.rule.code for finding in entry.program.verdict.details.findings}))
        rows.append(
            f'<tr data-text="{text_of(f"{entry.title} {found}".lower())}"><td class="name">{text_of(entry.title)}</td>'
            f"<td>{text_of(missing or 'not known')}</td><td>{text_of(found or '-')}</td></tr>"
        )
    caption = "Programs without times, as the source leaves sizes open. Give them with kernlint PATH --set NAME=VALUE or --assume FACT."
    inner = _table(("program", "what is open", "found by"), rows, caption, set())
    return f"<details><summary>{_counted(len(entries), 'program')} without times</summary>{inner}</details>"


def _not_told(files: Sequence[FileReport]) -> str:
    rows = [
        f'<tr><td class="name">{text_of(file.shown)}</td><td>{text_of(file.error)}</td></tr>'
        for file in files
        if file.error
    ]
    if not rows:
        return ""
    inner = _table(("file", "why"), rows, "Files that were not analysed completely", set())
    return f"<details><summary>{_counted(len(rows), 'file')} not analysed completely</summary>{inner}</details>"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"


def _footer() -> str:
    return (
        f"<footer>kernlint {__version__}, model {MODEL_VERSION}. Predictions come from a model fitted to measurements on one "
        "H100; other devices are scaled from their data sheets.</footer>"
    )


# -- one program ------------------------------------------------------------------------------------------------------


def _article(entry: _Entry) -> str:
    program, ident = entry.program, f"p{entry.number}"
    verdict, found = program.verdict, program.verdict.details.estimate.chosen
    word = (
        "<span class='yes'>worth optimizing</span>" if verdict.worth_optimizing else "<span class='no'>leave it</span>"
    )
    figures = {
        "now": f"{format_us(found.before_us)} us",
        "after the change": f"{format_us(found.after_us)} us" if verdict.worth_optimizing else "-",
        "gain (80 %)": format_speedup(found.low, found.high) if verdict.worth_optimizing else "-",
        "PyTorch": f"{format_us(found.reference_us)} us" if found.reference_us is not None else "-",
    }
    headroom = program.budget.headroom
    if headroom is not None:
        figures["achievable"] = f"{format_us(headroom.achievable_us[1])} us"
    sizes = " ".join(f"{name}={value}" for name, value in program.budget.sizes.items())
    parts = [
        f'<article id="{ident}" tabindex="-1" aria-labelledby="{ident}-h" data-text="{text_of(entry.title.lower())}">',
        f'<h2 id="{ident}-h">{entry.number}. {text_of(entry.title)}</h2>',
        f"<p>{word}. {worded(verdict.reason)}</p>",
        _figures({name: value or "-" for name, value in figures.items()}),
        f"<p class='dim'>{text_of(sizes)}</p>" if sizes else "",
        _advice(program),
        _waterfall(headroom, ident),
        _roofline(program, ident),
        _kernels(program.kernels),
        _budget(program),
        source_table(entry.file.lines, entry.file.shown, program, ident),
        _findings(verdict.details.findings, ident, entry.file.shown),
        _diff(program),
        _assumptions(program),
        '<p><a href="#main">Back to the ranking</a></p></article>',
    ]
    return "".join(parts)


def _advice(program: Program) -> str:
    verdict = program.verdict
    if not verdict.worth_optimizing:
        return ""
    return (
        f"<h3>What to do</h3><p>{worded(verdict.bottleneck)}</p><p><strong>{worded(verdict.optimisation_method)}</strong></p>"
        f"<p>{worded(verdict.modification_plan)}</p>"
    )


def _waterfall(found: HeadroomReport | None, ident: str) -> str:
    if found is None:
        return ""
    low, _, high = found.achievable_us
    causes = "".join(
        f"<li><strong>{text_of(cause.cause)}</strong>, {format_us(cause.us)} us: {text_of(cause.step)}, line {cause.location.line}"
        f"{': ' + worded(cause.evidence) if cause.evidence else ''}</li>"
        for cause in found.causes
    )
    witness = f" ({text_of('; '.join(found.witness[:2]))})" if found.witness else ""
    return (
        f"<h3>Where the difference goes</h3><figure>{waterfall_svg(found, f'{ident}-w')}<figcaption>Device time, one cause removed after "
        f"another. Achievable: {format_us(low)} to {format_us(high)} us{witness}.</figcaption></figure>"
        + (f"<ul>{causes}</ul>" if causes else "")
    )


def _roofline(program: Program, ident: str) -> str:
    picture = roofline_svg(program.budget, f"{ident}-r")
    if not picture:
        return ""
    return (
        f"<h3>Roofline</h3><figure>{picture}<figcaption>Circles: before; squares: with the best change found. Steps without "
        "arithmetic are not shown.</figcaption></figure>"
    )


def _kernels(kernels: Sequence[KernelNumbers]) -> str:
    if not kernels:
        return ""
    head = ("kernel", "us", "bound", "occupancy", "filled by the grid", "of peak memory", "of peak arithmetic")
    rows = []
    for kernel in kernels:
        found = kernel.occupancy
        possible = "-" if found is None else f"{found.possible:.0%} ({found.resident} × {found.warps} warps)"
        cells = [
            f'<td class="n">{format_us(kernel.gpu_us)}</td><td>{text_of(kernel.bound)}</td><td class="n">{possible}</td>',
            _share(None if found is None else found.filled),
            _share(kernel.memory),
            _share(kernel.arithmetic, kernel.unit),
        ]
        rows.append(f'<tr><td class="name">{text_of(kernel.name)}</td>{"".join(cells)}</tr>')
    return "<h3>Kernels</h3>" + _table(head, rows, "What a profiler would show, predicted", {1, 3, 4, 5, 6})


def _share(value: float | None, unit: str = "") -> str:
    if value is None:
        return '<td class="n">-</td>'
    return f'<td class="n">{bar_svg(value)} {value:.0%}{" " + text_of(unit) if unit else ""}</td>'


def _budget(program: Program) -> str:
    parts = ["<h3>Time budget</h3>"]
    title = (
        "Every step of a call"
        if program.budget.after is None
        else "Every step of a call, before and after the best change found"
    )
    for part in tables(program.budget):
        if isinstance(part, Grid):
            parts.append(_grid(part, title))
            title = "Totals"
        elif part:
            title = part.rstrip(":")
    return "".join(parts)


def _grid(grid: Grid, caption: str) -> str:
    groups = ""
    if grid.groups:
        ends = [column for column, _ in grid.groups[1:]] + [len(grid.head)]
        cells = "".join(
            f'<th scope="colgroup" colspan="{end - column}">{text_of(heading)}</th>'
            for (column, heading), end in zip(grid.groups, ends)
        )
        groups = f'<tr><td colspan="{grid.groups[0][0]}"></td>{cells}</tr>'
    head = "".join(
        f'<th scope="col"{" class=n" if column in grid.numeric else ""}>{text_of(name)}</th>' if name else "<td></td>"
        for column, name in enumerate(grid.head)
    )
    rows = []
    for row in grid.rows:
        cells = ""
        for column, cell in enumerate(row):
            if isinstance(cell, Bar):
                cells += f"<td>{bar_svg(cell.fraction)}</td>"
            else:
                kinds = " ".join(
                    kind for kind, holds in (("n", column in grid.numeric), ("gone", cell == "gone")) if holds
                )
                named = f' class="{kinds}"' if kinds else ""
                cells += f"<td{named}>{text_of(cell)}</td>"
        rows.append(f"<tr>{cells}</tr>")
    return scrolling(caption, f"<table><thead>{groups}<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>")


def _findings(findings: Sequence[FindingReport], ident: str, shown: str) -> str:
    if not findings:
        return ""
    return f"<h3>Findings</h3><ul>{''.join(_finding(finding, ident, shown) for finding in findings)}</ul>"


def _finding(finding: FindingReport, ident: str, shown: str) -> str:
    place = finding.location
    where = f"{place.file}:{place.line}"
    link = f'<a href="#{ident}-L{place.line}">{text_of(where)}</a>' if place.file == shown else text_of(where)
    gain = ""
    if finding.estimate is not None:
        interval = format_speedup(finding.estimate.chosen.low, finding.estimate.chosen.high)
        gain = f" [{interval}]" if interval else ""
    facts = "".join(f"<li>{worded(fact)}</li>" for fact in finding.evidence)
    return (
        f'<li>{link} <span class="{finding.severity}">{finding.severity}</span> '
        f'<strong><a href="{rule_url(finding.rule.code)}">{text_of(finding.rule.code)}</a> {text_of(finding.rule.name)}</strong>{gain}: '
        f"{worded(finding.message)}"
        f"{f'<ul class=dim>{facts}</ul>' if facts else ''}</li>"
    )


def _diff(program: Program) -> str:
    if not program.diff:
        note = f"<p class='dim'>{worded(program.diff_note)}</p>" if program.diff_note else ""
        return f"<h3>Proposed change</h3><p>None that can be made automatically.</p>{note}" if note else ""
    lines = "".join(f'<span class="{kind}">{text_of(line)}</span>' for kind, line in _diff_lines(program.diff))
    return (
        f"<h3>Proposed change</h3><p class='dim'>{worded(program.diff_note)}. <code>kernlint verify</code> proves it.</p>"
        f'<pre class="diff" tabindex="0" role="group" aria-label="Proposed change">{lines}</pre>'
    )


def _diff_lines(diff: str) -> Iterator[tuple[str, str]]:
    for line in diff.splitlines():
        if line.startswith(("---", "+++", "@@", "\\")):
            yield "h", line
        else:
            yield {"+": "a", "-": "d"}.get(line[:1], "c"), line or " "


def _assumptions(program: Program) -> str:
    facts = list(dict.fromkeys(program.assumptions))
    if not facts:
        return ""
    return f"<h3>Assumptions</h3><ul>{''.join(f'<li>{worded(fact)}</li>' for fact in facts)}</ul>"
