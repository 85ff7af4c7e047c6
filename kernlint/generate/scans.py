"""Recurrences: values along an axis, each made of the one before it, element by element along all other axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernlint.generate.values import CannotGenerate, Value, View, exchanged, identity, lane, lanes_of, looked_through
from kernlint.records import dataclass
from kernlint.workload import Dtype, Expr, Lane, Size, Symbol
from kernlint.workload.expr import Atom, lift


@dataclass(frozen=True)
class State:
    """What is handed on: ``before`` stands for it, ``first`` is what it begins with (over all axes but the last), ``update`` what it
    becomes at each place of the last axis."""

    before: Value
    first: View
    update: Value


def carried(shape: tuple[Size, ...], dtype: Dtype, name: str = "") -> Value:
    """Stands for a state before its update."""
    return Value("carried", shape, dtype, name=name)


def scanned(states: Sequence[State], backwards: bool) -> list[Value]:
    """The states after the update at each place. Where places of the other axes need one another they are *held*: all of them in one
    program."""
    states = _without_lags(states, backwards)
    try:
        return _element_by_element(states, backwards)
    except _Mixed:
        return _held(states, backwards)


class _Mixed(Exception):
    """Places of a state need others of the state before it."""


def _held(states: Sequence[State], backwards: bool) -> list[Value]:
    """All ``states`` as those of one recurrence."""
    made: dict[int, tuple[Value, Value]] = {}
    states = [State(one.before, one.first, _in_place(one.update, made)) for one in states]
    open_ = [state for state in states if depends(state.update)]
    views = [View(one.first.value, one.first.index) for one in open_]
    views += [one.update.view for one in open_]
    attributes = {"carried": tuple(one.before for one in open_), "backwards": backwards}
    return [
        Value("held", one.update.shape, one.update.dtype, tuple(views), {**attributes, "state": open_.index(one)},
              one.update.name or f"state_{number + 1}")
        if one in open_
        else one.update
        for number, one in enumerate(states)
    ]  # fmt: skip


def _in_place(value: Value, made: dict[int, tuple[Value, Value]]) -> Value:
    """``value`` with what is looked at aside of its own places (a part of the columns of a product, the gates of a cell) made for these
    places alone, as far as it is made of states. ``made`` keeps what was asked for beside what came of it, so that no other value gets
    the same identity."""
    if id(value) not in made:
        space = (*value.shape, *value.attributes.get("over", ()))
        views = tuple(
            _aside(view, space, made) if depends(view.value) and view.value.op != "carried" else view
            for view in value.operands
        )
        made[id(value)] = value, Value(value.op, value.shape, value.dtype, views, value.attributes, value.name)
    return made[id(value)][1]


def _aside(view: View, space: tuple[Size, ...], made: dict[int, tuple[Value, Value]]) -> View:
    """``view``, seen from ``space``, as one that looks straight."""
    inner = view.value
    if inner.op == "choose" and inner.attributes.get("before"):
        return view  # a state of the round before
    if all(
        lift(extent).value == 1 or any(place == lane(d) and lift(space[d]) == lift(extent) for d in lanes_of((place,)))
        for place, extent in zip(view.index, inner.shape)
    ):
        return View(_in_place(inner, made), view.index)
    used = sorted(lanes_of(view.index))
    moved: dict[Atom, Size] = {Lane(d): lane(number) for number, d in enumerate(used)}
    lanes = [place.substitute(moved) for place in view.index]
    lanes += [lane(len(used) + number) for number in range(len(inner.attributes.get("over", ())))]
    views = tuple(one.at(lanes) for one in inner.operands)
    places: dict[Atom, Size] = {Lane(d): place for d, place in enumerate(lanes)}
    attributes = {key: _substituted(one, places) for key, one in inner.attributes.items()}
    new = Value(inner.op, tuple(space[d] for d in used), inner.dtype, views, attributes, inner.name)
    return View(_in_place(new, made), tuple(lane(d) for d in used))


def _substituted(given: Any, places: Mapping[Atom, Size]) -> Any:
    if isinstance(given, Expr):
        return given.substitute(places)
    return tuple(_substituted(one, places) for one in given) if isinstance(given, tuple) else given


def is_held(value: Value) -> bool:
    """Whether ``value`` is a state, in all rounds, of a recurrence that one program goes through."""
    return value.op == "held"


def is_lag(value: Value) -> bool:
    """Whether ``value`` is such a state before its update in each round."""
    return value.op == "choose" and bool(value.attributes.get("before")) and is_held(value.operands[0].value)


def _element_by_element(states: Sequence[State], backwards: bool) -> list[Value]:
    whole = {id(state.before): state for state in states}
    made = []
    for number, state in enumerate(states):
        if not depends(state.update):
            made.append(state.update)
            continue
        needed = _needed(state, whole)
        if any(one.update.shape != state.update.shape for one in needed):
            raise _Mixed
        own = identity(state.update.shape)
        views = [View(one.first.value, one.first.index) for one in needed]
        views += [View(one.update, own) for one in needed]
        attributes = {
            "state": needed.index(state),
            "carried": tuple(one.before for one in needed),
            "backwards": backwards,
        }
        name = state.update.name or f"state_{number + 1}"
        made.append(Value("scan", state.update.shape, state.update.dtype, tuple(views), attributes, name))
    return made


def _without_lags(states: Sequence[State], backwards: bool) -> list[State]:
    """``states`` with what a round has only kept for the next one as the value one place before."""
    lags = {id(one.before): one_before(one.update, one, backwards) for one in states if not depends(one.update)}
    made: dict[int, Value] = {}
    return [State(one.before, one.first, exchanged(one.update, lags, made)) for one in states]


def _needed(state: State, states: Mapping[int, State]) -> list[State]:
    """The states that the update of ``state`` rests on, itself among them."""
    found, waiting = {id(state.before): state}, [state]
    while waiting:
        for before in _carried_by(waiting.pop().update):
            if id(before) not in found:
                found[id(before)] = states[id(before)]
                waiting.append(states[id(before)])
    return [one for key, one in states.items() if key in found]


def _carried_by(update: Value) -> list[Value]:
    """The states before that ``update`` looks at, each at its own place alone."""
    found: dict[int, Value] = {}
    seen: set[tuple[int, tuple[Expr, ...]]] = set()
    waiting = [(update, identity(update.shape))]
    while waiting:
        value, index = waiting.pop()
        if (id(value), index) in seen or not depends(value):
            continue
        if value.op == "scan":
            raise CannotGenerate("a recurrence within a recurrence")
        seen.add((id(value), index))
        if value.op == "carried":
            if value.shape != update.shape or index != identity(value.shape):
                raise _Mixed
            found[id(value)] = value
            continue
        if value.op in ("reduce", "product", "attention", "scattered"):
            raise _Mixed
        waiting += [(view.value, looked_through(view.index, index)) for view in value.operands]
    return list(found.values())


def depends(value: Value) -> bool:
    """Whether ``value`` is made of states before their update, other than those of recurrences that are finished."""
    return bool(_open_states(value, {}))


def _open_states(value: Value, known: dict[int, frozenset[int]]) -> frozenset[int]:
    if id(value) not in known:
        found = frozenset({id(value)} if value.op == "carried" else ()).union(
            *(_open_states(view.value, known) for view in value.operands)
        )
        known[id(value)] = found - set(map(id, value.attributes.get("carried", ())))
    return known[id(value)]


def one_before(scan: Value, state: State, backwards: bool) -> Value:
    """``scan`` before the update at each place: the one at the place before, at the first one what it begins with."""
    time = len(scan.shape) - 1
    at = lane(time)
    last = lift(scan.shape[time]) - 1
    bound = (lift(0), at, last) if backwards else (lift(1), at, None)
    other = at + 1 if backwards else at - 1
    index = (*identity(scan.shape)[:-1], other)
    attributes = {"cases": ((bound,), ()), "before": True}
    return Value("choose", scan.shape, scan.dtype, (View(scan, index), state.first), attributes, scan.name)


def last_of(scan: Value) -> Value:
    """``scan`` after all of its updates."""
    rank = len(scan.shape) - 1
    index = (*identity(scan.shape)[:-1], lane(rank))
    attributes = {"kind": "last", "over": scan.shape[-1:]}
    return Value("reduce", scan.shape[:-1], scan.dtype, (View(scan, index),), attributes, f"last_{scan.name}")


class Along:
    """Values of one round of a loop as values of all rounds, along a last axis of ``count`` places: ``place`` is the symbol for the
    place of a round."""

    def __init__(self, place: Symbol, count: Size) -> None:
        self.place, self.count = place, count
        self._made: dict[int, Value] = {}
        self._moves: dict[int, bool] = {}

    def moves(self, value: Value) -> bool:
        """Whether ``value`` is another one in each round."""
        if id(value) not in self._moves:
            own = value.op == "carried" or self._holds((value.attributes, [view.index for view in value.operands]))
            if self._holds((value.shape, value.attributes.get("over"))):
                raise CannotGenerate("a Python loop over tensors that grow")
            self._moves[id(value)] = own or any(self.moves(view.value) for view in value.operands)
        return self._moves[id(value)]

    def _holds(self, given: Any) -> bool:
        if isinstance(given, Expr):
            return self.place in given.atoms()
        if isinstance(given, Mapping):
            return any(map(self._holds, given.values()))
        return isinstance(given, (tuple, list)) and any(map(self._holds, given))

    def whole(self, value: Value) -> Value:
        """``value`` over its own axes and the place."""
        if id(value) not in self._made:
            self._made[id(value)] = self._whole(value)
        return self._made[id(value)]

    def _whole(self, value: Value) -> Value:
        rank = len(value.shape)
        if value.op == "attention" and "plain" in value.attributes:
            return self.whole(value.attributes["plain"])  # found again where all rounds are known
        if value.op == "input":
            views: list[View] = [value.view]
            return Value("cast", (*value.shape, self.count), value.dtype, tuple(views), name=value.name)
        over = len(value.attributes.get("over", ()))
        moved: dict[Atom, Size] = {Lane(rank + i): lane(rank + 1 + i) for i in range(over)}
        moved[self.place] = lane(rank)
        views = []
        for view in value.operands:
            index = tuple(one.substitute(moved) for one in view.index)
            inner = self.whole(view.value) if self.moves(view.value) else view.value
            views.append(View(inner, (*index, lane(rank)) if self.moves(view.value) else index))
        attributes = {key: _substituted(one, moved) for key, one in value.attributes.items()}
        op = value.op
        if op == "number" and isinstance(value.attributes["value"], Expr) and self._holds(value.attributes["value"]):
            op, attributes = "place", {"at": value.attributes["value"].substitute(moved)}
        if op in ("partial", "scan", "held", "attention", "scattered"):
            raise CannotGenerate("a Python loop around what goes along an axis itself")
        return Value(op, (*value.shape, self.count), value.dtype, tuple(views), attributes, value.name)


def after_the_loop(states: Sequence[State], backwards: bool) -> dict[int, Value]:
    """What stands, after a recurrence is known, for the states before their update and for their updates, by identity."""
    new: dict[int, Value] = {}
    for state, scan in zip(states, scanned(states, backwards)):
        new[id(state.before)] = one_before(scan, state, backwards)
        new[id(state.update)] = scan
    return new
