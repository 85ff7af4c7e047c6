"""Sums that stand for something known, under a kind of their own."""

from __future__ import annotations

from collections.abc import Sequence

from kernlint.generate.values import (
    Value,
    View,
    lane,
)
from kernlint.interpret.torch.shapes import product
from kernlint.workload import Size


def canonical(made: Value) -> Value:
    """Sums of squared deviations from the mean, and of exponentials of what lies below the maximum, under their own kinds: for these
    partial results of several programs can be put together."""
    if made.attributes["kind"] != "sum":
        return made
    (body,) = made.operands
    over = made.attributes["over"]
    term = without_casts(body)
    if term.value.op == "square" or (term.value.op == "mul" and _twice(term.value)):
        inner = without_casts(through(term, term.value.operands[0]))
        if inner.value.op == "sub":
            x, mean = (without_casts(through(inner, one)) for one in inner.value.operands)
            if mean.value.op == "div" and _is_count(mean.value.operands[1], over):
                total = without_casts(through(mean, mean.value.operands[0]))
                if reduces(total, "sum", x, over, len(made.shape)):
                    return _kind(made, "m2", x)
    if term.value.op == "exp":
        inner = without_casts(through(term, term.value.operands[0]))
        if inner.value.op == "sub":
            x, top = (without_casts(through(inner, one)) for one in inner.value.operands)
            if reduces(top, "max", x, over, len(made.shape)):
                return _kind(made, "expsum", x)
    return made


def _kind(made: Value, kind: str, body: View) -> Value:
    return Value("reduce", made.shape, made.dtype, (body,), {**made.attributes, "kind": kind})


def through(outer: View, inner: View) -> View:
    """``inner``, an operand of the value of ``outer``, as it is looked at from where ``outer`` is."""
    return inner.at(outer.index)


def without_casts(view: View) -> View:
    """``view`` without conversions that lose nothing."""
    while is_widening(view.value):
        view = through(view, view.value.operands[0])
    return view


def is_widening(value: Value) -> bool:
    """Whether ``value`` is a conversion between floating types that loses nothing."""
    if value.op != "cast" or not value.dtype.is_float:
        return False
    source = value.operands[0].value.dtype
    return source.is_float and source.bits <= value.dtype.bits


def constant(view: View) -> float | None:
    """The number that ``view`` is everywhere."""
    value = view.value
    while value.op == "cast":
        value = value.operands[0].value
    number = value.attributes.get("value") if value.op == "number" else None
    return number if isinstance(number, (int, float)) else None


def _twice(value: Value) -> bool:
    first, second = value.operands
    return first.value is second.value and first.index == second.index


def _is_count(view: View, over: Sequence[Size]) -> bool:
    return view.value.op == "number" and view.value.attributes["value"] == product(tuple(over))


def reduces(view: View, kind: str, x: View, over: Sequence[Size], rank: int) -> bool:
    """Whether ``view``, looked at from the body of a reduction to ``rank`` axes, is what that reduction makes of ``x``."""
    value = view.value
    if value.op != "reduce" or value.attributes["kind"] != kind or value.attributes["over"] != over:
        return False
    # The lanes of its result are where it is looked at, those that it reduces over the ones of the body here.
    lanes = [*view.index, *(lane(rank + i) for i in range(len(over)))]
    body = without_casts(value.operands[0].at(lanes))
    return body.value is x.value and body.index == x.index
