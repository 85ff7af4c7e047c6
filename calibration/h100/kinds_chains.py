"""Several launches, one after the other. Part of :mod:`kinds`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def normed(x, y, cols, BLOCK: tl.constexpr):
    """Rows normalised."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    g = tl.where(c < cols, v - tl.sum(v, axis=0) / cols, 0.0)
    tl.store(y + row * cols + c, (g * tl.rsqrt(tl.sum(g * g, axis=0) / cols + 1e-5)).to(tl.float16), mask=c < cols)


@triton.jit
def layer(x, w, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A linear layer with a gelu-like end."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=(m < M)[:, None], other=0.0)
        acc += tl.dot(a, tl.load(w + k[:, None] * N + n[None, :], mask=(n < N)[None, :], other=0.0))
    acc = acc * tl.sigmoid(1.702 * acc)
    tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def add(x, r, y, n, BLOCK: tl.constexpr):
    """A sum."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) + tl.load(r + i, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def scale_rows(k, v, u, cols, BLOCK: tl.constexpr):
    """u = 1 / K v, a row a program."""
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        acc += tl.exp(-tl.abs(tl.load(k + row * cols + c, mask=c < cols, other=0.0))) * tl.load(
            v + c, mask=c < cols, other=0.0
        )
    tl.store(u + row, 1.0 / (tl.abs(tl.sum(acc, axis=0)) + 1e-6))


@triton.jit
def scale_columns(k, u, v, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """v = 1 / K' u, a strip of columns a program."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    acc = tl.zeros((BC,), tl.float32)
    for start in range(0, rows, BR):
        r = start + tl.arange(0, BR)
        m = (r < rows)[:, None] & (c < cols)[None, :]
        t = tl.exp(-tl.abs(tl.load(k + r[:, None] * cols + c[None, :], mask=m, other=1e4)))
        acc += tl.sum(t * tl.load(u + r, mask=r < rows, other=0.0)[:, None], axis=0)
    tl.store(v + c, 1.0 / (tl.abs(acc) + 1e-6), mask=c < cols)


@triton.jit
def predator_step(x, y, n, dt, BLOCK: tl.constexpr):
    """A Runge-Kutta step of two coupled equations, in place."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    p = tl.load(x + i, mask=m, other=0.0)
    q = tl.load(y + i, mask=m, other=0.0)
    a1 = p * (1.1 - 0.4 * q)
    b1 = q * (0.1 * p - 0.4)
    p2 = p + 0.5 * dt * a1
    q2 = q + 0.5 * dt * b1
    a2 = p2 * (1.1 - 0.4 * q2)
    b2 = q2 * (0.1 * p2 - 0.4)
    p3 = p + dt * a2
    q3 = q + dt * b2
    a3 = p3 * (1.1 - 0.4 * q3)
    b3 = q3 * (0.1 * p3 - 0.4)
    tl.store(x + i, p + dt / 6 * (a1 + 4 * a2 + a3), mask=m)
    tl.store(y + i, q + dt / 6 * (b1 + 4 * b2 + b3), mask=m)


@triton.jit
def zeros(y, n, BLOCK: tl.constexpr):
    """Zeros."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.zeros((BLOCK,), y.dtype.element_ty), mask=i < n)


@triton.jit
def assign(x, centres, which, n, K, D: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The nearest of K centres of each point, by products."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    xt = tl.load(x + i[:, None] * D + d[None, :], mask=(i < n)[:, None], other=0.0)
    best = tl.full((BN,), float("inf"), tl.float32)
    at = tl.zeros((BN,), tl.int32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        ct = tl.load(centres + k[None, :] * D + d[:, None], mask=(k < K)[None, :], other=0.0)
        dist = tl.sum(ct * ct, axis=0)[None, :] - 2.0 * tl.dot(xt, ct)
        dist = tl.where((k < K)[None, :], dist, float("inf"))
        v = tl.min(dist, axis=1)
        at = tl.where(v < best, start + tl.argmin(dist, axis=1), at)
        best = tl.minimum(best, v)
    tl.store(which + i, at, mask=i < n)


@triton.jit
def gather_members(x, which, sums, counts, n, D: tl.constexpr, BN: tl.constexpr):
    """Points added to their centre."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    w = tl.load(which + i, mask=i < n, other=0)
    v = tl.load(x + i[:, None] * D + d[None, :], mask=(i < n)[:, None], other=0.0)
    tl.atomic_add(sums + w[:, None] * D + d[None, :], v, mask=(i < n)[:, None])
    tl.atomic_add(counts + w, 1.0, mask=i < n)


@triton.jit
def divide(sums, counts, centres, D: tl.constexpr):
    """Sums over counts."""
    k = tl.program_id(0)
    d = tl.arange(0, D)
    tl.store(centres + k * D + d, tl.load(sums + k * D + d) / tl.maximum(tl.load(counts + k), 1.0))


@triton.jit
def halve(x, y, H, W, BLOCK: tl.constexpr):
    """Means of 2 x 2 pixels."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.program_id(1)
    m = i < H * W
    at = p * 4 * H * W + i // W * 4 * W + i % W * 2
    v = tl.load(x + at, mask=m, other=0.0) + tl.load(x + at + 1, mask=m, other=0.0)
    v += tl.load(x + at + 2 * W, mask=m, other=0.0) + tl.load(x + at + 2 * W + 1, mask=m, other=0.0)
    tl.store(y + p * H * W + i, 0.25 * v, mask=m)


@triton.jit
def block_sums(x, parts, n, BLOCK: tl.constexpr):
    """A part of a sum and of a sum of squares."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(parts + 2 * tl.program_id(0), tl.sum(v, axis=0))
    tl.store(parts + 2 * tl.program_id(0) + 1, tl.sum(v * v, axis=0))


@triton.jit
def finish_stats(parts, stats, count, n, BLOCK: tl.constexpr):
    """Mean and deviation of all parts."""
    s = tl.zeros((BLOCK,), tl.float32)
    q = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        i = start + tl.arange(0, BLOCK)
        s += tl.load(parts + 2 * i, mask=i < count, other=0.0)
        q += tl.load(parts + 2 * i + 1, mask=i < count, other=0.0)
    mean = tl.sum(s, axis=0) / n
    tl.store(stats, mean)
    tl.store(stats + 1, tl.rsqrt(tl.abs(tl.sum(q, axis=0) / n - mean * mean) + 1e-6))


@triton.jit
def standardise(x, stats, y, n, BLOCK: tl.constexpr):
    """A tensor less its mean over its deviation."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, (v - tl.load(stats)) * tl.load(stats + 1), mask=i < n)


@triton.jit
def moving_average(p, e, n, decay, BLOCK: tl.constexpr):
    """A moving average of one parameter."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(e + i, mask=i < n, other=0.0)
    tl.store(e + i, v * decay + tl.load(p + i, mask=i < n, other=0.0) * (1 - decay), mask=i < n)


@triton.jit
def token_step(h, emb, ids, y, t, D: tl.constexpr):
    """One step of a recurrence over tokens, launched for each token."""
    b = tl.program_id(0)
    d = tl.arange(0, D)
    k = tl.load(ids + b * 64 + t)
    v = tl.load(h + b * D + d) * 0.9 + tl.load(emb + k * D + d)
    v = v / (1.0 + tl.abs(v))
    tl.store(h + b * D + d, v)
    tl.store(y + (b * 64 + t) * D + d, v)


@triton.jit
def scores(q, k, s, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Scores of a head written out."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    h = tl.program_id(2)
    d = tl.arange(0, D)
    a = tl.load(q + (h * T + m[:, None]) * D + d[None, :], mask=(m < T)[:, None], other=0.0)
    c = tl.load(k + (h * T + n[None, :]) * D + d[:, None], mask=(n < T)[None, :], other=0.0)
    v = tl.dot(a, c) * scale
    tl.store(s + (h * T + m[:, None]) * T + n[None, :], v, mask=(m < T)[:, None] & (n < T)[None, :])


@triton.jit
def softmax_in_place(s, T, BLOCK: tl.constexpr):
    """Softmax of rows up to the diagonal."""
    row = tl.program_id(0)
    h = tl.program_id(1)
    c = tl.arange(0, BLOCK)
    v = tl.load(s + (h * T + row) * T + c, mask=c <= row, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(s + (h * T + row) * T + c, e / tl.sum(e, axis=0), mask=c < T)


@triton.jit
def mix_values(s, v, y, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Weights times values, upcast."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    h = tl.program_id(1)
    d = tl.arange(0, D)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, T, BN):
        n = start + tl.arange(0, BN)
        p = tl.load(s + (h * T + m[:, None]) * T + n[None, :], mask=(m < T)[:, None] & (n < T)[None, :], other=0.0)
        t = tl.load(v + (h * T + n[:, None]) * D + d[None, :], mask=(n < T)[:, None], other=0.0)
        acc += tl.dot(p, t.to(tl.float32))
    tl.store(y + (h * T + m[:, None]) * D + d[None, :], acc.to(tl.float16), mask=(m < T)[:, None])


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def wide(n):
        return 1 << (n - 1).bit_length()

    def block(M, D, F, BM, BN, num_warps):
        x, h, f, y = (
            b("x", "float16", M * D),
            b("h", "float16", M * D),
            b("f", "float16", M * F),
            b("y", "float16", M * D),
        )
        tile, n = {"BM": BM, "BN": BN, "BK": 32}, M * D
        return (
            Launch(normed, (x, h, D), {"BLOCK": wide(D)}, (M,), 4),
            Launch(layer, (h, b("w", "float16", D * F), f, M, F, D), tile, (cdiv(M, BM), cdiv(F, BN)), num_warps),
            Launch(layer, (f, b("w2", "float16", D * F), h, M, D, F), tile, (cdiv(M, BM), cdiv(D, BN)), num_warps),
            Launch(add, (h, x, y, n), {"BLOCK": 1024}, (cdiv(n, 1024),), 4),
        )

    def transport(rows, cols, turns, num_warps):
        k, u, v = b("k", "float32", rows * cols), b("u", "float32", rows), b("v", "float32", cols)
        return (
            Launch(scale_rows, (k, v, u, cols), {"BLOCK": 512}, (rows,), num_warps),
            Launch(scale_columns, (k, u, v, rows, cols), {"BR": 32, "BC": 32}, (cdiv(cols, 32),), num_warps),
        ) * turns

    def predators(n, steps, BLOCK, num_warps):
        args = (b("x", "float32", n), b("y", "float32", n), n, 0.01)
        return (Launch(predator_step, args, {"BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),) * steps

    def means(n, K, D, BN, num_warps):
        x, c, which = b("x", "float32", n * D), b("c", "float32", K * D), b("which", "int32", n, K)
        sums, counts, grid = b("sums", "float32", K * D), b("counts", "float32", K), (cdiv(n, BN),)
        return (
            Launch(assign, (x, c, which, n, K), {"D": D, "BN": BN, "BK": 32}, grid, num_warps),
            Launch(zeros, (sums, K * D), {"BLOCK": 1024}, (cdiv(K * D, 1024),), 4),
            Launch(zeros, (counts, K), {"BLOCK": 1024}, (cdiv(K, 1024),), 4),
            Launch(gather_members, (x, which, sums, counts, n), {"D": D, "BN": BN}, grid, num_warps),
            Launch(divide, (sums, counts, c), {"D": D}, (K,), 1),
        )

    def pyramid(P, S, levels, BLOCK, num_warps):
        found = []
        for level in range(levels):
            S //= 2
            args = (b(f"l{level}", "float32", 4 * P * S * S), b(f"l{level + 1}", "float32", P * S * S), S, S)
            found.append(Launch(halve, args, {"BLOCK": BLOCK}, (cdiv(S * S, BLOCK), P), num_warps))
        return tuple(found)

    def standard(n, BLOCK, num_warps):
        x, count = b("x", "float32", n), cdiv(n, BLOCK)
        parts, stats = b("parts", "float32", 2 * count), b("stats", "float32", 2)
        return (
            Launch(block_sums, (x, parts, n), {"BLOCK": BLOCK}, (count,), num_warps),
            Launch(finish_stats, (parts, stats, count, n), {"BLOCK": 1024}, (1,), 4),
            Launch(standardise, (x, stats, b("y", "float32", n), n), {"BLOCK": BLOCK}, (count,), num_warps),
        )

    def averages(tensors, each, BLOCK, num_warps):
        return tuple(
            Launch(moving_average, (b(f"p{k}", "float32", each * (k % 3 + 1)), b(f"e{k}", "float32", each * (k % 3 + 1)),
                   each * (k % 3 + 1), 0.999), {"BLOCK": BLOCK}, (cdiv(each * (k % 3 + 1), BLOCK),), num_warps)
            for k in range(tensors)
        )  # fmt: skip

    def tokens(B, D, num_warps):
        h, emb = b("h", "float32", B * D), b("emb", "float32", 1000 * D)
        ids, y = b("ids", "int32", B * 64, 1000), b("y", "float32", B * 64 * D)
        return tuple(Launch(token_step, (h, emb, ids, y, t), {"D": D}, (B,), num_warps) for t in range(64))

    def attention(H, T, D, BM, num_warps):
        q, k, v, y = (b(name, "float16", H * T * D) for name in "qkvy")
        s = b("s", "float32", H * T * T)
        return (
            Launch(
                scores, (q, k, s, T, D**-0.5), {"D": D, "BM": BM, "BN": BM}, (cdiv(T, BM), cdiv(T, BM), H), num_warps
            ),
            Launch(softmax_in_place, (s, T), {"BLOCK": wide(T)}, (T, H), 4),
            Launch(mix_values, (s, v, y, T), {"D": D, "BM": BM, "BN": 32}, (cdiv(T, BM), H), num_warps),
        )

    return (
        (normed, ((100, 256, 512, 32, 64, 4), (4096, 768, 3072, 128, 128, 8)), block),
        (scale_rows, ((256, 300, 10, 4), (2000, 3000, 20, 4)), transport),
        (predator_step, ((5000, 20, 256, 4), (4000000, 50, 1024, 4)), predators),
        (assign, ((2000, 16, 32, 64, 4), (500000, 256, 64, 64, 4)), means),
        (halve, ((3, 256, 5, 256, 4), (48, 2048, 5, 1024, 4)), pyramid),
        (block_sums, ((50000, 1024, 4), (40000000, 4096, 8)), standard),
        (moving_average, ((30, 1000, 512, 4), (60, 500000, 1024, 4)), averages),
        (token_step, ((8, 128, 1), (4096, 512, 4)), tokens),
        (scores, ((4, 200, 64, 32, 4), (24, 2048, 64, 64, 4)), attention),
    )
