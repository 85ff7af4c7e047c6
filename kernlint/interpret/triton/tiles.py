"""The shapes of abstract tiles: broadcasting, ``x[:, None]``, and what both do to the lanes of an index."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from kernlint.interpret.triton.masked_lanes import renamed
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Expr, Lane
from kernlint.workload.expr import Atom

#: An extent of a tile; None, where types allow it, for one that is not known.
_Extent = TypeVar("_Extent", int, "int | None")


def broadcast(a: tuple[_Extent, ...], b: tuple[_Extent, ...]) -> tuple[_Extent, ...] | None:
    """The common shape, aligned at the last dimension; None when there is none. An extent that is not known (None) fits
    any other."""
    if a == b or not b:
        return a
    if not a:
        return b
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    shape: list[_Extent] = []
    for x, y in zip(a, b):
        if x == 1 or (x is None and y != 1):
            shape.append(y)
        elif x == y or y is None or y == 1:
            shape.append(x)
        else:
            return None
    return tuple(shape)


def align(block: Block, shape: tuple[int, ...]) -> Block:
    """``block`` seen as a tile of ``shape``: lanes renumbered for leading dimensions, none along broadcast ones."""
    if block.shape == shape:
        return block
    shift = len(shape) - len(block.shape)
    expr = block.expr
    if shift:
        lanes = _shifted(shift)
        expr = None if expr is None else expr.substitute(lanes)
        block = _relabelled(block, lanes)
    grown = any(extent != 1 and (i < shift or block.shape[i - shift] == 1) for i, extent in enumerate(shape))
    if grown or block.origin is None:
        return replace(block, shape=shape, expr=expr, source=None, order=(), scaled=None)
    return replace(block, shape=shape, expr=expr)


def _relabelled(block: Block, lanes: Mapping[Atom, Expr]) -> Block:
    """``block`` with the lanes of all it says beside its index replaced."""
    if not (block.bounds or block.narrow or block.shadow or block.pads or block.classes):
        return block
    bounds = block.bounds
    if bounds:
        bounds = tuple((x.substitute(lanes), y.substitute(lanes)) for x, y in bounds)
    return replace(
        block,
        bounds=bounds,
        narrow=tuple(replace(n, value=n.value.substitute(lanes)) for n in block.narrow),
        shadow=block.shadow.substitute(lanes) if block.shadow is not None else None,
        classes=tuple((x.substitute(lanes), y.substitute(lanes)) for x, y in block.classes),
        pads=renamed(block.pads, lambda e: e.substitute(lanes)),
    )


def rename_lanes(expr: Expr, names: Mapping[int, int]) -> Expr:
    """``expr`` with each ``Lane(d)`` replaced by ``Lane(names[d])``."""
    return expr.substitute(_lanes(names))


def _lanes(names: Mapping[int, int]) -> dict[Atom, Expr]:
    """What stands for each lane whose dimension ``names`` gives another number."""
    return {Lane(old): Expr.atom(Lane(new)) for old, new in names.items() if old != new}


@cache
def _shifted(shift: int) -> Mapping[Atom, Expr]:
    return _lanes({dim: dim + shift for dim in range(8)})


def expand(value: Block, index: tuple[Any, ...]) -> Any:
    """``value[:, None]`` and the like."""
    shape: list[int] = []
    names: dict[int, int] = {}
    dim = 0
    for part in index:
        if part is None:
            shape.append(1)
        elif part is ...:
            while dim < len(value.shape) - sum(isinstance(p, slice) for p in index):
                names[dim] = len(shape)
                shape.append(value.shape[dim])
                dim += 1
        elif isinstance(part, slice) and part == slice(None, None, None) and dim < len(value.shape):
            names[dim] = len(shape)
            shape.append(value.shape[dim])
            dim += 1
        else:
            return Unknown("tile index")
    while dim < len(value.shape):
        names[dim] = len(shape)
        shape.append(value.shape[dim])
        dim += 1
    lanes = _lanes(names)
    expr = value.expr.substitute(lanes) if value.expr is not None else None
    order: tuple[int, ...] = ()
    if value.origin is not None and len(value.order) == len(value.shape):
        back = {new: value.order[old] for old, new in names.items()}
        order = tuple(back.get(i, -1) for i in range(len(shape)))
    return replace(_relabelled(value, lanes), shape=tuple(shape), expr=expr, order=order)


def permute(value: Any, order: tuple[int, ...]) -> Any:
    """``value`` with dimension ``order[i]`` as its i-th."""
    if not isinstance(value, Block) or sorted(order) != list(range(len(value.shape))):
        return Unknown("permute")
    lanes = _lanes({old: new for new, old in enumerate(order)})
    expr = value.expr.substitute(lanes) if value.expr is not None else None
    layout = tuple(value.order[i] for i in order) if len(value.order) == len(order) else ()
    return replace(_relabelled(value, lanes), shape=tuple(value.shape[i] for i in order), expr=expr, order=layout)
