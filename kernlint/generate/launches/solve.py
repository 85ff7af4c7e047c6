"""Which program, round and lane writes an element: places along axes, as sums of digits, taken apart into these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product

from kernlint.generate.launches.places import Bound, holds, quotient, reach, remainder, tidy
from kernlint.generate.values import CannotGenerate
from kernlint.workload import Expr, Opaque
from kernlint.workload.expr import Atom, lift
from kernlint.workload.ranges import Range

#: Tiles that are looked at one by one.
_MOST_TILES = 4096

#: A place over atoms of a program, what it is over the lanes of a result, and how many different ones are asked for (None: not known).
Equation = tuple[Expr, Expr, "int | None"]


class Solution:
    """What atoms of a program are at each element: ``by`` has sets of replacements, one to be made after the other. That is so only
    where ``bounds`` hold: nothing is written elsewhere."""

    def __init__(self, equations: Sequence[Equation], box: Mapping[Atom, Range], lanes: Mapping[Atom, Range]) -> None:
        #: The ranges of atoms as masks leave them, and those of the lanes of the result.
        self._box, self._lanes = box, lanes
        self.bounds: list[Bound] = []
        #: Quotients and rests, the atom that is counted in single steps along each axis, and all others.
        self._known: dict[Atom, Expr] = {}
        self._finest: dict[Atom, Expr] = {}
        self._digits: dict[Atom, Expr] = {}
        self._extents: dict[Atom, int | None] = {}
        self._paired: set[Atom] = set()
        self._waiting = list(equations)
        while self._waiting:
            self._take(*self._waiting.pop(0))
            self._pair()
        open_atoms = [atom for atom in self._known if isinstance(atom, Opaque)]
        if any(not _is_made_of(atom, {**self._finest, **self._digits}) for atom in open_atoms):
            raise CannotGenerate("places that programs are not told by")
        finest = {atom: place.substitute(self._known) for atom, place in self._finest.items()}
        self.by: list[Mapping[Atom, Expr]] = [self._known, finest, self._digits]
        self.bounds = [bound for bound in self.bounds if not always(bound, lanes)]

    def _take(self, place: Expr, target: Expr, extent: int | None) -> None:
        """Take ``place == target`` apart."""
        constant = place.terms.get((), 0)
        terms: list[tuple[int, Atom]] = []
        for monomial, count in place.terms.items():
            if not monomial:
                continue
            if len(monomial) > 1:
                raise CannotGenerate("an address that multiplies what programs count")
            (atom,) = monomial
            if self._span(atom) == (0, 0):
                self._note(atom, lift(0), 1)
            else:
                terms.append((count, atom))
        if not terms:
            if extent != 1 or constant:
                self.bounds.append((lift(constant), target, lift(constant + 1)))
            return
        # What is counted from the end begins where that stops: the first place of all is there.
        first = constant + sum(min(count, 0) * self._span(atom)[1] for count, atom in terms)
        rest = target - first
        if first > 0:
            self.bounds.append((lift(0), rest, None))
        terms.sort(key=lambda one: abs(one[0]))
        unit = abs(terms[0][0])
        if unit > 1:
            self.bounds.append((lift(0), remainder(rest, unit, self._lanes), lift(1)))
            rest = quotient(rest, unit, self._lanes)
            extent = None if extent is None else -(-(extent - first) // unit)
        steps = [abs(count) // unit for count, _ in terms]
        if any(abs(count) % unit for count, _ in terms) or any(b % a for a, b in pairwise(steps)):
            raise CannotGenerate("addresses in steps that do not divide one another")
        for number, ((count, atom), step) in enumerate(zip(terms, steps)):
            low, high = self._span(atom)
            digit, most = quotient(rest, step, self._lanes), None if extent is None else -(-extent // step)
            if number + 1 < len(steps):
                most = steps[number + 1] // step
                digit = remainder(digit, most, self._lanes)
                if high >= most:
                    raise CannotGenerate("tiles that overlap")
            if low != 0:
                raise CannotGenerate("an address that begins elsewhere")
            if most is not None and high + 1 < most:
                self.bounds.append((lift(0), digit, lift(high + 1)))
            self._note(atom, digit if count > 0 else high - digit, most)
        if terms[0][0] == 1 and not isinstance(terms[0][1], Opaque):
            self._finest[terms[0][1]] = target - place + Expr.atom(terms[0][1])

    def _note(self, atom: Atom, digit: Expr, extent: int | None) -> None:
        held = self._known if isinstance(atom, Opaque) else self._digits
        if atom in held and held[atom] != digit:
            raise CannotGenerate("an address with one lane along two axes")
        held[atom] = digit
        self._extents[atom] = extent

    def _span(self, atom: Atom) -> Range:
        span = self._box.get(atom) or reach(Expr.atom(atom), self._box)
        if span is None:
            raise CannotGenerate("an address that is not followed")
        return span

    def _pair(self) -> None:
        """Where both ``n // m`` and ``n % m`` are known, ``n`` is."""
        for atom, rest in list(self._known.items()):
            if not isinstance(atom, Opaque) or atom.op != "mod" or atom in self._paired:
                continue
            whole, part = atom.args
            twin = quotient(whole, part.value, self._box) if part.value else Expr.atom(Opaque("floordiv", atom.args))
            quotients = [one for one in self._known if Expr.atom(one) == twin]
            if not quotients and twin.value is None:
                continue
            count = tidy(part.substitute(self._known), self._lanes)
            over = self._known[quotients[0]] if quotients else twin
            extent = self._extents.get(quotients[0]) if quotients else 1
            many = extent * part.value if extent is not None and part.value else None
            self._paired.add(atom)
            self._waiting.append((whole, over * count + rest, many))


def always(bound: Bound, box: Mapping[Atom, Range]) -> bool:
    """Whether ``bound`` holds for all lanes: those of one tile are looked at together, where they are not told apart in it."""
    exprs = [one for one in bound if one is not None]
    lanes: set[Atom] = {atom for one in exprs for atom in one.atoms() if not isinstance(atom, Opaque)}
    steps: dict[Atom, int] = dict.fromkeys(lanes, 0)
    for expr in exprs:
        for lane, step in _steps(expr):
            steps[lane] = math.gcd(steps[lane], step)
    ranges = [range(0, box[lane][1] + 1, steps[lane]) for lane in lanes if lane in box]
    if len(ranges) < len(lanes) or math.prod(map(len, ranges)) > _MOST_TILES:
        return False
    return all(holds(bound, dict(zip(lanes, places))) for places in product(*ranges))


def _steps(expr: Expr) -> Iterator[tuple[Atom, int]]:
    """The lanes in ``expr``, with how many neighbours are the same there."""
    for monomial in expr.terms:
        for atom in monomial:
            if not isinstance(atom, Opaque):
                yield atom, 1
            elif atom.op == "floordiv" and atom.args[1].value and len(atom.args[0].terms) == 1:
                step = atom.args[1].value
                yield from ((lane, step if atom.args[0] == Expr.atom(lane) else 1) for lane in atom.args[0].atoms())
            else:
                for arg in atom.args:
                    yield from _steps(arg)


def _is_made_of(atom: Opaque, known: Mapping[Atom, Expr]) -> bool:
    inner = [one for arg in atom.args for one in arg.atoms() if not isinstance(one, Opaque)]
    return all(one in known for one in inner)
