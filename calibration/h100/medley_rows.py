"""Whole programs of rows, sums and sequences, as strangers write them: losses, norms, pairs by broadcast, recurrences, small algebra.

Part of :mod:`medley`. ``x`` is [rows, cols] row by row unless a kernel says otherwise.
"""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def times_vector(x, v, y, rows, cols, BM: tl.constexpr, BK: tl.constexpr):
    """A matrix times a vector: tiles multiplied by broadcast and summed at each step."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), dtype=tl.float32)
    for start in range(0, cols, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * cols + k[None, :], mask=(m[:, None] < rows) & (k[None, :] < cols), other=0.0)
        total += tl.sum(a.to(tl.float32) * tl.load(v + k, mask=k < cols, other=0.0).to(tl.float32)[None, :], axis=1)
    tl.store(y + m, total, mask=m < rows)


@triton.jit
def block_distances(x, c, y, n, m, POWER: tl.constexpr, D: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr):
    """Distances of points to centres of D numbers: a tile [BN, BM, D] of differences, summed."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    j = tl.program_id(1) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    a = tl.load(x + i[:, None] * D + d[None, :], mask=i[:, None] < n, other=0.0).to(tl.float32)
    b = tl.load(c + j[:, None] * D + d[None, :], mask=j[:, None] < m, other=0.0).to(tl.float32)
    gap = tl.abs(a[:, None, :] - b[None, :, :])
    if POWER == 2:
        gap = gap * gap
    tl.store(y + i[:, None] * m + j[None, :], tl.sum(gap, axis=2), mask=(i[:, None] < n) & (j[None, :] < m))


@triton.jit
def nearest(x, c, y, n, m, D: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr):
    """The nearest of m centres: blocks of centres in turns, the sum over D by a loop."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    best = tl.full((BN,), 1e30, dtype=tl.float32)
    which = tl.zeros((BN,), dtype=tl.int32)
    for start in range(0, m, BM):
        j = start + tl.arange(0, BM)
        total = tl.zeros((BN, BM), dtype=tl.float32)
        for d in range(D):
            a = tl.load(x + i * D + d, mask=i < n, other=0.0)
            b = tl.load(c + j * D + d, mask=j < m, other=0.0)
            total += (a[:, None] - b[None, :]) * (a[:, None] - b[None, :])
        total = tl.where(j[None, :] < m, total, 1e30)
        low = tl.min(total, axis=1)
        which = tl.where(low < best, start + tl.argmin(total, axis=1), which)
        best = tl.minimum(best, low)
    tl.store(y + i, which, mask=i < n)


@triton.jit
def cosine_rows(x, other, y, cols, BLOCK: tl.constexpr):
    """The cosine of two rows, in one pass of blocks."""
    row = tl.program_id(0)
    xy = tl.zeros((BLOCK,), dtype=tl.float32)
    xx = tl.zeros((BLOCK,), dtype=tl.float32)
    yy = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * cols + k, mask=k < cols, other=0.0).to(tl.float32)
        b = tl.load(other + row * cols + k, mask=k < cols, other=0.0).to(tl.float32)
        xy += a * b
        xx += a * a
        yy += b * b
    tl.store(y + row, tl.sum(xy, axis=0) / (tl.sqrt(tl.sum(xx, axis=0) * tl.sum(yy, axis=0)) + 1e-8))


@triton.jit
def biased_softmax(x, y, rows, cols, BLOCK: tl.constexpr):
    """A causal softmax with a slope, a row of [heads, rows, cols] a program."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    k = tl.arange(0, BLOCK)
    base = (head * rows + row) * cols
    s = tl.load(x + base + k, mask=k <= row, other=-float("inf")).to(tl.float32) * 0.125
    s = tl.where(k <= row, s - 0.01 * (head + 1) * (row - k), -float("inf"))
    p = tl.exp(s - tl.max(s, axis=0))
    tl.store(y + base + k, (p / tl.sum(p, axis=0)).to(y.dtype.element_ty), mask=k < cols)


@triton.jit
def top_four(x, y, cols, BLOCK: tl.constexpr):
    """The four largest of a row, each by a maximum and a mask."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + k, mask=k < cols, other=-float("inf")).to(tl.float32)
    for i in range(4):
        top = tl.max(v, axis=0)
        at = tl.argmax(v, axis=0)
        tl.store(y + row * 4 + i, top)
        v = tl.where(k == at, -float("inf"), v)


@triton.jit
def quantise_groups(x, q, s, n, G: tl.constexpr, R: tl.constexpr):
    """Groups of G numbers to bytes, R groups a program."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    g = tl.arange(0, G)
    v = tl.load(x + r[:, None] * G + g[None, :], mask=r[:, None] < n, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(v), axis=1) / 127.0 + 1e-8
    tl.store(s + r, scale, mask=r < n)
    tl.store(q + r[:, None] * G + g[None, :], (v / scale[:, None]).to(tl.int8), mask=r[:, None] < n)


