"""Other ways to write a conversion in a kernel."""

from __future__ import annotations

import re

import libcst as cst
from mutators.trees import code, grouped, is_jit


def cast_function(source: str) -> str | None:
    """``x.to(tl.float16)`` as ``tl.cast(x, tl.float16)``."""
    return _converted(source, lambda value, dtype: cst.parse_expression(f"tl.cast({code(value)}, {code(dtype)})"))


def multiplied_casts(source: str) -> str | None:
    """``x.to(tl.float32)`` as ``x * 1.0``, which is the same of an integer."""
    types = set(re.findall(r"torch\.(int\d+|uint8|b?float\d+\w*)", source))
    if not types or any("float" in name for name in types):
        return None

    def multiplied(value: cst.BaseExpression, dtype: cst.BaseExpression) -> cst.BaseExpression:
        if not code(dtype).endswith("float32"):
            return cst.parse_expression(f"{code(grouped(value))}.to({code(dtype)})")
        return cst.parse_expression(f"({code(grouped(value))} * 1.0)")

    return _converted(source, multiplied)


class _Casts(cst.CSTTransformer):
    def __init__(self, change) -> None:  # type: ignore[no-untyped-def]
        self.change = change
        self.inside = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.inside += is_jit(node)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.inside -= is_jit(original_node)
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        function = updated_node.func
        if (
            self.inside
            and isinstance(function, cst.Attribute)
            and function.attr.value == "to"
            and len(updated_node.args) == 1
            and updated_node.args[0].keyword is None
        ):
            return self.change(function.value, updated_node.args[0].value)
        return updated_node


def _converted(source: str, change) -> str | None:  # type: ignore[no-untyped-def]
    new = cst.parse_module(source).visit(_Casts(change)).code
    return new if new != source else None
