"""Time of a loop around ``tl.dot``: a GEMM, an attention inner loop, a batch of small products, a recurrence.

One iteration of one program is work for five units of a streaming multiprocessor (SM): tensor cores, shared memory,
the port to the L2 cache, the issue slots (casts, byte shuffles, masks, fp32 FMA, softmax arithmetic) and waiting. A
program alone runs them one after the other, a chain with the latency of memory divided by the pipeline's depth; several
resident programs hide each other's waits until the busiest unit is full. Both meet in a p-norm that leaves one program
with its latency alone:

    step(r) = ( latency**q + (r * throughput)**q - throughput**q ) ** (1/q)       cycles, r programs on an SM

The grid runs in waves of ``sm_count * resident`` programs; where trip counts vary, the longest program ends alone.

:mod:`~kernlint.cost.dot_loop` is the input; :mod:`~kernlint.cost.dot_lowering`, :mod:`~kernlint.cost.dot_occupancy` and
:mod:`~kernlint.cost.dot_counts` are what is known of the compiler and the hardware, without a fitted constant;
:mod:`~kernlint.cost.dot_model` is the formula, and this module the answer with its error.
The constants are in ``data/h100-dots.json``, written by ``calibration/fit_dots.py`` with the residuals that make
``KernelTime.sigma`` and :func:`ratio_sigma`.

Not modelled: split-K reduction (give it as epilogue and a second kernel), TMA descriptors, warp specialisation.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernlint.cost.dot_counts import count_loop, count_step
from kernlint.cost.dot_loop import DotLoop, DotStep
from kernlint.cost.dot_lowering import (
    convert_key,
    fed_class,
    has_wgmma,
    instruction,
    memory_class,
    overlaps,
    shuffle_key,
)
from kernlint.cost.dot_model import Constants, StepCycles, cycles_of_step, terms_of_loop
from kernlint.cost.dot_occupancy import spilled_bytes
from kernlint.cost.fitted import fitted
from kernlint.cost.result import KernelTime

if TYPE_CHECKING:
    from kernlint.cost.device import Device

#: Columns of the largest instruction.
_WIDEST_WGMMA = 256


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return fitted("h100-dots")


@lru_cache(maxsize=1)
def constants() -> Constants:
    """The fitted constants of ``data/h100-dots.json``."""
    table = _data()["constants"]
    return Constants(**{field.name: table[field.name] for field in fields(Constants)})


def residual_key(loop: DotLoop, device: Device) -> str:
    """Name of the group of measurements that a loop belongs to.

    That is the types in memory and as fed, B's layout, the instruction and whether loads overlap, of the dot with the
    most work (``int8->tf32.N.wgmma.pipelined``); ``chained.`` in front where an operand is computed in registers. The
    widest wgmma has groups of its own (``wgmma256``) where asynchronous copies of K-major operands feed it: that takes
    longer than what they move explains, and only there does telling it apart make rows that no fit had seen more exact.
    """
    step = max(loop.steps, key=lambda step: step.m * step.n * step.k)
    layout = "N" if step.b.k_major is False else "K"
    regime = "pipelined" if overlaps(loop, device) else "unpipelined"
    cast = f"{memory_class(step.b.memory_dtype)}->{fed_class(step.b, step.precision)}"
    prefix = "chained." if is_chained(loop) else ""
    path = instruction(step, loop.num_warps, device)
    if path == "wgmma" and step.n >= _WIDEST_WGMMA and (layout, regime) == ("K", "pipelined"):
        path += str(_WIDEST_WGMMA)
    return f"{prefix}{cast}.{layout}.{path}.{regime}"


def is_chained(loop: DotLoop) -> bool:
    """True where a dot takes the result of another as its operand, as in attention and recurrences."""
    return any(operand.k_major is None and not operand.reload for step in loop.steps for operand in (step.a, step.b))


def _residuals() -> dict[str, Any]:
    residuals: dict[str, Any] = _data()["residuals"]
    return residuals


def _bias(loop: DotLoop, device: Device) -> float:
    """Mean ln(predicted / measured) of the loop's group, which the physics leaves over; 0 where nothing like it ran."""
    if not has_wgmma(device):
        return 0.0
    bias: float = _residuals()["bias"].get(residual_key(loop, device), 0.0)
    return bias


def _unmeasured_lowering(step: DotStep, num_warps: int, device: Device) -> bool:
    """True for a cast, a layout of A, a precision or a computed operand that no measured row has."""
    path = instruction(step, num_warps, device)
    fed = fed_class(step.a, step.precision)
    cast = convert_key(step.a, path, device).endswith("other") or convert_key(step.b, path, device).endswith("other")
    transposed_a = shuffle_key(step.a, fed, path) != "none"
    computed = any(operand.k_major is None and operand.reload for operand in (step.a, step.b))
    return cast or transposed_a or computed or step.precision == "tf32x3"


