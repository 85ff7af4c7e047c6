"""Pictures as SVG text: a waterfall, a roofline and bars. Colours are classes of the page's style sheet, so that they follow it into the
dark and onto paper."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from html import escape

from kernlint.report.budget import Budget, StepBudget
from kernlint.report.look import printable
from kernlint.report.roofline import Frame, frame_of
from kernlint.report.waterfall import Row, waterfall
from kernlint.verdict.model import HeadroomReport
from kernlint.verdict.speedup import format_us

_WIDTH = 720
_ROW = 26
_NAMES = 190  # room for the name of a row, left of its bar
_NUMBERS = 90  # and for its number, right of it


_CODE = re.compile(r"`([^`]+)`")


def text_of(text: str) -> str:
    """``text`` for a page: nothing in it is markup, or drives a reader."""
    return escape(printable(text), quote=True)


def worded(text: str) -> str:
    """As :func:`text_of`, with what stands in backticks set as code, and lines kept."""
    return "<br>".join(_CODE.sub(r"<code>\1</code>", text_of(line)) for line in text.splitlines())


def scrolling(caption: str, table: str) -> str:
    """A table that scrolls by itself where the window is narrower; the words above it do not."""
    said = text_of(caption)
    return (
        f'<p class="caption">{said}</p><div class="scroll" tabindex="0" role="group" aria-label="{said}">{table}</div>'
    )


def waterfall_svg(found: HeadroomReport, ident: str) -> str:
    """From the time now down to the achievable and the bound."""
    rows = waterfall(found)
    scale = (_WIDTH - _NAMES - _NUMBERS) / max(*(row.us for row in rows), 1e-9)
    height = _ROW * len(rows) + 8
    parts: list[str] = []
    for index, row in enumerate(rows):
        parts += _waterfall_row(row, 4 + index * _ROW, scale)
    said = "; ".join(f"{row.name} {format_us(row.us)} us" for row in rows)
    return _svg(ident, height, "Waterfall of the predicted device time", said, parts)


def _waterfall_row(row: Row, y: float, scale: float) -> Iterator[str]:
    removed = row.kind in ("cause", "rest")
    start = row.level_us if removed else 0.0
    x, width = _NAMES + start * scale, max(1.0, row.us * scale)
    name = f"− {row.name}" if removed else row.name
    yield f'<text class="label" x="{_NAMES - 8}" y="{y + 16:.1f}" text-anchor="end">{text_of(name)}</text>'
    yield f'<rect class="bar {row.kind}" x="{x:.1f}" y="{y + 3:.1f}" width="{width:.1f}" height="{_ROW - 8}" rx="2"/>'
    yield f'<text class="value" x="{x + width + 6:.1f}" y="{y + 16:.1f}">{format_us(row.us)} us</text>'
    if removed:
        yield f'<line class="guide" x1="{x:.1f}" x2="{x:.1f}" y1="{y + 3:.1f}" y2="{y + _ROW + 3:.1f}"/>'


def bar_svg(fraction: float) -> str:
    """A bar beside a number in a table, which says the same and needs no words of its own."""
    width = 100 * max(0.0, min(1.0, fraction))
    return (
        '<svg class="inline" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f'<rect class="track" width="100" height="10"/><rect class="fill" width="{width:.1f}" height="10"/></svg>'
    )


# -- roofline ---------------------------------------------------------------------------------------------------------

_TOP, _LEFT, _RIGHT, _BOTTOM, _HEIGHT = 14, 64, 16, 44, 380


class _Axes:
    """Where a point of a :class:`Frame` lies in the picture: both axes are logarithmic."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def x(self, value: float) -> float:
        return self._along(value, self.frame.x, _LEFT, _WIDTH - _RIGHT)

    def y(self, value: float) -> float:
        return self._along(value, self.frame.y, _HEIGHT - _BOTTOM, _TOP)

    def _along(self, value: float, ends: tuple[float, float], first: float, last: float) -> float:
        low, high = map(math.log10, ends)
        part = (math.log10(max(value, 1e-30)) - low) / (high - low or 1.0)
        return first + max(0.0, min(1.0, part)) * (last - first)


