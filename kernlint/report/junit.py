"""JUnit XML: a test suite a file, a test case a finding, failed unless it is a remark."""

from __future__ import annotations

from itertools import groupby
from xml.etree import ElementTree

from kernlint.report.lint_report import LintReport, located_message
from kernlint.report.text_findings import where


def render(report: LintReport) -> str:
    """Findings are failures, as JUnit knows no grades, but for those of level info, which fail no run by default: they are
    passed cases with an output. Without findings there is one passed case, since some
    servers take a report without cases for a broken run."""
    root = ElementTree.Element("testsuites", name="kernlint")
    for file, group in groupby(report.findings, key=lambda finding: finding.file):
        findings = list(group)
        failures = sum(finding.severity != "info" for finding in findings)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(file),
            tests=str(len(findings)),
            failures=str(failures),
            errors="0",
            skipped="0",
        )
        for finding in findings:
            place = finding.place
            case = ElementTree.SubElement(
                suite,
                "testcase",
                name=f"{finding.code} {finding.name}",
                classname=_xml(file),
                file=_xml(file),
                line=str(place.line),
            )
            if finding.severity == "info":
                said = ElementTree.SubElement(case, "system-out")
            else:
                message = _xml(located_message(finding))
                said = ElementTree.SubElement(case, "failure", message=message, type=finding.severity)
            said.text = _xml("\n".join([f"{where(finding)}: {finding.message}", *finding.evidence]))
    if not report.findings:
        suite = ElementTree.SubElement(
            root, "testsuite", name="kernlint", tests="1", failures="0", errors="0", skipped="0"
        )
        ElementTree.SubElement(suite, "testcase", name=f"{report.files} files", classname="kernlint")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """``text`` without the characters that XML has no way to write."""
    return "".join(c if c in "\t\n\r" or 0x20 <= ord(c) < 0xD800 or 0xE000 <= ord(c) < 0xFFFE or ord(c) > 0xFFFF else "?"
                   for c in text)  # fmt: skip
