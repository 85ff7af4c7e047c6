"""What no run gets to: branches, as constants of the module and the values that a benchmark goes through decide their conditions, and
what stands behind the end of a block."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import libcst as cst

from kernlint.syntax.names import bound_by, dotted_name, origin_of
from kernlint.syntax.positions import python_value
from kernlint.syntax.tree import Module

#: What makes a name stand for more than one value of its module.
_REBINDING = (cst.Assign, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr, cst.AsName)

_COMPARISONS: Mapping[type[cst.BaseCompOp], Callable[[Any, Any], Any]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.Is: operator.is_,
    cst.IsNot: operator.is_not,
    cst.In: lambda a, b: a in b,
    cst.NotIn: lambda a, b: a not in b,
}

#: More values, or longer ones, than a benchmark goes through: left open, so that sums of sums stay small.
_MOST = 256

_SINGLETONS = {"True": True, "False": False, "None": None}


def before_end(block: Sequence[cst.BaseStatement | cst.BaseSmallStatement]) -> Iterator[cst.CSTNode]:
    """The statements of ``block`` up to the first behind which no run gets."""
    for statement in block:
        yield statement
        if any(map(_ends, statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,))):
            return


def leaves_program(call: cst.BaseExpression) -> bool:
    """Whether an expression is a call by which a script ends."""
    return isinstance(call, cst.Call) and dotted_name(call.func) in ("exit", "quit", "sys.exit", "os._exit")


def _ends(statement: cst.CSTNode) -> bool:
    if isinstance(statement, cst.Expr):
        return leaves_program(statement.value)
    if isinstance(statement, cst.Assert):
        return isinstance(statement.test, cst.Name) and statement.test.value == "False"
    return isinstance(statement, (cst.Return, cst.Raise, cst.Break, cst.Continue))


def _at_import(block: Sequence[cst.BaseStatement]) -> Iterator[cst.CSTNode]:
    """The simple statements of a module and of the branches in it: where a name is assigned by one of them alone, it has that value
    or none."""
    for statement in block:
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        elif isinstance(statement, cst.If) and isinstance(statement.body, cst.IndentedBlock):
            yield from _at_import(statement.body.body)


class _Open(Exception):
    """The value is not known."""


class Constants:
    """The values of the names that ``module`` binds once, to what its source tells."""

    def __init__(self, module: Module) -> None:
        self.module = module
        bound = Counter(name.value for kind in _REBINDING for node in module.of(kind) for name in bound_by(node))
        bound.update([*module.imports])
        self._assigned: dict[str, cst.BaseExpression] = {}
        self._known: dict[str, list[Any] | None] = {}
        for part in _at_import(module.tree.body):
            if isinstance(part, cst.Assign) and len(part.targets) == 1:
                target = part.targets[0].target
                if isinstance(target, cst.Name) and bound[target.value] == 1:
                    self._assigned[target.value] = part.value

    def never(self, test: cst.BaseExpression, choices: Callable[[str], list[Any] | None]) -> bool:
        """Whether ``test`` is false at each run; ``choices`` are the values that a name may have where it stands, None where
        that is open and the name is not the module's."""
        try:
            return not any(self._value(test, choices))
        except (_Open, RecursionError, TypeError):
            return False

    def of_module(self, name: str) -> list[Any] | None:
        """The value of a name of the module."""
        if name not in self._known:
            self._known[name] = None  # while it is looked for, as it may be made of itself
            with suppress(KeyError, _Open, RecursionError, TypeError):
                self._known[name] = self._value(self._assigned[name], self.of_module)
        return self._known[name]

    def measured(self, function: cst.FunctionDef) -> dict[str, list[Any]]:
        """The values that `triton.testing.perf_report` calls ``function`` with, by parameter."""
        found: dict[str, list[Any]] = {}
        for decorator in function.decorators:
            call = decorator.decorator
            if isinstance(call, cst.Call) and origin_of(call, self.module.imports) == "triton.testing.perf_report":
                for benchmark in self.module.within(call, cst.Call):
                    given = {arg.keyword.value: arg.value for arg in benchmark.args if arg.keyword is not None}
                    if benchmark is call:
                        continue
                    if {"line_arg", "line_vals"} <= given.keys():
                        try:
                            (name,), (values,) = (
                                self._value(given[n], self.of_module) for n in ("line_arg", "line_vals")
                            )
                            found.setdefault(name, []).extend(values)
                        except (_Open, RecursionError, TypeError):
                            return {}
        again = {
            name.value
            for kind in _REBINDING
            for node in self.module.within(function.body, kind)
            for name in bound_by(node)
        }
        return {name: values for name, values in found.items() if name not in again}

    def _value(self, node: cst.BaseExpression, choices: Callable[[str], list[Any] | None]) -> list[Any]:
        """Every value that ``node`` may have."""
        if isinstance(node, cst.Name):
            known = [_SINGLETONS[node.value]] if node.value in _SINGLETONS else choices(node.value)
            if known is None:
                raise _Open
            return known
        if isinstance(node, (cst.Integer, cst.SimpleString)):
            return [python_value(node.value)]
        if isinstance(node, (cst.List, cst.Tuple)):
            items = [self._value(element.value, choices) for element in node.elements]
            if any(len(item) != 1 for item in items) or any(isinstance(e, cst.StarredElement) for e in node.elements):
                raise _Open
            return [[item[0] for item in items]]
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            return [not value for value in self._value(node.expression, choices)]
        if isinstance(node, cst.BooleanOperation):
            return self._either(node, choices)
        if isinstance(node, cst.IfExp):
            tests = self._value(node.test, choices)
            return [v for test in tests for v in self._value(node.body if test else node.orelse, choices)]
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            return self._pairs(operator.add, node.left, node.right, choices)
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            part = node.comparisons[0]
            compare = _COMPARISONS.get(type(part.operator))
            if compare is not None:
                return self._pairs(compare, node.left, part.comparator, choices)
        raise _Open

    def _pairs(
        self,
        function: Callable[[Any, Any], Any],
        left: cst.BaseExpression,
        right: cst.BaseExpression,
        choices: Callable[[str], list[Any] | None],
    ) -> list[Any]:
        """``function`` of every value of ``left`` with every one of ``right``."""
        first, second = self._value(left, choices), self._value(right, choices)
        found = [function(a, b) for a in first for b in second] if len(first) * len(second) <= _MOST else None
        if found is None or any(isinstance(one, (str, list)) and len(one) > _MOST for one in found):
            raise _Open
        return found

    def _either(self, node: cst.BooleanOperation, choices: Callable[[str], list[Any] | None]) -> list[Any]:
        """The values of `and` and `or`, of which one operand may decide."""
        decides = isinstance(node.operator, cst.Or)
        for first, second in ((node.left, node.right), (node.right, node.left)):
            try:
                values = self._value(first, choices)
            except _Open:
                continue
            if all(bool(value) == decides for value in values):
                return [decides]
            if not any(bool(value) == decides for value in values):
                return self._value(second, choices)
        raise _Open
