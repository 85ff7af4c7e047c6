"""Attention: a fused loop with an online softmax, and the pieces of an attention that writes its scores out.

q, k, v, o are [BH, T, D] (batch and heads flattened), row-major; scores are [BH, T, T].
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import triton
import triton.language as tl
from case import Buffer, Case, Launch, micro


@triton.jit
def flash(
    q, k, v, o, T, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr, CAST: tl.constexpr,
):  # fmt: skip
    """One BM-row block of queries per program, a loop over BN-key blocks, two dots per iteration. CAUSAL stops the loop
    at the diagonal and masks in every iteration. CAST: dtype of the operands of both dots, None for as loaded."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1).to(tl.int64) * T * D
    d = tl.arange(0, D)
    query = tl.load(q + head + rows[:, None] * D + d[None, :])
    if CAST is not None:
        query = query.to(CAST)
    top = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    end = T
    if CAUSAL:
        end = tl.minimum((tl.program_id(0) + 1) * BM, T)
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        key = tl.load(k + head + columns[None, :] * D + d[:, None])
        value = tl.load(v + head + columns[:, None] * D + d[None, :])
        if CAST is not None:
            key = key.to(CAST)
            value = value.to(CAST)
        score = tl.dot(query, key) * scale
        if CAUSAL:
            score = tl.where(rows[:, None] >= columns[None, :], score, -float("inf"))
        new_top = tl.maximum(top, tl.max(score, axis=1))
        weight = tl.exp2(score - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(weight, axis=1)
        acc = acc * shrink[:, None]
        acc = tl.dot(weight.to(value.dtype), value, acc)
        top = new_top
    tl.store(o + head + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(o.dtype.element_ty))


@triton.jit
def scores(q, k, s, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """s = q k^T * scale, one BM x BN tile per program: one dot over all of D, no loop."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    batch = tl.program_id(2).to(tl.int64)
    d = tl.arange(0, D)
    query = tl.load(q + batch * T * D + rows[:, None] * D + d[None, :])
    key = tl.load(k + batch * T * D + columns[None, :] * D + d[:, None])
    tile = s + batch * T * T + rows[:, None] * T + columns[None, :]
    tl.store(tile, (tl.dot(query, key) * scale).to(s.dtype.element_ty))


@triton.jit
def weighted_values(p, v, o, T, D: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    """o = p v, one BM x D tile per program, a loop over BK columns of p [T, T]; p is cast to the dtype of v."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    batch = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, D)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, T, BK):
        columns = start + tl.arange(0, BK)
        weight = tl.load(p + batch * T * T + rows[:, None] * T + columns[None, :])
        value = tl.load(v + batch * T * D + columns[:, None] * D + d[None, :])
        acc = tl.dot(weight.to(v.dtype.element_ty), value, acc)
    tl.store(o + batch * T * D + rows[:, None] * D + d[None, :], acc.to(o.dtype.element_ty))


def flash_case(bh, t, d, bm, bn, warps, stages, causal, dtype="float16", cast=None) -> Case:
    """Fused attention. `flops` = 4 BH T^2 D, halved where causal."""
    q, k, v, o = (Buffer(name, dtype, bh * t * d) for name in "qkvo")
    constants = {"D": d, "BM": bm, "BN": bn, "CAUSAL": causal, "CAST": tl.float32 if cast == "float32" else None}
    params = {
        "BH": bh,
        "T": t,
        "D": d,
        "BM": bm,
        "BN": bn,
        "num_warps": warps,
        "num_stages": stages,
        "causal": int(causal),
        "dtype": dtype,
    }
    if cast:
        params["cast"] = cast
    launch = Launch(flash, (q, k, v, o, t, 0.125), constants, (t // bm, bh), warps, stages)
    return micro("flash", params, launch, bytes=4 * q.nbytes, flops=4 * bh * t * t * d // (2 if causal else 1))


def scores_case(bh, t, d, bm, bn, warps, dtype, out) -> Case:
    """Materialised scores: [BH, T, T] in `out` dtype."""
    q, k, s = Buffer("q", dtype, bh * t * d), Buffer("k", dtype, bh * t * d), Buffer("s", out, bh * t * t)
    params = {"BH": bh, "T": t, "D": d, "BM": bm, "BN": bn, "num_warps": warps, "dtype": dtype, "out": out}
    launch = Launch(scores, (q, k, s, t, 0.125), {"D": d, "BM": bm, "BN": bn}, (t // bm, t // bn, bh), warps)
    return micro("attention_scores", params, launch, bytes=2 * q.nbytes + s.nbytes, flops=2 * bh * t * t * d)


def weighted_values_case(bh, t, d, bm, bk, warps, stages, p_dtype, dtype) -> Case:
    """Materialised weights times values."""
    p, v, o = Buffer("p", p_dtype, bh * t * t), Buffer("v", dtype, bh * t * d), Buffer("o", dtype, bh * t * d)
    params = {
        "BH": bh,
        "T": t,
        "D": d,
        "BM": bm,
        "BK": bk,
        "num_warps": warps,
        "num_stages": stages,
        "p_dtype": p_dtype,
        "dtype": dtype,
    }
    launch = Launch(weighted_values, (p, v, o, t), {"D": d, "BM": bm, "BK": bk}, (t // bm, bh), warps, stages)
    return micro("attention_values", params, launch, bytes=p.nbytes + 2 * v.nbytes, flops=2 * bh * t * t * d)


def _random(count: int) -> Iterator[Case]:
    """Fused configurations drawn at random (fixed seed)."""
    draw = random.Random(20261128)
    seen: set[str] = set()
    while len(seen) < count:
        t, d = draw.choice((256, 640, 896, 1280, 1920, 2560, 5120)), draw.choice((32, 64, 128))
        bh = draw.choice((1, 3, 10, 20, 50, 80))
        tile = (draw.choice((16, 32, 64, 128)), draw.choice((32, 64, 128)))
        warps, stages = draw.choice((4, 4, 8)), draw.choice((1, 2, 3, 4))
        shared = (tile[0] + 2 * tile[1] * stages) * d * 2
        if bh * t * t * d > 4e10 or shared > 220_000 or tile[0] < 16 * warps // 4:
            continue
        case = flash_case(bh, t, d, *tile, warps, stages, draw.random() < 0.5)
        if case.key not in seen:
            seen.add(case.key)
            yield case


def cases() -> list[Case]:
    """All attention cases."""
    found = []
    sizes = [(6, 768), (24, 1536), (40, 3072), (10, 6144)]
    narrow = [(64, 64, 4, 1), (64, 64, 4, 2), (64, 64, 4, 3), (64, 64, 4, 4), (128, 64, 4, 3), (128, 64, 8, 3)]
    narrow += [(128, 128, 8, 2), (128, 128, 8, 3)]
    wide = [(64, 64, 4, 1), (64, 64, 4, 2), (64, 64, 4, 3), (128, 64, 8, 1), (128, 64, 8, 2), (128, 64, 8, 3)]
    wide += [(128, 128, 8, 2), (128, 32, 4, 3)]
    for (bh, t), causal, (d, tiles) in itertools.product(sizes, (False, True), ((64, narrow), (128, wide))):
        found += [flash_case(bh, t, d, *tile, causal) for tile in tiles]
    for (bh, t), d in itertools.product(sizes[:3], (64, 128)):
        found.append(flash_case(bh, t, d, 64, 64, 4, 3, True, "bfloat16"))
        found.append(flash_case(bh, t, d, 64, 32, 4, 2, True, "float32"))
        found.append(flash_case(bh, t, d, 64, 32, 4, 2, False, "float16", "float32"))
    for (bh, t), d, (out, dtype) in itertools.product(
        sizes[:3], (64, 128), (("float16", "float16"), ("float32", "float16"), ("float32", "float32"))
    ):
        found.append(scores_case(bh, t, d, 64, 64, 4, dtype, out))
        found.append(scores_case(bh, t, d, 128, 128, 8, dtype, out))
    for (bh, t), d, (p, dtype) in itertools.product(
        sizes[:3], (64, 128), (("float16", "float16"), ("float32", "float16"), ("float32", "float32"))
    ):
        found.append(weighted_values_case(bh, t, d, 64, 64, 4, 3, p, dtype))
        found.append(weighted_values_case(bh, t, d, 64, 32, 4, 1, p, dtype))
    known = {case.key for case in found}
    return found + [case for case in _random(130) if case.key not in known]
