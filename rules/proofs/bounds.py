"""Whether accesses stay inside their tensors, and whether indices reach all they should."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import gcd

from kernlint.records import dataclass
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
from kernlint.workload import Launch, Span, Tensor, Workload
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, Opaque, ProgramId, Size, lift
from kernlint.workload.kernel import Access


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


def versions(launch: Launch) -> Iterator[Launch]:
    """``launch`` under its first autotune configurations."""
    yield launch
    yield from launch.alternatives[:7]


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
    for step, _ in workload.walk():
        if isinstance(step, Launch):
            for value in step.arguments.values():
                add(value)
        else:
            for tensor in (*read_tensors(step), *written_tensors(step)):
                add(tensor)
    return found


def last_of_storage(tensor: Tensor, views: Mapping[int, list[Tensor]]) -> list[Size] | None:
    """The last element, from where ``tensor`` begins, of every known view of its storage; None where one is open."""
    found: list[Size] = []
    for view in [tensor, *views.get(tensor.storage.id, ())]:
        last = last_element(view)
        if last is None:
            return None
        found.append(lift(last) + lift(view.offset) - tensor.offset)
    return found


def overruns(workload: Workload, kind: type[Access]) -> Iterator[Overrun]:
    """Accesses of ``kind`` that leave their tensor, each with a witness."""
    views = extents(workload)
    for first in workload.launches():
        for launch in versions(first):
            for site in sites(launch.kernel, kind):
                found = _overrun(workload, launch, site, views)
                if found is not None:
                    yield found


def _overrun(workload: Workload, launch: Launch, site: Site, views: Mapping[int, list[Tensor]]) -> Overrun | None:
    access = site.access
    tensor = launch.tensor(access.base)
    if access.checked or access.offset is None or site.masked or site.open or tensor is None or not followed(launch):
        return None
    lasts = last_of_storage(tensor, views)
    if lasts is None:
        return None
    symbols = symbols_of(*lasts)
    if not open_symbols(launch, site) <= symbols:
        return None  # how other sizes relate to those of the tensor is not in view
    if not access.offset.is_followed:
        return None
    first: Overrun | None = None
    for sizes in samples(workload, symbols, launch):
        ends = [lift(last).evaluate(sizes) for last in lasts]
        found = Space(launch, site, sizes).largest(access.offset)
        if found is None:
            continue
        if any(end is None or found[0] <= end for end in ends):
            return None
        first = first or Overrun(launch, site, found[0], int(max(end or 0 for end in ends)), found[1], sizes)
    return first


# -- tiles that overshoot ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Overshoot:
    """Index ``index`` counts tiles of ``tile`` up to ``count`` rounded up, and nothing keeps lanes below ``count``."""

    launch: Launch
    site: Site
    index: Atom
    count: Expr
    tile: int
    sizes: Mapping[Atom, int]


def overshoots(workload: Workload, kind: type[Access]) -> Iterator[Overshoot]:
    """Unmasked accesses of ``kind`` in the last, partial tile of a grid or loop of ``cdiv(count, tile)`` steps."""
    for first in workload.launches():
        for launch in versions(first):
            for site in sites(launch.kernel, kind):
                if site.access.mask is None and not site.access.checked and not site.guards and not site.open:
                    yield from _overshoot(workload, launch, site)


def _overshoot(workload: Workload, launch: Launch, site: Site) -> Iterator[Overshoot]:
    access = site.access
    if access.offset is None or not followed(launch):
        return
    steps: list[tuple[Atom, Size | None]] = [(ProgramId(axis), extent) for axis, extent in enumerate(launch.grid)]
    steps += [(LoopIndex(loop.id), loop.trip) for loop in site.loops]
    for index, extent in steps:
        rounded = rounded_up(extent)
        if rounded is None:
            continue
        count, tile = rounded
        stride = access.offset.coefficient(index)
        if stride is None or not stride.terms:
            continue
        for dim, lanes in enumerate(access.shape):
            step = access.offset.coefficient(Lane(dim))
            if lanes == tile and step is not None and step.terms and stride == step * tile:
                sizes = _partial(workload, launch, count, tile)
                if sizes is not None and not _has_room(launch, site, sizes, (index, Lane(dim))):
                    yield Overshoot(launch, site, index, count, tile, sizes)


def _has_room(launch: Launch, site: Site, sizes: Mapping[Atom, int], tiles: tuple[Atom, Lane]) -> bool:
    """Whether the tensor is known to be allocated in whole tiles, so that nothing lies beyond it, or at least nothing
    along the axis of ``tiles``, their index and their lanes: another one may leave it, at sizes that have nothing to do
    with these."""
    access, tensor = site.access, launch.tensor(site.access.base)
    last = last_element(tensor) if tensor is not None else None
    end = lift(last).evaluate(sizes) if last is not None else None
    if tensor is None or end is None or access.offset is None:
        return False
    space = Space(launch, site, sizes)
    found = space.largest(access.offset)
    if found is not None and found[0] <= end:
        return True
    step = access.offset.coefficient(tiles[1])
    for extent, stride in zip(tensor.shape or (), tensor.strides or ()):
        rows = lift(extent).evaluate(sizes)
        if step is None or lift(stride) != step or rows is None:
            continue
        index = _along(access.offset, step, int(rows), sizes, tiles)
        found = space.largest(index) if index is not None else None
        if found is not None and found[0] < rows:
            return True
    return False


def _along(offset: Expr, step: Expr, rows: int, sizes: Mapping[Atom, int], tiles: tuple[Atom, Lane]) -> Expr | None:
    """The index that ``offset`` has along the axis of ``tiles``, ``rows`` elements ``step`` apart; None where that is not
    told."""
    stride = step.evaluate(sizes)
    moving = (ProgramId, Lane, LoopIndex)
    start, index = offset, Expr.constant(0)
    for atom in offset.atoms():
        if isinstance(atom, Opaque) and any(isinstance(a, moving) for arg in atom.args for a in arg.atoms()):
            return None
        if not isinstance(atom, moving):
            continue
        factor = offset.coefficient(atom)
        each = factor.evaluate(sizes) if factor is not None else None
        if factor is None or each is None or not stride:
            return None
        start = start - factor * Expr.atom(atom)
        if atom in tiles or (each % stride == 0 and each // stride < rows):
            index = index + Expr.atom(atom) * int(each // stride)
    first = start.evaluate(sizes)
    return index + int(first // stride) if first is not None and stride else None


def rounded_up(extent: Size | None) -> tuple[Expr, int] | None:
    """(count, tile) where ``extent`` is ``cdiv(count, tile)`` with an open count."""
    if not isinstance(extent, Expr):
        return None
    for atom in extent.atoms():
        if isinstance(atom, Opaque) and atom.op == "floordiv":
            tile = atom.args[1].value
            # cdiv(n, t) is -(-n // t), and (n + t - 1) // t where it is written out.
            if tile and extent == -Expr.atom(atom):
                return -atom.args[0], tile
            if tile and extent == Expr.atom(atom) and (atom.args[0] - (tile - 1)).terms:
                count = atom.args[0] - (tile - 1)
                if () not in count.terms:
                    return count, tile
    return None


def _partial(workload: Workload, launch: Launch, count: Expr, tile: int) -> Mapping[Atom, int] | None:
    """Sizes that nothing rules out, for which the last tile is partial."""
    for sizes in samples(workload, symbols_of(count), launch):
        number = count.evaluate(sizes)
        if number is not None and number > 0 and number % tile:
            return sizes
    return None


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
    stopping: list[Shortfall] = []
    for first in workload.distinct_launches():
        by_version = [[*_of_version(workload, launch)] for launch in versions(first)]
        if all(by_version):
            by_version += [[*_of_version(workload, launch)] for launch in first.alternatives[len(by_version) - 1 :]]
        constant = set.intersection(*({short.place for short in each} for each in by_version))
        found = [replace(short, always=short.place in constant) for each in by_version for short in each]
        stopping += sorted(found, key=lambda short: not short.always)
    return stopping


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


def walked_by_a_loop(short: Shortfall) -> bool:
    """Whether a loop of the kernel steps through the same tensor by whole tiles along the lanes of the index: its accesses
    reach what this one, a first tile that is fetched ahead or one whose mask stays while its pointer moves, does not."""
    dims = [a.dim for a in short.index.atoms() if isinstance(a, Lane)]
    for site in sites(short.launch.kernel):
        access = site.access
        if access.base != short.site.access.base or access.offset is None:
            continue
        for dim in (d for d in dims if d < len(access.shape)):
            lane = access.offset.coefficient(Lane(dim))
            if lane is None or not lane.terms:
                continue
            tile = lane * access.shape[dim]
            if any(access.offset.coefficient(LoopIndex(loop.id)) == tile for loop in site.loops):
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
