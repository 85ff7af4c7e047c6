"""Puts a judgement into words: the six answers and the details behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernlint.cost.classes import unmeasured
from kernlint.cost.device import Device
from kernlint.cost.traffic.accesses import assumed_trips
from kernlint.headroom.causes import Cause
from kernlint.headroom.headroom import Headroom, described
from kernlint.interpret.plausible_sizes import RUNGS
from kernlint.rules.finding import Finding
from kernlint.rules.wording import listed
from kernlint.verdict.candidate import LEAST_LOW, NOT_WORTH, WORTH, Candidate, Priced
from kernlint.verdict.judge import Judgement
from kernlint.verdict.model import (
    CauseReport,
    Details,
    EstimateReport,
    FindingReport,
    FixReport,
    FollowUp,
    HeadroomReport,
    Location,
    RuleRef,
    Scenario,
    ScopeEstimate,
    Verdict,
)
from kernlint.verdict.speedup import format_speedup, format_us
from kernlint.workload import Span, Tensor

#: Findings by key.
Known = Mapping[tuple[str, str, Span], Candidate] | None

#: The library is called clearly faster than the kernel from this ratio on.
_CLEARLY = 1.25


def write_verdict(judgement: Judgement, device: Device, model_version: str) -> Verdict:
    """The verdict that says what ``judgement`` found."""
    chosen, scope = judgement.chosen, judgement.scope
    worth = judgement.worth or (chosen is not None and chosen.worth(scope) is None)
    #: What is found without anything assumed, by key; None where nothing was assumed.
    known = {c.finding.key: c for c in judgement.base.candidates} if judgement.base is not None else None
    details = Details(
        file=judgement.workload.file,
        kernel=_kernel(judgement),
        category=chosen.finding.rule.gains_by if worth and chosen is not None else "none",
        rule=_rule_of_change(chosen) if worth and chosen is not None else None,
        location=_location(chosen.finding.span, chosen.finding.symbol) if worth and chosen is not None else None,
        estimate=_estimate(judgement, chosen, device),
        model_version=model_version,
        follow_ups=tuple(_follow_up(judgement, c, device) for c in judgement.search.follow_ups(judgement.chosen)),
        findings=tuple(
            _finding(judgement, c, device, known)
            for c in (*judgement.faults, *judgement.candidates)
            if _worth_telling(c)
        ),
        measured=judgement.measured.report() if judgement.measured is not None else None,
        fix=_fix(chosen, known, judgement.context.program.outside) if worth and chosen is not None else None,
        headroom=_headroom(judgement, chosen if worth else None),
        certainty=judgement.certainty,
        scenarios=judgement.scenarios,
    )
    if not worth or chosen is None or chosen.finding.change is None:
        return Verdict(False, _errors(judgement) + _why_not(judgement, device) + _caveats(judgement), details)
    change = chosen.finding.change
    gain = judgement.gain(chosen).get(scope)
    return Verdict(
        True,
        _errors(judgement) + _why(judgement, chosen, device) + _caveats(judgement),
        details,
        _bottleneck(chosen, gain, judgement),
        change.method,
        change.plan,
        speedup_text(judgement, chosen),
    )


#: What stands for the speedup where there is a change that no time can be told of: code that does not run, say.
NO_SPEEDUP = "not predicted"


def speedup_text(judgement: Judgement, chosen: Candidate) -> str:
    """What the change of ``chosen`` gains, as people write it. Never empty."""
    gain, call_us = judgement.gain(chosen).get(judgement.scope), judgement.before.total_us(judgement.scope)
    if gain is not None:
        return format_speedup(gain.low, gain.high)
    saves = chosen.finding.change.saves_us if chosen.finding.change is not None else None
    if saves is not None and call_us:
        return format_speedup(*(1.0 + saved / call_us for saved in saves))
    return NO_SPEEDUP


def _why(judgement: Judgement, chosen: Candidate, device: Device) -> str:
    gain = judgement.gain(chosen).get(judgement.scope)
    if gain is None and not judgement.before.missing:
        return f"{_sentence(chosen.finding.message)}, which outweighs all that could be done about its speed."
    if gain is None:
        missing = ", ".join(judgement.before.missing[:4])
        return (
            f"{_sentence(chosen.finding.message)}; how much that costs depends on sizes the source leaves open ({missing}): "
            "give them with --set or --assume."
        )
    what = "the call's device time" if judgement.scope == "gpu" else "the call"
    basis = ", going by measured times" if judgement.measured is not None and judgement.measured.counts else ""
    return (
        f"{_sentence(chosen.finding.message)}; one change is predicted to cut {what} from "
        f"{format_us(gain.before_us)} to {format_us(gain.after_us)} us on {device.id}{basis}."
    )


def _caveats(judgement: Judgement) -> str:
    """What to know beside the answer, as further sentences; empty where there is nothing."""
    return _resting(judgement) + _contradictions(judgement) + _left_out(judgement) + _unused_reference(judgement)


def _unused_reference(judgement: Judgement) -> str:
    """That the reference that was given is of no use, where that is so."""
    why = judgement.proven.context.program.without_reference
    return f" {_sentence(why)}." if why and judgement.workload.reference is None else ""


#: Facts that a reason spells out; the others are under details.scenarios.
_MOST_FACTS = 8


def _resting(judgement: Judgement) -> str:
    """What an answer rests on that nothing tells, and how it flips; empty where it rests on nothing such."""
    if not judgement.scenarios:
        return ""
    first, *others = judgement.scenarios
    text = ""
    if judgement.certainty == "assumed":
        told: dict[str, dict[str, list[str]]] = {}
        for fact in first.facts:
            if fact.source == "call" or (isinstance(fact.value, str) and fact.source != "guess"):
                told.setdefault(fact.evidence, {}).setdefault(str(fact.value), []).append(f"`{fact.name}`")
        said = [
            f"{', '.join(f'{listed(names)} {value}' for value, names in values.items())} ({evidence})"
            for evidence, values in told.items()
        ]
        sizes = [str(fact) for fact in first.facts if not isinstance(fact.value, str) and fact.source != "call"]
        said += [f"{', '.join(sizes[:_MOST_FACTS])} (plausible sizes)"] if sizes else []
        said += [f"{fact.name}: {fact.value} ({fact.evidence})" for fact in first.facts if fact.source == "guess"]
        text = f" This rests on assumed facts: {'; '.join(said[:_MOST_FACTS])}."
    flips = [_flip(first, other) for other in others]
    if flips:
        text += f" {_sentence('; '.join(flips))}."
    if judgement.certainty == "assumed" and judgement.undecided:
        given = _facts(judgement)
        text += f" For a sure answer give the facts, such as {given}."
    return text


def _flip(first: Scenario, other: Scenario) -> str:
    """What another scenario answers, beside the first one."""
    before = {fact.name: fact.value for fact in first.facts}
    types: dict[str, list[str]] = {}
    for fact in other.facts:
        if isinstance(fact.value, str) and fact.source != "guess" and before.get(fact.name) != fact.value:
            types.setdefault(fact.value, []).append(f"`{fact.name}`")
    sizes = [str(f) for f in other.facts if isinstance(f.value, int) and before.get(f.name) != f.value]
    sized = other.name in RUNGS
    what = "" if sized else " and ".join(f"{listed(names)} {value}" for value, names in types.items())
    if other.name.startswith("call at "):
        told = f" with {what}" if what else ""
        return f"{other.speedup if other.worth else 'no'} for the {other.name}{told}"
    where = f"if {what}" if what else f"at {other.name} sizes ({', '.join(sizes[:4])})"
    return f"{other.speedup if other.worth else 'no'} {where}"


def _left_out(judgement: Judgement) -> str:
    """That there may be more, where it would have taken too much work to look."""
    if not judgement.short:
        return ""
    return (
        f" Not everything was looked at, as that is too much work: {', '.join(sorted(judgement.short))} may find more."
    )


def _errors(judgement: Judgement) -> str:
    """That the code is wrong, where it is: said before anything about its speed."""
    if not judgement.errors:
        return ""
    finding = judgement.errors[0].finding
    more = len(judgement.errors) - 1
    rest = f" ({more} more of the kind under details.findings)" if more else ""
    return f"Correct first what is wrong at line {finding.span.line}: {finding.message} ({finding.rule.code}){rest}. "


def _contradictions(judgement: Judgement) -> str:
    """What measurements say against the model, as a further sentence; empty where they agree or there are none."""
    said = judgement.measured.contradictions() if judgement.measured is not None else []
    return f" {_sentence('; '.join(said[:2]))}." if said else ""


def _bottleneck(chosen: Candidate, gain: Priced | None, judgement: Judgement) -> str:
    assert chosen.finding.change is not None
    text = chosen.finding.change.bottleneck
    if judgement.measured is not None and chosen.finding.kernel:
        text = f"{text} {judgement.measured.evidence(chosen.finding.kernel)}".rstrip()
    reference = judgement.reference.total_us(judgement.scope) if judgement.reference is not None else None
    if gain is not None and reference is not None and reference * _CLEARLY < gain.after_us:
        text += f" PyTorch's own kernels would need about {format_us(reference)} us here, less than even the changed kernel."
    return text


def _facts(judgement: Judgement) -> str:
    """The facts that would decide, as they are typed."""
    return " ".join(f"--assume '{fact}'" for fact in judgement.undecided[:_MOST_FACTS])


def _why_not(judgement: Judgement, device: Device) -> str:
    before = judgement.before.total_us(judgement.scope)
    chosen = judgement.chosen
    if judgement.behind_addresses and judgement.certainty == "unknown":
        names = listed([f"`{name}`" for name in judgement.behind_addresses])
        line = f"`{judgement.behind_addresses[0]}: 120 us`"
        sizes = f", together with {_facts(judgement)}" if before is None and judgement.undecided else ""
        return (
            f"Not decided: what {names} reads and writes lies behind addresses that are loaded, and times of that are no more "
            f"than guesses; measured ones would decide it, given with --perf as a file with lines such as {line}{sizes}."
        )
    if (
        judgement.certainty == "unknown"
        and not judgement.undecided
        and not judgement.arbitrary
        and judgement.unfollowed
    ):
        kernel, name = judgement.unfollowed[0]
        return (
            f"Not decided: what `{kernel}` gets as `{name}` was not followed, so that not even its type is known; measured times, "
            "given with --perf, would decide it."
        )
    if before is None or judgement.certainty == "unknown":
        wanted = _facts(judgement)
        missing = ", ".join(judgement.before.missing[:4])
        open_ones = f"sizes are open ({missing})" if missing else "types are open"
        how = f"what would decide it: {wanted}" if wanted else "give them with --set or --assume"
        return f"Not decided: times are unknown while {_arbitrary(judgement) or open_ones}; {how}."
    bound = _dominant(judgement)
    head = f"The call takes about {format_us(before)} us on {device.id}, {bound}"
    reference = judgement.reference.total_us(judgement.scope) if judgement.reference is not None else None
    tail = _closeness(judgement)
    if reference is not None and reference * _CLEARLY < before:
        tail += f" (PyTorch's own kernels would need about {format_us(reference)} us)"
    if chosen is None or judgement.scope not in chosen.gains:
        return f"{head}, and nothing found would make it faster{tail}."
    gain = chosen.gains[judgement.scope]
    if gain.middle >= NOT_WORTH and gain.low < LEAST_LOW:
        return (
            f"{head}; the best change found ({chosen.finding.rule.name}) is predicted to gain {(gain.middle - 1) * 100:.0f} %, but its "
            f"interval holds a loss ({gain.low:.2f}x to {gain.high:.2f}x){tail}."
        )
    return (
        f"{head}; the best change found ({chosen.finding.rule.name}) is predicted to gain {(gain.middle - 1) * 100:.0f} %, "
        f"{shortfall(gain)}{tail}."
    )


def shortfall(gain: Priced) -> str:
    """Why a gain whose interval holds no loss does not pay."""
    if gain.middle < WORTH:
        limit = WORTH if gain.middle >= NOT_WORTH else NOT_WORTH
        return f"below the {(limit - 1) * 100:.0f} % that would pay for it"
    if not gain.noticed:
        return f"but that is {format_us(gain.saving_us)} us, too little to notice"
    return f"but from {gain.low:.2f}x to {gain.high:.2f}x, not sure enough for a change that only deals the same work out in another way"


def _arbitrary(judgement: Judgement) -> str:
    """The constants of kernels that nothing tells, where there are any."""
    by_kernel: dict[str, list[str]] = {}
    for kernel, name in judgement.arbitrary:
        by_kernel.setdefault(kernel, []).append(f"`{name}`")
    told = " and ".join(f"{listed(names)} of `{kernel}`" for kernel, names in by_kernel.items())
    return f"nothing tells {told} (give their values with --assume NAME=VALUE)" if told else ""


#: How much faster a well-written version has to be to be another one.
_AS_GOOD = 1.02


def _closeness(judgement: Judgement) -> str:
    """How near the call is to what a well-written version would take."""
    found = judgement.headroom
    if found is None:
        return ""
    if found.ratio < _AS_GOOD:
        return " (a well-written version would take as long)"
    return f" (a well-written version would take about {format_us(found.achievable_us)} us of device time, {found.ratio:.2f}x less)"


def _dominant(judgement: Judgement) -> str:
    steps = [s for s in judgement.before.steps if s.total_gpu_us > 0]
    if not steps:
        return "all of it host overhead"
    top = max(steps, key=lambda s: s.total_gpu_us)
    share = top.total_gpu_us / sum(s.total_gpu_us for s in steps)
    name = getattr(getattr(top.step, "kernel", None), "name", getattr(top.step, "name", "a step"))
    counted = judgement.measured.bound(name) if judgement.measured is not None else None
    bound = counted or top.bound
    return f"{share * 100:.0f} % of it in `{name}` and bound by {_BOUNDS.get(bound, bound)}"


_BOUNDS = {
    "tensor": "the tensor cores",
    "memory": "memory bandwidth",
    "l2": "L2 bandwidth",
    "lines": "the cache lines that its lanes spread over",
    "latency": "latency",
    "issue": "instruction issue",
    "shared": "shared memory",
    "launch": "launch overhead",
    "atomics": "atomics",
    "alu": "arithmetic",
}


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] if text and text[0] != "`" else text


def _kernel(judgement: Judgement) -> str | None:
    if judgement.chosen is not None and judgement.chosen.finding.kernel:
        return judgement.chosen.finding.kernel
    launches = judgement.workload.launches()
    return launches[0].kernel.name if launches else None


def _rule(finding: Finding) -> RuleRef:
    return RuleRef(finding.rule.code, finding.rule.name)


def _rule_of_change(chosen: Candidate) -> RuleRef | None:
    """The rule that found the chosen change; None where a cause proposes it that no rule knows."""
    return _rule(chosen.finding) if chosen.finding.rule.code else None


def _fix(chosen: Candidate, known: Known, outside: str) -> FixReport:
    if outside:
        return FixReport(False, reason=f"the launch is in {outside}, which is not the file in question")
    if known is not None:
        if chosen.finding.key not in known:
            return FixReport(False, reason="it rests on assumed facts; give them with --assume")
        chosen = known[chosen.finding.key]
    made = chosen.fix
    if made.rewriting is None or not made.automatic:
        return FixReport(False, reason=made.reason or "only a draft can be made automatically")
    effects = made.rewriting.effects
    return FixReport(True, effects.applicability, effects.numerics, effects.memory, "; ".join(effects.notes) or None)


#: Causes and launches of the well-written version that a verdict lists.
_MOST_CAUSES, _MOST_LAUNCHES = 8, 4


def _headroom(judgement: Judgement, chosen: Candidate | None) -> HeadroomReport | None:
    if judgement.headroom is None:
        return None
    gain = chosen.gains.get("gpu") if chosen is not None else None
    return headroom_report(judgement.headroom, gain.saving_us if gain is not None else 0.0)


def headroom_report(found: Headroom, saving_us: float = 0.0) -> HeadroomReport:
    """``found`` in numbers and words, beside a change that saves ``saving_us``."""
    gap = found.now_us - found.achievable_us
    closed = min(1.0, max(0.0, saving_us / gap)) if gap > 0 else 0.0
    largest = sorted(found.witnesses, key=lambda witness: -witness.us)[:_MOST_LAUNCHES]
    causes = [cause for cause in found.causes if cause.us > 0.005 or cause.alone_us > 0.02 * found.now_us]
    return HeadroomReport(
        found.now_us,
        found.bound.us,
        (found.low_us, found.achievable_us, found.high_us),
        found.library_us,
        found.changed_us,
        tuple(_cause(cause) for cause in causes[:_MOST_CAUSES]),
        closed,
        (f"with {found.change}",) if found.change else tuple(described(witness) for witness in largest),
    )


def _cause(cause: Cause) -> CauseReport:
    where = _location(cause.span, cause.symbol)
    return CauseReport(cause.name, cause.category, cause.us, cause.alone_us, cause.symbol, where, cause.evidence)


def _location(span: Span, symbol: str | None) -> Location:
    return Location(span.file, span.line, span.column, span.end_line, span.end_column, symbol)


def _estimate(judgement: Judgement, candidate: Candidate | None, device: Device) -> EstimateReport:
    return EstimateReport(
        device.id,
        judgement.scope,
        dict(sorted(judgement.workload.sizes.items())),
        _scope(judgement, candidate, "call"),
        _scope(judgement, candidate, "gpu"),
        tuple(_assumptions(judgement)),
    )


def _scope(judgement: Judgement, candidate: Candidate | None, scope: str) -> ScopeEstimate:
    reference = judgement.reference.total_us(scope) if judgement.reference is not None else None
    gain = judgement.gain(candidate).get(scope) if candidate is not None else None
    if gain is None:
        before = judgement.before.total_us(scope)
        if before is None:
            return ScopeEstimate(reference_us=reference)
        return ScopeEstimate(before, before, reference, 1.0, 1.0, 1.0, False)
    assert candidate is not None
    return ScopeEstimate(
        gain.before_us, gain.after_us, reference, gain.middle, gain.low, gain.high, candidate.worth(scope)
    )


def _assumptions(judgement: Judgement) -> Iterable[str]:
    yield from judgement.workload.assumptions
    for unknown in judgement.workload.unknowns:
        yield f"not followed: {unknown}"
    if judgement.workload.unknowns and not judgement.workload.traced:
        yield "--trace may tell what was not followed: it runs the host code on fake tensors, in a sandbox"
    for fact in judgement.scenarios[0].facts if judgement.scenarios else ():
        if fact.source != "guess":
            yield f"assumed: {fact} ({fact.evidence})"
    for launch in judgement.workload.launches():
        for what in unmeasured(launch):
            yield f"never timed: {what}, in `{launch.kernel.name}`; its time is the less sure"
    untyped = {
        value.name or name
        for launch in judgement.workload.launches()
        for name, value in launch.arguments.items()
        if isinstance(value, Tensor) and value.dtype is None
    }
    if untyped:
        taken = ", its values taken as float32" if judgement.before.total_us(judgement.scope) is not None else ""
        yield f"dtype not known{taken}: {', '.join(sorted(untyped))}"
    for launch in judgement.workload.launches():
        for assumed in launch.kernel.assumed:
            yield f"assumed in {launch.kernel.name}: {assumed}"
        for line, times in assumed_trips(launch) if judgement.before.total_us(judgement.scope) is not None else ():
            yield f"assumed in {launch.kernel.name}: the loop at line {line} runs {times}"
        for note in launch.kernel.notes:
            yield f"not followed in {launch.kernel.name}: {note}"
    for symbol in judgement.before.missing:
        yield f"{symbol} is open"


def _follow_up(judgement: Judgement, candidate: Candidate, device: Device) -> FollowUp:
    assert candidate.finding.change is not None
    return FollowUp(_rule(candidate.finding), candidate.finding.change.method, _estimate(judgement, candidate, device))


def _worth_telling(candidate: Candidate) -> bool:
    """Whether a finding is more than the model's noise: its gain is, in some scope, or it cannot be told."""
    return not candidate.gains or any(gain.middle >= NOT_WORTH for gain in candidate.gains.values())


def _finding(judgement: Judgement, candidate: Candidate, device: Device, known: Known) -> FindingReport:
    finding = candidate.finding
    evidence = tuple(f"{_place(e.span)}{e.text}" for e in finding.evidence)
    estimate = _estimate(judgement, candidate, device) if candidate.gains else None
    worth = candidate.worth(judgement.scope)
    assumed = known is not None and finding.key not in known and candidate in judgement.candidates
    severity = "info" if worth is False or assumed else finding.severity
    return FindingReport(
        _rule(finding), severity, finding.message, _location(finding.span, finding.symbol), evidence, estimate
    )


def _place(span: Span | None) -> str:
    return f"line {span.line}: " if span is not None else ""
