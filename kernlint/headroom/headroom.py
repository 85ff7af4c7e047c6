"""How much faster a call could be, and what keeps it from that: the answer that needs no pattern."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from kernlint import work
from kernlint.cost.device import Device
from kernlint.cost.estimate import Estimate
from kernlint.cost.fitted import fitted
from kernlint.cost.programs.constants import INTERVAL_80
from kernlint.headroom import kernels
from kernlint.headroom.bound import Bound, bound_of
from kernlint.headroom.causes import Cause, causes_of, waterfall
from kernlint.headroom.graph import PRODUCT, graph_of
from kernlint.headroom.groups import Group, groups_of
from kernlint.headroom.promise import promised
from kernlint.headroom.streams import moved_us
from kernlint.headroom.witness import Witness, side_by_side, witness_of
from kernlint.records import dataclass, replace
from kernlint.workload import Launch, TorchOp, Workload


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return fitted("headroom")


@dataclass(frozen=True)
class Headroom:
    """What a call takes and could take, in microseconds of device time.

    ``achievable_us`` is the time of ``witnesses``, well-written launches for the same computation with the same numerics,
    ``sigma`` the standard deviation of its ln error. ``changed_us`` is the same where fp32 products may be made in tf32, None
    where that is no different. ``library_us`` is the time of torch's own kernels for the reference. ``causes`` are what makes up
    the gap, the largest first; their ``us`` add up to it.
    """

    now_us: float
    bound: Bound
    achievable_us: float
    sigma: float
    witnesses: tuple[Witness, ...]
    library_us: float | None
    changed_us: float | None
    causes: tuple[Cause, ...]
    #: What the call takes if all that it picks through indices happens to lie together.
    local_us: float
    #: What was found that takes less than the witnesses; empty where nothing does.
    change: str = ""

    @property
    def low_us(self) -> float:
        """The lower end of the 80 % interval of the achievable time."""
        return max(self.bound.us, self.achievable_us / math.exp(INTERVAL_80 * self.sigma))

    @property
    def high_us(self) -> float:
        return self.achievable_us * math.exp(INTERVAL_80 * self.sigma)

    def reached(self, us: float, change: str) -> Headroom:
        """The same where ``change`` is predicted to make the call take ``us``: what is achievable takes no longer than what was found."""
        us = max(us, min(self.bound.us, self.now_us))
        if us >= self.achievable_us:
            return self
        loose = self.changed_us if self.changed_us is not None and self.changed_us < 0.95 * us else None
        causes = tuple(waterfall(self.causes, self.now_us - us))
        return replace(self, achievable_us=us, changed_us=loose, causes=causes, change=change)

    def without(self, cause: Cause) -> tuple[float, float, float]:
        """(middle, low, high) of the speedup of device time that a good version without ``cause`` is promised to have."""
        middle, low, high = self._promised(self.alone(cause), self.whole(cause))
        return middle, low * min(1.0, self.local_us / self.now_us), high

    def beside(self, alone: float, sigma: float, predicted_us: float, precise: bool) -> tuple[float, float, float]:
        """The same of a good version with a change of the speedup ``alone``, whose ln errs by ``sigma``. ``predicted_us`` is what the call
        takes by the model, as the achievable time is its too. The version is ``precise`` where it makes no products of fp32 in tf32."""
        goal = self.achievable_us if precise or self.changed_us is None else min(self.achievable_us, self.changed_us)
        return self._promised(alone, max(alone, predicted_us / max(goal, self.bound.us)), sigma)

    def written(self, gain: float) -> tuple[float, float, float]:
        """The same of kernels at hand that are predicted to gain so much: they may be as far below it as what a cause promises, but are
        no better than they are priced."""
        return gain, self._promised(gain, gain)[1], self._promised(gain, gain, 0.0)[2]

    def _promised(self, alone: float, whole: float, sigma: float | None = None) -> tuple[float, float, float]:
        middle, low, high = promised(alone, whole, sigma)
        # The time now errs too, and with it how far the bound is.
        most = self.now_us / self.bound.us * math.exp(INTERVAL_80 * float(_data()["form_sigma"]))
        return middle, low, max(middle, min(high, most))

    def _goal(self, cause: Cause) -> float:
        """The achievable time, with tf32 where the remedy of ``cause`` brings it."""
        loose = self.changed_us is not None and cause.name in ("no tensor cores", kernels.UNIT)
        goal = self.changed_us if loose and self.changed_us is not None else self.achievable_us
        return min(goal, self.now_us - cause.alone_us) if cause.reachable else goal

    def alone(self, cause: Cause) -> float:
        """The speedup of device time from removing ``cause`` and nothing else."""
        return self.now_us / max(self.now_us - cause.alone_us, self._goal(cause), self.bound.us)

    def whole(self, cause: Cause) -> float:
        """The speedup of device time from closing the whole gap, in the way that removes ``cause``."""
        return self.now_us / max(self._goal(cause), self.bound.us)

    @property
    def ratio(self) -> float:
        return self.now_us / self.achievable_us if self.achievable_us > 0 else 1.0


def headroom_of(workload: Workload, now: Estimate, device: Device, library: Estimate | None) -> Headroom | None:
    """The :class:`Headroom` of ``workload``, which takes ``now``; None where its sizes are open, nothing runs, or tiles are of no or
    of more elements than there are numbers for."""
    if not now.gpu_us:
        return None
    try:
        with work.uncounted():
            return _headroom(workload, now, now.gpu_us, device, library)
    except (ZeroDivisionError, OverflowError):
        return None


def _headroom(workload: Workload, now: Estimate, now_us: float, device: Device, library: Estimate | None) -> Headroom:
    precise = _is_precise(workload)
    own = _well_written(workload, device, precise)
    best, wanted = own, own
    reference = workload.reference
    if reference is not None and library is not None and library.gpu_us is not None and not reference.unknowns:
        asked = _well_written(reference, device, precise)
        wanted = asked
        if asked and _total(asked) < _total(own):
            best = asked
    # What has open sizes counts for next to nothing: the program shows what there is to read and write.
    least = moved_us(workload.once(graph_of), device) if wanted is not own and _is_open(reference) else 0.0
    total = min(max(_total(best), least), now_us) if best else now_us
    computed = reference if best is not own and reference is not None else workload
    bound = bound_of(computed.once(graph_of), device)
    total = max(total, min(bound.us, now_us))
    changed = None
    if precise:
        followed = (workload,) if wanted is own or reference is None else (workload, reference)
        loose = min(_total(_well_written(one, device, precise=False)) for one in followed)
        changed = loose if least < loose < 0.95 * total else None
    sigma = math.hypot(_data()["form_sigma"], _sigma(best))
    causes = causes_of(workload, now, device, wanted, total)
    library_us = library.gpu_us if library is not None else None
    return Headroom(
        now_us, bound, total, sigma, tuple(best), library_us, changed, tuple(causes), _localised(now, device)
    )


def _is_open(reference: Workload | None) -> bool:
    """Whether steps of ``reference`` are on tensors of sizes that are not known."""
    steps = reference.all_steps if reference is not None else ()
    return any(isinstance(one, TorchOp) and any(t.numel is None for t in (*one.reads, *one.writes)) for one in steps)


def _localised(now: Estimate, device: Device) -> float:
    total = 0.0
    for row in now.steps:
        launch = row.configuration or row.step
        share = kernels.local_share(launch, device) if isinstance(launch, Launch) else 1.0
        total += row.total_gpu_us * share
    return total


def _well_written(workload: Workload, device: Device, precise: bool) -> list[Witness]:
    """A well-written launch, or a few, for each fusion group of ``workload``, with products of fp32 in full precision where they are
    to be ``precise``; of groups that take the same time found once, for all versions of a program that have one reference too."""
    graph, known, found = workload.once(graph_of), workload.once(_witnesses), []
    for group in workload.once(_groups):
        # The device is kept beside the answer, so that nothing else comes to have its identity.
        key = id(device), group.signature, precise and group.form == PRODUCT
        if key not in known:
            known[key] = device, witness_of(graph, group, device, precise)
        found.append(replace(known[key][1], group=group))
    return side_by_side(found, device)


def _witnesses(workload: Workload) -> dict[object, tuple[Device, Witness]]:
    return {}


def _groups(workload: Workload) -> list[Group]:
    return groups_of(workload.once(graph_of))


def _total(witnesses: Sequence[Witness]) -> float:
    return sum(witness.us for witness in witnesses)


def _sigma(witnesses: Sequence[Witness]) -> float:
    total = _total(witnesses)
    return sum(witness.us * witness.sigma for witness in witnesses) / total if total else 0.0


def _is_precise(workload: Workload) -> bool:
    """Whether fp32 products are asked for at full precision: a kernel says ``ieee``, or there is no ``tl.dot`` that says
    otherwise. Torch's own default is full precision too."""
    dots = [dot for launch in workload.launches() for dot in launch.kernel.dots() if dot.a.dtype.bits == 32]
    return all(dot.precision == "ieee" for dot in dots)


def described(witness: Witness) -> str:
    """What a well-written version looks like, in words: its programs and what each holds."""
    parts = []
    for step in witness.steps:
        if isinstance(step, TorchOp):
            parts.append(f"torch's `{step.name}`")
        else:
            parts.append(_programs(step))
    return f"{witness.form}: " + ", then ".join(dict.fromkeys(parts))


def _programs(launch: Launch) -> str:
    loads = launch.kernel.loads()
    held = sum(load.bytes for load in loads)
    count = launch.programs or 1
    size = f"{held / 1024:.0f} KB" if held >= 1024 else f"{held} bytes"
    return f"{count:,} program{'s' if count != 1 else ''} with {size} of loads in flight each"
