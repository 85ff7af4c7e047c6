"""Torch results of broadcast operands that one reducing kernel reads, and the workload with a kernel that forms them on chip."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.rules.fusion.pointwise import arithmetic, is_pointwise
from kernlint.rules.proofs.dataflow import may_use
from kernlint.rules.proofs.step_graph import (
    Place,
    needed_elsewhere,
    places_of,
    replaced,
    sequences,
    steps_at,
    without_allocations,
)
from kernlint.workload import (
    Branch,
    Compute,
    Dot,
    Expr,
    HostSync,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    Reduce,
    Scan,
    Size,
    Span,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, ceildiv, floordiv, lift, mod
from kernlint.workload.kernel import Access
from kernlint.workload.synthesis import arith, below, dot, from_load, iteration, lane, launch, pid, power_of_two

#: How many times the elements of its operands a result must have to be worth forming anew where it is read.
_LEAST_SHARE = 4
#: The loop over the reduced axis in the kernel that a change brings.
_LOOP = 1


@dataclass(frozen=True)
class Tile:
    """Rows and columns of results a program of the new kernel makes, and the step along the reduced axis."""

    rows: int
    columns: int
    depth: int
    num_warps: int
    dot: bool = False


@dataclass(frozen=True)
class BroadcastReduced:
    """``op`` forms ``wide``, a contiguous tensor of ``shape``, from smaller operands; ``reader`` alone reads it, by ``load``,
    and reduces its last axis by ``reduce``: element r of what ``store`` writes comes from row r of ``wide``.

    ``mapped`` is the reader's arithmetic on each element of ``wide``, ``finished`` that on each of its results.
    """

    op: TorchOp
    reader: Launch
    places: tuple[Place, Place]
    wide: Tensor
    shape: tuple[int, ...]
    load: Load
    reduce: Reduce
    store: Store
    mapped: tuple[Compute, ...]
    finished: tuple[Compute, ...]

    @property
    def depth(self) -> int:
        """Elements that one result is reduced from."""
        return self.shape[-1]

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes of ``shape`` that the results have, without those of one element."""
        return tuple(axis for axis, extent in enumerate(self.shape[:-1]) if extent > 1)

    @property
    def by_dot(self) -> bool:
        """Whether each operand, of 16 bits, is a matrix of its own kept axis and the reduced one (beside a batch)."""
        if len(self.op.reads) != 2 or len(self.kept) < 2 or self.reduce.op != "sum":
            return False
        rows, columns = self.kept[-2:]
        has = [_axes(tensor, self.shape) for tensor in self.op.reads]
        pair = [{axis for axis in (rows, columns) if axis in axes} for axes in has]
        types = {tensor.dtype for tensor in self.op.reads}
        halves = len(types) == 1 and all(t is not None and t.is_float and t.bits == 16 for t in types)
        return (
            halves
            and pair in ([{rows}, {columns}], [{columns}, {rows}])
            and all(len(self.shape) - 1 in axes for axes in has)
        )


def broadcasts(workload: Workload) -> Iterator[BroadcastReduced]:
    """The broadcast results of ``workload`` that one reducing launch reads."""
    places = places_of(workload)
    for steps, looped in sequences(workload.steps):
        for index, op in enumerate(steps):
            if isinstance(op, TorchOp) and _widens(op):
                reader = _only_reader(workload, steps, index, looped)
                found = _reduced(op, reader, (places[id(op)], places[id(reader)])) if reader is not None else None
                if found is not None:
                    yield found


@dataclass(frozen=True)
class FormedOnChip:
    """The workload with the broadcast result at ``places`` formed in the tiles of the kernel that reduces it; unchanged where
    there is none any more."""

    places: tuple[Place, Place]
    tile: Tile

    def __call__(self, workload: Workload) -> Workload:
        steps = steps_at(workload, self.places)
        found = next((one for one in broadcasts(workload) if one.places == self.places), None)
        if steps is None or found is None:
            return workload
        changed = replace(workload, steps=replaced(workload.steps, steps, _kernel(found, self.tile)))
        return without_allocations(changed, {found.wide.storage.id})


# -- finding them -----------------------------------------------------------------------------------------------------


