"""KL736."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.tails import FIX_SAFETY, WHEN_NOT, masking, unmasked_tails
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import last_element, sites
from kernlint.workload import Span
from kernlint.workload.kernel import Load, Store


class UnmaskedTailStore(Rule):
    code = "KL736"
    name = "unmasked-tail-store"
    category = "correctness"
    severity = "error"
    summary = "a store without a mask writes past the end of its tensor"
    bare = True
    what_it_does = """
        Finds accesses without a mask that leave their tensor. An error where a program and lane that write past the
        end are found at the sizes in view. A warning where sizes are open and the grid or the loop counts tiles of
        `cdiv(n, BLOCK)` with nothing that makes n a multiple of BLOCK, or where a load at the same offsets is masked.
        """
    why = """
        The lanes past the end read or overwrite whatever lies behind the tensor: wrong results, corruption of other
        tensors, or an illegal address, depending on the allocator. Sizes that are multiples of the tile never show
        it.
        """
    when_not = WHEN_NOT
    fix_safety = FIX_SAFETY
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows the lanes past the end overwritten. Pattern row
        BUG-007. No gain: wrong results have no speed.
        """
    references = (
        "https://github.com/Dao-AILab/flash-attention/issues/2790",
        "https://github.com/triton-lang/triton/issues/9026",
        "https://github.com/ypapadop-amd/ggml/issues/186",
    )

    bad = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            off = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.load(x + off, mask=off < n, other=0.0)
            tl.store(o + off, v + 1.0)
        """
    good = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            off = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.load(x + off, mask=off < n, other=0.0)
            tl.store(o + off, v + 1.0, mask=off < n)
        """

    def check(self, context: Context) -> Iterable[Finding]:
        found = list(unmasked_tails(self, context, Store))
        yield from found
        yield from _asymmetric(self, context, {finding.span for finding in found})


def _asymmetric(rule: Rule, context: Context, found: set[Span]) -> Iterable[Finding]:
    """Stores without a mask to the very offsets that a load of the same kernel masks, where no size says more."""
    for launch in context.workload.launches():
        places = sites(launch.kernel)
        masked = {
            (site.access.offset, site.access.shape): site.access
            for site in places
            if isinstance(site.node, Load) and site.access.mask and site.access.offset is not None and not site.open
        }
        for site in places:
            access = site.access
            twin = masked.get((access.offset, access.shape)) if access.offset is not None else None
            if not isinstance(site.node, Store) or access.mask is not None or access.checked or twin is None:
                continue
            tensor = launch.tensor(access.base)
            sized = tensor is not None and last_element(tensor) is not None
            if access.span in found or sized or site.guards or twin.elements == 1 or len(launch.kernel.assumed) > 1:
                continue
            yield Finding(
                rule,
                "warning",
                f"the store to `{access.base}` has no mask, the load of `{twin.base}` at the same offsets has one",
                access.span,
                launch.kernel.name,
                launch.kernel.name,
                (Evidence(f"`{twin.base}` is read under a mask at the same offsets", twin.span),),
                masking(context, launch, access.span, "the store has no mask"),
            )
