"""Kernels with one program per row: softmax, norms, statistics only, apply only, loops over long rows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import triton
import triton.language as tl
from case import Buffer, Case, Launch, micro, next_power_of_2


@triton.jit
def softmax_row(x, y, cols, BLOCK: tl.constexpr):
    """y [rows, cols] = softmax of each row of x, the row held in registers."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + offset, mask=offset < cols, other=-float("inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * cols + offset, (value / tl.sum(value, axis=0)).to(y.dtype.element_ty), mask=offset < cols)


@triton.jit
def rms_norm_row(x, weight, y, cols, BLOCK: tl.constexpr):
    """y = x / sqrt(mean(x^2) + 1e-6) * weight, per row."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + offset, mask=offset < cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / cols + 1e-6)
    gain = tl.load(weight + offset, mask=offset < cols, other=0.0).to(tl.float32)
    tl.store(y + row * cols + offset, (value * scale * gain).to(y.dtype.element_ty), mask=offset < cols)


@triton.jit
def layer_norm_row(x, weight, bias, y, cols, BLOCK: tl.constexpr):
    """y = (x - mean) / sqrt(var + 1e-6) * weight + bias, per row."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + offset, mask=offset < cols, other=0.0).to(tl.float32)
    centred = tl.where(offset < cols, value - tl.sum(value, axis=0) / cols, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + 1e-6)
    gain = tl.load(weight + offset, mask=offset < cols, other=0.0).to(tl.float32)
    shift = tl.load(bias + offset, mask=offset < cols, other=0.0).to(tl.float32)
    tl.store(y + row * cols + offset, (centred * scale * gain + shift).to(y.dtype.element_ty), mask=offset < cols)


@triton.jit
def stats_row(x, mean, rstd, cols, BLOCK: tl.constexpr):
    """Two fp32 scalars per row: mean and 1 / sqrt(var + 1e-6)."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + offset, mask=offset < cols, other=0.0).to(tl.float32)
    average = tl.sum(value, axis=0) / cols
    centred = tl.where(offset < cols, value - average, 0.0)
    tl.store(mean + row, average)
    tl.store(rstd + row, tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + 1e-6))


@triton.jit
def apply_row(x, mean, rstd, y, cols, BLOCK: tl.constexpr):
    """y = (x - mean[row]) * rstd[row]: reads the two scalars that `stats_row` wrote."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + offset, mask=offset < cols, other=0.0).to(tl.float32)
    value = (value - tl.load(mean + row)) * tl.load(rstd + row)
    tl.store(y + row * cols + offset, value.to(y.dtype.element_ty), mask=offset < cols)


