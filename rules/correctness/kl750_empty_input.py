from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import extents_of
from kernlint.workload.expr import Expr, Opaque


class EmptyInput(Rule):
    code = "KL750"
    name = "division-by-empty-size"
    severity = "info"
    summary = "the launcher divides by a size that may be zero"
    default = False
    what_it_does = """
        Finds launches whose grid or arguments are computed with a division by an extent of an input, where nothing in
        view says that it is not zero.
        """
    why = """
        An input with an empty dimension raises ZeroDivisionError in the launcher, where torch returns an empty or
        zero result.
        """
    when_not = "Off by default: internal helpers behind a checked API. Launchers that return early for empty inputs."
    fix_safety = "No automatic fix: return an initialised output for empty inputs."
    evidence = """
        The row's run (Triton 3.9.0): ZeroDivisionError on an empty last dimension. Pattern row BUG-020. No gain:
        wrong results have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/10427",
        "https://github.com/triton-lang/triton/issues/10464",
        "https://github.com/flagos-ai/FlagGems/issues/5410",
    )

    bad = """
        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.atomic_add(o, tl.sum(tl.load(x + a, mask=a < n, other=0.0), axis=0))
        def run(x):
            o = torch.zeros(1)
            rows = x.numel() // x.shape[-1]
            k[(triton.cdiv(rows, 1),)](x, o, x.numel(), B=16)
            return o
        """
    good = bad.replace(
        "rows = x.numel() // x.shape[-1]\n            k[(triton.cdiv(rows, 1),)](x, o, x.numel(), B=16)",
        "if x.numel() == 0:\n                return o\n            k[(triton.cdiv(x.numel(), 16),)](x, o, x.numel(), B=16)",
    )

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.workload.launches():
            for expr in (*launch.grid, *launch.arguments.values()):
                divisors = {
                    str(a.args[1])
                    for a in (expr.atoms() if isinstance(expr, Expr) else ())
                    if isinstance(a, Opaque) and a.op in ("floordiv", "mod") and extents_of(a.args[1])
                    if not any(right == a.args[1] for _, right in context.workload.bounds)
                }
                for divisor in sorted(divisors):
                    yield self.finding(
                        f"the launch divides by {divisor}, which is zero for an empty input",
                        launch.span,
                        launch.function,
                        (Evidence(f"computed with a division by {divisor}", launch.span),),
                        kernel=launch.kernel.name,
                    )
                    return
