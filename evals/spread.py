"""How far promised speedups lie from measured ones, on sets that have become development data: the law of headroom/promise.py.

    python evals/spread.py [--write] [--cases] [--set NAME]...

For each measured size whose expert's version gains at least 1.2x and whose verdict is a yes: the speedup of the chosen change alone,
that of the whole gap closed, and the measured one. Two halves of the sets are fitted apart and quoted on each other; ``--write`` puts
the fit to all into kernlint/cost/data/headroom.json: nothing else in kernlint is fitted to the sets of this folder. New sets err more:
of 152 intervals of four in five, 92 held as first met, so the fit asks for the likeliest widths, not for the narrowest.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean, median

from kernlint.analysis import analysis
from kernlint.request import Request

HERE = Path(__file__).parent
TARGET = HERE.parent / "kernlint" / "cost" / "data" / "headroom.json"
#: The sets that headroom.json was written from, all met before. A later one joins by its name, once it is development data too.
SETS = (
    *(HERE / f"2026-11-28-{name}" for name in "first third fourth fifth sixth one two three four five six".split()),
    *(HERE / f"2026-11-29-{name}" for name in "seven eight nine ten eleven twelve thirteen fourteen fifteen".split()),
    *(HERE / f"2026-11-29-{name}" for name in "sixteen seventeen eighteen nineteen twenty twentyone twentytwo".split()),
    *(HERE / f"2026-11-30-twenty{name}" for name in "three four five six seven eight nine".split()),
    *(HERE / f"2026-11-30-thirty{name}" for name in " one two three four five six seven eight nine".split(" ")),
    *(HERE / f"2026-11-30-{name}" for name in "forty fortyone fortytwo".split()),
)
_WORTH, _Z = 1.2, 1.2816
#: A measured gain this close to an end of the interval counts as inside: the clock's own spread.
_CLOCK = math.log(1.05)
#: What a sigma has at least: with more, gains of 1.2 would be no gain for certain.
_FLOOR = 0.12


def measured(names: Sequence[str]) -> Iterator[tuple[Path, dict[str, int], str, float]]:
    """(folder, sizes, card, speedup) of every positive size of the sets ``names``, of all where none is named."""
    for folder in SETS:
        if names and folder.name.split("-", 3)[3] not in names:
            continue
        for card in ("h100", "h200"):
            path = folder / f"{card}.json"
            for row in json.loads(path.read_text())["rows"] if path.exists() else ():
                gain = row.get("speedup", {}).get("gpu", {}).get("speedup")
                if row["outcome"] == "correct" and gain and gain >= _WORTH and "cold_us" in row["before"]:
                    yield folder / row["case"], row["set"], card, gain


@dataclass(frozen=True)
class Law:
    """The numbers of :func:`kernlint.headroom.promise.promised`."""

    share_alone: float
    apart: float
    slope_of_changes: float
    slope_of_causes: float


@dataclass(frozen=True)
class Case:
    """ln of the speedup of a change ``alone``, of the ``whole`` gap closed, and of what was ``gained``; ``sigma`` is that of a change that
    a rule knows, None of a cause."""

    name: str
    alone: float
    whole: float
    gained: float
    sigma: float | None

    def error(self, law: Law) -> float:
        return law.share_alone * self.alone + (1 - law.share_alone) * self.whole - self.gained

    def spread(self, law: Law) -> float:
        slope = law.slope_of_causes if self.sigma is None else law.slope_of_changes
        middle = self.error(law) + self.gained
        return max(self.sigma or 0.0, _FLOOR + law.apart * abs(self.whole - self.alone) + slope * max(0.0, middle))

    def surprise(self, law: Law) -> float:
        """What the measured gain costs in likelihood."""
        return math.log(self.spread(law)) + (self.error(law) / self.spread(law)) ** 2 / 2


def asked(case: tuple[Path, dict[str, int], str, float]) -> Case | None:
    """The :class:`Case` of a measured size; None where the verdict is no yes."""
    folder, sizes, card, gain = case
    text, reference = ((folder / name).read_text() for name in ("before.py", "reference.py"))
    judgement = analysis(Request(text, reference=reference, device=card, overrides=sizes)).judgement
    chosen, headroom = judgement.chosen, judgement.headroom
    if chosen is None or headroom is None or not judgement.worth or "gpu" not in chosen.gains:
        return None
    cause, gains, sigma = chosen.finding.cause, chosen.gains["gpu"], None
    if cause is not None:
        alone, whole = headroom.alone(cause), headroom.whole(cause)
    else:
        alone, sigma = gains.middle, gains.sigma
        whole = max(alone, headroom.ratio)
    return Case(f"{folder.parent.name}/{folder.name}", math.log(alone), math.log(whole), math.log(gain), sigma)


def fit(cases: Sequence[Case]) -> Law:
    """The likeliest law of a grid."""
    shares, aparts = (0.4, 0.45, 0.5, 0.55, 0.6), (0.2, 0.25, 0.3, 0.35)
    laws = (Law(*point) for point in product(shares, aparts, (0.04, 0.06, 0.08, 0.1), (0.15, 0.18, 0.21)))
    return min(laws, key=lambda law: fmean(case.surprise(law) for case in cases))


def described(law: Law, cases: Sequence[Case]) -> str:
    held = sum(abs(case.error(law)) <= _Z * case.spread(law) + _CLOCK for case in cases)
    wide = median(math.exp(2 * _Z * case.spread(law)) for case in cases)
    mean = fmean(abs(case.error(law)) for case in cases)
    return f"{held} of {len(cases)} held ({100 * held / len(cases):.0f} %), median high/low {wide:.2f}, mean error {mean:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cases", action="store_true", help="each case with its error")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        found = [one for one in pool.map(asked, list(measured(options.set)), chunksize=4) if one is not None]
    law = fit(found)
    print(f"{law}\nall: {described(law, found)}")
    sets = sorted({case.name.split("/")[0] for case in found})
    halves = [[case for case in found if sets.index(case.name.split("/")[0]) % 2 == half] for half in (0, 1)]
    for one, other in (halves, halves[::-1]):
        if one and other:
            half = fit(one)
            print(f"fitted to {len(one)}, the others: {described(half, other)}; {half}")
    for case in found if options.cases else ():
        print(f"{case.error(law):+.2f} of {case.gained:.2f} +- {_Z * case.spread(law):.2f} {case.name}")
    if options.write:
        report = json.loads(TARGET.read_text()) | {"floor": _FLOOR} | vars(law)
        TARGET.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
