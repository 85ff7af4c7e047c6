"""Worker processes that check files: one that dies or hangs costs its file and is replaced.

``concurrent.futures`` gives up the whole pool when a process dies, and cannot end a task that hangs.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from kernlint.errors import AnalysisError
from kernlint.lint.check_file import Job, Result, check_file
from kernlint.lint.diagnostics import ANALYSIS_FAILED
from kernlint.lint.model import Finding
from kernlint.records import dataclass
from kernlint.sandbox import (
    MEMORY_BYTES,
    NO_ROOM,
    become_child,
    death,
    limit_memory,
    limit_processor,
    processor_s,
    run_on_large_stack,
    summary_of,
)

#: Starting a worker that has to import everything, on a loaded machine, must not count against its first file.
_START_S = 60.0


def run_jobs(jobs: Sequence[Job], workers: int) -> Iterator[tuple[int, Result]]:
    """The index of each job with its result, as they are done, computed by up to ``workers`` processes.

    A job that takes longer than its ``timeout_s``, or whose process dies, ends in one KL902. Raises ``AnalysisError`` where
    the system lets us have no process at all.
    """
    pending = list(range(len(jobs) - 1, -1, -1))
    crew: set[_Worker] = set()
    try:
        _hire(crew, min(workers, len(jobs), _MOST))
        while crew:
            for worker in [worker for worker in crew if worker.idle]:
                if pending:
                    worker.give(pending[-1], jobs[pending.pop()])
                else:
                    crew.remove(worker)
                    worker.end()
            patience = min((worker.deadline for worker in crew), default=0.0) - time.monotonic()
            wait([worker.pipe for worker in crew], max(0.0, patience))
            for worker in list(crew):
                outcome = worker.outcome()
                if outcome is None:
                    continue
                index, result = outcome
                if index is not None:
                    if not isinstance(result, Result):
                        result = _failed(jobs[index], result, worker.exhausted, worker.so_far)
                    yield index, result
                elif pending:
                    # A worker that cannot even start: the next one would not either.
                    yield from ((i, _failed(jobs[i], str(result))) for i in reversed(pending))
                    pending.clear()
                if worker.dead:
                    crew.remove(worker)
                    worker.end()
                    if pending:
                        _hire(crew, len(crew) + 1)
    finally:
        for worker in crew:
            worker.end()


def _hire(crew: set[_Worker], count: int) -> None:
    """Let ``crew`` have ``count`` workers, or as many as the limits of the system on files and processes leave room for."""
    while len(crew) < count:
        try:
            crew.add(_Worker())
        except OSError as error:
            if not crew:
                raise AnalysisError(f"no process can be started: {error.strerror or error}") from None
            return


def _failed(job: Job, reason: str, repeatable: bool = False, so_far: Result | None = None) -> Result:
    """What there is to say of ``job``, which came to no end: what was found ``so_far``, and why that is not all."""
    findings: tuple[Finding, ...] = so_far.findings if so_far is not None else ()
    if ANALYSIS_FAILED.code in job.settings.codes:
        level = job.settings.severity.get(ANALYSIS_FAILED.code)
        kept = "; what was found until then is kept" if findings else ""
        findings = (ANALYSIS_FAILED.at(job.shown, reason + kept, severity=level), *findings)
    return Result(findings, repeatable, so_far.helpers if so_far is not None else ())


@dataclass(frozen=True)
class _SoFar:
    """What a worker has found of its job when it is about to be given up."""

    result: Result


class _Worker:
    """A child process and what it is busy with: first with starting, then with the job at ``index``."""

    def __init__(self) -> None:
        # Forking a process of one thread is safe and saves importing everything again; macOS's libraries forbid it.
        method = "fork" if "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin" else "spawn"
        context: Any = multiprocessing.get_context(method)
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.pipe, theirs), daemon=True)
        try:
            self.process.start()
        except OSError:
            self.pipe.close()
            raise
        finally:
            theirs.close()
        self.index: int | None = None
        self.idle = False
        self.dead = False
        self.so_far: Result | None = None
        #: Whether a job was given up although it had the time of the processor that it may take: it would be again.
        self.exhausted = False
        self.deadline = time.monotonic() + _START_S
        self._limit_s = _START_S

    def give(self, index: int, job: Job) -> None:
        """Start on a job."""
        self.index, self.idle, self.so_far = index, False, None
        self._limit_s = job.settings.timeout_s
        with suppress(OSError):  # it is dead, which `outcome` is about to find out
            self.pipe.send(job)
        self._begun_s = processor_s(self.process.pid)
        self.deadline = time.monotonic() + self._limit_s
        self._last = time.monotonic() + _LOADED * self._limit_s

    def _has_had_its_time(self) -> bool:
        used_s = processor_s(self.process.pid)
        return used_s is not None and self._begun_s is not None and used_s - self._begun_s >= 0.9 * self._limit_s

    def _waits_for_processor(self) -> bool:
        """Whether the machine is so busy that the job has not had its time yet; the deadline moves then."""
        now, used_s = time.monotonic(), processor_s(self.process.pid)
        if used_s is None or self._begun_s is None or now >= self._last:
            return False
        left_s = self._limit_s - (used_s - self._begun_s)
        self.deadline = min(self._last, now + left_s)
        return left_s > 0.1 * self._limit_s

    def outcome(self) -> tuple[int | None, Result | str] | None:
        """What became of the job: its index with the result or the reason why there is none; None while it runs."""
        index = self.index
        if not self.pipe.poll():
            if time.monotonic() < self.deadline or (index is not None and self._waits_for_processor()):
                return None
            self.dead = True
            self.exhausted = index is not None and self._has_had_its_time()
            return index, f"took longer than {self._limit_s:g} s and was given up"
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(1)
            self.dead = True
            return index, death(self.process.exitcode)
        if isinstance(message, _SoFar):
            self.so_far = message.result
            return None
        self.index, self.idle = None, True
        return None if message == _READY else (index, message)

    def end(self) -> None:
        """Stop the process, whatever it does."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


