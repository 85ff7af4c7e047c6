"""Fits ``kernlint/cost/data/arithmetic.json``: what an operation costs, by element type, from ``h100-arithmetic.csv``.

    python calibration/fit_arithmetic.py [--dry-run]

The chains of one type are fitted together (a chain of ``exp`` has sums in it), then conversions and random numbers with the
prices of their surroundings as they are. First the slots, from rows with the card full, then the wait, from the rows with an
element a thread. Nothing is fitted to the ``formula`` rows, nor to the ``special_ops`` of
``h100-micro-2.csv``: they tell how well prices add up. Needs numpy and scipy, which kernlint itself does not.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "calibration")]

import bench_launches  # noqa: E402

from kernlint.cost.arithmetic import OTHER, Operations, Price  # noqa: E402
from kernlint.cost.device import find_device  # noqa: E402
from kernlint.cost.programs.price import program_time  # noqa: E402
from kernlint.cost.traffic.accesses import traffic  # noqa: E402
from kernlint.cost.traffic.model import Traffic  # noqa: E402
from kernlint.workload import Compute, Launch  # noqa: E402

FACTS = "h100-arithmetic.csv"
TARGET = ROOT / "kernlint" / "cost" / "data" / "arithmetic.json"
H100 = find_device("h100-sxm")

#: A price: the type's name and the operation.
Key = tuple[str, str]
Table = dict[Key, Price]

#: The exclusive ors around a conversion: that of two results is one instruction, and two short elements share a register.
AROUND: Table = {("int32", "^"): Price(0.4), ("int64", "^"): Price(0.8)}


@dataclass(frozen=True)
class Row:
    """One measured kernel. ``full`` tells that the card is, so that slots decide."""

    term: str
    group: str
    full: bool
    launch: Launch
    moved: Traffic
    us: float

    def us_at(self, table: Table) -> float:
        if self.term == "convert" and table:
            table = {**table, **AROUND}
        return program_time(self.launch, H100, moved=self.moved, operations=nested(table)).us

    def error(self, table: Table) -> float:
        return math.log(self.us_at(table) / self.us)


def nested(table: Table) -> Operations:
    found: dict[str, dict[str, Price]] = defaultdict(dict)
    for (dtype, op), value in table.items():
        found[dtype][op] = value
    return Operations(found)


def read() -> list[Row]:
    measured = bench_launches.measured(FACTS)
    found = []
    for case in bench_launches.bench_cases(["arithmetic"]):
        if case.key not in measured:
            continue
        launch = bench_launches.read(case.launches[0])
        params = case.params
        group = params.get("dtype") or (f"to {params['target']}" if "target" in params else "random")
        full = params["BLOCK"] > 128
        found.append(Row(case.term, group, full, launch, traffic(launch), measured[case.key]))
    return found


#: The sum in a chain of multiply-adds of integers is part of the one instruction, and no chain tells their prices apart. A quotient by
#: what many elements have in common is 3.3 multiplications in the compiled ``rounds`` of ``composites.py``.
GIVEN: Table = {("int32", "fma"): Price(0.0), ("int64", "fma"): Price(0.0), ("float32", "/ shared"): Price(3.2)}


def unpriced(rows: Iterable[Row], table: Table) -> list[tuple[Key, str]]:
    """What ``rows`` do that ``table`` has no price for, with its kind."""
    found: dict[Key, str] = {}
    known = nested(table)
    for row in rows:
        for node, _ in row.launch.kernel.walk(Compute):
            assert isinstance(node, Compute)
            if known.price(node) is None:
                found[node.dtype.name, node.op] = node.kind
    return list(found.items())


#: Up to here an operation is an instruction or two, whose latency is in the fitted latencies of loops already.
INSTRUCTION = 5.0


def fit(rows: Sequence[Row], table: Table) -> Table:
    """``table`` with prices for what ``rows`` do besides."""
    full = [row for row in rows if row.full]
    keys = unpriced(rows, table)
    if not keys:
        return table
    start = np.log([20.0 if kind == "special" else 1.0 for _, kind in keys])

    def priced(slots: np.ndarray) -> Table:
        return {**table, **{key: Price(math.exp(value)) for (key, _), value in zip(keys, slots)}}

    def loss(slots: np.ndarray) -> np.ndarray:
        # The prior is weak: what no row tells stays what it was.
        return np.concatenate([[row.error(priced(slots)) / 0.1 for row in full], (slots - start) / 5])

    best = least_squares(loss, start, diff_step=0.01, max_nfev=30)
    result = priced(best.x)
    for key, _ in keys:
        if result[key].slots > INSTRUCTION:
            result[key] = Price(result[key].slots, _wait(key, rows, result))
    return result


def _wait(key: Key, rows: Sequence[Row], table: Table) -> float:
    """The wait of one operation that makes the sparse chains of it right: those where nothing else is as dear."""
    own = [row for row in rows if not row.full and _dearest(row, table) == key]
    found = []
    for row in own:
        low, high = 0.0, 2000.0
        for _ in range(30):
            middle = (low + high) / 2
            late = row.us_at({**table, key: Price(table[key].slots, middle)}) > row.us
            low, high = (low, middle) if late else (middle, high)
        found.append(low)
    return statistics.fmean(found) if found else 0.0


def _dearest(row: Row, table: Table) -> Key:
    nodes = [node for node, loops in row.launch.kernel.walk(Compute) if loops or not row.full]
    found = [(node.dtype.name, node.op) for node in nodes if isinstance(node, Compute)]
    return max(found, key=lambda key: table[key].slots if key in table else -1.0)


def rounded(table: Table) -> dict[str, dict[str, list[float]]]:
    result: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for (dtype, op), value in sorted(table.items()):
        result[dtype][op] = [float(f"{value.slots:.3g}"), float(f"{value.wait_ns:.3g}")]
    return dict(result)


def fit_all(rows: Sequence[Row]) -> Table:
    """All prices, and the median of each type's functions for those that were not measured."""
    table = dict(GIVEN)
    kinds: dict[Key, str] = {}
    for term in ("chain", "convert", "draw"):
        for group in dict.fromkeys(row.group for row in rows if row.term == term):
            own = [row for row in rows if row.term == term and row.group == group]
            kinds.update(unpriced(own, table))
            table = fit(own, table)
    for dtype in ("float32", "float64"):
        functions = [
            table[key] for key, kind in kinds.items() if key[0] == dtype and kind == "special" and key[1] in NAMED
        ]
        slots = statistics.median(each.slots for each in functions)
        table[dtype, OTHER] = Price(slots, statistics.median(each.wait_ns for each in functions))
    return table


