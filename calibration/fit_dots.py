"""Fit the constants of ``kernlint/cost/dot_model.py`` to timed ``tl.dot`` kernels; publish them with their residuals.

    python calibration/fit_dots.py [--dry-run] [CSV ...]

Reads the products, attention-like and recurrent kernels of ``calibration/facts`` (or the CSV files named), fits their
warm times, writes ``kernlint/cost/data/h100-dots.json`` and prints a report: residuals by mode, shape, tile, warps and
stages from leaving shapes and tiles out, errors of ratios by kind of change, and the seed's kernels
(``calibration/facts/h100-seed.txt``), which the fit has not seen. ``--dry-run`` reports
without writing. Takes two minutes.

The model is the product's own code: ``cycles_of_step`` and ``terms_of_loop`` run here on columns instead of floats.
Needs numpy and scipy. A new constant is a field of ``Constants`` and a line in ``PRIORS``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "calibration")]

from dot_rows import FACTS, Row, gemm, read_rows, seed_rows  # noqa: E402

from kernlint.cost.device import Device, find_device  # noqa: E402
from kernlint.cost.dot_counts import LoopCounts, StepCounts, count_loop, count_step  # noqa: E402
from kernlint.cost.dot_lowering import MEASURED_CASTS  # noqa: E402
from kernlint.cost.dot_model import Constants, cycles_of_step, terms_of_loop  # noqa: E402
from kernlint.cost.dots import aspects, deviations, is_chained, residual_key  # noqa: E402

#: The files with rows of dots: products, then everything of our own benchmarks.
SOURCES = ("h100-gemm.csv", "h100-gemm-2.csv", "h100-micro-2.csv")
OUTPUT = ROOT / "kernlint" / "cost" / "data" / "h100-dots.json"
Array = NDArray[np.float64]

__all__ = ["Fit", "gemm", "main"]

#: The dot that is not there, so that loops of one dot and of two fill the same columns.
NO_STEP = StepCounts(
    *("none", "K", *("none",) * 5),
    tensor_cycles=0.0, fma_cycles=0.0, operand_cycles=0.0, accumulators_per_thread=0.0, a_convert_cycles=0.0, b_convert_cycles=0.0,
    a_shuffle_cycles=0.0, b_shuffle_cycles=0.0, b_shuffle_columns=64.0, b_shuffle_narrow=0.0, smem_cycles=0.0,
    exchanges=0.0, synchronous=0.0, work_cycles=0.0,
)  # fmt: skip
#: Start, least and greatest value of each constant. The bounds keep the meaning: nothing beats the data sheet's peak,
#: which is quoted at 1,830 MHz while small kernels, and so this model's cycles, run at 1,980;
#: mma.sync reaches at most two thirds of it on Hopper, a graph node costs 1.0 to 1.3 us. A table's line serves all its
#: keys unless one is named.
PRIORS: dict[str, tuple[float, float, float]] = {
    "tensor": (1.6, 1.08, 4.0),
    "tensor.mma": (2.0, 1.5, 4.0),
    "convert": (3.0, 0.1, 25.0),
    "shuffle": (30.0, 0.5, 90.0),
    "shuffle_growth": (0.7, 0.1, 2.0),
    "step": (150.0, 1.0, 1000.0),
    "instructions": (50.0, 1.0, 300.0),
    "solo": (0.3, 0.02, 2.0),
    "smem": (1.0, 0.5, 3.0),
    "load": (1.0, 0.5, 4.0),
    "load_grouped": (1.0, 0.7, 1.1),
    "line": (1.0, 0.05, 4.0),
    "narrow": (0.3, 0.02, 1.0),
    "l2_share": (0.7, 0.3, 1.1),
    "l2_edge": (4.0, 1.0, 12.0),
    "memory": (900.0, 300.0, 2000.0),
    "memory_miss": (500.0, 100.0, 1500.0),
    "fma_operands": (27.0, 0.2, 100.0),
    "fma_reuse": (0.55, 0.3, 1.0),
    "warps": (0.3, 0.01, 1.2),
    "fill": (1500.0, 20.0, 5000.0),
    "launch_us": (1.2, 0.8, 1.3),
    "overlap": (2.0, 1.0, 8.0),
    "hiding": (3.0, 1.0, 8.0),
    "store": (1.0, 0.3, 10.0),
    "prefetch": (2.0, 1.0, 8.0),
    "first": (1.0, 0.05, 8.0),
    "memory_crowd": (100.0, 5.0, 600.0),
    "load_crowd": (0.2, 0.01, 2.0),
    "exposed": (0.5, 0.05, 1.0),
    "exchange": (100.0, 5.0, 1000.0),
    "spill": (4.0, 0.5, 20.0),
    "staged": (8.0, 0.5, 60.0),
    "mask": (8.0, 0.5, 60.0),
    "alu": (2.0, 0.5, 10.0),
    "special": (1.0, 0.1, 4.0),
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
    "fma_operands": ("fma_key",),
}
#: How hard a constant is held to its start, in residuals of ln(us) per unit of ln(constant).
PRIOR_WEIGHT = 0.02

#: Where mma.sync is the widest instruction: cycles per cycle at peak, and what is exposed and overlaps. Chosen on the odd rows of
#: ``benchmarks/a100_rows.py`` (published times of products by an A100): with Hopper's they are 20 % too slow.
NATIVE_TENSOR, NATIVE = 1.0, {"exposed": 0.1, "overlap": 3.0}
#: Issue cycles of 128 casts of fp32 to two halves at a time on the way to mma.sync: an instruction for a pair, 64 a cycle (CUDA C++
#: Programming Guide, sm_80 to sm_90), and as long to move them.
NATIVE_CAST = 2.0

#: What a row of each group counts in the fit: the grid of the first file repeats its few shapes, the others do not.
GROUP_WEIGHT = {"gemm": 1.0, "gemm-2": 2.0, "attention": 3.0, "recurrent": 3.0, "seed": 0.0}

#: Rows without error that each bias is averaged with, so that small groups stay near the physics.
BIAS_PRIOR_ROWS = 8

#: Added to sigma in quadrature where nothing was measured: guesses by an engineer, not fits. device: the H200 and H100
#: PCIe differ by clock and bandwidth only, Ampere and Ada lower differently, other vendors share nothing but the peaks.
#: lowering: a cast, a layout of A, tf32x3, a computed operand or a number of warps that no row has. ratio_share: what a
#: widening of both times leaves in their ratio.
GUESSED_WIDENING = {
    "device": {"measured": 0.0, "architecture": 0.12, "vendor": 0.30, "other": 0.55},
    "lowering": 0.15,
    "ratio_share": 0.4,
}

#: Kinds of deviation whose widening is measured: what the rows that have it err beyond the others.
MEASURED_WIDENING = ("spills", "few_warps", "unaligned", "elementwise", "beyond_l2")
#: The least widening that a kind of deviation with few rows may publish.
LEAST_WIDENING = 0.05
#: Rows of the residual of all that the sigma of a group is averaged with.
SIGMA_PRIOR_ROWS = 10
#: Kinds of change that a published residual of ratios may combine; more of them err as all do.
MOST_KINDS = 3
#: The least number of comparisons behind a published residual of ratios.
LEAST_COMPARISONS = 40


class Fit:
    """The model on columns: vector of ln(constants) in, column of ln(us) out."""

    def __init__(self, rows: Sequence[Row], device: Device) -> None:
        self.rows = rows
        self.measured = np.log([row.us for row in rows])
        deepest = max(len(row.loop.steps) for row in rows)
        steps = [[count_step(row.loop, step, device) for step in row.loop.steps] for row in rows]
        slots = [[counts[i] if i < len(counts) else NO_STEP for counts in steps] for i in range(deepest)]
        loops = [count_loop(row.loop, device) for row in rows]
        self.keys = [residual_key(row.loop, device) for row in rows]
        self.deviations = [deviations(row.loop, device) for row in rows]
        self.names: dict[str, list[str]] = {}
        for table, keys in TABLES.items():
            self.names[table] = sorted({getattr(s, key) for slot in slots for s in slot for key in keys} - {"none"})
        self.labels = [(t, key) for t in self.names for key in self.names[t]]
        self.labels += [(f.name, "") for f in fields(Constants) if f.name not in TABLES and f.name != "native"]
        self.steps = [self._columns(slot, StepCounts) for slot in slots]
        self.loops = self._columns(loops, LoopCounts)
        bounds = [PRIORS.get(f"{table}.{key.split('.')[0]}", PRIORS[table]) for table, key in self.labels]
        self.start, self.low, self.high = (np.log(np.array(column)) for column in zip(*bounds, strict=True))
        # Rows that a constant can move: for an entry of a table those that look it up.
        self.moved = [
            np.array([any(getattr(s, k) == key for s in c for k in TABLES[table]) for c in steps])
            if key
            else np.ones(len(rows), dtype=bool)
            for table, key in self.labels
        ]

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
        result.native = NATIVE  # chosen, not fitted: no row is of a card without wgmma
        return result

    def predict(self, x: Array, index: NDArray[Any] | None = None) -> Array:
        """ln(us) of the rows at ``index`` (all where None)."""
        pick: Callable[[NDArray[Any]], NDArray[Any]] = (lambda v: v) if index is None else (lambda v: v[index])
        loops: Any = SimpleNamespace(**{name: pick(column) for name, column in self.loops.items()})
        constants: Any = self.constants(x)
        total: Any = None
        for slot in self.steps:
            steps: Any = SimpleNamespace(**{name: pick(column) for name, column in slot.items()})
            cycles = cycles_of_step(steps, loops, constants)
            total = cycles if total is None else total + cycles
        us: Array = terms_of_loop(total, loops, constants)["us"]
        return np.log(us)

    def solve(self, index: NDArray[Any] | None = None, start: Array | None = None, evaluations: int = 60) -> Array:
        """Least squares of ln(us), soft at 0.2 so that a stray row does not steer, with a weak pull to the start."""
        chosen = np.arange(len(self.rows)) if index is None else index
        weight = self.weights[chosen]

        def residual(x: Array) -> Array:
            error = (self.predict(x, chosen) - self.measured[chosen]) * weight
            return np.append(error, (x - self.start) * PRIOR_WEIGHT)

        def jacobian(x: Array) -> Array:
            """Forward differences, each constant only on the rows that it can move."""
            at = self.predict(x, chosen)
            result = np.zeros((len(chosen) + len(x), len(x)))
            for i, moved in enumerate(self.moved):
                inside = moved[chosen]
                shifted = x.copy()
                shifted[i] += 1e-5
                slope = (self.predict(shifted, chosen[inside]) - at[inside]) / 1e-5
                result[np.flatnonzero(inside), i] = slope * weight[inside]
                result[len(chosen) + i, i] = PRIOR_WEIGHT
            return result

        low, high = self.low - 1e-9, self.high + 1e-9
        first = np.clip(self.start if start is None else start, low + 1e-8, high - 1e-8)
        found = least_squares(
            residual, first, jacobian, bounds=(low, high), loss="soft_l1", f_scale=0.2, max_nfev=evaluations
        )
        solution: Array = found.x
        return solution

    def published(self) -> Array:
        """The start, with the values that the data file has for those of the constants that it knows."""
        known = json.loads(OUTPUT.read_text(encoding="utf-8"))["constants"] if OUTPUT.is_file() else {}
        start = self.start.copy()
        for i, (table, key) in enumerate(self.labels):
            value = known.get(table)
            value = value.get(key) if isinstance(value, dict) else value
            if isinstance(value, (int, float)) and value > 0:
                start[i] = np.log(value)
        return start

    @property
    def weights(self) -> Array:
        """Square roots of the rows' weights, by group."""
        return np.sqrt([GROUP_WEIGHT[row.group] for row in self.rows])

    def bias(self, error: Array, index: NDArray[Any] | None = None) -> dict[str, float]:
        """Mean of ``error`` over the rows at ``index`` by residual key, shrunk as if ``BIAS_PRIOR_ROWS`` had none."""
        chosen = range(len(self.rows)) if index is None else index
        sums: dict[str, list[float]] = {}
        for i in chosen:
            if "spills" in self.deviations[i]:
                continue
            sums.setdefault(self.keys[i], []).append(float(error[i]))
        return {key: sum(errors) / (len(errors) + BIAS_PRIOR_ROWS) for key, errors in sorted(sums.items())}

    def corrected(self, error: Array, bias: dict[str, float]) -> Array:
        """``error`` with each row's bias taken off."""
        corrected: Array = error - np.array([bias.get(key, 0.0) for key in self.keys])
        return corrected

    def held_out(self, folds: Sequence[int], start: Array) -> Array:
        """ln(predicted / measured) of each row by a fit, constants and bias, that has not seen the row's fold."""
        labels = np.array(folds)
        error = np.zeros(len(labels))
        for label in sorted(set(folds)):
            inside = labels == label
            seen = np.flatnonzero(~inside)
            x = self.solve(seen, start, evaluations=6)
            raw = self.predict(x) - self.measured
            error[inside] = self.corrected(raw, self.bias(raw, seen))[inside]
            print(f"  fold {label}: {inside.sum()} rows, {spread(error[inside])}", flush=True)
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
        casts["mma.float32->float16"] = NATIVE_CAST
        for path in ("fma", "mma", "wgmma", "wgmma.stored"):
            for cast in MEASURED_CASTS:
                casts.setdefault(f"{path}.{cast}", casts.get(f"mma.{cast}", casts.get(f"wgmma.{cast}")))
            casts[f"{path}.other"] = float(f"{np.mean([casts[f'{path}.{cast}'] for cast in MEASURED_CASTS]):.5g}")
        for kind in ("float16", "tf32", "int8", "fp8"):
            result["tensor"][f"native.{kind}"] = NATIVE_TENSOR
        result["native"] = NATIVE
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


