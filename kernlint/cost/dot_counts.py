"""Counting a loop of dots in cycles and bytes, at the rates of the data sheet. No fitted constant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernlint.cost.dot_loop import DotLoop, DotOperand, DotStep
from kernlint.cost.dot_lowering import (
    convert_key,
    fed_class,
    has_wgmma,
    instruction,
    is_exchanged,
    is_synchronous,
    native_fp8,
    overlaps,
    peak,
    shuffle_key,
    warps_of,
)
from kernlint.cost.dot_occupancy import resident_programs, spilled_bytes
from kernlint.cost.traffic.model import SECTOR_BYTES
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.cost.device import Device


@dataclass(frozen=True)
class StepCounts:
    """What one dot asks of the SM, before any fitted constant: cycles at the data sheet's rates, and table keys."""

    tensor_key: str
    fma_key: str
    step_key: str
    a_convert_key: str
    b_convert_key: str
    a_shuffle_key: str
    b_shuffle_key: str
    tensor_cycles: float
    fma_cycles: float
    operand_cycles: float
    accumulators_per_thread: float
    a_convert_cycles: float
    b_convert_cycles: float
    a_shuffle_cycles: float
    b_shuffle_cycles: float
    b_shuffle_columns: float
    b_shuffle_narrow: float
    smem_cycles: float
    exchanges: float
    synchronous: float
    work_cycles: float


