from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import extents_of, sites, symbols_of
from kernlint.workload.access import Load
from kernlint.workload.expr import Expr


class MaskOfAnotherTensor(Rule):
    code = "KL740"
    name = "mask-of-another-tensor"
    summary = "the mask of an access bounds the size of another tensor"
    default = False
    what_it_does = """
        Finds masked accesses whose mask bounds the index by an extent of another tensor, with nothing in view that
        ties the two extents together.
        """
    why = "Where the two sizes differ, lanes past the end of the smaller tensor are read or written."
    when_not = """
        Sizes that are asserted equal or come from one tensor; broadcasting by stride 0. Off by default: wrappers
        often rely on their callers.
        """
    fix_safety = "No automatic fix: which size bounds the tensor is the author's to say."
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) reads past a view of 3 elements. Pattern row BUG-011. No
        gain: wrong results have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/10336",
        "https://github.com/Comfy-Org/comfy-kitchen/issues/77",
    )

    bad = """
        @triton.jit
        def k(a, b, o, L, B: tl.constexpr):
            i = tl.arange(0, B)
            m = i < L
            tl.store(o + i, tl.load(a + i, mask=m, other=0.0) + tl.load(b + i, mask=m, other=0.0), mask=m)
        def run(a, b, o): k[(1,)](a, b, o, a.shape[0], B=8)
        """
    good = bad.replace(
        "def run(a, b, o): k[",
        'def run(a, b, o):\n            if b.shape[0] != a.shape[0]: raise ValueError("length mismatch")\n            k[',
    )

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            for site in sites(launch.kernel, Load):
                access, tensor = site.access, launch.tensor(site.access.base)
                if tensor is None or access.offset is None or access.checked or context.program.settled(tensor.name):
                    continue
                # An extent that was never asked for has a name of its own; one that was compared is the other's by now.
                own = {f"{tensor.name}.shape[{i}]" for i in range(-8, 8)} | {f"{tensor.name}.numel"}
                own |= {s.name for s in symbols_of(*(tensor.shape or ()))}
                for _, right in access.mask or ():
                    bounds = extents_of(right)
                    plain = len(bounds) == 1 and all(right == Expr.atom(bound) for bound in bounds)
                    if not plain or {bound.name for bound in bounds} & own or (launch.kernel.name, access.span) in seen:
                        continue
                    if tensor.storage.origin != "input":
                        continue
                    seen.add((launch.kernel.name, access.span))
                    yield self.finding(
                        f"the mask bounds the index into `{tensor.name or access.base}` by {right}, the size of another tensor",
                        access.span,
                        launch.kernel.name,
                        (Evidence("launched here, with no check that the two sizes agree", launch.span),),
                    )
