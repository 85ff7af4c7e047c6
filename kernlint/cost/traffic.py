"""Which bytes each access of a kernel moves: executions, active lanes, 32-byte sectors, footprint, reuse.

Everything is read off the offset expressions. An offset is probed numerically at a typical program: the step and the
reach along each lane, loop and grid axis. A tile that is affine in its lanes gets its sectors from the strides, the
order Triton lays a tile out in (fastest along the smallest stride); any other tile is sampled. An offset that cannot be
evaluated (a gather through a loaded index) is taken as new addresses for every row of contiguous lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from kernlint import work
from kernlint.cost.evaluate import Columns, Point, evaluator, origin, slot
from kernlint.cost.layout import vector_bytes
from kernlint.cost.segments import greatest_lengths, likely_bounds, loaded
from kernlint.records import dataclass
from kernlint.workload import (
    Atomic,
    Branch,
    Expr,
    Kernel,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    Opaque,
    ProgramId,
    Size,
    Store,
    Symbol,
    Tensor,
    concrete,
)
from kernlint.workload.expr import Atom, lift, mostly
from kernlint.workload.kernel import Bounds

#: The unit in which L2 and DRAM answer on NVIDIA hardware (CUDA C++ Best Practices Guide, "Coalesced access").
SECTOR_BYTES = 32
#: The unit in which caches keep an address: one touched sector holds the place of four.
LINE_BYTES = 128
#: Lanes of a warp, whose addresses travel in one request.
WARP_LANES = 32
#: Iterations assumed of a loop whose trip count cannot be evaluated; the price then carries a wide sigma.
ASSUMED_TRIP = 16.0
_PROGRAM_SAMPLES = (0.03, 0.29, 0.5, 0.71, 0.97)
#: Programs and iterations looked at to tell how many of them take an arm, and the irrational paces of their coordinates.
_LATTICE = 64
_PACES = (0.7548776662, 0.5698402910, 0.8191725134, 0.6710436067, 0.5497004779)


@dataclass(frozen=True)
class AccessTraffic:
    """What one load, store or atomic of a launch moves.

    ``executions`` counts per program (mean over the grid); ``active_elements`` and ``sectors`` count per execution, a
    mask taken into account in the mean. ``program_bytes`` are the distinct bytes (whole sectors) one program touches
    through this access, ``footprint_bytes`` those of the whole grid, ``moved_bytes`` what the grid asks of the caches
    (sectors x executions x programs). ``contiguous_bytes`` is the run of neighbouring bytes in the tile and so the
    widest vector a thread can move at once; ``aligned`` that rows begin on a sector. ``known`` is false where the
    offset could not be evaluated, ``gather`` where it contains a loaded value. ``signature`` is equal for two accesses
    of one base that walk the same addresses in a program. ``shared_axes`` are the grid axes it does not depend on.
    ``loop_step_bytes`` is the smallest step from one iteration to the next (infinite outside loops), ``density`` the
    share of the memory between the grid's first and last address that it touches. ``near_bytes`` are the bytes one
    program asks of L2 where L1 still holds what the iteration before touched: as moved, but that counts once.
    ``window_bytes`` are the bytes that L1 must hold for that.
    ``vector_bytes`` is what one thread fetches at once, ``strides`` the bytes from lane to lane along each axis of the tile
    (None where they are not constant). ``twins`` counts the loads of the same iteration that see the
    same window of memory shifted, this one included (the taps of a convolution); the distinct bytes of a twin are its
    part of what they touch together. ``request_addresses`` are the distinct addresses that one warp's request of an atomic
    goes to, the mask left aside (32 where it cannot be evaluated): lanes beyond these meet in one address.
    """

    access: Load | Store | Atomic
    base: str
    executions: float
    active_elements: float
    sectors: float
    program_bytes: float
    footprint_bytes: float
    moved_bytes: float
    contiguous_bytes: float
    aligned: bool
    known: bool
    gather: bool
    signature: tuple[float, ...]
    shared_axes: frozenset[int]
    loop_step_bytes: float
    density: float = 1.0
    near_bytes: float = 0.0
    window_bytes: float = 0.0
    vector_bytes: int = 16
    twins: int = 1
    request_addresses: float = float(WARP_LANES)
    strides: tuple[float, ...] | None = None
    #: Whether a program comes to it as often as ``executions`` says: not behind a condition on what is read.
    certain: bool = True

    @property
    def line_share(self) -> float:
        """Bytes of cache lines taken over bytes of sectors touched, 1 to 4: isolated sectors hold a line each."""
        if self.contiguous_bytes >= LINE_BYTES:
            return 1.0
        run = SECTOR_BYTES * math.ceil(max(1.0, self.contiguous_bytes) / SECTOR_BYTES)
        touched = self.density * run / max(1.0, self.contiguous_bytes)
        return max(1.0, min(LINE_BYTES / run, 1 / touched if touched > 0 else 1.0))

    @property
    def kind(self) -> str:
        return "load" if isinstance(self.access, Load) else "store" if isinstance(self.access, Store) else "atomic"

    @property
    def asked_bytes(self) -> float:
        """Bytes the active lanes of one execution ask for."""
        return self.active_elements * self.access.dtype.bytes

    @property
    def efficiency(self) -> float:
        """Bytes asked over bytes of the sectors touched, at most 1."""
        touched = self.sectors * SECTOR_BYTES
        return min(1.0, self.asked_bytes / touched) if touched else 1.0


@dataclass(frozen=True)
class Traffic:
    """All accesses of a launch, by access object identity in program order, and totals in bytes over the grid. Of the loops,
    ``unknown_trips`` run an assumed number of times, or as often as an axis is long at the most, and ``counted_trips`` as often as
    segments are long in the mean."""

    programs: int
    accesses: tuple[AccessTraffic, ...]
    trips: Mapping[int, float]
    unknown_trips: int
    counted_trips: int = 0
    footprints: Mapping[str, float] = field(default_factory=dict)
    by_node: Mapping[int, AccessTraffic] = field(default_factory=dict)
    #: The part of programs that take each arm of a branch, by the identity of the branch.
    shares: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    def arms(self, branch: Branch) -> Iterator[tuple[tuple[Node, ...], float]]:
        """The arms of ``branch`` with the part of programs that take each."""
        yield from zip(branch.arms, self.shares.get(id(branch)) or [branch.share] * len(branch.arms))

    @property
    def footprint_bytes(self) -> float:
        """Distinct bytes read or written by the launch."""
        return sum(self.footprints.values())

    @cached_property
    def held_bytes(self) -> dict[str, float]:
        """Bytes of cache lines that the launch takes, by base."""
        share: dict[str, float] = {}
        for access in self.accesses:
            share[access.base] = max(share.get(access.base, 1.0), access.line_share)
        return {base: size * share.get(base, 1.0) for base, size in self.footprints.items()}

    def held_storages(self, launch: Launch) -> dict[int | str, float]:
        """Bytes of cache lines that ``launch`` takes, by storage (by base where that is not known): what reads and writes the same
        tensor takes its place once, and what walks two parts of a storage both."""
        held: dict[tuple[int | str, object], float] = {}
        for base, size in self.held_bytes.items():
            tensor = launch.tensor(base)
            key = (base, None) if tensor is None else (tensor.storage.id, (tensor.offset, tensor.shape, tensor.strides))
            held[key] = max(held.get(key, 0.0), size)
        total: dict[int | str, float] = {}
        for (storage, _), size in held.items():
            total[storage] = total.get(storage, 0.0) + size
        return total

    @property
    def loaded_bytes(self) -> float:
        return sum(a.moved_bytes for a in self.accesses if a.kind == "load")

    @property
    def stored_bytes(self) -> float:
        return sum(a.moved_bytes for a in self.accesses if a.kind != "load")

    @property
    def unknown_share(self) -> float:
        """Share of the moved bytes that belongs to accesses with an unknown offset."""
        total = sum(a.moved_bytes for a in self.accesses)
        return sum(a.moved_bytes for a in self.accesses if not a.known) / total if total else 0.0


class Probe:
    """Evaluates expressions of one launch at typical and sampled programs and iterations."""

    def __init__(
        self,
        kernel: Kernel,
        grid: Sequence[int],
        bounds: Mapping[Atom, Expr] | None = None,
        lengths: Mapping[Atom, Expr] | None = None,
    ) -> None:
        self.grid = [max(1, extent) for extent in grid]
        self.lengths = lengths or {}
        self.bounds = {**(bounds or {}), **self.lengths}
        self.trips: dict[int, float] = {}
        self.unknown_trips = 0
        self.counted_trips = 0
        self.centre = origin()
        for axis, extent in enumerate(self.grid):
            put(self.centre, ProgramId(axis), float(extent // 2))
        self._add_loops(kernel.body)

    def _add_loops(self, body: tuple[Node, ...]) -> None:
        for node in body:
            if isinstance(node, Loop):
                trip = self.mean(self.likely(node.trip))
                greatest = any(atom in self.lengths for atom in loaded(node.trip))
                self.counted_trips += trip is not None and bool(loaded(node.trip)) and not greatest
                if trip is None or greatest:
                    self.unknown_trips += 1
                    trip = ASSUMED_TRIP if trip is None else trip
                self.trips[node.id] = max(0.0, trip)
                put(self.centre, LoopIndex(node.id), float(int(max(0.0, trip - 1) / 2)))
                self._add_loops(node.body)
            elif isinstance(node, Branch):
                for arm in node.arms:
                    self._add_loops(arm)

    def arm_shares(self, branch: Branch) -> tuple[float, ...] | None:
        """The part of programs and iterations that take each arm: counted where its condition is made of bounds that can be
        evaluated; arms with something to do that are left share the rest. None where no condition can."""
        conditions = branch.conditions if len(branch.conditions) == len(branch.arms) else (None,) * len(branch.arms)
        known = [self._share_inside(bounds) if bounds else None for bounds in conditions]
        if all(share is None for share in known):
            return None
        left = max(0.0, 1.0 - sum(share for share in known if share is not None))
        others = sum(bool(arm) for arm, share in zip(branch.arms, known) if share is None)
        return tuple(left / max(1, others) if share is None else share for share in known)

    def _share_inside(self, bounds: Bounds) -> float | None:
        """The part of programs and iterations inside ``bounds``; None where they depend on what cannot be evaluated."""
        functions = [evaluator(lift(self.likely(right - left) or 0)) for left, right in bounds]
        inside = 0
        points = self._lattice()
        for point in points:
            gaps = [function(point) for function in functions]
            if None in gaps:
                return None
            inside += all(gap > 0 for gap in gaps if gap is not None)
        return inside / len(points)

    def _lattice(self) -> list[Point]:
        """Many programs and iterations spread over the launch: each coordinate runs through its range at a pace of its own."""
        points = []
        ranges: list[tuple[Atom, int]] = [(ProgramId(axis), extent) for axis, extent in enumerate(self.grid)]
        ranges += [(LoopIndex(loop), max(1, math.ceil(trip))) for loop, trip in self.trips.items()]
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


def put(point: Point, atom: Atom, value: float) -> None:
    """Set ``atom`` in ``point``; an atom without a slot cannot be evaluated anyway."""
    where = slot(atom)
    if where is not None:
        point[where] = value


def traffic(launch: Launch) -> Traffic:
    """The :class:`Traffic` of ``launch``; symbolic grid extents count as 1, unknown offsets as gathers. Worked out once for all
    launches of a kernel on tensors that look alike."""
    known = launch.kernel.launched
    key = "traffic", launch.shapes
    if key not in known:
        work.spend(work.LAUNCH)
        known[key] = _traffic(launch)
    found: Traffic = known[key]
    return found


def assumed_trips(launch: Launch) -> list[tuple[int, str]]:
    """The loops of ``launch`` whose trip counts no source tells, by line, each with how often it is taken to run: those bounded by
    loaded values, and those of which nothing is known."""
    found: dict[int, tuple[int, str]] = {}
    bounds = likely_bounds(launch)
    lengths = greatest_lengths(launch, bounds)
    trips = traffic(launch).trips
    for node, _ in launch.kernel.walk(Loop):
        assert isinstance(node, Loop)
        read = loaded(node.trip)
        symbolic = isinstance(node.trip, Expr) and any(isinstance(atom, Symbol) for atom in node.trip.atoms())
        if node.trip is not None and (not read or symbolic):
            continue
        times = f"{trips.get(node.id, ASSUMED_TRIP):.3g}"
        if any(atom in lengths for atom in read):
            times += " at most, the extent of the axis that it goes along"
        elif read and all(atom in bounds for atom in read):
            times += " in the mean, the elements over the number of segments"
        found[node.id] = node.span.line, times
    return list(found.values())


def _traffic(launch: Launch) -> Traffic:
    grid = [extent if (extent := concrete(size)) is not None else 1 for size in launch.grid]
    programs = 1
    for extent in grid:
        programs *= max(0, extent)
    bounds = likely_bounds(launch)
    lengths = greatest_lengths(launch, bounds)
    if bounds or lengths:
        read = (*bounds.items(), *lengths.items())
        launch = replace(launch, kernel=replace(launch.kernel, likely=(*launch.kernel.likely, *read)))
    probe = Probe(launch.kernel, grid, bounds, lengths)
    accesses: list[AccessTraffic] = []
    shares: dict[int, tuple[float, ...]] = {}
    _visit(launch.kernel.body, 1.0, 1.0, (), probe, launch, programs, accesses, shares)
    accesses = _share_windows(accesses, launch, probe)
    by_node = {id(access.access): access for access in accesses}
    return Traffic(
        programs=programs,
        accesses=tuple(accesses),
        trips=probe.trips,
        unknown_trips=probe.unknown_trips,
        counted_trips=probe.counted_trips,
        footprints=_footprints(accesses, launch),
        by_node=by_node,
        shares=shares,
    )


def _share_windows(accesses: list[AccessTraffic], launch: Launch, probe: Probe) -> list[AccessTraffic]:
    """Loads whose offsets differ by a constant only and whose windows overlap: each gets its part of their union."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, access in enumerate(accesses):
        offset = access.access.offset
        if access.kind == "load" and (access.known or access.gather) and offset is not None:
            moving = offset - offset.terms.get((), 0)
            groups.setdefault((access.base, access.access.shape, access.executions, moving), []).append(index)
    result = list(accesses)
    for members in groups.values():
        if len(members) < 2:
            continue
        share = _union_share([accesses[index] for index in members])
        for index in members:
            access = accesses[index]
            result[index] = replace(
                access, program_bytes=access.program_bytes * share, near_bytes=access.near_bytes * share,
                window_bytes=access.window_bytes * share, footprint_bytes=access.footprint_bytes * share, twins=len(members),
            )  # fmt: skip
    return result


