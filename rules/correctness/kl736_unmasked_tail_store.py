from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.tails import FIX_SAFETY, WHEN_NOT, WHY, unmasked_tails
from kernlint.rules.finding import Context, Finding
from kernlint.workload.access import Store


class UnmaskedTailStore(Rule):
    code = "KL736"
    name = "unmasked-tail-store"
    severity = "error"
    summary = "a store without a mask writes past the end of its tensor"
    bare = True
    what_it_does = """
        Finds accesses without a mask that leave their tensor. An error where a program and lane that write past the
        end are found at the sizes in view. A warning where sizes are open and the grid or the loop counts tiles of
        `cdiv(n, BLOCK)` with nothing that makes n a multiple of BLOCK, or where a load at the same offsets is masked.
        """
    why = WHY
    when_not = WHEN_NOT
    fix_safety = FIX_SAFETY
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows the lanes past the end overwritten. Pattern row
        BUG-007. No gain: wrong results have no speed.
        """
    references = (
        "https://github.com/Dao-AILab/flash-attention/issues/2790",
        "https://github.com/triton-lang/triton/issues/9026",
        "https://github.com/ypapadop-amd/ggml/issues/186",
    )

    bad = """
        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            off = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.load(x + off, mask=off < n, other=0.0)
            tl.store(o + off, v + 1.0)
        """
    good = bad.replace(" 1.0", " 1.0, mask=off < n")

    def check(self, context: Context) -> Iterable[Finding]:
        return unmasked_tails(self, context, Store)
