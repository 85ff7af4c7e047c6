"""What the source of a jit function and its module says that no value does: globals, imports, assignments, parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import libcst as cst

from kernlint.interpret.values import Function
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters, walk


def is_entry(node: cst.FunctionDef, module: Module) -> bool:
    """Whether a jit function that nothing calls is launched, so that its arguments are scalars: it returns nothing, and asks
    for its program or stores something. A function that takes the product of an argument, or turns it, is a part of one."""
    if any(inner.value is not None for inner in module.within(node.body, cst.Return)):
        return False
    names = {p.name.value for p in parameters(node)}
    for call in module.within(node.body, cst.Call):
        turned = (dotted_name(call.func) or "").rpartition(".")[2] in ("dot", "dot_scaled", "trans", "permute")
        if turned and any(isinstance(arg.value, cst.Name) and arg.value.value in names for arg in call.args[:2]):
            return False
    asked = {inner.attr.value for inner in module.within(node.body, cst.Attribute)}
    return not asked.isdisjoint(("program_id", "num_programs", "store")) or any(a.startswith("atomic_") for a in asked)


#: What Triton or a reader of types knows among annotations that are strings: `"*fp32"`, `"i64"`, `"tl.constexpr"`.
_TYPE = re.compile(r"\*.*|k?[a-z]+\d\w*|.*[.\[|].*|constexpr|int|float|bool|str|tuple|tensor|Tensor|None")


def is_template(node: cst.FunctionDef, module: Module) -> bool:
    """Whether the source is rewritten before it is compiled: parameters, or variables declared without a value, are annotated
    with a string that is no type."""
    declared = [p.annotation for p in parameters(node)]
    declared += [n.annotation for n in module.within(node.body, cst.AnnAssign) if n.value is None]
    texts = [a.annotation for a in declared if a is not None]
    return any(isinstance(t, cst.SimpleString) and not _TYPE.fullmatch(str(t.evaluated_value).strip()) for t in texts)


def binding_problem(node: cst.FunctionDef, args: list[Any], kwargs: Mapping[str, Any]) -> str:
    """Why Python would not call a function with these arguments; empty where it would."""
    every = parameters(node)
    names = [p.name.value for p in every[: len(every) - len(node.params.kwonly_params)]]
    if isinstance(node.params.star_arg, cst.Param) or node.params.star_kwarg is not None:
        return ""
    if len(args) > len(names):
        return f"takes {len(names)} arguments; {len(args)} are given"
    known = {p.name.value for p in every}
    given = set(names[: len(args)])
    for name in kwargs:
        if name not in known:
            return f"has no parameter `{name}`"
        if name in given:
            return f"is given `{name}` twice"
    missing = [
        p.name.value for p in every if p.default is None and p.name.value not in given and p.name.value not in kwargs
    ]
    return f"is called without `{missing[0]}`" if missing else ""


def assignment(body: Any, name: str) -> cst.CSTNode | None:
    """The last statement of a loop body that assigns ``name``."""
    found: cst.CSTNode | None = None
    for statement in body:
        for node in walk(statement):
            if type(node) is cst.Assign:
                targets = [t.target for t in node.targets]
            elif type(node) is cst.AugAssign or type(node) is cst.AnnAssign:
                targets = [node.target]
            else:
                continue
            if any(isinstance(t, cst.Name) and t.value == name for t in targets):
                found = node
    return found


def plain_global(module: Module, name: str) -> bool:
    """Whether every assignment of ``name`` at module level makes a plain value, not a ``tl.constexpr``."""
    found = False
    for statement in module.tree.body:
        for part in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            value: cst.BaseExpression | None = None
            targets: list[cst.BaseExpression] = []
            if isinstance(part, cst.Assign):
                targets, value = [t.target for t in part.targets], part.value
            elif isinstance(part, cst.AnnAssign):
                targets, value = [part.target], part.value
            if value is None or not any(isinstance(t, cst.Name) and t.value == name for t in targets):
                continue
            if may_be_constexpr(value):
                return False
            found = True
    return found


def may_be_constexpr(value: cst.BaseExpression) -> bool:
    """Whether ``value`` is ``tl.constexpr(...)``, or a choice that may come out as that."""
    if isinstance(value, cst.IfExp):
        return may_be_constexpr(value.body) or may_be_constexpr(value.orelse)
    maker = dotted_name(value.func) if isinstance(value, cst.Call) else None
    return maker is not None and maker.split(".")[-1] == "constexpr"


def torch_dtype(module: Module, name: str) -> bool:
    """Whether ``name`` is imported from torch or set to one of torch's types at module level."""
    for statement in module.tree.body:
        for part in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(part, cst.Assign) and any(
                isinstance(t.target, cst.Name) and t.target.value == name for t in part.targets
            ):
                return (dotted_name(part.value) or "").startswith("torch.")
            if (
                isinstance(part, cst.ImportFrom)
                and dotted_name(part.module) == "torch"
                and not isinstance(part.names, cst.ImportStar)
            ) and any((a.evaluated_alias or a.evaluated_name) == name for a in part.names):
                return True
    return False


def may_be_jit(function: Function) -> bool:
    """Whether a function carries a decorator that may make it callable from a kernel."""
    return isinstance(function.node, cst.FunctionDef) and bool(function.node.decorators)
