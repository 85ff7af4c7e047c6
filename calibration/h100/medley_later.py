"""Whole programs that were written, priced and measured after the terms that :mod:`medley` led to: nothing is fitted to them."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro


@triton.jit
def signature(x, seeds, y, items, HASHES: tl.constexpr):
    """The least of HASHES hashes over the items of a set, a set a program."""
    row = tl.program_id(0)
    h = tl.arange(0, HASHES)
    a = tl.load(seeds + h)
    best = tl.full((HASHES,), 2147483647, dtype=tl.int32)
    for i in range(items):
        v = tl.load(x + row * items + i)
        k = (v * a + (a >> 7)) & 0x7FFFFFFF
        k = k ^ (k >> 15)
        best = tl.minimum(best, k)
    tl.store(y + row * HASHES + h, best)


@triton.jit
def volatility(x, y, T, n, BLOCK: tl.constexpr):
    """An exponential variance in doubles along [T, n], a series a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    var = tl.full((BLOCK,), 1e-4, dtype=tl.float64)
    for t in range(T):
        v = tl.load(x + t * n + i, mask=i < n, other=0.0)
        var = 0.94 * var + 0.06 * v * v
        tl.store(y + t * n + i, tl.sqrt(var), mask=i < n)


@triton.jit
def follow_flow(x, flow, y, C, H, W, BLOCK: tl.constexpr):
    """[C, H, W] sampled where a flow [2, H, W] points."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < H * W
    u = (i % W) + tl.load(flow + i, mask=m, other=0.0)
    v = (i // W) + tl.load(flow + H * W + i, mask=m, other=0.0)
    u = tl.minimum(tl.maximum(u, 0.0), W - 1.001)
    v = tl.minimum(tl.maximum(v, 0.0), H - 1.001)
    q = u.to(tl.int32)
    p = v.to(tl.int32)
    a = u - q
    b = v - p
    for c in range(C):
        at = x + (c * H + p) * W + q
        top = tl.load(at, mask=m, other=0.0) * (1 - a) + tl.load(at + 1, mask=m, other=0.0) * a
        low = tl.load(at + W, mask=m, other=0.0) * (1 - a) + tl.load(at + W + 1, mask=m, other=0.0) * a
        tl.store(y + c * H * W + i, top * (1 - b) + low * b, mask=m)


@triton.jit
def entropy(x, y, cols, BLOCK: tl.constexpr):
    """The entropy of the softmax of long rows, block by block."""
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    weighted = 0.0
    for start in range(0, cols, BLOCK):
        k = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + k, mask=k < cols, other=-1e30).to(tl.float32)
        new = tl.maximum(top, tl.max(v, axis=0))
        shrink = tl.exp(top - new)
        e = tl.exp(v - new)
        total = total * shrink + tl.sum(e, axis=0)
        weighted = weighted * shrink + tl.sum(e * v, axis=0)
        top = new
    tl.store(y + row, top + tl.log(total) - weighted / total)


@triton.jit
def patterns(x, y, H, W, BLOCK: tl.constexpr):
    """Which of the eight neighbours are larger, as a byte."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = i // W
    c = i % W
    m = (r > 0) & (r < H - 1) & (c > 0) & (c < W - 1)
    v = tl.load(x + i, mask=m, other=0)
    code = tl.zeros((BLOCK,), dtype=tl.int32)
    code |= (tl.load(x + i - W - 1, mask=m, other=0) >= v).to(tl.int32)
    code |= (tl.load(x + i - W, mask=m, other=0) >= v).to(tl.int32) << 1
    code |= (tl.load(x + i - W + 1, mask=m, other=0) >= v).to(tl.int32) << 2
    code |= (tl.load(x + i + 1, mask=m, other=0) >= v).to(tl.int32) << 3
    code |= (tl.load(x + i + W + 1, mask=m, other=0) >= v).to(tl.int32) << 4
    code |= (tl.load(x + i + W, mask=m, other=0) >= v).to(tl.int32) << 5
    code |= (tl.load(x + i + W - 1, mask=m, other=0) >= v).to(tl.int32) << 6
    code |= (tl.load(x + i - 1, mask=m, other=0) >= v).to(tl.int32) << 7
    tl.store(y + i, code.to(tl.uint8), mask=i < H * W)


