from __future__ import annotations

from collections.abc import Iterator

from kernlint.headroom.words import advice, message
from kernlint.rules.base import Option, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding


class FarAboveAchievable(Rule):
    code = "KL611"
    name = "far-above-achievable"
    severity = "info"
    summary = "A call takes several times what a well-written version of the same computation would."
    default = False
    options = (Option("times", 3.0, "How many times the achievable time a call must take to be reported.", 1.2),)

    what_it_does = """
        Prices the call, and a well-written version of the same computation (each byte read and written once, each operation in
        the fastest unit of its type, few launches), and reports the largest cause of the difference where the call takes more
        than `times` times as long. It needs sizes that are known and knows no pattern: the other rules say more where they apply.
        """
    why = """
        Most slow kernels are slow in ways that no catalogue lists. What a computation must move and compute says how far a call is
        from what is possible whatever the code looks like.
        """
    when_not = """
        Where sizes are only examples, or where the work is data-dependent in a way that the source does not show.
        """
    fix_safety = "No automatic fix: the finding names the cause, not an edit."
    evidence = """
        On 134 sizes of 72 programs that nobody had developed against, measured on an H100, verdicts with such causes were right in
        121 and said yes at none of the 46 where nothing was to be gained; without them 31 of the first 44 were right
        (`evals/README.md`).
        """

    bad = """
        ROWS, COLS = 4096, 1024

        @triton.jit
        def scale_kernel(x, y, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)

        """
    launch = """n = x.numel()
                scale_kernel[(triton.cdiv(n, 1),)](x, y, n, BLOCK=1)"""
    good_launch = """n = x.numel()
                scale_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)"""
    inputs = "torch.rand(ROWS, COLS)"
    example = "scale_kernel[(triton.cdiv(n"
    use_instead = "kernlint explain"

    def check(self, context: Context) -> Iterator[Finding]:
        found = context.headroom
        if found is None or not found.causes or found.now_us < context.option(self, "times") * found.high_us:
            return
        cause = max(found.causes, key=lambda cause: cause.alone_us)
        evidence = (
            Evidence(f"{found.now_us:.1f} us, where a well-written version takes about {found.achievable_us:.1f} us"),
            Evidence(cause.evidence or cause.name, cause.span),
        )
        change = Change(None, *advice(cause, found))
        yield self.finding(
            message(cause), cause.span, cause.symbol, evidence, change, kernel=cause.kernel, severity="info"
        )
