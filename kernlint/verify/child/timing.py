"""Times versions of a call on a GPU, alternating, so that drifting clocks touch all alike.

All times are microseconds of one call. ``warm``: a replayed CUDA graph of many copies of the call, L2 as the call leaves it;
``cold``: one replay right after the L2 was overwritten; ``call``: wall time per call of an eager loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

_Call = Callable[[], Any]

#: A replay lasts about this long, so that the clock's resolution does not count.
_REPLAY_US = 400.0
_MAX_COPIES = 200
_LEAST_ROUNDS = 5
_MOST_ROUNDS = 40
#: The host queues the work of one sample while the device sleeps: about 170 us a time on an H100.
_SLEEP_CYCLES = 300_000
_ATTEMPTS = 4
_WARM_UP = 3
_FLUSH_BYTES = 256 << 20


def compare(calls: Sequence[_Call], seconds: float) -> dict[str, Any]:
    """Samples of all ``calls`` within about ``seconds``: for each kind of time a list of rows with one time for each call;
    whether all could be captured in a graph; and their peak memory in bytes beyond what was held before the call."""
    for call in calls:
        for _ in range(_WARM_UP):
            call()
    torch.cuda.synchronize()
    found: dict[str, Any] = {"peak_bytes": [_peak_bytes(call) for call in calls]}
    with torch.cuda.stream(torch.cuda.Stream()):
        replays = [replay for call in calls if (replay := _graph(call)) is not None]
        found["captured"] = len(replays) == len(calls)
        samplers: dict[str, Callable[[int], float]] = {}
        if found["captured"]:
            flush = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
            samplers["warm"] = lambda index: replays[index].warm_us()
            samplers["cold"] = lambda index: replays[index].cold_us(flush)
        else:
            samplers["warm"] = lambda index: _events_us(calls[index], asleep=False)
        loops = [_calls_per_loop(call) for call in calls]
        samplers["call"] = lambda index: _eager_us(calls[index], loops[index])
        for kind, sample in samplers.items():
            found[kind] = _alternate(sample, len(calls), seconds / len(samplers))
    return found


def _alternate(sample: Callable[[int], float], count: int, seconds: float) -> list[list[float]]:
    """Rows of one sample of each; the order within a row turns round from one to the next."""
    rows: list[list[float]] = []
    end = time.monotonic() + seconds
    while len(rows) < _MOST_ROUNDS and (len(rows) < _LEAST_ROUNDS or time.monotonic() < end):
        row = [0.0] * count
        for index in range(count) if len(rows) % 2 == 0 else reversed(range(count)):
            row[index] = sample(index)
        rows.append(row)
    return rows


def _events_us(work: _Call, asleep: bool = True) -> float:
    """Device time of ``work``. A sample in which the device got there before the host had queued everything would hold host
    time: it is taken again behind a longer sleep."""
    for attempt in range(_ATTEMPTS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if asleep:
            torch.cuda._sleep(_SLEEP_CYCLES * 4**attempt)
        start.record()
        work()
        end.record()
        late = asleep and start.query()
        end.synchronize()
        if not late:
            break
    return float(start.elapsed_time(end)) * 1e3


class _Replay:
    """A call in CUDA graphs: many copies in one, and one alone."""

    def __init__(self, call: _Call) -> None:
        single_us = max(_events_us(call), 1.0)
        self.copies = int(max(1, min(_MAX_COPIES, _REPLAY_US / single_us)))
        self.single = _captured(call, 1)
        self.many = self.single if self.copies == 1 else _captured(call, self.copies)
        # The first estimate has launch gaps in it; what it leaves too short is captured once more.
        replay_us = self.warm_us() * self.copies
        if self.copies < _MAX_COPIES and replay_us < _REPLAY_US / 2:
            self.copies = int(min(_MAX_COPIES, self.copies * _REPLAY_US / max(replay_us, 1.0)))
            self.many = _captured(call, self.copies)
        self.warm_us()

    def warm_us(self) -> float:
        return _events_us(self.many.replay) / self.copies

    def cold_us(self, flush: torch.Tensor) -> float:
        flush.zero_()
        return _events_us(self.single.replay)


def _graph(call: _Call) -> _Replay | None:
    """None where the call cannot be captured: it waits for the device, or asks it something."""
    try:
        return _Replay(call)
    except Exception:
        torch.cuda.synchronize()  # raises if the device itself is lost
        return None


def _captured(call: _Call, copies: int) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
        for _ in range(copies):
            call()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def _calls_per_loop(call: _Call) -> int:
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return int(max(3, min(100, 10e-3 / max(time.perf_counter() - start, 1e-6))))


def _eager_us(call: _Call, count: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count * 1e6


def _peak_bytes(call: _Call) -> int:
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = call()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - held
    del result
    return int(peak)
