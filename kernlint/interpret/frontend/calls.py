"""Calls: of functions of `triton.language`, of jit functions, and of what kernels cannot call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.language.builtins import builtin
from kernlint.interpret.frontend.language.functions import type_of_call
from kernlint.interpret.frontend.language.ranges import range_of
from kernlint.interpret.frontend.signatures import check_call
from kernlint.interpret.frontend.values import Constexpr, Typed, tensor
from kernlint.interpret.jit_source import binding_problem
from kernlint.interpret.values import Function, Unknown

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


_TYPES = frozenset({"torch.finfo", "torch.iinfo", "torch.Size"})


def call_external(f: FrontEnd, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    head, _, name = path.rpartition(".")
    if head == "builtins":
        return builtin(f, name, args, kwargs, node)
    if path in ("triton.language.range", "triton.language.static_range"):
        return range_of(f, path, args, kwargs, node)
    if path.startswith("triton.language"):
        if not check_call(f, path, args, kwargs, node):
            return Unknown(name)
        return type_of_call(f, name, args, kwargs, node, path)
    if path.startswith("triton."):
        return _host_helper(f, path, args, node)
    if path.startswith("torch._inductor."):
        return Unknown(path)  # its runtime has jit functions of its own, and passes Triton's libdevice on
    if path.split(".")[0] in ("torch", "math", "numpy"):
        values = [*args, *kwargs.values()]
        # Of functions of Python a kernel may call none, of types (`torch.finfo`) those that it gives constants.
        if any(isinstance(v, Typed) for v in values) or (path.startswith("torch.") and values and path not in _TYPES):
            return f.fault("host-function", node, f"`{path}` runs in Python; a kernel cannot call it", path)
    return Unknown(path)


def _host_helper(f: FrontEnd, path: str, args: list[Any], node: cst.Call) -> Any:
    """``triton.cdiv`` and the like: Python functions, which take compile-time constants only."""
    if path in ("triton.cdiv", "triton.next_power_of_2"):
        if any(isinstance(a, Typed) for a in args):
            name = path.rpartition(".")[2]
            text = f"`{path}` is a Python function and takes no run-time value; use tl.{name}"
            return f.fault("host-function", node, text, path)
        return Constexpr(True)
    return Unknown(path)


def call_jit(f: FrontEnd, function: Function, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if any(f.node is function.node for f in f.calls):
        text = f"`{function.name}` calls itself; the compiler inlines it without end"
        return f.fault("recursion", node, text, function.name)
    assert isinstance(function.node, cst.FunctionDef)
    problem = None if any(a.star for a in node.args) else binding_problem(function.node, args, kwargs)
    if problem:
        return f.fault("bad-call", node, f"`{function.name}` {problem}", function.name)
    return _returned(f, f.invoke(function, args, kwargs))


def _returned(f: FrontEnd, value: Any) -> Any:
    """A returned number becomes a run-time value."""
    if isinstance(value, tuple):
        return tuple(_returned(f, v) for v in value)
    return tensor(value)
