"""Atomic additions of all programs to the same addresses become a partial sum for each of a few programs, added up by torch.

The kernel's body goes into a loop over what were its programs, as far as it depends on the program id; what was sent to the
atomic is added up in registers, and stored once to a row of the output that is the program's own. The host allocates a row
for each program and sums over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import LaunchSource, Line, argument, callee, parameters
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit, lines_with_ends
from kernlint.rules.memory.kl306_contended_atomics import Partials
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk
from kernlint.workload import Atomic, Dtype, Tensor

_FLOAT32 = Dtype("float32", 32, "float")


@codemod(Partials)
def partial_sums(site: Site, transform: Partials) -> Rewriting:
    """The launch on ``transform.programs`` programs that store a partial sum each, and ``torch.Tensor.sum`` over them."""
    place = LaunchSource(site, transform.launch)
    place.check_only_launch()
    place.check_one_launch()
    rewrite = _Rewrite(place, transform)
    edits = rewrite.edits()
    return Rewriting(
        tuple(edits), Effects(numerics="reordered" if rewrite.atomic.dtype.is_float else "exact", memory="more")
    )


class _Rewrite:
    def __init__(self, place: LaunchSource, transform: Partials) -> None:
        self.place = place
        self.kernel, self.host, self.source = place.kernel, place.host, place.source
        self.programs = transform.programs
        self.editor = Editor(place.source)
        nodes = [n for n in place.launch.kernel.nodes(Atomic) if n.span == transform.atomic]
        call = self.source.module.at(transform.atomic, cst.Call)
        if len(nodes) != 1 or call is None or call not in self.kernel:
            raise CannotRewrite("the atomic is not written in the kernel itself")
        self.atomic, self.call = nodes[0], call
        if self.atomic.op != "add":
            raise CannotRewrite(f"only sums are stored in parts, not what atomic_{self.atomic.op} makes")
        out = place.launch.tensor(self.atomic.base)
        if out is None:
            raise CannotRewrite(f"`{self.atomic.base}` is no tensor")
        self.out: Tensor = out

    def edits(self) -> list[TextEdit]:
        pointer, value = argument(self.call, "pointer", 0), argument(self.call, "val", 1)
        if pointer is None or value is None:
            raise CannotRewrite("the arguments of the atomic are not written out")
        names = self._change_host()
        self._change_kernel(pointer, value, argument(self.call, "mask", 2), names)
        return self.editor.edits

    # -- the kernel -------------------------------------------------------------------------------------------------

    def _change_kernel(
        self,
        pointer: cst.BaseExpression,
        value: cst.BaseExpression,
        mask: cst.BaseExpression | None,
        added: Sequence[str],
    ) -> None:
        """Loop over the blocks, add up, store. ``added`` are the parameters for their number and for a row's stride."""
        blocks, *strides = added
        tl, kernel = self.place.tl, self.kernel
        self._check_body()
        inside = self._dependent()
        atomic_line = kernel.line(self.call)
        if not any(atomic_line is line for line in inside) or not isinstance(atomic_line, cst.SimpleStatementLine):
            raise CannotRewrite("the atomic does not depend on the program id")
        if (
            len(atomic_line.body) != 1
            or not isinstance(atomic_line.body[0], cst.Expr)
            or atomic_line.body[0].value is not self.call
        ):
            raise CannotRewrite("the atomic is not a statement of its own")
        for node in (pointer, *([mask] if mask is not None else [])):
            if self._reads(node) & self._bound(inside):
                raise CannotRewrite("the address or mask of the atomic is computed from the program id")
        index, dropped = self._loop_variable(inside)
        partial = kernel.free_name("partial")
        first = next(line for line in kernel.body if any(line is one for one in inside))
        start = self.source.with_heading(first)[0]
        end = self.source.line_end(self.source.end(kernel.body[-1]))
        outside = [
            line for line in kernel.body if self.source.start(line) > start and not any(line is i for i in inside)
        ]
        indent = self.source.indent_of(first)
        text = "".join(self._text(line, {}) for line in outside)
        text += f"{indent}{partial} = {self._zero(pointer, tl)}\n"
        about, beside = self._comments(dropped) if dropped is not None else ("", "")
        text += about
        text += f"{indent}for {index} in range({tl}.program_id(0), {blocks}, {tl}.num_programs(0)):{beside}\n"
        accumulate = f"{partial} += {self._narrowed(value, tl)}"
        for line in inside:
            if line is dropped:
                continue
            replaced: dict[cst.CSTNode, str] = {self.call: accumulate} if line is atomic_line else {}
            replaced |= {call: index for call in self._program_ids() if line is kernel.body[kernel.top_level(call)]}
            text += self._indented(self._text(line, replaced))
        row = f"{tl}.program_id(0)" + (f" * {strides[0]}" if strides else "")
        masked = f", mask={self.source.code(mask)}" if mask is not None else ""
        text += f"{indent}{tl}.store({self.editor.operand(pointer)} + {row}, {partial}{masked})\n"
        self.editor.put(start, end, text)

    def _check_body(self) -> None:
        """Raise where the body cannot be run several times by one program."""
        names = {n.name.value for n in self.source.module.of(cst.FunctionDef)}
        for node in walk(self.kernel.node.body):
            if isinstance(node, cst.Return):
                raise CannotRewrite("the kernel returns before its end")
            if callee(node) == "num_programs":
                raise CannotRewrite("the kernel asks for the number of its programs")
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in names:
                raise CannotRewrite(f"the kernel calls `{node.func.value}`, which may ask for the program id too")
            if isinstance(node, cst.SimpleString) and node.quote in ('"""', "'''") and node is not self._docstring():
                raise CannotRewrite("a text of several lines stands in the kernel")

    def _docstring(self) -> cst.CSTNode | None:
        first = self.kernel.body[0]
        if isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Expr):
            return first.body[0].value
        return None

    def _program_ids(self) -> list[cst.Call]:
        return [n for n in walk(self.kernel.node.body) if isinstance(n, cst.Call) and callee(n) == "program_id"]

    def _dependent(self) -> list[Line]:
        """The statements that each program runs for each of its blocks: those that the program id enters, and all that
        bind a variable that one of them binds."""
        calls = set(map(id, self._program_ids()))
        inside: list[Line] = []
        while True:
            tainted = self._bound(inside)
            found = [
                line
                for line in self.kernel.body
                if any(id(node) in calls for node in walk(line))
                or self._reads(line) & tainted
                or self._bound([line]) & tainted
                or line is self.kernel.line(self.call)
            ]
            if len(found) == len(inside):
                return found
            inside = found

    def _bound(self, lines: Iterable[cst.CSTNode]) -> set[str]:
        return {
            node.value
            for line in lines
            for node in walk(line)
            if isinstance(node, cst.Name) and self.kernel.is_bound(node)
        }

    def _reads(self, node: cst.CSTNode) -> set[str]:
        return {
            n.value for n in walk(node) if isinstance(n, cst.Name) and n in self.kernel and self.kernel.is_variable(n)
        }

    def _loop_variable(self, inside: Sequence[Line]) -> tuple[str, Line | None]:
        """What the kernel calls its program id, with the statement that says so; else a new name."""
        calls = set(map(id, self._program_ids()))
        for line in inside:
            one = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
            if not isinstance(one, cst.Assign) or len(one.targets) != 1 or id(one.value) not in calls:
                continue
            target = one.targets[0].target
            if isinstance(target, cst.Name) and len(self.kernel.bindings(target.value)) == 1:
                return target.value, line
        return self.kernel.free_name("block"), None

    def _text(self, line: Line, replaced: dict[cst.CSTNode, str]) -> str:
        """The lines of a statement with its comments, parts of it replaced."""
        start, end = self.source.with_heading(line)
        text, position = "", start
        for node, new in sorted(replaced.items(), key=lambda pair: self.source.start(pair[0])):
            first, last = self.source.range_of(node)
            if first < position:
                continue
            text, position = text + self.source.text[position:first] + new, last
        text += self.source.text[position:end]
        return text if text.endswith("\n") else text + "\n"

    def _indented(self, text: str) -> str:
        """``text``, whole lines, one block deeper."""
        step = self.source.indent_step
        return "".join(f"{step}{line}" if line.strip() else line for line in lines_with_ends(text))

    def _comments(self, line: Line) -> tuple[str, str]:
        """The comments above a statement, as lines, and behind it."""
        start, _ = self.source.with_heading(line)
        above = self.source.text[start : self.source.line_start(self.source.first_line(line))]
        return above, "".join(f"  {comment.text}" for comment in self.source.trailing(line))

    def _accumulator(self) -> Dtype:
        dtype = self.atomic.dtype
        return _FLOAT32 if dtype.is_float and dtype.bits < _FLOAT32.bits else dtype

    def _zero(self, pointer: cst.BaseExpression, tl: str) -> str:
        dtype = f"{tl}.{self._accumulator().name}"
        if not self.atomic.shape:
            return "0.0" if self._accumulator() == _FLOAT32 else f"{tl}.full([], 0, {dtype})"
        ranges = [self.kernel.resolved(n) for n in walk(pointer) if isinstance(n, (cst.Name, cst.Call))]
        extents = [argument(n, "end", 1) for n in ranges if isinstance(n, cst.Call) and callee(n) == "arange"]
        if len(self.atomic.shape) != 1 or len(extents) != 1 or extents[0] is None:
            raise CannotRewrite("the shape of what is added is not that of one tl.arange")
        return f"{tl}.zeros(({self.source.code(extents[0])},), {dtype})"

    def _narrowed(self, value: cst.BaseExpression, tl: str) -> str:
        """``value`` as it is added to the accumulator, whose type a loop may not change."""
        block, wanted = self.kernel.values.get(value), self._accumulator()
        known = block.dtype if isinstance(block, Block) else None
        if known == wanted or (known is not None and known.is_float and wanted.is_float and known.bits < wanted.bits):
            return self.source.code(value)
        if known is None:  # a number, or what may be one: it has no methods
            return f"{tl}.cast({self.source.code(value)}, {tl}.{wanted.name})"
        return f"{self.editor.operand(value)}.to({tl}.{wanted.name})"

    # -- the host ---------------------------------------------------------------------------------------------------

    def _change_host(self) -> list[str]:
        """A row of the output for each program, summed behind the launch; the names of the parameters this needs."""
        host, call = self.host, self.place.call
        out = self.place.argument(self.atomic.base)
        name = out.value.value if out is not None and isinstance(out.value, cst.Name) else ""
        allocation = host.definition(name) if name else None
        if not isinstance(allocation, cst.Call) or self.source.origin(allocation.func) != "torch.zeros":
            raise CannotRewrite(f"`{name or self.atomic.base}` is not allocated by torch.zeros where it is passed")
        launch_line, zeros_line = host.line(call), host.line(allocation)
        if not all(any(line is one for one in host.body) for line in (launch_line, zeros_line)):
            raise CannotRewrite("allocation and launch do not follow each other in one block")
        after = host.top_level(call)
        if any(host.top_level(node) < after for node in host.reads(name)):
            raise CannotRewrite(f"`{name}` is used before the launch")
        extents, _ = self.place.grid()
        if len(extents) != 1:
            raise CannotRewrite("the grid has more than one axis")
        self._check_known(extents[0], host.top_level(allocation))
        blocks, programs = host.free_name("blocks"), host.free_name("programs")
        why = "# a partial sum for each of a few programs: all of them adding to one address would wait for each other"
        lines = [f"{blocks} = {self._extent(extents[0])}", f"{programs} = min({self.programs}, {blocks})", why]
        self.editor.insert_before(zeros_line, lines, above_comments=True)
        self._add_rows(allocation, programs)
        named = self.place.own_grid()
        if named is not None:
            # Where it stands the number of programs may not be known yet.
            self.editor.delete(host.line(named), heading=False)
        self.editor.put(*self.place.grid_range(), f"({programs},)")
        kind = f", dtype={name}.dtype" if not self.atomic.dtype.is_float else ""
        self.editor.insert_after(launch_line, [f"{name} = {name}.sum(0{kind})"])
        added = {self.kernel.free_name("blocks"): blocks}
        if self.out.numel != 1 or self.atomic.shape:
            added[self.kernel.free_name("row_stride")] = f"{name}.stride(0)"
        self._pass(added)
        return list(added)

    def _check_known(self, extent: cst.BaseExpression, limit: int) -> None:
        for node in walk(extent):
            variable = isinstance(node, cst.Name) and node in self.host and self.host.is_variable(node)
            bound = self.host.bindings(node.value) if variable and isinstance(node, cst.Name) else []
            if any(self.host.top_level(one) >= limit for one in bound):
                raise CannotRewrite(f"`{self.source.code(node)}` is not known yet where the output is allocated")

    def _extent(self, extent: cst.BaseExpression) -> str:
        """The number of blocks as the host can say it: what a grid function looks up is written out."""
        meta = self.place.grid_parameter()
        start, end = self.source.whole(extent)
        text, position = "", start
        for node in walk(extent):
            if not (meta and isinstance(node, cst.Subscript) and dotted_name(node.value) == meta):
                continue
            index = node.slice[0].slice
            key = (
                index.value.raw_value
                if isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString)
                else ""
            )
            arg = self.place.argument(key) if isinstance(key, str) and key else None
            if arg is None:
                raise CannotRewrite("the grid looks up what the launch does not pass")
            first, last = self.source.range_of(node)
            text, position = text + self.source.text[position:first] + self.editor.operand(arg.value), last
        return text + self.source.text[position:end]

    def _add_rows(self, allocation: cst.Call, programs: str) -> None:
        """The allocation with a further extent in front; where each program writes all of its row nothing has to be zero."""
        if self.out.numel == 1 and argument(self.call, "mask", 2) is None:
            self.editor.replace(allocation.func, self.source.spelled("torch.empty"))
        size = argument(allocation, "size", 0)
        if size is None:
            raise CannotRewrite("the shape of the output is not written out")
        if isinstance(size, (cst.Tuple, cst.List)):
            if size.elements:
                self.editor.insert(self.source.whole(size.elements[0].value)[0], f"{programs}, ")
            else:
                self.editor.replace_whole(size, f"({programs},)")
        elif isinstance(size, cst.Integer) or all(arg.keyword is not None for arg in allocation.args[1:]):
            if isinstance(size, (cst.Integer, cst.Call)) or self._is_number(size):
                self.editor.insert(self.source.whole(size)[0], f"{programs}, ")
            else:
                self.editor.replace_whole(size, f"({programs}, *{self.source.code(size)})")
        else:
            self.editor.insert(self.source.whole(size)[0], f"{programs}, ")

    def _is_number(self, node: cst.BaseExpression) -> bool:
        value = self.host.values.get(node)
        return not isinstance(value, (tuple, list)) and value is not None

    def _pass(self, added: dict[str, str]) -> None:
        """Run-time parameters ``added`` to the kernel, in front of its constexprs, given by name at the launch."""
        params = list(parameters(self.kernel.node))
        constexprs = set(self.place.launch.constexprs)
        index = next(
            (i for i, p in enumerate(params) if p.name.value in constexprs or p.default is not None), len(params)
        )
        args = self.place.call.args
        if any(arg.star for arg in args):
            raise CannotRewrite("the launch unpacks its arguments")
        for position, arg in enumerate(args):
            if arg.keyword is None and position >= index:
                self.editor.insert(self.source.start(arg), f"{params[position].name.value}=")
        for name in added:
            if index < len(params):
                self.editor.insert_beside(params[index], name)
            else:
                self.editor.append_to(params, name)
        text = ", ".join(f"{name}={value}" for name, value in added.items())
        self.editor.append_to(args, text)
