"""Kernels bound by ordinary arithmetic or by a serial loop: broadcast products, convolutions, scans."""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro, next_power_of_2


@triton.jit
def broadcast_product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c [M, N] = a [M, K] b [K, N] through a [BM, BK, BN] product and a sum over its middle axis, in fp32."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :]).to(tl.float32)
        y = tl.load(b + k[:, None] * N + n[None, :]).to(tl.float32)
        acc += tl.sum(x[:, :, None] * y[None, :, :], axis=1)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def direct_conv(x, w, y, C, H, W, OUT, KS: tl.constexpr, BLOCK: tl.constexpr):
    """y [B, O, H, W] = same-padded KS x KS convolution of x [B, C, H, W] with w [O, C, KS, KS]: one output channel and
    BLOCK pixels per program, a scalar weight load and a shifted vector load per tap."""
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out = tl.program_id(1)
    batch = tl.program_id(2)
    row = pixel // W
    column = pixel % W
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for channel in range(C):
        plane = x + (batch * C + channel) * H * W
        for r in tl.static_range(KS):
            for s in tl.static_range(KS):
                weight = tl.load(w + ((out * C + channel) * KS + r) * KS + s).to(tl.float32)
                i = row + r - KS // 2
                j = column + s - KS // 2
                inside = (i >= 0) & (i < H) & (j >= 0) & (j < W)
                acc += weight * tl.load(plane + i * W + j, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + (batch * OUT + out) * H * W + pixel, acc.to(y.dtype.element_ty), mask=pixel < H * W)


@triton.jit
def implicit_gemm_conv(
    x, w, y, B, C, H, W, OUT, KS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """The same convolution as a product: BM pixels x BN output channels, the BM x BK operand gathered from x."""
    pixel = tl.program_id(0) * BM + tl.arange(0, BM)
    out = tl.program_id(1) * BN + tl.arange(0, BN)
    batch = pixel // (H * W)
    row = (pixel % (H * W)) // W
    column = pixel % W
    depth = C * KS * KS
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, depth, BK):
        k = start + tl.arange(0, BK)
        channel = k // (KS * KS)
        i = row[:, None] + ((k % (KS * KS)) // KS)[None, :] - KS // 2
        j = column[:, None] + (k % KS)[None, :] - KS // 2
        inside = (i >= 0) & (i < H) & (j >= 0) & (j < W) & (pixel[:, None] < B * H * W) & (k[None, :] < depth)
        patch = tl.load(x + ((batch[:, None] * C + channel[None, :]) * H + i) * W + j, mask=inside, other=0.0)
        weight = tl.load(
            w + out[None, :] * depth + k[:, None], mask=(k[:, None] < depth) & (out[None, :] < OUT), other=0.0
        )
        acc = tl.dot(patch, weight, acc)
    target = y + (batch[:, None] * OUT + out[None, :]) * H * W + (pixel % (H * W))[:, None]
    tl.store(target, acc.to(y.dtype.element_ty), mask=(pixel[:, None] < B * H * W) & (out[None, :] < OUT))


@triton.jit
def scalar_scan(x, y, steps):
    """Running sum of one row per program, one element at a time: load, add, store."""
    row = tl.program_id(0)
    total = 0.0
    for step in range(steps):
        total += tl.load(x + row * steps + step).to(tl.float32)
        tl.store(y + row * steps + step, total.to(y.dtype.element_ty))


@triton.jit
def block_scan(x, y, steps, BLOCK: tl.constexpr):
    """Running sum of one row per program: a scan of each block and a carried total."""
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, steps, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * steps + offset, mask=offset < steps, other=0.0).to(tl.float32)
        tl.store(
            y + row * steps + offset, (tl.cumsum(value, axis=0) + carry).to(y.dtype.element_ty), mask=offset < steps
        )
        carry += tl.sum(value, axis=0)


