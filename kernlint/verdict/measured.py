"""Measured times in place of predicted ones: between the cost model and the verdict.

A measurement of the code as it stands corrects the model, and the correction holds for the changed code too: what a
change keeps takes what was measured, what it alters keeps the predicted ratio. So each kernel has one factor, measured
over predicted time, and every estimate of the task is multiplied by it. A kernel that a change puts in the place of
others has their factor. A latency of the whole call settles the rest: in scope ``gpu`` the steps that no profile names
share one factor, so that the sum is right; in scope ``call`` the wall time has one.

A ratio of two times keeps its error: both get the same factor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kernlint.cost.device import Device, UnknownDevice, find_device
from kernlint.cost.estimate import Estimate
from kernlint.cost.programs.constants import launch_floor_us
from kernlint.cost.result import StepTime
from kernlint.errors import UsageError
from kernlint.perf.model import KernelMeasurement, Performance
from kernlint.records import dataclass
from kernlint.verdict.model import MeasuredKernel, MeasuredReport
from kernlint.workload import Launch, Step, TorchOp

#: Measured and predicted time contradict each other from this ratio on.
CONTRADICTION = 2.0

#: Nsight Compute's own rule (section "GPU Speed Of Light Throughput"): below this percentage of both compute and memory
#: throughput a kernel waits on latency.
_BUSY_PCT = 60.0
#: What ATen's copy kernel is called, in a trace and among the operators of a table: the one copy of a call, if it has but
#: one.
_COPY_KERNELS = ("direct_copy_kernel", "aten::copy_")
#: Kernels of a profile that are reported.
_MOST_KERNELS = 50

_GROUPS = {
    "tensor": "tensor", "memory": "memory", "l2": "memory", "lines": "memory", "atomics": "memory", "issue": "issue",
    "shared": "issue", "alu": "issue", "latency": "latency", "launch": "latency",
}  # fmt: skip
_WAITS_FOR = {
    "tensor": "the tensor cores are what it waits for",
    "memory": "memory bandwidth is what it waits for",
    "l2": "the caches are what it waits for",
    "lines": "the caches are what it waits for",
    "issue": "instruction issue is what it waits for",
    "latency": "it waits on latency, no unit is busy",
    "launch": "it is over before the device is busy",
}
_NAMES = {
    "tensor_pct": "tensor cores", "dram_pct": "memory", "l2_pct": "L2", "l1_pct": "L1", "memory_pct": "caches and memory",
    "sm_pct": "SMs", "occupancy_pct": "occupancy",
}  # fmt: skip


@dataclass(frozen=True)
class Matched:
    """A step of the analysed call that was measured, and the profiler's names for it: mean microseconds of one run,
    predicted and measured (None where only counters were), the model's bound and that of the counters (None where they
    do not tell); ``triton``: a kernel of the code, not of torch."""

    name: str
    kernels: frozenset[str]
    predicted_us: float
    measured_us: float | None
    modelled: str
    counted: str | None
    counters: Mapping[str, float]
    triton: bool = True

    @property
    def factor(self) -> float:
        if self.measured_us is None or self.predicted_us <= 0:
            return 1.0
        return self.measured_us / self.predicted_us


@dataclass(frozen=True)
class Calibration:
    """The factors that turn an estimate of the task, or of a changed version, into what was measured.

    ``steps`` are the matched ones by name, ``rest`` is the factor of all other steps of the original call (``known``
    names them), ``call`` that of the wall time, ``predicted_us`` the model's own time of the call in ``scope``.
    """

    performance: Performance
    scope: str
    device: Device
    steps: Mapping[str, Matched]
    times: Mapping[str, float]
    rest: float = 1.0
    call: float = 1.0
    predicted_us: float | None = None

    @property
    def counts(self) -> bool:
        """Whether a measured time takes the place of a predicted one of the call."""
        return self.performance.call_us is not None or any(s.measured_us is not None for s in self.steps.values())

    def apply(self, estimate: Estimate) -> Estimate:
        """``estimate``, of the call or of a changed version of it, with measured times."""
        if estimate.gpu_us is None or estimate.call_us is None:
            return estimate
        here = {_name(row.step) for row in estimate.steps}
        gone = [name for name in self.times if name not in here]
        stand_in = self._factor_of(gone)
        factors = [self._factor(row, stand_in) for row in estimate.steps]
        changed = scaled(estimate, factors)
        return changed.corrected(changed.gpu_us, (changed.call_us or 0.0) * self.call, changed.steps)

    def reference(self, estimate: Estimate | None) -> Estimate | None:
        """The PyTorch reference's estimate with its measured time, where there is one."""
        measured = self.performance.reference_us
        predicted = estimate.total_us(self.scope) if estimate is not None else None
        if estimate is None or measured is None or not predicted:
            return estimate
        if self.scope == "call":
            return estimate.corrected(estimate.gpu_us, measured, estimate.steps)
        return scaled(estimate, [measured / predicted] * len(estimate.steps))

    def _factor(self, row: StepTime, stand_in: float) -> float:
        name = _name(row.step)
        if name in self.steps:
            return self.steps[name].factor
        if name in self.times:
            return self.rest
        return stand_in if isinstance(row.step, Launch) else 1.0

    def _factor_of(self, names: list[str]) -> float:
        """Measured over predicted time of several steps together; 1 of none."""
        predicted = sum(self.times[name] for name in names)
        measured = sum(self.times[n] * (self.steps[n].factor if n in self.steps else self.rest) for n in names)
        return measured / predicted if predicted > 0 else 1.0

    def bound(self, name: str) -> str | None:
        """What the counters say that the step called ``name`` waits for; None where they do not tell."""
        return self.steps[name].counted if name in self.steps else None

    def evidence(self, name: str) -> str:
        """The counters of the step called ``name`` and what they mean, as a sentence; empty where they do not tell."""
        step = self.steps.get(name)
        if step is None or step.counted is None:
            return ""
        seen = [f"{label} {step.counters[key]:.0f} %" for key, label in _NAMES.items() if key in step.counters]
        if "grid_size" in step.counters:
            seen.append(f"{step.counters['grid_size']:,.0f} programs on {self.device.sm_count} SMs")
        return f"Measured on `{name}`: {', '.join(seen)}: {_WAITS_FOR[step.counted]}."

    def contradictions(self) -> list[str]:
        """Where measurement and model disagree, as sentences, worst first."""
        said: list[tuple[float, str]] = []
        for step in self.steps.values():
            ratio = max(step.factor, 1 / step.factor)
            if ratio >= CONTRADICTION:
                said.append((ratio, _disagree(f"`{step.name}`", step.measured_us or 0.0, step.predicted_us)))
        measured = self.performance.call_us
        if measured is not None and self.predicted_us:
            ratio = max(measured / self.predicted_us, self.predicted_us / measured)
            if ratio >= CONTRADICTION and not (said and len(self.steps) == len(self.times)):
                said.append((ratio, _disagree("the call", measured, self.predicted_us)))
        for step in self.steps.values():
            # Of torch's kernels the model knows the time, not what each waits for.
            if step.triton and step.counted is not None and _GROUPS.get(step.modelled) != _GROUPS[step.counted]:
                words = f"the counters of `{step.name}` say {step.counted} where the model says {step.modelled}"
                said.append((1.0, words))
        if self.performance.kernels and not self.steps:
            names = ", ".join(f"`{kernel.name[:60]}`" for kernel in self.performance.kernels[:3])
            said.append((0.0, f"the performance data names no step of this call (it has {names})"))
        return [words for _, words in sorted(said, key=lambda s: (-s[0], s[1]))]

    def report(self) -> MeasuredReport:
        """What was measured, for the details of the verdict."""
        kernels = []
        for kernel in self.performance.kernels[:_MOST_KERNELS]:
            step = next((s for s in self.steps.values() if kernel.name in s.kernels), None)
            predicted = step.predicted_us if step is not None else None
            name = step.name if step is not None else None
            kernels.append(
                MeasuredKernel(kernel.name, name, kernel.time_us, predicted, kernel.calls, dict(kernel.counters))
            )
        p = self.performance
        return MeasuredReport(p.source, p.device, p.call_us, p.reference_us, tuple(kernels))


