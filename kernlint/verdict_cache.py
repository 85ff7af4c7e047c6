"""Verdicts that this process has given before: a training loop and an editor ask about the same text again and again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from kernlint.interpret.dependencies import Dependencies
from kernlint.interpret.program import Program
from kernlint.request import Request
from kernlint.verdict.model import Verdict

#: Verdicts that are kept, those asked for last.
_MOST = 512

Question = tuple[Any, ...]

_VERDICTS: OrderedDict[Question, tuple[Verdict, Dependencies]] = OrderedDict()


def question(request: Request) -> Question:
    """All that the verdict depends on beside files."""
    # As they are written: 1, 1.0 and True are equal and not the same.
    told = tuple(sorted((name, repr(value)) for name, value in request.overrides.items()))
    return tuple(told if name == "overrides" else value for name, value in vars(request).items())


def verdict(question: Question) -> Verdict | None:
    """What was answered; None where it was not asked, or where a file that the answer rests on has changed since."""
    found = _VERDICTS.get(question)
    if found is None or not found[1].holds():
        return None
    _VERDICTS.move_to_end(question)
    return found[0]


def remember(question: Question, verdict: Verdict, program: Program) -> None:
    """Keep ``verdict``, which was made from ``program``."""
    _VERDICTS[question] = verdict, program.dependencies()
    while len(_VERDICTS) > _MOST:
        _VERDICTS.popitem(last=False)
