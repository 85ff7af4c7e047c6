"""The verdicts of two trees beside each other: for changes that are to leave all of them as they are.

    git worktree add /tmp/before HEAD~3
    python evals/trees.py write /tmp/before before.jsonl [--part 0/2] [--case NAME]...
    python evals/trees.py write . after.jsonl
    python evals/trees.py compare before.jsonl after.jsonl

``write`` takes every case of the sets, of ``fixtures/pairs`` and ``fixtures/reported`` of this tree, at all its sizes (some 1,200), and
goes on where a file of an earlier run ends: six minutes for two cores. The other tree is copied first, so that it may change meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def subjects() -> Iterator[tuple[str, Path, Path, dict[str, Any]]]:
    """(name, program, reference, constants) of each question."""
    for folder in (*sorted(ROOT.glob("evals/2026-*/*/")), *sorted(ROOT.glob("fixtures/pairs/*/"))):
        for size in json.loads((folder / "case.json").read_text())["sizes"]:
            name = f"{folder.relative_to(ROOT)} {size['name']}"
            yield name, folder / "before.py", folder / "reference.py", size["set"]
    for file in sorted(ROOT.glob("fixtures/reported/cases/*/*.py")):
        if file.name in ("bad.py", "good.py"):
            yield str(file.relative_to(ROOT)), file, file.parent / "reference.py", {}


def write(tree: Path, out: Path, part: str, cases: list[str]) -> None:
    """Have the kernlint of ``tree`` write a verdict a line to ``out``."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "kernlint")
        shutil.copytree(tree / "kernlint", copy)
        for name in ("rules", "schema"):
            shutil.copytree(tree / name, copy / name)
        command = [sys.executable, __file__, "answer", folder, str(out), "--part", part]
        command += [word for case in cases for word in ("--case", case)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": folder})


def answer(tree: str, out: Path, part: str, cases: list[str]) -> None:
    import kernlint

    assert str(kernlint.__file__).startswith(tree), f"this is {kernlint.__file__}"
    number, parts = map(int, part.split("/"))
    known = {json.loads(line)["name"] for line in out.read_text().splitlines()} if out.exists() else set()
    with out.open("a") as file:
        for name, program, reference, constants in list(subjects())[number::parts]:
            if name in known or (cases and not any(case in name for case in cases)):
                continue
            try:
                verdict = kernlint.analyze(
                    program.read_text(),
                    path=str(program),
                    reference=reference.read_text() if reference.exists() else None,
                    reference_path=str(reference),
                    device="h200" if name.startswith("evals") else None,
                    overrides=constants,
                ).to_json()
            except Exception as error:
                verdict = {"error": f"{type(error).__name__}: {error}"}
            file.write(json.dumps({"name": name, "verdict": verdict}, sort_keys=True) + "\n")
            file.flush()


def differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from differences(one.get(key), other.get(key), f"{path}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other)):
            yield from differences(*pair, f"{path}/{place}")
    elif one != other:
        yield path, one, other


def compare(before: Path, after: Path) -> int:
    read = [{one["name"]: one["verdict"] for one in map(json.loads, file.open())} for file in (before, after)]
    both, other = sorted(read[0].keys() & read[1].keys()), 0
    for name in both:
        found = list(differences(read[0][name], read[1][name]))
        other += bool(found)
        for path, one, two in found:
            print(f"{name}{path}\n    {str(one)[:160]}\n    {str(two)[:160]}")
    print(f"{len(both)} verdicts, {other} of them differ")
    return int(other > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "answer", "compare"))
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--case", action="append", default=[])
    asked = parser.parse_args()
    if asked.what == "compare":
        return compare(asked.first, asked.second)
    if asked.what == "write":
        write(asked.first.resolve(), asked.second, asked.part, asked.case)
    else:
        answer(str(asked.first), asked.second, asked.part, asked.case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
