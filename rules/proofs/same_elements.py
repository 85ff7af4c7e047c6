"""Whether the elements that a kernel stores stay what they are when its tile becomes another one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from kernlint.rules.proofs.softmax_state import softmax_state
from kernlint.workload import Launch, Loop, Tensor, concrete
from kernlint.workload.values import Value, Values

#: Elements that are looked at, in tiles: at the start and the end of some, and between.
_PLACES = (0.0, 0.01, 0.99, 1.0, 1.5, 2.0, 2.99, 5.25, 7.5)
_OTHER_AXES = (0, 1, 3)


def same_elements(launch: Launch, other: Launch, tile: int, wider: int) -> bool:
    """Whether ``other``, which is ``launch`` with tiles of ``wider`` elements in place of ``tile`` and accordingly fewer programs,
    stores the same: what it makes of a program's number and of the tile is to be, together, the place of an element."""
    ours, theirs = launch.kernel.values, other.kernel.values
    moving = [axis for axis, pair in enumerate(zip(launch.grid, other.grid)) if pair[0] != pair[1]]
    if ours is None or theirs is None or len(moving) != 1:
        return False
    pairs = [
        [value for value in values if value.op == "store" or value.op.startswith("atomic")] for values in (ours, theirs)
    ]
    if len(pairs[0]) != len(pairs[1]):
        return False
    samples = [
        (
            _Sample(launch, ours, moving[0], int(place * tile), tile, rest),
            _Sample(other, theirs, moving[0], int(place * tile), wider, rest),
        )
        for place in _PLACES
        for rest in _OTHER_AXES
    ]
    known: dict[tuple[int, int], bool] = {}
    return all(_alike(ours, theirs, one, twin, samples, known) for one, twin in zip(*pairs))


def _alike(
    ours: Values,
    theirs: Values,
    one: Value,
    twin: Value,
    samples: list[tuple[_Sample, _Sample]],
    known: dict[tuple[int, int], bool],
) -> bool:
    """Whether two values are the same for each element; ``known`` holds what was found before."""
    key = one.id, twin.id
    if key not in known:
        known[key] = False
        known[key] = _found_alike(ours, theirs, one, twin, samples, known)
    return known[key]


def _found_alike(
    ours: Values,
    theirs: Values,
    one: Value,
    twin: Value,
    samples: list[tuple[_Sample, _Sample]],
    known: dict[tuple[int, int], bool],
) -> bool:
    if one.op != twin.op or len(one.operands) != len(twin.operands):
        return False
    if one.op in ("parameter", "constant"):
        return bool(one.detail == twin.detail)
    try:
        return all(here.number(one) == there.number(twin) for here, there in samples)
    except _NoIndex:
        pass
    if one.op in _OF_THE_TILE:
        return False
    return all(_alike(ours, theirs, *pair, samples, known) for pair in zip(ours.operands(one), theirs.operands(twin)))


class _NoIndex(Exception):
    """A value that is not made of places and numbers alone."""


