"""Python's own semantics on abstract values: expressions, assignments, control flow, calls of functions in view.

:class:`Evaluator` knows no torch and no Triton. The host and the kernel evaluators derive from it and say what their
values do; what neither knows becomes :class:`~kernlint.interpret.values.Unknown`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, ClassVar

import libcst as cst

from kernlint import work
from kernlint.interpret.edits import NO_EDITS, Edits, Literal
from kernlint.interpret.trace import Values
from kernlint.interpret.values import (
    MAX_ITEMS,
    Builtin,
    Class,
    Comparison,
    Condition,
    Function,
    Instance,
    Jit,
    Namespace,
    Presumed,
    Rest,
    Scope,
    Unknown,
    is_concrete,
    is_huge,
    weight,
)
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Span
from kernlint.workload import expr as ex
from kernlint.workload.expr import Expr

MAX_DEPTH = 40
MAX_UNROLL = 4096

#: Bits of the largest integer and length of the longest symbolic one that are computed with. Programs stay below; a float
#: still holds such a number, and neither its text nor the next product costs time.
MAX_BITS = 512
MAX_LENGTH = 20_000

#: Items of a sequence that are handled at the price of one step.
_ITEMS_A_STEP = 64


class Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Raised(Exception):
    """The analysed program raises here."""


class OutOfBudget(Exception):
    """The program is too long to follow to its end."""


BINARY: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    cst.Add: ("+", operator.add),
    cst.Subtract: ("-", operator.sub),
    cst.Multiply: ("*", operator.mul),
    cst.Divide: ("/", operator.truediv),
    cst.FloorDivide: ("//", operator.floordiv),
    cst.Modulo: ("%", operator.mod),
    cst.Power: ("**", operator.pow),
    cst.LeftShift: ("<<", operator.lshift),
    cst.RightShift: (">>", operator.rshift),
    cst.BitAnd: ("&", operator.and_),
    cst.BitOr: ("|", operator.or_),
    cst.BitXor: ("^", operator.xor),
    cst.MatrixMultiply: ("@", operator.matmul),
}

AUGMENTED: dict[type, type] = {
    cst.AddAssign: cst.Add,
    cst.SubtractAssign: cst.Subtract,
    cst.MultiplyAssign: cst.Multiply,
    cst.DivideAssign: cst.Divide,
    cst.FloorDivideAssign: cst.FloorDivide,
    cst.ModuloAssign: cst.Modulo,
    cst.PowerAssign: cst.Power,
    cst.LeftShiftAssign: cst.LeftShift,
    cst.RightShiftAssign: cst.RightShift,
    cst.BitAndAssign: cst.BitAnd,
    cst.BitOrAssign: cst.BitOr,
    cst.BitXorAssign: cst.BitXor,
    cst.MatrixMultiplyAssign: cst.MatrixMultiply,
}


def sign_of(operator: cst.CSTNode) -> str:
    """``+`` of ``cst.Add`` and ``cst.AddAssign``, and so on."""
    kind = type(operator)
    return BINARY[AUGMENTED.get(kind, kind)][0]


COMPARE: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    cst.LessThan: ("<", operator.lt),
    cst.LessThanEqual: ("<=", operator.le),
    cst.GreaterThan: (">", operator.gt),
    cst.GreaterThanEqual: (">=", operator.ge),
    cst.Equal: ("==", operator.eq),
    cst.NotEqual: ("!=", operator.ne),
    cst.In: ("in", lambda a, b: a in b),
    cst.NotIn: ("not in", lambda a, b: a not in b),
    cst.Is: ("is", operator.is_),
    cst.IsNot: ("is not", operator.is_not),
}


class _Methods(dict[type, Any]):
    """The methods of an evaluator by the class of node that they are for: ``eval_Name`` for a ``cst.Name``."""

    def __init__(self, owner: type, prefix: str) -> None:
        super().__init__()
        self.owner = owner
        self.prefix = prefix

    def __missing__(self, kind: type) -> Any:
        method = self[kind] = getattr(self.owner, self.prefix + kind.__name__, None)
        return method


class Evaluator:
    """Evaluates LibCST expressions and statements of one program on abstract values."""

    _eval: ClassVar[_Methods]
    _exec: ClassVar[_Methods]

    def __init_subclass__(cls) -> None:
        cls._eval, cls._exec = _Methods(cls, "eval_"), _Methods(cls, "exec_")

    def __init__(self, budget: int = 400_000, edits: Edits = NO_EDITS) -> None:
        self.edits = edits
        self.new_literals = dict(edits.literals)
        self.budget = self._budget_counted = budget
        self.calls: list[Function] = []
        #: How many ``try`` statements are there to catch what is raised now.
        self.guarded = 0
        #: How many of them carry on whatever a kernel raises that does not compile or start.
        self.tried = 0
        #: Conditions that were met whose outcome is not known.
        self.open_choices = 0
        self.modules: list[Module] = []
        #: Scopes that functions and classes refer to, which they in turn refer to by name.
        self.captured: list[Scope] = []
        #: Where the values of expressions and names are kept, if somebody wants to know them.
        self.seen: Values | None = None

    # -- the environment --------------------------------------------------------------------------------------------

    @property
    def module(self) -> Module:
        return self.modules[-1]

    def span(self, node: cst.CSTNode) -> Span:
        return self.module.span(node)

    def code(self, node: cst.CSTNode) -> str:
        """The source of an expression in one line, or the beginning of it."""
        return " ".join(self.module.code(node).split())[:80]

    @property
    def symbol(self) -> str:
        """The function being evaluated, as people name it."""
        return self.calls[-1].symbol if self.calls else "<module>"

    def spend(self, amount: int = 1) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise OutOfBudget

    def limited(self, value: Any) -> Any:
        """``value`` where it is handed on, to be looked at as a whole: Unknown in place of a huge one."""
        if not isinstance(value, (tuple, list, dict)):
            return value
        items = weight(value)
        self.spend(items // _ITEMS_A_STEP)
        return value if items <= MAX_ITEMS else Unknown("huge value")

    def count(self) -> None:
        """Count what was evaluated since this was last asked as work done."""
        work.spend(max(0, self._budget_counted - self.budget))
        self._budget_counted = self.budget

    # -- expressions ------------------------------------------------------------------------------------------------

    def eval(self, node: cst.BaseExpression, scope: Scope) -> Any:
        self.budget -= 1  # as `spend` does, which is dear here
        if self.budget < 0:
            raise OutOfBudget
        method = self._eval[type(node)]
        value = method(self, node, scope) if method is not None else Unknown(type(node).__name__)
        if self.seen is not None:
            self.seen[node] = value
        return value

    def eval_Name(self, node: cst.Name, scope: Scope) -> Any:
        if node.value in _SINGLETONS:
            return _SINGLETONS[node.value]
        try:
            return scope.lookup(node.value)
        except KeyError:
            return self.missing_name(node.value, node)

    def missing_name(self, name: str, node: cst.CSTNode) -> Any:
        return Namespace("builtins." + name) if name in _BUILTIN_NAMES else Unknown(f"name {name}")

    def eval_Integer(self, node: cst.Integer, scope: Scope) -> Any:
        value = _literal(node.value)
        if not isinstance(value, int) or value < 8:
            return value  # no tile, warp or stage count that anybody would edit through its literal
        span = self.span(node)
        return Literal(self.new_literals.get(span, value), span)

    def eval_Float(self, node: cst.Float, scope: Scope) -> Any:
        return _literal(node.value)

    def eval_SimpleString(self, node: cst.SimpleString, scope: Scope) -> Any:
        return _literal(node.value)

    def eval_ConcatenatedString(self, node: cst.ConcatenatedString, scope: Scope) -> Any:
        left, right = self.eval(node.left, scope), self.eval(node.right, scope)
        return bounded(left + right) if isinstance(left, str) and isinstance(right, str) else Unknown("string")

    def eval_FormattedString(self, node: cst.FormattedString, scope: Scope) -> Any:
        return Unknown("formatted string")

    def eval_Ellipsis(self, node: cst.Ellipsis, scope: Scope) -> Any:
        return ...

    def eval_Tuple(self, node: cst.Tuple, scope: Scope) -> Any:
        return self.limited(tuple(self._elements(node.elements, scope)))

    def eval_List(self, node: cst.List, scope: Scope) -> Any:
        return self.limited(self._elements(node.elements, scope))

    def eval_Set(self, node: cst.Set, scope: Scope) -> Any:
        return self.limited(self._elements(node.elements, scope))

    def _elements(self, elements: Sequence[cst.BaseElement], scope: Scope) -> list[Any]:
        values: list[Any] = []
        for element in elements:
            value = self.eval(element.value, scope)
            if type(element) is cst.StarredElement:
                items = self.iterate(value)
                values.extend(items if items is not None else [Rest()])
            else:
                values.append(value)
        return values

    def eval_Dict(self, node: cst.Dict, scope: Scope) -> Any:
        result: dict[Any, Any] = {}
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                key = self.eval(element.key, scope)
                value = self.eval(element.value, scope)
                if isinstance(key, Dtype) or (isinstance(key, (str, int, float, bool, tuple)) and is_concrete(key)):
                    result[key] = value
            else:
                value = self.eval(element.value, scope)
                if isinstance(value, dict):
                    result.update(value)
        return self.limited(result)

    def eval_BinaryOperation(self, node: cst.BinaryOperation, scope: Scope) -> Any:
        # A chain such as a + b + c + ... nests to the left; walk it in a loop so that its length costs no stack.
        chain = [node]
        first = node.left
        while type(first) is cst.BinaryOperation:
            chain.append(first)
            first = first.left
        value = self.eval(first, scope)
        for link in reversed(chain):
            name, function = BINARY[type(link.operator)]
            value = self.limited(self.binary(name, function, value, self.eval(link.right, scope), link))
            if self.seen is not None:
                self.seen[link] = value
        return value

    def eval_UnaryOperation(self, node: cst.UnaryOperation, scope: Scope) -> Any:
        value = self.eval(node.expression, scope)
        if isinstance(node.operator, cst.Not):
            if isinstance(value, Presumed):
                return Presumed(not value)
            truth = self.truth(value)
            return (not truth) if truth is not None else self.unary("not", value, node)
        if isinstance(node.operator, cst.Plus):
            return value
        return self.unary("-" if isinstance(node.operator, cst.Minus) else "~", value, node)

    def eval_BooleanOperation(self, node: cst.BooleanOperation, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        truth = self.truth(left)
        is_and = isinstance(node.operator, cst.And)
        if truth is not None:
            return self.eval(node.right, scope) if truth == is_and else left
        self.open_choices += 1
        right = self.eval(node.right, scope)
        return self.boolean("and" if is_and else "or", left, right, node)

    def eval_Comparison(self, node: cst.Comparison, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        result: Any = True
        for target in node.comparisons:
            right = self.eval(target.comparator, scope)
            name, function = COMPARE[type(target.operator)]
            outcome = self.compare(name, function, left, right, node)
            result = outcome if result is True else self.boolean("and", result, outcome, node)
            if self.truth(outcome) is False:
                return False
            left = right
        return result

    def eval_IfExp(self, node: cst.IfExp, scope: Scope) -> Any:
        test = self.eval(node.test, scope)
        self.tested(test, node.test)
        truth = self.truth(test)
        if truth is None:
            self.open_choices += 1
            body, orelse = self.eval(node.body, scope), self.eval(node.orelse, scope)
            return self.merge(body, orelse, test, node)
        return self.eval(node.body if truth else node.orelse, scope)

    def eval_Lambda(self, node: cst.Lambda, scope: Scope) -> Any:
        self.captured.append(scope)
        return Function("<lambda>", node, self.module, scope)

    def eval_NamedExpr(self, node: cst.NamedExpr, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        self.assign(node.target, value, scope)
        return value

    def eval_Attribute(self, node: cst.Attribute, scope: Scope) -> Any:
        return self.getattr(self.eval(node.value, scope), node.attr.value, node)

    def eval_Subscript(self, node: cst.Subscript, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        return self.subscript(value, self.eval_index(node, scope), node)

    def eval_index(self, node: cst.Subscript, scope: Scope) -> Any:
        indices = []
        for element in node.slice:
            if type(element.slice) is cst.Index:
                value = self.eval(element.slice.value, scope)
                if element.slice.star:
                    indices.extend(self.iterate(value) or [Unknown("starred index")])
                else:
                    indices.append(value)
            else:
                assert isinstance(element.slice, cst.Slice)
                parts = (element.slice.lower, element.slice.upper, element.slice.step)
                indices.append(slice(*(self.eval(part, scope) if part is not None else None for part in parts)))
        single = len(indices) == 1 and type(node.slice[-1].comma) is not cst.Comma
        return indices[0] if single else tuple(indices)

    def eval_Call(self, node: cst.Call, scope: Scope) -> Any:
        function = self.eval(node.func, scope)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for arg in node.args:
            value = self.limited(self.eval(arg.value, scope))
            if arg.star == "*":
                items = self.iterate(value)
                args.extend(items if items is not None else [Rest()])
            elif arg.star == "**":
                if isinstance(value, dict):
                    kwargs.update({str(k): v for k, v in value.items()})
            elif arg.keyword is not None:
                kwargs[arg.keyword.value] = value
            else:
                args.append(value)
        return self.call(function, args, kwargs, node)

    def eval_ListComp(self, node: cst.ListComp, scope: Scope) -> Any:
        result: list[Any] = []
        done = self._comprehend(node.for_in, Scope(scope), lambda inner: result.append(self.eval(node.elt, inner)))
        return self.limited(result) if done else Unknown("comprehension")

    eval_GeneratorExp = eval_ListComp
    eval_SetComp = eval_ListComp

    def eval_DictComp(self, node: cst.DictComp, scope: Scope) -> Any:
        result: dict[Any, Any] = {}

        def add(inner: Scope) -> None:
            key = self.eval(node.key, inner)
            if is_concrete(key) and not isinstance(key, list):
                result[key] = self.eval(node.value, inner)

        done = self._comprehend(node.for_in, Scope(scope), add)
        return self.limited(result) if done else Unknown("comprehension")

    def _comprehend(self, clause: cst.CompFor, scope: Scope, emit: Callable[[Scope], None]) -> bool:
        items = self.iterate(self.eval(clause.iter, scope))
        if items is None:
            return False
        for item in items:
            self.spend()
            self.assign(clause.target, item, scope)
            if any(self.truth(self.eval(test.test, scope)) is False for test in clause.ifs):
                continue
            if clause.inner_for_in is None:
                emit(scope)
            elif not self._comprehend(clause.inner_for_in, scope, emit):
                return False
        return True

    # -- statements -------------------------------------------------------------------------------------------------

    def run(self, body: Sequence[cst.CSTNode], scope: Scope) -> None:
        for statement in body:
            self.execute(statement, scope)

    def execute(self, node: cst.CSTNode, scope: Scope) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise OutOfBudget
        method = self._exec[type(node)]
        if method is not None:
            method(self, node, scope)

    def exec_SimpleStatementLine(self, node: cst.SimpleStatementLine, scope: Scope) -> None:
        for statement in node.body:
            self.execute(statement, scope)

    def exec_IndentedBlock(self, node: cst.BaseSuite, scope: Scope) -> None:
        self.run(node.body, scope)

    exec_SimpleStatementSuite = exec_IndentedBlock

    def exec_Expr(self, node: cst.Expr, scope: Scope) -> None:
        self.eval(node.value, scope)

    def exec_Assign(self, node: cst.Assign, scope: Scope) -> None:
        value = self.eval(node.value, scope)
        for target in node.targets:
            self.assign(target.target, value, scope)

    def exec_AnnAssign(self, node: cst.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value, scope), scope)

    def exec_AugAssign(self, node: cst.AugAssign, scope: Scope) -> None:
        name, function = BINARY[AUGMENTED[type(node.operator)]]
        current = self.eval(node.target, scope)
        value = self.augmented(name, function, current, self.eval(node.value, scope), node)
        self.assign(node.target, value, scope)

    def augmented(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        return self.binary(name, function, a, b, node)

    def assign(self, target: cst.BaseExpression, value: Any, scope: Scope) -> None:
        if type(target) is cst.Name:
            value = self.named(target.value, value)
            scope.assign(target.value, value)
            if self.seen is not None:
                self.seen[target] = value
        elif type(target) is cst.Attribute:
            owner = self.eval(target.value, scope)
            if isinstance(owner, Instance):
                self.setattr(owner, target.attr.value, self.named(target.attr.value, value))
        elif type(target) is cst.Subscript:
            self.setitem(self.eval(target.value, scope), self.eval_index(target, scope), value, target)
        elif isinstance(target, (cst.Tuple, cst.List)):
            self._unpack(target.elements, value, scope)

    def _unpack(self, elements: Sequence[cst.BaseElement], value: Any, scope: Scope) -> None:
        items = self.unpack(value, len(elements), any(type(e) is cst.StarredElement for e in elements))
        if items is None:
            items = [Unknown("unpacked")] * len(elements)
        star = next((i for i, e in enumerate(elements) if type(e) is cst.StarredElement), None)
        if star is not None:
            tail = len(elements) - star - 1
            items = [*items[:star], items[star : len(items) - tail], *items[len(items) - tail :]]
        for element, item in zip(elements, items):
            self.assign(element.value, item, scope)

    def unpack(self, value: Any, count: int, starred: bool) -> list[Any] | None:
        return self.iterate(value)

    def named(self, name: str, value: Any) -> Any:
        return value

    def setattr(self, owner: Instance, name: str, value: Any) -> None:
        owner.attrs[name] = value

    def setitem(self, container: Any, index: Any, value: Any, node: cst.CSTNode) -> None:
        if isinstance(container, (dict, list)) and is_concrete(index) and not isinstance(index, slice):
            with suppress(IndexError, TypeError):
                container[index] = value

    def exec_Return(self, node: cst.Return, scope: Scope) -> None:
        raise Return(self.eval(node.value, scope) if node.value is not None else None)

    def exec_Raise(self, node: cst.Raise, scope: Scope) -> None:
        raise Raised

    def exec_Break(self, node: cst.Break, scope: Scope) -> None:
        raise Break

    def exec_Continue(self, node: cst.Continue, scope: Scope) -> None:
        raise Continue

    def exec_Assert(self, node: cst.Assert, scope: Scope) -> None:
        self.eval(node.test, scope)

    def exec_Global(self, node: cst.Global | cst.Nonlocal, scope: Scope) -> None:
        scope.nonlocals.update(item.name.value for item in node.names)

    exec_Nonlocal = exec_Global

    def exec_If(self, node: cst.If, scope: Scope) -> None:
        test = self.eval(node.test, scope)
        self.tested(test, node.test)
        truth = self.truth(test)
        if truth is None:
            self.open_choices += 1
            self.undecided(node, test, scope)
        elif truth:
            self.run(node.body.body, scope)
        elif node.orelse is not None:
            self.execute(node.orelse, scope)

    def exec_Else(self, node: cst.Else, scope: Scope) -> None:
        self.run(node.body.body, scope)

    def tested(self, value: Any, node: cst.BaseExpression) -> None:
        """A condition comes to ``value``; subclasses say what finding that out takes."""

    def undecided(self, node: cst.If, test: Any, scope: Scope) -> None:
        """An ``if`` whose test is not known; subclasses say what that means."""
        raise NotImplementedError

    def exec_For(self, node: cst.For, scope: Scope) -> None:
        self.loop(node, self.eval(node.iter, scope), scope)
        if node.orelse is not None:
            self.execute(node.orelse, scope)

    def loop(self, node: cst.For, iterable: Any, scope: Scope) -> None:
        raise NotImplementedError

    def exec_While(self, node: cst.While, scope: Scope) -> None:
        raise NotImplementedError

    def exec_With(self, node: cst.With, scope: Scope) -> None:
        for item in node.items:
            value = self.eval(item.item, scope)
            if item.asname is not None:
                self.assign(item.asname.name, value, scope)
        self.run(node.body.body, scope)

    def exec_Try(self, node: cst.Try, scope: Scope) -> None:
        try:
            with self._guarding(node):
                self.run(node.body.body, scope)
        except Raised:
            if not node.handlers:
                raise
            self.run(node.handlers[0].body.body, scope)
        if node.orelse is not None:
            self.execute(node.orelse, scope)
        if node.finalbody is not None:
            self.run(node.finalbody.body.body, scope)

    @contextmanager
    def _guarding(self, node: cst.Try) -> Iterator[None]:
        carries_on = any(map(_survives, node.handlers))
        self.guarded += bool(node.handlers)
        self.tried += carries_on
        try:
            yield
        finally:
            self.guarded -= bool(node.handlers)
            self.tried -= carries_on

    def exec_FunctionDef(self, node: cst.FunctionDef, scope: Scope) -> None:
        owner = self.calls[-1].symbol if self.calls else ""
        self.captured.append(scope)
        value: Any = Function(node.name.value, node, self.module, scope, owner if scope.parent else "")
        for decorator in reversed(node.decorators):
            value = self.decorate(value, self.eval(decorator.decorator, scope), decorator)
        scope.assign(node.name.value, value)

    def decorate(self, value: Any, decorator: Any, node: cst.CSTNode) -> Any:
        return value

    def exec_ClassDef(self, node: cst.ClassDef, scope: Scope) -> None:
        inner = Scope(scope)
        self.captured.append(inner)
        bases = tuple(self.eval(base.value, scope) for base in node.bases)
        self.run_class(node, inner)
        for value in inner.vars.values():
            function = value.function if isinstance(value, Jit) else value
            if isinstance(function, Function) and not function.owner:
                function.owner = node.name.value
                function.closure = scope
        scope.assign(node.name.value, Class(node.name.value, bases, inner, self.module, node))

    def run_class(self, node: cst.ClassDef, scope: Scope) -> None:
        self.run(node.body.body, scope)

    # -- calls of functions in view ---------------------------------------------------------------------------------

    def invoke(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The result of calling a function whose body is in view; Unknown when it nests too deep or recurses."""
        if len(self.calls) >= MAX_DEPTH or sum(f.node is function.node for f in self.calls) > 1:
            return Unknown("recursion")
        scope = Scope(function.closure)
        self.modules.append(function.module)
        self.calls.append(function)
        try:
            self.bind(function, args, kwargs, scope)
            if isinstance(function.node, cst.Lambda):
                return self.eval(function.node.body, scope)
            self.run(function.node.body.body, scope)
            return None
        except Return as result:
            return result.value
        finally:
            self.calls.pop()
            self.modules.pop()

    def bind(self, function: Function, args: list[Any], kwargs: dict[str, Any], scope: Scope) -> None:
        """Assign parameters in ``scope``: positional, keyword, default; a missing one is Unknown."""
        params = function.node.params
        positional = [*params.posonly_params, *params.params]
        args = spread(args, [p.name.value for p in positional], kwargs)
        left = dict(kwargs)
        for index, param in enumerate(positional):
            name = param.name.value
            if index < len(args):
                value = args[index]
            elif name in left:
                value = left.pop(name)
            else:
                value = self.default(param, function)
            scope.vars[name] = self.parameter(param, value)
        for param in params.kwonly_params:
            name = param.name.value
            value = left.pop(name) if name in left else self.default(param, function)
            scope.vars[name] = self.parameter(param, value)
        if isinstance(params.star_arg, cst.Param):
            scope.vars[params.star_arg.name.value] = tuple(args[len(positional) :])
        if params.star_kwarg is not None:
            scope.vars[params.star_kwarg.name.value] = left

    def default(self, param: cst.Param, function: Function) -> Any:
        if param.default is None:
            return Unknown(f"argument {param.name.value}")
        self.modules.append(function.module)
        try:
            return self.eval(param.default, function.closure)
        finally:
            self.modules.pop()

    def parameter(self, param: cst.Param, value: Any) -> Any:
        return value

    # -- what subclasses answer -------------------------------------------------------------------------------------

    def binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        return python_binary(name, function, a, b)

    def unary(self, name: str, value: Any, node: cst.CSTNode) -> Any:
        if name == "not":
            return Unknown("not")
        if isinstance(value, Expr):
            return -value if name == "-" else Unknown("~")
        if isinstance(value, (int, float)):
            try:
                return -value if name == "-" else ~value  # type: ignore[operator]
            except TypeError:
                raise Raised from None
        return Unknown("unary")

    def boolean(self, name: str, a: Any, b: Any, node: cst.CSTNode) -> Any:
        if name == "and" and isinstance(a, Condition) and isinstance(b, Condition):
            return Condition(name, a.zeros + b.zeros)
        return Unknown(name)

    def compare(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        return python_compare(name, function, a, b)

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, Expr):
            return None if value.value is None else bool(value.value)
        if value is None or isinstance(value, (bool, int, float, str, tuple, list, dict)):
            return bool(value)
        if isinstance(value, (Function, Class, Jit, Namespace, Instance)):
            return True
        return None

    def merge(self, a: Any, b: Any, test: Any, node: cst.CSTNode) -> Any:
        return a if same(a, b) else Unknown("undecided choice")

    def iterate(self, value: Any) -> list[Any] | None:
        if isinstance(value, (tuple, list)):
            return list(value)
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, str):
            return list(value)
        if isinstance(value, range):
            return list(value) if len(value) <= MAX_UNROLL else None
        return None

    def getattr(self, value: Any, name: str, node: cst.CSTNode) -> Any:
        if isinstance(value, Namespace):
            return Namespace(f"{value.path}.{name}")
        if isinstance(value, dict):
            return dict_method(value, name)
        if isinstance(value, list):
            return list_method(value, name)
        if isinstance(value, str):
            return string_method(value, name)
        return Unknown(f"attribute {name}")

    def subscript(self, value: Any, index: Any, node: cst.CSTNode) -> Any:
        if isinstance(index, Expr):
            index = ex.simplify(index)
        if isinstance(value, (tuple, list, str)) and isinstance(index, (int, slice)):
            if isinstance(index, slice) and not all(p is None or isinstance(p, int) for p in _parts(index)):
                return Unknown("slice")
            try:
                return value[index]
            except IndexError:
                raise Raised from None
        if isinstance(value, dict) and not is_huge(index):
            try:
                return value[index] if index in value else Unknown("missing key")
            except TypeError:
                return Unknown("key")
        return Unknown("subscript")

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, Function):
            return self.invoke(function, args, kwargs)
        if isinstance(function, Builtin):
            return function.call(args, kwargs, node)
        return Unknown("call")


