from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.launch.sizes import bucketed, per_call_sizes
from kernlint.rules.proofs.called_functions import names_read
from kernlint.rules.proofs.iteration_domain import symbols_of
from kernlint.rules.proofs.kernel_source import definition, kernels_once
from kernlint.workload import Launch


class UnusedConstexpr(Rule):
    code = "KL610"
    name = "unused-constexpr"
    severity = "info"
    summary = "the kernel never reads a tl.constexpr whose value differs from call to call"
    what_it_does = """
        Finds `tl.constexpr` parameters that the body of the kernel does not mention and that a launch fills with a size of the call.
        """
    why = "Each value compiles the same code again (and tunes it again, where the key has it)."
    when_not = "A bucket of a size in the autotune key: make it a run-time argument, it needs no constexpr."
    fix_safety = "Safe: nothing reads it."
    evidence = "No time of our own: one compilation for each value. Pattern row PERF-015."

    bad = """
        @triton.jit
        def double(x, y, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

        def run(x):
            y = torch.empty_like(x)
            double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), ROWS=x.numel(), BLOCK=1024)
            return y
        """
    good = bad.replace(" ROWS: tl.constexpr,", "").replace(" ROWS=x.numel(),", "")
    example = "def kernel(x, y, n, ROWS: tl.constexpr): ...  # ROWS is not read"
    use_instead = "def kernel(x, y, n): ..."

    def check(self, context: Context) -> Iterable[Finding]:
        varying = per_call_sizes(context)
        for launch in kernels_once(context):
            for name in _unread(context, launch):
                value = launch.open_constexprs.get(name)
                if value is None or not symbols_of(value) & varying or bucketed(value):
                    continue
                kernel = launch.kernel
                yield self.finding(
                    f"`{kernel.name}` never reads its constexpr `{name}`, which gets {value}",
                    kernel.name_span,
                    kernel.name,
                    (Evidence(f"`{name}` gets {value}; the body does not mention it", launch.span),),
                    Change(
                        None,
                        f"Each value of `{name}` compiles `{kernel.name}` again, to the same code.",
                        f"Drop `{name}`.",
                        f"Remove `{name}` from the signature of `{kernel.name}`, from its launches and from the key of its tuner.",
                        priced=False,
                    ),
                )


def _unread(context: Context, launch: Launch) -> list[str]:
    """The constexprs of ``launch`` that neither the kernel's body nor a swept configuration uses."""
    function = definition(context, launch.kernel) if not launch.grid_follows else None
    if function is None:
        return []
    swept = launch.tuning.swept if launch.tuning is not None else frozenset()
    used = names_read(function, context.program.kernel) | swept
    return [name for name in launch.constexprs if name not in used]
