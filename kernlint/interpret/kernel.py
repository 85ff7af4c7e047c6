"""The body of a ``@triton.jit`` function on abstract tiles: what each program loads, computes and stores.

:func:`read_kernel` evaluates the body once for one launch. Loops are not unrolled: the body is evaluated twice, first
to see how each variable changes from one iteration to the next, then with every variable that advances by a constant
step written as ``start + step * iteration``. So a pointer that walks along K is an index expression like any other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import libcst as cst

from kernlint.interpret import invariant_scale, masked_lanes, numerics, tl_ops, widths
from kernlint.interpret.api import keywords
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.numerics import Verdict
from kernlint.interpret.python import (
    Break,
    Continue,
    Evaluator,
    OutOfBudget,
    Raised,
    Return,
    bounded,
    python_binary,
    rounded,
    same,
)
from kernlint.interpret.recorder import LoopRecord, Recorder, unchanged
from kernlint.interpret.tiles import align, broadcast, expand, permute
from kernlint.interpret.trace import Values
from kernlint.interpret.values import (
    Block,
    Builtin,
    Descriptor,
    Function,
    Jit,
    Namespace,
    OpenFloat,
    PointerType,
    Scope,
    Unknown,
    dtype_attribute,
    is_concrete,
)
from kernlint.records import dataclass, replace
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import parameters
from kernlint.workload import (
    Branch,
    Compute,
    Dtype,
    Expr,
    Fault,
    Kernel,
    Loop,
    LoopIndex,
    Node,
    Span,
    Symbol,
    Tensor,
)
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom
from kernlint.workload.kernel import Access, Bounds, Coarse, Narrow, rewrite
from kernlint.workload.values import Region

MAX_STATIC_UNROLL = 16

#: Stands in for a constexpr that the source does not fix.
ASSUMED_CONSTEXPR = 64


@dataclass(frozen=True)
class Range:
    """``range``, ``tl.range`` or ``tl.static_range`` inside a kernel; ``dtype`` is that of the loop variable, ``given``
    are start, stop and step as the source gives them."""

    kind: str
    start: ex.Size
    stop: ex.Size | None
    step: ex.Size
    num_stages: int | None = None
    dtype: Dtype = dt.INT32
    given: tuple[Any, ...] = (0, None, 1)

    @property
    def trip(self) -> ex.Size | None:
        """Iterations, never negative."""
        if self.stop is None:
            return None
        step = ex.concrete(self.step)
        if step is not None and step < 0:
            trip = ex.ceildiv(ex.lift(self.start) - self.stop, -step)
        else:
            trip = ex.ceildiv(ex.lift(self.stop) - self.start, self.step)
        return max(trip, 0) if isinstance(trip, int) else trip


class KernelEvaluator(Evaluator):
    """Evaluates one kernel; ``nodes`` grows to its body."""

    def __init__(self, grid: tuple[ex.Size, ...], edits: Edits = NO_EDITS, budget: int = 120_000) -> None:
        super().__init__(budget, edits)
        self.new_precisions = dict(edits.precisions)
        self.dropped_casts: set[Span] = set()
        self.maybe_pointers: list[str] = []
        self.guards: list[tuple[list[tuple[Node, ...]], int, Span, tuple[Bounds | None, ...]]] = []
        self.grid = grid
        self.counts_programs = False
        self.stack: list[list[Node]] = [[]]
        self.next_id = 0
        self.next_key = 0
        self.loops: list[int] = []
        self.notes: list[str] = []
        self.complete = True
        self.may_leave = False
        self.dims = 0
        self.faults: dict[tuple[str, Span], Fault] = {}
        self.barriers = 0
        self.random: list[Narrow] = []
        self.recorder: Recorder | None = None
        self.coarse: dict[Span, Coarse] = {}
        #: The masks, by the loads that decide them, of which the branch that is being followed makes sure that some hold.
        self.occupied: set[frozenset[int]] = set()

    # -- recording --------------------------------------------------------------------------------------------------

    def emit(self, node: Node) -> None:
        self.stack[-1].append(node)

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id

    @property
    def _at_top(self) -> bool:
        """Whether the statement being run stands in the kernel's own body, outside loops, branches and helpers."""
        return len(self.calls) == 1 and not self.loops and len(self.stack) == 1 + len(self.guards)

    def close_guards(self) -> None:
        """Put the nodes after each conditional return into its branch."""
        while self.guards:
            arms, rest, span, conditions = self.guards.pop()
            arms[rest] = tuple(self.stack.pop())
            self.emit(Branch(tuple(arms), span, conditions))

    def unknown_index(self) -> Expr:
        """An integer that was not followed, different from any other."""
        self.next_key += 1
        return ex.opaque("unknown", key=self.next_key)

    def chosen_index(self, x: Expr, y: Expr) -> Expr:
        """An integer that is one or the other: mostly the one that was followed and is no constant, as a clamped index is; of
        two constants the larger, as what most programs wait for is the one with the most to do."""
        self.next_key += 1
        followed = [one for one in (y, x) if not any(map(_lost, one.atoms()))]
        followed.sort(key=lambda one: -math.inf if one.value is None else -one.value)
        return ex.opaque("unknown", *(_told(followed[0]) if followed else ()), key=self.next_key)

    @contextmanager
    def recording(self) -> Iterator[list[Node]]:
        body: list[Node] = []
        self.stack.append(body)
        try:
            yield body
        finally:
            self.stack.pop()

    def give_up(self, what: str) -> None:
        """Remember that something was not followed."""
        self.complete = False
        if what not in self.notes:
            self.notes.append(what)

    def fault(self, kind: str, node: cst.CSTNode, text: str, certain: bool = True, name: str = "") -> tuple[str, Span]:
        """Remember a fault at ``node``, once however often it is evaluated; its key, by which it can be taken back."""
        key = (kind, self.span(node))
        self.faults.setdefault(key, Fault(kind, key[1], text, self.symbol, certain, name))
        return key

    def confirm(self, key: tuple[str, Span]) -> None:
        """What a fault spoils is what the kernel gives."""
        if key in self.faults:
            self.faults[key] = replace(self.faults[key], certain=True)

    def judged(self, verdict: Verdict, result: Block, node: cst.CSTNode) -> Block:
        """``result`` of the operation at ``node`` with the form, and the fault on record, that ``verdict`` says."""
        form = verdict.form
        if verdict.fault:
            key = self.fault(verdict.fault, node, verdict.text, verdict.certain)
            form = replace(form or numerics.SUSPECT, fault=key)
        return replace(result, form=form) if form is not result.form else result

    def compute(self, kind: str, op: str, block: Block, node: cst.CSTNode, accumulates: bool = False) -> None:
        """Count elementwise work, unless it is index arithmetic (free beside memory and tensor work)."""
        if block.dtype is None or (block.dtype.is_integer and not block.loads) or block.dtype.kind == "bool":
            return
        elements = 1
        for extent in block.shape:
            elements *= extent
        self.emit(Compute(kind, elements, block.dtype, self.span(node), accumulates=accumulates, op=op))

    def masks(self, node: cst.CSTNode, condition: Block, kept: Block, other: Block) -> None:
        """Note on the ``tl.where`` just counted at ``node`` that it is a mask, where it is one: ``other`` stands for
        nothing, and the condition is made of bounds."""
        blank = other.constant is not None and (other.constant == 0 or other.constant <= numerics.MASKED_OUT)
        if not blank or not condition.bounds or not self.stack[-1]:
            return
        last = self.stack[-1][-1]
        if isinstance(last, Compute) and last.span == self.span(node):
            # The mask may be a tile although both its values are scalars.
            elements = max(last.elements, math.prod(condition.shape))
            self.stack[-1][-1] = replace(last, elements=elements, keeps=condition.bounds, loads=kept.loads)

    # -- values -----------------------------------------------------------------------------------------------------

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

    def binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if not isinstance(a, Block) and not isinstance(b, Block):
            return python_binary(name, function, a, b)
        left, right = self.lift(a), self.lift(b)
        if left is None or right is None:
            return Unknown("operand")
        result = self.elementwise(name, left, right, node, weak=(not isinstance(a, Block), not isinstance(b, Block)))
        return self.noted(name, (a, b), result, node)

    def noted(self, op: str, args: Sequence[Any], result: Any, node: cst.CSTNode) -> Any:
        """``result`` as the value of ``op`` on ``args``."""
        recorder = self.recorder
        return result if recorder is None else recorder.note(op, args, result, node, self.modules[-1])

    def elementwise(
        self, name: str, a: Block, b: Block, node: cst.CSTNode, weak: tuple[bool, bool] = (False, False), op: str = ""
    ) -> Any:
        """``a name b``; ``op`` is what it is counted as, where that is not ``name``."""
        if self.edits.native_dots and name == "+":
            a, b = self._accumulated(a, b, node)
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
            bounds = _both(a, b) if both else None
            partly = _partly(a) or _partly(b)
            classes = a.classes + b.classes if both else ()
            form = numerics.of_logic(a, b)
            return Block(dtype, shape, bounds=bounds, partly=partly, form=form, classes=classes, **common)
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
        self.compute("special" if name in ("/", "**") else "arith", op or name, result, node, accumulates)
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

    def _accumulated(self, a: Block, b: Block, node: cst.CSTNode) -> tuple[Block, Block]:
        """The operands of a sum; where an integer dot fed natively is one, the accumulator beside it is int32 too."""
        parts = [getattr(node, field, None) for field in ("left", "right", "value")]
        native = any(isinstance(part, cst.Call) and self.span(part) in self.edits.native_dots for part in parts)
        if native and dt.INT32 in (a.dtype, b.dtype):
            return replace(a, dtype=dt.INT32), replace(b, dtype=dt.INT32)
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
            return None
        # A Python literal takes the type of the tensor beside it unless it is of a higher kind.
        dtype = dt.promote(a.dtype, b.dtype)
        for literal, other in ((weak[0], b.dtype), (weak[1], a.dtype)):
            if literal and (dtype.kind == other.kind or other.is_float or (dtype.is_integer and other.is_integer)):
                dtype = other
        if name == "/" and dtype.is_integer:
            return dt.FLOAT32
        return dtype

    def augmented(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        return self.binary(name, function, a, b, node)

    def named(self, name: str, value: Any) -> Any:
        if self.recorder is not None:
            self.recorder.named(name, value)
        return value

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
            if isinstance(difference, int) and not shape and name in _ORDER and not (x.atoms() | y.atoms()):
                return _ORDER[name](difference)
            if name == "<":
                bounds = ((x, y),)
            elif name == "<=":
                bounds = ((x, y + 1),)
            elif name == ">":
                bounds = ((y, x),)
            elif name == ">=":
                bounds = ((y, x + 1),)
        loads, carried = left.loads | right.loads, left.carried | right.carried
        form = numerics.of_comparison(name, left, right)
        classes = _residue_class(x, y) if name == "==" else ()
        result = Block(dt.BOOL, shape, bounds=bounds, loads=loads, carried=carried, form=form, classes=classes)
        return self.noted(name, (a, b), result, node)

    def boolean(self, name: str, a: Any, b: Any, node: cst.CSTNode) -> Any:
        left, right = self.lift(a), self.lift(b)
        if left is None or right is None:
            return Unknown(name)
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
        if self.recorder is None or unchanged(a, b):
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
        return Block(
            dtype,
            shape,
            expr,
            base=left.base or right.base,
            loads=left.loads | right.loads,
            carried=left.carried | right.carried,
            strides=left.strides,
        )

    # -- attributes, indices, calls ---------------------------------------------------------------------------------

    def getattr(self, value: Any, name: str, node: cst.CSTNode) -> Any:
        if isinstance(value, Block):
            return self._block_attribute(value, name, node)
        if isinstance(value, PointerType):
            if name == "element_ty":
                return value.element if value.element is not None else Unknown("element type")
            return Builtin(name, lambda a, k, n: name == "is_ptr") if name.startswith("is_") else value
        if isinstance(value, Dtype):
            return dtype_attribute(value, name)
        if isinstance(value, Descriptor):
            return self._descriptor_method(value, name)
        if isinstance(value, Namespace):
            found = tl_ops.constant(f"{value.path}.{name}")
            return found if found is not None else Namespace(f"{value.path}.{name}")
        if name == "value" and is_concrete(value):
            return value  # constexpr.value
        if name == "to" and isinstance(value, (int, float)):
            return Builtin("to", lambda a, k, n: self._converted(value, a[0] if a else None, n))
        return super().getattr(value, name, node)

    def _converted(self, value: Any, target: Any, node: cst.CSTNode) -> Any:
        return self.noted("cast", (value, target), tl_ops.cast(self, self.lift(value), target, node), node)

    def _block_attribute(self, value: Block, name: str, node: cst.CSTNode) -> Any:
        if name == "dtype" or name == "type":
            if value.base:
                return PointerType(value.dtype)
            if name == "type":
                return PointerType(value.dtype)
            return value.dtype if value.dtype is not None else Unknown("dtype")
        if name == "shape":
            return tuple(value.shape)
        if name == "numel":
            count = 1
            for extent in value.shape:
                count *= extent
            return count
        if name == "T":
            order = tuple(reversed(range(len(value.shape))))
            return self.noted("trans", (value, order), permute(value, order), node)
        return Builtin(name, lambda args, kwargs, n: tl_ops.call(self, name, [value, *args], kwargs, n, method=True))

    def _descriptor_method(self, value: Descriptor, name: str) -> Any:
        if name in ("load", "store", "atomic_add", "atomic_max", "atomic_min"):
            return Builtin(name, lambda a, k, n: tl_ops.call(self, f"descriptor.{name}", [value, *a], k, n))
        if name in ("shape", "strides", "block_shape"):
            return {"shape": value.shape, "strides": value.strides, "block_shape": value.block}[name]
        if name == "dtype":
            return value.base.dtype
        return Unknown(name)

    def subscript(self, value: Any, index: Any, node: cst.CSTNode) -> Any:
        if isinstance(value, Block):
            return self.noted(
                "axes", (value, index), expand(value, index if isinstance(index, tuple) else (index,)), node
            )
        return super().subscript(value, index, node)

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, Jit):
            function = function.function
        if isinstance(function, Function):
            return self.invoke(function, args, kwargs)
        if isinstance(function, Builtin):
            return function.call(args, kwargs, node)
        if isinstance(function, Dtype):
            return self._converted(args[0] if args else None, function, node)
        if isinstance(function, Namespace):
            return self._external(function.path, args, kwargs, node)
        self.give_up(f"call of {self.module.code(node.func)[:60]}")
        loads = frozenset().union(*(a.loads for a in args if isinstance(a, Block)))
        shape: tuple[int, ...] = ()
        for arg in args:
            if isinstance(arg, Block):
                shape = broadcast(shape, arg.shape) or arg.shape
        return self.noted("call", args, Block(dt.FLOAT32, shape, loads=loads), node) if loads else Unknown("call")

    def _external(self, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        name = path.rsplit(".", 1)[-1]
        if name in ("range", "static_range"):
            return self._range(path, args, kwargs)
        if path.startswith("builtins."):
            return self._builtin(name, args, kwargs, node)
        return tl_ops.call(self, name, args, kwargs, node)

    def _builtin(self, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if name in ("min", "max") and len(args) >= 2 and not is_concrete(args):
            return tl_ops.call(self, "minimum" if name == "min" else "maximum", args, {}, node)
        if name == "len" and args and isinstance(args[0], (tuple, list)):
            return len(args[0])
        if name == "abs" and args and isinstance(args[0], Block):
            return tl_ops.call(self, "abs", args, {}, node)
        if name == "pow" and len(args) == 2:
            return self.binary("**", operator.pow, args[0], args[1], node)
        if is_concrete(args) and name in _PURE:
            try:
                return bounded(_PURE[name](*args))
            except Exception:
                raise Raised from None
        if name in ("int", "float", "bool") and args and isinstance(args[0], Block):
            return args[0]
        if name == "isinstance" and len(args) == 2:
            return _is_of(*args)
        if name == "print":
            return None
        return Unknown(name)

    def _range(self, path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        kind = {"builtins.range": "range"}.get(path, "tl." + path.rsplit(".", 1)[-1])
        if kind != "range":
            kwargs = keywords(kind.removeprefix("tl."), args, kwargs, 0)
            args = [kwargs[name] for name in ("arg1", "arg2") if kwargs.get(name) is not None]
        given = [0, *args] if len(args) == 1 else list(args)
        given += [kwargs.get("step", 1)] if len(given) == 2 else []
        bounds: list[ex.Size | None] = [self._index(a) for a in args]
        if not 1 <= len(bounds) <= 3:
            raise Raised  # which Triton does
        if len(bounds) == 1:
            bounds = [0, bounds[0], 1]
        elif len(bounds) == 2:
            bounds.append(1)
        step = self._index(kwargs["step"]) if "step" in kwargs else bounds[2]
        stages = kwargs.get("num_stages")
        start = bounds[0] if bounds[0] is not None else self.unknown_index()
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

    def _index(self, value: Any) -> ex.Size | None:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, (int, Expr)):
            return value
        if isinstance(value, Block) and value.expr is not None:
            return ex.simplify(value.expr)
        return None

    def eval_IfExp(self, node: cst.IfExp, scope: Scope) -> Any:
        """Both arms, each of which only runs where its condition holds."""
        test = self.eval(node.test, scope)
        truth = self.truth(test)
        if truth is not None:
            return self.eval(node.body if truth else node.orelse, scope)
        values: list[Any] = []
        arms: list[tuple[Node, ...]] = []
        for arm in (node.body, node.orelse):
            with self.recording() as nodes, self._where(test, arm is node.body):
                values.append(self.eval(arm, scope))
            arms.append(tuple(nodes))
        if any(arms):
            self.emit(Branch(tuple(arms), self.span(node), _conditions(test)))
        return self.merge(values[0], values[1], test, node)

    # -- control flow -----------------------------------------------------------------------------------------------

    def undecided(self, node: cst.If, test: Any, scope: Scope) -> None:
        before = dict(scope.vars)
        arms: list[tuple[Node, ...]] = []
        conditions = _conditions(test)
        ends: list[dict[str, Any]] = []
        returned: list[Return] = []
        arms_returned: list[bool] = []
        for arm in (node.body, node.orelse):
            scope.vars = dict(before)
            with (
                self.recording() as body,
                self._occupying(test if arm is node.body else None),
                self._where(test, arm is node.body),
            ):
                try:
                    if isinstance(arm, cst.If):
                        self.exec_If(arm, scope)
                    elif arm is not None:
                        self.run(arm.body.body if isinstance(arm, cst.Else) else arm.body, scope)
                    ends.append(scope.vars)
                    arms_returned.append(False)
                except Return as result:
                    returned.append(result.with_traceback(None))
                    arms_returned.append(True)
                except (Raised, Break, Continue):
                    arms_returned.append(False)
                    self._lose_track()
            arms.append(tuple(body))
        if returned and ends and self._at_top:
            # The rest of the kernel runs only where this did not return: it is the other arm.
            self.guards.append((arms, 1 if arms_returned == [True, False] else 0, self.span(node), conditions))
            self.stack.append(list(arms[self.guards[-1][1]]))
            if self.recorder is not None:
                self.recorder.region = self._arm(test, arms_returned == [False, True])
        else:
            if returned and not (len(self.calls) == 1 and not ends):
                self._lose_track()
            # In a helper a return only ends the helper.
            self.may_leave |= bool(returned and ends) and len(self.calls) == 1
            if any(arms):
                self.emit(Branch(tuple(arms), self.span(node), conditions, isinstance(test, Block)))
        if not ends:
            scope.vars = before
            if returned:
                raise Return(returned[0].value)
            return
        merged = dict(ends[0])
        for other in ends[1:]:
            for name in set(merged) | set(other):
                if name not in merged:
                    merged[name] = other[name]
                elif name in other:
                    merged[name] = self.merge(merged[name], other[name], test, node)
        scope.vars = merged

    def _lose_track(self) -> None:
        """What is computed from here on is not told by operations on values: how the program got here counts too."""
        if self.recorder is not None:
            self.recorder.followed = False

    def _arm(self, test: Any, holds: bool) -> Region:
        assert self.recorder is not None
        return Region(self.recorder.region, 0, test.value if isinstance(test, Block) else 0, holds)

    @contextmanager
    def _where(self, test: Any, holds: bool) -> Iterator[None]:
        """Inside, ``test`` is ``holds``."""
        if self.recorder is None:
            yield
        else:
            with self.recorder.inside(self._arm(test, holds)):
                yield

    @contextmanager
    def _occupying(self, test: Any) -> Iterator[None]:
        """Inside, ``test`` holds."""
        form = test.form if isinstance(test, Block) else None
        new = {form.of} - self.occupied if form is not None and form.kind == "occupied" else set()
        self.occupied |= new
        try:
            yield
        finally:
            self.occupied -= new

    def perhaps_empty(self, mask: Any) -> Block | None:
        """``mask``, unless it is sure that some of it holds."""
        return mask if isinstance(mask, Block) and mask.loads not in self.occupied else None

    def loop(self, node: cst.For, iterable: Any, scope: Scope) -> None:
        if isinstance(iterable, (tuple, list)):
            for item in iterable:
                self.assign(node.target, item, scope)
                if not self._iteration(node.body.body, scope):
                    return
            return
        if not isinstance(iterable, Range):
            self.give_up("loop over an unknown iterable")
            iterable = Range("range", 0, None, 1)
        trip = iterable.trip
        if iterable.kind == "tl.static_range" and isinstance(trip, int) and trip <= MAX_STATIC_UNROLL:
            step, start = ex.concrete(iterable.step), ex.concrete(iterable.start)
            if step is not None and start is not None:
                for i in range(trip):
                    self.assign(node.target, start + i * step, scope)
                    if not self._iteration(node.body.body, scope):
                        return
                return
        if trip == 0:
            return
        span = self.span(node)

        def begin(id: int) -> ex.Size | None:
            index = ex.lift(iterable.start) + ex.lift(iterable.step) * Expr.atom(LoopIndex(id))
            self.assign(
                node.target, self.noted("index", iterable.given, Block(iterable.dtype, expr=index), node), scope
            )
            return None

        self._loop(iterable.kind, trip, iterable.num_stages, node, begin, scope, span)

    def exec_While(self, node: cst.While, scope: Scope) -> None:
        mark = self.recorder.mark if self.recorder is not None else 0
        with self.recording():
            test = self.eval(node.test, scope)
        if self.recorder is not None:
            self.recorder.forget(mark)
        if self.truth(test) is False:
            return

        def begin(id: int) -> ex.Size | None:
            test = self.eval(node.test, scope)
            if self.recorder is not None:
                self.recorder.note("while", (test,), None, node, self.module, id=id)
            return _trips(test, id) if isinstance(test, Block) else None

        self._loop("while", None, None, node, begin, scope, self.span(node))

    def _iteration(self, body: Any, scope: Scope) -> bool:
        """Run one unrolled iteration; False when it breaks out."""
        try:
            self.run(body, scope)
        except Continue:
            pass
        except Break:
            return False
        return True

    def _loop(
        self,
        kind: str,
        trip: ex.Size | None,
        num_stages: int | None,
        node: cst.For | cst.While,
        begin: Callable[[int], ex.Size | None],
        scope: Scope,
        span: Span,
    ) -> None:
        """Record a loop; ``begin`` starts an iteration and gives the trip count where that is first known there."""
        id = self.new_id()
        index = Expr.atom(LoopIndex(id))
        entry = dict(scope.vars)
        first_id = self.next_id
        counted: ex.Size | None = None
        carrying = LoopRecord(self.recorder, id, node, self.module)

        def once(start: dict[str, Any]) -> tuple[dict[str, Any], tuple[Node, ...]]:
            nonlocal counted
            # The same node gets the same id each time, so that what depends on it stays right.
            self.next_id = first_id
            scope.vars = carrying.begin(dict(start), entry)
            self.loops.append(id)
            with self.recording() as nodes, carrying.inside():
                try:
                    counted = begin(id)
                    if not self._iteration(node.body.body, scope):
                        self._lose_track()
                finally:
                    self.loops.pop()
            return scope.vars, tuple(nodes)

        marked = {n: replace(v, carried=v.carried | {id}) if isinstance(v, Block) else v for n, v in entry.items()}
        end, _ = once(marked)
        start, steps, carried = self._generalise(marked, end, id, index)
        carrying.found(marked, start, end)
        start |= {n: _steady(entry[n], id) for n, value in marked.items() if end.get(n) is value}
        nodes: tuple[Node, ...] = ()
        for _ in range(3):
            end, nodes = once(start)
            wrong = [
                name
                for name, step in steps.items()
                if not (isinstance(end.get(name), Block) and _advance(start[name], end[name]) == step)
            ]
            if not wrong:
                break
            for name in wrong:
                start[name] = replace(start[name], expr=self.unknown_index())
                del steps[name]
        trip = counted if trip is None else trip
        self.emit(Loop(id, kind, trip, nodes, span, num_stages, carried))
        final = dict(end)
        for name, step in steps.items():
            begun = entry[name]
            block = self.lift(begun)
            assert block is not None and block.expr is not None
            if trip is None:
                after = block.expr if step == 0 else self.unknown_index()
            else:
                after = block.expr + step * ex.lift(trip)
            final[name] = replace(end[name], expr=after)
        scope.vars = carrying.close({name: _leave(value, id) for name, value in final.items()}, entry, end)

    def _generalise(
        self, entry: dict[str, Any], end: dict[str, Any], id: int, index: Expr
    ) -> tuple[dict[str, Any], dict[str, Expr], bool]:
        """The variables at the start of iteration ``index``: those that advance by a fixed step, and the rest.

        Blocks in ``entry`` are marked as carried by loop ``id``: what bears the mark at the end came from there.
        """
        start = dict(entry)
        steps: dict[str, Expr] = {}
        carried = False
        for name, after in end.items():
            if name not in entry or after is entry[name]:
                continue
            before = self.lift(entry[name])
            after = self.lift(after)
            if before is None or after is None:
                continue
            step = _advance(before, after)
            if step is not None and not _mentions(step, id):
                expr = before.expr + step * index if before.expr is not None else None
                start[name] = replace(after, expr=expr, shape=after.shape)
                steps[name] = step
                continue
            is_index = after.base != "" or (after.dtype is not None and after.dtype.is_integer and not after.loads)
            carried = carried or (not is_index and (id in after.carried or not isinstance(entry[name], Block)))
            start[name] = replace(
                after,
                expr=self.unknown_index() if is_index else None,
                loads=before.loads | after.loads,
                carried=after.carried | {id},
                casts=(),
                source=None,
                scaled=None,
                order=(),
                constant=None,
                product=None,
                shadow=None,
                pads=(),
                growth="",
            )
        return start, steps, carried


def _lost(atom: ex.Atom) -> bool:
    """An integer of which nothing is known."""
    return isinstance(atom, ex.Opaque) and atom.op == "unknown" and not atom.args


def _told(expr: Expr) -> tuple[Expr, ...]:
    """What there is to say of an index that mostly is ``expr``: of one that was chosen before, what was said of it."""
    for monomial, coefficient in expr.terms.items():
        if (len(expr.terms), len(monomial), coefficient) == (1, 1, 1):
            (atom,) = monomial
            if isinstance(atom, ex.Opaque) and atom.op == "unknown":
                return atom.args
    return (expr,)


def read_kernel(
    jit: Jit,
    arguments: Mapping[str, Any],
    constexprs: Mapping[str, Any],
    grid: tuple[ex.Size, ...],
    edits: Edits = NO_EDITS,
    seen: Values | None = None,
) -> Kernel:
    """The kernel as each program runs it when launched with these arguments and with ``edits`` made to its source.

    ``seen`` is filled with the values of its expressions, if given.

    ``arguments`` maps run-time parameters to Tensor, int, Expr, float or None; ``constexprs`` the ``tl.constexpr``
    ones to Python values. Nothing raises: what cannot be followed is noted and ``complete`` is false.
    """
    assumed = []
    given = dict(constexprs)
    for name, value in constexprs.items():
        if isinstance(value, Unknown):
            # A tile must have some extent to be followed at all; what depends on it is told as an assumption.
            given[name] = ASSUMED_CONSTEXPR
            assumed.append(f"{name} = {ASSUMED_CONSTEXPR}")
    blocks = {name: argument_block(name, value) for name, value in arguments.items()}
    for name in _wide_parameters(jit.function):
        if isinstance(blocks.get(name), Block) and not blocks[name].base:
            blocks[name] = replace(blocks[name], dtype=dt.INT64)
    unknown = [n for n, value in arguments.items() if isinstance(value, Unknown) and not isinstance(value, OpenFloat)]
    evaluator = _evaluated(jit.function, {**blocks, **given}, unknown, grid, edits, seen)
    if unknown:
        # What a parameter is shows in how the kernel uses it: as a pointer, as an index, or as neither.
        pointers, indices = _uses(evaluator)
        shown: dict[str, Block] = {}
        for name in unknown:
            if name in pointers:
                shown[name] = Block(None, expr=Expr.constant(0), base=name)
            elif name in indices and blocks[name].dtype is None:
                shown[name] = replace(blocks[name], dtype=dt.INT32)
        if shown:
            evaluator = _evaluated(jit.function, {**blocks, **shown, **given}, unknown, grid, edits, seen)
    body = tuple(evaluator.stack[0])
    if evaluator.dropped_casts:
        body = rewrite(body, lambda n: None if isinstance(n, Compute) and n.span in evaluator.dropped_casts else n)
    function = jit.function
    assert isinstance(function.node, cst.FunctionDef)
    return Kernel(
        name=function.name,
        body=body,
        span=function.module.span(function.node),
        name_span=function.module.span(function.node.name),
        file=function.module.path,
        complete=evaluator.complete,
        may_leave=evaluator.may_leave,
        counts_programs=evaluator.counts_programs,
        notes=tuple(evaluator.notes),
        assumed=tuple(assumed),
        dims=max(evaluator.dims, len(grid)),
        random=tuple(dict.fromkeys(evaluator.random)),
        read=evaluator.recorder.values if evaluator.recorder is not None else None,
        coarse=tuple(evaluator.coarse.values()),
        faults=tuple(sorted(evaluator.faults.values(), key=lambda fault: (fault.span, fault.kind))),
    )


def _evaluated(
    function: Function,
    variables: Mapping[str, Any],
    unknown: list[str],
    grid: tuple[ex.Size, ...],
    edits: Edits,
    seen: Values | None,
) -> KernelEvaluator:
    """An evaluator that has run the body of ``function``; ``unknown`` parameters may turn out to be pointers."""
    evaluator = KernelEvaluator(grid, edits)
    evaluator.seen = seen
    evaluator.recorder = Recorder(function.module)
    evaluator.maybe_pointers += unknown
    scope = Scope(function.closure)
    scope.vars.update(variables)
    if evaluator.recorder is not None:
        scope.vars = evaluator.recorder.parameters(scope.vars, function.node)
    evaluator.modules.append(function.module)
    evaluator.calls.append(function)
    assert isinstance(function.node, cst.FunctionDef)
    try:
        evaluator.run(function.node.body.body, scope)
    except Return:
        pass
    except Raised:
        evaluator._lose_track()
    except OutOfBudget:
        evaluator.give_up("kernel too long to follow to its end")
        evaluator._lose_track()
    except (Break, Continue):
        evaluator.give_up("break outside a loop")
        evaluator._lose_track()
    evaluator.close_guards()
    evaluator.count()
    return evaluator


def _uses(evaluator: KernelEvaluator) -> tuple[set[str], set[str]]:
    """The names that the accesses of a kernel point into, and those of the symbols in offsets, masks and trip counts."""
    kernel = Kernel("", tuple(evaluator.stack[0]), _NOWHERE, _NOWHERE, "")
    pointers: set[str] = set()
    exprs: list[Expr] = [n.value for n in evaluator.random]
    for node, _ in kernel.walk((Access, Loop)):
        if isinstance(node, Access):
            pointers.add(node.base)
            exprs += [node.offset] if node.offset is not None else []
            exprs += [n.value for n in node.narrow]
            exprs += [side for pair in node.mask or () for side in pair]
        elif isinstance(node, Loop) and isinstance(node.trip, Expr):
            exprs.append(node.trip)
    return pointers, {atom.name for e in exprs for atom in e.atoms() if isinstance(atom, Symbol)}


_NOWHERE = Span("", 1, 1, 1, 1)


def _wide_parameters(function: Function) -> list[str]:
    """The parameters annotated as 64-bit integers."""
    found = []
    for param in parameters(function.node):
        if param.annotation is not None:
            kind = param.annotation.annotation
            name = kind.raw_value if isinstance(kind, cst.SimpleString) else dotted_name(kind) or ""
            if name.rpartition(".")[2] in ("int64", "uint64", "i64", "u64"):
                found.append(param.name.value)
    return found


def _is_of(value: Any, kinds: Any) -> Any:
    """``isinstance`` in a kernel, of the two classes that its values have there. (An argument that is 1 is a constexpr too.)"""
    names = {
        k.path.rpartition(".")[2] if isinstance(k, Namespace) else ""
        for k in (kinds if isinstance(kinds, tuple) else (kinds,))
    }
    if names <= {"tensor", "constexpr"} and not isinstance(value, Unknown):
        return ("tensor" if isinstance(value, Block) else "constexpr") in names
    return Unknown("isinstance")


def _conditions(test: Any) -> tuple[Bounds | None, ...]:
    """What holds in the two arms of an ``if``, as far as it is bounds."""
    if not isinstance(test, Block) or not test.bounds or test.partly:
        return (None, None)
    opposite = None
    if len(test.bounds) == 1:
        left, right = test.bounds[0]
        opposite = ((right, left + 1),)
    return (test.bounds, opposite)


def argument_block(name: str, value: Any) -> Any:
    """What parameter ``name`` is inside the kernel."""
    if isinstance(value, Tensor):
        return Block(value.dtype, expr=Expr.constant(0), base=name)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return Block(dt.INT32 if abs(value) < 2**31 else dt.INT64, expr=Expr.constant(value))
    if isinstance(value, Expr):
        return Block(dt.INT32, expr=value)
    if isinstance(value, (float, OpenFloat)):
        return Block(dt.FLOAT32)
    if isinstance(value, (tuple, list)):
        return tuple(argument_block(f"{name}[{i}]", item) for i, item in enumerate(value))
    if isinstance(value, (Descriptor, Jit, Function, Dtype)):
        return value
    return Block(None, expr=Expr.atom(Symbol(name)))


def _advance(before: Block, after: Block) -> Expr | None:
    """``after - before`` where both are index expressions into the same thing, else None."""
    if before.expr is None or after.expr is None or before.base != after.base:
        return None
    if before.shape != after.shape:
        shape = broadcast(before.shape, after.shape)
        if shape != after.shape:
            return None
        before = align(before, after.shape)
    if before.expr is None or after.expr is None:
        return None
    difference = after.expr - before.expr
    return None if any(isinstance(a, ex.Opaque) and a.op == "unknown" for a in difference.atoms()) else difference


def _trips(test: Block, loop: int) -> ex.Size | None:
    """How often a ``while`` loop runs whose test is one bound that the loop moves by a fixed step; else None."""
    if test.partly or not test.bounds or len(test.bounds) != 1:
        return None
    left, right = test.bounds[0]
    distance = right - left
    slope = distance.coefficient(LoopIndex(loop))
    step = -slope.value if slope is not None and slope.value is not None else 0
    if step <= 0:
        return None
    room = ex.ceildiv(distance + Expr.atom(LoopIndex(loop)) * step, step)
    return max(room, 0) if isinstance(room, int) else room


def _mentions(expr: Expr, loop: int) -> bool:
    return LoopIndex(loop) in expr.atoms()


def _steady(value: Any, loop: int) -> Any:
    """``value``, which ``loop`` does not change."""
    return replace(value, steady=value.steady | {loop}) if isinstance(value, Block) else value


def _leave(value: Any, loop: int) -> Any:
    """``value`` after its loop: an index that still names the iteration stands for its last one, which is unknown."""
    if isinstance(value, Block) and value.expr is not None and _mentions(value.expr, loop):
        value = replace(value, expr=ex.opaque("unknown", key=-loop))
    if isinstance(value, Block) and loop in value.carried:
        value = replace(value, carried=value.carried - {loop})
    return value


def _residue_class(x: Expr | None, y: Expr | None) -> Bounds:
    """(dividend, divisor) where ``x == y`` compares a remainder with a number."""
    for side, other in ((x, y), (y, x)):
        if side is None or other is None or other.value is None or len(side.terms) != 1:
            continue
        (monomial, factor), *_ = side.terms.items()
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], ex.Opaque) and monomial[0].op == "mod":
            dividend, divisor = monomial[0].args
            return ((dividend, divisor),)
    return _exact_division(x - y) if x is not None and y is not None else ()


