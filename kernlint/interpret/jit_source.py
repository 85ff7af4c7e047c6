"""What the source of a jit function and its module says that no value does: globals, imports, assignments, parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import libcst as cst

from kernlint.interpret.values import Function
from kernlint.syntax.names import bound_by, dotted_name, targets
from kernlint.syntax.positions import python_value
from kernlint.syntax.testing import is_guarded_main
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt


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


#: How an annotation names the integer type that Triton passes a number as.
_INTEGER = re.compile(r"(?:\w+\.)*(i|u|u?int)(8|16|32|64)")


def annotated_integers(function: cst.FunctionDef | cst.Lambda) -> dict[str, Dtype]:
    """The parameters of a kernel annotated as integers of some width, whatever number they are given."""
    found = {}
    for param in parameters(function):
        if param.annotation is not None:
            kind = param.annotation.annotation
            name = kind.raw_value if isinstance(kind, cst.SimpleString) else dotted_name(kind) or ""
            named = _INTEGER.fullmatch(name)
            dtype = dt.find(f"{'u' * named[1].startswith('u')}int{named[2]}") if named else None
            if dtype is not None:
                found[param.name.value] = dtype
    return found


#: What Triton or a reader of types knows among annotations that are strings: `"*fp32"`, `"i64"`, `"tl.constexpr"`.
_TYPE = re.compile(r"\*.*|k?[a-z]+\d\w*|.*[.\[|].*|constexpr|int|float|bool|str|tuple|tensor|Tensor|None")


def is_template(node: cst.FunctionDef, module: Module) -> bool:
    """Whether the source is rewritten before it is compiled: a generator has yet to fill the file in, or parameters, or variables
    declared without a value, are annotated with a string that is no type."""
    if awaits_generator(module):
        return True
    declared = [p.annotation for p in parameters(node)]
    declared += [n.annotation for n in module.within(node.body, cst.AnnAssign) if n.value is None]
    texts = [a.annotation for a in declared if a is not None]
    return any(
        isinstance(t, cst.SimpleString) and not _TYPE.fullmatch(str(python_value(t.value)).strip()) for t in texts
    )


def awaits_generator(module: Module) -> bool:
    """Whether ``module`` is what cog is given, not what it writes: no line stands between the end of any block's program (``]]]``)
    and the end of what that prints (``[[[end]]]``)."""
    return module.once(_awaits_generator)


def _awaits_generator(module: Module) -> bool:
    if "[[[cog" not in module.text:
        return False
    lines = [line for line in module.lines if line.strip()]
    programs = [before for before, line in pairwise(lines) if "[[[end]]]" in line]
    return bool(programs) and all("]]]" in line for line in programs)


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


def _assigns(node: cst.CSTNode, name: str) -> bool:
    """Whether ``node`` assigns something to ``name`` alone."""
    targets = (
        [target.target for target in node.targets] if type(node) is cst.Assign
        else [node.target] if isinstance(node, (cst.AugAssign, cst.AnnAssign)) else []
    )  # fmt: skip
    return any(isinstance(target, cst.Name) and target.value == name for target in targets)


def assignment(body: Any, name: str) -> cst.CSTNode | None:
    """The last statement of a loop body that assigns ``name``."""
    found = [node for statement in body for node in walk(statement) if _assigns(node, name)]
    return found[-1] if found else None


def _given_at_top(module: Module, name: str) -> Iterator[cst.BaseExpression]:
    """What statements of ``module`` itself assign to ``name``, those that run where it is a script included."""
    scripts = [one.body.body for one in module.tree.body if isinstance(one, cst.If) and is_guarded_main(one)]
    for statement in (*module.tree.body, *(line for body in scripts for line in body)):
        for part in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(part, (cst.Assign, cst.AnnAssign)) and part.value is not None:
                for target in part.targets if isinstance(part, cst.Assign) else [part]:
                    yield from _given(target.target, part.value, name)


def _given(target: cst.CSTNode, value: cst.BaseExpression, name: str) -> Iterator[cst.BaseExpression]:
    """What ``name`` gets where ``value`` is assigned to ``target``: its own part of a tuple, or all of what is not written as one."""
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple) and len(target.elements) == len(value.elements):
        for one, part in zip(target.elements, value.elements, strict=True):
            yield from _given(one.value, part.value, name)
    elif any(one.value == name for one in targets(target)):
        yield value


def plain_global(module: Module, name: str) -> bool:
    """Whether every assignment of ``name`` at module level makes a plain value, not a ``tl.constexpr``, and functions that set it
    make it a literal number: what else one of them makes of it, before the launch, is not known."""
    given = [*_given_at_top(module, name)]
    known = all(isinstance(value, (cst.Integer, cst.Float)) for value in module.once(_given_by_functions).get(name, ()))
    return bool(given) and known and not any(map(may_be_constexpr, given))


def _given_by_functions(module: Module) -> Mapping[str, list[cst.BaseExpression | None]]:
    """What functions of ``module`` assign to its variables, which they declare ``global``; None in place of what is no expression."""
    found: dict[str, list[cst.BaseExpression | None]] = {}
    for function in module.of(cst.FunctionDef) if module.of(cst.Global) else ():
        shared = {item.name.value for node in module.own(function.body, cst.Global) for item in node.names}
        for name in shared:
            given = [node for node in walk(function.body) if any(one.value == name for one in bound_by(node))]
            # A loop, a `with` or one of several targets gives it what is no expression.
            values = [getattr(node, "value", None) if _assigns(node, name) else None for node in given]
            found.setdefault(name, []).extend(values)
    return found


def plain_number(module: Module, name: str) -> bool:
    """Whether every assignment of ``name`` at module level gives it a literal number."""
    given = [*_given_at_top(module, name)]
    return bool(given) and all(isinstance(value, (cst.Integer, cst.Float)) for value in given)


def may_be_constexpr(value: cst.BaseExpression) -> bool:
    """Whether ``value`` is ``tl.constexpr(...)``, or a choice that may come out as that."""
    if isinstance(value, cst.IfExp):
        return may_be_constexpr(value.body) or may_be_constexpr(value.orelse)
    maker = dotted_name(value.func) if isinstance(value, cst.Call) else None
    return maker is not None and maker.split(".")[-1] == "constexpr"


def torch_dtype(module: Module, name: str) -> bool:
    """Whether ``name`` is imported from torch or set to one of torch's types at module level."""
    if module.imports.get(name, "").rpartition(".")[0] == "torch":
        return True
    given = next(_given_at_top(module, name), None)
    return given is not None and (dotted_name(given) or "").startswith("torch.")


def may_be_jit(function: Function) -> bool:
    """Whether a function carries a decorator that may make it callable from a kernel."""
    return isinstance(function.node, cst.FunctionDef) and bool(function.node.decorators)
