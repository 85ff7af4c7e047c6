"""A fixed tile becomes a list of configurations for ``triton.autotune``.

The kernel gets the decorator; the launch loses the constexprs and options that the configurations set; the grid becomes a
function of them. Whatever else the host computes from the old tile (the size of a buffer with one row per program) would
not follow the choice, so that such a program is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.rewrite.bindings import variable
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import LaunchSource, parameters
from kernlint.rewrite.settings import order_of_sums, same_work
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.tiling.tuned_tiles import Autotuned, Configuration
from kernlint.syntax.walk import walk

_OPTIONS = ("num_warps", "num_stages")
_META = "META"


@codemod(Autotuned)
def leave_to_autotuner(site: Site, transform: Autotuned) -> Rewriting:
    """``@triton.autotune`` with the configurations and the key of ``transform``; the launch passes them no more."""
    place = LaunchSource(site, transform.launch)
    place.check_only_launch()
    edits = _Rewrite(place, transform).edits()
    names = {name for name, _ in transform.configurations[0].values}
    effects = Effects(memory="more" if transform.restored else "same")
    for launch in place.launches:
        effects |= order_of_sums(launch, names)
    for configuration in transform.configurations:
        effects |= same_work(site, _tile_of(configuration, transform))
    return Rewriting(tuple(edits), effects)


def _tile_of(configuration: Configuration, transform: Autotuned) -> Edits:
    """The what-if that sets the tile of ``configuration`` where the source sets it now."""
    values, literal = dict(configuration.values), {name for name, _ in transform.literals}
    return Edits(
        literals=frozenset((span, values[name]) for name, span in transform.literals),
        options=frozenset((transform.launch, name, value) for name, value in values.items() if name not in literal),
    )


class _Rewrite:
    def __init__(self, place: LaunchSource, change: Autotuned) -> None:
        self.place = place
        self.change = change
        self.source, self.host, self.call = place.source, place.host, place.call
        self.editor = Editor(place.source)
        self.names = [name for name, _ in change.configurations[0].values]
        #: What the host calls the extents of the tile: the text of a name or attribute, and the constexprs it is passed for.
        self.constants: dict[str, list[str]] = {}
        #: The constexprs that numbers of the grid stand for.
        self.numbers = {span: name for name, span in change.literals}
        #: What the launch passes for its options.
        self.options: list[cst.BaseExpression] = []
        #: Variables that only the grid used.
        self.computed: list[str] = []
        #: Nodes that go or are replaced, so that what they mention is no further use.
        self.accounted: list[cst.CSTNode] = []

    def edits(self) -> list[TextEdit]:
        decorators = self._check_decorators()
        buckets = self._add_buckets()
        self._rewrite_call(buckets)
        self._let_grid_follow()
        self._drop_constants()
        self._decorate(decorators[0], buckets)
        return self.editor.edits

    # -- the launch -------------------------------------------------------------------------------------------------

    def _rewrite_call(self, buckets: Mapping[str, str]) -> None:
        """The launch passes no extents of the tile and no options, but what the key needs; arguments that stood behind the
        tile are passed by name."""
        call, names = self.call, [param.name.value for param in parameters(self.place.kernel.node)]
        given = {name: self.place.argument(name) for name in (*self.names, *_OPTIONS)}
        dropped = [arg for arg in given.values() if arg is not None]
        for name in self.names:
            arg = given[name]
            if arg is not None and not isinstance(arg.value, cst.Integer):
                self._add_constant(name, arg.value)
        self.options = [arg.value for name in _OPTIONS if (arg := given[name]) is not None]
        kept = [arg for arg in call.args if not any(arg is one for one in dropped)]
        positions = [i for i, arg in enumerate(call.args) if arg.keyword is None and any(arg is one for one in dropped)]
        for i, arg in enumerate(call.args):
            if positions and i > positions[0] and arg.keyword is None and any(arg is one for one in kept):
                if arg.star:
                    raise CannotRewrite("the launch unpacks arguments behind the tile")
                self.editor.insert(self.source.start(arg), f"{names[i]}=")
        added = ", ".join(f"{new}={self._bucket(name)}" for name, new in buckets.items())
        for edit in self.source.drop_arguments(call, dropped):
            text = edit.text
            if added and edit.start == self.source.end(kept[-1]):
                # In the place of the first that goes.
                first = next(arg for arg in dropped if self.source.start(arg) > edit.start)
                text, added = self.source.text[edit.start : self.source.start(first)] + added, ""
            # Comments beside an argument are about it.
            self.editor.put(edit.start, edit.end, text, describes=True)
        if added:
            self.editor.insert_behind(kept[-1], added)
        self.accounted += dropped

    def _bucket(self, name: str) -> str:
        """What the launch passes for the bucket of the argument ``name``."""
        arg = self.place.argument(name)
        if arg is None:
            raise CannotRewrite(f"the launch does not say `{name}`")
        return f"{self.place.triton}.next_power_of_2({self.source.code(arg.value)})"

    def _add_constant(self, name: str, value: cst.BaseExpression) -> None:
        code = self.source.code(value)
        if not isinstance(value, cst.Name) and not (
            isinstance(value, cst.Attribute) and isinstance(value.value, cst.Name)
        ):
            raise CannotRewrite(f"`{code}`, passed for {name}, is computed at the launch")
        self.constants.setdefault(code, []).append(name)

    # -- the grid ---------------------------------------------------------------------------------------------------

    def _let_grid_follow(self) -> None:
        written = self.place.written_grid()
        grid = self.host.resolved(written[0]) if len(written) == 1 else None
        if isinstance(grid, cst.Lambda):
            self._within_function(grid.body, grid.params)
        elif isinstance(grid, cst.Name):
            inner = [one for one in self.source.functions(grid.value) if self.source.function(one) is self.host.node]
            if len(inner) != 1:
                raise CannotRewrite("the launch grid is not written as a tuple")
            self._within_function(inner[0].body, inner[0].params)
        elif grid is not None and not isinstance(grid, (cst.Tuple, cst.List)):
            raise CannotRewrite("the launch grid is not written as a tuple")
        else:
            self._make_function(written, grid)

    def _within_function(self, body: cst.CSTNode, params: cst.Parameters) -> None:
        """The grid is a function already: it takes the tile from its argument."""
        if not params.params:
            raise CannotRewrite("the grid is a function without an argument")
        meta = params.params[0].name.value
        for node in self._mentions(body):
            self.editor.replace_whole(node, self._from_meta(node, meta))
            self.accounted.append(node)

    def _make_function(self, written: Sequence[cst.BaseExpression], grid: cst.BaseExpression | None) -> None:
        """The grid is a tuple: it becomes a function, where it has a name under that name."""
        elements = [e.value for e in grid.elements] if isinstance(grid, (cst.Tuple, cst.List)) else list(written)
        texts = [self._expanded(element) for element in elements]
        text = f"lambda {_META}: ({', '.join(texts)}{',' if len(texts) == 1 else ''})"
        named = self.place.own_grid()
        if named is not None:
            if named is not grid:
                raise CannotRewrite(f"the grid `{self.source.code(written[0])}` has another name too")
            self.editor.replace_whole(named, text)
            self.accounted.append(named)
            return
        free = self.host.free_name("grid")
        self.editor.insert_before(self.host.line(self.call), [f"{free} = {text}"], above_comments=True)
        assert isinstance(self.call.func, cst.Subscript)
        self.editor.put(*self.place.grid_range(), free)
        self.accounted += list(self.call.func.slice)

    def _expanded(self, node: cst.BaseExpression) -> str:
        """The source of ``node`` with the tile taken from META, in names that are computed from it as well."""
        start, end = self.source.whole(node)
        text, position = "", start
        for inner, new in self._replacements(node):
            first, last = self.source.whole(inner)
            text, position = text + self.source.text[position:first] + new, last
        return text + self.source.text[position:end]

    def _replacements(self, node: cst.BaseExpression) -> Iterator[tuple[cst.BaseExpression, str]]:
        """The parts of ``node`` that depend on the tile, with what to write for them, in order."""
        found: list[tuple[int, cst.BaseExpression, str]] = []
        covered: set[int] = set()
        for inner in walk(node):
            if id(inner) in covered or not isinstance(inner, (cst.Name, cst.Attribute, cst.Integer)):
                continue
            if self._is_extent(inner):
                covered |= {id(one) for one in walk(inner)}
                found.append((self.source.start(inner), inner, self._from_meta(inner, _META)))
            elif isinstance(inner, cst.Name) and self._is_variable(inner):
                text = self._definition_text(inner)
                if text is not None:
                    found.append((self.source.start(inner), inner, text))
        for _, inner, text in sorted(found, key=lambda one: one[0]):
            yield inner, text

    def _definition_text(self, name: cst.Name) -> str | None:
        """What to write for a name that is computed from the tile; None for another one, which has to stay as it is."""
        value = self.host.definition(name.value)
        if value is not None and next(self._dependent(value), None) is not None:
            statement = self.host.line(value)
            if not any(statement is one for one in self.accounted):
                self.editor.delete(statement)
                self.accounted.append(statement)
                self.computed.append(name.value)
            text = self._expanded(value)
            return text if isinstance(value, (cst.Call, cst.Name, cst.Attribute, cst.Subscript)) else f"({text})"
        if len(self.host.bindings(name.value)) > 1 or (
            self.host.bindings(name.value) and self._is_parameter(name.value)
        ):
            raise CannotRewrite(f"`{name.value}`, which the grid is computed from, changes in the function")
        return None

    def _dependent(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The parts of ``node`` that the tile enters, through other names too."""
        yield from self._mentions(node)
        for inner in walk(node):
            if isinstance(inner, cst.Name) and self._is_variable(inner):
                value = self.host.definition(inner.value)
                if value is not None and value is not node:
                    yield from self._dependent(value)

    def _mentions(self, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
        for inner in walk(node):
            if isinstance(inner, (cst.Name, cst.Attribute, cst.Integer)) and self._is_extent(inner):
                parent = self.source.parent(inner)
                if not (isinstance(parent, cst.Arg) and parent.keyword is inner):
                    yield inner

    def _is_extent(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is the number of the tile, or what the host calls it."""
        if isinstance(node, cst.Integer):
            return self.source.module.span(node) in self.numbers
        return self.source.code(node) in self.constants

    def _is_variable(self, node: cst.Name) -> bool:
        return node in self.host and self.host.is_variable(node)

    def _is_parameter(self, name: str) -> bool:
        return any(param.name.value == name for param in parameters(self.host.node))

    def _from_meta(self, node: cst.BaseExpression, meta: str) -> str:
        """One of the constexprs that ``node`` is passed for: they are equal, and taken in turn."""
        if isinstance(node, cst.Integer):
            return f'{meta}["{self.numbers[self.source.module.span(node)]}"]'
        names = self.constants[self.source.code(node)]
        names.append(names.pop(0))
        return f'{meta}["{names[-1]}"]'

    # -- what the host computed from the tile ------------------------------------------------------------------------

    def _drop_constants(self) -> None:
        """The names of the old tile go, with all that was computed from them alone. Raises where something is left that
        needs them."""
        accounted = {id(one) for node in self.accounted for one in walk(node)}
        for code in [*self.constants, *self.computed]:
            for node in self._uses(code):
                if id(node) not in accounted:
                    line = self.source.line_number(self.source.start(node))
                    raise CannotRewrite(f"`{code}` is used at line {line} for more than the launch and its grid")
        dead = [assign for code in self.constants if (assign := self._dead_binding(code)) is not None]
        dead += self._dead_options()
        for assign in dead:
            about = (*self.source.heading(assign), *self.source.trailing(assign))
            self.editor.add(self.source.delete_comment(comment) for comment in about)
        self.editor.add(self.source.delete_statements(dead))

    def _dead_options(self) -> list[cst.Assign]:
        """The assignments of variables of the host that only said the warps and stages of the launch."""
        found = []
        for node in self.options:
            name = node.value if isinstance(node, cst.Name) else ""
            bound = self.host.bindings(name) if name and name not in self.constants else []
            if len(bound) == 1 and len(self.host.reads(name)) == 1 and self.host.definition(name) is not None:
                (assign,) = bound
                found += [assign] if isinstance(assign, cst.Assign) and isinstance(assign.value, cst.Integer) else []
        return found

    def _uses(self, code: str) -> Iterator[cst.BaseExpression]:
        """Where the module reads the variable or attribute ``code``."""
        attribute = code.rpartition(".")[2] if "." in code else ""
        local = not attribute and (bool(self.host.bindings(code)) or self._is_parameter(code))
        for node in walk(self.host.node if local else self.source.module.tree):
            parent = self.source.parent(node)
            if isinstance(parent, cst.AssignTarget):
                continue
            if isinstance(parent, cst.Element) and self._is_target(parent):
                continue
            if attribute:
                if isinstance(node, cst.Attribute) and node.attr.value == attribute:
                    yield node
            elif isinstance(node, cst.Name) and node.value == code and (local or not self._is_shadowed(node)):
                keyword = (
                    isinstance(parent, (cst.Arg, cst.Param))
                    and getattr(parent, "keyword", getattr(parent, "name", None)) is node
                )
                if not keyword and not (isinstance(parent, cst.Attribute) and parent.attr is node):
                    yield node

    def _is_shadowed(self, node: cst.Name) -> bool:
        """Whether a function around ``node`` has a variable of its own by that name, so that the module's is not meant."""
        inner: cst.CSTNode = node
        for outer in self.source.above(node):
            # Defaults and decorators are read outside.
            if isinstance(outer, cst.FunctionDef) and inner is outer.body:
                declared = {item.name.value for one in walk(outer) if isinstance(one, cst.Global) for item in one.names}
                if node.value not in declared and variable(self.source, node.value, outer).bindings:
                    return True
            inner = outer
        return False

    def _is_target(self, element: cst.Element) -> bool:
        outer = self.source.parent(element)
        return outer is not None and isinstance(self.source.parent(outer), cst.AssignTarget)

    def _dead_binding(self, code: str) -> cst.Assign | None:
        """The assignment that gives ``code`` its value and has no other purpose; from one that has, ``code`` is taken out.
        Raises where it is not one plain assignment."""
        if "." not in code and self._is_parameter(code):
            raise CannotRewrite(f"`{code}` is a parameter of `{self.host.node.name.value}`")
        bound = [
            assign
            for assign in self.source.module.of(cst.Assign)
            for target in assign.targets
            if any(self.source.code(one) == code for one in _targets(target.target))
            and ("." in code or self._same_scope(assign, code))
        ]
        if len(bound) != 1 or len(bound[0].targets) != 1:
            raise CannotRewrite(f"`{code}` does not get its value from one plain assignment")
        (assign,) = bound
        target = assign.targets[0].target
        line = self.source.parent(assign)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            raise CannotRewrite(f"the assignment of `{code}` shares its line")
        if not isinstance(target, cst.Tuple):
            return assign
        if not isinstance(assign.value, cst.Tuple) or len(assign.value.elements) != len(target.elements):
            raise CannotRewrite(f"`{code}` is unpacked from something that is not written out")
        kept = [
            (self.source.code(left.value), self.source.code(right.value))
            for left, right in zip(target.elements, assign.value.elements)
            if self.source.code(left.value) not in self.constants
        ]
        if not kept:
            return assign
        left, right = (", ".join(side) for side in zip(*kept))
        self.editor.replace(assign, f"{left} = {right}")
        return None

    def _same_scope(self, assign: cst.Assign, code: str) -> bool:
        """Whether ``assign`` is in the function that launches or, where that does not bind ``code``, in the module."""
        function = self.source.function(assign)
        return function is self.host.node if self.host.bindings(code) else function is None

    # -- the kernel -------------------------------------------------------------------------------------------------

    def _check_decorators(self) -> Sequence[cst.Decorator]:
        kernel = self.place.kernel.node
        origins = [
            self.source.origin(one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator) or ""
            for one in kernel.decorators
        ]
        kinds = [origin.rpartition(".")[2] for origin in origins]
        if "jit" not in kinds or not set(kinds) <= {"jit", "heuristics"}:
            raise CannotRewrite(f"`{kernel.name.value}` is not decorated with triton.jit alone")
        if self.source.parent(kernel) is not self.source.module.tree:
            raise CannotRewrite(f"`{kernel.name.value}` is defined anew on each call, and would be tuned anew too")
        return kernel.decorators

    def _add_buckets(self) -> dict[str, str]:
        """A parameter for each size that counts by its next power of two, by the name of that size."""
        params = list(parameters(self.place.kernel.node))
        found: dict[str, str] = {}
        for name in self.change.key:
            if name not in self.change.bucketed:
                continue
            suffix = "_BUCKET" if name.isupper() else "_bucket"
            new = self.place.kernel.free_name(name + suffix)
            index = next(
                (i for i, p in enumerate(params) if p.name.value in self.names or p.default is not None), len(params)
            )
            positional = [i for i, one in enumerate(self.call.args) if one.keyword is None and i >= index]
            if any(params[i].name.value not in self.names for i in positional if i < len(params)) or index == len(
                params
            ):
                raise CannotRewrite(f"no place among the parameters for `{new}`, which the key needs")
            self.editor.insert_beside(params[index], new)
            found[name] = new
        return found

    def _decorate(self, first: cst.Decorator, buckets: Mapping[str, str]) -> None:
        triton = self.place.triton
        lines = [f"@{triton}.autotune(", "    configs=["]
        for one in self.change.configurations:
            values = ", ".join(f'"{name}": {value}' for name, value in one.values)
            lines.append(
                f"        {triton}.Config({{{values}}}, num_warps={one.num_warps}, num_stages={one.num_stages}),"
            )
        key = ", ".join(f'"{buckets.get(name, name)}"' for name in self.change.key)
        lines += ["    ],", f"    key=[{key}],"]
        if self.change.restored:
            restored = ", ".join(f'"{name}"' for name in self.change.restored)
            lines.append(f"    restore_value=[{restored}],  # the kernel updates them, and tuning runs it many times")
        at = self.source.line_start(self.source.line(self.source.start(first)))
        self.editor.insert(at, "".join(f"{line}\n" for line in [*lines, ")"]))


def _targets(target: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [e.value for e in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else [target]
