"""Which bytes each access of a kernel moves: executions, active lanes, 32-byte sectors, footprint, reuse.

Everything is read off the offset expressions. An offset is probed numerically at a typical program: the step and the
reach along each lane, loop and grid axis. A tile that is affine in its lanes gets its sectors from the strides, the
order Triton lays a tile out in (fastest along the smallest stride); any other tile is sampled. An offset that cannot be
evaluated (a gather through a loaded index) is taken as new addresses for every row of contiguous lanes.
"""

from __future__ import annotations

import math

from kernlint import work
from kernlint.cost.evaluate import evaluator
from kernlint.cost.layout import vector_bytes
from kernlint.cost.segments import drawn_bounds, expected_of, greatest_lengths, likely_bounds, loaded
from kernlint.cost.traffic.masks import active_fraction
from kernlint.cost.traffic.model import LINE_BYTES, SECTOR_BYTES, WARP_LANES, AccessTraffic, Traffic
from kernlint.cost.traffic.places import places
from kernlint.cost.traffic.probe import ASSUMED_TRIP, Probe
from kernlint.cost.traffic.reuse import footprints, over_grid, over_loops, share_windows, span_bytes
from kernlint.cost.traffic.sectors import _lane_steps, _put_lane, _sectors_of_run, contiguous_run, tile_of
from kernlint.records import replace
from kernlint.workload import (
    Atomic,
    Branch,
    Expr,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    ProgramId,
    Size,
    Store,
    Symbol,
    concrete,
)
from kernlint.workload.expr import Atom, simplify


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


def rounds_by_result(launch: Launch) -> dict[int, float]:
    """The rounds that loops of unknown length make in all programs together, by the loop: where each round stores a tile at a place of
    its own, so many as there are tiles in the tensor."""
    found: dict[int, float] = {}
    for loop in launch.kernel.nodes(Loop):
        for node in loop.body:
            if not isinstance(node, Store) or node.offset is None or node.elements <= 1:
                continue
            tensor, moves = launch.tensor(node.base), LoopIndex(loop.id) in node.offset.atoms()
            if tensor is not None and tensor.numel and moves:
                found[loop.id] = max(found.get(loop.id, 0.0), tensor.numel / node.elements)
    return found


def assumed_trips(launch: Launch) -> list[tuple[int, str]]:
    """The loops of ``launch`` whose trip counts no source tells, by line, each with how often it is taken to run: those bounded by
    loaded values, and those of which nothing is known."""
    found: dict[int, tuple[int, str]] = {}
    bounds = likely_bounds(launch)
    lengths = greatest_lengths(launch, bounds)
    trips, by_result = traffic(launch).trips, rounds_by_result(launch)
    for node in launch.kernel.nodes(Loop):
        if _follows(node):
            continue
        read = loaded(node.trip)
        times = f"{trips.get(node.id, ASSUMED_TRIP):.3g}"
        if any(atom in lengths for atom in read):
            times += " at most, the extent of the axis that it goes along"
        elif node.id in by_result and is_guess(launch, node):
            times += " in the mean, the tiles of what it stores over the programs"
        elif read and all(atom in bounds for atom in read):
            means = (expected_of(launch, launch.kernel.load(atom.key)) for atom in read)
            told = any((one.mean, one.step) != (None, None) for one in means)
            times += " in the mean, " + (
                "as its inputs draw them" if told else "the elements over the number of segments"
            )
        found[node.id] = node.span.line, times
    return list(found.values())


def is_guess(launch: Launch, loop: Loop) -> bool:
    """Whether nothing tells how often ``loop`` of ``launch`` runs, so that a number is taken that does not go with its tiles."""
    if _follows(loop):
        return False
    bounds = likely_bounds(launch)
    known = {**bounds, **greatest_lengths(launch, bounds)}
    read = loaded(loop.trip)
    return not read or any(atom not in known for atom in read)


