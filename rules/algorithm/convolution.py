"""Convolutions, and products of matrices, computed one multiply-add per loaded value: found by what their weights are addressed by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TypeVar

from kernlint.records import dataclass, replace
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
    Size,
    Store,
    Tensor,
    concrete,
)
from kernlint.workload.expr import Atom
from kernlint.workload.synthesis import lane, pid
from kernlint.workload.values import Value

Tile = TypeVar("Tile", Load, Store)

#: Lanes that a tile must have, and output channels without which there is no matrix.
_LEAST = 16
_LEAST_CHANNELS = 4


@dataclass(frozen=True)
class Convolution:
    """What ``launch`` convolves: ``source`` with ``weight``, by the sum ``total`` of ``x * w`` in ``loops`` over channels and taps,
    outermost first, and ``unrolled`` steps.

    ``depth`` = channels x taps, ``channels`` the output channels, ``images`` the batch, ``plane`` the pixels of one output
    plane.
    """

    launch: Launch
    total: Sum
    source: Tensor
    weight: Tensor
    unrolled: int
    depth: int
    channels: int
    images: int
    plane: int
    x: Load
    w: Load

    @property
    def loops(self) -> tuple[Loop, ...]:
        return self.total.nest

    @property
    def is_matrix(self) -> bool:
        """Whether it has one tap alone: what the one loop walks over are rows (or columns) of a matrix that do not overlap, and each
        extent suits a tile."""
        if len(self.loops) + (self.unrolled > 1) > 1 or min(self.depth, self.channels, self.plane) < _LEAST:
            return False
        (loop,), offset = self.loops, self.x.offset
        if offset is None or any(isinstance(atom, LoopIndex) and atom.loop != loop.id for atom in offset.atoms()):
            return False  # an outer loop goes through the columns or the images
        step, stride = concrete(offset.coefficient(LoopIndex(loop.id))), concrete(self.x.stride(0))
        if not step or not stride:
            return False
        return abs(step) >= self.plane * abs(stride) or abs(stride) >= self.depth * abs(step)


def convolution(step: Launch) -> Convolution | None:
    """The convolution that ``step`` computes element by element; None where that is not proven.

    The proof: the weights are addressed by the loops and by one digit, of the flat index of the output, of a program id or of an outer
    loop, which together count them exactly once; the digit does not move the input; and one loop walks through all the channels of an
    image: every output channel reads the same windows.
    """
    kernel = step.kernel
    if not kernel.complete or kernel.dots() or kernel.has(Atomic):
        return None
    if any(node.depends for node in kernel.nodes(Reduce)):
        return None
    found = (_measured(step, total, pairs) for total, pairs in _products(step))
    return next((one for one in found if one is not None), None)


def _products(step: Launch) -> Iterator[tuple[Sum, list[tuple[Load, Load]]]]:
    """The sums of products in loops, with the (input, weight) of each term; loops that the compiler copied, one for each step of a loop
    around them, are one sum, in terms of the first of them."""
    found = [total for total in sums(step.kernel) if total.nest and total.alone and total.start.op != "phi"]
    for total in found:
        behind = [total]
        while one := next((one for one in found if one.start is behind[-1].end), None):
            behind.append(one)
        if any(total.start is one.end for one in found) or any(_walks(one) != _walks(total) for one in behind):
            continue
        made = [_pair(step, total, one, term) for one in behind for term in one.terms]
        pairs = [pair for pair in made if pair is not None]
        if len(pairs) == len(made):
            yield total, pairs
            if all(x.shape == w.shape for x, w in pairs):
                yield total, [(w, x) for x, w in pairs]


def _walks(total: Sum) -> list[object]:
    return [(loop.span, loop.trip) for loop in total.nest]


def _pair(step: Launch, first: Sum, total: Sum, term: Value) -> tuple[Load, Load] | None:
    """The loads that ``term`` multiplies: a vector, and another one or a scalar."""
    made = product(step.kernel, term)
    if made is None or len(made.factors[0].axes) != 1 or made.factors[1].axes not in ((), made.factors[0].axes):
        return None
    if any(load.offset is None or not load.dtype.is_float or load.dtype.bits > 32 for load in made.loads):
        return None
    same: dict[Atom, Expr] = {
        LoopIndex(own.id): Expr.atom(LoopIndex(other.id)) for own, other in zip(total.nest, first.nest)
    }
    x, w = (_vector(load, same) for load in made.loads)
    return x, w


def _vector(access: Tile, indices: Mapping[Atom, Expr]) -> Tile:
    """``access`` without the axes along which it has one element, and with other ``indices``."""
    assert access.offset is not None
    wide = [dim for dim, extent in enumerate(access.shape) if extent > 1]
    lanes: dict[Atom, Size] = {Lane(dim): 0 for dim in range(len(access.shape))}
    lanes |= {Lane(dim): lane(index) for index, dim in enumerate(wide)}
    shape = tuple(access.shape[dim] for dim in wide)
    return replace(access, shape=shape, offset=access.offset.substitute({**lanes, **indices}))


def _measured(step: Launch, total: Sum, pairs: list[tuple[Load, Load]]) -> Convolution | None:
    """The extents of the convolution, from trip counts, tensors and the store."""
    x, w = pairs[0]
    stores = [
        _vector(store, {}) for store in step.kernel.stores() if store.offset is not None and store.depends & {x.id}
    ]
    source, weight = step.tensor(x.base), step.tensor(w.base)
    out = step.tensor(stores[0].base) if len(stores) == 1 else None
    trips = [concrete(loop.trip) for loop in total.nest]
    if source is None or weight is None or out is None or source.storage.id == weight.storage.id or None in trips:
        return None
    store, depth = stores[0], len(pairs) * math.prod(trip for trip in trips if trip is not None)
    if not weight.numel or not out.numel or not source.numel or not depth or weight.numel % depth or x.offset is None:
        return None
    channels, digit = weight.numel // depth, _digit(step, total, pairs, weight.numel // depth)
    if channels < _LEAST_CHANNELS or out.numel % channels or digit is None or digit in x.offset.atoms():
        return None
    # A weight for each lane has the channel of the lane's element; one for the program that of the program.
    if x.elements < _LEAST or x.elements != store.elements or store.stride(0) != 1:
        return None
    if w.elements != 1 and (w.elements != store.elements or not _in_order(store)):
        return None
    for loop, trip in zip(total.nest, trips):
        stride = concrete(x.offset.coefficient(LoopIndex(loop.id)))
        image = stride * (trip or 0) if stride else 0
        if image < _LEAST or source.numel % image or (out.numel // channels) % (source.numel // image):
            continue
        images = source.numel // image
        others = [a for m in x.offset.terms if len(m) == 1 for a in m if not isinstance(a, LoopIndex)]
        if images == 1 or any(concrete(x.offset.coefficient(one)) == image for one in others):
            plane = out.numel // channels // images
            return Convolution(step, total, source, weight, len(pairs), depth, channels, images, plane, x, w)
    return None


def _in_order(store: Store) -> bool:
    """Whether the lanes of all programs write element after element."""
    return store.offset == lane(0) + pid(0) * store.elements


def _digit(step: Launch, total: Sum, pairs: list[tuple[Load, Load]], channels: int) -> Atom | None:
    """The one digit, of ``channels`` values, that addresses each weight once together with the loops and the steps that were unrolled; None
    where they do not."""
    offsets = [load.offset for _, load in pairs if load.offset is not None]
    steps = {(after - before).value for before, after in pairwise(offsets)}
    step_size = steps.pop() if len(steps) == 1 else None
    indices: list[tuple[Atom, int]] = [(LoopIndex(loop.id), concrete(loop.trip) or 0) for loop in total.nest]
    walked = {index for index, _ in indices}
    digits = [atom for m in offsets[0].terms for atom in m if atom not in walked]
    if len(digits) != 1 or any(len(m) > 1 for m in offsets[0].terms) or _extent(step, digits[0]) != channels:
        return None
    if (Lane(0) in Expr.atom(digits[0]).atoms()) != (pairs[0][1].elements > 1) or (
        len(pairs) > 1 and step_size is None
    ):
        return None
    indices.append((digits[0], channels))
    walks = [(concrete(offsets[0].coefficient(index)) or 0, extent) for index, extent in indices]
    if step_size is not None:
        walks.append((step_size, len(pairs)))
    reach = 1
    for stride, extent in sorted(walks):
        if stride != reach:
            return None
        reach *= extent
    return digits[0]


def _extent(step: Launch, digit: Atom) -> int | None:
    """How many values a remainder, a program id or an index of a loop takes."""
    if isinstance(digit, Opaque) and digit.op == "mod":
        return digit.args[1].value
    if isinstance(digit, LoopIndex):
        return next((concrete(node.trip) for node in step.kernel.nodes(Loop) if node.id == digit.loop), None)
    return concrete(step.grid[digit.axis]) if isinstance(digit, ProgramId) and digit.axis < len(step.grid) else None
