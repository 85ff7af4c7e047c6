"""Every launch and dot of every pair is understood: dtype, shape and strides of tensors, grid, constexprs, layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.interpret.program import Program
from kernlint.syntax.source import read_source
from kernlint.syntax.task import read_task
from kernlint.workload import Access, Dot, Launch, Tensor, concrete

PAIRS = Path(__file__).parents[2] / "fixtures" / "pairs"
FILES = sorted(p for name in ("before", "after") for p in PAIRS.glob(f"*/{name}.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_everything_is_known(path: Path) -> None:
    kernel = read_task(read_source(str(path))).kernel
    reference = read_task(read_source(str(path.parent / "reference.py"))).kernel
    workloads = Program(kernel, reference).workloads()
    launches = [launch for workload in workloads for launch in workload.first_call().launches()]
    assert launches and all(map(is_known, launches))
    for workload in workloads:
        assert not workload.unknowns and not workload.symbols
        assert workload.reference is not None and workload.reference.steps


def is_known(launch: Launch) -> bool:
    """Whether the whole body was followed, with each argument, extent of the grid, constant, operand of a dot and address."""
    tensors = [value for value in launch.arguments.values() if isinstance(value, Tensor)]
    operands = [operand for dot, _ in launch.kernel.walk(Dot) for operand in (dot.a, dot.b)]
    accesses = [access for access, _ in launch.kernel.walk(Access)]
    return (
        launch.kernel.complete
        and not any("grid[" in str(extent) for extent in launch.grid)
        and all(None not in (x.dtype, x.shape, x.strides) for x in tensors)
        and not any(type(constant).__name__ == "Unknown" for constant in launch.constexprs.values())
        and all(o.k_major is not None or not o.direct or concrete(o.k_stride) is None for o in operands)
        and all(a.base and a.offset is not None for a in accesses)
        and all(a.stride(axis) is not None for a in accesses for axis, n in enumerate(a.shape) if n > 1)
    )
