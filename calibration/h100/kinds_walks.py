"""States that one lane carries along a row or a column, searches, chases. Part of :mod:`kinds_2`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def advantages_by_row(reward, value, done, adv, ret, B, T, gamma, lam, BB: tl.constexpr):
    """Advantages from the last step to the first, [B, T]; values have a step more."""
    b = tl.program_id(0) * BB + tl.arange(0, BB)
    m = b < B
    nxt = tl.load(value + b * (T + 1) + T, mask=m, other=0.0)
    acc = tl.zeros((BB,), tl.float32)
    for k in range(T):
        t = T - 1 - k
        v = tl.load(value + b * (T + 1) + t, mask=m, other=0.0)
        live = 1.0 - tl.load(done + b * T + t, mask=m, other=0.0)
        acc = tl.load(reward + b * T + t, mask=m, other=0.0) + gamma * nxt * live - v + gamma * lam * live * acc
        tl.store(adv + b * T + t, acc, mask=m)
        tl.store(ret + b * T + t, acc + v, mask=m)
        nxt = v


@triton.jit
def level_by_row(x, y, N, T, decay, BN: tl.constexpr):
    """An exponential mean of squares and its root, [N, T]."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    s = tl.zeros((BN,), tl.float32)
    for t in range(T):
        v = tl.load(x + n * T + t, mask=m, other=0.0).to(tl.float32)
        s = decay * s + (1.0 - decay) * v * v
        tl.store(y + n * T + t, tl.sqrt(s).to(y.dtype.element_ty), mask=m)


@triton.jit
def level_by_column(x, y, N, T, decay, BN: tl.constexpr):
    """The same along the rows of [T, N]."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    s = tl.zeros((BN,), tl.float32)
    for t in range(T):
        v = tl.load(x + t * N + n, mask=m, other=0.0).to(tl.float32)
        s = decay * s + (1.0 - decay) * v * v
        tl.store(y + t * N + n, tl.sqrt(s).to(y.dtype.element_ty), mask=m)


@triton.jit
def last_level_by_row(x, y, N, T, decay, BN: tl.constexpr):
    """Only the last mean is kept."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    s = tl.zeros((BN,), tl.float32)
    for t in range(T):
        v = tl.load(x + n * T + t, mask=m, other=0.0).to(tl.float32)
        s = decay * s + (1.0 - decay) * v * v
    tl.store(y + n, tl.sqrt(s), mask=m)


@triton.jit
def heat_column(temp, kappa, cp, dp, out, N, L, BLOCK: tl.constexpr):
    """An implicit step of diffusion: a tridiagonal system a lane, levels first, coefficients kept by column."""
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = c < N
    p = tl.load(temp + c, mask=m, other=0.0) * 0
    d = p
    above = p
    for k in range(L):
        t = tl.load(temp + k * N + c, mask=m, other=0.0)
        below = tl.load(kappa + k * N + c, mask=m, other=0.0)
        inv = 1.0 / (1.0 + above * above + below * below + above * p)
        d = (t + above * d) * inv
        p = -below * inv
        tl.store(cp + c * L + k, p, mask=m)
        tl.store(dp + c * L + k, d, mask=m)
        above = below
    x = d
    for i in range(1, L):
        k = L - 1 - i
        x = tl.load(dp + c * L + k, mask=m, other=0.0) - tl.load(cp + c * L + k, mask=m, other=0.0) * x
        tl.store(out + k * N + c, x, mask=m)


@triton.jit
def drawdown(price, depth, longest, N, T, BN: tl.constexpr):
    """The largest fall from a peak and the longest time under one, a series a lane."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    peak = tl.load(price + n * T, mask=m, other=0.0)
    worst = tl.zeros((BN,), tl.float32)
    since = tl.zeros((BN,), tl.int32)
    most = since
    for t in range(1, T):
        v = tl.load(price + n * T + t, mask=m, other=0.0)
        since = tl.where(v >= peak, 0, since + 1)
        peak = tl.maximum(peak, v)
        worst = tl.maximum(worst, peak - v)
        most = tl.maximum(most, since)
    tl.store(depth + n, worst, mask=m)
    tl.store(longest + n, most, mask=m)


@triton.jit
def adsr_envelope(gate, y, N, T, up, down, BN: tl.constexpr):
    """A level that rises while a byte is set and falls after it, [N, T] of bytes to halves."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    level = tl.zeros((BN,), tl.float32)
    for t in range(T):
        on = tl.load(gate + n * T + t, mask=m, other=0)
        level = tl.where(on != 0, level + up * (1.0 - level), level * down)
        tl.store(y + n * T + t, level.to(tl.float16), mask=m)


