"""Runs a plan on a backend and says what came of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernlint.errors import UsageError
from kernlint.verify.judge import NO_SLICES, REFUSED, WRONG_BEFORE, judge_case, speed, timing, words
from kernlint.verify.lowering import compared
from kernlint.verify.plan import Plan
from kernlint.verify.result import CaseResult, KernelBinary, Timing, Timings, Verification
from kernlint.verify.sandbox import Ended, Limits, run_child
from kernlint.verify.shapes import SizeCase
from kernlint.verify.versions import require, require_numpy

TIMEOUT_S = 180.0
_PROBE = Limits(seconds=90.0, memory_bytes=8 << 30, address_space=False)
#: For a process with a GPU, of the machine's memory; CUDA's own buffers in it are large.
_HOST_SHARE = 0.8
_CPU_BYTES = 8 << 30
#: Seconds of the limit that go to repeated measurements, and to further sizes.
_TIMING_S = 12.0
_BUDGET_SHARE = 0.7

#: So long nothing new is said before the step at hand is.
_SILENCE_S = 5.0
#: A version that takes this many times as long as the other one hangs.
_HANG = 10.0

_CHILD = "kernlint.verify.child"


def prove(
    plan: Plan,
    backend: str = "auto",
    scope: str = "gpu",
    timeout_s: float = TIMEOUT_S,
    memory_mb: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """What running ``plan`` on ``backend`` shows, within ``timeout_s`` and ``memory_mb`` (None: a default). ``progress`` is
    told what is being done.

    Raises ``UsageError``: torch or Triton is missing or too old or new, there is no GPU for the backend ``gpu``, or no numpy
    for the interpreter.
    """
    torch, triton = require()
    tell = progress or (lambda _: None)
    if backend in ("auto", "gpu"):
        tell("looking for a GPU")
    found = machine() if backend in ("auto", "gpu") else {}
    gpu = bool(found.get("gpu"))
    if backend == "gpu" and not gpu:
        raise UsageError("--backend gpu: torch finds no GPU here (interpreter and compile need none)")
    if not gpu and backend != "compile":
        require_numpy(triton)
    run = _Run(plan, scope, Limits(timeout_s, _memory(memory_mb, gpu)), torch, triton, found, tell)
    if gpu:
        return run.measured()
    if backend == "compile":
        return run.compiled()
    result = run.interpreted()
    if backend == "auto" and result.outcome == "not_checkable":
        tell("the interpreter can check nothing")
        return run.compiled(note=f"interpreter: {result.summary}")
    return result


def _memory(megabytes: int | None, gpu: bool) -> int:
    if megabytes is not None:
        return megabytes << 20
    if not gpu:
        return _CPU_BYTES
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _HOST_SHARE)
    except (ValueError, OSError):
        return _CPU_BYTES


def machine() -> Mapping[str, Any]:
    """What the probe reports of this machine. Raises ``UsageError`` where torch or Triton cannot even be imported."""
    ended = run_child({}, {}, _PROBE, f"{_CHILD}.probe:main")
    for event in ended.events:
        if event.get("event") == "machine":
            return event
        if event.get("event") == "failed":
            raise UsageError(f"torch or Triton is installed but does not work: {words(event['error'])}")
    raise UsageError(f"torch or Triton is installed but does not work: {ended.detail}")


def files_of(plan: Plan, others: Mapping[str, str] | None = None) -> dict[str, str]:
    """The sources that a child needs, by file name; ``others`` are further versions to run beside before and after."""
    versions = {"before": plan.before, "after": plan.after, **(others or {})}
    files = {f"{version}/kernel.py": text for version, text in versions.items()}
    return files if plan.reference is None else {**files, "reference/reference.py": plan.reference}


def job_of(plan: Plan, backend: str, others: Iterable[str] = ()) -> dict[str, Any]:
    """What every child of this plan is told."""
    files = {version: f"{version}/kernel.py" for version in ("before", "after", *others)}
    if plan.reference is not None:
        files["reference"] = "reference/reference.py"
    return {
        "backend": backend,
        "files": files,
        "entry": plan.entry,
        "search": list(plan.search),
        "package": plan.package,
        "device": dict(plan.device),
        "tensors": dict(plan.tensors),
        "values": dict(plan.values),
        "formats": plan.precision.granted(backend),
    }


def case_of(plan: Plan, case: SizeCase) -> dict[str, Any]:
    """``case`` in the child's terms."""
    extents = {str(plan.extents[name]): value for name, value in case.sizes.items() if name in plan.extents}
    sizes = {**plan.overrides, **case.sizes}
    again = case.timed or case in plan.odd[:1]
    return {
        "name": case.name, "set": sizes, "extents": extents, "timed": case.timed, "again": again, "apart": case.apart,
    }  # fmt: skip


