"""What a card takes over what its data sheet says, term by term, from measured times. Plain Python: no fitting library is needed.

A launch is priced as ``floor + (sum of term^p)^(1/p)``; each term has a factor on this card. The factors that are fitted are those
that some rows tell: the loss is robust, and a weak prior keeps a term that hardly decides anywhere where the data sheet puts it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from kernlint.records import dataclass

#: Terms of the model that a card has factors for, those of dots by the type that is fed to them.
TERMS = ("floor", "launch", "memory", "l2", "lines", "latency", "issue", "shared", "atomics")
#: Scale from which an error counts as an outlier, and that of a factor by itself.
_OUTLIER = 0.1
_PRIOR = 0.3
_SWEEPS = 6
_GOLDEN = (math.sqrt(5) - 1) / 2
#: Two-sided 80 % quantile of the normal distribution.
_QUANTILE = 1.2816
#: Rows from which a class of kernels has a residual of its own.
LEAST_ROWS = 5


@dataclass(frozen=True)
class Row:
    """One measured launch: the model's ``terms`` by the data sheet, in microseconds, the exponent with which they come together, what
    was measured, and the class of the kernel. A launch of dots has one term, ``dot`` or ``dot_TYPE``, and no floor."""

    terms: Mapping[str, float]
    norm: float
    us: float
    kind: str

    def priced(self, factors: Mapping[str, float]) -> float:
        """Microseconds with ``factors``."""
        scaled = {name: value * factors.get(name, 1.0) for name, value in self.terms.items()}
        floor = scaled.pop("floor", 0.0)
        return float(floor + sum(value**self.norm for value in scaled.values()) ** (1 / self.norm))

    def error(self, factors: Mapping[str, float]) -> float:
        """ln of predicted over measured."""
        return math.log(max(self.priced(factors), 1e-9) / self.us)


def fit(rows: Sequence[Row], prior: float = _PRIOR) -> dict[str, float]:
    """The factors of the terms that ``rows`` have, each found by itself in turn until they rest."""
    names = [
        name for name in dict.fromkeys(name for row in rows for name in row.terms) if name in TERMS or "dot" in name
    ]
    factors = dict.fromkeys(names, 1.0)
    by_name = {name: [row for row in rows if row.terms.get(name)] for name in names}
    for _ in range(_SWEEPS):
        moved = 0.0
        for name in names:
            best = _best(name, by_name[name], factors, prior)
            moved = max(moved, abs(math.log(best / factors[name])))
            factors[name] = best
        if moved < 1e-3:
            break
    return {name: float(f"{value:.3g}") for name, value in factors.items()}


def _best(name: str, rows: Sequence[Row], factors: Mapping[str, float], prior: float) -> float:
    low, high = -2.0, 2.0

    def loss(value: float) -> float:
        tried = {**factors, name: math.exp(value)}
        spread = sum(math.sqrt(1 + (row.error(tried) / _OUTLIER) ** 2) - 1 for row in rows)
        return spread + (value / prior) ** 2 / 2

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(18):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = loss(right)
    return math.exp((low + high) / 2)


def residuals(rows: Sequence[Row], factors: Mapping[str, float]) -> dict[str, float]:
    """Standard deviation of ln(measured / predicted) by class, from the 80 % quantile, and ``all``. Classes of few rows have none."""
    kinds: dict[str, list[float]] = {"all": []}
    for row in rows:
        error = abs(row.error(factors))
        kinds["all"].append(error)
        kinds.setdefault(row.kind, []).append(error)
    return {kind: round(sigma(errors), 3) for kind, errors in kinds.items() if len(errors) >= LEAST_ROWS}


def sigma(errors: Sequence[float]) -> float:
    """That of errors whose 80 % quantile is that of these."""
    ordered = sorted(abs(error) for error in errors)
    return max(0.02, ordered[min(len(ordered) - 1, int(0.8 * len(ordered)))] / _QUANTILE)


def summary(rows: Sequence[Row], factors: Mapping[str, float]) -> dict[str, float]:
    """How far the model is off: mean and median of abs ln, and the share within 1.5 times."""
    errors = [abs(row.error(factors)) for row in rows]
    return {
        "rows": len(errors),
        "mean_abs_ln_error": round(statistics.fmean(errors), 3),
        "median_abs_ln_error": round(statistics.median(errors), 3),
        "within_1.5x": round(sum(error <= math.log(1.5) for error in errors) / len(errors), 3),
    }
