"""Fit the constants of ``kernlint/cost/dots.py`` to timed ``tl.dot`` kernels and publish them with their residuals.

    python tools/fit_dots.py [--check] [CSV ...]

Reads ``benchmarks/facts/h100-gemm.csv`` (or the CSV files named; same columns), fits ``warm_us``, writes
``kernlint/cost/data/h100-dots.json`` and prints a report: residuals by mode, shape, tile and stages from leaving each
shape and each tile out, errors of ratios between neighbouring kernels, and the seed's kernels
(``benchmarks/facts/h100-seed.txt``), which the fit has not seen. ``--check`` reports without writing.

The model is the product's own code: ``cycles_of_step`` and ``terms_of_loop`` run here on columns instead of floats.
Needs numpy and scipy. A new constant is a field of ``Constants`` and a line in ``PRIORS``.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares  # type: ignore[import-untyped]

from kernlint.cost.device import Device, find_device
from kernlint.cost.dots import (
    MEASURED_CASTS,
    Constants,
    DotLoop,
    DotOperand,
    DotStep,
    LoopCounts,
    StepCounts,
    count_loop,
    count_step,
    cycles_of_step,
    residual_key,
    terms_of_loop,
)
from kernlint.workload import Dtype
from kernlint.workload.dtype import FLOAT16, FLOAT32, INT8, INT32, find

ROOT = Path(__file__).resolve().parent.parent
FACTS = ROOT / "benchmarks" / "facts"
OUTPUT = ROOT / "kernlint" / "cost" / "data" / "h100-dots.json"
Array = NDArray[np.float64]

FP8 = find("float8_e4m3fn")
assert FP8 is not None

#: Column ``mode``: type in memory, type fed to the dot, precision.
MODES: dict[str, tuple[Dtype, Dtype, str]] = {
    "fp16": (FLOAT16, FLOAT16, "tf32"),
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

#: Start, least and greatest value of each constant. The bounds keep the meaning: nothing beats the data sheet's peak,
#: mma.sync reaches at most two thirds of it on Hopper, a graph node costs 1.0 to 1.3 us. A table's line serves all its
#: keys unless one is named.
PRIORS: dict[str, tuple[float, float, float]] = {
    "tensor": (1.6, 1.0, 4.0),
    "tensor.mma": (2.0, 1.5, 4.0),
    "convert": (3.0, 0.1, 25.0),
    "shuffle": (30.0, 0.5, 60.0),
    "shuffle_growth": (0.7, 0.1, 2.0),
    "step": (150.0, 10.0, 1000.0),
    "instructions": (50.0, 5.0, 300.0),
    "solo": (0.3, 0.02, 2.0),
    "smem": (1.0, 0.5, 3.0),
    "load": (1.4, 0.9, 4.0),
    "load_grouped": (1.0, 0.7, 1.1),
    "line": (1.7, 0.5, 4.0),
    "narrow": (0.3, 0.02, 1.0),
    "l2_share": (0.7, 0.3, 1.1),
    "l2_edge": (4.0, 1.0, 8.0),
    "memory": (900.0, 300.0, 2000.0),
    "memory_miss": (500.0, 100.0, 1500.0),
    "unpipelined": (1.0, 0.1, 8.0),
    "fma_operands": (27.0, 5.0, 60.0),
    "fma_reuse": (0.55, 0.3, 1.0),
    "warps": (0.3, 0.01, 1.2),
    "fill": (1500.0, 100.0, 5000.0),
    "launch_us": (1.2, 1.0, 1.3),
    "overlap": (2.0, 1.0, 8.0),
    "hiding": (3.0, 1.0, 8.0),
    "exposed": (0.5, 0.05, 1.0),
}

#: Tables of ``Constants`` and the count that looks each one up.
TABLES = {
    "tensor": ("tensor_key",),
    "convert": ("a_convert_key", "b_convert_key"),
    "shuffle": ("a_shuffle_key", "b_shuffle_key"),
    "shuffle_growth": ("b_shuffle_key",),
    "step": ("step_key",),
    "instructions": ("step_key",),
    "solo": ("step_key",),
}
#: How hard a constant is held to its start, in residuals of ln(us) per unit of ln(constant).
PRIOR_WEIGHT = 0.02

#: Cycles per cycle at peak where mma.sync is the widest instruction: an A100's best bf16 GEMM reaches 271 of 312
#: TFLOP/s (``measured_bf16_gemm_tflops`` of the device table). Not timed here.
NATIVE_TENSOR = 1.15

#: Rows without error that each bias is averaged with, so that small groups stay near the physics.
BIAS_PRIOR_ROWS = 8

#: Added to sigma in quadrature where nothing was measured. Guesses by an engineer, not fits. device: the H200 and H100
#: PCIe differ by clock and bandwidth only, Ampere and Ada lower differently, other vendors share nothing but the peaks.
#: lowering: a cast, a layout of A, tf32x3 or a number of warps that no row has. beyond_l2: few rows exceed the L2, none
#: by far, and the order of programs is the caller's word.
WIDENING = {
    "device": {"measured": 0.0, "architecture": 0.12, "vendor": 0.30, "other": 0.55},
    "two_stages": 0.10,
    "chained_dots": 0.20,
    "elementwise": 0.15,
    "spills": 0.50,
    "lowering": 0.15,
    "beyond_l2": 0.15,
}


@dataclass(frozen=True)
class Row:
    """One timed kernel: its loop, the microseconds measured and the labels it is grouped by."""

    loop: DotLoop
    us: float
    mode: str
    shape: tuple[int, int, int]
    tile: tuple[int, int, int]
    layout: str
    grouped: bool

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.mode, self.shape, self.tile, self.loop.num_warps, self.loop.num_stages, self.layout, self.grouped)


def gemm(
    mode: str,
    shape: tuple[int, int, int],
    tile: tuple[int, int, int],
    num_warps: int,
    num_stages: int,
    k_major: bool,
    grouped: bool = False,
) -> DotLoop:
    """The loop of C[M, N] (32 bits) = A[M, K] (row-major) B[K, N], one program per tile."""
    (m, n, k), (bm, bn, bk) = shape, tile
    memory, fed, precision = MODES[mode]
    grid_m, grid_n, iterations = -(-m // bm), -(-n // bn), -(-k // bk)
    step = DotStep(
        bm, bn, bk, DotOperand(memory, fed, True), DotOperand(memory, fed, k_major), precision,
        INT32 if fed == INT8 else FLOAT32,
    )  # fmt: skip
    return DotLoop(
        programs=grid_m * grid_n,
        iterations=iterations,
        steps=(step,),
        num_warps=num_warps,
        num_stages=num_stages,
        unique_bytes=(m * k + k * n) * memory.bytes,
        loaded_bytes=grid_m * grid_n * iterations * (bm + bn) * bk * memory.bytes,
        epilogue_bytes=m * n * 4,
        grouped=grouped,
        grid_m=grid_m,
        grid_n=grid_n,
    )


def read_rows(paths: Iterable[Path]) -> list[Row]:
    """The rows of the CSV files, in order. A mode that ``MODES`` lacks is an error."""
    rows = []
    for path in paths:
        with path.open(newline="", encoding="utf-8") as stream:
            for line in csv.DictReader(stream):
                shape = (int(line["M"]), int(line["N"]), int(line["K"]))
                tile = (int(line["BM"]), int(line["BN"]), int(line["BK"]))
                k_major, grouped = line["b_layout"] == "K-major", int(line["group"]) > 1
                warps, stages = int(line["num_warps"]), int(line["num_stages"])
                loop = gemm(line["mode"], shape, tile, warps, stages, k_major, grouped)
                rows.append(Row(loop, float(line["warm_us"]), line["mode"], shape, tile, line["b_layout"], grouped))
    return rows


class Fit:
    """The model on columns: vector of ln(constants) in, column of ln(us) out."""

    def __init__(self, rows: Sequence[Row], device: Device) -> None:
        self.rows = rows
        self.measured = np.log([row.us for row in rows])
        steps = [count_step(row.loop.steps[0], row.loop.num_warps, device) for row in rows]
        loops = [count_loop(row.loop, device) for row in rows]
        self.keys = [residual_key(row.loop.steps[0], row.loop, device) for row in rows]
        self.names: dict[str, list[str]] = {}
        for table, keys in TABLES.items():
            self.names[table] = sorted({getattr(s, key) for s in steps for key in keys} - {"none"})
        self.labels = [(t, key) for t in self.names for key in self.names[t]]
        self.labels += [(f.name, "") for f in fields(Constants) if f.name not in TABLES]
        self.steps = self._columns(steps, StepCounts)
        self.loops = self._columns(loops, LoopCounts)
        bounds = [PRIORS.get(f"{table}.{key.split('.')[0]}", PRIORS[table]) for table, key in self.labels]
        self.start, self.low, self.high = (np.log(np.array(column)) for column in zip(*bounds, strict=True))

    def _columns(self, counts: Sequence[Any], kind: type) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {}
        for field in fields(kind):
            values = [getattr(count, field.name) for count in counts]
            if isinstance(values[0], str):
                names = next(self.names[t] for t, keys in TABLES.items() if field.name in keys)
                columns[field.name] = np.array([[*names, "none"].index(value) for value in values])
            else:
                columns[field.name] = np.array(values, dtype=float)
        return columns

    def constants(self, x: Array) -> SimpleNamespace:
        """``Constants`` whose tables take a column of key numbers."""
        values, result, at = np.exp(x), SimpleNamespace(), 0
        for table, names in self.names.items():
            setattr(result, table, np.append(values[at : at + len(names)], 0.0))
            at += len(names)
        for table, key in self.labels[at:]:
            assert not key
            setattr(result, table, float(values[at]))
            at += 1
        return result

    def predict(self, x: Array, index: NDArray[Any] | None = None) -> Array:
        """ln(us) of the rows at ``index`` (all where None)."""
        pick: Callable[[NDArray[Any]], NDArray[Any]] = (lambda v: v) if index is None else (lambda v: v[index])
        steps: Any = SimpleNamespace(**{name: pick(column) for name, column in self.steps.items()})
        loops: Any = SimpleNamespace(**{name: pick(column) for name, column in self.loops.items()})
        constants: Any = self.constants(x)
        us: Array = terms_of_loop(cycles_of_step(steps, loops, constants), loops, constants)["us"]
        return np.log(us)

    def solve(self, index: NDArray[Any] | None = None, start: Array | None = None, evaluations: int = 60) -> Array:
        """Least squares of ln(us), soft at 0.2 so that a stray row does not steer, with a weak pull to the start."""
        measured = self.measured if index is None else self.measured[index]

        def residual(x: Array) -> Array:
            return np.append(self.predict(x, index) - measured, (x - self.start) * PRIOR_WEIGHT)

        low, high = self.low - 1e-9, self.high + 1e-9
        first = np.clip(self.start if start is None else start, low + 1e-8, high - 1e-8)
        found = least_squares(residual, first, bounds=(low, high), loss="soft_l1", f_scale=0.2, max_nfev=evaluations)
        solution: Array = found.x
        return solution

    def bias(self, error: Array, index: NDArray[Any] | None = None) -> dict[str, float]:
        """Mean of ``error`` over the rows at ``index`` by residual key, shrunk as if ``BIAS_PRIOR_ROWS`` had none."""
        chosen = range(len(self.rows)) if index is None else index
        sums: dict[str, list[float]] = {}
        for i in chosen:
            sums.setdefault(self.keys[i], []).append(float(error[i]))
        return {key: sum(errors) / (len(errors) + BIAS_PRIOR_ROWS) for key, errors in sorted(sums.items())}

    def corrected(self, error: Array, bias: dict[str, float]) -> Array:
        """``error`` with each row's bias taken off."""
        corrected: Array = error - np.array([bias.get(key, 0.0) for key in self.keys])
        return corrected

    def held_out(self, groups: Sequence[Any], start: Array) -> Array:
        """ln(predicted / measured) of each row by a fit, constants and bias, that has not seen the row's group."""
        labels = np.array([str(group) for group in groups])
        error = np.zeros(len(labels))
        for label in sorted(set(labels)):
            inside = labels == label
            seen = np.flatnonzero(~inside)
            x = self.solve(seen, start, evaluations=12)
            raw = self.predict(x) - self.measured
            error[inside] = self.corrected(raw, self.bias(raw, seen))[inside]
        return error

    def table(self, x: Array) -> dict[str, Any]:
        """The constants as they go into the data file."""
        result: dict[str, Any] = {}
        for (table, key), value in zip(self.labels, np.exp(x), strict=True):
            rounded = float(f"{value:.5g}")
            if key:
                result.setdefault(table, {})[key] = rounded
            else:
                result[table] = rounded
        # Never measured: a cast on another path costs what it costs there, any other cast the mean of its path.
        casts = result["convert"]
        for path in ("fma", "mma", "wgmma", "wgmma.stored"):
            for cast in MEASURED_CASTS:
                casts.setdefault(f"{path}.{cast}", casts[f"mma.{cast}"])
            casts[f"{path}.other"] = float(f"{np.mean([casts[f'{path}.{cast}'] for cast in MEASURED_CASTS]):.5g}")
        for kind in ("float16", "tf32", "int8", "fp8"):
            result["tensor"][f"native.{kind}"] = NATIVE_TENSOR
        for table in ("convert", "shuffle", "shuffle_growth", "tensor"):
            result[table]["none"] = 0.0
        # Never measured: a cast on the way to a shuffle is priced as the nearest one that was.
        for table in ("shuffle", "shuffle_growth"):
            for key, like in (("wgmma.fp8->tf32", "wgmma.int8->tf32"), ("wgmma.int8->fp8", "wgmma.fp8->fp8"),
                              ("wgmma.float16->int8", "wgmma.int8->int8"), ("wgmma.float16->fp8", "wgmma.fp8->fp8"),
                              ("wgmma.float32->int8", "wgmma.int8->int8"), ("wgmma.float32->fp8", "wgmma.fp8->fp8"),
                              ("wgmma.fp8->int8", "wgmma.int8->int8")):  # fmt: skip
                result[table][key] = result[table][like]
        return result


