"""The types of products, and which of them the compiler makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.language.arguments import Shape, dtype_of
from kernlint.interpret.frontend.values import Typed, shape_text, short
from kernlint.interpret.python.arguments import Handler, takes
from kernlint.interpret.values import Unknown
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


@takes("input", "other", "acc", "input_precision", "allow_tf32", "max_num_imprecise_acc", "out_dtype")
def _dot(f: FrontEnd, node: cst.CSTNode, a: Any, b: Any, *rest: Any) -> Any:
    if not isinstance(a, Typed) or not isinstance(b, Typed):
        return Unknown("dot")
    for value in (a, b):
        if len(value.shape) not in (2, 3):
            text = f"an operand of tl.dot has shape {shape_text(value.shape)}; it must have 2 or 3 dimensions"
            return f.fault("dot-shape", node, text)
    if len(a.shape) != len(b.shape):
        text = f"the operands of tl.dot have shapes {shape_text(a.shape)} and {shape_text(b.shape)}"
        return f.fault("dot-shape", node, text)
    k, other = a.shape[-1], b.shape[-2]
    shape: Shape = (*a.shape[:-1], b.shape[-1])
    if k is not None and other is not None and k != other:
        text = f"the operands of tl.dot have shapes {shape_text(a.shape)} and {shape_text(b.shape)}: {k} and {other} must be equal"
        return f.fault("dot-shape", node, text)
    _dot_types(f, a, b, node)
    _dot_least(f, a, b, node)
    return _dot_result(f, a, shape, rest, node)


def _dot_types(f: FrontEnd, a: Typed, b: Typed, node: cst.CSTNode) -> None:
    x, y = a.dtype, b.dtype
    if x is None or y is None or (x.is_fp8 and y.is_fp8):
        return
    refused = [d for d in (x, y) if d.name in ("bool", "int16", "int32", "int64", "uint16", "uint32", "uint64")]
    if refused:
        f.fault("dot-type", node, f"tl.dot takes no {short(refused[0])} operand")
    elif x != y and not {x.name, y.name} <= {"int8", "uint8"}:
        text = f"the operands of tl.dot have types {short(x)} and {short(y)}; both must have one type"
        f.fault("dot-type", node, text)


def _dot_least(f: FrontEnd, a: Typed, b: Typed, node: cst.CSTNode) -> None:
    """The least extents that the back end multiplies."""
    if a.dtype is None or f.target.vendor != "nvidia":
        return
    bits, version = a.dtype.bits, f.target.version
    rows = 16 if version < (3, 5) else 1
    depth = 32 if bits == 8 else 16
    if version >= (3, 6):
        depth = {8: 32, 16: 16, 32: 8, 64: 4}.get(bits, 16)
    least = (("M", a.shape[-2], rows), ("N", b.shape[-1], rows), ("K", a.shape[-1], depth))
    for axis, extent, minimum in least:
        if extent is not None and extent < minimum:
            least_for = f"at least {minimum} for {short(a.dtype)} on NVIDIA GPUs"
            text = f"{axis} of tl.dot is {extent}; Triton {f.target.release} needs {least_for}"
            f.fault("dot-least", node, text)
            return


def _dot_result(f: FrontEnd, a: Typed, shape: Shape, given: tuple[Any, ...], node: cst.CSTNode) -> Any:
    acc, precision, _, _, out = given
    if isinstance(precision, str) and f.target.vendor == "amd":
        allowed = ("tf32", "ieee", "bf16x3", "bf16x6") if f.target.arch == "gfx942" else ("ieee", "bf16x3", "bf16x6")
        if precision not in allowed:
            text = f"input_precision={precision!r} is not available on {f.target.arch}"
            f.fault("dot-precision", node, text, precision)
    wanted = dtype_of(f, out, node) if out is not None else dt.FLOAT32
    dtype: Dtype | None
    if a.dtype is not None and a.dtype.is_integer:
        dtype = dt.INT32
    elif wanted == dt.BFLOAT16:
        f.fault("dot-type", node, "tl.dot has no out_dtype=tl.bfloat16; use float32 and cast the result")
        dtype = dt.FLOAT32
    elif a.dtype == dt.FLOAT64:
        dtype = a.dtype
    elif a.dtype in (dt.FLOAT32, dt.BFLOAT16):
        dtype = dt.FLOAT32
    else:
        dtype = wanted if a.dtype is not None else None
    if isinstance(acc, Typed):
        if (
            acc.shape
            and len(acc.shape) == len(shape)
            and not all(x is None or y is None or x == y for x, y in zip(acc.shape, shape))
        ):
            text = f"the accumulator of tl.dot has shape {shape_text(acc.shape)}, its result {shape_text(shape)}"
            f.fault("dot-shape", node, text)
        elif dtype is not None and acc.dtype is not None and acc.dtype != dtype and out is not None:
            f.fault("dot-type", node, f"the accumulator of tl.dot is {short(acc.dtype)}, its result {short(dtype)}")
    return f.block(dtype, shape, node)


TABLE: dict[str, Handler] = {"dot": _dot}
