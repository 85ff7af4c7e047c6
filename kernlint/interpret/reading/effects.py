"""Whether a call is part of what a program is there for, or tests, measures and warms up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from kernlint.interpret.values import Unknown
from kernlint.syntax.testing import returns_answers
from kernlint.syntax.tree import Module
from kernlint.workload import Atomic, Launch, Step, Store, Tensor, TorchOp, Workload
from kernlint.workload.access import Access


def has_effect(node: cst.FunctionDef, workload: Workload, module: Module, escapes: bool) -> bool:
    """Whether the call may be part of what a program is there for. One that returns no tensor is not where it works on
    data that it makes up, or where nobody sees what it computes: it keeps no tensor, writes to none that it was given and
    hands none to code that is not followed. Nor is one that is given no tensor, draws its own at random or writes them
    out, and has other functions work on them, whatever it returns. Such a call tests, measures or warms up."""
    steps = workload.first_call().all_steps
    given = {tensor.storage.id for tensor in workload.inputs}
    made_up = not any(_touches(step, given) for step in steps)
    if not returns_answers(node, module):
        own = made_up and any(_draws(step) for step in steps)
        return not own or any(isinstance(step, Launch) and step.function == workload.entry for step in steps)
    return not made_up and (escapes or any(_writes_to_others(step) for step in steps))


def of_tensors(workload: Workload, of_numbers: Callable[[TorchOp], bool]) -> Workload:
    """``workload`` without the steps that may as well be arithmetic ``of_numbers``, where nothing they get to is a tensor for certain:
    no kernel and no other operation takes it, and it is not what the call gives."""
    certain = {tensor.storage.id for tensor in workload.outputs}
    doubtful: list[TorchOp] = []
    for step in workload.first_call().all_steps:
        if isinstance(step, TorchOp) and of_numbers(step):
            doubtful.append(step)
        elif isinstance(step, TorchOp):
            certain.update(tensor.storage.id for tensor in (*step.reads, *step.writes))
        elif isinstance(step, Launch):
            certain.update(t.storage.id for t in step.arguments.values() if isinstance(t, Tensor))
    told = True
    while told:
        told = False
        for step in doubtful:
            storages = {tensor.storage.id for tensor in (*step.reads, *step.writes)}
            told = told or (not certain.isdisjoint(storages) and not storages <= certain)
            certain |= storages if not certain.isdisjoint(storages) else set()
    numbers = {id(step) for step in doubtful if certain.isdisjoint(t.storage.id for t in step.writes)}
    if not numbers:
        return workload

    def kept(step: Step) -> Step | None:
        return None if id(step) in numbers else step

    return workload.mapped(kept, first=True)


def _draws(step: Step) -> bool:
    """Whether ``step`` draws a tensor at random, or works on one that the program writes out."""
    if isinstance(step, TorchOp):
        return step.kind == "random" or any(t.storage.origin == "constant" for t in step.reads)
    given = step.arguments.values() if isinstance(step, Launch) else ()
    return any(isinstance(t, Tensor) and t.storage.origin == "constant" for t in given)


def _touches(step: Step, storages: set[int]) -> bool:
    """Whether ``step`` reads or writes one of ``storages``, or perhaps does."""
    if isinstance(step, TorchOp):
        return any(t.storage.id in storages for t in (*step.reads, *step.writes))
    if isinstance(step, Launch):
        return any(not isinstance(t, Tensor) or t.storage.id in storages for t in _pointed_into(step, Access))
    return False


def _pointed_into(launch: Launch, kind: type[Access] | tuple[type[Access], ...]) -> list[Any]:
    """What accesses of ``kind`` go to in ``launch``, None for an address that was loaded; whatever it is passed that may be a tensor
    where that is not followed."""
    found = [launch.arguments.get(access.base) for access in launch.kernel.nodes(kind)]
    if launch.kernel.complete:
        return found
    return [*(value for value in launch.arguments.values() if isinstance(value, (Tensor, Unknown))), *found]


def _writes_to_others(step: Step) -> bool:
    """Whether ``step`` writes to a tensor that the call was given, or perhaps does."""
    if isinstance(step, TorchOp):
        written: list[Any] = [] if step.kind == "alloc" else list(step.writes)
    else:
        written = _pointed_into(step, (Store, Atomic)) if isinstance(step, Launch) else []
    # What the call makes itself knows where that happened.
    return any(not isinstance(t, Tensor) or t.storage.span is None for t in written)
