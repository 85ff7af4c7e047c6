"""Kernels as people write them, several effects in each. Nothing is fitted to them: they tell what the model makes of programs that
it never met, and from them come the widths of its intervals by class."""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro, next_power_of_2


@triton.jit
def rotary(x, cosine, sine, y, heads, D: tl.constexpr, HALF: tl.constexpr):
    """Rotary embedding of [tokens, heads, D], a program a token and head."""
    token = tl.program_id(0)
    base = (token * heads + tl.program_id(1)) * D
    d = tl.arange(0, HALF)
    c = tl.load(cosine + token * HALF + d)
    s = tl.load(sine + token * HALF + d)
    first = tl.load(x + base + d).to(tl.float32)
    second = tl.load(x + base + HALF + d).to(tl.float32)
    tl.store(y + base + d, (first * c - second * s).to(y.dtype.element_ty))
    tl.store(y + base + HALF + d, (second * c + first * s).to(y.dtype.element_ty))


@triton.jit
def gated(x, y, cols, BLOCK: tl.constexpr):
    """y = silu of the first half of a row times the second."""
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < cols
    gate = tl.load(x + row * 2 * cols + column, mask=inside).to(tl.float32)
    up = tl.load(x + row * 2 * cols + cols + column, mask=inside).to(tl.float32)
    tl.store(y + row * cols + column, (gate * tl.sigmoid(gate) * up).to(y.dtype.element_ty), mask=inside)


