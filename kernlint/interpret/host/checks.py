"""What a program's own checks tell of its arguments: ``assert``, ``if ...: raise``, ``torch._check``.

:func:`holds` and :func:`fails` take a condition that is known to be true or false wherever the call gets to its launches, in
whatever way it is spelt, and make of it what it says: a rank, a size, an element type, a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host.values import ContiguityTest, ShapeOf
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.interpret.values import DtypeOf, Function, Scope, Unknown
from kernlint.records import replace
from kernlint.syntax.names import dotted_name
from kernlint.workload import Dtype, Expr, Opaque, Symbol, Tensor
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState

_RANKS = frozenset({"dim", "ndim", "ndimension"})
#: No tensor has more dimensions than anybody checks for.
MOST_RANKS = 8

_OPPOSITE: dict[type, type] = {
    cst.LessThan: cst.GreaterThanEqual,
    cst.LessThanEqual: cst.GreaterThan,
    cst.GreaterThan: cst.LessThanEqual,
    cst.GreaterThanEqual: cst.LessThan,
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
    cst.In: cst.NotIn,
    cst.NotIn: cst.In,
    cst.Is: cst.IsNot,
    cst.IsNot: cst.Is,
}

_MIRRORED: dict[type, type] = {cst.GreaterThan: cst.LessThan, cst.GreaterThanEqual: cst.LessThanEqual}


def holds(h: HostState, test: cst.BaseExpression, scope: Scope) -> None:
    """``test`` is true wherever the call goes on."""
    test = _spelt_out(h, test)
    _learn(h, test, scope, True)
    delimit(h, test, scope, True)


def fails(h: HostState, test: cst.BaseExpression, scope: Scope) -> None:
    """``test`` is false wherever the call goes on: where it is true, it raises."""
    test = _spelt_out(h, test)
    _learn(h, test, scope, False)
    delimit(h, test, scope, False)


def _spelt_out(h: HostState, test: cst.BaseExpression) -> cst.BaseExpression:
    """``test`` with a name that a check was kept in (``ok = x.dim() == 2``, ``assert ok``) as that check, if it means the same here."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = _spelt_out(h, test.expression)
        return test if inner is test.expression else test.with_changes(expression=inner)
    if isinstance(test, cst.BooleanOperation):
        left, right = _spelt_out(h, test.left), _spelt_out(h, test.right)
        same = left is test.left and right is test.right
        return test if same else test.with_changes(left=left, right=right)
    if not isinstance(test, cst.Name) or not h.calls:
        return test
    bound: dict[str, list[cst.Assign]] = {}
    for node in h.module.own(h.calls[-1].node, cst.Assign):
        for name in (name for target in node.targets for name in h.module.within(target.target, cst.Name)):
            bound.setdefault(name.value, []).append(node)
    kept = bound.get(test.value, [])
    if len(kept) != 1 or not isinstance(kept[0].targets[0].target, cst.Name) or len(kept[0].targets) > 1:
        return test
    check, line = kept[0].value, h.span(kept[0]).line
    names = {name.value for name in h.module.within(check, cst.Name)}
    changed = any(h.span(node).line > line for name in names for node in bound.get(name, ()))
    is_check = isinstance(check, (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation, cst.Call))
    return check if is_check and not changed else test


def one_holds(h: HostState, tests: Sequence[cst.BaseExpression], scope: Scope) -> None:
    """One of ``tests``, if there are any, is true wherever the call goes on."""
    if len(tests) == 1:
        holds(h, tests[0], scope)
    elif tests:
        _learn_one_of(h, tests, scope)


def narrowed(h: HostState, test: cst.BaseExpression, scope: Scope, truth: bool) -> dict[str, Tensor]:
    """The names of tensors whose element type follows, on this way alone, from ``test`` being true, or false."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return narrowed(h, test.expression, scope, not truth)
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And) == truth:
        return narrowed(h, test.left, scope, truth) | narrowed(h, test.right, scope, truth)
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return {}
    operator = type(test.comparisons[0].operator)
    name, _, asked = (dotted_name(test.left) or "").rpartition(".")
    if (operator if truth else _OPPOSITE.get(operator)) not in (cst.Equal, cst.Is) or asked != "dtype":
        return {}
    tensor = scope.get(name)
    with h.silent():
        dtype = h.eval(test.comparisons[0].comparator, scope)
    known = isinstance(tensor, Tensor) and isinstance(dtype, Dtype)
    tensor = h.current(tensor) if known else tensor
    return {name: replace(tensor, dtype=dtype)} if known and tensor.dtype is None else {}


def delimit(h: HostState, test: cst.BaseExpression, scope: Scope, truth: bool) -> None:
    """Keep the bounds that follow from ``test`` being true, or false."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        delimit(h, test.expression, scope, not truth)
    elif isinstance(test, cst.BooleanOperation):
        if isinstance(test.operator, cst.And) == truth:
            delimit(h, test.left, scope, truth)
            delimit(h, test.right, scope, truth)
    elif isinstance(test, cst.Comparison):
        if len(test.comparisons) > 1 and not truth:
            return
        with h.silent():
            left = h.eval(test.left, scope)
            for target in test.comparisons:
                right = h.eval(target.comparator, scope)
                if all(isinstance(v, (int, Expr)) and not isinstance(v, bool) for v in (left, right)):
                    _compared(h, type(target.operator), ex.lift(left), ex.lift(right), truth)
                left = right
    elif not truth:
        with h.silent():
            value = h.eval(test, scope)
        if isinstance(value, Expr) and value.value is None:
            h.zeros.append(value)


