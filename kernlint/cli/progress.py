"""What is shown on standard error while something takes long."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

from kernlint.cli.streams import is_screen, width_of

#: Before this it would only flicker.
_PATIENCE_S = 1.0
_EACH_S = 0.2
_BAR_WIDTH = 24
_ERASE = "\r\x1b[K"


class Progress:
    """How long something takes, and how many of its ``things`` are done where that is told; on a terminal, once it has taken a while.

    Drawn by a timer of the process and not by a thread: worker processes are forked from this one while it is up. Where there is
    no such timer, as on Windows, it is drawn as things are done. Of several within each other only the outermost is seen.
    """

    _shown: Progress | None = None

    def __init__(self, what: str, things: str = "") -> None:
        self._what = what
        self._things = things
        self._done = 0
        self._total: int | None = None
        self._drawn = False
        self._timer = False

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        if Progress._shown is None and is_screen(sys.stderr):
            Progress._shown = self
            if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
                self._before = signal.signal(signal.SIGALRM, self._draw)
                signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S, _EACH_S)
                self._timer = True
        return self

    def __exit__(self, *_: object) -> None:
        if Progress._shown is not self:
            return
        Progress._shown = None
        if self._timer:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
        if self._drawn:
            _write(_ERASE)

    def __call__(self, done: int, total: int | None) -> None:
        """So many of the things are done, of so many where that is known."""
        self._done, self._total = done, total
        if Progress._shown is self and not self._timer:
            self._draw()

    def _draw(self, number: int = 0, frame: FrameType | None = None) -> None:
        seconds = time.monotonic() - self._started
        if seconds >= _PATIENCE_S:
            self._drawn = True
            _write(_ERASE + self._text(seconds)[: width_of(sys.stderr) - 1])

    def _text(self, seconds: float) -> str:
        if not self._total:
            count = f", {self._done:,} {self._things} so far" if self._things and self._done else ""
            return f"{self._what} ... {seconds:.0f} s{count}"
        full = round(_BAR_WIDTH * self._done / self._total)
        left = f", {seconds * (self._total - self._done) / self._done:.0f} s left" if self._done else ""
        bar = f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}]"
        return f"{self._what} {bar} {self._done:,} of {self._total:,} {self._things}{left}"


def _write(text: str) -> None:
    """Past Python's buffers, which a timer may have interrupted in the middle of a write."""
    with suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), text.encode("ascii", "replace"))
