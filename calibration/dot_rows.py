"""The timed ``tl.dot`` kernels of ``calibration/facts`` as :class:`~kernlint.cost.dots.DotLoop`, one builder per kernel.

The builders say of each kernel what ``kernlint/cost/dot_launch.py`` reads off its source: the fit and its tests price
the loops made here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernlint.cost.dot_loop import DotLoop, DotOperand, DotStep
from kernlint.workload import Dtype
from kernlint.workload.dtype import BFLOAT16, FLOAT16, FLOAT32, INT8, INT32, find

FACTS = Path(__file__).resolve().parent.parent / "calibration" / "facts"

FP8 = find("float8_e4m3fn")
assert FP8 is not None

#: Column ``mode``: type in memory, type fed to the dot, precision.
MODES: dict[str, tuple[Dtype, Dtype, str]] = {
    "fp16": (FLOAT16, FLOAT16, "tf32"),
    "bf16": (BFLOAT16, BFLOAT16, "tf32"),
    "tf32": (FLOAT32, FLOAT32, "tf32"),
    "ieee": (FLOAT32, FLOAT32, "ieee"),
    "int8": (INT8, INT8, "tf32"),
    "fp8": (FP8, FP8, "tf32"),
    "int8_to_tf32": (INT8, FLOAT32, "tf32"),
    "int8_to_fp16": (INT8, FLOAT16, "tf32"),
    "fp16_to_tf32": (FLOAT16, FLOAT32, "tf32"),
    "fp16_to_ieee": (FLOAT16, FLOAT32, "ieee"),
    "fp8_to_fp16": (FP8, FLOAT16, "tf32"),
}

#: Bytes of an element of C in ``h100-gemm-2.csv``; 4 where not named, and everywhere in ``h100-gemm.csv``.
OUT_BYTES = {"fp16": 2, "bf16": 2, "fp16_to_tf32": 2, "fp16_to_ieee": 2}
#: A byte added atomically costs as two written, as in ``dot_launch.py``.
ATOMIC_PENALTY = 2


@dataclass(frozen=True)
class Row:
    """One timed kernel: its loop, the microseconds measured and the labels it is grouped by.

    ``group`` is gemm, gemm-2, attention or recurrent; ``shape`` the sizes that the caller chose, ``tile`` the
    program's. ``variant`` holds what else differs from a plain product.
    """

    loop: DotLoop
    us: float
    group: str
    mode: str
    shape: tuple[int, ...]
    tile: tuple[int, ...]
    layout: str = "K-major"
    grouped: bool = False
    variant: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this row from others of its group."""
        warps, stages = self.loop.num_warps, self.loop.num_stages
        variant = (self.variant, self.group)
        return (self.mode, self.shape, self.tile, warps, stages, self.layout, self.grouped, variant)


