"""Loops that sweep one row again and again become straight code on one tile that holds the row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.records import dataclass
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import LaunchSource, argument
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rewrite.tile_length import tile_length
from kernlint.rules.algorithm.kl505_repeated_row_pass import RowPasses, WholeRow, row_passes
from kernlint.syntax.walk import walk
from kernlint.workload.expr import Atom, Expr, LoopIndex, Size

#: What an accumulator starts from so that its first update is all that counts, by the way it is updated.
_NEUTRAL = {"sum": 0.0, "maximum": float("-inf"), "minimum": float("inf")}


@codemod(WholeRow, Effects("unsafe", "reordered", notes=("much longer rows would not fit on chip",)))
def whole_row(site: Site, transform: WholeRow) -> list[TextEdit]:
    """The block becomes the next power of two of the row; each loop's body stands once, and loads that repeat are shared."""
    place = LaunchSource(site, transform.launch)
    place.check_only_launch()
    found = row_passes(place.launch)
    if found is None or place.launch.autotuned:
        raise CannotRewrite("the block is chosen by an autotuner")
    loops = [site.source.at(loop.span, cst.For) for loop in found.loops]
    if any(all(loop is not line for line in place.kernel.body) for loop in loops):
        raise CannotRewrite("the loops stand in a helper function")
    row = _Row(site.source, place, found, loops)
    return [*row.kernel_edits(), *row.launch_edits(transform.num_warps)]


@dataclass
class _Load:
    """A load of the row that has a name: its text without ``other``, the name, and the value of masked lanes."""

    name: str
    other: str