def spread(error: Array) -> dict[str, float]:
    """Mean absolute value and root mean square of ln errors."""
    return {
        "rows": int(error.size),
        "mean_abs": round(float(np.abs(error).mean()), 4),
        "rms": round(float(np.sqrt((error**2).mean())), 4),
    }


def by(labels: Sequence[Any], error: Array) -> dict[str, dict[str, float]]:
    names = np.array([str(label) for label in labels])
    return {name: spread(error[names == name]) for name in sorted(set(names))}


def ratio_errors(rows: Sequence[Row], error: Array) -> dict[str, dict[str, float]]:
    """|ln| errors of the speed-up between two kernels that differ in one thing."""
    at = {row.key: i for i, row in enumerate(rows)}

    def compare(change: Callable[[Row], tuple[Any, ...] | None]) -> dict[str, float]:
        found = []
        for i, row in enumerate(rows):
            other = change(row)
            if other is not None and other in at:
                found.append(error[i] - error[at[other]])
        return spread(np.array(found)) if found else {}

    def swap(source: tuple[str, str], target: tuple[str, str]) -> Callable[[Row], tuple[Any, ...] | None]:
        def change(row: Row) -> tuple[Any, ...] | None:
            if (row.mode, row.layout) != source:
                return None
            return (target[0], row.shape, row.tile, row.loop.num_warps, row.loop.num_stages, target[1], row.grouped)

        return change

    def stages(old: int, new: int) -> Callable[[Row], tuple[Any, ...] | None]:
        def change(row: Row) -> tuple[Any, ...] | None:
            return (*row.key[:4], new, *row.key[5:]) if row.loop.num_stages == old else None

        return change

    def tile(old: tuple[int, ...], new: tuple[int, ...]) -> Callable[[Row], tuple[Any, ...] | None]:
        return lambda row: (row.mode, row.shape, new, *row.key[3:]) if row.tile == old else None

    return {
        "int8 K-major / int8->fp16 N-major": compare(swap(("int8_to_fp16", "N-major"), ("int8", "K-major"))),
        "int8 K-major / int8->tf32 N-major": compare(swap(("int8_to_tf32", "N-major"), ("int8", "K-major"))),
        "int8 K-major / int8 N-major": compare(swap(("int8", "N-major"), ("int8", "K-major"))),
        "int8 N-major / int8->tf32 N-major": compare(swap(("int8_to_tf32", "N-major"), ("int8", "N-major"))),
        "tf32 / ieee": compare(swap(("ieee", "K-major"), ("tf32", "K-major"))),
        "fp16 / fp16->tf32 K-major": compare(swap(("fp16_to_tf32", "K-major"), ("fp16", "K-major"))),
        "fp16 / fp16->tf32 N-major": compare(swap(("fp16_to_tf32", "N-major"), ("fp16", "N-major"))),
        "fp8 / fp8->fp16 K-major": compare(swap(("fp8_to_fp16", "K-major"), ("fp8", "K-major"))),
        "128x128x64 / 32x32x32, 4 warps": compare(tile((32, 32, 32), (128, 128, 64))),
        "128x128x64 / 64x64x32": compare(tile((64, 64, 32), (128, 128, 64))),
        "64x64x64 / 64x16x64, 4 warps": compare(tile((64, 16, 64), (64, 64, 64))),
        "stages 3 / 1": compare(stages(1, 3)),
        "stages 4 / 3": compare(stages(3, 4)),
        "grouped / not": compare(lambda row: None if row.grouped else (*row.key[:6], True)),
        "8 / 4 warps": compare(lambda row: (*row.key[:3], 8, *row.key[4:]) if row.loop.num_warps == 4 else None),
    }


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
            rows.append(Row(loop, us, modes[part[1]], shape, tile, "K-major" if k_major else "N-major", False))
    return rows


