"""Kernels whose tiles do not fit the registers: upcast broadcast products, tiles held over a reduction, accumulators.

A thread has 255 registers. What lives beyond them is spilled to local memory, through L1 and L2.
"""

from __future__ import annotations

import itertools

import rows as row_kernels
import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro


@triton.jit
def upcast_product_0(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c [M, N] = a [K, M]^T b [K, N]: 16-bit tiles expanded to [BK, BM, BN], upcast, multiplied, summed over axis 0."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + k[:, None] * M + m[None, :])
        y = tl.load(b + k[:, None] * N + n[None, :])
        acc += tl.sum(x[:, :, None].to(tl.float32) * y[:, None, :].to(tl.float32), axis=0)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def upcast_product_1(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c [M, N] = a [M, K] b [K, N]: as `upcast_product_0` with a [BM, BK, BN] product summed over axis 1."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :])
        y = tl.load(b + k[:, None] * N + n[None, :])
        acc += tl.sum(x[:, :, None].to(tl.float32) * y[None, :, :].to(tl.float32), axis=1)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def upcast_product_2(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c [M, N] = a [M, K] b [N, K]^T: as `upcast_product_0` with a [BM, BN, BK] product summed over axis 2."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :])
        y = tl.load(b + n[:, None] * K + k[None, :])
        acc += tl.sum(x[:, None, :].to(tl.float32) * y[None, :, :].to(tl.float32), axis=2)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def hold_rows(x, y, rows, cols, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """COUNT (1, 2, 4) tensors [rows, cols] side by side in x: all rows of one index are read, and divided by the root of
    the sum of all their squares. COUNT tiles live across the reduction."""
    plane = rows * cols
    offset = tl.program_id(0) * cols + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < cols
    p = tl.load(x + offset, mask=inside, other=0.0).to(tl.float32)
    square = p * p
    if COUNT >= 2:
        q = tl.load(x + plane + offset, mask=inside, other=0.0).to(tl.float32)
        square += q * q
    if COUNT >= 4:
        r = tl.load(x + 2 * plane + offset, mask=inside, other=0.0).to(tl.float32)
        s = tl.load(x + 3 * plane + offset, mask=inside, other=0.0).to(tl.float32)
        square += r * r + s * s
    scale = tl.rsqrt(tl.sum(square, axis=0) + 1e-6)
    tl.store(y + offset, (p * scale).to(y.dtype.element_ty), mask=inside)
    if COUNT >= 2:
        tl.store(y + plane + offset, (q * scale).to(y.dtype.element_ty), mask=inside)
    if COUNT >= 4:
        tl.store(y + 2 * plane + offset, (r * scale).to(y.dtype.element_ty), mask=inside)
        tl.store(y + 3 * plane + offset, (s * scale).to(y.dtype.element_ty), mask=inside)


@triton.jit
def accumulate_tile(x, y, steps, cols, BR: tl.constexpr, BC: tl.constexpr):
    """y [BR, cols] = sum over steps of x [steps, BR, cols]: a [BR, BC] accumulator in registers."""
    row = tl.arange(0, BR)
    column = tl.program_id(0) * BC + tl.arange(0, BC)
    tile = row[:, None] * cols + column[None, :]
    acc = tl.zeros((BR, BC), dtype=tl.float32)
    for step in range(steps):
        acc += tl.load(x + step * BR * cols + tile).to(tl.float32)
    tl.store(y + tile, acc.to(y.dtype.element_ty))


@triton.jit
def outer_update(a, b, y, steps, BM: tl.constexpr, BN: tl.constexpr):
    """y [programs, BM, BN] = decayed sum over steps of a [programs, steps, BM] (outer) b [programs, steps, BN]."""
    program = tl.program_id(0)
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    state = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(steps):
        u = tl.load(a + (program * steps + step) * BM + m).to(tl.float32)
        v = tl.load(b + (program * steps + step) * BN + n).to(tl.float32)
        state = state * 0.5 + u[:, None] * v[None, :]
    tl.store(y + program * BM * BN + m[:, None] * BN + n[None, :], state.to(y.dtype.element_ty))


PRODUCTS = (upcast_product_0, upcast_product_1, upcast_product_2)


def upcast_case(axis, shape, tile, dtype, warps) -> Case:
    """A product of 16-bit operands whose [BM, BN, BK] terms are made one by one."""
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b, c = Buffer("a", dtype, m * k), Buffer("b", dtype, k * n), Buffer("c", dtype, m * n)
    params = {"axis": axis, "M": m, "N": n, "K": k, "BM": bm, "BN": bn, "BK": bk, "dtype": dtype, "num_warps": warps}
    constants = {"BM": bm, "BN": bn, "BK": bk}
    launch = Launch(PRODUCTS[axis], (a, b, c, m, n, k), constants, (m // bm, n // bn), warps)
    return micro("upcast_product", params, launch, bytes=a.nbytes + b.nbytes + c.nbytes, flops=2 * m * n * k)


def hold_case(count, rows, cols, block, dtype, warps) -> Case:
    """`count` rows of a tile of `block` each held over one reduction."""
    x, y = Buffer("x", dtype, count * rows * cols), Buffer("y", dtype, count * rows * cols)
    params = {"count": count, "rows": rows, "cols": cols, "BLOCK": block, "dtype": dtype, "num_warps": warps}
    launch = Launch(hold_rows, (x, y, rows, cols), {"COUNT": count, "BLOCK": block}, (rows,), warps)
    return micro("hold_rows", params, launch, bytes=x.nbytes + y.nbytes)


def accumulate_case(steps, cols, br, bc, dtype, warps) -> Case:
    """A loop-carried [br, bc] accumulator."""
    x, y = Buffer("x", dtype, steps * br * cols), Buffer("y", dtype, br * cols)
    params = {"steps": steps, "cols": cols, "BR": br, "BC": bc, "dtype": dtype, "num_warps": warps}
    launch = Launch(accumulate_tile, (x, y, steps, cols), {"BR": br, "BC": bc}, (cdiv(cols, bc),), warps)
    return micro("accumulate_tile", params, launch, bytes=x.nbytes + y.nbytes)


def outer_case(programs, steps, bm, bn, dtype, warps) -> Case:
    """A loop of rank-one updates of a [bm, bn] state."""
    a, b = Buffer("a", dtype, programs * steps * bm), Buffer("b", dtype, programs * steps * bn)
    y = Buffer("y", "float32", programs * bm * bn)
    params = {"programs": programs, "steps": steps, "BM": bm, "BN": bn, "dtype": dtype, "num_warps": warps}
    launch = Launch(outer_update, (a, b, y, steps), {"BM": bm, "BN": bn}, (programs,), warps)
    flops = 3 * programs * steps * bm * bn
    return micro("outer_update", params, launch, bytes=a.nbytes + b.nbytes + y.nbytes, flops=flops)


def cases() -> list[Case]:
    """All cases of this module; at most 1,024 fp32 values a thread."""
    found = []
    tiles = [(16, 16, 16), (32, 16, 16), (16, 32, 16), (16, 16, 32), (32, 32, 16), (16, 32, 32), (32, 32, 32)]
    tiles += [(64, 32, 32)]
    shapes = [(768, 384, 320), (1920, 1152, 192)]
    for tile, axis, warps, shape in itertools.product(tiles, (0, 1, 2), (2, 4, 8), shapes):
        found.append(upcast_case(axis, shape, tile, "float16", warps))
    for tile, axis in itertools.product(tiles[::3], (0, 1, 2)):
        found.append(upcast_case(axis, shapes[0], tile, "bfloat16", 4))
    for count, (rows, cols, block), warps in itertools.product(
        (1, 2, 4), [(300, 4096, 4096), (3000, 4096, 4096), (300, 3900, 4096), (3000, 15600, 16384)], (1, 2, 4, 8, 16)
    ):
        if 16 <= count * block // (32 * warps) <= 1024:
            found.append(hold_case(count, rows, cols, block, "float16", warps))
            if cols % 16 == 0:
                found.append(hold_case(count, rows, cols, block, "float32", warps))
    for (br, bc), warps, (steps, cols) in itertools.product(
        [(16, 64), (32, 128), (64, 128), (128, 128), (128, 256)], (4, 8), [(40, 16384), (300, 2048)]
    ):
        if br * steps * cols <= 2**27:
            found.append(accumulate_case(steps, cols, br, bc, "float16", warps))
    for (bm, bn), warps, programs in itertools.product(
        [(16, 64), (64, 64), (64, 128), (128, 128), (128, 256)], (2, 4, 8), (48, 600)
    ):
        found.append(outer_case(programs, 200, bm, bn, "float16", warps))
    for kind, (rows, cols), warps in itertools.product(
        ("softmax", "rms_norm", "layer_norm"),
        [(64, 20000), (1200, 20000), (64, 32768), (1200, 32768), (64, 50000), (1200, 65536)],
        (4, 8, 16, 32),
    ):
        if cols <= 256 * 32 * warps:
            found.append(row_kernels.whole_row_case(kind, rows, cols, "float16", warps))
    return found