#: Functions of libdevice, as those are that no row measures.
NAMED = frozenset({"log", "log1p", "expm1", "atan", "sin", "cos", "erf", "tanh", "pow"})


def special_ops() -> list[Row]:
    """The older chains of functions in fp32, whose rows the prices are not fitted to."""
    return [
        Row(
            "special_ops",
            sample.name.split("op=")[1].split(";")[0],
            True,
            sample.launch,
            traffic(sample.launch),
            sample.us,
        )
        for sample in bench_launches.bench_samples()
        if sample.family == "special_ops"
    ]


def summary(rows: Sequence[Row], table: Table) -> dict[str, dict[str, float]]:
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        groups[f"{row.term} {row.group}"].append(row.error(table))
    return {
        name: {
            "rows": len(values),
            "mean_abs_ln_error": round(statistics.fmean(map(abs, values)), 3),
            "median_abs_ln_error": round(statistics.median(map(abs, values)), 3),
            "bias": round(statistics.fmean(values), 3),
        }
        for name, values in groups.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    rows = read()
    table = fit_all(rows)
    unseen = [row for row in rows if row.term == "formula"] + special_ops()
    report = {
        "_about": "Prices of kernlint/cost/arithmetic.py, written by calibration/fit_arithmetic.py; do not edit.",
        "source": f"calibration/facts/{FACTS} (gpu_us)",
        "mean_abs_ln_error_unseen": round(statistics.fmean(abs(row.error(table)) for row in unseen), 3),
        "unseen": summary(unseen, table),
        "unseen_before": summary(unseen, {}),
        "fitted": summary([row for row in rows if row not in unseen], table),
        "fitted_before": summary([row for row in rows if row not in unseen], {}),
        "prices": rounded(table),
    }
    print(json.dumps({name: value for name, value in report.items() if name != "prices"}, indent=1))
    if not args.dry_run:
        TARGET.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
