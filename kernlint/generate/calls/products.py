"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from kernlint.generate.calls.shares import attention
from kernlint.generate.calls.writer import Writer, fixed, wide
from kernlint.generate.values import (
    CannotGenerate,
    Value,
    View,
    lane,
    lanes_of,
    looked_through,
)
from kernlint.workload import Expr, Size, Tensor
from kernlint.workload.expr import lift


def _product(w: Writer) -> Value:
    a, b = w.tensor(0, "input"), w.tensor(1, "other")
    return _contracted(w, a, b)


def _contracted(w: Writer, a: Tensor, b: Tensor) -> Value:
    left, right = a.shape or (), b.shape or ()
    if len(left) < 1 or len(right) < 1:
        raise CannotGenerate("a product of numbers")
    rank, k = len(w.shape), lane(len(w.shape))
    columns = 1 if len(right) > 1 else 0
    rows = 1 if len(left) > 1 else 0
    batch = rank - columns - rows
    first = [lane(batch - (len(left) - 2) + d) if lift(left[d]).value != 1 else lift(0) for d in range(len(left) - 2)]
    second = [
        lane(batch - (len(right) - 2) + d) if lift(right[d]).value != 1 else lift(0) for d in range(len(right) - 2)
    ]
    of_a = [*first, *([lane(batch)] if rows else []), k]
    of_b = [*second, k, lane(rank - 1)] if columns else [k]
    x, y = w.operand(a), w.operand(b)
    views = View(x.value, looked_through(x.index, of_a)), View(y.value, looked_through(y.index, of_b))
    return multiplied(w, views, (left[-1],))


#: Elements that are multiplied and summed one by one rather than as a matrix product.
_FEW = 8


def multiplied(w: Writer, views: tuple[View, View], over: tuple[Size, ...]) -> Value:
    """The product of two views, summed over the lanes behind the axes of the result."""
    rank = len(w.shape)
    extents = [lift(extent).value for extent in over]
    if None in extents or math.prod(extent or 1 for extent in extents) > _FEW:
        product = Value("product", w.shape, w.dtype, views, {"over": over})
        made = attention(product, w.sizes)
        return _summed(w, views, over) if made is product and _is_vector(w, views) else made
    total: Any = None
    for number in range(math.prod(extent or 1 for extent in extents)):
        at: list[Expr] = []
        rest = number
        for extent in reversed(extents):
            at.insert(0, lift(rest % (extent or 1)))
            rest //= extent or 1
        places = [*(lane(d) for d in range(rank)), *at]
        pair = tuple(View(view.value, looked_through(view.index, places)) for view in views)
        product = Value("mul", w.shape, w.dtype, pair)
        total = product if total is None else w.map("add", total, product)
    assert isinstance(total, Value)
    return total


def _is_vector(w: Writer, views: tuple[View, View]) -> bool:
    """Whether one of the operands has hardly any rows of its own, so that no matrix product is worth it."""
    first, second = (lanes_of(view.index) for view in views)
    for own in (first - second, second - first):
        extents = [lift(w.shape[d]).evaluate(w.sizes) or 1 for d in own if d < len(w.shape)]
        if math.prod(extents) < _FEW:
            return True
    return False


def _summed(w: Writer, views: tuple[View, View], over: tuple[Size, ...]) -> Value:
    space = (*w.shape, *over)
    dtype = w.dtype if w.dtype.is_integer else wide(w.dtype)
    body = Value("mul", space, dtype, views)
    return Value(
        "reduce", w.shape, w.dtype, (View(body, tuple(map(lane, range(len(space))))),), {"kind": "sum", "over": over}
    )


def _linear(w: Writer) -> Value:
    x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
    k = lane(len(w.shape))
    a, b = w.operand(x), w.operand(weight)
    of_x = [*(lane(d) for d in range(len(w.shape) - 1)), k]
    views = (
        View(a.value, looked_through(a.index, of_x)),
        View(b.value, looked_through(b.index, [lane(len(w.shape) - 1), k])),
    )
    made = multiplied(w, views, ((x.shape or ())[-1],))
    bias = w.argument(2, "bias")
    return w.map("add", made, bias) if isinstance(bias, Tensor) else made


