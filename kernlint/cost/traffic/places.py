"""Addresses that no expression of indices holds, worked out number by number: by way of floating point (an image that is turned, a
sample beside its place), of conditions (mirrored edges).

Numbers that a tile is loaded of and that are added to a place, displacements, are taken to be zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kernlint.compare.columns import MOST_NUMBERS, Column, Effort, NotCompared, Pointer, Points, listed
from kernlint.compare.kernels import Lanes, Reading, no_memory
from kernlint.cost.layout import vector_bytes
from kernlint.cost.traffic.model import LINE_BYTES, SECTOR_BYTES, WARP_LANES
from kernlint.cost.traffic.probe import Probe
from kernlint.records import dataclass
from kernlint.workload import Atomic, Expr, Lane, Launch, Load, LoopIndex, ProgramId, Store
from kernlint.workload.expr import Atom
from kernlint.workload.values import Value, Values

#: Lanes that are looked at first.
_FEW = 9


@dataclass(frozen=True)
class Places:
    """Where an access goes: the ``offset`` in the steps that it takes from lane to lane, program to program and turn to turn. Where
    those between lanes are not constant, a request meets so many ``lines``, and so many ``sectors`` are met by 32 neighbours; else both
    are 0. ``displaced`` from there by what was loaded."""

    offset: Expr
    lines: float
    sectors: float
    displaced: bool


def places(access: Load | Store | Atomic, launch: Launch, loops: Sequence[LoopIndex], probe: Probe) -> Places | None:
    """The places of ``access`` around the middle of the grid; None where a value is not known, the loaded ones are all there is, or lanes
    go along a row by steps that differ."""
    values = launch.kernel.values
    found = values.at_node(access.id) if values is not None else None
    pointer = values.argument(found, "pointer") if values is not None and found is not None else None
    if values is None or pointer is None or pointer.shape != access.shape:
        return None
    ends: dict[Atom, int] = {Lane(dim): extent for dim, extent in enumerate(access.shape)}
    ends |= {ProgramId(axis): extent for axis, extent in enumerate(probe.grid)}
    ends |= {loop: max(1, int(probe.trips[loop.loop])) for loop in loops}
    middle = {atom: end // 2 if isinstance(atom, Lane) else (end - 1) // 2 for atom, end in ends.items()}
    reader = _Reader(values, launch, pointer)
    try:
        (here,) = reader.at(middle)
        offset, rest = Expr.constant(0), here
        for atom, end in ends.items():
            if end > 1:
                back = -1 if middle[atom] else 1
                (beside,) = reader.at({**middle, atom: middle[atom] + back})
                step = int((beside - here) * back)
                offset, rest = offset + Expr.atom(atom) * step, rest - step * middle[atom]
        if reader.displaced and not any(isinstance(atom, Lane) for atom in offset.atoms()):
            return None  # places that were loaded as such
        dim = max(range(len(access.shape)), key=lambda one: (access.shape[one] >= WARP_LANES, one), default=0)

        def neighbours(lanes: int, apart: int = 1) -> list[float]:
            first = max(0, middle[Lane(dim)] - lanes * apart // 2)
            places = range(first, min(access.shape[dim], first + lanes * apart), apart)
            return reader.at({**middle, Lane(dim): [*places]})

        if _even(neighbours(_FEW)):
            return Places(offset + int(rest), 0.0, 0.0, reader.displaced)
        near, dealt = neighbours(WARP_LANES), neighbours(WARP_LANES, _apart(access, launch))
    except (NotCompared, ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return None
    if _even(near):
        return Places(offset + int(rest), 0.0, 0.0, reader.displaced)
    size = access.dtype.bytes
    if sum(abs(after - before) * size >= LINE_BYTES for before, after in pairwise(near)) <= 1:
        return None
    lines, sectors = (
        {place * size // unit for place in row} for row, unit in ((dealt, LINE_BYTES), (near, SECTOR_BYTES))
    )
    return Places(offset + int(rest), float(len(lines)), float(len(sectors)), reader.displaced)


def _even(places: list[float]) -> bool:
    """Whether lanes go by one step, but for an edge between them."""
    steps = [after - before for before, after in pairwise(places)]
    return max(map(steps.count, steps), default=0) >= len(steps) - 2


def _apart(access: Load | Store | Atomic, launch: Launch) -> int:
    """Elements from lane to lane: a tile is dealt out as its widest access is."""
    alike = (
        node
        for node in launch.kernel.nodes((Load, Store))
        if isinstance(node, (Load, Store)) and node.shape == access.shape
    )
    return max((vector_bytes(node) // node.dtype.bytes for node in alike), default=1)


class _Reader(Lanes):
    """Where ``pointer`` goes in a launch. ``displaced``: something that a tile was loaded of was taken to be zero."""

    def __init__(self, values: Values, launch: Launch, pointer: Value) -> None:
        super().__init__(launch, Reading(values), (), no_memory, Effort(MOST_NUMBERS))
        self.pointer = pointer
        self.displaced = False

    def at(self, point: Mapping[Atom, Column]) -> list[float]:
        """The elements from the beginning at ``point``, or at each of the points there. Raises :class:`NotCompared`."""
        self.ids = tuple(point[ProgramId(axis)] for axis in range(3) if ProgramId(axis) in point)
        self.rounds = {atom.loop: number for atom, number in point.items() if isinstance(atom, LoopIndex)}
        self._known = {}
        axes = [point[Lane(dim)] for dim in range(len(self.pointer.shape))]
        count = max((len(axis) for axis in axes if type(axis) is list), default=1)
        found = self.value(self.pointer, Points(axes, count))
        if not isinstance(found, Pointer):
            raise NotCompared("an address that is not known")
        return listed(found.offset, count)

    def value(self, value: Value, points: Points) -> Any:
        if value.op == "load" and value.shape and value.dtype is not None and value.dtype.is_float:
            self.displaced = True
            return 0.0
        return super().value(value, points)
