"""Addresses that no expression of indices holds, worked out number by number: by way of floating point (an image that is turned, a
sample beside its place), of conditions (mirrored edges).

Numbers that a tile is loaded of and that are added to a place, displacements, are taken to be zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from kernlint.cost.layout import vector_bytes
from kernlint.cost.traffic.model import LINE_BYTES, SECTOR_BYTES, WARP_LANES
from kernlint.cost.traffic.probe import Probe
from kernlint.records import dataclass
from kernlint.workload import Atomic, Expr, Lane, Launch, Load, LoopIndex, ProgramId, Store, concrete
from kernlint.workload.expr import Atom
from kernlint.workload.values import Value, Values

_Point = Mapping[Atom, int]
#: Lanes that are looked at first.
_FEW = 9
_ARITHMETIC: Mapping[str, Callable[..., float]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b, "//": lambda a, b: int(a / b),
    "%": math.fmod, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "&": lambda a, b: int(a) & int(b), "|": lambda a, b: int(a) | int(b),
    "minimum": min, "maximum": max, "abs": abs, "negative": lambda a: -a, "floor": math.floor, "ceil": math.ceil,
    "where": lambda test, a, b: a if test else b, "clamp": lambda a, low, high: min(max(a, low), high),
}  # fmt: skip


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
    reader = _Reader(values, launch)
    try:
        here = reader.at(pointer, middle)
        offset, rest = Expr.constant(0), here
        for atom, end in ends.items():
            if end > 1:
                back = -1 if middle[atom] else 1
                step = int((reader.at(pointer, {**middle, atom: middle[atom] + back}) - here) * back)
                offset, rest = offset + Expr.atom(atom) * step, rest - step * middle[atom]
        if reader.displaced and not any(isinstance(atom, Lane) for atom in offset.atoms()):
            return None  # places that were loaded as such
        dim = max(range(len(access.shape)), key=lambda one: (access.shape[one] >= WARP_LANES, one), default=0)

        def neighbours(lanes: int, apart: int = 1) -> list[float]:
            first = max(0, middle[Lane(dim)] - lanes * apart // 2)
            places = range(first, min(access.shape[dim], first + lanes * apart), apart)
            return [reader.at(pointer, {**middle, Lane(dim): lane}) for lane in places]

        if _even(neighbours(_FEW)):
            return Places(offset + int(rest), 0.0, 0.0, reader.displaced)
        near, dealt = neighbours(WARP_LANES), neighbours(WARP_LANES, _apart(access, launch))
    except (_Unknown, ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
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


class _Unknown(Exception):
    """A value that the program does not show."""


class _Reader:
    """Values of one launch. ``displaced``: something that a tile was loaded of was taken to be zero."""

    def __init__(self, values: Values, launch: Launch) -> None:
        self.values, self.launch = values, launch
        self.point: _Point = {}
        self.known: dict[tuple[int, tuple[int, ...]], float] = {}
        self.displaced = False

    def at(self, value: Value, point: _Point) -> float:
        """The number that ``value`` has at ``point``, of pointers the elements from the beginning. Raises :class:`_Unknown`."""
        self.point, self.known = point, {}
        return self.number(value, tuple(point[Lane(dim)] for dim in range(len(value.shape))))

    def number(self, value: Value, lanes: tuple[int, ...]) -> float:
        """The number of the element ``lanes`` of ``value``."""
        key = value.id, lanes
        if key not in self.known:
            self.known[key] = self._number(value, lanes)
        return self.known[key]

    def _number(self, value: Value, lanes: tuple[int, ...]) -> float:
        if value.op == "constant":
            return _plain(value.detail)
        if value.op == "parameter":
            given = self.launch.arguments.get(value.detail, self.launch.constexprs.get(value.detail))
            return 0.0 if self.launch.tensor(value.detail) is not None else _plain(given)
        operands = self.values.operands(value)
        if value.op in ("program_id", "arange"):
            start = _plain(operands[0].detail)
            return self.point[ProgramId(int(start))] if value.op == "program_id" else start + lanes[0]
        if value.op == "index":
            turn = next(
                (self.point[LoopIndex(r.loop)] for r in value.region.around() if LoopIndex(r.loop) in self.point), None
            )
            if turn is None:
                raise _Unknown
            return self.number(operands[0], ()) + turn * self.number(operands[2], ())
        if value.op == "load" and value.shape and value.dtype is not None and value.dtype.is_float:
            self.displaced = True
            return 0.0
        if value.op == "axes":
            kept = tuple(lane for lane, new in zip(lanes, operands[1].detail) if new is not None)
            return self.number(operands[0], kept)
        if value.op in ("cast", "to"):
            number = self.number(operands[0], lanes)
            return math.trunc(number) if value.dtype is not None and value.dtype.is_integer else number
        if value.op not in _ARITHMETIC:
            raise _Unknown
        return _ARITHMETIC[value.op](*(self.number(operand, _within(operand, lanes)) for operand in operands))


def _within(operand: Value, lanes: tuple[int, ...]) -> tuple[int, ...]:
    """The element of ``operand`` that is spread to ``lanes``."""
    own = lanes[len(lanes) - len(operand.shape) :]
    return tuple(lane if extent > 1 else 0 for lane, extent in zip(own, operand.shape))


def _plain(number: object) -> float:
    """A number that is known. Raises :class:`_Unknown`."""
    value = concrete(number) if isinstance(number, Expr) else number
    if not isinstance(value, (int, float)):
        raise _Unknown
    return value
