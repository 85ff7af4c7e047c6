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
from kernlint.workload.expr import Atom

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
        run = 0 if extent < 2 else _run(offset, Lane(dim))
        if run:
            width = math.gcd(widest, math.gcd(extent, run))
            width = math.gcd(width, _divisor(offset, Lane(dim)))
            for limit in _limits(access, Lane(dim)):
                width = math.gcd(width, _divisor(limit, Lane(dim), limit=True))
            best = max(best, width)
    return best * size


def fastest_axis(access: Load | Store | Atomic) -> int:
    """The axis along which lanes follow each other: that of :func:`neighbours`, the first where there is none (Triton up to 3.6)."""
    return neighbours(access) or 0


def neighbours(access: Load | Store | Atomic) -> int | None:
    """The axis along which neighbours in the tile are neighbours in memory, as far as the compiler sees; None where it sees none (an
    index that is clamped, mirrored or loaded)."""
    if access.offset is not None:
        for dim in reversed(range(len(access.shape))):
            if access.shape[dim] > 1 and _run(access.offset, Lane(dim)) > 1:
                return dim
    return None


def _run(offset: Expr, lane: Lane) -> int:
    """Neighbours along ``lane`` that are neighbours in memory, as a multiple that the compiler can prove: 16 at most, 0 where
    the step is not one. An index that wraps around (``i % n``) goes in steps of one between the multiples of ``n``, which
    counts where both ``n`` and the first index are known to be divisible."""
    step = offset.coefficient(lane)
    wrapped = [
        atom for atom in offset.atoms() if isinstance(atom, Opaque) and lane in _lanes(atom) and not _steady(atom, lane)
    ]
    if step is None and not wrapped:
        step = Expr.constant(offset.terms.get((lane,), 0))
    if step is not None:
        return _ARGUMENT if step.value in (1, -1) else 0
    if len(wrapped) != 1 or wrapped[0].op not in ("mod", "unknown") or len(wrapped[0].args) != 2:
        return 0
    inner, period = wrapped[0].args  # of an index that was told to be contiguous, how far it is
    step, factor = inner.coefficient(lane), offset.coefficient(wrapped[0])
    if period.value is None or step is None or factor is None or step.value != 1 or factor.value != 1:
        return 0
    return math.gcd(_divisor(inner, lane), _divisor(period, lane, limit=True))


def _steady(atom: Opaque, lane: Lane) -> bool:
    """Whether ``atom`` is the same for whole runs of ``lane``, as what is worked out from ``lane // 64`` is."""
    if atom.op == "floordiv" and (by := atom.args[1].value) is not None and by % _ARGUMENT == 0:
        return _divisor(atom.args[0], lane) % _ARGUMENT == 0
    inner = {part for arg in atom.args for monomial in arg.terms for part in monomial}
    return lane not in inner and all(
        _steady(part, lane) for part in inner if isinstance(part, Opaque) and lane in _lanes(part)
    )


def _lanes(atom: Opaque) -> set[Atom]:
    return {inner for arg in atom.args for inner in arg.atoms()}


def _limits(access: Load | Store | Atomic, lane: Lane) -> list[Expr]:
    """How far the sides of the mask that vary along ``lane`` lie from it: the mask is constant over a vector where that is divisible.
    The first lane inside ``0 < lane - n`` is the one after ``n``: ``0 <= lane`` is ``0 < lane + 1``."""
    gaps = [right - left for left, right in access.mask or () if lane in (right - left).atoms()]
    return [gap - 1 if (step := gap.coefficient(lane)) is not None and step.value == 1 else gap for gap in gaps]


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
    period = atom.args[1].value if len(atom.args) == 2 and atom.op in ("mod", "floordiv", "unknown") else None
    return _ARGUMENT if period is not None and period % _ARGUMENT == 0 else 1
