"""Verb: what it does to a program, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass
from kernlint.rules.finding import Context, Variant
from kernlint.workload import Launch, Span, Workload


@dataclass(frozen=True)
class Launched(Place):
    """A place where it may be tried, with what it would be applied to."""

    launch: Launch


@dataclass(frozen=True)
class Proof:
    """What was found out: all that ``apply`` and the words of a rule need."""

    launch: Launch


@dataclass(frozen=True)
class Made:
    """The workload with it made at ``launches``; hashable, so that its price is remembered."""

    launches: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        return workload  # dataclasses.replace(workload, steps=map_steps(workload.steps, change))


class _Verb(Operator[Launched, Proof]):
    name: ClassVar[str] = "verb"
    causes: ClassVar[frozenset[str]] = frozenset({"tile"})

    def sites(self, context: Context) -> Iterator[Launched]:
        for launch in context.distinct_launches():
            yield Launched(f"`{launch.kernel.name}`", launch.span, launch.function, launch.kernel.name, launch)

    def check(self, context: Context, site: Launched) -> Proof | WhyNot:
        if not site.launch.kernel.complete:
            return WhyNot(f"`{site.launch.kernel.name}` is not followed to its end")
        return Proof(site.launch)

    def apply(self, context: Context, proofs: Sequence[Proof]) -> Variant:
        return context.variant.then(transform=Made(frozenset(proof.launch.span for proof in proofs)))


VERB = _Verb()