@triton.jit
def unpack_groups(q, s, y, n, G: tl.constexpr, BLOCK: tl.constexpr):
    """4-bit numbers, two a byte, times the scale of their group of G."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    byte = tl.load(q + i // 2, mask=i < n, other=0).to(tl.int32)
    v = ((byte >> ((i % 2) * 4)) & 15) - 8
    tl.store(y + i, (v.to(tl.float32) * tl.load(s + i // G, mask=i < n, other=0.0)).to(tl.float16), mask=i < n)


@triton.jit
def norm_gradient(g, x, w, y, cols, BLOCK: tl.constexpr):
    """The gradient of a layer norm."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    m = k < cols
    v = tl.load(x + row * cols + k, mask=m, other=0.0).to(tl.float32)
    d = tl.load(g + row * cols + k, mask=m, other=0.0).to(tl.float32) * tl.load(w + k, mask=m, other=0.0)
    mean = tl.sum(v, axis=0) / cols
    c = tl.where(m, v - mean, 0.0)
    r = tl.rsqrt(tl.sum(c * c, axis=0) / cols + 1e-5)
    z = c * r
    out = r * (d - tl.sum(d, axis=0) / cols - z * tl.sum(d * z, axis=0) / cols)
    tl.store(y + row * cols + k, out.to(y.dtype.element_ty), mask=m)


@triton.jit
def loss_sum(x, target, y, n, BLOCK: tl.constexpr):
    """Huber's loss, added to one number by every program."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32) - tl.load(target + i, mask=i < n, other=0.0).to(tl.float32)
    a = tl.abs(a)
    loss = tl.where(a < 1.0, 0.5 * a * a, a - 0.5)
    tl.atomic_add(y, tl.sum(loss, axis=0) / n)


@triton.jit
def divergence(x, other, y, cols, BLOCK: tl.constexpr):
    """The divergence of the softmaxes of two rows."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    a = tl.load(x + row * cols + k, mask=k < cols, other=-1e30).to(tl.float32)
    b = tl.load(other + row * cols + k, mask=k < cols, other=-1e30).to(tl.float32)
    a -= tl.max(a, axis=0)
    b -= tl.max(b, axis=0)
    p = tl.exp(a)
    total = tl.sum(p, axis=0)
    gap = a - tl.log(total) - b + tl.log(tl.sum(tl.exp(b), axis=0))
    tl.store(y + row, tl.sum(tl.where(k < cols, p / total * gap, 0.0), axis=0))


@triton.jit
def covariance(x, y, rows, D, BI: tl.constexpr, BJ: tl.constexpr):
    """x' x by outer products of a row at a time."""
    i = tl.program_id(0) * BI + tl.arange(0, BI)
    j = tl.program_id(1) * BJ + tl.arange(0, BJ)
    total = tl.zeros((BI, BJ), dtype=tl.float32)
    for r in range(rows):
        a = tl.load(x + r * D + i, mask=i < D, other=0.0)
        b = tl.load(x + r * D + j, mask=j < D, other=0.0)
        total += a[:, None] * b[None, :]
    tl.store(y + i[:, None] * D + j[None, :], total / rows, mask=(i[:, None] < D) & (j[None, :] < D))


