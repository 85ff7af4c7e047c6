"""Every output format, against its schema or the rules of the tool that reads it."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from support.lint import KERNEL, check

from kernlint.links import rule_url
from kernlint.lint.model import Gain, Place
from kernlint.lint.patterns import Patterns
from kernlint.report import concise, findings_json, github, gitlab, junit, rdjson, sarif, statistics, text_findings
from kernlint.report.lint_report import LintReport
from kernlint.report.look import Look
from kernlint.schema import load

SARIF_SCHEMA = Path(__file__).parent / "data" / "sarif-2.1.0-rtm.5.json"

EVIL = "50%, of: a\nb\x1b[31m <&>\" 'ü"


@pytest.fixture(scope="module")
def findings():
    """A kernel's finding, a comment's with a fix, a notebook's, and one with a name and a message full of traps."""
    (kernel,) = check(KERNEL)
    (unused,) = check("import triton\nx = 1  # kernlint: ignore[KL101]\n")
    cell = replace(kernel, file="n.ipynb", place=replace(kernel.place, cell=3))
    evil = replace(kernel, file="a b/ü%,:.py", message=EVIL, severity="error", kernel="", gain=None, evidence=(EVIL,))
    quiet = replace(kernel, severity="info", code="KL305", name="operand-not-k-major")
    return [kernel, unused.moved("u.py"), cell, evil, quiet]


@pytest.fixture
def report(findings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return LintReport(findings, 4, str(tmp_path))


@pytest.fixture
def empty(tmp_path):
    return LintReport([], 4, str(tmp_path))


# -- for people -------------------------------------------------------------------------------------------------------


def test_text_shows_the_source_with_carets(report):
    text = text_findings.render(report)
    lines = text.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("  15 | "))
    source, carets = lines[at], lines[at + 1]
    assert source[carets.index("^") : carets.rindex("^") + 1] == "a.to(tl.float32)"
    assert lines[0].startswith("k.py:15:23: warning KL101 int8-upcast-before-dot [")
    assert "n.ipynb:cell 3:15:23:" in text
    assert lines[-1] == "5 findings in 4 files (1 error, 3 warnings, 1 info)."
    assert "\x1b" not in text


def test_colours_are_only_added(report):
    import re

    coloured = text_findings.render(report, Look(colour=True))
    assert "\x1b[1;31merror" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text_findings.render(report)


def test_concise_is_one_line_a_finding(report):
    lines = concise.render(report).splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("k.py:15:23: warning KL101 int8-upcast-before-dot: `product` casts")
    assert lines[3].endswith("50%, of: a b?[31m <&>\" 'ü")


def test_without_findings(empty):
    assert text_findings.render(empty) == concise.render(empty) == "No findings in 4 files.\n"
    assert LintReport([], 1, "").summary() == "No findings in 1 file."


def test_what_would_judge_the_speed_is_told_to_people_alone(empty):
    left = replace(empty, undecided=(("my kernels.py", "softmax"), ("other.py", "Model.forward")))
    told = text_findings.render(left).splitlines()[1]
    assert told.startswith("The speed of `softmax` and 1 more was not judged") and "`kernlint 'my kernels.py'`" in told
    piped = replace(empty, undecided=(("<stdin>", "softmax"),))
    assert "`softmax` was not judged" in text_findings.render(piped) and "`kernlint -`" in text_findings.render(piped)
    assert text_findings.render(left.without("info")) == text_findings.render(empty)
    for machine in (concise, findings_json, sarif, github, gitlab, junit, rdjson):
        assert machine.render(left) == machine.render(empty)


def test_statistics_count_by_rule(report):
    assert statistics.render(report).splitlines()[0] == "3  KL101  int8-upcast-before-dot"
    assert json.loads(statistics.render(report, "json"))[0]["count"] == 3


