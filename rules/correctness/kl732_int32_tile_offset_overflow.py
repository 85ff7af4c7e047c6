from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.overflow import TILE, WIDENED, overflows, possible
from kernlint.rules.finding import Context, Finding


class Int32TileOffsetOverflow(Rule):
    code = "KL732"
    name = "int32-tile-offset-overflow"
    severity = "info"
    summary = "a tile of row indices is multiplied by a stride in 32 bits"
    default = False
    bare = True
    what_it_does = """
        Finds `(pid * BLOCK + tl.arange(0, BLOCK)) * stride` in 32 bits where neither the rows nor the stride are
        bounded in view. Sizes at which it is proven to overflow are KL730.
        """
    why = """
        Triton computes in the type of the operands: program ids, `tl.arange` and loop variables are int32, and so are
        integer arguments below 2^31. The product wraps to a negative number before it is added to the pointer, and
        the kernel reads or overwrites other memory. Tests at small sizes pass. Views of fused tensors have row
        strides several times their width, so they overflow first.
        """
    when_not = """
        Off by default: most kernels never see 2^31 elements. Strides of the last dimension, head dimensions and other
        small products do not count.
        """
    fix_safety = WIDENED
    evidence = """
        The row's TTIR (Triton 3.9.0) shows `muli` on tensors of i32. Pattern row BUG-003. No gain: wrong results have
        no speed.
        """
    references = (
        "https://github.com/thu-ml/SageAttention/issues/390",
        "https://github.com/triton-lang/triton/issues/6748",
    )

    bad = """
        @triton.jit
        def k(x, o, sm, sn, M, N, BM: tl.constexpr, BN: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            n = tl.arange(0, BN)
            mask = (m[:, None] < M) & (n[None, :] < N)
            v = tl.load(x + m[:, None] * sm + n[None, :] * sn, mask=mask, other=0.0)
            tl.store(o + m[:, None] * BN + n[None, :], v, mask=mask)
        """
    good = bad.replace(
        "            v = tl.load(x + m[", "            mw = m.to(tl.int64)\n            v = tl.load(x + mw["
    ).replace("(o + m[", "(o + mw[")

    def check(self, context: Context) -> Iterable[Finding]:
        found = [one for one in overflows(context.workload) if one.value is None and one.kind == TILE]
        yield from possible(self, context, found, "rows times stride")
