"""Rules that report what the interpreter of kernels has put on record (``Kernel.faults``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.workload import Fault, Span


class FaultRule(Rule, abstract=True):
    """A rule that finds the faults of one ``kind``; those that rest on something open are at info level."""

    kind: ClassVar[str]
    bare = True

    def check(self, context: Context) -> Iterable[Finding]:
        """One finding for each place, the certain one where launches differ."""
        found: dict[Span, tuple[Fault, str]] = {}
        for launch in context.launches():
            for fault in launch.kernel.faults:
                if fault.kind == self.kind and (fault.span not in found or fault.certain):
                    found[fault.span] = (fault, launch.kernel.name)
        for fault, kernel in found.values():
            severity = self.severity if fault.certain else "info"
            proof = (Evidence(fault.text, fault.span),)
            yield Finding(self, severity, self.message(fault), fault.span, fault.function or kernel, kernel, proof)

    def message(self, fault: Fault) -> str:
        """What the finding says; the values that prove the fault unless a rule words it otherwise."""
        return fault.text