#: Runs of a tile that are laid side by side one by one; a tile of more counts as one run from its first to its last byte.
_MOST_RUNS = 512


def _union_share(twins: Sequence[AccessTraffic]) -> float:
    """Sectors that ``twins`` touch together in one execution, over the sum of what each touches: 1 / their number where
    they all coincide. Twins have the same shape and strides; their ``signature`` begins with where each starts."""
    first = twins[0]
    size = first.access.dtype.bytes
    if not first.known:
        return _gathered_share(twins)
    starts = [access.signature[0] * size for access in twins]
    each = max(access.sectors for access in twins) * SECTOR_BYTES
    runs = _runs(first)
    if runs is None:
        together = min(each + max(starts) - min(starts), each * len(twins))
        return together / (each * len(twins)) if each else 1.0
    offsets, length = runs
    touched: set[int] = set()
    alone = 0
    for start in starts:
        for offset in offsets:
            begin, end = int(start + offset) // SECTOR_BYTES, int(start + offset + length - 1) // SECTOR_BYTES
            touched.update(range(begin, end + 1))
            alone += end + 1 - begin
    return len(touched) / alone


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


def _visit(
    body: tuple[Node, ...],
    executions: float,
    part: float,
    loops: tuple[Loop, ...],
    probe: Probe,
    launch: Launch,
    programs: int,
    accesses: list[AccessTraffic],
    shares: dict[int, tuple[float, ...]],
) -> None:
    """Adds the accesses of ``body``, which ``part`` of the programs come to and run ``executions`` times in the mean of all."""
    for node in body:
        if isinstance(node, Loop):
            inner = executions * probe.trips[node.id]
            _visit(node.body, inner, part, (*loops, node), probe, launch, programs, accesses, shares)
        elif isinstance(node, Branch):
            found = probe.arm_shares(node)
            shares[id(node)] = found or (node.share,) * len(node.arms)
            first = len(accesses)
            for arm, share in zip(node.arms, shares[id(node)]):
                _visit(arm, executions * share, part * share, loops, probe, launch, programs, accesses, shares)
            if found is None:
                accesses[first:] = [replace(access, certain=False) for access in accesses[first:]]
        elif isinstance(node, (Load, Store, Atomic)):
            result = _access(node, executions, loops, probe, launch, programs)
            accesses.append(result if part == 1.0 else replace(result, footprint_bytes=result.footprint_bytes * part))


