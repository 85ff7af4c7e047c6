"""The table that ``--device list`` prints."""

from __future__ import annotations

from kernlint.cost.device import Device, devices

_HEAD = ("device", "name", "arch", "SMs", "GB/s", "fp16", "int8", "fp8", "basis")


def render() -> str:
    """All devices as aligned columns: peaks are dense, 10^12 operations per second, fp32 (or int32) accumulate."""
    rows = [_HEAD, *(_row(device) for device in devices())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    notes = [
        "",
        "fp16, int8, fp8: dense tensor-core peak, 10^12 operations per second.",
        "basis: whether the cost model's constants were measured on this device, or how they are scaled to it.",
    ]
    return "\n".join([*lines, *notes]) + "\n"


def _row(device: Device) -> tuple[str, ...]:
    peaks = (
        device.peak_fp16_tensor_dense_fp32acc_tflops,
        device.peak_int8_tensor_dense_tops,
        device.peak_fp8_tensor_dense_fp32acc_tflops,
    )
    return (
        device.id,
        device.name,
        device.architecture,
        str(device.sm_count),
        f"{device.memory_bandwidth_gb_per_s:.0f}",
        *("-" if peak is None else f"{peak:.0f}" for peak in peaks),
        "measured" if device.measured else f"scaled ({device.kinship})",
    )