def _widens(op: TorchOp) -> bool:
    """Whether ``op`` makes a new contiguous tensor much larger than all that it reads, from at least two tensors."""
    if not is_pointwise(op) or len(op.reads) < 2 or op.kind != "elementwise":
        return False
    (made,) = op.writes
    shape = _numbers(made)
    if shape is None or len(shape) < 2 or not made.is_contiguous or made.offset != 0 or made.storage.span != op.span:
        return False
    sizes = [_elements(tensor, shape) for tensor in op.reads]
    return all(size is not None for size in sizes) and _LEAST_SHARE * sum(s or 0 for s in sizes) <= math.prod(shape)


def _only_reader(workload: Workload, steps: tuple[Step, ...], index: int, looped: bool) -> Launch | None:
    """The launch that is the only one to use what ``steps[index]`` makes, and before which its operands stay as they are."""
    op = steps[index]
    assert isinstance(op, TorchOp)
    made, operands = op.writes[0].storage.id, {t.storage.id for t in op.reads}
    for step in steps[index + 1 :]:
        reads, writes = may_use(step)
        if made in reads | writes:
            wanted = needed_elsewhere(workload, frozenset({made}), {id(op), id(step)}, step, looped)
            whole = isinstance(step, Launch) and step.kernel.complete and not step.kernel.assumed
            return step if whole and not wanted and not writes & (operands | {made}) else None  # type: ignore[return-value]
        if writes & operands or isinstance(step, HostSync):
            return None
    return None


def _reduced(op: TorchOp, reader: Launch, places: tuple[Place, Place]) -> BroadcastReduced | None:
    wide = op.writes[0]
    shape = _numbers(wide)
    accesses = [(node, loops) for node, loops in reader.kernel.walk(Access)]
    loads = [(node, loops) for node, loops in accesses if isinstance(node, Load)]
    stores = [node for node, _ in accesses if isinstance(node, Store)]
    if shape is None or len(loads) != 1 or len(stores) != 1 or len(accesses) != 2:
        return None
    if any(True for _ in reader.kernel.walk((Dot, Scan, Branch))):
        return None
    (load, loops), store = loads[0], stores[0]
    source, out = reader.tensor(load.base), reader.tensor(store.base)
    if source is None or source.storage.id != wide.storage.id or source.offset != 0 or source.dtype != wide.dtype:
        return None
    reduces = tuple(node for node, _ in reader.kernel.walk(Reduce) if isinstance(node, Reduce))
    if out is None or len(reduces) != 1 or len(loops) > 1 or not _of_row(reduces[0], load):
        return None
    axis = reduces[0].axis or 0
    if load.id not in store.depends or not _row_by_row(load, axis, loops, store, shape[-1]):
        return None
    if (
        out.numel != math.prod(shape[:-1])
        or out.is_contiguous is not True
        or not _reaches(load, axis, loops, shape[-1])
    ):
        return None
    if reader.programs is None or reader.programs * store.elements < out.numel:
        return None
    computes = [node for node, _ in reader.kernel.walk(Compute) if isinstance(node, Compute)]
    mapped = tuple(node for node in computes if node.elements == load.elements)
    finished = tuple(node for node in computes if node.elements == store.elements)
    return BroadcastReduced(op, reader, places, wide, shape, load, reduces[0], store, mapped, finished)


def _of_row(reduce: Reduce, load: Load) -> bool:
    return (
        load.id in reduce.depends and reduce.shape == load.shape and (reduce.axis is not None or len(load.shape) == 1)
    )


def _row_by_row(load: Load, axis: int, loops: tuple[Loop, ...], store: Store, depth: int) -> bool:
    """Whether result r is made from elements ``r * depth`` and following: the store's offset times ``depth`` is where the
    load's row begins, and lanes (and iterations) go along the row."""
    if load.offset is None or store.offset is None or load.stride(axis) != 1:
        return False
    start: dict[Atom, Size] = {Lane(axis): 0, **{LoopIndex(loop.id): 0 for loop in loops}}
    others = [dim for dim in range(len(load.shape)) if dim != axis]
    start |= {Lane(dim): Expr.atom(Lane(new)) for new, dim in enumerate(others) if dim != new}
    if tuple(load.shape[dim] for dim in others) != store.shape:
        return False
    steps = [load.offset.coefficient(LoopIndex(loop.id)) for loop in loops]
    return load.offset.substitute(start) == store.offset * depth and all(s == load.shape[axis] for s in steps)


