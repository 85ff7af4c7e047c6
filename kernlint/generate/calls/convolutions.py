"""Convolutions: depthwise ones as sums over taps, others as products."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from kernlint.generate.calls.products import multiplied
from kernlint.generate.calls.writer import Writer, fixed, per_channel
from kernlint.generate.values import (
    CannotGenerate,
    Unbound,
    Value,
    View,
    identity,
    lane,
    looked_through,
)
from kernlint.workload import Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift

#: Taps that are written one after the other.
MOST_TAPS = 64


def _conv(w: Writer) -> Value:
    """A depthwise convolution of few taps as a sum over them; others are a library's business."""
    x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
    rank = len(w.shape) - 2
    stride, padding, dilation = (per_axis(w.argument(i, n, d), rank) for i, n, d in
                                 ((3, "stride", 1), (4, "padding", 0), (5, "dilation", 1)))  # fmt: skip
    groups = w.argument(6, "groups", 1)
    shape, filters = x.shape or (), weight.shape or ()
    depthwise = groups == shape[1] and groups == filters[0] and filters[1] == 1
    extents = [ex.concrete(n) for n in filters[2:]]
    taps = math.prod(n or 0 for n in extents)
    for atom in (atom for extent in filters[2:] for atom in lift(extent).atoms()):
        raise Unbound(str(atom))
    if None in (stride, padding, dilation) or None in extents:
        raise CannotGenerate("a convolution whose geometry is not known")
    assert stride is not None and padding is not None and dilation is not None
    image, kernel = w.operand(x), w.operand(weight)
    if groups == 1:
        return _implicit_product(w, (image, kernel), (shape, filters), (stride, padding, dilation))
    if not depthwise or not taps:
        raise CannotGenerate("a convolution in groups")
    if taps > MOST_TAPS:
        return _implicit_product(w, (image, kernel), (shape, filters), (stride, padding, dilation), depthwise=True)
    total: Any = None
    for number in range(taps):
        at: list[int] = []
        rest = number
        for n in reversed(extents):
            at.insert(0, rest % (n or 1))
            rest //= n or 1
        places = [lane(2 + d) * stride[d] + at[d] * dilation[d] - padding[d] for d in range(rank)]
        bounds = tuple((lift(padding[d]), places[d] + padding[d], lift(shape[2 + d]) + padding[d]) for d in range(rank)
                       if padding[d] != 0 or at[d] > 0)  # fmt: skip
        look = View(image.value, looked_through(image.index, [lane(0), lane(1), *places]))
        nothing = View(Value("number", (), dt.FLOAT32, attributes={"value": 0.0}), ())
        tap = Value("choose", w.shape, x.dtype or dt.FLOAT32, (look, nothing), {"cases": (bounds, ())})
        factor = View(kernel.value, looked_through(kernel.index, [lane(1), lift(0), *map(lift, at)]))
        product = Value("mul", w.shape, w.dtype, (View(tap, identity(w.shape)), factor))
        total = product if total is None else w.map("add", total, product)
    bias = w.argument(2, "bias")
    return w.map("add", total, per_channel(w, bias, rank + 2)) if isinstance(bias, Tensor) else total


def _implicit_product(
    w: Writer,
    operands: tuple[View, View],
    shapes: tuple[tuple[Size, ...], tuple[Size, ...]],
    geometry: tuple[list[int], ...],
    depthwise: bool = False,
) -> Value:
    """A convolution as a product of pixels by filters, summed over channels and taps, a depthwise one over taps alone."""
    (image, kernel), (shape, filters), (stride, padding, dilation) = operands, shapes, geometry
    rank = len(w.shape) - 2
    channel, taps = lane(rank + 2), [lane(rank + 3 + d) for d in range(rank)]
    if all(lift(n).value == 1 for n in filters[2:]):
        taps = [lift(0)] * rank
    places = [lane(2 + d) * stride[d] + taps[d] * dilation[d] - padding[d] for d in range(rank)]
    over = (filters[1], *(filters[2:] if taps[0].value is None else ()))
    look = View(image.value, looked_through(image.index, [lane(0), lane(1) if depthwise else channel, *places]))
    if any(padding):
        # Seen from the space of the product: result axes, then the summed ones.
        space = (*w.shape, *over)
        bounds = tuple((lift(padding[d]), places[d] + padding[d], lift(shape[2 + d]) + padding[d]) for d in range(rank))
        nothing = View(Value("number", (), dt.FLOAT32, attributes={"value": 0.0}), ())
        padded = Value("choose", space, image.value.dtype, (look, nothing), {"cases": (bounds, ())})
        look = View(padded, tuple(lane(d) for d in range(len(space))))
    factor = View(kernel.value, looked_through(kernel.index, [lane(1), channel, *taps]))
    made = multiplied(w, (look, factor), over)
    bias = w.argument(2, "bias")
    return w.map("add", made, per_channel(w, bias, rank + 2)) if isinstance(bias, Tensor) else made


def per_axis(value: Any, rank: int) -> list[int] | None:
    value = fixed(value)
    values = list(value) if isinstance(value, tuple) else [value] * rank
    return values if len(values) == rank and all(isinstance(one, int) for one in values) else None


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "conv1d": _conv,
    "conv2d": _conv,
}
