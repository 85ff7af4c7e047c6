"""What a convolution of torch's takes: cuDNN's share of the peak by dimensions, direction and channels, and its passes over memory.

Fitted by ``calibration/fit_convs.py`` to ``h200-convs.csv`` and the convolutions of ``h100-torch-ops*.csv``. Without a memory format of its
own cuDNN lays images out channels last and back, so that bytes count several times; filters of one channel run on the FMA units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from kernlint.cost.fitted import fitted
from kernlint.records import dataclass
from kernlint.workload import TorchOp, concrete

#: Channels from which on more of them do not make tensor cores busier.
_WIDE = 64
#: Bandwidth of the card that the passes were measured on, and bytes that device memory is asked for at least over those of the tensors.
_MEASURED_GB_PER_S, _ASKED, _LAID_OUT = 4800.0, 1.1, 1.5
#: Peaks of that card for halves and tf32, in 10^12 operations a second.
_MEASURED_PEAKS = {True: 989.4, False: 494.7}
#: How far, in the logarithm, the measured rates follow the peak of a card rather than the speed of its SMs, and the share of its own
#: peak that any card reaches at best. Chosen on the RTX 4090's times of sixteen convolutions (rows of ``benchmarks/llm_times.py``), as no
#: other card was measured.
_BY_PEAK, _BEST = 0.7, 0.6


@dataclass(frozen=True)
class Convolution:
    """``inner`` channels that an element of the result is made of, ``outer`` that share what is read; both of one group."""

    dims: int
    transposed: bool
    inner: int
    outer: int
    groups: int
    taps: int
    strided: bool
    dilated: bool
    half: bool

    @property
    def by_channel(self) -> bool:
        return self.groups > 1 and self.inner == 1

    @property
    def side(self) -> str:
        """The constants that it goes by: its direction and number of dimensions."""
        return f"{'back' if self.transposed else 'forth'}_{self.dims}"


def convolution_of(op: TorchOp) -> Convolution | None:
    """What ``op`` convolves; None where sizes are not known."""
    shapes = [[concrete(extent) for extent in tensor.shape or ()] for tensor in op.reads[:2]]
    if len(shapes) < 2 or None in shapes[1] or len(shapes[1]) < 3 or len(shapes[0]) != len(shapes[1]):
        return None
    first, second, *window = (extent or 1 for extent in shapes[1])
    transposed = "transpose" in op.name
    groups = op.dims.get("groups") or max(1, (shapes[0][1] or first) // second if not transposed else 1)
    inner, outer = (first // groups, second) if transposed else (second, first // groups)
    dtype = op.reads[0].dtype
    return Convolution(
        min(3, len(window)), transposed, max(1, inner), max(1, outer), groups, math.prod(window),
        op.dims.get("stride", 1) > 1, op.dims.get("dilation", 1) > 1, dtype is not None and dtype.bits <= 16,
    )  # fmt: skip


def terms_of(
    one: Convolution,
    flops: float,
    size: float,
    peak: float,
    vector: float,
    bandwidth: float,
    rates: Mapping[str, float],
    fabric: float = 1.0,
) -> dict[str, float]:
    """Microseconds of ``flops`` over ``size`` bytes: ``peak`` and ``vector`` in 10^12 operations a second, ``bandwidth`` in GB/s.
    Passes over memory go through L2 and SMs, whose speed is ``fabric`` times that of the card they were measured on; device memory
    is asked for the bytes and, where images are laid out anew, for half of them again."""
    passes = rates["pointwise_passes"] if one.taps == 1 else rates[f"passes_{one.dims}"]
    if one.by_channel:
        share = rates[f"channel_{one.side}"] * (rates["channel_half"] if one.half else 1.0)
        passes = rates["channel_passes"]
        tensor = flops / (vector * share * 1e6)
    else:
        share = rates[f"share_{one.side}"]
        share *= min(1.0, one.inner / _WIDE) ** rates["inner"] * min(1.0, one.outer / _WIDE) ** rates["outer"]
        share *= rates["half"] if one.half else 1.0
        share *= rates["grouped"] if one.groups > 1 else 1.0
        share *= rates["odd"] if one.inner % 4 or one.outer % 4 else 1.0
        share *= rates["strided_back"] if one.transposed and one.strided else 1.0
        share *= rates["dilated_back"] if one.transposed and one.dilated else 1.0
        share *= rates["dilated_forth"] if one.dilated and not one.transposed and not one.strided else 1.0
        # Small shares are partly the SMs' doing, whatever tensor cores they have: what feeds these, or FMA units in their place.
        scale = fabric ** (1 - _BY_PEAK) * (peak / _MEASURED_PEAKS[one.half]) ** _BY_PEAK
        tensor = math.hypot(flops / (_MEASURED_PEAKS[one.half] * share * scale), flops / (peak * _BEST)) / 1e6
    least = _ASKED if one.taps == 1 or one.by_channel else _LAID_OUT
    memory = max(passes * size / (_MEASURED_GB_PER_S * fabric), least * size / bandwidth) / 1000
    return {"tensor": tensor, "memory": memory}


def floor_us(one: Convolution, rates: Mapping[str, float]) -> float:
    return rates["pointwise_floor_us"] if one.taps == 1 else rates["floor_us"]


def together(floor: float, terms: Mapping[str, float]) -> float:
    """The terms overlap in part."""
    return floor + math.hypot(*terms.values())


@lru_cache(maxsize=1)
def rates() -> tuple[Mapping[str, float], float]:
    """The fitted constants, and sigma of the logarithm."""
    data = fitted("convolutions")
    return data["rates"], data["sigma"]
