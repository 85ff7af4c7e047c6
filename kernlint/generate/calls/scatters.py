"""Sums by destination: what is added to the places that an index tells. Of few places each takes what is its own; of many, elements
are added to them one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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


def _scatter_add(w: Writer) -> Value:
    """``self[index[i, j], j] += source[i, j]`` along the axis ``dim``."""
    given, index, source = w.tensor(0, "input"), w.tensor(2, "index"), w.argument(3, "src")
    axis = w.axis(w.argument(1, "dim"), len(w.shape))
    shape = index.shape or ()
    _check_covers(w, shape, axis)
    if isinstance(source, Tensor) and source.shape != shape:
        raise CannotGenerate("a scatter of a part of its source")
    places = [lane(d) for d in range(len(shape))]
    places[axis] = lane(len(shape))
    return _added(w, given, axis, shape[axis], (index, places), (source, places))


def _check_covers(w: Writer, shape: tuple[Size, ...], axis: int) -> None:
    """Raise :class:`CannotGenerate` where an index of ``shape`` leaves out something of what it changes along other axes."""
    if len(shape) != len(w.shape) or any(
        lift(n) != lift(m) for d, (n, m) in enumerate(zip(shape, w.shape)) if d != axis
    ):
        raise CannotGenerate("a scatter of an index that is smaller than what it changes")


def _index_add(w: Writer) -> Value:
    """``self[index[i]] += source[i]`` along the axis ``dim``."""
    given, index, source = w.tensor(0, "input"), w.tensor(2, "index"), w.tensor(3, "source")
    axis = w.axis(w.argument(1, "dim"), len(w.shape))
    if w.kwargs.get("alpha", 1) != 1 or len(index.shape or ()) != 1 or len(source.shape or ()) != len(w.shape):
        raise CannotGenerate("an index_add with a factor, or of a number")
    places = [lane(d) for d in range(len(w.shape))]
    last = lane(len(w.shape))
    places[axis] = last
    return _added(w, given, axis, (index.shape or ())[0], (index, [last]), (source, places))


def _added(
    w: Writer,
    given: Tensor,
    axis: int,
    count: Size,
    index: tuple[Tensor, Sequence[Expr]],
    source: tuple[Any, Sequence[Expr]],
) -> Value:
    """``given`` with the ``count`` elements of ``source`` added along ``axis`` where ``index`` says so."""
    space = (*w.shape, count)
    at = w.operand(index[0])
    to = View(at.value, looked_through(at.index, index[1]))
    if isinstance(source[0], Tensor):
        of = w.operand(source[0])
        of = View(of.value, looked_through(of.index, source[1]))
    else:
        of = w.operand(source[0])
    old, bins = w.operand(given), lift(w.shape[axis]).evaluate(w.sizes)
    if bins is None or bins > (_FEW_COUNTS if _one(of) is not None else _FEW_SUMS):
        total = _one_by_one(w, axis, count, to, of)
    else:
        total = _dealt_out(w, w.shape, axis, space[-1:], to, of)
    return total if _constant(old) == 0 else Value("add", w.shape, w.dtype, (old, View(total, identity(w.shape))))


def _one_by_one(w: Writer, axis: int, count: Size, to: View, of: View) -> Value:
    """Each element is added to its place in memory."""
    if w.dtype not in (dt.FLOAT32, dt.INT32, dt.INT64):
        raise CannotGenerate(f"a scatter of {w.dtype} to many places")
    space = tuple(count if d == axis else n for d, n in enumerate(w.shape))
    # The lane behind the axes of the result goes through what is added.
    at = [lift(0) if d == axis else lane(d) for d in range(len(space))] + [lane(axis)]
    views = tuple(View(one.value, looked_through(one.index, at)) for one in (of, to))
    places = tuple(element(1) if d == axis else place for d, place in enumerate(identity(space)))
    return Value("added", w.shape, w.dtype, views, {"space": space, "at": places})


def _dealt_out(w: Writer, shape: tuple[Size, ...], axis: int, over: tuple[Size, ...], to: View, of: View) -> Value:
    """Each place of ``axis`` takes what is its own of all that is added, which lies along ``over``."""
    dtype, space = w.dtype if w.dtype.is_integer or w.dtype.bits > 16 else dt.FLOAT32, (*shape, *over)
    here = Value("place", space, dt.INT64, attributes={"at": lane(axis)})
    own = identity(space)
    hit = Value("eq", space, dt.BOOL, (to, View(here, own)))
    nothing = w.operand(0.0 if dtype.is_float else 0)
    mine = Value("where", space, dtype, (View(hit, own), _one(of) or of, nothing))
    body = View(mine, tuple(lane(d) for d in range(len(space))))
    return Value("reduce", shape, w.dtype, (body,), {"kind": "sum", "over": over})


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
        to = View(keys.value, looked_through(keys.index, [lane(0), *(lane(d + 1) for d in range(1, len(space)))]))
        return _dealt_out(w, (space[0], ex.simplify(width)), 1, space[1:], to, one)
    if not is_below(range_of(view, space), bins):
        raise CannotGenerate("a bincount of numbers that may lie beyond its length")
    number = lift(bins).evaluate(w.sizes)
    if number is not None and number <= _FEW_COUNTS:
        to = View(view.value, looked_through(identity(space), [lane(d + 1) for d in range(len(space))]))
        return _dealt_out(w, w.shape, 0, space, to, one)
    own = w.operand(x)
    return _one_by_one(w, 0, count, View(own.value, looked_through(own.index, [lane(1)])), one)


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
        view = View(value.operands[0].value, looked_through(value.operands[0].index, view.index))
        value = view.value
    if value.op == "add" and value.dtype.bits >= 32:
        parts = [View(one.value, looked_through(one.index, view.index)) for one in value.operands]
        for told, other in (parts, parts[::-1]):
            place = as_place(other)
            if place is not None:
                return told, place
    return view, lift(0)


def _constant(view: View) -> float | None:
    """The number that ``view`` is everywhere."""
    value = view.value
    while value.op == "cast":
        value = value.operands[0].value
    number = value.attributes.get("value") if value.op == "number" else None
    return number if isinstance(number, (int, float)) else None


def _one(view: View) -> View | None:
    """``view`` as a plain number where it is one everywhere: then what is added up is counted."""
    return View(Value("number", (), view.value.dtype, attributes={"value": 1}), ()) if _constant(view) == 1 else None


def _scatter(w: Writer) -> Value:
    """``self[index[i, j], j] = source[i, j]`` along the axis ``dim``, for few ``i``: of those that meet in a place the last one counts."""
    given, index, source = w.tensor(0, "input"), w.tensor(2, "index"), w.argument(3, "src", w.kwargs.get("value"))
    axis, shape = w.axis(w.argument(1, "dim"), len(w.shape)), index.shape or ()
    if w.kwargs.get("reduce") is not None or not isinstance(source, (Tensor, int, float)):
        raise CannotGenerate("a scatter of what is not known")
    _check_covers(w, shape, axis)
    if (lift(shape[axis]).evaluate(w.sizes) or math.inf) > _FEW_SUMS:
        raise CannotGenerate("a scatter of many elements")
    space, places = (*w.shape, shape[axis]), [lane(d) for d in range(len(shape))]
    places[axis] = lane(len(shape))
    at = w.operand(index)
    here = Value("place", space, dt.INT64, attributes={"at": lane(axis)})
    hit = Value("eq", space, dt.BOOL, (View(at.value, looked_through(at.index, places)), View(here, identity(space))))
    number = Value("place", space, dt.INT32, attributes={"at": lane(len(shape))})
    met = Value("where", space, dt.INT32, (View(hit, identity(space)), View(number, identity(space)), w.operand(-1)))
    last = w.reduce("max", met, [len(shape)], False, dt.INT32)
    new: Any = source
    if isinstance(source, Tensor):
        view, told = w.operand(source), w.map("maximum", last, 0, dtype=dt.INT32)
        own = [element(1) if d == axis else lane(d) for d in range(len(shape))]
        table = View(view.value, looked_through(view.index, own))
        new = Value("pick", w.shape, w.dtype, (table, View(told, identity(w.shape))), {"wraps": False})
    return w.map("where", w.map("ge", last, 0, dtype=dt.BOOL), new, given)


def _scatter_reduce(w: Writer) -> Value:
    """Sums and extremes by destination, for few places; what was there counts too."""
    how = w.argument(4, "reduce")
    if how == "sum" and w.argument(5, "include_self", True):
        return _scatter_add(w)
    given, index, source = w.tensor(0, "input"), w.tensor(2, "index"), w.tensor(3, "src")
    axis, shape = w.axis(w.argument(1, "dim"), len(w.shape)), index.shape or ()
    if how not in ("amax", "amin") or shape != source.shape or not w.dtype.is_float:
        raise CannotGenerate(f"a scatter that makes the {how}")
    _check_covers(w, shape, axis)
    if (lift(w.shape[axis]).evaluate(w.sizes) or math.inf) > _FEW_SUMS:
        raise CannotGenerate("extremes by destination, of which there are many")
    kind, nothing = ("max", -math.inf) if how == "amax" else ("min", math.inf)
    places = [lane(d) for d in range(len(shape))]
    places[axis] = lane(len(shape))
    space, at, of = (*w.shape, shape[axis]), w.operand(index), w.operand(source)
    here = Value("place", space, dt.INT64, attributes={"at": lane(axis)})
    own = identity(space)
    hit = Value("eq", space, dt.BOOL, (View(at.value, looked_through(at.index, places)), View(here, own)))
    mine = Value(
        "where", space, w.dtype, (View(hit, own), View(of.value, looked_through(of.index, places)), w.operand(nothing))
    )
    found = w.reduce(kind, mine, [len(shape)], False)
    if w.argument(5, "include_self", True):
        return w.map(f"{kind}imum", found, given)
    count = w.reduce("max", Value("cast", space, dt.INT32, (View(hit, own),)), [len(shape)], False, dt.INT32)
    return w.map("where", w.map("gt", count, 0, dtype=dt.BOOL), found, given)


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "scatter_add": _scatter_add,
    "index_add": _index_add,
    "scatter": _scatter,
    "scatter_reduce": _scatter_reduce,
    "bincount": _bincount,
}
