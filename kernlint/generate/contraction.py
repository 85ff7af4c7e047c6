"""What kernels have in common that make tiles of a product: its axes by what they do, their masks, what is beside the tiles in the grid,
and the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kernlint.generate.axes import Axes, Axis, flat_lane
from kernlint.generate.kernel import (
    MOST_BESIDE,
    WIDE,
    Kernel,
    NextPower,
    arguments,
    check_in_place,
    count_at,
    function_text,
    is_large,
    product_of,
)
from kernlint.generate.printer import Names, Printer
from kernlint.generate.product_tiles import fits
from kernlint.generate.reductions import zero_outside
from kernlint.generate.spelling import Spelled, wrapped
from kernlint.generate.terms import CHUNK, COLUMNS, Bounds, Buffer, Term, Terms
from kernlint.generate.values import CannotGenerate, Value, View, lane, looked_through
from kernlint.generate.work import Work
from kernlint.records import dataclass
from kernlint.rules.proofs.dot_tiles import MAX_EXACT_K
from kernlint.workload import Dtype, Expr, Size
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, lift

#: Where the lanes begin of rows, batches, the summed axis, and the one that is summed inside it.
ROWS, BATCH, SUMMED, DEPTH = 0, 2 * COLUMNS, 3 * COLUMNS, 4 * COLUMNS
#: The variables of the places along these, and of the condition under which they exist.
_PLACES = {ROWS: "rows", COLUMNS: "cols", SUMMED: "ks", DEPTH: "ds"}
_MASKS = {ROWS: "row_mask", COLUMNS: "col_mask", SUMMED: "k_mask", DEPTH: "d_mask"}


@dataclass(frozen=True)
class Kinds:
    """The axes of a product by what they do: those of the first operand alone are rows, of the second alone columns, of both
    batches. Each is a lane of the product with its extent."""

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]


def kinds_of(shape: Sequence[Size], first: set[int], second: set[int]) -> Kinds:
    """Of a product of ``shape`` whose operands depend on these lanes. Raises :class:`CannotGenerate` where an axis is in neither."""
    found: dict[str, list[Axis]] = {"batch": [], "rows": [], "columns": []}
    for dim, extent in enumerate(shape):
        if lift(extent).value == 1:
            continue
        if dim not in first and dim not in second:
            raise CannotGenerate("a product with an axis of neither operand")
        kind = "batch" if dim in first and dim in second else "rows" if dim in first else "columns"
        found[kind].append((dim, extent))
    return Kinds(*(tuple(found[kind]) for kind in ("batch", "rows", "columns")))


class Contraction:
    """What is known of the kernel of ``work``, whose product has axes of these ``kinds``."""

    def __init__(
        self,
        work: Work,
        name: str,
        buffer_of: Callable[[Value], Buffer | None],
        sizes: Mapping[Atom, float],
        kinds: Kinds,
    ) -> None:
        assert work.product is not None
        self.root = work.roots[0]
        self.work, self.product, self.name, self.sizes, self.kinds = work, work.product, name, sizes, kinds
        if not kinds.rows or not kinds.columns:
            raise CannotGenerate("a product with a vector")
        if dt.FLOAT64 in (work.product.dtype, *(view.value.dtype for view in work.product.operands)):
            raise CannotGenerate("a product of float64, which would be summed in float32")
        target = self.root.target
        self.terms = Terms(lambda value: None if value is target else buffer_of(value))
        #: The memory of what is stored: of parts of attention there are several.
        self.outs = [buffer for root in work.roots if (buffer := buffer_of(root.target)) is not None]
        self.out = self.outs[0]
        self.names = Names()
        #: Where the axes of the product are among the lanes of the kernel.
        self.places: list[Expr] = [lift(0)] * len(self.product.shape)
        lanes: set[int] = set()
        for part, first in ((kinds.batch, BATCH), (kinds.rows, ROWS), (kinds.columns, COLUMNS)):
            for number, (dim, _) in enumerate(part):
                self.places[dim] = lane(first + number)
                lanes.add(first + number)
        self.accumulator = Term("product", dt.FLOAT32, lanes=frozenset(lanes))
        at = looked_through(self.root.index, self.places)
        stored = [lane(CHUNK), *self.places] if work.chunks else at
        self.addresses = [_address(buffer, stored) for buffer in self.outs]
        self.address = self.addresses[0]
        self.bounds: Bounds = tuple(
            (low, looked_through((place,), self.places)[0], high) for low, place, high in self.root.bounds
        )
        if work.chunks:
            self.result = self.accumulator
            return
        self.terms.accumulators[id(self.product)] = self.accumulator
        self.result = self.terms.at(self.root.value, at, self.bounds)

    def lay_out(self, roots: Sequence[Term], summed: Mapping[int, Sequence[Size]]) -> None:
        """Find the axes of the kernel, which makes these ``roots`` beside its result and sums over the axes ``summed``."""
        kinds = self.kinds
        regions = {COLUMNS: kinds.columns, BATCH: kinds.batch}
        self.axes = Axes(
            [n for _, n in kinds.rows],
            {**{first: [n for _, n in part] for first, part in regions.items()}, **summed},
            [*roots, self.result, *self.terms.loaded.values()],
            self.addresses,
            self.terms.loaded,
        )
        check_in_place((t for one in (*roots, self.result) for t in one.walk()), self.out.name, self.address)
        self.axes.merge()
        for first in summed:
            self.axes.nearest_last(first, self.count)
        #: Axes of rows that get an axis of the grid: a tile then has neighbours in memory, and no division by the others' extent.
        self.outer: list[Axis] = []
        *others, last = self.axes.rows
        if others and fits(self.count(last[1])) and self.count(product_of(n for _, n in others)) <= MOST_BESIDE:
            self.outer, self.axes.rows = others, [last]
        self.height = product_of(n for _, n in self.axes.rows)
        self.width = product_of(n for _, n in kinds.columns)

    def count(self, size: Size) -> float:
        return count_at(size, self.sizes)

    @property
    def others(self) -> float:
        """How many places there are along what has an axis of the grid beside the tiles."""
        return self.count(product_of(extent for _, extent in (*self.kinds.batch, *self.outer)))

    @property
    def wide(self) -> str:
        buffers = [*self.terms.buffers.values(), *self.outs]
        return WIDE if any(is_large(self.count(product_of(one.value.shape))) for one in buffers) else ""

    # -- text -------------------------------------------------------------------------------------------------------

    def printer(self, words: Iterable[str]) -> Printer:
        """What writes the lines of the kernel, in which ``words`` are taken."""
        self.names.taken |= {f"{name}_ptr" for name in (*self.terms.buffers, *(one.name for one in self.outs))}
        self.names.taken |= {*_PLACES.values(), *_MASKS.values(), *words}
        uses: dict[int, int] = {}
        for term in self.result.walk(set()):
            for operand in term.operands:
                uses[id(operand)] = uses.get(id(operand), 0) + 1
        return Printer(
            self.terms, self.names, {}, lambda lanes: self.mask(lanes, ROWS, COLUMNS), uses, self.axes.spelled
        )

    def beside(self) -> list[tuple[str, list[Axis]]]:
        """What has an axis of the grid beside the tiles, and the lanes that its index runs through."""
        parts = [("batch", self.axes.columns[BATCH]), ("outer", self.outer)]
        found = [(name, lanes) for name, lanes in parts if lanes]
        return [*found, ("chunk", [(CHUNK, self.work.chunks)])] if self.work.chunks else found

    def place_beside(self, printer: Printer) -> None:
        for number, (name, lanes) in enumerate(self.beside(), 1):
            printer.lines.append(f"{name} = tl.program_id({number}){'' if name == 'chunk' else '.to(tl.int64)'}")
            self.names.taken.add(name)
            self._divide(printer, name, lanes)
            printer.single |= {dim for dim, _ in lanes}

    def spread(self, printer: Printer, down: int, along: int) -> Printer:
        """A printer for a tile that has the axes from lane ``down`` on as its rows, those from ``along`` on as its columns."""
        made = printer.scope()
        made.places = dict(printer.places)
        for first, suffix in ((down, "[:, None]"), (along, "[None, :]")):
            lanes = self.axes.rows if first == ROWS else self.axes.columns[first]
            self._divide(made, f"{_PLACES[first]}{suffix}", lanes)
        made.mask_of = lambda lanes: self.mask(lanes, down, along)
        return made

    def fed_tile(self, printer: Printer, term: Term, fed: Dtype, down: int, along: int, summed: int) -> str:
        """``term`` as a tile of these axes for the tensor core, in the type that it is ``fed``: zero where there is nothing ``summed``."""
        text = fed_text(printer, term, fed)
        other = along if summed == down else down
        spread = any(dim // COLUMNS * COLUMNS == other and dim != CHUNK for dim in term.lanes)
        if spread and zero_outside(term, summed):
            return text
        regions = ((down, "[:, None]"), (along, "[None, :]"))
        mask = " & ".join(f"{_MASKS[one]}{suffix}" for one, suffix in regions if one == summed or not spread)
        made = f"tl.where({mask}, {text}, {'0.0' if fed.is_float else '0'})"
        return made if term.lanes or fed == dt.FLOAT32 else f"{made}.to(tl.{fed})"

    def _divide(self, printer: Printer, flat: str, lanes: Sequence[Axis]) -> None:
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

    def mask(self, lanes: frozenset[int], down: int, along: int) -> str:
        """The condition under which places on ``lanes`` exist in a tile of these axes."""
        here = {self.axes.lane(dim) for dim in lanes} - {dim for dim, _ in self.outer}
        parts = []
        for first, suffix in ((down, "[:, None]"), (along, "[None, :]")):
            if any(dim // COLUMNS * COLUMNS == first and dim != CHUNK for dim in here):
                parts.append(f"{_MASKS[first]}{suffix}")
        return " & ".join(parts)

    def finish(self, printer: Printer, value: Spelled) -> None:
        """Write down what follows the product, which is ``value``, and store the result."""
        printer.known[id(self.accumulator)] = value
        term = self.result
        if term.op == "narrow" and term.kind == str(self.out.value.dtype):
            term = term.operands[0]  # which storing does
        last = self.spread(printer, ROWS, COLUMNS)
        text = last.spell(term)[0]
        mask = " & ".join(["row_mask[:, None] & col_mask[None, :]", *last.bounds(self.bounds)])
        pointer = f"{self.out.name}_ptr + {last.expression(self.address)[0]}"
        printer.lines += [*last.lines, f"tl.store({pointer}, {text}, mask={mask})"]

    def kernel(
        self,
        body: Sequence[str],
        constants: Mapping[str, int | NextPower],
        tiles: Sequence[tuple[Size, str]],
        num_warps: int,
        num_stages: int,
    ) -> Kernel:
        text = "\n".join(body)
        buffers = arguments(text, self.terms.buffers.values(), self.outs)
        parameters = [f"{buffer.name}_ptr" for buffer, _ in buffers]
        parameters += self.names.parameters()
        parameters += [f"{name}: tl.constexpr" for name in constants]
        grid = (tuple(tiles), *(((product_of(n for _, n in lanes), ""),) for _, lanes in self.beside()))
        return Kernel(self.name, function_text(self.name, parameters, body), grid, tuple(buffers), self.names.sizes,
                      self.names.numbers, constants, num_warps, num_stages)  # fmt: skip


def _narrow_type(term: Term) -> Dtype | None:
    """The narrow type that ``term`` loses nothing in; None where there is none."""
    if term.op == "load":
        return {"float16": dt.FLOAT16, "bfloat16": dt.BFLOAT16, "int8": dt.INT8}.get(term.kind)
    if term.op == "narrow":
        return {"float16": dt.FLOAT16, "bfloat16": dt.BFLOAT16}.get(term.kind)
    return None


def _address(buffer: Buffer, places: Sequence[Expr]) -> Expr:
    address = lift(0)
    for place, stride, extent in zip(places, buffer.strides, buffer.value.shape):
        address = address if lift(extent).value == 1 else address + place * stride
    return address


@dataclass(frozen=True)
class Operand:
    """What is fed as an operand: ``term`` in ``dtype``, the product still to be scaled by ``factors`` (mul or div)."""

    term: Term
    dtype: Dtype
    factors: tuple[tuple[str, Term], ...]


def operand_of(terms: Terms, view: View, places: Sequence[Expr]) -> Operand:
    """What ``view``, an operand of a product whose axes and summed axes are at ``places``, is fed as: without what does not change along
    the sum, where that leaves a narrow type; halves that are made of others are rounded as torch rounds them."""
    whole = term = terms.at(view.value, looked_through(view.index, places))
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
    exact, dtype = lossless(term)
    if dtype == dt.FLOAT32 and view.value.dtype in (dt.FLOAT16, dt.BFLOAT16):
        kind = view.value.dtype
        return Operand(terms.new("narrow", dt.FLOAT32, (whole,), kind=str(kind)), kind, ())
    return Operand(exact, dtype, tuple(factors))


def _in_sum(term: Term) -> bool:
    return any(dim >= SUMMED for dim in term.lanes)


def lossless(term: Term) -> tuple[Term, Dtype]:
    """``term`` before what it is widened by, and the narrow type that holds it there; as it is where none does."""
    exact = term
    while exact.op == "cast" and exact.dtype.is_float:
        exact = exact.operands[0]
    dtype = _narrow_type(exact)
    return (term, dt.FLOAT32 if term.dtype.is_float else term.dtype) if dtype is None else (exact, dtype)


def common_type(types: set[Dtype], depth: float) -> tuple[Dtype, str]:
    """What the tensor core is fed for sums of ``depth`` products of ``types``, and what ``tl.dot`` is told of it."""
    halves = {t for t in types if t.is_float and t.bits == 16}
    integers = {t for t in types if t.is_integer and t.bits == 8}
    if len(halves) == 1 and types == halves | integers:
        return next(iter(halves)), ""
    if types == {dt.INT8} and depth <= MAX_EXACT_K:
        return dt.INT8, ", out_dtype=tl.int32"
    if types <= {dt.FLOAT32} | halves | integers:
        return dt.FLOAT32, ', input_precision="tf32x3"'
    raise CannotGenerate("a product of types that no tensor core takes")


def fed_text(printer: Printer, term: Term, fed: Dtype) -> str:
    """``term`` in the type that the tensor core is fed; a number as it is."""
    if term.op == "load":
        text, source = printer.load(term, raw=True), term.kind
    elif term.op == "narrow":
        text, source = printer.spell(term.operands[0])[0], "float32"
    else:
        text, source = printer.spell(term)[0], str(term.dtype)
    if source == str(fed) or not term.lanes:
        return text
    whole = text.startswith("tl.load") or text.isidentifier()
    return f"{wrapped((text, 9 if whole else 0), 9)}.to(tl.{fed})"
