"""The forms of kernels that are written anew, by tile: what rows held in registers cost against rows swept twice, strips of columns,
taps along an axis, pairs of everything, products over images, moments by each formula; and additions of many programs to a few
addresses."""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import BYTES, Buffer, Case, Launch, cdiv, micro, next_power_of_2

SMS = 132


@triton.jit
def hold_row(x, gate, y, cols, GATED: tl.constexpr, BLOCK: tl.constexpr):
    """y = a row less its mean over its deviation, the row in registers. `GATED`: of the product of two rows."""
    row = tl.program_id(0).to(tl.int64)
    offset = tl.arange(0, BLOCK)
    inside = offset < cols
    value = tl.load(x + row * cols + offset, mask=inside, other=0.0).to(tl.float32)
    if GATED:
        value *= tl.load(gate + row * cols + offset, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=0) / cols
    centred = tl.where(inside, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + 1e-5)
    tl.store(y + row * cols + offset, centred * scale, mask=inside)


@triton.jit
def sweep_row(x, gate, y, cols, GATED: tl.constexpr, BLOCK: tl.constexpr):
    """The same in two loops over the row."""
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        inside = offset < cols
        value = tl.load(x + row * cols + offset, mask=inside, other=0.0).to(tl.float32)
        if GATED:
            value *= tl.load(gate + row * cols + offset, mask=inside, other=0.0).to(tl.float32)
        total += value
        squares += value * value
    mean = tl.sum(total, axis=0) / cols
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols - mean * mean + 1e-5)
    for start in range(0, cols, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        inside = offset < cols
        value = tl.load(x + row * cols + offset, mask=inside, other=0.0).to(tl.float32)
        if GATED:
            value *= tl.load(gate + row * cols + offset, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + row * cols + offset, (value - mean) * scale, mask=inside)


@triton.jit
def hold_strip(x, y, depth, length, P: tl.constexpr, C: tl.constexpr):
    """y = x less its mean over its deviation along the slow axis of [batch, depth, length], the strip in registers."""
    batch = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * P + tl.arange(0, P)[:, None]
    channel = tl.arange(0, C)[None, :]
    inside = (place < length) & (channel < depth)
    offset = batch * depth * length + channel * length + place
    value = tl.load(x + offset, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=1)[:, None] / depth
    centred = tl.where(inside, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=1)[:, None] / depth + 1e-5)
    tl.store(y + offset, centred * scale, mask=inside)


@triton.jit
def sweep_strip(x, y, depth, length, P: tl.constexpr, C: tl.constexpr):
    """The same in two loops along the slow axis."""
    batch = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * P + tl.arange(0, P)[:, None]
    total = tl.zeros((P, C), dtype=tl.float32)
    squares = tl.zeros((P, C), dtype=tl.float32)
    for start in range(0, depth, C):
        channel = start + tl.arange(0, C)[None, :]
        inside = (place < length) & (channel < depth)
        value = tl.load(x + batch * depth * length + channel * length + place, mask=inside, other=0.0).to(tl.float32)
        total += value
        squares += value * value
    mean = tl.sum(total, axis=1)[:, None] / depth
    scale = tl.rsqrt(tl.sum(squares, axis=1)[:, None] / depth - mean * mean + 1e-5)
    for start in range(0, depth, C):
        channel = start + tl.arange(0, C)[None, :]
        inside = (place < length) & (channel < depth)
        offset = batch * depth * length + channel * length + place
        value = tl.load(x + offset, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + offset, (value - mean) * scale, mask=inside)


