"""Fit the constants of ``kernlint/cost/torch_ops.py`` and the host times of ``kernlint/cost/host.py``.

    python calibration/fit_torch_ops.py [--dry-run]

Data: ``calibration/facts/h100-torch-ops.csv``, ``h100-torch-ops-2.csv`` and ``h200-windows.csv`` (``gpu_us``), and
``h100-overheads.json``; each row is priced on the card that it was measured on. Each case of data
movement is fitted on its own rows, positive constants moved in their logarithm with a weak prior; sigma comes from
holding a part of the shapes out at a time. Needs numpy and scipy.
"""

from __future__ import annotations

import argparse
import copy
import csv
import json
import math
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "calibration")]

from micro_launches import FACTS, HERE, tensor  # noqa: E402

from kernlint.cost.device import Device, find_device  # noqa: E402
from kernlint.cost.torch_ops import Constants, case_of, parse, torch_op_time  # noqa: E402
from kernlint.workload import Tensor, TorchOp  # noqa: E402
from kernlint.workload import dtype as dtypes  # noqa: E402

DATA = ROOT / "kernlint" / "cost" / "data"
H100, H200 = find_device("h100-sxm"), find_device("h200")

#: Starting values; a constant that is 0 here stays 0 (the case has no such term).
START = {
    "copy": {"floor_us": 1.2},
    "transpose": {"floor_us": 1.6, "element_ps": 7.0},
    "cast_widen": {"floor_us": 2.2, "element_ps": 2.9},
    "fill": {"floor_us": 1.1, "l2_share": 0.55},
    "elementwise": {"floor_us": 1.3},
    "elementwise_indexed": {"floor_us": 1.8, "element_ps": 2.4},
    "reduce_inner": {"floor_us": 2.2, "element_ps": 0.6, "row_ns": 0.1},
    "reduce_outer": {"floor_us": 4.5, "element_ps": 0.6, "chain_ns": 0.95},
    "reduce_all": {"floor_us": 6.0, "element_ps": 0.5},
    "reduce_index": {"floor_us": 2.8, "element_ps": 1.5, "row_ns": 0.45},
    "softmax_short": {"floor_us": 1.7, "element_ps": 1.8, "chain_ns": 3.0},
    "softmax_long": {"floor_us": 2.0, "element_ps": 3.0, "passes": 2.0, "chain_ns": 0.4},
    "norm": {"floor_us": 2.5, "row_ns": 1.0, "chain_ns": 1.5, "passes": 1.5},
    "scan": {"floor_us": 1.5, "element_ps": 5.0, "chain_ns": 900.0},
    "reduce_extreme": {"floor_us": 4.0, "element_ps": 0.5, "row_ns": 0.1},
    "reduce_var": {"floor_us": 7.0, "element_ps": 1.2, "row_ns": 0.3},
    "logsumexp": {"floor_us": 20.0, "element_ps": 4.0, "passes": 5.0},
    "norm_rms": {"floor_us": 2.5, "row_ns": 0.3, "chain_ns": 0.5, "passes": 1.2},
    "scan_outer": {"floor_us": 2.0, "chain_ns": 300.0},
    "unfold": {"floor_us": 1.8, "element_ps": 2.4, "chain_ns": 250.0},
    "sort": {"floor_us": 20.0, "element_ps": 20.0, "passes": 10.0},
    "topk": {"floor_us": 40.0, "element_ps": 8.0, "passes": 5.0},
    "flip": {"floor_us": 2.0, "element_ps": 2.4},
    "scatter_rows": {"floor_us": 2.0, "element_ps": 7.0, "row_ns": 0.3},
    "loss": {"floor_us": 3.0},
    "pool": {"floor_us": 2.0, "element_ps": 0.7},
    "norm_planes": {"floor_us": 5.0, "chain_ns": 1.0, "row_ns": 5.0},
    "gather": {"floor_us": 1.5, "row_ns": 0.6},
    "cat": {"floor_us": 1.5},
    "cat_strided": {"floor_us": 1.5, "element_ps": 1.1},
    "pick": {"floor_us": 1.5, "element_ps": 6.0},
    "roll": {"floor_us": 1.5, "element_ps": 4.5},
}
RATES = {
    "dram_efficiency": 0.90,
    "l2_gb_per_s": 6000.0,
    "skinny_l2_gb_per_s": 5000.0,
    "l2_keeps": 0.62,
    "l2_drops": 1.0,
    "float16_efficiency": 0.78,
    "int8_efficiency": 0.48,
    "float32_efficiency": 0.78,
    "tf32_efficiency": 0.75,
    "matmul_floor_us": 2.3,
    "k_step_ns": 0.6,
    "split_us": 1.0,
    "attention_floor_us": 6.5,
    "attention_half_efficiency": 0.67,
    "attention_head_exponent": 0.4,
    "attention_causal_share": 0.75,
    "attention_single_efficiency": 0.5,
    "unaligned_share": 0.3,
}
#: Parts that the shapes of a case are held out in.
FOLDS = 12
#: Not in the data; the reasons stand in the written file.
ASSUMED_RATES = {
    "fp8_efficiency": 0.6,
    "float64_efficiency": 0.8,
    "attention_wide_share": 0.5,
    "rnn_floor_us": 50.0,
    "rnn_gate_us": 5.0,
    "rnn_half_efficiency": 0.25,
    "rnn_single_efficiency": 0.25,
}
KINDS = {
    "clone": "copy", "zeros_like": "fill", "to_float32": "cast", "add": "elementwise", "mul_scalar": "elementwise",
    "add_bias": "elementwise", "relu": "elementwise", "gelu": "elementwise", "sigmoid": "elementwise",
    "add_inplace": "elementwise", "transpose_contiguous": "transpose", "softmax_last": "softmax", "layer_norm": "norm",
    "sum_last": "reduce", "sum_first": "reduce", "sum_all": "reduce", "max_last": "reduce", "cumsum_last": "scan",
    "cat2_last": "cat", "index_select_rows": "gather", "empty_like": "alloc",
}  # fmt: skip


