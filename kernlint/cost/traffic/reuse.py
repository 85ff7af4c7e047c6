"""What executions of one access have in common: over loops, over the grid, between accesses of one storage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from kernlint.cost.traffic.model import SECTOR_BYTES, AccessTraffic
from kernlint.cost.traffic.probe import Probe
from kernlint.cost.traffic.sectors import Tile, _sectors_of_run, reach_of
from kernlint.records import dataclass, replace
from kernlint.workload import (
    Atomic,
    Expr,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    ProgramId,
    Size,
    Store,
    Tensor,
    concrete,
)


@dataclass(frozen=True)
class Met:
    """What one program touches over all its iterations, in bytes: ``distinct`` once each; ``near`` when it remembers only the
    iteration before, as an L1 of ``window`` bytes does that is shared with other programs. The addresses lie within ``reach``
    elements."""

    distinct: float
    near: float
    window: float
    reach: float


def over_loops(
    access: Load | Store | Atomic, offset: Expr, sectors: float, tile: Tile, loops: tuple[Loop, ...], probe: Probe
) -> Met:
    """The ``sectors`` of ``tile`` in all iterations: new addresses only where the offset moves with the loop."""
    size, start = access.dtype.bytes, probe.at(offset)
    assert start is not None
    atoms = offset.atoms()
    distinct = near = window = sectors * SECTOR_BYTES
    pitch = tile.pitch
    reach = reach_of(offset, start, [Lane(dim) for dim in range(len(access.shape))], access.shape, probe)
    for loop in reversed(loops):
        trip = probe.trips[loop.id]
        atom = LoopIndex(loop.id)
        if trip <= 1:
            distinct, near = distinct * max(0.0, trip), near * max(0.0, trip)
            continue
        if atom not in atoms:
            window = max(window, near)
            continue
        one = probe.moved(offset, atom, probe.coordinate(atom) + 1)
        last = probe.moved(offset, atom, trip - 1)
        first = probe.moved(offset, atom, 0.0)
        if one is None or last is None or first is None:
            distinct, near = distinct * trip, near * trip
            continue
        advance = abs(one - start) * size
        fresh = fresh_bytes(distinct, advance, (reach + 1) * size, tile.run, pitch)
        pitch = 0.0  # what lay between the runs may be filled now
        if fresh < near:
            window = max(window, near)
        near = min(near * trip, near + (trip - 1) * min(near, fresh))
        distinct += (trip - 1) * fresh
        reach += abs(last - first)
    return Met(distinct, near, window, reach)


def over_grid(offset: Expr, program_bytes: float, reach: float, probe: Probe) -> tuple[float, float, frozenset[int]]:
    """(bytes that all programs touch, elements that they lie within, the axes whose programs touch the same ones)."""
    footprint = program_bytes
    shared = []
    atoms = offset.atoms()
    for axis, extent in enumerate(probe.grid):
        pid = ProgramId(axis)
        if pid not in atoms:
            shared.append(axis)
            continue
        footprint *= extent
        first, last = probe.moved(offset, pid, 0.0), probe.moved(offset, pid, extent - 1.0)
        reach += math.inf if first is None or last is None or offset.coefficient(pid) is None else abs(last - first)
    return footprint, reach, frozenset(shared)


def fresh_bytes(distinct: float, advance: float, span: float, run: float, pitch: float = 0.0) -> float:
    """Bytes of whole sectors that a window of ``distinct`` bytes within ``span`` meets for the first time when it moves on by
    ``advance`` bytes: a part of each of its runs of ``run`` bytes where it moves by less (a convolution, a lane that walks
    along a row), as many runs as come in where it moves by those ``pitch`` bytes apart (a window of rows), everything where they come to
    lie between those (half rows), all of a dense window (a scalar walk) by as much as it moves, else everything."""
    if advance < max(run, SECTOR_BYTES):
        return distinct * advance / max(run, SECTOR_BYTES)
    if pitch and advance % pitch == 0:
        return min(distinct, advance / pitch * max(run, SECTOR_BYTES))
    between = run <= advance % pitch <= pitch - run if pitch else False
    return min(distinct, advance) if distinct >= 0.5 * span and not between else distinct


def share_windows(accesses: list[AccessTraffic]) -> list[AccessTraffic]:
    """Loads whose offsets differ by a constant only and whose windows overlap: each gets its part of their union. Stores write each for
    itself, close enough in time to fill sectors together."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, access in enumerate(accesses):
        offset = access.access.offset
        if access.kind != "atomic" and (access.known or access.gather) and offset is not None:
            moving = offset - offset.terms.get((), 0)
            key = access.kind, access.base, access.access.shape, access.executions, moving
            groups.setdefault(key, []).append(index)
    result = list(accesses)
    for members in groups.values():
        if len(members) < 2:
            continue
        share, kept = union_share([accesses[index] for index in members])
        met: Counter[tuple[float, ...]] = Counter()
        for index in members:
            access = replace(accesses[index], together=share)
            if access.kind == "store":
                result[index] = access
                continue
            again = access.window_bytes > access.sectors * SECTOR_BYTES  # the next turn of a loop comes back to it
            window = access.window_bytes * share if again else kept / len(members)
            # Those that coincide have a part each too: none of them is another come again.
            signature = (*access.signature, *[0.0] * met[access.signature])
            met[access.signature] += 1
            result[index] = replace(
                access, signature=signature, program_bytes=access.program_bytes * share, near_bytes=access.near_bytes * share,
                window_bytes=window, footprint_bytes=access.footprint_bytes * share, twins=len(members),
            )  # fmt: skip
    return result


