"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
from kernlint.interpret.torch.products import einsum_letters
from kernlint.records import replace
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


def _pairwise(w: Writer) -> Value:
    """Distances of points of the same place, along the last axis."""
    x, y, p = w.tensor(0, "x1"), w.tensor(1, "x2"), fixed(w.argument(2, "p", 2.0))
    if p not in (1, 2) or x.shape != y.shape:
        raise CannotGenerate(f"distances of order {p}, or of points of two shapes")
    shape, wider = x.shape or (), wide(w.dtype)
    apart = w.map("sub", x, y, shape=shape, dtype=wider)
    far = w.map("add", apart, w.argument(3, "eps", 1e-6), shape=shape, dtype=wider)
    size = w.map("square" if p == 2 else "abs", far, shape=shape, dtype=wider)
    total = w.reduce("sum", size, [len(shape) - 1], bool(w.argument(4, "keepdim", False)), wider)
    return w.map("sqrt" if p == 2 else "cast", total)


def _cosine(w: Writer) -> Value:
    x, y, eps = w.tensor(0, "x1"), w.tensor(1, "x2"), w.argument(3, "eps", 1e-8)
    if x.shape != y.shape:
        raise CannotGenerate("a similarity of tensors of two shapes")
    shape, wider = x.shape or (), wide(w.dtype)
    axes = [w.axis(w.argument(2, "dim", 1), len(shape))]

    def total(a: Tensor, b: Tensor) -> Value:
        return w.reduce("sum", w.map("mul", a, b, shape=shape, dtype=wider), axes, False, wider)

    def length(one: Tensor) -> Value:
        return w.map("maximum", w.map("sqrt", total(one, one), dtype=wider), eps, dtype=wider)

    return w.map("div", total(x, y), w.map("mul", length(x), length(y), dtype=wider))


def _einsum(w: Writer) -> Value:
    equation, *operands = w.args
    if len(operands) == 1 and isinstance(operands[0], tuple):
        operands = list(operands[0])
    terms, output = einsum_letters(equation, [len(t.shape or ()) for t in operands])
    sizes = {c: n for term, t in zip(terms, operands) for c, n in zip(term, t.shape or ()) if lift(n).value != 1}
    sizes |= {c: 1 for term in terms for c in term if c not in sizes}
    found, letters = operands[0], terms[0]
    for number, (term, operand) in enumerate(zip(terms[1:], operands[1:]), 2):
        later = {*output, *(c for one in terms[number:] for c in one)}
        kept = output if number == len(terms) else [c for c in dict.fromkeys((*letters, *term)) if c in later]
        found, letters = _letters_met(w, (found, letters), (operand, term), kept, sizes), kept
    return _letters_met(w, (found, letters), None, output, sizes) if letters != output else found


def _letters_met(
    w: Writer,
    first: tuple[Any, Sequence[str]],
    second: tuple[Any, Sequence[str]] | None,
    kept: Sequence[str],
    sizes: Any,
) -> Value:
    """One operand of an einsum, or two multiplied, summed over the letters that are not ``kept``."""
    pair = [first] if second is None else [first, second]
    summed = [c for c in dict.fromkeys(c for _, term in pair for c in term) if c not in kept]
    letters = [*kept, *summed]
    shape, over = (tuple(sizes[c] for c in some) for some in (kept, summed))
    views = []
    for operand, term in pair:
        view, extents = w.operand(operand), w.shape_of(operand)
        places = [lane(letters.index(c)) if lift(n).value != 1 else lift(0) for c, n in zip(term, extents)]
        views.append(View(view.value, looked_through(view.index, places)))
    if second is None:
        body = Value("cast", (*shape, *over), w.dtype, tuple(views))
    elif not summed or any(c not in term for _, term in pair for c in summed):
        body = Value("mul", (*shape, *over), w.dtype if not summed else wide(w.dtype), tuple(views))
    else:
        made = Writer(w.view_of, w.sizes, replace(w.out, shape=shape), w.call)
        return multiplied(made, (views[0], views[1]), over)
    if not summed:
        return body
    view = View(body, tuple(map(lane, range(len(letters)))))
    return Value("reduce", shape, w.dtype, (view,), {"kind": "sum", "over": over})


def _outer(w: Writer) -> Value:
    views = []
    for d, tensor in enumerate(w.args[:2]):
        view = w.operand(tensor)
        views.append(View(view.value, looked_through(view.index, [lane(d)])))
    return Value("mul", w.shape, w.dtype, tuple(views))


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    **dict.fromkeys(("matmul", "mv", "dot"), _product),
    "_int_mm": _product,
    "linear": _linear,
    "addmm": _addmm,
    "baddbmm": _addmm,
    "cdist": _cdist,
    "pairwise_distance": _pairwise,
    "cosine_similarity": _cosine,
    "einsum": _einsum,
    "outer": _outer,
}
