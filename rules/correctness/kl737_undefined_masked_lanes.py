from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import replace
from kernlint.rules.base import Rule
from kernlint.rules.correctness.masked_lanes import described, finding, reductions
from kernlint.rules.finding import Context, Finding, doubted


class UndefinedMaskedLanes(Rule):
    code = "KL737"
    name = "undefined-masked-lanes"
    summary = "a masked load without `other` reaches a reduction"
    bare = True
    what_it_does = """
        Follows the lanes that a mask leaves out from a load without `other` to `tl.sum`, `tl.max` and the like. A warning where
        the sizes in view leave lanes out, or where zero, which the compilers of NVIDIA happen to give, would be wrong too; info
        where zero would be right, as in a maximum of magnitudes, and other sizes may leave no lane out.
        """
    why = """
        Triton leaves masked lanes without `other` undefined. They are zero on NVIDIA today, which is the identity of
        a sum but not of a maximum, a minimum or a product.
        """
    when_not = "Values that `tl.where` masks again before the reduction, or that are only stored under the same mask."
    fix_safety = """
        Safe: the load gets the identity of the reduction behind it as `other`; the program is analysed again to see
        that it suits all of them. Refused where no one value does, as for a sum and a maximum of the same load.
        """
    evidence = """
        The row's TTIR (Triton 3.9.0): `tt.load` has a mask and no `other` operand. Pattern row BUG-008. No gain:
        wrong results have no speed.
        """
    references = (
        "https://github.com/flagos-ai/FlagGems/issues/3716",
        "https://github.com/ROCm/aiter/issues/4288",
        "https://github.com/vllm-project/vllm/issues/9014",
    )

    bad = """
        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            c = tl.arange(0, B)
            v = tl.load(x + c, mask=c < n)
            tl.store(o, tl.sum(v, axis=0))
        """
    good = bad.replace("c < n", "c < n, other=0.0")

    def check(self, context: Context) -> Iterable[Finding]:
        for found in reductions(context.workload):
            # What a combining function of the author's makes of such lanes is not known.
            if found.pad.value == "undefined" and found.reduce.op != "reduce":
                as_zero = described(replace(found, pad=replace(found.pad, value=0.0)))
                wrong = as_zero and found.reduce.dtype is not None
                harmless = not wrong and not found.proven
                doubts = doubted(harmless, "zero, which the compilers of today happen to give, would be right")
                what = "which Triton leaves undefined: the load has no `other`"
                yield finding(self, context, found, what, *doubts)
