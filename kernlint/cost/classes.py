"""Classes of kernels whose errors are told apart, and what of a kernel no measurement has.

The interval of a prediction comes from the residuals of kernels like it. A kernel belongs to the first class here whose mark it
bears; what none of the micro-benchmarks does (``UNMEASURED``) makes the interval wider, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.cost.traffic.model import Traffic
from kernlint.workload import Atomic, Compute, Launch, Loop, Reduce, Scan

#: Reductions, scans and atomics that the micro-benchmarks time, or that take the same instructions.
_REDUCTIONS = frozenset({"sum", "max", "min", "argmax", "argmin"})
_SCANS = frozenset({"cumsum", "sort", "sum"})
_ATOMICS = frozenset({"add", "max", "min", "cas", "xchg", "and", "or", "xor"})


def class_of(launch: Launch, moved: Traffic) -> str:
    """The class of a launch without ``tl.dot``."""
    scans = launch.kernel.nodes(Scan)
    if scans:
        return "sort" if any(node.op == "sort" for node in scans) else "scan"
    if any(access.kind == "atomic" for access in moved.accesses):
        return "atomic"
    if any(access.gather and not access.known for access in moved.accesses):
        return "gather"
    reduces = any(node.shape for node in launch.kernel.nodes(Reduce))
    looped = launch.kernel.has(Loop)
    if looped:
        return "walk" if reduces else "loop"
    return "row" if reduces else "stream"


def unmeasured(launch: Launch) -> tuple[str, ...]:
    """What ``launch`` does that no micro-benchmark has, in words; empty for nearly all kernels."""
    return tuple(dict.fromkeys(_unmeasured(launch)))


def _unmeasured(launch: Launch) -> Iterator[str]:
    for node in launch.kernel.nodes((Reduce, Scan, Atomic, Compute)):
        if isinstance(node, Reduce) and node.op not in _REDUCTIONS and len(node.shape) > 0:
            yield f"a reduction by {node.op}"
        elif isinstance(node, Scan) and node.op not in _SCANS:
            yield f"a scan by {node.op}"
        elif isinstance(node, Atomic) and node.op not in _ATOMICS:
            yield f"an atomic {node.op}"
        elif isinstance(node, Atomic) and node.dtype.bits == 64:
            yield "64-bit atomics"
