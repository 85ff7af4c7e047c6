"""Attention and states of sequences. Part of :mod:`kinds`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def alibi_flash(q, k, v, out, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, HEADS: tl.constexpr):
    """Causal attention with a slope for each head."""
    m_at = tl.program_id(0) * BM + tl.arange(0, BM)
    bh = tl.program_id(1)
    d = tl.arange(0, D)
    base = bh.to(tl.int64) * T * D
    slope = tl.exp2(-8.0 * ((bh % HEADS) + 1) / HEADS)
    qt = tl.load(q + base + m_at[:, None] * D + d[None, :], mask=m_at[:, None] < T, other=0.0)
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        n_at = start + tl.arange(0, BN)
        kt = tl.load(k + base + n_at[:, None] * D + d[None, :], mask=n_at[:, None] < T, other=0.0)
        s = tl.dot(qt, tl.trans(kt)) * scale + slope * (n_at[None, :] - m_at[:, None])
        s = tl.where((n_at[None, :] <= m_at[:, None]) & (n_at[None, :] < T), s, -1e30)
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(p, axis=1)
        vt = tl.load(v + base + n_at[:, None] * D + d[None, :], mask=n_at[:, None] < T, other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p.to(vt.dtype), vt)
        top = new
    tl.store(out + base + m_at[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16), mask=m_at[:, None] < T)


@triton.jit
def window_attention(q, k, v, out, T, scale, W: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, GROUP: tl.constexpr):
    """Attention to the W keys before, key heads shared by GROUP query heads, in fp32."""
    pid = tl.program_id(0)
    m_at = pid * BM + tl.arange(0, BM)
    h = tl.program_id(1)
    d = tl.arange(0, D)
    qt = tl.load(q + h * T * D + m_at[:, None] * D + d[None, :], mask=m_at[:, None] < T, other=0.0) * scale
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(tl.maximum(0, pid * BM - W), pid * BM + BM, BM):
        n_at = start + tl.arange(0, BM)
        ok = n_at < T
        kt = tl.load(k + h // GROUP * T * D + n_at[None, :] * D + d[:, None], mask=ok[None, :], other=0.0)
        s = tl.dot(qt, kt)
        gap = m_at[:, None] - n_at[None, :]
        s = tl.where((gap >= 0) & (gap < W), s, -float("inf"))
        new = tl.maximum(tl.maximum(top, tl.max(s, 1)), -1e20)
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(p, 1)
        vt = tl.load(v + h // GROUP * T * D + n_at[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p, vt)
        top = new
    tl.store(out + h * T * D + m_at[:, None] * D + d[None, :], acc / total[:, None], mask=m_at[:, None] < T)


@triton.jit
def split_decode(q, k, v, part, tops, S, scale, SPAN: tl.constexpr, D: tl.constexpr, BN: tl.constexpr, G: tl.constexpr):
    """One query over a part of its keys, without products."""
    h = tl.program_id(0)
    s_id = tl.program_id(1)
    d = tl.arange(0, D)
    qv = tl.load(q + h * D + d).to(tl.float32)
    top = -1e30
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(s_id * SPAN, s_id * SPAN + SPAN, BN):
        n = start + tl.arange(0, BN)
        at = ((h // G) * S + n[:, None]).to(tl.int64) * D + d[None, :]
        kt = tl.load(k + at, mask=n[:, None] < S, other=0.0).to(tl.float32)
        s = tl.sum(kt * qv[None, :], axis=1) * scale
        s = tl.where(n < S, s, -1e30)
        new = tl.maximum(top, tl.max(s, axis=0))
        p = tl.exp(s - new)
        shrink = tl.exp(top - new)
        vt = tl.load(v + at, mask=n[:, None] < S, other=0.0).to(tl.float32)
        acc = acc * shrink + tl.sum(p[:, None] * vt, axis=0)
        total = total * shrink + tl.sum(p, axis=0)
        top = new
    row = h * tl.num_programs(1) + s_id
    tl.store(part + row * D + d, acc / total)
    tl.store(tops + row, top + tl.log(total))


@triton.jit
def join_parts(part, tops, out, PARTS: tl.constexpr, D: tl.constexpr):
    """Parts of a query's result put together."""
    h = tl.program_id(0)
    i = tl.arange(0, PARTS)
    d = tl.arange(0, D)
    t = tl.load(tops + h * PARTS + i)
    w = tl.exp(t - tl.max(t, axis=0))
    w = w / tl.sum(w, axis=0)
    x = tl.load(part + (h * PARTS + i[:, None]) * D + d[None, :])
    tl.store(out + h * D + d, tl.sum(x * w[:, None], axis=0).to(tl.float16))


