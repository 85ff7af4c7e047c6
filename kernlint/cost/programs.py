"""Device time of a kernel without tensor-core work: streaming, row reductions, gathers, scans, atomics, FMA loops.

The time is ``floor + (sum of term^p)^(1/p)`` over named terms: terms of different units overlap, so the largest decides
and a near tie costs a little more. Each term is a resource and what the kernel asks of it:

launch   programs x the interval at which the card starts programs (about 0.6 ns, whatever the warps: ``copy_block``
         with 32-element blocks streams 0.4 TB/s)
memory   bytes that miss L2 / DRAM bandwidth. In a warm graph replay a footprint under about two thirds of L2 misses
         nothing, one above L2 everything (``copy_block`` 33 MB: 5.3 TB/s, 67 MB: 2.9 TB/s)
l2       sectors x 32 bytes / L2 bandwidth, slower when a row is shorter than two sectors, slowest for partial writes
         (``tile_copy`` 1024 x 1: 4 TB/s read, 1.9 TB/s written)
latency  the dependent path of one program x the waves of resident programs. A load costs a round trip; a streaming
         loop keeps a few loads a thread in flight (ptxas unrolls), ``tl.range(num_stages)`` a stage each; a reduction
         inside the loop exposes the round trip and adds a barrier (``row_loop*``)
lines    128-byte lines that the requests of warps touch: L1 looks up one of them a cycle, so that lanes apart from each
         other take a cycle each (``walk_rows``: 32 lanes in 32 rows, whatever the element); lines at random lie in
         different sets more often (``gather_elements``)
issue    warp instructions / issue slots, the masked lanes' included (they still occupy their slots); a load that cannot
         be vectorised takes one for each element (``layout.py``)
shared   partial sums that warps exchange through shared memory, element by element (``upcast_product``, axis 1)
atomics  operations on one address, and on one 128-byte line, serialise; lanes that meet in one address as well (``atomic_*``).
         Through loaded indices a request visits each 32-byte sector that its lanes meet in, once for every lane on the same
         address; the sectors of some 450 neighbouring bytes share a unit that does one visit in 0.7 ns (``count``)

Loaded indices are taken to be random. Sigma then reaches down to the time of indices in order, where that is another one.

Tiles that do not fit the registers add their spills to ``l2`` (``registers.py``). The terms overlap less where a program
has the SM to itself.

Constants and residuals: ``data/programs.json``, written by ``calibration/fit_memory.py`` from ``h100-micro.csv``,
``h100-micro-2.csv``, ``h100-spilling.csv``, ``h200-lanes.csv``, ``h100-scatter.csv`` and ``h100-stream.csv``.
Other devices scale by their datasheet (bandwidth, SMs, clock, L2 size).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache

from kernlint.cost.arithmetic import Operations, on_special_unit
from kernlint.cost.arithmetic import operations as measured_operations
from kernlint.cost.classes import class_of, unmeasured
from kernlint.cost.device import Device, find_device
from kernlint.cost.fitted import fitted
from kernlint.cost.layout import Layout, blocked, fastest_axis
from kernlint.cost.registers import COLLAPSE, Pressure, TileSizes, pressures
from kernlint.cost.result import KernelTime
from kernlint.cost.traffic import LINE_BYTES, SECTOR_BYTES, WARP_LANES, AccessTraffic, Traffic, traffic
from kernlint.records import dataclass
from kernlint.workload import (
    Atomic,
    Branch,
    Compute,
    Dot,
    Dtype,
    Expr,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    Opaque,
    ProgramId,
    Reduce,
    Scan,
    Store,
    concrete,
)
from kernlint.workload.expr import simplify

#: Two-sided 80 % quantile of the normal distribution.
INTERVAL_80 = 1.2816
#: More sigma where loaded indices decide how many atomics meet: ``sorted``, ``near`` and ``few`` of ``h100-scatter.csv``.
_HOT_SIGMA = 0.5
#: How much further than the time of indices in order the interval reaches: some orders are better still (``few``, ``near``).
_ORDER = 1.1
#: More sigma where additions of 16-bit floats are tried until they succeed: fp16 and bf16 differ by up to three.
_RETRY_SIGMA = 0.5
#: More sigma where loops run as long as segments are in the mean: some are longer.
SEGMENT_SIGMA = 0.25
#: A computed tile this many times larger than any loaded one is the product of a broadcast.
_BROADCAST = 4
#: More sigma where special functions decide that were not measured or go without a name, by their share of the instructions:
#: ln 4 is the range, most are cheap.
_SPECIAL_SIGMA = 0.5
#: What an asynchronous copy fetches at least, and how long an SM is busy with one of a warp and with reading it back
#: (``h100-row-stages.csv``: where threads copy 4 bytes at a time, a pipelined loop takes as long as it has copies).
_LEAST_COPY = 4
_COPY_NS = 2.95
#: Functions that branch for arguments of another size: the elements of a thread follow one another (``pairs``).
_BRANCHING = frozenset({"sin", "cos"})
#: Functions whose results are floats and whose work is done by the integer lanes, which cards with fewer fp32 lanes have all of.
_INTEGER_INSIDE = frozenset({"rand", "rand4x", "randint", "randint4x"})
#: Turns of a loop of known length that the compiler lays out one after the other.
_UNROLLED = 16
#: Sigma where nothing like it was measured, and what comes to that of its class where a kernel does something that was not.
_UNKNOWN_SIGMA = 0.4
_UNMEASURED_SIGMA = 0.4
#: More sigma where tiles live in memory: in ``h100-spilling.csv`` such kernels err by a factor 1.5.
_COLLAPSE_SIGMA = 0.4


@dataclass(frozen=True)
class Constants:
    """Fitted constants of the H100; ``*_ns`` nanoseconds, ``*_gb_per_s`` 10^9 bytes per second, else pure numbers."""

    floor_us: float = 1.0
    norm: float = 4.0
    overlap: float = 0.4
    program_interval_ns: float = 0.604
    program_start_ns: float = 300.0
    lines_per_cycle: float = 1.0
    scattered_lines_per_cycle: float = 2.0
    dram_efficiency: float = 0.90
    scattered_dram: float = 1.2
    scattered_store: float = 2.2
    l2_read_gb_per_s: float = 6500.0
    l2_write_gb_per_s: float = 6500.0
    l2_short_row_gb_per_s: float = 4300.0
    l2_partial_write_gb_per_s: float = 1950.0
    l2_keeps: float = 0.64
    l2_drops: float = 1.0
    l1_keeps: float = 0.6
    l1_drops: float = 1.4
    sm_gb_per_s: float = 80.0
    l1_latency_ns: float = 30.0
    l2_latency_ns: float = 270.0
    dram_latency_ns: float = 600.0
    step_least: float = 0.18
    step: float = 0.5
    step_exponent: float = 1.3
    step_most: float = 4.0
    stored_step: float = 0.7
    pipelined_iteration_ns: float = 100.0
    loop_iteration_ns: float = 4.0
    loop_slots: float = 0.9
    stored_most: float = 1.1
    strided_step: float = 0.65
    tile_step: float = 0.42
    condition_slots: float = 2.0
    division_slots: float = 12.0
    sort_slots: float = 6.0
    lockstep: float = 0.4
    shuffle_ns: float = 30.0
    barrier_ns: float = 40.0
    scan_step_ns: float = 30.0
    store_ns: float = 60.0
    loop_store_ns: float = 20.0
    atomic_ns: float = 190.0
    dependent_issue_ns: float = 2.3
    warp_start_instructions: float = 60.0
    instructions_per_access: float = 4.0
    instructions_per_element: float = 1.0
    arithmetic_cost: float = 0.6
    special_cost: float = 6.0
    issue_efficiency: float = 0.9
    product_slots: float = 4.0
    shuffle_slots: float = 5.0
    indexed: float = 2.5
    exchange_element_ns: float = 1.5
    spill_traffic: float = 6.5
    collapse_traffic: float = 6.0
    same_address_ns: float = 1.8
    same_line_ns: float = 1.05
    same_line_lane_ns: float = 0.043
    hot_store: float = 0.25
    line_exponent: float = 0.5
    atomics_per_ns: float = 280.0
    scattered_atomics_per_ns: float = 84.0
    row_atomics_per_ns: float = 480.0
    pass_ns: float = 0.73
    unit_bytes: float = 300.0
    unit_exponent: float = 0.8
    integer_address: float = 0.41
    returned: float = 1.35
    compared: float = 1.5
    half_address_ns: float = 4500.0
    half_scalar_ns: float = 18.0
    half_rate: float = 2.6
    ordered: float = 1.6
    store_passes: float = 2.2
    table_keeps: float = 0.43
    chained: float = 1.0


@lru_cache(maxsize=1)
def _data() -> tuple[Constants, Mapping[str, float]]:
    try:
        data = fitted("programs")
    except FileNotFoundError:
        return Constants(), {}
    known = {field.name for field in fields(Constants)}
    constants = {name: entry["value"] for name, entry in data["constants"].items() if name in known}
    tables = {**data["regimes"], **data["classes"]}
    return Constants(**constants), {name: entry["sigma"] for name, entry in tables.items()}


def program_time(
    launch: Launch,
    device: Device,
    constants: Constants | None = None,
    moved: Traffic | None = None,
    reuse_bytes: Mapping[str, float] | None = None,
    operations: Operations | None = None,
) -> KernelTime:
    """Predicted :class:`KernelTime` of a launch without ``tl.dot``.

    ``constants`` and ``operations`` replace the fitted ones (the fitting scripts' own use), ``moved`` is the launch's traffic where it
    is known already. ``reuse_bytes`` tells for each pointer parameter how many bytes the device touches from the last
    use of that memory to the end of this launch, which decides whether L2 still holds it; without it the launch is
    taken to be replayed alone, so that its own footprint is that distance.

    Symbolic extents count as 1 and unknown loop trips as 16; what was assumed widens sigma. A dot inside is priced as
    FMA work.
    """
    if constants is None:
        constants = _data()[0]
    moved = traffic(launch) if moved is None else moved
    operations = measured_operations() if operations is None else operations
    return _Price(launch, moved, device, constants, reuse_bytes or {}, operations).time()


def programs_on_an_sm(launch: Launch, device: Device) -> int:
    """How many programs of a launch without ``tl.dot`` fit on an SM at a time."""
    return _Price(launch, traffic(launch), device, _data()[0], {}, measured_operations()).resident


def program_us(launch: Launch, device: Device, constants: Constants, moved: Traffic) -> float:
    """The microseconds of :func:`program_time` alone, for fits."""
    return _Price(launch, moved, device, constants, {}, measured_operations()).spent()[0] if moved.programs else 0.0


def constants() -> Constants:
    """The fitted constants."""
    return _data()[0]


def regime_sigma(bound: str, kind: str = "") -> float:
    """Sigma of the ln error of a time that the term ``bound`` decides, for a kernel of the class ``kind`` on a measured device: that of
    kernels of the class that the term decides, else of the class, else of all that the term decides."""
    sigmas = _data()[1]
    found = sigmas.get(f"{kind}|{bound}") or sigmas.get(kind)
    return sigmas.get(bound, _UNKNOWN_SIGMA) if found is None else found


def launch_floor_us() -> float:
    """Microseconds that one empty kernel takes in a replayed graph."""
    return _data()[0].floor_us


class _Scale:
    """How a device compares with the one the constants come from, by datasheet numbers."""

    def __init__(self, device: Device) -> None:
        base = find_device("h100-sxm")
        self.clock_ghz = device.boost_clock_mhz / 1000 * 0.9
        clock = device.boost_clock_mhz / base.boost_clock_mhz
        # L2 and SM-to-L2 bandwidth follow SMs x clock: each SM's port is 64 bytes per clock on all these parts.
        self.fabric = clock * device.sm_count / base.sm_count
        self.clock = clock
        # fp32 lanes per SM over the 128 of Hopper.
        self.lanes = min(1.0, device.peak_fp32_vector_tflops / base.peak_fp32_vector_tflops / self.fabric)
        # A device whose data sheet has no fp64 rate has it at a 64th of fp32, as consumer parts do.
        fp64 = device.peak_fp64_vector_tflops or device.peak_fp32_vector_tflops / 64
        self.fp64_cost = max(1.0, device.peak_fp32_vector_tflops / fp64)
        # Over that of the measured card, whose prices hold it already.
        measured = base.peak_fp32_vector_tflops / (base.peak_fp64_vector_tflops or base.peak_fp32_vector_tflops)
        self.fp64_share = self.fp64_cost / measured
        self.cache_bytes = device.l2_bytes
        if device.last_level_cache_mb:
            self.cache_bytes = device.last_level_cache_mb * 2**20


#: Extra sigma for a device that was never measured, added in quadrature: same architecture, other NVIDIA, other vendor.
#: Not fitted (nothing else was measured): from the spread of achieved over datasheet figures between GPU generations
#: (``measured_bf16_gemm_tflops`` over peak in devices.json spreads by 10 % within Hopper, 20 % over all).
DEVICE_SIGMA: Mapping[str, float] = {"measured": 0.0, "architecture": 0.10, "vendor": 0.20, "other": 0.35}


def widen(sigma: float, device: Device, *more: float) -> float:
    """``sigma`` with that of the device class and further independent ones added in quadrature."""
    return math.sqrt(sigma**2 + DEVICE_SIGMA[device.kinship] ** 2 + sum(extra**2 for extra in more))


def ramp(value: float, low: float, high: float) -> float:
    """0 below ``low``, 1 above ``high``, linear between: the share that a cache no longer keeps."""
    if value <= low:
        return 0.0
    return 1.0 if value >= high else (value - low) / (high - low)


class _Price(TileSizes):
    """The terms of one launch on one device."""

    def __init__(
        self,
        launch: Launch,
        moved: Traffic,
        device: Device,
        c: Constants,
        reuse_bytes: Mapping[str, float],
        operations: Operations,
    ) -> None:
        self.launch = launch
        self.moved = moved
        self.reuse_bytes = reuse_bytes
        self.device = device
        self.c = c
        self.operations = operations
        self.scale = _Scale(device)
        self.programs = max(0, moved.programs)
        self.warps = max(1, launch.num_warps)
        self.threads = 32 * self.warps
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self.largest_tile = self._largest_tile()
        self.pressures = list(pressures(launch.kernel.body, self))
        self.register_limit = min(float(device.max_registers_per_thread), device.registers_32bit_per_sm / self.threads)
        self.registers = max((p.registers for p in self.pressures), default=28.0)
        self.exchanged = 0.0
        self.resident = self._resident()
        self.working = self._working()
        self.active_programs = min(self.programs, self.resident * device.sm_count)
        # L2 keeps lines, so sectors that stand alone crowd it out four times as fast (``stride_copy``).
        self.footprint = sum(moved.held_storages(launch).values())
        self.program_footprint = self._program_footprint()
        self.instructions = 0.0
        self.arithmetic = 0.0
        self.special = 0.0
        self.special_unit = 0.0
        self._levels()

    # -- occupancy --------------------------------------------------------------------------------------------------

    def whole_vectors(self, load: Load) -> bool:
        return self._vector(load) >= min(4, load.bytes)

    def layout(self, shape: tuple[int, ...]) -> Layout:
        """How a tile is dealt out: as the widest access of that shape is, else last axis first, an element a thread."""
        found = self._layouts.get(shape)
        if found is None:
            found = self._layouts[shape] = self._layout(shape)
        return found

    def _layout(self, shape: tuple[int, ...]) -> Layout:
        made = [node for node, _ in self.launch.kernel.walk((Load, Store)) if node.shape == shape]  # type: ignore[union-attr]
        if not made:
            return blocked(shape, len(shape) - 1, 4 if len(shape) == 1 else 1, self.warps)
        widest = max(made, key=self._vector_elements)  # type: ignore[arg-type]
        return blocked(shape, fastest_axis(widest), self._vector_elements(widest), self.warps)  # type: ignore[arg-type]

    def _vector_elements(self, node: Load | Store | Atomic) -> int:
        """Elements of a thread's one fetch."""
        return self._vector(node) // max(1, node.dtype.bytes)

    def _largest_tile(self) -> int:
        """Elements of the largest tile loaded (stored, where nothing is): larger ones are made by broadcasting."""
        loads = [node.elements for node, _ in self.launch.kernel.walk(Load)]  # type: ignore[union-attr]
        nodes = self.launch.kernel.walk((Store, Atomic))
        return max(loads or [node.elements for node, _ in nodes], default=1) or 1  # type: ignore[union-attr]

    def _resident(self) -> int:
        """Programs resident on one SM."""
        device = self.device
        granted = min(max(32.0, self.registers), self.register_limit)
        by_registers = device.registers_32bit_per_sm / (granted * self.threads)
        by_warps = device.max_warps_per_sm / (self.threads / device.warp_size_threads)
        by_blocks = device.max_blocks_per_sm or device.max_warps_per_sm
        staged = 0.0
        for node, loops in self.launch.kernel.walk(Load):
            if loops and self._ahead(loops[-1]):
                staged += node.bytes * (loops[-1].num_stages or 1)  # type: ignore[union-attr]
        by_shared = device.shared_memory_bytes_per_sm / staged if staged else math.inf
        return max(1, int(min(by_registers, by_warps, by_blocks, by_shared)))

    def _working(self) -> float:
        """The part of programs that do not return at once: those that take the arm which the whole kernel stands in."""
        part, body = 1.0, self.launch.kernel.body
        while (
            body and isinstance(body[-1], Branch) and not any(isinstance(n, (Store, Atomic, Loop)) for n in body[:-1])
        ):
            arms = [(arm, share) for arm, share in self.moved.arms(body[-1]) if arm]
            if len(arms) != 1:
                break
            body, share = arms[0]
            part *= share
        return max(part, 1 / max(1, self.programs))

    # -- caches -----------------------------------------------------------------------------------------------------

    def _program_footprint(self) -> float:
        """Distinct bytes one program touches."""
        return self._on_an_sm(1.0)

    def _on_an_sm(self, programs: float) -> float:
        """Distinct bytes that so many programs touch: what they all read is there once."""
        seen: dict[tuple[object, ...], float] = {}
        for access in self.moved.accesses:
            key = (access.base, access.signature)
            together = min(programs * access.program_bytes, max(access.program_bytes, access.footprint_bytes))
            seen[key] = max(seen.get(key, 0.0), together)
        return sum(seen.values())

    def _levels(self) -> None:
        """Bytes per access that reach L2 and DRAM, and the mean latency of one of its loads."""
        c = self.c
        cache = self.scale.cache_bytes
        l1 = self.device.shared_memory_bytes_per_sm
        live = self.active_programs * self.program_footprint
        live_miss = ramp(live, c.l2_keeps * cache, c.l2_drops * cache)
        on_an_sm = min(self.resident, max(1.0, self.programs / self.device.sm_count))
        sm_live = self._on_an_sm(on_an_sm)
        l1_miss = ramp(sm_live, c.l1_keeps * l1, c.l1_drops * l1)
        window = sum(
            min(on_an_sm * access.window_bytes, access.footprint_bytes) * access.line_share
            for access in self.moved.accesses
            if access.kind == "load"
        )
        seen: set[tuple[object, ...]] = set()
        footprints = self.moved.footprints
        shares: dict[tuple[str, bool], float] = {}
        # A store is not the load of the same addresses come again: what was read must still be written back.
        for access in self.moved.accesses:
            key = (access.base, access.kind == "load", access.signature)
            side = key[:2]
            shares[side] = shares.get(side, 0.0) + (0.0 if key in seen else access.footprint_bytes)
            seen.add(key)
        seen.clear()
        self.l2_bytes: dict[int, float] = {}
        self.l2_share: dict[int, float] = {}
        self.dram_bytes = 0.0
        self.latency: dict[int, float] = {}
        for access in self.moved.accesses:
            key = (access.base, access.kind == "load", access.signature)
            again = key in seen
            seen.add(key)
            if not access.known and access.gather:
                self._gathered(access, footprints.get(access.base, access.footprint_bytes))
                continue
            distance = max(self.footprint, self.reuse_bytes.get(access.base, 0.0))
            cold = ramp(distance, c.l2_keeps * cache, c.l2_drops * cache)
            reread_miss = min(cold, live_miss)
            moved = access.moved_bytes
            if access.kind == "load":
                near = min(moved, access.near_bytes * self.programs)
                # What all programs read they come back to so much sooner.
                sooner = min(1.0, access.footprint_bytes / max(1.0, on_an_sm * access.window_bytes))
                moved = near + ramp(window * sooner, c.l1_keeps * l1, c.l1_drops * l1) * (moved - near)
            first = 0.0 if again else min(moved, access.program_bytes * self.programs)
            later = l1_miss * max(0.0, moved - first)
            if access.kind == "load" and access.known and access.program_bytes:
                # A small operand that every program reads (a bias, a norm's weights) stays in each SM's L1 where
                # little passes between two programs that read the same part of it.
                period = max(1.0, access.footprint_bytes / access.program_bytes)
                kept = 1.0 - ramp(period * sm_live, c.l1_keeps * l1, c.l1_drops * l1)
                once = min(first, access.footprint_bytes * self.device.sm_count)
                first = kept * once + (1.0 - kept) * first
                if 0 in access.shared_axes and access.executions > 1:
                    # Neighbours on an SM walk the same memory at about the same time (``stairs``).
                    first *= max(c.lockstep, 1 / max(1.0, on_an_sm)) if kept < 1.0 else 1.0
            reach_l2 = first + later
            if access.kind == "atomic":
                reach_l2 = moved
            part = 1.0
            if shares.get(key[:2]):
                part = min(1.0, footprints[access.base] / shares[key[:2]])
            own = min(access.footprint_bytes * part, moved)
            # DRAM answers in 64-byte pairs of sectors: isolated sectors cost double (strided_load, stride 16 and up).
            granule = 2.0 if access.density < 0.6 and access.contiguous_bytes < 64 and own >= moved * 0.9 else 1.0
            if access.efficiency < 0.3 and own >= moved * 0.9:
                granule *= c.scattered_dram if access.kind == "load" else c.scattered_store
            dram = (reread_miss if again else cold) * own * granule
            shared = max(0.0, reach_l2 - own)
            dram += self._shared_miss(access, cold) * shared * (0.0 if again else 1.0)
            self.dram_bytes += dram
            self.l2_bytes[id(access.access)] = reach_l2
            self._set_latency(access, reach_l2, dram)

    def _set_latency(self, access: AccessTraffic, reach_l2: float, dram: float) -> None:
        """The mean latency of one load of ``access``; that of twins is the slowest of them, as all are waited for."""
        c, moved = self.c, access.moved_bytes
        to_dram = min(1.0, dram / moved * access.twins) if moved else 0.0
        to_l2 = min(1.0, reach_l2 / moved * access.twins) if moved else 0.0
        self.l2_share[id(access.access)] = min(1.0, reach_l2 / moved) if moved else 0.0
        self.latency[id(access.access)] = (
            c.l1_latency_ns * (1 - to_l2) + c.l2_latency_ns * max(0.0, to_l2 - to_dram) + c.dram_latency_ns * to_dram
        )

    def _gathered(self, access: AccessTraffic, table: float) -> None:
        """Levels of a load, store or atomic through loaded indices into ``table`` bytes: each row is a new address.

        A table that fits a cache stays in it whatever streams by (``gather_elements``). One that does not fit L2 is found there
        by as many of the random indices as L2 holds of it: no cliff, as a sweep has (``pick``, 16 to 128 MB).
        """
        c = self.c
        cache, l1 = self.scale.cache_bytes, self.device.shared_memory_bytes_per_sm
        moved = access.moved_bytes
        past_l1, asked = 1.0, moved
        if access.kind == "load":
            past_l1 = ramp(table, c.l1_keeps * l1, c.l1_drops * l1)
            asked = min(moved, access.near_bytes * self.programs)
        reach_l2 = min(asked, past_l1 * asked + min(asked, table * self.device.sm_count))
        isolated = access.contiguous_bytes < 64
        held = self._lines_met(access, table)
        kept = c.table_keeps * cache
        crowded = ramp(self.footprint, c.l2_keeps * cache, c.l2_drops * cache)
        miss = min(1.0 - kept / held, crowded) if held > kept else 0.0
        granule = 1.0
        if isolated:
            granule = 2.0 * (c.scattered_dram if access.kind == "load" else c.scattered_store)
        dram = miss * asked * granule * (2.0 if access.kind == "atomic" else 1.0)
        self.dram_bytes += dram
        self.l2_bytes[id(access.access)] = reach_l2
        self._set_latency(access, reach_l2, dram)

    def _lines_met(self, access: AccessTraffic, table: float) -> float:
        """Bytes of the lines that random rows of a table touch: those of ``table`` bytes, what stands alone holding a line."""
        whole = self.launch.tensor(access.base)
        size = float(whole.nbytes) if whole is not None and whole.nbytes else math.inf
        return min(size, table * access.line_share) if math.isfinite(size) else table

    def _shared_miss(self, access: AccessTraffic, cold: float) -> float:
        """Share of re-reads by other programs that miss L2: those that come back after a sweep larger than L2."""
        if not cold or not access.shared_axes or not access.known:
            return 0.0 if access.known else cold
        grid = [max(1, int(extent)) if isinstance(extent, int) else 1 for extent in self.launch.grid]
        between = self.program_footprint
        for axis in range(min(access.shared_axes)):
            between *= grid[axis]
        cache = self.scale.cache_bytes
        return min(cold, ramp(between, self.c.l2_keeps * cache, self.c.l2_drops * cache))

    # -- the path of one program ------------------------------------------------------------------------------------

    def path_ns(self, body: tuple[Node, ...], executions: float) -> float:
        """Dependent nanoseconds of one program through ``body``; counts issued instructions on the way.

        ``executions`` is how often the body runs in one program. Loads are in flight together until something waits
        for all of them: an address made from one, a reduction, a store, a loop. Arithmetic between them does not, as
        ptxas moves loads up.
        """
        total = 0.0
        waiting: list[Load] = []
        for node in body:
            if isinstance(node, Load):
                if _depends(node, waiting):
                    total += self._arrival_ns(waiting)
                    waiting = []
                self._count_access(node, executions)
                waiting.append(node)
                continue
            if not isinstance(node, Compute):
                total += self._arrival_ns(waiting)
                waiting = []
            total += self._node_ns(node, executions)
        return total + self._arrival_ns(waiting)

    def _arrival_ns(self, loads: list[Load]) -> float:
        """From the issue of ``loads`` to the arrival of the last."""
        latency = max((self.latency.get(id(load), 0.0) for load in loads), default=0.0)
        return latency + sum(self._serial_ns(load) for load in loads) if latency else 0.0

    def _serial_ns(self, node: Load | Store | Atomic) -> float:
        """Time of the data of one access through the port of its SM; what L1 holds comes at three times the rate."""
        share = max(0.33, self.l2_share.get(id(node), 1.0))
        return self._asked(node) * share / (self.c.sm_gb_per_s * self.scale.clock)

    def _asked(self, node: Load | Store | Atomic) -> float:
        access = self.moved.by_node.get(id(node))
        return node.bytes if access is None else min(node.bytes, access.asked_bytes)

    def _node_ns(self, node: Node, executions: float) -> float:
        c = self.c
        if isinstance(node, (Store, Atomic)):
            self._count_access(node, executions)
            if isinstance(node, Atomic):
                return c.atomic_ns * max(1.0, self._asked(node) / node.dtype.bytes / self.threads) / self.scale.clock
            return (c.store_ns if executions <= 1 else c.loop_store_ns) + self._serial_ns(node)
        if isinstance(node, Compute):
            return self._compute_ns(node, executions)
        if isinstance(node, Reduce):
            elements = math.prod(node.shape)
            pair = self.c.indexed if node.indexed else 1.0
            work = pair * self._arithmetic_ns("arith", elements, None, pair * executions)
            if elements <= 1:
                return work
            return work + self._exchange_ns(node.shape, node.axis, pair * executions)
        if isinstance(node, Scan):
            extent = node.shape[node.axis] if node.shape else 1
            elements = math.prod(node.shape)
            if node.op in ("sort", "topk"):
                return self._sort_ns(extent, elements, executions)
            work = 2 * self._arithmetic_ns("arith", elements, None, executions)
            exchange = self._exchange_ns(node.shape, node.axis, executions)
            return work + c.scan_step_ns * math.log2(max(2, extent)) + exchange
        if isinstance(node, Dot):
            return self._arithmetic_ns("arith", node.m * node.n * node.k * node.batch, None, executions)
        if isinstance(node, Branch):
            return max(
                (self.path_ns(arm, executions * share) for arm, share in self.moved.arms(node) if arm), default=0.0
            )
        if isinstance(node, Loop):
            return self._loop_ns(node, executions)
        return 0.0

    def _sort_ns(self, extent: int, elements: int, executions: float) -> float:
        """A bitonic network: each of its steps exchanges every element with another one, compares and selects."""
        depth = math.log2(max(2, extent))
        slots = depth * (depth + 1) / 2 * self.c.sort_slots
        self.instructions += self._issued(slots, elements, executions)
        return self._issue_ns(slots, elements)

    def _exchange_ns(self, shape: tuple[int, ...], axis: int | None, executions: float) -> float:
        """A reduction across the lanes of a warp (shuffles), then across warps (shared memory and a barrier)."""
        if not shape:
            return 0.0
        layout = self.layout(shape)
        axes = range(len(shape)) if axis is None else [axis % len(shape)]
        lanes = math.prod(layout.lanes[a] for a in axes)
        warps = math.prod(layout.warps[a] for a in axes)
        kept = math.prod(value for a, value in enumerate(layout.values) if a not in axes)
        steps = math.log2(lanes) if lanes > 1 else 0.0
        self.instructions += self.c.shuffle_slots * steps * kept * self.warps * executions
        cost = self.c.shuffle_ns * steps / 5
        if warps > 1 and math.prod(shape[a] for a in axes) > lanes * math.prod(layout.values[a] for a in axes):
            # Each warp writes its part of every output to shared memory, element by element.
            parts = math.prod(extent for a, extent in enumerate(shape) if a not in axes) * warps
            self.exchanged += parts * executions
            cost += self.c.barrier_ns * (1 + 0.25 * math.log2(warps)) + parts * self.c.exchange_element_ns
        return cost / self.scale.clock

    def _crosses_warps(self, node: Reduce) -> bool:
        """The reduction waits at a barrier: warps hold different parts of the reduced axis."""
        if not node.shape:
            return False
        if node.axis is None:
            return self.warps > 1
        return self.layout(node.shape).warps[node.axis % len(node.shape)] > 1

    def _compute_ns(self, node: Compute, executions: float) -> float:
        """Latency of an elementwise operation; adds its issue slots."""
        measured = self.operations.price(node)
        if measured is None or self._broadcast(node):
            return self._arithmetic_ns(node.kind, node.elements, node.dtype, executions)
        share = self.scale.fp64_share if _is_double(node.dtype) else 1.0
        issued = self._issued(measured.slots * share, node.elements, executions)
        if on_special_unit(node):
            self.special_unit += issued
        else:
            self.instructions += issued
            if node.dtype.is_float and node.op not in _INTEGER_INSIDE:
                self.arithmetic += issued
        wait = measured.wait_ns * (max(1.0, node.elements / self.threads) if node.op in _BRANCHING else 1.0)
        return max(self._issue_ns(measured.slots * share, node.elements), wait / self.scale.clock)

    def _arithmetic_ns(self, kind: str, elements: int, dtype: Dtype | None, executions: float) -> float:
        """Latency of one program's elementwise step of a kind; adds its issue slots."""
        cost = self.c.special_cost if kind == "special" else self.c.arithmetic_cost
        if elements > _BROADCAST * self.largest_tile and kind == "arith":
            # Both operands of a broadcast product come from shared memory. Multiplication and sum are two nodes.
            cost = self.c.product_slots / 2
        if _is_double(dtype):
            cost *= self.scale.fp64_cost
        issued = self._issued(cost, elements, executions)
        self.instructions += issued
        self.arithmetic += issued
        if kind == "special":
            self.special += issued
        return self._issue_ns(cost, elements)

    def _issued(self, slots: float, elements: int, executions: float) -> float:
        """Slots that all warps of one program take, at ``slots`` for each of their threads' elements."""
        return max(1.0, elements / self.threads) * slots * self.warps * executions

    def _issue_ns(self, slots: float, elements: int) -> float:
        """Time of one program alone to issue them."""
        per_thread = max(1.0, elements / self.threads)
        return per_thread * slots * self.c.dependent_issue_ns * max(1.0, self.warps / 4) / 4 / self.scale.clock

    def _ahead(self, loop: Loop) -> bool:
        """Whether the loads of ``loop`` are copied to shared memory some iterations ahead: a copy takes 4 bytes or more, so
        that smaller pieces are loaded as ever."""
        loads = (node for node in loop.body if isinstance(node, Load))
        return _pipelined(loop) and all(self._vector(load) >= _LEAST_COPY for load in loads)

    def _vector(self, node: Load | Store | Atomic) -> int:
        """Bytes one thread moves at once."""
        access = self.moved.by_node.get(id(node))
        return node.dtype.bytes if access is None else max(node.dtype.bytes, access.vector_bytes)

    def _vectors(self, node: Load | Store | Atomic) -> float:
        """Memory instructions of a thread for one execution."""
        return max(1.0, node.elements / self.threads * node.dtype.bytes / self._vector(node))

    def _count_access(self, node: Load | Store | Atomic, executions: float) -> None:
        per_thread = max(1.0, node.elements / self.threads)
        cost = self.c.instructions_per_access * self._vectors(node) + self.c.instructions_per_element * per_thread
        self.instructions += cost * self.warps * executions

    def _count_indices(self) -> None:
        """Adds the instructions that work out masks and divided indices, element by element where a load is not vectorised. What
        does not change in a loop is worked out before it, and the same bound or quotient once for all accesses."""
        c, seen = self.c, set[object]()
        for node, loops in self.launch.kernel.walk((Load, Store, Atomic)):
            assert isinstance(node, (Load, Store, Atomic))
            if node.elements <= 1 or self._vector(node) > node.dtype.bytes:
                continue
            each = max(1.0, node.elements / self.threads) * self.warps
            bounds = [left - right for left, right in node.mask or () if _on_lanes(left) or _on_lanes(right)]
            for bound in bounds[1:]:
                if (bound, node.shape) not in seen:
                    seen.add((bound, node.shape))
                    self.instructions += c.condition_slots * each * self._runs_of(bound, loops)
            for expr in (node.offset, *bounds):
                for atom in expr.atoms() if expr is not None else ():
                    if isinstance(atom, Opaque) and atom.op in ("floordiv", "mod") and _on_lanes(*atom.args):
                        key = (atom.args, node.shape)
                        if key not in seen:
                            seen.add(key)
                            self.instructions += c.division_slots * each * self._runs_of(atom.args[0], loops)

    def _runs_of(self, expr: Expr, loops: tuple[Loop, ...]) -> float:
        """How often a program works out ``expr``: once for each turn of the loops outside the innermost that it changes in. Short
        loops of a known length are unrolled, so that what changes in them alone is worked out before the loops around them."""
        atoms = expr.atoms()
        changing = [place for place, loop in enumerate(loops) if LoopIndex(loop.id) in atoms]
        if not changing:
            return self.working
        unrolled = all(isinstance(loops[place].trip, int) and loops[place].trip <= _UNROLLED for place in changing)  # type: ignore[operator]
        around = [loops[place] for place in changing] if unrolled else loops[: changing[-1] + 1]
        return math.prod(self.moved.trips.get(loop.id, 1.0) for loop in around) * self.working

    def _loop_ns(self, loop: Loop, executions: float) -> float:
        c = self.c
        trip = self.moved.trips.get(loop.id, 1.0)
        if trip <= 0:
            return 0.0
        runs = executions * trip
        if loop.kind != "static_range":
            self.instructions += c.loop_slots * self.warps * runs
        body = loop.body
        loads = [node for node in body if isinstance(node, Load)]
        others = tuple(node for node in body if not isinstance(node, Load))
        if not loads:
            return trip * (self.path_ns(body, runs) + c.loop_iteration_ns)
        chained = any(_depends(load, loads[:position]) for position, load in enumerate(loads))
        streaming = not chained and not any(isinstance(node, (Loop, Scan, Dot, Branch, Atomic)) for node in others)
        latency = max(self.latency.get(id(load), 0.0) for load in loads)
        serial = sum(self._serial_ns(load) for load in loads)
        if streaming and self._ahead(loop):
            for load in loads:
                self._count_access(load, 2 * runs)
            rest = self.path_ns(others, runs)
            stages = max(1, (loop.num_stages or 2) - 1)
            copies = sum(self._vectors(load) for load in loads) * self.warps * _COPY_NS / self.scale.clock
            step = max(c.pipelined_iteration_ns + rest, latency / stages, serial, copies)
            return latency + trip * step
        exposed = any(isinstance(node, Reduce) and self._crosses_warps(node) for node in others)
        if any(isinstance(node, Compute) and self._broadcast(node) for node in others):
            # The operands change their layout through shared memory, behind a barrier each.
            exposed = True
            exchange = 2 * trip * c.barrier_ns * (1 + 0.25 * math.log2(self.warps)) / self.scale.clock
        else:
            exchange = 0.0
        unrolled = chained and not exposed and all(isinstance(node, (Compute, Reduce)) for node in others)
        if unrolled:
            # ptxas unrolls this as well: the indices of a few iterations arrive together, then what they name.
            for load in loads:
                self._count_access(load, runs)
            rest = self.path_ns(others, runs)
            chain = self._chain_ns(loads)
            step = chain * min(1.0, c.chained * self._exposed_share(loads))
            return chain + serial + rest + (trip - 1) * (max(step, serial) + rest + c.loop_iteration_ns)
        if streaming and loop.kind == "static_range":
            for load in loads:
                self._count_access(load, runs)
            return latency + serial * trip + trip * self.path_ns(others, runs)
        if streaming and not exposed:
            for load in loads:
                self._count_access(load, runs)
            rest = self.path_ns(others, runs)
            share = self._exposed_share(loads)
            if _strided(loop):
                # A step that is known at run time only: ptxas does not unroll (``walk_sum``).
                share = max(share, c.strided_step)
            if any(sum(extent > 1 for extent in load.shape) > 1 for load in loads):
                # Rows of a tile are loads of their own: fewer turns are laid out together (``deep_tile``, ``col_reduce``).
                share = max(share, c.tile_step)
            if any(isinstance(node, Store) for node in others):
                # The next load may alias this store, so ptxas cannot move it ahead (gather_rows, scalar_chain).
                share = min(max(share, c.stored_step), c.stored_most)
            step = latency * share
            each = max(step, serial) + rest + c.loop_iteration_ns
            return latency + serial + rest + (trip - 1) * each if trip > 1 else latency + trip * each
        return trip * (self.path_ns(body, runs) + c.loop_iteration_ns) + exchange

    def _chain_ns(self, loads: list[Load]) -> float:
        """The latencies of loads that wait for each other, one after the other."""
        total, waiting = 0.0, list[Load]()
        for load in loads:
            if _depends(load, waiting):
                total += max(self.latency.get(id(one), 0.0) for one in waiting)
                waiting = []
            waiting.append(load)
        return total + max((self.latency.get(id(one), 0.0) for one in waiting), default=0.0)

    def _broadcast(self, node: Compute) -> bool:
        return node.kind == "arith" and node.elements > _BROADCAST * self.largest_tile

    def _exposed_share(self, loads: list[Load]) -> float:
        """Round trips of memory that one iteration of a plain streaming loop waits for.

        Measured, not derived: ptxas unrolls a loop with one or two loads a thread about four times, and keeps the
        fewer loads in flight the more registers one iteration fills, down to one after the other (``row_loop_masked``,
        ``col_reduce``). The measure is elements a thread x sqrt(bytes / 4).
        """
        filled = sum(
            max(1.0, self._asked(load) / load.dtype.bytes / self.threads) * math.sqrt(load.dtype.bytes / 4)
            for load in loads
        )
        share = self.c.step * (filled / 8) ** self.c.step_exponent
        return min(max(self.c.step_least, share), self.c.step_most, sum(self._vectors(load) for load in loads))

    def _unfollowed_share(self) -> float:
        """Share of the moved bytes at addresses that no loaded index explains."""
        total = sum(access.moved_bytes for access in self.moved.accesses)
        unknown = sum(access.moved_bytes for access in self.moved.accesses if not access.known and not access.gather)
        return unknown / total if total else 0.0

    def _locality_sigma(self, us: float) -> float:
        """Sigma for indices that are taken to be random and may be in order: the lower end of the interval is the time of
        those (``near`` and ``sorted`` rows of ``h100-scatter.csv``: up to five times less)."""
        accesses = tuple(_local(a) if _unordered(a) else a for a in self.moved.accesses)
        if accesses == self.moved.accesses:
            return 0.0
        moved = replace(self.moved, accesses=accesses, by_node={id(access.access): access for access in accesses})
        local, _ = _Price(self.launch, moved, self.device, self.c, self.reuse_bytes, self.operations).spent()
        return _ORDER * math.log(max(1.0, us / local)) / INTERVAL_80

    # -- the sum ----------------------------------------------------------------------------------------------------

    def time(self) -> KernelTime:
        if self.programs == 0:
            return KernelTime(0.0, widen(0.1, self.device), "launch", {})
        us, terms = self.spent()
        bound = max(terms, key=lambda name: terms[name])
        sigma = self._sigma(bound, us)
        norm = self._norm(self._waves() - 1)
        return KernelTime(
            us, sigma, bound, {**terms, "floor": self._floor_us()}, norm=norm, kind=class_of(self.launch, self.moved)
        )

    def spent(self) -> tuple[float, dict[str, float]]:
        """Microseconds of the launch, and those of each term."""
        c, device = self.c, self.device
        # The first program starts with the kernel (floor); each later one on the same slot starts anew.
        path = self.path_ns(self.launch.kernel.body, 1.0)
        self._count_indices()
        rounds = self._waves() - 1
        terms = {
            "launch": self.programs * c.program_interval_ns / 1000,
            "memory": self.dram_bytes / (device.memory_bandwidth_gb_per_s * c.dram_efficiency) / 1000,
            "l2": self._l2_us(),
            "lines": self._lines_us(),
            "latency": (path + rounds * (path + c.program_start_ns)) / 1000,
            "issue": self._issue_us(),
            "shared": self._shared_us(),
            "atomics": self._atomics_us(),
        }
        terms = {name: value * device.factor(name) for name, value in terms.items()}
        norm = self._norm(rounds)
        return self._floor_us() + sum(value**norm for value in terms.values()) ** (1 / norm), terms

    def _floor_us(self) -> float:
        return self.c.floor_us * self.device.factor("floor")

    def _norm(self, rounds: float) -> float:
        """How well the terms overlap: programs without a loop go from loading to computing to storing, so that only
        their neighbours on the SM fill the gaps (rows of 65,536: one program an SM, the phases add up)."""
        if rounds <= 0 or any(loops for _, loops in self.launch.kernel.walk(Load)):
            return self.c.norm
        return min(self.c.norm, 1 + self.c.overlap * self.resident)

    def _waves(self) -> float:
        """Rounds of resident programs; a started round counts in part, as programs end one by one."""
        waves = self.programs * self.working / (self.resident * self.device.sm_count)
        return max(1.0, waves)

    def _l2_us(self) -> float:
        """Microseconds of L2 traffic: each access at the rate of its shape, or what the SMs in use can draw."""
        c, scale = self.c, self.scale
        total_ns = 0.0
        drawn = 0.0
        for access in self.moved.accesses:
            moved = self.l2_bytes.get(id(access.access), 0.0)
            short = access.contiguous_bytes < 2 * SECTOR_BYTES
            if access.kind == "load":
                rate = c.l2_short_row_gb_per_s if short else c.l2_read_gb_per_s
            elif access.kind == "store" and access.known and access.moved_bytes > 16 * access.footprint_bytes:
                rate = c.l2_write_gb_per_s * c.hot_store
            elif access.kind == "store" and access.efficiency < 0.6:
                rate = c.l2_partial_write_gb_per_s
            else:
                rate = c.l2_short_row_gb_per_s if short else c.l2_write_gb_per_s
            if access.kind == "store" and access.gather and not access.known:
                # What meets in a few sectors is written there one after the other, as atomics are (``put``).
                units = self._units(self.moved.footprints.get(access.base, 0.0))
                rate = min(rate, SECTOR_BYTES * units / (c.store_passes * c.pass_ns))
            total_ns += moved / (rate * scale.fabric)
            drawn += moved
        spilled = sum(self._spilled_bytes(pressure) for pressure in self.pressures)
        total_ns += spilled / (c.l2_read_gb_per_s * scale.fabric)
        drawn += spilled
        used = min(self.programs, self.device.sm_count)
        return max(total_ns, drawn / (used * c.sm_gb_per_s * scale.clock)) / 1000

    def _units(self, size: float) -> float:
        """Units of L2 that neighbouring ``size`` bytes are spread over: each does one sector at a time."""
        return max(1.0, (size / self.c.unit_bytes) ** self.c.unit_exponent)

    def _lines_us(self) -> float:
        """Microseconds that L1 takes to look up the lines of all loads, one after the other on each SM."""
        c, cycles = self.c, 0.0
        for access in self.moved.accesses:
            if access.kind == "load":
                rate = c.lines_per_cycle if access.known else c.scattered_lines_per_cycle
                cycles += access.executions * self._request_lines(access) / rate
        used = max(1, min(self.programs, self.device.sm_count))
        return cycles * self.programs / used / self.scale.clock_ghz / 1000

    def _request_lines(self, access: AccessTraffic) -> float:
        """Lines of 128 bytes that the requests of one execution touch, those of each warp for itself.

        A load that cannot be vectorised still has its elements dealt out as the widest access of its shape: its lanes are
        as far apart as the vectors of that one.
        """
        node, vector = access.access, access.vector_bytes
        active = access.active_elements / node.elements if node.elements else 0.0
        requests = self.warps * max(1.0, node.elements / self.threads * node.dtype.bytes / vector)
        if node.elements <= 1:
            return active * requests
        if access.strides is None:
            lanes = min(float(WARP_LANES), max(1.0, node.elements / self.warps))
            run = max(vector, min(LINE_BYTES, access.contiguous_bytes))
            lines = lanes * vector / run
            if access.known:
                # Lanes that share addresses or follow each other closely (``i // 2``) meet in lines all the same.
                held = math.prod(self._dealt(access).vector)
                touched = access.sectors * SECTOR_BYTES * access.line_share / node.elements * held * lanes
                lines = min(lines, touched / LINE_BYTES)
            return active * requests * max(1.0, lines)
        dealt = self._dealt(access)
        steps = sorted(
            (abs(stride) * held, min(lanes, extent))
            for stride, held, lanes, extent in zip(access.strides, dealt.vector, dealt.lanes, node.shape)
        )
        span, apart = float(vector), 1.0
        for step, lanes in steps:
            if apart == 1.0 and step <= max(span, LINE_BYTES):
                span += (lanes - 1) * step
            elif step:
                apart *= lanes
        return active * requests * apart * max(1.0, span / LINE_BYTES)

    def _dealt(self, access: AccessTraffic) -> Layout:
        """How the lanes of a load are dealt out. In two dimensions one without neighbours in memory goes by another order of the axes
        than the others of its shape, and so its own way (``taps``)."""
        shape, size = access.access.shape, access.access.dtype.bytes
        steps = [abs(step) for step, extent in zip(access.strides or (), shape) if extent > 1]
        if len(shape) > 1 and steps and size not in steps:
            return blocked(shape, len(shape) - 1, 1, self.warps)
        return self.layout(shape)

    def _spilled_bytes(self, pressure: Pressure) -> float:
        """Bytes that registers in memory move past L1 in the whole launch."""
        runs = math.prod(self.moved.trips.get(loop.id, 1.0) for loop in pressure.loops)
        if self._collapsed(pressure):
            words = pressure.words * pressure.passes * self.c.collapse_traffic
        else:
            words = max(0.0, pressure.registers - self.register_limit) * self.c.spill_traffic
        return words * 4 * self.threads * self.programs * runs

    def _collapsed(self, pressure: Pressure) -> bool:
        """The tiles of this body live in memory, not in registers."""
        return pressure.registers > COLLAPSE * self.register_limit / 255

    def _shared_us(self) -> float:
        """Microseconds of partial sums that warps exchange through shared memory."""
        used = min(1.0, self.programs / self.device.sm_count)
        parts = self.exchanged * self.programs / (self.device.sm_count * used)
        return parts * self.c.exchange_element_ns / self.scale.clock / 1000

    def _issue_us(self) -> float:
        """Four issue slots an SM and cycle; with half the fp32 lanes an fp32 instruction takes two of them."""
        slots = 4 * self.scale.clock_ghz * self.c.issue_efficiency
        lanes = self.instructions - self.arithmetic + self.c.warp_start_instructions * self.warps
        lanes += self.arithmetic / self.scale.lanes
        return self.operations.together(lanes, self.special_unit) * self._on_busiest() / slots / 1000

    def _on_busiest(self) -> float:
        """Programs of the SM that has the most. They are as many as fit evenly: with one more than that, one SM works alone at
        the end (``same_work``: 267 programs on 132 SMs take as long as 396). Programs that return early do not count."""
        working = self.programs * self.working / self.device.sm_count
        return math.ceil(working) if self.working == 1.0 else max(1.0, working)

    def _atomics_us(self) -> float:
        total = 0.0
        c = self.c
        for access in self.moved.accesses:
            if access.kind != "atomic":
                continue
            node = access.access
            assert isinstance(node, Atomic)
            size = node.dtype.bytes
            operations = access.active_elements * access.executions * self.programs
            if not access.known:
                total += self._scattered_ns(access, node, operations)
                continue
            addresses = max(1.0, access.footprint_bytes / size)
            whole = self.launch.tensor(access.base)
            if whole is not None and whole.numel:
                addresses = min(addresses, float(whole.numel))
            # Lanes of one request that meet in an address are as many requests more: the L2 adds them one by one.
            lanes = min(access.request_addresses, max(1.0, access.active_elements), addresses)
            lines = max(1.0, addresses * size / LINE_BYTES)
            same_address = operations / addresses * self._address_ns(node)
            if self._retries(node) and node.elements <= 1:
                # One of a program's: it seldom meets another that is under way, but waits for the line like all of them.
                same_address = operations / lines * c.half_scalar_ns
            request_ns = c.same_line_ns + c.same_line_lane_ns * (lanes - 1)
            pieces = self._pieces(node)
            same_line = operations / lanes * pieces * request_ns / lines**c.line_exponent
            total += max(same_address, same_line, operations * pieces / c.atomics_per_ns)
        return total / 1000 / self.scale.clock

    def _pieces(self, node: Atomic) -> float:
        """Requests that the neighbours of a thread take: floating point is added by the vector from Hopper on, all else element by
        element, the lanes a vector apart."""
        if node.elements <= 1 or (node.dtype.is_float and node.dtype.bits < 64 and (self.device.sm_major or 0) >= 9):
            return 1.0
        return float(max(1, self._vector_elements(node)))

    def _address_ns(self, node: Atomic) -> float:
        """From one atomic on an address to the next: integers are done in one pass of the unit, fp32 and fp64 take longer, and
        16-bit floats are compared and exchanged until no other came between, unless a thread holds a pair (``change``)."""
        c = self.c
        if node.dtype.is_integer:
            return c.same_address_ns * c.integer_address
        return c.half_address_ns if self._retries(node) else c.same_address_ns

    def _retries(self, node: Atomic) -> bool:
        """An addition of 16-bit floats that no instruction does: there are those of two neighbours at once only."""
        pairs = min(self._vector(node) / node.dtype.bytes, node.elements / self.threads)
        return node.dtype.is_float and node.dtype.bits == 16 and node.op == "add" and pairs < 2

    def _scattered_ns(self, access: AccessTraffic, node: Atomic, operations: float) -> float:
        """Nanoseconds of atomics through loaded indices.

        A request visits each 32-byte sector that its lanes meet in, once for every lane on the same address; the sectors of a
        few hundred bytes share a unit. Requests are as long as the run of neighbours that an index is good for.
        """
        c = self.c
        size = node.dtype.bytes
        addresses = self._in_flight(access, operations)
        active = max(1.0, min(float(WARP_LANES), access.active_elements))
        run = max(1.0, min(active, access.contiguous_bytes / size, addresses))
        passes, deepest = _passes(active / run, max(1.0, run * size / SECTOR_BYTES), addresses * size, size)
        units = self._units(addresses * size)
        request_ns = passes * c.pass_ns * (c.compared if node.op == "cas" else 1.0) / units
        same_address = operations / addresses * self._address_ns(node)
        rate = min(c.scattered_atomics_per_ns * run, max(c.row_atomics_per_ns, c.scattered_atomics_per_ns))
        if self._retries(node):
            rate /= c.half_rate
        else:
            sectors = max(1.0, addresses * size / SECTOR_BYTES)
            request_ns = max(request_ns, deepest * self._address_ns(node) / sectors)
            waits = c.returned if node.op in ("cas", "xchg") or self._is_read(node) else 1.0
            rate /= max(waits, 1.0 if node.sem == "relaxed" else c.ordered)
        return max(operations / rate, operations / active * request_ns, same_address)

    def _is_read(self, node: Atomic) -> bool:
        """The old value is used: the request waits for an answer."""
        return any(
            node.id in other.depends or node.id in other.through or node.id in other.tested
            for other, _ in self.launch.kernel.walk((Store, Atomic))
            if isinstance(other, (Store, Atomic))
        )

    def _in_flight(self, access: AccessTraffic, operations: float) -> float:
        """Addresses that the programs which run at one time may go to: where each grid index has a part of the tensor to
        itself (a histogram an image), those of the indices that run together."""
        whole = self.launch.tensor(access.base)
        addresses = float(whole.numel) if whole is not None and whole.numel else operations
        offset = access.access.offset
        if offset is None:
            return addresses
        window, slots, order = math.inf, 1.0, 1
        for axis, size in enumerate(self.launch.grid):
            coefficient, extent = offset.coefficient(ProgramId(axis)), concrete(size) or 1
            stride = concrete(simplify(coefficient)) if coefficient is not None else None
            if stride is None:
                return addresses
            if stride and extent > 1:
                window = min(window, abs(stride))
                slots *= min(extent, self.active_programs / order + (order > 1))
            order *= extent
        return min(addresses, window * max(1.0, slots)) if window < math.inf else addresses

    def _sigma(self, bound: str, us: float) -> float:
        kind = class_of(self.launch, self.moved)
        sigma = max(regime_sigma(bound, kind), self.device.residuals.get(kind, 0.0))
        if kind == "gather":  # where the order of the indices decides little, it still decides something
            sigma = max(sigma, regime_sigma(bound))
        extra = [0.35 * self._unfollowed_share(), self._locality_sigma(us)]
        if bound == "atomics" and any(a.kind == "atomic" and not a.known for a in self.moved.accesses):
            extra.append(_HOT_SIGMA)
        if any(
            a.kind == "atomic" and isinstance(a.access, Atomic) and self._retries(a.access) for a in self.moved.accesses
        ):
            extra.append(_RETRY_SIGMA)
        if self.moved.counted_trips:
            extra.append(SEGMENT_SIGMA)
        if self.moved.unknown_trips:
            extra.append(0.7)
        if not self.launch.kernel.complete:
            extra.append(0.25)
        if self.launch.programs is None:
            extra.append(1.0)
        if self.instructions and bound in ("issue", "latency"):
            extra.append(_SPECIAL_SIGMA * self.special / (self.instructions + self.special_unit))
        if any(self._collapsed(pressure) for pressure in self.pressures):
            extra.append(_COLLAPSE_SIGMA)
        if unmeasured(self.launch):
            extra.append(_UNMEASURED_SIGMA)
        return widen(sigma, self.device, *extra)


def _is_double(dtype: Dtype | None) -> bool:
    return dtype is not None and dtype.is_float and dtype.bits == 64


@lru_cache(maxsize=1024)
def _passes(runs: float, run_sectors: float, table: float, size: int) -> tuple[float, float]:
    """(visits to sectors, visits to the busiest of its sectors) of a request that touches ``runs`` random places of ``table``
    bytes, each of ``run_sectors`` whole sectors or of one element: a sector is visited once for each lane on its most wanted
    address, the lanes being thrown at random."""
    if run_sectors > 1.0 or runs <= 1.0:
        return runs * run_sectors, 1.0
    sectors = max(1.0, table / SECTOR_BYTES)
    slots = max(1.0, min(table, SECTOR_BYTES) / size)
    rate = runs / sectors / slots
    deepest, reached, term = 0.0, 0.0, math.exp(-rate)
    for count in range(1, int(runs) + 2):
        reached = min(1.0, reached + term)
        deepest += 1.0 - reached**slots
        term *= rate / count
    if slots <= 1.0:
        deepest = runs / sectors
    return min(runs, sectors * deepest), min(runs, max(1.0, deepest))


def _unordered(access: AccessTraffic) -> bool:
    """A load or store whose time depends on the order of loaded indices."""
    return access.gather and not access.known and access.kind != "atomic"


def _local(access: AccessTraffic) -> AccessTraffic:
    """``access`` through loaded indices as it is where these are in order: neighbouring lanes name neighbouring elements."""
    asked = access.asked_bytes
    share = asked / (access.sectors * SECTOR_BYTES) if access.sectors else 1.0
    return replace(
        access, known=True, sectors=asked / SECTOR_BYTES, program_bytes=access.program_bytes * share,
        footprint_bytes=min(access.footprint_bytes, access.moved_bytes * share), moved_bytes=access.moved_bytes * share,
        near_bytes=access.near_bytes * share, window_bytes=access.window_bytes * share,
        contiguous_bytes=max(float(LINE_BYTES), access.contiguous_bytes),
    )  # fmt: skip


def _on_lanes(*exprs: Expr) -> bool:
    """Lanes have different values of one of these."""
    return any(isinstance(atom, Lane) for expr in exprs for atom in expr.atoms())


def _strided(loop: Loop) -> bool:
    """The loop goes on by as much as there are programs: its step is known at run time only."""
    return isinstance(loop.trip, Expr) and any(isinstance(atom, ProgramId) for atom in loop.trip.atoms())


def _pipelined(loop: Loop) -> bool:
    return loop.kind == "tl.range" and (loop.num_stages or 0) > 1


def _depends(load: Load, earlier: list[Load]) -> bool:
    """The address of ``load`` waits for one of ``earlier`` (for an integer one where the offset was not followed)."""
    if load.offset is None:
        return any(other.dtype.is_integer for other in earlier)
    keys = {atom.key for atom in load.offset.atoms() if isinstance(atom, Opaque) and atom.op == "load"}
    return bool(keys) and any(other.id in keys for other in earlier)
