from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.against_reference import HOW_COMPARED, HOW_MEASURED, WHEN_UNSURE, Difference, of_kind
from kernlint.rules.finding import Context, Finding
from kernlint.workload import Tensor


class ResultOfAnotherForm(Rule):
    code = "KL765"
    name = "result-of-another-form"
    severity = "error"
    summary = "the result has another shape or element type than that of the reference"
    what_it_does = f"""
        Compares the shapes and element types of what `forward` returns with those of the reference. {HOW_COMPARED}
        """
    why = """
        Whoever takes the program in the place of the reference gets another tensor: code that checks shapes or types
        fails, code that broadcasts goes on with something else.
        """
    when_not = f"""
        A program whose callers want the other form. {WHEN_UNSURE}
        """
    fix_safety = "No automatic fix: which of the two is meant, only the author knows."
    evidence = HOW_MEASURED

    bad = """
        class Model(torch.nn.Module):
            def forward(self, x):
                return x.sum()

        @triton.jit
        def total(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))
        """
    launch = "total[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    good_launch = f"{launch}\n                y = y[0]"
    makes = "y = torch.zeros(1, device=x.device)"
    inputs = "torch.randn(1000, 1000)"
    example = "return y  # float32[1], where x.sum() is float32[]"
    use_instead = "return y[0]"

    def check(self, context: Context) -> Iterable[Finding]:
        def said(difference: Difference, name: str) -> str:
            ours, theirs = difference.output.program, difference.output.reference
            return f"{name} is {_form(ours)}, in the reference {_form(theirs)}"

        return of_kind(self, context, "form", said)


def _form(tensor: Tensor) -> str:
    return f"{tensor.dtype or 'unknown'}[{', '.join(map(str, tensor.shape or ()))}]"
