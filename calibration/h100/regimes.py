"""Regimes that no other module here meets: products in full fp32 precision, states in chunks, functions of many elements a thread,
graphs of tiny launches, windows along a sequence, passes over what L2 holds in part, losses of few rows, matrices that a program works
on step by step, and three steps of work drawn at random.

Drawn as :mod:`composites` are, whatever the model makes of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import composite_kernels as composite
import regime_kernels as kernels
from case import BYTES, Buffer, Case, Launch, cdiv, micro
from survey import Params, drawn_cases

#: Elements of the largest tensor.
MOST = 1 << 25


def scored_case(p: Params) -> Case | None:
    """`scored`."""
    m, n, k = p["tile"]
    single = p["FORM"] == "single"
    if not 1 <= m * n // p["num_warps"] // 32 <= 128 or (m + n) * k * 4 > 1 << 17 or (single and p["n"] != 4):
        return None
    if p["programs"] * p["n"] * (m + n) * k > MOST:
        return None
    x, w = (Buffer(name, p["dtype"], p["programs"] * p["n"] * max(m, n) * k) for name in ("x", "other"))
    launch = Launch(kernels.scored, (x, w, Buffer("y", "float32", p["programs"] * m * n), p["n"]),
                    {"FORM": p["FORM"], "EXACT": p["EXACT"], "M": m, "N": n, "K": k}, (p["programs"],), p["num_warps"])  # fmt: skip
    return micro("scored", {**p, "tile": f"{m}x{n}x{k}"}, launch, flops=2 * m * n * k * p["programs"] * p["n"])


def held_case(p: Params) -> Case | None:
    """`held`."""
    m, n, k = p["M"], p["N"], p["K"]
    work = m * n * k // p["num_warps"] // 32 * (2 if p["FORM"] == "second" else 1)
    if not 1 <= m * n // p["num_warps"] // 32 <= 64 or work > 8192 or (m + 2 * n) * k * 4 > 1 << 17:
        return None
    x, w = (Buffer(name, p["dtype"], p["programs"] * p["n"] * max(m, n) * k) for name in ("x", "other"))
    y = Buffer("y", "float32", p["programs"] * p["n"] * m * max(n, k))
    if max(x.numel, y.numel) > MOST:
        return None
    launch = Launch(
        kernels.held, (x, w, y, p["n"]), {"FORM": p["FORM"], "M": m, "N": n, "K": k}, (p["programs"],), p["num_warps"]
    )
    return micro("held", dict(p), launch, flops=2 * m * n * k * p["programs"] * p["n"])


def chunked_case(p: Params) -> Case | None:
    """`chunked`."""
    c, d, e = p["tile"]
    n = p["programs"] * p["chunks"] * c * max(d, e)
    if n > MOST or not 2 <= d * e // p["num_warps"] // 32 <= 128 or (p["EXACT"] and p["dtype"] != "float32"):
        return None
    tensors = [Buffer(name, p["dtype"], n) for name in ("x", "other", "q")]
    launch = Launch(kernels.chunked, (*tensors, Buffer("y", p["dtype"], max(n, p["programs"] * d * e)), p["chunks"]),
                    {"FORM": p["FORM"], "EXACT": p["EXACT"], "C": c, "D": d, "E": e}, (p["programs"],), p["num_warps"],
                    p["num_stages"])  # fmt: skip
    return micro("chunked", {**p, "tile": f"{c}x{d}x{e}"}, launch)


def function_case(p: Params) -> Case | None:
    """`functions`: ``each`` elements a thread."""
    block = p["each"] * 32 * p["num_warps"]
    n = block * p["programs"]
    if n > MOST or p["FIRST"] == p["SECOND"]:
        return None
    launch = Launch(kernels.functions, (Buffer("x", p["dtype"], n), Buffer("y", p["dtype"], n), n),
                    {"FIRST": p["FIRST"], "SECOND": p["SECOND"], "MASKED": p["MASKED"], "BLOCK": block}, (p["programs"],),
                    p["num_warps"])  # fmt: skip
    return micro("functions", dict(p), launch)


def link(kind: str, step: int, n: int, C: int) -> Launch:
    """One launch of a graph, from one buffer to the next."""
    x, y = Buffer(f"link{step}", "float32", n), Buffer(f"link{step + 1}", "float32", n)
    if kind == "parts":
        return Launch(kernels.parts, (x, y), {"BLOCK": 256}, (n // 256,))
    if kind == "total":
        return Launch(kernels.total_of, (x, y, min(n, 8192)), {"BLOCK": 1024}, (1,))
    if kind == "turned":
        return Launch(kernels.turned, (x, y, n // C, C), {"SIDE": 32}, (n // C // 32, C // 32))
    if kind == "counted":
        return Launch(kernels.counted, (x, y, n), {"BLOCK": 512}, (cdiv(n, 512),))
    if kind in ("norm", "softmax", "cumsum", "argmax"):
        return Launch(composite.small_rows, (x, y), {"OP": kind, "R": 4, "C": C}, (n // C // 4,))
    return Launch(composite.small_map, (x, y, n), {"OP": kind, "BLOCK": 512}, (cdiv(n, 512),))


def links_case(p: Params) -> Case | None:
    """Many small launches one after the other, of as many kinds."""
    kinds = (p["first"], p["second"], p["third"])
    launches = [link(kinds[step % 3], step, p["n"], p["C"]) for step in range(p["launches"])]
    return micro("links", dict(p), *launches)


def slid_case(p: Params) -> Case | None:
    """`slid`."""
    n = p["rows"] * p["length"]
    if n > 1 << 24 or n * p["W"] > 1 << 28 or p["BLOCK"] // p["num_warps"] < 32:
        return None
    constants = {name: p[name] for name in ("FORM", "ALONG", "W", "UNROLLED", "BLOCK")}
    launch = Launch(kernels.slid, (Buffer("x", p["dtype"], n), Buffer("w", "float32", 64), Buffer("y", p["dtype"], n), p["rows"],
                                   p["length"]), constants, (cdiv(n, p["BLOCK"]),), p["num_warps"])  # fmt: skip
    return micro("slid", dict(p), launch, bytes=2 * n * BYTES[p["dtype"]])


def swept_case(p: Params) -> Case | None:
    """`swept`: of so many megabytes."""
    n = p["megabytes"] * 1_000_000 // BYTES[p["dtype"]]
    rows = n // p["cols"]
    programs = p["programs"] or rows
    if rows < 1 or programs > rows or p["BLOCK"] > p["cols"]:
        return None
    x, y = (
        Buffer("x", p["dtype"], rows * p["cols"]),
        Buffer("y", "float32", rows * p["cols"] if p["FORM"] == "written" else rows),
    )
    launch = Launch(
        kernels.swept, (x, y, rows, p["cols"]), {"FORM": p["FORM"], "BLOCK": p["BLOCK"]}, (programs,), p["num_warps"]
    )
    return micro("swept", dict(p), launch, bytes=n * BYTES[p["dtype"]])


def passed_case(p: Params) -> Case | None:
    """So many launches over the same ``megabytes``, each from one tensor to the next of so many."""
    n = p["megabytes"] * 250_000 // 4096 * 4096
    launches = []
    for step in range(p["launches"]):
        x, y = (Buffer(f"passed{(step + i) % p['tensors']}", "float32", n) for i in (0, 1))
        launches.append(
            Launch(composite.small_map, (x, y, n), {"OP": p["OP"], "BLOCK": 1024}, (n // 1024,))
            if p["OP"] != "norm"
            else Launch(composite.small_rows, (x, y), {"OP": "norm", "R": 4, "C": 512}, (n // 2048,))
        )
    return micro("passed", dict(p), *launches, bytes=2 * n * 4 * p["launches"])


def loss_case(p: Params) -> Case | None:
    """`picked_loss`."""
    block = 1 << (p["cols"] - 1).bit_length() if p["FORM"] == "once" else p["BLOCK"]
    n = p["programs"] * p["cols"]
    if n > MOST or not 1 <= block // p["num_warps"] // 32 <= 64 or (p["FORM"] == "once" and p["BLOCK"] != 1024):
        return None
    args = (
        Buffer("x", p["dtype"], n),
        Buffer("index", "int32", p["programs"], p["cols"]),
        Buffer("y", "float32", p["programs"]),
    )
    launch = Launch(
        kernels.picked_loss, (*args, p["cols"]), {"FORM": p["FORM"], "BLOCK": block}, (p["programs"],), p["num_warps"]
    )
    return micro("picked_loss", dict(p), launch, bytes=n * BYTES[p["dtype"]])


def eliminated_case(p: Params) -> Case | None:
    """`eliminated`."""
    if not 1 <= p["N"] ** 2 // p["num_warps"] // 32 <= 64:
        return None
    x, y = (Buffer(name, p["dtype"], p["programs"] * p["N"] ** 2) for name in ("x", "y"))
    launch = Launch(kernels.eliminated, (x, y), {"FORM": p["FORM"], "N": p["N"]}, (p["programs"],), p["num_warps"])
    return micro("eliminated", dict(p), launch)


def mixed_case(p: Params) -> Case | None:
    """`mixed`."""
    steps = (p["FIRST"], p["SECOND"], p["THIRD"])
    each = p["R"] * p["C"] // p["num_warps"] // 32
    rows = p["programs"] * p["turns"] * p["R"]
    if rows * p["C"] > MOST // 2 or not 1 <= each <= 64 or len(set(steps)) < 3:
        return None
    if "product" in steps and (p["R"] < 16 or p["C"] > 128):
        return None
    if "sort" in steps and p["R"] * p["C"] > 4096:
        return None
    args = (Buffer("x", p["dtype"], 2 * rows * p["C"] + p["C"]), Buffer("w", "float32", max(2, p["C"]) * p["C"]),
            Buffer("index", "int32", rows, rows), Buffer("y", "float32", rows * p["C"]), p["turns"])  # fmt: skip
    constants = {name: p[name] for name in ("FIRST", "SECOND", "THIRD", "SOURCE", "SINK", "R", "C")}
    return micro("mixed", dict(p), Launch(kernels.mixed, args, constants, (p["programs"],), p["num_warps"]))


FUNCTIONS = ("sin", "cos", "exp", "log", "erf", "sqrt", "rsqrt", "div", "none")
LINKS = ("exp", "norm", "softmax", "cumsum", "argmax", "where", "div", "parts", "total", "turned", "counted")
STEPS = ("hash", "quantise", "fp8", "double", "modulo", "sort", "product", "sigmoid", "log", "weights", "entropy", "centre", "none",
         "exp", "where", "softmax", "columns", "cumsum")  # fmt: skip
#: Of each family how many cases are drawn, how one is built, and its axes.
FAMILIES: Sequence[tuple[int, Callable[[Params], Case | None], Mapping[str, Sequence[Any]]]] = (
    (70, scored_case, {"FORM": ("single", "columns", "columns", "depth"), "EXACT": (True, True, False), "n": (4, 16, 64),
                       "tile": ((16, 16, 128), (32, 32, 128), (32, 64, 128), (32, 64, 64), (64, 64, 64), (16, 128, 128), (64, 32, 32),
                                (64, 64, 16), (16, 64, 256), (32, 128, 64)),
                       "dtype": ("float32", "int8", "float16"), "programs": (4, 66, 132, 600, 4096), "num_warps": (2, 4, 8)}),
    (120, held_case, {"FORM": ("query", "weights", "second"), "M": (16, 32, 64), "N": (16, 32, 64, 128), "K": (16, 32, 64, 128, 256),
                      "n": (4, 16), "dtype": ("float32", "int8", "float16"), "programs": (4, 132, 600), "num_warps": (1, 2, 4, 8)}),
    (70, chunked_case, {"FORM": ("sum", "features", "apply", "retention"), "EXACT": (False, False, True),
                        "tile": ((16, 32, 32), (16, 64, 64), (32, 64, 64), (32, 128, 64), (64, 64, 64), (64, 128, 128), (64, 64, 128)),
                        "dtype": ("float16", "bfloat16", "float32"), "chunks": (4, 32, 128), "programs": (4, 16, 64, 132, 512),
                        "num_warps": (4, 4, 8), "num_stages": (1, 2, 3)}),
    (80, function_case, {"FIRST": FUNCTIONS, "SECOND": FUNCTIONS, "MASKED": (False, True), "dtype": ("float64", "float64", "float32"),
                         "each": (1, 2, 4, 8, 16, 32), "programs": (1, 64, 264, 2000, 16000), "num_warps": (1, 4, 8)}),
    (50, links_case, {"first": LINKS, "second": LINKS, "third": LINKS, "n": (1 << 12, 1 << 16, 1 << 18, 1 << 20), "C": (64, 256),
                      "launches": (3, 6, 12, 24)}),
    (50, slid_case, {"FORM": ("mean", "largest", "weights", "moments"), "ALONG": (True, False), "W": (3, 4, 7, 16, 33),
                     "UNROLLED": (True, False), "rows": (16, 256, 1000, 4096), "length": (128, 1000, 4096, 1 << 16),
                     "dtype": ("float32", "float16"), "BLOCK": (128, 512, 1024), "num_warps": (1, 4, 8)}),
    (70, swept_case, {"FORM": ("once", "twice", "twice", "back", "written"), "megabytes": (20, 32, 40, 48, 56, 64, 80, 120),
                      "cols": (1024, 4096, 16384, 65536, 1 << 18), "programs": (0, 0, 132, 264), "dtype": ("float32", "float16"),
                      "BLOCK": (1024, 2048, 4096), "num_warps": (4, 8)}),
    (30, passed_case, {"OP": ("exp", "where", "norm"), "megabytes": (8, 12, 16, 20, 24, 32, 48), "tensors": (2, 2, 3, 4),
                       "launches": (1, 2, 3, 4)}),
    (50, loss_case, {"FORM": ("once", "online", "online", "passes"), "cols": (512, 2000, 8192, 32000, 128256),
                     "BLOCK": (1024, 1024, 4096, 512), "programs": (1, 8, 64, 200, 2048), "dtype": ("float32", "float16"),
                     "num_warps": (4, 8, 1, 16)}),
    (40, eliminated_case, {"FORM": ("gauss", "floyd", "jacobi", "mirror"), "N": (16, 32, 64), "programs": (1, 64, 264, 4096),
                           "dtype": ("float32", "float32", "float64"), "num_warps": (1, 2, 4, 8)}),
    (110, mixed_case, {"FIRST": STEPS, "SECOND": STEPS, "THIRD": STEPS, "SOURCE": ("rows", "pairs", "shared", "shifted", "indirect"),
                       "SINK": ("store", "turned", "number", "most", "keep"), "dtype": ("float32", "float16", "bfloat16"),
                       "R": (1, 4, 16, 64), "C": (16, 32, 64, 128, 512), "turns": (1, 2, 8, 64), "programs": (1, 16, 132, 1024, 8192),
                       "num_warps": (1, 2, 4, 8)}),
)  # fmt: skip


def cases() -> list[Case]:
    """All cases of this module."""
    return list(itertools.chain.from_iterable(drawn_cases(*family) for family in FAMILIES))
