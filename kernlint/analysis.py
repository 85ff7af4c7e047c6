"""The main job as one function: from source text to a verdict."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import kernlint.syntax  # noqa: F401 - which imports LibCST its own way
from kernlint import verdict_cache
from kernlint.cost.device import Device, find_device
from kernlint.cost.estimate import MODEL_VERSION, SCOPES, estimate
from kernlint.cost.open_sizes import open_symbols
from kernlint.cost.traffic.accesses import assumed_trips
from kernlint.errors import AnalysisError, UsageError
from kernlint.interpret.assume import parse_facts
from kernlint.interpret.call_forms import call_form
from kernlint.interpret.callers import CallSite, of_entry, sites_in
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.interpret.project import launchers
from kernlint.interpret.question import Question, host_facts, target_for
from kernlint.perf.model import Performance
from kernlint.records import dataclass, replace
from kernlint.request import DEFAULT_DEVICE, Request
from kernlint.rules.base import NOT_ABOUT_SPEED
from kernlint.rules.registry import all_rules
from kernlint.syntax.dialect import dialect, has_kernel
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import Task, read_task
from kernlint.syntax.tree import Module
from kernlint.verdict.callers import behind_methods
from kernlint.verdict.judge import Judgement, judge, with_faults
from kernlint.verdict.measured import calibrate
from kernlint.verdict.model import AssumedFact, Scenario, Verdict
from kernlint.verdict.scenarios import Plan, Planner, arbitrary_constants, is_open, undecided
from kernlint.verdict.search import MOST_WORK, Allowance
from kernlint.verdict.words import speedup_text, write_verdict
from kernlint.workload import Launch, Symbol, Tensor, Workload, concrete

if TYPE_CHECKING:
    from kernlint.interpret.recorded.recording import Recording

#: References that are kept for the next kernel.
_MOST_REFERENCES = 16

#: No GPU has a tenth of this.
MAX_TENSOR_BYTES = 1 << 42


@dataclass(frozen=True)
class Analysis:
    """What was read and judged; ``verdict`` is the answer, ``judgement`` the numbers behind it."""

    reading: Reading
    judgement: Judgement
    verdict: Verdict

    @property
    def task(self) -> Task:
        return self.reading.task

    @property
    def program(self) -> Program:
        return self.reading.program


@dataclass(frozen=True)
class Reading:
    """A program as it was read: the ``workloads`` are those of its entries that launch something."""

    request: Request
    task: Task
    program: Program
    workloads: tuple[Workload, ...]
    device: Device

    @property
    def device_named(self) -> bool:
        """Whether the user chose the ``device``."""
        return self.request.device is not None


def analyze(
    source: str,
    *,
    path: str = "kernel.py",
    reference: str | None = None,
    reference_path: str = "reference.py",
    device: str | None = None,
    scope: str = "gpu",
    entry: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    assumptions: Iterable[str] = (),
    performance: str | None = None,
    performance_path: str = "performance data",
    recording: Recording | None = None,
    project: bool = False,
) -> Verdict:
    """Whether the Triton code in ``source`` is worth optimising, and how.

    ``source`` is Python or a Markdown task file, told by the suffix of ``path``; ``reference`` the PyTorch code it
    replaces, when it is not in ``source``. ``overrides`` replace module-level constants by name, ``assumptions`` are
    facts such as ``x:int8[128,2048]`` or ``M=128``. ``device`` is the GPU that times are predicted for; where none is named, an
    H100 is meant, and no tile is changed for it without asking. ``entry`` names the function to analyse, ``scope`` is ``gpu``
    (device time of a call) or ``call`` (wall time of a call). ``performance`` is the text of latencies or of a profile
    (:func:`kernlint.perf.read.read_performance`), in place of the Performance section that a task file may have. ``recording`` is what
    :func:`kernlint.verify.trace.record` has traced of the program, which counts where the source does not tell.
    With ``project``, other Python files of the project that ``path`` is part of are read for calls that give what the source leaves open.

    Raises :class:`~kernlint.errors.SourceError` for input that cannot be parsed,
    :class:`~kernlint.errors.UsageError` for an unknown device, scope, entry, override or fact, and
    :class:`~kernlint.errors.AnalysisError` when there is no verdict.
    """
    asked = Request(
        source,
        path,
        reference,
        reference_path,
        device,
        scope,
        entry,
        overrides or {},
        tuple(assumptions),
        performance,
        performance_path,
        recording,
        project,
    )
    return answer(asked)


def answer(request: Request) -> Verdict:
    """The verdict that :func:`analyze` gives; that on a text alone is kept for whoever asks again."""
    if request.recording is not None or request.project:
        with _keeping_garbage():
            return analysis(request).verdict
    question = verdict_cache.question(request)
    verdict = verdict_cache.verdict(question)
    if verdict is None:
        with _keeping_garbage():
            found = analysis(request)
            verdict = found.verdict
            verdict_cache.remember(question, verdict, found.program)
            found.program.close()
            del found  # before garbage is looked for among all that it holds
    return verdict


@contextmanager
def _keeping_garbage() -> Iterator[None]:
    """Nobody looks for garbage while a program grows that is let go of as a whole: that takes a sixth of the time of a verdict."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def analysis(request: Request, autotune: bool = False, assume: bool = True) -> Analysis:
    """As :func:`answer`, with everything the verdict was made from. ``autotune`` asks for tiles that the autotuner chooses
    where a fixed one would do for the sizes at hand; unless told to ``assume`` plausible facts, it rests on those that are known."""
    return judged(read_program(request), autotune, assume)


