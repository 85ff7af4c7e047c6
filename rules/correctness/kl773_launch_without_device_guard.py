from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.repair import Repair, mending
from kernlint.syntax.tree import Module
from kernlint.workload import Span


@dataclass(frozen=True)
class OnDeviceOf(Repair):
    """The program whose ``launch`` is made on the device of its tensors."""

    launch: Span


class LaunchWithoutDeviceGuard(Rule):
    code = "KL773"
    name = "launch-without-device-guard"
    severity = "info"
    default = False
    summary = "a kernel is launched on the current device, whichever device its tensors are on"
    what_it_does = """
        Finds launches on tensors of the caller that stand in no `with` statement and under no decorator; a device guard is one or the
        other.
        """
    why = """
        Triton launches on the current CUDA device. For a tensor on `cuda:1` while `cuda:0` is current, the launch fails or works on
        memory of the other device.
        """
    when_not = """
        Off by default: most programs use one device per process, and autograd sets the device for backward passes. Custom operators
        whose registration has a guard.
        """
    fix_safety = """
        Safe: the launch stands in `with torch.cuda.device_of(x):`, which does nothing for tensors of the CPU; it
        costs some microseconds of host time.
        """
    evidence = "Documented behaviour of Triton's launcher; nothing is measured. Pattern row BUG-058."

    bad = """
        @triton.jit
        def double(x, o, n, B: tl.constexpr):
            a = tl.arange(0, B)
            tl.store(o + a, tl.load(x + a, mask=a < n) * 2, mask=a < n)

        def run(x):
            o = torch.empty_like(x)
            double[(1,)](x, o, x.numel(), B=1024)
            return o
        """
    good = bad.replace("    double[", "    with torch.cuda.device(x.device):\n                double[")
    example = "double[grid](x, o, x.numel(), B=1024)"
    use_instead = "with torch.cuda.device(x.device):\n    double[grid](x, o, x.numel(), B=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        inputs = {tensor.storage.id for tensor in context.workload.inputs}
        seen = set()
        for launch in context.launches():
            tensors = [launch.tensor(name) for name in launch.arguments]
            foreign = any(tensor is not None and tensor.storage.id in inputs for tensor in tensors)
            if context.workload.bare or not foreign or launch.span in seen or _guarded(module, launch.span):
                continue
            seen.add(launch.span)
            yield self.finding(
                f"`{launch.kernel.name}` is launched on the current device, not on that of its tensors",
                launch.span,
                launch.function,
                (Evidence("no `with` statement and no decorator stands around the launch", launch.span),),
                mending(
                    context,
                    OnDeviceOf(launch.span),
                    f"`{launch.kernel.name}` is launched on the current device",
                    "Launch inside `with torch.cuda.device_of(tensor):`.",
                ),
                kernel=launch.kernel.name,
            )


def _guarded(module: Module, launch: Span) -> bool:
    """Whether the launch stands inside a ``with`` statement or a decorated function of ``module``, or elsewhere."""
    return launch.file != module.path or _stands_guarded(module, launch, frozenset())


def _stands_guarded(module: Module, place: Span, seen: frozenset[str]) -> bool:
    """Whether the place stands inside such a block or function, or in a function that is called in such places alone."""
    around = [*module.of(cst.With), *(f for f in module.of(cst.FunctionDef) if f.decorators)]
    if any(_within(place, module.span(node)) for node in around):
        return True
    functions = [s for s in module.tree.body if isinstance(s, cst.FunctionDef) and _within(place, module.span(s))]
    name = functions[0].name.value if functions else ""
    if not name or name in seen:
        return False
    calls = [c for c in module.of(cst.Call) if isinstance(c.func, cst.Name) and c.func.value == name]
    # A name that is more than called may be called anywhere.
    others = sum(node.value == name for node in module.of(cst.Name)) - len(calls) - 1
    return bool(calls) and others == 0 and all(_stands_guarded(module, module.span(c), seen | {name}) for c in calls)


def _within(inner: Span, outer: Span) -> bool:
    return outer.line <= inner.line <= inner.end_line <= outer.end_line
