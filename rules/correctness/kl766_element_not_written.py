from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule, elementwise
from kernlint.rules.correctness.against_reference import HOW_COMPARED, HOW_MEASURED, WHEN_UNSURE, Difference, of_kind
from kernlint.rules.finding import Context, Finding


class ElementNotWritten(Rule):
    code = "KL766"
    name = "element-not-written"
    severity = "error"
    summary = "an element of the result rests on memory that nothing writes"
    what_it_does = f"""
        Looks for elements of the result that no program of any launch stores to, or that are computed from elements of
        `torch.empty` that none stores to. {HOW_COMPARED}
        """
    why = """
        Such an element holds whatever the caching allocator kept there: often the right answer of an earlier call, so
        that a test that runs the reference first passes.
        """
    when_not = f"""
        Elements that no caller looks at. {WHEN_UNSURE}
        """
    fix_safety = "No automatic fix: which of the two is meant, only the author knows."
    evidence = HOW_MEASURED

    bad = """
        class Model(torch.nn.Module):
            def forward(self, x):
                return torch.relu(x)
        """ + elementwise("relu", "tl.maximum({}, 0.0)")
    launch = "relu[(x.numel() // 1024,)](x, y, x.numel(), BLOCK=1024)"
    good_launch = "relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    inputs = "torch.randn(1000, 1000)"
    example = "relu[(x.numel() // 1024,)](x, y, x.numel(), BLOCK=1024)  # the rest of a block has no program"
    use_instead = "relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        def said(difference: Difference, name: str) -> str:
            witness = difference.witness
            assert witness is not None
            place = ", ".join(map(str, witness.place))
            what = "no program writes" if witness.unwritten else "nothing writes all that makes"
            return f"{what} element [{place}] of {name}, which in the reference is {witness.expected:.5g}"

        return of_kind(self, context, "unwritten", said)
