from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import axes_in, partners, program_axes
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.proofs.readings import found_however_read
from kernlint.rules.proofs.whole_tiles import whole_tiles
from kernlint.workload import Launch, Loop, Span
from kernlint.workload.access import Load, Store
from kernlint.workload.expr import Lane, Opaque, ProgramId


class InPlaceNeighbour(Rule):
    code = "KL760"
    name = "in-place-neighbour"
    severity = "error"
    summary = "a kernel that works in place reads elements that other programs overwrite"
    bare = True
    what_it_does = """
        Finds a load and a store of the same buffer whose offsets differ by a constant, so that a program reads
        elements of the tile that its neighbour stores.
        """
    why = "Programs run in any order: whether the neighbour has already overwritten the element is a matter of luck."
    when_not = """
        One program. Tiles that each program both reads and writes alone. Tiles whose places hang on how large several constexprs
        that nothing in view sets are to each other.
        """
    fix_safety = "No automatic fix: write to a separate output."
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-032. No gain: wrong results
        have no speed.
        """
    references = ("https://github.com/triton-lang/triton/issues/1615",)

    bad = """
        @triton.jit
        def k(x, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
            tl.store(x + i, left, mask=i < n)
        def run(x): k[(triton.cdiv(x.numel(), 8),)](x, x.numel(), B=8); return x
        """
    good = (
        bad.replace("k(x, n", "k(x, y, n")
        .replace("store(x", "store(y")
        .replace(": k[", ": y = torch.empty_like(x); k[")
        .replace("](x, x.", "](x, y, x.")
        .replace("return x", "return y")
    )

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            for place, pair in found_however_read(context, launch, _neighbours).items():
                if place in seen or (context.workload.bare and pair.loops):
                    continue
                seen.add(place)
                where = f"{abs(pair.shift)} elements {'before' if pair.shift < 0 else 'after'}"
                yield self.finding(
                    f"`{pair.load.base}` is read {where} where it is written: other programs overwrite them",
                    place,
                    launch.kernel.name,
                    (
                        Evidence(
                            f"`{pair.store.base}` is written here, at {str(pair.store.offset)[:80]}", pair.store.span
                        ),
                    ),
                )


@dataclass(frozen=True)
class _Pair:
    """A load that reads ``shift`` elements from where ``store``, within ``loops``, writes: what another program overwrites."""

    load: Load
    store: Store
    shift: int
    loops: tuple[Loop, ...]


def _neighbours(launch: Launch) -> dict[Span, _Pair]:
    """Such pairs of ``launch``, by the place of the load."""
    found: dict[Span, _Pair] = {}
    axes = program_axes(launch)
    loads = [site.node for site in sites(launch.kernel, Load) if not site.open]
    for site in sites(launch.kernel, Store):
        store = site.node
        assert isinstance(store, Store)
        if store.offset is None or site.open or not axes & axes_in(store.offset):
            continue
        if any(isinstance(a, Opaque) for a in store.offset.atoms()):
            continue
        same = partners(launch, store.base)
        for load in loads:
            assert isinstance(load, Load)
            if load.base not in same or load.offset is None or load.shape != store.shape:
                continue
            shift = (load.offset - store.offset).value
            if shift and _adjoining(store, axes, abs(shift)):
                found.setdefault(load.span, _Pair(load, store, shift, site.loops))
    return found


def _adjoining(store: Store, axes: frozenset[int], shift: int) -> bool:
    """Whether the tiles of neighbouring programs lie so close that an element ``shift`` away is another program's."""
    assert store.offset is not None
    for axis in axes:
        for dim in whole_tiles(store, ProgramId(axis)):
            stride = store.offset.coefficient(Lane(dim))
            if stride is not None and stride.value:
                return shift % stride.value == 0 and shift < stride.value * store.shape[dim]
    return False