def folds(groups: Sequence[Any], leaders: Sequence[bool]) -> list[int]:
    """A fold for each row such that rows of one group share it, and each group among the leaders has its own.

    The first file has few shapes and tiles, each in hundreds of rows: every one is left out alone. The groups of the
    other rows, which have many, join these folds by a hash.
    """
    own = sorted({str(group) for group, leads in zip(groups, leaders, strict=True) if leads})
    return [own.index(str(g)) if str(g) in own else zlib.crc32(str(g).encode()) % len(own) for g in groups]


def ratio_residuals(fit: Fit, errors: Sequence[Array]) -> dict[str, dict[str, dict[str, float]]]:
    """rms of the ln error of ratios between rows of one problem by what changed between them, without spilling rows.

    The worst of ``errors``. Keys are kinds of change joined by ``+``, and ``all``; first for loops of a single dot,
    then for chained ones.
    """
    rows = fit.rows
    result: dict[str, dict[str, dict[str, float]]] = {}
    for name in ("single", "chained"):
        problems: dict[Any, list[int]] = {}
        for i, row in enumerate(rows):
            if is_chained(row.loop) == (name == "chained") and "spills" not in fit.deviations[i]:
                problems.setdefault((row.shape, len(row.loop.steps)), []).append(i)
        compared: dict[int, list[Array]] = {}
        kinds = list(aspects(rows[0].loop))
        for members in problems.values():
            values = [aspects(rows[i].loop) for i in members]
            first, second = np.triu_indices(len(members), 1)
            changed = np.zeros(len(first), dtype=int)
            for bit, kind in enumerate(kinds):
                names = {value: n for n, value in enumerate({one[kind] for one in values})}
                column = np.array([names[one[kind]] for one in values])
                changed |= (column[first] != column[second]).astype(int) << bit
            index = np.array(members)
            gaps = np.array([error[index[first]] - error[index[second]] for error in errors])
            for key in np.unique(changed):
                compared.setdefault(int(key), []).append(gaps[:, changed == key])
        found = {}
        for key, gaps_of_key in compared.items():
            gap = np.concatenate(gaps_of_key, axis=1)
            label = "+".join(sorted(kind for bit, kind in enumerate(kinds) if key >> bit & 1))
            if label and gap.shape[1] >= LEAST_COMPARISONS and label.count("+") < MOST_KINDS:
                found[label] = max((spread(one) for one in gap), key=lambda one: one["rms"])
        everything = np.concatenate([gap for key, part in compared.items() if key for gap in part], axis=1)
        found["all"] = max((spread(one) for one in everything), key=lambda one: one["rms"])
        result[name] = dict(sorted(found.items(), key=lambda item: (item[0].count("+"), item[0])))
    return result


