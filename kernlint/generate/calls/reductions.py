"""Sums, means, extremes, variances and norms over axes, and softmax."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from kernlint.generate.calls.writer import Writer, wide
from kernlint.generate.values import (
    CannotGenerate,
    Value,
)
from kernlint.interpret.torch.shapes import product
from kernlint.workload import Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift


def _sum(w: Writer) -> Value:
    x = w.tensor(0, "input")
    if w.dtype.is_integer and w.dtype.bits < 32:
        raise CannotGenerate(f"a sum in {w.dtype}, which wraps around")
    dim, keep = w.argument(1, "dim"), bool(w.argument(2, "keepdim", False))
    return w.reduce("sum", x, w.axes(x, dim), keep)


def _mean(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes = w.axes(x, w.argument(1, "dim"))
    total = w.reduce("sum", x, axes, bool(w.argument(2, "keepdim", False)))
    return w.map("div", total, product(tuple((x.shape or ())[d] for d in axes)))


def _extreme(kind: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        other = w.argument(1, "dim")
        if isinstance(other, Tensor):
            return w.map(f"{kind}imum", x, other)
        return w.reduce(kind, x, w.axes(x, other), bool(w.argument(2, "keepdim", False)))

    return make


def _variance(root: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        unbiased = w.argument(2, "unbiased", True)
        correction = w.kwargs.get("correction", 1 if unbiased else 0)
        if not isinstance(correction, int):
            raise CannotGenerate("a variance with an unknown correction")
        axes = w.axes(x, w.argument(1, "dim"))
        squares = w.reduce("m2", x, axes, bool(w.argument(3, "keepdim", False)))
        count = lift(product(tuple((x.shape or ())[d] for d in axes))) - correction
        if correction > 1 and (count.value is None or count.value <= 0):
            raise CannotGenerate(
                "a variance with a correction that may be of more than there is"
            )  # not a number, as torch has it
        result = w.map("div", squares, ex.simplify(count))
        return w.map("sqrt", result) if root else result

    return make


def _some(every: bool) -> Callable[[Writer], Value]:
    """Whether all elements, or any, are other than zero."""

    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        set_ = w.map("cast", w.map("ne", x, 0, shape=x.shape), shape=x.shape, dtype=dt.INT32)
        keep = bool(w.argument(2, "keepdim", False))
        found = w.reduce("min" if every else "max", set_, w.axes(x, w.argument(1, "dim")), keep, dt.INT32)
        return w.map("ne", found, 0)

    return make


def _count_nonzero(w: Writer) -> Value:
    x = w.tensor(0, "input")
    set_ = w.map("cast", w.map("ne", x, 0, shape=x.shape), shape=x.shape, dtype=dt.INT64)
    return w.reduce("sum", set_, w.axes(x, w.argument(1, "dim")), False)


def _with_mean(root: bool) -> Callable[[Writer], tuple[Value, Value | None]]:
    def make(w: Writer) -> tuple[Value, Value | None]:
        w.kwargs = {**w.kwargs, "keepdim": w.argument(3, "keepdim", False)}
        x = w.tensor(0, "input")
        axes = w.axes(x, w.argument(1, "dim"))
        total = w.reduce("sum", x, axes, bool(w.kwargs["keepdim"]))
        return _variance(root)(w), w.map("div", total, product(tuple((x.shape or ())[d] for d in axes)))

    return make


def _aminmax(w: Writer) -> tuple[Value, Value | None]:
    x, keep = w.tensor(0, "input"), bool(w.kwargs.get("keepdim", False))
    axes = w.axes(x, w.kwargs.get("dim"))
    return w.reduce("min", x, axes, keep), w.reduce("max", x, axes, keep)


def _norm(w: Writer) -> Value:
    x = w.tensor(0, "input")
    p = w.argument(1, "p", 2)
    if "ord" in w.kwargs:
        p = w.kwargs["ord"]
    keep = bool(w.argument(3, "keepdim", False))
    axes = w.axes(x, w.argument(2, "dim"))
    shape = x.shape or ()
    if p in (2, 2.0, "fro", None):
        squares = w.map("square", x, shape=shape, dtype=wide(x.dtype))
        return w.map("sqrt", w.reduce("sum", squares, axes, keep))
    if p in (1, 1.0):
        return w.reduce("sum", w.map("abs", x, shape=shape), axes, keep)
    if isinstance(p, float) and math.isinf(p):
        return w.reduce("max" if p > 0 else "min", w.map("abs", x, shape=shape), axes, keep)
    raise CannotGenerate(f"a norm of order {p}")


def _softmax(log: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        axes = [w.axis(w.argument(1, "dim"), len(w.shape))]
        top = w.reduce("max", x, axes, True, wide(x.dtype))
        total = w.reduce("expsum", x, axes, True, wide(x.dtype))
        low = w.map("sub", x, top)
        return (
            w.map("sub", low, w.map("log", total, shape=total.shape)) if log else w.map("div", w.map("exp", low), total)
        )

    return make


def _logsumexp(w: Writer) -> Value:
    x = w.tensor(0, "input")
    axes, keep = w.axes(x, w.argument(1, "dim")), bool(w.argument(2, "keepdim", False))
    total, top = w.reduce("expsum", x, axes, keep), w.reduce("max", x, axes, keep)
    # Of a row whose largest element is infinite nothing is left to add.
    return w.map("where", w.map("isinf", top), top, w.map("add", w.map("log", total), top))


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "sum": _sum,
    "mean": _mean,
    "amax": _extreme("max"),
    "amin": _extreme("min"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "var": _variance(False),
    "std": _variance(True),
    "norm": _norm,
    "vector_norm": _norm,
    "softmax": _softmax(False),
    "log_softmax": _softmax(True),
    "logsumexp": _logsumexp,
    "all": _some(True),
    "any": _some(False),
    "count_nonzero": _count_nonzero,
}

#: What makes two results.
PAIRS: Mapping[str, Callable[[Writer], tuple[Value, Value | None]]] = {
    "var_mean": _with_mean(False),
    "std_mean": _with_mean(True),
    "aminmax": _aminmax,
}
