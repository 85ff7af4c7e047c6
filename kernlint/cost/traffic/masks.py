"""The share of lanes that masks let through."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

from kernlint.cost.evaluate import Columns, Point, evaluator, origin, slot
from kernlint.cost.traffic.probe import Probe, put
from kernlint.workload import Atomic, Expr, Lane, Load, LoopIndex, Opaque, ProgramId, Store
from kernlint.workload.expr import lift


def active_fraction(access: Load | Store | Atomic, probe: Probe) -> float:
    """Share of the tile's lanes inside the mask, in the mean over programs and iterations.

    Bounds linear in one lane are counted exactly at each sampled program; others are sampled along the lanes; a bound
    that cannot be evaluated counts as open.
    """
    if not access.mask:
        return 1.0
    gaps = [lift(probe.likely(right - left) or 0) for left, right in access.mask]
    corner = list(probe.centre)
    for dim, extent in enumerate(access.shape):
        put(corner, Lane(dim), float(extent - 1))
    for axis, extent in enumerate(probe.grid):
        put(corner, ProgramId(axis), float(extent - 1))
    for loop, trip in probe.trips.items():
        put(corner, LoopIndex(loop), max(0.0, math.ceil(trip) - 1.0))
    bounds = [_Bound(gap, access.shape) for gap in gaps if _may_fail(gap, corner)]
    if not bounds:
        return 1.0
    points = _mask_points([bound.gap for bound in bounds], probe)
    sampled = _sampled_shares(bounds, points, probe)
    total = sum(_inside(bounds, access.shape, point, sampled, index) for index, point in enumerate(points))
    return total / len(points)


def _sampled_shares(bounds: list[_Bound], points: list[Point], probe: Probe) -> dict[_Bound, list[float]]:
    """For each bound that is linear in no one lane its :func:`_sampled_share` at each of ``points``, where it is known at all
    of them. Bounds on the same lanes have most of their divisions in common."""
    found: dict[_Bound, list[float]] = {}
    columns: dict[tuple[int, ...], Columns] = {}
    for bound in bounds:
        if not bound.lanes or bound.slope is not None:
            continue
        lanes = tuple(bound.lanes)
        if lanes not in columns:
            columns[lanes] = _lane_columns(bound, points, probe)
        values = columns[lanes].values(bound.gap)
        if values is not None:
            inside = [value > 0 for value in values]
            found[bound] = [
                sum(inside[i : i + _LANE_POINTS]) / _LANE_POINTS for i in range(0, len(inside), _LANE_POINTS)
            ]
    return found


def _lane_columns(bound: _Bound, points: list[Point], probe: Probe) -> Columns:
    """Every sampled lane of ``bound`` at each of ``points``."""
    moving = [slot(ProgramId(axis)) for axis in range(3)] + [slot(LoopIndex(loop)) for loop in probe.trips]
    columns: dict[int, list[float]] = {
        where: [point[where] for point in points for _ in range(_LANE_POINTS)] for where in moving if where is not None
    }
    for place, (where, _) in enumerate(bound.samples[0]):
        columns[where] = [lane[place][1] for lane in bound.samples] * len(points)
    return Columns(columns, points[0], len(points) * _LANE_POINTS)


def _may_fail(gap: Expr, corner: Point) -> bool:
    """False where ``gap`` grows with every atom or is positive at the far corner alike: a bound that always holds.

    Tile bounds (``offset < n``) are monotone, so the far corner decides; one that mixes divisions is sampled.
    """
    if any(isinstance(atom, Opaque) for atom in gap.atoms()):
        return True
    near = evaluator(gap)(origin())
    far = evaluator(gap)(corner)
    if near is None or far is None:
        return False
    if all(len(monomial) <= 1 for monomial in gap.terms):
        lowest = near
        for monomial, coefficient in gap.terms.items():
            where = slot(monomial[0]) if monomial else None
            if where is not None and coefficient < 0:
                lowest += coefficient * corner[where]
        return lowest <= 0
    return min(near, far) <= 0


class _Bound:
    """One bound of a mask: positive ``gap`` inside; its lane dimensions, and the slope along the only one."""

    def __init__(self, gap: Expr, shape: tuple[int, ...]) -> None:
        self.gap = gap
        self.value = evaluator(gap)
        self.lanes = sorted(atom.dim for atom in gap.atoms() if isinstance(atom, Lane) and atom.dim < len(shape))
        step = gap.coefficient(Lane(self.lanes[0])) if len(self.lanes) == 1 else None
        self.slope = None if step is None else evaluator(step)
        self.shape = shape

    @cached_property
    def samples(self) -> list[list[tuple[int, float]]]:
        """A few lanes, spread over the tile: what to set in a point for each."""
        steps = (1 / _LANE_POINTS, 0.6180339887, 0.7548776662)
        return [
            [
                (where, float(int((index + 0.5) * steps[position % 3] % 1.0 * self.shape[dim])))
                for position, dim in enumerate(self.lanes)
                if (where := slot(Lane(dim))) is not None
            ]
            for index in range(_LANE_POINTS)
        ]


def _mask_points(gaps: list[Expr], probe: Probe) -> list[Point]:
    """Programs and iterations at which to count lanes: all of them where few, else a low-discrepancy sample."""
    atoms = sorted({atom for gap in gaps for atom in gap.atoms() if isinstance(atom, (ProgramId, LoopIndex))}, key=str)
    extents = [
        probe.grid[atom.axis] if isinstance(atom, ProgramId) and atom.axis < len(probe.grid)
        else max(1, math.ceil(probe.trips.get(atom.loop, 1))) if isinstance(atom, LoopIndex) else 1
        for atom in atoms
    ]  # fmt: skip
    total = math.prod(extents)
    count = min(total, _MASK_POINTS)
    points = []
    for index in range(count):
        point = list(probe.centre)
        rest = index
        for position, (atom, extent) in enumerate(zip(atoms, extents)):
            if total <= _MASK_POINTS:
                put(point, atom, float(rest % extent))
                rest //= extent
            else:
                put(point, atom, float(int(((index + 0.5) * _KRONECKER[position % len(_KRONECKER)] % 1.0) * extent)))
        points.append(point)
    return points


#: Programs and iterations at which a mask is counted, and lanes where it is not linear in one.
_MASK_POINTS = 32


_LANE_POINTS = 8


#: 1/32 for the first axis (an even lattice), then irrational steps that keep the axes independent.
_KRONECKER = (1 / 32, 0.6180339887, 0.7548776662, 0.5698402910, 0.8191725134)


def _inside(
    bounds: list[_Bound], shape: tuple[int, ...], point: Point, sampled: Mapping[_Bound, list[float]], index: int
) -> float:
    """Share of the lanes for which all gaps are positive, bounds on different lane dimensions being independent."""
    shares: dict[int, float] = {}
    for bound in bounds:
        if bound in sampled:
            dim = max(bound.lanes, key=lambda d: shape[d])
            shares[dim] = min(shares.get(dim, 1.0), sampled[bound][index])
            continue
        value = bound.value(point)
        if value is None:
            continue
        if not bound.lanes:
            if value <= 0:
                return 0.0
            continue
        dim = max(bound.lanes, key=lambda d: shape[d])
        extent = shape[dim]
        slope = None if bound.slope is None else bound.slope(point)
        if slope is not None:
            share = _count_positive(value, slope, extent) / extent if extent else 0.0
        else:
            share = _sampled_share(bound, point)
        shares[dim] = min(shares.get(dim, 1.0), share)
    return math.prod(shares.values())


def _count_positive(start: float, slope: float, extent: int) -> float:
    """How many of ``start + slope * i`` for i in 0 .. extent - 1 are positive."""
    if slope == 0:
        return extent if start > 0 else 0
    if slope < 0:
        return min(extent, max(0, math.ceil(start / -slope)))
    return min(extent, max(0, extent - max(0, math.floor(-start / slope) + 1))) if start <= 0 else extent


def _sampled_share(bound: _Bound, point: Point) -> float:
    hits = 0
    for lane in bound.samples:
        for where, to in lane:
            point[where] = to
        value = bound.value(point)
        hits += value is None or value > 0
    for where, _ in bound.samples[0]:
        point[where] = 0.0
    return hits / _LANE_POINTS
