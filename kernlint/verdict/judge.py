"""From findings to one answer: price every change, take the one that saves most, say the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from kernlint import work
from kernlint.cost.comparing import Comparison
from kernlint.cost.device import Device
from kernlint.cost.estimate import Estimate, Estimator, estimate
from kernlint.headroom.headroom import Headroom
from kernlint.interpret.program import Program
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding
from kernlint.verdict.candidate import WORTH, Candidate, Priced
from kernlint.verdict.measured import Calibration
from kernlint.verdict.model import Scenario
from kernlint.verdict.proposals import gains_of, proposals
from kernlint.work import OutOfWork
from kernlint.workload import TorchOp, Workload
from kernlint.workload.kernel import BEHIND_ADDRESSES

_T = TypeVar("_T")

MAX_FOLLOW_UPS = 3
#: What-ifs for one verdict, and for what may follow the change that it advises: some twenty seconds on a slow machine.
MOST_WORK = 4_000_000
_MOST_AFTERWARDS = 1_000_000
#: A cause is preferred to a rule where it promises this many times the rule's speedup.
_CLEARLY_MORE = 1.5


@dataclass(frozen=True)
class Judgement:
    """All that a verdict needs: the workload, its time, the chosen change, what comes after it and what else was
    found. ``measured`` is where times are measured ones, None where all are predicted. ``errors`` are findings by which the
    call does not compute what it should: no question of speed, but worth nothing until they are mended. ``context`` and
    ``rules`` are what was asked, ``short`` the codes of those of the rules that did not look at everything.

    Where types or sizes are open, this is the judgement on the first of ``scenarios``, and ``base`` the one without anything
    assumed; ``certainty`` says what the answer rests on, ``undecided`` what would make it certain."""

    workload: Workload
    before: Estimate
    reference: Estimate | None
    chosen: Candidate | None
    candidates: tuple[Candidate, ...]
    context: Context
    rules: tuple[Rule, ...]
    scope: str
    measured: Calibration | None = None
    errors: tuple[Candidate, ...] = ()
    headroom: Headroom | None = None
    short: tuple[str, ...] = ()
    #: What the largest cause asks for, chosen or not.
    proposal: Candidate | None = None
    certainty: str = "proven"
    scenarios: tuple[Scenario, ...] = ()
    base: Judgement | None = None
    undecided: tuple[str, ...] = ()
    #: Grids that data decide, of which one program was counted.
    least: tuple[str, ...] = ()

    @property
    def proven(self) -> Judgement:
        """The judgement that rests on nothing assumed."""
        return self if self.base is None else self.base

    @cached_property
    def follow_ups(self) -> tuple[Candidate, ...]:
        """What would pay after the chosen change, in turn; computed when first asked for."""
        found: list[Candidate] = []
        here, current, allowance = self.context, self.chosen, Allowance(_MOST_AFTERWARDS)
        while current is not None and current.worth(self.scope) and len(found) < MAX_FOLLOW_UPS:
            if current.finding.change is None or current.finding.change.variant is None:
                break  # advice that no what-if of the interpreter expresses
            here = here.at(current.finding.change.variant)
            made = [c for c in (self.chosen, *found) if c is not None]
            done = {c.finding.key for c in made}
            tuned = {c.finding.rule for c in made if c.finding.rule.tuning}
            rules = [rule for rule in self.rules if rule not in tuned]
            later = [c for c in price(here, rules, allowance) if c.finding.key not in done]
            current = best_candidate([c for c in later if not c.unfinished], self.scope)
            if current is not None and current.worth(self.scope):
                found.append(current)
        return tuple(found)

    @property
    def worth(self) -> bool:
        return self.chosen is not None and self.chosen.worth(self.scope) is True

    @property
    def behind_addresses(self) -> tuple[str, ...]:
        """The kernels that work on memory of which only the addresses are loaded, so that no time predicted of them means much."""
        names = (launch.kernel.name for launch in self.workload.launches() if BEHIND_ADDRESSES in launch.kernel.notes)
        return tuple(dict.fromkeys(names)) if self.measured is None else ()

    @property
    def saving_us(self) -> float:
        gain = self.chosen.gains.get(self.scope) if self.chosen is not None else None
        return gain.saving_us if gain is not None else 0.0


def _torch_time(reference: Workload, device: Device) -> Estimate:
    """What torch's own kernels take for ``reference``. A size that is not known counts as one there, which is little off where
    something is moved beside tensors that are known; of a product, whose work grows with each of its sizes, nothing can be said."""
    found = estimate(reference, device)
    products = (step for step in reference.all_steps if isinstance(step, TorchOp) and step.kind in _PRODUCTS)
    return found if all(step.flops is not None for step in products) else replace(found, gpu_us=None)


_PRODUCTS = frozenset({"matmul", "conv", "attention"})


def judge(
    program: Program,
    workload: Workload,
    device: Device,
    scope: str,
    rules: Sequence[Rule],
    measured: Calibration | None = None,
    autotune: bool = False,
    device_named: bool = True,
    allowance: Allowance | None = None,
) -> Judgement:
    """The best single change to ``workload`` on ``device`` in ``scope``; priced by the cost model, corrected by what was
    ``measured``. With ``autotune``, tiles are left to the autotuner; ``device_named`` says that the user chose the device."""
    reference = _torch_time(workload.reference, device) if workload.reference is not None else None
    if measured is not None:
        reference = measured.reference(reference)
    context = Context(
        program,
        workload,
        device,
        price=_pricing(device, measured),
        autotune=autotune,
        device_named=device_named,
        library=reference,
    )
    allowance = allowance or Allowance(MOST_WORK)
    candidates = price(context, rules, allowance)
    before, headroom = context.estimate(workload), context.headroom
    named = [one for one in candidates if one.finding.cause is not None]
    proposed = proposals(program, workload, before, headroom, named) if headroom is not None else []
    proposal = best_candidate(proposed, scope)
    ruled = [c for c in candidates if not c.unfinished and c.finding.cause is None]
    chosen = preferred(best_candidate(ruled, scope), proposal, scope)
    return Judgement(
        workload,
        before,
        reference,
        chosen,
        tuple(candidates),
        context,
        tuple(rules),
        scope,
        measured,
        headroom=headroom,
        short=tuple(allowance.short),
        proposal=proposal,
    )


def preferred(ruled: Candidate | None, proposed: Candidate | None, scope: str) -> Candidate | None:
    """The better of what a rule advises and what the largest cause asks for: at about equal gain the rule's, which has words
    and perhaps a fix."""
    if proposed is None or not proposed.worth(scope):
        return ruled
    if ruled is None or scope not in ruled.gains:
        return (
            ruled
            if ruled is not None and ruled.worth(scope) is not False and ruled.finding.severity == "error"
            else proposed
        )
    if not ruled.worth(scope):
        return proposed
    same = (ruled.finding.rule.gains_by, ruled.finding.kernel) == (
        proposed.finding.rule.gains_by,
        proposed.finding.kernel,
    )
    gain, asked = ruled.gains[scope].middle, proposed.gains[scope].middle
    tunes = proposed.finding.rule.category == "tiling"
    if ruled.finding.rule.tuning and not tunes and asked**_FAR >= gain:
        return proposed
    same = same or (tunes and not ruled.finding.rule.tuning)
    return proposed if proposed.alone > (gain**_FAR if same else _CLEARLY_MORE * gain) else ruled


def with_errors(judgement: Judgement, program: Program, device: Device, rules: Iterable[Rule]) -> Judgement:
    """``judgement`` with what ``rules``, those that are not about speed, are sure is wrong."""
    context = Context(program, judgement.proven.workload.first_call(), device, price=_pricing(device, None))
    found = [unpriced(context, finding) for rule in rules for finding in rule.check(context)]
    errors = sorted((c for c in found if c.finding.severity == "error"), key=lambda c: c.finding.span)
    return replace(judgement, errors=tuple(errors))


def _pricing(device: Device, measured: Calibration | None) -> Callable[[Workload], Estimate]:
    priced = Estimator(device).estimate
    if measured is None:
        return priced
    return lambda workload: measured.apply(priced(workload))


class Allowance:
    """The work that what-ifs may take in all, handed out rule by rule: each gets two thirds of what is left, so that one which
    asks a lot leaves something for the others. ``short`` are the codes of rules that had too little."""

    def __init__(self, units: int) -> None:
        self._end = work.spent() + units
        self.short: dict[str, None] = {}

    def share(self, code: str) -> AbstractContextManager[None]:
        """Let the block have its share, and end it where that is spent."""
        return _Share(self, code, max(0, (self._end - work.spent()) * 2 // 3))

    def ask(self, code: str, question: Callable[[], _T]) -> _T | None:
        """The answer to ``question``, None where its share was spent before."""
        answers: list[_T] = []
        with self.share(code):
            answers.append(question())
        return answers[0] if answers else None


class _Share(work.limited):
    """What :meth:`Allowance.share` gives: a class of its own, as there are thousands for a file."""

    def __init__(self, allowance: Allowance, code: str, units: int) -> None:
        super().__init__(units)
        self._allowance, self._code = allowance, code

    def __exit__(self, *raised: object) -> bool:
        super().__exit__()
        short = isinstance(raised[1], OutOfWork)
        if short:
            self._allowance.short[self._code] = None
        return short


def price(context: Context, rules: Iterable[Rule], allowance: Allowance | None = None) -> list[Candidate]:
    """Every finding of ``rules`` with the gain of its change, in source order; what was found of each by the time that its
    ``allowance`` was spent."""
    candidates: list[Candidate] = []
    for rule in rules:
        with allowance.share(rule.code) if allowance is not None else nullcontext():
            for finding in rule.check(context):
                candidates.append(replace(unpriced(context, finding), unfinished=True))
                candidates[-1] = _candidate(context, finding)
    return sorted(candidates, key=lambda c: (c.finding.span, c.finding.rule.code))


def unpriced(context: Context, finding: Finding) -> Candidate:
    """``finding`` without a gain."""
    return Candidate(
        finding, {}, None, context.program, context.workload.entry, context.workload.bare, context.device_named
    )


def _candidate(context: Context, finding: Finding) -> Candidate:
    headroom = context.headroom if finding.cause is not None else None
    if finding.cause is not None and headroom is not None:
        gains = gains_of(finding.cause, context.estimate(context.workload), headroom)
        return replace(unpriced(context, finding), gains=gains, alone=headroom.alone(finding.cause))
    variant = finding.change.variant if finding.change is not None and finding.change.priced else None
    workload = context.after(variant) if variant is not None else None
    if workload is None:
        return unpriced(context, finding)
    old, new = context.estimate(context.workload), context.estimate(workload)
    compared = Comparison(old, new)
    gains = {}
    for scope in ("gpu", "call"):
        before_us, after_us = old.total_us(scope), new.total_us(scope)
        if before_us is not None and after_us is not None:
            gains[scope] = Priced(before_us, after_us, *compared.speedup(scope))
    return Candidate(
        finding, gains, new, context.program, context.workload.entry, context.workload.bare, context.device_named
    )


#: Structure is left behind where its speedup, to this power, is below that of tuning alone.
_FAR = 3.0


def best_candidate(candidates: Sequence[Candidate], scope: str) -> Candidate | None:
    """The largest saving, where structure comes before tuning: the best tile depends on operand type, layout, fusion
    and algorithm, so it is chosen after them, as a follow-up. Only where structure goes a small part of the way that tuning
    alone goes, it is the follow-up. Of changes without a known gain the first proven one, no tile if there is another, when
    none has a known gain."""
    for candidate in candidates:
        # An error that the cost model has no term for, such as compiling on every call, outweighs what it has one for.
        change = candidate.finding.change
        if candidate.finding.severity == "error" and change is not None and not change.priced:
            return candidate
    known = [c for c in candidates if scope in c.gains and c.gains[scope].middle >= 1.0]
    if known:
        structural = [c for c in known if not c.finding.rule.tuning and c.gains[scope].middle >= WORTH]
        best = max(known, key=lambda c: c.gains[scope].saving_us)
        ahead = max(structural, key=lambda c: c.gains[scope].saving_us, default=best)
        near = ahead.gains[scope].middle ** _FAR >= best.gains[scope].middle
        return ahead if near else best
    open_ones = [c for c in candidates if not c.gains and c.finding.change is not None and c.finding.severity != "info"]
    return min(open_ones, key=lambda c: c.finding.rule.tuning, default=None)
