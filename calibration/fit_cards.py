"""Fit ``kernlint/cost/data/cards.json``: what a second card takes over what follows from its data sheet.

    python calibration/fit_cards.py [--dry-run]

The H200's rows are of ``h200-again.csv`` and ``h200-gemm.csv``, micro-benchmarks of the H100 once more, and of files of its own. Nothing
but a factor for each term is fitted (``kernlint/calibrate/factors.py``, as ``kernlint calibrate`` does); every other row is held out, so
that the residuals are those of rows that the factors did not see.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "calibration")]

import bench_launches  # noqa: E402
from dot_rows import read_rows  # noqa: E402
from errors import FILES  # noqa: E402

from kernlint.calibrate.factors import Row, fit, residuals, summary  # noqa: E402
from kernlint.calibrate.run import row_of  # noqa: E402
from kernlint.cost.device import Device, find_device  # noqa: E402
from kernlint.cost.dot_lowering import fed_class  # noqa: E402
from kernlint.cost.dots import dot_time  # noqa: E402

FACTS = ROOT / "calibration" / "facts"
TARGET = ROOT / "kernlint" / "cost" / "data" / "cards.json"
CARD = "h200-sxm"
MODEL_FILES = ("h200-again.csv", "h200-blends.csv", "h200-products.csv")


def rows(device: Device) -> Iterator[Row]:
    """The measured launches of the card; loaded indices in an order are left out, as the model takes them to be random."""
    for file in MODEL_FILES:
        us = bench_launches.measured(file)
        for case in bench_launches.bench_cases(FILES[file]):
            if case.key in us and len(case.launches) == 1 and case.params.get("order") not in bench_launches.ORDERED:
                yield row_of(bench_launches.read(case.launches[0]), device, us[case.key])
    for row in read_rows([FACTS / "h200-gemm.csv"]):
        step = max(row.loop.steps, key=lambda step: step.m * step.n * step.k)
        fed = f"dot_{fed_class(step.a, step.precision)}"
        yield Row({fed: dot_time(row.loop, device).us}, 1.0, row.us, "dot")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    sheet = replace(find_device(CARD), factors={}, residuals={})
    found = list(rows(sheet))
    factors = fit(found[::2])
    held_out = found[1::2]
    entry = {
        "factors": factors,
        "residuals": residuals(held_out, factors),
        "source_factors": f"calibration/facts/{', '.join((*MODEL_FILES, 'h200-gemm.csv'))}, by calibration/fit_cards.py",
        "before": summary(held_out, {}),
        "after": summary(held_out, factors),
    }
    report = {
        "_about": "What cards take over their data sheets, written by calibration/fit_cards.py; do not edit.",
        CARD: entry,
    }
    print(json.dumps(report, indent=1))
    if not args.dry_run:
        TARGET.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
