from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kernlint.interpret.triton.reading import ASSUMED_CONSTEXPR
from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import partners, unknown_in
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.iteration_domain import Site, Space, agrees, open_symbols, samples, sites, symbols_of
from kernlint.rules.proofs.readings import found_however_read
from kernlint.workload import Launch, Span, Workload
from kernlint.workload.access import Atomic, Load, Store
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, ProgramId, lift

#: How many offsets are compared one by one, and of how many iterations where all of them have more.
_MOST_ELEMENTS = 1 << 17
_ITERATIONS = 4
#: A distance between two places that no tile spans.
_FAR = 1 << 24


class StoreLoadWithoutBarrier(Rule):
    code = "KL759"
    name = "store-load-without-barrier"
    summary = "a program reads back what other threads of it have stored, without a barrier"
    bare = True
    what_it_does = """
        Finds a store to a buffer followed by a load from it in the same program, of tiles at different offsets that
        overlap, with no `tl.debug_barrier()` between.
        """
    why = "The threads that load are not those that stored: without a barrier they may read the old contents."
    when_not = "Launches with one warp. Disjoint regions. Loads of exactly what was stored, lane by lane."
    fix_safety = """
        No automatic fix: keep the value in registers, split the kernel, or put `tl.debug_barrier()` between.
        """
    evidence = """
        The row's PTX for sm_90 (Triton 3.9.0): no `bar.sync` between `st.global` and `ld.global`. Pattern row
        BUG-031. No gain: wrong results have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/10924",
        "https://github.com/triton-lang/triton/issues/9887",
        "https://github.com/triton-lang/triton/issues/8259",
    )

    bad = """
        @triton.jit
        def k(x, tmp, o, N: tl.constexpr):
            i = tl.arange(0, N)
            tl.store(tmp + i, tl.load(x + i) + 1.0)
            tl.store(o + i, tl.load(tmp + (N - 1 - i)))
        """
    good = bad.replace("+ 1.0)\n", "+ 1.0)\n            tl.debug_barrier()\n")

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()

        def read_back(launch: Launch) -> dict[Span, tuple[Store, Load]]:
            return _read_back(context.workload, launch)

        for launch in context.workload.launches():
            if launch.num_warps == 1 and "num_warps" in launch.explicit:
                continue
            found = found_however_read(context, launch, read_back) if launch.open_constexprs else read_back(launch)
            for store, load in found.values():
                if load.span in seen or (launch.kernel.name, load.base) in seen:
                    continue
                seen |= {load.span, (launch.kernel.name, load.base)}
                yield self.finding(
                    f"`{load.base}` is read back in another order than it was stored, with no barrier between",
                    load.span,
                    launch.kernel.name,
                    (
                        Evidence("stored here", store.span),
                        Evidence(
                            f"{launch.num_warps} warps run the program: one may read what another has not stored yet",
                            launch.span,
                        ),
                    ),
                    doubts=doubted(
                        (vendor := context.program.other_vendor), f"{vendor}, whose compiler may order them"
                    ),
                )


def _read_back(workload: Workload, launch: Launch) -> dict[Span, tuple[Store, Load]]:
    """The loads of ``launch`` by place that other threads may make before the store that they read from, each with that store."""
    found: dict[Span, tuple[Store, Load]] = {}
    places = sites(launch.kernel)
    for index, site in enumerate(places):
        store = site.node
        if not isinstance(store, Store) or store.offset is None or unknown_in(store.offset) or store.elements == 1:
            continue
        same = partners(launch, store.base)
        for later in places[index + 1 :]:
            load = later.node
            if not isinstance(load, Load) or load.base not in same or load.offset is None or load.span in found:
                continue
            if load.barriers != store.barriers or unknown_in(load.offset) or site.loops != later.loops:
                continue
            if load.offset == store.offset or load.through or store.through:
                continue
            if any(isinstance(s.node, Atomic) for s in places[index + 1 : places.index(later)]):
                continue  # a scalar atomic synchronises the threads of the program
            if _overlap(workload, launch, site, later):
                found[load.span] = store, load
    return found


def _overlap(workload: Workload, launch: Launch, first: Site, second: Site) -> bool:
    """Whether the two accesses touch an element in common in the first program, whatever the open sizes are."""
    symbols = open_symbols(launch, first) | open_symbols(launch, second) | symbols_of(*launch.open_constexprs.values())
    assert first.access.offset is not None and second.access.offset is not None
    # A constexpr that is a size was read as one number, which that size is then.
    extents = launch.open_constexprs.values()
    read: dict[Atom, int] = {
        a: ASSUMED_CONSTEXPR for size in extents for a in symbols_of(size) if lift(size) == Expr.atom(a)
    }
    far: dict[Atom, int] = {}
    far.update((symbol, _FAR) for symbol in symbols_of(first.access.offset - second.access.offset))
    together = False
    for sizes in samples(workload, symbols - read.keys(), launch):
        sizes.update(read.items())
        if not agrees(workload, sizes):
            continue
        # How far apart two slots are is open: they overlap only if they do so however far that is.
        for chosen in (sizes, sizes | far) if far else (sizes,):
            touching = _touching(launch, first, second, chosen)
            if touching is False:
                return False
            together |= touching is True
    return together


def _touching(launch: Launch, first: Site, second: Site, sizes: Mapping[Atom, int]) -> bool | None:
    """Whether the accesses of the first program have an element in common at ``sizes``; None where that is not known."""
    a_span, b_span = _range(launch, first, sizes), _range(launch, second, sizes)
    if a_span is None or b_span is None:
        return None
    if a_span[0] > b_span[1] or b_span[0] > a_span[1]:
        return False
    a, b = _elements(launch, first, sizes), _elements(launch, second, sizes)
    return a is None or b is None or not {*a}.isdisjoint(b)


def _elements(launch: Launch, site: Site, sizes: Mapping[Atom, int]) -> list[int] | None:
    """The offsets of all lanes in all iterations of the first program (the first few where those are too many), whatever the
    mask; None where they do not depend linearly on the lanes, or are too many."""
    assert site.access.offset is not None
    offset = site.access.offset.substitute({**sizes, **{ProgramId(axis): 0 for axis in range(3)}})
    ranges = Space(launch, site, sizes).ranges
    extents = {a: ranges[a][1] + 1 for a in offset.atoms() if isinstance(a, (Lane, LoopIndex)) and a in ranges}
    if math.prod(extents.values()) > _MOST_ELEMENTS:
        extents = {a: min(n, _ITERATIONS) if isinstance(a, LoopIndex) else n for a, n in extents.items()}
    first = offset.evaluate(dict.fromkeys(extents, 0))
    if first is None or math.prod(extents.values()) > _MOST_ELEMENTS:
        return None
    found = [int(first)]
    for atom, extent in extents.items():
        step = offset.coefficient(atom)
        if step is None or step.value is None:
            return None
        found = [place + step.value * i for place in found for i in range(extent)]
    return found


def _range(launch: Launch, site: Site, sizes: Mapping[Atom, int]) -> tuple[int, int] | None:
    """The smallest and the largest offset in the first program, within the mask."""
    space = Space(launch, site, sizes)
    for axis in range(3):
        space.ranges[ProgramId(axis)] = (0, 0)
    assert site.access.offset is not None
    low, high = space.smallest(site.access.offset), space.largest(site.access.offset)
    return None if low is None or high is None else (low[0], high[0])
