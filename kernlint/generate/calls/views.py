"""Tensors that are filled, put together, padded, turned and repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kernlint.generate.calls.writer import Writer, fixed
from kernlint.generate.values import (
    CannotGenerate,
    Value,
    View,
    identity,
    lane,
    looked_through,
)
from kernlint.workload import Expr, Lane, Size, Tensor
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
        views.append(view.at(places))
        cases.append(((lift(start), lane(axis), lift(end) if part is not parts[-1] else None),))
        extents.append((start, extent))
        start = end
    regular = _regular(w, [w.operand(part) for part in parts], axis, None if stacked else extents[0][1], extents)
    if regular is not None:
        return Value("cast", w.shape, w.dtype, (regular,))
    attributes = {"cases": tuple(cases), "axis": axis, "extents": tuple(extents)}
    return Value("choose", w.shape, w.dtype, tuple(views), attributes)


def _regular(
    w: Writer, parts: Sequence[View], axis: int, extent: Size | None, extents: Sequence[tuple[Size, Size]]
) -> View | None:
    """Parts of one tensor, put together along ``axis``, as one view of it, where they lie regularly: each is ``extent`` long, or one of a
    new axis. So the four neighbours of patches that are joined are."""
    first, count = parts[0], len(parts)
    if any(part.value is not first.value for part in parts) or any(lift(n) != lift(extents[0][1]) for _, n in extents):
        return None
    place = lane(axis)
    number = place if extent is None else lift(ex.floordiv(place, extent))
    own = list(identity(w.shape))
    if extent is None:
        del own[axis]
    else:
        own[axis] = lift(ex.mod(place, extent))
    index = []
    for d, begin in enumerate(looked_through(first.index, own)):
        apart = [part.index[d] - first.index[d] for part in parts]
        step = _step(apart, number, count)
        if step is None:
            return None
        index.append(begin + step)
    return View(first.value, tuple(index))


def _step(apart: Sequence[Expr], number: Expr, count: int) -> Expr | None:
    """How far apart parts lie, as a law of their number: by its digits in some base; None where there is none."""
    if any(isinstance(atom, Lane) for one in apart for atom in one.atoms()):
        return None
    if all(one == lift(0) for one in apart):
        return lift(0)
    for base in (one for one in range(1, count) if count % one == 0):
        high = apart[base]
        if all(apart[p] == high * (p // base) for p in range(count)):
            return high * (number if base == 1 else ex.floordiv(number, base))
        low = apart[1]
        if base > 1 and all(apart[p] == low * (p % base) for p in range(count)):
            return low * lift(ex.mod(number, base))
    return None


def _pad(w: Writer) -> Value:
    x, pads = w.tensor(0, "input"), w.argument(1, "pad")
    mode, value = w.argument(2, "mode", "constant"), w.argument(3, "value", 0)
    if mode not in ("constant", "reflect", "replicate", "circular") or not isinstance(pads, tuple):
        raise CannotGenerate(f"padding in mode {mode}")
    shape = x.shape or ()
    places, bounds = list(identity(w.shape)), []
    for i in range(len(pads) // 2):
        axis = len(shape) - 1 - i
        before = pads[2 * i]
        if pads[2 * i] == 0 and pads[2 * i + 1] == 0:
            continue
        places[axis] = lane(axis) - before
        if mode != "constant":
            places[axis] = _turned(mode, places[axis], shape[axis])
            continue
        bounds.append((lift(before), lane(axis), lift(before) + shape[axis]))
    if mode != "constant":
        return w.cast(w.operand(x).at(places), w.dtype)
    view, filler = w.operand(x), w.spread(0.0 if value is None else value, len(w.shape))
    inside = view.at(places)
    return Value("choose", w.shape, w.dtype, (inside, filler), {"cases": (tuple(bounds), ())})


def _turned(mode: Any, at: Expr, extent: Size) -> Expr:
    """The place within an axis of ``extent`` that stands for ``at``, which may lie up to the whole axis before or behind it."""
    end = lift(extent) - 1
    if mode == "circular":
        return lift(ex.mod(at + extent, extent))
    inner = lift(ex.maximum(at, 0))
    if mode == "replicate":
        return lift(ex.minimum(inner, end))
    mirrored = lift(ex.maximum(at, -at))
    return lift(ex.minimum(mirrored, end * 2 - mirrored))


def _flip(w: Writer) -> Value:
    x = w.tensor(0, "input")
    dims = w.argument(1, "dims")
    dims = dims if isinstance(dims, tuple) else w.args[1:]
    axes = [w.axis(d, len(w.shape)) for d in dims]
    places = [lift(w.shape[d]) - 1 - lane(d) if d in axes else p for d, p in enumerate(identity(w.shape))]
    return w.cast(w.operand(x).at(places), w.dtype)


def _roll(w: Writer) -> Value:
    x, shifts, dims = w.tensor(0, "input"), w.argument(1, "shifts"), w.argument(2, "dims")
    if dims is None or dims == ():
        if len(w.shape) != 1:
            raise CannotGenerate("a roll through all axes as one")
        dims = 0
    turns, axes = (one if isinstance(one, tuple) else (one,) for one in (shifts, dims))
    if len(turns) != len(axes) or not all(isinstance(one, (int, Expr)) for one in turns):
        raise CannotGenerate("a roll by what is not known")
    places = list(identity(w.shape))
    for turn, dim in zip(turns, axes):
        axis = w.axis(dim, len(w.shape))
        extent = w.shape[axis]
        back = -lift(turn)  # a rest of what is below zero is another one in a kernel
        if not back.is_natural:
            if not lift(turn).is_natural:
                raise CannotGenerate("a roll by what may be below zero")
            back = lift(extent) - ex.mod(turn, extent)
        if lift(extent).value != 1:
            places[axis] = lift(ex.mod(places[axis] + back, extent))
    return w.cast(w.operand(x).at(places), w.dtype)


def _pixels(up: bool) -> Callable[[Writer], Value]:
    """Blocks of pixels made of channels (``up``), or channels of blocks."""

    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        r = fixed(w.argument(1, "upscale_factor" if up else "downscale_factor"))
        *lead, channel, row, column = (lane(d) for d in range(len(w.shape)))
        if up:
            inner = lift(ex.mod(row, r)) * r + ex.mod(column, r)
            places = [*lead, channel * (r * r) + inner, lift(ex.floordiv(row, r)), lift(ex.floordiv(column, r))]
        else:
            at = lift(ex.mod(channel, r * r))
            places = [
                *lead,
                lift(ex.floordiv(channel, r * r)),
                row * r + ex.floordiv(at, r),
                column * r + ex.mod(at, r),
            ]
        return w.cast(w.operand(x).at(places), w.dtype)

    return make


def _one_hot(w: Writer) -> Value:
    ids = w.tensor(0, "tensor")
    view, rank = w.operand(ids), len(w.shape) - 1
    own = view.at([lane(d) for d in range(rank)])
    return w.map("cast", Value("eq", w.shape, dt.BOOL, (own, w.operand(place(w, lane(rank))))))


def _diagonal(w: Writer) -> Value:
    """``diag`` of a vector, zero beside it, or of a matrix."""
    x, offset = w.tensor(0, "input"), w.argument(1, "diagonal", 0)
    view = w.operand(x)
    if len(x.shape or ()) == 2:
        places = [lane(0) - min(offset, 0), lane(0) + max(offset, 0)]
        return w.cast(view.at(places), w.dtype)
    if len(x.shape or ()) != 1 or offset != 0:
        raise CannotGenerate("a part of a diagonal")
    look = view.at([lane(0)])
    own = ((lane(1), lane(0), lane(1) + 1),)
    return Value("choose", w.shape, w.dtype, (look, w.operand(0.0)), {"cases": (own, ())})


def _trace(w: Writer) -> Value:
    x = w.tensor(0, "input")
    side, view = (x.shape or ())[:1], w.operand(x)
    if len(x.shape or ()) != 2 or (x.shape or ())[1:] != side:
        raise CannotGenerate("the trace of what is no square")
    own = Value("cast", side, w.dtype, (view.at([lane(0), lane(0)]),))
    return w.reduce("sum", own, [0], False)


def _with_diagonal(w: Writer) -> Value:
    """``fill_diagonal_`` of a square."""
    if len(w.shape) != 2 or w.shape[0] != w.shape[1] or w.argument(2, "wrap", False):
        raise CannotGenerate("the diagonal of what is no square")
    own = w.map("eq", place(w, lane(0)), place(w, lane(1)), dtype=dt.BOOL)
    return w.map("where", own, w.argument(1, "fill_value"), w.args[0])


def _unit(w: Writer) -> Value:
    """``eye``."""
    return w.map("cast", w.map("eq", place(w, lane(0)), place(w, lane(1)), dtype=dt.BOOL))


#: Numbers of a list that are written out.
_MOST_NUMBERS = 64


def _listed(w: Writer) -> Value:
    """A tensor made of a number, or of few in lists."""
    numbers = list(_leaves(w.argument(0, "data")))
    if not all(isinstance(one, (int, float, Expr)) for _, one in numbers) or not 0 < len(numbers) <= _MOST_NUMBERS:
        raise CannotGenerate("a tensor of numbers that are not known, or many")
    if len(numbers) == 1:
        return w.map("cast", numbers[0][1])
    views = tuple(w.operand(fixed(one)) for _, one in numbers)
    bounds = [tuple((lift(i), lane(d), lift(i + 1)) for d, i in enumerate(at)) for at, _ in numbers]
    return Value("choose", w.shape, w.dtype, views, {"cases": (*bounds[:-1], ())})


def _leaves(given: Any, at: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    if not isinstance(given, (tuple, list)):
        yield at, given
        return
    for number, one in enumerate(given):
        yield from _leaves(one, (*at, number))


def _differences(w: Writer) -> Value:
    """``diff``: each element less the one before it."""
    x = w.tensor(0, "input")
    if w.argument(1, "n", 1) != 1 or any(
        w.argument(i, name) is not None for i, name in ((3, "prepend"), (4, "append"))
    ):
        raise CannotGenerate("differences of differences, or with further elements")
    axis, view = w.axis(w.argument(2, "dim", -1), len(w.shape)), w.operand(x)
    later = [lane(d) + (d == axis) for d in range(len(w.shape))]
    first, second = (view.at(at) for at in (identity(w.shape), later))
    return Value("sub", w.shape, w.dtype, (second, first))


def _cross(w: Writer) -> Value:
    """The cross product of vectors of three along an axis."""
    x, y = w.tensor(0, "input"), w.tensor(1, "other")
    dim, shape = w.argument(2, "dim"), w.shape
    # Without one it is the first axis of three for `torch.cross`, the last for that of `linalg`.
    axis = next((d for d, n in enumerate(shape) if n == 3), None) if dim is None else w.axis(dim, len(shape))
    if (
        axis is None
        or (dim is None and axis != len(shape) - 1)
        or shape[axis] != 3
        or x.shape != shape
        or y.shape != shape
    ):
        raise CannotGenerate("a cross product of other than vectors of three")

    def turned(given: Tensor, by: int) -> Value:
        view, at = w.operand(given), list(identity(shape))
        at[axis] = lift(ex.mod(lane(axis) + by, 3))
        return w.cast(view.at(at), given.dtype or w.dtype)

    return w.map("sub", w.map("mul", turned(x, 1), turned(y, 2)), w.map("mul", turned(x, 2), turned(y, 1)))


def _halves(w: Writer) -> Value:
    """``glu``: the first half of an axis, by the sigmoid of the second."""
    x = w.tensor(0, "input")
    axis, view = w.axis(w.argument(1, "dim", -1), len(w.shape)), w.operand(x)
    half = w.part((x.shape or ())[axis], 2)
    first, second = (view.at([lane(d) + start * (d == axis) for d in range(len(w.shape))]) for start in (lift(0), half))
    return Value("mul", w.shape, w.dtype, (first, View(w.map("sigmoid", second), identity(w.shape))))


def _repeat(w: Writer) -> Value:
    x = w.tensor(0, "input")
    shape = x.shape or ()
    lead = len(w.shape) - len(shape)
    places = [
        lift(ex.mod(lane(lead + d), n)) if n != w.shape[lead + d] else lane(lead + d) for d, n in enumerate(shape)
    ]
    return w.cast(w.operand(x).at(places), w.dtype)


def _repeat_interleave(w: Writer) -> Value:
    x, times = w.tensor(0, "input"), w.argument(1, "repeats")
    axis = w.axis(w.argument(2, "dim"), len(w.shape))
    if not isinstance(times, (int, Expr)):
        raise CannotGenerate("repeats that are not known")
    places = list(identity(w.shape))
    places[axis] = lift(ex.floordiv(lane(axis), times))
    return w.cast(w.operand(x).at(places), w.dtype)


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
    "roll": _roll,
    "pixel_shuffle": _pixels(True),
    "pixel_unshuffle": _pixels(False),
    "one_hot": _one_hot,
    "diag": _diagonal,
    "trace": _trace,
    "fill_diagonal": _with_diagonal,
    "eye": _unit,
    **dict.fromkeys(("tensor", "as_tensor", "scalar_tensor"), _listed),
    "diff": _differences,
    "cross": _cross,
    "glu": _halves,
    "repeat": _repeat,
    "tile": _repeat,
    "repeat_interleave": _repeat_interleave,
}