@triton.jit
def loop_row(x, y, cols, PASSES: tl.constexpr, STORE: tl.constexpr, BLOCK: tl.constexpr):
    """Loops over a row in blocks: pass 1 sums, pass 2 sums squared deviations; STORE then reads it once more and
    writes the normalised row, else one scalar is written."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        column = start + offset
        total += tl.load(x + row * cols + column, mask=column < cols, other=0.0).to(tl.float32)
    result = tl.sum(total, axis=0) / cols
    scale = 1.0
    if PASSES == 2:
        square = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, cols, BLOCK):
            column = start + offset
            value = tl.load(x + row * cols + column, mask=column < cols, other=0.0).to(tl.float32)
            value = tl.where(column < cols, value - result, 0.0)
            square += value * value
        scale = tl.rsqrt(tl.sum(square, axis=0) / cols + 1e-6)
    if STORE:
        for start in range(0, cols, BLOCK):
            column = start + offset
            value = tl.load(x + row * cols + column, mask=column < cols, other=0.0).to(tl.float32)
            tl.store(y + row * cols + column, ((value - result) * scale).to(y.dtype.element_ty), mask=column < cols)
    else:
        tl.store(y + row, (result * scale).to(y.dtype.element_ty))


@triton.jit
def online_row(x, y, cols, STORE: tl.constexpr, BLOCK: tl.constexpr):
    """Running maximum and rescaled sum of exponentials, two reductions per iteration; STORE then writes the softmax in
    a second read, else one scalar is written."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    top = -float("inf")
    total = 0.0
    for start in range(0, cols, BLOCK):
        column = start + offset
        value = tl.load(x + row * cols + column, mask=column < cols, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(value, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(value - new_top), axis=0)
        top = new_top
    if STORE:
        for start in range(0, cols, BLOCK):
            column = start + offset
            value = tl.load(x + row * cols + column, mask=column < cols, other=-float("inf")).to(tl.float32)
            tl.store(y + row * cols + column, (tl.exp(value - top) / total).to(y.dtype.element_ty), mask=column < cols)
    else:
        tl.store(y + row, (top + tl.log(total)).to(y.dtype.element_ty))


WHOLE_ROW = {"softmax": softmax_row, "rms_norm": rms_norm_row, "layer_norm": layer_norm_row}


def whole_row_launch(kind, rows, cols, dtype, warps, source="x", target="y") -> Launch:
    """A kernel of WHOLE_ROW over x [rows, cols]."""
    x, y = Buffer(source, dtype, rows * cols), Buffer(target, dtype, rows * cols)
    weights = tuple(Buffer(name, dtype, cols) for name in ("weight", "bias"))
    args = {"softmax": (x, y), "rms_norm": (x, weights[0], y), "layer_norm": (x, *weights, y)}[kind]
    return Launch(WHOLE_ROW[kind], (*args, cols), {"BLOCK": next_power_of_2(cols)}, (rows,), warps)


def whole_row_case(kind, rows, cols, dtype, warps) -> Case:
    """One launch of a whole-row kernel: the row is read once and written once."""
    launch = whole_row_launch(kind, rows, cols, dtype, warps)
    params = {"rows": rows, "cols": cols, "dtype": dtype, "num_warps": warps}
    return micro(f"row_{kind}", params, launch, bytes=sum(a.nbytes for a in launch.args if isinstance(a, Buffer)))


def scalars_case(kind, rows, cols, dtype, warps) -> Case:
    """Row in, two scalars out ("stats"), or row and two scalars in, row out ("apply")."""
    x, y = Buffer("x", dtype, rows * cols), Buffer("y", dtype, rows * cols)
    scalars = (Buffer("mean", "float32", rows), Buffer("rstd", "float32", rows))
    kernel, args = (stats_row, (x, *scalars)) if kind == "stats" else (apply_row, (x, *scalars, y))
    launch = Launch(kernel, (*args, cols), {"BLOCK": next_power_of_2(cols)}, (rows,), warps)
    params = {"rows": rows, "cols": cols, "dtype": dtype, "num_warps": warps}
    return micro(f"row_{kind}", params, launch, bytes=sum(a.nbytes for a in args))


def loop_case(rows, cols, dtype, block, warps, passes, store) -> Case:
    """`loop_row`; `bytes` counts the row once and what is written, however often it is read."""
    x, y = Buffer("x", dtype, rows * cols), Buffer("y", dtype, rows * cols if store else rows)
    constants = {"PASSES": passes, "STORE": store, "BLOCK": block}
    params = {
        "rows": rows,
        "cols": cols,
        "dtype": dtype,
        "BLOCK": block,
        "num_warps": warps,
        "passes": passes,
        "store": int(store),
    }
    launch = Launch(loop_row, (x, y, cols), constants, (rows,), warps)
    return micro("row_loop_masked", params, launch, bytes=x.nbytes + y.nbytes)


def online_case(rows, cols, dtype, block, warps, store) -> Case:
    """`online_row`; bytes as in `loop_case`."""
    x, y = Buffer("x", dtype, rows * cols), Buffer("y", dtype, rows * cols if store else rows)
    params = {"rows": rows, "cols": cols, "dtype": dtype, "BLOCK": block, "num_warps": warps, "store": int(store)}
    launch = Launch(online_row, (x, y, cols), {"STORE": store, "BLOCK": block}, (rows,), warps)
    return micro("row_loop_online", params, launch, bytes=x.nbytes + y.nbytes)


def row_chain_case(rows, cols, dtype, warps, kernels) -> Case:
    """`kernels` dependent softmaxes over the same rows: what a second pass over data that may sit in L2 costs."""
    launches = [
        whole_row_launch("softmax", rows, cols, dtype, warps, f"chain{i % 2}", f"chain{(i + 1) % 2}")
        for i in range(kernels)
    ]
    params = {"kernels": kernels, "rows": rows, "cols": cols, "dtype": dtype, "num_warps": warps}
    total = kernels * 2 * Buffer("x", dtype, rows * cols).nbytes
    return micro("chain_row_softmax", params, *launches, bytes=total)


LIMIT = 2**28  # elements of one buffer at most


def _random(count: int) -> Iterator[Case]:
    """Row kernels and row loops drawn at random (fixed seed)."""
    draw = random.Random(20261128)
    seen: set[str] = set()
    while len(seen) < count:
        dtype = draw.choice(("float16", "float32"))
        rows = int(2 ** draw.uniform(3, 16))
        if draw.random() < 0.5:
            cols, warps = int(2 ** draw.uniform(6, 14)), draw.choice((1, 2, 4, 4, 8, 16))
            if rows * cols > LIMIT or cols > 4096 * warps:
                continue
            case = whole_row_case(draw.choice(list(WHOLE_ROW)), rows, cols, dtype, warps)
        else:
            cols, block = int(2 ** draw.uniform(9, 18)), draw.choice((128, 256, 512, 1024, 2048, 4096))
            if rows * cols > LIMIT // 2:
                continue
            warps, store = draw.choice((1, 4, 4, 8)), draw.random() < 0.5
            if draw.random() < 0.5:
                case = online_case(rows, cols, dtype, block, warps, store)
            else:
                case = loop_case(rows, cols, dtype, block, warps, draw.choice((1, 2)), store)
        if case.key not in seen:
            seen.add(case.key)
            yield case


def cases() -> list[Case]:
    """All row kernels."""
    warps_of = {256: (1, 2, 4), 1024: (1, 4, 8), 4096: (4, 8, 16), 16384: (4, 8, 16)}
    found = []
    for cols, rows, dtype, kind in itertools.product(
        warps_of, (64, 2048, 16384, 65536), ("float16", "float32"), WHOLE_ROW
    ):
        if rows * cols <= LIMIT and not (kind != "softmax" and rows == 16384):
            found += [whole_row_case(kind, rows, cols, dtype, warps) for warps in warps_of[cols]]
    for cols, rows, dtype, kind in itertools.product((1500, 5000), (512, 12000), ("float16", "float32"), WHOLE_ROW):
        found.append(whole_row_case(kind, rows, cols, dtype, 4))
    for cols, rows, dtype, kind in itertools.product(
        (1024, 4096, 16384), (64, 2048, 16384), ("float16", "float32"), ("stats", "apply")
    ):
        found.append(scalars_case(kind, rows, cols, dtype, 8 if cols > 1024 else 4))
    for cols, rows in itertools.product((1500, 6000, 25000, 100000, 200000), (96, 1000, 5000, 20000)):
        if rows * cols > 2**27:
            continue
        for block, (passes, store) in itertools.product((1024, 4096), ((1, False), (2, False), (1, True), (2, True))):
            found.append(loop_case(rows, cols, "float32", block, 4 if block == 1024 else 8, passes, store))
        found.append(loop_case(rows, cols, "float16", 1024, 4, 2, False))
        found.append(loop_case(rows, cols, "float16", 1024, 4, 2, True))
        found.append(loop_case(rows, cols, "float32", 256, 4, 1, False))
        found += [online_case(rows, cols, "float32", 1024, 4, store) for store in (False, True)]
        found.append(online_case(rows, cols, "float16", 4096, 8, True))
    for rows, cols, kernels in itertools.product((256, 8192), (1024, 4096), (1, 2, 3)):
        found.append(row_chain_case(rows, cols, "float16", 4, kernels))
    for dtype in ("float16", "float32"):  # the same rows as h100-micro.csv: they tie the two files together
        found += [whole_row_case("softmax", 128, 1024, dtype, warps) for warps in (1, 4)]
    return found + list(_random(300))
