"""Tiles that overshoot: the last, partial one of a grid or loop that counts them rounded up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernlint.records import dataclass
from kernlint.rules.proofs.bounds import ends_of_storage, extents, followed, versions
from kernlint.rules.proofs.iteration_domain import Site, Space, samples, sites, symbols_of
from kernlint.rules.proofs.whole_tiles import whole_tiles
from kernlint.workload import Launch, Tensor, Workload
from kernlint.workload.access import Access
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, Opaque, ProgramId, Size, lift


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
    views = extents(workload)
    for first in workload.launches():
        for launch in versions(first):
            for site in sites(launch.kernel, kind):
                if site.access.mask is None and not site.access.checked and not site.guards and not site.open:
                    yield from _overshoot(workload, launch, site, views)


def _overshoot(
    workload: Workload, launch: Launch, site: Site, views: Mapping[int, list[Tensor]]
) -> Iterator[Overshoot]:
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
        for dim in whole_tiles(access, index):
            sizes = _partial(workload, launch, count, tile) if access.shape[dim] == tile else None
            if sizes is not None and not _has_room(launch, site, sizes, (index, Lane(dim)), views):
                yield Overshoot(launch, site, index, count, tile, sizes)


def _has_room(
    launch: Launch, site: Site, sizes: Mapping[Atom, int], tiles: tuple[Atom, Lane], views: Mapping[int, list[Tensor]]
) -> bool:
    """Whether the storage is known to be allocated in whole tiles, so that nothing lies beyond it, or at least nothing
    along the axis of ``tiles``, their index and their lanes: another one may leave it, at sizes that have nothing to do
    with these."""
    access, tensor = site.access, launch.tensor(site.access.base)
    if tensor is None or access.offset is None:
        return False
    space = Space(launch, site, sizes)
    found = space.largest(access.offset)
    lasts = [end.evaluate(sizes) for end in ends_of_storage(tensor, views) if end is not None]
    if found is not None and any(last is not None and found[0] <= last for last in lasts):
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
