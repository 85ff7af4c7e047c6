"""The kernels of :mod:`regimes`: what no other module here meets, which of it by constants."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def scored(x, w, y, n, FORM: tl.constexpr, EXACT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Products of [M, K] by [N, K] in fp32, whatever the operands are stored as: one of them ("single"), of ``n`` blocks of columns with
    the largest of each row kept ("columns"), summed over ``n`` blocks along K ("depth")."""
    m, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    pid = tl.program_id(0)
    a = tl.load(x + (pid * M + m)[:, None] * K + k[None, :]).to(tl.float32)
    if FORM == "depth":
        total = tl.zeros((M, N), dtype=tl.float32)
        for i in range(n):
            left = tl.load(x + (pid * M + m)[:, None] * (K * n) + i * K + k[None, :]).to(tl.float32)
            right = tl.load(w + j[:, None] * (K * n) + i * K + k[None, :]).to(tl.float32)
            if EXACT:
                total = tl.dot(left, tl.trans(right), total, input_precision="ieee")
            else:
                total = tl.dot(left, tl.trans(right), total)
        tl.store(y + (pid * M + m)[:, None] * N + j[None, :], total)
    elif FORM == "columns":
        best = tl.full((M,), -1e30, dtype=tl.float32)
        for i in range(n):
            b = tl.load(w + ((pid * n + i) * N + j)[:, None] * K + k[None, :]).to(tl.float32)
            if EXACT:
                s = tl.dot(a, tl.trans(b), input_precision="ieee")
            else:
                s = tl.dot(a, tl.trans(b))
            best = tl.maximum(best, tl.max(s, axis=1))
        tl.store(y + pid, tl.sum(best, axis=0))
    else:
        b = tl.load(w + (pid * N + j)[:, None] * K + k[None, :]).to(tl.float32)
        if EXACT:
            s = tl.dot(a, tl.trans(b), input_precision="ieee")
        else:
            s = tl.dot(a, tl.trans(b))
        tl.store(y + (pid * M + m)[:, None] * N + j[None, :], s)


@triton.jit
def held(x, w, y, n, FORM: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Products in full fp32 precision one of whose operands stays over ``n`` turns: [N, K] ("weights", rows go by) or [M, K] ("query",
    the other goes by); "second" has two products a turn, the second one with the result of the first and what stays."""
    m, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    pid = tl.program_id(0)
    if FORM == "query":
        a = tl.load(x + (pid * M + m)[:, None] * K + k[None, :]).to(tl.float32)
        total = tl.zeros((M, N), dtype=tl.float32)
        for i in range(n):
            b = tl.load(w + ((pid * n + i) * N + j)[:, None] * K + k[None, :]).to(tl.float32)
            total += tl.abs(tl.dot(a, tl.trans(b), input_precision="ieee"))
        tl.store(y + (pid * M + m)[:, None] * N + j[None, :], total)
    else:
        b = tl.load(w + j[:, None] * K + k[None, :]).to(tl.float32)
        for i in range(n):
            row = (pid * n + i) * M + m
            a = tl.load(x + row[:, None] * K + k[None, :]).to(tl.float32)
            s = tl.dot(a, tl.trans(b), input_precision="ieee")
            if FORM == "second":
                s = tl.maximum(s, 0.0)
                a = tl.dot(s, b, input_precision="ieee")
                tl.store(y + row[:, None] * K + k[None, :], a)
            else:
                tl.store(y + row[:, None] * N + j[None, :], s)


@triton.jit
def chunked(
    q, k, v, y, chunks, FORM: tl.constexpr, EXACT: tl.constexpr, C: tl.constexpr, D: tl.constexpr, E: tl.constexpr
):
    """A state of [D, E] over a sequence in chunks of C: "sum" of k' v, of "features" (exp) of k, "apply" (what q makes of it and then the
    sum), "retention" (within the chunk as well, with a decay)."""  # fmt: skip
    c, d, e = tl.arange(0, C), tl.arange(0, D), tl.arange(0, E)
    base = tl.program_id(0) * chunks * C
    state = tl.zeros((D, E), dtype=tl.float32)
    for i in range(chunks):
        row = base + i * C + c
        keys = tl.load(k + row[:, None] * D + d[None, :])
        values = tl.load(v + row[:, None] * E + e[None, :])
        if FORM == "features":
            keys = tl.exp(keys.to(tl.float32)).to(keys.dtype)
        if FORM == "apply" or FORM == "retention":
            a = tl.load(q + row[:, None] * D + d[None, :])
            if EXACT:
                out = tl.dot(a, state.to(a.dtype), input_precision="ieee")
            else:
                out = tl.dot(a, state.to(a.dtype))
            if FORM == "retention":
                if EXACT:
                    s = tl.dot(a, tl.trans(keys), input_precision="ieee")
                else:
                    s = tl.dot(a, tl.trans(keys))
                s = tl.where(c[:, None] >= c[None, :], s, 0.0)
                if EXACT:
                    out += tl.dot(s.to(values.dtype), values, input_precision="ieee")
                else:
                    out += tl.dot(s.to(values.dtype), values)
                state = state * 0.9
            tl.store(y + row[:, None] * E + e[None, :], out.to(y.dtype.element_ty))
        if EXACT:
            state += tl.dot(tl.trans(keys), values, input_precision="ieee")
        else:
            state += tl.dot(tl.trans(keys), values)
    if FORM == "sum" or FORM == "features":
        tl.store(y + (tl.program_id(0) * D + d)[:, None] * E + e[None, :], state.to(y.dtype.element_ty))


@triton.jit
def function(v, OP: tl.constexpr):
    """One function of each element."""
    if OP == "sin":
        r = tl.sin(v)
    elif OP == "cos":
        r = tl.cos(v)
    elif OP == "exp":
        r = tl.exp(v * 0.1)
    elif OP == "log":
        r = tl.log(tl.abs(v) + 1.0)
    elif OP == "erf":
        r = tl.erf(v)
    elif OP == "sqrt":
        r = tl.sqrt(tl.abs(v))
    elif OP == "rsqrt":
        r = tl.rsqrt(tl.abs(v) + 1.0)
    elif OP == "div":
        r = 1.0 / (v * v + 1.0)
    else:
        r = v * 1.5 + 0.5
    return r


@triton.jit
def functions(x, y, n, FIRST: tl.constexpr, SECOND: tl.constexpr, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    """Two functions of each element, one of the result of the other, and their sum."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        v = tl.load(x + at, mask=at < n, other=0.0)
    else:
        v = tl.load(x + at)
    first = function(v, FIRST)
    r = first + function(first, SECOND)
    if MASKED:
        tl.store(y + at, r, mask=at < n)
    else:
        tl.store(y + at, r)


