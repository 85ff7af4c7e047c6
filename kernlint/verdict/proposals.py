"""What the headroom proposes, as candidates beside those of the rules: a cause, its place, its words and its gain."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.cost.estimate import Estimate
from kernlint.headroom.causes import Cause
from kernlint.headroom.headroom import Headroom
from kernlint.headroom.words import advice, message
from kernlint.interpret.program import Program
from kernlint.records import replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Evidence, Finding
from kernlint.verdict.callers import innermost_caller
from kernlint.verdict.candidate import Candidate, Priced
from kernlint.workload import Workload


class Unnamed(Rule, abstract=True):
    """What stands in the place of a rule where a cause has no rule that knows its shape: it has no code."""

    code = ""
    severity = "warning"

    def __init__(self, cause: Cause) -> None:
        self.name = cause.name.replace(" ", "-").lower()  # type: ignore[misc]
        self.category = cause.category  # type: ignore[misc]

    def check(self, context: object) -> tuple[Finding, ...]:
        return ()


class _Other(Rule, abstract=True):
    """What stands in the place of a rule where nothing that is known holds the call back."""

    code, name, severity, category = "", "other-kernels", "warning", "algorithm"

    def check(self, context: object) -> tuple[Finding, ...]:
        return ()


OTHER_KERNELS = _Other()


def other_kernels(program: Program, workload: Workload) -> Candidate:
    """The call in other kernels, whose gain nobody knows before they are written: those may know a shorter way to the result."""
    span, way = workload.steps[0].span, "Compute it in kernels of known good forms."
    cause = Cause("other kernels", "algorithm", 0.0, span, workload.entry)
    message = f"`{workload.entry}`: there may be a shorter way to what it computes"
    finding = Finding(
        OTHER_KERNELS, "warning", message, span, workload.entry, "", (), Change(None, message, way, way), cause
    )
    return Candidate(finding, {}, program=program, entry=workload.entry, bare=workload.bare)


#: Causes that change what the host does: their gain in scope ``call`` counts the launches of the witnesses.
_OF_THE_HOST = frozenset(
    {"sync", "launches in a Python loop", "launches step by step", "unused result", "copies", "round trips"}
)


def proposals(
    program: Program, workload: Workload, now: Estimate, headroom: Headroom, causes: Iterable[Cause]
) -> list[Candidate]:
    """A candidate for each of the ``causes`` that is worth a tenth of the call."""
    return [
        Candidate(
            _finding(_placed(cause, program), headroom),
            gains,
            program=program,
            entry=workload.entry,
            bare=workload.bare,
            alone=headroom.alone(cause),
        )
        for cause in causes
        for gains in [gains_of(cause, now, headroom)]
        if gains
    ]


def _placed(cause: Cause, program: Program) -> Cause:
    """``cause``, of steps in several functions, at the innermost function that calls them all."""
    functions = {getattr(step, "function", "") for step in cause.steps}
    if len(functions) < 2:
        return cause
    return replace(cause, symbol=innermost_caller(program.kernel, functions, cause.symbol))


def gains_of(cause: Cause, now: Estimate, headroom: Headroom) -> dict[str, Priced]:
    """What removing ``cause`` is worth, by scope; empty where it is less than a tenth of the call."""
    middle, low, high = headroom.without(cause)
    if middle < 1.1 or cause.alone_us < 0.05 * headroom.now_us:
        return {}
    gains = {"gpu": Priced(headroom.now_us, headroom.now_us / middle, middle, low, high)}
    call = _in_calls(cause, now, headroom, middle, low, high)
    if call is not None:
        gains["call"] = call
    return gains


def _in_calls(cause: Cause, now: Estimate, headroom: Headroom, middle: float, low: float, high: float) -> Priced | None:
    """The gain in wall time of an eager call: host and device, whichever is longer."""
    if now.call_us is None:
        return None
    host = sum(row.total_host_us for row in now.steps)
    after_host = min(host, headroom.host_us) if cause.name in _OF_THE_HOST else min(host, now.call_us)

    def after(gain: float) -> float:
        return max(after_host, headroom.now_us / gain)

    return Priced(now.call_us, after(middle), *(max(0.1, now.call_us / after(gain)) for gain in (middle, low, high)))


def _finding(cause: Cause, headroom: Headroom) -> Finding:
    change = Change(None, *advice(cause, headroom))
    evidence = (Evidence(cause.evidence, cause.span),) if cause.evidence else ()
    return Finding(
        Unnamed(cause), "warning", message(cause), cause.span, cause.symbol, cause.kernel, evidence, change, cause
    )
