"""A kernel whose programs each walk one strided line gets a tile of several neighbouring lines."""

from __future__ import annotations

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Function, Jit
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import LaunchSource, argument, callee, parameters
from kernlint.rewrite.program_indices import IndexSite, ProgramIndices
from kernlint.rewrite.settings import set_literals, set_options
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite
from kernlint.rules.proofs.coarsening import Rows, Widened, can_widen, rows_of
from kernlint.rules.proofs.dot_tiles import setting
from kernlint.rules.proofs.indices import Split, program_indices
from kernlint.syntax.walk import walk
from kernlint.workload import Launch, ProgramId, Reduce, concrete
from kernlint.workload.expr import ceildiv

#: Longest line to make.
_LINE = 120

#: The two axes of the widened tile: the one that the 1-D tiles had, and the new one.
ROW, COLUMN = "row", "column"

_SUFFIX = {ROW: "[:, None]", COLUMN: "[None, :]"}

#: ``tl`` functions that mean the same for each element whatever the shape of the tile.
_ELEMENTWISE = frozenset(
    "load where maximum minimum max_constexpr exp exp2 log log2 sqrt sqrt_rn rsqrt sin cos abs sigmoid floor ceil fma erf "
    "clamp fdiv div_rn cdiv to cast umulhi tanh".split()
)
_REDUCTIONS = frozenset({"sum", "max", "min", "xor_sum"})
_CONSTRUCTORS = frozenset({"zeros", "full"})
_STORES = frozenset({"store", "atomic_add", "atomic_max", "atomic_min"})


@codemod(Widened)
def widened(site: Site, transform: Widened) -> Rewriting:
    """The program index becomes ``program_id * WIDTH + tl.arange(0, WIDTH)``, everything that follows it a second axis.

    Tiles along the old axis get ``[:, None]`` and those along the new one ``[None, :]`` where the two meet; accesses that
    the new axis moves are masked at its end; the grid shrinks by the width.
    """
    place = LaunchSource(site, transform.launch)
    if not can_widen(place.launch.kernel):
        raise CannotRewrite("the kernel has tiles of more than one dimension, branches, scans or dots")
    place.check_only_launch()
    place.check_one_launch()
    indices = program_indices(place.launch)
    if transform.axis not in indices.extents:
        raise CannotRewrite("the index of the program is no longer there")
    along = rows_of(place.launch, indices)
    programs = ProgramIndices(place.kernel, indices)
    rewriting = _Rewrite(site, place, programs, transform, along).rewriting()
    sums = any(isinstance(node, Reduce) for node, _ in place.launch.kernel.walk(Reduce))
    return rewriting | Rewriting((), Effects(numerics="reordered" if sums else "exact"))


