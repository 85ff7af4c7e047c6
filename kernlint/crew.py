"""Worker processes that do jobs: one that dies or hangs costs its job and is replaced; one that is killed costs nothing at first, as its
job is tried again.

``concurrent.futures`` gives up the whole pool when a process dies, and cannot end a task that hangs.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from kernlint import work
from kernlint.errors import AnalysisError
from kernlint.records import dataclass
from kernlint.sandbox import (
    MEMORY_BYTES,
    NO_ROOM,
    become_child,
    death,
    limit_memory,
    limit_processor,
    memory_of,
    processor_s,
    run_on_large_stack,
    summary_of,
    wants_processor,
    was_killed,
)
from kernlint.watch import SoFar, Watch

#: Starting a worker that has to import everything, on a loaded machine, must not count against its first job.
_START_S = 60.0

#: Tells a worker what was found of its job so far: given to what does the job, before it begins.
Begun = Callable[[Callable[[], Any]], None]

#: How a job can fail: its process died, it took too long, it raised something, no process could be started for it, or it was
#: interrupted.
CRASHED, GAVE_UP, FAILED, NOT_RUN, INTERRUPTED = "crashed", "gave-up", "failed", "not-run", "interrupted"


@dataclass(frozen=True)
class Trade:
    """What workers do: all three are functions of a module, which a process that is not forked can import. ``prepare`` is called
    once, ``do`` for each job, which may take ``limit_s`` seconds. ``template`` is a module that a process of its own imports, for
    workers to be forked from it: ready within milliseconds, however many threads this process has."""

    prepare: Callable[[], None]
    do: Callable[[Any, Begun], Any]
    limit_s: Callable[[Any], float]
    template: str = ""


def ready_for_verdicts() -> None:
    """Import what verdicts need: the ``prepare`` of those who ask for them."""
    import kernlint.analysis  # noqa: F401
    from kernlint.rules.registry import all_rules

    all_rules()


@dataclass(frozen=True)
class Failure:
    """Why there is no result of a job, and what was found of it ``so_far``. ``exhausted`` where it was given up although it had
    the time of the processor that it may take: it would be again."""

    kind: str
    reason: str
    exhausted: bool = False
    so_far: Any = None


def processors() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not tell
        return os.cpu_count() or 1


class Crew:
    """At most so many workers of one trade, who stay until :meth:`close`. Several threads may ask at the same time."""

    def __init__(self, trade: Trade, most: int) -> None:
        self._trade = trade
        self._most = max(1, min(most, _MOST))
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._lent = 0
        self._closed = False
        self._changed = threading.Condition()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers that have nothing to do, and the others once they have done their jobs."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def stop(self) -> bool:
        """Kill the workers that have something to do, whose jobs fail; whether there were any."""
        with self._changed:
            for worker in self._busy:
                worker.stopped = True
                worker.process.kill()
            return bool(self._busy)

    def interrupt(self) -> None:
        """Ask the workers that have something to do to leave it: where they notice it, the job ends as INTERRUPTED, and the worker
        stays."""
        with self._changed:
            for worker in self._busy:
                worker.interrupt()

    def run(self, jobs: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """The number of each job with its result, or its :class:`Failure`, as they are done; a job is taken from ``jobs`` about when a
        worker is free for it. Raises ``AnalysisError`` where the system lets us have no process at all."""
        pending = enumerate(jobs)
        waiting: deque[tuple[int, Any]] = deque()
        mine: set[_Worker] = set()
        again: set[int] = set()

        def refill() -> None:
            while len(waiting) < self._most and (job := next(pending, None)) is not None:
                waiting.append(job)

        try:
            refill()
            self._hire(mine, len(waiting))
            while mine:
                for worker in [worker for worker in mine if worker.idle]:
                    if waiting:
                        worker.give(*waiting.popleft())
                        refill()
                    else:
                        mine.remove(worker)
                        self._give_back(worker)
                patience = min((worker.deadline for worker in mine), default=0.0) - time.monotonic()
                wait([worker.pipe for worker in mine], max(0.0, patience))
                for worker in list(mine):
                    outcome = worker.outcome()
                    if outcome is None:
                        continue
                    index, result = outcome
                    if index is not None and worker.killed and index not in again:
                        # From outside, or for want of memory: that need not be the fault of this job.
                        again.add(index)
                        waiting.appendleft((index, worker.job))
                    elif index is not None:
                        yield index, result
                    elif waiting:
                        # A worker that cannot even start: the next one would not either.
                        reason = result.reason if isinstance(result, Failure) else str(result)
                        for index, _ in (*waiting, *pending):
                            yield index, Failure(NOT_RUN, reason)
                        waiting.clear()
                    if worker.dead:
                        mine.remove(worker)
                        self._give_back(worker)
                        if waiting:
                            self._hire(mine, len(mine) + 1)
        finally:
            for worker in mine:
                worker.dead = True
                self._give_back(worker)

    def _hire(self, mine: set[_Worker], count: int) -> None:
        """Let ``mine`` be ``count`` workers, or as many as others and the limits of the system leave room for: one at least, for which
        this waits. Raises ``AnalysisError`` where the system has no room for any."""
        while len(mine) < min(count, self._most):
            worker = self._take(may_wait=not mine)
            if worker is None:
                return
            mine.add(worker)

    def _take(self, may_wait: bool) -> _Worker | None:
        with self._changed:
            while True:
                while self._idle:
                    worker = self._idle.pop()
                    if not worker.gone():
                        self._lent += 1
                        self._busy.add(worker)
                        return worker
                    worker.end()
                if self._lent < self._most:
                    self._lent += 1
                    break
                if not may_wait:
                    return None
                self._changed.wait()
        try:
            worker = _Worker(self._trade)
        except OSError as error:
            with self._changed:
                self._lent -= 1
                self._changed.notify()
            if may_wait:
                raise AnalysisError(f"no process can be started: {error.strerror or error}") from None
            return None
        with self._changed:
            self._busy.add(worker)
        return worker

    def _give_back(self, worker: _Worker) -> None:
        with self._changed:
            self._lent -= 1
            self._busy.discard(worker)
            stays = worker.idle and not worker.dead and not self._closed
            if stays:
                self._idle.append(worker)
            self._changed.notify()
        if not stays:
            worker.end()


class _Program:
    """A process that is not forked from this one and does not import its main module, with the methods of
    ``multiprocessing.Process`` that are asked for here."""

    def __init__(self, descriptor: int) -> None:
        import kernlint

        home = os.path.dirname(os.path.dirname(os.path.abspath(kernlint.__file__)))
        # Where we find modules ourselves, but for the working folder: what lies there is not ours.
        folders = [home, *(path for path in sys.path if os.path.isabs(path))]
        code = "import sys; sys.path[:] = sys.argv[2:]; from kernlint.crew import serve_descriptor; serve_descriptor(int(sys.argv[1]))"
        command = [sys.executable, "-I", "-c", code, str(descriptor), *folders]
        self._program = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(descriptor,))
        self.pid = self._program.pid

    @property
    def exitcode(self) -> int | None:
        return self._program.poll()

    def kill(self) -> None:
        self._program.kill()

    def join(self, timeout: float | None = None) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._program.wait(timeout)


class _Worker:
    """A child process and what it is busy with: first with starting, then with the job at ``index``."""

    def __init__(self, trade: Trade) -> None:
        self._trade = trade
        self.pipe, theirs = multiprocessing.Pipe()
        try:
            self.process: Any = _started(self.pipe, theirs, trade)
        except OSError:
            self.pipe.close()
            raise
        finally:
            theirs.close()
        self.index: int | None = None
        self.job: Any = None
        self._sending = threading.Lock()
        self.idle = False
        self.dead = False
        #: Whether the process was killed by :meth:`Crew.stop`, and whether by anybody else.
        self.stopped = False
        self.killed = False
        self.so_far: Any = None
        self.deadline = time.monotonic() + _START_S
        self._limit_s = _START_S

    def give(self, index: int, job: Any) -> None:
        """Start on a job."""
        self.job, self.idle, self.so_far = job, False, None
        self._limit_s = self._trade.limit_s(job)
        with self._sending, suppress(OSError):  # it is dead, which `outcome` is about to find out
            self.index = index
            self.pipe.send(job)
        self._begun_s = processor_s(self.process.pid)
        self.deadline = time.monotonic() + self._limit_s
        self._last = time.monotonic() + _LOADED * self._limit_s

    def interrupt(self) -> None:
        """Ask the process to leave its job."""
        with self._sending, suppress(OSError):
            if self.index is not None:
                self.pipe.send(_LEAVE)

    def gone(self) -> bool:
        """Whether a worker who has nothing to do has died."""
        return self.pipe.poll()

    def _has_had_its_time(self) -> bool:
        used_s = processor_s(self.process.pid)
        return used_s is not None and self._begun_s is not None and used_s - self._begun_s >= 0.9 * self._limit_s

    def _waits_for_processor(self) -> bool:
        """Whether the machine is so busy that the job has not had its time yet; the deadline moves then."""
        now, used_s = time.monotonic(), processor_s(self.process.pid)
        if used_s is None or self._begun_s is None or now >= self._last or not wants_processor(self.process.pid):
            return False
        left_s = self._limit_s - (used_s - self._begun_s)
        self.deadline = min(self._last, now + left_s)
        return left_s > 0.1 * self._limit_s

    def outcome(self) -> tuple[int | None, Any] | None:
        """What became of the job: its index with the result or its :class:`Failure`; None while it runs."""
        index = self.index
        if not self.pipe.poll():
            if time.monotonic() < self.deadline or (index is not None and self._waits_for_processor()):
                return None
            self.dead = True
            reason = f"took longer than {self._limit_s:g} s and was given up"
            return index, Failure(GAVE_UP, reason, index is not None and self._has_had_its_time(), self.so_far)
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(1)
            self.dead = True
            self.killed = was_killed(self.process.exitcode) and not self.stopped
            return index, Failure(CRASHED, death(self.process.exitcode), so_far=self.so_far)
        except Exception as error:  # an answer that cannot be unpacked, for which no other row is to pay
            self.dead = True
            return index, Failure(FAILED, f"internal error, please report it: {summary_of(error)}", so_far=self.so_far)
        if isinstance(message, SoFar):
            self.so_far = message.result
            return None
        self.index, self.idle = None, True
        if message == _READY:
            return None
        self.dead = memory_of(self.process.pid) > _MOST_KEPT
        return index, message

    def end(self) -> None:
        """Stop the process, whatever it does."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _started(ours: Connection, theirs: Connection, trade: Trade) -> Any:
    """A process that serves ``theirs``. Forking a process of one thread is safe and saves importing everything again; of several,
    another one may hold a lock that nobody would ever release in the child. macOS's libraries forbid it altogether."""
    methods = multiprocessing.get_all_start_methods()
    if trade.template and "forkserver" in methods:
        server: Any = multiprocessing.get_context("forkserver")
        server.set_forkserver_preload([trade.template])
        process = server.Process(target=_serve, args=(None, theirs, trade), daemon=True)
        process.start()
        return process
    forks = "fork" in methods and sys.platform != "darwin"
    if forks and _threads() > 1:
        program = _Program(theirs.fileno())
        ours.send(trade)
        return program
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    process = context.Process(target=_serve, args=(ours, theirs, trade), daemon=True)
    process.start()
    return process


