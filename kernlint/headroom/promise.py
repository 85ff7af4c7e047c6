"""What is promised of a change: the speedup of a good version with it, between what it brings alone and what closing the whole gap does.

Who rewrites a kernel for one reason mends others on the way, how many nobody can tell beforehand. So the middle lies between the two
(where a rule prices a change step by step, only the interval is taken from here, `verdict/proposals.py`), and the interval grows with how
far they are apart, and with what is promised. ``data/headroom.json`` has the numbers, from the measured
gains of sets that were met (``evals/spread.py``).
"""

from __future__ import annotations

import math
from functools import lru_cache

from kernlint.cost.fitted import fitted
from kernlint.cost.programs.constants import INTERVAL_80


@lru_cache(maxsize=1)
def _fit() -> dict[str, float]:
    data = fitted("headroom")
    return {
        name: float(data[name]) for name in ("share_alone", "floor", "apart", "slope_of_changes", "slope_of_causes")
    }


def between(alone: float, whole: float) -> float:
    """What is to be expected where a change alone leads to ``alone`` and closing the whole gap to ``whole``."""
    share = _fit()["share_alone"]
    return float(alone**share * whole ** (1 - share))


def promised(alone: float, whole: float, sigma: float | None = None) -> tuple[float, float, float]:
    """(middle, low, high) of a speedup between ``alone`` and ``whole``, with an 80 % interval. ``sigma`` is what the ln of ``alone`` errs
    by where that is the price of a change that is known step by step; what a cause takes off is less sure."""
    fit, middle = _fit(), between(alone, whole)
    slope = fit["slope_of_causes"] if sigma is None else fit["slope_of_changes"]
    spread = fit["floor"] + fit["apart"] * abs(math.log(whole / alone)) + slope * math.log(max(1.0, middle))
    width = math.exp(INTERVAL_80 * max(sigma or 0.0, spread))
    return middle, middle / width, middle * width
