"""The price of operands that a dot loop gathers element by element, as an implicit-GEMM convolution does.

The dot model knows operands that lie in memory with fixed strides. Where an operand's address is no affine function of
the tile (divisions and remainders of both axes, loaded indices), each element has its own address: its index arithmetic,
bounds and scalar load occupy the SM's lanes, on top of what the dot model prices. One fitted constant, cycles of an SM per
gathered element, from the ``implicit_gemm_conv`` rows of ``h100-micro-2.csv`` (``calibration/fit_gathers.py``).
"""

from __future__ import annotations

from functools import lru_cache

from kernlint.cost.device import Device
from kernlint.cost.fitted import fitted
from kernlint.cost.traffic import Traffic
from kernlint.records import dataclass
from kernlint.workload import Lane, Launch, Load, Opaque


@dataclass(frozen=True)
class GatherConstants:
    """``cycles_per_element`` of one SM, and the residual ``sigma`` of ln(measured / predicted) of kernels with a gather."""

    cycles_per_element: float
    sigma: float


@lru_cache(maxsize=1)
def constants() -> GatherConstants:
    data = fitted("gathers")
    return GatherConstants(data["cycles_per_element"], data["sigma"])


def gathered_elements(launch: Launch, moved: Traffic) -> float:
    """Elements that each program of ``launch`` gathers for its dots in one run; 0 where operands have fixed strides."""
    feeding = {
        id for dot in launch.kernel.dots() for operand in (dot.a, dot.b) if operand.direct for id in operand.loads
    }
    total = 0.0
    for access in moved.accesses:
        load = access.access
        if isinstance(load, Load) and load.id in feeding and _is_gather(load):
            total += load.elements * access.executions
    return total


def gather_us(elements: float, programs: int, device: Device, cycles_per_element: float) -> float:
    """Microseconds that gathering ``elements`` per program adds, its programs spread over the SMs."""
    busy = max(1, min(programs, device.sm_count))
    return elements * programs / busy * cycles_per_element / device.boost_clock_mhz


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