def _access(
    access: Load | Store | Atomic,
    executions: float,
    loops: tuple[Loop, ...],
    probe: Probe,
    launch: Launch,
    programs: int,
) -> AccessTraffic:
    size = access.dtype.bytes
    elements = access.elements
    active = elements * active_fraction(access, probe)
    fraction = active / elements if elements else 0.0
    offset = launch.kernel.likely_offset(access)
    start = None if offset is None else probe.at(offset)
    whole = _span_bytes(launch.tensor(access.base))
    if offset is None or start is None:
        return _anywhere(access, offset, executions, active, whole, programs)
    tile = _tile(access, offset, start, probe)
    sectors = tile.sectors * fraction
    if active and sectors < 1.0:
        sectors = min(1.0, max(sectors, fraction))
    met = _over_loops(access, offset, sectors, tile.run, loops, probe)
    reach, distinct = met.reach, met.distinct
    program_bytes = min(distinct, (reach + 1) * size + SECTOR_BYTES) if executions else 0.0
    program_bytes = max(program_bytes, min(distinct, sectors * SECTOR_BYTES))
    signature = (start, reach, fraction)
    footprint, reach, shared = _over_grid(offset, program_bytes, reach, probe)
    # Tiles of neighbouring programs may overlap (windows, column strips inside one sector): the reach is a cap.
    footprint = min(footprint, (reach + 1) * size + SECTOR_BYTES)
    span = min((reach + 1) * size, whole)
    density = min(1.0, min(footprint, whole) / span) if 0 < span < math.inf else 1.0
    return AccessTraffic(
        access, access.base, executions, active, sectors, program_bytes, min(footprint, whole),
        sectors * SECTOR_BYTES * executions * programs, tile.contiguous, tile.aligned, True, False, signature, shared, met.step,
        density, min(met.near, sectors * SECTOR_BYTES * executions), met.window, vector_bytes(access),
        request_addresses=_request_addresses(access, offset, probe) if isinstance(access, Atomic) else float(WARP_LANES),
        strides=tile.strides,
    )  # fmt: skip