@triton.jit
def moments(x, mean_out, m2_out, cols, FORMULA: tl.constexpr, BLOCK: tl.constexpr):
    """Mean and squared deviations of a row. `FORMULA`: "counted" (Welford, a counter a lane), "welford" (lanes counted behind the
    loop), "squares" (sums of x and of its square) or "shifted" (the same of x less its first element)."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.zeros((BLOCK,), dtype=tl.float32)
    second = tl.zeros((BLOCK,), dtype=tl.float32)
    seen = tl.zeros((BLOCK,), dtype=tl.float32)
    shift = 0.0
    if FORMULA == "shifted":
        shift = tl.load(x + row * cols).to(tl.float32)
    for start in range(0, cols, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        inside = offset < cols
        value = tl.load(x + row * cols + offset, mask=inside, other=0.0).to(tl.float32)
        if FORMULA == "counted":
            step = start // BLOCK + 1.0
            centred = tl.where(inside, value - first, 0.0)
            first += centred / step
            second += centred * tl.where(inside, value - first, 0.0)
            seen += tl.where(inside, 1.0, 0.0)
        elif FORMULA == "welford":
            share = 1.0 / (start // BLOCK + 1.0)
            centred = tl.where(inside, value - first, 0.0)
            first += centred * share
            second += centred * tl.where(inside, value - first, 0.0)
        else:
            centred = tl.where(inside, value - shift, 0.0)
            first += centred
            second += centred * centred
    if FORMULA == "counted" or FORMULA == "welford":
        if FORMULA == "welford":
            seen = ((cols - tl.arange(0, BLOCK) + BLOCK - 1) // BLOCK).to(tl.float32)
        mean = tl.sum(first * seen, axis=0) / cols
        first -= mean
        tl.store(mean_out + row, mean)
        tl.store(m2_out + row, tl.sum(second + seen * first * first, axis=0))
    else:
        total = tl.sum(first, axis=0)
        tl.store(mean_out + row, shift + total / cols)
        tl.store(m2_out + row, tl.sum(second, axis=0) - total * total / cols)


@triton.jit
def taps(x, weight, y, length, width, TAPS: tl.constexpr, T: tl.constexpr, C: tl.constexpr):
    """A causal convolution of each channel along [batch, length, width], weights [width, TAPS]."""
    batch = tl.program_id(2).to(tl.int64)
    place = tl.program_id(1) * T + tl.arange(0, T)[:, None]
    channel = tl.program_id(0) * C + tl.arange(0, C)[None, :]
    inside = (place < length) & (channel < width)
    base = batch * length * width + channel
    total = tl.zeros((T, C), dtype=tl.float32)
    for tap in tl.static_range(TAPS):
        source = place + tap - (TAPS - 1)
        value = tl.load(x + base + source * width, mask=inside & (source >= 0), other=0.0).to(tl.float32)
        total += value * tl.load(weight + channel * TAPS + tap, mask=channel < width, other=0.0)
    tl.store(y + base + place * width, total * tl.sigmoid(total), mask=inside)


@triton.jit
def mix(a, b, c, d, e, f, y, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """A stream of COUNT inputs and one output."""
    offset = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < n
    total = tl.load(a + offset, mask=inside, other=0.0).to(tl.float32)
    if COUNT > 1:
        total += tl.load(b + offset, mask=inside, other=0.0)
        total *= tl.load(c + offset, mask=inside, other=0.0)
    if COUNT > 3:
        total += tl.load(d + offset, mask=inside, other=0.0)
        total *= tl.load(e + offset, mask=inside, other=0.0)
        total += tl.load(f + offset, mask=inside, other=0.0)
    tl.store(y + offset, total * tl.sigmoid(total), mask=inside)


@triton.jit
def pairs(points, centres, y, n, count, WORK: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """For each centre a sum over all points of what is between them. `WORK`: "exp", "trig" or "rsqrt"."""
    row = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    there = row < count
    a0 = tl.load(centres + 3 * row, mask=there, other=0.0)
    a1 = tl.load(centres + 3 * row + 1, mask=there, other=0.0)
    a2 = tl.load(centres + 3 * row + 2, mask=there, other=0.0)
    total = tl.zeros((R, C), dtype=tl.float32)
    for start in range(0, n, C):
        column = start + tl.arange(0, C)[None, :]
        inside = column < n
        d0 = a0 - tl.load(points + 3 * column, mask=inside, other=0.0)
        d1 = a1 - tl.load(points + 3 * column + 1, mask=inside, other=0.0)
        d2 = a2 - tl.load(points + 3 * column + 2, mask=inside, other=0.0)
        far = d0 * d0 + d1 * d1 + d2 * d2
        if WORK == "exp":
            found = tl.exp(-far)
        elif WORK == "rsqrt":
            found = tl.rsqrt(far + 0.01)
        else:
            found = tl.cos(far) + tl.sin(far)
        total += tl.where(inside, found, 0.0)
    tl.store(y + row, tl.sum(total, axis=1)[:, None], mask=there)


@triton.jit
def image_product(
    x, w, y, batch, c_in, c_out, area, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """A 1 x 1 convolution of [batch, c_in, area]. `FORM`: "divided" (rows are the pixels of all images, the image found by division),
    "pixels" (rows are the pixels of one image) or "channels" (columns are the pixels of one image)."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    if FORM == "channels":
        image = tl.program_id(2).to(tl.int64)
        for start in range(0, c_in, BK):
            ks = start + tl.arange(0, BK)
            a = tl.load(
                w + rows[:, None] * c_in + ks[None, :], mask=(rows < c_out)[:, None] & (ks < c_in)[None, :], other=0.0
            )
            b = tl.load(x + image * c_in * area + ks[:, None] * area + cols[None, :],
                        mask=(ks < c_in)[:, None] & (cols < area)[None, :], other=0.0)  # fmt: skip
            acc = tl.dot(a, b, acc)
        tl.store(y + image * c_out * area + rows[:, None] * area + cols[None, :], acc,
                 mask=(rows < c_out)[:, None] & (cols < area)[None, :])  # fmt: skip
    else:
        if FORM == "divided":
            image = rows // area
            pixel = rows % area
            there = rows < batch * area
        else:
            image = rows * 0 + tl.program_id(2)
            pixel = rows
            there = rows < area
        for start in range(0, c_in, BK):
            ks = start + tl.arange(0, BK)
            if FORM == "divided":
                source = x + image[:, None] * c_in * area + ks[None, :] * area + pixel[:, None]
            else:
                source = x + tl.program_id(2).to(tl.int64) * c_in * area + ks[None, :] * area + pixel[:, None]
            a = tl.load(source, mask=there[:, None] & (ks < c_in)[None, :], other=0.0)
            b = tl.load(
                w + cols[None, :] * c_in + ks[:, None], mask=(cols < c_out)[None, :] & (ks < c_in)[:, None], other=0.0
            )
            acc = tl.dot(a, b, acc)
        if FORM == "divided":
            target = y + image[:, None] * c_out * area + cols[None, :] * area + pixel[:, None]
        else:
            target = y + tl.program_id(2).to(tl.int64) * c_out * area + cols[None, :] * area + pixel[:, None]
        tl.store(target, acc, mask=there[:, None] & (cols < c_out)[None, :])


