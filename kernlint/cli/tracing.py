"""``--trace``: the program is run on fake tensors first, and what was traced goes to the analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernlint.request import Request
    from kernlint.verify.trace import TraceJob


def traced(request: Request) -> Request:
    """``request`` with what was traced of the program. Raises ``UsageError`` where torch or Triton is missing, ``AnalysisError``
    where the program cannot be traced."""
    from kernlint.cli import worker
    from kernlint.records import replace
    from kernlint.verify.trace import trace
    from kernlint.verify.versions import require

    require(what="--trace runs the host code")
    return replace(request, recording=trace(worker.run_on_task(_job, request)))


def _job(request: Request) -> TraceJob:
    from kernlint.verify.trace import make_job

    return make_job(request)
