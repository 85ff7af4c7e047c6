"""Row statistics that torch computes for a kernel which holds those rows itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.rules.fusion.torch_groups import Group, group_at
from kernlint.rules.proofs.dataflow import may_use, storages, written_tensors
from kernlint.rules.proofs.element_indexing import settled
from kernlint.rules.proofs.step_graph import Place, needed_elsewhere, replaced, without_allocations
from kernlint.workload import (
    Atomic,
    Compute,
    Launch,
    Load,
    Node,
    Reduce,
    Size,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload.expr import Atom, Expr, Lane, floordiv, lift
from kernlint.workload.kernel import Access, rewrite


def absorbing_launch(workload: Workload, group: Group) -> Launch | None:
    """The launch that could compute what ``group`` does: it is the first to read the group's results, one value for each row,
    and it loads whole rows of the one tensor that the group works on, outside of any loop."""
    ops = group.ops
    made = {t.storage.id for op in ops for t in op.writes}
    results = made - {t.storage.id for t in group.inner}
    if not group.reduces or len(group.reads) != 1 or len(results) != 1:
        return None
    launch = _reader(workload, ops, results)
    if launch is None or not launch.kernel.complete or launch.autotuned:
        return None
    return launch if rows_load(launch, group) is not None else None


def _reader(workload: Workload, ops: Sequence[TorchOp], results: set[int]) -> Launch | None:
    """The launch that is the first step behind ``ops`` to use the results, while what they were made from is as it was."""
    steps = list(workload.steps)
    if not all(any(step is op for step in steps) for op in ops):
        return None
    last = next(i for i, step in enumerate(steps) if step is ops[-1])
    sources = {t.storage.id for op in ops for t in op.reads}
    for step in steps[last + 1 :]:
        reads, writes = may_use(step)
        if results & (reads | writes):
            return step if isinstance(step, Launch) and not results & storages(written_tensors(step)) else None
        if writes & sources:
            return None
    return None


def rows_load(launch: Launch, group: Group) -> Load | None:
    """The load of ``launch`` that brings whole rows of the tensor which ``group`` reduces: one row or several along the last
    axis of the tile, each with the value that belongs to it."""
    columns = concrete(group.shape[-1])
    for load in launch.kernel.body:
        if not isinstance(load, Load) or load.offset is None or not columns or not load.shape:
            continue
        tensor = launch.tensor(load.base)
        if tensor is None or tensor.storage.id != group.reads[0].storage.id or not tensor.is_contiguous:
            continue
        dim = len(load.shape) - 1
        inner = Expr.atom(Lane(dim))
        start = load.offset - inner
        if Lane(dim) in start.atoms() or any(c % columns for c in start.terms.values()):
            continue
        mask = load.mask or ()
        one = load.shape[dim] == columns or ((inner, Expr.constant(columns)) in mask and load.shape[dim] >= columns)
        several = load.shape[dim] % columns == 0 and all(_ends_rows(bound, dim, columns) for bound in mask)
        if (one or (several and load.mask_known)) and _own_values(launch, group, load, columns):
            return load
    return None


def _ends_rows(bound: tuple[Expr, Expr], dim: int, columns: int) -> bool:
    """Whether a mask cuts nowhere within a row: it does not look at the last axis, or ends with a row."""
    left, right = bound
    rest = left - Expr.atom(Lane(dim))
    return Lane(dim) not in left.atoms() | right.atoms() or (
        Lane(dim) not in rest.atoms() and all(c % columns == 0 for e in (rest, right) for c in e.terms.values())
    )


def _own_values(launch: Launch, group: Group, rows: Load, columns: int) -> bool:
    """Whether what ``launch`` loads of the group's results is, lane for lane, that of the row which the lane is in."""
    assert rows.offset is not None
    results = _results(group)
    own = settled(lift(floordiv(rows.offset, columns)), rows)
    loads = [load for load, _ in launch.kernel.walk(Load) if isinstance(load, Load) and _of(launch, load, results)]
    # A vector beside a square tile may lie along either axis.
    square = len(set(rows.shape)) < len(rows.shape)
    return bool(loads) and all(
        load.offset is not None
        and settled(load.offset, rows) == own
        and not (square and load.shape and len(load.shape) < len(rows.shape))
        for load in loads
    )


def results_kept(workload: Workload, group: Group, launch: Launch) -> frozenset[int]:
    """The storages of what ``group`` makes that something other than ``launch`` wants too, so that it has to store them."""
    members = {*(id(op) for op in group.ops), id(launch)}
    return needed_elsewhere(workload, frozenset(_results(group)), members, launch, False)


