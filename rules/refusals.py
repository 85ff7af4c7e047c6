"""Rules about what the compiler or the launcher refuses: the interpreter records it, a rule says what to think of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.workload import Fault, Launch


class RefusalRule(Rule, abstract=True):
    """Reports each fault of some ``kinds``.

    A launch in view makes it an error: the program fails there. Of a kernel that nothing in view launches, or of code that
    only a compile-time condition of unknown value lets in, it is a warning (not said at all for the kinds in ``if_certain``).
    """

    bare = True
    kinds: ClassVar[frozenset[str]]
    #: Kinds that depend on values too much to be told where it is not sure that the code is compiled.
    if_certain: ClassVar[frozenset[str]] = frozenset()
    #: The severity where it is not sure that the program fails.
    if_open: ClassVar[str] = "warning"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch, fault in refusals(context):
            if fault.kind not in self.kinds or (not fault.certain and fault.kind in self.if_certain):
                continue
            yield Finding(
                self,
                self.severity_of(fault, context),
                fault.text,
                fault.span,
                fault.function,
                launch.kernel.name,
                tuple(self.evidence_of(launch, fault, context)),
            )

    def severity_of(self, fault: Fault, context: Context) -> str:
        """The rule's own severity where the program fails, a lower one where it may."""
        sure = fault.certain and not context.workload.bare
        return self.severity if sure or self.severity == "info" else self.if_open

    def evidence_of(self, launch: Launch, fault: Fault, context: Context) -> Iterator[Evidence]:
        """The links of the proof beside the message."""
        if context.workload.bare:
            yield Evidence(f"nothing in this file launches `{launch.kernel.name}`; it fails wherever it is launched")
            return
        values = ", ".join(f"{n}={v}" for n, v in launch.constexprs.items() if isinstance(v, (int, float, str)))
        if fault.span.line != launch.span.line:
            text = f"`{launch.kernel.name}` is launched here" + (f" with {values}" if values else "")
            yield Evidence(text, launch.span)
        if not fault.certain:
            yield Evidence("it is compiled only under a compile-time condition whose value is not known here")


def refusals(context: Context) -> Iterator[tuple[Launch, Fault]]:
    """What is refused of each launch and its kernel, each once, further autotune configurations included."""
    seen = set()
    for launch in context.launches():
        for one in (launch, *launch.alternatives):
            for fault in (*one.faults, *one.kernel.faults):
                key = (fault.kind, fault.span, one.kernel.name, fault.certain)
                if key not in seen:
                    seen.add(key)
                    yield one, fault
