"""The physics of a loop of dots: counts in, microseconds out, with the fitted constants in between.

Nothing but operators, so that the fitting script runs the same code on whole columns. The formula is explained in
:mod:`kernlint.cost.dots`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernlint.cost.dot_counts import LoopCounts, StepCounts
from kernlint.records import dataclass


@dataclass(frozen=True)
class Constants:
    """Fitted numbers, all for cycles of the SM unless a unit is in the name. Tables are keyed by lowering path.

    tensor: cycles per cycle at the data sheet's peak, by instruction and fed type (``wgmma.float16``); ``native`` is
    mma.sync where it is the widest instruction there is.
    convert: issue cycles per 128 casts, by types.
    shuffle: issue cycles per 128 elements of an operand that has to be transposed through registers, at 64 columns;
    shuffle_growth: its growth with the columns, bank conflicts of the transposing store.
    step: barrier and wait cycles in a program's own chain, by instruction and regime (``mma.unpipelined``).
    instructions: issue cycles of an iteration for addresses, copies and barriers, likewise.
    solo: share of casts and FMA that one warp group alone on its SM stalls for in addition; a second one fills it.
    warps: growth of issue work with the warp groups that repeat it.
    mask: issue cycles of the predicates of 128 copies of 16 bytes. staged: what such copies cost beyond ``cp.async``
    where they pass through registers. spill: cycles per 128 bytes of local memory.
    alu, special: cycles per cycle at the data sheet's rate of arithmetic outside the dots; reductions are in ``alu``,
    and other warps hide exp.
    exchange: wait cycles of a computed operand that changes warps through shared memory.
    smem: cycles per 128 bytes of shared memory. load: cycles per 64 bytes from L2; load_grouped: its factor in grouped
    order; load_crowd: its growth when all SMs ask. line: cycles per cache line (128 bytes) that a tile's rows touch;
    narrow: its growth where a thread copies less than 16 bytes at a time. exposed: share of shared-memory and load
    cycles that a program's own chain waits for.
    fma_operands, fma_reuse: an ieee dot costs ``1 + fma_operands * (accumulators_per_thread + 1)**-fma_reuse`` FMA
    cycles, the rest being operand reads, by B's layout (``K`` or ``N``: rows along n are read four at a time).
    memory: latency of a load that hits L2; memory_crowd: its growth when all SMs ask; memory_miss: what a miss adds;
    l2_share: the part of L2 that keeps data warm (each half of an H100's L2 copies lines of the other), l2_edge how
    sharply it ends.
    fill: cycles a program spends before and after its loop; first: tile loads that it waits for there; store: cycles
    per 64 bytes of epilogue. launch_us: the least time of a kernel in a graph.
    native: what ``exposed`` and ``overlap`` are where the compiler plans for mma.sync as the widest instruction.
    overlap, prefetch, hiding: exponents of the p-norms between units, between a program's chain and the memory latency
    that its stages cover, and between latency and throughput of several programs.
    """

    tensor: Mapping[str, float]
    convert: Mapping[str, float]
    shuffle: Mapping[str, float]
    shuffle_growth: Mapping[str, float]
    step: Mapping[str, float]
    instructions: Mapping[str, float]
    solo: Mapping[str, float]
    native: Mapping[str, float]
    fma_operands: Mapping[str, float]
    fma_reuse: float
    warps: float
    mask: float
    staged: float
    spill: float
    alu: float
    special: float
    exchange: float
    smem: float
    load: float
    load_grouped: float
    load_crowd: float
    line: float
    narrow: float
    exposed: float
    memory: float
    memory_crowd: float
    memory_miss: float
    l2_share: float
    l2_edge: float
    fill: float
    first: float
    store: float
    launch_us: float
    overlap: float
    prefetch: float
    hiding: float


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
    operands = c.fma_operands[counts.fma_key] * (counts.accumulators_per_thread + 1) ** (-c.fma_reuse)
    fma = counts.fma_cycles + counts.operand_cycles * operands
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
    arithmetic = fma + convert * repeat + counts.work_cycles
    return StepCycles(
        tensor=counts.tensor_cycles * c.tensor[counts.tensor_key],
        issue=arithmetic + shuffle + c.instructions[counts.step_key] * repeat,
        smem=counts.smem_cycles * c.smem,
        wait=c.step[counts.step_key] + c.exchange * counts.exchanges,
        stall=arithmetic * c.solo[counts.step_key],
        synchronous=counts.synchronous,
    )


def terms_of_loop(cycles: StepCycles, loop: LoopCounts, constants: Constants) -> dict[str, Any]:
    """Microseconds of the kernel (``us``) and of each term alone. Floats, or columns in the fit."""
    c = constants
    overlap = c.overlap + loop.native * (c.native["overlap"] - c.overlap)
    exposed = c.exposed + loop.native * (c.native["exposed"] - c.exposed)
    lines = (loop.load_lines + c.narrow * loop.narrow_lines) * c.line
    load = ((loop.load_cycles * c.load) ** overlap + lines**overlap) ** (1 / overlap)
    copies = c.mask * loop.mask_cycles + c.staged * loop.staged_cycles
    elementwise = c.alu * loop.alu_cycles + loop.scarce_cycles + c.special * loop.special_cycles
    issue = cycles.issue + copies + elementwise + c.spill * loop.spill_cycles
    filled = (loop.l2_fill / c.l2_share) ** c.l2_edge
    missed = filled / (1 + filled)
    memory = c.memory + c.memory_crowd * loop.active + c.memory_miss * missed
    load = load * c.load_grouped**loop.grouped * (1 + c.load_crowd * loop.active)
    dram_us = loop.dram_us * missed
    units = cycles.tensor**overlap + issue**overlap + cycles.smem**overlap + load**overlap
    throughput = units ** (1 / overlap)
    own = loop.idle_quarters * (cycles.tensor + issue) + cycles.stall / loop.warp_groups**2
    chain = cycles.wait + own + exposed * (cycles.smem + load)
    overlapped = (1 - cycles.synchronous) * loop.pipelined
    hidden = (chain**c.prefetch + ((memory + load) / loop.depth) ** c.prefetch) ** (1 / c.prefetch)
    refilled = loop.refills * (memory + load)
    latency = overlapped * (hidden + refilled) + (1 - overlapped) * (chain + memory)

    def step(resident: Any) -> Any:
        others = (resident * throughput) ** c.hiding - throughput**c.hiding
        return (latency**c.hiding + others) ** (1 / c.hiding)

    waves = loop.full_waves + loop.tail
    looped = loop.iterations * (loop.full_waves * step(loop.resident) + loop.tail * step(loop.tail_resident))
    looped = looped + loop.excess_iterations * step(1.0)
    programs = loop.full_waves * loop.resident + loop.tail * loop.tail_resident
    busy = loop.iterations * programs
    # The tiles of a pipeline are on their way before the first turn; without one each turn waits for its own.
    ahead = 1 + loop.pipelined * (c.first - 1)
    edges = waves * (c.fill + memory + ahead * load) + programs * (
        loop.epilogue_cycles * c.store + loop.edge_work_cycles
    )
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