@triton.jit
def parts(x, y, BLOCK: tl.constexpr):
    """A link of a graph: a sum a program."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + at), axis=0))


@triton.jit
def total_of(x, y, n, BLOCK: tl.constexpr):
    """A link of a graph: one program that adds up everything."""
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y, tl.sum(total, axis=0))


@triton.jit
def turned(x, y, rows, cols, SIDE: tl.constexpr):
    """A link of a graph: a transposition."""
    r = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    c = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    v = tl.load(x + r[:, None] * cols + c[None, :])
    tl.store(y + c[None, :] * rows + r[:, None], v)


@triton.jit
def counted(x, y, n, BLOCK: tl.constexpr):
    """A link of a graph: atomic additions of one number a program to one of a few places."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + tl.program_id(0) % 64, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def _slid_on(total, square, v, w, tap, FORM: tl.constexpr):
    """What :func:`slid` keeps, after one more element."""
    if FORM == "largest":
        total = tl.maximum(total, v)
    elif FORM == "weights":
        total += v * tl.load(w + tap)
    else:
        total += v
        square += v * v
    return total, square


@triton.jit
def slid(x, w, y, rows, length, FORM: tl.constexpr, ALONG: tl.constexpr, W: tl.constexpr, UNROLLED: tl.constexpr,
         BLOCK: tl.constexpr):  # fmt: skip
    """The last W elements of each place, ALONG rows of ``length`` or across them ([length, rows], the step as long as a row)."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if ALONG:
        place, step = at % length, 1
    else:
        place, step = at // rows, rows
    inside = at < rows * length
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    square = tl.zeros((BLOCK,), dtype=tl.float32)
    if UNROLLED:
        for tap in tl.static_range(W):
            v = tl.load(x + at - tap * step, mask=inside & (place >= tap), other=0.0).to(tl.float32)
            total, square = _slid_on(total, square, v, w, tap, FORM)
    else:
        for tap in range(W):
            v = tl.load(x + at - tap * step, mask=inside & (place >= tap), other=0.0).to(tl.float32)
            total, square = _slid_on(total, square, v, w, tap, FORM)
    if FORM == "moments":
        total = square / W - total * total / (W * W)
    tl.store(y + at, total.to(y.dtype.element_ty), mask=inside)


@triton.jit
def swept(x, y, rows, cols, FORM: tl.constexpr, BLOCK: tl.constexpr):
    """Rows read "once", "twice", twice and the second time from the "back", or twice and "written"; a program as many rows as there are
    grids."""  # fmt: skip
    c = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        base = row.to(tl.int64) * cols
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, cols, BLOCK):
            total += tl.load(x + base + start + c, mask=start + c < cols, other=0.0).to(tl.float32)
        mean = tl.sum(total, axis=0) / cols
        if FORM == "twice" or FORM == "back":
            square = tl.zeros((BLOCK,), dtype=tl.float32)
            for start in range(0, cols, BLOCK):
                if FORM == "back":
                    at = cols - BLOCK - start + c
                    v = tl.load(x + base + at, mask=at >= 0, other=0.0).to(tl.float32) - mean
                else:
                    v = tl.load(x + base + start + c, mask=start + c < cols, other=0.0).to(tl.float32) - mean
                square += v * v
            mean = tl.sum(square, axis=0)
        if FORM == "written":
            for start in range(0, cols, BLOCK):
                v = tl.load(x + base + start + c, mask=start + c < cols, other=0.0).to(tl.float32) - mean
                tl.store(y + base + start + c, v.to(y.dtype.element_ty), mask=start + c < cols)
        else:
            tl.store(y + row, mean)


@triton.jit
def picked_loss(x, target, y, cols, FORM: tl.constexpr, BLOCK: tl.constexpr):
    """The logarithm of what the softmax of a row has at its target: a row at "once" or in blocks ("online", or two "passes")."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    base = row.to(tl.int64) * cols
    if FORM == "once":
        v = tl.load(x + base + c, mask=c < cols, other=-1e30).to(tl.float32)
        most = tl.max(v, axis=0)
        total = tl.sum(tl.exp(v - most), axis=0)
    elif FORM == "online":
        most = -1e30
        total = 0.0
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=-1e30).to(tl.float32)
            new = tl.maximum(most, tl.max(v, axis=0))
            total = total * tl.exp(most - new) + tl.sum(tl.exp(v - new), axis=0)
            most = new
    else:
        top = tl.full((BLOCK,), -1e30, dtype=tl.float32)
        for start in range(0, cols, BLOCK):
            top = tl.maximum(top, tl.load(x + base + start + c, mask=start + c < cols, other=-1e30).to(tl.float32))
        most = tl.max(top, axis=0)
        sums = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, cols, BLOCK):
            v = tl.load(x + base + start + c, mask=start + c < cols, other=-1e30).to(tl.float32)
            sums += tl.exp(v - most)
        total = tl.sum(sums, axis=0)
    seen = tl.load(x + base + tl.load(target + row)).to(tl.float32)
    tl.store(y + row, most + tl.log(total) - seen)


