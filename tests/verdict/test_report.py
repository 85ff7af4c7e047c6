import json
from dataclasses import replace

import pytest
from support import verdicts as examples
from support.lint import KERNEL

from kernlint import analyze
from kernlint.report import json_
from kernlint.report.text import render_verdict
from kernlint.verdict.candidate import Priced
from kernlint.verdict.words import shortfall


def test_json_is_one_ascii_object():
    text = json_.render(replace(examples.no(), reason="2 × faster"))
    assert text.isascii()
    assert text.endswith("}\n")
    assert json.loads(text)["reason"] == "2 × faster"


def test_json_is_the_same_every_time():
    assert json_.render(examples.yes()) == json_.render(examples.yes())


def test_findings_show_place_source_and_gain():
    text = render_verdict(examples.yes(), {"k.py": ["one", "two", "    tl.dot(a, b)", "four"]})
    assert "k.py:3:5: warning KL101 int8-upcast-before-dot [3.9-5.6x faster on the device]" in text
    assert "  3 |     tl.dot(a, b)\n    |     ^^^^^^^^^^\n" in text
    assert "operand `a` is int8" in text
    assert "worth optimizing: yes, 3.9-5.6x on h100-sxm" in text
    assert "then: use 128 x 128 tiles [3.9-5.6x faster on the device]" in text


def test_no_findings():
    assert "worth optimizing: no\n" in render_verdict(examples.no(), {})


def test_markup_in_messages_is_text():
    finding = replace(examples.FINDING, message="[bold]x[/bold] and [/]")
    verdict = examples.yes()
    verdict = replace(verdict, details=replace(verdict.details, findings=(finding,)))
    assert "[bold]x[/bold] and [/]" in render_verdict(verdict, {})


def test_what_the_change_reaches_is_achievable():
    """Without a reference a kernel of the program's own counts as it is: what was found to be faster is then what to aim at."""
    details = analyze(KERNEL).details
    found = details.headroom
    assert found.achievable_us[1] == pytest.approx(details.estimate.gpu.after_us)
    assert found.witness == ("with KL101 int8-upcast-before-dot",)
    assert sum(cause.us for cause in found.causes) == pytest.approx(found.now_us - found.achievable_us[1])
    assert found.closed == 1.0


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (Priced(100.0, 87.0, 1.15, 1.05, 1.3), "below the 20 % that would pay"),
        (Priced(100.0, 99.0, 1.01, 1.0, 1.02), "below the 10 % that would pay"),
        (Priced(3.0, 2.4, 1.25, 1.1, 1.4), "0.60 us, too little to notice"),
        (Priced(100.0, 80.0, 1.25, 1.1, 1.4), "from 1.10x to 1.40x, not sure enough"),
    ],
)
def test_why_a_gain_does_not_pay(gain: Priced, said: str) -> None:
    """No gain above the bar is called below it."""
    assert said in shortfall(gain)
