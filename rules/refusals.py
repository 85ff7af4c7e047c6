"""Rules about what the compiler or the launcher refuses: the interpreter records it, a rule says what to think of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kernlint.interpret.project import is_left
from kernlint.rules.base import Rule
from kernlint.rules.faults import FaultRule
from kernlint.rules.finding import Context, Evidence
from kernlint.workload import Fault, Launch


def other_compiler(context: Context) -> str:
    """Why another compiler than that of a release of Triton that is known is meant; empty where nothing says so."""
    target = context.program.question.target
    asked = target.asked if target is not None else ""
    return context.program.other_vendor or (f"the project asks for {asked}" if asked else "")


def severity_here(rule: Rule, context: Context) -> str:
    """The severity of what a release of Triton refuses: that of ``rule``, a remark where another compiler is meant."""
    return "info" if other_compiler(context) else rule.severity


class RefusalRule(FaultRule, abstract=True):
    """A rule about faults by which the program fails.

    A launch in view makes it an error: the program fails there. Of a kernel that nothing in view launches it is a warning, and a
    remark if the project does not even mention it. It is a remark (not said at all for the kinds in ``if_certain``) of code that
    only a compile-time condition of unknown value lets in, and of a kernel that another vendor's fork of Triton or a very old
    release compiles: what these refuse is not known.
    """

    #: The severity where nothing in view launches the kernel.
    if_open: ClassVar[str] = "warning"

    def severity_of(self, fault: Fault, context: Context) -> str:
        """The rule's own severity where the program fails, a lower one where it may."""
        severity = severity_here(self, context)
        if severity == "info" or not fault.certain:
            return "info"
        if not context.workload.bare:
            return severity
        return "info" if self._is_left(context) else self.if_open

    @staticmethod
    def _is_left(context: Context) -> bool:
        """Whether the project never mentions the kernel of a workload without its launch."""
        key = "never mentioned", context.workload.entry
        if key not in context.answers:
            context.answers[key] = is_left(context.program.kernel, context.workload.entry)
        return bool(context.answers[key])

    def evidence_of(self, launch: Launch, fault: Fault, context: Context) -> Iterator[Evidence]:
        """The links of the proof beside the message."""
        if other_compiler(context):
            yield Evidence(f"{other_compiler(context)}, whose compiler may take it")
        if fault.switch:
            yield Evidence(
                f"it is compiled only where `{fault.switch}`, which is False by default, is set; nothing in view sets it"
            )
        elif not fault.certain:
            yield Evidence("it is compiled only under a compile-time condition whose value is not known here")
        if context.workload.bare:
            fails = "; it fails wherever it is launched" if fault.certain else ""
            what = "the project never mentions" if self._is_left(context) else "no launch is followed here of"
            yield Evidence(f"{what} `{launch.kernel.name}`{fails}")
            return
        values = ", ".join(f"{n}={v}" for n, v in launch.constexprs.items() if isinstance(v, (int, float, str)))
        if fault.span.line != launch.span.line:
            text = f"`{launch.kernel.name}` is launched here" + (f" with {values}" if values else "")
            yield Evidence(f"{text}: the launch fails" if fault.certain else text, launch.span)
