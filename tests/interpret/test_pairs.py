"""Every launch and dot of every pair is understood: dtype, shape and strides of tensors, grid, constexprs, layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.interpret.coverage import measure
from kernlint.interpret.program import Program
from kernlint.syntax.source import read_source
from kernlint.syntax.task import read_task

PAIRS = Path(__file__).parents[2] / "fixtures" / "pairs"
FILES = sorted(p for name in ("before", "after") for p in PAIRS.glob(f"*/{name}.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_everything_is_known(path: Path) -> None:
    kernel = read_task(read_source(str(path))).kernel
    reference = read_task(read_source(str(path.parent / "reference.py"))).kernel
    workloads = Program(kernel, reference).workloads()
    coverage = measure(workloads)
    assert coverage.launches.total > 0
    for share in (
        coverage.launches,
        coverage.tensors,
        coverage.grids,
        coverage.constexprs,
        coverage.dots,
        coverage.accesses,
    ):
        assert share.known == share.total
    for workload in workloads:
        assert not workload.unknowns and not workload.symbols
        assert workload.reference is not None and workload.reference.steps
