"""Where along an axis an extreme lies, and the few largest elements of it.

Along an axis that a program goes through alone the place is kept beside the extreme. What is long, and compared in parts, or looked for
several elements, is one integer of 64 bits for an element and its place, in its upper half a number that is ordered as the elements are
and in its lower half the place: the extreme of those says the first of the places that torch's rule leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.calls.writer import Writer, fixed
from kernlint.generate.kernel import is_large
from kernlint.generate.values import CannotGenerate, Value, View, identity, lane
from kernlint.interpret.torch.shapes import product
from kernlint.workload import Tensor
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift

_MOST, _LEAST = (1 << 31) - 1, -(1 << 31)
_HALF = 1 << 32


#: Elements from which on they are compared in parts where there are fewer rows than this.
_LONG, _MANY_ROWS = 1024, 2048
#: Elements of a row that are found one after the other.
_MOST_PLACES = 8


def _place_of(kind: str) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        dim, keep = w.argument(1, "dim"), bool(w.argument(2, "keepdim", False))
        if isinstance(dim, (Tensor, tuple)):
            raise CannotGenerate(f"torch function {w.call.function} with an argument that is not known")
        axes = w.axes(x, dim)
        return _among(w, x, kind, axes, keep)

    return make


def _among(w: Writer, x: Tensor, kind: str, axes: Sequence[int], keep: bool) -> Value:
    """Where along ``axes`` the extreme of ``x`` lies."""
    value, at = _rounded(w, x), _at(w, x, axes)
    plain = w.reduce(f"arg{kind}", x, axes, keep, dt.INT64)
    if _in_parts(w, x, axes):
        made = _place(w, w.reduce(kind, _keys(w, value, at, kind), axes, keep, dt.INT64), kind)
    else:
        (body,) = w.reduce(f"arg{kind}", value, axes, keep, dt.INT32).operands
        (place,) = w.reduce(f"arg{kind}", at, axes, keep, dt.INT32).operands
        found = Value("reduce", plain.shape, dt.INT32, (body, place), plain.attributes)
        made = w.map("cast", found, shape=plain.shape, dtype=dt.INT64)
    return Value(made.op, made.shape, made.dtype, made.operands, {**made.attributes, "plain": plain})


def _in_parts(w: Writer, x: Tensor, axes: Sequence[int]) -> bool:
    """Whether several programs may share what is compared: it is long, and there is not much else to share out."""
    shape = x.shape or ()
    over, rows = (
        lift(product(tuple(n for d, n in enumerate(shape) if (d in axes) == own))).evaluate(w.sizes)
        for own in (True, False)
    )
    long = over is None or over >= _LONG
    return long and (rows is None or rows < _MANY_ROWS or [*axes] != [len(shape) - 1])


def extremes(w: Writer) -> tuple[Value, Value | None]:
    """The largest or smallest elements along an axis, and where they lie, None where that cannot be told."""
    x, kind = w.tensor(0, "input"), w.call.function
    axes, keep = [w.axis(w.argument(1, "dim"), len(x.shape or ()))], bool(w.argument(2, "keepdim", False))
    best = w.reduce(kind, x, axes, keep)
    try:
        return best, _among(w, x, kind, axes, keep)
    except CannotGenerate:
        return best, None


def largest(w: Writer) -> tuple[Value, Value]:
    """The few largest or smallest elements along an axis, in order, and where they lie: each the extreme of those beyond the one before."""
    x, count = w.tensor(0, "input"), fixed(w.argument(1, "k"))
    axis, shape = w.axis(w.argument(2, "dim", -1), len(w.shape)), x.shape or ()
    if not isinstance(count, int) or not 0 < count <= _MOST_PLACES:
        raise CannotGenerate("the largest of a row, which are many")
    kind = "max" if fixed(w.argument(3, "largest", True)) else "min"
    keys = _keys(w, _rounded(w, x), _at(w, x, [axis]), kind, first=False)  # unlike the least of them, as torch has it
    found = [w.reduce(kind, keys, [axis], True, dt.INT64)]
    nothing = -(1 << 63) if kind == "max" else (1 << 63) - 1
    while len(found) < count:
        beyond = w.map("lt" if kind == "max" else "gt", keys, found[-1], shape=shape, dtype=dt.BOOL)
        left = w.map("where", beyond, keys, nothing, shape=shape, dtype=dt.INT64)
        found.append(w.reduce(kind, left, [axis], True, dt.INT64))
    cases = tuple(((lift(n), lane(axis), None if n == count - 1 else lift(n + 1)),) for n in range(count))
    extents = tuple((n, 1) for n in range(count))
    seen = tuple(lift(0) if d == axis else place for d, place in enumerate(identity(w.shape)))
    attributes = {"cases": cases, "axis": axis, "extents": extents}

    def together(parts: Sequence[Value]) -> Value:
        if count == 1:
            return parts[0]
        views = tuple(View(one, seen) for one in parts)
        return Value("choose", w.shape, parts[0].dtype, views, attributes)

    return together([_element(w, one, x) for one in found]), together([_place(w, one, kind) for one in found])


def _at(w: Writer, x: Tensor, axes: Sequence[int]) -> Value:
    """The place of each element of ``x`` along ``axes``."""
    shape = x.shape or ()
    if is_large(lift(product(tuple(shape[d] for d in axes))).evaluate(w.sizes) or 0):
        raise CannotGenerate("the place of an extreme among more elements than an int32 counts")
    at = lift(0)
    for d in axes:
        at = at * shape[d] + (lane(d) if lift(shape[d]).value != 1 else lift(0))
    return Value("place", shape, dt.INT32, attributes={"at": at})


def _keys(w: Writer, value: Value, at: Value, kind: str, first: bool = True) -> Value:
    """For each element the integer that it and its place are; NaN is the ``first`` extreme, or the largest."""
    shape = value.shape
    place = w.map("cast", at, shape=shape, dtype=dt.INT64)
    order = w.map("cast", _ordered(w, value, kind if first else "max"), shape=shape, dtype=dt.INT64)
    # Of equal elements the first: the largest of what is left behind it, or the least place.
    low = w.map("sub", _HALF - 1, place, shape=shape, dtype=dt.INT64) if kind == "max" else place
    upper = w.map("mul", order, _HALF, shape=shape, dtype=dt.INT64)
    return w.map("add", upper, low, shape=shape, dtype=dt.INT64)


def _place(w: Writer, key: Value, kind: str) -> Value:
    """The place that is a part of ``key``."""
    found = w.map("bitwise_and", key, _HALF - 1, shape=key.shape, dtype=dt.INT64)
    return w.map("sub", _HALF - 1, found, shape=key.shape, dtype=dt.INT64) if kind == "max" else found


def _element(w: Writer, key: Value, x: Tensor) -> Value:
    """The element that is a part of ``key``."""
    shape, dtype = key.shape, x.dtype or dt.FLOAT32

    def integer(op: str, *operands: object) -> Value:
        return w.map(op, *operands, shape=shape, dtype=dt.INT32)

    order = integer("cast", w.map("shift_right", key, 32, shape=shape, dtype=dt.INT64))
    if dtype.is_integer:
        return w.map("cast", order, shape=shape, dtype=dtype)
    negative = w.map("lt", order, 0, shape=shape, dtype=dt.BOOL)
    bits = integer("where", negative, integer("bitwise_xor", order, _MOST), order)
    return w.map("cast", w.map("of_bits", bits, shape=shape, dtype=dt.FLOAT32), shape=shape, dtype=dtype)


def _rounded(w: Writer, x: Tensor) -> Value:
    """``x`` in a type of 32 bits, rounded as torch keeps it: what is equal then is decided by its place."""
    shape, dtype = x.shape or (), x.dtype or dt.FLOAT32
    if dtype.kind == "bool" or dtype.bits > 32:
        raise CannotGenerate(f"the place of an extreme of {dtype}")
    if dtype.is_integer:
        return w.map("cast", x, shape=shape, dtype=dt.INT32)
    value = w.map("cast", x, shape=shape, dtype=dt.FLOAT32)
    if dtype.bits < 32:
        rounded = Value("cast", shape, dtype, (View(value, identity(shape)),))
        value = w.map("cast", rounded, shape=shape, dtype=dt.FLOAT32)
    return value


def _ordered(w: Writer, value: Value, kind: str) -> Value:
    """An int32 for each element of ``value``, ordered as torch orders them: both zeros are one, and NaN lies beyond all others on the
    side of ``kind``."""
    shape = value.shape
    if value.dtype.is_integer:
        return value

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

#: What makes two results.
PAIRS: Mapping[str, Callable[[Writer], tuple[Value, Value | None]]] = {
    "max": extremes,
    "min": extremes,
    "topk": largest,
}
