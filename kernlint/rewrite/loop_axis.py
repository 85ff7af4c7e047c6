"""A Python loop of independent launches becomes a grid axis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

import libcst as cst

from kernlint.interpret.trace import Values
from kernlint.records import dataclass
from kernlint.rewrite.comments import docstring, text_of
from kernlint.rewrite.function import FunctionSource, LaunchSource, parameters
from kernlint.rewrite.lists import change_parameters
from kernlint.rewrite.names import fresh_name
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source, indented
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.proofs.parallel_loops import MergedLoop, flat_loop
from kernlint.syntax.walk import walk
from kernlint.workload import Launch, Repeat, Size, Tensor, concrete

#: Programs that CUDA allows along the second and third axis of a grid.
_LONGEST_AXIS = 65_535
_AXES = 3

#: What can be asked of one iteration's view without touching its elements.
_SAME = frozenset({"dtype", "device", "is_cuda", "layout"})
_METADATA = frozenset({"numel", "dim", "ndim", "is_contiguous", "element_size", "nelement", "itemsize", "shape"})
_METADATA_SIZES = frozenset({"stride", "size"})


#: How a docstring says that a function serves one iteration.
_ONE = re.compile(r"\b(?:a single|one) ([a-z]+[a-rt-z])\b")


@dataclass(frozen=True)
class View:
    """``tensor[i, ...]``: a tensor, by its text, with the loop variable number ``v`` at dimension ``dims[v]`` (None: the
    tensor does not move with it); ``shape`` is that of the whole tensor."""

    text: str
    dims: tuple[int | None, ...]
    shape: tuple[Size, ...]

    def dimension(self, index: int) -> int | None:
        """Where dimension ``index`` of the view is in the tensor; None where that is not certain."""
        gone = {dim for dim in self.dims if dim is not None}
        if index < 0:
            return index if max(gone, default=-1) <= len(gone) - 1 else None
        kept = [dim for dim in range(len(self.shape)) if dim not in gone]
        return kept[index] if index < len(kept) else None

    @property
    def leading(self) -> int | None:
        """How many dimensions the loops run over, where those are the first ones."""
        gone = sorted(dim for dim in self.dims if dim is not None)
        return len(gone) if gone == list(range(len(gone))) else None

    @property
    def first(self) -> str:
        """The view of the first iteration."""
        gone = {dim for dim in self.dims if dim is not None}
        return f"{self.text}[{', '.join('0' if dim in gone else ':' for dim in range(max(gone) + 1))}]"


@dataclass
class _Nest:
    """The loops: their variables, the texts of their counts and the innermost body."""

    node: cst.For
    variables: list[str] = field(default_factory=list)
    counts: list[cst.BaseExpression] = field(default_factory=list)
    body: Sequence[cst.CSTNode] = ()


@codemod(MergedLoop)
def loop_axis(site: Site, transform: MergedLoop) -> list[TextEdit]:
    """The launches in the loop run once, with the loop's variable as a further program id; each pointer that used to move
    on from iteration to iteration is moved in the kernel."""
    return _LoopAxis(site, transform).edits()


class _LoopAxis:
    def __init__(self, site: Site, transform: MergedLoop) -> None:
        self.site = site
        self.source: Source = site.source
        self.repeat = next(
            (s for s in site.workload.steps if isinstance(s, Repeat) and s.span == transform.repeat), None
        )
        loop = flat_loop(self.repeat) if self.repeat is not None else None
        if loop is None:
            raise CannotRewrite("the loop is no longer there")
        self.launches = [step for step in loop.body if isinstance(step, Launch)]
        if len(self.launches) != len(loop.body):
            raise CannotRewrite("the loop holds torch calls beside the launches")
        self.nest = self._nest()
        self.values: Values = site.program.trace(site.workload.entry).host
        self.changes: list[TextEdit] = []
        #: What loop bodies call that makes the launches, with the views that its parameters become.
        self.views: dict[str, View] = {}

    def edits(self) -> list[TextEdit]:
        host = LaunchSource(self.site, self.launches[0].span).host if self._direct(self.launches[0]) else None
        function = self.source.function(self.nest.node)
        if function is None:
            raise CannotRewrite("the loop stands outside any function")
        region = _Region(self, FunctionSource(self.site.module, function, self.values), self.nest.body)
        region.collect_views()
        for launch in self.launches:
            if self._direct(launch):
                region.launch(launch, [self.source.code(count) for count in self.nest.counts])
            else:
                self._in_helper(region, launch)
        assert host is None or host.node is function
        region.rewrite_uses()
        region.check_variables()
        return [*self._moved_out(), *self._dedent(region)]

    def _moved_out(self) -> list[TextEdit]:
        """The changes so far, with lines that they add to the loop's body indented as it will be."""
        start, end = self.source.range_of(self.nest.node)
        outer = self.source.indent(start)
        inner = self.source.indent(self.source.start(self.nest.body[0]))
        return [
            TextEdit(e.start, e.end, e.text.replace(f"\n{inner}", f"\n{outer}")) if start <= e.start <= end else e
            for e in self.changes
        ]

    def _direct(self, launch: Launch) -> bool:
        call = self.source.at(launch.span, cst.Call)
        return any(node is call for line in self.nest.body for node in walk(line))

    # -- the loops --------------------------------------------------------------------------------------------------

    def _nest(self) -> _Nest:
        node = self.source.at(self.repeat.span, cst.For) if self.repeat is not None else None
        if node is None:
            raise CannotRewrite("the loop does not run over range(n)")
        nest = _Nest(node)
        while True:
            nest.variables.append(self._variable(node))
            nest.counts.append(self._count(node))
            nest.body = node.body.body
            if not isinstance(node.body, cst.IndentedBlock) or node.orelse is not None:
                raise CannotRewrite("the loop is not a plain block")
            if len(nest.body) != 1 or not isinstance(nest.body[0], cst.For):
                return nest
            node = nest.body[0]

    def _variable(self, node: cst.For) -> str:
        if not isinstance(node.target, cst.Name):
            raise CannotRewrite("the loop has no single variable")
        return node.target.value

    def _count(self, node: cst.For) -> cst.BaseExpression:
        call = node.iter
        if not isinstance(call, cst.Call) or self.source.origin(call.func) != "range" or len(call.args) != 1:
            raise CannotRewrite("the loop does not run over range(n)")
        return call.args[0].value

    def counts(self) -> list[Size | None]:
        """The numbers of iterations, outermost loop first."""
        found: list[Size | None] = []
        step = self.repeat
        while isinstance(step, Repeat):
            found.append(step.count)
            step = step.body[0] if len(step.body) == 1 and isinstance(step.body[0], Repeat) else None
        return found

    # -- a helper that launches -------------------------------------------------------------------------------------

    def _in_helper(self, region: _Region, launch: Launch) -> None:
        place = LaunchSource(self.site, launch.span)
        helper = place.host
        calls = self.source.calls(helper.node.name.value)
        inside = [call for call in calls if any(node is call for line in self.nest.body for node in walk(line))]
        if len(calls) != 1 or len(inside) != 1:
            raise CannotRewrite(f"`{helper.node.name.value}` is called from more places than the loop")
        (call,) = inside
        views = {}
        names = [param.name.value for param in parameters(helper.node)]
        for position, arg in enumerate(call.args):
            name = arg.keyword.value if arg.keyword is not None else names[position] if position < len(names) else ""
            view = region.view(arg.value)
            if view is not None:
                views[name] = View(name, view.dims, view.shape)
                region.passed.add(arg.value)
        if not views:
            raise CannotRewrite("no argument of the helper moves with the loop")
        inner = _Region(self, helper, helper.body)
        inner.names = views
        inner.launch(launch, self._counts_in(views))
        inner.rewrite_uses()
        text = docstring(helper.node)
        if text is not None and (new := _ONE.sub(r"all \1s", text.value)) != text.value:
            self.changes.append(self.source.replace(text, new))

    def _counts_in(self, views: dict[str, View]) -> list[str]:
        """The counts of the loops as sizes of the helper's tensors."""
        found = []
        for v, count in enumerate(self.counts()):
            moving = [view for view in views.values() if view.dims[v] is not None]
            if count is None or not moving or any(view.shape[view.dims[v] or 0] != count for view in moving):
                raise CannotRewrite("the loop does not run over the whole of a tensor")
            found.append(f"{moving[0].text}.shape[{moving[0].dims[v]}]")
        return found

    # -- the text ---------------------------------------------------------------------------------------------------

    def _dedent(self, region: _Region) -> list[TextEdit]:
        """Edits that take the loop statements away and move their body out."""
        source = self.source
        body = [line for line in self.nest.body if id(line) not in region.gone]
        if not body:
            raise CannotRewrite("nothing would be left of the loop")
        edits = source.delete_statements(line for line in self.nest.body if id(line) in region.gone)
        outer = source.indent(source.start(self.nest.node))
        inner = source.indent(source.start(self.nest.body[0]))
        first = source.line_start(source.line(source.start(self.nest.node)))
        begin, _ = source.with_heading(self.nest.body[0])
        top = source.line(begin)
        if source.comments_in(first, begin):
            raise CannotRewrite("a comment stands behind the loop's head")
        edits.append(TextEdit(first, begin, ""))
        last = source.line(source.end(self.nest.body[-1]))
        for line in range(top, last + 1):
            start = source.line_start(line)
            text = source.text[start : source.line_start(line + 1)]
            if any(edit.start <= start < edit.end for edit in edits if edit.end > begin):
                continue
            if text.strip() and not text.startswith(inner):
                raise CannotRewrite("the loop's body cannot be moved out")
            if text.strip():
                edits.append(TextEdit(start + len(outer), start + len(inner), ""))
        return edits


