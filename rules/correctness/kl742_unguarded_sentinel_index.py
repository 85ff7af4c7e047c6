from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.repair import mending
from kernlint.workload import concrete
from kernlint.workload.access import Load
from kernlint.workload.expr import Expr, Opaque


class UnguardedSentinelIndex(Rule):
    code = "KL742"
    name = "unguarded-sentinel-index"
    summary = "an index that may be the sentinel -1 is used as an address"
    bare = True
    at_any_size = True
    what_it_does = """
        Finds indices loaded with a negative `other` and used in the address of an access whose mask does not test
        them. A warning where the mask of the access does not even cover the masked lanes of the load; info where it
        does, since the table itself may hold the sentinel.
        """
    why = "Index -1 addresses the element before the buffer: the wrong value is read, or other memory overwritten."
    when_not = "Tables that never hold the sentinel. Indices clamped with `tl.maximum` whose result is masked later."
    fix_safety = """
        No automatic fix: `& (index >= 0)` in the mask leaves lanes undefined where the load has no `other`.
        """
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) reads the element before the base. Pattern row BUG-013.
        No gain: wrong results have no speed.
        """
    references = (
        "https://github.com/vllm-project/vllm-ascend/issues/8531",
        "https://github.com/vllm-project/vllm/issues/53628",
        "https://github.com/vllm-project/vllm/issues/30887",
    )

    bad = """
        @triton.jit
        def k(table, src, o, n, B: tl.constexpr):
            i = tl.arange(0, B)
            m = i < n
            idx = tl.load(table + i, mask=m, other=-1)
            tl.store(o + i, tl.load(src + idx, mask=m, other=0.0), mask=m)
        """
    good = bad.replace("idx, mask=m", "idx, mask=m & (idx >= 0)")

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.workload.launches():
            places = sites(launch.kernel)
            tables = {
                s.access.id: s.node
                for s in places
                if isinstance(s.node, Load) and s.node.other is not None and s.node.other < 0 and s.node.other > -1e9
            }
            for site in places:
                access = site.access
                tensor = launch.tensor(access.base)
                # A view may have an element before its first one, put there for the sentinel.
                inside = tensor is not None and concrete(tensor.offset) != 0
                if access.offset is None or site.open or inside:
                    continue
                used = {a.key: a for m in access.offset.terms for a in m if isinstance(a, Opaque) and a.op == "load"}
                for key in sorted(used.keys() & tables.keys()):
                    table = tables[key]
                    if key in access.tested or not _is_before(access.offset, used[key], table.other):
                        continue
                    covered = set(table.mask or ()) <= set(access.mask or ())
                    yield self.finding(
                        f"the index from `{table.base}` is {table.other:g} where masked, and addresses `{access.base}` untested",
                        access.span,
                        launch.kernel.name,
                        (Evidence(f"`{table.base}` is loaded with `other` {table.other:g}", table.span),),
                        mending(
                            context,
                            None,
                            f"the index from `{table.base}` may be {table.other:g}",
                            "Mask the access where the index is negative.",
                            f"Add `& (index >= 0)` to the mask at line {access.span.line}.",
                        ),
                        doubts=doubted(
                            covered, "the access is masked where the load is: only the table itself may hold it"
                        ),
                    )


def _is_before(offset: Expr, index: Opaque, sentinel: float | None) -> bool:
    """Whether what ``offset`` multiplies by a stride is negative where ``index`` is ``sentinel``: ``index + 1`` is not, for -1."""
    there, stride = offset.substitute({index: int(sentinel or 0)}), offset.coefficient(index)
    return stride is None or any(there.terms.get(part, 0) * count < 0 for part, count in stride.terms.items())
