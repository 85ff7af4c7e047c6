"""From strides to places: which element of a tensor a view of its memory looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from kernlint.generate.values import CannotGenerate, lane
from kernlint.workload import Expr, Lane, Opaque, Size, Tensor
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift


def index_of(base: Tensor, view: Tensor, sizes: Mapping[Atom, float]) -> tuple[Expr, ...]:
    """For each axis of ``base`` the place that ``view`` looks at, over the lanes of ``view``; both are of one storage.

    ``sizes`` are numbers for the open sizes, by which strides are ordered; what is found holds for all sizes of such an order.
    Raises :class:`CannotGenerate` for views that no places express.
    """
    if base.shape is None or base.strides is None or view.shape is None or view.strides is None:
        raise CannotGenerate(f"the layout of `{view.name or base.name}` is not known")
    if view.shape == base.shape and view.strides == base.strides and view.offset == base.offset:
        return tuple(lane(d) if lift(n).value != 1 else lift(0) for d, n in enumerate(base.shape))
    places: list[Expr] = [lift(0)] * len(base.shape)
    terms: list[tuple[Expr, Expr]] = [
        (lift(stride), lane(dim))
        for dim, (stride, extent) in enumerate(zip(view.strides, view.shape))
        if lift(extent).value != 1 and lift(stride).value != 0
    ]
    offset = lift(view.offset) - lift(base.offset)
    for one in (Expr({monomial: count}) for monomial, count in offset.terms.items()):
        # What is looked at from the end of an axis is its whole length, less something.
        less = (one.evaluate(sizes) or 0) < 0
        terms.append((-one, lift(-1)) if less else (one, lift(1)))
    for stride, term in terms:
        for axis, times in _axes(base, stride, sizes):
            places[axis] = places[axis] + term * times
    return _carried(base, view, _borrowed(base, view, places, sizes), sizes)


def _axes(base: Tensor, stride: Expr, sizes: Mapping[Atom, float]) -> list[tuple[int, Expr]]:
    """The axis of ``base`` along which a step of ``stride`` goes, and how many elements of it; several where it goes aslant."""
    assert base.shape is not None and base.strides is not None
    number = stride.evaluate(sizes)
    order = sorted(
        (d for d in range(len(base.shape)) if lift(base.shape[d]).value != 1),
        key=lambda d: -(lift(base.strides[d]).evaluate(sizes) or 0),  # type: ignore[index]
    )
    fitting = []
    for axis in order:
        own = lift(base.strides[axis])
        size = own.evaluate(sizes)
        if number is None or size is None or size <= 0 or size > number:
            continue
        times = lift(1) if stride == own else lift(ex.floordiv(stride, own))
        if times * own == stride:
            return [(axis, times)]
        fitting.append((axis, own))
    for axis, own in fitting:
        rest = stride - own  # along a diagonal
        if rest.evaluate(sizes):
            return [(axis, lift(1)), *_axes(base, rest, sizes)]
    raise CannotGenerate(f"no axis of `{base.name}` has the stride {stride}")


def _borrowed(base: Tensor, view: Tensor, places: Sequence[Expr], sizes: Mapping[Atom, float]) -> list[Expr]:
    """``places`` with a length of each axis that begins below zero taken from the axis outside it."""
    assert base.shape is not None and base.strides is not None
    starts: dict[Atom, Size] = dict.fromkeys(_ends(view), 0)
    found = list(places)
    axes = [d for d, extent in enumerate(base.shape) if lift(extent).value != 1]
    axes.sort(key=lambda d: lift(base.strides[d]).evaluate(sizes) or 0)  # type: ignore[index]
    for axis, outer in pairwise(axes):
        first = found[axis].substitute(starts).evaluate(sizes)
        extent = lift(base.shape[axis])
        if first is not None and first < 0 and lift(base.strides[outer]) == lift(base.strides[axis]) * extent:
            found[axis], found[outer] = found[axis] + extent, found[outer] - 1
    return found


def _carried(base: Tensor, view: Tensor, places: list[Expr], sizes: Mapping[Atom, float]) -> tuple[Expr, ...]:
    """``places`` with what goes beyond an axis handed on to the axis outside it."""
    assert base.shape is not None and base.strides is not None and view.shape is not None
    ends = _ends(view)
    order = sorted(range(len(places)), key=lambda d: lift(base.strides[d]).evaluate(sizes) or 0)  # type: ignore[index]
    for at, axis in enumerate(order):
        last = places[axis].substitute(ends).evaluate(sizes)
        extent = lift(base.shape[axis])
        size = extent.evaluate(sizes)
        if last is None or size is None:
            raise CannotGenerate(f"the extents of `{base.name}` are not known")
        if last < size:
            continue
        outer = next((d for d in order[at + 1 :] if lift(base.shape[d]).value != 1), None)
        if outer is None or lift(base.strides[outer]) != lift(base.strides[axis]) * extent:
            raise CannotGenerate(f"a view of `{base.name}` runs over its axes")
        places[outer] = places[outer] + ex.floordiv(places[axis], extent)
        places[axis] = lift(ex.mod(places[axis], extent))
    return tuple(places)


def conditions(base: Tensor, view: Tensor, places: tuple[Expr, ...]) -> list[Expr]:
    """What must not be below zero for ``places`` to lie within ``base``: at smaller sizes a slice has fewer elements."""
    starts: dict[Atom, Size] = dict.fromkeys(_ends(view), 0)
    found = []
    for place, extent in zip(places, base.shape or ()):
        if any(isinstance(atom, Opaque) for atom in place.atoms()):
            continue  # a rest or a quotient of what was seen to lie within another axis
        found += [place.substitute(starts), lift(extent) - 1 - place.substitute(_ends(view))]
    return [one for one in found if not _at_least(one).is_natural]


def axes_of(view: Tensor) -> dict[Atom, tuple[int, Size]]:
    """The lanes of ``view`` with their numbers and extents."""
    return {Lane(dim): (dim, extent) for dim, extent in enumerate(view.shape or ())}


def rectangle(
    base: Tensor, places: Sequence[Expr], axes: Mapping[Atom, tuple[int, Size]]
) -> tuple[tuple[tuple[Expr, Expr, Expr | None], ...], dict[int, Expr]]:
    """Where in ``base`` the ``places`` lie that what goes along ``axes`` looks at, as bounds; and, by the numbers of these, how far along
    them a place of ``base`` is. Raises :class:`CannotGenerate` where that is no rectangle."""
    bounds: list[tuple[Expr, Expr, Expr | None]] = []
    back: dict[int, Expr] = {}
    for axis, (place, whole) in enumerate(zip(places, base.shape or ())):
        own = [atom for atom in place.atoms() if atom in axes or isinstance(atom, Lane)]
        if len(own) > 1 or (own and place.coefficient(own[0]) != 1):
            raise CannotGenerate("an assignment to a part of a tensor that is no rectangle")
        first = place.substitute({own[0]: 0}) if own else place
        number, extent = axes[own[0]] if own else (-1, 1)
        if own:
            back[number] = lane(axis) - first
        if first.value != 0 or lift(extent) != lift(whole):
            bounds.append((first, lane(axis), first + extent))
    return tuple(bounds), back


def _at_least(size: Expr) -> Expr:
    """``size``, with what is divided for the quotients that are taken away."""
    for atom in size.atoms():
        step = size.coefficient(atom)
        if isinstance(atom, Opaque) and atom.op == "floordiv" and step is not None and (-step).is_natural:
            size = size.substitute({atom: atom.args[0]})
    return size


def _ends(view: Tensor) -> dict[Atom, Size]:
    """The last place along each axis of ``view``."""
    assert view.shape is not None
    ends: dict[Atom, Size] = {}
    for dim, extent in enumerate(view.shape):
        (atom,) = lane(dim).atoms()
        ends[atom] = lift(extent) - 1
    return ends