@triton.jit
def eliminated(x, y, FORM: tl.constexpr, N: tl.constexpr):
    """A matrix a program that stays in registers, N dependent steps on it: "gauss", "floyd" (min-plus), "jacobi", "mirror"
    (reflections)."""
    r, c = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = tl.program_id(0) * N * N + r * N + c
    a = tl.load(x + at)
    if FORM == "gauss" or FORM == "mirror":
        a = a + tl.where(r == c, 8.0, 0.0).to(a.dtype)
    u = tl.sum(a, axis=1) * 0.1
    for k in range(N):
        if FORM == "jacobi":
            u = (1.0 - tl.sum(a * u[None, :], axis=1)) * 0.1
        else:
            row = tl.sum(tl.where(r == k, a, 0.0), axis=0)
            column = tl.sum(tl.where(c == k, a, 0.0), axis=1)
            if FORM == "gauss":
                pivot = tl.sum(tl.where(tl.arange(0, N) == k, row, 0.0), axis=0)
                a = tl.where(r > k, a - (column / pivot)[:, None] * row[None, :], a)
            elif FORM == "floyd":
                a = tl.minimum(a, column[:, None] + row[None, :])
            else:
                norm = tl.sum(column * column, axis=0) + 1.0
                a = a - (column / norm)[:, None] * tl.sum(a * column[:, None], axis=0)[None, :]
    tl.store(y + at, a + u[:, None])


