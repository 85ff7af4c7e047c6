"""The example of each rule with its tiles left to a tuner, whose other configuration has tiles of half the size: what is safe to change
was made again under that one too, and is the same change whichever configuration comes first."""

from __future__ import annotations

import re
import textwrap

import pytest

from kernlint.analysis import read_program
from kernlint.cost.estimate import estimate
from kernlint.errors import KernlintError
from kernlint.request import Request
from kernlint.rewrite import edits
from kernlint.rewrite.edits import Attempt
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context
from kernlint.rules.registry import all_rules, find_rule
from kernlint.verdict.search import price
from kernlint.workload import Span


def _tuned(rule: Rule) -> list[str]:
    """The example under the tuner, in either order; none where it has no launch, or no numbers for tiles."""
    source = textwrap.dedent(rule.bad)
    try:
        reading = read_program(Request(source, device=rule.example_device))
    except KernlintError:
        return []
    launches = {one.span: one for w in reading.workloads for one in w.first_call().launches()}
    if len(launches) != 1 or source.count("@triton.jit\n") != 1:
        return []
    (launch,) = launches.values()
    tiles = {n: v for n, v in launch.constexprs.items() if n in launch.literals and type(v) is int and v > 1}
    text = source
    for name, value in tiles.items():
        text = re.sub(rf", *{name}={value}(?=[,)])", "", text)
    if not tiles or launch.autotuned or any(re.search(rf"\b{name}=\d", text) for name in tiles):
        return []
    halves = {name: value // 2 for name, value in tiles.items()}
    orders = ((tiles, halves), (halves, tiles))
    tuners = [", ".join(f"triton.Config({one})" for one in order) for order in orders]
    return [
        re.sub(r"( *)@triton.jit\n", rf"\1@triton.autotune([{one}], key=[])\n\1@triton.jit\n", text) for one in tuners
    ]


def _attempts(source: str, rule: Rule) -> dict[Span, Attempt]:
    reading = read_program(Request(source, device=rule.example_device))
    gpu = reading.device
    contexts = [Context(reading.program, one, gpu, price=lambda w: estimate(w, gpu)) for one in reading.workloads]
    return {one.finding.span: one.attempt for context in contexts for one in price(context, [rule])}


def _is_safe(attempt: Attempt) -> bool:
    return attempt.rewriting is not None and attempt.rewriting.effects.applicability == "safe"


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if not rule.lexical], ids=lambda rule: rule.code)
def test_what_is_safe_under_one_configuration_is_safe_under_both(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned = _tuned(rule)
    again: list[object] = []
    same = edits._same
    monkeypatch.setattr(edits, "_same", lambda *given: again.append(given) or same(*given))
    found = [_attempts(source, rule) for source in tuned]
    made = [attempt for attempts in found for attempt in attempts.values() if _is_safe(attempt)]
    assert len(again) >= len(made)
    for one, other in (found, found[::-1]) if found else ():
        for span, attempt in one.items():
            assert not _is_safe(attempt) or span not in other or _is_safe(other[span]), other[span].reason


@pytest.mark.parametrize("code", ["KL101", "KL305", "KL706", "KL771"])
def test_examples_have_a_safe_fix_to_look_at(code: str) -> None:
    """So that the test above has something to compare: of types, of a layout, of what is wrong in the kernel and at its launch."""
    rule = find_rule(code)
    assert all(any(_is_safe(one) for one in _attempts(source, rule).values()) for source in _tuned(rule)) and _tuned(
        rule
    )
