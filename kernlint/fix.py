"""From a source text and a question to the changed source: what ``kernlint fix`` does, as one function."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from kernlint.analysis import DEFAULT_DEVICE, Analysis, analysis
from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate, speedup
from kernlint.errors import AnalysisError, KernlintError, SourceError
from kernlint.interpret.program import Program
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, apply_edits
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context
from kernlint.rules.registry import find_rule
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import is_markdown
from kernlint.verdict.judge import NOT_WORTH, WORTH, Candidate, Priced, best_candidate, price
from kernlint.workload import Workload

#: Fixes of one run; each is followed by a fresh analysis.
MAX_ROUNDS = 10

#: How much slower than predicted the rewritten program may be for the model, unless it is worth it as it is: what-if edits
#: mean the same as their text, transforms describe the result less exactly.
_SLACK_EDITS = 1.05
_SLACK_TRANSFORMS = 1.5


@dataclass(frozen=True)
class Applied:
    """A fix that was made: the rule's ``code`` and ``name``, the ``line`` of its finding and the ``lines`` it changed, both
    counted in the source as it was before this fix, what it did (``method``), its effects, and what was predicted of it
    in the chosen scope (None where sizes are open)."""

    code: str
    name: str
    kernel: str
    line: int
    lines: tuple[int, ...]
    method: str
    effects: Effects
    gain: Priced | None


@dataclass(frozen=True)
class Refused:
    """A fix that was not made: ``reason`` says why, ``plan`` how a person would do it. ``unsafe`` where it could be made
    but the user has to agree."""

    code: str
    name: str
    line: int
    reason: str
    plan: str
    unsafe: bool = False


@dataclass(frozen=True)
class Fixed:
    """The outcome: the kernel's source ``before`` and ``after`` (the same text where nothing was applied)."""

    path: str
    before: str
    after: str
    applied: tuple[Applied, ...] = ()
    refused: tuple[Refused, ...] = ()

    @property
    def diff(self) -> str:
        """A unified diff; empty where nothing was applied."""
        return diff_of(self.before, self.after, self.path)


def diff_of(before: str, after: str, path: str) -> str:
    """The unified diff of two versions of the file called ``path``; empty where they are equal."""
    lines = difflib.unified_diff(_lines(before), _lines(after), path, path)
    return "".join(line if line[-1] in "\r\n" else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """The lines of ``text`` with their ends."""
    return [line for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text) if line]


@dataclass(frozen=True)
class _State:
    """One version of the program under the question; ``candidates`` are its findings with their gains."""

    text: str
    program: Program
    workload: Workload
    candidates: tuple[Candidate, ...]
    chosen: Candidate | None


@dataclass
class _Question:
    """What is asked of each version."""

    device: str
    scope: str
    entry: str | None
    overrides: Mapping[str, Any]
    assumptions: Sequence[str]
    rules: tuple[Rule, ...]
    unsafe: bool
    reference: str | None = None
    reference_path: str = "reference.py"
    done: list[Applied] = field(default_factory=list)
    refused: dict[tuple[str, str, str], Refused] = field(default_factory=dict)


def fix_source(
    source: str,
    *,
    path: str = "kernel.py",
    reference: str | None = None,
    reference_path: str = "reference.py",
    device: str = DEFAULT_DEVICE,
    scope: str = "gpu",
    entry: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    assumptions: Iterable[str] = (),
    performance: str | None = None,
    performance_path: str = "performance data",
    rules: Iterable[str] = (),
    follow_ups: bool = False,
    unsafe: bool = False,
) -> Fixed:
    """``source`` with the change made that its verdict chooses, or those of ``rules`` (codes or names).

    The arguments up to ``performance_path`` are those of :func:`kernlint.analysis.analyze`. ``follow_ups`` goes on with
    what is worth doing next until nothing is, at most ``MAX_ROUNDS`` times; ``unsafe`` allows changes that are not
    declared safe. Of a Markdown task file the result is the kernel's own source.

    Every fix is read again before it counts: the new source must parse, the finding must be gone, and the cost model must
    see the predicted time. Raises what :func:`~kernlint.analysis.analyze` raises; a fix that cannot be made is no error
    but among ``refused``.
    """
    selected = tuple(find_rule(rule) for rule in rules)
    asked = _Question(
        device, scope, entry, overrides or {}, tuple(assumptions), selected, unsafe, reference, reference_path
    )
    first = analysis(
        source,
        path=path,
        reference=reference,
        reference_path=reference_path,
        device=device,
        scope=scope,
        entry=entry,
        overrides=overrides,
        assumptions=asked.assumptions,
        performance=performance,
        performance_path=performance_path,
    )
    if is_markdown(SourceText(source, path)):
        # From here on the kernel is a Python file of its own, and the reference another.
        if reference is None and first.task.reference is not None:
            asked.reference = first.task.reference.text
        path = f"{path.removesuffix(PurePath(path).suffix)}.py"
    state = _state(first, asked)
    before = state.text
    for _ in range(MAX_ROUNDS):
        made = _next_fix(state, asked, path, follow_ups)
        if made is None:
            break
        state = made
        if not follow_ups and not selected:
            break
    return Fixed(path, before, state.text, tuple(asked.done), tuple(asked.refused.values()))


