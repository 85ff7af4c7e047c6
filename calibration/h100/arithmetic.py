"""What one operation on an element costs, by operation and element type, and whole formulas made of several.

`chain` applies one operation OUTER x INNER times between a load and a store, each to the result of the one before: at 2^20
and more elements the issue slots decide, with one element a thread on every SM the latency of the chain. `convert` turns
the same bits, changed a little each time, from one type to another. `formula` holds what people write: no price is fitted
to it, it tells whether the prices of its operations add up.
"""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro


@triton.jit
def step(v, w, i, OP: tl.constexpr):
    """One operation on `v`, with what keeps its argument in range: `w` is a second operand, positive where it divides."""
    if OP == "add":
        r = v + 0.625
    elif OP == "mul":
        r = v * 0.984375
    elif OP == "fma":
        r = v * 0.75 + 0.5
    elif OP == "div":
        r = (w / (v + 0.5)).to(v.dtype)
    elif OP == "sqrt":
        r = tl.sqrt(v + 1.0)
    elif OP == "rsqrt":
        r = tl.rsqrt(v + 1.0)
    elif OP == "exp":
        r = tl.exp(-v)
    elif OP == "exp2":
        r = tl.exp2(-v)
    elif OP == "log":
        r = tl.log(v + 2.0)
    elif OP == "log2":
        r = tl.log2(v + 3.0)
    elif OP == "sin":
        r = tl.sin(v)
    elif OP == "cos":
        r = tl.cos(v)
    elif OP == "erf":
        r = tl.erf(v)
    elif OP == "sigmoid":
        r = tl.sigmoid(v)
    elif OP == "tanh":
        r = tl.extra.cuda.libdevice.tanh(v)
    elif OP == "pow":
        r = tl.extra.cuda.libdevice.pow(v + 0.5, w)
    elif OP == "log1p":
        r = tl.extra.cuda.libdevice.log1p(v)
    elif OP == "max":
        r = tl.maximum(v * 0.984375, w).to(v.dtype)
    elif OP == "expm1":
        r = tl.extra.cuda.libdevice.expm1(-v)
    elif OP == "atan":
        r = tl.extra.cuda.libdevice.atan(v)
    elif OP == "div_rn":
        r = tl.div_rn(w, v + 0.5)
    elif OP == "sqrt_rn":
        r = tl.sqrt_rn(v + 1.0)
    elif OP == "floor":
        r = tl.floor(v * 0.75) + 0.625
    elif OP == "clamp":
        r = tl.clamp(v * 1.25, 0.25, 1.0)
    elif OP == "count":
        r = v * 0.75 + (v > w).to(v.dtype)
    elif OP == "where":
        r = tl.where(v > w, v * 0.75, v + 0.25)
    elif OP == "xor_add":
        r = (v ^ w) + 12345
    elif OP == "mul_add":
        r = v * w + 12345
    elif OP == "div_add":
        r = v // w + 1234567
    elif OP == "mod_add":
        r = v % w + 1234567
    elif OP == "div_7_add":
        r = v // 7 + 1234567
    elif OP == "mod_7":
        r = v % 7 + v
    elif OP == "shift_xor":
        r = (v >> 3) ^ (v << 5)
    elif OP == "min_xor":
        r = tl.minimum(v ^ 12345, w)
    else:
        r = tl.where(v > w, v ^ 12345, v + 123)
    return r


@triton.jit
def chain(x, other, y, outer, OP: tl.constexpr, TWO: tl.constexpr, INNER: tl.constexpr, BLOCK: tl.constexpr):
    """y = OP applied outer x INNER times to |x|; TWO reads a second operand."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.abs(tl.load(x + offset))
    second = value
    if TWO:
        second = tl.abs(tl.load(other + offset))
        if OP == "div_add" or OP == "mod_add":
            second = second | 1
    for _ in range(outer):
        for i in tl.static_range(INNER):
            value = step(value, second, i, OP)
    tl.store(y + offset, value)


@triton.jit
def convert(x, y, outer, SOURCE: tl.constexpr, TARGET: tl.constexpr, BITS: tl.constexpr, INTO: tl.constexpr,
            INNER: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """y = exclusive or of outer x INNER conversions from SOURCE to TARGET; BITS and INTO are the integers of their sizes."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x + offset).to(BITS, bitcast=True)
    total = tl.zeros((BLOCK,), dtype=INTO)
    for _ in range(outer):
        for i in tl.static_range(INNER):
            bits = bits ^ (i + 1)
            total = total ^ bits.to(SOURCE, bitcast=True).to(TARGET).to(INTO, bitcast=True)
    tl.store(y + offset, total)