class _Rewrite:
    def __init__(
        self, site: Site, place: LaunchSource, programs: ProgramIndices, transform: Widened, along: Rows | None
    ) -> None:
        self.site = site
        self.place = place
        self.kernel = place.kernel
        self.programs = programs
        self.transform = transform
        self.along = along
        self.editor = Editor(place.source)
        self.split = next((s for s in programs.indices.splits if transform.axis in (s.high, s.low)), None)
        self.columns: set[str] = set()
        self.sites: list[IndexSite] = []
        #: Masks of accesses, which go to a line of their own where theirs gets too long.
        self.masks: list[cst.BaseExpression] = []
        #: Assigned values that have been dealt with.
        self.done: list[cst.CSTNode] = []

    def rewriting(self) -> Rewriting:
        self.sites = self.programs.sites(self.transform.axis)
        if len(self.sites) != 1 or not self.sites[0].name:
            raise CannotRewrite("the index of the program has no variable of its own")
        index = self.sites[0]
        self.width = self.kernel.free_name(f"BLOCK_{index.name.upper()}")
        self.extent = self._extent()
        if self.split is not None:
            self._redefine_digits(index, self.split)
        else:
            self._redefine_whole(index)
        self.columns.add(index.name)
        if self.extent:
            self.mask = self.kernel.free_name(f"{index.name}_mask")
            line = self.kernel.body[self.kernel.top_level(index.node)]
            self.editor.insert_after(line, [f"{self.mask} = {index.name} < {self.extent}"])
        self._follow_columns()
        for statement in self.kernel.body:
            self._statement(statement)
        self._add_constexpr()
        settings = self._resize_rows()
        self._shrink_grid()
        options = set_options(self.site, [(self.transform.launch, "num_warps", self.transform.num_warps)])
        for made in (settings, options):
            self.editor.add(made.edits)
        self._break_long_lines()
        self.editor.break_long_call(self.place.call, _LINE)
        return Rewriting(tuple(self.editor.edits), settings.effects | options.effects)

    # -- the index --------------------------------------------------------------------------------------------------

    def _redefine_whole(self, index: IndexSite) -> None:
        """``column = tl.program_id(0)`` becomes a range of columns."""
        node = index.node
        self.done.append(node)
        self.editor.replace_whole(node, f"{self.editor.operand(node)} * {self._range()}")
        self._explain(index)

    def _range(self) -> str:
        return f"{self.width} + {self.place.tl}.arange(0, {self.width})"

    def _explain(self, index: IndexSite) -> None:
        """The comment above the index, which speaks of one index a program, and the mask below it."""
        line = self.kernel.line(index.node)
        heading = self.editor.heading(line)
        text = f"# {self.width} neighbours along `{index.name}` in each program, so that sectors are used whole"
        indent = self.place.source.indent_of(line)
        at = self.place.source.start(line) - len(indent)
        self.editor.put(*(heading or (at, at)), f"{indent}{text}\n", describes=True)

    def _redefine_digits(self, index: IndexSite, split: Split) -> None:
        """``n = pid // C`` and ``c = pid % C`` become those of a smaller grid; what used the whole id uses n * C + c."""
        others = self.programs.sites(split.low if self.transform.axis == split.high else split.high)
        if len(others) != 1 or not others[0].name:
            raise CannotRewrite("the quotient or remainder of the program id has no variable of its own")
        high, low = (index, others[0]) if self.transform.axis == split.high else (others[0], index)
        divisor = self._divisor(high.node)
        if divisor != self._divisor(low.node):
            raise CannotRewrite("the program id is divided in more than one way")
        pid = self._whole_id(high.node)
        if pid != self._whole_id(low.node):
            raise CannotRewrite("the program id is divided under more than one name")
        lines = [self.kernel.top_level(site.node) for site in (high, low)]
        others_uses = self.programs.other_uses([high, low])
        if any(self.kernel.top_level(use) <= max(lines) for use in others_uses):
            raise CannotRewrite("the program id is used before it is divided")
        if others_uses and not pid:
            raise CannotRewrite("the program id is used without a name")
        program = pid
        if others_uses:
            program = self.kernel.free_name("pid")
            (bound,) = [node for node in self.kernel.names(pid) if self.kernel.binding(node) is not None]
            self.editor.replace(bound, program)
            self.done.append(self.kernel.definition(pid) or bound)
        self.done += [high.node, low.node]
        program = program or self.editor.code(high.node.left)  # type: ignore[attr-defined]
        tl = self.place.tl
        if self.transform.axis == split.low:
            blocks = f"{tl}.cdiv({divisor}, {self.width})"
            self.editor.replace_whole(high.node, f"{program} // {blocks}")
            self.editor.replace_whole(low.node, f"{program} % {blocks} * {self._range()}")
        else:
            self.editor.replace_whole(high.node, f"{program} // {self._atom(divisor)} * {self._range()}")
            self.editor.replace_whole(low.node, f"{program} % {self._atom(divisor)}")
        if others_uses:
            self.editor.insert_after(
                self.kernel.body[max(lines)], [f"{pid} = {high.name} * {self._atom(divisor)} + {low.name}"]
            )
            self.columns.add(pid)
        self._explain_program(pid, index)

    def _explain_program(self, pid: str, index: IndexSite) -> None:
        bound = self.kernel.bindings(pid) if pid else []
        first = self.kernel.line(bound[0]) if bound else self.kernel.line(index.node)
        heading = self.editor.heading(first)
        if heading:
            indent = self.place.source.indent_of(first)
            text = f"# {self.width} neighbours along `{index.name}` in each program, so that sectors are used whole"
            self.editor.put(*heading, f"{indent}{text}\n", describes=True)

    def _divisor(self, node: cst.BaseExpression) -> str:
        if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, (cst.FloorDivide, cst.Modulo)):
            raise CannotRewrite("an index is not a plain quotient or remainder of the program id")
        return self.editor.code(node.right)

    def _whole_id(self, node: cst.BaseExpression) -> str:
        """The variable of the program id that ``node`` divides; empty where it is the call itself."""
        assert isinstance(node, cst.BinaryOperation)
        if isinstance(node.left, cst.Name):
            if len(self.kernel.bindings(node.left.value)) != 1:
                raise CannotRewrite(f"`{node.left.value}` is bound more than once")
            return node.left.value
        if callee(node.left) == "program_id":
            return ""
        raise CannotRewrite("an index is not a plain quotient or remainder of the program id")

    def _atom(self, code: str) -> str:
        return code if code.replace("_", "").isalnum() else f"({code})"

    # -- the end of the new axis ------------------------------------------------------------------------------------

    def _extent(self) -> str:
        """How many values the index takes, as the kernel can say it; empty where no mask is needed because the width
        divides a number that the source writes out."""
        extent = concrete(self.programs.indices.extents[self.transform.axis])
        if self.split is not None and self.transform.axis == self.split.low:
            return self._divisor(self.sites[0].node)
        node = self._grid_factor(extent)
        code = self.editor.code(node)
        for param in parameters(self.kernel.node):
            arg = self.place.argument(param.name.value)
            if arg is not None and self.editor.code(arg.value) == code and not isinstance(node, cst.Integer):
                return param.name.value
        if isinstance(node, cst.Integer) and extent is not None and extent % self.transform.width == 0:
            return ""
        raise CannotRewrite("the kernel is not told where the axis ends along which its programs lie")

    def _grid_factor(self, extent: int | None) -> cst.BaseExpression:
        """The part of the grid that counts the index."""
        extents, host = self.place.grid()
        axis = self.split.axis if self.split is not None else self.transform.axis.axis
        node = extents[axis]
        if self.split is None:
            return node
        factors = [node]
        resolved = host.resolved(node)
        if isinstance(resolved, cst.BinaryOperation) and isinstance(resolved.operator, cst.Multiply):
            factors = [resolved.left, resolved.right]
        found = [factor for factor in factors if host.values.get(factor) == extent]
        named = [factor for factor in found if self._passed_as(factor)]
        if len(found) == 1:
            return found[0]
        if len(named) == 1:
            return named[0]
        raise CannotRewrite("the grid is not the product of the numbers of values of its two indices")

    def _passed_as(self, factor: cst.BaseExpression) -> bool:
        """Whether ``factor`` is what the launch passes for the divisor of the program id."""
        if self.split is None or self.transform.axis != self.split.low:
            return False
        arg = self.place.argument(self._divisor(self.sites[0].node))
        return arg is not None and self.editor.code(arg.value) == self.editor.code(factor)

    # -- which axes a value has -------------------------------------------------------------------------------------

    def _follow_columns(self) -> None:
        """Find every variable that follows the new axis, whichever way round loops."""
        grown = True
        while grown:
            grown = False
            for node in walk(self.kernel.node.body):
                for target, value in _bindings(node):
                    if any(value is one for one in self.done) or not self._has_column(value):
                        continue
                    for name in _names(target):
                        grown = grown or name not in self.columns
                        self.columns.add(name)

    def _has_column(self, node: cst.CSTNode) -> bool:
        return any(isinstance(n, cst.Name) and n.value in self.columns and self._reads(n) for n in walk(node))

    def _reads(self, node: cst.Name) -> bool:
        return any(node is read for read in self.kernel.names(node.value))

    def _axes(self, node: cst.CSTNode) -> frozenset[str]:
        """The axes of the value of ``node`` in the widened kernel."""
        value = self.kernel.values.get(node)
        axes = {COLUMN} if self._has_column(node) else set()
        if isinstance(node, cst.Name):
            axes = {COLUMN} if node.value in self.columns else set()
        if isinstance(value, Block):
            if len(value.shape) > 1:
                raise CannotRewrite("the kernel has a tile of more than one dimension")
            if value.shape:
                axes.add(ROW)
        return frozenset(axes)

    def _bound_axes(self, name: str) -> frozenset[str]:
        """The axes of a variable: those of any of its bindings."""
        axes: set[str] = {COLUMN} if name in self.columns else set()
        for node in self.kernel.names(name):
            value = self.kernel.values.get(node)
            if isinstance(value, Block) and value.shape:
                axes.add(ROW)
        return frozenset(axes)

    # -- statements and expressions ---------------------------------------------------------------------------------

    def _statement(self, statement: cst.CSTNode) -> None:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                self._small(small)
        elif isinstance(statement, cst.For):
            if self._has_column(statement.iter):
                raise CannotRewrite("a loop bound follows the index that becomes an axis")
            for inner in statement.body.body:
                self._statement(inner)
        elif isinstance(statement, cst.If):
            if self._has_column(statement.test):
                raise CannotRewrite("a branch follows the index that becomes an axis")
            for inner in statement.body.body:
                self._statement(inner)
            if isinstance(statement.orelse, cst.Else):
                for inner in statement.orelse.body.body:
                    self._statement(inner)
            elif statement.orelse is not None:
                self._statement(statement.orelse)
        elif any(isinstance(n, cst.Name) and n.value in self.columns for n in walk(statement)):
            raise CannotRewrite("a statement of the kernel was not understood")

    def _small(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.AugAssign) and isinstance(node.target, cst.Name):
            wanted = self._bound_axes(node.target.value)
            self._expression(node.value, wanted if len(wanted) == 2 else self._axes(node.value))
        elif isinstance(node, cst.Assign):
            for target, value in _bindings(node):
                names = _names(target)
                if any(value is one for one in self.done):
                    continue
                if len(names) == 1:
                    self._assigned(value, self._bound_axes(names[0]))
                elif self._has_column(value):
                    raise CannotRewrite("a helper gives more than one value that follows the new axis")
        elif isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
            self._call_statement(node.value)
        elif self._has_column(node):
            raise CannotRewrite("a statement of the kernel was not understood")

    def _assigned(self, value: cst.BaseExpression, wanted: frozenset[str]) -> None:
        """An assignment to a variable of these axes."""
        axes = self._axes(value)
        if axes == wanted:
            self._expression(value, axes)
        elif COLUMN in wanted - axes and callee(value) in _CONSTRUCTORS:
            assert isinstance(value, cst.Call)
            self._grow(value, wanted)
        elif wanted == {COLUMN} and isinstance(self.kernel.values.get(value), (int, float)):
            dtype = self._dtype(value)
            self.editor.replace_whole(
                value, f"{self.place.tl}.full(({self.width},), {self.editor.code(value)}, {dtype})"
            )
        elif axes < wanted and ROW in wanted and self.programs.value(value) is not None:
            self._expression(value, axes)  # an index that moves on from a scalar start
        else:
            raise CannotRewrite(f"`{self.editor.code(value)[:40]}` starts a value that later gets another shape")

    def _dtype(self, value: cst.BaseExpression) -> str:
        assign = self.kernel.parents[value]
        for name in _names(assign.targets[0].target) if isinstance(assign, cst.Assign) else ():
            for node in self.kernel.names(name):
                block = self.kernel.values.get(node)
                if isinstance(block, Block) and block.dtype is not None:
                    return f"{self.place.tl}.{block.dtype}"
        raise CannotRewrite("the type of a running value is not known")

    def _grow(self, call: cst.Call, wanted: frozenset[str]) -> None:
        """``tl.zeros((BLOCK,), ...)`` of a value that also gets the new axis."""
        shape = call.args[0].value if call.args else None
        if not isinstance(shape, (cst.Tuple, cst.List)) or len(shape.elements) != 1 or ROW not in wanted:
            raise CannotRewrite("the shape of a running value is not written as a tuple of one extent")
        element = self.editor.code(shape.elements[0].value)
        brackets = "[]" if isinstance(shape, cst.List) else "()"
        self.editor.replace_whole(shape, f"{brackets[0]}{element}, {self.width}{brackets[1]}")

    def _call_statement(self, call: cst.Call) -> None:
        name = callee(call)
        if name not in _STORES:
            if self._has_column(call):
                raise CannotRewrite(f"{name} is called for its effect on a value that gets another axis")
            return
        pointer = argument(call, "pointer", 0)
        stored = argument(call, "value" if name == "store" else "val", 1)
        if pointer is None or stored is None:
            raise CannotRewrite(f"a {name} was not understood")
        axes = self._axes(pointer)
        if not self._axes(stored) <= axes:
            raise CannotRewrite("a value that follows the new axis is stored to one place")
        self._access(call, axes, [pointer, stored])

    def _access(self, call: cst.Call, axes: frozenset[str], values: list[cst.BaseExpression]) -> None:
        """A load or store: its operands in these axes, and the mask at the end of the new one."""
        position = 1 if callee(call) == "load" else 2
        mask = argument(call, "mask", position)
        for value in values:
            self._expression(value, axes if self._axes(value) else self._axes(value))
        other = argument(call, "other", 2) if callee(call) == "load" else None
        if other is not None:
            self._expression(other, axes if self._axes(other) else frozenset())
        if COLUMN not in axes:
            if mask is not None:
                self._expression(mask, axes)
            return
        end = self._end(axes)
        if mask is None:
            if end:
                last = call.args[-1]
                self.editor.insert(self.place.source.whole(last.value)[1], f", mask={end}")
            return
        self._expression(mask, axes if self._axes(mask) else frozenset())
        self.masks.append(mask)
        if end:
            start, stop = self.place.source.whole(mask)
            if not mask.lpar and not isinstance(mask, (cst.Name, cst.Call, cst.Subscript)):
                self.editor.insert(start, "(")
                self.editor.insert(stop, ")")
            self.editor.insert(stop, f" & {end}")

    def _break_long_lines(self) -> None:
        source = self.place.source
        edits = self.editor.edits
        for mask in self.masks:
            arg = self.kernel.parents[mask]
            call = self.kernel.parents[arg]
            assert isinstance(call, cst.Call)
            first, last = source.start(call.args[0]), source.start(arg)
            line = source.line(last)
            begin, end = source.line_start(line), source.line_start(line + 1)
            grown = sum(len(e.text) - (e.end - e.start) for e in edits if begin <= e.start and e.end < end)
            if source.line(first) == line and len(source.text[begin:end].rstrip()) + grown > _LINE:
                lead = "\n" + " " * (first - begin)
                self.editor.put(len(source.text[:last].rstrip()), last, lead)

    def _end(self, axes: frozenset[str]) -> str:
        if not self.extent:
            return ""
        return self.mask + (_SUFFIX[COLUMN] if ROW in axes else "")

    def _expression(self, node: cst.BaseExpression, wanted: frozenset[str]) -> None:
        """Edit ``node`` so that it has, or broadcasts to, the axes ``wanted``."""
        axes = self._axes(node)
        if not axes:
            if self._has_column(node):
                self._inside(node)
            return
        if len(wanted) == 2 and len(axes) == 1:
            self._index(node, next(iter(axes)))
            return
        if not axes <= wanted:
            raise CannotRewrite("a value gets more axes than what it is used for")
        self._operation(node, wanted)

    def _operation(self, node: cst.BaseExpression, wanted: frozenset[str]) -> None:
        """The parts of an operation whose value has all of ``wanted``."""
        if isinstance(node, (cst.Name, cst.Integer, cst.Float)):
            return
        if isinstance(node, (cst.BinaryOperation, cst.BooleanOperation)):
            self._expression(node.left, wanted)
            self._expression(node.right, wanted)
        elif isinstance(node, cst.UnaryOperation):
            self._expression(node.expression, wanted)
        elif isinstance(node, cst.Comparison):
            for part in (node.left, *(target.comparator for target in node.comparisons)):
                self._expression(part, wanted)
        elif isinstance(node, cst.Call):
            self._call(node, wanted)
        elif isinstance(node, cst.Attribute) or not self._has_column(node):
            return
        else:
            raise CannotRewrite(f"`{self.editor.code(node)[:40]}` was not understood")

    def _call(self, node: cst.Call, wanted: frozenset[str]) -> None:
        name = callee(node)
        receiver = self._receiver(node)
        if name in _REDUCTIONS:
            self._reduction(node, receiver)
            return
        if not self._has_column(node):
            return
        called = self.kernel.values.get(node.func)
        if isinstance(called, (Function, Jit)) or name not in _ELEMENTWISE:
            raise CannotRewrite(f"what {name or 'a call'} does with one more axis is not known")
        if name == "load":
            pointer = argument(node, "pointer", 0)
            if pointer is not None:
                self._access(node, wanted, [pointer])
            return
        if receiver is not None:
            self._expression(receiver, wanted)
        for arg in node.args:
            self._expression(arg.value, wanted if self._axes(arg.value) else frozenset())

    def _receiver(self, node: cst.Call) -> cst.BaseExpression | None:
        """``x`` of ``x.sum()``; None for ``tl.sum(x)``."""
        function = node.func
        if isinstance(function, cst.Attribute) and isinstance(self.kernel.values.get(function.value), Block):
            return function.value
        return None

    def _reduction(self, node: cst.Call, receiver: cst.BaseExpression | None) -> None:
        """A reduction along the old axis, the first of the tile."""
        operand = receiver if receiver is not None else node.args[0].value
        axes = self._axes(operand)
        self._expression(operand, axes)
        if COLUMN not in axes:
            return
        if ROW not in axes:
            raise CannotRewrite("a value is reduced along an axis that it does not have")
        given = [arg for arg in node.args if arg.value is not operand and arg.keyword is None]
        named = [arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "axis"]
        if len(node.args) > (receiver is None) + min(1, len(given) + len(named)):
            raise CannotRewrite("a reduction has further options")
        if not given and not named:
            where = self.place.source.whole(node.args[-1].value)[1] if node.args else self.place.source.end(node) - 1
            self.editor.insert(where, ", axis=0" if node.args else "axis=0")

    def _inside(self, node: cst.BaseExpression) -> None:
        """A scalar made from values with axes."""
        raise CannotRewrite(f"`{self.editor.code(node)[:40]}` turns a value with axes into one number")

    def _index(self, node: cst.BaseExpression, axis: str) -> None:
        """Give the leaves of a value with one axis a second one, of extent one."""
        if isinstance(node, cst.BinaryOperation):
            parts: list[cst.BaseExpression] = [node.left, node.right]
        elif isinstance(node, cst.Comparison):
            parts = [node.left, *(target.comparator for target in node.comparisons)]
        elif isinstance(node, cst.UnaryOperation):
            parts = [node.expression]
        else:
            if isinstance(node, cst.Call):
                self._call(node, frozenset({axis}))
            self.editor.insert(self.place.source.whole(node)[1], _SUFFIX[axis])
            return
        for part in parts:
            if self._axes(part):
                self._index(part, axis)

    # -- the launch -------------------------------------------------------------------------------------------------

    def _add_constexpr(self) -> None:
        self.editor.add_constexpr(parameters(self.kernel.node), self.width, self.place.tl, self.transform.width)
        names = {param.name.value for param in parameters(self.kernel.node)}
        args = [arg for arg in self.place.call.args if arg.keyword is None or arg.keyword.value in names]
        self.editor.append_to(args, f"{self.width}={self.width}")

    def _shrink_grid(self) -> None:
        """The grid counts blocks of columns; the width stands in a variable in front of both."""
        extent = concrete(self.programs.indices.extents[self.transform.axis])
        factor = self._grid_factor(extent)
        self.editor.replace_whole(factor, f"{self.place.triton}.cdiv({self.editor.code(factor)}, {self.width})")
        host = self.place.host
        places = [host.top_level(node) for node in (factor, self.place.call) if node in host.parents]
        self.editor.insert_before(host.body[min(places)], [f"{self.width} = {self.transform.width}"])

    def _resize_rows(self) -> Rewriting:
        """Give the old axis its new extent, and its part of the grid with it."""
        along, rows = self.along, self.transform.rows
        if along is None or rows == along.tile:
            return Rewriting()
        name = self._row_constexpr(along.tile)
        edits = setting(self.place.launch, {name: rows})
        made = set_literals(self.site, edits.literals) | set_options(self.site, edits.options)
        if isinstance(along.step, ProgramId):
            self._regrid_rows(along, along.step, self.site.after(edits))
        return made

    def _row_constexpr(self, tile: int) -> str:
        """The constexpr that sets the extent of the old tiles."""
        constexprs = self.place.launch.constexprs
        names = set()
        for node in walk(self.kernel.node.body):
            if isinstance(node, cst.Call) and callee(node) == "arange" and len(node.args) == 2:
                block = self.kernel.values.get(node)
                if isinstance(block, Block) and block.shape == (tile,):
                    names |= {n.value for n in walk(node.args[1].value) if isinstance(n, cst.Name)}
        found = [name for name in names if constexprs.get(name) == tile]
        if len(found) != 1:
            raise CannotRewrite("the extent of the tiles is not set by one constexpr")
        return found[0]

    def _regrid_rows(self, along: Rows, step: ProgramId, after: object) -> None:
        wanted = concrete(ceildiv(along.count, self.transform.rows))
        axis = step.axis
        launches: list[Launch] = [
            one for one in getattr(after, "launches", list)() if one.span == self.transform.launch
        ]
        if launches and axis < len(launches[0].grid) and concrete(launches[0].grid[axis]) == wanted:
            return
        extents, _ = self.place.grid()
        if axis < len(extents) and isinstance(extents[axis], cst.Integer):
            self.editor.replace(extents[axis], str(wanted))
            return
        raise CannotRewrite("the grid does not follow the extent of the tiles")


def _names(target: cst.CSTNode) -> list[str]:
    return [node.value for node in walk(target) if isinstance(node, cst.Name)]


def _bindings(node: cst.CSTNode) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """(target, value) of an assignment; each pair of one of tuples."""
    if isinstance(node, cst.AugAssign) or (isinstance(node, cst.AnnAssign) and node.value is not None):
        return [(node.target, node.value)]  # type: ignore[list-item]
    if not isinstance(node, cst.Assign):
        return []
    pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]] = []
    for target in (one.target for one in node.targets):
        both = (target, node.value)
        if all(isinstance(one, (cst.Tuple, cst.List)) for one in both):
            parts = [[element.value for element in one.elements] for one in both]  # type: ignore[attr-defined]
            if len(parts[0]) == len(parts[1]):
                pairs += zip(*parts)
                continue
        pairs.append(both)
    return pairs
