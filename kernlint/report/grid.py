"""Tables with bars: of a fixed layout in plain text, fitted to the width of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from kernlint.records import dataclass
from kernlint.report.look import PLAIN, Look, shortened

#: Characters of a full bar; the widths that it has where there is less room, the last resort being none.
BAR_WIDTH = 10
_BAR_WIDTHS = (BAR_WIDTH, 6, 0)
_EIGHTHS = " ▏▎▍▌▋▊▉"
_GAP = "  "

#: Characters that a column of words keeps while bars can still give way, and at the least.
_WORDS = 18
_FEWEST = 8

#: What stands before a note that has a line of its own.
_NOTE = "      "

_STYLES = {
    "tensor": "green", "memory": "cyan", "l2": "cyan", "lines": "cyan", "latency": "yellow", "issue": "magenta", "shared": "magenta",
    "launch": "red", "atomics": "red", "host": "blue",
}  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """A bar of ``fraction`` (0 to 1) of the full width."""

    fraction: float

    def drawn(self, look: Look = PLAIN, width: int = BAR_WIDTH) -> str:
        """In eighths of a character, or in ASCII; there whatever is more than nothing shows."""
        if look.blocks:
            eighths = round(self.fraction * width * 8)
            return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        return "#" * max(round(self.fraction * width), 1 if self.fraction > 0 else 0)


Cell = Union[str, Bar]


@dataclass(frozen=True)
class Grid:
    """A table: ``head`` names its columns, ``numeric`` are those aligned right; a group of columns may have a heading
    (first column, heading). ``whole`` are columns of words that are never shortened. With ``notes`` the last column gets lines of its
    own where there is no room beside the others."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int]
    groups: tuple[tuple[int, str], ...] = ()
    notes: bool = False
    whole: frozenset[int] = frozenset()

    def widths(self) -> list[int]:
        """Characters that each column needs."""
        texts = [self.head, *([cell if isinstance(cell, str) else "" for cell in row] for row in self.rows)]
        return [
            max(BAR_WIDTH if self.has_bars(c) else 0, *(len(text[c]) for text in texts)) for c in range(len(self.head))
        ]

    def width(self) -> int:
        return _total(self.widths())

    def has_bars(self, column: int) -> bool:
        return any(isinstance(row[column], Bar) for row in self.rows)


def paint(grid: Grid, look: Look = PLAIN) -> list[str]:
    """The lines of ``grid``; nothing but words and bars is shortened for want of room."""
    widths, below = _fitted(grid, look)
    lines = []
    if grid.groups:
        line = ""
        for column, heading in grid.groups:
            line = line.ljust(_total(widths[:column]) + len(_GAP) if column else 0) + heading + _GAP
        lines.append(look.styled(line.rstrip(), "bold"))
    if any(grid.head):
        lines.append(look.styled(_line(grid, grid.head, widths, PLAIN), "dim"))
    for row in grid.rows:
        lines.append(_line(grid, row, widths, look))
        if below and row[-1]:
            lines += [look.styled(line, "dim") for line in look.wrapped(str(row[-1]), _NOTE)]
    return lines


def _total(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + len(_GAP) * max(0, len(shown) - 1)


def _fitted(grid: Grid, look: Look) -> tuple[list[int], bool]:
    """The width of each column, 0 for one that is left out, and whether notes stand below their rows."""
    widths = grid.widths()
    if look.width is None or _total(widths) <= look.width:
        return widths, False
    below = grid.notes
    if below:
        widths[-1] = 0
    bars = [c for c in range(len(widths)) if grid.has_bars(c)]
    words = [c for c, width in enumerate(widths) if width and c not in grid.numeric | grid.whole and c not in bars]
    for bar in _BAR_WIDTHS if bars else (0,):
        for c in bars:
            widths[c] = bar
        least = sum(max(0, widths[c] - _WORDS) for c in words)
        if _total(widths) - least <= look.width:
            break
    while _total(widths) > look.width and words:
        widest = max(words, key=lambda c: widths[c])
        if widths[widest] <= _FEWEST:
            break
        widths[widest] -= 1
    return widths, below


def _line(grid: Grid, row: Sequence[Cell], widths: Sequence[int], look: Look) -> str:
    cells = [_cell(row[c], width, c in grid.numeric, look) for c, width in enumerate(widths) if width]
    return _GAP.join(cells).rstrip()


def _cell(cell: Cell, width: int, right: bool, look: Look) -> str:
    style = "green" if isinstance(cell, Bar) else _STYLES.get(cell, "")
    text = cell.drawn(look, width) if isinstance(cell, Bar) else cell if right else shortened(cell, width)
    space = " " * (width - len(text))
    return space + look.styled(text, style) if right else look.styled(text, style) + space
