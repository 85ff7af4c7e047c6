"""What the front end refuses of a kernel in one launch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.frontend.evaluator import FrontEnd
from kernlint.interpret.frontend.values import Constexpr, Typed, literal
from kernlint.interpret.jit_source import annotated_integers, is_entry, is_template
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.values import Class, Function, Jit, OpenFloat, Scope, Unknown, is_concrete
from kernlint.syntax.walk import parameters
from kernlint.workload import Dtype, Expr, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload.fault import Fault


def check_kernel(
    jit: Jit, arguments: Mapping[str, Any], constexprs: Mapping[str, Any], target: Target, bare: bool = False
) -> tuple[Fault, ...]:
    """What the front end of ``target`` refuses of the kernel when launched with these arguments.

    ``arguments`` are host values by name (Tensor, int, Expr, float, None ...), ``constexprs`` the ``tl.constexpr`` ones.
    ``bare`` says that no launch is known: neither then is any of the values.
    """
    function = jit.function
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    if is_template(node, function.module):
        return ()
    typed = {p.name.value for p in parameters(node) if p.annotation is not None}
    front = FrontEnd(target, arguments, frozenset({*jit.unspecialised, *typed}))
    scope = Scope(function.closure)
    anything = arguments.keys() if bare and not is_entry(node, function.module) else set[str]()
    if bare:
        anything |= {p.name.value for p in parameters(node) if _is_record(p, function.closure)}
    for name, value in arguments.items():
        scope.vars[name] = Unknown(name) if name in anything else from_host(name, value, bare)
    for name, dtype in annotated_integers(node).items():
        if isinstance(arguments.get(name), (int, Expr)) and isinstance(scope.vars[name], Typed):
            scope.vars[name] = Typed(dtype, argument=name)
    made = {*jit.heuristics, *(name for config in jit.configs for name in config.kwargs)}
    for name, value in constexprs.items():
        switch = name if bare and value is False and name not in made and not jit.open_ended else ""
        unknown = bare or isinstance(value, (Unknown, Expr))
        scope.vars[name] = Constexpr(switch=switch) if unknown else _constant(value)
    front.modules.append(function.module)
    front.calls.append(function)
    with suppress(Return, Raised, Break, Continue, OutOfBudget, RecursionError):
        front.run(node.body.body, scope)
    front.count()
    return tuple(front.found.values())


def _is_record(parameter: cst.Param, closure: Scope) -> bool:
    """Whether ``parameter`` is annotated with a class of the project: several values under one name, not a tensor."""
    kind = parameter.annotation.annotation if parameter.annotation is not None else None
    return isinstance(kind, cst.Name) and isinstance(closure.get(kind.value), Class)


def from_host(name: str, value: Any, bare: bool) -> Any:
    """A run-time argument as the kernel sees it."""
    if isinstance(value, Tensor):
        # An argument of the entry of which only the name is known may be anything.
        return Typed(value.dtype, (), True if value.dtype is not None or value.shape is not None else None, name)
    if value is None or isinstance(value, (str, Dtype, Jit, Function)):
        return value
    if isinstance(value, bool):
        return Typed(dt.BOOL, argument=name)
    if isinstance(value, int):
        return Typed(literal(value), argument=name)
    if isinstance(value, (float, OpenFloat)):
        return Typed(dt.FLOAT32, argument=name)
    if isinstance(value, Expr):
        # A name that somebody passes on may be of anything; what was computed of such is a number.
        named = str(value).isidentifier()
        return Typed(None, (), None if named else False, name)
    if isinstance(value, (tuple, list)):
        # Numbers may be constants, by ``tl.constexpr(...)``, and what no source shows a tuple itself or a descriptor.
        return tuple(from_host("", v, bare) if isinstance(v, (Tensor, tuple, list)) else Unknown("item") for v in value)
    if isinstance(value, Unknown) and (bare or value.reason != "missing argument"):
        return Typed(None, (), None, name)
    return Unknown(name)


def _constant(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_constant(v) for v in value)
    if is_concrete(value) or isinstance(value, (Dtype, Jit, Function)):
        return int(value) if type(value) is not bool and isinstance(value, int) else value
    return Constexpr()