class _Region:
    """Statements of one function in which some names and expressions used to be one iteration's view."""

    def __init__(self, rewrite: _LoopAxis, function: FunctionSource, body: Sequence[cst.CSTNode]) -> None:
        self.rewrite = rewrite
        self.source = rewrite.source
        self.function = function
        self.body = body
        self.names: dict[str, View] = {}
        self.gone: set[int] = set()
        #: View expressions that a helper is passed, and arguments that fall away.
        self.passed: set[cst.CSTNode] = set()
        self.indices: set[cst.CSTNode] = set()

    # -- views ------------------------------------------------------------------------------------------------------

    def view(self, node: cst.BaseExpression) -> View | None:
        """``node`` as a view that moves with the loops; None where it does not."""
        variables = self.rewrite.nest.variables
        if isinstance(node, cst.Name):
            return self.names.get(node.value)
        if not isinstance(node, cst.Subscript):
            return None
        tensor = self.function.values.get(node.value)
        dims: list[int | None] = [None] * len(variables)
        for position, element in enumerate(node.slice):
            index = element.slice
            if isinstance(index, cst.Index) and isinstance(index.value, cst.Name) and index.value.value in variables:
                dims[variables.index(index.value.value)] = position
            elif not (isinstance(index, cst.Slice) and index.lower is index.upper is index.step is None):
                return None
        mentions = [n for n in walk(node) if isinstance(n, cst.Name) and n.value in variables]
        if not mentions or len(mentions) != sum(dim is not None for dim in dims):
            return None
        if not isinstance(tensor, Tensor) or tensor.shape is None:
            raise CannotRewrite(f"what `{self.source.code(node.value)}` is was not followed")
        return View(self.source.code(node.value), tuple(dims), tensor.shape)

    def collect_views(self) -> None:
        """Note the variables of the loop's body that are given a view."""
        for line in self.body:
            statement = self.source.statement(line)
            if not isinstance(statement, cst.Assign) or not isinstance(statement.targets[0].target, cst.Name):
                continue
            view = self.view(statement.value)
            if view is not None:
                name = statement.targets[0].target.value
                inside = {id(node) for one in self.body for node in walk(one)}
                if len(self.function.bindings(name)) != 1 or any(
                    id(read) not in inside for read in self.function.reads(name)
                ):
                    raise CannotRewrite(f"`{name}` is used outside the loop")
                self.names[name] = view
                self.gone.add(id(line))

    def _occurrences(self) -> Iterator[tuple[cst.BaseExpression, View]]:
        """Every expression of the region that is a view, outermost ones only."""
        stack: list[cst.CSTNode] = [line for line in reversed(self.body) if id(line) not in self.gone]
        while stack:
            node = stack.pop()
            if isinstance(node, cst.Name):
                if node.value in self.names and self.function.is_variable(node) and not self.function.is_bound(node):
                    yield node, self.names[node.value]
                elif node.value in self.names and self.function.is_bound(node):
                    raise CannotRewrite(f"`{node.value}` is assigned again")
                continue
            view = self.view(node) if isinstance(node, cst.Subscript) else None
            if view is not None:
                yield node, view  # type: ignore[misc]
            else:
                stack += reversed(node.children)

    def rewrite_uses(self) -> None:
        """Let what used to be asked of a view be asked of the whole tensor."""
        for node, view in self._occurrences():
            parent = self.function.parents[node]
            if node in self.passed or isinstance(parent, cst.Return):
                self._put(node, view.text)
            elif isinstance(parent, cst.Attribute):
                self._attribute(node, parent, view)
            else:
                raise CannotRewrite(f"`{self.source.code(node)}` is used for more than the launch")

    def _attribute(self, node: cst.BaseExpression, parent: cst.Attribute, view: View) -> None:
        what = parent.attr.value
        outer = self.function.parents[parent]
        if what in _SAME:
            self._put(node, view.text)
            return
        number: cst.CSTNode | None = None
        if what in _METADATA_SIZES and isinstance(outer, cst.Call) and len(outer.args) == 1:
            number = outer.args[0].value
        elif what == "shape" and isinstance(outer, cst.Subscript) and len(outer.slice) == 1:
            index = outer.slice[0].slice
            number = index.value if isinstance(index, cst.Index) else None
        value = self.function.values.get(number) if number is not None else None
        literal = isinstance(number, (cst.Integer, cst.UnaryOperation)) and isinstance(value, int)
        dimension = view.dimension(int(value)) if literal and value is not None else None
        if number is not None and dimension is not None:
            self._put(node, view.text)
            if dimension != value:
                self._put(number, str(dimension))
        elif what == "shape" and view.leading is not None and not isinstance(outer, cst.Subscript):
            self._put(node, view.text)
            end = self.source.end(parent)
            self.rewrite.changes.append(TextEdit(end, end, f"[{view.leading}:]"))
        elif what in _METADATA or what in _METADATA_SIZES:
            self._put(node, view.first)
        else:
            raise CannotRewrite(f"`{self.source.code(parent)}` is made anew in each iteration")

    def _put(self, node: cst.CSTNode, text: str) -> None:
        self.rewrite.changes.append(self.source.replace(node, text))

    def check_variables(self) -> None:
        """Raise where a loop variable is read for anything but a view, or after the loop."""
        allowed = {id(node) for node in self.indices}
        for occurrence, _ in self._occurrences():
            allowed |= {id(node) for node in walk(occurrence)}
        gone = {id(node) for line in self.body if id(line) in self.gone for node in walk(line)}
        for variable in self.rewrite.nest.variables:
            for read in self.function.reads(variable):
                if id(read) not in allowed | gone:
                    raise CannotRewrite(f"the loop's variable `{variable}` is used for more than picking a view")

    # -- launches ---------------------------------------------------------------------------------------------------

    def launch(self, launch: Launch, counts: list[str]) -> None:
        """Edit a launch and its kernel; ``counts`` are the texts of the loops' counts where the launch stands."""
        place = LaunchSource(self.rewrite.site, launch.span)
        place.check_only_launch()
        self._check_axes(launch, counts)
        kernel = place.kernel
        nest = self.rewrite.nest
        taken = {node.value for node in walk(kernel.node) if isinstance(node, cst.Name)}
        indices, lines = self._program_indices(place, taken)
        added: list[tuple[str, str]] = []
        dropped: list[str] = []
        moves: list[str] = []
        for param in parameters(kernel.node):
            name = param.name.value
            arg = place.argument(name)
            if arg is None:
                continue
            if isinstance(arg.value, cst.Name) and arg.value.value in nest.variables:
                self._index_argument(place, arg, name, indices[nest.variables.index(arg.value.value)])
                dropped.append(name)
                continue
            view = self.view(arg.value)
            if view is None:
                continue
            self.passed.add(arg.value)
            terms = []
            for v, dim in enumerate(view.dims):
                if dim is None:
                    continue
                stride = fresh_name(f"stride_{_stem(name)}_{indices[v].rstrip('_')}", taken)
                added.append((stride, f"{view.text}.stride({dim})"))
                terms.append(f"{indices[v]} * {stride}")
            if terms:
                moves.append(f"{name} += {' + '.join(terms)}")
        self._kernel_lines(place, [*lines, *moves])
        self.rewrite.changes += change_parameters(self.source, place, added, dropped)
        self._grid(place, counts[::-1])

    def _check_axes(self, launch: Launch, counts: list[str]) -> None:
        if len(launch.grid) + len(counts) > _AXES:
            raise CannotRewrite("the grid has no axis left")
        if any((concrete(count) or 0) > _LONGEST_AXIS for count in self.rewrite.counts()):
            raise CannotRewrite(f"a grid axis holds at most {_LONGEST_AXIS:,} programs")

    def _program_indices(self, place: LaunchSource, taken: set[str]) -> tuple[list[str], list[str]]:
        """The variables of the kernel that are the loops', outermost first, and the lines that bind them."""
        variables = self.rewrite.nest.variables
        names, lines = [], []
        first = len(place.launch.grid)
        for v, variable in enumerate(variables):
            wish = variable if len(variable) > 2 and variable != "idx" else "batch" if v == 0 else "head"
            name = fresh_name(wish, taken)
            names.append(name)
            axis = first + len(variables) - 1 - v
            lines.append(f"{name} = {place.tl}.program_id({axis}).to({place.tl}.int64)")
        return names, lines

    def _index_argument(self, place: LaunchSource, arg: cst.Arg, name: str, index: str) -> None:
        """The kernel is passed the loop's variable itself: let it read the program id instead."""
        self.indices |= set(walk(arg.value))
        if place.kernel.bindings(name):
            raise CannotRewrite(f"`{name}` is assigned in the kernel")
        for read in place.kernel.reads(name):
            self._put(read, index)

    def _kernel_lines(self, place: LaunchSource, lines: list[str]) -> None:
        body = [line for line in place.kernel.body if text_of(line) is None]
        at, _ = self.source.with_heading(body[0])
        indent = self.source.indent(self.source.start(body[0]))
        self.rewrite.changes.append(TextEdit(at, at, indented(lines, indent)))

    def _grid(self, place: LaunchSource, counts: list[str]) -> None:
        """Put further extents behind those of the grid."""
        function = place.call.func
        if not isinstance(function, cst.Subscript):
            raise CannotRewrite("the launch does not have the form kernel[grid](...)")
        more = ", ".join(counts)
        if len(function.slice) > 1:
            end = self.source.end(function.slice[-1])
            self.rewrite.changes.append(TextEdit(end, end, f", {more}"))
            return
        index = function.slice[0].slice
        grid = index.value if isinstance(index, cst.Index) else None
        if grid is None:
            raise CannotRewrite("the launch does not have the form kernel[grid](...)")
        definition = place.host.resolved(grid) if isinstance(grid, cst.Name) else grid
        extents = definition.body if isinstance(definition, cst.Lambda) else definition
        here = definition is grid or (
            isinstance(grid, cst.Name) and len(place.host.reads(grid.value)) == 1 and self._visible(definition, counts)
        )
        if here and isinstance(extents, (cst.Tuple, cst.List)):
            last = extents.elements[-1]
            end = self.source.whole(last.value)[1]
            self.rewrite.changes.append(TextEdit(end, end, f", {more}"))
            # `(n,)` has a comma behind its one element.
            comma = self.source.comma(end)
            if len(extents.elements) == 1 and comma is not None:
                self.rewrite.changes.append(TextEdit(comma, comma + 1, ""))
        elif isinstance(definition, cst.Lambda):
            self._put(grid, f"lambda meta: (*{self.source.code(grid)}(meta), {more})")
        elif isinstance(extents, (cst.Tuple, cst.List)):
            self._put(grid, f"(*{self.source.code(grid)}, {more})")
        else:
            raise CannotRewrite("the launch grid is not written as a tuple")

    def _visible(self, definition: cst.BaseExpression, counts: list[str]) -> bool:
        """Whether the counts can be computed where the grid is defined: from parameters or names bound before."""
        names = {
            node.value for count in counts for node in walk(cst.parse_expression(count)) if isinstance(node, cst.Name)
        }
        start = self.source.start(definition)
        return all(self.source.end(bound) <= start for name in names for bound in self.function.bindings(name))


def _stem(name: str) -> str:
    return name.removesuffix("_ptr").removeprefix("ptr_").lower()
