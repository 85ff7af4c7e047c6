"""Runs one correctness rule on a source text, kernels without a launcher included."""

from __future__ import annotations

import textwrap

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.rules.finding import Context, Finding
from kernlint.rules.registry import find_rule
from kernlint.syntax.tree import parse_module
from kernlint.workload import Workload

HEADER = "import torch\nimport triton\nimport triton.language as tl\n"


def findings(code: str, source: str) -> list[Finding]:
    """What rule ``code`` finds in ``source`` (the imports are added)."""
    gpu, rule = find_device("h100-sxm"), find_rule(code)
    module = parse_module(HEADER + textwrap.dedent(source), "example.py")
    program = Program(module, None, Question(host=host_facts(gpu)))
    workloads = [*program.workloads(), *(program.bare_kernels() if rule.bare else ())]
    if rule.lexical:
        workloads = [Workload("", module.path, (), bare=True)]
    return [
        f
        for w in workloads
        for f in Context(program, rule.concerns(w), gpu, price=lambda w: estimate(w, gpu)).ask(rule)
    ]


def severities(code: str, source: str) -> list[str]:
    return [finding.severity for finding in findings(code, source)]
