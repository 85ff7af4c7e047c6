"""A computation as values: each tensor as what makes one of its elements.

A value has an index space (its shape) and an operation on the elements of other values, which a :class:`View` finds: for a place in
the space of the one who asks, the place in the operand. So broadcasting, transposes, slices and reshapes are arithmetic on indices
and cost nothing, and what two computations do is the same where their values are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from kernlint.records import dataclass
from kernlint.workload import Dtype, Expr, Lane, Opaque, Size
from kernlint.workload.expr import lift
from kernlint.workload.synthesis import lane as lane


class CannotGenerate(Exception):
    """The computation holds something that no generated kernel does; the message says what, for the user."""


class TooMuch(CannotGenerate):
    """It would take more kernels, or more of one, than are worth writing."""


class Unbound(Exception):
    """The size ``name`` has to be a number: nothing at hand tells it, or what is done depends on it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Divided(Exception):
    """The size ``name`` is divided into equal parts: it had better be written as ``whole``, a product."""

    def __init__(self, name: str, whole: Expr) -> None:
        super().__init__(name)
        self.name, self.whole = name, whole


class Named(float):
    """A number that the source calls ``name``: a constant of the module, or an argument of the constructor."""

    name: str

    def __new__(cls, value: float, name: str) -> Named:
        number = super().__new__(cls, value)
        number.name = name
        return number


@dataclass(frozen=True)
class View:
    """Elements of ``value``: at the place where the asking value has its lanes, ``index`` says where to look, one expression for
    each axis of ``value``. ``Lane(d)`` is the place along axis ``d`` of the asking value; behind its axes follow those that it
    reduces over. An :class:`Opaque` ``load`` with key ``i`` is the element of operand ``i``."""

    value: Value
    index: tuple[Expr, ...]

    @cached_property
    def straight(self) -> bool:
        """Whether it looks where the asking value has its lanes."""
        return all(expr == Expr.atom(Lane(d)) for d, expr in enumerate(self.index))

    def at(self, places: Sequence[Expr]) -> View:
        """What is seen where the lanes that this looks from are at ``places``."""
        return View(self.value, looked_through(self.index, places))


@dataclass(frozen=True, eq=False)
class Value:
    """One tensor of a computation.

    ``op`` is ``input``, ``number``, ``place`` (``attributes["at"]``, an expression over lanes), ``reduce`` (of operand 0, by
    ``attributes["kind"]``: sum, max, min, m2: the sum of squared deviations from the mean, expsum: the sum of exponentials of what lies
    below the maximum, last: of a scan, argmax, argmin: the first of the places, operand 1, of the extreme of operand 0; over the extents
    ``attributes["over"]``), ``scan`` (state ``attributes["state"]`` of a recurrence
    along the last axis, after the update at each place: the first half of the operands are what the states begin with, over the other
    axes, the second half what they become; ``attributes["carried"]`` stand for them before that), ``carried``,
    ``product`` (operands 0 and 1 multiplied and summed over ``attributes["over"]``), ``attention``
    (:mod:`kernlint.generate.calls.shares`), ``choose`` (operand ``i`` where the bounds ``attributes["cases"][i]`` hold, the first that
    do), ``pick``
    (operand 0 at a place that the other operands tell), ``scattered`` (operand 0, a number or what lies in memory, with the elements of
    operand 1 over ``attributes["space"]`` at the places ``attributes["at"]``, which the other operands tell: ``attributes["kind"]`` says
    whether they are put there, or their sum or the largest with what is there before), ``partial`` (the
    ``attributes["state"]`` of the reduction that is its operand in each of ``attributes["chunks"]`` equal parts of what is reduced, along
    a last axis) or the name of an elementwise function of torch's. ``dtype`` is torch's for it. What is ``attributes["stored"]`` lies in
    memory as it is, for whatever else is made of it. ``attributes["plain"]``, where it is there, has the same elements, made in a way
    that no kernel would go but that is shorter for one of them alone.
    """

    op: str
    shape: tuple[Size, ...]
    dtype: Dtype
    operands: tuple[View, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    @property
    def view(self) -> View:
        """It, over its own axes."""
        return View(self, identity(self.shape))

    def walk(self, seen: set[int] | None = None) -> Iterator[Value]:
        """This value and all it is made of, operands first."""
        seen = set() if seen is None else seen
        if id(self) in seen:
            return
        seen.add(id(self))
        for view in self.operands:
            yield from view.value.walk(seen)
        yield self


def walk_all(values: Iterable[Value]) -> Iterator[Value]:
    """``values`` and all that they are made of, each once, operands first."""
    seen: set[int] = set()
    for value in values:
        yield from value.walk(seen)


def element(operand: int) -> Expr:
    """Stands in an index for the element of that operand."""
    return Expr.atom(Opaque("load", (), operand))


def lanes_of(index: Sequence[Expr]) -> set[int]:
    """The axes that places in ``index`` depend on."""
    return {atom.dim for expr in index for atom in expr.atoms() if isinstance(atom, Lane)}


def identity(shape: Sequence[Size]) -> tuple[Expr, ...]:
    """The index that looks at the same place."""
    return tuple(lane(d) if lift(extent).value != 1 else lift(0) for d, extent in enumerate(shape))


def broadcast_index(shape: Sequence[Size], rank: int) -> tuple[Expr, ...]:
    """The index by which a value of ``shape`` is looked at from one of ``rank`` axes, as torch broadcasts."""
    return tuple(lane(rank - len(shape) + d) if lift(n).value != 1 else lift(0) for d, n in enumerate(shape))


def looked_through(index: Sequence[Expr], places: Sequence[Expr]) -> tuple[Expr, ...]:
    """``index`` with ``places[d]`` for ``Lane(d)``."""
    values = {Lane(d): place for d, place in enumerate(places)}
    return tuple([expr.substitute(values) for expr in index])  # type: ignore[arg-type]


def exchanged(value: Value, new: Mapping[int, Value], made: dict[int, Value]) -> Value:
    """``value`` made of the values of ``new`` where it was made of those with these identities; ``made`` keeps what was exchanged."""
    if id(value) in new:
        return new[id(value)]
    if id(value) not in made:
        views = tuple(View(exchanged(view.value, new, made), view.index) for view in value.operands)
        same = all(one.value is other.value for one, other in zip(views, value.operands))
        attributes = value.attributes
        made[id(value)] = value if same else Value(value.op, value.shape, value.dtype, views, attributes, value.name)
    return made[id(value)]
