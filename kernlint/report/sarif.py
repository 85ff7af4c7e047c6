"""SARIF 2.1.0, as GitHub code scanning takes it."""

from __future__ import annotations

import json
from typing import Any

from kernlint.links import DOCS, rule_url
from kernlint.lint.diagnostics import DIAGNOSTICS
from kernlint.lint.model import Finding
from kernlint.lint.selection import Entry, entries
from kernlint.report.lint_report import LintReport, file_lines, located_message
from kernlint.version import __version__

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0-rtm.5.json"

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}

#: GitHub shows no more of a message.
_MAX_MESSAGE = 1000


def render(report: LintReport) -> str:
    """One run. URIs are relative to the repository and percent-encoded, columns count code points; a rule is described
    once, and only if it has results."""
    codes = sorted({finding.code for finding in report.findings})
    index = {code: position for position, code in enumerate(codes)}
    driver = {
        "name": "kernlint",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": DOCS,
        "rules": [_rule(entries()[code]) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index[finding.code], report) for finding in report.findings],
    }
    return json.dumps({"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}, indent=2, allow_nan=False) + "\n"


def _rule(entry: Entry) -> dict[str, Any]:
    from kernlint.rules.docs import to_markdown
    from kernlint.rules.registry import find_rule

    known = next((diagnostic for diagnostic in DIAGNOSTICS if diagnostic.code == entry.code), None)
    page = to_markdown(find_rule(entry.code)) if known is None else known.to_markdown()
    return {
        "id": entry.code,
        "name": "".join(word.capitalize() for word in entry.name.split("-")),
        "shortDescription": {"text": entry.summary},
        "fullDescription": {"text": entry.summary},
        "help": {"text": page, "markdown": page},
        "helpUri": rule_url(entry.code),
        "defaultConfiguration": {"level": _LEVELS[entry.severity]},
        "properties": {"tags": [entry.category], "precision": "high"},
    }


def _result(finding: Finding, rule_index: int, report: LintReport) -> dict[str, Any]:
    line, column, end_line, end_column = file_lines(finding)
    region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    message = located_message(finding)
    if finding.advice:
        message += f". {finding.advice}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": message[:_MAX_MESSAGE]},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": report.uri_of(finding), "uriBaseId": "%SRCROOT%"},
                    "region": region,
                }
            }
        ],
        "partialFingerprints": {"kernlint/v1": finding.fingerprint},
        "properties": {"category": finding.category, "evidence": list(finding.evidence)},
    }
    if finding.kernel:
        result["locations"][0]["logicalLocations"] = [{"name": finding.kernel, "kind": "function"}]
    if result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("file:"):
        del result["locations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"]
    return result