def _addmm(w: Writer) -> Value:
    """``beta * input + alpha * (first @ second)``."""
    batched = w.call.function.startswith("baddbmm")
    first, second = (w.tensor(at, f"{'batch' if batched else 'mat'}{at}") for at in (1, 2))
    made, added = _contracted(w, first, second), w.argument(0, "input")
    alpha, beta = w.kwargs.get("alpha", 1), w.kwargs.get("beta", 1)
    if not all(isinstance(one, (int, float)) for one in (alpha, beta)):
        raise CannotGenerate(f"torch function {w.call.function} with factors that are not known")
    made = w.map("mul", made, alpha) if alpha != 1 else made
    if beta == 0:
        return made
    return w.map("add", made, w.map("mul", added, beta, shape=w.shape_of(added)) if beta != 1 else added)


#: Coordinates that are gone through one by one.
_COORDINATES = 8


def _cdist(w: Writer) -> Value:
    """Distances of all pairs of points."""
    a, b, p = w.tensor(0, "x1"), w.tensor(1, "x2"), fixed(w.argument(2, "p", 2.0))
    if p not in (1, 2):
        raise CannotGenerate(f"distances of order {p}")
    depth, rank = (a.shape or ())[-1], len(w.shape)

    def far(space: tuple[Size, ...], coordinate: Expr) -> Value:
        views = []
        for tensor, own in ((a, rank - 2), (b, rank - 1)):
            shape, view = tensor.shape or (), w.operand(tensor)
            lead = rank - len(shape)
            batch = [lane(lead + d) if lift(n).value != 1 else lift(0) for d, n in enumerate(shape[:-2])]
            point = lane(own) if lift(shape[-2]).value != 1 else lift(0)
            views.append(View(view.value, looked_through(view.index, [*batch, point, coordinate])))
        apart = Value("sub", space, wide(w.dtype), tuple(views))
        return w.map("square" if p == 2 else "abs", apart, shape=space, dtype=wide(w.dtype))

    number = lift(depth).value
    if number is not None and 0 < number <= _COORDINATES:
        total = far(w.shape, lift(0))
        for at in range(1, number):
            total = w.map("add", total, far(w.shape, lift(at)), dtype=wide(w.dtype))
    else:
        total = w.reduce("sum", far((*w.shape, depth), lane(rank)), [rank], False, wide(w.dtype))
    return w.map("sqrt", total) if p == 2 else w.map("cast", total)


def _einsum(w: Writer) -> Value:
    equation, *operands = w.args
    if len(operands) == 1 and isinstance(operands[0], tuple):
        operands = list(operands[0])
    if not isinstance(equation, str) or "->" not in equation or "." in equation or len(operands) != 2:
        raise CannotGenerate("an einsum of other than two tensors")
    inputs, output = equation.replace(" ", "").split("->")
    terms = inputs.split(",")
    if any(len(set(term)) != len(term) for term in (*terms, output)):
        raise CannotGenerate("an einsum along a diagonal")
    summed = [c for c in dict.fromkeys("".join(terms)) if c not in output]
    letters = [*output, *summed]
    sizes = {c: n for term, t in zip(terms, operands) for c, n in zip(term, t.shape or ())}
    if any(c not in term for term in terms for c in summed):
        raise CannotGenerate("an einsum that sums one operand alone")
    views = []
    for term, tensor in zip(terms, operands):
        view = w.operand(tensor)
        views.append(View(view.value, looked_through(view.index, [lane(letters.index(c)) for c in term])))
    if not summed:
        return Value("mul", w.shape, w.dtype, tuple(views))
    first, second = views
    return multiplied(w, (first, second), tuple(sizes[c] for c in summed))


def _outer(w: Writer) -> Value:
    views = []
    for d, tensor in enumerate(w.args[:2]):
        view = w.operand(tensor)
        views.append(View(view.value, looked_through(view.index, [lane(d)])))
    return Value("mul", w.shape, w.dtype, tuple(views))


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "matmul": _product,
    "_int_mm": _product,
    "linear": _linear,
    "addmm": _addmm,
    "baddbmm": _addmm,
    "cdist": _cdist,
    "einsum": _einsum,
    "outer": _outer,
}
