"""Runs every kernel on tiny sizes through Triton's interpreter, on the CPU, and compares it with PyTorch.

    TRITON_INTERPRET=1 python check.py

Exits with status 1 if any result is wrong. Sizes are chosen so that masks and tails matter.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import arithmetic
import attention
import blends
import columns
import elementwise
import fma
import gemm
import grids
import lanes
import matvec
import products
import recurrent
import rows
import scatter
import spilling
import torch
import uneven
from case import Buffer, Case
from fill import filled

Tensors = dict[str, torch.Tensor]
Reference = Callable[[Tensors], Tensors]


def run(case: Case) -> tuple[Tensors, Tensors]:
    """Buffers by name before and after the launches of a case; output-only buffers start as NaN where dtype allows."""
    torch.manual_seed(0)
    held: Tensors = {}
    for launch in case.launches:
        for buffer in launch.args:
            if isinstance(buffer, Buffer) and buffer.name not in held:
                held[buffer.name] = filled(buffer, "cpu")
    before = {name: tensor.clone() for name, tensor in held.items()}
    for launch in case.launches:
        args = [held[arg.name] if isinstance(arg, Buffer) else arg for arg in launch.args]
        launch.kernel[launch.grid](*args, **launch.constants)
    return before, held


def product(case: Case) -> Reference:
    """Reference of a gemm case, split-K atomics included."""
    p = case.params
    m, n, k = p["M"], p["N"], p["K"]

    def reference(x: Tensors) -> Tensors:
        b = x["b"].view(n, k).T if p["b_layout"] == "K-major" else x["b"].view(k, n)
        exact = (x["a"].view(m, k).double() @ b.double()).flatten()
        if "atomic" in p["variant"]:
            return {"partial": x["partial"] + exact}
        return {"c": exact}

    return reference


def softmax(x: torch.Tensor, cols: int) -> torch.Tensor:
    """Row softmax of a flat tensor in double precision, flat."""
    return x.double().view(-1, cols).softmax(-1).flatten()


def normalised(x: torch.Tensor, cols: int, centre: bool = True) -> torch.Tensor:
    """(x - mean) / std per row, flat; `centre` False is the root mean square form."""
    y = x.double().view(-1, cols)
    y = y - y.mean(-1, keepdim=True) if centre else y
    return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)


def attended(x: Tensors, bh: int, t: int, d: int, causal: bool) -> torch.Tensor:
    """Attention with base-2 exponentials of scores * 0.125."""
    q, k, v = (x[name].view(bh, t, d).double() for name in "qkv")
    score = q @ k.transpose(1, 2) * 0.125 * math.log(2)
    if causal:
        score = score.masked_fill(torch.ones(t, t).triu(1).bool(), -math.inf)
    return (score.softmax(-1) @ v).flatten()


def stats(x: torch.Tensor, cols: int) -> Tensors:
    """Mean and reciprocal deviation per row."""
    y = x.double().view(-1, cols)
    return {"mean": y.mean(-1), "rstd": torch.rsqrt(y.var(-1, correction=0) + 1e-6)}


def loop(passes: int, store: bool, cols: int) -> Reference:
    """Reference of `rows.loop_row`."""

    def reference(x: Tensors) -> Tensors:
        s = stats(x["x"], cols)
        scale = s["rstd"] if passes == 2 else torch.ones_like(s["rstd"])
        centred = (x["x"].double().view(-1, cols) - s["mean"][:, None]) * scale[:, None]
        return {"y": centred.flatten() if store else s["mean"] * scale}

    return reference


def conv(b: int, c: int, o: int, edge: int, ks: int) -> Reference:
    """Same-padded convolution."""

    def reference(x: Tensors) -> Tensors:
        image, weight = x["x"].view(b, c, edge, edge).double(), x["w"].view(o, c, ks, ks).double()
        return {"y": torch.nn.functional.conv2d(image, weight, padding=ks // 2).flatten()}

    return reference


def scatter_add(x: Tensors) -> Tensors:
    """Atomic scatter of one element per index."""
    return {"table": x["table"].index_add(0, x["index"].long(), x["small"])}


def recur(t: int, b: int, h: int) -> Reference:
    """All states of the recurrence from a zero state."""

    def reference(x: Tensors) -> Tensors:
        state, states = torch.zeros(b, h), []
        for step in x["x"].view(t, b, h):
            state = torch.tanh(step + state @ x["w"].view(h, h))
            states.append(state)
        return {"y": torch.stack(states).flatten()}

    return reference


def step(b: int, h: int) -> Reference:
    """One step of the recurrence."""

    def reference(x: Tensors) -> Tensors:
        hidden = x["chain0"].view(b, h).double() @ x["w"].view(h, h).double()
        return {"chain1": torch.tanh(x["x"].view(b, h) + hidden).flatten()}

    return reference


def chain() -> Reference:
    """Two applications of `elementwise.combine` with six inputs."""

    def reference(x: Tensors) -> Tensors:
        extra = sum(x[f"extra{i}"] for i in range(5)) * 0.125
        once = x["chain0"] * 0.5 + extra
        return {"chain1": once, "chain0": once * 0.5 + extra}

    return reference


def special(op: str) -> Reference:
    """Two dependent special operations."""
    once = {
        "erf": torch.erf, "exp": lambda v: torch.exp(-v), "log": lambda v: torch.log(v + 2), "sin": torch.sin,
        "div": lambda v: 1.5 / (v + 1), "sqrt": lambda v: torch.sqrt(v + 1), "sigmoid": torch.sigmoid,
        "fma": lambda v: v * 0.75 + 0.5,
    }[op]  # fmt: skip
    return lambda x: {"y": once(once(x["x"].abs()))}


#: One operation of `arithmetic.step` on `v`, with the second operand `w` where it has one. Integers divide towards zero.
OPERATIONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda v, w: v + 0.625, "mul": lambda v, w: v * 0.984375, "fma": lambda v, w: v * 0.75 + 0.5,
    "div": lambda v, w: w / (v + 0.5), "sqrt": lambda v, w: torch.sqrt(v + 1), "rsqrt": lambda v, w: torch.rsqrt(v + 1),
    "exp": lambda v, w: torch.exp(-v), "exp2": lambda v, w: torch.exp2(-v), "log": lambda v, w: torch.log(v + 2),
    "log2": lambda v, w: torch.log2(v + 3), "sin": lambda v, w: torch.sin(v), "cos": lambda v, w: torch.cos(v),
    "floor": lambda v, w: torch.floor(v * 0.75) + 0.625, "clamp": lambda v, w: (v * 1.25).clamp(0.25, 1.0),
    "count": lambda v, w: v * 0.75 + (v > w).to(v.dtype), "div_rn": lambda v, w: w / (v + 0.5),
    "sqrt_rn": lambda v, w: torch.sqrt(v + 1),
    "erf": lambda v, w: torch.erf(v), "sigmoid": lambda v, w: torch.sigmoid(v),
    "max": lambda v, w: torch.maximum(v * 0.984375, w), "where": lambda v, w: torch.where(v > w, v * 0.75, v + 0.25),
    "xor_add": lambda v, w: (v ^ w) + 12345, "mul_add": lambda v, w: v * w + 12345,
    "div_add": lambda v, w: torch.div(v, w | 1, rounding_mode="trunc") + 1234567,
    "mod_add": lambda v, w: torch.fmod(v, w | 1) + 1234567,
    "div_7_add": lambda v, w: torch.div(v, 7, rounding_mode="trunc") + 1234567,
    "mod_7": lambda v, w: torch.fmod(v, 7) + v, "shift_xor": lambda v, w: (v >> 3) ^ (v << 5),
    "min_xor": lambda v, w: torch.minimum(v ^ 12345, w), "where_xor": lambda v, w: torch.where(v > w, v ^ 12345, v + 123),
}  # fmt: skip


def repeated(op: str, times: int) -> Reference:
    """`op` applied `times` times."""

    def reference(x: Tensors) -> Tensors:
        value, other = x["x"].abs(), x["other"].abs()
        for _ in range(times):
            value = OPERATIONS[op](value, other).to(value.dtype)
        return {"y": value}

    return reference


def converted(source: str, target: str) -> Reference:
    """The bits of one conversion."""
    first, second = getattr(torch, source), getattr(torch, target)
    bits, into = (getattr(torch, f"int{arithmetic.SIZE[name]}") for name in (source, target))
    return lambda x: {"y": (x["x"].view(bits) ^ 1).view(first).to(second).view(into)}


def unpacked(x: Tensors) -> Tensors:
    """`arithmetic.formula` with int4 unpacking."""
    v, w = x["x"].abs(), x["other"].abs()
    low, high = ((v.int() & 15) - 8).float() * w, ((v.int() >> 4 & 15) - 8).float() * w
    return {"y": v * 0.5 + low * high}


#: What `arithmetic.formula` does once, where one line says it.
FORMULAS: dict[tuple[str, str], Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    ("gelu_tanh", "float32"): lambda v, w: torch.nn.functional.gelu(v, approximate="tanh") + 0.25,
    ("softplus", "float64"): lambda v, w: torch.nn.functional.softplus(v) * w,
    ("collatz", "int64"): lambda v, w: torch.where(v % 2 == 0, v // 2, 3 * v + 1),
    ("dates", "int32"): lambda v, w: (v % 146097 - v % 146097 // 1460) // 365 + v % 146097 % 1461 * w,
    ("mixed_bits", "int32"): lambda v, w: (u := v * 73244475) ^ (u >> 15),
    ("linear_light", "float64"): lambda v, w: torch.where(
        (u := torch.where(v > 0.04045, ((v + 0.055) / 1.055) ** 2.4, v / 12.92)) > 0.008856, u ** (1 / 3), 7.787 * u + 0.138
    ),
    ("box_muller", "float64"): lambda v, w: (
        torch.sqrt(-2 * torch.log(v * 0.25 + 0.0625)) * torch.cos(6.283185307 * w)
    ).abs().clamp(max=2),
    ("pair_energy", "float64"): lambda v, w: (
        torch.exp(-0.5 * (r := (v * v + w * w + 0.01).sqrt())) / r + r**-6
    ).clamp(max=2),
    ("mandelbrot", "float32"): lambda v, w: torch.where(
        (s := v * v - w * w + 0.25) ** 2 + (2 * v * w + 0.125) ** 2 < 4, s, 0.5
    ),
}  # fmt: skip


def arithmetic_pairs() -> list[tuple[Case, Reference]]:
    """Every operation twice over, every conversion and formula. What libdevice alone has does not run on a CPU, and Triton's
    interpreter has neither bfloat16 nor fp8 bit for bit: those kernels are the same as the others."""
    found: list[tuple[Case, Reference]] = []
    for dtype in ("float32", "float64", "float16", "int32", "int64"):
        floats: tuple[str, ...] = (*arithmetic.PLAIN, "div")
        if dtype != "float16":
            floats = (*arithmetic.PLAIN, *arithmetic.LESS_PLAIN, *arithmetic.DEAR)
        if dtype == "float32":
            floats = (*floats, *arithmetic.SINGLE)
        for op in (*arithmetic.INTEGER, *arithmetic.DIVIDES) if dtype.startswith("int") else floats:
            if op in OPERATIONS:
                found.append((arithmetic.chain_case(op, dtype, 2, 1, 64, 32), repeated(op, 2)))
    for source, target in arithmetic.CONVERSIONS:
        if not {"bfloat16", *arithmetic.HELD} & {source, target}:
            found.append((arithmetic.convert_case(source, target, 1, 1, 64, 32), converted(source, target)))
    for (op, dtype), once in FORMULAS.items():
        found.append(
            (arithmetic.formula_case(op, dtype, 1, 64, 32), lambda x, f=once: {"y": f(x["x"].abs(), x["other"].abs())})
        )
    found.append((arithmetic.formula_case("unpack", "float32", 1, 64, 32), unpacked))
    return found


def upcast(axis: int) -> Reference:
    """[32, 64] times [64, 48], the operands stored as `spilling.upcast_case` reads them."""

    def reference(x: Tensors) -> Tensors:
        a = x["a"].view(64, 32).T if axis == 0 else x["a"].view(32, 64)
        b = x["b"].view(48, 64).T if axis == 2 else x["b"].view(64, 48)
        return {"c": (a.double() @ b.double()).flatten()}

    return reference


def neighbours(taps: int, rows: int, cols: int) -> Reference:
    """Sums over the shifted planes of `lanes.stencil`."""
    shifts = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)][:taps]

    def reference(x: Tensors) -> Tensors:
        u, starts = x["u"].double(), [lanes.LEAD + (1 + down) * cols + right for down, right in shifts]
        return {"y": sum(u[start : start + rows * cols] for start in starts)}

    return reference


def held(count: int) -> Reference:
    """`count` planes of [5, 100], each row over the root of the squares of all planes."""

    def reference(x: Tensors) -> Tensors:
        planes = x["x"].view(count, 5, 100).double()
        return {"y": (planes * torch.rsqrt(planes.pow(2).sum((0, 2), keepdim=True) + 1e-6)).flatten()}

    return reference


def outer(programs: int, steps: int, bm: int, bn: int) -> Reference:
    """State halved and updated by a rank-one product at each step."""

    def reference(x: Tensors) -> Tensors:
        a, b = x["a"].view(programs, steps, bm).double(), x["b"].view(programs, steps, bn).double()
        decay = 0.5 ** torch.arange(steps - 1, -1, -1, dtype=torch.float64)
        return {"y": torch.einsum("s,psm,psn->pmn", decay, a, b).flatten()}

    return reference


def bags(length: int, d: int) -> Reference:
    """Sums of ``length`` rows of ``d`` elements each."""
    return lambda x: {"y": x["table"].double().view(-1, d)[x["index"]].view(-1, length, d).sum(1).flatten()}


def sparse(length: int, by_columns: bool) -> Reference:
    """A matrix of ``length`` elements in each row times a vector."""

    def reference(x: Tensors) -> Tensors:
        products = x["values"].double() * x["x"].double()[x["columns"]]
        return {"y": products.view(length, -1).sum(0) if by_columns else products.view(-1, length).sum(1)}

    return reference


def distances(length: int) -> Reference:
    """Squared distances of points to their neighbours, summed."""

    def reference(x: Tensors) -> Tensors:
        points = x["points"].double().view(-1, 3)
        apart = points[x["index"]].view(-1, length, 3) - points[:, None]
        return {"y": apart.pow(2).sum((1, 2))}

    return reference


def placed(d: int) -> Reference:
    """Rows of ``d`` elements at their indices, none twice."""

    def reference(x: Tensors) -> Tensors:
        table = x["table"].view(-1, d).clone()
        table[x["index"].long()] = x["x"].view(-1, d)
        return {"table": table.flatten()}

    return reference


def counted(name: str, d: int = 1) -> Reference:
    """Rows of ``d`` elements of ``name`` added at their indices; ones where there is no such buffer."""

    def reference(x: Tensors) -> Tensors:
        added = x[name] if name in x else torch.ones_like(x["index"])
        counters = x["counters"].double().view(-1, d)
        return {"counters": counters.index_add(0, x["index"].long(), added.double().view(-1, d)).flatten()}

    return reference


def largest(x: Tensors) -> Tensors:
    """The largest of what each counter was offered."""
    return {"counters": x["counters"].index_reduce(0, x["index"].long(), x["x"], "amax")}


def scattered() -> list[tuple[Case, Reference]]:
    """The kernels of ``scatter.py``."""
    orders = ("random", "sorted", "near", "stride", "few", "permuted")
    picked = lambda x: {"y": x["table"][x["index"].long()]}  # noqa: E731
    found = [(scatter.pick_case(64, 100, order, block=32), picked) for order in orders]
    found.append((scatter.scalar_case(16, 100), picked))
    found.append((scatter.scalar_case(16, 100, 5), bags(5, 1)))
    for d in (3, 8):
        rows = lambda x, d=d: {"y": x["table"].view(-1, d)[x["index"]].flatten()}  # noqa: E731
        found.append((scatter.pick_rows_case(64, 50, d, tile=16), rows))
        found.append((scatter.put_rows_case(64, 64, d, "permuted", tile=16), placed(d)))
    found += [(scatter.bag_case(kind, 8, 4, 50, 24), bags(4, 24)) for kind in ("counted", "fixed", "tile")]
    found.append((scatter.sparse_case("rows", 8, 40, 100, block=32), sparse(40, False)))
    found.append((scatter.sparse_case("scalar", 8, 5, 100), sparse(5, False)))
    found.append((scatter.sparse_case("lanes", 64, 5, 100, block=32), sparse(5, True)))
    found.append((scatter.sparse_case("tile", 64, 8, 100, block=16), sparse(8, False)))
    found.append((scatter.neighbours_case(64, 5, "random", 32), distances(5)))
    found.append((scatter.put_case(64, 64, "permuted", block=32), placed(1)))
    found += [
        (scatter.count_case(64, 10, dtype, "relaxed", block=32), counted("ones")) for dtype in ("int32", "float32")
    ]
    found.append((scatter.change_case("add", 64, 10, "int32", True, block=32), counted("x")))
    found.append((scatter.change_case("max", 64, 10, "int32", block=32), largest))
    found.append((scatter.change_case("cas", 64, 10, "int32", block=32), lambda x: {"counters": x["counters"]}))
    found.append((scatter.change_case("xchg", 64, 64, "int32", order="permuted", block=32),
                  lambda x: {"counters": torch.empty_like(x["x"]).index_copy(0, x["index"].long(), x["x"])}))  # fmt: skip
    found.append((scatter.change_scalar_case(16, 10, "float32", "relaxed"), counted("x")))
    found.append((scatter.change_rows_case(16, 10, 24, "float32"), counted("x", 24)))
    found.append((scatter.narrow_case(16, 2, 1), lambda x: {"y": x["x"] * 2}))
    return found


def pairs() -> list[tuple[Case, Reference]]:
    """A tiny case of every kernel with its reference."""
    found: list[tuple[Case, Reference]] = []
    for mode, layout, group in (("fp16", "K-major", 1), ("fp16", "N-major", 2), ("tf32", "N-major", 1),
                                ("int8", "K-major", 1), ("int8_to_fp16", "N-major", 1), ("fp16_to_tf32", "K-major", 2),
                                ("ieee", "K-major", 1)):  # fmt: skip
        for shape in ((64, 48, 64), (50, 40, 72)):
            case = gemm.gemm_case(mode, shape, (16, 16, 32), layout=layout, group=group)
            found.append((case, product(case)))
    case = gemm.gemm_case("fp16", (64, 48, 64), (16, 16, 32), order="columns")
    found.append((case, product(case)))
    case = gemm.gemm_case("fp16", (64, 48, 64), (16, 16, 32), c_rows=False)
    found.append((case, lambda x, case=case: {"c": product(case)(x)["c"].view(64, 48).T.flatten()}))
    for reduce in ("atomic", "buffer+sum"):
        case = gemm.split_k_case((32, 64, 256), (16, 32, 32), 4, reduce)
        if reduce == "buffer+sum":
            case = gemm.split_k_case((32, 512, 256), (16, 32, 32), 4, reduce)
        found.append((case, product(case)))
    for dtype in ("float16", "float32"):
        found.append((rows.whole_row_case("softmax", 3, 100, dtype, 4), lambda x: {"y": softmax(x["x"], 100)}))
        found.append(
            (
                rows.whole_row_case("rms_norm", 3, 100, dtype, 4),
                lambda x: {"y": (normalised(x["x"], 100, False) * x["weight"]).flatten()},
            )
        )
        found.append(
            (
                rows.whole_row_case("layer_norm", 3, 100, dtype, 4),
                lambda x: {"y": (normalised(x["x"], 100) * x["weight"] + x["bias"]).flatten()},
            )
        )
        found.append((rows.scalars_case("stats", 3, 100, dtype, 4), lambda x: stats(x["x"], 100)))
        found.append(
            (
                rows.scalars_case("apply", 3, 100, dtype, 4),
                lambda x: {"y": ((x["x"].view(3, 100) - x["mean"][:, None]) * x["rstd"][:, None]).flatten()},
            )
        )
    for passes, store in ((1, False), (2, False), (1, True), (2, True)):
        found.append((rows.loop_case(3, 100, "float32", 32, 4, passes, store), loop(passes, store, 100)))
    found.append((rows.online_case(3, 100, "float32", 32, 4, True), lambda x: {"y": softmax(x["x"], 100)}))
    found.append(
        (rows.online_case(3, 100, "float32", 32, 4, False), lambda x: {"y": x["x"].view(3, 100).logsumexp(-1)})
    )
    sums = lambda x: {"sums": x["x"].double().view(70, 50).sum(0)}  # noqa: E731
    found.append((columns.column_case(70, 50, "float32", 16, 8), sums))
    found.append(
        (columns.column_case(70, 50, "float32", 16, 8, 4, 32), lambda x: {"sums": x["sums"] + sums(x)["sums"]})
    )
    found.append((columns.column_per_program_case(70, 50, "float32", 32), sums))
    along = lambda x: x["w"].double().view(70, 50)  # noqa: E731
    found.append(
        (matvec.tile_case("matvec", 70, 50, "float32", 16, 32), lambda x: {"sums": along(x) @ x["x"].double()})
    )
    found.append((matvec.tile_case("row_tile_sum", 70, 50, "float32", 16, 32), lambda x: {"sums": along(x).sum(1)}))
    transposed = lambda x: {"y": x["x"].view(64, 96).T.flatten()}  # noqa: E731
    found.append((columns.row_to_column_case(64, 96, "float16"), transposed))
    found += [(columns.transpose_case(64, 96, "float16", 16, 32, trans), transposed) for trans in (False, True)]
    found.append((columns.stride_case(64, "float32", 1, 8, 32), lambda x: {"y[::8]": x["x"]}))
    found.append((columns.stride_case(64, "float32", 8, 1, 32), lambda x: {"y": x["x"][::8]}))
    found.append(
        (
            columns.gather_case("gather", 64, 1000, "float32", "int64", 32),
            lambda x: {"small": x["table"][x["index"]]},
        )
    )
    found.append((columns.gather_case("scatter_add", 64, 1000, "float32", "int32", 32), scatter_add))
    found.append(
        (columns.embed_case(8, 50, 24, "float32"), lambda x: {"y": x["table"].view(50, 24)[x["index"]].flatten()})
    )
    found.append((elementwise.chain_case(2, 64, "float32", 7, 32), chain()))
    found.append((elementwise.block_case(64, "float16", 32, 1), lambda x: {"y": x["x"] * 0.5}))
    for op in ("erf", "exp", "log", "div", "sqrt", "sigmoid", "sin", "fma"):
        found.append((elementwise.special_case(op, 2, 64, "float32", 32), special(op)))
    for causal in (False, True):
        found.append(
            (
                attention.flash_case(2, 64, 16, 32, 16, 4, 1, causal),
                lambda x, causal=causal: {"o": attended(x, 2, 64, 16, causal)},
            )
        )
    found.append(
        (
            attention.scores_case(2, 64, 16, 32, 16, 4, "float16", "float32"),
            lambda x: {"s": (x["q"].view(2, 64, 16).double() @ x["k"].view(2, 64, 16).double().mT * 0.125).flatten()},
        )
    )
    found.append(
        (
            attention.weighted_values_case(2, 64, 16, 32, 16, 4, 1, "float32", "float32"),
            lambda x: {"o": (x["p"].view(2, 64, 64).double() @ x["v"].view(2, 64, 16).double()).flatten()},
        )
    )
    found.append(
        (
            fma.broadcast_case((32, 48, 64), (16, 16, 16), "float32"),
            lambda x: {"c": (x["a"].view(32, 64).double() @ x["b"].view(64, 48).double()).flatten()},
        )
    )
    found += [
        (spilling.upcast_case(axis, (32, 48, 64), (16, 16, 16), "float16", 4), upcast(axis)) for axis in (0, 1, 2)
    ]
    found += [(spilling.hold_case(count, 5, 100, 128, "float32", 4), held(count)) for count in (1, 2, 4)]
    found.append(
        (
            spilling.accumulate_case(5, 64, 4, 16, "float32", 4),
            lambda x: {"y": x["x"].view(5, 4, 64).double().sum(0).flatten()},
        )
    )
    found.append((spilling.outer_case(3, 7, 16, 8, "float32", 4), outer(3, 7, 16, 8)))
    found += [(lanes.stencil_case(t, 8, 64, 4, 32, "float32", 4), neighbours(t, 8, 64)) for t in (1, 3, 5, 9)]
    found.append((lanes.walk_case(64, 7, 32, "float16", 1), lambda x: {"y": x["x"].view(64, 7).double().sum(1)}))
    top = lambda x: x["x"].view(16, 32).topk(3)  # noqa: E731
    found.append(
        (
            lanes.top_case(16, 32, 3, 8, "float32", 4),
            lambda x: {"y": top(x).values.flatten(), "which": top(x).indices.flatten()},
        )
    )
    found.append((lanes.top_case(16, 32, 0, 8, "float32", 4), lambda x: {"y": x["x"].view(16, 32).amax(1)}))
    for ks in (3, 5):
        found.append((fma.direct_conv_case(2, 3, 2, 7, ks, "float32", 32), conv(2, 3, 2, 7, ks)))
        found.append((fma.implicit_conv_case(2, 3, 5, 7, ks, "float32", (16, 16, 16)), conv(2, 3, 5, 7, ks)))
    running = lambda x: {"y": x["x"].double().view(3, 100).cumsum(1).flatten()}  # noqa: E731
    found += arithmetic_pairs()
    found += [(fma.scan_case(3, 100, "float32", block, 4), running) for block in (0, 32)]
    found.append((recurrent.persistent_case(4, 32, 16, 16, 4, "float32", "ieee"), recur(4, 32, 16)))
    found.append((recurrent.stepwise_case(1, 32, 64, 16, 32), step(32, 64)))
    return found + scattered() + gridded() + multiplied() + blended() + unevenly()


def gridded() -> list[tuple[Case, Reference]]:
    """The kernels of `grids.py`."""
    half = lambda x: {"y": x["x"] * 0.5 + 1.0}  # noqa: E731

    def strided(x: Tensors) -> Tensors:
        whole = torch.zeros(4 * 96).double()
        whole[:300] = x["x"].double()
        return {"y": whole.view(4, 3, 32).sum((0, 2))}

    def steps(x: Tensors) -> Tensors:
        value = x["x"].double()
        for _ in range(5):
            value = value * 0.75 + 0.5
        return {"y": value}

    def chain(x: Tensors) -> Tensors:
        return {"part2": (x["part0"].double() * 0.5 + 1) * 0.5 + 1}

    small = lambda x: {"small1": x["small0"] * 0.5 + 1.0}  # noqa: E731
    eight = lambda x: {  # noqa: E731
        "small8": sum(x[f"small{i}"] * f for i, f in enumerate((0.5, 0.25, 2.0, 1.5, 1.0, 1.0, 1.0, 1.0)))
    }
    return [
        (grids.walk_case("walk_tiles", 3, 300, 32, "float32", 1), half),
        (grids.walk_case("walk_sum", 3, 300, 32, "float32", 1), strided),
        (grids.walk_softmax_case(2, 5, 50, 64, "float32", 1), lambda x: {"y": softmax(x["x"], 50)}),
        (grids.deep_case("deep_map", 3, 100, 32, "float32", 1), half),
        (
            grids.deep_case("deep_sum", 3, 100, 32, "float32", 1),
            lambda x: {"sums": x["x"].double().view(3, 100).sum(1)},
        ),
        (
            grids.deep_case("deep_product", 3, 100, 32, "float32", 1),
            lambda x: {"sums": (x["x"].double() * x["other"].double()).view(3, 100).sum(1)},
        ),
        (grids.deep_tile_case(70, 50, (16, 16), "float32", 1), lambda x: {"sums": x["x"].double().view(70, 50).sum(0)}),
        (grids.same_work_case(3, 5, 32, 1), steps),
        (grids.stairs_case(5, 32, 1), lambda x: {"y": x["x"].double().view(5, 32).cumsum(0).flatten()}),
        (grids.near_l2_case("chain_2", 1, "float32", 65536, 1), chain),
        (grids.launches_case("turns", 2, 32, 2, 1), small),
        (grids.launches_case("arguments", 2, 32, 1, 1), eight),
    ]


def multiplied() -> list[tuple[Case, Reference]]:
    """The kernels of `products.py`."""

    def square(m: int, n: int, k: int) -> Reference:
        return lambda x: {"c": (x["a"].view(m, k).double() @ x["b"].view(k, n).double()).flatten()}

    def batched(count: int, m: int, n: int, k: int) -> Reference:
        return lambda x: {
            "c": (x["a"].view(count, m, k).double() @ x["b"].view(count, k, n).double()).flatten()
        }  # fmt: skip

    def unpacked(x: Tensors) -> Tensors:
        shifts = torch.arange(8, dtype=torch.int32) * 4
        weight = ((x["packed"].view(8, 1, 64) >> shifts[None, :, None]) & 15).view(64, 64) - 8
        product = x["a"].view(20, 64).double() @ weight.double()
        return {"c": (product * x["scales"].double()).flatten()}

    def by_bytes(x: Tensors) -> Tensors:
        product = x["a"].view(20, 64).double() @ x["w8"].view(64, 64).double()
        return {"c": (product * x["scales"].double()).flatten()}

    def experts(x: Tensors) -> Tensors:
        weight = x["w"].view(2, 32, 64).double()[x["expert"].long()]
        return {"c": (x["a"].view(3, 16, 32).double() @ weight).flatten()}

    def last(x: Tensors) -> Tensors:
        image, weight = x["x"].view(2, 7, 7, 32).double(), x["w"].view(3, 3, 32, 16).double()
        y = torch.nn.functional.conv2d(image.permute(0, 3, 1, 2), weight.permute(3, 2, 0, 1), padding=1)
        return {"y": y.permute(0, 2, 3, 1).flatten()}

    def planes(x: Tensors) -> Tensors:
        image, weight = x["x"].view(2, 3, 7, 7).double(), x["w"].view(3, 1, 3, 3).double()
        return {"y": torch.nn.functional.conv2d(image, weight, padding=1, groups=3).flatten()}

    def causal(x: Tensors) -> Tensors:
        image, weight = x["x"].view(2, 32, 16).double().mT, x["w"].view(16, 1, 4).double()
        y = torch.nn.functional.conv1d(torch.nn.functional.pad(image, (3, 0)), weight, groups=16)
        return {"y": y.mT.flatten()}

    def query(x: Tensors) -> Tensors:
        q, k, v = x["q"].view(2, 1, 16).double(), x["k"].view(2, 50, 16).double(), x["v"].view(2, 50, 16).double()
        return {"o": ((q @ k.mT * 0.125).softmax(-1) @ v).flatten()}

    return [
        (products.persistent_case((64, 96, 64), (16, 32, 16), 5, "float32", 1, group=2), square(64, 96, 64)),
        (products.small_case(3, (16, 16, 32), 16, "float32", True), batched(3, 16, 16, 32)),
        (products.narrow_case("unpacked_product", (20, 64, 64), (16, 32, 32), "float32"), unpacked),
        (products.narrow_case("byte_product", (20, 64, 64), (16, 32, 32), "float32"), by_bytes),
        (products.expert_case(3, 2, 64, 32, (16, 32, 16)), experts),
        (products.conv_case("conv_by_taps", 2, 32, 16, 7, 3, (16, 16, 16), "float32"), conv(2, 32, 16, 7, 3)),
        (products.conv_case("conv_channels_last", 2, 32, 16, 7, 3, (16, 16, 16), "float32"), last),
        (products.depthwise_case(2, 3, 7, 3, 32, "float32"), planes),
        (products.causal_case(2, 32, 16, 4, (16, 16), "float32"), causal),
        (products.query_case(2, 50, 16, 32, "float32"), query),
    ]


def blended() -> list[tuple[Case, Reference]]:
    """Some kernels of `blends.py`."""

    def added(x: Tensors) -> Tensors:
        total = (x["x"] + x["residual"]).double().view(3, 50)
        return {"residual": total.flatten(), "y": (normalised(total, 50, False).view(3, 50) * x["w"]).flatten()}

    def gradient(x: Tensors) -> Tensors:
        value, w = x["x"].double().view(3, 50).requires_grad_(), x["w"].double().requires_grad_()
        y = value * torch.rsqrt(value.pow(2).mean(-1, keepdim=True) + 1e-6) * w
        y.backward(x["y"].double().view(3, 50))
        assert value.grad is not None and w.grad is not None
        return {"dx": value.grad.flatten(), "dw": x["dw"] + w.grad}

    scales = lambda x: {"scales": x["x"].double().view(3, 50).abs().amax(1) / 127}  # noqa: E731
    return [
        (blends.rows_case("quantise_rows", 3, 50, "float32", 1), scales),
        (blends.rows_case("add_norm", 3, 50, "float32", 1), added),
        (blends.rows_case("norm_backward", 3, 50, "float32", 1), gradient),
        (blends.rows_case("sum_along", 3, 50, "float32", 1), lambda x: {"y": x["x"].view(3, 50).cumsum(1).flatten()}),
        (
            blends.rows_case("sort_rows", 3, 64, "float32", 1),
            lambda x: {"y": x["x"].view(3, 64).sort(1).values.flatten()},
        ),
    ]


def unevenly() -> list[tuple[Case, Reference]]:
    """The kernels of `uneven.py`."""

    def resized(channels: int) -> Reference:
        def reference(x: Tensors) -> Tensors:
            wide = 14
            image = x["image"].double().view(2, 3, wide, wide) if channels == 1 else (
                x["image"].double().view(2, wide, wide, 3).permute(0, 3, 1, 2)
            )  # fmt: skip
            made = torch.nn.functional.interpolate(image, (7, 7), mode="bilinear", align_corners=False)
            return {"resized": made.flatten()}

        return reference

    def gathered(x: Tensors) -> Tensors:
        rows_ = x["features"].double().view(8, 20)[x["source"].long()]
        return {"summed": x["summed"].double().view(8, 20).index_add(0, x["target"].long(), rows_).flatten()}

    def summed(x: Tensors) -> Tensors:
        return {"sums": x["features"].double().view(8, 20)[x["source"].long()].view(8, 5, 20).sum(1).flatten()}

    def counted(x: Tensors) -> Tensors:
        numbers = x["x"].double().view(64, 256).sum(1)[:20]
        return {"counts": x["counts"].double().index_add(0, torch.arange(20) % 3, numbers)}

    return [
        (uneven.resample_case("float32", 1, 4, 2.0, 7, 2, 32, 1), resized(1)),
        (uneven.resample_case("uint8", 3, 4, 2.0, 7, 2, 32, 1), resized(3)),
        (uneven.message_case("float32", 8, 5, 20, "sorted", (4, 32), 1), gathered),
        (uneven.segment_case("float32", 8, 5, 20, (4, 32), 1), summed),
        (uneven.one_case("float32", 20, 3, 1), counted),
    ]


def main() -> int:
    """Runs all pairs; prints the failures and a count."""
    wrong = 0
    for case, reference in pairs():
        before, after = run(case)
        for name, expected in reference(before).items():
            actual = after["y"][::8] if name == "y[::8]" else after[name]
            error = float((actual.double() - expected.double()).norm() / expected.double().norm())
            if not error < 3e-3:
                wrong += 1
                print(f"WRONG {case.key}: {name} differs by {error:.2e}")
    print(f"{len(pairs())} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
