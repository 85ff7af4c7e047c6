"""The diagnostic format of reviewdog."""

from __future__ import annotations

import json
from typing import Any

from kernlint.lint.model import Finding, Place
from kernlint.report.lint_report import LintReport, file_lines, located_message

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(report: LintReport) -> str:
    """One object with all diagnostics; a fix is a list of suggestions."""
    result = {
        "source": {"name": "kernlint"},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(finding, report) for finding in report.findings],
    }
    return json.dumps(result, indent=2) + "\n"


def _diagnostic(finding: Finding, report: LintReport) -> dict[str, Any]:
    line, column, end_line, end_column = file_lines(finding)
    found: dict[str, Any] = {
        "message": located_message(finding),
        "location": {
            "path": report.path_of(finding),
            "range": {"start": {"line": line, "column": column}, "end": {"line": end_line, "column": end_column}},
        },
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
    }
    if finding.fix is not None and finding.place.cell is None:
        found["suggestions"] = [{"range": _range(edit.place), "text": edit.text} for edit in finding.fix.edits]
    return found


def _range(place: Place) -> dict[str, Any]:
    return {
        "start": {"line": place.line, "column": place.column},
        "end": {"line": place.end_line, "column": place.end_column},
    }