@triton.jit
def soft_bins(x, y, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """A histogram of bells: [BLOCK, BINS] exponentials summed and added."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.arange(0, BINS)
    v = tl.load(x + i, mask=i < n, other=1e9)
    gap = (v[:, None] * 8.0 + BINS / 2) - b[None, :]
    tl.atomic_add(y + b, tl.sum(tl.exp(-0.5 * gap * gap), axis=0))


@triton.jit
def query_by_broadcast(q, k, v, o, keys, D: tl.constexpr, BLOCK: tl.constexpr):
    """One query a program over its keys, without a dot."""
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    total = tl.zeros((D,), dtype=tl.float32)
    top = -float("inf")
    below = 0.0
    for start in range(0, keys, BLOCK):
        j = start + tl.arange(0, BLOCK)
        at = (head * keys + j)[:, None] * D + d[None, :]
        s = tl.sum(tl.load(k + at, mask=j[:, None] < keys, other=0.0).to(tl.float32) * query[None, :], axis=1)
        s = tl.where(j < keys, s * 0.1, -float("inf"))
        new = tl.maximum(top, tl.max(s, axis=0))
        p = tl.exp(s - new)
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(
            p[:, None] * tl.load(v + at, mask=j[:, None] < keys, other=0.0).to(tl.float32), axis=0
        )
        below = below * shrink + tl.sum(p, axis=0)
        top = new
    tl.store(o + head * D + d, (total / below).to(o.dtype.element_ty))


@triton.jit
def column_mean(x, y, rows, cols, BLOCK: tl.constexpr):
    """The mean of a column, a program each."""
    c = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, rows, BLOCK):
        r = start + tl.arange(0, BLOCK)
        total += tl.load(x + r * cols + c, mask=r < rows, other=0.0).to(tl.float32)
    tl.store(y + c, tl.sum(total, axis=0) / rows)


@triton.jit
def standardise_columns(x, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """Columns less their mean over their deviation: three passes of a strip."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    total = tl.zeros((BC,), dtype=tl.float32)
    for start in range(0, rows, BR):
        r = start + tl.arange(0, BR)
        v = tl.load(x + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols), other=0.0)
        total += tl.sum(v, axis=0)
    mean = total / rows
    square = tl.zeros((BC,), dtype=tl.float32)
    for start in range(0, rows, BR):
        r = start + tl.arange(0, BR)
        m = (r[:, None] < rows) & (c[None, :] < cols)
        v = tl.load(x + r[:, None] * cols + c[None, :], mask=m, other=0.0) - mean[None, :]
        square += tl.sum(tl.where(m, v * v, 0.0), axis=0)
    scale = 1.0 / tl.sqrt(square / rows + 1e-6)
    for start in range(0, rows, BR):
        r = start + tl.arange(0, BR)
        m = (r[:, None] < rows) & (c[None, :] < cols)
        v = tl.load(x + r[:, None] * cols + c[None, :], mask=m, other=0.0)
        tl.store(y + r[:, None] * cols + c[None, :], (v - mean[None, :]) * scale[None, :], mask=m)


@triton.jit
def long_sums(x, y, cols, BLOCK: tl.constexpr):
    """Running sums of a long row, block by block."""
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, cols, BLOCK):
        k = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + k, mask=k < cols, other=0.0)
        tl.store(y + row * cols + k, tl.cumsum(v, axis=0) + carry, mask=k < cols)
        carry += tl.sum(v, axis=0)


@triton.jit
def _step(a, b, c, d):
    """Two steps of h = a h + b as one."""
    return a * c, b * c + d


@triton.jit
def _larger(a, b):
    """The larger of two."""
    return tl.maximum(a, b)


@triton.jit
def gated_scan(x, a, y, cols, BLOCK: tl.constexpr):
    """h = a h + x along a row, by a scan of pairs."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    m = k < cols
    gate = tl.sigmoid(tl.load(a + row * cols + k, mask=m, other=0.0))
    value = tl.load(x + row * cols + k, mask=m, other=0.0)
    _, h = tl.associative_scan((gate, value), 0, _step)
    tl.store(y + row * cols + k, h, mask=m)


@triton.jit
def drawdown(x, y, cols, BLOCK: tl.constexpr):
    """How far each number of a row lies below the largest before it."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + k, mask=k < cols, other=-1e30)
    tl.store(y + row * cols + k, tl.associative_scan(v, 0, _larger) - v, mask=k < cols)


