"""Python's operators on types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from kernlint.interpret.frontend.faults import FrontEndFaults
from kernlint.interpret.frontend.values import (
    MAX_ELEMENTS,
    BlockPointer,
    Constexpr,
    Typed,
    Wrapped,
    bearing,
    computation,
    is_constant,
    literal,
    shape_text,
    short,
    tensor,
)
from kernlint.interpret.python.control import Raised
from kernlint.interpret.python.operators import python_binary, python_compare
from kernlint.interpret.triton.tiles import broadcast
from kernlint.interpret.values import Namespace, Unknown
from kernlint.records import replace
from kernlint.workload import Dtype, Expr
from kernlint.workload import dtype as dt

_FLOAT_ONLY_INT = ("&", "|", "^", "<<", ">>")


class FrontEndArithmetic(FrontEndFaults):
    """The types of operators, and what they refuse."""

    @staticmethod
    def operand(value: Any) -> Typed | None:
        """``value`` as a run-time value, which numbers are made into."""
        value = tensor(value)
        return value if isinstance(value, Typed) else None

    def common_shape(self, a: Typed, b: Typed, node: cst.CSTNode) -> tuple[int | None, ...] | None:
        """The shape that two operands have together; None, and a fault, where there is none."""
        shape = broadcast(a.shape, b.shape)
        if shape is None:
            text = f"shapes {shape_text(a.shape)} and {shape_text(b.shape)} do not broadcast"
            self.fault("shape-mismatch", node, text)
        return shape

    def block(
        self, dtype: Dtype | None, shape: tuple[int | None, ...], node: cst.CSTNode, pointer: bool = False
    ) -> Typed:
        """A run-time value, of which the front end checks the size."""
        count = 1
        for extent in shape:
            count *= extent or 1
        if count > MAX_ELEMENTS:
            text = f"a block of shape {shape_text(shape)} has {count} elements; {MAX_ELEMENTS} is the limit"
            self.fault("too-large", node, text)
        return Typed(dtype, shape, pointer)

    def demand_fp8(self, dtype: Dtype, node: cst.CSTNode) -> None:
        """The back end must have the fp8 format, if it is one."""
        if dtype.name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz") and not self.target.has_fp8(
            dtype.name
        ):
            self.fault("fp8-type", node, f"{short(dtype)} is not supported on {self.target.shown_arch}", dtype.name)

    def binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if name == "@":
            text = "the operator `@` is not supported in a kernel; use tl.dot"
            return self.fault("unsupported-syntax", node, text, "MatMult")
        left, right = number(a), number(b)
        if not isinstance(left, Typed) and not isinstance(right, Typed):
            return self._constant_binary(name, function, left, right)
        if left is None or right is None:
            return Unknown("operand")  # an argument that a compile-time flag of the kernel stands for
        for value in (left, right):
            if not isinstance(value, Typed) and not is_constant(value):
                return Unknown("operand")
        return self.arithmetic(name, left, right, node)

    def _constant_binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        if isinstance(a, Constexpr) or isinstance(b, Constexpr):
            return Constexpr(True) if is_constant(a) and is_constant(b) else Unknown("constant")
        try:
            return python_binary(name, function, a, b)
        except Raised:
            return Unknown("constant")

    def arithmetic(self, name: str, a: Any, b: Any, node: cst.CSTNode) -> Any:
        """``a name b`` of which at least one is a run-time value; the other may be a number."""
        weak = (not isinstance(a, Typed), not isinstance(b, Typed))
        if name == "**":
            return self.fault("power", node, "`**` is not supported on tensors")
        x, y = operand(a), operand(b)
        if x is None or y is None:
            return Unknown("operand")
        shape = self.common_shape(x, y, node)
        if shape is None:
            return Unknown("shape")
        if x.pointer or y.pointer:
            return self._pointer_arithmetic(name, x, y, shape, node)
        if x.pointer is None or y.pointer is None:
            return Typed(None, shape, None if name in ("+", "-") else False)
        if name in _FLOAT_ONLY_INT:
            for value in (x, y):
                if value.dtype is not None and value.dtype.is_float:
                    return self.fault("operand-type", node, f"`{name}` takes integers, not {short(value.dtype)}")
        dtype = self.result_type(name, a, b, x, y, weak, node)
        if isinstance(dtype, Unknown):
            return dtype
        x, y = (self.becoming(value, dtype, node) for value in (x, y))
        result = self.block(dtype, shape, node)
        if name == "-" and dtype is not None and dtype.kind == "uint" and isinstance(b, int) and b > 0:
            return replace(result, wrapped=Wrapped(x))
        return bearing(result, x, y)

    def becoming(self, value: Typed, dtype: Dtype | None, node: cst.CSTNode) -> Typed:
        """``value`` as it becomes one of type ``dtype``, by a conversion or beside another operand: where it has wrapped
        below zero, the float is a wrong one."""
        wrapped = value.wrapped
        if wrapped is None or wrapped.fault is not None or dtype is None or not dtype.is_float:
            return value
        text = f"a difference of {short(value.dtype)} values wraps below zero before it becomes {short(dtype)}"
        self.fault("unsigned-wrap", node, text)
        return replace(value, wrapped=replace(wrapped, fault=("unsigned-wrap", self.span(node))))

    def result_type(
        self, name: str, a: Any, b: Any, x: Typed, y: Typed, weak: tuple[bool, bool], node: cst.CSTNode
    ) -> Any:
        """The element type of an arithmetic result."""
        divides = name in ("/", "//", "%")
        if x.dtype is None or y.dtype is None:
            return None
        dtype = computation(x.dtype, y.dtype, weak, divides)
        if name == "/" and x.dtype.kind != "float" and y.dtype.kind != "float":
            return dt.FLOAT32
        if dtype is None:
            text = f"`{name}` mixes {short(x.dtype)} and {short(y.dtype)}, which the compiler refuses"
            return self.fault("operand-type", node, text)
        if name == "//" and dtype.is_float:
            return self.fault("operand-type", node, f"`//` takes integers, not {short(dtype)}")
        if dtype.is_integer:
            self._check_range(a if weak[0] else b if weak[1] else None, dtype, node)
        return dtype

    def _check_range(self, value: Any, dtype: Dtype, node: cst.CSTNode) -> None:
        """A Python integer must fit into the type of the tensor beside it."""
        if isinstance(value, bool) or not isinstance(value, int):
            return
        signed = dtype.kind == "int"
        low, high = (-(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1) if signed else (0, 2**dtype.bits - 1)
        if not low <= value <= high:
            shown = hex(value) if value > 2**16 else str(int(value))
            text = f"{shown} does not fit into {short(dtype)}, the type of the other operand"
            self.fault("literal-range", node, text, f"uint{dtype.bits}" if 0 <= value < 2**dtype.bits else "int64")

    def _pointer_arithmetic(self, name: str, x: Typed, y: Typed, shape: Any, node: cst.CSTNode) -> Any:
        pointer, offset = (x, y) if x.pointer else (y, x)
        if offset.pointer:
            if name == "-" and x.pointer and y.pointer:
                return Unknown("pointer difference")
            return self.fault("pointer-arithmetic", node, f"two pointers cannot be operands of `{name}`")
        if name not in ("+", "-") or (name == "-" and y.pointer):
            if offset.pointer is None:
                return Unknown("pointer")
            return self.fault("pointer-arithmetic", node, f"a pointer cannot be an operand of `{name}`")
        if offset.dtype is not None and offset.dtype.is_float:
            text = f"a pointer offset must be an integer, not {short(offset.dtype)}"
            return self.fault("pointer-arithmetic", node, text)
        return Typed(pointer.dtype, shape, True)

    def unary(self, name: str, value: Any, node: cst.CSTNode) -> Any:
        value = number(value)
        if isinstance(value, Constexpr):
            return Constexpr(True)
        if not isinstance(value, Typed):
            if isinstance(value, Unknown) or value is None:
                return Unknown("operand")
            return super().unary(name, value, node) if name != "not" else Unknown("not")
        if name == "not":
            self._demand_boolean("not", value, node)
            return Typed(dt.BOOL, value.shape)
        if value.pointer:
            return self.fault("pointer-arithmetic", node, f"a pointer cannot be an operand of unary `{name}`")
        if name == "~" and value.is_float:
            return self.fault("operand-type", node, f"`~` takes integers, not {short(value.dtype)}")
        return Typed(value.dtype, value.shape, value.pointer)

    def boolean(self, name: str, a: Any, b: Any, node: cst.CSTNode) -> Any:
        x, y = operand(number(a)), operand(number(b))
        if x is None or y is None or (isinstance(a, Constexpr) and isinstance(b, Constexpr)):
            return Unknown(name)
        for value, original in ((x, a), (y, b)):
            if isinstance(original, Typed):
                self._demand_boolean(name, value, node)
        shape = self.common_shape(x, y, node)
        if shape is None:
            return Unknown(name)
        if not isinstance(node, cst.Comparison) and any(e != 1 for e in shape):
            text = f"`{name}` on blocks is deprecated since Triton 3.4: use `{'&' if name == 'and' else '|'}` with parentheses"
            self.fault("boolean-on-block", node, text, name)
        return Typed(dt.BOOL, shape)

    def _demand_boolean(self, name: str, value: Typed, node: cst.CSTNode) -> None:
        if value.dtype is not None and value.pointer is False and value.dtype != dt.BOOL:
            self.fault("boolean-operand", node, f"`{name}` takes booleans; this operand is {value}", name)

    def compare(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        a, b = number(a), number(b)
        if name in ("is", "is not"):
            if isinstance(a, (Typed, BlockPointer)) or isinstance(b, (Typed, BlockPointer)):
                return name == "is not" if (a is None or b is None) else Unknown("identity")
            return (
                Unknown("identity")
                if isinstance(a, (Constexpr, Unknown)) or isinstance(b, (Constexpr, Unknown))
                else (function(a, b))
            )
        if name in ("in", "not in"):
            if isinstance(a, Typed) or isinstance(b, Typed) or not self.target.speaks(name):
                return self.fault("unsupported-syntax", node, f"`{name}` is not supported in a kernel", name)
            return Unknown(name)
        if isinstance(a, (Unknown, type(None))) or isinstance(b, (Unknown, type(None))):
            return Unknown("comparison")
        if not isinstance(a, Typed) and not isinstance(b, Typed):
            if isinstance(a, Constexpr) or isinstance(b, Constexpr):
                return Constexpr(True)
            if isinstance(a, (Dtype, Namespace)) or isinstance(b, (Dtype, Namespace)):
                return Unknown("type test") if isinstance(a, Namespace) or isinstance(b, Namespace) else function(a, b)
            return python_compare(name, function, a, b)
        x, y = operand(a), operand(b)
        if x is None or y is None:
            return Unknown("comparison")
        shape = self.common_shape(x, y, node)
        if shape is None:
            return Unknown("comparison")
        if x.dtype is not None and y.dtype is not None and not x.pointer and not y.pointer:
            self.result_type("==", a, b, x, y, (not isinstance(a, Typed), not isinstance(b, Typed)), node)
        tested = a if isinstance(b, int) else b if isinstance(a, int) else None
        return Typed(dt.BOOL, shape, tested=tested)

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, (Typed, Constexpr, BlockPointer, Expr)):
            return None
        if isinstance(value, Dtype):
            return True
        return super().truth(value)


def number(value: Any) -> Any:
    """An integer literal of the source as a plain number."""
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def operand(value: Any) -> Typed | None:
    if isinstance(value, Typed):
        return value
    if isinstance(value, Constexpr):
        return Typed(None)
    if isinstance(value, (bool, int, float)):
        return Typed(literal(value))
    return None
