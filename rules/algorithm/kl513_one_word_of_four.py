from __future__ import annotations

from collections.abc import Iterable

from kernlint.operators.draw_four import DRAW_FOUR, FOUR
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.pricing import best_gain
from kernlint.rules.wording import listed


class OneWordOfFour(Rule):
    code = "KL513"
    name = "one-random-word-of-four"
    operator = DRAW_FOUR.name
    summary = "each lane runs Philox for itself and keeps one of the four random words that a run gives"
    what_it_does = """
        Finds `tl.rand`, `tl.randint` and `tl.randn` over a row of neighbouring offsets, where a quarter of the runs is predicted
        to take less time.
        """
    why = """
        Philox makes four words of 32 bits from one counter, in ten rounds of wide integer multiplications. `tl.rand` and `tl.randint` keep
        the first and drop the others, so that a kernel which draws a number for each element is bound by integer instructions and not by
        memory. `tl.rand4x` and its like give a number of each.
        """
    when_not = """
        Seeds that were stored have to give the numbers of before. Kernels in other modules draw the same numbers again.
        """
    fix_safety = """
        No automatic fix: other numbers of the same distribution are drawn, so that all draws of the same numbers (those of a backward
        pass) have to change together.
        """
    evidence = """
        H200, 64M elements of bfloat16, 1,024 a program: a dropout takes 208 us, and 88 us with `tl.rand4x` (float32: 209 and 129 us, a copy
        takes 129); normal noise that is added 335 and 167 us; random bytes 190 and 64 us. At 4M elements a dropout takes 14.6 and 7.0 us.
        (Measured for this rule; the three kernels are its example and two like it.)
                """

    bad = """
        @triton.jit
        def dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
            offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            mask = offs < n
            keep = tl.rand(seed, offs) >= p
            tl.store(y + offs, tl.where(keep, tl.load(x + offs, mask=mask), 0.0), mask=mask)
        """
    good = bad.replace(
        "keep = tl.rand(seed, offs) >= p",
        "counters = tl.program_id(0) * BLOCK // 4 + tl.arange(0, BLOCK // 4)\n"
        "            r0, r1, r2, r3 = tl.rand4x(seed, counters)\n"
        "            keep = tl.reshape(tl.join(tl.join(r0, r2), tl.join(r1, r3)), (BLOCK,)) >= p",
    )
    launch = "dropout[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 0.1, 7, BLOCK=1024)"
    inputs = "torch.randn(8192, 4096, dtype=torch.bfloat16)"

    def check(self, context: Context) -> Iterable[Finding]:
        draws = list(DRAW_FOUR.proven(context))
        variant = best_gain(context, [DRAW_FOUR.apply(context, draws)]) if draws else None
        if variant is None:
            return
        lines = ", ".join(str(line) for line in sorted({draw.span.line for draw in draws}))
        names = listed(sorted({f"`tl.{FOUR[draw.value.op]}`" for draw in draws}))
        for kernel in dict.fromkeys(draw.kernel for draw in draws):
            first = next(draw for draw in draws if draw.kernel == kernel)
            yield self.finding(
                f"`{kernel}` makes one random number of a run of Philox, which gives four words",
                first.span,
                kernel,
                (
                    Evidence(
                        f"{first.subject} runs Philox for each of {first.value.shape[0]} neighbouring lanes", first.span
                    ),
                ),
                Change(
                    variant,
                    f"`{kernel}` runs Philox, ten rounds of wide integer multiplications, for each element, and "
                    "drops most of the four words that a run gives.",
                    f"Draw four numbers at a time with {names}.",
                    f"At line{'s' * (',' in lines)} {lines} draw with {names} from a quarter of the counters and put the four tiles "
                    "together again with `tl.join` and `tl.reshape`, in every kernel that draws the same numbers.",
                ),
            )
