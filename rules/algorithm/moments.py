"""Loops that add up polynomials of what they load: sums that moments about any other centre give as well."""

from __future__ import annotations

import libcst as cst

from kernlint.rules.finding import Context
from kernlint.rules.helpers import written_out
from kernlint.rules.source import assignments, carried_names, node_at, statements
from kernlint.syntax.walk import walk
from kernlint.workload import Loop

_SUMS = (cst.Add, cst.Subtract)
_SUMS_IN_PLACE = (cst.AddAssign, cst.SubtractAssign)
#: Functions whose first argument's elements come out as they went in, or added up.
_KEEPING = frozenset({"to", "cast", "sum", "reshape", "expand_dims", "broadcast_to", "view"})


def sums_polynomials(context: Context, loop: Loop) -> bool:
    """Whether all that ``loop`` hands on are sums of polynomials of the values that it loads.

    The coefficients may be whatever was known before the loop, so that such a sum about a mean follows from sums about any
    other number. Read from the text: sums, products and whole powers of loaded values, masks that do not depend on them.
    """
    statement = node_at(context, loop.span, cst.For)
    if statement is None:
        return False
    body = written_out(statement.body, context.program.kernel)
    # A pointer that moves on is carried too, but nothing that is loaded reaches it.
    carried = carried_names(statement.with_changes(body=body))
    return _Sums(carried & _reached(body)).suite(body)


def _reached(body: cst.BaseSuite) -> set[str]:
    """The names in ``body`` that get a value which depends on a load in it."""
    found: set[str] = set()
    for _ in range(2):  # once more for what one iteration hands to the next
        for assignment in assignments(body):
            if assignment.value is not None and _depends(assignment.value, found):
                targets = assignment.targets if isinstance(assignment, cst.Assign) else [assignment]
                found |= {t.target.value for t in targets if isinstance(t.target, cst.Name)}
    return found


def _depends(node: cst.CSTNode, data: set[str]) -> bool:
    """Whether ``node`` loads something or uses one of the names ``data``."""
    return any(
        (isinstance(inner, cst.Name) and inner.value in data)
        or (isinstance(inner, cst.Call) and _called(inner) == "load")
        for inner in walk(node)
    )


class _Sums:
    """Follows a loop body: ``carried`` are the running sums, ``data`` the names that hold values of this iteration."""

    def __init__(self, carried: set[str]) -> None:
        self.carried = carried
        self.data: set[str] = set()
        self.products = False

    def suite(self, body: cst.BaseSuite) -> bool:
        for statement in statements(body):
            if isinstance(statement, cst.AugAssign):
                if not self._step(statement.target, statement.operator, statement.value):
                    return False
            elif isinstance(statement, (cst.Assign, cst.AnnAssign)):
                if not self._assignment(statement):
                    return False
            elif not (isinstance(statement, cst.Expr) and isinstance(statement.value, cst.BaseString)):
                return False
        return self.products

    def _step(self, target: cst.BaseExpression, operator: cst.BaseAugOp, value: cst.BaseExpression) -> bool:
        if not isinstance(target, cst.Name) or self._mentions(value, self.carried):
            return False
        if target.value in self.carried:
            return isinstance(operator, _SUMS_IN_PLACE) and self._polynomial(value)
        # A value of this iteration, changed in place.
        if isinstance(operator, (cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign)):
            if self._is_data(value):
                self.products |= isinstance(operator, cst.MultiplyAssign) and target.value in self.data
                self.data.add(target.value)
            return self._polynomial(value)
        return isinstance(operator, cst.DivideAssign) and not self._is_data(value)

    def _assignment(self, statement: cst.Assign | cst.AnnAssign) -> bool:
        targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
        value = statement.value
        if value is None or len(targets) != 1 or not isinstance(targets[0], cst.Name):
            return False
        name = targets[0].value
        if name in self.carried:
            return self._sum_of(name, value)
        if self._mentions(value, self.carried) or not self._polynomial(value):
            return False
        if self._is_data(value):
            self.data.add(name)
        return True

    def _sum_of(self, name: str, value: cst.BaseExpression) -> bool:
        """Whether ``value`` is ``name`` with a polynomial added."""
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, _SUMS):
            sides = [value.left] if isinstance(value.operator, cst.Subtract) else [value.left, value.right]
            for side in sides:
                if isinstance(side, cst.Name) and side.value == name:
                    rest = value.right if side is value.left else value.left
                    return not self._mentions(rest, self.carried) and self._polynomial(rest)
        return False

    def _polynomial(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is a polynomial of the values loaded, or has nothing to do with them."""
        if not self._is_data(node) or isinstance(node, cst.Name):
            return True
        if isinstance(node, cst.BinaryOperation):
            return self._operation(node)
        if isinstance(node, cst.UnaryOperation):
            return isinstance(node.operator, (cst.Minus, cst.Plus)) and self._polynomial(node.expression)
        if isinstance(node, cst.Subscript):
            return self._polynomial(node.value)
        return isinstance(node, cst.Call) and self._call(node)

    def _operation(self, node: cst.BinaryOperation) -> bool:
        left, right = self._is_data(node.left), self._is_data(node.right)
        if isinstance(node.operator, cst.Power):
            exponent = node.right.value if isinstance(node.right, cst.Integer) else ""
            self.products |= left
            return exponent in ("2", "3", "4") and self._polynomial(node.left)
        if isinstance(node.operator, cst.Divide):
            return not right and self._polynomial(node.left)
        if isinstance(node.operator, cst.Multiply):
            self.products |= left and right
        elif not isinstance(node.operator, _SUMS):
            return False
        return self._polynomial(node.left) and self._polynomial(node.right)

    def _call(self, node: cst.Call) -> bool:
        name = _called(node)
        arguments = [argument.value for argument in node.args]
        if name == "load":
            # Through an index that was loaded itself the values are another function of it.
            return not any(self._is_data(argument) for argument in arguments)
        if name == "where" and len(arguments) == 3:
            return not self._is_data(arguments[0]) and all(map(self._polynomial, arguments[1:]))
        if name not in _KEEPING:
            return False
        subject = node.func.value if isinstance(node.func, cst.Attribute) else None
        method = subject is not None and self._is_data(subject)
        values, rest = ([subject], arguments) if method else (arguments[:1], arguments[1:])
        return not any(map(self._is_data, rest)) and all(v is not None and self._polynomial(v) for v in values)

    def _is_data(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` depends on what this iteration loads."""
        return _depends(node, self.data)

    def _mentions(self, node: cst.CSTNode, names: set[str]) -> bool:
        """Whether ``node`` uses one of ``names``."""
        return any(isinstance(inner, cst.Name) and inner.value in names for inner in walk(node))


def _called(call: cst.Call) -> str:
    function = call.func
    if isinstance(function, cst.Attribute):
        return function.attr.value
    return function.value if isinstance(function, cst.Name) else ""
