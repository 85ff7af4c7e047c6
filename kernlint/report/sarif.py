"""SARIF 2.1.0, as GitHub code scanning takes it."""

from __future__ import annotations

import json
from typing import Any

from kernlint.links import DOCS, rule_url
from kernlint.lint.diagnostics import DIAGNOSTICS
from kernlint.lint.model import Finding, Fix
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
    artifact = _artifact(finding, report)
    message = located_message(finding)
    if finding.advice:
        message += f". {finding.advice}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": message[:_MAX_MESSAGE]},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": _region(*file_lines(finding))}}],
        "partialFingerprints": {"kernlint/v1": finding.fingerprint},
        "properties": {"category": finding.category, "evidence": list(finding.evidence)},
    }
    if finding.kernel:
        result["locations"][0]["logicalLocations"] = [{"name": finding.kernel, "kind": "function"}]
    if finding.fix is not None and finding.place.cell is None:
        result["fixes"] = [_fix(finding.fix, artifact)]
    return result


def _artifact(finding: Finding, report: LintReport) -> dict[str, str]:
    uri = report.uri_of(finding)
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _region(line: int, column: int, end_line: int, end_column: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _fix(fix: Fix, artifact: dict[str, str]) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(*edit.place.ends), "insertedContent": {"text": edit.text}} for edit in fix.edits
    ]
    return {
        "description": {"text": fix.message},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": replacements}],
        "properties": {"applicability": fix.applicability},
    }
