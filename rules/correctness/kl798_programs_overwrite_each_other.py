from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.bounds import followed, versions
from kernlint.rules.proofs.indices import addresses
from kernlint.rules.proofs.iteration_domain import Site, open_symbols, sites, told
from kernlint.rules.proofs.like_launches import found_in
from kernlint.rules.proofs.touched_elements import Touched
from kernlint.workload import Launch, concrete
from kernlint.workload.access import Atomic, Load, Store
from kernlint.workload.expr import Atom, Lane, ProgramId
from kernlint.workload.kernel import Dot, Loop, Reduce, Scan

#: Programs of one axis that are looked at, and elements of all of a kernel's stores.
_PROGRAMS, _ELEMENTS = 8, 60_000
#: Lanes of one axis that are looked at.
_LANES = 1024


class ProgramsOverwriteEachOther(Rule):
    code = "KL798"
    name = "programs-overwrite-each-other"
    severity = "error"
    summary = "two programs, or two lanes of one, store values made of different data to one address"
    what_it_does = """
        Follows the stores of neighbouring programs at the sizes in view, lane by lane within their masks, and reports an element
        that two programs, or two lanes of one program, write although what they write comes from different elements of the inputs.
        """
    why = """
        Which of the two values stays depends on which program comes last: results differ from run to run, or are always those of
        the wrong program.
        """
    when_not = """
        Programs that compute the same value twice, as with tiles that overlap on purpose. Atomics, locks, masks and addresses that
        depend on loaded data, and sizes that nothing in view fixes: nothing is said of those.
        """
    fix_safety = "No automatic fix: which element each program should write is the author's to say."
    evidence = """
        A rebuilt report of a state-space model: under the configurations whose second tile is longer than the first, 45 to 57 %
        of the sums are wrong (measured on an H100).
        """
    references = ("https://github.com/state-spaces/mamba/pull/537",)

    bad = """
        @triton.jit
        def row_sums(x, y, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
            row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
            column = tl.arange(0, BLOCK)
            v = tl.load(x + row[:, None] * columns + column[None, :], mask=column[None, :] < columns, other=0.0)
            tl.store(y + tl.program_id(0) + tl.arange(0, ROWS), tl.sum(v, axis=1))
        """
    good = bad.replace("tl.store(y + tl.program_id(0) + tl.arange(0, ROWS)", "tl.store(y + row")
    launch = "row_sums[(16,)](x, y, 100, ROWS=4, BLOCK=128)"
    makes = "y = torch.empty(64, device=x.device)"
    inputs = "torch.randn(64, 100)"
    example = "tl.store(y + tl.program_id(0) + tl.arange(0, ROWS), tl.sum(v, axis=1))"
    use_instead = "tl.store(y + row, tl.sum(v, axis=1))"

    def check(self, context: Context) -> Iterable[Finding]:
        def colliding(first: Launch) -> list[tuple[Launch, Launch, _Collision]]:
            found = ((launch, _collision(launch)) for launch in versions(first))
            return [(first, launch, hit) for launch, hit in found if hit is not None][:1]

        for first, launch, hit in found_in(context.workload.distinct_launches(), colliding):
            some = launch is not first
            settings = ", ".join(f"{name}={value}" for name, value in launch.constexprs.items()) if some else ""
            yield self.finding(
                f"{told(hit.one)} and {told(hit.other)} both write element {hit.element} of `{hit.base}`, from different data"
                + (", under some configurations of the autotuner" if some else ""),
                hit.place.access.span,
                launch.kernel.name,
                (
                    Evidence("the other store", hit.first.access.span),
                    Evidence(
                        f"launched with grid ({', '.join(map(str, launch.grid))})" + (f", {settings}" if some else ""),
                        launch.span,
                    ),
                ),
                severity="warning" if some else self.severity,
            )


@dataclass(frozen=True)
class _Collision:
    """Programs ``one`` and ``other`` both write ``element`` of ``base``, at ``first`` and at ``place``."""

    base: str
    element: int
    one: dict[Atom, int]
    other: dict[Atom, int]
    first: Site
    place: Site


def _collision(launch: Launch) -> _Collision | None:
    kernel = launch.kernel
    if not kernel.complete or not followed(launch) or kernel.may_leave or any(concrete(n) is None for n in launch.grid):
        return None
    if kernel.has(Atomic) or any(loop.kind == "while" for loop in kernel.nodes(Loop)):
        return None
    places = sites(kernel, Store)
    for base in dict.fromkeys(site.access.base for site in places):
        stores = [site for site in places if site.access.base == base]
        if launch.tensor(base) is None or not all(_is_clear(launch, site) for site in stores):
            continue
        distinct = [addresses(launch, site.access, site.loops) for site in stores]
        if len(stores) == 1 and distinct[0] is not None and distinct[0].distinct:
            continue
        for store, reached in zip(stores, distinct):
            shared = _of_lanes(launch, store) if reached is None or not reached.distinct else None
            if shared is not None:
                return shared
        found = _of_stores(launch, stores)
        if found is not None:
            return found
    return None