def _results(group: Group) -> set[int]:
    """The storages of what ``group`` makes that is wanted in memory."""
    return {t.storage.id for op in group.ops for t in op.writes} - {t.storage.id for t in group.inner}


def _of(launch: Launch, node: Node, storages: set[int]) -> bool:
    """Whether ``node`` accesses one of ``storages``."""
    tensor = launch.tensor(node.base) if isinstance(node, Access) else None
    return tensor is not None and tensor.storage.id in storages


@dataclass(frozen=True)
class IntoLaunch:
    """The workload with the torch calls at ``places`` done by the launch that reads their results."""

    places: tuple[Place, ...]

    def __call__(self, workload: Workload) -> Workload:
        group = group_at(workload, self.places)
        launch = absorbing_launch(workload, group) if group is not None else None
        if group is None or launch is None:
            return workload
        kept = results_kept(workload, group, launch)
        gone: list[Step] = [*group.ops, launch]
        fused = replace(workload, steps=replaced(workload.steps, gone, _with_statistics(launch, group, kept)))
        return without_allocations(fused, {t.storage.id for op in group.ops for t in op.writes})


def _with_statistics(launch: Launch, group: Group, kept: frozenset[int]) -> Launch:
    """``launch`` with the arithmetic and reductions of ``group`` behind the load of the rows, without the loads of results;
    those that are ``kept`` are stored instead."""
    rows = rows_load(launch, group)
    columns = concrete(group.shape[-1])
    assert rows is not None
    assert columns
    results = _results(group)
    whole = next((n.elements for n, _ in group.fused.kernel.walk(Load)), 1)  # type: ignore[union-attr]
    several = rows.shape[-1] > columns
    tile = (*rows.shape[:-1], rows.shape[-1] // columns, columns) if several else rows.shape
    made: list[Node] = []
    for node in group.fused.kernel.body:
        if isinstance(node, Compute):
            made.append(replace(node, elements=max(1, node.elements * rows.elements // whole)))
        elif isinstance(node, Reduce):
            made.append(replace(node, shape=tile, axis=len(tile) - 1, scalar=len(tile) == 1))
    for load, _ in launch.kernel.walk(Load):
        if isinstance(load, Load) and _of(launch, load, set(kept)):
            made.append(_value_store(load, rows, columns, several))
            kept -= {t.storage.id for t in [launch.tensor(load.base)] if t is not None}

    def change(node: Node) -> Node | None:
        if isinstance(node, Load) and _of(launch, node, results):
            return None
        # The rows get an axis of their own, so that each is reduced within a warp.
        return (
            _by_rows(node, tile)
            if several and isinstance(node, (Load, Store, Atomic)) and node.shape == rows.shape
            else node
        )

    body: list[Node] = []
    for node in rewrite(launch.kernel.body, change):
        body.append(node)
        if isinstance(node, Load) and node.id == rows.id:
            body += made
    stored = {node.base for node in made if isinstance(node, Store)}
    arguments = {
        n: v
        for n, v in launch.arguments.items()
        if n in stored or not (isinstance(v, Tensor) and v.storage.id in results)
    }
    return replace(launch, kernel=replace(launch.kernel, body=tuple(body)), arguments=arguments)


def _by_rows(access: Load | Store | Atomic, tile: tuple[int, ...]) -> Load | Store | Atomic:
    """``access`` with its last axis split in two, so that it has the shape ``tile``."""
    last = len(access.shape) - 1
    apart: dict[Atom, Size] = {Lane(last): Expr.atom(Lane(last)) * tile[-1] + Expr.atom(Lane(last + 1))}
    offset = access.offset.substitute(apart) if access.offset is not None else None
    mask = access.mask
    if mask is not None:
        mask = tuple((a.substitute(apart), b.substitute(apart)) for a, b in mask)
    return replace(access, shape=tile, offset=offset, mask=mask)


def _value_store(load: Load, rows: Load, columns: int, several: bool) -> Store:
    """The store of the values, one for each row of the tile ``rows``, that ``load`` would have read."""
    depends = frozenset({rows.id})
    if not several or load.offset is None or rows.offset is None:
        return Store(load.id, load.base, load.dtype, load.shape, load.offset, load.mask, load.span, depends=depends)
    last = len(rows.shape) - 1
    shape = (*rows.shape[:-1], rows.shape[-1] // columns)
    first: dict[Atom, Size] = {Lane(last): Expr.atom(Lane(last)) * columns}
    offset = lift(floordiv(rows.offset.substitute(first), columns))
    mask = tuple((a.substitute(first), b.substitute(first)) for a, b in rows.mask) if rows.mask is not None else None
    return Store(load.id, load.base, load.dtype, shape, offset, mask, load.span, depends=depends)
