"""Kernels of products whose rows are reduced: tiles of rows that go through the columns, each tile of the product made on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlint.generate.contraction import SUMMED, common_type, fed_text, operand_of
from kernlint.generate.kernel import next_power, product_of
from kernlint.generate.printer import Printer
from kernlint.generate.reduced_products import IN_PARTS, LEAST_ROWS, SMS, WHOLE
from kernlint.generate.reductions import PLACES, zero_outside
from kernlint.generate.spelling import Spelled, wrapped
from kernlint.generate.terms import CHUNK, COLUMNS, Term
from kernlint.generate.tile_kernel import TileWriter
from kernlint.generate.values import lane
from kernlint.workload import Dtype, Expr, Size
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift
from kernlint.workload.synthesis import power_of_two

#: Elements of a tile, with one state beside it and with more; rows of the largest; and columns of a part at least.
_TILE, _WITH_STATES, _ROWS, _PART = 8192, 4096, 128, 512
#: Elements of a row of the operand with the rows, by their bits, up to which a program keeps them.
_HELD = {8: 512, 16: 256, 32: 128}
#: Bytes of the operand with the columns that stages of the loop hold.
_STAGED = 96 * 1024


class ReducedProductWriter(TileWriter):
    """Writes the kernel of ``work``, whose columns are axes of a product."""

    def _beside(self) -> tuple[Sequence[Term], Mapping[int, Sequence[Size]]]:
        product, over, sides = self.work.product, self.work.columns, self.work.sides
        assert product is not None and sides is not None
        places: list[Expr] = [lift(0)] * len(product.shape)
        for first, axes in ((0, (*sides.beside, *sides.rows)), (COLUMNS, sides.columns)):
            for number, axis in enumerate(axes):
                places[axis] = lane(first + number)
        summed = [lane(SUMMED + number) for number in range(len(product.attributes["over"]))]
        made = [operand_of(self.terms, view, [*places, *summed]) for view in product.operands]
        #: That of the rows first.
        self.operands = made if sides.second == 1 else made[::-1]
        self.depth = product_of(product.attributes["over"])
        self.fed, self.option = common_type({one.dtype for one in made}, self.count(self.depth))
        factors = tuple(factor for one in made for _, factor in one.factors)
        kept = range(len(sides.beside) + len(sides.rows))
        lanes = frozenset({*kept, *(COLUMNS + number for number in range(len(over)))})
        self.product = Term("product", dt.FLOAT32, factors, lanes)
        self.terms.accumulators[id(product)] = self.product
        return [one.term for one in self.operands], {SUMMED: product.attributes["over"]}

    # -- shape of the tile ------------------------------------------------------------------------------------------

    def _configure(self) -> None:
        axes = self.axes
        self.main, self.reduces, self.bins = COLUMNS, True, None
        self.row_count = self.count(product_of(extent for _, extent in axes.rows))
        self.column_count = self.count(axes.total(COLUMNS))
        shared = {axes.lane(dim) for dim in self.operands[1].term.lanes}
        own = [one for one in axes.rows if one[0] not in shared]
        inner = max(own, key=lambda one: self.count(one[1]))
        others = [one for one in axes.rows if one is not inner]
        self.inner = inner if others else None
        axes.rows = others or [inner]
        self.flat = False
        self._choose_tile(self.count(inner[1]), self.count(product_of(extent for _, extent in others)))

    def _choose_tile(self, rows: float, others: float) -> None:
        kinds = {term.kind for term in self.reductions}
        high, depth = power_of_two(int(rows)), self.count(self.depth)
        self.rows = max(LEAST_ROWS, min(_ROWS, high))
        parted = kinds <= IN_PARTS and not self._along_columns() and self.column_count >= 2 * _PART
        least = 64 if parted and not self.work.chunks else LEAST_ROWS
        while self.rows > least and -(-rows // self.rows) * others < 2 * SMS:
            self.rows //= 2
        programs = -(-rows // self.rows) * others
        parts = int(min(2 * SMS // programs, self.column_count // _PART))
        self.chunks = parts if parted and not self.work.chunks and programs < SMS and parts > 1 else 0
        states = sum(2 if kind in PLACES else 1 for kind in kinds)
        width = max(16, power_of_two(int(self.column_count)))
        self.loops = bool(self.work.chunks) or self.column_count > WHOLE or self.column_count < 16
        self.columns = min(width, 128, (_TILE if states < 2 else _WITH_STATES) // self.rows) if self.loops else width
        self.num_warps = 8 if self.rows * self.columns > _TILE else 4
        self.holds = self.loops and depth <= _HELD.get(self.fed.bits, 0)
        self.num_stages = 3 if self.fed.bits <= 16 else 2
        step = max(16, power_of_two(int(depth)))
        step = step if self.holds else min(step, {8: 128, 16: 64}.get(self.fed.bits, 32))
        self.constants["BK"] = next_power(self.depth, 16) if self.holds else step
        if not self.loops:
            self.constants["BLOCK"] = next_power(self.axes.total(COLUMNS), 16)
        while self.loops and self.columns > 16 and self.columns * step * self.fed.bits // 8 * self.num_stages > _STAGED:
            self.columns //= 2

    def _along_columns(self) -> bool:
        return any(any(dim >= COLUMNS for dim in one.term.lanes) for one in self.outputs)

    # -- text -------------------------------------------------------------------------------------------------------

    def begin(self, printer: Printer) -> None:
        if self.holds:
            self.held = self._fed(printer, 0, "")

    def multiply(self, printer: Printer, term: Term) -> None:
        name = self.names.new("acc")
        if self.holds:
            printer.lines.append(f"{name} = tl.dot({self.held}, {self._fed(printer, 1, '')}{self.option})")
        else:
            start = self.names.new("first")
            depth = printer.expression(lift(self.depth))[0]
            zeros = f"tl.zeros((ROWS, BLOCK), dtype=tl.{'int32' if self.fed.is_integer else 'float32'})"
            printer.lines += [f"{name} = {zeros}", f"for {start} in range(0, {depth}, BK):"]
            inner = printer.scope()
            first, second = (self._fed(inner, number, f"{start} + ") for number in (0, 1))
            inner.lines.append(f"{name} = tl.dot({first}, {second}, {name}{self.option})")
            printer.lines += [f"    {line}" for line in inner.lines]
        value: Spelled = (f"{name}.to(tl.float32)" if self.fed.is_integer else name, 9)
        for op, factor in (one for operand in self.operands for one in operand.factors):
            value = (f"{value[0]} {'*' if op == 'mul' else '/'} {wrapped(printer.spell(factor), 7)}", 6)
        plain = value[1] == 9 and not self.fed.is_integer
        printer.known[id(term)] = value if plain else (printer.bind_text(value[0], "scores"), 9)

    def _fed(self, printer: Printer, number: int, start: str) -> str:
        """The variable of an operand's tile, of the places of the sum from ``start`` on."""
        inner = printer.scope()
        ks, mask = self.names.new("ks"), self.names.new("k_mask")
        inner.lines.append(f"{ks} = {start}tl.arange(0, BK)[{'None, :' if number == 0 else ':, None'}]{self.wide}")
        inner.lines.append(f"{mask} = {ks} < {wrapped(inner.expression(lift(self.depth)), 5)}")
        self.divide(inner, ks, self.axes.columns[SUMMED])
        self.column_masks[SUMMED] = mask
        text = self._zeroed(inner, self.operands[number].term, self.fed, number, mask)
        del self.column_masks[SUMMED]
        printer.lines += inner.lines
        return printer.bind_text(text, "ab"[number])

    def _zeroed(self, printer: Printer, term: Term, fed: Dtype, number: int, mask: str) -> str:
        """``term`` as a whole tile in the type that is ``fed``, zero where there is nothing to be summed."""
        text = fed_text(printer, term, fed)
        here = {self.axes.lane(dim) for dim in term.lanes}
        if number == 0:
            spread, other = any(dim < CHUNK if self.inner is None else dim == self.inner[0] for dim in here), "row_mask"
        else:
            spread, other = any(COLUMNS <= dim < SUMMED for dim in here), self.column_masks[COLUMNS]
        if spread and zero_outside(term, SUMMED):
            return text
        guard = mask if spread else f"{mask} & {other}"
        made = f"tl.where({guard}, {text}, {'0.0' if fed.is_float else '0'})"
        return made if term.lanes or fed == dt.FLOAT32 else f"{made}.to(tl.{fed})"
