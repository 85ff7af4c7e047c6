"""KL758."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import axes_in, loaded_in, program_axes, unknown_in
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.space import sites
from kernlint.workload.kernel import Atomic, Load, Store


class LostUpdate(Rule):
    code = "KL758"
    name = "lost-update"
    category = "correctness"
    severity = "warning"
    summary = "programs add to the same elements with a load and a store"
    bare = True
    what_it_does = """
        Finds a store of a value computed from a load at the same address where programs share the address: the
        address does not depend on a grid axis with more than one program. Addresses that depend on loaded indices may
        repeat too, which is reported at info level.
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
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(idx, v, hist, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            m = a < n
            j = tl.load(idx + a, mask=m, other=0)
            cur = tl.load(hist + j, mask=m, other=0.0)
            tl.store(hist + j, cur + tl.load(v + a, mask=m, other=0.0), mask=m)
        """
    good = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(idx, v, hist, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            m = a < n
            j = tl.load(idx + a, mask=m, other=0)
            tl.atomic_add(hist + j, tl.load(v + a, mask=m, other=0.0), mask=m)
        """

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
                twin = next((loads[i] for i in sorted(store.depends) if i in loads and loads[i].base == store.base
                             and loads[i].offset == store.offset), None)  # fmt: skip
                if twin is None or store.checked:
                    continue
                masked = axes_in(*(side for pair in store.mask or () for side in pair))
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
                yield Finding(
                    self,
                    "info" if indirect else self.severity,
                    f"`{store.base}` is updated by a load and a store, and {why}",
                    store.span,
                    launch.kernel.name,
                    launch.kernel.name,
                    (
                        Evidence("the old value is loaded here", twin.span),
                        Evidence(f"the address is {str(store.offset)[:90]}"),
                    ),
                )
