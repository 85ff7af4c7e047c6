"""Python's operators on tiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import libcst as cst

from kernlint.interpret.python.control import Raised
from kernlint.interpret.python.operators import python_binary, same
from kernlint.interpret.triton import invariant_scale, masked_lanes, numerics, widths
from kernlint.interpret.triton.conditions import ORDER, both_bounds, is_partial, residue_class
from kernlint.interpret.triton.recorder import unchanged
from kernlint.interpret.triton.recording import KernelRecording
from kernlint.interpret.triton.tiles import align, broadcast
from kernlint.interpret.triton.values import Block, PointerType
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, LoopIndex, Span
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.access import Bounds
from kernlint.workload.kernel import Coarse

_FLOAT_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else 0.0,
    "//": lambda a, b: a // b if b else 0.0,
    "%": lambda a, b: a % b if b else 0.0,
}


class KernelArithmetic(KernelRecording):
    """Operators: what they make of shapes, indices, masks and numbers."""

    def lift(self, value: Any) -> Block | None:
        """``value`` as a block: Python numbers become constants."""
        if isinstance(value, Block):
            return value
        if isinstance(value, bool):
            return Block(dt.BOOL, constant=float(value))
        if isinstance(value, int):
            dtype = dt.INT32 if -(2**31) <= value < 2**31 else dt.INT64
            return Block(dtype, expr=Expr.constant(value), constant=float(value))
        if isinstance(value, float):
            return Block(dt.FLOAT32, constant=value)
        if isinstance(value, Expr):
            return Block(dt.INT32, expr=value)
        return None

    operand = lift

    def binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if not isinstance(a, Block) and not isinstance(b, Block):
            return python_binary(name, function, a, b)
        left, right = self.lift(a), self.lift(b)
        if left is None or right is None:
            return Unknown("operand")
        result = self.elementwise(name, left, right, node, weak=(not isinstance(a, Block), not isinstance(b, Block)))
        return self.noted(name, (a, b), result, node)

    def elementwise(
        self, name: str, a: Block, b: Block, node: cst.CSTNode, weak: tuple[bool, bool] = (False, False), op: str = ""
    ) -> Any:
        """``a name b``; ``op`` is what it is counted as, where that is not ``name``."""
        if self.edits.native_dots:
            a, b = self._accumulated(name, a, b, node)
        shape = broadcast(a.shape, b.shape)
        if shape is None:
            self.give_up(f"shapes {a.shape} and {b.shape} do not broadcast")
            return Unknown("shape mismatch")
        common: dict[str, Any] = {
            "loads": a.loads | b.loads,
            "carried": a.carried | b.carried,
            "steady": invariant_scale.steady_in(a, b, self.loops),
        }
        whole = a, b
        a, b = align(a, shape), align(b, shape)
        expr = None
        span = self.span(node)
        if a.expr is not None and b.expr is not None:
            value = python_binary(name, _NO_PYTHON, a.expr, b.expr)
            expr = ex.lift(value) if isinstance(value, (int, Expr)) else None
        if name == "//" and a.expr is not None and b.expr is not None and not shape:
            self._note_coarse(a.expr, b.expr.value, span)
        if a.base or b.base:
            pointer, offset = (a, b) if a.base else (b, a)
            index = widths.index_of(offset)
            if index is None or pointer.expr is None:
                expr = None
            elif name in ("+", "-"):
                expr = pointer.expr + index if name == "+" else pointer.expr - index
            elif name != "+":
                return Unknown("pointer arithmetic")
            narrow = widths.join(pointer.narrow, widths.widened(offset))
            return Block(
                pointer.dtype, shape, expr, base=pointer.base, strides=pointer.strides, narrow=narrow, **common
            )
        dtype = self._result_type(name, a, b, weak)
        if name in ("&", "|", "^", "*") and dtype == dt.BOOL:
            both = name in ("&", "*")
            bounds = both_bounds(a, b) if both else None
            partly = is_partial(a) or is_partial(b)
            classes = a.classes + b.classes if both else ()
            form = numerics.of_logic(a, b)
            result = Block(dtype, shape, bounds=bounds, partly=partly, form=form, classes=classes, **common)
            # Each comparison is an instruction; that of a choice is counted with it.
            self.compute("arith", name, replace(result, dtype=dt.INT32), node)
            return result
        constant = None
        if a.constant is not None and b.constant is not None and name in _FLOAT_OPS:
            value = python_binary(name, _FLOAT_OPS[name], a.constant, b.constant)
            constant = float(value) if isinstance(value, (int, float)) else None
        result = Block(dtype, shape, expr if dtype is None or dtype.is_integer else None, constant=constant, **common)
        if dtype is None or dtype.is_integer:
            result = self._as_index(name, a, b, result, weak, span)
        if a.pads or b.pads:
            result = replace(result, pads=masked_lanes.combined(name, a, b))
        if (name == "*" and a is b) or (a.nonnegative and b.nonnegative and name in ("+", "*", "/")):
            result = replace(result, nonnegative=True)
        result = self.judged(numerics.of_binary(name, a, b, weak, dtype), result, node)
        if (a.growth or b.growth) and (dtype is None or dtype.is_float):
            result = replace(result, growth=numerics.growth_of_binary(name, *whole))
        # Triton's combine pass makes the other summand the accumulator of the dot.
        accumulates = name == "+" and any(
            one.fresh is not None and one.fresh == dtype and one.shape == shape and not one.casts for one in whole
        )
        if name in ("//", "%") and b.constant is not None:
            op = f"{name} constant" if b.constant % 1 or int(b.constant).bit_count() != 1 else f"{name} power of 2"
        elif name in ("+", "-") and _multiplies(whole, shape, node):
            op = "fma"
        elif name == "/" and math.prod(whole[1].shape) < math.prod(shape) and dtype is not None and dtype.bits < 64:
            # The reciprocals of the fewer divisors are worked out once, and multiplied by.
            self.compute("special", name, replace(result, shape=whole[1].shape), node)
            op = "/ shared"
        op = op or name
        self.compute("special" if op in ("/", "**") else "arith", op, result, node, accumulates)
        return invariant_scale.scaled(name, *whole, result, span, self.symbol, self._is_invariant)

    def _note_coarse(self, index: Expr, divisor: int | None, span: Span) -> None:
        """Remember a division of a loop's index that steps by several of what it is divided by."""
        for loop in self.loops:
            step = index.coefficient(LoopIndex(loop))
            number = step.value if step is not None else None
            if divisor is not None and number is not None and 1 < divisor < number and number % divisor == 0:
                self.coarse[span] = Coarse(loop, number, divisor, span)

    def _is_invariant(self, value: Block) -> bool:
        """Whether ``value`` is known to be the same in each step of the loops that are being read."""
        return value.constant is not None or value.steady.issuperset(self.loops)

    def _accumulated(self, name: str, a: Block, b: Block, node: cst.CSTNode) -> tuple[Block, Block]:
        """The operands of ``name``; where an integer dot fed natively is added, the accumulator beside it is int32 too, and where a
        float meets the finished int32 tile, that is converted."""
        parts = [getattr(node, field, None) for field in ("left", "right", "value")] if name == "+" else []
        native = any(isinstance(part, cst.Call) and self.span(part) in self.edits.native_dots for part in parts)
        if native and dt.INT32 in (a.dtype, b.dtype):
            return replace(a, dtype=dt.INT32), replace(b, dtype=dt.INT32)
        for tile, other in ((a, b), (b, a)):
            floats = other.dtype is not None and other.dtype.is_float and not other.base
            if floats and tile.dtype == dt.INT32 and len(tile.shape) > 1:
                self.compute("cast", str(dt.INT32), replace(tile, dtype=dt.FLOAT32), node)
        return a, b

    def _as_index(self, name: str, a: Block, b: Block, result: Block, weak: tuple[bool, bool], span: Span) -> Block:
        """``result`` with what is known of it as a 32- or 64-bit index."""
        if widths.is_wide(result):
            early = [widths.widened(o) if not w else o.narrow for o, w in zip((a, b), weak)]
            return replace(result, narrow=widths.join(*early))
        shadow = None
        x, y = widths.index_of(a), widths.index_of(b)
        if result.expr is None and x is not None and y is not None and name in widths.MODULAR:
            value = python_binary(name, _NO_PYTHON, x, y)
            shadow = ex.lift(value) if isinstance(value, (int, Expr)) else None
        product, narrow = widths.product_of(name, a, b, span), widths.join(a.narrow, b.narrow)
        if product is None and not narrow and shadow is None:
            return result
        return replace(result, product=product, narrow=narrow, shadow=shadow)

    def _result_type(self, name: str, a: Block, b: Block, weak: tuple[bool, bool]) -> Dtype | None:
        if a.dtype is None or b.dtype is None:
            told, open_one = (a, b) if b.dtype is None else (b, a)
            # What nobody loaded is a number that the kernel is given: an integer or, whatever Python holds, fp32.
            wide = told.dtype is not None and told.dtype.is_float and told.dtype.bits >= 32
            return told.dtype if wide and not open_one.loads and not open_one.base else None
        # A Python literal takes the type of the tensor beside it unless it is of a higher kind.
        dtype = dt.promote(a.dtype, b.dtype)
        for literal, other in ((weak[0], b.dtype), (weak[1], a.dtype)):
            if literal and (dtype.kind == other.kind or other.is_float or (dtype.is_integer and other.is_integer)):
                dtype = other
        if name == "/" and dtype.is_integer:
            return dt.FLOAT32
        return dtype

    def unary(self, name: str, value: Any, node: cst.CSTNode) -> Any:
        if isinstance(value, Block):
            if name == "-":
                expr = -value.expr if value.expr is not None else None
                constant = -value.constant if value.constant is not None else None
                result = value.computed(
                    expr=expr,
                    constant=constant,
                    product=value.product,
                    narrow=value.narrow,
                    pads=masked_lanes.mapped("-", value.pads),
                    form=value.form if numerics.spoilt_by(value) is not None else None,
                    growth=numerics.growth_of_unary("-", value),
                )
                self.compute("arith", "negative", result, node)
                return self.noted("negative", (value,), result, node)
            inverse = value.computed(form=value.form if numerics.is_read_mask(value) else None)
            return self.noted(name, (value,), inverse, node)
        return super().unary(name, value, node)

    def compare(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if not isinstance(a, Block) and not isinstance(b, Block):
            return super().compare(name, function, a, b, node)
        if name in ("is", "is not", "in", "not in"):
            return name in ("is not", "not in") if (a is None or b is None) else Unknown("identity")
        left, right = self.lift(a), self.lift(b)
        if left is None or right is None:
            return Unknown("comparison")
        shape = broadcast(left.shape, right.shape)
        if shape is None:
            return Unknown("shape mismatch")
        left, right = align(left, shape), align(right, shape)
        bounds: Bounds = ()
        x, y = left.expr, right.expr
        if x is not None and y is not None:
            difference = ex.simplify(x - y)
            if isinstance(difference, int) and not shape and name in ORDER and not (x.atoms() | y.atoms()):
                return ORDER[name](difference)
            if name == "<":
                bounds = ((x, y),)
            elif name == "<=":
                bounds = ((x, y + 1),)
            elif name == ">":
                bounds = ((y, x),)
            elif name == ">=":
                bounds = ((y, x + 1),)
            elif name == "==" and not shape:
                bounds = ((x, y + 1), (y, x + 1))
        loads, carried = left.loads | right.loads, left.carried | right.carried
        form = numerics.of_comparison(name, left, right)
        classes = residue_class(x, y) if name == "==" else ()
        result = Block(dt.BOOL, shape, bounds=bounds, loads=loads, carried=carried, form=form, classes=classes)
        return self.noted(name, (a, b), result, node)

    def boolean(self, name: str, a: Any, b: Any, node: cst.CSTNode) -> Any:
        left, right = self.lift(a), self.lift(b)
        if left is None or right is None:
            return Unknown(name)
        if isinstance(b, bool) and isinstance(a, Block):
            return a if b == (name == "and") else b
        sign = "&" if name == "and" else "|"
        return self.noted(sign, (a, b), self.elementwise(sign, left, right, node), node)

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, Block):
            if value.shape == () and value.constant is not None and not value.loads:
                return bool(value.constant)
            return None
        if isinstance(value, (Dtype, PointerType)):
            return True
        return super().truth(value)

    def merge(self, a: Any, b: Any, test: Any, node: cst.CSTNode) -> Any:
        merged = self._merged(a, b)
        if unchanged(a, b):
            return merged
        if type(merged) is not Block:
            self.recorder.followed = False
            return merged
        return self.recorder.either(test, a, b, merged, node, self.module)

    def _merged(self, a: Any, b: Any) -> Any:
        if same(a, b):
            return a
        left, right = self.lift(a), self.lift(b)
        if left is None or right is None:
            return a if right is None and left is not None else b if left is None and right is not None else a
        shape = broadcast(left.shape, right.shape)
        if shape is None:
            return left
        expr = left.expr if left.expr is not None and left.expr == right.expr else None
        if expr is None and left.expr is not None and right.expr is not None:
            expr = self.chosen_index(left.expr, right.expr)
        dtype = left.dtype if left.dtype == right.dtype else _promoted(left.dtype, right.dtype)
        if left.base and right.base:
            self.chosen |= {left.base, right.base}
        return Block(
            dtype,
            shape,
            expr,
            base=left.base or right.base,
            loads=left.loads | right.loads,
            carried=left.carried | right.carried,
            strides=left.strides,
        )


def _multiplies(operands: tuple[Block, Block], shape: tuple[int, ...], node: cst.CSTNode) -> bool:
    """Whether an operand of the sum at ``node`` is a product that stands there, of the sum's own shape: one instruction
    makes both."""
    if isinstance(node, cst.AugAssign):
        parts = [(operands[1], node.value)]
    elif isinstance(node, cst.BinaryOperation):
        parts = [(operands[0], node.left), (operands[1], node.right)]
    else:
        return False
    return any(
        block.shape == shape and isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Multiply)
        for block, part in parts
    )


def _promoted(a: Dtype | None, b: Dtype | None) -> Dtype | None:
    return None if a is None or b is None else dt.promote(a, b)


def _NO_PYTHON(a: Any, b: Any) -> Any:
    raise Raised
