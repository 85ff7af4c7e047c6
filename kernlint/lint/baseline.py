"""A baseline: the findings that were there before, by fingerprint, so that only new ones count."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kernlint.errors import UsageError
from kernlint.files import read_regular
from kernlint.lint.model import Finding
from kernlint.lint.names import relative_name
from kernlint.records import dataclass
from kernlint.write import write_whole

_VERSION = 1

#: Some hundred thousand entries.
_MAX_BYTES = 100_000_000

#: The codes that ran on each file, by the name that it is shown with.
Ran = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Known:
    """One entry: where the finding was, what it was, and its fingerprint."""

    file: str
    code: str
    fingerprint: str
    message: str


@dataclass(frozen=True)
class Baseline:
    """The ``entries`` of the baseline at ``path``, whose files are named relative to its folder."""

    path: str
    entries: Sequence[Known] = ()

    @property
    def folder(self) -> str:
        return os.path.dirname(os.path.abspath(self.path))


def read_baseline(path: str) -> Baseline:
    """The baseline at ``path``. Raises ``UsageError`` where it cannot be read or is none."""
    try:
        data: Any = json.loads(read_regular(path, _MAX_BYTES))
        if data["version"] != _VERSION:
            raise UsageError(f"{path}: a baseline of version {data['version']}, which this kernlint does not read")
        return Baseline(path, [Known(e["file"], e["code"], e["fingerprint"], e["message"]) for e in data["findings"]])
    except OSError as error:
        hint = "; --update-baseline makes one" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{path}: {error.strerror or error}{hint}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{path}: not a baseline of kernlint") from None


def write_baseline(baseline: Baseline, findings: Sequence[Finding], ran: Ran) -> tuple[int, int]:
    """Write ``findings`` into the file of ``baseline``, beside those of its entries that the run, which ``ran`` certain rules on
    certain files, was not about; how many there are of each.

    Failures (KL901 to KL903) are left out: a baseline that hid them would hide all that they keep from being found.
    """
    looked_for = _looked_for(baseline, findings, ran)
    kept = [entry for entry in baseline.entries if not looked_for(entry)]
    noted = [
        Known(relative_name(f.file, baseline.folder), f.code, f.fingerprint, f.message)
        for f in findings
        if f.fingerprint and not _is_failure(f)
    ]
    entries = sorted([*kept, *noted], key=lambda entry: (entry.file, entry.code, entry.fingerprint))
    text = json.dumps({"version": _VERSION, "findings": [asdict(entry) for entry in entries]}, indent=2) + "\n"
    write_whole(baseline.path, text.encode())
    return len(noted), len(kept)


def apply_baseline(findings: Sequence[Finding], baseline: Baseline, ran: Ran) -> tuple[list[Finding], list[Known]]:
    """The findings that are not in the baseline, and its entries that no finding matched any more (stale).

    An entry matches once, first a finding of its own file, then, where that is gone or was renamed, one elsewhere. Only what a
    run, which ``ran`` certain rules on certain files, would have found can be stale, and what was in files that no longer exist.
    """
    known, folder = baseline.entries, baseline.folder
    left = Counter((entry.file, entry.fingerprint) for entry in known)
    missing = Counter[str]()
    unmatched = []
    for finding in findings:
        key = (relative_name(finding.file, folder), finding.fingerprint)
        if finding.fingerprint and left[key] > 0:
            left[key] -= 1
        else:
            unmatched.append(finding)
    gone = _gone(baseline)
    for (file, fingerprint), count in left.items():
        if file in gone:
            missing[fingerprint] += count
    new = []
    moved = Counter[str]()
    for finding in unmatched:
        if finding.fingerprint and missing[finding.fingerprint] > 0:
            missing[finding.fingerprint] -= 1
            moved[finding.fingerprint] += 1
        else:
            new.append(finding)
    looked_for = _looked_for(baseline, findings, ran)
    stale = []
    for entry in known:
        key = (entry.file, entry.fingerprint)
        if left[key] <= 0 or not looked_for(entry):
            continue
        left[key] -= 1
        if entry.file in gone and moved[entry.fingerprint] > 0:
            moved[entry.fingerprint] -= 1
        else:
            stale.append(entry)
    return new, stale


def _gone(baseline: Baseline) -> set[str]:
    """The files of ``baseline`` that no longer exist."""
    files = {entry.file for entry in baseline.entries}
    return {file for file in files if not os.path.exists(os.path.join(baseline.folder, file))}


def _looked_for(baseline: Baseline, findings: Iterable[Finding], ran: Ran) -> Callable[[Known], bool]:
    """Whether a run would have found an entry again: its rule ran on its file and nothing failed there, or the file is gone."""
    gone = _gone(baseline)
    failed = {finding.file for finding in findings if _is_failure(finding)}
    codes = {relative_name(file, baseline.folder): ran[file] for file in ran if file not in failed}
    return lambda entry: entry.file in gone or entry.code in codes.get(entry.file, ())


def _is_failure(finding: Finding) -> bool:
    return finding.code.startswith("KL90")