@triton.jit
def step_of(v, w, OP: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """One step of work on a tile [R, C] in fp32."""
    if OP == "hash":
        i = (v * 1024.0).to(tl.int32)
        i = i ^ (i << 13)
        i = i ^ (i >> 17)
        i = i ^ (i << 5)
        r = (i & 1023).to(tl.float32) * 0.001
    elif OP == "quantise":
        scale = tl.max(tl.abs(v), axis=1) / 127.0 + 1e-6
        r = tl.floor(v / scale[:, None] + 0.5).to(tl.int8).to(tl.float32) * scale[:, None]
    elif OP == "fp8":
        r = v.to(tl.float8e4nv).to(tl.float32)
    elif OP == "double":
        r = (v.to(tl.float64) * 1.25 + 0.5).to(tl.float32)
    elif OP == "modulo":
        i = (v * 1000.0).to(tl.int32)
        r = (i % 37 + i // 11).to(tl.float32)
    elif OP == "sort":
        r = tl.sort(v)
    elif OP == "product":
        i = tl.arange(0, C)
        m = tl.load(w + i[:, None] * C + i[None, :])
        r = tl.dot(v.to(tl.float16), m.to(tl.float16))
    elif OP == "sigmoid":
        r = 1.0 / (1.0 + tl.exp(-v))
    elif OP == "log":
        r = tl.log(tl.abs(v) + 1e-3)
    elif OP == "weights":
        r = v * tl.load(w + tl.arange(0, C))[None, :] + tl.load(w + C + tl.arange(0, C))[None, :]
    elif OP == "entropy":
        p = v * v / (tl.sum(v * v, axis=1) + 1e-6)[:, None]
        r = p * tl.log(p + 1e-6)
    elif OP == "centre":
        r = v - tl.sum(tl.sum(v, axis=1), axis=0) * 0.001
    elif OP == "exp":
        r = tl.exp(v * 0.5)
    elif OP == "where":
        r = tl.where(v > 0.5, v * 2.0, tl.where(v < -0.5, v * 0.1, v))
    elif OP == "softmax":
        e = tl.exp(v - tl.max(v, axis=1)[:, None])
        r = e / tl.sum(e, axis=1)[:, None]
    elif OP == "columns":
        r = v - tl.sum(v, axis=0)[None, :] * 0.01
    elif OP == "cumsum":
        r = tl.cumsum(v, axis=1)
    else:
        r = v
    return r


@triton.jit
def mixed(x, w, index, y, turns, FIRST: tl.constexpr, SECOND: tl.constexpr, THIRD: tl.constexpr, SOURCE: tl.constexpr,
          SINK: tl.constexpr, R: tl.constexpr, C: tl.constexpr):  # fmt: skip
    """``turns`` tiles of [R, C] a program, three steps of work on each."""
    r, c = tl.arange(0, R), tl.arange(0, C)
    first = tl.program_id(0) * turns * R
    most = tl.full((R,), -1e30, dtype=tl.float32)
    total = tl.zeros((R, C), dtype=tl.float32)
    for turn in range(turns):
        row = first + turn * R + r
        at = row[:, None] * C + c[None, :]
        if SOURCE == "pairs":
            v = tl.load(x + 2 * at).to(tl.float32) - tl.load(x + 2 * at + 1).to(tl.float32)
        elif SOURCE == "shared":
            v = tl.load(x + (turn * R + r)[:, None] * C + c[None, :]).to(tl.float32)
        elif SOURCE == "shifted":
            v = tl.load(x + at).to(tl.float32) + tl.load(x + at + C).to(tl.float32)
        elif SOURCE == "indirect":
            v = tl.load(x + tl.load(index + row)[:, None] * C + c[None, :]).to(tl.float32)
        else:
            v = tl.load(x + at).to(tl.float32)
        v = step_of(v, w, FIRST, R, C)
        v = step_of(v, w, SECOND, R, C)
        v = step_of(v, w, THIRD, R, C)
        if SINK == "store":
            tl.store(y + at, v)
        elif SINK == "turned":
            tl.store(y + c[None, :] * (tl.num_programs(0) * turns * R) + row[:, None], v)
        elif SINK == "number":
            tl.store(y + row, tl.max(v, axis=1))
        elif SINK == "most":
            most = tl.maximum(most, tl.max(v, axis=1))
        else:
            total += v
    if SINK == "most":
        tl.store(y + tl.program_id(0) * R + r, most)
    elif SINK == "keep":
        tl.store(y + (tl.program_id(0) * R + r)[:, None] * C + c[None, :], total)
