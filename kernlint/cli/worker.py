"""Runs the analysis in a child process, so that whatever happens to it costs one line and not the command.

The native parser can die of a segmentation fault, and hostile input can ask for all memory or time there is; none of
these can be caught inside the process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from kernlint.errors import AnalysisError, KernlintError

TIMEOUT_S = 60.0
MEMORY_BYTES = 4 << 30

#: The stack of the analysing thread, and the Python frames that fit into it with room to spare.
_STACK_BYTES = 256 << 20
_RECURSION_LIMIT = 20_000


def run_in_worker(call: Callable[..., Any], arguments: Mapping[str, Any], timeout_s: float) -> Any:
    """``call(**arguments)``, computed in a child process.

    ``call`` is a function of a module, its result something that pickles. Raises what ``call`` raises where that is a
    ``KernlintError``, and ``AnalysisError`` where it fails otherwise, dies, or takes longer than ``timeout_s`` seconds.
    """
    # Forking a process of one thread is safe and saves importing everything again.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=_serve, args=(sender, call, dict(arguments), timeout_s), daemon=True)
    worker.start()
    sender.close()
    try:
        if not receiver.poll(timeout_s):
            raise AnalysisError(f"the analysis took longer than {timeout_s:g} s and was given up")
        outcome, result = receiver.recv()
    except EOFError:
        worker.join(1)
        raise AnalysisError(_death(worker.exitcode)) from None
    finally:
        receiver.close()
        worker.kill()
        worker.join()
    if outcome == "result":
        return result
    if outcome == "error":
        raise result
    summary, trace = result
    if os.environ.get("KERNLINT_DEBUG"):
        print(trace, file=sys.stderr, end="")
    raise AnalysisError(f"internal error, please report it: {summary} (KERNLINT_DEBUG=1 shows where)")


def _serve(sender: Connection, call: Callable[..., Any], arguments: dict[str, Any], timeout_s: float) -> None:
    """The child: limit it, compute on a large stack, send back one (outcome, result) pair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers for both
    _limit_resources(timeout_s)
    outcome: list[tuple[str, Any]] = []
    sys.setrecursionlimit(_RECURSION_LIMIT)
    threading.stack_size(_STACK_BYTES)
    thread = threading.Thread(target=lambda: outcome.append(_outcome(call, arguments)))
    thread.start()
    thread.join()
    sender.send(outcome[0])
    sender.close()


def _outcome(call: Callable[..., Any], arguments: dict[str, Any]) -> tuple[str, Any]:
    try:
        return "result", call(**arguments)
    except KernlintError as error:
        return "error", error
    except RecursionError:
        return "error", AnalysisError("the source is too deeply nested to analyse")
    except MemoryError:
        return "error", AnalysisError(f"the analysis needs more than {MEMORY_BYTES >> 30} GiB of memory")
    except Exception as error:
        summary = " ".join(f"{type(error).__name__}: {error}".split())
        return "bug", (summary, traceback.format_exc())


def _limit_resources(timeout_s: float) -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    # Processor seconds are the second line: they end a worker whose parent was killed and so cannot end it.
    seconds = int(timeout_s) + 30
    for limit, value in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, seconds)):
        _, hard = resource.getrlimit(limit)
        try:
            resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
        except (OSError, ValueError):  # macOS refuses some
            continue


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = f"signal {-exit_code}"
        return f"the analysis died of {name}: the source is too large or too deeply nested for the parser"
    return f"the analysis ended early, with status {exit_code}"
