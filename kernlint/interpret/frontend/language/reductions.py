"""The types of reductions and scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.api import keywords
from kernlint.interpret.frontend.language.arguments import Shape
from kernlint.interpret.frontend.values import Constexpr, Typed
from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument
from kernlint.interpret.values import Unknown
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


REDUCTIONS = frozenset("sum max min argmax argmin xor_sum reduce_or".split())


def reduce(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = args[0] if args else kwargs.get("input")
    if isinstance(value, tuple):
        return Unknown(name)
    value = f.operand(value)
    if value is None:
        return Unknown(name)
    axis = argument(args, kwargs, 1, "axis")
    kwargs = keywords(name, args, kwargs, 2)
    keep = kwargs.get("keep_dims", False)
    if isinstance(axis, (Unknown, Constexpr, Typed)) or not isinstance(keep, bool):
        return Unknown(name)
    shape = _reduced(f, f"tl.{name}", value.shape, axis, keep, node)
    if shape is None:
        return Unknown(name)
    indexed = kwargs.get("return_indices") is True
    dtype = dt.reduced(name, value.dtype, kwargs.get("dtype"), indexed)
    known = value.pointer is False or name.startswith("arg")
    result = Typed(dtype if known else None, shape)
    if indexed:
        return (result, Typed(dt.INT32, shape))
    return result


def _reduced(f: FrontEnd, what: str, shape: Shape, axis: Any, keep: bool, node: cst.CSTNode) -> Shape | None:
    if axis is None:
        return (1,) * len(shape) if keep else ()
    if not isinstance(axis, int):
        return None
    place = axis + len(shape) if axis < 0 else axis
    if not 0 <= place < len(shape):
        rank = f"{len(shape)} dimensions" if shape else "no dimension: it is one value"
        f.fault("tensor-rank", node, f"`{what}` over axis {int(axis)}: its operand has {rank}")
        return None
    return (*shape[:place], *((1,) if keep else ()), *shape[place + 1 :])


def _custom_reduce(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    given = keywords("reduce", args, kwargs, 0)
    value, axis, keep = given["input"], given.get("axis"), given.get("keep_dims") is True
    values = value if isinstance(value, tuple) else (value,)
    results = []
    for one in values:
        block = f.operand(one)
        if block is None or isinstance(axis, (Unknown, Constexpr, Typed)):
            return Unknown("reduce")
        shape = _reduced(f, "tl.reduce", block.shape, axis, keep, node)
        if shape is None:
            return Unknown("reduce")
        results.append(Typed(block.dtype, shape))
    return tuple(results) if isinstance(value, tuple) else results[0]


def _scan(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = args[0] if args else kwargs.get("input")
    if isinstance(value, tuple):
        return tuple(_scan(f, [v, *args[1:]], kwargs, node) for v in value)
    block = f.operand(value)
    axis = argument(args, kwargs, 1, "axis", default=0)
    if block is None:
        return Unknown("scan")
    if isinstance(axis, int) and not -len(block.shape) <= axis < len(block.shape):
        rank = f"{len(block.shape)} dimensions" if block.shape else "no dimension: it is one value"
        return f.fault("tensor-rank", node, f"a scan over axis {int(axis)}: its operand has {rank}")
    return Typed(None if block.dtype is not None and block.dtype.bits < 32 else block.dtype, block.shape)


TABLE: dict[str, Handler] = {
    "reduce": _custom_reduce,
    **dict.fromkeys(("cumsum", "cumprod", "associative_scan"), _scan),
}
