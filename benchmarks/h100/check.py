"""Runs every kernel on tiny sizes through Triton's interpreter, on the CPU, and compares it with PyTorch.

    TRITON_INTERPRET=1 python check.py

Exits with status 1 if any result is wrong. Sizes are chosen so that masks and tails matter.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import attention
import columns
import elementwise
import fma
import gemm
import lanes
import matvec
import recurrent
import rows
import scatter
import spilling
import torch
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
    found += [(fma.scan_case(3, 100, "float32", block, 4), running) for block in (0, 32)]
    found.append((recurrent.persistent_case(4, 32, 16, 16, 4, "float32", "ieee"), recur(4, 32, 16)))
    found.append((recurrent.stepwise_case(1, 32, 64, 16, 32), step(32, 64)))
    return found + scattered()


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
