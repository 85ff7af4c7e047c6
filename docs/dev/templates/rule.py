from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding


class NameOfTheBadPattern(Rule):
    code = "KL699"
    name = "name-of-the-bad-pattern"
    summary = "one line, lower case: what the code does that it should not"
    what_it_does = """
        Finds ... (which code, under which conditions; what is proven before anything is said).
        """
    why = """
        Why that is slow or wrong, in terms of the hardware or of Triton.
        """
    when_not = """
        Code that looks alike and is fine; where the finding should be ignored.
        """
    fix_safety = "Safe, or unsafe and why; what it does to numerics and memory."
    evidence = """
        GPU, shape, before and after, and where the numbers are from.
        """

    bad = """
        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
        """
    good = bad
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    inputs = "torch.randn(4096, 4096)"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.distinct_launches():
            proven = launch.autotuned  # ask an operator or rules/proofs, not the spelling
            if proven:
                kernel = launch.kernel.name
                yield self.finding(
                    f"`{kernel}` does what it should not",
                    launch.span,
                    kernel,
                    (Evidence("the value that proves it", launch.span),),
                    Change(None, "What holds it back.", "What to do.", "The steps, with lines and names."),
                )
