"""Drop a wait: the host goes on issuing work where it waited for the device to finish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import libcst as cst

from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass
from kernlint.rules.finding import Context, Variant
from kernlint.rules.proofs.dataflow import fed_by, is_alloc, read_tensors, written_tensors
from kernlint.rules.proofs.source_text import names_in, node_at
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.testing import CLOCKS, is_read_by_check
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import HostSync, Launch, Span, Step, TorchOp, Workload


@dataclass(frozen=True)
class Wait(Place):
    """One ``sync`` with what the device does after it and before it; ``repeated`` in a loop of the host."""

    sync: HostSync
    waiting: list[Step]
    before: list[Step]
    repeated: bool


class _DropWait(Operator[Wait, Wait]):
    name: ClassVar[str] = "drop a wait"
    causes: ClassVar[frozenset[str]] = frozenset({"sync"})

    def sites(self, context: Context) -> Iterator[Wait]:
        """The waits of a call, each place once."""
        walked = list(context.workload.walk())
        seen = set()
        for index, (step, loops) in enumerate(walked):
            if not isinstance(step, HostSync) or step.span in seen:
                continue
            waiting = [s for s, _ in walked[index + 1 :] if _on_device(s)]
            if loops:
                # The next iteration's work waits as well.
                waiting += [s for s, around in walked if _on_device(s) and around[: len(loops)] == loops]
            before = [s for s, _ in walked[:index] if _on_device(s)]
            if waiting:
                seen.add(step.span)
            yield Wait(step.what, step.span, step.function, "", step, waiting, before, bool(loops))

    def check(self, context: Context, site: Wait) -> Wait | WhyNot:
        sync, module = site.sync, context.program.kernel
        if not site.waiting:
            return WhyNot("the device has nothing to do after it")
        if not _read_from_device(sync, context.workload.all_steps):
            return WhyNot("what it reads may be on the host: no step of the device touches it")
        if _asked_for(context, site):
            return WhyNot("the size of what the call returns depends on it")
        if _left_out(context, sync):
            return WhyNot("it is waited for only where an optional argument is passed, and nothing in view passes it")
        if any(is_read_by_check(sync.span, f, module) for f in _definitions(module, sync.function)):
            return WhyNot(f"`{sync.function}` checks results, and reads it for that alone")
        if _measures(module, sync.function):
            return WhyNot(f"`{sync.function}` measures times and has to wait for them")
        return site

    def apply(self, context: Context, proofs: Sequence[Wait]) -> Variant:
        return context.variant.then(transform=WithoutWaits(frozenset(wait.sync.span for wait in proofs)))


DROP_WAIT = _DropWait()


def _read_from_device(sync: HostSync, steps: Sequence[Step]) -> bool:
    """Whether what ``sync`` reads is surely on the device: an argument that nothing but the host looks at may be anywhere."""
    if sync.reads is None:
        return True
    used = {t.storage.id for s in steps if _on_device(s) for t in (*read_tensors(s), *written_tensors(s))}
    return sync.reads.storage.id in used


def _asked_for(context: Context, wait: Wait) -> bool:
    """Whether ``wait`` is for the size of a tensor that the call returns, or, once a call, for one that no kernel waits for."""
    workload, sync = context.workload, wait.sync
    made = {
        t.storage.id
        for step in workload.all_steps
        if isinstance(step, TorchOp) and step.span == sync.span
        for t in step.writes
        if t.shape is None
    }
    if made and not wait.repeated and not any(isinstance(step, Launch) for step in wait.waiting):
        return True
    if _sizes_result(workload, sync):
        return True
    return bool(made) and any(t.shape is None and t.storage.id in fed_by(workload, made) for t in workload.outputs)


def _sizes_result(workload: Workload, sync: HostSync) -> bool:
    """Whether the value read at ``sync`` is the size of what the call returns, or of what that is made from."""
    sized = {storage for storage, places in workload.read_sizes.items() if sync.span in places}
    made = fed_by(workload, sized) if sized else set()
    return any(t.storage.id in sized or (t.shape is None and t.storage.id in made) for t in workload.outputs)


def _left_out(context: Context, sync: HostSync) -> bool:
    """Whether ``sync`` stands behind a test that an optional argument of the entry is None: nothing in view says that
    any caller leaves it out."""
    if sync.function != context.workload.entry:
        return False
    call = node_at(context, sync.span, cst.Call)
    module = context.program.kernel
    for branch in module.of(cst.If):
        if call is None or not any(node is call for node in walk(branch.body)):
            continue
        tests_none = any(isinstance(node, (cst.Is, cst.Not)) for node in walk(branch.test))
        if tests_none and names_in(branch.test) & _optional(module, sync.function):
            return True
    return False


def _measures(module: Module, function: str) -> bool:
    """Whether ``function`` asks for the time between two events of the device, or reads a clock of the host twice: then it waits in
    order to measure."""
    calls = [call.func for f in _definitions(module, function) for call in module.own(f.body, cst.Call)]
    events = any(isinstance(one, cst.Attribute) and one.attr.value == "elapsed_time" for one in calls)
    return events or sum(origin_of(one, module.imports) in CLOCKS for one in calls) > 1


def _optional(module: Module, function: str) -> set[str]:
    """The parameters of a function that default to None."""
    return {
        p.name.value for f in _definitions(module, function) for p in parameters(f) if dotted_name(p.default) == "None"
    }


def _definitions(module: Module, function: str) -> list[cst.FunctionDef]:
    """The functions of ``module`` that ``function``, with or without its class, may mean."""
    return [f for f in module.of(cst.FunctionDef) if f.name.value == function.rsplit(".", 1)[-1]]


def _on_device(step: Step) -> bool:
    """Whether ``step`` surely gives the device something to do."""
    work = isinstance(step, TorchOp) and not is_alloc(step) and step.kind not in ("alloc", "unknown")
    return isinstance(step, Launch) or work


@dataclass(frozen=True)
class WithoutWaits:
    """The workload without the host syncs at some places."""

    syncs: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        def change(step: Step) -> Step | None:
            return None if isinstance(step, HostSync) and step.span in self.syncs else step

        return workload.mapped(change)