def _disagree(what: str, measured_us: float, predicted_us: float) -> str:
    longer = measured_us > predicted_us
    ratio = measured_us / predicted_us if longer else predicted_us / measured_us
    return (
        f"{what} was measured at {measured_us:.1f} us, {ratio:.1f} times {'more' if longer else 'less'} than the model's "
        f"{predicted_us:.1f} us"
    )


def calibrate(before: Estimate, performance: Performance, scope: str) -> Calibration:
    """The :class:`Calibration` that ``performance`` gives for ``before``, the model's estimate of the call as it stands.

    Raises ``UsageError`` where the data is of another device than the estimate.
    """
    device = before.device
    _check_device(performance.device, device)
    times: dict[str, float] = {}
    for row in before.steps:
        times[_name(row.step)] = times.get(_name(row.step), 0.0) + row.total_gpu_us
    steps = {match.name: match for match in _matches(before, performance.kernels)}
    plain = Calibration(performance, scope, device, steps, times, predicted_us=before.total_us(scope))
    if performance.call_us is None or before.gpu_us is None:
        return plain
    if scope == "call":
        wall = plain.apply(before).call_us
        return replace(plain, call=performance.call_us / wall) if wall else plain
    named = sum(times[name] * step.factor for name, step in steps.items())
    others = sum(time for name, time in times.items() if name not in steps)
    left = performance.call_us - named
    # Kernels that take longer than the call overlap, or the two numbers are not of one run: the profile is the finer one.
    return replace(plain, rest=left / others) if others > 0 and left > 0 else plain


