"""Elements at places that other tensors tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.generate.calls.ranges import as_place, is_below, range_of
from kernlint.generate.calls.writer import Writer
from kernlint.generate.values import (
    CannotGenerate,
    Value,
    View,
    element,
    identity,
    lane,
    looked_through,
)
from kernlint.workload import Expr, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift


def _picked(
    w: Writer, table: Tensor, places: Sequence[Expr], indices: Sequence[View], wraps: Sequence[Size] = ()
) -> Value:
    view = w.operand(table)
    index = looked_through(view.index, places)
    return Value("pick", w.shape, w.dtype, (View(view.value, index), *indices), {"wraps": tuple(wraps)})


def _embedding(w: Writer) -> Value:
    ids, table = w.tensor(0, "input"), w.tensor(1, "weight")
    if w.argument(3, "max_norm") is not None:
        raise CannotGenerate("an embedding whose rows are scaled as they are looked up")
    # Which row is for padding, what gradients are, the norm that is not asked for.
    w.of_no_matter(padding_idx=2, norm_type=4, scale_grad_by_freq=5, sparse=6)
    rank = len(ids.shape or ())
    view = w.operand(ids)
    index = view.at([lane(d) for d in range(rank)])
    return _picked(w, table, [element(1), lane(rank)], [index])


def _index_select(w: Writer) -> Value:
    x, ids = w.tensor(0, "input"), w.tensor(2, "index")
    axis = w.axis(w.argument(1, "dim"), len(w.shape))
    places = list(identity(x.shape or ()))
    places[axis] = element(1)
    view = w.operand(ids)
    return _picked(w, x, places, [view.at([lane(axis)])])


def _gather(w: Writer) -> Value:
    method = w.call.function == "take_along_dim"
    x, ids = (w.tensor(0, "input"), w.tensor(1, "indices")) if method else (w.tensor(0, "input"), w.tensor(2, "index"))
    axis = w.axis(w.argument(2 if method else 1, "dim"), len(w.shape))
    places = [lane(d) for d in range(len(x.shape or ()))]
    places[axis] = element(1)
    return _picked(w, x, places, [w.spread(ids, len(w.shape))])


def indexed_axes(key: Any, shape: Sequence[Size]) -> tuple[list[Any], list[int], int]:
    """The parts of ``key``, one for each axis of ``shape``, the axes that tensors of integers tell, and the first of these. Raises
    :class:`CannotGenerate` where there are other parts than those and whole axes."""
    parts = list(key) if isinstance(key, (tuple, list)) else [key]
    parts += [slice(None)] * (len(shape) - len(parts))
    at = [d for d, part in enumerate(parts) if isinstance(part, Tensor)]
    plain = all(isinstance(part, Tensor) or part == slice(None) for part in parts)
    if (
        not plain
        or any(parts[d].dtype in (dt.BOOL, dt.UINT8) for d in at)
        or not at
        or at != list(range(at[0], at[-1] + 1))
    ):
        raise CannotGenerate("indexing by masks, or by tensors and numbers")
    return parts, at, at[0]


def broadcast_shape(shapes: Sequence[Sequence[Size]]) -> list[Size]:
    """What tensors of ``shapes`` are spread to where they meet."""
    made: list[Size] = [1] * max(map(len, shapes))
    for shape in shapes:
        for d, extent in enumerate(reversed(shape), 1):
            made[-d] = extent if lift(extent).value != 1 else made[-d]
    return made


def _indexed(w: Writer) -> Value:
    """``x[i, :, j]``: tensors of integers beside whole axes."""
    x = w.tensor(0, "input")
    shape = x.shape or ()
    parts, at, first = indexed_axes(w.argument(1, "key"), shape)
    rank = max(len(parts[d].shape or ()) for d in at)
    places: list[Expr] = []
    views: list[View] = []
    extents: list[Size] = []
    for axis in range(len(shape)):
        if axis in at:
            spread = w.spread(parts[axis], rank)
            told = spread.at([lane(first + d) for d in range(rank)])
            place = as_place(told)
            if place is not None and is_below(range_of(told, w.shape), shape[axis]):
                places.append(place)
                continue
            views.append(told)
            extents.append(shape[axis])
            places.append(element(len(views)))
        else:
            own = axis if axis < first else axis - len(at) + rank
            places.append(lane(own) if lift(shape[axis]).value != 1 else lift(0))
    return _picked(w, x, places, views, extents)


def _bag(w: Writer) -> Value:
    """``embedding_bag`` of bags that are rows."""
    ids, table = w.tensor(0, "input"), w.tensor(1, "weight")
    mode, weights = w.argument(6, "mode", "mean"), w.argument(8, "per_sample_weights")
    others = ((2, "offsets"), (3, "max_norm"), (10, "padding_idx"))
    if (
        len(ids.shape or ()) != 2
        or mode not in ("sum", "mean", "max")
        or any(w.argument(i, n) is not None for i, n in others)
    ):
        raise CannotGenerate("bags that are no rows, or with a padding")
    places, length = (lane(0), lane(2)), (ids.shape or (0, 0))[1]
    space, at, own = (*w.shape, length), w.operand(ids), w.operand(table)
    told = at.at(places)
    body = Value("pick", space, own.value.dtype, (own.at((element(1), lane(1))), told),
                 {"wraps": ()})  # fmt: skip
    if isinstance(weights, Tensor):
        view = w.operand(weights)
        factor = view.at(places)
        body = Value("mul", space, w.dtype, (View(body, identity(space)), factor))
    made = w.reduce("max" if mode == "max" else "sum", body, [2], False)
    return w.map("div", made, length) if mode == "mean" else made


def _place_among(w: Writer) -> Value:
    """``searchsorted`` and ``bucketize``: how many of the sorted numbers lie before each element."""
    bucketed = w.call.function == "bucketize"
    x, numbers = (w.tensor(at, name) for at, name in ((1 - bucketed, "input"), (int(bucketed), "boundaries")))
    right = bool(w.kwargs.get("right", False)) or w.kwargs.get("side") == "right"
    if len(numbers.shape or ()) != 1 or w.kwargs.get("sorter") is not None:
        raise CannotGenerate("places among numbers that are no single row")
    (count,) = numbers.shape or (0,)
    space, view, rank = (*w.shape, count), w.operand(x), len(w.shape)
    own = view.at(identity(w.shape))
    other = w.operand(numbers).at([lane(rank)])
    beyond = Value("gt" if right else "ge", space, dt.BOOL, (other, own))
    before = Value("logical_not", space, dt.BOOL, (View(beyond, identity(space)),))  # what is no number lies behind all
    return w.reduce("sum", Value("cast", space, dt.INT64, (View(before, identity(space)),)), [rank], False)


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "embedding": _embedding,
    "index_select": _index_select,
    "gather": _gather,
    "index": _indexed,
    "embedding_bag": _bag,
    **dict.fromkeys(("searchsorted", "bucketize"), _place_among),
}
