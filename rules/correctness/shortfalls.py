"""Rules about indices that stop short of the bound of their mask."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.bounds import Shortfall, shortfalls
from kernlint.rules.proofs.liveness import is_unread
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Span


@dataclass(frozen=True)
class CoveringGrid(Repair):
    """The program whose ``launch`` has as many programs as its mask has tiles."""

    launch: Span


class ShortfallRule(Rule, abstract=True):
    """Reports indices that stop short, once a launch: those that are ``is_ours``."""

    #: Whether a shortfall is an error whatever the sizes are, not only at sizes in view.
    any_size: ClassVar[bool] = False

    def check(self, context: Context) -> Iterable[Finding]:
        seen, module = set(), context.program.kernel
        for short in shortfalls(context.workload):
            launch = short.launch
            if not self.is_ours(short) or (launch.kernel.name, launch.span) in seen:
                continue
            seen.add((launch.kernel.name, launch.span))
            when = "" if short.always else ", under some configurations of its autotuner"
            proven = short.always and (self.any_size or not short.sizes)
            reached = f"its largest value is {short.reached - 1}{short.where}"
            yield self.finding(
                self.message(short) + when,
                launch.span,
                launch.function,
                (
                    Evidence(f"the mask bounds the index by {short.bound}; {reached}", short.site.access.span),
                    Evidence(
                        f"the grid is ({', '.join(map(str, launch.grid))}), the tile {short.site.access.shape}",
                        launch.span,
                    ),
                ),
                mending(
                    context,
                    CoveringGrid(launch.span),
                    self.message(short),
                    "Count the tiles that the kernel steps by, rounded up: `triton.cdiv(size, BLOCK)`.",
                    f"Compute the grid at line {launch.span.line} from the size that the mask bounds and the kernel's own tile.",
                )
                if short.from_programs
                else None,
                doubts=doubted(is_unread(launch, context.workload, module), "nothing reads what the launch writes"),
                at_any_size=proven,
                kernel=launch.kernel.name,
                severity=self.severity if proven else "warning",
            )

    @abstractmethod
    def is_ours(self, short: Shortfall) -> bool:
        """Whether the rule is about this kind of shortfall."""

    @abstractmethod
    def message(self, short: Shortfall) -> str:
        """What the finding says."""
