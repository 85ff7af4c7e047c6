"""Running sums, products, extremes and logarithms of sums; the product of all elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from kernlint.generate.calls.writer import Writer
from kernlint.generate.scans import State, carried, last_of, scanned
from kernlint.generate.values import CannotGenerate, Value, View, identity, lane
from kernlint.workload import Size
from kernlint.workload import dtype as dt

#: What a state and an element make: by the name of a function, what it begins with and the state after it.
_Update = Callable[[Writer, Value, View, tuple[Size, ...]], Value]


def _plain(op: str) -> _Update:
    return lambda w, before, own, space: Value(op, space, w.dtype, (View(before, identity(space)), own))


def _log_of_sums(w: Writer, before: Value, own: View, space: tuple[Size, ...]) -> Value:
    """log(exp(state) + exp(element)) by the larger of the two; of two that are infinite it is one of them."""

    def made(op: str, *operands: Any) -> Value:
        return Value(
            op, space, w.dtype, tuple(one if isinstance(one, View) else w.spread(one, len(space)) for one in operands)
        )

    top = made("maximum", before, own)
    apart = made("sub", made("minimum", before, own), top)
    more = made("add", top, made("log1p", made("exp", apart)))
    same = Value("isinf", space, dt.BOOL, (View(top, identity(space)),))
    return made("where", same, top, more)


_RUNNING: Mapping[str, tuple[float, _Update]] = {
    "cumsum": (0.0, _plain("add")),
    "cumprod": (1.0, _plain("mul")),
    "cummax": (-math.inf, _plain("maximum")),
    "cummin": (math.inf, _plain("minimum")),
    "logcumsumexp": (-math.inf, _log_of_sums),
}


def _scanned(w: Writer, name: str, shape: tuple[Size, ...], axis: int) -> Value:
    """The running ``name`` of the argument, of ``shape``, along ``axis``, which is the last one of the result."""
    start, update = _RUNNING[name]
    if not w.dtype.is_float and not math.isfinite(start):
        raise CannotGenerate("running extremes of integers")
    others = [d for d in range(len(shape)) if d != axis]
    space = (*(shape[d] for d in others), shape[axis])
    # Places run along the last axis of a recurrence.
    to = {axis: lane(len(others)), **{d: lane(number) for number, d in enumerate(others)}}
    x = w.tensor(0, "input")
    # What is asked for in a wider type is added up in it.
    view = w.spread(x if x.dtype == w.dtype else w.map("cast", x, shape=shape), len(shape))
    own = view.at([to[d] for d in range(len(shape))])
    before = carried(space, w.dtype)
    first = w.operand(start if w.dtype.is_float else int(start))
    (made,) = scanned([State(before, first, update(w, before, own, space))], False)
    return made


def _running(name: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        axis = w.axis(w.argument(1, "dim"), len(w.shape))
        others = [d for d in range(len(w.shape)) if d != axis]
        made = _scanned(w, name, w.shape, axis)
        return w.cast(View(made, (*(lane(d) for d in others), lane(axis))), w.dtype)

    return make


def _product(w: Writer) -> Value:
    """The product of all elements along an axis: the running one at its end."""
    shape, dim = w.tensor(0, "input").shape or (), w.argument(1, "dim")
    if dim is None and len(shape) != 1:
        raise CannotGenerate("a product over several axes")
    axis = w.axis(0 if dim is None else dim, len(shape))
    made = last_of(_scanned(w, "cumprod", shape, axis))
    places = [lane(d) for d in range(len(w.shape))]
    if w.argument(2, "keepdim", False):
        del places[axis]
    return w.cast(View(made, tuple(places)), w.dtype)


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    # Of running extremes it is not told where they lie.
    **{name: _running(name) for name in _RUNNING},
    "prod": _product,
}
