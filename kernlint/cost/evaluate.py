"""Expressions as functions of a flat list of numbers: the traffic model evaluates each one at many points.

A point is a list with one slot per atom: program ids, lanes and loop iterations. It gives what
:meth:`~kernlint.workload.Expr.evaluate` gives, some ten times faster, because the expression is walked once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import add, mul

from kernlint.workload import Expr, Lane, LoopIndex, Opaque, ProgramId
from kernlint.workload.expr import OPERATIONS, Atom

_AXES = 3
_DIMS = 8
_LOOPS = 500
#: Numbers in a point.
SLOTS = _AXES + _DIMS + _LOOPS

Point = list[float]
Evaluator = Callable[[Point], "float | None"]


def slot(atom: Atom) -> int | None:
    """Where a point keeps the value of ``atom``; None for a symbol, an opaque value or a loop beyond the slots."""
    if isinstance(atom, ProgramId):
        return atom.axis if 0 <= atom.axis < _AXES else None
    if isinstance(atom, Lane):
        return _AXES + atom.dim if 0 <= atom.dim < _DIMS else None
    if isinstance(atom, LoopIndex):
        return _AXES + _DIMS + atom.loop if 0 <= atom.loop < _LOOPS else None
    return None


def origin() -> Point:
    """The point where every atom is 0."""
    return [0.0] * SLOTS


class _UnknownError(Exception):
    """A loaded value, a symbol, or a division by zero."""


def _unknown(_: Point) -> float:
    raise _UnknownError


@lru_cache(maxsize=4096)
def evaluator(expr: Expr) -> Evaluator:
    """A function from a point to the value of ``expr`` there, None where that is not known."""
    inner = _polynomial(expr)

    def evaluate(point: Point) -> float | None:
        try:
            return inner(point)
        except (_UnknownError, ZeroDivisionError, OverflowError, ValueError):
            return None

    return evaluate


def _parts(expr: Expr) -> tuple[int, list[tuple[int, Atom]], list[tuple[int, tuple[Atom, ...]]]]:
    """``expr`` as a constant, multiples of indices and other terms, which are added up in this order wherever it is evaluated, so that
    sums are rounded alike."""
    constant = 0
    linear: list[tuple[int, Atom]] = []
    products: list[tuple[int, tuple[Atom, ...]]] = []
    for monomial, coefficient in expr.terms.items():
        if not monomial:
            constant = coefficient
        elif len(monomial) == 1 and slot(monomial[0]) is not None:
            linear.append((coefficient, monomial[0]))
        else:
            products.append((coefficient, monomial))
    return constant, linear, products


def _polynomial(expr: Expr) -> Callable[[Point], float]:
    constant, of_indices, others = _parts(expr)
    linear = [(coefficient, where) for coefficient, atom in of_indices if (where := slot(atom)) is not None]
    products = [(coefficient, [_atom(atom) for atom in monomial]) for coefficient, monomial in others]

    def evaluate(point: Point) -> float:
        total: float = constant
        for coefficient, where in linear:
            total += coefficient * point[where]
        for coefficient, factors in products:
            product: float = coefficient
            for factor in factors:
                product *= factor(point)
            total += product
        return total

    return evaluate


def _atom(atom: Atom) -> Callable[[Point], float]:
    where = slot(atom)
    if where is not None:
        return lambda point: point[where]
    function = OPERATIONS.get(atom.op) if isinstance(atom, Opaque) else None
    if function is None or not isinstance(atom, Opaque):
        return _unknown
    args = [_polynomial(arg) for arg in atom.args]
    if len(args) == 2:
        first, second = args
        return lambda point: function(first(point), second(point))
    return lambda point: function(*[arg(point) for arg in args])


class Columns:
    """Expressions at many points at a time: what several of them have in common is evaluated once, and a function is applied to all
    points without a step of the interpreter for each."""

    def __init__(self, columns: Mapping[Atom, Sequence[float]], count: int, centre: Point | None = None) -> None:
        """``columns`` are the values of the indices that differ among ``count`` points, ``centre`` those of the others; without it what
        has no column is not known."""
        self._known: dict[Atom, Sequence[float]] = dict(columns)
        self._centre = centre
        self._count = count

    def values(self, expr: Expr) -> list[float] | None:
        """What :func:`evaluator` gives at each point; None where it gives none at some."""
        try:
            return self._polynomial(expr)
        except (_UnknownError, ZeroDivisionError, OverflowError, ValueError):
            return None

    def _polynomial(self, expr: Expr) -> list[float]:
        constant, linear, products = _parts(expr)
        total: list[float] = [constant] * self._count
        for coefficient, atom in linear:
            total = [t + coefficient * x for t, x in zip(total, self._atom(atom))]
        for coefficient, monomial in products:
            product: list[float] = [coefficient] * self._count
            for atom in monomial:
                product = list(map(mul, product, self._atom(atom)))
            total = list(map(add, total, product))
        return total

    def _atom(self, atom: Atom) -> Sequence[float]:
        if atom not in self._known:
            where = slot(atom)
            function = OPERATIONS.get(atom.op) if isinstance(atom, Opaque) else None
            if where is not None and self._centre is not None:
                self._known[atom] = [self._centre[where]] * self._count
            elif function is not None and isinstance(atom, Opaque):
                self._known[atom] = list(map(function, *map(self._polynomial, atom.args)))
            else:
                raise _UnknownError
        return self._known[atom]
