"""The source of one function, host or kernel: who binds and reads its names, and what stands around a node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Union

import libcst as cst

from kernlint.interpret.trace import Values
from kernlint.rewrite.mentions import mentions
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import Atomic, Launch, Load, Span, Store

#: What gives a variable its value.
Binding = Union[cst.Assign, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr, cst.AsName]
#: A statement as it stands on its own lines.
Line = Union[cst.SimpleStatementLine, cst.BaseCompoundStatement]


class FunctionSource:
    """``node`` of a module and what its expressions stand for (``values``)."""

    def __init__(self, source: Source, node: cst.FunctionDef, values: Values) -> None:
        self.source = source
        self.node = node
        self.values = values

    def __contains__(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` stands in the function."""
        return any(outer is self.node for outer in self.source.above(node))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """What ``node``, which stands in the function, stands in there."""
        found = self.source.parent(node)
        assert found is not None
        return found

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What ``node`` stands in, innermost first, up to the function."""
        for outer in self.source.above(node):
            yield outer
            if outer is self.node:
                return

    def line(self, node: cst.CSTNode) -> Line:
        """The innermost statement line (or compound statement) that ``node`` belongs to."""
        for outer in (node, *self.around(node)):
            if isinstance(outer, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                return outer
        raise CannotRewrite("a statement to change shares its line with another one")

    @cached_property
    def body(self) -> list[Line]:
        """The statements of the function's own block."""
        if not isinstance(self.node.body, cst.IndentedBlock):
            raise CannotRewrite(f"the body of `{self.node.name.value}` stands on the line of its def")
        return list(self.node.body.body)  # type: ignore[arg-type]

    def top_level(self, node: cst.CSTNode) -> int:
        """The position in :attr:`body` of the statement that ``node`` stands in."""
        chain = {id(node), *(id(outer) for outer in self.around(node))}
        return next(i for i, statement in enumerate(self.body) if id(statement) in chain)

    # -- names ------------------------------------------------------------------------------------------------------

    def names(self, name: str) -> Iterator[cst.Name]:
        """Every place where the variable ``name`` is read or bound, in source order."""
        for node in walk(self.node.body):
            if isinstance(node, cst.Name) and node.value == name and self.is_variable(node):
                yield node

    def is_variable(self, node: cst.Name) -> bool:
        """Whether ``node`` names a variable, rather than an attribute or a keyword argument."""
        parent = self.parent(node)
        if isinstance(parent, cst.Attribute):
            return parent.attr is not node
        return not (isinstance(parent, cst.Arg) and parent.keyword is node)

    def is_bound(self, node: cst.Name) -> bool:
        """Whether ``node`` is the name of a variable that is given a value there."""
        return node in self and self.is_variable(node) and self.binding(node) is not None

    def binding(self, node: cst.Name) -> Binding | None:
        """What binds the name that ``node`` stands for there; None where it is only read."""
        inner: cst.CSTNode = node
        for outer in self.around(node):
            if isinstance(outer, (cst.Tuple, cst.List, cst.Element, cst.AssignTarget, cst.StarredElement)):
                inner = outer
                continue
            if isinstance(outer, cst.Assign):
                return outer if any(target is inner for target in outer.targets) else None
            if isinstance(outer, (cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)):
                return outer if outer.target is inner else None
            return outer if isinstance(outer, cst.AsName) else None
        return None

    def bindings(self, name: str) -> list[Binding]:
        """Everything that binds ``name``."""
        return [bound for node in self.names(name) if (bound := self.binding(node)) is not None]

    def reads(self, name: str) -> list[cst.Name]:
        """Every place where ``name`` is read; ``name += x`` does not count."""
        return [node for node in self.names(name) if self.binding(node) is None]

    def definition(self, name: str) -> cst.BaseExpression | None:
        """The expression that ``name`` stands for, where it is bound once, by a plain assignment."""
        bound = self.bindings(name)
        if len(bound) != 1 or any(param.name.value == name for param in parameters(self.node)):
            return None
        (one,) = bound
        if isinstance(one, cst.Assign) and len(one.targets) == 1 and isinstance(one.targets[0].target, cst.Name):
            return one.value
        return one.value if isinstance(one, cst.AnnAssign) else None

    def resolved(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """``node``, or the expression that it is a name for."""
        for _ in range(20):
            found = self.definition(node.value) if isinstance(node, cst.Name) else None
            if found is None:
                return node
            node = found
        return node

    def free_name(self, wish: str) -> str:
        """``wish``, with a number behind it where the function (or its module) uses the name already."""
        return fresh_name(wish, names_in_use(self.source.module))


class LaunchSource:
    """A launch in the source: its ``call``, the ``host`` function around it, and the ``kernel`` that it runs."""

    def __init__(self, site: Site, span: Span) -> None:
        launches = [launch for launch in site.workload.launches() if launch.span == span]
        if not launches:
            raise CannotRewrite("the launch is no longer there")
        self.launch: Launch = launches[0]
        #: All launches that this place makes, where a loop or several calls of its function make more than one.
        self.launches = launches
        self.source = site.source
        self.module = module = site.module
        for place in (span, self.launch.kernel.span):
            if place.file != module.path:
                raise CannotRewrite(f"the kernel and its launch are not both in {module.path}")
        trace = site.program.trace(site.workload.entry)
        call = module.at(span, cst.Call)
        kernel = module.at(self.launch.kernel.span, cst.FunctionDef)
        if call is None or kernel is None or span not in trace.kernels:
            raise CannotRewrite("the launch is not written as a call of the kernel")
        self.call = call
        self.kernel = FunctionSource(site.source, kernel, trace.kernels[span])
        self.host = FunctionSource(site.source, enclosing_function(site.source, call), trace.host)

    @cached_property
    def tl(self) -> str:
        """What the module calls ``triton.language``."""
        return module_alias(self.module, "triton.language")

    @cached_property
    def triton(self) -> str:
        """What the module calls ``triton``."""
        return module_alias(self.module, "triton")

    def check_only_launch(self) -> None:
        """Raise unless the kernel is mentioned at this launch alone, so that nothing else depends on how it is
        called."""
        name = self.kernel.node.name.value
        inside = set(map(id, walk(self.call)))
        if any(id(node) not in inside for node in mentions(self.module, name)):
            raise CannotRewrite(f"`{name}` is used in more places than this launch")

    def grid(self) -> tuple[list[cst.BaseExpression], FunctionSource]:
        """The expressions of the grid's extents, behind a name or a lambda."""
        function = self.call.func
        if not isinstance(function, cst.Subscript):
            raise CannotRewrite("the launch does not have the form kernel[grid](...)")
        if len(function.slice) > 1 and all(isinstance(e.slice, cst.Index) for e in function.slice):
            return [e.slice.value for e in function.slice if isinstance(e.slice, cst.Index)], self.host
        grid, _ = self.grid_value(function)
        if not isinstance(grid, (cst.Tuple, cst.List)):
            raise CannotRewrite("the launch grid is not written as a tuple")
        return [element.value for element in grid.elements], self.host

    def grid_parameter(self) -> str:
        """What the grid calls the dictionary of constexprs, where it is a function of them; else empty."""
        return self.grid_value(self.call.func)[1] if isinstance(self.call.func, cst.Subscript) else ""

    def grid_value(self, function: cst.Subscript) -> tuple[cst.BaseExpression | None, str]:
        """(what the grid is, or what it returns as a function; the parameter of that function)."""
        index = function.slice[0].slice
        if len(function.slice) != 1 or not isinstance(index, cst.Index):
            return None, ""
        grid = self.host.resolved(index.value)
        if isinstance(grid, cst.Lambda):
            return grid.body, grid.params.params[0].name.value if grid.params.params else ""
        if isinstance(grid, cst.Name):
            inner = [
                n for n in walk(self.host.node.body) if isinstance(n, cst.FunctionDef) and n.name.value == grid.value
            ]
            body = inner[0].body.body if len(inner) == 1 else ()
            line = body[0] if len(body) == 1 else None
            last = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
            if isinstance(last, cst.Return) and last.value is not None:
                params = inner[0].params.params
                return last.value, params[0].name.value if params else ""
        return grid, ""

    def written_grid(self) -> list[cst.BaseExpression]:
        """What stands between the brackets of the launch: the grid, or each of its extents."""
        function = self.call.func
        elements = [e.slice for e in function.slice] if isinstance(function, cst.Subscript) else []
        values = [element.value for element in elements if isinstance(element, cst.Index)]
        if not values or len(values) != len(elements):
            raise CannotRewrite("the launch does not have the form kernel[grid](...)")
        return values

    def own_grid(self) -> cst.BaseExpression | None:
        """What the grid's name was given, for this launch to read alone; None where the grid is written at the launch."""
        name, *more = self.written_grid()
        if more or not isinstance(name, cst.Name):
            return None
        if len(self.host.reads(name.value)) != 1:
            raise CannotRewrite(f"the grid `{name.value}` is used for more than this launch")
        definition = self.host.definition(name.value)
        if definition is None:
            raise CannotRewrite(f"the grid `{name.value}` is not one plain assignment")
        return definition

    def grid_range(self) -> tuple[int, int]:
        """Where the grid stands in the text, between the brackets of the launch."""
        written = self.written_grid()
        return self.source.whole(written[0])[0], self.source.whole(written[-1])[1]

    def argument(self, parameter: str) -> cst.Arg | None:
        """What the call passes for ``parameter``; None where it does not say."""
        names = [param.name.value for param in parameters(self.kernel.node)]
        starred = False
        for position, arg in enumerate(self.call.args):
            if arg.star:
                starred = True
            elif (arg.keyword is not None and arg.keyword.value == parameter) or (
                arg.keyword is None and not starred and names[position : position + 1] == [parameter]
            ):
                return arg
        if starred and parameter in self.launch.explicit:
            raise CannotRewrite(f"`{parameter}` is among the unpacked arguments of the launch")
        return None


def enclosing_function(source: Source, node: cst.CSTNode) -> cst.FunctionDef:
    """The innermost function that ``node`` stands in. Raises :class:`CannotRewrite` where there is none."""
    found = source.function(node)
    if found is None:
        raise CannotRewrite("the launch stands outside any function")
    return found


def module_alias(module: Module, origin: str) -> str:
    """The name by which ``module`` knows the package ``origin``."""
    for name, known in module.imports.items():
        if known == origin or (known.endswith(f".{origin.rsplit('.', 1)[-1]}") and origin == "triton"):
            return name
        if origin == "triton.language" and known.endswith((".tl", ".triton.language")):
            return name
    raise CannotRewrite(f"the module has no name for {origin}")


def callee(node: cst.CSTNode) -> str:
    """The last part of the name that a call calls: ``sum`` for ``tl.sum(x)`` and ``x.sum()``; empty for other nodes."""
    if not isinstance(node, cst.Call):
        return ""
    function = node.func
    return function.attr.value if isinstance(function, cst.Attribute) else getattr(function, "value", "")


#: The position of ``mask`` among the arguments of an access.
MASK_POSITION = {Load: 1, Store: 2, Atomic: 2}


def argument(call: cst.Call, name: str, position: int | None) -> cst.BaseExpression | None:
    """What ``call`` passes as ``name``, or at ``position``."""
    for index, arg in enumerate(call.args):
        if arg.keyword is not None and arg.keyword.value == name:
            return arg.value
        if arg.keyword is None and not arg.star and index == position:
            return arg.value
    return None
