"""Whole programs about places, as strangers write them: stencils, images, windows, gathers, scatters, graphs, orders, many launches.

Part of :mod:`medley`. Images are [planes, H, W] unless a kernel says otherwise.
"""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def heat(x, y, H, W, BLOCK: tl.constexpr):
    """One step of heat on a plane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < H * W
    r = i // W
    c = i % W
    v = tl.load(x + i, mask=m, other=0.0)
    up = tl.load(x + i - W, mask=m & (r > 0), other=0.0)
    down = tl.load(x + i + W, mask=m & (r < H - 1), other=0.0)
    left = tl.load(x + i - 1, mask=m & (c > 0), other=0.0)
    right = tl.load(x + i + 1, mask=m & (c < W - 1), other=0.0)
    tl.store(y + i, v + 0.2 * (up + down + left + right - 4.0 * v), mask=m)


@triton.jit
def volume(x, y, D, H, W, BLOCK: tl.constexpr):
    """A Laplacian of seven points in space that wraps around."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < D * H * W
    c = i % W
    r = (i // W) % H
    d = i // (W * H)
    v = tl.load(x + i, mask=m, other=0.0) * -6.0
    v += tl.load(x + (d * H + r) * W + (c + 1) % W, mask=m, other=0.0)
    v += tl.load(x + (d * H + r) * W + (c + W - 1) % W, mask=m, other=0.0)
    v += tl.load(x + (d * H + (r + 1) % H) * W + c, mask=m, other=0.0)
    v += tl.load(x + (d * H + (r + H - 1) % H) * W + c, mask=m, other=0.0)
    v += tl.load(x + (((d + 1) % D) * H + r) * W + c, mask=m, other=0.0)
    v += tl.load(x + (((d + D - 1) % D) * H + r) * W + c, mask=m, other=0.0)
    tl.store(y + i, v, mask=m)


@triton.jit
def wave(now, old, y, n, BLOCK: tl.constexpr):
    """A step of a wave in doubles, of fourth order."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = (i > 1) & (i < n - 2)
    v = tl.load(now + i, mask=m, other=0.0)
    near = tl.load(now + i - 1, mask=m, other=0.0) + tl.load(now + i + 1, mask=m, other=0.0)
    far = tl.load(now + i - 2, mask=m, other=0.0) + tl.load(now + i + 2, mask=m, other=0.0)
    bend = (16.0 * near - far - 30.0 * v) / 12.0
    tl.store(y + i, 2.0 * v - tl.load(old + i, mask=m, other=0.0) + 0.25 * bend, mask=m)


@triton.jit
def life(x, y, H, W, BLOCK: tl.constexpr):
    """A generation of Conway's game, in bytes, that wraps around."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < H * W
    r = i // W
    c = i % W
    total = tl.zeros((BLOCK,), dtype=tl.int32)
    for dr in tl.static_range(3):
        for dc in tl.static_range(3):
            if dr != 1 or dc != 1:
                at = ((r + dr + H - 1) % H) * W + (c + dc + W - 1) % W
                total += tl.load(x + at, mask=m, other=0).to(tl.int32) & 1
    own = tl.load(x + i, mask=m, other=0).to(tl.int32) & 1
    tl.store(y + i, ((total == 3) | ((total == 2) & (own == 1))).to(tl.uint8), mask=m)


@triton.jit
def edges(x, y, H, W, BH: tl.constexpr, BW: tl.constexpr):
    """Sobel's magnitude, tile by tile."""
    r = tl.program_id(0) * BH + tl.arange(0, BH)
    c = tl.program_id(1) * BW + tl.arange(0, BW)
    m = (r[:, None] < H) & (c[None, :] < W)
    gx = tl.zeros((BH, BW), dtype=tl.float32)
    gy = tl.zeros((BH, BW), dtype=tl.float32)
    for dr in tl.static_range(3):
        for dc in tl.static_range(3):
            a = r + dr - 1
            b = c + dc - 1
            ok = (a[:, None] >= 0) & (a[:, None] < H) & (b[None, :] >= 0) & (b[None, :] < W)
            v = tl.load(x + a[:, None] * W + b[None, :], mask=ok, other=0.0).to(tl.float32)
            gx += v * ((dc - 1) * (2 - (dr - 1) * (dr - 1)))
            gy += v * ((dr - 1) * (2 - (dc - 1) * (dc - 1)))
    tl.store(y + r[:, None] * W + c[None, :], tl.sqrt(gx * gx + gy * gy), mask=m)


@triton.jit
def bilateral(x, y, H, W, R: tl.constexpr, BLOCK: tl.constexpr):
    """A filter that weighs neighbours by place and value."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane = tl.program_id(1) * H * W
    m = i < H * W
    r = i // W
    c = i % W
    v = tl.load(x + plane + i, mask=m, other=0.0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    weight = tl.zeros((BLOCK,), dtype=tl.float32)
    for dr in range(-R, R + 1):
        for dc in range(-R, R + 1):
            ok = m & (r + dr >= 0) & (r + dr < H) & (c + dc >= 0) & (c + dc < W)
            u = tl.load(x + plane + (r + dr) * W + c + dc, mask=ok, other=0.0)
            w = tl.where(ok, tl.exp(-0.1 * (dr * dr + dc * dc) - (u - v) * (u - v)), 0.0)
            total += w * u
            weight += w
    tl.store(y + plane + i, total / weight, mask=m)


@triton.jit
def ordered(a, b):
    """Two numbers in order."""
    return tl.minimum(a, b), tl.maximum(a, b)


@triton.jit
def middle(x, y, H, W, BLOCK: tl.constexpr):
    """The median of five neighbours."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = (i >= W) & (i < (H - 1) * W)
    a = tl.load(x + i, mask=m, other=0)
    b = tl.load(x + i - 1, mask=m, other=0)
    c = tl.load(x + i + 1, mask=m, other=0)
    d = tl.load(x + i - W, mask=m, other=0)
    e = tl.load(x + i + W, mask=m, other=0)
    a, b = ordered(a, b)
    d, e = ordered(d, e)
    a, d = ordered(a, d)
    b, e = ordered(b, e)
    b, c = ordered(b, c)
    c, d = ordered(c, d)
    b, c = ordered(b, c)
    tl.store(y + i, c, mask=m)


@triton.jit
def dilate(x, y, H, W, R: tl.constexpr, BLOCK: tl.constexpr):
    """The largest byte of a window of 2 R + 1 squared."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = i // W
    c = i % W
    best = tl.zeros((BLOCK,), dtype=tl.int32)
    for dr in range(-R, R + 1):
        for dc in range(-R, R + 1):
            ok = (r + dr >= 0) & (r + dr < H) & (c + dc >= 0) & (c + dc < W)
            best = tl.maximum(best, tl.load(x + i + dr * W + dc, mask=ok & (i < H * W), other=0).to(tl.int32))
    tl.store(y + i, best.to(tl.uint8), mask=i < H * W)


@triton.jit
def smooth_columns(x, w, y, H, W, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    """A filter along columns, a row of the image a program."""
    r = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for t in range(TAPS):
        at = tl.minimum(tl.maximum(r + t - TAPS // 2, 0), H - 1)
        total += tl.load(w + t) * tl.load(x + at * W + c, mask=c < W, other=0.0).to(tl.float32)
    tl.store(y + r * W + c, total.to(y.dtype.element_ty), mask=c < W)


@triton.jit
def smooth_rows(x, w, y, H, W, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    """A filter along rows."""
    r = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for t in range(TAPS):
        at = c + t - TAPS // 2
        v = tl.load(x + r * W + at, mask=(at >= 0) & (at < W), other=0.0).to(tl.float32)
        total += tl.load(w + t) * v
    tl.store(y + r * W + c, total.to(y.dtype.element_ty), mask=c < W)


@triton.jit
def halve_last(x, y, n, W, C, BLOCK: tl.constexpr):
    """Means of 2 x 2 pixels of [B, H, W, C]."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    c = i % C
    q = i // C % (W // 2)
    r = i // C // (W // 2)
    at = (r * 2 * W + q * 2) * C + c
    v = tl.load(x + at, mask=m, other=0.0).to(tl.float32) + tl.load(x + at + C, mask=m, other=0.0).to(tl.float32)
    v += tl.load(x + at + W * C, mask=m, other=0.0).to(tl.float32)
    v += tl.load(x + at + W * C + C, mask=m, other=0.0).to(tl.float32)
    tl.store(y + i, (v * 0.25).to(y.dtype.element_ty), mask=m)


@triton.jit
def shuffle_pixels(x, y, n, C, H, W, UP: tl.constexpr, BLOCK: tl.constexpr):
    """Channels to places: [B, C UP UP, H, W] to [B, C, H UP, W UP]."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ow = i % (W * UP)
    oh = i // (W * UP) % (H * UP)
    c = i // (W * UP * H * UP) % C
    b = i // (W * UP * H * UP * C)
    channel = (c * UP + oh % UP) * UP + ow % UP
    at = ((b * C * UP * UP + channel) * H + oh // UP) * W + ow // UP
    tl.store(y + i, tl.load(x + at, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def patches(x, y, n, C, H, W, K: tl.constexpr, BLOCK: tl.constexpr):
    """Windows of K x K written out, [C K K, H W] an image."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = i % (H * W)
    tap = i // (H * W) % (K * K)
    c = i // (H * W * K * K) % C
    r = place // W + tap // K - K // 2
    q = place % W + tap % K - K // 2
    ok = (i < n) & (r >= 0) & (r < H) & (q >= 0) & (q < W)
    tl.store(y + i, tl.load(x + (c * H + r) * W + q, mask=ok, other=0.0), mask=i < n)


@triton.jit
def mirrored(x, y, n, H, W, P: tl.constexpr, BLOCK: tl.constexpr):
    """Planes with mirrored borders of P."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ow = W + 2 * P
    oh = H + 2 * P
    c = tl.abs(i % ow - P)
    c = W - 1 - tl.abs(W - 1 - c)
    r = tl.abs(i // ow % oh - P)
    r = H - 1 - tl.abs(H - 1 - r)
    tl.store(y + i, tl.load(x + (i // (ow * oh) * H + r) * W + c, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def turn_axes(x, y, n, A, B, C, D, BLOCK: tl.constexpr):
    """[A, B, C, D] to [A, C, B, D], an element a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = i % D
    b = i // D % B
    c = i // (D * B) % C
    a = i // (D * B * C)
    tl.store(y + i, tl.load(x + ((a * B + b) * C + c) * D + d, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def warp_image(x, y, C, H, W, BLOCK: tl.constexpr):
    """An image turned a little, by bilinear samples, channel by channel."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = (i // W).to(tl.float32)
    c = (i % W).to(tl.float32)
    u = 0.98 * c - 0.17 * r + 12.0
    v = 0.17 * c + 0.98 * r - 8.0
    q = tl.floor(u)
    p = tl.floor(v)
    a = u - q
    b = v - p
    q = q.to(tl.int32)
    p = p.to(tl.int32)
    for k in range(C):
        base = x + k * H * W + p * W + q
        top = (p >= 0) & (p < H) & (i < H * W)
        low = (p >= -1) & (p < H - 1) & (i < H * W)
        left = (q >= 0) & (q < W)
        right = (q >= -1) & (q < W - 1)
        s = tl.load(base, mask=top & left, other=0.0) * (1.0 - a) + tl.load(base + 1, mask=top & right, other=0.0) * a
        t = (
            tl.load(base + W, mask=low & left, other=0.0) * (1.0 - a)
            + tl.load(base + W + 1, mask=low & right, other=0.0) * a
        )
        tl.store(y + k * H * W + i, s * (1.0 - b) + t * b, mask=i < H * W)


@triton.jit
def colour_table(x, table, y, n, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    """The nearest colour of a cube [SIDE, SIDE, SIDE, 3] for bytes [n, 3]."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    r = tl.load(x + i * 3, mask=m, other=0).to(tl.int32) * SIDE // 256
    g = tl.load(x + i * 3 + 1, mask=m, other=0).to(tl.int32) * SIDE // 256
    b = tl.load(x + i * 3 + 2, mask=m, other=0).to(tl.int32) * SIDE // 256
    at = ((r * SIDE + g) * SIDE + b) * 3
    tl.store(y + i * 3, tl.load(table + at, mask=m, other=0.0), mask=m)
    tl.store(y + i * 3 + 1, tl.load(table + at + 1, mask=m, other=0.0), mask=m)
    tl.store(y + i * 3 + 2, tl.load(table + at + 2, mask=m, other=0.0), mask=m)


@triton.jit
def palette(x, table, y, n, BLOCK: tl.constexpr):
    """Bytes looked up in a table of 256."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(table + tl.load(x + i, mask=i < n, other=0).to(tl.int32), mask=i < n), mask=i < n)


@triton.jit
def filter_series(x, w, y, T, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    """A filter of TAPS along each of the series [n, T]."""
    row = tl.program_id(0)
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(TAPS):
        total += tl.load(w + k) * tl.load(x + row * T + t - k, mask=(t >= k) & (t < T), other=0.0).to(tl.float32)
    tl.store(y + row * T + t, total.to(y.dtype.element_ty), mask=t < T)


@triton.jit
def self_similarity(x, y, T, BLOCK: tl.constexpr):
    """The autocorrelation of a series at a lag, a program each."""
    lag = tl.program_id(0)
    row = tl.program_id(1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, T, BLOCK):
        t = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * T + t, mask=t < T, other=0.0)
        total += a * tl.load(x + row * T + t + lag, mask=t + lag < T, other=0.0)
    tl.store(y + row * tl.num_programs(0) + lag, tl.sum(total, axis=0) / T)


@triton.jit
def frames(x, w, y, T, HOP, N: tl.constexpr):
    """Overlapping frames of a series times a window."""
    f = tl.program_id(0)
    k = tl.arange(0, N)
    v = tl.load(x + f * HOP + k, mask=f * HOP + k < T, other=0.0)
    tl.store(y + f * N + k, v * tl.load(w + k))


@triton.jit
def sparse_rows(starts, columns, values, x, y, BLOCK: tl.constexpr):
    """A sparse matrix by rows times a vector, a row a program."""
    r = tl.program_id(0)
    first = tl.load(starts + r)
    last = tl.load(starts + r + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(first, last, BLOCK):
        k = start + tl.arange(0, BLOCK)
        c = tl.load(columns + k, mask=k < last, other=0)
        total += tl.load(values + k, mask=k < last, other=0.0) * tl.load(x + c, mask=k < last, other=0.0)
    tl.store(y + r, tl.sum(total, axis=0))


@triton.jit
def padded_rows(columns, values, x, y, n, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """The same of [EACH, n] padded columns, a row a lane."""
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(EACH):
        c = tl.load(columns + k * n + r, mask=r < n, other=0)
        total += tl.load(values + k * n + r, mask=r < n, other=0.0) * tl.load(x + c, mask=r < n, other=0.0)
    tl.store(y + r, total, mask=r < n)


@triton.jit
def push_edges(source, target, x, y, n, BLOCK: tl.constexpr):
    """Ranks pushed along edges."""
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(source + e, mask=e < n, other=0)
    t = tl.load(target + e, mask=e < n, other=0)
    tl.atomic_add(y + t, tl.load(x + s, mask=e < n, other=0.0) * 0.85, mask=e < n)


@triton.jit
def relax_edges(source, target, x, y, n, BLOCK: tl.constexpr):
    """Distances lowered along edges, in integers."""
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(source + e, mask=e < n, other=0)
    t = tl.load(target + e, mask=e < n, other=0)
    tl.atomic_min(y + t, tl.load(x + s, mask=e < n, other=0) + 1, mask=e < n)


@triton.jit
def score_edges(source, target, a, b, y, n, HEADS: tl.constexpr, BLOCK: tl.constexpr):
    """Scores of edges of a graph, HEADS of them an edge."""
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.arange(0, HEADS)
    m = e[:, None] < n
    s = tl.load(source + e, mask=e < n, other=0)
    t = tl.load(target + e, mask=e < n, other=0)
    v = tl.load(a + s[:, None] * HEADS + h[None, :], mask=m, other=0.0)
    v += tl.load(b + t[:, None] * HEADS + h[None, :], mask=m, other=0.0)
    tl.store(y + e[:, None] * HEADS + h[None, :], tl.exp(tl.where(v > 0.0, v, 0.2 * v)), mask=m)


@triton.jit
def bags(table, index, y, D, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """Means of EACH rows of a table."""
    b = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(EACH):
        row = tl.load(index + b * EACH + k)
        total += tl.load(table + row * D + d, mask=d < D, other=0.0).to(tl.float32)
    tl.store(y + b * D + d, total / EACH, mask=d < D)


@triton.jit
def add_rows(x, index, y, D, BLOCK: tl.constexpr):
    """Rows added to those that an index names."""
    r = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    row = tl.load(index + r)
    tl.atomic_add(y + row * D + d, tl.load(x + r * D + d, mask=d < D, other=0.0), mask=d < D)


@triton.jit
def search(x, borders, y, n, count, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """The bucket of each number, by halving."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    low = tl.zeros((BLOCK,), dtype=tl.int32)
    high = tl.full((BLOCK,), 0, dtype=tl.int32) + count
    for _ in range(STEPS):
        mid = (low + high) // 2
        right = tl.load(borders + tl.minimum(mid, count - 1), mask=i < n, other=0) < v
        low = tl.where(right, mid + 1, low)
        high = tl.where(right, high, mid)
    tl.store(y + i, low, mask=i < n)


@triton.jit
def probe(keys, filter, y, n, MASK: tl.constexpr, BLOCK: tl.constexpr):
    """Three probes of a filter of bits."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(keys + i, mask=i < n, other=0)
    found = tl.full((BLOCK,), 1, dtype=tl.int32)
    for h in tl.static_range(3):
        at = ((k + h * 7919) * 73244475 ^ (k >> 3)) & MASK
        found &= tl.load(filter + (at >> 5), mask=i < n, other=0) >> (at & 31)
    tl.store(y + i, (found & 1).to(tl.int8), mask=i < n)


@triton.jit
def jump(parent, y, n, HOPS: tl.constexpr, BLOCK: tl.constexpr):
    """Pointers followed HOPS times."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(parent + i, mask=i < n, other=0)
    for _ in range(HOPS):
        p = tl.load(parent + p, mask=i < n, other=0)
    tl.store(y + i, p, mask=i < n)


@triton.jit
def voxels(x, y, n, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Points [n, 3] counted in a cube of cells."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = (tl.load(x + i * 3, mask=m, other=0.0) * (SIDE / 6.0) + SIDE / 2).to(tl.int32)
    b = (tl.load(x + i * 3 + 1, mask=m, other=0.0) * (SIDE / 6.0) + SIDE / 2).to(tl.int32)
    c = (tl.load(x + i * 3 + 2, mask=m, other=0.0) * (SIDE / 6.0) + SIDE / 2).to(tl.int32)
    ok = m & (a >= 0) & (a < SIDE) & (b >= 0) & (b < SIDE) & (c >= 0) & (c < SIDE)
    tl.atomic_add(y + (a * SIDE + b) * SIDE + c, 1, mask=ok)


@triton.jit
def count_bytes(x, y, n, BLOCK: tl.constexpr):
    """A histogram of bytes, an atomic an element."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + tl.load(x + i, mask=i < n, other=0).to(tl.int32), 1, mask=i < n)


@triton.jit
def count_blocks(x, y, n, BLOCK: tl.constexpr):
    """The same by a histogram of each block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.histogram(tl.load(x + i, mask=i < n, other=0).to(tl.int32), 256)
    tl.atomic_add(y + tl.arange(0, 256), h)


@triton.jit
def bodies(p, y, n, BI: tl.constexpr, BJ: tl.constexpr):
    """Gravity of n bodies [n, 4], blocks of bodies in turns."""
    i = tl.program_id(0) * BI + tl.arange(0, BI)
    xi = tl.load(p + i * 4, mask=i < n, other=0.0)
    yi = tl.load(p + i * 4 + 1, mask=i < n, other=0.0)
    zi = tl.load(p + i * 4 + 2, mask=i < n, other=0.0)
    ax = tl.zeros((BI,), dtype=tl.float32)
    ay = tl.zeros((BI,), dtype=tl.float32)
    az = tl.zeros((BI,), dtype=tl.float32)
    for start in range(0, n, BJ):
        j = start + tl.arange(0, BJ)
        dx = tl.load(p + j * 4, mask=j < n, other=0.0)[None, :] - xi[:, None]
        dy = tl.load(p + j * 4 + 1, mask=j < n, other=0.0)[None, :] - yi[:, None]
        dz = tl.load(p + j * 4 + 2, mask=j < n, other=0.0)[None, :] - zi[:, None]
        r = tl.rsqrt(dx * dx + dy * dy + dz * dz + 0.01)
        f = tl.load(p + j * 4 + 3, mask=j < n, other=0.0)[None, :] * r * r * r
        ax += tl.sum(f * dx, axis=1)
        ay += tl.sum(f * dy, axis=1)
        az += tl.sum(f * dz, axis=1)
    tl.store(y + i * 3, ax, mask=i < n)
    tl.store(y + i * 3 + 1, ay, mask=i < n)
    tl.store(y + i * 3 + 2, az, mask=i < n)


@triton.jit
def neighbour_forces(p, index, y, n, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """Forces of EACH listed neighbours on places stored by planes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    xi = tl.load(p + i, mask=m, other=0.0)
    yi = tl.load(p + n + i, mask=m, other=0.0)
    zi = tl.load(p + 2 * n + i, mask=m, other=0.0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(EACH):
        j = tl.load(index + i * EACH + k, mask=m, other=0)
        dx = tl.load(p + j, mask=m, other=0.0) - xi
        dy = tl.load(p + n + j, mask=m, other=0.0) - yi
        dz = tl.load(p + 2 * n + j, mask=m, other=0.0) - zi
        r = 1.0 / (dx * dx + dy * dy + dz * dz + 0.1)
        s = r * r * r
        total += 4.0 * s * (s - 1.0)
    tl.store(y + i, total, mask=m)


@triton.jit
def joined(a, b, y, n, CA, CB, BLOCK: tl.constexpr):
    """Two matrices side by side."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = i % (CA + CB)
    r = i // (CA + CB)
    first = c < CA
    u = tl.load(a + r * CA + c, mask=(i < n) & first, other=0.0)
    v = tl.load(b + r * CB + c - CA, mask=(i < n) & (c >= CA), other=0.0)
    tl.store(y + i, tl.where(first, u, v), mask=i < n)


@triton.jit
def one_hot(x, y, C: tl.constexpr, R: tl.constexpr):
    """Labels as rows of ones and zeros."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    tl.store(y + r[:, None] * C + c[None, :], (tl.load(x + r)[:, None] == c[None, :]).to(tl.float32))


@triton.jit
def compact(x, y, count, n, BLOCK: tl.constexpr):
    """The positive numbers of a block, moved to its front."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    keep = (v > 0.0).to(tl.int32)
    at = tl.cumsum(keep, axis=0) - 1
    tl.store(y + tl.program_id(0) * BLOCK + at, v, mask=keep > 0)
    tl.store(count + tl.program_id(0), tl.sum(keep, axis=0))


@triton.jit
def undo_differences(x, y, cols, BLOCK: tl.constexpr):
    """Rows of differences in 16 bits to numbers."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + k, mask=k < cols, other=0).to(tl.int32)
    tl.store(y + row * cols + k, tl.cumsum(v, axis=0), mask=k < cols)


@triton.jit
def swap_bytes(x, y, n, BLOCK: tl.constexpr):
    """Words of four bytes turned around, a byte a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + (i // 4) * 4 + 3 - i % 4, mask=i < n, other=0), mask=i < n)


@triton.jit
def small_step(x, y, n, BLOCK: tl.constexpr):
    """One of many small steps."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(y + i, v + 0.1 * (left + right - 2.0 * v), mask=i < n)


def programs() -> tuple:
    """Kernel, names of parameters, their values, how it is launched."""
    b = Buffer
    plane = ("H", "W", "BLOCK", "num_warps")
    many = ("n", "BLOCK", "num_warps")

    def flat(kernel, dtype, names="xy", planes=1, **constants):
        """Planes of H x W, flat blocks of places."""

        def made(H, W, BLOCK, num_warps):
            given = [b(name, dtype, planes * H * W) for name in names]
            grid = (cdiv(H * W, BLOCK), planes) if planes > 1 else (cdiv(H * W, BLOCK),)
            return Launch(kernel, (*given, H, W), {**constants, "BLOCK": BLOCK}, grid, num_warps)

        return made

    def copied(kernel, dtype, shape, grown=1, **constants):
        """A copy by index of a tensor whose sizes ``shape`` gives from n."""

        def made(n, BLOCK, num_warps):
            sizes, out = shape(n)
            return Launch(
                kernel,
                (b("x", dtype, n), b("y", dtype, out), out, *sizes),
                {**constants, "BLOCK": BLOCK},
                (cdiv(out, BLOCK),),
                num_warps,
            )

        return made

    def steps(n, count, B, w):
        return tuple(
            Launch(
                small_step,
                (b(f"step{k % 2}", "float32", n), b(f"step{1 - k % 2}", "float32", n), n),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            )
            for k in range(count)
        )

    def edged(kernel, dtype):
        def made(n, nodes, B, w):
            s, t = b("source", "int32", n, nodes), b("target", "int32", n, nodes)
            return Launch(kernel, (s, t, b("x", dtype, nodes), b("y", dtype, nodes), n), {"BLOCK": B}, (cdiv(n, B),), w)

        return made

    return (
        (heat, plane, ((256, 256, 256, 4), (4096, 4096, 1024, 4)), flat(heat, "float32")),
        (heat, plane, ((500, 700, 128, 2), (3000, 3000, 512, 4)), flat(heat, "float64")),
        (
            volume,
            ("D", "H", "W", "BLOCK", "num_warps"),
            ((32, 32, 32, 256, 4), (256, 256, 256, 1024, 4)),
            lambda D, H, W, B, w: Launch(
                volume,
                (b("x", "float32", D * H * W), b("y", "float32", D * H * W), D, H, W),
                {"BLOCK": B},
                (cdiv(D * H * W, B),),
                w,
            ),
        ),
        (
            wave,
            many,
            ((1 << 14, 256, 4), (1 << 23, 1024, 4)),
            lambda n, B, w: Launch(
                wave,
                (b("x", "float64", n), b("other", "float64", n), b("y", "float64", n), n),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (life, plane, ((512, 512, 256, 4), (4096, 4096, 512, 4)), flat(life, "uint8")),
        (
            edges,
            ("H", "W", "BH", "BW", "num_warps"),
            ((256, 320, 16, 32, 4), (4000, 3000, 16, 64, 4), (2160, 3840, 4, 128, 4)),
            lambda H, W, M, N, w: Launch(
                edges,
                (b("x", "uint8", H * W), b("y", "float32", H * W), H, W),
                {"BH": M, "BW": N},
                (cdiv(H, M), cdiv(W, N)),
                w,
            ),
        ),
        (bilateral, plane, ((128, 128, 128, 4), (1080, 1920, 256, 4)), flat(bilateral, "float32", R=3)),
        (bilateral, plane, ((64, 64, 64, 2), (512, 512, 512, 4)), flat(bilateral, "float32", R=2, planes=3)),
        (middle, plane, ((512, 512, 256, 4), (4096, 4096, 1024, 4)), flat(middle, "uint8")),
        (dilate, plane, ((256, 256, 256, 4), (2048, 2048, 512, 4)), flat(dilate, "uint8", R=3)),
        (
            smooth_columns,
            ("H", "W", "dtype", "TAPS", "BLOCK", "num_warps"),
            ((256, 512, "float32", 11, 256, 4), (4096, 4096, "float16", 15, 1024, 4)),
            lambda H, W, t, K, B, w: Launch(
                smooth_columns,
                (b("x", t, H * W), b("w", "float32", K), b("y", t, H * W), H, W),
                {"TAPS": K, "BLOCK": B},
                (H, cdiv(W, B)),
                w,
            ),
        ),
        (
            smooth_rows,
            ("H", "W", "dtype", "TAPS", "BLOCK", "num_warps"),
            (
                (256, 512, "float32", 11, 256, 4),
                (4096, 4096, "float16", 25, 1024, 4),
                (2000, 3000, "float32", 31, 512, 4),
            ),
            lambda H, W, t, K, B, w: Launch(
                smooth_rows,
                (b("x", t, H * W), b("w", "float32", K), b("y", t, H * W), H, W),
                {"TAPS": K, "BLOCK": B},
                (H, cdiv(W, B)),
                w,
            ),
        ),
        (
            halve_last,
            ("side", "C", "BLOCK", "num_warps"),
            ((64, 48, 256, 4), (1024, 64, 1024, 4)),
            lambda s, C, B, w: Launch(
                halve_last,
                (b("x", "float16", s * s * C), b("y", "float16", s * s * C // 4), s * s * C // 4, s, C),
                {"BLOCK": B},
                (cdiv(s * s * C // 4, B),),
                w,
            ),
        ),
        (
            shuffle_pixels,
            many,
            ((1 << 16, 256, 4), (1 << 24, 1024, 4)),
            copied(shuffle_pixels, "float32", lambda n: ((16, 32, 32), n), UP=2),
        ),
        (
            patches,
            many,
            ((1 << 14, 256, 4), (1 << 21, 1024, 4)),
            copied(patches, "float32", lambda n: ((n // 4096, 64, 64), 9 * n), K=3),
        ),
        (
            mirrored,
            many,
            ((1 << 16, 256, 4), (1 << 24, 512, 4)),
            copied(mirrored, "float32", lambda n: ((128, 128), n // 16384 * 136 * 136), P=4),
        ),
        (
            turn_axes,
            many,
            ((1 << 16, 256, 4), (1 << 24, 1024, 4)),
            copied(turn_axes, "float16", lambda n: ((n >> 15, 64, 8, 64), n)),
        ),
        (
            turn_axes,
            many,
            ((1 << 15, 128, 4), (1 << 23, 512, 4)),
            copied(turn_axes, "float32", lambda n: ((n >> 12, 16, 64, 4), n)),
        ),
        (
            warp_image,
            ("C", "H", "W", "BLOCK", "num_warps"),
            ((3, 128, 128, 256, 4), (3, 2048, 2048, 512, 4), (32, 256, 256, 256, 4)),
            lambda C, H, W, B, w: Launch(
                warp_image,
                (b("x", "float32", C * H * W), b("y", "float32", C * H * W), C, H, W),
                {"BLOCK": B},
                (cdiv(H * W, B),),
                w,
            ),
        ),
        (
            colour_table,
            many,
            ((1 << 14, 256, 4), (1 << 21, 512, 4)),
            lambda n, B, w: Launch(
                colour_table,
                (b("x8", "uint8", 3 * n), b("table", "float32", 3 * 33**3), b("y", "float32", 3 * n), n),
                {"SIDE": 33, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            palette,
            many,
            ((1 << 16, 512, 4), (1 << 24, 1024, 4)),
            lambda n, B, w: Launch(
                palette,
                (b("x8", "uint8", n), b("table", "float32", 256), b("y", "float32", n), n),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            filter_series,
            ("rows", "T", "dtype", "TAPS", "BLOCK", "num_warps"),
            (
                (16, 4000, "float32", 64, 256, 4),
                (256, 16000, "float32", 64, 1024, 4),
                (64, 48000, "float16", 32, 512, 4),
            ),
            lambda r, T, t, K, B, w: Launch(
                filter_series,
                (b("x", t, r * T), b("w", "float32", K), b("y", t, r * T), T),
                {"TAPS": K, "BLOCK": B},
                (r, cdiv(T, B)),
                w,
            ),
        ),
        (
            self_similarity,
            ("lags", "rows", "T", "num_warps"),
            ((64, 4, 2000, 4), (256, 32, 16000, 4), (1000, 2, 10000, 8)),
            lambda k, r, T, w: Launch(
                self_similarity, (b("x", "float32", r * T), b("y", "float32", k * r), T), {"BLOCK": 1024}, (k, r), w
            ),
        ),
        (
            frames,
            ("count", "HOP", "N", "num_warps"),
            ((300, 160, 512, 4), (40000, 160, 512, 4), (20000, 256, 1024, 4)),
            lambda f, h, N, w: Launch(
                frames,
                (b("x", "float32", f * h), b("w", "float32", N), b("y", "float32", f * N), f * h, h),
                {"N": N},
                (f,),
                w,
            ),
        ),
        (
            sparse_rows,
            ("rows", "each", "BLOCK", "num_warps"),
            ((2000, 20, 32, 1), (200000, 30, 32, 1), (20000, 300, 128, 4)),
            lambda r, e, B, w: Launch(
                sparse_rows,
                (
                    b("starts", "int32", r + 1, e, "segments"),
                    b("columns", "int32", r * e, r),
                    b("values", "float32", r * e),
                    b("x", "float32", r),
                    b("y", "float32", r),
                ),
                {"BLOCK": B},
                (r,),
                w,
            ),
        ),
        (
            padded_rows,
            many,
            ((10000, 128, 4), (1000000, 256, 4)),
            lambda n, B, w: Launch(
                padded_rows,
                (
                    b("columns", "int32", 16 * n, n),
                    b("values", "float32", 16 * n),
                    b("x", "float32", n),
                    b("y", "float32", n),
                    n,
                ),
                {"EACH": 16, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            push_edges,
            ("n", "nodes", "BLOCK", "num_warps"),
            ((1 << 16, 5000, 256, 4), (1 << 23, 500000, 512, 4)),
            edged(push_edges, "float32"),
        ),
        (
            relax_edges,
            ("n", "nodes", "BLOCK", "num_warps"),
            ((1 << 16, 5000, 256, 4), (1 << 22, 1000000, 512, 4)),
            edged(relax_edges, "int32"),
        ),
        (
            score_edges,
            ("n", "nodes", "HEADS", "BLOCK", "num_warps"),
            ((1 << 14, 2000, 4, 64, 4), (1 << 21, 100000, 8, 128, 4)),
            lambda n, v, h, B, w: Launch(
                score_edges,
                (
                    b("source", "int32", n, v),
                    b("target", "int32", n, v),
                    b("a", "float32", v * h),
                    b("b", "float32", v * h),
                    b("y", "float32", n * h),
                    n,
                ),
                {"HEADS": h, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            bags,
            ("n", "rows", "D", "EACH", "num_warps"),
            ((256, 10000, 64, 10, 2), (16384, 1000000, 128, 20, 4), (4096, 50000, 300, 32, 4)),
            lambda n, r, D, e, w: Launch(
                bags,
                (b("table", "float32", r * D), b("index", "int64", n * e, r), b("y", "float32", n * D), D),
                {"EACH": e, "BLOCK": 1 << (D - 1).bit_length()},
                (n,),
                w,
            ),
        ),
        (
            add_rows,
            ("n", "rows", "D", "num_warps"),
            ((1000, 200, 64, 2), (100000, 10000, 128, 4), (20000, 20000, 512, 4)),
            lambda n, r, D, w: Launch(
                add_rows,
                (b("x", "float32", n * D), b("index", "int64", n, r), b("y", "float32", r * D), D),
                {"BLOCK": D},
                (n,),
                w,
            ),
        ),
        (
            search,
            ("n", "count", "STEPS", "BLOCK", "num_warps"),
            ((1 << 14, 1000, 10, 256, 4), (1 << 21, 100000, 17, 512, 4)),
            lambda n, c, s, B, w: Launch(
                search,
                (b("keys", "int32", n, 1 << 20), b("borders", "int32", c, 1 << 20, "sorted"), b("y", "int32", n), n, c),
                {"STEPS": s, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            probe,
            ("n", "MASK", "BLOCK", "num_warps"),
            ((1 << 15, (1 << 16) - 1, 256, 4), (1 << 22, (1 << 24) - 1, 512, 4)),
            lambda n, m, B, w: Launch(
                probe,
                (b("keys", "int32", n, 1 << 30), b("filter", "int32", (m + 1) // 32), b("y8", "int8", n), n),
                {"MASK": m, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            jump,
            ("n", "HOPS", "BLOCK", "num_warps"),
            ((1 << 14, 4, 256, 4), (1 << 22, 4, 512, 4)),
            lambda n, h, B, w: Launch(
                jump, (b("parent", "int32", n, n), b("y", "int32", n), n), {"HOPS": h, "BLOCK": B}, (cdiv(n, B),), w
            ),
        ),
        (
            voxels,
            ("n", "SIDE", "BLOCK", "num_warps"),
            ((1 << 14, 16, 256, 4), (1 << 21, 64, 256, 4)),
            lambda n, s, B, w: Launch(
                voxels, (b("x", "float32", 3 * n), b("y", "int32", s**3), n), {"SIDE": s, "BLOCK": B}, (cdiv(n, B),), w
            ),
        ),
        (
            count_bytes,
            many,
            ((1 << 15, 256, 4), (1 << 21, 1024, 4)),
            lambda n, B, w: Launch(
                count_bytes, (b("x8", "uint8", n), b("y", "int32", 256), n), {"BLOCK": B}, (cdiv(n, B),), w
            ),
        ),
        (
            count_blocks,
            many,
            ((1 << 15, 256, 4), (1 << 22, 1024, 4)),
            lambda n, B, w: Launch(
                count_blocks, (b("x8", "uint8", n), b("y", "int32", 256), n), {"BLOCK": B}, (cdiv(n, B),), w
            ),
        ),
        (
            bodies,
            ("n", "BI", "BJ", "num_warps"),
            ((1024, 16, 64, 4), (8192, 32, 64, 4), (16384, 64, 32, 8)),
            lambda n, P, J, w: Launch(
                bodies, (b("p", "float32", 4 * n), b("y", "float32", 3 * n), n), {"BI": P, "BJ": J}, (cdiv(n, P),), w
            ),
        ),
        (
            neighbour_forces,
            ("n", "EACH", "BLOCK", "num_warps"),
            ((4000, 32, 128, 4), (500000, 24, 128, 4)),
            lambda n, e, B, w: Launch(
                neighbour_forces,
                (b("p", "float32", 3 * n), b("index", "int32", n * e, n), b("y", "float32", n), n),
                {"EACH": e, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            joined,
            ("rows", "CA", "CB", "BLOCK", "num_warps"),
            ((512, 100, 60, 256, 4), (65536, 192, 64, 1024, 4)),
            lambda r, p, q, B, w: Launch(
                joined,
                (
                    b("x", "float16", r * p),
                    b("other", "float16", r * q),
                    b("y", "float16", r * (p + q)),
                    r * (p + q),
                    p,
                    q,
                ),
                {"BLOCK": B},
                (cdiv(r * (p + q), B),),
                w,
            ),
        ),
        (
            one_hot,
            ("rows", "C", "R", "num_warps"),
            ((1024, 64, 4, 4), (1 << 18, 128, 16, 4)),
            lambda r, C, R, w: Launch(
                one_hot, (b("labels", "int64", r, C), b("y", "float32", r * C)), {"C": C, "R": R}, (r // R,), w
            ),
        ),
        (
            compact,
            many,
            ((1 << 15, 256, 4), (1 << 23, 1024, 4)),
            lambda n, B, w: Launch(
                compact,
                (b("x", "float32", n), b("y", "float32", n), b("count", "int32", n // B), n),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (
            undo_differences,
            ("rows", "cols", "num_warps"),
            ((256, 1000, 4), (16384, 1024, 4)),
            lambda r, c, w: Launch(
                undo_differences, (b("x", "int16", r * c), b("y", "int32", r * c), c), {"BLOCK": 1024}, (r,), w
            ),
        ),
        (
            swap_bytes,
            many,
            ((1 << 16, 512, 4), (1 << 24, 1024, 4)),
            lambda n, B, w: Launch(
                swap_bytes, (b("x8", "uint8", n), b("y8", "uint8", n), n), {"BLOCK": B}, (cdiv(n, B),), w
            ),
        ),
        (
            small_step,
            ("n", "launches", "BLOCK", "num_warps"),
            ((4096, 24, 128, 4), (1 << 20, 16, 512, 4), (100000, 40, 256, 8)),
            steps,
        ),
    )
