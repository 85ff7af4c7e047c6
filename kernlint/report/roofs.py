"""What a device can do at most: the lines of a roofline plot."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.cost.device import Device
from kernlint.cost.programs.constants import constants
from kernlint.records import dataclass
from kernlint.report.operations import FMA
from kernlint.verdict.published import Published


@dataclass(frozen=True)
class Roof(Published):
    """A limit: ``kind`` is bandwidth (``value`` in bytes per second) or peak (operations per second, a multiply-add
    counted as two). ``source`` says where the number is from."""

    name: str
    kind: str
    value: float
    source: str


def roofs(device: Device, units: Iterable[str]) -> tuple[Roof, ...]:
    """The roofs of ``device``: memory, L2 where it was measured, the FMA units, and the tensor cores by each of
    ``units`` that they take (fp16 where none of them is: it is the yardstick everybody knows)."""
    sheet = "data sheet"
    found = [Roof("memory", "bandwidth", device.memory_bandwidth_gb_per_s * 1e9, sheet)]
    if device.measured:
        found.append(Roof("L2", "bandwidth", constants().l2_read_gb_per_s * 1e9, "fitted to measurements"))
    peaks = {
        "float16": device.peak_fp16_tensor_dense_fp32acc_tflops,
        "bfloat16": device.peak_bf16_tensor_dense_fp32acc_tflops,
        "tf32": device.peak_tf32_tensor_dense_tflops,
        "fp8": device.peak_fp8_tensor_dense_fp32acc_tflops,
        "int8": device.peak_int8_tensor_dense_tops,
    }
    wanted = sorted(unit for unit in set(units) if unit != FMA and peaks.get(unit)) or ["float16"]
    for unit in wanted:
        peak = peaks[unit]
        if peak:
            found.append(Roof(f"tensor cores, {unit}", "peak", peak * 1e12, sheet))
    found.append(Roof("FMA, fp32", "peak", device.peak_fp32_vector_tflops * 1e12, sheet))
    return tuple(found)
