"""``while`` statements that only count, and so are ``for`` statements over a range."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from kernlint.records import dataclass
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk

_LESS = (cst.LessThan, cst.LessThanEqual)
_GREATER = (cst.GreaterThan, cst.GreaterThanEqual)
#: What may leave an iteration before the counter advances, or compute a bound anew.
_LEAVES = (cst.Break, cst.Continue, cst.Return, cst.Global, cst.Nonlocal, cst.Del)


@dataclass(frozen=True)
class Counter:
    """``while name < bound`` with ``name += step`` at the end of its body.

    ``up`` says that it counts upwards, ``inclusive`` that ``bound`` itself is reached (``<=``). ``step`` is the amount
    as written, positive downwards too.
    """

    name: cst.Name
    bound: cst.BaseExpression
    step: cst.BaseExpression
    up: bool
    inclusive: bool


def counter(loop: cst.While, pure: Collection[str] = ("size",)) -> Counter | None:
    """The counter of ``loop``; None where its test or body does more than count, or could end it otherwise.

    Nothing in the body but its last statement binds the counter, nothing binds a name of the bound or of the step, and
    no call could change them but of the functions called ``pure``.
    """
    test = loop.test
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or loop.orelse is not None:
        return None
    (target,) = test.comparisons
    left, right = test.left, target.comparator
    up = isinstance(target.operator, _LESS)
    if not up and not isinstance(target.operator, _GREATER):
        return None
    inclusive = isinstance(target.operator, (cst.LessThanEqual, cst.GreaterThanEqual))
    last = _last(loop)
    if last is None:
        return None
    name, step, rises = last
    if dotted_name(left) != name.value:  # bound > name
        left, right, up = right, left, not up
    if not isinstance(left, cst.Name) or left.value != name.value or rises is not up:
        return None
    fixed = _roots(right) | _roots(step)
    if _calls(right, pure) or _calls(step, pure) or name.value in fixed:
        return None
    bound = _bound(loop)
    if fixed & set(bound) or bound.count(name.value) != 1 or any(isinstance(node, _LEAVES) for node in walk(loop.body)):
        return None
    return Counter(left, right, step, up, inclusive)


def _last(loop: cst.While) -> tuple[cst.Name, cst.BaseExpression, bool] | None:
    """The name that the last statement of the body advances, by how much, and whether upwards."""
    if not loop.body.body:
        return None
    statement = loop.body.body[-1]
    if isinstance(statement, cst.SimpleStatementLine):
        statement = statement.body[-1]
    if isinstance(statement, cst.AugAssign) and isinstance(statement.target, cst.Name):
        if isinstance(statement.operator, (cst.AddAssign, cst.SubtractAssign)):
            return statement.target, statement.value, isinstance(statement.operator, cst.AddAssign)
    elif isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        name, value = statement.targets[0].target, statement.value
        if isinstance(name, cst.Name) and isinstance(value, cst.BinaryOperation):
            adds = isinstance(value.operator, cst.Add)
            if adds and dotted_name(value.right) == name.value:
                return name, value.left, True
            if dotted_name(value.left) == name.value and (adds or isinstance(value.operator, cst.Subtract)):
                return name, value.right, adds
    return None


def _roots(node: cst.CSTNode) -> set[str]:
    """The names that an expression, or a target, is made of."""
    return {inner.value for inner in walk(node) if isinstance(inner, cst.Name)}


def _calls(node: cst.CSTNode, pure: Collection[str]) -> bool:
    """Whether an expression calls something else than a method or function of ``pure``."""
    calls = [inner for inner in walk(node) if isinstance(inner, cst.Call)]
    return any(not isinstance(call.func, cst.Attribute) or call.func.attr.value not in pure for call in calls)


def _bound(loop: cst.While) -> list[str]:
    """Every name that the body binds, attributes (``self.n``) by their names too, once for each time."""
    found: list[str] = []
    for node in walk(loop.body):
        if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor, cst.NamedExpr)):
            found += sorted(_roots(node.target))
        elif isinstance(node, cst.AsName):
            found += sorted(_roots(node.name))
    return found
