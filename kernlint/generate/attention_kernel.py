"""Attention: tiles of rows that go through the keys once, with the maximum and the sum of their exponentials beside what is added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kernlint.generate.contraction import (
    COLUMNS,
    DEPTH,
    ROWS,
    SUMMED,
    Contraction,
    common_type,
    kinds_of,
    lossless,
)
from kernlint.generate.kernel import Kernel, NextPower, next_power
from kernlint.generate.parts import GRAIN
from kernlint.generate.printer import Printer
from kernlint.generate.product_tiles import attention_parts, attention_tile
from kernlint.generate.reductions import LEAST
from kernlint.generate.spelling import wrapped
from kernlint.generate.terms import Buffer, Term
from kernlint.generate.values import Value, lane, lanes_of, looked_through
from kernlint.generate.work import Work
from kernlint.records import dataclass
from kernlint.workload import Dtype, Expr, Lane, Symbol
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, lift

#: What the lines of the kernel call things.
_WORDS = "pid_m values top total new_top shift scale low above acc start first last length BM BN BD BV".split()
#: And those of each inner product.
_BY_PRODUCT = ("query", "keys", "scores")
#: The sizes of the least blocks that the tensor core takes.
_SIDE = 16


@dataclass(frozen=True)
class _Inner:
    """A product that the scores are made of: what stands for it, and what the tensor core is fed for it."""

    score: Term
    query: Term
    keys: Term
    fed: Dtype
    option: str

    @property
    def suffix(self) -> str:
        return f"_{self.score.number + 1}" if self.score.number else ""


class AttentionWriter(Contraction):
    """Writes the kernel of ``work``, which is built around attention."""

    def __init__(
        self, work: Work, name: str, buffer_of: Callable[[Value], Buffer | None], sizes: Mapping[Atom, float]
    ) -> None:
        assert work.product is not None
        scores, values, *inner = work.product.operands
        self.softmax = bool(work.product.attributes["softmax"])
        first, second = (
            lanes_of([place for view in (scores, *inner) for place in view.index]),
            lanes_of([place for view in (values, *inner[1::2]) for place in view.index]),
        )
        super().__init__(work, name, buffer_of, sizes, kinds_of(work.product.shape, first, second))
        places = (*self.places, lane(SUMMED), lane(DEPTH))
        rows = {dim for place in self.places for dim in lanes_of((place,)) if dim < COLUMNS or dim >= 2 * COLUMNS}
        over = work.product.attributes["over"]
        self.count_keys, self.depth = over
        seen = [lossless(self.terms.at(view.value, looked_through(view.index, places))) for view in (values, *inner)]
        self.values = seen[0]
        self.inner: list[_Inner] = []
        for number, place in enumerate(work.product.attributes["scores"]):
            score = Term("product", dt.FLOAT32, lanes=frozenset({*rows, SUMMED}), number=number)
            self.terms.accumulators[id(place)] = score
            query, keys = seen[1 + 2 * number], seen[2 + 2 * number]
            # Where torch has rounded an operand, so is it here.
            asked = {_held(query, inner[2 * number].value), _held(keys, inner[2 * number + 1].value)}
            fed, option = common_type(asked, self.count(self.depth))
            self.inner.append(_Inner(score, query[0], keys[0], fed, option))
        #: What takes a share beside the scores, and adds nothing.
        self.sink = seen[-1][0] if len(inner) > 2 * len(self.inner) else None
        self.scores = self.terms.at(scores.value, looked_through(scores.index, places))
        self.lay_out([self.scores, *(term for term, _ in seen)], {SUMMED: over[:1], DEPTH: over[1:]})
        weights = {work.product.attributes["weights"], _held(self.values, values.value)}
        self.added, self.added_option = common_type(weights, self.count(self.count_keys))
        moved = self.added
        if self.added == dt.FLOAT32 and work.product.attributes.get("rounded"):
            # The ten bits of a half, and halves until the tensor core is fed.
            moved, self.added_option = self.values[1], ', input_precision="tf32"'
        held = max(next_extent(self.count(self.depth)) * len(self.inner), next_extent(self.count(self.width)))
        types = {one.fed for one in self.inner} | {moved}
        bits = moved.bits if len(types) == 1 else 32
        self.tile = attention_tile(self.count(self.height), self.count(self.count_keys), held, bits)
        programs = -(-self.count(self.height) // self.tile.m) * self.others
        #: Into how many parts the keys had better be cut, 0 where they need not be.
        whole = work.chunks or self.sink is not None
        self.chunks = 0 if whole else attention_parts(programs, self.count(self.count_keys))

    def write(self) -> Kernel:
        printer = self.printer([*_WORDS, *(f"{word}{one.suffix}" for one in self.inner for word in _BY_PRODUCT)])
        lines = printer.lines
        extents = (self.height, self.count_keys, self.width, self.depth)
        m, n, width, depth = (printer.expression(lift(total))[0] for total in extents)
        first, last = self._limits(printer, n)
        backwards = last != n
        lines.append(f"pid_m = {'tl.num_programs(0) - 1 - ' if backwards else ''}tl.program_id(0)")
        self.place_beside(printer)
        lines += [f"rows = pid_m * BM + tl.arange(0, BM){self.wide}", f"cols = tl.arange(0, BV){self.wide}"]
        lines += [f"ds = tl.arange(0, BD){self.wide}", f"row_mask = rows < {m}", f"col_mask = cols < {width}"]
        lines.append(f"d_mask = ds < {depth}")
        for one in self.inner:
            self._load(printer, f"query{one.suffix}", one.query, ROWS, DEPTH, one.fed)
        if self.sink is not None:
            beside = self.spread(printer, ROWS, COLUMNS)
            text = wrapped(beside.spell(self.sink), 6)
            lines += [*beside.lines, f"top = tl.zeros((BM, 1), dtype=tl.float32) + {text}"]
            lines.append(f"total = tl.where(top > {LEAST}, 1.0, 0.0)")
        elif self.softmax:
            lines += [
                f"top = tl.full((BM, 1), {LEAST}, dtype=tl.float32)",
                "total = tl.zeros((BM, 1), dtype=tl.float32)",
            ]
        lines.append("acc = tl.zeros((BM, BV), dtype=tl.float32)")
        if first != "0":
            lines.append(f"first = {first}")
        if last != n:
            lines.append(f"last = {last}")
        if self.work.chunks:
            lines.append(f"length = tl.cdiv({n}, {GRAIN} * CHUNKS) * {GRAIN}")
            first = "chunk * length" if first == "0" else "tl.maximum(first, chunk * length)"
            lines.append(f"last = tl.minimum((chunk + 1) * length, {n if last == n else 'last'})")
            last = "last"
        else:
            first, last = "0" if first == "0" else "first", n if last == n else "last"
        lines.append(f"for start in range({first}, {last}, BN):")
        inner = printer.scope()
        self._step(inner, last if self.work.chunks else n)
        lines += [f"    {line}" for line in inner.lines]
        constants: dict[str, int | NextPower] = {"BM": self.tile.m, "BN": self.tile.k}
        constants |= {"BD": next_power(self.depth, _SIDE), "BV": next_power(self.width, _SIDE)}
        tiles = ((self.height, "BM"),)
        if self.work.chunks:
            self._store_parts(printer)
            constants["CHUNKS"] = self.work.chunks
            return self.kernel(lines, constants, tiles, self.tile.num_warps, self.tile.num_stages)
        if self.softmax:
            total = "tl.where(total > 0.0, total, 1.0)" if self.product.attributes["guarded"] else "total"
            lines.append(f"acc = acc / {total}")
        self.finish(printer, ("acc", 9))
        return self.kernel(lines, constants, tiles, self.tile.num_warps, self.tile.num_stages)

    def _store_parts(self, printer: Printer) -> None:
        """Store what the keys of a part add up to, their maximum and the sum of their exponentials."""
        last = self.spread(printer, ROWS, COLUMNS)
        for root, buffer, address in zip(self.work.roots, self.outs, self.addresses):
            state = root.target.attributes["state"]
            mask = "row_mask[:, None]" + (" & col_mask[None, :]" if state == "acc" else "")
            pointer = f"{buffer.name}_ptr + {last.expression(address)[0]}"
            printer.lines.append(f"tl.store({pointer}, {state}, mask={mask})")

    def _step(self, inner: Printer, n: str) -> None:
        """What is done with the keys of one step."""
        inner.lines += [f"ks = start + tl.arange(0, BN){self.wide}", f"k_mask = ks < {n}"]
        for one in self.inner:
            self._load(inner, f"keys{one.suffix}", one.keys, DEPTH, SUMMED, one.fed)
            inner.lines.append(f"scores{one.suffix} = tl.dot(query{one.suffix}, keys{one.suffix}{one.option})")
        printer = self.spread(inner, ROWS, SUMMED)
        printer.known |= {id(one.score): (f"scores{one.suffix}", 9) for one in self.inner}
        text = printer.spell(self.scores)[0]
        inner.lines += printer.lines
        if not self.softmax:
            inner.lines.append(f"above = tl.where(k_mask[None, :], {text}, 0.0)")
            self._add(inner, "acc")
            return
        inner.lines += [
            f"low = tl.where(k_mask[None, :], {text}, {LEAST})",
            "new_top = tl.maximum(top, tl.max(low, axis=1)[:, None])",
            # Where nothing but minus infinity was met yet there is nothing to subtract.
            f"shift = tl.where(new_top > {LEAST}, new_top, 0.0)",
            "scale = tl.exp(top - shift)",
            "above = tl.exp(low - shift)",
            "total = total * scale + tl.sum(above, axis=1)[:, None]",
        ]
        self._add(inner, "acc * scale")
        inner.lines.append("top = new_top")

    def _add(self, inner: Printer, before: str) -> None:
        """Add up the values of a step."""
        self._load(inner, "values", self.values[0], SUMMED, COLUMNS, self.added)
        above = "above" if self.added == dt.FLOAT32 else f"above.to(tl.{self.added})"
        inner.lines.append(f"acc = tl.dot({above}, values, {before}{self.added_option})")

    def _load(self, printer: Printer, name: str, term: Term, down: int, along: int, fed: Dtype) -> None:
        inner = self.spread(printer, down, along)
        text = self.fed_tile(inner, term, fed, down, along, SUMMED if along == COLUMNS else DEPTH)
        printer.lines += [*inner.lines, f"{name} = {text}"]

    def _limits(self, printer: Printer, n: str) -> tuple[str, str]:
        """The first key that any row of a tile looks at, and where they end."""
        first, last = "0", n
        if len(self.kinds.rows) != 1:
            return first, last
        row, key = Lane(ROWS), Lane(SUMMED)
        for term in _kept(self.scores) if self.softmax else _counted(self.scores):
            for reach in _reaches(term):
                of_row, of_key = (reach.coefficient(one) for one in (row, key))
                rest = reach.substitute({row: 0, key: 0})
                if of_row is None or of_key is None or not all(isinstance(one, Symbol) for one in rest.atoms()):
                    continue
                # reach >= 0: below the end of the tile for -key + row + rest, from its beginning on for key - row + rest.
                text = printer.expression(rest)
                if of_key == -1 and of_row == 1:
                    end = "(pid_m + 1) * BM" + (f" + {wrapped(text, 6)}" if rest.terms else "")
                    last = f"tl.minimum({last}, {end})"
                elif of_key == 1 and of_row == -1:
                    begin = "pid_m * BM" + (f" - {wrapped(text, 6)}" if rest.terms else "")
                    begin = f"tl.maximum({begin}, 0) // BN * BN"
                    first = begin if first == "0" else f"tl.maximum({first}, {begin})"
        return first, last


def next_extent(extent: float) -> float:
    """The least block that holds ``extent``."""
    return float(max(_SIDE, 1 << (int(extent) - 1).bit_length()))


def _held(term: tuple[Term, Dtype], value: Value) -> Dtype:
    """The type that an operand is fed in: the one that holds it, or that torch has it in."""
    return value.dtype if value.dtype.bits < term[1].bits else term[1]


# -- which keys a row does not look at -------------------------------------------------------------------------------


def _kept(term: Term) -> Iterator[Term]:
    """Conditions without which ``term`` is minus infinity."""
    if term.op in ("add", "sub"):
        for operand in term.operands if term.op == "add" else term.operands[:1]:
            yield from _kept(operand)
    elif term.op in ("cast", "narrow"):
        yield from _kept(term.operands[0])
    elif term.op == "where":
        yield from _of_choice(term, _is_least, _kept)


def _counted(term: Term) -> Iterator[Term]:
    """Conditions without which ``term`` is zero, as long as what it is made of is finite."""
    if term.dtype.kind == "bool":
        yield from _parts(term, True)
    elif term.op in ("cast", "narrow", "neg", "square", "div"):
        yield from _counted(term.operands[0])
    elif term.op == "mul":
        for operand in term.operands:
            yield from _counted(operand)
    elif term.op == "exp":
        yield from _kept(term.operands[0])
    elif term.op == "where":
        yield from _of_choice(term, _is_zero, _counted)


def _of_choice(
    choice: Term, is_nothing: Callable[[Term], bool], conditions: Callable[[Term], Iterator[Term]]
) -> Iterator[Term]:
    """Conditions without which ``choice`` is what ``is_nothing`` holds of; ``conditions`` are those of what is chosen else."""
    test, first, second = choice.operands
    if is_nothing(second):
        yield from (*_parts(test, True), *conditions(first))
    elif is_nothing(first):
        yield from (*_parts(test, False), *conditions(second))


def _is_zero(term: Term) -> bool:
    term = _bare(term)
    return term.op == "number" and isinstance(term.number, (int, float)) and term.number == 0


def _is_least(term: Term) -> bool:
    term = _bare(term)
    if term.op == "neg":
        return term.operands[0].op == "number" and term.operands[0].number == float("inf")
    return term.op == "number" and isinstance(term.number, float) and term.number == float("-inf")


_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


def _parts(test: Term, holds: bool) -> Iterator[Term]:
    """Comparisons that all hold where ``test`` does, or does not, as ``holds`` says."""
    joined = ("logical_and", "bitwise_and") if holds else ("logical_or", "bitwise_or")
    if test.op in joined and test.dtype.kind == "bool":
        for operand in test.operands:
            yield from _parts(operand, holds)
    elif test.op in ("logical_not", "bitwise_not") and test.operands[0].dtype.kind == "bool":
        yield from _parts(test.operands[0], not holds)
    elif test.op == "cast" and test.dtype.kind == "bool" and test.operands[0].dtype.kind == "bool":
        yield from _parts(test.operands[0], holds)
    elif test.op in ("where", "eq", "ne"):
        found = _chosen(test)
        if found is not None:
            yield from _parts(found[0], holds == found[1])
    elif test.op in _OPPOSITE:
        yield test if holds else Term(_OPPOSITE[test.op], test.dtype, test.operands)


def _chosen(test: Term) -> tuple[Term, bool] | None:
    """The condition that decides ``test``, a choice of numbers that may be held against another, and whether it has to hold."""
    choice, *others = (_bare(one) for one in test.operands) if test.op != "where" else (test,)
    if choice.op != "where" or choice.operands[0].dtype.kind != "bool":
        return None
    ways = [_bare(one) for one in choice.operands[1:]]
    if any(one.op != "number" or type(one.number) not in (int, float, bool) for one in (*ways, *others)):
        return None
    first, second = (one.number == others[0].number if others else bool(one.number) for one in ways)
    return None if first == second else (choice.operands[0], first == (test.op != "ne"))


def _bare(term: Term) -> Term:
    while term.op in ("cast", "narrow"):
        term = term.operands[0]
    return term


def _reaches(test: Term) -> list[Expr]:
    """What is not below zero where the comparison ``test`` holds, over places."""
    low, high = test.operands if test.op in ("lt", "le") else reversed(test.operands)
    less = 1 if test.op in ("lt", "gt") else 0
    end = _sum(high)
    if low.op == "abs" and end is not None:
        inner = _sum(low.operands[0])
        return [] if inner is None else [end - inner - less, end + inner - less]
    begin = _sum(low)
    return [] if begin is None or end is None else [end - begin - less]


def _sum(term: Term) -> Expr | None:
    """``term``, a whole number made of places by adding, as an expression; floats hold these as they are."""
    if term.op == "place":
        return term.address
    if term.op == "number":
        number = int(term.number) if isinstance(term.number, float) and term.number.is_integer() else term.number
        return lift(number) if isinstance(number, (int, Expr)) and not isinstance(number, bool) else None
    if term.op == "cast":
        return _sum(term.operands[0])
    if term.op in ("add", "sub"):
        first, second = (_sum(operand) for operand in term.operands)
        if first is None or second is None:
            return None
        return first + second if term.op == "add" else first - second
    return None
