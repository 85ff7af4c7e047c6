"""What became of every operator where the largest causes are: what it can do there, or why it may not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from kernlint.headroom.causes import Cause
from kernlint.operators.catalogue import all_operators
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass
from kernlint.rewrite.edits import Attempt
from kernlint.verdict.judge import Judgement
from kernlint.verdict.published import Published
from kernlint.verdict.search import Allowance

#: So many causes are looked into.
MOST_CAUSES = 3
#: Places of one operator and cause that are listed.
_MOST_PLACES = 6
#: What-ifs for all answers together.
_MOST_WORK = 1_000_000
#: A cause below this share of the call is nobody's question.
_LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Answer(Published):
    """What ``operator`` (or a rule, by its code and name) answers at a place of ``cause``: ``possible`` where it may be applied,
    ``automatic`` where `kernlint fix` can write it; ``reason`` is why not, or what the user has to agree to."""

    cause: str
    operator: str
    subject: str
    line: int
    possible: bool
    automatic: bool
    reason: str


def why_not(judgement: Judgement) -> tuple[Answer, ...]:
    """The answers of all operators, and of the rules whose change no operator makes yet, for the largest causes in turn."""
    headroom = judgement.headroom
    if headroom is None:
        return ()
    largest = sorted(headroom.causes, key=lambda cause: -cause.us)[:MOST_CAUSES]
    causes = [cause for cause in largest if cause.us >= _LEAST_SHARE * headroom.now_us]
    answers: dict[tuple[str, str, int], Answer] = {}
    allowance = Allowance(_MOST_WORK)
    for cause in causes:
        for one in _of_cause(judgement, cause, allowance):
            # What may be done for several causes is said once, at the largest.
            answers.setdefault((one.operator, one.subject, one.line), one)
    return tuple(answers.values())


def _of_cause(judgement: Judgement, cause: Cause, allowance: Allowance) -> Iterator[Answer]:
    for operator in all_operators():
        if cause.name in operator.causes:
            yield from _of_operator(judgement, cause, operator, allowance)
    for candidate in judgement.candidates:
        finding = candidate.finding
        here = finding.kernel == cause.kernel if cause.kernel else _in_function(judgement, cause, finding.symbol)
        if here and not finding.rule.operator:
            title = f"{finding.rule.code} {finding.rule.name}"
            yield _answer(cause, title, finding.message, finding.span.line, candidate.attempt)


def _of_operator(
    judgement: Judgement, cause: Cause, operator: Operator[Any, Any], allowance: Allowance
) -> Iterator[Answer]:
    places = [
        place
        for place in operator.sites(judgement.context)
        if (place.kernel in ("", cause.kernel) if cause.kernel else _in_function(judgement, cause, place.function))
    ]
    known: dict[tuple[str, int], Answer] = {}
    for place in places:
        key = place.subject, place.span.line
        if key not in known and len(known) < _MOST_PLACES:
            said = allowance.ask(operator.name, partial(_at, judgement, cause, operator, place))
            known[key] = said or _refused(cause, operator, place, "to find that out would take too long")
    yield from known.values()


def _at(judgement: Judgement, cause: Cause, operator: Operator[Any, Any], place: Place) -> Answer:
    found = operator.check(judgement.context, place)
    if isinstance(found, WhyNot):
        return _refused(cause, operator, place, found.reason)
    return _answer(cause, operator.name, place.subject, place.span.line, operator.emit(judgement.context, [found]))


def _refused(cause: Cause, operator: Operator[Any, Any], place: Place, reason: str) -> Answer:
    return Answer(cause.name, operator.name, place.subject, place.span.line, False, False, reason)


def _answer(cause: Cause, operator: str, subject: str, line: int, made: Attempt) -> Answer:
    reason = made.reason
    if made.rewriting is not None:
        reason = "; ".join(made.rewriting.effects.notes)
    return Answer(cause.name, operator, subject, line, True, made.automatic, reason)


def _in_function(judgement: Judgement, cause: Cause, function: str) -> bool:
    """Whether ``function`` is where a cause of several steps is: the function that takes them all, else anywhere in the call. What
    stands in no function is about all of it."""
    return not function or cause.symbol in (function, judgement.workload.entry)
