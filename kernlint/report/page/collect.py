"""From paths to what a page tells: files found, told of by worker processes, a crash or a hang costing its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from kernlint.crew import Begun, Crew, Failure, Trade, ready_for_verdicts
from kernlint.errors import SourceError
from kernlint.lint.config import Configurations
from kernlint.lint.discovery import Target, find_files
from kernlint.lint.reading import concerns_us, read_bytes
from kernlint.report.page.programs import FileJob, FileReport, report_on
from kernlint.syntax.source import decode_source

#: Told how many files are done, of how many.
Progress = Callable[[int, int], None]


def collect(
    paths: Iterable[str],
    configurations: Configurations,
    *,
    device: str | None,
    scope: str,
    timeout_s: float,
    workers: int,
    reference: tuple[str, str] | None = None,
    progress: Progress = lambda done, total: None,
) -> list[FileReport]:
    """What there is to tell of each file below ``paths`` that has to do with Triton, in their order; ``reference`` is the name and text of
    that of files which have none configured. Raises ``UsageError`` for paths
    that do not exist, and ``AnalysisError`` where no process can be started."""
    found = find_files(paths, configurations)
    reports = [FileReport(finding.file, error=finding.message) for finding in found.findings]
    jobs: list[FileJob] = []
    for target in found.targets:
        job = _job(target, configurations, device, scope, timeout_s, reference)
        if isinstance(job, FileReport):
            reports.append(job)
        elif job is not None:
            jobs.append(job)
    told: dict[int, FileReport] = {}
    with Crew(Trade(ready_for_verdicts, _report, _limit_s), workers) as crew:
        for index, result in crew.run(jobs):
            told[index] = _given_up(jobs[index], result) if isinstance(result, Failure) else result
            progress(len(told), len(jobs))
    # A kernel that nothing launches is no program, and a file without one is nothing to tell of.
    return [*reports, *(told[index] for index in range(len(jobs)))]


def _job(
    target: Target,
    configurations: Configurations,
    device: str | None,
    scope: str,
    timeout_s: float,
    reference: tuple[str, str] | None,
) -> FileJob | FileReport | None:
    settings = configurations.of(os.path.dirname(target.path)).of_file(target.path)
    try:
        data = read_bytes(target.path)
        if not concerns_us(data):
            return None
        if target.path.endswith(".ipynb"):
            return FileReport(target.shown, error="a notebook; kernlint check reads it")
        if settings.reference is not None:
            reference = settings.reference, decode_source(read_bytes(settings.reference), settings.reference).text
    except SourceError as error:
        return FileReport(target.shown, error=str(error))
    device = device or (settings.device if settings.device_named else None)
    return FileJob(target.shown, data, reference, device, scope, timeout_s)


def _given_up(job: FileJob, failure: Failure) -> FileReport:
    """What there is to say of a file that came to no end: what was told of it until then, and why that is not all."""
    so_far: FileReport | None = failure.so_far
    if so_far is None:
        return FileReport(job.shown, error=failure.reason)
    return FileReport(job.shown, so_far.lines, so_far.programs, failure.reason)


def _report(job: FileJob, begun: Begun) -> FileReport:
    return report_on(job, begun)


def _limit_s(job: FileJob) -> float:
    return job.timeout_s
