"""The verdict's word on whether a change is automatic is true: where it says so the fix works, elsewhere it says why not."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.errors import AnalysisError
from kernlint.fix import Fixed, fix_source
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts, target_for
from kernlint.request import Request
from kernlint.rules.base import NOT_ABOUT_SPEED, Rule
from kernlint.rules.finding import Context
from kernlint.rules.registry import all_rules
from kernlint.syntax.tree import parse_module
from kernlint.verdict.candidate import Candidate
from kernlint.verdict.search import price


def candidates(rule: Rule, source: str) -> list[Candidate]:
    """What ``rule`` finds where ``fix`` asks it: in the source alone, or in each call and the kernels that none launches."""
    gpu = find_device(rule.example_device)
    unsound = rule.bare or rule.lexical or rule.category in NOT_ABOUT_SPEED
    target = target_for(None, gpu) if unsound else None
    program = Program(parse_module(source, "example.py"), None, Question(host=host_facts(gpu), target=target))
    workloads = [workload for workload in program.workloads() if workload.launches()]
    workloads += program.bare_kernels() if rule.bare else []
    return [
        candidate
        for workload in ([program.source_alone] if rule.lexical else workloads)
        for candidate in price(Context(program, workload, gpu, price=lambda w: estimate(w, gpu)), [rule])
    ]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_automatic_means_that_the_fix_works(rule: Rule) -> None:
    source = textwrap.dedent(rule.bad)

    def fix(text: str) -> Fixed:
        request = Request(text, path="example.py", device=rule.example_device)
        return fix_source(request, rules=[rule.code], unsafe=True)

    found = candidates(rule, source)
    try:
        result = fix(source)
    except AnalysisError:
        assert not found  # nothing is launched in it
        return
    automatic = [candidate for candidate in found if candidate.attempt.automatic]
    made, keys = len(result.applied), len({c.finding.key for c in automatic})
    # What widens an index, or makes a buffer right, may mend several findings at once.
    # Kernels written anew are priced once they are there.
    unpaid = sum("kernels written anew would take" in refused.reason for refused in result.refused)
    assert made + unpaid == keys or (rule.category in NOT_ABOUT_SPEED and 0 < made < keys), result.refused
    for candidate in found:
        assert candidate.attempt.automatic or candidate.attempt.reason
    for refused in result.refused:
        assert refused.reason
    if len(automatic) == len(found) and found and not unpaid:
        assert not candidates(rule, result.after)
        # And once more changes nothing.
        assert fix(result.after).after == result.after
    if not automatic:
        assert result.after == source


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_nothing_is_fixed_where_nothing_is_found(rule: Rule) -> None:
    source = textwrap.dedent(rule.good)
    try:
        result = fix_source(Request(source, path="example.py"), rules=[rule.code], unsafe=True)
    except AnalysisError:
        return
    assert result.after == source and not result.applied and not result.refused
