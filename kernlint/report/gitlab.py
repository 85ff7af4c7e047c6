"""GitLab's code quality report."""

from __future__ import annotations

import hashlib
import json

from kernlint.report.lint_report import LintReport, file_lines, located_message

_SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}


def render(report: LintReport) -> str:
    """A list of issues. GitLab takes issues of one fingerprint for the same one, so that the file's name is part of
    it here."""
    issues = []
    for finding in report.findings:
        line, column, end_line, end_column = file_lines(finding)
        path = report.path_of(finding)
        name = f"{path}\0{finding.fingerprint}".encode("utf-8", "surrogateescape")
        issues.append(
            {
                "description": f"{finding.code} {finding.name}: {located_message(finding)}",
                "check_name": finding.code,
                "fingerprint": hashlib.blake2b(name, digest_size=16).hexdigest(),
                "severity": _SEVERITIES[finding.severity],
                "location": {
                    "path": path,
                    "lines": {"begin": line, "end": end_line},
                    "positions": {
                        "begin": {"line": line, "column": column},
                        "end": {"line": end_line, "column": end_column},
                    },
                },
            }
        )
    return json.dumps(issues, indent=2) + "\n"
