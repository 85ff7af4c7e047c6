"""Products with what is made of another product: attention, whose scores never go to memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kernlint.generate.calls.canonical import reduces, through, without_casts
from kernlint.generate.ingredients import PRODUCTS, is_lane
from kernlint.generate.values import Value, View, exchanged, lane, lanes_of, walk_all
from kernlint.generate.work import count
from kernlint.workload import Dtype, Expr, Lane, Opaque, Size
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift

#: Elements that a program holds for each row, of a query and of what is added up.
_LEAST, _MOST = 16, 256
#: Rows from which on programs of 64 each fill half of the device: scores of fewer had better go through memory, unless their keys are few.
_MANY_ROWS, _FEW_KEYS = 64 * 64, 64


def attended(values: Sequence[Value], sizes: Mapping[Atom, float]) -> list[Value]:
    """``values`` with attention in the place of the products that are."""
    new: dict[int, Value] = {}
    made: dict[int, Value] = {}
    for one in [one for one in walk_all(values) if one.op == "product"]:
        inner = exchanged(one, new, made)
        found = attention(inner, sizes)
        if found is not inner:
            new[id(one)] = found
    return [exchanged(value, new, made) for value in values]


def attention(made: Value, sizes: Mapping[Atom, float]) -> Value:
    """``made``, a product, as attention where one of its operands is a softmax of a product, along what it sums over; else as it is.

    The operands of attention are the scores before the softmax, made of ``attributes["scores"]`` in the places of the inner products;
    what is added up; both operands of each inner product, queries first; and where there is such, what takes a share of its own.
    Behind the axes of the result come the summed one and the one of the inner products. Where it is ``guarded``, a row that looks at
    nothing is zero; where there is no ``softmax``, what is made of the scores is multiplied as it is. What is ``rounded`` is a half in
    the end, and needs no more digits of the shares.
    ``attributes["plain"]`` is ``made``, where the axes are the same."""
    for number, view in enumerate(made.operands):
        found = _softmax(view, made) if len(made.attributes["over"]) == 1 else None
        if found is not None:
            scores, guarded, sink = found
            attributes = {"softmax": True, "guarded": guarded}
            return _attention(made, scores, view, made.operands[1 - number], attributes, sizes, sink) or made
    return made


def gated(values: Sequence[Value], sizes: Mapping[Atom, float]) -> list[Value]:
    """``values`` with attention without a softmax in the place of products with what is made of other products, element by element,
    which nothing else looks at: their elements need not go to memory."""
    found: dict[int, tuple[Value, set[int]]] = {}
    for made in walk_all(values):
        for number, view in enumerate(made.operands if made.op == "product" else ()):
            weights, others = _bare(view), made.operands[1 - number]
            if len(made.attributes["over"]) == 1 and weights.value.op not in PRODUCTS:
                one = _attention(made, weights, view, others, {"softmax": False, "guarded": False}, sizes)
                if one is not None and one.op == "attention" and _is_worth_it(one, sizes):
                    found[id(made)] = one, {id(inner) for inner, _ in _products(weights, len(made.shape))}
    while found:
        exchange = dict[int, Value]()
        new = [exchanged(value, {key: one for key, (one, _) in found.items()}, exchange) for value in values]
        left = set(map(id, walk_all(new)))
        needed = [key for key, (_, inner) in found.items() if inner & left]
        if not needed:
            return new
        for key in needed:
            del found[key]
    return list(values)


def _is_worth_it(made: Value, sizes: Mapping[Atom, float]) -> bool:
    """Whether many rows go through the keys of ``made``, or all through few."""
    scores, _, *inner = made.operands
    rows = lanes_of([place for view in (scores, *inner[::2]) for place in view.index])
    many = count((n for d, n in enumerate(made.shape) if d in rows), sizes) >= _MANY_ROWS
    return many or count(made.attributes["over"][:1], sizes) <= _FEW_KEYS


def _softmax(view: View, product: Value) -> tuple[View, bool, View | None] | None:
    """What ``view``, an operand of ``product``, is the softmax of, and whether what looks at nothing gets zero; and what each row has
    beside its scores that takes its share and adds nothing (a sink)."""
    rank, over = len(product.shape), product.attributes["over"]
    shares, test = _bare(view), None
    if shares.value.op == "where":
        test, shares, other = (_bare(through(shares, one)) for one in shares.value.operands)
        if other.value.op != "number" or other.value.attributes["value"] != 0 or test.value.op != "gt":
            return None
    if shares.value.op != "div":
        return None
    high, total = (_bare(through(shares, one)) for one in shares.value.operands)
    low = _bare(through(high, high.value.operands[0])) if high.value.op == "exp" else high
    if low.value.op != "sub":
        return None
    scores, top = (without_casts(through(low, one)) for one in low.value.operands)
    if test is None and top.value.op == "maximum" and total.value.op == "add":
        sink = _sink(top, total, high, scores, product)
        return None if sink is None else (scores, False, sink)
    if not reduces(top, "max", scores, over, rank) or not reduces(total, "expsum", scores, over, rank):
        return None
    if test is not None:
        first, second = (without_casts(through(test, one)) for one in test.value.operands)
        known = second.value.attributes.get("value") if second.value.op == "number" else None
        if known != -math.inf or not reduces(first, "max", scores, over, rank):
            return None
    return scores, test is not None, None


def _sink(top: View, total: View, high: View, scores: View, product: Value) -> View | None:
    """What ``top`` is the larger of, beside the largest of ``scores``, and ``total`` has the exponential of, beside the sum of ``high``."""
    rank, over = len(product.shape), product.attributes["over"]
    tops, totals = ([_bare(through(one, inner)) for inner in one.value.operands] for one in (top, total))
    for largest, sink in (tops, reversed(tops)):
        for summed, alone in (totals, reversed(totals)):
            low = _bare(through(alone, alone.value.operands[0])) if alone.value.op == "exp" else alone
            if low.value.op != "sub" or rank in lanes_of(sink.index):
                continue
            own, less = (_bare(through(low, one)) for one in low.value.operands)
            same = (own.value, own.index, less.value, less.index) == (sink.value, sink.index, top.value, top.index)
            if same and reduces(largest, "max", scores, over, rank) and reduces(summed, "sum", high, over, rank):
                return sink
    return None


def _bare(view: View) -> View:
    """``view`` without conversions between floating types."""
    while view.value.op == "cast" and view.value.dtype.is_float and view.value.operands[0].value.dtype.is_float:
        view = through(view, view.value.operands[0])
    return view


def _attention(
    made: Value,
    scores: View,
    weights: View,
    values: View,
    how: Mapping[str, bool],
    sizes: Mapping[Atom, float],
    sink: View | None = None,
) -> Value | None:
    rank = len(made.shape)
    found = _products(scores, rank)
    inner, places, scaled, depths = list[View](), list[Value](), dict[int, Value](), set[Expr]()
    for whole, at in found:
        product = _as_product(whole)
        if product is None or id(whole) in scaled:
            return None
        place = Value("scores", whole.shape, whole.dtype, name="scores")
        places.append(place)
        sides = [one.at((*at, lane(rank + 1))) for one in product.operands]
        for side, view in enumerate(sorted(sides, key=lambda one: rank in lanes_of(one.index))):
            if (rank in lanes_of(view.index)) != bool(side):
                return None
            bare, place = _without_factor(view, place)
            inner.append(bare)
        scaled[id(whole)] = place
        depths.add(lift(product.attributes["over"][0]))
    if len(depths) != 1 or rank not in lanes_of(values.index):
        return None
    if not all(view.value.dtype.is_float and view.value.dtype.bits <= 32 for view in (values, *inner)):
        return None
    held = View(exchanged(scores.value, scaled, {}), scores.index)
    over = (*made.attributes["over"], *depths)
    attributes = {"over": over, "scores": tuple(places), "weights": weights.value.dtype, **how}
    operands = (held, values, *inner, *([sink] if sink is not None else []))
    if _has_rows(made.shape, operands):
        built = Value("attention", made.shape, made.dtype, operands, {**attributes, "plain": made}, made.name)
        return built if _fits(built, sizes) else None
    return _by_groups(made, operands, attributes, sizes)


def _without_factor(view: View, scores: Value) -> tuple[View, Value]:
    """``view``, halves that are multiplied or divided by a number in single precision, as these halves, which a tensor core takes as
    they are; and ``scores`` with the number instead."""
    scaled = without_casts(view).value
    if scaled.op not in ("mul", "div") or scaled.dtype != dt.FLOAT32:
        return view, scores
    for one, other in zip(scaled.operands, reversed(scaled.operands)):
        number = other.value.op == "number" and (scaled.op == "mul" or other is scaled.operands[1])
        if number and _is_half(without_casts(one).value.dtype):
            own = scores.view
            return through(without_casts(view), one), Value(
                scaled.op, scores.shape, scores.dtype, (own, View(other.value, ()))
            )
    return view, scores


def narrowed(values: Sequence[Value]) -> tuple[list[Value], bool]:
    """``values`` with the shares of attention rounded as halves where what they are shares of is halves and what comes of them is rounded
    to the same, and multiplied at most before; and whether there are some. What need not lie between zero and one keeps the range of
    single precision."""
    users: dict[int, list[Value]] = {}
    every = list(walk_all(values))
    for value in every:
        for view in value.operands:
            users.setdefault(id(view.value), []).append(value)
    roots = set(map(id, values))

    def only_rounded(value: Value, target: Dtype) -> bool:
        if value.dtype == target:
            return True
        return id(value) not in roots and all(
            (user.op == "cast" or (user.op in ("mul", "div") and _once(user, value))) and only_rounded(user, target)
            for user in users[id(value)]
        )

    new = {}
    for value in every:
        if value.op != "attention" or value.attributes["weights"] != dt.FLOAT32:
            continue
        held = without_casts(value.operands[1]).value.dtype
        if _is_half(held) and only_rounded(value, held):
            narrow = value.attributes["softmax"] or held == dt.BFLOAT16
            attributes = {**value.attributes, "weights": held if narrow else dt.FLOAT32, "rounded": True}
            new[id(value)] = Value(value.op, value.shape, value.dtype, value.operands, attributes, value.name)
    made: dict[int, Value] = {}
    return [exchanged(value, new, made) for value in values], bool(new)


def _is_half(dtype: Dtype) -> bool:
    return dtype.is_float and dtype.bits == 16


def _once(user: Value, value: Value) -> bool:
    """Whether ``value`` is a factor of ``user``, no divisor, and the other operand is not made of it."""
    first, second = (view.value for view in user.operands)
    if second is value:
        return user.op == "mul" and first is not value and value not in list(first.walk())
    return value not in list(second.walk())


def _has_rows(shape: Sequence[Size], operands: Sequence[View]) -> bool:
    """Whether some rows look at the same keys and values."""
    shared = lanes_of([place for view in operands[1::2] for place in view.index])
    return any(d not in shared and lift(extent).value != 1 for d, extent in enumerate(shape))


def _fits(made: Value, sizes: Mapping[Atom, float]) -> bool:
    """Whether a program can hold the elements of a row."""
    scores, values, *inner = made.operands
    seen = lanes_of([place for view in (scores, *inner) for place in view.index])
    columns = [d for d in lanes_of(values.index) - seen if d < len(made.shape)]
    width, depth = (count(n, sizes) for n in ([made.shape[d] for d in columns], made.attributes["over"][1:]))
    return min(width, depth) >= _LEAST and max(width, depth * len(made.attributes["scores"])) <= _MOST


def _by_groups(
    made: Value, operands: Sequence[View], attributes: Mapping[str, Any], sizes: Mapping[Atom, float]
) -> Value | None:
    """Attention of single queries whose heads share keys: the heads of a group are its rows."""
    looked = [place for view in operands[1::2] for place in view.index]
    quotients = {
        atom
        for place in looked
        for atom in place.atoms()
        if isinstance(atom, Opaque) and atom.op == "floordiv" and is_lane(atom.args[0])
    }
    if len(quotients) != 1:
        return None
    (quotient,) = quotients
    (axis,) = lanes_of(quotient.args[:1])
    group = quotient.args[1]
    if axis in lanes_of([place.substitute({quotient: 0}) for place in looked]):
        return None
    moved: dict[Atom, Size] = {quotient: lane(axis), Lane(axis): lane(axis) * group + lane(axis + 1)}
    moved |= {Lane(d): lane(d + 1) for d in range(axis + 1, len(made.shape) + 2)}
    heads = ex.simplify(lift(ex.floordiv(made.shape[axis], group)))
    shape = (*made.shape[:axis], heads, ex.simplify(group), *made.shape[axis + 1 :])
    views = tuple(View(one.value, tuple(place.substitute(moved) for place in one.index)) for one in operands)
    built = Value("attention", shape, made.dtype, views, attributes, made.name)
    if not _has_rows(shape, views) or not _fits(built, sizes):
        return None
    head = (lift(ex.floordiv(lane(axis), group)), lift(ex.mod(lane(axis), group)))
    seen = [*(lane(d) for d in range(axis)), *head, *(lane(d) for d in range(axis + 1, len(made.shape)))]
    back = tuple(lift(0) if lift(n).value == 1 else place for place, n in zip(seen, shape))
    return Value("cast", made.shape, made.dtype, (View(built, back),), name=made.name)


def _as_product(value: Value) -> Value | None:
    """``value`` as a product along one axis; sums of products of few rows are one too."""
    if len(value.attributes.get("over", ())) != 1:
        return None
    if value.op == "product":
        return value
    if value.op != "reduce" or value.attributes["kind"] != "sum":
        return None
    body = without_casts(value.operands[0])
    if body.value.op != "mul":
        return None
    views = tuple(through(body, one) for one in body.value.operands)
    return Value("product", value.shape, value.dtype, views, {"over": value.attributes["over"]})


def _products(view: View, key_lane: int) -> list[tuple[Value, tuple[Expr, ...]]]:
    """The products that ``view`` is made of element by element, sums of products by key among them, and what is reduced of products, each
    with where it is looked at; what else is reduced or handed on lies in memory before."""
    found: dict[tuple[int, tuple[Expr, ...]], tuple[Value, tuple[Expr, ...]]] = {}
    seen: set[tuple[int, tuple[Expr, ...]]] = set()
    waiting = [view]
    while waiting:
        one = waiting.pop()
        key = id(one.value), one.index
        if key in seen:
            continue
        seen.add(key)
        along = one.value.op in ("reduce", "scan", "held", "partial")
        pair = _as_product(one.value) if key_lane in lanes_of(one.index) else None
        # What each key has for itself alone is no inner product.
        at = (*one.index, lane(key_lane + 1))
        summed = pair is not None and any(key_lane not in lanes_of(side.at(at).index) for side in pair.operands)
        if summed or one.value.op in PRODUCTS or (along and any(v.op in PRODUCTS for v in one.value.walk())):
            found[key] = one.value, one.index
        elif not along:
            waiting += [through(one, inner) for inner in one.value.operands]
    return list(found.values())
