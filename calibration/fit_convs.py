"""Fit the constants of ``kernlint/cost/convolutions.py`` and write them with their residual.

    python calibration/fit_convs.py [--dry-run]

Data: ``calibration/facts/h200-convs.csv`` and ``h200-convs-2.csv`` (drawn at random, the second larger) and the convolutions of
``h100-torch-ops.csv`` and ``h100-torch-ops-2.csv``.
The loss is robust: cuDNN now and then picks a kernel that is a hundred times slower than the next one. Judged on draws that the fit did
not see.
Needs numpy and scipy, which kernlint itself does not.
"""

from __future__ import annotations

import csv
import json
import math
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "calibration")]

from kernlint.cost.convolutions import Convolution, floor_us, terms_of, together  # noqa: E402
from kernlint.cost.device import Device, find_device  # noqa: E402

TARGET = ROOT / "kernlint" / "cost" / "data" / "convolutions.json"
START = {
    "floor_us": 10.0, "pointwise_floor_us": 3.0, "pointwise_passes": 1.5, "passes_1": 4.0, "passes_2": 4.0, "passes_3": 4.0,
    "inner": 0.5, "outer": 0.5, "grouped": 0.5, "strided_back": 0.5, "dilated_back": 0.5, "dilated_forth": 1.0,
    **{f"share_{way}_{dims}": 0.3 for way in ("forth", "back") for dims in (1, 2, 3)},
    **{f"channel_{way}_{dims}": 0.04 for way in ("forth", "back") for dims in (1, 2, 3)},
}  # fmt: skip
FOLDS = 5

#: A measured convolution: what it is, its work, its bytes, the card and the time.
Row = tuple[Convolution, float, float, Device, float]


def drawn(name: str) -> list[Row]:
    """The rows of a file of draws."""
    found = []
    with (ROOT / "calibration" / "facts" / name).open() as file:
        for row in csv.DictReader(file):
            said = dict(part.split("=") for part in row["shape"].split(";"))
            window = [int(k) for k in said["k"].split("x")]
            groups = int(said["groups"])
            one = Convolution(
                len(window), "transpose" in row["op"], int(said["cin"]) // groups, int(said["cout"]) // groups, groups,
                math.prod(window), said["stride"] != "1", said["dil"] != "1", row["dtype"] == "float16",
            )  # fmt: skip
            found.append(
                (one, float(row["flops"]), float(row["bytes_min"]), find_device("h200-sxm"), float(row["gpu_us"]))
            )
    return found


def earlier() -> list[Row]:
    """Those of the H100, in two dimensions."""
    found = []
    for name in ("h100-torch-ops.csv", "h100-torch-ops-2.csv"):
        with (ROOT / "calibration" / "facts" / name).open() as file:
            for row in csv.DictReader(file):
                if row["op"].startswith("conv2d") and row["gpu_us"]:
                    batch, inner, high, wide, outer = map(int, row["shape"].split("x"))
                    taps, half = int(row["op"][-1]) ** 2, row["dtype"] == "float16"
                    one = Convolution(2, False, inner, outer, 1, taps, False, False, half)
                    size = (2 if half else 4) * batch * high * wide * (inner + outer)
                    flops = 2.0 * batch * high * wide * taps * inner * outer
                    found.append((one, flops, float(size), find_device("h100-sxm"), float(row["gpu_us"])))
    return found


def errors(rows: list[Row], rates: Mapping[str, float]) -> list[float]:
    """ln(predicted / measured)."""
    found = []
    for one, flops, size, device, us in rows:
        peak = (
            device.peak_fp16_tensor_dense_fp32acc_tflops if one.half else device.peak_tf32_tensor_dense_tflops
        ) or 1.0
        vector, bandwidth = device.peak_fp32_vector_tflops, device.memory_bandwidth_gb_per_s
        terms = terms_of(one, flops, size, peak, vector, bandwidth, rates)
        found.append(math.log(together(floor_us(one, rates), terms) / us))
    return found


def fit(rows: list[Row]) -> dict[str, float]:
    names = list(START)
    start = np.log([START[name] for name in names])

    def residuals(theta: np.ndarray) -> np.ndarray:
        rates = dict(zip(names, np.exp(theta)))
        return np.array([*errors(rows, rates), *(0.15 * (theta - start))])

    found = least_squares(residuals, start, loss="soft_l1", f_scale=0.4)
    return {name: float(f"{value:.4g}") for name, value in zip(names, np.exp(found.x))}


def main() -> None:
    """Command line."""
    rows = [*drawn("h200-convs.csv"), *drawn("h200-convs-2.csv"), *earlier()]
    unseen: list[float] = []
    for fold in range(FOLDS):
        seen = [row for index, row in enumerate(rows) if index % FOLDS != fold]
        unseen += errors([row for index, row in enumerate(rows) if index % FOLDS == fold], fit(seen))
    rates = fit(rows)
    sizes = [abs(error) for error in unseen]
    sigma = 1.25 * statistics.fmean(min(size, 2.0) for size in sizes)
    within = sum(size < math.log(1.5) for size in sizes) / len(sizes)
    print(
        f"{len(rows)} rows, unseen: mean {statistics.fmean(sizes):.3f}, median {statistics.median(sizes):.3f}, within 1.5x {within:.0%}"
    )
    print(rates)
    if "--dry-run" not in sys.argv:
        TARGET.write_text(json.dumps({"rates": rates, "sigma": round(sigma, 3)}, indent=1) + "\n")


if __name__ == "__main__":
    main()
