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

import triton.language as tl
from case import BYTES, Buffer, Case, Launch, cdiv, micro
from survey_kernels import (
    added,
    bagged,
    column_sums,
    drawn,
    flat_taps,
    folded,
    followed,
    lanes_walk,
    mapped,
    moved,
    multiplied,
    paired,
    queried,
    scalars,
    stencil,
)

SEED = 20261129
#: Elements of the smallest and the largest walks: launches that are mostly floor, and twice the L2.
SIZES = (1 << 16, 1 << 19, 1 << 22, 1 << 23, 3 << 22, 1 << 24, 1 << 26)

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
        constants = {"OP": p["op"], "TWO": p["op"] in TWO, "WIDE": tl.float32, "TWICE": False, "BLOCK": p["BLOCK"]}
        launches.append(Launch(mapped, (x, x, y, n), constants, (cdiv(n, p["BLOCK"]),)))
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
                     "dtype": ("float32", "int32", "float64", "int64", "float16", "bfloat16"),
                     "targets": (1, 16, 128, 1024, 1 << 16, 1 << 20),
                     "order": ("random", "sorted", "near"), "programs": (16, 132, 1024, 8192), "BLOCK": (128, 1024)}),
    (100, pair_case, {"op": FLOATS, "wide": ("float32", "float64"), "n": (512, 4096, 32768), "centres": (64, 1024, 8192, 32768),
                      "R": (1, 4, 16, 64), "C": (32, 128, 512), "num_warps": (4, 8)}),
    (50, query_case, {"online": (False, True), "D": (64, 128), "T": (16, 32, 64, 128), "heads": (8, 64, 256, 1024),
                      "length": (256, 1024, 4096), "dtype": ("float16", "float32"), "num_warps": (2, 4, 8)}),
    (90, product_case, {"shape": ((32, 32, 32), (64, 64, 64), (128, 128, 128), (196, 196, 64), (16, 512, 512), (64, 64, 4096),
                                  (128, 128, 16384), (512, 512, 512)), "batch": (1, 16, 256, 2048),
                        "tile": ((16, 32, 32), (32, 32, 32), (64, 64, 32), (128, 128, 32), (128, 64, 64), (64, 128, 64)),
                        "turned": (False, True), "dtype": ("float16", "float32"), "num_warps": (4, 8), "num_stages": (1, 2, 4)}),
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
