from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.overflow import FLAT, WIDENED, overflows, possible
from kernlint.rules.finding import Context, Finding


class Int32FlatIndexOverflow(Rule):
    code = "KL733"
    name = "int32-flat-index-overflow"
    severity = "info"
    summary = "the flat index of an elementwise kernel is computed in 32 bits"
    default = False
    bare = True
    what_it_does = """
        Finds `pid * BLOCK + tl.arange(0, BLOCK)` in 32 bits as the whole offset, with a number of programs that
        nothing in view bounds. Sizes at which it is proven to overflow are KL730.
        """
    why = "Beyond 2^31 elements the offset wraps, even where the element count itself is passed as int64."
    when_not = """
        Off by default: very common, and most kernels never see 2^31 elements. Wrappers that assert the size or work
        in chunks.
        """
    fix_safety = WIDENED
    evidence = """
        The row's TTIR (Triton 3.9.0): the product stays 32-bit even with an i64 element count. Pattern row BUG-004.
        No gain: wrong results have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/1058",
        "https://github.com/ROCm/triton/issues/944",
    )

    bad = """
        @triton.jit
        def k(x, o, numel, B: tl.constexpr):
            off = tl.program_id(0) * B + tl.arange(0, B)
            m = off < numel
            tl.store(o + off, tl.load(x + off, mask=m, other=0.0) * 2.0, mask=m)
        """
    good = bad.replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)")

    def check(self, context: Context) -> Iterable[Finding]:
        found = [one for one in overflows(context.workload) if one.value is None and one.kind == FLAT]
        yield from possible(self, context, found, "the number of elements")
