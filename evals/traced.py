"""Do the workloads that are read from source and those that are traced agree, over whole sets of programs?

    python evals/traced.py                               # the pairs and all sets here
    python evals/traced.py --keep traces/                # keep what the children reported, and use it where it is there
    python evals/traced.py --programs list.jsonl --root folder   # {"path": ..., "reference": ...} a line, relative to the folder

Each program runs in the sandbox of `kernlint --trace`, on fake tensors, without a GPU; needs `kernlint[verify]`. A program agrees
where its launches (kernel, grid, constexprs, warps and stages, configurations, every argument's type, shape and strides), its
torch operations (kind, size and type of the result) and its waits of the host are the same, none of them unknown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernlint.cost.device import find_device
from kernlint.errors import KernlintError
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.interpret.recorded.agreement import differences
from kernlint.interpret.recorded.program import RecordedProgram
from kernlint.interpret.recorded.recording import Recording
from kernlint.records import dataclass
from kernlint.request import Request
from kernlint.syntax.source import read_source
from kernlint.syntax.task import read_task
from kernlint.verify.trace import make_job, trace

ROOT = Path(__file__).parents[1]
DEVICE = "h100-sxm"


@dataclass
class Count:
    programs: int = 0
    traced: int = 0
    kernels: int = 0
    references: int = 0
    both: int = 0
    known: int = 0


def cases(arguments: argparse.Namespace) -> Iterator[tuple[str, Path, Path | None]]:
    """The set, the kernel and the reference of each program."""
    if arguments.programs:
        root = Path(arguments.root)
        for number, line in enumerate(Path(arguments.programs).read_text().splitlines()):
            row = json.loads(line)
            if number % arguments.every == 0:
                yield "programs", root / row["path"], root / row["reference"] if row.get("reference") else None
        return
    for folder in (ROOT / "fixtures/pairs", *sorted((ROOT / "evals").glob("2*"))):
        for kernel in sorted(folder.glob("*/before.py")):
            reference = kernel.with_name("reference.py")
            yield folder.name, kernel, reference if reference.exists() else None


def recording(kernel: Path, reference: Path | None, keep: Path | None) -> Recording:
    """What the program does, from ``keep`` where it was traced before."""
    name = "__".join(kernel.parts[-3:]) + ".json"
    if keep is not None and (keep / name).exists():
        kept = json.loads((keep / name).read_text())
        if "error" in kept:
            raise KernlintError(kept["error"])
        return Recording(kept["traces"], tuple(kept["notes"]))
    try:
        found = trace(make_job(Request(kernel.read_text(), str(kernel), device=DEVICE, **_given(reference))))
        report: dict[str, Any] = {"traces": found.traces, "notes": found.notes}
    except KernlintError as error:
        report = {"error": str(error)}
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / name).write_text(json.dumps(report))
    if "error" in report:
        raise KernlintError(report["error"])
    return found


def _given(reference: Path | None) -> dict[str, str]:
    return {} if reference is None else {"reference": reference.read_text(), "reference_path": str(reference)}


def compare(name: str, kernel: Path, reference: Path | None, keep: Path | None, count: Count) -> None:
    """Count one program, and print where reading and tracing differ."""
    count.programs += 1
    modules = [read_task(read_source(str(path))).kernel for path in (kernel, reference) if path is not None]
    question = Question(host=host_facts(find_device(DEVICE)))
    static: Any = None
    try:
        read = Program(modules[0], modules[1] if len(modules) > 1 else None, question).workloads()
        static = read[0] if read else None
    except KernlintError:
        pass
    count.known += static is not None and bool(static.first_call().launches()) and not static.unknowns
    try:
        found = recording(kernel, reference, keep)
    except KernlintError as error:
        print(f"{name}: not traced: {str(error).removeprefix(f'{kernel}: ')[:200]}")
        return
    program = RecordedProgram(modules[0], modules[1] if len(modules) > 1 else None, question, found)
    traced = program.traced_workload(NO_EDITS)
    assert traced is not None
    count.traced += 1
    told = ["the source does not tell"] if static is None else list(differences(static, traced))
    count.kernels += not told
    if traced.reference is not None:
        count.both += 1
        of_reference = differences(static.reference, traced.reference) if static and static.reference else ("unread",)
        count.references += not of_reference
        told += [f"reference: {what}" for what in of_reference]
    for what in told:
        print(f"{name}: {what}")
    program.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="a folder of reports")
    parser.add_argument("--programs", help="a list of other programs, JSON objects a line")
    parser.add_argument("--root", default=".", help="what the paths of the list are relative to")
    parser.add_argument("--every", type=int, default=1, help="only every so many of the list")
    parser.add_argument("--only", default="", help="only programs with this in their path")
    arguments = parser.parse_args()
    counts: dict[str, Count] = {}
    for group, kernel, reference in cases(arguments):
        if arguments.only in str(kernel):
            name = f"{group}/{kernel.parent.name}" if kernel.stem == "before" else str(kernel)
            compare(name, kernel, reference, arguments.keep, counts.setdefault(group, Count()))
    print(
        "\n| set | programs | read without an unknown | traced | same launches, operations and waits | references the same |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for group, c in counts.items():
        print(
            f"| {group} | {c.programs} | {c.known} | {c.traced} | {c.kernels} of {c.traced} | {c.references} of {c.both} |"
        )


if __name__ == "__main__":
    main()
