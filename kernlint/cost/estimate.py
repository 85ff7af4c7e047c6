"""Time of a whole workload on a device, in two scopes, and the speedup between two workloads with its interval.

Scope ``gpu``: device time of one call without host gaps, as a replayed CUDA graph with warm L2 runs it, plus the bubble
each host sync leaves because no graph can remove it. Scope ``call``: wall time per call in an eager loop. Host and
device are two clocks; the host issues ahead, a sync makes it wait, and the call takes what the slower of the two takes
in steady state.

Errors. Every step has a sigma, the standard deviation of ln(measured / predicted). Steps of one *family* (dots, other
kernels, each kind of torch op, host) are priced by one model and err together, so their errors add up weighted by share
of time; different families err independently, so they add in quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from itertools import chain

from kernlint import work
from kernlint.cost.device import Device
from kernlint.cost.host import host_sigma
from kernlint.cost.open_sizes import open_symbols
from kernlint.cost.pricing import Known, Pricer
from kernlint.cost.result import StepTime
from kernlint.cost.timeline import Timeline, Turn, TurnLoop
from kernlint.records import dataclass, replace
from kernlint.workload import Workload

#: Changes whenever a predicted number may: part of the output, so that a verdict can be told from another's.
MODEL_VERSION = "2026.12-2"


SCOPES = ("gpu", "call")


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
    turns: tuple[Turn | TurnLoop, ...] = ()

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
        """Steps of a family add linearly (one model, one error), families in quadrature."""
        if self.gpu_us is None:
            return math.inf
        families: dict[str, float] = {}
        for row in self.steps if self.gpu_us > 0 else ():
            if row.total_gpu_us > 0:
                families[row.family] = families.get(row.family, 0.0) + row.total_gpu_us / self.gpu_us * row.sigma
        return math.sqrt(sum(value**2 for value in families.values()))

    @cached_property
    def call_sigma(self) -> float:
        host_share = self._per_call[1]
        return math.hypot((1 - host_share) * self.gpu_sigma, host_share * host_sigma())

    @cached_property
    def _per_call(self) -> tuple[float, float]:
        return Timeline(self.turns).per_call_us()

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Device microseconds of the steps, each times its sigma, by family."""
        weights: dict[str, float] = {}
        for row in self.steps:
            weights[row.family] = weights.get(row.family, 0.0) + row.total_gpu_us * row.sigma
        return weights

    @cached_property
    def host_us(self) -> float:
        """Microseconds that the host is busy in one call."""
        return sum([row.total_host_us for row in self.steps])

    @cached_property
    def host_shares(self) -> Mapping[str, float]:
        """The shares of the host's time by kinds of action."""
        shares: dict[str, float] = {}
        for row in self.steps:
            shares[row.action] = shares.get(row.action, 0.0) + row.total_host_us
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
        self._known = Known()

    def estimate(self, workload: Workload) -> Estimate:
        """As :func:`estimate` does."""
        work.spend(work.STEP * (1 + len(workload.steps)))
        missing = open_symbols(workload, self._known.closed)
        if missing:
            return Estimate(self.device, None, (), missing)
        try:
            priced = Pricer(self.device, self._known).price(workload.steps)
        except OverflowError:  # tiles larger than any memory, which a slip of the pen makes
            return Estimate(self.device, None, ())
        rows = tuple(chain.from_iterable([one.rows for one in priced]))
        turns = tuple([one.turn for one in priced])
        return Estimate(self.device, sum([row.total_gpu_us for row in rows]), rows, turns=turns)
