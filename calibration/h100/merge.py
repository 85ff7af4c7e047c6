"""Merges repeated passes of `measure.py` into one set of files: the median of each time, and how far passes differ.

python merge.py --out DIR PASS_DIR PASS_DIR PASS_DIR
"""

from __future__ import annotations

import argparse
import csv
import statistics
from pathlib import Path

TIMES = {"gpu_us", "cold_us", "warm_us", "call_us", "host_us"}
DERIVED = {"warm_tflops": "warm_us", "cold_tflops": "cold_us"}


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file; none where it is missing."""
    if not path.exists():
        return []
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def merge(passes: list[list[dict[str, str]]]) -> tuple[list[dict[str, str]], dict[str, list[float]]]:
    """(rows with median times, and for each time column the highest over the lowest reading of every row)."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for rows in passes:
        for row in rows:
            identity = tuple(value for name, value in row.items() if name not in TIMES and name not in DERIVED)
            groups.setdefault(identity, []).append(row)
    merged, spreads = [], {name: [] for name in TIMES}
    for group in groups.values():
        row = dict(group[0])
        for name in TIMES & row.keys():
            readings = [float(other[name]) for other in group if other[name]]
            if readings:
                row[name] = f"{statistics.median(readings):.2f}"
            if len(readings) > 1 and min(readings) > 0:
                spreads[name].append(max(readings) / min(readings))
        for name, time in DERIVED.items():
            if name in row and row[time]:
                work = 2 * int(row["M"]) * int(row["N"]) * int(row["K"])
                row[name] = f"{work / float(row[time]) / 1e6:.1f}"
        merged.append(row)
    return merged, spreads


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("passes", type=Path, nargs="+")
    options = parser.parse_args()
    for name in sorted({path.name for folder in options.passes for path in folder.glob("*.csv")}):
        rows, spreads = merge([read(folder / name) for folder in options.passes])
        with (options.out / name).open("w", newline="") as handle:
            writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"{name}: {len(rows)} rows")
        for column, ratios in spreads.items():
            if ratios:
                ordered = sorted(ratios)
                shares = ", ".join(f"{q:.0%} {ordered[int(q * (len(ordered) - 1))]:.3f}" for q in (0.5, 0.9, 0.99, 1))
                print(f"  {column} highest over lowest of the passes: {shares}")


if __name__ == "__main__":
    main()
