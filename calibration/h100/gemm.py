"""Matrix products: pipeline stages, tiny and huge problems, small tiles, split-K, upcasts, operand layouts.

A [M, K] is row-major. B is K-major (stored [N, K]) or N-major (stored [K, N]). C [M, N] is row-major: fp16 for fp16 and
fp16_to_* modes, bf16 for bf16, int32 for int8, fp32 otherwise.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import triton
import triton.language as tl
from case import BYTES, Buffer, Case, Launch, cdiv, micro

# mode: operand dtype, dtype the loaded tile is cast to, input_precision, accumulator, output dtype
MODES = {
    "fp16": ("float16", None, "tf32", tl.float32, "float16"),
    "bf16": ("bfloat16", None, "tf32", tl.float32, "bfloat16"),
    "tf32": ("float32", None, "tf32", tl.float32, "float32"),
    "ieee": ("float32", None, "ieee", tl.float32, "float32"),
    "int8": ("int8", None, "tf32", tl.int32, "int32"),
    "int8_to_fp16": ("int8", tl.float16, "tf32", tl.float32, "float32"),
    "fp16_to_tf32": ("float16", tl.float32, "tf32", tl.float32, "float16"),
    "fp16_to_ieee": ("float16", tl.float32, "ieee", tl.float32, "float16"),
}

DRAWN = 1300  # configurations drawn at random, the last of `cases()`


@triton.jit
def gemm(
    a, b, c, M, N, K, stride_am, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ORDER: tl.constexpr,
    CAST: tl.constexpr, PRECISION: tl.constexpr, ACC: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """One BM x BN tile of C per program; ORDER "rows" walks N fastest, "columns" M fastest, GROUP > 1 in row groups."""
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    if GROUP > 1:
        group = pid // (GROUP * tiles_n)
        rows = min(tiles_m - group * GROUP, GROUP)
        pid_m = group * GROUP + (pid % (GROUP * tiles_n)) % rows
        pid_n = (pid % (GROUP * tiles_n)) // rows
    elif ORDER == "rows":
        pid_m = pid // tiles_n
        pid_n = pid % tiles_n
    else:
        pid_m = pid % tiles_m
        pid_n = pid // tiles_m
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_tile = a + m[:, None] * stride_am + k[None, :]
    b_tile = b + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=ACC)
    for start in range(0, K, BK):
        if MASKED:
            x = tl.load(a_tile, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0)
            y = tl.load(b_tile, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0)
        else:
            x = tl.load(a_tile)
            y = tl.load(b_tile)
        if CAST is not None:
            x = x.to(CAST)
            y = y.to(CAST)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=ACC)
        a_tile += BK
        b_tile += BK * stride_bk
    c_tile = c + m[:, None] * stride_cm + n[None, :] * stride_cn
    if MASKED:
        tl.store(c_tile, acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))
    else:
        tl.store(c_tile, acc.to(c.dtype.element_ty))


@triton.jit
def gemm_split_k(
    a, b, c, M, N, K, stride_am, stride_bk, stride_bn, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr, ATOMIC: tl.constexpr,
):  # fmt: skip
    """Program (tile, s) sums the s-th part of K, then adds it to C atomically or writes it to partial plane s of C."""
    tiles_n = tl.cdiv(N, BN)
    pid_m = tl.program_id(0) // tiles_n
    pid_n = tl.program_id(0) % tiles_n
    part = tl.program_id(1)
    depth = K // SPLIT_K
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = part * depth + tl.arange(0, BK)
    a_tile = a + m[:, None] * stride_am + k[None, :]
    b_tile = b + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, depth, BK):
        acc = tl.dot(tl.load(a_tile), tl.load(b_tile), acc)
        a_tile += BK
        b_tile += BK * stride_bk
    c_tile = c + m[:, None] * stride_cm + n[None, :]
    if ATOMIC:
        tl.atomic_add(c_tile, acc, sem="relaxed")
    else:
        tl.store(c_tile + part * M * N, acc)


@triton.jit
def sum_planes(partial, out, numel, PLANES: tl.constexpr, BLOCK: tl.constexpr):
    """out [numel] = sum over the PLANES planes of partial [PLANES, numel] (fp32 in, dtype of `out` out)."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for plane in range(PLANES):
        total += tl.load(partial + plane * numel + offset)
    tl.store(out + offset, total.to(out.dtype.element_ty))


def _columns(mode, m, n, k, tile, warps, stages, layout, group, variant):
    names = ["mode", "M", "N", "K", "BM", "BN", "BK", "num_warps", "num_stages", "b_layout", "group", "variant"]
    return dict(zip(names, (mode, m, n, k, *tile, warps, stages, layout, group, variant), strict=True))


