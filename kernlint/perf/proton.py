"""Output of Proton, Triton's profiler (``.hatchet``): a JSON list whose first member is a tree of frames with metrics."""

from __future__ import annotations

from typing import Any

from kernlint.errors import SourceError
from kernlint.perf.model import Gathered, Performance, checked_us, longest_first
from kernlint.perf.units import finite

_TIMES = ("time (ns)", "Time (ns)")
_COUNTS = ("count", "Count")


def is_proton(data: Any) -> bool:
    """Whether parsed JSON is such a tree."""
    root = data[0] if isinstance(data, list) and data else data
    return isinstance(root, dict) and isinstance(root.get("frame"), dict)


def read_proton(data: Any, name: str) -> Performance:
    """The frames with a time of their own, summed over the tree by name. Raises ``SourceError`` where there are none, or
    where a time is none."""
    roots = data if isinstance(data, list) else [data]
    left = [node for node in roots if isinstance(node, dict) and isinstance(node.get("frame"), dict)]
    gathered: dict[str, Gathered] = {}
    while left:
        node = left.pop()
        children, frame, metrics = node.get("children"), node.get("frame"), node.get("metrics")
        left += [child for child in children if isinstance(child, dict)] if isinstance(children, list) else []
        kernel = frame.get("name") if isinstance(frame, dict) else None
        if not isinstance(kernel, str) or not isinstance(metrics, dict):
            continue
        times = [metrics[key] for key in _TIMES if key in metrics]
        if not times or times[0] == 0:
            continue
        ns = finite(times[0])
        if ns is None:
            raise SourceError(f"{name}: {kernel[:80]}: a time that is no number")
        counts = [finite(metrics[key]) for key in _COUNTS if key in metrics]
        one = gathered.setdefault(kernel, Gathered())
        one.total_us += checked_us(ns / 1000, f"{name}: {kernel[:80]}")
        one.timed += max(1, int(counts[0])) if counts and counts[0] is not None else 1
    if not gathered:
        raise SourceError(f"{name}: a Proton tree without times")
    kernels = longest_first(one.measurement(kernel, one.timed) for kernel, one in gathered.items())
    return Performance(kernels, None, "Proton profile")
