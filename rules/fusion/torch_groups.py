"""Torch calls that map and reduce the same rows one after another, and the workload with one launch for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.rules.fusion.pointwise import is_pointwise
from kernlint.rules.fusion.row_kernel import as_row_value, row_kernel, statistics
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
from kernlint.workload import Event, HostSync, Launch, Repeat, Size, Step, Tensor, TorchOp, Workload

_ROW_REDUCTIONS = frozenset(
    {"sum", "mean", "prod", "amax", "amin", "max", "min", "var", "std", "var_mean", "std_mean", "aminmax", "norm"}
    | {"vector_norm", "logsumexp", "any", "all", "argmax", "argmin", "count_nonzero"}
)


@dataclass(frozen=True)
class Group:
    """Torch calls of which each uses rows of ``shape`` that an earlier one made or read, and the one launch for all.

    ``inner`` are the tensors that would no longer be in memory, ``reads`` those that the launch loads.
    """

    ops: tuple[TorchOp, ...]
    places: tuple[Place, ...]
    shape: tuple[Size, ...]
    inner: tuple[Tensor, ...]
    reads: tuple[Tensor, ...]
    fused: Launch

    @property
    def reduces(self) -> bool:
        return any(op.kind == "reduce" for op in self.ops)

    @property
    def widens(self) -> bool:
        """Whether a product larger than each of its operands is made in memory, only to be reduced."""
        made = {t.storage.id for op in self.ops for t in op.writes}
        for op in self.ops:
            if op.kind == "reduce" and any(t.storage.id in made for t in op.reads):
                maker = next(
                    (o for o in self.ops if any(t.storage.id == op.reads[0].storage.id for t in o.writes)), None
                )
                sizes = [t.numel for t in maker.reads] if maker is not None else []
                full = op.reads[0].numel
                if len(sizes) > 1 and full is not None and all(size is not None and size < full for size in sizes):
                    return True
        return False


def groups(workload: Workload, taken: Iterable[Step], least: int = 2) -> list[Group]:
    """The groups of ``least`` and more calls in program order, without those in ``taken``."""
    busy = {id(step) for step in taken}
    places = places_of(workload)
    found = []
    for steps, looped in sequences(workload.steps):
        for start, step in enumerate(steps):
            shape = _rows(step) if isinstance(step, TorchOp) and id(step) not in busy else None
            if shape is None:
                continue
            members = _grown(steps, start, shape, busy)
            ends = (
                _group(workload, members[:end], shape, places, looped) for end in range(len(members), least - 1, -1)
            )
            group = next((group for group in ends if group is not None), None)
            if group is not None:
                busy.update(id(op) for op in group.ops)
                found.append(group)
    return found


@dataclass(frozen=True)
class FuseGroup:
    """The workload with the torch calls at ``places`` done by one launch; unchanged where that no longer holds."""

    places: tuple[Place, ...]

    def __call__(self, workload: Workload) -> Workload:
        group = group_at(workload, self.places)
        if group is None:
            return workload
        fused = replace(workload, steps=replaced(workload.steps, group.ops, group.fused))
        return without_allocations(fused, {t.storage.id for t in group.inner})


def group_at(workload: Workload, places: tuple[Place, ...]) -> Group | None:
    """The group of the torch calls at ``places``; None where they are none any more."""
    members = steps_at(workload, places)
    if members is None or not isinstance(members[0], TorchOp):
        return None
    shape = _rows(members[0])
    for steps, looped in sequences(workload.steps):
        if shape is not None and all(any(step is member for step in steps) for member in members):
            ops = [member for member in members if isinstance(member, TorchOp)]
            return _group(workload, ops, shape, places_of(workload), looped) if len(ops) == len(members) else None
    return None


def _rows(op: TorchOp) -> tuple[Size, ...] | None:
    """The full shape that a group beginning with ``op`` works on."""
    if not _fresh(op):
        return None
    if is_pointwise(op):
        return op.writes[0].shape or None
    if is_row_reduction(op):
        return op.reads[0].shape
    return None


def _fresh(op: TorchOp) -> bool:
    """Whether ``op`` makes its result anew, rather than write over something."""
    return bool(op.writes) and all(t.storage.span == op.span for t in op.writes)


def is_row_reduction(op: TorchOp) -> bool:
    """Whether ``op`` reduces the last axis of one tensor and that alone."""
    if op.kind != "reduce" or op.name not in _ROW_REDUCTIONS or op.dims.get("inner") != 1 or len(op.reads) != 1:
        return False
    source = op.reads[0]
    if source.shape is None or source.strides is None or source.dtype is None or len(source.shape) < 2:
        return False
    return all(t.shape in (source.shape[:-1], (*source.shape[:-1], 1)) and t.dtype is not None for t in op.writes)


def _belongs(op: TorchOp, shape: tuple[Size, ...]) -> bool:
    """Whether one program that holds rows of ``shape`` could do ``op``."""
    if not _fresh(op):
        return False
    if is_pointwise(op):
        out = op.writes[0].shape
        if out == shape:
            return True
        return out in statistics(shape) and all(as_row_value(t, out) is not None for t in op.reads)
    return is_row_reduction(op) and op.reads[0].shape == shape


def _grown(steps: tuple[Step, ...], start: int, shape: tuple[Size, ...], busy: set[int]) -> list[TorchOp]:
    """``steps[start]`` and what follows from it on the same rows, up to the first step that would get in the way."""
    first = steps[start]
    assert isinstance(first, TorchOp)
    members = [first]
    made = {t.storage.id for t in first.writes}
    wide = {t.storage.id for t in first.reads if t.shape == shape}
    read = {t.storage.id for t in first.reads}
    for step in steps[start + 1 :]:
        reads, writes = may_use(step)
        if isinstance(step, TorchOp) and id(step) not in busy and _belongs(step, shape) and reads & (made | wide):
            members.append(step)
            made |= writes
            read |= reads
            wide |= {t.storage.id for t in step.reads if t.shape == shape}
        elif isinstance(step, Event) or (isinstance(step, TorchOp) and step.kind == "alloc"):
            continue
        elif reads & made or writes & (made | read) or isinstance(step, (HostSync, Repeat)):
            break
    return members


def _group(
    workload: Workload, members: Sequence[TorchOp], shape: tuple[Size, ...], places: dict[int, Place], looped: bool
) -> Group | None:
    made = {t.storage.id: t for op in members for t in op.writes}
    wanted = needed_elsewhere(workload, frozenset(made), {id(op) for op in members}, members[-1], looped)
    if not wanted:
        return None
    fused = row_kernel(members, shape, wanted)
    if fused is None:
        return None
    reads = {t.storage.id: t for op in members for t in op.reads if t.storage.id not in made}
    return Group(
        tuple(members), tuple(places[id(op)] for op in members), shape,
        tuple(t for id, t in made.items() if id not in wanted), tuple(reads.values()), fused,
    )  # fmt: skip
