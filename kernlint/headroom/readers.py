"""Who reads the same bytes again: the program that has read them before, neighbours whose windows overlap, or all programs of an axis."""

from __future__ import annotations

from kernlint.cost.traffic.accesses import traffic
from kernlint.records import replace
from kernlint.workload import Launch


def read_by_many(launch: Launch) -> bool:
    """Whether what ``launch`` loads most often is the same bytes for all programs along an axis of its grid, so that a larger tile has
    fewer programs read them."""
    moved, loaded = traffic(launch), dict[str, float]()
    for access in moved.accesses:
        if access.kind == "load":
            loaded[access.base] = loaded.get(access.base, 0.0) + access.moved_bytes
    distinct = moved.footprints
    base = max(loaded, key=lambda one: loaded[one] - distinct.get(one, 0.0), default=None)
    if base is None or not distinct.get(base):
        return False
    grid, readers = launch.grid, 1.0
    for axis, extent in enumerate(grid):
        if isinstance(extent, int) and extent > 1:
            one = traffic(replace(launch, grid=(*grid[:axis], 1, *grid[axis + 1 :])))
            readers *= extent if one.footprints.get(base, 0.0) > 0.9 * distinct[base] else 1
    return readers > loaded[base] / distinct[base] / readers
