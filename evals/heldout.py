"""Verdicts and predicted speedups on before/after cases that nobody developed against: the sets in this folder.

    python evals/heldout.py measure OUT.json [--case NAME]... [--jobs N]     on a GPU: some minutes
    python evals/heldout.py check [--case NAME]...                           on a CPU: are the cases right?
    python evals/heldout.py compare OUT.json [--scope call] [--markdown F]   the verdicts beside the measurements
    python evals/heldout.py verdicts [--device h200]                         the verdicts alone

``--set third``, or ``--set 2026-11-28-third``, takes the cases of that folder in place of those of 2026-11-28-first; a path is one of
any other folder of cases.
``measure`` and ``check`` need torch and Triton (3.2 to 3.9). ``measure`` runs before.py, after.py and the reference of each
case at its sizes on the same arguments, the versions taking turns: ``gpu`` is one call in a replayed CUDA graph (warm L2),
``cold`` the same right after L2 was overwritten, ``call`` wall time per call of an eager loop, all in microseconds. ``check``
compares results at a tiny size in Triton's interpreter. A case without after.py is one where nothing is worth doing: before.py
runs against itself there. The cases are a test set: of what fits constants only ``spread.py`` opens them, once they have been met.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from accuracy import HEADER, UNCLEAR, Case, Measured, as_markdown, as_text, judged, rows, summary
from turns import Batch

from kernlint.cost.device import find_device
from kernlint.verify.formats import Precision, named_formats
from kernlint.verify.judge import judge_case
from kernlint.verify.launches import facts_of
from kernlint.verify.prove import machine, timings_of
from kernlint.verify.sandbox import Ended

CASES = Path(__file__).parent / "2026-11-28-first"
VERSIONS = ("before", "after", "library")
TIMING_S = 1.5
#: What dots of float32 do unless told otherwise.
DOTS = {"operands": "tf32"}


@dataclass(frozen=True)
class Subject:
    """One case at one of its sizes."""

    folder: Path
    case: Mapping[str, Any]
    size: Mapping[str, Any]

    @property
    def label(self) -> str:
        return f"{self.folder.name} {self.size['name']}"

    def work(self, timed: bool) -> tuple[dict[str, Any], dict[str, str]]:
        """The job of a child and its files. The reference runs as a version too, under the name library."""
        reference, before = (self.folder / "reference.py").read_text(), (self.folder / "before.py").read_text()
        after = self.folder / "after.py"
        text = {
            "before": before,
            "after": after.read_text() if after.exists() else before,
            "library": f"{reference}\n\nModelNew = Model\n",
        }
        files = {version: f"{version}/kernel.py" for version in VERSIONS}
        job = {
            "files": {**files, "reference": "reference/reference.py"},
            "entry": "ModelNew.forward",
            "device": facts_of(find_device("h100")),
            "sources": [text["before"], text["after"]],
            "formats": Precision(
                before=DOTS, after=DOTS, named_after=named_formats(text["after"]), changed=True
            ).granted("gpu"),
            "cases": [{**self.size, "timed": timed}],
            "timing_s": TIMING_S,
        }
        sources = {files[version]: text[version] for version in VERSIONS}
        return job, {**sources, "reference/reference.py": reference}


def sets() -> list[Path]:
    """The folders of all sets, in the order of their dates."""
    return sorted(one for one in CASES.parent.iterdir() if re.match(r"\d{4}-\d\d-\d\d-", one.name))


def set_called(name: str) -> Path | None:
    """The set in the folder ``name``, or in the last one that is called so after its date."""
    return next((one for one in reversed(sets()) if name in (one.name, one.name[len("2026-11-28-") :])), None)


def subjects(names: Sequence[str], tiny: bool = False, cases: Path = CASES) -> list[Subject]:
    """The chosen cases at all their sizes, or at the tiny one that is for checking."""
    found = []
    for folder in sorted(one for one in cases.iterdir() if one.is_dir() and (not names or one.name in names)):
        case = json.loads((folder / "case.json").read_text())
        found += [Subject(folder, case, size) for size in ([case["check_size"]] if tiny else case["sizes"])]
    return found


# -- running --


def outcome_of(subject: Subject, ended: Ended) -> dict[str, Any]:
    """What came of a child: whether both versions are right, their errors, and their times if they were taken."""
    row: dict[str, Any] = {"case": subject.folder.name, "size": subject.size["name"], "set": dict(subject.size["set"])}
    notes = [f"start: {e['error']}" for e in ended.events if e.get("event") == "failed"]
    notes += [f"timing: {e['error']}" for e in ended.events if e.get("event") == "timing" and "error" in e]
    event = next((e for e in ended.events if e.get("event") == "case"), None)
    if event is None or not ended.finished:
        step = next((e["step"] for e in reversed(ended.events) if e.get("event") == "begin"), "start")
        notes.append(f"{step}: {ended.detail} {ended.output[-200:]}".strip())
    if event is None:
        return {**row, "outcome": "failed", "notes": notes}
    judgement = judge_case(event, "changed", interpreted=False)
    notes += [text for text in (judgement.message, judgement.note) if text]
    row |= {"outcome": judgement.outcome, "error_before": judgement.error_before, "error_after": judgement.error_after}
    timed = {version: timings_of(ended.events, version) for version in VERSIONS[1:]}
    for version, kind in ((v, k) for v in VERSIONS for k in ("gpu", "gpu_cold", "call")):
        timings = timed["after" if version == "before" else version]
        times = getattr(timings, kind) if timings is not None else None
        if times is not None:
            us = times.before_us if version == "before" else times.after_us
            row.setdefault(version, {})[f"{kind.removeprefix('gpu_')}_us"] = round(us, 3)
        if times is not None and version == "after":
            found = {"speedup": times.speedup, "low": times.low, "high": times.high}
            row.setdefault("speedup", {})[kind.removeprefix("gpu_")] = {k: round(v, 3) for k, v in found.items()}
    if timed["after"] is not None and not timed["after"].captured:
        notes.append("not captured in a CUDA graph: gpu times hold gaps")
    return {**row, "notes": notes}


def run(work: Sequence[Subject], backend: str, jobs: int, path: str | None = None) -> list[dict[str, Any]]:
    """The outcomes of ``work``, told as they come and kept in the file at ``path``."""
    card, started = machine(), time.monotonic()
    done: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        batch = Batch(backend, Path(folder))
        for first in range(0, len(work), jobs):
            some = work[first : first + jobs]
            for subject, ended in zip(some, batch.run([one.work(backend == "gpu") for one in some])):
                row = outcome_of(subject, ended)
                done.append(row)
                gains = ", ".join(f"{kind} {gain['speedup']:.2f}x" for kind, gain in row.get("speedup", {}).items())
                print(f"{time.monotonic() - started:5.0f} s  {subject.label:36} {row['outcome']}  {gains}", flush=True)
                for note in row["notes"]:
                    print(f"         {note}", flush=True)
            if path is not None:
                Path(path).write_text(json.dumps({"machine": dict(card), "rows": done}, indent=1) + "\n")
    return done


# -- comparing --


def compared(scope: str, device: str, cases: Path, row: Mapping[str, Any]) -> Case | None:
    """The verdict on a measured row; None where nothing was measured in this scope, or the results are not right (both versions
    alike off by a rounding are: ``skipped``)."""
    folder = cases / row["case"]
    case = json.loads((folder / "case.json").read_text())
    before = row.get("before", {}).get(f"{scope}_us")
    # What waits for the device cannot be captured: its device time would hold the gaps.
    captured = "cold_us" in row.get("before", {})
    if row["outcome"] not in ("correct", "skipped") or before is None or (scope == "gpu" and not captured):
        return None
    gain = row["speedup"][scope]["speedup"] if case["worth_optimizing"] == "yes" else 1.0
    library = row.get("library", {}).get("cold_us", math.inf)
    faster = row["before"].get("cold_us", before) > UNCLEAR * library
    size = {"name": row["size"], "set": row["set"]}
    return alone(folder, case, size, scope, Measured(gain, before, faster), device)


def alone(
    folder: Path, case: Mapping[str, Any], size: Mapping[str, Any], scope: str, measured: Measured, device: str
) -> Case:
    """The verdict on what is to be judged, copied alone into an empty folder: no neighbour gives the answer away."""
    with tempfile.TemporaryDirectory() as empty:
        copy = Path(empty) / folder.name
        copy.mkdir()
        for name in ("before.py", "reference.py"):
            shutil.copy(folder / name, copy / name)
        return judged(copy, case, size, scope, measured, device)


def predicted(scope: str, device: str, subject: Subject) -> Case:
    """The verdict on a case as if it had been measured to be as case.json says."""
    unknown = Measured(math.nan if subject.case["worth_optimizing"] == "yes" else 1.0, math.nan, False)
    return alone(subject.folder, subject.case, subject.size, scope, unknown, device)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "check", "compare", "verdicts"))
    parser.add_argument("file", nargs="?", help="measured times: written by measure, read by compare")
    parser.add_argument(
        "--set", default=CASES.name, help=f"the set, by its folder or without the date (default: {CASES.name})"
    )
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--jobs", type=int, help="children side by side (default: 8 on a GPU, 2 on a CPU)")
    parser.add_argument("--scope", choices=("gpu", "call"), default="gpu")
    parser.add_argument("--device", help="predict for this device (default: the one that was measured)")
    parser.add_argument("--markdown")
    options = parser.parse_args(arguments)
    if options.what in ("measure", "compare") and options.file is None:
        parser.error(f"{options.what} needs a file")
    folder = set_called(options.set) or (Path(options.set) if Path(options.set).is_dir() else None)
    if folder is None:
        parser.error(f"no set {options.set}; there is {', '.join(one.name for one in sets())}")
    if options.what == "measure":
        if not machine().get("gpu"):
            parser.error("torch finds no GPU here")
        done = run(subjects(options.case, cases=folder), "gpu", options.jobs or 8, options.file)
        return 0 if all(row["outcome"] == "correct" for row in done) else 1
    if options.what == "check":
        done = run(subjects(options.case, tiny=True, cases=folder), "interpreter", options.jobs or 2)
        return 0 if all(row["outcome"] == "correct" for row in done) else 1
    if options.what == "verdicts":
        ask = partial(predicted, options.scope, options.device or "h100")
        table: list[Any] = subjects(options.case, cases=folder)
    else:
        measured = json.loads(Path(options.file).read_text())
        ask = partial(compared, options.scope, options.device or measured["machine"]["name"], folder)
        table = [row for row in measured["rows"] if not options.case or row["case"] in options.case]
    with ProcessPoolExecutor(2) as pool:
        cases = [case for case in pool.map(ask, table) if case is not None]
    if options.what == "verdicts":
        without = [i for i, name in enumerate(HEADER) if name in ("measured", "in", "right", "cause", "before us")]
        kept = [[cell for i, cell in enumerate(row) if i not in without] for row in [HEADER, *rows(cases)]]
        print(as_text(kept))
    else:
        print(as_text([HEADER, *rows(cases)]), end="\n\n")
        figures = [("figure", "value"), *summary(cases)[:-1]]
        print(as_text(figures))
        if options.markdown:
            tables = as_markdown(figures), as_markdown([row[:-1] for row in [HEADER, *rows(cases)]])
            Path(options.markdown).write_text("\n\n".join(tables) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
