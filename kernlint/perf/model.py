"""What was measured, whatever it was measured with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field

from kernlint.errors import SourceError
from kernlint.records import dataclass

#: Nobody waits longer for one kernel or one call: beyond this the unit is wrong.
MAX_US = 3.6e9


@dataclass(frozen=True)
class KernelMeasurement:
    """One kernel as a profiler names it: ``time_us`` is the mean device time of one of its ``calls`` runs in
    microseconds.

    ``counters`` hold what else was seen, under these names: ``tensor_pct``, ``dram_pct``, ``l2_pct``, ``l1_pct``,
    ``memory_pct``, ``sm_pct`` (percent of peak), ``occupancy_pct``, ``grid_size`` (programs), ``registers``.
    ``time_us`` is None where only counters were collected.
    """

    name: str
    time_us: float | None
    calls: int = 1
    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Performance:
    """Measured times of one task: of single ``kernels``, of the whole call, of a call of the PyTorch reference.

    ``source`` says in what form they came, ``device`` names the card as the tool does; empty where it does not.
    """

    kernels: tuple[KernelMeasurement, ...] = ()
    call_us: float | None = None
    source: str = ""
    device: str = ""
    reference_us: float | None = None

    def __bool__(self) -> bool:
        """Whether anything was measured."""
        return bool(self.kernels) or self.call_us is not None or self.reference_us is not None


@dataclass
class Gathered:
    """Runs of one kernel while a file is read."""

    total_us: float = 0.0
    timed: int = 0
    counters: dict[str, list[float]] = field(default_factory=dict)

    def add_counter(self, name: str, value: float) -> None:
        self.counters.setdefault(name, []).append(value)

    def measurement(self, name: str, runs: int) -> KernelMeasurement:
        """The mean over the runs."""
        counters = {key: sum(values) / len(values) for key, values in sorted(self.counters.items())}
        return KernelMeasurement(name, self.total_us / self.timed if self.timed else None, max(1, runs), counters)


def checked_us(us: float, what: str) -> float:
    """``us`` where it can be a time. Raises ``SourceError`` for zero, negative, endless or not a number."""
    if not math.isfinite(us) or not 0 < us < MAX_US:
        raise SourceError(f"{what}: {us:g} us is no time")
    return us


def longest_first(kernels: Iterable[KernelMeasurement]) -> tuple[KernelMeasurement, ...]:
    """Ordered by total time, then by name, so that output does not depend on the order of a trace."""
    return tuple(sorted(kernels, key=lambda k: (-(k.time_us or 0.0) * k.calls, k.name)))
