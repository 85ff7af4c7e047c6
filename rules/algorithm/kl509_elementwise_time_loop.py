"""KL509."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.dataflow import storages, written_tensors
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.independent import (
    Loop,
    along,
    constant_stride,
    flat_loop,
    fresh_storages,
    indexed_launches,
    known_storages,
)
from kernlint.rules.source import carried_names, loop_variables, node_at
from kernlint.rules.synthesis import iteration
from kernlint.syntax.walk import walk
from kernlint.workload import Compute, Launch, Load, Repeat, Span, Step, Store, Tensor, TorchOp, Workload, concrete
from kernlint.workload import Loop as KernelLoop
from kernlint.workload.kernel import Node
from kernlint.workload.steps import map_steps

#: Loads of that many steps are on their way at once.
_STAGES = 4
#: The id of the loop that comes into the kernel: no node of it has that.
_LOOP_ID = 100_000


class ElementwiseTimeLoop(Rule):
    code = "KL509"
    name = "elementwise-time-loop"
    category = "algorithm"
    severity = "warning"
    summary = "a Python loop launches an elementwise recurrence once per time step"
    what_it_does = """
        Finds Python loops that launch one kernel per step, where a step depends on the one before through a state that each
        program reads and writes at the same elements, so that no program ever needs what another one computed: gated scans,
        quasi-recurrent pooling, leaky integrators, moving averages over time.
        """
    why = """
        Every step costs a launch, and carries the state through memory, for a handful of operations. A program that loops over
        the steps itself keeps its part of the state in registers, and one launch does it all.
        """
    when_not = """
        The step multiplies the state with a matrix (KL507), or reads neighbours of its elements in the state: then programs
        would have to wait for each other.
        """
    fix_safety = "Each element is computed by the same operations in the same order; only its way through memory goes."
    evidence = """
        The launches are priced by what an H100 takes for them (`benchmarks/facts/h100-overheads.json`); a launch does nothing
        else for the first microseconds. Pattern row PERF-069.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def leak(x, state, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            s = tl.load(state + i, mask=i < n) * 0.9 + tl.load(x + i, mask=i < n)
            tl.store(state + i, s, mask=i < n)
            tl.store(y + i, s, mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                steps, n = x.shape
                y = torch.empty_like(x)
                state = torch.zeros(n, device=x.device)
                for t in range(steps):
                    leak[(triton.cdiv(n, 256),)](x[t], state, y[t], n, BLOCK=256)
                return y

        def get_inputs():
            return [torch.randn(256, 65536)]
        """
    good = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def leak(x, y, steps, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            s = tl.zeros((BLOCK,), tl.float32)
            for t in tl.range(steps, num_stages=4):
                s = s * 0.9 + tl.load(x + t * n + i, mask=i < n)
                tl.store(y + t * n + i, s, mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                steps, n = x.shape
                y = torch.empty_like(x)
                leak[(triton.cdiv(n, 256),)](x, y, steps, n, BLOCK=256)
                return y

        def get_inputs():
            return [torch.randn(256, 65536)]
        """
    example = "for t in range(steps):\n    leak[grid](x[t], state, y[t], n, BLOCK=256)"
    use_instead = "leak[grid](x, y, steps, n, BLOCK=256)  # for t in tl.range(steps): state stays in registers"

    def check(self, context: Context) -> Iterable[Finding]:
        for repeat in context.workload.steps:
            found = _state_loop(context, repeat) if isinstance(repeat, Repeat) else None
            if found is None:
                continue
            assert isinstance(repeat, Repeat)
            launch, count = found.launch, found.loop.count
            kernel, programs = launch.kernel.name, launch.programs
            state = " and ".join(f"`{name}`" for name in dict.fromkeys(found.names))
            yield Finding(
                self,
                self.severity,
                f"a Python loop launches `{kernel}` for each of {count} steps of an elementwise recurrence",
                repeat.span,
                repeat.function,
                kernel,
                (
                    Evidence(f"one launch of {programs} programs in each of {count} iterations", launch.span),
                    *(
                        Evidence(f"`{name}` is read here at the elements that the same program writes", load.span)
                        for name, load in zip(found.names, found.loads)
                    ),
                ),
                Change(
                    context.variant.then(transform=StepsInKernel(repeat.span, found.hands_on, found.loop.indexed)),
                    f"{count} launches run one after the other, each for one step of a few operations, and {state} goes to memory "
                    "and back between them.",
                    f"Loop over the {count} steps inside `{kernel}` with the state in registers, and launch it once.",
                    f"Pass the whole tensors with the stride of a step; in `{kernel}` load {state} once, loop with `tl.range({count}, "
                    f"num_stages={_STAGES})` over the steps, advance the addresses by the stride, and keep the state in a variable; drop "
                    f"the Python loop at line {repeat.span.line}.",
                ),
            )


@dataclass(frozen=True)
class StateLoop:
    """A Python loop with one ``launch`` in each step; ``loads`` read the state, called ``names``, that ``stores`` write;
    ``kept`` are those of the stores that only hand it to the next step. ``hands_on`` says that a variable carries it."""

    loop: Loop
    launch: Launch
    loads: tuple[Load, ...]
    names: tuple[str, ...]
    kept: tuple[Store, ...]
    hands_on: bool


def _state_loop(context: Context, repeat: Repeat) -> StateLoop | None:
    statement = node_at(context, repeat.span, cst.For)
    found = flat_loop(repeat)
    if statement is None or found is None or any(isinstance(step, Repeat) for step in repeat.body):
        return None
    leaves = (cst.Break, cst.Continue, cst.While, cst.Return, cst.If, cst.IfExp)
    if any(isinstance(node, leaves) for node in walk(statement.body)) or not loop_variables(statement):
        return None
    return read_state_loop(context.workload, repeat, bool(carried_names(statement)), indexed_launches(context, found))


def read_state_loop(workload: Workload, repeat: Repeat, hands_on: bool, indexed: frozenset[Span]) -> StateLoop | None:
    """``repeat`` as the steps of an elementwise recurrence; None where that is not proven or sizes are open.

    The proof: a step is one kernel without dots, reductions and loops; what it reads of the step before, by a variable
    that is handed on or in place, it reads at the offsets at which it writes the next state, so that each element only
    ever meets itself; and nothing else that the loop writes is read in it.
    """
    found = flat_loop(repeat)
    if found is None or concrete(found.count) is None:
        return None
    loop = replace(found, fresh=fresh_storages(workload, found), indexed=indexed)
    launches = [step for step in loop.body if isinstance(step, Launch)]
    if len(launches) != 1 or not all(isinstance(s, Launch) or _is_alloc(s) for s in loop.body):
        return None
    launch = launches[0]
    plain = all(isinstance(node, (Load, Store, Compute)) for node, _ in launch.kernel.walk(object))
    if not launch.kernel.complete or not plain or launch.programs is None or launch.autotuned:
        return None
    known = known_storages(workload, loop)
    written = storages([t for step in loop.body for t in written_tensors(step)])
    loads, names, kept = [], [], []
    for load in launch.kernel.loads():
        tensor = launch.tensor(load.base)
        if tensor is None or load.offset is None:
            return None
        handed = hands_on and tensor.storage.id not in known | loop.fresh
        if not handed and tensor.storage.id not in written:
            continue
        if loop.stride(tensor) or (launch.span in indexed and constant_stride(loop, load)):
            return None
        store = _next_state(loop, launch, load, tensor, handed)
        if store is None:
            return None
        loads.append(load)
        names.append(tensor_name(tensor, load.base))
        if not handed:
            kept.append(store)
    if not loads or not all(_moves(loop, launch, store) for store in launch.kernel.stores() if store not in kept):
        return None
    return StateLoop(loop, launch, tuple(loads), tuple(names), tuple(kept), hands_on)


def _is_alloc(step: Step) -> bool:
    return isinstance(step, TorchOp) and step.kind == "alloc"


def _next_state(loop: Loop, launch: Launch, load: Load, tensor: Tensor, handed: bool) -> Store | None:
    """The store that writes the next step's ``load``, element for element."""
    for store in launch.kernel.stores():
        target = launch.tensor(store.base)
        if target is None or store.offset != load.offset or store.shape != load.shape:
            continue
        same = (target.shape, target.strides) == (tensor.shape, tensor.strides)
        if same and (target.storage.id in loop.fresh if handed else target == tensor):
            return store
    return None


def _moves(loop: Loop, launch: Launch, store: Store) -> bool:
    """Whether each step stores elsewhere."""
    target = launch.tensor(store.base)
    own = constant_stride(loop, store) if launch.span in loop.indexed else 0
    return target is not None and bool(loop.stride(target) or own)


@dataclass(frozen=True)
class StepsInKernel:
    """The workload with the steps of one elementwise recurrence as a loop inside its kernel."""

    repeat: Span
    hands_on: bool
    indexed: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        def change(step: Step) -> Step | tuple[Step, ...]:
            if not isinstance(step, Repeat) or step.span != self.repeat:
                return step
            found = read_state_loop(workload, step, self.hands_on, self.indexed)
            return step if found is None else (_persistent(found),)

        return replace(workload, steps=map_steps(workload.steps, change))


def _persistent(found: StateLoop) -> Launch:
    launch = along(found.loop, found.launch, iteration(_LOOP_ID))
    state = {load.id for load in found.loads}
    kept = {store.id for store in found.kept}
    body: list[Node] = []
    before: list[Node] = []
    after: list[Node] = []
    for node in launch.kernel.body:
        first = isinstance(node, Load) and node.id in state
        last = isinstance(node, Store) and node.id in kept
        (before if first else after if last else body).append(node)
    span = found.loop.repeat.span
    loop = KernelLoop(_LOOP_ID, "tl.range", found.loop.count, tuple(body), span, _STAGES, True)
    kernel = replace(launch.kernel, body=(*before, loop, *after))
    return replace(launch, kernel=kernel, alternatives=())
