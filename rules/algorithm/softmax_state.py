"""Loops that carry an online softmax: a running maximum, and sums whose weights are relative to it.

With ``w = exp(s - m)`` for scores ``s`` and ``m`` the maximum so far, sums of ``w`` and of ``w * v`` over two parts of the
loop, each relative to its own maximum, add up once both are multiplied by ``exp(m_part - m_all)``. So parts of such a loop
can run elsewhere. That holds for every state that is linear in the weights, which is what is proven here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from kernlint.interpret.python import sign_of
from kernlint.records import dataclass
from kernlint.rules.source import assignments, bound_names, carried_names, loop_variables, names_in, statements
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.walk import walk

#: Calls and methods that give back the values of their first operand, perhaps in another shape or type.
_SAME_VALUES = frozenset({"to", "cast", "reshape", "view", "expand_dims", "broadcast_to", "trans", "permute"})
_EXPONENTIALS = frozenset({"exp", "exp2"})


@dataclass(frozen=True)
class SoftmaxState:
    """The carried variables: the running ``maximum`` and ``sums`` of weights, which are ``exponential`` (``exp`` or ``exp2``)
    of scores less the maximum."""

    maximum: str
    sums: frozenset[str]
    exponential: str


@dataclass(frozen=True)
class Value:
    """What a variable is to the carried softmax.

    ``kind`` is ``free`` (does not depend on it), ``old`` and ``new`` (the maximum before and after the iteration),
    ``below`` (free less the new maximum), ``step`` (the old maximum less the new), ``scale`` (exp of a step), ``weight``
    (linear in exp of a below), ``state`` (a sum as it was), ``scaled`` (it times the scale), ``next`` (a scaled one with
    weights added) or ``other``. ``name`` is the carried variable that it belongs to, ``base`` the exponential.
    """

    kind: str
    name: str = ""
    base: str = ""


_FREE, _OTHER = Value("free"), Value("other")


def softmax_state(loop: cst.For | cst.While, imports: Mapping[str, str]) -> SoftmaxState | None:
    """The running maximum that ``loop`` carries and the sums of weights relative to it; None where it carries anything else
    (but addresses that move by the same each time, and the counter that a ``while`` tests), or where that cannot be proven.
    ``imports`` are those of its module."""
    carried = carried_names(loop)
    moved = {name for name in carried if _moves_evenly(loop, name)}
    if isinstance(loop, cst.While):
        moved |= carried & names_in(loop.test)
    for maximum in sorted(carried - moved):
        sums = carried - moved - {maximum}
        values = _Body(maximum, sums, imports).run(loop) if sums else None
        if values is None or values.get(maximum, _OTHER) != Value("new", maximum):
            continue
        ends = [values.get(name, _OTHER) for name in sums]
        grown = all(end.kind == "next" and end.name == name for end, name in zip(ends, sums))
        if grown and len({end.base for end in ends}) == 1:
            return SoftmaxState(maximum, frozenset(sums), ends[0].base)
    return None


def _moves_evenly(loop: cst.For | cst.While, name: str) -> bool:
    """Whether ``name`` only grows by something that no iteration changes."""
    updates = [update for update in assignments(loop.body) if name in bound_names(update)]
    if len(updates) != 1 or not any(updates[0] is statement for statement in statements(loop.body)):
        return False
    (update,) = updates
    if not isinstance(update, cst.AugAssign) or not isinstance(update.operator, cst.AddAssign):
        return False
    bound = loop_variables(loop) if isinstance(loop, cst.For) else set()
    changing = bound | {one for other in assignments(loop.body) for one in bound_names(other)}
    calls = any(isinstance(node, cst.Call) for node in walk(update.value))
    return not calls and not names_in(update.value) & changing


class _Body:
    """Follows one iteration, statement by statement."""

    def __init__(self, maximum: str, sums: set[str], imports: Mapping[str, str]) -> None:
        self.imports = imports
        self.maximum = maximum
        self.values: dict[str, Value] = {maximum: Value("old", maximum)}
        self.values.update({name: Value("state", name) for name in sums})

    def run(self, loop: cst.For | cst.While) -> Mapping[str, Value] | None:
        for statement in statements(loop.body):
            if isinstance(statement, cst.Assign):
                self._bind([target.target for target in statement.targets], statement.value)
            elif isinstance(statement, cst.AnnAssign):
                if statement.value is not None:
                    self._bind([statement.target], statement.value)
            elif isinstance(statement, cst.AugAssign):
                name = dotted_name(statement.target)
                if name is None:
                    return None
                self.values[name] = self._operation(
                    sign_of(statement.operator), self._name(name), self.value(statement.value)
                )
            elif isinstance(statement, (cst.Expr, cst.Pass)):
                # A store would be made by each part; a call that changes nothing has no statement to itself.
                if not isinstance(statement, cst.Pass) and not isinstance(statement.value, cst.BaseString):
                    return None
            elif not self._apart(statement):
                return None
        return self.values

    def _apart(self, statement: cst.CSTNode) -> bool:
        """Whether a branch or an inner loop has nothing to do with the softmax."""
        if not isinstance(statement, (cst.If, cst.For)) or any(
            isinstance(node, (cst.Break, cst.Continue, cst.Return)) for node in walk(statement)
        ):
            return False
        names = names_in(statement)
        return all(self._name(name).kind == "free" for name in names)

    def _bind(self, targets: Sequence[cst.BaseExpression], value: cst.BaseExpression) -> None:
        found = self.value(value)
        for target in targets:
            name = dotted_name(target)
            if name is not None:
                self.values[name] = found
                continue
            for inner in names_in(target):
                self.values[inner] = found if found == _FREE else _OTHER

    def _name(self, name: str) -> Value:
        return self.values.get(name, _FREE)

    # -- expressions --

    def value(self, node: cst.BaseExpression) -> Value:
        """What ``node`` is to the softmax."""
        name = dotted_name(node)
        if name is not None and name in self.values:
            return self.values[name]
        if all(self._name(inner).kind == "free" for inner in names_in(node)):
            return _FREE
        if isinstance(node, cst.Subscript):
            # Of a block, only new axes can be asked for.
            return self.value(node.value)
        if isinstance(node, cst.BinaryOperation):
            return self._operation(sign_of(node.operator), self.value(node.left), self.value(node.right))
        return self._call(node) if isinstance(node, cst.Call) else _OTHER

    def _call(self, node: cst.Call) -> Value:
        positional = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
        keywords = {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
        origin = origin_of(node.func, self.imports) or ""
        function = origin.rpartition(".")[2] if origin.startswith("triton.") else ""
        if not function and isinstance(node.func, cst.Attribute):
            # A method of a block.
            function, positional = node.func.attr.value, [node.func.value, *positional]
        values = [self.value(one) for one in positional]
        named = {name: self.value(one) for name, one in keywords.items()}
        if not values:
            return _OTHER
        if function in _SAME_VALUES and all(one == _FREE for one in (*values[1:], *named.values())):
            return (
                values[0] if values[0].kind in ("weight", "old", "new", "scale", "state", "scaled", "next") else _OTHER
            )
        if (
            function == "sum"
            and values[0].kind == "weight"
            and all(one == _FREE for one in (*values[1:], *named.values()))
        ):
            return values[0]
        if function == "maximum" and len(values) == 2 and not named:
            pair = sorted(values, key=lambda one: one.kind != "old")
            return Value("new", pair[0].name) if pair[0].kind == "old" and pair[1] == _FREE else _OTHER
        if function in _EXPONENTIALS and len(values) == 1 and not named:
            kind = {"below": "weight", "step": "scale"}.get(values[0].kind)
            return Value(kind, "", function) if kind is not None else _OTHER
        if function == "where" and len(values) == 3 and not named and values[0] == _FREE:
            kept = [one for one, node_ in zip(values[1:], positional[1:]) if not _is_zero(node_)]
            return kept[0] if len(kept) == 1 and kept[0].kind == "weight" else _OTHER
        if function == "dot":
            return self._dot(values, named)
        return _OTHER

    def _dot(self, values: Sequence[Value], named: Mapping[str, Value]) -> Value:
        added = values[2] if len(values) > 2 else named.get("acc")
        rest = [*values[3:], *(value for name, value in named.items() if name != "acc")]
        if len(values) < 2 or any(value != _FREE for value in rest):
            return _OTHER
        product = self._operation("*", values[0], values[1])
        return product if added is None else self._operation("+", added, product)

    def _operation(self, operator: str, left: Value, right: Value) -> Value:
        if left == _FREE and right == _FREE:
            return _FREE
        if operator == "-":
            if right.kind == "new" and left.kind in ("free", "old"):
                return Value("below" if left.kind == "free" else "step")
            return _OTHER
        if operator == "*":
            return _first(_times(left, right), _times(right, left))
        if operator == "+":
            return _first(_plus(left, right), _plus(right, left))
        if operator == "/" and left.kind == "weight" and right == _FREE:
            return left
        return _OTHER


def _first(left: Value, right: Value) -> Value:
    return left if left != _OTHER else right


def _times(left: Value, right: Value) -> Value:
    if left.kind == "weight" and right == _FREE:
        return left
    if left.kind == "state" and right.kind == "scale":
        return Value("scaled", left.name, right.base)
    return _OTHER


def _plus(left: Value, right: Value) -> Value:
    if left.base == right.base and right.kind == "weight":
        if left.kind in ("scaled", "next"):
            return Value("next", left.name, left.base)
        if left.kind == "weight":
            return left
    return _OTHER


def _is_zero(node: cst.BaseExpression) -> bool:
    return isinstance(node, (cst.Integer, cst.Float)) and node.evaluated_value == 0
