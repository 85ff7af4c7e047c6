"""Fits ``kernlint/cost/data/gathers.json``: what gathered dot operands cost on top of the dot model.

    python calibration/fit_gathers.py [--dry-run]            write the constants and print the residuals

Reads the ``implicit_gemm_conv`` rows of ``calibration/facts/h100-micro-2.csv`` through the interpreter, and those of ``conv_by_taps`` of
``h200-products.csv`` whose images are of a width that leaves no runs of neighbours. The sigma is that of
constants fitted without the image size of the row (leave one size out).
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import bench_launches

from kernlint.cost.device import find_device
from kernlint.cost.dot_launch import dot_loop
from kernlint.cost.dots import dot_time
from kernlint.cost.gathers import GatherConstants, gather_us, gathered_cycles
from kernlint.cost.traffic.accesses import traffic

TARGET = Path(__file__).parent.parent / "kernlint" / "cost" / "data" / "gathers.json"

#: Measured us, the dot model's us, us per cycle of gathering, and the size that the row belongs to.
Row = tuple[float, float, float, str]


def rows(file: str, module: str, term: str, priced: GatherConstants) -> list[Row]:
    """The rows of ``term`` that gather, a cycle of each as ``priced`` says."""
    measured, device = bench_launches.measured(file), find_device(bench_launches.card_of(file))
    found: list[Row] = []
    for case in bench_launches.bench_cases([module]):
        if case.term != term or case.key not in measured:
            continue
        launch = bench_launches.read(case.launches[0])
        moved = traffic(launch)
        loop = dot_loop(launch, moved)
        assert loop is not None
        weight = gather_us(gathered_cycles(launch, moved, priced), moved.programs, device)
        if not weight:
            continue
        size = "x".join(str(case.params[name]) for name in ("C", "H", "KS"))
        found.append((measured[case.key], dot_time(loop, device).us, weight, size))
    return found


def errors(data: Sequence[Row], cycles: float) -> list[float]:
    return [math.log(us / (base + weight * cycles)) for us, base, weight, _ in data]


def fit(data: Sequence[Row]) -> float:
    """The cycles per element with the least squared ln error, by golden-section search on its logarithm."""
    low, high = math.log(0.01), math.log(10.0)
    ratio = (math.sqrt(5) - 1) / 2

    def loss(value: float) -> float:
        return sum(error**2 for error in errors(data, math.exp(value)))

    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return math.exp((low + high) / 2)


def main() -> None:
    data = rows("h100-micro-2.csv", "fma", "implicit_gemm_conv", GatherConstants(1.0, 0.0))
    broken = fit(rows("h200-products.csv", "products", "conv_by_taps", GatherConstants(0.0, 0.0, 1.0)))
    print(f"broken runs: {broken:.3f} cycles per element")
    cycles = fit(data)
    held_out = []
    for size in sorted({row[3] for row in data}):
        rest = fit([row for row in data if row[3] != size])
        held_out += errors([row for row in data if row[3] == size], rest)
    sigma = math.sqrt(sum(error**2 for error in held_out) / len(held_out))
    mean = sum(map(abs, held_out)) / len(held_out)
    print(f"{len(data)} rows, {cycles:.3f} cycles per element, held out: rms {sigma:.3f}, mean |ln| {mean:.3f}")
    about = "Constants of kernlint/cost/gathers.py, written by calibration/fit_gathers.py; do not edit."
    values = {"_about": about, "cycles_per_element": round(cycles, 4), "broken_cycles": round(broken, 4)}
    values |= {"sigma": round(sigma, 3), "rows": len(data)}
    if "--dry-run" not in sys.argv:
        TARGET.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
