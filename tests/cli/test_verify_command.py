"""What `verify` answers: its status, its words and its progress; what runs is replaced."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kernlint.cli import main, worker
from kernlint.report import verification_text
from kernlint.schema import load
from kernlint.verify import prove as proving
from kernlint.verify.result import OUTCOMES, CaseResult, ChangeReport, Timing, Verification

PAIR = Path(__file__).parents[2] / "fixtures" / "pairs" / "gemm-fp32-ieee-tf32"
ARGUMENTS = ["verify", str(PAIR / "before.py"), "--reference", str(PAIR / "reference.py")]
STATUS = {
    "faster": 0,
    "inconclusive": 0,
    "correct": 0,
    "slower": 1,
    "incorrect": 1,
    "failed": 1,
    "lowered": 1,
    "unchanged": 1,
    "worse": 1,
    "not_checkable": 1,
}


#: What there is to prove, by what is asked: the same for every outcome.
PLANS: dict[str, object] = {}
run_on_task = worker.run_on_task


def answer(monkeypatch: pytest.MonkeyPatch, outcome: str, summary: str = "in words") -> None:
    """Let the proof end so."""

    def planned(*asked, **wanted):
        key = repr((asked[1:], wanted))
        if key not in PLANS:
            PLANS[key] = run_on_task(*asked, **wanted)
        return PLANS[key]

    monkeypatch.setattr(worker, "run_on_task", planned)
    monkeypatch.setattr("kernlint.verify.versions.require", lambda: ("2.0", "3.9"))
    change = ChangeReport(None, ("KL102",), "changed")
    case = CaseResult("odd", {"M": 3}, "not_checkable", 1e-4, 2e-4, 3e-4, 1.0005, "why")
    found = Verification("interpreter", outcome, summary, change, "2.0", "3.9", cases=(case,))

    def prove(plan, backend, scope, timeout, memory, tell):
        tell("running")
        return found

    monkeypatch.setattr(proving, "prove", prove)


def test_every_outcome_has_a_status():
    assert STATUS.keys() == OUTCOMES.keys()
    assert load("verdict")["$defs"]["verification"]["properties"]["outcome"]["enum"] == list(OUTCOMES)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_status_and_token(monkeypatch, capsys, outcome):
    answer(monkeypatch, outcome)
    assert main([*ARGUMENTS, "--unsafe-fixes", "--json"]) == STATUS[outcome]
    out, err = capsys.readouterr()
    verdict = json.loads(out)
    jsonschema.validate(verdict, load("verdict"))
    found = verdict["details"]["verification"]
    assert found["outcome"] == outcome and found["proven"] is (STATUS[outcome] == 0)
    assert found["cases"][0]["factor"] == 1.0005
    assert err.splitlines() == ["verify: reading the kernel and its change", "verify: running"]


def test_text_names_the_outcome_first(monkeypatch, capsys):
    answer(monkeypatch, "not_checkable")
    assert main([*ARGUMENTS, "--unsafe-fixes"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("not checkable: in words\n")
    assert "factor 1.0005" in out


def test_a_format_can_be_declared(monkeypatch, capsys):
    seen = []
    answer(monkeypatch, "correct")
    inner = proving.prove
    monkeypatch.setattr(proving, "prove", lambda plan, *rest: (seen.append(plan), inner(plan, *rest))[1])
    fixed = str(PAIR / "after.py")
    assert main([*ARGUMENTS, "--fixed", fixed, "--numerics", "bfloat16"]) == 0
    assert main([*ARGUMENTS, "--fixed", fixed, "--numerics", "int4"]) == 2
    assert (seen[0].change.numerics, seen[0].change.format) == ("changed", "bfloat16")
    assert seen[0].precision.granted("gpu")["after"]["operands"] == "bfloat16"


@pytest.mark.parametrize(
    ("outcome", "start"),
    [
        ("slower", "it takes 1.25 times as long: 10.0 us before, 12.5 us after, 0.80x"),
        ("faster", "12.5 us before, 10.0 us after, 1.25x"),
        ("inconclusive", "no clear difference: "),
    ],
)
def test_speed_comes_before_correctness(outcome, start):
    row = Timing(10.0, 12.5, 0.8, 0.79, 0.81, 9) if outcome == "slower" else Timing(12.5, 10.0, 1.25, 1.2, 1.3, 9)
    assert proving._speed_words(outcome, row).startswith(start)
    change = ChangeReport("mine.py", (), "changed")
    text = verification_text.render(Verification("gpu", outcome, start, change, "2", "3"))
    assert text.startswith(f"{outcome}: {start}")
