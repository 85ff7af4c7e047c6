"""Device time of a call: CUDA-graph replay with a warm L2, single calls with a flushed one, and eager loops."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

GRAPH_US = 250.0  # a graph holds enough copies of the call to run at least this long
MAX_COPIES = 250
REPLAYS = 5
COLD_RUNS = 5
ATTEMPTS = 4
SLEEP_CYCLES = 300_000  # about 170 us: the host queues all work of one sample while the device waits here


class Timer:
    """Times calls on one side stream. All figures are microseconds per call."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        self.flush = torch.empty(256 * 2**20, dtype=torch.int8, device="cuda")

    def _events(self, work: Callable[[], None]) -> float:
        """Device time of `work`. A sample in which the device got there before the host had queued everything would
        hold host time; it is thrown away and taken again behind a longer sleep."""
        for attempt in range(ATTEMPTS):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(SLEEP_CYCLES * 4**attempt)
            start.record()
            work()
            end.record()
            late = start.query()
            end.synchronize()
            if not late:
                break
        return start.elapsed_time(end) * 1e3

    def _capture(self, call: Callable[[], None], copies: int) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            for _ in range(copies):
                call()
        finally:
            graph.capture_end()
        return graph

    def _replay(self, graph: torch.cuda.CUDAGraph, times: int) -> float:
        def work() -> None:
            for _ in range(times):
                graph.replay()

        return self._events(work) / times

    def graph_us(self, call: Callable[[], None], calls_per_copy: int = 1) -> float:
        """Median time of one call among back-to-back copies in a replayed graph."""
        with torch.cuda.stream(self.stream):
            call()
            self.stream.synchronize()
            single = self._events(call)
            copies = 1 if single > GRAPH_US else max(1, min(12, MAX_COPIES // calls_per_copy))
            graph = self._capture(call, copies)
            graph.replay()
            per_copy = self._replay(graph, 1) / copies
            wanted = int(max(1, min(MAX_COPIES // calls_per_copy, -(-GRAPH_US // per_copy))))
            if wanted > copies:
                copies = wanted
                graph = self._capture(call, copies)
                graph.replay()
            replays = 3 if per_copy > 2000 else REPLAYS
            times = 1 if per_copy > 2000 else 2
            samples = [self._replay(graph, times) / copies for _ in range(replays)]
            self.stream.synchronize()
        return statistics.median(samples)

    def cold_us(self, call: Callable[[], None]) -> float:
        """Median time of one call right after 256 MB were written, launch latency included (as do_bench)."""
        with torch.cuda.stream(self.stream):
            samples = []
            for _ in range(COLD_RUNS):
                self.flush.zero_()
                samples.append(self._events(call))
        return statistics.median(samples)

    def eager_us(self, call: Callable[[], None], device_us: float) -> tuple[float, float]:
        """(wall time per call of an eager loop that ends in a synchronisation, host time per call of issuing it)."""
        calls = int(max(20, min(200, 20_000 / max(device_us, 1.0))))
        walls, hosts = [], []
        for _ in range(3):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            issued = time.perf_counter()
            torch.cuda.synchronize()
            walls.append((time.perf_counter() - start) / calls * 1e6)
            hosts.append((issued - start) / calls * 1e6)
        return min(walls), min(hosts)