@dataclass(frozen=True)
class LoopCounts:
    """The loop around the steps: waves, depth of the pipeline, and bytes that no single step owns.

    ``idle_quarters`` is how much longer a program with fewer than four warps takes alone: each warp reaches only the
    tensor core and lanes of its own quarter of the SM. ``scarce_cycles`` is what an operation on each element waits for where there are
    fewer fp32 lanes than threads that issue together. ``refills`` is how many times an iteration, in the mean, the pipeline
    starts anew: an innermost loop that is entered again drains it. ``native``: mma.sync is the widest instruction.
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
    active: float
    mask_cycles: float
    staged_cycles: float
    excess_iterations: float
    alu_cycles: float
    scarce_cycles: float
    special_cycles: float
    spill_cycles: float
    epilogue_cycles: float
    edge_work_cycles: float
    dram_us: float
    launch_rate_us: float
    clock_mhz: float
    refills: float
    native: float


#: Bytes that one SM takes from shared memory in a cycle, and the unit in which L2 traffic is counted.
_SMEM_BYTES_PER_CYCLE = 128
_L2_BYTES_PER_CYCLE = 64
#: Instructions that take an element of tf32x3 apart into what tf32 holds and the rest: of 20 products of fp32 and fp16 with fp32 on an H200
#: (tiles of 32x64 to 128x128, 2026-11-30), which took 0.88 to 4.2 times their price without it.
_SPLITS = 8.0
#: The least that L2 answers a request with: int8 rows of 32 bytes take the time of fp16 rows of 64 (64x64x32 tiles on a
#: full card, 265 and 248 us).
_L2_ANSWER_BYTES = 64
#: Threads of an SM that issue together; casts and shuffles are counted in groups of this many elements.
_LANES = 128
#: Transcendental results of an SM in a cycle (CUDA C++ Programming Guide, arithmetic throughput, sm_80 to sm_90).
_SPECIAL_PER_CYCLE = 16
#: Time of the whole card to start one program, measured with empty programs on an H100, and its clock.
_LAUNCH_NS_PER_PROGRAM, _MEASURED_MHZ = 0.65, 1980
#: Share of the data sheet's bandwidth that streaming kernels reach.
_DRAM_EFFICIENCY = 0.9
#: Times the L2 that are as good as any more: everything comes from DRAM.
_FULL = 1e6


def count_step(loop: DotLoop, step: DotStep, device: Device) -> StepCounts:
    """The counts of one dot of the loop; see :class:`StepCounts`."""
    num_warps = loop.num_warps
    path = instruction(step, num_warps, device)
    fed = fed_class(step.a, step.precision)
    warps_m, warps_n = warps_of(step, num_warps, device)
    # Warps beyond the tile's width repeat its work.
    n = max(step.n, 8 * warps_n) if path == "mma" else step.n
    products = _products(step, step.m * n * step.k, path, fed, device)
    elements_a, elements_b = step.m * step.k, step.k * n
    a_key, b_key = convert_key(step.a, path, device), convert_key(step.b, path, device, stored=path == "wgmma")
    a_shuffle, b_shuffle = shuffle_key(step.a, fed, path), shuffle_key(step.b, fed, path)
    exchanged = is_exchanged(loop, step, device)
    # Shared memory: an operand is written once and read by each group of warps that needs it.
    smem_bytes = _smem_bytes_a(step, elements_a, warps_n, exchanged)
    smem_bytes += _smem_bytes_b(loop, step, elements_b, warps_m, b_key != "none" and path == "wgmma", device)
    thrice = step.precision == "tf32x3" and fed == "tf32"
    splits = _SPLITS if thrice else 0.0
    # What takes B from shared memory has its two parts written there, one of them read twice, and waits for that.
    stored = thrice and path == "wgmma"
    smem_bytes += 3 * elements_b * step.b.dtype.bytes if stored else 0.0
    return StepCounts(
        tensor_key=products.tensor_key,
        fma_key="K" if step.b.k_major or step.b.along_k else "N",
        step_key=path if overlaps(loop, device) else f"{path}.unpipelined",
        a_convert_key=a_key,
        b_convert_key=b_key,
        a_shuffle_key=a_shuffle,
        b_shuffle_key=b_shuffle,
        tensor_cycles=products.tensor_cycles,
        fma_cycles=products.fma_cycles,
        operand_cycles=products.operand_cycles,
        accumulators_per_thread=step.m * n / (32 * num_warps),
        a_convert_cycles=elements_a / _LANES * (1 if path == "fma" else warps_n),
        b_convert_cycles=elements_b / _LANES * (warps_m if path == "mma" else 1),
        a_shuffle_cycles=elements_a / _LANES,
        b_shuffle_cycles=elements_b / _LANES * (2 if stored else 1),
        b_shuffle_columns=float(n),
        b_shuffle_narrow=_narrowness(step.b, step.k * step.n, num_warps * device.warp_size_threads),
        smem_cycles=smem_bytes / _SMEM_BYTES_PER_CYCLE,
        exchanges=float(exchanged),
        synchronous=float(stored or is_synchronous(step.a, a_shuffle) or is_synchronous(step.b, b_shuffle)),
        work_cycles=(
            elements_a * (step.a.work + splits) * warps_n
            + elements_b * (step.b.work + splits) * (warps_m if path == "mma" else 1)
        )
        / _LANES,
    )


@dataclass(frozen=True)
class _Products:
    """What the multiplications of a dot take on one SM, on the tensor cores (of which ``tensor_key`` says which rate) or on
    the FMA units, whose operands are read at the rate of issue, however many FMA units there are."""

    tensor_cycles: float = 0.0
    fma_cycles: float = 0.0
    operand_cycles: float = 0.0
    tensor_key: str = "none"


def _products(step: DotStep, count: int, path: str, fed: str, device: Device) -> _Products:
    """``count`` multiplications of ``step``, with operands of the class ``fed`` by the instruction ``path``."""
    if path == "fma":
        vector = device.peak_fp32_vector_tflops
        if step.a.dtype.bits == 64:
            vector = device.peak_fp64_vector_tflops or vector / 64
        # The vector peak is quoted at the boost clock; lanes per SM come out of it.
        fma_cycles = 2 * count / (vector * 1e6 / device.sm_count / device.boost_clock_mhz)
        return _Products(fma_cycles=fma_cycles, operand_cycles=count / _LANES * step.a.dtype.bits / 32)
    rate_class = fed
    if (fed == "fp8" and not native_fp8(path, device)) or peak(fed, device) is None:
        rate_class = "float16"
    rate = peak(rate_class, device) or device.peak_fp32_vector_tflops
    per_cycle = rate * 1e6 / (device.sm_count * (device.tensor_clock_mhz or device.boost_clock_mhz))
    cycles = 2 * count / per_cycle
    cycles *= 3 if step.precision == "tf32x3" and fed == "tf32" else 1
    return _Products(cycles, tensor_key=f"{path if has_wgmma(device) else 'native'}.{rate_class}")


def _smem_bytes_a(step: DotStep, elements: int, repeats: int, exchanged: bool) -> float:
    """Through shared memory for operand A, which ``repeats`` groups of warps read."""
    if step.a.k_major is not None:
        return elements * step.a.memory_dtype.bytes * (_written(step.a) + repeats)
    # Computed in registers, it moves where they are not those of the warp that needs it.
    return elements * step.a.dtype.bytes * (1 + repeats) if exchanged else 0.0


def _smem_bytes_b(loop: DotLoop, step: DotStep, elements: int, repeats: int, converted: bool, device: Device) -> float:
    """Through shared memory for operand B; ``converted`` says that wgmma takes it from there in another type."""
    if converted:
        # Read, cast, write back, read again; without pipelining cast on the way.
        through = 2 * step.b.memory_dtype.bytes if overlaps(loop, device) else 0
        return elements * (through + step.b.dtype.bytes * (1 + repeats))
    return elements * step.b.memory_dtype.bytes * (_written(step.b) + repeats)


def _written(operand: DotOperand) -> bool:
    """Whether each iteration writes the operand's tile to shared memory for this dot."""
    return operand.reload and not operand.again


