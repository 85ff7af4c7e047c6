"""Small solvers, decompositions, transforms and forces. Part of :mod:`kinds`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def factor_in_tile(a, out, N: tl.constexpr):
    """A Cholesky factor in one tile, a matrix a program, columns picked out by masks."""
    b = tl.program_id(0) * N * N
    i = tl.arange(0, N)
    at = b + i[:, None] * N + i[None, :]
    m = tl.load(a + at) * 0.01 + tl.where(i[:, None] == i[None, :], 4.0, 0.0)
    low = tl.zeros((N, N), tl.float32)
    for k in range(N):
        col = tl.sum(tl.where(i[None, :] == k, m, 0.0), axis=1)
        d = tl.sqrt(tl.abs(tl.sum(tl.where(i == k, col, 0.0), axis=0)) + 1e-6)
        col = tl.where(i >= k, col / d, 0.0)
        low += tl.where(i[None, :] == k, col[:, None], 0.0)
        m -= col[:, None] * col[None, :]
    tl.store(out + at, low)


@triton.jit
def gaussian_likelihood(x, y, out, n, scale, N: tl.constexpr, D: tl.constexpr):
    """A likelihood of N points by a kernel matrix eliminated in registers, in doubles."""
    b = tl.program_id(0)
    i = tl.arange(0, N)
    s = tl.zeros((N, N), tl.float64)
    for d in range(D):
        v = tl.load(x + (b * D + d) * N + i)
        g = v[:, None] - v[None, :]
        s += g * g
    k = tl.exp(-0.5 * s * scale) + tl.where(i[:, None] == i[None, :], 0.1, 0.0)
    r = tl.load(y + b * N + i)
    logdet = tl.sum(r, axis=0) * 0.0
    quad = logdet
    for p in range(N):
        row = tl.sum(tl.where(i[:, None] == p, k, 0.0), axis=0)
        piv = tl.sum(tl.where(i == p, row, 0.0), axis=0)
        rp = tl.sum(tl.where(i == p, r, 0.0), axis=0)
        f = tl.where(i > p, row / piv, 0.0)
        k -= f[:, None] * row[None, :]
        r -= f * rp
        logdet += tl.log(tl.abs(piv))
        quad += rp * rp / piv
    tl.store(out + b, -0.5 * (quad + logdet))


@triton.jit
def orthogonal_columns(a, q, M: tl.constexpr, N: tl.constexpr):
    """Columns made orthonormal one after the other (Gram and Schmidt) in one tile."""
    b = tl.program_id(0) * M * N
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    t = tl.load(a + b + i[:, None] * N + j[None, :])
    for k in range(N):
        c = tl.sum(tl.where(j[None, :] == k, t, 0.0), axis=1)
        c = c * tl.rsqrt(tl.sum(c * c, axis=0) + 1e-12)
        dots = tl.sum(t * c[:, None], axis=0)
        t = tl.where(j[None, :] == k, c[:, None], tl.where(j[None, :] > k, t - c[:, None] * dots[None, :], t))
    tl.store(q + b + i[:, None] * N + j[None, :], t)


@triton.jit
def three_by_three(a, y, n, BLOCK: tl.constexpr):
    """Eigenvalues of symmetric matrices [n, 6] by the cosine formula."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    xx = tl.load(a + i * 6, mask=m, other=1.0)
    yy = tl.load(a + i * 6 + 1, mask=m, other=1.0)
    zz = tl.load(a + i * 6 + 2, mask=m, other=1.0)
    xy = tl.load(a + i * 6 + 3, mask=m, other=0.0)
    xz = tl.load(a + i * 6 + 4, mask=m, other=0.0)
    yz = tl.load(a + i * 6 + 5, mask=m, other=0.0)
    q = (xx + yy + zz) / 3.0
    p2 = (xx - q) * (xx - q) + (yy - q) * (yy - q) + (zz - q) * (zz - q) + 2 * (xy * xy + xz * xz + yz * yz)
    p = tl.sqrt(p2 / 6.0) + 1e-12
    c0 = (xx - q) / p
    c1 = (yy - q) / p
    c2 = (zz - q) / p
    det = c0 * (c1 * c2 - yz * yz / p / p) - xy / p * (xy / p * c2 - yz * xz / p / p)
    det += xz / p * (xy * yz / p / p - c1 * xz / p)
    r = tl.minimum(tl.maximum(det * 0.5, -0.999), 0.999)
    phi = 1.5707963 - r * (1.0 + r * r * (0.1666667 + r * r * 0.075))
    phi = phi / 3.0
    e0 = q + 2 * p * tl.cos(phi)
    e2 = q + 2 * p * tl.cos(phi + 2.0943951)
    tl.store(y + i * 3, e0, mask=m)
    tl.store(y + i * 3 + 1, 3 * q - e0 - e2, mask=m)
    tl.store(y + i * 3 + 2, e2, mask=m)


