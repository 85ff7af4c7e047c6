"""Fit the constants of ``kernlint/cost/programs/constants.py`` to the micro-benchmarks and write them with their residuals.

    python calibration/fit_memory.py [--folds 5] [--only NAME,NAME] [--dry-run]

Data: ``calibration/facts/h100-micro.csv``, ``h100-micro-2.csv``, ``h100-spilling.csv``, ``h200-lanes.csv``, ``h100-scatter.csv``,
``h200-grids.csv`` and every other row of ``h200-survey.csv``, ``h200-uneven.csv`` and ``h200-composites.csv`` (warm graph replays;
rows whose indices are in an order are left out), and the rows of ``h100-stream.csv`` larger than L2.
Every constant is positive and is moved in its logarithm from its physical starting value, with a weak prior (a
factor e^0.7 is one standard deviation) so that what the data cannot tell stays what it was. The loss is Huber-like on
ln(predicted / measured). Error is judged on sizes the fit did not see: the sizes of each family are dealt into folds.
Needs numpy and scipy, which kernlint itself does not.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "calibration")]

from bench_launches import UNSEEN_FILES, bench_samples  # noqa: E402
from micro_launches import Sample, samples  # noqa: E402

from kernlint.cost.arithmetic import operations  # noqa: E402
from kernlint.cost.classes import class_of  # noqa: E402
from kernlint.cost.device import find_device  # noqa: E402
from kernlint.cost.programs.constants import Constants  # noqa: E402
from kernlint.cost.programs.constants import constants as current  # noqa: E402
from kernlint.cost.programs.price import Price, program_time  # noqa: E402
from kernlint.cost.traffic.accesses import traffic  # noqa: E402
from kernlint.cost.traffic.model import Traffic  # noqa: E402

TARGET = ROOT / "kernlint" / "cost" / "data" / "programs.json"
NAMES = [field.name for field in fields(Constants)]
PRIOR = 0.7
#: ``empty_program`` rewrites one place from every program, which no real kernel does: kept, but it may not pull.
WEIGHTS = {"empty_program": 0.2}
#: Families that share a kernel and so are left out together.
KINDRED = {
    "row_loop_pipelined": "row_loop", "row_loop_reduce_each": "row_loop", "stream_rowsum": "row_loop",
    "stream_elementwise": "copy_block", "divmod_copy": "copy_block", "atomic_scalar": "atomic_block",
    "change": "count", "change_scalar": "count", "change_rows": "count", "scatter_add_elements": "count",
    "bag_counted": "bag_fixed", "sparse_tile": "sparse_lanes", "pick": "gather_elements", "put_rows": "put",
}  # fmt: skip
#: The cards that the facts were measured on.
DEVICES = {name: find_device(name) for name in ("h100-sxm", "h200-sxm")}


#: Rows of one family that a fit sees, drawn evenly: more of the same move nothing.
FAMILY_ROWS = 40


def all_samples() -> list[Sample]:
    """The micro-benchmarks of all rounds. The model takes loaded indices for random: rows where they are in order, or of few
    values, tell how wide its interval must be (``tests/cost/test_programs.py``)."""
    return [sample for sample in (*samples(), *bench_samples()) if not sample.ordered]


def unseen_samples() -> Iterator[Sample]:
    """Kernels as people write them, that nothing is fitted to."""
    return bench_samples(files=UNSEEN_FILES, fitted=False)


#: Rows from which a class, or a class and the term that decides, has a width of its own.
LEAST_ROWS = 12


def by_class(errors: list[tuple[str, str, str, float]]) -> dict[str, dict[str, float]]:
    """Sigma by class of kernel (``row``), and by class and deciding term (``row|memory``), of kernels of families that the constants
    were not fitted to. Each family weighs as the root of its rows, so that one does not decide."""
    groups: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for family, kind, bound, error in errors:
        groups[kind].append((family, abs(error)))
        groups[f"{kind}|{bound}"].append((family, abs(error)))
    table = {}
    for name, rows in sorted(groups.items()):
        families = {family: sum(f == family for f, _ in rows) for family, _ in rows}
        if len(rows) < LEAST_ROWS or (len(families) < 2 and "|" in name):
            continue
        rows.sort(key=lambda row: row[1])
        weight = np.cumsum([families[family] ** -0.5 for family, _ in rows])
        quantile = rows[int(np.searchsorted(weight, 0.8 * weight[-1]))][1]
        table[name] = {"rows": len(rows), "families": len(families), "sigma": round(max(0.05, quantile / 1.2816), 3)}
    return table


def thinned(data: list[tuple[Sample, Traffic]], most: int = FAMILY_ROWS) -> list[tuple[Sample, Traffic]]:
    """At most ``most`` of each family, every so many of them in file order."""
    families: dict[str, list[tuple[Sample, Traffic]]] = defaultdict(list)
    for row in data:
        families[row[0].family].append(row)
    return [rows[int(i * max(1.0, len(rows) / most))] for rows in families.values()
            for i in range(min(len(rows), most))]  # fmt: skip


def residuals(theta: np.ndarray, data: list[tuple[Sample, Traffic]]) -> np.ndarray:
    constants = Constants(**dict(zip(NAMES, np.exp(theta))))
    prices = (
        Price(sample.launch, moved, DEVICES[sample.device], constants, {}, operations()) for sample, moved in data
    )
    return np.array([math.log(price.spent()[0] / sample.us) for price, (sample, _) in zip(prices, data)])


#: Scale from which an error counts as an outlier.
SCALE = 0.15


def weights(data: list[tuple[Sample, Traffic]]) -> np.ndarray:
    """A family weighs as the root of its size: no family drowns another."""
    count: dict[str, int] = defaultdict(int)
    for sample, _ in data:
        count[sample.family] += 1
    return np.array([WEIGHTS.get(s.family, 1.0) * math.sqrt(20 / (20 + count[s.family])) for s, _ in data]) / SCALE


def fit(
    start: np.ndarray, centre: np.ndarray, data: list[tuple[Sample, Traffic]], evaluations: int, free: list[int]
) -> np.ndarray:
    """The constants at which the loss is least; those not ``free`` stay where they start."""
    weight = weights(data)

    def whole(values: np.ndarray) -> np.ndarray:
        theta = start.copy()
        theta[free] = values
        return theta

    def loss(values: np.ndarray) -> np.ndarray:
        raw = residuals(whole(values), data)
        robust = np.sign(raw) * np.sqrt(2 * (np.sqrt(1 + (raw / SCALE) ** 2) - 1)) * SCALE
        return np.concatenate([robust * weight, (values - centre[free]) / PRIOR])

    return whole(least_squares(loss, start[free], max_nfev=evaluations, diff_step=1e-3).x)


class LeaveOut:
    """The constants without some of the rows, by one Gauss-Newton step from the optimum of all rows.

    Robust weights are those at the optimum. A step replaces a fit: leaving out each family anew costs nothing then.
    """

    def __init__(
        self, theta: np.ndarray, centre: np.ndarray, data: list[tuple[Sample, Traffic]], free: list[int]
    ) -> None:
        self.theta, self.centre, self.data, self.free = theta, centre, data, free
        self.raw = residuals(theta, data)
        self.jacobian = np.empty((len(data), len(free)))
        for place, index in enumerate(free):
            moved = theta.copy()
            moved[index] += 1e-3
            self.jacobian[:, place] = (residuals(moved, data) - self.raw) / 1e-3
        self.weight = weights(data) / (1 + (self.raw / SCALE) ** 2) ** 0.25

    def without(self, out: list[bool]) -> Constants:
        """The constants fitted to the rows not in ``out``."""
        keep = ~np.array(out)
        rows = self.jacobian[keep] * self.weight[keep, None]
        right = -self.raw[keep] * self.weight[keep]
        prior = np.eye(len(self.free)) / PRIOR
        stacked = np.concatenate([rows, prior])
        target = np.concatenate([right, (self.centre - self.theta)[self.free] / PRIOR])
        theta = self.theta.copy()
        theta[self.free] += np.clip(np.linalg.lstsq(stacked, target, rcond=None)[0], -0.7, 0.7)
        return Constants(**dict(zip(NAMES, np.exp(theta))))


def quantile_sigma(errors: list[float]) -> float:
    return float(np.quantile(np.abs(errors), 0.8)) / 1.2816 if errors else 0.0


def summary(errors: list[tuple[str, float]]) -> dict[str, dict[str, float]]:
    groups: dict[str, list[float]] = defaultdict(list)
    for family, error in errors:
        groups[family].append(error)
    return {
        family: {
            "rows": len(values),
            "mean_abs_ln_error": round(float(np.mean(np.abs(values))), 3),
            "median_abs_ln_error": round(float(np.median(np.abs(values))), 3),
            "bias": round(float(np.mean(values)), 3),
        }
        for family, values in sorted(groups.items())
    }


def correlation(errors: list[tuple[tuple, float]]) -> float:
    """Mean product of the errors of two configurations of one group over the mean square: 1 when they err alike.

    Not centred, as sigma is not either. Errors are clipped at three of their 80 % quantile, so that one odd row does
    not decide.
    """
    limit = 3 * float(np.quantile([abs(e) for _, e in errors], 0.8))
    groups: dict[tuple, list[float]] = defaultdict(list)
    for key, error in errors:
        groups[key].append(max(-limit, min(limit, error)))
    products, squares, pairs, count = 0.0, 0.0, 0.0, 0
    for values in groups.values():
        n = len(values)
        if n < 2:
            continue
        total, square = sum(values), sum(v * v for v in values)
        # Every group weighs by its members, not by its number of pairs.
        products += (total**2 - square) / (n - 1)
        squares += square
        pairs, count = pairs + 1, count + n
    return round(max(0.0, products / squares), 2) if squares else 0.0


#: Families that do one job with different code: what a rewrite of a kernel changes.
JOBS = (
    ("row_softmax", "row_rms_norm", "row_layer_norm", "row_stats", "row_apply", "row_loop", "row_loop_masked",
     "row_loop_online", "row_loop_pipelined", "row_loop_reduce_each", "row_tile_sum", "matvec", "hold_rows"),
    ("col_reduce", "col_reduce_split", "col_per_program", "row_loop"),
    ("tile_copy", "tile_transpose", "row_to_column", "stride_copy", "copy_block"),
    ("scalar_chain", "scalar_scan", "block_scan", "block_scan_carry"),
    ("atomic_scalar", "atomic_block", "col_reduce_split", "scatter_add_elements"),
    ("bag_counted", "bag_fixed", "bag_tile"),
    ("sparse_rows", "sparse_lanes", "sparse_tile", "sparse_scalar"),
    ("walk_rows", "row_loop"),
    ("direct_conv", "upcast_product", "outer_update", "accumulate_tile"),
)  # fmt: skip
#: Pairs below which a kind of change has no sigma of its own.
LEAST_PAIRS = 40


def ratio_sigmas(errors: list[tuple[Sample, str, float]]) -> dict[str, dict[str, float]]:
    """Sigma of the ln of a predicted ratio, by the terms that decide before and after (``memory|latency``).

    ``variant``: one kernel and size, other tile, warps or dtype. ``rewrite``: kernels of two families that do one job,
    at any sizes. From the 80 % quantile of the difference of two held-out errors; each group counts by its members.
    """
    variant: list[tuple[str, float, float]] = []
    groups: dict[tuple, list[tuple[str, float]]] = defaultdict(list)
    for sample, bound, error in errors:
        groups[sample.family.replace("_pipelined", ""), sample.size].append((bound, error))
    for members in groups.values():
        for i, (bound, error) in enumerate(members):
            for other_bound, other in members[:i]:
                variant.append(("|".join(sorted((bound, other_bound))), error - other, 1 / (len(members) - 1)))
    rewrite: list[tuple[str, float, float]] = []
    for job in JOBS:
        own = [row for row in errors if row[0].family in job]
        for i, (sample, bound, error) in enumerate(own):
            # A few partners of other families for each, evenly spread.
            others = [row for row in own if row[0].family != sample.family]
            for sample_b, other_bound, other in others[i % 7 :: max(1, len(others) // 12)]:
                if sample_b.family > sample.family:
                    rewrite.append(("|".join(sorted((bound, other_bound))), error - other, 1.0))
    return {"variant": _by_bounds(variant), "rewrite": _by_bounds(rewrite)}


def _by_bounds(pairs: list[tuple[str, float, float]]) -> dict[str, float]:
    table: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for kind, difference, weight in pairs:
        table[kind].append((abs(difference), weight))
        table["all"].append((abs(difference), weight))
    result = {}
    for kind, rows in sorted(table.items()):
        if len(rows) >= LEAST_PAIRS:
            rows.sort()
            differences, reached = np.array(rows).T[0], np.cumsum(np.array(rows).T[1])
            quantile = differences[np.searchsorted(reached, 0.8 * reached[-1])]
            result[kind] = round(max(0.02, float(quantile) / 1.2816), 3)
    return result


def dot_correlation() -> float:
    """The same for ``tl.dot`` kernels of ``h100-gemm.csv``: neighbours differ in one thing.

    The mean over two kinds of neighbours: one mode, shape and tile with other warps, stages, order; and one shape,
    tile, warps and stages with another mode or layout.
    """
    from dot_rows import read_rows

    from kernlint.cost.dots import dot_time

    rows = read_rows([ROOT / "calibration" / "facts" / "h100-gemm.csv"])
    errors = [(row, math.log(dot_time(row.loop, DEVICES["h100-sxm"]).us / row.us)) for row in rows]
    schedule = correlation([((row.mode, row.shape, row.tile, row.layout), e) for row, e in errors])
    operands = correlation([
        ((row.shape, row.tile, row.loop.num_warps, row.loop.num_stages, row.grouped), e) for row, e in errors
    ])  # fmt: skip
    return round((schedule + operands) / 2, 2)


def torch_correlation() -> float:
    """The same for torch ops: one case and shape, other dtypes and variants."""
    import fit_torch_ops

    from kernlint.cost.torch_ops import torch_op_time

    return correlation([
        ((fit_torch_ops.group_of(row.op), row.shape), math.log(torch_op_time(row.op, row.device).us / row.gpu_us))
        for row in fit_torch_ops.rows() if row.op.kind != "alloc"
    ])  # fmt: skip


def write_correlations(program: float, errors: list[tuple[Sample, str, float]]) -> None:
    result = {
        "_about": "Errors of speedups in kernlint/cost/comparing.py, written by calibration/fit_memory.py; do not edit.",
        "correlation": {"program": program, "dot": dot_correlation(), "other": torch_correlation()},
        "correlation_source": "residuals of configurations of one kernel and size that differ in tile, warps or dtype",
        "program_ratios": ratio_sigmas(errors),
        "program_ratios_source": "80 % quantile over 1.2816 of the difference of two held-out errors, by the terms that "
        "decide before and after",
        "other_bound_share": 0.5,
        "other_bound_source": "share of the correlation left when the two variants are bound by different terms: a "
        "guess, as the residuals of different regimes hardly correlate",
        "clock_sigma": 0.035,
        "clock_source": "repeat spread of the facts, 3 to 5 %",
    }
    print(json.dumps(result, indent=1))
    (TARGET.parent / "estimate.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _program_correlation(errors: list[tuple[Sample, str, float]]) -> float:
    return correlation([((s.family.replace("_pipelined", ""), s.size), error) for s, _, error in errors])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=8)
    parser.add_argument("--rows", type=int, default=FAMILY_ROWS, help="rows of a family that the fit sees at most")
    parser.add_argument("--restart", action="store_true", help="start from the physical values, not the last fit")
    parser.add_argument("--only", default="", help="constants to move, comma-separated; all others stay as they are")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--correlations-only", action="store_true", help="keep the constants, rewrite estimate.json")
    args = parser.parse_args()

    data = [(sample, traffic(sample.launch)) for sample in all_samples()]
    if args.correlations_only:
        errors = []
        for sample, moved in data:
            if sample.family not in WEIGHTS:
                time = program_time(sample.launch, DEVICES[sample.device], moved=moved)
                errors.append((sample, time.bound, math.log(time.us / sample.us)))
        write_correlations(_program_correlation(errors), errors)
        return
    centre = np.log(np.array([asdict(Constants())[name] for name in NAMES]))
    fitted = thinned(data, args.rows)
    start = centre if args.restart else np.log(np.array([getattr(current(), name) for name in NAMES]))
    free = [NAMES.index(name) for name in args.only.split(",")] if args.only else list(range(len(NAMES)))
    theta = fit(start, centre, fitted, args.evaluations, free)
    constants = Constants(**{name: float(f"{value:.4g}") for name, value in zip(NAMES, np.exp(theta))})
    leave = LeaveOut(theta, centre, fitted, free)

    held_out: list[tuple[str, str, float]] = []
    by_size: list[tuple[Sample, str, float]] = []
    sizes = sorted({(sample.family, sample.size) for sample, _ in data})
    for fold in range(args.folds):
        out = {size for index, size in enumerate(sizes) if index % args.folds == fold}
        fold_constants = leave.without([(sample.family, sample.size) in out for sample, _ in fitted])
        for sample, moved in data:
            if (sample.family, sample.size) in out:
                time = program_time(sample.launch, DEVICES[sample.device], fold_constants, moved)
                error = math.log(time.us / sample.us)
                held_out.append((sample.family, time.bound, error))
                if sample.family not in WEIGHTS:
                    by_size.append((sample, time.bound, error))

    # The interval must hold for kernels of a kind the fit never saw: leave out whole families as well.
    foreign: dict[str, list[float]] = defaultdict(list)
    strange: list[tuple[str, str, str, float]] = [
        (sample.family, class_of(sample.launch, moved), time.bound, math.log(time.us / sample.us))
        for sample, moved in ((sample, traffic(sample.launch)) for sample in unseen_samples())
        for time in (program_time(sample.launch, DEVICES[sample.device], constants, moved),)
    ]
    own = sorted({sample.family for sample, _ in data} - set(WEIGHTS) - set(KINDRED))
    for family in own:
        group = {family, *(f for f, kin in KINDRED.items() if kin == family)}
        family_constants = leave.without([sample.family in group for sample, _ in fitted])
        for sample, moved in data:
            if sample.family in group:
                time = program_time(sample.launch, DEVICES[sample.device], family_constants, moved)
                foreign[time.bound].append(math.log(time.us / sample.us))
                strange.append((family, class_of(sample.launch, moved), time.bound, foreign[time.bound][-1]))

    families = summary([(family, error) for family, _, error in held_out])
    regimes: dict[str, list[float]] = defaultdict(list)
    for family, bound, error in held_out:
        if family not in WEIGHTS:
            regimes[bound].append(error)
    everything = [error for family, _, error in held_out if family != "empty_program"]
    overall = float(np.mean(np.abs(everything)))
    report = {
        "_about": "Constants of kernlint/cost/programs/constants.py, written by calibration/fit_memory.py; do not edit.",
        "source": [
            *(
                f"calibration/facts/{name} (gpu_us)"
                for name in (
                    "h100-micro.csv",
                    "h100-micro-2.csv",
                    "h100-spilling.csv",
                    "h200-lanes.csv",
                    "h100-scatter.csv",
                    "h200-grids.csv",
                    "h200-products.csv (depthwise)",
                    "h200-blends.csv (sort_rows)",
                    "h200-survey.csv, h200-uneven.csv, h200-composites.csv (every other row)",
                )
            ),
            "calibration/facts/h100-stream.csv (us, above L2)",
        ],
        "mean_abs_ln_error_held_out": round(overall, 3),
        "median_abs_ln_error_held_out": round(float(np.median(np.abs(everything))), 3),
        "families_held_out": families,
        "regimes": {
            bound: {
                "rows": len(values),
                # 80 % of the residuals lie inside 1.2816 sigma: the quantile, not the variance, sets the interval.
                "sigma_size_held_out": round(quantile_sigma(values), 3),
                "sigma": round(max(0.05, quantile_sigma(values), quantile_sigma(foreign.get(bound, []))), 3),
            }
            for bound, values in sorted(regimes.items())
        },
        "classes": by_class(strange),
        "unseen": summary([(family, error) for family, _, _, error in strange[: len(list(unseen_samples()))]]),
        "constants": {name: {"value": getattr(constants, name), "start": asdict(Constants())[name]} for name in NAMES},
    }
    print(json.dumps({k: v for k, v in report.items() if k != "constants"}, indent=1))
    if not args.dry_run:
        TARGET.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        write_correlations(_program_correlation(by_size), by_size)


if __name__ == "__main__":
    main()
