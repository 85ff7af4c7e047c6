"""Runs jobs of ``kernlint.verify`` side by side: compiling and checking overlap, timing is done one job at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kernlint.verify.sandbox import Ended, Limits, run_child

CHILD = "kernlint.verify.child.run:main"
#: Of one child, waiting for its turn included.
TIMEOUT_S = 240.0


class Batch:
    """Children that run side by side until each is ready to be timed, and are then timed one by one."""

    def __init__(self, backend: str, folder: Path) -> None:
        """``backend`` is gpu or interpreter; ``folder`` holds the signals between parent and children."""
        self.backend, self.folder = backend, folder

    def run(self, work: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]]) -> list[Ended]:
        """How the children of ``work`` ended: each is a job, with its cases, and its files by name."""
        with ThreadPoolExecutor(len(work)) as pool:
            gates = [self.folder / f"gate-{time.monotonic_ns()}-{index}" for index in range(len(work))]
            started = [pool.submit(self._child, job, files, gate) for (job, files), gate in zip(work, gates)]
            if self.backend == "gpu":
                self._take_turns(started, gates)
            return [one.result() for one in started]

    def _child(self, job: Mapping[str, Any], files: Mapping[str, str], gate: Path) -> Ended:
        gpu = self.backend == "gpu"
        told = {**job, "backend": self.backend, "budget_s": TIMEOUT_S, "gate": str(gate) if gpu else None}
        limits = Limits(TIMEOUT_S, (64 if gpu else 8) << 30, address_space=not gpu)
        return run_child(told, files, limits, CHILD)

    def _take_turns(self, started: Sequence[Future[Ended]], gates: Sequence[Path]) -> None:
        def there(gate: Path, what: str) -> bool:
            return gate.with_name(f"{gate.name}.{what}").exists()

        while not all(one.done() or there(gate, "ready") for one, gate in zip(started, gates)):
            time.sleep(0.02)
        for one, gate in zip(started, gates):
            gate.with_name(f"{gate.name}.go").touch()
            while not (one.done() or there(gate, "done")):
                time.sleep(0.02)
