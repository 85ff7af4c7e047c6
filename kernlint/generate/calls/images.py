"""Images of another size, and their windows as columns."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Mapping
from typing import Any

from kernlint.generate.calls.convolutions import per_axis
from kernlint.generate.calls.writer import Writer, fixed, wide
from kernlint.generate.values import CannotGenerate, Value, View, element, identity, lane
from kernlint.workload import Expr, Size
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift

_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}


def _interpolate(w: Writer) -> Value:
    x = w.tensor(0, "input")
    mode, corners = w.argument(3, "mode", "nearest"), w.argument(4, "align_corners") is True
    rank, lead = len(w.shape) - 2, 2
    if (
        w.argument(6, "antialias")
        or (mode != "nearest" and _LINEAR.get(mode) != rank)
        or w.argument(5, "recompute_scale_factor")
    ):
        raise CannotGenerate(f"an image made larger or smaller in another way ({mode})")
    if mode != "nearest" and (not w.dtype.is_float or w.dtype == dt.FLOAT64):
        raise CannotGenerate(f"images of {w.dtype} that are mixed")
    w.of_no_matter(size=1)  # which is that of the result
    inputs, outputs = fixed((x.shape or ())[lead:]), fixed(w.shape[lead:])
    given = w.argument(2, "scale_factor")
    factors = [None] * rank if given is None else list(given) if isinstance(given, tuple) else [given] * rank
    if any(not isinstance(one, (int, float, type(None))) for one in factors):
        raise CannotGenerate("an image made larger by what is not known")
    steps = [
        _step(n, m, factor, corners and mode != "nearest")
        for n, m, factor in zip(inputs, outputs, factors, strict=True)
    ]
    view = w.operand(x)
    if mode == "nearest":
        at = [_nearest(w, lead + d, inputs[d], outputs[d], steps[d]) for d in range(rank)]
        return _picked(w, view, at, w.dtype)
    sources = [_between(w, lead + d, inputs[d], steps[d], corners) for d in range(rank)]
    total: Value | None = None
    for corner in itertools.product((0, 1), repeat=rank):
        at = [sources[d][side] for d, side in enumerate(corner)]
        part = _picked(w, view, at, wide(w.dtype))
        for d, side in enumerate(corner):
            part = w.map("mul", part, sources[d][2 + side], dtype=wide(w.dtype))
        total = part if total is None else w.map("add", total, part, dtype=wide(w.dtype))
    assert total is not None
    return w.map("cast", total)


def _step(inputs: int, outputs: int, factor: float | None, corners: bool) -> float:
    """How far neighbours of the result are apart in the image, as float32 has it."""
    if corners:
        step = (inputs - 1) / (outputs - 1) if outputs > 1 else 0.0
    else:
        step = inputs / outputs if factor is None else 1.0 / factor
    return float(struct.unpack("f", struct.pack("f", step))[0])


def _nearest(w: Writer, axis: int, inputs: int, outputs: int, step: float) -> Value | Expr:
    """The place along ``axis`` of the image: by itself where it is a quotient, else an element that has to be computed."""
    times = outputs // inputs
    if outputs == times * inputs and step == 1 / times and times & (times - 1) == 0:
        return lift(ex.floordiv(lane(axis), times)) if times > 1 else lane(axis)
    if step == int(step) and (outputs - 1) * step < inputs:
        return lane(axis) * int(step)
    at = w.map("floor", w.map("mul", _place(w, axis), step, dtype=dt.FLOAT32), dtype=dt.FLOAT32)
    return w.map("cast", w.map("minimum", at, float(inputs - 1), dtype=dt.FLOAT32), dtype=dt.INT32)


def _between(w: Writer, axis: int, inputs: int, step: float, corners: bool) -> tuple[Value, Value, Value, Value]:
    """The places of both neighbours along ``axis``, and the shares that they have."""

    def number(op: str, *operands: Any) -> Value:
        return w.map(op, *operands, dtype=dt.FLOAT32)

    if corners:
        at = number("mul", _place(w, axis), step)
    else:
        at = number("maximum", number("sub", number("mul", number("add", _place(w, axis), 0.5), step), 0.5), 0.0)
    low = number("minimum", number("floor", at), float(inputs - 1))
    high = number("minimum", number("add", low, 1.0), float(inputs - 1))
    share = number("minimum", number("maximum", number("sub", at, low), 0.0), 1.0)
    first, second = (w.map("cast", one, dtype=dt.INT32) for one in (low, high))
    return first, second, number("sub", 1.0, share), share


def _place(w: Writer, axis: int) -> Value:
    return w.map("cast", Value("place", w.shape, dt.INT32, attributes={"at": lane(axis)}), dtype=dt.FLOAT32)


def _picked(w: Writer, view: View, at: list[Any], dtype: Any) -> Value:
    """Elements at the places ``at`` along the last axes: expressions, or elements of values that say them."""
    told = [one for one in at if isinstance(one, Value)]
    numbers = iter(range(1, len(told) + 1))
    own = [*(lane(d) if lift(w.shape[d]).value != 1 else lift(0) for d in range(2)),
           *(element(next(numbers)) if isinstance(one, Value) else one for one in at)]  # fmt: skip
    table = view.at(own)
    if not told:
        return w.cast(table, dtype)
    views = (View(one, identity(w.shape)) for one in told)
    made = Value("pick", w.shape, view.value.dtype, (table, *views), {"wraps": ()})
    return w.map("cast", made, dtype=dtype)


def _columns(w: Writer) -> Value:
    """``F.unfold``: [n, channels, height, width] to [n, channels * taps, windows]."""
    x = w.tensor(0, "input")
    names = (("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1))
    taps, gaps, pads, steps = (per_axis(w.argument(1 + i, name, other), 2) for i, (name, other) in enumerate(names))
    shape = x.shape or ()
    if taps is None or gaps is None or pads is None or steps is None or len(shape) != 4:
        raise CannotGenerate("windows of images whose geometry is not known")
    across: Size = ex.simplify(
        lift(ex.floordiv(lift(shape[3]) + 2 * pads[1] - gaps[1] * (taps[1] - 1) - 1, steps[1])) + 1
    )
    window = [lift(ex.floordiv(lane(2), across)), lift(ex.mod(lane(2), across))]
    number = lift(ex.mod(lane(1), taps[0] * taps[1]))
    tap = [lift(ex.floordiv(number, taps[1])), lift(ex.mod(number, taps[1]))]
    places = [window[d] * steps[d] + tap[d] * gaps[d] for d in range(2)]  # in the padded image
    bounds = tuple((lift(pads[d]), places[d], lift(shape[2 + d]) + pads[d]) for d in range(2) if pads[d])
    view = w.operand(x)
    channel = lift(ex.floordiv(lane(1), taps[0] * taps[1]))
    at = [lane(0), channel, *(places[d] - pads[d] for d in range(2))]
    look = view.at(at)
    return Value("choose", w.shape, w.dtype, (look, w.operand(0.0)) if bounds else (look,), {"cases": (bounds, ())})


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {"interpolate": _interpolate, "unfold": _columns}