def _exact_division(difference: Expr) -> Bounds:
    """(dividend, divisor) where ``difference`` is ``a - a // b * b`` (or its negative) beside a number: a remainder written
    out."""
    for atom in {atom for monomial in difference.terms for atom in monomial}:
        if isinstance(atom, ex.Opaque) and atom.op == "floordiv":
            dividend, divisor = atom.args
            multiple = difference.coefficient(atom)
            for sign in (1, -1):
                rest = difference - sign * (dividend - divisor * Expr.atom(atom))
                if multiple == -sign * divisor and rest.value is not None:
                    return ((dividend, divisor),)
    return ()


def _partly(mask: Block) -> bool:
    """Whether a boolean says more than its bounds do."""
    return mask.partly or not mask.bounds


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


def _both(a: Block, b: Block) -> Bounds | None:
    if a.bounds is None and b.bounds is None:
        return ()
    return (a.bounds or ()) + (b.bounds or ())


def _promoted(a: Dtype | None, b: Dtype | None) -> Dtype | None:
    return None if a is None or b is None else dt.promote(a, b)


def _NO_PYTHON(a: Any, b: Any) -> Any:
    raise Raised


_FLOAT_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else 0.0,
    "//": lambda a, b: a // b if b else 0.0,
    "%": lambda a, b: a % b if b else 0.0,
}

_ORDER: dict[str, Callable[[int], bool]] = {
    "<": lambda d: d < 0,
    "<=": lambda d: d <= 0,
    ">": lambda d: d > 0,
    ">=": lambda d: d >= 0,
    "==": lambda d: d == 0,
    "!=": lambda d: d != 0,
}

_PURE: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "len": len,
    "sum": sum,
    "tuple": tuple,
    "list": list,
    "round": rounded,
    "divmod": divmod,
    "str": str,
    "all": all,
    "any": any,
    "zip": lambda *a: list(zip(*a)),
    "enumerate": lambda a, start=0: list(enumerate(a, start)),
    "reversed": lambda a: list(reversed(a)),
}
