"""What the headroom proposes, as candidates beside those of the rules: a cause, its place, its words and its gain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kernlint import work
from kernlint.cost.comparing import Comparison
from kernlint.cost.estimate import SCOPES, Estimate, Estimator
from kernlint.cost.host import host_ratio_sigma, host_sigma, host_time
from kernlint.cost.programs.constants import INTERVAL_80
from kernlint.cost.timeline import decided_by_host
from kernlint.headroom.causes import OTHER, Cause
from kernlint.headroom.headroom import Headroom
from kernlint.headroom.promise import between
from kernlint.headroom.words import advice, message
from kernlint.records import replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.verdict.callers import innermost_caller
from kernlint.verdict.candidate import WORTH, Candidate, Priced
from kernlint.workload import Launch, TorchOp


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


def other_kernels(context: Context) -> Candidate:
    """The call in other kernels, whose gain nobody knows before they are written: those may know a shorter way to the result."""
    workload = context.workload
    span, way = workload.steps[0].span, "Compute it in kernels of known good forms."
    cause = Cause(OTHER, "algorithm", 0.0, span, workload.entry)
    message = f"`{workload.entry}`: there may be a shorter way to what it computes"
    change = Change(None, message, way, way)
    return _unpriced(context, Finding(OTHER_KERNELS, "warning", message, span, workload.entry, "", (), change, cause))


#: Times its bound from which on a call that nothing known holds back may go a longer way than it takes.
_FAR = 10.0


def written_version(context: Context) -> Candidate | None:
    """What kernels written anew gain where no good version is known to: for the cause that takes the most of the call, by itself as much as
    is worth it, or else as :func:`other_kernels`, where the call takes far more than its bound. Raises
    :class:`~kernlint.work.OutOfWork` where they would have to be written and there has been enough work."""
    headroom = context.headroom
    if headroom is None:
        return None
    cause = max(headroom.causes, key=lambda one: one.alone_us, default=None)
    saves = cause is not None and headroom.now_us >= WORTH * (headroom.now_us - cause.alone_us)
    if not saves and headroom.now_us < _FAR * headroom.bound.us:
        return None
    work.check()
    candidate = _for_cause(context, headroom, cause, {}) if saves and cause is not None else other_kernels(context)
    from kernlint.verdict.written import written  # which a check does without

    priced = Estimator(context.device).estimate
    kernels = written(candidate, priced)
    if kernels is None:
        return None
    compared = Comparison(priced(context.workload), kernels)
    totals = {scope: compared.before.total_us(scope) for scope in SCOPES}
    gains = {scope: _of_kernels(us, headroom, compared, scope) for scope, us in totals.items() if us is not None}
    return replace(candidate, gains=gains)


#: Causes that change what the host does: their gain in scope ``call`` counts the launches of the witnesses.
_OF_THE_HOST = frozenset(
    {"sync", "launches in a Python loop", "launches step by step", "unused result", "copies", "round trips"}
)


def proposals(context: Context, headroom: Headroom, causes: Iterable[Cause]) -> list[Candidate]:
    """A candidate for each of the ``causes`` that is worth a tenth of the call."""
    now = context.estimate(context.workload)
    priced = ((cause, gains_of(cause, now, headroom)) for cause in causes)
    return [_for_cause(context, headroom, cause, gains) for cause, gains in priced if gains]


def _for_cause(context: Context, headroom: Headroom, cause: Cause, gains: Mapping[str, Priced]) -> Candidate:
    functions = {getattr(step, "function", "") for step in cause.steps}
    if len(functions) > 1:  # the innermost function that calls them all
        cause = replace(cause, symbol=innermost_caller(context.program.kernel, functions, cause.symbol))
    change = Change(None, *advice(cause, headroom))
    evidence = (Evidence(cause.evidence, cause.span),) if cause.evidence else ()
    finding = Finding(
        Unnamed(cause), "warning", message(cause), cause.span, cause.symbol, cause.kernel, evidence, change, cause
    )
    return replace(_unpriced(context, finding), gains=gains, alone=headroom.alone(cause))


def _unpriced(context: Context, finding: Finding) -> Candidate:
    workload = context.workload
    return Candidate(finding, {}, None, context.program, workload.entry, workload.bare, context=context)


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


def promises(change: Candidate, headroom: Headroom, predicted_us: float) -> Mapping[str, Priced]:
    """What ``change`` gains, by scope, with the interval of a good version with it. A rule's what-if says what the change brings by
    itself, the ``headroom`` what else can be had where somebody works on the call, which takes ``predicted_us`` by the model,
    whatever was measured. A cause promises that from the start."""
    gain, after = change.gains.get("gpu"), change.after
    if change.finding.cause is not None or gain is None or after is None:
        return change.gains
    _, low, high = headroom.beside(gain.middle, gain.sigma, predicted_us, change.finding.rule.category != "precision")
    found = {"gpu": replace(gain, low=min(gain.low, low), high=max(gain.high, high))}
    call = change.gains.get("call")
    if call is not None:
        host = min(call.after_us, sum(row.total_host_us for row in after.steps))
        # The host is as busy as the what-if says; the device, where it decides, is done earlier.
        slow, fast = (call.before_us / max(host, call.after_us * gain.middle / speedup) for speedup in (low, high))
        found["call"] = replace(call, low=min(call.low, slow), high=max(call.high, fast))
    return found


def with_written(made: Mapping[str, Priced], headroom: Headroom, kernels: Comparison) -> Mapping[str, Priced]:
    """The promises ``made`` of a change beside the ``kernels`` that ``fix`` writes for it: the best that was found is what is promised, and
    at both ends of the interval the better one counts."""
    found = {}
    for scope, gain in made.items():
        other = _of_kernels(gain.before_us, headroom, kernels, scope)
        better = max(gain, other, key=lambda one: one.middle)
        found[scope] = replace(better, low=max(gain.low, other.low), high=max(gain.high, other.high))
    return found


def _of_kernels(before_us: float, headroom: Headroom, kernels: Comparison, scope: str) -> Priced:
    """What ``kernels`` at hand gain."""
    speedup, least, _ = kernels.speedup(scope)
    _, low, high = headroom.written(speedup)
    return Priced(before_us, before_us / speedup, speedup, min(low, least), high)


def _in_calls(cause: Cause, now: Estimate, headroom: Headroom, middle: float, low: float, high: float) -> Priced | None:
    """The gain in wall time of an eager call: host and device, whichever is longer. Where the host decides, its error counts too."""
    if now.call_us is None:
        return None
    host = sum(row.total_host_us for row in now.steps)
    after_host = min(host, now.call_us)
    if cause.name in _OF_THE_HOST:
        ids = {id(step) for step in cause.steps}
        joined = [row.total_host_us for row in now.steps if id(row.step) in ids]
        whole = min(host, _host_us(now, headroom))
        after_host = between(host - sum(joined) + max(joined), whole) if joined else whole

    def after(gain: float) -> float:
        return max(after_host, headroom.now_us / gain)

    us = after(middle)
    shares = [decided_by_host(busy, call) for busy, call in ((min(host, now.call_us), now.call_us), (after_host, us))]
    width = math.exp(
        INTERVAL_80 * math.hypot(min(shares) * host_ratio_sigma(), abs(shares[0] - shares[1]) * host_sigma())
    )
    slow, fast = now.call_us / after(low) / width, now.call_us / after(high) * width
    return Priced(now.call_us, us, max(0.1, now.call_us / us), max(0.1, slow), fast)


def _host_us(now: Estimate, headroom: Headroom) -> float:
    """Host microseconds of a call that issues the witnesses: launches with as many arguments, and results made in as many calls, as those
    of now have in the mean."""
    own = [row for row in now.steps if isinstance(row.step, Launch)]
    launches = sum(row.count for row in own)
    each = sum(row.total_host_us for row in own) / launches if launches else 0.0
    made = sum(row.total_host_us for row in now.steps if isinstance(row.step, TorchOp) and row.step.kind == "alloc")
    steps = [step for witness in headroom.witnesses for step in witness.steps]
    issued = sum(max(host_time(step), each) if isinstance(step, Launch) else host_time(step) for step in steps)
    return issued + made / max(1.0, launches) * len(steps)
