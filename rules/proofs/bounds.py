"""Whether accesses stay inside their tensors, and whether indices reach all they should."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import floor, gcd

from kernlint.records import dataclass, replace
from kernlint.rules.finding import Evidence
from kernlint.rules.proofs.dataflow import read_tensors, written_tensors
from kernlint.rules.proofs.iteration_domain import (
    Point,
    Site,
    Space,
    last_element,
    open_symbols,
    samples,
    sites,
    symbols_of,
    told,
)
from kernlint.rules.proofs.like_launches import found_in
from kernlint.rules.proofs.whole_tiles import whole_tiles
from kernlint.workload import Launch, Span, Tensor, Workload
from kernlint.workload.access import Access, Load, Store
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, Opaque, ProgramId, Size, lift


@dataclass(frozen=True)
class Overrun:
    """``site`` touches element ``reached`` of a tensor whose last is ``last``, at ``point``; where sizes are open, it does so
    whatever they are, and ``sizes`` are those of the example."""

    launch: Launch
    site: Site
    reached: int
    last: int
    point: Point
    sizes: Mapping[Atom, int]


def sizes_told(sizes: Mapping[Atom, int]) -> str:
    return ", ".join(f"{symbol} = {value}" for symbol, value in sizes.items())


def versions(launch: Launch, most: int | None = 8) -> list[Launch]:
    """``launch`` under its first autotune configurations, but for those that a ``tl.static_assert`` refuses: a tuner skips these."""
    return [one for one in launch.configurations if all(f.kind != "static-assert" for f in one.kernel.faults)][:most]


def followed(launch: Launch) -> bool:
    """Whether tile extents are those of the program, not assumed ones."""
    return not launch.kernel.assumed


def extents(workload: Workload) -> dict[int, list[Tensor]]:
    """Every view in the workload of each storage."""
    found: dict[int, list[Tensor]] = {}

    def add(value: object) -> None:
        if isinstance(value, Tensor):
            found.setdefault(value.storage.id, []).append(value)

    for tensor in (*workload.inputs, *workload.outputs):
        add(tensor)
    for step in workload.all_steps:
        if isinstance(step, Launch):
            for value in step.arguments.values():
                add(value)
        else:
            for tensor in (*read_tensors(step), *written_tensors(step)):
                add(tensor)
    return found


def ends_of_storage(tensor: Tensor, views: Mapping[int, list[Tensor]]) -> list[Expr | None]:
    """The last element, from where ``tensor`` begins, of each known view of its storage, its own first; None for an open one."""
    lasts = [(view, last_element(view)) for view in [tensor, *views.get(tensor.storage.id, ())]]
    return [lift(last) + lift(view.offset) - tensor.offset if last is not None else None for view, last in lasts]


def overruns(workload: Workload, kind: type[Access]) -> list[Overrun]:
    """Accesses of ``kind`` that leave their tensor, each with a witness."""
    return [one for one in workload.once(_overruns) if isinstance(one.site.access, kind)]


def _overruns(workload: Workload) -> list[Overrun]:
    views = extents(workload)

    def leaving(first: Launch) -> Iterator[Overrun]:
        asked = ((launch, site) for launch in versions(first) for site in sites(launch.kernel, Load, Store))
        found = (_overrun(workload, launch, site, views) for launch, site in asked)
        yield from (one for one in found if one is not None)

    def seen_as(launch: Launch) -> tuple[object, ...]:
        tensors = (value for value in launch.arguments.values() if isinstance(value, Tensor))
        shown = (views.get(tensor.storage.id, ()) for tensor in tensors)
        return tuple(frozenset((view.shape, view.strides, view.offset) for view in seen) for seen in shown)

    return list(found_in(workload.launches(), leaving, seen_as))


def _overrun(workload: Workload, launch: Launch, site: Site, views: Mapping[int, list[Tensor]]) -> Overrun | None:
    access = site.access
    tensor = launch.tensor(access.base)
    if access.checked or access.offset is None or site.masked or site.open or tensor is None or not followed(launch):
        return None
    ends = ends_of_storage(tensor, views)
    symbols = symbols_of(*ends)
    if None in ends or not open_symbols(launch, site) <= symbols:
        return None  # how other sizes relate to those of the tensor is not in view
    if not access.offset.is_followed:
        return None
    first: Overrun | None = None
    for sizes in samples(workload, symbols, launch):
        lasts = [end.evaluate(sizes) for end in ends if end is not None]
        enough = max((floor(last) for last in lasts if last is not None), default=None)
        found = Space(launch, site, sizes).largest(access.offset, enough)
        if found is None:
            continue
        if any(last is None or found[0] <= last for last in lasts):
            return None
        first = first or Overrun(launch, site, found[0], int(max(last or 0 for last in lasts)), found[1], sizes)
    return first


# -- indices that stop short ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shortfall:
    """The masked index of ``site`` only reaches ``reached`` although its bound allows ``needed``; ``always`` where it does so
    under every configuration of the autotuner, if there is one."""

    launch: Launch
    site: Site
    index: Expr
    bound: Expr
    reached: int
    needed: int
    sizes: Mapping[Atom, int]
    always: bool = True

    @property
    def place(self) -> tuple[Span, Expr]:
        """What stops short, whatever the configuration."""
        return self.site.access.span, self.bound

    @property
    def where(self) -> str:
        """At which sizes, as the end of a clause; empty where all are in view."""
        return f" where {sizes_told(self.sizes)}" if self.sizes else ""

    @property
    def from_programs(self) -> bool:
        return any(isinstance(a, ProgramId) for a in self.index.atoms())

    @property
    def from_loops(self) -> bool:
        return any(isinstance(a, LoopIndex) for a in self.index.atoms())


def shortfalls(workload: Workload) -> list[Shortfall]:
    """Mask bounds ``index < bound`` whose index stops short of the bound over the whole grid and all iterations; those of
    every configuration first. Of launches that are alike those of the first."""
    return workload.once(_shortfalls)


def _shortfalls(workload: Workload) -> list[Shortfall]:
    def stopping(first: Launch) -> list[Shortfall]:
        by_version = [[*_of_version(workload, launch)] for launch in versions(first)]
        if all(by_version):
            rest = versions(first, most=None)[len(by_version) :]
            by_version += [[*_of_version(workload, launch)] for launch in rest]
        places = [{short.place for short in each} for each in by_version]
        constant = set.intersection(*places) if places else set()
        found = [replace(short, always=short.place in constant) for each in by_version for short in each]
        return sorted(found, key=lambda short: not short.always)

    return list(found_in(workload.distinct_launches(), stopping))


def _of_version(workload: Workload, launch: Launch) -> Iterator[Shortfall]:
    if not followed_or_open(launch):
        return
    furthest: dict[tuple[Expr, Expr], tuple[Site, Expr, Expr]] = {}
    for site in sites(launch.kernel):
        for index, bound in site.access.mask or ():
            # An unrolled loop shows as one index with several constants: the largest gets furthest.
            shift = index.terms.get((), 0)
            known = furthest.get((index - shift, bound))
            if known is None or shift > known[1].terms.get((), 0):
                furthest[index - shift, bound] = (site, index, bound)
    for site, index, bound in furthest.values():
        found = _shortfall(workload, launch, site, index, bound)
        if found is not None:
            yield found


def walked_in_tiles(short: Shortfall) -> bool:
    """Whether a loop of the kernel, or the grid, steps through the same tensor by whole tiles along the lanes of the index: its
    accesses reach what this one, a first tile that is fetched ahead or one whose mask stays while its pointer moves, does not."""
    dims = {a.dim for a in short.index.atoms() if isinstance(a, Lane)}
    programs = [ProgramId(axis) for axis in range(len(short.launch.grid))]
    for site in sites(short.launch.kernel):
        if site.access.base == short.site.access.base:
            steps: list[Atom] = [*programs, *(LoopIndex(loop.id) for loop in site.loops)]
            walks = (whole_tiles(site.access, step) for step in steps)
            if any(not dims.isdisjoint(walk) for walk in walks):
                return True
    return False


def followed_or_open(launch: Launch) -> bool:
    """Whether each assumed constexpr has a size expression that samples can be held against."""
    return len(launch.kernel.assumed) == sum(name in launch.open_constexprs for name in launch.constexprs)


def _shortfall(workload: Workload, launch: Launch, site: Site, index: Expr, bound: Expr) -> Shortfall | None:
    moving = {a for a in index.atoms() if isinstance(a, (ProgramId, Lane, LoopIndex))}
    lanes = {a for a in moving if isinstance(a, Lane)}
    if not lanes or any(isinstance(a, (ProgramId, Lane, LoopIndex, Opaque)) for a in bound.atoms()):
        return None
    if any(isinstance(a, Opaque) for a in index.atoms()) or site.guards or site.open:
        return None
    if any(symbol.name not in launch.arguments and "." not in symbol.name for symbol in symbols_of(index, bound)):
        return None  # an argument that was not followed
    # Sizes of axes and loops that the index does not move with must have some value, and do not matter.
    walked: list[Size | None] = [extent for axis, extent in enumerate(launch.grid) if ProgramId(axis) in moving]
    walked += [loop.trip for loop in site.loops if LoopIndex(loop.id) in moving]
    mattering = symbols_of(index, bound, *walked, *launch.open_constexprs.values())
    if not mattering <= symbols_of(bound):
        return None  # sizes of other tensors may well be the same
    symbols = mattering | symbols_of(*launch.grid, *(loop.trip for loop in site.loops))
    for sizes in samples(workload, symbols, launch):
        space = Space(launch, site, sizes)
        space.bounds.clear()
        found = space.largest(index)
        needed = bound.evaluate(sizes)
        # An index that runs in blocks (`group * 64 < n`) takes no value between two of its steps.
        if found is not None and needed is not None and found[0] + _step(index, moving, sizes) < needed:
            shown: dict[Atom, int] = {symbol: number for symbol, number in sizes.items() if symbol in mattering}
            return Shortfall(launch, site, index, bound, found[0] + 1, int(needed), shown)
    return None


def _step(index: Expr, moving: Iterable[Atom], sizes: Mapping[Atom, int]) -> int:
    """The least distance between two values of ``index``, a sum of ``moving`` indices: 1 where that is not known."""
    factors = [index.coefficient(atom) for atom in moving]
    numbers = [factor.substitute(sizes).value if factor is not None else None for factor in factors]
    known = [number for number in numbers if number is not None]
    return max(1, gcd(*known)) if len(known) == len(numbers) else 1


def witness(launch: Launch, point: Point, what: str) -> tuple[Evidence, ...]:
    """A proof by one point: what happens there, and the launch."""
    return (
        Evidence(f"{told(point)} {what}"),
        Evidence(f"launched with grid ({', '.join(map(str, launch.grid))})", launch.span),
    )
