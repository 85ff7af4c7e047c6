"""Other ways to write a conversion in a kernel."""

from __future__ import annotations

import re

import libcst as cst
from mutators.trees import code, grouped, with_calls


def cast_function(module: cst.Module) -> cst.Module | None:
    """``x.to(tl.float16)`` as ``tl.cast(x, tl.float16)``."""
    return _converted(module, lambda value, dtype: cst.parse_expression(f"tl.cast({code(value)}, {code(dtype)})"))


def multiplied_casts(module: cst.Module) -> cst.Module | None:
    """``x.to(tl.float32)`` as ``x * 1.0``, which is the same of an integer."""
    types = set(re.findall(r"torch\.(int\d+|uint8|b?float\d+\w*)", module.code))
    if not types or any("float" in name for name in types):
        return None

    def multiplied(value: cst.BaseExpression, dtype: cst.BaseExpression) -> cst.BaseExpression:
        if not code(dtype).endswith("float32"):
            return cst.parse_expression(f"{code(grouped(value))}.to({code(dtype)})")
        return cst.parse_expression(f"({code(grouped(value))} * 1.0)")

    return _converted(module, multiplied)


def _converted(module: cst.Module, change) -> cst.Module | None:  # type: ignore[no-untyped-def]
    def call(_: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        function = updated.func
        if not isinstance(function, cst.Attribute) or function.attr.value != "to":
            return updated
        if len(updated.args) != 1 or updated.args[0].keyword is not None:
            return updated
        return change(function.value, updated.args[0].value)

    return with_calls(module, call)
