"""Findings as JSON, which ``kernlint schema check`` describes: one list, or one object a line."""

from __future__ import annotations

import json

from kernlint.report.lint_report import LintReport


def render(report: LintReport) -> str:
    """A list of all findings, indented; ASCII only, so that no terminal or pipe can garble it."""
    return json.dumps([finding.to_json() for finding in report.findings], indent=2, allow_nan=False) + "\n"


def render_lines(report: LintReport) -> str:
    """Each finding as one line."""
    return "".join(json.dumps(finding.to_json(), allow_nan=False) + "\n" for finding in report.findings)
