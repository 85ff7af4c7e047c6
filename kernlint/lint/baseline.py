"""A baseline: the findings that were there before, by fingerprint, so that only new ones count."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kernlint.errors import UsageError
from kernlint.lint.model import Finding
from kernlint.lint.names import relative_name
from kernlint.records import dataclass
from kernlint.write import write_whole

_VERSION = 1


@dataclass(frozen=True)
class Known:
    """One entry: where the finding was, what it was, and its fingerprint."""

    file: str
    code: str
    fingerprint: str
    message: str


def read_baseline(path: str) -> list[Known]:
    """The entries of the baseline at ``path``. Raises ``UsageError`` where it cannot be read or is none."""
    try:
        with open(path, encoding="utf-8") as file:
            data: Any = json.load(file)
        if data["version"] != _VERSION:
            raise UsageError(f"{path}: a baseline of version {data['version']}, which this kernlint does not read")
        return [Known(e["file"], e["code"], e["fingerprint"], e["message"]) for e in data["findings"]]
    except OSError as error:
        hint = "; --update-baseline makes one" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{path}: {error.strerror or error}{hint}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{path}: not a baseline of kernlint") from None


def write_baseline(path: str, findings: Iterable[Finding]) -> int:
    """Write ``findings`` as the baseline at ``path``, files named relative to its folder; how many there are.

    Failures (KL901 to KL903) are left out: a baseline that hid them would hide all that they keep from being found.
    """
    folder = os.path.dirname(os.path.abspath(path))
    entries = [
        {"file": relative_name(f.file, folder), "code": f.code, "fingerprint": f.fingerprint, "message": f.message}
        for f in findings
        if f.fingerprint and not f.code.startswith("KL90")
    ]
    entries.sort(key=lambda entry: (entry["file"], entry["code"], entry["fingerprint"]))
    text = json.dumps({"version": _VERSION, "findings": entries}, indent=2) + "\n"
    write_whole(path, text.encode())
    return len(entries)


def apply_baseline(
    findings: Sequence[Finding], known: Sequence[Known], path: str, checked: Iterable[str]
) -> tuple[list[Finding], list[Known]]:
    """The findings that are not in the baseline, and its entries that no finding matched any more (stale).

    An entry matches once, first a finding of its own file, then, where that is gone or was renamed, one elsewhere.
    Only entries of ``checked`` files (as shown), and of files that no longer exist, can be stale.
    """
    folder = os.path.dirname(os.path.abspath(path))
    left = Counter((entry.file, entry.fingerprint) for entry in known)
    missing = Counter[str]()
    unmatched = []
    for finding in findings:
        key = (relative_name(finding.file, folder), finding.fingerprint)
        if finding.fingerprint and left[key] > 0:
            left[key] -= 1
        else:
            unmatched.append(finding)
    gone = {entry.file for entry in known if not os.path.exists(os.path.join(folder, entry.file))}
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
    seen = {relative_name(file, folder) for file in checked} | gone
    stale = []
    for entry in known:
        key = (entry.file, entry.fingerprint)
        if left[key] <= 0 or entry.file not in seen:
            continue
        left[key] -= 1
        if entry.file in gone and moved[entry.fingerprint] > 0:
            moved[entry.fingerprint] -= 1
        else:
            stale.append(entry)
    return new, stale
