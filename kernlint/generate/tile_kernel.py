"""Kernels without a matrix product: streams, rows that are reduced in registers or in a loop, tiles that turn rows into columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.axes import Axes, Axis, Output, flat_lane
from kernlint.generate.column_loops import Loop
from kernlint.generate.forms import bins_of, form_of, repeats, shared_row
from kernlint.generate.helpers import helper
from kernlint.generate.kernel import (
    RESERVED,
    WIDE,
    Kernel,
    NextPower,
    arguments,
    check_in_place,
    count_at,
    function_text,
    is_large,
    next_power,
    product_of,
)
from kernlint.generate.parts import GRAIN
from kernlint.generate.printer import Names, Printer
from kernlint.generate.recurrences import Recurrences
from kernlint.generate.reductions import PLACES, Whole
from kernlint.generate.spelling import wrapped
from kernlint.generate.terms import CHUNK, COLUMNS, Buffer, Term, Terms
from kernlint.generate.tiles import HELD_ROW, Tiles
from kernlint.generate.values import CannotGenerate, Value
from kernlint.generate.weighted import beside
from kernlint.generate.work import Work
from kernlint.records import replace
from kernlint.workload import Lane, Size
from kernlint.workload.expr import Atom, lift

#: Operations that a last bit decides the outcome of.
_ROUNDING = frozenset({"round", "floor", "ceil", "trunc", "sign", "lt", "le", "gt", "ge", "eq", "ne"})
#: Columns up to which they are stored beside what is reduced over more.
_BESIDE = 8
#: How elements get to memory, by how they are scattered.
_STORES = {"": "store", "put": "store", "sum": "atomic_add", "max": "atomic_max"}
#: Which program this is, in a type that addresses do not overflow.
_PROGRAM = "tl.program_id(0).to(tl.int64)"


class TileWriter:
    """Writes the kernel of ``work``; ``buffer_of`` tells where values lie, ``sizes`` are numbers for open sizes,
    ``tiles`` what it may choose from."""

    def __init__(
        self,
        work: Work,
        name: str,
        buffer_of: Callable[[Value], Buffer | None],
        sizes: Mapping[Atom, float],
        tiles: Tiles,
    ) -> None:
        own = {id(root.target) for root in work.roots}
        self.work, self.name, self.sizes, self.tiles = work, name, sizes, tiles
        self.terms = Terms(lambda value: None if id(value) in own else buffer_of(value), work.columns)
        #: What else the kernel makes, and the extents of the axes that it alone has, by their first lanes.
        self.beside, self.others = self._beside()
        self.outputs: list[Output] = []
        for root in work.roots:
            buffer = buffer_of(root.target)
            assert buffer is not None
            places = [place + shift for place, shift in zip(root.index, root.shift)]
            if root.at:
                places = self.terms.picked_places(root.at, root.target, root.index)
            scattered = root.target.attributes["kind"] if root.at else ""
            self.outputs.append(
                Output(self.terms.at(root.value, root.index), buffer, buffer.address(places), scattered)
            )
        # A part would hold its sums against its own maximum, not against that of all columns.
        whole = not work.chunks and not self.terms.recurrences
        if whole and any(self._extent(over) > HELD_ROW for over in self.terms.regions):
            made: dict[int, Term] = {}
            self.outputs = [replace(one, term=beside(self.terms, one.term, made)) for one in self.outputs]
        self.names = Names()
        columns = {**{first: over for over, first in self.terms.regions.items()}, **self.others}
        roots = [*(one.term for one in self.outputs), *self.terms.loaded.values(), *self.beside]
        self.axes = Axes(work.rows, columns, roots, [one.address for one in self.outputs], self.terms.loaded)
        self.all_terms = self._all_terms()
        for output in self.outputs:
            check_in_place(self.all_terms, output.buffer.name, None if output.scattered else output.address)
        self.reductions = [t for t in self.all_terms if t.op == "reduce"]
        self.helpers: dict[str, str] = {}
        #: Constants of the kernel beside the extents of its tile, and stages of its loop, None for Triton's own.
        self.constants: dict[str, int | NextPower] = {}
        self.num_stages: int | None = None
        self.recurrences = Recurrences(self)
        if not self.recurrences.all and not any(one.kind in PLACES for one in self.reductions):
            for first in {self.region(one) for one in self.reductions}:
                self.axes.nearest_last(first, self.count)
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

    def _beside(self) -> tuple[Sequence[Term], Mapping[int, Sequence[Size]]]:
        return (), {}

    def multiply(self, printer: Printer, term: Term) -> None:
        """Write down the product ``term`` of a tile."""
        raise CannotGenerate("a product inside another kernel")

    def begin(self, printer: Printer) -> None:
        """Write down what is done once a program, when its rows are known."""

    def _all_terms(self) -> list[Term]:
        seen: set[int] = set()
        found = [t for one in (*(output.term for output in self.outputs), *self.beside) for t in one.walk(seen)]
        return found + [t for one in list(self.terms.loaded.values()) for t in one.walk(seen)]

    def count(self, size: Size) -> float:
        return count_at(size, self.sizes)

    @property
    def wide(self) -> str:
        """What makes places so wide that the addresses of a tensor do not overflow."""
        buffers = [*self.terms.buffers.values(), *(one.buffer for one in self.outputs)]
        return WIDE if any(is_large(self.count(product_of(one.value.shape))) for one in buffers) else ""

    def _extent(self, over: Sequence[Size]) -> float:
        return self.count(product_of(over))

    # -- shape of the tile ------------------------------------------------------------------------------------------

    def _configure(self) -> None:
        axes = self.axes
        regions = [first for first, lanes in axes.columns.items() if lanes]
        widths = {first: self.count(axes.total(first)) for first in regions}
        #: The region that is looped over or dealt out to programs; the others are whole in each program, as are a few columns that
        #: are stored beside longer reductions.
        stored = bool(self.work.columns) and (bool(self.recurrences.all) or widths.get(COLUMNS, 0) > _BESIDE)
        self.main = max(regions, key=lambda first: (first == COLUMNS and stored, widths[first]), default=0)
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
            across = axes.contiguous(axes.rows, self.count)
            best = max(range(len(axes.rows)), key=lambda i: across[axes.rows[i][0]])
            bins = bins_of(self) if self.reduces and not across[axes.rows[best][0]] else None
            best = best if bins is None else bins
            if across[axes.rows[best][0]] or bins is not None:
                axes.rows.append(axes.rows.pop(best))
                if self.reduces and len(axes.rows) > 1:
                    self.inner = axes.rows[-1]
                self.bins = axes.rows[-1][0] if bins is not None else None
            elif self.reduces and len(axes.rows) > 1 and (shared := shared_row(self)) is not None:
                axes.rows.append(axes.rows.pop(shared))
                self.inner = axes.rows[-1]
        self.form = form_of(self)
        alone = not self.reduces and self.inner is None and len(axes.rows) > 1
        if alone and (self.form.shared or (self.form.down and repeats(self))):
            self.inner = axes.rows[-1]
            self.form = form_of(self)
        tile = self.tiles.of(self.form)
        self.rows, self.columns, self.loops, self.num_warps = tile.rows, tile.columns, tile.loops, tile.num_warps
        #: Into how many parts the reductions of this kernel had better be cut, 0 where they need not be.
        self.chunks = tile.parts
        if self.inner is not None:
            axes.rows.pop()
        # Conditions on a row that is a number do not mix with masks, which are blocks, in Triton's interpreter (3.9).
        guarded = any(term.bounds for term in self.all_terms)
        self.flat = self.rows == 1 and self.inner is None and not guarded and not self.recurrences.all

    @property
    def over(self) -> tuple[Size, ...]:
        """The extents that the reductions over the main columns go over."""
        return next((over for over, first in self.terms.regions.items() if first == self.main), ())

    def helper(self, kind: str) -> str:
        """The name of a function that the kernel calls."""
        name, source = helper(kind)
        self.helpers[name] = source
        return name

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
        printer.reciprocals = not any(
            t.op in _ROUNDING or (t.op == "cast" and t.dtype.is_integer) for t in self.all_terms
        )
        inner = [self.inner] if self.inner is not None else []
        printer.extents = dict(
            [*self.axes.rows, *inner, *(one for lanes in self.axes.columns.values() for one in lanes)]
        )
        self._place_rows(printer)
        for first, lanes in self.axes.columns.items():
            if lanes and first != self.main and first not in self.others:
                self.place_columns(printer, first, "")
        self.begin(printer)
        if self.loops:
            Loop(self, whole).write(printer)
        else:
            if self.main:
                block = "pid % across" if self.inner is not None else f"tl.program_id({1 if self.axes.rows else 0})"
                self.place_columns(printer, self.main, "" if self.reduces else f"{block} * BLOCK")
            self.store(printer, self.outputs)
        return self._kernel(printer.lines)

    def _place_rows(self, printer: Printer) -> None:
        rows = self.axes.rows
        if self.inner is not None:
            # Programs beside each other in the order of launch work on memory that lies so: the outer rows change last.
            reach = printer.expression(lift(self.inner[1]))
            across = (
                "" if self.reduces else f" * tl.cdiv({printer.expression(lift(self.axes.total(self.main)))[0]}, BLOCK)"
            )
            printer.lines += ["pid = tl.program_id(0)", f"tiles = tl.cdiv({reach[0]}, ROWS){across}"]
            printer.lines.append("outer = (pid // tiles).to(tl.int64)")
            self.divide(printer, "outer", rows)
            place = "pid % tiles"
            if across:
                printer.lines.append(f"across = {across.removeprefix(' * ')}")
                place = "pid % tiles // across"
            printer.lines.append(f"row = {place} * ROWS + tl.arange(0, ROWS)[:, None]{self.wide}")
            printer.lines.append(f"row_mask = row < {wrapped(reach, 5)}")
            printer.places[self.inner[0]] = "row"
            printer.single |= {dim for dim, _ in rows}
        elif rows:
            if self.flat:
                printer.lines.append(f"row = {_PROGRAM}")
            else:
                total = wrapped(printer.expression(lift(product_of(n for _, n in rows))), 5)
                printer.lines.append(f"row = {_PROGRAM} * ROWS + tl.arange(0, ROWS)[:, None]")
                printer.lines.append(f"row_mask = row < {total}")
            self.divide(printer, "row", rows)
        if self.work.chunks:
            total = printer.expression(lift(self.axes.total(self.main)))[0]
            printer.lines += [
                f"chunk = tl.program_id({1 if rows else 0})",
                f"length = tl.cdiv({total}, {GRAIN} * CHUNKS) * {GRAIN}",
                f"last = tl.minimum((chunk + 1) * length, {total})",
            ]
            printer.names.taken |= {"length"}
            printer.places[CHUNK] = "chunk"
            printer.single |= {CHUNK}

    def divide(self, printer: Printer, flat: str, lanes: Sequence[Axis]) -> None:
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
        reach += self.wide
        printer.lines.append(f"{name} = {start} + {reach}" if start else f"{name} = {reach}")
        chunked = main and self.work.chunks
        total = "last" if chunked else wrapped(printer.expression(lift(self.axes.total(first))), 5)
        printer.lines.append(f"{mask} = {name} < {total}")
        self.divide(printer, name, self.axes.columns[first])
        self.column_masks[first] = mask

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
        stores = []
        for output in outputs:
            term = output.term
            if term.op == "narrow" and term.kind == str(output.buffer.value.dtype):
                term = term.operands[0]  # which storing does
            value = printer.spell(term)[0]
            atoms = self.axes.simplified(output.address).atoms()
            lanes = frozenset(a.dim for a in atoms if isinstance(a, Lane))
            if output.scattered:
                lanes = lanes.union(term.lanes, *(one.lanes for one in self.terms.loaded.values()))
            address = printer.expression(output.address)[0]
            pointer = f"{output.buffer.name}_ptr" if address == "0" else f"{output.buffer.name}_ptr + {address}"
            mask = self.mask(lanes)
            if not self.flat and not mask:
                if self.axes.rows or self.inner is not None:
                    raise CannotGenerate("a result of one element from a tile")
                pointer += " + tl.zeros((1, 1), dtype=tl.int32)"  # which all reductions of a tile leave
            call = _STORES[output.scattered]
            order = "" if call == "store" else ', sem="relaxed"'
            stores.append(f"tl.{call}({pointer}, {value}{f', mask={mask}' if mask else ''}{order})")
        printer.lines += stores  # behind all loads: what is stored may be read by another result

    def _kernel(self, body: Sequence[str]) -> Kernel:
        text = "\n".join(body)
        rows = self.axes.rows
        constants: dict[str, int | NextPower] = {}
        if not self.flat:
            whole = next(
                (n for dim, n in (*self.axes.rows, *([self.inner] if self.inner else [])) if dim == self.bins), None
            )
            constants["ROWS"] = self.rows if whole is None else next_power(whole)
        if self.main:
            total = self.axes.total(self.main)
            constants["BLOCK"] = next_power(total) if self.reduces and not self.loops else self.columns
        for first, block in self.blocks.items():
            constants[block] = next_power(self.axes.total(first))
        constants |= self.constants
        grid: list[tuple[tuple[Size, str], ...]] = []
        across = [(self.axes.total(self.main), "BLOCK")] if self.main and not self.reduces else []
        if self.inner is not None:
            grid.append(((product_of(n for _, n in rows), ""), (self.inner[1], "ROWS"), *across))
        elif rows:
            grid.append(((product_of(n for _, n in rows), "" if self.flat else "ROWS"),))
        if self.work.chunks:
            constants["CHUNKS"] = self.work.chunks
            grid.append(((self.work.chunks, ""),))
        elif across and self.inner is None:
            grid.append((across[0],))
        buffers = arguments(text, self.terms.buffers.values(), (one.buffer for one in self.outputs))
        parameters = [f"{buffer.name}_ptr" for buffer, _ in buffers]
        parameters += self.names.parameters()
        parameters += [f"{name}: tl.constexpr" for name in constants]
        source = function_text(self.name, parameters, body)
        return Kernel(self.name, source, tuple(grid) or (((1, ""),),), tuple(buffers), self.names.sizes, self.names.numbers,
                      constants, self.num_warps, self.num_stages, self.helpers)  # fmt: skip
