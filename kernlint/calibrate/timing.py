"""Device time of launches on the GPU at hand: replays of a CUDA graph of many copies, warm L2, no host gaps."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from kernlint.calibrate.cases import Buffer, Case

#: Microseconds that a graph runs for at least, copies that it holds at most, and replays whose median counts.
_GRAPH_US = 250.0
_MOST_COPIES = 200
_REPLAYS = 5
#: Cycles for which the device waits so that the host has queued everything: about 170 us.
_SLEEP = 300_000


class Timer:
    """Times launches on one stream of the current device."""

    def __init__(self) -> None:
        import torch

        from kernlint.calibrate import kernels

        self.torch: Any = torch
        self.kernels: Any = kernels
        self.stream: Any = torch.cuda.Stream()
        self._held: dict[tuple[str, str, int, int], Any] = {}

    def us(self, case: Case) -> float:
        """Microseconds of one launch. Raises what the compiler or the driver raises."""
        kernel = getattr(self.kernels, case.kernel)
        arguments = [self._tensor(a) if isinstance(a, Buffer) else a for a in case.arguments]
        options: Mapping[str, Any] = {**case.constants, "num_warps": case.num_warps, "num_stages": case.num_stages}
        self.torch.cuda.synchronize()

        def call() -> None:
            kernel[case.grid](*arguments, **options)

        with self.torch.cuda.stream(self.stream):
            call()
            self.stream.synchronize()
            single = self._events(call)
            copies = max(1, min(_MOST_COPIES, int(_GRAPH_US / max(single, 1.0)) + 1))
            graph = self._capture(call, copies)
            graph.replay()
            samples = [self._events(graph.replay) / copies for _ in range(_REPLAYS)]
            self.stream.synchronize()
        return statistics.median(samples)

    def _tensor(self, buffer: Buffer) -> Any:
        torch, key = self.torch, (buffer.name, buffer.dtype, buffer.numel, buffer.below)
        if key not in self._held:
            if len(self._held) > 24:
                self._held.clear()
            dtype = getattr(torch, buffer.dtype)
            if buffer.below:
                self._held[key] = torch.randint(0, buffer.below, (buffer.numel,), device="cuda", dtype=dtype)
            elif dtype.is_floating_point:
                self._held[key] = torch.randn(buffer.numel, device="cuda").to(dtype)
            else:
                self._held[key] = torch.zeros(buffer.numel, device="cuda", dtype=dtype)
        return self._held[key]

    def _capture(self, call: Callable[[], None], copies: int) -> Any:
        graph = self.torch.cuda.CUDAGraph()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            for _ in range(copies):
                call()
        finally:
            graph.capture_end()
        return graph

    def _events(self, work: Callable[[], None]) -> float:
        """Microseconds of ``work``; taken again behind a longer wait where the device got there before the host was done."""
        cuda = self.torch.cuda
        for attempt in range(4):
            start, end = (cuda.Event(enable_timing=True) for _ in range(2))
            cuda._sleep(_SLEEP * 4**attempt)
            start.record()
            work()
            end.record()
            late = start.query()
            end.synchronize()
            if not late:
                break
        return float(start.elapsed_time(end) * 1e3)