def _anywhere(
    access: Load | Store | Atomic,
    offset: Expr | None,
    executions: float,
    active: float,
    whole: float,
    programs: int,
) -> AccessTraffic:
    """The traffic of an access at addresses that the source does not tell: each run of lanes in sectors of its own."""
    size = access.dtype.bytes
    gather = _has_load(offset) if offset is not None else bool(access.through)
    if offset is None and not gather:
        return _somewhere_near(access, executions, active, whole, programs)
    run = _contiguous_run(access) * size
    rows = max(1.0, active * size / run) if active else 0.0
    sectors = rows * _sectors_of_run(run, size, aligned=False)
    if isinstance(access, Store) and not gather and active:
        # Each element is written once: an arm of a persistent loop that stores now and then is not known to be that.
        executions = min(executions, whole / (active * size * programs))
    program_bytes = sectors * SECTOR_BYTES * executions
    footprint = min(program_bytes * programs, whole)
    return AccessTraffic(
        access, access.base, executions, active, sectors, program_bytes, footprint,
        sectors * SECTOR_BYTES * executions * programs, run, False, False, gather,
        (float(access.id), float(id(access) % 2**31)), frozenset(), float("inf"),
        1.0, program_bytes, sectors * SECTOR_BYTES, vector_bytes(access),
    )  # fmt: skip


