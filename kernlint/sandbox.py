"""What a child process that analyses untrusted source is given: a large stack, limits, and a way to tell its end.

The native parser can die of a segmentation fault, and hostile input can ask for all memory or time there is; none of
these can be caught inside the process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Of one process; the first limit to stop hostile input that asks for all there is.
MEMORY_BYTES = 4 << 30

#: The stack of the analysing thread, and the Python frames that fit into it with room to spare.
_STACK_BYTES = 256 << 20
_RECURSION_LIMIT = 20_000

#: What a child says that has no room for its stack.
NO_ROOM = f"the analysis needs {_STACK_BYTES >> 20} MiB of memory for its stack, which the system does not grant"


def become_child(parents_end: Connection | None) -> None:
    """Leave it to the parent to answer to Ctrl-C, and close its end of the pipe, of which a child forked from it has a copy: with
    that open the pipe would never close, and the child would outlive a parent that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if parents_end is not None:
        parents_end.close()


def run_on_large_stack(call: Callable[[], None]) -> None:
    """Run ``call()`` to its end in a thread whose stack holds the deepest recursion that Python is then allowed.

    Raises ``MemoryError`` where there is no room for the stack.
    """
    sys.setrecursionlimit(_RECURSION_LIMIT)
    threading.stack_size(_STACK_BYTES)
    thread = threading.Thread(target=call)
    try:
        thread.start()
    except RuntimeError:
        raise MemoryError from None
    thread.join()


def limit_memory() -> None:
    """Let this process have ``MEMORY_BYTES`` of address space, where the system can limit it."""
    _limit("RLIMIT_AS", MEMORY_BYTES)


def limit_processor(seconds: int) -> None:
    """End this process after ``seconds`` of processor time: what ends a child whose parent was killed."""
    _limit("RLIMIT_CPU", seconds)


def processor_s(pid: int | None) -> float | None:
    """The processor time that a process has had, where the system tells (Linux does)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def wants_processor(pid: int | None) -> bool:
    """Whether a thread of the process runs, or would if the machine were not so busy; false where the system does not tell."""
    try:
        for task in os.scandir(f"/proc/{pid}/task"):
            with open(f"{task.path}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] == b"R":
                    return True
    except (OSError, IndexError):
        pass
    return False


def memory_of(pid: int | None) -> int:
    """Bytes of memory that the process holds; 0 where the system does not tell (Linux does)."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def _limit(name: str, value: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    limit = getattr(resource, name)
    _, hard = resource.getrlimit(limit)
    try:
        resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
    except (OSError, ValueError):  # macOS refuses some
        return


def summary_of(error: Exception) -> str:
    """The type and text of ``error`` in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGSEGV."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def was_killed(exit_code: int | None) -> bool:
    """Whether a child process was ended by SIGKILL: from outside, or by a system that is out of memory."""
    return hasattr(signal, "SIGKILL") and exit_code == -signal.SIGKILL


def death(exit_code: int | None) -> str:
    """What to say of a child process that ended with ``exit_code`` before it answered."""
    if exit_code is not None and exit_code < 0:
        parser = "the source is too large or too deeply nested for the parser"
        why = "ended from outside, or out of memory" if was_killed(exit_code) else parser
        return f"the analysis died of {signal_name(-exit_code)}: {why}"
    return f"the analysis ended early, with status {exit_code}"
