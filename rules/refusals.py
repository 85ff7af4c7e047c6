"""Rules about what the compiler or the launcher refuses: the interpreter records it, a rule says what to think of it."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.rules.faults import FaultRule
from kernlint.rules.finding import Context, Doubt, Evidence
from kernlint.workload import Fault, Launch


class RefusalRule(FaultRule, abstract=True):
    """A rule about faults by which the program fails: a launch in view makes them errors. Not said at all for the kinds in
    ``if_certain``, a remark for others, of code that only a compile-time condition of unknown value lets in."""

    refused = True

    def doubts_of(self, fault: Fault, context: Context) -> Iterator[Doubt]:
        if fault.switch:
            yield Doubt(
                f"it is compiled only where `{fault.switch}`, which is False by default, is set; nothing in view sets it"
            )
        elif not fault.certain:
            yield Doubt("it is compiled only under a compile-time condition whose value is not known here")

    def evidence_of(self, launch: Launch, fault: Fault, context: Context) -> Iterator[Evidence]:
        """The launch that fails, where one is in view."""
        if context.workload.bare or fault.span.line == launch.span.line:
            return
        values = ", ".join(f"{n}={v}" for n, v in launch.constexprs.items() if isinstance(v, (int, float, str)))
        text = f"`{launch.kernel.name}` is launched here" + (f" with {values}" if values else "")
        yield Evidence(f"{text}: the launch fails" if fault.certain else text, launch.span)
