"""A survey of what programs are made of: each class of access, instruction, reduction and shape of grid, drawn evenly.

Every family below has its axes (how memory is walked, which operation, which type, how many programs of how much work), of whose
product a fixed number of cases is drawn at random, whatever the model makes of them. Nobody chose a case because a program of
some set looks like it: the file tells how far the model is off on a class, fitted or not.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import triton
import triton.language as tl
from case import BYTES, Buffer, Case, Launch, cdiv, micro

SEED = 20261129
#: Elements of the smallest and the largest walks: launches that are mostly floor, and twice the L2.
SIZES = (1 << 16, 1 << 19, 1 << 22, 1 << 23, 3 << 22, 1 << 24, 1 << 26)


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


Params = Mapping[str, Any]
FLOATS = ("add", "fma", "div", "exp", "exp2", "log", "sin", "sqrt", "rsqrt", "erf", "sigmoid", "tanh", "pow", "floor", "where",
          "clamp", "fp8", "fp16", "int")  # fmt: skip
DOUBLES = ("add", "fma", "div", "exp", "log", "sin", "sqrt", "rsqrt", "erf", "pow", "where")
#: Operations on two operands.
TWO = frozenset({"add", "fma", "div", "pow", "floor", "where", "clamp", "idiv", "imod", "idiv7", "xor", "fp8", "fp16"})
INTEGERS = ("idiv", "imod", "idiv7", "xor", "shift", "add")


def map_case(p: Params) -> Case | None:
    """`mapped`: the type decides which operations there are."""
    wide = "float32" if p["dtype"] in ("float16", "bfloat16", "float32") else p["dtype"]
    known = DOUBLES if wide == "float64" else INTEGERS if wide.startswith("int") else FLOATS
    programs = p["programs"] or cdiv(p["n"], p["BLOCK"])
    if p["op"] not in known or p["n"] // programs > 1 << 19 or p["BLOCK"] // p["num_warps"] // 32 not in (1, 4, 8, 16):
        return None
    x, other, y = (Buffer(name, p["dtype"], p["n"]) for name in ("x", "other", "y"))
    constants = {
        "OP": p["op"],
        "TWO": p["op"] in TWO,
        "WIDE": getattr(tl, wide),
        "TWICE": p["twice"],
        "BLOCK": p["BLOCK"],
    }
    return micro("mapped", dict(p), Launch(mapped, (x, other, y, p["n"]), constants, (programs,), p["num_warps"]),
                 bytes=(2 + (p["op"] in TWO)) * x.nbytes)  # fmt: skip


def draw_case(p: Params) -> Case | None:
    """`drawn`."""
    y = Buffer("y", "float32", p["n"])
    launch = Launch(drawn, (y, p["n"], 1234), {"KIND": p["kind"], "BLOCK": p["BLOCK"]}, (cdiv(p["n"], p["BLOCK"]),))
    return micro("drawn", dict(p), launch, bytes=y.nbytes)


def move_case(p: Params) -> Case | None:
    """`moved`: ``reach`` is how many times the elements of the result its source spans."""
    n, width = p["n"], 64 if p["access"] == "rows" else 1024
    if p["access"] == "planes":
        n = n // 3 * 3
    reach = {"stride2": 2, "stride3": 3, "stride16": 16, "shrink": 4}.get(p["access"], 1)
    indexed = p["access"] in ("indexed", "rows")
    if n * reach > 1 << 26 or (not indexed and p["order"] != "random"):
        return None
    below = n if p["access"] == "indexed" else n // width
    x, y = Buffer("x", p["dtype"], n * reach + 1), Buffer("y", p["dtype"], n)
    index = Buffer("index", "int32", n if p["access"] == "indexed" else max(16, n // width), max(1, below), p["order"])
    launch = Launch(moved, (x, index, y, n, width), {"ACCESS": p["access"], "BLOCK": p["BLOCK"]},
                    (cdiv(n, p["BLOCK"]),), p["num_warps"])  # fmt: skip
    return micro("moved", dict(p), launch, bytes=2 * y.nbytes)


def scalar_case(p: Params) -> Case | None:
    """`scalars`."""
    n = p["programs"] * p["steps"]
    if n > 1 << 23:
        return None
    across = 1 if p["along"] else p["programs"]
    launch = Launch(scalars, (Buffer("x", p["dtype"], n), Buffer("out", "float32", n), p["steps"], across),
                    {"CARRY": p["carry"], "STORES": p["stores"]}, (p["programs"],), p["num_warps"])  # fmt: skip
    return micro("scalars", dict(p), launch, bytes=n * BYTES[p["dtype"]])


def lane_case(p: Params) -> Case | None:
    """`lanes_walk`."""
    n = p["rows"] * p["steps"]
    if n > 1 << 25:
        return None
    launch = Launch(lanes_walk, (Buffer("x", p["dtype"], n), Buffer("out", "float32", n), p["rows"], p["steps"]),
                    {"ALONG": p["along"], "STORES": p["stores"], "BLOCK": p["BLOCK"]},
                    (cdiv(p["rows"], p["BLOCK"]),), max(1, min(4, p["BLOCK"] // 32)))  # fmt: skip
    return micro("lanes_walk", dict(p), launch, bytes=n * BYTES[p["dtype"]])


def fold_case(p: Params) -> Case | None:
    """`folded`: sorts along the last axis alone."""
    tile = p["R"] * p["C"]
    each = tile // p["num_warps"] // 32
    if (
        not 1 <= each <= 64
        or p["programs"] * p["turns"] * tile > 1 << 25
        or (p["op"] == "sort" and (not p["axis"] or tile > 4096))
    ):
        return None
    launch = Launch(folded, (Buffer("x", p["dtype"], p["programs"] * p["turns"] * tile), Buffer("out", "float32", p["programs"] * tile),
                             p["turns"]), {"OP": p["op"], "AXIS": p["axis"], "R": p["R"], "C": p["C"]}, (p["programs"],),
                    p["num_warps"])  # fmt: skip
    return micro("folded", dict(p), launch, bytes=p["programs"] * tile * 4)


def column_case(p: Params) -> Case | None:
    """`column_sums`: rows are dealt out to ``parts`` programs a strip."""
    part = cdiv(p["rows"], p["parts"])
    each = p["R"] * p["C"] // p["num_warps"] // 32
    if p["rows"] * p["cols"] > 1 << 26 or not 1 <= each <= 32 or part < p["R"] or p["C"] > p["cols"]:
        return None
    x, other = (Buffer(name, p["dtype"], p["rows"] * p["cols"]) for name in ("x", "other"))
    launch = Launch(column_sums, (x, other, Buffer("stats", "float32", p["rows"]), Buffer("sums", "float32", p["parts"] * p["cols"]),
                                  p["rows"], p["cols"], part), {"INPUTS": p["inputs"], "R": p["R"], "C": p["C"]},
                    (cdiv(p["cols"], p["C"]), p["parts"]), p["num_warps"])  # fmt: skip
    return micro("column_sums", dict(p), launch, bytes=min(2, p["inputs"]) * x.nbytes)


def stencil_case(p: Params) -> Case | None:
    """`stencil`."""
    by, bx = p["tile"]
    wide = "float64" if p["dtype"] == "float64" else "float32"
    each = by * bx // p["num_warps"] // 32
    n = p["planes"] * p["side"] ** 2
    taps = (2 * p["radius"] + 1) ** 2 if p["form"] == "square" else 2 * p["radius"] + 1
    if not 1 <= each <= 16 or n > 1 << 25 or taps > 49:
        return None
    params = {**p, "tile": f"{by}x{bx}"}
    x, y = Buffer("x", p["dtype"], n), Buffer("y", p["dtype"], n)
    constants = {
        "RADIUS": p["radius"],
        "FORM": p["form"],
        "WEIGHTS": p["weights"],
        "WIDE": getattr(tl, wide),
        "BY": by,
        "BX": bx,
    }
    launch = Launch(stencil, (x, Buffer("weight", wide, 256), y, p["planes"], p["side"], p["side"]), constants,
                    (cdiv(p["side"], by) * cdiv(p["side"], bx), p["planes"]), p["num_warps"])  # fmt: skip
    return micro("stencil", params, launch, bytes=2 * x.nbytes)


def tap_case(p: Params) -> Case | None:
    """`flat_taps`."""
    n = p["n"] // (p["length"] * p["channels"]) * p["length"] * p["channels"]
    if not n:
        return None
    x, y = Buffer("x", p["dtype"], n), Buffer("y", p["dtype"], n)
    constants = {"TAPS": p["taps"], "UNROLLED": p["unrolled"], "BLOCK": p["BLOCK"]}
    launch = Launch(flat_taps, (x, Buffer("weight", "float32", 64), y, n, p["length"], p["channels"]), constants,
                    (cdiv(n, p["BLOCK"]),))  # fmt: skip
    return micro("flat_taps", dict(p), launch, bytes=2 * x.nbytes)


def follow_case(p: Params) -> Case | None:
    """`followed`."""
    if p["programs"] * p["lanes"] > p["table"]:
        return None
    launch = Launch(followed, (Buffer("chain", "int32", p["table"], p["table"], p["order"]),
                               Buffer("found", "int32", p["programs"] * p["lanes"]), p["depth"]),
                    {"LANES": p["lanes"]}, (p["programs"],), max(1, min(4, p["lanes"] // 32)))  # fmt: skip
    return micro("followed", dict(p), launch)


def bag_case(p: Params) -> Case | None:
    """`bagged`."""
    if p["C"] > p["cols"] or (p["form"] == "tile" and p["count"] * p["C"] > 8192):
        return None
    x = Buffer("x", p["dtype"], p["table"] * p["cols"])
    args = (x, Buffer("bags", "int32", p["programs"] * p["count"], p["table"], p["order"]),
            Buffer("out", "float32", p["programs"] * p["cols"]), p["cols"])  # fmt: skip
    if x.nbytes > 1 << 28 or p["programs"] * p["count"] * p["cols"] > 1 << 27:
        return None
    launch = Launch(bagged, args, {"FORM": p["form"], "COUNT": p["count"], "C": p["C"]},
                    (p["programs"], p["cols"] // p["C"]), p["num_warps"])  # fmt: skip
    return micro("bagged", dict(p), launch, bytes=p["programs"] * p["cols"] * 4)


def add_case(p: Params) -> Case | None:
    """`added`; what halves and doubles cannot do is left out, and so is what would take seconds."""
    half = p["dtype"] in ("float16", "bfloat16")
    n = p["programs"] * p["BLOCK"]
    if p["op"] == "max" and (p["form"] == "turns" or half or p["dtype"] == "float64"):
        return None
    if p["form"] == "turns":
        n, programs = 1 << 20, min(p["programs"], 528)
    else:
        programs = p["programs"]
    operations = programs if p["form"] == "number" else n
    if (
        n > 1 << 24
        or operations / p["targets"] > (1 << 10 if half else 1 << 20)
        or (p["order"] != "random" and p["form"] != "indexed")
    ):
        return None
    args = (Buffer("x", p["dtype"], n), Buffer("places", "int32", n, p["targets"], p["order"]),
            Buffer("added", p["dtype"], max(16, p["targets"])), n, p["targets"])  # fmt: skip
    launch = Launch(added, args, {"FORM": p["form"], "OP": p["op"], "BLOCK": p["BLOCK"]}, (programs,))
    return micro("added", dict(p), launch, bytes=n * BYTES[p["dtype"]])


def pair_case(p: Params) -> Case | None:
    """`paired`."""
    each = p["R"] * p["C"] // p["num_warps"] // 32
    known = DOUBLES if p["wide"] == "float64" else FLOATS
    if p["op"] not in known or not 1 <= each <= 32 or p["centres"] % p["R"] or p["centres"] * p["n"] > 1 << 30:
        return None
    launch = Launch(paired, (Buffer("points", "float32", p["n"]), Buffer("centres", "float32", p["centres"]),
                             Buffer("sums", "float32", p["centres"]), p["n"]),
                    {"OP": p["op"], "WIDE": getattr(tl, p["wide"]), "R": p["R"], "C": p["C"]},
                    (p["centres"] // p["R"],), p["num_warps"])  # fmt: skip
    return micro("paired", dict(p), launch, flops=p["centres"] * p["n"])


def query_case(p: Params) -> Case | None:
    """`queried`."""
    n = p["heads"] * p["length"] * p["D"]
    each = p["T"] * p["D"] // p["num_warps"] // 32
    if n > 1 << 25 or not 2 <= each <= 64:
        return None
    k, v = (Buffer(name, p["dtype"], n) for name in ("x", "other"))
    out = Buffer("out", "float32", max(p["heads"] * p["D"], p["heads"] * p["length"]))
    launch = Launch(queried, (Buffer("q", p["dtype"], p["heads"] * p["D"]), k, v, out, p["length"]),
                    {"ONLINE": p["online"], "D": p["D"], "T": p["T"]}, (p["heads"],), p["num_warps"])  # fmt: skip
    return micro("queried", dict(p), launch, bytes=k.nbytes)


def product_case(p: Params) -> Case | None:
    """`multiplied`: small batched products, and few programs with a deep sum."""
    (m, n, k), (rows, cols, depth) = p["shape"], p["tile"]
    if (
        rows > max(16, m)
        or cols > max(16, n)
        or depth > k
        or k % depth
        or p["batch"] * m * n * k > 1 << 35
        or p["batch"] * (m + n) * k > 1 << 27
    ):
        return None
    if rows * cols // p["num_warps"] // 32 > 128 or rows * cols // p["num_warps"] // 32 < 2:
        return None
    a, b = Buffer("x", p["dtype"], p["batch"] * m * k), Buffer("other", p["dtype"], p["batch"] * n * k)
    y = Buffer("out", "float32", p["batch"] * m * n)
    params = {**p, "shape": f"{m}x{n}x{k}", "tile": f"{rows}x{cols}x{depth}"}
    launch = Launch(multiplied, (a, b, y, m, n, k), {"ROWS": rows, "COLS": cols, "DEPTH": depth, "TURNED": p["turned"]},
                    (cdiv(m, rows), cdiv(n, cols), p["batch"]), p["num_warps"], p["num_stages"])  # fmt: skip
    return micro("multiplied", params, launch, bytes=a.nbytes + b.nbytes, flops=2 * p["batch"] * m * n * k)


def chain_case(p: Params) -> Case | None:
    """Small launches one after the other, each on what the one before has written."""
    sizes = [p["n"] >> (step if p["shrinking"] else 0) for step in range(p["launches"])]
    if min(sizes) < 256:
        return None
    launches = []
    for step, n in enumerate(sizes):
        x, y = Buffer(f"link{step}", "float32", p["n"]), Buffer(f"link{step + 1}", "float32", p["n"])
        launches.append(Launch(mapped, (x, x, y, n), {"OP": p["op"], "TWO": p["op"] in TWO, "WIDE": tl.float32, "TWICE": False, "BLOCK": p["BLOCK"]},
                               (cdiv(n, p["BLOCK"]),)))  # fmt: skip
    return micro("launches", dict(p), *launches)


#: Of each family how many cases are drawn, how one is built, and its axes.
FAMILIES: Sequence[tuple[int, Callable[[Params], Case | None], Mapping[str, Sequence[Any]]]] = (
    (170, map_case, {"op": tuple(dict.fromkeys((*FLOATS, *INTEGERS))), "dtype": ("float32", "float16", "float64", "int32", "int64"),
                     "n": SIZES, "programs": (0, 0, 1, 16, 132, 528), "twice": (False, True), "BLOCK": (128, 512, 1024, 4096),
                     "num_warps": (1, 4, 8)}),
    (12, draw_case, {"kind": ("rand", "randn", "randint"), "n": (1 << 16, 1 << 20, 1 << 24), "BLOCK": (256, 1024, 4096)}),
    (130, move_case, {"access": ("reverse", "stride2", "stride3", "stride16", "halves", "shrink", "transpose", "planes", "shuffle",
                                 "indexed", "indexed", "rows", "next"),
                      "order": ("random", "sorted", "near"), "dtype": ("float32", "float16", "uint8", "float64"), "n": SIZES,
                      "BLOCK": (256, 1024, 4096), "num_warps": (4, 8)}),
    (50, scalar_case, {"along": (False, True), "carry": (False, True), "stores": (False, True), "dtype": ("float32", "float16"),
                       "programs": (1, 16, 132, 1024, 8192), "steps": (64, 512, 4096), "num_warps": (1, 4)}),
    (50, lane_case, {"along": (False, True), "stores": (False, True), "dtype": ("float32", "float16"), "rows": (128, 2048, 32768),
                     "steps": (64, 512, 2048), "BLOCK": (32, 128, 512)}),
    (130, fold_case, {"op": ("sum", "max", "argmax", "cumsum", "scan", "softmax", "sort"), "axis": (0, 1), "dtype": ("float32", "float16"),
                      "R": (1, 4, 16, 64, 128), "C": (16, 64, 128, 512, 2048), "turns": (1, 4, 64), "programs": (1, 16, 132, 1024, 8192),
                      "num_warps": (1, 4, 8)}),
    (90, column_case, {"inputs": (1, 2, 3), "rows": (512, 4096, 32768), "cols": (64, 256, 768, 4096), "parts": (1, 1, 4, 32, 132),
                       "dtype": ("float32", "float16"), "R": (1, 8, 32, 64), "C": (16, 32, 64, 128, 256), "num_warps": (4, 8)}),
    (90, stencil_case, {"form": ("row", "column", "square", "square", "cross"), "radius": (1, 2, 3, 6), "weights": ("loaded", "given"),
                        "dtype": ("float32", "float16", "float64", "uint8"), "planes": (1, 3, 64), "side": (256, 1000, 2048),
                        "tile": ((1, 256), (1, 1024), (4, 128), (16, 64), (32, 32), (8, 16)), "num_warps": (4, 8)}),
    (50, tap_case, {"taps": (3, 7, 15, 31), "unrolled": (False, True), "length": (512, 1920), "channels": (1, 3, 64), "dtype":
                    ("float32", "float16", "uint8"), "n": (1 << 18, 1 << 22, 1 << 25), "BLOCK": (256, 1024)}),
    (50, follow_case, {"depth": (1, 4, 16, 64, 256), "lanes": (1, 32, 128), "programs": (1, 16, 132, 2048), "order": ("random", "near"),
                       "table": (1 << 12, 1 << 16, 1 << 22, 1 << 26)}),
    (90, bag_case, {"form": ("loop", "static", "tile", "max"), "count": (4, 8, 16, 32), "cols": (32, 128, 512), "C": (32, 64, 128, 512),
                    "table": (1 << 10, 1 << 14, 1 << 18), "programs": (64, 1024, 16384), "order": ("random", "sorted"),
                    "dtype": ("float32", "float16"), "num_warps": (1, 2, 4)}),
    (100, add_case, {"form": ("indexed", "indexed", "modulo", "number", "turns"), "op": ("add", "add", "max"),
                     "dtype": ("float32", "int32", "float64", "int64", "float16", "bfloat16"), "targets": (1, 16, 128, 1024, 1 << 16, 1 << 20),
                     "order": ("random", "sorted", "near"), "programs": (16, 132, 1024, 8192), "BLOCK": (128, 1024)}),
    (100, pair_case, {"op": FLOATS, "wide": ("float32", "float64"), "n": (512, 4096, 32768), "centres": (64, 1024, 8192, 32768),
                      "R": (1, 4, 16, 64), "C": (32, 128, 512), "num_warps": (4, 8)}),
    (50, query_case, {"online": (False, True), "D": (64, 128), "T": (16, 32, 64, 128), "heads": (8, 64, 256, 1024), "length": (256, 1024, 4096),
                      "dtype": ("float16", "float32"), "num_warps": (2, 4, 8)}),
    (90, product_case, {"shape": ((32, 32, 32), (64, 64, 64), (128, 128, 128), (196, 196, 64), (16, 512, 512), (64, 64, 4096), (128, 128, 16384),
                                  (512, 512, 512)), "batch": (1, 16, 256, 2048), "tile": ((16, 32, 32), (32, 32, 32), (64, 64, 32),
                                  (128, 128, 32), (128, 64, 64), (64, 128, 64)), "turned": (False, True), "dtype": ("float16", "float32"),
                        "num_warps": (4, 8), "num_stages": (1, 2, 4)}),
    (24, chain_case, {"op": ("add", "exp", "tanh"), "n": (1024, 1 << 14, 1 << 18), "launches": (2, 4, 8), "shrinking": (False, True),
                      "BLOCK": (256, 1024)}),
)  # fmt: skip


def drawn_cases(
    count: int, build: Callable[[Params], Case | None], axes: Mapping[str, Sequence[Any]]
) -> Iterator[Case]:
    """So many different cases of a family: each axis is gone through in a shuffled order again and again, so that all its values
    are met alike; what cannot be built is drawn anew."""
    source = random.Random(f"{SEED} {build.__name__}")
    decks: dict[str, list[Any]] = {name: [] for name in axes}
    seen: set[str] = set()
    for _ in range(count * 60):
        params = {}
        for name, values in axes.items():
            if not decks[name]:
                decks[name] = source.sample(list(values), len(values))
            params[name] = decks[name].pop()
        case = build(params)
        if case is not None and case.key not in seen:
            seen.add(case.key)
            yield case
        if len(seen) == count:
            return


def cases() -> list[Case]:
    """All cases of this module."""
    return list(itertools.chain.from_iterable(drawn_cases(*family) for family in FAMILIES))
