from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.against_reference import (
    HOW_COMPARED,
    HOW_MEASURED,
    WHEN_UNSURE,
    Difference,
    numbers,
    of_kind,
)
from kernlint.rules.finding import Context, Finding


class InputLeftOut(Rule):
    code = "KL767"
    name = "input-left-out"
    severity = "error"
    summary = "the result depends on an input in the reference and not in the program, or the other way round"
    what_it_does = f"""
        Looks for inputs, weights and biases that make elements of the result in the reference and are never read for
        them in the program, or the other way round. {HOW_COMPARED}
        """
    why = """
        The program computes another function.
        """
    when_not = f"""
        A weight that holds ones, or a bias of zeros, makes no difference before it is trained: a warning. {WHEN_UNSURE}
        """
    fix_safety = "No automatic fix: which of the two is meant, only the author knows."
    evidence = HOW_MEASURED

    bad = """
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.bias = torch.nn.Parameter(torch.randn(1000))

            def forward(self, x):
                return torch.relu(x + self.bias)

        @triton.jit
        def relu(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            m = i < n
            v = tl.load(x + i, mask=m)
            tl.store(y + i, tl.maximum(v, 0.0), mask=m)

        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.bias = torch.nn.Parameter(torch.randn(1000))

            def forward(self, x):
                y = torch.empty_like(x)
                relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(1000, 1000)]
        """
    good = (
        bad.replace("relu(x, y, n, BLOCK", "relu(x, b, y, n, c, BLOCK")
        .replace("tl.load(x + i, mask=m)", "tl.load(x + i, mask=m) + tl.load(b + i % c, mask=m)")
        .replace("](x, y, x.numel(), B", "](x, self.bias, y, x.numel(), 1000, B")
    )
    example = "tl.store(y + i, tl.maximum(v, 0.0), mask=m)  # of relu(x + self.bias)"
    use_instead = "v = tl.load(x + i, mask=m) + tl.load(b + i % c, mask=m)"

    def check(self, context: Context) -> Iterable[Finding]:
        def said(difference: Difference, name: str) -> str:
            theirs, ours = difference.output.paths
            left, more = (", ".join(f"`{path}`" for path in sorted(one)) for one in (theirs - ours, ours - theirs))
            parts = [f"{left} of the reference makes no element of {name}"] if left else []
            parts += [f"{more} makes elements of {name}, in the reference it does not"] if more else []
            witness = difference.witness
            end = f": {numbers(witness)}" if witness is not None else ", which shows once it holds something else"
            return f"{'; '.join(parts)}{end}"

        return of_kind(self, context, "inputs", said)
