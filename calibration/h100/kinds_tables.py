"""Gathers within a part of a tensor, samples beside their place, taps. Part of :mod:`kinds_2`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def lower_triangle(dense, z, li, lj, y, F, D, P, BD: tl.constexpr, BP: tl.constexpr):
    """A row and the pairs of a matrix below the diagonal, whose places are given, put together."""
    b = tl.program_id(0)
    d = tl.arange(0, BD)
    tl.store(y + b * (D + P) + d, tl.load(dense + b * D + d, mask=d < D, other=0.0), mask=d < D)
    p = tl.arange(0, BP)
    m = p < P
    i = tl.load(li + p, mask=m, other=0)
    j = tl.load(lj + p, mask=m, other=0)
    v = tl.load(z + b * F * F + i * F + j, mask=m, other=0.0)
    tl.store(y + b * (D + P) + D + p, v.to(tl.float16), mask=m)


@triton.jit
def reordered_columns(x, perm, y, cols, BLOCK: tl.constexpr):
    """The columns of each row in another order."""
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    tl.store(y + r * cols + c, tl.load(x + r * cols + tl.load(perm + c, mask=m, other=0), mask=m, other=0.0), mask=m)


@triton.jit
def looked_up(x, table, y, n, BLOCK: tl.constexpr):
    """A table of 256 numbers applied to bytes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(y + i, tl.load(table + tl.load(x + i, mask=m, other=0), mask=m, other=0.0), mask=m)


@triton.jit
def chosen_logits(x, index, y, V, K, BLOCK: tl.constexpr):
    """K chosen places of each row of a vocabulary."""
    r = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    m = k < K
    tl.store(y + r * K + k, tl.load(x + r * V + tl.load(index + r * K + k, mask=m, other=0), mask=m, other=0.0), mask=m)


@triton.jit
def band_product(val, col, x, y, rows, W: tl.constexpr, BR: tl.constexpr):
    """A sparse matrix of W numbers a row times a vector, stored by row."""
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    w = tl.arange(0, W)
    m = (r < rows)[:, None]
    c = tl.load(col + r[:, None] * W + w[None, :], mask=m, other=0)
    v = tl.load(val + r[:, None] * W + w[None, :], mask=m, other=0.0)
    tl.store(y + r, tl.sum(v * tl.load(x + c, mask=m, other=0.0), axis=1), mask=r < rows)


