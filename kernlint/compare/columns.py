"""Elements side by side: what several places of a tile or tensor hold, and the arithmetic on them.

A column is one number where it is the same at all places, else a list with a number for each. Element types are not rounded to: floats
are Python's, so that two ways to write one formula agree, and what only rounding tells apart does too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeVar

from kernlint import work
from kernlint.records import dataclass

#: What it costs to work out a value, beside what each of its numbers costs.
OF_A_VALUE = 20
#: Numbers that may be computed for a comparison.
MOST_NUMBERS = 700_000
#: Elements of a result that are looked at, if these are not made of too much.
ENOUGH = 8
#: A number for all places, or one for each.
Column = Any

_T = TypeVar("_T")


class NotCompared(Exception):
    """Something in what an element is made of is not known, so that nothing is said of it."""


class TooMuch(NotCompared):
    """An element is made of more than is worth looking at."""


class Effort:
    """The numbers that may still be computed."""

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, count: int) -> None:
        work.look()
        self.left -= count
        if self.left < 0:
            raise TooMuch


class Points:
    """Places in a tile or tensor: a column for each axis, or what makes the columns of ``rank`` axes when somebody asks. What is made of
    them, such as the same places in another tile, is made once (:meth:`derived`), so that what is known of those is found by their
    identity."""

    __slots__ = ("_axes", "_derived", "count", "rank")

    def __init__(self, axes: Sequence[Column] | Callable[[], Sequence[Column]], count: int, rank: int = 0) -> None:
        self._axes = axes if callable(axes) else tuple(axes)
        self.rank = rank if callable(axes) else len(axes)
        self.count = count
        self._derived: dict[Any, Any] = {}

    @property
    def axes(self) -> tuple[Column, ...]:
        if callable(self._axes):
            self._axes = tuple(self._axes())
        return self._axes

    def derived(self, key: Any, make: Callable[[], _T]) -> _T:
        found: _T | None = self._derived.get(key)
        if found is None:
            found = self._derived[key] = make()
        return found

    def aligned(self, shape: tuple[int, ...]) -> Points:
        """As an operand of ``shape`` is looked at from here: its axes are the last ones, those of one element stand still."""
        found: Points | None = self._derived.get(shape)
        if found is None:
            found = self._derived[shape] = self._aligned(shape)
        return found

    def _aligned(self, shape: tuple[int, ...]) -> Points:
        lead = self.rank - len(shape)
        if lead < 0:
            raise NotCompared("shapes")
        if lead == 0 and 1 not in shape:
            return self
        return Points([0 if extent == 1 else self.axes[lead + d] for d, extent in enumerate(shape)], self.count)

    def expanded(self, axes: Sequence[int], extents: Sequence[int]) -> Points:
        """Each place as all those along new axes: number ``axes[i]`` of the result has ``extents[i]`` elements. The last runs fastest."""

        def make() -> Points:
            times = math.prod(extents)
            old = [repeated(column, times) for column in self.axes]
            inner = times
            new: list[Column] = []
            for extent in extents:
                inner //= extent
                run = repeated([*range(extent)], inner) * (times // (extent * inner) * self.count)
                new.append(run if extent > 1 else 0)
            for axis, column in sorted(zip(axes, new), key=lambda pair: pair[0]):
                old.insert(axis, column)
            return Points(old, self.count * times)

        return self.derived(("expanded", tuple(axes), tuple(extents)), make)

    def without(self, axis: int) -> Points:
        axes = self.axes
        return self.derived(("without", axis), lambda: Points(axes[:axis] + axes[axis + 1 :], self.count))


#: Where a scalar is.
NOWHERE = Points((), 1)


@dataclass(frozen=True)
class Pointer:
    """Places in the tensor that is the argument ``base`` of a kernel: ``offset`` elements from its first one."""

    base: str
    offset: Column


def repeated(column: Column, times: int) -> Column:
    """Each number ``times`` times in a row."""
    if type(column) is not list or times == 1:
        return column
    return column * times if len(column) == 1 else [x for x in column for _ in range(times)]


def listed(column: Column, count: int) -> list[Any]:
    return column if type(column) is list else [column] * count


def chunks(column: Column, size: int, count: int) -> list[list[Any]]:
    """``size`` numbers for each of ``count`` places."""
    numbers = listed(column, size * count)
    return [numbers[i : i + size] for i in range(0, len(numbers), size)]


def folded(function: Callable[[list[Any]], Any], column: Column, size: int, count: int) -> Column:
    """``function`` of the ``size`` numbers for each of ``count`` places."""
    made = list(map(function, chunks(column, size, count)))
    return made if count > 1 else made[0]


def mapped(function: Callable[..., Any], *columns: Column) -> Column:
    """``function`` of the numbers at each place."""
    if list not in map(type, columns):
        made = function(*columns)
        return _bounded((made,))[0] if function in _GROWS and type(made) is not float else made
    made = list(map(function, *[column if type(column) is list else repeat(column) for column in columns]))
    return made if function not in _GROWS else _bounded(made)


def _bounded(numbers: Any) -> Any:
    """``numbers``, which no integer of 64 bits is beyond: so many digits are no work of a kernel."""
    kinds = set(map(type, numbers))
    whole = numbers if kinds <= _WHOLE else [x for x in numbers if isinstance(x, int)] if kinds & _WHOLE else ()
    if whole and (min(whole) < -_LARGEST or max(whole) >= 2 * _LARGEST):
        raise NotCompared("an integer of more than 64 bits")
    return numbers


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _guarded(function: Callable[..., float]) -> Callable[..., float]:
    def safe(*args: float) -> float:
        try:
            return function(*args)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    return safe


def _divided(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    except OverflowError:
        return math.nan


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def _quotient(a: Any, b: Any) -> Any:
    """As compiled code divides integers: towards zero."""
    if b == 0:
        raise NotCompared("division by zero")
    if isinstance(a, float) or isinstance(b, float):
        return math.floor(a / b)
    return a // b if (a >= 0) == (b > 0) else -(-a // b) if b > 0 else -(a // -b)


def _rest(a: Any, b: Any) -> Any:
    if b == 0:
        raise NotCompared("division by zero")
    if isinstance(a, float) or isinstance(b, float):
        return math.fmod(a, b)
    return a - b * _quotient(a, b)


def _larger(a: float, b: float) -> float:
    return a if a >= b or a != a else b


def _smaller(a: float, b: float) -> float:
    return a if a <= b or a != a else b


def _inverted(x: Any) -> Any:
    return not x if isinstance(x, bool) else ~x


def _rounded(x: float) -> float:
    return float(round(x)) if math.isfinite(x) else x


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x)) if math.isfinite(x) else x


def _shifted(a: int, b: int) -> int:
    if not 0 <= b < 64:
        raise NotCompared("a shift by more than 64 bits")
    return a << b


def _shifted_down(a: int, b: int) -> int:
    if not 0 <= b < 64:
        raise NotCompared("a shift by more than 64 bits")
    return a >> b


def _power(a: float, b: float) -> float:
    return math.pow(a, b)


#: Functions of which integers can get ever longer.
_GROWS = frozenset({operator.mul, _shifted})
_LARGEST = 1 << 63
_WHOLE = {int, bool}


_exp = _guarded(math.exp)

#: By the names that torch and ``triton.language`` have for them; operators as Python spells them.
ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divided, "//": _quotient, "%": _rest,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, ">>": _shifted_down, "<<": _shifted,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": operator.not_, "~": _inverted,
    "negative": operator.neg, "neg": operator.neg, "abs": abs, "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "div": _divided, "fdiv": _divided, "div_rn": _divided, "reciprocal": lambda x: _divided(1.0, x),
    "maximum": _larger, "minimum": _smaller, "fmax": _larger, "fmin": _smaller,
    "exp": _exp, "exp2": _guarded(lambda x: 2.0**x), "log": _log, "log2": lambda x: _divided(_log(x), math.log(2)),
    "log10": lambda x: _divided(_log(x), math.log(10)),
    "expm1": _guarded(math.expm1), "log1p": lambda x: math.log1p(x) if x > -1 else _log(1 + x), "sqrt": _guarded(math.sqrt),
    "sqrt_rn": _guarded(math.sqrt), "rsqrt": lambda x: x**-0.5 if x > 0 else math.inf if x == 0 else math.nan,
    "sin": _guarded(math.sin), "cos": _guarded(math.cos), "tanh": math.tanh, "atan2": math.atan2, "erf": math.erf,
    "sigmoid": lambda x: 0.0 if x < -700 else 1 / (1 + math.exp(-x)), "relu": lambda x: _larger(x, 0.0), "square": lambda x: x * x,
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(math.trunc), "round": _rounded, "rint": _rounded,
    "sign": lambda x: float((x > 0) - (x < 0)), "isnan": lambda x: x != x, "isinf": lambda x: x in (math.inf, -math.inf),
    "pow": _guarded(_power), "fma": lambda a, b, c: a * b + c,
    "where": lambda c, a, b: a if c else b, "clamp": lambda x, low, high: _smaller(_larger(x, low), high),
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
    "logical_and": lambda a, b: bool(a) and bool(b), "logical_or": lambda a, b: bool(a) or bool(b), "logical_not": operator.not_,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "bitwise_not": _inverted,
    "shift_left": _shifted, "shift_right": _shifted_down, "floor_divide": _guarded(operator.floordiv),
    "remainder": _guarded(operator.mod), "cdiv": lambda a, b: -(-a // b),
}  # fmt: skip


def extreme(kind: str, numbers: Sequence[float]) -> float:
    """The largest or smallest; not a number where one is not."""
    if any(x != x for x in numbers):
        return math.nan
    return max(numbers) if kind == "max" else min(numbers)


def converted(column: Column, integer: bool, boolean: bool) -> Column:
    """To integers towards zero, or to truth; floats are left alone."""
    if boolean:
        return mapped(bool, column)
    if not integer or {*map(type, column if type(column) is list else (column,))} == {int}:
        return column
    return mapped(_truncated, column)


def _truncated(x: Any) -> Any:
    if isinstance(x, float):
        if not math.isfinite(x):
            raise NotCompared("an integer of what is none")
        return int(x)
    return int(x)