def read_program(request: Request, for_rules: bool = False) -> Reading:
    """What the source does, not yet judged. Raises as :func:`analyze` does; ``for_rules`` is for asking rules about wrong code
    too, which also look at kernels that nothing launches."""
    if request.scope not in SCOPES:
        raise UsageError(f"unknown scope {request.scope!r}; it is gpu or call")
    gpu = find_device(request.device or DEFAULT_DEVICE)
    task = read_task(SourceText(request.source, request.path))
    module = task.reference
    if request.reference is not None:
        module = _reference(request.reference, request.reference_path)
    _check_dialect(task.kernel)
    facts = parse_facts(request.assumptions)
    question = Question(request.entry, request.overrides, facts, host_facts(gpu), target_for(None, gpu))
    if request.recording is None:
        program = Program(task.kernel, module, question)
    else:
        from kernlint.interpret.recorded.program import RecordedProgram

        program = RecordedProgram(task.kernel, module, question, request.recording)
    followed = program.workloads()
    workloads = [w for w in followed if (w.first_call() if for_rules else w).launches()]
    # Where all that is launched fills a cache, or tests something, that is what the question is about.
    workloads = workloads or [w for w in (v.first_call() for v in followed) if w.launches()]
    if not workloads and not for_rules:
        contradictions = program.contradictions
        if contradictions and facts:
            raise UsageError(f"--assume: {contradictions[0]}")
        elsewhere = _launched_elsewhere(request, task, module, question, gpu) if request.project else None
        if elsewhere is not None:
            return elsewhere
        raise AnalysisError(_nothing_launched(task.kernel, program))
    for workload in workloads:
        _check_sizes(workload, request.overrides)
    return Reading(request, task, program, tuple(workloads), gpu)


@lru_cache(maxsize=_MOST_REFERENCES)
def _reference(text: str, path: str) -> Module:
    """The module of a reference, read once for the many kernels that are held against it."""
    return read_task(SourceText(text, path)).kernel


def _launched_elsewhere(
    request: Request, task: Task, reference: Module | None, question: Question, device: Device
) -> Reading | None:
    """The functions of another file of the project that launch kernels of this one; None where there are none."""
    from libcst import FunctionDef

    kernels = [function.name.value for function in task.kernel.of(FunctionDef) if function.decorators]
    own = os.path.realpath(task.kernel.path)
    for module in launchers(task.kernel.path, kernels) if kernels else ():
        program = Program(module, reference, replace(question, strict=False))
        program.outside = module.path
        ours = [
            workload
            for workload in program.workloads()
            if any(os.path.realpath(launch.kernel.file) == own for launch in workload.launches())
        ]
        if ours:
            return Reading(request, task, program, tuple(ours), device)
    return None


