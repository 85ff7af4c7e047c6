"""KL760."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import axes_in, partners, program_axes
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.workload.expr import Lane, Opaque, ProgramId
from kernlint.workload.kernel import Load, Store


class InPlaceNeighbour(Rule):
    code = "KL760"
    name = "in-place-neighbour"
    category = "correctness"
    severity = "error"
    summary = "a kernel that works in place reads elements that other programs overwrite"
    bare = True
    what_it_does = """
        Finds a load and a store of the same buffer whose offsets differ by a constant, so that a program reads
        elements of the tile that its neighbour stores.
        """
    why = "Programs run in any order: whether the neighbour has already overwritten the element is a matter of luck."
    when_not = """
        One program. Tiles that each program both reads and writes alone. Kernels with several constexprs that nothing in
        view sets: how their tiles lie to each other is not known.
        """
    fix_safety = "No automatic fix: write to a separate output."
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-032. No gain: wrong results
        have no speed.
        """
    references = ("https://github.com/triton-lang/triton/issues/1615",)

    bad = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(x, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
            tl.store(x + i, left, mask=i < n)
        def run(x): k[(triton.cdiv(x.numel(), 8),)](x, x.numel(), B=8); return x
        """
    good = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(x, y, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
            tl.store(y + i, left, mask=i < n)
        def run(x): y = torch.empty_like(x); k[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), B=8); return y
        """

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            if len(launch.kernel.assumed) > 1:
                continue  # tiles adjoin by how large they are to each other, which several open sizes do not tell
            places = sites(launch.kernel)
            axes = program_axes(launch)
            for site in places:
                store = site.node
                if (
                    not isinstance(store, Store)
                    or store.offset is None
                    or site.open
                    or not axes & axes_in(store.offset)
                ):
                    continue
                same = partners(launch, store.base)
                for other in places:
                    load = other.node
                    if not isinstance(load, Load) or load.base not in same or load.offset is None or other.open:
                        continue
                    shift = load.offset - store.offset
                    number = shift.value
                    if not number or load.span in seen or load.shape != store.shape:
                        continue
                    if any(isinstance(a, Opaque) for a in store.offset.atoms()) or not _adjoining(
                        store, axes, abs(number)
                    ):
                        continue
                    if context.workload.bare and site.loops:
                        continue
                    seen.add(load.span)
                    yield Finding(
                        self,
                        self.severity,
                        f"`{load.base}` is read {abs(number)} elements {'before' if number < 0 else 'after'} where it is written: "
                        "other programs overwrite them",
                        load.span,
                        launch.kernel.name,
                        launch.kernel.name,
                        (Evidence(f"`{store.base}` is written here, at {str(store.offset)[:80]}", store.span),),
                    )


def _adjoining(store: Store, axes: frozenset[int], shift: int) -> bool:
    """Whether the tiles of neighbouring programs lie so close that an element ``shift`` away is another program's."""
    assert store.offset is not None
    for axis in axes:
        step = store.offset.coefficient(ProgramId(axis))
        for dim, lanes in enumerate(store.shape):
            stride = store.offset.coefficient(Lane(dim))
            if step is not None and stride is not None and stride.value and step == stride * lanes:
                return shift % stride.value == 0 and shift < stride.value * lanes
    return False