def _matches(before: Estimate, kernels: Iterable[KernelMeasurement]) -> Iterable[Matched]:
    copies = {_name(row.step) for row in before.steps if _copies(row.step)}
    for name in dict.fromkeys(_name(row.step) for row in before.steps):
        rows = [row for row in before.steps if _name(row.step) == name]
        found = [kernel for kernel in kernels if names_kernel(kernel.name, name)]
        if not found and copies == {name}:
            found = [kernel for kernel in kernels if any(word in kernel.name for word in _COPY_KERNELS)]
        runs = sum(row.count for row in rows)
        predicted = sum(row.total_gpu_us for row in rows) / runs if runs > 0 else 0.0
        if not found or predicted <= 0 or not isinstance(rows[0].step, (Launch, TorchOp)):
            continue
        timed = [(kernel.time_us, kernel.calls) for kernel in found if kernel.time_us is not None]
        calls = sum(count for _, count in timed)
        measured = sum(us * count for us, count in timed) / calls if calls else None
        counters = found[0].counters
        top = max(rows, key=lambda row: row.total_gpu_us)
        counted = counted_bound(counters, measured)
        names = frozenset(kernel.name for kernel in found)
        triton = isinstance(top.step, Launch)
        yield Matched(name, names, predicted, measured, top.bound, counted, counters, triton)


def _copies(step: Step) -> bool:
    """Whether torch answers ``step`` with its copy kernel, whose name tells nothing else."""
    return isinstance(step, TorchOp) and step.kind in ("copy", "transpose", "cast")


def names_kernel(measured: str, step: str) -> bool:
    """Whether a profiler's ``measured`` name is that of the kernel, or torch call, called ``step``.

    Equal, or so once the profiler's additions are gone: return type, template and call arguments of a demangled C++
    name, ``aten::``, and the specialisation suffix (``_0d1d2de``) and ``.kd`` that compilers append.
    """
    if measured == step:
        return True
    plain = re.split(r"[(<]", measured, maxsplit=1)[0].strip().removeprefix("void ").removeprefix("aten::").strip()
    plain = plain.removesuffix(".kd")
    return plain == step or re.fullmatch(re.escape(step) + r"_\d[0-9a-z]*", plain) is not None


def counted_bound(counters: Mapping[str, float], time_us: float | None) -> str | None:
    """tensor, memory, l2, issue, latency or launch, from a kernel's counters; None where they do not tell.

    A unit at 60 % of its peak or more is what the kernel waits for, the busiest first; where none is, it waits on latency,
    or was over before it began: shorter than three empty kernels.
    """
    tensor, sm = counters.get("tensor_pct"), counters.get("sm_pct")
    caches = max((counters[key] for key in ("l2_pct", "l1_pct") if key in counters), default=None)
    memory = counters.get("dram_pct")
    if memory is None and caches is None and tensor is None:
        memory = counters.get("memory_pct")
    ranked = [
        (value, bound) for value, bound in ((tensor, "tensor"), (memory, "memory"), (caches, "l2")) if value is not None
    ]
    busiest = max(ranked, key=lambda r: r[0], default=None)
    if busiest is not None and busiest[0] >= _BUSY_PCT:
        return busiest[1]
    if counters.get("memory_pct", 0.0) >= _BUSY_PCT:
        return "l2" if memory is not None and memory < _BUSY_PCT else "memory"
    if sm is not None and sm >= _BUSY_PCT:
        return "issue"
    if memory is None or (sm is None and tensor is None):
        return None  # what was not looked at may be the busy one
    return "launch" if time_us is not None and time_us < 3 * launch_floor_us() else "latency"


def scaled(estimate: Estimate, factors: Iterable[float]) -> Estimate:
    """``estimate`` with the device time of each step multiplied.

    The wall time of a call follows: host and device run side by side, so it is the longer of the two and what the host
    spends waiting (the call's time beyond both, which syncs make).
    """
    rows = tuple(
        row if factor == 1.0 else replace(row, gpu_us=row.gpu_us * factor)
        for row, factor in zip(estimate.steps, factors)
    )
    if estimate.gpu_us is None or estimate.call_us is None:
        return estimate.corrected(estimate.gpu_us, estimate.call_us, rows)
    host = sum(row.total_host_us for row in rows)
    gpu_us = sum(row.total_gpu_us for row in rows)
    waiting = max(0.0, estimate.call_us - max(host, estimate.gpu_us))
    return estimate.corrected(gpu_us, max(host, gpu_us) + waiting, rows)


def _name(step: Step) -> str:
    if isinstance(step, Launch):
        return step.kernel.name
    return step.name if isinstance(step, TorchOp) else ""


def _check_device(measured: str, device: Device) -> None:
    if not measured:
        return
    try:
        card = find_device(measured)
    except UnknownDevice:
        return  # a card that no data sheet here describes: its name stands in the details
    if card.id != device.id:
        raise UsageError(f"the performance data is of {measured}; ask about it with --device {card.id}")
