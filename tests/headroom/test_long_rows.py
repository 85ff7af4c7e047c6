"""Rows that no program holds, needed again once something of all of them is known."""

from __future__ import annotations

import pytest

from kernlint import analyze

SOURCE = """
import torch
import triton
import triton.language as tl

ROWS = {rows}
COLUMNS = {columns}


@triton.jit
def sums(x, parts, n, chunks, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(1).to(tl.int64) * n + i, mask=i < n, other=0.0)
    tl.store(parts + tl.program_id(1) * chunks + tl.program_id(0), tl.sum(v * v, axis=0))


@triton.jit
def scaled(x, parts, y, n, chunks, CHUNKS: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.arange(0, CHUNKS)
    total = tl.sum(tl.load(parts + tl.program_id(1) * chunks + c, mask=c < chunks, other=0.0), axis=0)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1).to(tl.int64) * n
    v = tl.load(x + row + i, mask=i < n, other=0.0)
    tl.store(y + row + i, v * tl.rsqrt(total / n + 1e-6), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, n = x.shape
        chunks = triton.cdiv(n, 8192)
        parts = torch.empty((rows, chunks), device=x.device)
        y = torch.empty_like(x)
        sums[(chunks, rows)](x, parts, n, chunks, BLOCK=8192)
        scaled[(chunks, rows)](x, parts, y, n, chunks, CHUNKS=triton.next_power_of_2(chunks), BLOCK=8192)
        return y


class Model(torch.nn.Module):
    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(dim=1, keepdim=True) + 1e-6)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS, device="cuda")]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(("rows", "columns"), [(8, 1 << 21), (16, 1 << 23)])
def test_few_long_rows_are_read_again_by_a_second_kernel(rows: int, columns: int) -> None:
    assert not analyze(SOURCE.format(rows=rows, columns=columns), path="k.py").worth_optimizing


def test_two_passes_over_short_rows_are_one_too_many() -> None:
    assert analyze(SOURCE.format(rows=1 << 14, columns=4096), path="k.py").worth_optimizing
