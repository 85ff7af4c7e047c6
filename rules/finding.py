"""What a rule sees and what it answers: the context of one workload, and findings with their proof and change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from kernlint import work
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.records import dataclass, replace
from kernlint.workload import Launch, Span, Tensor, Workload

if TYPE_CHECKING:
    # `kernlint rule` reads the documentation of rules, which needs neither LibCST nor the cost model.
    from kernlint.cost.device import Device
    from kernlint.cost.estimate import Estimate
    from kernlint.headroom.causes import Cause
    from kernlint.headroom.headroom import Headroom
    from kernlint.interpret.program import Program
    from kernlint.rules.base import Rule

_T = TypeVar("_T")

#: A change that no single edit of the source expresses: the workload after it, from the workload before it.
Transform = Callable[[Workload], Workload]


@dataclass(frozen=True)
class Variant:
    """A version of the analysed program: ``edits`` made to its source, then ``transforms`` to its workload, in
    order."""

    edits: Edits = NO_EDITS
    transforms: tuple[Transform, ...] = ()

    def then(self, edits: Edits | None = None, transform: Transform | None = None) -> Variant:
        """This with a further change."""
        merged = self.edits | edits if edits is not None else self.edits
        return Variant(merged, (*self.transforms, transform) if transform is not None else self.transforms)


@dataclass(frozen=True)
class Evidence:
    """One link of a proof: what is the case, and where."""

    text: str
    span: Span | None = None


@dataclass(frozen=True)
class Doubt:
    """What speaks against a finding; ``most`` is the level that it may have nevertheless."""

    text: str
    most: str = "info"


def doubted(where: object, text: str) -> tuple[Doubt, ...]:
    """The doubt that ``text`` is, for a finding about which it holds: ``where`` is true."""
    return (Doubt(text),) if where else ()


@dataclass(frozen=True)
class Change:
    """The remedy: ``variant`` is the program with it made, None where no what-if of the interpreter says it.

    ``bottleneck`` says in a sentence or two what holds the code back, ``method`` what to do, ``plan`` the steps.
    ``priced`` is false where what it mends is no time of the
    running program that the cost model knows (a launch that fails, compilation on each call), so that it has no number;
    ``saves_us`` is then what a call is known to spend on it beside the running program, in microseconds, from and to.
    """

    variant: Variant | None
    bottleneck: str
    method: str
    plan: str
    priced: bool = True
    saves_us: tuple[float, float] | None = None


@dataclass(frozen=True)
class Finding:
    """An anti-pattern at a place, with its proof.

    ``severity`` is what it is at worst, ``symbol`` the function to blame (kernel or host), ``kernel`` the kernel concerned (empty for
    host code), ``doubts`` what its rule knows to speak against it; what speaks against any finding, ``kernlint.rules.levels`` asks.
    """

    rule: Rule
    severity: str
    message: str
    span: Span
    symbol: str
    kernel: str = ""
    evidence: tuple[Evidence, ...] = ()
    change: Change | None = None
    #: The cause of the headroom that it is the name of: what it promises is what the headroom says of it, and its remedy is to write
    #: the computation anew.
    cause: Cause | None = None
    doubts: tuple[Doubt, ...] = ()
    #: Whether it holds whatever the sizes that are open, as always for some rules.
    at_any_size: bool = False

    @property
    def key(self) -> tuple[str, str, Span]:
        """What makes two findings the same one."""
        return (self.rule.code, self.kernel, self.span)


@dataclass
class Context:
    """One workload under the eyes of the rules.

    ``after(variant)`` is the workload as it would be under a variant (None when the changed program cannot be
    followed); ``estimate`` prices a workload on ``device``. Both remember their answers, and raise
    :class:`~kernlint.work.OutOfWork` where there has been enough of them. ``autotune`` says that tiles are to be
    left to the autotuner rather than fixed for the sizes at hand, ``device_named`` that the user said which device it is about.
    """

    program: Program
    workload: Workload
    device: Device
    variant: Variant = Variant()
    price: Callable[[Workload], Estimate] = field(kw_only=True)
    #: What the configuration sets: code and name of an option to its value.
    options: Mapping[tuple[str, str], float] = field(default_factory=dict, kw_only=True)
    autotune: bool = field(default=False, kw_only=True)
    device_named: bool = field(default=True, kw_only=True)
    #: The contexts of calls that the project makes of this code, or the file where it is ``alone``; None where nobody looked for any.
    calls: Callable[[], Iterable[Context]] | None = field(default=None, kw_only=True)
    alone: bool = field(default=False, kw_only=True)
    #: What torch's own kernels take for the reference, where that is known.
    library: Estimate | None = field(default=None, kw_only=True)
    #: What rules have found out about versions of the program, by what they asked.
    answers: dict[Any, Any] = field(default_factory=dict, kw_only=True)
    _after: dict[Variant, Workload | None] = field(default_factory=dict)
    _estimates: dict[int, tuple[Workload, Estimate]] = field(default_factory=dict)

    def option(self, rule: Rule, name: str) -> float:
        """The value of an option of ``rule``: what the configuration sets, else its default."""
        default = next(option.default for option in rule.configurable() if option.name == name)
        return self.options.get((rule.code, name), default)

    def ask(self, rule: Rule) -> Iterator[Finding]:
        """What ``rule`` finds, each as loudly as it may be said."""
        from kernlint.rules.levels import levelled

        return (levelled(finding, self) for finding in rule.check(self))

    def after(self, variant: Variant) -> Workload | None:
        if variant not in self._after:
            work.check()
            workload = self.program.workload(self.workload.entry, variant.edits, self.workload.bare)
            for transform in variant.transforms:
                workload = transform(workload) if workload is not None else None
            self._after[variant] = workload
        return self._after[variant]

    def launch_after(self, variant: Variant, span: Span, place: int) -> Launch | None:
        """The launch number ``place`` of those at ``span`` under ``variant``, where that can be told without the rest of the
        program; else None, which says nothing."""
        if variant.transforms or self.workload.bare:
            return None
        if variant not in self._after:
            work.check()
        return self.program.launch(self.workload.entry, span, place, variant.edits)

    def once(self, asked: Any, find_out: Callable[[], _T]) -> _T:
        """``find_out()``, what there is to find out about versions of the program by ``asked``: once."""
        if asked not in self.answers:
            self.answers[asked] = find_out()
        answer: _T = self.answers[asked]
        return answer

    def estimate(self, workload: Workload) -> Estimate:
        # By identity, with the workload kept alive beside its estimate: workloads hold mappings and have no hash.
        if id(workload) not in self._estimates:
            work.check()
            self._estimates[id(workload)] = (workload, self.price(workload))
        return self._estimates[id(workload)][1]

    def gpu_us(self, variant: Variant) -> float | None:
        """Predicted device time of the program under ``variant``; None where sizes are open or it cannot be
        followed."""
        workload = self.after(variant)
        return None if workload is None else self.estimate(workload).gpu_us

    @property
    def headroom(self) -> Headroom | None:
        """What the call could take and what keeps it from that; None where sizes are open."""
        return self.once(("headroom", self.variant), self._headroom)

    def _headroom(self) -> Headroom | None:
        from kernlint.cost.estimate import estimate
        from kernlint.headroom.headroom import headroom_of

        work.check_haste()
        reference, library = self.workload.reference, self.library
        if library is None and reference is not None:
            library = estimate(reference, self.device)
        return headroom_of(self.workload, self.estimate(self.workload), self.device, library)

    def at(self, variant: Variant) -> Context:
        """The same question about a changed program, to look for what is worth doing next."""
        workload = self.after(variant)
        assert workload is not None
        return replace(self, workload=workload, variant=variant)

    # -- questions that many rules ask ------------------------------------------------------------------------------

    def launches(self) -> list[Launch]:
        """Every launch in the workload, an autotuned one as its first configuration; a proof is about all of them
        (`Launch.under_each`)."""
        return self.workload.launches()

    def distinct_launches(self) -> list[Launch]:
        """Those among which no two at one place differ only in the memory that they are given: for rules that ask about a
        launch alone, or about the call with all launches of a place changed."""
        return self.workload.distinct_launches()


def tensor_name(tensor: Tensor | None, fallback: str) -> str:
    """What to call a tensor in a message."""
    return tensor.name if tensor is not None and tensor.name else fallback
