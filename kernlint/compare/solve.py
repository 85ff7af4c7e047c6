"""Which programs, iterations and lanes an expression over them is a given number for: boxes of them are halved until one is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlint.compare.columns import Effort, NotCompared
from kernlint.workload.expr import Atom, Expr, Opaque
from kernlint.workload.ranges import Box, Range, reach, terms_of

#: What it costs to look at one box, in numbers computed.
_OF_A_BOX = 40


def solutions(expr: Expr, target: int, box: Box, effort: Effort, most: int) -> list[dict[Atom, int]]:
    """The points of ``box`` at which ``expr`` is ``target``. Raises :class:`NotCompared` where they are more than ``most``."""
    used = expr.atoms()
    terms = terms_of(expr)
    found: list[dict[Atom, int]] = []
    free = {atom: span for atom, span in box.items() if atom not in used}
    open_atoms = [atom for atom in box if atom in used]
    made_of = {atom: {one for one in used if isinstance(one, Opaque) and _holds(one, atom)} for atom in open_atoms}
    parts_of = {
        atom: [(i, atom not in term.factors) for i, term in enumerate(terms) if atom in term.atoms]
        for atom in open_atoms
    }
    # Boxes with what is known to lie in them: half of one has that of the whole but for what the halved atom is part of, and its
    # terms reach as far but for those.
    left: list[tuple[dict[Atom, Range], list[Range], Atom | None]] = [
        ({atom: box[atom] for atom in open_atoms}, [], None)
    ]
    while left:
        one, before, halved = left.pop()
        effort.spend(_OF_A_BOX)
        reached = before or [reach(term, one) for term in terms]
        if halved is not None:
            reached = [*reached]
            for i, _ in parts_of[halved]:
                reached[i] = reach(terms[i], one)
        if not sum([low for low, _ in reached]) <= target <= sum([high for _, high in reached]):
            continue
        widest = _widest(one, parts_of, reached)
        if widest is None:
            found.append({atom: one[atom][0] for atom in open_atoms})
            if len(found) > most:
                raise NotCompared("many programs write one element")
            continue
        first, last = one[widest]
        middle = (first + last) // 2
        kept = {atom: span for atom, span in one.items() if atom not in made_of[widest]}
        left.append(({**kept, widest: (first, middle)}, reached, widest))
        left.append(({**kept, widest: (middle + 1, last)}, reached, widest))
    for atom, (first, last) in free.items():
        if (last - first + 1) * len(found) > most:
            raise NotCompared("many programs write one element")
        found = [{**one, atom: i} for one in found for i in range(first, last + 1)]
    return found


def _holds(opaque: Opaque, atom: Atom) -> bool:
    return any(atom in arg.atoms() for arg in opaque.args)


def _widest(box: Box, parts_of: Mapping[Atom, Sequence[tuple[int, bool]]], reached: Sequence[Range]) -> Atom | None:
    """The open atom that moves a sum of terms most, which lie between ``reached``; None where none is open. ``parts_of`` has the terms
    that an atom is part of, each with whether it is inside an opaque one there."""
    best, most = None, -1
    for atom, parts in parts_of.items():
        first, last = box[atom]
        if first != last:
            moved = sum([reached[i][1] - reached[i][0] + inside for i, inside in parts])
            if moved > most:
                best, most = atom, moved
    return best
