"""What is put to the places that an index tells, or joined there. Of few places each takes what is its own; of many, elements go to
them one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.calls.canonical import constant
from kernlint.generate.calls.indexing import broadcast_shape, indexed_axes
from kernlint.generate.calls.ranges import as_place, is_below, range_of
from kernlint.generate.calls.writer import Writer
from kernlint.generate.layouts import index_of
from kernlint.generate.values import CannotGenerate, Value, View, element, identity, lane, looked_through
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.records import replace
from kernlint.workload import Expr, Lane, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift

#: Places up to which each element may be held against all of them, and up to which they may be counted.
_FEW_SUMS, _FEW_COUNTS = 128, 1024
#: What elements that meet in a place are joined by, and what is there where there are none.
_JOINED = {"sum": "add", "max": "maximum"}
_NOTHING = {"sum": 0.0, "max": -math.inf}


def _scatter_add(w: Writer) -> Value:
    """``self[index[i, j], j] += source[i, j]`` along the axis ``dim``."""
    axis, to, of, count = _beside(w)
    return _joined(w, "sum", w.operand(w.tensor(0, "input")), axis, count, to, of)


def _beside(w: Writer) -> tuple[int, View, View, Size]:
    """Of a call whose index has a place for each element of its source: the axis ``dim``; index and source, as they are looked at
    from the result and, behind its axes, what goes along that axis of them; how many that are."""
    index, source = w.tensor(2, "index"), w.argument(3, "src", w.kwargs.get("value"))
    axis, shape = w.axis(w.argument(1, "dim"), len(w.shape)), index.shape or ()
    if len(shape) != len(w.shape) or any(
        lift(n) != lift(m) for d, (n, m) in enumerate(zip(shape, w.shape)) if d != axis
    ):
        raise CannotGenerate("a scatter of an index that is smaller than what it changes")
    if isinstance(source, Tensor) and source.shape != shape:
        raise CannotGenerate("a scatter of a part of its source")
    places = [lane(d) for d in range(len(shape))]
    places[axis] = lane(len(shape))
    at, of = w.operand(index), w.operand(source)
    of = of.at(places) if isinstance(source, Tensor) else of
    return axis, at.at(places), of, shape[axis]


def _index_add(w: Writer) -> Value:
    """``self[index[i]] += source[i]`` along the axis ``dim``."""
    index, source = w.tensor(2, "index"), w.tensor(3, "source")
    axis = w.axis(w.argument(1, "dim"), len(w.shape))
    if w.kwargs.get("alpha", 1) != 1 or len(index.shape or ()) != 1 or len(source.shape or ()) != len(w.shape):
        raise CannotGenerate("an index_add with a factor, or of a number")
    places, at, of = [lane(d) for d in range(len(w.shape))], w.operand(index), w.operand(source)
    places[axis] = last = lane(len(w.shape))
    to = at.at([last])
    of = of.at(places)
    return _joined(w, "sum", w.operand(w.tensor(0, "input")), axis, (index.shape or ())[0], to, of)


def _joined(w: Writer, kind: str, old: View, axis: int, count: Size, to: View, of: View) -> Value:
    """``old`` with the ``count`` elements of ``of`` added along ``axis`` where ``to`` says so, or their largest (``kind``)."""
    bins = lift(w.shape[axis]).evaluate(w.sizes)
    if bins is None or bins > (_FEW_COUNTS if kind == "sum" and _one(of) is not None else _FEW_SUMS):
        return _one_by_one(w, kind, old, axis, count, to, of)
    total = _dealt_out(w, kind, w.shape, axis, (count,), to, of)
    if constant(old) == _NOTHING[kind]:
        return total
    return Value(_JOINED[kind], w.shape, w.dtype, (old, View(total, identity(w.shape))))


def _one_by_one(
    w: Writer, kind: str, old: View, axis: int, count: Size, to: View, of: View, wraps: bool = False
) -> Value:
    """Each element goes to its place in memory, whatever comes there before and after it; where it ``wraps``, places below zero count
    from the end."""
    if kind != "put" and w.dtype not in (dt.FLOAT32, dt.INT32, dt.INT64):
        raise CannotGenerate(f"a scatter of {w.dtype} to many places")
    space = tuple(count if d == axis else n for d, n in enumerate(w.shape))
    # The lane behind the axes of the result goes through what is scattered.
    at = [lift(0) if d == axis else lane(d) for d in range(len(space))] + [lane(axis)]
    of, to = (one.at(at) for one in (of, to))
    places = tuple(element(1) if d == axis else place for d, place in enumerate(identity(space)))
    if kind == "max" and w.dtype.is_float:
        # Of what is no number the sign decides in integers what is larger.
        nan = Value("isnan", space, dt.BOOL, (of,))
        of = View(
            Value("where", space, w.dtype, (View(nan, identity(space)), w.operand(math.nan), of)), identity(space)
        )
    return _scattered(w, kind, old, space, places, of, (to,), w.shape[axis : axis + 1] if wraps else ())


def _scattered(
    w: Writer,
    kind: str,
    old: View,
    space: tuple[Size, ...],
    at: tuple[Expr, ...],
    of: View,
    told: Sequence[View],
    wraps: tuple[Size, ...],
) -> Value:
    """``old`` with the elements of ``of``, over ``space``, at the places ``at``, which ``told`` tell."""
    begin = constant(old)
    while old.value.op == "cast" and (old.index, old.value.dtype) == (
        identity(w.shape),
        old.value.operands[0].value.dtype,
    ):
        old = old.value.operands[0]
    if begin is not None:
        old = View(Value("number", (), w.dtype, attributes={"value": begin}), ())
    elif (old.index, old.value.shape, old.value.dtype) != (identity(w.shape), w.shape, w.dtype):
        old = View(Value("cast", w.shape, w.dtype, (old,)), identity(w.shape))
    attributes = {"space": space, "at": at, "kind": kind, "wraps": wraps}
    return Value("scattered", w.shape, w.dtype, (old, of, *told), attributes)


def _dealt_out(
    w: Writer, kind: str, shape: tuple[Size, ...], axis: int, over: tuple[Size, ...], to: View, of: View
) -> Value:
    """Each place of ``axis`` takes what is its own of all that is scattered, which lies along ``over``."""
    dtype, space = w.dtype if w.dtype.is_integer or w.dtype.bits > 16 else dt.FLOAT32, (*shape, *over)
    nothing = w.operand(_NOTHING[kind] if dtype.is_float else 0)
    mine = Value("where", space, dtype, (_hit(space, axis, to), _one(of) or of if kind == "sum" else of, nothing))
    body = View(mine, tuple(lane(d) for d in range(len(space))))
    return Value("reduce", shape, w.dtype, (body,), {"kind": kind, "over": over})


def _hit(space: tuple[Size, ...], axis: int, to: View) -> View:
    """Whether ``to`` tells the place along ``axis`` of ``space``."""
    here = Value("place", space, dt.INT64, attributes={"at": lane(axis)})
    return View(Value("eq", space, dt.BOOL, (to, View(here, identity(space)))), identity(space))


def _bincount(w: Writer) -> Value:
    """How often each number occurs among all elements. What is below the number of rows' widths by its place alone, as ``x + 256 * row``
    is, is counted row by row."""
    x = w.tensor(0, "input")
    if w.argument(1, "weights") is not None:
        raise CannotGenerate("a bincount with weights")
    (bins,), (count,), view = w.shape, x.shape or (), w.operand(x)
    one = w.operand(1)
    space = view.value.shape
    if view.index != _flat(w, space, count):
        view, space = View(Value("cast", (count,), x.dtype or dt.INT64, (view,)), (lane(0),)), (count,)
    keys, row = _apart(View(view.value, identity(space)))
    width = row.coefficient(Lane(0)) or lift(0)
    by_row = row == lane(0) * width and is_below(range_of(keys, space), width) and lift(space[0]) * width == lift(bins)
    if by_row and (width.value or 0) <= _FEW_COUNTS:
        to = keys.at([lane(0), *(lane(d + 1) for d in range(1, len(space)))])
        return _dealt_out(w, "sum", (space[0], ex.simplify(width)), 1, space[1:], to, one)
    if not is_below(range_of(view, space), bins):
        raise CannotGenerate("a bincount of numbers that may lie beyond its length")
    number = lift(bins).evaluate(w.sizes)
    if number is not None and number <= _FEW_COUNTS:
        to = View(view.value, looked_through(identity(space), [lane(d + 1) for d in range(len(space))]))
        return _dealt_out(w, "sum", w.shape, 0, space, to, one)
    own = w.operand(x)
    return _one_by_one(w, "sum", w.operand(0), 0, count, own.at([lane(1)]), one)


def _flat(w: Writer, space: tuple[Size, ...], count: Size) -> tuple[Expr, ...] | None:
    """The index that goes through all of ``space`` in order, along one axis of ``count``."""
    base = replace(w.out, shape=space, strides=contiguous_strides(space), offset=0)
    try:
        return index_of(base, replace(w.out, shape=(count,), strides=(1,), offset=0), w.sizes)
    except CannotGenerate:
        return None


def _apart(view: View) -> tuple[View, Expr]:
    """``view``, integers, as what its elements tell and what their place adds."""
    value = view.value
    while value.op == "cast" and value.operands[0].value.dtype.is_integer and value.dtype.bits >= 32:
        view = value.operands[0].at(view.index)
        value = view.value
    if value.op == "add" and value.dtype.bits >= 32:
        parts = [one.at(view.index) for one in value.operands]
        for told, other in (parts, parts[::-1]):
            place = as_place(other)
            if place is not None:
                return told, place
    return view, lift(0)


def _one(view: View) -> View | None:
    """``view`` as a plain number where it is one everywhere: then what is added up is counted."""
    return View(Value("number", (), view.value.dtype, attributes={"value": 1}), ()) if constant(view) == 1 else None


def _scatter(w: Writer) -> Value:
    """``self[index[i, j], j] = source[i, j]`` along the axis ``dim``. Of few that meet in a place the last one counts; of many torch
    does not say which one does."""
    given = w.operand(w.tensor(0, "input"))
    if w.kwargs.get("reduce") is not None:
        raise CannotGenerate("a scatter of what is not known")
    axis, to, of, count = _beside(w)
    if (lift(count).evaluate(w.sizes) or math.inf) > _FEW_SUMS:
        return _one_by_one(w, "put", given, axis, count, to, of)
    rank, space = len(w.shape), (*w.shape, count)
    number = Value("place", space, dt.INT32, attributes={"at": lane(rank)})
    own = identity(space)
    met = Value("where", space, dt.INT32, (_hit(space, axis, to), View(number, own), w.operand(-1)))
    last = w.reduce("max", met, [rank], False, dt.INT32)
    told = w.map("maximum", last, 0, dtype=dt.INT32)
    at = [element(1) if d == rank else lane(d) for d in range(rank + 1)]
    table = of.at(at)
    new = Value("pick", w.shape, w.dtype, (table, View(told, identity(w.shape))), {"wraps": ()})
    return w.map("where", w.map("ge", last, 0, dtype=dt.BOOL), new, given)


def _scatter_reduce(w: Writer) -> Value:
    """Sums, means and extremes by destination; what was there counts too, or only where nothing comes."""
    how, given = w.argument(4, "reduce"), w.operand(w.tensor(0, "input"))
    axis, to, of, count = _beside(w)
    if how not in ("sum", "mean", "amax", "amin") or not w.dtype.is_float:
        raise CannotGenerate(f"a scatter that makes the {how}")
    itself = bool(w.argument(5, "include_self", True))
    kind = "sum" if how in ("sum", "mean") else "max"
    old, space = given, (*w.shape, count)
    if how == "amin":
        old, of = (
            View(Value("neg", shape, w.dtype, (one,)), identity(shape)) for one, shape in ((old, w.shape), (of, space))
        )
    made = _joined(w, kind, old if itself else w.operand(_NOTHING[kind]), axis, count, to, of)
    if how == "amin":
        made = w.map("neg", made)
    if itself and how != "mean":
        return made
    met = _joined(w, "sum", w.operand(0.0), axis, count, to, w.operand(1.0))
    if how == "mean":
        made = w.map("div", made, w.map("add", met, 1.0) if itself else w.map("maximum", met, 1.0))
    return made if itself else w.map("where", w.map("gt", met, 0.0), made, given)


def _index_put(w: Writer) -> Value:
    """``x[i, :, j] = value``, added where it accumulates. Of elements that meet in a place torch does not say which one counts."""
    if w.argument(3, "accumulate", False) not in (True, False):
        raise CannotGenerate("an assignment to the elements that a tensor tells")
    kind = "sum" if w.argument(3, "accumulate", False) else "put"
    parts, at, first = indexed_axes(w.argument(1, "indices"), w.shape)
    value = w.argument(2, "values")
    if isinstance(value, Tensor) and value.dtype != w.dtype:
        raise CannotGenerate(f"an assignment of {value.dtype} to elements of {w.dtype}")
    common = tuple(broadcast_shape([parts[d].shape or () for d in at]))
    rank = len(common)
    space = (*w.shape[:first], *common, *w.shape[first + len(at) :])
    beside = {d: d if d < first else d - len(at) + rank for d in range(len(w.shape)) if d not in at}
    told = []
    for d in at:
        spread = w.spread(parts[d], rank)
        told.append(spread.at([lane(first + k) for k in range(rank)]))
    of = w.spread(value, len(space))
    of = View(Value("cast", space, w.dtype, (of,)), identity(space))
    old = w.operand(w.tensor(0, "input"))
    own = [as_place(one) if n == w.shape[d] else None for d, one, n in zip(at, told, common * len(at))]
    open_ = [d for d, place in zip(at, own) if place != lane(first)]
    if rank == 1 and len(at) > 1 and len(open_) == 1 and kind == "put":
        # One element for each place along the others: it is seen there which one.
        (axis,) = open_
        row = lane(next(d for d in at if d != axis))
        seen = [row if d == first else lane(next(k for k, to in beside.items() if to == d)) for d in range(len(space))]
        to = told[at.index(axis)]
        to = to.at(seen)
        end = w.operand(lift(w.shape[axis]))
        below = w.map("lt", to, 0, dtype=dt.BOOL)
        to = w.operand(w.map("where", below, w.map("add", to, end, dtype=to.value.dtype), to, dtype=to.value.dtype))
        return w.map("where", _hit(w.shape, axis, to), of.at(seen), old)
    if kind != "put" and w.dtype not in (dt.FLOAT32, dt.INT32, dt.INT64):
        raise CannotGenerate(f"a scatter of {w.dtype} to many places")
    places = tuple(element(1 + at.index(d)) if d in at else identity(space)[beside[d]] for d in range(len(w.shape)))
    return _scattered(w, kind, old, space, places, of, told, tuple(w.shape[d] for d in at))


def _index_copy(w: Writer) -> Value:
    """``self[index[i]] = source[i]`` along the axis ``dim``, or a number."""
    index, given = w.tensor(2, "index"), w.operand(w.tensor(0, "input"))
    axis, source = w.axis(w.argument(1, "dim"), len(w.shape)), w.argument(3, "source", w.kwargs.get("value"))
    shape = index.shape or ()
    if len(shape) != 1 or (isinstance(source, Tensor) and len(source.shape or ()) not in (0, len(w.shape))):
        raise CannotGenerate("an index that is no row")
    rank = len(w.shape)
    places = [lane(rank) if d == axis else lane(d) for d in range(rank)]
    at, of = w.operand(index), w.spread(source, rank)
    of = of.at(places)
    to = at.at([lane(rank)])
    wraps = w.call.function.startswith("index_fill")
    return _one_by_one(w, "put", given, axis, shape[0], to, of, wraps)


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "scatter_add": _scatter_add,
    "index_add": _index_add,
    "scatter": _scatter,
    "scatter_reduce": _scatter_reduce,
    "index_put": _index_put,
    "index_copy": _index_copy,
    "index_fill": _index_copy,
    "bincount": _bincount,
}