def measured_widening(fit: Fit, errors: Sequence[Array]) -> dict[str, float]:
    """For each deviation, what rows with it (and without spills, unless that is it) err beyond rows without any."""
    plain = np.array([not found for found in fit.deviations])
    result = {}
    for kind in MEASURED_WIDENING:
        inside = np.array([kind in found and ("spills" not in found or kind == "spills") for found in fit.deviations])
        own = max(spread(error[inside])["rms"] for error in errors)
        rest = max(spread(error[plain])["rms"] for error in errors)
        result[kind] = round(max(LEAST_WIDENING, max(0.0, own**2 - rest**2) ** 0.5), 3)
    return result


def group_sigma(fit: Fit, errors: Sequence[Array]) -> dict[str, float]:
    """Residual of each group of rows without spills, averaged with that of all; ``all`` and ``chained`` together."""
    kept = np.array(["spills" not in found for found in fit.deviations])
    chained = np.array([is_chained(row.loop) for row in fit.rows])
    keys = np.array(fit.keys)

    def rms(inside: NDArray[Any]) -> float:
        return float(max(spread(error[inside & kept])["rms"] for error in errors))

    common = {"all": rms(~chained), "chained": rms(chained)}
    result = {}
    for key in sorted(set(fit.keys)):
        inside = (keys == key) & kept
        count, prior = int(inside.sum()), common["chained" if key.startswith("chained") else "all"]
        own = rms(inside) if count else prior
        result[key] = round(
            float(np.sqrt((count * own**2 + SIGMA_PRIOR_ROWS * prior**2) / (count + SIGMA_PRIOR_ROWS))), 4
        )
    return {**result, **common}