def _threads() -> int:
    """The threads of this process, those too that Python knows nothing of."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


#: Windows waits for 63 processes at a time and no more.
_MOST = 60 if sys.platform == "win32" else 4096

#: On a busy machine a job may take this many times its limit, as long as it is not given that time of the processor: an
#: analysis waits for nothing else.
_LOADED = 15.0

#: A worker that has come to hold so many bytes is replaced: what it keeps of old versions of files is of no more use.
_MOST_KEPT = 1 << 30

#: Objects made and not freed since the last look for garbage before there is another, some megabytes: once nobody has asked anything
#: for so many seconds, since an edit would wait for it, or at once.
_GARBAGE, _IDLE_S, _MOST_GARBAGE = 50_000, 0.3, 200_000

#: Looks at what is young before one at everything.
_TIMES = 20

#: Sent by a worker that has imported everything: only then does the time of its first job begin.
_READY = "ready"

#: Sent to a worker that is to leave its job.
_LEAVE = "leave"


def serve_descriptor(descriptor: int) -> None:
    """What a :class:`_Program` does: serve the pipe that it has inherited, whose first message is the trade."""
    pipe = Connection(descriptor)
    try:
        trade = pipe.recv()
    except (EOFError, OSError):
        return
    _serve(None, pipe, trade)


def _serve(parents_end: Connection | None, pipe: Connection, trade: Trade) -> None:
    """The child: do the jobs that come through ``pipe`` until it closes, on a large stack."""
    become_child(parents_end)
    limit_memory()
    try:
        run_on_large_stack(lambda: _loop(pipe, trade))
    except MemoryError:
        with suppress(OSError):
            pipe.send(Failure(NOT_RUN, NO_ROOM))


def _loop(pipe: Connection, trade: Trade) -> None:
    trade.prepare()
    # What is imported stays for good, and a tree, which has no cycles, goes when the last name of it does: looking for
    # garbage while one grows is time lost. What jobs leave behind in cycles goes between two of them.
    gc.freeze()
    gc.disable()
    with suppress(OSError):  # that the parent is gone shows right below
        pipe.send(_READY)
    while True:
        try:
            _tidy(pipe)
            job = pipe.recv()
        except (EOFError, OSError):  # the parent is gone
            return
        if job == _LEAVE:  # which is done already
            continue
        limit_s = trade.limit_s(job)
        # The process may live for this job only.
        limit_processor(int(time.process_time() + limit_s + 2 * _START_S))
        answer: Any
        watch = Watch(pipe, limit_s)
        try:
            with work.until(pipe.poll):
                answer = trade.do(job, watch.begin)
        except work.GivenUp:
            answer = Failure(INTERRUPTED, "was interrupted")
        except RecursionError:
            answer = Failure(FAILED, "too deeply nested to analyse")
        except MemoryError:
            answer = Failure(FAILED, f"needs more than {MEMORY_BYTES >> 30} GiB of memory")
        except Exception as error:
            answer = Failure(FAILED, f"internal error, please report it: {summary_of(error)}")
        watch.end()
        try:
            pipe.send(answer)
        except OSError:
            return


def _tidy(pipe: Connection) -> None:
    """Look for garbage, where there is much and no job that waits."""
    young, times, _ = gc.get_count()
    if young > _MOST_GARBAGE or (young > _GARBAGE and not pipe.poll(_IDLE_S)):
        # What jobs leave behind is young; to look at what is kept from one to the next costs as much again.
        gc.collect(0 if times < _TIMES else 2)
