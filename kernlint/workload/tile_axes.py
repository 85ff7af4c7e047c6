"""What operations of kernels do to the axes of tiles, as their arguments say it; None where these are not known."""

from __future__ import annotations

from typing import Any

from kernlint.workload.values import Value, Values

#: Hints to the compiler, and what spreads a tile: they hold what their first operand holds.
_AS_THEY_ARE = frozenset({"multiple_of", "max_contiguous", "max_constancy", "to_tensor", "broadcast_to"})
#: Operations that look at a tile otherwise, and compute nothing.
LOOKS = frozenset({"axes", "trans", "item"}) | _AS_THEY_ARE


def looked_at(values: Values, value: Value) -> tuple[Value, tuple[int, ...] | None] | str:
    """What ``value``, made by one of :data:`LOOKS`, shows, and for each axis of that the axis of ``value`` that it is; None in their
    place where the last ones are the same. What it is, in words, where that is not followed."""
    given = values.operands(value)[0]
    if value.op == "item":
        parts = values.operands(given) if given.op in ("tuple", "broadcast") and isinstance(value.detail, int) else ()
        return (parts[value.detail], None) if parts else f"a part of `{given.op}`"
    if value.op in _AS_THEY_ARE:
        return given, None
    if value.op == "trans":
        order = permutation(values, value)
        back = None if order is None else tuple(map(order.index, range(len(order))))
        return "a transposition that is not followed" if back is None else (given, back)
    new = new_axes(values, value)
    if new is None:
        return "an element of a tile"
    return given, tuple(axis for axis in range(len(value.shape)) if axis not in new)


def new_axes(values: Values, value: Value) -> tuple[int, ...] | None:
    """The axes of the result of ``expand_dims`` or of an index with ``None`` that its operand has not."""
    given, index = values.operands(value)
    parts: Any = index.detail if isinstance(index.detail, (tuple, list)) else (index.detail,)
    if value.roles[1:2] == ("axis",):
        rank = len(value.shape)
        return tuple(axis % rank for axis in parts) if all(isinstance(axis, int) for axis in parts) else None
    if any(part is not None and not isinstance(part, slice) and part is not ... for part in parts):
        return None
    if ... in parts:
        at = parts.index(...)
        left = len(given.shape) - len(parts) + parts.count(None) + 1
        parts = (*parts[:at], *(slice(None),) * left, *parts[at + 1 :])
    return tuple(axis for axis, part in enumerate(parts) if part is None)


def permutation(values: Values, value: Value) -> tuple[int, ...] | None:
    """For each axis of a transposed tile the axis of the operand that it is."""
    dims = [one.detail if one.op == "constant" else None for one in values.operands(value)[1:]]
    if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = [*dims[0]]
    rank = len(value.shape)
    if not dims:
        dims = [*range(rank - 2), rank - 1, rank - 2]
    order = tuple(d % rank for d in dims if isinstance(d, int))
    return order if len(dims) == rank and sorted(order) == list(range(rank)) else None


def axes_along(values: Values, value: Value) -> tuple[int, ...] | None:
    """The axes of its operand that a reduction or a scan runs along."""
    axis, rank = values.argument(value, "axis"), len(values.operands(value)[0].shape)
    if axis is None or (axis.op == "constant" and axis.detail is None):
        return tuple(range(rank))
    return (axis.detail % rank,) if axis.op == "constant" and isinstance(axis.detail, int) and rank else None
