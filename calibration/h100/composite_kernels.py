"""The kernels of :mod:`composites`: several classes of work in one program, which of them by constants."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def stage(v, OP: tl.constexpr):
    """One step of work on a tile."""
    if OP == "exp":
        r = tl.exp(v * 0.5)
    elif OP == "gelu":
        r = 0.5 * v * (1.0 + tl.erf(v * 0.70710678))
    elif OP == "trig":
        r = tl.sin(v) * tl.cos(v)
    elif OP == "div":
        r = v / (tl.abs(v) + 1.5)
    elif OP == "where":
        r = tl.where(v > 0.5, v * 2.0, tl.where(v < -0.5, v * 0.1, v))
    elif OP == "norm":
        mean = tl.sum(v, axis=1) * 0.01
        d = v - mean[:, None]
        r = d * tl.rsqrt(tl.sum(d * d, axis=1) * 0.01 + 1e-5)[:, None]
    elif OP == "softmax":
        e = tl.exp(v - tl.max(v, axis=1)[:, None])
        r = e / tl.sum(e, axis=1)[:, None]
    elif OP == "columns":
        r = v - tl.sum(v, axis=0)[None, :] * 0.01
    elif OP == "cumsum":
        r = tl.cumsum(v, axis=1)
    elif OP == "argmax":
        r = v * tl.argmax(v, axis=1)[:, None].to(v.dtype)
    else:
        r = v
    return r


@triton.jit
def composed(x, other, index, y, turns, rows, SOURCE: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr,
             SINK: tl.constexpr, WIDE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):  # fmt: skip
    """Tiles of [rows, C] from a SOURCE through two stages to a SINK, ``turns`` of them a program."""
    r, c = tl.arange(0, R), tl.arange(0, C)
    total = tl.zeros((R, C), dtype=WIDE)
    first = tl.program_id(0) * turns * R
    for turn in range(turns):
        row = first + turn * R + r
        at = row[:, None] * C + c[None, :]
        if SOURCE == "gather":
            v = tl.load(x + tl.load(index + row)[:, None] * C + c[None, :]).to(WIDE)
        elif SOURCE == "turned":
            v = tl.load(x + c[None, :] * rows + row[:, None]).to(WIDE)
        elif SOURCE == "masked":
            inside = (row < rows - 1)[:, None] & (c < C - 3)[None, :]
            v = tl.load(x + at, mask=inside, other=0.0).to(WIDE)
        elif SOURCE == "two":
            v = tl.load(x + at).to(WIDE) * tl.load(other + at).to(WIDE)
        elif SOURCE == "bias":
            v = tl.load(x + at).to(WIDE) * tl.load(other + row)[:, None].to(WIDE) + tl.load(other + c)[None, :].to(WIDE)
        else:
            v = tl.load(x + at).to(WIDE)
        v = stage(v, FIRST)
        v = stage(v, SECOND)
        if SINK == "store":
            tl.store(y + at, v.to(y.dtype.element_ty))
        elif SINK == "number":
            tl.store(y + row, tl.sum(v, axis=1).to(y.dtype.element_ty))
        elif SINK == "atomic":
            tl.atomic_add(y + c, tl.sum(v, axis=0).to(y.dtype.element_ty))
        elif SINK == "scatter":
            tl.atomic_add(y + tl.load(index + row)[:, None] * C + c[None, :], v.to(y.dtype.element_ty))
        else:
            total += v
    if SINK == "keep":
        tl.store(y + (tl.program_id(0) * R + r)[:, None] * C + c[None, :], total.to(y.dtype.element_ty))


@triton.jit
def recurrent(x, other, q, y, steps, FORM: tl.constexpr, WIDE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """A state that stays in registers over ``steps`` of a sequence."""
    r, c = tl.arange(0, R), tl.arange(0, C)
    pid = tl.program_id(0)
    if FORM == "decay" or FORM == "gated":
        h = tl.zeros((C,), dtype=WIDE)
        for t in range(steps):
            at = (pid * steps + t) * C + c
            a = tl.load(other + at).to(WIDE)
            b = tl.load(x + at).to(WIDE)
            if FORM == "decay":
                h = h * tl.exp(-tl.abs(a)) + b
            else:
                f = 1.0 / (1.0 + tl.exp(-a))
                h = f * h + (1.0 - f) * (2.0 / (1.0 + tl.exp(-2.0 * (b + h))) - 1.0)
            tl.store(y + at, h.to(y.dtype.element_ty))
    elif FORM == "newton":
        at = pid * C + c
        a = tl.abs(tl.load(x + at).to(WIDE)) + 1.0
        h = a
        for _ in range(steps):
            h = h - (h * h - a) / (2.0 * h + 1e-3)
        tl.store(y + at, h.to(y.dtype.element_ty))
    else:
        state = tl.zeros((R, C), dtype=WIDE)
        held = tl.load(q + r[:, None] * C + c[None, :]).to(WIDE)
        for t in range(steps):
            k = tl.load(x + (pid * steps + t) * R + r).to(WIDE)
            v = tl.load(other + (pid * steps + t) * C + c).to(WIDE)
            if FORM == "outer":
                state = state * 0.97 + k[:, None] * v[None, :]
            elif FORM == "delta":
                seen = tl.sum(state * k[:, None], axis=0)
                state += k[:, None] * (v - seen)[None, :] * 0.1
            else:
                dt = tl.log(1.0 + tl.exp(k))
                state = state * tl.exp(-dt[:, None] * held) + (dt * k)[:, None] * v[None, :]
            if FORM == "selective":
                out = tl.sum(state * v[None, :], axis=1)
                tl.store(y + (pid * steps + t) * R + r, out.to(y.dtype.element_ty))
            else:
                out = tl.sum(state * held, axis=0)
                tl.store(y + (pid * steps + t) * C + c, out.to(y.dtype.element_ty))


@triton.jit
def attended(q, k, v, bias, y, length, FORM: tl.constexpr, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
             D: tl.constexpr):  # fmt: skip
    """Two products a turn with work between: FORM "softmax", "bias" (loaded), "slope" (worked out), "relu" (no sums)."""
    block, head = tl.program_id(0), tl.program_id(1)
    m, n, d = block * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    base = head.to(tl.int64) * length * D
    a = tl.load(q + base + m[:, None] * D + d[None, :])
    top = tl.full((M,), -1e30, dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    out = tl.zeros((M, D), dtype=tl.float32)
    end = length
    if CAUSAL:
        end = (block + 1) * M
    for start in range(0, end, N):
        j = start + n
        keys = tl.load(k + base + j[:, None] * D + d[None, :])
        s = tl.dot(a, tl.trans(keys)) * 0.1
        if FORM == "bias":
            s += tl.load(bias + m[:, None] * length + j[None, :]).to(tl.float32)
        if FORM == "slope":
            s += (m[:, None] - j[None, :]).to(tl.float32) * -0.01
        if CAUSAL:
            s = tl.where(m[:, None] >= j[None, :], s, -1e30)
        if FORM == "relu":
            p = tl.maximum(s, 0.0)
        else:
            new = tl.maximum(top, tl.max(s, axis=1))
            p = tl.exp(s - new[:, None])
            scale = tl.exp(top - new)
            total = total * scale + tl.sum(p, axis=1)
            out = out * scale[:, None]
            top = new
        values = tl.load(v + base + j[:, None] * D + d[None, :])
        out += tl.dot(p.to(values.dtype), values)
    if FORM != "relu":
        out = out / total[:, None]
    tl.store(y + base + m[:, None] * D + d[None, :], out.to(y.dtype.element_ty))


@triton.jit
def rounds(x, y, count, WORK: tl.constexpr, WIDE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """Rounds of WORK over one tile that a program holds."""
    at = (tl.program_id(0) * R + tl.arange(0, R))[:, None] * C + tl.arange(0, C)[None, :]
    tile = tl.abs(tl.load(x + at).to(WIDE))
    left, right = tl.zeros((R,), dtype=WIDE) + 1.0, tl.zeros((C,), dtype=WIDE) + 1.0
    for _ in range(count):
        if WORK == "scale":
            left = 1.0 / (1e-3 + tl.sum(tile * right[None, :], axis=1))
            right = 1.0 / (1e-3 + tl.sum(tile * left[:, None], axis=0))
        elif WORK == "logs":
            a = right[None, :] - tile
            most = tl.max(a, axis=1)
            left = -most - tl.log(tl.sum(tl.exp(a - most[:, None]), axis=1))
            b = left[:, None] - tile
            top = tl.max(b, axis=0)
            right = -top - tl.log(tl.sum(tl.exp(b - top[None, :]), axis=0))
        elif WORK == "tile":
            tile = tile / (1e-3 + tl.sum(tile, axis=1)[:, None])
            tile = tile / (1e-3 + tl.sum(tile, axis=0)[None, :])
        elif WORK == "bisect":
            above = tl.sum(tl.where(tile > left[:, None], 1.0, 0.0).to(WIDE), axis=1)
            left = tl.where(above > 8.0, left + C * 0.001, left * 0.5)
        elif WORK == "power":
            left = tl.sum(tile * right[None, :], axis=1)
            left = left * tl.rsqrt(tl.sum(left * left, axis=0) + 1e-6)
            right = tl.sum(tile * left[:, None], axis=0)
        else:
            e = tl.exp(tile - tl.max(tile, axis=1)[:, None])
            tile = e / tl.sum(e, axis=1)[:, None]
    tl.store(y + at, (tile * left[:, None] + right[None, :]).to(y.dtype.element_ty))


@triton.jit
def norm_back(x, dy, w, stats, dx, dw, cols, part, FORM: tl.constexpr, SINK: tl.constexpr, C: tl.constexpr):
    """Gradients of a norm, ``part`` rows a program, those of the weights kept and stored a program, or added row by row."""
    c = tl.arange(0, C)
    inside = c < cols
    weight = tl.load(w + c, mask=inside, other=0.0).to(tl.float32)
    grad_w = tl.zeros((C,), dtype=tl.float32)
    grad_b = tl.zeros((C,), dtype=tl.float32)
    for i in range(part):
        row = tl.program_id(0) * part + i
        v = tl.load(x + row * cols + c, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(dy + row * cols + c, mask=inside, other=0.0).to(tl.float32)
        scale = tl.load(stats + 2 * row)
        if FORM == "layer":
            v = v - tl.load(stats + 2 * row + 1)
        v = tl.where(inside, v * scale, 0.0)
        wg = weight * g
        along = tl.sum(v * wg, axis=0) / cols
        d = wg - v * along
        if FORM == "layer":
            d = d - tl.sum(wg, axis=0) / cols
        tl.store(dx + row * cols + c, (d * scale).to(dx.dtype.element_ty), mask=inside)
        if SINK == "atomic":
            tl.atomic_add(dw + c, g * v, mask=inside)
        else:
            grad_w += g * v
            grad_b += g
    if SINK != "atomic":
        tl.store(dw + tl.program_id(0) * 2 * cols + c, grad_w, mask=inside)
        tl.store(dw + (tl.program_id(0) * 2 + 1) * cols + c, grad_b, mask=inside)


@triton.jit
def long_rows(x, w, y, cols, FORM: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """A row a program, in blocks, in one pass or several."""
    c = tl.arange(0, BLOCK)
    base = tl.program_id(0).to(tl.int64) * cols
    top = tl.full((BLOCK,), -1e30, dtype=WIDE)
    total = tl.zeros((BLOCK,), dtype=WIDE)
    square = tl.zeros((BLOCK,), dtype=WIDE)
    carried = tl.sum(total, axis=0)
    most = carried - 1e30
    if FORM == "softmax":
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=-1e30).to(WIDE)
            top = tl.maximum(top, v)
        most = tl.max(top, axis=0)
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=-1e30).to(WIDE)
            total += tl.exp(v - most)
        sums = tl.sum(total, axis=0)
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=-1e30).to(WIDE)
            tl.store(y + base + start + c, (tl.exp(v - most) / sums).to(y.dtype.element_ty), mask=start + c < cols)
    elif FORM == "norm":
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=0.0).to(WIDE)
            total += v
            square += v * v
        mean = tl.sum(total, axis=0) / cols
        scale = 1.0 / tl.sqrt(tl.abs(tl.sum(square, axis=0) / cols - mean * mean) + 1e-5)
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=0.0).to(WIDE)
            weight = tl.load(w + start + c, mask=start + c < cols, other=0.0).to(WIDE)
            tl.store(y + base + start + c, ((v - mean) * scale * weight).to(y.dtype.element_ty), mask=start + c < cols)
    elif FORM == "online":
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=-1e30).to(WIDE)
            new = tl.maximum(most, tl.max(v, axis=0))
            carried = carried * tl.exp(most - new) + tl.sum(tl.exp(v - new), axis=0)
            most = new
        tl.store(y + tl.program_id(0), (most + tl.log(carried)).to(y.dtype.element_ty))
    elif FORM == "cumulative":
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=0.0).to(WIDE)
            tl.store(
                y + base + start + c, (tl.cumsum(v, axis=0) + carried).to(y.dtype.element_ty), mask=start + c < cols
            )
            carried += tl.sum(v, axis=0)
    else:
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=0.0).to(WIDE)
            e = tl.exp(-v * v) * tl.load(w + start + c, mask=start + c < cols, other=0.0).to(WIDE)
            total += e
            square += e * tl.sqrt(tl.abs(v))
        tl.store(y + tl.program_id(0), (tl.sum(total, axis=0) + tl.sum(square, axis=0)).to(y.dtype.element_ty))


@triton.jit
def neighbour(base, row, column, h, w, tap, here, total, weights, WORK: tl.constexpr, RADIUS: tl.constexpr):
    """What one neighbour adds."""
    r, c = row + tap // (2 * RADIUS + 1) - RADIUS, column + tap % (2 * RADIUS + 1) - RADIUS
    v = tl.load(base + r * w + c, mask=(r >= 0) & (r < h) & (c >= 0) & (c < w), other=0.0).to(tl.float32)
    if WORK == "bilateral":
        near = tl.exp(-(v - here) * (v - here))
        total += near * v
        weights += near
    elif WORK == "largest":
        total = tl.maximum(total, v)
    elif WORK == "moments":
        total += v
        weights += v * v
    else:
        total += tl.where(v > here, 1.0, 0.0)
    return total, weights


@triton.jit
def windowed(x, y, h, w, WORK: tl.constexpr, RADIUS: tl.constexpr, UNROLLED: tl.constexpr, BY: tl.constexpr,
             BX: tl.constexpr):  # fmt: skip
    """Work on each neighbour of each point of planes."""
    tile = tl.program_id(0)
    across = tl.cdiv(w, BX)
    row = (tile // across) * BY + tl.arange(0, BY)[:, None]
    column = (tile % across) * BX + tl.arange(0, BX)[None, :]
    base = x + tl.program_id(1) * h * w
    inside = (row < h) & (column < w)
    here = tl.load(base + row * w + column, mask=inside, other=0.0).to(tl.float32)
    total = tl.zeros((BY, BX), dtype=tl.float32)
    weights = tl.zeros((BY, BX), dtype=tl.float32)
    if UNROLLED:
        for tap in tl.static_range((2 * RADIUS + 1) * (2 * RADIUS + 1)):
            total, weights = neighbour(base, row, column, h, w, tap, here, total, weights, WORK, RADIUS)
    else:
        for tap in range((2 * RADIUS + 1) * (2 * RADIUS + 1)):
            total, weights = neighbour(base, row, column, h, w, tap, here, total, weights, WORK, RADIUS)
    tl.store(y + tl.program_id(1) * h * w + row * w + column, total / (weights + 1.0), mask=inside)


@triton.jit
def walked(x, other, y, steps, WORK: tl.constexpr, LANES: tl.constexpr, STORES: tl.constexpr):
    """A recurrence of one number a program (LANES 1) or a lane, each in its row, with WORK in each step."""
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    h = tl.zeros((LANES,), dtype=tl.float32)
    least = tl.zeros((LANES,), dtype=tl.float32)
    for t in range(steps):
        v = tl.load(x + lane * steps + t)
        if WORK == "exp":
            h = tl.exp(-tl.abs(h)) * v + 0.1
        elif WORK == "div":
            h = v / (1.5 + h * h)
        elif WORK == "two":
            a = tl.load(other + lane * steps + t)
            h = tl.maximum(h + a, v)
            least = tl.minimum(least, h) * 0.9
        elif WORK == "branch":
            h = tl.where(h > 1.0, h * 0.5 + v, tl.where(v < 0.0, -v, h + v))
        else:
            h = h * 0.9 + v
        if STORES:
            tl.store(y + lane * steps + t, h)
    tl.store(y + lane, h + least)


@triton.jit
def edges(x, source, target, y, width, WORK: tl.constexpr, SINK: tl.constexpr, E: tl.constexpr, C: tl.constexpr):
    """Rows from both ends of E edges a program, WORK on them, to a SINK."""
    e, c = tl.program_id(0) * E + tl.arange(0, E), tl.arange(0, C)
    s, t = tl.load(source + e), tl.load(target + e)
    a = tl.load(x + s[:, None] * width + c[None, :]).to(tl.float32)
    if WORK == "copy":
        m = a
    else:
        b = tl.load(x + t[:, None] * width + c[None, :]).to(tl.float32)
        if WORK == "score":
            m = a * tl.exp(tl.sum(a * b, axis=1) * 0.01)[:, None]
        elif WORK == "distance":
            m = (a - b) * (a - b)
        else:
            m = a / (1.0 + tl.exp(-b))
    if SINK == "row":
        tl.atomic_add(y + t[:, None] * width + c[None, :], m)
    elif SINK == "number":
        tl.atomic_add(y + t, tl.sum(m, axis=1))
    elif SINK == "store":
        tl.store(y + e[:, None] * width + c[None, :], m)
    else:
        tl.store(y + e, tl.sum(m, axis=1))


@triton.jit
def worked_product(x, w, scale, y, M, N, K, BEFORE: tl.constexpr, AFTER: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
                   DEPTH: tl.constexpr):  # fmt: skip
    """A product with work on an operand BEFORE it and on the result AFTER it."""
    i, j = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for start in range(0, K, DEPTH):
        k = start + tl.arange(0, DEPTH)
        a = tl.load(x + i[:, None] * K + k[None, :])
        b = tl.load(w + j[None, :] * K + k[:, None])
        if BEFORE == "scaled":
            b = (b.to(tl.float32) * tl.load(scale + j)[None, :]).to(x.dtype.element_ty)
        elif BEFORE == "wide":
            b = b.to(x.dtype.element_ty)
        elif BEFORE == "silu":
            v = a.to(tl.float32)
            a = (v / (1.0 + tl.exp(-v))).to(x.dtype.element_ty)
            b = b.to(x.dtype.element_ty)
        elif BEFORE == "shifted":
            b = ((b.to(tl.int32) >> 2) - 8).to(x.dtype.element_ty)
        total = tl.dot(a, b, total)
    if AFTER == "gelu":
        total = 0.5 * total * (1.0 + tl.erf((total + tl.load(scale + j)[None, :]) * 0.70710678))
    elif AFTER == "softmax":
        e = tl.exp(total - tl.max(total, axis=1)[:, None])
        total = e / tl.sum(e, axis=1)[:, None]
    if AFTER == "sums":
        tl.atomic_add(y + i, tl.sum(total * total, axis=1))
    else:
        tl.store(y + i[:, None] * N + j[None, :], total.to(y.dtype.element_ty))


@triton.jit
def small_map(x, y, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    """A link of a graph: an operation on every element."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, stage(v, OP), mask=at < n)


@triton.jit
def small_rows(x, y, OP: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """A link of a graph: work on rows of C."""
    at = (tl.program_id(0) * R + tl.arange(0, R))[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(y + at, stage(tl.load(x + at), OP))


@triton.jit
def small_product(x, w, y, C: tl.constexpr, R: tl.constexpr):
    """A link of a graph: rows of C times a matrix of C x C."""
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, C)
    a = tl.load(x + r[:, None] * C + c[None, :])
    b = tl.load(w + c[:, None] * C + c[None, :])
    tl.store(y + r[:, None] * C + c[None, :], tl.dot(a, b))
