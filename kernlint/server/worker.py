"""The lane in which a server asks questions of a worker process.

A server must answer an edit at once, so that it can neither import everything for each question nor fork a process that has
threads. So one process of a single thread imports everything and has run a small example (:mod:`kernlint.server.warm`); workers
are forked from it, ready within milliseconds. Where the system cannot fork, each starts anew.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from kernlint.child import Interrupted, Question, answer_of, trade
from kernlint.crew import Crew

#: How long a question that nobody waits for any more may take to its end before its worker is ended.
GRACE_S = 0.5


class Lane:
    """Questions asked of one worker, each when the one before is answered or given up; a worker that died is replaced.

    A question whose caller is cancelled is left; one that does not notice within ``GRACE_S``, as that is cheaper than a fresh worker,
    is ended with its worker. A ``patient`` question lets the others go first, those too that come while it is worked on.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="kernlint-lane")
        self._guard = threading.Lock()
        self._crew = Crew(trade(_prepare, template="kernlint.server.warm"), 1)
        #: What the worker is busy with, and whether that is patient.
        self._current: object = None
        self._patient = False

    async def ask(
        self, call: Callable[..., Any], arguments: Mapping[str, Any], timeout_s: float, patient: bool = False
    ) -> Any:
        """``call(**arguments)``, computed by the worker. Raises as :func:`kernlint.child.answer_of` does."""
        question = Question(call, dict(arguments), timeout_s, self._folder)
        while True:
            token = object()
            answer = self._threads.submit(self._ask, token, question, patient)
            if not patient:
                self._interrupt()
            try:
                return await asyncio.wrap_future(answer)
            except Interrupted:  # for another one, which is before this one now
                continue
            except asyncio.CancelledError:
                if not answer.cancel():
                    self._interrupt(token)
                    asyncio.get_running_loop().call_later(GRACE_S, self._end, token, answer)
                raise

    def close(self) -> None:
        """End the worker; what is still asked fails."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._crew.close()
        self._crew.stop()

    def _interrupt(self, token: object = None) -> None:
        """Have the worker leave what ``token`` stands for; without one, what is patient."""
        with self._guard:
            if self._patient if token is None else self._current is token:
                self._crew.interrupt()

    def _ask(self, token: object, question: Question, patient: bool) -> Any:
        with self._guard:
            self._current, self._patient = token, patient
        try:
            return answer_of(self._crew, question)
        finally:
            with self._guard:
                self._current, self._patient = None, False

    def _end(self, token: object, answer: Future[Any]) -> None:
        """End the worker that is still busy with what ``token`` stands for."""
        with self._guard:
            if self._current is token and self._crew.stop():
                return
        if not answer.done():  # its worker is just starting
            with suppress(RuntimeError):  # the loop is being closed
                asyncio.get_running_loop().call_later(GRACE_S, self._end, token, answer)


def _prepare() -> None:
    """Standard input and output belong to the client of the server: nothing may be read from the one or printed into the other."""
    import kernlint.server.warm  # noqa: F401 - where the process was not forked from one that has it

    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    with suppress(OSError):  # there is no standard error
        os.dup2(2, 1)
