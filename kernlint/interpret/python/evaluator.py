"""Python's own semantics on abstract values: expressions, assignments, control flow, calls of functions in view.

:class:`Evaluator` knows no torch and no Triton. The host and the kernel evaluators derive from it and say what their
values do; what neither knows becomes :class:`~kernlint.interpret.values.Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import libcst as cst

from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.python.expressions import Expressions
from kernlint.interpret.python.operators import AUGMENTED, BINARY
from kernlint.interpret.values import YIELDED, Class, Function, Guess, Jit, Rest, Scope, Unknown, Yielded
from kernlint.syntax.names import dotted_name
from kernlint.syntax.unreached import leaves_program

MAX_DEPTH = 40


class Evaluator(Expressions):
    """Evaluates expressions and statements of one program, and calls of its functions."""

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
        if leaves_program(node.value):
            raise Raised

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

    def exec_Return(self, node: cst.Return, scope: Scope) -> None:
        raise Return(self.eval(node.value, scope) if node.value is not None else None)

    def exec_Raise(self, node: cst.Raise, scope: Scope) -> None:
        raise Raised

    def exec_Del(self, node: cst.Del, scope: Scope) -> None:
        targets = node.target.elements if isinstance(node.target, (cst.Tuple, cst.List)) else [node.target]
        for target in (one.value if isinstance(one, cst.Element) else one for one in targets):
            if isinstance(target, cst.Subscript):
                held, keys = self.eval(target.value, scope), [one.slice for one in target.slice]
                key = self.eval(keys[0].value, scope) if len(keys) == 1 and isinstance(keys[0], cst.Index) else None
                self.delitem(held, key)

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
        choices = self.open_choices
        test = self.eval(node.test, scope)
        self.tested(test, node.test)
        truth = self.truth(test)
        if truth is None:
            self.open_choices += 1
            self.undecided(node, test, scope)
        elif truth:
            self.run(node.body.body, scope)
        else:
            if self.open_choices > choices:
                self.passed_by(node, scope)
            if node.orelse is not None:
                self.execute(node.orelse, scope)

    def exec_Else(self, node: cst.Else, scope: Scope) -> None:
        self.run(node.body.body, scope)

    def run_arm(self, arm: cst.BaseSuite | cst.If | cst.Else | None, scope: Scope) -> None:
        """One way that an ``if`` may go: its body, or what stands for ``else``, if anything does."""
        if isinstance(arm, cst.If):
            self.exec_If(arm, scope)
        elif arm is not None:
            self.run(arm.body.body if isinstance(arm, cst.Else) else arm.body, scope)

    def round(self, body: Sequence[cst.CSTNode], scope: Scope) -> bool:
        """One round of a loop; False where a ``break`` ends the loop."""
        try:
            self.run(body, scope)
        except Continue:
            pass
        except Break:
            return False
        return True

    @contextmanager
    def doubt(self) -> Iterator[None]:
        """What happens inside may not happen."""
        self.doubts += 1
        try:
            yield
        finally:
            self.doubts -= 1

    def undecided(self, node: cst.If, test: Any, scope: Scope) -> None:
        """An ``if`` whose test is not known; subclasses say what that means."""
        raise NotImplementedError

    def passed_by(self, node: cst.If, scope: Scope) -> None:
        """An ``if`` whose test is false on the way through it that was chosen."""

    def exec_For(self, node: cst.For, scope: Scope) -> None:
        if self.loop(node, self.eval(node.iter, scope), scope) and node.orelse is not None:
            self.execute(node.orelse, scope)

    def loop(self, node: cst.For, iterable: Any, scope: Scope) -> bool:
        """Follow the rounds; whether they came to their end, as far as that is known."""
        raise NotImplementedError

    def exec_While(self, node: cst.While, scope: Scope) -> None:
        if self.loop_while(node, scope) and node.orelse is not None:
            self.execute(node.orelse, scope)

    def loop_while(self, node: cst.While, scope: Scope) -> bool:
        """The same of a ``while``."""
        raise NotImplementedError

    def exec_With(self, node: cst.With, scope: Scope) -> None:
        for item in node.items:
            value = self.eval(item.item, scope)
            if isinstance(value, Yielded):  # of a function that ``contextmanager`` decorates
                value = value[0] if value else None
            if item.asname is not None:
                self.assign(item.asname.name, value, scope)
        self.run(node.body.body, scope)

    def exec_Try(self, node: cst.Try, scope: Scope) -> None:
        finalbody = node.finalbody.body.body if node.finalbody is not None else ()
        try:
            try:
                with self._guarding(node):
                    self.run(node.body.body, scope)
            except Raised:
                if not node.handlers:
                    raise
                self.run(node.handlers[0].body.body, scope)
            else:
                if node.orelse is not None:
                    self.execute(node.orelse, scope)
        except (Raised, Return, Break, Continue):
            self.run(finalbody, scope)
            raise
        self.run(finalbody, scope)

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
        names = self.names_of_defaults(node, scope)
        value: Any = Function(node.name.value, node, self.module, scope, owner if scope.parent else "", names=names)
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
            # What is only bound here (``OPERATOR = f``) is no method.
            if isinstance(function, Function) and function.closure is inner and not function.owner:
                function.owner = node.name.value
                function.closure = scope
        scope.assign(node.name.value, Class(node.name.value, bases, inner, self.module, node))

    def run_class(self, node: cst.ClassDef, scope: Scope) -> None:
        self.run(node.body.body, scope)

    def invoke(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The result of calling a function whose body is in view; Unknown when it nests too deep or recurses."""
        if len(self.calls) >= MAX_DEPTH or sum(f.node is function.node for f in self.calls) > 1:
            return Unknown("recursion")
        scope = Scope(function.closure)
        self.modules.append(function.module)
        self.calls.append(function)
        self.ways_out.append([])
        try:
            self.bind(function, args, kwargs, scope)
            if isinstance(function.node, cst.Lambda):
                return self.eval(function.node.body, scope)
            generates = self.module.of(cst.Yield) and self.module.own(function.node.body, cst.Yield)
            if generates:
                scope.vars[YIELDED] = Yielded()
            self.run(function.node.body.body, scope)
            return scope.vars[YIELDED] if generates else None
        except Return as result:
            return scope.vars.get(YIELDED, result.value)
        except Raised:
            if not self.ways_out[-1]:
                raise
            *others, (value, follow) = self.ways_out[-1]
            follow()
            number = isinstance(value, int) and not isinstance(value, bool)
            return Guess(value) if number and any(other != value for other, _ in others) else value
        finally:
            self.ways_out.pop()
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
            return self.eval(param.default, Scope(function.closure, dict(function.names)))
        finally:
            self.modules.pop()

    def parameter(self, param: cst.Param, value: Any) -> Any:
        return value

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, Function):
            return self.invoke(function, args, kwargs)
        return super().call(function, args, kwargs, node)


def spread(args: list[Any], names: Sequence[str], keywords: Collection[str]) -> list[Any]:
    """``args`` for the parameters ``names``: from a :class:`Rest` on anything may reach any of them, up to the first that
    ``keywords`` gives."""
    rest = next((i for i, arg in enumerate(args) if isinstance(arg, Rest)), None)
    if rest is None:
        return args
    end = next((i for i in range(rest, len(names)) if names[i] in keywords), len(names))
    return [*args[:rest], *[Unknown("*args")] * (end - rest), *([Rest()] if end == len(names) else [])]


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
