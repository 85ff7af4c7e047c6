"""Torch calls that map and reduce the same rows one after another, and the one row kernel that would do their work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kernlint.rules.indexing import ELEMENT, broadcast_offset, placed, same_address
from kernlint.rules.pointwise import arithmetic, elements, is_pointwise
from kernlint.rules.stepping import (
    Place,
    needed_elsewhere,
    places_of,
    replaced,
    sequences,
    steps_at,
    uses,
    without_allocations,
)
from kernlint.workload import (
    Dtype,
    Event,
    Expr,
    HostSync,
    Kernel,
    Lane,
    Launch,
    Load,
    Node,
    ProgramId,
    Reduce,
    Repeat,
    Size,
    Span,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload.dtype import FLOAT32
from kernlint.workload.expr import ceildiv, lift
from kernlint.workload.kernel import Access

#: Longest row that one program holds: 32,768 fp32 values are 64 registers a thread with 16 warps.
LONGEST_ROW = 32_768
#: Elements of a program that gives each thread of four warps a few vectors to load.
_TILE = 2048
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


def groups(workload: Workload, taken: Iterable[Step]) -> list[Group]:
    """The groups of two and more calls in program order, without those in ``taken``."""
    busy = {id(step) for step in taken}
    places = places_of(workload)
    found = []
    for steps, looped in sequences(workload.steps):
        for start, step in enumerate(steps):
            shape = _rows(step) if isinstance(step, TorchOp) and id(step) not in busy else None
            if shape is None:
                continue
            members = _grown(steps, start, shape, busy)
            ends = (_group(workload, members[:end], shape, places, looped) for end in range(len(members), 1, -1))
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
        members = steps_at(workload, self.places)
        if members is None or not isinstance(members[0], TorchOp):
            return workload
        shape = _rows(members[0])
        for steps, looped in sequences(workload.steps):
            if shape is not None and all(any(step is member for step in steps) for member in members):
                ops = [member for member in members if isinstance(member, TorchOp)]
                group = _group(workload, ops, shape, places_of(workload), looped)
                if group is not None and len(ops) == len(members):
                    fused = replace(workload, steps=replaced(workload.steps, members, group.fused))
                    return without_allocations(fused, {t.storage.id for t in group.inner})
        return workload


def _rows(op: TorchOp) -> tuple[Size, ...] | None:
    """The full shape that a group beginning with ``op`` works on."""
    if not _fresh(op):
        return None
    if is_pointwise(op):
        return op.writes[0].shape or None
    if _is_row_reduction(op):
        return op.reads[0].shape
    return None


def _fresh(op: TorchOp) -> bool:
    """Whether ``op`` makes its result anew, rather than write over something."""
    return bool(op.writes) and all(t.storage.span == op.span for t in op.writes)


def _is_row_reduction(op: TorchOp) -> bool:
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
        return out in _statistics(shape) and all(_as_row_value(t, out) is not None for t in op.reads)
    return _is_row_reduction(op) and op.reads[0].shape == shape


def _statistics(shape: tuple[Size, ...]) -> tuple[tuple[Size, ...], ...]:
    return (shape[:-1], (*shape[:-1], 1)) if len(shape) > 1 else ()


def _as_row_value(tensor: Tensor, out: tuple[Size, ...] | None) -> Tensor | None:
    """``tensor``, which broadcasts to the row statistic ``out``, as one that broadcasts to whole rows."""
    if tensor.shape is None or tensor.strides is None or out is None:
        return None
    if not tensor.shape or (concrete(tensor.shape[-1]) == 1 and concrete(out[-1]) == 1):
        return tensor
    return replace(tensor, shape=(*tensor.shape, 1), strides=(*tensor.strides, 1))


def _grown(steps: tuple[Step, ...], start: int, shape: tuple[Size, ...], busy: set[int]) -> list[TorchOp]:
    """``steps[start]`` and what follows from it on the same rows, up to the first step that would get in the way."""
    first = steps[start]
    assert isinstance(first, TorchOp)
    members = [first]
    made = {t.storage.id for t in first.writes}
    wide = {t.storage.id for t in first.reads if t.shape == shape}
    read = {t.storage.id for t in first.reads}
    for step in steps[start + 1 :]:
        reads, writes = uses(step)
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
    if len(members) < 2 or not wanted:
        return None
    fused = _row_kernel(members, shape, wanted)
    if fused is None:
        return None
    reads = {t.storage.id: t for op in members for t in op.reads if t.storage.id not in made}
    return Group(
        tuple(members), tuple(places[id(op)] for op in members), shape,
        tuple(t for id, t in made.items() if id not in wanted), tuple(reads.values()), fused,
    )  # fmt: skip


# -- the kernel -------------------------------------------------------------------------------------------------------


def _tile(shape: tuple[Size, ...], reduces: bool) -> tuple[Access, Size, int] | None:
    """The tile of one program, the grid and the warps: whole rows where something is reduced, else a plain block."""
    pid, lane = Expr.atom(ProgramId(0)), Expr.atom(Lane(0))
    if not reduces:
        count = elements(shape)
        index = pid * _TILE + lane
        return _access((_TILE,), index, ((index, lift(count)),)), ceildiv(count, _TILE), 4
    columns, rows = shape[-1], elements(shape[:-1])
    number = concrete(columns)
    width = 1 << (number - 1).bit_length() if number else _TILE
    if width > LONGEST_ROW:
        return None
    height = max(1, _TILE // width)
    warps = 4 if width * height <= _TILE else 8 if width <= 8192 else 16
    if height == 1:
        return _access((width,), pid * columns + lane, ((lane, lift(columns)),)), rows, warps
    row, column = pid * height + lane, Expr.atom(Lane(1))
    mask = ((row, lift(rows)), (column, lift(columns)))
    return _access((height, width), row * columns + column, mask), ceildiv(rows, height), warps


def _access(shape: tuple[int, ...], offset: Expr, mask: tuple[tuple[Expr, Expr], ...]) -> Access:
    return Access(0, "", FLOAT32, shape, offset, mask, Span("", 0, 0, 0, 0))


def _row_kernel(members: Sequence[TorchOp], shape: tuple[Size, ...], wanted: frozenset[int]) -> Launch | None:
    """One kernel that loads what ``members`` read from outside once and stores what is ``wanted`` of what they make."""
    tiled = _tile(shape, any(op.kind == "reduce" for op in members))
    if tiled is None:
        return None
    tile, programs, num_warps = tiled
    builder = _Builder(tile, shape, wanted)
    for op in members:
        if not builder.add(op):
            return None
    first = members[0]
    kernel = Kernel(
        "+".join(op.name for op in members), tuple(builder.body), first.span, first.span, first.span.file, dims=1
    )
    return Launch(kernel, (programs,), builder.arguments, {}, num_warps, 3, first.span, first.function)


class _Builder:
    """The body of a kernel, grown call by call."""

    def __init__(self, tile: Access, shape: tuple[Size, ...], wanted: frozenset[int]) -> None:
        self.tile = tile
        self.shape = shape
        self.wanted = wanted
        self.body: list[Node] = []
        self.arguments: dict[str, Tensor] = {}
        #: What the values at hand come from, with the place they have in their storage, and the outside tensors loaded.
        self.origins: dict[int, tuple[Access, frozenset[int]]] = {}
        self.loaded: dict[tuple[int, Expr | None], int] = {}
        self.ids = 0

    def add(self, op: TorchOp) -> bool:
        """Append ``op``; False where an operand's layout is not known."""
        out = op.writes[0].shape
        statistic = out if out in _statistics(self.shape) else None
        depends: frozenset[int] = frozenset()
        for tensor in op.reads:
            place = self._place(tensor, statistic if op.kind != "reduce" else None)
            if place is None or tensor.dtype is None:
                return False
            if tensor.storage.id not in self.origins:
                depends |= {self._load(tensor, tensor.dtype, place, op)}
                continue
            made, origin = self.origins[tensor.storage.id]
            if not same_address(made, place):
                return False
            depends |= origin
        if op.kind == "reduce":
            rank = len(self.tile.shape)
            self.body.append(Reduce(op.name, self.tile.shape, rank - 1, rank == 1, depends, op.span))
        else:
            count = self.tile.elements // (self.tile.shape[-1] if statistic is not None else 1)
            assert op.writes[0].dtype is not None
            self.body.append(arithmetic(op, count, op.writes[0].dtype))
        for tensor in op.writes:
            place = self._place(tensor, statistic)
            if place is None or tensor.dtype is None:
                return False
            self.origins[tensor.storage.id] = (place, depends)
            if tensor.storage.id in self.wanted:
                self.ids += 1
                base = self._argument(tensor)
                self.body.append(
                    Store(self.ids, base, tensor.dtype, place.shape, place.offset, place.mask, op.span, depends)
                )
        return True

    def _load(self, tensor: Tensor, dtype: Dtype, place: Access, op: TorchOp) -> int:
        key = (tensor.storage.id, place.offset)
        if key not in self.loaded:
            self.ids += 1
            self.loaded[key] = self.ids
            base = self._argument(tensor)
            self.body.append(Load(self.ids, base, dtype, place.shape, place.offset, place.mask, op.span))
        return self.loaded[key]

    def _place(self, tensor: Tensor, statistic: tuple[Size, ...] | None) -> Access | None:
        seen = _as_row_value(tensor, statistic) if statistic is not None else tensor
        offset = broadcast_offset(seen, self.shape, Expr.atom(ELEMENT)) if seen is not None else None
        return placed(offset, self.tile) if offset is not None else None

    def _argument(self, tensor: Tensor) -> str:
        for name, known in self.arguments.items():
            if (known.storage.id, known.offset) == (tensor.storage.id, tensor.offset):
                return name
        name = f"p{len(self.arguments)}"
        self.arguments[name] = tensor
        return name