@triton.jit
def density(x, at, y, n, m, BI: tl.constexpr, BJ: tl.constexpr):
    """A kernel density of n samples at m places."""
    j = tl.program_id(0) * BJ + tl.arange(0, BJ)
    place = tl.load(at + j, mask=j < m, other=0.0)
    total = tl.zeros((BJ,), dtype=tl.float32)
    for start in range(0, n, BI):
        i = start + tl.arange(0, BI)
        gap = place[:, None] - tl.load(x + i, mask=i < n, other=1e9)[None, :]
        total += tl.sum(tl.exp(-2.0 * gap * gap), axis=1)
    tl.store(y + j, total / n, mask=j < m)


@triton.jit
def margins(x, label, y, cols, BLOCK: tl.constexpr):
    """A hinge loss of rows against the entry of their label."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    wanted = tl.load(label + row)
    v = tl.load(x + row * cols + k, mask=k < cols, other=-1e30).to(tl.float32)
    right = tl.load(x + row * cols + wanted).to(tl.float32)
    gap = tl.where((k == wanted) | (k >= cols), 0.0, tl.maximum(1.0 + v - right, 0.0))
    tl.store(y + row, tl.sum(gap, axis=0))


@triton.jit
def turned_pairs(x, angle, y, heads, D: tl.constexpr):
    """Rotary embedding of neighbouring pairs, in [tokens, heads, D]."""
    token = tl.program_id(0)
    base = (token * heads + tl.program_id(1)) * D
    p = tl.arange(0, D // 2)
    a = tl.load(angle + token * (D // 2) + p)
    u = tl.load(x + base + 2 * p).to(tl.float32)
    v = tl.load(x + base + 2 * p + 1).to(tl.float32)
    c = tl.cos(a)
    s = tl.sin(a)
    tl.store(y + base + 2 * p, (u * c - v * s).to(y.dtype.element_ty))
    tl.store(y + base + 2 * p + 1, (u * s + v * c).to(y.dtype.element_ty))


@triton.jit
def spline(x, knots, y, n, count, BLOCK: tl.constexpr):
    """Catmull and Rom's interpolation between evenly spaced knots."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    t = (tl.sigmoid(tl.load(x + i, mask=i < n, other=0.0)) * (count - 4)) + 1.0
    k = t.to(tl.int32)
    f = t - k
    a = tl.load(knots + k - 1, mask=i < n, other=0.0)
    b = tl.load(knots + k, mask=i < n, other=0.0)
    c = tl.load(knots + k + 1, mask=i < n, other=0.0)
    d = tl.load(knots + k + 2, mask=i < n, other=0.0)
    tl.store(
        y + i, b + 0.5 * f * (c - a + f * (2.0 * a - 5.0 * b + 4.0 * c - d + f * (3.0 * (b - c) + d - a))), mask=i < n
    )


