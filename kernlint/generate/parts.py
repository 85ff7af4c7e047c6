"""Reductions in parts: where few results are made of much, many programs each reduce a part, and what they found is put together."""

from __future__ import annotations

import math

from kernlint.generate.terms import register_type
from kernlint.generate.values import CannotGenerate, Value, View, identity, lane, lanes_of
from kernlint.workload import Size
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift

#: Elements that the length of a part is a multiple of: so that accesses stay aligned.
GRAIN = 64


def in_parts(reduction: Value, chunks: int) -> Value:
    """``reduction`` put together of what ``chunks`` programs find of it. Raises :class:`CannotGenerate`."""
    if reduction.op == "product":
        return _planes(reduction, chunks, "sum")
    if reduction.op == "attention" and not reduction.attributes["softmax"]:
        return _planes(reduction, chunks, "acc")
    if reduction.op == "attention":
        return _attention(reduction, chunks)
    kind = reduction.attributes["kind"]
    if kind in ("sum", "max", "min"):
        return _over_parts(reduction, kind, _state(reduction, kind, chunks), chunks)
    if kind == "expsum":
        tops, totals = (_state(reduction, state, chunks) for state in ("top", "total"))
        top = _over_parts(reduction, "max", tops, chunks)
        low = _map("exp", tops.shape, _map("sub", tops.shape, tops, top))
        return _over_parts(reduction, "sum", _map("mul", tops.shape, totals, low), chunks)
    if kind == "m2":
        return _moments(reduction, chunks)
    raise CannotGenerate(f"a reduction {kind} in parts")


def _planes(product: Value, chunks: int, state: str) -> Value:
    """A product as the sum of products over parts of the summed axes, each in a plane of its own."""
    places = tuple(lane(d + 1) for d in range(len(product.shape)))
    attributes = {"state": state, "chunks": chunks}
    planes = Value("partial", (chunks, *product.shape), dt.FLOAT32, (View(product, places),), attributes, "planes")
    rank = len(product.shape)
    view = View(planes, (lane(rank), *identity(product.shape)))
    return Value("reduce", product.shape, product.dtype, (view,), {"kind": "sum", "over": (chunks,)}, product.name)


def _attention(attention: Value, chunks: int) -> Value:
    """Attention put together of what it is over parts of the keys: sums of exponentials below the maximum of each part."""
    shape, rank = attention.shape, len(attention.shape)
    scores, _, *inner = attention.operands
    rows = lanes_of([place for view in (scores, *inner) for place in view.index])
    short = tuple(n if d in rows else 1 for d, n in enumerate(shape))

    def state(name: str, space: tuple[Size, ...]) -> View:
        view = View(attention, tuple(lane(d + 1) for d in range(rank)))
        attributes = {"state": name, "chunks": chunks}
        found = Value("partial", (chunks, *space), dt.FLOAT32, (view,), attributes, f"partial_{name}")
        return View(found, (lane(rank), *identity(space)))

    def over_parts(kind: str, view: View, space: tuple[Size, ...]) -> Value:
        return Value("reduce", space, dt.FLOAT32, (view,), {"kind": kind, "over": (chunks,)})

    tops, totals, sums = state("top", short), state("total", short), state("acc", shape)
    top = over_parts("max", tops, short)
    space = (*shape, chunks)
    # Where nothing but minus infinity was met nothing was added up either.
    low = Value("sub", space, dt.FLOAT32, (tops, View(top, identity(short))))
    none = View(Value("number", (), dt.FLOAT32, attributes={"value": -math.inf}), ())
    met = Value("gt", space, dt.BOOL, (tops, none))
    zero = View(Value("number", (), dt.FLOAT32, attributes={"value": 0.0}), ())
    own = identity(space)
    exponential = View(Value("exp", space, dt.FLOAT32, (View(low, own),)), own)
    scale = View(Value("where", space, dt.FLOAT32, (View(met, own), exponential, zero)), own)
    added, total = (
        over_parts("sum", View(Value("mul", space, dt.FLOAT32, (one, scale)), own), shape) for one in (sums, totals)
    )
    if attention.attributes["guarded"]:
        some = Value("gt", shape, dt.BOOL, (View(total, identity(shape)), zero))
        one = View(Value("number", (), dt.FLOAT32, attributes={"value": 1.0}), ())
        total = Value("where", shape, dt.FLOAT32, (View(some, identity(shape)), View(total, identity(shape)), one))
    views = View(added, identity(shape)), View(total, identity(shape))
    return Value("div", shape, attention.dtype, views, name=attention.name)


def _moments(reduction: Value, chunks: int) -> Value:
    """Chan, Golub and LeVeque (1983): the deviations within the parts, and those of their means from the mean of all."""
    total: Size = 1
    for extent in reduction.attributes["over"]:
        total = lift(total) * extent
    means, squares = (_state(reduction, state, chunks) for state in ("mean", "m2"))
    length = lift(ex.ceildiv(total, chunks * GRAIN)) * GRAIN
    left = lift(total) - lane(len(means.shape) - 1) * length
    count = Value("place", means.shape, dt.INT64, attributes={"at": lift(ex.maximum(ex.minimum(length, left), 0))})
    sums = _over_parts(reduction, "sum", _map("mul", means.shape, means, count), chunks)
    number = Value("number", (), dt.INT64, attributes={"value": ex.simplify(total)})
    mean = _map("div", sums.shape, sums, number)
    far = _map("square", means.shape, _map("sub", means.shape, means, mean))
    return _over_parts(
        reduction, "sum", _map("add", means.shape, squares, _map("mul", means.shape, far, count)), chunks
    )


def _state(reduction: Value, state: str, chunks: int) -> Value:
    shape = (*reduction.shape, chunks)
    attributes = {"state": state, "chunks": chunks}
    view = reduction.view
    return Value("partial", shape, register_type(reduction.dtype), (view,), attributes, f"partial_{state}")


def _over_parts(reduction: Value, kind: str, value: Value, chunks: int) -> Value:
    """``value``, one number for each part, reduced over them."""
    rank = len(reduction.shape)
    index = (*identity(reduction.shape), lane(rank))
    attributes = {"kind": kind, "over": (chunks,)}
    return Value("reduce", reduction.shape, reduction.dtype, (View(value, index),), attributes, reduction.name)


def _map(op: str, shape: tuple[Size, ...], *operands: Value) -> Value:
    views = tuple(one.view for one in operands)
    wide = any(one.dtype == dt.FLOAT64 for one in operands)
    return Value(op, shape, dt.FLOAT64 if wide else dt.FLOAT32, views)