@dataclass
class _Row:
    source: Source
    place: LaunchSource
    found: RowPasses
    loops: list[cst.For]
    names: dict[str, str] = field(default_factory=dict)
    loads: dict[str, _Load] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    texts: dict[cst.CSTNode, str] = field(default_factory=dict)
    #: What each variable holds, and the storages that were stored to.
    held: dict[str, str] = field(default_factory=dict)
    stored: set[int | None] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.kernel = self.place.kernel
        self.block = tile_length(self.source, self.kernel, self.found.tile)
        self.stop = {self._bounds(loop) for loop in self.loops}
        if len(self.stop) != 1:
            raise CannotRewrite("the loops do not run over one range")
        self.taken = names_in_use(self.source.module)

    def _bounds(self, loop: cst.For) -> str:
        """The end of the range that ``loop`` steps through by blocks."""
        call = loop.iter
        args = [arg.value for arg in call.args if arg.keyword is None] if isinstance(call, cst.Call) else []
        plain = len(args) == 3 and isinstance(args[0], cst.Integer) and args[0].value == "0"
        if not plain or self.source.code(args[2]) != self.block or not isinstance(loop.target, cst.Name):
            raise CannotRewrite("a loop does not run over range(0, n, BLOCK)")
        if not isinstance(loop.body, cst.IndentedBlock) or loop.orelse is not None:
            raise CannotRewrite("a loop is not a plain block")
        self.variables.add(loop.target.value)
        return self.source.code(args[1])

    # -- the kernel -------------------------------------------------------------------------------------------------

    def kernel_edits(self) -> list[TextEdit]:
        """Each loop replaced by its body, with starts of sums that it makes needless gone."""
        edits: list[TextEdit] = []
        gone: list[cst.CSTNode] = []
        for loop in self.loops:
            lines: list[str] = []
            for statement in self._statements(loop):
                comments = [comment.text for comment in self.source.heading(statement)]
                text = self._statement(statement, loop, gone)
                trailing = [comment.text for comment in self.source.trailing(statement)]
                if text:
                    lines += [*comments, *text[:-1], text[-1] + "".join(f"  {one}" for one in trailing[:1])]
            indent = self.source.indent(self.source.start(loop))
            end = self.source.line_end(self.source.end(loop))
            body = "".join(f"{line}\n{indent}" for line in lines).removesuffix(indent)
            edits.append(TextEdit(self.source.start(loop), end, body, describes=True))
            if not lines:
                raise CannotRewrite("nothing would be left of a loop")
        edits += self.source.delete_statements(gone)
        inside = [self.source.range_of(loop) for loop in self.loops]
        for old, new in self.names.items():
            for read in self.kernel.reads(old):
                start = self.source.start(read)
                if not any(first <= start < last for first, last in inside):
                    edits.append(self.source.replace(read, new))
        return edits

    def _statements(self, loop: cst.For) -> Iterator[cst.CSTNode]:
        for line in loop.body.body:
            if not isinstance(line, cst.SimpleStatementLine):
                raise CannotRewrite("a loop's body branches")
            yield from line.body

    def _statement(self, statement: cst.CSTNode, loop: cst.For, gone: list[cst.CSTNode]) -> list[str]:
        """The lines that stand for one statement of a loop's body."""
        lines = self._shared_loads(statement)
        update = self._update(statement, loop)
        if update is not None:
            name, value, start, kind = update
            gone.append(start)
            return [*lines, f"{name} = {self._widened(name, value, kind)}"]
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
            text = self._render(statement.value)
            if isinstance(target, cst.Name) and text.isidentifier() and len(self._bindings(target.value)) == 1:
                self.names[target.value] = text
                return lines
            if isinstance(target, cst.Name) and self._repeated(target.value, text):
                return lines
        return [*lines, self._render(statement)]

    def _bindings(self, name: str) -> list[cst.CSTNode]:
        """The different things that ``name`` is given."""
        found: dict[str, cst.CSTNode] = {}
        for one in self.kernel.bindings(name):
            value = one.value if isinstance(one, cst.Assign) else None
            found.setdefault(self._key(value) if value is not None else str(id(one)), one)
        return list(found.values())

    def _key(self, node: cst.BaseExpression) -> str:
        text = self.source.code(node)
        for variable in self.variables:
            text = re.sub(rf"\b{variable}\b", "start", text)
        return " ".join(text.split())

    def _repeated(self, name: str, text: str) -> bool:
        """Whether a variable holds what ``text`` says already; then ``name`` becomes that one."""
        if len(self._bindings(name)) != 1:
            return False
        twin = next((other for other, held in self.held.items() if held == text), None)
        if twin is not None and all(len(self._bindings(word)) <= 1 for word in re.findall(r"[^\W\d]\w*", text)):
            if twin != name:
                self.names[name] = twin
            return True
        self.held[name] = text
        return False

    def _shared_loads(self, statement: cst.CSTNode) -> list[str]:
        """Names for the loads in ``statement``; the lines that make those which are new and wanted again."""
        lines = []
        for call in walk(statement):
            if not isinstance(call, cst.Call) or self.source.origin(call.func) not in (
                "triton.language.load", "triton.language.store",
            ):  # fmt: skip
                continue
            store = self.source.origin(call.func) == "triton.language.store"
            pointer, mask = argument(call, "pointer", 0), argument(call, "mask", 2 if store else 1)
            other = None if store else argument(call, "other", 2)
            if pointer is None:
                raise CannotRewrite("an access of the row unpacks its arguments")
            block = self.kernel.values.get(pointer)
            if isinstance(block, Block) and not block.shape:
                continue
            if mask is None:
                raise CannotRewrite("an access of the row has no mask, which the longer tile needs")
            tensor = self.place.launch.tensor(block.base) if isinstance(block, Block) else None
            storage = tensor.storage.id if tensor is not None else None
            if store:
                self.stored.add(storage)
                continue
            if storage in self.stored:
                raise CannotRewrite("a loop reads again what an earlier one has stored")
            key = (
                self._place_of(block, self.kernel.values.get(mask))
                or f"{self._render(pointer)}, mask={self._render(mask)}"
            )
            neutral = self._render(other) if other is not None else ""
            known = self.loads.get(key)
            if known is None:
                direct = isinstance(statement, cst.Assign) and statement.value is call
                target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
                if direct and isinstance(target, cst.Name) and len(self._bindings(target.value)) == 1:
                    self.loads[key] = _Load(target.value, neutral)
                    continue
                base = block.base if isinstance(block, Block) else "row"
                name = fresh_name(f"{base.removesuffix('_ptr')}_row", self.taken)
                lines.append(f"{name} = {self._render(call)}")
                self.loads[key] = _Load(name, neutral)
                self.texts[call] = name
            elif known.other == neutral or not neutral:
                self.texts[call] = known.name
            else:
                self.texts[call] = f"{self.place.tl}.where({self._render(mask)}, {known.name}, {neutral})"
        return lines

    def _place_of(self, pointer: object, mask: object) -> str:
        """What tells the elements that a load takes, however it is written; empty where its address or mask was not followed."""
        if not isinstance(pointer, Block) or pointer.expr is None or not pointer.expr.is_followed:
            return ""
        if not isinstance(mask, Block) or not mask.bounds or mask.partly:
            return ""
        loops: dict[Atom, Size] = {LoopIndex(loop.id): Expr.atom(LoopIndex(0)) for loop in self.found.loops}
        bounds = sorted(str((right - left).substitute(loops)) for left, right in mask.bounds)
        return f"{pointer.base}[{pointer.expr.substitute(loops)}], {bounds}"

    # -- accumulators -----------------------------------------------------------------------------------------------

    def _update(self, statement: cst.CSTNode, loop: cst.For) -> tuple[str, cst.BaseExpression, cst.Assign, str] | None:
        """(variable, value, first assignment, kind) where a statement takes a value into a variable that starts from a
        neutral one."""
        name = value = kind = None
        if isinstance(statement, cst.AugAssign) and isinstance(statement.operator, cst.AddAssign):
            if isinstance(statement.target, cst.Name):
                name, value, kind = statement.target.value, statement.value, "sum"
        elif isinstance(statement, cst.Assign) and isinstance(statement.targets[0].target, cst.Name):
            target, right = statement.targets[0].target.value, statement.value
            sides: list[cst.BaseExpression] = []
            if isinstance(right, cst.BinaryOperation) and isinstance(right.operator, cst.Add):
                sides, kind = [right.left, right.right], "sum"
            elif isinstance(right, cst.Call):
                kind = (self.source.origin(right.func) or "").removeprefix("triton.language.")
                sides = [arg.value for arg in right.args] if kind in _NEUTRAL else []
            others = [side for side in sides if not (isinstance(side, cst.Name) and side.value == target)]
            if len(sides) == 2 and len(others) == 1:
                name, value = target, others[0]
        if name is None or value is None or kind is None:
            return None
        start = self._neutral_start(name, kind, loop)
        reads = [read for read in walk(loop.body) if isinstance(read, cst.Name) and read.value == name]
        own = [read for read in walk(statement) if isinstance(read, cst.Name) and read.value == name]
        return (name, value, start, kind) if start is not None and len(reads) == len(own) else None

    def _neutral_start(self, name: str, kind: str, loop: cst.For) -> cst.Assign | None:
        before = [
            one
            for one in self.kernel.bindings(name)
            if isinstance(one, cst.Assign) and self.source.end(one) <= self.source.start(loop)
        ]
        if len(before) != 1 or not isinstance(before[0].targets[0].target, cst.Name):
            return None
        between = self.source.end(before[0]), self.source.start(loop)
        if any(between[0] < self.source.start(read) < between[1] for read in self.kernel.reads(name)):
            return None
        value = before[0].value
        if isinstance(value, cst.Call):
            origin = (self.source.origin(value.func) or "").rpartition(".")[2]
            if origin == "zeros":
                return before[0] if kind == "sum" else None
            fill = value.args[1].value if origin == "full" and len(value.args) > 1 else None
            return before[0] if fill is not None and self._number(fill) == _NEUTRAL[kind] else None
        return before[0] if self._number(value) == _NEUTRAL[kind] else None

    def _number(self, node: cst.BaseExpression) -> float | None:
        value = self.kernel.values.get(node)
        if isinstance(value, (int, float)):
            return float(value)
        return value.constant if isinstance(value, Block) else None

    def _widened(self, name: str, value: cst.BaseExpression, kind: str) -> str:
        """``value`` in the type that the accumulator has."""
        text = self._render(value)
        block = self.kernel.values.get(value)
        dtype = block.dtype if isinstance(block, Block) else None
        if kind == "sum" and dtype is not None and dtype.is_float and dtype.bits < 32:
            atom = isinstance(value, (cst.Name, cst.Call))
            return f"{text if atom else f'({text})'}.to({self.place.tl}.float32)"
        return text

    # -- text -------------------------------------------------------------------------------------------------------

    def _render(self, node: cst.CSTNode) -> str:
        """The text of ``node`` with the loops' variables zero and with the names of what stands for it."""
        start, end = self.source.range_of(node)
        pieces, position = [], start
        for first, last, text in sorted(self._changes(node)):
            pieces += [self.source.text[position:first], text]
            position = last
        return "".join([*pieces, self.source.text[position:end]])

    def _changes(self, node: cst.CSTNode) -> Iterator[tuple[int, int, str]]:
        if node in self.texts:
            yield (*self.source.range_of(node), self.texts[node])
        elif isinstance(node, cst.Name) and self.kernel.is_variable(node):
            if node.value in self.variables:
                yield (*self.source.range_of(node), "0")
            elif node.value in self.names:
                yield (*self.source.range_of(node), self.names[node.value])
        elif isinstance(node, cst.BinaryOperation) and self._mentions(node):
            text = self._sum(node)
            simple = text is None or text.isidentifier()
            yield (*(self.source.whole(node) if simple else self.source.range_of(node)), "0" if text is None else text)
        else:
            for child in node.children:
                attribute = isinstance(node, cst.Attribute) and child is node.attr
                keyword = isinstance(node, cst.Arg) and child is node.keyword
                if not attribute and not keyword:
                    yield from self._changes(child)

    def _mentions(self, node: cst.CSTNode) -> bool:
        return any(isinstance(inner, cst.Name) and inner.value in self.variables for inner in walk(node))

    def _sum(self, node: cst.BaseExpression) -> str | None:
        """The text of a sum or product with the loops' variables zero; None where nothing is left."""
        if isinstance(node, cst.Name) and node.value in self.variables:
            return None
        if not isinstance(node, cst.BinaryOperation) or not self._mentions(node):
            text = self._render(node)
            return f"({text})" if node.lpar and not text.isidentifier() else text
        left, right = self._sum(node.left), self._sum(node.right)
        if isinstance(node.operator, cst.Add) and (left is None or right is None):
            return left or right
        if isinstance(node.operator, cst.Subtract) and right is None:
            return left
        if isinstance(node.operator, cst.Multiply) and (left is None or right is None):
            return None
        operator = self.source.text[self.source.whole(node.left)[1] : self.source.whole(node.right)[0]]
        text = f"{left or '0'}{operator}{right or '0'}"
        return f"({text})" if node.lpar else text

    # -- the launch -------------------------------------------------------------------------------------------------

    def launch_edits(self, num_warps: int) -> list[TextEdit]:
        """The block of the whole row and its warps, at the launch."""
        arg = self.place.argument(self.block)
        if arg is None:
            raise CannotRewrite(f"the launch does not say what `{self.block}` is")
        (stop,) = self.stop
        names = [param.name.value for param in self.kernel.node.params.params]
        length = self.place.argument(stop) if stop in names else None
        text = str(self.found.whole)
        if length is not None and not isinstance(length.value, cst.Integer):
            text = f"{self.place.triton}.next_power_of_2({self.source.code(length.value)})"
        edits = [self.source.replace(arg.value, text)]
        if num_warps != self.place.launch.num_warps:
            edits += self.source.set_argument(self.place.call, "num_warps", str(num_warps))
        return edits
