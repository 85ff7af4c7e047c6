"""Time of a whole workload on a device, in two scopes, and the speedup between two workloads with its interval.

Scope ``gpu``: device time of one call without host gaps, as a replayed CUDA graph with warm L2 runs it, plus the bubble
each host sync leaves because no graph can remove it. Scope ``call``: wall time per call in an eager loop. Host and
device are two clocks; the host issues ahead, a sync makes it wait, and the call takes what the slower of the two takes
in steady state.

Errors. Every step has a sigma, the standard deviation of ln(measured / predicted). Steps of one *family* (dots, other
kernels, each kind of torch op, host) are priced by one model and err together, so their errors add up weighted by share
of time; different families err independently, so they add in quadrature.

A speedup is surer than the two times it is made of. What both workloads do alike has the same error in both and cancels
except for its changed share. What replaces what in a family of steps errs as the measured ratios of such pairs do: for
programs by the terms that decide before and after, apart for another configuration of one kernel and for another kernel
(``data/estimate.json``, written by ``calibration/fit_memory.py`` from pairs of held-out residuals), for dots by
:func:`kernlint.cost.dots.ratio_sigma`, for the rest by a correlation. The host's error is in the kinds of its actions:
calls that the host decides and that make the same kinds of actions are as sure as a count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Any

from kernlint import work
from kernlint.cost.device import Device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.dots import ratio_sigma as dot_ratio_sigma
from kernlint.cost.fitted import fitted
from kernlint.cost.host import host_sigma, host_time, sync_bubble_us
from kernlint.cost.programs import INTERVAL_80, regime_sigma
from kernlint.cost.result import KernelTime
from kernlint.cost.torch_ops import torch_op_time
from kernlint.cost.traffic import ASSUMED_TRIP, traffic
from kernlint.records import dataclass, replace
from kernlint.workload import (
    Event,
    Expr,
    HostSync,
    Launch,
    Loop,
    Opaque,
    Repeat,
    Size,
    Step,
    Symbol,
    Tensor,
    TorchOp,
    Workload,
)

#: Changes whenever a predicted number may: part of the output, so that a verdict can be told from another's.
MODEL_VERSION = "2026.11-11"

SCOPES = ("gpu", "call")

#: Steps looked back at for the last use of a tensor.
_LOOK_BACK = 64
#: Host events such as a jit per call are known to an order of magnitude.
_EVENT_SIGMA = 1.0
#: An iteration count that had to be assumed (``ASSUMED_TRIP``) is right within a factor 2.5 in four cases of five.
_TRIP_SIGMA = 0.7


@dataclass(frozen=True)
class StepTime:
    """One step's part in a call.

    ``count`` is how often it runs in one call, ``gpu_us`` and ``host_us`` are microseconds of one run, ``bound`` the
    deciding term, ``sigma`` the standard deviation of ln(measured / predicted) of ``gpu_us``, ``terms`` the named
    microseconds behind it, ``family`` the group of steps whose errors move together, ``configuration`` the alternative of
    an autotuned launch that the time is of, ``kind`` the class of kernels whose residuals make ``sigma``.
    """

    step: Step
    count: float
    gpu_us: float
    host_us: float
    bound: str
    sigma: float
    terms: Mapping[str, float] = field(default_factory=dict)
    family: str = ""
    configuration: Launch | None = None
    kind: str = ""

    @property
    def total_gpu_us(self) -> float:
        """Device microseconds of all runs in one call."""
        return self.count * self.gpu_us

    @property
    def total_host_us(self) -> float:
        """Host microseconds of all runs in one call."""
        return self.count * self.host_us


@dataclass(frozen=True)
class Estimate:
    """Predicted microseconds of one call in both scopes; None, with ``missing`` symbols, while a size is open.

    ``gpu_sigma`` and ``call_sigma`` are standard deviations of ln(measured / predicted) of the totals. What only some ask for
    is worked out when it is: of most what-ifs nobody wants to know more than ``gpu_us``.
    """

    device: Device
    gpu_us: float | None
    steps: tuple[StepTime, ...]
    missing: tuple[str, ...] = ()
    #: What the host does in turn.
    turns: tuple[_Turn | _Loop, ...] = ()

    def corrected(self, gpu_us: float | None, call_us: float | None, steps: tuple[StepTime, ...]) -> Estimate:
        """This with other times and as sure as it was."""
        other = replace(self, gpu_us=gpu_us, steps=steps)
        vars(other).update(call_us=call_us, gpu_sigma=self.gpu_sigma, call_sigma=self.call_sigma)
        return other

    @cached_property
    def call_us(self) -> float | None:
        return None if self.gpu_us is None else self._per_call[0]

    @cached_property
    def gpu_sigma(self) -> float:
        return math.inf if self.gpu_us is None else _combined_sigma(_shares(self.steps, self.gpu_us))

    @cached_property
    def call_sigma(self) -> float:
        host_share = self._per_call[1]
        return math.hypot((1 - host_share) * self.gpu_sigma, host_share * host_sigma())

    @cached_property
    def _per_call(self) -> tuple[float, float]:
        return _Timeline(self.turns).per_call_us()

    @cached_property
    def host_shares(self) -> Mapping[str, float]:
        """The shares of the host's time by kinds of action."""
        shares: dict[str, float] = {}
        for row in self.steps:
            kind = f"torch {row.step.kind}" if isinstance(row.step, TorchOp) else type(row.step).__name__
            shares[kind] = shares.get(kind, 0.0) + row.total_host_us
        total = sum(shares.values())
        return {kind: us / total for kind, us in shares.items()} if total > 0 else {}

    def total_us(self, scope: str) -> float | None:
        """``gpu_us`` or ``call_us``. Raises ValueError for another scope."""
        if scope not in SCOPES:
            raise ValueError(f"unknown scope {scope!r}: {' or '.join(SCOPES)}")
        return self.gpu_us if scope == "gpu" else self.call_us

    def sigma(self, scope: str) -> float:
        return self.gpu_sigma if scope == "gpu" else self.call_sigma


