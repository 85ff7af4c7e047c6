"""Recurrences, filters and scans along time. Part of :mod:`kinds`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def gain_control(x, y, alpha, delta, C, T, BC: tl.constexpr):
    """A smoothed level and the gain that follows it, a channel a lane, time along the row."""
    b = tl.program_id(0)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    m = c < C
    a = tl.exp(tl.load(alpha + c, mask=m, other=0.0))
    d = tl.exp(tl.load(delta + c, mask=m, other=0.0))
    at = (b * C + c) * T
    level = tl.load(x + at, mask=m, other=1.0)
    for t in range(T):
        v = tl.load(x + at + t, mask=m, other=1.0)
        level = 0.96 * level + 0.04 * tl.abs(v)
        g = tl.exp(-a * tl.log(1e-6 + level))
        tl.store(y + at + t, tl.sqrt(tl.abs(v) * g + d), mask=m)


@triton.jit
def biquad_time_first(x, coef, y, T, N, BLOCK: tl.constexpr):
    """A filter of second order down [T, N] with coefficients of each column."""
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = n < N
    b0 = tl.load(coef + n, mask=m, other=0.0)
    b1 = tl.load(coef + N + n, mask=m, other=0.0)
    a1 = tl.load(coef + 2 * N + n, mask=m, other=0.0) * 0.1
    a2 = tl.load(coef + 3 * N + n, mask=m, other=0.0) * 0.1
    s1 = tl.zeros((BLOCK,), tl.float32)
    s2 = tl.zeros((BLOCK,), tl.float32)
    for t in range(T):
        v = tl.load(x + t * N + n, mask=m, other=0.0)
        o = b0 * v + s1
        s1 = b1 * v - a1 * o + s2
        s2 = b0 * v - a2 * o
        tl.store(y + t * N + n, o, mask=m)


@triton.jit
def gated_cell(x, wh, h0, y, T, H: tl.constexpr, BB: tl.constexpr):
    """h = (1 - z) h + z tanh(...) over time: a product of states with weights kept at hand."""
    r = tl.program_id(0) * BB + tl.arange(0, BB)
    j = tl.arange(0, H)
    w = tl.load(wh + j[:, None] * H + j[None, :])
    h = tl.load(h0 + r[:, None] * H + j[None, :]).to(tl.float32)
    for t in range(T):
        p = tl.dot(h.to(tl.float16), w)
        v = tl.load(x + (r[:, None] * T + t) * H + j[None, :]).to(tl.float32)
        z = tl.sigmoid(p + v)
        u = 2.0 * tl.sigmoid(2.0 * (p - v)) - 1.0
        h = (1 - z) * h + z * u
        tl.store(y + (r[:, None] * T + t) * H + j[None, :], h.to(tl.float16))


@triton.jit
def follow(a1, b1, a2, b2):
    """Two steps of h = a h + b as one."""
    return a1 * a2, a2 * b1 + b2


@triton.jit
def scan_channels(a, x, y, T, C, BT: tl.constexpr, BC: tl.constexpr):
    """h = a h + x along T of [T, C]: tiles scanned, their last row carried."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    i = tl.arange(0, BT)
    h = tl.zeros((BC,), tl.float32)
    for start in range(0, T, BT):
        at = (start + i[:, None]) * C + c[None, :]
        g = tl.sigmoid(tl.load(a + at))
        v = tl.load(x + at)
        p, q = tl.associative_scan((g, v), 0, follow)
        o = q + p * h[None, :]
        tl.store(y + at, o)
        h = tl.sum(tl.where(i[:, None] == BT - 1, o, 0.0), axis=0)


