"""The host and the device as two clocks: when each step is enqueued, and when it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kernlint.records import dataclass


def decided_by_host(host_us: float, call_us: float) -> float:
    """The share of a call's time that the host decides, which is busy for ``host_us`` of it. Near the tie either side may: a smooth switch
    with the width of the host's own error."""
    if call_us <= 0:
        return 0.0
    share = min(1.0, host_us / call_us)
    return 1 / (1 + math.exp((0.9 - share) / 0.05)) if share < 1 else 1.0


class Turn(NamedTuple):
    """One host action: ``host_us`` to issue, ``gpu_us`` of device work queued, ``sync`` waits for the device."""

    host_us: float
    gpu_us: float = 0.0
    sync: bool = False


@dataclass(frozen=True)
class TurnLoop:
    """A Python loop: ``body`` runs ``count`` times."""

    count: float
    body: tuple[Turn | TurnLoop, ...]


class Timeline:
    """Two clocks, host and device, over a few calls: what a call takes once the queue is in steady state."""

    CALLS = 4
    TURNS = 3

    def __init__(self, events: Sequence[Turn | TurnLoop]) -> None:
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
        return max(0.0, call_us), decided_by_host(host_us, call_us)

    def _run(self, events: Sequence[Turn | TurnLoop]) -> None:
        host, device, busy = self.host, self.device, self.host_busy
        for event in events:
            if type(event) is Turn:
                host_us, gpu_us, sync = event
                host += host_us
                busy += host_us
                if gpu_us:
                    device = (host if host > device else device) + gpu_us
                if sync:
                    host = max(host, device + host_us)
            else:
                self.host, self.device, self.host_busy = host, device, busy
                self._loop(event)  # type: ignore[arg-type]
                host, device, busy = self.host, self.device, self.host_busy
        self.host, self.device, self.host_busy = host, device, busy

    def _loop(self, loop: TurnLoop) -> None:
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