def count_loop(loop: DotLoop, device: Device) -> LoopCounts:
    """The counts of the loop around the dots; see :class:`LoopCounts`."""
    programs, iterations = max(1, loop.programs), max(loop.iterations, 0.0)
    resident = resident_programs(loop, device)
    slots = device.sm_count * resident
    full_waves, rest = divmod(programs, slots)
    lanes = device.peak_fp32_vector_tflops * 1e6 / device.sm_count / device.boost_clock_mhz / 2
    loaded = loop.loaded_bytes / (programs * iterations) if iterations else 0.0
    tiles = _tiles(loop, device)
    repeats = loaded / tiles.bytes if tiles.bytes else 0.0
    return LoopCounts(
        iterations=iterations,
        full_waves=float(full_waves),
        tail=float(rest > 0),
        resident=float(resident),
        tail_resident=float(math.ceil(rest / device.sm_count)) if rest else 1.0,
        depth=float(max(1, loop.num_stages - 1)),
        pipelined=float(overlaps(loop, device)),
        grouped=float(loop.grouped),
        warp_groups=max(1.0, loop.num_warps / 4),
        idle_quarters=max(1.0, 4 / loop.num_warps),
        load_cycles=(repeats * tiles.answered or loaded) / _L2_BYTES_PER_CYCLE,
        load_lines=repeats * tiles.lines,
        narrow_lines=repeats * tiles.narrow_lines,
        # Sizes that no tensor has, of programs gone wrong, are to overflow nothing that follows.
        l2_fill=min(_FULL, max(0.0, loop.unique_bytes + loop.epilogue_bytes) / (device.l2_cache_mb * 2**20)),
        active=min(1.0, programs / device.sm_count),
        mask_cycles=loop.masked * loaded / 16 / _LANES,
        staged_cycles=0.0 if overlaps(loop, device) else loaded / 16 / _LANES,
        excess_iterations=max(0.0, loop.most_iterations - iterations),
        alu_cycles=loop.extra_alu_elements_per_iteration / _LANES,
        scarce_cycles=loop.extra_alu_elements_per_iteration * max(0.0, 1 / lanes - 1 / _LANES),
        special_cycles=loop.special_elements_per_iteration / _SPECIAL_PER_CYCLE,
        spill_cycles=spilled_bytes(loop, device) / _SMEM_BYTES_PER_CYCLE,
        epilogue_cycles=loop.epilogue_bytes / programs / _L2_BYTES_PER_CYCLE,
        edge_work_cycles=loop.edge_work / _LANES,
        dram_us=_dram_bytes(loop, slots) / (device.memory_bandwidth_gb_per_s * 1e3 * _DRAM_EFFICIENCY),
        launch_rate_us=programs * _LAUNCH_NS_PER_PROGRAM * 1e-3 * _MEASURED_MHZ / device.boost_clock_mhz,
        clock_mhz=device.boost_clock_mhz,
        refills=(loop.entries - 1) / iterations if iterations else 0.0,
        native=float(not has_wgmma(device)),
    )


