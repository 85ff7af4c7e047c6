"""The Triton kernel that does a group of torch calls on the same rows at once, as an expert would lay it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernlint.headroom.groups import LONGEST_ROW
from kernlint.rules.fusion.pointwise import arithmetic, elements
from kernlint.rules.proofs.element_indexing import ELEMENT, broadcast_offset, placed, same_address
from kernlint.workload import (
    Dtype,
    Expr,
    Kernel,
    Lane,
    Launch,
    Load,
    Node,
    ProgramId,
    Reduce,
    Size,
    Span,
    Store,
    Tensor,
    TorchOp,
    concrete,
)
from kernlint.workload.dtype import FLOAT32
from kernlint.workload.expr import ceildiv, lift
from kernlint.workload.kernel import Access

#: Elements of a program that gives each thread of four warps a few vectors to load.
_TILE = 2048


def statistics(shape: tuple[Size, ...]) -> tuple[tuple[Size, ...], ...]:
    """The shapes that one value per row of ``shape`` can have."""
    return (shape[:-1], (*shape[:-1], 1)) if len(shape) > 1 else ()


def as_row_value(tensor: Tensor, out: tuple[Size, ...] | None) -> Tensor | None:
    """``tensor``, which broadcasts to the row statistic ``out``, as one that broadcasts to whole rows."""
    if tensor.shape is None or tensor.strides is None or out is None:
        return None
    if not tensor.shape or (concrete(tensor.shape[-1]) == 1 and concrete(out[-1]) == 1):
        return tensor
    return replace(tensor, shape=(*tensor.shape, 1), strides=(*tensor.strides, 1))


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


def row_kernel(members: Sequence[TorchOp], shape: tuple[Size, ...], wanted: frozenset[int]) -> Launch | None:
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
        statistic = out if out in statistics(self.shape) else None
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
        seen = as_row_value(tensor, statistic) if statistic is not None else tensor
        offset = broadcast_offset(seen, self.shape, Expr.atom(ELEMENT)) if seen is not None else None
        return placed(offset, self.tile) if offset is not None else None

    def _argument(self, tensor: Tensor) -> str:
        for name, known in self.arguments.items():
            if (known.storage.id, known.offset) == (tensor.storage.id, tensor.offset):
                return name
        name = f"p{len(self.arguments)}"
        self.arguments[name] = tensor
        return name
