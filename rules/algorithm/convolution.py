"""Convolutions computed one multiply-add per load, found by their offsets, and the implicit GEMM that takes their place."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.workload import (
    Atomic,
    Compute,
    Dot,
    Expr,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    Opaque,
    ProgramId,
    Reduce,
    Store,
    Tensor,
    concrete,
)
from kernlint.workload.synthesis import lane, pid

#: A loop of at most this many iterations walks over the taps of a filter ...
_MAX_TAPS = 31
#: ... in steps of at most this many elements along the innermost dimension (a dilation).
_MAX_DILATION = 16
#: Pixels a tile must have.
_LEAST = 16
#: Fewer output channels than this are no matrix.
_LEAST_CHANNELS = 4


@dataclass(frozen=True)
class Convolution:
    """What ``launch`` convolves: ``source`` with ``weight``, in ``loops`` over channels and taps, outermost first.

    ``depth`` = channels x taps, ``channels`` the output channels, ``images`` the batch, ``plane`` the pixels of one output
    plane.
    """

    launch: Launch
    loops: tuple[Loop, ...]
    source: Tensor
    weight: Tensor
    depth: int
    channels: int
    images: int
    plane: int


@dataclass(frozen=True)
class DirectConvolution(Convolution):
    """A kernel whose programs make a tile of pixels for one output channel.

    ``pairs`` are the shifted window and scalar weight of each multiply-add in the innermost loop. ``store`` writes the
    tile.
    """

    pairs: tuple[tuple[Load, Load], ...]
    store: Store


def direct_convolution(step: Launch) -> DirectConvolution | None:
    """The convolution that ``step`` computes directly; None where that is not proven.

    The proof, from offsets: in the innermost loop a tile of inputs is loaded that shifts by a few elements with a short loop
    (or between unrolled loads), beside a scalar weight at an address that every loop moves; the sum goes around the loops;
    and the weight's output channel does not move the input, so that other programs read the same windows.
    """
    kernel = step.kernel
    if not kernel.complete or kernel.dots() or any(True for _ in kernel.walk((Atomic, Reduce))):
        return None
    for loops, body in innermost(kernel.body, ()):
        pairs = channel_pairs(loops, body)
        if pairs and _shifts(loops, pairs):
            return measured(step, loops, pairs)
    return None


def innermost(body: tuple[Node, ...], loops: tuple[Loop, ...]) -> Iterator[tuple[tuple[Loop, ...], tuple[Node, ...]]]:
    inner = [node for node in body if isinstance(node, Loop)]
    if loops and not inner:
        yield loops, body
    for loop in inner:
        yield from innermost(loop.body, (*loops, loop))


def channel_pairs(loops: tuple[Loop, ...], body: tuple[Node, ...]) -> tuple[tuple[Load, Load], ...]:
    """The tile and the scalar weight of each multiply-add in the innermost body, where all loops move both and the weight's
    output channel does not move the tile; empty where that is not so."""
    loads = [node for node in body if isinstance(node, Load)]
    tiles = [load for load in loads if load.elements >= _LEAST and sum(e > 1 for e in load.shape) == 1]
    scalars = [load for load in loads if load.elements == 1]
    if not tiles or len(tiles) != len(scalars) or not all(loop.carried for loop in loops):
        return ()
    if len({load.base for load in tiles}) != 1 or len({load.base for load in scalars}) != 1:
        return ()
    if any(load.offset is None or not load.dtype.is_float or load.dtype.bits > 32 for load in loads):
        return ()
    pairs = tuple(zip(tiles, scalars))
    x, w = pairs[0]
    assert x.offset is not None and w.offset is not None
    moved = w.offset.atoms()
    if not all(LoopIndex(loop.id) in moved and LoopIndex(loop.id) in x.offset.atoms() for loop in loops):
        return ()
    adds = [n for n in body if isinstance(n, Compute) and n.kind == "arith" and n.elements == x.elements]
    if len(adds) < 2 * len(pairs) or any(isinstance(n, (Store, Dot)) for n in body):
        return ()
    summed = {LoopIndex(loop.id) for loop in loops}
    channel = {atom for monomial in w.offset.terms for atom in monomial if atom not in summed}
    if not channel or channel & x.offset.atoms():
        return ()
    return pairs


def _shifts(loops: tuple[Loop, ...], pairs: tuple[tuple[Load, Load], ...]) -> bool:
    """Whether the windows overlap: a short loop, or the step between unrolled loads, moves them by a few elements."""
    x = pairs[0][0]
    assert x.offset is not None
    for loop in loops:
        trip, step = concrete(loop.trip), concrete(x.offset.coefficient(LoopIndex(loop.id)))
        if trip is not None and 2 <= trip <= _MAX_TAPS and step is not None and 1 <= abs(step) <= _MAX_DILATION:
            return True
    for other, _ in pairs[1:]:
        assert other.offset is not None
        step = concrete(other.offset - x.offset)
        if step is not None and 1 <= abs(step) <= _MAX_DILATION:
            return True
    return False


def measured(step: Launch, loops: tuple[Loop, ...], pairs: tuple[tuple[Load, Load], ...]) -> DirectConvolution | None:
    """The extents of the convolution, from trip counts, tensors and the store."""
    x, w = pairs[0]
    stores = [s for s in step.kernel.stores() if s.depends & {x.id}]
    source, weight = step.tensor(x.base), step.tensor(w.base)
    if len(stores) != 1 or source is None or weight is None:
        return None
    store = stores[0]
    out = step.tensor(store.base)
    trips = [concrete(loop.trip) for loop in loops]
    if out is None or out.numel is None or weight.numel is None or None in trips or store.shape != x.shape:
        return None
    depth = math.prod(t for t in trips if t is not None) * len(pairs)
    if depth == 0 or weight.numel % depth:
        return None
    channels = weight.numel // depth
    axis = _pixel_axis(step, store, w)
    if store.stride(_lane(store)) != 1 or channels < _LEAST_CHANNELS or out.numel % channels:
        return None
    plane = _plane(step, store, axis)
    if not plane or (out.numel // channels) % plane:
        return None
    images = out.numel // channels // plane
    if images > 1 and not _has_image(x, store, axis):
        return None
    return DirectConvolution(step, loops, source, weight, depth, channels, images, plane, pairs, store)


def _lane(access: Load | Store) -> int:
    return next(dim for dim, extent in enumerate(access.shape) if extent > 1)


def _pixel_axis(step: Launch, store: Store, weight: Load) -> int | None:
    """The grid axis along which the store's tiles follow one another; None where there is one tile for each plane. An axis
    that moves the weight goes through the output channels, whose planes may be as long as a tile."""
    if store.offset is None or weight.offset is None:
        return None
    extent, channel = store.shape[_lane(store)], weight.offset.atoms()
    axes = [axis for axis in range(len(step.grid)) if ProgramId(axis) not in channel]
    return next((axis for axis in axes if store.offset.coefficient(ProgramId(axis)) == extent), None)


def _plane(step: Launch, store: Store, axis: int | None) -> int | None:
    """Pixels that the tiles of one output channel cover: the mask's bound, else all of them."""
    dim = _lane(store)
    index = lane(dim) + (pid(axis) * store.shape[dim] if axis is not None else 0)
    for left, right in store.mask or ():
        if left == index and right.value is not None:
            return right.value
    extent = concrete(step.grid[axis]) if axis is not None else 1
    return extent * store.shape[dim] if extent is not None else None


def _has_image(x: Load, store: Store, axis: int | None) -> bool:
    """Whether one index other than the pixel's, channels' and taps' moves the input: the image of the batch."""
    assert x.offset is not None
    skip = (LoopIndex, Lane)
    atoms = {atom for monomial in x.offset.terms for atom in monomial if not isinstance(atom, skip)}
    others = {
        atom for atom in atoms
        if not (isinstance(atom, ProgramId) and atom.axis == axis)
        and not (isinstance(atom, Opaque) and Lane(_lane(store)) in Expr.atom(atom).atoms())
    }  # fmt: skip
    return len(others) == 1
