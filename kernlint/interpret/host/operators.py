"""Python's operators on tensors, open sizes and values read from tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from kernlint.interpret.host import checks
from kernlint.interpret.host.state import HostState
from kernlint.interpret.host.values import OpenItems, ShapeOf, computed_from_read
from kernlint.interpret.python.methods import extend
from kernlint.interpret.python.operators import python_compare, same
from kernlint.interpret.torch.elementwise import elementwise
from kernlint.interpret.torch.functions import torch_function
from kernlint.interpret.values import (
    Class,
    Comparison,
    Config,
    Function,
    Guess,
    Jit,
    Namespace,
    OpenFloat,
    ReadValue,
    Unknown,
)
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.size_names import is_extent, is_product

_OP_NAMES = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floor_divide",
    "%": "remainder",
    "**": "pow",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "shift_left",
    ">>": "shift_right",
}


#: Operators that make numbers of numbers.
_ARITHMETIC = frozenset({"+", "-", "*", "//", "%", "/", "**"})


class HostOperators(HostState):
    """Python's operators, down to the torch functions that they stand for."""

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, (Dtype, Config, OpenItems)):
            return True  # a call on an empty list does nothing that anybody asks about
        return super().truth(value)

    def binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            if name == "@" and isinstance(a, Tensor) and isinstance(b, Tensor):
                return torch_function(self, "matmul", [a, b], {}, node)
            if name == "/" and not isinstance(a, Tensor):
                # torch divides a number by a tensor in two steps.
                a, b, name = self._operator("reciprocal", [b], node), a, "*"
            result = self._operator(_OP_NAMES.get(name, name), [a, b], node)
            if isinstance(result, Tensor) and name in _ARITHMETIC:
                self.computed_from[result.storage.id] = tuple(x for x in (a, b) if isinstance(x, Tensor))
            return result
        if isinstance(a, ReadValue) or isinstance(b, ReadValue):
            return computed_from_read(name, (a, b))
        if all(isinstance(v, (int, float, Expr, OpenFloat)) for v in (a, b)) and (
            any(isinstance(v, OpenFloat) for v in (a, b))
            or (any(isinstance(v, Expr) for v in (a, b)) and (name == "/" or any(isinstance(v, float) for v in (a, b))))
        ):
            whole = name == "/" and not any(isinstance(v, (float, OpenFloat)) for v in (a, b))
            return OpenFloat(f"{name} of a float", (ex.lift(a), ex.lift(b)) if whole else None)
        return super().binary(name, function, a, b, node)

    def _operator(
        self, name: str, args: list[Any], node: cst.CSTNode, dtype: Dtype | None = None, into: Tensor | None = None
    ) -> Any:
        """One of Python's operators on tensors."""
        with self.inside(name, args, {}):
            result = elementwise(self, name, args, node, dtype, into=into)
        if isinstance(result, Tensor) and into is None:
            self.operated.add(result.storage.id)
        return result

    def augmented(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if isinstance(a, Tensor):
            return self._operator(_OP_NAMES.get(name, name) + "_", [a, b], node, into=a)
        if isinstance(a, list) and isinstance(b, (list, tuple)) and name == "+":
            extend(a, b)
            return a
        return self.binary(name, function, a, b, node)

    def unary(self, name: str, value: Any, node: cst.CSTNode) -> Any:
        if isinstance(value, Tensor):
            return self._operator("neg" if name == "-" else "bitwise_not", [value], node)
        return super().unary(name, value, node)

    def compare(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if isinstance(a, ShapeOf) or isinstance(b, ShapeOf):
            return Unknown("shape comparison")
        if (isinstance(a, Tensor) or isinstance(b, Tensor)) and name not in ("is", "is not", "in", "not in"):
            return self._operator(name, [a, b], node, dt.BOOL)
        if name in ("is", "is not") and (isinstance(a, Tensor) or isinstance(b, Tensor)):
            return (a is b) == (name == "is") if a is None or b is None else Unknown("identity")
        found = python_compare(name, function, a, b)
        at_any_size = isinstance(found, bool) and (isinstance(a, Expr) or isinstance(b, Expr))
        self.outcomes.setdefault(node, set()).add(found if at_any_size else None)
        return found

    def merge(self, a: Any, b: Any, test: Any, node: cst.CSTNode) -> Any:
        if same(a, b):
            return a
        if isinstance(a, (int, Expr)) and isinstance(b, (int, Expr)) and not isinstance(a, bool):
            bounded = test.chosen(a, b) if isinstance(test, Comparison) else None
            open_one = checks.open_size(b if a == 1 else a) if 1 in (a, b) else None
            if open_one is not None and (is_extent(open_one) or is_product(open_one)):
                return Expr.atom(open_one)  # `math.prod(shape) if shape else 1`: an open extent may be 1 as well
            guess = a if isinstance(a, int) and not isinstance(b, int) else b
            return bounded if bounded is not None else Guess(guess) if isinstance(guess, int) else guess
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            if a.storage.id != b.storage.id:
                self.forget_numbers(a.storage.id)
            return either(a, b)
        if isinstance(a, ReadValue) and isinstance(b, ReadValue):
            return computed_from_read("choice", (a, b))
        if any(isinstance(x, Unknown) for x in (a, b)) and any(isinstance(x, (int, float)) for x in (a, b)):
            return Unknown("undecided choice")  # `x.numel() if x is not None else 0` is no reason to think of 0
        if isinstance(a, Unknown) or a is None:
            return b
        if isinstance(b, Unknown) or b is None:
            return a
        if isinstance(a, (Function, Jit)) and isinstance(b, (Function, Jit)):
            # A function in the place of a kernel is there for where Triton is not.
            return replace(b if isinstance(b, Jit) and isinstance(a, Function) else a, either=True)
        if isinstance(a, (Namespace, Function, Jit, Class)):
            return a  # two ways to import one thing
        return Unknown("undecided choice")


def either(a: Tensor, b: Tensor) -> Tensor:
    """``a`` without what is known to be otherwise of ``b``, where it is one of the two."""
    if {a.storage.origin, b.storage.origin} == {"empty", "filled"}:
        a = replace(a, storage=replace(a.storage, origin="result"))  # what it holds is as open as which it is
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
        a = replace(a, dtype=None)
    if a.shape is not None and b.shape is not None and a.shape != b.shape:
        return replace(a, shape=None, strides=None)
    if a.strides is not None and b.strides is not None and a.strides != b.strides:
        return replace(a, strides=None)
    return a
