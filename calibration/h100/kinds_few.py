"""Few programs that read long rows, and rows of vocabularies. Part of :mod:`kinds_2`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def masked_volume_moments(x, mask, mean, rstd, numel, BLOCK: tl.constexpr):
    """Moments of a volume of 16-bit numbers inside a mask of bytes, a volume a program."""
    b = tl.program_id(0)
    n = tl.zeros((BLOCK,), tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    q = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, numel, BLOCK):
        i = start + tl.arange(0, BLOCK)
        ok = i < numel
        m = tl.load(mask + b * numel + i, mask=ok, other=0).to(tl.float32)
        v = tl.load(x + b * numel + i, mask=ok, other=0).to(tl.float32) * m
        n += m
        s += v
        q += v * v
    count = tl.maximum(tl.sum(n, axis=0), 1.0)
    mu = tl.sum(s, axis=0) / count
    tl.store(mean + b, mu)
    tl.store(rstd + b, tl.rsqrt(tl.maximum(tl.sum(q, axis=0) / count - mu * mu, 0.0) + 1e-5))


@triton.jit
def line_length(x, out, T, BLOCK: tl.constexpr):
    """Energy, peak and length of a curve, a channel a program."""
    r = tl.program_id(0)
    e = tl.zeros((BLOCK,), tl.float32)
    p = tl.zeros((BLOCK,), tl.float32)
    d = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, T, BLOCK):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(x + r * T + i, mask=i < T, other=0.0)
        c = tl.load(x + r * T + i + 1, mask=i + 1 < T, other=0.0)
        e += a * a
        p = tl.maximum(p, tl.abs(a))
        d += tl.where(i + 1 < T, tl.abs(c - a), 0.0)
    tl.store(out + r * 3, tl.sum(e, axis=0))
    tl.store(out + r * 3 + 1, tl.max(p, axis=0))
    tl.store(out + r * 3 + 2, tl.sum(d, axis=0))


@triton.jit
def to_peak(x, y, T, level, BLOCK: tl.constexpr):
    """A clip scaled to its peak: two passes of one program."""
    r = tl.program_id(0)
    p = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, T, BLOCK):
        i = start + tl.arange(0, BLOCK)
        p = tl.maximum(p, tl.abs(tl.load(x + r * T + i, mask=i < T, other=0.0)))
    gain = level / (tl.max(p, axis=0) + 1e-6)
    for start in range(0, T, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(y + r * T + i, tl.load(x + r * T + i, mask=i < T, other=0.0) * gain, mask=i < T)


@triton.jit
def online_log_sum(x, target, out, V, BLOCK: tl.constexpr):
    """log p of a target by a running largest and a running sum, a row a program."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = -float("inf")
    s = 0.0
    for start in range(0, V, BLOCK):
        v = tl.load(x + row * V + start + c, mask=start + c < V, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(v, axis=0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(v - new), axis=0)
        m = new
    tl.store(out + row, tl.load(x + row * V + tl.load(target + row)).to(tl.float32) - m - tl.log(s))


@triton.jit
def lane_log_sum(x, out, V, BLOCK: tl.constexpr):
    """The same with a largest and a sum for each lane, put together at the end."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = tl.full((BLOCK,), -1e30, tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, V, BLOCK):
        v = tl.load(x + row * V + start + c, mask=start + c < V, other=-1e30).to(tl.float32)
        new = tl.maximum(m, v)
        s = s * tl.exp(m - new) + tl.exp(v - new)
        m = new
    top = tl.max(m, axis=0)
    tl.store(out + row, top + tl.log(tl.sum(s * tl.exp(m - top), axis=0)))


@triton.jit
def entropy_of_row(x, out, V, BLOCK: tl.constexpr):
    """Entropy of a distribution in three passes."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = tl.full((BLOCK,), -1e30, tl.float32)
    for start in range(0, V, BLOCK):
        m = tl.maximum(m, tl.load(x + row * V + start + c, mask=start + c < V, other=-1e30).to(tl.float32))
    top = tl.max(m, axis=0)
    s = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, V, BLOCK):
        s += tl.exp(tl.load(x + row * V + start + c, mask=start + c < V, other=-1e30).to(tl.float32) - top)
    log_sum = top + tl.log(tl.sum(s, axis=0))
    h = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, V, BLOCK):
        v = tl.load(x + row * V + start + c, mask=start + c < V, other=-1e30).to(tl.float32) - log_sum
        h += tl.where(start + c < V, -tl.exp(v) * v, 0.0)
    tl.store(out + row, tl.sum(h, axis=0))