def _somewhere_near(
    access: Load | Store | Atomic, executions: float, active: float, whole: float, programs: int
) -> AccessTraffic:
    """The traffic of an access at addresses that the program computes from no loaded value (by way of floating point, say, as a
    resampling does): neighbouring lanes are taken to name neighbouring elements, and programs to share none."""
    size = access.dtype.bytes
    asked = active * size
    sectors = asked / SECTOR_BYTES
    moved = asked * executions * programs
    return AccessTraffic(
        access, access.base, executions, active, sectors, asked * executions, min(moved, whole), moved, float(LINE_BYTES),
        False, True, False, (float(access.id), float(id(access) % 2**31)), frozenset(), float("inf"),
        1.0, asked * executions, asked, size,
    )  # fmt: skip


@dataclass(frozen=True)
class _Met:
    """What one program touches over all its iterations, in bytes: ``distinct`` once each; ``near`` when it remembers only the
    iteration before, as an L1 of ``window`` bytes does that is shared with other programs. The addresses lie within ``reach``
    elements, and the tile moves on by ``step`` bytes at least."""

    distinct: float
    near: float
    window: float
    reach: float
    step: float


def _over_loops(
    access: Load | Store | Atomic, offset: Expr, sectors: float, run: float, loops: tuple[Loop, ...], probe: Probe
) -> _Met:
    """The tile of ``sectors``, in runs of ``run`` bytes, in all iterations: new addresses only where the offset moves with the
    loop."""
    size, start = access.dtype.bytes, probe.at(offset)
    assert start is not None
    atoms = offset.atoms()
    distinct = near = window = sectors * SECTOR_BYTES
    reach = _reach(offset, start, [Lane(dim) for dim in range(len(access.shape))], access.shape, probe)
    step = float("inf")
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
        step = min(step, advance)
        fresh = _fresh_bytes(distinct, advance, (reach + 1) * size, run)
        if fresh < near:
            window = max(window, near)
        near = min(near * trip, near + (trip - 1) * min(near, fresh))
        distinct += (trip - 1) * fresh
        reach += abs(last - first)
    return _Met(distinct, near, window, reach, step)


