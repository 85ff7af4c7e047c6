"""One program of a launched kernel: what its values are in a few lanes, worked out from those that are asked for backwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.compare.columns import (
    ARITHMETIC,
    Column,
    Effort,
    NotCompared,
    Points,
    chunks,
    converted,
    extreme,
    listed,
    mapped,
    total,
)
from kernlint.records import dataclass
from kernlint.workload import Dtype, Expr, Launch, Tensor
from kernlint.workload.values import Value, Values

#: What the numbers are that a tensor holds at these offsets from its first element.
Read = Callable[[Value, str, list[int]], list[Any]]

#: Rounds of a loop that are followed.
_MOST_ROUNDS = 1 << 14

#: What it costs to work out a value, beside what each of its numbers costs.
_OF_A_VALUE = 20

_ONE = Points((), 1)

#: Functions that give back what they are given.
_SAME = frozenset("multiple_of max_contiguous max_constancy tensor to_tensor".split())

_REDUCTIONS = frozenset("sum max min argmax argmin".split())
_SCANS = frozenset("cumsum cumprod".split())


@dataclass(frozen=True)
class Pointer:
    """Places in the tensor that is the argument ``base``: ``offset`` elements from its first one."""

    base: str
    offset: Column


class Reading:
    """What all programs of a kernel have in common: by the ids of values their operands, and the loops that they change with."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.tests = {value.node: value for value in values if value.op == "while"}
        self.indices = {value.region.loop: value for value in values if value.op == "index" and value.region.loop}
        self.operands: dict[int, tuple[Value, ...]] = {}
        self.loops: dict[int, tuple[int, ...]] = {}
        for value in values:
            self.operands[value.id] = values.operands(value)
        for id in sorted(self.operands):  # of what they are computed from, those of loops excepted
            self.loops[id] = self._loops(values[id])

    def _loops(self, value: Value) -> tuple[int, ...]:
        around = [region.loop for region in value.region.around() if region.loop]
        if value.op in ("phi", "index", "while"):
            return tuple(around)
        inner = {loop for one in self.operands[value.id] for loop in self.loops.get(one.id, ())}
        return tuple(loop for loop in around if loop in inner)


