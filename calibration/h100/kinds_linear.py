"""Linear layers, quantised, grouped, batched, and convolutions. Part of :mod:`kinds`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def four_bit_linear(x, w, scale, y, M, N, K, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """x [M, K] times 4-bit weights [N, K / 2], a scale a group of G."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        xt = tl.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        byte = tl.load(w + n[None, :] * (K // 2) + k[:, None] // 2)
        code = (byte >> ((k[:, None] % 2) * 4)) & 15
        s = tl.load(scale + n * (K // G) + start // G)
        wt = ((code - 8).to(tl.float32) * s[None, :]).to(tl.float16)
        acc += tl.dot(xt, wt)
    tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def byte_linear(x, w, sx, sw, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Bytes times bytes, a scale a row and a column."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    xp = x + m[:, None] * K + k[None, :]
    wp = w + n[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), tl.int32)
    for start in range(0, K, BK):
        ok = k < K - start
        a = tl.load(xp, mask=(m[:, None] < M) & ok[None, :], other=0)
        c = tl.load(wp, mask=(n[None, :] < N) & ok[:, None], other=0)
        acc = tl.dot(a, c, acc)
        xp += BK
        wp += BK
    r = tl.load(sx + m, mask=m < M, other=0.0)
    s = tl.load(sw + n, mask=n < N, other=0.0)
    out = acc.to(tl.float32) * r[:, None] * s[None, :]
    tl.store(y + m[:, None] * N + n[None, :], out.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def upcast_linear(x, w, scale, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Bytes as weights, made floats for a product in tf32."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    s = tl.load(scale + n)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(x + m[:, None] * K + start + k[None, :], mask=m[:, None] < M, other=0.0).to(tl.float32)
        c = tl.load(w + (start + k[:, None]) * N + n[None, :]).to(tl.float32) * s[None, :]
        acc += tl.dot(a, c)
    tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=m[:, None] < M)


@triton.jit
def expert_blocks(x, w, which, y, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Blocks of rows, each with the weights of its expert."""
    block = tl.program_id(0)
    e = tl.load(which + block).to(tl.int64)
    m = block * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(x + m[:, None] * K + start + k[None, :])
        c = tl.load(w + e * K * N + (start + k[:, None]) * N + n[None, :])
        acc = tl.dot(a, c, acc)
    tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


@triton.jit
def row_times_matrix(x, w, bias, y, N, K, BN: tl.constexpr, BK: tl.constexpr):
    """A vector times fp16 weights [N, K], BN results a program."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BN, BK), tl.float32)
    for start in range(0, K, BK):
        v = tl.load(x + start + k, mask=start + k < K, other=0.0).to(tl.float32)
        ok = (n[:, None] < N) & (start + k[None, :] < K)
        t = tl.load(w + n[:, None] * K + start + k[None, :], mask=ok, other=0.0).to(tl.float32)
        acc += t * v[None, :]
    out = tl.sum(acc, axis=1) + tl.load(bias + n, mask=n < N, other=0.0)
    tl.store(y + n, out, mask=n < N)


@triton.jit
def low_rank_down(x, a, h, M, K, R: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    """x [M, K] times [K, R]."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    r = tl.arange(0, R)
    acc = tl.zeros((BM, R), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        xt = tl.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        at = tl.load(a + k[:, None] * R + r[None, :])
        acc += tl.dot(xt, at)
    tl.store(h + m[:, None] * R + r[None, :], acc.to(tl.bfloat16), mask=m[:, None] < M)


@triton.jit
def low_rank_up(h, c, base, y, M, N, scale, R: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """base + scale h [M, R] times [R, N]."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    r = tl.arange(0, R)
    ok = (m[:, None] < M) & (n[None, :] < N)
    ht = tl.load(h + m[:, None] * R + r[None, :], mask=m[:, None] < M, other=0.0)
    ct = tl.load(c + r[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
    old = tl.load(base + m[:, None] * N + n[None, :], mask=ok, other=0.0).to(tl.float32)
    tl.store(y + m[:, None] * N + n[None, :], (old + scale * tl.dot(ht, ct)).to(tl.bfloat16), mask=ok)


@triton.jit
def gated_layer(x, gate, up, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """silu(x G) (x U) in one pass."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    p = tl.zeros((BM, BN), tl.float32)
    q = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        ok = (start + k) < K
        a = tl.load(x + m[:, None] * K + start + k[None, :], mask=(m[:, None] < M) & ok[None, :], other=0.0)
        g = tl.load(gate + (start + k[:, None]) * N + n[None, :], mask=ok[:, None] & (n[None, :] < N), other=0.0)
        u = tl.load(up + (start + k[:, None]) * N + n[None, :], mask=ok[:, None] & (n[None, :] < N), other=0.0)
        p = tl.dot(a, g, p)
        q = tl.dot(a, u, q)
    out = p * tl.sigmoid(p) * q
    tl.store(y + m[:, None] * N + n[None, :], out.to(tl.bfloat16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def layer_and_norm(x, w, res, gamma, y, M, K, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    """A narrow linear layer, a residual, and the norm of its rows."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, N)
    acc = tl.zeros((BM, N), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        acc += tl.dot(a, tl.load(w + k[:, None] * N + n[None, :]))
    acc += tl.load(res + m[:, None] * N + n[None, :], mask=m[:, None] < M, other=0.0).to(tl.float32)
    mean = tl.sum(acc, axis=1) / N
    gap = acc - mean[:, None]
    r = tl.rsqrt(tl.sum(gap * gap, axis=1) / N + 1e-5)
    tl.store(
        y + m[:, None] * N + n[None, :],
        (gap * r[:, None] * tl.load(gamma + n)[None, :]).to(tl.float16),
        mask=m[:, None] < M,
    )


@triton.jit
def small_products(a, c, y, S: tl.constexpr):
    """Batches of S x S in full precision, one a program."""
    b = tl.program_id(0).to(tl.int64) * S * S
    i = tl.arange(0, S)
    at = i[:, None] * S + i[None, :]
    tl.store(y + b + at, tl.dot(tl.load(a + b + at), tl.load(c + b + at), input_precision="ieee"))


@triton.jit
def image_taps(x, w, y, H, W, C: tl.constexpr, F: tl.constexpr, BM: tl.constexpr):
    """A convolution 3 x 3 of [H, W, C] images as nine products."""
    p = tl.program_id(0) * BM + tl.arange(0, BM)
    img = tl.program_id(1) * H * W
    r = p // W
    c = p % W
    i = tl.arange(0, C)
    f = tl.arange(0, F)
    acc = tl.zeros((BM, F), tl.float32)
    for dy in range(3):
        for dx in range(3):
            rr = r + dy - 1
            cc = c + dx - 1
            ok = (rr >= 0) & (rr < H) & (cc >= 0) & (cc < W) & (p < H * W)
            xt = tl.load(x + (img + rr * W + cc)[:, None] * C + i[None, :], mask=ok[:, None], other=0.0)
            wt = tl.load(w + (dy * 3 + dx) * C * F + i[:, None] * F + f[None, :])
            acc = tl.dot(xt, wt, acc)
    tl.store(y + (img + p)[:, None] * F + f[None, :], tl.maximum(acc, 0.0).to(tl.float16), mask=(p < H * W)[:, None])


@triton.jit
def best_of_codes(q, codes, scale, best, place, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The best byte code of each byte query: products and a running maximum with its place."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    qt = tl.load(q + m[:, None] * D + d[None, :])
    top = tl.full((BM,), -1e30, tl.float32)
    at = tl.zeros((BM,), tl.int32)
    for start in range(0, N, BN):
        n = start + tl.arange(0, BN)
        ct = tl.load(codes + n[None, :] * D + d[:, None], mask=n[None, :] < N, other=0)
        s = tl.dot(qt, ct).to(tl.float32) * tl.load(scale + n, mask=n < N, other=0.0)[None, :]
        s = tl.where(n[None, :] < N, s, -1e30)
        v = tl.max(s, axis=1)
        j = tl.argmax(s, axis=1)
        at = tl.where(v > top, start + j, at)
        top = tl.maximum(top, v)
    tl.store(best + m, top)
    tl.store(place + m, at)


@triton.jit
def split_weight_gradient(x, g, y, M, N, K, SPAN, BN: tl.constexpr, BK: tl.constexpr, BM: tl.constexpr):
    """x' g over parts of the rows, added atomically."""
    k = tl.program_id(0) * BK + tl.arange(0, BK)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * SPAN
    acc = tl.zeros((BK, BN), tl.float32)
    for start in range(first, tl.minimum(first + SPAN, M), BM):
        m = start + tl.arange(0, BM)
        xt = tl.load(x + m[None, :] * K + k[:, None], mask=m[None, :] < M, other=0.0)
        gt = tl.load(g + m[:, None] * N + n[None, :], mask=m[:, None] < M, other=0.0)
        acc += tl.dot(xt, gt)
    tl.atomic_add(y + k[:, None] * N + n[None, :], acc, sem="relaxed")


@triton.jit
def factor_machine(x, v, y, F, K: tl.constexpr, BF: tl.constexpr):
    """Second-order terms of a row: squares of sums less sums of squares of K factors."""
    row = tl.program_id(0)
    k = tl.arange(0, K)
    s = tl.zeros((K,), tl.float32)
    t = tl.zeros((K,), tl.float32)
    for start in range(0, F, BF):
        f = start + tl.arange(0, BF)
        xv = tl.load(x + row * F + f, mask=f < F, other=0.0)
        vt = tl.load(v + f[:, None] * K + k[None, :], mask=f[:, None] < F, other=0.0)
        p = xv[:, None] * vt
        s += tl.sum(p, axis=0)
        t += tl.sum(p * p, axis=0)
    tl.store(y + row, 0.5 * tl.sum(s * s - t, axis=0))


@triton.jit
def pair_scores(x, w, y, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """x_i' W x_j of all pairs, W kept by each program, in tf32."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    a = tl.load(x + i[:, None] * D + d[None, :], mask=i[:, None] < N, other=0.0)
    wt = tl.load(w + d[:, None] * D + d[None, :])
    c = tl.load(x + j[None, :] * D + d[:, None], mask=j[None, :] < N, other=0.0)
    s = tl.dot(tl.dot(a, wt), c)
    tl.store(y + i[:, None] * N + j[None, :], tl.sigmoid(s), mask=(i[:, None] < N) & (j[None, :] < N))


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def tiled(kernel, dtype, wide, out, *more):
        def build(M, N, K, BM, BN, BK, num_warps, num_stages):
            given = (b("x", dtype, M * K), b("w", wide, K * N), *(b(*one(M, N, K)) for one in more))
            constants = {"BM": BM, "BN": BN, "BK": BK}
            args = (*given, b("y", out, M * N), M, N, K)
            return Launch(kernel, args, constants, (cdiv(M, BM), cdiv(N, BN)), num_warps, num_stages)

        return build

    def low_rank(M, N, K, R, BM, num_warps):
        h = b("h", "bfloat16", M * R)
        return (
            Launch(low_rank_down, (b("x", "bfloat16", M * K), b("a", "bfloat16", K * R), h, M, K),
                   {"R": R, "BM": BM, "BK": 64}, (cdiv(M, BM),), num_warps),
            Launch(low_rank_up, (h, b("c", "bfloat16", R * N), b("base", "bfloat16", M * N), b("y", "bfloat16", M * N),
                   M, N, 0.5), {"R": R, "BM": BM, "BN": 128}, (cdiv(M, BM), cdiv(N, 128)), num_warps),
        )  # fmt: skip

    def four_bit(M, N, K, G, BM, BN, num_warps):
        args = (b("x", "float16", M * K), b("w", "uint8", K * N // 2), b("scale", "float32", N * K // G),
                b("y", "float16", M * N), M, N, K)  # fmt: skip
        return Launch(
            four_bit_linear, args, {"G": G, "BM": BM, "BN": BN, "BK": 64}, (cdiv(M, BM), cdiv(N, BN)), num_warps
        )

    return (
        (four_bit_linear, ((16, 2048, 2048, 128, 16, 64, 4), (512, 4096, 4096, 64, 64, 128, 8)), four_bit),
        (
            byte_linear,
            ((16, 2048, 2048, 16, 64, 128, 4, 3), (24, 8192, 8192, 32, 128, 128, 4, 4), (4096, 4096, 4096, 128, 128, 64, 8, 3)),
            tiled(byte_linear, "int8", "int8", "float16", lambda M, N, K: ("sx", "float32", M),
                  lambda M, N, K: ("sw", "float32", N)),
        ),
        (
            upcast_linear,
            ((64, 1024, 1024, 32, 64, 32, 4, 3), (1024, 4096, 4096, 64, 128, 32, 8, 3)),
            tiled(upcast_linear, "float16", "int8", "float16", lambda M, N, K: ("sw", "float32", N)),
        ),
        (
            expert_blocks,
            ((16, 16, 768, 512, 64, 64, 4), (128, 64, 1408, 2048, 64, 128, 4)),
            lambda blocks, E, N, K, BM, BN, num_warps: Launch(
                expert_blocks,
                (b("x", "bfloat16", blocks * BM * K), b("w", "bfloat16", E * K * N), b("which", "int32", blocks, E),
                 b("y", "bfloat16", blocks * BM * N), N, K),
                {"BM": BM, "BN": BN, "BK": 64}, (blocks, N // BN), num_warps,
            ),
        ),
        (
            row_times_matrix,
            ((1000, 1500, 4, 256, 4), (32000, 4096, 8, 512, 4)),
            lambda N, K, BN, BK, num_warps: Launch(
                row_times_matrix,
                (b("x", "float16", K), b("w", "float16", N * K), b("bias", "float32", N), b("y", "float32", N), N, K),
                {"BN": BN, "BK": BK}, (cdiv(N, BN),), num_warps,
            ),
        ),
        (low_rank_down, ((64, 1024, 1024, 16, 32, 4), (8192, 4096, 4096, 32, 64, 4)), low_rank),
        (
            gated_layer,
            ((100, 700, 500, 32, 64, 32, 4, 3), (2048, 5632, 2048, 128, 64, 64, 4, 3)),
            tiled(gated_layer, "bfloat16", "bfloat16", "bfloat16", lambda M, N, K: ("up", "bfloat16", K * N)),
        ),
        (
            layer_and_norm,
            ((500, 256, 128, 16, 4), (50000, 1024, 256, 32, 8)),
            lambda M, K, N, BM, num_warps: Launch(
                layer_and_norm,
                (b("x", "float16", M * K), b("w", "float16", K * N), b("res", "float16", M * N), b("gamma", "float32", N),
                 b("y", "float16", M * N), M, K),
                {"N": N, "BM": BM, "BK": 64}, (cdiv(M, BM),), num_warps,
            ),
        ),
        (
            small_products,
            ((500, 16, 1), (20000, 64, 4)),
            lambda B, S, num_warps: Launch(
                small_products, tuple(b(name, "float32", B * S * S) for name in ("x", "w", "y")), {"S": S}, (B,), num_warps
            ),
        ),
        (
            image_taps,
            ((2, 28, 28, 32, 32, 32, 4), (16, 112, 112, 64, 64, 128, 4)),
            lambda B, H, W, C, F, BM, num_warps: Launch(
                image_taps,
                (b("x", "float16", B * H * W * C), b("w", "float16", 9 * C * F), b("y", "float16", B * H * W * F), H, W),
                {"C": C, "F": F, "BM": BM}, (cdiv(H * W, BM), B), num_warps,
            ),
        ),
        (
            best_of_codes,
            ((256, 5000, 64, 16, 64, 4), (2048, 200000, 128, 32, 128, 4)),
            lambda M, N, D, BM, BN, num_warps: Launch(
                best_of_codes,
                (b("x", "int8", M * D), b("w", "int8", N * D), b("scale", "float32", N), b("y", "float32", M),
                 b("place", "int32", M), N),
                {"D": D, "BM": BM, "BN": BN}, (M // BM,), num_warps,
            ),
        ),
        (
            split_weight_gradient,
            ((4096, 256, 256, 512, 64, 4), (65536, 1024, 1024, 8192, 128, 8)),
            lambda M, N, K, SPAN, BK, num_warps: Launch(
                split_weight_gradient,
                (b("x", "float16", M * K), b("g", "float16", M * N), b("y", "float32", K * N), M, N, K, SPAN),
                {"BN": 64, "BK": BK, "BM": 32}, (K // BK, N // 64, cdiv(M, SPAN)), num_warps,
            ),
        ),
        (
            factor_machine,
            ((256, 100, 16, 32, 2), (16384, 1000, 32, 64, 4)),
            lambda rows, F, K, BF, num_warps: Launch(
                factor_machine, (b("x", "float32", rows * F), b("v", "float32", F * K), b("y", "float32", rows), F),
                {"K": K, "BF": BF}, (rows,), num_warps,
            ),
        ),
        (
            pair_scores,
            ((300, 32, 32, 4), (8192, 64, 64, 4)),
            lambda N, D, BM, num_warps: Launch(
                pair_scores, (b("x", "float32", N * D), b("w", "float32", D * D), b("y", "float32", N * N), N),
                {"D": D, "BM": BM, "BN": BM}, (cdiv(N, BM), cdiv(N, BM)), num_warps,
            ),
        ),
    )  # fmt: skip
