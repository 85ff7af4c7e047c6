"""Factors of a dot's operands are applied once to its sum, behind the loop: what scales each step alike can wait."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.rewrite.accumulators import float_sum
from kernlint.rewrite.bindings import keeps_value, reached, variable
from kernlint.rewrite.comments import SPEAKS_OF_SCALES
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.syntax.walk import walk
from kernlint.workload import Dot, Operand


def hoist_factors(source: Source, call: cst.Call, dot: Dot) -> list[TextEdit]:
    """Edits that take the factors of the operands of ``dot``, which ``call`` makes, out of the loop that sums it up. That they are the
    same along the contracted axis and in each step is proven from values; here their names have to say the same behind the loop."""
    if any(arg.keyword is not None or arg.star for arg in call.args[:2]):
        raise CannotRewrite("the operands are passed by keyword")
    name, loop = float_sum(source, call)
    inside = {id(node) for node in walk(loop)}
    factors: list[str] = []
    edits: list[TextEdit] = []
    for operand, arg, axis in ((dot.a, call.args[0], 0), (dot.b, call.args[1], 1)):
        if operand.unscaled is not None:
            if operand.unscaled.offsets:
                raise CannotRewrite("an operand is moved by an offset, which takes sums of the other one")
            tile, found = _unwrapped(source, operand.unscaled, inside)
            factors += [_text(source, one, axis) for one in found]
            edits += _unscaled(source, _outermost(source, operand.unscaled), tile, arg.value)
    return [*edits, source.insert_after(loop, f"{name} = {' * '.join((name, *factors))}")]


def _products(source: Source, operand: Operand) -> list[cst.BinaryOperation]:
    """The multiplications by the factors, the outermost first."""
    found = [source.at(span, cst.BinaryOperation) for span in operand.factors]
    return sorted(found, key=lambda node: -len(source.code(node)))


def _outermost(source: Source, operand: Operand) -> cst.BinaryOperation:
    return _products(source, operand)[0]


def _unwrapped(
    source: Source, operand: Operand, inside: set[int]
) -> tuple[cst.BaseExpression, list[cst.BaseExpression]]:
    """The tile without its factors, and these."""
    products = _products(source, operand)
    tile: cst.BaseExpression = products[0]
    factors = []
    for product in products:
        if product is not tile:
            raise CannotRewrite("the factors of an operand stand in more than one expression")
        sides = [side for side in (product.left, product.right) if not _is_set_in(source, side, inside)]
        if len(sides) != 1 or not isinstance(product.operator, cst.Multiply):
            raise CannotRewrite("it is not told apart which side of a product is its factor")
        factors.append(sides[0])
        tile = product.right if sides[0] is product.left else product.left
    return tile, factors


def _is_set_in(source: Source, node: cst.CSTNode, inside: set[int]) -> bool:
    """Whether a name in ``node`` gets its value in the loop."""
    function = source.function(node)
    names = {one.value for one in walk(node) if isinstance(one, cst.Name)}
    return function is None or any(id(b) in inside for name in names for b in variable(source, name, function).bindings)


def _text(source: Source, factor: cst.BaseExpression, axis: int) -> str:
    """``factor`` as one of the sum's: a number, an argument of the kernel, or a vector along ``axis`` that is one of the sum's too."""
    if isinstance(factor, cst.Float):
        return source.code(factor)
    function = source.function(factor)
    if isinstance(factor, cst.Name) and function is not None:
        bound = variable(source, factor.value, function).bindings
        if len(bound) == 1 and (isinstance(bound[0], cst.Param) or _loads_one(source, bound[0])):
            return factor.value
    if isinstance(factor, cst.Subscript) and isinstance(factor.value, cst.Name) and len(factor.slice) == 2:
        kinds = [_index(one) for one in factor.slice]
        if (kinds == [":", "None"] and axis == 0) or (kinds == ["None", ":"] and axis == 1):
            return source.code(factor)
    raise CannotRewrite("a factor is no number, argument or vector along an axis of the product")


def _loads_one(source: Source, binding: cst.CSTNode) -> bool:
    """Whether ``binding`` gives its name the value at a pointer as it was passed."""
    call = binding.value if isinstance(binding, cst.Assign) and len(binding.targets) == 1 else None
    if not isinstance(call, cst.Call) or source.origin(call.func) != "triton.language.load" or len(call.args) != 1:
        return False
    pointer, function = call.args[0].value, source.function(binding)
    if not isinstance(pointer, cst.Name) or function is None:
        return False
    return all(isinstance(one, cst.Param) for one in variable(source, pointer.value, function).bindings)


def _index(element: cst.SubscriptElement) -> str:
    one = element.slice
    if isinstance(one, cst.Slice):
        return ":" if one.lower is one.upper is one.step is None else ""
    return (
        "None" if isinstance(one, cst.Index) and isinstance(one.value, cst.Name) and one.value.value == "None" else ""
    )


def _unscaled(
    source: Source, scaled: cst.BinaryOperation, tile: cst.BaseExpression, fed: cst.BaseExpression
) -> Sequence[TextEdit]:
    """The dot fed with ``tile`` where it was ``scaled``: in its argument, or in a variable that nothing else reads."""
    if fed is scaled:
        return source.keep_only(scaled, tile)
    statement, function = source.statement(scaled), source.function(scaled)
    target = statement.targets[0].target if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
    if not isinstance(statement, cst.Assign) or statement.value is not scaled or function is None:
        raise CannotRewrite("a scaled operand is no argument of the dot and has no variable of its own")
    if not isinstance(target, cst.Name) or not isinstance(fed, cst.Name) or fed.value != target.value:
        raise CannotRewrite("the dot is fed with more than the scaled operand")
    reads = reached(source, statement, variable(source, target.value, function))
    if len(reads) != 1 or reads[0] is not fed:
        raise CannotRewrite(f"`{target.value}` is read by more than the dot")
    if isinstance(tile, cst.Name) and tile.value == target.value:
        return [*source.delete_statements([statement]), *_said(source, statement)]
    if isinstance(tile, cst.Name) and keeps_value(source, tile.value, statement, reads):
        gone = [*source.delete_statements([statement]), source.replace(fed, tile.value)]
        return [*gone, *_said(source, statement)]
    return [*source.keep_only(scaled, tile), *_said(source, statement)]


def _said(source: Source, statement: cst.CSTNode) -> list[TextEdit]:
    """What is said above ``statement`` about the factor, taken out."""
    said = [comment for comment in source.heading(statement) if SPEAKS_OF_SCALES.search(comment.text)]
    return [*map(source.delete_comment, said)]


def line_edits(before: str, after: str) -> Iterable[TextEdit]:
    """``after`` as edits of whole lines of ``before``; what became of their comments is known."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield TextEdit(starts[a], starts[b], "".join(new[c:d]).replace("\r\n", "\n"), describes=True)
