"""A whole run: from paths to findings, through discovery, cache and workers, past baseline and diff."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kernlint.errors import SourceError
from kernlint.lint.baseline import Baseline, Known, Ran, apply_baseline
from kernlint.lint.cache import Cache, job_key
from kernlint.lint.config import Configurations
from kernlint.lint.diff import ChangedLines
from kernlint.lint.discovery import Target, shown_name
from kernlint.lint.fingerprint import fingerprinted
from kernlint.lint.job import Job, Result
from kernlint.lint.known_files import Content, content_of
from kernlint.lint.model import Finding
from kernlint.lint.reading import concerns_us, read_bytes, unreadable
from kernlint.records import dataclass

#: Told how many files are done, of how many.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
    """``findings`` in order, all ``files`` that were looked at with the codes that ran on each, and what a baseline left
    over: entries that nothing matched (``stale``) and how many findings it holds back (``known``). Of ``undecided``, files and
    functions, rules about speed could say nothing."""

    findings: tuple[Finding, ...]
    files: Ran
    stale: tuple[Known, ...] = ()
    known: int = 0
    undecided: tuple[tuple[str, str], ...] = ()


def check_targets(
    targets: Iterable[Target],
    configurations: Configurations,
    *,
    cache: Cache | None,
    workers: int | None,
    progress: Progress = lambda done, total: None,
    stdin: bytes | None = None,
    contents: Mapping[str, bytes] | None = None,
    fixes: bool = False,
    found: Iterable[Finding] = (),
) -> Outcome:
    """Check every target; ``stdin`` are the bytes to take for all of them instead of their files', ``contents`` those
    for some, by path. There are as many ``workers`` as processors where nobody says otherwise. ``fixes`` asks for automatic
    fixes too. What is ``found`` already is part of the outcome."""
    given = contents or {}
    findings = list(found)
    ran: dict[str, frozenset[str]] = {}
    jobs: list[tuple[str, Job]] = []
    results: list[tuple[str, Result]] = []
    for target in targets:
        settings = configurations.of(os.path.dirname(target.path)).of_file(target.path)
        ran[target.shown] = settings.codes
        try:
            file = _File(target, given.get(target.path, stdin), cache)
            # A file may have become empty.
            if not file.content.ours and not (target.explicit and target.path.endswith((".py", ".pyi"))):
                continue
            reference = None if settings.reference is None else _reference(settings.reference)
            key = job_key(target.shown, file.content.digest, reference, fixes, settings) if cache is not None else ""
            result = cache.get(key) if cache is not None else None
            if result is None:
                jobs.append((key, Job(target.shown, file.data(), settings, reference, fixes)))
            else:
                results.append((target.shown, result))
        except SourceError as error:
            findings += unreadable(target.shown, str(error), settings)
    results += _results(jobs, cache, workers, progress)
    if cache is not None:
        cache.keep_files()
    findings += (finding for _, result in results for finding in result.findings)
    undecided = tuple(sorted((shown, entry) for shown, result in results for entry in result.undecided))
    found_all = tuple(sorted(map(_named, findings), key=lambda finding: finding.key))
    return Outcome(found_all, ran, undecided=undecided)


class _File:
    """The file of a ``target``, with the ``data`` that it is to have, or read where it is not in ``cache`` what it holds. Raises
    ``SourceError`` where it has to be read and cannot be."""

    def __init__(self, target: Target, data: bytes | None, cache: Cache | None) -> None:
        self._path, self._data = target.path, data
        if cache is None:
            self.content = Content("", concerns_us(self.data()))  # nobody asks for its digest
        elif data is not None:
            self.content = content_of(data)
        else:
            self.content = cache.files.look(target.path, self.data)

    def data(self) -> bytes:
        """What it holds."""
        if self._data is None:
            self._data = read_bytes(self._path)
        return self._data


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
    return Outcome(tuple(findings), outcome.files, tuple(stale), known, outcome.undecided if changed is None else ())


def _results(
    jobs: list[tuple[str, Job]], cache: Cache | None, workers: int | None, progress: Progress
) -> Iterable[tuple[str, Result]]:
    if not jobs:
        return
    from kernlint.crew import processors
    from kernlint.lint.pool import prepare, run_jobs

    prepare()
    for done, (index, result) in enumerate(run_jobs([job for _, job in jobs], workers or processors()), start=1):
        if cache is not None:
            cache.put(jobs[index][0], result)
        progress(done, len(jobs))
        yield jobs[index][1].shown, result


def _reference(path: str) -> tuple[str, bytes]:
    """The name and bytes of a reference. Raises ``SourceError``."""
    try:
        return shown_name(path), read_bytes(path)
    except SourceError as error:
        raise SourceError(f"its reference {path}: {error}") from None


def _named(finding: Finding) -> Finding:
    """``finding`` with a fingerprint: a failure that no worker reported has none yet, and stands on no source."""
    if finding.fingerprint:
        return finding
    (named,) = fingerprinted([(finding, "")])
    return replace(finding, fingerprint=named.fingerprint)
