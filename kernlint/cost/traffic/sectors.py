"""The sectors that the lanes of one access touch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernlint.cost.evaluate import Point, evaluator
from kernlint.cost.traffic.model import SECTOR_BYTES, WARP_LANES
from kernlint.cost.traffic.probe import Probe, put
from kernlint.records import dataclass
from kernlint.workload import Atomic, Expr, Lane, Load, Store


@dataclass(frozen=True)
class Tile:
    """One full tile: the ``sectors`` it touches, its ``contiguous`` bytes, whether rows begin on a sector boundary, the bytes from
    lane to lane along each axis (None where they are not constant), the bytes of its ``run``, which lie within a sector of
    each other, gaps included, and those from one run to the next, its ``pitch`` (0 where there is one run, or it is not constant)."""

    sectors: float
    contiguous: float
    aligned: bool
    strides: tuple[float, ...] | None
    run: float
    pitch: float = 0.0
    #: The bytes from lane to lane in the middle of the tile where they are not constant (indices that wrap around at an edge).
    inner: tuple[float, ...] | None = None


def tile_of(access: Load | Store | Atomic, offset: Expr, start: float, probe: Probe) -> Tile:
    size = access.dtype.bytes
    strides = []
    for dim, extent in enumerate(access.shape):
        one = probe.moved(offset, Lane(dim), 1.0) if extent > 1 else start
        last = probe.moved(offset, Lane(dim), extent - 1.0) if extent > 1 else start
        if one is None or last is None:
            return Tile(*uncoalesced(access, size), None, float(size))
        if last - start != (one - start) * (extent - 1):
            sectors, contiguous, aligned = sampled_sectors(access, offset, probe)
            return Tile(sectors, contiguous, aligned, None, contiguous, inner=_inner_strides(access, offset, probe))
        strides.append((one - start) * size)
    dims = [(abs(stride), extent) for stride, extent in zip(strides, access.shape) if extent > 1]
    run = float(size)
    rows, pitch = 1.0, 0.0
    aligned = (start * size) % SECTOR_BYTES == 0
    for stride, extent in sorted(dims):
        if stride == 0:
            continue
        if rows == 1.0 and (stride <= run or stride < SECTOR_BYTES):
            run = (extent - 1) * stride + run
            continue
        pitch = pitch or stride
        rows *= extent
        aligned = aligned and stride % SECTOR_BYTES == 0
    contiguous = run if not dims else contiguous_bytes(dims, size)
    return Tile(rows * _sectors_of_run(run, size, aligned), contiguous, aligned, tuple(strides), run, pitch)


def _inner_strides(access: Load | Store | Atomic, offset: Expr, probe: Probe) -> tuple[float, ...] | None:
    middle = [(probe.moved(offset, Lane(dim), lane), probe.moved(offset, Lane(dim), lane + 1)) for dim, lane in
              ((dim, float(max(0, extent // 2 - 1))) for dim, extent in enumerate(access.shape))]  # fmt: skip
    found = [(b - a) * access.dtype.bytes for a, b in middle if a is not None and b is not None]
    return tuple(found) if len(found) == len(access.shape) else None


def contiguous_bytes(dims: list[tuple[float, int]], size: int) -> float:
    run = float(size)
    for stride, extent in sorted(dims):
        if stride == run:
            run *= extent
    return run


def _sectors_of_run(run_bytes: float, size: int, aligned: bool) -> float:
    """Sectors under ``run_bytes`` neighbouring bytes; without alignment the mean over all starts."""
    if aligned:
        return math.ceil(run_bytes / SECTOR_BYTES)
    return (run_bytes + SECTOR_BYTES - min(size, SECTOR_BYTES)) / SECTOR_BYTES


def uncoalesced(access: Load | Store | Atomic, size: int) -> tuple[float, float, bool]:
    return float(access.elements), float(size), False


def sampled_sectors(access: Load | Store | Atomic, offset: Expr, probe: Probe) -> tuple[float, float, bool]:
    """Sectors of a tile that is not affine in its lanes: count them on 32 neighbouring lanes, scale to the tile."""
    size = access.dtype.bytes
    steps = _lane_steps(access, offset, probe)
    order = [(dim, extent) for _, dim, extent in steps]
    if not order:
        return 1.0, float(size), False
    # Where several axes step by one, the compiler takes the one that stays contiguous: try each as the fastest.
    least = steps[0][0]
    best: tuple[float, float] | None = None
    for step, dim, extent in steps:
        if step != least:
            continue
        tried = [(dim, extent), *(other for other in order if other[0] != dim)]
        result = _count_sectors(access, offset, tried, probe)
        if result is None:
            return uncoalesced(access, size)
        if best is None or result[0] < best[0]:
            best = result
    assert best is not None
    return (*best, False)


def _lane_steps(access: Load | Store | Atomic, offset: Expr, probe: Probe) -> list[tuple[float, int, int]]:
    """(step in elements, dimension, extent) of the tile's dimensions, the one that neighbouring lanes run along first."""
    steps = []
    for dim, extent in enumerate(access.shape):
        if extent > 1:
            one, last, zero = (probe.moved(offset, Lane(dim), lane) or 0.0 for lane in (1.0, extent - 1.0, 0.0))
            # The first lanes may share an element, as where several values are packed into a word.
            steps.append((abs(one - zero) or abs(last - zero) / (extent - 1), dim, extent))
    return sorted(steps, key=lambda s: (s[0] == 0, s[0]))


def _put_lane(point: Point, order: Sequence[tuple[int, int]], index: int) -> None:
    """Set the coordinates of lane ``index`` of a tile whose (dimension, extent) are in ``order``, the fastest first."""
    for dim, extent in order:
        put(point, Lane(dim), float(index % extent))
        index //= extent


def _count_sectors(
    access: Load | Store | Atomic, offset: Expr, order: list[tuple[int, int]], probe: Probe
) -> tuple[float, float] | None:
    """(sectors of the tile, contiguous bytes) with lanes in ``order``, from 32 neighbours; None if not evaluable."""
    size = access.dtype.bytes
    value_at, point = evaluator(offset), list(probe.centre)
    lanes = min(WARP_LANES, access.elements)
    touched: set[int] = set()
    addresses = []
    for index in range(lanes):
        _put_lane(point, order, index)
        value = value_at(point)
        if value is None:
            return None
        addresses.append(value)
        touched.add(int(value * size // SECTOR_BYTES))
    run = 1
    while run < len(addresses) and addresses[run] - addresses[run - 1] == 1:
        run += 1
    contiguous = float(run * size) if run < lanes else float(size * order[0][1])
    return len(touched) / max(1, lanes) * access.elements, contiguous


def reach_of(offset: Expr, start: float, lanes: list[Lane], shape: tuple[int, ...], probe: Probe) -> float:
    """Elements between the lowest and the highest address of the tile."""
    total = 0.0
    for lane in lanes:
        if shape[lane.dim] > 1:
            last = probe.moved(offset, lane, shape[lane.dim] - 1.0)
            total += abs((start if last is None else last) - start)
    return total


def contiguous_run(access: Load | Store | Atomic) -> float:
    """Elements along the lane dimension with stride 1 of an offset whose value is not known (1 where there is none).

    The fallback for ``offset`` None is the last dimension of a tile of more than one: rows gathered by index are the
    usual case, a tile of one dimension scatters.
    """
    if access.offset is None:
        return float(access.shape[-1]) if len(access.shape) > 1 else 1.0
    best = 1.0
    for dim, extent in enumerate(access.shape):
        step = access.offset.coefficient(Lane(dim))
        if step is not None and step.value in (1, -1):
            best = max(best, float(extent))
    return best
