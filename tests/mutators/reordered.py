"""The same things in another order: the operands of sums and products, the functions of the module."""

from __future__ import annotations

import libcst as cst
from mutators.trees import Transformer, changed, is_jit, top_functions

from kernlint.syntax.walk import walk


def swapped_operands(module: cst.Module) -> cst.Module | None:
    """``b + a`` for ``a + b`` and ``b * a`` for ``a * b`` in kernels, and bounds the other way round."""
    return changed(module, _Swap())


def kernels_last(module: cst.Module) -> cst.Module | None:
    """The kernels behind the functions that launch them."""
    last = [line for line in top_functions(module) if is_jit(line)]
    body = [*[line for line in module.body if line not in last], *last]
    # Decorators run when they are read: a kernel that is defined last can be called, not handed to one.
    return module.with_changes(body=body) if body != list(module.body) else None


class _Swap(Transformer):
    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return is_jit(node)

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        return False

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        # Strings and tuples are added too, in `eviction + policy`; they do not occur in kernels' lines.
        return not any(isinstance(inner, cst.SimpleString) for inner in walk(node))

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BinaryOperation:
        if not isinstance(updated_node.operator, (cst.Add, cst.Multiply)):
            return updated_node
        # a + b + c is (a + b) + c: turned it must say so.
        right = updated_node.left
        if isinstance(right, cst.BinaryOperation) and not right.lpar:
            right = right.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        left = updated_node.right
        if isinstance(left, (cst.UnaryOperation, cst.BinaryOperation)) and not left.lpar:
            left = left.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return updated_node.with_changes(left=left, right=right)

    def leave_Comparison(self, original_node: cst.Comparison, updated_node: cst.Comparison) -> cst.Comparison:
        turned = {cst.LessThan: cst.GreaterThan, cst.GreaterThan: cst.LessThan,
                  cst.LessThanEqual: cst.GreaterThanEqual, cst.GreaterThanEqual: cst.LessThanEqual}  # fmt: skip
        if len(updated_node.comparisons) != 1 or type(updated_node.comparisons[0].operator) not in turned:
            return updated_node
        (target,) = updated_node.comparisons
        operator = turned[type(target.operator)]()  # type: ignore[index]
        return updated_node.with_changes(
            left=target.comparator, comparisons=[cst.ComparisonTarget(operator, updated_node.left)]
        )
