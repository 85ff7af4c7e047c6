"""One change that is weighed: a finding of a rule, or a cause of the headroom, with what it is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain

from kernlint.cost.comparing import Comparison
from kernlint.cost.device import Device
from kernlint.cost.estimate import SCOPES, Estimate
from kernlint.cost.programs.constants import INTERVAL_80
from kernlint.headroom.causes import OTHER
from kernlint.headroom.promise import promised
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.program import Program
from kernlint.operators.operator import UNNAMED
from kernlint.records import dataclass, replace
from kernlint.rewrite.edits import Attempt, attempt
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.other_elements import other_elements
from kernlint.rewrite.reflection import binds_by_text
from kernlint.rewrite.site import NO_REWRITE
from kernlint.rules.base import NOT_ABOUT_SPEED
from kernlint.rules.finding import Context, Finding
from kernlint.rules.proofs.shared_memory import overflowing
from kernlint.workload import Workload

#: Worth it from here on ...
WORTH = 1.20
#: ... never below this, and between the two only when the change can be made automatically.
NOT_WORTH = 1.10
#: A change that no rule knows must gain so much at the lower end of its interval, and save so much of a call.
LEAST_LOW = 1.0
#: The same for a change that only deals the same work out in another way, or of which nobody knows what it saves, as its residuals on
#: development sets demand.
LEAST_LOW_TILING = 1.25
LEAST_SAVING_US = 1.0
LEAST_SHARE = 0.01


@dataclass(frozen=True)
class Priced:
    """Times of one change in one scope, microseconds, and the speedup with its 80 % interval."""

    before_us: float
    after_us: float
    middle: float
    low: float
    high: float

    @property
    def saving_us(self) -> float:
        return self.before_us - self.after_us

    @property
    def sigma(self) -> float:
        """Standard deviation of the ln of the speedup."""
        return math.log(self.high / self.low) / (2 * INTERVAL_80)

    def pays(self, least: float) -> bool:
        """Whether it is worth it where its lower end must be ``least``, and more than anybody would not notice."""
        return self.middle >= WORTH and self.low >= least and self.noticed

    @property
    def written(self) -> Priced:
        """The same of kernels that are at hand: how far such fall behind their price was measured, and is less than what the prices of two
        programs err by."""
        return replace(self, low=max(self.low, promised(self.middle, self.middle)[1]))

    @property
    def noticed(self) -> bool:
        """Whether the saving is more than the spread of a clock."""
        return self.saving_us > max(LEAST_SAVING_US, LEAST_SHARE * self.before_us)


class Gains(Mapping[str, Priced]):
    """What a change gains in each scope where its times are known: worked out when asked for, as most candidates are looked at in one
    scope alone."""

    def __init__(self, compared: Comparison) -> None:
        self._compared = compared
        self._known: dict[str, Priced] = {}

    def __getitem__(self, scope: str) -> Priced:
        if scope not in self._known:
            before, after = self._compared.before.total_us(scope), self._compared.after.total_us(scope)
            if before is None or after is None:
                raise KeyError(scope)
            self._known[scope] = Priced(before, after, *self._compared.speedup(scope))
        return self._known[scope]

    def __iter__(self) -> Iterator[str]:
        return (scope for scope in SCOPES if scope in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)


@dataclass(frozen=True)
class Candidate:
    """A finding with what its change is worth: by scope, empty where sizes are open or there is no change. ``after`` is
    the estimate with the change made, where there is a change that can be followed; ``program``, ``entry`` and ``bare`` are
    what it was found in, ``device`` the one that the user named, None where nobody did."""

    finding: Finding
    gains: Mapping[str, Priced]
    after: Estimate | None = None
    program: Program | None = None
    entry: str = ""
    bare: bool = False
    device: Device | None = None
    #: What it rests on that is no proof; such a finding is a remark, and its change is not made.
    assumed: tuple[str, ...] = ()
    #: Whether there was no work left to price it.
    unfinished: bool = False
    #: The speedup of device time from this alone, where a cause proposes it.
    alone: float = 1.0
    #: The question that a cause answers, for operators that may remove it.
    context: Context | None = None

    @property
    def anew(self) -> bool:
        """Whether kernels written anew are the remedy: for a cause, or for what a rule sees that no local change expresses."""
        return self.finding.cause is not None or self.finding.rule.operator == "generate"

    @cached_property
    def attempt(self) -> Attempt:
        """The change made to the source, where a rewrite can make it; computed when first asked for."""
        variant = self.finding.change.variant if self.finding.change is not None else None
        if self.program is None:
            return Attempt(None, NO_REWRITE)
        if self.anew:
            from kernlint.operators.generate import first_way  # which a check that tries no fixes does without

            return first_way(self.program, self.entry)
        made = attempt(self.program, self.entry, variant, self.bare)
        doubts = self._doubts() if self.finding.rule.tuning else ()
        if self.finding.rule.category not in NOT_ABOUT_SPEED and binds_by_text(self.program.kernel):
            doubts += ("the module binds names by their texts, perhaps those it launches",)
        if made.rewriting is None or not doubts:
            return made
        return Attempt(made.rewriting | Rewriting((), Effects("unsafe", notes=doubts)), made.reason)

    def ways(self) -> Iterator[Attempt]:
        """What to try: the change made to the source where edits express it, then each way to write kernels anew; those have no tile to
        choose, and what is wrong or has no time of its own is no reason for them."""
        if not self.anew:
            yield self.attempt
        rule, change = self.finding.rule, self.finding.change
        structural = rule.category not in NOT_ABOUT_SPEED and not rule.tuning and change is not None and change.priced
        if self.program is not None and (self.anew or structural):
            from kernlint.operators.generate import ways_to_write

            yield from ways_to_write(self.program, self.entry)

    def local_ways(self) -> Iterator[Attempt]:
        """What operators make of the kernel that has the cause, in place of other kernels."""
        if self.finding.cause is not None and self.context is not None:
            from kernlint.operators.catalogue import local_ways

            yield from local_ways(self.context, self.finding.cause)

    @property
    def fix(self) -> Attempt:
        """The first of the ways in which the change can be made automatically; why not in the first, where it cannot in any."""
        return next((way for way in chain(self.ways(), self.local_ways()) if way.automatic), self.attempt)

    def _doubts(self) -> tuple[str, ...]:
        """Why a choice that depends on the device is not to be made for a user who has not asked for it."""
        variant = self.finding.change.variant if self.finding.change is not None else None
        tuned = {getattr(transform, "tuned", "") for transform in (variant.transforms if variant is not None else ())}
        if "beside" in tuned:
            return ()
        doubts = [] if self.device is not None else [UNNAMED]
        if "instead" in tuned:
            return tuple(doubts)
        moved = [gain for gain in self.gains.values() if abs(gain.saving_us) > 1e-6]
        least = min((gain.low for gain in moved), default=None)
        if least is None:
            doubts.append("what it gains is not known at open sizes")
        elif least <= 1.0:
            doubts.append(f"it may be slower as well, {least:.2f}x at the lower end of the prediction")
        return (*doubts, *self._too_large(variant.edits if variant is not None else NO_EDITS))

    def _too_large(self, edits: Edits) -> Iterator[str]:
        """Elements that the program takes beside its own whose tiles fit the device as it is, but not after ``edits``."""
        if self.program is None or self.device is None or not edits:
            return
        for other in other_elements(self.program, self.entry, self.bare):
            after = other.program.workload(self.entry, edits, self.bare)
            if after is not None and _overflows(after, self.device) and not _overflows(other.workload, self.device):
                yield f"with {other.names} elements, which it takes as well, tiles would not fit shared memory"
                return

    def worth(self, scope: str) -> bool | None:
        """Whether to make the change; None when it cannot be told."""
        gain = self.gains.get(scope)
        if gain is None:
            return None
        if not self.sure(scope):
            return False
        if self.finding.cause is not None:
            doubtful = self.finding.cause.tunes or self.is_other
            return gain.pays(LEAST_LOW_TILING if doubtful else LEAST_LOW)
        return gain.middle >= WORTH or (gain.middle >= NOT_WORTH and self.attempt.automatic)

    @property
    def is_other(self) -> bool:
        """Whether nothing says what it is that other kernels do better."""
        return self.finding.cause is not None and self.finding.cause.name == OTHER

    def sure(self, scope: str) -> bool:
        """Whether the change cannot do harm: work that is saved does not come back, but another tile for the same work may
        be slower as well, so that its interval must hold no loss."""
        return not self.finding.rule.tuning or self.gains[scope].low >= 1.0


def _overflows(workload: Workload, device: Device) -> bool:
    """Whether the tiles of a launch whose configuration no tuner may leave out are too large for ``device``."""
    kept = (one for one in workload.launches() if one.tuning is None or one.tuning.configurations in (None, 1))
    return any(overflowing(launch, device) for launch in kept)
