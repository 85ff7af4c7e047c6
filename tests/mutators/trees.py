"""What mutators ask of a syntax tree. Each takes the tree of a program and gives that of another, or None where it changes nothing: of
a chain of them the text is written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import libcst as cst
import libcst._nodes.op
import libcst._nodes.whitespace

from kernlint.syntax.names import bound_by, dotted_name, variables
from kernlint.syntax.walk import walk


def is_jit(node: cst.CSTNode) -> bool:
    """Whether ``node`` is a function that Triton compiles."""
    return isinstance(node, cst.FunctionDef) and any(
        (dotted_name(d.decorator.func if isinstance(d.decorator, cst.Call) else d.decorator) or "").endswith("jit")
        for d in node.decorators
    )


@lru_cache(maxsize=64)
def parsed(source: str) -> cst.Module:
    """The tree of ``source``, which many mutators ask for one after the other."""
    return cst.parse_module(source)


class Transformer(cst.CSTTransformer):
    """Goes no deeper than expressions go, so not into white space and operators, and calls the methods that a mutator has: LibCST
    calls one of its own, which does nothing, for each node and attribute else."""

    changed = False  # whether any node became another one

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.methods = {name for one in cls.__mro__ if one.__module__.startswith("mutators.") for name in vars(one)}
        if not any(name.startswith(("visit_", "leave_")) and name.count("_") > 1 for name in cls.methods):
            cls.on_visit_attribute = cls.on_leave_attribute = lambda *_: None  # type: ignore[method-assign]

    def on_visit(self, node: cst.CSTNode) -> bool:
        kind = type(node)
        visit = f"visit_{kind.__name__}"
        if visit in self.methods:
            return getattr(self, visit)(node) is not False
        return kind not in _LEAVES

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        leave = f"leave_{type(original_node).__name__}"
        if leave not in self.methods:
            return updated_node
        new = getattr(self, leave)(original_node, updated_node)
        self.changed = self.changed or new is not updated_node
        return new

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        self._of_attribute("visit", node, attribute)

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        self._of_attribute("leave", original_node, attribute)

    def _of_attribute(self, what: str, node: cst.CSTNode, attribute: str) -> None:
        method = f"{what}_{type(node).__name__}_{attribute}"
        if method in self.methods:
            getattr(self, method)(node)


#: Kinds of nodes in which there is no expression.
_LEAVES = frozenset(
    kind
    for module in (libcst._nodes.whitespace, libcst._nodes.op)
    for kind in vars(module).values()
    if isinstance(kind, type)
) | {cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.LeftParen, cst.RightParen}


def changed(module: cst.Module, transformer: Transformer) -> cst.Module | None:
    """``module`` as ``transformer`` makes it; None where that changes nothing."""
    new = module.visit(transformer)
    return new if transformer.changed else None


def with_calls(module: cst.Module, change: Callable[[cst.Call, cst.Call], cst.BaseExpression]) -> cst.Module | None:
    """``module`` with ``change(original, updated)`` in the place of each call inside a kernel; None where nothing changes."""
    return changed(module, _Calls(change))


class _Calls(Transformer):
    def __init__(self, change: Callable[[cst.Call, cst.Call], cst.BaseExpression]) -> None:
        self.change = change
        self.inside = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.inside += is_jit(node)
        return self.inside > 0 or self.visit_ClassDef(node)

    def visit_ClassDef(self, node: cst.CSTNode) -> bool:
        return any(map(is_jit, walk(node)))

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.inside -= is_jit(original_node)
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return self.change(original_node, updated_node) if self.inside else updated_node


def top_functions(module: cst.Module) -> list[cst.FunctionDef]:
    """The functions that stand at the top of ``module``."""
    return [line for line in module.body if isinstance(line, cst.FunctionDef)]


def kernels(module: cst.Module) -> list[cst.FunctionDef]:
    return [function for function in top_functions(module) if is_jit(function)]


def is_constexpr(annotation: cst.Annotation | None) -> bool:
    return annotation is not None and (dotted_name(annotation.annotation) or "").endswith("constexpr")


def constexprs(function: cst.FunctionDef) -> set[str]:
    """The parameters and variables of a kernel that are declared ``tl.constexpr``."""
    names = {param.name.value for param in function.params.params if is_constexpr(param.annotation)}
    for node in walk(function.body):
        if isinstance(node, cst.AnnAssign) and isinstance(node.target, cst.Name) and is_constexpr(node.annotation):
            names.add(node.target.value)
    return names


def locals_of(function: cst.FunctionDef) -> set[str]:
    """The parameters of ``function`` and the variables that it binds."""
    params = {param.name.value for param in function.params.params}
    return params | {name.value for node in walk(function.body) for name in bound_by(node)}


def free_names(node: cst.CSTNode, of: set[str]) -> list[str]:
    """The variables among ``of`` that ``node`` reads, in order, without those that it binds itself by ``lambda`` or in a
    comprehension."""
    own: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, cst.Param):
            own.add(inner.name.value)
        elif isinstance(inner, cst.CompFor):
            own |= {name.value for name in variables(inner.target)}
    return [name for name in dict.fromkeys(v.value for v in variables(node)) if name in of and name not in own]


class Replaced(Transformer):
    """Puts expressions in the place of variables."""

    def __init__(self, names: Mapping[str, cst.BaseExpression]) -> None:
        self.names = names

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        new = self.names.get(original_node.value)
        return updated_node if new is None else new.deep_clone()

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        self._kept = self.names
        self.names = {}

    def leave_Attribute_attr(self, node: cst.Attribute) -> None:
        self.names = self._kept

    def visit_Arg_keyword(self, node: cst.Arg) -> None:
        self._kept = self.names
        self.names = {}

    def leave_Arg_keyword(self, node: cst.Arg) -> None:
        self.names = self._kept


def replaced(node: Any, old: cst.CSTNode, new: cst.CSTNode) -> Any:
    """``node`` with ``new`` in the place of ``old``, one of the nodes below it; LibCST's ``deep_replace`` makes all nodes anew."""
    if node is old:
        return new
    if isinstance(node, (tuple, list)):
        made = [replaced(one, old, new) for one in node]
        return node if all(one is other for one, other in zip(made, node)) else made
    if not isinstance(node, cst.CSTNode) or type(node) in _LEAVES:
        return node
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        found = replaced(value, old, new)
        if found is not value:
            return node.with_changes(**{name: found})
    return node