def gemm_case(
    mode, shape, tile, warps=4, stages=3, layout="K-major", group=1, masked=None, order="rows", c_rows=True
) -> Case:
    """One product. `masked` None masks the edges only where the tile does not divide the shape; `c_rows` False stores C
    column-major, against the grain of the accumulator."""
    (m, n, k), (bm, bn, bk) = shape, tile
    dtype, cast, precision, acc, out = MODES[mode]
    masked = bool(m % bm or n % bn or k % bk) if masked is None else masked
    stride_bk, stride_bn = (1, k) if layout == "K-major" else (n, 1)
    stride_c = (n, 1) if c_rows else (1, m)
    buffers = (Buffer("a", dtype, m * k), Buffer("b", dtype, n * k), Buffer("c", out, m * n))
    constants = {
        "BM": bm,
        "BN": bn,
        "BK": bk,
        "GROUP": group,
        "ORDER": order,
        "CAST": cast,
        "PRECISION": precision,
        "ACC": acc,
        "MASKED": masked,
    }
    launch = Launch(
        gemm,
        (*buffers, m, n, k, k, stride_bk, stride_bn, *stride_c),
        constants,
        (cdiv(m, bm) * cdiv(n, bn),),
        warps,
        stages,
    )
    variant = (
        ("masked" if masked else "plain")
        + ("" if order == "rows" else "-columns-first")
        + ("" if c_rows else "-c-by-columns")
    )
    params = _columns(mode, m, n, k, tile, warps, stages, layout, group, variant)
    return Case("gemm", "gemm", params, (launch,), sum(x.nbytes for x in buffers), 2 * m * n * k)


def split_k_case(shape, tile, split, reduce, warps=4, stages=3, layout="K-major", dtype="float16") -> Case:
    """Split-K product. `reduce`: "atomic" (fp32 C, zeroing not included), "buffer" (partial planes only), or
    "buffer+sum" (partial planes and the kernel that sums them, two launches)."""
    (m, n, k), (bm, bn, bk) = shape, tile
    stride_bk, stride_bn = (1, k) if layout == "K-major" else (n, 1)
    planes = 1 if reduce == "atomic" else split
    buffers = (Buffer("a", dtype, m * k), Buffer("b", dtype, n * k), Buffer("partial", "float32", planes * m * n))
    constants = {"BM": bm, "BN": bn, "BK": bk, "SPLIT_K": split, "ATOMIC": reduce == "atomic"}
    grid = (cdiv(m, bm) * cdiv(n, bn), split)
    launches = [Launch(gemm_split_k, (*buffers, m, n, k, k, stride_bk, stride_bn, n), constants, grid, warps, stages)]
    if reduce == "buffer+sum":
        out = Buffer("c", dtype, m * n)
        launches.append(
            Launch(sum_planes, (buffers[2], out, m * n), {"PLANES": split, "BLOCK": 512}, (cdiv(m * n, 512),))
        )
    variant = f"split_k={split}-{reduce}"
    params = _columns("fp16", m, n, k, tile, warps, stages, layout, 1, variant)
    return Case("gemm", "gemm", params, tuple(launches), sum(x.nbytes for x in buffers), 2 * m * n * k)


def sum_planes_case(planes, numel, block=512) -> Case:
    """The reduction of split-K partial planes alone."""
    source, out = Buffer("partial", "float32", planes * numel), Buffer("c", "float16", numel)
    launch = Launch(sum_planes, (source, out, numel), {"PLANES": planes, "BLOCK": block}, (cdiv(numel, block),))
    params = {"planes": planes, "n": numel, "BLOCK": block}
    return micro("sum_planes", params, launch, bytes=source.nbytes + out.nbytes, flops=planes * numel)


def _stages() -> Iterator[Case]:
    shapes = [(768, 3072, 1536), (1536, 1536, 1536), (3072, 3072, 3072), (256, 6144, 2048)]
    tiles = [((64, 64, 32), 4), ((64, 64, 64), 4), ((128, 64, 64), 4), ((128, 128, 32), 4), ((128, 128, 64), 8)]
    for stages, (tile, warps), shape in itertools.product((1, 2, 3, 4, 5), tiles, shapes):
        yield gemm_case("fp16", shape, tile, warps, stages)
        if stages != 5 and tile[2] == 64:
            yield gemm_case("fp16", shape, tile, warps, stages, "N-major")
    for stages, shape in itertools.product((1, 2, 3, 4), shapes):
        yield gemm_case("fp16", shape, (128, 256, 64), 8, stages)
        yield gemm_case("fp16", shape, (128, 128, 64), 4, stages)
    for stages, (tile, warps), shape in itertools.product((1, 2, 3, 4), (tiles[1], tiles[4]), shapes):
        yield gemm_case("bf16", shape, tile, warps, stages)
    int8 = [((64, 64, 64), 4), ((64, 128, 128), 4), ((128, 128, 128), 8)]
    tf32 = [((64, 64, 32), 4), ((128, 64, 32), 4), ((128, 128, 32), 8)]
    for stages, shape, index in itertools.product((1, 2, 3, 4, 5), shapes, range(3)):
        yield gemm_case("int8", shape, *int8[index], stages)
        yield gemm_case("tf32", shape, *tf32[index], stages)


