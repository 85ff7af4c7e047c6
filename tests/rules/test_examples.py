"""Every rule's own examples: the bad one is found, with the rule's code; the good one is clean of that rule."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts, target_for
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding
from kernlint.rules.registry import all_rules
from kernlint.syntax.tree import parse_module
from kernlint.workload import Workload


def findings(rule: Rule, source: str) -> list[tuple[Context, Finding]]:
    """What ``rule`` finds in ``source``, each with the call that it finds it in."""
    gpu = find_device(rule.example_device)
    module = parse_module(textwrap.dedent(source), "example.py")
    program = Program(module, None, Question(host=host_facts(gpu), target=target_for(None, gpu)))
    workloads = [*program.workloads(), *(program.bare_kernels() if rule.bare else ())]
    if rule.lexical:
        workloads = [Workload("", module.path, (), bare=True)]
    contexts = [Context(program, rule.concerns(call), gpu, price=lambda w: estimate(w, gpu)) for call in workloads]
    return [(context, finding) for context in contexts for finding in context.ask(rule)]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_bad_example_is_found(rule: Rule) -> None:
    """... and the change that is named can be followed and priced."""
    found = findings(rule, rule.bad)
    assert found, f"{rule.code} does not find its own bad example"
    for context, finding in found:
        assert finding.rule is rule
        assert finding.span.file == "example.py"
        assert finding.message and finding.symbol
        change = finding.change
        if change is None:
            continue
        assert change.bottleneck and change.method and change.plan
        if change.variant is not None:
            after = context.after(change.variant)
            assert after is not None
            # What has no price is no device work, such as compiling on every call.
            assert after != context.workload or not change.priced, "the change changes nothing"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_good_example_is_clean(rule: Rule) -> None:
    assert not findings(rule, rule.good), f"{rule.code} fires on its own good example"
