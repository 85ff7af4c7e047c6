"""Which programs, iterations and lanes an expression over them is a given number for: boxes of them are halved until one is left."""

from __future__ import annotations

from collections.abc import Mapping

from kernlint.compare.columns import Effort, NotCompared
from kernlint.workload.expr import Atom, Expr, Opaque

#: The smallest and largest number something can be.
Range = tuple[int, int]
Box = Mapping[Atom, Range]

#: What it costs to look at one box, in numbers computed.
_OF_A_BOX = 40


def solutions(expr: Expr, target: int, box: Box, effort: Effort, most: int) -> list[dict[Atom, int]]:
    """The points of ``box`` at which ``expr`` is ``target``. Raises :class:`NotCompared` where they are more than ``most``."""
    used = expr.atoms()
    found: list[dict[Atom, int]] = []
    free = {atom: span for atom, span in box.items() if atom not in used}
    left: list[dict[Atom, Range]] = [{atom: span for atom, span in box.items() if atom in used}]
    while left:
        one = left.pop()
        effort.spend(_OF_A_BOX)
        low, high = bounds(expr, one)
        if not low <= target <= high:
            continue
        widest = _widest(expr, one)
        if widest is None:
            found.append({atom: span[0] for atom, span in one.items()})
            if len(found) > most:
                raise NotCompared("many programs write one element")
            continue
        first, last = one[widest]
        middle = (first + last) // 2
        left.append({**one, widest: (first, middle)})
        left.append({**one, widest: (middle + 1, last)})
    for atom, (first, last) in free.items():
        if (last - first + 1) * len(found) > most:
            raise NotCompared("many programs write one element")
        found = [{**one, atom: i} for one in found for i in range(first, last + 1)]
    return found


def bounds(expr: Expr, box: Box) -> Range:
    """Between what ``expr`` lies in ``box``. Raises :class:`NotCompared` where it depends on something else."""
    low = high = 0
    for monomial, coefficient in expr.terms.items():
        first = last = coefficient
        for atom in monomial:
            a, b = _of_atom(atom, box)
            ends = (first * a, first * b, last * a, last * b)
            first, last = min(ends), max(ends)
        low, high = low + first, high + last
    return low, high


def _of_atom(atom: Atom, box: Box) -> Range:
    span = box.get(atom)
    if span is not None:
        return span
    if not isinstance(atom, Opaque) or atom.op not in ("floordiv", "mod", "min", "max"):
        raise NotCompared("an index that is not known")
    parts = [bounds(arg, box) for arg in atom.args]
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


def _widest(expr: Expr, box: Mapping[Atom, Range]) -> Atom | None:
    """The open atom that moves ``expr`` most; None where none is open."""
    best, reach = None, -1
    for atom, (first, last) in box.items():
        if first == last:
            continue
        moved = 0
        for monomial, coefficient in expr.terms.items():
            if atom in monomial:
                low, high = bounds(Expr({monomial: coefficient}), box)
                moved += high - low
            elif any(isinstance(a, Opaque) and any(atom in arg.atoms() for arg in a.args) for a in monomial):
                low, high = bounds(Expr({monomial: coefficient}), box)
                moved += high - low + 1
        if moved > reach:
            best, reach = atom, moved
    return best
