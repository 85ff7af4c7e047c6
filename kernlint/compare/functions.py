"""What further torch functions are, for elements of their results: forms that no kernel would compute them in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.generate.calls import table
from kernlint.generate.calls.convolutions import per_axis
from kernlint.generate.calls.norms import affine, standardised
from kernlint.generate.calls.writer import Writer, per_channel
from kernlint.generate.values import CannotGenerate, Value, View, lane, looked_through
from kernlint.workload import Expr, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift

#: ``low <= place < high``.
Bounds = tuple[tuple[Expr, Expr, Expr], ...]


def _number(value: float) -> View:
    return View(Value("number", (), dt.FLOAT32, attributes={"value": value}), ())


def _inside(space: Sequence[Size], look: View, bounds: Bounds, outside: float) -> Value:
    """``look`` where ``bounds`` hold, else a number."""
    return Value("choose", tuple(space), look.value.dtype, (look, _number(outside)), {"cases": (bounds, ())})


def _whole(value: Value) -> View:
    return View(value, tuple(map(lane, range(len(value.shape)))))


def _reduced(w: Writer, body: Value, kind: str, over: tuple[Size, ...]) -> Value:
    return Value("reduce", w.shape, w.dtype, (_whole(body),), {"kind": kind, "over": over})


# -- convolutions ------------------------------------------------------------------------------------------------------


def _geometry(w: Writer, places: Mapping[str, int], rank: int, **defaults: Any) -> list[list[int]]:
    found = [per_axis(w.argument(place, name, defaults[name]), rank) for name, place in places.items()]
    if None in found:
        raise CannotGenerate("a geometry that is not known")
    return found  # type: ignore[return-value]


def _convolved(w: Writer, product: Value, rank: int) -> Value:
    bias = w.argument(2, "bias")
    return w.map("add", product, per_channel(w, bias, rank + 2)) if isinstance(bias, Tensor) else product


def _channels(w: Writer, groups: int, inner: Size) -> tuple[Expr, Expr]:
    """The lanes of a group and of a channel in it, for the channels of the result."""
    per_group = ex.floordiv(w.shape[1], groups)
    group = lift(ex.floordiv(lane(1), per_group))
    return group, group * inner


def _conv(w: Writer) -> Value:
    x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
    rank = len(w.shape) - 2
    stride, padding, dilation = _geometry(
        w, {"stride": 3, "padding": 4, "dilation": 5}, rank, stride=1, padding=0, dilation=1
    )
    groups, shape, filters = w.argument(6, "groups", 1), x.shape or (), weight.shape or ()
    if not isinstance(groups, int):
        raise CannotGenerate("a convolution in groups that are not known")
    at, taps = lane(rank + 2), [lane(rank + 3 + d) for d in range(rank)]
    _, first = _channels(w, groups, filters[1])
    places = [lane(2 + d) * stride[d] + taps[d] * dilation[d] - padding[d] for d in range(rank)]
    image, kernel = w.operand(x), w.operand(weight)
    look = View(image.value, looked_through(image.index, [lane(0), first + at, *places]))
    over = tuple(filters[1:])
    bounds = tuple((lift(0), places[d], lift(shape[2 + d])) for d in range(rank))
    padded = _inside((*w.shape, *over), look, bounds, 0.0)
    factor = View(kernel.value, looked_through(kernel.index, [lane(1), at, *taps]))
    return _convolved(w, Value("product", w.shape, w.dtype, (_whole(padded), factor), {"over": over}), rank)


def _conv_transpose(w: Writer) -> Value:
    x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
    rank = len(w.shape) - 2
    order = {"stride": 3, "padding": 4, "dilation": 7}
    stride, padding, dilation = _geometry(w, order, rank, stride=1, padding=0, dilation=1)
    groups, shape, filters = w.argument(6, "groups", 1), x.shape or (), weight.shape or ()
    if not isinstance(groups, int):
        raise CannotGenerate("a convolution in groups that are not known")
    per_group = lift(filters[1])
    inner = ex.simplify(lift(ex.floordiv(shape[1], groups)))
    at, taps = lane(rank + 2), [lane(rank + 3 + d) for d in range(rank)]
    group = lift(ex.floordiv(lane(1), per_group))
    channel = group * inner + at
    reached = [lane(2 + d) + padding[d] - taps[d] * dilation[d] for d in range(rank)]
    places = [lift(ex.floordiv(one, stride[d])) for d, one in enumerate(reached)]
    bounds = tuple((lift(0), places[d], lift(shape[2 + d])) for d in range(rank))
    bounds += tuple((lift(0), lift(ex.mod(one, stride[d])), lift(1)) for d, one in enumerate(reached) if stride[d] > 1)
    image, kernel = w.operand(x), w.operand(weight)
    look = View(image.value, looked_through(image.index, [lane(0), channel, *places]))
    over = (inner, *filters[2:])
    spread = _inside((*w.shape, *over), look, bounds, 0.0)
    own = lane(1) - group * per_group
    factor = View(kernel.value, looked_through(kernel.index, [channel, own, *taps]))
    return _convolved(w, Value("product", w.shape, w.dtype, (_whole(spread), factor), {"over": over}), rank)


# -- windows -----------------------------------------------------------------------------------------------------------


def _pool(largest: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        rank = int(w.call.function[-2])
        lead = len(w.shape) - rank
        size = w.argument(1, "kernel_size")
        step = w.argument(2, "stride")
        window, stride, padding = (
            per_axis(one, rank) for one in (size, size if step is None else step, w.argument(3, "padding", 0))
        )
        dilation = per_axis(w.argument(4, "dilation", 1), rank) if largest else [1] * rank
        ceil = w.argument(5 if largest else 4, "ceil_mode", False)
        plain = largest or (
            w.argument(5, "count_include_pad", True) is True and w.argument(6, "divisor_override") is None
        )
        if window is None or stride is None or padding is None or dilation is None or ceil or not plain:
            raise CannotGenerate("a pool whose geometry is not known")
        taps = [lane(len(w.shape) + d) for d in range(rank)]
        places = [lane(lead + d) * stride[d] + taps[d] * dilation[d] - padding[d] for d in range(rank)]
        view = w.operand(x)
        look = View(view.value, looked_through(view.index, [*map(lane, range(lead)), *places]))
        bounds = tuple((lift(0), places[d], lift((x.shape or ())[lead + d])) for d in range(rank))
        over = tuple(window)
        body = _inside((*w.shape, *over), look, bounds, -math.inf if largest else 0.0)
        made = _reduced(w, body, "max" if largest else "sum", over)
        return made if largest else w.map("div", made, math.prod(window))

    return make


# -- along an axis -----------------------------------------------------------------------------------------------------


def _scan(kind: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        axis = w.axis(w.argument(1, "dim"), len(w.shape))
        over = (w.shape[axis],)
        at = lane(len(w.shape))
        view = w.operand(x)
        places = list(map(lane, range(len(w.shape))))
        own, places[axis] = places[axis], at
        look = View(view.value, looked_through(view.index, places))
        body = _inside((*w.shape, *over), look, ((lift(0), at, own + 1),), 0.0 if kind == "sum" else 1.0)
        return _reduced(w, body, kind, over)

    return make


def _place_of(kind: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        dim = w.argument(1, "dim")
        if dim is None:
            raise CannotGenerate("a place among all elements")
        return _plainly(w, kind, x, [w.axis(dim, len(x.shape or ()))], bool(w.argument(2, "keepdim", False)))

    return make


def _plainly(w: Writer, kind: str, x: Tensor, axes: Sequence[int], keep: bool) -> Value:
    made = w.reduce("max", x, axes, keep)
    return Value("reduce", made.shape, dt.INT64, made.operands, {**made.attributes, "kind": kind})


def places_of_extremes(w: Writer) -> tuple[Value, Value]:
    """``x.max(dim)``: the largest elements and their places."""
    x, kind = w.tensor(0, "input"), w.call.function
    axes, keep = w.axes(x, w.argument(1, "dim")), bool(w.argument(2, "keepdim", False))
    return w.reduce(kind, x, axes, keep), _plainly(w, f"arg{kind}", x, axes, keep)


def _prod(w: Writer) -> Value:
    x = w.tensor(0, "input")
    made = w.reduce("max", x, w.axes(x, w.argument(1, "dim")), bool(w.argument(2, "keepdim", False)))
    return Value("reduce", made.shape, w.dtype, made.operands, {**made.attributes, "kind": "prod"})


# -- norms --------------------------------------------------------------------------------------------------------------


def _batch_norm(w: Writer) -> Value:
    if not w.argument(5, "training", False):
        return table.FUNCTIONS["batch_norm"](w)
    x = w.tensor(0, "input")
    rank = len(w.shape)
    axes = [d for d in range(rank) if d != 1]
    made = standardised(w, x, axes, w.argument(7, "eps", 1e-5))
    weight, bias = (per_channel(w, w.argument(i, n), rank) for i, n in ((3, "weight"), (4, "bias")))
    return affine(w, made, weight, bias)


def _attention(w: Writer) -> Value:
    q, k, v = (w.tensor(i, n) for i, n in enumerate(("query", "key", "value")))
    mask, causal = w.argument(3, "attn_mask"), w.argument(5, "is_causal", False)
    dropped, scale = w.argument(4, "dropout_p", 0.0), w.argument(6, "scale")
    lead = w.shape[:-2]
    if (
        not (mask is None or isinstance(mask, Tensor))
        or dropped
        or any((t.shape or ())[:-2] != lead for t in (q, k, v))
    ):
        raise CannotGenerate("an attention whose mask is not known, or in groups")
    rows, keys, width = w.shape[-2], (k.shape or ())[-2], (q.shape or ())[-1]
    if not isinstance(width, int):
        raise CannotGenerate("an attention of open width")
    rank, space = len(w.shape), (*lead, rows, keys)
    first, inner = [lane(d) for d in range(rank - 2)], lane(rank)
    a, b, c = w.operand(q), w.operand(k), w.operand(v)
    products = Value("product", space, dt.FLOAT32, (
        View(a.value, looked_through(a.index, [*first, lane(rank - 2), inner])),
        View(b.value, looked_through(b.index, [*first, lane(rank - 1), inner])),
    ), {"over": (width,)})  # fmt: skip
    scores = w.map("mul", products, scale if scale is not None else width**-0.5, shape=space)
    if causal:
        scores = _inside(space, _whole(scores), ((lift(0), lane(rank - 1), lane(rank - 2) + 1),), -math.inf)
    if mask is not None and mask.dtype == dt.BOOL:
        scores = w.map("where", mask, scores, -math.inf, shape=space)
    elif mask is not None:
        scores = w.map("add", scores, mask, shape=space)
    top = w.reduce("max", scores, [rank - 1], True, dt.FLOAT32)
    weights = w.map("exp", w.map("sub", scores, top, shape=space), shape=space)
    total = w.reduce("sum", weights, [rank - 1], True, dt.FLOAT32)
    shares = w.map("div", weights, total, shape=space)
    return Value("product", w.shape, w.dtype, (
        View(shares, (*first, lane(rank - 2), inner)),
        View(c.value, looked_through(c.index, [*first, inner, lane(rank - 1)])),
    ), {"over": (keys,)})  # fmt: skip


# -- elements ----------------------------------------------------------------------------------------------------------


def _selu(w: Writer) -> Value:
    x = w.args[0]
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    low = w.map("mul", w.map("expm1", x), alpha)
    return w.map("mul", w.map("where", w.map("gt", x, 0.0), x, low), scale)


def _mish(w: Writer) -> Value:
    x = w.args[0]
    soft = w.map("log1p", w.map("exp", x))
    return w.map("mul", x, w.map("tanh", w.map("where", w.map("gt", x, 20.0), x, soft)))


def _power(w: Writer) -> Value:
    base, exponent = w.args[0], w.argument(1, "exponent")
    return w.map("pow", base, exponent)


def _draw(kind: str, *limits: float) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        return Value("draw", w.shape, w.dtype, attributes={"draw": (kind, *limits), "key": w.out.storage.id})

    return make


def _draw_integers(w: Writer) -> Value:
    numbers = [one for one in w.args if isinstance(one, int)]
    low, high = w.kwargs.get("low", 0), w.kwargs.get("high")
    if high is None and numbers:
        low, high = (numbers[0], numbers[1]) if len(numbers) > 1 else (low, numbers[0])
    if not isinstance(low, int) or not isinstance(high, int) or high <= low:
        raise CannotGenerate("random integers between what is not known")
    return Value("draw", w.shape, w.dtype, attributes={"draw": ("integers", low, high), "key": w.out.storage.id})


def _diagonal(w: Writer) -> Value:
    x = w.tensor(0, "input")
    if len(x.shape or ()) != 1 or w.argument(1, "diagonal", 0) != 0:
        raise CannotGenerate("a part of a diagonal")
    view = w.operand(x)
    look = View(view.value, looked_through(view.index, [lane(0)]))
    return _inside(w.shape, look, ((lane(1), lane(0), lane(1) + 1),), 0.0)


_OWN: Mapping[str, Callable[[Writer], Value]] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _conv),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv_transpose),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d"), _pool(True)),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _pool(False)),
    "cumsum": _scan("sum"), "cumprod": _scan("prod"), "argmax": _place_of("argmax"), "argmin": _place_of("argmin"),
    "prod": _prod, "batch_norm": _batch_norm,
    "scaled_dot_product_attention": _attention, "selu": _selu, "mish": _mish, "pow": _power,
    "rand": _draw("uniform", 0.0, 1.0), "rand_like": _draw("uniform", 0.0, 1.0), "randn": _draw("normal", 0.0, 1.0),
    "randn_like": _draw("normal", 0.0, 1.0), "randint": _draw_integers, "diag": _diagonal,
}  # fmt: skip

FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {**table.FUNCTIONS, **_OWN}