def _reaches(load: Load, axis: int, loops: tuple[Loop, ...], depth: int) -> bool:
    """Whether the whole row of ``depth`` elements is read."""
    trips = [concrete(loop.trip) if loop.trip is not None else None for loop in loops]
    return load.shape[axis] * math.prod(trip or 0 for trip in trips) >= depth


def _numbers(tensor: Tensor) -> tuple[int, ...] | None:
    sizes = [concrete(extent) for extent in tensor.shape or ()]
    return None if tensor.shape is None or None in sizes else tuple(size for size in sizes if size is not None)


def _axes(tensor: Tensor, shape: tuple[int, ...]) -> dict[int, Size]:
    """The axes of ``shape`` along which ``tensor``, broadcast to it, changes, each with its stride."""
    assert tensor.shape is not None and tensor.strides is not None
    lead = len(shape) - len(tensor.shape)
    sized = zip(range(lead, len(shape)), tensor.shape, tensor.strides)
    return {axis: stride for axis, extent, stride in sized if concrete(extent) != 1 and concrete(stride) != 0}


def _elements(tensor: Tensor, shape: tuple[int, ...]) -> int | None:
    """Distinct elements of ``tensor``; None where its layout is not known."""
    sizes = _numbers(tensor)
    if sizes is None or tensor.strides is None or len(sizes) > len(shape):
        return None
    if any(concrete(stride) is None for stride in tensor.strides):
        return None
    return math.prod(shape[axis] for axis in _axes(tensor, shape))


# -- the kernel without them --------------------------------------------------------------------------------------------


