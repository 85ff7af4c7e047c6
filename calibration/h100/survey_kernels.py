"""The kernels of :mod:`survey`: one class of access, instruction, reduction or shape of grid each, its variants by constants."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def apply(v, w, OP: tl.constexpr):
    """One operation on ``v``; ``w`` is a second operand."""
    if OP == "add":
        r = v + w
    elif OP == "fma":
        r = v * w + w
    elif OP == "div":
        r = w / (v + 2.5)
    elif OP == "exp":
        r = tl.exp(-v * v)
    elif OP == "exp2":
        r = tl.exp2(-v * v)
    elif OP == "log":
        r = tl.log(v * v + 2.0)
    elif OP == "sin":
        r = tl.sin(v)
    elif OP == "sqrt":
        r = tl.sqrt(v * v + 1.0)
    elif OP == "rsqrt":
        r = tl.rsqrt(v * v + 1.0)
    elif OP == "erf":
        r = tl.erf(v)
    elif OP == "sigmoid":
        r = tl.sigmoid(v)
    elif OP == "tanh":
        r = tl.extra.cuda.libdevice.tanh(v)
    elif OP == "pow":
        r = tl.extra.cuda.libdevice.pow(v * v + 0.5, w)
    elif OP == "floor":
        r = tl.floor(v * 3.0) * w
    elif OP == "where":
        r = tl.where(v > w, v * w, w - v)
    elif OP == "clamp":
        r = tl.minimum(tl.maximum(v + w, -1.0), 1.0)
    elif OP == "idiv":
        r = v // (w | 1)
    elif OP == "imod":
        r = v % (w | 1)
    elif OP == "idiv7":
        r = v // 7 + w
    elif OP == "xor":
        r = (v ^ w) * 5 + 1
    elif OP == "shift":
        r = (v >> 4) ^ (v << 3)
    elif OP == "fp8":
        r = (v + w).to(tl.float8e4nv).to(tl.float32)
    elif OP == "fp16":
        r = (v + w).to(tl.float16).to(tl.float32)
    elif OP == "int":
        r = (v * 100.0).to(tl.int32).to(tl.float32)
    else:
        r = v
    return r


@triton.jit
def mapped(
    x, other, y, n, OP: tl.constexpr, TWO: tl.constexpr, WIDE: tl.constexpr, TWICE: tl.constexpr, BLOCK: tl.constexpr
):
    """An operation on every element, programs taking blocks in turns."""
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < n
        v = tl.load(x + at, mask=inside, other=0).to(WIDE)
        w = v
        if TWO:
            w = tl.load(other + at, mask=inside, other=0).to(WIDE)
        v = apply(v, w, OP)
        if TWICE:
            v = apply(v, w, OP)
        tl.store(y + at, v.to(y.dtype.element_ty), mask=inside)


@triton.jit
def drawn(y, n, seed, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """Random numbers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if KIND == "rand":
        v = tl.rand(seed, at)
    elif KIND == "randn":
        v = tl.randn(seed, at)
    else:
        v = (tl.randint(seed, at) & 1023).to(tl.float32)
    tl.store(y + at, v, mask=at < n)