class _Sample:
    """One element of a launch: which program has it in which lane."""

    def __init__(self, launch: Launch, values: Values, axis: int, place: int, tile: int, rest: int) -> None:
        self.launch = launch
        self.values = values
        self.tile = tile
        self.programs = {other: place // tile if other == axis else rest for other in range(3)}
        self.lane = place % tile
        self.known: dict[int, Any] = {}

    def number(self, value: Value) -> Any:
        if value.id not in self.known:
            self.known[value.id] = self._number(value)
        return self.known[value.id]

    def _number(self, value: Value) -> Any:
        operands = self.values.operands(value)
        if value.op == "constant" and isinstance(value.detail, (int, float)):
            return value.detail
        if value.op == "parameter":
            given = self.launch.arguments.get(value.detail)
            if given is None or isinstance(given, Tensor):
                raise _NoIndex
            number = concrete(given) if not isinstance(given, (int, float)) else given
            return number if number is not None else 1 + sum(map(ord, str(given)))
        if value.op in ("program_id", "num_programs"):
            axis = self.number(operands[0]) if operands else 0
            count = self.programs.get(axis) if value.op == "program_id" else concrete(self.launch.grid[axis])
            if count is None:
                raise _NoIndex
            return count
        if value.op == "arange" and value.shape == (self.tile,):
            return self.number(operands[0]) + self.lane
        if value.op in _PASSED_ON:
            return self.number(operands[0])
        if value.op in _ARITHMETIC and operands:
            try:
                return _ARITHMETIC[value.op](*map(self.number, operands))
            except (ArithmeticError, TypeError, ValueError):
                raise _NoIndex from None
        raise _NoIndex


#: What says where a program or a lane is, or how many there are, and what nobody knows.
_OF_THE_TILE = frozenset({"program_id", "num_programs", "arange", "call", "unknown", "inline_asm_elementwise"})
_PASSED_ON = frozenset({"cast", "axes", "broadcast_to", "multiple_of", "max_contiguous", "max_constancy", "to_tensor"})


def _quotient(a: int, b: int) -> int:
    """As kernels divide: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": _quotient,
    "%": lambda a, b: a - _quotient(a, b) * b, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne, "negative": operator.neg, "minimum": min, "maximum": max, "cdiv": lambda a, b: -_quotient(-a, b),
}  # fmt: skip


# -- any kernel -------------------------------------------------------------------------------------------------------


def same_values(old: Launch, new: Launch) -> bool:
    """Whether what ``old`` stores is made of what it loads alone, and ``new``, which is ``old`` with other tiles, makes the same of it:
    no number of a program, a lane or a round has a part in it but by addresses and masks, nor has the tile, and what a loop carries
    does not depend on how many rounds there are."""
    ours, theirs = old.kernel.values, new.kernel.values
    if ours is None or theirs is None:
        return False
    trips = [(one.id, one.trip == other.trip) for one, other in zip(_loops(old), _loops(new))]
    twins = _Twins(old, ours, theirs, frozenset(loop for loop, same in trips if not same))
    pairs = [
        [value for value in values if value.op == "store" or value.op.startswith("atomic")] for values in (ours, theirs)
    ]
    return len(pairs[0]) == len(pairs[1]) and all(map(twins.stores, *pairs))


def _loops(launch: Launch) -> list[Loop]:
    return [loop for loop, _ in launch.kernel.walk(Loop)]  # type: ignore[misc]


class _Twins:
    """The values of a kernel beside those of the same kernel with other tiles, whose loops ``changed`` make other numbers of
    rounds."""

    def __init__(self, launch: Launch, ours: Values, theirs: Values, changed: frozenset[int]) -> None:
        self.launch = launch
        self.ours = ours
        self.theirs = theirs
        self.changed = changed
        self.known: dict[tuple[int, int], bool] = {}

    def stores(self, one: Value, twin: Value) -> bool:
        """Whether two stores store the same."""
        roles = [role for role in one.roles if role not in _PLACES_OF_ACCESSES]
        return all(self.alike(*pair) for role in roles if (pair := self._operands(one, twin, role)))

    def _operands(self, one: Value, twin: Value, role: str) -> tuple[Value, Value] | None:
        pair = self.ours.argument(one, role), self.theirs.argument(twin, role)
        return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])

    def alike(self, one: Value, twin: Value) -> bool:
        key = one.id, twin.id
        if key not in self.known:
            self.known[key] = True  # what a loop carries comes back to it
            self.known[key] = self._alike(one, twin)
        return self.known[key]

    def _alike(self, one: Value, twin: Value) -> bool:
        if one.op != twin.op or len(one.operands) != len(twin.operands) or one.op in _OF_THE_TILE or one.op == "index":
            return False
        if one.op in ("parameter", "constant"):
            return bool(one.detail == twin.detail)
        if one.op == "load":
            other = self._operands(one, twin, "other")
            return other is None or self.alike(*other)
        if one.op == "phi" and one.node in self.changed and not self._adds_up(one):
            return False
        if one.op in _FILLED:  # the shape is that of the tile
            value = self._operands(one, twin, "value")
            return value is None or self.alike(*value)
        if one.op in _SHAPED:
            return self.alike(self.ours.operands(one)[0], self.theirs.operands(twin)[0])
        return all(map(self.alike, self.ours.operands(one), self.theirs.operands(twin)))

    def _adds_up(self, phi: Value) -> bool:
        """Whether each round adds a product to what ``phi`` carries, or it is the state of an online softmax."""
        end = self.ours.operands(phi)[1]
        if end is phi:
            return True
        if end.op == "dot":
            return self.ours.optional(end, "acc") is phi
        if end.op == "+":
            parts = self.ours.operands(end)
            return any(one is phi and self._is_product(other) for one, other in (parts, parts[::-1]))
        loop = next((one for one in _loops(self.launch) if one.id == phi.node), None)
        return loop is not None and softmax_state(self.launch.kernel, loop) is not None

    def _is_product(self, value: Value) -> bool:
        """Whether ``value`` is a product over the round, perhaps scaled, which is nothing where nothing was loaded."""
        if value.op == "*":
            return any(map(self._is_product, self.ours.operands(value)))
        return value.op == "dot" and self.ours.optional(value, "acc") is None


_PLACES_OF_ACCESSES = frozenset(
    {"pointer", "mask", "boundary_check", "cache_modifier", "eviction_policy", "sem", "scope"}
)
#: Tiles of one number.
_FILLED = frozenset({"zeros", "zeros_like", "full"})
#: Operations whose other operands are shapes and axes.
_SHAPED = frozenset({"reshape", "view", "broadcast_to", "axes", "trans", "permute", "expand_dims"})
