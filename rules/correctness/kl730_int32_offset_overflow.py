from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.overflow import SCALAR, WIDENED, WideIndices, overflows, possible, proven
from kernlint.rules.finding import Context, Finding


class Int32OffsetOverflow(Rule):
    code = "KL730"
    name = "int32-offset-overflow"
    severity = "error"
    summary = "a program id, loop variable or stride is multiplied in 32 bits and the product outgrows them"
    bare = True
    what_it_does = """
        Follows every address to the 32-bit products in it. An error where a product passes 2^31 at the sizes in view,
        with the program that computes it. Where sizes are open, it reports scalar products of a program id or loop
        variable with a stride that nothing in view bounds, at info level and once a kernel.
        """
    why = """
        Triton computes in the type of the operands: program ids, `tl.arange` and loop variables are int32, and so are
        integer arguments below 2^31. The product wraps to a negative number before it is added to the pointer, and
        the kernel reads or overwrites other memory. Tests at small sizes pass.
        """
    when_not = """
        Sizes that are asserted to stay below 2^31 elements. Strides annotated `tl.int64`. A cast before the product;
        one after it is too late.
        """
    fix_safety = WIDENED
    evidence = """
        The row's own TTIR for sm_90 (Triton 3.9.0) shows the product as 32-bit `arith.muli`. Pattern row BUG-001. No
        gain: wrong results have no speed.
        """
    references = (
        "https://github.com/databricks/megablocks/issues/185",
        "https://github.com/fla-org/flash-linear-attention/issues/1080",
        "https://github.com/vllm-project/vllm/issues/42201",
    )

    bad = """
        @triton.jit
        def k(x, o, stride, n, B: tl.constexpr):
            row = tl.program_id(0)
            c = tl.arange(0, B)
            p = x + row * stride
            v = tl.load(p + c, mask=c < n, other=0.0)
            tl.store(o + row * stride + c, v, mask=c < n)
        """
    good = bad.replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)")

    def check(self, context: Context) -> Iterable[Finding]:
        found = list(overflows(context.workload))
        for one in found:
            if one.value is not None:
                repair = WideIndices(one.launch.kernel.name, frozenset({SCALAR}), proven=True)
                yield proven(self, context, one, repair)
        yield from possible(
            self, context, [one for one in found if one.value is None and one.kind == SCALAR], "the product"
        )