@triton.jit
def best_of_row(x, at, V, BLOCK: tl.constexpr):
    """The place of the largest of a row."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    best = -float("inf")
    where = 0
    for start in range(0, V, BLOCK):
        v = tl.load(x + row * V + start + c, mask=start + c < V, other=-float("inf")).to(tl.float32)
        top = tl.max(v, axis=0)
        where = tl.where(top > best, start + tl.argmax(v, axis=0), where)
        best = tl.maximum(best, top)
    tl.store(at + row, where)


@triton.jit
def inner_products(x, w, out, n, BLOCK: tl.constexpr):
    """Inner products of long rows with one vector."""
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32) * tl.load(
            w + i, mask=i < n, other=0.0
        ).to(tl.float32)
    tl.store(out + row, tl.sum(acc, axis=0))


@triton.jit
def variance_double(x, out, n, BLOCK: tl.constexpr):
    """Mean and variance of a row of floats in doubles."""
    row = tl.program_id(0)
    s = tl.zeros((BLOCK,), tl.float64)
    q = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float64)
        s += v
        q += v * v
    mean = tl.sum(s, axis=0) / n
    tl.store(out + row, tl.sum(q, axis=0) / n - mean * mean)


@triton.jit
def persistent_gate(x, g, y, n, BLOCK: tl.constexpr):
    """x sigmoid(g), programs going round."""
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < n
        v = tl.load(x + i, mask=m, other=0.0).to(tl.float32)
        u = tl.load(g + i, mask=m, other=0.0).to(tl.float32)
        tl.store(y + i, (v * tl.sigmoid(u)).to(y.dtype.element_ty), mask=m)


@triton.jit
def means_of_columns(x, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """Means of columns, a strip a program."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    acc = tl.zeros((BR, BC), tl.float32)
    for start in range(0, rows, BR):
        r = start + tl.arange(0, BR)
        acc += tl.load(
            x + r[:, None] * cols + c[None, :], mask=(r < rows)[:, None] & (c < cols)[None, :], other=0.0
        ).to(tl.float32)
    tl.store(y + c, tl.sum(acc, axis=0) / rows, mask=c < cols)


@triton.jit
def pooled_tokens(x, mask, y, T, D, BD: tl.constexpr):
    """Means over the tokens that a mask keeps, one after the other."""
    b = tl.program_id(0)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    acc = tl.zeros((BD,), tl.float32)
    n = 0.0
    for t in range(T):
        m = tl.load(mask + b * T + t).to(tl.float32)
        acc += m * tl.load(x + (b * T + t) * D + d, mask=d < D, other=0.0).to(tl.float32)
        n += m
    tl.store(y + b * D + d, acc / tl.maximum(n, 1.0), mask=d < D)


