"""What a launch leaves in memory: for each element the value of the lane that writes it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from kernlint.generate.launches.graph import Graph
from kernlint.generate.launches.kernels import Lanes
from kernlint.generate.launches.operations import address
from kernlint.generate.launches.places import (
    Beyond,
    Bound,
    Pointer,
    Test,
    axes_of,
    changed,
    holds,
    masked,
    numbers,
    span_of,
    with_rests,
)
from kernlint.generate.launches.running import at_all_rounds
from kernlint.generate.launches.solve import Solution, always
from kernlint.generate.values import CannotGenerate, Value, View, element, identity, lane, lanes_of
from kernlint.records import replace
from kernlint.workload import Atomic, Expr, Lane, Launch, LoopIndex, Opaque, Store, Tensor
from kernlint.workload import values as ssa
from kernlint.workload.access import Access
from kernlint.workload.expr import Atom, lift

#: Elements that are looked at where the way back to an address is not plain to see.
_SAMPLES = 64
#: Lanes of the tile that is stored; those of its tensor come first.
_TILE = 500


class LaunchReader:
    """Reads ``launch``; ``holds`` is what memory holds before and, afterwards, what the launch leaves there: by storage a value and
    the tensor whose axes are those of the value. ``rounds`` are those of the Python loops around it."""

    def __init__(
        self, launch: Launch, holds: dict[int, tuple[Value, Tensor]], graph: Graph, rounds: Sequence[Atom] = ()
    ) -> None:
        self.launch, self.graph, self.rounds = launch, graph, rounds
        self.before, self.holds = dict(holds), holds
        kernel = launch.kernel
        values = kernel.values
        if values is None or kernel.may_leave or not kernel.complete or launch.open_constexprs:
            raise CannotGenerate(f"`{kernel.name}` is not followed to its end")
        self.values: ssa.Values = values
        self.stores: list[tuple[Access, Tensor]] = []
        for node in kernel.nodes((Store, Atomic)):
            tensor = launch.tensor(node.base)
            if tensor is None or isinstance(node, Atomic):
                raise CannotGenerate(
                    f"`{kernel.name}` changes memory by atomics" if tensor else "a store to what is not known"
                )
            self.stores.append((node, tensor))
        self.written = {tensor.storage.id for _, tensor in self.stores}
        #: Where the store at hand writes, over atoms of the program, and the rounds of all loops around it.
        self._own: tuple[int, Expr, int] | None = None
        self._around: set[Atom] = set()
        #: The first store to each storage, and the rounds of all loops around stores to it.
        self._first: dict[int, int] = {}
        self._every: dict[int, set[Atom]] = {}
        #: What was written to parts of a storage, by the first place along an axis: the axis, the last place, and what it is.
        self._pieces: dict[int, dict[int, tuple[int, int, View]]] = {}

    def read(self) -> None:
        for node, tensor in self.stores:
            self._store(node, tensor)

    # -- stores -----------------------------------------------------------------------------------------------------

    def _store(self, node: Access, tensor: Tensor) -> None:
        store = self.values.at_node(node.id)
        given = (
            (self.values.argument(store, "value") or self.values.argument(store, "val")) if store is not None else None
        )
        if store is None or given is None or tensor.storage.id not in self.holds:
            raise CannotGenerate("a store that is not followed")
        old, whole = self.holds[tensor.storage.id]
        if tensor.dtype != whole.dtype or whole.dtype is None:
            raise CannotGenerate("bits looked at as another type")
        graph, lanes = self.graph, Lanes(self.launch, self.values, self.graph, self._load)
        tile = tuple(self._tile_lane(d, extent) for d, extent in enumerate(self._shape(store)))
        self._around = {atom for atom in self.rounds if graph.box[atom] != (0, 0)}
        for region in store.region.around():
            if region.loop:
                atom = LoopIndex(region.loop)
                graph.box[atom] = (0, lanes.trip(region.loop) - 1)
                lanes.rounds[region.loop] = Expr.atom(atom)
                self._around |= {atom} if graph.box[atom] != (0, 0) else set()
        if self._around & self._every.get(tensor.storage.id, set()):
            # The first store of a round may write over what the second one of the round before has written.
            raise CannotGenerate("a loop with two stores to one tensor")
        self._every[tensor.storage.id] = self._every.get(tensor.storage.id, set()) | self._around
        pointer = address(lanes, store, tile)
        flat = with_rests(pointer.offset + tensor.offset, graph.box)
        mask = lanes.values.optional(store, "mask")
        tests = [lanes.operand(mask, tile)] if mask is not None else []
        tests += [self._condition(lanes, region) for region in store.region.around() if region.test]
        bounds = [changed(bound, lambda e: with_rests(e, graph.box)) for bound in self._bounds(tests)]
        shape = numbers(whole.shape)
        graph.box |= {Lane(axis): (0, extent - 1) for axis, extent in enumerate(shape)}
        self._own = tensor.storage.id, pointer.offset + tensor.offset, store.id
        self._first.setdefault(tensor.storage.id, store.id)
        solution = self._solved(flat, whole, bounds)
        lanes.solved = solution.by
        bounds = [changed(bound, lanes.final) for bound in bounds]
        bounds = [bound for bound in (*bounds, *solution.bounds) if not always(bound, graph.box)]
        self._prove(lanes.final(flat), whole, bounds)
        piece = self._piece(bounds, shape)
        # What is written to a part is made over the places of that part.
        lanes.solved = [*solution.by, {Lane(axis): lane(axis) + first for axis, (first, _) in piece.items()}]
        graph.box |= {Lane(axis): (0, last - first) for axis, (first, last) in piece.items()}
        lanes.carried = {}  # which addresses and masks are made of without places of the result
        value = graph.map("cast", whole.dtype, at_all_rounds(lanes, lanes.elements(given, tile)))
        self._check(value, [e for bound in bounds for e in bound if e is not None])
        graph.box |= {Lane(axis): (0, extent - 1) for axis, extent in enumerate(shape)}
        back = {Lane(axis): lane(axis) - first for axis, (first, _) in piece.items()}
        value = View(value.value, tuple(place.substitute(back) for place in value.index))  # type: ignore[arg-type]
        self.holds[tensor.storage.id] = self._put(tensor.storage.id, whole, old, value, bounds, piece), whole

    def _piece(self, bounds: Sequence[Bound], shape: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The first and last place along the axes of which ``bounds`` leave a part."""
        found: dict[int, tuple[int, int]] = {}
        for low, place, high in bounds:
            (axis, *others) = lanes_of((place,)) or (-1,)
            beside = place - lane(axis)
            if others or axis >= len(shape) or beside.value is None or low.value is None:
                continue
            first, last = found.get(axis, (0, shape[axis] - 1))
            last = last if high is None or high.value is None else min(last, high.value - 1 - beside.value)
            found[axis] = max(first, low.value - beside.value), last
        return {axis: span for axis, span in found.items() if 0 <= span[0] <= span[1]}

    def _put(
        self, storage: int, whole: Tensor, old: Value, value: View, bounds: Sequence[Bound], piece: Mapping[int, Any]
    ) -> Value:
        """What memory holds after ``value`` was written where ``bounds`` hold."""
        shape = numbers(whole.shape)
        pieces = self._pieces.setdefault(storage, {})
        if len(piece) == 1 == len({place for _, place, _ in bounds}):
            ((axis, (first, last)),) = piece.items()
            pieces[first] = axis, last, value
        ordered = sorted(pieces.items())
        starts = [first for first, _ in ordered]
        ends = [last + 1 for _, (_, last, _) in ordered]
        axes = {axis for _, (axis, _, _) in ordered}
        if len(axes) == 1 and len(ordered) > 1 and starts == [0, *ends[:-1]] and ends[-1] == shape[min(axes)]:
            (axis,) = axes
            cases = tuple(
                ((lift(first), lane(axis), lift(last + 1) if last + 1 < shape[axis] else None),)
                for first, (_, last, _) in ordered
            )
            extents = tuple((first, last + 1 - first) for first, (_, last, _) in ordered)
            attributes = {"cases": cases, "axis": axis, "extents": extents}
            views = tuple(one for _, (_, _, one) in ordered)
            return Value("choose", shape, value.value.dtype, views, attributes, whole.name)
        return self._whole(self.graph.choose(bounds, value, View(old, identity(shape))), whole)

    def _shape(self, store: ssa.Value) -> tuple[int, ...]:
        pointer = self.values.argument(store, "pointer")
        value = self.values.argument(store, "value") or self.values.argument(store, "val")
        shapes = [one.shape for one in (pointer, value) if one is not None]
        return max(shapes, key=len)

    def _tile_lane(self, dim: int, extent: int) -> Expr:
        if extent == 1:
            return lift(0)
        made = lane(_TILE + dim)
        self.graph.box[Lane(_TILE + dim)] = (0, extent - 1)
        return made

    def _condition(self, lanes: Lanes, region: ssa.Region) -> Any:
        test = lanes.operand(self.values[region.test], ())
        if isinstance(test, bool):
            return test == region.holds
        if not region.holds:
            raise CannotGenerate("a store where a condition does not hold")
        return test

    def _bounds(self, tests: Sequence[Any]) -> list[Bound]:
        found: list[Bound] = []
        for test in tests:
            if isinstance(test, bool):
                if not test:
                    raise CannotGenerate("a store that never happens")
            elif isinstance(test, Test):
                found += test.bounds
            else:
                raise CannotGenerate("a store where the data say so")
        return found

    def _solved(self, flat: Expr, whole: Tensor, bounds: Sequence[Bound]) -> Solution:
        """For the atoms of an address what they are at each element of ``whole``."""
        box = masked(self.graph.box, bounds)
        shape, strides = numbers(whole.shape), numbers(whole.strides)
        groups = [[d] for d in range(len(shape))]
        while True:
            seen = _grouped(whole, groups)
            try:
                axes = axes_of(flat, seen, box, bounds, apart=False)
                break
            except Beyond as found:
                inner = min(found.axis, len(groups) - 1)
                if inner < 1 or strides[groups[inner - 1][-1]] != strides[groups[inner][0]] * shape[groups[inner][0]]:
                    raise
                groups[inner - 1 : inner + 1] = [[*groups[inner - 1], *groups[inner]]]
        targets = []
        for group in groups:
            at = lift(0)
            for axis in group:
                at = at * shape[axis] + (lane(axis) if shape[axis] != 1 else 0)
            targets.append(at)
        return Solution(list(zip(axes, targets, numbers(seen.shape))), box, self.graph.box)

    def _prove(self, back: Expr, whole: Tensor, bounds: Sequence[Bound]) -> None:
        """Raise where ``back``, the address that is worked out for an element of ``whole``, is another one where ``bounds`` hold."""
        target = lift(whole.offset)
        for axis, stride in enumerate(numbers(whole.strides)):
            target = target + lane(axis) * stride
        if back == target:
            return
        shape, draw, seen = numbers(whole.shape), random.Random(0), 0
        spans = [span_of(lane(axis), {Lane(axis): (0, extent - 1)}, bounds) for axis, extent in enumerate(shape)]
        for _ in range(_SAMPLES):
            at: dict[Atom, float] = {
                Lane(axis): draw.randint(*span) for axis, span in enumerate(spans) if span is not None
            }
            if all(holds(bound, at) for bound in bounds):
                seen += 1
                if back.evaluate(at) != target.evaluate(at):
                    raise CannotGenerate("an address that is not followed")
        if not seen:
            raise CannotGenerate("a store of hardly any elements")

    def _check(self, value: View, others: Sequence[Expr]) -> None:
        """Raise where ``value`` differs between programs that write one element, or where nothing says what it is."""
        places = [*value.index, *others]
        if any(not isinstance(one, (Lane, Opaque)) for place in places for one in place.atoms()) or any(
            number >= _TILE for number in lanes_of(places)
        ):
            raise CannotGenerate("programs that write different values to one element")
        for one in value.value.walk():
            if one.op == "undefined":
                raise CannotGenerate("lanes that a load masks without saying what they hold")

    def _whole(self, made: View, whole: Tensor) -> Value:
        """``made``, seen from all axes of ``whole``."""
        shape, value = numbers(whole.shape), made.value
        assert whole.dtype is not None
        if value.op != "input" and value.shape == shape and made.index == identity(shape):
            return Value(value.op, shape, value.dtype, value.operands, value.attributes, whole.name)
        return Value("cast", shape, whole.dtype, (made,), name=whole.name)

    # -- loads ------------------------------------------------------------------------------------------------------

    def _load(self, lanes: Lanes, load: ssa.Value, pointer: Pointer, bounds: Sequence[Bound]) -> View:
        """What is read at ``pointer``, where ``bounds`` hold."""
        tensor = self.launch.tensor(pointer.base)
        if tensor is None or tensor.storage.id not in self.before:
            raise CannotGenerate(f"it is not known what `{pointer.base}` holds")
        value, whole = self.before[tensor.storage.id]
        if tensor.dtype != whole.dtype:
            raise CannotGenerate("bits looked at as another type")
        address = pointer.offset + tensor.offset
        if tensor.storage.id in self.written:
            own = self._own
            if own is None or own[:2] != (tensor.storage.id, address) or load.id > self._first[tensor.storage.id]:
                raise CannotGenerate("a kernel that reads what it writes itself")
            if not self._around <= address.atoms():
                # Each round goes on with what the one before has left at this place.
                raise CannotGenerate("a loop whose rounds go on with what they have written")
        address = lanes.final(address)
        picks = [atom for atom in address.atoms() if isinstance(atom, Opaque) and atom.op == "load"]
        if picks:
            return self._picked(lanes, address, picks, value, whole, bounds)
        index = tuple(axes_of(address, whole, self.graph.box, bounds))
        return self.graph.look(View(value, index), {})

    def _picked(
        self, lanes: Lanes, address: Expr, picks: Sequence[Atom], value: Value, whole: Tensor, bounds: Sequence[Bound]
    ) -> View:
        """An element at a place that memory holds: taken to be one of its axis."""
        graph = self.graph
        operands = [View(value, ())]
        moved: dict[Atom, Expr] = {}
        shape, strides = numbers(whole.shape), numbers(whole.strides)
        for number, atom in enumerate(picks, 1):
            step = address.coefficient(atom)
            axes = [d for d in range(len(shape)) if step is not None and shape[d] > 1 and strides[d] == step.value]
            if len(axes) != 1:
                raise CannotGenerate("an element at a place that memory holds")
            assert isinstance(atom, Opaque)
            graph.box[Opaque("load", (), number)] = (0, shape[axes[0]] - 1)
            moved[atom] = element(number)
            operands.append(lanes.picked[atom.key])
        index = tuple(axes_of(address.substitute(moved), whole, graph.box, bounds))
        operands[0] = View(value, index)
        return graph.pick(operands)


def _grouped(whole: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
    """``whole`` with the axes of each group as one."""
    shape, strides = numbers(whole.shape), numbers(whole.strides)
    extents = tuple(math.prod(shape[d] for d in group) for group in groups)
    return replace(whole, shape=extents, strides=tuple(strides[group[-1]] for group in groups))
