"""Between what integers an expression lies, where those lie that it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from kernlint.records import dataclass
from kernlint.workload.expr import Atom, Expr, Opaque, floordiv, lift

#: The smallest and largest number something can be.
Range = tuple[int, int]
Box = Mapping[Atom, Range]


class Unbounded(ArithmeticError):
    """An expression rests on something of which nothing is known."""


@dataclass(frozen=True)
class Term:
    """One product of an expression: ``factors`` as they stand in it, ``atoms`` those that these are made of."""

    coefficient: int
    factors: tuple[Atom, ...]
    atoms: frozenset[Atom]


@lru_cache(maxsize=256)
def terms_of(expr: Expr) -> tuple[Term, ...]:
    return tuple(
        Term(coefficient, tuple(monomial), frozenset(Expr({monomial: 1}).atoms()))
        for monomial, coefficient in expr.terms.items()
    )


def bounds(expr: Expr, box: Box) -> Range:
    """Between what ``expr`` lies in ``box``. Raises :class:`Unbounded` where it depends on something else."""
    return _bounds(expr, dict(box))


def _bounds(expr: Expr, known: dict[Atom, Range]) -> Range:
    low = high = 0
    for term in terms_of(expr):
        first, last = reach(term, known)
        low, high = low + first, high + last
    return low, high


def reach(term: Term, known: dict[Atom, Range]) -> Range:
    first = last = term.coefficient
    for atom in term.factors:
        span = known.get(atom)
        if span is None:
            span = known[atom] = _of_opaque(atom, known)
        a, b = span
        if len(term.factors) == 1:
            return (first * a, first * b) if first >= 0 else (first * b, first * a)
        ends = (first * a, first * b, last * a, last * b)
        first, last = min(ends), max(ends)
    return first, last


def _of_opaque(atom: Atom, known: dict[Atom, Range]) -> Range:
    if not isinstance(atom, Opaque) or atom.op not in ("floordiv", "mod", "min", "max"):
        raise Unbounded(f"{atom}")
    parts = [_bounds(arg, known) for arg in atom.args]
    if atom.op == "min":
        return min(low for low, _ in parts), min(high for _, high in parts)
    if atom.op == "max":
        return max(low for low, _ in parts), max(high for _, high in parts)
    (low, high), (least, most) = parts
    if least <= 0:
        # Further halves tell; the last one is a program that divides by zero.
        if least == most == 0:
            raise Unbounded("an index divided by zero")
        far = max(abs(low), abs(high)) if atom.op == "floordiv" else max(abs(least), abs(most)) - 1
        return -far - 1, far
    if atom.op == "floordiv":
        ends = (low // least, low // most, high // least, high // most)
        return min(ends), max(ends)
    if least == most and low // least == high // least:
        return low % least, high % least
    return 0, most - 1


def never_negative(expr: Expr, steps: int = 4) -> bool:
    """Whether up to ``steps`` of the terms can be replaced by what is never larger until a number is left that is not negative:
    ``min(m, n)`` is at most ``n``, the next power of two at least ``n``, ``n // b * b`` at most ``n``, whatever they are."""
    if expr.value is not None:
        return expr.value >= 0
    return steps > 0 and any(never_negative(less, steps - 1) for less in _lowered(expr))


def _lowered(expr: Expr) -> Iterator[Expr]:
    """``expr`` with one of its terms as something that is never larger."""
    for monomial, coefficient in expr.terms.items():
        for place, atom in enumerate(monomial):
            if not isinstance(atom, Opaque) or not atom.args:
                continue
            factor = Expr({monomial[:place] + monomial[place + 1 :]: coefficient})
            others, first, last = expr - Expr({monomial: coefficient}), atom.args[0], atom.args[-1]
            whole = lift(floordiv(factor, last)) if atom.op == "floordiv" and last.is_natural else factor
            if atom.op == "floordiv" and whole * last == factor and (-whole).is_natural:
                yield others + first * whole
            elif (atom.op in ("max", "pow2") and factor.is_natural) or (atom.op == "min" and (-factor).is_natural):
                yield from (others + factor * arg for arg in atom.args)
