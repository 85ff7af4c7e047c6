"""How Triton deals a tile out to threads: the vector a thread loads at once, and the lanes and warps along each axis.

Vector width follows Triton's axis analysis (``lib/Analysis/AxisInfo.cpp``): neighbours in memory are fetched together as
far as the compiler can prove the address divisible and the mask constant over them. An integer argument is known to be
divisible by 16 or not at all, so a row length of 1500 makes every load of a row a scalar one. The dealing is that of the
coalescing pass (``BlockedEncodingAttr``, ``lib/Dialect/TritonGPU/IR/Dialect.cpp``): fastest axis first, lanes before
warps.
"""

from __future__ import annotations

import math

from kernlint.records import dataclass
from kernlint.workload import Atomic, Expr, Lane, Load, LoopIndex, Opaque, ProgramId, Store, Symbol

_VECTOR_BYTES = 16
#: Divisibility that Triton tells of an integer argument.
_ARGUMENT = 16


@dataclass(frozen=True)
class Layout:
    """Elements of one thread, lanes of a warp and warps of a program along each axis of a tile; ``vector`` are the elements of
    a thread that lie side by side.

    Where a tile is smaller than the program's threads the product exceeds the extent: threads then hold copies.
    """

    values: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    vector: tuple[int, ...]


def blocked(shape: tuple[int, ...], fastest: int, vector: int, num_warps: int) -> Layout:
    """The blocked layout of a tile whose ``fastest`` axis is contiguous, ``vector`` elements a thread along it."""
    rank = len(shape)
    threads = 32 * num_warps
    per_thread = [1] * rank
    elements = math.prod(shape)
    per_thread[fastest] = max(1, min(vector, elements // threads, shape[fastest]))
    order = [fastest, *(axis for axis in reversed(range(rank)) if axis != fastest)]
    lanes, warps = [1] * rank, [1] * rank
    lanes_left, warps_left, threads_left = 32, num_warps, threads
    for position, axis in enumerate(order):
        wanted = min(max(1, shape[axis] // per_thread[axis]), threads_left)
        lanes[axis] = min(wanted, lanes_left)
        warps[axis] = max(1, min(wanted // lanes[axis], warps_left))
        if position == rank - 1:
            lanes[axis], warps[axis] = lanes_left, warps_left
        lanes_left = max(1, lanes_left // lanes[axis])
        warps_left = max(1, warps_left // warps[axis])
        threads_left = max(1, threads_left // wanted)
    values = [math.ceil(extent / (lane * warp)) for extent, lane, warp in zip(shape, lanes, warps)]
    return Layout(tuple(values), tuple(lanes), tuple(warps), tuple(per_thread))


def vector_bytes(access: Load | Store | Atomic) -> int:
    """Bytes of the widest fetch a thread can make of this access: 16, or what alignment and mask leave."""
    size = max(1, access.dtype.bytes)
    offset = access.offset
    if offset is None or not access.shape:
        return size
    widest = max(1, _VECTOR_BYTES // size)
    best = 1
    for dim, extent in enumerate(access.shape):
        step = None if extent < 2 else offset.coefficient(Lane(dim))
        if step is not None and step.value in (1, -1):
            width = math.gcd(widest, extent)
            width = math.gcd(width, _divisor(offset, Lane(dim)))
            for bound in _bounds(access, Lane(dim)):
                width = math.gcd(width, _divisor(bound, Lane(dim), limit=True))
            best = max(best, width)
    return best * size


def fastest_axis(access: Load | Store | Atomic) -> int:
    """The axis along which neighbours in the tile are neighbours in memory; the last one where none is."""
    if access.offset is not None:
        for dim in reversed(range(len(access.shape))):
            step = access.offset.coefficient(Lane(dim))
            if access.shape[dim] > 1 and step is not None and step.value in (1, -1):
                return dim
    return max(0, len(access.shape) - 1)


def _bounds(access: Load | Store | Atomic, lane: Lane) -> list[Expr]:
    """The sides of the mask that vary along ``lane``: the mask is constant over a vector where they are divisible."""
    return [right - left for left, right in access.mask or () if lane in (right - left).atoms()]


def _divisor(expr: Expr, lane: Lane, limit: bool = False) -> int:
    """A number that divides ``expr`` without its own term in ``lane``, as far as the compiler sees; at most 16.

    A factor beyond 16 is taken for an argument; the constant of an offset is a literal, that of a ``limit`` an argument.
    """
    divisor = 0
    for monomial, coefficient in expr.terms.items():
        if monomial == (lane,):
            continue
        known = _ARGUMENT if coefficient % _ARGUMENT == 0 else math.gcd(coefficient, _ARGUMENT)
        if (monomial or limit) and abs(coefficient) > _ARGUMENT and known < _ARGUMENT:
            known = 1
        for atom in monomial:
            if isinstance(atom, Opaque):
                known *= _opaque_divisor(atom, lane)
            elif isinstance(atom, (Symbol, ProgramId, LoopIndex, Lane)):
                continue
        divisor = math.gcd(divisor, known)
    return min(divisor, _ARGUMENT) or _ARGUMENT


def _opaque_divisor(atom: Opaque, lane: Lane) -> int:
    """1 for a value of unknown divisibility; a modulo or division by a multiple of 16 keeps a vector whole."""
    if not any(lane in arg.atoms() for arg in atom.args):
        return 1
    period = atom.args[1].value if len(atom.args) == 2 and atom.op in ("mod", "floordiv") else None
    return _ARGUMENT if period is not None and period % _ARGUMENT == 0 else 1
