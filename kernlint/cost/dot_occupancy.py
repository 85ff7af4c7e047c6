"""How many programs of a loop of dots share an SM: shared memory, registers and what spills out of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernlint.cost.dot_loop import DotLoop, DotStep
from kernlint.cost.dot_lowering import (
    LEAST_ASYNC_BYTES,
    convert_key,
    fed_class,
    instruction,
    is_exchanged,
    is_synchronous,
    needs_k_major,
    overlaps,
    shuffle_key,
)

if TYPE_CHECKING:
    from kernlint.cost.device import Device

#: Shared memory that the runtime keeps for itself per program, bytes.
_SMEM_RESERVED = 1024
#: Registers are known to about a twelfth: what misses the next program by less is taken to fit.
_REGISTER_SLACK = 0.92
#: Registers of a thread beside accumulators, operands and addresses: constants and counters.
_BASE_REGISTERS = 25


def shared_bytes(loop: DotLoop, device: Device) -> float:
    """Shared memory of one program, bytes.

    A pipelined loop keeps ``num_stages`` copies of each tile that wgmma reads as it lies, which still reads the oldest
    while the next is loaded, and ``num_stages - 1`` of any other. Beside them stand tiles that are written back after a
    cast or a transposition. Where registers change hands (a computed operand; casts without pipelining; the result on
    its way to memory) a scratch buffer serves, which shares its place with tiles that are not alive then.
    """
    tiles = kept = 0.0
    scratch = [0.0]
    together = overlaps(loop, device)
    for step in loop.steps:
        if not together:  # what one dot has read makes room for the next
            scratch.append(tiles)
            tiles = 0.0
        path = instruction(step, loop.num_warps, device)
        fed = fed_class(step.a, step.precision)
        scratch.append(min(step.m * step.n * step.out.bytes, loop.epilogue_bytes / max(1, loop.programs)))
        operands = ((step.a, step.m * step.k, False), (step.b, step.k * step.n, path == "wgmma"))
        for operand, elements, stored in operands:
            written = elements * operand.dtype.bytes
            if operand.again:
                tiles += written if operand.turned and needs_k_major(fed, path) else 0.0
                continue
            transposed = shuffle_key(operand, fed, path)
            cast = convert_key(operand, path, device) != "none"
            if operand.k_major is None and not stored:
                kept += written if is_exchanged(loop, step, device) else 0.0
            elif not operand.reload:
                tiles += written
            elif together and not is_synchronous(operand, transposed):
                direct = path == "wgmma" and not cast and not transposed.startswith("wgmma")
                copies = max(1, loop.num_stages if direct else loop.num_stages - 1)
                tiles += copies * elements * operand.memory_dtype.bytes
                tiles += written if (stored and not direct) or (cast and path == "fma") else 0.0
            elif cast and not stored:
                scratch.append(elements * operand.memory_dtype.bytes)
            else:
                tiles += written
    return max(tiles + kept if together else max(tiles, kept), *scratch)


def _accumulators_per_thread(loop: DotLoop, device: Device) -> float:
    """32-bit results of all dots of an iteration, which are alive at a time, for each thread."""
    return sum(step.m * step.n for step in loop.steps) / (device.warp_size_threads * loop.num_warps)


def _copied_registers(loop: DotLoop, device: Device) -> tuple[float, float]:
    """Registers of a thread that a copy of the loop's tiles would fill, and those of elements that come one by one.

    Without pipelining tiles wait in registers for shared memory: an element that is loaded by itself then takes one,
    and two for its address.
    """
    copied = alone = 0.0
    for step in loop.steps:
        for operand, elements in ((step.a, step.m * step.k), (step.b, step.n * step.k)):
            if operand.reload and not operand.again:
                copied += elements * operand.memory_dtype.bytes / 4
                alone += 3 * elements if operand.vector_bytes < LEAST_ASYNC_BYTES else 0
    threads = device.warp_size_threads * loop.num_warps
    return copied / threads, alone / threads


def registers_per_thread(loop: DotLoop, device: Device) -> float:
    """32-bit registers that a thread asks for; what exceeds the device's limit is spilled or done without.

    The factors are those of the compiler's own counts, ``regs`` of ``calibration/facts/h100-gemm-2.csv``, which they
    meet to about a dozen registers: addresses of the copies take half of what they copy, mma.sync and FMA hold operands
    beside half of the accumulators, wgmma holds what is cast or computed.
    """
    copied, alone = _copied_registers(loop, device)
    total = _BASE_REGISTERS + 5 * loop.masked + 0.5 * copied + alone
    threads = device.warp_size_threads * loop.num_warps
    for step in loop.steps:
        path = instruction(step, loop.num_warps, device)
        total += step.m * step.n / threads * (1.0 if path == "wgmma" else 1.5)
        if path == "wgmma":
            for operand, elements in ((step.a, step.m * step.k), (step.b, step.n * step.k)):
                computed = operand.k_major is None or convert_key(operand, path, device) != "none"
                computed = computed and not operand.again
                total += elements * operand.dtype.bytes / 4 / threads if computed else 0.0
    return total


def spilled_bytes(loop: DotLoop, device: Device) -> float:
    """Bytes that a program's threads move to local memory and back in an iteration.

    Accumulators that do not fit beside the base registers are written and read around each dot, all of them: the
    compiler reports 2.3 KB a thread for 256 accumulators and none for 128. Of tiles that wait in registers what is too
    much.
    """
    threads = device.warp_size_threads * loop.num_warps
    limit = min(device.max_registers_per_thread, device.registers_32bit_per_sm / threads)
    accumulators = _accumulators_per_thread(loop, device)
    copied, alone = _copied_registers(loop, device)
    staged = 0.0 if overlaps(loop, device) else max(copied, alone)
    spilled = max(0.0, accumulators + staged + _BASE_REGISTERS - limit)
    if accumulators + _BASE_REGISTERS > limit:
        spilled += min(accumulators, limit)
    # Of several products in a turn, what is read for one has its place in registers when the next one's turn comes (``held``, "second").
    moved = (_swept_accumulators(loop, device) + _operands_in_memory(loop, device)) / len(loop.steps)
    return 8 * (spilled + moved) * threads


#: Accumulators of a thread from which the FMA units' operands leave no room for them, and how often each then goes to memory and back
#: for a step of k, once for all and once more where they live on in a loop (``small_products``, 128 x 128 by 4 warps).
_MOST_FMA_ACCUMULATORS = 100
_SWEEPS = 0.38


def _swept_accumulators(loop: DotLoop, device: Device) -> float:
    """Accumulators of a thread that an iteration moves to memory and back, where dots on the FMA units keep too many: each step along k
    sweeps over all of them."""
    swept = 0.0
    for step in loop.steps:
        accumulators = step.m * step.n / (device.warp_size_threads * loop.num_warps)
        if instruction(step, loop.num_warps, device) == "fma" and accumulators > _MOST_FMA_ACCUMULATORS:
            swept += accumulators * step.k * _SWEEPS * (1.0 if loop.iterations <= 1 else 2.0)
    return swept


#: Words that a thread moves for a multiplication whose operands ptxas keeps in memory, past L1 where more than one warp does; what it
#: needs of both operands from which it does, and of one that was cast (``held``, ``scored``).
_WORDS_A_PRODUCT, _OF_ONE_WARP = 2.0, 0.5
_MOST_OPERANDS, _MOST_CAST = 1024, 512


def _operands_in_memory(loop: DotLoop, device: Device) -> float:
    """Words of a thread that an iteration moves to memory and back, where an operand of a dot on the FMA units stays over the loop: all
    that a thread needs of it along k is loaded before, and where it does not fit beside the other, each product reads memory."""
    words, each = 0.0, _WORDS_A_PRODUCT if loop.num_warps > 1 else _OF_ONE_WARP
    for step in loop.steps:
        stays = [operand for operand in (step.a, step.b) if not operand.reload]
        if loop.iterations <= 1 or not stays or instruction(step, loop.num_warps, device) != "fma":
            continue
        rows, columns = _of_a_thread(step, device.warp_size_threads * loop.num_warps)
        crowded = rows * columns >= _BLOCK**2 and (rows + columns) * step.k >= _MOST_OPERANDS
        cast = step.a in stays and step.a.memory_dtype != step.a.dtype and rows * step.k >= _MOST_CAST
        words += rows * columns * step.k * each if crowded or cast else 0.0
    return words


#: The side of the block of results that a thread makes at a time, of many.
_BLOCK = 4


def _of_a_thread(step: DotStep, threads: int) -> tuple[float, float]:
    """Rows and columns of the result of ``step`` that a thread makes, dealt out in square blocks along n first."""
    each = step.m * step.n / threads
    side = _BLOCK if each >= _BLOCK**2 else 2 if each >= 4 else 1
    across = min(threads, max(1, step.n // side))
    columns = max(float(side), step.n / across)
    return max(1.0, each / columns), columns


def resident_programs(loop: DotLoop, device: Device) -> int:
    """Programs that fit on one SM at a time, at least one: shared memory, registers, warps and block slots."""
    shared = shared_bytes(loop, device) + _SMEM_RESERVED
    registers = min(device.max_registers_per_thread, registers_per_thread(loop, device) * _REGISTER_SLACK)
    limits = [
        device.shared_memory_bytes_per_sm / shared,
        device.registers_32bit_per_sm / (registers * device.warp_size_threads * loop.num_warps),
        device.max_warps_per_sm / loop.num_warps,
        float(device.max_blocks_per_sm or 32),
    ]
    return max(1, math.floor(min(limits)))
