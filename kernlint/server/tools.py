"""What the tools of ``kernlint mcp`` compute, in a worker: from texts to JSON-ready data and a short text that says the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernlint.records import dataclass
from kernlint.request import Request
from kernlint.verdict.published import published
from kernlint.verdict.speedup import format_factor, format_us, round_ratio, round_us

if TYPE_CHECKING:
    from kernlint.analysis import Reading
    from kernlint.cost.estimate import Estimate
    from kernlint.lint.model import Finding
    from kernlint.verdict.candidate import Priced
    from kernlint.verdict.judge import Judgement
    from kernlint.workload import Workload

#: What is not worth a change any more, as in a verdict.
WORTH = 1.2

#: Findings that the text beside the data lists.
_MOST_LISTED = 30


@dataclass(frozen=True)
class Answer:
    """What a tool returns: JSON-ready ``data`` and ``text``, a few lines for who reads no JSON."""

    data: dict[str, Any]
    text: str


def analyze(task: Request) -> Answer:
    """The verdict. Raises as :func:`kernlint.analysis.analyze` does, and so do the other tools."""
    from kernlint import analysis

    verdict = analysis.answer(task)
    data = verdict.to_json()
    lines = [f"worth optimizing: {data['worth_optimizing']}", f"reason: {data['reason']}"]
    if verdict.worth_optimizing:
        lines += [
            f"bottleneck: {data['bottleneck']}",
            f"method: {data['optimisation method']}",
            f"plan: {data['modification plan']}",
            f"expected speedup: {data['expected_speedup'] or 'unknown while sizes are open'}",
        ]
    if verdict.details.certainty != "proven":
        lines.append(f"certainty: {verdict.details.certainty}")
    found = verdict.details.headroom
    if found is not None:
        lines.append(f"headroom: {format_us(found.now_us)} us now, {format_us(found.achievable_us[1])} us achievable")
    return Answer(data, "\n".join(lines))


def headroom(task: Request) -> Answer:
    """How far the call is from a well-written version of the same computation, and why: of several public functions, of that with
    the most to gain."""
    from kernlint.analysis import read_program
    from kernlint.verdict.words import headroom_report

    reading = read_program(task)
    judged = max((_judged(reading, workload) for workload in reading.workloads), key=_to_gain_us)
    workload, now, found = judged.workload, judged.before, judged.headroom
    ratio = found.ratio if found is not None else None
    kernels = _kernels(workload, now)
    data = {
        "entry": workload.entry,
        "device": reading.device.id,
        "sizes": dict(sorted(workload.sizes.items())),
        "missing": list(now.missing),
        "ratio": round_ratio(ratio),
        "headroom": None if found is None else headroom_report(found).to_json(),
        "kernels": [{"name": name, "line": line, "gpu_us": round_us(us)} for name, line, us in kernels],
    }
    if found is None or ratio is None:
        open_ = ", ".join(now.missing) or "tiles are of no size that there are numbers for"
        return Answer(
            data, f"{workload.entry}: no times while sizes are open: {open_}; give them with `set` or `assume`"
        )
    lines = [
        f"{workload.entry} on {reading.device.id}: {format_us(found.now_us)} us now, {format_us(found.achievable_us)} us achievable "
        f"({format_factor(found.ratio)}), bound {format_us(found.bound.us)} us"
    ]
    if found.change:
        lines.append(f"achievable with {found.change}; `analyze` says how")
    report = headroom_report(found)
    lines += [
        f"- {c.cause}: {format_us(c.us)} us, {c.step} line {c.location.line} {c.evidence}".rstrip()
        for c in report.causes
    ]
    if ratio < WORTH:
        lines.append(f"below {WORTH}x: nothing left that would pay")
    return Answer(data, "\n".join(lines))


def explain_rule(rule: str) -> Answer:
    """The documentation of a rule, by code or name."""
    from kernlint.lint.diagnostics import DIAGNOSTICS
    from kernlint.rules.registry import find_rule
    from kernlint.server.editing import rule_page

    page = rule_page(rule)
    asked = rule.strip().lower()
    found: Any = next((one for one in DIAGNOSTICS if asked in (one.code.lower(), one.name)), None) or find_rule(rule)
    data = {name: getattr(found, name) for name in ("code", "name", "category", "severity", "summary")}
    return Answer({**data, "page": page}, page)


def check_source(task: Request, select: Sequence[str] | None, ignore: Sequence[str]) -> Answer:
    """What the linter finds, under no configuration but what is given."""
    found = _findings(task, tuple(select) if select else None, tuple(ignore), fixes=True)
    counts = {level: sum(f.severity == level for f in found) for level in ("error", "warning", "info")}
    data = {
        "findings": [finding.to_json() for finding in found],
        "errors": counts["error"],
        "warnings": counts["warning"],
        "infos": counts["info"],
    }
    lines = [
        f"{f.place.line}:{f.place.column}: {f.severity} {f.code} {f.name}: {f.message}" for f in found[:_MOST_LISTED]
    ]
    if len(found) > _MOST_LISTED:
        lines.append(f"... and {len(found) - _MOST_LISTED} more")
    return Answer(data, "\n".join(lines) or "nothing found")


def fix_source(task: Request, rules: Sequence[str], follow_ups: bool, unsafe: bool) -> Answer:
    """The source with the change of the verdict made, or those of ``rules``."""
    from kernlint import fix

    fixed = fix.fix_source(task, rules=rules, follow_ups=follow_ups, unsafe=unsafe)
    applied, refused, lines = [], [], []
    for one in fixed.applied:
        effects = published(one.effects, ("applicability", "numerics", "memory"))
        applied.append({**published(one, ("code", "name", "line", "method")), **effects, "predicted": _gain(one.gain)})
        said = "" if one.gain is None else f", predicted {_from_to(one.gain)}"
        lines.append(f"fixed {one.code} {one.name} at line {one.line}{said} ({one.effects.applicability})")
    for other in fixed.refused:
        refused.append(published(other, ("code", "name", "line", "reason", "plan", "unsafe")))
        lines.append(f"cannot fix {other.title} at line {other.line}: {other.reason}")
    data = {
        "changed": fixed.after != fixed.before,
        "source": fixed.after,
        "diff": fixed.diff,
        "applied": applied,
        "refused": refused,
    }
    return Answer(data, "\n".join(lines) or fixed.nothing)


def compare(before: Request, after: Request) -> Answer:
    """Whether the second version is predicted to be faster, and what is left to gain then."""
    from kernlint.analysis import read_program
    from kernlint.cost.comparing import speedup
    from kernlint.verdict.candidate import Priced

    scope = before.scope
    old, new = (read_program(task) for task in (before, after))
    old_call, new_call = _same_call(old, new)
    old_judged, new_judged = _judged(old, old_call), _judged(new, new_call)
    old_time, new_time = old_judged.before, new_judged.before
    old_room, new_room = (one.headroom.ratio if one.headroom is not None else None for one in (old_judged, new_judged))
    errors = _new_errors(before, after)
    same = _same_outputs(old_call, new_call)
    old_us, new_us = old_time.total_us(scope), new_time.total_us(scope)
    gain = None
    if old_us is not None and new_us is not None:
        gain = Priced(old_us, new_us, *speedup(old_time, new_time, scope))
    answer, reason = _comparison(gain, errors, same, (*old_time.missing, *new_time.missing))
    data = {
        "device": old.device.id,
        "scope": scope,
        "answer": answer,
        "reason": reason,
        "speedup": _gain(gain),
        "headroom_before": round_ratio(old_room),
        "headroom_after": round_ratio(new_room),
        "new_errors": errors,
        "same_outputs": same,
    }
    left = "" if new_room is None else f"; headroom left {format_factor(new_room)}"
    return Answer(data, f"{answer}: {reason}{left}")


def _gain(gain: Priced | None) -> dict[str, Any] | None:
    return None if gain is None else published(gain, ("before_us", "after_us", "middle", "low", "high"))


def _from_to(gain: Priced) -> str:
    return f"{format_us(gain.before_us)} to {format_us(gain.after_us)} us"


def _comparison(
    gain: Priced | None, errors: Sequence[str], same: bool | None, missing: Sequence[str]
) -> tuple[str, str]:
    """The answer in one word, and why."""
    if errors:
        return "wrong", errors[0]
    if same is False:
        return "wrong", "the second version returns tensors of another type or shape"
    if gain is None:
        open_ = ", ".join(dict.fromkeys(missing)) or "the tiles"
        return "unknown", f"no times while sizes are open: {open_}"
    middle, low, high = published(gain, ("middle", "low", "high")).values()
    said = f"{_from_to(gain)} predicted, {middle}x ({low} to {high})"
    if low > 1:
        return "faster", said
    return ("slower" if high < 1 else "unclear"), said


def _judged(reading: Reading, workload: Workload) -> Judgement:
    """What the verdict on one call would rest on, in device time."""
    from kernlint.rules.base import NOT_ABOUT_SPEED
    from kernlint.rules.registry import all_rules
    from kernlint.verdict.judge import judge

    rules = [rule for rule in all_rules() if rule.default and rule.category not in NOT_ABOUT_SPEED]
    return judge(reading.program, workload, reading.device, "gpu", rules, device_named=reading.device_named)


def _to_gain_us(judged: Judgement) -> float:
    found = judged.headroom
    return -1.0 if found is None else found.now_us - found.achievable_us


def _kernels(workload: Workload, now: Estimate) -> list[tuple[str, int, float | None]]:
    """Name, line and time of each kernel, those with the most time first."""
    from kernlint.server.notes import kernel_times

    times = kernel_times(workload, now)
    known = now.gpu_us is not None
    found = [(kernel.name, kernel.name_span.line, us if known else None) for kernel, us in times]
    return sorted(found, key=lambda one: (-(one[2] or 0.0), one[1]))


def _same_call(old: Reading, new: Reading) -> tuple[Workload, Workload]:
    """The calls to compare: of one function, that with the most time in it. Raises ``UsageError`` where there is none in both."""
    from kernlint.cost.estimate import estimate
    from kernlint.errors import UsageError

    others = {workload.entry: workload for workload in new.workloads}
    pairs = [(workload, others[workload.entry]) for workload in old.workloads if workload.entry in others]
    if not pairs and len(old.workloads) == len(new.workloads) == 1:
        pairs = [(old.workloads[0], new.workloads[0])]
    if not pairs:
        names = [", ".join(w.entry for w in reading.workloads) for reading in (old, new)]
        raise UsageError(
            f"no function is in both versions: one has {names[0]}, the other {names[1]}; name one with `entry`"
        )
    return max(pairs, key=lambda pair: estimate(pair[0], old.device).gpu_us or 0.0)


def _same_outputs(old: Workload, new: Workload) -> bool | None:
    """Whether both return tensors of the same types and shapes; None where these are not known."""
    if any(t.dtype is None or t.shape is None for w in (old, new) for t in w.outputs) or old.unknowns or new.unknowns:
        return None
    one, other = (sorted((str(t.dtype), str(t.shape)) for t in w.outputs) for w in (old, new))
    return one == other


def _findings(
    task: Request, select: tuple[str, ...] | None = None, ignore: tuple[str, ...] = (), fixes: bool = False
) -> tuple[Finding, ...]:
    from kernlint.server.editing import Asked, findings

    asked = Asked(task.path, task.device, select, (), ignore, isolated=True)
    return findings(task.source, asked, fixes, task.reference).findings


def _new_errors(before: Request, after: Request) -> list[str]:
    """What the linter is sure is wrong in the second version, but for what was wrong in the first as often: the wording tells
    lines and names, which may change."""
    old, new = ([f for f in _findings(task) if f.severity == "error"] for task in (before, after))
    known = Counter(finding.code for finding in old)
    found = []
    for finding in new:
        if known[finding.code]:
            known[finding.code] -= 1
        else:
            found.append(f"{finding.code} {finding.name}: {finding.message}")
    return found
