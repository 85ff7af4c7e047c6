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
)
from kernlint.interpret.torch.shapes import product
from kernlint.workload import Expr, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift


def _moments(w: Writer, x: Tensor | Value, axes: Sequence[int]) -> tuple[Value, Value]:
    """The sum over ``axes`` and that of the squared deviations from the mean."""
    total, squares = (w.reduce(kind, x, axes, True, wide(x.dtype)) for kind in ("sum", "m2"))
    return total, squares


def _size(x: Tensor | Value, axes: Sequence[int]) -> Size:
    return product(tuple((x.shape or ())[d] for d in axes))


def standardised(w: Writer, x: Tensor | Value, axes: Sequence[int], eps: Any) -> Value:
    """(x - mean) / sqrt(variance + eps) over ``axes``."""
    return _standard(w, x, _moments(w, x, axes), _size(x, axes), eps)


def _standard(w: Writer, x: Tensor | Value, moments: tuple[Value, Value], count: Size, eps: Any) -> Value:
    total, squares = moments
    shape, small = x.shape or (), total.shape
    mean = called("mean", w.map("div", total, count, shape=small))
    spread = w.map("add", w.map("div", squares, count, shape=small), eps, shape=small)
    rstd = called("rstd", w.map("rsqrt", spread, shape=small))
    return w.map("mul", w.map("sub", x, mean, shape=shape), rstd, shape=shape)


def affine(w: Writer, x: Value, weight: Any, bias: Any) -> Value:
    if isinstance(weight, (Tensor, Value)):
        x = w.map("mul", x, weight)
    return w.map("add", x, bias) if isinstance(bias, (Tensor, Value)) else x


def _trailing(x: Tensor, shape: Any) -> list[int]:
    if not isinstance(shape, tuple):
        shape = (shape,)
    rank = len(x.shape or ())
    return list(range(rank - len(shape), rank))


def _layer_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes = _trailing(x, w.argument(1, "normalized_shape"))
    result = standardised(w, x, axes, w.argument(4, "eps", 1e-5))
    return affine(w, result, w.argument(2, "weight"), w.argument(3, "bias"))


def _rms_norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes = _trailing(x, w.argument(1, "normalized_shape"))
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
    grouped = Value("cast", inner, wide(x.dtype), (view.at(split),))
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


def batch_norm(w: Writer) -> tuple[Value, list[tuple[Tensor, Value]]]:
    """A batch norm, and what becomes of the statistics that it keeps while it is trained: a moving average of those of the batches,
    the variance without bias."""
    x, eps, momentum = w.tensor(0, "input"), w.argument(7, "eps", 1e-5), w.argument(6, "momentum", 0.1)
    rank = len(x.shape or ())
    kept = [w.argument(i, n) for i, n in ((1, "running_mean"), (2, "running_var"))]
    weight, bias = (per_channel(w, w.argument(i, n), rank) for i, n in ((3, "weight"), (4, "bias")))
    if not w.argument(5, "training", False):
        mean, variance = (per_channel(w, w.tensor(i, n), rank) for i, n in ((1, "running_mean"), (2, "running_var")))
        root = w.map("rsqrt", w.map("add", variance, eps, shape=variance.shape), shape=variance.shape)
        return affine(w, w.map("mul", w.map("sub", x, mean), root), weight, bias), []
    axes = [d for d in range(rank) if d != 1]
    moments, count = _moments(w, x, axes), _size(x, axes)
    result = affine(w, _standard(w, x, moments, count, eps), weight, bias)
    tensors = [one for one in kept if isinstance(one, Tensor)]
    if tensors and (len(tensors) < 2 or not isinstance(momentum, float)):
        raise CannotGenerate("a batch norm that averages over all batches alike")
    moved = []
    for old, made, divisor in zip(tensors, moments, (lift(count), lift(count) - 1)):
        shape, own = old.shape or (), made.dtype
        # Its axes but that of the channels have one place.
        places = tuple(lane(0) if d == 1 else lift(0) for d in range(rank))
        new = w.map(
            "div", Value("cast", shape, own, (View(made, places),)), ex.simplify(divisor), shape=shape, dtype=own
        )
        parts = [
            w.map("mul", one, part, shape=shape, dtype=own) for one, part in ((old, 1 - momentum), (new, momentum))
        ]
        moved.append((old, w.map("add", *parts, shape=shape, dtype=old.dtype)))
    return result, moved


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
    "instance_norm": _instance_norm,
    "normalize": _normalize,
}
