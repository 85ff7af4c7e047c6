"""Which lines of a program its time is predicted to go to: the calls of the host, the accesses and the products of its kernels.

A step of the host has its share of the call's device time. Inside a kernel the model knows no time of a line, but what each line moves and
computes: those are shares of the kernel's bytes and operations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kernlint.cost.estimate import Estimate
from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.model import Traffic
from kernlint.records import dataclass
from kernlint.workload import Branch, Dot, Launch, Loop, Node

#: Shares below this are not worth a mark.
_LEAST = 0.005


@dataclass(frozen=True)
class HotSpot:
    """The share (0 to 1) of ``what`` (``time``, ``bytes`` or ``operations``) that the line has: of the call's device time, or of what its
    ``kernel`` moves or computes in products."""

    file: str
    line: int
    what: str
    share: float
    kernel: str = ""


def hot_spots(estimate: Estimate) -> tuple[HotSpot, ...]:
    """The lines that matter, in source order."""
    total = sum(row.total_gpu_us for row in estimate.steps)
    time: dict[tuple[str, int], float] = defaultdict(float)
    kernels: dict[int, Launch] = {}
    for row in estimate.steps:
        if total > 0:
            time[row.step.span.file, row.step.span.line] += row.total_gpu_us / total
        launch = row.configuration or row.step
        if isinstance(launch, Launch):
            kernels.setdefault(id(launch.kernel), launch)
    spots = [HotSpot(file, line, "time", share) for (file, line), share in time.items()]
    for launch in kernels.values():
        spots += _of_kernel(launch)
    # A kernel that is launched twice is specialised twice; its lines are the same.
    best: dict[tuple[str, int, str], HotSpot] = {}
    for spot in spots:
        key = spot.file, spot.line, spot.what
        if spot.share >= _LEAST and (key not in best or spot.share > best[key].share):
            best[key] = spot
    return tuple(sorted(best.values(), key=lambda spot: (spot.file, spot.line, spot.what)))


def _of_kernel(launch: Launch) -> Iterator[HotSpot]:
    moved = traffic(launch)
    name = launch.kernel.name
    bytes_by_line: dict[tuple[str, int], float] = defaultdict(float)
    for access in moved.accesses:
        span = access.access.span
        bytes_by_line[span.file, span.line] += access.moved_bytes
    operations: dict[tuple[str, int], float] = defaultdict(float)
    for dot, executions in _dots(launch.kernel.body, 1.0, moved):
        operations[dot.span.file, dot.span.line] += dot.flops * executions
    for what, by_line in (("bytes", bytes_by_line), ("operations", operations)):
        total = sum(by_line.values())
        for (file, line), value in by_line.items():
            if total > 0:
                yield HotSpot(file, line, what, value / total, name)


def _dots(body: tuple[Node, ...], executions: float, moved: Traffic) -> Iterator[tuple[Dot, float]]:
    for node in body:
        if isinstance(node, Dot):
            yield node, executions
        elif isinstance(node, Loop):
            yield from _dots(node.body, executions * moved.trips.get(node.id, 1.0), moved)
        elif isinstance(node, Branch):
            for arm in node.arms:
                yield from _dots(arm, executions / len(node.arms), moved)
