"""The time budget of one call: every step with its bytes, operations, bound, time and share, as plain data.

Built from an :class:`~kernlint.analysis.Analysis`; the texts, the JSON and the roofline plot all read this. Device times
are those of scope ``gpu`` (a replayed CUDA graph with warm L2), host times those of an eager call.

Bytes have two meanings and both are given. ``touched_bytes`` are the distinct bytes of a step, which must cross the
memory bus once unless L2 still holds them: the denominator of the arithmetic intensity (Williams, Waterman, Patterson,
"Roofline", CACM 52(4), 2009). ``moved_bytes`` is what the programs ask of L2, in whole 32-byte sectors: what is read
again by another program, or fetched and not used, counts each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kernlint.cost.estimate import MODEL_VERSION, Estimate
from kernlint.cost.result import StepTime
from kernlint.records import dataclass
from kernlint.report.operations import operations
from kernlint.report.roofs import Roof, roofs
from kernlint.verdict.published import Published, published
from kernlint.verdict.speedup import round_us
from kernlint.verdict.why_not import Answer, why_not
from kernlint.version import __version__
from kernlint.workload import HostSync, Launch, Repeat, Step, TorchOp, concrete

if TYPE_CHECKING:
    from kernlint.analysis import Analysis
    from kernlint.verdict.candidate import Candidate
    from kernlint.verdict.judge import Judgement
    from kernlint.verdict.model import HeadroomReport, Scenario

#: Raised when a key of the JSON changes its meaning or goes; new keys do not count.
SCHEMA_VERSION = 2


@dataclass(frozen=True)
class StepBudget(Published):
    """One step of a call, all its runs together.

    ``kind`` is launch, torch, sync, event or loop; ``depth`` counts the Python loops around it and ``count`` its runs in
    one call (iterations, of a loop). ``flops`` counts a multiply-add as two, on operands of any type, ``unit`` names the
    unit that does most of them (``int8``, ``float16``, ``fma`` ...; empty where there are none). ``gpu_us`` and
    ``host_us`` are microseconds of a call, ``share`` their part of the total of the scope in question. ``terms`` are the
    named microseconds of one run behind the prediction. Bytes and operations are None where a size is not known.
    """

    name: str
    kind: str
    depth: int
    file: str
    line: int
    count: float
    touched_bytes: float | None
    moved_bytes: float | None
    flops: float | None
    unit: str
    bound: str
    gpu_us: float
    host_us: float
    share: float
    terms: Mapping[str, float] = field(default_factory=dict)

    @property
    def intensity(self) -> float | None:
        """Operations per distinct byte; None where either is zero or unknown."""
        return self.flops / self.touched_bytes if self.flops and self.touched_bytes else None

    @property
    def achieved(self) -> float | None:
        """Operations per second of device time; None without operations or time."""
        return self.flops / self.gpu_us * 1e6 if self.flops and self.gpu_us > 0 else None

    def to_json(self) -> dict[str, Any]:
        sizes = {name: _whole(getattr(self, name)) for name in ("touched_bytes", "moved_bytes", "flops")}
        terms = {name: round_us(us) for name, us in self.terms.items()}
        return {
            **super().to_json(),
            "count": round(self.count, 2),
            **sizes,
            "share": round(self.share, 4),
            "terms": terms,
        }


@dataclass(frozen=True)
class CallBudget:
    """One version of the call: its steps in order and its totals, None with the ``missing`` sizes while some are open.

    ``clock`` is what the shares are of: ``device``, or ``host`` in scope ``call`` where the host decides.
    """

    steps: tuple[StepBudget, ...]
    gpu_us: float | None
    call_us: float | None
    missing: tuple[str, ...] = ()
    clock: str = "device"

    def time_us(self, step: StepBudget) -> float:
        """Microseconds of ``step`` on the clock that decides."""
        return step.host_us if self.clock == "host" else step.gpu_us

    def total_us(self, scope: str) -> float | None:
        return self.gpu_us if scope == "gpu" else self.call_us

    @property
    def dominant(self) -> StepBudget | None:
        """The step that takes most of the scope's time; the first of equals."""
        return max(self.steps, key=lambda s: s.share, default=None)

    def to_json(self) -> dict[str, Any]:
        return published(self, ("gpu_us", "call_us", "clock", "missing", "steps"))


@dataclass(frozen=True)
class Gain(Published):
    """The predicted speedup of the change in one scope, with its 80 % interval."""

    speedup: float
    low: float
    high: float
    worth: bool | None


@dataclass(frozen=True)
class ChangeMade(Published):
    """The change that ``Budget.after`` has in it: its rule, what to do, and whether the verdict is to do it."""

    code: str | None
    name: str
    method: str
    worth: bool

    @property
    def title(self) -> str:
        """What to call it: the code and name of its rule, or the cause that no rule knows."""
        return f"{self.code} {self.name}" if self.code else self.name


