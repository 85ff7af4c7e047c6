"""KL303."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.indices import addresses, always_run, elements
from kernlint.rules.proofs.liveness import accesses, parameters, uses
from kernlint.workload import Launch, Load, Span, Step, Store, Tensor, TorchOp, Workload
from kernlint.workload.steps import map_steps


class CopiedBack(Rule):
    code = "KL303"
    name = "out-of-place-then-copy-back"
    category = "memory"
    severity = "warning"
    summary = "a kernel writes its result to a new tensor that is then copied over the input"
    what_it_does = """
        Finds `x.copy_(new)` where `new` was allocated in the same call, is written by one launch and read by nothing but the
        copy, and where the launch could have stored to `x` itself: each program reads only those elements of `x` that it
        later writes.
        """
    why = """
        The copy reads and writes the whole tensor again and is a launch of its own. An optimiser step that keeps three
        tensors this way moves 52 instead of 28 bytes per parameter.
        """
    when_not = """
        Programs that read elements which other programs write (stencils, transposes, scans). Results that something else
        reads before or after the copy.
        """
    fix_safety = "Safe: the loads and stores of `x` have the same addresses, in one program, loads first."
    evidence = """
        H100: a contiguous copy of 4096 x 4096 halves takes 24.3 us (`clone` in `calibration/facts/h100-torch-ops.csv`). Pattern
        row PERF-034 for copies that a kernel makes needless.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def momentum(p, g, m, p_new, m_new, n, lr, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            inside = i < n
            moment = 0.9 * tl.load(m + i, mask=inside) + tl.load(g + i, mask=inside)
            tl.store(p_new + i, tl.load(p + i, mask=inside) - lr * moment, mask=inside)
            tl.store(m_new + i, moment, mask=inside)

        def step(p, g, m):
            p_new, m_new = torch.empty_like(p), torch.empty_like(m)
            momentum[(triton.cdiv(p.numel(), 1024),)](p, g, m, p_new, m_new, p.numel(), 0.1, BLOCK=1024)
            p.copy_(p_new)
            m.copy_(m_new)

        class ModelNew(torch.nn.Module):
            def forward(self, p, g, m):
                step(p, g, m)
                return p, m

        def get_inputs():
            return [torch.randn(1 << 24), torch.randn(1 << 24), torch.randn(1 << 24)]
        """
    good = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def momentum(p, g, m, n, lr, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            inside = i < n
            moment = 0.9 * tl.load(m + i, mask=inside) + tl.load(g + i, mask=inside)
            tl.store(p + i, tl.load(p + i, mask=inside) - lr * moment, mask=inside)
            tl.store(m + i, moment, mask=inside)

        class ModelNew(torch.nn.Module):
            def forward(self, p, g, m):
                momentum[(triton.cdiv(p.numel(), 1024),)](p, g, m, p.numel(), 0.1, BLOCK=1024)
                return p, m

        def get_inputs():
            return [torch.randn(1 << 24), torch.randn(1 << 24), torch.randn(1 << 24)]
        """
    example = "kernel[grid](p, g, p_new, n)\np.copy_(p_new)"
    use_instead = "kernel[grid](p, g, p, n)  # each program reads its elements before it writes them"

    def check(self, context: Context) -> Iterable[Finding]:
        by_function: dict[str, list[_CopyBack]] = {}
        for step, _ in context.workload.walk():
            found = _copy_back(context, step) if isinstance(step, TorchOp) else None
            if found is not None:
                by_function.setdefault(found.copy.function, []).append(found)
        for function, copies in by_function.items():
            spans = frozenset(found.copy.span for found in copies)
            pairs = tuple(
                (found.launch.span, found.new.storage.span, found.parameter, found.target) for found in copies
            )
            variant = context.variant.then(transform=WriteInPlace(pairs, spans))
            names = [tensor_name(found.target, "the input") for found in copies]
            listed = ", ".join(f"`{name}`" for name in names)
            moved = sum(2 * (found.new.nbytes or 0) for found in copies)
            size = f" ({moved / 1e6:.1f} MB read and written again)" if moved else ""
            count = f"{len(copies)} extra cop{'y' if len(copies) == 1 else 'ies'}"
            kernel = copies[0].launch.kernel.name
            plural = "s" if len(copies) > 1 else ""
            change = Change(
                variant,
                f"`{kernel}` writes its results to new tensors, and every call then copies them over {listed}: {count}{size}.",
                f"Let `{kernel}` store to {listed} directly: each program reads its elements before it writes the same ones.",
                f"Pass {listed} as the output{plural} of `{kernel}` at line {copies[0].launch.span.line}; remove the "
                f"allocation{plural} and the copy_ call{plural} "
                f"(line{plural} {', '.join(str(found.copy.span.line) for found in copies)}).",
            )
            evidence = [
                Evidence(
                    f"`{tensor_name(found.launch.tensor(found.parameter), 'the result')}` is written by `{kernel}`, read only "
                    f"by this copy to `{name}`",
                    found.copy.span,
                )
                for found, name in zip(copies, names)
            ]
            yield Finding(
                self, self.severity, f"`{function}` copies {listed} back from new tensors that `{kernel}` wrote",
                copies[0].copy.span, function, kernel, tuple(evidence), change,
            )  # fmt: skip


@dataclass(frozen=True)
class _CopyBack:
    """``copy`` puts ``new``, which ``launch`` wrote through ``parameter``, over ``target``."""

    copy: TorchOp
    launch: Launch
    new: Tensor
    target: Tensor
    parameter: str


def _copy_back(context: Context, copy: TorchOp) -> _CopyBack | None:
    """``copy`` as a copy that the launch before it could have made needless; None where that is not proven."""
    if copy.kind != "copy" or len(copy.reads) != 1 or len(copy.writes) != 1 or copy.name not in ("copy_", "setitem"):
        return None
    workload = context.workload
    new, target = copy.reads[0], copy.writes[0]
    same = new.shape is not None and (new.shape, new.strides, new.dtype) == (target.shape, target.strides, target.dtype)
    if not same or new.strides is None or new.storage.origin != "empty" or new.storage.id == target.storage.id:
        return None
    if any(output.storage.id == new.storage.id for output in workload.outputs):
        return None
    users = [
        (step, loops)
        for step, loops in uses(workload, new.storage.id)
        if not (isinstance(step, TorchOp) and step.kind == "alloc")
    ]
    if len(users) != 2 or users[1][0] is not copy or users[0][1] != users[1][1]:
        return None
    launch = users[0][0]
    if not isinstance(launch, Launch) or not _untouched_between(workload, launch, copy, target.storage.id):
        return None
    names = parameters(launch, new.storage.id)
    safe = launch.under_each(lambda one: _in_place_is_safe(one, new, target))
    if len(names) != 1 or launch.tensor(names[0]) is None or not safe:
        return None
    return _CopyBack(copy, launch, new, target, names[0])


def _untouched_between(workload: Workload, launch: Launch, copy: TorchOp, storage: int) -> bool:
    steps = [step for step, _ in workload.walk()]
    first = next(i for i, step in enumerate(steps) if step is launch)
    last = next(i for i, step in enumerate(steps) if step is copy)
    between = {id(step) for step in steps[first + 1 : last]}
    return first < last and not any(id(step) in between for step, _ in uses(workload, storage))


def _in_place_is_safe(launch: Launch, new: Tensor, target: Tensor) -> bool:
    """Whether the launch means the same when its stores to ``new`` go to ``target``.

    It does when it writes each element once, all of them, and reads ``target`` only at those addresses, before.
    """
    stores = [
        (s, loops) for s, loops in always_run(launch.kernel, Store) if s.base in parameters(launch, new.storage.id)
    ]
    touching = accesses(launch, new.storage.id)
    reads = accesses(launch, target.storage.id)
    if not launch.kernel.complete or len(stores) != 1 or len(touching) != 1:
        return False
    store, loops = stores[0]
    assert isinstance(store, Store)
    if not store.mask_known:
        return False
    view = launch.tensor(store.base)
    written = addresses(launch, store, loops)
    if view is None or view.numel != new.numel or view.offset != 0 or written is None or not written.distinct:
        return False
    if new.shape is None or new.is_contiguous is not True or not written.cover(elements(new) or 0):
        return False
    order = [node for node, _ in launch.kernel.walk()]
    position = next(i for i, node in enumerate(order) if node is store)
    for read in reads:
        before = next(i for i, node in enumerate(order) if node is read) < position
        source = launch.tensor(read.base)
        starts = source is not None and source.offset == target.offset
        alike = (read.offset, read.shape) == (store.offset, store.shape)
        if not (isinstance(read, Load) and before and starts and alike):
            return False
    return True


@dataclass(frozen=True)
class WriteInPlace:
    """The workload with launches that store to the original tensors, without the copies back.

    ``outputs`` holds (launch, allocation, parameter, original tensor) of each; ``copies`` the copies that go.
    """

    outputs: tuple[tuple[Span, Span | None, str, Tensor], ...]
    copies: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        return replace(workload, steps=map_steps(workload.steps, self._step))

    def _step(self, step: Step) -> Step | None:
        if isinstance(step, TorchOp):
            freed = {allocation for _, allocation, _, _ in self.outputs}
            return None if step.span in self.copies or (step.kind == "alloc" and step.span in freed) else step
        if isinstance(step, Launch):
            given = {parameter: tensor for launch, _, parameter, tensor in self.outputs if launch == step.span}
            if given:
                alternatives = tuple(replace(a, arguments={**a.arguments, **given}) for a in step.alternatives)
                return replace(step, arguments={**step.arguments, **given}, alternatives=alternatives)
        return step