def estimate(workload: Workload, device: Device) -> Estimate:
    """The :class:`Estimate` of one call of ``workload`` on ``device``.

    A workload with open sizes (symbolic grid, trip count or tensor extent of a step that costs time) has totals of None
    and names what to fix in ``missing``; one of tiles beyond all numbers has totals of None too. Never raises for odd
    input: what is unknown is assumed and widens sigma.
    """
    return Estimator(device).estimate(workload)


class Estimator:
    """Prices versions of one program on ``device``: what they have in common is priced once."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._known = _Known()

    def estimate(self, workload: Workload) -> Estimate:
        """As :func:`estimate` does."""
        work.spend(work.STEP * (1 + len(workload.steps)))
        missing = open_symbols(workload, self._known.open)
        if missing:
            return Estimate(self.device, None, (), missing)
        rows: list[StepTime] = []
        turns: list[_Turn | _Loop] = []
        try:
            _Pricer(self.device, rows, self._known).price(workload.steps, 1.0, turns)
        except OverflowError:  # tiles larger than any memory, which a slip of the pen makes
            return Estimate(self.device, None, ())
        return Estimate(self.device, sum([row.count * row.gpu_us for row in rows]), tuple(rows), turns=tuple(turns))


def speedup(before: Estimate, after: Estimate, scope: str) -> tuple[float, float, float]:
    """(middle, low, high) of the time of ``before`` over that of ``after``, with an 80 % interval.

    Raises ValueError when either estimate has no total (open sizes) or the scope is unknown.
    """
    return Comparison(before, after).speedup(scope)


def ratio_sigma(before: Estimate, after: Estimate, scope: str) -> float:
    """Standard deviation of the ln of the predicted speedup's error."""
    return Comparison(before, after).sigma(scope)


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
        """As :func:`ratio_sigma`."""
        variance, before, after = self._device_variance, self.before, self.after
        data = _data()
        if scope == "call":
            host_before, host_after = _host_share(before), _host_share(after)
            both = min(host_before, host_after)
            apart = abs(host_before - host_after)
            # One side waits for the host, the other for the device: two errors that have nothing in common.
            device_side = before if host_before < host_after else after
            _, changed_before, changed_after = self._matched
            # Changed code means changed host code too, even where the model sees the same host steps in it.
            own = float(data["host_ratio_sigma"]) if changed_before or changed_after else 0.0
            variance = (1 - max(host_before, host_after)) ** 2 * variance
            variance += both**2 * (_host_variance(before, after) + own**2)
            variance += apart**2 * (host_sigma() ** 2 + device_side.gpu_sigma**2)
        return math.sqrt(variance + float(data["clock_sigma"]) ** 2)

    @cached_property
    def _matched(self) -> tuple[list[_Kept], list[StepTime], list[StepTime]]:
        return _match(self.before.steps, self.after.steps)

    @cached_property
    def _device_variance(self) -> float:
        before, after = self.before, self.after
        return _device_variance(*self._matched, before.gpu_us or 0.0, after.gpu_us or 0.0, before.device)


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return fitted("estimate")