def _state(read: Analysis, asked: _Question) -> _State:
    judgement = read.judgement
    if not asked.rules:
        return _State(read.task.kernel.text, read.program, judgement.workload, judgement.candidates, judgement.chosen)
    gpu = find_device(asked.device)
    found: list[tuple[Workload, list[Candidate]]] = []
    for workload in read.program.workloads():
        if workload.launches():
            context = Context(read.program, workload, gpu, price=lambda w: estimate(w, gpu))
            found.append((workload, price(context, asked.rules)))
    # One workload at a time; the others come in later rounds.
    workload, candidates = max(found, key=lambda pair: bool(pair[1]))
    return _State(read.task.kernel.text, read.program, workload, tuple(candidates), None)


def _next_fix(state: _State, asked: _Question, path: str, follow_ups: bool) -> _State | None:
    """The program after the next fix that can be made; None where there is none left."""
    for candidate in _in_order(state, asked, follow_ups):
        key = _key(candidate)
        try:
            made = _made(state, asked, candidate, path)
        except CannotRewrite as error:
            asked.refused[key] = _refusal(candidate, str(error))
            continue
        if isinstance(made, Refused):
            asked.refused[key] = made
            continue
        asked.refused.pop(key, None)
        return made
    return None


def _in_order(state: _State, asked: _Question, follow_ups: bool) -> list[Candidate]:
    """What to try, the most worthwhile first."""
    tuned = {one.code for one in asked.done if find_rule(one.code).tuning}
    left = [c for c in state.candidates if c.finding.rule.code not in tuned and _key(c) not in asked.refused]
    if asked.rules:
        known = [c for c in left if asked.scope not in c.gains or c.gains[asked.scope].middle >= 1.0]
        return sorted(known, key=lambda c: -c.gains[asked.scope].saving_us if asked.scope in c.gains else 0.0)
    order = []
    if state.chosen is not None and _worth(state.chosen, asked.scope):
        order.append(state.chosen)
    while follow_ups and left:
        best = best_candidate(left, asked.scope)
        if best is None or not _worth(best, asked.scope):
            break
        left.remove(best)
        if best not in order:
            order.append(best)
    return [c for c in order if c.finding.rule.code not in tuned and _key(c) not in asked.refused]


def _worth(candidate: Candidate, scope: str) -> bool:
    """Whether to make the change: where that cannot be told, a proven finding is reason enough."""
    return candidate.worth(scope) is not False


def _key(candidate: Candidate) -> tuple[str, str, str]:
    finding = candidate.finding
    return finding.rule.code, finding.kernel, finding.symbol


def _refusal(candidate: Candidate, reason: str, unsafe: bool = False) -> Refused:
    finding = candidate.finding
    plan = finding.change.plan if finding.change is not None else ""
    return Refused(finding.rule.code, finding.rule.name, finding.span.line, reason, plan, unsafe)


def _made(state: _State, asked: _Question, candidate: Candidate, path: str) -> _State | Refused:
    """The program with the change of ``candidate`` made and read again. Raises :class:`CannotRewrite`."""
    made = candidate.attempt.rewriting
    if made is None:
        raise CannotRewrite(candidate.attempt.reason)
    effects = made.effects
    if effects.applicability == "display-only" or (effects.applicability == "unsafe" and not asked.unsafe):
        why = "; ".join(effects.notes) or f"numerics {effects.numerics}"
        return _refusal(candidate, f"the fix is {effects.applicability}: {why}", effects.applicability == "unsafe")
    after = _read_again(apply_edits(state.text, made.edits), asked, path)
    gain = _checked(state, asked, candidate, after)
    finding = candidate.finding
    source = Source(state.program.kernel)
    lines = sorted({source.line_number(edit.start) for edit in made.edits})
    asked.done.append(
        Applied(
            finding.rule.code,
            finding.rule.name,
            finding.kernel,
            finding.span.line,
            tuple(lines),
            finding.change.method if finding.change is not None else "",
            effects,
            gain,
        )
    )
    return after


