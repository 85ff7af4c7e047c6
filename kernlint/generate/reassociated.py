"""Sums of products in the order that takes the fewest multiplications.

``((x @ y.T) @ z)`` is ``x @ (y.T @ z)``, the sum of all elements of ``(x @ x.T) * (y @ y.T)`` is that of the squares of ``x.T @ y``, and a
row of ``x @ w`` adds up to ``x`` times what the rows of ``w`` add up to. The sum over the pairs ``i < j`` of what is the same for ``j, i``
is half of that over all, without the diagonal. What is nested so is taken apart into factors, each over some of
the axes (letters), and put together pair by pair.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from kernlint.generate.calls.canonical import is_widening, through
from kernlint.generate.calls.products import met
from kernlint.generate.halves import of_half
from kernlint.generate.values import Value, View, exchanged, identity, lane, lanes_of, looked_through, walk_all
from kernlint.generate.work import count
from kernlint.records import dataclass
from kernlint.workload import Size
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, lift

#: Factors up to which all orders are tried, and how much less the work has to be.
_MOST_FACTORS, _LESS = 6, 0.5


@dataclass(frozen=True)
class Factor:
    """``value`` over the axes ``letters``, each of which is one of the sum."""

    value: Value
    letters: tuple[int, ...]


def reassociated(values: Sequence[Value], sizes: Mapping[Atom, float]) -> tuple[list[Value], bool]:
    """``values`` in a cheaper order of their sums and products, if it is much cheaper; else as they are. And whether something is added
    for it that is taken away again."""
    if sum(one.op == "product" or is_sum(one) for one in walk_all(values)) < 2:
        return list(values), False
    given, halves, whole = values, dict[int, Value](), dict[int, Value]()
    for one in walk_all(values):
        made_whole = of_half(one) if is_sum(one) else None
        if made_whole is not None:
            halves[id(one)] = made_whole
    values = [exchanged(one, halves, whole) for one in values]
    sums = [one for one in walk_all(values) if one.op == "product" or is_sum(one)]
    new: dict[int, Value] = {}
    orders = Orders(sizes)
    outer = set(map(id, sums)) - {id(inner) for one in sums for inner in _inside(one)}
    for one in sums:
        found = orders.cheaper(one) if id(one) in outer else None
        if found is not None:
            new[id(one)] = found
    made: dict[int, Value] = {}
    other = [exchanged(one, new, made) for one in values]
    cheaper = bool(new) and orders.work(other) <= _LESS * orders.work(given)
    return (other, bool(halves)) if cheaper else (list(given), False)


def is_sum(value: Value) -> bool:
    return value.op == "reduce" and value.attributes["kind"] == "sum" and value.dtype.is_float


def _inside(value: Value) -> list[Value]:
    """The sums and products that ``value`` is made of as factors."""
    found, waiting = list[Value](), [view.value for view in value.operands]
    while waiting:
        one = waiting.pop()
        if one.op == "product" or is_sum(one):
            found.append(one)
        elif _opens(one):
            waiting += [view.value for view in one.operands]
    return found


def _opens(value: Value) -> bool:
    """Whether ``value`` is a product of its operands, or an operand without loss."""
    if not value.dtype.is_float:
        return False
    if value.op == "cast":
        return is_widening(value)
    if value.op == "div":
        return value.operands[1].value.op == "number"
    return value.op in ("mul", "square", "neg")


def taken_apart(value: Value) -> tuple[list[Size], list[View], list[tuple[str, View]]]:
    """A sum or product of products as the extents of its axes, with what is summed behind its own; its factors, seen from all of these;
    and the numbers by which the whole is multiplied (mul) or divided (div), or changes its sign (neg)."""
    extents: list[Size] = [*value.shape, *value.attributes["over"]]
    leaves: list[View] = []
    scales: list[tuple[str, View]] = []
    waiting = list(value.operands)
    while waiting:
        view = waiting.pop()
        inner = view.value
        if inner.op == "product" or is_sum(inner):
            own = [lane(len(extents) + i) for i in range(len(inner.attributes["over"]))]
            extents += inner.attributes["over"]
            waiting += [one.at([*view.index, *own]) for one in inner.operands]
        elif _opens(inner):
            parts = [through(view, one) for one in inner.operands]
            if inner.op == "div":
                scales.append(("div", parts.pop()))
            elif inner.op == "neg":
                scales.append(("neg", view))
            waiting += parts * (2 if inner.op == "square" else 1)
        elif inner.op == "number":
            scales.append(("mul", view))
        else:
            leaves.append(view)
    return extents, leaves, scales


class Orders:
    """Finds orders for sums of products; what is put together twice of the same is one value."""

    def __init__(self, sizes: Mapping[Atom, float]) -> None:
        self.sizes = sizes
        self._made: dict[tuple[object, ...], Value] = {}
        #: The factors that were multiplied, by identity, and when they came: which stands first must not hang on where they lie in memory.
        self._came: dict[int, tuple[Value, int]] = {}

    def work(self, values: Iterable[Value]) -> float:
        """The multiplications of all sums and products that ``values`` are made of."""
        return sum(
            count((*one.shape, *one.attributes["over"]), self.sizes)
            for one in walk_all(values)
            if one.op == "product" or is_sum(one)
        )

    def cheaper(self, value: Value) -> Value | None:
        """``value`` put together of its factors; None where they are too few or too many, or their extents are not known."""
        extents, leaves, scales = taken_apart(value)
        if not 1 < len(leaves) <= _MOST_FACTORS or math.isinf(count(extents, self.sizes)):
            return None
        factors = [self._factor(view, extents) for view in leaves]
        if any(factor.value.dtype.is_integer for factor in factors):
            return None
        summed = self._summed(factors, frozenset(range(len(value.shape))), extents)
        index = tuple(lane(d) for d in summed.letters)
        placed = Value("cast", value.shape, value.dtype, (View(summed.value, index),), name=value.name)
        return scaled(placed, scales)

    def _factor(self, view: View, extents: Sequence[Size]) -> Factor:
        """``view`` as a value over the letters that it depends on."""
        letters = tuple(sorted(d for d in lanes_of(view.index) if lift(extents[d]).value != 1))
        places = [lift(0)] * len(extents)
        for number, letter in enumerate(letters):
            places[letter] = lane(number)
        index = looked_through(view.index, places)
        shape = tuple(extents[d] for d in letters)
        if index == identity(shape) and view.value.shape == shape:
            return Factor(view.value, letters)
        return Factor(self._once(Value("cast", shape, view.value.dtype, (View(view.value, index),))), letters)

    def _once(self, value: Value) -> Value:
        """``value``, or one that is made of the same."""
        operands = tuple((id(view.value), view.index) for view in value.operands)
        key = value.op, value.shape, value.dtype, operands, value.attributes.get("over"), value.attributes.get("kind")
        return self._made.setdefault(key, value)

    def _summed(self, factors: list[Factor], kept: frozenset[int], extents: Sequence[Size]) -> Factor:
        """``factors`` multiplied and summed over all letters that are not ``kept``."""
        while len(factors) > 1:
            pairs = itertools.combinations(range(len(factors)), 2)
            first, second = min(pairs, key=lambda pair: self._price(factors, pair, kept, extents))
            rest = [one for number, one in enumerate(factors) if number not in (first, second)]
            needed = kept.union(*(one.letters for one in rest))
            left, right = (self._alone(factors[at], factors, needed, extents) for at in (first, second))
            letters = tuple(sorted({*left.letters, *right.letters} & needed))
            factors = [*rest, self._met(left, right, letters, extents)]
        return self._alone(factors[0], factors, kept, extents)

    def _price(
        self, factors: Sequence[Factor], pair: tuple[int, int], kept: frozenset[int], extents: Sequence[Size]
    ) -> float:
        """The multiplications of a pair, and the elements that it leaves, against those that it takes away."""
        rest = [one for number, one in enumerate(factors) if number not in pair]
        needed = kept.union(*(one.letters for one in rest))
        own = [set(factors[at].letters) for at in pair]
        both = (own[0] & (own[1] | needed)) | (own[1] & (own[0] | needed))
        left = count((extents[d] for d in both & needed), self.sizes)
        taken = sum(count((extents[d] for d in one), self.sizes) for one in own)
        return count((extents[d] for d in both), self.sizes) * (1.0 if left < taken else 1.0 + left / taken)

    def _alone(
        self, factor: Factor, factors: Sequence[Factor], kept: frozenset[int], extents: Sequence[Size]
    ) -> Factor:
        """``factor`` summed over the letters that no other one has."""
        others = kept.union(*(one.letters for one in factors if one is not factor))
        letters = tuple(d for d in factor.letters if d in others)
        if letters == factor.letters:
            return factor
        return self._met(factor, None, letters, extents)

    def _met(self, left: Factor, right: Factor | None, letters: tuple[int, ...], extents: Sequence[Size]) -> Factor:
        names = {d: extents[d] for d in (*left.letters, *(right.letters if right is not None else ()))}
        given = [one for one in (left, right) if one is not None]
        for one in given:
            self._came.setdefault(id(one.value), (one.value, len(self._came)))
        both = sorted(given, key=lambda one: (one.letters, self._came[id(one.value)][1]))
        pair = [(one.value.view, one.letters) for one in both]
        wide = any(one.value.dtype == dt.FLOAT64 for one in both)
        made = met(pair, letters, names, dt.FLOAT64 if wide else dt.FLOAT32, self.sizes)
        return Factor(self._known(made), letters)

    def _known(self, made: Value) -> Value:
        """``made``, or what was made of the same before, its body too."""
        (view, *others) = made.operands
        if made.op == "reduce" and not others:
            made = Value(made.op, made.shape, made.dtype, (View(self._once(view.value), view.index),), made.attributes)
        return self._once(made)


def scaled(value: Value, scales: Sequence[tuple[str, View]]) -> Value:
    for op, number in scales:
        own = value.view
        operands = (own,) if op == "neg" else (own, View(number.value, ()))
        value = Value(op, value.shape, value.dtype, operands, name=value.name)
    return value
