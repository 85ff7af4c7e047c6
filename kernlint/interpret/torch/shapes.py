"""Shapes and strides of tensors, without a program around them."""

from __future__ import annotations

from typing import Any

from kernlint.records import replace
from kernlint.workload import Size, Tensor
from kernlint.workload import expr as ex

Shape = tuple[Size, ...]


def axis_of(value: Any, rank: int) -> int | None:
    return (
        value % rank
        if isinstance(value, int) and not isinstance(value, bool) and rank and -rank <= value < rank
        else None
    )


def axis_in(x: Tensor, value: Any) -> int | None:
    """The axis ``value`` of ``x``, counted from the start; None where ``x`` has none such or its rank is not known."""
    return axis_of(value, len(x.shape)) if x.shape is not None else None


def with_extents(shape: Shape, axis: int, *extents: Any) -> Shape:
    """``shape`` with ``extents`` in the place of the one along ``axis``."""
    return (*shape[:axis], *extents, *shape[axis + 1 :])


def contiguous_strides(shape: Shape) -> Shape:
    """Row-major strides in elements."""
    strides: list[Size] = []
    step: Size = 1
    for extent in reversed(shape):
        strides.append(step)
        step = (
            ex.simplify(ex.lift(step) * extent)
            if not (isinstance(step, int) and isinstance(extent, int))
            else step * extent
        )
    return tuple(reversed(strides))


def broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    """The common shape of two operands; None when either is unknown."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    a = (1,) * (rank - len(a)) + a
    b = (1,) * (rank - len(b)) + b
    return tuple(y if x == 1 else x if (y == 1 or isinstance(x, int) or x == y) else y for x, y in zip(a, b))


def product(shape: Shape) -> Size:
    total: Size = 1
    for extent in shape:
        total = ex.simplify(ex.lift(total) * extent)
    return total


def is_dense(x: Tensor) -> bool:
    """Whether the view covers its elements without gaps or overlap, in some order of the axes."""
    if x.shape is None or x.strides is None:
        return False
    pairs = sorted(
        ((ex.concrete(s), ex.concrete(n)) for s, n in zip(x.strides, x.shape)), key=lambda p: (p[0] or 0, p[1] or 0)
    )
    step = 1
    for stride, extent in pairs:
        if stride is None or extent is None:
            return False
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def permuted(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """The view of ``x`` with its axes in ``order``."""
    if x.shape is None:
        return replace(x, strides=None)
    strides = tuple(x.strides[i] for i in order) if x.strides is not None else None
    return replace(x, shape=tuple(x.shape[i] for i in order), strides=strides)


def transposed(x: Tensor, a: int, b: int) -> Tensor:
    if x.shape is None:
        return replace(x, strides=None)
    order = list(range(len(x.shape)))
    i, j = axis_of(a, len(order)), axis_of(b, len(order))
    if i is None or j is None:
        return replace(x, shape=None, strides=None)
    order[i], order[j] = order[j], order[i]
    return permuted(x, tuple(order))


def view_strides(x: Tensor, shape: Shape) -> Shape | None:
    """Strides of ``x.view(shape)`` without a copy, by torch's rule; None where it needs one or is not known."""
    if x.shape is None or x.strides is None:
        return None
    if x.is_contiguous:
        return contiguous_strides(shape)
    old = [(n, s) for n, s in zip(x.shape, x.strides) if n != 1]
    strides: list[Size] = [1] * len(shape)
    position = len(shape) - 1
    i = len(old) - 1
    while i >= 0:
        # A run of old axes that lie behind one another in memory can be cut up anew.
        size, step = old[i]
        base = step
        while i > 0 and old[i - 1][1] == ex.simplify(ex.lift(old[i][1]) * old[i][0]):
            i -= 1
            size = ex.simplify(ex.lift(size) * old[i][0])
        running: Size = 1
        while position >= 0 and (running != size or shape[position] == 1):
            strides[position] = ex.simplify(ex.lift(base) * running)
            running = ex.simplify(ex.lift(running) * shape[position])
            position -= 1
        if running != size:
            return None
        i -= 1
    if any(shape[p] != 1 for p in range(position + 1)):
        return None
    return tuple(strides)


def channels_last(shape: Shape | None) -> Shape | None:
    """The strides of images [N, C, H, W] whose channels lie next to one another."""
    if shape is None or len(shape) != 4:
        return None
    n, c, height, width = shape
    batch, row, column, channel = contiguous_strides((n, height, width, c))
    return batch, channel, row, column


def lies_channels_last(x: Tensor) -> bool:
    """Whether ``x`` is images whose channels lie next to one another, for certain: a convolution's result does then too."""
    return x.strides is not None and x.is_contiguous is False and x.strides == channels_last(x.shape)


def expanded_to(x: Tensor, shape: Shape) -> Tensor:
    """The view of ``x`` with the leading axes, and the extents of those that have one element, of ``shape``."""
    assert x.shape is not None
    lead = len(shape) - len(x.shape)
    if x.strides is None:
        return replace(x, shape=shape)
    old = [(1, 0)] * lead + list(zip(x.shape, x.strides))
    strides = tuple(0 if size == 1 and new != 1 else stride for (size, stride), new in zip(old, shape))
    return replace(x, shape=shape, strides=strides)


def unsqueezed(x: Tensor, dim: int) -> Tensor:
    """The view of ``x`` with one more axis, of one element, at ``dim``."""
    if x.shape is None:
        return x
    at = dim if dim >= 0 else len(x.shape) + 1 + dim
    strides = (*x.strides[:at], 1, *x.strides[at:]) if x.strides is not None else None
    return replace(x, shape=(*x.shape[:at], 1, *x.shape[at:]), strides=strides)


def diagonal(x: Tensor, offset: int, first: int, second: int) -> Tensor | None:
    """The view of the diagonal ``offset`` of ``x`` along its axes ``first`` and ``second``; None where these are one."""
    assert x.shape is not None
    if first == second:
        return None
    rest = [d for d in range(len(x.shape)) if d not in (first, second)]
    rows, columns = (ex.lift(x.shape[d]) for d in (first, second))
    length: Size = ex.minimum(ex.simplify(rows + min(offset, 0)), ex.simplify(columns - max(offset, 0)))
    if (ex.concrete(length) or 0) < 0:  # it begins outside
        length = offset = 0
    shape = (*(x.shape[d] for d in rest), length)
    if x.strides is None:
        return replace(x, shape=shape)
    down, along = (ex.lift(x.strides[d]) for d in (first, second))
    start = along * offset if offset > 0 else down * -offset
    strides = (*(x.strides[d] for d in rest), ex.simplify(down + along))
    return replace(x, shape=shape, strides=strides, offset=ex.simplify(ex.lift(x.offset) + start))
