"""Places as arithmetic on lanes whose extents are numbers: quotients and rests that the extents decide, and the axes of addresses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.values import CannotGenerate, looked_through
from kernlint.records import dataclass
from kernlint.workload import Expr, Opaque, Tensor
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift
from kernlint.workload.ranges import Box, Range, Unbounded
from kernlint.workload.ranges import bounds as bounds_of

#: ``low <= place < high``.
Bound = tuple[Expr, Expr, "Expr | None"]


#: A place in a tile: an expression for each of its axes.
Place = tuple[Expr, ...]


@dataclass(frozen=True)
class Pointer:
    """``offset`` elements from the first one of the tensor that is the argument ``base``."""

    base: str
    offset: Expr


@dataclass(frozen=True)
class Test:
    """Where all ``bounds`` hold."""

    bounds: tuple[Bound, ...]


def changed(bound: Bound, change: Callable[[Expr], Expr]) -> Bound:
    """``bound`` with each of its expressions changed."""
    low, place, high = bound
    return change(low), change(place), None if high is None else change(high)


def looked_at(bound: Bound, index: Sequence[Expr]) -> Bound:
    """``bound``, which is over the axes of a value, where the value is looked at from ``index``."""
    return changed(bound, lambda one: looked_through((one,), index)[0])


def holds(bound: Bound, at: Mapping[Atom, float]) -> bool:
    """Whether ``bound`` is known to hold at one place."""
    low, place, high = (None if one is None else one.evaluate(at) for one in bound)
    if low is None or place is None or low > place:
        return False
    return bound[2] is None or (high is not None and place < high)


def reach(place: Expr, box: Box) -> Range | None:
    """Between what ``place`` lies; None where that is not known."""
    try:
        return bounds_of(place, box)
    except Unbounded:
        return None


def tidy(place: Expr, box: Box) -> Expr:
    """``place`` without quotients and rests that the ranges in ``box`` decide."""

    def change(atom: Atom) -> Expr | None:
        if not isinstance(atom, Opaque) or atom.op not in _QUOTIENTS:
            return None
        first, second = (tidy(arg, box) for arg in atom.args)
        if atom.op in ("min", "max"):
            return _extreme(atom.op, first, second, box)
        if second.value is None or second.value < 1:
            return Expr.atom(Opaque(atom.op, (first, second)))
        return (quotient if atom.op == "floordiv" else remainder)(first, second.value, box)

    if not any(isinstance(atom, Opaque) for atom in place.atoms()):
        return place
    return _rejoined(place.rewrite(change), box)


_QUOTIENTS = frozenset({"floordiv", "mod", "min", "max"})


def _extreme(op: str, first: Expr, second: Expr, box: Box) -> Expr:
    apart = reach(first - second, box)
    if apart is not None and apart[0] >= 0:
        return second if op == "min" else first
    if apart is not None and apart[1] <= 0:
        return first if op == "min" else second
    return Expr.atom(Opaque(op, (first, second)))


def quotient(place: Expr, part: int, box: Box) -> Expr:
    """``place // part``."""
    whole, rest = _split(place, part)
    if not rest.terms:
        return whole
    span = reach(rest, box)
    if span is not None and span[0] // part == span[1] // part:
        return whole + span[0] // part
    (atom,) = rest.atoms() if len(rest.terms) == 1 and len(rest.atoms()) == 1 else (None,)
    if isinstance(atom, Opaque) and atom.op == "floordiv" and rest == Expr.atom(atom) and atom.args[1].value:
        return whole + quotient(atom.args[0], atom.args[1].value * part, box)
    large, _, unit = _units(rest, part, box)
    if unit > 1:
        return whole + quotient(large, part // unit, box)
    return whole + ex.floordiv(rest, part)


def remainder(place: Expr, part: int, box: Box) -> Expr:
    """``place % part``."""
    _, rest = _split(place, part)
    span = reach(rest, box)
    if span is not None and span[0] // part == span[1] // part:
        return rest - span[0] // part * part
    large, small, unit = _units(rest, part, box)
    if unit > 1:
        return remainder(large, part // unit, box) * unit + small
    return lift(ex.mod(rest, part))


def _split(place: Expr, part: int) -> tuple[Expr, Expr]:
    """A whole number of times ``part``, and the rest."""
    whole = Expr({monomial: count // part for monomial, count in place.terms.items()})
    return whole, place - whole * part


def _units(rest: Expr, part: int, box: Box) -> tuple[Expr, Expr, int]:
    """``rest`` as a multiple of a unit that divides ``part`` and what is smaller than that; the unit is 1 where there is none."""
    for unit in sorted({math.gcd(count, part) for monomial, count in rest.terms.items() if monomial}, reverse=True):
        small = Expr({monomial: count for monomial, count in rest.terms.items() if monomial and count % unit})
        small = small + rest.terms.get((), 0) % unit
        span = reach(small, box)
        if unit > 1 and span is not None and span[0] >= 0 and span[1] < unit:
            large = rest - small
            return Expr({monomial: count // unit for monomial, count in large.terms.items()}), small, unit
    return rest, lift(0), 1


def _rejoined(place: Expr, box: Box) -> Expr:
    """``place`` with ``n`` for ``n // m * m + n % m``."""
    for atom in (atom for atom in place.atoms() if isinstance(atom, Opaque) and atom.op == "mod"):
        step, part = place.coefficient(atom), atom.args[1].value
        if step is None or not step.terms or not part:
            continue
        twin = quotient(atom.args[0], part, box)
        whole = place - Expr.atom(atom) * step + (atom.args[0] - twin * part) * step
        if len(whole.terms) < len(place.terms) or not any(isinstance(one, Opaque) for one in whole.atoms()):
            return _rejoined(whole, box)
    return place


def axes_of(address: Expr, tensor: Tensor, box: Box, bounds: Sequence[Bound] = (), apart: bool = True) -> list[Expr]:
    """For each axis of ``tensor`` the place at ``address``, counted from the first element of its memory, where ``bounds`` hold. What
    runs over an axis is taken ``apart``, or else raises :class:`Beyond`. Raises :class:`CannotGenerate`."""
    shape, strides = numbers(tensor.shape), numbers(tensor.strides)
    box, places = masked(box, bounds), [lift(0)] * len(shape)
    rest = address - tensor.offset
    order = sorted((d for d in range(len(shape)) if shape[d] > 1), key=lambda d: -strides[d])
    for axis in order:
        stride = strides[axis]
        if stride < 1:
            raise CannotGenerate("a tensor that shows elements again")
        places[axis], rest = _along(rest, stride, box, bounds, axis, apart)
    if rest.terms:
        raise CannotGenerate("an address between the elements of a tensor")
    for axis in order:
        span = span_of(places[axis], box, bounds)
        if span is None or span[0] < 0 or span[1] >= shape[axis]:
            raise Beyond(axis)
    return places


def masked(box: Box, bounds: Sequence[Bound]) -> Box:
    """The ranges of atoms as far as ``bounds`` of one of them leave them."""
    found = dict(box)
    for _, place, high in bounds:
        (atom, *others) = place.atoms() or (None,)
        if high is not None and high.value is not None and not others and atom in found and place == Expr.atom(atom):
            found[atom] = found[atom][0], min(found[atom][1], high.value - 1)
    return found


class Beyond(CannotGenerate):
    """A place goes beyond the ``axis`` that it is on."""

    def __init__(self, axis: int) -> None:
        super().__init__("an address that runs over the axes of a tensor")
        self.axis = axis


def _along(address: Expr, stride: int, box: Box, bounds: Sequence[Bound], axis: int, apart: bool) -> tuple[Expr, Expr]:
    """The place along an axis of ``stride``, and what is left for the axes inside of it."""
    whole, rest = _split(address, stride)
    constant = rest.terms.get((), 0)
    for moved in (0, 1) if constant else (0,):
        left = rest - moved * stride
        span = span_of(left, box, bounds)
        if span is not None and span[0] >= 0 and span[1] < stride:
            return whole + moved, left
    if not apart:
        raise Beyond(axis + 1)
    return quotient(address, stride, box), remainder(address, stride, box)


def span_of(place: Expr, box: Box, bounds: Sequence[Bound]) -> Range | None:
    """Between what ``place`` lies where ``bounds`` hold."""
    first = last = 0
    for low, at, high in bounds:
        if high is None:
            continue
        moving = at - high
        most = -1 - moving.terms.get((), 0)
        moving = Expr({monomial: count for monomial, count in moving.terms.items() if monomial})
        times, span = _times(place, moving), reach(moving, box)
        if not times or span is None:
            continue
        place = place - moving * times
        least = (low - (at - moving)).value
        ends = (span[0] if least is None else max(span[0], least)) * times, min(span[1], most) * times
        first, last = first + min(ends), last + max(ends)
    rest = reach(place, box)
    return None if rest is None else (first + rest[0], last + rest[1])


def with_rests(place: Expr, box: Box) -> Expr:
    """``place`` with ``n // m * m + n % m`` for ``n`` where there is a quotient of it too."""
    place = tidy(place, box)
    for atom in [atom for atom in place.atoms() if isinstance(atom, Opaque) and atom.op == "floordiv"]:
        whole, part = atom.args[0], atom.args[1].value
        times = _times(place, whole)
        if times and part:
            place = place + (quotient(whole, part, box) * part + remainder(whole, part, box) - whole) * times
    return place


def _times(place: Expr, part: Expr) -> int:
    """How many times ``part`` is in ``place``."""
    times = {place.terms.get(monomial, 0) / count for monomial, count in part.terms.items()}
    return int(min(times)) if len(times) == 1 and min(times) == int(min(times)) else 0


def numbers(extents: Sequence[ex.Size] | None) -> tuple[int, ...]:
    """``extents`` as numbers."""
    found = tuple(lift(extent).value for extent in extents) if extents is not None else (None,)
    if None in found:
        raise CannotGenerate("a tensor of unknown extents")
    return found  # type: ignore[return-value]


def replaced(place: Expr, by: Sequence[Mapping[Atom, Expr]], box: Box) -> Expr:
    """``place`` with one set of atoms replaced after the other."""
    for values in by:
        place = place.substitute(values)
    return tidy(place, box)
