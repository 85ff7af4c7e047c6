"""One name for a finding that survives edits elsewhere: for baselines, SARIF and GitLab."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from kernlint.lint.model import Finding

_LENGTH = 16

_STRING = r"""(?P<string>'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_COMMENT = re.compile(rf"{_STRING}|\#[^\n]*", re.DOTALL)
_SPACE = re.compile(rf"{_STRING}|\s*(?P<mark>[^\w\s])\s*|\s+", re.DOTALL)
_LAST_COMMA = re.compile(r",(?=[)\]}])")


def normalise(source: str) -> str:
    """``source`` without what a formatter may change: comments, line ends, spaces around marks, a comma at the end."""
    bare = _COMMENT.sub(lambda match: match["string"] or "", source)
    spaced = _SPACE.sub(lambda match: match["string"] or match["mark"] or " ", bare)
    return _LAST_COMMA.sub("", spaced).strip()


def source_of(lines: list[str], line: int, column: int, end_line: int, end_column: int) -> str:
    """The text of a half-open range (lines and columns from 1) of ``lines``."""
    chosen = lines[line - 1 : end_line]
    if not chosen:
        return ""
    chosen[-1] = chosen[-1][: end_column - 1]
    chosen[0] = chosen[0][column - 1 :]
    return "\n".join(chosen)


def fingerprinted(findings: Iterable[tuple[Finding, str]]) -> list[Finding]:
    """Findings of one file with their fingerprints, from findings with the source they stand on, in source order.

    A fingerprint is a hash of the code, the kernel, the normalised source, and, among findings alike in these, which
    one it is. It holds no line number and no file name.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    result = []
    for finding, source in findings:
        alike = (finding.code, finding.kernel, normalise(source))
        text = "\0".join((*alike, str(seen[alike])))
        seen[alike] += 1
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_LENGTH // 2).hexdigest()
        result.append(replace(finding, fingerprint=digest))
    return result
