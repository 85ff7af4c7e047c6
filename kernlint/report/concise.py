"""One line a finding, as compilers print them."""

from __future__ import annotations

from kernlint.report.lint_report import LintReport, gain_text
from kernlint.report.look import printable
from kernlint.report.text_findings import where


def render(report: LintReport) -> str:
    """``file:line:column: severity code name: message [gain]`` for each finding, then a summary."""
    lines = []
    for finding in report.findings:
        gain = gain_text(finding)
        lines.append(
            f"{where(finding)}: {finding.severity} {finding.code} {finding.name}: {printable(finding.message)}"
            f"{f' [{gain}]' if gain else ''}"
        )
    return "\n".join([*lines, report.summary()]) + "\n"
