"""KL602."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.dataflow import fed_by, is_alloc, read_tensors, written_tensors
from kernlint.rules.proofs.source_text import names_in, node_at
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import HostSync, Launch, Span, Step, TorchOp, Workload
from kernlint.workload.steps import map_steps


class HostSyncInCall(Rule):
    code = "KL602"
    name = "host-sync-in-call"
    category = "launch"
    severity = "warning"
    remark_if_open = True
    summary = "the host waits for the device in the middle of a call"
    what_it_does = """
        Finds `.item()`, `.cpu()`, `.tolist()`, a tensor in an `if`, boolean-mask indexing, `nonzero` and `torch.cuda.synchronize()`
        between the launches of a call: places where the host cannot go on before the device is done.
        """
    why = """
        Launches are queued: while the device works, the host prepares the next ones. A sync drains that queue; the device then
        idles until the host has woken up and issued more. A CUDA graph cannot capture it at all.
        """
    when_not = """
        A value that the caller asked for: read after the last launch, or the size of a result. An argument that only the host
        reads, which may be on the host already, and a sync that an argument left out leads to. Tests and benchmarks.
        """
    fix_safety = "Unsafe: the value must reach the kernel in another way, as a tensor that it loads or a bound that it masks with."
    evidence = """
        H100: `.item()` takes 13 us of host time on an idle device and drains the queue (`calibration/facts/h100-overheads.json`).
        Pattern rows PERF-074 (experts picked with `torch.where`), PERF-076, PERF-077, PERF-078.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def scale(x, y, n, s, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n) * s, mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                s = 1.0 / x.abs().max().item()
                y = torch.empty_like(x)
                scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), s, BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(1024, 1024)]
        """
    good = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def scale(x, y, n, s, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n) / tl.load(s), mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                s = x.abs().max()
                y = torch.empty_like(x)
                scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), s, BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(1024, 1024)]
        """
    example = "s = x.abs().max().item()\nkernel[grid](x, y, n, s)"
    use_instead = "s = x.abs().max()\nkernel[grid](x, y, n, s)  # tl.load(s)"

    def check(self, context: Context) -> Iterable[Finding]:
        """One finding a function: who mends one of its waits mends them all."""
        groups: dict[str, list[_Wait]] = {}
        for wait in _waits(context.workload):
            if _is_certain(context, wait):
                groups.setdefault(wait.sync.function, []).append(wait)
        for waits in groups.values():
            yield self._finding(context, waits)

    def _finding(self, context: Context, waits: list[_Wait]) -> Finding:
        wait = waits[0]
        sync, waiting = wait.sync, wait.waiting[0]
        first = next((s for s in (waiting, *wait.before) if isinstance(s, Launch)), None)
        others = f" (and at {len(waits) - 1} more place{'s' if len(waits) > 2 else ''})" if len(waits) > 1 else ""
        places = _places(waits)
        return Finding(
            self,
            self.severity,
            f"`{sync.function}` waits for the device before it issues {_name(waiting)}: {sync.what}{others}",
            sync.span,
            sync.function,
            first.kernel.name if first is not None else "",
            (
                Evidence(f"{sync.what} at line {sync.span.line}", sync.span),
                Evidence(f"{_name(waiting)} is issued only after it", waiting.span),
                *(Evidence(f"the device must finish {_name(step)} first", step.span) for step in wait.before[-1:]),
                *(
                    Evidence(f"{w.sync.what} at line {w.sync.span.line}, before {_name(w.waiting[0])}", w.sync.span)
                    for w in waits[1:]
                ),
            ),
            Change(
                context.variant.then(transform=WithoutSyncs(frozenset(w.sync.span for w in waits))),
                f"The host waits at {places} ({sync.what}) until all queued work is done, and the device then idles until the "
                f"host has issued {_name(waiting)}.",
                "Keep the value on the device: pass the tensor to the kernel, which loads it, or bound the sizes without looking at it.",
                f"Remove the wait at {places}; pass the tensor itself to {_name(waiting)} and `tl.load` "
                "it there, compute shapes "
                "from an upper bound with a mask, and move host-side checks behind a debug flag.",
            ),
        )


