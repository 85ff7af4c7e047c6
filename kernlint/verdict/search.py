"""The changes to one version of a call, priced alike and in order: what rules find and what the largest causes ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import TypeVar

from kernlint import work
from kernlint.cost.comparing import Comparison
from kernlint.records import dataclass, replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding
from kernlint.verdict.candidate import WORTH, Candidate, Gains
from kernlint.verdict.proposals import gains_of, proposals
from kernlint.work import OutOfWork

_T = TypeVar("_T")

MAX_FOLLOW_UPS = 3
#: What-ifs for one verdict, and for what may follow the change that it advises: some twenty seconds on a slow machine.
MOST_WORK = 4_000_000
_MOST_AFTERWARDS = 1_000_000
#: A cause is preferred to a rule where it promises this many times the rule's speedup.
_CLEARLY_MORE = 1.5
#: Structure is left behind where its speedup, to this power, is below that of tuning alone.
_FAR = 3.0


@dataclass(frozen=True)
class Search:
    """What may be changed in the version of the program that ``context`` is about; ``findings`` are what ``rules`` found, in source
    order."""

    context: Context
    rules: tuple[Rule, ...]
    scope: str
    findings: tuple[Candidate, ...]

    @property
    def named(self) -> list[Candidate]:
        """The findings that are priced, those that name a cause where it is worth a word; of several for one cause the last."""
        found = [one for one in self.findings if not one.unfinished and (one.gains or one.finding.cause is None)]
        return [*{one.finding.cause or one.finding.key: one for one in found}.values()]

    @cached_property
    def asked(self) -> list[Candidate]:
        """What the causes of the headroom ask for that no finding names."""
        context, headroom = self.context, self.context.headroom
        if headroom is None:
            return []
        names = {one.finding.cause for one in self.findings}
        causes = [cause for cause in headroom.causes if cause not in names]
        return proposals(context, headroom, causes)

    @property
    def changes(self) -> list[Candidate]:
        """All that is weighed: each cause once, under the rule that names it."""
        return [*self.named, *self.asked]

    @cached_property
    def best(self) -> Candidate | None:
        """The change that comes first of those that are worth it, or may be; else of all."""
        return first_of(self.changes, self.scope)

    def follow_ups(self, first: Candidate | None) -> tuple[Candidate, ...]:
        """What would pay after the change ``first``, in turn: what has a name, as a cause alone is no change that one could follow."""
        found: list[Candidate] = []
        here, current, allowance = self, first, Allowance(_MOST_AFTERWARDS)
        while current is not None and current.worth(self.scope) and len(found) < MAX_FOLLOW_UPS:
            after = here.after(current, allowance)
            if after is None:
                break
            done = {one.finding.key for one in (first, *found) if one is not None}
            left = [one for one in after.named if one.finding.key not in done]
            here, current = after, first_of(left, self.scope)
            if current is not None and current.worth(self.scope):
                found.append(current)
        return tuple(found)

    def after(self, made: Candidate, allowance: Allowance) -> Search | None:
        """The search on the program with ``made`` in it, a tile left as it is then; None where no what-if expresses the change."""
        change, rule = made.finding.change, made.finding.rule
        if change is None or change.variant is None:
            return None
        rules = [one for one in self.rules if not (rule.tuning and one is rule)]
        return search(self.context.at(change.variant), rules, self.scope, allowance)


def search(context: Context, rules: Iterable[Rule], scope: str, allowance: Allowance | None = None) -> Search:
    """The search on the program of ``context``, with all that ``rules`` find in it by the time their ``allowance`` is spent."""
    rules = tuple(rules)
    return Search(context, rules, scope, tuple(price(context, rules, allowance)))


def first_of(candidates: Iterable[Candidate], scope: str) -> Candidate | None:
    """The first of the ``ranked`` ones that is worth it, or may be; the first of all where none is."""
    first = None
    for one in ranked(candidates, scope):
        if one.worth(scope) is not False:
            return one
        first = first or one
    return first


def ranked(candidates: Iterable[Candidate], scope: str) -> Iterator[Candidate]:
    """``candidates`` in the order in which they are worth trying."""
    left = list(candidates)
    while True:
        ruled = _best([one for one in left if one.finding.rule.code], scope)
        asked = [one for one in left if not one.finding.rule.code and one.worth(scope)]
        first = _preferred(ruled, _best(asked, scope), scope)
        if first is None:
            return
        left = [one for one in left if one is not first]
        yield first


def _best(candidates: Sequence[Candidate], scope: str) -> Candidate | None:
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


def _preferred(ruled: Candidate | None, proposed: Candidate | None, scope: str) -> Candidate | None:
    """The better of what a rule advises and what the largest cause asks for: at about equal gain the rule's, which has words
    and perhaps a fix."""
    if proposed is None:
        return ruled
    if ruled is None or scope not in ruled.gains:
        return (
            ruled
            if ruled is not None and ruled.worth(scope) is not False and ruled.finding.severity == "error"
            else proposed
        )
    if not ruled.worth(scope):
        return proposed
    if ruled.finding.cause is not None:  # both promise what the headroom says
        return max(ruled, proposed, key=lambda one: one.gains[scope].saving_us)
    same = (ruled.finding.rule.gains_by, ruled.finding.kernel) == (
        proposed.finding.rule.gains_by,
        proposed.finding.kernel,
    )
    gain, asked = ruled.gains[scope].middle, proposed.gains[scope].middle
    tunes = proposed.finding.cause is not None and proposed.finding.cause.tunes
    if ruled.finding.rule.tuning and not tunes and asked**_FAR >= gain:
        return proposed
    same = same or (tunes and not ruled.finding.rule.tuning)
    return proposed if proposed.alone > (gain**_FAR if same else _CLEARLY_MORE * gain) else ruled


# -- what each is worth --------------------------------------------------------------------------------------------------


class Allowance:
    """The work that what-ifs may take in all, handed out rule by rule: each gets two thirds of what is left, so that one which
    asks a lot leaves something for the others. ``short`` are the codes of rules that had too little."""

    def __init__(self, units: int = 0) -> None:
        self._end = work.spent() + units
        self.short: dict[str, None] = {}

    @contextmanager
    def share(self, code: str) -> Iterator[None]:
        """Let the block have its share, and end it where that is spent."""
        try:
            with work.limited(self._units()):
                yield
        except OutOfWork:
            self.short[code] = None

    def _units(self) -> float:
        return max(0, (self._end - work.spent()) * 2 // 3)

    def ask(self, code: str, question: Callable[[], _T]) -> _T | None:
        """The answer to ``question``, None where its share was spent before."""
        answers: list[_T] = []
        with self.share(code):
            answers.append(question())
        return answers[0] if answers else None


class Haste(Allowance):
    """No work at all: each rule whose answer takes a price or a version of the program is ``short``."""

    def _units(self) -> float:
        return work.NO_WORK


def price(context: Context, rules: Iterable[Rule], allowance: Allowance | None = None) -> list[Candidate]:
    """Every finding of ``rules`` with the gain of its change, in source order; what was found of each by the time that its
    ``allowance`` was spent."""
    candidates: list[Candidate] = []
    for rule in rules:
        with allowance.share(rule.code) if allowance is not None else nullcontext():
            for finding in context.ask(rule):
                candidates.append(replace(unpriced(context, finding), unfinished=True))
                candidates[-1] = _candidate(context, finding)
    return in_order(candidates)


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """``candidates`` in source order."""
    return sorted(candidates, key=lambda c: (c.finding.span, c.finding.rule.code))


def has_price(finding: Finding) -> bool:
    """Whether the times of other versions of the call belong to ``finding``."""
    change = finding.change
    return finding.cause is not None or (change is not None and change.priced and change.variant is not None)


def unpriced(context: Context, finding: Finding) -> Candidate:
    """``finding`` without a gain."""
    named = context.device if context.device_named else None
    return Candidate(finding, {}, None, context.program, context.workload.entry, context.workload.bare, named)


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
    return replace(unpriced(context, finding), gains=Gains(Comparison(old, new)), after=new)
