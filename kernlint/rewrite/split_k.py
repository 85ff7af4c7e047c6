"""A matmul with few tiles shares each tile's K between several programs; a second kernel adds their partial sums."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.records import dataclass
from kernlint.rewrite.comments import text_of
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import FunctionSource, LaunchSource, Line, argument, callee, parameters
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.slicing import names_bound, names_read, needed_for
from kernlint.rewrite.text import MAX_LINE, CannotRewrite, TextEdit, outside_brackets, single_blanks, wrapped
from kernlint.rules.proofs.source_text import carried_names
from kernlint.rules.tiling.kl203_underfilled_grid import SplitK
from kernlint.syntax.walk import walk
from kernlint.workload import Atomic, Dot, Loop, Store, Tensor, concrete

#: Elements of a tile of the kernel that adds the partial sums.
_TILE = 512
_LEAST_EXTENT = 16
#: Offsets beyond which a product of 32-bit integers is computed in 64 bits.
_LARGE = 2**30


@codemod(SplitK, Effects(numerics="reordered", memory="more"))
def split_k(site: Site, transform: SplitK) -> list[TextEdit]:
    """The grid gets an axis of ``split`` programs a tile; each walks its share of the K loop and stores its accumulator to
    a scratch buffer [split, ...] in the layout of the output. A new kernel adds the parts and does the rest.
    """
    place = LaunchSource(site, transform.launch)
    place.check_only_launch()
    place.check_one_launch()
    if place.launch.autotuned:
        raise CannotRewrite("the kernel is autotuned, and the one that adds the parts needs configurations of its own")
    return _Rewrite(place, transform.split).edits()


@dataclass(frozen=True)
class _Stepped:
    """A variable that the loop moves by ``step`` each iteration."""

    name: str
    step: cst.BaseExpression


class _Rewrite:
    def __init__(self, place: LaunchSource, split: int) -> None:
        self.place = place
        self.kernel = place.kernel
        self.source = place.source
        self.split = split
        self.editor = Editor(place.source)
        self.loop = self._loop()
        position = self.kernel.top_level(self.loop)
        self.before = [line for line in self.kernel.body[:position] if text_of(line) is None]
        self.after = self.kernel.body[position + 1 :]
        self.accumulator, self.initial, self.stepped = self._carried()
        self.store, self.output = self._store()
        self.base = self._base()
        self.tl = place.tl
        self.parts = self.kernel.free_name("part_ptr" if self.output.endswith("_ptr") else f"{self.output}_parts")
        self.stride = self.kernel.free_name("stride_part")
        self.constexpr = self.kernel.free_name("SPLIT_K")

    def edits(self) -> list[TextEdit]:
        # What the address and mask of the output need has to come before the partial sums are added.
        places = names_read(self.kernel, self._pointer()) | names_read(self.kernel, self._mask() or cst.Pass())
        addressing = needed_for(self.kernel, self.after, places)
        for line in addressing:
            if not isinstance(line, cst.SimpleStatementLine):
                raise CannotRewrite("the address of the output is computed in a branch")
        typed = [read for line in addressing for read in walk(line) if read in self.kernel and read is not self.base]
        if any(isinstance(read, cst.Name) and read.value == self.output for read in typed):
            raise CannotRewrite("the address of the output depends on its type")
        if any(self.accumulator in names_read(self.kernel, line) for line in addressing):
            raise CannotRewrite("the address of the output depends on the accumulator")
        self._share_loop()
        self._store_partial_sums(addressing)
        reduce_name = self.kernel.free_name(f"{self.kernel.node.name.value}_reduce")
        statements = self._reduction(addressing)
        kept = self._used_parameters(statements)
        self._insert_kernel(reduce_name, statements, kept)
        self._change_host(reduce_name, kept)
        return self.editor.edits

    # -- the loop ---------------------------------------------------------------------------------------------------

    def _loop(self) -> cst.For:
        loops = next((loops for _, loops in self.place.launch.kernel.walk(Dot)), ())
        node = self.place.module.at(loops[-1].span, cst.For) if loops else None
        if len(loops) != 1 or node is None or not any(node is line for line in self.kernel.body):
            raise CannotRewrite("the K loop is not a `for` loop of the kernel's own block")
        if any(loop is not loops[0] for loop in self.place.launch.kernel.nodes(Loop)):
            raise CannotRewrite("the kernel has more than one loop")
        call = node.iter
        if callee(call) != "range" or not isinstance(call, cst.Call) or not isinstance(node.target, cst.Name):
            raise CannotRewrite("the K loop does not count with range or tl.range")
        if any(isinstance(inner, (cst.Break, cst.Continue, cst.Return)) for inner in walk(node.body)):
            raise CannotRewrite("the K loop can be left early")
        return node

    def _carried(self) -> tuple[str, cst.BaseExpression, list[_Stepped]]:
        """The accumulator with its first value, and the other variables that the loop moves."""
        stepped = []
        accumulators = []
        for name in sorted(carried_names(self.loop)):
            updates = [b for b in self.kernel.bindings(name) if any(b is inner for inner in walk(self.loop))]
            if len(updates) != 1:
                raise CannotRewrite(f"`{name}` is changed in more than one place of the loop")
            step = self._step(name, updates[0])
            if step is not None:
                stepped.append(_Stepped(name, step))
            elif self._sums(name, updates[0]):
                accumulators.append(name)
            else:
                raise CannotRewrite(f"`{name}` is carried by the loop and is no plain sum")
        if len(accumulators) != 1:
            raise CannotRewrite("the loop does not have one accumulator")
        (accumulator,) = accumulators
        outside = [b for b in self.kernel.bindings(accumulator) if not any(b is inner for inner in walk(self.loop))]
        earlier = [one for one in outside if self.kernel.top_level(one) <= self._position]
        first = earlier[0] if len(earlier) == 1 else None
        initial = first.value if isinstance(first, cst.Assign) else None
        if initial is None or callee(initial) != "zeros":
            raise CannotRewrite(f"`{accumulator}` does not start from zeros")
        return accumulator, initial, stepped

    @property
    def _position(self) -> int:
        return self.kernel.top_level(self.loop)

    def _step(self, name: str, update: cst.CSTNode) -> cst.BaseExpression | None:
        """``s`` where ``update`` is ``name += s`` of an address or index, with s the same in each iteration."""
        value = None
        if isinstance(update, cst.AugAssign) and isinstance(update.operator, cst.AddAssign):
            value = update.value
        elif isinstance(update, cst.Assign) and isinstance(update.value, cst.BinaryOperation):
            sides = update.value
            if isinstance(sides.operator, cst.Add) and getattr(sides.left, "value", None) == name:
                value = sides.right
        block = self.kernel.values.get(value) if value is not None else None
        moved = [self.kernel.values.get(node) for node in self.kernel.names(name)]
        is_place = any(
            isinstance(b, Block) and (b.base or (b.dtype and b.dtype.is_integer and not b.loads)) for b in moved
        )
        if value is None or not is_place or (isinstance(block, Block) and block.loads):
            return None
        inside = names_bound(self.kernel, self.loop)
        if names_read(self.kernel, value) & inside:
            raise CannotRewrite(f"`{name}` moves by a step that changes from one iteration to the next")
        return value

    def _sums(self, name: str, update: cst.CSTNode) -> bool:
        """Whether ``update`` adds something to ``name`` that does not depend on it."""
        reads = [node for node in self.kernel.reads(name) if any(node is inner for inner in walk(self.loop))]
        if isinstance(update, cst.AugAssign):
            return isinstance(update.operator, cst.AddAssign) and not reads
        if not isinstance(update, cst.Assign) or len(reads) != 1:
            return False
        value = update.value
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
            return reads[0] in (value.left, value.right)
        if callee(value) == "dot" and isinstance(value, cst.Call):
            return argument(value, "acc", 2) is reads[0]
        return False

    def _share_loop(self) -> None:
        """Each program walks ``steps`` iterations from ``first`` on."""
        call = self.loop.iter
        assert isinstance(call, cst.Call)
        bounds = [arg.value for arg in call.args if arg.keyword is None]
        if any(arg.star for arg in call.args) or not 1 <= len(bounds) <= 3:
            raise CannotRewrite("the bounds of the K loop are not written out")
        start, stop = (None, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        step = bounds[2] if len(bounds) == 3 else None
        if start is not None and self.editor.code(start) != "0":
            raise CannotRewrite("the K loop does not start at zero")
        if any(callee(inner) == "static_range" for inner in walk(call)):
            raise CannotRewrite("the K loop is unrolled")
        tl = self.tl
        first, steps = self.kernel.free_name("first_step"), self.kernel.free_name("steps")
        end = self.editor.code(stop)
        trips = f"{tl}.cdiv({end}, {self.editor.code(step)})" if step is not None else end
        axis = len(self.place.grid()[0])
        lines = [
            f"# this program's share of the {self.constexpr} that K is split into",
            f"{steps} = {tl}.cdiv({trips}, {self.constexpr})",
            f"{first} = {tl}.program_id({axis}) * {steps}",
        ]
        for one in sorted(self.stepped, key=lambda one: self.source.start(one.step)):
            count = f"{first}.to({tl}.int64)" if self._is_large(one) else first
            lines.append(f"{one.name} += {count} * {self.editor.operand(one.step)}")
        self.editor.insert_before(self.loop, lines, above_comments=True)
        size = f" * {self.editor.operand(step)}" if step is not None else ""
        last = f"({first} + {steps}){size}" if step is not None else f"{first} + {steps}"
        begin, whole = (start or stop), f"{first}{size}, {tl}.minimum({last}, {end})"
        self.editor.put(self.source.whole(begin)[0], self.source.whole(stop)[1], whole)

    def _is_large(self, one: _Stepped) -> bool:
        block = self.kernel.values.get(one.step)
        step = block if isinstance(block, int) else concrete(block.expr) if isinstance(block, Block) else None
        loop = next(loops[-1] for _, loops in self.place.launch.kernel.walk(Dot))
        trip = concrete(loop.trip)
        return step is None or trip is None or step * trip >= _LARGE

    # -- the output -------------------------------------------------------------------------------------------------

    def _store(self) -> tuple[cst.Call, str]:
        """The one store, and the parameter that it goes through."""
        nodes = self.place.launch.kernel.nodes((Store, Atomic))
        if len(nodes) != 1 or not isinstance(nodes[0], Store):
            raise CannotRewrite("the kernel does not end in one store")
        call = self.place.module.at(nodes[0].span, cst.Call)
        if call is None or call not in self.kernel or callee(call) != "store":
            raise CannotRewrite("the store stands in a helper function")
        if not any(self.kernel.line(call) is line for line in self.after):
            raise CannotRewrite("the store does not stand behind the K loop, in the kernel's own block")
        output = self.place.launch.arguments.get(nodes[0].base)
        if not isinstance(output, Tensor) or output.is_contiguous is not True or output.shape is None:
            raise CannotRewrite("the output is not known to be contiguous")
        return call, nodes[0].base

    def _base(self) -> cst.Name:
        """The one place where the output's pointer is used; behind the loop its type may be asked for too, as that moves along."""
        behind = {id(node) for line in self.after for node in walk(line)}
        pointers = [
            read
            for read in self.kernel.reads(self.output)
            if id(read) not in behind or not _asks_for_type(self.kernel, read)
        ]
        if len(pointers) != 1:
            raise CannotRewrite("the output's pointer is used in more than one place")
        return pointers[0]

    def _pointer(self) -> cst.BaseExpression:
        return self._stored("pointer", 0)

    def _stored(self, name: str, position: int) -> cst.BaseExpression:
        found = argument(self.store, name, position)
        if found is None:
            raise CannotRewrite(f"the store has no {name}")
        return found

    def _mask(self) -> cst.BaseExpression | None:
        return argument(self.store, "mask", 2)

    def _store_partial_sums(self, addressing: Sequence[Line]) -> None:
        """Behind the loop only the address of the output is left, in the scratch buffer, and the accumulator goes there."""
        for line in self.after:
            if self.kernel.line(self.store) is line:
                continue
            if not any(line is one for one in addressing):
                self.editor.delete(line)
        axis = len(self.place.grid()[0])
        at = f"{self.parts} + {self.tl}.program_id({axis}) * {self.stride}"
        self.editor.replace(self.base, at)
        stored = self._stored("value", 1)
        self.editor.replace_whole(stored, self.accumulator)
        param = next(p for p in parameters(self.kernel.node) if p.name.value == self.output)
        self.editor.replace(param.name, self.parts)
        self.editor.insert_behind(param, self.stride)
        self.editor.add_constexpr(parameters(self.kernel.node), self.constexpr, self.tl, self.split)

    # -- the kernel that adds -----------------------------------------------------------------------------------------

    def _reduction(self, addressing: Sequence[Line]) -> list[str]:
        """The lines of the new kernel's body, without indentation."""
        rest = [line for line in self.after if not any(line is one for one in addressing)]
        wanted = {name for line in [*addressing, *rest] for name in names_read(self.kernel, line)}
        wanted -= {self.accumulator}
        moved = names_bound(self.kernel, self.loop) & wanted
        if moved:
            raise CannotRewrite(f"`{min(moved)}` of the K loop is used behind it")
        before = needed_for(self.kernel, self.before, wanted)
        if any(self.accumulator in names_bound(self.kernel, line) for line in before):
            raise CannotRewrite("the accumulator is set together with other values")
        part = self.kernel.free_name("part")
        pointer = self._written_out(self._pointer())
        mask = self._mask()
        options = f", mask={self.editor.code(mask)}, other=0" if mask is not None else ""
        moved_up = [line for line in addressing if self.output not in names_read(self.kernel, line)]
        early = [text for line in before for text in self._text(line)]
        early += ["", *(text for line in moved_up for text in self._text(line))]
        late = [line for line in self.after if self._is_late(line, addressing)]
        return [
            *early,
            "",
            f"# add the partial sums of the {self.constexpr} programs of each tile",
            f"{self.accumulator} = {self.editor.code(self.initial)}",
            f"for {part} in {self.tl}.static_range({self.constexpr}):",
            *self._added(pointer.format(part=part), options),
            "",
            *(text for line in late for text in self._text(line)),
        ]

    def _added(self, pointer: str, options: str) -> list[str]:
        """The statement that adds a part, on two lines where it is long."""
        head = f"    {self.accumulator} += {self.tl}.load("
        if not options or len(head) + len(pointer) + len(options) <= MAX_LINE:
            return [f"{head}{pointer}{options})"]
        return [f"{head}{pointer},", " " * len(head) + options.removeprefix(", ") + ")"]

    def _is_late(self, line: Line, addressing: Sequence[Line]) -> bool:
        """Whether ``line`` comes behind the sum: not an address, except that of the output itself."""
        return not any(line is one for one in addressing) or self.output in names_read(self.kernel, line)

    def _written_out(self, node: cst.BaseExpression) -> str:
        """The address of a partial sum, with the variables of the output's own address written out."""
        for _ in range(10):
            if not isinstance(node, cst.Name):
                break
            definition = self.kernel.definition(node.value)
            if definition is None:
                raise CannotRewrite("the address of the output is changed in place")
            node = definition
        if not any(inner is self.base for inner in walk(node)):
            raise CannotRewrite("the address of the output is put together from several variables")
        start, end = self.source.range_of(node)
        first, last = self.source.range_of(self.base)
        text = self.source.text
        return f"{text[start:first]}{self.parts} + {{part}} * {self.stride}{text[last:end]}"

    def _text(self, statement: Line) -> list[str]:
        """The lines of a statement with its comments, without their indentation."""
        indent = self.source.indent_of(statement)
        text = self.source.text[slice(*self.source.with_heading(statement))]
        return [row.removeprefix(indent).rstrip() for row in text.splitlines()]

    def _used_parameters(self, lines: Sequence[str]) -> list[cst.Param]:
        words = set(re.findall(r"\w+", "\n".join(lines)))
        return [param for param in parameters(self.kernel.node) if param.name.value in words]

    def _insert_kernel(self, name: str, lines: Sequence[str], kept: Sequence[cst.Param]) -> None:
        node = self.kernel.node
        decorators = [self.editor.code(decorator) for decorator in node.decorators]
        items = [self.parts, self.stride]
        source = self.source
        declarations = {param: source.text[source.start(param) : source.item_end(param)] for param in kept}
        items += [text for param, text in declarations.items() if param.default is None]
        items.append(f"{self.constexpr}: {self.tl}.constexpr")
        items += [text for param, text in declarations.items() if param.default is not None]
        blank = [""] * 2
        text = [*blank, *decorators, *wrapped(f"def {name}(", items, "):", "    ")]
        text += [f"    {line}" if line else "" for line in lines]
        self.editor.insert_after(node, single_blanks(text, keep=2))

    # -- the host ---------------------------------------------------------------------------------------------------

    def _change_host(self, reduce_name: str, kept: Sequence[cst.Param]) -> None:
        call, host = self.place.call, self.place.host
        statement = host.line(call)
        if not (isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Expr)):
            raise CannotRewrite("the launch is part of a larger statement")
        output = self.place.argument(self.output)
        if output is None or not isinstance(output.value, (cst.Name, cst.Attribute)):
            raise CannotRewrite("the output has no name at the launch")
        tensor = self.editor.code(output.value)
        split, parts = host.free_name("SPLIT_K"), host.free_name("parts")
        torch = self.source.spelled("torch.empty").removesuffix(".empty")
        dtype = self._accumulator_dtype()
        extents, _ = self.place.grid()
        grid = ", ".join(self.editor.code(extent) for extent in extents)
        first = min(host.top_level(node) for node in (extents[0], call) if node in host)
        self.editor.insert_before(host.body[first], [
            f"# each tile's K is split over {split} programs, whose partial sums a second kernel adds",
            f"{split} = {self.split}",
        ], above_comments=True)  # fmt: skip
        self.editor.insert_before(statement, [
            f"{parts} = {torch}.empty(({split}, *{tensor}.shape), device={tensor}.device, dtype={torch}.{dtype})",
        ])  # fmt: skip
        tiles, grid = self._small_tiles(grid, extents)
        self.editor.insert_after(statement, self._reduce_launch(reduce_name, kept, grid, tiles, parts, split))
        self._add_extent(extents[-1], split)
        self.editor.replace(output.value, parts)
        if output.keyword is not None:
            self.editor.replace(output.keyword, self.parts)
            self.editor.insert_behind(output, f"{self.stride}={parts}.stride(0)")
        else:
            self.editor.insert_behind(output, f"{parts}.stride(0)")
        self._drop_unused()
        names = {param.name.value for param in parameters(self.kernel.node)}
        args = [arg for arg in call.args if arg.keyword is None or arg.keyword.value in names]
        self.editor.append_to(args, f"{self.constexpr}={split}")
        self.editor.break_long_call(call, MAX_LINE)

    def _add_extent(self, last: cst.BaseExpression, split: str) -> None:
        """One more extent of the grid; the comma behind a lone one becomes the one between both."""
        end = self.source.whole(last)[1]
        comma = re.compile(r"\s*,(?:[ \t]*(?=\)))?").match(self.source.text, end)
        if comma is not None:
            self.editor.put(end, comma.end(), f", {split}")
        else:
            self.editor.insert(end, f", {split}")

    def _accumulator_dtype(self) -> str:
        block = self.kernel.values.get(self.initial)
        if not isinstance(block, Block) or block.dtype is None:
            raise CannotRewrite("the type of the accumulator is not known")
        return str(block.dtype)

    def _drop_unused(self) -> None:
        """Take out parameters that only the epilogue used."""
        gone_lines = [line for line in self.after if self.kernel.line(self.store) is not line]
        left = [*self.before, self.loop]
        used = {name for line in left for name in names_read(self.kernel, line)}
        places = names_read(self.kernel, self._pointer()) | names_read(self.kernel, self._mask() or cst.Pass())
        for line in needed_for(self.kernel, self.after, places):
            used |= names_read(self.kernel, line)
        used |= places
        epilogue = {name for line in gone_lines for name in names_read(self.kernel, line)}
        params = parameters(self.kernel.node)
        gone = [p for p in params if p.name.value in epilogue - used and p.name.value != self.output]
        arguments = [self.place.argument(param.name.value) for param in gone]
        self.editor.drop(params, gone)
        self.editor.drop(self.place.call.args, [arg for arg in arguments if arg is not None])

    def _small_tiles(self, grid: str, extents: Sequence[cst.BaseExpression]) -> tuple[dict[str, int], str]:
        """Another extent for the inner axis of the tile, so that more programs add, and the grid for it; the launch's own
        where the source does not let one change it."""
        shape = self.initial.args[0].value if isinstance(self.initial, cst.Call) and self.initial.args else None
        block = self.kernel.values.get(self.initial)
        if not isinstance(shape, (cst.Tuple, cst.List)) or not isinstance(block, Block) or len(block.shape) != 2:
            return {}, grid
        rows, columns = block.shape
        inner = shape.elements[1].value
        small = max(_LEAST_EXTENT, _TILE // rows)
        if not isinstance(inner, cst.Name) or small >= columns or inner.value not in self.place.launch.constexprs:
            return {}, grid
        if inner.value == getattr(shape.elements[0].value, "value", None):
            return {}, grid
        factor = columns // small
        host = self.place.host
        if len(extents) == 1 and isinstance(host.resolved(extents[0]), cst.Integer):
            number = host.resolved(extents[0])
            assert isinstance(number, cst.Integer)
            return {inner.value: small}, str(number.evaluated_value * factor)
        arg = self.place.argument(inner.value)
        code = self.editor.code(arg.value) if arg is not None else ""
        by_name = re.subn(rf"\b{re.escape(code)}\b", str(small), grid) if code.isidentifier() else (grid, 0)
        if by_name[1] == 1:
            return {inner.value: small}, by_name[0]
        if re.search(rf"""\w+\[["']{inner.value}["']\]""", grid):
            return {inner.value: small}, grid
        return {}, grid

    def _reduce_launch(
        self, name: str, kept: Sequence[cst.Param], grid: str, tiles: dict[str, int], parts: str, split: str
    ) -> list[str]:
        positional, named = [parts, f"{parts}.stride(0)"], list[str]()
        for param in kept:
            arg = self.place.argument(param.name.value)
            if arg is None:
                continue
            text = str(tiles[param.name.value]) if param.name.value in tiles else self.editor.code(arg.value)
            if arg.keyword is None and param.default is None and not named:
                positional.append(text)
            else:
                named.append(f"{param.name.value}={text}")
        named.append(f"{self.constexpr}={split}")
        parameter = self.place.grid_parameter()
        meta = f"lambda {parameter}: " if parameter else ""
        shape = f"{meta}({grid},)" if "," not in outside_brackets(grid) else f"{meta}({grid})"
        return wrapped(f"{name}[{shape}](", [*positional, *named], ")", "    ")


def _asks_for_type(kernel: FunctionSource, read: cst.Name) -> bool:
    above = kernel.source.parent(read)
    return isinstance(above, cst.Attribute) and above.value is read and above.attr.value == "dtype"