def _tiny() -> Iterator[Case]:
    tiles = [(16, 16, 32), (32, 32, 32), (64, 64, 32), (128, 128, 64)]
    for edge, k, tile in itertools.product((96, 160, 256, 384, 512, 768), (192, 512, 1024), tiles):
        yield gemm_case("fp16", (edge, edge, k), tile)
        if k == 512 and tile[0] in (32, 64):
            yield gemm_case("fp16", (edge, edge, k), tile, 4, 1)
            yield gemm_case("tf32", (edge, edge, k), tile)


def _small_tiles() -> Iterator[Case]:
    tiles = [(32, 32, 32), (32, 32, 64), (16, 32, 32), (16, 64, 64), (16, 128, 64), (16, 128, 128), (32, 128, 64)]
    shapes = [(64, 3072, 3072), (1536, 1536, 768), (3072, 3072, 1536)]
    for tile, shape, warps in itertools.product(tiles, shapes, (1, 2, 4, 8)):
        yield gemm_case("fp16", shape, tile, warps)
    for tile, warps in itertools.product(tiles[:3], (1, 2, 4, 8)):
        yield gemm_case("tf32", shapes[1], tile, warps)
        if tile[2] == 32:
            yield gemm_case("int8", shapes[1], (tile[0], tile[1], 64), warps)


def _large() -> Iterator[Case]:
    shapes = [(8192, 8192, 2048), (12288, 12288, 1024), (12288, 3072, 3072), (2048, 12288, 2048), (6144, 6144, 6144)]
    tiles = [((128, 128, 64), 4), ((128, 128, 64), 8), ((128, 256, 64), 8), ((64, 64, 64), 4), ((32, 32, 32), 4)]
    for shape, (tile, warps), group in itertools.product(shapes, tiles, (1, 8)):
        yield gemm_case("fp16", shape, tile, warps, 3, "K-major", group)
        yield gemm_case("fp16", shape, tile, warps, 3, "N-major", group)
        if tile[0] == 64 and group == 1:
            yield gemm_case("fp16", shape, tile, warps, 3, "N-major", order="columns")
        if tile[0] == 128 and warps == 8 and shape[0] == 8192:
            yield gemm_case("bf16", shape, tile, warps, 3, "K-major", group)
    for shape, group in itertools.product(shapes[1:4], (1, 8)):
        yield gemm_case("tf32", shape, (128, 128, 32), 8, 3, "K-major", group)
        yield gemm_case("int8", shape, (128, 128, 128), 8, 3, "K-major", group)


def _skinny() -> Iterator[Case]:
    tiles = [(16, 64, 64), (16, 128, 64), (16, 64, 128), (16, 32, 128)]
    for n, k, tile in itertools.product((768, 1536, 3072, 6144), (3072, 6144, 12288, 24576), tiles):
        yield gemm_case("fp16", (16, n, k), tile)
    for n, k, stages in itertools.product((768, 3072), (3072, 12288, 24576), (1, 2, 4)):
        yield gemm_case("fp16", (16, n, k), (16, 64, 64), 4, stages)
        yield gemm_case("fp16", (16, n, k), (16, 64, 64), 4, stages, "N-major")


def _split_k() -> Iterator[Case]:
    configurations = [((16, 3072, 12288), (16, 64, 128)), ((64, 1536, 12288), (64, 64, 64))]
    configurations += [((128, 768, 24576), (128, 64, 64)), ((16, 768, 24576), (16, 128, 64))]
    for (shape, tile), split in itertools.product(configurations, (2, 4, 8, 16, 32)):
        for reduce in ("atomic", "buffer", "buffer+sum"):
            yield split_k_case(shape, tile, split, reduce)
    for planes, numel in itertools.product((4, 16, 32), (12288, 98304, 1048576)):
        yield sum_planes_case(planes, numel)


