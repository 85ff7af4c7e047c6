from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.workload import Tensor


class IncompleteAutotuneKey(Rule):
    code = "KL754"
    name = "incomplete-autotune-key"
    severity = "info"
    summary = "the autotune key leaves out a constexpr that varies between calls"
    default = False
    what_it_does = """
        Finds autotuned kernels with a `tl.constexpr` parameter that the launch computes from sizes or takes from its
        caller, and that neither the configurations set nor the key names.
        """
    why = """
        The configuration chosen for the first value serves all others: slow, or out of shared memory where the value
        is a tile extent.
        """
    when_not = """
        Off by default: sizes are often left out on purpose, so as not to tune again. Element types are part of the
        key anyway.
        """
    fix_safety = "No automatic fix: whether to tune again is a decision."
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-025. No gain: wrong results
        have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/4046",
        "https://github.com/pytorch/pytorch/issues/186886",
    )

    bad = """
        @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 64})], key=[])
        @triton.jit
        def k(x, o, n, D: tl.constexpr, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(o + a, tl.load(x + a, mask=a < n, other=0.0) * D, mask=a < n)
        def run(x, o, D): k[lambda M: (triton.cdiv(x.numel(), M["B"]),)](x, o, x.numel(), D)
        """
    good = bad.replace("key=[", 'key=["D"')

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.workload.launches():
            tuning = launch.tuning
            if tuning is None or tuning.configurations == 1:
                continue
            varying = [
                name
                for name in launch.constexprs
                if name in launch.explicit and name not in tuning.parameters and name not in tuning.key
                if name in launch.open_constexprs or isinstance(launch.constexprs[name], Tensor)
            ]
            if varying:
                names = ", ".join(f"`{name}`" for name in varying)
                yield self.finding(
                    f"the autotune key does not name {names}, which the launch takes from its caller",
                    tuning.span,
                    launch.kernel.name,
                    (Evidence(f"{names} given here", launch.span),),
                )
