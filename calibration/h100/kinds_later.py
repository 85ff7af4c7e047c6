"""Programs of the kinds of :mod:`kinds_2`, written after the terms that came of those and measured once: nothing was looked at before.

A case's term is its kind.
"""

from __future__ import annotations

import inspect

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro


@triton.jit
def discounted_rows(reward, y, N, T, gamma, BN: tl.constexpr):
    """Discounted sums from the end of each row, [N, T]."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    acc = tl.zeros((BN,), tl.float32)
    for k in range(T):
        t = T - 1 - k
        acc = tl.load(reward + n * T + t, mask=m, other=0.0) + gamma * acc
        tl.store(y + n * T + t, acc, mask=m)


@triton.jit
def running_ratio(a, b, out, N, T, BN: tl.constexpr):
    """The largest ratio of two running sums, a row a lane."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    s = tl.zeros((BN,), tl.float32)
    q = tl.zeros((BN,), tl.float32)
    best = tl.zeros((BN,), tl.float32)
    for t in range(T):
        s += tl.load(a + n * T + t, mask=m, other=0.0).to(tl.float32)
        q += tl.abs(tl.load(b + n * T + t, mask=m, other=0.0).to(tl.float32))
        best = tl.maximum(best, s / (q + 1.0))
    tl.store(out + n, best, mask=m)


@triton.jit
def spline_system(y, c, d, N, L, BLOCK: tl.constexpr):
    """Second derivatives of splines: a sweep there and back along the rows of [N, L], scratch by row."""
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = n < N
    cp = tl.zeros((BLOCK,), tl.float32)
    dp = tl.zeros((BLOCK,), tl.float32)
    a = tl.load(y + n * L, mask=m, other=0.0)
    for k in range(1, L - 1):
        b = tl.load(y + n * L + k, mask=m, other=0.0)
        e = tl.load(y + n * L + k + 1, mask=m, other=0.0)
        inv = 1.0 / (4.0 - cp)
        dp = (6.0 * (a - 2.0 * b + e) - dp) * inv
        cp = inv
        a = b
        tl.store(c + n * L + k, cp, mask=m)
        tl.store(d + n * L + k, dp, mask=m)
    x = tl.zeros((BLOCK,), tl.float32)
    for i in range(2, L):
        k = L - i
        x = tl.load(d + n * L + k, mask=m, other=0.0) - tl.load(c + n * L + k, mask=m, other=0.0) * x
        tl.store(d + n * L + k, x, mask=m)