def ratio_examples(rows: Sequence[Row], error: Array) -> dict[str, dict[str, float]]:
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
            return (target[0], *row.key[1:5], target[1], *row.key[6:])

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
        "grouped / not": compare(lambda row: None if row.grouped else (*row.key[:6], True, *row.key[7:])),
        "8 / 4 warps": compare(lambda row: (*row.key[:3], 8, *row.key[4:]) if row.loop.num_warps == 4 else None),
    }


def print_table(title: str, table: dict[str, dict[str, float]]) -> None:
    print(f"\n{title}")
    for name, value in table.items():
        if value:
            errors = f"mean |ln| {value['mean_abs']:.3f}   rms {value['rms']:.3f}"
            print(f"  {name:44s} {value['rows']:5.0f} rows   {errors}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="fit the constants of the dot model")
    parser.add_argument("csv", nargs="*", type=Path, default=[FACTS / name for name in SOURCES])
    parser.add_argument("--dry-run", action="store_true", help="report only, write nothing")
    options = parser.parse_args(arguments)

    device = find_device("h100-sxm")
    rows = read_rows(options.csv)
    fit = Fit(rows, device)
    x = fit.solve(start=fit.published(), evaluations=40)
    physics = fit.predict(x) - fit.measured
    bias = fit.bias(physics)
    inside = fit.corrected(physics, bias)
    for (name, key), value, low, high in zip(fit.labels, np.exp(x), np.exp(fit.low), np.exp(fit.high), strict=True):
        edge = "  (at its bound)" if min(value / low, high / value) < 1.01 else ""
        print(f"  {name + ('.' + key if key else ''):44s} {value:10.4g}{edge}")
    first_file = [row.group == "gemm" for row in rows]
    shape_error = fit.held_out(folds([row.shape for row in rows], first_file), x)
    tile_error = fit.held_out(folds([row.tile for row in rows], first_file), x)
    errors = (shape_error, tile_error)

    families = [row.group for row in rows]
    modes = [f"{row.group} {row.mode} {row.layout}" for row in rows]
    variants = [f"{row.group} {re.sub('=[0-9]+', '', row.variant)}" for row in rows]
    print(f"\nphysics alone, in sample {spread(physics)}")
    print(f"in sample {spread(inside)}")
    print_table("in sample", by(families, inside))
    for title, error in (("shape left out", shape_error), ("tile left out", tile_error)):
        print_table(f"by group, {title}", by(families, error))
        print_table(f"by mode and layout, {title}", by(modes, error))
        print_table(f"by variant, {title}", by(variants, error))
        print_table(f"by warps, {title}", by([f"{row.group} {row.loop.num_warps}" for row in rows], error))
        print_table(f"by stages, {title}", by([f"{row.group} {row.loop.num_stages}" for row in rows], error))
        print_table(f"by deviation, {title}", by([" ".join(sorted(found)) for found in fit.deviations], error))
        print_table(f"ratios, {title}", ratio_examples(rows, error))
    chosen = [i for i, leads in enumerate(first_file) if leads]
    print_table("by shape left out", by([rows[i].shape for i in chosen], shape_error[chosen]))
    print_table("by tile left out", by([rows[i].tile for i in chosen], tile_error[chosen]))
    ratios = ratio_residuals(fit, errors)
    for name, table in ratios.items():
        print_table(f"ratios of one problem, {name} dots", table)

    seed = Fit(seed_rows(FACTS / "h100-seed.txt"), device)
    print("\nthe seed's kernels (not in the fit)              predicted   measured    ln")
    constants = fit.table(x)
    vector = [max(1e-9, float(constants[group][key] if key else constants[group])) for group, key in seed.labels]
    error = seed.corrected(seed.predict(np.log(np.array(vector))) - seed.measured, bias)
    seed_spread = spread(error)
    for row, us, one in zip(seed.rows, np.exp(seed.measured + error), error, strict=True):
        title = f"{row.mode} {row.layout} {'x'.join(map(str, row.tile))} w{row.loop.num_warps}"
        print(f"  {'x'.join(map(str, row.shape)):16s} {title:38s} {us:8.2f} {row.us:10.2f} {one:+.2f}")
    print(f"  {seed_spread}")

    document = {
        "source": [path.name for path in options.csv],
        "rows": len(rows),
        "device": device.id,
        "constants": constants,
        "widening": {**GUESSED_WIDENING, **measured_widening(fit, errors)},
        "residuals": {
            "unit": "ln(predicted / measured)",
            "sigma": group_sigma(fit, errors),
            "bias": {key: round(value, 4) for key, value in bias.items()},
            "physics_alone": spread(physics),
            "in_sample": {"all": spread(inside), **by(families, inside)},
            "leave_one_shape_out": {"all": spread(shape_error), **by(families, shape_error), **by(modes, shape_error)},
            "leave_one_tile_out": {"all": spread(tile_error), **by(families, tile_error), **by(modes, tile_error)},
            "ratios": ratios,
            "ratio_examples": ratio_examples(rows, shape_error),
            "seed": seed_spread,
        },
    }
    print(json.dumps(document["widening"]))
    if not options.dry_run:
        OUTPUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {OUTPUT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
