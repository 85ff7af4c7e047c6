"""What `kernlint fix` makes of the programs of the sets in this folder, and how much of an expert's gain that is.

    python evals/fixes.py write FIXED --set nine --set ten [--device h200]     the fixes, each a case of its own in the folder FIXED
    python evals/heldout.py measure fixed.json --set FIXED                     on a GPU
    python evals/fixes.py summary fixed.json --set nine --set ten              beside the times of the sets

Only programs with something to gain are fixed, at each of their sizes, with ``--follow-ups`` and ``--unsafe-fixes``. A case in FIXED is
called SET.CASE.SIZE and has the fixed program as its after.py. What a fix gains is measured against the program before it in one run;
the expert's gain is that in the file of times of the set. Their share is the ratio of the two.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from heldout import Subject, set_called, subjects

from kernlint.errors import KernlintError
from kernlint.fix import fix_source
from kernlint.request import Request


def positives(names: Sequence[str]) -> Iterator[tuple[str, Subject]]:
    """The programs of the sets with something to gain, at each size."""
    for name in names:
        folder = set_called(name)
        if folder is None:
            raise SystemExit(f"no set {name}")
        yield from ((name, one) for one in subjects((), cases=folder) if one.case["worth_optimizing"] == "yes")


def write(target: Path, names: Sequence[str], device: str) -> None:
    """Put the fixes into ``target`` and tell what became of each program."""
    for name, subject in positives(names):
        before, reference = ((subject.folder / f"{part}.py").read_text() for part in ("before", "reference"))
        applied, refused, after = [], "", None
        try:
            made = fix_source(
                Request(before, path="before.py", reference=reference, device=device, overrides=subject.size["set"]),
                follow_ups=True,
                unsafe=True,
            )
        except KernlintError as error:
            refused = str(error)
        else:
            applied = [
                f"{one.code or one.name} {one.gain.middle:.2f}x" if one.gain else one.code for one in made.applied
            ]
            refused = "; ".join(one.reason for one in made.refused)
            after = made.after if applied else None
        print(f"{name} {subject.label:36} {', '.join(map(str, applied)) or '-'}  {refused[:120]}", flush=True)
        if after is not None:
            case = target / f"{name}.{subject.folder.name}.{subject.size['name']}"
            case.mkdir(parents=True, exist_ok=True)
            for part in ("before.py", "reference.py"):
                shutil.copy(subject.folder / part, case)
            (case / "after.py").write_text(after)
            (case / "case.json").write_text(json.dumps({**subject.case, "sizes": [subject.size]}, indent=1) + "\n")


def gain_of(row: dict[str, Any], scope: str) -> float | None:
    found = row.get("speedup", {}).get(scope, {}).get("speedup")
    return float(found) if found else None


def summary(measured: Path, names: Sequence[str], scope: str) -> None:
    """The measured fixes beside the experts', and all of them together."""
    experts: dict[str, dict[str, Any]] = {}
    for name in names:
        folder = set_called(name)
        assert folder is not None
        times = next(folder.glob("h*.json"))
        experts |= {f"{name}.{row['case']}.{row['size']}": row for row in json.loads(times.read_text())["rows"]}
    fixes = {row["case"]: row for row in json.loads(measured.read_text())["rows"]}
    shares, gains = [], []
    for label, row in sorted(fixes.items()):
        gain, expert = gain_of(row, scope), gain_of(experts[label], scope)
        share = gain / expert if gain and expert else None
        if share is not None and gain is not None:
            shares.append(share)
            gains.append(gain)
        print(f"{label:44} {row['outcome']:10} {gain or math.nan:6.2f}x of {expert or math.nan:6.2f}x")
    asked = [f"{name}.{subject.folder.name}.{subject.size['name']}" for name, subject in positives(names)]
    programs = {one.rpartition(".")[0] for one in asked}
    fixed = [{one for one in asked if one.startswith(f"{program}.")} for program in programs]
    print(f"programs with a fix: {sum(bool(one & fixes.keys()) for one in fixed)} of {len(programs)}")
    print(f"at all sizes:        {sum(one <= fixes.keys() for one in fixed)}")
    print(f"fixes:               {len(fixes)} of {len(asked)}, slower than before: {sum(gain < 1 for gain in gains)}")
    if shares:
        print(f"share of the expert's gain, geometric mean: {math.exp(sum(map(math.log, shares)) / len(shares)):.2f}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "summary"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--set", action="append", required=True)
    parser.add_argument("--device", default="h200")
    parser.add_argument("--scope", choices=("gpu", "call"), default="gpu")
    options = parser.parse_args(arguments)
    if options.what == "write":
        write(options.path, options.set, options.device)
    else:
        summary(options.path, options.set, options.scope)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