class Lanes:
    """The values of the program ``ids`` of ``launch``."""

    def __init__(self, launch: Launch, reading: Reading, ids: Sequence[int], read: Read, effort: Effort) -> None:
        self.launch = launch
        self.ids = tuple(ids)
        self.values = reading.values
        self.reading = reading
        self.read = read
        self.effort = effort
        #: The round that each loop is in.
        self.rounds: dict[int, int] = {}
        self._known: dict[Any, Any] = {}

    # -- asking -----------------------------------------------------------------------------------------------------

    def value(self, value: Value, points: Points) -> Any:
        """What ``value`` is at ``points``: a column, a :class:`Pointer`, or a tuple of such."""
        if value.op == "constant":
            return value.detail
        if value.op in ("phi", "exit"):
            return self._carried(value, points)
        loops = self.reading.loops[value.id]
        key: Any = value.id, id(points)
        if loops:
            if not self.rounds.keys() >= set(loops):
                raise NotCompared("a value of a loop that is over")
            key = (*key, *[self.rounds[loop] for loop in loops])
        if key in self._known:
            return self._known[key]
        self.effort.spend(_OF_A_VALUE)
        made = self._made(value, points)
        if type(made) is list:
            self.effort.spend(len(made))
        self._known[key] = made
        return made

    def _given(self, value: Value) -> tuple[Value, ...]:
        return self.reading.operands[value.id]

    def scalar(self, value: Value) -> Any:
        """The one number that ``value`` is."""
        found = self.value(value, _ONE)
        if isinstance(found, (list, tuple, Pointer)):
            raise NotCompared("a number that is none")
        return found

    def holds(self, value: Value) -> bool:
        """Whether the conditions that ``value`` stands under hold, in the rounds at hand."""
        for region in value.region.around():
            if region.test and bool(self.scalar(self.values[region.test])) != region.holds:
                return False
            if region.loop and self.rounds[region.loop] >= self._most_rounds(region.loop, self.rounds[region.loop]):
                return False
        return True

    # -- loops ------------------------------------------------------------------------------------------------------

    def _most_rounds(self, loop: int, wanted: int) -> int:
        """How many rounds ``loop`` makes; of a ``while`` those up to ``wanted`` at least, if it makes as many."""
        index = self.reading.indices.get(loop)
        if index is not None:
            start, stop, step = (self.scalar(one) for one in self._given(index))
            if not all(type(n) is int or isinstance(n, int) for n in (start, stop, step)) or step == 0:
                raise NotCompared("a loop of unknown length")
            return max(0, -(-(stop - start) // step))
        test = self.reading.tests.get(loop)
        if test is None:
            raise NotCompared("a loop of unknown length")
        outer = self.rounds.get(loop)
        try:
            for number in range(min(wanted + 1, _MOST_ROUNDS)):
                self.rounds[loop] = number
                if not self.scalar(self._given(test)[0]):
                    return number
        finally:
            self._back(loop, outer)
        return wanted + 1

    def _back(self, loop: int, number: int | None) -> None:
        if number is None:
            self.rounds.pop(loop, None)
        else:
            self.rounds[loop] = number

    def _carried(self, value: Value, points: Points) -> Any:
        loop = value.node
        inside = self._given(value)[0] if value.op == "exit" else None
        if inside is None:
            return self._phi(value, points, self.rounds[loop])
        outer = self.rounds.get(loop)
        try:
            count = self._count(loop)
            if inside.op == "phi" and inside.node == loop:
                self.rounds[loop] = count
                return self._phi(inside, points, count)
            if count == 0:
                raise NotCompared("a value of a loop that makes no round")
            self.rounds[loop] = count - 1
            return self.value(inside, points)
        finally:
            self._back(loop, outer)

    def _count(self, loop: int) -> int:
        wanted = 1
        while True:
            count = self._most_rounds(loop, wanted)
            if count <= wanted:
                break
            if loop in self.reading.indices:
                break
            wanted *= 2
            if wanted > _MOST_ROUNDS:
                raise NotCompared("a loop of unknown length")
        if count > _MOST_ROUNDS:
            raise NotCompared("a long loop")
        return count

    def _phi(self, phi: Value, points: Points, number: int) -> Any:
        """What ``phi`` holds at the start of round ``number``: round by round, so that nothing nests deep."""
        loop = phi.node
        before, end = self._given(phi)
        outside = tuple(self.rounds[one] for one in self.reading.loops[phi.id] if one != loop)
        key = (phi.id, id(points), outside)
        rounds: list[Any] = self._known.setdefault(key, [])
        saved = self.rounds.get(loop)
        try:
            while len(rounds) <= number:
                at = len(rounds)
                if at == 0:
                    made = self._operand(before, phi, points)
                else:
                    self.rounds[loop] = at - 1
                    made = self._operand(end, phi, points)
                if len(rounds) <= at:  # else it was asked for meanwhile
                    rounds.append(made)
        finally:
            self._back(loop, saved)
        return rounds[number]

    # -- operations -------------------------------------------------------------------------------------------------

    def _operand(self, operand: Value, of: Value, points: Points) -> Any:
        """``operand`` as it is looked at from ``points`` of ``of``."""
        if operand.op == "constant":
            return operand.detail
        return self.value(operand, points.aligned(operand.shape) if operand.shape else _ONE)

    def _operands(self, value: Value, points: Points) -> list[Any]:
        return [self._operand(one, value, points) for one in self._given(value)]

    def _made(self, value: Value, points: Points) -> Any:
        op = value.op
        if op in _REDUCTIONS:
            return self._reduced(value, points)
        if op in _SCANS:
            return self._scanned(value, points)
        special = _SPECIAL.get(op)
        if special is not None:
            return special(self, value, points)
        if op in _SAME:
            return self._operand(self._given(value)[0], value, points)
        function = ARITHMETIC.get(op)
        if function is None:
            raise NotCompared(f"`{op}`")
        operands = [
            self._operand(one, value, points)
            for one, role in zip(self._given(value), value.roles or ("",) * len(value.operands))
            if role not in ("propagate_nan", "sanitize_overflow", "ieee_rounding", "_builder", "_semantic")
        ]
        if any(isinstance(one, Pointer) for one in operands):
            return _moved(op, operands)
        if any(one is None or isinstance(one, (tuple, str, Dtype)) for one in operands):
            raise NotCompared(f"`{op}`")
        try:
            made = mapped(function, *operands)
        except TypeError:
            raise NotCompared(f"`{op}` of other operands") from None
        return made

    def _parameter(self, value: Value, points: Points) -> Any:
        given = self.launch.arguments.get(value.detail)
        if isinstance(given, Tensor):
            return Pointer(value.detail, 0)
        if isinstance(given, Expr):
            given = given.value
        if given is None or not isinstance(given, (int, float)):
            raise NotCompared(f"the argument `{value.detail}`")
        return given

    def _program(self, value: Value, points: Points) -> int:
        axis = self.scalar(self._given(value)[0]) if value.operands else 0
        return self.ids[axis] if axis < len(self.ids) else 0

    def _programs(self, value: Value, points: Points) -> int:
        axis = self.scalar(self._given(value)[0]) if value.operands else 0
        extent = self.launch.grid[axis] if axis < len(self.launch.grid) else 1
        if not isinstance(extent, int):
            raise NotCompared("an open grid")
        return extent

    def _arange(self, value: Value, points: Points) -> Column:
        start = self.scalar(self._given(value)[0])
        (lane,) = points.axes
        return mapped(lambda i: start + i, lane) if start else lane

    def _filled(self, value: Value, points: Points) -> Column:
        if value.op != "full":
            return 0 if value.dtype is not None and value.dtype.is_integer else 0.0
        given = self.values.argument(value, "value")
        if given is None:
            raise NotCompared("`full`")
        return self.scalar(given)

    def _index(self, value: Value, points: Points) -> int:
        start, _, step = (self.scalar(one) for one in self._given(value))
        return start + step * self.rounds[value.region.loop]

    def _either(self, value: Value, points: Points) -> Any:
        test, x, y = self._given(value)
        holds = self._operand(test, value, points)
        if type(holds) is not list:
            return self._operand(x if holds else y, value, points)
        return mapped(ARITHMETIC["where"], holds, *(self._operand(one, value, points) for one in (x, y)))

    def _chosen(self, value: Value, points: Points) -> Any:
        test, x, y = (self._operand(one, value, points) for one in self._given(value)[:3])
        if any(isinstance(one, Pointer) for one in (x, y)):
            raise NotCompared("a choice of tensors")
        return mapped(ARITHMETIC["where"], test, x, y)

    def _with_axes(self, value: Value, points: Points) -> Any:
        given, index = self._given(value)
        parts = index.detail if isinstance(index.detail, tuple) else (index.detail,)
        if value.roles[1:2] == ("axis",):
            rank = len(value.shape)
            new = [axis % rank for axis in parts if isinstance(axis, int)]
        else:
            if any(part is not None and not isinstance(part, slice) and part is not ... for part in parts):
                raise NotCompared("an element of a tile")
            if ... in parts:
                at = parts.index(...)
                parts = (
                    *parts[:at],
                    *(slice(None),) * (len(given.shape) - len(parts) + parts.count(None) + 1),
                    *parts[at + 1 :],
                )
            new = [axis for axis, part in enumerate(parts) if part is None]
        if not given.shape:
            return self.value(given, _ONE)
        axes = points.axes
        kept = [axis for axis in range(len(value.shape)) if axis not in new]
        return self.value(
            given, points.derived(("axes", tuple(kept)), lambda: Points([axes[axis] for axis in kept], points.count))
        )

    def _transposed(self, value: Value, points: Points) -> Any:
        given, *rest = self._given(value)
        dims: Any = [one.detail for one in rest if one.op == "constant"]
        if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
            dims = dims[0]
        order = [d % len(value.shape) for d in dims] if dims else list(range(len(value.shape)))[::-1]
        if not dims and len(value.shape) != 2:
            order = [*range(len(value.shape) - 2), len(value.shape) - 1, len(value.shape) - 2]
        if sorted(order) != list(range(len(value.shape))):
            raise NotCompared("a transposition")
        axes = points.axes
        back = [order.index(axis) for axis in range(len(order))]
        return self.value(
            given, points.derived(("trans", tuple(back)), lambda: Points([axes[d] for d in back], points.count))
        )

    def _reshaped(self, value: Value, points: Points) -> Any:
        given = self._given(value)[0]
        if not given.shape:
            return self.value(given, _ONE)
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

        return self.value(given, points.derived(("reshape", given.shape, value.shape), make))

    def _spread(self, value: Value, points: Points) -> Any:
        return self._operand(self._given(value)[0], value, points)

    def _cast(self, value: Value, points: Points) -> Any:
        if self.values.setting(value, "bitcast"):
            raise NotCompared("bits of another type")
        given = self._operand(self._given(value)[0], value, points)
        target = value.dtype
        if isinstance(given, Pointer) or target is None:
            raise NotCompared("a converted pointer")
        return converted(given, target.is_integer and target.name != "bool", target.name == "bool")

    def _load(self, value: Value, points: Points) -> Any:
        pointer = self._address(value, points)
        mask, other = self._optional(value, "mask"), self._optional(value, "other")
        inside: Column = True if mask is None else self._operand(mask, value, points)
        if type(inside) is not list and inside:
            found = self._read(value, pointer.base, listed(pointer.offset, 1))
            return found if type(pointer.offset) is list else found[0]
        rest: Column = math.nan if other is None else self._operand(other, value, points)
        if type(inside) is not list:
            return rest
        count = len(inside)
        wanted = [offset for offset, one in zip(listed(pointer.offset, count), inside) if one]
        read = iter(self._read(value, pointer.base, wanted))
        return [next(read) if one else r for one, r in zip(inside, listed(rest, count))]

    def _optional(self, value: Value, role: str) -> Value | None:
        """An argument that may be left out, or be None."""
        given = self.values.argument(value, role)
        return None if given is None or (given.op == "constant" and given.detail is None) else given

    def _read(self, value: Value, base: str, offsets: list[int]) -> list[Any]:
        self.effort.spend(4 * len(offsets))
        return self.read(value, base, offsets)

    def _address(self, value: Value, points: Points) -> Pointer:
        pointer = self.values.argument(value, "pointer")
        found = self._operand(pointer, value, points) if pointer is not None else None
        if not isinstance(found, Pointer):
            raise NotCompared("an address that is not known")
        return found

    def _dot(self, value: Value, points: Points) -> Column:
        a, b = self._given(value)[:2]
        acc = self._optional(value, "acc")
        extent = a.shape[-1] if a.shape else 0
        if len(a.shape) != len(b.shape) or len(a.shape) < 2 or extent < 1:
            raise NotCompared("`dot`")
        k = len(a.shape) - 1
        wide = points.expanded([k + 1], [extent])
        *batch, m, n, at = wide.axes
        left = wide.derived("left", lambda: Points([*batch, m, at], wide.count))
        right = wide.derived("right", lambda: Points([*batch, at, n], wide.count))
        x, y = self.value(a, left), self.value(b, right)
        self.effort.spend(wide.count)
        products = listed(mapped(ARITHMETIC["*"], x, y), wide.count)
        sums: Column = [sum(part) for part in chunks(products, extent)]
        sums = sums if points.count > 1 else sums[0]
        if acc is not None:
            sums = mapped(ARITHMETIC["+"], sums, self._operand(acc, value, points))
        return sums

    def _axis_of(self, value: Value, given: Value) -> int | None:
        axis = self.values.argument(value, "axis")
        if axis is None or (axis.op == "constant" and axis.detail is None):
            return None if value.op not in _SCANS else 0
        if axis.op != "constant" or not isinstance(axis.detail, int):
            raise NotCompared(f"`{value.op}` along an axis that is not known")
        return axis.detail % len(given.shape)

    def _reduced(self, value: Value, points: Points) -> Any:
        given = self._given(value)[0]
        if self.values.setting(value, "return_indices"):
            raise NotCompared(f"`{value.op}` with places")
        axis = self._axis_of(value, given)
        axes = list(range(len(given.shape))) if axis is None else [axis]
        kept = bool(self.values.setting(value, "keep_dims"))
        base = points
        if kept:
            left = [d for d in range(len(given.shape)) if d not in axes]
            own = points.axes
            base = points.derived(("kept", tuple(left)), lambda: Points([own[d] for d in left], points.count))
        wide = base.expanded(axes, [given.shape[d] for d in axes])
        size = wide.count // base.count
        column = self.value(given, wide)
        self.effort.spend(wide.count)
        parts = chunks(listed(column, wide.count), size)
        made = [_of_part(value.op, part) for part in parts]
        return made if base.count > 1 else made[0]

    def _scanned(self, value: Value, points: Points) -> Column:
        given = self._given(value)[0]
        axis = self._axis_of(value, given)
        assert axis is not None
        reverse = bool(self.values.setting(value, "reverse"))
        extent = given.shape[axis]
        wide = points.without(axis).expanded([axis], [extent])
        column = chunks(listed(self.value(given, wide), wide.count), extent)
        places = listed(points.axes[axis], points.count)
        made = []
        for part, place in zip(column, places):
            run = part[place:] if reverse else part[: place + 1]
            made.append(sum(run) if value.op == "cumsum" else math.prod(run))
        return made if points.count > 1 else made[0]

    def _item(self, value: Value, points: Points) -> Any:
        given = self._given(value)[0]
        if given.op == "tuple" and isinstance(value.detail, int):
            return self._operand(self._given(given)[value.detail], value, points)
        if given.op == "broadcast" and isinstance(value.detail, int):
            return self._operand(self._given(given)[value.detail], value, points)
        raise NotCompared(f"a part of `{given.op}`")


def _of_part(op: str, part: list[Any]) -> Any:
    if op == "sum":
        return total(part)
    if op in ("max", "min"):
        return extreme(op, part)
    best = extreme(op.removeprefix("arg"), part)
    return part.index(best) if best == best else math.nan


def _moved(op: str, operands: list[Any]) -> Pointer:
    """A pointer and a distance."""
    pointers = [one for one in operands if isinstance(one, Pointer)]
    others = [one for one in operands if not isinstance(one, Pointer)]
    if len(pointers) == 1 and len(others) == 1 and op in ("+", "-") and (op == "+" or operands[0] is pointers[0]):
        if isinstance(others[0], (tuple, float)) or others[0] is None:
            raise NotCompared("an address that is not known")
        return Pointer(pointers[0].base, mapped(ARITHMETIC[op], pointers[0].offset, others[0]))
    raise NotCompared("an address that is not known")


_SPECIAL: Mapping[str, Callable[[Lanes, Value, Points], Any]] = {
    "parameter": Lanes._parameter,
    "program_id": Lanes._program,
    "num_programs": Lanes._programs,
    "arange": Lanes._arange,
    "zeros": Lanes._filled,
    "zeros_like": Lanes._filled,
    "full": Lanes._filled,
    "index": Lanes._index,
    "either": Lanes._either,
    "where": Lanes._chosen,
    "axes": Lanes._with_axes,
    "trans": Lanes._transposed,
    "reshape": Lanes._reshaped,
    "broadcast_to": Lanes._spread,
    "cast": Lanes._cast,
    "load": Lanes._load,
    "dot": Lanes._dot,
    "item": Lanes._item,
}
