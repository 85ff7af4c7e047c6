"""Workflow commands that make GitHub Actions annotate lines of a pull request."""

from __future__ import annotations

from kernlint.report.lint_report import LintReport, file_lines, located_message

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: LintReport) -> str:
    """One ``::error file=...::message`` a finding."""
    lines = []
    for finding in report.findings:
        line, column, end_line, end_column = file_lines(finding)
        properties = {
            "title": f"kernlint {finding.code} {finding.name}",
            "file": report.path_of(finding),
            "line": str(line),
            "endLine": str(end_line),
        }
        if line == end_line:  # GitHub refuses columns of a range of lines
            properties |= {"col": str(column), "endColumn": str(end_column)}
        given = ",".join(
            f"{key}={_data(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items()
        )
        lines.append(f"::{_COMMANDS[finding.severity]} {given}::{_data(located_message(finding))}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
