"""What one kernel launch would take without this or that: counterfactuals of the cost model, not shares of its terms.

A *facet* is one way in which a launch wastes time. :class:`Counterfactuals` prices the launch with any set of facets removed, so that
they can be removed alone, or one after another in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from functools import cached_property
from typing import TypeGuard

from kernlint.cost.combine import with_combined_dots
from kernlint.cost.device import Device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.dot_loop import DotLoop, DotStep
from kernlint.cost.dots import dot_time
from kernlint.cost.programs.constants import constants, launch_floor_us
from kernlint.cost.programs.price import price_of, program_time
from kernlint.cost.result import KernelTime
from kernlint.cost.traffic.accesses import shifted, traffic
from kernlint.cost.traffic.model import LINE_BYTES, SECTOR_BYTES, AccessTraffic, Traffic
from kernlint.headroom.blocks import kept_share
from kernlint.headroom.serial import chunks_us, is_serial
from kernlint.records import replace
from kernlint.workload import Access, Compute, Dot, Launch, Loop, Node, ProgramId, Reduce, Scan
from kernlint.workload import dtype as dt

UNIT = "unit"
WORK = "extra operations"
REPEATED = "repeated reads"
SECTORS = "sectors"
ATOMICS = "atomics"
IDLE = "idle lanes"
FEW = "few programs"
MANY = "many programs"
SERIAL = "serial steps"
EXCHANGE = "exchange"
LATENCY = "latency"
TILE = "tile"
SPILLS = "spills"

#: The order in which facets are removed, so that their times add up: what changes the work before what changes its shape.
ORDER = (UNIT, WORK, REPEATED, SECTORS, ATOMICS, IDLE, SPILLS, FEW, MANY, SERIAL, EXCHANGE, LATENCY, TILE)

#: Programs a well-filled card has, for each SM.
_PROGRAMS_PER_SM = 4


#: Those of which a kernel without dots is priced anew; the others change the terms of a price.
_REPRICED = frozenset({UNIT, REPEATED, SECTORS, SPILLS, EXCHANGE})


class Counterfactuals:
    """What ``launch`` would take on ``device`` without facets. ``runs`` are the bytes that lie together of what is asked for through
    indices, by the parameter; ``needed`` is the share of its operations that the computation needs."""

    def __init__(
        self, launch: Launch, device: Device, runs: Mapping[str, float] | None = None, needed: float = 1.0
    ) -> None:
        self.launch = replace(launch, alternatives=(), kernel=launch.kernel.once(with_combined_dots))
        self.device, self._runs, self._needed = device, runs or {}, needed
        self._moved = traffic(self.launch)
        self._priced: dict[frozenset[str], KernelTime] = {}

    @cached_property
    def facets(self) -> tuple[str, ...]:
        """The facets that may apply, in their order."""
        if self.launch.kernel.dots():
            return (UNIT, IDLE, FEW, TILE)
        filled = (self.launch.programs or 1) / self.device.sm_count
        left_out = {TILE, FEW if filled >= _PROGRAMS_PER_SM else MANY}
        # Steps that go on from one another are not shared out: more programs take as long.
        left_out |= {LATENCY, FEW} if is_serial(self.launch) else {SERIAL}
        left_out |= {EXCHANGE} if self.fewer_warps == self.launch.num_warps else set()
        return tuple(facet for facet in ORDER if facet not in left_out)

    @cached_property
    def fewer_warps(self) -> int:
        """The warps, no more than it has, with which a launch without dots is fastest where its warps share out what is summed or
        scanned."""
        own = self.launch.num_warps
        if not self.launch.kernel.has((Reduce, Scan)):
            return own
        halves = [own >> halvings for halvings in range(1, own.bit_length())]
        times = {own: self._price(frozenset()).us}
        times |= {warps: program_time(replace(self.launch, num_warps=warps), self.device).us for warps in halves}
        return min(times, key=times.__getitem__)

    def us(self, *removed: str) -> float:
        """Microseconds without the facets ``removed``."""
        launch, device = self.launch, self.device
        if launch.kernel.dots():
            return _dots_without(launch, device, removed, self._without(removed))
        if MANY in removed and _active(self._moved) <= _SHORT_ROWS:
            # Who gives a program several short rows deals its lanes and warps out to them.
            removed = (*removed, IDLE, EXCHANGE)
        found, moved = self._price(_REPRICED.intersection(removed)), self._without(removed)
        terms = dict(found.terms)
        floor = terms.pop("floor", 0.0)
        if WORK in removed:
            for name in ("latency", "issue"):
                terms[name] = terms.get(name, 0.0) * self._needed
        if REPEATED in removed:
            passes, left = _passes(self._moved), _asked_once(self._moved, found.asking)
            for name in ("latency", "lines", "issue", "shared"):
                terms[name] = terms.get(name, 0.0) * min(1 / passes, left if name == "issue" else 1.0)
        filled = moved.programs / (_PROGRAMS_PER_SM * device.sm_count)
        if FEW in removed and filled < 1:
            for name in ("latency", "l2", "lines", "issue", "shared"):
                scale = filled if name == "latency" else min(1.0, moved.programs / device.sm_count)
                terms[name] = terms.get(name, 0.0) * scale
        if MANY in removed:
            fewer, idle = _grown(launch, moved)
            terms["launch"] = terms.get("launch", 0.0) / fewer * price_of(launch, device).working
            terms["latency"] = terms.get("latency", 0.0) / fewer
            for name in ("issue", "shared"):
                terms[name] = terms.get(name, 0.0) / idle
        if ATOMICS in removed:
            terms["atomics"] = 0.0
        if IDLE in removed:
            terms["issue"] = terms.get("issue", 0.0) * _active(moved)
        if LATENCY in removed:
            terms["latency"] = 0.0
        if SERIAL in removed:
            terms["latency"], terms["shared"] = min(terms.get("latency", 0.0), chunks_us(launch)), 0.0
            terms["issue"] = terms.get("issue", 0.0) * 0.5
        return float(floor + sum(value**found.norm for value in terms.values()) ** (1 / found.norm))

    def _without(self, removed: Container[str]) -> Traffic:
        """What is moved without the facets ``removed``."""
        moved = _once(self._moved) if REPEATED in removed else self._moved
        return _coalesced(self.launch, moved, self._runs) if SECTORS in removed else moved

    def _price(self, removed: frozenset[str]) -> KernelTime:
        """The time of a launch without dots, without those of the facets ``removed`` that it is priced anew for."""
        if UNIT in removed and not any(map(_is_double, self.launch.kernel.nodes(Compute))):
            removed -= {UNIT}
        if removed not in self._priced:
            launch = replace(self.launch, num_warps=self.fewer_warps) if EXCHANGE in removed else self.launch
            launch = _in_single(launch) if UNIT in removed else launch
            held = replace(constants(), spill_traffic=0.0, collapse_traffic=0.0) if SPILLS in removed else None
            moved = self._without(removed)
            self._priced[removed] = program_time(launch, self.device, held, moved=moved)
        return self._priced[removed]


def as_one(launch: Launch, rounds: float) -> Launch:
    """``launch`` with the programs of so many ``rounds`` of it."""
    first, *rest = launch.grid
    return replace(launch, grid=(first * max(1, round(rounds)), *rest))


#: Where no more of the lanes have anything to do, rows are short for their programs.
_SHORT_ROWS = 0.5


def _is_double(node: Node) -> TypeGuard[Compute]:
    return isinstance(node, Compute) and node.dtype.is_float and node.dtype.bits == 64


def _in_single(launch: Launch) -> Launch:
    """``launch`` with double precision done in single."""
    return launch.rewritten(lambda node: replace(node, dtype=dt.FLOAT32) if _is_double(node) else node)


#: Elements that a program has at hand where starting it costs nothing to speak of, with four warps.
_BLOCK = 1024


def _grown(launch: Launch, moved: Traffic) -> tuple[float, float]:
    """By how much fewer programs could be, each with a block, and by how much the idle threads among their warps then are."""
    largest = max((access.access.elements for access in moved.accesses), default=1)
    fewer = max(1.0, _BLOCK / largest)
    return fewer, min(fewer, max(1.0, 32 * launch.num_warps / largest))


def _active(moved: Traffic) -> float:
    """The share of lanes inside the masks, of the widest accesses."""
    asked = sum(a.active_elements * a.executions for a in moved.accesses)
    lanes = sum(a.access.elements * a.executions for a in moved.accesses)
    return asked / lanes if lanes else 1.0


def _passes(moved: Traffic) -> float:
    """How often a program asks for the same bytes, in the mean over its loads: fields between one another in memory are no repetition, nor
    are neighbours."""
    seen: dict[tuple[object, ...], float] = {}
    loaded = 0.0
    for access in moved.accesses:
        if access.kind == "load" and access.known and not access.gather and access.program_bytes:
            key = (access.base, access.place)
            seen[key] = max(seen.get(key, 0.0), access.program_bytes * max(1.0, access.efficiency / access.together))
            loaded += access.asked_bytes * access.executions
    distinct = sum(seen.values())
    return max(1.0, loaded / distinct) if distinct else 1.0


#: Results that a program works out at a time from what it loads, where each needs all of that.
_TOGETHER = 8


def _asked_once(moved: Traffic, asking: Mapping[int, float]) -> float:
    """The share of the instructions that is left where what programs have in common is loaded for several results at a time."""
    saved = 0.0
    for access in moved.accesses:
        if access.kind == "load" and access.known and not access.gather and access.footprint_bytes:
            again = max(1.0, access.moved_bytes / access.footprint_bytes)
            saved += asking.get(id(access.access), 0.0) * (1 - 1 / min(_TOGETHER, again))
    return 1 - saved


def asked_from(moved: Traffic, windows: bool = False) -> dict[str, float]:
    """The bytes that each base is asked for at least, where each access takes what it sees once: lanes do not have what their neighbours
    loaded, so the elements around their own, as a stencil wants them, are loaded from where each of them stands. Those that L1 has from
    another load count as asked for in ``windows`` alone."""
    seen: dict[str, dict[tuple[float, ...], float]] = {}
    for access in moved.accesses:
        if access.kind == "load" and access.known and not access.gather:
            own = seen.setdefault(access.base, {})
            wanted = access.footprint_bytes * access.efficiency / (access.together if windows else 1.0)
            own[access.place] = max(own.get(access.place, 0.0), wanted)
    return {base: max(whole, sum(seen.get(base, {}).values())) for base, whole in moved.footprints.items()}


def _once(moved: Traffic) -> Traffic:
    """Each byte that is loaded asked of the caches once: by one iteration and one program, and by one access, but for those that see it
    from elsewhere."""
    wanted = asked_from(moved, windows=True)
    total: dict[str, float] = {}
    for access in moved.accesses:
        if access.kind == "load":
            total[access.base] = total.get(access.base, 0.0) + access.moved_bytes
    changed = []
    for access in moved.accesses:
        if access.kind != "load" or not access.moved_bytes or not access.known or access.gather:
            changed.append(access)
            continue
        share = min(1.0, max(wanted[access.base], SECTOR_BYTES) / total[access.base])
        changed.append(
            replace(
                access,
                moved_bytes=access.moved_bytes * share,
                near_bytes=access.near_bytes * share,
                program_bytes=access.program_bytes * share,
            )
        )
    return _with(moved, changed)


def _coalesced(launch: Launch, moved: Traffic, runs: Mapping[str, float]) -> Traffic:
    """Each access in whole lines: no byte of a sector that is not wanted. What is picked through indices lies where the data says, but
    for the ``runs`` that are wanted whole, and for indices that all lanes have in common; loaded displacements stay where they are."""
    changed = []
    for access in moved.accesses:
        if access.gather and not _beside_other_programs(access.access) and not shifted(access.access, launch):
            run = runs.get(access.base, 0.0)
            share = access.efficiency * SECTOR_BYTES * math.ceil(run / SECTOR_BYTES) / run if run else 1.0
            changed.append(_in_runs(access, run, share) if access.kind != "atomic" and share < 1.0 else access)
            continue
        if access.displaced and access.contiguous_bytes >= SECTOR_BYTES:
            # Neighbouring lanes go to neighbouring addresses but for what was loaded: no order of the lanes serves them better.
            changed.append(access)
            continue
        wanted = access.efficiency
        known = True
        changed.append(
            replace(
                access,
                sectors=access.asked_bytes / SECTOR_BYTES,
                moved_bytes=access.moved_bytes * wanted,
                near_bytes=access.near_bytes * wanted,
                program_bytes=access.program_bytes * wanted,
                footprint_bytes=access.footprint_bytes * wanted,
                window_bytes=access.window_bytes * wanted,
                contiguous_bytes=max(access.contiguous_bytes, float(LINE_BYTES)),
                density=1.0,
                vector_bytes=16,
                strides=None,
                known=known,
            )
        )
    return _with(moved, changed)


def _in_runs(access: AccessTraffic, run: float, share: float) -> AccessTraffic:
    """``access`` with ``run`` bytes at a time, which takes this ``share`` of the sectors."""
    return replace(
        access,
        sectors=access.sectors * share,
        moved_bytes=access.moved_bytes * share,
        near_bytes=access.near_bytes * share,
        program_bytes=access.program_bytes * share,
        window_bytes=access.window_bytes * share,
        contiguous_bytes=max(access.contiguous_bytes, run),
    )


def _beside_other_programs(access: Access) -> bool:
    """Whether the next program has the neighbours of the elements of ``access``, wherever those are."""
    offset = access.offset
    return offset is not None and any(offset.coefficient(ProgramId(axis)) == 1 for axis in range(3))


def _with(moved: Traffic, accesses: list[AccessTraffic]) -> Traffic:
    return replace(moved, accesses=tuple(accesses), by_node={id(a.access): a for a in accesses})


#: Output tiles, warps and stages that a dot is priced at; K takes 128 bytes of a row, as a swizzled row of shared memory does.
_TILES = ((16, 64), (32, 64), (64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128))


def _dots_without(launch: Launch, device: Device, removed: Container[str], moved: Traffic) -> float:
    loop = dot_loop(launch, moved)
    if loop is None:
        return kernel_time(launch, device).us
    if UNIT in removed:
        loop = replace(loop, steps=tuple(_in_its_unit(step, dot) for step, dot in zip(loop.steps, _dots(launch, loop))))
    if IDLE in removed:
        kept, longest = kept_share(launch)
        loop = replace(
            loop,
            iterations=loop.iterations * kept,
            most_iterations=loop.iterations * longest if kept < 1.0 else loop.most_iterations,
            loaded_bytes=loop.loaded_bytes * kept,
        )
    joined = 0.0
    if FEW in removed and loop.programs < device.sm_count:
        parts = max(1, min(device.sm_count // loop.programs, int(loop.iterations)))
        # Each part leaves fp32 sums that another launch adds up.
        joined = launch_floor_us() if parts > 1 else 0.0
        loop = replace(
            loop,
            programs=loop.programs * parts,
            iterations=loop.iterations / parts,
            most_iterations=loop.most_iterations / parts,
            epilogue_bytes=loop.epilogue_bytes * (1 + 4 * (parts > 1) * parts),
        )
    if TILE in removed:
        return joined + min(dot_time(other, device).us for other in (loop, *_other_tiles(loop, device)))
    return joined + dot_time(loop, device).us


def _dots(launch: Launch, loop: DotLoop) -> list[Dot | None]:
    found: list[Dot | None] = list(launch.kernel.dots())
    return found if len(found) == len(loop.steps) else [None] * len(loop.steps)


def _in_its_unit(step: DotStep, dot: Dot | None) -> DotStep:
    """``step`` on operands as they lie in memory, before any cast, at the precision of the tensor cores."""
    pair = []
    for made, operand in ((step.a, dot.a if dot else None), (step.b, dot.b if dot else None)):
        stored = made.memory_dtype
        if operand is not None and operand.unscaled is not None:
            stored = operand.unscaled.memory_dtype
        pair.append(replace(made, memory_dtype=stored, dtype=stored))
    wide = max((operand.dtype for operand in pair), key=lambda t: (t.is_float, t.bits))
    a, b = (replace(operand, dtype=wide) for operand in pair)
    return replace(step, a=a, b=b, precision="tf32")


def _other_tiles(loop: DotLoop, device: Device) -> list[DotLoop]:
    """The same products in other tiles, in the loop that pipelines them."""
    if len(loop.steps) != 1:
        return [replace(loop, num_stages=max(loop.num_stages, 3), pipelined=True)]
    (step,) = loop.steps
    depth = loop.iterations * step.k
    area = loop.programs * step.m * step.n
    made = []
    for m, n in _TILES:
        if loop.grid_m and ((m > 16 and m >= 2 * loop.grid_m * step.m) or (n > 64 and n >= 2 * loop.grid_n * step.n)):
            continue
        bits = max(step.a.dtype.bits, step.b.dtype.bits)
        k = int(min({8: 128, 16: 64}.get(bits, 32), max(16, depth)))
        for split in (1, 2, 4, 8):
            programs = math.ceil(area / (m * n)) * split
            if split > 1 and (programs > 2 * device.sm_count or depth / split < 256):
                break
            made.append(
                replace(
                    loop,
                    programs=programs,
                    iterations=max(1.0, depth / k / split),
                    steps=(replace(step, m=m, n=n, k=k),),
                    loaded_bytes=loop.loaded_bytes * (1 / m + 1 / n) / (1 / step.m + 1 / step.n),
                    num_stages=3,
                    pipelined=True,
                    num_warps=8 if m * n >= 128 * 128 else 4,
                    grouped=True,
                    entries=1.0,
                    epilogue_bytes=loop.epilogue_bytes * (1 if split == 1 else 2.0),
                    grid_m=math.ceil(loop.grid_m * step.m / m),
                    grid_n=math.ceil(loop.grid_n * step.n / n),
                )
            )
    return made


def arithmetic(launch: Launch) -> float:
    """Elementwise operations of all programs."""
    found = launch.kernel.walk(Compute)
    return sum(node.elements * _executions(launch, loops) for node, loops in found if node.kind != "cast")


def operations(launch: Launch) -> float:
    """Elementwise operations of all programs and those of reductions."""
    reduced = (math.prod(node.shape) * _executions(launch, loops) for node, loops in launch.kernel.walk(Reduce))
    return arithmetic(launch) + sum(reduced)


def _executions(launch: Launch, loops: tuple[Loop, ...]) -> float:
    """How often all programs together come to what stands in ``loops``."""
    found = traffic(launch)
    return found.programs * math.prod(found.trips.get(loop.id, 1.0) for loop in loops)


def evidence(launch: Launch, facet: str, tried: Counterfactuals) -> str:
    """The numbers behind ``facet`` of ``launch``, for which others were ``tried``, in words."""
    moved, device = traffic(launch), tried.device
    if facet == SECTORS:
        told = [a for a in moved.accesses if not a.gather or shifted(a.access, launch)]
        worst = max(told, key=lambda a: a.moved_bytes * (1 - a.efficiency), default=None)
        if worst is not None:
            where = f"the {worst.kind} of `{worst.base}` at line {worst.access.span.line}"
            return f"{worst.efficiency * 100:.0f} % of the bytes that {where} moves are wanted"
    if facet == REPEATED:
        loaded = sum(a.moved_bytes for a in moved.accesses if a.kind == "load")
        distinct = sum(moved.footprints.get(base, 0.0) for base in {a.base for a in moved.accesses if a.kind == "load"})
        if distinct:
            return f"{loaded / 1e6:.3g} MB are loaded of {distinct / 1e6:.3g} MB"
    if facet == ATOMICS:
        count = sum(a.executions * a.active_elements * moved.programs for a in moved.accesses if a.kind == "atomic")
        return f"{count:.3g} atomic updates"
    if facet in (FEW, MANY):
        share = price_of(launch, device).working if facet == MANY else 1.0
        idle = f", {1 - share:.0%} of which return at once" if share < 1.0 else ""
        return f"{moved.programs:,} programs on {device.sm_count} SMs{idle}"
    if facet in (SERIAL, LATENCY):
        trips = max(moved.trips.values(), default=1.0)
        return f"{trips:,.0f} steps one after another in each of {moved.programs:,} programs"
    if facet == EXCHANGE:
        return f"{launch.num_warps} warps share what is reduced, {tried.fewer_warps} would be enough"
    if facet == SPILLS:
        return "its tiles do not fit the registers"
    if facet == IDLE and launch.kernel.dots():
        return f"{kept_share(launch)[0] * 100:.0f} % of the blocks have anything inside the mask"
    if facet == IDLE:
        return f"{_active(moved) * 100:.0f} % of the lanes are inside their masks"
    dots = launch.kernel.dots()
    if dots and facet == UNIT:
        types = dict.fromkeys(str(operand.dtype) for operand in (dots[0].a, dots[0].b))
        return f"operands are fed as {' and '.join(types)} ({dots[0].precision})"
    if dots and facet == TILE:
        stages = f"{launch.num_warps} warps, {launch.num_stages} stages"
        return f"tiles of {dots[0].m}x{dots[0].n}x{dots[0].k} with {stages}, {moved.programs:,} programs"
    return ""


#: Rows of a table of so many bytes take what they take wherever they lie.
_SHORT = 64


def local_share(launch: Launch, device: Device) -> float:
    """The part of its time that ``launch`` takes if what it picks through loaded indices lies side by side: the least that its data
    may make of it."""
    moved = traffic(launch)

    def scattered(access: AccessTraffic) -> bool:
        picked = access.gather and access.kind != "atomic" and access.contiguous_bytes < _SHORT
        return picked and not shifted(access.access, launch)

    if not any(map(scattered, moved.accesses)) or launch.kernel.dots():
        return 1.0
    changed = [
        replace(
            access, known=True, gather=False, contiguous_bytes=float(LINE_BYTES), strides=None, density=1.0,
            moved_bytes=access.asked_bytes * access.executions * moved.programs,
        )
        if scattered(access) else access
        for access in moved.accesses
    ]  # fmt: skip
    anywhere = program_time(launch, device, moved=moved).us
    return min(1.0, program_time(launch, device, moved=_with(moved, changed)).us / anywhere) if anywhere else 1.0