@triton.jit
def paged_scores(q, pages, table, out, BLOCKS, scale, PAGE: tl.constexpr, D: tl.constexpr, G: tl.constexpr):
    """Scores of G queries that share keys, page by page of a table: [PAGE, D] keys by a sum of products for each query."""
    seq = tl.program_id(0)
    head = tl.program_id(1)
    heads = tl.num_programs(1)
    d = tl.arange(0, D)
    n = tl.arange(0, PAGE)
    g = tl.arange(0, G)
    qt = tl.load(q + ((seq * heads + head) * G + g[:, None]) * D + d[None, :]).to(tl.float32)
    for b in range(BLOCKS):
        page = tl.load(table + seq * BLOCKS + b).to(tl.int64)
        kt = tl.load(pages + ((page * PAGE + n[:, None]) * heads + head) * D + d[None, :]).to(tl.float32)
        s = tl.sum(qt[:, None, :] * kt[None, :, :], axis=2) * scale
        tl.store(out + ((seq * heads + head) * G + g[:, None]) * BLOCKS * PAGE + b * PAGE + n[None, :], s)


@triton.jit
def latent_decode(q, cache, out, S, scale, H: tl.constexpr, C: tl.constexpr, BN: tl.constexpr):
    """H query heads over a latent cache [S, C] that is key and value at once."""
    b = tl.program_id(0)
    h = tl.arange(0, H)
    c = tl.arange(0, C)
    qt = tl.load(q + b * H * C + h[:, None] * C + c[None, :])
    top = tl.full((H,), -1e30, tl.float32)
    total = tl.zeros((H,), tl.float32)
    acc = tl.zeros((H, C), tl.float32)
    for start in range(0, S, BN):
        n = start + tl.arange(0, BN)
        kt = tl.load(cache + (b * S + n[:, None]) * C + c[None, :], mask=n[:, None] < S, other=0.0)
        s = tl.where(n[None, :] < S, tl.dot(qt, tl.trans(kt)) * scale, -1e30)
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(p, axis=1)
        acc = acc * shrink[:, None] + tl.dot(p.to(tl.bfloat16), kt)
        top = new
    tl.store(out + b * H * C + h[:, None] * C + c[None, :], (acc / total[:, None]).to(tl.bfloat16))


@triton.jit
def squared(x):
    """Positive features of keys."""
    return tl.where(x > 0, x * x, 0.0)


@triton.jit
def key_value_sums(k, v, state, T, DK: tl.constexpr, DV: tl.constexpr, BT: tl.constexpr):
    """sum over time of phi(k) v', a head a program."""
    h = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, DK)
    j = tl.arange(0, DV)
    acc = tl.zeros((DK, DV), tl.float32)
    for start in range(0, T, BT):
        t = start + tl.arange(0, BT)
        ok = (t < T)[:, None]
        kt = tl.load(k + (h * T + t[:, None]) * DK + i[None, :], mask=ok, other=0.0)
        vt = tl.load(v + (h * T + t[:, None]) * DV + j[None, :], mask=ok, other=0.0)
        phi = tl.where(ok, squared(kt.to(tl.float32) + 0.1), 0.0)
        acc += tl.dot(tl.trans(phi.to(tl.bfloat16)), vt)
    tl.store(state + h * DK * DV + i[:, None] * DV + j[None, :], acc)


