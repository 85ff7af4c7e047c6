"""A kernel whose programs each take several neighbours along one program index, as one more axis of their tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.rules.proofs.indices import Indices, program_indices
from kernlint.workload import (
    Access,
    Branch,
    Compute,
    Dot,
    Kernel,
    Launch,
    Loop,
    Node,
    Reduce,
    Scan,
    Size,
    Span,
    Workload,
    concrete,
)
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, ProgramId, ceildiv, floordiv, lift, mod, simplify
from kernlint.workload.steps import map_launch


@dataclass(frozen=True)
class Rows:
    """The axis that a kernel's 1-D tile walks: tiles of ``tile`` elements, stepped through by ``step`` (a loop or a program
    index; None where one tile covers it), ``count`` elements in all."""

    tile: int
    step: LoopIndex | ProgramId | None
    count: int


def can_widen(kernel: Kernel) -> bool:
    """Whether every node of ``kernel`` means the same for a tile with one more axis: 1-D tiles, no dot, scan or branch."""
    if not kernel.complete or any(True for _ in kernel.walk((Dot, Scan, Branch))):
        return False
    if any(loop.kind == "while" for loop, _ in kernel.walk(Loop)):  # type: ignore[union-attr]
        return False
    return all(len(a.shape) <= 1 and a.offset is not None for a, _ in kernel.walk(Access))  # type: ignore[union-attr]


def rows_of(launch: Launch, indices: Indices) -> Rows | None:
    """What the 1-D tiles of ``launch`` step along; None where they differ or their end is not known."""
    tiles = {a.elements for a, _ in launch.kernel.walk(Access) if a.elements > 1}  # type: ignore[union-attr]
    if len(tiles) != 1:
        return None
    tile = tiles.pop()
    steps: dict[LoopIndex | ProgramId, Size | None] = dict(indices.extents.items())
    steps |= {LoopIndex(loop.id): loop.trip for loop, _ in launch.kernel.walk(Loop)}  # type: ignore[union-attr]
    for step, extent in steps.items():
        if concrete(extent) is not None and all(_steps_along(e, step, tile) for e in _expressions(launch, indices)):
            bounds = [_bound(mask, step, tile) for mask in _masks(launch, indices)]
            known = [bound for bound in bounds if bound is not None]
            count = min(known) if known else tile * (concrete(extent) or 1)
            return Rows(tile, step, count)
    ends = {gap + Expr.atom(Lane(0)) for gap in _masks(launch, indices) if Lane(0) in gap.atoms()}
    if len(ends) > 1:
        return None
    end = next(iter(ends)).value if ends else tile
    return Rows(tile, None, min(tile, end)) if end is not None and end > 0 else None


@dataclass(frozen=True)
class Widened:
    """The workload with one launch widened: ``width`` neighbours along the program index ``axis`` (as named by
    :func:`~kernlint.rules.proofs.indices.program_indices`) are an inner tile axis, and ``rows`` elements, not the whole tile,
    the outer one, where the tile steps along something."""

    launch: Span
    axis: ProgramId
    width: int
    rows: int
    num_warps: int

    def __call__(self, workload: Workload) -> Workload:
        return map_launch(workload, self.launch, self._widened)

    def _widened(self, launch: Launch) -> Launch:
        indices = program_indices(launch)
        extent = indices.extents.get(self.axis)
        if extent is None or not can_widen(launch.kernel):
            return launch
        along = rows_of(launch, indices)
        extents = {**indices.extents, self.axis: ceildiv(extent, self.width)}
        if along is not None and isinstance(along.step, ProgramId):
            extents[along.step] = ceildiv(along.count, self.rows)
        grid, places = _regrid(launch, indices, extents)
        widened = launch.rewritten(lambda node: self._node(node, indices, extent, along, places))
        return replace(widened, grid=grid, num_warps=self.num_warps, alternatives=())

    def _node(
        self, node: Node, indices: Indices, extent: Size, along: Rows | None, places: Mapping[Atom, Size]
    ) -> Node:
        def change(expr: Expr, lane: Lane) -> Expr:
            moved = indices.rewrite(expr)
            if along is not None and along.step is not None:
                stride = moved.coefficient(along.step)
                if stride is not None and stride.terms:
                    scaled = Expr({m: c * self.rows // along.tile for m, c in stride.terms.items()})
                    moved = moved + (scaled - stride) * Expr.atom(along.step)
            column = Expr.atom(self.axis) * self.width + Expr.atom(lane)
            return moved.substitute({self.axis: column}).substitute(places)

        if isinstance(node, Access) and node.offset is not None:
            shape = tuple(self.rows if along is not None and n == along.tile else n for n in node.shape)
            lane = Lane(len(shape))
            widened = self.axis in indices.rewrite(node.offset).atoms()
            mask = node.mask and tuple((change(left, lane), change(right, lane)) for left, right in node.mask)
            if widened and mod(extent, self.width) != 0:
                column = (Expr.atom(self.axis) * self.width + Expr.atom(lane)).substitute(places)
                mask = (*(mask or ()), (column, lift(extent)))
            return replace(
                node, offset=change(node.offset, lane), mask=mask, shape=(*shape, self.width) if widened else shape
            )
        if isinstance(node, Loop):
            if along is not None and along.step == LoopIndex(node.id):
                return replace(node, trip=ceildiv(along.count, self.rows))
            return replace(node, trip=change(node.trip, Lane(0))) if isinstance(node.trip, Expr) else node
        if isinstance(node, Reduce):
            return replace(node, shape=(*(self._rows(n, along) for n in node.shape), self.width), axis=0, scalar=False)
        if isinstance(node, Compute):
            return replace(node, elements=self._rows(node.elements, along) * self.width)
        return node

    def _rows(self, elements: int, along: Rows | None) -> int:
        return self.rows if along is not None and elements == along.tile else elements


def _regrid(
    launch: Launch, indices: Indices, extents: Mapping[ProgramId, Size]
) -> tuple[tuple[Size, ...], Mapping[Atom, Size]]:
    """The grid of these ``extents``, and what digits of split program ids are in terms of its program ids."""
    splits = {split.axis: split for split in indices.splits}
    grid: list[Size] = []
    places: dict[Atom, Size] = {}
    for axis in range(len(launch.grid)):
        if axis not in splits:
            grid.append(extents[ProgramId(axis)])
            continue
        split = splits[axis]
        program, divisor = Expr.atom(ProgramId(axis)), extents[split.low]
        places[split.high], places[split.low] = floordiv(program, divisor), mod(program, divisor)
        grid.append(simplify(lift(extents[split.high]) * divisor))
    return tuple(grid), places


def _expressions(launch: Launch, indices: Indices) -> list[Expr]:
    offsets = [indices.rewrite(a.offset) for a, _ in launch.kernel.walk(Access) if a.offset is not None]  # type: ignore[union-attr]
    return offsets + _masks(launch, indices)


def _masks(launch: Launch, indices: Indices) -> list[Expr]:
    """``right - left`` of every bound."""
    return [
        indices.rewrite(right - left)
        for access, _ in launch.kernel.walk(Access)
        for left, right in access.mask or ()  # type: ignore[union-attr]
    ]


def _steps_along(expr: Expr, step: LoopIndex | ProgramId, tile: int) -> bool:
    """Whether ``expr`` moves with ``step`` exactly as far as with ``tile`` lanes (perhaps not at all)."""
    by_lane, by_step = expr.coefficient(Lane(0)), expr.coefficient(step)
    return by_lane is not None and by_step is not None and by_step == by_lane * tile


def _bound(gap: Expr, step: LoopIndex | ProgramId, tile: int) -> int | None:
    """N where ``gap`` is N - (lane + tile * step)."""
    rest = gap + Expr.atom(Lane(0)) + Expr.atom(step) * tile
    return rest.value