def build(row: dict[str, str]) -> TorchOp | None:
    """The op of one row of the facts; None for rows that are not ops of the model (a sync, a copy to the host)."""
    name = row["op"]
    dtype = dtypes.find(row["dtype"])
    if dtype is None or "x" not in row["shape"]:
        return None
    sizes = [int(part) for part in row["shape"].split("x")]
    flops = int(float(row["flops"]))
    if name in ("matmul_nt", "linear", "_int_mm"):
        m, n, k = sizes
        out = dtypes.INT32 if name == "_int_mm" else dtype
        reads: tuple[Tensor, ...] = (tensor("a", dtype, m, k), tensor("b", dtype, n, k))
        dims = {"batch": 1, "m": m, "n": n, "k": k}
        return TorchOp(name, "matmul", reads, (tensor("c", out, m, n),), HERE, "f", flops, dims)
    if name in ("sdpa", "bmm_scores"):
        b, h, s, d = sizes
        q, k_, v = (tensor(x, dtype, b, h, s, d) for x in "qkv")
        if name == "sdpa":
            dims = {"batch": b * h, "m": s, "n": s, "k": d, "causal": 0}
            return TorchOp(name, "attention", (q, k_, v), (tensor("o", dtype, b, h, s, d),), HERE, "f", flops, dims)
        dims = {"batch": b * h, "m": s, "n": s, "k": d}
        return TorchOp(name, "matmul", (q, k_), (tensor("s", dtype, b, h, s, s),), HERE, "f", flops, dims)
    if name == "conv2d_3x3":
        b, cin, height, width, cout = sizes
        conv = (tensor("x", dtype, b, cin, height, width), tensor("w", dtype, cout, cin, 3, 3))
        return TorchOp(name, "conv", conv, (tensor("y", dtype, b, cout, height, width),), HERE, "f", flops)
    if name not in KINDS:
        return None
    r, c = sizes
    x, y = tensor("x", dtype, r, c), tensor("y", dtype, r, c)
    moved: tuple[Tensor, ...] = (x,)
    writes: tuple[Tensor, ...] = (y,)
    dims = {}
    if name in ("zeros_like", "empty_like"):
        moved = ()
    elif name == "to_float32":
        # The facts' least bytes say what the fp32 rows are: a cast from fp32 to a 16-bit type.
        writes = (tensor("y", dtypes.FLOAT16 if dtype is dtypes.FLOAT32 else dtypes.FLOAT32, r, c),)
    elif name in ("add", "add_inplace"):
        moved = (x, tensor("z", dtype, r, c))
        writes = (x,) if name == "add_inplace" else (y,)
    elif name == "add_bias":
        moved = (x, tensor("b", dtype, c))
    elif name == "transpose_contiguous":
        moved = (replace(x, shape=(c, r), strides=(1, c)),)
        writes = (tensor("y", dtype, c, r),)
    elif name in ("sum_last", "max_last"):
        writes = (tensor("y", dtype, r),) if name == "sum_last" else (
            tensor("y", dtype, r), tensor("i", dtypes.INT64, r))  # fmt: skip
        dims = {"inner": 1}
    elif name == "sum_first":
        writes, dims = (tensor("y", dtype, c),), {"inner": 0}
    elif name == "sum_all":
        writes, dims = (tensor("y", dtype),), {"inner": 1}
    elif name == "cat2_last":
        moved, writes = (x, tensor("z", dtype, r, c)), (tensor("y", dtype, r, 2 * c),)
    elif name == "index_select_rows":
        moved = (x, tensor("i", dtypes.INT64, r))
    return TorchOp(name, KINDS[name], moved, writes, HERE, "f", flops, dims)


