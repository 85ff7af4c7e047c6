"""How much faster one workload is than another, and how sure that is.

A speedup is surer than the two times it is made of. What both workloads do alike has the same error in both and cancels
except for its changed share. What replaces what in a family of steps errs as the measured ratios of such pairs do: for
programs by the terms that decide before and after, apart for another configuration of one kernel and for another kernel
(``data/estimate.json``, written by ``calibration/fit_memory.py`` from pairs of held-out residuals), for dots by
:func:`kernlint.cost.dots.ratio_sigma`, for the rest by a correlation. The host's error is in the kinds of its actions:
calls that the host decides and that make the same kinds of actions are as sure as a count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from itertools import compress
from operator import is_not
from typing import Any

from kernlint.cost.device import Device
from kernlint.cost.dot_launch import dot_loop
from kernlint.cost.dots import ratio_sigma as dot_ratio_sigma
from kernlint.cost.estimate import Estimate
from kernlint.cost.fitted import fitted
from kernlint.cost.host import host_item_sigma, host_ratio_sigma, host_sigma
from kernlint.cost.programs.constants import INTERVAL_80, regime_sigma
from kernlint.cost.result import StepTime
from kernlint.cost.timeline import decided_by_host
from kernlint.records import dataclass
from kernlint.workload import Launch


def speedup(before: Estimate, after: Estimate, scope: str) -> tuple[float, float, float]:
    """(middle, low, high) of the time of ``before`` over that of ``after``, with an 80 % interval.

    Raises ValueError when either estimate has no total (open sizes) or the scope is unknown.
    """
    return Comparison(before, after).speedup(scope)


@dataclass(frozen=True)
class Comparison:
    """Two versions of a call beside one another, in both scopes."""

    before: Estimate
    after: Estimate

    def speedup(self, scope: str) -> tuple[float, float, float]:
        """As :func:`speedup`."""
        old, new = self.before.total_us(scope), self.after.total_us(scope)
        if old is None or new is None:
            names = ", ".join(dict.fromkeys((*self.before.missing, *self.after.missing)))
            raise ValueError(f"no speedup while sizes are open: {names}")
        if old <= 0 or new <= 0:
            return 1.0, 1.0, 1.0
        middle = old / new
        width = math.exp(INTERVAL_80 * self.sigma(scope))
        return middle, middle / width, middle * width

    def sigma(self, scope: str) -> float:
        """Standard deviation of the ln of the predicted speedup's error."""
        variance, before, after = self._device_variance, self.before, self.after
        data = _data()
        if scope == "call":
            host_us = before.host_us if self._same_host else after.host_us
            host_before = decided_by_host(before.host_us, before.call_us or 0.0)
            host_after = decided_by_host(host_us, after.call_us or 0.0)
            both = min(host_before, host_after)
            apart = abs(host_before - host_after)
            # One side waits for the host, the other for the device: two errors that have nothing in common.
            device_side = before if host_before < host_after else after
            _, changed_before, changed_after = self._matched
            # Changed code means changed host code too, even where the model sees the same host steps in it.
            own = host_ratio_sigma() if changed_before or changed_after else 0.0
            variance = (1 - max(host_before, host_after)) ** 2 * variance
            variance += both**2 * ((0.0 if self._same_host else _host_variance(before, after)) + own**2)
            variance += apart**2 * (host_sigma() ** 2 + device_side.gpu_sigma**2)
        return math.sqrt(variance + float(data["clock_sigma"]) ** 2)

    @cached_property
    def _matched(self) -> tuple[list[_Kept], list[StepTime], list[StepTime]]:
        return _match(*self._apart)

    @cached_property
    def _apart(self) -> tuple[list[StepTime], list[StepTime]]:
        """The steps of both but for those that are the same at the same place, as most of a what-if are."""
        before, after = self.before.steps, self.after.steps
        if len(before) != len(after):
            return list(before), list(after)
        pairs = [*compress(zip(before, after), map(is_not, before, after))]
        return [one for one, _ in pairs], [other for _, other in pairs]

    @cached_property
    def _same_host(self) -> bool:
        """Whether the host does the same in both, as in most what-ifs."""
        as_many = len(self.before.steps) == len(self.after.steps)
        pairs = zip(*self._apart)
        return as_many and all((a.action, a.total_host_us) == (b.action, b.total_host_us) for a, b in pairs)

    @cached_property
    def _device_variance(self) -> float:
        before, after = self.before, self.after
        same = dict(before.weights)
        for row in self._apart[0]:
            same[row.family] -= row.total_gpu_us * row.sigma
        return _device_variance(same, *self._matched, before.gpu_us or 0.0, after.gpu_us or 0.0, before.device)


#: A step of both workloads, perhaps run another number of times: its family, microseconds before and after, and its error.
_Kept = tuple[str, float, float, float]


