"""Grids written another way: as a function of the configuration, and rounded up by hand."""

from __future__ import annotations

import libcst as cst
from mutators.trees import Transformer, changed, code, grouped, is_jit, is_launch, kernel_names

from kernlint.syntax.names import dotted_name


def grids_as_functions(module: cst.Module) -> cst.Module | None:
    """``kernel[lambda meta: (n,)]`` for ``kernel[(n,)]``."""
    return changed(module, _Functions(kernel_names(module)))


def divided_by_hand(module: cst.Module) -> cst.Module | None:
    """``(n + 1023) // 1024`` for ``triton.cdiv(n, 1024)``, with the block twice where it is a number."""
    return changed(module, _ByHand())


class _Functions(Transformer):
    def __init__(self, kernels: set[str]) -> None:
        self.kernels = kernels

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        function = updated_node.func
        if not is_launch(updated_node, self.kernels) or not isinstance(function, cst.Subscript):
            return updated_node
        grid = function.slice[0].slice
        if not isinstance(grid, cst.Index) or not isinstance(grid.value, cst.Tuple):
            return updated_node
        made = cst.parse_expression(f"lambda meta: {code(grid.value)}")
        return updated_node.with_changes(func=function.with_changes(slice=[cst.SubscriptElement(cst.Index(made))]))


class _ByHand(Transformer):
    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return not is_jit(node)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if dotted_name(updated_node.func) != "triton.cdiv" or len(updated_node.args) != 2:
            return updated_node
        size, block = (code(grouped(arg.value)) for arg in updated_node.args)
        return cst.parse_expression(f"(({size} + {block} - 1) // {block})")