def grouped(value: cst.BaseExpression) -> cst.BaseExpression:
    """``value`` in parentheses where it is more than one token, so that it can stand anywhere."""
    if value.lpar or isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)):
        return value
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def after_imports(module: cst.Module, lines: Iterable[cst.BaseStatement]) -> cst.Module:
    """``module`` with ``lines`` behind its imports."""
    at = 0
    for index, line in enumerate(module.body):
        if isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], (cst.Import, cst.ImportFrom)):
            at = index + 1
    return module.with_changes(body=[*module.body[:at], *lines, *module.body[at:]])


def statements(text: str) -> list[cst.BaseStatement]:
    return list(cst.parse_module(text).body)  # type: ignore[arg-type]


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def is_launch(node: cst.CSTNode, names: set[str]) -> bool:
    """Whether ``node`` is ``kernel[grid](...)`` of a kernel among ``names``."""
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Subscript)
        and isinstance(node.func.value, cst.Name)
        and node.func.value.value in names
    )


def launches_in(node: cst.CSTNode, names: set[str]) -> Iterator[cst.Call]:
    for inner in walk(node):
        if isinstance(inner, cst.Call) and is_launch(inner, names):
            yield inner


def kernel_names(module: cst.Module) -> set[str]:
    """The names of all jit functions, also of those that stand inside others."""
    return {node.name.value for node in walk(module) if isinstance(node, cst.FunctionDef) and is_jit(node)}