@triton.jit
def relax(x, f, y, H, W, BH: tl.constexpr, BW: tl.constexpr):
    """A sweep of Jacobi's method on a plane."""
    r = tl.program_id(0) * BH + tl.arange(0, BH)
    c = tl.program_id(1) * BW + tl.arange(0, BW)
    at = r[:, None] * W + c[None, :]
    ok = (r > 0)[:, None] & (r < H - 1)[:, None] & (c > 0)[None, :] & (c < W - 1)[None, :]
    s = tl.load(x + at - 1, mask=ok, other=0.0) + tl.load(x + at + 1, mask=ok, other=0.0)
    s += tl.load(x + at - W, mask=ok, other=0.0) + tl.load(x + at + W, mask=ok, other=0.0)
    tl.store(y + at, 0.25 * (s + tl.load(f + at, mask=ok, other=0.0)), mask=ok)


@triton.jit
def sparse_rows(val, col, x, y, parts, n, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """A sparse matrix of EACH entries a row times x, and a part of x' A x."""
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = r < n
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(EACH):
        j = tl.load(col + r * EACH + k, mask=m, other=0)
        acc += tl.load(val + r * EACH + k, mask=m, other=0.0) * tl.load(x + j, mask=m, other=0.0)
    tl.store(y + r, acc, mask=m)
    tl.store(parts + tl.program_id(0), tl.sum(acc * tl.load(x + r, mask=m, other=0.0), axis=0))


@triton.jit
def sum_of_parts(parts, out, n, BLOCK: tl.constexpr):
    """One program that adds up all parts."""
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(parts + i, mask=i < n, other=0.0)
    tl.store(out, tl.sum(acc, axis=0))


@triton.jit
def move_along(x, r, p, q, pq, rr, n, BLOCK: tl.constexpr):
    """x and r of conjugate gradients moved by a step that two sums give."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(rr) / (tl.load(pq) + 1e-9)
    tl.store(x + i, tl.load(x + i, mask=m, other=0.0) + a * tl.load(p + i, mask=m, other=0.0), mask=m)
    tl.store(r + i, tl.load(r + i, mask=m, other=0.0) - a * tl.load(q + i, mask=m, other=0.0), mask=m)


@triton.jit
def three_diagonals(lo, di, up, rhs, cp, x, L, n, BLOCK: tl.constexpr):
    """Systems with three diagonals, stored [L, n], one a lane: forth and back."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    c = tl.zeros((BLOCK,), tl.float32)
    d = c
    for k in range(L):
        at = k * n + i
        a = tl.load(lo + at, mask=m, other=0.0)
        w = 1.0 / (tl.load(di + at, mask=m, other=1.0) + 8.0 - a * c)
        c = tl.load(up + at, mask=m, other=0.0) * w
        d = (tl.load(rhs + at, mask=m, other=0.0) - a * d) * w
        tl.store(cp + at, c, mask=m)
        tl.store(x + at, d, mask=m)
    for k in range(1, L):
        at = (L - 1 - k) * n + i
        d = tl.load(x + at, mask=m, other=0.0) - tl.load(cp + at, mask=m, other=0.0) * d
        tl.store(x + at, d, mask=m)


@triton.jit
def covariance_doubles(x, z, out, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """A Matern kernel matrix of points in doubles."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    s = tl.zeros((BM, BN), tl.float64)
    for d in tl.static_range(D):
        g = (
            tl.load(x + d * n + i, mask=i < n, other=0.0)[:, None]
            - tl.load(z + d * n + j, mask=j < n, other=0.0)[None, :]
        )
        s += g * g
    r = tl.sqrt(5.0 * s)
    v = (1.0 + r + r * r / 3.0) * tl.exp(-r)
    tl.store(out + i[:, None] * n + j[None, :], v, mask=(i < n)[:, None] & (j < n)[None, :])


@triton.jit
def butterfly(re, im, n, HALF, BLOCK: tl.constexpr):
    """A stage of a Fourier transform in memory, in place, twiddles made on the spot."""
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = tl.program_id(1) * n
    m = t < n // 2
    k = t % HALF
    i = base + (t // HALF) * 2 * HALF + k
    j = i + HALF
    ang = -3.14159265 * k.to(tl.float32) / HALF
    c = tl.cos(ang)
    s = tl.sin(ang)
    ar = tl.load(re + i, mask=m, other=0.0)
    ai = tl.load(im + i, mask=m, other=0.0)
    br = tl.load(re + j, mask=m, other=0.0)
    bi = tl.load(im + j, mask=m, other=0.0)
    tr = br * c - bi * s
    ti = br * s + bi * c
    tl.store(re + i, 0.7 * (ar + tr), mask=m)
    tl.store(im + i, 0.7 * (ai + ti), mask=m)
    tl.store(re + j, 0.7 * (ar - tr), mask=m)
    tl.store(im + j, 0.7 * (ai - ti), mask=m)


@triton.jit
def pair_forces(pos, force, n, box, BI: tl.constexpr, BJ: tl.constexpr):
    """Forces of all pairs within a cutoff in a box that wraps around, [3, n]."""
    i = tl.program_id(0) * BI + tl.arange(0, BI)
    xi = tl.load(pos + i, mask=i < n, other=0.0)
    yi = tl.load(pos + n + i, mask=i < n, other=0.0)
    zi = tl.load(pos + 2 * n + i, mask=i < n, other=0.0)
    fx = tl.zeros((BI,), tl.float32)
    fy = tl.zeros((BI,), tl.float32)
    fz = tl.zeros((BI,), tl.float32)
    for start in range(0, n, BJ):
        j = start + tl.arange(0, BJ)
        dx = xi[:, None] - tl.load(pos + j, mask=j < n, other=1e6)[None, :]
        dy = yi[:, None] - tl.load(pos + n + j, mask=j < n, other=1e6)[None, :]
        dz = zi[:, None] - tl.load(pos + 2 * n + j, mask=j < n, other=1e6)[None, :]
        dx -= box * tl.floor(dx / box + 0.5)
        dy -= box * tl.floor(dy / box + 0.5)
        dz -= box * tl.floor(dz / box + 0.5)
        r2 = dx * dx + dy * dy + dz * dz
        ok = (r2 < 6.25) & (i[:, None] != j[None, :])
        w = 1.0 / tl.where(ok, r2 + 0.1, 1.0)
        w6 = w * w * w
        f = tl.where(ok, 24.0 * w * w6 * (2.0 * w6 - 1.0), 0.0)
        fx += tl.sum(f * dx, axis=1)
        fy += tl.sum(f * dy, axis=1)
        fz += tl.sum(f * dz, axis=1)
    tl.store(force + i, fx, mask=i < n)
    tl.store(force + n + i, fy, mask=i < n)
    tl.store(force + 2 * n + i, fz, mask=i < n)


@triton.jit
def newton_doubles(x, y, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """A volatility from a price by Newton's steps, in doubles."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(x + i, mask=i < n, other=1.0)
    s = k * 0.0 + 0.3
    for _ in range(STEPS):
        d = (0.5 * s * s - k * 0.01) / s
        pdf = tl.exp(-0.5 * d * d) * 0.3989422804
        price = 1.0 / (1.0 + tl.exp(-1.702 * d)) - 0.5
        s = tl.maximum(s - (price - 0.1) / (pdf + 0.05), 0.01)
    tl.store(y + i, s, mask=i < n)


@triton.jit
def rotate_pairs(a, v, N: tl.constexpr, ROUNDS: tl.constexpr):
    """Shifted powers of a matrix applied to a vector in registers: eigenvectors of small matrices."""
    b = tl.program_id(0)
    i = tl.arange(0, N)
    m = tl.load(a + b * N * N + i[:, None] * N + i[None, :])
    m = m + tl.trans(m)
    x = tl.load(v + b * N + i)
    for _ in range(ROUNDS):
        y = tl.sum(m * x[None, :], axis=1)
        x = y / tl.sqrt(tl.sum(y * y, axis=0) + 1e-12)
    tl.store(v + b * N + i, x)


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def gradients(n, EACH, BLOCK, turns, num_warps):
        grid = cdiv(n, BLOCK)
        x, r, p, q = (b(name, "float32", n) for name in "xrpq")
        parts, pq, rr = b("parts", "float32", grid), b("pq", "float32", 1), b("rr", "float32", 1)
        val, col = b("val", "float32", n * EACH), b("col", "int32", n * EACH, n)
        return (
            Launch(sparse_rows, (val, col, p, q, parts, n), {"EACH": EACH, "BLOCK": BLOCK}, (grid,), num_warps),
            Launch(sum_of_parts, (parts, pq, grid), {"BLOCK": 1024}, (1,), 4),
            Launch(move_along, (x, r, p, q, pq, rr, n), {"BLOCK": BLOCK}, (grid,), num_warps),
        ) * turns

    def relaxing(H, W, sweeps, BH, BW, num_warps):
        x, f, y = b("x", "float32", H * W), b("f", "float32", H * W), b("y", "float32", H * W)
        grid = (cdiv(H, BH), cdiv(W, BW))
        return tuple(
            Launch(relax, (*((x, f, y) if k % 2 == 0 else (y, f, x)), H, W), {"BH": BH, "BW": BW}, grid, num_warps)
            for k in range(sweeps)
        )

    def transform(rows, n, BLOCK, num_warps):
        re, im = b("x", "float32", rows * n), b("y", "float32", rows * n)
        grid = (cdiv(n // 2, BLOCK), rows)
        return tuple(
            Launch(butterfly, (re, im, n, 1 << s), {"BLOCK": BLOCK}, grid, num_warps) for s in range(n.bit_length() - 1)
        )

    return (
        (
            factor_in_tile, ((200, 32, 4), (4096, 64, 4)),
            lambda B, N, num_warps: Launch(
                factor_in_tile, (b("x", "float32", B * N * N), b("y", "float32", B * N * N)), {"N": N}, (B,), num_warps),
        ),
        (
            gaussian_likelihood, ((64, 32, 4, 4), (1024, 64, 4, 8)),
            lambda B, N, D, num_warps: Launch(
                gaussian_likelihood,
                (b("x", "float64", B * D * N), b("r", "float64", B * N), b("y", "float64", B), N, 0.7),
                {"N": N, "D": D}, (B,), num_warps),
        ),
        (
            orthogonal_columns, ((100, 64, 16, 4), (4096, 128, 32, 4)),
            lambda B, M, N, num_warps: Launch(
                orthogonal_columns, (b("x", "float32", B * M * N), b("y", "float32", B * M * N)), {"M": M, "N": N}, (B,), num_warps),
        ),
        (
            three_by_three, ((20000, 128, 4), (5000000, 256, 4)),
            lambda n, BLOCK, num_warps: Launch(
                three_by_three, (b("x", "float32", 6 * n), b("y", "float32", 3 * n), n), {"BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),
        ),
        (relax, ((128, 128, 20, 8, 32, 4), (2048, 2048, 30, 16, 64, 4)), relaxing),
        (sparse_rows, ((4096, 5, 128, 5, 4), (1000000, 9, 256, 5, 4)), gradients),
        (
            three_diagonals, ((64, 2000, 64, 2), (512, 50000, 128, 4)),
            lambda L, n, BLOCK, num_warps: Launch(
                three_diagonals, (*(b(name, "float32", L * n) for name in ("x", "f", "u", "r", "c", "y")), L, n),
                {"BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),
        ),
        (
            covariance_doubles, ((300, 3, 16, 32, 4), (6000, 5, 32, 64, 4)),
            lambda n, D, BM, BN, num_warps: Launch(
                covariance_doubles, (b("x", "float64", D * n), b("r", "float64", D * n), b("y", "float64", n * n), n),
                {"D": D, "BM": BM, "BN": BN}, (cdiv(n, BM), cdiv(n, BN)), num_warps),
        ),
        (butterfly, ((16, 1024, 256, 4), (256, 65536, 512, 4)), transform),
        (
            pair_forces, ((1000, 16, 64, 4), (20000, 32, 64, 4)),
            lambda n, BI, BJ, num_warps: Launch(
                pair_forces, (b("x", "float32", 3 * n), b("y", "float32", 3 * n), n, 10.0),
                {"BI": BI, "BJ": BJ}, (cdiv(n, BI),), num_warps),
        ),
        (
            newton_doubles, ((20000, 8, 128, 4), (2000000, 12, 256, 4)),
            lambda n, STEPS, BLOCK, num_warps: Launch(
                newton_doubles, (b("x", "float64", n), b("y", "float64", n), n), {"STEPS": STEPS, "BLOCK": BLOCK},
                (cdiv(n, BLOCK),), num_warps),
        ),
        (
            rotate_pairs, ((200, 32, 20, 2), (8192, 64, 50, 4)),
            lambda B, N, ROUNDS, num_warps: Launch(
                rotate_pairs, (b("x", "float32", B * N * N), b("y", "float32", B * N)), {"N": N, "ROUNDS": ROUNDS}, (B,), num_warps),
        ),
    )  # fmt: skip
