"""Whether a rewritten program touches the same elements: the addresses of both, compared at many points.

An address in a tensor whose layout changed is right when it leads to the same logical element: the old one, taken apart by
the old strides and put together by the new ones.
"""

from __future__ import annotations

import random

from kernlint.workload import (
    Access,
    Expr,
    Lane,
    Launch,
    Loop,
    LoopIndex,
    ProgramId,
    Size,
    Symbol,
    Tensor,
    Workload,
    concrete,
)
from kernlint.workload.expr import Atom, Opaque, lift

_POINTS = 200
#: Points inside the mask that a proof needs.
_ENOUGH = 16


def moved_wrongly(before: Workload, after: Workload) -> list[tuple[int, str]]:
    """(position among the launches, kernel parameter) of every tensor in which ``after`` may touch other elements than
    ``before``; everything where the launches do not correspond."""
    old, new = before.launches(), after.launches()
    if [launch.kernel.name for launch in old] != [launch.kernel.name for launch in new]:
        return [(i, name) for i, launch in enumerate(old) for name in launch.arguments]
    wrong: list[tuple[int, str]] = []
    for index, (first, second) in enumerate(zip(old, new)):
        wrong += [(index, base) for base in _wrong_bases(first, second)]
    return wrong


def _wrong_bases(old: Launch, new: Launch) -> list[str]:
    first = list(old.kernel.walk(Access))
    second = new.kernel.nodes(Access)
    kinds = [(type(access), access.base, access.shape) for access, _ in first]
    if kinds != [(type(access), access.base, access.shape) for access in second]:
        return sorted({access.base for access, _ in first})
    wrong: dict[str, None] = {}
    for (access, loops), other in zip(first, second):
        source, target = old.tensor(access.base), new.tensor(access.base)
        if not _same_elements(old, access, loops, source, other, target):
            wrong[access.base] = None
    return list(wrong)


def _same_elements(
    launch: Launch, access: Access, loops: tuple[Loop, ...], source: Tensor | None, other: Access, target: Tensor | None
) -> bool:
    if source is not None and target is not None and source.shape != target.shape:
        return False
    alike = (source and source.strides) == (target and target.strides)
    if alike and access.offset == other.offset:
        return True
    if access.offset is None or other.offset is None:
        return False
    if source is None or target is None or source.shape is None or source.strides is None or target.strides is None:
        return False
    draw = random.Random(0)
    proven = 0
    for _ in range(_POINTS):
        point = _Point(draw, launch, access, loops)
        inside = _inside(access, point)
        old, new = point.value(access.offset), point.value(other.offset)
        shape, strides = ([point.value(lift(n)) for n in sizes] for sizes in (source.shape, source.strides))
        steps = [point.value(lift(n)) for n in target.strides]
        if None in (old, new, inside, *shape, *strides, *steps):
            return False
        place = _unravel(int(old or 0), [int(n or 0) for n in shape], [int(n or 0) for n in strides])
        if not inside or place is None:
            continue
        if sum(i * int(step or 0) for i, step in zip(place, steps)) != new:
            return False
        proven += 1
    return proven >= _ENOUGH


class _Point:
    """A program, a lane and an iteration drawn at random, and sizes for the symbols that are open."""

    def __init__(self, draw: random.Random, launch: Launch, access: Access, loops: tuple[Loop, ...]) -> None:
        self.draw = draw
        self.values: dict[Atom, float] = {}
        for dim, extent in enumerate(access.shape):
            self.values[Lane(dim)] = draw.randrange(extent)
        for axis, size in enumerate(launch.grid):
            self.values[ProgramId(axis)] = draw.randrange(max(1, self._whole(size)))
        for loop in loops:
            trip = loop.trip if loop.trip is not None else 4
            self.values[LoopIndex(loop.id)] = draw.randrange(max(1, self._whole(trip)))

    def _whole(self, size: Size) -> int:
        number = concrete(size)
        if number is not None:
            return number
        found = self.value(lift(size))
        return 4 if found is None else int(found)

    def value(self, expr: Expr) -> float | None:
        for atom in sorted(expr.atoms(), key=str):
            # Any number will do for what is loaded: it is the same one in both programs.
            loaded = isinstance(atom, Opaque) and atom.op == "load"
            if (isinstance(atom, Symbol) or loaded) and atom not in self.values:
                self.values[atom] = self.draw.randrange(3, 200)
        return expr.evaluate(self.values)


def _inside(access: Access, point: _Point) -> bool | None:
    for left, right in access.mask or ():
        low, high = point.value(left), point.value(right)
        if low is None or high is None:
            return None
        if low >= high:
            return False
    return True


def _unravel(offset: int, shape: list[int], strides: list[int]) -> list[int] | None:
    """The index of the element at ``offset`` of a dense tensor; None where it lies outside."""
    place = [0] * len(shape)
    for dim in sorted(range(len(shape)), key=lambda d: -strides[d]):
        if shape[dim] == 1:
            continue
        if strides[dim] <= 0:
            return None
        place[dim], offset = divmod(offset, strides[dim])
        if not 0 <= place[dim] < shape[dim]:
            return None
    return place if offset == 0 else None
