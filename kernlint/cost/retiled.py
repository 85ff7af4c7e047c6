"""What a loop of dots would take with another tile, from what it is with the one at hand: near enough to tell which tiles are worth
reading the program for. What a tile does to the sectors of its loads, and to registers beside the dot, is not told."""

from __future__ import annotations

import math
from math import ceil

from kernlint.cost import gathers
from kernlint.cost.device import Device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.dot_loop import DotLoop
from kernlint.cost.dots import dot_time
from kernlint.cost.traffic.accesses import traffic
from kernlint.records import replace
from kernlint.workload import Dot, Launch, ProgramId, concrete

#: Results that a launch computes over those that it stores, up to which its tiles cover just these.
_PADDED = 1.25
#: Tiles along an axis from which on they tell its extent.
_MANY = 8


class Retiled:
    """Times of ``launch``, which is built around one dot in a loop, with other tiles."""

    def __init__(
        self, launch: Launch, loop: DotLoop, extents: tuple[float, float, float], dot: Dot, device: Device
    ) -> None:
        self._loop, self._device = loop, device
        self._rows, self._columns, self._batch = extents
        moved, priced = traffic(launch), gathers.constants()
        #: Cycles that a program takes to gather a row and a column.
        self._gathered = (
            gathers.gathered_cycles(launch, moved, priced, (dot.a,)) / dot.m,
            gathers.gathered_cycles(launch, moved, priced, (dot.b,)) / dot.n,
        )
        self._scale = 1.0
        step = loop.steps[0]
        #: What it takes with the tile at hand.
        self.now_us = kernel_time(launch, device).us
        self._scale = self.now_us / self.us(step.m, step.n, step.k, loop.num_warps, loop.num_stages)

    @staticmethod
    def of(launch: Launch, device: Device) -> Retiled | None:
        """None where too little is known of the launch, or it does other work than its one dot. Worked out once for all launches
        that do the same."""
        known = launch.kernel.launched
        key = "retiled", id(device), launch.num_warps, launch.num_stages, launch.shapes
        if key not in known:
            known[key] = device, _retiled(launch, device)  # the device beside it, which keeps its identity
        found: Retiled | None = known[key][1]
        return found

    def us(self, m: int, n: int, k: int, num_warps: int, num_stages: int) -> float:
        """Microseconds with the tile ``m`` x ``n`` x ``k``."""
        loop, old = self._loop, self._loop.steps[0]
        grid_m, grid_n = ceil(self._rows / m), ceil(self._columns / n)
        programs = max(1, ceil(self._batch * grid_m * grid_n))
        iterations = loop.iterations * old.k / k
        a, b = old.a.memory_dtype.bits, old.b.memory_dtype.bits
        moved = (m * a + n * b) * k / ((old.m * a + old.n * b) * old.k)  # in one iteration, over what it is now
        changed = replace(
            loop,
            programs=programs,
            iterations=iterations,
            steps=(replace(old, m=m, n=n, k=k),),
            num_warps=num_warps,
            num_stages=num_stages,
            loaded_bytes=loop.loaded_bytes * moved * programs * iterations / (loop.programs * loop.iterations),
            grid_m=grid_m if loop.grid_m else 0,
            grid_n=grid_n if loop.grid_n else 0,
            extra_alu_elements_per_iteration=loop.extra_alu_elements_per_iteration * moved,
            special_elements_per_iteration=loop.special_elements_per_iteration * moved,
            most_iterations=loop.most_iterations * old.k / k,
        )
        row, column = self._gathered
        gathered = gathers.gather_us(row * m + column * n, programs, self._device)
        return self._scale * (dot_time(changed, self._device).us + gathered)


def _retiled(launch: Launch, device: Device) -> Retiled | None:
    dots = launch.kernel.dots()
    loop = dot_loop(launch) if launch.programs is not None and len(dots) == 1 else None
    if loop is None or len(loop.steps) != 1 or not loop.iterations:
        return None
    extents = _extents(launch, loop, dots[0])
    return Retiled(launch, loop, extents, dots[0], device) if extents is not None else None


def _extents(launch: Launch, loop: DotLoop, dot: Dot) -> tuple[float, float, float] | None:
    """The rows and columns that the tiles of ``launch`` cover of each of so many products."""
    step, grid = loop.steps[0], _grid(launch, loop, dot)
    stored = max((t.numel or 0 for s in launch.kernel.stores() if (t := launch.tensor(s.base)) is not None), default=0)
    area = loop.programs * step.m * step.n
    padded = area / stored if stored else 0.0
    if padded < 1 or grid is None:
        return None
    grid_m, grid_n = grid
    rows, columns, batch = grid_m * step.m, grid_n * step.n, loop.programs / (grid_m * grid_n)
    if padded <= _PADDED:
        return rows, columns, batch
    # The axis of many tiles is as long as these; the other one is what is left.
    if max(grid_m, grid_n) < _MANY:
        return None
    return (rows, columns / padded, batch) if grid_m >= grid_n else (rows / padded, columns, batch)


def _grid(launch: Launch, loop: DotLoop, dot: Dot) -> tuple[int, int] | None:
    """The tiles along the rows and along the columns; None where that is not known."""
    if loop.grid_m and loop.grid_n:
        return loop.grid_m, loop.grid_n
    loads = {load.id: load for load in launch.kernel.loads()}
    axes: list[set[int]] = []
    for operand in (dot.a, dot.b):
        load = loads.get(operand.load) if operand.load is not None else None
        if load is None or load.offset is None:
            return None
        axes.append({atom.axis for atom in load.offset.atoms() if isinstance(atom, ProgramId)})
    # Both operands move along the axes of a batch, and along one that a kernel takes rows and columns from.
    shared = axes[0] & axes[1]
    if shared and (axes[0] == shared or axes[1] == shared):
        return None
    # Where no program index moves an operand, all programs share its one tile.
    m, n = (math.prod(concrete(launch.grid[axis]) or 0 for axis in one - shared) for one in axes)
    return (m, n) if m and n else None