def _compared(h: HostState, operator: type, left: Expr, right: Expr, truth: bool) -> None:
    if not truth:
        operator = _OPPOSITE.get(operator, operator)
    if operator in (cst.GreaterThan, cst.GreaterThanEqual):
        left, right, operator = right, left, _MIRRORED[operator]
    if operator is cst.LessThan:
        h.bounds.append((left, right))
    elif operator is cst.LessThanEqual:
        h.bounds.append((left, right + 1))
    elif operator is cst.Equal and (left - right).value is None:
        h.zeros += (left - right, *_of_all_elements(left - right))


def _of_all_elements(zero: Expr) -> Iterator[Expr]:
    """What the rest of an extent after division, which is ``zero``, says of the number of elements of its tensor: it is a multiple
    of whatever the extent is."""
    for atom in zero.atoms():
        if isinstance(atom, Opaque) and atom.op == "mod" and zero == Expr.atom(atom):
            extent = open_size(atom.args[0])
            tensor, found, _ = extent.name.partition(".shape[") if extent is not None else ("", "", "")
            if found:
                yield ex.lift(ex.mod(Expr.atom(Symbol(f"{tensor}.numel")), atom.args[1]))


def _learn(h: HostState, test: cst.BaseExpression, scope: Scope, truth: bool) -> None:
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        _learn(h, test.expression, scope, not truth)
    elif isinstance(test, cst.BooleanOperation):
        if isinstance(test.operator, cst.And) == truth:
            _learn(h, test.left, scope, truth)
            _learn(h, test.right, scope, truth)
        elif truth:
            _learn_one_of(h, [test], scope)
    elif isinstance(test, cst.Comparison):
        if len(test.comparisons) > 1 and not truth:
            return  # one of several does not hold: nobody knows which
        left_node, left = test.left, _compared_value(h, test.left, scope)
        for target in test.comparisons:
            right = _compared_value(h, target.comparator, scope)
            operator = type(target.operator) if truth else _OPPOSITE.get(type(target.operator), type(None))
            if operator in (cst.Equal, cst.Is):
                _equate(h, left_node, left, target.comparator, right, scope)
            elif operator is cst.In and isinstance(right, (tuple, list)):
                _one_of(h, left_node, left, right, scope)
            left_node, left = target.comparator, right
    else:
        _learn_value(h, test, scope, truth)


