"""Calls of ``triton.language`` written another way: arguments by keyword, functions as methods."""

from __future__ import annotations

import libcst as cst
from mutators.trees import code, grouped, is_jit

from kernlint.syntax.names import dotted_name

#: The parameters of functions whose arguments mostly stand by position.
_PARAMETERS = {
    "tl.program_id": ("axis",),
    "tl.num_programs": ("axis",),
    "tl.arange": ("start", "end"),
    "tl.load": ("pointer", "mask", "other"),
    "tl.store": ("pointer", "value", "mask"),
    "tl.dot": ("input", "other", "acc"),
    "tl.sum": ("input", "axis"),
    "tl.max": ("input", "axis"),
    "tl.zeros": ("shape", "dtype"),
    "tl.full": ("shape", "value", "dtype"),
    "tl.where": ("condition", "x", "y"),
    "tl.maximum": ("x", "y"),
    "tl.atomic_add": ("pointer", "val", "mask"),
}
_METHODS = frozenset({"tl.sum", "tl.max", "tl.min", "tl.exp", "tl.exp2", "tl.log", "tl.sqrt", "tl.sigmoid", "tl.abs"})


def keyword_calls(source: str) -> str | None:
    """``tl.load(pointer=p, mask=m)`` for ``tl.load(p, m)``."""

    def change(call: cst.Call, name: str) -> cst.BaseExpression:
        parameters = _PARAMETERS.get(name, ())
        if not call.args or len(parameters) < sum(arg.keyword is None for arg in call.args):
            return call
        plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        args = [
            arg if arg.keyword is not None else arg.with_changes(keyword=cst.Name(parameter), equal=plain)
            for arg, parameter in zip(call.args, (*parameters, *[""] * len(call.args)))
        ]
        return call.with_changes(args=args)

    return _changed(source, change)


def method_calls(source: str) -> str | None:
    """``x.sum(axis=1)`` for ``tl.sum(x, axis=1)``."""

    def change(call: cst.Call, name: str) -> cst.BaseExpression:
        if name not in _METHODS or not call.args or call.args[0].keyword is not None:
            return call
        rest = ", ".join(
            (f"{arg.keyword.value}=" if arg.keyword is not None else "") + code(arg.value) for arg in call.args[1:]
        )
        return cst.parse_expression(f"{code(grouped(call.args[0].value))}.{name[3:]}({rest})")

    return _changed(source, change)


class _Calls(cst.CSTTransformer):
    def __init__(self, change) -> None:  # type: ignore[no-untyped-def]
        self.change = change
        self.inside = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.inside += is_jit(node)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.inside -= is_jit(original_node)
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        name = dotted_name(original_node.func)
        return self.change(updated_node, name) if self.inside and name is not None else updated_node


def _changed(source: str, change) -> str | None:  # type: ignore[no-untyped-def]
    new = cst.parse_module(source).visit(_Calls(change)).code
    return new if new != source else None
