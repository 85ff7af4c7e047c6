"""From a search to one answer: what a call takes, the change that comes first, and all that a verdict says beside it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from kernlint.cost.comparing import Comparison
from kernlint.cost.device import Device
from kernlint.cost.estimate import Estimate, Estimator, estimate
from kernlint.headroom.causes import OTHER
from kernlint.headroom.headroom import Headroom
from kernlint.interpret.program import Program
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context
from kernlint.verdict.candidate import Candidate, Priced
from kernlint.verdict.measured import Calibration
from kernlint.verdict.model import Scenario
from kernlint.verdict.proposals import promises, with_written, written_version
from kernlint.verdict.search import MOST_WORK, Allowance, Search, search, unpriced
from kernlint.workload import Access, Tensor, TorchOp, Workload
from kernlint.workload.kernel import BEHIND_ADDRESSES


@dataclass(frozen=True)
class Judgement:
    """All that a verdict needs: the changes that were weighed (``search``), the one that is ``chosen``, and the time of the call
    before it. ``measured`` is where times are measured ones, None where all are predicted. ``faults`` are findings by which the
    call does not compute what it should, errors before warnings: no question of speed, but worth nothing until they are mended.
    ``short`` are the codes of rules that did not look at everything, and ``OTHER`` where no other kernels were tried.

    Where types or sizes are open, this is the judgement on the first of ``scenarios``, and ``base`` the one without anything
    assumed; ``certainty`` says what the answer rests on, ``undecided`` what would make it certain."""

    search: Search
    before: Estimate
    reference: Estimate | None
    chosen: Candidate | None
    measured: Calibration | None = None
    faults: tuple[Candidate, ...] = ()
    short: tuple[str, ...] = ()
    certainty: str = "proven"
    scenarios: tuple[Scenario, ...] = ()
    base: Judgement | None = None
    undecided: tuple[str, ...] = ()
    #: Constants of kernels that nothing tells though times are up to them, each with its kernel.
    arbitrary: tuple[tuple[str, str], ...] = ()
    #: Grids that data decide, of which one program was counted.
    least: tuple[str, ...] = ()
    #: Whether it is about the program as it was given, which ``fix`` would change, with nothing assumed.
    given: bool = True

    @property
    def proven(self) -> Judgement:
        """The judgement that rests on nothing assumed."""
        return self if self.base is None else self.base

    @property
    def context(self) -> Context:
        return self.search.context

    @property
    def workload(self) -> Workload:
        return self.context.workload

    @cached_property
    def headroom(self) -> Headroom | None:
        """What is achievable as far as is known: by a well-written version, which knows no rule, or by the change that is advised."""
        found, chosen = self.context.headroom, self.chosen
        gain = chosen.gains.get("gpu") if chosen is not None and self.worth else None
        if found is None or chosen is None or gain is None:
            return found
        found = found.reached(gain.after_us, f"{chosen.finding.rule.code} {chosen.finding.rule.name}".strip())
        if self.written is None:
            return found
        us = gain.before_us / Comparison(self.predicted, self.written).speedup("gpu")[0]
        return found.reached(us, "kernels written anew")

    @cached_property
    def predicted(self) -> Estimate:
        """The times of the call by the model, whatever was measured."""
        return estimate(self.workload, self.before.device) if self.measured is not None else self.before

    @cached_property
    def written(self) -> Estimate | None:
        """The times of the kernels that ``fix`` would write for the chosen change, by the model; None where it writes none, or nobody asks
        it to: the change is not worth it, or rests on what is assumed."""
        chosen = self.chosen
        if chosen is None or not self.worth or not self.given or (not chosen.anew and chosen.attempt.automatic):
            return None
        from kernlint.verdict.written import written  # which takes all that writes kernels

        return written(chosen, Estimator(self.before.device).estimate)

    @property
    def after(self) -> Estimate | None:
        """The times with the chosen change made: by its what-if, or by the kernels that ``fix`` writes where those are faster."""
        made = self.chosen.after if self.chosen is not None else None
        known = [one for one in (made, self.written) if one is not None]
        return min(known, key=lambda one: one.gpu_us or 0.0, default=None)

    @cached_property
    def promises(self) -> Mapping[str, Priced]:
        """What is promised of the chosen change, by scope; of one that is not worth it, what it gains."""
        chosen, found = self.chosen, self.headroom
        if chosen is None or found is None or not self.worth:
            return chosen.gains if chosen is not None else {}
        made = promises(chosen, found, self.predicted.gpu_us or found.now_us)
        return with_written(made, found, Comparison(self.predicted, self.written)) if self.written is not None else made

    @property
    def errors(self) -> tuple[Candidate, ...]:
        """The ``faults`` that are errors."""
        return tuple(one for one in self.faults if one.finding.severity == "error")

    def gain(self, candidate: Candidate) -> Mapping[str, Priced]:
        """What ``candidate`` gains, by scope: where it is the chosen one, what is promised of it."""
        return self.promises if candidate is self.chosen else candidate.gains

    @property
    def scope(self) -> str:
        return self.search.scope

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """What the rules found, in source order."""
        return self.search.findings

    @property
    def worth(self) -> bool:
        return self.chosen is not None and self.chosen.worth(self.scope) is True

    @property
    def behind_addresses(self) -> tuple[str, ...]:
        """The kernels that work on memory of which only the addresses are loaded, so that no time predicted of them means much."""
        names = (launch.kernel.name for launch in self.workload.launches() if BEHIND_ADDRESSES in launch.kernel.notes)
        return tuple(dict.fromkeys(names)) if self.measured is None else ()

    @property
    def unfollowed(self) -> tuple[tuple[str, str], ...]:
        """The parameters of kernels that point into what was not followed, so that its type is not known, each behind its kernel."""
        if self.measured is not None:
            return ()
        given = {tensor.storage.id for tensor in self.workload.inputs}
        found = {
            (launch.kernel.name, access.base): None
            for launch in self.workload.first_call().distinct_launches()
            for access in launch.kernel.nodes(Access)
            if access.base and not _is_followed(launch.arguments.get(access.base), given)
        }
        return tuple(found)

    @property
    def saving_us(self) -> float:
        gain = self.chosen.gains.get(self.scope) if self.chosen is not None else None
        return gain.saving_us if gain is not None else 0.0


def _is_followed(value: object, given: Container[int]) -> bool:
    """Whether something is known of ``value``, what a launch points into, or facts about arguments, those of ``given``, tell it."""
    return isinstance(value, Tensor) and (value.dtype is not None or value.storage.id in given)


def _torch_time(reference: Workload, device: Device) -> Estimate:
    """What torch's own kernels take for ``reference``. A size that is not known counts as one there, which is little off where
    something is moved beside tensors that are known; of a product, whose work grows with each of its sizes, nothing can be said, nor
    of results of unknown size."""
    found = estimate(reference, device)
    products = (step for step in reference.all_steps if isinstance(step, TorchOp) and step.kind in _PRODUCTS)
    known = all(step.flops is not None for step in products) and all(one.shape is not None for one in reference.outputs)
    return found if known else replace(found, gpu_us=None)


_PRODUCTS = frozenset({"matmul", "conv", "attention"})


def judge(
    program: Program,
    workload: Workload,
    device: Device,
    scope: str,
    rules: Sequence[Rule],
    measured: Calibration | None = None,
    autotune: bool = False,
    device_named: bool = True,
    allowance: Allowance | None = None,
) -> Judgement:
    """The best single change to ``workload`` on ``device`` in ``scope``; priced by the cost model, corrected by what was
    ``measured``. With ``autotune``, tiles are left to the autotuner; ``device_named`` says that the user chose the device."""
    reference = _torch_time(workload.reference, device) if workload.reference is not None else None
    if measured is not None:
        reference = measured.reference(reference)
    context = Context(
        program,
        workload,
        device,
        price=_pricing(device, measured),
        autotune=autotune,
        device_named=device_named,
        library=reference,
    )
    allowance = allowance or Allowance(MOST_WORK)
    found = search(context, rules, scope, allowance)
    best = found.best
    if best is None or best.worth(scope) is False:
        written = allowance.ask(OTHER, partial(written_version, context))
        best = written if written is not None and written.worth(scope) else best
    return Judgement(found, context.estimate(workload), reference, best, measured, short=tuple(allowance.short))


def with_faults(judgement: Judgement, program: Program, device: Device, rules: Iterable[Rule]) -> Judgement:
    """``judgement`` with what ``rules``, those that are not about speed, find wrong with it."""
    context = Context(program, judgement.proven.workload.first_call(), device, price=_pricing(device, None))
    found = [unpriced(context, finding) for rule in rules for finding in context.ask(rule)]
    told = [one for one in found if one.finding.severity != "info"]
    told.sort(key=lambda one: (one.finding.severity != "error", one.finding.span))
    return replace(judgement, faults=tuple(told))


def _pricing(device: Device, measured: Calibration | None) -> Callable[[Workload], Estimate]:
    priced = Estimator(device).estimate
    if measured is None:
        return priced
    return lambda workload: measured.apply(priced(workload))