def vector_bytes(dtype: Dtype, stride: int, split: int = 1) -> int:
    """Bytes that one instruction may load of rows ``stride`` apart, an argument that Triton knows as divisible by 16 or
    not at all; ``split`` divides the offset along the row, as in ``K // SPLIT_K``."""
    return min(16, dtype.bytes * (max(1, 16 // split) if stride % 16 == 0 else 1))


def gemm(
    mode: str,
    shape: tuple[int, int, int],
    tile: tuple[int, int, int],
    num_warps: int,
    num_stages: int,
    k_major: bool,
    grouped: bool = False,
    out_bytes: int = 4,
) -> DotLoop:
    """The loop of C[M, N] = A[M, K] (row-major) B[K, N], one program per tile, loads masked."""
    (m, n, k), (bm, bn, bk) = shape, tile
    memory, fed, precision = MODES[mode]
    grid_m, grid_n, iterations = -(-m // bm), -(-n // bn), -(-k // bk)
    a = DotOperand(memory, fed, True, vector_bytes=vector_bytes(memory, k))
    b = DotOperand(memory, fed, k_major, vector_bytes=vector_bytes(memory, k if k_major else n))
    step = DotStep(bm, bn, bk, a, b, precision, INT32 if fed == INT8 else FLOAT32)
    return DotLoop(
        programs=grid_m * grid_n,
        iterations=iterations,
        steps=(step,),
        num_warps=num_warps,
        num_stages=num_stages,
        unique_bytes=(m * k + k * n) * memory.bytes,
        loaded_bytes=grid_m * grid_n * iterations * (bm + bn) * bk * memory.bytes,
        epilogue_bytes=m * n * out_bytes,
        grouped=grouped,
        grid_m=grid_m,
        grid_n=grid_n,
    )


def _gemm_row(line: dict[str, str]) -> Row | None:
    """A row of ``h100-gemm.csv`` or, where it has a variant, ``h100-gemm-2.csv``; None for a pair of launches."""
    mode, variant = line["mode"], line.get("variant")
    shape = (int(line["M"]), int(line["N"]), int(line["K"]))
    tile = (int(line["BM"]), int(line["BN"]), int(line["BK"]))
    k_major, grouped = line["b_layout"] == "K-major", int(line["group"]) > 1
    warps, stages = int(line["num_warps"]), int(line["num_stages"])
    out_bytes = 4 if variant is None else OUT_BYTES.get(mode, 4)
    split = re.match(r"split_k=(\d+)-(\S+)", variant or "")
    loop = gemm(mode, shape, tile, warps, stages, k_major, grouped, 4 if split else out_bytes)
    if variant is not None:
        loop = replace(loop, masked=variant.startswith("masked"))
        if variant.endswith("columns-first"):
            loop = replace(loop, rows_first=True)
    if split:
        parts, reduce = int(split[1]), split[2]
        if reduce == "buffer+sum":
            return None
        written = loop.epilogue_bytes * parts * (ATOMIC_PENALTY if reduce == "atomic" else 1)
        vector = vector_bytes(FLOAT16, shape[2], parts)
        (step,) = loop.steps
        step = replace(step, a=replace(step.a, vector_bytes=vector), b=replace(step.b, vector_bytes=vector))
        loop = replace(
            loop, programs=loop.programs * parts, iterations=loop.iterations / parts, epilogue_bytes=written,
            steps=(step,),
        )  # fmt: skip
    group = "gemm" if variant is None else "gemm-2"
    return Row(loop, float(line["warm_us"]), group, mode, shape, tile, line["b_layout"], grouped, variant or "masked")


def _flash(p: dict[str, str], us: float) -> Row:
    """Fused attention: Q K^T, online softmax, P V for each block of keys."""
    bh, t, d, bm, bn = (int(p[name]) for name in ("BH", "T", "D", "BM", "BN"))
    causal, memory = p["causal"] == "1", find(p["dtype"])
    fed = find(p.get("cast", p["dtype"]))
    assert memory is not None
    assert fed is not None
    blocks = -(-t // bm)
    trips = [-(-min((i + 1) * bm, t) // bn) if causal else -(-t // bn) for i in range(blocks)]
    mean = sum(trips) / blocks
    query = DotOperand(memory, fed, True, reload=False)
    weights = DotOperand(fed, fed, None, reload=False)
    first = DotStep(bm, bn, d, query, DotOperand(memory, fed, True), "tf32", FLOAT32)
    second = DotStep(bm, d, bn, weights, DotOperand(memory, fed, False), "tf32", FLOAT32)
    loop = DotLoop(
        programs=blocks * bh,
        iterations=mean,
        most_iterations=max(trips),
        steps=(first, second),
        num_warps=int(p["num_warps"]),
        num_stages=int(p["num_stages"]),
        unique_bytes=2 * bh * t * d * memory.bytes,
        loaded_bytes=blocks * bh * mean * 2 * bn * d * memory.bytes,
        epilogue_bytes=2 * bh * t * d * memory.bytes,
        masked=False,
        # scale, maximum, difference, sum and, where causal, the mask; then the rescaled accumulator and row vectors.
        extra_alu_elements_per_iteration=(4 + causal) * bm * bn + bm * d + 4 * bm,
        special_elements_per_iteration=bm * bn + bm,
    )
    mode = p["dtype"] + ("->" + p["cast"] if "cast" in p else "")
    return Row(loop, us, "attention", mode, (bh, t, d), (bm, bn, d), variant="causal" if causal else "full")


def _scores(p: dict[str, str], us: float) -> Row:
    """Q K^T written out: one dot over all of D, no loop."""
    bh, t, d, bm, bn = (int(p[name]) for name in ("BH", "T", "D", "BM", "BN"))
    memory, out = find(p["dtype"]), find(p["out"])
    assert memory is not None
    assert out is not None
    programs = (t // bm) * (t // bn) * bh
    operand = DotOperand(memory, memory, True)
    loop = DotLoop(
        programs=programs,
        iterations=1,
        steps=(DotStep(bm, bn, d, operand, operand, "tf32", FLOAT32),),
        num_warps=int(p["num_warps"]),
        num_stages=1,
        unique_bytes=2 * bh * t * d * memory.bytes,
        loaded_bytes=programs * (bm + bn) * d * memory.bytes,
        epilogue_bytes=bh * t * t * out.bytes,
        pipelined=False,
        masked=False,
        extra_alu_elements_per_iteration=bm * bn,
    )
    return Row(loop, us, "attention", p["dtype"], (bh, t, d), (bm, bn, d), variant="scores " + p["out"])


def _values(p: dict[str, str], us: float) -> Row:
    """P V with P from memory, cast to the type of V."""
    bh, t, d, bm, bk = (int(p[name]) for name in ("BH", "T", "D", "BM", "BK"))
    weights, memory = find(p["p_dtype"]), find(p["dtype"])
    assert weights is not None
    assert memory is not None
    programs, iterations = (t // bm) * bh, t // bk
    step = DotStep(
        bm, d, bk, DotOperand(weights, memory, True), DotOperand(memory, memory, False), "tf32", FLOAT32
    )  # fmt: skip
    loop = DotLoop(
        programs=programs,
        iterations=iterations,
        steps=(step,),
        num_warps=int(p["num_warps"]),
        num_stages=int(p["num_stages"]),
        unique_bytes=bh * t * (t * weights.bytes + d * memory.bytes),
        loaded_bytes=programs * iterations * bk * (bm * weights.bytes + d * memory.bytes),
        epilogue_bytes=bh * t * d * memory.bytes,
        masked=False,
    )
    mode = f"{p['p_dtype']} {p['dtype']}"
    return Row(loop, us, "attention", mode, (bh, t, d), (bm, d, bk), layout="N-major", variant="values")


def _persistent(p: dict[str, str], us: float) -> Row:
    """T dependent steps h = tanh(x + h W) in one launch, W [H, H] loaded once."""
    t, b, h, bb = (int(p[name]) for name in ("T", "B", "H", "BLOCK_B"))
    memory = find(p["dtype"])
    assert memory is not None
    programs, precision = b // bb, p.get("precision", "tf32")
    state, weight = DotOperand(memory, memory, None, False), DotOperand(memory, memory, False, False)
    loop = DotLoop(
        programs=programs,
        iterations=t,
        steps=(DotStep(bb, h, h, state, weight, precision, FLOAT32),),
        num_warps=int(p["num_warps"]),
        num_stages=3,
        unique_bytes=t * b * h * memory.bytes,
        loaded_bytes=t * b * h * memory.bytes,
        epilogue_bytes=(t * b * h + programs * h * h) * memory.bytes,
        masked=False,
        extra_alu_elements_per_iteration=4 * bb * h,
        special_elements_per_iteration=bb * h,
    )
    return Row(loop, us, "recurrent", f"{p['dtype']} {precision}", (t, b, h), (bb, h, h), "N-major", variant="loop")


def _stepwise(p: dict[str, str], us: float) -> Row:
    """One of T launches, each a step h' = tanh(x + h W) over tiles of W."""
    t, b, h, bb, bn = (int(p[name]) for name in ("T", "B", "H", "BLOCK_B", "BN"))
    loop = gemm("fp16", (b, h, h), (bb, bn, 64), 4, 3, False, out_bytes=4)
    loop = replace(loop, masked=False)
    return Row(loop, us / t, "recurrent", "float16", (1, b, h), (bb, bn, 64), "N-major", variant="step")


#: Builders of the rows of the micro-benchmarks, from their parameters and microseconds.
MICRO: dict[str, Callable[[dict[str, str], float], Row]] = {
    "flash": _flash, "attention_scores": _scores, "attention_values": _values,
    "recurrent_persistent": _persistent, "recurrent_stepwise": _stepwise,
}  # fmt: skip


def read_rows(paths: Iterable[Path]) -> list[Row]:
    """The rows of the CSV files that hold a dot, in order. A mode that ``MODES`` lacks is an error."""
    rows: list[Row | None] = []
    for path in paths:
        with path.open(newline="", encoding="utf-8") as stream:
            for line in csv.DictReader(stream):
                if "mode" in line:
                    rows.append(_gemm_row(line))
                elif line["term"] in MICRO:
                    params = dict(item.split("=") for item in line["params"].split(";"))
                    rows.append(MICRO[line["term"]](params, float(line["gpu_us"])))
    return [row for row in rows if row is not None]


def seed_rows(path: Path) -> list[Row]:
    """The kernels of the seed file that name their tile: layout, mode, tile, measured microseconds.

    ``bT`` reads B from the [K, N] copy (N-major), ``bview`` the [N, K] weight in place (K-major). Memory is int8.
    """
    modes = {"tf32": "int8_to_tf32", "fp16": "int8_to_fp16", "int8": "int8"}
    rows, shape = [], (0, 0, 0)
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"--- M(\d+) N(\d+) K(\d+)", line):
            shape = (int(found[1]), int(found[2]), int(found[3]))
        plain = re.match(r"(bT|bview) (tf32|fp16|int8) (\d+)x(\d+)x(\d+) w(\d) s(\d)\s+([\d.]+) us", line)
        best = re.match(r"(bT|bview) (tf32|int8) best \((\d+), (\d+), (\d+), (\d)\)\s+([\d.]+) us", line)
        if plain or best:
            part = (plain or best).groups() if (plain or best) else ()  # type: ignore[union-attr]
            tile, warps = (int(part[2]), int(part[3]), int(part[4])), int(part[5])
            stages, us = (int(part[6]), float(part[7])) if plain else (3, float(part[6]))
            k_major = part[0] == "bview"
            loop = gemm(modes[part[1]], shape, tile, warps, stages, k_major)
            layout = "K-major" if k_major else "N-major"
            rows.append(Row(loop, us, "seed", modes[part[1]], shape, tile, layout))
    return rows
