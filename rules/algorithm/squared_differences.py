"""Squared distances of rows to rows, formed by subtracting element by element: ``|x|^2 - 2 x.c + |c|^2`` is a product."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.algorithm.outer_product import is_axis, is_vector
from kernlint.rules.proofs.sums_of_products import contractions, squared_difference, sums
from kernlint.workload import Dtype, Launch, Load, Loop, Size, Span
from kernlint.workload.dtype import promote

#: The least extent of a tile that `tl.dot` takes.
_LEAST = 16


@dataclass(frozen=True)
class SquaredDifferences:
    """A tile of sums of ``(rows - columns) ** 2`` over the axis that two loaded tiles share.

    ``at`` is where a tile with all three axes is summed, or the ``loop`` that adds one slice of it in each iteration; ``last`` is where
    the square is, or is added.
    """

    at: Span
    rows: Load
    columns: Load
    m: int
    n: int
    depth: Size
    last: Span
    loop: Loop | None = None

    @property
    def dtype(self) -> Dtype:
        return promote(self.rows.dtype, self.columns.dtype)


def squared_differences(launch: Launch) -> Iterator[SquaredDifferences]:
    """The sums of ``launch`` of squared differences of two loaded tiles."""
    for tile in contractions(launch.kernel, squared_difference):
        loads, (m, n, k) = tile.tile.loads, tile.extents
        if min(m, n, k) >= _LEAST and all(load.dtype.is_float and load.dtype.bits <= 32 for load in loads):
            yield SquaredDifferences(tile.total.span, *loads, m, n, k, tile.tile.value.span)
    for total in sums(launch.kernel):
        found = (
            squared_difference(launch.kernel, total.terms[0])
            if len(total.terms) == 1 and total.nest and total.alone
            else None
        )
        if found is None or [one.axes for one in found.factors] != [(0,), (1,)]:
            continue
        loop, (rows, columns) = total.nest[-1], found.loads
        fits = all(is_vector(load) and load.dtype.is_float and load.dtype.bits <= 32 for load in found.loads)
        if fits and loop.trip is not None and is_axis(loop, [rows, columns]):
            yield SquaredDifferences(
                loop.span, rows, columns, rows.elements, columns.elements, loop.trip, total.total.span, loop
            )
