"""The names that a kernel sees: its own, those of the module, and those of Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.language.functions import constant
from kernlint.interpret.jit_source import assignment, plain_global, plain_number, torch_dtype
from kernlint.interpret.values import Function, Namespace, Reexported, Scope, Unknown
from kernlint.syntax.names import bound_by, origin_of
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Span

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


_PYTHON_BUILTINS = frozenset(
    "abs all any bool bytes callable chr complex dict divmod enumerate filter format frozenset hasattr hash id iter map "
    "next object ord pow repr reversed round set slice sorted str sum super tuple type vars zip".split()
)


def name_value(f: FrontEnd, node: cst.Name, scope: Scope) -> Any:
    """What ``node`` stands for: a variable of the kernel, one of the module, or a function that kernels have."""
    name = node.value
    if name in scope.vars:
        return scope.vars[name]
    function = f.calls[-1]
    bindings = _bindings(f, function).get(name)
    if bindings is not None:
        use = function.module.span(node)
        if any((one.end_line, one.end_column) <= (use.line, use.column) for one in bindings):
            why = "only a loop, or a branch that is not always taken, assigns it before"
        else:
            why = f"line {min(one.line for one in bindings)} is the first to assign it"
        text = f"`{name}` is not defined where it is used: {why}"
        return f.fault("branch-undefined", node, text, name)
    closure: Scope | None = function.closure
    while closure is not None:
        if name in closure.vars:
            return _global(f, name, closure.vars[name], closure, node)
        closure = closure.parent
    if name in f.target.builtins():
        return Namespace("builtins." + name)
    if name in _PYTHON_BUILTINS and assignment(function.module.tree.body, name) is None:
        return f.fault("host-function", node, f"Python's `{name}` does not exist in a kernel", name)
    if plain_number(function.module, name):
        text = f"`{name}` is a plain global of the part that runs as a script; a kernel reads only globals made by tl.constexpr(...)"
        f.fault("plain-global", node, text, name)
    return Unknown(name)


def _bindings(f: FrontEnd, function: Function) -> dict[str, list[Span]]:
    """Where a function's body assigns names, by name."""
    node, module = function.node, function.module
    known = f.bindings.get(node)
    if known is None:
        known = f.bindings[node] = {}
        for kind in (cst.Assign, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr):
            for statement in module.within(node.body, kind):
                for name in bound_by(statement):
                    known.setdefault(name.value, []).append(module.span(statement))
    return known


def _global(f: FrontEnd, name: str, value: Any, closure: Scope, node: cst.CSTNode) -> Any:
    """A variable of the module (or of a function around the kernel) as a kernel sees it."""
    if isinstance(value, Function):
        return value  # calling it is what fails
    if isinstance(value, Dtype) and torch_dtype(f.module, name):
        return Namespace(f"torch.{value.name}")
    plain = isinstance(value, (bool, int, float, str, tuple, list, dict)) and not isinstance(value, Unknown)
    if plain and closure.parent is None and plain_global(f.module, name):
        text = f"`{name}` is a plain global; a kernel reads only globals made by tl.constexpr(...)"
        f.fault("plain-table" if isinstance(value, (dict, list)) else "plain-global", node, text, name)
    return value


def external(f: FrontEnd, value: Namespace, name: str, node: cst.CSTNode) -> Any:
    path = f"{value.path}.{name}"
    if not path.startswith("triton"):
        if path.startswith("math.") and name in ("pi", "e", "inf", "nan", "tau"):
            return float("nan") if name == "nan" else 3.14
        return Namespace(path)
    if f.target.has(path) is False:
        own = isinstance(value, Reexported) and not f.target.ever(path)
        return Unknown("a name of another package") if own else missing(f, path, node)
    change = f.target.change(path)
    if change is not None and f.target.deprecated(change):
        shown = path.replace("triton.language", "tl", 1)
        f.fault("deprecated-name", node, f"`{shown}` is deprecated; use {change.replacement}", path)
    if value.path in ("triton.language", "triton.language.core"):
        found = constant(name)
        if found is not None:
            return found
    return Namespace(path)


def missing(f: FrontEnd, path: str, node: cst.CSTNode) -> Unknown:
    """A name that the target release does not have, unless the module puts it there itself, as for an extension."""
    if path in f.module.once(_names_set):
        return Unknown("a name that the module sets")
    shown = path.replace("triton.language", "tl", 1)
    if not f.target.ever(path):
        return f.fault("missing-name", node, f"`{shown}` does not exist", path)
    since = None if f.target.named else f.target.gone_since(path)
    text = f"`{shown}` does not exist " + (f"since Triton {since}" if since else f"in Triton {f.target.release}")
    change, moved = f.target.change(path), f.target.moved(path)
    if change is not None or moved is not None:
        text += f"; use {change.replacement if change is not None else moved}"
    return f.fault("removed-name", node, text, path)


def _names_set(module: Module) -> frozenset[str]:
    """The dotted origins of the attributes that ``module`` assigns: ``tl.slice = f`` gives triton.language.slice."""
    targets = (target.target for statement in module.of(cst.Assign) for target in statement.targets)
    origins = (origin_of(target, module.imports) for target in targets if isinstance(target, cst.Attribute))
    return frozenset(origin for origin in origins if origin is not None)
