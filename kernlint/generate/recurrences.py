"""How recurrences along the columns are written: places of a tile at once where the update is associative, else one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kernlint.generate.printer import Printer
from kernlint.generate.spelling import extreme
from kernlint.generate.terms import Recurrence, Term, Terms
from kernlint.generate.values import CannotGenerate
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.generate.tile_kernel import TileWriter


class Recurrences:
    """The recurrences of the kernel that ``tile`` writes."""

    def __init__(self, tile: TileWriter) -> None:
        self.tile = tile
        self.all = tile.terms.recurrences
        #: By recurrence and state: how the state is put together, None where its places need one another in turn.
        self.forms = {
            (n, k): _form(tile.terms, one, k) for n, one in enumerate(self.all) for k in range(len(one.carried))
        }
        #: Whether each place waits for the one before it.
        self.in_turn = any(form is None for form in self.forms.values())
        self.backwards = any(one.backwards for one in self.all)
        if self.backwards and not all(one.backwards for one in self.all):
            raise CannotGenerate("recurrences in both directions")
        #: The variables of the states, from the places that are done to those that follow.
        self.states: dict[tuple[int, int], str] = {}
        self._left: list[str] = []

    def begin(self, printer: Printer, terms: Iterable[Term]) -> None:
        """Write before a loop what the states of the recurrences in ``terms`` begin with."""
        seen: set[int] = set()
        self.states, self._left = {}, []
        numbers = sorted({t.number for one in terms for t in one.walk(seen) if t.op == "scan"})
        for number in numbers:
            one = self.all[number]
            for k, (first, before) in enumerate(zip(one.first, one.carried)):
                if before.dtype.kind == "bool":
                    raise CannotGenerate("a recurrence of truth values")
                name = self.tile.names.new("state")
                text = printer.spell(first)[0]
                printer.lines.append(f"{name} = tl.full((ROWS, 1), 0, dtype=tl.{before.dtype}) + {text}")
                self.states[number, k] = name

    def write(self, printer: Printer, term: Term) -> None:
        """Write down ``term``, a state after its update, inside the loop."""
        number, k = term.number, int(term.kind)
        if (number, k) not in self.states:
            raise CannotGenerate("a recurrence that is needed before its loop")
        if self.in_turn:
            self._step(printer, number)
            return
        one, form, state = self.all[number], self.forms[number, k], self.states[number, k]
        assert form is not None
        kind, factor, added = form
        mask = self._mask(printer, one)
        names = self.tile.names
        if kind in ("linear", "reset"):
            assert factor is not None and added is not None
            keep, add = names.new("keep"), names.new("add")
            printer.lines.append(f"{keep} = {_masked(printer, mask, factor, term, '1.0')}")
            printer.lines.append(f"{add} = {_masked(printer, mask, added, term, '0.0')}")
            reverse = ", reverse=True" if one.backwards else ""
            combine = self.tile.helper(kind)
            printer.lines.append(f"{keep}, {add} = tl.associative_scan(({keep}, {add}), 1, {combine}{reverse})")
            whole = f"{add} + {keep} * {state}"
            text = f"tl.where({keep} == 0.0, {add}, {whole})" if kind == "reset" else whole
            printer.bind(term, text, term.name or "state")
        else:
            body = added if kind != "product" else factor
            assert body is not None
            text = _masked(printer, mask, body, term, _NEUTRAL[kind] if term.dtype.is_float else "0")
            reverse = ", reverse=True" if one.backwards else ""
            whole = f"tl.{_SCANS[kind]}({text}, axis=1{reverse})" if kind in _SCANS else \
                f"tl.associative_scan({text}, 1, {self.tile.helper(kind)}{reverse})"  # fmt: skip
            joined = {"sum": f"{whole} + {state}", "product": f"{whole} * {state}"}
            printer.bind(term, joined.get(kind) or extreme(kind, whole, state, term.dtype), term.name or "state")
        name = printer.known[id(term)][0]
        end = "start" if one.backwards else "start + BLOCK - 1"
        zero = "0.0" if term.dtype.is_float else "0"
        self._left.append(f"{state} = tl.sum(tl.where(cols == {end}, {name}, {zero}), axis=1)[:, None]")

    def _step(self, printer: Printer, number: int) -> None:
        """All states of a recurrence at one place."""
        one, names = self.all[number], self.tile.names
        for k, before in enumerate(one.carried):
            printer.known[id(before)] = (self.states[number, k], 9)
        texts = [printer.spell(update)[0] for update in one.update]
        mask = " & ".join(printer.bounds(one.bounds))
        scans = {int(t.kind): t for t in self.tile.all_terms if t.op == "scan" and t.number == number}
        for k, text in enumerate(texts):
            state = self.states[number, k]
            new = f"tl.where({mask}, {text}, {state})" if mask else text
            if k in scans:
                # Kept under its own name: what is stored looks at the state after the update.
                name = names.new(scans[k].name or "state")
                printer.lines.append(f"{name} = {new}")
                printer.known[id(scans[k])] = (name, 9)
            else:
                name = names.new("next_state")
                printer.lines.append(f"{name} = {new}")
            self._left.append(f"{state} = {name}")

    def end(self, printer: Printer) -> None:
        """Write at the end of the loop what is handed on."""
        printer.lines += self._left
        self._left = []

    def _mask(self, printer: Printer, one: Recurrence) -> str:
        lanes = frozenset(lane for before in one.carried for lane in before.lanes)
        parts = [self.tile.mask(lanes), *printer.bounds(one.bounds)]
        return " & ".join(part for part in parts if part)


def _masked(printer: Printer, mask: str, operand: Term, state: Term, other: str) -> str:
    """``operand`` where ``mask`` holds, ``other`` elsewhere: in double precision where the ``state`` is, so that all that is scanned is."""
    is_number = operand.op == "number" and isinstance(operand.number, float)
    text = printer.names.number(operand.number, state.dtype)[0] if is_number else printer.spell(operand)[0]
    widened = state.dtype == dt.FLOAT64 and (is_number or operand.dtype != dt.FLOAT64)
    return f"tl.where({mask}, {text}, {other})" + ".to(tl.float64)" * widened


_SCANS = {"sum": "cumsum", "product": "cumprod"}
_NEUTRAL = {"sum": "0.0", "product": "1.0", "maximum": 'float("-inf")', "minimum": 'float("inf")'}

#: How a state becomes the next: kind, what it is multiplied by and what is added to it.
Form = tuple[str, "Term | None", "Term | None"]


def _form(terms: Terms, one: Recurrence, k: int) -> Form | None:
    """How state ``k`` becomes the next where that can be put together in any order; None where it cannot."""
    before, update = one.carried[k], one.update[k]
    for kind in ("maximum", "minimum"):
        if update.op == kind and update.dtype.is_float:
            rest = [operand for operand in update.operands if operand is not before]
            if len(rest) == 1 and not _holds(rest[0], one.carried):
                return kind, None, rest[0]
    linear = _Linear(terms, one, k)
    found = linear.of(update)
    if found is None:
        return None
    factor, added = found
    if not before.dtype.is_float and not (factor is not None and _is(factor, 1)):
        return None
    if factor is None:
        return None  # made anew at each place: nothing is handed on
    if _is(factor, 1):
        return "sum", None, added if added is not None else terms.new("number", before.dtype, number=0.0)
    if added is None and not linear.resets:
        return "product", factor, None
    added = terms.new("number", before.dtype, number=0.0) if added is None else added
    return "reset" if linear.resets else "linear", factor, added


def _holds(term: Term, states: Sequence[Term]) -> bool:
    wanted = {id(state) for state in states}
    return any(id(t) in wanted for t in term.walk(set()))


def _is(term: Term, number: int) -> bool:
    return (
        term.op == "number"
        and not isinstance(term.number, bool)
        and type(term.number) in (int, float)
        and term.number == number
    )


class _Linear:
    """Terms as ``factor * state + added``; a part is None where it is zero."""

    def __init__(self, terms: Terms, one: Recurrence, k: int) -> None:
        self.terms, self.one, self.before = terms, one, one.carried[k]
        #: Whether a condition leaves nothing of the state, however large it is.
        self.resets = False

    def of(self, term: Term) -> tuple[Term | None, Term | None] | None:
        """None where ``term`` is not of that form."""
        if term is self.before:
            return self.terms.new("number", term.dtype, number=1.0), None
        if not _holds(term, self.one.carried):
            return None, term
        make = getattr(self, f"_{term.op}", None)
        return make(term) if make is not None else None

    def _add(self, term: Term) -> tuple[Term | None, Term | None] | None:
        first, second = (self.of(one) for one in term.operands)
        if first is None or second is None:
            return None
        return self._sum("add", first[0], second[0], term), self._sum("add", first[1], second[1], term)

    def _sub(self, term: Term) -> tuple[Term | None, Term | None] | None:
        first, second = (self.of(one) for one in term.operands)
        if first is None or second is None:
            return None
        return self._sum("sub", first[0], second[0], term), self._sum("sub", first[1], second[1], term)

    def _sum(self, op: str, a: Term | None, b: Term | None, like: Term) -> Term | None:
        if b is None:
            return a
        if a is None:
            return b if op == "add" else self.terms.new("neg", like.dtype, (b,))
        if a.op == b.op == "number" and isinstance(a.number, float) and isinstance(b.number, float):
            total = float(a.number) + float(b.number) if op == "add" else float(a.number) - float(b.number)
            if type(a.number) is float and type(b.number) is float:
                return self.terms.new("number", like.dtype, number=total)
        return self.terms.new(op, like.dtype, (a, b))

    def _mul(self, term: Term) -> tuple[Term | None, Term | None] | None:
        first, second = term.operands
        if _holds(second, self.one.carried):
            first, second = second, first
        found = self.of(first)
        if found is None or _holds(second, self.one.carried):
            return None
        factor, added = (None if one is None else self._times(one, second, term) for one in found)
        return factor, added

    def _times(self, one: Term, other: Term, like: Term) -> Term:
        return other if _is(one, 1) else self.terms.new("mul", like.dtype, (one, other))

    def _div(self, term: Term) -> tuple[Term | None, Term | None] | None:
        found = self.of(term.operands[0])
        if found is None or _holds(term.operands[1], self.one.carried):
            return None
        factor, added = (
            None if one is None else self.terms.new("div", term.dtype, (one, term.operands[1])) for one in found
        )
        return factor, added

    def _neg(self, term: Term) -> tuple[Term | None, Term | None] | None:
        found = self.of(term.operands[0])
        if found is None:
            return None
        factor, added = (None if one is None else self.terms.new("neg", term.dtype, (one,)) for one in found)
        return factor, added

    def _where(self, term: Term) -> tuple[Term | None, Term | None] | None:
        test, *ways = term.operands
        first, second = (self.of(one) for one in ways)
        if first is None or second is None or _holds(test, self.one.carried):
            return None
        self.resets |= (first[0] is None) != (second[0] is None)
        zero = self.terms.new("number", term.dtype, number=0.0)
        factor, added = (
            None if a is None and b is None else self.terms.new("where", term.dtype, (test, a or zero, b or zero))
            for a, b in zip(first, second)
        )
        return factor, added