def _compared_value(h: HostState, node: cst.BaseExpression, scope: Scope) -> Any:
    """The value of one side of a comparison, for which it does not matter whether a shape is made a list or a tuple."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in ("list", "tuple"):
        node = node.args[0].value if len(node.args) == 1 else node
    return h.eval(node, scope)


def _learn_value(h: HostState, test: cst.BaseExpression, scope: Scope, truth: bool) -> None:
    """``test``, no comparison, is true, or false."""
    called = test if isinstance(test, cst.Call) else None
    name = called.func.value if called is not None and isinstance(called.func, cst.Name) else ""
    predicate = scope.get(name) if name else None
    if called is not None and name == ("all" if truth else "any") and len(called.args) == 1:
        _learn_each(h, called.args[0].value, scope, truth)
    elif called is not None and isinstance(predicate, Function):
        _learn_of_predicate(h, predicate, called, scope, truth)
    elif truth:
        value = h.eval(test, scope)
        if isinstance(value, ContiguityTest):
            make_contiguous(h, value.tensor)


def _learn_of_predicate(h: HostState, predicate: Function, call: cst.Call, scope: Scope, truth: bool) -> None:
    """What ``predicate`` returns for the arguments of ``call`` is true, or false: so is what it returns at its end, and nothing holds
    by which it would have returned the opposite before."""
    recurs = any(one.node is predicate.node for one in h.calls)
    if recurs or not isinstance(predicate.node, cst.FunctionDef) or any(arg.star for arg in call.args):
        return
    with h.silent():
        given = [(arg.keyword.value if arg.keyword else None, h.eval(arg.value, scope)) for arg in call.args]
        inner = Scope(predicate.closure)
        h.bind(predicate, [one for key, one in given if key is None], {k: one for k, one in given if k}, inner)
        h.calls.append(predicate)
        try:
            with h.within(predicate.module):
                _learn_of_body(h, predicate.node.body.body, inner, truth)
        finally:
            h.calls.pop()


def _learn_of_body(h: HostState, body: Sequence[cst.CSTNode], scope: Scope, truth: bool) -> None:
    for statement in body:
        if isinstance(statement, cst.If):
            last = statement.body.body[-1]
            returned = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
            said = returned.value if isinstance(returned, cst.Return) else None
            opposite = isinstance(said, cst.Name) and said.value == str(not truth)
            if not opposite or statement.orelse is not None or len(statement.body.body) > 1:
                return
            fails(h, statement.test, scope)
        elif not isinstance(statement, cst.SimpleStatementLine):
            return
        elif isinstance(returned := statement.body[-1], cst.Return):
            if returned.value is not None:
                (holds if truth else fails)(h, returned.value, scope)
            return
        elif isinstance(returned, cst.Assign):
            h.execute(statement, scope)


def _learn_each(h: HostState, clause: cst.BaseExpression, scope: Scope, truth: bool) -> None:
    """``all(test(x) for x in (a, b))``, or ``all([...])`` of tests, is true; ``any`` of them is false."""
    if isinstance(clause, (cst.List, cst.Tuple)):
        for element in clause.elements:
            _learn(h, element.value, scope, truth)
    elif isinstance(clause, (cst.GeneratorExp, cst.ListComp)):
        for_in = clause.for_in
        items = h.iterate(h.eval(for_in.iter, scope)) if for_in.inner_for_in is None and not for_in.ifs else None
        for item in items or ():
            inner = Scope(scope)
            h.assign(for_in.target, item, inner)
            _learn(h, clause.elt, inner, truth)


def _learn_one_of(h: HostState, tests: Sequence[cst.BaseExpression], scope: Scope) -> None:
    """``x.dtype == a or x.dtype == b``, or these one by one, is true: one of them is the case."""
    values: list[Any] = []
    node: cst.BaseExpression | None = None
    waiting: list[cst.BaseExpression] = [*reversed(tests)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, cst.BooleanOperation) and isinstance(part.operator, cst.Or):
            waiting += [part.right, part.left]
            continue
        if not isinstance(part, cst.Comparison) or len(part.comparisons) != 1:
            return
        if node is not None and not node.deep_equals(part.left):
            return
        node = part.left
        operator, value = part.comparisons[0].operator, h.eval(part.comparisons[0].comparator, scope)
        if isinstance(operator, cst.Equal):
            values.append(value)
        elif isinstance(operator, cst.In) and isinstance(value, (tuple, list)):
            values += value
        else:
            return
    if node is not None:
        _one_of(h, node, h.eval(node, scope), values, scope)


def _one_of(h: HostState, node: cst.BaseExpression, value: Any, allowed: Sequence[Any], scope: Scope) -> None:
    """``value``, written ``node``, is one of ``allowed``."""
    if len(allowed) == 1:
        _equate(h, node, value, node, allowed[0], scope)
        return
    owner = typed_by(h, node, value, scope)
    if owner is not None and owner.dtype is None and allowed and all(isinstance(one, Dtype) for one in allowed):
        known = h.dtype_choices.get(owner.name)
        left = tuple(one for one in allowed if known is None or one in known)
        if left:
            h.dtype_choices[owner.name] = left
        return
    symbol = open_size(value)
    numbers = tuple(int(one) for one in allowed if isinstance(one, int) and not isinstance(one, bool))
    if symbol is not None and numbers and len(numbers) == len(allowed):
        h.choices.setdefault(symbol.name, numbers)
        h.bounds.append((ex.lift(min(numbers) - 1), ex.lift(value)))
        h.bounds.append((ex.lift(value), ex.lift(max(numbers) + 1)))
    rank_of = _ranked(h, node, value, scope)
    if rank_of is not None and numbers and len(numbers) == 1:
        h.rank(rank_of, numbers[0])


def typed_by(h: HostState, node: cst.BaseExpression, value: Any, scope: Scope) -> Tensor | None:
    """The tensor whose element type ``node`` asks for, where that is not known."""
    if isinstance(value, DtypeOf) and value.tensor is not None:
        return h.current(value.tensor)
    if isinstance(value, Unknown) and isinstance(node, cst.Attribute) and node.attr.value == "dtype":
        owner = h.eval(node.value, scope)
        return owner if isinstance(owner, Tensor) else None
    return None


def _ranked(h: HostState, node: cst.BaseExpression, value: Any, scope: Scope) -> Tensor | None:
    """The tensor of unknown rank whose rank ``node`` asks for (``x.dim()``, ``len(x.shape)``)."""
    if not isinstance(value, Unknown):
        return None
    asked = node.func if isinstance(node, cst.Call) else node
    if isinstance(asked, cst.Attribute) and asked.attr.value in _RANKS:
        owner = h.eval(asked.value, scope)
        return owner if isinstance(owner, Tensor) else None
    if isinstance(node, cst.Call) and isinstance(asked, cst.Name) and asked.value == "len" and len(node.args) == 1:
        shape = h.eval(node.args[0].value, scope)
        return shape.tensor if isinstance(shape, ShapeOf) else None
    return None


def _equate(h: HostState, left: cst.BaseExpression, a: Any, right: cst.BaseExpression, b: Any, scope: Scope) -> None:
    """``a``, written ``left``, is equal to ``b``, written ``right``."""
    pairs = _paired(left, right)
    for this, that in pairs:
        _equate(h, this, h.eval(this, scope), that, h.eval(that, scope), scope)
    if pairs:
        return
    one, other = typed_by(h, left, a, scope), typed_by(h, right, b, scope)
    if one is not None and other is not None:
        h.alike.append((one, other))
        return
    for owner, dtype in ((one, b), (other, a)):
        if owner is not None and isinstance(dtype, Dtype):
            h.refine(owner, dtype=dtype)
            return
    for node, value, number in ((left, a, b), (right, b, a)):
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST_RANKS:
            owner = _ranked(h, node, value, scope)
            if owner is not None:
                h.rank(owner, number)
                return
    equate_values(h, a, b)


def _paired(left: cst.BaseExpression, right: cst.BaseExpression) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The elements that are equal where ``(a, b) == (c, d)`` holds, or ``{a, b} == {c}``."""
    if not isinstance(left, (cst.Tuple, cst.List, cst.Set)) or type(left) is not type(right):
        return []
    ones, others = [e.value for e in left.elements], [e.value for e in right.elements]
    if isinstance(left, cst.Set):
        others = others * len(ones) if len(others) == 1 else []
    return list(zip(ones, others)) if len(ones) == len(others) else []


