"""The axes of a recurrence that one program holds: which go together, which are of programs, and along which its rounds go."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kernlint.generate.scans import is_held, is_lag
from kernlint.generate.values import CannotGenerate, Unbound, Value, View, lane, lanes_of
from kernlint.workload import Expr, Symbol
from kernlint.workload.expr import lift
from kernlint.workload.synthesis import power_of_two

if TYPE_CHECKING:
    from kernlint.generate.held_kernel import HeldWriter

#: Elements of a block, and what of them a program may be given of an axis that nothing sums over; elements that it had better have.
MOST_HELD, _TILED, _ENOUGH = 16384, 32, 1024
#: Programs that a large GPU is given all the same.
_PROGRAMS = 528
#: A lane that no value has.
_FAR = 1000
#: An axis of a value.
Own = tuple[int, int]


def fixed_extent(extent: Expr) -> int:
    """``extent`` as a number. Raises :class:`Unbound` for one that is left open."""
    for atom in extent.atoms():
        if isinstance(atom, Symbol):
            raise Unbound(atom.name)
    found = extent.value
    if found is None:
        raise CannotGenerate("a recurrence of states whose extents are not known")
    return found


def is_end(value: Value) -> bool:
    """Whether ``value`` is what the last round leaves of something."""
    return value.op == "reduce" and value.attributes["kind"] == "last"


def moves(value: Value) -> bool:
    """Whether ``value`` is made in the rounds."""
    return value.op in ("carried", "held")


def rounds_of(value: Value, known: Callable[[Value], bool]) -> int | None:
    """The axis of ``value`` that goes through the rounds of the recurrence it is made of; None where it looks at the end of that alone.
    Raises :class:`CannotGenerate` where it does neither."""
    found: set[Expr | None] = set()
    seen: set[tuple[int, tuple[Expr, ...]]] = set()
    waiting = [View(value, tuple(lane(d) for d in range(len(value.shape))))]
    while waiting:
        one = waiting.pop()
        if (id(one.value), one.index) in seen or known(one.value):
            continue
        seen.add((id(one.value), one.index))
        inner = one.value
        if is_held(inner) or is_lag(inner):
            found.add(one.index[-1])
            continue
        if is_end(inner) and any(map(moves, inner.walk())):
            found.add(None)
            continue
        # Lanes of what is summed are no axes of the value.
        summed = [lane(_FAR + len(seen) * 8 + i) for i in range(len(inner.attributes.get("over", ())))]
        waiting += [view.at([*one.index, *summed]) for view in inner.operands]
    if len(found) != 1:
        raise CannotGenerate("a recurrence that is looked at in two ways")
    (place,) = found
    if place is None:
        return None
    axes = lanes_of((place,))
    if len(axes) == 1 and place == lane(next(iter(axes))) and next(iter(axes)) < len(value.shape):
        return next(iter(axes))
    raise CannotGenerate("a recurrence that is looked at in another order")


class Classes:
    """Which axes of values go together: those that a view looks along."""

    def __init__(self, values: Sequence[Value], writer: HeldWriter) -> None:
        self.parents: dict[Own, Own] = {}
        self.extents: dict[Own, Expr] = {}
        self.summed: set[Own] = set()
        self.rounds: set[Own] = set()
        self.places: dict[Own, str] = {}
        self.masks: dict[Own, str] = {}
        self.blocks: dict[Own, int] = {}
        self.batch: list[Own] = []
        self.tiled: Own | None = None
        self.values: dict[int, Value] = {}
        self.writer = writer
        for state, view, after in zip(writer.states, writer.first, writer.update):
            for d in range(len(state.shape) - 1):
                self._join((id(state), d), (id(after.value), d))
            self._read(state, view)
            self.rounds |= {(id(state), len(state.shape) - 1), (id(after.value), len(state.shape) - 1)}
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if id(value) in self.values or writer.buffer_of(value) is not None:
                continue
            self.values[id(value)] = value
            over = value.attributes.get("over", ())
            for d, extent in enumerate((*value.shape, *over)):
                self.extents.setdefault((id(value), d), lift(extent))
            if is_end(value):
                self.rounds.add((id(value), len(value.shape)))
            if is_end(value) and not is_held(value.operands[0].value):
                (view,) = value.operands
                for d in range(len(value.shape)):
                    self._join((id(value), d), (id(view.value), d))
                self.rounds.add((id(view.value), len(value.shape)))
                waiting.append(view.value)
                continue
            if is_held(value) or is_lag(value) or is_end(value):
                inner = value if is_held(value) else value.operands[0].value
                state = inner.attributes["carried"][inner.attributes["state"]]
                for d in range(len(inner.shape) - 1):
                    self._join((id(value), d), (id(state), d))
                if value.op != "reduce":
                    self.rounds.add((id(value), len(inner.shape) - 1))
                waiting.append(state)
                continue
            self.summed |= {(id(value), len(value.shape) + i) for i in range(len(over))}
            for view in value.operands:
                self._read(value, view)
                waiting.append(view.value)

    def _read(self, value: Value, view: View) -> None:
        if self.writer.buffer_of(view.value) is not None:
            return
        extents = (*value.shape, *value.attributes.get("over", ()))
        for d, (place, extent) in enumerate(zip(view.index, view.value.shape)):
            axes = lanes_of((place,))
            if len(axes) == 1 and place == lane(min(axes)) and lift(extents[min(axes)]) == lift(extent):
                self._join((id(value), min(axes)), (id(view.value), d))
            elif lift(extent).value != 1:
                # It looks at other places along the axis than its own: one program has to have them all.
                self.summed |= {(id(view.value), d), *((id(value), axis) for axis in axes)}

    def of(self, value: Value, axis: int) -> Own:
        return self._root((id(value), axis))

    def _root(self, own: Own) -> Own:
        while own in self.parents:
            own = self.parents[own]
        return own

    def _join(self, one: Own, other: Own) -> None:
        first, second = self._root(one), self._root(other)
        if first != second:
            self.parents[second] = first

    def extent(self, one: Own) -> Expr:
        found = (extent for own, extent in self.extents.items() if self._root(own) == one and extent.value != 1)
        return next(found, lift(1))

    def kept(self, value: Value, time: int | None) -> list[int]:
        """The axes of ``value`` that a block has."""
        return [d for d in range(len(value.shape)) if d != time and self.of(value, d) in self.blocks]

    def deal_out(self, roots: Sequence[tuple[Value, int | None]]) -> None:
        """Which axes are of programs, and the blocks of all others."""
        summed, rounds = {self._root(one) for one in self.summed}, {self._root(one) for one in self.rounds}
        long = dict.fromkeys(self._root(own) for own, extent in self.extents.items() if extent.value != 1)
        free = long.keys() - summed - rounds
        for value, time in roots:
            own = [self.of(value, d) for d in range(len(value.shape)) if d != time]
            free &= {one for one in own if own.count(one) == 1}
        for value in self.values.values():
            every = [self.of(value, d) for d in range(len(value.shape))]
            free -= {one for one in every if every.count(one) > 1}
        value, time = roots[0]
        last = len(value.shape) - 1
        order = [self.of(value, d) for d in range(len(value.shape)) if d != time and self.of(value, d) in free]
        for one in (one for one in long if one not in free | rounds):
            self.blocks[one] = power_of_two(fixed_extent(self.extent(one)))
        held = max(1, math.prod(self.blocks.values()))
        extents = [self.extent(one).evaluate(self.writer.sizes) or 1 for one in order]
        room = MOST_HELD // 4 // held
        if order and not (time != last and order[-1] == self.of(value, last)):
            # No neighbours in memory: only as many as give the threads of a program something to do.
            room = min(_ENOUGH // held, int(math.prod(extents)) // _PROGRAMS)
        if order and room > 1 and extents[-1] >= 2:
            self.tiled = order[-1]
            self.blocks[self.tiled] = min(
                _TILED if held > _TILED else _ENOUGH // held, power_of_two(int(min(room, extents[-1])))
            )
        self.batch = [one for one in order if one != self.tiled]
        if len(self.blocks) > 5:
            raise CannotGenerate("a recurrence of too many axes")


def dependents(root: Value, known: Callable[[Value], bool]) -> Iterator[Value]:
    """What ``root`` is made of, up to what is ``known``."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or known(value):
            continue
        seen.add(id(value))
        yield value
        waiting += [view.value for view in value.operands]
