"""What comparisons say of indices: bounds, residue classes, what holds in the arms of an ``if``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernlint.interpret.triton.values import Block
from kernlint.workload import Expr
from kernlint.workload import expr as ex
from kernlint.workload.access import Bounds


def arm_bounds(test: Any) -> tuple[Bounds | None, ...]:
    """What holds in the two arms of an ``if``, as far as it is bounds."""
    if not isinstance(test, Block) or not test.bounds or test.partly:
        return (None, None)
    opposite = None
    if len(test.bounds) == 1:
        left, right = test.bounds[0]
        opposite = ((right, left + 1),)
    return (test.bounds, opposite)


def residue_class(x: Expr | None, y: Expr | None) -> Bounds:
    """(dividend, divisor) where ``x == y`` compares a remainder with a number."""
    for side, other in ((x, y), (y, x)):
        if side is None or other is None or other.value is None or len(side.terms) != 1:
            continue
        (monomial, factor), *_ = side.terms.items()
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], ex.Opaque) and monomial[0].op == "mod":
            dividend, divisor = monomial[0].args
            return ((dividend, divisor),)
    return _exact_division(x - y) if x is not None and y is not None else ()


def _exact_division(difference: Expr) -> Bounds:
    """(dividend, divisor) where ``difference`` is ``a - a // b * b`` (or its negative) beside a number: a remainder written
    out."""
    for atom in {atom for monomial in difference.terms for atom in monomial}:
        if isinstance(atom, ex.Opaque) and atom.op == "floordiv":
            dividend, divisor = atom.args
            multiple = difference.coefficient(atom)
            for sign in (1, -1):
                rest = difference - sign * (dividend - divisor * Expr.atom(atom))
                if multiple == -sign * divisor and rest.value is not None:
                    return ((dividend, divisor),)
    return ()


def is_partial(mask: Block) -> bool:
    """Whether a boolean says more than its bounds do."""
    return mask.partly or not mask.bounds


def both_bounds(a: Block, b: Block) -> Bounds | None:
    if a.bounds is None and b.bounds is None:
        return ()
    return (a.bounds or ()) + (b.bounds or ())


ORDER: dict[str, Callable[[int], bool]] = {
    "<": lambda d: d < 0,
    "<=": lambda d: d <= 0,
    ">": lambda d: d > 0,
    ">=": lambda d: d >= 0,
    "==": lambda d: d == 0,
    "!=": lambda d: d != 0,
}
