"""A survey of what programs are put together from: sources, steps of work and sinks of :mod:`composite_kernels`, drawn evenly.

:mod:`survey` has one class of access or instruction a program; here several meet in one, as in what people write. Each family has
its axes, of whose product a fixed number of cases is drawn at random, whatever the model makes of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import composite_kernels as kernels
import triton.language as tl
from case import BYTES, Buffer, Case, Launch, cdiv, micro
from survey import Params, drawn_cases

#: Elements of the largest tensor.
MOST = 1 << 25


def wide(dtype: str) -> tuple[str, Any]:
    """The type that elements of ``dtype`` are worked on in."""
    name = "float64" if dtype == "float64" else "float32"
    return name, getattr(tl, name)


def composed_case(p: Params) -> Case | None:
    """`composed`."""
    rows = p["programs"] * p["turns"] * p["R"]
    each = p["R"] * p["C"] // p["num_warps"] // 32
    if rows * p["C"] > MOST or not 1 <= each <= 64 or (p["FIRST"] == p["SECOND"]):
        return None
    name, kind = wide(p["dtype"])
    adding = p["SINK"] in ("atomic", "scatter")
    x, y = (
        Buffer("x", p["dtype"], rows * p["C"]),
        Buffer("added" if adding else "y", name if adding else p["dtype"], rows * p["C"]),
    )
    other = Buffer("other", p["dtype"], rows * p["C"])
    constants = {"SOURCE": p["SOURCE"], "FIRST": p["FIRST"], "SECOND": p["SECOND"], "SINK": p["SINK"], "WIDE": kind,
                 "R": p["R"], "C": p["C"]}  # fmt: skip
    launch = Launch(kernels.composed, (x, other, Buffer("index", "int32", rows, rows), y, p["turns"], rows), constants,
                    (p["programs"],), p["num_warps"])  # fmt: skip
    return micro("composed", dict(p), launch, bytes=x.nbytes)


def recurrent_case(p: Params) -> Case | None:
    """`recurrent`: of a state of C numbers, or of R x C."""
    flat = p["FORM"] in ("decay", "gated", "newton")
    r = 1 if flat else p["R"]
    each = r * p["C"] // p["num_warps"] // 32
    if (flat and p["R"] != 16) or not 1 <= each <= 128 or p["programs"] * p["steps"] * max(r, p["C"]) > MOST:
        return None
    n = p["programs"] * p["steps"]
    x, other = Buffer("x", p["dtype"], n * max(r, p["C"])), Buffer("other", p["dtype"], n * p["C"])
    y = Buffer("y", p["dtype"], n * max(r, p["C"]))
    constants = {"FORM": p["FORM"], "WIDE": wide(p["dtype"])[1], "R": p["R"], "C": p["C"]}
    launch = Launch(kernels.recurrent, (x, other, Buffer("q", p["dtype"], p["R"] * p["C"]), y, p["steps"]), constants,
                    (p["programs"],), p["num_warps"])  # fmt: skip
    return micro("recurrent", dict(p), launch)


def attended_case(p: Params) -> Case | None:
    """`attended`."""
    n = p["heads"] * p["length"] * p["D"]
    if (
        n > MOST
        or p["M"] > p["length"]
        or p["M"] * p["D"] // p["num_warps"] // 32 > 128
        or p["heads"] * p["length"] ** 2 > 1 << 30
    ):
        return None
    tensors = [Buffer(name, p["dtype"], n) for name in ("x", "other", "q")]
    launch = Launch(kernels.attended, (*tensors, Buffer("bias", p["dtype"], p["length"] ** 2), Buffer("y", p["dtype"], n), p["length"]),
                    {name: p[name] for name in ("FORM", "CAUSAL", "M", "N", "D")}, (p["length"] // p["M"], p["heads"]),
                    p["num_warps"], p["num_stages"])  # fmt: skip
    return micro("attended", dict(p), launch, flops=4 * p["heads"] * p["length"] ** 2 * p["D"])


def rounds_case(p: Params) -> Case | None:
    """`rounds`."""
    n = p["programs"] * p["R"] * p["C"]
    if n > MOST or not 1 <= p["R"] * p["C"] // p["num_warps"] // 32 <= 128:
        return None
    constants = {"WORK": p["WORK"], "WIDE": wide(p["dtype"])[1], "R": p["R"], "C": p["C"]}
    tensors = Buffer("x", p["dtype"], n), Buffer("y", p["dtype"], n)
    launch = Launch(kernels.rounds, (*tensors, p["count"]), constants, (p["programs"],), p["num_warps"])
    return micro("rounds", dict(p), launch)


def norm_back_case(p: Params) -> Case | None:
    """`norm_back`."""
    block = 1 << (p["cols"] - 1).bit_length()
    rows = p["programs"] * p["part"]
    n = rows * p["cols"]
    if n > MOST or not 4 <= block // p["num_warps"] // 32 <= 64:
        return None
    tensors = Buffer("x", p["dtype"], n), Buffer("other", p["dtype"], n), Buffer("w", p["dtype"], p["cols"])
    dw = Buffer("added", "float32", p["cols"] * (1 if p["SINK"] == "atomic" else 2 * p["programs"]))
    args = (*tensors, Buffer("stats", "float32", 2 * rows), Buffer("y", p["dtype"], n), dw, p["cols"], p["part"])
    constants = {"FORM": p["FORM"], "SINK": p["SINK"], "C": block}
    launch = Launch(kernels.norm_back, args, constants, (p["programs"],), p["num_warps"])
    return micro("norm_back", dict(p), launch, bytes=3 * tensors[0].nbytes)


def long_case(p: Params) -> Case | None:
    """`long_rows`."""
    n = p["programs"] * p["cols"]
    if n > MOST or not 1 <= p["BLOCK"] // p["num_warps"] // 32 <= 32:
        return None
    tensors = Buffer("x", p["dtype"], n), Buffer("w", p["dtype"], p["cols"]), Buffer("y", p["dtype"], n)
    constants = {"FORM": p["FORM"], "WIDE": wide(p["dtype"])[1], "BLOCK": p["BLOCK"]}
    launch = Launch(kernels.long_rows, (*tensors, p["cols"]), constants, (p["programs"],), p["num_warps"])
    return micro("long_rows", dict(p), launch, bytes=n * BYTES[p["dtype"]])


def windowed_case(p: Params) -> Case | None:
    """`windowed`."""
    by, bx = p["tile"]
    n = p["planes"] * p["side"] ** 2
    if n > 1 << 24 or not 1 <= by * bx // p["num_warps"] // 32 <= 16 or n * (2 * p["RADIUS"] + 1) ** 2 > 1 << 30:
        return None
    constants = {"WORK": p["WORK"], "RADIUS": p["RADIUS"], "UNROLLED": p["UNROLLED"], "BY": by, "BX": bx}
    launch = Launch(kernels.windowed, (Buffer("x", p["dtype"], n), Buffer("y", "float32", n), p["side"], p["side"]), constants,
                    (cdiv(p["side"], by) * cdiv(p["side"], bx), p["planes"]), p["num_warps"])  # fmt: skip
    return micro("windowed", {**p, "tile": f"{by}x{bx}"}, launch, bytes=2 * n * BYTES[p["dtype"]])


def walked_case(p: Params) -> Case | None:
    """`walked`."""
    n = p["programs"] * p["LANES"] * p["steps"]
    if n > MOST or p["num_warps"] > max(1, p["LANES"] // 32):
        return None
    tensors = Buffer("x", "float32", n), Buffer("other", "float32", n), Buffer("y", "float32", n)
    launch = Launch(kernels.walked, (*tensors, p["steps"]), {"WORK": p["WORK"], "LANES": p["LANES"], "STORES": p["STORES"]},
                    (p["programs"],), p["num_warps"])  # fmt: skip
    return micro("walked", dict(p), launch)


def edge_case(p: Params) -> Case | None:
    """`edges`."""
    n = p["programs"] * p["E"]
    if not 1 <= p["E"] * p["C"] // p["num_warps"] // 32 <= 64 or n * p["C"] > 1 << 27 or p["nodes"] * p["C"] > MOST:
        return None
    ends = [Buffer(name, "int32", n, p["nodes"], "random") for name in ("source", "target")]
    sink = Buffer("added" if p["SINK"] in ("row", "number") else "y", "float32", max(p["nodes"], n) * p["C"])
    launch = Launch(kernels.edges, (Buffer("x", p["dtype"], p["nodes"] * p["C"]), *ends, sink, p["C"]),
                    {"WORK": p["WORK"], "SINK": p["SINK"], "E": p["E"], "C": p["C"]}, (p["programs"],), p["num_warps"])  # fmt: skip
    return micro("edges", dict(p), launch)


def product_case(p: Params) -> Case | None:
    """`worked_product`."""
    (m, n, k), (rows, cols, depth) = p["shape"], p["tile"]
    held = "int8" if p["BEFORE"] in ("scaled", "wide", "shifted") else p["dtype"]
    if rows > m or cols > n or depth > k or not 4 <= rows * cols // p["num_warps"] // 32 <= 128:
        return None
    x, w = Buffer("x", p["dtype"], m * k), Buffer("w8" if held == "int8" else "other", held, n * k)
    out = Buffer("added", "float32", m) if p["AFTER"] == "sums" else Buffer("y", p["dtype"], m * n)
    constants = {"BEFORE": p["BEFORE"], "AFTER": p["AFTER"], "ROWS": rows, "COLS": cols, "DEPTH": depth}
    launch = Launch(kernels.worked_product, (x, w, Buffer("scale", "float32", n), out, m, n, k), constants,
                    (m // rows, n // cols), p["num_warps"], p["num_stages"])  # fmt: skip
    params = {**p, "shape": f"{m}x{n}x{k}", "tile": f"{rows}x{cols}x{depth}"}
    return micro("worked_product", params, launch, flops=2 * m * n * k)


def graph_case(p: Params) -> Case | None:
    """Small launches of several kinds one after the other, each on what the one before has written."""
    if p["rows"] * p["C"] > 1 << 22:
        return None
    launches, n = [], p["rows"] * p["C"]
    for step in range(p["launches"]):
        x, y = Buffer(f"link{step}", "float32", n), Buffer(f"link{step + 1}", "float32", n)
        kind = p["kinds"][step % len(p["kinds"])]
        if kind == "product":
            w = Buffer("w", "float32", p["C"] ** 2)
            launches.append(Launch(kernels.small_product, (x, w, y), {"C": p["C"], "R": 16}, (cdiv(p["rows"], 16),)))
        elif kind in ("norm", "softmax", "cumsum"):
            launches.append(Launch(kernels.small_rows, (x, y), {"OP": kind, "R": 4, "C": p["C"]}, (p["rows"] // 4,)))
        else:
            launches.append(Launch(kernels.small_map, (x, y, n), {"OP": kind, "BLOCK": 512}, (cdiv(n, 512),)))
    return micro("graph", {**p, "kinds": "+".join(p["kinds"])}, *launches)


STAGES = ("none", "exp", "gelu", "trig", "div", "where", "norm", "softmax", "columns", "cumsum", "argmax")
TYPES = ("float32", "float16", "float64")
#: Of each family how many cases are drawn, how one is built, and its axes.
FAMILIES: Sequence[tuple[int, Callable[[Params], Case | None], Mapping[str, Sequence[Any]]]] = (
    (150, composed_case, {"SOURCE": ("rows", "gather", "turned", "masked", "two", "bias"), "FIRST": STAGES, "SECOND": STAGES,
                          "SINK": ("keep", "store", "number", "atomic", "scatter"), "dtype": TYPES, "R": (1, 4, 16, 64),
                          "C": (32, 64, 128, 512), "turns": (1, 4, 32), "programs": (16, 132, 1024, 8192), "num_warps": (1, 2, 4, 8)}),
    (60, recurrent_case, {"FORM": ("decay", "gated", "newton", "outer", "delta", "selective"), "dtype": TYPES, "R": (16, 64, 128),
                          "C": (16, 64, 128, 512), "steps": (32, 256, 2048), "programs": (4, 64, 264, 2048), "num_warps": (1, 2, 4, 8)}),
    (45, attended_case, {"FORM": ("softmax", "bias", "slope", "relu"), "CAUSAL": (False, True), "M": (16, 32, 64, 128), "N": (32, 64, 128),
                         "D": (32, 64, 128), "heads": (2, 16, 64), "length": (128, 512, 2048), "dtype": ("float16", "float16", "float32"),
                         "num_warps": (4, 8), "num_stages": (1, 2, 3)}),
    (50, rounds_case, {"WORK": ("scale", "logs", "tile", "bisect", "power", "softmax"), "count": (5, 20, 80), "dtype": TYPES,
                       "R": (1, 16, 64, 128), "C": (16, 64, 128), "programs": (1, 64, 264, 2048), "num_warps": (1, 4, 8)}),
    (35, norm_back_case, {"FORM": ("layer", "rms"), "SINK": ("keep", "keep", "atomic"), "cols": (256, 768, 1024, 4096, 5000),
                          "part": (1, 8, 64), "programs": (32, 132, 528, 4096), "dtype": ("float32", "float16"),
                          "num_warps": (1, 4, 8, 16)}),
    (45, long_case, {"FORM": ("softmax", "norm", "online", "cumulative", "sums"), "cols": (1000, 8192, 50257, 1 << 18), "dtype": TYPES,
                     "BLOCK": (128, 512, 1024, 4096), "programs": (1, 16, 132, 1024, 8192), "num_warps": (1, 4, 8)}),
    (35, windowed_case, {"WORK": ("bilateral", "largest", "moments", "census"), "RADIUS": (1, 2, 3, 5), "UNROLLED": (False, True),
                         "dtype": ("float32", "float16", "uint8"), "planes": (1, 3, 16), "side": (256, 720, 1920),
                         "tile": ((1, 256), (4, 64), (16, 32), (32, 32)), "num_warps": (1, 4, 8)}),
    (30, walked_case, {"WORK": ("exp", "div", "two", "branch", "plain"), "LANES": (1, 1, 32, 128), "STORES": (False, True),
                       "steps": (64, 512, 4096), "programs": (1, 16, 132, 1024, 8192), "num_warps": (1, 2, 4)}),
    (35, edge_case, {"WORK": ("copy", "score", "distance", "gate"), "SINK": ("row", "number", "store", "out"), "E": (1, 8, 32),
                     "C": (32, 64, 128, 256), "nodes": (1 << 10, 1 << 14, 1 << 17), "programs": (132, 1024, 16384),
                     "dtype": ("float32", "float16"), "num_warps": (1, 2, 4)}),
    (45, product_case, {"shape": ((64, 64, 512), (512, 512, 512), (1024, 1024, 1024), (2048, 4096, 1024), (16, 4096, 4096),
                                  (8192, 128, 256)),
                        "tile": ((16, 64, 64), (32, 32, 32), (64, 64, 32), (64, 128, 32), (128, 128, 64)),
                        "BEFORE": ("none", "scaled", "wide", "silu", "shifted"), "AFTER": ("none", "gelu", "softmax", "sums"),
                        "dtype": ("float16", "bfloat16"), "num_warps": (4, 8), "num_stages": (1, 3, 4)}),
    (30, graph_case, {"kinds": (("exp", "norm"), ("norm", "product", "gelu"), ("product", "softmax", "product"), ("div", "where"),
                                ("cumsum", "exp"), ("softmax",)),
                      "rows": (16, 256, 4096), "C": (32, 128, 256), "launches": (2, 4, 8, 16)}),
)  # fmt: skip


def cases() -> list[Case]:
    """All cases of this module."""
    return list(itertools.chain.from_iterable(drawn_cases(*family) for family in FAMILIES))
