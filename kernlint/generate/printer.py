"""Terms as lines of a kernel: one variable for each term that is worth a name, in the order in which they are needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from keyword import iskeyword
from math import prod

from kernlint.generate.spelling import REPEATS, Spelled, double, expression, number, operation, wrapped
from kernlint.generate.terms import Bounds, Term, Terms
from kernlint.generate.values import CannotGenerate, Named, lanes_of
from kernlint.rewrite.names import fresh_name
from kernlint.workload import Dtype, Expr, Lane, Opaque, Size, Symbol
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Monomial, lift

#: Characters of an expression up to which it stays inside the one that uses it.
_SHORT = 60


class Names:
    """Names that are not taken yet, and the sizes and numbers that the kernel has to be given."""

    def __init__(self) -> None:
        self.taken: set[str] = {"tl", "triton", "torch"}
        #: Sizes, and products of sizes: each is an argument, so that Triton sees what it is a multiple of.
        self.sizes: dict[Expr, str] = {}
        #: Numbers that the source has names for, by the parameters that take them.
        self.numbers: dict[str, Named] = {}
        #: Those that doubles are computed with: constants of the kernel, as its arguments are float32.
        self.exact: set[str] = set()

    def new(self, wish: str) -> str:
        base = re.sub(r"\W", "_", wish).strip("_").lower() or "value"
        if base[0].isdigit() or iskeyword(base) or base in ("abs", "min", "max", "sum", "pow"):
            base = f"{base}_value" if not base[0].isdigit() else f"t{base}"
        return fresh_name(base, self.taken)

    def size(self, *factors: Symbol) -> str:
        size = prod(map(Expr.atom, factors), start=lift(1))
        if size not in self.sizes:
            self.sizes[size] = self.new("_".join(factor.name for factor in factors))
        return self.sizes[size]

    def number(self, value: float, dtype: Dtype) -> Spelled:
        """``value`` as arithmetic of ``dtype`` takes it."""
        if not isinstance(value, Named):
            return number(value, dtype)
        same = (n for n, known in self.numbers.items() if (known.name, float(known)) == (value.name, float(value)))
        name = next(same, None) or self.new(value.name)
        self.numbers[name] = value
        if dtype != dt.FLOAT64:
            return name, 9
        self.exact.add(name)
        return double(name), 9

    def parameters(self) -> list[str]:
        """What a kernel is given beside its buffers."""
        numbers = (f"{name}: tl.constexpr" if name in self.exact else name for name in self.numbers)
        return [*self.sizes.values(), *numbers]


class Printer:
    """Writes terms into ``lines``. ``places`` are the variables of the lanes, ``mask_of`` tells the condition under which places on
    these lanes exist (empty: always)."""

    def __init__(
        self,
        terms: Terms,
        names: Names,
        places: Mapping[int, str],
        mask_of: Callable[[frozenset[int]], str],
        uses: Mapping[int, int],
        simplified: Callable[[Expr], Expr] = lambda expr: expr,
        reduce: Callable[[Printer, Term], None] | None = None,
    ) -> None:
        self.terms = terms
        self.names = names
        self.places = dict(places)
        self.mask_of = mask_of
        self.uses = uses
        #: An expression over the lanes that have a variable.
        self.simplified = simplified
        #: Writes down a reduction, a state of a recurrence or a product that is not known yet.
        self.reduce = reduce
        #: Whether a quotient may differ in its last bit: not where something is rounded to integers.
        self.reciprocals = False
        #: How far lanes reach, where a mask sees to it.
        self.extents: Mapping[int, Size] = {}
        #: Lanes that are numbers among blocks: conditions on them alone do not mix with masks in Triton's interpreter (3.9).
        self.single: frozenset[int] = frozenset()
        self.lines: list[str] = []
        self.known: dict[int, Spelled] = {}
        self.conditions: dict[str, str] = {}

    def scope(self) -> Printer:
        """A printer for a block inside: it knows what is known here, what it finds is known inside only."""
        inner = Printer(self.terms, self.names, self.places, self.mask_of, self.uses, self.simplified, self.reduce)
        inner.known, inner.conditions = dict(self.known), dict(self.conditions)
        inner.reciprocals, inner.extents, inner.single = self.reciprocals, self.extents, self.single
        return inner

    def factors(self, monomial: Monomial) -> list[str]:
        """The variables whose product ``monomial`` is."""
        sizes = [atom for atom in monomial if isinstance(atom, Symbol)]
        found = []
        for atom in monomial:
            if isinstance(atom, Lane):
                if atom.dim not in self.places:
                    raise CannotGenerate("an index that runs through several axes at once")
                found.append(self.places[atom.dim])
            elif isinstance(atom, Opaque) and atom.key in self.terms.loaded:
                found.append(wrapped(self.spell(self.terms.loaded[atom.key]), 9))
            elif not isinstance(atom, Symbol):
                raise CannotGenerate(f"an index that holds {atom}")
        return [*found, self.names.size(*sizes)] if sizes else found  # last: what is wide already is multiplied

    def expression(self, expr: Expr) -> Spelled:
        return expression(self.simplified(expr), self.factors, "tl.")

    def spell(self, term: Term) -> Spelled:
        """``term`` as an expression; lines that it needs are written before."""
        if id(term) in self.known:
            return self.known[id(term)]
        if term.op in ("reduce", "scan", "product") and self.reduce is not None:
            self.reduce(self, term)
            return self.known[id(term)]
        spelled = self._spell(term)
        if term.op == "place" and len(spelled[0]) > _SHORT // 2 and self.uses.get(id(term), 2) > 1:
            return self.bind(term, spelled[0], "count")
        if term.op in ("number", "place") or (
            self.uses.get(id(term), 2) < 2 and len(spelled[0]) <= _SHORT and term.op != "load" and not term.name
        ):
            if term.op == "number":
                self.known[id(term)] = spelled
            return spelled
        return self.bind(term, spelled[0])

    def bind(self, term: Term, text: str, wish: str = "") -> Spelled:
        """``term`` as a variable."""
        if text.isidentifier() and text in self.names.taken:
            self.known[id(term)] = (text, 9)
            return self.known[id(term)]
        self.known[id(term)] = (self.bind_text(text, wish or term.name or _WISHES.get(term.op, term.op)), 9)
        return self.known[id(term)]

    def bind_text(self, text: str, wish: str) -> str:
        """``text`` as a variable."""
        name = self.names.new(wish)
        self.lines.append(f"{name} = {text}")
        return name

    def _spell(self, term: Term) -> Spelled:
        if term.op == "number":
            value = term.number
            if isinstance(value, Expr):
                return self.expression(value)
            return self.names.number(value, term.dtype)
        if term.op == "place":
            assert term.address is not None
            return self.expression(term.address)
        if term.op == "load":
            return self.load(term), 9
        if term.op == "choose" and _is_zero_outside(term):
            return self.spell(term.operands[0])
        if term.op == "choose":
            inside = " & ".join(self.bounds(term.bounds)) or "True"
            first, second = (self.spell(one)[0] for one in term.operands)
            return (f"tl.where({inside}, {first}, {second})", 9) if inside != "True" else (first, 0)
        if term.op in ("cast", "narrow"):
            spelled = self.spell(term.operands[0])
            if term.op == "cast":
                return _cast(spelled, term.dtype)
            narrow = dt.find(term.kind)
            assert narrow is not None
            return f"{wrapped(spelled, 9)}.to(tl.{narrow.triton}).to(tl.float32)", 9
        if term.op in ("reduce", "product", "state", "scan", "carried"):
            raise CannotGenerate("a reduction inside another")
        if term.op == "div" and self.reciprocals and term.operands[0].in_columns and not term.operands[1].in_columns:
            # One division for each row, and a multiplication for each element.
            over = self._reciprocal(term.operands[1], term.dtype)
            return operation("mul", [self._converted(one, term) for one in (term.operands[0], over)], term.dtype)
        if term.op in _JOINED and len({one.op == "number" or bool(one.lanes) for one in term.operands}) == 2:
            # Triton's interpreter takes a condition without lanes for floats where it is spread over those of another one.
            single, tile = (self.spell(one)[0] for one in sorted(term.operands, key=lambda one: bool(one.lanes)))
            return f"tl.where({single}, {_JOINED[term.op].format(tile)})", 9
        operands = [self._converted(one, term) for one in term.operands]
        if term.op in REPEATS and operands[0][1] < 9:
            operands[0] = self.bind(term.operands[0], operands[0][0])
        return operation(term.op, operands, term.dtype)

    def _reciprocal(self, term: Term, dtype: Dtype) -> Term:
        if term.op == "number" and type(term.number) in (int, float) and term.number:
            return self.terms.new("number", dtype, number=1.0 / term.number)
        return self.terms.new("reciprocal", dtype, (term,))

    def _converted(self, operand: Term, term: Term) -> Spelled:
        """``operand`` as arithmetic of the result's type takes it."""
        if operand.op == "number" and not isinstance(operand.number, Expr):
            return self.names.number(operand.number, _number_type(operand, term))
        spelled = self.spell(operand)
        if (
            term.dtype.is_float
            and term.op != "of_bits"
            and not operand.dtype.is_float
            and operand.dtype.kind != "bool"
            and operand.op not in ("number", "place")
        ):
            return _cast(spelled, term.dtype)
        if term.dtype.is_float and operand.op == "place" and term.op not in _COMPARISONS:
            return _cast(spelled, term.dtype)
        return spelled

    def load(self, term: Term, raw: bool = False) -> str:
        """A load, converted to what is computed in unless ``raw``."""
        assert term.address is not None
        address = self.expression(term.address)[0]
        conditions = [self.mask_of(term.lanes), *self.bounds(term.bounds)]
        mask = " & ".join(c for c in conditions if c)
        if term.bounds and mask and self.terms.lanes_of(term.address) <= self.single:
            address = f"tl.where({mask}, {address}, 0)"  # one place, under the mask of a tile
        base = f"{term.buffer}_ptr"
        pointer = base if address == "0" else f"{base} + {address}"
        zero = "0.0" if term.dtype.is_float else "False" if term.dtype.kind == "bool" else "0"
        guard = f", mask={mask}, other={zero}" if mask else ""
        convert = "" if raw or term.kind == str(term.dtype) else f".to(tl.{term.dtype.triton})"
        if term.dtype.kind == "bool":
            convert = ".to(tl.int1)"
        return f"tl.load({pointer}{guard}){convert}"

    def bounds(self, bounds: Bounds) -> list[str]:
        """The conditions of ``bounds`` that do not hold of themselves, as variables."""
        found = []
        for low, place, high in bounds:
            at = self.expression(place)[0]
            if self.single and lanes_of((place,)) <= self.single:
                at = f"tl.full((1, 1), {at}, dtype=tl.int64)"
            if not (place - low).is_natural:
                found.append(f"{at} >= {self.expression(low)[0]}")
            if high is not None and not self._below(place, high):
                found.append(f"{at} < {self.expression(high)[0]}")
        for text in found:
            if text not in self.conditions:
                self.conditions[text] = self.names.new("inside")
                self.lines.append(f"{self.conditions[text]} = {text}")
        return [self.conditions[text] for text in dict.fromkeys(found)]

    def _below(self, place: Expr, high: Expr) -> bool:
        """Whether ``place`` is below ``high`` wherever the masks of its lanes hold."""
        lanes = [atom for atom in place.atoms() if isinstance(atom, Lane) and place.coefficient(atom) == 1]
        ends = [self.extents[lane.dim] - Expr.atom(lane) for lane in lanes if lane.dim in self.extents]
        return any((high - place - end).is_natural for end in ends)


