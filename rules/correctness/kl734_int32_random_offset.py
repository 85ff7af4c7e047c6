from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.overflow import FLAT, WIDENED, possible, random_overflows
from kernlint.rules.finding import Context, Finding


class Int32RandomOffset(Rule):
    code = "KL734"
    name = "int32-random-offset"
    severity = "info"
    summary = "the offset of a random number is a 32-bit product of open sizes"
    bare = True
    what_it_does = """
        Finds `tl.rand`, `tl.randn` and `tl.randint` whose offset holds a product of two or more open sizes in 32
        bits.
        """
    why = "Where the product wraps, two elements get the same random number, so that a dropout mask repeats."
    when_not = "Offsets over one tensor of moderate size. Element counts that are asserted below 2^31."
    fix_safety = WIDENED
    evidence = """
        The row's TTIR (Triton 3.9.0) shows a 32-bit `muli`. Pattern row BUG-005. No gain: wrong results have no
        speed.
        """
    references = (
        "https://github.com/xlite-dev/ffpa-attn/issues/352",
        "https://github.com/facebookresearch/xformers/issues/164",
    )

    bad = """
        @triton.jit
        def k(o, seed, M, N, B: tl.constexpr):
            bh = tl.program_id(0)
            n = tl.arange(0, B)
            off = bh * M * N + n
            tl.store(o + n, tl.rand(seed, off))
        """
    good = bad.replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)")

    def check(self, context: Context) -> Iterable[Finding]:
        found = [one for one in random_overflows(context.workload) if one.kind != FLAT]
        yield from possible(self, context, found, "the product", random=True)
