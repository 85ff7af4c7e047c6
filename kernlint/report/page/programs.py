"""Everything that a page tells of the programs of one file, as plain data. Runs in a worker process."""

from __future__ import annotations

from collections.abc import Callable

from kernlint.analysis import Analysis, judged, read_program
from kernlint.cost.occupancy import Occupancy, occupancy_of
from kernlint.errors import KernlintError
from kernlint.fix import fix_source
from kernlint.lint.discovery import shown_name
from kernlint.records import dataclass, replace
from kernlint.report.budget import Budget, budget
from kernlint.report.hot_spots import HotSpot, hot_spots
from kernlint.request import Request
from kernlint.rewrite.text import CannotRewrite
from kernlint.syntax.source import SourceText, decode_source, split_lines
from kernlint.verdict.model import Verdict
from kernlint.workload import Launch


@dataclass(frozen=True)
class FileJob:
    """A file to tell of: the name ``shown`` for it, its bytes, the name and text of its reference, and the device where one is named."""

    shown: str
    data: bytes
    reference: tuple[str, str] | None
    device: str | None
    scope: str
    timeout_s: float


@dataclass(frozen=True)
class KernelNumbers:
    """What a profiler would show of a launch, predicted: its :class:`Occupancy`, and the shares of the device's peaks that it reaches,
    None where it has none of it."""

    name: str
    line: int
    gpu_us: float
    bound: str
    occupancy: Occupancy | None
    memory: float | None
    arithmetic: float | None
    unit: str


@dataclass(frozen=True)
class Program:
    """One entry of a file. ``diff`` is the change as a patch with what to know of it in ``diff_note``; without one the note says why."""

    budget: Budget
    verdict: Verdict
    assumptions: tuple[str, ...]
    kernels: tuple[KernelNumbers, ...]
    spots: tuple[HotSpot, ...]
    diff: str = ""
    diff_note: str = ""

    @property
    def gain_us(self) -> float:
        """Microseconds of a call that the change is predicted to save, where it is worth it."""
        found = self.verdict.details.estimate.chosen
        if not self.verdict.worth_optimizing or found.before_us is None or found.after_us is None:
            return 0.0
        return max(0.0, found.before_us - found.after_us)

    @property
    def gap_us(self) -> float:
        """Microseconds of device time between the call and a well-written version of it."""
        found = self.budget.headroom
        return 0.0 if found is None else max(0.0, found.now_us - found.achievable_us[1])

    @property
    def timed(self) -> bool:
        return self.budget.before.gpu_us is not None


@dataclass(frozen=True)
class FileReport:
    """What there is to tell of a file: its lines and programs; ``error`` where not all of it could be told."""

    shown: str
    lines: tuple[str, ...] = ()
    programs: tuple[Program, ...] = ()
    error: str = ""


def report_on(job: FileJob, begun: Callable[[Callable[[], FileReport]], None]) -> FileReport:
    """The :class:`FileReport` of ``job``. ``begun`` is given what tells what was found so far."""
    try:
        source = decode_source(job.data, job.shown)
    except KernlintError as error:
        return FileReport(job.shown, error=str(error))
    lines = tuple(split_lines(source.text))
    programs: list[Program] = []
    begun(lambda: FileReport(job.shown, lines, tuple(programs)))
    try:
        reading = read_program(replace(_request(job, source), project=True))
    except KernlintError as error:
        return FileReport(job.shown, lines, error=str(error))
    errors = []
    found: list[Analysis] = []
    for workload in reading.workloads:
        try:
            found.append(judged(replace(reading, workloads=(workload,))))
            programs.append(_program(found[-1]))
        except KernlintError as error:
            errors.append(f"{workload.entry}: {error}")
    # Changes last: they take longest, and the rest can be told without.
    for index, analysis in enumerate(found):
        programs[index] = _with_diff(programs[index], analysis, job, source)
    return FileReport(job.shown, lines, tuple(programs), "; ".join(errors))


def _request(job: FileJob, source: SourceText) -> Request:
    asked = Request(source.text, job.shown, device=job.device, scope=job.scope)
    if job.reference is None:
        return asked
    return replace(asked, reference=job.reference[1], reference_path=job.reference[0])


def _program(analysis: Analysis) -> Program:
    judgement = analysis.judgement
    told = budget(analysis)
    spots = hot_spots(judgement.before) if judgement.before.gpu_us is not None else ()
    return Program(
        # Of a launcher in another file of the project the path is a whole one.
        replace(told, file=shown_name(told.file)),
        analysis.verdict,
        (*judgement.workload.assumptions, *analysis.verdict.details.estimate.assumptions),
        tuple(_kernels(analysis)),
        tuple(replace(spot, file=shown_name(spot.file)) for spot in spots),
    )


def _kernels(analysis: Analysis) -> list[KernelNumbers]:
    found = []
    told = budget(analysis)
    bandwidth = next(roof.value for roof in told.roofs if roof.kind == "bandwidth")
    peaks = {roof.name.rpartition(", ")[2]: roof.value for roof in told.roofs if roof.kind == "peak"}
    peaks["fma"] = peaks["fp32"]
    for row, step in zip(analysis.judgement.before.steps, told.before.steps):
        launch = row.configuration or row.step
        if not isinstance(launch, Launch):
            continue
        seconds = step.gpu_us * 1e-6
        memory = step.touched_bytes / seconds / bandwidth if step.touched_bytes and seconds > 0 else None
        peak = peaks.get(step.unit)
        arithmetic = step.flops / seconds / peak if step.flops and seconds > 0 and peak else None
        occupancy = occupancy_of(launch, analysis.reading.device)
        found.append(
            KernelNumbers(step.name, step.line, step.gpu_us, step.bound, occupancy, memory, arithmetic, step.unit)
        )
    return found


def _with_diff(program: Program, analysis: Analysis, job: FileJob, source: SourceText) -> Program:
    if not program.verdict.worth_optimizing:
        return program
    workload = analysis.judgement.workload
    asked = replace(_request(job, source), entry=workload.entry)
    try:
        fixed = fix_source(asked, unsafe=True, analysed=analysis)
    except (KernlintError, CannotRewrite) as error:
        return replace(program, diff_note=str(error))
    if not fixed.applied:
        reasons = "; ".join(dict.fromkeys(one.reason.rstrip(".") for one in fixed.refused))
        return replace(program, diff_note=reasons or "no automatic fix")
    notes = [
        f"{one.code} {one.name}: {one.effects.applicability}, numerics {one.effects.numerics}" for one in fixed.applied
    ]
    return replace(program, diff=fixed.diff, diff_note="; ".join(notes))
