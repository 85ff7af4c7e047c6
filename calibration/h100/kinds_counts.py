"""Histograms, sorts, scans, routing, bags and other work on places that are read. Part of :mod:`kinds`."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Launch, cdiv


@triton.jit
def zeros(y, n, BLOCK: tl.constexpr):
    """Zeros."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.zeros((BLOCK,), y.dtype.element_ty), mask=i < n)


@triton.jit
def image_histograms(x, counts, pixels, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """A histogram of each image, an addition a pixel."""
    img = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + img * pixels + i, mask=i < pixels, other=0).to(tl.int32)
    tl.atomic_add(counts + img * BINS + v, 1, mask=i < pixels, sem="relaxed")


@triton.jit
def weights_by_group(x, group, sums, n, BLOCK: tl.constexpr):
    """Numbers added to the sum of their group."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(group + i, mask=i < n, other=0)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(sums + g, v, mask=i < n)


@triton.jit
def held_group_sums(x, group, sums, counts, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Sums of few groups held by each program, rows in turns, added at the end."""
    g = tl.arange(0, GROUPS)
    s = tl.zeros((GROUPS,), tl.float32)
    c = tl.zeros((GROUPS,), tl.int32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0)
        mine = tl.load(group + i, mask=i < n, other=-1)
        hit = mine[:, None] == g[None, :]
        s += tl.sum(tl.where(hit, v[:, None], 0.0), axis=0)
        c += tl.sum(hit.to(tl.int32), axis=0)
    tl.atomic_add(sums + g, s, sem="relaxed")
    tl.atomic_add(counts + g, c, sem="relaxed")