def broadcast_case(shape, tile, dtype, warps=4) -> Case:
    """Product without a dot."""
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b, c = Buffer("a", dtype, m * k), Buffer("b", dtype, k * n), Buffer("c", dtype, m * n)
    params = {"M": m, "N": n, "K": k, "BM": bm, "BN": bn, "BK": bk, "dtype": dtype, "num_warps": warps}
    launch = Launch(broadcast_product, (a, b, c, m, n, k), {"BM": bm, "BN": bn, "BK": bk}, (m // bm, n // bn), warps)
    return micro("broadcast_product", params, launch, bytes=a.nbytes + b.nbytes + c.nbytes, flops=2 * m * n * k)


def _conv_buffers(b, c, o, edge, ks, dtype):
    return (
        Buffer("x", dtype, b * c * edge * edge),
        Buffer("w", dtype, o * c * ks * ks),
        Buffer("y", dtype, b * o * edge * edge),
    )


def direct_conv_case(b, c, o, edge, ks, dtype, block=256, warps=4) -> Case:
    """Direct convolution of a square image."""
    buffers = _conv_buffers(b, c, o, edge, ks, dtype)
    params = {
        "B": b,
        "C": c,
        "O": o,
        "H": edge,
        "W": edge,
        "KS": ks,
        "dtype": dtype,
        "BLOCK": block,
        "num_warps": warps,
    }
    grid = (cdiv(edge * edge, block), o, b)
    launch = Launch(direct_conv, (*buffers, c, edge, edge, o), {"KS": ks, "BLOCK": block}, grid, warps)
    flops = 2 * b * o * c * ks * ks * edge * edge
    return micro("direct_conv", params, launch, bytes=sum(x.nbytes for x in buffers), flops=flops)


def implicit_conv_case(b, c, o, edge, ks, dtype, tile, warps=4, stages=3) -> Case:
    """Convolution as an implicit product of a square image."""
    buffers = _conv_buffers(b, c, o, edge, ks, dtype)
    bm, bn, bk = tile
    params = {"B": b, "C": c, "O": o, "H": edge, "W": edge, "KS": ks, "dtype": dtype, "BM": bm, "BN": bn, "BK": bk}
    params |= {"num_warps": warps, "num_stages": stages}
    grid = (cdiv(b * edge * edge, bm), cdiv(o, bn))
    constants = {"KS": ks, "BM": bm, "BN": bn, "BK": bk}
    launch = Launch(implicit_gemm_conv, (*buffers, b, c, edge, edge, o), constants, grid, warps, stages)
    flops = 2 * b * o * c * ks * ks * edge * edge
    return micro("implicit_gemm_conv", params, launch, bytes=sum(x.nbytes for x in buffers), flops=flops)


def scan_case(rows, steps, dtype, block, warps) -> Case:
    """Row scans; `block` 0 is the scalar loop."""
    x, y = Buffer("x", dtype, rows * steps), Buffer("y", dtype, rows * steps)
    params = {"rows": rows, "steps": steps, "dtype": dtype, "num_warps": warps}
    if block:
        params["BLOCK"] = block
        launch = Launch(block_scan, (x, y, steps), {"BLOCK": block}, (rows,), warps)
    else:
        launch = Launch(scalar_scan, (x, y, steps), {}, (rows,), warps)
    return micro("block_scan_carry" if block else "scalar_scan", params, launch, bytes=x.nbytes + y.nbytes)


def cases() -> list[Case]:
    """All cases of this module."""
    found = []
    tiles = [((16, 16, 16), 4), ((16, 32, 16), 4), ((32, 32, 16), 4), ((16, 16, 32), 4), ((32, 32, 32), 4)]
    tiles += [((16, 16, 64), 4), ((64, 64, 16), 4), ((64, 64, 16), 8)]
    for shape, (tile, warps), dtype in itertools.product(
        [(384, 384, 384), (1024, 768, 512), (64, 3072, 768)], tiles, ("float16", "float32")
    ):
        found.append(broadcast_case(shape, tile, dtype, warps))
    for rows, steps in itertools.product((32, 512, 4096), (256, 1024, 8192)):
        found += [scan_case(rows, steps, "float32", 0, warps) for warps in (1, 4)]
        if steps == 1024:
            found.append(scan_case(rows, steps, "float16", 0, 4))
    for rows, steps, block in itertools.product((32, 512, 4096), (1024, 4096, 16384), (256, 1024, 4096)):
        if block <= steps:
            found.append(scan_case(rows, steps, "float32", block, 4))
    for rows, steps in itertools.product((512, 4096), (2048, 10000)):
        found.append(scan_case(rows, steps, "float16", next_power_of_2(steps), 8))
    images = [(4, 8, 16, 112, 3), (8, 32, 32, 56, 3), (16, 64, 64, 28, 3), (4, 8, 16, 112, 5), (8, 32, 32, 28, 5)]
    for (b, c, o, edge, ks), dtype in itertools.product(images, ("float16", "float32")):
        found += [direct_conv_case(b, c, o, edge, ks, dtype, block) for block in (128, 256, 1024)]
        tiles = [((64, 32, 32), 4, 3), ((64, 64, 32), 4, 3), ((128, 64, 32), 4, 3), ((64, 32, 32), 4, 1)]
        found += [implicit_conv_case(b, c, o, edge, ks, dtype, *tile) for tile in tiles]
    for edge, c in ((56, 128), (28, 256)):
        for tile, warps in (((64, 64, 32), 4), ((128, 128, 32), 8), ((128, 64, 64), 4)):
            found.append(implicit_conv_case(8, c, c, edge, 3, "float16", tile, warps))
    return found