def _read_again(text: str, asked: _Question, path: str) -> _State:
    """The analysis of the rewritten source. Raises :class:`CannotRewrite` where it is none."""
    try:
        read = analysis(
            text,
            path=path,
            reference=asked.reference,
            reference_path=asked.reference_path,
            device=asked.device,
            scope=asked.scope,
            entry=asked.entry,
            overrides=asked.overrides,
            assumptions=asked.assumptions,
        )
    except SourceError as error:
        raise CannotRewrite(f"the rewritten source does not parse ({error}); nothing was changed") from None
    except (AnalysisError, KernlintError) as error:
        raise CannotRewrite(f"the rewritten source cannot be followed ({error}); nothing was changed") from None
    return _state(read, asked)


def _checked(before: _State, asked: _Question, candidate: Candidate, after: _State) -> Priced | None:
    """What the rewritten program gains by the model, None where sizes are open. Raises :class:`CannotRewrite` where it is
    not what was promised."""
    workload = next((w for w in after.program.workloads() if w.entry == before.workload.entry), None)
    if workload is None:
        raise CannotRewrite(f"the rewritten source has no {before.workload.entry} that could be followed")
    _check_followed(before.workload, workload)
    gain = _gain(before.workload, workload, asked, candidate)
    promised = candidate.gains.get(asked.scope)
    least = min(NOT_WORTH, promised.middle) if promised is not None else NOT_WORTH
    gpu = find_device(asked.device)
    context = Context(after.program, workload, gpu, price=lambda w: estimate(w, gpu))
    count = sum(_alike(one, candidate, asked.scope, least) for one in before.candidates)
    left = sum(_alike(one, candidate, asked.scope, least) for one in price(context, [candidate.finding.rule]))
    if left >= max(count, 1):
        raise CannotRewrite(f"{candidate.finding.rule.code} would still be found in the rewritten source")
    return gain


def _check_followed(before: Workload, after: Workload) -> None:
    """Raise where less is known of the rewritten program, or where it returns something else."""
    if len(after.unknowns) > len(before.unknowns):
        raise CannotRewrite(f"the rewritten source cannot be followed as far as before ({after.unknowns[-1]})")
    lost = [launch for launch in after.launches() if not launch.kernel.complete]
    if len(lost) > sum(not launch.kernel.complete for launch in before.launches()):
        raise CannotRewrite(f"the rewritten kernel cannot be followed ({'; '.join(lost[-1].kernel.notes)})")
    old, new = (sorted((str(t.dtype), str(t.shape)) for t in w.outputs) for w in (before, after))
    if old != new:
        raise CannotRewrite("the rewritten source returns tensors of another type or shape")


def _gain(before: Workload, after: Workload, asked: _Question, candidate: Candidate) -> Priced | None:
    """The predicted times before and after; raises where the second is not the one that was promised."""
    gpu = find_device(asked.device)
    old, new = estimate(before, gpu), estimate(after, gpu)
    old_us, new_us = old.total_us(asked.scope), new.total_us(asked.scope)
    if old_us is None or new_us is None:
        return None
    found = Priced(old_us, new_us, *speedup(old, new, asked.scope))
    gain, change = candidate.gains.get(asked.scope), candidate.finding.change
    if gain is not None and change is not None and change.variant is not None:
        slack = _SLACK_TRANSFORMS if change.variant.transforms else _SLACK_EDITS
        promised = old_us / gain.middle
        short = new_us > promised * slack and found.middle < WORTH
        if short or new_us > old_us * (1 + 1e-9):
            raise CannotRewrite(f"the rewritten source would take {new_us:.1f} us, not the predicted {promised:.1f} us")
    return found


def _alike(one: Candidate, other: Candidate, scope: str, least: float) -> bool:
    """Whether ``one`` is a finding like ``other``, and more than the model's noise."""
    gain = one.gains.get(scope)
    return _key(one) == _key(other) and (gain is None or gain.middle >= least or math.isclose(gain.middle, least))
