"""Matrix products in tiles, with what stands before and behind them in the same kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernlint.generate.contraction import (
    COLUMNS,
    ROWS,
    SUMMED,
    Contraction,
    common_type,
    kinds_of,
    operand_of,
)
from kernlint.generate.kernel import Kernel, product_of
from kernlint.generate.parts import GRAIN
from kernlint.generate.printer import Printer
from kernlint.generate.product_tiles import ProductForm
from kernlint.generate.spelling import Spelled, wrapped
from kernlint.generate.terms import Buffer
from kernlint.generate.tiles import Tiles
from kernlint.generate.values import Value, lane, lanes_of
from kernlint.generate.work import Work
from kernlint.workload.expr import Atom, lift

#: Rows of tiles that neighbouring programs walk together, so that they share operands in L2.
_GROUP = 8
#: What the lines of the kernel call things.
_WORDS = "pid pid_m pid_n acc start length last first height BM BN BK group product".split()


class ProductWriter(Contraction):
    """Writes the kernel of ``work``, which is built around a product."""

    def __init__(
        self,
        work: Work,
        name: str,
        buffer_of: Callable[[Value], Buffer | None],
        sizes: Mapping[Atom, float],
        tiles: Tiles,
    ) -> None:
        assert work.product is not None
        operands, over = work.product.operands, work.product.attributes["over"]
        first, second = (lanes_of(view.index) for view in operands)
        super().__init__(work, name, buffer_of, sizes, kinds_of(work.product.shape, first, second))
        summed = [lane(SUMMED + number) for number in range(len(over))]
        self.operands = [operand_of(self.terms, view, [*self.places, *summed]) for view in operands]
        factors = [factor for one in self.operands for _, factor in one.factors]
        self.lay_out([*(one.term for one in self.operands), *factors], {SUMMED: over})
        self.depth = product_of(over)
        m, n, k = map(self.count, (self.height, self.width, self.depth))
        self.fed, self.option = common_type({operand.dtype for operand in self.operands}, k)
        self.tile = tiles.of_product(ProductForm(m, n, k, self.others, self.fed.bits))
        #: Into how many parts the summed axis had better be cut, 0 where it need not be.
        self.chunks = 0 if work.chunks or self.tile.parts == 1 or self.fed.is_integer else self.tile.parts

    # -- text -------------------------------------------------------------------------------------------------------

    def write(self) -> Kernel:
        printer = self.printer(_WORDS)
        lines = printer.lines
        m, n, k = (printer.expression(lift(total))[0] for total in (self.height, self.width, self.depth))
        grid_m, grid_n = self.count(self.height) / self.tile.m, self.count(self.width) / self.tile.n
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
        self.place_beside(printer)
        lines += [
            f"rows = pid_m * BM + tl.arange(0, BM){self.wide}",
            f"cols = pid_n * BN + tl.arange(0, BN){self.wide}",
        ]
        lines += [f"row_mask = rows < {m}", f"col_mask = cols < {n}"]
        lines.append(f"acc = tl.zeros((BM, BN), dtype=tl.{'int32' if self.fed.is_integer else 'float32'})")
        first, last, bound = "0", k, k
        if self.work.chunks:
            lines += [
                f"length = tl.cdiv({k}, {GRAIN} * CHUNKS) * {GRAIN}",
                f"last = tl.minimum((chunk + 1) * length, {k})",
            ]
            first, last = "chunk * length", "last"
            # Where parts end with a step, nothing but the axis has an end: loads are wide where a mask is no minimum.
            bound = k if GRAIN % self.tile.k == 0 else last
        lines.append(f"for start in range({first}, {last}, BK):")
        inner = printer.scope()
        inner.lines += [f"ks = start + tl.arange(0, BK){self.wide}", f"k_mask = ks < {bound}"]
        texts = [self._load(inner, number) for number in (0, 1)]
        inner.lines.append(f"acc = tl.dot({texts[0]}, {texts[1]}, acc{self.option})")
        lines += [f"    {line}" for line in inner.lines]
        self._scale(printer)
        constants = {"BM": self.tile.m, "BN": self.tile.n, "BK": self.tile.k}
        if self.work.chunks:
            constants["CHUNKS"] = self.work.chunks
        tiles = ((self.height, "BM"), (self.width, "BN"))
        return self.kernel(lines, constants, tiles, self.tile.num_warps, self.tile.num_stages)

    def _load(self, inner: Printer, number: int) -> str:
        down, along = ((ROWS, SUMMED), (SUMMED, COLUMNS))[number]
        printer = self.spread(inner, down, along)
        text = self.fed_tile(printer, self.operands[number].term, self.fed, down, along, SUMMED)
        name = self.names.new(("a", "b")[number])
        inner.lines += [*printer.lines, f"{name} = {text}"]
        return name

    def _scale(self, printer: Printer) -> None:
        """Multiply the sum by what its operands have in common, and finish."""
        integer = self.fed.is_integer
        value: Spelled = ("acc.to(tl.float32)" if integer and self.product.dtype.is_float else "acc", 9)
        last = self.spread(printer, ROWS, COLUMNS)
        for op, factor in (one for operand in self.operands for one in operand.factors):
            value = (f"{value[0]} {'*' if op == 'mul' else '/'} {wrapped(last.spell(factor), 7)}", 6)
        printer.lines += last.lines
        if value[0] != "acc":
            name = "product" if integer else "acc"
            printer.lines.append(f"{name} = {value[0]}")
            value = (name, 9)
        self.finish(printer, value)