@triton.jit
def group_norm_two_pass(x, w, y, size, per, BLOCK: tl.constexpr):
    """A group of channels a program: moments, then the row once more."""
    g = tl.program_id(0)
    s = tl.zeros((BLOCK,), tl.float32)
    q = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + g * size + i, mask=i < size, other=0.0).to(tl.float32)
        s += v
        q += v * v
    mean = tl.sum(s, axis=0) / size
    r = tl.rsqrt(tl.sum(q, axis=0) / size - mean * mean + 1e-5)
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < size
        v = tl.load(x + g * size + i, mask=m, other=0.0).to(tl.float32)
        k = tl.load(w + i // per, mask=m, other=0.0).to(tl.float32)
        tl.store(y + g * size + i, ((v - mean) * r * k).to(tl.float16), mask=m)


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def rows(kernel, kind, *outs, more=()):
        return lambda rows, n, BLOCK, num_warps: Launch(
            kernel,
            (
                b("x", kind, rows * n + 16),
                *(b(name, dtype, count * rows, below) for name, dtype, count, below in outs),
                n,
                *more,
            ),
            {"BLOCK": BLOCK},
            (rows,),
            num_warps,
        )

    return (
        (
            masked_volume_moments,
            ((2, 131072, 4096, 8), (4, 2000000, 8192, 16), (16, 524288, 4096, 8), (64, 300001, 2048, 4)),
            lambda rows, n, BLOCK, num_warps: Launch(
                masked_volume_moments,
                (
                    b("x", "int16", rows * n),
                    b("m", "uint8", rows * n),
                    b("y", "float32", rows),
                    b("z", "float32", rows),
                    n,
                ),
                {"BLOCK": BLOCK},
                (rows,),
                num_warps,
            ),
        ),
        (
            line_length,
            ((4, 500000, 2048, 8), (64, 100000, 1024, 4), (19, 1000000, 4096, 8)),
            rows(line_length, "float32", ("y", "float32", 3, 0)),
        ),
        (
            to_peak,
            ((8, 160000, 4096, 8), (16, 2000000, 4096, 8), (32, 480000, 1024, 4), (8, 1000001, 8192, 16)),
            lambda rows, n, BLOCK, num_warps: Launch(
                to_peak,
                (b("x", "float32", rows * n), b("y", "float32", rows * n), n, 0.9),
                {"BLOCK": BLOCK},
                (rows,),
                num_warps,
            ),
        ),
        (
            online_log_sum,
            (
                (512, 32000, 1024, 4),
                (1024, 50257, 2048, 8),
                (2048, 128256, 4096, 8),
                (256, 151936, 8192, 16),
                (4096, 32000, 4096, 4),
            ),
            rows(online_log_sum, "bfloat16", ("t", "int32", 1, 30000), ("y", "float32", 1, 0)),
        ),
        (
            lane_log_sum,
            ((512, 32000, 1024, 4), (2048, 50257, 2048, 8), (1024, 128256, 4096, 8)),
            rows(lane_log_sum, "float16", ("y", "float32", 1, 0)),
        ),
        (
            entropy_of_row,
            ((128, 128256, 4096, 8), (1000, 50257, 2048, 4)),
            rows(entropy_of_row, "bfloat16", ("y", "float32", 1, 0)),
        ),
        (
            best_of_row,
            ((64, 32000, 1024, 4), (1024, 128256, 4096, 8)),
            rows(best_of_row, "float16", ("n", "int32", 1, 0)),
        ),
        (
            inner_products,
            ((16, 1000000, 4096, 8), (256, 65536, 1024, 4)),
            lambda rows, n, BLOCK, num_warps: Launch(
                inner_products,
                (b("x", "float16", rows * n), b("w", "float16", n), b("y", "float32", rows), n),
                {"BLOCK": BLOCK},
                (rows,),
                num_warps,
            ),
        ),
        (
            variance_double,
            ((32, 200000, 1024, 4), (1024, 32768, 2048, 8)),
            rows(variance_double, "float32", ("y", "float64", 1, 0)),
        ),
        (
            persistent_gate,
            ((4000000, 132, 8192, 8), (67108864, 264, 4096, 8), (33554432, 132, 1024, 4)),
            lambda n, programs, BLOCK, num_warps: Launch(
                persistent_gate,
                (b("x", "bfloat16", n), b("g", "bfloat16", n), b("y", "bfloat16", n), n),
                {"BLOCK": BLOCK},
                (programs,),
                num_warps,
            ),
        ),
        (
            means_of_columns,
            ((4096, 1024, 32, 64, 4), (65536, 512, 64, 32, 4), (8192, 8192, 16, 128, 4)),
            lambda rows, cols, BR, BC, num_warps: Launch(
                means_of_columns,
                (b("x", "float16", rows * cols), b("y", "float32", cols), rows, cols),
                {"BR": BR, "BC": BC},
                (cdiv(cols, BC),),
                num_warps,
            ),
        ),
        (
            pooled_tokens,
            ((32, 128, 768, 256, 4), (256, 512, 1024, 1024, 4)),
            lambda B, T, D, BD, num_warps: Launch(
                pooled_tokens,
                (b("x", "float16", B * T * D), b("mask", "int32", B * T, 2), b("y", "float32", B * D), T, D),
                {"BD": BD},
                (B, cdiv(D, BD)),
                num_warps,
            ),
        ),
        (
            group_norm_two_pass,
            ((64, 16384, 1024, 2048, 8), (256, 163840, 16384, 4096, 8), (1024, 10240, 1024, 1024, 4)),
            lambda groups, size, per, BLOCK, num_warps: Launch(
                group_norm_two_pass,
                (
                    b("x", "float16", groups * size),
                    b("w", "float16", cdiv(size, per)),
                    b("y", "float16", groups * size),
                    size,
                    per,
                ),
                {"BLOCK": BLOCK},
                (groups,),
                num_warps,
            ),
        ),
    )
