"""Rules that report what the interpreters have put on record of kernels and launches (``faults``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from kernlint.interpret.api import Target
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Doubt, Evidence, Finding
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Fault, Launch, Span, Workload


@dataclass(frozen=True)
class MendedFault(Repair):
    """The program with the fault of ``kind`` at ``place`` mended; ``name`` and ``text`` are those of the fault."""

    kind: str
    place: Span
    name: str
    text: str


class FaultRule(Rule, abstract=True):
    """Reports each fault of some ``kinds``. Not said at all for those in ``if_certain``, a remark for others, of code that only a
    compile-time condition of unknown value lets in."""

    bare = True
    at_any_size = True
    kinds: ClassVar[frozenset[str]]
    #: (kind, how to mend it) for the kinds that a codemod of ``kernlint.rewrite`` mends.
    methods: ClassVar[tuple[tuple[str, str], ...]] = ()
    #: Kinds that depend on values too much to be told where it is not sure that the code is compiled.
    if_certain: ClassVar[frozenset[str]] = frozenset()

    def check(self, context: Context) -> Iterable[Finding]:
        for launch, fault in context.workload.once(faults_in):
            if fault.kind not in self.kinds or (not fault.certain and fault.kind in self.if_certain):
                continue
            kernel = launch.kernel.name
            yield self.finding(
                fault.text,
                fault.span,
                fault.function or kernel,
                tuple(self._launched(launch, fault, context)),
                self.change_of(launch, fault, context),
                kernel=kernel,
                doubts=tuple(self.doubts_of(fault, context)),
            )

    def doubts_of(self, fault: Fault, context: Context) -> Iterator[Doubt]:
        """What speaks against ``fault`` being one."""
        if fault.switch:
            yield Doubt(
                f"it is compiled only where `{fault.switch}`, which is False by default, is set; nothing in view sets it"
            )
        elif fault.since and not (context.program.question.target or Target(named=False)).named:
            yield Doubt(f"releases before {fault.since} take it, and nothing tells which is meant")
        elif not fault.certain:
            yield Doubt("it is compiled only under a compile-time condition whose value is not known here")

    def _launched(self, launch: Launch, fault: Fault, context: Context) -> Iterator[Evidence]:
        """The launch that is meant, where one is in view and the fault stands elsewhere."""
        if context.workload.bare or fault.span.line == launch.span.line:
            return
        values = ", ".join(f"{n}={v}" for n, v in launch.constexprs.items() if isinstance(v, (int, float, str)))
        text = f"`{launch.kernel.name}` is launched here" + (f" with {values}" if values else "")
        yield Evidence(f"{text}: the launch fails" if self.refused and fault.certain else text, launch.span)

    def change_of(self, launch: Launch, fault: Fault, context: Context) -> Change | None:
        """What mends the fault, where the rule knows."""
        method = self.method_of(fault, context)
        if method is None:
            return None
        repair = MendedFault(fault.kind, fault.span, fault.name, fault.text)
        return mending(
            context, repair, fault.text, method, f"At line {fault.span.line}: {method[0].lower()}{method[1:]}"
        )

    def method_of(self, fault: Fault, context: Context) -> str | None:
        """How ``fault`` is mended, where the rule knows."""
        return dict(self.methods).get(fault.kind)


class RefusalRule(FaultRule, abstract=True):
    """Reports faults by which the program fails, as the compiler or the launcher refuses it: a launch in view makes them errors."""

    refused = True
    severity = "error"


def faults_in(workload: Workload) -> list[tuple[Launch, Fault]]:
    """The faults of each launch and its kernel, further autotune configurations included: one of a kind at a place, the
    certain one, and that by which the program ends, where launches differ."""
    found: dict[object, tuple[Launch, Fault]] = {}
    for launch in workload.launches():
        for one in launch.configurations:
            for fault in (*one.faults, *one.kernel.faults):
                key = (fault.kind, fault.span, one.kernel.name)
                if key not in found or _weight(one, fault) > _weight(*found[key]):
                    found[key] = (one, fault)
    return list(found.values())


def _weight(launch: Launch, fault: Fault) -> tuple[bool, bool]:
    return fault.certain, not launch.tried
