"""Calls of ``triton.language`` written another way: arguments by keyword, functions as methods."""

from __future__ import annotations

import libcst as cst
from mutators.trees import code, grouped, with_calls

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


def keyword_calls(module: cst.Module) -> cst.Module | None:
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

    return _changed(module, change)


def method_calls(module: cst.Module) -> cst.Module | None:
    """``x.sum(axis=1)`` for ``tl.sum(x, axis=1)``."""

    def change(call: cst.Call, name: str) -> cst.BaseExpression:
        if name not in _METHODS or not call.args or call.args[0].keyword is not None:
            return call
        rest = ", ".join(
            (f"{arg.keyword.value}=" if arg.keyword is not None else "") + code(arg.value) for arg in call.args[1:]
        )
        return cst.parse_expression(f"{code(grouped(call.args[0].value))}.{name[3:]}({rest})")

    return _changed(module, change)


def _changed(module: cst.Module, change) -> cst.Module | None:  # type: ignore[no-untyped-def]
    def call(original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        name = dotted_name(original.func)
        return updated if name is None else change(updated, name)

    return with_calls(module, call)
