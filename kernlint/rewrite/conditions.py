"""Conditions on blocks: Python's operators and branches as what Triton computes element by element."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.bindings import suite, variable
from kernlint.rewrite.conversions import origin_expression
from kernlint.rewrite.mended_faults import mends
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.kl744_unparenthesised_mask import Parenthesised, joins
from kernlint.rules.faults import MendedFault
from kernlint.syntax.walk import walk


@codemod(Parenthesised)
def parenthesised(site: Site, transform: Parenthesised) -> list[TextEdit]:
    """``a >= lo & a < n`` becomes ``(a >= lo) & (a < n)``."""
    source = site.source
    comparison = source.at(transform.place, cst.Comparison)
    edits: list[TextEdit] = []
    operands = [comparison.left, *(target.comparator for target in comparison.comparisons)]
    starts = [source.whole(operands[0])[0]]
    ends: list[int] = []
    for operand in operands:
        if joins(operand):
            assert isinstance(operand, cst.BinaryOperation)
            if any(joins(side) for side in (operand.left, operand.right)):
                raise CannotRewrite("several `&` stand between two comparisons")
            ends.append(source.whole(operand.left)[1])
            starts.append(source.whole(operand.right)[0])
    ends.append(source.whole(operands[-1])[1])
    for start, end in zip(starts, ends):
        if _is_comparison(comparison, source, start, end):
            edits += [TextEdit(start, start, "("), TextEdit(end, end, ")")]
    return edits


def _is_comparison(comparison: cst.Comparison, source: Source, start: int, end: int) -> bool:
    """Whether an operator of ``comparison`` stands between two offsets."""
    return any(start <= source.start(target.operator) < end for target in comparison.comparisons)


@mends("boolean-operand", "boolean-on-block")
def bitwise(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``a < n and not skip`` becomes ``(a < n) & (skip == 0)``."""
    source = site.source
    node = source.expression_at(fault.place)
    # The outermost operator of the chain: parts of it are no blocks any more otherwise.
    while isinstance(above := source.parent(node), (cst.BooleanOperation, cst.UnaryOperation)) and _is_boolean(above):
        node = above
    if not _is_boolean(node):
        raise CannotRewrite("the operator does not stand in this expression")
    return [TextEdit(*source.range_of(node), _element_by_element(source, node))]


def _is_boolean(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BooleanOperation) or (
        isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
    )


def _element_by_element(source: Source, node: cst.BaseExpression) -> str:
    """The text of ``node``, an `and`, `or` or `not`, as a boolean block that is computed element by element."""
    if isinstance(node, cst.BooleanOperation):
        operator = "&" if isinstance(node.operator, cst.And) else "|"
        return f"{_operand(source, node.left)} {operator} {_operand(source, node.right)}"
    assert isinstance(node, cst.UnaryOperation)
    return f"{_tight(source, node.expression)} == 0"


def _operand(source: Source, node: cst.BaseExpression) -> str:
    """An operand of `&` or `|`: boolean, and in parentheses unless it binds tighter."""
    if _is_boolean(node):
        return f"({_element_by_element(source, node)})"
    if not _is_mask(origin_expression(source, node)):
        return f"({_tight(source, node)} != 0)"
    return node.value if isinstance(node, cst.Name) else _tight(source, node)


def _is_mask(node: cst.BaseExpression) -> bool:
    """Whether ``node`` is boolean by its form: a comparison, or such joined by bit operators."""
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, (cst.BitAnd, cst.BitOr)) and _is_mask(node.left) and _is_mask(node.right)
    return isinstance(node, cst.Comparison)


