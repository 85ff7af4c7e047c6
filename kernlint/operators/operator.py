"""What every operator is: a transformation that knows where it may be tried and proves, place by place, that it may."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

from kernlint.records import dataclass
from kernlint.rewrite.edits import Attempt, attempt
from kernlint.rewrite.site import NO_REWRITE
from kernlint.rules.finding import Context, Variant
from kernlint.workload import Span

#: What speaks against a choice that a user has not asked for.
UNNAMED = "no device was named (--device), and what is best depends on it"


@dataclass(frozen=True)
class Place:
    """A place where an operator may be tried: ``subject`` says in a few words what it would be applied to, ``function`` is the host
    function it stands in (empty where it is about the whole call), ``kernel`` the kernel that is concerned (empty where none is)."""

    subject: str
    span: Span
    function: str
    kernel: str


@dataclass(frozen=True)
class WhyNot:
    """Why an operator may not be applied: one clause that a user can read and check."""

    reason: str


S = TypeVar("S", bound=Place)
#: The proof of an operator: what it found out on the way, so that nobody has to look for it again.
P = TypeVar("P")


class Operator(ABC, Generic[S, P]):
    """One transformation. ``name`` is its verb; ``causes`` are those of the headroom that it removes, by name; ``no_gain`` says why
    nothing is changed where it is applied to no avail."""

    name: ClassVar[str]
    no_gain: ClassVar[str] = NO_REWRITE
    causes: ClassVar[frozenset[str]]

    @abstractmethod
    def sites(self, context: Context) -> Iterable[S]:
        """The places where the operator may be tried, in the order of the program."""

    @abstractmethod
    def check(self, context: Context, site: S) -> P | WhyNot:
        """The proof that the program means the same after it was applied at ``site``, or why that is not so."""

    @abstractmethod
    def apply(self, context: Context, proofs: Sequence[P]) -> Variant | None:
        """The program with it applied at all places of ``proofs``; None where no what-if says what it is then."""

    def emit(self, context: Context, proofs: Sequence[P]) -> Attempt:
        """The same as edits of the source, or why no edits can be made."""
        workload, variant = context.workload, self.apply(context, proofs)
        if variant is None:
            return Attempt(None, self.no_gain)
        return attempt(context.program, workload.entry, variant, workload.bare)

    def proven(self, context: Context) -> Iterator[P]:
        """The proofs of all places where it may be applied."""
        for site in self.sites(context):
            found = self.check(context, site)
            if not isinstance(found, WhyNot):
                yield found
