"""Who touches a tensor's storage, and when: the order of reads and writes among the steps of a call."""

from __future__ import annotations

import libcst as cst

from kernlint.rules.proofs.dataflow import read_tensors, storages, tensors_of, written_tensors
from kernlint.rules.proofs.indices import addresses, always_run
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.syntax.tree import Module
from kernlint.workload import Atomic, Launch, Load, Repeat, Step, Store, Tensor, Workload

#: What a tensor is asked that says nothing of what it holds.
_ASKED = frozenset("data_ptr device dim dtype element_size is_contiguous ndim numel shape size stride".split())


def touches(step: Step, storage: int) -> bool:
    """Whether ``step`` itself (not a loop around it) reads or writes ``storage``, or is passed it."""
    return any(tensor.storage.id == storage for tensor in tensors_of(step))


def uses(workload: Workload, storage: int) -> list[tuple[Step, tuple[Repeat, ...]]]:
    """Every step that touches ``storage``, with the Python loops around it, in order."""
    return list(workload.once(_uses).get(storage, ()))


def _uses(workload: Workload) -> dict[int, list[tuple[Step, tuple[Repeat, ...]]]]:
    """Those of each storage."""
    found: dict[int, list[tuple[Step, tuple[Repeat, ...]]]] = {}
    for step, loops in workload.walk():
        for storage in dict.fromkeys(tensor.storage.id for tensor in tensors_of(step)):
            found.setdefault(storage, []).append((step, loops))
    return found


def next_user(workload: Workload, step: Step, storage: int) -> Step | None:
    """The first step after ``step`` that touches ``storage``; None where it stands in other Python loops."""
    users = uses(workload, storage)
    position = next((i for i, (user, _) in enumerate(users) if user is step), len(users))
    if position + 1 >= len(users) or users[position][1] != users[position + 1][1]:
        return None
    return users[position + 1][0]


def is_unread(launch: Launch, workload: Workload, module: Module) -> bool:
    """Whether nothing reads what ``launch`` writes: tensors that the function around it makes and hands to launches alone, none but this
    one of which reads them. It is there to be compiled, looked at or measured: what it stores under no mask beside what it stores under
    one, a time say, does not count."""
    masked = {one.access.base for one in sites(launch.kernel, Store, Atomic) if one.access.mask is not None}
    written = [tensor for name in masked if (tensor := launch.tensor(name)) is not None] or written_tensors(launch)
    others = [step for step in workload.first_call().all_steps if step.span != launch.span]
    read = {storage for step in others for storage in storages(read_tensors(step))}
    return bool(written) and all(tensor.storage.id not in read and _is_handed_on(tensor, module) for tensor in written)


def _is_handed_on(tensor: Tensor, module: Module) -> bool:
    """Whether the source names ``tensor`` where a function makes it, and else only in launches and in questions about its form."""
    made = tensor.storage.span
    around = [one for one in module.of(cst.FunctionDef) if made is not None and module.span(one).contains(made)]
    assigned = [one for one in module.of(cst.Assign) if module.span(one.value) == made] if around else []
    if len(assigned) != 1 or not isinstance(assigned[0].targets[0].target, cst.Name):
        return False
    name, function = assigned[0].targets[0].target, around[-1]
    launches = [call for call in module.within(function, cst.Call) if isinstance(call.func, cst.Subscript)]
    questions = [one for one in module.within(function, cst.Attribute) if one.attr.value in _ASKED]
    silent = {name, *(used for one in (*launches, *questions) for used in module.within(one, cst.Name))}
    return all(used in silent for used in module.within(function, cst.Name) if used.value == name.value)


def overwrites(launch: Launch, tensor: Tensor) -> bool:
    """Whether ``launch`` writes every element of ``tensor`` and reads none, whichever configuration its tuner takes: one of its
    stores, under no branch and with no mask but bounds, reaches all of its addresses."""
    return launch.under_each(lambda one: _overwrites(one, tensor))


def _overwrites(launch: Launch, tensor: Tensor) -> bool:
    storage = tensor.storage.id
    if not launch.kernel.complete or launch.kernel.may_leave or launch.accesses(storage, (Load, Atomic)):
        return False
    names = launch.bound_to(storage)
    count = tensor.elements
    if count is None or not all(_whole(launch.tensor(name), tensor) for name in names):
        return False
    for store, loops in always_run(launch.kernel, Store):
        if store.base in names and store.mask_known:
            found = addresses(launch, store, loops)
            if found is not None and found.cover(count):
                return True
    return False


def _whole(view: Tensor | None, tensor: Tensor) -> bool:
    """Whether ``view`` begins where ``tensor`` does and both lie dense, so that offsets count its elements."""
    return (
        view is not None
        and view.offset == 0
        and tensor.offset == 0
        and view.dtype == tensor.dtype
        and (tensor.is_contiguous is True or tensor.strides == view.strides)
        and view.elements == tensor.elements
    )