@dataclass(frozen=True)
class _Wait:
    """One sync with what the device does after it (never nothing) and before it; ``repeated`` in a loop of the host."""

    sync: HostSync
    waiting: list[Step]
    before: list[Step]
    repeated: bool


def _waits(workload: Workload) -> Iterator[_Wait]:
    """The syncs of a call that keep work from being issued, each place once."""
    walked = list(workload.walk())
    seen = set()
    for index, (step, loops) in enumerate(walked):
        if not isinstance(step, HostSync) or step.span in seen:
            continue
        waiting = [s for s, _ in walked[index + 1 :] if _on_device(s)]
        if loops:
            # The next iteration's work waits as well.
            waiting += [s for s, around in walked if _on_device(s) and around[: len(loops)] == loops]
        if waiting:
            seen.add(step.span)
            yield _Wait(step, waiting, [s for s, _ in walked[:index] if _on_device(s)], bool(loops))


def _is_certain(context: Context, wait: _Wait) -> bool:
    """Whether ``wait`` is surely one for the device, and for nothing that the caller asked for."""
    return _read_from_device(wait.sync, [s for s, _ in context.workload.walk()]) and not (
        _asked_for(context, wait)
        or _left_out(context, wait.sync)
        or _measures(context.program.kernel, wait.sync.function)
    )


def _places(waits: list[_Wait]) -> str:
    lines = list(dict.fromkeys(wait.sync.span.line for wait in waits))
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines))}"


def _read_from_device(sync: HostSync, steps: list[Step]) -> bool:
    """Whether what ``sync`` reads is surely on the device: an argument that nothing but the host looks at may be anywhere."""
    if sync.reads is None:
        return True
    used = {t.storage.id for s in steps if _on_device(s) for t in (*read_tensors(s), *written_tensors(s))}
    return sync.reads.storage.id in used


def _asked_for(context: Context, wait: _Wait) -> bool:
    """Whether ``wait`` is for the size of a tensor that the call returns, or, once a call, for one that no kernel waits for."""
    workload, sync = context.workload, wait.sync
    made = {
        t.storage.id
        for step, _ in workload.walk()
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
        if names_in(branch.test) & _optional(module, sync.function) and _tests_none(branch.test):
            return True
    return False


def _measures(module: Module, function: str) -> bool:
    """Whether ``function`` asks for the time between two events of the device: then it waits in order to measure."""
    nodes = (node for f in _definitions(module, function) for node in module.within(f.body, cst.Attribute))
    return any(node.attr.value == "elapsed_time" for node in nodes)


def _optional(module: Module, function: str) -> set[str]:
    """The parameters of a function that default to None."""
    return {
        p.name.value for f in _definitions(module, function) for p in parameters(f) if dotted_name(p.default) == "None"
    }


def _definitions(module: Module, function: str) -> list[cst.FunctionDef]:
    """The functions of ``module`` that ``function``, with or without its class, may mean."""
    return [f for f in module.of(cst.FunctionDef) if f.name.value == function.rsplit(".", 1)[-1]]


def _tests_none(test: cst.BaseExpression) -> bool:
    return any(isinstance(n, (cst.Is, cst.Not)) for n in walk(test))


def _on_device(step: Step) -> bool:
    """Whether ``step`` surely gives the device something to do."""
    work = isinstance(step, TorchOp) and not is_alloc(step) and step.kind not in ("alloc", "unknown")
    return isinstance(step, Launch) or work


def _name(step: Step) -> str:
    return f"`{step.kernel.name}`" if isinstance(step, Launch) else f"torch {getattr(step, 'name', 'work')}"


@dataclass(frozen=True)
class WithoutSyncs:
    """The workload without the host syncs at some places."""

    syncs: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        def change(step: Step) -> Step | None:
            return None if isinstance(step, HostSync) and step.span in self.syncs else step

        return replace(workload, steps=map_steps(workload.steps, change))
