"""How far predictions from a cause of the headroom lie from what was measured, on sets that have become development data.

    python evals/spread.py [--write]

For each measured size whose expert's version gains at least 1.2x, the speedup that the largest cause promises (no rule is asked)
against the measured one. Errors grow with what is promised: sigma = floor + slope x ln(speedup), where ``floor`` is what the times
of two kernels differ by anyway, and the ``slope`` of a cause the least with which nine of ten of its cases lie within 1.2816
sigma: sets that nobody has met yet err more (of 152 intervals of four in five, 92 held as first met). The promise lies between
what the cause alone would save and what the whole gap would, in the share that errs least.
``--write`` puts the share and the slopes into kernlint/cost/data/headroom.json, from where the middle and the interval of such proposals
come: nothing else in kernlint is fitted to the sets of this folder. Causes with fewer than ``_FEW`` cases take the slope of all.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, quantiles

from kernlint.analysis import read_program
from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.headroom.causes import ORDER
from kernlint.headroom.headroom import headroom_of
from kernlint.request import Request

HERE = Path(__file__).parent
TARGET = HERE.parent / "kernlint" / "cost" / "data" / "headroom.json"
#: The sets that headroom.json was written from, all met before. A later one joins by its name, once it is development data too.
SETS = (
    *(HERE / f"2026-11-28-{name}" for name in "first third fourth fifth sixth one two three four five six".split()),
    *(HERE / f"2026-11-29-{name}" for name in "seven eight nine ten eleven twelve thirteen fourteen".split()),
)
_FEW, _FLOOR = 8, 0.08
_WORTH, _Z = 1.2, 1.2816


def measured() -> Iterator[tuple[Path, dict[str, int], str, float]]:
    """(folder, sizes, card, speedup) of every positive size."""
    for folder in SETS:
        for name in ("h100", "h200"):
            path = folder / f"{name}.json"
            for row in json.loads(path.read_text())["rows"] if path.exists() else ():
                gain = row.get("speedup", {}).get("gpu", {}).get("speedup")
                if row["outcome"] == "correct" and gain and gain >= _WORTH and "cold_us" in row["before"]:
                    yield folder / row["case"], row["set"], name, gain


@dataclass(frozen=True)
class Promise:
    """What the largest ``cause`` of a case promises where it ``alone`` is removed and where the ``whole`` gap is closed, against what was
    gained."""

    cause: str
    alone: float
    whole: float
    gained: float
    case: str

    def middle(self, share: float) -> float:
        return self.alone**share * self.whole ** (1 - share)

    def error(self, share: float) -> float:
        return math.log(self.middle(share) / self.gained)

    def slope(self, share: float) -> float:
        """What sigma has to grow by with the promise for the error to lie within the interval."""
        return max(0.0, abs(self.error(share)) / _Z - _FLOOR) / math.log(self.middle(share))


def promise(case: tuple[Path, dict[str, int], str, float]) -> Promise | None:
    """The :class:`Promise` of a case; None where there is no cause, or times are open."""
    folder, sizes, card, gain = case
    reading = read_program(
        Request(
            (folder / "before.py").read_text(),
            reference=(folder / "reference.py").read_text(),
            device=card,
            overrides=sizes,
        )
    )
    device = find_device(card)
    for workload in reading.workloads[:1]:
        library = estimate(workload.reference, device) if workload.reference is not None else None
        found = headroom_of(workload, estimate(workload, device), device, library)
        if found is not None and found.causes:
            cause = found.causes[0]
            return Promise(cause.name, found.alone(cause), found.whole(cause), gain, f"{folder.name} {sizes}")
    return None


def main() -> None:
    with ProcessPoolExecutor(2) as pool:
        found = [one for one in pool.map(promise, list(measured()), chunksize=4) if one is not None]
    shares = [step / 20 for step in range(21)]
    share = min(shares, key=lambda share: fmean(abs(one.error(share)) for one in found))
    print(f"share of the cause alone {share:.2f}, mean error {fmean(abs(one.error(share)) for one in found):.3f}")
    kept = [one for one in found if one.middle(share) >= _WORTH]  # else nothing is proposed
    by_cause: dict[str, list[Promise]] = {}
    for one in kept:
        by_cause.setdefault(one.cause, []).append(one)
        if "--cases" in sys.argv:
            print(f"{one.error(share):+.2f} {one.cause:24} {one.case}")
    everything = quantiles([one.slope(share) for one in kept], n=10)[8]
    slopes = {
        name: round(
            quantiles([one.slope(share) for one in by_cause[name]], n=10)[8]
            if len(by_cause.get(name, ())) >= _FEW
            else everything,
            2,
        )
        for name in ORDER
    }
    for name in ORDER:
        bias = f"{median(one.error(share) for one in by_cause[name]):+.2f}" if name in by_cause else "-"
        print(f"{name:28} {len(by_cause.get(name, ())):4} cases  slope {slopes[name]:.2f}  median error {bias}")
    if "--write" in sys.argv:
        report = json.loads(TARGET.read_text())
        report |= {"floor": _FLOOR, "share_alone": share, "slope": slopes}
        TARGET.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