@triton.jit
def decimate(x, w, y, T, STEP: tl.constexpr, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    """Every STEP-th result of a filter of TAPS."""
    row = tl.program_id(0)
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(TAPS):
        at = t * STEP + k
        total += tl.load(w + k) * tl.load(x + row * T + at, mask=at < T, other=0.0)
    tl.store(y + row * (T // STEP) + t, total, mask=t < T // STEP)


@triton.jit
def small_matrices(a, b, y, n, BLOCK: tl.constexpr):
    """Products of 2 x 2 complex matrices [n, 8], a pair a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    for r in tl.static_range(2):
        for c in tl.static_range(2):
            re = tl.zeros((BLOCK,), dtype=tl.float32)
            im = tl.zeros((BLOCK,), dtype=tl.float32)
            for k in tl.static_range(2):
                p = tl.load(a + i * 8 + (r * 2 + k) * 2, mask=m, other=0.0)
                q = tl.load(a + i * 8 + (r * 2 + k) * 2 + 1, mask=m, other=0.0)
                u = tl.load(b + i * 8 + (k * 2 + c) * 2, mask=m, other=0.0)
                v = tl.load(b + i * 8 + (k * 2 + c) * 2 + 1, mask=m, other=0.0)
                re += p * u - q * v
                im += p * v + q * u
            tl.store(y + i * 8 + (r * 2 + c) * 2, re, mask=m)
            tl.store(y + i * 8 + (r * 2 + c) * 2 + 1, im, mask=m)


@triton.jit
def curve_place(x, y, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    """The place of [n, 2] coordinates on Hilbert's curve."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i * 2, mask=i < n, other=0) & ((1 << BITS) - 1)
    b = tl.load(x + i * 2 + 1, mask=i < n, other=0) & ((1 << BITS) - 1)
    d = tl.zeros((BLOCK,), dtype=tl.int32)
    for k in range(BITS):
        s = BITS - 1 - k
        u = (a >> s) & 1
        v = (b >> s) & 1
        d += ((3 * u) ^ v) << (2 * s)
        flip = (v == 0) & (u == 1)
        p = tl.where(flip, (1 << BITS) - 1 - a, a)
        q = tl.where(flip, (1 << BITS) - 1 - b, b)
        a = tl.where(v == 0, q, p)
        b = tl.where(v == 0, p, q)
    tl.store(y + i, d, mask=i < n)


@triton.jit
def checksum(x, table, y, n, LENGTH: tl.constexpr, BLOCK: tl.constexpr):
    """CRC of [n, LENGTH] bytes by a table of 256, a message a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.full((BLOCK,), -1, dtype=tl.int32)
    for k in range(LENGTH):
        v = tl.load(x + i * LENGTH + k, mask=i < n, other=0).to(tl.int32)
        c = tl.load(table + ((c ^ v) & 255)) ^ ((c >> 8) & 0xFFFFFF)
    tl.store(y + i, c, mask=i < n)


@triton.jit
def byte_vector(x, w, scale, y, rows, cols, BM: tl.constexpr, BK: tl.constexpr):
    """A matrix of bytes with a scale a row times a vector."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM, BK), dtype=tl.float32)
    for start in range(0, cols, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(w + m[:, None] * cols + k[None, :], mask=(m[:, None] < rows) & (k[None, :] < cols), other=0)
        total += a.to(tl.float32) * tl.load(x + k, mask=k < cols, other=0.0).to(tl.float32)[None, :]
    tl.store(y + m, tl.sum(total, axis=1) * tl.load(scale + m, mask=m < rows, other=0.0), mask=m < rows)


@triton.jit
def route(x, which, weight, load_of, E: tl.constexpr, R: tl.constexpr):
    """The best expert of a token, its share, and how many each one has."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    e = tl.arange(0, E)
    v = tl.load(x + r[:, None] * E + e[None, :]).to(tl.float32)
    top = tl.max(v, axis=1)
    best = tl.argmax(v, axis=1)
    tl.store(which + r, best)
    tl.store(weight + r, 1.0 / tl.sum(tl.exp(v - top[:, None]), axis=1))
    tl.atomic_add(load_of + best, 1)


@triton.jit
def joint_counts(x, other, y, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """A histogram of pairs of bytes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0).to(tl.int32) * BINS // 256
    b = tl.load(other + i, mask=i < n, other=0).to(tl.int32) * BINS // 256
    tl.atomic_add(y + a * BINS + b, 1.0, mask=i < n)


@triton.jit
def block_totals(x, y, totals, n, BLOCK: tl.constexpr):
    """Running sums of a block and its total: the first of three launches."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.store(y + i, tl.cumsum(v, axis=0), mask=i < n)
    tl.store(totals + tl.program_id(0), tl.sum(v, axis=0))


@triton.jit
def scan_totals(totals, starts, count, MOST: tl.constexpr):
    """Running sums of the totals: the second."""
    k = tl.arange(0, MOST)
    v = tl.load(totals + k, mask=k < count, other=0)
    tl.store(starts + k, tl.cumsum(v, axis=0) - v, mask=k < count)


@triton.jit
def add_starts(y, starts, n, BLOCK: tl.constexpr):
    """What stands before each block, added: the third."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(y + i, mask=i < n, other=0) + tl.load(starts + tl.program_id(0)), mask=i < n)


@triton.jit
def sliding_sum(x, y, H, W, R: tl.constexpr, BLOCK: tl.constexpr):
    """Sums of 2 R + 1 pixels along each row, a row a lane, by what comes and goes."""
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(W + R):
        total += tl.load(x + r * W + c, mask=(r < H) & (c < W), other=0.0)
        total -= tl.load(x + r * W + c - 2 * R - 1, mask=(r < H) & (c > 2 * R), other=0.0)
        tl.store(y + r * W + c - R, total, mask=(r < H) & (c >= R))


@triton.jit
def overlaps(a, b, y, n, m, BN: tl.constexpr, BM: tl.constexpr):
    """How far boxes [n, 4] overlap others [m, 4]."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    j = tl.program_id(1) * BM + tl.arange(0, BM)
    ax = tl.load(a + i * 4, mask=i < n, other=0.0)[:, None]
    ay = tl.load(a + i * 4 + 1, mask=i < n, other=0.0)[:, None]
    aw = tl.abs(tl.load(a + i * 4 + 2, mask=i < n, other=0.0))[:, None]
    ah = tl.abs(tl.load(a + i * 4 + 3, mask=i < n, other=0.0))[:, None]
    bx = tl.load(b + j * 4, mask=j < m, other=0.0)[None, :]
    by = tl.load(b + j * 4 + 1, mask=j < m, other=0.0)[None, :]
    bw = tl.abs(tl.load(b + j * 4 + 2, mask=j < m, other=0.0))[None, :]
    bh = tl.abs(tl.load(b + j * 4 + 3, mask=j < m, other=0.0))[None, :]
    w = tl.minimum(ax + aw, bx + bw) - tl.maximum(ax, bx)
    h = tl.minimum(ay + ah, by + bh) - tl.maximum(ay, by)
    both = tl.maximum(w, 0.0) * tl.maximum(h, 0.0)
    tl.store(
        y + i[:, None] * m + j[None, :],
        both / (aw * ah + bw * bh - both + 1e-6),
        mask=(i[:, None] < n) & (j[None, :] < m),
    )


@triton.jit
def splat(points, y, count, W, H, BLOCK: tl.constexpr):
    """Bells of so many points [count, 4] summed at each pixel."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = (i % W) * (2.0 / W) - 1.0
    v = (i // W) * (2.0 / H) - 1.0
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for p in range(count):
        dx = u - tl.load(points + p * 4)
        dy = v - tl.load(points + p * 4 + 1)
        total += tl.load(points + p * 4 + 2) * tl.exp(-8.0 * (dx * dx + dy * dy))
    tl.store(y + i, total, mask=i < W * H)


@triton.jit
def hashed_drop(x, bias, y, n, C, BLOCK: tl.constexpr):
    """A bias, Mish and dropout by a hash of the place."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32) + tl.load(bias + i % C, mask=i < n, other=0.0).to(
        tl.float32
    )
    e = tl.exp(v)
    r = v * (1.0 - 2.0 / ((1.0 + e) * (1.0 + e) + 1.0))
    h = i * 1640531527
    h = (h ^ (h >> 15)) * 739982445
    h = (h ^ (h >> 12)) * 695872825
    h = h ^ (h >> 15)
    tl.store(y + i, tl.where((h & 1023) > 102, r * 1.111, 0.0).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def lattice(x, y, n, BLOCK: tl.constexpr):
    """The nearest point of a lattice in four dimensions, [n, 4] in and out."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i * 4, mask=m, other=0.0)
    b = tl.load(x + i * 4 + 1, mask=m, other=0.0)
    c = tl.load(x + i * 4 + 2, mask=m, other=0.0)
    d = tl.load(x + i * 4 + 3, mask=m, other=0.0)
    p = tl.floor(a + 0.5)
    q = tl.floor(b + 0.5)
    r = tl.floor(c + 0.5)
    s = tl.floor(d + 0.5)
    odd = (p + q + r + s) - 2.0 * tl.floor((p + q + r + s) * 0.5)
    s += odd * tl.where(d > s, 1.0, -1.0)
    tl.store(y + i * 4, p, mask=m)
    tl.store(y + i * 4 + 1, q, mask=m)
    tl.store(y + i * 4 + 2, r, mask=m)
    tl.store(y + i * 4 + 3, s, mask=m)


@triton.jit
def correlate_rows(x, y, rows, cols, BLOCK: tl.constexpr):
    """A row's correlation with the one that follows it, in doubles."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    a = tl.load(x + row * cols + k, mask=k < cols, other=0.0).to(tl.float64)
    b = tl.load(x + ((row + 1) % rows) * cols + k, mask=k < cols, other=0.0).to(tl.float64)
    a = tl.where(k < cols, a - tl.sum(a, axis=0) / cols, 0.0)
    b = tl.where(k < cols, b - tl.sum(b, axis=0) / cols, 0.0)
    tl.store(y + row, tl.sum(a * b, axis=0) / tl.sqrt(tl.sum(a * a, axis=0) * tl.sum(b * b, axis=0)))


def _programs() -> tuple:
    """Kernel, names of parameters, their values, how it is launched."""
    b = Buffer
    many = ("n", "BLOCK", "num_warps")

    def wide(cols):
        return 1 << (cols - 1).bit_length()

    def rows(kernel, dtype, *more, block=0):
        def made(r, c, w):
            given = [b(name, kind, r, below) for name, kind, below in more]
            return Launch(
                kernel, (b("x", dtype, r * c), *given, b("y", "float32", r), c), {"BLOCK": block or wide(c)}, (r,), w
            )

        return made

    def flat(kernel, dtype, width, wide=1, inputs=1, out=None, **constants):
        def made(n, B, w):
            given = [b(name, dtype, n * width) for name in ("x", "other")[:inputs]]
            return Launch(
                kernel, (*given, b("y", out or dtype, n * wide), n), {**constants, "BLOCK": B}, (cdiv(n, B),), w
            )

        return made

    def scanned(n, B, w):
        y, totals, starts, count = (
            b("y", "int32", n),
            b("totals", "int32", n // B),
            b("starts", "int32", n // B),
            n // B,
        )
        return (
            Launch(block_totals, (b("x", "int32", n), y, totals, n), {"BLOCK": B}, (count,), w),
            Launch(scan_totals, (totals, starts, count), {"MOST": wide(count)}, (1,), 8),
            Launch(add_starts, (y, starts, n), {"BLOCK": B}, (count,), w),
        )

    return (
        (
            signature,
            ("rows", "items", "HASHES", "num_warps"),
            ((128, 100, 128, 4), (8192, 300, 128, 4)),
            lambda r, i, h, w: Launch(
                signature,
                (b("x", "int32", r * i), b("seeds", "int32", h), b("y", "int32", r * h), i),
                {"HASHES": h},
                (r,),
                w,
            ),
        ),
        (
            volatility,
            ("T", "n", "BLOCK", "num_warps"),
            ((250, 2000, 32, 1), (1000, 50000, 128, 4)),
            lambda T, n, B, w: Launch(
                volatility, (b("x", "float64", T * n), b("y", "float64", T * n), T, n), {"BLOCK": B}, (cdiv(n, B),), w
            ),
        ),
        (
            follow_flow,
            ("C", "H", "W", "BLOCK", "num_warps"),
            ((16, 96, 128, 256, 4), (32, 720, 1280, 512, 4), (3, 480, 640, 128, 4)),
            lambda C, H, W, B, w: Launch(
                follow_flow,
                (
                    b("x", "float32", C * H * W + W + 1),
                    b("flow", "float32", 2 * H * W),
                    b("y", "float32", C * H * W),
                    C,
                    H,
                    W,
                ),
                {"BLOCK": B},
                (cdiv(H * W, B),),
                w,
            ),
        ),
        (
            entropy,
            ("rows", "cols", "num_warps"),
            ((64, 32000, 4), (2048, 50257, 8)),
            rows(entropy, "float16", block=2048),
        ),
        (
            patterns,
            ("H", "W", "BLOCK", "num_warps"),
            ((200, 300, 256, 4), (3000, 4000, 1024, 4)),
            lambda H, W, B, w: Launch(
                patterns, (b("x8", "uint8", H * W), b("y8", "uint8", H * W), H, W), {"BLOCK": B}, (cdiv(H * W, B),), w
            ),
        ),
        (
            density,
            ("n", "m", "BI", "BJ", "num_warps"),
            ((1000, 500, 64, 16, 4), (20000, 20000, 128, 32, 4), (100000, 4096, 64, 64, 8)),
            lambda n, m, P, J, w: Launch(
                density,
                (b("x", "float32", n), b("other", "float32", m), b("y", "float32", m), n, m),
                {"BI": P, "BJ": J},
                (cdiv(m, J),),
                w,
            ),
        ),
        (
            margins,
            ("rows", "cols", "num_warps"),
            ((256, 100, 1), (16384, 1000, 4)),
            rows(margins, "float32", ("label", "int64", 100)),
        ),
        (
            turned_pairs,
            ("tokens", "heads", "D", "num_warps"),
            ((128, 8, 64, 1), (4096, 32, 128, 4)),
            lambda t, h, D, w: Launch(
                turned_pairs,
                (b("x", "float16", t * h * D), b("angle", "float32", t * D // 2), b("y", "float16", t * h * D), h),
                {"D": D},
                (t, h),
                w,
            ),
        ),
        (
            spline,
            ("n", "count", "BLOCK", "num_warps"),
            ((1 << 15, 64, 256, 4), (1 << 23, 4096, 1024, 4)),
            lambda n, c, B, w: Launch(
                spline,
                (b("x", "float32", n), b("knots", "float32", c), b("y", "float32", n), n, c),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            decimate,
            ("rows", "T", "STEP", "TAPS", "BLOCK", "num_warps"),
            ((8, 16000, 4, 48, 256, 4), (256, 48000, 3, 60, 512, 4)),
            lambda r, T, s, k, B, w: Launch(
                decimate,
                (b("x", "float32", r * T), b("w", "float32", k), b("y", "float32", r * (T // s)), T),
                {"STEP": s, "TAPS": k, "BLOCK": B},
                (r, cdiv(T // s, B)),
                w,
            ),
        ),
        (small_matrices, many, ((1 << 14, 128, 4), (1 << 21, 256, 4)), flat(small_matrices, "float32", 8, 8, 2)),
        (curve_place, many, ((1 << 15, 256, 4), (1 << 22, 512, 4)), flat(curve_place, "int32", 2, BITS=16)),
        (
            checksum,
            ("n", "LENGTH", "BLOCK", "num_warps"),
            ((1 << 13, 64, 64, 2), (1 << 18, 128, 128, 4)),
            lambda n, L, B, w: Launch(
                checksum,
                (b("x8", "uint8", n * L), b("table", "int32", 256), b("y", "int32", n), n),
                {"LENGTH": L, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            byte_vector,
            ("rows", "cols", "BM", "BK", "num_warps"),
            ((1024, 1024, 4, 256, 4), (14336, 4096, 8, 512, 4), (4096, 14336, 32, 64, 4)),
            lambda r, c, M, K, w: Launch(
                byte_vector,
                (b("x", "float16", c), b("w8", "int8", r * c), b("scale", "float32", r), b("y", "float32", r), r, c),
                {"BM": M, "BK": K},
                (cdiv(r, M),),
                w,
            ),
        ),
        (
            route,
            ("tokens", "E", "R", "num_warps"),
            ((1024, 16, 8, 1), (131072, 64, 32, 4)),
            lambda t, E, R, w: Launch(
                route,
                (b("x", "float16", t * E), b("which", "int32", t), b("weight", "float32", t), b("counts", "int32", E)),
                {"E": E, "R": R},
                (t // R,),
                w,
            ),
        ),
        (
            joint_counts,
            many,
            ((1 << 15, 256, 4), (1 << 22, 1024, 4)),
            lambda n, B, w: Launch(
                joint_counts,
                (b("x8", "uint8", n), b("other8", "uint8", n), b("y", "float32", 1024), n),
                {"BINS": 32, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (block_totals, many, ((1 << 16, 512, 4), (1 << 22, 2048, 4), (1 << 24, 4096, 8)), scanned),
        (
            sliding_sum,
            ("H", "W", "BLOCK", "num_warps"),
            ((512, 512, 32, 1), (4096, 3000, 64, 2)),
            lambda H, W, B, w: Launch(
                sliding_sum,
                (b("x", "float32", H * W), b("y", "float32", H * W), H, W),
                {"R": 7, "BLOCK": B},
                (cdiv(H, B),),
                w,
            ),
        ),
        (
            overlaps,
            ("n", "m", "BN", "BM", "num_warps"),
            ((500, 100, 16, 32, 4), (8192, 4096, 32, 64, 4)),
            lambda n, m, N, M, w: Launch(
                overlaps,
                (b("x", "float32", 4 * n), b("other", "float32", 4 * m), b("y", "float32", n * m), n, m),
                {"BN": N, "BM": M},
                (cdiv(n, N), cdiv(m, M)),
                w,
            ),
        ),
        (
            splat,
            ("count", "W", "H", "BLOCK", "num_warps"),
            ((64, 128, 128, 128, 4), (200, 1024, 1024, 256, 4), (1000, 256, 256, 64, 2)),
            lambda c, W, H, B, w: Launch(
                splat,
                (b("points", "float32", 4 * c), b("y", "float32", W * H), c, W, H),
                {"BLOCK": B},
                (cdiv(W * H, B),),
                w,
            ),
        ),
        (
            hashed_drop,
            ("n", "C", "BLOCK", "num_warps"),
            ((1 << 16, 384, 512, 4), (1 << 24, 1024, 1024, 4)),
            lambda n, C, B, w: Launch(
                hashed_drop,
                (b("x", "float16", n), b("w", "float16", C), b("y", "float16", n), n, C),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (lattice, many, ((1 << 15, 256, 4), (1 << 22, 512, 4)), flat(lattice, "float32", 4, 4)),
        (
            correlate_rows,
            ("rows", "cols", "num_warps"),
            ((300, 500, 4), (20000, 1500, 4)),
            lambda r, c, w: Launch(
                correlate_rows, (b("x", "float32", r * c), b("y", "float64", r), r, c), {"BLOCK": wide(c)}, (r,), w
            ),
        ),
    )


def made(programs: tuple) -> list[Case]:
    """The cases of ``programs``."""
    found = []
    for kernel, names, sizes, build in programs:
        for values in sizes:
            launches = build(*values)
            launches = launches if isinstance(launches, tuple) else (launches,)
            params = dict(zip(names, values, strict=True))
            params.setdefault("dtype", launches[0].args[0].dtype)
            found.append(micro(kernel.__name__, params, *launches))
    return found


def cases() -> list[Case]:
    """All cases of this module."""
    return made(_programs())