#: Runs of a tile that are laid side by side one by one; a tile of more counts as one run from its first to its last byte.
_MOST_RUNS = 512


def union_share(twins: Sequence[AccessTraffic]) -> tuple[float, float]:
    """Sectors that ``twins`` touch together in one execution, over the sum of what each touches: 1 / their number where
    they all coincide; and the bytes that are touched in the mean before a twin comes back to a sector. Twins have the same shape and
    strides; their ``signature`` begins with where each starts."""
    first = twins[0]
    size = first.access.dtype.bytes
    if not first.known:
        return _gathered_share(twins), first.sectors * SECTOR_BYTES
    starts = [access.signature[0] * size for access in twins]
    each = max(access.sectors for access in twins) * SECTOR_BYTES
    runs = _runs(first)
    if runs is None:
        together = min(each + max(starts) - min(starts), each * len(twins))
        return (together / (each * len(twins)) if each else 1.0), together
    offsets, length = runs
    touched: dict[int, int] = {}  # the sectors with how many there were when each was last touched
    alone, distances = 0, 0
    for start in starts:
        own = [
            sector
            for offset in offsets
            for sector in range(
                int(start + offset) // SECTOR_BYTES, int(start + offset + length - 1) // SECTOR_BYTES + 1
            )
        ]
        before = len(touched)
        distances += sum(len(own) + before - touched[sector] for sector in own if sector in touched)
        touched.update(dict.fromkeys(own, len(touched.keys() | own)))
        alone += len(own)
    return len(touched) / alone, SECTOR_BYTES * distances / max(1, alone - len(touched))


def _gathered_share(twins: Sequence[AccessTraffic]) -> float:
    """The same for loads around one loaded index (the coordinates of a point): each index picks a window of its own."""
    first = twins[0]
    size = first.access.dtype.bytes
    starts = [access.access.offset.terms.get((), 0) * size for access in twins if access.access.offset is not None]
    length = max(starts) - min(starts) + first.contiguous_bytes
    alone = _sectors_of_run(first.contiguous_bytes, size, aligned=False) * len(twins)
    return min(1.0, _sectors_of_run(length, size, aligned=False) / alone)


def _runs(access: AccessTraffic) -> tuple[list[float], float] | None:
    """Where the runs of neighbouring bytes of a tile begin, in bytes from its start, and their length; None where its
    strides are not constant or the runs too many."""
    if access.strides is None:
        return None
    dims = sorted((abs(stride), extent) for stride, extent in zip(access.strides, access.access.shape) if extent > 1)
    offsets, length = [0.0], float(access.access.dtype.bytes)
    for stride, extent in dims:
        if stride <= length or (stride < SECTOR_BYTES and offsets == [0.0]):
            length += (extent - 1) * stride
        elif len(offsets) * extent <= _MOST_RUNS:
            offsets = [offset + i * stride for offset in offsets for i in range(extent)]
        else:
            return None
    return offsets, length


def span_bytes(tensor: Tensor | None) -> float:
    """Bytes between a tensor's first and last element in memory, gaps included; infinite when not known."""
    if tensor is None or tensor.shape is None or tensor.dtype is None:
        return math.inf
    strides: Sequence[Size] | None = tensor.strides
    if strides is None:
        return math.inf if tensor.nbytes is None else float(tensor.nbytes)
    reach = 0
    for extent, stride in zip(tensor.shape, strides):
        n, s = concrete(extent), concrete(stride)
        if n is None or s is None:
            return math.inf
        if n <= 0:
            return 0.0
        reach += (n - 1) * abs(s)
    return float((reach + 1) * tensor.dtype.bytes)


def footprints(accesses: Sequence[AccessTraffic], launch: Launch) -> dict[str, float]:
    """Distinct bytes per base: accesses that walk the same addresses count once, all are capped by the tensor."""
    groups: dict[str, dict[tuple[float, ...], float]] = {}
    for access in accesses:
        group = groups.setdefault(access.base, {})
        group[access.signature] = max(group.get(access.signature, 0.0), access.footprint_bytes)
    return {base: min(sum(group.values()), span_bytes(launch.tensor(base))) for base, group in groups.items()}