def _follows(loop: Loop) -> bool:
    """Whether the trip count of ``loop`` follows from the call, or will once its open sizes are given."""
    symbolic = isinstance(loop.trip, Expr) and any(isinstance(atom, Symbol) for atom in loop.trip.atoms())
    return loop.trip is not None and (symbolic or not loaded(loop.trip))


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
    tiles = rounds_by_result(launch)
    drawn = [Probe(launch.kernel, grid, one, lengths, rounds=tiles) for one in drawn_bounds(launch)]
    probe = Probe(launch.kernel, grid, bounds, lengths, drawn, tiles)
    accesses: list[AccessTraffic] = []
    shares: dict[int, tuple[float, ...]] = {}
    _visit(launch.kernel.body, 1.0, 1.0, (), probe, launch, programs, accesses, shares)
    accesses = share_windows(accesses)
    by_node = {id(access.access): access for access in accesses}
    return Traffic(
        programs=programs,
        accesses=tuple(accesses),
        trips=probe.trips,
        unknown_trips=probe.unknown_trips,
        counted_trips=probe.counted_trips,
        uneven=probe.uneven(),
        footprints=footprints(accesses, launch),
        by_node=by_node,
        shares=shares,
    )


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
    found = places(access, launch, [LoopIndex(loop.id) for loop in loops], probe) if offset is None else None
    offset = offset if found is None else found.offset
    start = None if offset is None else probe.at(offset)
    whole = span_bytes(launch.tensor(access.base))
    if found is not None and found.lines:
        near = _somewhere_near(access, executions, active, whole, programs, found.sectors / WARP_LANES)
        return replace(near, request_lines=found.lines)
    if offset is None or start is None:
        if offset is None and shifted(access, launch):
            return _somewhere_near(access, executions, active, whole, programs)
        anywhere = _anywhere(access, offset, executions, active, whole, launch, probe)
        return in_order(anywhere) if _is_counted(access, launch) else anywhere
    tile = tile_of(access, offset, start, probe)
    sectors = tile.sectors * fraction
    if active and sectors < 1.0:
        sectors = min(1.0, max(sectors, fraction))
    met = over_loops(access, offset, sectors, tile, loops, probe)
    reach, distinct = met.reach, met.distinct
    program_bytes = min(distinct, (reach + 1) * size + SECTOR_BYTES) if executions else 0.0
    program_bytes = max(program_bytes, min(distinct, sectors * SECTOR_BYTES))
    signature = (start, reach, fraction)
    footprint, reach, shared = over_grid(offset, program_bytes, reach, probe)
    # Tiles of neighbouring programs may overlap (windows, column strips inside one sector): the reach is a cap.
    footprint = min(footprint, (reach + 1) * size + SECTOR_BYTES)
    span = min((reach + 1) * size, whole)
    density = min(1.0, min(footprint, whole) / span) if 0 < span < math.inf else 1.0
    return AccessTraffic(
        access, access.base, executions, active, sectors, program_bytes, min(footprint, whole),
        sectors * SECTOR_BYTES * executions * programs, tile.contiguous, tile.aligned, True, False, signature, shared,
        density, min(met.near, sectors * SECTOR_BYTES * executions), met.window, vector_bytes(access),
        request_addresses=_request_addresses(access, offset, probe) if isinstance(access, Atomic) else float(WARP_LANES),
        strides=tile.strides, inner=tile.inner, reach=reach, displaced=found is not None and found.displaced,
    )  # fmt: skip


def _anywhere(
    access: Load | Store | Atomic,
    offset: Expr | None,
    executions: float,
    active: float,
    whole: float,
    launch: Launch,
    probe: Probe,
) -> AccessTraffic:
    """The traffic of an access at addresses that the source does not tell: each run of lanes in sectors of its own."""
    size, programs = access.dtype.bytes, math.prod(probe.grid)
    gather = bool(access.through if offset is None else loaded(offset))
    if offset is None and not gather:
        return _somewhere_near(access, executions, active, whole, programs)
    apart = _far_apart(offset, launch) if offset is not None else None
    start = probe.at(apart) if apart is not None else None
    if apart is not None and start is not None:
        tile = tile_of(access, apart, start, probe)
        run, sectors = tile.contiguous, tile.sectors * active / max(1, access.elements)
    else:
        run = contiguous_run(access) * size
        rows = max(1.0, active * size / run) if active else 0.0
        sectors = rows * _sectors_of_run(run, size, aligned=False)
    if isinstance(access, Store) and not gather and active:
        # Each element is written once: an arm of a persistent loop that stores now and then is not known to be that.
        executions = min(executions, whole / (active * size * programs))
    part = part_of(offset, launch) * size
    known = part < whole and not isinstance(access, Atomic)
    asked = sectors * SECTOR_BYTES
    # Random places of a part of the tensor: some of its sectors are met more than once.
    distinct = part * -math.expm1(-asked / part) if known else asked
    program_bytes = distinct * executions
    footprint = min(program_bytes * programs, whole)
    return AccessTraffic(
        access, access.base, executions, active, sectors, program_bytes, footprint,
        asked * executions * programs, run, False, known, gather,
        (float(access.id), float(id(access) % 2**31)), frozenset(),
        footprint / whole if known else 1.0, program_bytes, part if known else asked, vector_bytes(access),
        within=min(part, whole),
    )  # fmt: skip


