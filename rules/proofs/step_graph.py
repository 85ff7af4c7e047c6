"""Finding one's way among a workload's steps: which use a tensor, which is which, and putting one for several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.dataflow import may_use, uses
from kernlint.workload import Launch, Repeat, Span, Step, TorchOp, Workload
from kernlint.workload.steps import allocates


@dataclass(frozen=True)
class Place:
    """A step of the program, the same one in every version of it: the ``nth`` that stands at ``span``."""

    span: Span
    nth: int


def numbered_steps(workload: Workload) -> Iterator[tuple[Step, Place]]:
    """Every step with its place; a helper that is called twice makes two steps at one span."""
    counts: dict[Span, int] = {}
    for step in workload.all_steps:
        number = counts.get(step.span, 0)
        counts[step.span] = number + 1
        yield step, Place(step.span, number)


def places_of(workload: Workload) -> dict[int, Place]:
    """The place of each step, by the step's identity."""
    return {id(step): place for step, place in numbered_steps(workload)}


def steps_at(workload: Workload, places: Sequence[Place]) -> list[Step] | None:
    """The steps at ``places``; None where one is no longer there."""
    known = {place: step for step, place in numbered_steps(workload)}
    found = [known[place] for place in places if place in known]
    return found if len(found) == len(places) else None


def sequences(steps: tuple[Step, ...], looped: bool = False) -> Iterator[tuple[tuple[Step, ...], bool]]:
    """Every straight run of steps, and whether a Python loop repeats it."""
    yield steps, looped
    for step in steps:
        if isinstance(step, Repeat):
            yield from sequences(step.body, True)


def replaced(steps: tuple[Step, ...], members: Sequence[Step], fused: Step) -> tuple[Step, ...]:
    """``steps`` with ``fused`` in the place of the last of ``members`` and without the others, wherever they stand."""
    result: list[Step] = []
    for step in steps:
        if step is members[-1]:
            result.append(fused)
        elif any(step is member for member in members):
            continue
        elif isinstance(step, Repeat):
            result.append(replace(step, body=replaced(step.body, members, fused)))
        else:
            result.append(step)
    return tuple(result)


def needed_elsewhere(
    workload: Workload, written: AbstractSet[int], members: set[int], last: Step, looped: bool
) -> frozenset[int]:
    """Those of ``written`` that are wanted in memory once ``last`` is done.

    They are returned, older than this call, or used by a step that is not in ``members`` (ids of step objects), in a
    Python loop (``looped``) also by an earlier one.
    """
    known = uses(workload)
    end = known.numbers.get(id(last), len(known.numbers))

    def used(storage: int) -> bool:
        return any(
            id(step) not in members and (looped or known.numbers[id(step)] > end) and not allocates(step)
            for step in (*known.readers.get(storage, ()), *known.writers.get(storage, ()))
        )

    returned = {t.storage.id for t in workload.outputs}
    return frozenset(id for id in written if id in returned or id not in known.made or used(id))


def without_allocations(workload: Workload, storages: set[int]) -> Workload:
    """``workload`` without the allocation and clearing of those ``storages`` that no other step touches any more."""
    fills = [step for step in workload.all_steps if isinstance(step, TorchOp) and step.kind in ("alloc", "fill")]
    makers = [step for step in fills if {t.storage.id for t in step.writes} <= storages]
    used = {t.storage.id for t in workload.outputs}
    for step in workload.all_steps:
        if not isinstance(step, Repeat) and not any(step is maker for maker in makers):
            used |= set().union(*may_use(step))
    gone = [maker for maker in makers if not used & {t.storage.id for t in maker.writes}]
    return workload.mapped(lambda step: None if any(step is maker for maker in gone) else step)


def blamed(workload: Workload, steps: Sequence[Launch | TorchOp]) -> str:
    """The host function that strings ``steps`` together: the one they stand in, else the analysed one."""
    functions = {step.function for step in steps}
    # One line that makes two of the steps is in a helper that its caller calls twice.
    helper = len({step.span for step in steps}) < len(steps)
    return functions.pop() if len(functions) == 1 and not helper else workload.entry
