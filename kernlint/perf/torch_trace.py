"""Chrome traces of ``torch.profiler`` (``export_chrome_trace``): device events have the category ``kernel``, times are
microseconds."""

from __future__ import annotations

import math
from typing import Any

from kernlint.errors import SourceError
from kernlint.perf.model import Gathered, Performance, checked_us, longest_first
from kernlint.perf.units import finite

_DEVICE_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})


def is_trace(data: Any) -> bool:
    """Whether parsed JSON is such a trace."""
    if isinstance(data, dict):
        return isinstance(data.get("traceEvents"), list)
    return isinstance(data, list) and any(isinstance(event, dict) and "ph" in event for event in data[:100])


def read_trace(data: Any, name: str) -> Performance:
    """The device events in ``data``, means over their runs. Raises ``SourceError`` where there are none, or where a time
    is none."""
    events = data["traceEvents"] if isinstance(data, dict) else data
    gathered: dict[str, Gathered] = {}
    for event in events:
        if not isinstance(event, dict) or str(event.get("cat", "")).lower() not in _DEVICE_CATEGORIES:
            continue
        kernel, duration = event.get("name"), event.get("dur")
        if not isinstance(kernel, str) or duration is None:
            continue
        us = finite(duration)
        if us is None:
            raise SourceError(f"{name}: {kernel[:80]}: a duration that is no number")
        if us == 0:
            continue  # shorter than the clock's tick
        one = gathered.setdefault(kernel, Gathered())
        one.total_us += checked_us(us, f"{name}: {kernel[:80]}")
        one.timed += 1
        _add_counters(one, event.get("args"))
    if not gathered:
        raise SourceError(f"{name}: a trace without device kernels: profile with ProfilerActivity.CUDA")
    kernels = longest_first(one.measurement(kernel, one.timed) for kernel, one in gathered.items())
    return Performance(kernels, None, "torch profiler trace", _device(data))


def _add_counters(one: Gathered, args: Any) -> None:
    if not isinstance(args, dict):
        return
    occupancy = finite(args.get("est. achieved occupancy %"))
    if occupancy is not None and occupancy > 0:
        one.add_counter("occupancy_pct", occupancy)
    grid = args.get("grid")
    if isinstance(grid, list) and grid and all(isinstance(g, int) and 0 < g < 2**31 for g in grid[:3]):
        one.add_counter("grid_size", float(math.prod(grid[:3])))


def _device(data: Any) -> str:
    devices = data.get("deviceProperties") if isinstance(data, dict) else None
    if isinstance(devices, list):
        names = {d["name"] for d in devices if isinstance(d, dict) and isinstance(d.get("name"), str)}
        return names.pop() if len(names) == 1 else ""
    return ""
