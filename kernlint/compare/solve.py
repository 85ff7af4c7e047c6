"""Which programs, iterations and lanes an expression over them is a given number for: boxes of them are halved until one is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from kernlint.compare.columns import Effort, NotCompared
from kernlint.records import dataclass
from kernlint.workload.expr import Atom, Expr, Opaque

#: The smallest and largest number something can be.
Range = tuple[int, int]
Box = Mapping[Atom, Range]

#: What it costs to look at one box, in numbers computed.
_OF_A_BOX = 40


def solutions(expr: Expr, target: int, box: Box, effort: Effort, most: int) -> list[dict[Atom, int]]:
    """The points of ``box`` at which ``expr`` is ``target``. Raises :class:`NotCompared` where they are more than ``most``."""
    used = expr.atoms()
    terms = _terms(expr)
    found: list[dict[Atom, int]] = []
    free = {atom: span for atom, span in box.items() if atom not in used}
    open_atoms = [atom for atom in box if atom in used]
    made_of = {atom: {one for one in used if isinstance(one, Opaque) and _holds(one, atom)} for atom in open_atoms}
    # Boxes with what is known to lie in them: half of one has that of the whole but for what the halved atom is part of.
    left: list[dict[Atom, Range]] = [{atom: box[atom] for atom in open_atoms}]
    while left:
        one = left.pop()
        effort.spend(_OF_A_BOX)
        reach = [_of_term(term, one) for term in terms]
        if not sum(low for low, _ in reach) <= target <= sum(high for _, high in reach):
            continue
        widest = _widest(terms, reach, {atom: one[atom] for atom in open_atoms})
        if widest is None:
            found.append({atom: one[atom][0] for atom in open_atoms})
            if len(found) > most:
                raise NotCompared("many programs write one element")
            continue
        first, last = one[widest]
        middle = (first + last) // 2
        kept = {atom: span for atom, span in one.items() if atom not in made_of[widest]}
        left.append({**kept, widest: (first, middle)})
        left.append({**kept, widest: (middle + 1, last)})
    for atom, (first, last) in free.items():
        if (last - first + 1) * len(found) > most:
            raise NotCompared("many programs write one element")
        found = [{**one, atom: i} for one in found for i in range(first, last + 1)]
    return found


def _holds(opaque: Opaque, atom: Atom) -> bool:
    return any(atom in arg.atoms() for arg in opaque.args)


@dataclass(frozen=True)
class _Term:
    """One product of an expression: ``factors`` as they stand in it, ``atoms`` those that these are made of."""

    coefficient: int
    factors: tuple[Atom, ...]
    atoms: frozenset[Atom]


@lru_cache(maxsize=256)
def _terms(expr: Expr) -> tuple[_Term, ...]:
    return tuple(
        _Term(coefficient, tuple(monomial), frozenset(Expr({monomial: 1}).atoms()))
        for monomial, coefficient in expr.terms.items()
    )


def bounds(expr: Expr, box: Box) -> Range:
    """Between what ``expr`` lies in ``box``. Raises :class:`NotCompared` where it depends on something else."""
    return _bounds(expr, dict(box))


def _bounds(expr: Expr, known: dict[Atom, Range]) -> Range:
    low = high = 0
    for term in _terms(expr):
        first, last = _of_term(term, known)
        low, high = low + first, high + last
    return low, high


def _of_term(term: _Term, known: dict[Atom, Range]) -> Range:
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
        raise NotCompared("an index that is not known")
    parts = [_bounds(arg, known) for arg in atom.args]
    if atom.op == "min":
        return min(low for low, _ in parts), min(high for _, high in parts)
    if atom.op == "max":
        return max(low for low, _ in parts), max(high for _, high in parts)
    (low, high), (least, most) = parts
    if least <= 0:
        # Further halves tell; the last one is a program that divides by zero.
        if least == most == 0:
            raise NotCompared("an index divided by zero")
        reach = max(abs(low), abs(high)) if atom.op == "floordiv" else max(abs(least), abs(most)) - 1
        return -reach - 1, reach
    if atom.op == "floordiv":
        ends = (low // least, low // most, high // least, high // most)
        return min(ends), max(ends)
    if least == most and low // least == high // least:
        return low % least, high % least
    return 0, most - 1


def _widest(terms: Sequence[_Term], reach: Sequence[Range], box: Mapping[Atom, Range]) -> Atom | None:
    """The open atom that moves the sum of ``terms`` most, which lie between ``reach``; None where none is open."""
    best, most = None, -1
    for atom, (first, last) in box.items():
        if first == last:
            continue
        moved = 0
        for term, (low, high) in zip(terms, reach):
            if atom in term.atoms:
                moved += high - low + (atom not in term.factors)
        if moved > most:
            best, most = atom, moved
    return best
