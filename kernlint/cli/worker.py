"""Runs what a command about one task asks in a child process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kernlint.child import run_in_worker
from kernlint.cli.progress import Progress

if TYPE_CHECKING:
    from kernlint.cli.options import TaskInput

TIMEOUT_S = 60.0


def run_on_task(call: Callable[..., Any], task: TaskInput, options: Mapping[str, Any], patience: float = 1) -> Any:
    """``call(source, options)`` in a child process, on what the command line names: ``options`` and those of ``task``
    together. It may take ``patience`` times as long as a verdict. Raises as :func:`kernlint.child.run_in_worker` does."""
    arguments = {"source": task.source, "options": {**task.options, **options}}
    with Progress(f"analysing {os.path.basename(task.source.path)}"):
        return run_in_worker(call, arguments, TIMEOUT_S * patience)