def step_of_loads(offset: Expr) -> int:
    """Elements from the place that a loaded number names to that of the next, the most of them: what is made of it
    steps as far as its term does (``2048 * (load // 8)``: a row)."""
    return max((abs(step) for term, step in offset.terms.items() if loaded(Expr({term: 1}))), default=0)


def part_of(offset: Expr | None, launch: Launch) -> float:
    """Elements that loaded indices may go to from one program and turn, where these have parts of the tensor to themselves (a row of
    it, an image): the least of their steps that is larger than those of the indices; infinite where there is none."""
    if offset is None:
        return math.inf
    atoms = offset.atoms()
    least, part = step_of_loads(offset), math.inf
    if any((load := launch.kernel.load(atom.key)) is None or load.elements == 1 for atom in loaded(offset)):
        return math.inf
    extents = dict(enumerate(map(concrete, launch.grid)))
    for atom in atoms:
        if isinstance(atom, (ProgramId, LoopIndex)):
            coefficient = offset.coefficient(atom)
            stride = concrete(simplify(coefficient)) if coefficient is not None else None
            if stride is None:
                return math.inf
            if abs(stride) > least and (not isinstance(atom, ProgramId) or extents.get(atom.axis, 1) != 1):
                part = min(part, abs(stride))
    return part


def in_order(access: AccessTraffic) -> AccessTraffic:
    """``access`` through loaded indices as it is where these are in order: neighbouring lanes name neighbouring elements."""
    asked = access.asked_bytes
    share = asked / (access.sectors * SECTOR_BYTES) if access.sectors else 1.0
    return replace(
        access, known=True, sectors=asked / SECTOR_BYTES, program_bytes=access.program_bytes * share,
        footprint_bytes=min(access.footprint_bytes, access.moved_bytes * share), moved_bytes=access.moved_bytes * share,
        near_bytes=access.near_bytes * share, window_bytes=access.window_bytes * share,
        contiguous_bytes=max(float(LINE_BYTES), access.contiguous_bytes),
    )  # fmt: skip


def _is_counted(access: Load | Store | Atomic, launch: Launch) -> bool:
    """Whether all that says where ``access`` goes was made by counting."""
    loads = [launch.kernel.load(number) for number in access.through]
    return bool(loads) and all(expected_of(launch, load).counted for load in loads)


#: Elements between the places that neighbouring loaded indices name: none is near another one, and none is aligned.
_FAR = (1 << 20) + 1


def _far_apart(offset: Expr, launch: Launch) -> Expr | None:
    """``offset`` as it is where loaded indices lie in no order: each as far from the next as there is room. Lanes with one index in
    common (``load(i // 64) * 64 + i % 64``) stay together. None where the address of an index is not known either."""
    places: dict[Atom, Size] = {}
    for atom in loaded(offset):
        load = launch.kernel.load(atom.key)
        address = launch.kernel.likely_offset(load) if load is not None else None
        if address is not None:
            address = _far_apart(address, launch) if loaded(address) else address * _FAR
        if address is None:
            return None
        places[atom] = address
    return offset.substitute(places)


def shifted(access: Load | Store | Atomic, launch: Launch) -> bool:
    """Whether what an address depends on of memory are numbers alone: they move all lanes of a program together."""
    loads = [launch.kernel.load(number) for number in access.through]
    return bool(loads) and access.elements > 1 and all(load is not None and load.elements == 1 for load in loads)


def _somewhere_near(
    access: Load | Store | Atomic, executions: float, active: float, whole: float, programs: int, least: float = 0.0
) -> AccessTraffic:
    """The traffic of an access at addresses that the program computes by way of floating point, say (a resampling), from no loaded
    value or from numbers that are the same in all lanes: neighbouring lanes are taken to name neighbouring elements, or elements as
    far apart along each of two axes as the tensor has more of them than are asked for, a sector for each of so many at the ``least``,
    and programs to share none."""
    size = access.dtype.bytes
    spread = math.sqrt(whole / max(1.0, active * size * executions * programs)) if math.isfinite(whole) else 1.0
    asked = active * max(size, min(SECTOR_BYTES, size * spread))
    sectors = max(asked / SECTOR_BYTES, least * active)
    asked = sectors * SECTOR_BYTES
    moved = asked * executions * programs
    return AccessTraffic(
        access, access.base, executions, active, sectors, asked * executions, min(moved, whole), moved, float(LINE_BYTES),
        False, True, False, (float(access.id), float(id(access) % 2**31)), frozenset(),
        1.0, asked * executions, asked, size,
    )  # fmt: skip


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