@triton.jit
def add_rows(x, y, cols, shared, BLOCK: tl.constexpr):
    """Each program adds its row of x to one of the `shared` rows of y."""
    program = tl.program_id(0)
    offset = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < cols
    value = tl.load(x + (program % 64) * cols + offset, mask=inside, other=0.0)
    tl.atomic_add(y + program % shared * cols + offset, value, mask=inside)


@triton.jit
def add_sums(x, y, shared, BLOCK: tl.constexpr):
    """Each program adds one number, the sum of a block, to one of the `shared` elements of y."""
    program = tl.program_id(0)
    value = tl.load(x + (program % 64) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(y + program % shared, tl.sum(value, axis=0))


def row_case(term, cols, gated, dtype, block, warps, n=1 << 26) -> Case:
    """`hold_row` (block 0: the whole row) or `sweep_row`."""
    rows = n // cols
    x, gate, y = (Buffer(name, dtype, rows * cols) for name in ("x", "gate", "y"))
    kernel = hold_row if term == "hold_row" else sweep_row
    block = block or next_power_of_2(cols)
    params = {"rows": rows, "cols": cols, "gated": int(gated), "BLOCK": block, "dtype": dtype, "num_warps": warps}
    launch = Launch(kernel, (x, gate, y, cols), {"GATED": gated, "BLOCK": block}, (rows,), warps)
    return micro(term, params, launch, bytes=(2 + gated) * x.nbytes)


def strip_case(term, depth, tile, dtype, warps, n=1 << 26) -> Case:
    """`hold_strip` or `sweep_strip` of images of 56 x 56."""
    length = 3136
    batch = max(1, n // depth // length)
    x, y = Buffer("x", dtype, batch * depth * length), Buffer("y", dtype, batch * depth * length)
    kernel = hold_strip if term == "hold_strip" else sweep_strip
    params = {
        "batch": batch,
        "depth": depth,
        "length": length,
        "P": tile[0],
        "C": tile[1],
        "dtype": dtype,
        "num_warps": warps,
    }
    launch = Launch(kernel, (x, y, depth, length), {"P": tile[0], "C": tile[1]}, (batch, cdiv(length, tile[0])), warps)
    return micro(term, params, launch, bytes=2 * x.nbytes)


def moments_case(formula, cols, dtype, block, warps) -> Case:
    """`moments` of rows of 64 M elements in all."""
    rows = (1 << 26) // cols
    x = Buffer("x", dtype, rows * cols)
    params = {"formula": formula, "rows": rows, "cols": cols, "BLOCK": block, "dtype": dtype, "num_warps": warps}
    launch = Launch(moments, (x, Buffer("mean", "float32", rows), Buffer("m2", "float32", rows), cols),
                    {"FORMULA": formula, "BLOCK": block}, (rows,), warps)  # fmt: skip
    return micro("moments", params, launch, bytes=x.nbytes)


def taps_case(count, tile, dtype, warps) -> Case:
    """`taps` of 8 sequences of 2,048 by 2,048 channels."""
    batch, length, width = 8, 2048, 2048
    x, y = Buffer("x", dtype, batch * length * width), Buffer("y", dtype, batch * length * width)
    params = {
        "batch": batch,
        "length": length,
        "width": width,
        "TAPS": count,
        "T": tile[0],
        "C": tile[1],
        "dtype": dtype,
        "num_warps": warps,
    }
    launch = Launch(taps, (x, Buffer("taps", "float32", width * count), y, length, width),
                    {"TAPS": count, "T": tile[0], "C": tile[1]}, (cdiv(width, tile[1]), cdiv(length, tile[0]), batch), warps)  # fmt: skip
    return micro("taps", params, launch, bytes=2 * x.nbytes)


def mix_case(count, dtype, block, warps, n=1 << 25) -> Case:
    """`mix` of so many inputs."""
    held = [Buffer(f"in{index}", dtype, n if index < count else 16) for index in range(6)]
    params = {"inputs": count, "n": n, "BLOCK": block, "dtype": dtype, "num_warps": warps}
    launch = Launch(mix, (*held, Buffer("y", dtype, n), n), {"COUNT": count, "BLOCK": block}, (cdiv(n, block),), warps)
    return micro("mix", params, launch, bytes=(count + 1) * n * BYTES[dtype])


def pairs_case(work, count, n, tile, warps) -> Case:
    """`pairs` of `count` centres and `n` points."""
    params = {"work": work, "count": count, "n": n, "R": tile[0], "C": tile[1], "num_warps": warps}
    launch = Launch(pairs, (Buffer("points", "float32", 3 * n), Buffer("centres", "float32", 3 * count),
                            Buffer("sums", "float32", count), n, count),
                    {"WORK": work, "R": tile[0], "C": tile[1]}, (cdiv(count, tile[0]),), warps)  # fmt: skip
    return micro("pairs", params, launch, bytes=16 * count, flops=10 * count * n)


def image_case(form, area, tile, warps, stages) -> Case:
    """`image_product` of 32 images from 256 to 256 channels."""
    batch, c_in, c_out = 32, 256, 256
    x, w = Buffer("x", "float16", batch * c_in * area), Buffer("w", "float16", c_in * c_out)
    y = Buffer("y", "float16", batch * c_out * area)
    m, n, depth = tile
    grid = (cdiv(batch * area, m), cdiv(c_out, n)) if form == "divided" else (cdiv(area, m), cdiv(c_out, n), batch)
    if form == "channels":
        grid = (cdiv(c_out, m), cdiv(area, n), batch)
    params = {"form": form, "area": area, "BM": m, "BN": n, "BK": depth, "num_warps": warps, "num_stages": stages}
    launch = Launch(image_product, (x, w, y, batch, c_in, c_out, area), {"FORM": form, "BM": m, "BN": n, "BK": depth}, grid,
                    warps, stages)  # fmt: skip
    return micro("image_product", params, launch, bytes=2 * x.nbytes, flops=2 * batch * c_in * c_out * area)


def add_case(term, programs, cols, shared, dtype, block, warps) -> Case:
    """`add_rows` or `add_sums`."""
    params = {"programs": programs, "cols": cols, "shared": shared, "dtype": dtype, "BLOCK": block, "num_warps": warps}
    y = Buffer("added", dtype, cols * shared)
    if term == "add_sums":
        launch = Launch(add_sums, (Buffer("x", dtype, 64 * block), y, shared), {"BLOCK": block}, (programs,), warps)
    else:
        launch = Launch(
            add_rows,
            (Buffer("x", dtype, 64 * cols), y, cols, shared),
            {"BLOCK": block},
            (programs, cdiv(cols, block)),
            warps,
        )
    return micro(term, params, launch, bytes=y.nbytes)


def cases() -> list[Case]:
    """All cases of this module."""
    found: list[Case] = []
    for term, programs, shared, dtype in itertools.product(
        ("add_sums", "add_rows"), (256, 4096, 32768), (1, 32), ("float32", "float16", "bfloat16", "int32")
    ):
        shapes = (
            ((1, 256, 4),) if term == "add_sums" else ((256, 256, 4), (1024, 1024, 4), (768, 1024, 4), (4096, 1024, 8))
        )
        for cols, block, warps in shapes:
            half = dtype in ("float16", "bfloat16")
            if programs * cols <= (1 << 22 if half else 1 << 25) and not (half and programs == 32768 and shared == 1):
                found.append(add_case(term, programs, cols, shared, dtype, block, warps))
    for cols, gated, dtype in itertools.product(
        (2048, 4096, 5000, 8192, 11008, 16384, 32768), (False, True), ("float16", "float32")
    ):
        for warps in (4, 8, 16, 32):
            if 16 <= next_power_of_2(cols) // warps // 32 <= 64 or (cols == 2048 and warps == 4):
                found.append(row_case("hold_row", cols, gated, dtype, 0, warps))
        if cols in (8192, 11008, 32768):
            for block, warps in ((1024, 4), (2048, 4), (2048, 8), (4096, 8), (4096, 16), (8192, 16)):
                found.append(row_case("sweep_row", cols, gated, dtype, block, warps))
    for depth, dtype in itertools.product((64, 96, 192, 256, 384, 768, 1024), ("float32", "float16")):
        wide = next_power_of_2(depth)
        for places, warps in itertools.product((8, 16, 32, 64, 128), (4, 8, 16)):
            if 1024 <= places * wide <= 32768 and 8 <= places * wide // warps // 32 <= 64:
                found.append(strip_case("hold_strip", depth, (places, wide), dtype, warps))
        if depth in (192, 384, 1024):
            for tile, warps in (
                ((64, 64), 8),
                ((64, 32), 8),
                ((32, 64), 4),
                ((32, 128), 8),
                ((128, 32), 8),
                ((64, 16), 4),
            ):
                found.append(strip_case("sweep_strip", depth, tile, dtype, warps))
    for formula, (cols, block, warps), dtype in itertools.product(
        ("counted", "welford", "squares", "shifted"),
        ((32768, 2048, 4), (32768, 2048, 8), (32768, 4096, 8), (100_000, 1024, 4), (1 << 18, 4096, 8)), ("float32", "float16"),
    ):  # fmt: skip
        found.append(moments_case(formula, cols, dtype, block, warps))
    for count, dtype in itertools.product((3, 4, 7), ("float16", "float32")):
        for tile, warps in (((1, 1024), 4), ((1, 512), 4), ((2, 512), 4), ((4, 256), 4), ((8, 256), 4), ((16, 64), 4), ((16, 128), 4),
                            ((16, 128), 8), ((32, 64), 4), ((32, 128), 4), ((64, 64), 8), ((8, 128), 4), ((8, 512), 8)):  # fmt: skip
            found.append(taps_case(count, tile, dtype, warps))
    for count, dtype, (block, warps) in itertools.product(
        (1, 3, 6), ("float32", "float16"), ((512, 4), (1024, 4), (2048, 4), (4096, 8), (1024, 8), (8192, 8))
    ):
        found.append(mix_case(count, dtype, block, warps))
    for work, (count, n) in itertools.product(("exp", "trig", "rsqrt"), ((1024, 65536), (8192, 8192), (512, 262144))):
        for tile, warps in (((1, 1024), 4), ((1, 4096), 8), ((4, 256), 4), ((4, 512), 4), ((8, 128), 4), ((16, 64), 4), ((16, 128), 8),
                            ((32, 32), 4), ((32, 128), 8)):  # fmt: skip
            found.append(pairs_case(work, count, n, tile, warps))
    for form, area, (tile, warps, stages) in itertools.product(
        ("divided", "pixels", "channels"), (3136, 4096, 784),
        (((128, 128, 64), 8, 3), ((128, 128, 64), 4, 3), ((64, 128, 64), 4, 4), ((128, 256, 64), 8, 3), ((128, 64, 64), 4, 3)),
    ):  # fmt: skip
        found.append(image_case(form, area, tile, warps, stages))
    return found
