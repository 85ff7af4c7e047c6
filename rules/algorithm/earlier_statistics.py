"""A statistic of each row from one step, moments about it from the next: two readings of the rows where one would do."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.algorithm.polynomial_sums import sums_polynomials
from kernlint.rules.finding import Context
from kernlint.rules.proofs.dataflow import may_use, storages, written_tensors
from kernlint.rules.proofs.step_graph import (
    sequences,
)
from kernlint.workload import (
    Atomic,
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
    Step,
    Store,
    Tensor,
)
from kernlint.workload.expr import Atom


@dataclass(frozen=True)
class RowWalk:
    """Where a loop reads a row: it begins at ``start``, has ``length`` elements, and lies ``lanes`` beside others in a tile."""

    start: Expr
    length: Size
    lanes: tuple[int, ...]


@dataclass(frozen=True)
class Statistic:
    """``maker`` reads the rows of ``rows`` for one value each, which the reader loads; ``again`` is the load in the
    reader's loop that reads the rows once more. ``about`` says that the loop works with the value, else it is wanted
    behind the loop only."""

    maker: Launch
    rows: Tensor
    again: Load
    about: bool


@dataclass(frozen=True)
class MomentsAbout:
    """``reader`` reads rows in ``loop`` of which there are ``statistics`` already: it sums polynomials about them, or needs them
    behind the loop only."""

    reader: Launch
    loop: Loop
    statistics: tuple[Statistic, ...]


def moments_about(context: Context) -> Iterator[MomentsAbout]:
    """The launches that sum moments about what an earlier step made of the same rows, or read them for another value."""
    workload = context.workload
    for steps, looped in sequences(workload.steps):
        for position, step in enumerate(steps):
            if isinstance(step, Launch) and not looped:
                loop, statistics = _statistics(steps, position) or (None, ())
                if loop is not None and not sums_polynomials(step.kernel, loop):
                    statistics = tuple(s for s in statistics if not s.about)
                if loop is not None and statistics:
                    yield MomentsAbout(step, loop, statistics)


# -- the proof --------------------------------------------------------------------------------------------------------


def _statistics(steps: tuple[Step, ...], position: int) -> tuple[Loop, tuple[Statistic, ...]] | None:
    """The loop of the launch at ``position`` and the earlier statistics that its sums are about; None where it does more."""
    reader = steps[position]
    if not isinstance(reader, Launch) or not reader.kernel.complete:
        return None
    loop = next((node for node in reader.kernel.body if isinstance(node, Loop)), None)
    if loop is None or any(isinstance(node, (Store, Atomic, Dot, Loop, Branch, Scan)) for node in loop.body):
        return None
    before = reader.kernel.body[: reader.kernel.body.index(loop)]
    found = []
    for load in reader.kernel.body:
        if isinstance(load, Load) and load.offset is not None and not _used(before, load.id):
            statistic = _statistic(steps, position, reader, loop, load)
            if statistic is not None:
                found.append(statistic)
    return (loop, tuple(found)) if found else None


def _used(nodes: tuple[Node, ...], load: int) -> bool:
    """Whether one of ``nodes`` does more with what ``load`` brings than compute."""
    for node in nodes:
        if isinstance(node, (Store, Atomic, Reduce)) and load in node.depends:
            return True
        if isinstance(node, (Load, Store, Atomic)) and load in node.through | node.tested:
            return True
        if isinstance(node, (Loop, Branch, Dot, Scan)):
            return True
    return False


def _statistic(steps: tuple[Step, ...], position: int, reader: Launch, loop: Loop, load: Load) -> Statistic | None:
    value = reader.tensor(load.base)
    if value is None or not load.dtype.is_float or value.storage.id in storages(written_tensors(reader)):
        return None
    maker = _maker(steps, position, value.storage.id)
    inner = [node for node in loop.body if isinstance(node, Load)]
    brings = reader.bound_to(value.storage.id)
    if maker is None or any(load.id in node.through | node.tested or node.base in brings for node in inner):
        return None
    # What the rows are reduced to, at once or behind the loop: on these alone they have a say.
    sums = [n for n in (*reader.kernel.body, *loop.body) if isinstance(n, Reduce) and n.depends & {x.id for x in inner}]
    about = any(load.id in node.depends for node in sums)
    special = any(isinstance(node, Compute) and node.kind == "special" and node.elements > 1 for node in loop.body)
    if about and (special or any(node.op != "sum" for node in sums if load.id in node.depends)):
        return None
    for again in inner:
        if not any(again.id in n.depends and (load.id in n.depends or not about) for n in sums):
            continue
        rows = reader.tensor(again.base)
        walk = _walk(again, loop)
        if walk is None or rows is None or load.shape not in (walk.lanes, (*walk.lanes, 1)):
            continue
        same = maker.grid == reader.grid and _makes(maker, rows, walk, value, load)
        # The rows must still be what the statistic was taken of.
        if same and not _changed(steps, maker, position, rows.storage.id):
            return Statistic(maker, rows, again, about)
    return None


def _maker(steps: tuple[Step, ...], position: int, storage: int) -> Launch | None:
    """The last step before ``position`` that writes ``storage``, when nobody reads it in between."""
    for step in reversed(steps[:position]):
        reads, writes = may_use(step)
        if storage in writes:
            return step if isinstance(step, Launch) else None
        awaited = step.reads if isinstance(step, HostSync) else None
        if storage in reads or (awaited is not None and awaited.storage.id == storage):
            return None
    return None


def _changed(steps: tuple[Step, ...], maker: Step, position: int, storage: int) -> bool:
    first = next(i for i, step in enumerate(steps) if step is maker)
    return any(storage in may_use(step)[1] for step in steps[first:position])


def _makes(maker: Launch, rows: Tensor, walk: RowWalk, value: Tensor, load: Load) -> bool:
    """Whether a program of ``maker`` reads the same rows as one of the reader, for what ``load`` brings, and does nothing
    else."""
    kernel = maker.kernel
    stores = kernel.stores()
    loads = kernel.loads()
    loops = [node for node in kernel.body if isinstance(node, Loop)]
    if not kernel.complete or len(stores) != 1 or len(loads) != 1 or len(loops) != 1 or stores[0] not in kernel.body:
        return False
    if kernel.has((Atomic, Dot, Branch, Scan)) or not kernel.has(Reduce):
        return False
    store, read = stores[0], loads[0]
    if not isinstance(store, Store) or not isinstance(read, Load) or not any(read is node for node in loops[0].body):
        return False
    source, target = maker.tensor(read.base), maker.tensor(store.base)
    if source is None or target is None or not _same_view(source, rows) or not _same_view(target, value):
        return False
    return (
        _walk(read, loops[0]) == walk
        and (store.shape, store.offset) == (load.shape, load.offset)
        and read.id in store.depends
    )


def _walk(load: Load, loop: Loop) -> RowWalk | None:
    """The rows that ``load`` reads in the rounds of ``loop``, tile after tile; None where it does not walk so."""
    if load.offset is None or not load.shape or not load.mask_known or load.through:
        return None
    lane, index = Lane(len(load.shape) - 1), LoopIndex(loop.id)
    tile = load.shape[-1]
    origin: dict[Atom, Size] = {lane: 0, index: 0}
    start = load.offset.substitute(origin)
    position = Expr.atom(lane) + Expr.atom(index) * tile
    if load.offset != start + position or {lane, index} & start.atoms() or loop.trip is None:
        return None
    length: Size = loop.trip * tile
    for left, right in load.mask or ():
        if left == position and not {lane, index} & right.atoms():
            length = right if right.value is None else right.value
        elif {lane, index} & (left.atoms() | right.atoms()):
            return None
    return RowWalk(start, length, load.shape[:-1])


def _same_view(a: Tensor, b: Tensor) -> bool:
    return (a.storage.id, a.offset, a.dtype) == (b.storage.id, b.offset, b.dtype)
