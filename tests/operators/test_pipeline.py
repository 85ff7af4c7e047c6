"""Pipeline: which while loops become range loops, as text, and which stay."""

from __future__ import annotations

import textwrap

import pytest
from support.findings import HEADER

from kernlint.fix import fix_source
from kernlint.operators.operator import WhyNot
from kernlint.operators.pipeline import PIPELINE
from kernlint.request import Request
from kernlint.rules.registry import find_rule
from tests.rules.test_examples import findings

BAD = textwrap.dedent(find_rule("KL210").bad)
START, TEST, STEP = "    start = 0\n", "while start < K:", "start += BK"
STORE = "    tl.store(c"


def fixed(*edits: tuple[str, str]) -> str:
    source = BAD
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new, 1)
    compile(source, "k.py", "exec")
    made = fix_source(Request(source, path="k.py", device="h100-sxm"), rules=["KL210"])
    return made.after if made.applied else "; ".join(one.reason for one in made.refused)


def test_as_a_person_would_write_it() -> None:
    after = fixed()
    assert "    for start in range(0, K, BK):\n" in after
    assert "while" not in after and "start = 0" not in after and "start += BK" not in after
    assert after.count("\n") == BAD.count("\n") - 2


@pytest.mark.parametrize(
    ("edits", "head"),
    [
        pytest.param([(TEST, "while K > start:")], "range(0, K, BK)", id="the bound first"),
        pytest.param([(START, "    start = BK * 0\n")], "range(BK * 0, K, BK)", id="a start that is computed"),
        pytest.param([(TEST, "while start < tl.cdiv(K, BK) * BK:")], "range(0, tl.cdiv(K, BK) * BK, BK)", id="a bound that is computed"),
        pytest.param([(STEP, "start = start + BK")], "range(0, K, BK)", id="spelt out"),
        pytest.param([(TEST, "while (start < K):")], "range(0, K, BK)", id="in parentheses"),
        pytest.param([(TEST, "while start <= K - 1:")], "range(0, (K - 1) + 1, BK)", id="the last one too"),
        pytest.param([(START, "    start = 0  # along K\n")], "range(0, K, BK)", id="a comment"),
    ],
)  # fmt: skip
def test_other_ways_to_count(edits: list[tuple[str, str]], head: str) -> None:
    assert f"for start in {head}:" in fixed(*edits) or "comment" in fixed(*edits)


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        pytest.param([(STORE, "    tl.store(c + start, 0.0)\n" + STORE)], "read outside", id="read behind the loop"),
        pytest.param([(START, START + "    first = start\n")], "no assignment|assignment of its own", id="read in front"),
        pytest.param([(START, "    start, zero = 0, 0\n")], "assignment of its own", id="two at once"),
        pytest.param([(STEP, STEP + "\n        acc = acc * 1.0")], "does more than", id="moved on in the middle"),
        pytest.param([(STEP, STEP + "; acc = acc * 1.0")], "does more than", id="moved on in one line with more"),
        pytest.param(
            [(START, START + "    end = K\n"), (TEST, "while start < end:"), (STEP, "end = K\n        " + STEP)],
            "does more than", id="a bound that is set in the loop",
        ),
    ],
)  # fmt: skip
def test_refused(edits: list[tuple[str, str]], reason: str) -> None:
    said = fixed(*edits)
    assert any(part in said for part in reason.split("|")), said


def test_why_not() -> None:
    (context, _), *_ = findings(find_rule("KL210"), BAD)
    assert [one.loop.kind for one in PIPELINE.proven(context)] == ["while"]
    for old, new, why in (
        ("num_stages=3", "num_stages=1", "no pipelining"),
        (TEST, "while start < tl.load(c):", "does not count"),
    ):
        assert old in BAD
        context = _context(BAD.replace(old, new))
        answers = [PIPELINE.check(context, site) for site in PIPELINE.sites(context)]
        assert [why in one.reason for one in answers if isinstance(one, WhyNot)] == [True]


def _context(source: str):  # type: ignore[no-untyped-def]
    from support.findings import run_rule

    assert source.startswith(HEADER)
    return run_rule("KL210", source.removeprefix(HEADER)).contexts[0]