def print_table(title: str, table: dict[str, dict[str, float]]) -> None:
    print(f"\n{title}")
    for name, value in table.items():
        if value:
            errors = f"mean |ln| {value['mean_abs']:.3f}   rms {value['rms']:.3f}"
            print(f"  {name:44s} {value['rows']:5.0f} rows   {errors}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="fit the constants of the dot model")
    parser.add_argument("csv", nargs="*", type=Path, default=[FACTS / "h100-gemm.csv"])
    parser.add_argument("--check", action="store_true", help="report only, write nothing")
    options = parser.parse_args(arguments)

    device = find_device("h100-sxm")
    rows = read_rows(options.csv)
    fit = Fit(rows, device)
    x = fit.solve()
    physics = fit.predict(x) - fit.measured
    bias = fit.bias(physics)
    inside = fit.corrected(physics, bias)
    for (name, key), value, low, high in zip(fit.labels, np.exp(x), np.exp(fit.low), np.exp(fit.high), strict=True):
        edge = "  (at its bound)" if min(value / low, high / value) < 1.01 else ""
        print(f"  {name + ('.' + key if key else ''):44s} {value:10.4g}{edge}")
    shape_error = fit.held_out([row.shape for row in rows], x)
    tile_error = fit.held_out([row.tile for row in rows], x)

    modes = [f"{row.mode} {row.layout}" for row in rows]
    print(f"\nphysics alone, in sample {spread(physics)}")
    print(f"in sample {spread(inside)}")
    print(f"leave one shape out {spread(shape_error)}")
    print(f"leave one tile out {spread(tile_error)}")
    print_table("by mode, shape left out", by([row.mode for row in rows], shape_error))
    print_table("by mode and layout, shape left out", by(modes, shape_error))
    print_table("by mode and layout, tile left out", by(modes, tile_error))
    print_table("by shape left out", by([row.shape for row in rows], shape_error))
    print_table("by tile left out", by([row.tile for row in rows], tile_error))
    stages = [row.loop.num_stages for row in rows]
    print_table("by stages, shape left out", by(stages, shape_error))
    ratios = ratio_errors(rows, shape_error)
    print_table("ratios, shape left out", ratios)
    print_table("ratios, tile left out", ratio_errors(rows, tile_error))

    seed = Fit(seed_rows(FACTS / "h100-seed.txt"), device)
    print("\nthe seed's kernels (not in the fit)              predicted   measured    ln")
    table = fit.table(x)
    vector = [max(1e-9, float(table[group][key] if key else table[group])) for group, key in seed.labels]
    error = seed.corrected(seed.predict(np.log(np.array(vector))) - seed.measured, bias)
    seed_spread = spread(error)
    for row, us, one in zip(seed.rows, np.exp(seed.measured + error), error, strict=True):
        title = f"{row.mode} {row.layout} {'x'.join(map(str, row.tile))} w{row.loop.num_warps}"
        print(f"  {'x'.join(map(str, row.shape)):16s} {title:38s} {us:8.2f} {row.us:10.2f} {one:+.2f}")
    print(f"  {seed_spread}")

    if not options.check:
        worse = [by([*fit.keys], error) for error in (shape_error, tile_error)]
        sigma = {key: max(one[key]["rms"] for one in worse) for key in sorted(set(fit.keys))}
        sigma["all"] = max(spread(shape_error)["rms"], spread(tile_error)["rms"])
        document = {
            "source": [path.name for path in options.csv],
            "rows": len(rows),
            "device": device.id,
            "constants": table,
            "widening": WIDENING,
            "residuals": {
                "unit": "ln(predicted / measured)",
                "sigma": sigma,
                "bias": {key: round(value, 4) for key, value in bias.items()},
                "physics_alone": spread(physics),
                "in_sample": spread(inside),
                "leave_one_shape_out": {"all": spread(shape_error), **by([row.mode for row in rows], shape_error)},
                "leave_one_tile_out": {"all": spread(tile_error), **by([row.mode for row in rows], tile_error)},
                "ratios": ratios,
                "seed": seed_spread,
            },
        }
        OUTPUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {OUTPUT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
