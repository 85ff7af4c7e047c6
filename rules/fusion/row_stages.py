"""Launches that are stages of one computation on rows: what a stage reads of what the ones before wrote lies in the same row.

Each row then goes through all stages on its own, so that one program can take it through them on chip, though the stages hand
elements to other lanes and other programs than those that wrote them (butterflies, bitonic sorts, doubling scans).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from kernlint.cost.evaluate import Point, evaluator, origin, slot
from kernlint.records import dataclass
from kernlint.rules.fusion.chains import chains
from kernlint.rules.proofs.dataflow import storages, written_tensors
from kernlint.rules.proofs.step_graph import (
    sequences,
)
from kernlint.workload import (
    Compute,
    Expr,
    Lane,
    Launch,
    Load,
    ProgramId,
    Step,
    Store,
    Symbol,
    Tensor,
    Workload,
)
from kernlint.workload.access import Access
from kernlint.workload.expr import Atom, Size
from kernlint.workload.steps import allocates

#: Bytes of a row in all tensors that a program may hold in its registers.
_MOST_BYTES = 64 * 1024
#: Programs of a launch after which its addresses must repeat, a row or some further on.
_LONGEST_PERIOD = 256
#: Lanes of one access that are looked at.
_MOST_LANES = 1 << 15
_BLOCK = Symbol("block of programs")


@dataclass(frozen=True)
class RowStages:
    """``steps`` that take ``rows`` rows of ``row`` elements from stage to stage through ``between``, the tensors that they both
    write and read."""

    steps: tuple[Launch, ...]
    row: int
    rows: int
    between: tuple[Tensor, ...]


def row_stages(workload: Workload) -> Iterator[RowStages]:
    """The longest runs of such launches, in program order. Those that hand elements on to the lanes which hold them already are
    chains, and are left to other rules."""
    chained: list[set[int]] | None = None
    for steps, _ in sequences(workload.steps):
        start = 0
        while start < len(steps):
            run = _run(steps, start)
            found = _longest(run) if run else None
            if found is not None:
                if chained is None:
                    chained = [{id(step) for step in chain.steps} for chain in workload.once(chains)]
                if not any({id(step) for step in found.steps} <= members for members in chained):
                    yield found
                start = 1 + max(i for i, step in enumerate(steps) if any(step is one for one in found.steps))
            else:
                start += 1


def _run(steps: Sequence[Step], start: int) -> list[Launch]:
    """The launches from ``steps[start]`` on, nothing but allocations between them, each of which reads what one before it
    wrote."""
    run: list[Launch] = []
    written: set[int] = set()
    for step in steps[start:]:
        if allocates(step) and run:
            continue
        if not isinstance(step, Launch) or not _is_stage(step):
            break
        if run and not written & _storages(step, Load):
            break
        run.append(step)
        written |= storages(written_tensors(step))
    return run if _exchanges(run) else []


def _exchanges(run: list[Launch]) -> bool:
    """Whether a launch of ``run`` loads from elsewhere than the lanes before it stored to."""
    stored: dict[int, set[Expr | None]] = {}
    for step in run:
        for load in _accesses(step, Load):
            offsets = stored.get(_tensor(step, load).storage.id)
            if offsets is not None and load.offset not in offsets:
                return True
        for store in _accesses(step, Store):
            stored.setdefault(_tensor(step, store).storage.id, set()).add(store.offset)
    return False


def _is_stage(step: Launch) -> bool:
    """Straight arithmetic on tiles, every address of which is known."""
    kernel = step.kernel
    return (
        kernel.complete and not step.autotuned and not kernel.may_leave and not kernel.assumed
        and all(isinstance(node, (Load, Store, Compute)) for node in kernel.body)
        and all(node.offset is not None and step.tensor(node.base) is not None for node in _accesses(step))
    )  # fmt: skip


def _accesses(step: Launch, kind: type[Access] = Access) -> list[Access]:
    return [node for node in step.kernel.body if isinstance(node, kind)]


def _tensor(step: Launch, access: Access) -> Tensor:
    tensor = step.tensor(access.base)
    assert tensor is not None
    return tensor


def _storages(step: Launch, kind: type[Access]) -> set[int]:
    return {_tensor(step, access).storage.id for access in _accesses(step, kind)}


def _longest(run: list[Launch]) -> RowStages | None:
    """The longest beginning of ``run`` that works row by row, in the shortest rows that hold it."""
    best: RowStages | None = None
    for row in _row_lengths(run[0]):
        proven: dict[tuple[int, frozenset[int]], bool] = {}
        for count in (len(run), *range(2, len(run))):
            found = _stages(run[:count], row, proven)
            if found is not None and (best is None or count > len(best.steps)):
                best = found
            if (found is None) == (count < len(run)):
                break
        if best is not None and len(best.steps) == len(run):
            break
    return best


def _row_lengths(step: Launch) -> list[int]:
    """What may be a row of what ``step`` writes: trailing dimensions, or parts of a tensor of one dimension."""
    stored = _accesses(step, Store)
    extents = _tensor(step, stored[0]).extents if stored else None
    if not extents or min(extents) < 1:
        return []
    total = math.prod(extents)
    if len(extents) == 1:
        found = [1 << n for n in range(5, 15) if total % (1 << n) == 0]
    else:
        found = [math.prod(extents[-n:]) for n in range(1, len(extents))]
    return [row for row in found if 1 < row < total]


def _stages(steps: list[Launch], row: int, proven: dict[tuple[int, frozenset[int]], bool]) -> RowStages | None:
    """``steps`` as stages on rows of ``row`` elements; None where one does not stay in its row. ``proven`` remembers the answer
    for a launch and the storages that the stages write."""
    written = {
        id: tensor
        for step in steps
        for a in _accesses(step, Store)
        for tensor in [_tensor(step, a)]
        for id in [tensor.storage.id]
    }
    numels = {tensor.numel for tensor in written.values()}
    total = numels.pop() if len(numels) == 1 else None
    if total is None or total % row or not all(_is_whole(tensor) for tensor in written.values()):
        return None
    held = set(written)
    touched: list[list[Access]] = []
    for step in steps:
        others = [a for a in _accesses(step, Load) if _tensor(step, a).storage.id not in written]
        apart = [a for a in others if not _is_small(step, a, row)]
        if any(_tensor(step, a).numel != total or not _is_whole(_tensor(step, a)) for a in apart):
            return None
        held |= {_tensor(step, a).storage.id for a in apart}
        touched.append([a for a in _accesses(step) if a not in others or a in apart])
    size = max(tensor.dtype.bytes for tensor in written.values() if tensor.dtype is not None)
    if row * size * len(held) > _MOST_BYTES:
        return None
    for step, accesses in zip(steps, touched):
        key = (id(step), frozenset(written))
        if key not in proven:
            proven[key] = _stays_in_rows(accesses, row)
        if not proven[key]:
            return None
    read_back = set().union(*(_storages(step, Load) for step in steps[1:]))
    between = tuple(tensor for id, tensor in written.items() if id in read_back)
    return RowStages(tuple(steps), row, total // row, between)


def _is_whole(tensor: Tensor) -> bool:
    return tensor.offset == 0 and tensor.is_contiguous is True and tensor.dtype is not None


def _is_small(step: Launch, access: Access, row: int) -> bool:
    """One value, or a table of no more than a row."""
    numel = _tensor(step, access).numel
    return access.elements == 1 or (numel is not None and numel <= row)


# -- the proof ---------------------------------------------------------------------------------------------------------


def _stays_in_rows(accesses: list[Access], row: int) -> bool:
    """Whether all that a lane touches lies in one row of ``row`` elements, in every program."""
    shapes = {access.shape for access in accesses if access.elements > 1}
    if len(shapes) > 1 or any(access.elements > _MOST_LANES for access in accesses):
        return False
    shape = shapes.pop() if shapes else ()
    period = 1
    while period <= _LONGEST_PERIOD:
        moved = [[_within_period(access, period, turn, row) for access in accesses] for turn in range(period)]
        if all(one is not None for turn in moved for one in turn):
            return all(_alike(turn, shape, row) for turn in moved)  # type: ignore[arg-type]
        period *= 2
    return False


@dataclass(frozen=True)
class _Moved:
    """An access in the programs whose first index is the same within a period: its offset but for whole rows, and those bounds
    of its mask that are the same in all of them."""

    offset: Expr
    bounds: tuple[tuple[Expr, Expr], ...]


def _within_period(access: Access, period: int, turn: int, row: int) -> _Moved | None:
    """``access`` in the programs ``turn``, ``turn + period`` ...; None where these are not some whole rows apart."""
    values: dict[Atom, Size] = {ProgramId(0): Expr.atom(_BLOCK) * period + turn}
    assert access.offset is not None
    rest = access.offset.substitute(values)
    for mover in (_BLOCK, ProgramId(1), ProgramId(2)):
        step = rest.coefficient(mover)
        if step is None or step.value is None or step.value % row:
            return None
        rest = rest - Expr.atom(mover) * step
    if any(not isinstance(atom, Lane) and slot(atom) is not None for atom in rest.atoms()):
        return None  # an iteration, or a program inside a division
    bounds = [(a.substitute(values), b.substitute(values)) for a, b in access.mask or ()]
    fixed = [
        (a, b)
        for a, b in bounds
        if not any(atom == _BLOCK or isinstance(atom, ProgramId) for atom in (*a.atoms(), *b.atoms()))
    ]
    return _Moved(rest, tuple(fixed))


def _alike(moved: list[_Moved], shape: tuple[int, ...], row: int) -> bool:
    """Whether the accesses of each lane lie in the same row."""
    offsets = [evaluator(one.offset) for one in moved]
    masks = [[(evaluator(a), evaluator(b)) for a, b in one.bounds] for one in moved]
    slots = [slot(Lane(dim)) for dim in range(len(shape))]
    for lanes in itertools.product(*map(range, shape)):
        point: Point = origin()
        for where, value in zip(slots, lanes):
            assert where is not None
            point[where] = value
        rows = set()
        for offset, mask in zip(offsets, masks):
            if any(
                a is not None and b is not None and a >= b
                for a, b in ((left(point), right(point)) for left, right in mask)
            ):
                continue  # masked out in every one of these programs
            place = offset(point)
            if place is None:
                return False
            rows.add(place // row)
        if len(rows) > 1:
            return False
    return True