def test_no_gain_is_not_advertised(findings):
    flat = {"gpu": {"before_us": 1.0, "after_us": 1.0, "speedup": 1.0, "low": 1.0, "high": 1.0}}
    line = concise.render(LintReport([replace(findings[0], gain=Gain("h100-sxm", flat))], 1, ""))
    assert "[" not in line.splitlines()[0].removeprefix("k.py")


# -- for machines -----------------------------------------------------------------------------------------------------


def test_json_follows_the_schema(report, empty):
    validator = jsonschema.Draft202012Validator(load("check"))
    jsonschema.Draft202012Validator.check_schema(load("check"))
    data = json.loads(findings_json.render(report))
    validator.validate(data)
    assert [item["code"] for item in data] == ["KL101", "KL911", "KL101", "KL101", "KL305"]
    assert data[1]["fix"]["edits"][0]["text"] == ""
    assert json.loads(findings_json.render(empty)) == []
    lines = findings_json.render_lines(report).splitlines()
    assert [json.loads(line) for line in lines] == data
    assert findings_json.render_lines(empty) == ""


def test_sarif_follows_the_official_schema(report, empty):
    validator = jsonschema.Draft4Validator(json.loads(SARIF_SCHEMA.read_text()))
    data = json.loads(sarif.render(report))
    validator.validate(data)
    validator.validate(json.loads(sarif.render(empty)))
    (run,) = data["runs"]
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == ["KL101", "KL305", "KL911"]
    assert all(rule["help"]["markdown"].startswith("# ") for rule in driver["rules"])
    assert driver["rules"][0]["helpUri"] == rule_url("KL101")
    assert [result["level"] for result in run["results"]] == ["warning", "warning", "warning", "error", "note"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert len(result["partialFingerprints"]["kernlint/v1"]) == 16
    locations = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert locations[3]["artifactLocation"]["uri"] == "a%20b/%C3%BC%25%2C%3A.py"
    assert locations[2]["region"]["startLine"] == 1
    assert "cell 3, line 15" in run["results"][2]["message"]["text"]


def test_sarif_fixes_are_edits_of_the_file(report, findings):
    results = json.loads(sarif.render(report))["runs"][0]["results"]
    assert [bool(result.get("fixes")) for result in results] == [False, True, False, False, False]
    (change,) = results[1]["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"] == results[1]["locations"][0]["physicalLocation"]["artifactLocation"]
    (replacement,) = change["replacements"]
    assert replacement == {
        "deletedRegion": {"startLine": 2, "startColumn": 6, "endLine": 2, "endColumn": 33},
        "insertedContent": {"text": ""},
    }
    cell = replace(findings[1], place=replace(findings[1].place, cell=1))
    assert "fixes" not in sarif.render(LintReport([cell], 1, report.root))


def test_paths_are_those_of_the_repository(findings, tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    report = LintReport(findings, 1, str(tmp_path))
    assert report.path_of(findings[0]) == "sub/k.py"
    outside = LintReport(findings, 1, str(tmp_path / "other"))
    assert outside.uri_of(findings[0]).startswith("file:///")
    artifact = json.loads(sarif.render(outside))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert "uriBaseId" not in artifact["artifactLocation"]


def test_a_file_on_another_drive_keeps_its_whole_name(findings, monkeypatch):
    def refuse(path, start):
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr("os.path.relpath", refuse)
    report = LintReport([replace(findings[0], file="/d/k.py")], 1, "/c")
    assert report.path_of(report.findings[0]) == "/d/k.py"
    assert report.uri_of(report.findings[0]) == "file:///d/k.py"
    assert Patterns("/c", ["*.py"]).decides("/d/k.py") is None


def test_a_name_with_two_dots_in_front_is_inside(findings):
    report = LintReport([replace(findings[0], file="/c/..k.py")], 1, "/c")
    assert report.path_of(report.findings[0]) == "..k.py"
    assert Patterns("/c", ["*.py"]).decides("/c/..k.py") is True


def test_github_commands_are_escaped(report):
    lines = github.render(report).splitlines()
    assert len(lines) == 5
    assert lines[0].startswith(
        "::warning title=kernlint KL101 int8-upcast-before-dot,file=k.py,line=15,endLine=15,col=23,endColumn=39::"
    )
    assert lines[3].startswith("::error ")
    assert "file=a b/ü%25%2C%3A.py," in lines[3]
    assert "::50%25, of: a%0Ab" in lines[3]
    assert lines[4].startswith("::notice ")


def test_github_gets_no_columns_of_several_lines(findings):
    far = replace(findings[0], place=Place(1, 2, 3, 4))
    assert ",col" not in github.render(LintReport([far], 1, "/")).lower().split("::")[1]


def test_gitlab_issues_are_complete_and_distinct(report):
    data = json.loads(gitlab.render(report))
    assert {issue["severity"] for issue in data} <= {"info", "minor", "major", "critical", "blocker"}
    assert len({issue["fingerprint"] for issue in data}) == 4  # the first and the last are one finding here
    for issue in data:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= set(issue)
        assert issue["location"]["lines"]["begin"] >= 1
        assert not issue["location"]["path"].startswith(("/", "./"))


def test_junit_is_well_formed(report, empty):
    root = ElementTree.fromstring(junit.render(report))
    assert root.tag == "testsuites"
    assert sum(int(suite.get("failures")) for suite in root) == len(root.findall("testsuite/testcase/failure")) == 4
    (remark,) = root.findall("testsuite/testcase/system-out")
    assert "KL305" not in remark.text and remark.text.startswith("k.py:15:23: ")
    assert root.find(".//failure[@type='error']").text.startswith("a b/ü%,:.py:15:23: 50%, of: a")
    (case,) = ElementTree.fromstring(junit.render(empty)).findall("testsuite/testcase")
    assert case.find("failure") is None


def test_rdjson_has_what_reviewdog_reads(report):
    data = json.loads(rdjson.render(report))
    assert data["source"]["name"] == "kernlint"
    first, unused = data["diagnostics"][:2]
    assert first["location"]["range"]["start"] == {"line": 15, "column": 23}
    assert first["code"] == {"value": "KL101", "url": rule_url("KL101")}
    assert unused["suggestions"][0]["text"] == ""
    assert {diagnostic["severity"] for diagnostic in data["diagnostics"]} == {"ERROR", "WARNING", "INFO"}


def test_rdjson_counts_bytes(report, tmp_path):
    text = "import triton\nx = 'ü𐐀'  # kernlint: ignore[KL101] für\n"
    (tmp_path / "u.py").write_text(text, encoding="utf-8")
    (unused,) = check(text, "u.py")
    (diagnostic,) = json.loads(rdjson.render(replace(report, findings=[unused])))["diagnostics"]
    (suggestion,) = diagnostic["suggestions"]
    line = text.split("\n")[1].encode()
    start, end = (suggestion["range"][name]["column"] - 1 for name in ("start", "end"))
    assert line[:start] + line[end:] == "x = 'ü𐐀'".encode()
    assert line[diagnostic["location"]["range"]["start"]["column"] - 1 :].startswith(b"# kernlint")


def test_remarks_of_one_rule_on_one_kernel_share_a_line_of_text(report):
    quiet = report.findings[4]
    alike = [replace(quiet, place=replace(quiet.place, line=line, end_line=line)) for line in (3, 5, 9)]
    text = text_findings.render(replace(report, findings=alike))
    assert text.count("KL305") == 1 and f"(and 2 more in `{quiet.kernel}`, lines 5, 9)" in text
    alone = text_findings.render(replace(report, findings=alike[:1]))
    assert "^" in alone  # one remark keeps its excerpt


def test_hidden_findings_are_counted(report):
    shown = report.without("info")
    assert len(shown.findings) == 4
    assert shown.summary() == "4 findings in 4 files (1 error, 3 warnings). 1 more is hidden."
