"""The types of elementwise functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.language.arguments import Shape, dtype_of
from kernlint.interpret.frontend.values import Typed, bearing, computation, short
from kernlint.interpret.python.arguments import Args, Handler, Kwargs, takes
from kernlint.interpret.triton.language.elementwise import UNARY
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


_PREDICATES = frozenset("isnan isinf isfinite isfinited finitef signbit".split())


#: Functions whose result is of their operand's type; those on bits, and to whole numbers, are not.
ELEMENTWISE = frozenset(UNARY) - frozenset("clz ffs llrint popc".split())


@takes("input", "dtype", "fp_downcast_rounding", "bitcast")
def _cast(f: FrontEnd, node: cst.CSTNode, given: Any, target: Any, rounding: Any, bits_only: Any) -> Any:
    value, dtype, bitcast = f.operand(given), dtype_of(f, target, node), bits_only is True
    if value is None:
        return Unknown("cast")
    if value.pointer is not False and dtype is None:
        return Typed(None, value.shape, None)
    wrapped = None if bitcast else f.becoming(value, dtype, node).wrapped
    if bitcast and dtype is not None and value.dtype is not None and not value.pointer:
        bits = [1 if d == dt.BOOL else d.bits for d in (value.dtype, dtype)]
        if bits[0] != bits[1]:
            text = f"{short(value.dtype)} has {bits[0]} bits and {short(dtype)} {bits[1]}: no bitcast between them"
            return f.fault("operand-type", node, text)
    result = Typed(dtype, value.shape, False if dtype is not None else None)
    return result if wrapped is None or wrapped.fault is None else replace(result, wrapped=wrapped)


def elementwise_type(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, path: str) -> Any:
    values = [f.operand(a) for a in (*args, *kwargs.values())]
    blocks = [v for v in values if v is not None]
    if len(blocks) < len(values) or not blocks:
        return Unknown(name)
    _demand_dtype(f, name, path, blocks, node)
    shape: Shape | None = blocks[0].shape
    for other in blocks[1:]:
        shape = f.common_shape(Typed(None, shape or ()), other, node)
        if shape is None:
            return Unknown(name)
    if name in _PREDICATES:
        return Typed(None, shape or ())
    return bearing(Typed(blocks[0].dtype if len(blocks) == 1 else None, shape or ()), *blocks)


def _demand_dtype(f: FrontEnd, name: str, path: str, blocks: list[Typed], node: cst.CSTNode) -> None:
    """Functions that are implemented for a few element types only."""
    if ".libdevice." in path:
        path = f"triton.language.extra.cuda.libdevice.{name}"
    takes = ["fp32", "fp64"] if name == "sigmoid" else f.target.dtypes(path)
    if takes is None or len(blocks) != 1:
        return
    (value,) = blocks
    if value.dtype is not None and value.pointer is False and short(value.dtype) not in takes:
        text = f"`{name}` takes {' or '.join(takes)}, not {short(value.dtype)}; cast the operand to tl.float32"
        f.fault("math-type", node, text, name)


@takes("x", "y")
def binary_function(f: FrontEnd, node: cst.CSTNode, a: Any, b: Any) -> Any:
    x, y = f.operand(a), f.operand(b)
    if x is None or y is None:
        return Unknown("operand")
    return _promoted(f, a, b, x, y, node)


def _promoted(f: FrontEnd, a: Any, b: Any, x: Typed, y: Typed, node: cst.CSTNode) -> Any:
    shape = f.common_shape(x, y, node)
    if shape is None:
        return Unknown("shape")
    if x.pointer is not False or y.pointer is not False:
        return Typed(x.dtype if x.pointer else y.dtype, shape, True if x.pointer and y.pointer else None)
    dtype = None
    if x.dtype is not None and y.dtype is not None:
        dtype = computation(x.dtype, y.dtype, (not isinstance(a, Typed), not isinstance(b, Typed)), False)
    return f.block(dtype, shape, node)


@takes("condition", "x", "y")
def _where(f: FrontEnd, node: cst.CSTNode, test: Any, a: Any, b: Any) -> Any:
    x, y = f.operand(a), f.operand(b)
    if x is None or y is None:
        return Unknown("where")
    result = _promoted(f, a, b, x, y, node)
    condition = f.operand(test)
    if condition is None:
        return Unknown("where")
    for arm in (x, y):
        if arm.wrapped is not None and arm.wrapped.fault is not None and condition.tested is arm.wrapped.minuend:
            f.found.pop(arm.wrapped.fault, None)  # the lanes that have wrapped are told by what was subtracted from
    if isinstance(result, Typed):
        if condition.dtype is not None and condition.dtype != dt.BOOL and condition.pointer is False:
            text = (
                f"the condition of tl.where is {short(condition.dtype)}; a condition that is not boolean is deprecated"
            )
            f.fault("where-condition", node, text)
        shape = f.common_shape(condition, result, node)
        if shape is None:
            return Unknown("where")
        return Typed(result.dtype, shape, result.pointer)
    return result


@takes("x", "div", operands=2)
def _cdiv(f: FrontEnd, node: cst.CSTNode, x: Typed, y: Typed) -> Any:
    shape = f.common_shape(x, y, node)
    if shape is None:
        return Unknown("cdiv")
    return Typed(x.dtype if x.dtype == y.dtype else None, shape)


@takes("seed", "offset")
def _random(f: FrontEnd, node: cst.CSTNode, seed: Any, given: Any) -> Any:
    offset = f.operand(given)
    return Typed(dt.FLOAT32, offset.shape) if offset is not None else Unknown("random")


@takes("x", "y", "z")
def _fma(f: FrontEnd, node: cst.CSTNode, x: Any, y: Any, z: Any) -> Any:
    product = f.binary("*", _unused, x, y, node)
    return f.binary("+", _unused, product, z, node)


def _unused(a: Any, b: Any) -> Any:
    raise TypeError


TABLE: dict[str, Handler] = {
    **dict.fromkeys(("cast", "to"), _cast),
    **dict.fromkeys(("minimum", "maximum"), binary_function),
    "where": _where,
    "cdiv": _cdiv,
    "fma": _fma,
    **dict.fromkeys(("rand", "randn"), _random),
}