def judged(reading: Reading, autotune: bool = False, assume: bool = True) -> Analysis:
    """The verdict on what was read, in the scope asked about, with measured times where there are any."""
    best = with_what_is_wrong(best_change(reading, autotune, assume), reading)
    return Analysis(reading, best, write_verdict(best, reading.device, MODEL_VERSION))


def with_what_is_wrong(judgement: Judgement, reading: Reading) -> Judgement:
    """``judgement`` with the faults that the verdict tells, errors first, none of which rests on anything assumed."""
    rules = [rule for rule in all_rules() if rule.default and rule.category in NOT_ABOUT_SPEED]
    return with_faults(judgement, reading.program, reading.device, rules)


def best_change(reading: Reading, autotune: bool = False, assume: bool = False) -> Judgement:
    """What the verdict of :func:`judged` would choose, without the errors and the words. Unless told to ``assume`` plausible facts,
    nothing is known of the times of a call with open sizes."""
    judge_one = _Judge(reading, autotune)
    workloads = judge_one.without_copies(_outermost(reading))
    judgements = [judge_one(reading.program, workload, judge_one.allowance) for workload in workloads]
    if assume:
        judgements = [_seen(judge_one.answered(judgement)) for judgement in judgements]
    # Of several public functions the one with the largest saving; of equals the longest, then the first.
    scope = reading.request.scope
    best = max(
        judgements, key=lambda j: (j.worth, j.certainty != "unknown", j.saving_us, j.before.total_us(scope) or 0.0)
    )
    return judge_one.with_other_scenarios(best) if assume else best


def _outermost(reading: Reading) -> list[Workload]:
    """The workloads to choose from: without those of helpers that an autograd function or a layer of the same module calls, as far as
    it takes that to tell what they are called with."""
    helpers = behind_methods(reading.program.kernel, [workload.entry for workload in reading.workloads])
    return [one for one in reading.workloads if one.entry not in helpers or not is_open(one, open_symbols(one))]


#: What-ifs for the first scenario of each function, for each of the others, and functions for which any is made up.
_SCENARIO_WORK, _OTHER_WORK, _MOST_ASSUMED = 1_500_000, 600_000, 4


