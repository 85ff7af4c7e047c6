"""How a device compares with the one that the constants come from."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernlint.cost.device import Device, find_device


class Scale:
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
