from __future__ import annotations

from collections.abc import Iterable
from math import isclose

from kernlint.rules.base import Rule, mapped
from kernlint.rules.correctness.against_reference import (
    HOW_COMPARED,
    HOW_MEASURED,
    WHEN_UNSURE,
    Difference,
    numbers,
    of_kind,
)
from kernlint.rules.finding import Context, Finding


class OtherArithmetic(Rule):
    code = "KL769"
    name = "other-arithmetic"
    severity = "error"
    summary = "the same elements of the inputs make another number than in the reference"
    what_it_does = f"""
        Finds elements of the result that are made of the elements that the reference makes them of, and are another
        number: another activation, a term too many or too few, a wrong constant, a mean divided by another count.
        {HOW_COMPARED}
        """
    why = """
        The program computes another function.
        """
    when_not = f"""
        What differs by less than a hundredth of the result, as approximations of an activation do, is left alone.
        {WHEN_UNSURE}
        """
    fix_safety = "No automatic fix: which of the two is meant, only the author knows."
    evidence = HOW_MEASURED

    bad = """
        class Model(torch.nn.Module):
            def forward(self, x):
                return torch.nn.functional.leaky_relu(x, 0.2)
        """ + mapped("tl.where(v > 0, v, 0.01 * v)")
    good = bad.replace("0.01", "0.2")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    inputs = "torch.randn(1000, 1000)"
    example = "tl.where(v > 0, v, 0.01 * v)  # of leaky_relu(x, 0.2)"
    use_instead = "tl.where(v > 0, v, 0.2 * v)"

    def check(self, context: Context) -> Iterable[Finding]:
        def said(difference: Difference, name: str) -> str:
            witness = difference.witness
            assert witness is not None
            what = "is another number than the reference makes of the same inputs"
            return f"an element of {name} {what}: {numbers(witness)}{_related(difference)}"

        return of_kind(self, context, "arithmetic", said)


def _related(difference: Difference) -> str:
    """What all that differ have in common."""
    pairs = [(one.expected, one.found) for one in difference.output.different]
    for relation, way in (("times as large", lambda a, b: b / a if a else None), ("more", lambda a, b: b - a)):
        found = [way(a, b) for a, b in pairs]
        first = found[0]
        if first is not None and len(found) > 1 and all(_near(one, first) for one in found):
            return f" (always {first:.5g} {relation})"
    return ""


def _near(one: float | None, other: float) -> bool:
    return one is not None and isclose(one, other, rel_tol=1e-6)
