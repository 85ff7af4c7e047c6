"""Questions that a child process answers, so that whatever happens to it costs one line and not the caller."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from kernlint.crew import GAVE_UP, INTERRUPTED, Begun, Crew, Failure, Trade
from kernlint.errors import AnalysisError, KernlintError
from kernlint.records import dataclass
from kernlint.sandbox import MEMORY_BYTES, summary_of

#: What a child sends: ``result`` and what was computed, ``error`` and the ``KernlintError``, ``bug`` and what to say of it.
Outcome = tuple[str, Any]


@dataclass(frozen=True)
class Question:
    """``call(**arguments)``, which may take ``timeout_s`` seconds: of the processor, on a machine that is busy with other things.
    ``call`` is a function of a module, its result something that pickles. ``folder`` is where it works: modules that a source
    imports are looked for there."""

    call: Callable[..., Any]
    arguments: Mapping[str, Any]
    timeout_s: float
    folder: str | None = None


class Interrupted(AnalysisError):
    """The worker was asked to leave the question."""


def run_in_worker(call: Callable[..., Any], arguments: Mapping[str, Any], timeout_s: float) -> Any:
    """``call(**arguments)``, computed in a child process. Raises as :func:`answer_of` does."""
    with Crew(trade(_imported_already), 1) as crew:
        return answer_of(crew, Question(call, arguments, timeout_s))


def trade(prepare: Callable[[], None], template: str = "") -> Trade:
    """What workers do that answer questions."""
    return Trade(prepare, _answer, _limit_s, template)


def answer_of(crew: Crew, question: Question) -> Any:
    """What ``crew`` answers. Raises what the call raises where that is a ``KernlintError``, and ``AnalysisError`` where it fails
    otherwise, dies, takes too long or is :class:`Interrupted`."""
    ((_, answer),) = crew.run([question])
    if isinstance(answer, Failure) and answer.kind == INTERRUPTED:
        raise Interrupted(answer.reason)
    if isinstance(answer, Failure):
        raise AnalysisError(f"the analysis {answer.reason}" if answer.kind == GAVE_UP else answer.reason)
    return _result_of(answer)


def _result_of(outcome: Outcome) -> Any:
    """What a child has computed; raises where it is an error."""
    kind, result = outcome
    if kind == "result":
        return result
    if kind == "error":
        raise result
    summary, trace = result
    if os.environ.get("KERNLINT_DEBUG"):
        print(trace, file=sys.stderr, end="")
    raise AnalysisError(f"internal error, please report it: {summary} (KERNLINT_DEBUG=1 shows where)")


def _outcome_of(call: Callable[..., Any], arguments: Mapping[str, Any]) -> Outcome:
    """The result of ``call(**arguments)``, or how it failed, as something that pickles."""
    try:
        return "result", call(**arguments)
    except KernlintError as error:
        return "error", error
    except RecursionError:
        return "error", AnalysisError("the source is too deeply nested to analyse")
    except MemoryError:
        return "error", AnalysisError(f"the analysis needs more than {MEMORY_BYTES >> 30} GiB of memory")
    except Exception as error:
        return "bug", (summary_of(error), traceback.format_exc())


def _imported_already() -> None:
    """A process that is forked for one question has all that it takes."""


def _answer(question: Question, begun: Begun) -> Outcome:
    if question.folder is not None:
        try:
            os.chdir(question.folder)
        except OSError as error:
            return "error", AnalysisError(f"{question.folder}: {error.strerror or error}")
    return _outcome_of(question.call, question.arguments)


def _limit_s(question: Question) -> float:
    return question.timeout_s
