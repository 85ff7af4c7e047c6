"""Layers that normalise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.generate.calls.writer import Writer, called, per_channel, wide
from kernlint.generate.values import (
    CannotGenerate,
    Value,
    View,
    lane,
    looked_through,
)
from kernlint.interpret.torch.shapes import product
from kernlint.workload import Expr, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift


def standardised(w: Writer, x: Tensor | Value, axes: Sequence[int], eps: Any) -> Value:
    """(x - mean) / sqrt(variance + eps) over ``axes``."""
    shape, count = x.shape or (), product(tuple((x.shape or ())[d] for d in axes))
    total = w.reduce("sum", x, axes, True, wide(x.dtype))
    squares = w.reduce("m2", x, axes, True, wide(x.dtype))
    small = total.shape
    mean = called("mean", w.map("div", total, count, shape=small))
    spread = w.map("add", w.map("div", squares, count, shape=small), eps, shape=small)
    rstd = called("rstd", w.map("rsqrt", spread, shape=small))
    return w.map("mul", w.map("sub", x, mean, shape=shape), rstd, shape=shape)


def affine(w: Writer, x: Value, weight: Any, bias: Any) -> Value:
    if isinstance(weight, (Tensor, Value)):
        x = w.map("mul", x, weight)
    return w.map("add", x, bias) if isinstance(bias, (Tensor, Value)) else x


def _trailing(w: Writer, x: Tensor, shape: Any) -> list[int]:
    if not isinstance(shape, tuple):
        shape = (shape,)
    rank = len(x.shape or ())
    return list(range(rank - len(shape), rank))


def _layer_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes = _trailing(w, x, w.argument(1, "normalized_shape"))
    result = standardised(w, x, axes, w.argument(4, "eps", 1e-5))
    return affine(w, result, w.argument(2, "weight"), w.argument(3, "bias"))


def _rms_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes = _trailing(w, x, w.argument(1, "normalized_shape"))
    eps = w.argument(3, "eps")
    if eps is None:
        eps = {16: 2.0**-10 if x.dtype == dt.FLOAT16 else 2.0**-7, 32: 2.0**-23, 64: 2.0**-52}[wide(x.dtype).bits]
    shape = x.shape or ()
    squares = w.reduce("sum", w.map("square", x, shape=shape, dtype=wide(x.dtype)), axes, True, wide(x.dtype))
    count = product(tuple(shape[d] for d in axes))
    root = w.map("rsqrt", w.map("add", w.map("div", squares, count, shape=squares.shape), eps, shape=squares.shape),
                 shape=squares.shape)  # fmt: skip
    return affine(w, w.map("mul", x, root), w.argument(2, "weight"), None)


def _group_norm(w: Writer) -> Value:
    x, groups = w.tensor(0, "input"), w.argument(1, "num_groups")
    shape = x.shape or ()
    if not isinstance(groups, (int, Expr)) or len(shape) < 2:
        raise CannotGenerate("a group norm whose groups are not known")
    width = ex.simplify(lift(ex.floordiv(shape[1], groups)))
    inner = (shape[0], groups, width, *shape[2:])
    view = w.operand(x)
    split = [lane(0), lane(1) * width + lane(2), *(lane(d + 1) for d in range(2, len(shape)))]
    grouped = Value("cast", inner, wide(x.dtype), (View(view.value, looked_through(view.index, split)),))
    axes = list(range(2, len(inner)))
    result = standardised(w, grouped, axes, w.argument(4, "eps", 1e-5))
    back = (
        lane(0),
        lift(ex.floordiv(lane(1), width)),
        lift(ex.mod(lane(1), width)),
        *(lane(d) for d in range(2, len(shape))),
    )
    whole = Value("cast", shape, w.dtype, (View(result, tuple(map(lift, back))),))
    weight, bias = w.argument(2, "weight"), w.argument(3, "bias")
    return affine(w, whole, *(per_channel(w, one, len(shape)) for one in (weight, bias)))


def _instance_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    if not w.argument(5, "use_input_stats", True) or isinstance(w.argument(1, "running_mean"), Tensor):
        raise CannotGenerate("an instance norm of kept statistics")
    rank = len(x.shape or ())
    result = standardised(w, x, list(range(2, rank)), w.argument(7, "eps", 1e-5))
    return affine(w, result, *(per_channel(w, w.argument(i, n), rank) for i, n in ((3, "weight"), (4, "bias"))))


def _batch_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    rank = len(x.shape or ())
    w.of_no_matter(momentum=6)  # where no statistics are kept
    if w.argument(5, "training", False):
        if isinstance(w.argument(1, "running_mean"), Tensor):
            raise CannotGenerate("a batch norm that keeps statistics")
        made = standardised(w, x, [d for d in range(rank) if d != 1], w.argument(7, "eps", 1e-5))
        return affine(w, made, *(per_channel(w, w.argument(i, n), rank) for i, n in ((3, "weight"), (4, "bias"))))
    mean, variance = (per_channel(w, w.tensor(i, n), rank) for i, n in ((1, "running_mean"), (2, "running_var")))
    eps = w.argument(7, "eps", 1e-5)
    root = w.map("rsqrt", w.map("add", variance, eps, shape=variance.shape), shape=variance.shape)
    result = w.map("mul", w.map("sub", x, mean), root)
    weight, bias = (per_channel(w, w.argument(i, n), rank) for i, n in ((3, "weight"), (4, "bias")))
    return affine(w, result, weight, bias)


def _normalize(w: Writer) -> Value:
    x, p = w.tensor(0, "input"), w.argument(1, "p", 2.0)
    if p not in (2, 2.0):
        raise CannotGenerate(f"a norm of order {p}")
    axes = w.axes(x, w.argument(2, "dim", 1))
    squares = w.map("square", x, shape=x.shape, dtype=wide(x.dtype))
    total = w.reduce("sum", squares, axes, True, wide(x.dtype))
    length = w.map("sqrt", total, shape=total.shape)
    return w.map("div", x, w.map("maximum", length, w.argument(3, "eps", 1e-12), shape=total.shape))


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "normalize": _normalize,
}
