"""Numbers that programs add to what others add to as well. Part of :mod:`kinds_2`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def add_expert_rows(y, row_of, gate, acc, D, K: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of K experts added to their token."""
    slot = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = d < D
    v = tl.load(y + tl.load(row_of + slot) * D + d, mask=m, other=0.0).to(tl.float32)
    tl.atomic_add(acc + slot // K * D + d, tl.load(gate + slot) * v, mask=m, sem="relaxed")


@triton.jit
def norm_weight_gradients(x, dy, dw, db, cols, BLOCK: tl.constexpr):
    """A row a program, its part of the gradients of weight and bias added to those of all."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * cols + c, mask=m, other=0.0).to(tl.float32)
    g = tl.load(dy + row * cols + c, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / cols
    z = tl.where(m, v - mean, 0.0)
    r = tl.rsqrt(tl.sum(z * z, axis=0) / cols + 1e-5)
    tl.atomic_add(dw + c, g * z * r, mask=m)
    tl.atomic_add(db + c, g, mask=m)


@triton.jit
def slope_gradient(x, dy, da, n, channels, frames, BLOCK: tl.constexpr):
    """The gradient of a slope a channel, element by element: [B, channels, frames] laid flat."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    g = tl.load(dy + i, mask=m, other=0.0)
    c = i // frames % channels
    tl.atomic_add(da + c, tl.where(v < 0, v * g, 0.0), mask=m)


@triton.jit
def channel_bias_gradient(dy, db, n, channels, BLOCK: tl.constexpr):
    """The gradient of a bias, channels last: neighbours go to neighbouring addresses."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.atomic_add(db + i % channels, tl.load(dy + i, mask=m, other=0.0).to(tl.float32), mask=m)


@triton.jit
def byte_counts(x, counts, length, BLOCK: tl.constexpr):
    """How often each byte comes, a table a chunk."""
    chunk = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < length
    v = tl.load(x + chunk * length + i, mask=m, other=0)
    tl.atomic_add(counts + chunk * 256 + v, 1, mask=m, sem="relaxed")


@triton.jit
def neighbour_counts(label, counts, H, W, K: tl.constexpr, BLOCK: tl.constexpr):
    """How often one class stands left of another, a table an image."""
    image = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = (i < H * W) & (i % W < W - 1)
    a = tl.load(label + image * H * W + i, mask=m, other=0)
    c = tl.load(label + image * H * W + i + 1, mask=m, other=0)
    tl.atomic_add(counts + image * K * K + a * K + c, 1, mask=m)


@triton.jit
def total_loss(x, y, total, n, BLOCK: tl.constexpr):
    """A sum of squares over all, one addition a program."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    d = tl.load(x + i, mask=m, other=0.0) - tl.load(y + i, mask=m, other=0.0)
    tl.atomic_add(total, tl.sum(d * d, axis=0) / n)


@triton.jit
def edge_sums(src, dst, x, y, edges, D: tl.constexpr, BE: tl.constexpr):
    """Messages of edges added to the nodes they lead to."""
    e = tl.program_id(0) * BE + tl.arange(0, BE)
    d = tl.arange(0, D)
    m = e < edges
    s = tl.load(src + e, mask=m, other=0)
    t = tl.load(dst + e, mask=m, other=0)
    v = tl.load(x + s[:, None] * D + d[None, :], mask=m[:, None], other=0.0)
    tl.atomic_add(y + t[:, None] * D + d[None, :], v, mask=m[:, None])


@triton.jit
def cluster_sums(x, which, sums, counts, n, D: tl.constexpr, BN: tl.constexpr):
    """Points added to the centre that is nearest to them, and counted."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    m = i < n
    w = tl.load(which + i, mask=m, other=0)
    tl.atomic_add(
        sums + w[:, None] * D + d[None, :],
        tl.load(x + i[:, None] * D + d[None, :], mask=m[:, None], other=0.0),
        mask=m[:, None],
    )
    tl.atomic_add(counts + w, 1.0, mask=m)


@triton.jit
def strip_sums(x, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """Sums of columns: a tile a program, its sums added to those of the column."""
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    m = (r < rows)[:, None] & (c < cols)[None, :]
    v = tl.load(x + r[:, None] * cols + c[None, :], mask=m, other=0.0).to(tl.float32)
    tl.atomic_add(y + c, tl.sum(v, axis=0), mask=c < cols)


@triton.jit
def splat(px, py, w, image, n, H, W, BLOCK: tl.constexpr):
    """Points spread over the four pixels around them."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(px + i, mask=m, other=0) % (W - 1)
    y = tl.load(py + i, mask=m, other=0) % (H - 1)
    v = tl.load(w + i, mask=m, other=0.0)
    at = image + y * W + x
    tl.atomic_add(at, v * 0.3, mask=m)
    tl.atomic_add(at + 1, v * 0.2, mask=m)
    tl.atomic_add(at + W, v * 0.4, mask=m)
    tl.atomic_add(at + W + 1, v * 0.1, mask=m)


@triton.jit
def keep_positive(x, y, count, n, BLOCK: tl.constexpr):
    """Positive numbers put together: a program takes as many places as it has of them."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=-1.0)
    keep = v > 0
    place = tl.cumsum(keep.to(tl.int32), axis=0) - 1
    start = tl.atomic_add(count, tl.sum(keep.to(tl.int32), axis=0)) & 0xFFFFF
    tl.store(y + start + place, v, mask=keep)


@triton.jit
def largest_by_segment(x, segment, best, n, BLOCK: tl.constexpr):
    """The largest integer of each segment."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.atomic_max(best + tl.load(segment + i, mask=m, other=0), tl.load(x + i, mask=m, other=0), mask=m)


@triton.jit
def table_gradient(dy, index, dw, n, D, BLOCK: tl.constexpr):
    """Gradients of the rows of a table, a token a program."""
    t = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    at = tl.load(index + t) * D
    tl.atomic_add(dw + at + d, tl.load(dy + t * D + d, mask=d < D, other=0.0).to(tl.float32), mask=d < D)


@triton.jit
def split_k_rows(x, w, y, M, K, BM: tl.constexpr, BK: tl.constexpr):
    """A vector times a matrix, its length dealt out over programs."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.program_id(1) * BK + tl.arange(0, BK)
    a = tl.load(w + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0).to(tl.float32)
    v = tl.load(x + k, mask=k < K, other=0.0).to(tl.float32)
    tl.atomic_add(y + m, tl.sum(a * v[None, :], axis=1), mask=m < M)


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer
    return (
        (
            add_expert_rows,
            ((256, 8, 2048, 1024, 4), (4096, 2, 4096, 1024, 4), (8192, 8, 2048, 512, 4), (16384, 4, 1000, 1024, 8)),
            lambda T, K, D, BLOCK, num_warps: Launch(
                add_expert_rows,
                (
                    b("x", "bfloat16", T * K * D),
                    b("at", "int32", T * K, T * K, "permuted"),
                    b("g", "float32", T * K),
                    b("y", "float32", T * D),
                    D,
                ),
                {"K": K, "BLOCK": BLOCK},
                (T * K, cdiv(D, BLOCK)),
                num_warps,
            ),
        ),
        (
            norm_weight_gradients,
            ((2048, 768, 4), (32768, 256, 2), (65536, 512, 4), (16384, 4096, 8)),
            lambda rows, cols, num_warps: Launch(
                norm_weight_gradients,
                (
                    b("x", "float16", rows * cols),
                    b("dy", "float16", rows * cols),
                    b("y", "float32", cols),
                    b("z", "float32", cols),
                    cols,
                ),
                {"BLOCK": 1 << (cols - 1).bit_length()},
                (rows,),
                num_warps,
            ),
        ),
        (
            slope_gradient,
            ((4, 64, 1000, 1024, 4), (8, 256, 8192, 1024, 4), (32, 512, 196, 1024, 4)),
            lambda B, channels, frames, BLOCK, num_warps: Launch(
                slope_gradient,
                (
                    b("x", "float32", B * channels * frames),
                    b("dy", "float32", B * channels * frames),
                    b("y", "float32", channels),
                    B * channels * frames,
                    channels,
                    frames,
                ),
                {"BLOCK": BLOCK},
                (cdiv(B * channels * frames, BLOCK),),
                num_warps,
            ),
        ),
        (
            channel_bias_gradient,
            ((100000, 96, 1024, 4), (16384, 512, 2048, 8), (200704, 64, 1024, 4)),
            lambda places, channels, BLOCK, num_warps: Launch(
                channel_bias_gradient,
                (b("dy", "float16", places * channels), b("y", "float32", channels), places * channels, channels),
                {"BLOCK": BLOCK},
                (cdiv(places * channels, BLOCK),),
                num_warps,
            ),
        ),
        (
            byte_counts,
            (
                (64, 16384, "random", 1024, 4),
                (1024, 65536, "random", 1024, 4),
                (256, 65536, "few", 2048, 8),
                (16, 1000000, "random", 4096, 8),
            ),
            lambda chunks, length, order, BLOCK, num_warps: Launch(
                byte_counts,
                (b("bytes", "uint8", chunks * length, 256, order), b("n", "int32", chunks * 256), length),
                {"BLOCK": BLOCK},
                (cdiv(length, BLOCK), chunks),
                num_warps,
            ),
        ),
        (
            neighbour_counts,
            (
                (8, 256, 256, 12, "random", 1024, 4),
                (64, 512, 512, 16, "random", 1024, 4),
                (64, 512, 512, 16, "near", 1024, 4),
                (32, 300, 300, 21, "sorted", 512, 4),
            ),
            lambda B, H, W, K, order, BLOCK, num_warps: Launch(
                neighbour_counts,
                (b("l", "int32", B * H * W, K, order), b("n", "int32", B * K * K), H, W),
                {"K": K, "BLOCK": BLOCK},
                (cdiv(H * W, BLOCK), B),
                num_warps,
            ),
        ),
        (
            total_loss,
            ((1000000, 1024, 4), (33554432, 1024, 4), (4000000, 256, 4)),
            lambda n, BLOCK, num_warps: Launch(
                total_loss,
                (b("x", "float32", n), b("v", "float32", n), b("y", "float32", 1), n),
                {"BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            edge_sums,
            (
                (20000, 160000, 64, "random", 16, 4),
                (100000, 1000000, 32, "random", 32, 4),
                (100000, 1000000, 32, "sorted", 32, 4),
                (3000, 100000, 128, "random", 8, 4),
            ),
            lambda nodes, edges, D, order, BE, num_warps: Launch(
                edge_sums,
                (
                    b("src", "int32", edges, nodes),
                    b("dst", "int32", edges, nodes, order),
                    b("x", "float32", nodes * D),
                    b("y", "float32", nodes * D),
                    edges,
                ),
                {"D": D, "BE": BE},
                (cdiv(edges, BE),),
                num_warps,
            ),
        ),
        (
            cluster_sums,
            ((20000, 16, 32, 64, 4), (500000, 64, 64, 32, 4), (200000, 8, 16, 128, 4)),
            lambda n, K, D, BN, num_warps: Launch(
                cluster_sums,
                (
                    b("x", "float32", n * D),
                    b("which", "int32", n, K),
                    b("y", "float32", K * D),
                    b("z", "float32", K),
                    n,
                ),
                {"D": D, "BN": BN},
                (cdiv(n, BN),),
                num_warps,
            ),
        ),
        (
            strip_sums,
            ((4096, 512, 32, 128, 4), (65536, 1024, 64, 64, 4), (100000, 96, 128, 32, 4)),
            lambda rows, cols, BR, BC, num_warps: Launch(
                strip_sums,
                (b("x", "float16", rows * cols), b("y", "float32", cols), rows, cols),
                {"BR": BR, "BC": BC},
                (cdiv(rows, BR), cdiv(cols, BC)),
                num_warps,
            ),
        ),
        (
            splat,
            ((50000, 128, 128, 256, 4), (2000000, 1024, 1024, 512, 4)),
            lambda n, H, W, BLOCK, num_warps: Launch(
                splat,
                (
                    b("px", "int32", n, W),
                    b("py", "int32", n, H),
                    b("x", "float32", n),
                    b("y", "float32", H * W),
                    n,
                    H,
                    W,
                ),
                {"BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            keep_positive,
            ((100000, 512, 4), (1000000, 1024, 4)),
            lambda n, BLOCK, num_warps: Launch(
                keep_positive,
                (b("x", "float32", n), b("y", "float32", (1 << 20) + BLOCK), b("n", "int32", 1), n),
                {"BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            largest_by_segment,
            ((200000, 1000, "random", 256, 4), (4000000, 100, "random", 1024, 4), (4000000, 5000, "sorted", 1024, 4)),
            lambda n, segments, order, BLOCK, num_warps: Launch(
                largest_by_segment,
                (b("x", "int32", n), b("segment", "int32", n, segments, order), b("n", "int32", segments), n),
                {"BLOCK": BLOCK},
                (cdiv(n, BLOCK),),
                num_warps,
            ),
        ),
        (
            table_gradient,
            ((8192, 5000, 256, 2), (65536, 50000, 768, 4)),
            lambda n, table, D, num_warps: Launch(
                table_gradient,
                (b("dy", "float16", n * D), b("at", "int32", n, table), b("y", "float32", table * D), n, D),
                {"BLOCK": 1 << (D - 1).bit_length()},
                (n,),
                num_warps,
            ),
        ),
        (
            split_k_rows,
            ((1024, 4096, 16, 256, 4), (4096, 16384, 32, 512, 4), (11008, 4096, 4, 1024, 4)),
            lambda M, K, BM, BK, num_warps: Launch(
                split_k_rows,
                (b("x", "float16", K), b("w", "float16", M * K), b("y", "float32", M), M, K),
                {"BM": BM, "BK": BK},
                (cdiv(M, BM), cdiv(K, BK)),
                num_warps,
            ),
        ),
    )
