from __future__ import annotations

from collections.abc import Iterable

from kernlint.interpret.reading.launching import may_launch
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.correctness.provenance import replaces_model
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.workload import TorchOp


class KernelNeverLaunched(Rule):
    code = "KL790"
    name = "kernel-never-launched"
    severity = "error"
    at_any_size = True
    summary = "the model has a Triton kernel that no call of forward can reach"
    what_it_does = """
        Finds a `forward` that replaces a PyTorch model at hand, whose module defines `@triton.jit` kernels, and from which
        no launch can be reached through any name that it, or what it calls, uses.
        """
    why = """
        The result is right because PyTorch computes it. A test of the output passes and a measured speedup says nothing
        about the kernel, which never ran.
        """
    when_not = "A module whose kernels another module launches. A `forward` that calls functions of other modules."
    fix_safety = "No automatic fix: whether the kernel should run is the author's to say."
    evidence = """
        Kernels of this kind are a known way in which trained kernel writers pass a correctness test without writing a kernel;
        the mission of this tool names it. No timing is involved.
        """

    bad = (
        elementwise("relu_kernel", "tl.maximum({}, 0.0)")
        + """
        class Model(torch.nn.Module):
            def forward(self, x):
                return torch.relu(x)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                return torch.relu(x)

        def get_inputs():
            return [torch.randn(1024, 1024)]
        """
    )
    good = bad.replace(
        """ModelNew(torch.nn.Module):
            def forward(self, x):
                return torch.relu(x)""",
        """ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty_like(x)
                relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
                return y""",
    )
    example = "def forward(self, x):\n    return torch.relu(x)"
    use_instead = "def forward(self, x):\n    relu_kernel[grid](x, y, x.numel(), BLOCK=1024)\n    return y"

    def check(self, context: Context) -> Iterable[Finding]:
        workload, module = context.workload, context.program.kernel
        owner = workload.entry.partition(".")[0]
        if not replaces_model(workload) or workload.launches() or owner in may_launch(module):
            return
        ops = [step for step in workload.all_steps if isinstance(step, TorchOp) and step.kind != "alloc"]
        # What another module is asked to do may launch.
        if workload.unknowns or any(origin.startswith(".") for origin in module.imports.values()):
            return
        names = ", ".join(dict.fromkeys(op.name for op in ops[:3]))
        instead = f"PyTorch does the work ({names})" if ops else "nothing does the work"
        for kernel in jit_functions(module):
            yield self.finding(
                f"no call of `{workload.entry}` launches `{kernel.name}`: {instead}",
                module.span(kernel.node.name),
                workload.entry,
                tuple(Evidence(f"`{workload.entry}` calls `{op.name}`", op.span) for op in ops[:3]),
                kernel=kernel.name,
            )