def _cast(spelled: Spelled, dtype: Dtype) -> Spelled:
    """``spelled`` as a ``dtype``: a number is written as one, since what Triton folds to a number has no ``.to``."""
    text = spelled[0]
    if text in ("True", "False"):
        return number(text == "True" if not dtype.is_float else float(text == "True"), dtype)
    if text.replace(".", "").lstrip("-").isdigit():
        return number(float(text) if dtype.is_float else int(float(text)), dtype)
    return f"{wrapped(spelled, 9)}.to(tl.{dtype.triton})", 9


def _number_type(operand: Term, term: Term) -> Dtype:
    """The element type that ``operand``, a number, has in ``term``: that of the result, or of what it is compared with."""
    if term.op in _COMPARISONS:
        doubles = any(one.dtype == dt.FLOAT64 for one in term.operands if one.op != "number")
        return dt.FLOAT64 if doubles else dt.FLOAT32 if operand.dtype == dt.FLOAT64 else operand.dtype
    return operand.dtype if term.op == "where" and operand is term.operands[0] else term.dtype


def _is_zero_outside(term: Term) -> bool:
    """Whether the first of two choices is a load that gives the other one, 0, where the choice falls on that."""
    first, second = term.operands
    while first.op in ("cast", "narrow"):
        first = first.operands[0]
    guarded = first.op == "load" and set(term.bounds) <= set(first.bounds)
    return guarded and second.op == "number" and not isinstance(second.number, (Named, Expr)) and second.number == 0


#: What is chosen where one of two conditions that are joined holds, and where it does not.
_JOINED = {"logical_and": "{}, False", "logical_or": "True, {}"}
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_WISHES = {
    "load": "x",
    "mul": "product",
    "add": "total",
    "sub": "difference",
    "div": "ratio",
    "cast": "value",
    "choose": "chosen",
}
