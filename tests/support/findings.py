"""Runs one rule on a source text, as the analysis would."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.rules.finding import Context, Finding
from kernlint.rules.registry import find_rule
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import read_task
from kernlint.workload import Workload

HEADER = """
import torch
import triton
import triton.language as tl
"""


@dataclass(frozen=True)
class Found:
    """The findings of a rule with the contexts that they were found in."""

    findings: tuple[Finding, ...]
    contexts: tuple[Context, ...]

    def __bool__(self) -> bool:
        return bool(self.findings)

    def only(self) -> Finding:
        """The one finding; fails where there are more or none."""
        (finding,) = self.findings
        return finding

    def after(self, finding: Finding | None = None) -> Workload:
        """The workload with the change of ``finding`` (the only one) made."""
        change = (finding or self.only()).change
        assert change is not None
        workload = self.contexts[0].after(change.variant)
        assert workload is not None
        return workload

    def promised(self) -> float:
        """The speedup of device time that the cause of the only finding promises."""
        cause, headroom = self.only().cause, self.contexts[0].headroom
        assert cause is not None and headroom is not None
        return headroom.without(cause)[0]


def run_rule(code: str, source: str, device: str = "h100-sxm", **sizes: int) -> Found:
    """Every finding of rule ``code`` in ``source`` (the imports are added); ``sizes`` replace module constants."""
    gpu = find_device(device)
    task = read_task(SourceText(HEADER + textwrap.dedent(source), "example.py"))
    program = Program(task.kernel, task.reference, Question(overrides=sizes, host=host_facts(gpu)))
    rule = find_rule(code)
    findings: list[Finding] = []
    contexts: list[Context] = []
    for workload in [*program.workloads(), *(program.bare_kernels() if rule.bare else ())]:
        context = Context(program, rule.concerns(workload), gpu, price=lambda w: estimate(w, gpu))
        contexts.append(context)
        findings += context.ask(rule)
    return Found(tuple(findings), tuple(contexts))
