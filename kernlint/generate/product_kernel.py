"""Matrix products in tiles, with what stands before and behind them in the same kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.axes import Axes, Axis, flat_lane
from kernlint.generate.kernel import MOST_BESIDE, WIDE, Kernel, count_at, function_text, is_large, product_of
from kernlint.generate.parts import GRAIN
from kernlint.generate.plan import Work
from kernlint.generate.printer import Names, Printer
from kernlint.generate.product_tiles import default_tile, fits
from kernlint.generate.spelling import Spelled, wrapped
from kernlint.generate.terms import CHUNK, COLUMNS, Buffer, Term, Terms
from kernlint.generate.values import CannotGenerate, Value, View, lane, lanes_of, looked_through
from kernlint.records import dataclass
from kernlint.workload import Dtype, Expr, Size
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, lift

#: Where the lanes of batches and of the summed axes begin.
_BATCH, _SUMMED = 2 * COLUMNS, 3 * COLUMNS
#: Rows of tiles that neighbouring programs walk together, so that they share operands in L2.
_GROUP = 8


@dataclass(frozen=True)
class Kinds:
    """The axes of a product by what they do: those of the first operand alone are rows, of the second alone columns, of both
    batches. Each is a lane of the product with its extent."""

    batch: tuple[tuple[int, Size], ...]
    rows: tuple[tuple[int, Size], ...]
    columns: tuple[tuple[int, Size], ...]
    over: tuple[Size, ...]


def kinds_of(product: Value) -> Kinds:
    """Raises :class:`CannotGenerate` where an axis is in neither operand."""
    first, second = (lanes_of(view.index) for view in product.operands)
    found: dict[str, list[tuple[int, Size]]] = {"batch": [], "rows": [], "columns": []}
    for dim, extent in enumerate(product.shape):
        if lift(extent).value == 1:
            continue
        in_first, in_second = dim in first, dim in second
        if not in_first and not in_second:
            raise CannotGenerate("a product with an axis of neither operand")
        kind = "batch" if in_first and in_second else "rows" if in_first else "columns"
        found[kind].append((dim, extent))
    batch, rows, columns = (tuple(found[kind]) for kind in ("batch", "rows", "columns"))
    return Kinds(batch, rows, columns, product.attributes["over"])


class ProductWriter:
    """Writes the kernel of ``work``, which is built around a product."""

    def __init__(
        self, work: Work, name: str, buffer_of: Callable[[Value], Buffer | None], sizes: Mapping[Atom, float]
    ) -> None:
        assert work.product is not None
        (root,) = work.roots
        self.root = root.value
        self.work, self.product, self.name, self.sizes = work, work.product, name, sizes
        self.kinds = kinds_of(self.product)
        if not self.kinds.rows or not self.kinds.columns:
            raise CannotGenerate("a product with a vector")
        self.terms = Terms(lambda value: None if value is self.root else buffer_of(value))
        out = buffer_of(self.root)
        assert out is not None
        self.out = out
        self.names = Names()
        places: list[Expr] = [lift(0)] * len(self.product.shape)
        self.lanes: dict[int, int] = {}
        for kind, first in (("batch", _BATCH), ("rows", 0), ("columns", COLUMNS)):
            for number, (dim, _) in enumerate(getattr(self.kinds, kind)):
                places[dim] = lane(first + number)
                self.lanes[dim] = first + number
        self.places = places
        summed = [lane(_SUMMED + number) for number in range(len(self.kinds.over))]
        self.accumulator = Term("product", dt.FLOAT32, lanes=frozenset(self.lanes.values()))
        a, b = self.product.operands
        self.operands = [self._operand(view, [*places, *summed]) for view in (a, b)]
        self.terms.products[id(self.product), tuple(places)] = self.accumulator
        self.result = self.accumulator if work.chunks else self.terms.at(self.root, places)
        address, stored = lift(0), [lane(CHUNK), *places] if work.chunks else places
        for place, stride in zip(stored, self.out.strides):
            address = address + place * stride
        self.address = address
        regions = {COLUMNS: self.kinds.columns, _BATCH: self.kinds.batch}
        extents = {first: [n for _, n in part] for first, part in regions.items()}
        roots = [
            *(one.term for one in self.operands),
            *(f for one in self.operands for _, f in one.factors),
            self.result,
        ]
        rows = [n for _, n in self.kinds.rows]
        self.axes = Axes(
            rows,
            {**extents, _SUMMED: self.kinds.over},
            [*roots, *self.terms.loaded.values()],
            [address],
            self.terms.loaded,
        )
        self.axes.merge()
        #: Axes of rows that get an axis of the grid: a tile then has neighbours in memory, and no division by the others' extent.
        self.outer: list[Axis] = []
        *others, last = self.axes.rows
        if others and fits(self._count(last[1])) and self._count(product_of(n for _, n in others)) <= MOST_BESIDE:
            self.outer, self.axes.rows = others, [last]
        inner = [n for _, n in self.axes.rows]
        self.totals = [product_of(part) for part in (inner, extents[COLUMNS], self.kinds.over)]
        m, n, k = map(self._count, self.totals)
        beside = self._count(product_of(extent for _, extent in (*self.kinds.batch, *self.outer)))
        fed = self._fed()[0]
        self.tile = default_tile(m, n, k, beside, fed.bits)
        #: Into how many parts the summed axis had better be cut, 0 where it need not be.
        self.chunks = 0 if work.chunks or self.tile.parts == 1 or fed.is_integer else self.tile.parts

    def _operand(self, view: View, places: Sequence[Expr]) -> Operand:
        term = self.terms.at(view.value, looked_through(view.index, places))
        factors: list[tuple[str, Term]] = []
        while term.op in ("mul", "div"):
            first, second = term.operands
            if not _in_sum(second):
                factors.append((term.op, second))
                term = first
            elif term.op == "mul" and not _in_sum(first):
                factors.append((term.op, first))
                term = second
            else:
                break
        exact = term
        while exact.op in ("cast", "narrow") and exact.dtype.is_float and exact.op == "cast":
            exact = exact.operands[0]
        dtype = _fed(exact)
        if dtype is None:
            dtype = dt.FLOAT32 if term.dtype.is_float else term.dtype
            exact = term
        return Operand(exact, dtype, tuple(factors))

    # -- text -------------------------------------------------------------------------------------------------------

    def write(self) -> Kernel:
        names, axes = self.names, self.axes
        for name in (*self.terms.buffers, self.out.name):
            names.taken.add(f"{name}_ptr")
        words = (
            "pid",
            "pid_m",
            "pid_n",
            "rows",
            "cols",
            "ks",
            "acc",
            "row_mask",
            "col_mask",
            "k_mask",
            "start",
            "length",
            "last",
            "first",
            "height",
            "BM",
            "BN",
            "BK",
            "group",
        )
        names.taken |= set(words)
        uses: dict[int, int] = {}
        seen: set[int] = set()
        for term in self.result.walk(seen):
            for operand in term.operands:
                uses[id(operand)] = uses.get(id(operand), 0) + 1
        printer = Printer(self.terms, names, {}, lambda lanes: self._mask(lanes, None), uses, axes.spelled)
        lines = printer.lines
        total_m, total_n, total_k = self.totals
        m, n = (printer.expression(lift(total))[0] for total in (total_m, total_n))
        k = printer.expression(lift(total_k))[0]
        grid_m, grid_n = (
            self._count(total) / block for total, block in ((total_m, self.tile.m), (total_n, self.tile.n))
        )
        lines.append("pid = tl.program_id(0)")
        if grid_m >= 2 * _GROUP and grid_n > 1:
            lines += [
                f"group = {_GROUP} * tl.cdiv({n}, BN)",
                f"first = pid // group * {_GROUP}",
                f"height = min(tl.cdiv({m}, BM) - first, {_GROUP})",
                "pid_m = first + pid % group % height",
                "pid_n = pid % group // height",
            ]
        else:
            lines += [f"pid_m = pid // tl.cdiv({n}, BN)", f"pid_n = pid % tl.cdiv({n}, BN)"]
        for number, (name, lanes) in enumerate(self._beside(), 1):
            lines.append(f"{name} = tl.program_id({number}){'' if name == 'chunk' else '.to(tl.int64)'}")
            names.taken.add(name)
            self._divide(printer, name, lanes)
        buffers = [*self.terms.buffers.values(), self.out]
        wide = WIDE if any(is_large(self._count(product_of(one.value.shape))) for one in buffers) else ""
        lines += [f"rows = pid_m * BM + tl.arange(0, BM){wide}", f"cols = pid_n * BN + tl.arange(0, BN){wide}"]
        lines += [f"row_mask = rows < {m}", f"col_mask = cols < {n}"]
        integer = self._fed()[0].is_integer
        lines.append(f"acc = tl.zeros((BM, BN), dtype=tl.{'int32' if integer else 'float32'})")
        first, last = "0", k
        if self.work.chunks:
            lines += [
                f"length = tl.cdiv({k}, {GRAIN} * CHUNKS) * {GRAIN}",
                f"last = tl.minimum((chunk + 1) * length, {k})",
            ]
            first, last = "chunk * length", "last"
        lines.append(f"for start in range({first}, {last}, BK):")
        inner = printer.scope()
        inner.lines += [f"ks = start + tl.arange(0, BK){wide}", f"k_mask = ks < {last}"]
        fed, precision = self._fed()
        texts = [self._load(inner, number, fed) for number in (0, 1)]
        accumulator = "acc"
        option = f', input_precision="{precision}"' if precision else ""
        option += ", out_dtype=tl.int32" if integer else ""
        inner.lines.append(f"acc = tl.dot({texts[0]}, {texts[1]}, {accumulator}{option})")
        lines += [f"    {line}" for line in inner.lines]
        self._finish(printer, integer)
        return self._kernel(lines, total_m, total_n)

    def _beside(self) -> list[tuple[str, list[Axis]]]:
        """What has an axis of the grid beside the tiles, and the lanes that its index runs through."""
        parts = [("batch", self.axes.columns[_BATCH]), ("outer", self.outer)]
        found = [(name, lanes) for name, lanes in parts if lanes]
        return [*found, ("chunk", [(CHUNK, self.work.chunks)])] if self.work.chunks else found

    def _count(self, size: Size) -> float:
        return count_at(size, self.sizes)

    def _fed(self) -> tuple[Dtype, str]:
        """The type that the tensor core is fed, and the precision that it is asked for."""
        types = {operand.dtype for operand in self.operands}
        halves = {t for t in types if t.is_float and t.bits == 16}
        integers = {t for t in types if t.is_integer and t.bits == 8}
        if len(halves) == 1 and types == halves | integers:
            return halves.pop(), ""
        if types == {dt.INT8}:
            return dt.INT8, ""
        if types <= {dt.FLOAT32} | halves | integers:
            return dt.FLOAT32, "tf32x3"
        raise CannotGenerate("a product of types that no tensor core takes")

    def _load(self, inner: Printer, number: int, fed: Dtype) -> str:
        operand = self.operands[number]
        printer = inner.scope()
        printer.places = dict(inner.places)
        rows, columns = ("rows[:, None]", "ks[None, :]") if number == 0 else ("ks[:, None]", "cols[None, :]")
        part = self.axes.rows if number == 0 else self.axes.columns[COLUMNS]
        self._divide(printer, rows if number == 0 else columns, part)
        self._divide(printer, columns if number == 0 else rows, self.axes.columns[_SUMMED])
        printer.mask_of = lambda lanes: self._mask(lanes, number)
        term = operand.term
        if term.op == "load":
            text = printer._load(term, raw=True)
            source = term.kind
        elif term.op == "narrow":
            text, source = printer.spell(term.operands[0])[0], "float32"
        else:
            text, source = printer.spell(term)[0], str(term.dtype)
        name = self.names.new(("a", "b")[number])
        if source != str(fed):
            text = f"{wrapped((text, 9 if text.startswith('tl.load') else 0), 9)}.to(tl.{fed})"
        printer.lines.append(f"{name} = {text}")
        inner.lines += printer.lines
        return name

    def _divide(self, printer: Printer, flat: str, lanes: Sequence[tuple[int, Size]]) -> None:
        rest = flat
        if len(lanes) > 1:
            printer.places[flat_lane(lanes)] = flat
        for number, (dim, extent) in reversed(list(enumerate(lanes))):
            if number == 0:
                printer.places[dim] = rest if rest == flat else f"({rest})"
            else:
                size = wrapped(printer.expression(lift(extent)), 7)
                printer.places[dim] = f"({rest} % {size})"
                rest = f"{rest} // {size}"

    def _mask(self, lanes: frozenset[int], operand: int | None) -> str:
        shapes = {
            None: ("[:, None]", "[None, :]", ""),
            0: ("[:, None]", "", "[None, :]"),
            1: ("", "[None, :]", "[:, None]"),
        }
        row, column, summed = shapes[operand]
        parts = []
        if (
            any(self.axes.lane(dim) == self.axes.rows[-1][0] for dim in lanes if dim < COLUMNS)
            or len(self.axes.rows) > 1
        ):
            parts.append(f"row_mask{row}")
        if any(COLUMNS <= dim < _BATCH for dim in lanes):
            parts.append(f"col_mask{column}")
        if any(dim >= _SUMMED for dim in lanes):
            parts.append(f"k_mask{summed}")
        return " & ".join(parts)

    def _finish(self, printer: Printer, integer: bool) -> None:
        self._divide(printer, "rows[:, None]", self.axes.rows)
        self._divide(printer, "cols[None, :]", self.axes.columns[COLUMNS])
        value: Spelled = ("acc", 9)
        if integer and self.product.dtype.is_float:
            value = ("acc.to(tl.float32)", 9)
        for op, factor in (one for operand in self.operands for one in operand.factors):
            text = wrapped(printer.spell(factor), 7)
            value = (f"{value[0]} {'*' if op == 'mul' else '/'} {text}", 6)
        if value[0] != "acc":
            printer.lines.append(f"acc = {value[0]}" if not integer else f"product = {value[0]}")
            value = ("acc", 9) if not integer else ("product", 9)
            printer.names.taken.add("product")
        printer.known[id(self.accumulator)] = value
        term = self.result
        if term.op == "narrow" and term.kind == str(self.out.value.dtype):
            term = term.operands[0]
        text = printer.spell(term)[0]
        pointer = f"{self.out.name}_ptr + {printer.expression(self.address)[0]}"
        printer.lines.append(f"tl.store({pointer}, {text}, mask=row_mask[:, None] & col_mask[None, :])")

    def _kernel(self, body: Sequence[str], total_m: Size, total_n: Size) -> Kernel:
        text = "\n".join(body)
        buffers = [(buffer, False) for buffer in self.terms.buffers.values() if f"{buffer.name}_ptr" in text]
        buffers.append((self.out, True))
        parameters = [f"{buffer.name}_ptr" for buffer, _ in buffers]
        parameters += [*self.names.sizes.values(), *(name.lower() for name in self.names.numbers)]
        constants = {"BM": self.tile.m, "BN": self.tile.n, "BK": self.tile.k}
        if self.work.chunks:
            constants["CHUNKS"] = self.work.chunks
        parameters += [f"{name}: tl.constexpr" for name in constants]
        tiles = ((total_m, "BM"), (total_n, "BN"))
        grid = (tiles, *(((product_of(n for _, n in lanes), ""),) for _, lanes in self._beside()))
        return Kernel(self.name, function_text(self.name, parameters, body), grid, tuple(buffers), self.names.sizes,
                      self.names.numbers, constants, self.tile.num_warps, self.tile.num_stages)  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """What is fed as an operand: ``term`` in ``dtype``, the product still to be scaled by ``factors`` (mul or div)."""

    term: Term
    dtype: Dtype
    factors: tuple[tuple[str, Term], ...]


def _in_sum(term: Term) -> bool:
    return any(dim >= _SUMMED for dim in term.lanes)


def _fed(term: Term) -> Dtype | None:
    """The narrow type that ``term`` loses nothing in; None where there is none."""
    if term.op == "load":
        found = {"float16": dt.FLOAT16, "bfloat16": dt.BFLOAT16, "int8": dt.INT8}
        return found.get(term.kind)
    if term.op == "narrow":
        return {"float16": dt.FLOAT16, "bfloat16": dt.BFLOAT16}.get(term.kind)
    return None