def _match(before: list[StepTime], after: list[StepTime]) -> tuple[list[_Kept], list[StepTime], list[StepTime]]:
    """(steps in both, only before, only after)."""
    #: The rows of ``after`` that take as long, by their number there: most of them are the same steps, or alike.
    rest: dict[tuple[float, type], dict[int, StepTime]] = {}
    same: dict[int, int] = {}
    for number, row in enumerate(after):
        rest.setdefault((row.gpu_us, type(row.step)), {})[number] = row
        same.setdefault(id(row.step), number)
    kept: list[_Kept] = []
    only_before: list[StepTime] = []
    for row in before:
        alike = rest.get((row.gpu_us, type(row.step)), {})
        found = same.get(id(row.step))
        if found not in alike:
            found = next((n for n, other in alike.items() if row.step == other.step), None)
        if found is None:
            only_before.append(row)
            continue
        kept.append((row.family, row.total_gpu_us, alike.pop(found).total_gpu_us, row.sigma))
    left = {number: row for rows in rest.values() for number, row in rows.items()}
    return kept, only_before, [left[number] for number in sorted(left)]


def _host_variance(before: Estimate, after: Estimate) -> float:
    """Variance of the ln of the ratio of two host times: each kind of action errs as one, shares that agree cancel."""
    old, new = before.host_shares, after.host_shares
    apart = (old.get(kind, 0.0) - new.get(kind, 0.0) for kind in dict.fromkeys((*old, *new)))
    return sum((share * host_item_sigma()) ** 2 for share in apart)


def _device_variance(
    same: Mapping[str, float],
    kept: list[_Kept],
    changed_before: list[StepTime],
    changed_after: list[StepTime],
    old: float,
    new: float,
    device: Device,
) -> float:
    """Variance of ln(old / new) in scope gpu; ``same`` is what the steps that are the same take, times their errors, by family.

    With W the unchanged time and C the changed: d ln(old/new) = (W/old - W/new) e_W + (C_old/old) e_old -
    (C_new/new) e_new. With s the sigma of the ratio of two kernels of one family, cov(e_old, e_new) is half of
    var(e_old) + var(e_new) - s^2.
    """
    if old <= 0 or new <= 0:
        return 0.0
    variance = 0.0
    alike = {family: (1 / old - 1 / new) * weight for family, weight in same.items()}
    for family, before_us, after_us, sigma in kept:
        alike[family] = alike.get(family, 0.0) + (before_us / old - after_us / new) * sigma
    variance += sum(value**2 for value in alike.values())
    left = {family: (time / old, sigma) for family, time, sigma in _grouped(changed_before)}
    right = {family: (time / new, sigma) for family, time, sigma in _grouped(changed_after)}
    for family in dict.fromkeys((*left, *right)):
        share_before, sigma_before = left.get(family, (0.0, 0.0))
        share_after, sigma_after = right.get(family, (0.0, 0.0))
        x, y = share_before * sigma_before, share_after * sigma_after
        variance += x * x + y * y
        if x and y:
            pair = _largest(changed_before, family), _largest(changed_after, family)
            apart = _pair_sigma(family, *pair, device)
            shared = (sigma_before**2 + sigma_after**2 - apart**2) / 2
            limit = sigma_before * sigma_after
            variance -= 2 * share_before * share_after * max(-limit, min(limit, shared))
    return max(0.0, variance)


def _largest(rows: list[StepTime], family: str) -> StepTime:
    """The step of ``family`` that takes most of the time."""
    return max((row for row in rows if row.family == family), key=lambda row: row.total_gpu_us)


def _pair_sigma(family: str, before: StepTime, after: StepTime, device: Device) -> float:
    """Sigma of the ln of the ratio of two steps of one family."""
    if isinstance(before.step, Launch) and isinstance(after.step, Launch):
        if family == "dot":
            # What the tuner takes counts: configurations that only one of the two offers are no change by themselves.
            loops = dot_loop(before.configuration or before.step), dot_loop(after.configuration or after.step)
            if loops[0] is not None and loops[1] is not None:
                return dot_ratio_sigma(loops[0], loops[1], device)
        else:
            kind = "variant" if before.step.kernel.name == after.step.kernel.name else "rewrite"
            table = _data()["program_ratios"][kind]
            apart = float(table.get("|".join(sorted((before.bound, after.bound))), table["all"]))
            # What widens one of the times and not the other widens the ratio; of what widens both, half is taken.
            extra = [
                math.sqrt(max(0.0, row.sigma**2 - regime_sigma(row.bound, row.kind) ** 2)) for row in (before, after)
            ]
            return math.hypot(apart, extra[0] - extra[1], min(extra) / 2)
    rho = float(_data()["correlation"].get(family, _data()["correlation"]["other"]))
    if before.bound != after.bound:
        rho *= float(_data()["other_bound_share"])
    return math.sqrt(max(0.0, before.sigma**2 + after.sigma**2 - 2 * rho * before.sigma * after.sigma))


def _grouped(rows: Iterable[StepTime]) -> list[tuple[str, float, float]]:
    """(family, time, sigma) with the time-weighted sigma of the family."""
    time: dict[str, float] = {}
    error: dict[str, float] = {}
    for row in rows:
        time[row.family] = time.get(row.family, 0.0) + row.total_gpu_us
        error[row.family] = error.get(row.family, 0.0) + row.total_gpu_us * row.sigma
    return [(family, t, error[family] / t) for family, t in time.items() if t > 0]


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return fitted("estimate")
