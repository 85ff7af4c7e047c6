"""A bar on standard error for what takes long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

#: Before this a bar would only flicker.
_PATIENCE_S = 1.0


class ProgressBar:
    """How many of the ``things`` are done, once a run has taken a while; shown on terminals only.

    Drawn as things are done, not by a thread: worker processes are forked from this one while it is up.
    """

    def __init__(self, things: str) -> None:
        self._things = things
        self._started = time.monotonic()
        self._bar: Progress | None = None

    def __call__(self, done: int, total: int | None) -> None:
        if self._bar is None:
            if time.monotonic() - self._started < _PATIENCE_S or not sys.stderr.isatty():
                return
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), self._things, TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
            self._task = self._bar.add_task(self._things, total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, refresh=True)

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()
