"""The body of a ``@triton.jit`` function on abstract tiles: what each program loads, computes and stores."""

from __future__ import annotations

import math
from typing import Any

import libcst as cst

from kernlint.interpret.triton.arithmetic import KernelArithmetic
from kernlint.interpret.triton.branches import follow_branches, follow_choice
from kernlint.interpret.triton.builtins import call_external
from kernlint.interpret.triton.language.elementwise import cast
from kernlint.interpret.triton.language.functions import call_function, constant
from kernlint.interpret.triton.loops import follow_for, follow_while
from kernlint.interpret.triton.tiles import broadcast, expand, permute
from kernlint.interpret.triton.values import Block, Descriptor, PointerType, dtype_attribute
from kernlint.interpret.values import Builtin, Function, Jit, Namespace, Scope, Unknown, is_concrete
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt


class KernelEvaluator(KernelArithmetic):
    """Evaluates one kernel; ``nodes`` grows to its body."""

    def getattr(self, value: Any, name: str, node: cst.CSTNode) -> Any:
        if isinstance(value, Block):
            return block_attribute(self, value, name, node)
        if isinstance(value, PointerType):
            if name == "element_ty":
                return value.element if value.element is not None else Unknown("element type")
            return Builtin(name, lambda a, k, n: name == "is_ptr") if name.startswith("is_") else value
        if isinstance(value, Dtype):
            return dtype_attribute(value, name)
        if isinstance(value, Descriptor):
            return descriptor_method(self, value, name)
        if isinstance(value, Namespace):
            found = constant(f"{value.path}.{name}")
            return found if found is not None else Namespace(f"{value.path}.{name}")
        if name == "value" and is_concrete(value):
            return value  # constexpr.value
        if name == "to" and isinstance(value, (int, float)):
            return Builtin("to", lambda a, k, n: self.converted(value, a[0] if a else None, n))
        return super().getattr(value, name, node)

    def converted(self, value: Any, target: Any, node: cst.CSTNode) -> Any:
        return self.noted("cast", (value, target), cast(self, self.lift(value), target, node), node)

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
            return self.converted(args[0] if args else None, function, node)
        if isinstance(function, Namespace):
            return call_external(self, function.path, args, kwargs, node)
        self.give_up(f"call of {self.module.code(node.func)[:60]}")
        loads = frozenset().union(*(a.loads for a in args if isinstance(a, Block)))
        shape: tuple[int, ...] = ()
        for arg in args:
            if isinstance(arg, Block):
                shape = broadcast(shape, arg.shape) or arg.shape
        return self.noted("call", args, Block(dt.FLOAT32, shape, loads=loads), node) if loads else Unknown("call")

    def eval_Name(self, node: cst.Name, scope: Scope) -> Any:
        value = super().eval_Name(node, scope)
        if len(self.calls) > 1 and isinstance(value, Block):
            self.met.add(value.base)
        elif len(self.calls) == 1 and node not in self.handed_on:
            self.met.add(node.value)
        return value

    def eval_IfExp(self, node: cst.IfExp, scope: Scope) -> Any:
        return follow_choice(self, node, scope)

    def undecided(self, node: cst.If, test: Any, scope: Scope) -> None:
        follow_branches(self, node, test, scope)

    def loop(self, node: cst.For, iterable: Any, scope: Scope) -> bool:
        return follow_for(self, node, iterable, scope)

    def loop_while(self, node: cst.While, scope: Scope) -> bool:
        return follow_while(self, node, scope)


def block_attribute(k: KernelEvaluator, value: Block, name: str, node: cst.CSTNode) -> Any:
    if name == "dtype" or name == "type":
        if value.base:
            return PointerType(value.dtype)
        if name == "type":
            return PointerType(value.dtype)
        return value.dtype if value.dtype is not None else Unknown("dtype")
    if name == "shape":
        return tuple(value.shape)
    if name == "numel":
        return math.prod(value.shape)
    if name == "T":
        order = tuple(reversed(range(len(value.shape))))
        return k.noted("trans", (value, order), permute(value, order), node)
    return Builtin(name, lambda args, kwargs, n: call_function(k, name, [value, *args], kwargs, n, method=True))


def descriptor_method(k: KernelEvaluator, value: Descriptor, name: str) -> Any:
    if name in ("load", "store", "atomic_add", "atomic_max", "atomic_min"):
        return Builtin(name, lambda a, kw, n: call_function(k, f"descriptor.{name}", [value, *a], kw, n))
    if name in ("shape", "strides", "block_shape"):
        return {"shape": value.shape, "strides": value.strides, "block_shape": value.block}[name]
    if name == "dtype":
        return value.base.dtype
    return Unknown(name)
