"""What a worker has found of a job that comes to no end is sent all the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from kernlint.records import dataclass

#: The stack of the thread that watches, which shares the memory of the one that analyses.
_SMALL_STACK = 16 << 20

#: The share of a job's time after which what it has found is sent.
_NEARLY = 0.8


@dataclass(frozen=True)
class SoFar:
    """What a worker has found of its job when it is about to be given up."""

    result: Any


class Watch:
    """Sends what was found of a job shortly before its time is over, whatever keeps it from coming to an end."""

    def __init__(self, pipe: Connection, limit_s: float) -> None:
        self._pipe = pipe
        self._last_s = time.process_time() + _NEARLY * limit_s
        self._patience_s = _NEARLY * limit_s
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, so_far: Callable[[], Any]) -> None:
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

    def _wait(self, so_far: Callable[[], Any]) -> None:
        patience_s = self._patience_s
        while not self._ended.wait(patience_s):
            patience_s = self._last_s - time.process_time()
            if patience_s <= 0:
                with suppress(Exception):  # without it, it is as if nothing had been found
                    self._pipe.send(SoFar(so_far()))
                return
            patience_s = max(0.05, patience_s)
