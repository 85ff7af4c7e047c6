"""Programs that ask for an axis that their grid leaves out: the only program along it is number 0 (KL713 tells where no grid has it)."""

import pytest

import kernlint

PROGRAM = """
import torch
import triton
import triton.language as tl

@triton.jit
def pick(x, ids, y, stride, D: tl.constexpr):
    d = tl.arange(0, D)
    at = tl.load(ids + tl.program_id(0) * D + d)
    v = tl.load(x + tl.program_id({axis}) * 4096 + at)
    tl.store(y + tl.program_id(0) * D + d, v)

class ModelNew(torch.nn.Module):
    def forward(self, x, ids):
        y = torch.empty_like(x)
        pick[(1024,)](x, ids, y, 4096, D=64)
        return y

def get_inputs():
    return [torch.randn(65536), torch.randint(0, 64, (65536,), dtype=torch.int32)]
"""


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_a_gather_has_a_time(axis: int) -> None:
    found = kernlint.analyze(PROGRAM.format(axis=axis), device="h100-sxm")
    assert found.details.estimate.gpu.before_us > 0
    assert ("KL713" in found.reason) == (axis == 3)