@triton.jit
def moved_image(x, flow, y, H, W, reach, BLOCK: tl.constexpr):
    """An image sampled where a displacement leads, between four neighbours."""
    image = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < H * W
    px = (i % W).to(tl.float32) + reach * tl.load(flow + 2 * image * H * W + i, mask=m, other=0.0)
    py = (i // W).to(tl.float32) + reach * tl.load(flow + (2 * image + 1) * H * W + i, mask=m, other=0.0)
    px = tl.minimum(tl.maximum(px, 0.0), W - 1.0)
    py = tl.minimum(tl.maximum(py, 0.0), H - 1.0)
    x0 = px.to(tl.int32)
    y0 = py.to(tl.int32)
    x1 = tl.minimum(x0 + 1, W - 1)
    y1 = tl.minimum(y0 + 1, H - 1)
    fx = px - x0.to(tl.float32)
    fy = py - y0.to(tl.float32)
    at = x + image * H * W
    a = tl.load(at + y0 * W + x0, mask=m, other=0.0)
    b = tl.load(at + y0 * W + x1, mask=m, other=0.0)
    c = tl.load(at + y1 * W + x0, mask=m, other=0.0)
    d = tl.load(at + y1 * W + x1, mask=m, other=0.0)
    top = a + fx * (b - a)
    tl.store(y + image * H * W + i, top + fy * (c + fx * (d - c) - top), mask=m)


@triton.jit
def moved_volume(x, flow, y, D, H, W, reach, BY: tl.constexpr, BX: tl.constexpr):
    """A volume sampled between eight neighbours, tiles of a plane."""
    z = tl.program_id(2)
    r = tl.program_id(1) * BY + tl.arange(0, BY)[:, None]
    c = tl.program_id(0) * BX + tl.arange(0, BX)[None, :]
    m = (r < H) & (c < W)
    size = D * H * W
    at = (z * H + r) * W + c
    pz = z.to(tl.float32) + reach * tl.load(flow + at, mask=m, other=0.0)
    py = r.to(tl.float32) + reach * tl.load(flow + size + at, mask=m, other=0.0)
    px = c.to(tl.float32) + reach * tl.load(flow + 2 * size + at, mask=m, other=0.0)
    pz = tl.minimum(tl.maximum(pz, 0.0), D - 1.0)
    py = tl.minimum(tl.maximum(py, 0.0), H - 1.0)
    px = tl.minimum(tl.maximum(px, 0.0), W - 1.0)
    z0 = pz.to(tl.int32)
    y0 = py.to(tl.int32)
    x0 = px.to(tl.int32)
    z1 = tl.minimum(z0 + 1, D - 1)
    y1 = tl.minimum(y0 + 1, H - 1)
    x1 = tl.minimum(x0 + 1, W - 1)
    fz = pz - z0.to(tl.float32)
    fy = py - y0.to(tl.float32)
    fx = px - x0.to(tl.float32)
    a = tl.load(x + (z0 * H + y0) * W + x0, mask=m, other=0.0)
    b = tl.load(x + (z0 * H + y0) * W + x1, mask=m, other=0.0)
    d = tl.load(x + (z0 * H + y1) * W + x0, mask=m, other=0.0)
    e = tl.load(x + (z0 * H + y1) * W + x1, mask=m, other=0.0)
    f = tl.load(x + (z1 * H + y0) * W + x0, mask=m, other=0.0)
    g = tl.load(x + (z1 * H + y0) * W + x1, mask=m, other=0.0)
    h = tl.load(x + (z1 * H + y1) * W + x0, mask=m, other=0.0)
    i = tl.load(x + (z1 * H + y1) * W + x1, mask=m, other=0.0)
    low = (a + fx * (b - a)) * (1 - fy) + (d + fx * (e - d)) * fy
    high = (f + fx * (g - f)) * (1 - fy) + (h + fx * (i - h)) * fy
    tl.store(y + at, low + fz * (high - low), mask=m)


@triton.jit
def turned_image(x, y, H, W, cos, sin, BLOCK: tl.constexpr):
    """An image turned about its middle, the nearest pixel."""
    image = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < H * W
    u = (i % W).to(tl.float32) - 0.5 * W
    v = (i // W).to(tl.float32) - 0.5 * H
    px = tl.minimum(tl.maximum(cos * u - sin * v + 0.5 * W, 0.0), W - 1.0).to(tl.int32)
    py = tl.minimum(tl.maximum(sin * u + cos * v + 0.5 * H, 0.0), H - 1.0).to(tl.int32)
    tl.store(y + image * H * W + i, tl.load(x + image * H * W + py * W + px, mask=m, other=0), mask=m)


@triton.jit
def mirrored(i, n):
    """Places beyond the ends mirrored."""
    i = tl.abs(i)
    return tl.where(i >= n, 2 * n - 2 - i, i)


@triton.jit
def blur_mirrored(x, sigma, y, H, W, K: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr):
    """A Gaussian window of its own width for each image, weights made at each tap."""
    image = tl.program_id(2)
    r = tl.program_id(1) * BH + tl.arange(0, BH)
    c = tl.program_id(0) * BW + tl.arange(0, BW)
    m = (r < H)[:, None] & (c < W)[None, :]
    inv = -0.5 / (0.5 + tl.abs(tl.load(sigma + image)))
    acc = tl.zeros((BH, BW), tl.float32)
    norm = 0.0
    for i in range(K):
        for j in range(K):
            w = tl.exp(((i - K // 2) * (i - K // 2) + (j - K // 2) * (j - K // 2)).to(tl.float32) * inv)
            at = mirrored(r + i - K // 2, H)[:, None] * W + mirrored(c + j - K // 2, W)[None, :]
            acc += w * tl.load(x + image * H * W + at, mask=m, other=0.0)
            norm += w
    tl.store(y + image * H * W + r[:, None] * W + c[None, :], acc / norm, mask=m)


@triton.jit
def window_zero_padded(x, k, y, H, W, K: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr):
    """A window of K x K weights, nothing beyond the edges."""
    image = tl.program_id(2)
    r = tl.program_id(1) * BH + tl.arange(0, BH)
    c = tl.program_id(0) * BW + tl.arange(0, BW)
    acc = tl.zeros((BH, BW), tl.float32)
    for i in range(K):
        rr = r + i - K // 2
        for j in range(K):
            cc = c + j - K // 2
            ok = ((rr >= 0) & (rr < H))[:, None] & ((cc >= 0) & (cc < W))[None, :]
            v = tl.load(x + image * H * W + rr[:, None] * W + cc[None, :], mask=ok, other=0.0)
            acc += v * tl.load(k + i * K + j)
    tl.store(y + image * H * W + r[:, None] * W + c[None, :], acc, mask=(r < H)[:, None] & (c < W)[None, :])


@triton.jit
def short_filter(x, w, y, L, C, K: tl.constexpr, BL: tl.constexpr, BC: tl.constexpr):
    """A causal filter of K taps along [B, L, C], channels by themselves."""
    b = tl.program_id(2)
    t = tl.program_id(0) * BL + tl.arange(0, BL)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    acc = tl.zeros((BL, BC), tl.float32)
    for k in tl.static_range(K):
        s = t - (K - 1) + k
        m = ((s >= 0) & (s < L))[:, None] & (c < C)[None, :]
        v = tl.load(x + (b * L + s[:, None]) * C + c[None, :], mask=m, other=0.0).to(tl.float32)
        acc += v * tl.load(w + c * K + k, mask=c < C, other=0.0)[None, :]
    acc = acc * tl.sigmoid(acc)
    tl.store(y + (b * L + t[:, None]) * C + c[None, :], acc.to(tl.float16), mask=(t < L)[:, None] & (c < C)[None, :])


@triton.jit
def rolling_window_tile(x, y, T, N, window, BT: tl.constexpr, BN: tl.constexpr):
    """Mean over deviation of the rows of a window, tiles of times by columns."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    m = (t < T - window)[:, None] & (n < N)[None, :]
    s = tl.zeros((BT, BN), tl.float32)
    q = tl.zeros((BT, BN), tl.float32)
    at = x + t[:, None] * N + n[None, :]
    for w in range(window):
        v = tl.load(at + w * N, mask=m, other=0.0)
        s += v
        q += v * v
    mean = s / window
    tl.store(y + t[:, None] * N + n[None, :], mean / tl.sqrt(tl.maximum(q / window - mean * mean, 1e-8)), mask=m)


@triton.jit
def correlation_window(a, b, y, H, W, R: tl.constexpr, BLOCK: tl.constexpr):
    """Correlation of two images in a window around each pixel, [images, H, W] laid flat."""
    image = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = i // W
    c = i % W
    sa = tl.zeros((BLOCK,), tl.float32)
    sb = sa
    saa = sa
    sbb = sa
    sab = sa
    for dr in range(-R, R + 1):
        for dc in range(-R, R + 1):
            ok = (i < H * W) & (r + dr >= 0) & (r + dr < H) & (c + dc >= 0) & (c + dc < W)
            u = tl.load(a + image * H * W + i + dr * W + dc, mask=ok, other=0.0)
            v = tl.load(b + image * H * W + i + dr * W + dc, mask=ok, other=0.0)
            sa += u
            sb += v
            saa += u * u
            sbb += v * v
            sab += u * v
    n = (2 * R + 1) * (2 * R + 1)
    cov = sab - sa * sb / n
    tl.store(y + image * H * W + i, cov * cov / ((saa - sa * sa / n) * (sbb - sb * sb / n) + 1e-5), mask=i < H * W)


@triton.jit
def stream_and_collide(f, g, n, W, tau, BLOCK: tl.constexpr):
    """A step of a lattice of five speeds on a torus, planes of speeds."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    c = i % W
    r = i // W
    H = n // W
    left = r * W + (c + W - 1) % W
    right = r * W + (c + 1) % W
    up = (r + H - 1) % H * W + c
    down = (r + 1) % H * W + c
    f0 = tl.load(f + i, mask=m, other=0.0)
    f1 = tl.load(f + n + left, mask=m, other=0.0)
    f2 = tl.load(f + 2 * n + right, mask=m, other=0.0)
    f3 = tl.load(f + 3 * n + up, mask=m, other=0.0)
    f4 = tl.load(f + 4 * n + down, mask=m, other=0.0)
    rho = f0 + f1 + f2 + f3 + f4
    ux = (f1 - f2) / rho
    uy = (f3 - f4) / rho
    tl.store(g + i, f0 + (rho * 0.333 - f0) * tau, mask=m)
    tl.store(g + n + i, f1 + (rho * (0.1667 + 0.5 * ux) - f1) * tau, mask=m)
    tl.store(g + 2 * n + i, f2 + (rho * (0.1667 - 0.5 * ux) - f2) * tau, mask=m)
    tl.store(g + 3 * n + i, f3 + (rho * (0.1667 + 0.5 * uy) - f3) * tau, mask=m)
    tl.store(g + 4 * n + i, f4 + (rho * (0.1667 - 0.5 * uy) - f4) * tau, mask=m)


@triton.jit
def neighbour_means(x, index, y, N, K: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    """Means of the rows of K neighbours, programs of few points."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    m = n < N
    acc = tl.zeros((BN, D), tl.float32)
    for k in range(K):
        j = tl.load(index + n * K + k, mask=m, other=0)
        acc += tl.load(x + j[:, None] * D + d[None, :], mask=m[:, None], other=0.0).to(tl.float32)
    tl.store(y + n[:, None] * D + d[None, :], acc / K, mask=m[:, None])


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def image(kernel, kind="float32", *more):
        return lambda B, H, W, K, BH, BW, num_warps: Launch(
            kernel,
            (b("x", kind, B * H * W), b("k", "float32", max(B, K * K)), b("y", kind, B * H * W), H, W),
            {"K": K, "BH": BH, "BW": BW},
            (cdiv(W, BW), cdiv(H, BH), B),
            num_warps,
        )

    return (
        (
            lower_triangle,
            ((4096, 27, 64, 4), (65536, 27, 64, 4), (16384, 40, 128, 4)),
            lambda B, F, D, num_warps: Launch(
                lower_triangle,
                (
                    b("d", "float16", B * D),
                    b("z", "float32", B * F * F),
                    b("li", "int32", F * (F - 1) // 2, F, "sorted"),
                    b("lj", "int32", F * (F - 1) // 2, F),
                    b("y", "float16", B * (D + F * (F - 1) // 2)),
                    F,
                    D,
                    F * (F - 1) // 2,
                ),
                {"BD": 1 << (D - 1).bit_length(), "BP": 1 << (F * (F - 1) // 2 - 1).bit_length()},
                (B,),
                num_warps,
            ),
        ),
        (
            reordered_columns,
            ((8192, 512, 4), (65536, 2048, 4), (200, 60000, 16)),
            lambda rows, cols, num_warps: Launch(
                reordered_columns,
                (
                    b("x", "float32", rows * cols),
                    b("perm", "int32", cols, cols, "permuted"),
                    b("y", "float32", rows * cols),
                    cols,
                ),
                {"BLOCK": 1 << (cols - 1).bit_length()},
                (rows,),
                num_warps,
            ),
        ),
        (
            looked_up,
            ((1000000, 1024, 4), (67108864, 4096, 8)),
            lambda n, BLOCK, num_warps: Launch(
                looked_up,
                (b("bytes", "uint8", n, 256), b("w", "float32", 256), b("y", "float32", n), n),
                {"BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            chosen_logits,
            ((1024, 32000, 50, 1), (4096, 128256, 256, 4)),
            lambda rows, V, K, num_warps: Launch(
                chosen_logits,
                (b("x", "float16", rows * V), b("k", "int32", rows * K, V), b("y", "float16", rows * K), V, K),
                {"BLOCK": 1 << (K - 1).bit_length()},
                (rows,),
                num_warps,
            ),
        ),
        (
            band_product,
            ((100000, 16, "near", 64, 4), (2000000, 8, "near", 128, 4), (500000, 16, "random", 64, 4)),
            lambda rows, W, order, BR, num_warps: Launch(
                band_product,
                (
                    b("v", "float32", rows * W),
                    b("col", "int32", rows * W, rows, order),
                    b("x", "float32", rows),
                    b("y", "float32", rows),
                    rows,
                ),
                {"W": W, "BR": BR},
                (cdiv(rows, BR),),
                num_warps,
            ),
        ),
        (
            moved_image,
            (
                (2, 256, 256, 0.05, 512, 4),
                (16, 1024, 1024, 0.05, 1024, 4),
                (16, 1024, 1024, 3.0, 1024, 4),
                (2, 256, 256, 3.0, 512, 4),
            ),
            lambda B, H, W, reach, BLOCK, num_warps: Launch(
                moved_image,
                (
                    b("x", "float32", B * H * W),
                    b("flow", "float32", 2 * B * H * W),
                    b("y", "float32", B * H * W),
                    H,
                    W,
                    reach,
                ),
                {"BLOCK": BLOCK},
                (cdiv(H * W, BLOCK), B),
                num_warps,
            ),
        ),
        (
            moved_volume,
            ((64, 96, 96, 0.05, 8, 32, 8), (160, 192, 160, 0.05, 8, 32, 8), (160, 192, 160, 2.0, 4, 64, 4)),
            lambda D, H, W, reach, BY, BX, num_warps: Launch(
                moved_volume,
                (
                    b("x", "float32", D * H * W),
                    b("flow", "float32", 3 * D * H * W),
                    b("y", "float32", D * H * W),
                    D,
                    H,
                    W,
                    reach,
                ),
                {"BY": BY, "BX": BX},
                (cdiv(W, BX), cdiv(H, BY), D),
                num_warps,
            ),
        ),
        (
            turned_image,
            ((1, 1024, 1024, 1024, 4), (32, 2048, 2048, 1024, 4)),
            lambda B, H, W, BLOCK, num_warps: Launch(
                turned_image,
                (b("bytes", "uint8", B * H * W), b("z", "uint8", B * H * W), H, W, 0.9397, 0.342),
                {"BLOCK": BLOCK},
                (cdiv(H * W, BLOCK), B),
                num_warps,
            ),
        ),
        (
            blur_mirrored,
            ((12, 96, 96, 23, 16, 64, 4), (192, 224, 224, 9, 16, 64, 4), (64, 256, 256, 15, 8, 32, 4)),
            image(blur_mirrored),
        ),
        (
            window_zero_padded,
            (
                (4, 128, 128, 7, 16, 32, 4),
                (64, 512, 512, 5, 16, 64, 4),
                (16, 256, 256, 21, 32, 32, 8),
                (96, 224, 224, 3, 8, 128, 4),
            ),
            image(window_zero_padded),
        ),
        (window_zero_padded, ((32, 512, 512, 5, 16, 64, 4),), image(window_zero_padded, "float16")),
        (
            short_filter,
            ((2, 1024, 2048, 4, 16, 128, 4), (8, 4096, 2048, 4, 32, 64, 4), (4, 2000, 1000, 3, 32, 32, 4)),
            lambda B, L, C, K, BL, BC, num_warps: Launch(
                short_filter,
                (b("x", "float16", B * L * C), b("w", "float32", C * K), b("y", "float16", B * L * C), L, C),
                {"K": K, "BL": BL, "BC": BC},
                (cdiv(L, BL), cdiv(C, BC), B),
                num_warps,
            ),
        ),
        (
            rolling_window_tile,
            ((1024, 512, 252, 8, 64, 4), (4096, 4096, 100, 16, 64, 4), (2000, 3000, 20, 4, 128, 4)),
            lambda T, N, window, BT, BN, num_warps: Launch(
                rolling_window_tile,
                (b("x", "float32", T * N), b("y", "float32", T * N), T, N, window),
                {"BT": BT, "BN": BN},
                (cdiv(T - window, BT), cdiv(N, BN)),
                num_warps,
            ),
        ),
        (
            correlation_window,
            ((4, 128, 128, 4, 256, 4), (16, 512, 512, 4, 1024, 4), (8, 300, 300, 7, 512, 4)),
            lambda B, H, W, R, BLOCK, num_warps: Launch(
                correlation_window,
                (b("x", "float32", B * H * W), b("v", "float32", B * H * W), b("y", "float32", B * H * W), H, W),
                {"R": R, "BLOCK": BLOCK},
                (cdiv(H * W, BLOCK), B),
                num_warps,
            ),
        ),
        (
            stream_and_collide,
            ((512, 512, 512, 4), (4096, 4096, 1024, 4)),
            lambda H, W, BLOCK, num_warps: Launch(
                stream_and_collide,
                (b("x", "float32", 5 * H * W), b("y", "float32", 5 * H * W), H * W, W, 0.6),
                {"BLOCK": BLOCK},
                (cdiv(H * W, BLOCK),),
                num_warps,
            ),
        ),
        (
            neighbour_means,
            ((10000, 16, 64, 8, 2), (200000, 10, 32, 16, 4), (500000, 8, 128, 4, 4)),
            lambda N, K, D, BN, num_warps: Launch(
                neighbour_means,
                (b("x", "float16", N * D), b("k", "int32", N * K, N), b("y", "float32", N * D), N),
                {"K": K, "D": D, "BN": BN},
                (cdiv(N, BN),),
                num_warps,
            ),
        ),
    )