class _Run:
    """One plan on one machine."""

    def __init__(
        self,
        plan: Plan,
        scope: str,
        limits: Limits,
        torch: str,
        triton: str,
        machine: Mapping[str, Any],
        tell: Callable[[str], None],
    ) -> None:
        self.plan, self.scope, self.limits, self.machine, self.tell = plan, scope, limits, machine, tell
        #: What the child does now, and when something was said.
        self.step, self.begun_at = "starting", time.monotonic()
        self.said_at = self.begun_at
        self.common: dict[str, Any] = {"change": plan.change, "torch": torch, "triton": triton}

    # -- running --

    def interpreted(self) -> Verification:
        """Correctness on the CPU, in Triton's interpreter."""
        cases, ended = self._cases("interpreter", [*self.plan.odd, self.plan.small])
        outcome, summary = _correctness(cases, ended)
        return self._answer("interpreter", outcome, summary, ended, cases=tuple(cases), reference=_reference(ended))

    def measured(self) -> Verification:
        """Correctness and times on the GPU."""
        cases, ended = self._cases("gpu", [self.plan.given, *self.plan.odd])
        outcome, summary = _correctness(cases, ended)
        timings = timings_of(ended.events)
        if outcome == "correct":
            row = timings and (timings.gpu if self.scope == "gpu" else timings.call)
            if row:
                outcome = speed(row)
                summary = f"{_speed_words(outcome, row)}; {summary}"
            else:
                outcome, summary = "inconclusive", f"{summary}; it could not be timed"
        return self._answer(
            "gpu", outcome, summary, ended, cases=tuple(cases), timings=timings, reference=_reference(ended),
            machine=self.machine.get("name"),
        )  # fmt: skip

    def compiled(self, note: str = "") -> Verification:
        """What the compiler makes of both versions, for a device that need not be there."""
        plan = self.plan
        notes = [*([note] if note else []), *(f"not compiled: {why}" for why in plan.uncompiled)]
        job = {**self._job("compile"), "launches": plan.launches, "target": plan.target, "overrides": plan.overrides}
        self._say(f"compiling for {plan.architecture}")
        ended = run_child(job, files_of(self.plan), self.limits, f"{_CHILD}.compiling:main", self._on_event)
        kernels = [_binary(event) for event in ended.events if event.get("event") == "kernel"]
        failed = [event for event in ended.events if event.get("event") == "failed"]
        if failed:
            outcome = "failed" if failed[0]["step"] == "after" and len(failed) == 1 else "not_checkable"
            summary = f"the version {failed[0]['step']} cannot be loaded: {words(failed[0]['error'])}"
        elif not ended.finished:
            outcome, summary = _stopped(ended)
        elif not any(kernel.version == "after" for kernel in kernels):
            outcome, summary = "not_checkable", "no launch of the changed version is known well enough to compile it"
        else:
            outcome, differences = compared(kernels)
            summary = "; ".join(differences[:3]) or "none of the figures below differs between the compiled kernels"
            notes = [*notes, *differences[3:]]
        return self._answer(
            "compile", outcome, summary, ended, kernels=tuple(kernels), target=plan.architecture, notes=notes
        )

    def _answer(
        self, backend: str, outcome: str, summary: str, ended: Ended, notes: Sequence[str] = (), **more: Any
    ) -> Verification:
        said = [*notes, *self.plan.notes]
        if outcome == "failed" and not ended.finished and ended.output.strip():
            said.append("last output: " + " ".join(ended.output.split())[-300:])
        return Verification(
            backend, outcome, summary, predictions=self.plan.predictions, notes=tuple(said), **self.common, **more
        )

    # -- the child's job --

    def _on_event(self, event: Mapping[str, Any]) -> None:
        """Say what the child has begun where that takes long, and how each size ended."""
        kind = event.get("event")
        if kind == "begin":
            what = event["case"] + ": " if "case" in event else ""
            self.begun_at = time.monotonic()
            self.step = f"{what}{_named(event['step'])}{' of ' + event['kernel'] if 'kernel' in event else ''}"
        elif kind == "case":
            result = judge_case(event, self.plan.change.numerics, not self.machine.get("gpu"))
            self._say(f"{result.name}: {result.outcome.replace('_', ' ')}")
        elif kind == "waiting" and time.monotonic() - self.said_at > _SILENCE_S:
            self._say(f"{self.step}, {time.monotonic() - self.begun_at:.0f} s so far")

    def _say(self, what: str) -> None:
        self.said_at = time.monotonic()
        self.tell(what)

    def _job(self, backend: str) -> dict[str, Any]:
        return {
            **job_of(self.plan, backend),
            "timing_s": min(_TIMING_S, self.limits.seconds / 6),
            "budget_s": self.limits.seconds * _BUDGET_SHARE,
        }

    def _cases(self, backend: str, cases: Sequence[SizeCase]) -> tuple[list[CaseResult], Ended]:
        """All cases, judged. A child that dies of a case costs that case; another child goes on with the rest."""
        results: list[CaseResult] = []
        left = list(cases)
        first: Ended | None = None
        limits = replace(self.limits, address_space=backend != "gpu")
        while left:
            job = self._job(backend)
            job["cases"] = [case_of(self.plan, case) for case in left]
            self._say(f"{len(left)} sizes to run on {'a GPU' if backend == 'gpu' else 'the CPU, interpreted'}")
            ended = run_child(job, files_of(self.plan), limits, f"{_CHILD}.run:main", self._on_event)
            first = first or ended
            events = [event for event in ended.events if event.get("event") == "case"]
            results += [judge_case(event, self.plan.change.numerics, backend == "interpreter") for event in events]
            start = next((event for event in ended.events if event.get("event") == "failed"), None)
            if start is not None:
                results.append(CaseResult("start", {}, "not_checkable", message=words(start["error"])))
                break
            left = left[len(events) :]
            if ended.finished and left and events:
                continue  # the device was lost on the last case
            if ended.finished or not left:
                break
            results.append(_dead_case(left.pop(0), ended, slow=backend == "interpreter"))
            if ended.how == "timeout":
                break
        assert first is not None
        return results, first


