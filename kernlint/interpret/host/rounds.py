"""What all rounds of a Python loop have in common: its item with a symbol for the place of the round."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from kernlint.interpret.triton.ranges import Range
from kernlint.records import dataclass, replace
from kernlint.workload import Expr, Size, Symbol, Tensor
from kernlint.workload import expr as ex


@dataclass(frozen=True)
class Rounds:
    """``item`` of the round at ``place``, which is never negative, of ``count``; ``backwards`` where the last place comes first."""

    item: Any
    place: Symbol
    count: Size
    backwards: bool


def rounds_of(iterable: Range | Sequence[Any], name: str) -> Rounds | None:
    """None where the items do not follow one law."""
    place = Symbol(name)
    if isinstance(iterable, Range):
        step, count = ex.concrete(iterable.step), iterable.trip
        if not step or count is None:
            return None
        backwards = step < 0
        first = ex.lift(iterable.start) + (ex.lift(count) - 1) * step if backwards else ex.lift(iterable.start)
        return Rounds(ex.simplify(ex.lift(first) + Expr.atom(place) * abs(step)), place, count, backwards)
    if len(iterable) < 2:
        return None
    for backwards in (False, True):
        items = list(reversed(iterable)) if backwards else list(iterable)
        found = _law(items, place)
        if found is not None:
            return Rounds(found, place, len(items), backwards)
    return None


def _law(items: Sequence[Any], place: Symbol) -> Any:
    """The item at ``place``; None where there is no law, or what counts along it counts down."""
    first, second = items[0], items[1]
    if isinstance(first, tuple):
        if any(not isinstance(item, tuple) or len(item) != len(first) for item in items):
            return None
        columns = [_law(column, place) for column in zip(*items)]
        return None if None in [c if c is None else 0 for c in columns] else tuple(columns)
    if isinstance(first, Tensor):
        if any(not isinstance(item, Tensor) or replace(item, offset=first.offset, name="") != replace(first, name="")
               for item in items):  # fmt: skip
            return None
        offset = _along([item.offset for item in items], place)
        return None if offset is None else replace(first, offset=offset, name="")
    if isinstance(first, int) and not isinstance(first, bool) and isinstance(second, int):
        return _along(items, place)
    return None


def _along(numbers: Sequence[Any], place: Symbol) -> Size | None:
    """The number at ``place`` of ``numbers``, which are apart by one distance."""
    distance = ex.lift(numbers[1]) - numbers[0]
    if not distance.is_natural or any(ex.lift(b) - a != distance for a, b in itertools.pairwise(numbers)):
        return None
    return ex.simplify(ex.lift(numbers[0]) + distance * Expr.atom(place))
