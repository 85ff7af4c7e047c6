"""What calls of functions that are copies of one another have in common: what is found out about the first holds for all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import libcst as cst

from kernlint.interpret.host.journal import alike
from kernlint.syntax.copies import top_functions, without
from kernlint.syntax.tree import Module
from kernlint.workload import Launch, Repeat, Span, Step, TorchOp, Workload
from kernlint.workload.hints import Hints


def call_form(module: Module, workload: Workload) -> object | None:
    """What the call that ``workload`` is has in common with those of copies of its entry; None where it is not compared: where that is
    no function of ``module``, what it does rests on more than its text and its arguments, or something is wrong with it."""
    functions = module.once(top_functions)
    entry = functions.get(workload.entry)
    launches = workload.first_call().launches()
    wrong = workload.faults or any(launch.faults or launch.kernel.faults for launch in launches)
    if entry is None or wrong or workload.bare or workload.reference is not None or workload.held or workload.made:
        return None
    own = dict.fromkeys(launch.kernel.name for launch in launches if launch.function == workload.entry)
    text = without(entry.text, {**{name: f"kernel{n}" for n, name in enumerate(own)}, workload.entry: "entry"})
    if text is None or not all(name in functions for name in own):
        return None
    storages: dict[int, int] = {}
    steps = [_step_keys(part, storages) for part in (workload.steps, workload.first_steps or ())]
    tensors = alike([workload.inputs, workload.outputs, workload.arguments, workload.result], storages)
    sizes = workload.symbols, tuple(workload.sizes.items()), workload.bounds, workload.zeros, _hints(workload.hints)
    notes = workload.assumptions, len(workload.unknowns), workload.open_choices, workload.traced
    key = text, tuple(steps), tensors, sizes, notes, len(workload.read_sizes), len(workload.elsewhere)
    try:
        hash(key)
    except TypeError:  # a constexpr that is a list, say
        return None
    return key


def is_apart(module: Module, workload: Workload) -> bool:
    """Whether no other code of ``module`` mentions the entry of ``workload`` or a kernel that it launches, so that nothing but the call
    itself tells of it."""
    functions, mentions = module.once(top_functions), module.once(_mentions)
    names = {workload.entry, *(launch.kernel.name for launch in workload.first_call().launches())}
    own = [functions[name].lines for name in names if name in functions]
    places = (place for name in names for place in mentions.get(name, ()))
    return len(own) == len(names) and all(any(lines.contains(place) for lines in own) for place in places)


def _mentions(module: Module) -> dict[str, list[Span]]:
    """Where the functions at the top of ``module`` are named."""
    found: dict[str, list[Span]] = {name: [] for name in module.once(top_functions)}
    for name in module.of(cst.Name):
        if name.value in found:
            found[name.value].append(module.span(name))
    return found


def _hints(hints: Hints) -> tuple[Any, ...]:
    told = (tuple(found.items()) for found in (hints.names, hints.values, hints.dtypes))
    return (*told, hints.alike, hints.annotated, hints.ways)


def _step_keys(steps: Iterable[Step], storages: dict[int, int]) -> tuple[Any, ...]:
    """What ``steps`` are but for where they stand."""
    return tuple(_of_step(step, storages) for step in steps)


def _of_step(step: Step, storages: dict[int, int]) -> Any:
    if isinstance(step, Launch):
        values = alike([*step.arguments.values()], storages), alike([*step.constexprs.values()], storages)
        tuned = step.autotuned, tuple(_of_step(one, storages) for one in step.alternatives)
        known = step.explicit, step.grid_follows, tuple(step.open_constexprs.items()), tuple(step.premises.items())
        return step.work, values, tuned, known, step.kernel.complete, tuple(step.literals)
    if isinstance(step, TorchOp):
        return step.name, step.kind, tuple(step.dims.items()), alike((step.reads, step.writes), storages)
    if isinstance(step, Repeat):
        return step.count, step.backwards, _step_keys(step.body, storages), _step_keys(step.earlier, storages)
    return type(step), step.what
