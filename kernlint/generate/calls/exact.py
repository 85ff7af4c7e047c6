"""Operands of products in the narrow types that hold all their elements as they are: what a tensor core takes at full speed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernlint.generate.calls.canonical import constant, through
from kernlint.generate.precision import rounded
from kernlint.generate.values import Value, View, exchanged, walk_all
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt

_HALVES = frozenset({dt.FLOAT16, dt.BFLOAT16})
#: Whole numbers up to which a half type has all of them.
_WHOLE = {dt.FLOAT16: 2048, dt.BFLOAT16: 256}
_ROUNDED = ("floor", "ceil", "round", "trunc")


def without_exact(view: View) -> View:
    """``view`` without conversions to floating types that hold each element of what is converted."""
    while view.value.op == "cast" and view.value.dtype.is_float and _keeps(view.value.operands[0].value, view.value):
        view = through(view, view.value.operands[0])
    return view


def _keeps(before: Value, after: Value) -> bool:
    if before.dtype.is_float:
        return before.dtype.bits < after.dtype.bits or before.dtype == after.dtype
    return before.dtype == dt.INT8 and after.dtype.bits >= 16


def fed_exactly(values: Sequence[Value]) -> list[Value]:
    """``values`` with the operands of products of single precision by way of a half type, where one holds what both are: halves that
    are chosen among, negated or compared after they were widened, and whole numbers within bounds, as of what is quantised."""
    new: dict[int, Value] = {}
    made: dict[int, Value] = {}
    for one in [one for one in walk_all(values) if one.op == "product" and one.dtype == dt.FLOAT32]:
        inner = exchanged(one, new, made)
        shared = frozenset[Dtype].intersection(*(_holding(view.value, {}) for view in inner.operands))
        if shared:
            half = dt.FLOAT16 if dt.FLOAT16 in shared else dt.BFLOAT16
            operands = tuple(_by_way_of(half, view) for view in inner.operands)
            new[id(one)] = Value(inner.op, inner.shape, inner.dtype, operands, inner.attributes, inner.name)
    return [exchanged(value, new, made) for value in values]


def _by_way_of(half: Dtype, view: View) -> View:
    """``view`` rounded to ``half``, which holds it, and widened again; as it is where it comes from a narrow type."""
    if without_exact(view).value.dtype.bits <= half.bits:
        return view
    value = view.value
    narrow = Value("cast", value.shape, half, (value.view,), name=value.name)
    return View(Value("cast", value.shape, value.dtype, (narrow.view,), name=value.name), view.index)


def _holding(value: Value, known: dict[int, frozenset[Dtype]]) -> frozenset[Dtype]:
    """The half types that hold each element of ``value``."""
    if id(value) not in known:
        known[id(value)] = _held_by(value, known)
    return known[id(value)]


def _held_by(value: Value, known: dict[int, frozenset[Dtype]]) -> frozenset[Dtype]:
    if value.dtype in _HALVES:
        return frozenset({value.dtype})
    if not value.dtype.is_float:
        return _HALVES if value.dtype.bits <= 8 else frozenset()
    number = constant(value.view)
    if number is not None:
        return frozenset(half for half in _HALVES if math.isnan(number) or rounded(float(number), half) == number)
    whole = _most_of_whole(value)
    if whole is not None:
        return frozenset(half for half in _HALVES if whole <= _WHOLE[half])
    if value.op in ("cast", "neg", "abs", "relu", "maximum", "minimum", "choose", "pick"):
        operands = value.operands[: 1 if value.op == "pick" else None]
    else:
        operands = value.operands[1:] if value.op == "where" else ()
    return frozenset.intersection(*(_holding(one.value, known) for one in operands)) if operands else frozenset()


def _most_of_whole(value: Value) -> float | None:
    """The largest absolute value of whole numbers that are cut off on both sides; None where ``value`` is none."""
    ends: dict[str, float] = {}
    while value.op in ("maximum", "minimum"):
        numbers = [constant(view) for view in value.operands]
        number = next((one for one in numbers if one is not None), None)
        if number is None or not float(number).is_integer():
            return None
        ends.setdefault(value.op, abs(number))
        value = value.operands[numbers[0] is not None].value
    return max(ends.values()) if len(ends) == 2 and value.op in _ROUNDED else None
