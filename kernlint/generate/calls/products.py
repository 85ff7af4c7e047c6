"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from kernlint.generate.calls.shares import attention
from kernlint.generate.calls.writer import Writer, fixed, wide
from kernlint.generate.values import (
    CannotGenerate,
    Value,
    View,
    identity,
    lane,
    lanes_of,
)
from kernlint.interpret.torch.products import einsum_letters
from kernlint.workload import Dtype, Expr, Size, Tensor
from kernlint.workload.expr import Atom, lift


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
    views = x.at(of_a), y.at(of_b)
    return multiplied(w, views, (left[-1],))


#: Elements that are multiplied and summed one by one rather than as a matrix product.
_FEW = 8


def multiplied(w: Writer, views: tuple[View, View], over: tuple[Size, ...]) -> Value:
    """The product of two views, summed over the lanes behind the axes of the result."""
    return summed(views, w.shape, w.dtype, over, w.sizes)


def summed(
    views: tuple[View, View], shape: tuple[Size, ...], dtype: Dtype, over: tuple[Size, ...], sizes: Mapping[Atom, float]
) -> Value:
    """The product of two views as a value of ``shape``, summed over the lanes behind its axes."""
    rank = len(shape)
    extents = [lift(extent).value for extent in over]
    if None in extents or math.prod(extent or 1 for extent in extents) > _FEW:
        product = Value("product", shape, dtype, views, {"over": over})
        made = attention(product, sizes)
        vector = made is product and _is_vector(views, shape, sizes)
        return _summed(views, shape, dtype, over) if vector else made
    total: Value | None = None
    for number in range(math.prod(extent or 1 for extent in extents)):
        at: list[Expr] = []
        rest = number
        for extent in reversed(extents):
            at.insert(0, lift(rest % (extent or 1)))
            rest //= extent or 1
        places = [*(lane(d) for d in range(rank)), *at]
        pair = tuple(view.at(places) for view in views)
        one = Value("mul", shape, dtype, pair)
        both = () if total is None else (View(total, identity(shape)), View(one, identity(shape)))
        total = one if total is None else Value("add", shape, dtype, both)
    assert total is not None
    return total


def _is_vector(views: tuple[View, View], shape: tuple[Size, ...], sizes: Mapping[Atom, float]) -> bool:
    """Whether one of the operands has hardly any rows of its own, so that no matrix product is worth it."""
    first, second = (lanes_of(view.index) for view in views)
    for own in (first - second, second - first):
        extents = [lift(shape[d]).evaluate(sizes) or 1 for d in own if d < len(shape)]
        if math.prod(extents) < _FEW:
            return True
    return False


def _summed(views: tuple[View, View], shape: tuple[Size, ...], dtype: Dtype, over: tuple[Size, ...]) -> Value:
    space = (*shape, *over)
    body = Value("mul", space, dtype if dtype.is_integer else wide(dtype), views)
    view = View(body, tuple(map(lane, range(len(space)))))
    return Value("reduce", shape, dtype, (view,), {"kind": "sum", "over": over})


def _linear(w: Writer) -> Value:
    x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
    k = lane(len(w.shape))
    a, b = w.operand(x), w.operand(weight)
    of_x = [*(lane(d) for d in range(len(w.shape) - 1)), k]
    views = (
        a.at(of_x),
        b.at([lane(len(w.shape) - 1), k]),
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
            views.append(view.at([*batch, point, coordinate]))
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
    found, letters = _lettered(w, operands[0], terms[0], sizes)
    for number, (term, operand) in enumerate(zip(terms[1:], operands[1:]), 2):
        later = {*output, *(c for one in terms[number:] for c in one)}
        kept = output if number == len(terms) else [c for c in dict.fromkeys((*letters, *term)) if c in later]
        made = met([(found, letters), _lettered(w, operand, term, sizes)], kept, sizes, w.dtype, w.sizes)
        found, letters = made.view, kept
    return found.value if len(terms) > 1 else met([(found, letters)], output, sizes, w.dtype, w.sizes)


def _lettered(w: Writer, operand: Tensor, term: list[str], sizes: Mapping[str, Size]) -> tuple[View, list[str]]:
    """``operand`` with its letters; an axis of one that is broadcast is looked at from nowhere."""
    view, shape = w.operand(operand), operand.shape or ()
    places = [lane(d) if lift(n).value != 1 else lift(0) for d, n in enumerate(shape)]
    return view.at(places), term


Letter = TypeVar("Letter")


def met(
    pair: Sequence[tuple[View, Sequence[Letter]]],
    kept: Sequence[Letter],
    extents: Mapping[Letter, Size],
    dtype: Dtype,
    sizes: Mapping[Atom, float],
) -> Value:
    """One operand, or two multiplied, summed over the letters that are not ``kept``; each is a view whose axes have letters."""
    summed_over = [c for c in dict.fromkeys(c for _, term in pair for c in term) if c not in kept]
    letters = [*kept, *summed_over]
    shape, over = (tuple(extents[c] for c in some) for some in (kept, summed_over))
    views = []
    for view, term in pair:
        places = [lane(letters.index(c)) if lift(extents[c]).value != 1 else lift(0) for c in term]
        views.append(view.at(places))
    if len(views) == 2 and summed_over and all(c in term for _, term in pair for c in summed_over):
        return summed((views[0], views[1]), shape, dtype, over, sizes)
    op, inner = ("mul", wide(dtype)) if len(views) == 2 and over else ("mul" if len(views) == 2 else "cast", dtype)
    body = Value(op, (*shape, *over), inner, tuple(views))
    if not over:
        return body
    view = View(body, tuple(map(lane, range(len(letters)))))
    return Value("reduce", shape, dtype, (view,), {"kind": "sum", "over": over})


def _outer(w: Writer) -> Value:
    views = []
    for d, tensor in enumerate(w.args[:2]):
        view = w.operand(tensor)
        views.append(view.at([lane(d)]))
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
