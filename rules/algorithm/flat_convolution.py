"""Convolutions with one output element for each lane, whose channel is a digit of a flat index or of a program id."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from kernlint.records import dataclass
from kernlint.rules.algorithm.convolution import Convolution
from kernlint.workload import (
    Atomic,
    Compute,
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
    Size,
    Store,
    concrete,
)
from kernlint.workload.expr import Atom
from kernlint.workload.synthesis import lane, pid

Tile = TypeVar("Tile", Load, Store)

#: Lanes that a tile must have, and output channels without which there is no matrix.
_LEAST = 16
_LEAST_CHANNELS = 4


@dataclass(frozen=True)
class FlatConvolution(Convolution):
    """A kernel that sums ``x * w`` for each output element."""

    x: Load
    w: Load


def flat_convolution(step: Launch) -> FlatConvolution | None:
    """The convolution that ``step`` computes element by element; None where that is not proven.

    The proof: the weights are addressed by the loops and by one digit, of the flat index of the output or of a program id, which
    together count them exactly once; and one loop walks through all the channels of an image, so that the digit cannot choose
    among them: every output channel reads the same windows.
    """
    kernel = step.kernel
    if not kernel.complete or kernel.dots() or any(True for _ in kernel.walk(Atomic)):
        return None
    if any(node.depends for node, _ in kernel.walk(Reduce) if isinstance(node, Reduce)):
        return None
    loops: list[Loop] = []
    copies: list[Loop] = []
    body: tuple[Node, ...] = kernel.body
    while inner := [node for node in body if isinstance(node, Loop)]:
        if copies or any(loop.span != inner[0].span or loop.trip != inner[0].trip for loop in inner):
            return None
        loops.append(inner[0])
        copies = inner if len(inner) > 1 else []
        body = inner[0].body
    stores = [_vector(store) for store in kernel.stores()]
    loads = [_vector(node) for node in body if isinstance(node, Load)]
    if len(loops) + bool(copies) < 2 or len(loads) != 2 or len(stores) != 1 or not all(loop.carried for loop in loops):
        return None
    if any(not isinstance(node, (Load, Compute)) for node in body) or len(stores[0].shape) != 1:
        return None
    lanes = stores[0].elements
    work = [n for n in body if isinstance(n, Compute) and n.kind == "arith" and n.elements == lanes]
    if lanes < _LEAST or len(work) < 2 or any(not load.dtype.is_float for load in loads):
        return None
    for x, w in (loads, loads[::-1]):
        taps = _unrolled(copies, w)
        found = None if taps is None else _measured(step, tuple(loops), taps, x, w, stores[0])
        if found is not None:
            return found
    return None


def _vector(access: Tile) -> Tile:
    """``access`` without the axes along which it has one element."""
    wide = [dim for dim, extent in enumerate(access.shape) if extent > 1]
    if access.offset is None or len(wide) == len(access.shape):
        return access
    lanes: dict[Atom, Size] = {Lane(dim): 0 for dim in range(len(access.shape))}
    lanes |= {Lane(dim): lane(index) for index, dim in enumerate(wide)}
    return replace(access, shape=tuple(access.shape[dim] for dim in wide), offset=access.offset.substitute(lanes))


@dataclass(frozen=True)
class _Taps:
    """What the compiler unrolls around the innermost loop: ``count`` copies of it, each with weights ``step`` elements on."""

    count: int
    step: int


def _unrolled(copies: list[Loop], w: Load) -> _Taps | None:
    """The taps whose loops are ``copies`` of one another; None where their weights are not evenly apart."""
    if not copies:
        return _Taps(1, 0)
    offsets = []
    for loop in copies:
        same = [node for node in loop.body if isinstance(node, Load) and node.span == w.span]
        if len(same) != 1 or same[0].offset is None:
            return None
        offsets.append(same[0].offset.substitute({LoopIndex(loop.id): Expr.atom(LoopIndex(copies[0].id))}))
    steps = {(after - before).value for before, after in pairwise(offsets)}
    step = steps.pop() if len(steps) == 1 else None
    return None if step is None else _Taps(len(copies), step)


def _in_order(store: Store) -> bool:
    """Whether the lanes of all programs write element after element."""
    return store.offset == lane(0) + pid(0) * store.elements


def _measured(
    step: Launch, loops: tuple[Loop, ...], taps: _Taps, x: Load, w: Load, store: Store
) -> FlatConvolution | None:
    source, weight, out = step.tensor(x.base), step.tensor(w.base), step.tensor(store.base)
    trips = [concrete(loop.trip) for loop in loops]
    if source is None or weight is None or out is None or source.storage.id == weight.storage.id or None in trips:
        return None
    depth = taps.count * math.prod(t for t in trips if t is not None)
    if not weight.numel or not out.numel or not source.numel or weight.numel % depth or x.offset is None:
        return None
    channels = weight.numel // depth
    if channels < _LEAST_CHANNELS or out.numel % channels or not _counts(step, w, loops, taps, channels):
        return None
    # A weight for each lane has the channel of the lane's element; one for the program that of the program.
    if x.elements != store.elements or (w.elements != 1 and (w.elements != store.elements or not _in_order(store))):
        return None
    for loop, trip in zip(loops, trips):
        stride = concrete(x.offset.coefficient(LoopIndex(loop.id)))
        image = stride * (trip or 0) if stride else 0
        if image < _LEAST or source.numel % image or (out.numel // channels) % (source.numel // image):
            continue
        images = source.numel // image
        others = [a for m in x.offset.terms if len(m) == 1 for a in m if not isinstance(a, LoopIndex)]
        if images == 1 or any(concrete(x.offset.coefficient(one)) == image for one in others):
            plane = out.numel // channels // images
            return FlatConvolution(step, loops, source, weight, depth, channels, images, plane, x, w)
    return None


def _counts(step: Launch, w: Load, loops: tuple[Loop, ...], taps: _Taps, channels: int) -> bool:
    """Whether the loops, those that were unrolled, and one digit of ``channels`` values address each weight once."""
    if w.offset is None:
        return False
    indices: list[tuple[Atom, int]] = [(LoopIndex(loop.id), concrete(loop.trip) or 0) for loop in loops]
    walked = {index for index, _ in indices}
    digits = [atom for m in w.offset.terms for atom in m if atom not in walked]
    if len(digits) != 1 or any(len(m) > 1 for m in w.offset.terms) or _extent(step, digits[0]) != channels:
        return False
    if (Lane(0) in Expr.atom(digits[0]).atoms()) != (w.elements > 1):
        return False
    indices.append((digits[0], channels))
    walks = [(concrete(w.offset.coefficient(index)) or 0, extent) for index, extent in indices]
    if taps.count > 1:
        walks.append((taps.step, taps.count))
    reach = 1
    for stride, extent in sorted(walks):
        if stride != reach:
            return False
        reach *= extent
    return True


def _extent(step: Launch, digit: Atom) -> int | None:
    """How many values a remainder or a program id takes."""
    if isinstance(digit, Opaque) and digit.op == "mod":
        return digit.args[1].value
    return concrete(step.grid[digit.axis]) if isinstance(digit, ProgramId) and digit.axis < len(step.grid) else None