@triton.jit
def retention_chunks(q, k, v, out, T, rate, D: tl.constexpr, C: tl.constexpr):
    """Retention in chunks: a decay inside the chunk, a state across chunks."""
    h = tl.program_id(0)
    base = h.to(tl.int64) * T * D
    c = tl.arange(0, C)
    d = tl.arange(0, D)
    gap = (c[:, None] - c[None, :]).to(tl.float32)
    decay = tl.where(gap >= 0, tl.exp(-rate * gap), 0.0)
    state = tl.zeros((D, D), tl.float32)
    for start in range(0, T, C):
        at = base + (start + c[:, None]) * D + d[None, :]
        qt = tl.load(q + at)
        kt = tl.load(k + at)
        vt = tl.load(v + at)
        s = tl.dot(qt, tl.trans(kt)) * decay
        o = tl.dot(s.to(tl.float16), vt)
        o += tl.dot(qt, state.to(tl.float16)) * tl.exp(-rate * (c + 1))[:, None]
        later = (kt * tl.exp(-rate * (C - 1 - c))[:, None]).to(tl.float16)
        state = state * tl.exp(-rate * C) + tl.dot(tl.trans(later), vt)
        tl.store(out + at, o.to(tl.float16))


@triton.jit
def masked_softmax(x, keep, out, cols, BLOCK: tl.constexpr):
    """Softmax of fp16 rows with a byte a key that says whether it counts, shared by the heads."""
    row = tl.program_id(0)
    b = tl.program_id(1)
    c = tl.arange(0, BLOCK)
    inside = c < cols
    use = tl.load(keep + b * cols + c, mask=inside, other=0) > 0
    at = (b * tl.num_programs(0) + row).to(tl.int64) * cols + c
    v = tl.load(x + at, mask=inside & use, other=-float("inf")).to(tl.float32)
    v = v - tl.maximum(tl.max(v, axis=0), -1e30)
    e = tl.where(use, tl.exp(v), 0.0)
    tl.store(out + at, (e / tl.maximum(tl.sum(e, axis=0), 1e-9)).to(tl.float16), mask=inside)


@triton.jit
def delta_rule(q, k, v, beta, out, T, D: tl.constexpr, BV: tl.constexpr):
    """The delta rule step by step: a state [BV, D] of a head."""
    h = tl.program_id(0)
    vb = tl.program_id(1) * BV + tl.arange(0, BV)
    d = tl.arange(0, D)
    state = tl.zeros((BV, D), tl.float32)
    for t in range(T):
        at = (h * T + t) * D
        kv = tl.load(k + at + d).to(tl.float32)
        qv = tl.load(q + at + d).to(tl.float32)
        val = tl.load(v + at + vb).to(tl.float32)
        b = tl.load(beta + h * T + t)
        old = tl.sum(state * kv[None, :], axis=1)
        state += ((val - old) * b)[:, None] * kv[None, :]
        tl.store(out + at + vb, tl.sum(state * qv[None, :], axis=1))


