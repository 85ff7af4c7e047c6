"""The grid, sampled: values of index expressions at some of the programs, their mean and their likely value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from kernlint.cost.evaluate import Point, evaluator, origin, slot
from kernlint.cost.segments import loaded
from kernlint.workload import Branch, Expr, Kernel, Loop, LoopIndex, Node, ProgramId, Size
from kernlint.workload.access import Bounds
from kernlint.workload.expr import Atom, lift, mostly

#: Iterations assumed of a loop whose trip count cannot be evaluated; the price then carries a wide sigma.
ASSUMED_TRIP = 16.0


_PROGRAM_SAMPLES = (0.03, 0.29, 0.5, 0.71, 0.97)


#: Programs and iterations looked at to tell how many of them take an arm, and the irrational paces of their coordinates.
_LATTICE = 64
#: Values of one coordinate up to which all of them are looked at.
_MOST_POINTS = 512


_PACES = (0.7548776662, 0.5698402910, 0.8191725134, 0.6710436067, 0.5497004779)


class Probe:
    """Evaluates expressions of one launch at typical and sampled programs and iterations.

    Where loops go as far as numbers say that are ``drawn``, there is a probe for each of a few draws, whose trips are the trips in the
    mean; the last of these is of the program that drew most.
    """

    def __init__(
        self,
        kernel: Kernel,
        grid: Sequence[int],
        bounds: Mapping[Atom, Expr] | None = None,
        lengths: Mapping[Atom, Expr] | None = None,
        drawn: Sequence[Probe] = (),
        rounds: Mapping[int, float] | None = None,
    ) -> None:
        self.drawn, self.longest = drawn[:-1], drawn[-1:]
        self.grid = [max(1, extent) for extent in grid]
        self.lengths = lengths or {}
        #: How many rounds loops make in all programs together, for those that nothing else tells of.
        self.rounds = rounds or {}
        self.bounds = {**(bounds or {}), **self.lengths}
        self.trips: dict[int, float] = {}
        #: The trips of loops that differ between programs, at the corners of the grid: elsewhere few kernels have more.
        self.corners: tuple[tuple[tuple[int, ...], dict[int, float]], ...] = tuple(
            (corner, {}) for corner in itertools.product(*(sorted({0, extent - 1}) for extent in self.grid))
        )
        self.unknown_trips = 0
        self.counted_trips = 0
        #: The share of lanes inside each mask that was asked about, by the mask and the shape of the tile.
        self.fractions: dict[object, float] = {}
        self.centre = origin()
        for axis, extent in enumerate(self.grid):
            put(self.centre, ProgramId(axis), float(extent // 2))
        self._add_loops(kernel.body)

    def _add_loops(self, body: tuple[Node, ...], inside: Bounds = (), times: float = 1.0) -> None:
        """Adds the trips of the loops in ``body``, which programs within the bounds ``inside`` come to, so many ``times`` each."""
        for node in body:
            if isinstance(node, Loop):
                trip = self._over_draws(node) or self._mean_inside(self.likely(node.trip), inside)
                greatest = any(atom in self.lengths for atom in loaded(node.trip))
                self.counted_trips += trip is not None and bool(loaded(node.trip)) and not greatest
                if trip is None or greatest:
                    self.unknown_trips += 1
                    trip = self._shared_out(node, times) if trip is None else trip
                self.trips[node.id] = max(0.0, trip)
                self._add_corners(node)
                put(self.centre, LoopIndex(node.id), float(int(max(0.0, trip - 1) / 2)))
                self._add_loops(node.body, inside, times * self.trips[node.id])
            elif isinstance(node, Branch):
                for arm, bounds in zip(node.arms, _conditions(node)):
                    self._add_loops(arm, (*inside, *(bounds or ())), times)

    def _shared_out(self, loop: Loop, times: float) -> float:
        """The trips of ``loop``, which each program comes to so many ``times``, of which nothing tells but the tiles that it stores."""
        shares = math.prod(self.grid) * times
        return self.rounds[loop.id] / shares if loop.id in self.rounds and shares else ASSUMED_TRIP

    def _over_draws(self, loop: Loop) -> float | None:
        """The mean trips of ``loop`` over what is drawn; None where nothing that it depends on is."""
        trips = [probe.trips[loop.id] for probe in self.drawn] if loaded(loop.trip) else []
        return sum(trips) / len(trips) if trips else None

    def arm_shares(self, branch: Branch) -> tuple[float, ...] | None:
        """The part of programs and iterations that take each arm: counted where its condition is made of bounds that can be
        evaluated; arms with something to do that are left share the rest. None where no condition can."""
        known = [self._share_inside(bounds) if bounds else None for bounds in _conditions(branch)]
        if all(share is None for share in known):
            return None
        left = max(0.0, 1.0 - sum(share for share in known if share is not None))
        others = sum(bool(arm) for arm, share in zip(branch.arms, known) if share is None)
        return tuple(left / max(1, others) if share is None else share for share in known)

    def _share_inside(self, bounds: Bounds) -> float | None:
        """The part of programs and iterations inside ``bounds``; None where they depend on what cannot be evaluated."""
        points = self._points(bounds)
        inside = self._inside(bounds, points)
        if inside is None:
            return None
        programs = math.prod(self.grid)
        # One of many programs may be the one.
        return len(inside) / len(points) if inside or programs <= len(points) else 1 / programs

    def _inside(self, bounds: Bounds, points: Sequence[Point]) -> list[Point] | None:
        """Those of ``points`` inside ``bounds``; None where they depend on what cannot be evaluated."""
        functions = [evaluator(gap) for gap in self._gaps(bounds)]
        found = []
        for point in points:
            gaps = [function(point) for function in functions]
            if None in gaps:
                return None
            if all(gap > 0 for gap in gaps if gap is not None):
                found.append(point)
        return found

    def _gaps(self, bounds: Bounds) -> list[Expr]:
        return [lift(self.likely(right - left) or 0) for left, right in bounds]

    def _mean_inside(self, size: Size | None, bounds: Bounds) -> float | None:
        """As :meth:`mean`, over the programs inside ``bounds`` alone where they can be told."""
        differs = isinstance(size, Expr) and any(isinstance(atom, ProgramId) for atom in size.atoms())
        points = self._inside(bounds, self._points(bounds)) if bounds and differs else None
        if not points or not isinstance(size, Expr):
            return self.mean(size)
        values = [evaluator(size)(point) for point in points]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if len(known) == len(values) else None

    def _points(self, bounds: Bounds) -> list[Point]:
        """Programs and iterations that tell how many are inside ``bounds``: all of them along the one coordinate that the bounds
        depend on, many of them where it is long or where there are others."""
        ranges: list[tuple[Atom, int]] = [(ProgramId(axis), extent) for axis, extent in enumerate(self.grid)]
        ranges += [(LoopIndex(loop), max(1, math.ceil(trip))) for loop, trip in self.trips.items()]
        asked = {atom for gap in self._gaps(bounds) for atom in gap.atoms()}
        met = [(atom, extent) for atom, extent in ranges if atom in asked]
        if len(met) != 1 or met[0][1] > _MOST_POINTS:
            return self._lattice(ranges)
        ((atom, extent),) = met
        points = [list(self.centre) for _ in range(extent)]
        for value, point in enumerate(points):
            put(point, atom, float(value))
        return points

    def _lattice(self, ranges: Sequence[tuple[Atom, int]]) -> list[Point]:
        """Many programs and iterations spread over the launch: each coordinate runs through its range at a pace of its own."""
        points = []
        for index in range(_LATTICE):
            point = list(self.centre)
            for place, (atom, extent) in enumerate(ranges):
                fraction = (index + 0.5) * _PACES[place % len(_PACES)] % 1.0 if place else (index + 0.5) / _LATTICE
                put(point, atom, float(int(fraction * extent)))
            points.append(point)
        return points

    def likely(self, size: Size | None) -> Size | None:
        """``size`` with the loaded bounds of segments as they are in the mean, and what was not followed as it mostly is."""
        return mostly(size.substitute(self.bounds)) if isinstance(size, Expr) else size

    def mean(self, size: Size | None) -> float | None:
        """Mean over the grid of a size that may depend on program ids; None when it cannot be evaluated."""
        if size is None:
            return None
        if not isinstance(size, Expr):
            return float(size)
        if size.value is not None:
            return float(size.value)
        if not any(isinstance(atom, ProgramId) for atom in size.atoms()):
            return self.at(size)
        function = evaluator(size)
        total = 0.0
        for point in self.programs():
            value = function(point)
            if value is None:
                return None
            total += value
        return total / len(_PROGRAM_SAMPLES)

    def _add_corners(self, loop: Loop) -> None:
        """Adds the trips of ``loop`` at the corners of the grid, where they differ between programs and can be told."""
        expr = self.likely(loop.trip)
        if not isinstance(expr, Expr) or not any(isinstance(atom, ProgramId) for atom in expr.atoms()):
            return
        function = evaluator(expr)
        for corner, trips in self.corners:
            point = list(self.centre)
            for axis, index in enumerate(corner):
                put(point, ProgramId(axis), float(index))
            value = function(point)
            if value is not None:
                trips[loop.id] = max(0.0, value)

    def uneven(self) -> tuple[Mapping[int, float], ...]:
        """The trips of the programs at the corners of the grid, and of that which drew most, in which some loop runs longer than it does
        in the mean."""
        found: list[Mapping[int, float]] = []
        for trips in (*(trips for _, trips in self.corners), *(probe.trips for probe in self.longest)):
            if trips not in found and any(count > max(1.0, self.trips[loop]) for loop, count in trips.items()):
                found.append(trips)
        return tuple(found)

    def programs(self) -> list[Point]:
        """A few programs spread over the grid (a lattice: each axis sees each quantile once), loops at midpoint."""
        points = []
        count = len(_PROGRAM_SAMPLES)
        for index in range(count):
            point = list(self.centre)
            for axis, extent in enumerate(self.grid):
                quantile = _PROGRAM_SAMPLES[(index * (1 + axis)) % count]
                put(point, ProgramId(axis), float(int(quantile * extent)))
            points.append(point)
        return points

    def at(self, expr: Expr) -> float | None:
        """``expr`` at the typical point: middle program, middle iteration, first lane."""
        return evaluator(expr)(self.centre)

    def moved(self, expr: Expr, atom: Atom, to: float) -> float | None:
        """``expr`` at the typical point with ``atom`` set to ``to``."""
        where = slot(atom)
        if where is None:
            return None
        before = self.centre[where]
        self.centre[where] = to
        value = evaluator(expr)(self.centre)
        self.centre[where] = before
        return value

    def coordinate(self, atom: Atom) -> float:
        """The value of ``atom`` at the typical point."""
        where = slot(atom)
        return 0.0 if where is None else self.centre[where]


def _conditions(branch: Branch) -> tuple[Bounds | None, ...]:
    """The bounds that hold in each arm of ``branch``."""
    return branch.conditions if len(branch.conditions) == len(branch.arms) else (None,) * len(branch.arms)


def put(point: Point, atom: Atom, value: float) -> None:
    """Set ``atom`` in ``point``; an atom without a slot cannot be evaluated anyway."""
    where = slot(atom)
    if where is not None:
        point[where] = value
