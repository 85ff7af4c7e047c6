"""The elements of a tensor that one program touches at an access, counted out lane by lane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from kernlint.records import dataclass
from kernlint.rules.proofs.iteration_domain import Site
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, Opaque, ProgramId, lift
from kernlint.workload.kernel import Loop

#: Iterations of a loop that are looked at.
_TRIPS = 8
#: What an opaque value becomes a number by once its arguments are numbers.
_ARITHMETIC = frozenset({"floordiv", "mod", "min", "max"})


class Touched:
    """The elements that the access at ``site`` touches in each program, and by which of its lanes, in the first iterations of its
    loops, where its guards let it run and within its mask."""

    def __init__(self, site: Site) -> None:
        access = site.access
        assert access.offset is not None
        self.site, self._offset = site, access.offset
        self._mask = [lift(right - left) for left, right in access.mask or ()]
        exprs = (access.offset, *(slack - 1 for slack in self._mask))
        self._lines = [_Line.of(expr, access.shape, site.loops) for expr in exprs]
        self._guards = [right - left for left, right in site.guards]

    def of(self, program: Mapping[Atom, int], most: int) -> set[int] | None:
        """Those of one program; None where they are more than ``most`` or cannot be told."""
        found: set[int] = set()
        shape = self.site.access.shape
        for point in _iterations(self.site.loops, dict(program)):
            if point is None:
                return None
            slacks = [slack.evaluate(point) for slack in self._guards]
            if any(slack is None for slack in slacks):
                return None
            if any(slack is not None and slack <= 0 for slack in slacks):
                continue
            offset, *rest = [line.at(point) for line in self._lines]
            if offset is None or None in rest or prod(shape) > most:
                return None
            _add_elements(found, offset, [bound for bound in rest if bound is not None], shape)
            if len(found) > most:
                return None
        return found

    def at(self, point: Mapping[Atom, int]) -> set[int] | None:
        """Those of one lane of one program; None where they cannot be told."""
        found: set[int] = set()
        for here in _iterations(self.site.loops, dict(point)):
            if here is None:
                return None
            offset, *slacks = [expr.evaluate(here) for expr in (self._offset, *self._guards, *self._mask)]
            known = [slack for slack in slacks if slack is not None]
            if offset is None or len(known) < len(slacks):
                return None
            if all(slack > 0 for slack in known):
                found.add(int(offset))
        return found

    def lanes(self, program: Mapping[Atom, int], most: int) -> dict[int, list[dict[Atom, int]]] | None:
        """The lanes of one program that touch each element, the first ``most`` along each axis; None where that cannot be told."""
        found: dict[int, list[dict[Atom, int]]] = {}
        shape = self.site.access.shape
        first: dict[Atom, int] = {**program, **{Lane(dim): 0 for dim in range(len(shape))}}
        for dim, extent in enumerate(shape):
            for lane in range(min(dim, 1), min(extent, most)):
                reached = self.at(point := {**first, Lane(dim): lane})
                if reached is None:
                    return None
                for element in reached:
                    found.setdefault(element, []).append(point)
        return found


#: The value at lane 0 of a line, and its step along each axis.
_Moving = tuple[int, list[int]]


def _add_elements(found: set[int], offset: _Moving, bounds: Iterable[_Moving], shape: tuple[int, ...]) -> None:
    """Add the values that ``offset`` has at the lanes at which no one of ``bounds`` is negative."""
    lanes = [range(extent) for extent in shape]
    joint: list[_Moving] = []
    for start, steps in bounds:
        moving = [dim for dim, step in enumerate(steps) if step]
        if len(moving) == 1:
            (dim,) = moving
            lanes[dim] = _not_negative(start, steps[dim], lanes[dim])
        elif moving:
            joint.append((start, steps))
        elif start < 0:
            return
    start, steps = offset
    if not all(lanes) or not shape:
        found.update([start] if not shape else ())
        return
    # The longest axis at once, as a range.
    *short, longest = sorted(range(len(shape)), key=lambda dim: len(lanes[dim]))
    rows = {(start, *(bound for bound, _ in joint))}
    for dim in short:
        moves = [steps[dim], *(others[dim] for _, others in joint)]
        rows = {tuple(v + s * i for v, s in zip(row, moves)) for row in rows for i in lanes[dim]}
    step = steps[longest]
    for first, *slacks in rows:
        along = lanes[longest]
        for slack, (_, others) in zip(slacks, joint):
            along = _not_negative(slack, others[longest], along)
        if along:
            here = first + step * along[0]
            found.update(range(here, first + step * along[-1] + (1 if step > 0 else -1), step) if step else (here,))


def _not_negative(start: int, step: int, lanes: range) -> range:
    """Those of ``lanes`` at which ``start + step * lane`` is not negative."""
    if step == 0:
        return lanes if start >= 0 else range(0)
    if step > 0:
        return range(max(lanes.start, -(start // step)), lanes.stop)
    return range(lanes.start, min(lanes.stop, start // -step + 1))


@dataclass(frozen=True)
class _Line:
    """An expression as its value at lane 0 and its ``steps`` along the axes of a tile, where these know no lanes; ``steps`` is
    None where it takes the numbers of a program to tell."""

    expr: Expr
    shape: tuple[int, ...]
    steps: tuple[Expr, ...] | None = None

    @classmethod
    def of(cls, expr: Expr, shape: tuple[int, ...], loops: tuple[Loop, ...]) -> _Line:
        known = {*map(ProgramId, range(3)), *(LoopIndex(loop.id) for loop in loops)}
        lanes = {Lane(dim): dim for dim in range(len(shape))}
        if not all(
            atom in known or atom in lanes or (isinstance(atom, Opaque) and atom.op in _ARITHMETIC)
            for atom in expr.atoms()
        ):
            return cls(expr, shape)
        parts: list[dict[tuple[Atom, ...], int]] = [{} for _ in range(len(shape) + 1)]
        for monomial, coefficient in expr.terms.items():
            own = [atom for atom in monomial if atom in lanes]
            inner = (arg.atoms() for atom in monomial if isinstance(atom, Opaque) for arg in atom.args)
            if len(own) > 1 or any(not lanes.keys().isdisjoint(atoms) for atoms in inner):
                return cls(expr, shape)
            rest = tuple(atom for atom in monomial if atom not in lanes)
            parts[lanes[own[0]] if own else -1][rest] = coefficient
        *steps, at_lane_0 = map(Expr, parts)
        return cls(at_lane_0, shape, tuple(steps))

    def at(self, point: Mapping[Atom, int]) -> _Moving | None:
        """The line where program and iterations are ``point``; None where that cannot be told."""
        if self.steps is None:
            return _linear(self.expr.substitute(point), self.shape)
        numbers = [part.evaluate(point) for part in (self.expr, *self.steps)]
        if None in numbers:
            return None
        start, *steps = [int(number) for number in numbers if number is not None]
        return start, steps


def _iterations(loops: tuple[Loop, ...], point: dict[Atom, int]) -> Iterator[dict[Atom, int] | None]:
    """``point`` with the indices of ``loops``: all of their iterations, or the first ones."""
    if not loops:
        yield point
        return
    trip = lift(loops[0].trip).evaluate(point) if loops[0].trip is not None else None
    if trip is None:
        yield None
        return
    for index in range(min(int(trip), _TRIPS)):
        yield from _iterations(loops[1:], {**point, LoopIndex(loops[0].id): index})


def _linear(expr: Expr, shape: tuple[int, ...]) -> tuple[int, list[int]] | None:
    """(value at lane 0, step along each axis) of ``expr``; None where it is no such sum."""
    steps: list[int] = []
    rest = expr
    for dim in range(len(shape)):
        step = expr.coefficient(Lane(dim))
        if step is None or step.value is None:
            return None
        steps.append(step.value)
        rest = rest - step * Expr.atom(Lane(dim))
    return None if rest.value is None else (rest.value, steps)
