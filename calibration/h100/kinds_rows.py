"""Losses, norms, optimisers and other work on rows. Part of :mod:`kinds`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def whole_row_entropy(x, ids, logp, ent, cols, inverse, BLOCK: tl.constexpr):
    """Log-probability of a token and entropy of its row, the whole row at once."""
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    z = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf")).to(tl.float32) * inverse
    top = tl.max(z, axis=0)
    e = tl.exp(z - top)
    total = tl.sum(e, axis=0)
    mixed = tl.sum(tl.where(c < cols, e * z, 0.0), axis=0)
    lse = top + tl.log(total)
    mine = tl.load(x + row * cols + tl.load(ids + row)).to(tl.float32) * inverse
    tl.store(logp + row, mine - lse)
    tl.store(ent + row, lse - mixed / total)


@triton.jit
def running_lse(x, ids, out, V, BLOCK: tl.constexpr):
    """A token's log-probability by a running maximum and sum, two numbers carried."""
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    m = -float("inf")
    s = 0.0
    for start in range(0, V, BLOCK):
        v = tl.load(x + row * V + start + c, mask=start + c < V, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(v, axis=0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(v - new), axis=0)
        m = new
    picked = tl.load(x + row * V + tl.load(ids + row)).to(tl.float32)
    tl.store(out + row, picked - m - tl.log(s))


@triton.jit
def smoothed_gradient(x, ids, loss, grad, V, eps, BLOCK: tl.constexpr):
    """Cross entropy with smoothed labels and its gradient: a pass for the sums, another that writes."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(ids + row)
    m = tl.full((BLOCK,), -1e30, tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    t = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, V, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * V + c, mask=c < V, other=-1e30).to(tl.float32)
        new = tl.maximum(m, v)
        s = s * tl.exp(m - new) + tl.exp(v - new)
        t += tl.where(c < V, v, 0.0)
        m = new
    top = tl.max(m, axis=0)
    total = tl.sum(s * tl.exp(m - top), axis=0)
    lse = top + tl.log(total)
    mine = tl.load(x + row * V + label).to(tl.float32)
    tl.store(loss + row, lse - (1 - eps) * mine - eps * tl.sum(t, axis=0) / V)
    for start in range(0, V, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * V + c, mask=c < V, other=-1e30).to(tl.float32)
        g = tl.exp(v - lse) - eps / V - tl.where(c == label, 1 - eps, 0.0)
        tl.store(grad + row * V + c, g.to(tl.bfloat16), mask=c < V)


@triton.jit
def focal_loss(x, y, total, n, gamma, BLOCK: tl.constexpr):
    """Focal loss of logits against labels, summed into one number."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    t = tl.load(y + i, mask=i < n, other=0.0)
    p = tl.sigmoid(v)
    ce = tl.maximum(v, 0.0) - v * t + tl.log(1.0 + tl.exp(-tl.abs(v)))
    pt = p * t + (1 - p) * (1 - t)
    w = tl.exp(gamma * tl.log(1 - pt + 1e-8))
    tl.atomic_add(total, tl.sum(tl.where(i < n, w * ce, 0.0), axis=0))


@triton.jit
def adam_step(p, g, m, v, half, n, lr, b1, b2, decay, BLOCK: tl.constexpr):
    """A step of AdamW with a bf16 copy of the parameters."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    gt = tl.load(g + i, mask=ok, other=0.0).to(tl.float32)
    pt = tl.load(p + i, mask=ok, other=0.0)
    mt = b1 * tl.load(m + i, mask=ok, other=0.0) + (1 - b1) * gt
    vt = b2 * tl.load(v + i, mask=ok, other=0.0) + (1 - b2) * gt * gt
    pt = pt - lr * (mt / 0.9 / (tl.sqrt(tl.abs(vt) / 0.99) + 1e-8) + decay * pt)
    tl.store(p + i, pt, mask=ok)
    tl.store(m + i, mt, mask=ok)
    tl.store(v + i, vt, mask=ok)
    tl.store(half + i, pt.to(tl.bfloat16), mask=ok)


@triton.jit
def norm_parts(p, g, sums, n, BLOCK: tl.constexpr):
    """Squares of parameters and updates, a pair of doubles added by each program."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(p + i, mask=i < n, other=0.0).to(tl.float64)
    c = tl.load(g + i, mask=i < n, other=0.0).to(tl.float64)
    tl.atomic_add(sums, tl.sum(a * a, axis=0))
    tl.atomic_add(sums + 1, tl.sum(c * c, axis=0))


@triton.jit
def trusted_step(p, g, sums, n, lr, BLOCK: tl.constexpr):
    """A step whose length is the ratio of two norms."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.sqrt(tl.load(sums)).to(tl.float32)
    c = tl.sqrt(tl.load(sums + 1)).to(tl.float32)
    ratio = tl.where(c > 0, a / c, 1.0)
    v = tl.load(p + i, mask=i < n, other=0.0) - lr * ratio * tl.load(g + i, mask=i < n, other=0.0)
    tl.store(p + i, v, mask=i < n)


@triton.jit
def norm_to_bytes(x, res, w, out, codes, scale, cols, BLOCK: tl.constexpr):
    """A residual, an RMS norm, and the row as bytes with its scale."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < cols
    v = tl.load(x + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    v += tl.load(res + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    tl.store(out + row * cols + c, v.to(tl.float16), mask=ok)
    r = tl.rsqrt(tl.sum(v * v, axis=0) / cols + 1e-6)
    u = v * r * tl.load(w + c, mask=ok, other=0.0).to(tl.float32)
    s = tl.maximum(tl.max(tl.abs(u), axis=0), 1e-8) / 127.0
    q = u / s
    q = tl.where(q >= 0, q + 0.5, q - 0.5).to(tl.int8)
    tl.store(codes + row * cols + c, q, mask=ok)
    tl.store(scale + row, s)


@triton.jit
def group_norm_swish(x, w, bias, y, C, P, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """A group norm of [B, C, P]: a group's planes in two passes of blocks."""
    b = tl.program_id(0)
    g = tl.program_id(1)
    base = (b * C + g * EACH).to(tl.int64) * P
    size = EACH * P
    s = 0.0
    t = 0.0
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + base + i, mask=i < size, other=0.0).to(tl.float32)
        s += tl.sum(v)
        t += tl.sum(v * v)
    mean = s / size
    r = 1 / tl.sqrt(t / size - mean * mean + 1e-5)
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + base + i, mask=i < size, other=0.0).to(tl.float32)
        c = g * EACH + i // P
        v = (v - mean) * r * tl.load(w + c, mask=i < size, other=0.0) + tl.load(bias + c, mask=i < size, other=0.0)
        tl.store(y + base + i, (v * tl.sigmoid(v)).to(tl.float16), mask=i < size)


@triton.jit
def norm_gradients(x, g, w, mean, rstd, dx, dw, db, rows, cols, BLOCK: tl.constexpr):
    """Gradients of a layer norm: rows in turns, those of the weights kept and added at the end."""
    c = tl.arange(0, BLOCK)
    ok = c < cols
    wt = tl.load(w + c, mask=ok, other=0.0)
    dwt = tl.zeros((BLOCK,), tl.float32)
    dbt = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + row * cols + c, mask=ok, other=0.0).to(tl.float32)
        d = tl.load(g + row * cols + c, mask=ok, other=0.0).to(tl.float32)
        m = tl.load(mean + row)
        r = tl.load(rstd + row)
        h = tl.where(ok, (v - m) * r, 0.0)
        wd = wt * d
        a = tl.sum(h * wd, axis=0) / cols
        z = tl.sum(wd, axis=0) / cols
        tl.store(dx + row * cols + c, ((wd - h * a - z) * r).to(tl.float16), mask=ok)
        dwt += d * h
        dbt += d
    tl.atomic_add(dw + c, dwt, mask=ok)
    tl.atomic_add(db + c, dbt, mask=ok)


@triton.jit
def softmax_gradient(y, g, out, cols, R: tl.constexpr, BLOCK: tl.constexpr):
    """The gradient of a softmax, R rows a program."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, BLOCK)
    at = r[:, None] * cols + c[None, :]
    ok = (c < cols)[None, :]
    a = tl.load(y + at, mask=ok, other=0.0).to(tl.float32)
    d = tl.load(g + at, mask=ok, other=0.0).to(tl.float32)
    tl.store(out + at, (a * (d - tl.sum(a * d, axis=1)[:, None])).to(tl.float16), mask=ok)


@triton.jit
def dropped_residual(x, res, y, keep, n, p, seed, BLOCK: tl.constexpr):
    """Dropout by a generator, a residual, and the mask as bytes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    u = tl.rand(seed, i)
    k = u > p
    v = tl.load(x + i, mask=ok, other=0.0).to(tl.float32)
    v = tl.where(k, v / (1 - p), 0.0) + tl.load(res + i, mask=ok, other=0.0).to(tl.float32)
    tl.store(y + i, v.to(tl.float16), mask=ok)
    tl.store(keep + i, k.to(tl.int8), mask=ok)


@triton.jit
def top_gates(x, which, weight, E: tl.constexpr, K: tl.constexpr):
    """Softmax over experts of a token and its K largest, normalised again."""
    t = tl.program_id(0)
    e = tl.arange(0, E)
    v = tl.load(x + t * E + e).to(tl.float32)
    p = tl.exp(v - tl.max(v, axis=0))
    p = p / tl.sum(p, axis=0)
    k = tl.arange(0, K)
    best = tl.zeros((K,), tl.float32)
    index = tl.zeros((K,), tl.int32)
    for j in tl.static_range(K):
        top = tl.max(p, axis=0)
        i = tl.argmax(p, axis=0)
        best = tl.where(k == j, top, best)
        index = tl.where(k == j, i, index)
        p = tl.where(e == i, -1.0, p)
    tl.store(which + t * K + k, index)
    tl.store(weight + t * K + k, best / tl.sum(best, axis=0))


@triton.jit
def gaussian_divergence(mu, logvar, out, D, BLOCK: tl.constexpr):
    """Divergence of diagonal normals from the standard one, a row a program, in doubles."""
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, D, BLOCK):
        c = start + tl.arange(0, BLOCK)
        m = tl.load(mu + row * D + c, mask=c < D, other=0.0).to(tl.float64)
        v = tl.load(logvar + row * D + c, mask=c < D, other=0.0).to(tl.float64)
        acc += tl.where(c < D, 0.5 * (tl.exp(v) + m * m - 1.0 - v), 0.0)
    tl.store(out + row, tl.sum(acc, axis=0).to(tl.float32))


