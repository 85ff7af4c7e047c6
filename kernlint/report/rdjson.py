"""The diagnostic format of reviewdog."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from kernlint.errors import SourceError
from kernlint.links import DOCS, rule_url
from kernlint.lint.model import Finding
from kernlint.lint.reading import read_bytes
from kernlint.report.lint_report import LintReport, file_lines, located_message
from kernlint.syntax.source import decode_source, split_lines

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(report: LintReport) -> str:
    """One object with all diagnostics; a fix is a list of suggestions. Columns count bytes of UTF-8, as reviewdog has it."""
    lines_of = lru_cache(maxsize=None)(_lines)
    result = {
        "source": {"name": "kernlint", "url": DOCS},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(finding, report, lines_of(finding.file)) for finding in report.findings],
    }
    return json.dumps(result, indent=2) + "\n"


def _diagnostic(finding: Finding, report: LintReport, lines: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "message": located_message(finding),
        "location": {"path": report.path_of(finding), "range": _range(file_lines(finding), lines)},
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code, "url": rule_url(finding.code)},
    }
    if finding.fix is not None and finding.place.cell is None:
        found["suggestions"] = [
            {"range": _range(edit.place.ends, lines), "text": edit.text} for edit in finding.fix.edits
        ]
    return found


def _range(place: tuple[int, int, int, int], lines: Sequence[str]) -> dict[str, Any]:
    line, column, end_line, end_column = place
    return {"start": _position(line, column, lines), "end": _position(end_line, end_column, lines)}


def _position(line: int, column: int, lines: Sequence[str]) -> dict[str, int]:
    before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    return {"line": line, "column": column + len(before.encode("utf-8", "surrogatepass")) - len(before)}


def _lines(file: str) -> Sequence[str]:
    """The lines of a file as it is now; none where it cannot be read, as of standard input."""
    try:
        return split_lines(decode_source(read_bytes(file), file).text)
    except SourceError:
        return ()