# -- pricing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Turn:
    """One host action: ``host_us`` to issue, ``gpu_us`` of device work queued, ``sync`` waits for the device."""

    host_us: float
    gpu_us: float = 0.0
    sync: bool = False


@dataclass(frozen=True)
class _Loop:
    """A Python loop: ``body`` runs ``count`` times."""

    count: float
    body: tuple[_Turn | _Loop, ...]


class _Known:
    """What has been worked out for the steps of earlier versions of a program. Answers by the identity of a step stand beside
    it, so that no other step comes to have that identity."""

    def __init__(self) -> None:
        #: The names of the open sizes of each step.
        self.open: dict[int, tuple[Step, tuple[str, ...]]] = {}
        self.touched: dict[int, tuple[Step, dict[int, float]]] = {}
        #: What steps touch, one object for all that is equal.
        self.alike: dict[tuple[tuple[int, float], ...], dict[int, float]] = {}
        #: By how many steps there are: those of the last version.
        self.distances: dict[int, _Distances] = {}
        #: By step, distances, number of runs and doubt.
        self.rows: dict[tuple[int, int, float, float], tuple[Step, dict[int, float], StepTime, _Turn]] = {}


@dataclass
class _Pricer:
    """Prices steps in order into ``rows``.

    The replay keeps in L2 what the call touched last: a tensor is warm where little was touched since its last use,
    in this call or the one before. Inside a Python loop every step is priced among the steps of the loop's body.
    """

    device: Device
    rows: list[StepTime]
    known: _Known

    def price(self, steps: tuple[Step, ...], count: float, turns: list[_Turn | _Loop], doubt: float = 0.0) -> None:
        """Append a row to ``rows`` and a turn to ``turns`` for each step, which runs ``count`` times in a call.

        ``doubt`` is the sigma of an iteration count that had to be assumed.
        """
        known = self.known.rows
        for step, distance in zip(steps, self._distances(steps)):
            if isinstance(step, Repeat):
                host_us = host_time(step)
                iterations = _iterations(step.count)
                times = ASSUMED_TRIP if iterations is None else iterations
                inner: list[_Turn | _Loop] = [_Turn(host_us)]
                self.rows.append(StepTime(step, count * times, 0.0, host_us, "host", host_sigma(), {}, "host"))
                unsure = math.hypot(doubt, _TRIP_SIGMA if iterations is None else 0.0)
                self.price(step.body, count * times, inner, unsure)
                turns.append(_Loop(times, tuple(inner)))
                continue
            key = (id(step), id(distance), count, doubt)
            found = known.get(key)
            if found is None:
                row = self._row(step, distance, count, doubt)
                sync = isinstance(step, HostSync)
                turn = _Turn(row.host_us, 0.0 if sync else row.gpu_us, sync)
                found = known[key] = step, distance, row, turn
            self.rows.append(found[2])
            turns.append(found[3])

    def _row(
        self, step: Launch | TorchOp | HostSync | Event, distance: Mapping[int, float], count: float, doubt: float
    ) -> StepTime:
        host_us = host_time(step)
        if isinstance(step, HostSync):
            bubble = sync_bubble_us()
            return StepTime(step, count, bubble, host_us, "host", host_sigma(), {"bubble": bubble}, "host")
        if isinstance(step, Event):
            return StepTime(step, count, 0.0, host_us, "host", _EVENT_SIGMA, {}, "host")
        time = self._time(step, distance)
        named = (time.bound, math.hypot(time.sigma, doubt), time.terms, _family(step), time.configuration, time.kind)
        return StepTime(step, count, time.us, host_us, *named)

    def _time(self, step: Launch | TorchOp, distance: Mapping[int, float]) -> KernelTime:
        if isinstance(step, TorchOp):
            return torch_op_time(step, self.device, reuse_bytes=distance)
        by_name = {
            name: distance.get(value.storage.id, 0.0)
            for name, value in step.arguments.items() if isinstance(value, Tensor)
        }  # fmt: skip
        return kernel_time(step, self.device, by_name)

    def _distances(self, steps: tuple[Step, ...]) -> list[dict[int, float]]:
        known = self.known.distances
        found = self.known.touched
        touched = [found[id(step)][1] if id(step) in found else self._touched(step) for step in steps]
        known[len(steps)] = _Distances.of(touched, known.get(len(steps)))
        return known[len(steps)].found

    def _touched(self, step: Step) -> dict[int, float]:
        touched = _touched(step)
        touched = self.known.alike.setdefault(tuple(touched.items()), touched)
        self.known.touched[id(step)] = step, touched
        return touched