def _over_grid(offset: Expr, program_bytes: float, reach: float, probe: Probe) -> tuple[float, float, frozenset[int]]:
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


def _fresh_bytes(distinct: float, advance: float, span: float, run: float) -> float:
    """Bytes of whole sectors that a window of ``distinct`` bytes within ``span`` meets for the first time when it moves on by
    ``advance`` bytes: a part of each of its runs of ``run`` bytes where it moves by less (a convolution, a lane that walks
    along a row), all of a dense window (a scalar walk) by as much as it moves, else everything."""
    if advance < max(run, SECTOR_BYTES):
        return distinct * advance / max(run, SECTOR_BYTES)
    return min(distinct, advance) if distinct >= 0.5 * span else distinct


def _request_addresses(access: Atomic, offset: Expr, probe: Probe) -> float:
    """Distinct addresses among the lanes of one warp, in the mean over warps of a few programs."""
    order = [(dim, extent) for _, dim, extent in _lane_steps(access, offset, probe)]
    value_at, lanes = evaluator(offset), max(1, min(WARP_LANES, access.elements))
    warps = max(1, access.elements // lanes)
    counts = []
    for point in probe.programs():
        for warp in {warps * quarter // 4 for quarter in range(4)}:
            addresses = set()
            for index in range(warp * lanes, (warp + 1) * lanes):
                _put_lane(point, order, index)
                addresses.add(value_at(point))
            if None in addresses:
                return float(WARP_LANES)
            counts.append(len(addresses))
    return sum(counts) / len(counts)


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


@dataclass(frozen=True)
class _Tile:
    """One full tile: the ``sectors`` it touches, its ``contiguous`` bytes, whether rows begin on a sector boundary, the bytes from
    lane to lane along each axis (None where they are not constant), and the bytes of its ``run``, which lie within a sector of
    each other, gaps included."""

    sectors: float
    contiguous: float
    aligned: bool
    strides: tuple[float, ...] | None
    run: float


def _tile(access: Load | Store | Atomic, offset: Expr, start: float, probe: Probe) -> _Tile:
    size = access.dtype.bytes
    strides = []
    for dim, extent in enumerate(access.shape):
        one = probe.moved(offset, Lane(dim), 1.0) if extent > 1 else start
        last = probe.moved(offset, Lane(dim), extent - 1.0) if extent > 1 else start
        if one is None or last is None:
            return _Tile(*_uncoalesced(access, size), None, float(size))
        if last - start != (one - start) * (extent - 1):
            sectors, contiguous, aligned = _sampled_sectors(access, offset, probe)
            return _Tile(sectors, contiguous, aligned, None, contiguous)
        strides.append((one - start) * size)
    dims = [(abs(stride), extent) for stride, extent in zip(strides, access.shape) if extent > 1]
    run = float(size)
    rows = 1.0
    aligned = (start * size) % SECTOR_BYTES == 0
    for stride, extent in sorted(dims):
        if stride == 0:
            continue
        if rows == 1.0 and (stride <= run or stride < SECTOR_BYTES):
            run = (extent - 1) * stride + run
            continue
        rows *= extent
        aligned = aligned and stride % SECTOR_BYTES == 0
    contiguous = run if not dims else _contiguous_bytes(dims, size)
    return _Tile(rows * _sectors_of_run(run, size, aligned), contiguous, aligned, tuple(strides), run)


def _contiguous_bytes(dims: list[tuple[float, int]], size: int) -> float:
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


def _uncoalesced(access: Load | Store | Atomic, size: int) -> tuple[float, float, bool]:
    return float(access.elements), float(size), False


def _sampled_sectors(access: Load | Store | Atomic, offset: Expr, probe: Probe) -> tuple[float, float, bool]:
    """Sectors of a tile that is not affine in its lanes: count them on 32 neighbouring lanes, scale to the tile."""
    size = access.dtype.bytes
    steps = _lane_steps(access, offset, probe)
    order = [(dim, extent) for _, dim, extent in steps]
    if not order:
        return 1.0, float(size), False
    # Where several axes step by one, the compiler takes the one that stays contiguous: try each as the fastest.
    least = min(step for step, _, _ in steps)
    best: tuple[float, float] | None = None
    for step, dim, extent in steps:
        if step != least:
            continue
        tried = [(dim, extent), *(other for other in order if other[0] != dim)]
        result = _count_sectors(access, offset, tried, probe)
        if result is None:
            return _uncoalesced(access, size)
        if best is None or result[0] < best[0]:
            best = result
    assert best is not None
    return (*best, False)


def _lane_steps(access: Load | Store | Atomic, offset: Expr, probe: Probe) -> list[tuple[float, int, int]]:
    """(step in elements, dimension, extent) of the tile's dimensions, the one that neighbouring lanes run along first."""
    steps = []
    for dim, extent in enumerate(access.shape):
        if extent > 1:
            one, zero = probe.moved(offset, Lane(dim), 1.0), probe.moved(offset, Lane(dim), 0.0)
            steps.append((abs((one or 0.0) - (zero or 0.0)), dim, extent))
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


def _reach(offset: Expr, start: float, lanes: list[Lane], shape: tuple[int, ...], probe: Probe) -> float:
    """Elements between the lowest and the highest address of the tile."""
    total = 0.0
    for lane in lanes:
        if shape[lane.dim] > 1:
            last = probe.moved(offset, lane, shape[lane.dim] - 1.0)
            total += abs((start if last is None else last) - start)
    return total


def _contiguous_run(access: Load | Store | Atomic) -> float:
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


def _has_load(expr: Expr) -> bool:
    return any(isinstance(atom, Opaque) and atom.op == "load" for atom in expr.atoms())


def _span_bytes(tensor: Tensor | None) -> float:
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


def _footprints(accesses: Sequence[AccessTraffic], launch: Launch) -> dict[str, float]:
    """Distinct bytes per base: accesses that walk the same addresses count once, all are capped by the tensor."""
    groups: dict[str, dict[tuple[float, ...], float]] = {}
    for access in accesses:
        group = groups.setdefault(access.base, {})
        group[access.signature] = max(group.get(access.signature, 0.0), access.footprint_bytes)
    return {base: min(sum(group.values()), _span_bytes(launch.tensor(base))) for base, group in groups.items()}
