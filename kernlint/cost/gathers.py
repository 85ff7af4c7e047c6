"""The price of operands that a dot loop gathers element by element, as an implicit-GEMM convolution does.

The dot model knows operands that lie in memory with fixed strides. Where an operand's address is no affine function of
the tile (divisions and remainders of both axes, loaded indices), each element has its own address: its index arithmetic,
bounds and scalar load occupy the SM's lanes, on top of what the dot model prices. One fitted constant, cycles of an SM per
gathered element, from the ``implicit_gemm_conv`` rows of ``h100-micro-2.csv`` (``calibration/fit_gathers.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kernlint.cost.device import Device
from kernlint.cost.fitted import fitted
from kernlint.cost.traffic.model import Traffic
from kernlint.records import dataclass
from kernlint.workload import Expr, Lane, Launch, Load, Opaque, Operand


@dataclass(frozen=True)
class GatherConstants:
    """``cycles_per_element`` of one SM, and the residual ``sigma`` of ln(measured / predicted) of kernels with a gather;
    ``broken_cycles`` of an element whose neighbours the compiler cannot tell to be neighbours."""

    cycles_per_element: float
    sigma: float
    broken_cycles: float = 0.0


@lru_cache(maxsize=1)
def constants() -> GatherConstants:
    data = fitted("gathers")
    return GatherConstants(data["cycles_per_element"], data["sigma"], data["broken_cycles"])


def gathered_cycles(
    launch: Launch, moved: Traffic, priced: GatherConstants, operands: Sequence[Operand] | None = None
) -> float:
    """Cycles that each program of ``launch`` takes to gather for its dots, or for ``operands`` of these, in one run; 0 where operands
    have fixed strides."""
    if operands is None:
        operands = [operand for dot in launch.kernel.dots() for operand in (dot.a, dot.b)]
    feeding = {id for operand in operands if operand.direct for id in operand.loads}
    total = 0.0
    for access in moved.accesses:
        load = access.access
        if isinstance(load, Load) and load.id in feeding:
            each = priced.cycles_per_element if _is_gather(load) else priced.broken_cycles if _is_broken(load) else 0.0
            total += load.elements * access.executions * each
    return total


def gather_us(cycles: float, programs: int, device: Device) -> float:
    """Microseconds that ``cycles`` of gathering per program add, its programs spread over the SMs."""
    busy = max(1, min(programs, device.sm_count))
    return cycles * programs / busy / device.boost_clock_mhz


#: Bytes from which an element can be copied by itself without waiting for it in a register.
_COPIED = 4
#: A divisor that is a multiple of this leaves the compiler whole runs of neighbours.
_RUN = 16


def _is_broken(load: Load) -> bool:
    """Whether short elements that are neighbours cannot be told to be: their index is divided by a number that is no multiple of 16
    (the width of an image, as in a convolution by taps)."""
    if load.offset is None or load.dtype.bytes >= _COPIED:
        return False
    if any(_is_one(load.offset.coefficient(Lane(dim))) for dim in range(len(load.shape))):
        return False  # the other axis has the neighbours
    return any(
        isinstance(atom, Opaque) and atom.op in ("floordiv", "mod") and len(atom.args) == 2
        and any(isinstance(inner, Lane) for inner in atom.args[0].atoms())
        and (atom.args[1].value is None or int(atom.args[1].value) % _RUN != 0)
        for atom in load.offset.atoms()
    )  # fmt: skip


def _is_one(step: Expr | None) -> bool:
    return step is not None and step.value == 1


def _is_gather(load: Load) -> bool:
    """Whether the address is divided up along every axis of the tile (``i % M`` along one axis alone only wraps it)."""
    axes = {dim for dim, extent in enumerate(load.shape) if extent > 1}
    if load.offset is None:
        return bool(axes)
    divided = {
        inner.dim
        for atom in load.offset.atoms()
        if isinstance(atom, Opaque)
        for arg in atom.args
        for inner in arg.atoms()
        if isinstance(inner, Lane)
    }
    return len(axes) > 1 and axes <= divided