@triton.jit
def noisy_choice(x, out, V, seed, temperature, BLOCK: tl.constexpr):
    """A draw from the softmax of a row by the largest of logits plus noise."""
    row = tl.program_id(0)
    best = -float("inf")
    place = 0
    for start in range(0, V, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * V + c, mask=c < V, other=-float("inf")).to(tl.float32) / temperature
        u = tl.rand(seed, row * V + c)
        v = v - tl.log(-tl.log(u + 1e-9) + 1e-9)
        top = tl.max(v, axis=0)
        at = tl.argmax(v, axis=0)
        place = tl.where(top > best, start + at, place)
        best = tl.maximum(best, top)
    tl.store(out + row, place)


@triton.jit
def column_scores(x, y, T, N, BT: tl.constexpr, BN: tl.constexpr):
    """Columns less their mean over their deviation, doubles for the sums, two passes."""
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    ok = c < N
    s = tl.zeros((BT, BN), tl.float64)
    q = tl.zeros((BT, BN), tl.float64)
    for start in range(0, T, BT):
        r = start + tl.arange(0, BT)
        v = tl.load(x + r[:, None] * N + c[None, :], mask=(r < T)[:, None] & ok[None, :], other=0.0).to(tl.float64)
        s += v
        q += v * v
    mean = tl.sum(s, axis=0) / T
    dev = tl.sqrt(tl.maximum(tl.sum(q, axis=0) / T - mean * mean, 1e-12))
    for start in range(0, T, BT):
        r = start + tl.arange(0, BT)
        m = (r < T)[:, None] & ok[None, :]
        v = tl.load(x + r[:, None] * N + c[None, :], mask=m, other=0.0)
        tl.store(y + r[:, None] * N + c[None, :], ((v - mean[None, :]) / dev[None, :]).to(tl.float32), mask=m)