def tiles(found: BroadcastReduced, by_dot: bool) -> Iterator[Tile]:
    """Tiles worth pricing: products of matrices take those of a matrix product, other reductions what registers hold."""
    whole = power_of_two(found.depth)
    if by_dot:
        for rows, columns in ((64, 64), (128, 64), (128, 128), (32, 32)):
            yield Tile(rows, columns, max(16, min(64, whole)), 8 if rows * columns > 8192 else 4, dot=True)
        return
    extents = [found.shape[axis] for axis in found.kept[-2:]]
    narrow = len(extents) < 2
    for side in (8, 16, 32):
        depth = min(whole, max(8, 8192 // (side * side)))
        yield Tile(side * side if narrow else side, 1 if narrow else side, depth, 4)


class _Places:
    """Where a program of the new kernel stands along each axis of the broadcast result."""

    def __init__(self, found: BroadcastReduced, tile: Tile) -> None:
        self.found = found
        shape, kept = found.shape, found.kept
        self.rows = kept[-2] if len(kept) > 1 else kept[-1] if kept else None
        self.columns = kept[-1] if len(kept) > 1 else None
        self.extent = {a: n for a, n in ((self.rows, tile.rows), (self.columns, tile.columns)) if a is not None}
        self.extent[len(shape) - 1] = tile.depth
        trips = ceildiv(shape[-1], tile.depth)
        self.start: dict[int, Expr] = {len(shape) - 1: iteration(_LOOP) * tile.depth if trips != 1 else lift(0)}
        for number, axis in enumerate((self.rows, self.columns)):
            if axis is not None:
                self.start[axis] = pid(number) * self.extent[axis]
        batch: Size = 1
        for axis in reversed(kept[:-2]):
            self.start[axis] = lift(mod(floordiv(pid(2), batch), shape[axis]))
            batch = batch * shape[axis]
        self.grid = (
            *(ceildiv(shape[a], self.extent[a]) if a is not None else 1 for a in (self.rows, self.columns)), batch,
        )  # fmt: skip

    def load(self, id: int, name: str, tensor: Tensor, span: Span) -> Load:
        """The tile of ``tensor`` that the program needs."""
        assert tensor.dtype is not None
        strides = _axes(tensor, self.found.shape)
        tiled = [axis for axis in strides if axis in self.extent]
        index = {a: self.start[a] + (lane(tiled.index(a)) if a in tiled else 0) for a in strides}
        offset = lift(sum((lift(stride) * index[axis] for axis, stride in strides.items()), Expr({})))
        mask = below(*((index[axis], self.found.shape[axis]) for axis in tiled))
        return Load(id, name, tensor.dtype, tuple(self.extent[axis] for axis in tiled), offset, mask or None, span)

    def store(self) -> Store:
        """The tile of results."""
        shape, old = self.found.shape, self.found.store
        tiled = [axis for axis in (self.rows, self.columns) if axis is not None]
        offset, stride = lift(0), 1
        for axis in reversed(range(len(shape) - 1)):
            if axis in self.start:
                index = self.start[axis] + (lane(tiled.index(axis)) if axis in tiled else 0)
                offset = offset + index * stride
            stride *= shape[axis]
        mask = below(*((self.start[axis] + lane(dim), shape[axis]) for dim, axis in enumerate(tiled)))
        return replace(old, shape=tuple(self.extent[a] for a in tiled), offset=offset, mask=mask, narrow=())


def _kernel(found: BroadcastReduced, tile: Tile) -> Launch:
    """The launch of a kernel that reads the operands in tiles, and forms and reduces the elements on chip."""
    places, op, span = _Places(found, tile), found.op, found.op.span
    loads = [places.load(9001 + i, f"operand{i}", tensor, span) for i, tensor in enumerate(op.reads)]
    count = tile.rows * tile.columns
    step = _dots(found, tile, loads) if tile.dot else _elementwise(found, tile)
    trips = ceildiv(found.depth, tile.depth)
    body: tuple[Node, ...] = (*loads, *step)
    if trips != 1:
        body = (Loop(_LOOP, "range", trips, body, span, carried=True),)
    store = replace(places.store(), depends=frozenset(load.id for load in loads))
    done = [replace(node, elements=count) for node in found.finished]
    arguments = {load.base: tensor for load, tensor in zip(loads, op.reads)}
    out = found.reader.tensor(found.store.base)
    assert out is not None
    reader = found.reader
    return launch(
        reader.kernel.name, (*body, *done, store), places.grid, {**arguments, found.store.base: out}, reader,
        reader.function, tile.num_warps,
    )  # fmt: skip


def _elementwise(found: BroadcastReduced, tile: Tile) -> tuple[Node, ...]:
    shape = (tile.rows, tile.columns, tile.depth)
    elements = math.prod(shape)
    reduce = replace(found.reduce, shape=shape, axis=2, scalar=False, pads=())
    own = arithmetic(found.op, elements, found.wide.dtype or dt.FLOAT32)
    return (own, *(replace(node, elements=elements) for node in found.mapped), reduce)


def _dots(found: BroadcastReduced, tile: Tile, loads: list[Load]) -> tuple[Node, ...]:
    """The product of the two tiles; with the squared norms of their rows where differences were squared."""
    span = found.op.span
    strides = [_axes(tensor, found.shape) for tensor in found.op.reads]
    rows, columns = sorted(range(2), key=lambda i: found.kept[-2] not in strides[i])
    a, b = from_load(loads[rows], 1, span), from_load(loads[columns], 1, span)
    product = dot(9010, tile.rows, tile.columns, tile.depth, a, b, span)
    nodes: list[Node] = [product]
    if squares_differences(found):
        for load in loads:
            nodes += [arith(load.elements, span)] * 2
            nodes.append(Reduce("sum", load.shape, 1, False, frozenset({load.id}), span, dt.FLOAT32))
        nodes += [arith(tile.rows * tile.columns, span)] * 3
    return tuple(nodes)


def squares_differences(found: BroadcastReduced) -> bool:
    """Whether each element is a difference, and something without a sign is all that is summed of them."""
    return found.op.name in ("sub", "subtract", "rsub") and found.reduce.nonnegative and len(_arithmetic(found)) == 1


def sums_products(found: BroadcastReduced) -> bool:
    """Whether each element is a product, and the sum of them is taken as they are."""
    return found.op.name in ("mul", "multiply") and not _arithmetic(found)


def _arithmetic(found: BroadcastReduced) -> list[Compute]:
    return [node for node in found.mapped if node.kind != "cast"]
