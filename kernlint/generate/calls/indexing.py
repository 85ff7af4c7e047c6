"""Elements at places that other tensors tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
from kernlint.workload import Expr, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift


def _picked(w: Writer, table: Tensor, places: Sequence[Expr], indices: Sequence[View], wraps: bool) -> Value:
    view = w.operand(table)
    index = looked_through(view.index, places)
    return Value("pick", w.shape, w.dtype, (View(view.value, index), *indices), {"wraps": wraps})


def _embedding(w: Writer) -> Value:
    ids, table = w.tensor(0, "input"), w.tensor(1, "weight")
    rank = len(ids.shape or ())
    view = w.operand(ids)
    index = View(view.value, looked_through(view.index, [lane(d) for d in range(rank)]))
    return _picked(w, table, [element(1), lane(rank)], [index], False)


def _index_select(w: Writer) -> Value:
    x, ids = w.tensor(0, "input"), w.tensor(2, "index")
    axis = w.axis(w.argument(1, "dim"), len(w.shape))
    places = list(identity(x.shape or ()))
    places[axis] = element(1)
    view = w.operand(ids)
    return _picked(w, x, places, [View(view.value, looked_through(view.index, [lane(axis)]))], False)


def _gather(w: Writer) -> Value:
    method = w.call.function == "take_along_dim"
    x, ids = (w.tensor(0, "input"), w.tensor(1, "indices")) if method else (w.tensor(0, "input"), w.tensor(2, "index"))
    axis = w.axis(w.argument(2 if method else 1, "dim"), len(w.shape))
    places = [lane(d) for d in range(len(x.shape or ()))]
    places[axis] = element(1)
    return _picked(w, x, places, [w.spread(ids, len(w.shape))], False)


def _indexed(w: Writer) -> Value:
    """``x[i, :, j]``: tensors of integers beside whole axes."""
    x, key = w.tensor(0, "input"), w.argument(1, "key")
    shape = x.shape or ()
    parts = list(key) if isinstance(key, tuple) else [key]
    parts += [slice(None)] * (len(shape) - len(parts))
    at = [d for d, part in enumerate(parts) if isinstance(part, Tensor)]
    tensors = [parts[d] for d in at]
    plain = all(isinstance(p, Tensor) or p == slice(None) for p in parts)
    if not plain or any(t.dtype == dt.BOOL for t in tensors) or at != list(range(at[0], at[-1] + 1)):
        raise CannotGenerate("indexing by masks, or by tensors and numbers")
    rank = max(len(t.shape or ()) for t in tensors)
    first, places, views = at[0], [], []
    for axis in range(len(shape)):
        if axis in at:
            places.append(element(1 + at.index(axis)))
            spread = w.spread(parts[axis], rank)
            views.append(View(spread.value, looked_through(spread.index, [lane(first + d) for d in range(rank)])))
        else:
            own = axis if axis < first else axis - len(at) + rank
            places.append(lane(own) if lift(shape[axis]).value != 1 else lift(0))
    return _picked(w, x, places, views, True)


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "embedding": _embedding,
    "index_select": _index_select,
    "gather": _gather,
    "index": _indexed,
}
