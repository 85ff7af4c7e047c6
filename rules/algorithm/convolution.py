"""Convolutions computed one multiply-add per load, found by their offsets, and the implicit GEMM that takes their place."""

from __future__ import annotations

import math

from kernlint.records import dataclass
from kernlint.rules.proofs.sums_of_products import Sum, product, sums
from kernlint.workload import (
    Atomic,
    Expr,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
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
    around = {id(loop): loops for loop, loops in step.kernel.walk(Loop)}
    for total in sums(step.kernel):
        pairs = scalar_pairs(step, total) if total.nest and not around[id(total.nest[0])] else ()
        if pairs and _shifts(total.nest, pairs):
            return measured(step, total.nest, pairs)
    return None


def scalar_pairs(step: Launch, total: Sum) -> tuple[tuple[Load, Load], ...]:
    """The tile and the scalar weight of each term of ``total``, a sum of their products, where all loops move both and the weight's
    output channel does not move the tile; empty where that is not so."""
    if not step.kernel.complete or step.kernel.dots() or any(True for _ in step.kernel.walk((Atomic, Reduce))):
        return ()
    made = [product(step.kernel, term) for term in total.terms]
    pairs = tuple(one.loads for one in made if one is not None and [f.axes for f in one.factors] == [(0,), ()])
    if not pairs or len(pairs) < len(made) or len({(x.base, w.base) for x, w in pairs}) > 1:
        return ()
    loads = [load for pair in pairs for load in pair]
    if any(load.offset is None or not load.dtype.is_float or load.dtype.bits > 32 for load in loads):
        return ()
    x, w = pairs[0]
    assert x.offset is not None and w.offset is not None
    summed = {LoopIndex(loop.id) for loop in total.nest}
    channel = {atom for monomial in w.offset.terms for atom in monomial if atom not in summed}
    moved = summed <= w.offset.atoms() & x.offset.atoms()
    return pairs if x.elements >= _LEAST and moved and channel and not channel & x.offset.atoms() else ()


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
