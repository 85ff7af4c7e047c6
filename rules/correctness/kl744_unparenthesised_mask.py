from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.rules.repair import Repair, mending
from kernlint.syntax.tree import Module
from kernlint.workload import Span


@dataclass(frozen=True)
class Parenthesised(Repair):
    """The program with each comparison of the chain at ``place`` in parentheses."""

    place: Span


class UnparenthesisedMask(Rule):
    code = "KL744"
    name = "unparenthesised-mask"
    severity = "error"
    summary = "comparisons are joined by & or | without parentheses"
    what_it_does = """
        Finds, in kernels, a chain of comparisons with `&` or `|` between two of them (`a >= lo & a < n`), and a
        comparison with `x & mask` where `mask` is a comparison or made of comparisons.
        """
    why = """
        `&` binds tighter than `<`: `a >= lo & a < n` means `a >= (lo & a) and (lo & a) < n`. Triton 3.9 compiles it
        without a word, and the mask is wrong.
        """
    when_not = """
        Bit tests such as `(flags & 4) == 4`. A remark where `mask & v != 0` is all: it means the same unless `v` is even.
        """
    fix_safety = "Safe: each comparison is put in parentheses."
    evidence = """
        The row's TTIR for sm_90 (Triton 3.9.0): `andi(lo, a)`, then two comparisons. Pattern row BUG-015. No gain:
        wrong results have no speed.
        """
    references = (
        "https://github.com/meta-recsys/generative-recommenders/issues/561",
        "https://github.com/triton-lang/triton/issues/7905",
    )

    bad = """
        @triton.jit
        def k(x, o, n, lo, B: tl.constexpr):
            a = tl.arange(0, B)
            m = a >= lo & a < n
            tl.store(o + a, tl.load(x + a, mask=m, other=0.0))
        """
    good = bad.replace("a >= lo & a < n", "(a >= lo) & (a < n)")

    lexical = True

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        for function in jit_functions(module):
            for node, wrong in _misread(function.node, module):
                span, name = module.span(node), function.name
                text = module.code(wrong)
                yield self.finding(
                    f"`{text}` is computed before the comparisons around it: they need parentheses",
                    span,
                    name,
                    (Evidence("`&` and `|` bind tighter than comparisons", module.span(wrong)),),
                    mending(
                        context,
                        Parenthesised(span),
                        f"`{text}` is computed before the comparisons around it",
                        "Put each comparison in parentheses.",
                    ),
                    doubts=doubted(_asks_for_any_bit(node), "it means the same unless the value is even"),
                )


def _misread(function: cst.FunctionDef, module: Module) -> Iterator[tuple[cst.Comparison, cst.BinaryOperation]]:
    """Comparisons of ``function`` with a bare ``&`` or ``|`` that was meant to join them, and that operation."""
    masks = {
        target.target.value
        for node in module.within(function, cst.Assign)
        if _is_mask(node.value)
        for target in node.targets
        if isinstance(target.target, cst.Name)
    }
    for node in module.within(function, cst.Comparison):
        operands = [node.left, *(target.comparator for target in node.comparisons)]
        for place, operand in enumerate(operands):
            if not joins(operand):
                continue
            assert isinstance(operand, cst.BinaryOperation)
            sides = (operand.left, operand.right)
            inside = 0 < place < len(operands) - 1 and not _of_numbers(operands, place, sides)
            masked = any(_is_mask(side) or (isinstance(side, cst.Name) and side.value in masks) for side in sides)
            if inside or masked:
                yield node, operand
                break


def _of_numbers(
    operands: Sequence[cst.BaseExpression], place: int, sides: tuple[cst.BaseExpression, cst.BaseExpression]
) -> bool:
    """Whether one of the comparisons would be of two numbers, were the operation at ``place`` meant to join two: `0 <= i & 15 < 8` asks
    where some bits of `i` lie."""
    around = ((operands[place - 1], sides[0]), (sides[1], operands[place + 1]))
    return any(isinstance(one, cst.Integer) and isinstance(other, cst.Integer) for one, other in around)


def _asks_for_any_bit(node: cst.Comparison) -> bool:
    """Whether ``a & b != 0`` is all that there is: as a mask is 0 or 1, that says the same where ``b`` is 0 or odd."""
    if len(node.comparisons) != 1 or not isinstance(node.comparisons[0].operator, cst.NotEqual):
        return False
    number = node.comparisons[0].comparator
    return isinstance(number, cst.Integer) and number.evaluated_value == 0


def joins(node: cst.BaseExpression) -> bool:
    """Whether ``&`` or ``|`` stands between two operands without parentheses around them."""
    return (
        isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.BitAnd, cst.BitOr)) and not node.lpar
    )


def _is_mask(node: cst.BaseExpression) -> bool:
    """A comparison, or comparisons joined by bit operators."""
    if isinstance(node, cst.Comparison):
        return True
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.BitAnd, cst.BitOr)):
        return _is_mask(node.left) or _is_mask(node.right)
    return False
