from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import axes_in, program_axes
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.workload.access import Atomic


class NondeterministicFloatAtomics(Rule):
    code = "KL763"
    name = "nondeterministic-float-atomics"
    severity = "info"
    summary = "several programs add floats to one address with atomics"
    default = False
    bare = True
    what_it_does = """
        Finds `tl.atomic_add` of floats to an address that does not depend on a grid axis with more than one program.
        """
    why = """
        Floating-point sums depend on their order, and atomics come in any order: results differ in the last bits from
        run to run.
        """
    when_not = "Off by default: fine unless reproducible results are promised. Integer atomics."
    fix_safety = """
        No automatic fix: store partial sums and reduce them in a second step, or check
        `torch.are_deterministic_algorithms_enabled()`.
        """
    evidence = "Not run: the order only varies on a GPU. Pattern row BUG-035. No gain: wrong results have no speed."
    references = (
        "https://github.com/vllm-project/vllm/issues/50278",
        "https://github.com/sgl-project/sglang/issues/38337",
        "https://github.com/sgl-project/sglang/issues/26627",
    )

    bad = """
        @triton.jit
        def k(x, g, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.atomic_add(g, tl.sum(tl.load(x + a, mask=a < n, other=0.0), axis=0))
        """
    good = bad.replace("x, g", "x, part").replace("tl.atomic_add(g", "tl.store(part + tl.program_id(0)")

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            for site in sites(launch.kernel, Atomic):
                atomic = site.node
                if (
                    not isinstance(atomic, Atomic)
                    or atomic.op != "add"
                    or not atomic.dtype.is_float
                    or atomic.offset is None
                ):
                    continue
                shared = program_axes(launch) - axes_in(atomic.offset)
                if shared and atomic.span not in seen:
                    seen.add(atomic.span)
                    yield self.finding(
                        f"programs along axis {min(shared)} add floats to the same elements of `{atomic.base}` in any order",
                        atomic.span,
                        launch.kernel.name,
                        (Evidence(f"the address is {str(atomic.offset)[:90]}", atomic.span),),
                    )