@triton.jit
def pair_distances(a, p, n, out, D, margin, BLOCK: tl.constexpr):
    """A triplet loss of rows: two distances in one pass."""
    row = tl.program_id(0)
    u = tl.zeros((BLOCK,), tl.float32)
    v = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, D, BLOCK):
        c = start + tl.arange(0, BLOCK)
        at = row * D + c
        x = tl.load(a + at, mask=c < D, other=0.0).to(tl.float32)
        y = tl.load(p + at, mask=c < D, other=0.0).to(tl.float32) - x
        z = tl.load(n + at, mask=c < D, other=0.0).to(tl.float32) - x
        u += y * y
        v += z * z
    gap = tl.sqrt(tl.sum(u, axis=0)) - tl.sqrt(tl.sum(v, axis=0)) + margin
    tl.store(out + row, tl.maximum(gap, 0.0))


@triton.jit
def penalised(x, history, penalty, y, V, L, BLOCK: tl.constexpr, BL: tl.constexpr):
    """Logits of tokens that a history holds made smaller: each token against each of the history."""
    row = tl.program_id(1)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * V + c, mask=c < V, other=0.0)
    count = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, L, BL):
        p = start + tl.arange(0, BL)
        t = tl.load(history + row * L + p, mask=p < L, other=-1)
        count += tl.sum((c[:, None] == t[None, :]).to(tl.float32), axis=1)
    pen = tl.load(penalty + row)
    tl.store(y + row * V + c, v - pen * count - tl.where(count > 0, pen, 0.0), mask=c < V)


