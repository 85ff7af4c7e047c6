"""A program that does without some of its torch calls."""

from __future__ import annotations

from dataclasses import replace

from kernlint.records import dataclass
from kernlint.workload import Span, Step, TorchOp, Workload
from kernlint.workload.steps import map_steps


@dataclass(frozen=True)
class WithoutOps:
    """The workload without the torch calls at ``ops``. What reads their results goes on reading as many bytes: of the originals,
    or of results that a former call has kept."""

    ops: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        def change(step: Step) -> Step | None:
            return None if isinstance(step, TorchOp) and step.span in self.ops else step

        return replace(workload, steps=map_steps(workload.steps, change))
