"""What launches leave in memory: which programs write an element, and what."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernlint.compare.columns import ARITHMETIC, Column, NotCompared, Points, listed, mapped
from kernlint.compare.elements import Elements, extents
from kernlint.compare.kernels import Lanes, Reading
from kernlint.compare.operations import held
from kernlint.compare.solve import solutions
from kernlint.generate.values import Value
from kernlint.records import dataclass
from kernlint.workload import Access, Atomic, Lane, Launch, Loop, Store, Tensor
from kernlint.workload import values as ssa
from kernlint.workload.expr import Atom, LoopIndex, ProgramId, lift
from kernlint.workload.ranges import bounds

#: Programs that may write one element: more than one for atomics, and for what writes the same twice.
_MOST_WRITERS = 1 << 12

#: Rounds that a loop of unknown length may make.
_ROUNDS = 1 << 12

#: Elements of a buffer from which on those of one program are looked up together.
_FEW = 2

#: By storage, what it holds: a value, and the tensor whose axes are those of the value.
Memory = Mapping[int, tuple[Value, Tensor]]


@dataclass(frozen=True)
class Write:
    """The store or atomic ``access`` of the kernel, at ``at`` (programs, rounds of loops, lanes)."""

    access: Access
    at: Mapping[Atom, int]

    @property
    def program(self) -> tuple[int, ...]:
        return tuple(self.at.get(ProgramId(axis), 0) for axis in range(3))


class Launched:
    """One launch on the ``memory`` that it found."""

    def __init__(self, launch: Launch, memory: Memory) -> None:
        self.launch = launch
        self.memory = memory
        kernel = launch.kernel
        if kernel.values is None or kernel.may_leave or not kernel.complete:
            raise NotCompared(f"`{kernel.name}`, which is not followed")
        self.values: ssa.Values = kernel.values
        self.reading = Reading(kernel.values)
        self.accesses: list[tuple[Access, Tensor, tuple[Loop, ...]]] = []
        for node, loops in kernel.walk((Store, Atomic)):
            tensor = launch.tensor(node.base)
            if tensor is None:
                raise NotCompared("a store to what is not known")
            self.accesses.append((node, tensor, loops))
        #: The storages that it writes to.
        self.written = {tensor.storage.id for _, tensor, _ in self.accesses}
        self._layouts: dict[int, _Layout] = {}
        self._programs: dict[tuple[Elements, tuple[int, ...]], Lanes] = {}
        self._reads = 0  # how often its programs have looked at memory

    # -- one program ------------------------------------------------------------------------------------------------

    def _lanes(self, program: tuple[int, ...], elements: Elements) -> Lanes:
        key = elements, program
        if key not in self._programs:

            def read(value: ssa.Value, base: str, offsets: list[int]) -> list[Any]:
                return self._read(value, base, offsets, program, elements)

            self._programs[key] = Lanes(self.launch, self.reading, program, read, elements.effort)
        return self._programs[key]

    def _read(
        self, load: ssa.Value, base: str, offsets: list[int], program: tuple[int, ...], elements: Elements
    ) -> list[Any]:
        self._reads += 1
        tensor = self.launch.tensor(base)
        if tensor is None or tensor.storage.id not in self.memory:
            raise NotCompared(f"`{base}`, which is not known")
        value, whole = self.memory[tensor.storage.id]
        first = lift(tensor.offset).value
        if first is None or value.dtype != tensor.dtype:
            raise NotCompared(f"`{base}`, which is not known")
        flat = [first + offset for offset in offsets] if first else offsets
        if tensor.storage.id in self.written:
            for one in dict.fromkeys(flat):
                for write in self.writes(tensor.storage.id, one, elements):
                    store = self.values.at_node(write.access.id)
                    looped = any(region.loop for region in load.region.around())
                    late = store is not None and load.id < store.id and not looped
                    if isinstance(write.access, Atomic) or write.program != program or not late:
                        raise NotCompared("what the same launch writes")
        if tensor.storage.id not in self._layouts:
            self._layouts[tensor.storage.id] = _Layout(whole)
        return listed(elements.at(value, self._layouts[tensor.storage.id].places(flat)), len(flat))

    # -- writing ----------------------------------------------------------------------------------------------------

    def writes(self, storage: int, flat: int, elements: Elements) -> list[Write]:
        """What writes the element ``flat`` of ``storage``, its masks and conditions looked at."""
        found = []
        for access, tensor, loops in self.accesses:
            if tensor.storage.id != storage:
                continue
            box = self._box(access, loops)
            target = flat - (lift(tensor.offset).value or 0)
            assert access.offset is not None
            for at in solutions(access.offset, target, box, elements.effort, _MOST_WRITERS):
                write, reads = Write(access, at), self._reads
                if self._happens(write, loops, elements):
                    found.append(write)
                elif self._reads > reads:
                    elements.spared = True
        return found

    def _box(self, access: Access, loops: Sequence[Loop]) -> dict[Atom, tuple[int, int]]:
        grid = extents(self.launch.grid)
        if access.offset is None or not access.offset.is_followed:
            raise NotCompared("an address that is not known")
        box: dict[Atom, tuple[int, int]] = {ProgramId(axis): (0, extent - 1) for axis, extent in enumerate(grid)}
        box |= {Lane(dim): (0, extent - 1) for dim, extent in enumerate(access.shape)}
        for loop in loops:
            most = _ROUNDS if loop.trip is None or not lift(loop.trip).is_followed else bounds(lift(loop.trip), box)[1]
            box[LoopIndex(loop.id)] = (0, max(0, most - 1))
        if min(grid, default=1) < 1:
            raise NotCompared("an empty grid")
        return box

    def _entered(self, write: Write, loops: Iterable[Loop], elements: Elements) -> Lanes:
        lanes = self._lanes(write.program, elements)
        lanes.rounds = {loop.id: write.at[LoopIndex(loop.id)] for loop in loops}
        return lanes

    def _store(self, write: Write) -> ssa.Value:
        store = self.values.at_node(write.access.id)
        if store is None:
            raise NotCompared("a store that is not followed")
        return store

    def _happens(self, write: Write, loops: Sequence[Loop], elements: Elements) -> bool:
        lanes, store = self._entered(write, loops, elements), self._store(write)
        if not lanes.holds(store):
            return False
        mask = lanes.values.optional(store, "mask")
        return mask is None or bool(lanes.operand(mask, _at(write)))

    def left(self, storage: int, before: Value, whole: Tensor, points: Points, elements: Elements) -> Column:
        """What the launch leaves at ``points`` of the tensor ``whole``, which held ``before``."""
        flat = listed(address(points, whole), points.count)
        found: dict[int, Any] = {}
        for one in flat:
            if one not in found:
                found |= self._found(storage, one, [other for other in flat if other not in found], elements)
        untouched = [i for i, one in enumerate(flat) if found[one] is None]
        made = [found[one] for one in flat]
        if untouched:
            old = listed(elements.at(before, points), points.count)
            for i in untouched:
                made[i] = old[i]
        for i, one in enumerate(made):
            if isinstance(one, _Added):
                made[i] = one.to(listed(elements.at(before, points), points.count)[i])
        return made if points.count != 1 else made[0]

    def _found(self, storage: int, flat: int, wanted: list[int], elements: Elements) -> dict[int, Any]:
        """What is written to ``flat``, and to those of ``wanted`` that the same store of the same program writes; None for nothing."""
        writes = self.writes(storage, flat, elements)
        if not writes:
            return {flat: None}
        if any(isinstance(write.access, Atomic) for write in writes):
            return {flat: self._added(writes, elements)}
        last = self._last(writes)
        if len(wanted) > _FEW and len(writes) == 1:
            return self._together(last, storage, flat, wanted, elements)
        made = {self._stored(write, _at(write), elements) for write in self._rivals(writes, last)}
        if len(made) > 1:
            raise NotCompared("programs that write different values to one element")
        return {flat: made.pop()}

    def _last(self, writes: Sequence[Write]) -> Write:
        def order(write: Write) -> tuple[Any, ...]:
            rounds = sorted((a.loop, i) for a, i in write.at.items() if isinstance(a, LoopIndex))
            return tuple(i for _, i in rounds), write.access.id

        mine = [write for write in writes if write.program == writes[0].program]
        if len({write.access.id for write in mine}) > 1 and any(len(w.access.shape) and _rounds(w) for w in mine):
            raise NotCompared("an element that is written in loops")
        return max(mine, key=order)

    def _rivals(self, writes: Sequence[Write], last: Write) -> list[Write]:
        """The last writes of each program."""
        by_program: dict[tuple[int, ...], list[Write]] = {}
        for write in writes:
            by_program.setdefault(write.program, []).append(write)
        return [last if last in mine else self._last(mine) for mine in by_program.values()]

    def _stored(self, write: Write, points: Points, elements: Elements) -> Any:
        loops = next(loops for access, _, loops in self.accesses if access is write.access)
        lanes, store = self._entered(write, loops, elements), self._store(write)
        given = self.values.argument(store, "value") or self.values.argument(store, "val")
        if given is None:
            raise NotCompared("a store that is not followed")
        return self._typed(lanes.operand(given, points), write.access)

    @staticmethod
    def _typed(column: Column, access: Access) -> Column:
        """As the tensor can hold it."""
        integer = access.dtype.is_integer and access.dtype.name != "bool"
        return held(mapped(int, column), access.dtype) if integer else column

    def _together(
        self, write: Write, storage: int, flat: int, wanted: Iterable[int], elements: Elements
    ) -> dict[int, Any]:
        access = write.access
        tensor, loops = next((tensor, loops) for one, tensor, loops in self.accesses if one is access)
        assert access.offset is not None
        fixed: dict[Atom, Any] = {atom: i for atom, i in write.at.items() if not isinstance(atom, Lane)}
        offset = access.offset.substitute(fixed) + tensor.offset
        elements.effort.spend(3 * access.elements)
        lanes = Points((), 1).expanded(list(range(len(access.shape))), access.shape)
        column = listed(elements.index(offset, lanes, {}), access.elements)
        at = {place: lane for lane, place in enumerate(column)}
        mine = [one for one in dict.fromkeys(wanted) if one in at]
        if flat not in mine or len(mine) < 2:
            return {flat: self._stored(write, _at(write), elements)}
        points = Points(
            [[axis[at[one]] for one in mine] if type(axis) is list else axis for axis in lanes.axes], len(mine)
        )
        entered, store = self._entered(write, loops, elements), self._store(write)
        mask = entered.values.optional(store, "mask")
        inside: Column = True
        if mask is not None:
            inside = entered.operand(mask, points)
        stored = listed(self._stored(write, points, elements), len(mine))
        return {one: x for one, x, holds in zip(mine, stored, listed(inside, len(mine))) if holds}

    def _added(self, writes: Sequence[Write], elements: Elements) -> _Added:
        """What atomics do to the element."""
        ops = {write.access.op if isinstance(write.access, Atomic) else "store" for write in writes}
        if len(ops) != 1 or not ops <= {"add", "max", "min"}:
            raise NotCompared("an atomic that depends on order")
        return _Added(ops.pop(), tuple(self._stored(write, _at(write), elements) for write in writes))


@dataclass(frozen=True)
class _Added:
    """Numbers that atomics add to what an element holds, or compare it with."""

    op: str
    numbers: tuple[Any, ...]

    def to(self, old: Any) -> Any:
        if self.op == "add":
            return old + sum(self.numbers)
        if any(x != x for x in (old, *self.numbers)):
            return math.nan
        return max(old, *self.numbers) if self.op == "max" else min(old, *self.numbers)


def _rounds(write: Write) -> bool:
    return any(isinstance(atom, LoopIndex) for atom in write.at)


def _at(write: Write) -> Points:
    return Points([write.at[Lane(dim)] for dim in range(len(write.access.shape))], 1)


def address(points: Points, tensor: Tensor) -> Column:
    """Where in its storage ``points`` of ``tensor`` lie."""
    if tensor.strides is None:
        raise NotCompared("a layout that is not known")
    flat: Column = lift(tensor.offset).value
    for axis, stride in zip(points.axes, extents(tensor.strides)):
        flat = mapped(ARITHMETIC["+"], flat, mapped(lambda i, s=stride: i * s, axis))
    return flat


class _Layout:
    """Where the elements of ``tensor`` lie in its storage. Raises :class:`NotCompared` where that is not known, or not without gaps."""

    def __init__(self, tensor: Tensor) -> None:
        if tensor.shape is None or tensor.strides is None:
            raise NotCompared("a layout that is not known")
        self._first, strides = lift(tensor.offset).value, extents(tensor.strides)
        self._shape = shape = extents(tensor.shape)
        #: The axes of more than one element, the one that runs fastest first.
        self._order = sorted((d for d in range(len(shape)) if shape[d] != 1), key=lambda d: strides[d])
        self._row_major = bool(self._order) and self._order == sorted(self._order, reverse=True)
        self._count = 1
        for d in self._order:
            if strides[d] != self._count:
                raise NotCompared("a tensor with gaps")
            self._count *= shape[d]

    def places(self, flat: Sequence[int]) -> Points:
        """Where in the tensor the elements ``flat`` of its storage lie. Raises :class:`NotCompared` for one outside it."""
        first = self._first
        inside = [one - first for one in flat] if first else list(flat)
        if min(inside, default=0) < 0 or max(inside, default=0) >= self._count:
            raise NotCompared("an element outside its tensor")
        points = Points(lambda: self._axes(inside), len(flat), len(self._shape))
        if self._row_major:
            points.derived(("flat", self._shape), lambda: inside[0] if len(inside) == 1 else inside)
        return points

    def _axes(self, inside: list[int]) -> list[Column]:
        columns: list[Column] = [0] * len(self._shape)
        rest = inside
        for d in self._order:
            last = d == self._order[-1]
            column = rest if last else [one % self._shape[d] for one in rest]
            columns[d] = column[0] if len(inside) == 1 else column
            rest = rest if last else [one // self._shape[d] for one in rest]
        return columns
