from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.kernel_source import kernels_once
from kernlint.rules.repair import Repair
from kernlint.workload import Span


@dataclass(frozen=True)
class AnnotationDropped(Repair):
    """The program with the parameters ``names`` of the kernel at ``kernel`` no longer annotated ``tl.constexpr``."""

    kernel: Span
    names: frozenset[str]


class ConstexprNotSpecialised(Rule):
    code = "KL609"
    name = "constexpr-not-specialised"
    severity = "error"
    refused = True
    bare = True
    summary = "a parameter is both tl.constexpr and listed in do_not_specialize"
    what_it_does = """
        Finds parameters with the annotation `tl.constexpr` that `do_not_specialize` or `do_not_specialize_on_alignment` names, by
        name or by position.
        """
    why = """
        The two contradict each other: a constexpr is compiled in, one kernel per value. Older Triton compiled again for every value
        without a word; from 3.7 on the kernel is refused.
        """
    when_not = "Never."
    fix_safety = """
        Safe where every read of the parameter works with a run-time value (masks, addresses, arithmetic): the
        annotation goes. Else by hand: drop the name from the list.
        """
    evidence = "Triton 3.9 refuses the kernel. Pattern rows PERF-085 and BUG-028."

    bad = """
        @triton.jit(do_not_specialize=["T"])
        def clear(x, T: tl.constexpr, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(x + i, 0.0, mask=i < T)
        """
    good = bad.replace("T: tl.constexpr", "T")
    example = '@triton.jit(do_not_specialize=["T"])\ndef kernel(x, T: tl.constexpr): ...'
    use_instead = '@triton.jit(do_not_specialize=["T"])\ndef kernel(x, T): ...'

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in kernels_once(context):
            both = sorted(launch.unspecialised & set(launch.constexprs))
            if not both:
                continue
            names, kernel = ", ".join(f"`{name}`" for name in both), launch.kernel
            yield self.finding(
                f"{names} of `{kernel.name}`: tl.constexpr and do_not_specialize contradict each other",
                kernel.name_span,
                kernel.name,
                (Evidence(f"{names}: annotated tl.constexpr, and listed as not to specialise on", kernel.name_span),),
                Change(
                    context.variant.then(transform=AnnotationDropped(kernel.span, frozenset(both))),
                    f"`{kernel.name}` is compiled for each value of {names}, or refused by Triton 3.7 and later.",
                    f"Drop the annotation of {names} where the value varies, else drop it from the list.",
                    f"Change the decorator or the signature of `{kernel.name}` at line {kernel.name_span.line}.",
                    priced=False,
                ),
            )
