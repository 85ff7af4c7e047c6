"""What a constexpr that nothing tells is, by what its kernel asks about it: one of the values that it is compared with, or a flag."""

from __future__ import annotations

from typing import Any

import libcst as cst

from kernlint.interpret.values import Function
from kernlint.syntax.positions import python_value

#: Comparisons that hold for one value or for those listed, and those that hold for all others: what the first guard is done on purpose.
_EQUALS, _DIFFERS = (cst.Equal, cst.In), (cst.NotEqual, cst.NotIn)

_FLAGS = {"True": True, "False": False}


def presumed(function: Function, name: str) -> Any:
    """The value that ``name`` has in the first branch of ``function`` that it chooses; None where the kernel does more with it than to
    ask, so that one value is not as good as another."""
    asked: set[int] = set()
    equal: list[cst.BaseExpression] = []
    others: list[cst.BaseExpression] = []
    module = function.module
    for node in module.within(function.node, cst.Comparison):
        target = node.comparisons[0]
        if len(node.comparisons) == 1 and isinstance(target.operator, (*_EQUALS, *_DIFFERS)):
            for one, other in ((node.left, target.comparator), (target.comparator, node.left)):
                if _is(one, name):
                    asked.add(id(one))
                    (equal if isinstance(target.operator, _EQUALS) else others).append(other)
    for kind in (cst.If, cst.IfExp, cst.BooleanOperation, cst.UnaryOperation):
        asked.update(
            id(test) for node in module.within(function.node, kind) for test in _tests(node) if _is(test, name)
        )
    used = (node for node in module.variables(function.node.body) if node.value == name)
    if any(id(node) not in asked for node in used):
        return None
    compared = (value for node in (*equal, *others) if (value := _value(node, function)) is not None)
    # What is met at run time alone (`label == IGNORED`) is mostly another.
    return next(compared, -1 if equal or others else True)


def stands_alone(function: Function, name: str) -> bool:
    """Whether ``name`` is an argument or an item by itself somewhere in ``function``, as what is the extent of a tile or a loop is:
    of that another number makes another kernel."""
    module = function.module
    alone: list[cst.Arg | cst.Element] = list(module.within(function.node, cst.Arg))
    alone += module.within(function.node, cst.Element)
    return any(_is(one.value, name) for one in alone)


def _is(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _tests(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """What ``node`` takes for true or false."""
    if isinstance(node, (cst.If, cst.IfExp)):
        return (node.test,)
    if isinstance(node, cst.BooleanOperation):
        return node.left, node.right
    return (node.expression,) if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not) else ()


def _value(node: cst.BaseExpression, function: Function) -> Any:
    """A constant that something is compared with, the first of several; None where it is none."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return _value(node.elements[0].value, function) if node.elements else None
    if isinstance(node, (cst.SimpleString, cst.Integer)):
        return python_value(node.value)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        value = _value(node.expression, function)
        return -value if isinstance(value, int) else None
    if isinstance(node, cst.Name):
        value = _FLAGS.get(node.value, function.closure.get(node.value))
        return value if isinstance(value, (bool, str)) else int(value) if isinstance(value, int) else None
    return None