def _dead_case(case: SizeCase, ended: Ended, slow: bool) -> CaseResult:
    """The case during which the child died; ``slow``: where running out of time may be no fault of the code."""
    begun = [event for event in ended.events if event.get("event") == "begin"]
    step = begun[-1]["step"] if begun else "start"
    if step in ("reference", "inputs", "start"):
        return CaseResult(case.name, case.sizes, "skipped", note=f"{step}: {ended.detail}")
    if step == "before":
        return CaseResult(case.name, case.sizes, "skipped", note=f"the version before: {ended.detail}")
    if slow and ended.how == "timeout" and not _hangs(begun, ended.seconds):
        return CaseResult(case.name, case.sizes, "skipped", note="the interpreter takes too long for these sizes")
    return CaseResult(case.name, case.sizes, "failed", message=f"{_named(step)}: {ended.detail}")


def _hangs(begun: Sequence[Mapping[str, Any]], seconds: float) -> bool:
    """Whether the last step took far longer than the same work took the version before."""
    before = [event["at_s"] for event in begun if event["step"] == "before"]
    if not before or len(begun) < 2:
        return True
    took = begun[-1]["at_s"] - before[-1]
    elapsed = begun[-1]["at_s"] - begun[0]["at_s"]
    return seconds - elapsed > _HANG * max(took, 1.0)


