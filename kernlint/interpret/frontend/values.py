"""The values that Triton's front end knows while it compiles a kernel: types of run-time values, and compile-time constants.

A Python number, string, tuple or None stands for a compile-time constant (``tl.constexpr``) of that value,
:class:`Constexpr` for one whose value no source fixes, :class:`Typed` for a run-time value, and
:class:`~kernlint.interpret.values.Unknown` for anything at all.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from kernlint.interpret.values import Unknown
from kernlint.records import dataclass, replace
from kernlint.workload import Dtype, Span
from kernlint.workload import dtype as dt

UINT32 = dt.find("uint32")
UINT64 = dt.find("uint64")

#: No block may have more elements.
MAX_ELEMENTS = 1 << 20

_SHORT = {"float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16", "bool": "int1"}


@dataclass(frozen=True)
class Constexpr:
    """A compile-time constant of unknown value; ``number`` where it surely is a number, ``switch`` the name of the kernel's
    parameter that it is where that is False unless a launch sets it."""

    number: bool = False
    switch: str = ""


@dataclass(frozen=True)
class Typed:
    """A run-time value: its element type and shape.

    ``dtype`` is None where it is not known; ``shape`` is () for a scalar, with None for an extent that is not known.
    ``pointer`` says whether the elements are pointers to ``dtype`` (None: not known). ``argument`` is the name of the kernel
    parameter that this is, untouched. ``wrapped`` says that it comes from an unsigned value that a positive number was
    subtracted from, ``tested`` which value was compared with a number to give this boolean.
    """

    dtype: Dtype | None
    shape: tuple[int | None, ...] = ()
    pointer: bool | None = False
    argument: str = ""
    wrapped: Wrapped | None = field(default=None, compare=False)
    tested: Typed | None = field(default=None, compare=False)

    @property
    def is_float(self) -> bool:
        return self.pointer is False and self.dtype is not None and self.dtype.is_float

    @property
    def is_open_argument(self) -> bool:
        """Whether this is a kernel parameter of which nothing tells the type: a tuple perhaps."""
        return bool(self.argument) and self.dtype is None and self.pointer is not True

    def __str__(self) -> str:
        if self.dtype is None and not self.pointer:
            return f"a block of shape {shape_text(self.shape)}" if self.shape else "one value"
        name = short(self.dtype)
        if self.pointer:
            name = f"pointer<{name}>"
        return name + shape_text(self.shape) if self.shape else name


@dataclass(frozen=True, eq=False)
class Wrapped:
    """Elements have wrapped below zero where those of ``minuend`` are small; ``fault`` is the key of the fault on record, once
    the difference has become a float."""

    minuend: Typed
    fault: tuple[str, Span] | None = None


@dataclass(frozen=True)
class BlockPointer:
    """``tl.make_block_ptr(...)`` or a tensor descriptor: what it loads."""

    dtype: Dtype | None
    shape: tuple[int | None, ...] | None


def shape_text(shape: tuple[int | None, ...]) -> str:
    """A shape as messages show it, with ``?`` for an extent that is not known."""
    return "[" + ", ".join("?" if extent is None else str(extent) for extent in shape) + "]"


def short(dtype: Dtype | None) -> str:
    """Triton's name of an element type."""
    return "unknown type" if dtype is None else _SHORT.get(dtype.name, dtype.name)


def is_constant(value: Any) -> bool:
    """Whether ``value`` is a compile-time number, known or not."""
    return isinstance(value, (Constexpr, bool, int, float))


def literal(value: float) -> Dtype | None:
    """The type that the front end gives a Python number (None where no type holds it)."""
    if isinstance(value, bool):
        return dt.BOOL
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return dt.INT32
        if 2**31 <= value < 2**32:
            return UINT32
        if -(2**63) <= value < 2**63:
            return dt.INT64
        return UINT64 if value < 2**64 else None
    size = abs(value)
    normal = size == 0 or size != size or size == float("inf") or 2**-126 <= size <= (2 - 2**-23) * 2**127
    return dt.FLOAT32 if normal else dt.FLOAT64


def bearing(result: Typed, *operands: Typed) -> Typed:
    """``result`` of an operation on ``operands``, spoilt where one of them is."""
    wrapped = next((o.wrapped for o in operands if o.wrapped is not None and o.wrapped.fault is not None), None)
    return result if wrapped is None else replace(result, wrapped=wrapped)


def tensor(value: Any) -> Any:
    """``value`` as a run-time value, as plain assignment makes it one; what is no number stays as it is."""
    if isinstance(value, (bool, int, float)):
        return Typed(literal(value))
    if isinstance(value, Constexpr):
        return Typed(None) if value.number else Unknown("constant")
    return value


_KINDS = {"bool": 0, "uint": 1, "int": 1, "float": 2}


def computation(a: Dtype, b: Dtype, weak: tuple[bool, bool], divides: bool) -> Dtype | None:
    """The type that an arithmetic operation is carried out in; None where the front end refuses the mixture.

    ``weak`` marks the operand that is a Python number, ``divides`` a division or remainder.
    """
    if weak[0] != weak[1]:
        scalar, block = (a, b) if weak[0] else (b, a)
        if _KINDS[scalar.kind] <= _KINDS[block.kind]:
            return dt.FLOAT32 if divides and block.is_float and block.bits == 16 else block
    for wide in (dt.FLOAT64, dt.FLOAT32):
        if wide in (a, b):
            return wide
    if dt.FLOAT16 in (a, b):
        return dt.FLOAT32 if divides else dt.FLOAT16
    if dt.BFLOAT16 in (a, b):
        return dt.BFLOAT16 if a == b and not divides else dt.FLOAT32
    if a.is_fp8 and b.is_fp8:
        return a if a == b else dt.FLOAT16
    if a.is_float or b.is_float:
        return None
    if divides and (a.kind == "int") != (b.kind == "int"):
        return None
    return integer(a, b)


def integer(a: Dtype, b: Dtype) -> Dtype:
    """The common type of two integers or booleans, by C's rules."""
    bits = {d: 1 if d.kind == "bool" else d.bits for d in (a, b)}
    if (a.kind == "int") == (b.kind == "int"):
        return a if bits[a] > bits[b] else b
    unsigned, signed = (b, a) if a.kind == "int" else (a, b)
    return unsigned if bits[unsigned] >= bits[signed] else signed


def same_type(a: Typed, b: Typed) -> bool | None:
    """Whether two values surely have one type (True), surely two (False), or nobody knows (None)."""
    if a.pointer is not None and b.pointer is not None and a.pointer != b.pointer:
        return False
    if len(a.shape) != len(b.shape):
        return False
    if any(x is not None and y is not None and x != y for x, y in zip(a.shape, b.shape)):
        return False
    if a.dtype is None or b.dtype is None or None in a.shape or None in b.shape or None in (a.pointer, b.pointer):
        return None
    return a.dtype == b.dtype
