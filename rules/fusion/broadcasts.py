"""Torch results of broadcast operands that one reducing kernel reads."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.fusion.pointwise import is_pointwise
from kernlint.rules.proofs.dataflow import may_use
from kernlint.rules.proofs.step_graph import (
    needed_elsewhere,
    sequences,
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
    Reduce,
    Scan,
    Size,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload.access import Access
from kernlint.workload.expr import Atom

#: How many times the elements of its operands a result must have to be worth forming anew where it is read.
_LEAST_SHARE = 4


@dataclass(frozen=True)
class BroadcastReduced:
    """``op`` forms ``wide``, a contiguous tensor of ``shape``, from smaller operands; ``reader`` alone reads it, by ``load``,
    and reduces its last axis by ``reduce``: its result r comes from row r of ``wide``.

    ``mapped`` is the reader's arithmetic on each element of ``wide``.
    """

    op: TorchOp
    reader: Launch
    wide: Tensor
    shape: tuple[int, ...]
    load: Load
    reduce: Reduce
    mapped: tuple[Compute, ...]

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
    for steps, looped in sequences(workload.steps):
        for index, op in enumerate(steps):
            if isinstance(op, TorchOp) and _widens(op):
                reader = _only_reader(workload, steps, index, looped)
                found = _reduced(op, reader) if reader is not None else None
                if found is not None:
                    yield found


# -- finding them -----------------------------------------------------------------------------------------------------


def _widens(op: TorchOp) -> bool:
    """Whether ``op`` makes a new contiguous tensor much larger than all that it reads, from at least two tensors."""
    if not is_pointwise(op) or len(op.reads) < 2 or op.kind != "elementwise":
        return False
    (made,) = op.writes
    shape = made.extents
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


def _reduced(op: TorchOp, reader: Launch) -> BroadcastReduced | None:
    wide = op.writes[0]
    shape = wide.extents
    accesses = list(reader.kernel.walk(Access))
    loads = [(node, loops) for node, loops in accesses if isinstance(node, Load)]
    stores = [node for node, _ in accesses if isinstance(node, Store)]
    if shape is None or len(loads) != 1 or len(stores) != 1 or len(accesses) != 2:
        return None
    if reader.kernel.has((Dot, Scan, Branch)):
        return None
    (load, loops), store = loads[0], stores[0]
    source, out = reader.tensor(load.base), reader.tensor(store.base)
    if source is None or source.storage.id != wide.storage.id or source.offset != 0 or source.dtype != wide.dtype:
        return None
    reduces = tuple(reader.kernel.nodes(Reduce))
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
    computes = reader.kernel.nodes(Compute)
    mapped = tuple(node for node in computes if node.elements == load.elements)
    return BroadcastReduced(op, reader, wide, shape, load, reduces[0], mapped)


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
    trips = [concrete(loop.trip) for loop in loops]
    return load.shape[axis] * math.prod(trip or 0 for trip in trips) >= depth


def _axes(tensor: Tensor, shape: tuple[int, ...]) -> dict[int, Size]:
    """The axes of ``shape`` along which ``tensor``, broadcast to it, changes, each with its stride."""
    assert tensor.shape is not None and tensor.strides is not None
    lead = len(shape) - len(tensor.shape)
    sized = zip(range(lead, len(shape)), tensor.shape, tensor.strides)
    return {axis: stride for axis, extent, stride in sized if concrete(extent) != 1 and concrete(stride) != 0}


def _elements(tensor: Tensor, shape: tuple[int, ...]) -> int | None:
    """Distinct elements of ``tensor``; None where its layout is not known."""
    sizes = tensor.extents
    if sizes is None or tensor.strides is None or len(sizes) > len(shape):
        return None
    if any(concrete(stride) is None for stride in tensor.strides):
        return None
    return math.prod(shape[axis] for axis in _axes(tensor, shape))


def squares_differences(found: BroadcastReduced) -> bool:
    """Whether each element is a difference, and something without a sign is all that is summed of them."""
    return found.op.name in ("sub", "subtract", "rsub") and found.reduce.nonnegative and len(_arithmetic(found)) == 1


def sums_products(found: BroadcastReduced) -> bool:
    """Whether each element is a product, and the sum of them is taken as they are."""
    return found.op.name in ("mul", "multiply") and not _arithmetic(found)


def _arithmetic(found: BroadcastReduced) -> list[Compute]:
    return [node for node in found.mapped if node.kind != "cast"]
