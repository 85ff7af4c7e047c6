"""How far the model is off on the measured micro-benchmarks, by file and term.

    python calibration/errors.py [FILE ...] [--by bound] [--worst 20]

Prices whole calls (launches that follow each other share the L2), as an analysis does. Files without the rows of one term that a
fit has seen tell what the model makes of new programs; ``calibration/facts/*-blends.csv`` is of that kind altogether.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "calibration")]

import bench_launches  # noqa: E402

from kernlint.cost.device import find_device  # noqa: E402
from kernlint.cost.estimate import Estimate, Estimator  # noqa: E402
from kernlint.workload import Workload  # noqa: E402

#: Result files and the modules whose cases they hold.
FILES = {
    "h100-micro-2.csv": ("rows", "columns", "elementwise", "fma", "matvec", "attention", "recurrent"),
    "h100-spilling.csv": ("spilling",),
    "h200-lanes.csv": ("lanes",),
    "h200-banks.csv": ("banks",),
    "h200-orders.csv": ("orders",),
    "h100-scatter.csv": ("scatter",),
    "h100-arithmetic.csv": ("arithmetic",),
    "h200-grids.csv": ("grids",),
    "h200-products.csv": ("products",),
    "h200-blends.csv": ("blends",),
    "h200-forms.csv": ("forms",),
    "h200-walks.csv": ("walks",),
    "h200-uneven.csv": ("uneven",),
    "h200-survey.csv": ("survey",),
    "h200-composites.csv": ("composites",),
    "h200-composites-2.csv": ("composites_2",),
    "h200-regimes.csv": ("regimes",),
    "h200-regimes-2.csv": ("regimes_2",),
    "h200-medley.csv": ("medley",),
    "h200-medley-later.csv": ("medley_later",),
    "h200-kinds.csv": ("kinds",),
    "h200-kinds-2.csv": ("kinds_2",),
    "h200-kinds-later.csv": ("kinds_later",),
    "h200-again.csv": ("again",),
}


@dataclass(frozen=True)
class Row:
    """One measured call and what the model says of it. ``ordered``: its loaded indices lie in an order."""

    file: str
    term: str
    key: str
    us: float
    estimate: Estimate
    ordered: bool

    @property
    def error(self) -> float:
        """ln of predicted over measured."""
        return math.log(max(1e-3, self.estimate.gpu_us or 1e-3) / self.us)

    @property
    def bound(self) -> str:
        """The deciding term of the step that takes longest."""
        return max(self.estimate.steps, key=lambda step: step.total_gpu_us).bound


def rows(file: str, step: int = 1) -> Iterator[Row]:
    """The rows of one file, every ``step``-th."""
    us, device = bench_launches.measured(file), find_device(bench_launches.card_of(file))
    found = [case for case in bench_launches.bench_cases(FILES[file]) if case.key in us]
    for case in found[::step]:
        known = {id(launch): bench_launches.read(launch) for launch in {id(one): one for one in case.launches}.values()}
        steps = tuple(known[id(launch)] for launch in case.launches)
        priced = Estimator(device).estimate(Workload(case.term, "bench.py", steps))
        ordered = case.params.get("order") in bench_launches.ORDERED
        yield Row(file, case.term, case.key, us[case.key], priced, ordered)


def line(name: str, errors: list[float]) -> str:
    """One line of figures."""
    size = [abs(error) for error in errors]
    within = sum(value < math.log(1.5) for value in size) / len(size)
    return (
        f"{name:28} {len(size):5} {statistics.fmean(size):7.3f} {statistics.median(size):7.3f} "
        f"{statistics.fmean(errors):+7.3f} {within:6.0%}"
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", default=list(FILES))
    parser.add_argument("--by", choices=("term", "bound", "both"), default="term")
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print(f"{'':28} {'rows':>5} {'mean':>7} {'median':>7} {'bias':>7} within 1.5x")
    for file in args.files:
        found = [row for row in rows(file, args.step) if args.only in row.key]
        groups: dict[str, list[float]] = defaultdict(list)
        for row in found:
            name = {"term": row.term, "bound": row.bound, "both": f"{row.term} {row.bound}"}[args.by]
            groups[name].append(row.error)
        print(line(file, [row.error for row in found]))
        for name, errors in sorted(groups.items()):
            print("  " + line(name, errors))
        for row in sorted(found, key=lambda row: -abs(row.error))[: args.worst]:
            terms = max(row.estimate.steps, key=lambda step: step.total_gpu_us).terms
            said = " ".join(f"{name}={value:.1f}" for name, value in terms.items() if value > 0.05)
            print(f"    {row.us:9.2f} {row.estimate.gpu_us:9.2f} {row.bound:8} {row.key[:120]}  {said}")


if __name__ == "__main__":
    main()
