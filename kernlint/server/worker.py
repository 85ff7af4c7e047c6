"""A process that answers questions one after another, and the lane in which a server asks them.

A server must answer an edit at once, so that it can neither import everything for each question nor fork a process that has
threads. So one process of a single thread imports everything and has run a small example (:mod:`kernlint.server.warm`); workers
are forked from it, ready within milliseconds. Where the system cannot fork, each starts anew.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from kernlint.child import MARGIN_S, Outcome, answers, outcome_of, result_of, too_long
from kernlint.errors import AnalysisError
from kernlint.sandbox import (
    NO_ROOM,
    become_child,
    death,
    limit_memory,
    limit_processor,
    processor_s,
    run_on_large_stack,
)

#: Importing everything, on a loaded machine, must not count against the first question.
_START_S = 60.0

#: A worker that has come to hold so much is replaced: what it keeps of old versions of files is of no more use.
_MOST_KEPT = 1 << 30

#: How long a question that nobody waits for any more may take to its end before its worker is ended.
GRACE_S = 0.5

_READY = "ready"

_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


class Worker:
    """A child process and the pipe to it. ``folder`` is where it works: modules that a source imports are looked for there."""

    def __init__(self, folder: str | None = None) -> None:
        context: Any = multiprocessing.get_context(_METHOD)
        if _METHOD == "forkserver":
            context.set_forkserver_preload(["kernlint.server.warm"])
        self.dead = False
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, folder), daemon=True)
        try:
            self._process.start()
        except OSError as error:
            self._pipe.close()
            raise AnalysisError(f"no process can be started: {error.strerror or error}") from None
        finally:
            theirs.close()
        if not self._pipe.poll(_START_S):
            self.close()
            raise too_long(_START_S)
        try:
            ready = self._pipe.recv()
        except (EOFError, OSError):
            raise self._died() from None
        if ready != _READY:
            self.close()
            raise AnalysisError(str(ready))

    @property
    def alive(self) -> bool:
        """Whether it can be asked: it has neither been ended nor ended by itself."""
        return not self.dead and bool(self._process.is_alive())

    def ask(self, call: Callable[..., Any], arguments: Mapping[str, Any], timeout_s: float) -> Any:
        """``call(**arguments)``, computed by the process. Raises as :func:`kernlint.child.run_in_worker` does; the worker is
        ``dead`` then where there is no process left to ask again."""
        before_s = processor_s(self._process.pid) or 0.0
        try:
            self._pipe.send((call, dict(arguments), timeout_s))
            if not answers(self._pipe, self._process.pid, timeout_s, before_s):
                self.close()
                raise too_long(timeout_s)
            outcome, kept = self._pipe.recv()
        except (EOFError, OSError):
            raise self._died() from None
        if kept > _MOST_KEPT:
            self.close()
        return result_of(outcome)

    def stop(self) -> None:
        """End the process, whatever it does; whoever waits for its answer is told that it died."""
        self.dead = True
        self._process.kill()

    def close(self) -> None:
        """End the process and forget it."""
        self.stop()
        self._process.join()
        self._pipe.close()

    def _died(self) -> AnalysisError:
        self._process.join(1)
        reason = death(self._process.exitcode)
        self.close()
        return AnalysisError(reason)


class Lane:
    """Questions asked of one worker, each when the one before is answered or given up; a worker that died is replaced.

    A question whose caller is cancelled is given ``GRACE_S`` to end, as that is cheaper than a fresh worker, and then ended with
    its worker.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="kernlint-lane")
        self._guard = threading.Lock()
        self._worker: Worker | None = None
        #: What the worker is busy with.
        self._current: object = None

    async def ask(self, call: Callable[..., Any], arguments: Mapping[str, Any], timeout_s: float) -> Any:
        """``call(**arguments)``, computed by the worker. Raises as :meth:`Worker.ask` does."""
        token = object()
        answer = self._threads.submit(self._ask, token, call, arguments, timeout_s)
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            if not answer.cancel():
                asyncio.get_running_loop().call_later(GRACE_S, self._end, token, answer)
            raise

    def close(self) -> None:
        """End the worker; what is still asked fails."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._guard:
            if self._worker is not None:
                self._worker.stop()

    def _ask(self, token: object, call: Callable[..., Any], arguments: Mapping[str, Any], timeout_s: float) -> Any:
        with self._guard:
            worker = self._worker
            if worker is not None and not worker.alive:
                worker.close()
                worker = self._worker = None
        worker = worker or Worker(self._folder)
        with self._guard:
            self._worker, self._current = worker, token
        try:
            return worker.ask(call, arguments, timeout_s)
        finally:
            with self._guard:
                self._current = None

    def _end(self, token: object, answer: Future[Any]) -> None:
        """End the worker that is still busy with what ``token`` stands for."""
        with self._guard:
            if self._current is token and self._worker is not None:
                self._worker.stop()
                return
        if not answer.done():  # its worker is just starting
            with suppress(RuntimeError):  # the loop is being closed
                asyncio.get_running_loop().call_later(GRACE_S, self._end, token, answer)


def _serve(pipe: Connection, folder: str | None) -> None:
    """The child: answer what comes through ``pipe`` until it closes, on a large stack."""
    become_child(None)
    _leave_streams()
    limit_memory()
    try:
        if folder is not None:
            os.chdir(folder)
        run_on_large_stack(lambda: _loop(pipe))
    except MemoryError:
        with suppress(OSError):
            pipe.send(NO_ROOM)
    except OSError as error:
        with suppress(OSError):
            pipe.send(f"{folder}: {error.strerror or error}")


def _leave_streams() -> None:
    """Standard input and output belong to the client of the server: nothing may be read from the one or printed into the other."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    with suppress(OSError):  # there is no standard error
        os.dup2(2, 1)


def _loop(pipe: Connection) -> None:
    import gc

    import kernlint.server.warm  # noqa: F401 - where the process was not forked from one that has it

    gc.freeze()
    with suppress(OSError):  # that the parent is gone shows right below
        pipe.send(_READY)
    while True:
        try:
            call, arguments, timeout_s = pipe.recv()
        except (EOFError, OSError):  # the parent is gone
            return
        limit_processor(int(time.process_time() + timeout_s + MARGIN_S))
        outcome: Outcome = outcome_of(call, arguments)
        del arguments
        with suppress(OSError):
            pipe.send((outcome, _kept()))


def _kept() -> int:
    """Bytes of memory that this process holds, where the system tells (Linux does)."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0
