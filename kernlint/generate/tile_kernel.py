"""Kernels without a matrix product: streams, rows that are reduced in registers or in a loop, tiles that turn rows into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kernlint.generate.plan import Work
from kernlint.generate.printer import Names, Printer
from kernlint.generate.spelling import wrapped
from kernlint.generate.terms import COLUMNS, Buffer, Term, Terms
from kernlint.generate.values import CannotGenerate, Named, Value
from kernlint.records import dataclass
from kernlint.workload import Expr, Lane, Size, Symbol
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift
from kernlint.workload.synthesis import power_of_two

#: Elements of a row up to which a program holds it in registers.
HELD_ROW = 8192
#: Elements of a tile where nothing asks for more.
_TILE = 2048
#: SMs of the devices that kernels are written for, in round numbers.
_SMS = 132
#: Where in its region the lane of a flat index is.
_FLAT = COLUMNS - 1
#: What the lines that every kernel has call things.
_WORDS = frozenset({"row", "rows", "cols", "mask", "row_mask", "col_mask", "start", "ROWS", "BLOCK"})
_LEAST, _MOST = 'float("-inf")', 'float("inf")'


@dataclass(frozen=True)
class NextPower:
    """The least power of two that is not below ``total``, which the host takes."""

    total: Size


@dataclass(frozen=True)
class Kernel:
    """The source of a kernel and what a launch of it says: ``grid`` (along each axis factors: an extent and the constant that
    it is divided by, rounded up) and the values of parameters as expressions over sizes,
    ``buffers`` in the order of the pointers."""

    name: str
    source: str
    grid: tuple[tuple[tuple[Size, str], ...], ...]
    buffers: tuple[tuple[Buffer, bool], ...]
    sizes: Mapping[Symbol, str]
    numbers: Mapping[str, Named]
    constants: Mapping[str, int | NextPower]
    num_warps: int
    num_stages: int | None = None


@dataclass(frozen=True)
class Output:
    """``term`` goes to ``buffer`` at ``address``."""

    term: Term
    buffer: Buffer
    address: Expr


class Axes:
    """The lanes of a kernel: neighbours that every access runs through as one are one."""

    def __init__(self, rows: Sequence[Size], terms: Terms, outputs: Sequence[Output]) -> None:
        self.rows: list[tuple[int, Size]] = list(enumerate(rows))
        self.columns: dict[int, list[tuple[int, Size]]] = {
            first: [(first + i, extent) for i, extent in enumerate(over)] for over, first in terms.regions.items()
        }
        self.addresses = [*(one.address for one in outputs)]
        self.others: list[Expr] = []
        seen: set[int] = set()
        for term in (t for one in outputs for t in one.term.walk(seen)):
            if term.op == "load" and term.address is not None:
                self.addresses.append(term.address)
            elif term.address is not None:
                self.others.append(term.address)
            self.others += [expr for bound in term.bounds for expr in bound if expr is not None]
        for term in terms.loaded.values():
            for inner in term.walk(seen):
                if inner.op == "load" and inner.address is not None:
                    self.addresses.append(inner.address)
        #: Lanes that went into another one.
        self.alias: dict[int, int] = {}

    def merge(self) -> None:
        self.rows = self._merged(self.rows)
        self.columns = {first: self._merged(lanes) for first, lanes in self.columns.items()}

    def merge_rows_into_columns(self) -> None:
        """For work that reduces nothing: the last row axis and the columns as one where they lie so."""
        lanes = self.columns.get(COLUMNS, [])
        while self.rows and len(lanes) == 1 and self._merges(self.rows[-1], lanes[0]):
            (outer, extent), (inner, own) = self.rows.pop(), lanes[0]
            self.alias[outer] = inner
            lanes[0] = (inner, ex.simplify(lift(extent) * own))
        self.columns[COLUMNS] = lanes

    def _merged(self, lanes: list[tuple[int, Size]]) -> list[tuple[int, Size]]:
        made: list[tuple[int, Size]] = []
        for one in lanes:
            if made and self._merges(made[-1], one):
                outer, extent = made.pop()
                self.alias[outer] = one[0]
                one = (one[0], ex.simplify(lift(extent) * one[1]))
            made.append(one)
        return made

    def _merges(self, outer: tuple[int, Size], inner: tuple[int, Size]) -> bool:
        a, b = Lane(outer[0]), Lane(inner[0])
        if any(a in expr.atoms() or b in expr.atoms() for expr in self.others):
            return False
        for address in map(self.simplified, self.addresses):
            first, second = address.coefficient(a), address.coefficient(b)
            if first is None or second is None or first != second * inner[1]:
                return False
        return True

    def simplified(self, expr: Expr) -> Expr:
        """``expr`` over the lanes that are left."""
        gone: dict[Atom, Size] = {Lane(dim): 0 for dim in self.alias}
        return expr.substitute(gone)

    def spelled(self, expr: Expr) -> Expr:
        """:meth:`simplified`, with the flat index in the place of axes through which ``expr`` runs as one."""
        expr = self.simplified(expr)
        for lanes in (self.rows, *self.columns.values()):
            if len(lanes) > 1:
                expr = self._flattened(expr, lanes)
        return expr

    def _flattened(self, expr: Expr, lanes: Sequence[tuple[int, Size]]) -> Expr:
        step = expr.coefficient(Lane(lanes[-1][0]))
        if step is None or not step.terms:
            return expr
        factor, flat = step, step * Expr.atom(Lane(self.flat_lane(lanes)))
        for (dim, _), (_, inner) in zip(reversed(lanes[:-1]), reversed(lanes)):
            factor = factor * inner
            if expr.coefficient(Lane(dim)) != factor:
                return expr
        return expr.substitute({Lane(dim): 0 for dim, _ in lanes}) + flat

    @staticmethod
    def flat_lane(lanes: Sequence[tuple[int, Size]]) -> int:
        """A lane that stands for all of ``lanes`` together."""
        return lanes[0][0] // COLUMNS * COLUMNS + _FLAT

    def lane(self, dim: int) -> int:
        while dim in self.alias:
            dim = self.alias[dim]
        return dim

    def contiguous(self, lanes: Iterable[tuple[int, Size]]) -> dict[int, int]:
        """By lane: in how many accesses to tiles its neighbours lie side by side."""
        counts = {dim: 0 for dim, _ in lanes}
        for address in map(self.simplified, self.addresses):
            dims = {atom.dim for atom in address.atoms() if isinstance(atom, Lane)}
            if not (any(dim < COLUMNS for dim in dims) and any(dim >= COLUMNS for dim in dims)):
                continue
            for dim in counts:
                if address.coefficient(Lane(dim)) == 1:
                    counts[dim] += 1
        return counts


def product_of(extents: Iterable[Size]) -> Size:
    total: Size = 1
    for extent in extents:
        total = ex.simplify(lift(total) * extent)
    return total


class TileWriter:
    """Writes the kernel of ``work``; ``buffer_of`` tells where values lie, ``sizes`` are numbers for open sizes."""

    def __init__(
        self, work: Work, name: str, buffer_of: Callable[[Value], Buffer | None], sizes: Mapping[Atom, float]
    ) -> None:
        own = {id(root) for root, _ in work.roots}
        self.name = name
        self.sizes = sizes
        self.terms = Terms(lambda value: None if id(value) in own else buffer_of(value), work.columns)
        self.outputs: list[Output] = []
        for root, index in work.roots:
            buffer = buffer_of(root)
            assert buffer is not None
            address = lift(0)
            for place, stride in zip(index, buffer.strides):
                address = address + place * stride
            self.outputs.append(Output(self.terms.at(root, index), buffer, address))
        self.names = Names()
        self.axes = Axes(work.rows, self.terms, self.outputs)
        self.reductions = [t for t in self._all_terms() if t.op == "reduce"]
        self.axes.merge()
        if not self.reductions:
            self.axes.merge_rows_into_columns()
        self.uses: dict[int, int] = {}
        for term in self._all_terms():
            for operand in term.operands:
                self.uses[id(operand)] = self.uses.get(id(operand), 0) + 1
        for output in self.outputs:
            self.uses[id(output.term)] = self.uses.get(id(output.term), 0) + 1
        #: The condition under which the columns of a region exist, by its first lane.
        self.column_masks: dict[int, str] = {}
        self._configure()

    def _all_terms(self) -> list[Term]:
        seen: set[int] = set()
        found = [t for one in self.outputs for t in one.term.walk(seen)]
        return found + [t for one in list(self.terms.loaded.values()) for t in one.walk(seen)]

    def count(self, extents: Iterable[Size]) -> float:
        value = lift(product_of(extents)).evaluate(self.sizes)
        if value is None:
            raise CannotGenerate("an extent that is not known")
        return float(value)

    # -- shape of the tile ------------------------------------------------------------------------------------------

    def _configure(self) -> None:
        axes = self.axes
        regions = [lanes for lanes in axes.columns.values() if lanes]
        self.row_count = self.count(extent for _, extent in axes.rows)
        self.column_count = max((self.count(extent for _, extent in lanes) for lanes in regions), default=1.0)
        across = axes.contiguous(axes.rows)
        along = sum(axes.contiguous([lanes[-1] for lanes in regions]).values())
        down = max(across.values(), default=0)
        if axes.rows and down:
            # Neighbouring rows of a tile shall be neighbours in memory.
            best = max(range(len(axes.rows)), key=lambda i: across[axes.rows[i][0]])
            axes.rows.append(axes.rows.pop(best))
        width = power_of_two(int(self.column_count))
        self.loops = bool(self.reductions) and width > HELD_ROW
        if down and self.column_count > 1:
            narrow = along == 0
            tall = min(64 if narrow else 32, power_of_two(int(self.row_count)))
            self.columns = min(width, 32 if narrow else 64)
            self.rows = tall
            self.loops = bool(self.reductions) and self.columns < width
        elif self.reductions:
            self.columns = min(width, 4096 if self.loops else HELD_ROW)
            self.rows = max(1, min(_TILE // self.columns, power_of_two(int(self.row_count / (2 * _SMS)) + 1)))
        else:
            self.columns = min(width, 1024 if axes.rows else _TILE // 2)
            self.rows = max(1, _TILE // 2 // self.columns) if axes.rows else 1
        while self.rows > 1 and self.row_count / self.rows < _SMS and self.reductions and not down:
            self.rows //= 2
        self.flat = self.rows == 1
        elements = self.rows * self.columns
        self.num_warps = 4 if elements <= 2048 else 8 if elements <= 8192 else 16
        #: Whether all columns are in the tile at once.
        self.whole = bool(self.reductions) and not self.loops

    # -- text -------------------------------------------------------------------------------------------------------

    def write(self) -> Kernel:
        names = self.names
        for output in self.outputs:
            names.taken.add(f"{output.buffer.name}_ptr")
        for name in self.terms.buffers:
            names.taken.add(f"{name}_ptr")
        names.taken |= _WORDS
        places: dict[int, str] = {}
        printer = Printer(self.terms, names, places, self._mask, self.uses, self.axes.spelled)
        self._place_rows(printer)
        if self.loops:
            self._loops(printer)
        else:
            self._columns(printer, "" if self.whole or self.single else "tl.program_id(1) * BLOCK" if self.axes.rows else
                          "tl.program_id(0) * BLOCK")  # fmt: skip
            for term in self.reductions:
                self._reduce_whole(printer, term)
            self._store(printer, self.outputs)
        return self._kernel(printer.lines)

    @property
    def single(self) -> bool:
        """Whether one block holds all the columns, at the sizes at hand as at any."""
        return not any(self.axes.columns.values())

    def _place_rows(self, printer: Printer) -> None:
        rows = self.axes.rows
        if not rows:
            return
        start = "tl.program_id(0).to(tl.int64)"
        if self.flat:
            printer.lines.append(f"row = {start}")
        else:
            printer.lines.append(f"row = {start} * ROWS + tl.arange(0, ROWS)[:, None]")
            total = wrapped(printer.expression(lift(product_of(n for _, n in rows))), 5)
            printer.lines.append(f"row_mask = row < {total}")
        self._divide(printer, "row", rows)

    def _divide(self, printer: Printer, flat: str, lanes: Sequence[tuple[int, Size]]) -> None:
        """The places along ``lanes`` of a flat index."""
        if len(lanes) == 1:
            printer.places[lanes[0][0]] = flat
            return
        rest = flat
        printer.places[self.axes.flat_lane(lanes)] = flat
        for number, (dim, extent) in reversed(list(enumerate(lanes))):
            name = self.names.new("ijklmno"[number % 7])
            if number == 0:
                printer.lines.append(f"{name} = {rest}")
            else:
                size = wrapped(printer.expression(lift(extent)), 7)
                printer.lines.append(f"{name} = {rest if rest == flat else f'({rest})'} % {size}")
                rest = f"{rest} // {size}"
            printer.places[dim] = name

    def _columns(self, printer: Printer, start: str) -> None:
        """The columns of a block that begins at ``start``."""
        reach = "tl.arange(0, BLOCK)" if self.flat else "tl.arange(0, BLOCK)[None, :]"
        regions = [(first, lanes) for first, lanes in self.axes.columns.items() if lanes]
        for number, (first, lanes) in enumerate(regions):
            name = "cols" if number == 0 else self.names.new("cols")
            block = reach if number == 0 else reach.replace("BLOCK", f"BLOCK_{number + 1}")
            if number and (start or self.loops):
                raise CannotGenerate("reductions over axes of two lengths, too long for registers")
            printer.lines.append(f"{name} = {start} + {block}" if start else f"{name} = {block}")
            mask = ("mask" if self.flat else "col_mask") if number == 0 else self.names.new("mask")
            total = wrapped(printer.expression(lift(product_of(n for _, n in lanes))), 5)
            printer.lines.append(f"{mask} = {name} < {total}")
            self._divide(printer, name, lanes)
            self.column_masks[first] = mask

    def _mask(self, lanes: frozenset[int]) -> str:
        parts = []
        here = {self.axes.lane(dim) for dim in lanes}
        if not self.flat and any(dim < COLUMNS for dim in here):
            parts.append("row_mask")
        for first, columns in self.axes.columns.items():
            if any(dim in here for dim, _ in columns) and first in self.column_masks:
                parts.append(self.column_masks[first])
        return " & ".join(parts)

    def _store(self, printer: Printer, outputs: Sequence[Output]) -> None:
        for output in outputs:
            term = output.term
            if term.op == "narrow" and term.kind == str(output.buffer.value.dtype):
                term = term.operands[0]  # which storing does
            value = printer.spell(term)[0]
            lanes = frozenset(a.dim for a in self.axes.simplified(output.address).atoms() if isinstance(a, Lane))
            address = printer.expression(output.address)[0]
            pointer = f"{output.buffer.name}_ptr" if address == "0" else f"{output.buffer.name}_ptr + {address}"
            mask = self._mask(lanes)
            if output.term.lanes and not lanes and not self.flat:
                raise CannotGenerate("a result of one element from a tile")
            if not self.flat and not lanes:
                raise CannotGenerate("a result of one element from a tile")
            printer.lines.append(f"tl.store({pointer}, {value}{f', mask={mask}' if mask else ''})")

    # -- reductions -------------------------------------------------------------------------------------------------

    def _first_lane(self, term: Term) -> int:
        return self.terms.regions[term.over]

    def _over_columns(self, function: str, text: str) -> str:
        return f"tl.{function}({text}, axis=0)" if self.flat else f"tl.{function}({text}, axis=1)[:, None]"

    def _body(self, printer: Printer, term: Term, outside: str) -> str:
        """What is reduced, ``outside`` where there are no columns."""
        (body,) = term.operands
        text = printer.spell(body)[0]
        if outside == "0.0" and _zero_outside(body):
            return text
        mask = self.column_masks.get(self._first_lane(term))
        if outside == "0.0" and not term.dtype.is_float:
            outside = "0"
        return f"tl.where({mask}, {text}, {outside})" if mask else text

    def _reduce_whole(self, printer: Printer, term: Term) -> None:
        if id(term) in printer.known:
            return
        (body,) = term.operands
        kind = term.kind
        if not any(self.axes.columns.get(self._first_lane(term), ())):
            raise CannotGenerate("a reduction over one element")
        if kind == "sum":
            printer.bind(term, self._over_columns("sum", self._body(printer, term, "0.0")), term.name or "total")
        elif kind in ("max", "min"):
            if not term.dtype.is_float:
                raise CannotGenerate("an extreme of integers")
            outside = _LEAST if kind == "max" else _MOST
            printer.bind(term, self._over_columns(kind, self._body(printer, term, outside)), term.name or kind)
        elif kind == "m2":
            total = self._beside(term, "sum")
            self._reduce_whole(printer, total)
            count = wrapped(printer.expression(lift(product_of(term.over))), 7)
            mean = f"{printer.spell(total)[0]} / {count}"
            far = self.names.new("centred")
            text = wrapped(printer.spell(body), 6)
            printer.lines.append(f"{far} = tl.where({self.column_masks[self._first_lane(term)]}, {text} - {mean}, 0.0)")
            printer.bind(term, self._over_columns("sum", f"{far} * {far}"), "squares")
        elif kind == "expsum":
            top = self._beside(term, "max")
            self._reduce_whole(printer, top)
            low = f"tl.exp({wrapped(printer.spell(body), 5)} - {printer.spell(top)[0]})"
            mask = self.column_masks[self._first_lane(term)]
            printer.bind(term, self._over_columns("sum", f"tl.where({mask}, {low}, 0.0)"), term.name or "exponentials")
        else:
            raise CannotGenerate(f"a reduction {kind}")

    def _beside(self, term: Term, kind: str) -> Term:
        """The plain reduction of the same body that ``term`` rests on; the one of the kernel where it has it."""
        return self.terms.new("reduce", term.dtype, term.operands, lanes=term.lanes, kind=kind, over=term.over)

    # -- rows that are too long for registers -----------------------------------------------------------------------

    def _loops(self, printer: Printer) -> None:
        done: set[int] = set()
        waiting = list(self.reductions)
        while waiting:
            ready = [t for t in waiting if all(o in done for o in self._before(t))]
            if not ready:
                raise CannotGenerate("reductions that need one another")
            self._loop(printer, ready)
            done |= {id(term) for term in ready}
            waiting = [t for t in waiting if id(t) not in done]
        rest = [one for one in self.outputs if one.term.in_columns or self._has_columns(one)]
        self._store(printer, [one for one in self.outputs if one not in rest])
        if rest:
            self._spell_rows(printer, [one.term for one in rest])
            inner = self._open_loop(printer)
            self._store(inner, rest)
            self._close(printer, inner)

    def _has_columns(self, output: Output) -> bool:
        return any(isinstance(a, Lane) and a.dim >= COLUMNS for a in output.address.atoms())

    @staticmethod
    def _before(term: Term) -> set[int]:
        """The reductions that ``term`` needs."""
        seen: set[int] = set()
        return {id(t) for operand in term.operands for t in operand.walk(seen) if t.op == "reduce"}

    def _spell_rows(self, printer: Printer, terms: Iterable[Term]) -> None:
        """Write down before a loop what stays the same in it."""
        seen: set[int] = set()
        for term in (t for one in terms for t in one.walk(seen)):
            if not term.in_columns and term.op not in ("number", "place"):
                text = printer.spell(term)[0]
                if id(term) not in printer.known and not text.isidentifier():
                    printer.bind(term, text)

    def _open_loop(self, printer: Printer) -> Printer:
        (lanes,) = (lanes for lanes in self.axes.columns.values() if lanes)
        total = printer.expression(lift(product_of(n for _, n in lanes)))[0]
        printer.lines.append(f"for start in range(0, {total}, BLOCK):")
        inner = printer.scope()
        self._columns(inner, "start")
        return inner

    @staticmethod
    def _close(printer: Printer, inner: Printer) -> None:
        printer.lines += [f"    {line}" for line in inner.lines]
        # What a loop has called its own the next one may call so too.
        assigned = {line.split(" = ")[0] for line in inner.lines if " = " in line}
        outer = {line.split(" = ")[0] for line in printer.lines if not line.startswith(" ")}
        printer.names.taken -= assigned - outer - _WORDS

    def _loop(self, printer: Printer, ready: Sequence[Term]) -> None:
        """One pass over the columns for the reductions that are ``ready``."""
        self._spell_rows(printer, [operand for term in ready for operand in term.operands])
        shape = "(BLOCK,)" if self.flat else "(ROWS, BLOCK)"
        row = "0.0" if self.flat else "tl.zeros((ROWS, 1), dtype=tl.float32)"
        after: list[tuple[Term, str]] = []
        updates: list[Callable[[Printer], None]] = []
        for term in ready:
            name = self.names.new(f"{term.name or term.kind}_acc")
            dtype = str(term.dtype)
            if term.kind == "sum":
                printer.lines.append(f"{name} = tl.zeros({shape}, dtype=tl.{dtype})")
                updates.append(lambda p, t=term, n=name: p.lines.append(f"{n} += {self._body(p, t, '0.0')}"))  # type: ignore[misc]
                after.append((term, self._over_columns("sum", name)))
            elif term.kind in ("max", "min"):
                if any(t.kind == "expsum" and t.operands == term.operands for t in ready):
                    continue
                worst = _LEAST if term.kind == "max" else _MOST
                printer.lines.append(f"{name} = tl.full({shape}, {worst}, dtype=tl.{dtype})")
                updates.append(lambda p, t=term, n=name, w=worst: p.lines.append(  # type: ignore[misc]
                    f"{n} = tl.{t.kind}imum({n}, {self._body(p, t, w)})"))  # fmt: skip
                after.append((term, self._over_columns(term.kind, name)))
            elif term.kind == "expsum":
                self._online(printer, term, row, updates)
            elif term.kind == "m2":
                self._moments(printer, term, row, updates)
            else:
                raise CannotGenerate(f"a reduction {term.kind}")
        inner = self._open_loop(printer)
        for update in updates:
            update(inner)
        self._close(printer, inner)
        for term, text in after:
            printer.bind(term, text, term.name or ("total" if term.kind == "sum" else term.kind))

    def _online(self, printer: Printer, term: Term, row: str, updates: list[Callable[[Printer], None]]) -> None:
        """The sum of exponentials and the maximum together: what was summed so far is scaled when the maximum rises."""
        top, total, new = (self.names.new(word) for word in ("top", "total", "new_top"))
        printer.lines += [f'{top} = {row} + float("-inf")' if not self.flat else f'{top} = float("-inf")', f"{total} = {row}"]

        def update(inner: Printer) -> None:
            low = self.names.new("scores")
            inner.lines.append(f"{low} = {self._body(inner, term, _LEAST)}")
            inner.lines.append(f"{new} = tl.maximum({top}, {self._over_columns('max', low)})")
            scaled = f"{total} * tl.exp({top} - {new})"
            inner.lines.append(f"{total} = {scaled} + {self._over_columns('sum', f'tl.exp({low} - {new})')}")
            inner.lines.append(f"{top} = {new}")

        updates.append(update)
        printer.known[id(term)] = (total, 9)
        printer.known[id(self._beside(term, "max"))] = (top, 9)

    def _moments(self, printer: Printer, term: Term, row: str, updates: list[Callable[[Printer], None]]) -> None:
        """The sum of squared deviations, block by block, put together as Chan, Golub and LeVeque do (1983)."""
        mean, squares, seen = (self.names.new(word) for word in ("mean", "squares", "seen"))
        printer.lines += [f"{mean} = {row}", f"{squares} = {row}", f"{seen} = 0.0"]

        def update(inner: Printer) -> None:
            number, own, far, step, both = (self.names.new(w) for w in ("number", "own_mean", "centred", "step", "both"))
            total = inner.expression(lift(product_of(term.over)))[0]
            text = inner.spell(term.operands[0])[0]
            mask = self.column_masks[self._first_lane(term)]
            inner.lines += [
                f"{number} = tl.minimum({total} - start, BLOCK).to(tl.float32)",
                f"{own} = {self._over_columns('sum', self._body(inner, term, '0.0'))} / {number}",
                f"{far} = tl.where({mask}, {text} - {own}, 0.0)",
                f"{step} = {own} - {mean}",
                f"{both} = {seen} + {number}",
                f"{mean} += {step} * ({number} / {both})",
                f"{squares} += {self._over_columns('sum', f'{far} * {far}')} + {step} * {step} * ({seen} * {number} / {both})",
                f"{seen} = {both}",
            ]

        updates.append(update)
        printer.known[id(term)] = (squares, 9)

    # -- the function -----------------------------------------------------------------------------------------------

    def _kernel(self, body: Sequence[str]) -> Kernel:
        text = "\n".join(body)
        rows, lanes = self.axes.rows, [one for one in self.axes.columns.values() if one]
        constants: dict[str, int | NextPower] = {}
        if not self.flat:
            constants["ROWS"] = self.rows
        if lanes:
            total = product_of(n for _, n in lanes[0])
            constants["BLOCK"] = _next_power(total) if self.whole else self.columns
            for number, one in enumerate(lanes[1:], 2):
                constants[f"BLOCK_{number}"] = _next_power(product_of(n for _, n in one))
        grid: list[tuple[tuple[Size, str], ...]] = []
        if rows:
            grid.append(((product_of(n for _, n in rows), "" if self.flat else "ROWS"),))
        if lanes and not self.reductions:
            grid.append(((product_of(n for _, n in lanes[0]), "BLOCK"),))
        buffers = [(buffer, False) for buffer in self.terms.buffers.values() if f"{buffer.name}_ptr" in text]
        buffers += [(one.buffer, True) for one in self.outputs]
        parameters = [f"{buffer.name}_ptr" for buffer, _ in buffers]
        parameters += [*self.names.sizes.values(), *(name.lower() for name in self.names.numbers)]
        parameters += [f"{name}: tl.constexpr" for name in constants]
        source = function_text(self.name, parameters, body)
        return Kernel(self.name, source, tuple(grid) or (((1, ""),),), tuple(buffers), self.names.sizes, self.names.numbers,
                      constants, self.num_warps)  # fmt: skip


def _next_power(total: Size) -> NextPower | int:
    number = ex.concrete(total)
    return power_of_two(number) if number is not None else NextPower(total)


def function_text(name: str, parameters: Sequence[str], body: Sequence[str]) -> str:
    """A ``@triton.jit`` function, its parameters on lines of their own where they do not fit on one."""
    head = f"def {name}({', '.join(parameters)}):"
    if len(head) > 110:
        lines, line = [], "   "
        for parameter in parameters:
            if len(line) + len(parameter) + 2 > 110:
                lines.append(line)
                line = "   "
            line += f" {parameter},"
        head = "\n".join([f"def {name}(", *lines, line, "):"])
    return "\n".join(["@triton.jit", head, *(f"    {line}" for line in body)])


def _zero_outside(term: Term) -> bool:
    """Whether ``term`` is zero where its loads were masked."""
    if term.op == "load":
        return term.in_columns
    if term.op in ("square", "abs", "neg", "cast", "narrow", "relu"):
        return _zero_outside(term.operands[0])
    if term.op == "mul":
        first, second = term.operands
        return (_zero_outside(first) and _is_finite(second)) or (_zero_outside(second) and _is_finite(first))
    if term.op in ("add", "sub"):
        return all(map(_zero_outside, term.operands))
    return False


def _is_finite(term: Term) -> bool:
    """Whether ``term`` is a number wherever its loads are: no division and no function that could overflow on zero."""
    return term.op in ("load", "number") or (
        term.op in ("square", "abs", "neg", "cast", "narrow", "mul", "add", "sub", "relu") and all(map(_is_finite, term.operands))
    )

