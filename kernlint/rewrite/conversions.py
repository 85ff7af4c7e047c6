"""Values in another element type: how a cast is written around an expression."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.bindings import variable
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import TextEdit

#: Expressions that a method call can follow without parentheses.
_TIGHT = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def followed_by(source: Source, node: cst.BaseExpression, method: str) -> list[TextEdit]:
    """Edits that write ``method`` (``.to(tl.float32)``) behind ``node``, in parentheses unless it has some or binds tightly;
    what stands inside ``node`` can be edited too."""
    start, end = source.whole(node)
    if node.lpar or isinstance(node, _TIGHT):
        return [TextEdit(end, end, method)]
    return [TextEdit(start, start, "("), TextEdit(end, end, f"){method}")]


def converted(source: Source, node: cst.BaseExpression, dtype: str) -> list[TextEdit]:
    """Edits that make ``node``, a tensor of a kernel, one of the element type that triton.language calls ``dtype``."""
    return followed_by(source, node, f".to({source.spelled(f'triton.language.{dtype}')})")


def cast(source: Source, node: cst.BaseExpression, dtype: str) -> list[TextEdit]:
    """The same as ``tl.cast(node, dtype)``, which takes compile-time numbers too."""
    start, end = source.whole(node)
    function, target = (source.spelled(f"triton.language.{name}") for name in ("cast", dtype))
    return [TextEdit(start, start, f"{function}("), TextEdit(end, end, f", {target})")]


def origin_expression(source: Source, node: cst.BaseExpression) -> cst.BaseExpression:
    """``node``, or what the variable that it names is assigned, where that is assigned once in its function."""
    for _ in range(20):
        function = source.function(node)
        if not isinstance(node, cst.Name) or function is None:
            return node
        bindings = variable(source, node.value, function).bindings
        value = assigned_value(bindings[0]) if len(bindings) == 1 else None
        if value is None:
            return node
        node = value
    return node


def is_cast_of(source: Source, node: cst.BaseExpression, call: cst.Call) -> bool:
    """Whether ``node`` is what ``call`` gives, behind variables and ``.to(...)``."""
    origin = origin_expression(source, node)
    while isinstance(origin, cst.Call) and origin is not call and isinstance(origin.func, cst.Attribute):
        if origin.func.attr.value != "to":
            return False
        origin = origin_expression(source, origin.func.value)
    return origin is call


def assigned_value(binding: cst.CSTNode) -> cst.BaseExpression | None:
    """What a plain assignment to one name gives it."""
    if (
        isinstance(binding, cst.Assign)
        and len(binding.targets) == 1
        and isinstance(binding.targets[0].target, cst.Name)
    ):
        return binding.value
    return binding.value if isinstance(binding, cst.AnnAssign) else None
