"""Programs that walk a long way: scans of affine maps in chunks, iterations on a tile that stays in registers, deep sums by few
programs, pairs in double precision, scalars one after the other, products without a loop and without tensor cores."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro


@triton.jit
def compose(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def scan_strip(decay, x, y, steps, width, T: tl.constexpr, C: tl.constexpr):
    """A first-order recurrence along time by chunks of `T` steps, channels beside each other in memory."""
    t = tl.arange(0, T)
    column = tl.program_id(0) * C + tl.arange(0, C)
    base = tl.program_id(1) * steps * width
    held = tl.zeros((C,), dtype=tl.float32)
    for start in range(0, steps, T):
        at = base + (start + t)[:, None] * width + column[None, :]
        a = tl.load(decay + at).to(tl.float32)
        b = tl.load(x + at).to(tl.float32)
        grown, added = tl.associative_scan((a, b), 0, compose)
        state = grown * held[None, :] + added
        tl.store(y + at, state.to(y.dtype.element_ty))
        held = tl.sum(tl.where(t[:, None] == T - 1, state, 0.0), axis=0)


@triton.jit
def scan_line(decay, x, y, steps, T: tl.constexpr):
    """The same where time is what lies side by side: a program a row."""
    t = tl.arange(0, T)
    base = tl.program_id(0) * steps
    held = 0.0
    for start in range(0, steps, T):
        a = tl.load(decay + base + start + t).to(tl.float32)
        b = tl.load(x + base + start + t).to(tl.float32)
        grown, added = tl.associative_scan((a, b), 0, compose)
        state = grown * held + added
        tl.store(y + base + start + t, state.to(y.dtype.element_ty))
        held = tl.sum(tl.where(t == T - 1, state, 0.0), axis=0)


@triton.jit
def balance(x, y, rounds, R: tl.constexpr, C: tl.constexpr, WORK: tl.constexpr):
    """Rounds on one tile in registers: what one axis sums up goes into what the other does. `WORK`: "sum" or "logsumexp"."""
    at = tl.program_id(0) * R * C + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tile = tl.load(x + at).to(tl.float32)
    left = tl.zeros((R,), dtype=tl.float32)
    right = tl.zeros((C,), dtype=tl.float32)
    for _ in range(rounds):
        if WORK == "sum":
            left = 1.0 / (1.0 + tl.sum(tile * right[None, :], axis=1))
            right = 1.0 / (1.0 + tl.sum(tile * left[:, None], axis=0))
        else:
            a = tile + right[None, :]
            top = tl.max(a, axis=1)
            left = -top - tl.log(tl.sum(tl.exp(a - top[:, None]), axis=1))
            b = tile + left[:, None]
            most = tl.max(b, axis=0)
            right = -most - tl.log(tl.sum(tl.exp(b - most[None, :]), axis=0))
    tl.store(y + at, (tile + left[:, None] + right[None, :]).to(y.dtype.element_ty))


@triton.jit
def deep_sum(x, other, y, count, FORM: tl.constexpr, BLOCK: tl.constexpr):
    """One program sums up `count` elements. `FORM`: "sum", "moments" (three of them, no mask), "pair" (of two tensors, masked),
    "difference" (each less its neighbour)."""
    lanes = tl.arange(0, BLOCK)
    base = tl.program_id(0).to(tl.int64) * count
    first = tl.zeros((BLOCK,), dtype=tl.float32)
    second = tl.zeros((BLOCK,), dtype=tl.float32)
    third = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, count, BLOCK):
        at = start + lanes
        if FORM == "sum":
            first += tl.load(x + base + at)
        if FORM == "moments":
            value = tl.load(x + base + at)
            first += value
            second += value * value
            third = tl.maximum(third, tl.abs(value))
        if FORM == "pair":
            inside = at < count
            first += tl.load(x + base + at, mask=inside, other=0.0) * tl.load(other + base + at, mask=inside, other=0.0)
        if FORM == "difference":
            inside = at < count - 1
            value = tl.load(x + base + at, mask=inside, other=0.0)
            first += value * value
            second += tl.abs(tl.load(x + base + at + 1, mask=inside, other=0.0) - value)
            third = tl.maximum(third, tl.abs(value))
    tl.store(y + tl.program_id(0), tl.sum(first, 0) + tl.sum(second, 0) + tl.max(third, 0))


@triton.jit
def double_pairs(points, centres, y, n, WORK: tl.constexpr, R: tl.constexpr, C: tl.constexpr, WIDE: tl.constexpr):
    """For each centre a sum over all points, in the type `WIDE`. `WORK`: "gauss", "gravity" or "energy"."""
    row = tl.program_id(0) * R + tl.arange(0, R)
    a0 = tl.load(centres + 3 * row).to(WIDE)
    a1 = tl.load(centres + 3 * row + 1).to(WIDE)
    a2 = tl.load(centres + 3 * row + 2).to(WIDE)
    total = tl.zeros((R, C), dtype=WIDE)
    for start in range(0, n, C):
        column = start + tl.arange(0, C)
        d0 = a0[:, None] - tl.load(points + 3 * column).to(WIDE)[None, :]
        d1 = a1[:, None] - tl.load(points + 3 * column + 1).to(WIDE)[None, :]
        d2 = a2[:, None] - tl.load(points + 3 * column + 2).to(WIDE)[None, :]
        far = d0 * d0 + d1 * d1 + d2 * d2
        if WORK == "gauss":
            total += tl.exp(-far)
        if WORK == "gravity":
            near = 1.0 / tl.sqrt(far + 0.01)
            total += near * near * near * (d0 + d1 + d2)
        if WORK == "energy":
            total += 1.0 / tl.sqrt(far + tl.exp(-far * 0.25) + 0.01)
    tl.store(y + row, tl.sum(total, axis=1).to(tl.float32))


@triton.jit
def scalar_walk(x, y, steps, CLIP: tl.constexpr):
    """A recurrence of one number a step. `CLIP`: a maximum beside the sum."""
    base = tl.program_id(0) * steps
    state = 0.0
    for step in range(steps):
        value = tl.load(x + base + step)
        state = 0.9 * state + 0.1 * value
        if CLIP:
            state = tl.maximum(state, value - 1.0)
        tl.store(y + base + step, state)


@triton.jit
def gram_once(x, other, part, n, d, SUMS: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, D: tl.constexpr):
    """One product a program, no loop, and so many sums over the whole of it."""
    i, j = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * COLS + tl.arange(0, COLS)
    k = tl.arange(0, D)
    inner = k < d
    a = tl.load(x + i[:, None] * d + k[None, :], mask=(i[:, None] < n) & inner[None, :], other=0.0)
    b = tl.load(x + j[:, None] * d + k[None, :], mask=(j[:, None] < n) & inner[None, :], other=0.0)
    made = tl.dot(a, tl.trans(b))
    slot = part + (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * 3
    if SUMS == 1:
        tl.store(slot, tl.sum(tl.sum(made * made, axis=1), axis=0))
    else:
        a = tl.load(other + i[:, None] * d + k[None, :], mask=(i[:, None] < n) & inner[None, :], other=0.0)
        b = tl.load(other + j[:, None] * d + k[None, :], mask=(j[:, None] < n) & inner[None, :], other=0.0)
        beside = tl.dot(a, tl.trans(b))
        tl.store(slot, tl.sum(tl.sum(made * beside, axis=1), axis=0))
        tl.store(slot + 1, tl.sum(tl.sum(made * made, axis=1), axis=0))
        tl.store(slot + 2, tl.sum(tl.sum(beside * beside, axis=1), axis=0))


@triton.jit
def plain_dot(x, w, y, M, N, K, ROWS: tl.constexpr, COLS: tl.constexpr, D: tl.constexpr):
    """A product in full fp32 precision, which no tensor core makes."""
    i, j = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for start in range(0, K, D):
        k = start + tl.arange(0, D)
        a = tl.load(x + i[:, None] * K + k[None, :]).to(tl.float32)
        b = tl.load(w + j[None, :] * K + k[:, None]).to(tl.float32)
        total += tl.dot(a, b, input_precision="ieee")
    tl.store(y + i[:, None] * N + j[None, :], total)


def _scans() -> Iterator[Case]:
    for (batch, steps, width), (t, c, warps), dtype in itertools.product(
        ((2, 256, 1024), (4, 512, 128), (32, 1024, 256), (4, 4096, 1024), (32, 2048, 1024)),
        ((64, 32, 4), (64, 32, 8), (32, 64, 4), (128, 16, 4), (64, 64, 8), (16, 128, 4)),
        ("float32", "float16"),
    ):
        if dtype == "float16" and (t, c) not in ((64, 32), (32, 64)):
            continue
        n = batch * steps * width
        params = {"B": batch, "steps": steps, "C": width, "T": t, "BC": c, "dtype": dtype, "num_warps": warps}
        launch = Launch(scan_strip, (Buffer("decay", dtype, n), Buffer("x", dtype, n), Buffer("y", dtype, n), steps, width),
                        {"T": t, "C": c}, (width // c, batch), warps)  # fmt: skip
        yield micro("scan_strip", params, launch, bytes=3 * launch.args[0].nbytes)
    for rows, steps, (t, warps) in itertools.product(
        (16, 512, 4096), (512, 2048, 16384), ((512, 4), (1024, 4), (2048, 8), (4096, 8), (16384, 16))
    ):
        if t <= steps and rows * steps <= 1 << 25:
            n = rows * steps
            params = {"rows": rows, "steps": steps, "T": t, "num_warps": warps}
            launch = Launch(scan_line, (Buffer("decay", "float32", n), Buffer("x", "float32", n), Buffer("y", "float32", n), steps),
                            {"T": t}, (rows,), warps)  # fmt: skip
            yield micro("scan_line", params, launch, bytes=12 * n)


def _rounds() -> Iterator[Case]:
    for work, programs, rounds, (r, c, warps) in itertools.product(
        ("sum", "logsumexp"),
        (64, 128, 4096),
        (4, 20, 60),
        ((32, 32, 4), (64, 64, 4), (64, 64, 8), (128, 64, 8), (16, 256, 4)),
    ):
        if programs < 4096 or rounds == 20:
            n = programs * r * c
            params = {"work": work, "programs": programs, "steps": rounds, "R": r, "C": c, "num_warps": warps}
            launch = Launch(balance, (Buffer("x", "float32", n), Buffer("y", "float32", n), rounds),
                            {"R": r, "C": c, "WORK": work}, (programs,), warps)  # fmt: skip
            yield micro("balance", params, launch, bytes=8 * n)


def _sums() -> Iterator[Case]:
    for form, programs, size, (block, warps) in itertools.product(
        ("sum", "moments", "pair", "difference"), (1, 4, 16, 64, 132), (1 << 17, 1 << 19, 1 << 22),
        ((1024, 4), (2048, 8), (4096, 8), (8192, 8), (1024, 8)),
    ):  # fmt: skip
        if programs * size <= 1 << 27 and (form in ("difference", "moments") or block != 8192):
            params = {"form": form, "programs": programs, "n": size, "BLOCK": block, "num_warps": warps}
            moved = programs * size * 4
            launch = Launch(deep_sum, (Buffer("x", "float32", programs * size), Buffer("decay", "float32", programs * size),
                                       Buffer("sums", "float32", programs), size),
                            {"FORM": form, "BLOCK": block}, (programs,), warps)  # fmt: skip
            yield micro("deep_sum", params, launch, bytes=moved * (2 if form == "pair" else 1))


def _pairs() -> Iterator[Case]:
    for work, wide, n, (r, c, warps) in itertools.product(
        ("gauss", "gravity", "energy"), ("float64", "float32"), (1024, 4096, 16384),
        ((32, 128, 8), (32, 32, 4), (16, 64, 4), (64, 64, 4), (1, 256, 4)),
    ):  # fmt: skip
        params = {"work": work, "wide": wide, "n": n, "R": r, "C": c, "num_warps": warps}
        launch = Launch(double_pairs, (Buffer("points", "float32", 3 * n), Buffer("centres", "float32", 3 * n),
                                       Buffer("sums", "float32", n), n),
                        {"WORK": work, "R": r, "C": c, "WIDE": getattr(tl, wide)}, (n // r,), warps)  # fmt: skip
        yield micro("double_pairs", params, launch, bytes=28 * n, flops=10 * n * n)


def _scalars() -> Iterator[Case]:
    for clip, programs, steps, warps in itertools.product(
        (False, True), (16, 128, 512, 4096), (512, 2048, 16384), (1, 2, 4)
    ):
        if programs * steps <= 1 << 23:
            params = {"clip": int(clip), "programs": programs, "steps": steps, "num_warps": warps}
            n = programs * steps
            launch = Launch(scalar_walk, (Buffer("x", "float32", n), Buffer("y", "float32", n), steps), {"CLIP": clip},
                            (programs,), warps)  # fmt: skip
            yield micro("scalar_walk", params, launch, bytes=8 * n)


def _products() -> Iterator[Case]:
    for sums, dtype, (n, d), (i, j, warps) in itertools.product(
        (1, 3), ("float32", "float16"), ((2048, 64), (6144, 128), (16384, 128)),
        ((128, 64, 8), (64, 64, 4), (128, 128, 8), (64, 32, 4)),
    ):  # fmt: skip
        grid = cdiv(n, i), cdiv(n, j)
        params = {"sums": sums, "n": n, "d": d, "dtype": dtype, "I": i, "J": j, "num_warps": warps}
        launch = Launch(gram_once, (Buffer("x", dtype, n * d), Buffer("decay", dtype, n * d),
                                    Buffer("part", "float32", 3 * grid[0] * grid[1]), n, d),
                        {"SUMS": sums, "ROWS": i, "COLS": j, "D": d}, grid, warps, 1)  # fmt: skip
        yield micro("gram_once", params, launch, bytes=n * d * 4, flops=2 * n * n * d * (1 if sums == 1 else 2))
    for (m, n, k), dtype, (i, j, d, warps) in itertools.product(
        ((1024, 1024, 1024), (4096, 2048, 512)), ("float16", "float32"),
        ((32, 32, 32, 4), (64, 64, 32, 4), (64, 64, 64, 4), (128, 64, 32, 4), (128, 128, 32, 8), (64, 128, 64, 8),
         (32, 128, 128, 4), (32, 64, 128, 4), (128, 128, 64, 8), (64, 64, 128, 4)),
    ):  # fmt: skip
        params = {"M": m, "N": n, "K": k, "dtype": dtype, "I": i, "J": j, "D": d, "num_warps": warps}
        launch = Launch(plain_dot, (Buffer("x", dtype, m * k), Buffer("decay", dtype, n * k), Buffer("made", "float32", m * n), m, n, k),
                        {"ROWS": i, "COLS": j, "D": d}, (m // i, n // j), warps)  # fmt: skip
        yield micro("plain_dot", params, launch, bytes=4 * m * n, flops=2 * m * n * k)


def cases() -> list[Case]:
    """All cases of this module, those of which most is asked first."""
    parts = (_scans, _sums, _rounds, _pairs, _products, _scalars)
    return [case for part in parts for case in part()]
