"""Kernels without a matrix product: streams, rows that are reduced in registers or in a loop, tiles that turn rows into columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.axes import Axes, Axis, Output, flat_lane
from kernlint.generate.kernel import RESERVED, Kernel, NextPower, function_text, next_power, product_of
from kernlint.generate.plan import Work
from kernlint.generate.printer import Names, Printer
from kernlint.generate.recurrences import Recurrences
from kernlint.generate.reductions import Loop, Whole, counted_of, is_count
from kernlint.generate.spelling import wrapped
from kernlint.generate.terms import CHUNK, COLUMNS, Buffer, Term, Terms
from kernlint.generate.values import CannotGenerate, Value
from kernlint.workload import Lane, Size
from kernlint.workload.expr import Atom, lift
from kernlint.workload.synthesis import power_of_two

#: Elements of a row up to which a program holds it in registers.
HELD_ROW = 8192
#: Elements of a tile where nothing asks for more, and in a step of a loop over long rows.
_TILE, _STEP = 2048, 4096
#: Elements of all tiles of a program that registers hold.
_REGISTERS = 1 << 15
#: Programs that keep a large GPU busy.
_BUSY = 132
#: Columns of a reduction, and elements in all, from which on few rows are worth reducing in parts.
_LONG, _MUCH = 4096, 1 << 18
#: Rows of a program that goes through a recurrence place by place.
_IN_TURN = 128
#: Which program this is, in a type that addresses do not overflow.
_PROGRAM = "tl.program_id(0).to(tl.int64)"


class TileWriter:
    """Writes the kernel of ``work``; ``buffer_of`` tells where values lie, ``sizes`` are numbers for open sizes."""

    def __init__(
        self, work: Work, name: str, buffer_of: Callable[[Value], Buffer | None], sizes: Mapping[Atom, float]
    ) -> None:
        own = {id(root.target) for root in work.roots}
        self.work, self.name, self.sizes = work, name, sizes
        self.terms = Terms(lambda value: None if id(value) in own else buffer_of(value), work.columns)
        self.outputs: list[Output] = []
        for root in work.roots:
            buffer = buffer_of(root.target)
            assert buffer is not None
            address = lift(0)
            for place, shift, stride in zip(root.index, root.shift, buffer.strides):
                address = address + (place + shift) * stride
            self.outputs.append(Output(self.terms.at(root.value, root.index), buffer, address))
        self.names = Names()
        columns = {first: over for over, first in self.terms.regions.items()}
        roots = [*(one.term for one in self.outputs), *self.terms.loaded.values()]
        self.axes = Axes(work.rows, columns, roots, [one.address for one in self.outputs], self.terms.loaded)
        self.all_terms = self._all_terms()
        self.reductions = [t for t in self.all_terms if t.op == "reduce"]
        self.helpers: dict[str, str] = {}
        self.recurrences = Recurrences(self)
        self.axes.merge()
        if not self.reductions and not self.recurrences.all:
            self.axes.merge_rows_into_columns()
        self.uses: dict[int, int] = {}
        for term in self.all_terms:
            for operand in term.operands:
                self.uses[id(operand)] = self.uses.get(id(operand), 0) + 1
        for output in self.outputs:
            self.uses[id(output.term)] = self.uses.get(id(output.term), 0) + 1
        #: The condition under which the columns of a region exist, by its first lane, and the name of its block.
        self.column_masks: dict[int, str] = {}
        self.blocks: dict[int, str] = {}
        self._configure()

    def _all_terms(self) -> list[Term]:
        seen: set[int] = set()
        found = [t for one in self.outputs for t in one.term.walk(seen)]
        return found + [t for one in list(self.terms.loaded.values()) for t in one.walk(seen)]

    def count(self, size: Size) -> float:
        value = lift(size).evaluate(self.sizes)
        if value is None:
            raise CannotGenerate("an extent that is not known")
        return float(value)

    # -- shape of the tile ------------------------------------------------------------------------------------------

    def _configure(self) -> None:
        axes = self.axes
        regions = [first for first, lanes in axes.columns.items() if lanes]
        widths = {first: self.count(axes.total(first)) for first in regions}
        #: The region that is looped over or dealt out to programs; the others are whole in each program.
        self.main = max(
            regions, key=lambda first: (first == COLUMNS and bool(self.work.columns), widths[first]), default=0
        )
        self.row_count = self.count(product_of(extent for _, extent in axes.rows))
        self.column_count = widths.get(self.main, 1.0)
        self.reduces = bool(self.recurrences.all) or any(self.region(term) == self.main for term in self.reductions)
        for first, width in widths.items():
            if first != self.main and width > HELD_ROW // 2:
                raise CannotGenerate("reductions over two long axes in one kernel")
        #: The row axis along which tiles reach, where the others have a grid axis of their own: what does not depend on it is then
        #: the same for a whole tile.
        self.inner: Axis | None = None
        #: The row axis of places among which the elements of the columns are dealt out: a tile has all of it.
        self.bins: int | None = None
        if axes.rows:
            # Neighbouring rows of a tile shall be neighbours in memory.
            across = axes.contiguous(axes.rows)
            best = max(range(len(axes.rows)), key=lambda i: across[axes.rows[i][0]])
            bins = self._bins() if self.reduces and not across[axes.rows[best][0]] else None
            best = best if bins is None else bins
            if across[axes.rows[best][0]] or bins is not None:
                axes.rows.append(axes.rows.pop(best))
                if self.reduces and len(axes.rows) > 1:
                    self.inner = axes.rows[-1]
                self.bins = axes.rows[-1][0] if bins is not None else None
        self._extents()
        if self.inner is not None:
            axes.rows.pop()
        elements = self.rows * self.columns
        # Conditions on a row that is a number do not mix with masks, which are blocks, in Triton's interpreter (3.9).
        guarded = any(term.bounds for term in self.all_terms)
        self.flat = self.rows == 1 and self.inner is None and not guarded and not self.recurrences.all
        self.num_warps = 4 if elements <= 2048 else 8 if elements <= 8192 else 16

    def _extents(self) -> None:
        """Rows and columns of a tile, and whether the columns are looped over."""
        axes, width = self.axes, power_of_two(int(self.column_count))
        down = max(axes.contiguous(axes.rows).values(), default=0)
        along = max(axes.contiguous(axes.columns[self.main][-1:]).values(), default=0) if self.main else 0
        reach = self.count(self.inner[1]) if self.inner is not None else self.row_count
        high = power_of_two(int(reach))
        if self.recurrences.in_turn:
            self.rows, self.columns = min(_IN_TURN, high), 1
            while self.rows > 32 and self.row_count / self.rows < _BUSY:
                self.rows //= 2
        elif self.bins is not None:
            self.rows, self.columns = high, min(width, _STEP if self._counts() else max(16, 2 * _TILE // high))
        elif down and self.column_count > 1:
            self.rows, self.columns = min(32 if along else 64, high), min(width, 64)
        elif self.recurrences.all:
            self.columns = min(width, _TILE // 2)
            self.rows = max(1, min(_TILE // self.columns, high))
        elif self.reduces:
            held = width <= HELD_ROW and width * self._tiles() <= _REGISTERS and (self._again() or width <= _TILE)
            step = _STEP if self._tiles() <= 4 else _STEP // 2
            self.columns = width if held and not self.work.chunks else min(step, width)
            self.rows = max(1, min(_TILE // self.columns, high))
            while self.rows > 1 and self.row_count / self.rows < _BUSY:
                self.rows //= 2
        else:
            self.columns = min(width, 1024)
            self.rows = min(high, max(1, _TILE // 2 // self.columns))
        self.loops = self.reduces and (self.columns < width or bool(self.work.chunks or self.recurrences.all))
        if self.loops:
            self.columns = min(self.columns, width)

    def _bins(self) -> int | None:
        """The row axis that nothing lies along: its places are held against elements of the columns. By its number."""
        for number, (dim, _) in enumerate(self.axes.rows):
            lying = any(
                Lane(dim) in t.address.atoms() for t in self.all_terms if t.op == "load" and t.address is not None
            )
            if not lying and any(counted_of(term, dim) is not None for term in self.reductions):
                return number
        return None

    def _counts(self) -> bool:
        """Whether all that is dealt out is counted."""
        return self.bins is not None and all(is_count(term, self.bins) for term in self.reductions)

    def _tiles(self) -> int:
        """How many tiles of elements a program holds at once, about: those that it loads."""
        return sum(term.op == "load" and self._in_main(term) for term in self.all_terms)

    def _in_main(self, term: Term) -> bool:
        return any(dim >= COLUMNS and self.axes.region(dim) == self.main for dim in term.lanes)

    def _again(self) -> bool:
        """Whether elements are needed again once they are reduced."""
        first = [t for t in self.reductions if self.region(t) == self.main]
        inner = {id(t) for one in first for o in one.operands for t in o.walk(set()) if t.op == "reduce"}
        if any(id(t) in inner for t in first) or any(t.kind in ("m2", "expsum") for t in first):
            return True
        return any(self._in_main(one.term) for one in self.outputs)

    @property
    def chunks(self) -> int:
        """Into how many parts the reductions of this kernel had better be cut, 0 where they need not be."""
        programs = self.row_count / self.rows
        much = self.column_count >= _LONG and self.row_count * self.column_count >= _MUCH
        if self.work.chunks or self.recurrences.all or not self.reduces or not much or programs >= _BUSY:
            return 0
        return max(2, int(min(2 * _BUSY / programs, self.column_count / (_LONG / 2))))

    def region(self, term: Term) -> int:
        """The first lane of the columns that a reduction goes over."""
        return self.terms.regions[term.over]

    # -- text -------------------------------------------------------------------------------------------------------

    def write(self) -> Kernel:
        names = self.names
        names.taken |= (
            {f"{one.buffer.name}_ptr" for one in self.outputs} | {f"{n}_ptr" for n in self.terms.buffers} | RESERVED
        )
        whole = Whole(self)
        printer = Printer(self.terms, names, {}, self.mask, self.uses, self.axes.spelled, whole.reduce)
        self._place_rows(printer)
        for first, lanes in self.axes.columns.items():
            if lanes and first != self.main:
                self.place_columns(printer, first, "")
        if self.loops:
            Loop(self, whole).write(printer)
        else:
            if self.main:
                axis = 1 if self.axes.rows else 0
                self.place_columns(printer, self.main, "" if self.reduces else f"tl.program_id({axis}) * BLOCK")
            self.store(printer, self.outputs)
        return self._kernel(printer.lines)

    def _place_rows(self, printer: Printer) -> None:
        rows = self.axes.rows
        if self.inner is not None:
            printer.lines.append(f"outer = {_PROGRAM}")
            self._divide(printer, "outer", rows)
            printer.lines.append("row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]")
            printer.lines.append(f"row_mask = row < {wrapped(printer.expression(lift(self.inner[1])), 5)}")
            printer.places[self.inner[0]] = "row"
        elif rows:
            if self.flat:
                printer.lines.append(f"row = {_PROGRAM}")
            else:
                total = wrapped(printer.expression(lift(product_of(n for _, n in rows))), 5)
                printer.lines.append(f"row = {_PROGRAM} * ROWS + tl.arange(0, ROWS)[:, None]")
                printer.lines.append(f"row_mask = row < {total}")
            self._divide(printer, "row", rows)
        if self.work.chunks:
            total = printer.expression(lift(self.axes.total(self.main)))[0]
            printer.lines += [
                f"chunk = tl.program_id({2 if self.inner is not None else 1 if rows else 0})",
                f"length = tl.cdiv({total}, CHUNKS)",
                f"last = tl.minimum((chunk + 1) * length, {total})",
            ]
            printer.names.taken |= {"length"}
            printer.places[CHUNK] = "chunk"

    def _divide(self, printer: Printer, flat: str, lanes: Sequence[Axis]) -> None:
        """The places along ``lanes`` of a flat index."""
        if len(lanes) == 1:
            printer.places[lanes[0][0]] = flat
            return
        rest = flat
        printer.places[flat_lane(lanes)] = flat
        for number, (dim, extent) in reversed(list(enumerate(lanes))):
            name = self.names.new("ijklmno"[number % 7])
            if number == 0:
                printer.lines.append(f"{name} = {rest}")
            else:
                size = wrapped(printer.expression(lift(extent)), 7)
                printer.lines.append(f"{name} = {rest if rest == flat else f'({rest})'} % {size}")
                rest = f"{rest} // {size}"
            printer.places[dim] = name

    def place_columns(self, printer: Printer, first: int, start: str) -> None:
        """The columns of a region in a block that begins at ``start``; all of them where that is empty."""
        main = first == self.main
        block = "BLOCK" if main else self.blocks.setdefault(first, f"BLOCK_{len(self.blocks) + 2}")
        name = "cols" if main else self.names.new("parts")
        mask = ("mask" if self.flat else "col_mask") if main else self.names.new(f"{name}_mask")
        reach = f"tl.arange(0, {block})" if self.flat else f"tl.arange(0, {block})[None, :]"
        text = f"{start} + {reach}" if start else reach
        printer.lines.append(f"{name} = ({text}).to(tl.int64)" if self._is_apart(first) else f"{name} = {text}")
        chunked = main and self.work.chunks
        total = "last" if chunked else wrapped(printer.expression(lift(self.axes.total(first))), 5)
        printer.lines.append(f"{mask} = {name} < {total}")
        self._divide(printer, name, self.axes.columns[first])
        self.column_masks[first] = mask

    def _is_apart(self, first: int) -> bool:
        """Whether neighbouring columns lie so far apart somewhere that 32 bits may not count it."""
        addresses = [self.axes.simplified(address) for address in self.axes.addresses]
        steps = [a.coefficient(Lane(dim)) for a in addresses for dim, _ in self.axes.columns[first]]
        return self.loops and any(step is None or step.value is None for step in steps)

    def mask(self, lanes: frozenset[int]) -> str:
        """The condition under which places on ``lanes`` exist; empty where they always do."""
        parts = []
        here = {self.axes.lane(dim) for dim in lanes}
        if not self.flat and any(dim < CHUNK if self.inner is None else dim == self.inner[0] for dim in here):
            parts.append("row_mask")
        for first, columns in self.axes.columns.items():
            if any(dim in here for dim, _ in columns) and first in self.column_masks:
                parts.append(self.column_masks[first])
        return " & ".join(parts)

    def store(self, printer: Printer, outputs: Sequence[Output]) -> None:
        for output in outputs:
            term = output.term
            if term.op == "narrow" and term.kind == str(output.buffer.value.dtype):
                term = term.operands[0]  # which storing does
            value = printer.spell(term)[0]
            lanes = frozenset(a.dim for a in self.axes.simplified(output.address).atoms() if isinstance(a, Lane))
            address = printer.expression(output.address)[0]
            pointer = f"{output.buffer.name}_ptr" if address == "0" else f"{output.buffer.name}_ptr + {address}"
            mask = self.mask(lanes)
            if not self.flat and not mask:
                raise CannotGenerate("a result of one element from a tile")
            printer.lines.append(f"tl.store({pointer}, {value}{f', mask={mask}' if mask else ''})")

    def _kernel(self, body: Sequence[str]) -> Kernel:
        text = "\n".join(body)
        rows = self.axes.rows
        constants: dict[str, int | NextPower] = {}
        if not self.flat:
            whole = dict(self.axes.rows).get(self.bins) if self.inner is None else self.inner[1]
            constants["ROWS"] = next_power(whole) if self.bins is not None and whole is not None else self.rows
        if self.main:
            total = self.axes.total(self.main)
            constants["BLOCK"] = next_power(total) if self.reduces and not self.loops else self.columns
        for first, block in self.blocks.items():
            constants[block] = next_power(self.axes.total(first))
        grid: list[tuple[tuple[Size, str], ...]] = []
        if rows:
            cut = "" if self.flat or self.inner is not None else "ROWS"
            grid.append(((product_of(n for _, n in rows), cut),))
        if self.inner is not None:
            grid.append(((self.inner[1], "ROWS"),))
        if self.work.chunks:
            constants["CHUNKS"] = self.work.chunks
            grid.append(((self.work.chunks, ""),))
        elif self.main and not self.reduces:
            grid.append(((self.axes.total(self.main), "BLOCK"),))
        buffers = [(buffer, False) for buffer in self.terms.buffers.values() if f"{buffer.name}_ptr" in text]
        buffers += [(one, True) for one in {one.buffer.name: one.buffer for one in self.outputs}.values()]
        parameters = [f"{buffer.name}_ptr" for buffer, _ in buffers]
        parameters += [*self.names.sizes.values(), *(name.lower() for name in self.names.numbers)]
        parameters += [f"{name}: tl.constexpr" for name in constants]
        source = function_text(self.name, parameters, body)
        return Kernel(self.name, source, tuple(grid) or (((1, ""),),), tuple(buffers), self.names.sizes, self.names.numbers,
                      constants, self.num_warps, helpers=self.helpers)  # fmt: skip