@dataclass(frozen=True)
class Budget:
    """The time budget of one call of ``entry`` in ``file`` on ``device``.

    ``scope`` is the one that shares refer to; ``after`` the call with the best ``change`` made (None where none was
    found), ``reference`` the PyTorch reference's own library calls (None without one), ``gains`` the speedup by scope
    (empty while sizes are open), ``reason`` the verdict's sentence, ``measured`` where measured times come from,
    ``headroom`` what the call could take and why it does not. Where types or sizes are open, this is the budget of the first of the
    ``scenarios``; ``certainty`` is as in the verdict.
    """

    file: str
    entry: str
    device: str
    scope: str
    sizes: Mapping[str, int]
    before: CallBudget
    after: CallBudget | None
    reference: CallBudget | None
    change: ChangeMade | None
    gains: Mapping[str, Gain]
    roofs: tuple[Roof, ...]
    reason: str
    measured: str | None = None
    headroom: HeadroomReport | None = None
    certainty: str = "proven"
    scenarios: tuple[Scenario, ...] = ()
    #: What every operator answers for the largest causes, where that was asked.
    why_not: tuple[Answer, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data as ``schema/explain.schema.json`` describes it."""
        versions = {"schema_version": SCHEMA_VERSION, "kernlint_version": __version__, "model_version": MODEL_VERSION}
        names = (
            "file entry device scope sizes reason certainty scenarios measured change headroom gains before after reference "
            "roofs why_not"
        )
        return {**versions, **published(self, names.split())}


def budget(analysis: Analysis, refusals: bool = False) -> Budget:
    """The :class:`Budget` of what was analysed, with the chosen change, or else the best rejected one, made; with what every
    operator says of the largest causes, ``refusals`` above all, where that is asked."""
    judgement = analysis.judgement
    scope = judgement.scope
    chosen = judgement.chosen
    before = call_budget(judgement.before, scope)
    after = call_budget(judgement.after, scope) if judgement.after is not None else None
    reference = call_budget(judgement.reference, scope) if judgement.reference is not None else None
    units = {step.unit for call in (before, after) if call is not None for step in call.steps if step.unit}
    return Budget(
        file=judgement.workload.file,
        entry=judgement.workload.entry,
        device=judgement.before.device.id,
        scope=scope,
        sizes=dict(sorted(judgement.workload.sizes.items())),
        before=before,
        after=after,
        reference=reference,
        change=_change(chosen, analysis.verdict.worth_optimizing),
        gains=_gains(judgement),
        roofs=roofs(judgement.before.device, units),
        reason=analysis.verdict.reason,
        measured=judgement.measured.performance.source if judgement.measured is not None else None,
        headroom=analysis.verdict.details.headroom,
        certainty=judgement.certainty,
        scenarios=judgement.scenarios,
        why_not=why_not(judgement) if refusals else None,
    )


def _change(chosen: Candidate | None, worth: bool) -> ChangeMade | None:
    if chosen is None or chosen.finding.change is None:
        return None
    rule = chosen.finding.rule
    return ChangeMade(rule.code or None, rule.name, chosen.finding.change.method, worth)


def _gains(judgement: Judgement) -> dict[str, Gain]:
    chosen = judgement.chosen
    if chosen is None:
        return {}
    return {scope: Gain(g.middle, g.low, g.high, chosen.worth(scope)) for scope, g in judgement.promises.items()}


def call_budget(estimate: Estimate, scope: str) -> CallBudget:
    """The steps of ``estimate`` with their shares of ``scope``'s time.

    In scope ``gpu`` a share is of the device's time. In scope ``call`` it is of the clock that decides, the host's or
    the device's, so that the shares of a call add up to one.
    """
    device = sum(row.total_gpu_us for row in estimate.steps)
    host = sum(row.total_host_us for row in estimate.steps)
    by_host = scope == "call" and host > device
    total = host if by_host else device
    depths = _depths(estimate.steps)
    steps = []
    for row, depth in zip(estimate.steps, depths):
        time = row.total_host_us if by_host else row.total_gpu_us
        steps.append(_step(row, depth, time / total if total > 0 else 0.0))
    clock = "host" if by_host else "device"
    return CallBudget(tuple(steps), estimate.gpu_us, estimate.call_us, estimate.missing, clock)


def _step(row: StepTime, depth: int, share: float) -> StepBudget:
    step, work = row.step, operations(row.step)
    return StepBudget(
        name=step_name(step),
        kind=_kind(step),
        depth=depth,
        file=step.span.file,
        line=step.span.line,
        count=row.count,
        touched_bytes=_times(work.touched_bytes, row.count),
        moved_bytes=_times(work.moved_bytes, row.count),
        flops=_times(work.flops, row.count),
        unit=work.unit,
        bound=row.bound,
        gpu_us=row.total_gpu_us,
        host_us=row.total_host_us,
        share=share,
        terms=dict(row.terms),
    )


def _depths(rows: tuple[StepTime, ...]) -> list[int]:
    """How many Python loops stand around each row: a loop's row comes before the rows of its body."""
    depths: list[int] = []
    ends: list[int] = []  # of each loop around: the index behind its last row
    for index, row in enumerate(rows):
        while ends and ends[-1] <= index:
            ends.pop()
        depths.append(len(ends))
        if isinstance(row.step, Repeat):
            ends.append(index + 1 + _rows_inside(row.step))
    return depths


def _rows_inside(loop: Repeat) -> int:
    return sum(1 + (_rows_inside(step) if isinstance(step, Repeat) else 0) for step in loop.body)


def step_name(step: Step) -> str:
    """What a person calls ``step``: the kernel's name, the torch call's, or what is waited for."""
    if isinstance(step, Launch):
        return step.kernel.name
    if isinstance(step, TorchOp):
        if step.kind == "cast" and step.writes:
            return f"cast to {step.writes[0].dtype}"
        return f"{step.name} (transposing copy)" if step.kind == "transpose" else step.name
    if isinstance(step, HostSync):
        return step.what
    turns = concrete(step.count)
    return "loop" if turns is None else f"loop of {turns}"


def _kind(step: Step) -> str:
    if isinstance(step, Launch):
        return "launch"
    if isinstance(step, TorchOp):
        return "torch"
    if isinstance(step, HostSync):
        return "sync"
    return "loop"


def _times(value: float | None, count: float) -> float | None:
    return None if value is None else value * count


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