def _touched(step: Step) -> dict[int, float]:
    """Bytes of cache per storage that ``step`` takes; a loop's body counts once."""
    touched: dict[int, float] = {}
    if isinstance(step, Launch):
        touched.update(
            (storage, size) for storage, size in traffic(step).held_storages(step).items() if isinstance(storage, int)
        )
    elif isinstance(step, TorchOp) and step.kind != "alloc":
        for tensor in (*step.reads, *step.writes):
            touched[tensor.storage.id] = max(touched.get(tensor.storage.id, 0.0), float(tensor.nbytes or 0))
    elif isinstance(step, Repeat):
        for inner in step.body:
            for storage, size in _touched(inner).items():
                touched[storage] = max(touched.get(storage, 0.0), size)
    return touched


def reuse_distances(touched: list[dict[int, float]]) -> list[dict[int, float]]:
    """For each step and storage, the bytes touched from that storage's last use to the end of the step.

    ``touched`` holds the distinct bytes per storage of each step. The call repeats, so the last use may lie in the
    call before. Few steps are looked back at; what is not found among them is as far away as all of them together.
    """
    return _Distances.of(touched).found


@dataclass(frozen=True)
class _Distances:
    """:func:`reuse_distances` of ``touched``: ``found``, and how many steps each of them was ``looked`` back."""

    touched: list[dict[int, float]]
    found: list[dict[int, float]]
    looked: list[int]

    @staticmethod
    def of(touched: list[dict[int, float]], last: _Distances | None = None) -> _Distances:
        """Those of ``touched``. Where a step looks back at the same objects as in ``last``, of as many steps, it has the
        same object for its distances."""
        count = len(touched)
        if last is None:
            pairs = [_looking_back(touched, index) for index in range(count)]
            return _Distances(touched, [found for found, _ in pairs], [looked for _, looked in pairs])
        distances = _Distances(touched, last.found.copy(), last.looked.copy())
        changed = [index for index, (one, then) in enumerate(zip(touched, last.touched)) if one is not then]
        behind = range(min(count, _LOOK_BACK + 1))
        stale = {i for one in changed for far in behind if last.looked[i := (one + far) % count] >= far}
        for index in stale:
            distances.found[index], distances.looked[index] = _looking_back(touched, index)
        return distances


def _looking_back(touched: list[dict[int, float]], index: int) -> tuple[dict[int, float], int]:
    """The distances of the step ``index``, and how many steps before it were looked at."""
    count, own = len(touched), touched[index]
    distances: dict[int, float] = {}
    between = dict(own)
    back = 0
    for back in range(1, min(count, _LOOK_BACK) + 1):
        earlier = touched[(index - back) % count]
        for storage in own:
            if storage in earlier and storage not in distances:
                distances[storage] = sum(between.values())
        if len(distances) == len(own):
            break
        for storage, size in earlier.items():
            between[storage] = max(between.get(storage, 0.0), size)
    total = sum(between.values())
    return {storage: distances.get(storage, total) for storage in own}, back


