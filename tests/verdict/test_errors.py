"""What a verdict says of code that does not compute what it should."""

from textwrap import dedent

from kernlint import analyze
from kernlint.rules.registry import find_rule

BAD = dedent(find_rule("KL794").bad)
GOOD = dedent(find_rule("KL794").good)


def test_verdict_names_the_error_first():
    verdict = analyze(BAD)
    assert "Correct first what is wrong at line" in verdict.reason
    assert "(KL794)" in verdict.reason
    found = verdict.details.findings[0]
    assert (found.rule.code, found.severity, found.estimate) == ("KL794", "error", None)


def test_sound_code_has_no_caveat():
    verdict = analyze(GOOD)
    assert "Correct first" not in verdict.reason
    assert all(not found.rule.code.startswith(("KL7", "KL8")) for found in verdict.details.findings)


def test_warnings_about_soundness_are_findings_and_no_reason():
    verdict = analyze(dedent(find_rule("KL775").bad), assumptions=("x:float32[1024]",))
    assert "Correct first" not in verdict.reason
    found = verdict.details.findings[0]
    assert (found.rule.code, found.severity) == ("KL775", "warning")


def test_what_the_compiler_refuses_is_no_matter_of_speed():
    verdict = analyze(dedent(find_rule("KL705").bad))
    assert verdict.reason.startswith("Correct first what is wrong at line")
    assert "(KL705)" in verdict.reason
