"""Imported by the process that workers are forked from: all that an analysis imports, and a first analysis, after which the
tables and caches that every one needs are there."""

from __future__ import annotations

import gc
import sys

from kernlint.server.editing import Asked, findings
from kernlint.server.notes import kernel_notes

_EXAMPLE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, out_ptr, K, N, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * 16 + tl.arange(0, 16)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((16, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :])
        y = tl.load(y_ptr + inner[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
        total += tl.dot(x.to(tl.float32), y.to(tl.float32))
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total, mask=columns[None, :] < N)


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty(1024, 4096, device="cuda", dtype=torch.float32)
        scale[(64, 64)](x, y.contiguous(), out, 512, 4096, BLOCK_K=32, BLOCK_N=64)
        return torch.relu(out)


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x @ y)


def get_inputs():
    return [
        torch.randn(1024, 512, device="cuda", dtype=torch.float16),
        torch.randn(512, 4096, device="cuda", dtype=torch.float16),
    ]
"""


def _warm() -> None:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 5000))
    asked = Asked("example.py", isolated=True)
    assert findings(_EXAMPLE, asked, fixes=True).findings
    assert kernel_notes(_EXAMPLE, asked)
    gc.collect()
    gc.freeze()


_warm()
