"""Python's own functions that kernels may call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.attributes import lacks
from kernlint.interpret.frontend.language.elementwise import binary_function
from kernlint.interpret.frontend.language.ranges import range_of
from kernlint.interpret.frontend.values import Constexpr, Typed, is_constant
from kernlint.interpret.python.arguments import Args, Kwargs
from kernlint.interpret.values import Namespace, Unknown

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


def builtin(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.Call) -> Any:
    """A Python built-in that kernels may call."""
    if name == "range":
        return range_of(f, "builtins.range", args, kwargs, node)
    if name in ("min", "max") and len(args) == 2:
        if all(is_constant(a) for a in args):
            known = [a for a in args if not isinstance(a, Constexpr)]
            return (min if name == "min" else max)(known) if len(known) == 2 else Constexpr(True)
        return binary_function(f, args, kwargs, node)
    if name in ("int", "float"):
        value = args[0] if args else 0
        if isinstance(value, Typed):
            shown = f"use `.to(tl.{'int32' if name == 'int' else 'float32'})`"
            return f.fault("host-function", node, f"`{name}` takes no run-time value; {shown}", name)
        try:
            return (int if name == "int" else float)(value)
        except (TypeError, ValueError):
            return Constexpr(True)
    if name == "len":
        return len(args[0]) if args and isinstance(args[0], tuple) else Unknown(name)
    if name == "list" and args and isinstance(args[0], tuple):
        return args[0]
    if name == "isinstance" and len(args) == 2 and (isinstance(args[0], Typed) or is_constant(args[0])):
        kinds = args[1] if isinstance(args[1], tuple) else (args[1],)
        names = {kind.path.rpartition(".")[2] if isinstance(kind, Namespace) else "" for kind in kinds}
        if names <= {"tensor", "constexpr"}:
            return ("tensor" if isinstance(args[0], Typed) else "constexpr") in names
    asked = (name, len(args)) in (("hasattr", 2), ("getattr", 3)) and isinstance(args[0], Typed)
    if asked and lacks(f, args[0], args[1]):
        return False if name == "hasattr" else args[2]
    return None if name == "print" else Unknown(name)
