"""Loops of kernels that count their turns, and sums that are written out."""

from __future__ import annotations

import libcst as cst
from mutators.trees import Transformer, changed, code, is_jit

from kernlint.syntax.names import dotted_name


def counted_loops(module: cst.Module) -> cst.Module | None:
    """``for start in range(0, K, BK)`` as ``for i in range(tl.cdiv(K, BK))`` with ``start = i * BK``."""
    return changed(module, _Counted())


def written_out_sums(module: cst.Module) -> cst.Module | None:
    """``acc = acc + x`` for ``acc += x``."""
    return changed(module, _WrittenOut())


class _InKernels(Transformer):
    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return is_jit(node)

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        return False


class _Counted(_InKernels):
    def __init__(self) -> None:
        self.count = 0

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        call = updated_node.iter
        if (
            not isinstance(call, cst.Call)
            or dotted_name(call.func) != "range"
            or len(call.args) != 3
            or code(call.args[0].value) != "0"
            or not isinstance(updated_node.target, cst.Name)
        ):
            return updated_node
        stop, step = code(call.args[1].value), code(call.args[2].value)
        turn = f"turn_{self.count}"
        self.count += 1
        first = cst.parse_statement(f"{updated_node.target.value} = {turn} * ({step})")
        body = updated_node.body.with_changes(body=[first, *updated_node.body.body])
        counted = cst.parse_expression(f"range(0, tl.cdiv({stop}, {step}))")
        return updated_node.with_changes(target=cst.Name(turn), iter=counted, body=body)


class _WrittenOut(_InKernels):
    def leave_AugAssign(self, original_node: cst.AugAssign, updated_node: cst.AugAssign) -> cst.BaseSmallStatement:
        operators = {cst.AddAssign: cst.Add, cst.SubtractAssign: cst.Subtract, cst.MultiplyAssign: cst.Multiply}
        operator = operators.get(type(updated_node.operator))
        if operator is None:
            return updated_node
        value = updated_node.value
        if not value.lpar:
            value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return cst.Assign(
            [cst.AssignTarget(updated_node.target)], cst.BinaryOperation(updated_node.target, operator(), value)
        )
