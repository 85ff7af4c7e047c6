"""The micro-benchmarks of ``kernlint calibrate``: one effect of the cost model each. Needs Triton; the analyser reads the source."""

# mypy: disallow-untyped-defs=False, disallow-untyped-decorators=False

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset, tl.load(x + offset, mask=offset < n) * 0.5, mask=offset < n)


@triton.jit
def add(x, other, y, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(x + offset, mask=offset < n)
    tl.store(y + offset, first + tl.load(other + offset, mask=offset < n), mask=offset < n)


@triton.jit
def exponentials(x, y, n, REPEAT: tl.constexpr, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offset, mask=offset < n)
    for _ in tl.static_range(REPEAT):
        value = tl.exp(-tl.abs(value))
    tl.store(y + offset, value, mask=offset < n)


@triton.jit
def multiply_adds(x, y, steps, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offset)
    for _ in range(steps):
        value = value * 0.75 + 0.5
    tl.store(y + offset, value)


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + column, mask=column < cols, other=-float("inf")).to(tl.float32)
    top = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * cols + column, (top / tl.sum(top, axis=0)).to(y.dtype.element_ty), mask=column < cols)


@triton.jit
def row_sums(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * cols + column, mask=column < cols, other=0.0).to(tl.float32)
    tl.store(y + row, tl.sum(total, axis=0))


@triton.jit
def row_walks(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for column in range(cols):
        total += tl.load(x + row * cols + column)
    tl.store(y + row, total)


@triton.jit
def running_sums(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + column, mask=column < cols, other=0.0)
    tl.store(y + row * cols + column, tl.cumsum(value, axis=0), mask=column < cols)


@triton.jit
def gather(table, index, y, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(index + offset, mask=offset < n, other=0)
    tl.store(y + offset, tl.load(table + place, mask=offset < n), mask=offset < n)


@triton.jit
def count(index, bins, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(index + offset, mask=offset < n, other=0)
    tl.atomic_add(bins + place, 1, mask=offset < n)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :])
        y = tl.load(b + n[None, :] * K + k[:, None])
        if EXACT:
            acc = tl.dot(x, y, acc, input_precision="ieee")
        else:
            acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))
