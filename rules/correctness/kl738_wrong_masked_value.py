from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.masked_lanes import described, finding, reductions
from kernlint.rules.finding import Context, Finding, doubted


class WrongMaskedValue(Rule):
    code = "KL738"
    name = "wrong-masked-value"
    severity = "error"
    summary = "masked lanes hold a value that changes the reduction they take part in"
    bare = True
    what_it_does = """
        Follows the value of masked lanes (`other`, and what arithmetic makes of it) to the reduction that consumes
        them, and finds those where it is not the identity: zero in a maximum, a positive number in a sum (`exp(0 -
        max)`), the shifted zero of a variance. An error where some lane is masked at the sizes in view, else
        for information: that no caller has such a row is often known to its author.
        """
    why = """
        The maximum of a row of negative numbers becomes 0, the denominator of a softmax counts lanes that do not
        exist. Rows as long as the block never show it.
        """
    when_not = """
        Maxima of values that cannot be negative (`tl.abs`, squares, unsigned types), as for quantisation scales.
        Values that `tl.where` masks again.
        """
    fix_safety = """
        Unsafe where the load says what masked lanes hold, which may be used elsewhere too: the `other` of the load becomes
        one that changes none of the reductions behind it, or the difference from a mean gets a `tl.where` with the mask of
        the load; the program is analysed again to see that. Refused where neither does.
        """
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) differs from `torch.softmax`. Pattern row BUG-009. No
        gain: wrong results have no speed.
        """
    references = (
        "https://github.com/vllm-project/vllm/issues/55009",
        "https://github.com/ROCm/aiter/issues/4291",
    )

    bad = """
        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            c = tl.arange(0, B)
            v = tl.load(x + c, mask=c < n, other=0.0)
            v = v - tl.max(v, axis=0)
            e = tl.exp(v)
            tl.store(o + c, e / tl.sum(e, axis=0), mask=c < n)
        """
    good = bad.replace("other=0.0", 'other=-float("inf")')

    def check(self, context: Context) -> Iterable[Finding]:
        for found in reductions(context.workload):
            what = described(found)
            if what:
                doubts = doubted(not found.proven, "the mask may leave no lane out at the sizes of a call")
                yield finding(self, context, found, what, *doubts)
