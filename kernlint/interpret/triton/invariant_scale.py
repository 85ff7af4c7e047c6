"""A loaded tile times a factor, or moved by an offset, that no step of the loop changes: the product of two such tiles can be scaled
afterwards, and what the offset adds to it is the offset times the sums of the other tile:
``sum_k (a[m, k] - z[m]) b[k, n] = sum_k a[m, k] b[k, n] - z[m] sum_k b[k, n]``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kernlint.interpret.triton.values import Block, Scaled
from kernlint.records import replace
from kernlint.workload import Cast, Dtype, Span


def scaled(
    name: str, a: Block, b: Block, result: Block, span: Span, function: str, invariant: Callable[[Block], bool]
) -> Block:
    """``result`` of ``a name b``, knowing that it is a scaled tile where it is one. ``a`` and ``b`` are as they were before
    they were broadcast against each other; ``invariant`` says whether a value is the same in each step of the loops."""
    moved = name in ("+", "-")
    pairs = {"*": ((a, b), (b, a)), "+": ((a, b), (b, a)), "/": ((a, b),), "-": ((a, b),)}.get(name, ())
    for tile, factor in pairs:
        if tile.origin is None or tile.shape != result.shape or len(tile.order) != len(tile.shape):
            continue
        if (
            tile.dtype is None
            or result.dtype is None
            or not (result.dtype.is_float or (moved and _holds(result.dtype)))
        ):
            continue
        if moved and not _is_small(tile.casts[0].source if tile.casts else tile.dtype):
            continue  # the sums of floats would be so much larger than their difference that nothing was left of it
        if not tile.shape or not invariant(factor):
            continue
        casts = tile.casts
        if tile.dtype != result.dtype:
            casts = (*casts, Cast(tile.dtype, result.dtype, span, function))
        before = tile.scaled
        axes = _axes(factor, tile) | (before.axes if before is not None else frozenset())
        spans = (*(before.spans if before is not None else ()), span)
        offsets = (*(before.offsets if before is not None else ()), *((span,) if moved else ()))
        return replace(result, order=tile.order, casts=casts, scaled=Scaled(tile.origin, spans, axes, offsets))
    return result


def _is_small(dtype: Dtype) -> bool:
    """Whether sums of products of such integers are exact."""
    return dtype.is_integer and dtype.bits <= 8


def _holds(dtype: Dtype) -> bool:
    """Whether an integer type holds a small integer moved by an offset."""
    return dtype.is_integer and dtype.bits >= 32


def steady_in(a: Block, b: Block, loops: Iterable[int]) -> frozenset[int]:
    """Those of ``loops`` that do not change what is computed from ``a`` and ``b`` alone."""
    steady = frozenset(loops)
    for one in (a, b):
        if steady and one.constant is None:
            steady &= one.steady
    return steady


def _axes(factor: Block, tile: Block) -> frozenset[int]:
    """The dimensions of the load behind ``tile`` along which ``factor`` varies."""
    shift = len(tile.shape) - len(factor.shape)
    return frozenset(tile.order[shift + i] for i, extent in enumerate(factor.shape) if extent > 1)