def _family(step: Step) -> str:
    if isinstance(step, Launch):
        return "dot" if step.kernel.dots() else "program"
    if isinstance(step, TorchOp):
        movement = ("copy", "cast", "fill", "elementwise", "cat")
        return f"torch {'copy' if step.kind in movement else step.kind}"
    return "host"


def _iterations(count: Size | None) -> float | None:
    """Iterations of a Python loop; None where they cannot be evaluated."""
    value = count.evaluate({}) if isinstance(count, Expr) else count
    return None if value is None else max(0.0, float(value))


class _Timeline:
    """Two clocks, host and device, over a few calls: what a call takes once the queue is in steady state."""

    CALLS = 4
    TURNS = 3

    def __init__(self, events: Sequence[_Turn | _Loop]) -> None:
        self.events = events
        self.host = 0.0
        self.device = 0.0
        self.host_busy = 0.0

    def per_call_us(self) -> tuple[float, float]:
        """Wall microseconds of one call, and the share of it that the host decides."""
        ends = []
        busy_before = 0.0
        for call in range(self.CALLS):
            if call == self.CALLS - 1:
                busy_before = self.host_busy
            self._run(self.events)
            ends.append(max(self.host, self.device))
        call_us = ends[-1] - ends[-2]
        host_us = self.host_busy - busy_before
        if call_us <= 0:
            return 0.0, 0.0
        # Near the tie either side may decide: a smooth switch with the width of the host's own error.
        share = min(1.0, host_us / call_us)
        return call_us, 1 / (1 + math.exp((0.9 - share) / 0.05)) if share < 1 else 1.0

    def _run(self, events: Sequence[_Turn | _Loop]) -> None:
        for event in events:
            if isinstance(event, _Turn):
                self.host += event.host_us
                self.host_busy += event.host_us
                if event.gpu_us:
                    self.device = max(self.device, self.host) + event.gpu_us
                if event.sync:
                    self.host = max(self.host, self.device + event.host_us)
            else:
                self._loop(event)

    def _loop(self, loop: _Loop) -> None:
        """A few turns, then the rest at the pace of the last one."""
        whole = min(int(loop.count), self.TURNS)
        before = (self.host, self.device, self.host_busy)
        for _ in range(whole):
            before = (self.host, self.device, self.host_busy)
            self._run(loop.body)
        rest = loop.count - whole
        if rest > 0 and whole:
            host, device, busy = self.host - before[0], self.device - before[1], self.host_busy - before[2]
            self.host += rest * host
            self.device += rest * device
            self.host_busy += rest * busy


def _host_share(estimated: Estimate) -> float:
    """Share of a call that the host decides, from the totals."""
    host = sum([row.count * row.host_us for row in estimated.steps])
    call = estimated.call_us or 0.0
    if call <= 0:
        return 0.0
    share = min(1.0, host / call)
    return 1 / (1 + math.exp((0.9 - share) / 0.05)) if share < 1 else 1.0


# -- errors -----------------------------------------------------------------------------------------------------------


def _shares(rows: Iterable[StepTime], total: float) -> list[tuple[str, float, float]]:
    return [(row.family, row.total_gpu_us / total, row.sigma) for row in rows if total > 0 and row.total_gpu_us > 0]


def _combined_sigma(shares: Iterable[tuple[str, float, float]]) -> float:
    """Steps of a family add linearly (one model, one error), families in quadrature."""
    families: dict[str, float] = {}
    for family, share, sigma in shares:
        families[family] = families.get(family, 0.0) + share * sigma
    return math.sqrt(sum(value**2 for value in families.values()))


#: A step of both workloads, perhaps run another number of times: its family, microseconds before and after, and its error.
_Kept = tuple[str, float, float, float]


