"""Runs an analysis in a child process, so that whatever happens to it costs one line and not the caller."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from kernlint.errors import AnalysisError, KernlintError
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
    wants_processor,
)

#: Processor seconds beyond the timeout, for the start of the child.
MARGIN_S = 30

#: What a child sends: ``result`` and what was computed, ``error`` and the ``KernlintError``, ``bug`` and what to say of it.
Outcome = tuple[str, Any]

#: How many times its timeout an analysis may take that is kept waiting for the processor.
_LOADED = 15.0


def run_in_worker(call: Callable[..., Any], arguments: Mapping[str, Any], timeout_s: float) -> Any:
    """``call(**arguments)``, computed in a child process.

    ``call`` is a function of a module, its result something that pickles. Raises what ``call`` raises where that is a
    ``KernlintError``, and ``AnalysisError`` where it fails otherwise, dies, or takes longer than ``timeout_s`` seconds: of the
    processor, on a machine that is busy with other things.
    """
    # Forking a process of one thread is safe and saves importing everything again.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=_serve, args=(receiver, sender, call, dict(arguments), timeout_s), daemon=True)
    try:
        worker.start()
    except OSError as error:
        raise AnalysisError(f"no process can be started: {error.strerror or error}") from None
    sender.close()
    try:
        if not answers(receiver, worker.pid, timeout_s):
            raise too_long(timeout_s)
        outcome = receiver.recv()
    except EOFError:
        worker.join(1)
        raise AnalysisError(death(worker.exitcode)) from None
    finally:
        receiver.close()
        worker.kill()
        worker.join()
    return result_of(outcome)


def result_of(outcome: Outcome) -> Any:
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


def too_long(timeout_s: float) -> AnalysisError:
    """What to raise where :func:`answers` says no."""
    return AnalysisError(f"the analysis took longer than {timeout_s:g} s and was given up")


def answers(receiver: Connection, pid: int | None, timeout_s: float, before_s: float = 0.0) -> bool:
    """Whether something comes through ``receiver`` from the process ``pid`` within its time, which is counted from where it
    had had ``before_s`` seconds of the processor."""
    wait_s, last = timeout_s, time.monotonic() + _LOADED * timeout_s
    while not receiver.poll(wait_s):
        used_s = processor_s(pid)
        left_s = timeout_s - (used_s - before_s) if used_s is not None else 0.0
        if left_s < 0.1 * timeout_s or time.monotonic() >= last or not wants_processor(pid):
            return False
        wait_s = left_s
    return True


def _serve(
    receiver: Connection, sender: Connection, call: Callable[..., Any], arguments: dict[str, Any], timeout_s: float
) -> None:
    """The child: limit it, compute on a large stack, send back one (outcome, result) pair."""
    become_child(receiver)
    limit_memory()
    limit_processor(int(timeout_s) + MARGIN_S)
    found: list[Outcome] = []
    try:
        run_on_large_stack(lambda: found.append(outcome_of(call, arguments)))
    except MemoryError:
        found.append(("error", AnalysisError(NO_ROOM)))
    with suppress(OSError):  # the parent is gone
        sender.send(found[0])
    sender.close()


def outcome_of(call: Callable[..., Any], arguments: Mapping[str, Any]) -> Outcome:
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