@triton.jit
def bucket_of(edges, x, y, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """The bucket of each float among 2^STEPS edges."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    at = tl.zeros((BLOCK,), tl.int32)
    for s in tl.static_range(STEPS):
        probe = at + (1 << (STEPS - 1 - s))
        at = tl.where(tl.load(edges + probe, mask=i < n, other=0.0) <= v, probe, at)
    tl.store(y + i, at, mask=i < n)


@triton.jit
def scatter_add_tokens(x, w, y, D, K: tl.constexpr, BLOCK: tl.constexpr):
    """Weighted rows of [T, K, D] added up by token, one row a program."""
    r = tl.program_id(0)
    g = tl.load(w + r)
    for start in range(0, D, BLOCK):
        d = start + tl.arange(0, BLOCK)
        tl.atomic_add(y + (r // K) * D + d, g * tl.load(x + r * D + d, mask=d < D, other=0.0), mask=d < D)


@triton.jit
def weight_and_bias_sums(x, dy, dw, db, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """Gradients of a scale and a shift, a tile of rows a program."""
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    m = (r < rows)[:, None] & (c < cols)[None, :]
    at = r[:, None] * cols + c[None, :]
    g = tl.load(dy + at, mask=m, other=0.0).to(tl.float32)
    v = tl.load(x + at, mask=m, other=0.0).to(tl.float32)
    tl.atomic_add(dw + c, tl.sum(g * v, axis=0), mask=c < cols)
    tl.atomic_add(db + c, tl.sum(g, axis=0), mask=c < cols)


@triton.jit
def rotate_pairs(x, pos, y, H, D: tl.constexpr, BH: tl.constexpr):
    """Rotary embedding of neighbouring pairs by angles in doubles, heads of a token in a tile."""
    tok = tl.program_id(0)
    h = tl.arange(0, BH)
    f = tl.arange(0, D // 2)
    a = tl.load(pos + tok).to(tl.float64) * tl.exp(f.to(tl.float64) * (-18.420680743952367 / D))
    c = tl.cos(a).to(tl.float32)[None, :]
    s = tl.sin(a).to(tl.float32)[None, :]
    at = (tok * H + h[:, None]) * D + 2 * f[None, :]
    m = (h < H)[:, None]
    u = tl.load(x + at, mask=m, other=0.0)
    v = tl.load(x + at + 1, mask=m, other=0.0)
    tl.store(y + at, u * c - v * s, mask=m)
    tl.store(y + at + 1, u * s + v * c, mask=m)


@triton.jit
def fade_by_distance(x, scale, y, N, C, BN: tl.constexpr, BC: tl.constexpr):
    """Rows times a power of their place, columns over a root of their scale."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    w = tl.exp(-0.01 * n.to(tl.float32)) / (1.0 + tl.exp(-0.5 * n.to(tl.float32)))
    k = tl.rsqrt(tl.abs(tl.load(scale + c * 3, mask=c < C, other=1.0)) + 1e-3)
    m = (n < N)[:, None] & (c < C)[None, :]
    at = n[:, None] * C + c[None, :]
    tl.store(y + at, tl.load(x + at, mask=m, other=0.0) * w[:, None] * k[None, :], mask=m)


@triton.jit
def upper_triangle(z, i, j, y, F, P, BP: tl.constexpr):
    """Pairs of an F x F matrix a sample, by the places that two lists give."""
    b = tl.program_id(0)
    p = tl.arange(0, BP)
    m = p < P
    at = tl.load(i + p, mask=m, other=0) * F + tl.load(j + p, mask=m, other=0)
    tl.store(y + b * P + p, tl.load(z + b * F * F + at, mask=m, other=0.0), mask=m)


@triton.jit
def gathered_bins(x, bins, y, T, F: tl.constexpr, BT: tl.constexpr):
    """F chosen of the 512 bins of each frame."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    f = tl.arange(0, F)
    k = tl.load(bins + f)
    m = (t < T)[:, None]
    v = tl.load(x + t[:, None] * 512 + k[None, :], mask=m, other=0.0)
    tl.store(y + t[:, None] * F + f[None, :], tl.log(v * v + 1e-6), mask=m)


@triton.jit
def swirled(x, y, H, W, turn, BH: tl.constexpr, BW: tl.constexpr):
    """An image turned the more the farther from its middle, between four neighbours."""
    r = tl.program_id(1) * BH + tl.arange(0, BH)
    c = tl.program_id(0) * BW + tl.arange(0, BW)
    v = (r.to(tl.float32) - 0.5 * H)[:, None]
    u = (c.to(tl.float32) - 0.5 * W)[None, :]
    d = tl.sqrt(u * u + v * v) * turn
    s = tl.sin(d)
    k = tl.cos(d)
    px = tl.minimum(tl.maximum(k * u - s * v + 0.5 * W, 0.0), W - 2.0)
    py = tl.minimum(tl.maximum(s * u + k * v + 0.5 * H, 0.0), H - 2.0)
    x0 = px.to(tl.int32)
    y0 = py.to(tl.int32)
    fx = px - x0
    fy = py - y0
    m = (r < H)[:, None] & (c < W)[None, :]
    at = x + y0 * W + x0
    a = tl.load(at, mask=m, other=0.0)
    b = tl.load(at + 1, mask=m, other=0.0)
    e = tl.load(at + W, mask=m, other=0.0)
    f = tl.load(at + W + 1, mask=m, other=0.0)
    top = a + fx * (b - a)
    tl.store(y + r[:, None] * W + c[None, :], top + fy * (e + fx * (f - e) - top), mask=m)


@triton.jit
def wrapped_box(x, y, H, W, R: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr):
    """Means of windows on a torus."""
    image = tl.program_id(2)
    r = tl.program_id(1) * BH + tl.arange(0, BH)
    c = tl.program_id(0) * BW + tl.arange(0, BW)
    acc = tl.zeros((BH, BW), tl.float32)
    for i in range(-R, R + 1):
        rr = (r + i + H) % H
        for j in range(-R, R + 1):
            cc = (c + j + W) % W
            acc += tl.load(x + image * H * W + rr[:, None] * W + cc[None, :])
    m = (r < H)[:, None] & (c < W)[None, :]
    tl.store(y + image * H * W + r[:, None] * W + c[None, :], acc / ((2 * R + 1) * (2 * R + 1)), mask=m)


@triton.jit
def clamped_median(x, y, H, W, BLOCK: tl.constexpr):
    """The middle of a pixel and its four neighbours, edges clamped."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = i // W
    c = i % W
    m = i < H * W
    a = tl.load(x + i, mask=m, other=0.0)
    b = tl.load(x + r * W + tl.maximum(c - 1, 0), mask=m, other=0.0)
    d = tl.load(x + r * W + tl.minimum(c + 1, W - 1), mask=m, other=0.0)
    e = tl.load(x + tl.maximum(r - 1, 0) * W + c, mask=m, other=0.0)
    f = tl.load(x + tl.minimum(r + 1, H - 1) * W + c, mask=m, other=0.0)
    lo = tl.maximum(tl.minimum(b, d), tl.minimum(e, f))
    hi = tl.minimum(tl.maximum(b, d), tl.maximum(e, f))
    tl.store(y + i, tl.maximum(tl.minimum(lo, hi), tl.minimum(tl.maximum(lo, hi), a)), mask=m)


@triton.jit
def rolling_largest(x, y, T, N, W, BT: tl.constexpr, BN: tl.constexpr):
    """The largest of the W rows from each row on, tiles of [T, N]."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    m = (t < T - W)[:, None] & (n < N)[None, :]
    best = tl.full((BT, BN), -1e30, tl.float32)
    for w in range(W):
        best = tl.maximum(best, tl.load(x + (t[:, None] + w) * N + n[None, :], mask=m, other=-1e30).to(tl.float32))
    tl.store(y + t[:, None] * N + n[None, :], best, mask=m)


@triton.jit
def channel_filter(x, w, bias, y, L, C, K: tl.constexpr, BL: tl.constexpr, BC: tl.constexpr):
    """A filter of K taps around each place of [B, L, C], channels by themselves, weights by tap."""
    b = tl.program_id(0)
    t = tl.program_id(1) * BL + tl.arange(0, BL)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    acc = tl.zeros((BL, BC), tl.float32) + tl.load(bias + c)[None, :]
    for k in tl.static_range(K):
        s = t + k - K // 2
        m = ((s >= 0) & (s < L))[:, None]
        acc += tl.load(x + (b * L + s[:, None]) * C + c[None, :], mask=m, other=0.0) * tl.load(w + c * K + k)[None, :]
    tl.store(y + (b * L + t[:, None]) * C + c[None, :], acc, mask=(t < L)[:, None])


@triton.jit
def peak_and_mean(x, out, n, BLOCK: tl.constexpr):
    """Largest, mean and share above zero of a long row of halves."""
    row = tl.program_id(0)
    top = tl.full((BLOCK,), -1e30, tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    k = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
        top = tl.maximum(top, v)
        s += v
        k += (v > 0).to(tl.float32)
    tl.store(out + row * 3, tl.max(top, axis=0))
    tl.store(out + row * 3 + 1, tl.sum(s, axis=0) / n)
    tl.store(out + row * 3 + 2, tl.sum(k, axis=0) / n)


def programs() -> dict[str, tuple]:
    """Kernel, sizes and how they are launched, by kind."""
    b = Buffer

    def rows(kernel, *more, made="float32", outs=1):
        return lambda N, T, BN, num_warps: Launch(
            kernel,
            (b("x", "float32", N * T), *(b(f"y{i}", made, N * T) for i in range(outs)), N, T, *more),
            {"BN" if "BN" in kernel.arg_names else "BLOCK": BN},
            (cdiv(N, BN),),
            num_warps,
        )

    return {
        "walks": (
            (
                discounted_rows,
                ((300, 200, 32, 1), (4096, 1001, 64, 2), (16384, 512, 128, 4)),
                rows(discounted_rows, 0.99),
            ),
            (
                running_ratio,
                ((1000, 365, 32, 1), (8192, 2048, 128, 4)),
                lambda N, T, BN, num_warps: Launch(
                    running_ratio,
                    (b("x", "float16", N * T), b("v", "float16", N * T), b("y", "float32", N), N, T),
                    {"BN": BN},
                    (cdiv(N, BN),),
                    num_warps,
                ),
            ),
            (spline_system, ((10000, 50, 64, 2), (250000, 64, 128, 4)), rows(spline_system, outs=2)),
            (
                bucket_of,
                ((200000, 8, 256, 4), (8000000, 12, 512, 4)),
                lambda n, STEPS, BLOCK, num_warps: Launch(
                    bucket_of,
                    (b("edges", "float32", 1 << STEPS), b("x", "float32", n), b("n", "int32", n), n),
                    {"STEPS": STEPS, "BLOCK": BLOCK},
                    (cdiv(n, BLOCK),),
                    num_warps,
                ),
            ),
        ),
        "adds": (
            (
                scatter_add_tokens,
                ((512, 4, 1024, 1024, 4), (8192, 6, 3072, 1024, 4)),
                lambda T, K, D, BLOCK, num_warps: Launch(
                    scatter_add_tokens,
                    (b("x", "float32", T * K * D), b("w", "float32", T * K), b("y", "float32", T * D), D),
                    {"K": K, "BLOCK": BLOCK},
                    (T * K,),
                    num_warps,
                ),
            ),
            (
                weight_and_bias_sums,
                ((8192, 640, 16, 64, 4), (65536, 1024, 32, 128, 4)),
                lambda rows, cols, BR, BC, num_warps: Launch(
                    weight_and_bias_sums,
                    (
                        b("x", "float16", rows * cols),
                        b("dy", "float16", rows * cols),
                        b("y", "float32", cols),
                        b("z", "float32", cols),
                        rows,
                        cols,
                    ),
                    {"BR": BR, "BC": BC},
                    (cdiv(rows, BR), cdiv(cols, BC)),
                    num_warps,
                ),
            ),
        ),
        "spread": (
            (
                rotate_pairs,
                ((4096, 8, 64, 2), (32768, 16, 128, 4)),
                lambda T, H, D, num_warps: Launch(
                    rotate_pairs,
                    (b("x", "float32", T * H * D), b("pos", "int32", T, 8000), b("y", "float32", T * H * D), H),
                    {"D": D, "BH": 1 << (H - 1).bit_length()},
                    (T,),
                    num_warps,
                ),
            ),
            (
                fade_by_distance,
                ((2000, 1000, 32, 32, 4), (16384, 4096, 64, 64, 4)),
                lambda N, C, BN, BC, num_warps: Launch(
                    fade_by_distance,
                    (b("x", "float32", N * C), b("s", "float32", 3 * C), b("y", "float32", N * C), N, C),
                    {"BN": BN, "BC": BC},
                    (cdiv(N, BN), cdiv(C, BC)),
                    num_warps,
                ),
            ),
        ),
        "tables": (
            (
                upper_triangle,
                ((2048, 20, 4), (32768, 33, 4)),
                lambda B, F, num_warps: Launch(
                    upper_triangle,
                    (
                        b("z", "float16", B * F * F),
                        b("i", "int32", F * (F - 1) // 2, F),
                        b("j", "int32", F * (F - 1) // 2, F),
                        b("y", "float16", B * F * (F - 1) // 2),
                        F,
                        F * (F - 1) // 2,
                    ),
                    {"BP": 1 << (F * (F - 1) // 2 - 1).bit_length()},
                    (B,),
                    num_warps,
                ),
            ),
            (
                gathered_bins,
                ((3000, 64, 16, 4), (400000, 128, 16, 4)),
                lambda T, F, BT, num_warps: Launch(
                    gathered_bins,
                    (b("x", "float32", T * 512), b("k", "int32", F, 512), b("y", "float32", T * F), T),
                    {"F": F, "BT": BT},
                    (cdiv(T, BT),),
                    num_warps,
                ),
            ),
            (
                swirled,
                ((512, 512, 0.002, 8, 64, 4), (8192, 8192, 0.0002, 16, 64, 4)),
                lambda H, W, turn, BH, BW, num_warps: Launch(
                    swirled,
                    (b("x", "float32", H * W), b("y", "float32", H * W), H, W, turn),
                    {"BH": BH, "BW": BW},
                    (cdiv(W, BW), cdiv(H, BH)),
                    num_warps,
                ),
            ),
            (
                wrapped_box,
                ((8, 200, 200, 3, 16, 32, 4), (64, 512, 512, 2, 8, 128, 4)),
                lambda B, H, W, R, BH, BW, num_warps: Launch(
                    wrapped_box,
                    (b("x", "float32", B * H * W), b("y", "float32", B * H * W), H, W),
                    {"R": R, "BH": BH, "BW": BW},
                    (cdiv(W, BW), cdiv(H, BH), B),
                    num_warps,
                ),
            ),
            (
                clamped_median,
                ((1080, 1920, 1024, 4), (10000, 10000, 512, 4)),
                lambda H, W, BLOCK, num_warps: Launch(
                    clamped_median,
                    (b("x", "float32", H * W), b("y", "float32", H * W), H, W),
                    {"BLOCK": BLOCK},
                    (cdiv(H * W, BLOCK),),
                    num_warps,
                ),
            ),
            (
                rolling_largest,
                ((2520, 500, 60, 16, 32, 4), (8192, 2048, 30, 32, 64, 4)),
                lambda T, N, W, BT, BN, num_warps: Launch(
                    rolling_largest,
                    (b("x", "float32", T * N), b("y", "float32", T * N), T, N, W),
                    {"BT": BT, "BN": BN},
                    (cdiv(T - W, BT), cdiv(N, BN)),
                    num_warps,
                ),
            ),
            (
                channel_filter,
                ((4, 2048, 512, 7, 16, 64, 4), (16, 4096, 1024, 4, 32, 64, 4)),
                lambda B, L, C, K, BL, BC, num_warps: Launch(
                    channel_filter,
                    (
                        b("x", "float32", B * L * C),
                        b("w", "float32", C * K),
                        b("k", "float32", C),
                        b("y", "float32", B * L * C),
                        L,
                        C,
                    ),
                    {"K": K, "BL": BL, "BC": BC},
                    (B, cdiv(L, BL), cdiv(C, BC)),
                    num_warps,
                ),
            ),
        ),
        "few": (
            (
                peak_and_mean,
                ((12, 700000, 4096, 8), (200, 100000, 2048, 4)),
                lambda rows, n, BLOCK, num_warps: Launch(
                    peak_and_mean,
                    (b("x", "float16", rows * n), b("y", "float32", rows * 3), n),
                    {"BLOCK": BLOCK},
                    (rows,),
                    num_warps,
                ),
            ),
        ),
    }


def cases() -> list[Case]:
    """All cases of this module."""
    found = []
    for kind, those in programs().items():
        for kernel, sizes, build in those:
            names = tuple(inspect.signature(build).parameters)
            for values in sizes:
                params = {"kernel": kernel.__name__, **dict(zip(names, values, strict=True))}
                found.append(micro(kind, params, build(*values)))
    return found
