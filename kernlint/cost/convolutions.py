"""What a convolution of torch's takes: cuDNN's share of the peak by dimensions, direction and channels, and its passes over memory.

Fitted by ``calibration/fit_convs.py`` to ``h200-convs.csv`` and the convolutions of ``h100-torch-ops*.csv``. Images without a memory format
of their own are laid out channels last before and back after, by kernels of their own; filters of one channel run on the FMA units.
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
_MEASURED_GB_PER_S, _ASKED = 4800.0, 1.1
#: The same of laying all images out anew: each is read and written once more.
_LAID_OUT = 2.0
#: Peaks of that card for halves and tf32, in 10^12 operations a second, and the share of its own peak that any card reaches at best. This,
#: and what an older card takes as it lies, are from an RTX 4090's times (rows of ``benchmarks/judge_worth.py``): none was measured.
_MEASURED_PEAKS, _BEST = {True: 989.4, False: 494.7}, 0.9


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
    def as_it_lies(self) -> bool:
        """Older cards have kernels that read its images channel by channel: without groups, up to two dimensions, of whole vectors."""
        return not self.transposed and self.dims < 3 and self.groups == 1 and self.inner % 4 == self.outer % 4 == 0

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
    What was measured is the speed of L2 and SMs, ``fabric`` times of which this card has; no more than its own peak and bandwidth."""
    own = size / (_MEASURED_GB_PER_S * fabric)
    memory = _ASKED * size / bandwidth / 1000
    if one.by_channel:
        return {"tensor": flops / (vector * rates[f"channel_{one.side}"] * 1e6), "memory": memory}
    side, widest = rates[f"share_{one.side}"], rates["share_forth_2"]
    share = min(1.0, one.outer / _WIDE) ** rates["outer"]
    share *= rates["grouped"] if one.groups > 1 else 1.0
    share *= rates["strided_back"] if one.transposed and one.strided else 1.0
    share *= rates["dilated_back"] if one.transposed and one.dilated else 1.0
    share *= rates["dilated_forth"] if one.dilated and not one.transposed and not one.strided else 1.0
    fed = _MEASURED_PEAKS[one.half] * fabric * side * min(1.0, one.inner / _WIDE) ** rates["inner"]
    tensor = math.hypot(flops / (fed * share), flops / (peak * _BEST * min(1.0, side / widest) * share)) / 1e6
    if one.taps == 1:
        return {"tensor": tensor, "memory": max(own * rates["pointwise_passes"] / 1000, memory)}
    laid_out = max(own * rates[f"passes_{one.dims}"], 0.0 if one.as_it_lies else _LAID_OUT * size / bandwidth) / 1000
    return {"tensor": tensor, "memory": memory, "layout": laid_out}


def floor_us(one: Convolution, rates: Mapping[str, float]) -> float:
    return rates["pointwise_floor_us"] if one.taps == 1 else rates["floor_us"]


def together(floor: float, terms: Mapping[str, float]) -> float:
    """The work and the memory of a kernel overlap in part; images are laid out by others."""
    return floor + terms.get("layout", 0.0) + math.hypot(terms["tensor"], terms["memory"])


@lru_cache(maxsize=1)
def rates() -> tuple[Mapping[str, float], float]:
    """The fitted constants, and sigma of the logarithm."""
    data = fitted("convolutions")
    return data["rates"], data["sigma"]