@triton.jit
def weight_norm(v, g, w, cols, BLOCK: tl.constexpr):
    """g v / |v| of rows in one tile of doubles."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    t = tl.load(v + row * cols + c, mask=c < cols, other=0.0).to(tl.float64)
    s = tl.sqrt(tl.sum(t * t, axis=0))
    tl.store(w + row * cols + c, (t * (tl.load(g + row) / s)).to(tl.float32), mask=c < cols)


@triton.jit
def circle_loss(sim, label, out, N, gamma, BLOCK: tl.constexpr):
    """Two masked log-sum-exps of a row of similarities, positives and negatives by label."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < N
    s = tl.load(sim + row * N + c, mask=ok, other=0.0)
    same = (tl.load(label + c, mask=ok, other=-1) == tl.load(label + row)) & ok
    pos = tl.where(same & (c != row), -gamma * tl.maximum(1.25 - s, 0.0) * (s - 0.75), -1e30)
    neg = tl.where(ok & (same == 0), gamma * tl.maximum(s + 0.25, 0.0) * (s - 0.25), -1e30)
    a = tl.max(pos, axis=0)
    z = tl.max(neg, axis=0)
    p = a + tl.log(tl.sum(tl.exp(pos - a), axis=0))
    q = z + tl.log(tl.sum(tl.exp(neg - z), axis=0))
    tl.store(out + row, tl.log(1.0 + tl.exp(tl.minimum(p + q, 60.0))))


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def wide(n):
        return 1 << (n - 1).bit_length()

    def trusted(n, BLOCK, num_warps):
        p, g, sums, grid = b("p", "float32", n), b("g", "float32", n), b("sums", "float64", 2), (cdiv(n, BLOCK),)
        return (
            Launch(norm_parts, (p, g, sums, n), {"BLOCK": BLOCK}, grid, num_warps),
            Launch(trusted_step, (p, g, sums, n, 0.001), {"BLOCK": BLOCK}, grid, num_warps),
        )

    return (
        (
            whole_row_entropy, ((128, 30000, 8), (2048, 50257, 16), (4096, 20000, 16)),
            lambda rows, cols, num_warps: Launch(
                whole_row_entropy,
                (b("x", "float16", rows * cols), b("ids", "int64", rows, cols), b("y", "float32", rows),
                 b("z", "float32", rows), cols, 1.25),
                {"BLOCK": wide(cols)}, (rows,), num_warps),
        ),
        (
            running_lse, ((64, 32000, 4096, 8), (4096, 32000, 2048, 4), (16, 150000, 8192, 8)),
            lambda rows, V, BLOCK, num_warps: Launch(
                running_lse,
                (b("x", "bfloat16", rows * V), b("ids", "int64", rows, V), b("y", "float32", rows), V),
                {"BLOCK": BLOCK}, (rows,), num_warps),
        ),
        (
            smoothed_gradient, ((64, 5000, 512, 4), (2048, 32000, 2048, 8)),
            lambda rows, V, BLOCK, num_warps: Launch(
                smoothed_gradient,
                (b("x", "bfloat16", rows * V), b("ids", "int64", rows, V), b("y", "float32", rows),
                 b("grad", "bfloat16", rows * V), V, 0.1),
                {"BLOCK": BLOCK}, (rows,), num_warps),
        ),
        (
            focal_loss, ((100000, 1024, 4), (20000000, 1024, 4)),
            lambda n, BLOCK, num_warps: Launch(
                focal_loss, (b("x", "float16", n), b("t", "float32", n), b("total", "float32", 1), n, 2.0),
                {"BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),
        ),
        (
            adam_step, ((200000, 1024, 4), (50000000, 1024, 4)),
            lambda n, BLOCK, num_warps: Launch(
                adam_step,
                (*(b(name, "float32", n) for name in "p"), b("g", "bfloat16", n), b("m", "float32", n), b("v", "float32", n),
                 b("h", "bfloat16", n), n, 0.001, 0.9, 0.99, 0.01),
                {"BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),
        ),
        (norm_parts, ((300000, 1024, 4), (30000000, 2048, 4)), trusted),
        (
            norm_to_bytes, ((64, 2048, 4), (8192, 5120, 8)),
            lambda rows, cols, num_warps: Launch(
                norm_to_bytes,
                (b("x", "float16", rows * cols), b("res", "float16", rows * cols), b("w", "float16", cols),
                 b("y", "float16", rows * cols), b("codes", "int8", rows * cols), b("scale", "float32", rows), cols),
                {"BLOCK": wide(cols)}, (rows,), num_warps),
        ),
        (
            group_norm_swish, ((2, 64, 256, 8, 1024, 4), (16, 320, 4096, 10, 4096, 8)),
            lambda B, C, P, EACH, BLOCK, num_warps: Launch(
                group_norm_swish,
                (b("x", "float16", B * C * P), b("w", "float32", C), b("bias", "float32", C), b("y", "float16", B * C * P), C, P),
                {"EACH": EACH, "BLOCK": BLOCK}, (B, C // EACH), num_warps),
        ),
        (
            norm_gradients, ((512, 768, 64, 4), (16384, 2048, 264, 8)),
            lambda rows, cols, programs, num_warps: Launch(
                norm_gradients,
                (b("x", "float16", rows * cols), b("g", "float16", rows * cols), b("w", "float32", cols), b("mean", "float32", rows),
                 b("rstd", "float32", rows), b("y", "float16", rows * cols), b("dw", "float32", cols), b("db", "float32", cols),
                 rows, cols),
                {"BLOCK": wide(cols)}, (programs,), num_warps),
        ),
        (
            softmax_gradient, ((2048, 100, 4, 4), (131072, 500, 4, 4)),
            lambda rows, cols, R, num_warps: Launch(
                softmax_gradient, (*(b(name, "float16", rows * cols) for name in "xgy"), cols),
                {"R": R, "BLOCK": wide(cols)}, (rows // R,), num_warps),
        ),
        (
            dropped_residual, ((200000, 512, 4), (30000000, 1024, 4)),
            lambda n, BLOCK, num_warps: Launch(
                dropped_residual,
                (*(b(name, "float16", n) for name in "xry"), b("keep", "int8", n), n, 0.1, 1234),
                {"BLOCK": BLOCK}, (cdiv(n, BLOCK),), num_warps),
        ),
        (
            top_gates, ((512, 64, 4, 1), (65536, 128, 8, 4)),
            lambda T, E, K, num_warps: Launch(
                top_gates, (b("x", "bfloat16", T * E), b("which", "int32", T * K), b("weight", "float32", T * K)),
                {"E": E, "K": K}, (T,), num_warps),
        ),
        (
            gaussian_divergence, ((256, 512, 256, 4), (32768, 1024, 1024, 4)),
            lambda rows, D, BLOCK, num_warps: Launch(
                gaussian_divergence, (b("x", "float32", rows * D), b("g", "float32", rows * D), b("y", "float32", rows), D),
                {"BLOCK": BLOCK}, (rows,), num_warps),
        ),
        (
            noisy_choice, ((32, 32000, 1024, 4), (512, 128000, 4096, 8)),
            lambda rows, V, BLOCK, num_warps: Launch(
                noisy_choice, (b("x", "float16", rows * V), b("place", "int32", rows), V, 77, 0.8),
                {"BLOCK": BLOCK}, (rows,), num_warps),
        ),
        (
            column_scores, ((500, 300, 32, 32, 4), (5000, 20000, 16, 128, 4)),
            lambda T, N, BT, BN, num_warps: Launch(
                column_scores, (b("x", "float32", T * N), b("y", "float32", T * N), T, N),
                {"BT": BT, "BN": BN}, (cdiv(N, BN),), num_warps),
        ),
        (
            pair_distances, ((512, 300, 128, 4), (65536, 768, 256, 2)),
            lambda rows, D, BLOCK, num_warps: Launch(
                pair_distances, (*(b(name, "float16", rows * D) for name in "xgr"), b("y", "float32", rows), D, 0.2),
                {"BLOCK": BLOCK}, (rows,), num_warps),
        ),
        (
            penalised, ((8, 32000, 200, 512, 32, 4), (64, 128000, 1000, 256, 64, 4)),
            lambda B, V, L, BLOCK, BL, num_warps: Launch(
                penalised,
                (b("x", "float32", B * V), b("history", "int32", B * L, V), b("pen", "float32", B), b("y", "float32", B * V), V, L),
                {"BLOCK": BLOCK, "BL": BL}, (cdiv(V, BLOCK), B), num_warps),
        ),
        (
            weight_norm, ((256, 1000, 4), (16384, 4096, 8)),
            lambda rows, cols, num_warps: Launch(
                weight_norm, (b("x", "float32", rows * cols), b("g", "float32", rows), b("y", "float32", rows * cols), cols),
                {"BLOCK": wide(cols)}, (rows,), num_warps),
        ),
        (
            circle_loss, ((512, 512, 4), (8192, 8192, 8)),
            lambda N, BLOCK, num_warps: Launch(
                circle_loss, (b("x", "float32", N * N), b("ids", "int32", N, 64), b("y", "float32", N), N, 32.0),
                {"BLOCK": BLOCK}, (N,), num_warps),
        ),
    )  # fmt: skip
