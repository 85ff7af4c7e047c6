"""Steps of code that runs in a first call only, told apart from those of every call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union

from kernlint.records import dataclass, replace
from kernlint.workload import Repeat, Step


@dataclass(frozen=True)
class Once:
    """A step that a first call takes and later ones find done."""

    step: Step


#: A step as the host interpreter records it; the body of a Repeat may hold them too.
Recorded = Union[Step, Once]


def bare(recorded: Recorded) -> Step:
    """The step itself."""
    return recorded.step if isinstance(recorded, Once) else recorded


def first_steps(steps: Iterable[Recorded]) -> tuple[Step, ...]:
    """Those of a first call."""
    found = (bare(step) for step in steps)
    return tuple(
        replace(s, body=first_steps(s.body), earlier=first_steps(s.earlier)) if isinstance(s, Repeat) else s
        for s in found
    )


def later_steps(steps: Iterable[Recorded]) -> tuple[Step, ...]:
    """Those of any later call."""
    kept: list[Step] = []
    for step in steps:
        if isinstance(step, Repeat):
            body = later_steps(step.body)
            if body:
                kept.append(replace(step, body=body, earlier=later_steps(step.earlier)))
        elif not isinstance(step, Once):
            kept.append(step)
    return tuple(kept)
