"""What all programs of an axis read is a matter of their tile; what one program reads again, or neighbours' windows share, is not."""

import textwrap

import pytest
from support.findings import HEADER

from kernlint.analysis import best_change, read_program
from kernlint.request import Request

HOST = """
class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty(x.shape[0], device=x.device)
        kernel[(x.shape[0] // {rows},)](x, y, out, y.shape[0], BLOCK=256, num_warps=4)
        return out

def get_inputs():
    return [torch.rand(16384), torch.rand(16384)]
"""
#: One number of `x` a program, all numbers of `y`.
ALL_OF_IT = """
@triton.jit
def kernel(x, y, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    a, best = tl.load(x + row), tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        best = tl.maximum(best, tl.abs(a - tl.load(y + start + tl.arange(0, BLOCK))))
    tl.store(out + row, tl.max(best, axis=0))
"""
#: The 256 numbers of `y` before each of 256 outputs: one program reads what all programs around it do.
WINDOWS = """
@triton.jit
def kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    best = tl.load(x + at)
    for back in range(0, 256):
        best += tl.load(y + at - back, mask=at >= back, other=0.0)
    tl.store(out + at, best)
"""
#: 64 sweeps of a program over its own numbers.
SWEEPS = """
@triton.jit
def kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * 4096 + tl.arange(0, BLOCK)
    best = tl.zeros((BLOCK,), dtype=tl.float32)
    for sweep in range(0, 64):
        for start in range(0, 4096, BLOCK):
            best = tl.maximum(best * sweep, tl.load(y + start + at))
    tl.store(out + at, best)
"""


@pytest.mark.parametrize(
    ("kernel", "rows", "category"),
    [(ALL_OF_IT, 1, "tiling"), (WINDOWS, 256, "algorithm"), (SWEEPS, 4096, "algorithm")],
    ids=["all of it", "windows", "sweeps"],
)
def test_who_reads_again(kernel: str, rows: int, category: str) -> None:
    source = HEADER + textwrap.dedent(kernel) + HOST.format(rows=rows)
    headroom = best_change(read_program(Request(source, device="h200")), "gpu").headroom
    assert headroom is not None
    (cause,) = [one for one in headroom.causes if one.name == "repeated reads"]
    assert cause.category == category
