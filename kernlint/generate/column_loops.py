"""Reductions over columns that a program does not hold: loops, once for each level of reductions and once for what is stored along
the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kernlint.generate.axes import Output
from kernlint.generate.kernel import RESERVED, product_of
from kernlint.generate.printer import Printer
from kernlint.generate.reductions import LEAST, PLACES, Whole, first_place, top_of, worst
from kernlint.generate.spelling import extreme, wrapped
from kernlint.generate.terms import CHUNK, COLUMNS, Term
from kernlint.generate.values import CannotGenerate
from kernlint.workload import Expr, Lane
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift

if TYPE_CHECKING:
    from kernlint.generate.tile_kernel import TileWriter

#: Sums that a loop keeps beside a sum of exponentials.
_BESIDE = ("weighted", "below")


class Loop:
    """The main columns of a kernel in a loop, once for each level of reductions and once for what is stored along them."""

    def __init__(self, tile: TileWriter, whole: Whole) -> None:
        self.tile, self.whole = tile, whole
        #: The parts of what a loop has found of a reduction, by the reduction and the name of the part.
        self.states: dict[tuple[int, str], str] = {}
        #: What is to be written down behind the loop that is being written.
        self.last: list[str] = []
        #: What is done behind it when the reductions that it keeps are known.
        self.ends: list[Callable[[], None]] = []

    def write(self, printer: Printer) -> None:
        tile, done = self.tile, set[int]()
        waiting = [term for term in tile.reductions if tile.region(term) == tile.main]
        if tile.work.chunks:
            if any(self._before(term) for term in waiting):
                raise CannotGenerate("reductions that need one another, in parts")
            self._pass(printer, waiting)
            self._store_states(printer)
            return
        rest = [one for one in tile.outputs if self._has_columns(one)]
        ends = self._ends(waiting, rest)
        waiting = [term for term in waiting if term not in ends]
        while waiting:
            ready = [term for term in waiting if self._before(term) <= done]
            if not ready:
                raise CannotGenerate("reductions that need one another")
            self._pass(printer, ready)
            done |= {id(term) for term in ready}
            waiting = [term for term in waiting if id(term) not in done]
        late = [one for one in tile.outputs if one not in rest and any(t in ends for t in one.term.walk(set()))]
        tile.store(printer, [one for one in tile.outputs if one not in rest and one not in late])
        if rest:
            self._spell_rows(printer, [one.term for one in rest])
            tile.recurrences.begin(printer, [one.term for one in rest] + [t for one in ends for t in one.operands])
            updates = [self._to_the_end(printer, term) for term in ends]
            inner = self._open(printer)
            tile.store(inner, rest)
            for update in updates:
                update(inner)
            tile.recurrences.end(inner)
            self._close(printer, inner)
        tile.store(printer, late)

    def _ends(self, waiting: Sequence[Term], rest: Sequence[Output]) -> list[Term]:
        """The states that recurrences leave and that nothing in a loop needs: the loop of what is stored along the columns finds
        them on its way."""
        if not rest:
            return []
        needed = {key for term in waiting for key in self._before(term)}
        needed |= {id(t) for one in rest for t in one.term.walk(set())}
        return [term for term in waiting if term.kind == "last" and id(term) not in needed]

    def _store_states(self, printer: Printer) -> None:
        tile = self.tile
        for output in tile.outputs:
            (term,) = output.term.operands
            name = self.states.get((id(term), output.term.kind))
            value = printer.known[id(term)][0] if name is None else name
            address = printer.expression(output.address)[0]
            mask = "" if tile.flat else ", mask=row_mask"
            printer.lines.append(f"tl.store({output.buffer.name}_ptr + {address}, {value}{mask})")

    def _has_columns(self, output: Output) -> bool:
        lanes = {a.dim for a in output.address.atoms() if isinstance(a, Lane)} | output.term.lanes
        return any(dim >= COLUMNS and self.tile.axes.region(dim) == self.tile.main for dim in lanes)

    def _before(self, term: Term) -> set[int]:
        """The reductions over the main columns that ``term`` needs."""
        seen: set[int] = set()
        inner = (t for operand in term.operands for t in operand.walk(seen) if t.op == "reduce")
        return {id(t) for t in inner if self.tile.region(t) == self.tile.main}

    def _spell_rows(self, printer: Printer, terms: Iterable[Term]) -> None:
        """Write down before a loop what stays the same in it."""
        seen: set[int] = set()
        for term in (t for one in terms for t in one.walk(seen)):
            if not term.in_columns and term.op not in ("number", "place"):
                text = printer.spell(term)[0]
                if id(term) not in printer.known and not text.isidentifier():
                    printer.bind(term, text)

    def _open(self, printer: Printer) -> Printer:
        total = printer.expression(lift(self.tile.axes.total(self.tile.main)))[0]
        first, last = ("chunk * length", "last") if self.tile.work.chunks else ("0", total)
        inner = printer.scope()
        if self.tile.recurrences.backwards:
            printer.lines.append(f"for step in range(0, tl.cdiv({total}, BLOCK)):")
            inner.lines.append(f"start = (tl.cdiv({total}, BLOCK) - 1 - step) * BLOCK")
        else:
            printer.lines.append(f"for start in range({first}, {last}, BLOCK):")
        self.tile.place_columns(inner, self.tile.main, "start")
        return inner

    @staticmethod
    def _close(printer: Printer, inner: Printer) -> None:
        printer.lines += [f"    {line}" for line in inner.lines]
        # What a loop has called its own the next one may call so too.
        assigned = {line.split(" = ")[0] for line in inner.lines if " = " in line}
        outer = {line.split(" = ")[0] for line in printer.lines if not line.startswith(" ")}
        printer.names.taken -= assigned - outer - RESERVED

    def _pass(self, printer: Printer, ready: Sequence[Term]) -> None:
        """One loop over the columns for the reductions that are ``ready``."""
        tile, names = self.tile, self.tile.names
        self._spell_rows(printer, [operand for term in ready for operand in term.operands])
        shape = "(BLOCK,)" if tile.flat else "(ROWS, BLOCK)"
        online = {term.operands for term in ready if term.kind == "expsum"}
        moments = {term.operands for term in ready if term.kind == "m2"}
        tops = {id(top_of(tile.terms, term)) for term in ready if term.kind in PLACES}
        after: list[tuple[Term, str]] = []
        updates: list[Callable[[Printer], None]] = []
        for term in ready:
            if term.kind == "max" and term.operands in online and not tile.work.chunks:
                continue  # which comes with the sum of exponentials
            if id(term) in tops:
                continue  # which comes with its place
            if tile.bins is not None and is_count(term, tile.bins):
                updates.append(self._count(printer, term))
            elif term.kind == "sum" and term.operands in moments and term.dtype == dt.FLOAT32:
                continue  # which comes with the mean
            elif term.kind in ("sum", "max", "min"):
                name = names.new(f"{term.name or term.kind}_acc")
                start = "tl.zeros(" if term.kind == "sum" else "tl.full("
                value = "" if term.kind == "sum" else f"{worst(term)}, "
                printer.lines.append(f"{name} = {start}{shape}, {value}dtype=tl.{term.dtype})")
                updates.append(self._accumulation(term, name))
                after.append(
                    (
                        term,
                        self.whole.extreme(term, name) if term.kind != "sum" else self.whole.over_columns("sum", name),
                    )
                )
            elif term.kind == "expsum":
                weighted = [one for one in ready if one.kind in _BESIDE and one.operands[0] is term.operands[0]]
                updates.append(self._online(printer, term, weighted))
            elif term.kind in _BESIDE and term.operands[:1] in online:
                continue  # which comes with it too
            elif term.kind == "m2":
                updates.append(self._moments(printer, term))
            elif term.kind in PLACES:
                updates.append(self._running(printer, term, shape))
            elif term.kind == "last":
                updates.append(self._to_the_end(printer, term))
            else:
                raise CannotGenerate(f"a reduction {term.kind}")
        tile.recurrences.begin(printer, [operand for term in ready for operand in term.operands])
        inner = self._open(printer)
        for update in updates:
            update(inner)
        tile.recurrences.end(inner)
        self._close(printer, inner)
        printer.lines += self.last
        self.last = []
        for term, text in after:
            printer.bind(term, text, term.name or ("total" if term.kind == "sum" else term.kind))
        for end in self.ends:
            end()
        self.ends = []

    def _accumulation(self, term: Term, name: str) -> Callable[[Printer], None]:
        def update(inner: Printer) -> None:
            if term.kind == "sum":
                inner.lines.append(f"{name} += {self.whole.body(inner, term, '0.0')}")
            else:
                text = self.whole.body(inner, term, worst(term))
                inner.lines.append(f"{name} = {extreme(f'{term.kind}imum', name, text, term.dtype)}")

        return update

    def _running(self, printer: Printer, term: Term, shape: str) -> Callable[[Printer], None]:
        """The extreme so far in each lane of the tile with its place, and the first of the places in the end."""
        top = top_of(self.tile.terms, term)
        best, place = self.tile.names.new(f"best_{top.kind}"), self.tile.names.new(term.name or "place")
        printer.lines += [
            f"{best} = tl.full({shape}, {worst(top)}, dtype=tl.{top.dtype})",
            f"{place} = tl.zeros({shape}, dtype=tl.int32)",  # where nothing is beyond the worst, that is the first
        ]

        def update(inner: Printer) -> None:
            new = inner.bind_text(self.whole.body(inner, top, worst(top)), "candidate")
            better = f"{new} {'>' if top.kind == 'max' else '<'} {best}"
            if top.dtype.is_float:
                better = f"({better}) | (({new} != {new}) & ({best} == {best}))"
            better = inner.bind_text(better, "better")
            at = inner.spell(term.operands[1])[0]
            inner.lines += [
                f"{best} = tl.where({better}, {new}, {best})",
                f"{place} = tl.where({better}, {at}, {place})",
            ]

        def finish() -> None:
            whole = self.whole.best(printer, term, best)
            printer.bind(term, self.whole.over_columns("min", first_place(best, whole, place)), term.name or term.kind)

        self.ends.append(finish)
        return update

    def _count(self, printer: Printer, term: Term) -> Callable[[Printer], None]:
        """How many columns there are of each row, as a histogram of those of a step."""
        assert self.tile.bins is not None
        name, index = self.tile.names.new("counts"), counted_of(term, self.tile.bins)
        assert index is not None
        printer.lines.append(f"{name} = tl.zeros((ROWS, 1), dtype=tl.int32)")

        def update(inner: Printer) -> None:
            total = "last" if self.tile.work.chunks else inner.expression(lift(self.tile.axes.total(self.tile.main)))[0]
            found, beyond = self.tile.names.new("found"), self.tile.names.new("beyond")
            mask = self.tile.column_masks[self.tile.main]
            inner.lines += [
                f"{found} = tl.where({mask}, {inner.spell(index)[0]}, 0).to(tl.int32)",
                f"{beyond} = tl.maximum(start + BLOCK - {wrapped((total, 5), 6)}, 0)",
                f"{name} += tl.histogram(tl.reshape({found}, (BLOCK,)), ROWS)[:, None]",
                f"{name} -= tl.where(row == 0, {beyond}, 0)",
            ]

        text = name if term.dtype == dt.INT32 else f"{name}.to(tl.{term.dtype})"
        printer.known[id(term)] = (text, 9)
        return update

    def _to_the_end(self, printer: Printer, term: Term) -> Callable[[Printer], None]:
        """The state that a recurrence leaves."""
        (body,) = term.operands
        if body.op != "scan":
            raise CannotGenerate("the end of what is no recurrence")

        def update(inner: Printer) -> None:
            inner.spell(body)
            printer.known[id(term)] = (self.tile.recurrences.states[body.number, int(body.kind)], 9)

        return update

    def _row(self, value: str = "0.0") -> str:
        """A number for each row."""
        if self.tile.flat:
            return value
        return f"tl.full((ROWS, 1), {value}, dtype=tl.float32)"

    def _online(self, printer: Printer, term: Term, weighted: Sequence[Term]) -> Callable[[Printer], None]:
        """The sum of exponentials and the maximum together: what was summed so far is scaled when the maximum rises. ``weighted`` are
        sums of the same exponentials, each times something."""
        _refuse_double(term)
        top, total, new = (self.tile.names.new(word) for word in ("top", "total", "new_top"))
        others = [(one, self.tile.names.new("weighted")) for one in weighted]
        printer.lines += [f"{name} = {self._row()}" for _, name in others]
        printer.lines += [f"{top} = {self._row(LEAST)}", f"{total} = {self._row()}"]

        def update(inner: Printer) -> None:
            low, shift = self.tile.names.new("scores"), self.tile.names.new("shift")
            inner.lines.append(f"{low} = {self.whole.body(inner, term, LEAST)}")
            inner.lines.append(f"{new} = tl.maximum({top}, {self.whole.over_columns('max', low)})")
            # Where nothing but minus infinity was met yet there is nothing to subtract.
            inner.lines.append(f"{shift} = tl.where({new} > {LEAST}, {new}, 0.0)")
            scale, above = f"tl.exp({top} - {shift})", f"tl.exp({low} - {shift})"
            if others:
                scale, above = (inner.bind_text(text, wish) for text, wish in ((scale, "scale"), (above, "above")))
            for one, name in others:
                before, weight = name, ""
                if one.kind == "weighted":
                    weight = wrapped(inner.spell(one.operands[1]), 6)
                else:  # what was summed lay below another maximum
                    before = f"({name} + {total} * tl.where({top} > {LEAST}, {top} - {shift}, 0.0))"
                    weight = f"tl.where({self.tile.column_masks[self.tile.main]}, {low} - {shift}, 0.0)"
                part = self.whole.over_columns("sum", f"{above} * {weight}")
                inner.lines.append(f"{name} = {before} * {scale} + {part}")
            inner.lines.append(f"{total} = {total} * {scale} + {self.whole.over_columns('sum', above)}")
            inner.lines.append(f"{top} = {new}")

        printer.known[id(term)] = (total, 9)
        printer.known |= {id(one): (name, 9) for one, name in others}
        if not self.tile.work.chunks:
            printer.known[id(self.whole.beside(term, "max"))] = (top, 9)
        self.states |= {(id(term), "top"): top, (id(term), "total"): total}
        return update

    def _moments(self, printer: Printer, term: Term) -> Callable[[Printer], None]:
        """The sum of squared deviations: each lane of the tile keeps its own mean as Welford (1962) does, and in the end they are put
        together as Chan, Golub and LeVeque do (1983)."""
        _refuse_double(term)
        tile, names = self.tile, self.tile.names
        mean, squares = names.new("mean_acc"), names.new("squares_acc")
        shape = "(BLOCK,)" if tile.flat else "(ROWS, BLOCK)"
        printer.lines += [f"{name} = tl.zeros({shape}, dtype=tl.float32)" for name in (mean, squares)]
        first = "chunk * length" if tile.work.chunks else ""

        def update(inner: Printer) -> None:
            share, far = names.new("share"), names.new("centred")
            text = wrapped(inner.spell(term.operands[0]), 5)
            mask = tile.column_masks[tile.region(term)]
            inner.lines += [
                f"{share} = 1.0 / ({f'(start - {first})' if first else 'start'} // BLOCK + 1.0)",
                f"{far} = tl.where({mask}, {text} - {mean}, 0.0)",
                f"{mean} += {far} * {share}",
                f"{squares} += {far} * tl.where({mask}, {text} - {mean}, 0.0)",
            ]

        total = printer.expression(lift(product_of(term.over)))[0]
        here = f"last - {first}" if first else total
        count = f"tl.maximum({here}, 1)" if first else wrapped((total, 5), 7)
        lanes = "tl.arange(0, BLOCK)" if tile.flat else "tl.arange(0, BLOCK)[None, :]"
        seen, whole, all_squares = names.new("seen"), names.new("mean"), names.new("squares")
        self.last += [
            # How often a lane of the tile met an element.
            f"{seen} = tl.maximum({here} - {lanes} + (BLOCK - 1), 0) // BLOCK",
            f"{whole} = {self.whole.over_columns('sum', f'{mean} * {seen}')} / {count}",
            f"{mean} -= {whole}",
            f"{all_squares} = {self.whole.over_columns('sum', f'{squares} + {seen} * {mean} * {mean}')}",
        ]
        printer.known[id(term)] = (all_squares, 9)
        printer.known[id(self.whole.beside(term, "sum"))] = (f"{whole} * {count}", 6)
        self.states |= {(id(term), "mean"): whole, (id(term), "m2"): all_squares}
        return update


def counted_of(term: Term, row: int) -> Term | None:
    """What the sum ``term`` holds against the places of the axis ``row``: its elements count where they are equal."""
    (body,) = term.operands
    while body.op == "cast":
        (body,) = body.operands
    if term.kind != "sum" or body.op != "where" or body.operands[0].op != "eq":
        return None
    first, second = body.operands[0].operands
    is_place = second.op == "place" and second.address == Expr.atom(Lane(row))
    return first if is_place and row not in first.lanes else None


def is_count(term: Term, row: int) -> bool:
    """Whether ``term`` counts the elements that are equal to the places of the axis ``row``, of those of whole columns."""
    index = counted_of(term, row)
    if index is None or any(dim < CHUNK for dim in index.lanes if dim == row):
        return False
    body = term.operands[0]
    while body.op == "cast":
        (body,) = body.operands
    _, one, none = body.operands
    return all(t.op == "number" and t.number == n for t, n in ((one, 1), (none, 0)))


def _refuse_double(term: Term) -> None:
    """Raise :class:`CannotGenerate` where ``term`` is kept in float32 from step to step and is a double."""
    if term.dtype == dt.FLOAT64:
        raise CannotGenerate(f"a reduction {term.kind} of float64 step by step")
