"""Sums over the states of a linear recurrence, in chunks of places: linear attention, with decays or without.

Where a state is ``S[t] = g[t] * S[t - 1] + a[t]`` and all that is wanted of it are sums ``y[t] = sum(q[t] * S[t])`` over some of its axes,
no state is needed at each place. At the places ``i`` of a chunk ``y[i] = sum(q[i] * p[i] * before) + sum(q[i] * w[j, i] * a[j])``, the
second sum over ``j <= i`` too: ``before`` is the state when the chunk begins, ``w[j, i]`` the product of ``g`` behind ``j`` up to ``i``,
``p[i]`` that from the first place of the chunk on. Where ``a`` is a product of keys and values, the sums are matrix products (the
chunkwise form of Hua et al. 2022 and of Dao and Gu 2024). The products of ``g`` are made by multiplying, never by
dividing, so that zeros and negative factors are as good as others. Those that grow beyond float32 within a chunk (by more than
``exp(88)``) make what is added there infinite, as it is in turn, and nan where what is added is zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from kernlint.generate.calls.canonical import constant, is_widening, through
from kernlint.generate.calls.writer import fixed
from kernlint.generate.reassociated import Orders, is_sum, scaled, taken_apart
from kernlint.generate.scans import State, carried, last_of, scanned
from kernlint.generate.values import Divided, Value, View, exchanged, identity, lane, lanes_of, looked_through, walk_all
from kernlint.generate.work import count
from kernlint.records import dataclass
from kernlint.workload import Expr, Size, Symbol
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift

#: Places of a chunk, at least and at most; elements of a state that are summed, and that are left, from which on a chunk is a matrix
#: product; elements of all states from which on the kernels for chunks take less than these in memory; recurrences of one call that are
#: done so, of some five kernels each.
_SHORT, _LONG, _WIDE, _MANY, _MOST = 16, 64, 16, 1 << 22, 2


def chunked(values: Sequence[Value], sizes: Mapping[Atom, float]) -> list[Value]:
    """``values`` with sums over states in chunks, where nothing else looks at these states, but for the last of them."""
    scans: dict[int, _Chunks | None] = {}
    new, scan_of = dict[int, Value](), dict[int, int]()
    every = list(walk_all(values))
    for one in every:
        asked = _state_sum(one) if one.op == "product" or is_sum(one) else None
        if asked is None:
            continue
        if id(asked.scan) not in scans:
            many = sum(known is not None for known in scans.values()) >= _MOST
            scans[id(asked.scan)] = None if many else _in_chunks(asked.scan, sizes)
        chunks = scans[id(asked.scan)]
        found = chunks.sum(one, asked) if chunks is not None else None
        if found is not None:
            new[id(one)], scan_of[id(one)] = found, id(asked.scan)
    for one in every if new else ():
        chunks = (
            scans.get(id(one.operands[0].value)) if one.op == "reduce" and one.attributes["kind"] == "last" else None
        )
        if chunks is not None:
            new[id(one)], scan_of[id(one)] = chunks.last(), id(chunks.scan)
    while new:
        made: dict[int, Value] = {}
        other = [exchanged(value, new, made) for value in values]
        left = set(map(id, walk_all(other)))
        needless = [key for key in new if scan_of[key] in left]
        if not needless:
            return other
        for key in needless:  # all states are made in any case
            del new[key]
    return list(values)


@dataclass(frozen=True)
class _StateSum:
    """A sum over ``extents``, those of its result first, of states of ``scan`` that it looks at by ``index``, times ``others``, multiplied
    by ``scales``; ``before``: of the states before their update."""

    scan: Value
    index: tuple[Expr, ...]
    before: bool
    extents: Sequence[Size]
    others: Sequence[View]
    scales: Sequence[tuple[str, View]]


def _state_sum(value: Value) -> _StateSum | None:
    """``value``, a sum, as one over states of a recurrence that it looks at straight; None where it is none."""
    extents, leaves, scales = taken_apart(value)
    lags = [bool(view.value.attributes.get("before")) for view in leaves]
    inner = [view.value.operands[0].value if lag else view.value for view, lag in zip(leaves, lags)]
    found = [number for number, one in enumerate(inner) if one.op == "scan"]
    if len(found) != 1:
        return None
    (number,) = found
    scan, index = inner[number], leaves[number].index
    long = [place for place, extent in zip(index, scan.shape) if lift(extent).value != 1]
    if any(len(lanes_of((place,))) != 1 or place != lane(min(lanes_of((place,)))) for place in long):
        return None
    times = lanes_of(index[-1:])
    if len(lanes_of(long)) != len(long) or not times or min(times) >= len(value.shape) or scan.attributes["backwards"]:
        return None
    others = [view for at, view in enumerate(leaves) if at != number]
    return _StateSum(scan, index, lags[number], extents, others, scales)


def _in_chunks(scan: Value, sizes: Mapping[Atom, float]) -> _Chunks | None:
    """The recurrence ``scan`` in chunks; None where it is not linear or of no length that is a number of equal chunks. Raises
    :class:`Divided` or :class:`Unbound` where that length is open."""
    places, states = lift(scan.shape[-1]), scan.attributes["carried"]
    if len(states) != 1 or scan.dtype != dt.FLOAT32:
        return None
    first, update = scan.operands
    factors, added = _linear(update, states[0]) or (None, None)
    number = int(places.evaluate(sizes) or 0)
    length = next((n for n in range(min(_LONG, number), _SHORT - 1, -1) if number % n == 0), None)
    if factors is None or added is None or length is None or count(scan.shape, sizes) < _MANY:
        return None
    chunks = lift(ex.floordiv(places, length))
    if chunks * length != places or (places.value is None and chunks.evaluate(sizes) == 1):
        for atom in places.atoms():
            if isinstance(atom, Symbol) and places == Expr.atom(atom) and number > length:
                raise Divided(atom.name, Expr.atom(atom) * length)
        fixed(places)
        return None
    return _Chunks(scan, first, factors, added, length, chunks.value or chunks, sizes)


def _linear(view: View, state: Value) -> tuple[list[View] | None, View | None] | None:
    """``view``, seen from the axes of ``state``, as the product of factors and ``state``, with something added to it; no factors are where
    it is not made of ``state``. None where it is not of that form."""
    value, shape = view.value, state.shape
    if value is state:
        return ([], None) if view.index == identity(shape) else None
    if not any(one is state for one in value.walk()):
        return None, view
    if is_widening(value) and value.dtype == dt.FLOAT32:
        return _linear(through(view, value.operands[0]), state)
    if value.op not in ("add", "sub", "mul") or value.dtype != dt.FLOAT32:
        return None
    one, other = (through(view, operand) for operand in value.operands)
    found = [_linear(part, state) for part in (one, other)]
    if found[0] is None or found[1] is None:
        return None
    (first, added), (second, more) = found[0], found[1]
    if first is not None and second is not None:
        return None  # a state twice
    if first is None and value.op == "sub":
        return None
    if value.op == "mul":
        free = one if first is None else other
        added = more if first is None else added
        scaled_by = None if added is None else _of_both("mul", shape, added, free)
        return [*(first or second or []), free], scaled_by
    if added is None and value.op == "sub":
        assert more is not None
        return first, View(Value("neg", shape, dt.FLOAT32, (more,)), identity(shape))
    both = added if more is None else more if added is None else _of_both(value.op, shape, added, more)
    return (second if first is None else first), both


def _of_both(op: str, shape: tuple[Size, ...], one: View, other: View) -> View:
    return View(Value(op, shape, dt.FLOAT32, (one, other)), identity(shape))


def _axes(view: View) -> set[int]:
    """The lanes that the elements of ``view`` depend on."""
    value = view.value
    if value.op == "number":
        return set()
    if not value.operands or value.op in ("choose", "reduce", "product", "pick", "scan", "held", "attention"):
        return lanes_of(view.index)
    own = set[int]().union(*map(_axes, value.operands))
    return lanes_of([place for axis, place in enumerate(view.index) if axis in own])


def _number(value: float) -> View:
    return View(Value("number", (), dt.FLOAT32, attributes={"value": value}), ())


def _chosen(shape: tuple[Size, ...], low: Expr, place: Expr, inside: View, outside: float) -> Value:
    """``inside`` from ``low`` on, before that the number ``outside``."""
    return Value("choose", shape, dt.FLOAT32, (inside, _number(outside)), {"cases": (((low, place, None),), ())})


class _Chunks:
    """The states of ``scan`` when its ``count`` chunks of ``length`` places begin, and sums over states of what a chunk adds to them. A
    state begins as ``first``, is multiplied by ``factors`` at each place, and ``added`` to; these are seen from its axes."""

    def __init__(
        self,
        scan: Value,
        first: View,
        factors: Sequence[View],
        added: View,
        length: int,
        count: Size,
        sizes: Mapping[Atom, float],
    ) -> None:
        self.scan, self.first, self.added, self.length, self.count = scan, first, added, length, count
        self.sizes, self.orders = sizes, Orders(sizes)
        self.time = len(scan.shape) - 1
        #: The axes of the states along which the factor differs.
        self.own = sorted(set[int]().union(*map(_axes, factors)) - {self.time})
        #: The factor over these and the places of the recurrence, and what is left of a state from each place to each in a chunk.
        self.factor = self._factor(factors) if factors else None
        self.decays = self._decays(self.factor) if self.factor is not None else None
        self.ends, self.kept = self._ends()

    def _factor(self, factors: Sequence[View]) -> Value:
        shape = tuple(self.scan.shape[axis] for axis in (*self.own, self.time))
        index = [lift(0)] * (self.time + 1)
        for number, axis in enumerate((*self.own, self.time)):
            index[axis] = lane(number)
        first, *others = (view.at(index) for view in factors)
        made = Value("cast", shape, dt.FLOAT32, (first,), name=first.value.name)
        for view in others:
            made = Value("mul", shape, dt.FLOAT32, (View(made, identity(shape)), view))
        return made

    def _decays(self, factor: Value) -> Value:
        """The product of the factors behind ``j`` up to ``i``, over the axes ``own``, the chunk, ``j`` and ``i``."""
        rank = len(self.own)
        shape = (*factor.shape[:-1], self.count, self.length, self.length)
        own, (chunk, j, i) = tuple(map(lane, range(rank))), (lane(rank + n) for n in range(3))
        behind = View(factor, (*own, self._place(chunk, i)))
        state = carried(shape, dt.FLOAT32)
        body = _of_both(
            "mul", shape, View(state, identity(shape)), View(_chosen(shape, j + 1, i, behind, 1.0), identity(shape))
        )
        (made,) = scanned([State(state, _number(1.0), body.value)], False)
        return Value(made.op, made.shape, made.dtype, made.operands, made.attributes, "decay")

    def _place(self, chunk: Expr, place: Expr) -> Expr:
        return chunk * self.length + place if self.count != 1 else place

    def _within(self, before: bool) -> Value:
        """What a state at ``i`` (or before the update there) has of what was added at ``j``: over the axes of the decays."""
        shape: tuple[Size, ...] = (self.length, self.length) if self.decays is None else self.decays.shape
        *others, j, i = map(lane, range(len(shape)))
        if self.decays is not None and self.count == 1:
            others[-1] = lift(0)
        inside = _number(1.0) if self.decays is None else View(self.decays, (*others, j, i - 1 if before else i))
        return _chosen(shape, j + 1 if before else j, i, inside, 0.0)

    def _since(self, before: bool) -> Value | None:
        """What a state at ``i`` (or before the update there) has of that with which its chunk began: over the axes ``own``, the chunk and
        ``i``. None for all of it."""
        if self.decays is None or self.factor is None:
            return None
        shape = (*self.decays.shape[:-2], self.length)
        *own, chunk, i = map(lane, range(len(shape)))
        chunk = chunk if self.count != 1 else lift(0)
        first = View(self.factor, (*own, self._place(chunk, lift(0))))
        made = _of_both("mul", shape, View(self.decays, (*own, chunk, lift(0), i)), first).value
        if constant(self.first) == 0 and self.count != 1:
            # Of no state nothing is left, however large the factor that the first place has for it.
            made = _chosen(shape, lift(1), chunk, View(made, identity(shape)), 0.0)
        return _chosen(shape, lift(1), i, View(made, (*own, chunk, i - 1)), 1.0) if before else made

    def _ends(self) -> tuple[Value, Value]:
        """The states behind each chunk, over their axes and the chunks; and as they lie in memory, the chunks first, so that those of a
        chunk lie side by side."""
        shape, turned = (*self.scan.shape[:-1], self.count), (self.count, *self.scan.shape[:-1])
        axes, axes_turned = identity(shape)[:-1], identity(turned)[1:]
        chunk, first = identity(shape)[-1], identity(turned)[0]
        j, end = lane(len(turned)), lift(self.length - 1)
        own, own_turned = (tuple(some[axis] for axis in self.own) for some in (axes, axes_turned))
        views = [self.added.at((*axes_turned, self._place(first, j)))]
        if self.decays is not None:
            views.append(View(self.decays, (*own_turned, first, j, end)))
        total = View(self._cheapest(views, (*turned, self.length), len(turned)), (chunk, *axes))
        state = carried(shape, dt.FLOAT32)
        before = self.first if self.count == 1 else View(state, identity(shape))
        whole = self._since(False)
        if whole is not None and constant(before) != 0:
            before = _of_both("mul", shape, before, View(whole, (*own, chunk, end)))
        made = _of_both("add", shape, before, total).value
        if self.count != 1:
            (made,) = scanned([State(state, self.first, made)], False)
            made = Value(made.op, made.shape, made.dtype, made.operands, made.attributes, self.scan.name)
        kept = Value("cast", turned, dt.FLOAT32, (View(made, (*axes_turned, first)),), {"stored": True}, self.scan.name)
        return made, kept

    def _begun(self, axes: Sequence[Expr], chunk: Expr) -> View:
        """The state with which a chunk begins."""
        if self.count == 1:
            return self.first.at(axes)
        shape = self.kept.shape
        own, at = identity(shape)[1:], lane(0)
        views = View(self.kept, (at - 1, *own)), self.first.at(own)
        made = Value("choose", shape, dt.FLOAT32, views, {"cases": (((lift(1), at, None),), ())}, self.scan.name)
        return View(made, (chunk, *axes))

    def _cheapest(self, views: Sequence[View], extents: tuple[Size, ...], rank: int) -> Value:
        """The product of ``views``, seen from ``extents``, summed over those behind the first ``rank``, in the cheapest order."""
        made = views[0]
        for view in views[1:]:
            made = _of_both("mul", extents, made, view)
        body = View(made.value, made.index)
        total = Value("reduce", extents[:rank], dt.FLOAT32, (body,), {"kind": "sum", "over": extents[rank:]})
        return self.orders.cheaper(total) or total

    def _count(self, extents: Iterable[Size]) -> float:
        return count(extents, self.sizes)

    def last(self) -> Value:
        """The state after all places."""
        if self.count != 1:
            return last_of(self.ends)
        shape = self.scan.shape[:-1]
        return Value("cast", shape, dt.FLOAT32, (View(self.ends, (*identity(shape), lift(0))),), name=self.scan.name)

    def sum(self, value: Value, asked: _StateSum) -> Value | None:
        """``value``, which is ``asked`` for, by chunks; None where that is no matrix product."""
        rank, time = len(value.shape), min(lanes_of(asked.index[-1:]))
        held, decayed = sorted(lanes_of(asked.index[:-1])), lanes_of([asked.index[axis] for axis in self.own])
        others = set[int]().union(*map(_axes, asked.others))
        summed, left = [d for d in held if d >= rank], [d for d in held if d < rank and d not in others | decayed]
        if decayed & {*summed} or not all(
            math.prod(lift(asked.extents[d]).evaluate(self.sizes) or 0 for d in some) >= _WIDE
            for some in (summed, left)
        ):
            return None
        chunk, i, j = (lane(time) if self.count != 1 else lift(0)), lane(rank), lane(len(asked.extents) + 1)
        places: list[Expr] = [lane(d if d < rank else d + 1) for d in range(len(asked.extents))]
        places[time] = self._place(chunk, i)
        axes = looked_through(asked.index[:-1], places)
        own = [axes[axis] for axis in self.own]
        inner = [view.at(places) for view in asked.others]
        shape = tuple(self.count if d == time else n for d, n in enumerate(value.shape))
        extents = (*shape, self.length, *asked.extents[rank:])
        within = self._within(asked.before)
        added = self.added.at((*axes, self._place(chunk, j)))
        weights = View(within, (j, i) if self.decays is None else (*own, chunk, j, i))
        parts = [self._cheapest([*inner, weights, added], (*extents, self.length), rank + 1)]
        if self._is_dear(parts[0], summed, left, asked.extents):
            return None
        begun = self._begun(axes, chunk)
        if constant(begun) != 0:
            since = self._since(asked.before)
            kept = [] if since is None else [View(since, (*own, chunk, i))]
            parts.append(self._cheapest([*inner, *kept, begun], extents, rank + 1))
        total = parts[0]
        if len(parts) > 1:
            total = Value("add", total.shape, dt.FLOAT32, tuple(one.view for one in parts))
        place = lane(time)
        back = [lane(d) if lift(n).value != 1 else lift(0) for d, n in enumerate(value.shape)]
        back[time] = lift(ex.floordiv(place, self.length)) if self.count != 1 else lift(0)
        back.append(lift(ex.mod(place, self.length)) if self.count != 1 else place)
        placed = Value("cast", value.shape, value.dtype, (View(total, tuple(back)),), name=value.name)
        return scaled(placed, asked.scales)

    def _is_dear(self, made: Value, summed: Sequence[int], left: Sequence[int], extents: Sequence[Size]) -> bool:
        """Whether what a chunk adds is no matrix product: its elements are not taken apart into what is summed and what is left."""
        sides = [self._count(extents[d] for d in some) for some in (summed, left)]
        rows = self._count(made.shape) / sides[1]
        return self.orders.work([made]) > 4 * rows * self.length * sum(sides)