@mends("block-condition")
def chosen_by_where(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``a if block else b``, and an ``if block:`` that gives one variable a value, become ``tl.where``."""
    source = site.source
    test = source.expression_at(fault.place)
    above = source.parent(test)
    where = source.spelled("triton.language.where")
    if isinstance(above, cst.IfExp) and above.test is test:
        _check_pure(source, above.body, above.orelse)
        parts = [_whole_block(source, test), _argument(source, above.body), _argument(source, above.orelse)]
        return [source.replace(above, f"{where}({', '.join(parts)})")]
    if not isinstance(above, cst.If) or above.test is not test:
        raise CannotRewrite("the condition is not that of an `if`")
    name, value = _only_assignment(source, above.body)
    otherwise = name
    if isinstance(above.orelse, cst.Else):
        other, otherwise = _only_assignment(source, above.orelse.body)
        if other != name:
            raise CannotRewrite("the two arms give values to different variables")
    elif above.orelse is not None:
        raise CannotRewrite("the `if` has an `elif`")
    elif not _is_bound_before(source, above, name):
        raise CannotRewrite(f"`{name}` has no value where the condition fails")
    start, end = source.range_of(above)
    indent = source.indent_of(above)
    text = f"{name} = {where}({_whole_block(source, test)}, {value}, {otherwise})"
    line = source.line_start(source.line(start))
    if source.comments_in(start, source.line_end(end - 1)):
        raise CannotRewrite("comments stand in the `if`")
    return [TextEdit(line, source.line_end(source.end(above)), f"{indent}{text}\n")]


def _whole_block(source: Source, test: cst.BaseExpression) -> str:
    """The text of a condition as one that is computed element by element."""
    return _element_by_element(source, test) if _is_boolean(test) else _argument(source, test)


def _argument(source: Source, node: cst.BaseExpression) -> str:
    """The text of ``node`` as an argument. Raises where Python reads it as several, or where it is no number."""
    if isinstance(node, (cst.Tuple, cst.List)):
        raise CannotRewrite("a value is made of several")
    return source.full_code(node)


def _only_assignment(source: Source, block: cst.BaseSuite) -> tuple[str, str]:
    """(variable, text of its value) of a block whose one statement is an assignment."""
    lines = block.body if isinstance(block, cst.IndentedBlock) else ()
    parts = lines[0].body if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine) else ()
    (statement,) = parts if len(parts) == 1 else (None,)
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
        if isinstance(target, cst.Name):
            _check_pure(source, statement.value)
            return target.value, _argument(source, statement.value)
    if isinstance(statement, cst.AugAssign) and isinstance(statement.target, cst.Name):
        _check_pure(source, statement.value)
        operator = source.code(statement.operator).rstrip("=")
        name = statement.target.value
        return name, f"{name} {operator} {_tight(source, statement.value)}"
    raise CannotRewrite("an arm of the `if` does more than give one variable a value")


def _tight(source: Source, node: cst.BaseExpression) -> str:
    """The text of an operand, in parentheses unless it has some or is a name, a call or a number."""
    if _is_boolean(node):
        return f"({_element_by_element(source, node)})"
    text = source.full_code(node)
    return (
        text
        if node.lpar or isinstance(node, (cst.Name, cst.Call, cst.Subscript, cst.Integer, cst.Float))
        else f"({text})"
    )


def _check_pure(source: Source, *nodes: cst.BaseExpression) -> None:
    """Raise where one of ``nodes`` touches memory: both values are computed for each element."""
    for node in nodes:
        for call in walk(node):
            if isinstance(call, cst.Call) and not (source.origin(call.func) or "").startswith("triton.language."):
                raise CannotRewrite("a value is made by a call that may do more than compute it")
            name = (source.origin(call.func) or "").rpartition(".")[2] if isinstance(call, cst.Call) else ""
            if name in ("load", "store", "debug_barrier") or name.startswith("atomic"):
                raise CannotRewrite("a value is made by a memory access, which would be made for each element")


def _is_bound_before(source: Source, statement: cst.If, name: str) -> bool:
    """Whether ``name`` surely has a value at ``statement``: a parameter, or bound above in the same block or one around."""
    function = source.function(statement)
    if function is None:
        return False
    blocks = {id(one) for one in source.above(statement)}
    return any(
        isinstance(one, cst.Param) or (source.end(one) <= source.start(statement) and id(suite(source, one)) in blocks)
        for one in variable(source, name, function).bindings
    )


@mends("false-assumption")
def assumed_from_zero(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``tl.assume(pid > 0)`` becomes ``tl.assume(pid >= 0)``."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    condition = call.args[0].value if len(call.args) == 1 else None
    if isinstance(condition, cst.Comparison) and len(condition.comparisons) == 1:
        target = condition.comparisons[0]
        operator, right = target.operator, target.comparator
        if isinstance(operator, cst.GreaterThan) and isinstance(right, cst.Integer) and right.evaluated_value == 0:
            return [source.replace(operator, ">=")]
        left = condition.left
        if isinstance(operator, cst.LessThan) and isinstance(left, cst.Integer) and left.evaluated_value == 0:
            return [source.replace(operator, "<=")]
    raise CannotRewrite("the condition is not that something is greater than 0")
