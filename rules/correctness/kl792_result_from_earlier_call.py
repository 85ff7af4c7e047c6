from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule, elementwise
from kernlint.rules.correctness.provenance import replaces_model
from kernlint.rules.finding import Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.dataflow import fed_by, storages
from kernlint.workload import Span, Tensor, Workload


class ResultFromEarlierCall(Rule):
    code = "KL792"
    name = "result-from-earlier-call"
    severity = "error"
    at_any_size = True
    summary = "a second call of forward, on other tensors, returns what the first one computed"
    what_it_does = """
        Follows `forward` twice on one object, the second time on new tensors. Finds the results of the second call that depend on
        the inputs of the first one alone: a result kept in an attribute, a global or a dictionary whose key does not tell the
        inputs apart.
        """
    why = """
        Every call after the first is wrong, and measures as the time of a Python `if`. A benchmark that calls the function again on
        the same input sees nothing but speed.
        """
    when_not = "Prepared weights, workspaces and tables, which do not depend on the input. A key that was not followed."
    fix_safety = "No automatic fix: what the call should compute is not there."
    evidence = "A proof of data flow; nothing is measured. The mission of this tool names the case (cached outputs)."

    bad = (
        elementwise("double", "{} * 2.0")
        + """
        class Model(torch.nn.Module):
            def forward(self, x):
                return x * 2

        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.y = None

            def forward(self, x):
                if self.y is None:
                    self.y = torch.empty_like(x)
                    double[(triton.cdiv(x.numel(), 1024),)](x, self.y, x.numel(), BLOCK=1024)
                return self.y

        def get_inputs():
            return [torch.randn(1024, 1024)]
        """
    )
    good = bad.replace("                    double[", "                double[")
    example = "if self.y is None:\n    self.y = run(x)\nreturn self.y"
    use_instead = "return run(x)"

    def check(self, context: Context) -> Iterable[Finding]:
        first = context.workload
        if not replaces_model(first) or not first.inputs or not first.outputs:
            return
        second = context.program.second_call()
        if second is None or second.unknowns or not second.outputs:
            return
        # The inputs of one call live in storages of their own, so those of the second call have later ids.
        fresh = fed_by(second, storages(list(second.inputs)))
        # The same interpreter follows both calls, so a storage that the first call has made keeps its id.
        earlier = min(storages(list(second.inputs)), default=0)
        for output in second.outputs:
            kept = output.storage.id < earlier and output.storage.id not in fresh
            if kept and output.storage.origin not in ("parameter", "input") and _fed(first, output):
                yield self._finding(first, output)
                return

    def _finding(self, workload: Workload, output: Tensor) -> Finding:
        launches = workload.launches()
        span = output.storage.span or (launches[0].span if launches else Span(workload.file, 1, 1, 1, 1))
        return self.finding(
            f"a second call of `{workload.entry}` returns `{tensor_name(output, 'the result')}` as the first call left it",
            span,
            workload.entry,
            (Evidence("the second call, on other tensors, writes nothing that it returns", span),),
            kernel=launches[0].kernel.name if launches else "",
        )


def _fed(first: Workload, output: Tensor) -> bool:
    """Whether the tensor, made at the same place in the first call, depends on that call's inputs."""
    reached = fed_by(first, storages(list(first.inputs)))
    return any(
        tensor.storage.id in reached and tensor.storage.span == output.storage.span for tensor in first.outputs
    )  # fmt: skip
