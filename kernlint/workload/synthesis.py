"""Building blocks for the kernels that a change would bring: the accesses, dots and loops an expert would write."""

from __future__ import annotations

from collections.abc import Mapping

from kernlint.workload import (
    Compute,
    Dot,
    Dtype,
    Expr,
    Kernel,
    Lane,
    Launch,
    Load,
    LoopIndex,
    Node,
    Operand,
    ProgramId,
    Size,
    Span,
    Storage,
    Tensor,
)
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift

#: Storages that a change brings into being count down from here; those of the source are non-negative.
_NEW_STORAGE = -1000


def pid(axis: int) -> Expr:
    """The program's index along a grid axis."""
    return Expr.atom(ProgramId(axis))


def lane(dim: int) -> Expr:
    """The position in a tile along ``dim``."""
    return Expr.atom(Lane(dim))


def iteration(loop: int) -> Expr:
    """The iteration number of the loop with that id."""
    return Expr.atom(LoopIndex(loop))


def below(*bounds: tuple[Size, Size]) -> tuple[tuple[Expr, Expr], ...]:
    """The mask ``left < right`` for each pair."""
    return tuple((lift(left), lift(right)) for left, right in bounds)


def new_tensor(name: str, dtype: Dtype, shape: tuple[Size, ...]) -> Tensor:
    """A contiguous tensor that the changed program allocates."""
    strides: list[Size] = []
    stride: Size = 1
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride = stride * extent
    return Tensor(name, dtype, shape, tuple(strides), Storage(_NEW_STORAGE, "empty"))


def in_registers(dtype: Dtype, span: Span) -> Operand:
    """A dot operand that was computed on chip, so that no load feeds it."""
    return Operand(dtype, frozenset(), (), False, None, None, span)


def from_load(load: Load, k_dim: int, span: Span) -> Operand:
    """A dot operand that is a loaded 2-D tile, contracted along its dimension ``k_dim``, fed as it lies in memory."""
    return Operand(
        load.dtype, frozenset({load.id}), (), True, load.stride(k_dim), load.stride(1 - k_dim), span, load.id
    )


def dot(id: int, m: int, n: int, k: int, a: Operand, b: Operand, span: Span) -> Dot:
    """``tl.dot`` with an fp32 (for integers int32) accumulator, tf32 where the operands are fp32."""
    out = dt.INT32 if a.dtype.is_integer else dt.FLOAT32
    return Dot(id, m, n, k, a, b, out, "tf32", True, span)


def arith(elements: int, span: Span) -> Compute:
    """One elementwise addition, multiplication or comparison."""
    return Compute("arith", elements, dt.FLOAT32, span)


def cast(elements: int, span: Span, target: Dtype) -> Compute:
    """One elementwise change of type."""
    return Compute("cast", elements, target, span)


def launch(
    name: str, body: tuple[Node, ...], grid: tuple[Size, ...], arguments: Mapping[str, Tensor], like: Launch | Span,
    function: str, num_warps: int = 4, num_stages: int = 3,
) -> Launch:  # fmt: skip
    """A launch of a new kernel ``name``; ``like`` is the launch (or place) that it stands for."""
    span = like if isinstance(like, Span) else like.span
    kernel = Kernel(name, body, span, span, span.file, dims=len(grid))
    return Launch(kernel, grid, dict(arguments), {}, num_warps, num_stages, span, function)


def power_of_two(value: int) -> int:
    """The least power of two that is not below ``value``."""
    return 1 << max(0, value - 1).bit_length()
