"""Time of a loop around ``tl.dot``: a GEMM, an attention inner loop, a batch of small products.

One iteration of one program is work for five units of a streaming multiprocessor (SM): tensor cores, shared memory,
the port to the L2 cache, the issue slots (casts, byte shuffles, fp32 FMA, softmax arithmetic) and waiting. A program
alone runs them one after the other, a chain with the latency of memory divided by the pipeline's depth; several
resident programs hide each other's waits until the busiest unit is full. Both meet in a p-norm that leaves one program
with its latency alone:

    step(r) = ( latency**q + (r * throughput)**q - throughput**q ) ** (1/q)       cycles, r programs on an SM

The grid runs in waves of ``sm_count * resident`` programs. What is known of the compiler and the hardware is in
:func:`count_step` and :func:`count_loop` (no fitted constant); the constants are in ``data/h100-dots.json``, written by
``tools/fit_dots.py`` with the residuals that make ``KernelTime.sigma``. :func:`cycles_of_step` and
:func:`terms_of_loop` use nothing but operators, so the fitting script runs the same code on whole columns.

Not modelled: split-K reduction (give it as epilogue and a second kernel), TMA descriptors, warp specialisation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kernlint.cost.result import KernelTime
from kernlint.workload.dtype import Dtype

if TYPE_CHECKING:
    from kernlint.cost.device import Device


@dataclass(frozen=True)
class DotOperand:
    """One operand of a dot, [m, k] or [k, n].

    ``memory_dtype`` is the type as it lies in memory, ``dtype`` the type fed to the dot after casts. ``k_major``
    says that neighbours along k are neighbours in memory; None where the operand is computed in registers.
    ``reload`` is False for a tile that is loaded before the loop or computed.
    """

    memory_dtype: Dtype
    dtype: Dtype
    k_major: bool | None
    reload: bool = True


@dataclass(frozen=True)
class DotStep:
    """One ``tl.dot`` of the loop body: [m, k] times [k, n] into ``out``; ``precision`` is tf32, tf32x3 or ieee."""

    m: int
    n: int
    k: int
    a: DotOperand
    b: DotOperand
    precision: str
    out: Dtype


@dataclass(frozen=True)
class DotLoop:
    """All programs of one launch, each running the same loop of dots.

    ``programs`` is the grid size and ``iterations`` the trip count of a program's loop (a mean where it varies).
    ``pipelined`` is False for a ``while`` loop or a load under ``if``: then no stage overlaps. Element counts are per
    program and iteration, outside the dots: ``extra_alu_elements_per_iteration`` one fp32 operation each,
    ``special_elements_per_iteration`` exp, log, sqrt and the like. ``unique_bytes`` are the distinct bytes that all
    programs read in the loop, ``loaded_bytes`` the sum of tile bytes over iterations and programs, ``epilogue_bytes``
    what is read and written outside the loop, summed over programs. ``grid_m`` and ``grid_n`` are the tiles of one
    output matrix along each axis (0: not known), ``grouped`` says that programs walk it in L2-friendly groups.
    """

    programs: int
    iterations: float
    steps: tuple[DotStep, ...]
    num_warps: int
    num_stages: int
    unique_bytes: float
    loaded_bytes: float
    epilogue_bytes: float
    pipelined: bool = True
    grouped: bool = False
    grid_m: int = 0
    grid_n: int = 0
    extra_alu_elements_per_iteration: float = 0.0
    special_elements_per_iteration: float = 0.0


@dataclass(frozen=True)
class Constants:
    """Fitted numbers, all for cycles of the SM unless a unit is in the name. Tables are keyed by lowering path.

    tensor: cycles per cycle at the data sheet's peak, by instruction and fed type (``wgmma.float16``); ``native`` is
    mma.sync where it is the widest instruction there is.
    convert: issue cycles per 128 casts, by types.
    shuffle: issue cycles per 128 elements of an operand that has to be transposed through registers, at 64 columns;
    shuffle_growth: its growth with the columns, bank conflicts of the transposing store.
    step: barrier and wait cycles in a program's own chain, by instruction.
    instructions: issue cycles of an iteration for addresses, copies and barriers, by instruction.
    solo: share of casts and FMA that one warp group alone on its SM stalls for in addition; a second one fills it.
    warps: growth of issue work with the warp groups that repeat it.
    smem: cycles per 128 bytes of shared memory. load: cycles per 64 bytes from L2; load_grouped: its factor in grouped
    order. line: cycles per cache line (128 bytes) that a tile's rows touch;
    narrow: its growth where a thread copies less than 16 bytes at a time. exposed: share of shared-memory and load
    cycles that a program's own chain waits for; unpipelined: the same for loads that nothing overlaps.
    fma_operands, fma_reuse: an ieee dot costs ``1 + fma_operands * accumulators_per_thread**-fma_reuse`` FMA cycles,
    the rest being operand reads.
    memory: latency of a load that hits L2; memory_miss: what a miss adds; l2_share: the part of L2 that keeps data
    warm (each half of an H100's L2 copies lines of the other), l2_edge how sharply it ends.
    fill: cycles a program spends before and after its loop. launch_us: the least time of a kernel in a graph.
    overlap, hiding: exponents of the p-norms between units, and between latency and throughput.
    """

    tensor: Mapping[str, float]
    convert: Mapping[str, float]
    shuffle: Mapping[str, float]
    shuffle_growth: Mapping[str, float]
    step: Mapping[str, float]
    instructions: Mapping[str, float]
    solo: Mapping[str, float]
    smem: float
    load: float
    load_grouped: float
    fma_operands: float
    fma_reuse: float
    warps: float
    memory: float
    memory_miss: float
    unpipelined: float
    line: float
    narrow: float
    l2_share: float
    l2_edge: float
    fill: float
    launch_us: float
    overlap: float
    hiding: float
    exposed: float


@dataclass(frozen=True)
class StepCounts:
    """What one dot asks of the SM, before any fitted constant: cycles at the data sheet's rates, and table keys."""

    tensor_key: str
    step_key: str
    a_convert_key: str
    b_convert_key: str
    a_shuffle_key: str
    b_shuffle_key: str
    tensor_cycles: float
    fma_cycles: float
    accumulators_per_thread: float
    a_convert_cycles: float
    b_convert_cycles: float
    a_shuffle_cycles: float
    b_shuffle_cycles: float
    b_shuffle_columns: float
    b_shuffle_narrow: float
    smem_cycles: float
    synchronous: float


@dataclass(frozen=True)
class LoopCounts:
    """The loop around the steps: waves, depth of the pipeline, and bytes that no single step owns.

    ``idle_quarters`` is how much longer a program with fewer than four warps takes alone: each warp reaches only the
    tensor core and lanes of its own quarter of the SM.
    """

    iterations: float
    full_waves: float
    tail: float
    resident: float
    tail_resident: float
    depth: float
    pipelined: float
    grouped: float
    warp_groups: float
    idle_quarters: float
    load_cycles: float
    load_lines: float
    narrow_lines: float
    l2_fill: float
    alu_cycles: float
    spill_cycles: float
    epilogue_cycles: float
    dram_us: float
    launch_rate_us: float
    clock_mhz: float


@dataclass(frozen=True)
class StepCycles:
    """Cycles of one dot on each unit, one program alone."""

    tensor: Any
    issue: Any
    smem: Any
    wait: Any
    stall: Any
    synchronous: Any

    def __add__(self, other: StepCycles) -> StepCycles:
        return StepCycles(
            self.tensor + other.tensor,
            self.issue + other.issue,
            self.smem + other.smem,
            self.wait + other.wait,
            self.stall + other.stall,
            1 - (1 - self.synchronous) * (1 - other.synchronous),
        )


def cycles_of_step(counts: StepCounts, loop: LoopCounts, constants: Constants) -> StepCycles:
    """Apply the fitted constants to one dot. Works on floats and, in the fit, on columns of equal length."""
    c = constants
    repeat = loop.warp_groups**c.warps
    fma = counts.fma_cycles * (1 + c.fma_operands * counts.accumulators_per_thread ** (-c.fma_reuse))
    convert = (
        counts.a_convert_cycles * c.convert[counts.a_convert_key]
        + counts.b_convert_cycles * c.convert[counts.b_convert_key]
    )
    shuffle = (
        counts.a_shuffle_cycles * c.shuffle[counts.a_shuffle_key]
        + counts.b_shuffle_cycles
        * c.shuffle[counts.b_shuffle_key]
        * (1 + c.narrow * counts.b_shuffle_narrow)
        * (counts.b_shuffle_columns / 64) ** c.shuffle_growth[counts.b_shuffle_key]
    )
    arithmetic = fma + convert * repeat
    return StepCycles(
        tensor=counts.tensor_cycles * c.tensor[counts.tensor_key],
        issue=arithmetic + shuffle + c.instructions[counts.step_key] * repeat,
        smem=counts.smem_cycles * c.smem,
        wait=c.step[counts.step_key],
        stall=arithmetic * c.solo[counts.step_key],
        synchronous=counts.synchronous,
    )


def terms_of_loop(cycles: StepCycles, loop: LoopCounts, constants: Constants) -> dict[str, Any]:
    """Microseconds of the kernel (``us``) and of each term alone. Floats, or columns in the fit."""
    c = constants
    lines = (loop.load_lines + c.narrow * loop.narrow_lines) * c.line
    load = ((loop.load_cycles * c.load) ** c.overlap + lines**c.overlap) ** (1 / c.overlap)
    load = load * c.load_grouped**loop.grouped
    issue = cycles.issue + loop.alu_cycles + loop.spill_cycles
    filled = (loop.l2_fill / c.l2_share) ** c.l2_edge
    missed = filled / (1 + filled)
    memory = c.memory + c.memory_miss * missed
    dram_us = loop.dram_us * missed
    units = cycles.tensor**c.overlap + issue**c.overlap + cycles.smem**c.overlap + load**c.overlap
    throughput = units ** (1 / c.overlap)
    own = loop.idle_quarters * (cycles.tensor + issue) + cycles.stall / loop.warp_groups**2
    chain = cycles.wait + own + c.exposed * (cycles.smem + load)
    overlapped = (1 - cycles.synchronous) * loop.pipelined
    hidden = (chain**c.hiding + ((memory + load) / loop.depth) ** c.hiding) ** (1 / c.hiding)
    latency = overlapped * hidden + (1 - overlapped) * (chain + memory + c.unpipelined * load)

    def step(resident: Any) -> Any:
        others = (resident * throughput) ** c.hiding - throughput**c.hiding
        return (latency**c.hiding + others) ** (1 / c.hiding)

    waves = loop.full_waves + loop.tail
    looped = loop.iterations * (loop.full_waves * step(loop.resident) + loop.tail * step(loop.tail_resident))
    busy = loop.iterations * (loop.full_waves * loop.resident + loop.tail * loop.tail_resident)
    edges = waves * (c.fill + memory) + loop.epilogue_cycles * c.load
    us = (looped + edges) / loop.clock_mhz
    us = (us**4 + dram_us**4 + loop.launch_rate_us**4) ** 0.25
    return {
        "us": us + c.launch_us,
        "tensor": busy * cycles.tensor / loop.clock_mhz,
        "issue": busy * issue / loop.clock_mhz,
        "shared": busy * cycles.smem / loop.clock_mhz,
        "l2": busy * load / loop.clock_mhz,
        "latency": loop.iterations * waves * latency / loop.clock_mhz,
        "edges": edges / loop.clock_mhz,
        "memory": dram_us,
        "launch": c.launch_us + loop.launch_rate_us,
    }


# -- counting: the compiler's lowering and the device's limits ---------------------------------------------------------

#: Bytes that one SM takes from shared memory in a cycle, and the unit in which L2 traffic is counted.
_SMEM_BYTES_PER_CYCLE = 128
_L2_BYTES_PER_CYCLE = 64
#: Threads of an SM that issue together; casts and shuffles are counted in groups of this many elements.
_LANES = 128
#: Transcendental results of an SM in a cycle (CUDA C++ Programming Guide, arithmetic throughput, sm_80 to sm_90).
_SPECIAL_PER_CYCLE = 16
#: Time of the whole card to start one program, measured with empty programs on an H100.
_LAUNCH_NS_PER_PROGRAM = 0.65
#: Share of the data sheet's bandwidth that streaming kernels reach.
_DRAM_EFFICIENCY = 0.9
#: Shared memory that the runtime keeps for itself per program, bytes.
_SMEM_RESERVED = 1024
#: Registers of a thread beside accumulators and staged operands: addresses, masks, counters.
_BASE_REGISTERS = 32


def fed_class(operand: DotOperand, precision: str) -> str:
    """The tensor core's name for what it is fed: float16 (bfloat16 alike), tf32, int8, fp8, or float32 (FMA units)."""
    dtype = operand.dtype
    if dtype.is_fp8:
        return "fp8"
    if dtype.bits == 8:
        return "int8"
    if dtype.bits == 16:
        return "float16"
    return "float32" if precision == "ieee" or dtype.bits == 64 else "tf32"


def instruction(step: DotStep, num_warps: int, device: Device) -> str:
    """wgmma, mma or fma, as Triton chooses.

    Hopper's warp-group instruction needs m >= 64 and four warps; anything else takes mma.sync. A dot in ieee
    precision, or of a type for which the device has no tensor path, runs on the FMA units.
    """
    fed = fed_class(step.a, step.precision)
    if fed == "float32" or (fed == "tf32" and _peak(fed, device) is None):
        return "fma"
    return "wgmma" if _has_wgmma(device) and step.m >= 64 and num_warps >= 4 else "mma"


def _has_wgmma(device: Device) -> bool:
    return device.sm_major in (9, 10)


def _peak(fed: str, device: Device) -> float | None:
    """10^12 operations per second of the dense data-sheet peak, fp32 or int32 accumulate; None: no such path."""
    return {
        "float16": device.peak_fp16_tensor_dense_fp32acc_tflops,
        "tf32": device.peak_tf32_tensor_dense_tflops,
        "int8": device.peak_int8_tensor_dense_tops,
        "fp8": device.peak_fp8_tensor_dense_fp32acc_tflops,
        "float32": device.peak_fp32_vector_tflops,
    }[fed]


def _clock_mhz(device: Device) -> float:
    return device.tensor_clock_mhz or device.boost_clock_mhz


def _operations_per_cycle(tera_operations: float, device: Device) -> float:
    return tera_operations * 1e6 / (device.sm_count * _clock_mhz(device))


def _memory_class(dtype: Dtype) -> str:
    if dtype.is_fp8:
        return "fp8"
    return {8: "int8", 16: "float16"}.get(dtype.bits, "float32")


def _convert_key(operand: DotOperand, path: str, device: Device, stored: bool = False) -> str:
    """Key of the cast between memory and the dot, ``wgmma.int8->float16``; ``none`` where there is none.

    ``stored``: the result goes back to shared memory (``wgmma.stored.int8->float16``), as wgmma wants its B.
    """
    if operand.k_major is None or not operand.reload:
        return "none"
    source, target = _memory_class(operand.memory_dtype), _memory_class(operand.dtype)
    if target == "fp8" and not _native_fp8(path, device):
        target = "float16"
    if source == target:
        return "none"
    cast = f"{source}->{target}"
    return f"{path}.{'stored.' if stored else ''}{cast if cast in MEASURED_CASTS else 'other'}"


def _native_fp8(path: str, device: Device) -> bool:
    """False where the compiler widens fp8 to fp16 first: mma.sync on Hopper, and devices without fp8 units."""
    return device.peak_fp8_tensor_dense_fp32acc_tflops is not None and not (path == "mma" and _has_wgmma(device))


#: Casts that the data time; any other is priced as ``other``, their mean.
MEASURED_CASTS = ("int8->float32", "int8->float16", "float16->float32", "fp8->float16")


def _needs_k_major(fed: str, path: str) -> bool:
    """Hopper's wgmma reads operands of 8 and 32 bits from shared memory only where k is contiguous."""
    return path == "wgmma" and fed in ("tf32", "int8", "fp8")


def _shuffle_key(operand: DotOperand, fed: str, path: str, device: Device) -> str:
    """How an operand that is not K-major reaches the tensor core: ``none`` where the hardware transposes."""
    if operand.k_major is not False or not operand.reload:
        return "none"
    if _needs_k_major(fed, path):
        return f"wgmma.{_memory_class(operand.memory_dtype)}->{fed}"
    # mma.sync gathers 8-bit fragments byte by byte where ldmatrix cannot transpose them. Only timed on Hopper; the
    # compiler does better where it plans for mma.sync from the start, so other cards are not charged.
    as_it_lies = operand.dtype == operand.memory_dtype or operand.memory_dtype.is_fp8
    if path == "mma" and operand.memory_dtype.bits == 8 and as_it_lies and _has_wgmma(device):
        return "mma.8"
    return "none"


def _synchronous(operand: DotOperand, shuffle_key: str) -> bool:
    """True where a transposed operand is loaded without ``cp.async``.

    That is an 8-bit operand fed as it lies. A 32-bit one is wide enough to be copied in transposed order, and one
    that is cast reaches shared memory in its own order first.
    """
    return shuffle_key.startswith("wgmma") and operand.memory_dtype.bytes < 4 and operand.dtype == operand.memory_dtype


def _warps_of_mma(m: int, n: int, num_warps: int) -> tuple[int, int]:
    """Warps along m and n of a 16 x 8 mma.sync tiling, as in Triton's ``warpsPerTileV2``."""
    warps_m, warps_n = 1, 1
    while warps_m * warps_n < num_warps:
        if m / 16 / warps_m >= n / 16 / warps_n and warps_m < m / 16:
            warps_m *= 2
        else:
            warps_n *= 2
    return warps_m, warps_n


def count_step(step: DotStep, num_warps: int, device: Device) -> StepCounts:
    """The counts of one dot; see :class:`StepCounts`."""
    path = instruction(step, num_warps, device)
    fed = fed_class(step.a, step.precision)
    m, n, k = step.m, step.n, step.k
    elements_a, elements_b = m * k, k * n
    if path == "wgmma":
        warps_m, warps_n = max(1, m // 64), max(1, num_warps * 16 // m)
    else:
        warps_m, warps_n = _warps_of_mma(m, n, num_warps)
    if path == "mma":
        n = max(n, 8 * warps_n)  # warps beyond the tile's width repeat its work
        elements_b = k * n
    tensor_cycles = fma_cycles = 0.0
    tensor_key = "none"
    if path == "fma":
        vector = device.peak_fp32_vector_tflops
        if step.a.dtype.bits == 64:
            vector = device.peak_fp64_vector_tflops or vector / 64
        # The vector peak is quoted at the boost clock; lanes per SM come out of it.
        fma_cycles = 2 * m * n * k / (vector * 1e6 / device.sm_count / device.boost_clock_mhz)
    else:
        rate_class = fed
        if (fed == "fp8" and not _native_fp8(path, device)) or _peak(fed, device) is None:
            rate_class = "float16"
        peak = _peak(rate_class, device) or device.peak_fp32_vector_tflops
        tensor_cycles = 2 * m * n * k / _operations_per_cycle(peak, device)
        tensor_cycles *= 3 if step.precision == "tf32x3" and fed == "tf32" else 1
        tensor_key = f"{path if _has_wgmma(device) else 'native'}.{rate_class}"

    # Shared memory: an operand is written once and read by each group of warps that needs it.
    smem_bytes = 0.0
    repeats_a, repeats_b = warps_n, warps_m
    a_key, b_key = _convert_key(step.a, path, device), _convert_key(step.b, path, device, stored=path == "wgmma")
    if step.a.k_major is not None:  # else computed in registers, where both instructions take A from
        smem_bytes += elements_a * step.a.memory_dtype.bytes * (1 + repeats_a)
    if b_key != "none" and path == "wgmma":
        # wgmma takes B from shared memory: read, cast, write back, read again.
        smem_bytes += elements_b * (2 * step.b.memory_dtype.bytes + step.b.dtype.bytes * (1 + repeats_b))
    else:
        smem_bytes += elements_b * step.b.memory_dtype.bytes * (1 + repeats_b)

    a_shuffle, b_shuffle = _shuffle_key(step.a, fed, path, device), _shuffle_key(step.b, fed, path, device)
    return StepCounts(
        tensor_key=tensor_key,
        step_key=path,
        a_convert_key=a_key,
        b_convert_key=b_key,
        a_shuffle_key=a_shuffle,
        b_shuffle_key=b_shuffle,
        tensor_cycles=tensor_cycles,
        fma_cycles=fma_cycles,
        accumulators_per_thread=max(1.0, m * n / (32 * num_warps)),
        a_convert_cycles=elements_a / _LANES * (1 if path == "fma" else repeats_a),
        b_convert_cycles=elements_b / _LANES * (warps_m if path == "mma" else 1),
        a_shuffle_cycles=elements_a / _LANES,
        b_shuffle_cycles=elements_b / _LANES,
        b_shuffle_columns=float(n),
        b_shuffle_narrow=_narrowness(step.k * step.n * step.b.memory_dtype.bytes, num_warps * device.warp_size_threads),
        smem_cycles=smem_bytes / _SMEM_BYTES_PER_CYCLE,
        synchronous=float(_synchronous(step.a, a_shuffle) or _synchronous(step.b, b_shuffle)),
    )


def _overlaps(loop: DotLoop, device: Device) -> bool:
    """True where loads of later iterations overlap the dot: a pipelined loop on a device with asynchronous copies."""
    before_ampere = device.is_nvidia and (device.sm_major or 0) < 8
    return loop.pipelined and loop.num_stages > 1 and not before_ampere


def shared_bytes(loop: DotLoop, device: Device) -> float:
    """Shared memory of one program, bytes.

    A pipelined loop keeps ``num_stages`` copies of each loaded tile for wgmma, which still reads the oldest while the
    next is loaded, and ``num_stages - 1`` for mma.sync. Without pipelining one copy of what the dot is fed.
    """
    total = 0.0
    for step in loop.steps:
        path = instruction(step, loop.num_warps, device)
        fed = fed_class(step.a, step.precision)
        copies = max(1, loop.num_stages if path == "wgmma" else loop.num_stages - 1)
        operands = ((step.a, step.m * step.k, False), (step.b, step.k * step.n, path == "wgmma"))
        for operand, elements, stored in operands:
            shuffle_key = _shuffle_key(operand, fed, path, device)
            cast_back = stored and _convert_key(operand, path, device) != "none"
            staged = cast_back or shuffle_key.startswith("wgmma")
            if operand.k_major is None and not stored:
                continue  # computed in registers and fed from there
            if not operand.reload or not _overlaps(loop, device) or _synchronous(operand, shuffle_key):
                total += elements * operand.dtype.bytes
                continue
            total += copies * elements * operand.memory_dtype.bytes
            total += elements * operand.dtype.bytes if staged else 0
    return total


def _accumulators_per_thread(loop: DotLoop, device: Device) -> float:
    """32-bit results of all dots of an iteration, which are alive at a time, for each thread."""
    return sum(step.m * step.n for step in loop.steps) / (device.warp_size_threads * loop.num_warps)


def _spilled_bytes(loop: DotLoop, device: Device) -> float:
    """Bytes that a program's threads move to local memory and back in an iteration.

    Accumulators that do not fit beside the base registers are written and read around each dot, all of them: the
    compiler reports 2.3 KB a thread for 256 accumulators and none for 128.
    """
    threads = device.warp_size_threads * loop.num_warps
    limit = min(device.max_registers_per_thread, device.registers_32bit_per_sm / threads)
    accumulators = _accumulators_per_thread(loop, device)
    return 8 * accumulators * threads if accumulators + _BASE_REGISTERS > limit else 0.0


def resident_programs(loop: DotLoop, device: Device) -> int:
    """Programs that fit on one SM at a time, at least one: shared memory, registers, warps and block slots."""
    shared = shared_bytes(loop, device) + _SMEM_RESERVED
    registers = _BASE_REGISTERS + _accumulators_per_thread(loop, device)
    if not _overlaps(loop, device):
        # The tile waits in registers between load and shared memory.
        staged = _tile_lines(loop, device)[0] / (device.warp_size_threads * loop.num_warps)
        registers += staged / 4
    registers = min(device.max_registers_per_thread, registers)
    limits = [
        device.shared_memory_bytes_per_sm / shared,
        device.registers_32bit_per_sm / (registers * device.warp_size_threads * loop.num_warps),
        device.max_warps_per_sm / loop.num_warps,
        float(device.max_blocks_per_sm or 32),
    ]
    return max(1, math.floor(min(limits)))


def count_loop(loop: DotLoop, device: Device) -> LoopCounts:
    """The counts of the loop around the dots; see :class:`LoopCounts`."""
    programs, iterations = max(1, loop.programs), max(loop.iterations, 0.0)
    resident = resident_programs(loop, device)
    slots = device.sm_count * resident
    full_waves, rest = divmod(programs, slots)
    lanes = device.peak_fp32_vector_tflops * 1e6 / device.sm_count / device.boost_clock_mhz / 2
    alu = loop.extra_alu_elements_per_iteration / lanes + loop.special_elements_per_iteration / _SPECIAL_PER_CYCLE
    loaded = loop.loaded_bytes / (programs * iterations) if iterations else 0.0
    tile_bytes, tile_lines, narrow_lines = _tile_lines(loop, device)
    return LoopCounts(
        iterations=iterations,
        full_waves=float(full_waves),
        tail=float(rest > 0),
        resident=float(resident),
        tail_resident=float(math.ceil(rest / device.sm_count)) if rest else 1.0,
        depth=float(max(1, loop.num_stages - 1)),
        pipelined=float(_overlaps(loop, device)),
        grouped=float(loop.grouped),
        warp_groups=max(1.0, loop.num_warps / 4),
        idle_quarters=max(1.0, 4 / loop.num_warps),
        load_cycles=loaded / _L2_BYTES_PER_CYCLE,
        load_lines=loaded * tile_lines / tile_bytes if tile_bytes else 0.0,
        narrow_lines=loaded * narrow_lines / tile_bytes if tile_bytes else 0.0,
        l2_fill=(loop.unique_bytes + loop.epilogue_bytes) / (device.l2_cache_mb * 2**20),
        alu_cycles=alu,
        spill_cycles=_spilled_bytes(loop, device) / _SMEM_BYTES_PER_CYCLE,
        epilogue_cycles=loop.epilogue_bytes / device.sm_count / _L2_BYTES_PER_CYCLE,
        dram_us=_dram_bytes(loop, slots) / (device.memory_bandwidth_gb_per_s * 1e3 * _DRAM_EFFICIENCY),
        launch_rate_us=programs * _LAUNCH_NS_PER_PROGRAM * 1e-3 * 132 / device.sm_count,
        clock_mhz=_clock_mhz(device),
    )


def _narrowness(tile_bytes: float, threads: int) -> float:
    """Halvings of the 16 bytes that a thread would copy at a time, where the tile has less for each thread."""
    return max(0.0, math.log2(16 * threads / tile_bytes))


def _tile_lines(loop: DotLoop, device: Device) -> tuple[float, float, float]:
    """Bytes loaded by one iteration, the cache lines of 128 bytes that its rows touch, and those touched in excess.

    A tile of less than 16 bytes per thread is copied by narrower instructions, which touch each line more often.
    """
    total = lines = narrow = 0.0
    threads = loop.num_warps * device.warp_size_threads
    for step in loop.steps:
        for operand, other in ((step.a, step.m), (step.b, step.n)):
            if operand.reload and operand.k_major is not None:
                row, rows = (step.k, other) if operand.k_major else (other, step.k)
                tile = row * rows * operand.memory_dtype.bytes
                touched = rows * math.ceil(row * operand.memory_dtype.bytes / 128)
                total += tile
                lines += touched
                narrow += touched * _narrowness(tile, threads)
    return total, lines, narrow


def _dram_bytes(loop: DotLoop, slots: int) -> float:
    """Bytes from memory where nothing stays in the L2 from one wave of concurrent programs to the next.

    A wave that covers r rows and c columns of tiles reads r strips of A and c of B, so grouped (square) waves read
    least and waves along a row most. Without groups columns are taken to vary fastest; a caller whose programs walk
    down the columns swaps the axes. Programs beyond ``grid_m * grid_n`` are other matrices, or other parts of K.
    """
    traffic = loop.unique_bytes
    if loop.grid_m and loop.grid_n:
        tiles = loop.grid_m * loop.grid_n
        covered = min(slots, tiles)
        side = math.sqrt(covered) if loop.grouped else min(covered, loop.grid_n)
        rows, columns = min(loop.grid_m, covered / side), min(loop.grid_n, side)
        m, n = loop.steps[0].m, loop.steps[0].n
        matrix = loop.unique_bytes * tiles / max(tiles, loop.programs)
        wave = matrix * (rows * m + columns * n) / (loop.grid_m * m + loop.grid_n * n)
        traffic = max(traffic, wave * loop.programs / covered)
    return min(traffic, max(loop.loaded_bytes, loop.unique_bytes)) + loop.epilogue_bytes


# -- the answer --------------------------------------------------------------------------------------------------------

_DATA = "data/h100-dots.json"


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(files("kernlint.cost").joinpath(_DATA).read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=1)
def constants() -> Constants:
    """The fitted constants of ``data/h100-dots.json``."""
    table = _data()["constants"]
    return Constants(**{field.name: table[field.name] for field in fields(Constants)})


def residual_key(step: DotStep, loop: DotLoop, device: Device) -> str:
    """Name of the group of measurements that a dot belongs to, ``int8->tf32.N.wgmma.pipelined``.

    That is the types in memory and as fed, B's layout, the instruction, and whether loads overlap.
    """
    layout = "N" if step.b.k_major is False else "K"
    regime = "pipelined" if _overlaps(loop, device) else "unpipelined"
    cast = f"{_memory_class(step.b.memory_dtype)}->{fed_class(step.b, step.precision)}"
    return f"{cast}.{layout}.{instruction(step, loop.num_warps, device)}.{regime}"


def _bias(loop: DotLoop, device: Device) -> float:
    """Mean ln(predicted / measured) of the group, which the physics leaves over; 0 where nothing like it was timed.

    Of several dots the mean counts, weighted by their operations.
    """
    if not _has_wgmma(device):
        return 0.0
    known, weights, total = _data()["residuals"]["bias"], 0.0, 0.0
    for step in loop.steps:
        weight = float(step.m * step.n * step.k)
        weights += weight
        total += weight * known.get(residual_key(step, loop, device), 0.0)
    return total / weights


def _unmeasured_lowering(step: DotStep, num_warps: int, device: Device) -> bool:
    """True for a cast, a layout of A, a precision or a number of warps that no measured row has."""
    path = instruction(step, num_warps, device)
    fed = fed_class(step.a, step.precision)
    cast = _convert_key(step.a, path, device).endswith("other") or _convert_key(step.b, path, device).endswith("other")
    transposed_a = _shuffle_key(step.a, fed, path, device) != "none"
    return cast or transposed_a or step.precision == "tf32x3" or num_warps not in (4, 8)


def _sigma(loop: DotLoop, device: Device, bound: str) -> float:
    """Standard deviation of ln(measured / predicted).

    The residual of the measured group (the largest where the loop has several dots), widened in quadrature for what
    nobody measured: another device, two stages, an operand or a second dot computed in registers,
    a lowering that no row has, spills, operands that have to come from memory.
    """
    residuals, widening = _data()["residuals"]["sigma"], _data()["widening"]
    own = max(residuals.get(residual_key(step, loop, device), residuals["all"]) for step in loop.steps)
    extra = [widening["device"][device.kinship]]
    if loop.num_stages == 2:
        extra.append(widening["two_stages"])
    if len(loop.steps) > 1 or any(o.k_major is None or not o.reload for s in loop.steps for o in (s.a, s.b)):
        extra.append(widening["chained_dots"])
    if loop.extra_alu_elements_per_iteration or loop.special_elements_per_iteration:
        extra.append(widening["elementwise"])
    if any(_unmeasured_lowering(step, loop.num_warps, device) for step in loop.steps):
        extra.append(widening["lowering"])
    if _spilled_bytes(loop, device) > 0:
        extra.append(widening["spills"])
    if bound == "memory":
        extra.append(widening["beyond_l2"])
    return math.sqrt(own**2 + sum(value**2 for value in extra))


#: Names of the terms in ``KernelTime.terms`` that can bound a kernel.
_BOUNDS = {"tensor": "tensor", "issue": "issue", "shared": "issue", "l2": "l2", "latency": "latency",
           "memory": "memory", "launch": "launch"}  # fmt: skip


def dot_time(loop: DotLoop, device: Device) -> KernelTime:
    """Predicted device time of a kernel whose work is ``loop``, in a replayed CUDA graph with a warm L2.

    ``terms`` holds microseconds of each unit alone (tensor, issue, shared, l2, latency, memory, launch, edges); the
    largest but for ``edges`` names the bound. Raises ValueError where there is no dot, no program, no warp
    or an empty tile.
    """
    if not loop.steps or loop.programs < 1 or loop.num_warps < 1 or loop.iterations < 0:
        raise ValueError("a dot loop needs a step, a program, a warp and a trip count that is not negative")
    if any(min(step.m, step.n, step.k) < 1 for step in loop.steps):
        raise ValueError("a dot loop needs tiles of at least one element along each axis")
    counts, fitted = count_loop(loop, device), constants()
    total: StepCycles | None = None
    for step in loop.steps:
        cycles = cycles_of_step(count_step(step, loop.num_warps, device), counts, fitted)
        total = cycles if total is None else total + cycles
    assert total is not None
    terms = terms_of_loop(total, counts, fitted)
    us = max(fitted.launch_us, terms.pop("us") * math.exp(-_bias(loop, device)))
    bound = _BOUNDS[max(_BOUNDS, key=lambda name: terms[name])]
    return KernelTime(us=us, sigma=_sigma(loop, device, bound), bound=bound, terms=terms)
