"""Sums that wait for a sum of exponentials over the same columns, done beside it in one loop.

An entropy is the sum of ``exp(z - log s) * (z - log s)`` for a sum ``s`` of exponentials. Written out as products of what belongs to
the row and what belongs to the columns, it is made of sums of ``exp(z - top) * weight``, which a loop keeps as it keeps ``s``: what was
summed is scaled when the maximum ``top`` rises. Where the weight is ``z`` itself, it is kept as ``z - top``, so that nothing is lost
where all ``z`` are far from zero.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.generate.terms import Term, Terms
from kernlint.records import dataclass, replace
from kernlint.workload import dtype as dt

#: Products that a sum is written out as.
_MOST_PRODUCTS = 6


@dataclass(frozen=True)
class _Product:
    """``row`` times ``column``, and times the exponential of what lies below the maximum where ``exponential``; 1 where None."""

    row: Term | None = None
    column: Term | None = None
    exponential: bool = False


def beside(terms: Terms, term: Term, made: dict[int, Term]) -> Term:
    """``term`` made of such sums where that can be."""
    if id(term) not in made:
        operands = tuple(beside(terms, one, made) for one in term.operands)
        same = all(one is other for one, other in zip(operands, term.operands))
        found = term if same else _with(terms, term, operands)
        made[id(term)] = _sums(terms, found) or found
    return made[id(term)]


def _with(terms: Terms, term: Term, operands: tuple[Term, ...]) -> Term:
    return terms.new(
        term.op,
        term.dtype,
        operands,
        lanes=term.lanes,
        bounds=term.bounds,
        kind=term.kind,
        over=term.over,
        name=term.name,
    )


def _sums(terms: Terms, term: Term) -> Term | None:
    if term.op != "reduce" or term.kind != "sum" or term.dtype != dt.FLOAT32:
        return None
    seen: set[int] = set()
    before = [t for t in term.operands[0].walk(seen) if t.op == "reduce" and t.over == term.over]
    if not {t.kind for t in before} <= {"expsum", "max"}:
        return None
    for total in (t for t in before if t.kind == "expsum"):
        products = _Expansion(terms, total).of(term.operands[0])
        if products is not None and all(product.exponential for product in products):
            return _added(terms, [_reduced(terms, total, product) for product in products])
    return None


def _reduced(terms: Terms, total: Term, product: _Product) -> Term:
    """The sum of ``product`` over the columns."""
    part = total
    if product.column is not None and product.column.op == "sub" and product.column.operands[1].op == "reduce":
        part = terms.new("reduce", dt.FLOAT32, total.operands, lanes=total.lanes, kind="below", over=total.over)
    elif product.column is not None:
        operands = (total.operands[0], product.column)
        part = terms.new("reduce", dt.FLOAT32, operands, lanes=total.lanes, kind="weighted", over=total.over)
    return part if product.row is None else terms.new("mul", dt.FLOAT32, (product.row, part))


def _added(terms: Terms, parts: Iterable[Term]) -> Term:
    first, *rest = parts
    for one in rest:
        first = terms.new("add", dt.FLOAT32, (first, one))
    return first


class _Expansion:
    """Writes terms out as sums of products, beside the sum of exponentials ``total``."""

    def __init__(self, terms: Terms, total: Term) -> None:
        self.terms, self.score = terms, total.operands[0]
        self.top = terms.new("reduce", total.dtype, total.operands, lanes=total.lanes, kind="max", over=total.over)
        #: How far the score lies below the maximum.
        self.below = terms.new("sub", dt.FLOAT32, (self.score, self.top))
        self.columns = self.score.lanes - total.lanes

    def of(self, term: Term) -> list[_Product] | None:
        """The products whose sum ``term`` is; None where it is none, or of too many."""
        if not term.lanes & self.columns:
            return [_Product(row=term)]
        if term is self.score:
            return [_Product(column=self.below), _Product(row=self.top)]
        if term is self.below or not any(t.op == "reduce" for t in term.walk()):
            return [_Product(column=term)]
        parts = [self.of(one) for one in term.operands]
        known = [one for one in parts if one is not None]
        if len(known) < len(parts) or term.dtype != dt.FLOAT32:
            return None
        made = self._made(term, known)
        return made if made is not None and len(made) <= _MOST_PRODUCTS else None

    def _made(self, term: Term, parts: list[list[_Product]]) -> list[_Product] | None:
        if term.op == "add":
            return [*parts[0], *parts[1]]
        if term.op == "neg":
            return [self._negative(one) for one in parts[0]]
        if term.op == "sub":
            return [*parts[0], *(self._negative(one) for one in parts[1])]
        if term.op == "mul":
            if any(one.exponential and other.exponential for one in parts[0] for other in parts[1]):
                return None
            return [made for one in parts[0] for other in parts[1] for made in self._multiplied(one, other)]
        if term.op == "div" and len(parts[1]) == 1 and parts[1][0].column is None and not parts[1][0].exponential:
            (divisor,) = parts[1]
            assert divisor.row is not None
            share = _Product(row=self.terms.new("reciprocal", dt.FLOAT32, (divisor.row,)))
            return [self._times(one, share) for one in parts[0]]
        if term.op == "exp":
            return self._exponential(parts[0])
        return None

    def _exponential(self, parts: list[_Product]) -> list[_Product] | None:
        """``exp(score - top + rows)`` as ``exp(score - top) * exp(rows)``."""
        scores = [one for one in parts if one.column is not None or one.exponential]
        if len(scores) != 1 or scores[0] != _Product(column=self.below):
            return None
        rows = [one.row for one in parts if one.column is None and one.row is not None]
        return [_Product(self.terms.new("exp", dt.FLOAT32, (_added(self.terms, rows),)) if rows else None, None, True)]

    def _multiplied(self, one: _Product, other: _Product) -> list[_Product]:
        if one.column is None or other.column is None:
            return [self._times(one, other)]
        return [self._times(a, b) for a in self._apart(one) for b in self._apart(other)]

    def _apart(self, product: _Product) -> list[_Product]:
        """``product`` with the score and the maximum in the place of their difference."""
        if product.column is not self.below:
            return [product]
        top = self._negative(_Product(row=self.top))
        return [replace(product, column=self.score), self._times(replace(product, column=None), top)]

    def _negative(self, product: _Product) -> _Product:
        row = product.row or self.terms.new("number", dt.FLOAT32, number=1.0)
        negative = row.operands[0] if row.op == "neg" else self.terms.new("neg", dt.FLOAT32, (row,))
        return _Product(negative, product.column, product.exponential)

    def _times(self, one: _Product, other: _Product) -> _Product:
        return _Product(
            self._both(one.row, other.row), self._both(one.column, other.column), one.exponential or other.exponential
        )

    def _both(self, one: Term | None, other: Term | None) -> Term | None:
        if one is None or other is None:
            return one or other
        return self.terms.new("mul", dt.FLOAT32, (one, other))