@triton.jit
def normed_rope(x, w, cos, sin, out, HEADS, D: tl.constexpr):
    """A head normalised and turned, its halves in pairs."""
    pid = tl.program_id(0)
    token = pid // HEADS
    p = tl.arange(0, D // 2)
    a = tl.load(x + pid * D + p).to(tl.float32)
    b = tl.load(x + pid * D + D // 2 + p).to(tl.float32)
    r = tl.rsqrt((tl.sum(a * a, axis=0) + tl.sum(b * b, axis=0)) / D + 1e-6)
    a = a * r * tl.load(w + p)
    b = b * r * tl.load(w + D // 2 + p)
    c = tl.load(cos + token * (D // 2) + p)
    s = tl.load(sin + token * (D // 2) + p)
    tl.store(out + pid * D + p, (a * c - b * s).to(tl.bfloat16))
    tl.store(out + pid * D + D // 2 + p, (b * c + a * s).to(tl.bfloat16))


@triton.jit
def query_gradient(q, k, v, g, lse, delta, out, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The gradient of the queries of causal attention."""
    m_at = tl.program_id(0) * BM + tl.arange(0, BM)
    base = tl.program_id(1).to(tl.int64) * T * D
    rows = tl.program_id(1) * T + m_at
    d = tl.arange(0, D)
    qt = tl.load(q + base + m_at[:, None] * D + d[None, :])
    gt = tl.load(g + base + m_at[:, None] * D + d[None, :])
    top = tl.load(lse + rows)
    dl = tl.load(delta + rows)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        n_at = start + tl.arange(0, BN)
        kt = tl.load(k + base + n_at[:, None] * D + d[None, :])
        vt = tl.load(v + base + n_at[:, None] * D + d[None, :])
        p = tl.exp(tl.dot(qt, tl.trans(kt)) * scale - top[:, None])
        p = tl.where(n_at[None, :] <= m_at[:, None], p, 0.0)
        ds = p * (tl.dot(gt, tl.trans(vt)) - dl[:, None])
        acc += tl.dot(ds.to(tl.float16), kt)
    tl.store(out + base + m_at[:, None] * D + d[None, :], (acc * scale).to(tl.float16))


@triton.jit
def talking_scores(q, k, mix, out, T, HEADS: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Scores of all heads mixed by a number each, in full precision."""
    m_at = tl.program_id(0) * BM + tl.arange(0, BM)
    n_at = tl.program_id(1) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    acc = tl.zeros((BM, BN), tl.float32)
    for h in range(HEADS):
        qt = tl.load(q + (h * T + m_at[:, None]) * D + d[None, :], mask=m_at[:, None] < T, other=0.0)
        kt = tl.load(k + (h * T + n_at[None, :]) * D + d[:, None], mask=n_at[None, :] < T, other=0.0)
        acc += tl.dot(qt, kt, input_precision="ieee") * tl.load(mix + h)
    tl.store(out + m_at[:, None] * T + n_at[None, :], acc, mask=(m_at[:, None] < T) & (n_at[None, :] < T))


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def split(H, S, D, SPAN, G, num_warps):
        parts = S // SPAN
        part, tops = b("part", "float32", H * parts * D), b("tops", "float32", H * parts)
        given = (b("q", "float16", H * D), b("k", "float16", H // G * S * D), b("v", "float16", H // G * S * D))
        constants = {"SPAN": SPAN, "D": D, "BN": 64, "G": G}
        return (
            Launch(split_decode, (*given, part, tops, S, D**-0.5), constants, (H, parts), num_warps),
            Launch(join_parts, (part, tops, b("o", "float16", H * D)), {"PARTS": parts, "D": D}, (H,), 4),
        )

    def four(dtype, n):
        return tuple(b(name, dtype, n) for name in ("q", "k", "v", "o"))

    return (
        (
            alibi_flash,
            ((8, 8, 512, 64, 64, 64, 4), (4, 16, 2048, 128, 128, 64, 8)),
            lambda B, H, T, D, BM, BN, num_warps: Launch(
                alibi_flash,
                (*four("float16", B * H * T * D), T, D**-0.5),
                {"D": D, "BM": BM, "BN": BN, "HEADS": H},
                (cdiv(T, BM), B * H),
                num_warps,
            ),
        ),
        (
            window_attention,
            ((8, 1000, 64, 128, 32, 4), (32, 4096, 64, 512, 64, 4)),
            lambda H, T, D, W, BM, num_warps: Launch(
                window_attention,
                (
                    b("q", "float32", H * T * D),
                    b("k", "float32", H // 4 * T * D),
                    b("v", "float32", H // 4 * T * D),
                    b("o", "float32", H * T * D),
                    T,
                    D**-0.5,
                ),
                {"W": W, "D": D, "BM": BM, "GROUP": 4},
                (cdiv(T, BM), H),
                num_warps,
            ),
        ),
        (split_decode, ((32, 2048, 128, 512, 4, 4), (512, 8192, 128, 1024, 8, 4)), split),
        (
            paged_scores,
            ((8, 4, 64, 4), (64, 8, 256, 4)),
            lambda seqs, heads, BLOCKS, num_warps: Launch(
                paged_scores,
                (
                    b("q", "float16", seqs * heads * 4 * 128),
                    b("pages", "float16", seqs * BLOCKS * 16 * heads * 128),
                    b("table", "int32", seqs * BLOCKS, seqs * BLOCKS),
                    b("s", "float32", seqs * heads * 4 * BLOCKS * 16),
                    BLOCKS,
                    0.1,
                ),
                {"PAGE": 16, "D": 128, "G": 4},
                (seqs, heads),
                num_warps,
            ),
        ),
        (
            latent_decode,
            ((16, 1024, 16, 4), (128, 4096, 32, 8)),
            lambda B, S, BN, num_warps: Launch(
                latent_decode,
                (
                    b("q", "bfloat16", B * 8192),
                    b("cache", "bfloat16", B * S * 512),
                    b("o", "bfloat16", B * 8192),
                    S,
                    0.1,
                ),
                {"H": 16, "C": 512, "BN": BN},
                (B,),
                num_warps,
                2,
            ),
        ),
        (
            key_value_sums,
            ((32, 512, 64, 64, 4), (256, 2048, 128, 32, 8), (64, 4096, 64, 64, 4)),
            lambda H, T, D, BT, num_warps: Launch(
                key_value_sums,
                (b("k", "bfloat16", H * T * D), b("v", "bfloat16", H * T * D), b("s", "float32", H * D * D), T),
                {"DK": D, "DV": D, "BT": BT},
                (H,),
                num_warps,
            ),
        ),
        (
            retention_chunks,
            ((32, 512, 64, 64, 4), (256, 4096, 64, 64, 4), (128, 2048, 128, 64, 8)),
            lambda H, T, D, C, num_warps: Launch(
                retention_chunks, (*four("float16", H * T * D), T, 0.05), {"D": D, "C": C}, (H,), num_warps, 2
            ),
        ),
        (
            masked_softmax,
            ((4, 512, 384, 4), (16, 4096, 2048, 8)),
            lambda B, rows, cols, num_warps: Launch(
                masked_softmax,
                (
                    b("x", "float16", B * rows * cols),
                    b("keep", "int8", B * cols, 2),
                    b("y", "float16", B * rows * cols),
                    cols,
                ),
                {"BLOCK": 1 << (cols - 1).bit_length()},
                (rows, B),
                num_warps,
            ),
        ),
        (
            delta_rule,
            ((8, 64, 64, 32, 2), (128, 1024, 128, 16, 4)),
            lambda H, T, D, BV, num_warps: Launch(
                delta_rule,
                (
                    *four("float16", H * T * D)[:3],
                    b("beta", "float32", H * T),
                    b("o", "float32", H * T * D),
                    T,
                ),
                {"D": D, "BV": BV},
                (H, D // BV),
                num_warps,
            ),
        ),
        (
            normed_rope,
            ((128, 16, 64, 1), (8192, 32, 128, 2)),
            lambda T, H, D, num_warps: Launch(
                normed_rope,
                (
                    b("x", "bfloat16", T * H * D),
                    b("w", "float32", D),
                    b("cos", "float32", T * D // 2),
                    b("sin", "float32", T * D // 2),
                    b("y", "bfloat16", T * H * D),
                    H,
                ),
                {"D": D},
                (T * H,),
                num_warps,
            ),
        ),
        (
            query_gradient,
            ((8, 512, 64, 64, 64, 4), (64, 2048, 128, 64, 64, 4)),
            lambda H, T, D, BM, BN, num_warps: Launch(
                query_gradient,
                (
                    *four("float16", H * T * D)[:3],
                    b("g", "float16", H * T * D),
                    b("lse", "float32", H * T),
                    b("delta", "float32", H * T),
                    b("o", "float16", H * T * D),
                    T,
                    D**-0.5,
                ),
                {"D": D, "BM": BM, "BN": BN},
                (T // BM, H),
                num_warps,
                2,
            ),
        ),
        (
            talking_scores,
            ((8, 256, 64, 32, 32, 4), (16, 3000, 64, 64, 64, 4)),
            lambda H, T, D, BM, BN, num_warps: Launch(
                talking_scores,
                (
                    b("q", "float32", H * T * D),
                    b("k", "float32", H * T * D),
                    b("mix", "float32", H),
                    b("s", "float32", T * T),
                    T,
                ),
                {"HEADS": H, "D": D, "BM": BM, "BN": BN},
                (cdiv(T, BM), cdiv(T, BN)),
                num_warps,
            ),
        ),
    )
