"""Conditions that say something else than is meant: parentheses, and assumptions that fail at zero."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.mended_faults import mends
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.kl744_unparenthesised_mask import Parenthesised, joins
from kernlint.rules.faults import MendedFault


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
