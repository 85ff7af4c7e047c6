"""Automatic fixes against the experts': are they right, and what share of the expert's speedup do they reach?

    python benchmarks/fixes.py [--backend gpu|interpreter] [--pair NAME]... [--sizes N] [--jobs N]
                               [--device NAME] [--autotune] [--markdown FILE] [--json FILE]

For each pair of fixtures/pairs, and the seed, at its middle sizes: `fix --follow-ups --unsafe-fixes`, then the original, the
fixed and the expert's version run on the same arguments. Errors are against the reference in float64, times are of one call
in a replayed CUDA graph (warm L2), the versions taking turns. The pairs are a test set; no fitting code opens them.

On a machine with a GPU, torch and Triton (3.2 to 3.9) and an installed kernlint: `python benchmarks/fixes.py --markdown
fixes.md --json fixes.json`. Some minutes on one H100, or H200 with `--device h200`, with 16 cores: several kernels are compiled
and checked side by side, but while one is timed nothing else runs. `--backend interpreter` needs no GPU: correctness only, at
tiny sizes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from turns import Batch

from kernlint.analysis import DEFAULT_DEVICE
from kernlint.request import Request
from kernlint.verify.judge import judge_case
from kernlint.verify.plan import NothingToProve, Plan, make_plan
from kernlint.verify.prove import case_of, files_of, job_of, machine, timings_of
from kernlint.verify.sandbox import Ended
from kernlint.verify.shapes import SizeCase

FIXTURES = Path(__file__).parent.parent / "fixtures"
SEED = "seed"
TIMING_S = 2.4


@dataclass(frozen=True)
class Subject:
    """One pair at one size: the sources, the size to fix and time, and a tiny one for checking."""

    pair: str
    size: str
    settings: Mapping[str, int]
    positive: bool
    source: str
    path: str
    reference: str | None
    expert: str | None
    tiny: Mapping[str, int]

    @property
    def label(self) -> str:
        return f"{self.pair} {self.size}"


@dataclass
class Row:
    """What came of one subject; times in microseconds of one call on the device, errors relative to the reference."""

    pair: str
    size: str
    positive: bool
    status: str
    rules: str = ""
    numerics: str = ""
    correct: bool | None = None
    error_before: float | None = None
    error_fixed: float | None = None
    error_expert: float | None = None
    before_us: float | None = None
    fixed_us: float | None = None
    expert_us: float | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    expert_speedup: float | None = None
    predicted: float | None = None
    call_speedup: float | None = None
    cold_speedup: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def share(self) -> float | None:
        """Of the expert's speedup, 1 where it is reached."""
        return self.speedup / self.expert_speedup if self.speedup and self.expert_speedup else None


def subjects(pairs: Sequence[str], count: int) -> list[Subject]:
    """The chosen pairs at ``count`` sizes each, those in the middle first."""
    found = []
    for folder in sorted((FIXTURES / "pairs").iterdir()):
        if not folder.is_dir() or (pairs and folder.name not in pairs):
            continue
        case = json.loads((folder / "case.json").read_text())
        expert = folder / "after.py"
        sizes = case["sizes"]
        middle = sorted(range(len(sizes)), key=lambda i: (abs(i - (len(sizes) - 1) / 2 - 0.1), i))[:count]
        for index in sorted(middle):
            found.append(
                Subject(
                    folder.name,
                    sizes[index]["name"],
                    sizes[index]["set"],
                    case["worth_optimizing"] == "yes",
                    (folder / "before.py").read_text(),
                    str(folder / "before.py"),
                    (folder / "reference.py").read_text(),
                    expert.read_text() if expert.exists() else None,
                    case["check_size"]["set"],
                )
            )
    if not pairs or SEED in pairs:
        path = FIXTURES / "seed" / "task.md"
        tiny = {"M": 48, "IN_FEATURES": 96, "OUT_FEATURES": 80}
        found.insert(0, Subject(SEED, "as given", {}, True, path.read_text(), str(path), None, None, tiny))
    return found


def planned(subject: Subject, device: str, autotune: bool) -> Plan | NothingToProve | str:
    """The plan of the automatic fix; a text where it fails."""
    try:
        return make_plan(
            Request(
                subject.source,
                path=subject.path,
                reference=subject.reference,
                device=device,
                overrides=subject.settings,
            ),
            follow_ups=True,
            unsafe=True,
            autotune=autotune,
        )
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"


