"""How much of a program the interpreter understood: what a verdict can rest on, counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, fields

from kernlint.records import dataclass
from kernlint.workload import Access, Dot, Launch, Tensor, Workload, concrete


@dataclass
class Share:
    """``known`` of ``total`` things."""

    known: int = 0
    total: int = 0

    def add(self, known: bool) -> None:
        self.known += bool(known)
        self.total += 1

    def __iadd__(self, other: Share) -> Share:
        self.known += other.known
        self.total += other.total
        return self

    def __str__(self) -> str:
        return f"{self.known}/{self.total}"


@dataclass
class Coverage:
    """Counts over the launches of workloads, by what is known of each.

    ``launches``: the whole body was followed. ``tensors``: dtype, shape and strides of each tensor argument (sizes may
    be symbolic). ``grids``: all extents. ``constexprs``: the values. ``dots``: both operand types and the tile, and
    for operands straight from memory their layout. ``accesses``: base parameter and the stride of each tile axis.
    """

    launches: Share = field(default_factory=Share)
    tensors: Share = field(default_factory=Share)
    grids: Share = field(default_factory=Share)
    constexprs: Share = field(default_factory=Share)
    dots: Share = field(default_factory=Share)
    accesses: Share = field(default_factory=Share)

    def __iadd__(self, other: Coverage) -> Coverage:
        for item in fields(self):
            mine = getattr(self, item.name)
            mine += getattr(other, item.name)
        return self

    def row(self) -> list[str]:
        return [str(getattr(self, item.name)) for item in fields(self)]

    @classmethod
    def columns(cls) -> list[str]:
        return [item.name for item in fields(cls)]


def measure(workloads: Iterable[Workload]) -> Coverage:
    """The coverage of all launches in ``workloads``."""
    coverage = Coverage()
    for workload in workloads:
        for launch in workload.first_call().launches():
            _count(launch, coverage)
    return coverage


def _count(launch: Launch, coverage: Coverage) -> None:
    coverage.launches.add(launch.kernel.complete)
    coverage.grids.add(not any("grid[" in str(extent) for extent in launch.grid))
    for value in launch.arguments.values():
        if isinstance(value, Tensor):
            coverage.tensors.add(value.dtype is not None and value.shape is not None and value.strides is not None)
    for constant in launch.constexprs.values():
        coverage.constexprs.add(type(constant).__name__ != "Unknown")
    for node, _ in launch.kernel.walk((Access, Dot)):
        if isinstance(node, Dot):
            known = all(
                op.k_major is not None or not op.direct or concrete(op.k_stride) is None for op in (node.a, node.b)
            )
            coverage.dots.add(known)
        elif isinstance(node, Access):
            strided = all(node.stride(dim) is not None for dim in range(len(node.shape)) if node.shape[dim] > 1)
            coverage.accesses.add(bool(node.base) and node.offset is not None and strided)
