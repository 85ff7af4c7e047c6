"""Host microseconds of the steps of a call: Python, torch and Triton's launcher, before the device hears of it.

Constants: ``data/host.json``, written by ``calibration/fit_host.py`` from eager loops on two machines. They belong to the host's
CPU, not to the GPU, so no device scales them. One machine took up to 1.6 times as long some minutes later: :func:`host_sigma` holds
that, and what is decided between two versions on one host (:mod:`kernlint.cost.comparing`) does not need it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kernlint.cost.fitted import fitted
from kernlint.workload import HostSync, Launch, Step, Tensor, TorchOp


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return fitted("host")


def host_time(step: Step) -> float:
    """Host microseconds to issue ``step`` once.

    A :class:`Launch` costs Triton's launcher, which looks at each argument, and a tuner's look-up, a :class:`TorchOp` what
    calls of its name or else of its kind take (once for each of its ``launches``), a
    :class:`HostSync` the wake-up after the device is done (the waiting itself is the device's time), a
    :class:`Repeat` one turn of the Python loop without its body.
    """
    data = _data()
    if isinstance(step, Launch):
        arguments = len(step.arguments) + len(step.constexprs)
        tuner = data["autotune_us"] if step.autotuned else 0.0
        parts = [value for value in step.arguments.values() if isinstance(value, Tensor) and _is_part(value)]
        return float(data["triton_launch_us"] + data["argument_us"] * arguments + tuner + data["view_us"] * len(parts))
    if isinstance(step, TorchOp):
        kinds = data["torch_us"]
        us = data["named_us"].get(step.name, kinds.get(step.kind, kinds["unknown"]))
        parts = [tensor for tensor in step.reads if _is_part(tensor)]
        return float(us * step.dims.get("launches", 1) + data["view_us"] * len(parts))
    if isinstance(step, HostSync):
        return float(data["sync_us"])
    return float(data["loop_iteration_us"])


def _is_part(tensor: Tensor) -> bool:
    """Whether a tensor shows part of its storage, or shows it another way: a call of its own made the view."""
    return tensor.offset != 0 or tensor.is_contiguous is False


def host_sigma() -> float:
    """Standard deviation of ln(measured / predicted) of host times: of calls of a kind and of the pace of a machine."""
    return float(_data()["sigma"])


def host_item_sigma() -> float:
    """The same of the calls of a kind alone, on one machine."""
    return float(_data()["item_sigma"])


def host_ratio_sigma() -> float:
    """The same of whole calls, from which those of two versions differ in their arguments and the code around them."""
    return float(_data()["ratio_sigma"])


def sync_bubble_us() -> float:
    """Microseconds the device idles after a host sync: the host wakes up and has nothing queued."""
    return float(_data()["sync_us"])