def _upcasts() -> Iterator[Case]:
    shapes = [(64, 3072, 3072), (768, 3072, 1536), (3072, 3072, 3072)]
    tiles = [((16, 64, 64), 4), ((32, 64, 64), 4), ((64, 64, 64), 4), ((128, 128, 64), 8)]
    for mode, layout, shape, (tile, warps), stages in itertools.product(
        ("int8_to_fp16", "fp16_to_tf32"), ("K-major", "N-major"), shapes, tiles, (1, 3)
    ):
        yield gemm_case(mode, shape, tile, warps, stages, layout)
    fma = [((16, 16, 32), 4), ((32, 32, 32), 4), ((64, 32, 32), 4), ((64, 64, 32), 4), ((64, 64, 16), 4)]
    for (tile, warps), shape, stages in itertools.product(fma, [(384, 1536, 768), (768, 3072, 1536)], (1, 3)):
        yield gemm_case("ieee", shape, tile, warps, stages)
        yield gemm_case("ieee", shape, tile, warps, stages, "N-major")
        if tile[0] == 64 and stages == 3:
            yield gemm_case("fp16_to_ieee", shape, tile, warps, stages)


def _masked() -> Iterator[Case]:
    shapes = [(768, 3072, 1536), (3072, 3072, 3072), (16, 3072, 12288)]
    for shape, layout in itertools.product(shapes, ("K-major", "N-major")):
        for tile in ((16, 64, 64),) if shape[0] == 16 else ((64, 64, 64), (128, 128, 64), (32, 32, 32)):
            yield gemm_case("fp16", shape, tile, 4, 3, layout, masked=True)
    for shape, tile in itertools.product([(1000, 3000, 1500), (100, 2000, 900)], [(64, 64, 64), (128, 128, 64)]):
        yield gemm_case("fp16", shape, tile)
    tiles = [((32, 32, 32), 4), ((64, 64, 64), 4), ((128, 128, 64), 8), ((16, 128, 64), 4)]
    for shape, (tile, warps), mode in itertools.product(
        [(768, 3072, 192), (768, 3072, 1536), (3072, 3072, 768)], tiles, ("fp16", "tf32")
    ):
        yield gemm_case(mode, shape, tile, warps, c_rows=False)
        yield gemm_case(mode, shape, tile, warps)
    anchors = [((2048, 2048, 2048), (128, 128, 64), 8), ((2048, 2048, 2048), (64, 64, 64), 4)]
    anchors += [((16, 4096, 4096), (16, 64, 128), 4), ((4096, 4096, 4096), (128, 256, 64), 8)]
    for shape, tile, warps in anchors:  # the same rows as h100-gemm.csv: they tie the two files together
        yield gemm_case("fp16", shape, tile, warps)


def _random(count: int) -> Iterator[Case]:
    """Configurations drawn at random (fixed seed), so that no corner of the space is left to a grid's choice."""
    draw = random.Random(20261128)
    modes = ["fp16"] * 6 + ["bf16", "tf32", "tf32", "int8", "int8_to_fp16", "fp16_to_tf32", "ieee"]
    seen: set[str] = set()
    while len(seen) < count:
        mode = draw.choice(modes)
        shape = tuple(int(2 ** draw.uniform(low, high) // 16 * 16) for low, high in ((4, 13), (5, 13), (7, 13)))
        tile = (draw.choice((16, 32, 64, 128, 256)), draw.choice((16, 32, 64, 128, 256)), draw.choice((32, 64, 128)))
        warps, stages = draw.choice((2, 4, 4, 8, 8)), draw.choice((1, 2, 3, 3, 4, 5))
        shared = (tile[0] + tile[1]) * tile[2] * BYTES[MODES[mode][0]] * stages
        registers = tile[0] * tile[1] // (warps * 32)
        wasteful = tile[0] >= 2 * max(shape[0], 16) or tile[1] >= 2 * shape[1]
        flops = 2 * shape[0] * shape[1] * shape[2]
        if mode == "ieee" and (flops > 2e10 or tile[0] * tile[1] > 4096 or tile[2] > 64):
            continue
        if shared > 220_000 or not 4 <= registers <= 256 or wasteful or flops > 2e11 * tile[0] * tile[1] / 2**12:
            continue
        layout, group = draw.choice(("K-major", "N-major")), draw.choice((1, 1, 8))
        masked = True if draw.random() < 0.3 else None
        case = gemm_case(mode, shape, tile, warps, stages, layout, group, masked)
        if case.key not in seen:
            seen.add(case.key)
            yield case


def cases() -> list[Case]:
    """All products, most useful first."""
    parts = (_stages(), _skinny(), _tiny(), _large(), _small_tiles(), _split_k(), _masked(), _upcasts(), _random(DRAWN))
    return list({case.key: case for part in parts for case in part}.values())
