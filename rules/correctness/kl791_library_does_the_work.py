from __future__ import annotations

from collections.abc import Iterable

from kernlint.cost.estimate import Estimate
from kernlint.cost.result import StepTime
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.correctness.provenance import replaces_model
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.workload import Launch, TorchOp

#: The share of the time of a call below which its kernels are an ornament.
_ORNAMENT = 0.10
#: Two torch calls do the same work when their predicted times are this close.
_SAME = 0.10
#: The part of the reference's time that its heaviest call must have to be "the work".
_HEAVY = 0.5


class LibraryDoesTheWork(Rule):
    code = "KL791"
    name = "library-does-the-work"
    at_any_size = True
    summary = "the heaviest call of the PyTorch model is still made, and the kernels around it take next to no time"
    what_it_does = """
        Compares a `forward` with the PyTorch model that it replaces. Finds the one torch call that takes more than half of the
        model's predicted time in the replacement too (same kind, same predicted time), where all launched kernels together
        take less than a tenth of the call.
        """
    why = """
        The replacement is as fast as the library call in it, whatever its kernels do. To whoever asked for a kernel for
        that call, this is not one; in training data it teaches the wrong lesson.
        """
    when_not = """
        A hybrid whose kernels fuse what surrounds a library call and take a real share of the time. Code without the
        PyTorch model at hand.
        """
    fix_safety = "No automatic fix: the kernel that should do the work is not there."
    evidence = """
        Of the correct LLM-written kernels of a public repository with measured times, those that leave the heavy call to the
        library run at 1.0x of it by construction. The shares are the cost model's, not measurements.
        """

    bad = (
        elementwise("copy_kernel", "{}")
        + """
        class Model(torch.nn.Module):
            def forward(self, a, b):
                return torch.matmul(a, b)

        class ModelNew(torch.nn.Module):
            def forward(self, a, b):
                c = torch.matmul(a, b)
                y = torch.empty_like(c)
                copy_kernel[(triton.cdiv(c.numel(), 1024),)](c, y, c.numel(), BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(4096, 4096), torch.randn(4096, 4096)]
        """
    )
    good = bad.replace("4096), torch.randn(4096", "64), torch.randn(64")
    example = "c = torch.matmul(a, b)  # all the work\ncopy_kernel[grid](c, y, ...)"
    use_instead = "matmul_kernel[grid](a, b, y, ...)"

    def check(self, context: Context) -> Iterable[Finding]:
        workload = context.workload
        launches = workload.launches()
        if not replaces_model(workload) or not launches:
            return
        assert workload.reference is not None
        reference, here = context.estimate(workload.reference), context.estimate(workload)
        heaviest = _heaviest(reference)
        if heaviest is None or not here.gpu_us:
            return
        kernels = sum(row.total_gpu_us for row in here.steps if isinstance(row.step, Launch))
        same = next((row for row in here.steps if _does(row, heaviest)), None)
        if same is None or kernels > _ORNAMENT * here.gpu_us:
            return
        step = same.step
        assert isinstance(step, TorchOp)
        share = kernels / here.gpu_us
        yield self.finding(
            f"`{step.name}` does the work of the model, {same.total_gpu_us / here.gpu_us:.0%} of the predicted time; "
            f"the kernels take {share:.0%}",
            step.span,
            step.function,
            (
                Evidence(f"the model that `{workload.entry}` replaces spends "
                         f"{heaviest.total_gpu_us / (reference.gpu_us or 1):.0%} of its time in the same call",
                         heaviest.step.span),
                *(Evidence(f"launches `{launch.kernel.name}`", launch.span) for launch in launches[:3]),
            ), kernel="",
        )  # fmt: skip


def _heaviest(reference: Estimate) -> StepTime | None:
    """The torch call that most of the time goes to; None where no single one has more than ``_HEAVY`` of it."""
    rows = [row for row in reference.steps if isinstance(row.step, TorchOp)]
    if not rows or not reference.gpu_us:
        return None
    best = max(rows, key=lambda row: row.total_gpu_us)
    return best if best.total_gpu_us > _HEAVY * reference.gpu_us else None


def _does(row: StepTime, heaviest: StepTime) -> bool:
    """Whether ``row`` is a torch call of the same kind that does as much."""
    return (
        isinstance(row.step, TorchOp)
        and isinstance(heaviest.step, TorchOp)
        and row.step.kind == heaviest.step.kind
        and row.total_gpu_us > (1 - _SAME) * heaviest.total_gpu_us
    )
