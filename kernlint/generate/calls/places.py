"""Where along an axis an extreme lies.

The element and its place are one integer of 64 bits, in its upper half a number that is ordered as the elements are and in its lower
half the place: the extreme of those is found in one loop, and in parts, and says the first of the places that torch's rule leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernlint.generate.calls.writer import Writer
from kernlint.generate.kernel import is_large
from kernlint.generate.values import CannotGenerate, Value, View, identity, lane
from kernlint.interpret.torch.shapes import product
from kernlint.workload import Tensor
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift

_MOST, _LEAST = (1 << 31) - 1, -(1 << 31)
_HALF = 1 << 32


def _place_of(kind: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        dim, keep = w.argument(1, "dim"), bool(w.argument(2, "keepdim", False))
        if isinstance(dim, (Tensor, tuple)):
            raise CannotGenerate(f"torch function {w.call.function} with an argument that is not known")
        shape, axes = x.shape or (), w.axes(x, dim)
        extent = product(tuple(shape[d] for d in axes))
        if is_large(lift(extent).evaluate(w.sizes) or 0):
            raise CannotGenerate("the place of an extreme among more elements than an int32 counts")
        at = lift(0)
        for d in axes:
            at = at * shape[d] + (lane(d) if lift(shape[d]).value != 1 else lift(0))
        place = w.map("cast", Value("place", shape, dt.INT32, attributes={"at": at}), shape=shape, dtype=dt.INT64)
        order = w.map("cast", _ordered(w, x, kind), shape=shape, dtype=dt.INT64)
        # Of equal elements the first: the largest of what is left behind it, or the least place.
        low = w.map("sub", _HALF - 1, place, shape=shape, dtype=dt.INT64) if kind == "max" else place
        upper = w.map("mul", order, _HALF, shape=shape, dtype=dt.INT64)
        best = w.reduce(kind, w.map("add", upper, low, shape=shape, dtype=dt.INT64), axes, keep, dt.INT64)
        found = w.map("bitwise_and", best, _HALF - 1, shape=best.shape, dtype=dt.INT64)
        return w.map("sub", _HALF - 1, found, dtype=dt.INT64) if kind == "max" else found

    return make


def _ordered(w: Writer, x: Tensor, kind: str) -> Value:
    """An int32 for each element of ``x``, ordered as torch orders them: both zeros are one, and NaN is beyond all others."""
    shape, dtype = x.shape or (), x.dtype or dt.FLOAT32
    if dtype.kind == "bool" or dtype.bits > 32:
        raise CannotGenerate(f"the place of an extreme of {dtype}")
    if dtype.is_integer:
        return w.map("cast", x, shape=shape, dtype=dt.INT32)
    value = w.map("cast", x, shape=shape, dtype=dt.FLOAT32)
    if dtype.bits < 32:  # rounded as torch keeps it: what is equal then is decided by its place
        rounded = Value("cast", shape, dtype, (View(value, identity(shape)),))
        value = w.map("cast", rounded, shape=shape, dtype=dt.FLOAT32)

    def integer(op: str, *operands: object) -> Value:
        return w.map(op, *operands, shape=shape, dtype=dt.INT32)

    bits = integer("bits", value)
    negative = w.map("lt", bits, 0, shape=shape, dtype=dt.BOOL)
    order = integer("where", negative, integer("bitwise_xor", bits, _MOST), bits)
    order = integer("where", w.map("eq", value, 0.0, shape=shape, dtype=dt.BOOL), 0, order)
    return integer(
        "where", w.map("isnan", value, shape=shape, dtype=dt.BOOL), _MOST if kind == "max" else _LEAST, order
    )


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {"argmax": _place_of("max"), "argmin": _place_of("min")}