@triton.jit
def segment_means(x, starts, y, D, BLOCK: tl.constexpr):
    """The mean of the rows of a segment, a row at a time."""
    s = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(starts + s)
    last = tl.load(starts + s + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for r in range(first, last):
        total += tl.load(x + r * D + d, mask=d < D, other=0.0).to(tl.float32)
    tl.store(y + s * D + d, total / tl.maximum(last - first, 1), mask=d < D)


@triton.jit
def biquad(x, y, n, T, BLOCK: tl.constexpr):
    """A filter of second order along [n, T], a series a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i * T, mask=i < n, other=0.0) * 0.0
    b = a
    for t in range(T):
        v = tl.load(x + i * T + t, mask=i < n, other=0.0)
        r = 0.2 * v + a
        a = 0.4 * v - 0.3 * r + b
        b = 0.2 * v - 0.2 * r
        tl.store(y + i * T + t, r, mask=i < n)


@triton.jit
def smooth_channels(x, y, T, C, BLOCK: tl.constexpr):
    """An exponential mean and deviation along T of [B, T, C], a channel a lane."""
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    base = tl.program_id(0) * T * C
    mean = tl.load(x + base + c, mask=c < C, other=0.0)
    spread = mean * 0.0
    for t in range(T):
        v = tl.load(x + base + t * C + c, mask=c < C, other=0.0)
        gap = v - mean
        mean += 0.05 * gap
        spread = 0.95 * (spread + 0.05 * gap * gap)
        tl.store(y + base + t * C + c, gap / tl.sqrt(spread + 1e-6), mask=c < C)


@triton.jit
def best_path(x, w, y, T, S: tl.constexpr):
    """Viterbi's scores over S states, a sequence a program."""
    b = tl.program_id(0)
    i = tl.arange(0, S)
    move = tl.load(w + i[:, None] * S + i[None, :])
    score = tl.load(x + b * T * S + i)
    for t in range(1, T):
        best = tl.max(score[None, :] + move, axis=1)
        score = best + tl.load(x + (b * T + t) * S + i)
    tl.store(y + b * S + i, score)


@triton.jit
def forward_chain(x, w, y, T, S: tl.constexpr):
    """Forward probabilities of S hidden states in logarithms."""
    b = tl.program_id(0)
    i = tl.arange(0, S)
    move = tl.load(w + i[:, None] * S + i[None, :])
    score = tl.load(x + b * T * S + i)
    for t in range(1, T):
        s = score[None, :] + move
        top = tl.max(s, axis=1)
        score = top + tl.log(tl.sum(tl.exp(s - top[:, None]), axis=1)) + tl.load(x + (b * T + t) * S + i)
    tl.store(y + b, tl.max(score, axis=0))


@triton.jit
def substitute(a, x, y, N: tl.constexpr, R: tl.constexpr):
    """Rows of a triangular system solved one after the other, R right-hand sides."""
    b = tl.program_id(0)
    i = tl.arange(0, N)
    r = tl.arange(0, R)
    held = tl.load(x + (b * N + i)[:, None] * R + r[None, :])
    for k in range(N):
        row = tl.sum(tl.where(i[:, None] == k, held, 0.0), axis=0)
        column = tl.load(a + (b * N + i) * N + k)
        held = tl.where(i[:, None] > k, held - 0.01 * column[:, None] * row[None, :], held)
    tl.store(y + (b * N + i)[:, None] * R + r[None, :], held)


@triton.jit
def factor(a, y, N: tl.constexpr):
    """A Cholesky-like factorisation in registers, a matrix a program."""
    b = tl.program_id(0)
    i = tl.arange(0, N)
    m = tl.load(a + (b * N + i)[:, None] * N + i[None, :])
    for k in range(N):
        column = tl.sum(tl.where(i[None, :] == k, m, 0.0), axis=1)
        pivot = tl.sqrt(tl.abs(tl.sum(tl.where(i == k, column, 0.0), axis=0)) + 1.0)
        column = tl.where(i >= k, column / pivot, 0.0)
        row = tl.sum(tl.where(i[:, None] == k, m, 0.0), axis=0) / pivot
        m = tl.where((i[:, None] > k) & (i[None, :] > k), m - column[:, None] * row[None, :], m)
    tl.store(y + (b * N + i)[:, None] * N + i[None, :], m)


@triton.jit
def power_steps(a, y, N: tl.constexpr, STEPS: tl.constexpr):
    """Power iteration on a matrix in registers."""
    b = tl.program_id(0)
    i = tl.arange(0, N)
    m = tl.load(a + (b * N + i)[:, None] * N + i[None, :])
    v = tl.full((N,), 1.0, dtype=tl.float32)
    for _ in range(STEPS):
        u = tl.sum(m * v[None, :], axis=1)
        v = u / tl.sqrt(tl.sum(u * u, axis=0) + 1e-9)
    tl.store(y + b * N + i, v)


@triton.jit
def doubles_product(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product of doubles by broadcast."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=a.dtype.element_ty)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :])
        right = tl.load(b + k[:, None] * N + n[None, :])
        total += tl.sum(left[:, :, None] * right[None, :, :], axis=1)
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def small_layers(x, w, v, y, D: tl.constexpr, H: tl.constexpr, BM: tl.constexpr):
    """Two layers of a small network."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    h = tl.arange(0, H)
    a = tl.load(x + m[:, None] * D + d[None, :])
    hidden = tl.dot(a, tl.load(w + d[:, None] * H + h[None, :]))
    hidden = tl.maximum(hidden, 0.0).to(a.dtype)
    out = tl.dot(hidden, tl.load(v + h[:, None] * D + d[None, :]))
    tl.store(y + m[:, None] * D + d[None, :], out.to(y.dtype.element_ty))


@triton.jit
def cosine_blocks(x, w, y, N: tl.constexpr):
    """A transform of [N, N] blocks from both sides."""
    b = tl.program_id(0)
    i = tl.arange(0, N)
    m = tl.load(w + i[:, None] * N + i[None, :])
    v = tl.load(x + (b * N + i)[:, None] * N + i[None, :])
    t = tl.dot(m, v).to(v.dtype)
    tl.store(y + (b * N + i)[:, None] * N + i[None, :], tl.dot(t, tl.trans(m)).to(v.dtype))


@triton.jit
def gram(x, y, T, D: tl.constexpr, BT: tl.constexpr):
    """x' x of [B, T, D] by dots over T."""
    b = tl.program_id(0)
    d = tl.arange(0, D)
    total = tl.zeros((D, D), dtype=tl.float32)
    for start in range(0, T, BT):
        t = start + tl.arange(0, BT)
        v = tl.load(x + (b * T + t)[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0)
        total += tl.dot(tl.trans(v), v)
    tl.store(y + (b * D + d)[:, None] * D + d[None, :], total)


@triton.jit
def byte_scores(x, w, y, n, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products of bytes with scales afterwards."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.int32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * K + k[None, :])
        b = tl.load(w + j[None, :] * K + k[:, None])
        total += tl.dot(a, b)
    tl.store(y + m[:, None] * n + j[None, :], total.to(tl.float32) * 0.01)


@triton.jit
def row_mean(x, y, cols, BLOCK: tl.constexpr):
    """Means of rows: the first of three launches."""
    k = tl.arange(0, BLOCK)
    tl.store(
        y + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * cols + k, mask=k < cols, other=0.0), axis=0) / cols
    )


@triton.jit
def row_variance(x, mean, y, cols, BLOCK: tl.constexpr):
    """Variances of rows: the second."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + k, mask=k < cols, other=0.0) - tl.load(mean + row)
    tl.store(y + row, tl.sum(tl.where(k < cols, v * v, 0.0), axis=0) / cols)


@triton.jit
def row_scaled(x, mean, variance, y, cols, BLOCK: tl.constexpr):
    """Rows scaled: the third."""
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + k, mask=k < cols, other=0.0)
    tl.store(y + row * cols + k, (v - tl.load(mean + row)) * tl.rsqrt(tl.load(variance + row) + 1e-5), mask=k < cols)


@triton.jit
def partial_sums(x, y, n, BLOCK: tl.constexpr):
    """A norm's squares by block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + tl.program_id(0), tl.sum(v * v, axis=0))


@triton.jit
def clip_by(x, parts, y, n, count, MOST: tl.constexpr, BLOCK: tl.constexpr):
    """Each program sums all parts again and scales its block."""
    p = tl.arange(0, MOST)
    norm = tl.sqrt(tl.sum(tl.load(parts + p, mask=p < count, other=0.0), axis=0))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scale = tl.minimum(1.0, 1.0 / (norm + 1e-6))
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) * scale, mask=i < n)