def _named(step: str) -> str:
    return "the changed version" if step == "after" else step


def _correctness(cases: Sequence[CaseResult], ended: Ended) -> tuple[str, str]:
    """One word and one sentence about all cases."""
    cases = [case for case in cases if case.note != NO_SLICES]
    count = {outcome: [c for c in cases if c.outcome == outcome] for outcome in ("correct", "incorrect", "failed")}
    for outcome in ("incorrect", "failed"):
        if count[outcome]:
            worst = count[outcome][0]
            return outcome, f"{worst.name}: {worst.message}"
    if count["correct"]:
        which = f"{len(count['correct'])} of {len(cases)} sizes" if len(cases) > 1 else "the given size"
        refused = sum(c.note.startswith(REFUSED) for c in cases)
        others = len(cases) - len(count["correct"]) - refused
        left = [f"{refused} that the reference does not take"] if refused else []
        left += [f"{others} could not be compared"] if others else []
        rest = f" ({', '.join(left)})" if left else ""
        wrong = any(WRONG_BEFORE in c.note for c in count["correct"])
        if wrong:
            return "correct", f"the change agrees with the reference at {which}{rest}, the version before does not"
        return "correct", f"before and after agree with the reference at {which}{rest}"
    if not ended.finished:
        return _stopped(ended)
    why = next((c.message or c.note for c in cases if c.message or c.note), "no size could be run")
    return "not_checkable", why


def _stopped(ended: Ended) -> tuple[str, str]:
    step = next((e["step"] for e in reversed(ended.events) if e.get("event") == "begin"), "start")
    outcome = "failed" if step == "after" else "not_checkable"
    return outcome, f"{_named(step)}: {ended.detail}"


def _reference(ended: Ended) -> str:
    """What the results were compared with."""
    run = next((e for e in ended.events if e.get("event") == "case" and e.get("status") == "run"), None)
    if run is None:
        return ""
    return {"float64": "the reference in float64", "as written": "the reference", "none": "the version before"}[
        run["reference"]
    ]


def timings_of(events: Iterable[Mapping[str, Any]], version: str = "after") -> Timings | None:
    """The times of the version before and of ``version``; None where none were taken."""
    event = next((e for e in events if e.get("event") == "timing" and "error" not in e), None)
    if event is None or version not in event["versions"]:
        return None
    old, new = event["versions"].index("before"), event["versions"].index(version)
    rows = {kind: timing([(row[old], row[new]) for row in event.get(kind, ())]) for kind in ("warm", "cold", "call")}
    peaks = event["peak_bytes"]
    return Timings(rows["warm"], rows["cold"], rows["call"], event["captured"], peaks[old], peaks[new])


def _speed_words(outcome: str, row: Timing) -> str:
    times = (
        f"{row.before_us:.1f} us before, {row.after_us:.1f} us after, {row.speedup:.2f}x ({row.low:.2f}-{row.high:.2f})"
    )
    if outcome == "slower":
        return f"it takes {1 / row.speedup:.2f} times as long: {times}"
    return times if outcome == "faster" else f"no clear difference: {times}"


def _binary(event: Mapping[str, Any]) -> KernelBinary:
    if "error" in event:
        return KernelBinary(event["version"], event["kernel"], error=words(event["error"]))
    facts = {name: value for name, value in event.items() if name != "event"}
    return KernelBinary(**facts)
