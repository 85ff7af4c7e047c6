"""Runs what a command about one task asks in a child process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernlint.child import run_in_worker
from kernlint.cli.progress import Progress

if TYPE_CHECKING:
    from kernlint.request import Request

TIMEOUT_S = 60.0


def run_on_task(call: Callable[..., Any], request: Request, patience: float = 1, **options: Any) -> Any:
    """``call(request, **options)`` in a child process. It may take ``patience`` times as long as a verdict. Raises as
    :func:`kernlint.child.run_in_worker` does."""
    with Progress(f"analysing {os.path.basename(request.path)}"):
        return run_in_worker(call, {"request": request, **options}, TIMEOUT_S * patience)
