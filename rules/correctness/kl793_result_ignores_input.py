from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.provenance import is_followed, replaces_model
from kernlint.rules.finding import Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.dataflow import fed_by, storages
from kernlint.workload import Span, Tensor, Workload


class ResultIgnoresInput(Rule):
    code = "KL793"
    name = "result-ignores-input"
    severity = "error"
    at_any_size = True
    summary = "no input's data can reach what forward returns, though the PyTorch model's result depends on it"
    what_it_does = """
        Follows the data of every tensor argument through the torch calls and kernels of a `forward` that replaces a PyTorch
        model. Finds the results that none of them reaches, where the model's result depends on its input.
        """
    why = """
        Such a result is a constant: zeros, a stored answer, what an uninitialised buffer held. It can pass a loose tolerance
        (a mean near zero, a saturated softmax) and measures as infinitely fast.
        """
    when_not = "Anything in the call that was not followed. Models whose result does not depend on their input."
    fix_safety = "No automatic fix: what the call should compute is not there."
    evidence = "A proof of data flow; nothing is measured. The mission of this tool names the case (constant outputs)."

    bad = """
        @triton.jit
        def fill(y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, 0.0, mask=i < n)

        class Model(torch.nn.Module):
            def forward(self, x):
                return torch.tanh(x * 1e-4)
        """
    good = bad.replace("fill(y, n", "scaled_tanh(x, y, n").replace(
        "tl.store(y + i, 0.0",
        "v = tl.load(x + i, mask=i < n) * 2e-4\n            tl.store(y + i, 2.0 / (1.0 + tl.exp(-v)) - 1.0",
    )
    launch = "fill[(triton.cdiv(x.numel(), 1024),)](y, x.numel(), BLOCK=1024)"
    good_launch = "scaled_tanh[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    inputs = "torch.randn(1024, 1024)"
    example = "y = torch.empty_like(x)\nfill[grid](y, x.numel(), BLOCK=1024)\nreturn y"
    use_instead = "scaled_tanh[grid](x, y, x.numel(), BLOCK=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        workload = context.workload
        if not replaces_model(workload) or not is_followed(workload) or not workload.inputs:
            return
        assert workload.reference is not None
        if not workload.outputs or not is_followed(workload.reference) or not _depends(workload.reference):
            return
        reached = fed_by(workload, storages(list(workload.inputs)))
        for output in workload.outputs:
            if output.storage.id not in reached and output.storage.origin != "parameter":
                yield self._finding(workload, output)
                return

    def _finding(self, workload: Workload, output: Tensor) -> Finding:
        names = ", ".join(f"`{tensor_name(tensor, 'an argument')}`" for tensor in workload.inputs)
        launches = workload.launches()
        span = output.storage.span or (launches[0].span if launches else Span(workload.file, 1, 1, 1, 1))
        return self.finding(
            f"what `{workload.entry}` returns does not depend on {names}",
            span,
            workload.entry,
            tuple(
                Evidence(f"`{launch.kernel.name}` reads none of them on the way to the result", launch.span)
                for launch in launches[:3]
            ),
            kernel="",
        )


def _depends(reference: Workload) -> bool:
    """Whether a result of the model depends on one of its inputs."""
    reached = fed_by(reference, storages(list(reference.inputs)))
    return any(output.storage.id in reached for output in reference.outputs)