class _Judge:
    """Judges calls of one reading, those with open facts by scenarios."""

    def __init__(self, reading: Reading, autotune: bool) -> None:
        self.reading, self.scope, self.autotune = reading, reading.request.scope, autotune
        self.measured = _performance(reading.task, reading.request)
        self.rules = [rule for rule in all_rules() if rule.default and rule.category not in NOT_ABOUT_SPEED]
        self.allowance = Allowance(MOST_WORK)
        self._sites: list[CallSite] | None = None
        self._plans: dict[str, list[Plan]] = {}

    def __call__(self, program: Program, workload: Workload, allowance: Allowance) -> Judgement:
        least = self._at_least(program, workload)
        if least is not None:
            found = self._judged(*least, allowance)
            if found.worth:
                return replace(found, least=open_symbols(workload))
        return self._judged(program, workload, allowance)

    def without_copies(self, workloads: Sequence[Workload]) -> list[Workload]:
        """``workloads`` without the copies of earlier ones, which have the same answer and lose against these; those that somebody calls
        stay, as the calls tell of them alone, and all do where what was measured tells of some."""
        kernel = self.reading.program.kernel
        forms = {workload.entry: call_form(kernel, workload) for workload in workloads if not self.measured}
        known: set[object] = set()
        found = []
        for workload in workloads:
            form = forms.get(workload.entry)
            if form is None or form not in known or self._sites_of(workload):
                found.append(workload)
            known.add(form)
        return found

    def _at_least(self, program: Program, workload: Workload) -> tuple[Program, Workload] | None:
        """``workload`` with one program for each launch whose grid the data decide, where all else is known and a reference says what is
        to be computed: the call takes no less time, so what is worth it then is worth it."""
        missing = open_symbols(workload)
        if not missing or workload.reference is None or not all(name.startswith("grid[") for name in missing):
            return None
        known = program.at(sizes={Symbol(name): 1 for name in missing})
        found = known.workload(workload.entry, NO_EDITS)
        return None if found is None or open_symbols(found) else (known, found)

    def _judged(self, program: Program, workload: Workload, allowance: Allowance) -> Judgement:
        gpu, measured = self.reading.device, self.measured
        calibration = calibrate(estimate(workload, gpu), measured, self.scope) if measured else None
        named = self.reading.device_named
        found = judge(program, workload, gpu, self.scope, self.rules, calibration, self.autotune, named, allowance)
        return replace(found, given=program is self.reading.program)

    def answered(self, base: Judgement) -> Judgement:
        """``base`` where nothing of it is open, else the judgement on the likeliest call, or that nothing can be said."""
        workload = base.workload
        guessed = [
            *((name, 1, "guess", "nothing tells it; the call takes no less") for name in base.least),
            *_guessed(workload),
        ]
        if not is_open(workload, base.before.missing):
            if not guessed:
                return base
            if arbitrary_constants(workload) and not _certain(base):
                return _not_decided(base, undecided(workload, ()), workload)
            facts = tuple(AssumedFact(*fact) for fact in guessed)
            return replace(base, certainty="assumed", scenarios=(_scenario("as it stands", facts, base),))
        if len(self._plans) >= _MOST_ASSUMED:
            return _not_decided(base, undecided(workload, base.before.missing))
        gpu = self.reading.device
        planner = Planner(self.reading.program, workload, target_for(None, gpu), self._sites_of(workload))
        plans = self._plans[workload.entry] = planner.plans()
        if not plans:
            return _not_decided(base, undecided(workload, base.before.missing))
        plan = plans[0]
        wanted = tuple(undecided(workload, base.before.missing, plan))
        if arbitrary_constants(plan.workload) and not _certain(base):
            return _not_decided(base, wanted, plan.workload)
        found = self(plan.program, plan.workload, Allowance(_SCENARIO_WORK))
        scenario = _scenario(plan.name, plan.facts + tuple(AssumedFact(*f) for f in _guessed(plan.workload)), found)
        # What is wrong at every size does not rest on any.
        sure = _certain(base)
        if (
            sure
            and base.chosen is not None
            and (found.chosen is None or found.chosen.finding.key != base.chosen.finding.key)
        ):
            found = replace(found, chosen=base.chosen)
        if not scenario.facts:
            return replace(found, base=base)  # only layouts were open, which are dense where nothing tells them
        certainty = "proven" if sure else "assumed"
        return replace(found, certainty=certainty, scenarios=(scenario,), base=base, undecided=wanted)

    def _sites_of(self, workload: Workload) -> list[CallSite]:
        """The calls of the entry of ``workload`` that its program makes itself, as a script say, and those in its project."""
        if self._sites is None:
            self._sites = sites_in(self.reading.program, self.reading.workloads, self.reading.request.project)
        return of_entry(self._sites, workload.entry, self.reading.program)

    def with_other_scenarios(self, judgement: Judgement) -> Judgement:
        """``judgement`` with the answers for the other plausible calls beside it."""
        others = []
        for plan in self._plans.get(judgement.workload.entry, ())[1:] if judgement.base is not None else ():
            found = self(plan.program, plan.workload, Allowance(_OTHER_WORK))
            facts = plan.facts + tuple(AssumedFact(*fact) for fact in _guessed(plan.workload))
            others.append(_scenario(plan.name, facts, found))
        return replace(judgement, scenarios=(*judgement.scenarios, *others))


def _certain(judgement: Judgement) -> bool:
    """Whether what is chosen is wrong at every size."""
    chosen = judgement.chosen
    return chosen is not None and chosen.finding.severity == "error" and chosen.worth(judgement.scope) is None


def _not_decided(judgement: Judgement, wanted: Iterable[str], resting: Workload | None = None) -> Judgement:
    """``judgement`` where it says nothing before the facts ``wanted`` are given, and nothing at all of what a call such as ``resting``
    takes, as that is up to constants that nothing tells."""
    found = replace(judgement, certainty="unknown", undecided=tuple(wanted))
    return found if resting is None else replace(found, chosen=None, arbitrary=tuple(arbitrary_constants(resting)))