@triton.jit
def draw(y, seed, KIND: tl.constexpr, INNER: tl.constexpr, BLOCK: tl.constexpr):
    """y = sum of INNER random numbers, each of its own place in the sequence."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in tl.static_range(INNER):
        if KIND == "rand":
            total += tl.rand(seed, offset * INNER + i)
        elif KIND == "randn":
            total += tl.randn(seed, offset * INNER + i)
        else:
            total += (tl.randint(seed, offset * INNER + i) & 1023).to(tl.float32)
    tl.store(y + offset, total)


@triton.jit
def formula(x, other, y, outer, OP: tl.constexpr, TWO: tl.constexpr, BLOCK: tl.constexpr):
    """y = one of the formulas that people write, from one or two inputs, applied `outer` times."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.abs(tl.load(x + offset))
    w = v
    if TWO:
        w = tl.abs(tl.load(other + offset))
    for _ in range(outer):
        if OP == "gelu_tanh":
            inner = 0.7978845608 * (v + 0.044715 * v * v * v)
            half = tl.exp(-2.0 * inner)
            v = 0.5 * v * (1.0 + (1.0 - half) / (1.0 + half)) + 0.25
        elif OP == "softplus":
            v = tl.where(v > 20.0, v, tl.log(1.0 + tl.exp(v))) * w
        elif OP == "linear_light":
            root = tl.exp(2.4 * tl.log((v + 0.055) / 1.055))
            v = tl.where(v > 0.04045, root, v / 12.92)
            v = tl.where(v > 0.008856, tl.exp(tl.log(v) / 3.0), 7.787 * v + 0.138)
        elif OP == "pair_energy":
            square = v * v + w * w + 0.01
            distance = tl.sqrt(square)
            v = tl.exp(-0.5 * distance) / distance + 1.0 / (square * square * square)
            v = tl.minimum(v, 2.0)
        elif OP == "box_muller":
            v = tl.sqrt(-2.0 * tl.log(v * 0.25 + 0.0625)) * tl.cos(6.283185307 * w)
            v = tl.minimum(tl.abs(v), 2.0)
        elif OP == "collatz":
            v = tl.where(v % 2 == 0, v // 2, v * 3 + 1)
        elif OP == "mixed_bits":
            v = (v ^ (v >> 16)) * 73244475
            v = (v ^ (v >> 15)) + w
        elif OP == "dates":
            day = v % 146097
            v = (day - day // 1460 + day // 36524) // 365 + day % 1461 * w
        elif OP == "mandelbrot":
            square = v * v - w * w + 0.25
            w = 2.0 * v * w + 0.125
            v = tl.where(square * square + w * w < 4.0, square, 0.5)
        else:
            low = ((v.to(tl.int32) & 15) - 8).to(tl.float32) * w
            high = (((v.to(tl.int32) >> 4) & 15) - 8).to(tl.float32) * w
            v = v * 0.5 + low * high
    tl.store(y + offset, v)


TWO = frozenset(
    {
        "div",
        "div_rn",
        "pow",
        "max",
        "where",
        "count",
        "xor_add",
        "mul_add",
        "div_add",
        "mod_add",
        "min_xor",
        "where_xor",
    }
)
PLAIN = ("add", "mul", "fma", "max", "where")
LESS_PLAIN = ("floor", "count", "clamp")
DEAR = ("div", "sqrt", "rsqrt", "exp", "log", "sin", "cos", "erf", "tanh", "pow", "log1p", "expm1", "atan")
SINGLE = ("exp2", "log2", "sigmoid", "div_rn", "sqrt_rn")
INTEGER = ("xor_add", "mul_add", "shift_xor", "min_xor", "where_xor")
DIVIDES = ("div_add", "mod_add", "div_7_add", "mod_7")
CONVERSIONS = (
    ("float32", "float16"), ("float16", "float32"), ("float32", "bfloat16"), ("bfloat16", "float32"),
    ("float32", "float64"), ("float64", "float32"), ("float8e4nv", "float16"), ("float16", "float8e4nv"),
    ("float8e5", "float16"), ("float16", "float8e5"), ("float8e4nv", "float32"), ("float32", "float8e4nv"),
    ("float8e5", "float32"), ("float32", "float8e5"), ("float8e4nv", "bfloat16"), ("int8", "float32"), ("int8", "float16"),
    ("int8", "bfloat16"), ("int32", "float32"), ("int32", "float16"), ("float32", "int32"), ("float32", "int8"),
    ("int64", "float64"), ("float64", "int64"), ("int32", "float64"),
)  # fmt: skip
#: The types that lie in memory for one that torch and the buffers do not have, and the integer of the size of each.
HELD = {"float8e4nv": "int8", "float8e5": "int8"}
SIZE = {"float8e4nv": 8, "float8e5": 8, "int8": 8, "float16": 16, "bfloat16": 16, "float32": 32, "int32": 32,
        "float64": 64, "int64": 64}  # fmt: skip
FORMULAS = (
    ("gelu_tanh", "float32"), ("softplus", "float32"), ("pair_energy", "float32"), ("box_muller", "float32"),
    ("mandelbrot", "float32"), ("unpack", "float32"), ("linear_light", "float32"), ("linear_light", "float64"),
    ("pair_energy", "float64"), ("softplus", "float64"), ("box_muller", "float64"), ("mandelbrot", "float64"),
    ("collatz", "int32"), ("mixed_bits", "int32"), ("dates", "int32"), ("dates", "int64"), ("collatz", "int64"),
)  # fmt: skip


def _integer(dtype: str):
    return getattr(tl, f"int{SIZE[dtype]}")


def chain_case(op, dtype, inner, outer, n, block=1024, warps=4) -> Case:
    """`op` applied outer x inner times to each of `n` elements; `flops` counts each once."""
    x, other, y = (Buffer(name, dtype, n) for name in ("x", "other", "y"))
    params = {"op": op, "dtype": dtype, "inner": inner, "outer": outer, "n": n, "BLOCK": block, "num_warps": warps}
    constants = {"OP": op, "TWO": op in TWO, "INNER": inner, "BLOCK": block}
    launch = Launch(chain, (x, other, y, outer), constants, (cdiv(n, block),), warps)
    moved = x.nbytes * (3 if op in TWO else 2)
    return micro("chain", params, launch, bytes=moved, flops=inner * outer * n)


def convert_case(source, target, inner, outer, n, block=1024, warps=4) -> Case:
    """outer x inner conversions of each of `n` elements."""
    x, y = Buffer("x", HELD.get(source, source), n), Buffer("y", f"int{SIZE[target]}", n)
    params = {"source": source, "target": target, "inner": inner, "outer": outer, "n": n, "BLOCK": block}
    constants = {"SOURCE": getattr(tl, source), "TARGET": getattr(tl, target)}
    constants |= {"BITS": _integer(source), "INTO": _integer(target), "INNER": inner, "BLOCK": block}
    launch = Launch(convert, (x, y, outer), constants, (cdiv(n, block),), warps)
    return micro("convert", {**params, "num_warps": warps}, launch, bytes=x.nbytes + y.nbytes, flops=inner * outer * n)


def draw_case(kind, inner, n, block=1024, warps=4) -> Case:
    """`inner` random numbers for each of `n` elements."""
    y = Buffer("y", "float32", n)
    params = {"op": kind, "inner": inner, "n": n, "BLOCK": block, "num_warps": warps}
    launch = Launch(draw, (y, 7), {"KIND": kind, "INNER": inner, "BLOCK": block}, (cdiv(n, block),), warps)
    return micro("draw", params, launch, bytes=y.nbytes, flops=inner * n)


def formula_case(op, dtype, outer, n, block=1024, warps=4) -> Case:
    """A formula applied `outer` times to each of `n` elements."""
    x, other, y = (Buffer(name, dtype, n) for name in ("x", "other", "y"))
    params = {"op": op, "dtype": dtype, "outer": outer, "n": n, "BLOCK": block, "num_warps": warps}
    two = op not in ("gelu_tanh", "linear_light", "collatz")
    launch = Launch(formula, (x, other, y, outer), {"OP": op, "TWO": two, "BLOCK": block}, (cdiv(n, block),), warps)
    return micro("formula", params, launch, bytes=(3 if two else 2) * x.nbytes, flops=outer * n)


def _chains(ops, dtype, cheap: bool, n: int) -> list[Case]:
    """Chains of two lengths where the slots decide (of three in float64, where one is dear enough to be seen), and one where the
    latency does: an element a thread, 132 programs."""
    lengths = [(16, 1), (16, 8)] if cheap else [(4, 1), (4, 4)]
    if not cheap and dtype == "float64":
        lengths.insert(0, (1, 1))
    found = [chain_case(op, dtype, inner, outer, n) for op, (inner, outer) in itertools.product(ops, lengths)]
    return [*found, *(chain_case(op, dtype, 4, 16, 132 * 128, 128) for op in ops)]


def cases() -> list[Case]:
    """All cases of this module."""
    found = _chains((*PLAIN, *LESS_PLAIN), "float32", True, 1 << 22) + _chains(
        (*DEAR, *SINGLE), "float32", False, 1 << 22
    )
    found += _chains((*PLAIN, *LESS_PLAIN), "float64", True, 1 << 21) + _chains(DEAR, "float64", False, 1 << 21)
    for dtype in ("float16", "bfloat16"):
        found += _chains(PLAIN, dtype, True, 1 << 22) + _chains(("div",), dtype, False, 1 << 22)
    for dtype, n in (("int32", 1 << 22), ("int64", 1 << 21)):
        found += _chains(INTEGER, dtype, True, n) + _chains(DIVIDES, dtype, False, n)
    for source, target in CONVERSIONS:
        n = 1 << 21 if "64" in source + target else 1 << 22
        found += [convert_case(source, target, inner, outer, n) for inner, outer in ((4, 1), (16, 4))]
    found += [draw_case(kind, inner, 1 << 22) for kind in ("rand", "randn", "randint") for inner in (1, 2, 4)]
    for op, dtype in FORMULAS:
        n = 1 << 21 if "64" in dtype else 1 << 22
        found.append(formula_case(op, dtype, 1, n))
        if op != "box_muller":  # half of it is the same in every iteration
            found += [formula_case(op, dtype, 16, n), formula_case(op, dtype, 64, 132 * 128, 128)]
    return found
