"""Carried variables that scans can compute one after the other, each from those that do not depend on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from kernlint.interpret.python import sign_of
from kernlint.records import dataclass
from kernlint.rules.source import bound_names, carried_names, names_in
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk

#: How a value depends on what a variable held when the iteration began: it is that variable, that plus (times) something
#: free of it, ``a * v + b``, an extremum of it and something else; or in another way.
SAME, SUM, PRODUCT, LINEAR, EXTREMUM, OTHER = "same", "sum", "product", "linear", "extremum", "other"
_AFFINE = frozenset({SAME, SUM, PRODUCT, LINEAR})
_SCALED = {SAME: PRODUCT, PRODUCT: PRODUCT, SUM: LINEAR, LINEAR: LINEAR}
_SHIFTED = {SAME: SUM, SUM: SUM, PRODUCT: LINEAR, LINEAR: LINEAR}
_EXTREMA = frozenset({"maximum", "minimum", "max", "min"})
#: Casts between these round and do no more.
_WIDE = frozenset({"float32", "float64"})

#: Of each carried variable that a value depends on, how it does.
Form = Mapping[str, str]


@dataclass(frozen=True)
class Cascade:
    """``kinds`` of the carried variables (sum, product, linear, extremum), those first that others need. ``each`` are those
    whose value is needed in each iteration, by another variable or by a store; the others are needed at the end.
    ``coupled`` says that a variable needs another one."""

    kinds: Mapping[str, str]
    each: frozenset[str]
    coupled: bool = False


def cascade(loop: cst.For | cst.While) -> Cascade | None:
    """The variables that ``loop`` carries, but for the counter that a ``while`` tests; None where its body is no plain
    sequence of assignments and calls, or where scans one after the other cannot do it: a variable is updated by a function
    of itself that is neither first-order linear nor an extremum, or two variables wait for each other.
    """
    carried = carried_names(loop)
    forms: dict[str, Form] = {name: {name: SAME} for name in carried}
    stored: set[str] = set()
    for statement in _plain(loop):
        if statement is None:
            return None
        if isinstance(statement, cst.Expr):
            stored |= set(_form(statement.value, forms))
            continue
        made = _assigned(statement, forms)
        if made is None:
            return None
        forms |= made
    needs = {name: set(forms[name]) - {name} for name in carried}
    # A value of the iteration before alone is no recurrence: a block of them is a block of values moved by one.
    kinds = {name: forms[name][name] for name in carried if name in forms[name]}
    if any(kind in (OTHER, SAME) for kind in kinds.values()):
        return None
    order: list[str] = []
    while len(order) < len(carried):
        ready = sorted(name for name in carried - set(order) if needs[name] <= set(order))
        if not ready:
            return None
        order += ready
    tested = names_in(loop.test) if isinstance(loop, cst.While) else set()
    left = [name for name in order if name in kinds and name not in tested and not _addresses(name, loop)]
    each = frozenset(stored.union(*needs.values()) & set(left))
    coupled = any(needs[name] & set(left) for name in left)
    return Cascade({name: kinds[name] for name in left}, each, coupled) if left else None


def _plain(loop: cst.For | cst.While) -> Iterator[cst.Assign | cst.AnnAssign | cst.AugAssign | cst.Expr | None]:
    """The statements of the body; None for one that is more than an assignment or a call."""
    if loop.orelse is not None:
        yield None
    for line in loop.body.body:
        if not isinstance(line, cst.SimpleStatementLine):
            if isinstance(line, cst.BaseSmallStatement):
                yield line if isinstance(line, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Expr)) else None
            else:
                yield None
            continue
        for statement in line.body:
            if isinstance(statement, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Expr)):
                yield statement
            elif not isinstance(statement, cst.Pass):
                yield None


def _addresses(name: str, loop: cst.For | cst.While) -> bool:
    """Whether ``name`` is a pointer or index that only counts on: it stands in addresses and in its own updates alone."""
    accessed: list[cst.CSTNode] = []
    updates: list[cst.CSTNode] = []
    for node in walk(loop.body):
        if isinstance(node, cst.Call) and node.args and (dotted_name(node.func) or "").endswith(("load", "store")):
            accessed.append(node.args[0].value)
        elif isinstance(node, (cst.Assign, cst.AugAssign, cst.AnnAssign)) and bound_names(node) == {name}:
            updates.append(node)
    inside = _times(name, accessed)
    return inside > 0 and _times(name, [loop.body]) == inside + _times(name, updates)


def _times(name: str, places: Iterable[cst.CSTNode]) -> int:
    """How often ``name`` stands in ``places``."""
    return sum(isinstance(node, cst.Name) and node.value == name for place in places for node in walk(place))


def _assigned(
    statement: cst.Assign | cst.AnnAssign | cst.AugAssign, forms: Mapping[str, Form]
) -> dict[str, Form] | None:
    """What the names that ``statement`` binds depend on after it; None where it binds something else than names."""
    if isinstance(statement, cst.AugAssign):
        name = dotted_name(statement.target)
        if name is None:
            return None
        return {name: _combined(sign_of(statement.operator), forms.get(name, {}), _form(statement.value, forms))}
    if isinstance(statement, cst.AnnAssign):
        name = dotted_name(statement.target)
        return None if name is None or statement.value is None else {name: _form(statement.value, forms)}
    made: dict[str, Form] = {}
    for target in (each.target for each in statement.targets):
        pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [(target, statement.value)]
        if isinstance(target, cst.Tuple) and isinstance(statement.value, cst.Tuple):
            pairs = [(a.value, b.value) for a, b in zip(target.elements, statement.value.elements)]
            if len(target.elements) != len(statement.value.elements):
                return None
        for left, right in pairs:
            name = dotted_name(left) if isinstance(left, cst.Name) else None
            if name is None:
                return None
            made[name] = _form(right, forms)
    return made


def _form(value: cst.CSTNode, forms: Mapping[str, Form]) -> Form:
    """How ``value`` depends on the carried variables."""
    if isinstance(value, cst.Name):
        return forms.get(value.value, {})
    if isinstance(value, cst.BinaryOperation):
        return _combined(sign_of(value.operator), _form(value.left, forms), _form(value.right, forms))
    if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Minus):
        return _combined("-", {}, _form(value.expression, forms))
    if isinstance(value, cst.Call):
        found = _call(value, forms)
        if found is not None:
            return found
    read = {inner for name in names_in(value) for inner in forms.get(name, {})}
    return dict.fromkeys(read, OTHER)


def _call(call: cst.Call, forms: Mapping[str, Form]) -> Form | None:
    """The form of an extremum, a choice between two values or a cast; None for other calls."""
    function = (dotted_name(call.func) or "").rsplit(".", 1)[-1]
    plain = all(argument.keyword is None and not argument.star for argument in call.args)
    values = [argument.value for argument in call.args]
    if function in _EXTREMA and plain and len(values) == 2:
        return _combined("max", _form(values[0], forms), _form(values[1], forms))
    if function == "where" and plain and len(values) == 3:
        return _chosen(*(_form(value, forms) for value in values))
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "to" and plain and len(values) == 1:
        wide = (dotted_name(values[0]) or "").rsplit(".", 1)[-1] in _WIDE
        return _form(call.func.value, forms) if wide else None
    return None


def _combined(operator: str, left: Form, right: Form) -> Form:
    return {name: _kind(operator, left.get(name), right.get(name)) for name in {**left, **right}}


def _kind(operator: str, left: str | None, right: str | None) -> str:
    """How ``left operator right`` depends on a variable on which its sides depend so (None: not at all)."""
    if left is not None and right is not None:
        if operator not in ("+", "-") or not {left, right} <= _AFFINE:
            return OTHER
        return PRODUCT if {left, right} <= {SAME, PRODUCT} else LINEAR
    one = left or right or OTHER
    if operator == "+" or (operator == "-" and right is None):
        return _SHIFTED.get(one, OTHER)
    if operator == "-":
        return LINEAR if one in _AFFINE else OTHER
    if operator == "*" or (operator == "/" and right is None):
        return _SCALED.get(one, OTHER)
    return EXTREMUM if operator == "max" and one in (SAME, EXTREMUM) else OTHER


def _chosen(condition: Form, one: Form, other: Form) -> Form:
    """The form of ``tl.where(condition, one, other)``."""
    found = {}
    for name in {**condition, **one, **other}:
        kinds = [form[name] for form in (one, other) if name in form]
        if name in condition or OTHER in kinds:
            found[name] = OTHER
        elif SAME in kinds and len(kinds) == 2:
            # The lanes that the condition leaves out do not change.
            found[name] = kinds[0] if kinds[1] == SAME else kinds[1]
        else:
            found[name] = LINEAR if set(kinds) <= _AFFINE else OTHER
    return found
