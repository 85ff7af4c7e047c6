"""How reductions are written over columns that a program holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.generate.kernel import product_of
from kernlint.generate.printer import Printer
from kernlint.generate.spelling import wrapped
from kernlint.generate.terms import CHUNK, COLUMNS, Term, Terms
from kernlint.generate.values import CannotGenerate
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift

if TYPE_CHECKING:
    from kernlint.generate.tile_kernel import TileWriter

LEAST, _MOST = 'float("-inf")', 'float("inf")'


class Whole:
    """Reductions over columns that are all in the tile."""

    def __init__(self, tile: TileWriter) -> None:
        self.tile = tile

    def over_columns(self, function: str, text: str) -> str:
        return self._reduced(f"tl.{function}({text}, axis=%d)")

    def _reduced(self, call: str) -> str:
        return call % 0 if self.tile.flat else f"{call % 1}[:, None]"

    def extreme(self, term: Term, text: str) -> str:
        """The largest or smallest of ``text``, NaN where one is; sums of exponentials beside it say that themselves."""
        if not term.dtype.is_float or self._is_level(term):
            return self.over_columns(term.kind, text)
        return self._reduced(f"tl.reduce({text}, %d, {self.tile.helper(f'{term.kind}imum')})")

    def _is_level(self, term: Term) -> bool:
        """Whether each result that ``term`` goes into holds the sum of exponentials below it too."""
        total = self.beside(term, "expsum")
        parts = [{id(t) for t in one.term.walk(set())} for one in self.tile.outputs]
        return all(id(total) in part or id(term) not in part for part in parts)

    def body(self, printer: Printer, term: Term, outside: str) -> str:
        """What is reduced, ``outside`` where there are no columns."""
        body = term.operands[0]
        text = printer.spell(body)[0]
        if outside == "0.0" and zero_outside(body, self.tile.region(term)):
            return text
        if outside == "0.0" and not term.dtype.is_float:
            outside = "0"
        return f"tl.where({self.tile.column_masks[self.tile.region(term)]}, {text}, {outside})"

    def reduce(self, printer: Printer, term: Term) -> None:
        """Write ``term`` down; raises :class:`CannotGenerate` where its columns are not all at hand."""
        if term.op == "scan":
            self.tile.recurrences.write(printer, term)
            return
        if term.op == "product":
            self.tile.multiply(printer, term)
            return
        region, kind = self.tile.region(term), term.kind
        if region not in self.tile.column_masks or (region == self.tile.main and self.tile.loops):
            raise CannotGenerate("reductions that need one another")
        body = term.operands[0]
        if kind == "sum":
            printer.bind(term, self.over_columns("sum", self.body(printer, term, "0.0")), term.name or "total")
        elif kind in ("max", "min"):
            printer.bind(term, self.extreme(term, self.body(printer, term, worst(term))), term.name or kind)
        elif kind in PLACES:
            text = printer.spell(term.operands[0])[0]
            best = self.best(printer, term, self.body(printer, term, worst(top_of(self.tile.terms, term))))
            first = first_place(text, best, printer.spell(term.operands[1])[0])
            text = f"tl.where({self.tile.column_masks[region]}, {first}, {NOWHERE})"
            printer.bind(term, self.over_columns("min", text), term.name or kind)
        elif kind == "m2":
            total = self.beside(term, "sum")
            count = wrapped(printer.expression(lift(product_of(term.over))), 7)
            mean = f"{printer.spell(total)[0]} / {count}"
            far = self.tile.names.new("centred")
            text = wrapped(printer.spell(body), 5)
            printer.lines.append(f"{far} = tl.where({self.tile.column_masks[region]}, {text} - {mean}, 0.0)")
            printer.bind(term, self.over_columns("sum", f"{far} * {far}"), "squares")
        elif kind == "expsum":
            top = printer.spell(self.beside(term, "max"))[0]
            low = f"tl.exp({wrapped(printer.spell(body), 5)} - {top})"
            text = f"tl.where({self.tile.column_masks[region]}, {low}, 0.0)"
            printer.bind(term, self.over_columns("sum", text), term.name or "exponentials")
        elif kind == "below":
            top = printer.spell(top_of(self.tile.terms, term))[0]
            text = printer.bind_text(f"{wrapped(printer.spell(body), 5)} - {top}", "below")
            text = f"tl.where({self.tile.column_masks[region]}, tl.exp({text}) * {text}, 0.0)"
            printer.bind(term, self.over_columns("sum", text), term.name or "weighted")
        elif kind == "weighted":
            top = printer.spell(top_of(self.tile.terms, term))[0]
            score, weight = (wrapped(printer.spell(one), 6) for one in term.operands)
            text = f"tl.where({self.tile.column_masks[region]}, tl.exp({score} - {top}) * {weight}, 0.0)"
            printer.bind(term, self.over_columns("sum", text), term.name or "weighted")
        else:
            raise CannotGenerate(f"a reduction {kind}")

    def best(self, printer: Printer, term: Term, text: str) -> str:
        """The extreme whose place ``term`` is, NaN where one is among ``text``."""
        top = top_of(self.tile.terms, term)
        if id(top) not in printer.known:
            made = (
                self._reduced(f"tl.reduce({text}, %d, {self.tile.helper(f'{top.kind}imum')})")
                if top.dtype.is_float
                else self.over_columns(top.kind, text)
            )
            printer.bind(top, made, top.kind)
        return printer.known[id(top)][0]

    def beside(self, term: Term, kind: str) -> Term:
        """The plain reduction of the same body that ``term`` rests on; the one of the kernel where it has it."""
        return self.tile.terms.new("reduce", term.dtype, term.operands, lanes=term.lanes, kind=kind, over=term.over)


#: Reductions to the place of an extreme, and what lies behind all places.
PLACES = ("argmax", "argmin")
NOWHERE = (1 << 31) - 1


def top_of(terms: Terms, term: Term) -> Term:
    """The extreme whose place ``term`` is, or the maximum that the exponentials of it lie below."""
    body, kind = term.operands[0], term.kind.removeprefix("arg") if term.kind in PLACES else "max"
    return terms.new("reduce", body.dtype, (body,), lanes=term.lanes, kind=kind, over=term.over)


def first_place(text: str, best: str, place: str) -> str:
    """The ``place`` of ``text`` where that is ``best``; where ``best`` is NaN, that of a NaN."""
    return f"tl.where(({text} == {best}) | ({text} != {text}), {place}, {NOWHERE})"


def worst(term: Term) -> str:
    """What no extreme ever is unless there is nothing else."""
    if term.dtype in (dt.INT32, dt.INT64):
        half = 1 << (term.dtype.bits - 1)
        return str(-half if term.kind == "max" else half - 1)
    if not term.dtype.is_float:
        raise CannotGenerate("an extreme of integers")
    return LEAST if term.kind == "max" else _MOST


def zero_outside(term: Term, region: int) -> bool:
    """Whether ``term`` is zero where its loads were masked: outside the columns of ``region``."""
    if term.op == "load":
        return any(dim // COLUMNS * COLUMNS == region and dim > CHUNK for dim in term.lanes)
    if term.op in ("square", "abs", "neg", "cast", "narrow", "relu"):
        return zero_outside(term.operands[0], region)
    if term.op == "mul":
        first, second = term.operands
        left, right = (zero_outside(one, region) for one in (first, second))
        return (left and _is_finite(second)) or (right and _is_finite(first))
    if term.op in ("add", "sub", "choose", "where"):
        return all(zero_outside(one, region) for one in term.operands[term.op == "where" :])
    return term.op == "number" and type(term.number) in (int, float) and term.number == 0


def _is_finite(term: Term) -> bool:
    """Whether ``term`` is a number wherever its loads are: no division and no function that could overflow on zero."""
    plain = ("square", "abs", "neg", "cast", "narrow", "mul", "add", "sub", "relu")
    return term.op in ("load", "number") or (term.op in plain and all(map(_is_finite, term.operands)))
