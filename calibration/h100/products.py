"""Products that are not one large matrix product: persistent programs, many small ones, unpacked weights, experts, convolutions by
taps, attention of a single query."""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro

SMS = 132


@triton.jit
def persistent_product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """c [M, N] = a [M, K] b [K, N]: each program walks every so many tiles, in groups of rows."""
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        group = tile // (GROUP * tiles_n)
        first = group * GROUP
        size = min(tiles_m - first, GROUP)
        m = (first + (tile % (GROUP * tiles_n)) % size) * BM + tl.arange(0, BM)
        n = ((tile % (GROUP * tiles_n)) // size) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            x = tl.load(a + m[:, None] * K + k[None, :])
            acc = tl.dot(x, tl.load(b + k[:, None] * N + n[None, :]), acc)
        tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def small_products(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BK: tl.constexpr, EXACT: tl.constexpr):
    """c[i] = a[i] b[i], a program an i."""
    base = tl.program_id(0)
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + base * M * K + m[:, None] * K + k[None, :])
        y = tl.load(b + base * K * N + k[:, None] * N + n[None, :])
        if EXACT:
            acc = tl.dot(x, y, acc, input_precision="ieee")
        else:
            acc = tl.dot(x, y, acc)
    tl.store(c + base * M * N + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def unpacked_product(a, packed, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c [M, N] = a [M, K] w [K, N], eight 4-bit weights along K in each int32 of [K / 8, N], a scale for each column."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        word = tl.load(packed + (k[:, None] // 8) * N + n[None, :])
        weight = ((word >> ((k[:, None] % 8) * 4)) & 15) - 8
        acc = tl.dot(x, weight.to(x.dtype), acc)
    scale = tl.load(scales + n)
    out = acc * scale[None, :].to(tl.float32)
    tl.store(c + m[:, None] * N + n[None, :], out.to(c.dtype.element_ty), mask=m[:, None] < M)


@triton.jit
def byte_product(a, w, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c [M, N] = a [M, K] w [K, N] with weights of a byte, cast in the loop, and a scale for each column."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        acc = tl.dot(x, tl.load(w + k[:, None] * N + n[None, :]).to(x.dtype), acc)
    out = acc * tl.load(scales + n)[None, :].to(tl.float32)
    tl.store(c + m[:, None] * N + n[None, :], out.to(c.dtype.element_ty), mask=m[:, None] < M)


@triton.jit
def expert_product(a, w, expert, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Rows in blocks of BM, each block with the weights [K, N] of the expert that it names."""
    block = tl.program_id(0)
    weights = w + tl.load(expert + block) * K * N
    m = block * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :])
        acc = tl.dot(x, tl.load(weights + k[:, None] * N + n[None, :]), acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def conv_by_taps(x, w, y, C, H, W, OUT, KS: tl.constexpr, BO: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr):
    """Same-padded convolution of [B, C, H, W] with w [O, C, KS, KS]: a dot of BC channels for each tap."""
    pixel = tl.program_id(0) * BP + tl.arange(0, BP)
    out = tl.program_id(1) * BO + tl.arange(0, BO)
    batch = tl.program_id(2)
    row = pixel // W
    column = pixel % W
    acc = tl.zeros((BO, BP), dtype=tl.float32)
    for r in range(KS):
        for s in range(KS):
            i = row + r - KS // 2
            j = column + s - KS // 2
            inside = (i >= 0) & (i < H) & (j >= 0) & (j < W)
            for start in range(0, C, BC):
                channel = start + tl.arange(0, BC)
                weight = tl.load(w + ((out[:, None] * C + channel[None, :]) * KS + r) * KS + s)
                place = ((batch * C + channel[:, None]) * H + i[None, :]) * W + j[None, :]
                acc = tl.dot(weight, tl.load(x + place, mask=inside[None, :], other=0.0), acc)
    target = y + (batch * OUT + out[:, None]) * H * W + pixel[None, :]
    tl.store(target, acc.to(y.dtype.element_ty), mask=pixel[None, :] < H * W)


@triton.jit
def conv_channels_last(x, w, y, C, H, W, OUT, KS: tl.constexpr, BP: tl.constexpr, BO: tl.constexpr, BC: tl.constexpr):
    """The same of [B, H, W, C] with w [KS, KS, C, O]."""
    pixel = tl.program_id(0) * BP + tl.arange(0, BP)
    out = tl.program_id(1) * BO + tl.arange(0, BO)
    batch = tl.program_id(2)
    row = pixel // W
    column = pixel % W
    acc = tl.zeros((BP, BO), dtype=tl.float32)
    for r in range(KS):
        for s in range(KS):
            i = row + r - KS // 2
            j = column + s - KS // 2
            inside = (i >= 0) & (i < H) & (j >= 0) & (j < W)
            for start in range(0, C, BC):
                channel = start + tl.arange(0, BC)
                place = ((batch * H + i[:, None]) * W + j[:, None]) * C + channel[None, :]
                patch = tl.load(x + place, mask=inside[:, None], other=0.0)
                weight = tl.load(w + ((r * KS + s) * C + channel[:, None]) * OUT + out[None, :])
                acc = tl.dot(patch, weight, acc)
    target = y + (batch * H * W + pixel[:, None]) * OUT + out[None, :]
    tl.store(target, acc.to(y.dtype.element_ty), mask=pixel[:, None] < H * W)


@triton.jit
def depthwise(x, w, y, C, H, W, KS: tl.constexpr, BLOCK: tl.constexpr):
    """Same-padded depthwise convolution: BLOCK pixels of one channel for each program, a scalar weight for each tap."""
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane = tl.program_id(1)
    row = pixel // W
    column = pixel % W
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for r in range(KS):
        for s in range(KS):
            i = row + r - KS // 2
            j = column + s - KS // 2
            inside = (i >= 0) & (i < H) & (j >= 0) & (j < W)
            weight = tl.load(w + (plane % C) * KS * KS + r * KS + s).to(tl.float32)
            acc += weight * tl.load(x + plane * H * W + i * W + j, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + plane * H * W + pixel, acc.to(y.dtype.element_ty), mask=pixel < H * W)


@triton.jit
def causal_conv(x, w, y, T, C, WIDTH: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
    """y [B, T, C]: each channel convolved along T with its WIDTH weights, the past alone."""
    time = tl.program_id(0) * BT + tl.arange(0, BT)
    channel = tl.program_id(1) * BC + tl.arange(0, BC)
    base = tl.program_id(2) * T * C
    acc = tl.zeros((BT, BC), dtype=tl.float32)
    for tap in tl.static_range(WIDTH):
        at = time - (WIDTH - 1) + tap
        value = tl.load(x + base + at[:, None] * C + channel[None, :], mask=(at[:, None] >= 0), other=0.0)
        acc += value.to(tl.float32) * tl.load(w + channel * WIDTH + tap).to(tl.float32)[None, :]
    tl.store(y + base + time[:, None] * C + channel[None, :], acc.to(y.dtype.element_ty))


@triton.jit
def one_query(q, k, v, o, T, D: tl.constexpr, BT: tl.constexpr):
    """Attention of one query a program over T keys, by products that are summed, with a running maximum."""
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    top = -float("inf")
    total = 0.0
    acc = tl.zeros((D,), dtype=tl.float32)
    for start in range(0, T, BT):
        t = start + tl.arange(0, BT)
        key = tl.load(k + (head * T + t[:, None]) * D + d[None, :], mask=t[:, None] < T, other=0.0).to(tl.float32)
        score = tl.sum(query[None, :] * key, axis=1) * 0.125
        score = tl.where(t < T, score, -float("inf"))
        new = tl.maximum(top, tl.max(score, axis=0))
        weight = tl.exp(score - new)
        old = tl.exp(top - new)
        value = tl.load(v + (head * T + t[:, None]) * D + d[None, :], mask=t[:, None] < T, other=0.0).to(tl.float32)
        acc = acc * old + tl.sum(weight[:, None] * value, axis=0)
        total = total * old + tl.sum(weight, axis=0)
        top = new
    tl.store(o + head * D + d, (acc / total).to(o.dtype.element_ty))


def persistent_case(shape, tile, programs, dtype="float16", warps=8, stages=3, group=8) -> Case:
    """`persistent_product` by so many programs."""
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b, c = Buffer("a", dtype, m * k), Buffer("b", dtype, k * n), Buffer("c", dtype, m * n)
    params = {"M": m, "N": n, "K": k, "BM": bm, "BN": bn, "BK": bk, "programs": programs, "dtype": dtype}
    params |= {"num_warps": warps, "num_stages": stages}
    constants = {"BM": bm, "BN": bn, "BK": bk, "GROUP": group}
    launch = Launch(persistent_product, (a, b, c, m, n, k), constants, (programs,), warps, stages)
    return micro("persistent_product", params, launch, bytes=a.nbytes + b.nbytes + c.nbytes, flops=2 * m * n * k)


def small_case(count, shape, bk, dtype, exact=False, warps=4) -> Case:
    """`count` products of one shape."""
    m, n, k = shape
    a, b, c = Buffer("a", dtype, count * m * k), Buffer("b", dtype, count * k * n), Buffer("c", dtype, count * m * n)
    params = {"count": count, "M": m, "N": n, "K": k, "BK": bk, "dtype": dtype, "exact": int(exact), "num_warps": warps}
    constants = {"M": m, "N": n, "K": k, "BK": bk, "EXACT": exact}
    launch = Launch(small_products, (a, b, c), constants, (count,), warps)
    return micro("small_products", params, launch, bytes=a.nbytes + b.nbytes + c.nbytes, flops=2 * count * m * n * k)


def narrow_case(term, shape, tile, dtype="float16", warps=4, stages=3) -> Case:
    """`unpacked_product` or `byte_product`."""
    (m, n, k), (bm, bn, bk) = shape, tile
    a, c, scales = Buffer("a", dtype, m * k), Buffer("c", dtype, m * n), Buffer("scales", dtype, n)
    packed = term == "unpacked_product"
    w = Buffer("packed", "int32", k // 8 * n) if packed else Buffer("w8", "int8", k * n)
    params = {"M": m, "N": n, "K": k, "BM": bm, "BN": bn, "BK": bk, "dtype": dtype}
    params |= {"num_warps": warps, "num_stages": stages}
    kernel = unpacked_product if packed else byte_product
    constants = {"BM": bm, "BN": bn, "BK": bk}
    launch = Launch(kernel, (a, w, scales, c, m, n, k), constants, (cdiv(m, bm), n // bn), warps, stages)
    return micro(term, params, launch, bytes=a.nbytes + w.nbytes + c.nbytes, flops=2 * m * n * k)


def expert_case(blocks, experts, n, k, tile, warps=4, stages=3) -> Case:
    """`expert_product` of so many blocks of rows."""
    bm, bn, bk = tile
    a, c = Buffer("a", "float16", blocks * bm * k), Buffer("c", "float16", blocks * bm * n)
    w, expert = Buffer("w", "float16", experts * k * n), Buffer("expert", "int32", blocks, experts, "sorted")
    params = {"count": blocks, "experts": experts, "N": n, "K": k, "BM": bm, "BN": bn, "BK": bk}
    params |= {"num_warps": warps, "num_stages": stages}
    constants = {"BM": bm, "BN": bn, "BK": bk}
    launch = Launch(expert_product, (a, w, expert, c, n, k), constants, (blocks, n // bn), warps, stages)
    return micro("expert_product", params, launch, bytes=a.nbytes + w.nbytes + c.nbytes, flops=2 * blocks * bm * n * k)


def conv_case(term, batch, channels, out, edge, ks, tile, dtype="float16", warps=4, stages=3) -> Case:
    """A convolution by `conv_by_taps` or `conv_channels_last`; `tile` is (pixels, outputs, channels)."""
    bp, bo, bc = tile
    pixels = edge * edge
    x, w = Buffer("x", dtype, batch * channels * pixels), Buffer("w", dtype, out * channels * ks * ks)
    y = Buffer("y", dtype, batch * out * pixels)
    params = {"B": batch, "C": channels, "O": out, "H": edge, "KS": ks, "BP": bp, "BO": bo, "BC": bc, "dtype": dtype}
    params |= {"num_warps": warps, "num_stages": stages}
    kernel = conv_by_taps if term == "conv_by_taps" else conv_channels_last
    constants = {"KS": ks, "BP": bp, "BO": bo, "BC": bc}
    grid = (cdiv(pixels, bp), out // bo, batch)
    launch = Launch(kernel, (x, w, y, channels, edge, edge, out), constants, grid, warps, stages)
    flops = 2 * batch * out * pixels * channels * ks * ks
    return micro(term, params, launch, bytes=x.nbytes + w.nbytes + y.nbytes, flops=flops)


def depthwise_case(batch, channels, edge, ks, block, dtype, warps=4) -> Case:
    """`depthwise` over batch x channels planes."""
    x, w = Buffer("x", dtype, batch * channels * edge * edge), Buffer("w", dtype, channels * ks * ks)
    y = Buffer("y", dtype, x.numel)
    params = {"B": batch, "C": channels, "H": edge, "KS": ks, "BLOCK": block, "dtype": dtype, "num_warps": warps}
    grid = (cdiv(edge * edge, block), batch * channels)
    launch = Launch(depthwise, (x, w, y, channels, edge, edge), {"KS": ks, "BLOCK": block}, grid, warps)
    return micro("depthwise", params, launch, bytes=2 * x.nbytes, flops=2 * x.numel * ks * ks)


def causal_case(batch, steps, channels, width, tile, dtype, warps=4) -> Case:
    """`causal_conv` of [batch, steps, channels]."""
    n = batch * steps * channels
    x, w, y = Buffer("x", dtype, n), Buffer("w", dtype, channels * width), Buffer("y", dtype, n)
    params = {"B": batch, "steps": steps, "C": channels, "width": width, "BT": tile[0], "BC": tile[1], "dtype": dtype}
    grid = (steps // tile[0], channels // tile[1], batch)
    constants = {"WIDTH": width, "BT": tile[0], "BC": tile[1]}
    launch = Launch(causal_conv, (x, w, y, steps, channels), constants, grid, warps)
    return micro("causal_conv", {**params, "num_warps": warps}, launch, bytes=2 * x.nbytes, flops=2 * n * width)


def query_case(heads, steps, d, bt, dtype="float16", warps=4, stages=3) -> Case:
    """`one_query` of so many heads."""
    q, o = Buffer("q", dtype, heads * d), Buffer("o", dtype, heads * d)
    k, v = Buffer("k", dtype, heads * steps * d), Buffer("v", dtype, heads * steps * d)
    params = {"count": heads, "steps": steps, "D": d, "BT": bt, "dtype": dtype}
    params |= {"num_warps": warps, "num_stages": stages}
    launch = Launch(one_query, (q, k, v, o, steps), {"D": d, "BT": bt}, (heads,), warps, stages)
    return micro("one_query", params, launch, bytes=k.nbytes * 2, flops=4 * heads * steps * d)


def cases() -> list[Case]:
    """All cases of this module."""
    found: list[Case] = []
    for shape, programs in itertools.product(
        ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 1024, 512), (1024, 8192, 4096)),
        (SMS, 2 * SMS),
    ):
        found.append(persistent_case(shape, (128, 128, 64), programs))
        found.append(persistent_case(shape, (64, 64, 64), programs, warps=4))
        found.append(persistent_case(shape, (128, 128, 32), programs, "float32"))
    found += [persistent_case((4096, 4096, 4096), (128, 256, 64), p, stages=s) for p in (66, SMS) for s in (2, 3)]
    sizes = ((16, 16, 16, 16), (32, 32, 32, 32), (64, 64, 64, 64), (128, 128, 128, 64), (64, 64, 256, 32), (16, 64, 512, 64),
             (32, 32, 64, 16), (128, 128, 64, 64))  # fmt: skip
    for (m, n, k, bk), count in itertools.product(sizes, (64, 1024, 8192)):
        found.append(small_case(count, (m, n, k), bk, "float16"))
        found.append(small_case(count, (m, n, k), bk, "float32"))
        found.append(small_case(count, (m, n, k), bk, "float32", exact=True))
        if m <= 32:
            found.append(small_case(count, (m, n, k), bk, "float16", warps=1))
        if count == 1024:
            found.append(small_case(count, (m, n, k), bk, "bfloat16"))
    for term, (m, n, k) in itertools.product(
        ("unpacked_product", "byte_product"),
        ((1, 4096, 4096), (16, 11008, 4096), (128, 4096, 4096), (2048, 4096, 4096)),
    ):
        tiles = ((16, 64, 64), (16, 128, 128)) if m <= 16 else ((64, 64, 64), (128, 128, 32), (128, 128, 64))
        found += [narrow_case(term, (m, n, k), tile, warps=8 if tile[0] == 128 else 4) for tile in tiles]
    for blocks, experts in ((8, 8), (64, 8), (256, 8), (128, 64)):
        for tile, warps in (((64, 64, 64), 4), ((128, 128, 64), 8), ((16, 128, 64), 4)):
            found.append(expert_case(blocks, experts, 2048, 1024, tile, warps))
    for term, (batch, channels, out, edge) in itertools.product(
        ("conv_by_taps", "conv_channels_last"),
        ((1, 64, 64, 56), (8, 64, 64, 56), (16, 128, 128, 28), (32, 256, 256, 14), (4, 32, 64, 112)),
    ):
        for ks, tile, warps in (
            (3, (64, 64, 32), 4),
            (3, (128, 64, 32), 8),
            (1, (64, 64, 32), 4),
            (5, (64, 32, 32), 4),
        ):
            found.append(conv_case(term, batch, channels, out, edge, ks, tile, warps=warps))
        found.append(conv_case(term, batch, channels, out, edge, 3, (64, 64, 32), "float32"))
    for (batch, channels, edge), ks, (block, dtype) in itertools.product(
        ((8, 64, 56), (32, 96, 112), (16, 512, 14), (4, 32, 224)),
        (3, 5, 7),
        ((256, "float32"), (1024, "float32"), (1024, "float16")),
    ):
        found.append(depthwise_case(batch, channels, edge, ks, block, dtype))
    for (batch, steps, channels), tile, dtype in itertools.product(
        ((1, 2048, 2048), (8, 2048, 1024), (16, 4096, 512)), ((64, 64), (16, 128), (32, 32)), ("float16", "float32")
    ):
        found.append(causal_case(batch, steps, channels, 4, tile, dtype))
    for heads, steps, (d, bt, warps) in itertools.product(
        (8, 32, 128, 512, 2048), (512, 4096), ((64, 32, 4), (64, 128, 4), (128, 64, 4), (128, 64, 8))
    ):
        found.append(query_case(heads, steps, d, bt, warps=warps))
    return found
