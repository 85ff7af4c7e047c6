"""Tables with bars, painted two ways: plain text of fixed layout, and rich on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Union

from kernlint.records import dataclass

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: Characters of a full bar.
BAR_WIDTH = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_GAP = "  "

_STYLES = {
    "tensor": "green", "memory": "cyan", "l2": "cyan", "lines": "cyan", "latency": "yellow", "issue": "magenta", "launch": "red",
    "atomics": "red", "host": "blue",
}  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """A bar of ``fraction`` (0 to 1) of the full width."""

    fraction: float

    def plain(self) -> str:
        """In ASCII; whatever is more than nothing shows."""
        count = round(self.fraction * BAR_WIDTH)
        return "#" * max(count, 1 if self.fraction > 0 else 0)

    def blocks(self) -> str:
        """In eighths of a character."""
        eighths = round(self.fraction * BAR_WIDTH * 8)
        return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


Cell = Union[str, Bar]


@dataclass(frozen=True)
class Grid:
    """A table: ``head`` names its columns, ``numeric`` are those aligned right; a group of columns may have a heading
    (first column, heading)."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int]
    groups: tuple[tuple[int, str], ...] = ()

    def widths(self) -> list[int]:
        """Characters that each column needs."""
        wide = [BAR_WIDTH if any(isinstance(row[c], Bar) for row in self.rows) else 0 for c in range(len(self.head))]
        texts = [self.head, *([cell if isinstance(cell, str) else "" for cell in row] for row in self.rows)]
        return [max(wide[c], *(len(text[c]) for text in texts)) for c in range(len(self.head))]

    def width(self) -> int:
        return sum(self.widths()) + len(_GAP) * (len(self.head) - 1)


def paint(grid: Grid) -> list[str]:
    """The lines of ``grid`` in plain text."""
    widths = grid.widths()
    starts = [sum(widths[:c]) + len(_GAP) * c for c in range(len(widths))]
    lines = []
    if grid.groups:
        line = ""
        for column, heading in grid.groups:
            line = line.ljust(starts[column]) + heading + _GAP
        lines.append(line.rstrip())
    for row in (grid.head, *grid.rows):
        lines.append(_GAP.join(_aligned(grid, row, c, widths[c]) for c in range(len(widths))).rstrip())
    return lines


def _aligned(grid: Grid, row: Sequence[Cell], column: int, width: int) -> str:
    cell = row[column]
    text = cell.plain() if isinstance(cell, Bar) else cell
    return text.rjust(width) if column in grid.numeric else text.ljust(width)


def show(grid: Grid, console: Console) -> None:
    """Print ``grid`` on a terminal; the first column gives way where there is no room for all."""
    from rich.table import Table
    from rich.text import Text

    if grid.groups:
        widths = grid.widths()
        line = Text()
        for column, heading in grid.groups:
            line.pad_right(max(0, sum(widths[:column]) + len(_GAP) * column - len(line)))
            line.append(heading, style="bold")
        console.print(line, no_wrap=True, overflow="crop")
    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="dim")
    for column, name in enumerate(grid.head):
        table.add_column(
            Text(name), justify="right" if column in grid.numeric else "left", no_wrap=True, overflow="ellipsis",
            min_width=None if column == 0 else grid.widths()[column],
        )  # fmt: skip
    for row in grid.rows:
        table.add_row(*(_painted(cell) for cell in row))
    console.print(table)


def _painted(cell: Cell) -> Text:
    from rich.text import Text

    if isinstance(cell, Bar):
        return Text(cell.blocks(), style="green")
    return Text(cell, style=_STYLES.get(cell, ""))