#: Names of the second file that are one op of the model, with its kind.
SECOND = {
    "copy_": "copy", "zeros": "fill", "fill_": "fill", "to_float16": "cast", "to_float32": "cast", "to_bfloat16": "cast",
    "rms_norm": "norm", "log_softmax": "softmax", "mean_last": "reduce", "mean_first": "reduce", "var_last": "reduce",
    "amax_last": "reduce", "argmax_last": "reduce", "logsumexp_last": "reduce", "cumsum_first": "scan",
    "cumsum_last": "scan", "flip_last": "copy", "sort_last": "scan", "topk8_last": "scan", "embedding": "gather",
    "index_rows": "gather", "index_add_rows": "gather", "cat2_first": "cat", "cat4_first": "cat", "stack2": "cat",
    "stack4": "cat",
    **dict.fromkeys(("tanh", "exp", "rsqrt", "silu", "erf", "pow2", "neg", "clamp", "gelu_tanh", "softplus", "mul",
                     "div", "maximum"), "elementwise"),
}  # fmt: skip


def build_second(row: dict[str, str]) -> TorchOp | None:
    """The op of one row of ``h100-torch-ops-2.csv``; None for chains of ops and for calls that synchronise."""
    name = row["op"]
    dtype = dtypes.find(row["dtype"])
    if dtype is None or not row["gpu_us"]:
        return None
    sizes = [int(part) for part in row["shape"].split("x")]
    flops = int(float(row["flops"]))

    def op(kind: str, reads: tuple[Tensor, ...], writes: tuple[Tensor, ...], **dims: int) -> TorchOp:
        return TorchOp(
            name.removesuffix("_last").removesuffix("_first").rstrip("8"), kind, reads, writes, HERE, "f", flops, dims
        )

    if name.startswith(("matmul_nn", "linear_bias")):
        m, n, k = sizes
        return op("matmul", (tensor("a", dtype, m, k), tensor("b", dtype, k, n)), (tensor("c", dtype, m, n),),
                  batch=1, m=m, n=n, k=k, **({"tf32": 1} if name.endswith("tf32") else {}))  # fmt: skip
    if name == "matvec":
        n, k = sizes
        return op("matmul", (tensor("a", dtype, n, k), tensor("x", dtype, k)), (tensor("y", dtype, n),),
                  batch=1, m=n, n=1, k=k)  # fmt: skip
    if name in ("bmm", "bmm_nt"):
        b, m, n, k = sizes
        return op("matmul", (tensor("a", dtype, b, m, k), tensor("b", dtype, b, k, n)), (tensor("c", dtype, b, m, n),),
                  batch=b, m=m, n=n, k=k)  # fmt: skip
    if name.startswith("sdpa"):
        b, h, t, d = sizes
        q, k_, v = (tensor(x, dtype, b, h, t, d) for x in "qkv")
        return op("attention", (q, k_, v), (tensor("o", dtype, b, h, t, d),),
                  batch=b * h, m=t, n=t, k=d, causal=int(name.endswith("causal")))  # fmt: skip
    if name.startswith("conv2d"):
        b, cin, height, width, cout = sizes
        ks = int(name[-1])
        reads = (tensor("x", dtype, b, cin, height, width), tensor("w", dtype, cout, cin, ks, ks))
        return op("conv", reads, (tensor("y", dtype, b, cout, height, width),))
    if name.startswith("bthd"):
        b, t, h, d = sizes
        shape, strides = ((b, h, t, d), (t * h * d, d, h * d, 1))
        if "bhdt" in name:
            shape, strides = (b, h, d, t), (t * h * d, d, 1, h * d)
        x = replace(tensor("x", dtype, b, t, h, d), shape=shape, strides=strides)
        return op("transpose", (x,), (tensor("y", dtype, *shape),))
    kind = SECOND.get(name)
    if kind is None:
        return None
    if kind == "gather":
        n, d = sizes
        table, index = tensor("table", dtype, 50000, d), tensor("index", dtypes.INT64, n)
        if name == "index_add_rows":
            return replace(op(kind, (index, tensor("u", dtype, n, d)), (table,)), name="index_add_")
        return op(kind, (table, index), (tensor("y", dtype, n, d),))
    x, y = tensor("x", dtype, *sizes), tensor("y", dtype, *sizes)
    if kind == "cast":
        out = dtypes.find(name.removeprefix("to_"))
        return op(kind, (x,), (tensor("y", out or dtype, *sizes),))
    if kind == "fill":
        return op(kind, (), (y,))
    if kind == "cat":
        parts = int("".join(c for c in name if c.isdigit()))
        return op(kind, tuple(tensor(f"x{i}", dtype, sizes[0] // parts) for i in range(parts)), (y,))
    if kind == "reduce":
        inner = int(name.endswith("last"))
        out = dtypes.INT64 if name == "argmax_last" else dtype
        return op(kind, (x,), (tensor("y", out, sizes[0] if inner else sizes[1]),), inner=inner)
    if kind == "scan":
        return op(kind, (x,), (y,), inner=int(name.endswith("last")))
    if name in ("mul", "div", "maximum"):
        return op(kind, (x, tensor("z", dtype, *sizes)), (y,))
    return op(kind, (x, tensor("w", dtype, sizes[-1])) if name == "rms_norm" else (x,), (y,))


def build_windows(row: dict[str, str]) -> TorchOp:
    """The op of one row of ``h200-windows.csv``: an unfold, or a reduction of short rows."""
    name, dtype = row["op"], dtypes.find(row["dtype"])
    assert dtype is not None
    sizes = [int(part) for part in row["shape"].split("x")]
    if name == "unfold":
        images, channels, height, width, taps, _ = sizes
        y = tensor("y", dtype, images, channels * taps * taps, height * width)
        dims = {"launches": images, "taps": taps * taps}
        return TorchOp(name, "gather", (tensor("x", dtype, *sizes[:4]),), (y,), HERE, "f", 0, dims)
    return TorchOp(
        name.removesuffix("_inner"), "reduce", (tensor("x", dtype, *sizes),), (tensor("y", dtype, sizes[0]),), HERE, "f", 0,
        {"inner": 1},
    )  # fmt: skip


#: Operations of ``library.py`` that are one op of the model, with its kind.
LIBRARY = {
    "softmax": "softmax", "log_softmax": "softmax", "cumsum": "scan", "cumprod": "scan",
    **dict.fromkeys(("logsumexp", "argmax", "amax", "sum", "var"), "reduce"),
    **dict.fromkeys(("smooth_l1_loss", "huber_loss", "mse_loss", "l1_loss", "kl_div"), "reduce"),
    **dict.fromkeys(("batch_norm", "instance_norm", "group_norm", "layer_norm"), "norm"),
}  # fmt: skip


def build_library(row: dict[str, str]) -> TorchOp | None:
    """The op of one row of ``h200-library.csv``; None for what the model takes apart or that could not be captured."""
    name, dtype = row["op"], dtypes.find(row["dtype"])
    text, _, said = row["shape"].partition(";")
    sizes = [int(part) for part in text.split("x")]
    if dtype is None or float(row["gpu_us"] or 0) < 1.0:
        return None
    x, flops = tensor("x", dtype, *sizes), int(float(row["flops"]))

    def op(kind: str, reads: tuple[Tensor, ...], *out: int, written: dtypes.Dtype = dtype, **dims: int) -> TorchOp:
        return TorchOp(name, kind, reads, (tensor("y", written, *out),), HERE, "f", flops, dims)

    if name in ("bmm", "matmul"):
        *batch, m, k = sizes
        n, count = int(said.removeprefix("n=")), math.prod(batch)
        return op("matmul", (x, tensor("w", dtype, *batch, k, n)), *batch, m, n, batch=count, m=m, n=n, k=k)
    if name == "attention":
        b, h, t, d = sizes
        return op("attention", (x, x, x), *sizes, batch=b * h, m=t, n=t, k=d, causal=0)
    if "pool" in name:
        window, stride = (int(part.split("=")[1]) for part in said.split(";"))
        out = [(size - window) // stride + 1 for size in sizes[2:]]
        return op("reduce", (x,), *sizes[:2], *out, inner=1, taps=window ** len(out))
    kind = LIBRARY.get(name)
    if kind is None:
        return None
    if kind == "reduce" and not said:
        return op(kind, (x, tensor("z", dtype, *sizes)), inner=1)
    inner = int(said != "outer")
    if kind == "reduce":
        return op(
            kind,
            (x,),
            sizes[0] if inner else sizes[1],
            written=dtypes.INT64 if name == "argmax" else dtype,
            inner=inner,
        )
    if name == "group_norm":
        return op(kind, (x,), *sizes, groups=8)
    if kind == "norm":
        return op(kind, (x, tensor("w", dtype, *sizes[1:])) if name == "layer_norm" else (x,), *sizes)
    return op(kind, (x,), *sizes, inner=inner)


def build_moves(row: dict[str, str]) -> TorchOp | None:
    """The op of one row of ``h200-moves.csv`` that has a case of its own: parts that are not contiguous, rolls, single elements."""
    name, dtype = row["op"], dtypes.find(row["dtype"])
    text, _, said = row["shape"].partition(";")
    sizes = [int(part) for part in text.split("x")]
    assert dtype is not None

    def op(kind: str, reads: tuple[Tensor, ...], *out: int, **dims: int) -> TorchOp:
        return TorchOp(name.split("_")[0], kind, reads, (tensor("y", dtype, *out),), HERE, "f", 0, dims)

    if name.startswith("roll"):
        return op("copy", (tensor("x", dtype, *sizes),), *sizes)
    if name in ("index_elements", "gather_elements"):
        count = int(said.removeprefix("n="))
        return op("gather", (tensor("x", dtype, *sizes), tensor("i", dtypes.INT64, count)), count, run=1)
    if name == "cat_slices":
        rows_, width = sizes
        part = replace(tensor("x", dtype, rows_, width // 8), strides=(width, 1))
        return op("cat", (part,) * 4, rows_, width // 2)
    if name == "cat_patches":
        _, high, wide, inner = sizes
        part = replace(tensor("x", dtype, 1, high // 2, wide // 2, inner),
                       strides=(high * wide * inner, 2 * wide * inner, 2 * inner, 1))  # fmt: skip
        return op("cat", (part,) * 4, 1, high // 2, wide // 2, 4 * inner)
    return None


#: The files of facts, each with what builds an op of its rows, and the card.
SOURCES = (
    ("h100-torch-ops.csv", build, H100),
    ("h100-torch-ops-2.csv", build_second, H100),
    ("h200-windows.csv", build_windows, H200),
    ("h200-library.csv", build_library, H200),
    ("h200-moves.csv", build_moves, H200),
)


@dataclass(frozen=True)
class Row:
    """One operation, its device time in microseconds and the card that it was measured on."""

    op: TorchOp
    gpu_us: float
    shape: str
    device: Device

    def error(self, constants: Constants) -> float:
        """ln(predicted/measured) of the device time."""
        return math.log(torch_op_time(self.op, self.device, constants).us / self.gpu_us)


def rows() -> list[Row]:
    """Every row that the model prices."""
    result = []
    for name, builder, device in SOURCES:
        with (FACTS / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                op = builder(row)
                if op is not None:
                    result.append(Row(op, float(row["gpu_us"]), row["shape"], device))
    return result


def group_of(op: TorchOp) -> str:
    return op.kind if op.kind in ("matmul", "attention", "conv") else case_of(op)


def tree(rates: dict[str, float], cases: dict[str, dict[str, float]]) -> dict[str, dict]:
    filled = {**cases}
    filled["unknown"] = {"floor_us": 2.0, "element_ps": 3.0, "passes": 2.0, "sigma": 0.9}
    filled["norm_planes"] = {**filled["norm_planes"], "passes": 2.0}  # once for the moments, once for what is written
    filled["random"] = {"floor_us": 1.6, "element_ps": 2.0, "sigma": 0.4}
    sigmas = {"matmul": 0.2, "attention": 0.2, "rnn": 0.7}
    return {"cases": filled, "rates": {**ASSUMED_RATES, **rates}, "sigmas": sigmas}


def solve(paths: list[tuple[str, ...]], data: dict, measured: list[Row]) -> dict:
    """``data`` with the constants at ``paths`` (keys from the root) fitted to ``measured``."""

    def parent(root: dict, path: tuple[str, ...]) -> dict:
        for key in path[:-1]:
            root = root[key]
        return root

    start = np.log([parent(data, path)[path[-1]] for path in paths])

    def put(theta: np.ndarray) -> dict:
        changed = copy.deepcopy(data)
        for path, value in zip(paths, np.exp(theta)):
            parent(changed, path)[path[-1]] = float(value)
        return changed

    def loss(theta: np.ndarray) -> np.ndarray:
        constants = parse(put(theta))
        raw = np.array([row.error(constants) for row in measured])
        return np.concatenate([raw / 0.1, (theta - start) / 1.0])

    return put(least_squares(loss, start, loss="soft_l1", max_nfev=30).x)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    table = rows()
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in table:
        if row.op.kind not in ("alloc", "conv"):  # convolutions have a fit of their own
            groups[group_of(row.op)].append(row)
    data = tree(RATES, START)
    memory = [row for name in ("copy", "fill", "elementwise", "cat") for row in groups[name]]
    rates = ("dram_efficiency", "l2_gb_per_s", "l2_keeps", "l2_drops")
    shared: list[tuple[str, ...]] = [("rates", name) for name in rates]
    floors: list[tuple[str, ...]] = [("cases", name, "floor_us") for name in ("copy", "fill", "elementwise", "cat")]
    data = solve(shared + floors, data, memory)
    report = {}
    library = {
        "matmul": ["float16_efficiency", "int8_efficiency", "float32_efficiency", "tf32_efficiency", "matmul_floor_us",
                   "k_step_ns", "split_us", "skinny_l2_gb_per_s", "unaligned_share"],
        "attention": ["attention_floor_us", "attention_half_efficiency", "attention_head_exponent",
                      "attention_causal_share", "attention_single_efficiency"],
    }  # fmt: skip
    for name, measured in sorted(groups.items()):
        if name in library:
            names: list[tuple[str, ...]] = [("rates", key) for key in library[name]]
        else:
            names = [("cases", name, key) for key in START[name]]
        fitted = solve(names, data, measured)
        errors = []
        shapes = sorted({row.shape for row in measured})
        for fold in range(min(FOLDS, len(shapes))):
            left = set(shapes[fold::FOLDS])
            inside = [row for row in measured if row.shape not in left]
            if not inside:
                continue
            held = parse(solve(names, fitted, inside))
            errors += [row.error(held) for row in measured if row.shape in left]
        sigma = max(0.05, float(np.quantile(np.abs(errors), 0.8)) / 1.2816)
        if len(errors) < 8:
            sigma = max(sigma, 0.2)
        data = fitted
        report[name] = {
            "rows": len(errors),
            "mean_abs_ln_error_held_out": round(float(np.mean(np.abs(errors))), 3),
            "max_abs_ln_error_held_out": round(float(np.max(np.abs(errors))), 3),
        }
        print(f"{name:22s} {report[name]}")
        if name in library:
            data["sigmas"][name] = round(sigma, 3)
        else:
            data["cases"][name]["sigma"] = round(sigma, 3)
    weights = sum(entry["rows"] for entry in report.values())
    total = sum(entry["rows"] * entry["mean_abs_ln_error_held_out"] for entry in report.values()) / weights
    print("overall", round(total, 3))
    short = json.loads(json.dumps(data), parse_float=lambda text: float(f"{float(text):.4g}"))
    result = {
        "_about": "Constants of kernlint/cost/torch_ops.py, written by calibration/fit_torch_ops.py; do not edit.",
        "source": [f"calibration/facts/{name} (gpu_us)" for name, _, _ in SOURCES],
        "assumed": {
            "fp8_efficiency": "share of peak that int8 reaches, plus fp8's lower power",
            "float64_efficiency": "cuBLAS DGEMM at the usual 80 % of peak; not measured",
            "rnn": "one step of a gated layer takes 7 to 37 us, of a plain one 2 to 21, in 30 runs on an H200: a wide sigma",
            "attention_wide_share": "heads wider than flash attention takes: one measured row at 0.3 on few blocks",
            "random": "Philox at two elements per 4 ps; not measured: a wide sigma",
            "unknown": "one read and one write per element twice over; a wide sigma",
        },
        "mean_abs_ln_error_held_out": round(total, 3),
        "residuals": report,
        **short,
    }
    if not args.dry_run:
        (DATA / "torch_ops.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