@triton.jit
def loss_rows(x, label, y, cols, BLOCK: tl.constexpr):
    """Cross entropy of long rows: a running maximum and sum, then the entry of the label."""
    row = tl.program_id(0)
    base = x + row.to(tl.int64) * cols
    top = -float("inf")
    total = 0.0
    for start in range(0, cols, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(base + column, mask=column < cols, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(value, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(value - new), axis=0)
        top = new
    wanted = tl.load(base + tl.load(label + row)).to(tl.float32)
    tl.store(y + row, top + tl.log(total) - wanted)


@triton.jit
def adam(p, g, m, v, n, rate, BLOCK: tl.constexpr):
    """A step of Adam: four inputs, three results in place."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < n
    gradient = tl.load(g + offset, mask=inside)
    mean = tl.load(m + offset, mask=inside) * 0.9 + 0.1 * gradient
    square = tl.load(v + offset, mask=inside) * 0.999 + 0.001 * gradient * gradient
    tl.store(m + offset, mean, mask=inside)
    tl.store(v + offset, square, mask=inside)
    weight = tl.load(p + offset, mask=inside)
    tl.store(p + offset, weight - rate * mean / (tl.sqrt(tl.abs(square)) + 1e-8), mask=inside)


@triton.jit
def quantise_rows(x, y, scales, cols, BLOCK: tl.constexpr):
    """Rows to bytes by their largest magnitude."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + column, mask=column < cols, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(value), axis=0) / 127.0
    tl.store(scales + row, scale)
    tl.store(y + row * cols + column, (value / scale).to(tl.int8), mask=column < cols)


@triton.jit
def drop(x, y, n, seed, BLOCK: tl.constexpr):
    """Dropout."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, offset) > 0.1
    value = tl.load(x + offset, mask=offset < n)
    tl.store(y + offset, tl.where(keep, value / 0.9, 0.0), mask=offset < n)


@triton.jit
def add_norm(x, residual, w, y, cols, BLOCK: tl.constexpr):
    """Residual added, written back, and the row's root mean square norm with weights."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < cols
    value = tl.load(x + row * cols + column, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(residual + row * cols + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + row * cols + column, value.to(residual.dtype.element_ty), mask=inside)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / cols + 1e-6)
    weight = tl.load(w + column, mask=inside).to(tl.float32)
    tl.store(y + row * cols + column, (value * scale * weight).to(y.dtype.element_ty), mask=inside)


@triton.jit
def norm_backward(dy, x, w, dx, dw, cols, BLOCK: tl.constexpr):
    """Gradient of a root mean square norm, that of the weights added atomically."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < cols
    value = tl.load(x + row * cols + column, mask=inside, other=0.0).to(tl.float32)
    grad = tl.load(dy + row * cols + column, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(w + column, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / cols + 1e-6)
    shared = tl.sum(value * grad * weight, axis=0) / cols * scale * scale
    tl.store(dx + row * cols + column, ((grad * weight - value * shared) * scale).to(dx.dtype.element_ty), mask=inside)
    tl.atomic_add(dw + column, grad * value * scale, mask=inside)


@triton.jit
def max_pool(x, y, H, W, OH, OW, KS: tl.constexpr, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Maxima of KS x KS windows, a plane a program row."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane = tl.program_id(1)
    row = place // OW
    column = place % OW
    best = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)
    for r in tl.static_range(KS):
        for s in tl.static_range(KS):
            i = row * STRIDE + r
            j = column * STRIDE + s
            inside = (i < H) & (j < W) & (place < OH * OW)
            value = tl.load(x + plane * H * W + i * W + j, mask=inside, other=-float("inf"))
            best = tl.maximum(best, value.to(tl.float32))
    tl.store(y + plane * OH * OW + place, best.to(y.dtype.element_ty), mask=place < OH * OW)


@triton.jit
def resize(x, y, H, W, OH, OW, BLOCK: tl.constexpr):
    """Bilinear interpolation of planes to a larger size."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane = tl.program_id(1) * H * W
    inside = place < OH * OW
    top = (place // OW) * (H - 1) / (OH - 1.0)
    left = (place % OW) * (W - 1) / (OW - 1.0)
    i = top.to(tl.int32)
    j = left.to(tl.int32)
    down = tl.minimum(i + 1, H - 1)
    right = tl.minimum(j + 1, W - 1)
    a = tl.load(x + plane + i * W + j, mask=inside)
    b = tl.load(x + plane + i * W + right, mask=inside)
    c = tl.load(x + plane + down * W + j, mask=inside)
    d = tl.load(x + plane + down * W + right, mask=inside)
    u = top - i
    v = left - j
    value = (a * (1 - v) + b * v) * (1 - u) + (c * (1 - v) + d * v) * u
    tl.store(y + tl.program_id(1) * OH * OW + place, value, mask=inside)


@triton.jit
def sum_along(x, y, cols, BLOCK: tl.constexpr):
    """Running sums of whole rows."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + column, mask=column < cols, other=0.0)
    tl.store(y + row * cols + column, tl.cumsum(value, axis=0), mask=column < cols)


@triton.jit
def sort_rows(x, y, BLOCK: tl.constexpr):
    """Rows in order."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset, tl.sort(tl.load(x + offset)))


@triton.jit
def channel_norm(x, w, y, C, HW, GROUP, BLOCK: tl.constexpr):
    """Group norm: a group of channels a program, two passes over it."""
    program = tl.program_id(0)
    size = GROUP * HW
    base = program * size
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    square = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, size, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        value = tl.load(x + base + offset, mask=offset < size, other=0.0).to(tl.float32)
        total += value
        square += value * value
    mean = tl.sum(total, axis=0) / size
    scale = tl.rsqrt(tl.sum(square, axis=0) / size - mean * mean + 1e-5)
    first = (program * GROUP) % C
    for start in range(0, size, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        inside = offset < size
        value = tl.load(x + base + offset, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(w + first + offset // HW, mask=inside).to(tl.float32)
        tl.store(y + base + offset, ((value - mean) * scale * weight).to(y.dtype.element_ty), mask=inside)


@triton.jit
def swap_heads(x, y, T, H, D: tl.constexpr, BT: tl.constexpr):
    """[T, H, D] to [H, T, D]."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    value = tl.load(x + (t[:, None] * H + head) * D + d[None, :], mask=t[:, None] < T)
    tl.store(y + (head * T + t[:, None]) * D + d[None, :], value, mask=t[:, None] < T)


@triton.jit
def cache_rows(x, slots, y, D: tl.constexpr):
    """Rows written to the slots that an index names (a paged cache)."""
    row = tl.program_id(0)
    d = tl.arange(0, D)
    tl.store(y + tl.load(slots + row) * D + d, tl.load(x + row * D + d))


@triton.jit
def distances(x, c, y, N, M, D: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr):
    """Squared distances of points to centres, dimension by dimension."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    acc = tl.zeros((BN, BM), dtype=tl.float32)
    for d in range(D):
        a = tl.load(x + n * D + d, mask=n < N, other=0.0)
        b = tl.load(c + m * D + d, mask=m < M, other=0.0)
        difference = a[:, None] - b[None, :]
        acc += difference * difference
    tl.store(y + n[:, None] * M + m[None, :], acc, mask=(n[:, None] < N) & (m[None, :] < M))


@triton.jit
def state_scan(x, a, y, T, C, BLOCK: tl.constexpr):
    """h = a h + x along T for BLOCK channels of one sequence."""
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    base = tl.program_id(0) * T * C
    state = tl.zeros((BLOCK,), dtype=tl.float32)
    for t in range(T):
        decay = tl.load(a + base + t * C + channel).to(tl.float32)
        state = tl.sigmoid(decay) * state + tl.load(x + base + t * C + channel).to(tl.float32)
        tl.store(y + base + t * C + channel, state.to(y.dtype.element_ty))


def _case(term, params, kernel, args, constants, grid, warps, moved) -> Case:
    launch = Launch(kernel, args, constants, grid, warps)
    return micro(term, {**params, "num_warps": warps}, launch, bytes=moved)


def rows_case(term, rows, cols, dtype, warps) -> Case:
    """A kernel of whole rows in one tile."""
    n, block = rows * cols, next_power_of_2(cols)
    x, y, w = Buffer("x", dtype, n), Buffer("y", dtype, n), Buffer("w", dtype, cols)
    params = {"rows": rows, "cols": cols, "dtype": dtype}
    if term == "quantise_rows":
        args: tuple = (x, Buffer("y8", "int8", n), Buffer("scales", "float32", rows), cols)
        return _case(term, params, quantise_rows, args, {"BLOCK": block}, (rows,), warps, x.nbytes + n)
    if term == "add_norm":
        args = (x, Buffer("residual", dtype, n), w, y, cols)
        return _case(term, params, add_norm, args, {"BLOCK": block}, (rows,), warps, 4 * x.nbytes)
    if term == "norm_backward":
        args = (y, x, w, Buffer("dx", dtype, n), Buffer("dw", "float32", cols), cols)
        return _case(term, params, norm_backward, args, {"BLOCK": block}, (rows,), warps, 3 * x.nbytes)
    if term == "sort_rows":
        return _case(term, params, sort_rows, (x, y), {"BLOCK": block}, (rows,), warps, 2 * x.nbytes)
    return _case(term, params, sum_along, (x, y, cols), {"BLOCK": block}, (rows,), warps, 2 * x.nbytes)


def cases() -> list[Case]:
    """All cases of this module."""
    found: list[Case] = []
    for term, (rows, cols), dtype in itertools.product(
        ("quantise_rows", "add_norm", "norm_backward", "sum_along"),
        ((512, 1024), (4096, 4096), (16384, 768), (2048, 11008)),
        ("float16", "float32"),
    ):
        found.append(rows_case(term, rows, cols, dtype, 8 if cols > 2048 else 4))
    found += [
        rows_case("sort_rows", rows, cols, "float32", 4) for rows, cols in ((4096, 128), (4096, 1024), (512, 2048))
    ]
    for tokens, heads, d, dtype in ((128, 32, 128, "float16"), (4096, 32, 128, "float16"), (16384, 16, 64, "float32")):
        half = d // 2
        x, y = Buffer("x", dtype, tokens * heads * d), Buffer("y", dtype, tokens * heads * d)
        angle = [Buffer(name, "float32", tokens * half) for name in ("cosine", "sine")]
        params = {"rows": tokens, "H": heads, "D": d, "dtype": dtype}
        for warps in (1, 4):
            args: tuple = (x, *angle, y, heads)
            constants = {"D": d, "HALF": half}
            found.append(_case("rotary", params, rotary, args, constants, (tokens, heads), warps, 2 * x.nbytes))
    for (rows, cols), block, dtype in itertools.product(
        ((256, 11008), (4096, 11008), (8192, 1024)), (512, 1024), ("float16", "float32")
    ):
        x, y = Buffer("x", dtype, 2 * rows * cols), Buffer("y", dtype, rows * cols)
        params = {"rows": rows, "cols": cols, "BLOCK": block, "dtype": dtype}
        args = (x, y, cols)
        found.append(_case("gated", params, gated, args, {"BLOCK": block}, (rows, cdiv(cols, block)), 4, 3 * y.nbytes))
    for (rows, cols), block, warps in itertools.product(
        ((64, 128256), (2048, 50257), (8192, 8192)), (1024, 4096), (4, 8)
    ):
        for dtype in ("float16", "float32"):
            x, label = Buffer("x", dtype, rows * cols), Buffer("label", "int64", rows, cols)
            params = {"rows": rows, "cols": cols, "BLOCK": block, "dtype": dtype}
            args = (x, label, Buffer("loss", "float32", rows), cols)
            found.append(_case("loss_rows", params, loss_rows, args, {"BLOCK": block}, (rows,), warps, x.nbytes))
    for n, block in itertools.product((1 << 18, 1 << 22, 1 << 25), (256, 1024)):
        held = tuple(Buffer(name, "float32", n) for name in ("p", "g", "m", "v"))
        grid, params = (cdiv(n, block),), {"n": n, "BLOCK": block}
        found.append(_case("adam", params, adam, (*held, n, 1e-3), {"BLOCK": block}, grid, 4, 28 * n))
        x, y = Buffer("x", "float32", n), Buffer("y", "float32", n)
        found.append(_case("drop", params, drop, (x, y, n, 7), {"BLOCK": block}, grid, 4, 8 * n))
    for planes, edge, ks, stride in ((512, 56, 3, 2), (2048, 112, 2, 2), (256, 28, 3, 1), (64, 224, 5, 1)):
        out = (edge - ks) // stride + 1
        for dtype, block in (("float32", 256), ("float16", 1024)):
            x, y = Buffer("x", dtype, planes * edge * edge), Buffer("y", dtype, planes * out * out)
            params = {"count": planes, "H": edge, "KS": ks, "stride": stride, "BLOCK": block, "dtype": dtype}
            args = (x, y, edge, edge, out, out)
            constants = {"KS": ks, "STRIDE": stride, "BLOCK": block}
            grid = (cdiv(out * out, block), planes)
            found.append(_case("max_pool", params, max_pool, args, constants, grid, 4, x.nbytes + y.nbytes))
    for planes, edge, out in ((64, 56, 112), (512, 64, 128), (16, 256, 512), (256, 28, 224)):
        x, y = Buffer("x", "float32", planes * edge * edge), Buffer("y", "float32", planes * out * out)
        for block in (256, 1024):
            params = {"count": planes, "H": edge, "OH": out, "BLOCK": block}
            args, grid = (x, y, edge, edge, out, out), (cdiv(out * out, block), planes)
            found.append(_case("resize", params, resize, args, {"BLOCK": block}, grid, 4, x.nbytes + y.nbytes))
    for batch, channels, pixels, group in (
        (8, 64, 56 * 56, 8),
        (32, 256, 28 * 28, 8),
        (4, 320, 64 * 64, 10),
        (64, 32, 1024, 1),
    ):
        for block, dtype in ((1024, "float32"), (4096, "float16")):
            x, y = Buffer("x", dtype, batch * channels * pixels), Buffer("y", dtype, batch * channels * pixels)
            params = {"B": batch, "C": channels, "H": pixels, "group": group, "BLOCK": block, "dtype": dtype}
            args = (x, Buffer("w", dtype, channels), y, channels, pixels, group)
            grid = (batch * channels // group,)
            found.append(_case("channel_norm", params, channel_norm, args, {"BLOCK": block}, grid, 4, 2 * x.nbytes))
    for steps, heads, d, bt in ((512, 32, 128, 16), (8192, 32, 64, 64), (8192, 8, 128, 32)):
        for dtype in ("float16", "float32"):
            x, y = Buffer("x", dtype, steps * heads * d), Buffer("y", dtype, steps * heads * d)
            params = {"steps": steps, "H": heads, "D": d, "BT": bt, "dtype": dtype}
            args, grid = (x, y, steps, heads), (cdiv(steps, bt), heads)
            found.append(_case("swap_heads", params, swap_heads, args, {"D": d, "BT": bt}, grid, 4, 2 * x.nbytes))
    for rows, d, table in ((256, 1024, 1 << 14), (8192, 1024, 1 << 15), (65536, 128, 1 << 17)):
        for warps in (1, 4):
            x, y = Buffer("x", "float16", rows * d), Buffer("y", "float16", table * d)
            slots = Buffer("slots", "int64", rows, table)
            params = {"rows": rows, "D": d, "table": table}
            found.append(_case("cache_rows", params, cache_rows, (x, slots, y), {"D": d}, (rows,), warps, 2 * x.nbytes))
    for n, m, d in ((4096, 256, 64), (16384, 1024, 16), (65536, 64, 8)):
        x, c, y = Buffer("x", "float32", n * d), Buffer("c", "float32", m * d), Buffer("y", "float32", n * m)
        for bn, bm in ((64, 64), (128, 32)):
            params = {"n": n, "M": m, "D": d, "BN": bn, "BM": bm}
            constants = {"D": d, "BN": bn, "BM": bm}
            grid = (cdiv(n, bn), cdiv(m, bm))
            found.append(
                _case("distances", params, distances, (x, c, y, n, m), constants, grid, 4, x.nbytes + y.nbytes)
            )
    for batch, steps, channels, block in ((1, 2048, 2048, 128), (8, 2048, 1024, 64), (16, 512, 4096, 256)):
        for dtype in ("float16", "float32"):
            n = batch * steps * channels
            x, a, y = Buffer("x", dtype, n), Buffer("decay", dtype, n), Buffer("y", dtype, n)
            params = {"B": batch, "steps": steps, "C": channels, "BLOCK": block, "dtype": dtype}
            args, grid = (x, a, y, steps, channels), (batch, channels // block)
            warps = max(1, block // 64)
            found.append(_case("state_scan", params, state_scan, args, {"BLOCK": block}, grid, warps, 3 * x.nbytes))
    return found
