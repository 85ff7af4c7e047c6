"""Triton's front end on a kernel: the types that it gives to every value, and what it refuses on the way.

:func:`check_kernel` evaluates a ``@triton.jit`` function the way the compiler's code generator walks it, on types alone:
which values are compile-time constants, the element type and shape of each run-time value, which variables a loop or a
branch carries out. It knows nothing of memory or time; :mod:`kernlint.interpret.kernel` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import libcst as cst

from kernlint.interpret import tl_types
from kernlint.interpret.api import Target
from kernlint.interpret.frontend_values import (
    MAX_ELEMENTS,
    BlockPointer,
    Constexpr,
    Typed,
    Wrapped,
    bearing,
    computation,
    is_constant,
    literal,
    same_type,
    shape_text,
    short,
    tensor,
)
from kernlint.interpret.jit_source import (
    assignment,
    binding_problem,
    is_entry,
    is_template,
    may_be_jit,
    plain_global,
    torch_dtype,
)
from kernlint.interpret.python import (
    AUGMENTED,
    BINARY,
    Break,
    Continue,
    Evaluator,
    OutOfBudget,
    Raised,
    Return,
    python_binary,
    python_compare,
    same,
)
from kernlint.interpret.tiles import broadcast
from kernlint.interpret.values import (
    Builtin,
    Class,
    Config,
    Function,
    Instance,
    Jit,
    Namespace,
    OpenFloat,
    Scope,
    Unknown,
    dtype_attribute,
    is_concrete,
)
from kernlint.records import replace
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import Dtype, Expr, Span, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload.fault import Fault

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

_FLOAT_ONLY_INT = ("&", "|", "^", "<<", ">>")

#: Attributes that every run-time value has.
_ATTRIBUTES = frozenset({"dtype", "shape", "type", "T", "numel", "handle"})


#: Methods of a tensor descriptor, which an argument may be.
_DESCRIPTOR = frozenset(
    {
        "load",
        "store",
        "gather",
        "scatter",
        "atomic_add",
        "atomic_max",
        "atomic_min",
        "block_shape",
        "block_type",
        "strides",
    }
)


class FrontEnd(Evaluator):
    """Evaluates one kernel for ``target``; ``faults`` grows to what the front end refuses.

    ``arguments`` are the launch's run-time arguments by name, for what depends on their values; ``unspecialised`` those that
    are never made compile-time constants.
    """

    def __init__(
        self,
        target: Target,
        arguments: Mapping[str, Any],
        unspecialised: frozenset[str] = frozenset(),
        budget: int = 60_000,
    ) -> None:
        super().__init__(budget)
        self.unspecialised = unspecialised
        self.target = target
        self.arguments = arguments
        self.found: dict[tuple[str, Span], Fault] = {}
        #: How many constructs around the current one may not be compiled at all.
        self.doubts = 0
        #: Compile-time conditions around the statement, since the last run-time one.
        self.choices = 0
        #: The switch of the kernel, off by default, under which alone the statement is compiled.
        self.switch = ""
        self.local_names: dict[cst.CSTNode, frozenset[str]] = {}

    # -- faults -----------------------------------------------------------------------------------------------------

    def fault(self, kind: str, node: cst.CSTNode, text: str, name: str = "", certain: bool = True) -> Unknown:
        """Remember a refusal; the value of the refused expression is anything."""
        span = self.span(node)
        certain = certain and not self.doubts
        known = self.found.get((kind, span))
        if known is None or (certain and not known.certain) or (known.switch and not self.switch):
            self.found[(kind, span)] = Fault(kind, span, text, self.symbol, certain, name, self.switch)
        return Unknown(kind)

    @contextmanager
    def doubt(self) -> Iterator[None]:
        """What happens inside may not happen."""
        self.doubts += 1
        try:
            yield
        finally:
            self.doubts -= 1

    # -- names ------------------------------------------------------------------------------------------------------

    def eval_Name(self, node: cst.Name, scope: Scope) -> Any:
        name = node.value
        if name in ("None", "True", "False"):
            return super().eval_Name(node, scope)
        if name in scope.vars:
            return scope.vars[name]
        function = self.calls[-1]
        if name in self._locals(function):
            text = f"`{name}` is not defined where it is used: only a loop, or a branch that is not always taken, assigns it"
            return self.fault("branch-undefined", node, text, name)
        closure: Scope | None = function.closure
        while closure is not None:
            if name in closure.vars:
                return self._global(name, closure.vars[name], closure, node)
            closure = closure.parent
        if name in self.target.builtins():
            return Namespace("builtins." + name)
        if name in _PYTHON_BUILTINS and assignment(function.module.tree.body, name) is None:
            return self.fault("host-function", node, f"Python's `{name}` does not exist in a kernel", name)
        return Unknown(name)

    def _locals(self, function: Function) -> frozenset[str]:
        """Names that a function's body assigns somewhere."""
        node, module = function.node, function.module
        known = self.local_names.get(node)
        if known is None:
            targets: list[cst.CSTNode] = [target.target for target in module.within(node.body, cst.AssignTarget)]
            targets += [inner.target for inner in module.within(node.body, cst.AugAssign)]
            targets += [inner.target for inner in module.within(node.body, cst.AnnAssign)]
            targets += [inner.target for inner in module.within(node.body, cst.For)]
            targets += [inner.target for inner in module.within(node.body, cst.NamedExpr)]
            known = self.local_names[node] = frozenset(
                inner.value
                for target in targets
                if not isinstance(target, (cst.Subscript, cst.Attribute))
                for inner in walk(target)
                if type(inner) is cst.Name
            )
        return known

    def _global(self, name: str, value: Any, closure: Scope, node: cst.CSTNode) -> Any:
        """A variable of the module (or of a function around the kernel) as a kernel sees it."""
        if isinstance(value, Function):
            return value  # calling it is what fails
        if isinstance(value, Dtype) and torch_dtype(self.module, name):
            return Namespace(f"torch.{value.name}")
        plain = isinstance(value, (bool, int, float, str, tuple, list, dict)) and not isinstance(value, Unknown)
        if plain and closure.parent is None and plain_global(self.module, name):
            text = f"`{name}` is a plain global; a kernel reads only globals made by tl.constexpr(...)"
            self.fault("plain-global", node, text, name)
        return value

    # -- syntax -----------------------------------------------------------------------------------------------------

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

    def eval_FormattedString(self, node: cst.FormattedString, scope: Scope) -> Any:
        return Unknown("formatted string")

    def eval_List(self, node: cst.List, scope: Scope) -> Any:
        return self.limited(tuple(self._elements(node.elements, scope)))

    # -- assignment -------------------------------------------------------------------------------------------------

    def exec_Assign(self, node: cst.Assign, scope: Scope) -> None:
        value = self._sanitised(self.eval(node.value, scope))
        if len(node.targets) > 1:
            self.fault(
                "unsupported-syntax", node, "an assignment to several targets is not supported in a kernel", "Assign"
            )
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
                self.fault(
                    "constexpr-reassigned", node, f"`{name}` is defined already; a constexpr cannot be reassigned", name
                )
            if isinstance(node.target, cst.Name):
                scope.vars[name] = Unknown("constant") if isinstance(value, Typed) else value
            return
        self.assign(node.target, self._sanitised(value), scope)

    def exec_AugAssign(self, node: cst.AugAssign, scope: Scope) -> None:
        name, function = BINARY[AUGMENTED[type(node.operator)]]
        current = self.eval(node.target, scope)
        value = self.binary(name, function, current, self.eval(node.value, scope), node)
        self.assign(node.target, self._sanitised(value), scope)

    def _sanitised(self, value: Any) -> Any:
        """What assignment keeps: a compile-time number becomes a run-time value."""
        if isinstance(value, tuple):
            return tuple(self._sanitised(v) for v in value)
        if isinstance(value, Typed) and value.argument and value.pointer is False:
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
        if isinstance(value, Typed) and type(target) in (cst.Tuple, cst.List):
            self.fault("unpacked-tensor", target, f"a value of type {value} cannot be unpacked")
            value = Unknown("unpacked")
        super().assign(target, value, scope)

    def unpack(self, value: Any, count: int, starred: bool) -> list[Any] | None:
        items = super().unpack(value, count, starred)
        return items if items is None or starred or len(items) == count else None

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        if name == "@":
            return self.fault(
                "unsupported-syntax", node, "the operator `@` is not supported in a kernel; use tl.dot", "MatMult"
            )
        left, right = _number(a), _number(b)
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
        x, y = _operand(a), _operand(b)
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
        dtype = self._result(name, a, b, x, y, weak, node)
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

    def _result(self, name: str, a: Any, b: Any, x: Typed, y: Typed, weak: tuple[bool, bool], node: cst.CSTNode) -> Any:
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
            self.fault("literal-range", node, text, dtype.name)

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
            return self.fault(
                "pointer-arithmetic", node, f"a pointer offset must be an integer, not {short(offset.dtype)}"
            )
        return Typed(pointer.dtype, shape, True)

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
            self.fault(
                "too-large",
                node,
                f"a block of shape {shape_text(shape)} has {count} elements; {MAX_ELEMENTS} is the limit",
            )
        return Typed(dtype, shape, pointer)

    def demand_fp8(self, dtype: Dtype, node: cst.CSTNode) -> None:
        """The back end must have the fp8 format, if it is one."""
        if dtype.name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz") and not self.target.has_fp8(
            dtype.name
        ):
            self.fault("fp8-type", node, f"{short(dtype)} is not supported on {self.target.shown_arch}", dtype.name)

    def unary(self, name: str, value: Any, node: cst.CSTNode) -> Any:
        value = _number(value)
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
        x, y = _operand(_number(a)), _operand(_number(b))
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

    def eval_BooleanOperation(self, node: cst.BooleanOperation, scope: Scope) -> Any:
        if not node.lpar and isinstance(node.left, cst.BooleanOperation) and not node.left.lpar:
            same_operator = type(node.left.operator) is type(node.operator)
            if same_operator and not self.target.speaks("chained boolean"):
                self.fault(
                    "unsupported-syntax",
                    node,
                    "a chain of more than two `and`/`or` operands needs parentheses",
                    "chained boolean",
                )
        left = self.eval(node.left, scope)
        truth = self.truth(left)
        is_and = isinstance(node.operator, cst.And)
        if truth is not None:
            # Python would not evaluate the right side; the code generator does.
            with self.doubt():
                right = self.eval(node.right, scope)
            return right if truth == is_and else left
        return self.boolean("and" if is_and else "or", left, self.eval(node.right, scope), node)

    def eval_UnaryOperation(self, node: cst.UnaryOperation, scope: Scope) -> Any:
        value = self.eval(node.expression, scope)
        if isinstance(node.operator, cst.Not):
            truth = self.truth(value)
            if truth is not None:
                return not truth
            return self.unary("not", value, node)
        if isinstance(node.operator, cst.Plus):
            return value
        return self.unary("-" if isinstance(node.operator, cst.Minus) else "~", value, node)

    def eval_Comparison(self, node: cst.Comparison, scope: Scope) -> Any:
        if len(node.comparisons) > 1 and not self.target.speaks("chained comparison"):
            self.fault(
                "unsupported-syntax", node, "a chained comparison is not supported in a kernel", "chained comparison"
            )
        return super().eval_Comparison(node, scope)

    def compare(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        a, b = _number(a), _number(b)
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
        x, y = _operand(a), _operand(b)
        if x is None or y is None:
            return Unknown("comparison")
        shape = self.common_shape(x, y, node)
        if shape is None:
            return Unknown("comparison")
        if x.dtype is not None and y.dtype is not None and not x.pointer and not y.pointer:
            self._result("==", a, b, x, y, (not isinstance(a, Typed), not isinstance(b, Typed)), node)
        tested = a if isinstance(b, int) else b if isinstance(a, int) else None
        return Typed(dt.BOOL, shape, tested=tested)

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, (Typed, Constexpr, BlockPointer, Expr)):
            return None
        if isinstance(value, Dtype):
            return True
        return super().truth(value)

    # -- control flow -----------------------------------------------------------------------------------------------

    def exec_If(self, node: cst.If, scope: Scope) -> None:
        self.choices += 1
        try:
            super().exec_If(node, scope)
        finally:
            self.choices -= 1

    def undecided(self, node: cst.If, test: Any, scope: Scope) -> None:
        if isinstance(test, Typed):
            self.demand_scalar_condition(test, node.test, "if")
            choices, self.choices = self.choices, 0
            try:
                self._runtime_if(node, scope)
            finally:
                self.choices = choices
        else:
            self._compile_time_if(node, test, scope)

    def demand_scalar_condition(self, test: Typed, node: cst.CSTNode, what: str) -> None:
        if any(extent != 1 for extent in test.shape):
            text = f"the condition of `{what}` is a block of shape {shape_text(test.shape)}; it must be one value"
            self.fault("block-condition", node, text)

    def _arms(
        self, node: cst.If, scope: Scope, before: dict[str, Any], switch: str = ""
    ) -> list[tuple[dict[str, Any], bool]]:
        """The variables at the end of each arm, and whether it returned; the first is compiled only where ``switch`` is set."""
        ends = []
        around = self.switch
        for arm in (node.body, node.orelse):
            scope.vars = dict(before)
            returned = False
            self.switch = around or (switch if arm is node.body else "")
            try:
                if isinstance(arm, cst.If):
                    self.exec_If(arm, scope)
                elif arm is not None:
                    self.run(arm.body.body if isinstance(arm, cst.Else) else arm.body, scope)
            except (Return, Raised, Break, Continue):
                returned = True
            ends.append((scope.vars, returned))
        self.switch = around
        return ends

    def _runtime_if(self, node: cst.If, scope: Scope) -> None:
        before = dict(scope.vars)
        ends = self._arms(node, scope, before)
        (then, then_returned), (other, other_returned) = ends
        if then_returned and other_returned:
            scope.vars = before
            raise Return(Unknown("branch"))
        merged = dict(before)
        for name in {**then, **other}:
            a, b = then.get(name), other.get(name)
            if name in before:
                start = before[name]
                for value, returned in ((a, then_returned), (b, other_returned)):
                    if value is not start and not returned and self._differ(start, value):
                        text = f"`{name}` is {_type(start)} before the run-time `if`, and {_type(value)} after one branch of it"
                        self.fault("branch-type", node, text, name)
                if then_returned or other_returned:
                    merged[name] = b if then_returned else a
                else:
                    merged[name] = self._joined(a, b)
            elif then_returned or other_returned:
                # The code generator forgets what only the arm that goes on defines; some releases keep it.
                value = b if then_returned else a
                if value is not None or name in (other if then_returned else then):
                    merged[name] = value
            elif name in then and name in other:
                if self._differ(a, b):
                    text = (
                        f"`{name}` is {_type(a)} after one branch of the run-time `if`, and {_type(b)} after the other"
                    )
                    self.fault("branch-type", node, text, name)
                merged[name] = self._joined(a, b)
        scope.vars = merged

    def _differ(self, a: Any, b: Any) -> bool:
        """Whether two values of a variable surely have two types."""
        if isinstance(a, Typed) and isinstance(b, Typed):
            return same_type(a, b) is False
        number, run_time = (a, b) if isinstance(b, Typed) else (b, a)
        # A tl.constexpr that becomes a run-time value.
        return isinstance(run_time, Typed) and is_constant(number)

    def _joined(self, a: Any, b: Any) -> Any:
        if a is b:
            return a
        if isinstance(a, Typed) and isinstance(b, Typed):
            agreed = same_type(a, b)
            if agreed is None:
                return _loose(a, b)
            return a if agreed else Unknown("branches")
        return a if same(a, b) else Unknown("branches")

    def _compile_time_if(self, node: cst.If, test: Any, scope: Scope) -> None:
        """Only one arm is compiled, and it is not known which."""
        before = dict(scope.vars)
        switch = test.switch if isinstance(test, Constexpr) else ""
        with self.doubt():
            ends = [(vars, returned) for vars, returned in self._arms(node, scope, before, switch) if not returned]
        if not ends:
            scope.vars = before
            raise Return(Unknown("branch"))
        merged = dict(ends[0][0])
        for other, _ in ends[1:]:
            for name, value in other.items():
                merged[name] = self._either(merged[name], value) if name in merged else value
        for name in merged:
            if any(name not in vars for vars, _ in ends):
                merged[name] = Unknown("maybe defined")
        scope.vars = merged

    def _either(self, a: Any, b: Any) -> Any:
        """One of two values, one of which the compiler sees."""
        if isinstance(a, Typed) and isinstance(b, Typed) and len(a.shape) == len(b.shape):
            return a if a == b else _loose(a, b)
        if is_constant(a) and is_constant(b):
            return a if same(a, b) else Constexpr(True)
        return a if same(a, b) else Unknown("either")

    def eval_IfExp(self, node: cst.IfExp, scope: Scope) -> Any:
        test = self.eval(node.test, scope)
        truth = self.truth(test)
        if truth is not None:
            return self.eval(node.body if truth else node.orelse, scope)
        if not isinstance(test, Typed):
            with self.doubt():
                return self._either(self.eval(node.body, scope), self.eval(node.orelse, scope))
        self.demand_scalar_condition(test, node.test, "a conditional expression")
        a, b = tensor(self.eval(node.body, scope)), tensor(self.eval(node.orelse, scope))
        if isinstance(a, Typed) and isinstance(b, Typed) and same_type(a, b) is False and not any(test.shape):
            text = f"the two values of a conditional expression on a run-time condition have types {a} and {b}"
            return self.fault("branch-type", node, text)
        return self._joined(a, b) if isinstance(a, Typed) and isinstance(b, Typed) else Unknown("choice")

    def exec_For(self, node: cst.For, scope: Scope) -> None:
        if not isinstance(node.iter, cst.Call):
            if not isinstance(self.eval(node.iter, scope), Unknown):
                text = "a kernel loops only over range, tl.range or tl.static_range"
                self.fault("unsupported-syntax", node.iter, text, "For")
            self._carry(node.body.body, scope, node.target, Unknown("item"))
            return
        iterable = self.eval(node.iter, scope)
        if isinstance(iterable, tl_types.Range):
            if iterable.static:
                self._unrolled(node, iterable, scope)
            else:
                self._carry(node.body.body, scope, node.target, Typed(iterable.dtype))
        else:
            if isinstance(iterable, (tuple, Typed)):
                text = "a kernel loops only over range, tl.range or tl.static_range"
                self.fault("unsupported-syntax", node.iter, text, "For")
            with self.doubt():
                self._carry(node.body.body, scope, node.target, Unknown("item"))
        if node.orelse is not None:
            self.fault(
                "unsupported-syntax", node.orelse, "`else` after a loop is not supported in a kernel", "For.orelse"
            )

    def _unrolled(self, node: cst.For, iterable: tl_types.Range, scope: Scope) -> None:
        values = iterable.values()
        if values is None:
            # At least one iteration, at most any number: twice shows what the second finds different.
            with self.doubt():
                self.assign(node.target, Constexpr(True), scope)
                self._iteration(node.body.body, scope)
            return
        for value in values[: tl_types.MAX_UNROLLED]:
            self.assign(node.target, value, scope)
            self._iteration(node.body.body, scope)

    def _iteration(self, body: Any, scope: Scope) -> None:
        with suppress(Break, Continue):
            self.run(body, scope)

    def _carry(self, body: Any, scope: Scope, target: cst.BaseExpression | None, item: Any) -> None:
        """A loop that the compiler keeps: what it assigns must have one type, before it and after each iteration."""
        before = dict(scope.vars)
        if target is not None:
            self.assign(target, item, scope)
            before = dict(scope.vars)
        self._iteration(body, scope)
        end = scope.vars
        start = dict(before)
        for name, value in end.items():
            if name not in before or value is before[name]:
                continue
            first = before[name]
            if self._differ(first, value):
                self._carried_fault(name, first, value, body)
                start[name] = Unknown("carried")
            elif isinstance(first, Typed) and isinstance(value, Typed):
                start[name] = self._joined(first, value)
            elif not same(first, value):
                start[name] = Unknown("carried")
        if any(start[name] is not before[name] and start[name] != before[name] for name in start):
            scope.vars = dict(start)
            self._iteration(body, scope)
        scope.vars = start

    def _carried_fault(self, name: str, first: Any, value: Any, body: Any) -> None:
        node = assignment(body, name) or body[0]
        if isinstance(first, Typed):
            text = f"`{name}` is {_type(first)} before the loop and {_type(value)} after an iteration; it must keep one type"
        else:
            text = f"`{name}` is a tl.constexpr; a loop cannot reassign it"
        self.fault("loop-carried-type", node, text, name)

    def exec_While(self, node: cst.While, scope: Scope) -> None:
        test = self.eval(node.test, scope)
        if isinstance(test, (bool, int)):
            text = "the condition of `while` is a compile-time constant; it must be a run-time value"
            self.fault("constant-while", node.test, text)
        elif isinstance(test, Typed):
            self.demand_scalar_condition(test, node.test, "while")
        self._carry(node.body.body, scope, None, None)

    # -- attributes, indices, calls ---------------------------------------------------------------------------------

    def getattr(self, value: Any, name: str, node: cst.CSTNode) -> Any:
        if isinstance(value, Namespace):
            return self._external(value, name, node)
        if isinstance(value, Typed):
            return self._attribute(value, name, node)
        if isinstance(value, BlockPointer):
            return tl_types.block_pointer_attribute(self, value, name, node)
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

    def _external(self, value: Namespace, name: str, node: cst.CSTNode) -> Any:
        path = f"{value.path}.{name}"
        if not path.startswith("triton"):
            if path.startswith("math.") and name in ("pi", "e", "inf", "nan", "tau"):
                return float("nan") if name == "nan" else 3.14
            return Namespace(path)
        if self.target.has(path) is False:
            return self.missing(path, node)
        change = self.target.change(path)
        if change is not None and self.target.deprecated(change):
            shown = path.replace("triton.language", "tl", 1)
            self.fault("deprecated-name", node, f"`{shown}` is deprecated; use {change.replacement}", path)
        if value.path in ("triton.language", "triton.language.core"):
            found = tl_types.constant(name)
            if found is not None:
                return found
        return Namespace(path)

    def missing(self, path: str, node: cst.CSTNode) -> Unknown:
        """A name that the target release does not have, unless the module puts it there itself, as for an extension."""
        if path in self.module.once(_names_set):
            return Unknown("a name that the module sets")
        shown = path.replace("triton.language", "tl", 1)
        if not self.target.ever(path):
            return self.fault("missing-name", node, f"`{shown}` does not exist", path)
        since = None if self.target.named else self.target.gone_since(path)
        text = f"`{shown}` does not exist " + (f"since Triton {since}" if since else f"in Triton {self.target.release}")
        change, moved = self.target.change(path), self.target.moved(path)
        if change is not None or moved is not None:
            text += f"; use {change.replacement if change is not None else moved}"
        return self.fault("removed-name", node, text, path)

    def _attribute(self, value: Typed, name: str, node: cst.CSTNode) -> Any:
        if name in ("dtype", "type"):
            if value.pointer is not False:
                return Unknown("pointer type")
            return value.dtype if value.dtype is not None and name == "dtype" else Unknown(name)
        if name == "shape":
            return tuple(Constexpr(True) if extent is None else extent for extent in value.shape)
        if name == "numel":
            return Unknown(name)
        if name == "T":
            return tl_types.call(self, "trans", [value], {}, node)
        if name == "to" and value.argument and value.pointer is not True:
            return Builtin(name, lambda a, k, n: self._cast_argument(value, a, k, n))
        if value.argument and name in _DESCRIPTOR:
            return Unknown("descriptor")
        if self.lacks(value, name):
            text = f"a tensor has no `{name}`"
            if self.target.ever(f"triton.language.tensor.{name}"):
                text += f" in Triton {self.target.release}"
            return self.fault("missing-attribute", node, text, name)
        return Builtin(name, lambda a, k, n: self._call_method(name, [value, *a], k, n))

    def lacks(self, value: Typed, name: Any) -> bool:
        """Whether a tensor, which ``value`` is, surely has no attribute ``name``."""
        if not isinstance(name, str) or name in _ATTRIBUTES or name.startswith("__"):
            return False
        if value.argument and (name == "to" or name in _DESCRIPTOR):
            return False  # the argument may be a number or a descriptor
        return self.target.has(f"triton.language.tensor.{name}") is not True

    def _call_method(self, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        """``x.sum(axis=0)``, which is ``tl.sum(x, axis=0)`` and takes what that does."""
        if isinstance(node, cst.Call) and not self._check_call(f"triton.language.{name}", args, kwargs, node):
            return Unknown(name)
        return tl_types.call(self, name, args, kwargs, node)

    def _cast_argument(self, value: Typed, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        """``argument.to(...)``: an integer argument of value 1 is a compile-time constant, which has no method."""
        given, dtype, name = (
            self.arguments.get(value.argument),
            args[0] if args else kwargs.get("dtype"),
            value.argument,
        )
        number = given.value if isinstance(given, Expr) else given
        # Of an argument whose value no source shows, a cast to an integer type says that it is one.
        integer = isinstance(number, int) or (isinstance(dtype, Dtype) and dtype.is_integer)
        integer = integer and value.argument not in self.unspecialised
        if integer and not isinstance(given, bool) and (number == 1 or not isinstance(number, (int, float))):
            text = f"`{name}` is a compile-time constant when it is 1, which has no `.to`; use tl.cast({name}, ...)"
            self.fault("specialised-scalar", node, text, name, certain=number == 1)
        return tl_types.call(self, "to", [value, *args], kwargs, node)

    def subscript(self, value: Any, index: Any, node: cst.CSTNode) -> Any:
        if isinstance(value, Typed) and value.is_open_argument:
            return Unknown("item of an argument")  # it may be a tuple
        if isinstance(value, Typed):
            return self._view(value, index if isinstance(index, tuple) else (index,), node)
        if isinstance(value, tuple):
            if isinstance(index, bool) or not isinstance(index, (int, slice)):
                return Unknown("index")
            try:
                return super().subscript(value, index, node)
            except Raised:
                return Unknown("index")
        return Unknown("subscript")

    def _view(self, value: Typed, index: tuple[Any, ...], node: cst.CSTNode) -> Any:
        """``x[:, None]``: the only index that a tensor takes."""
        shape = list(value.shape)
        for dim, part in enumerate(index):
            if part is None:
                if dim > len(shape):
                    text = f"a new axis {dim} does not fit a block of {len(value.shape)} dimensions"
                    return self.fault("tensor-rank", node, text)
                shape.insert(dim, 1)
            elif isinstance(part, Unknown):
                return Unknown("index")
            elif not (isinstance(part, slice) and part == slice(None, None, None)):
                text = f"a tensor is indexed only by None and `:`; {_index(part)} selects elements"
                return self.fault("tensor-index", node, text)
        return Typed(value.dtype, tuple(shape), value.pointer)

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, Jit):
            with self.doubt() if function.either else nullcontext():
                return self._call_jit(function.function, args, kwargs, node)
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
            return self._call_external(function.path, args, kwargs, node)
        if isinstance(function, Typed):
            return self.fault("host-function", node, f"`{self.code(node.func)[:60]}` is a tensor and cannot be called")
        return Unknown("call")

    def _call_external(self, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        head, _, name = path.rpartition(".")
        if head == "builtins":
            return tl_types.builtin(self, name, args, kwargs, node)
        if path in ("triton.language.range", "triton.language.static_range"):
            return tl_types.range_of(self, path, args, kwargs, node)
        if path.startswith("triton.language"):
            if not self._check_call(path, args, kwargs, node):
                return Unknown(name)
            return tl_types.call(self, name, args, kwargs, node, path)
        if path.startswith("triton."):
            return self._host_helper(path, args, node)
        if path.startswith("torch._inductor."):
            return Unknown(path)  # its runtime has jit functions of its own, and passes Triton's libdevice on
        if path.split(".")[0] in ("torch", "math", "numpy"):
            values = [*args, *kwargs.values()]
            if any(isinstance(v, Typed) for v in values) or (path.startswith("torch.") and values):
                return self.fault("host-function", node, f"`{path}` runs in Python; a kernel cannot call it", path)
        return Unknown(path)

    def _host_helper(self, path: str, args: list[Any], node: cst.Call) -> Any:
        """``triton.cdiv`` and the like: Python functions, which take compile-time constants only."""
        if path in ("triton.cdiv", "triton.next_power_of_2"):
            if any(isinstance(a, Typed) for a in args):
                name = path.rpartition(".")[2]
                text = f"`{path}` is a Python function and takes no run-time value; use tl.{name}"
                return self.fault("host-function", node, text, path)
            return Constexpr(True)
        return Unknown(path)

    def _check_call(self, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> bool:
        """Whether the arguments fit the parameters that the target release gives the function."""
        parameters = self.target.parameters(path)
        if parameters is None or any(a.star for a in node.args):
            return True
        shown = path.replace("triton.language", "tl", 1)
        names = [p.rstrip("!") for p in parameters]
        for keyword in kwargs:
            if keyword in ("boundary_check", "padding_option") and args and isinstance(args[0], Unknown):
                continue  # said where the block pointer is made
            if keyword not in names and "**" not in names:
                self._unexpected(path, shown, keyword, node)
                return False
        for keyword in kwargs:
            change = self.target.change(path, keyword)
            if change is not None and change.deprecated and self.target.deprecated(change):
                text = f"`{keyword}` of `{shown}` is deprecated; use {change.replacement}"
                self.fault("deprecated-parameter", _argument(node, keyword), text, f"{path}({keyword}=)")
        if "*" in names:
            return True
        positional = [n for n in names if n not in ("*", "**")]
        if len(args) > len(positional):
            self.fault("bad-call", node, f"`{shown}` takes {len(positional)} arguments; {len(args)} are given", path)
            return False
        given = {*positional[: len(args)], *kwargs}
        for keyword in kwargs:
            if keyword in positional[: len(args)]:
                self.fault("bad-call", node, f"`{shown}` is given `{keyword}` twice", path)
                return False
        for parameter in parameters:
            if parameter.endswith("!") and parameter[:-1] not in given:
                self.fault("bad-call", node, f"`{shown}` is called without `{parameter[:-1]}`", path)
                return False
        return True

    def _unexpected(self, path: str, shown: str, keyword: str, node: cst.Call) -> None:
        change = self.target.change(path, keyword)
        if change is not None:
            since = None if self.target.named else self.target.gone_since(path, keyword)
            text = f"`{shown}` has no `{keyword}` " + (
                f"since Triton {since}" if since else f"in Triton {self.target.release}"
            )
            self.fault("removed-parameter", _argument(node, keyword), text, f"{path}({keyword}=)")
        else:
            self.fault("bad-call", _argument(node, keyword), f"`{shown}` has no parameter `{keyword}`", path)

    def _call_jit(self, function: Function, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if any(f.node is function.node for f in self.calls):
            text = f"`{function.name}` calls itself; the compiler inlines it without end"
            return self.fault("recursion", node, text, function.name)
        assert isinstance(function.node, cst.FunctionDef)
        problem = None if any(a.star for a in node.args) else binding_problem(function.node, args, kwargs)
        if problem:
            return self.fault("bad-call", node, f"`{function.name}` {problem}", function.name)
        return self._returned(self.invoke(function, args, kwargs))

    def _returned(self, value: Any) -> Any:
        """A returned number becomes a run-time value."""
        if isinstance(value, tuple):
            return tuple(self._returned(v) for v in value)
        return tensor(value)


def _names_set(module: Module) -> frozenset[str]:
    """The dotted origins of the attributes that ``module`` assigns: ``tl.slice = f`` gives triton.language.slice."""
    targets = (target.target for statement in module.of(cst.Assign) for target in statement.targets)
    origins = (origin_of(target, module.imports) for target in targets if isinstance(target, cst.Attribute))
    return frozenset(origin for origin in origins if origin is not None)


def check_kernel(
    jit: Jit, arguments: Mapping[str, Any], constexprs: Mapping[str, Any], target: Target, bare: bool = False
) -> tuple[Fault, ...]:
    """What the front end of ``target`` refuses of the kernel when launched with these arguments.

    ``arguments`` are host values by name (Tensor, int, Expr, float, None ...), ``constexprs`` the ``tl.constexpr`` ones.
    ``bare`` says that no launch is known: neither then is any of the values.
    """
    function = jit.function
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    if is_template(node, function.module):
        return ()
    typed = {p.name.value for p in parameters(node) if p.annotation is not None}
    front = FrontEnd(target, arguments, frozenset({*jit.unspecialised, *typed}))
    scope = Scope(function.closure)
    anything = bare and not is_entry(node, function.module)
    for name, value in arguments.items():
        scope.vars[name] = Unknown(name) if anything else _from_host(name, value, bare)
    made = {*jit.heuristics, *(name for config in jit.configs for name in config.kwargs)}
    for name, value in constexprs.items():
        switch = name if bare and value is False and name not in made and not jit.open_ended else ""
        unknown = bare or isinstance(value, (Unknown, Expr))
        scope.vars[name] = Constexpr(switch=switch) if unknown else _constant(value)
    front.modules.append(function.module)
    front.calls.append(function)
    with suppress(Return, Raised, Break, Continue, OutOfBudget, RecursionError):
        front.run(node.body.body, scope)
    front.count()
    return tuple(front.found.values())


def _from_host(name: str, value: Any, bare: bool) -> Any:
    """A run-time argument as the kernel sees it."""
    if isinstance(value, Tensor):
        # An argument of the entry of which only the name is known may be anything.
        return Typed(value.dtype, (), True if value.dtype is not None or value.shape is not None else None, name)
    if value is None or isinstance(value, (str, Dtype, Jit, Function)):
        return value
    if isinstance(value, bool):
        return Typed(dt.BOOL, argument=name)
    if isinstance(value, int):
        return Typed(literal(value), argument=name)
    if isinstance(value, (float, OpenFloat)):
        return Typed(dt.FLOAT32, argument=name)
    if isinstance(value, Expr):
        return Typed(None, argument=name)
    if isinstance(value, (tuple, list)):
        # Numbers may be constants, by ``tl.constexpr(...)``, and what no source shows a tuple itself or a descriptor.
        return tuple(
            _from_host("", v, bare) if isinstance(v, (Tensor, tuple, list)) else Unknown("item") for v in value
        )
    if isinstance(value, Unknown) and (bare or value.reason != "missing argument"):
        return Typed(None, (), None, name)
    return Unknown(name)


def _constant(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_constant(v) for v in value)
    if is_concrete(value) or isinstance(value, (Dtype, Jit, Function)):
        return int(value) if type(value) is not bool and isinstance(value, int) else value
    return Constexpr()


# -- helpers ------------------------------------------------------------------------------------------------------------

_PYTHON_BUILTINS = frozenset(
    "abs all any bool bytes callable chr complex dict divmod enumerate filter format frozenset hasattr hash id iter map "
    "next object ord pow repr reversed round set slice sorted str sum super tuple type vars zip".split()
)


def _number(value: Any) -> Any:
    """An integer literal of the source as a plain number."""
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _operand(value: Any) -> Typed | None:
    if isinstance(value, Typed):
        return value
    if isinstance(value, Constexpr):
        return Typed(None)
    if isinstance(value, (bool, int, float)):
        return Typed(literal(value))
    return None


def _loose(a: Typed, b: Typed) -> Typed:
    """What two values of one rank surely have in common."""
    return Typed(
        a.dtype if a.dtype == b.dtype else None,
        tuple(x if x == y else None for x, y in zip(a.shape, b.shape)),
        a.pointer if a.pointer == b.pointer else None,
    )


def _type(value: Any) -> str:
    return (
        str(value) if isinstance(value, Typed) else f"the constant {value!r}" if is_constant(value) else "another type"
    )


def _index(part: Any) -> str:
    if isinstance(part, slice):
        return "a slice with bounds"
    return f"`{part}`" if isinstance(part, int) else "an index"


def _argument(node: cst.CSTNode, keyword: str) -> cst.CSTNode:
    """The argument of a call that is given by ``keyword``."""
    for arg in getattr(node, "args", ()):
        if arg.keyword is not None and arg.keyword.value == keyword:
            return arg
    return node
