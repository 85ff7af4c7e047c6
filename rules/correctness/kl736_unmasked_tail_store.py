from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.tails import FIX_SAFETY, WHEN_NOT, WHY, masking, unmasked_tails
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import last_element, sites
from kernlint.rules.proofs.readings import found_however_read
from kernlint.workload import Launch, Span
from kernlint.workload.access import Access, Load, Store


class UnmaskedTailStore(Rule):
    code = "KL736"
    name = "unmasked-tail-store"
    severity = "error"
    summary = "a store without a mask writes past the end of its tensor"
    bare = True
    what_it_does = """
        Finds accesses without a mask that leave their tensor. An error where a program and lane that write past the
        end are found at the sizes in view. A warning where sizes are open and the grid or the loop counts tiles of
        `cdiv(n, BLOCK)` with nothing that makes n a multiple of BLOCK, or where a load at the same offsets is masked.
        """
    why = WHY
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
        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            off = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.load(x + off, mask=off < n, other=0.0)
            tl.store(o + off, v + 1.0)
        """
    good = bad.replace(" 1.0", " 1.0, mask=off < n")

    def check(self, context: Context) -> Iterable[Finding]:
        found = list(unmasked_tails(self, context, Store))
        yield from found
        yield from _asymmetric(self, context, {finding.span for finding in found})


def _asymmetric(rule: Rule, context: Context, found: set[Span]) -> Iterable[Finding]:
    """Stores without a mask to the very offsets that a load of the same kernel masks, where no size says more."""
    for launch in context.workload.launches():
        for place, (store, twin) in found_however_read(context, launch, _masked_twins).items():
            if place in found:
                continue
            yield rule.finding(
                f"the store to `{store.base}` has no mask, the load of `{twin.base}` at the same offsets has one",
                place,
                launch.kernel.name,
                (Evidence(f"`{twin.base}` is read under a mask at the same offsets", twin.span),),
                masking(context, launch, place, "the store has no mask"),
                severity="warning",
            )


def _masked_twins(launch: Launch) -> dict[Span, tuple[Access, Access]]:
    """The stores of ``launch`` without a mask to tensors of open size, each by its place and with a masked load at its offsets."""
    masked: dict[object, Access] = {
        (site.access.offset, site.access.shape): site.access
        for site in sites(launch.kernel, Load)
        if site.access.mask and site.access.offset is not None and not site.open and site.access.elements > 1
    }
    found = {}
    for site in sites(launch.kernel, Store):
        store, tensor = site.access, launch.tensor(site.access.base)
        twin = masked.get((store.offset, store.shape))
        if twin is None or store.mask is not None or store.checked or site.guards or _is_full(twin):
            continue
        if tensor is None or last_element(tensor) is None:
            found[store.span] = store, twin
    return found


def _is_full(access: Access) -> bool:
    """Whether the mask holds for each lane of a tile or for none: its bounds are numbers, and tiles divide them."""
    limits = [right.value for _, right in access.mask or ()]
    return bool(limits) and all(limit is not None and limit % access.elements == 0 for limit in limits)