@triton.jit
def moved(x, index, y, n, width, ACCESS: tl.constexpr, BLOCK: tl.constexpr):
    """A copy through an ACCESS of its own, a block a program. ``width``: columns of x where it is a matrix."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    if ACCESS == "reverse":
        source = n - 1 - at
    elif ACCESS == "stride2":
        source = at * 2
    elif ACCESS == "stride3":
        source = at * 3
    elif ACCESS == "stride16":
        source = at * 16
    elif ACCESS == "halves":
        source = at // 2
    elif ACCESS == "shrink":
        source = (at // width) * 4 * width + (at % width) * 2
    elif ACCESS == "transpose":
        source = (at % width) * (n // width) + at // width
    elif ACCESS == "planes":
        source = (at % (n // 3)) * 3 + at // (n // 3)
    elif ACCESS == "shuffle":
        source = (at // 64) * 64 + (at % 8) * 8 + (at // 8) % 8
    elif ACCESS == "indexed":
        source = tl.load(index + at, mask=inside, other=0)
    elif ACCESS == "rows":
        source = tl.load(index + at // width, mask=inside, other=0) * width + at % width
    else:
        source = at + 1
    tl.store(y + at, tl.load(x + source, mask=inside, other=0.0), mask=inside)


@triton.jit
def scalars(x, y, steps, across, CARRY: tl.constexpr, STORES: tl.constexpr):
    """One number a step: a program a row (``across`` 1) or a column of a matrix with so many columns."""
    row = tl.program_id(0)
    at = row * steps if across == 1 else row
    state = 0.0
    for step in range(steps):
        value = tl.load(x + at + step * across).to(tl.float32)
        if CARRY:
            state = state * 0.9 + value
        else:
            state = tl.maximum(state, value)
        if STORES:
            tl.store(y + at + step * across, state)
    tl.store(y + row, state)


@triton.jit
def lanes_walk(x, y, rows, steps, ALONG: tl.constexpr, STORES: tl.constexpr, BLOCK: tl.constexpr):
    """A recurrence a lane: lanes beside each other in memory (ALONG), or each in its row; backwards."""
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lane < rows
    state = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(steps):
        step = steps - 1 - i
        at = step * rows + lane if ALONG else lane * steps + step
        state = state * 0.95 + tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        if STORES:
            tl.store(y + at, state, mask=inside)
    tl.store(y + lane, state, mask=inside)


@triton.jit
def scan_add(a, b):
    return a + b


@triton.jit
def folded(x, y, turns, OP: tl.constexpr, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """A reduction or a scan of a tile along AXIS, so many tiles one after the other."""
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    total = tl.zeros((R, C), dtype=tl.float32)
    base = tl.program_id(0) * turns * R * C
    for turn in range(turns):
        v = tl.load(x + base + turn * R * C + r * C + c).to(tl.float32)
        if OP == "sum":
            total += v - tl.expand_dims(tl.sum(v, axis=AXIS), AXIS)
        elif OP == "max":
            total += v - tl.expand_dims(tl.max(v, axis=AXIS), AXIS)
        elif OP == "argmax":
            total += v * tl.expand_dims(tl.argmax(v, axis=AXIS), AXIS).to(tl.float32)
        elif OP == "cumsum":
            total += tl.cumsum(v, axis=AXIS)
        elif OP == "scan":
            total += tl.associative_scan(v, AXIS, scan_add)
        elif OP == "softmax":
            e = tl.exp(v - tl.expand_dims(tl.max(v, axis=AXIS), AXIS))
            total += e / tl.expand_dims(tl.sum(e, axis=AXIS), AXIS)
        else:
            total += tl.sort(v, 1)
    tl.store(y + tl.program_id(0) * R * C + r * C + c, total)


@triton.jit
def column_sums(x, other, stats, y, rows, cols, part, INPUTS: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """Sums over ``part`` rows of a strip of columns; of one input, of two, or of two and a number a row."""
    column = tl.program_id(0) * C + tl.arange(0, C)
    total = tl.zeros((R, C), dtype=tl.float32)
    beside = tl.zeros((R, C), dtype=tl.float32)
    first = tl.program_id(1) * part
    for start in range(first, first + part, R):
        row = start + tl.arange(0, R)
        at = row[:, None] * cols + column[None, :]
        inside = (row < rows)[:, None] & (column < cols)[None, :]
        v = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        total += v
        if INPUTS > 1:
            w = tl.load(other + at, mask=inside, other=0.0).to(tl.float32)
            if INPUTS > 2:
                w = w * tl.load(stats + row, mask=row < rows, other=0.0)[:, None]
            beside += v * w
    out = tl.program_id(1) * cols + column
    tl.store(y + out, tl.sum(total, axis=0) + tl.sum(beside, axis=0), mask=column < cols)


@triton.jit
def stencil(x, weight, y, planes, h, w, RADIUS: tl.constexpr, FORM: tl.constexpr, WEIGHTS: tl.constexpr,
            WIDE: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr):  # fmt: skip
    """Taps around each point of [planes, h, w]. FORM: "row" and "column" along one axis, "square" of all, "cross" of both axes;
    WEIGHTS "loaded" by number or "given"."""
    tile = tl.program_id(0)
    across = tl.cdiv(w, BX)
    row = (tile // across) * BY + tl.arange(0, BY)[:, None]
    column = (tile % across) * BX + tl.arange(0, BX)[None, :]
    base = x + tl.program_id(1) * h * w
    inside = (row < h) & (column < w)
    total = tl.zeros((BY, BX), dtype=WIDE)
    for dy in tl.static_range(-RADIUS, RADIUS + 1):
        for dx in tl.static_range(-RADIUS, RADIUS + 1):
            if (FORM == "square" or dx == 0 or (FORM == "row" or FORM == "cross")) and (
                FORM == "square" or dy == 0 or (FORM == "column" or FORM == "cross")
            ) and (FORM != "cross" or dx == 0 or dy == 0):  # fmt: skip
                r, c = row + dy, column + dx
                there = inside & (r >= 0) & (r < h) & (c >= 0) & (c < w)
                value = tl.load(base + r * w + c, mask=there, other=0).to(WIDE)
                if WEIGHTS == "loaded":
                    total += value * tl.load(weight + (dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS).to(WIDE)
                else:
                    total += value * (0.25 / (1 + dy * dy + dx * dx))
    tl.store(y + tl.program_id(1) * h * w + row * w + column, total.to(y.dtype.element_ty), mask=inside)


@triton.jit
def flat_taps(x, weight, y, n, length, channels, TAPS: tl.constexpr, UNROLLED: tl.constexpr, BLOCK: tl.constexpr):
    """Taps along an axis of [n / length / channels, length, channels], a flat block a program."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    place = (at // channels) % length
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    if UNROLLED:
        for tap in tl.static_range(TAPS):
            near = tl.minimum(tl.maximum(place + tap - TAPS // 2, 0), length - 1)
            total += tl.load(x + at + (near - place) * channels, mask=inside, other=0).to(tl.float32) * tl.load(
                weight + tap
            )
    else:
        for tap in range(TAPS):
            near = tl.minimum(tl.maximum(place + tap - TAPS // 2, 0), length - 1)
            total += tl.load(x + at + (near - place) * channels, mask=inside, other=0).to(tl.float32) * tl.load(
                weight + tap
            )
    tl.store(y + at, total.to(y.dtype.element_ty), mask=inside)


@triton.jit
def followed(index, y, depth, LANES: tl.constexpr):
    """Loads dependent on loads: ``depth`` times from index to index, by one number or by so many lanes."""
    at = tl.load(index + tl.program_id(0) * LANES + tl.arange(0, LANES))
    for _ in range(depth):
        at = tl.load(index + at)
    tl.store(y + tl.program_id(0) * LANES + tl.arange(0, LANES), at)


@triton.jit
def bagged(x, index, y, width, FORM: tl.constexpr, COUNT: tl.constexpr, C: tl.constexpr):
    """The sum of COUNT rows of x that index names. FORM: "loop" a row a turn, "static" the same unrolled, "tile" all at once, "max"
    by tiles of 8."""
    bag, column = tl.program_id(0), tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros((C,), dtype=tl.float32)
    if FORM == "loop":
        for k in range(COUNT):
            row = tl.load(index + bag * COUNT + k)
            total += tl.load(x + row * width + column).to(tl.float32)
    elif FORM == "static":
        for k in tl.static_range(COUNT):
            row = tl.load(index + bag * COUNT + k)
            total += tl.load(x + row * width + column).to(tl.float32)
    elif FORM == "tile":
        row = tl.load(index + bag * COUNT + tl.arange(0, COUNT))
        total = tl.sum(tl.load(x + row[:, None] * width + column[None, :]).to(tl.float32), axis=0)
    else:
        for k in range(0, COUNT, 4):
            row = tl.load(index + bag * COUNT + k + tl.arange(0, 4))
            total = tl.maximum(
                total, tl.max(tl.load(x + row[:, None] * width + column[None, :]).to(tl.float32), axis=0)
            )
    tl.store(y + bag * width + column, total)


@triton.jit
def added(x, index, y, n, targets, FORM: tl.constexpr, OP: tl.constexpr, BLOCK: tl.constexpr):
    """Atomics. FORM: "indexed" an element to where index says, "modulo" to its number modulo ``targets``, "number" one number a
    program, "turns" a program's blocks one after the other to the same places."""
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    if FORM == "turns":
        for start in range(pid * BLOCK, n, tl.num_programs(0) * BLOCK):
            tl.atomic_add(y + lane % targets, tl.load(x + start + lane))
    elif FORM == "number":
        value = tl.load(x + pid * BLOCK + lane)
        if OP == "max":
            tl.atomic_max(y + pid % targets, tl.max(value, axis=0))
        else:
            tl.atomic_add(y + pid % targets, tl.sum(value, axis=0))
    else:
        at = pid * BLOCK + lane
        where = at % targets
        if FORM == "indexed":
            where = tl.load(index + at)
        value = tl.load(x + at)
        if OP == "max":
            tl.atomic_max(y + where, value)
        else:
            tl.atomic_add(y + where, value)


@triton.jit
def paired(points, centres, y, n, OP: tl.constexpr, WIDE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """For each centre the sum over all points of an operation on their difference."""
    row = tl.program_id(0) * R + tl.arange(0, R)
    a = tl.load(centres + row).to(WIDE)
    total = tl.zeros((R, C), dtype=WIDE)
    for start in range(0, n, C):
        b = tl.load(points + start + tl.arange(0, C)).to(WIDE)
        total += apply(a[:, None] - b[None, :], b[None, :] + a[:, None], OP)
    tl.store(y + row, tl.sum(total, axis=1).to(tl.float32))


@triton.jit
def queried(q, k, v, y, length, ONLINE: tl.constexpr, D: tl.constexpr, T: tl.constexpr):
    """One query over ``length`` keys and values, by tiles of T: an online softmax, or scores alone."""
    head = tl.program_id(0)
    d, t = tl.arange(0, D), tl.arange(0, T)
    query = tl.load(q + head * D + d).to(tl.float32)
    top, below = -1.0e30, 0.0
    total = tl.zeros((D,), dtype=tl.float32)
    for start in range(0, length, T):
        at = (head * length + start + t)[:, None] * D + d[None, :]
        scores = tl.sum(tl.load(k + at).to(tl.float32) * query[None, :], axis=1)
        if ONLINE:
            new = tl.maximum(top, tl.max(scores, axis=0))
            e = tl.exp(scores - new)
            old = tl.exp(top - new)
            below = below * old + tl.sum(e, axis=0)
            total = total * old + tl.sum(e[:, None] * tl.load(v + at).to(tl.float32), axis=0)
            top = new
        else:
            tl.store(y + head * length + start + t, scores)
    if ONLINE:
        tl.store(y + head * D + d, total / below)


@triton.jit
def multiplied(a, b, y, M, N, K, ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr, TURNED: tl.constexpr):
    """A batch of products, a tile a program."""
    batch = tl.program_id(2)
    m, n = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for start in range(0, K, DEPTH):
        k = start + tl.arange(0, DEPTH)
        left = tl.load(a + batch * M * K + m[:, None] * K + k[None, :], mask=(m < M)[:, None], other=0.0)
        if TURNED:
            right = tl.load(b + batch * N * K + n[None, :] * K + k[:, None], mask=(n < N)[None, :], other=0.0)
        else:
            right = tl.load(b + batch * N * K + k[:, None] * N + n[None, :], mask=(n < N)[None, :], other=0.0)
        total = tl.dot(left, right, total)
    at = batch * M * N + m[:, None] * N + n[None, :]
    tl.store(y + at, total.to(y.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])
