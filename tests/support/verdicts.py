"""Verdicts made by hand, for everything that reads verdicts."""

from kernlint.verdict.model import (
    Details,
    EstimateReport,
    FindingReport,
    FollowUp,
    Location,
    RuleRef,
    ScopeEstimate,
    Verdict,
)

RULE = RuleRef("KL101", "int8-upcast-before-dot")
PLACE = Location("k.py", 3, 5, 3, 15, "kernel")
GPU = ScopeEstimate(63.1234, 12.8061, 40.0, 4.92917, 3.9012, 5.6049, True)
CALL = ScopeEstimate(80.0, 41.0, 55.0, 1.95122, 1.6, 2.1, True)
UNKNOWN = ScopeEstimate()
ESTIMATE = EstimateReport("h100-sxm", "gpu", {"M": 128}, CALL, GPU, ("x is int8, from its docstring",))
SYMBOLIC = EstimateReport("h100-sxm", "gpu", {}, UNKNOWN, UNKNOWN)
FINDING = FindingReport(RULE, "warning", "the dot is fed fp32", PLACE, ("operand `a` is int8",), ESTIMATE)


def yes(estimate: EstimateReport = ESTIMATE, expected_speedup: str = "3.9-5.6x") -> Verdict:
    details = Details(
        file="k.py",
        kernel="kernel",
        category="precision",
        rule=RULE,
        location=PLACE,
        estimate=estimate,
        model_version="1",
        follow_ups=(FollowUp(RuleRef("KL201", "small-tile"), "use 128 x 128 tiles", estimate),),
        findings=(FINDING, FindingReport(RULE, "info", "no time at stake", PLACE)),
    )
    return Verdict(True, "The dot runs in fp32.", details, "cast", "int8 dot", "drop the cast", expected_speedup)


def no() -> Verdict:
    unchanged = ScopeEstimate(10.0, 10.0, None, 1.0, 1.0, 1.0, False)
    estimate = EstimateReport("h100-sxm", "call", {}, unchanged, unchanged)
    details = Details("k.py", None, "none", None, None, estimate, "1")
    return Verdict(False, "The kernel streams at the memory's speed.", details)