def _narrowness(operand: DotOperand, elements: int, threads: int) -> float:
    """Halvings of the 16 bytes that a thread would copy at a time, where it has less or cannot prove them aligned."""
    vector = min(operand.vector_bytes, elements * operand.memory_dtype.bytes / threads)
    return max(0.0, math.log2(16 / vector))


@dataclass(frozen=True)
class _Tiles:
    """One iteration's loads of one program: bytes, bytes as L2 answers them, cache lines that rows touch, and those
    touched in excess because threads copy less than 16 bytes at a time."""

    bytes: float
    answered: float
    lines: float
    narrow_lines: float


def _tiles(loop: DotLoop, device: Device) -> _Tiles:
    total = answered = lines = narrow = 0.0
    threads = loop.num_warps * device.warp_size_threads
    for step in loop.steps:
        for operand, other in ((step.a, step.m), (step.b, step.n)):
            if operand.again:
                continue
            if operand.scattered:  # each element is a request of its own
                elements = other * step.k
                total += elements * SECTOR_BYTES
                answered += elements * max(SECTOR_BYTES, _L2_ANSWER_BYTES)
                lines += elements
            elif operand.reload:
                row, rows = (other, step.k) if operand.k_major is False else (step.k, other)
                row_bytes = row * operand.memory_dtype.bytes
                touched = rows * math.ceil(row_bytes / 128)
                total += rows * row_bytes
                answered += rows * max(row_bytes, _L2_ANSWER_BYTES)
                lines += touched
                narrow += touched * _narrowness(operand, row * rows, threads)
    return _Tiles(total, answered, lines, narrow)


def _dram_bytes(loop: DotLoop, slots: int) -> float:
    """Bytes from memory where nothing stays in the L2 from one wave of concurrent programs to the next.

    A wave that covers r rows and c columns of tiles reads r strips of A and c of B, so grouped (square) waves read
    least and waves along a row or column most. Programs beyond ``grid_m * grid_n`` are other matrices, or other parts
    of K.
    """
    traffic = loop.unique_bytes
    if loop.grid_m and loop.grid_n:
        tiles = loop.grid_m * loop.grid_n
        covered = min(slots, tiles)
        fast, slow = (loop.grid_m, loop.grid_n) if loop.rows_first else (loop.grid_n, loop.grid_m)
        side = math.sqrt(covered) if loop.grouped else min(covered, fast)
        along, across = min(fast, side), min(slow, covered / side)
        rows, columns = (along, across) if loop.rows_first else (across, along)
        m, n = loop.steps[0].m, loop.steps[0].n
        matrix = loop.unique_bytes * tiles / max(tiles, loop.programs)
        wave = matrix * (rows * m + columns * n) / (loop.grid_m * m + loop.grid_n * n)
        traffic = max(traffic, wave * loop.programs / covered)
    return min(traffic, max(loop.loaded_bytes, loop.unique_bytes)) + loop.epilogue_bytes
