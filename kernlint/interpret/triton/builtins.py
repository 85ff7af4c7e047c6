"""Python's own functions in kernels, and ranges."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.api import keywords
from kernlint.interpret.python.control import Raised
from kernlint.interpret.python.methods import PURE, pure
from kernlint.interpret.triton import widths
from kernlint.interpret.triton.language.functions import call_function
from kernlint.interpret.triton.ranges import Range
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Namespace, Unknown, is_concrete
from kernlint.workload import Expr
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


def call_external(k: KernelEvaluator, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    name = path.rsplit(".", 1)[-1]
    if name in ("range", "static_range"):
        return _range(k, path, args, kwargs)
    if path.startswith("builtins."):
        return _builtin(k, name, args, kwargs, node)
    return call_function(k, name, args, kwargs, node)


def _builtin(k: KernelEvaluator, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
    if name in ("min", "max") and len(args) >= 2 and not is_concrete(args):
        return call_function(k, "minimum" if name == "min" else "maximum", args, {}, node)
    if name == "len" and args and isinstance(args[0], (tuple, list)):
        return len(args[0])
    if name == "abs" and args and isinstance(args[0], Block):
        return call_function(k, "abs", args, {}, node)
    if name == "pow" and len(args) == 2:
        return k.binary("**", operator.pow, args[0], args[1], node)
    if is_concrete(args) and name in PURE:
        return pure(PURE[name], args)
    if name in ("int", "float", "bool") and args and isinstance(args[0], Block):
        return args[0]
    if name == "isinstance" and len(args) == 2:
        return _is_of(*args)
    if name == "print":
        return None
    return Unknown(name)


def _range(k: KernelEvaluator, path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    kind = {"builtins.range": "range"}.get(path, "tl." + path.rsplit(".", 1)[-1])
    if kind != "range":
        kwargs = keywords(kind.removeprefix("tl."), args, kwargs, 0)
        args = [kwargs[name] for name in ("arg1", "arg2") if kwargs.get(name) is not None]
    given = [0, *args] if len(args) == 1 else list(args)
    given += [kwargs.get("step", 1)] if len(given) == 2 else []
    bounds: list[ex.Size | None] = [_index(k, a) for a in args]
    if not 1 <= len(bounds) <= 3:
        raise Raised  # which Triton does
    if len(bounds) == 1:
        bounds = [0, bounds[0], 1]
    elif len(bounds) == 2:
        bounds.append(1)
    step = _index(k, kwargs["step"]) if "step" in kwargs else bounds[2]
    stages = kwargs.get("num_stages")
    start = bounds[0] if bounds[0] is not None else k.unknown_index()
    stop = bounds[1]
    wide = any(isinstance(a, Block) and widths.is_wide(a) for a in args)
    return Range(
        kind,
        start,
        stop,
        step if step is not None else 1,
        stages if isinstance(stages, int) else None,
        dt.INT64 if wide else dt.INT32,
        tuple(given),
    )


def _index(k: KernelEvaluator, value: Any) -> ex.Size | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, Expr)):
        return value
    index = (
        value.expr or value.shadow if isinstance(value, Block) else None
    )  # bounds are integers, or Triton refuses them
    return ex.simplify(index) if index is not None else None


def _is_of(value: Any, kinds: Any) -> Any:
    """``isinstance`` in a kernel, of the two classes that its values have there. (An argument that is 1 is a constexpr too.)"""
    names = {
        k.path.rpartition(".")[2] if isinstance(k, Namespace) else ""
        for k in (kinds if isinstance(kinds, tuple) else (kinds,))
    }
    if names <= {"tensor", "constexpr"} and not isinstance(value, Unknown):
        return ("tensor" if isinstance(value, Block) else "constexpr") in names
    return Unknown("isinstance")