def programs() -> tuple:
    """Kernel, names of parameters, their values, how it is launched."""
    b = Buffer

    def wide(cols):
        return 1 << (cols - 1).bit_length()

    def rowwise(kernel, dtype, names="xy", out=None, result=None, block=None):
        """A program a row."""

        def made(rows, cols, num_warps):
            size = {"w": cols, "y": rows * result if result else rows * cols}
            kinds = {"y": out or dtype, "w": "float32"}
            given = [
                b({"o": "other", "g": "grad"}.get(c, c), kinds.get(c, dtype), size.get(c, rows * cols)) for c in names
            ]
            return Launch(kernel, (*given, cols), {"BLOCK": block or wide(cols)}, (rows,), num_warps)

        return made

    rows = ("rows", "cols", "num_warps")

    def three(r, c, w):
        x, mean, variance = b("x", "float32", r * c), b("mean", "float32", r), b("variance", "float32", r)
        k = {"BLOCK": wide(c)}
        return (
            Launch(row_mean, (x, mean, c), k, (r,), w),
            Launch(row_variance, (x, mean, variance, c), k, (r,), w),
            Launch(row_scaled, (x, mean, variance, b("y", "float32", r * c), c), k, (r,), w),
        )

    def clipped(n, B, w):
        x, parts, count = b("x", "float32", n), b("parts", "float32", cdiv(n, B)), cdiv(n, B)
        return (
            Launch(partial_sums, (x, parts, n), {"BLOCK": B}, (count,), w),
            Launch(clip_by, (x, parts, b("y", "float32", n), n, count), {"MOST": wide(count), "BLOCK": B}, (count,), w),
        )

    return (
        (
            times_vector,
            ("rows", "cols", "dtype", "BM", "BK", "num_warps"),
            ((512, 1024, "float32", 16, 64, 4), (8192, 8192, "float16", 8, 256, 4), (4096, 2000, "float32", 64, 32, 4)),
            lambda r, c, t, M, K, w: Launch(
                times_vector,
                (b("x", t, r * c), b("v", t, c), b("y", "float32", r), r, c),
                {"BM": M, "BK": K},
                (cdiv(r, M),),
                w,
            ),
        ),
        (
            block_distances,
            ("n", "m", "POWER", "D", "BN", "BM", "num_warps"),
            (
                (256, 256, 1, 32, 16, 16, 4),
                (4096, 2048, 1, 64, 16, 16, 4),
                (2048, 2048, 2, 16, 32, 32, 8),
                (1024, 1024, 2, 128, 8, 16, 4),
            ),
            lambda n, m, p, D, N, M, w: Launch(
                block_distances,
                (b("x", "float32", n * D), b("other", "float32", m * D), b("y", "float32", n * m), n, m),
                {"POWER": p, "D": D, "BN": N, "BM": M},
                (cdiv(n, N), cdiv(m, M)),
                w,
            ),
        ),
        (
            nearest,
            ("n", "m", "D", "BN", "BM", "num_warps"),
            ((1024, 128, 16, 32, 32, 4), (65536, 256, 8, 64, 64, 4), (20000, 500, 3, 128, 32, 4)),
            lambda n, m, D, N, M, w: Launch(
                nearest,
                (b("x", "float32", n * D), b("other", "float32", m * D), b("y", "int32", n), n, m),
                {"D": D, "BN": N, "BM": M},
                (cdiv(n, N),),
                w,
            ),
        ),
        (
            cosine_rows,
            rows,
            ((512, 768, 4), (16384, 4096, 4)),
            rowwise(cosine_rows, "float16", "xoy", "float32", 1, 512),
        ),
        (
            cosine_rows,
            rows,
            ((64, 50000, 8), (2000, 3000, 4)),
            rowwise(cosine_rows, "float32", "xoy", "float32", 1, 1024),
        ),
        (
            biased_softmax,
            ("heads", "rows", "num_warps"),
            ((4, 256, 4), (16, 2048, 8)),
            lambda h, r, w: Launch(
                biased_softmax,
                (b("x", "float16", h * r * r), b("y", "float16", h * r * r), r, r),
                {"BLOCK": wide(r)},
                (r, h),
                w,
            ),
        ),
        (top_four, rows, ((256, 1000, 4), (8192, 4000, 8)), rowwise(top_four, "float32", out="float32", result=4)),
        (
            quantise_groups,
            ("n", "dtype", "G", "R", "num_warps"),
            ((2048, "float16", 64, 4, 4), (1 << 18, "bfloat16", 128, 16, 4), (1 << 17, "float32", 32, 64, 4)),
            lambda n, t, G, R, w: Launch(
                quantise_groups,
                (b("x", t, n * G), b("q8", "int8", n * G), b("scales", "float32", n), n),
                {"G": G, "R": R},
                (cdiv(n, R),),
                w,
            ),
        ),
        (
            unpack_groups,
            ("n", "G", "BLOCK", "num_warps"),
            ((1 << 16, 64, 512, 4), (1 << 25, 128, 1024, 4)),
            lambda n, G, B, w: Launch(
                unpack_groups,
                (b("q", "uint8", n // 2), b("scales", "float32", n // G), b("y", "float16", n), n),
                {"G": G, "BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (norm_gradient, rows, ((512, 768, 4), (8192, 2560, 8)), rowwise(norm_gradient, "float32", "gxwy")),
        (norm_gradient, rows, ((4096, 1024, 1), (16384, 512, 2)), rowwise(norm_gradient, "bfloat16", "gxwy")),
        (
            loss_sum,
            ("n", "BLOCK", "num_warps"),
            ((1 << 16, 1024, 4), (1 << 24, 1024, 4), (1 << 22, 256, 2)),
            lambda n, B, w: Launch(
                loss_sum,
                (b("x", "float16", n), b("other", "float16", n), b("y", "float32", 1), n),
                {"BLOCK": B},
                (cdiv(n, B),),
                w,
            ),
        ),
        (divergence, rows, ((256, 1000, 4), (4096, 8000, 8)), rowwise(divergence, "float32", "xoy", "float32", 1)),
        (
            covariance,
            ("rows", "D", "BI", "BJ", "num_warps"),
            ((256, 128, 32, 32, 4), (2048, 512, 32, 32, 4), (4096, 256, 64, 64, 4)),
            lambda r, D, P, J, w: Launch(
                covariance,
                (b("x", "float32", r * D), b("y", "float32", D * D), r, D),
                {"BI": P, "BJ": J},
                (cdiv(D, P), cdiv(D, J)),
                w,
            ),
        ),
        (
            soft_bins,
            ("n", "BINS", "BLOCK", "num_warps"),
            ((1 << 14, 64, 64, 4), (1 << 20, 64, 128, 4), (1 << 20, 32, 256, 8)),
            lambda n, S, B, w: Launch(
                soft_bins, (b("x", "float32", n), b("y", "float32", S), n), {"BINS": S, "BLOCK": B}, (cdiv(n, B),), w
            ),
        ),
        (
            query_by_broadcast,
            ("heads", "keys", "dtype", "D", "BLOCK", "num_warps"),
            ((32, 512, "float32", 64, 32, 4), (256, 4096, "float16", 128, 64, 4), (1024, 300, "float32", 64, 64, 4)),
            lambda h, k, t, D, B, w: Launch(
                query_by_broadcast,
                (b("q", t, h * D), b("k", t, h * k * D), b("v", t, h * k * D), b("o", t, h * D), k),
                {"D": D, "BLOCK": B},
                (h,),
                w,
            ),
        ),
        (
            column_mean,
            ("rows", "cols", "dtype", "num_warps"),
            ((1024, 256, "float32", 4), (16384, 1024, "float32", 4), (4096, 4096, "float16", 8)),
            lambda r, c, t, w: Launch(
                column_mean, (b("x", t, r * c), b("y", "float32", c), r, c), {"BLOCK": 1024}, (c,), w
            ),
        ),
        (
            standardise_columns,
            ("rows", "cols", "BR", "BC", "num_warps"),
            ((1000, 512, 32, 32, 4), (20000, 1000, 64, 32, 4), (4096, 8192, 16, 128, 4)),
            lambda r, c, R, C, w: Launch(
                standardise_columns,
                (b("x", "float32", r * c), b("y", "float32", r * c), r, c),
                {"BR": R, "BC": C},
                (cdiv(c, C),),
                w,
            ),
        ),
        (
            long_sums,
            rows,
            ((32, 10000, 4), (1024, 16384, 4), (4, 1 << 18, 8)),
            rowwise(long_sums, "float32", block=1024),
        ),
        (gated_scan, rows, ((256, 512, 4), (8192, 2048, 4)), rowwise(gated_scan, "float32", "xoy")),
        (drawdown, rows, ((256, 1000, 4), (8192, 2000, 4)), rowwise(drawdown, "float32")),
        (
            segment_means,
            ("segments", "each", "D", "num_warps"),
            ((256, 12, 96, 1), (8192, 30, 256, 4), (2000, 200, 64, 2)),
            lambda s, e, D, w: Launch(
                segment_means,
                (b("x", "float32", s * e * D), b("starts", "int32", s + 1, e, "segments"), b("y", "float32", s * D), D),
                {"BLOCK": wide(D)},
                (s, 1),
                w,
            ),
        ),
        (
            biquad,
            ("n", "T", "dtype", "BLOCK", "num_warps"),
            ((256, 1000, "float32", 32, 1), (8192, 1024, "float32", 64, 2), (1024, 512, "float64", 32, 1)),
            lambda n, T, t, B, w: Launch(
                biquad, (b("x", t, n * T), b("y", t, n * T), n, T), {"BLOCK": B}, (cdiv(n, B),), w
            ),
        ),
        (
            smooth_channels,
            ("batch", "T", "C", "dtype", "BLOCK", "num_warps"),
            ((2, 300, 256, "float32", 64, 2), (16, 1000, 1024, "float32", 128, 4), (8, 500, 500, "float64", 32, 1)),
            lambda B, T, C, t, K, w: Launch(
                smooth_channels, (b("x", t, B * T * C), b("y", t, B * T * C), T, C), {"BLOCK": K}, (B, cdiv(C, K)), w
            ),
        ),
        (
            best_path,
            ("batch", "T", "S", "num_warps"),
            ((32, 128, 16, 1), (1024, 256, 32, 4), (256, 100, 64, 4)),
            lambda B, T, S, w: Launch(
                best_path,
                (b("x", "float32", B * T * S), b("w", "float32", S * S), b("y", "float32", B * S), T),
                {"S": S},
                (B,),
                w,
            ),
        ),
        (
            forward_chain,
            ("batch", "T", "S", "num_warps"),
            ((32, 128, 16, 1), (1024, 200, 32, 4), (128, 300, 64, 4)),
            lambda B, T, S, w: Launch(
                forward_chain,
                (b("x", "float32", B * T * S), b("w", "float32", S * S), b("y", "float32", B), T),
                {"S": S},
                (B,),
                w,
            ),
        ),
        (
            substitute,
            ("batch", "N", "R", "num_warps"),
            ((64, 32, 16, 4), (4096, 32, 32, 4), (256, 64, 64, 8)),
            lambda B, N, R, w: Launch(
                substitute,
                (b("a", "float32", B * N * N), b("x", "float32", B * N * R), b("y", "float32", B * N * R)),
                {"N": N, "R": R},
                (B,),
                w,
            ),
        ),
        (
            factor,
            ("batch", "N", "num_warps"),
            ((64, 16, 1), (4096, 32, 4), (512, 64, 4)),
            lambda B, N, w: Launch(
                factor, (b("a", "float32", B * N * N), b("y", "float32", B * N * N)), {"N": N}, (B,), w
            ),
        ),
        (
            power_steps,
            ("batch", "N", "num_warps"),
            ((64, 32, 4), (4096, 32, 1), (1024, 64, 4)),
            lambda B, N, w: Launch(
                power_steps, (b("a", "float32", B * N * N), b("y", "float32", B * N)), {"N": N, "STEPS": 30}, (B,), w
            ),
        ),
        (
            doubles_product,
            ("M", "N", "K", "dtype", "BM", "BN", "BK", "num_warps"),
            (
                (128, 128, 256, "float64", 16, 16, 16, 4),
                (1024, 1024, 512, "float64", 16, 16, 8, 4),
                (512, 512, 512, "float32", 16, 32, 16, 4),
            ),
            lambda M, N, K, t, m, n, k, w: Launch(
                doubles_product,
                (b("a", t, M * K), b("b", t, K * N), b("c", t, M * N), N, K),
                {"BM": m, "BN": n, "BK": k},
                (M // m, N // n),
                w,
            ),
        ),
        (
            small_layers,
            ("rows", "dtype", "D", "H", "BM", "num_warps"),
            (
                (1024, "float16", 32, 64, 32, 4),
                (1 << 18, "float16", 32, 64, 64, 4),
                (1 << 16, "float32", 64, 64, 64, 4),
            ),
            lambda r, t, D, H, M, w: Launch(
                small_layers,
                (b("x", t, r * D), b("w", t, D * H), b("v", t, D * H), b("y", t, r * D)),
                {"D": D, "H": H, "BM": M},
                (r // M,),
                w,
            ),
        ),
        (
            cosine_blocks,
            ("n", "dtype", "N", "num_warps"),
            ((1024, "float16", 16, 1), (1 << 16, "float32", 16, 1), (8192, "float16", 32, 4)),
            lambda n, t, N, w: Launch(
                cosine_blocks, (b("x", t, n * N * N), b("w", t, N * N), b("y", t, n * N * N)), {"N": N}, (n,), w
            ),
        ),
        (
            gram,
            ("batch", "T", "dtype", "D", "BT", "num_warps"),
            ((16, 512, "float32", 32, 32, 4), (256, 4096, "float16", 64, 64, 4), (64, 1000, "float32", 64, 32, 4)),
            lambda B, T, t, D, K, w: Launch(
                gram, (b("x", t, B * T * D), b("y", "float32", B * D * D), T), {"D": D, "BT": K}, (B,), w
            ),
        ),
        (
            byte_scores,
            ("M", "N", "K", "BM", "BN", "BK", "num_warps"),
            ((128, 512, 256, 32, 32, 64, 4), (4096, 2048, 512, 64, 64, 64, 4), (64, 8192, 1024, 64, 32, 128, 4)),
            lambda M, N, K, m, n, k, w: Launch(
                byte_scores,
                (b("x8", "int8", M * K), b("w8", "int8", N * K), b("y", "float32", M * N), N, K),
                {"BM": m, "BN": n, "BK": k},
                (M // m, N // n),
                w,
            ),
        ),
        (row_mean, rows, ((256, 512, 4), (8192, 2048, 4)), three),
        (
            partial_sums,
            ("n", "BLOCK", "num_warps"),
            ((1 << 16, 1024, 4), (1 << 23, 1024, 4), (1 << 20, 256, 4)),
            clipped,
        ),
    )
