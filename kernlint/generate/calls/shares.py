"""Products with the shares of a softmax of a product: attention, whose scores never go to memory."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernlint.generate.calls.canonical import reduces, through, without_casts
from kernlint.generate.seen import PRODUCTS
from kernlint.generate.values import Value, View, exchanged, lane, lanes_of, looked_through
from kernlint.workload import Expr
from kernlint.workload.expr import Atom, lift

#: Elements that a program holds for each row, of a query and of what is added up.
_LEAST, _MOST = 16, 256


def attention(made: Value, sizes: Mapping[Atom, float]) -> Value:
    """``made``, a product, as attention where one of its operands is a softmax of a product, along what it sums over; else as it is.

    The operands of attention are the scores before the softmax, made of ``attributes["scores"]`` in the place of the inner product;
    what is added up; and both operands of the inner product, queries first. Behind the axes of the result come the summed one and
    the one of the inner product. Where it is ``guarded``, a row that looks at nothing is zero."""
    for number, view in enumerate(made.operands):
        found = _softmax(view, made) if len(made.attributes["over"]) == 1 else None
        if found is not None:
            scores, guarded = found
            return _attention(made, scores, view, made.operands[1 - number], guarded, sizes) or made
    return made


def _softmax(view: View, product: Value) -> tuple[View, bool] | None:
    """What ``view``, an operand of ``product``, is the softmax of, and whether what looks at nothing gets zero."""
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
    if not reduces(top, "max", scores, over, rank) or not reduces(total, "expsum", scores, over, rank):
        return None
    if test is not None:
        first, second = (without_casts(through(test, one)) for one in test.value.operands)
        known = second.value.attributes.get("value") if second.value.op == "number" else None
        if known != -math.inf or not reduces(first, "max", scores, over, rank):
            return None
    return scores, test is not None


def _bare(view: View) -> View:
    """``view`` without conversions between floating types."""
    while view.value.op == "cast" and view.value.dtype.is_float and view.value.operands[0].value.dtype.is_float:
        view = through(view, view.value.operands[0])
    return view


def _attention(
    made: Value, scores: View, weights: View, values: View, guarded: bool, sizes: Mapping[Atom, float]
) -> Value | None:
    rank = len(made.shape)
    found = _products(scores)
    if len(found) != 1:
        return None
    ((product, at),) = found
    if product.op != "product" or len(product.attributes["over"]) != 1:
        return None
    inner = [View(one.value, looked_through(one.index, (*at, lane(rank + 1)))) for one in product.operands]
    inner.sort(key=lambda one: rank in lanes_of(one.index))
    query, keys = inner
    if rank in lanes_of(query.index) or rank not in lanes_of(keys.index) or rank not in lanes_of(values.index):
        return None
    if not all(view.value.dtype.is_float and view.value.dtype.bits <= 32 for view in (query, keys, values)):
        return None
    seen = lanes_of((*scores.index, *query.index, *keys.index))
    shared = lanes_of((*keys.index, *values.index))
    if all(d in shared or lift(extent).value == 1 for d, extent in enumerate(made.shape)):
        return None  # each row looks at keys of its own
    columns = [d for d in lanes_of(values.index) - seen if d < rank]
    depth = product.attributes["over"][0]
    for extents in ([made.shape[d] for d in columns], [depth]):
        width = math.prod(lift(n).evaluate(sizes) or math.inf for n in extents)
        if not _LEAST <= width <= _MOST:
            return None
    place = Value("scores", product.shape, product.dtype, name="scores")
    held = View(exchanged(scores.value, {id(product): place}, {}), scores.index)
    attributes = {
        "over": (*made.attributes["over"], depth),
        "scores": place,
        "weights": weights.value.dtype,
        "guarded": guarded,
    }
    return Value("attention", made.shape, made.dtype, (held, values, query, keys), attributes, made.name)


def _products(view: View) -> list[tuple[Value, tuple[Expr, ...]]]:
    """The products that ``view`` is made of element by element, and what is reduced of products, each with where it is looked at."""
    found: dict[tuple[int, tuple[Expr, ...]], tuple[Value, tuple[Expr, ...]]] = {}
    seen: set[tuple[int, tuple[Expr, ...]]] = set()
    waiting = [view]
    while waiting:
        one = waiting.pop()
        key = id(one.value), one.index
        if key in seen:
            continue
        seen.add(key)
        along = one.value.op in ("reduce", "scan", "partial")
        if one.value.op in PRODUCTS or (along and any(inner.op in PRODUCTS for inner in one.value.walk())):
            found[key] = one.value, one.index
        elif not along:
            waiting += [through(one, inner) for inner in one.value.operands]
    return list(found.values())
