from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import axes_in, loaded_in, program_axes, unknown_in
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.bounds import followed
from kernlint.rules.proofs.iteration_domain import Site, sites
from kernlint.workload import Launch, Span
from kernlint.workload.access import Access, Atomic, Load, Store
from kernlint.workload.expr import Lane


class LostUpdate(Rule):
    code = "KL758"
    name = "lost-update"
    summary = "programs add to the same elements with a load and a store"
    bare = True
    what_it_does = """
        Finds a store of a value computed from a load at the same address where programs share the address: the
        address does not depend on a grid axis with more than one program. Addresses that depend on loaded indices may
        repeat too, which is reported at info level. Finds, too, updates of one tile at several offsets (`x[i - d]`, `x[i]`,
        `x[i + d]`) that are all loaded before the first is stored.
        """
    why = "Two programs, or two lanes, load the same old value and one of the two updates is lost."
    when_not = "Indices that are unique, as in slot mappings and permutations. One program per address."
    fix_safety = """
        No automatic fix: `tl.atomic_add` is one for a sum, sorting and reducing by segment another; which is faster
        depends on the indices.
        """
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-030. No gain: wrong results
        have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/558",
        "https://github.com/thunlp/TritonBench/issues/10",
    )

    bad = """
        @triton.jit
        def k(idx, v, hist, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            m = a < n
            j = tl.load(idx + a, mask=m, other=0)
            cur = tl.load(hist + j, mask=m, other=0.0)
            tl.store(hist + j, cur + tl.load(v + a, mask=m, other=0.0), mask=m)
        """
    good = bad.replace(
        "cur = tl.load(hist + j, mask=m, other=0.0)\n            tl.store(hist + j, cur + tl",
        "tl.atomic_add(hist + j, tl",
    )

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            places = sites(launch.kernel)
            if any(isinstance(s.node, Atomic) and any(loop.kind == "while" for loop in s.loops) for s in places):
                continue  # a spin lock lets one program in at a time
            loads = {s.access.id: s.node for s in places if isinstance(s.node, Load)}
            axes = program_axes(launch)
            for site in places:
                store = site.node
                if (
                    not isinstance(store, Store)
                    or store.offset is None
                    or unknown_in(store.offset)
                    or store.span in seen
                ):
                    continue
                # Another program may be kept out by a guard, such as `if pid == 0`.
                if site.open or axes_in(*(side for pair in site.guards for side in pair)):
                    continue
                twins = (loads[i] for i in sorted(store.depends) if i in loads)
                twin = next((load for load in twins if _same_place(load, store)), None)
                if twin is None or store.checked:
                    continue
                masked = axes_in(*store.bounding)
                free = axes - axes_in(store.offset) - masked
                indirect = loaded_in(store.offset)
                if not free and not indirect:
                    continue
                seen.add(store.span)
                why = (
                    "the address depends on loaded indices, which may repeat"
                    if indirect
                    else f"programs along axis {min(free)} share the address"
                )
                yield self.finding(
                    f"`{store.base}` is updated by a load and a store, and {why}",
                    store.span,
                    launch.kernel.name,
                    (
                        Evidence("the old value is loaded here", twin.span),
                        Evidence(f"the address is {str(store.offset)[:90]}"),
                    ),
                    severity="info" if indirect else self.severity,
                )
            if not followed(launch):
                continue  # how far apart the elements of a tile lie may be assumed
            severity = self.severity if context.workload.bare else "error"
            yield from self._overwritten(launch, places, seen, severity)

    def _overwritten(self, launch: Launch, places: list[Site], seen: set[Span], severity: str) -> Iterator[Finding]:
        """Updates of neighbouring lanes of one tile, all loaded before any is stored: a later store puts back what was there
        before the earlier one."""
        loads = {s.access.id: place for place, s in enumerate(places) if isinstance(s.node, Load)}
        updates: list[tuple[int, int, Site]] = []  # (place of the load, of the store, the store)
        for place, site in enumerate(places):
            store = site.node
            if isinstance(store, Store) and store.offset is not None and not unknown_in(store.offset) and not site.open:
                twins = (loads[i] for i in sorted(store.depends) if i in loads)
                twin = next((t for t in twins if _same_place(places[t].access, store)), None)
                if twin is not None and twin < place:
                    updates.append((twin, place, site))
        for loaded, place, site in updates:
            written = site.access
            for _, earlier_place, earlier in updates:
                shift = _shift(earlier.access, written)
                if (
                    not loaded < earlier_place < place
                    or shift is None
                    or earlier.loops != site.loops
                    or written.span in seen
                ):
                    continue
                seen.add(written.span)
                yield self.finding(
                    f"`{written.base}` is updated by a load and a store at offsets that lie {shift} lanes apart in one tile: "
                    "the second store undoes the first where they overlap",
                    written.span,
                    launch.kernel.name,
                    (
                        Evidence("the old value is loaded here, before the first store", places[loaded].access.span),
                        Evidence("the first store", earlier.access.span),
                    ),
                    severity=severity,
                )


def _same_place(load: Access, store: Access) -> bool:
    """Whether ``store`` puts back what ``load`` took."""
    return load.base == store.base and load.offset == store.offset


def _shift(first: Access, second: Access) -> int | None:
    """By how many lanes of one tile ``second`` lies behind ``first`` (or before it), where both tiles have elements in
    common."""
    if first.base != second.base or first.shape != second.shape or first.offset is None or second.offset is None:
        return None
    distance = (second.offset - first.offset).value
    for dim, extent in enumerate(second.shape):
        step = second.offset.coefficient(
            Lane(dim)
        )  # a quotient or remainder of lanes steps over what another access takes
        stride = step.value if step is not None else None
        if distance and stride and distance % stride == 0 and abs(distance // stride) < extent:
            return abs(distance // stride)
    return None
