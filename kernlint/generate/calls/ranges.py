"""What integers the elements of a value can be, and which of them are no data but places."""

from __future__ import annotations

from collections.abc import Sequence

from kernlint.generate.values import View, looked_through
from kernlint.workload import Dtype, Expr, Lane, Opaque, Size, Symbol
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift

#: From the least to the largest, both included.
Range = tuple[Expr, Expr]

#: Bits from which on an integer is taken to hold what is computed of sizes and places.
_WIDE = 32


def as_place(view: View) -> Expr | None:
    """``view`` as an expression over its lanes, where it is made of places and numbers alone."""
    value = view.value
    if not value.dtype.is_integer or value.dtype.bits < _WIDE:
        return None
    if value.op == "number":
        number = value.attributes["value"]
        return lift(number) if isinstance(number, (int, Expr)) and not isinstance(number, bool) else None
    if value.op == "place":
        return looked_through((value.attributes["at"],), view.index)[0]
    if value.op not in ("cast", "add", "sub", "mul"):
        return None
    parts = [as_place(one.at(view.index)) for one in value.operands]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if value.op == "cast":
        return known[0]
    first, second = known
    return first + second if value.op == "add" else first - second if value.op == "sub" else first * second


def range_of(view: View, extents: Sequence[Size]) -> Range | None:
    """The range of the elements of ``view``, which is looked at from a space of ``extents``; None where that is not known."""
    value = view.value
    place = as_place(view)
    if place is not None:
        return _range_of_place(place, extents)
    if not value.dtype.is_integer:
        return None
    if value.dtype.bits < _WIDE:
        return _range_of_type(value.dtype)  # what is computed in so few bits is cut off
    return _combined(value.op, [range_of(one.at(view.index), extents) for one in value.operands])


def _range_of_type(dtype: Dtype) -> Range:
    if dtype.kind == "bool":
        return lift(0), lift(1)
    if dtype.kind == "uint":
        return lift(0), lift((1 << dtype.bits) - 1)
    return lift(-(1 << (dtype.bits - 1))), lift((1 << (dtype.bits - 1)) - 1)


def _range_of_place(place: Expr, extents: Sequence[Size]) -> Range | None:
    low, high = lift(0), lift(0)
    for monomial, count in place.terms.items():
        step, most = lift(count), lift(1)
        for atom in monomial:
            end = _most(atom, extents)
            if end is None:
                return None
            most = most * end
        if count < 0 and monomial:
            return None
        low, high = low + (lift(0) if monomial else step), high + step * most
    return low, high


def _most(atom: Atom, extents: Sequence[Size]) -> Expr | None:
    """The largest that ``atom`` can be, which is at least zero; None where that is not known."""
    if isinstance(atom, Lane):
        return lift(extents[atom.dim]) - 1
    if isinstance(atom, Symbol):
        return Expr.atom(atom)
    if isinstance(atom, Opaque) and atom.op in ("floordiv", "mod"):
        inner, part = _range_of_place(atom.args[0], extents), atom.args[1]
        if inner is None or not inner[0].is_natural or any(isinstance(one, Lane) for one in part.atoms()):
            return None
        return part - 1 if atom.op == "mod" else lift(ex.floordiv(inner[1] + 1 + part - 1, part)) - 1
    return None


def _combined(op: str, inner: Sequence[Range | None]) -> Range | None:
    """The range of what ``op`` makes of operands of these ranges."""
    if op == "bitwise_and":
        # A mask that is no negative number bounds it, whatever the other is.
        masks = [one[1] for one in inner if one is not None and one[0] == one[1] and one[0].is_natural]
        return (lift(0), masks[0]) if masks else None
    known = [one for one in inner if one is not None]
    if len(known) < len(inner) or not known:
        return None
    if op == "cast":
        return known[0]
    if len(known) != 2:
        return None
    (low, high), (first, last) = known
    if op == "add":
        return low + first, high + last
    if op == "mul" and low.is_natural and first.is_natural:
        return low * first, high * last
    if op == "minimum" and low.is_natural and first.is_natural:
        return lift(0), lift(ex.minimum(high, last))
    if op == "remainder" and first == last and (first.value or 0) > 0:
        return lift(0), last - 1
    return None


def is_below(found: Range | None, end: Size) -> bool:
    """Whether all of the range is surely from zero on and below ``end``."""
    return found is not None and found[0].is_natural and (lift(end) - 1 - found[1]).is_natural