@triton.jit
def garch_likelihood(r, omega, alpha, beta, out, T, n, BLOCK: tl.constexpr):
    """The likelihood of a variance that follows squares, in doubles, a series a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    o = tl.load(omega + i, mask=m, other=0.1)
    a = tl.load(alpha + i, mask=m, other=0.1)
    b = tl.load(beta + i, mask=m, other=0.8)
    var = o * 0.0 + 1.0
    total = o * 0.0
    for t in range(T):
        v = tl.load(r + t * n + i, mask=m, other=0.0)
        var = tl.abs(o) * 0.1 + 0.05 * tl.abs(a) * v * v + 0.8 * var * tl.abs(b) / (1.0 + tl.abs(b))
        total += tl.log(var + 1e-9) + v * v / (var + 1e-9)
    tl.store(out + i, -0.5 * total, mask=m)


@triton.jit
def selective_scan(u, dt, A, B, C, y, L, D, N: tl.constexpr, BD: tl.constexpr):
    """A state [BD, N] of channels, step by step, read out by a sum over N."""
    b = tl.program_id(0)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    n = tl.arange(0, N)
    a = -tl.exp(tl.load(A + d[:, None] * N + n[None, :]))
    h = tl.zeros((BD, N), tl.float32)
    for t in range(L):
        at = (b * L + t) * D + d
        x = tl.load(u + at).to(tl.float32)
        s = tl.log(1.0 + tl.exp(tl.load(dt + at).to(tl.float32)))
        bt = tl.load(B + (b * L + t) * N + n).to(tl.float32)
        ct = tl.load(C + (b * L + t) * N + n).to(tl.float32)
        h = tl.exp(s[:, None] * a) * h + (s * x)[:, None] * bt[None, :]
        tl.store(y + at, tl.sum(h * ct[None, :], axis=1).to(tl.float16))


@triton.jit
def track_two_states(z, out, T, n, q, r, BLOCK: tl.constexpr):
    """A filter of place and speed with their covariance, a track a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.zeros((BLOCK,), tl.float32)
    v = x
    p00 = x + 1.0
    p01 = x
    p11 = x + 1.0
    for t in range(T):
        x = x + v
        p00 = p00 + 2 * p01 + p11 + q
        p01 = p01 + p11
        p11 = p11 + q
        e = tl.load(z + t * n + i, mask=m, other=0.0) - x
        s = 1.0 / (p00 + r)
        k0 = p00 * s
        k1 = p01 * s
        x = x + k0 * e
        v = v + k1 * e
        p11 = p11 - k1 * p01
        p01 = p01 - k0 * p01
        p00 = p00 - k0 * p00
        tl.store(out + t * n + i, x, mask=m)


@triton.jit
def best_path_scores(emit, trans, score, back, T, S: tl.constexpr):
    """Viterbi's recursion: S x S sums a step, scores and the choice kept."""
    b = tl.program_id(0)
    i = tl.arange(0, S)
    w = tl.load(trans + i[:, None] * S + i[None, :])
    s = tl.load(emit + b * T * S + i)
    for t in range(1, T):
        both = s[:, None] + w
        s = tl.max(both, axis=0) + tl.load(emit + (b * T + t) * S + i)
        tl.store(back + (b * T + t) * S + i, tl.argmax(both, axis=0))
    tl.store(score + b, tl.max(s, axis=0))


