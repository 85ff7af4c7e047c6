"""What the operations of kernels make of values in a few lanes; arithmetic on each lane alone is in :mod:`columns`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kernlint.compare.columns import (
    ARITHMETIC,
    NOWHERE,
    Column,
    NotCompared,
    Pointer,
    Points,
    chunks,
    converted,
    extreme,
    folded,
    listed,
    mapped,
)
from kernlint.workload import Dtype, Expr, Tensor
from kernlint.workload.tile_axes import LOOKS, axes_along, looked_at
from kernlint.workload.values import Value

if TYPE_CHECKING:
    from kernlint.compare.kernels import Lanes

SCANS = frozenset({"cumsum", "cumprod"})

#: What columns of numbers are.
_NUMBERS = frozenset({int, float, bool, list})


def applied(lanes: Lanes, value: Value, points: Points) -> Any:
    """What ``value`` is at ``points``: a column, or a pointer."""
    operation = OPERATIONS.get(value.op)
    if operation is not None:
        return operation(lanes, value, points)
    function, given, limits = lanes.reading.arithmetic(value)
    operands = [lanes.operand(one, points) for one in given]
    if not _NUMBERS.issuperset(map(type, operands)):
        if any(isinstance(one, Pointer) for one in operands):
            return _stepped(value.op, operands)
        if any(one is None or isinstance(one, (tuple, str, Dtype)) for one in operands):
            raise NotCompared(f"`{value.op}`")
    try:
        made = mapped(function, *operands)
        return made if limits is None else _within(made, *limits)
    except TypeError:
        raise NotCompared(f"`{value.op}` of other operands") from None


def limits_of(dtype: Dtype | None) -> tuple[int, int] | None:
    """The least number that an integer type holds and the first that is too large; None for other types."""
    if dtype is None or not dtype.is_integer or dtype.name == "bool":
        return None
    return (0, 1 << dtype.bits) if dtype.name.startswith("u") else (-1 << dtype.bits - 1, 1 << dtype.bits - 1)


def held(column: Column, dtype: Dtype | None) -> Column:
    """``column``, of which each integer fits into ``dtype``: what wraps around is not followed."""
    limits = limits_of(dtype)
    return column if limits is None else _within(column, *limits)


def _within(column: Column, low: int, high: int) -> Column:
    """``column``, each number of which is ``low`` or more and less than ``high``."""
    if type(column) is int:
        if low <= column < high:
            return column
        raise NotCompared("an integer that wraps around")
    numbers = column if type(column) is list else (column,)
    # What is no number is not in order, so that it may hide from the least and the largest; a sum with it is none either.
    within = low <= min(numbers) and max(numbers) < high and (total := sum(numbers)) == total
    if not within:
        raise NotCompared("an integer that wraps around")
    return column


def _parameter(lanes: Lanes, value: Value, points: Points) -> Any:
    given = lanes.launch.arguments.get(value.detail)
    if isinstance(given, Tensor):
        return Pointer(value.detail, 0)
    if isinstance(given, Expr):
        given = given.value
    if given is None or not isinstance(given, (int, float)):
        raise NotCompared(f"the argument `{value.detail}`")
    return given


def _program(lanes: Lanes, value: Value, points: Points) -> int:
    axis = lanes.scalar(lanes.given(value)[0]) if value.operands else 0
    return lanes.ids[axis] if axis < len(lanes.ids) else 0


def _programs(lanes: Lanes, value: Value, points: Points) -> int:
    axis = lanes.scalar(lanes.given(value)[0]) if value.operands else 0
    extent = lanes.launch.grid[axis] if axis < len(lanes.launch.grid) else 1
    if not isinstance(extent, int):
        raise NotCompared("an open grid")
    return extent


def _arange(lanes: Lanes, value: Value, points: Points) -> Column:
    start = lanes.scalar(lanes.given(value)[0])
    (lane,) = points.axes
    return mapped(lambda i: start + i, lane) if start else lane


def _filled(lanes: Lanes, value: Value, points: Points) -> Column:
    if value.op != "full":
        return 0 if value.dtype is not None and value.dtype.is_integer else 0.0
    given = lanes.values.argument(value, "value")
    if given is None:
        raise NotCompared("`full`")
    return lanes.scalar(given)


def _index(lanes: Lanes, value: Value, points: Points) -> int:
    start, _, step = (lanes.scalar(one) for one in lanes.given(value))
    return start + step * lanes.rounds[value.region.loop]


def _either(lanes: Lanes, value: Value, points: Points) -> Any:
    test, x, y = lanes.given(value)
    holds = lanes.operand(test, points)
    if type(holds) is not list:
        return lanes.operand(x if holds else y, points)
    return mapped(ARITHMETIC["where"], holds, *(lanes.operand(one, points) for one in (x, y)))


def _chosen(lanes: Lanes, value: Value, points: Points) -> Any:
    test, x, y = (lanes.operand(one, points) for one in lanes.given(value)[:3])
    if any(isinstance(one, Pointer) for one in (x, y)):
        raise NotCompared("a choice of tensors")
    return mapped(ARITHMETIC["where"], test, x, y)


def _looked(lanes: Lanes, value: Value, points: Points) -> Any:
    found = looked_at(lanes.values, value)
    if isinstance(found, str):
        raise NotCompared(found)
    given, order = found
    if order is None:
        return lanes.operand(given, points)
    if not given.shape:
        return lanes.value(given, NOWHERE)
    axes = points.axes
    return lanes.value(
        given, points.derived(("axes", order), lambda: Points([axes[axis] for axis in order], points.count))
    )


def _reshaped(lanes: Lanes, value: Value, points: Points) -> Any:
    given = lanes.given(value)[0]
    if not given.shape:
        return lanes.value(given, NOWHERE)
    if math.prod(given.shape) != math.prod(value.shape):
        raise NotCompared("a tile of another size")

    def make() -> Points:
        flat: Column = 0
        for axis, extent in zip(points.axes, value.shape):
            flat = mapped(lambda f, i, n=extent: f * n + i, flat, axis)
        places: list[Column] = []
        for extent in reversed(given.shape):
            places.insert(0, mapped(lambda f, n=extent: f % n, flat))
            flat = mapped(lambda f, n=extent: f // n, flat)
        return Points(places, points.count)

    return lanes.value(given, points.derived(("reshape", given.shape, value.shape), make))


def _cast(lanes: Lanes, value: Value, points: Points) -> Any:
    if lanes.values.flag(value, "bitcast") is not False:
        raise NotCompared("bits of another type")
    given = lanes.operand(lanes.given(value)[0], points)
    target = value.dtype
    if isinstance(given, Pointer) or target is None:
        raise NotCompared("a converted pointer")
    return held(converted(given, target.is_integer and target.name != "bool", target.name == "bool"), target)


def _load(lanes: Lanes, value: Value, points: Points) -> Any:
    pointer = _address(lanes, value, points)
    mask, other = lanes.values.optional(value, "mask"), lanes.values.optional(value, "other")
    inside: Column = True if mask is None else lanes.operand(mask, points)
    if type(inside) is not list and inside:
        found = lanes.elements(value, pointer.base, listed(pointer.offset, 1))
        return found if type(pointer.offset) is list else found[0]
    rest: Column = math.nan if other is None else lanes.operand(other, points)
    if type(inside) is not list:
        return rest
    count = len(inside)
    wanted = [offset for offset, one in zip(listed(pointer.offset, count), inside) if one]
    read = iter(lanes.elements(value, pointer.base, wanted))
    return [next(read) if one else r for one, r in zip(inside, listed(rest, count))]


def _address(lanes: Lanes, value: Value, points: Points) -> Pointer:
    pointer = lanes.values.argument(value, "pointer")
    found = lanes.operand(pointer, points) if pointer is not None else None
    if not isinstance(found, Pointer):
        raise NotCompared("an address that is not known")
    return found


def _dot(lanes: Lanes, value: Value, points: Points) -> Column:
    a, b = lanes.given(value)[:2]
    acc = lanes.values.optional(value, "acc")
    extent = a.shape[-1] if a.shape else 0
    if len(a.shape) != len(b.shape) or len(a.shape) < 2 or extent < 1:
        raise NotCompared("`dot`")
    k = len(a.shape) - 1
    wide = points.expanded([k + 1], [extent])
    *batch, m, n, at = wide.axes
    left = wide.derived("left", lambda: Points([*batch, m, at], wide.count))
    right = wide.derived("right", lambda: Points([*batch, at, n], wide.count))
    x, y = lanes.value(a, left), lanes.value(b, right)
    lanes.effort.spend(wide.count)
    sums = folded(sum, mapped(ARITHMETIC["*"], x, y), extent, points.count)
    if acc is not None:
        sums = mapped(ARITHMETIC["+"], sums, lanes.operand(acc, points))
    return sums


def _reduced(lanes: Lanes, value: Value, points: Points) -> Any:
    given = lanes.given(value)[0]
    if lanes.values.flag(value, "return_indices") is not False:
        raise NotCompared(f"`{value.op}` with places")
    axes, kept = axes_along(lanes.values, value), lanes.values.flag(value, "keep_dims")
    if axes is None or kept is None:
        raise NotCompared(f"`{value.op}` along an axis that is not known")
    base = points
    if kept:
        left = [d for d in range(len(given.shape)) if d not in axes]
        own = points.axes
        base = points.derived(("kept", tuple(left)), lambda: Points([own[d] for d in left], points.count))
    wide = base.expanded(axes, [given.shape[d] for d in axes])
    column = lanes.value(given, wide)
    lanes.effort.spend(wide.count)
    return folded(partial(_of_part, value.op), column, wide.count // base.count, base.count)


def _scanned(lanes: Lanes, value: Value, points: Points) -> Column:
    given = lanes.given(value)[0]
    axes, reverse = axes_along(lanes.values, value), lanes.values.flag(value, "reverse")
    if axes is None or reverse is None:
        raise NotCompared(f"`{value.op}` along an axis that is not known")
    axis = axes[0]  # which is the first where none is given
    extent = given.shape[axis]
    wide = points.without(axis).expanded([axis], [extent])
    column = chunks(lanes.value(given, wide), extent, points.count)
    places = listed(points.axes[axis], points.count)
    made = []
    for part, place in zip(column, places):
        run = part[place:] if reverse else part[: place + 1]
        made.append(sum(run) if value.op == "cumsum" else math.prod(run))
    return made if points.count > 1 else made[0]


def _of_part(op: str, part: list[Any]) -> Any:
    if op == "sum":
        return sum(part)
    if op in ("max", "min"):
        return extreme(op, part)
    best = extreme(op.removeprefix("arg"), part)
    return part.index(best) if best == best else math.nan


def _stepped(op: str, operands: list[Any]) -> Pointer:
    """A pointer and a distance."""
    pointers = [one for one in operands if isinstance(one, Pointer)]
    others = [one for one in operands if not isinstance(one, Pointer)]
    if len(pointers) == 1 and len(others) == 1 and op in ("+", "-") and (op == "+" or operands[0] is pointers[0]):
        if isinstance(others[0], (tuple, float)) or others[0] is None:
            raise NotCompared("an address that is not known")
        return Pointer(pointers[0].base, mapped(ARITHMETIC[op], pointers[0].offset, others[0]))
    raise NotCompared("an address that is not known")


OPERATIONS: Mapping[str, Callable[[Lanes, Value, Points], Any]] = {
    "parameter": _parameter,
    "program_id": _program,
    "num_programs": _programs,
    "arange": _arange,
    "zeros": _filled,
    "zeros_like": _filled,
    "full": _filled,
    "index": _index,
    "either": _either,
    "where": _chosen,
    **dict.fromkeys(LOOKS, _looked),
    "reshape": _reshaped,
    "cast": _cast,
    "load": _load,
    "dot": _dot,
    **dict.fromkeys(("sum", "max", "min", "argmax", "argmin"), _reduced),
    **dict.fromkeys(SCANS, _scanned),
}
