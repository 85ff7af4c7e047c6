"""Makes Triton's interpreter round as GPUs do.

By itself it cuts float32 off to bfloat16, computes with bfloat16 as if its bits were an integer, and rounds to eight-bit
formats without the carry into the exponent. A result that is off by that is no proof of a fault, and a fault of that size is
not seen. Numbers of these formats are bit patterns in its arrays: uint16 and uint8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np

#: Formats of eight bits, by Triton's name: bits of the significand, bias of the exponent, largest pattern of a number.
_EIGHT_BITS = {"fp8e4nv": (3, 7, 0x7E), "fp8e5": (2, 15, 0x7B)}
_WIDER = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


def round_as_gpus() -> None:
    """Changes the interpreter's conversions and arithmetic, for the rest of the process."""
    import triton.language as tl
    from triton.runtime import interpreter

    builder = interpreter.InterpreterBuilder
    interpreter._convert_float = _nearest(interpreter._convert_float, interpreter._ir.ROUNDING_MODE.RTZ)
    builder.cast_impl = _by_way_of_float32(builder.cast_impl)
    builder.get_bf16 = lambda self, value: self.cast_impl(self.get_fp32(value), tl.bfloat16)
    for name in ("unary_op", "binary_op", "ternary_op", "create_fma", "create_dot"):
        setattr(builder, name, _in_float32(getattr(builder, name)))


def decoded(bits: np.ndarray, name: str) -> np.ndarray:
    """The numbers that ``bits`` are in Triton's format ``name``; float32 holds all but those of float64."""
    if name in _WIDER:
        wide = bits.view(_WIDER[name])
        return wide if name == "fp64" else wide.astype(np.float32)
    if name == "bf16":
        return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return _numbers(name)[bits.view(np.uint8)]


def encoded(numbers: np.ndarray, name: str) -> np.ndarray:
    """The bits of ``numbers`` in Triton's format ``name``, rounded to the nearest, ties to even. What is too large for
    eight bits becomes the largest number, as NVIDIA's conversions do it."""
    if name in _WIDER:
        with np.errstate(over="ignore"):
            kept = numbers.astype(_WIDER[name])
        return kept.view(f"uint{8 * kept.itemsize}")
    narrow = np.ascontiguousarray(numbers, dtype=np.float32)
    if name == "bf16":
        bits = narrow.view(np.uint32)
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16
        return np.where(np.isnan(narrow), (bits >> 16) | np.uint32(0x40), rounded).astype(np.uint16)
    largest = _EIGHT_BITS[name][2]
    known = _numbers(name)[: largest + 1].astype(np.float64)
    between = (known[:-1] + known[1:]) / 2
    below = np.searchsorted(between, np.abs(narrow), side="left")
    above = np.searchsorted(between, np.abs(narrow), side="right")
    code = np.where(np.isnan(narrow), 0x7F, np.where(below % 2 == 0, below, above))
    return (code | np.where(np.signbit(narrow), 0x80, 0)).astype(np.uint8)


@cache
def _numbers(name: str) -> np.ndarray:
    """The number of each pattern of eight bits."""
    significand, bias, largest = _EIGHT_BITS[name]
    code = np.arange(128)
    exponent, fraction = code >> significand, (code & ((1 << significand) - 1)) / (1 << significand)
    numbers = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    numbers[code > largest] = np.nan
    if name == "fp8e5":
        numbers[largest + 1] = np.inf
    return np.concatenate([numbers, -numbers]).astype(np.float32)


def _nearest(plain: Callable[..., Any], to_zero: Any) -> Callable[..., Any]:
    """The conversion ``plain`` with rounding to nearest where none that goes ``to_zero`` is asked for."""

    def convert(numbers: Any, source: Any, target: Any, rounding: Any) -> Any:
        known = all(one.name in _EIGHT_BITS or one.name in _WIDER or one.name == "bf16" for one in (source, target))
        if not known or rounding == to_zero:
            return plain(numbers, source, target, rounding)
        return encoded(decoded(np.ascontiguousarray(numbers), source.name), target.name)

    return convert


def _by_way_of_float32(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The cast ``plain``, which takes integers and float64 for patterns of bfloat16."""

    def cast(self: Any, handle: Any, target: Any) -> Any:
        import triton.language as tl

        # What compares numbers has the type of what it compares for its name.
        kinds = {"int1" if handle.data.dtype == np.bool_ else handle.dtype.scalar.name, target.scalar.name}
        if "bf16" in kinds and not kinds <= {"bf16", "fp32"}:
            return plain(self, plain(self, handle, tl.float32), target)
        return plain(self, handle, target)

    return cast


def _in_float32(plain: Callable[..., Any]) -> Callable[..., Any]:
    """The operation ``plain`` with numbers of bfloat16 widened; where the last operand is one, so is the result."""

    @wraps(plain)
    def run(self: Any, *operands: Any, **options: Any) -> Any:
        if np.where in operands or not any(map(_is_bfloat16, operands)):
            return plain(self, *operands, **options)
        narrow = [_is_bfloat16(one) for one in operands if hasattr(one, "data")][-1]
        result = plain(self, *(_widened(one) for one in operands), **options)
        if not narrow or result.data.dtype == np.bool_:
            return result
        kind = next(one.dtype.scalar for one in operands if _is_bfloat16(one))
        return type(result)(encoded(result.data, "bf16"), kind)

    return run


def _is_bfloat16(operand: Any) -> bool:
    """Whether it holds numbers of the type; what compares them has its name too, and holds truth values."""
    dtype = getattr(operand, "dtype", None)
    return getattr(getattr(dtype, "scalar", None), "name", "") == "bf16" and operand.data.dtype == np.uint16


def _widened(operand: Any) -> Any:
    import triton.language as tl

    if not _is_bfloat16(operand):
        return operand
    return type(operand)(decoded(operand.data, "bf16"), tl.float32)
