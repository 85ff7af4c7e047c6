"""Puts what was proven into the verdict."""

from __future__ import annotations

from dataclasses import replace

from kernlint.verdict.model import Verdict
from kernlint.verdict.speedup import format_speedup
from kernlint.verify.result import Verification


def with_verification(verdict: Verdict, found: Verification, update: bool) -> Verdict:
    """``verdict`` with ``details.verification`` filled. With ``update`` the answer itself takes what was measured: the
    speedup in the scope it is about, and a no where the change is wrong or gains nothing.
    """
    details = replace(verdict.details, verification=found.to_json())
    filled = replace(verdict, details=details)
    if not update:
        return filled
    if found.outcome in ("incorrect", "failed"):
        return _no(filled, f"The change was tried and is {found.outcome}: {found.summary}.")
    measured = found.timings
    row = measured and (measured.gpu if details.estimate.scope == "gpu" else measured.call)
    if not row:
        return filled
    if found.outcome != "faster":
        return _no(filled, f"The change was measured on {found.machine} and gains nothing: {found.summary}.")
    if not filled.worth_optimizing:
        return filled
    return replace(filled, expected_speedup=format_speedup(row.low, row.high))


def _no(verdict: Verdict, reason: str) -> Verdict:
    return replace(
        verdict,
        worth_optimizing=False,
        reason=reason,
        bottleneck="",
        optimisation_method="",
        modification_plan="",
        expected_speedup="",
    )