@triton.jit
def place_in_sorted(edges, x, y, n, E, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Where each number belongs among sorted ones, by halving."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0)
    lo = tl.zeros((BLOCK,), tl.int32)
    hi = tl.full((BLOCK,), 0, tl.int32) + E
    for _ in range(STEPS):
        mid = (lo + hi) // 2
        e = tl.load(edges + tl.minimum(mid, E - 1), mask=m, other=0)
        right = e < v
        lo = tl.where(right, mid + 1, lo)
        hi = tl.where(right, hi, mid)
    tl.store(y + i, lo, mask=m)


@triton.jit
def list_rank(succ, rank, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """So many links of a list followed from each place."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    at = i
    total = tl.zeros((BLOCK,), tl.int32)
    for _ in range(STEPS):
        at = tl.load(succ + at, mask=m, other=0)
        total += at & 1
    tl.store(rank + i, total, mask=m)


@triton.jit
def edit_rows(a, b, row, out, N, L: tl.constexpr, BN: tl.constexpr):
    """Edit distances of pairs of strings, a pair a lane, the row of costs in memory by pair."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    for j in range(L + 1):
        tl.store(row + n * (L + 1) + j, tl.zeros((BN,), tl.int32) + j, mask=m)
    for i in range(L):
        u = tl.load(a + n * L + i, mask=m, other=0)
        diag = tl.zeros((BN,), tl.int32) + i
        left = diag + 1
        for j in range(L):
            v = tl.load(b + n * L + j, mask=m, other=0)
            up = tl.load(row + n * (L + 1) + j + 1, mask=m, other=0)
            cost = tl.minimum(tl.minimum(left, up) + 1, diag + (u != v).to(tl.int32))
            tl.store(row + n * (L + 1) + j + 1, cost, mask=m)
            diag = up
            left = cost
    tl.store(out + n, tl.load(row + n * (L + 1) + L, mask=m, other=0), mask=m)


@triton.jit
def one_pole_scalar(x, y, T, a):
    """A filter of one pole, a row a program, number by number."""
    r = tl.program_id(0)
    s = 0.0
    for t in range(T):
        s = a * s + tl.load(x + r * T + t)
        tl.store(y + r * T + t, s)


@triton.jit
def column_sums_double(x, y, rows, cols, BC: tl.constexpr):
    """Sums of the columns of doubles, row by row."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    m = c < cols
    acc = tl.zeros((BC,), tl.float64)
    for r in range(rows):
        acc += tl.load(x + r * cols + c, mask=m, other=0.0).to(tl.float64)
    tl.store(y + c, acc, mask=m)


@triton.jit
def column_moments_double(x, mean, var, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """Means and variances of columns in doubles, tiles of rows at a time."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    m = c < cols
    s = tl.zeros((BC,), tl.float64)
    q = tl.zeros((BC,), tl.float64)
    for start in range(0, rows, BR):
        r = start + tl.arange(0, BR)
        v = tl.load(x + r[:, None] * cols + c[None, :], mask=(r < rows)[:, None] & m[None, :], other=0.0).to(tl.float64)
        s += tl.sum(v, axis=0)
        q += tl.sum(v * v, axis=0)
    s = s / rows
    tl.store(mean + c, s, mask=m)
    tl.store(var + c, q / rows - s * s, mask=m)


@triton.jit
def kalman_rows(z, gain, est, N, T, q, r, BN: tl.constexpr):
    """A scalar filter and its gain at each step, [N, T]."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = n < N
    x = tl.zeros((BN,), tl.float32)
    p = x + 1.0
    for t in range(T):
        v = tl.load(z + n * T + t, mask=m, other=0.0)
        p = p + q
        k = p / (p + r)
        x = x + k * (v - x)
        p = (1.0 - k) * p
        tl.store(est + n * T + t, x, mask=m)
        tl.store(gain + n * T + t, k, mask=m)


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def rows(kernel, kind="float32", made="float32", *more):
        return lambda N, T, BN, num_warps: Launch(
            kernel, (b("x", kind, N * T), b("y", made, N * T), N, T, *more), {"BN": BN}, (cdiv(N, BN),), num_warps
        )

    return (
        (
            advantages_by_row,
            ((256, 100, 32, 1), (2048, 256, 64, 2), (8192, 511, 128, 4)),
            lambda B, T, BB, num_warps: Launch(
                advantages_by_row,
                (
                    b("x", "float32", B * T),
                    b("v", "float32", B * (T + 1)),
                    b("d", "float32", B * T),
                    b("y", "float32", B * T),
                    b("z", "float32", B * T),
                    B,
                    T,
                    0.99,
                    0.95,
                ),
                {"BB": BB},
                (cdiv(B, BB),),
                num_warps,
            ),
        ),
        (
            level_by_row,
            ((500, 252, 32, 1), (512, 256, 32, 1), (1024, 2049, 32, 1), (4096, 2048, 64, 2), (20000, 333, 128, 4)),
            rows(level_by_row, "float32", "float32", 0.94),
        ),
        (level_by_row, ((2000, 1000, 32, 1), (4096, 1023, 64, 2)), rows(level_by_row, "float16", "float16", 0.94)),
        (
            level_by_column,
            ((512, 256, 32, 1), (4096, 2048, 64, 2), (20000, 333, 128, 4)),
            rows(level_by_column, "float32", "float32", 0.94),
        ),
        (
            last_level_by_row,
            ((500, 252, 32, 1), (1024, 2049, 32, 1), (4096, 2048, 64, 2), (20000, 333, 128, 4)),
            rows(last_level_by_row, "float32", "float32", 0.94),
        ),
        (
            heat_column,
            (
                ("float32", 20000, 40, 128, 4),
                ("float64", 65536, 32, 128, 4),
                ("float64", 262144, 64, 128, 4),
                ("float32", 300000, 61, 256, 8),
            ),
            lambda dtype, N, L, BLOCK, num_warps: Launch(
                heat_column,
                (
                    b("x", dtype, N * L),
                    b("k", dtype, N * L),
                    b("cp", dtype, N * L),
                    b("dp", dtype, N * L),
                    b("y", dtype, N * L),
                    N,
                    L,
                ),
                {"BLOCK": BLOCK},
                (cdiv(N, BLOCK),),
                num_warps,
            ),
        ),
        (
            drawdown,
            ((1000, 252, 32, 1), (16384, 1024, 128, 4), (3000, 2519, 64, 2)),
            lambda N, T, BN, num_warps: Launch(
                drawdown,
                (b("x", "float32", N * T), b("y", "float32", N), b("n", "int32", N), N, T),
                {"BN": BN},
                (cdiv(N, BN),),
                num_warps,
            ),
        ),
        (adsr_envelope, ((512, 1000, 32, 1), (16384, 512, 128, 4)), rows(adsr_envelope, "uint8", "float16", 0.1, 0.9)),
        (
            place_in_sorted,
            ((100000, 1000, 10, 256, 4), (4000000, 65536, 16, 1024, 4), (1000000, 5000000, 23, 256, 4)),
            lambda n, E, STEPS, BLOCK, num_warps: Launch(
                place_in_sorted,
                (b("edges", "int32", E, 1 << 30, "sorted"), b("q", "int32", n, 1 << 30), b("at", "int32", n), n, E),
                {"STEPS": STEPS, "BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            list_rank,
            ((20000, 16, 128, 4), (1000000, 8, 256, 4)),
            lambda n, STEPS, BLOCK, num_warps: Launch(
                list_rank,
                (b("succ", "int32", n, n, "permuted"), b("at", "int32", n), n),
                {"STEPS": STEPS, "BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            edit_rows,
            ((1024, 32, 32, 1), (16384, 24, 128, 4)),
            lambda N, L, BN, num_warps: Launch(
                edit_rows,
                (
                    b("a", "int32", N * L, 4),
                    b("b", "int32", N * L, 4),
                    b("row", "int32", N * (L + 1)),
                    b("at", "int32", N),
                    N,
                ),
                {"L": L, "BN": BN},
                (cdiv(N, BN),),
                num_warps,
            ),
        ),
        (
            one_pole_scalar,
            ((64, 500, 1), (2048, 1000, 1)),
            lambda rows, T, num_warps: Launch(
                one_pole_scalar,
                (b("x", "float32", rows * T), b("y", "float32", rows * T), T, 0.9),
                {},
                (rows,),
                num_warps,
            ),
        ),
        (
            column_sums_double,
            ((1000, 2048, 64, 2), (4096, 10000, 128, 4)),
            lambda rows, cols, BC, num_warps: Launch(
                column_sums_double,
                (b("x", "float64", rows * cols), b("y", "float64", cols), rows, cols),
                {"BC": BC},
                (cdiv(cols, BC),),
                num_warps,
            ),
        ),
        (
            column_moments_double,
            ((2000, 1024, 32, 32, 4), (16384, 4096, 64, 64, 8), (8192, 8192, 16, 128, 4)),
            lambda rows, cols, BR, BC, num_warps: Launch(
                column_moments_double,
                (b("x", "float32", rows * cols), b("y", "float64", cols), b("z", "float64", cols), rows, cols),
                {"BR": BR, "BC": BC},
                (cdiv(cols, BC),),
                num_warps,
            ),
        ),
        (
            kalman_rows,
            ((300, 365, 32, 1), (8192, 1000, 64, 2)),
            lambda N, T, BN, num_warps: Launch(
                kalman_rows,
                (b("x", "float32", N * T), b("y", "float32", N * T), b("z", "float32", N * T), N, T, 0.01, 0.5),
                {"BN": BN},
                (cdiv(N, BN),),
                num_warps,
            ),
        ),
    )