def _of_lanes(launch: Launch, store: Site) -> _Collision | None:
    """Two lanes of the first program that stores which write one element, each from loads of its own lane, in a kernel that mixes
    no lanes."""
    access, kernel = store.access, launch.kernel
    if store.loops or kernel.has((Reduce, Scan, Dot)):
        return None
    loads = [site for site in sites(kernel, Load) if site.access.id in store.node.depends]  # type: ignore[union-attr]
    if any(site.access.shape != access.shape for site in loads):
        return None
    touched = Touched(store)
    written = next(
        filter(None, (touched.lanes(p, _LANES) for axis in range(len(launch.grid)) for p in _programs(launch, axis))),
        {},
    )
    for element, (one, *others) in written.items():
        for other in others:
            if _differ(launch, (store, one), (store, other)):
                return _Collision(access.base, element, _lanes(one), _lanes(other), store, store)
    return None


def _lanes(point: Mapping[Atom, int]) -> dict[Atom, int]:
    return {atom: number for atom, number in point.items() if isinstance(atom, Lane)}


def _programs(launch: Launch, axis: int) -> list[dict[Atom, int]]:
    """The programs along ``axis`` that are looked at, the first ones along the others."""
    number = concrete(launch.grid[axis]) or 1
    ids = range(number) if number <= _PROGRAMS else [*range(_PROGRAMS // 2), *range(number - _PROGRAMS // 2, number)]
    return [{ProgramId(a): program if a == axis else 0 for a in range(3)} for program in ids]


def _is_clear(launch: Launch, site: Site) -> bool:
    """Whether the elements that ``site`` touches can be told from the program and the iteration."""
    access = site.access
    if site.masked or site.open or access.checked or access.through or access.tested or access.offset is None:
        return False
    return access.offset.is_followed and not open_symbols(launch, site)


def _of_stores(launch: Launch, stores: list[Site]) -> _Collision | None:
    places = [Touched(site) for site in stores]
    for axis in range(len(launch.grid)):
        written: list[_Program] = []
        total = 0
        for point in _programs(launch, axis):
            by_store = [place.of(point, _ELEMENTS) for place in places]
            if None in by_store:
                return None
            written.append(_Program(point, [reached for reached in by_store if reached is not None]))
            total += len(written[-1].elements)
            if total > _ELEMENTS:
                break
        for one, other in combinations(written, 2):
            if one.elements.isdisjoint(other.elements):
                continue
            element = min(one.elements & other.elements)
            first, second = stores[one.store_of(element)], stores[other.store_of(element)]
            if _differ(launch, (first, one.point), (second, other.point)):
                here, there = _on_grid(launch, one.point), _on_grid(launch, other.point)
                return _Collision(first.access.base, element, here, there, first, second)
    return None


class _Program:
    """The program at ``point`` and the ``elements`` that it writes at all of its stores."""

    def __init__(self, point: dict[Atom, int], by_store: list[set[int]]) -> None:
        self.point = point
        self.elements = by_store[0] if len(by_store) == 1 else set().union(*by_store)
        self._by_store = by_store

    def store_of(self, element: int) -> int:
        """The number of the first store that writes ``element``."""
        return next(number for number, reached in enumerate(self._by_store) if element in reached)


def _on_grid(launch: Launch, point: Mapping[Atom, int]) -> dict[Atom, int]:
    """``point`` along the axes that the grid has."""
    return {a: n for a, n in point.items() if isinstance(a, ProgramId) and a.axis < len(launch.grid)}


def _differ(launch: Launch, one: tuple[Site, dict[Atom, int]], other: tuple[Site, dict[Atom, int]]) -> bool:
    """Whether the two stores write values made of different data: what the programs, or lanes, load for them has nothing in
    common."""
    read = [_read(launch, site, point) for site, point in (one, other)]
    if read[0] is None or read[1] is None or not (read[0] or read[1]):
        return False
    return not any(read[0].get(base, frozenset()) & elements for base, elements in read[1].items())


def _read(launch: Launch, store: Site, point: Mapping[Atom, int]) -> dict[str, frozenset[int]] | None:
    """The elements of each tensor that the value at ``store`` is made of in a program or lane; None where that is not known."""
    wanted: frozenset[int] = store.node.depends  # type: ignore[union-attr]
    found: dict[str, set[int]] = {}
    for site in sites(launch.kernel, Load):
        if site.access.id in wanted:
            if not _is_clear(launch, site):
                return None
            touched = Touched(site)
            reached = touched.at(point) if Lane(0) in point else touched.of(point, _ELEMENTS)
            if reached is None:
                return None
            found.setdefault(site.access.base, set()).update(reached)
    return {base: frozenset(elements) for base, elements in found.items() if elements}