def _match(
    before: tuple[StepTime, ...], after: tuple[StepTime, ...]
) -> tuple[list[_Kept], list[StepTime], list[StepTime]]:
    """(steps in both, only before, only after)."""
    # Most of a what-if is what it was.
    twins: Sequence[StepTime | None] = after if len(before) == len(after) else [None] * len(before)
    others = [row for row, twin in zip(after, before) if row is not twin] if twins is after else after
    #: The rows of ``others`` that take as long, by their number there: most of them are the same steps, or alike.
    rest: dict[tuple[float, type], dict[int, StepTime]] = {}
    same: dict[int, int] = {}
    for number, row in enumerate(others):
        rest.setdefault((row.gpu_us, type(row.step)), {})[number] = row
        same.setdefault(id(row.step), number)
    kept: list[_Kept] = []
    only_before: list[StepTime] = []
    for row, twin in zip(before, twins):
        if twin is None or row is not twin:
            alike = rest.get((row.gpu_us, type(row.step)), {})
            found = same.get(id(row.step))
            if found not in alike:
                found = next((n for n, other in alike.items() if row.step == other.step), None)
            if found is None:
                only_before.append(row)
                continue
            twin = alike.pop(found)
        kept.append((row.family, row.count * row.gpu_us, twin.count * twin.gpu_us, row.sigma))
    left = {number: row for rows in rest.values() for number, row in rows.items()}
    return kept, only_before, [left[number] for number in sorted(left)]


def _host_variance(before: Estimate, after: Estimate) -> float:
    """Variance of the ln of the ratio of two host times: each kind of action errs as one, shares that agree cancel."""
    old, new = before.host_shares, after.host_shares
    apart = (old.get(kind, 0.0) - new.get(kind, 0.0) for kind in dict.fromkeys((*old, *new)))
    return sum((share * float(_data()["host_item_sigma"])) ** 2 for share in apart)


def _device_variance(
    kept: list[_Kept],
    changed_before: list[StepTime],
    changed_after: list[StepTime],
    old: float,
    new: float,
    device: Device,
) -> float:
    """Variance of ln(old / new) in scope gpu.

    With W the unchanged time and C the changed: d ln(old/new) = (W/old - W/new) e_W + (C_old/old) e_old -
    (C_new/new) e_new. With s the sigma of the ratio of two kernels of one family, cov(e_old, e_new) is half of
    var(e_old) + var(e_new) - s^2.
    """
    if old <= 0 or new <= 0:
        return 0.0
    variance = 0.0
    alike: dict[str, float] = {}
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


# -- open sizes -------------------------------------------------------------------------------------------------------


def open_symbols(workload: Workload, known: dict[int, tuple[Step, tuple[str, ...]]] | None = None) -> tuple[str, ...]:
    """Names of the sizes that the time depends on and the source does not fix, in order of appearance. What is ``known`` of
    steps already, by their identity, is added to."""
    names: dict[str, None] = {}
    known = {} if known is None else known
    for step in workload.all_steps:
        found = known.get(id(step))
        if found is None:
            open_ones = (n for size in _sizes(step) if isinstance(size, Expr) for n in _symbols(size))
            found = known[id(step)] = step, tuple(dict.fromkeys(open_ones))
        if found[1]:
            names.update(dict.fromkeys(found[1]))
    return tuple(names)


def _sizes(step: Step) -> Iterable[Size | None]:
    if isinstance(step, Repeat):
        yield step.count
    elif isinstance(step, Launch):
        yield from step.grid
        for node, _ in step.kernel.walk(Loop):
            yield node.trip  # type: ignore[union-attr]
        for argument in step.arguments.values():
            if isinstance(argument, Tensor):
                yield from argument.shape or ()
    elif isinstance(step, TorchOp) and step.kind != "alloc":
        for tensor in (*step.reads, *step.writes):
            yield from tensor.shape or ()


def _symbols(expr: Expr) -> list[str]:
    found = []
    for atom in sorted(expr.atoms(), key=str):
        if isinstance(atom, Symbol):
            found.append(atom.name)
        elif isinstance(atom, Opaque) and atom.op == "unknown" and not atom.args:
            continue
    return found