def spread(args: list[Any], names: Sequence[str], keywords: Collection[str]) -> list[Any]:
    """``args`` for the parameters ``names``: from a :class:`Rest` on anything may reach any of them, up to the first that
    ``keywords`` gives."""
    rest = next((i for i, arg in enumerate(args) if isinstance(arg, Rest)), None)
    if rest is None:
        return args
    end = next((i for i in range(rest, len(names)) if names[i] in keywords), len(names))
    return [*args[:rest], *[Unknown("*args")] * (end - rest), *([Rest()] if end == len(names) else [])]


def python_binary(name: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """``a name b`` for Python numbers, symbolic integers and sequences."""
    if name == "*" and isinstance(a, int) and isinstance(b, (str, list, tuple)):
        a, b = b, a
    if (isinstance(a, (bool, int)) and isinstance(b, Expr)) or (
        isinstance(a, Expr) and isinstance(b, (bool, int, Expr))
    ):
        return symbolic_binary(name, a, b)
    if is_concrete(a) and is_concrete(b):
        powers = name in ("**", "<<") and isinstance(a, (int, float)) and isinstance(b, int)
        if powers and (abs(b) > 256 or abs(a) > 2**64):
            return Unknown("huge number")
        if name == "*" and isinstance(a, (str, list, tuple)) and isinstance(b, int) and len(a) * b > MAX_ITEMS:
            return Unknown("huge sequence")
        if name == "%" and isinstance(a, str):
            return Unknown("formatted string")  # a width asks for any length
        try:
            return bounded(function(a, b))
        except Exception:
            raise Raised from None
    if name == "+" and isinstance(a, tuple) and isinstance(b, tuple):
        return bounded(a + b)
    if name == "+" and isinstance(a, list) and isinstance(b, list):
        return bounded(a + b)
    if name == "*" and isinstance(a, (tuple, list)) and isinstance(b, int) and len(a) * b <= MAX_ITEMS:
        return a * b
    if name == "|" and isinstance(a, dict) and isinstance(b, dict):
        return {**a, **b}
    return Unknown("arithmetic")


def bounded(value: Any) -> Any:
    """``value``, or ``Unknown`` where it is a number or a sequence of a size that no program computes with."""
    if isinstance(value, Expr):
        huge = value.length > MAX_LENGTH or max(map(int.bit_length, value.terms.values()), default=0) > MAX_BITS
    elif isinstance(value, (str, list, tuple, dict)):
        huge = is_huge(value)
    else:
        huge = isinstance(value, int) and value.bit_length() > MAX_BITS
    return Unknown("huge value") if huge else value


def symbolic_binary(name: str, a: ex.Size, b: ex.Size) -> Any:
    if name == "+":
        return bounded(ex.simplify(ex.lift(a) + b))
    if name == "-":
        return bounded(ex.simplify(ex.lift(a) - b))
    if name == "*":
        left, right = ex.lift(a), ex.lift(b)
        if len(left.terms) * len(right.terms) > MAX_LENGTH:
            return Unknown("huge value")
        return bounded(ex.simplify(left * right))
    if name == "//":
        return bounded(ex.floordiv(a, b))
    if name == "%":
        return bounded(ex.mod(a, b))
    shift = ex.concrete(b)
    if name == "<<" and shift is not None and 0 <= shift < 64:
        return bounded(ex.simplify(ex.lift(a) * (1 << shift)))
    if name == ">>" and shift is not None and 0 <= shift < 64:
        return bounded(ex.floordiv(a, 1 << shift))
    op = {"&": "and", "|": "or", "^": "xor"}.get(name)
    return bounded(ex.opaque(op, a, b)) if op else Unknown("arithmetic")


_ORDERS = frozenset({"<", "<=", ">", ">="})


def python_compare(name: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if isinstance(a, Presumed) or isinstance(b, Presumed):
        a, b = (bool(v) if isinstance(v, Presumed) else v for v in (a, b))
        found = python_compare(name, function, a, b)
        return Presumed(found) if isinstance(found, bool) else found
    if isinstance(a, Expr) or isinstance(b, Expr):
        if not isinstance(a, (int, Expr)) or not isinstance(b, (int, Expr)):
            return name in ("!=", "is not") if (a is None or b is None) else Unknown("comparison")
        difference = ex.simplify(ex.lift(a) - b)
        if isinstance(difference, int) and name not in ("in", "not in", "is", "is not"):
            return function(difference, 0)
        if name == "==" and isinstance(difference, Expr):
            return Condition("symbolic comparison", (difference,))
        return Comparison("symbolic comparison", name, a, b) if name in _ORDERS else Unknown("symbolic comparison")
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return Unknown("comparison")
    if name in ("is", "is not") and (a is None or b is None):
        return function(a, b)
    if any(
        isinstance(one, (Builtin, Instance, Namespace)) and isinstance(other, (int, float, str))
        for one, other in ((a, b), (b, a))
    ):
        return Unknown("comparison")  # an attribute of an object that is not in view: what it is, nobody knows
    if is_huge(a) or is_huge(b):
        return Unknown("comparison")
    try:
        return bool(function(a, b))
    except Exception:
        return Unknown("comparison")


#: What catches a kernel that does not compile or start.
_CATCH_ALL = frozenset(
    {"BaseException", "CompilationError", "Exception", "OutOfResources", "RuntimeError", "TritonError"}
)


def _survives(handler: cst.ExceptHandler) -> bool:
    """Whether ``handler`` catches what a launch raises and does not raise again."""
    kinds = handler.type.elements if isinstance(handler.type, cst.Tuple) else (handler,)
    names = [
        dotted_name(kind.value if isinstance(kind, cst.BaseElement) else kind.type) for kind in kinds if handler.type
    ]
    if names and not any(name is not None and name.rpartition(".")[2] in _CATCH_ALL for name in names):
        return False
    body = handler.body.body
    last = body[-1].body[-1] if body and isinstance(body[-1], cst.SimpleStatementLine) else None
    return not isinstance(last, cst.Raise)


def same(a: Any, b: Any) -> bool:
    try:
        return a is b or (_kind(a) is _kind(b) and not is_huge(a) and not is_huge(b) and bool(a == b))
    except Exception:
        return False


def _kind(value: Any) -> type:
    return int if isinstance(value, Literal) else bool if isinstance(value, Presumed) else type(value)


def _parts(index: slice) -> tuple[Any, Any, Any]:
    return index.start, index.stop, index.step


@lru_cache(maxsize=4096)
def _literal(text: str) -> Any:
    try:
        return bounded(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError):
        return Unknown("string")


Method = Callable[[list[Any], dict[str, Any], cst.CSTNode], Any]


def dict_method(value: dict[Any, Any], name: str) -> Any:
    def update(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        for other in args:
            if isinstance(other, dict):
                value.update(other)
        value.update(kwargs)

    methods: dict[str, Method] = {
        "get": lambda a, k, n: value.get(a[0], a[1] if len(a) > 1 else None),
        "update": update,
        "items": lambda a, k, n: list(value.items()),
        "keys": lambda a, k, n: list(value),
        "values": lambda a, k, n: list(value.values()),
        "copy": lambda a, k, n: dict(value),
        "setdefault": lambda a, k, n: value.setdefault(a[0], a[1] if len(a) > 1 else None),
        "pop": lambda a, k, n: value.pop(a[0], a[1] if len(a) > 1 else Unknown("popped")),
    }
    return _method(name, methods[name]) if name in methods else Unknown(f"dict.{name}")


def extend(value: list[Any], more: Sequence[Any]) -> None:
    """``value.extend(more)``. Raises ``OutOfBudget`` where the list becomes longer than programs have any."""
    if len(value) + len(more) > MAX_ITEMS:
        raise OutOfBudget
    value.extend(more)


def list_method(value: list[Any], name: str) -> Any:
    methods: dict[str, Method] = {
        "append": lambda a, k, n: value.append(a[0]) if a else None,
        "extend": lambda a, k, n: extend(value, a[0]) if a and isinstance(a[0], (list, tuple)) else None,
        "copy": lambda a, k, n: list(value),
        "reverse": lambda a, k, n: value.reverse(),
        "pop": lambda a, k, n: value.pop(*a) if value and is_concrete(a) else Unknown("popped"),
        "index": lambda a, k, n: value.index(a[0]) if a and not is_huge(value) and a[0] in value else Unknown("index"),
        "insert": lambda a, k, n: value.insert(*a) if len(a) == 2 and isinstance(a[0], int) else None,
    }
    return _method(name, methods[name]) if name in methods else Unknown(f"list.{name}")


def string_method(value: str, name: str) -> Any:
    if name not in ("lower", "upper", "strip", "startswith", "endswith", "replace", "split", "isdigit", "title"):
        return Unknown(f"str.{name}")

    def call(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        if not is_concrete(args):
            return Unknown("string")
        if name == "replace" and len(args) > 1 and len(value) + value.count(args[0]) * len(args[1]) > MAX_ITEMS:
            return Unknown("huge string")
        return getattr(value, name)(*args)

    return _method(name, call)


def rounded(number: Any, *digits: Any) -> Any:
    """``round``, which raises ten to the power of the digits that it is given, however many."""
    return (
        Unknown("huge number")
        if digits and digits[0] is not None and abs(digits[0]) > MAX_BITS
        else round(number, *digits)
    )


def _method(name: str, function: Method) -> Builtin:
    """A method of Python's own types, that is ``function``: what it does not take, the analysed program gets raised."""

    def call(args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        try:
            return bounded(function(args, kwargs, node))
        except (LookupError, TypeError, ValueError, OverflowError):
            if is_concrete(args):
                raise Raised from None
            return Unknown(name)

    return Builtin(name, call)


_SINGLETONS = {"None": None, "True": True, "False": False}

_BUILTIN_NAMES = frozenset(
    "abs all any bool dict divmod enumerate filter float getattr hasattr id int isinstance issubclass iter len list map "
    "max min next object pow print property range repr reversed round set setattr sorted staticmethod classmethod str "
    "sum super tuple type vars zip Exception ValueError TypeError RuntimeError AssertionError NotImplementedError "
    "KeyError IndexError ImportError AttributeError slice callable frozenset bytes complex".split()
)
