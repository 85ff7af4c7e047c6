"""Tensors that are filled, put together, padded, turned and repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernlint.generate.calls.writer import Writer
from kernlint.generate.values import (
    CannotGenerate,
    Value,
    View,
    identity,
    lane,
    looked_through,
)
from kernlint.workload import Expr, Size
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift


def place(w: Writer, at: Expr) -> Value:
    """The place itself, as an integer."""
    return Value("place", w.shape, dt.INT64, attributes={"at": at})


def _triangle(lower: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x, diagonal = w.args[0], w.argument(1, "diagonal", 0)
        rank = len(w.shape)
        row, column = (place(w, lane(rank - i)) for i in (2, 1))
        limit = w.map("add", row, diagonal, dtype=dt.INT64)
        return w.map("where", w.map("le" if lower else "ge", column, limit), x, 0.0 if w.dtype.is_float else 0)

    return make


def _filled(value: Any) -> Callable[[Writer], Value]:
    return lambda w: w.map("cast", value)


def _full(w: Writer) -> Value:
    position = 1 if w.call.function in ("full", "full_like", "fill_") else 2
    return w.map("cast", w.argument(position, "fill_value"))


def _arange(w: Writer) -> Value:
    given = [a for a in w.args if isinstance(a, (int, float, Expr))]
    start = w.kwargs.get("start", 0 if len(given) < 2 else given[0])
    step = w.kwargs.get("step", given[2] if len(given) > 2 else 1)
    if not all(isinstance(one, (int, Expr)) for one in (start, step)):
        raise CannotGenerate("a range of fractions")
    at = place(w, lane(0) * step + start)
    return at if w.dtype.is_integer else w.map("cast", at)


def _cat(w: Writer) -> Value:
    parts = w.args[0] if w.args else w.kwargs.get("tensors")
    if not isinstance(parts, tuple):
        raise CannotGenerate(f"torch function {w.call.function} of what is not known")
    axis = w.axis(w.argument(1, "dim", 0), len(w.shape))
    stacked = w.call.function == "stack"
    cases, views, extents = [], [], []
    start: Size = 0
    for part in parts:
        extent: Size = 1 if stacked else (part.shape or ())[axis]
        end = ex.simplify(lift(start) + extent)
        places = list(identity(w.shape))
        if stacked:
            del places[axis]
        else:
            places[axis] = lane(axis) - start if lift(extent).value != 1 else lift(0)
        view = w.operand(part)
        views.append(View(view.value, looked_through(view.index, places)))
        cases.append(((lift(start), lane(axis), lift(end) if part is not parts[-1] else None),))
        extents.append((start, extent))
        start = end
    attributes = {"cases": tuple(cases), "axis": axis, "extents": tuple(extents)}
    return Value("choose", w.shape, w.dtype, tuple(views), attributes)


def _pad(w: Writer) -> Value:
    x, pads = w.tensor(0, "input"), w.argument(1, "pad")
    mode, value = w.argument(2, "mode", "constant"), w.argument(3, "value", 0)
    if mode != "constant" or not isinstance(pads, tuple):
        raise CannotGenerate(f"padding in mode {mode}")
    shape = x.shape or ()
    places, bounds = list(identity(w.shape)), []
    for i in range(len(pads) // 2):
        axis = len(shape) - 1 - i
        before = pads[2 * i]
        if pads[2 * i] == 0 and pads[2 * i + 1] == 0:
            continue
        places[axis] = lane(axis) - before
        bounds.append((lift(before), lane(axis), lift(before) + shape[axis]))
    view, filler = w.operand(x), w.spread(0.0 if value is None else value, len(w.shape))
    inside = View(view.value, looked_through(view.index, places))
    return Value("choose", w.shape, w.dtype, (inside, filler), {"cases": (tuple(bounds), ())})


def _flip(w: Writer) -> Value:
    x = w.tensor(0, "input")
    dims = w.argument(1, "dims")
    dims = dims if isinstance(dims, tuple) else w.args[1:]
    axes = [w.axis(d, len(w.shape)) for d in dims]
    places = [lift(w.shape[d]) - 1 - lane(d) if d in axes else p for d, p in enumerate(identity(w.shape))]
    view = w.operand(x)
    return w.cast(View(view.value, looked_through(view.index, places)), w.dtype)


def _repeat(w: Writer) -> Value:
    x = w.tensor(0, "input")
    shape = x.shape or ()
    lead = len(w.shape) - len(shape)
    places = [
        lift(ex.mod(lane(lead + d), n)) if n != w.shape[lead + d] else lane(lead + d) for d, n in enumerate(shape)
    ]
    view = w.operand(x)
    return w.cast(View(view.value, looked_through(view.index, places)), w.dtype)


def _repeat_interleave(w: Writer) -> Value:
    x, times = w.tensor(0, "input"), w.argument(1, "repeats")
    axis = w.axis(w.argument(2, "dim"), len(w.shape))
    if not isinstance(times, (int, Expr)):
        raise CannotGenerate("repeats that are not known")
    places = list(identity(w.shape))
    places[axis] = lift(ex.floordiv(lane(axis), times))
    view = w.operand(x)
    return w.cast(View(view.value, looked_through(view.index, places)), w.dtype)


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "tril": _triangle(True),
    "triu": _triangle(False),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros", "zero"), _filled(0)),
    # What nobody has written yet may hold anything: zeros are as good.
    **dict.fromkeys(("empty", "empty_like", "new_empty"), _filled(0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), _filled(1)),
    **dict.fromkeys(("full", "full_like", "new_full", "fill"), _full),
    "arange": _arange,
    "cat": _cat,
    "stack": _cat,
    "pad": _pad,
    "flip": _flip,
    "repeat": _repeat,
    "tile": _repeat,
    "repeat_interleave": _repeat_interleave,
}