def _seen(judgement: Judgement) -> Judgement:
    """``judgement``, but that nothing is decided about kernels whose memory nobody sees but what pays for certain."""
    if judgement.certainty != "unknown" and judgement.unfollowed and not _certain(judgement):
        return replace(judgement, certainty="unknown", scenarios=(), base=None, chosen=None, undecided=())
    if (judgement.worth and judgement.certainty == "proven") or not judgement.behind_addresses:
        return judgement
    return replace(judgement, certainty="unknown", scenarios=(), base=None, chosen=None)


def _scenario(name: str, facts: tuple[AssumedFact, ...], judgement: Judgement) -> Scenario:
    chosen, scope = judgement.chosen, judgement.scope
    before = judgement.before.total_us(scope)
    worth = chosen is not None and chosen.worth(scope) is not False and chosen.finding.change is not None
    if chosen is None or not worth:
        return Scenario(name, facts, False, before)
    rule = chosen.finding.rule
    return Scenario(name, facts, True, before, f"{rule.code} {rule.name}".lstrip(), speedup_text(judgement, chosen))


def _guessed(workload: Workload) -> list[tuple[str, str | int, str, str]]:
    """What the times of a call whose types and sizes are known still rest on: constants and trip counts that were assumed."""
    found: dict[str, tuple[str, str | int, str, str]] = {}
    for launch in workload.launches():
        for assumed in launch.kernel.assumed:
            name, _, value = assumed.partition(" = ")
            why = "its value does not follow from the call"
            if name not in launch.kernel.arbitrary:
                why = "nothing tells it; it is one of those that the code has for it"
            found[assumed] = (f"{launch.kernel.name}.{name}", value, "guess", why)
        for line, text in assumed_trips(launch):
            found[f"{line} {text}"] = (
                f"{launch.kernel.name}: trips of the loop at line {line}",
                text,
                "guess",
                "its bounds are loaded values",
            )
    return list(found.values())


def _performance(task: Task, request: Request) -> Performance:
    """What was measured: as given, else as the task file says, where it has numbers at all."""
    text, path = request.performance, request.performance_path
    if text is None and any(character.isdigit() for character in task.performance):
        text, path = task.performance, f"{task.path}: section Performance"
    if text is None:
        return Performance()
    from kernlint.perf.read import read_performance

    return read_performance(text, path)


def _check_sizes(workload: Workload, overrides: Mapping[str, Any]) -> None:
    """Refuse tensors that no device could hold, and inputs that hold nothing: their times would mean nothing. A kernel may be
    given an empty tensor in the place of one that it does not need."""
    tensors = [t for step in workload.all_steps if isinstance(step, Launch) for t in step.arguments.values()]
    inputs = {tensor.storage.id for tensor in workload.inputs}
    for tensor in (*workload.inputs, *tensors):
        if not isinstance(tensor, Tensor) or tensor.shape is None:
            continue
        shape = [concrete(extent) for extent in tensor.shape]
        least = 1 if tensor.storage.id in inputs else 0
        none = any(extent is not None and extent < least for extent in shape)
        if none or (tensor.nbytes or 0) > MAX_TENSOR_BYTES:
            given = ", ".join(f"{name}={value}" for name, value in overrides.items())
            what = f"{tensor.name or 'a tensor'} would have the shape [{', '.join(map(str, tensor.shape))}]"
            why = "which holds nothing" if none else "which no device can hold"
            raise UsageError(f"--set {given}: {what}" if given else f"{workload.file}: {what}, {why}")


def _check_dialect(module: Module) -> None:
    other = dialect(module)
    if other is not None:
        raise AnalysisError(f"{module.path}: the kernels are written in {other}, which kernlint does not read")


def _nothing_launched(module: Module, program: Program) -> str:
    if not has_kernel(module):
        return f"{module.path}: no Triton kernel in it (no function decorated with triton.jit)"
    workloads = program.workloads()
    if not workloads:
        return f"{module.path}: no function in it launches a kernel; name one with --entry, or run its host code with --trace"
    unknown = "; ".join(workloads[0].unknowns[:3])
    return f"{module.path}: {workloads[0].entry} launches no kernel" + (
        f" that could be followed ({unknown}); --trace runs the host code on fake tensors, in a sandbox"
        if unknown
        else ""
    )
