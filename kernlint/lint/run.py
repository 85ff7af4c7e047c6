"""A whole run: from paths to findings, through discovery, cache and workers, past baseline and diff."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kernlint.errors import SourceError
from kernlint.lint.baseline import Baseline, Known, Ran, apply_baseline
from kernlint.lint.cache import Cache
from kernlint.lint.check_file import Job, Result
from kernlint.lint.config import Configurations
from kernlint.lint.diff import ChangedLines
from kernlint.lint.discovery import Target
from kernlint.lint.fingerprint import fingerprinted
from kernlint.lint.model import Finding
from kernlint.lint.reading import concerns_us, read_bytes, unreadable
from kernlint.records import dataclass

#: Told how many files are done, of how many.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
    """``findings`` in order, all ``files`` that were looked at with the codes that ran on each, and what a baseline left
    over: entries that nothing matched (``stale``) and how many findings it holds back (``known``)."""

    findings: tuple[Finding, ...]
    files: Ran
    stale: tuple[Known, ...] = ()
    known: int = 0


def check_targets(
    targets: Iterable[Target],
    configurations: Configurations,
    *,
    cache: Cache | None,
    workers: int,
    progress: Progress = lambda done, total: None,
    stdin: bytes | None = None,
    contents: Mapping[str, bytes] | None = None,
    fixes: bool = False,
    found: Iterable[Finding] = (),
) -> Outcome:
    """Check every target; ``stdin`` are the bytes to take for all of them instead of their files', ``contents`` those
    for some, by path. ``fixes`` asks for automatic fixes too. What is ``found`` already is part of the outcome."""
    contents = contents or {}
    read = read_bytes if stdin is None else lambda _: stdin
    findings = list(found)
    ran: dict[str, frozenset[str]] = {}
    jobs: list[Job] = []
    for target in targets:
        settings = configurations.of(os.path.dirname(target.path)).of_file(target.path)
        ran[target.shown] = settings.codes
        try:
            # A file may have become empty.
            data = contents[target.path] if target.path in contents else read(target.path)
        except SourceError as error:
            findings += unreadable(target.shown, str(error), settings)
            continue
        if not concerns_us(data) and not (target.explicit and target.path.endswith((".py", ".pyi"))):
            continue
        try:
            reference = None if settings.reference is None else _reference(settings.reference)
        except SourceError as error:
            findings += unreadable(target.shown, f"its reference {settings.reference}: {error}", settings)
            continue
        jobs.append(Job(target.shown, data, settings, reference, fixes))
    for result in _results(jobs, cache, workers, progress):
        findings += result.findings
    return Outcome(tuple(sorted(map(_named, findings), key=lambda finding: finding.key)), ran)


def narrow(outcome: Outcome, changed: ChangedLines | None, baseline: Baseline | None) -> Outcome:
    """``outcome`` without findings on lines that did not change and those in the baseline."""
    stale: list[Known] = []
    findings = list(outcome.findings)
    known = 0
    if baseline is not None:
        before = len(findings)
        findings, stale = apply_baseline(findings, baseline, outcome.files)
        known = before - len(findings)
    if changed is not None:
        findings = changed.select(findings)
    return Outcome(tuple(findings), outcome.files, tuple(stale), known)


def _results(jobs: list[Job], cache: Cache | None, workers: int, progress: Progress) -> Iterable[Result]:
    fresh: list[Job] = []
    for job in jobs:
        result = cache.get(job) if cache is not None else None
        if result is None:
            fresh.append(job)
        else:
            yield result
    if not fresh:
        return
    # Imported here, once for all workers that are forked from this process.
    import kernlint.analysis
    import kernlint.lint.suppress  # noqa: F401
    from kernlint.lint.pool import run_jobs
    from kernlint.rules.registry import all_rules

    all_rules()
    for done, (index, result) in enumerate(run_jobs(fresh, workers), start=1):
        if cache is not None:
            cache.put(fresh[index], result)
        progress(done, len(fresh))
        yield result


def _reference(path: str) -> tuple[str, bytes]:
    from kernlint.lint.discovery import shown_name

    return shown_name(path), read_bytes(path)


def _named(finding: Finding) -> Finding:
    """``finding`` with a fingerprint: a failure that no worker reported has none yet, and stands on no source."""
    if finding.fingerprint:
        return finding
    (named,) = fingerprinted([(finding, "")])
    return replace(finding, fingerprint=named.fingerprint)