def roofline_svg(budget: Budget, ident: str) -> str:
    """Operations per byte against operations per second, with the roofs of the device; empty where there is nothing to draw."""
    frame = frame_of(budget)
    if frame is None:
        return ""
    axes = _Axes(frame)
    parts = [*_grid(axes), *_roofs(budget, axes)]
    said = []
    names = [(axes.x(frame.x[1]), axes.y(roof.value) - 4) for roof in budget.roofs if roof.kind == "peak"]
    for word, steps in frame.drawn.items():
        for step in steps:
            parts += _point(step, word, axes, names)
            said.append(f"{word}: {step.name} {step.intensity:.3g} operations a byte, {step.achieved:.3g} a second")
    return _svg(ident, _HEIGHT, "Roofline, predicted", "; ".join(said), parts)


def _grid(axes: _Axes) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for power in _powers(axes.frame.x):
        x = axes.x(10.0**power)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{_plain(10.0**power)}</text>'
    for power in _powers(axes.frame.y):
        y = axes.y(10.0**power)
        yield f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_plain(10.0**power)}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text class="tick" x="{middle:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">operations per distinct byte</text>'
    yield f'<text class="tick" x="{_LEFT + 6}" y="{_TOP + 12}">operations per second</text>'


def _powers(ends: tuple[float, float]) -> range:
    low, high = math.ceil(math.log10(ends[0])), math.floor(math.log10(ends[1]))
    return range(low, high + 1)


def _plain(value: float) -> str:
    for limit, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g} {unit}"
    return f"{value:g}"


def _roofs(budget: Budget, axes: _Axes) -> Iterator[str]:
    peaks = [roof for roof in budget.roofs if roof.kind == "peak"]
    slopes = [roof for roof in budget.roofs if roof.kind == "bandwidth"]
    top = max(roof.value for roof in peaks)
    low, high = axes.frame.x
    for index, slope in enumerate(slopes):
        # A line in logarithmic axes, from where it enters the picture to the highest peak.
        start = max(low, axes.frame.y[0] / slope.value)
        x1, x2, y1, y2 = axes.x(start), axes.x(top / slope.value), axes.y(start * slope.value), axes.y(top)
        yield f'<line class="roof r{index}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'
        at = (x1 + (x2 - x1) * 0.62, y1 + (y2 - y1) * 0.62)
        label = f"{slope.name} {slope.value / 1e12:.3g} TB/s"
        below = index == 0
        yield (
            f'<text class="tick" x="{at[0] + (8 if below else -8):.1f}" y="{at[1] + (12 if below else -6):.1f}" '
            f'text-anchor="{"start" if below else "end"}">{text_of(label)}</text>'
        )
    for peak in peaks:
        x1, x2, y = axes.x(peak.value / slopes[-1].value), axes.x(high), axes.y(peak.value)
        yield f'<line class="roof" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        label = f"{peak.name} {peak.value / 1e12:,.0f} TOP/s"
        yield f'<text class="tick" x="{x2:.1f}" y="{y - 4:.1f}" text-anchor="end">{text_of(label)}</text>'


def _point(step: StepBudget, word: str, axes: _Axes, names: list[tuple[float, float]]) -> Iterator[str]:
    x, y = axes.x(step.intensity or 0.0), axes.y(step.achieved or 0.0)
    if word == "before":
        yield f'<circle class="point before" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
    else:
        yield f'<rect class="point after" x="{x - 5.5:.1f}" y="{y - 5.5:.1f}" width="11" height="11"/>'
    left = x > _WIDTH / 2
    at = (x + (-10 if left else 10), y + 4)
    # Names that would lie on others go below them.
    while (
        any(abs(at[1] - other[1]) < 13 and abs(at[0] - other[0]) < 260 for other in names) and at[1] < _HEIGHT - _BOTTOM
    ):
        at = (at[0], at[1] + 13)
    names.append(at)
    label = f"{word}: {printable(step.name)[:34]}, {format_us(step.gpu_us)} us"
    yield (
        f'<text class="mark {word}" x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{"end" if left else "start"}">'
        f"{text_of(label)}</text>"
    )


def _svg(ident: str, height: float, title: str, said: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-labelledby="{ident}-t {ident}-d">'
        f'<title id="{ident}-t">{text_of(title)}</title><desc id="{ident}-d">{text_of(said)}</desc>'
        + "".join(parts)
        + "</svg>"
    )
