"""Runs a program's host code on fake tensors in a sandboxed child, and hands back what it reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kernlint.cost.device import find_device
from kernlint.errors import AnalysisError, KernlintError, SourceError
from kernlint.interpret.assume import parse_facts
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.interpret.recorded.recording import Recording
from kernlint.records import dataclass
from kernlint.request import DEFAULT_DEVICE, Request
from kernlint.syntax.source import STDIN_NAME, SourceText
from kernlint.syntax.task import read_task
from kernlint.verify.launches import facts_of, target_of
from kernlint.verify.plan import _folder, _package
from kernlint.verify.sandbox import Ended, Limits, run_child

LIMITS = Limits(seconds=120.0, memory_bytes=4 << 30)
_CALL = "kernlint.verify.child.tracing:main"


@dataclass(frozen=True)
class TraceJob:
    """What a child needs to trace a program, made by analysis alone; ``path`` is the kernel's file."""

    path: str
    job: Mapping[str, Any]
    files: Mapping[str, str]


def make_job(request: Request) -> TraceJob:
    """The job of tracing what ``request`` is about. Raises ``SourceError`` and ``UsageError``."""
    gpu = find_device(request.device or DEFAULT_DEVICE)
    task = read_task(SourceText(request.source, request.path))
    module = task.reference
    if request.reference is not None:
        module = read_task(SourceText(request.reference, request.reference_path)).kernel
    question = Question(request.entry, request.overrides, parse_facts(request.assumptions))
    files = {"kernel.py": _padded(task.kernel.text, task.kernel.first_line)}
    job: dict[str, Any] = {
        "files": {"kernel": "kernel.py"},
        "labels": {"kernel": task.kernel.path},
        "entry": request.entry or "",
        "candidates": _entries(Program(task.kernel, module, question)),
        "overrides": dict(request.overrides),
        "search": list(
            dict.fromkeys(_roots(request.path, request.reference_path if request.reference is not None else None))
        ),
        "package": _package(request.path) if request.path != STDIN_NAME else "",
        "device": {**facts_of(gpu), "target": target_of(gpu)},
        "tensors": {
            fact.name: {"dtype": fact.dtype.name if fact.dtype else "float32", "shape": list(fact.shape)}
            for fact in question.facts
            if fact.shape is not None and all(isinstance(extent, int) for extent in fact.shape)
        },
        "values": {fact.name: fact.value for fact in question.facts if fact.value is not None},
    }
    if module is not None:
        # In a Markdown file both are parts of one, told apart by their lines.
        label = module.path if module.path != task.kernel.path else f"{module.path}#reference"
        files["reference.py"] = _padded(module.text, module.first_line)
        job["files"]["reference"], job["labels"]["reference"] = "reference.py", label
    return TraceJob(request.path, job, files)


def trace(job: TraceJob, limits: Limits = LIMITS) -> Recording:
    """What the program does, as it reported. Raises ``AnalysisError`` where its kernels could not be traced."""
    ended = run_child(job.job, job.files, limits, _CALL)
    recording = Recording.of_events(ended.events)
    if "kernel" not in recording.traces:
        raise AnalysisError(f"{job.path}: the trace failed: {_reason(ended, 'kernel')}")
    if "reference" in job.job["files"] and "reference" not in recording.traces:
        return recording.noting(f"the reference was not traced: {_reason(ended, 'reference')}")
    return recording


def record(request: Request) -> Recording:
    """What the program does on fake tensors. It runs the host code, in a child process. Raises as :func:`make_job` and :func:`trace`
    do."""
    return trace(make_job(request))


def _reason(ended: Ended, version: str) -> str:
    """Why there is no trace of ``version``."""
    failures = [
        event for event in ended.events if event.get("event") == "failed" and isinstance(event.get("error"), dict)
    ]
    for event in failures:
        if event.get("step") in (version, "trace") or event.get("what") == "load":
            error = event["error"]
            place = f" ({error['place']})" if error.get("place") else ""
            what = "the reference: " if event.get("step") == "reference" else ""
            kind = "" if error.get("type") == "NoInputs" else f"{error.get('type')}: "
            return f"{what}{kind}{error.get('text')}{place}"
    return ended.detail or "it ended without an answer"


def _padded(text: str, first_line: int) -> str:
    """``text`` with its lines numbered as in the file that it was cut from."""
    return "\n" * (first_line - 1) + text


def _roots(*paths: str | None) -> Iterable[str]:
    """Where imports are looked for: beside each file, and above the package that it is part of."""
    for path in paths:
        if path is None or path == STDIN_NAME:
            continue
        yield _folder(path)
        package = _package(path)
        if package:
            yield str(Path(_folder(path)).parents[package.count(".")])


def _entries(program: Program) -> list[str]:
    """What analysis takes for entries; none where it fails."""
    try:
        return [workload.entry for workload in program.workloads()]
    except (KernlintError, SourceError, RecursionError):
        return []
    finally:
        program.close()