def deviations(loop: DotLoop, device: Device) -> set[str]:
    """What sets the loop apart from the bulk of the measured rows: names of ``widening`` in the data file."""
    steps, warps = loop.steps, loop.num_warps
    found = {
        "spills": spilled_bytes(loop, device) > 0,
        "few_warps": warps < 4,
        "unaligned": any(o.vector_bytes < 16 for s in steps for o in (s.a, s.b)),
        "elementwise": not is_chained(loop)
        and loop.extra_alu_elements_per_iteration + loop.special_elements_per_iteration > 0,
        "lowering": warps > 8 or any(_unmeasured_lowering(step, warps, device) for step in steps),
        "beyond_l2": loop.unique_bytes + loop.epilogue_bytes > 2 * device.l2_cache_mb * 2**20,
    }
    return {name for name, present in found.items() if present}


def _sigma(loop: DotLoop, device: Device) -> float:
    """Standard deviation of ln(measured / predicted).

    The cross-validated residual of the loop's group, widened in quadrature for each of :func:`deviations` and for
    another device.
    """
    sigma, widening = _residuals()["sigma"], _data()["widening"]
    own = sigma.get(residual_key(loop, device), sigma["chained" if is_chained(loop) else "all"])
    own = max(own, device.residuals.get("attention" if is_chained(loop) else "dot", 0.0))
    extra = [widening["device"][device.kinship], *(widening[name] for name in deviations(loop, device))]
    return math.sqrt(own**2 + sum(value**2 for value in extra))


# -- errors of ratios --------------------------------------------------------------------------------------------------


def aspects(loop: DotLoop) -> dict[str, Hashable]:
    """What a change of one kernel may change of its loop, by kind of change.

    ``dtype`` is the type fed to the dot, ``storage`` the one in memory, ``precision`` whether the FMA units compute it.
    """
    operands = [operand for step in loop.steps for operand in (step.a, step.b)]
    tiles = loop.grid_m * loop.grid_n
    return {
        "dtype": tuple(memory_class(operand.dtype) for operand in operands),
        "storage": tuple(memory_class(operand.memory_dtype) for operand in operands),
        "precision": tuple(fed_class(step.a, step.precision) == "float32" for step in loop.steps),
        "layout": tuple(operand.k_major for operand in operands),
        "tile": tuple((step.m, step.n, step.k) for step in loop.steps),
        "warps": loop.num_warps,
        "stages": loop.num_stages if loop.pipelined else 1,
        "order": loop.grouped,
        "masks": loop.masked,
        "split": loop.programs // tiles if tiles else 1,
    }


def changes(before: DotLoop, after: DotLoop) -> tuple[str, ...]:
    """Sorted kinds of change between two loops of one problem: names of :func:`aspects`."""
    old, new = aspects(before), aspects(after)
    found = {name for name in old if old[name] != new[name]}
    if old["tile"] == new["tile"] and before.programs != after.programs:
        # Where the grid does not say which of its programs share a tile of the output, their number does.
        found.add("split")
    return tuple(sorted(found))


def ratio_sigma(before: DotLoop, after: DotLoop, device: Device) -> float:
    """Standard deviation of the ln error of ``dot_time(before).us / dot_time(after).us``, two kernels of one problem.

    Measured for each kind of change, and for kinds together, on pairs of rows that no fit had seen. A combination that
    few rows make takes its parts in quadrature. Two loops that differ in their dots (a fusion) err independently. What
    widens one of the times and not the other widens the ratio; what widens both, another device above all, by
    ``ratio_share`` of it.
    """
    data = _data()
    if len(before.steps) != len(after.steps) or is_chained(before) != is_chained(after):
        return math.hypot(_sigma(before, device), _sigma(after, device))
    kinds = changes(before, after)
    table = _residuals()["ratios"]["chained" if is_chained(before) else "single"]
    if "+".join(kinds) in table:
        variance = table["+".join(kinds)]["rms"] ** 2
    else:
        parts = sum(table[kind]["rms"] ** 2 if kind in table else table["all"]["rms"] ** 2 for kind in kinds)
        variance = min(parts, table["all"]["rms"] ** 2) if kinds else 0.0
    old, new = deviations(before, device), deviations(after, device)
    share = data["widening"]["ratio_share"]
    variance += sum(data["widening"][name] ** 2 for name in old ^ new)
    variance += sum((share * data["widening"][name]) ** 2 for name in old & new if kinds)
    variance += (share * data["widening"]["device"][device.kinship]) ** 2 if kinds else 0.0
    return math.sqrt(variance)


#: Names of the terms in ``KernelTime.terms`` that can bound a kernel.
_BOUNDS = ("tensor", "issue", "shared", "l2", "latency", "memory", "launch")


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
        cycles = cycles_of_step(count_step(loop, step, device), counts, fitted)
        total = cycles if total is None else total + cycles
    assert total is not None
    terms = terms_of_loop(total, counts, fitted)
    us = max(fitted.launch_us, terms.pop("us") * math.exp(-_bias(loop, device)))
    bound = max(_BOUNDS, key=lambda name: terms[name])
    return KernelTime(us=us, sigma=_sigma(loop, device), bound=bound, terms=terms)
