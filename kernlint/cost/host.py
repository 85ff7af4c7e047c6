"""Host microseconds of the steps of a call: Python, torch and Triton's launcher, before the device hears of it.

Constants: ``data/host.json``, written by ``calibration/fit_torch_ops.py`` from ``h100-overheads.json`` and the ``host_us``
column of ``h100-torch-ops.csv``; those not measured say so there. They belong to the host CPU, not to the GPU, so no
device scales them; another CPU easily differs by a factor of 1.5, which :func:`host_sigma` does not include.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kernlint.cost.fitted import fitted
from kernlint.workload import Event, HostSync, Launch, Step, TorchOp


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return fitted("host")


def host_time(step: Step) -> float:
    """Host microseconds to issue ``step`` once.

    A :class:`Launch` costs Triton's launcher (more when autotuned), a :class:`TorchOp` the median of its kind
    (once for each of its ``launches``), a
    :class:`HostSync` the wake-up after the device is done (the waiting itself is the device's time), a
    :class:`Repeat` one turn of the Python loop without its body.
    """
    data = _data()
    if isinstance(step, Launch):
        return float(data["triton_launch_us"] + (data["autotune_us"] if step.autotuned else 0.0))
    if isinstance(step, TorchOp):
        return float(data["torch_us"].get(step.kind, data["torch_us"]["unknown"]) * step.dims.get("launches", 1))
    if isinstance(step, HostSync):
        return float(data["sync_us"])
    if isinstance(step, Event):
        events = data["events"]
        return float(next((us for word, us in events.items() if word in step.what.lower()), data["event_us"]))
    return float(data["loop_iteration_us"])


def host_sigma() -> float:
    """Standard deviation of ln(measured / predicted) of host times, from the spread within a kind of torch op."""
    return float(_data()["sigma"])


def sync_bubble_us() -> float:
    """Microseconds the device idles after a host sync: the host wakes up and has nothing queued."""
    return float(_data()["sync_us"])
