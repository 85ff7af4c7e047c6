"""Attention as torch's own function: products around a softmax."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.calls.products import multiplied
from kernlint.generate.calls.writer import Writer
from kernlint.generate.values import CannotGenerate, Unbound, Value, View, lane
from kernlint.workload import Expr, Size, Symbol, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift


def _attention(w: Writer) -> Value:
    q, k, v = (w.tensor(i, name) for i, name in enumerate(("query", "key", "value")))
    mask, scale = w.argument(3, "attn_mask"), w.argument(6, "scale")
    if w.argument(4, "dropout_p", 0.0) != 0.0 or not q.shape or not k.shape or not v.shape:
        raise CannotGenerate("attention with dropout, or of tensors that are not known")
    depth = ex.concrete(q.shape[-1])
    if depth is None:
        raise Unbound(str(next(iter(lift(q.shape[-1]).atoms()))))
    if scale is not None and not isinstance(scale, (int, float)):
        raise CannotGenerate("attention whose scale is not known")
    inner = copy.copy(w)
    inner.shape, inner.dtype = (*w.shape[:-2], q.shape[-2], k.shape[-2]), dt.FLOAT32
    rank = len(inner.shape)
    row, column, summed = lane(rank - 2), lane(rank - 1), lane(rank)
    views = _broadcast(w, q, [row, summed]), _broadcast(w, k, [column, summed])
    scores = inner.map(
        "mul", multiplied(inner, views, (q.shape[-1],)), 1.0 / math.sqrt(depth) if scale is None else float(scale)
    )
    if w.argument(5, "is_causal", False):
        places = (Value("place", inner.shape, dt.INT64, attributes={"at": at}) for at in (column, row))
        scores = inner.map("where", inner.map("le", *places), scores, -math.inf)
    if isinstance(mask, Tensor):
        shown = mask.dtype == dt.BOOL
        scores = inner.map("where", mask, scores, -math.inf) if shown else inner.map("add", scores, mask)
    elif mask is not None:
        raise CannotGenerate("attention whose mask is not known")
    top, total = (inner.reduce(kind, scores, [rank - 1], True, dt.FLOAT32) for kind in ("max", "expsum"))
    shares = inner.map("div", inner.map("exp", inner.map("sub", scores, top)), total)
    if mask is not None:  # what looks at nothing gets nothing
        shares = inner.map("where", inner.map("gt", top, -math.inf), shares, 0.0)
    fed = inner.cast(shares.view, v.dtype or dt.FLOAT32)
    at = [*(lane(d) for d in range(rank - 1)), summed]
    return multiplied(w, (View(fed, tuple(at)), _broadcast(w, v, [summed, column])), (k.shape[-2],))


def _broadcast(w: Writer, tensor: Tensor, last: Sequence[Expr]) -> View:
    """``tensor`` as it is looked at from batches and heads, of which it may have fewer, with ``last`` along its last axes."""
    shape, batch = tensor.shape or (), w.shape[:-2]
    places: list[Expr] = []
    for d, extent in enumerate(shape[:-2], len(batch) - len(shape) + 2):
        if lift(extent) == lift(batch[d]):
            places.append(lane(d))
        elif lift(extent).value == 1:
            places.append(lift(0))
        elif w.kwargs.get("enable_gqa"):
            group: Size = ex.simplify(lift(ex.floordiv(batch[d], extent)))
            places.append(lift(ex.floordiv(lane(d), group)))
        else:
            _alike(w, lift(extent), lift(batch[d]))
            raise CannotGenerate("attention over batches of several sizes")
    view = w.operand(tensor)
    return view.at([*places, *last])


def _alike(w: Writer, extent: Expr, other: Expr) -> None:
    """Raise :class:`Unbound` where the two are the same at hand, as heads repeated a whole number of times are, and open."""
    if extent.evaluate(w.sizes) == other.evaluate(w.sizes):
        for atom in (atom for one in (extent, other) for atom in one.atoms() if isinstance(atom, Symbol)):
            raise Unbound(atom.name)


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {"scaled_dot_product_attention": _attention}
