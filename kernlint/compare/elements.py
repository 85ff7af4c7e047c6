"""Elements of the values of torch calls: what a tensor holds at a few places, worked out from the inputs that these are made of."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kernlint.compare.columns import (
    ARITHMETIC,
    OF_A_VALUE,
    Column,
    Effort,
    NotCompared,
    Points,
    converted,
    extreme,
    folded,
    listed,
    mapped,
)
from kernlint.generate.values import Value, View
from kernlint.workload import Expr, Lane, Opaque, Size
from kernlint.workload.expr import OPERATIONS, Atom, lift

#: Random numbers of a tensor; a prime, so that no stride meets the same ones again and again.
_NUMBERS = 4093

_INDICES = {op: OPERATIONS[op] for op in ("floordiv", "mod", "min", "max")}


class Elements:
    """What values are at places. ``reads`` collects the elements of inputs that were looked at, by path."""

    def __init__(self, effort: Effort, seed: int = 0) -> None:
        self.effort = effort
        self.seed = seed
        self.reads: dict[str, set[int]] = {}
        #: Whether something looked at what nobody has written.
        self.undefined = False
        #: Some of it is left as it was for what the kernel reads.
        self.spared = False
        self._known: dict[tuple[int, int], tuple[Value, Points, Column]] = {}

    def at(self, value: Value, points: Points) -> Column:
        """The elements of ``value`` at ``points`` of its axes."""
        value = value.attributes.get("plain", value)
        key = id(value), id(points)
        if key not in self._known:
            self.effort.spend(OF_A_VALUE)
            made = self._made(value, points)
            if type(made) is list:
                self.effort.spend(len(made))
            self._known[key] = value, points, made  # which keeps them, and so their identities
        return self._known[key][2]

    def view(self, view: View, points: Points, loaded: Mapping[int, Column] | None = None) -> Column:
        """The elements that ``view`` looks at from ``points``."""
        if loaded:
            return self.at(view.value, Points([self.index(e, points, loaded) for e in view.index], points.count))
        if len(view.index) == points.rank and view.straight:
            return self.at(view.value, points)
        looked = points.derived(view.index, lambda: self._looked(view, points))
        return self.at(view.value, looked)

    def _looked(self, view: View, points: Points) -> Points:
        axes = [self.index(expr, points, {}) for expr in view.index]
        # One place is one place, from however many it is looked at.
        return Points(axes, points.count if any(type(axis) is list for axis in axes) else 1)

    # -- indices ----------------------------------------------------------------------------------------------------

    def index(self, expr: Expr, points: Points, loaded: Mapping[int, Column]) -> Column:
        """The numbers that ``expr`` over lanes is at ``points``."""
        made: Column = 0
        for monomial, coefficient in expr.terms.items():
            part: Column = coefficient
            for atom in monomial:
                part = mapped(ARITHMETIC["*"], part, self._atom(atom, points, loaded))
            made = mapped(ARITHMETIC["+"], made, part) if made != 0 else part
            if type(made) is list:
                self.effort.spend(len(made) * (1 + len(monomial)))
        return made

    def _atom(self, atom: Atom, points: Points, loaded: Mapping[int, Column]) -> Column:
        if isinstance(atom, Lane) and atom.dim < len(points.axes):
            return points.axes[atom.dim]
        if isinstance(atom, Opaque) and atom.op == "load" and atom.key in loaded:
            return loaded[atom.key]
        if isinstance(atom, Opaque) and atom.op in _INDICES:
            parts = [self.index(arg, points, loaded) for arg in atom.args]
            made = parts[0]
            for part in parts[1:]:
                made = mapped(_INDICES[atom.op], made, part)
            return made
        raise NotCompared(f"the index {atom}")

    # -- operations -------------------------------------------------------------------------------------------------

    def _made(self, value: Value, points: Points) -> Column:
        function = ARITHMETIC.get(value.op)
        if function is None:
            special = getattr(self, f"_{value.op}", None)
            if special is None:
                raise NotCompared(f"`{value.op}`")
            return special(value, points)
        try:
            return mapped(function, *(self.view(view, points) for view in value.operands))
        except TypeError:
            raise NotCompared(f"`{value.op}` of other operands") from None

    def _input(self, value: Value, points: Points) -> Column:
        flat = flattened(points, extents(value.shape))
        self.reads.setdefault(value.attributes["path"], set()).update(flat if type(flat) is list else (flat,))
        return self.view(value.operands[0], points)

    def _draw(self, value: Value, points: Points) -> Column:
        """Numbers that a random generator gives: of the same kind, always the same at the same place."""
        flat = flattened(points, extents(value.shape))
        table = _table(value.attributes["draw"], value.attributes["key"], self.seed)
        if type(flat) is not list:
            return table[(flat ^ flat >> 11) % _NUMBERS]
        return [table[(i ^ i >> 11) % _NUMBERS] for i in flat]

    def _undefined(self, value: Value, points: Points) -> Column:
        """Memory that nobody has written yet."""
        self.undefined = True
        return math.nan

    def _left(self, value: Value, points: Points) -> Column:
        """What a launch leaves."""
        (before,), attributes = value.operands, value.attributes
        return attributes["launched"].left(attributes["storage"], before.value, attributes["whole"], points, self)

    def _unmatched(self, value: Value, points: Points) -> Column:
        raise NotCompared(f"`{value.name}`, which only one side has")

    def _number(self, value: Value, points: Points) -> Any:
        number = value.attributes["value"]
        if isinstance(number, Expr):
            number = number.value
        if number is None:
            raise NotCompared("an open number")
        return number

    def _place(self, value: Value, points: Points) -> Column:
        return self.index(value.attributes["at"], points, {})

    def _cast(self, value: Value, points: Points) -> Column:
        given = self.view(value.operands[0], points)
        return converted(given, value.dtype.is_integer and value.dtype.name != "bool", value.dtype.name == "bool")

    def _wide(self, value: Value, points: Points) -> tuple[Points, int]:
        over = extents(value.attributes["over"])
        rank = points.rank
        size = math.prod(over)
        self.effort.spend(size * points.count)
        return points.expanded(list(range(rank, rank + len(over))), over), size

    def _reduce(self, value: Value, points: Points) -> Column:
        if value.attributes["kind"] == "last":
            (length,) = extents(value.attributes["over"])
            return self.view(value.operands[0], Points([*points.axes, length - 1], points.count))
        wide, size = self._wide(value, points)
        return folded(_REDUCED[value.attributes["kind"]], self.view(value.operands[0], wide), size, points.count)

    def _product(self, value: Value, points: Points) -> Column:
        wide, size = self._wide(value, points)
        x, y = (self.view(view, wide) for view in value.operands)
        return folded(sum, mapped(ARITHMETIC["*"], x, y), size, points.count)

    def _scan(self, value: Value, points: Points) -> Column:
        """The state of a recurrence at places along its last axis, from its beginning on."""
        states, own = value.attributes["carried"], value.attributes["state"]
        *axes, time = points.axes
        (length,) = extents(value.shape[-1:])
        wanted = listed(time, points.count)
        order = range(length - 1, min(wanted) - 1, -1) if value.attributes["backwards"] else range(max(wanted) + 1)
        self.effort.spend(len(order) * points.count * len(states))
        columns = [self.view(view, points) for view in value.operands[: len(states)]]
        found: list[Any] = [None] * points.count
        for step in order:
            here = Points([*axes, step], points.count)
            for state, column in zip(states, columns):
                self._known[id(state), id(here)] = state, here, column
            columns = [self.view(view, here) for view in value.operands[len(states) :]]
            for i, at in enumerate(wanted):
                if at == step:
                    found[i] = columns[own][i] if type(columns[own]) is list else columns[own]
        return found if points.count > 1 else found[0]

    def _choose(self, value: Value, points: Points) -> Column:
        made: list[Any] = [math.nan] * points.count
        left = list(range(points.count))
        for view, bounds in zip(value.operands, value.attributes["cases"]):
            inside, outside = list[int](), list[int]()
            columns = [tuple(None if one is None else self.index(one, points, {}) for one in bound) for bound in bounds]
            for i in left:
                (inside if all(_within(bound, i) for bound in columns) else outside).append(i)
            if len(inside) == points.count:
                return self.view(view, points)
            if inside:
                found = listed(self.view(view, _some(points, inside)), len(inside))
                for i, x in zip(inside, found):
                    made[i] = x
            left = outside
            if not left:
                break
        return made if points.count > 1 else made[0]

    def _pick(self, value: Value, points: Points) -> Column:
        loaded = {i: self.view(view, points) for i, view in enumerate(value.operands) if i > 0}
        if value.attributes.get("wraps") and any(
            x < 0 for column in loaded.values() for x in listed(column, points.count)
        ):
            raise NotCompared("indices from the end")
        return self.view(value.operands[0], points, loaded)


def least(view: View, count: int = 1, moving: frozenset[int] = frozenset(), known: dict[Any, int] | None = None) -> int:
    """How many numbers it takes at least to look through ``view`` from ``count`` places that differ along the axes ``moving``: those
    that the sums on one way down go over, each for every place that asks for it."""
    known = {} if known is None else known
    value = view.value.attributes.get("plain", view.value)
    moving = frozenset(d for d, expr in enumerate(view.index) if any(Lane(axis) in expr.atoms() for axis in moving))
    count = count if moving else 1
    key = id(value), count, moving
    if key not in known:
        operands, own = value.operands, 0
        if value.op == "product" or (value.op == "reduce" and value.attributes["kind"] != "last"):
            over = extents(value.attributes["over"])
            own = count = count * math.prod(over)
            moving |= {len(value.shape) + d for d, extent in enumerate(over) if extent > 1}
        elif value.op not in ARITHMETIC and value.op not in ("cast", "input"):
            operands = ()  # what it looks at, numbers tell
        known[key] = own + max((least(one, count, moving, known) for one in operands), default=0)
    return known[key]


def _within(bound: tuple[Column, ...], i: int) -> bool:
    low, place, high = (one[i] if type(one) is list else one for one in bound)
    return bool(low <= place and (high is None or place < high))


def _some(points: Points, chosen: Sequence[int]) -> Points:
    axes = [[axis[i] for i in chosen] if type(axis) is list else axis for axis in points.axes]
    if len(chosen) == 1:
        axes = [axis[0] if type(axis) is list else axis for axis in axes]
    return Points(axes, len(chosen))


def extents(shape: Sequence[Size]) -> tuple[int, ...]:
    """``shape`` as numbers."""
    if {*map(type, shape)} <= {int}:
        return tuple(shape)  # type: ignore[arg-type]
    found = tuple(lift(extent).value for extent in shape)
    if None in found:
        raise NotCompared("an open size")
    return found  # type: ignore[return-value]


def flattened(points: Points, shape: tuple[int, ...]) -> Column:
    """The places of ``points`` in a row-major tensor of ``shape``. Raises :class:`NotCompared` for one outside it."""
    return points.derived(("flat", shape), lambda: _flattened(points, shape))


def _flattened(points: Points, shape: Sequence[int]) -> Column:
    flat: Column = 0
    for axis, extent in zip(points.axes, shape):
        run = axis if type(axis) is list else (axis,)
        if min(run, default=0) < 0 or max(run, default=0) >= extent:
            raise NotCompared("an element outside its tensor")
        if type(flat) is not list:
            start = flat * extent
            flat = axis if start == 0 else [start + i for i in axis] if type(axis) is list else start + axis
        elif type(axis) is not list:
            flat = [f * extent + axis for f in flat]
        else:
            flat = [f * extent + i for f, i in zip(flat, axis)]
    return flat


@lru_cache(maxsize=64)
def _table(draw: tuple[Any, ...], key: Any, seed: int) -> list[Any]:
    """Random numbers as ``draw`` says: its kind, and its limits."""
    numbers = random.Random(f"{key} {seed}")
    kind, *limits = draw
    if kind == "uniform":
        return [numbers.uniform(*limits) for _ in range(_NUMBERS)]
    if kind == "integers":
        return [numbers.randrange(*limits) for _ in range(_NUMBERS)]
    return [numbers.gauss(*limits) for _ in range(_NUMBERS)]


def _m2(part: Sequence[float]) -> float:
    mean = math.fsum(part) / len(part)
    return math.fsum((x - mean) ** 2 for x in part)


def _expsum(part: Sequence[float]) -> float:
    top = max(part)
    return math.fsum(math.exp(x - top) for x in part) if math.isfinite(top) else math.nan


def _place_of(kind: str) -> Callable[[Sequence[float]], Any]:
    def place(part: Sequence[float]) -> Any:
        best = extreme(kind, part)
        return list(part).index(best) if best == best else math.nan

    return place


_REDUCED: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "sum": sum,
    "max": lambda part: extreme("max", part),
    "min": lambda part: extreme("min", part),
    "m2": _m2,
    "expsum": _expsum,
    "argmax": _place_of("max"),
    "argmin": _place_of("min"),
}
