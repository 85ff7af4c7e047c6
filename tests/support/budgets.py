"""Budgets of small sources, analysed once."""

from functools import lru_cache
from pathlib import Path

from kernlint.analysis import analysis
from kernlint.report.budget import Budget, budget
from kernlint.request import Request

ROOT = Path(__file__).parents[2]
SEED = (ROOT / "fixtures/seed/task.md").read_text()

#: A Python loop of launches with a host sync, and a transposed copy before them.
LOOP = """
import torch
import triton
import triton.language as tl

@triton.jit
def axpy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, 2.0 * x + y, mask=mask)

N = 4096
ROWS = 8

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.t().contiguous()
        y = torch.zeros_like(x[0])
        for i in range(ROWS):
            axpy_kernel[(triton.cdiv(N, 1024),)](x[i], y, N, BLOCK=1024)
        if y.sum().item() > 0:
            return y
        return x

def get_inputs():
    return [torch.randn(N, ROWS, device="cuda")]

def get_init_inputs():
    return []
"""

OPEN = """
import triton
import triton.language as tl

@triton.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)

def double(x):
    double_kernel[(triton.cdiv(x.numel(), 1024),)](x, x.numel(), BLOCK=1024)
"""

#: Of a grid that nobody can tell the size of.
UNKNOWN = "from elsewhere import programs\n" + OPEN.replace("(triton.cdiv(x.numel(), 1024),)", "(programs(x),)")


@lru_cache(maxsize=16)
def seed(scope: str = "gpu", device: str = "h100-sxm") -> Budget:
    return budget(analysis(Request(SEED, path="task.md", scope=scope, device=device)))


@lru_cache(maxsize=4)
def loop(scope: str = "gpu") -> Budget:
    return budget(analysis(Request(LOOP, path="loop.py", scope=scope)))


@lru_cache(maxsize=1)
def assumed() -> Budget:
    return budget(analysis(Request(OPEN, path="open.py")))


@lru_cache(maxsize=1)
def unknown() -> Budget:
    return budget(analysis(Request(UNKNOWN, path="open.py")))
