"""``--trace``: the program is run on fake tensors first, and what was traced goes to the analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernlint.cli.options import TaskInput
    from kernlint.syntax.source import SourceText
    from kernlint.verify.trace import TraceJob


def traced(task: TaskInput, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The argument of :func:`kernlint.analyze` that holds what was traced of ``task``. Raises ``UsageError`` where torch or Triton
    is missing, ``AnalysisError`` where the program cannot be traced."""
    from kernlint.cli import worker
    from kernlint.verify.trace import trace
    from kernlint.verify.versions import require

    require(what="--trace runs the host code")
    job = worker.run_on_task(_job, task, {"overrides": dict(overrides)})
    return {"recording": trace(job)}


def _job(source: SourceText, options: dict[str, Any]) -> TraceJob:
    from kernlint.verify.trace import make_job

    return make_job(source.text, path=source.path, **options)
