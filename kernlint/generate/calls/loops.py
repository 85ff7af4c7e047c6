"""Python loops over places of tensors: what a round hands on to the next is a recurrence, what each makes a value along the places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernlint.generate.calls.table import PAIRS
from kernlint.generate.layouts import axes_of, index_of, rectangle
from kernlint.generate.scans import Along, State, after_the_loop, carried, is_held, last_of
from kernlint.generate.values import (
    CannotGenerate,
    Value,
    View,
    broadcast_index,
    exchanged,
    identity,
    lane,
    looked_through,
)
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.records import dataclass, replace
from kernlint.workload import Call, Collected, Expr, Repeat, Size, Symbol, Tensor, TorchOp
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift

if TYPE_CHECKING:
    from kernlint.generate.calls.reader import Reader


#: Rounds that what a round has put into a tensor is looked at later.
_MOST_LAGS = 4

_HANDED_ON = "a Python loop in another one, of which one hands something on"


@dataclass(frozen=True)
class Filled:
    """What all rounds of a loop put into a list: ``value`` over the axes of ``tensor``, the base of what is in the list, and the
    place."""

    value: Value
    tensor: Tensor
    count: Size
    backwards: bool


class LoopReader:
    """Reads ``loop`` for ``reader``: afterwards what the loop has made is known there."""

    def __init__(self, reader: Reader, loop: Repeat) -> None:
        if loop.round is None or loop.count is None or not loop.earlier:
            raise CannotGenerate("a Python loop whose rounds follow no law that is known")
        self.reader, self.loop, self.place, self.count = reader, loop, loop.round, loop.count
        rounds = lift(loop.count).evaluate(reader.sizes)
        if rounds is None or rounds < 1:
            raise CannotGenerate("a Python loop of which it is not known how often it goes round")
        reader.sizes = {**reader.sizes, self.place: rounds - 1}
        assert loop.before is not None
        self.earlier_place = loop.before
        #: The places of all loops around what is done, innermost first, with how often each goes round.
        self.places: tuple[tuple[Symbol, Size], ...] = ((loop.round, loop.count),)
        #: Views of tensors from before the loop that the round before has handed on: what the first round had in their place.
        self.kept: dict[Tensor, Any] = {}
        #: The same of views of what the round before has put into such a tensor.
        self.handed: dict[Tensor, Any] = {}
        now: dict[Atom, Size] = {loop.before: Expr.atom(loop.round)}
        self.steps, self.earlier = self._bodies(now)
        if [s.name for s in self.steps] != [s.name for s in self.earlier]:
            raise CannotGenerate("a Python loop whose rounds differ")
        #: By what a round makes: what the round before has made there.
        self.before: dict[int, Tensor] = {}
        for step, one in zip(self.steps, self.earlier):
            for mine, other in zip(step.writes, one.writes):
                if mine.dtype != other.dtype or mine.shape != other.shape:
                    raise CannotGenerate("a Python loop whose rounds differ")
                if mine.storage.id != other.storage.id:
                    self.before[mine.storage.id] = other
        #: By what the round before has made, and this one gets: the tensor at hand before the loop, or a number.
        self.first: dict[int, Any] = {}
        self.written = {t.storage.id for s in self.steps for t in s.writes}
        if self.written & reader.inputs.keys():
            raise CannotGenerate("a Python loop that changes an argument in place")
        for step, one in zip(self.steps, self.earlier):
            assert step.call is not None and one.call is not None
            self._match(one.call.args, step.call.args)
            self._match(dict(one.call.kwargs), dict(step.call.kwargs))
        if self._is_earlier([step.writes for step in self.steps]):
            raise CannotGenerate("a Python loop that writes where the round before has")

    def _bodies(self, now: Mapping[Atom, Size]) -> tuple[list[TorchOp], list[TorchOp]]:
        """What a round and the one before it do, with what a loop at their end does in each of its own rounds."""
        body, before = self.loop.body, self.loop.earlier
        if not isinstance(body[-1], Repeat) or not isinstance(before[-1], Repeat):
            return _calls(body), [_at(step, now) for step in _calls(before)]
        inner, earlier = (LoopReader(self.reader, one) for one in (body[-1], before[-1]))
        if inner.first or inner.kept or inner.handed:
            raise CannotGenerate(_HANDED_ON)
        for out in (step.writes[0] for step in inner.steps):
            around = self.place in lift(out.offset).atoms() and out.storage.id in self.reader.holds
            if out.storage.id not in inner.before and not around:
                raise CannotGenerate("a Python loop in another one that changes what is made around it")
        if [count for _, count in inner.places] != [count for _, count in earlier.places]:
            raise CannotGenerate("a Python loop whose rounds differ")
        self.places = (*inner.places, *self.places)
        same: dict[Atom, Size] = {
            **now,
            **{mine: Expr.atom(other) for (mine, _), (other, _) in zip(earlier.places, inner.places)},
        }
        steps = [*_calls(before[:-1]), *earlier.steps]
        return [*_calls(body[:-1]), *inner.steps], [_at(step, same) for step in steps]

    def _match(self, earlier: Any, now: Any) -> None:
        """Hold the arguments of two rounds against one another: what is handed on differs, all else is the same."""
        if isinstance(now, Tensor) and self._is_earlier(now):
            known = self.handed if now.storage.id in self.written else self.kept
            if not _alike(known.setdefault(now, earlier), earlier):
                raise CannotGenerate("a Python loop that begins with two values of one variable")
            return
        if isinstance(now, Tensor):
            made_before = {t.storage.id: t for t in self.before.values()}
            if now.storage.id in made_before:
                base = made_before[now.storage.id]
                if _is_whole(now, base):
                    self.first.setdefault(now.storage.id, earlier)
                    if not _alike(self.first[now.storage.id], earlier):
                        raise CannotGenerate("a Python loop that begins with two values of one variable")
                else:
                    begin = self._whole_of(earlier, now, base)
                    if self.first.get(now.storage.id) is None:
                        self.first[now.storage.id] = begin
                    elif begin is not None and not _alike(self.first[now.storage.id], begin):
                        raise CannotGenerate("a Python loop that begins with two values of one variable")
                return
            if isinstance(earlier, Tensor) and now.storage.id in self.before:
                other = self.before[now.storage.id]
                if earlier.storage.id == other.storage.id and _placed_alike(now, earlier):
                    return
            elif _alike(earlier, now):
                return
            raise CannotGenerate("a Python loop whose rounds differ in what they look at")
        if isinstance(now, (tuple, list)) and isinstance(earlier, (tuple, list)) and len(now) == len(earlier):
            for a, b in zip(earlier, now):
                self._match(a, b)
        elif isinstance(now, dict) and isinstance(earlier, dict) and now.keys() == earlier.keys():
            for key in now:
                self._match(earlier[key], now[key])
        elif isinstance(now, slice) and isinstance(earlier, slice):
            self._match((earlier.start, earlier.stop, earlier.step), (now.start, now.stop, now.step))
        elif isinstance(now, Collected) or not (earlier == now or earlier is now):
            raise CannotGenerate("a Python loop whose rounds differ in a number")

    def _is_earlier(self, given: Any) -> bool:
        """Whether ``given`` is told by the place of the round before."""
        return bool(_at(given, {self.earlier_place: 0}) != given)

    def _one_late(self, number: int, now: Tensor, first: Any) -> Tensor:
        """A tensor that holds what ``now`` shows of a tensor from before the loop, where the round before has looked; in the first
        round it is ``first``."""
        reader, place = self.reader, Expr.atom(self.place)
        assert now.shape is not None and now.dtype is not None
        view = reader.view(_at(now, {self.earlier_place: place}))
        back = place + 1 if self.loop.backwards else place - 1
        index = tuple(one.substitute({self.place: back}) for one in view.index)
        last = lift(self.count) - 1
        bound = (lift(0), place, last) if self.loop.backwards else (lift(1), place, None)
        base = replace(
            now, name="", strides=contiguous_strides(now.shape), offset=0, storage=replace(now.storage, id=-number)
        )
        begin = self._begun(base, first)
        made = Value("choose", now.shape, now.dtype, (View(view.value, index), begin), {"cases": ((bound,), ())})
        reader.holds[base.storage.id] = made, base
        return base

    def _whole_of(self, earlier: Any, now: Tensor, base: Tensor) -> Tensor | None:
        """The tensor from before the loop that ``earlier`` shows in the first round as ``now`` shows ``base`` in the second."""
        if not isinstance(earlier, Tensor) or earlier.strides is None or now.strides is None:
            return None
        kept = [d for d, extent in enumerate(now.shape or ()) if extent != 1]
        seen = replace(now, shape=base.shape, strides=tuple(now.strides[d] for d in kept))
        if earlier.shape != now.shape or len(kept) != len(base.shape or ()) or not _placed_alike(seen, base):
            return None  # more than new axes
        return replace(earlier, shape=base.shape, strides=tuple(earlier.strides[d] for d in kept))

    # -- values -----------------------------------------------------------------------------------------------------

    def read(self) -> None:
        reader = self.reader
        holds = dict(reader.holds)
        befores: list[tuple[Value, View, int]] = []
        for number, (storage, first) in enumerate(self.first.items()):
            base = next(t for t in self.before.values() if t.storage.id == storage)
            befores.append((*self._state(base, first, f"state_{number + 1}"), storage))
            reader.holds[storage] = befores[-1][0], base
        late = {now: self._one_late(number, now, first) for number, (now, first) in enumerate(self.kept.items(), 1)}
        self.steps = [_exchanged(step, late) for step in self.steps]
        puts = self._puts(holds)
        for storage in self._changed_in_place(holds, puts):
            value, base = holds[storage]
            befores.append((carried(value.shape, value.dtype, value.name), value.view, storage))
            reader.holds[storage] = befores[-1][0], base
        self._refuse_shared(puts, [*self.first.values(), *self.kept.values(), *self.handed.values()])
        delayed = self._delayed(puts, len(late))
        put: dict[int, Value] = {}
        for number, step in enumerate(self.steps):
            if number in puts:
                put[number] = reader.made(step)
                reader.holds[puts[number].storage.id] = put[number], puts[number]  # now: a later step may change it
            else:
                reader.read(step)
        self._finish(holds, befores, [(put[number], out) for number, out in puts.items()], delayed(put))

    def _state(self, base: Tensor, first: Any, name: str) -> tuple[Value, View]:
        if base.shape is None or base.dtype is None:
            raise CannotGenerate("a Python loop that begins with what is not known")
        return carried(base.shape, base.dtype, base.name), self._begun(base, first)

    def _begun(self, base: Tensor, first: Any) -> View:
        """What ``base`` is in the first round, ``first``, as it is looked at from its axes."""
        if isinstance(first, Tensor):
            view = self.reader.view(first)
            return view.at(broadcast_index(first.shape or (), len(base.shape or ())))
        if isinstance(first, (int, float)) and not isinstance(first, bool):
            return View(Value("number", (), base.dtype or dt.FLOAT32, attributes={"value": first}), ())
        raise CannotGenerate("a Python loop that begins with what is not known")

    def _changed_in_place(self, holds: Mapping[int, tuple[Value, Tensor]], puts: Mapping[int, Tensor]) -> list[int]:
        """Tensors from before the loop that each round changes as a whole."""
        kept = self.before.keys() | {out.storage.id for out in puts.values()}
        written = [step.writes[0].storage.id for step in self.steps]
        return list(dict.fromkeys(one for one in written if one in holds and one not in kept))

    def _puts(self, holds: Mapping[int, tuple[Value, Tensor]]) -> dict[int, Tensor]:
        """By their number the steps that put something at their own place into a tensor from before the loop."""
        found: dict[int, Tensor] = {}
        for number, step in enumerate(self.steps):
            out = step.writes[0]
            held = holds.get(out.storage.id)
            if held is None or out.storage.id in self.before or _is_whole(out, held[1]):
                continue
            if any(place not in lift(out.offset).atoms() for place, _ in self.places):
                if step.name == "setitem" or len(self.places) > 1:
                    raise CannotGenerate("a Python loop that puts its results at places that overlap")
                continue
            if not all(
                self._are_apart(out, one, held[1]) for one in found.values() if one.storage.id == out.storage.id
            ):
                raise CannotGenerate("a Python loop that puts its results at places that overlap")
            found[number] = out
        return found

    def _are_apart(self, one: Tensor, other: Tensor, base: Tensor) -> bool:
        """Whether no round puts an element to ``one`` that some round puts to ``other``."""
        bounds = [self._rectangle(out, base)[0] for out in (one, other)]
        for low, place, high in bounds[0]:
            for other_low, same, other_high in bounds[1]:
                ends = [(high, other_low), (other_high, low)] if same == place else []
                if any(end is not None and (lift(begin) - end).is_natural for end, begin in ends):
                    return True
        return False

    def _rectangle(self, out: Tensor, base: Tensor) -> tuple[Any, Mapping[int, Expr]]:
        """What all rounds put to ``out``, as bounds of the axes of ``base``, and the places within ``out`` and of the round there."""
        rank = len(out.shape or ())
        moving: dict[Atom, tuple[int, Size]] = {**axes_of(out)}
        moving |= {place: (number, count) for number, (place, count) in enumerate(self.places, rank)}
        bounds, back = rectangle(base, index_of(base, out, self.reader.sizes), moving)
        if not back.keys() >= set(range(rank, rank + len(self.places))):
            raise CannotGenerate("a Python loop that puts its results at places that overlap")
        return bounds, back

    def _lag(self, read: Tensor, out: Tensor) -> int:
        """How many rounds before this one has put what ``read`` shows to ``out``."""
        now = _at(read, {self.earlier_place: Expr.atom(self.place) + (1 if self.loop.backwards else -1)})
        rounds = self._rounds_apart(out, now)
        if rounds is None or rounds < 0:
            raise CannotGenerate("a Python loop that reads what it has put elsewhere into a tensor")
        return rounds

    def _rounds_apart(self, out: Tensor, other: Tensor) -> int | None:
        """How many rounds after ``other`` has been its place comes ``out``; None where it is at no place of the kind, or far from it."""
        step = lift(out.offset).coefficient(self.place)
        if step is None or not _placed_alike(replace(other, offset=out.offset), out):
            return None
        ahead = -step if self.loop.backwards else step
        apart = lift(out.offset) - other.offset
        return next((n for n in range(-_MOST_LAGS, _MOST_LAGS + 1) if ex.simplify(apart - ahead * n) == 0), None)

    def _delayed(
        self, puts: Mapping[int, Tensor], taken: int
    ) -> Callable[[Mapping[int, Value]], list[tuple[Value, View, Value]]]:
        """Exchange in all steps what rounds before have put into a tensor for tensors of their own, which are states; these are known once
        the values are that each step puts."""
        reader, chains = self.reader, list[tuple[int, list[Value], list[View]]]()
        new: dict[Tensor, Tensor] = {}
        for read in [one for step in self.steps for one in step.reads]:
            own = [number for number, out in puts.items() if out.storage.id == read.storage.id]
            if len(own) > 1:
                raise CannotGenerate("a Python loop that reads what it has put elsewhere into a tensor")
            rounds = self._lag(read, puts[own[0]]) if own and read not in new else 0
            if rounds == 0:
                if read in self.handed and read not in new:
                    raise CannotGenerate("a Python loop that hands on a part of a tensor and changes it")
                continue
            out = puts[own[0]]
            assert out.shape is not None and out.dtype is not None
            memory = replace(out.storage, id=-taken - len(new) - 1)
            base = replace(out, name="", strides=contiguous_strides(out.shape), offset=0, storage=memory)
            befores = [carried(out.shape, out.dtype, out.name) for _ in range(rounds)]
            if read not in self.handed:
                begin = [self._begun_at(out, lag) for lag in range(1, rounds + 1)]
            elif rounds == 1:
                begin = [self._begun(base, self.handed[read])]
            else:
                raise CannotGenerate("a Python loop that begins with two values of one variable")
            chains.append((own[0], befores, begin))
            new[read] = base
            reader.holds[memory.id] = befores[-1], base
        self.steps = [_exchanged(step, new) for step in self.steps]

        def states(put: Mapping[int, Value]) -> list[tuple[Value, View, Value]]:
            return [
                (before, first, update)
                for number, befores, begin in chains
                for before, first, update in zip(befores, begin, [put[number], *befores])
            ]

        return states

    def _refuse_shared(self, puts: Mapping[int, Tensor], begun: Sequence[Any]) -> None:
        """Raise where a state begins as a part of a tensor, a view, that the first round may change before it looks at it."""
        first = lift(self.count) - 1 if self.loop.backwards else lift(0)
        for out in puts.values():
            for one in begun:
                if not isinstance(one, Tensor) or one.storage.id != out.storage.id:
                    continue
                moved = lift(out.offset) - lift(out.offset).substitute({self.place: first})
                if not self._rounds_apart(out, replace(one, offset=ex.simplify(moved + one.offset))):
                    raise CannotGenerate("a Python loop that begins with a part of a tensor that it changes")

    def _begun_at(self, out: Tensor, lag: int) -> View:
        """What lies, before the loop, where ``lag`` rounds before the first would have put what this one puts to ``out``."""
        first = lift(self.count) - 1 + lag if self.loop.backwards else lift(-lag)
        return self.reader.view(replace(out, offset=ex.simplify(lift(out.offset).substitute({self.place: first}))))

    def _finish(
        self,
        holds: dict[int, tuple[Value, Tensor]],
        befores: Sequence[tuple[Value, View, int]],
        puts: Sequence[tuple[Value, Tensor]],
        delayed: Sequence[tuple[Value, View, Value]],
    ) -> None:
        reader, (*inner, along) = self.reader, [Along(*one) for one in self.places]
        if inner and (befores or delayed or self.kept or self.handed):
            raise CannotGenerate(_HANDED_ON)
        updated = {base.storage.id: mine for mine, base in self.before.items()}
        ends = [updated.get(storage, storage) for _, _, storage in befores]
        states = []
        for before, first, value in [
            *((b, f, reader.holds[end][0]) for (b, f, _), end in zip(befores, ends)),
            *delayed,
        ]:
            if value.shape != before.shape or value.dtype != before.dtype:
                raise CannotGenerate("a Python loop in which a tensor changes its shape or type")
            states.append(State(along.whole(before), first, along.whole(value)))
        new, made = after_the_loop(states, self.loop.backwards), dict[int, Value]()
        # What a loop within this one makes is not known behind it.
        inside = {} if inner else {key: value for key, value in reader.holds.items() if key in self.written}
        reader.holds = holds
        targets = {out.storage.id for _, out in puts}
        for storage, (value, base) in inside.items():
            every = exchanged(along.whole(value), new, made)
            if storage in self.before:
                reader.filled[storage] = Filled(every, base, self.count, self.loop.backwards)
            if storage not in targets and (storage in self.before or storage in ends):
                reader.holds[storage] = self._last(every), base
        for value, out in puts:
            for one in inner:
                value = one.whole(value)
            every = exchanged(along.whole(value), new, made)
            reader.holds[out.storage.id] = self._put(reader.holds[out.storage.id], out, every)

    def _last(self, every: Value) -> Value:
        if every.op == "scan" or any(map(is_held, every.walk())):
            return last_of(every)
        end = lift(0) if self.loop.backwards else lift(self.count) - 1
        index = (*identity(every.shape)[:-1], end)
        return Value("cast", every.shape[:-1], every.dtype, (View(every, index),), name=every.name)

    def _put(self, held: tuple[Value, Tensor], out: Tensor, every: Value) -> tuple[Value, Tensor]:
        """A tensor with what each round has put into it."""
        old, base = held
        bounds, back = self._rectangle(out, base)
        index = looked_through(identity(every.shape), [back.get(d, lift(0)) for d in range(len(every.shape))])
        if not bounds:
            return Value("cast", old.shape, old.dtype, (View(every, index),), name=old.name), base
        views = View(every, index), old.view
        return Value("choose", old.shape, old.dtype, views, {"cases": (bounds, ())}, old.name), base


def _at(given: Any, places: Mapping[Atom, Size]) -> Any:
    """``given``, a step or what is in one, with ``places`` for the atoms that they are of."""
    if isinstance(given, Expr):
        return ex.simplify(given.substitute(places))
    if isinstance(given, Tensor):
        parts = (given.shape, given.strides, given.offset)
        shape, strides, offset = made = _at(parts, places)
        return given if made == parts else replace(given, shape=shape, strides=strides, offset=offset)
    return _mapped(given, lambda one: _at(one, places))


def _exchanged(given: Any, new: Mapping[Tensor, Tensor]) -> Any:
    """``given`` with the tensors that ``new`` has for others."""
    return new.get(given, given) if isinstance(given, Tensor) else _mapped(given, lambda one: _exchanged(one, new))


def _mapped(given: Any, change: Callable[[Any], Any]) -> Any:
    """``given`` with ``change`` made to what it consists of."""
    if isinstance(given, TorchOp):
        reads, writes = change(given.reads), change(given.writes)
        return replace(given, reads=reads, writes=writes, call=change(given.call))
    if isinstance(given, Call):
        return replace(given, args=change(given.args), kwargs=change(dict(given.kwargs)))
    if isinstance(given, slice):
        return slice(change(given.start), change(given.stop), change(given.step))
    if isinstance(given, dict):
        return {key: change(one) for key, one in given.items()}
    return type(given)(map(change, given)) if type(given) in (tuple, list) else given


def _calls(steps: Sequence[Any]) -> list[TorchOp]:
    for step in steps:
        if not isinstance(step, TorchOp):
            raise CannotGenerate("a Python loop around what is no torch function")
        if step.call is None or len(step.writes) != 1 + (step.call.function in PAIRS and len(step.writes) == 2):
            raise CannotGenerate(f"torch function {step.name} with arguments that are not known")
    return [one for one in steps if not _puts_itself(one)]


def _puts_itself(step: TorchOp) -> bool:
    """Whether ``step`` is the assignment that ``x[i] += y`` makes after the sum, of what is there already."""
    given = step.call.args[1] if step.name == "setitem" and step.call is not None else None
    out = step.writes[0]
    return isinstance(given, Tensor) and given.storage.id == out.storage.id and _placed_alike(given, out)


def _is_whole(view: Tensor, base: Tensor) -> bool:
    return (view.shape, view.strides, view.offset) == (base.shape, base.strides, base.offset)


def _placed_alike(a: Tensor, b: Tensor) -> bool:
    return (a.shape, a.strides, a.offset, a.dtype) == (b.shape, b.strides, b.offset, b.dtype)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.storage.id == b.storage.id and _placed_alike(a, b)
    return bool(a == b)


def stacked(reader: Reader, parts: Collected, out: Tensor, axis: int, new_axis: bool) -> Value:
    """A list that a loop has filled as one tensor along ``axis``, which is a new one or that of the elements."""
    *others, last = parts or (None,)
    if not isinstance(last, Tensor) or out.shape is None or out.dtype is None:
        raise CannotGenerate("a list that is filled in a way that is not known")
    filled = reader.filled.get(last.storage.id)
    if filled is None:
        raise CannotGenerate("a list that is filled in a way that is not known")
    if lift(parts.length) != lift(filled.count) + len(others):
        raise CannotGenerate("a list to which a loop adds several elements in a round")
    if not new_axis and any(lift((one.shape or (0,) * (axis + 1))[axis]).value != 1 for one in (*others, last)):
        raise CannotGenerate("a list of tensors that are put side by side")
    if lift(out.shape[axis]) != lift(parts.length):
        raise CannotGenerate("a list whose length is not known")
    element = lift(parts.length) - 1 - lane(axis) if parts.backwards else lane(axis)
    place = element - len(others)
    if filled.backwards:
        place = lift(filled.count) - 1 - place
    lanes = [d + (new_axis and d >= axis) for d in range(len(last.shape or ()))]
    at = [lift(0) if not new_axis and d == axis else lane(to) for d, to in enumerate(lanes)]
    inside = index_of(filled.tensor, last, reader.sizes)
    if any(atom in reader.rounds for one in inside for atom in one.atoms()):
        raise CannotGenerate("a list of parts that differ from round to round")
    index = looked_through(inside, at)
    views = [View(filled.value, (*index, place))]
    cases: list[Any] = [((lift(len(others)), element, None),) if others else ()]
    for number, one in reversed(list(enumerate(others))):
        view = reader.view(one)
        views.insert(0, view.at(at))
        cases.insert(0, ((lift(number), element, lift(number + 1)),))
    if not others:
        return Value("cast", out.shape, out.dtype, tuple(views), name=out.name)
    return Value("choose", out.shape, out.dtype, tuple(views), {"cases": tuple(cases)}, out.name)
