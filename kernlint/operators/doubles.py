"""What a kernel needs the digits or the range of its doubles for, though all that it reads and writes are narrower numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterator

from kernlint.workload import Launch, concrete
from kernlint.workload import dtype as dt
from kernlint.workload.values import Value, Values

_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "cast", "where", "either", "maximum", "minimum", "fma"})
#: Functions that leave the range of float32 where those that torch computes in one step (a softmax, a sigmoid) do not.
_STEEP = frozenset({"exp", "exp2", "expm1", "cosh", "sinh"})
_SUMS = frozenset({"sum", "reduce", "cumsum", "associative_scan", "phi", "exit"})
#: Integers up to which float32 has them all.
_WHOLE = 1 << 24


def need(launch: Launch, functions: Collection[str]) -> str | None:
    """Why float32 would not do for the doubles of ``launch``'s kernel, or None; ``functions`` are those of torch that the reference calls
    in single precision."""
    values = launch.kernel.values
    if values is None:
        return "what the kernel computes is not known"
    steep = _STEEP.isdisjoint(functions)
    return next((why for value in values if (why := _need(launch, values, value, steep)) is not None), None)


def _need(launch: Launch, values: Values, value: Value, steep: bool) -> str | None:
    operands, line = values.operands(value), f"line {value.span.line}"
    if value.op == "cast" and value.dtype != dt.FLOAT64:
        made = value.dtype is not None and value.dtype.is_integer and operands[0].dtype == dt.FLOAT64
        return f"{line} makes integers of doubles" if made else None
    if value.op in ("==", "!="):
        exact = all(one.dtype == dt.FLOAT64 for one in operands)
        return f"{line} asks whether doubles are the same" if exact else None
    if value.dtype != dt.FLOAT64:
        return None
    if value.op in _ARITHMETIC and any(_is_long(launch, one) for one in _numbers(value, operands)):
        return f"{line} makes doubles of integers, which float32 may not hold"
    constants = (one.detail for one in operands if one.op == "constant" and isinstance(one.detail, float))
    lost = next((number for number in constants if not _fits(number)), None)
    if lost is not None:
        return f"float32 does not hold `{lost!r}` of {line}"
    if steep and value.op in _STEEP:
        return f"`{value.op}` at {line} leaves the range of float32 earlier, and the reference calls no such function"
    if value.op == "-" and all(_is_sum(values, one) for one in operands):
        return f"{line} takes the difference of sums, of which float32 may keep nothing"
    return None


def _numbers(value: Value, operands: tuple[Value, ...]) -> Iterator[Value]:
    """Those of the ``operands`` that ``value`` is a number made of."""
    for number, one in enumerate(operands):
        if not (value.op == "cast" and number) and not (value.op in ("where", "either") and not number):
            yield one


def _is_long(launch: Launch, value: Value) -> bool:
    """Whether ``value`` is an integer that float32 may not hold."""
    number = value.detail if value.op == "constant" else None
    if value.op == "parameter":
        given = launch.arguments.get(str(value.detail))
        number = concrete(given) if isinstance(given, int) else None
    if isinstance(number, int):
        return abs(number) > _WHOLE
    return value.dtype is not None and value.dtype.is_integer and value.dtype.bits > 16


def _fits(number: float) -> bool:
    """Whether float32 has ``number``: all of one that only says where something begins, as a time since an epoch does, and the first
    digits of a smaller one."""
    if not math.isfinite(number) or not number:
        return True
    try:
        (single,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return False
    counts = _WHOLE <= abs(number) < 2.0**53  # beyond that it is one that is larger than all others
    return abs(number) >= 2.0**-126 and (not counts or single == number)


def _is_sum(values: Values, value: Value) -> bool:
    """Whether doubles that were summed up went into ``value``, which thus is rounded many times."""
    left, seen = [value], set[int]()
    while left:
        one = left.pop()
        if one.id in seen or one.dtype != dt.FLOAT64:
            continue
        if one.op in _SUMS:
            return True
        seen.add(one.id)
        left += values.operands(one)
    return False
