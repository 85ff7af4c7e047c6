from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.tails import FIX_SAFETY, WHEN_NOT, WHY, unmasked_tails
from kernlint.rules.finding import Context, Finding
from kernlint.workload.access import Load


class UnmaskedTailLoad(Rule):
    code = "KL735"
    name = "unmasked-tail-load"
    severity = "error"
    summary = "a load without a mask reads past the end in the last, partial tile"
    bare = True
    what_it_does = """
        Finds accesses without a mask that leave their tensor. An error where a program and lane that read past the
        end are found at the sizes in view. A warning where sizes are open and the grid or the loop counts tiles of
        `cdiv(n, BLOCK)` with nothing that makes n a multiple of BLOCK. A remark where another load of the tensor is masked at
        the same offsets.
        """
    why = WHY
    when_not = WHEN_NOT
    fix_safety = FIX_SAFETY
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows the lanes past the end in the sum. Pattern row
        BUG-006. No gain: wrong results have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/10772",
        "https://github.com/vllm-project/vllm/issues/47323",
        "https://github.com/stanford-futuredata/stk/issues/12",
    )

    bad = """
        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            off = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.load(x + off)
            tl.store(o + tl.program_id(0), tl.sum(v, axis=0))
        def run(x, o, n):
            k[(triton.cdiv(n, 16),)](x, o, n, B=16)
        """
    good = bad.replace("+ off", "+ off, mask=off < n, other=0.0")

    def check(self, context: Context) -> Iterable[Finding]:
        return unmasked_tails(self, context, Load)
