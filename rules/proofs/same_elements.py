"""Whether the elements that a kernel stores stay what they are when its tile becomes another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernlint.compare.columns import MOST_NUMBERS, Effort, NotCompared, Points
from kernlint.compare.kernels import Lanes, Reading, no_memory
from kernlint.rules.proofs.folded_reductions import joined_by
from kernlint.rules.proofs.iteration import iteration
from kernlint.rules.proofs.softmax_state import softmax_state
from kernlint.workload import Expr, Launch, Loop
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
    before, after = Reading(ours), Reading(theirs)
    samples = [
        (
            _Sample(launch, before, moving[0], int(place * tile), tile, rest),
            _Sample(other, after, moving[0], int(place * tile), wider, rest),
        )
        for place in _PLACES
        for rest in _OTHER_AXES
    ]
    twins = _Elements(ours, theirs, samples)
    return twins.all_stores(twins.alike)


class _Twins:
    """The values of a kernel beside those of the same kernel with other tiles."""

    def __init__(self, ours: Values, theirs: Values) -> None:
        self.ours = ours
        self.theirs = theirs
        self.known: dict[tuple[int, int], bool] = {}

    def all_stores(self, alike: Callable[[Value, Value], bool]) -> bool:
        """Whether both have as many stores and assertions, and each is ``alike`` to its twin."""
        ours, theirs = (
            [one for one in values if one.op in _ENDS or one.op.startswith("atomic")]
            for values in (self.ours, self.theirs)
        )
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))

    def alike(self, one: Value, twin: Value) -> bool:
        """Whether two values are the same for each element."""
        key = one.id, twin.id
        if key not in self.known:
            self.known[key] = True  # what a loop carries comes back to it
            same = one.op == twin.op and len(one.operands) == len(twin.operands) and not self._moves_lanes(one)
            self.known[key] = same and self._alike(one, twin)
        return self.known[key]

    def _moves_lanes(self, one: Value) -> bool:
        """Whether an element of ``one`` may come from a lane that depends on how long the tile is."""
        if one.op != "reshape":
            return one.op in _MOVING
        before = self.ours.operands(one)[0].shape
        return [extent for extent in before if extent != 1] != [extent for extent in one.shape if extent != 1]

    def _alike(self, one: Value, twin: Value) -> bool:
        """The same of the results of one operation."""
        raise NotImplementedError

    def _operands_alike(self, one: Value, twin: Value) -> bool:
        return all(map(self.alike, self.ours.operands(one), self.theirs.operands(twin)))


#: What the outcome of a program is: what it stores, and whether it gets there.
_ENDS = frozenset({"store", "static_assert", "device_assert"})
#: Functions that put elements into other lanes of their tile.
_MOVING = frozenset({"flip", "sort", "topk", "gather", "cat", "histogram"})


class _Elements(_Twins):
    """Those of a kernel that streams, which are looked at in ``samples``."""

    def __init__(self, ours: Values, theirs: Values, samples: list[tuple[_Sample, _Sample]]) -> None:
        super().__init__(ours, theirs)
        self.samples = samples

    def _alike(self, one: Value, twin: Value) -> bool:
        if one.op in ("parameter", "constant"):
            return bool(one.detail == twin.detail)
        try:
            return all(here.number(one) == there.number(twin) for here, there in self.samples)
        except (NotCompared, ArithmeticError, LookupError, ValueError):
            return one.op not in _OF_THE_TILE and self._operands_alike(one, twin)


class _Sample(Lanes):
    """One element of a launch: which program has it in which lane. A size that is open has a number, the same one in every sample."""

    def __init__(self, launch: Launch, reading: Reading, axis: int, place: int, tile: int, rest: int) -> None:
        programs = [place // tile if other == axis else rest for other in range(3)]
        super().__init__(launch, reading, programs, no_memory, Effort(MOST_NUMBERS))
        self.tile, self.lane = tile, place % tile

    def number(self, value: Value) -> Any:
        """What ``value`` is there. Raises :class:`NotCompared` where it is not made of places and numbers alone."""
        return self.value(value, Points([self.lane if extent == self.tile else 0 for extent in value.shape], 1))

    def value(self, value: Value, points: Points) -> Any:
        if value.op == "load" or (value.op == "arange" and value.shape != (self.tile,)):
            raise NotCompared("what is not a place in the tile")
        size = self.launch.arguments.get(value.detail) if value.op == "parameter" else None
        if isinstance(size, Expr) and size.value is None:
            return 1 + sum(map(ord, str(size)))
        return super().value(value, points)


#: What says where a program or a lane is, or how many there are, and what nobody knows.
_OF_THE_TILE = frozenset({"program_id", "num_programs", "arange", "call", "unknown", "inline_asm_elementwise"})


# -- any kernel -------------------------------------------------------------------------------------------------------


def same_values(old: Launch, new: Launch) -> bool:
    """Whether what ``old`` stores is made of what it loads alone, and ``new``, which is ``old`` with other tiles, makes the same of it:
    no number of a program, a lane or a round has a part in it but by addresses and masks, nor has the tile, and what a loop carries
    does not depend on how many rounds there are."""
    ours, theirs = old.kernel.values, new.kernel.values
    if ours is None or theirs is None:
        return False
    trips = [
        (one.id, one.trip is not None and one.trip == other.trip)
        for one, other in zip(old.kernel.nodes(Loop), new.kernel.nodes(Loop))
    ]
    twins = _Loaded(old, ours, theirs, frozenset(loop for loop, same in trips if not same))
    return twins.all_stores(twins.stores)


class _Loaded(_Twins):
    """Those of any kernel, whose loops ``changed`` make other numbers of rounds."""

    def __init__(self, launch: Launch, ours: Values, theirs: Values, changed: frozenset[int]) -> None:
        super().__init__(ours, theirs)
        self.launch = launch
        self.changed = changed

    def stores(self, one: Value, twin: Value) -> bool:
        """Whether two stores store the same, under conditions that are."""
        roles = [role for role in one.roles if role not in _PLACES_OF_ACCESSES]
        return self._conditions_alike(one, twin) and all(self._arguments_alike(one, twin, role) for role in roles)

    def _conditions_alike(self, one: Value, twin: Value) -> bool:
        ours, theirs = ([part.test for part in value.region.around() if part.test] for value in (one, twin))
        return len(ours) == len(theirs) and all(
            self.alike(self.ours[test], self.theirs[other]) for test, other in zip(ours, theirs)
        )

    def _arguments_alike(self, one: Value, twin: Value, role: str) -> bool:
        given, other = self.ours.argument(one, role), self.theirs.argument(twin, role)
        return given is None or other is None or self.alike(given, other)

    def _alike(self, one: Value, twin: Value) -> bool:
        if one.op in _OF_THE_TILE or one.op == "index":
            return False
        if one.op in ("parameter", "constant"):
            return bool(one.detail == twin.detail)
        if one.op == "load":
            return self._arguments_alike(one, twin, "other")
        if one.op == "phi" and one.node in self.changed and not self._adds_up(one):
            return False
        if one.op in _FILLED:  # the shape is that of the tile
            return self._arguments_alike(one, twin, "value")
        if one.op in _SHAPED:
            return self.alike(self.ours.operands(one)[0], self.theirs.operands(twin)[0])
        return self._operands_alike(one, twin)

    def _adds_up(self, phi: Value) -> bool:
        """Whether each round adds a product to what ``phi`` carries, or joins what it reduces to it, or it is the state of an online
        softmax."""
        end = self.ours.operands(phi)[1]
        if end is phi:
            return True
        loop = next((one for one in self.launch.kernel.nodes(Loop) if one.id == phi.node), None)
        steps = iteration(self.launch.kernel, loop) if loop is not None else None
        if steps is not None and any(joined_by(steps, one) is phi for one in self.ours.operands(end)):
            return True
        if end.op == "dot":
            return self.ours.optional(end, "acc") is phi
        parts = self.ours.operands(end)
        if end.op == "+" and any(one is phi and self._is_product(other) for one, other in (parts, parts[::-1])):
            return True
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
