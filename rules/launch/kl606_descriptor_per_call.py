from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.launch.per_call import run_each_time
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module

_MAKERS = frozenset({"TensorDescriptor", "TensorDescriptor.from_tensor"})


class DescriptorPerCall(Rule):
    code = "KL606"
    name = "descriptor-per-call"
    severity = "info"
    summary = "a TMA descriptor of a model's weight is built on every call"
    what_it_does = """
        Finds `TensorDescriptor(...)` and `TensorDescriptor.from_tensor(...)` of a tensor that the object keeps (`self.weight`)
        in a routine that every call of the entry runs.
        """
    why = "A descriptor holds address, shape and strides. Those of a weight never change, and building one takes host time."
    when_not = "Tensors that are allocated anew on each call. Kernels of more than 100 us."
    fix_safety = "Unsafe where the weight may be moved or replaced: then the descriptor must follow it."
    evidence = """
        No time of our own. The row's threads: a launch takes 38 us with descriptors where it takes 16 with pointers (H100, triton
        pull request 7987). Pattern row PERF-084.
        """

    bad = """
        from triton.tools.tensor_descriptor import TensorDescriptor

        @triton.jit
        def double(x, y, N, BM: tl.constexpr, BN: tl.constexpr):
            tile = x.load([tl.program_id(0) * BM, 0])
            m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
            tl.store(y + m[:, None] * N + n[None, :], tile * 2)

        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(1024, 64))

            def forward(self, x):
                y = torch.empty_like(x)
                w = TensorDescriptor.from_tensor(self.weight, [16, 64])
                double[(64,)](w, y, 64, BM=16, BN=64)
                return y

        def get_inputs():
            return [torch.randn(1024, 64)]
        """
    good = bad.replace(
        "self.weight = torch.nn.Parameter(torch.randn(1024, 64))",
        "self.weight = torch.nn.Parameter(torch.randn(1024, 64))\n"
        "                self.rows = TensorDescriptor.from_tensor(self.weight, [16, 64])",
    ).replace("w = TensorDescriptor.from_tensor(self.weight, [16, 64])", "w = self.rows")
    example = "w = TensorDescriptor.from_tensor(self.weight, [16, 64])  # in forward"
    use_instead = "self.rows = TensorDescriptor.from_tensor(self.weight, [16, 64])  # in __init__"

    def check(self, context: Context) -> Iterable[Finding]:
        launches = context.workload.launches()
        if not launches:
            return
        module = context.program.kernel
        for routine, call, kept in run_each_time(module, context.workload.entry, module.once(_kept_tensors)):
            span = module.span(call)
            yield self.finding(
                f"`{routine.symbol}` builds a descriptor of `{kept}` on every call",
                span,
                routine.symbol,
                (Evidence(f"`{kept}` belongs to the object and stays where it is", span),),
                Change(
                    None,
                    f"Each call encodes a TMA descriptor of `{kept}`, which never changes.",
                    "Build the descriptor once, beside the tensor.",
                    f"Move the construction at line {span.line} to `__init__` (or to where the weight is loaded).",
                    priced=False,
                ),
                kernel=launches[0].kernel.name,
            )


def _kept_tensors(module: Module) -> dict[cst.Call, str]:
    """The calls that make a descriptor of an attribute of ``self``, with what the source calls that."""
    makers = (
        calls
        for origin, calls in module.calls.items()
        if any(origin == maker or origin.endswith(f".{maker}") for maker in _MAKERS)
    )
    names = {call: dotted_name(call.args[0].value) or "" for calls in makers for call in calls if call.args}
    return {call: name for call, name in names.items() if name.startswith("self.")}
