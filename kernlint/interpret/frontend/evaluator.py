"""Triton's front end on a kernel: the types that it gives to every value, and what it refuses on the way.

:class:`FrontEnd` evaluates a ``@triton.jit`` function the way the compiler's code generator walks it, on types alone: which
values are compile-time constants, the element type and shape of each run-time value, which variables a loop or a branch carries
out. It knows nothing of memory or time; :mod:`kernlint.interpret.triton` does that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import libcst as cst

from kernlint.interpret.frontend.arithmetic import FrontEndArithmetic
from kernlint.interpret.frontend.attributes import tensor_attribute, view
from kernlint.interpret.frontend.branches import (
    compile_time_if,
    conditional_expression,
    demand_scalar_condition,
    run_time_if,
)
from kernlint.interpret.frontend.calls import call_external, call_jit
from kernlint.interpret.frontend.language.memory import block_pointer_attribute
from kernlint.interpret.frontend.loops import follow_for, follow_while
from kernlint.interpret.frontend.names import external, name_value
from kernlint.interpret.frontend.values import BlockPointer, Constexpr, Typed, tensor
from kernlint.interpret.jit_source import may_be_jit
from kernlint.interpret.python.control import Raised
from kernlint.interpret.triton.values import dtype_attribute
from kernlint.interpret.values import Builtin, Class, Config, Function, Instance, Jit, Namespace, Scope, Unknown
from kernlint.records import replace
from kernlint.syntax.names import dotted_name
from kernlint.workload import Dtype

#: The parts of a jit function's body that the code generator has no visitor for, in its own words.
_STATEMENTS: dict[type, tuple[str, str]] = {
    cst.Break: ("Break", "`break`"),
    cst.Continue: ("Continue", "`continue`"),
    cst.Try: ("Try", "`try`"),
    cst.TryStar: ("TryStar", "`try`"),
    cst.Raise: ("Raise", "`raise`"),
    cst.With: ("With", "`with`"),
    cst.Del: ("Delete", "`del`"),
    cst.Global: ("Global", "`global`"),
    cst.Nonlocal: ("Nonlocal", "`nonlocal`"),
    cst.Import: ("Import", "`import`"),
    cst.ImportFrom: ("ImportFrom", "`import`"),
    cst.ClassDef: ("ClassDef", "a class"),
    cst.FunctionDef: ("nested function", "a nested function"),
    cst.Match: ("Match", "`match`"),
}


_EXPRESSIONS: dict[type, tuple[str, str]] = {
    cst.Lambda: ("Lambda", "a lambda"),
    cst.ListComp: ("ListComp", "a list comprehension"),
    cst.GeneratorExp: ("GeneratorExp", "a generator expression"),
    cst.SetComp: ("SetComp", "a set comprehension"),
    cst.DictComp: ("DictComp", "a dict comprehension"),
    cst.Dict: ("Dict", "a dict"),
    cst.Set: ("Set", "a set"),
    cst.NamedExpr: ("NamedExpr", "`:=`"),
    cst.Yield: ("Yield", "`yield`"),
    cst.Await: ("Await", "`await`"),
}


class FrontEnd(FrontEndArithmetic):
    """Evaluates one kernel; ``found`` grows to what the front end refuses."""

    def eval_Name(self, node: cst.Name, scope: Scope) -> Any:
        if node.value in ("None", "True", "False"):
            return super().eval_Name(node, scope)
        return name_value(self, node, scope)

    def execute(self, node: cst.CSTNode, scope: Scope) -> None:
        refused = _STATEMENTS.get(type(node))
        if type(node) is cst.Raise and (self.doubts or self.choices):
            return  # behind a compile-time condition it stands for values that nobody is to pass
        if refused is not None and not self.target.speaks(refused[0]):
            self.fault("unsupported-syntax", node, f"{refused[1]} is not supported in a kernel", refused[0])
            if isinstance(node, (cst.Break, cst.Continue)):
                return
            if isinstance(node, (cst.Try, cst.With)):
                with self.doubt():
                    super().execute(node, scope)
            elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                scope.vars[node.name.value] = Unknown("nested definition")
            return
        super().execute(node, scope)

    def eval(self, node: cst.BaseExpression, scope: Scope) -> Any:
        refused = _EXPRESSIONS.get(type(node))
        if refused is not None and not self.target.speaks(refused[0]):
            return self.fault("unsupported-syntax", node, f"{refused[1]} is not supported in a kernel", refused[0])
        return super().eval(node, scope)

    def eval_Lambda(self, node: cst.Lambda, scope: Scope) -> Any:
        return Unknown("lambda")

    def eval_List(self, node: cst.List, scope: Scope) -> Any:
        return self.limited(tuple(self._elements(node.elements, scope)))

    def exec_Assign(self, node: cst.Assign, scope: Scope) -> None:
        value = self._sanitised(self.eval(node.value, scope))
        if len(node.targets) > 1:
            text = "an assignment to several targets is not supported in a kernel"
            self.fault("unsupported-syntax", node, text, "Assign")
        for target in node.targets:
            self.assign(target.target, value, scope)

    def exec_AnnAssign(self, node: cst.AnnAssign, scope: Scope) -> None:
        if node.value is None:
            return
        value = self.eval(node.value, scope)
        annotation = dotted_name(node.annotation.annotation)
        if annotation is not None and annotation.split(".")[-1] == "constexpr":
            name = node.target.value if isinstance(node.target, cst.Name) else ""
            if name in scope.vars:
                text = f"`{name}` is defined already; a constexpr cannot be reassigned"
                self.fault("constexpr-reassigned", node, text, name)
            if isinstance(node.target, cst.Name):
                scope.vars[name] = Unknown("constant") if isinstance(value, Typed) else value
            return
        self.assign(node.target, self._sanitised(value), scope)

    def augmented(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        return self._sanitised(self.binary(name, function, a, b, node))

    def _sanitised(self, value: Any) -> Any:
        """What assignment keeps: a compile-time number becomes a run-time value."""
        if isinstance(value, tuple):
            return tuple(self._sanitised(v) for v in value)
        if isinstance(value, Typed) and value.argument and value.pointer is False and not value.is_open_argument:
            return replace(value, argument="")  # a specialised one becomes a run-time value
        return tensor(value)

    def assign(self, target: cst.BaseExpression, value: Any, scope: Scope) -> None:
        if type(target) is cst.Subscript:
            owner = self.eval(target.value, scope)
            self.eval_index(target, scope)
            if isinstance(owner, Typed) and not owner.is_open_argument:  # that may be a tuple
                text = f"`{self.code(target.value)[:60]}` is a tensor: its elements cannot be assigned"
                self.fault("tensor-index", target, text)
            return
        if isinstance(value, Typed) and type(target) in (cst.Tuple, cst.List) and not value.is_open_argument:
            self.fault("unpacked-tensor", target, f"a value of type {value} cannot be unpacked")
            value = Unknown("unpacked")
        super().assign(target, value, scope)

    def unpack(self, value: Any, count: int, starred: bool) -> list[Any] | None:
        items = super().unpack(value, count, starred)
        return items if items is None or starred or len(items) == count else None

    def eval_BooleanOperation(self, node: cst.BooleanOperation, scope: Scope) -> Any:
        if not node.lpar and isinstance(node.left, cst.BooleanOperation) and not node.left.lpar:
            same_operator = type(node.left.operator) is type(node.operator)
            if same_operator and not self.target.speaks("chained boolean"):
                text = "a chain of more than two `and`/`or` operands needs parentheses"
                self.fault("unsupported-syntax", node, text, "chained boolean")
        left = self.eval(node.left, scope)
        truth = self.truth(left)
        is_and = isinstance(node.operator, cst.And)
        if truth is not None:
            # Python would not evaluate the right side; the code generator does.
            with self.doubt():
                right = self.eval(node.right, scope)
            return right if truth == is_and else left
        right = self.eval(node.right, scope)
        decided = self.truth(right)
        if decided is not None and isinstance(left, Typed) and self.target.speaks("chained boolean"):
            # A constant decides, or changes nothing, wherever it stands.
            return left if decided == is_and else right
        return self.boolean("and" if is_and else "or", left, right, node)

    def eval_Comparison(self, node: cst.Comparison, scope: Scope) -> Any:
        if len(node.comparisons) > 1 and not self.target.speaks("chained comparison"):
            text = "a chained comparison is not supported in a kernel"
            self.fault("unsupported-syntax", node, text, "chained comparison")
        return super().eval_Comparison(node, scope)

    def getattr(self, value: Any, name: str, node: cst.CSTNode) -> Any:
        if isinstance(value, Namespace):
            return external(self, value, name, node)
        if isinstance(value, Typed):
            return tensor_attribute(self, value, name, node)
        if isinstance(value, BlockPointer):
            return block_pointer_attribute(value, name)
        if isinstance(value, (bool, int, float)):
            if name == "value":
                return value
            if name in ("type", "dtype", "numel", "real", "imag"):
                return Unknown(name)
            return self.fault("constant-attribute", node, f"a compile-time number has no `{name}`", name)
        if isinstance(value, Constexpr):
            if name == "value":
                return value
            if value.number and name == "to":
                return self.fault("constant-attribute", node, f"a compile-time number has no `{name}`", name)
            return Unknown(name)
        if isinstance(value, Dtype):
            return dtype_attribute(value, name)
        if isinstance(value, (Instance, Class, Config, Jit, Function, dict, list, str, tuple)) or value is None:
            return Unknown(name)
        return Unknown(f"attribute {name}")

    def subscript(self, value: Any, index: Any, node: cst.CSTNode) -> Any:
        if isinstance(value, Typed) and value.is_open_argument:
            return Unknown("item of an argument")  # it may be a tuple
        if isinstance(value, Typed):
            return view(self, value, index if isinstance(index, tuple) else (index,), node)
        if isinstance(value, tuple):
            if isinstance(index, bool) or not isinstance(index, (int, slice)):
                return Unknown("index")
            try:
                return super().subscript(value, index, node)
            except Raised:
                return Unknown("index")
        return Unknown("subscript")

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, Jit):
            with self.doubt() if function.either else nullcontext():
                return call_jit(self, function.function, args, kwargs, node)
        if isinstance(function, Function):
            if isinstance(function.node, cst.Lambda) or may_be_jit(function):
                return Unknown("call")
            text = f"`{function.name}` is a Python function without @triton.jit; a kernel cannot call it"
            return self.fault("host-function", node, text, function.name)
        if isinstance(function, Builtin):
            return function.call(args, kwargs, node)
        if isinstance(function, Dtype):
            text = f"`{self.code(node.func)[:60]}` is a type, and types cannot be called in a kernel; use `.to(...)` or tl.cast"
            return self.fault("dtype-call", node, text, self.code(node.func)[:60])
        if isinstance(function, Namespace):
            return call_external(self, function.path, args, kwargs, node)
        if isinstance(function, Typed):
            return self.fault("host-function", node, f"`{self.code(node.func)[:60]}` is a tensor and cannot be called")
        return Unknown("call")

    def exec_If(self, node: cst.If, scope: Scope) -> None:
        self.choices += 1
        try:
            super().exec_If(node, scope)
        finally:
            self.choices -= 1

    def undecided(self, node: cst.If, test: Any, scope: Scope) -> None:
        if isinstance(test, Typed):
            demand_scalar_condition(self, test, node.test, "if")
            choices, self.choices = self.choices, 0
            try:
                run_time_if(self, node, scope)
            finally:
                self.choices = choices
        else:
            compile_time_if(self, node, test, scope)

    def eval_IfExp(self, node: cst.IfExp, scope: Scope) -> Any:
        return conditional_expression(self, node, scope)

    def exec_For(self, node: cst.For, scope: Scope) -> None:
        follow_for(self, node, scope)

    def exec_While(self, node: cst.While, scope: Scope) -> None:
        follow_while(self, node, scope)
