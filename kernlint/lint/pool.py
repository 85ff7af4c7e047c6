"""Files checked by worker processes: whatever becomes of one, only its file is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernlint.crew import Begun, Crew, Failure, Trade
from kernlint.lint.check_file import check_file
from kernlint.lint.diagnostics import ANALYSIS_FAILED
from kernlint.lint.job import Job, Result
from kernlint.lint.model import Finding


def run_jobs(jobs: Sequence[Job], workers: int) -> Iterator[tuple[int, Result]]:
    """The index of each job with its result, as they are done, computed by up to ``workers`` processes.

    A job that takes longer than its ``timeout_s``, or whose process dies, ends in one KL902. Raises ``AnalysisError`` where
    the system lets us have no process at all.
    """
    with Crew(Trade(prepare, _check, _limit_s), workers) as crew:
        for index, result in crew.run(jobs):
            yield index, _failed(jobs[index], result) if isinstance(result, Failure) else result


def prepare() -> None:
    """Import what the files to come need: once for all workers that are forked from this process."""
    import kernlint.interpret.frontend.check
    import kernlint.lint.suppress
    import kernlint.verdict.judge  # noqa: F401
    from kernlint.rules.registry import all_rules

    all_rules()


def _check(job: Job, begun: Begun) -> Result:
    return check_file(job, begun)


def _limit_s(job: Job) -> float:
    return job.settings.timeout_s


def _failed(job: Job, failure: Failure) -> Result:
    """What there is to say of ``job``, which came to no end: what was found of it until then, and why that is not all."""
    so_far: Result | None = failure.so_far
    findings: tuple[Finding, ...] = so_far.findings if so_far is not None else ()
    if ANALYSIS_FAILED.code in job.settings.codes:
        level = job.settings.severity.get(ANALYSIS_FAILED.code)
        kept = "; what was found until then is kept" if findings else ""
        findings = (ANALYSIS_FAILED.at(job.shown, failure.reason + kept, severity=level), *findings)
    return Result(findings, failure.exhausted, so_far.helpers if so_far is not None else ())
