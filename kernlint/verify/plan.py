"""Everything that verification needs to know of a change before anything runs: made by analysis alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

from kernlint.analysis import Analysis, analysis
from kernlint.cost.device import Device
from kernlint.cost.estimate import estimate
from kernlint.errors import AnalysisError, KernlintError
from kernlint.fix import Fixed, fix_source
from kernlint.interpret.assume import parse_facts
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.records import dataclass, replace
from kernlint.request import DEFAULT_DEVICE, Request
from kernlint.rewrite.effects import NUMERICS
from kernlint.syntax.sizes import lifted, varied_names
from kernlint.syntax.source import STDIN_NAME, SourceText
from kernlint.syntax.task import read_task
from kernlint.verdict.model import Verdict
from kernlint.verify.formats import Precision, formats_of, named_formats
from kernlint.verify.launches import compile_jobs, facts_of, interpreted_s, target_of, tile_extents
from kernlint.verify.result import ChangeReport, Prediction
from kernlint.verify.shapes import SizeCase, assumed_sizes, odd_cases, resized, scaled
from kernlint.workload import Workload, concrete

#: What one call may take in the interpreter: at the given sizes, at one of them beside small ones, and at each of the many odd ones.
_AFFORDABLE_S = 8.0
_ALONE_S = 4.0
_CHEAP_S = 0.5


@dataclass(frozen=True)
class Plan:
    """A change to prove: the sources ``before`` and ``after`` it, what to call and with what, and what was predicted.

    ``given`` is the case that the user asks about; ``small`` the same, made small enough for the interpreter, and ``odd``
    further sizes. ``tensors`` and ``values`` describe arguments of ``entry`` where no ``get_inputs`` makes them; ``extents``
    are the sizes in them that cases may change, by name. Sizes that sources write as literals are constants in them. ``launches``
    holds for each version what to compile, ``uncompiled`` why some launches cannot be.
    """

    verdict: Verdict
    change: ChangeReport
    before: str
    after: str
    reference: str | None
    entry: str
    given: SizeCase
    small: SizeCase
    odd: tuple[SizeCase, ...]
    overrides: Mapping[str, Any]
    device: Mapping[str, Any]
    target: Mapping[str, Any]
    architecture: str
    launches: Mapping[str, list[dict[str, Any]]]
    uncompiled: tuple[str, ...] = ()
    precision: Precision = field(default_factory=Precision)
    predictions: Mapping[str, Prediction] = field(default_factory=dict)
    tensors: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)
    extents: Mapping[str, int] = field(default_factory=dict)
    search: tuple[str, ...] = ()
    package: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class NothingToProve:
    """There is no changed version: ``reasons`` say why."""

    reasons: tuple[str, ...]


def make_plan(
    request: Request,
    *,
    fixed: str | None = None,
    fixed_path: str = "fixed.py",
    numerics: str | None = None,
    rules: Iterable[str] = (),
    follow_ups: bool = False,
    unsafe: bool = False,
    autotune: bool = False,
) -> Plan | NothingToProve:
    """The plan for what ``request`` is about and ``fixed``, the changed version (None: the one that :func:`kernlint.fix.fix_source` makes).

    The other arguments are those of :func:`kernlint.fix.fix_source`; ``numerics`` overrides the class of rounding
    differences that is allowed, or names the format that the changed version computes in. Raises what
    :func:`kernlint.analysis.analyze` raises, for either version.
    """
    request = replace(request, device=request.device or DEFAULT_DEVICE)
    read = analysis(request, autotune, assume=False)
    reference = request.reference
    if reference is None and read.task.reference is not None:
        reference = read.task.reference.text
    notes: list[str] = []
    change: ChangeReport | None
    if fixed is None:
        made = fix_source(
            replace(request, reference=reference),
            rules=rules,
            follow_ups=follow_ups,
            unsafe=unsafe,
            autotune=autotune,
            analysed=read,
        )
        report = _made_change(made, numerics, compared=reference is not None)
        if isinstance(report, NothingToProve):
            return report
        change, after = report, made.after
    else:
        change, after = None, fixed
    workload = read.judgement.workload
    changed = _changed_workload(after, fixed_path if fixed is not None else request.path, workload, read, notes)
    precision = Precision(
        formats_of(workload),
        formats_of(changed) if changed is not None else {},
        named_formats(read.task.kernel.text),
        named_formats(after),
    )
    if change is None:
        if numerics is None:
            numerics, why = precision.numerics() if _followed(changed) else ("changed", "it cannot be followed")
            notes.append(f"the changed version is held to `{numerics}`: {why} (--numerics says otherwise)")
        change = ChangeReport(fixed_path, (), *_class_and_format(numerics))
    gpu = read.reading.device
    before_jobs, uncompiled = compile_jobs(workload)
    after_jobs, uncompiled_after = compile_jobs(changed) if changed is not None else ([], [])
    changed_sizes = _Varied(read, reference, after)
    afford = _Affordable(read, changed_sizes)
    odd = odd_cases(afford.cheap(), tile_extents([workload, *([changed] if changed else [])]))
    return Plan(
        verdict=read.verdict,
        change=change,
        before=changed_sizes.before,
        after=changed_sizes.after,
        reference=changed_sizes.reference,
        entry=workload.entry,
        given=SizeCase("as given", dict(request.overrides), timed=True),
        small=afford.case(dict(request.overrides)),
        odd=(*_with_slices(odd, reference is not None), *afford.alone()),
        overrides=dict(request.overrides),
        device=facts_of(gpu),
        target=target_of(gpu),
        architecture=gpu.architecture,
        launches={"before": before_jobs, "after": after_jobs},
        uncompiled=tuple(dict.fromkeys((*uncompiled, *uncompiled_after))),
        precision=replace(precision, declared=change.format or "", changed=change.numerics == "changed"),
        predictions=_predictions(read, workload, changed, gpu, single=len(change.rules) == 1),
        tensors=_tensors(workload),
        extents=changed_sizes.extents,
        values={fact.name: fact.value for fact in parse_facts(request.assumptions) if fact.is_value},
        search=tuple(dict.fromkeys(_folder(p) for p in (request.path, request.reference_path) if p != STDIN_NAME)),
        package=_package(request.path),
        notes=tuple(notes),
    )


def _made_change(made: Fixed, numerics: str | None, compared: bool) -> ChangeReport | NothingToProve:
    """What kernlint has changed; nothing to prove where that is nothing, or where it mends wrong code and is not ``compared``
    with a reference."""
    if not made.applied:
        return NothingToProve(_refusals(made))
    mended = [one.code for one in made.applied if one.mends]
    if mended and not compared:
        return NothingToProve((_without_reference(mended),))
    # What was wrong before sets no measure of how small the errors have to be.
    return _change(made, numerics or ("changed" if mended else None))


def _without_reference(codes: Sequence[str]) -> str:
    """Why mended code is not compared with the version before it."""
    return (
        f"the fix of {', '.join(codes)} mends wrong code, so that results differ from those before; "
        "name what is right with --reference"
    )


def _refusals(made: Fixed) -> tuple[str, ...]:
    if not made.refused:
        return (made.nothing,)
    return tuple(
        f"{one.title} at line {one.line}: {one.reason}" + (" (--unsafe-fixes makes it)" if one.unsafe else "")
        for one in made.refused
    )


def _change(made: Fixed, numerics: str | None) -> ChangeReport:
    worst = max((one.effects.numerics for one in made.applied), key=NUMERICS.index)
    return ChangeReport(
        None, tuple(one.code or one.name for one in made.applied), *_class_and_format(numerics or worst)
    )


def _class_and_format(numerics: str) -> tuple[str, str | None]:
    """A class of rounding differences, or a format that is computed in: that is a change of precision."""
    return (numerics, None) if numerics in NUMERICS else ("changed", numerics)


def _changed_workload(after: str, path: str, before: Workload, read: Analysis, notes: list[str]) -> Workload | None:
    """The changed version as the analysis sees it; None where it cannot be followed, which forbids no run."""
    reference = read.program.reference
    text = None if reference is None else reference.text
    try:
        own = path if path.endswith(".py") else f"{path}.py"
        asked = replace(read.reading.request, source=after, path=own, reference=text, performance=None)
        changed = analysis(replace(asked, reference_path="reference.py"), assume=False)
    except AnalysisError as error:
        notes.append(f"the changed version cannot be followed by the analysis: {error}")
        return None
    found = [w for w in changed.program.workloads() if w.entry == before.entry]
    return found[0] if found else changed.judgement.workload


def _followed(workload: Workload | None) -> bool:
    """Whether the formats of all that it computes are known."""
    return workload is not None and all(launch.kernel.complete for launch in workload.launches())


def _predictions(
    read: Analysis, before: Workload, after: Workload | None, gpu: Device, single: bool
) -> dict[str, Prediction]:
    """Predicted times of both versions in both scopes; the interval where it is that of the one change that was made."""
    if after is None:
        return {}
    old, new = estimate(before, gpu), estimate(after, gpu)
    found = {}
    for scope in ("gpu", "call"):
        before_us, after_us = old.total_us(scope), new.total_us(scope)
        ratio = before_us / after_us if before_us and after_us else None
        chosen = read.verdict.details.estimate
        row = chosen.gpu if scope == "gpu" else chosen.call
        low, high = (row.low, row.high) if single and read.verdict.details.rule is not None else (None, None)
        found[scope] = Prediction(before_us, after_us, ratio, low, high)
    return found


def _with_slices(cases: Sequence[SizeCase], known: bool) -> Iterator[SizeCase]:
    """``cases`` and, where it is ``known`` what is right, the first of them with arguments that are slices of larger tensors."""
    yield from cases
    for apart in ("rows", "elements") if cases and known else ():
        yield replace(cases[0], name=f"{cases[0].name}, {apart} apart", apart=apart)


class _Varied:
    """The sizes that arguments are made from, ``sizes`` with the values in force, in the sources in which they can be set:
    literals have become constants there. ``extents`` are those that stand in facts alone."""

    def __init__(self, read: Analysis, reference: str | None, after: str) -> None:
        known: dict[str, int] = dict(read.judgement.workload.sizes)
        self.before, self.after, self.reference = read.task.kernel.text, after, reference
        self.extents: dict[str, int] = {}
        if reference is not None:
            self.reference, literals = lifted(reference)
            names = varied_names(self.reference)
        else:
            names, literals = {}, {}
        if not names:
            (self.before, literals), (self.after, _) = lifted(self.before), lifted(after)
            names = varied_names(self.before)
        known |= literals
        self.sizes = {name: int(known[name]) for name in names if known.get(name, 0) > 0}
        self.lifted = bool(literals)
        if not self.sizes:
            self.extents = assumed_sizes(read.program.question.facts)
            self.sizes = dict(self.extents)


class _Affordable:
    """Finds sizes that the interpreter gets through, by analysing the call at smaller and smaller ones."""

    def __init__(self, read: Analysis, varied: _Varied) -> None:
        self.read, self.request, self.sizes, self.varied = read, read.reading.request, varied.sizes, varied
        self._known: dict[tuple[int, ...], float] = {}
        self.kernel, self.reference = read.program.kernel, read.program.reference
        if varied.lifted:
            self.kernel = read_task(SourceText(varied.before, self.kernel.path)).kernel
            if varied.reference is not None:
                path = self.reference.path if self.reference is not None else "reference.py"
                self.reference = read_task(SourceText(varied.reference, path)).kernel

    def case(self, overrides: Mapping[str, Any]) -> SizeCase:
        """The given sizes, or the largest like them that take no longer than they may."""
        if interpreted_s(self.read.judgement.workload) <= _AFFORDABLE_S or not self.sizes:
            return SizeCase("as given", overrides)
        return SizeCase("scaled down", {**overrides, **self._scaled(_AFFORDABLE_S)})

    def cheap(self) -> dict[str, int]:
        """Sizes for a call that takes hardly any time."""
        return self._scaled(_CHEAP_S, least=4)

    def alone(self) -> Iterator[SizeCase]:
        """Each size as it is given beside small ones, where that is affordable too: some faults show from a size on."""
        if self.case({}).name == "as given":
            return
        for name in self.sizes:
            others = scaled(self.cheap(), partial(self._affords, name), least=4)
            if self._affords(name, others):
                yield SizeCase(f"{name} as given", {**others, name: self.sizes[name]})

    def _affords(self, name: str, others: Mapping[str, int]) -> bool:
        return self._estimate_s({**others, name: self.sizes[name]}) <= _ALONE_S

    def _scaled(self, seconds: float, least: int = 16) -> dict[str, int]:
        return scaled(self.sizes, lambda sizes: self._estimate_s(sizes) <= seconds, least)

    def _estimate_s(self, sizes: Mapping[str, int]) -> float:
        key = tuple(sizes.values())
        if key not in self._known:
            self._known[key] = self._analysed_s(sizes)
        return self._known[key]

    def _analysed_s(self, sizes: Mapping[str, int]) -> float:
        facts = parse_facts(self.request.assumptions)
        overrides = dict(self.request.overrides)
        if self.varied.extents:
            facts = tuple(
                resized(fact, {self.varied.extents[n]: value for n, value in sizes.items()}) for fact in facts
            )
        else:
            overrides |= sizes
        question = Question(self.request.entry, overrides, facts, host_facts(self.read.reading.device))
        entry = self.read.judgement.workload.entry
        try:
            workloads = Program(self.kernel, self.reference, question).workloads()
        except KernlintError:
            return math.inf
        return max((interpreted_s(workload) for workload in workloads if workload.entry == entry), default=math.inf)


def _tensors(workload: Workload) -> dict[str, Any]:
    """The tensor arguments of the entry, where all of their sizes are known."""
    found = {}
    for tensor in workload.inputs:
        if tensor.dtype is None or tensor.shape is None or tensor.storage.origin != "input":
            continue
        shape = [concrete(extent) for extent in tensor.shape]
        strides = None if tensor.strides is None else [concrete(stride) for stride in tensor.strides]
        if None in shape:
            continue
        known = strides if strides is not None and None not in strides else None
        found[tensor.name] = {"dtype": tensor.dtype.name, "shape": shape, "strides": known}
    return found


def _folder(path: str) -> str:
    return str(Path(path).resolve().parent)


def _package(path: str) -> str:
    """What relative imports of the file at ``path`` count from; empty outside of a package."""
    parts: list[str] = []
    folder = Path(path).resolve().parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)
