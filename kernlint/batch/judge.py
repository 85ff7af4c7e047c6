"""From a task to its row of results: what a worker of a batch does. Runs in a child process."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kernlint.batch.fields import record
from kernlint.batch.tasks import RowTask
from kernlint.errors import AnalysisError, KernlintError, SourceError
from kernlint.request import Request
from kernlint.version import __version__

if TYPE_CHECKING:
    from kernlint.analysis import Analysis
    from kernlint.cost.estimate import Estimate

_SOURCE, _REFERENCE = "<source>", "<reference>"


def judge_row(task: RowTask) -> dict[str, Any]:
    """The row of ``task``; what is wrong with the program stands in it and is not raised."""
    if task.problem:
        return unanswered(task, "bad-row", task.problem)
    from kernlint.analysis import analysis
    from kernlint.batch.wrong import surely_wrong

    request = Request(
        task.source,
        _SOURCE,
        task.reference,
        _REFERENCE,
        task.device,
        task.scope,
        overrides=dict(task.overrides),
    )
    try:
        found = analysis(request)
    except SourceError as error:
        return unanswered(task, "bad-row" if str(error).startswith(_REFERENCE) else "invalid-source", str(error))
    except AnalysisError as error:
        return unanswered(task, "no-verdict", str(error)) | _wrong(surely_wrong(request))
    except KernlintError as error:
        return unanswered(task, "bad-row", str(error))
    known = _verdict(found) | _times(found) | _work(found) | _wrong(surely_wrong(request))
    return record(**_named(task), status="ok", **known)


def unanswered(task: RowTask, status: str, error: str) -> dict[str, Any]:
    """The row of a ``task`` that has no verdict, and why."""
    return record(**_named(task), status=status, error=error)


def _named(task: RowTask) -> dict[str, Any]:
    from kernlint.cost.estimate import MODEL_VERSION

    versions = {"kernlint_version": __version__, "model_version": MODEL_VERSION}
    return {"id": task.id, "device": None if task.problem else task.device, "scope": task.scope, **versions}


def _verdict(found: Analysis) -> dict[str, Any]:
    verdict, details = found.verdict, found.verdict.details
    return {
        "worth_optimizing": verdict.worth_optimizing,
        "certainty": details.certainty,
        "reason": verdict.reason,
        "bottleneck": verdict.bottleneck,
        "optimisation_method": verdict.optimisation_method,
        "modification_plan": verdict.modification_plan,
        "expected_speedup": verdict.expected_speedup,
        "category": details.category,
        "rule": None if details.rule is None else details.rule.code,
        "kernel": details.kernel,
        "line": None if details.location is None else details.location.line,
        "fix_automatic": None if details.fix is None else details.fix.automatic,
        "finding_rules": _codes(finding.rule.code for finding in details.findings),
    }


def _times(found: Analysis) -> dict[str, Any]:
    from kernlint.cost.comparing import speedup

    before, reference = found.judgement.before, found.judgement.reference
    headroom, chosen = found.verdict.details.headroom, found.verdict.details.estimate.chosen
    times: dict[str, Any] = {
        "gpu_us": before.gpu_us,
        "call_us": before.call_us,
        "reference_gpu_us": None if reference is None else reference.gpu_us,
        "reference_call_us": None if reference is None else reference.call_us,
        "after_us": chosen.after_us,
        "gain": chosen.speedup,
        "gain_low": chosen.low,
        "gain_high": chosen.high,
        "achievable_us": None if headroom is None else headroom.achievable_us[1],
        "bound_us": None if headroom is None else headroom.bound_us,
        "reference_bound_us": _reference_bound_us(found),
    }
    for scope in ("gpu", "call"):
        if reference is not None and reference.total_us(scope) and before.total_us(scope):
            middle, low, high = speedup(reference, before, scope)
            times |= {f"{scope}_speedup": middle, f"{scope}_speedup_low": low, f"{scope}_speedup_high": high}
    return {name: _rounded(value) for name, value in times.items()}


def _reference_bound_us(found: Analysis) -> float | None:
    """The bound of what the reference asks for, which a program that does less of it may be below."""
    from kernlint.headroom.bound import bound_of
    from kernlint.headroom.graph import graph_of

    workload, reference = found.judgement.workload.reference, found.judgement.reference
    if workload is None or workload.unknowns or reference is None or reference.gpu_us is None:
        return None
    try:
        return bound_of(workload.once(graph_of), reference.device).us
    except (ZeroDivisionError, OverflowError):
        return None


def _work(found: Analysis) -> dict[str, Any]:
    from kernlint.workload import Launch, TorchOp

    before: Estimate = found.judgement.before
    if before.gpu_us is None:
        return {}
    own = sum(row.total_gpu_us for row in before.steps if isinstance(row.step, Launch))
    return {
        "launches": round(sum(row.count for row in before.steps if isinstance(row.step, Launch))),
        "torch_calls": round(sum(r.count for r in before.steps if isinstance(r.step, TorchOp) and r.gpu_us > 0)),
        "coverage": _rounded(own / before.gpu_us) if before.gpu_us > 0 else None,
    }


def _wrong(codes: Sequence[str]) -> dict[str, Any]:
    return {"errors": len(codes), "error_rules": _codes(codes)}


def _codes(codes: Iterable[str]) -> str:
    return " ".join(sorted({code for code in codes if code}))


def _rounded(value: float | None) -> float | None:
    """Six significant digits: more would only differ between machines. None for what is no number."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None