class _Watch:
    """Sends what was found of a job shortly before its time is over, whatever keeps it from coming to an end."""

    def __init__(self, pipe: Connection, limit_s: float) -> None:
        self._pipe = pipe
        self._last_s = time.process_time() + _NEARLY * limit_s
        self._patience_s = _NEARLY * limit_s
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, so_far: Callable[[], Result]) -> None:
        """Watch a job that is about to begin and can tell what it has found ``so_far``."""
        self._thread = threading.Thread(target=self._wait, args=(so_far,), daemon=True)
        size = threading.stack_size(_SMALL_STACK)
        try:
            self._thread.start()
        except RuntimeError:  # no room for it: then what was found is lost where the job comes to no end
            self._thread = None
        finally:
            threading.stack_size(size)

    def end(self) -> None:
        """The job is over; nothing is sent any more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _wait(self, so_far: Callable[[], Result]) -> None:
        patience_s = self._patience_s
        while not self._ended.wait(patience_s):
            patience_s = self._last_s - time.process_time()
            if patience_s <= 0:
                with suppress(Exception):  # without it, it is as if nothing had been found
                    self._pipe.send(_SoFar(so_far()))
                return
            patience_s = max(0.05, patience_s)


#: Windows waits for 63 processes at a time and no more.
_MOST = 60 if sys.platform == "win32" else 4096

#: The stack of the thread that watches, which shares the memory of the one that analyses.
_SMALL_STACK = 16 << 20

#: The share of a job's time after which what it has found is sent.
_NEARLY = 0.8

#: On a busy machine a file may take this many times its limit, as long as it is not given that time of the processor: an
#: analysis waits for nothing else.
_LOADED = 15.0

#: Objects made and not freed since the last look for garbage before there is another: some tens of megabytes.
_GARBAGE = 500_000

#: Sent by a worker that has imported everything: only then does the time of its first file begin.
_READY = "ready"


def _serve(parents_end: Connection, pipe: Connection) -> None:
    """The child: check what comes through ``pipe`` until it closes, on a large stack."""
    become_child(parents_end)
    limit_memory()
    try:
        run_on_large_stack(lambda: _loop(pipe))
    except MemoryError:
        with suppress(OSError):
            pipe.send(NO_ROOM)


def _loop(pipe: Connection) -> None:
    import kernlint.analysis
    import kernlint.lint.suppress  # noqa: F401 - imported for the files to come
    from kernlint.rules.registry import all_rules

    all_rules()
    # What is imported stays for good, and a tree, which has no cycles, goes when the last name of it does: looking for
    # garbage while one grows is time lost. What files leave behind in cycles goes between two of them.
    gc.freeze()
    gc.disable()
    with suppress(OSError):  # that the parent is gone shows right below
        pipe.send(_READY)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):  # the parent is gone
            return
        # The process may live for this file only.
        limit_processor(int(time.process_time() + job.settings.timeout_s + 2 * _START_S))
        answer: Result | str
        watch = _Watch(pipe, job.settings.timeout_s)
        try:
            answer = check_file(job, watch.begin)
        except RecursionError:
            answer = "too deeply nested to analyse"
        except MemoryError:
            answer = f"needs more than {MEMORY_BYTES >> 30} GiB of memory"
        except Exception as error:
            answer = f"internal error, please report it: {summary_of(error)}"
        watch.end()
        try:
            pipe.send(answer)
        except OSError:
            return
        if gc.get_count()[0] > _GARBAGE:
            gc.collect()