# -- running --


def work_of(subject: Subject, plan: Plan, backend: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The job of one child and its files."""
    others = {"expert": subject.expert} if subject.expert is not None else {}
    given, tiny = SizeCase(subject.size, subject.settings, timed=True), SizeCase("tiny", subject.tiny)
    cases = [case_of(plan, case) for case in ([given, tiny] if backend == "gpu" else [tiny])]
    return {**job_of(plan, backend, others), "cases": cases, "timing_s": TIMING_S}, files_of(plan, others)


def row_of(subject: Subject, plan: Plan, ended: Ended, backend: str) -> Row:
    """The row of a child that ended."""
    row = Row(subject.pair, subject.size, subject.positive, "fixed", "+".join(plan.change.rules), plan.change.numerics)
    prediction = plan.predictions.get("gpu")
    row.predicted = prediction.speedup if prediction is not None else None
    cases = [event for event in ended.events if event.get("event") == "case"]
    judged = [judge_case(event, plan.change.numerics, backend == "interpreter") for event in cases]
    if not ended.finished:
        step = next((e for e in reversed(ended.events) if e.get("event") == "begin"), {})
        row.notes.append(f"{step.get('step', 'start')}: {ended.detail}; {ended.output[-200:].strip()}")
    row.notes += [f"start: {e['error']}" for e in ended.events if e.get("event") == "failed"]
    row.notes += [f"timing: {e['error']}" for e in ended.events if e.get("event") == "timing" and "error" in e]
    row.notes += [
        f"{c.name}: {c.outcome} {c.message} {c.note}".strip() for c in judged if c.outcome != "correct" or c.note
    ]
    known = [c for c in judged if c.outcome in ("correct", "incorrect", "failed")]
    row.correct = all(c.outcome == "correct" for c in known) if known and ended.finished else None
    if known:
        row.error_before, row.error_fixed = known[0].error_before, known[0].error_after
    if cases and cases[0].get("status") == "run":
        errors = [out["expert"]["error"] for out in cases[0]["outputs"] if "error" in out.get("expert", {})]
        row.error_expert = max((float(e) for e in errors), default=None)
        why = cases[0]["failures"].get("expert")
        row.notes += [f"expert: {why}"] if why else []
    _fill_times(row, ended)
    return row


def _fill_times(row: Row, ended: Ended) -> None:
    fixed, expert = timings_of(ended.events), timings_of(ended.events, "expert")
    if fixed is not None and fixed.gpu is not None:
        row.before_us, row.fixed_us = fixed.gpu.before_us, fixed.gpu.after_us
        row.speedup, row.low, row.high = fixed.gpu.speedup, fixed.gpu.low, fixed.gpu.high
        row.call_speedup = fixed.call.speedup if fixed.call is not None else None
        row.cold_speedup = fixed.gpu_cold.speedup if fixed.gpu_cold is not None else None
        if not fixed.captured:
            row.notes.append("not captured in a CUDA graph: gpu times hold gaps")
    if expert is not None and expert.gpu is not None:
        row.expert_us, row.expert_speedup = expert.gpu.after_us, expert.gpu.speedup


# -- telling --


def summary(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The figures that the targets are about. A pair counts as fixed where it is at one of its sizes at least."""
    pairs = {row.pair for row in rows if row.positive}
    fixed = {row.pair for row in rows if row.positive and row.status == "fixed"}
    judged = [row for row in rows if row.correct is not None]
    shares = [row.share for row in rows if row.positive and row.share is not None]
    mean = math.exp(sum(map(math.log, shares)) / len(shares)) if shares else None
    seed = next((row.speedup for row in rows if row.pair == SEED), None)
    return [
        ("applied fixes that are correct", f"{sum(bool(r.correct) for r in judged)} of {len(judged)}"),
        ("positive pairs with an automatic fix", f"{len(fixed)} of {len(pairs)}"),
        (
            "share of the expert's speedup (geometric mean)",
            "-" if mean is None else f"{mean:.0%} of {len(shares)} cases",
        ),
        ("the seed at its own size", "-" if seed is None else f"{seed:.1f}x"),
        ("negative pairs changed", str(len({r.pair for r in rows if not r.positive and r.status == "fixed"}))),
    ]


HEADER = (
    "pair", "size", "rules", "numerics", "correct", "error before", "error fixed", "before us", "fixed us", "expert us",
    "speedup", "expert", "share", "predicted",
)  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    right = {True: "yes", False: "NO", None: "?"}[row.correct] if row.status == "fixed" else row.status
    return (
        row.pair, row.size, row.rules or "-", row.numerics or "-", right,
        _error(row.error_before), _error(row.error_fixed), _us(row.before_us), _us(row.fixed_us), _us(row.expert_us),
        _times(row.speedup), _times(row.expert_speedup), "-" if row.share is None else f"{row.share:.0%}",
        _times(row.predicted),
    )  # fmt: skip


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def markdown(rows: Sequence[Row], where: str) -> str:
    """The report: where it ran, the figures, a table, and what was remarkable."""
    lines = [f"Measured on {where}.", "", "| figure | value |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in summary(rows)]
    lines += ["", "| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
    lines += ["| " + " | ".join(cell.replace("|", r"\|") for cell in cells(row)) + " |" for row in rows]
    notes = [f"- {row.pair} {row.size}: {' '.join(note.split())}" for row in rows for note in row.notes]
    return "\n".join([*lines, "", *notes]) + "\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("gpu", "interpreter"), default="gpu")
    parser.add_argument("--pair", action="append", default=[], help="a pair's name, or seed")
    parser.add_argument("--sizes", type=int, default=2, help="sizes of each pair")
    parser.add_argument("--device", default=DEFAULT_DEVICE, help="GPU that the fixes are made for")
    parser.add_argument("--autotune", action="store_true", help="with @triton.autotune in the place of one tile")
    parser.add_argument("--jobs", type=int, default=6, help="children side by side")
    parser.add_argument("--markdown")
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    card = machine()
    where = f"{card.get('name') or 'the CPU'}, torch {card['torch']}, triton {card['triton']}, {options.backend}"
    where += f", fixes for {options.device}"
    if options.autotune:
        where += " with --autotune"
    if options.backend == "gpu" and not card.get("gpu"):
        parser.error("torch finds no GPU here; --backend interpreter needs none")
    work = subjects(options.pair, options.sizes if options.backend == "gpu" else 1)
    rows: dict[str, Row] = {}
    started = time.monotonic()

    def tell(row: Row) -> None:
        rows[f"{row.pair} {row.size}"] = row
        print(
            f"{time.monotonic() - started:5.0f} s  " + "  ".join(cells(row)), *row.notes, sep="\n         ", flush=True
        )
        ordered = [rows[s.label] for s in work if s.label in rows]
        if options.markdown:
            Path(options.markdown).write_text(markdown(ordered, where))
        if options.json:
            data = {"machine": dict(card), "rows": [asdict(r) | {"share": r.share} for r in ordered]}
            Path(options.json).write_text(json.dumps(data, indent=1) + "\n")

    with ProcessPoolExecutor(options.jobs) as pool, tempfile.TemporaryDirectory() as folder:
        ready: list[tuple[Subject, Plan]] = []
        batch = Batch(options.backend, Path(folder))
        plans = [(subject, pool.submit(planned, subject, options.device, options.autotune)) for subject in work]
        for index, (subject, future) in enumerate(plans):
            plan = _result(future)
            if isinstance(plan, Plan):
                ready.append((subject, plan))
            else:
                status, notes = _unplanned(plan)
                tell(Row(subject.pair, subject.size, subject.positive, status, notes=notes))
            if ready and (len(ready) == options.jobs or index == len(plans) - 1):
                ends = batch.run([work_of(one, its_plan, options.backend) for one, its_plan in ready])
                for (one, its_plan), ended in zip(ready, ends):
                    tell(row_of(one, its_plan, ended, options.backend))
                ready = []
    print()
    for name, value in summary([rows[s.label] for s in work if s.label in rows]):
        print(f"{name}: {value}")
    return 0


def _result(future: Future[Plan | NothingToProve | str]) -> Plan | NothingToProve | str:
    try:
        return future.result()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _unplanned(plan: NothingToProve | str) -> tuple[str, Iterable[str] | Any]:
    if isinstance(plan, str):
        return "failed", [plan]
    return "no fix", list(plan.reasons)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
