"""The share of lanes that masks let through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from kernlint.cost.evaluate import Columns, Point, evaluator, origin, slot
from kernlint.cost.traffic.probe import Probe, put
from kernlint.records import dataclass
from kernlint.workload import Atomic, Expr, Lane, Load, LoopIndex, Opaque, ProgramId, Store
from kernlint.workload.access import Bounds
from kernlint.workload.expr import Atom, lift


def active_fraction(access: Load | Store | Atomic, probe: Probe) -> float:
    """Share of the tile's lanes inside the mask, in the mean over programs and iterations.

    Bounds linear in one lane are counted exactly at each sampled program; others are sampled along the lanes; a bound
    that cannot be evaluated counts as open. Accesses of one tile often have one mask, which is looked at once.
    """
    if not access.mask:
        return 1.0
    asked = access.mask, access.shape
    if asked not in probe.fractions:
        probe.fractions[asked] = _over_draws(access, probe) or _fraction(access.mask, access.shape, probe)
    return probe.fractions[asked]


def _over_draws(access: Load | Store | Atomic, probe: Probe) -> float | None:
    """The share in the mean over what is drawn, each by the turns that it takes; None where nothing is."""
    loops = {
        atom.loop for side in chain(*access.mask or ()) for atom in lift(side).atoms() if isinstance(atom, LoopIndex)
    }
    turns = [math.prod(one.trips.get(loop, 1.0) for loop in loops) for one in probe.drawn]
    if not sum(turns):
        return None
    return sum(count * active_fraction(access, one) for count, one in zip(turns, probe.drawn)) / sum(turns)


def _fraction(mask: Bounds, shape: tuple[int, ...], probe: Probe) -> float:
    gaps = [lift(probe.likely(right - left) or 0) for left, right in mask]
    corner = list(probe.centre)
    for dim, extent in enumerate(shape):
        put(corner, Lane(dim), float(extent - 1))
    for axis, extent in enumerate(probe.grid):
        put(corner, ProgramId(axis), float(extent - 1))
    for loop, trip in probe.trips.items():
        put(corner, LoopIndex(loop), max(0.0, math.ceil(trip) - 1.0))
    bounds = [_Bound(gap, shape) for gap in gaps if _may_fail(gap, corner)]
    if not bounds:
        return 1.0
    points = _Points.of([bound.gap for bound in bounds], probe)
    lanes: dict[tuple[int, ...], Columns] = {}
    #: By the dimension of lanes that bounds are about, the share inside at each point; these are independent of one another.
    shares: dict[int, list[float]] = {}
    for bound in bounds:
        inside = _shares(bound, points, lanes)
        shares[bound.dim] = list(map(min, shares[bound.dim], inside)) if bound.dim in shares else inside
    return sum(map(math.prod, zip(*shares.values()))) / points.count


def _shares(bound: _Bound, points: _Points, lanes: dict[tuple[int, ...], Columns]) -> list[float]:
    """The share of the lanes inside ``bound`` at each of ``points``. Bounds on the same ``lanes`` have most of their divisions in
    common."""
    if bound.lanes and bound.slope is None:
        several = tuple(bound.lanes)
        if several not in lanes:
            lanes[several] = points.with_lanes(bound)
        values = lanes[several].values(bound.gap)
        if values is not None:
            inside = [value > 0 for value in values]
            return [sum(inside[i : i + _LANE_POINTS]) / _LANE_POINTS for i in range(0, len(inside), _LANE_POINTS)]
    starts = points.values(bound.gap)
    if not bound.lanes:
        return [0.0 if start is not None and start <= 0 else 1.0 for start in starts]
    slopes = [None] * points.count if bound.slope is None else points.values(bound.slope)
    extent = bound.shape[bound.dim]
    return [
        1.0 if start is None
        else _sampled_share(bound, points.at(index)) if slope is None
        else _count_positive(start, slope, extent) / extent if extent else 0.0
        for index, (start, slope) in enumerate(zip(starts, slopes))
    ]  # fmt: skip


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
    """One bound of a mask: positive ``gap`` inside; its lane dimensions, the widest of them (-1 where there is none), and the slope
    along the only one."""

    def __init__(self, gap: Expr, shape: tuple[int, ...]) -> None:
        self.gap = gap
        self.lanes = sorted(atom.dim for atom in gap.atoms() if isinstance(atom, Lane) and atom.dim < len(shape))
        self.dim = max(self.lanes, key=lambda dim: shape[dim], default=-1)
        self.slope = gap.coefficient(Lane(self.lanes[0])) if len(self.lanes) == 1 else None
        self.shape = shape

    @cached_property
    def samples(self) -> list[list[tuple[Lane, float]]]:
        """A few lanes, spread over the tile: what to set in a point for each."""
        steps = (1 / _LANE_POINTS, 0.6180339887, 0.7548776662)
        return [
            [
                (Lane(dim), float(int((index + 0.5) * steps[position % 3] % 1.0 * self.shape[dim])))
                for position, dim in enumerate(self.lanes)
                if slot(Lane(dim)) is not None
            ]
            for index in range(_LANE_POINTS)
        ]


@dataclass(frozen=True)
class _Points:
    """Programs and iterations at which lanes are counted: the values of the indices that differ among them."""

    moving: dict[Atom, list[float]]
    centre: Point
    count: int

    @classmethod
    def of(cls, gaps: list[Expr], probe: Probe) -> _Points:
        """All that ``gaps`` tell apart where few, else a low-discrepancy sample."""
        atoms = sorted(
            {atom for gap in gaps for atom in gap.atoms() if isinstance(atom, (ProgramId, LoopIndex))}, key=str
        )
        extents = [
            probe.grid[atom.axis] if isinstance(atom, ProgramId) and atom.axis < len(probe.grid)
            else max(1, math.ceil(probe.trips.get(atom.loop, 1))) if isinstance(atom, LoopIndex) else 1
            for atom in atoms
        ]  # fmt: skip
        total = math.prod(extents)
        count = min(total, _MASK_POINTS)
        moving: dict[Atom, list[float]] = {}
        inner = 1
        for position, (atom, extent) in enumerate(zip(atoms, extents)):
            pace = _KRONECKER[position % len(_KRONECKER)]
            if slot(atom) is not None:
                moving[atom] = [
                    float(index // inner % extent if total <= count else int((index + 0.5) * pace % 1.0 * extent))
                    for index in range(count)
                ]
            inner *= extent
        return cls(moving, probe.centre, count)

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.moving, self.count, self.centre)

    def values(self, expr: Expr) -> Sequence[float | None]:
        """``expr`` at each point, None where it is not known."""
        known = self._columns.values(expr)
        return [evaluator(expr)(self.at(index)) for index in range(self.count)] if known is None else known

    def at(self, index: int) -> Point:
        point = list(self.centre)
        for atom, column in self.moving.items():
            put(point, atom, column[index])
        return point

    def with_lanes(self, bound: _Bound) -> Columns:
        """Every sampled lane of ``bound`` at each point."""
        columns = {atom: [x for x in column for _ in range(_LANE_POINTS)] for atom, column in self.moving.items()}
        for place, (lane, _) in enumerate(bound.samples[0]):
            columns[lane] = [sample[place][1] for sample in bound.samples] * self.count
        return Columns(columns, self.count * _LANE_POINTS, self.centre)


#: Programs and iterations at which a mask is counted, and lanes where it is not linear in one.
_MASK_POINTS = 32


_LANE_POINTS = 8


#: 1/32 for the first axis (an even lattice), then irrational steps that keep the axes independent.
_KRONECKER = (1 / 32, 0.6180339887, 0.7548776662, 0.5698402910, 0.8191725134)


def _count_positive(start: float, slope: float, extent: int) -> float:
    """How many of ``start + slope * i`` for i in 0 .. extent - 1 are positive."""
    if slope == 0:
        return extent if start > 0 else 0
    if slope < 0:
        return min(extent, max(0, math.ceil(start / -slope)))
    return min(extent, max(0, extent - max(0, math.floor(-start / slope) + 1))) if start <= 0 else extent


def _sampled_share(bound: _Bound, point: Point) -> float:
    hits = 0
    value_at = evaluator(bound.gap)
    for lane in bound.samples:
        for atom, to in lane:
            put(point, atom, to)
        value = value_at(point)
        hits += value is None or value > 0
    return hits / _LANE_POINTS