def equate_values(h: HostState, a: Any, b: Any) -> None:
    """``a`` and ``b`` are equal, of numbers, shapes and sequences of them."""
    for value, other in ((a, b), (b, a)):
        if isinstance(value, ShapeOf):
            if isinstance(other, ShapeOf):
                equal_shapes(h, value.tensor, other.tensor)
            elif isinstance(other, (tuple, list)) and len(other) <= MOST_RANKS:
                ranked = h.rank(value.tensor, len(other))
                found = h.shape(ranked) if value.what == "shape" else h.strides(ranked)
                if value.what == "shape" and all(isinstance(one, (int, Expr)) for one in other):
                    # Known from here on, and not only when the program is read again.
                    exact = tuple(int(one) if isinstance(one, int) else one for one in other)
                    dense = ranked.storage.id in h.contiguous
                    h.refine(ranked, shape=exact, strides=contiguous_strides(exact) if dense else ranked.strides)
                equate_values(h, found, tuple(other))
            return
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        if len(a) == len(b):
            for x, y in zip(a, b):
                equate_values(h, x, y)
        return
    if isinstance(a, (int, Expr)) and isinstance(b, (int, Expr)) and not isinstance(a, bool):
        for x, y in ((a, b), (b, a)):
            symbol = open_size(x)
            if symbol is not None and symbol not in ex.lift(y).atoms():
                h.learned.setdefault(symbol, y)
                return


def equal_shapes(h: HostState, one: Tensor, other: Tensor) -> None:
    """Two tensors have one shape; where no rank is known yet, they will have it as soon as one is."""
    a, b = h.current(one), h.current(other)
    if a.shape is None and b.shape is None:
        h.same_shape.append((a, b))
        return
    rank = len(a.shape if a.shape is not None else b.shape or ())
    equate_values(h, h.shape(h.rank(a, rank)), h.shape(h.rank(b, rank)))


def open_size(value: Any) -> Symbol | None:
    """The symbol that ``value`` is, if it is one."""
    if not isinstance(value, Expr):
        return None
    atoms = [atom for atom in value.atoms() if isinstance(atom, Symbol)]
    return atoms[0] if len(atoms) == 1 and value == Expr.atom(atoms[0]) else None


def make_contiguous(h: HostState, x: Tensor) -> None:
    """``x`` is contiguous, as soon as its shape is known."""
    x = h.current(x)
    if x.shape is not None and x.strides is None:
        h.refine(x, strides=contiguous_strides(x.shape))
    elif x.shape is None:
        h.contiguous.add(x.storage.id)
