"""The values of one program of a kernel, in the lanes that are asked for."""

from __future__ import annotations

from kernlint.compare.columns import Effort, Points
from kernlint.compare.kernels import Lanes, Reading
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.syntax.tree import parse_module

SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def count(y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, i + 1)


def run():
    y = torch.empty(64, device="cuda", dtype=torch.int32)
    count[(1,)](y, BLOCK=64)
    return y
"""


def test_lanes_that_are_gone_answer_for_no_others() -> None:
    """Places are asked for and forgotten, so that later ones may lie where they lay in memory."""
    program = Program(parse_module(SOURCE, "kernel.py"), None, Question())
    (launch,) = next(iter(program.workloads())).launches()
    values = launch.kernel.values
    assert values is not None
    lanes = Lanes(launch, Reading(values), (0, 0, 0), lambda *given: [], Effort(1_000_000))
    (arange,) = (value for value in values if value.op == "arange")
    assert [lanes.value(arange, Points([lane], 1)) for lane in range(64)] == list(range(64))