@triton.jit
def places_in_expert(which, rank, counts, n, E: tl.constexpr, BLOCK: tl.constexpr):
    """The place of each token within its expert, one program that carries the counts."""
    e = tl.arange(0, E)
    base = tl.zeros((E,), tl.int32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        w = tl.load(which + i, mask=i < n, other=-1)
        hot = (w[:, None] == e[None, :]).to(tl.int32)
        before = tl.cumsum(hot, axis=0) - hot + base[None, :]
        tl.store(rank + i, tl.sum(hot * before, axis=1), mask=i < n)
        base += tl.sum(hot, axis=0)
    tl.store(counts + e, base)


@triton.jit
def sorted_rows(x, y, top, cols, BLOCK: tl.constexpr):
    """Rows in order, and the mean of the upper tenth."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=float("inf"))
    s = tl.sort(v, dim=0)
    tl.store(y + row * cols + c, s, mask=c < cols)
    upper = (c >= cols * 9 // 10) & (c < cols)
    tl.store(top + row, tl.sum(tl.where(upper, s, 0.0), axis=0) / (cols // 10))


@triton.jit
def exchange_step(x, n, J, K, BLOCK: tl.constexpr):
    """One step of a bitonic sort in memory: partners J apart in runs of K."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = i ^ J
    m = (p > i) & (i < n)
    a = tl.load(x + i, mask=m, other=0.0)
    b = tl.load(x + p, mask=m, other=0.0)
    up = (i & K) == 0
    lo = tl.minimum(a, b)
    hi = tl.maximum(a, b)
    tl.store(x + i, tl.where(up, lo, hi), mask=m)
    tl.store(x + p, tl.where(up, hi, lo), mask=m)


@triton.jit
def digit_counts(keys, counts, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    """Counts of the 16 values of a digit in each block."""
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(keys + i, mask=i < n, other=0)
    d = (k >> SHIFT) & 15
    bins = tl.arange(0, 16)
    hot = ((d[:, None] == bins[None, :]) & (i < n)[:, None]).to(tl.int32)
    tl.store(counts + bins * tl.num_programs(0) + pid, tl.sum(hot, axis=0))


@triton.jit
def kept_rows(x, score, out, cursor, n, threshold, D: tl.constexpr, R: tl.constexpr):
    """Rows above a threshold moved to the front: a scan in the block, a cursor for all."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    keep = (tl.load(score + r, mask=r < n, other=-1e9) > threshold).to(tl.int32)
    at = tl.cumsum(keep, axis=0) - keep
    base = tl.abs(tl.atomic_add(cursor, tl.sum(keep, axis=0))) % n
    d = tl.arange(0, D)
    v = tl.load(x + r[:, None] * D + d[None, :], mask=(keep > 0)[:, None], other=0.0)
    to = (base + at) % n
    tl.store(out + to[:, None] * D + d[None, :], v, mask=(keep > 0)[:, None])


@triton.jit
def padded_rows(values, starts, out, L, D: tl.constexpr, BL: tl.constexpr):
    """Ragged rows behind each other put into [B, L, D]."""
    b = tl.program_id(0)
    i = tl.program_id(1) * BL + tl.arange(0, BL)
    first = tl.load(starts + b)
    last = tl.load(starts + b + 1)
    d = tl.arange(0, D)
    ok = (first + i < last)[:, None]
    v = tl.load(values + (first + i)[:, None].to(tl.int64) * D + d[None, :], mask=ok, other=0.0)
    tl.store(out + (b * L + i)[:, None] * D + d[None, :], v, mask=(i < L)[:, None])


@triton.jit
def weighed_bags(table, ids, weight, out, L, D: tl.constexpr):
    """Bags of L rows of a table, each with a weight."""
    b = tl.program_id(0)
    d = tl.arange(0, D)
    acc = tl.zeros((D,), tl.float32)
    for j in range(L):
        k = tl.load(ids + b * L + j).to(tl.int64)
        acc += tl.load(weight + b * L + j) * tl.load(table + k * D + d).to(tl.float32)
    tl.store(out + b * D + d, acc.to(tl.float16))


@triton.jit
def bag_tile(table, ids, out, L, D: tl.constexpr, BL: tl.constexpr):
    """The largest of the rows of a bag, a tile of them at a time, ids below zero left out."""
    b = tl.program_id(0)
    d = tl.arange(0, D)
    best = tl.full((D,), -float("inf"), tl.float32)
    for start in range(0, L, BL):
        j = start + tl.arange(0, BL)
        k = tl.load(ids + b * L + j, mask=j < L, other=-1)
        v = tl.load(table + k[:, None] * D + d[None, :], mask=(k >= 0)[:, None], other=-float("inf")).to(tl.float32)
        best = tl.maximum(best, tl.max(v, axis=0))
    tl.store(out + b * D + d, best)


@triton.jit
def rows_by_token(g, ids, table, D: tl.constexpr):
    """Gradients of rows added to those of a table, a row a program."""
    t = tl.program_id(0)
    k = tl.load(ids + t).to(tl.int64)
    d = tl.arange(0, D)
    tl.atomic_add(table + k * D + d, tl.load(g + t * D + d).to(tl.float32), sem="relaxed")


@triton.jit
def point_grid(points, feature, grid_sum, n, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Points [n, 3] that add to a cell of a grid if they are inside."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(points + i * 3, mask=m, other=9.0)
    y = tl.load(points + i * 3 + 1, mask=m, other=9.0)
    z = tl.load(points + i * 3 + 2, mask=m, other=9.0)
    ok = m & (tl.abs(x) < 2.0) & (tl.abs(y) < 2.0) & (tl.abs(z) < 2.0)
    cell = ((x + 2.0) * (SIDE / 4)).to(tl.int32) * SIDE * SIDE
    cell += ((y + 2.0) * (SIDE / 4)).to(tl.int32) * SIDE + ((z + 2.0) * (SIDE / 4)).to(tl.int32)
    tl.atomic_add(grid_sum + cell, tl.load(feature + i, mask=m, other=0.0), mask=ok)


@triton.jit
def pair_counts(a, b, y, n, A: tl.constexpr, BLOCK: tl.constexpr):
    """A confusion matrix of labels."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    p = tl.load(a + i, mask=m, other=0)
    q = tl.load(b + i, mask=m, other=0)
    tl.atomic_add(y + p * A + q, 1, mask=m & (p != 255))


@triton.jit
def filter_bits(keys, words, n, WORDS: tl.constexpr, HASHES: tl.constexpr, BLOCK: tl.constexpr):
    """Keys put into a filter of bits: some hashes each."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(keys + i, mask=i < n, other=0).to(tl.uint32, bitcast=True)
    for j in tl.static_range(HASHES):
        h = (k ^ (k >> 15)) * (0x85EBCA6B + 2 * j)
        h = (h ^ (h >> 13)) * 0xC2B2AE35
        bit = (h >> 5) % (WORDS * 32)
        tl.atomic_or(words + bit // 32, (1 << (bit % 32)).to(tl.int32), mask=i < n, sem="relaxed")


@triton.jit
def best_of_segment(score, segment, best, n, BLOCK: tl.constexpr):
    """The largest score of each segment with its place, packed into 64 bits."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(score + i, mask=i < n, other=0.0)
    seg = tl.load(segment + i, mask=i < n, other=0)
    key = ((tl.abs(s) * 1000000.0).to(tl.int64) << 32) | i.to(tl.int64)
    tl.atomic_max(best + seg, key, mask=i < n)


@triton.jit
def lowest_of_neighbours(src, dst, label, n, BLOCK: tl.constexpr):
    """Labels lowered along edges."""
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = e < n
    a = tl.load(src + e, mask=m, other=0)
    b = tl.load(dst + e, mask=m, other=0)
    tl.atomic_min(label + b, tl.load(label + a, mask=m, other=0), mask=m)


@triton.jit
def search_sorted(keys, table, y, n, m, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Places of keys in a sorted table, by halving."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(keys + i, mask=i < n, other=0.0)
    lo = tl.zeros((BLOCK,), tl.int32)
    hi = tl.zeros((BLOCK,), tl.int32) + m
    for _ in range(STEPS):
        mid = (lo + hi) // 2
        v = tl.load(table + mid, mask=mid < m, other=float("inf"))
        right = v < k
        lo = tl.where(right, mid + 1, lo)
        hi = tl.where(right, hi, mid)
    tl.store(y + i, lo, mask=i < n)


@triton.jit
def neighbour_means(x, neighbours, out, n, EACH: tl.constexpr, D: tl.constexpr, R: tl.constexpr):
    """Means over EACH neighbours' rows of D halves, R nodes a program."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    d = tl.arange(0, D)
    acc = tl.zeros((R, D), tl.float32)
    for j in range(EACH):
        k = tl.load(neighbours + r * EACH + j, mask=r < n, other=0)
        acc += tl.load(x + k[:, None] * D + d[None, :], mask=(r < n)[:, None], other=0.0).to(tl.float32)
    tl.store(out + r[:, None] * D + d[None, :], (acc / EACH).to(tl.float16), mask=(r < n)[:, None])


@triton.jit
def edge_softmax(score, starts, out, n, MOST: tl.constexpr):
    """Softmax over the edges of a node, its edges between two pointers, at most MOST."""
    v = tl.program_id(0)
    first = tl.load(starts + v)
    last = tl.load(starts + v + 1)
    e = first + tl.arange(0, MOST)
    s = tl.load(score + e, mask=e < last, other=-float("inf"))
    p = tl.exp(s - tl.max(s, axis=0))
    tl.store(out + e, p / tl.sum(p, axis=0), mask=e < last)


def programs() -> tuple:
    """Kernel, sizes, how they are launched."""
    b = Buffer

    def grid(n, BLOCK):
        return (cdiv(n, BLOCK),)

    def histogram(images, pixels, BLOCK, order, num_warps):
        x, y = b("pix", "int32", images * pixels, 256, order), b("counts", "int32", images * 256)
        return (
            Launch(zeros, (y, images * 256), {"BLOCK": 1024}, (cdiv(images * 256, 1024),), 4),
            Launch(
                image_histograms,
                (x, y, pixels),
                {"BINS": 256, "BLOCK": BLOCK},
                (cdiv(pixels, BLOCK), images),
                num_warps,
            ),
        )

    def bitonic(n, BLOCK, num_warps):
        x, steps = b("x", "float32", n), []
        run = 2
        while run <= n:
            apart = run // 2
            while apart:
                steps.append(Launch(exchange_step, (x, n, apart, run), {"BLOCK": BLOCK}, grid(n, BLOCK), num_warps))
                apart //= 2
            run *= 2
        return tuple(steps)

    return (
        (image_histograms, ((16, 65536, 1024, "random", 4), (64, 262144, 1024, "random", 4), (16, 65536, 1024, "few", 4)), histogram),
        (
            weights_by_group, ((100000, 200, 512, 4), (10000000, 50000, 1024, 4), (4000000, 40, 1024, 4)),
            lambda n, G, BLOCK, num_warps: Launch(
                weights_by_group, (b("x", "float32", n), b("g", "int32", n, G), b("y", "float32", G), n),
                {"BLOCK": BLOCK}, grid(n, BLOCK), num_warps),
        ),
        (
            held_group_sums, ((200000, 8, 512, 264, 4), (30000000, 16, 256, 1056, 4)),
            lambda n, G, BLOCK, programs, num_warps: Launch(
                held_group_sums,
                (b("x", "float32", n), b("g", "int32", n, G), b("y", "float32", G), b("counts", "int32", G), n),
                {"GROUPS": G, "BLOCK": BLOCK}, (programs,), num_warps),
        ),
        (
            places_in_expert, ((2048, 16, 64, 4), (32768, 64, 128, 8)),
            lambda n, E, BLOCK, num_warps: Launch(
                places_in_expert, (b("which", "int32", n, E), b("rank", "int32", n), b("counts", "int32", E), n),
                {"E": E, "BLOCK": BLOCK}, (1,), num_warps),
        ),
        (
            sorted_rows, ((128, 500, 4), (4096, 2000, 8)),
            lambda rows, cols, num_warps: Launch(
                sorted_rows, (b("x", "float32", rows * cols), b("y", "float32", rows * cols), b("z", "float32", rows), cols),
                {"BLOCK": 1 << (cols - 1).bit_length()}, (rows,), num_warps),
        ),
        (exchange_step, ((1 << 12, 256, 4), (1 << 22, 1024, 4)), bitonic),
        (
            digit_counts, ((100000, 512, 4), (20000000, 1024, 4)),
            lambda n, BLOCK, num_warps: Launch(
                digit_counts, (b("keys", "int32", n, 1 << 30), b("counts", "int32", 16 * cdiv(n, BLOCK)), n),
                {"SHIFT": 8, "BLOCK": BLOCK}, grid(n, BLOCK), num_warps),
        ),
        (
            kept_rows, ((8192, 64, 32, 4), (1000000, 128, 64, 4)),
            lambda n, D, R, num_warps: Launch(
                kept_rows,
                (b("x", "float32", n * D), b("score", "float32", n), b("y", "float32", n * D), b("cursor", "int32", 1), n, 0.3),
                {"D": D, "R": R}, grid(n, R), num_warps),
        ),
        (
            padded_rows, ((32, 128, 64, 16, 4), (512, 1024, 128, 32, 4)),
            lambda B, L, D, BL, num_warps: Launch(
                padded_rows,
                (b("x", "float16", B * L * D), b("starts", "int32", B + 1, L * 3 // 4, "segments"), b("y", "float16", B * L * D), L),
                {"D": D, "BL": BL}, (B, L // BL), num_warps),
        ),
        (
            weighed_bags, ((512, 32, 64, 10000, 1), (65536, 20, 128, 1000000, 4)),
            lambda B, L, D, V, num_warps: Launch(
                weighed_bags,
                (b("x", "float16", V * D), b("ids", "int64", B * L, V), b("weight", "float32", B * L), b("y", "float16", B * D), L),
                {"D": D}, (B,), num_warps),
        ),
        (
            bag_tile, ((512, 50, 64, 20000, 16, 4), (32768, 100, 64, 500000, 32, 4)),
            lambda B, L, D, V, BL, num_warps: Launch(
                bag_tile, (b("x", "float16", V * D), b("ids", "int64", B * L, V), b("y", "float32", B * D), L),
                {"D": D, "BL": BL}, (B,), num_warps),
        ),
        (
            rows_by_token, ((2000, 128, 5000, 4), (131072, 256, 50000, 4)),
            lambda n, D, V, num_warps: Launch(
                rows_by_token, (b("x", "float16", n * D), b("ids", "int64", n, V), b("y", "float32", V * D)),
                {"D": D}, (n,), num_warps),
        ),
        (
            point_grid, ((50000, 32, 256, 4), (5000000, 64, 512, 4)),
            lambda n, SIDE, BLOCK, num_warps: Launch(
                point_grid, (b("x", "float32", 3 * n), b("f", "float32", n), b("y", "float32", SIDE**3), n),
                {"SIDE": SIDE, "BLOCK": BLOCK}, grid(n, BLOCK), num_warps),
        ),
        (
            pair_counts, ((200000, 19, 512, 4), (16000000, 150, 1024, 4)),
            lambda n, A, BLOCK, num_warps: Launch(
                pair_counts, (b("p", "int32", n, A), b("q", "int32", n, A), b("counts", "int32", A * A), n),
                {"A": A, "BLOCK": BLOCK}, grid(n, BLOCK), num_warps),
        ),
        (
            filter_bits, ((50000, 1 << 14, 3, 256, 4), (4000000, 1 << 20, 4, 512, 4)),
            lambda n, WORDS, HASHES, BLOCK, num_warps: Launch(
                filter_bits, (b("keys", "int32", n, 1 << 30), b("words", "int32", WORDS), n),
                {"WORDS": WORDS, "HASHES": HASHES, "BLOCK": BLOCK}, grid(n, BLOCK), num_warps),
        ),
        (
            best_of_segment, ((50000, 500, 256, 4), (8000000, 20000, 1024, 4)),
            lambda n, S, BLOCK, num_warps: Launch(
                best_of_segment, (b("x", "float32", n), b("g", "int32", n, S), b("best", "int64", S), n),
                {"BLOCK": BLOCK}, grid(n, BLOCK), num_warps),
        ),
        (
            lowest_of_neighbours, ((40000, 5000, 256, 4), (10000000, 1000000, 512, 4)),
            lambda n, V, BLOCK, num_warps: Launch(
                lowest_of_neighbours, (b("p", "int32", n, V), b("q", "int32", n, V), b("label", "int32", V), n),
                {"BLOCK": BLOCK}, grid(n, BLOCK), num_warps),
        ),
        (
            search_sorted, ((20000, 1000, 10, 256, 4), (8000000, 1 << 20, 20, 512, 4)),
            lambda n, m, STEPS, BLOCK, num_warps: Launch(
                search_sorted, (b("x", "float32", n), b("table", "float32", m), b("place", "int32", n), n, m),
                {"STEPS": STEPS, "BLOCK": BLOCK}, grid(n, BLOCK), num_warps),
        ),
        (
            neighbour_means, ((3000, 16, 64, 8, 4), (200000, 10, 128, 16, 4)),
            lambda n, EACH, D, R, num_warps: Launch(
                neighbour_means, (b("x", "float16", n * D), b("q", "int32", n * EACH, n), b("y", "float16", n * D), n),
                {"EACH": EACH, "D": D, "R": R}, grid(n, R), num_warps),
        ),
        (
            edge_softmax, ((4000, 12, 64, 1), (500000, 20, 128, 1)),
            lambda n, EACH, MOST, num_warps: Launch(
                edge_softmax,
                (b("x", "float32", n * EACH), b("starts", "int32", n + 1, EACH, "segments"), b("y", "float32", n * EACH), n),
                {"MOST": MOST}, (n,), num_warps),
        ),
    )  # fmt: skip