@triton.jit
def rolling_moments(x, mean, dev, T, N, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    """Mean and deviation of the WINDOW rows before each row of [T, N], all of them read each time."""
    t = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = c < N
    s = tl.zeros((BLOCK,), tl.float32)
    q = tl.zeros((BLOCK,), tl.float32)
    for k in range(WINDOW):
        v = tl.load(x + (t - k) * N + c, mask=ok & (t - k >= 0), other=0.0)
        s += v
        q += v * v
    m = s / WINDOW
    tl.store(mean + t * N + c, m, mask=ok)
    tl.store(dev + t * N + c, tl.sqrt(tl.maximum(q / WINDOW - m * m, 0.0)), mask=ok)


@triton.jit
def slow_spectrum(x, power, T, F, BF: tl.constexpr, BT: tl.constexpr):
    """Power at F frequencies: sines and cosines made on the spot, blocks of frequencies by blocks of time."""
    row = tl.program_id(1)
    f = tl.program_id(0) * BF + tl.arange(0, BF)
    re = tl.zeros((BF,), tl.float32)
    im = tl.zeros((BF,), tl.float32)
    for start in range(0, T, BT):
        t = start + tl.arange(0, BT)
        v = tl.load(x + row * T + t, mask=t < T, other=0.0)
        phase = (6.2831853 / T) * (f[:, None] * t[None, :]).to(tl.float32)
        re += tl.sum(tl.cos(phase) * v[None, :], axis=1)
        im += tl.sum(tl.sin(phase) * v[None, :], axis=1)
    tl.store(power + row * F + f, re * re + im * im, mask=f < F)


@triton.jit
def returns_backwards(reward, value, done, adv, T, N, gamma, lam, BLOCK: tl.constexpr):
    """Advantages from the last step to the first, [T, N]."""
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = n < N
    acc = tl.zeros((BLOCK,), tl.float32)
    nxt = tl.load(value + T * N + n, mask=m, other=0.0)
    for k in range(T):
        t = T - 1 - k
        live = 1.0 - tl.load(done + t * N + n, mask=m, other=0).to(tl.float32)
        v = tl.load(value + t * N + n, mask=m, other=0.0)
        e = tl.load(reward + t * N + n, mask=m, other=0.0) + gamma * nxt * live - v
        acc = e + gamma * lam * live * acc
        nxt = v
        tl.store(adv + t * N + n, acc, mask=m)


@triton.jit
def warped_rows(a, b, prev, cur, out, T: tl.constexpr, BLOCK: tl.constexpr):
    """Alignment costs of pairs of short series: a pair a lane, the last row of costs in memory."""
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.num_programs(0) * BLOCK
    for i in range(T):
        u = tl.load(a + i * n + p)
        left = tl.full((BLOCK,), 1e9, tl.float32)
        diag = tl.load(prev + p)
        for j in range(T):
            v = tl.load(b + j * n + p)
            up = tl.load(prev + (j + 1) * n + p)
            left = tl.abs(u - v) + tl.minimum(tl.minimum(left, up), diag)
            diag = up
            tl.store(prev + (j + 1) * n + p, left)
    tl.store(out + p, tl.load(prev + T * n + p))


@triton.jit
def running_row_stats(x, y, cols, BLOCK: tl.constexpr):
    """Running sums and running largest of a row, written as their difference."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    s = tl.cumsum(v, axis=0)
    q = tl.cumsum(v * v, axis=0)
    n = (c + 1).to(tl.float32)
    m = s / n
    tl.store(y + row * cols + c, (v - m) * tl.rsqrt(tl.maximum(q / n - m * m, 1e-6)), mask=c < cols)


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer
    return (
        (
            gain_control, ((4, 64, 300, 32, 1), (64, 128, 2000, 32, 1)),
            lambda B, C, T, BC, num_warps: Launch(
                gain_control,
                (b("x", "float32", B * C * T), b("y", "float32", B * C * T), b("a", "float32", C), b("d", "float32", C),
                 C, T),
                {"BC": BC}, (B, cdiv(C, BC)), num_warps),
        ),
        (
            biquad_time_first, ((500, 2048, 64, 2), (8000, 20000, 128, 4)),
            lambda T, N, BLOCK, num_warps: Launch(
                biquad_time_first, (b("x", "float32", T * N), b("coef", "float32", 4 * N), b("y", "float32", T * N), T, N),
                {"BLOCK": BLOCK}, (cdiv(N, BLOCK),), num_warps),
        ),
        (
            gated_cell, ((64, 64, 64, 16, 4), (2048, 512, 128, 16, 8)),
            lambda B, T, H, BB, num_warps: Launch(
                gated_cell,
                (b("x", "float16", B * T * H), b("w", "float16", H * H), b("h", "float16", B * H), b("y", "float16", B * T * H), T),
                {"H": H, "BB": BB}, (B // BB,), num_warps),
        ),
        (
            scan_channels, ((512, 1024, 64, 16, 4), (8192, 8192, 64, 32, 4)),
            lambda T, C, BT, BC, num_warps: Launch(
                scan_channels, (b("a", "float32", T * C), b("x", "float32", T * C), b("y", "float32", T * C), T, C),
                {"BT": BT, "BC": BC}, (C // BC,), num_warps),
        ),
        (
            garch_likelihood, ((250, 512, 32, 1), (1000, 20000, 64, 2)),
            lambda T, n, BLOCK, num_warps: Launch(
                garch_likelihood,
                (b("x", "float64", T * n), *(b(name, "float64", n) for name in ("o", "a", "be", "y")), T, n),
                {"BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),
        ),
        (
            selective_scan, ((2, 64, 256, 16, 32, 2), (16, 1024, 2048, 16, 32, 4)),
            lambda B, L, D, N, BD, num_warps: Launch(
                selective_scan,
                (b("x", "float16", B * L * D), b("dt", "float16", B * L * D), b("a", "float32", D * N), b("bt", "float16", B * L * N),
                 b("ct", "float16", B * L * N), b("y", "float16", B * L * D), L, D),
                {"N": N, "BD": BD}, (B, D // BD), num_warps),
        ),
        (
            track_two_states, ((200, 1000, 64, 2), (1000, 100000, 128, 4)),
            lambda T, n, BLOCK, num_warps: Launch(
                track_two_states, (b("x", "float32", T * n), b("y", "float32", T * n), T, n, 0.01, 0.5),
                {"BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),
        ),
        (
            best_path_scores, ((16, 64, 16, 1), (1024, 256, 64, 4)),
            lambda B, T, S, num_warps: Launch(
                best_path_scores,
                (b("x", "float32", B * T * S), b("w", "float32", S * S), b("y", "float32", B), b("back", "int32", B * T * S), T),
                {"S": S}, (B,), num_warps),
        ),
        (
            rolling_moments, ((250, 500, 20, 128, 4), (5000, 3000, 252, 256, 4)),
            lambda T, N, WINDOW, BLOCK, num_warps: Launch(
                rolling_moments, (b("x", "float32", T * N), b("y", "float32", T * N), b("z", "float32", T * N), T, N),
                {"WINDOW": WINDOW, "BLOCK": BLOCK}, (T, cdiv(N, BLOCK)), num_warps),
        ),
        (
            slow_spectrum, ((4, 500, 251, 16, 64, 4), (64, 2048, 1024, 32, 128, 4)),
            lambda rows, T, F, BF, BT, num_warps: Launch(
                slow_spectrum, (b("x", "float32", rows * T), b("y", "float32", rows * F), T, F),
                {"BF": BF, "BT": BT}, (cdiv(F, BF), rows), num_warps),
        ),
        (
            returns_backwards, ((128, 256, 64, 2), (2048, 16384, 128, 4)),
            lambda T, N, BLOCK, num_warps: Launch(
                returns_backwards,
                (b("x", "float32", T * N), b("v", "float32", (T + 1) * N), b("done", "int8", T * N, 2),
                 b("y", "float32", T * N), T, N, 0.99, 0.95),
                {"BLOCK": BLOCK}, (cdiv(N, BLOCK),), num_warps),
        ),
        (
            warped_rows, ((32, 16, 64, 2), (256, 64, 128, 4)),
            lambda programs, T, BLOCK, num_warps: Launch(
                warped_rows,
                (b("a", "float32", T * programs * BLOCK), b("x", "float32", T * programs * BLOCK),
                 b("prev", "float32", (T + 1) * programs * BLOCK), b("cur", "float32", 1), b("y", "float32", programs * BLOCK)),
                {"T": T, "BLOCK": BLOCK}, (programs,), num_warps),
        ),
        (
            running_row_stats, ((256, 1000, 4), (16384, 4096, 8)),
            lambda rows, cols, num_warps: Launch(
                running_row_stats, (b("x", "float32", rows * cols), b("y", "float32", rows * cols), cols),
                {"BLOCK": 1 << (cols - 1).bit_length()}, (rows,), num_warps),
        ),
    )  # fmt: skip
