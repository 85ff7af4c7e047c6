"""What a call takes in the kernels that ``fix`` would write for a change: their source, read and priced like any other."""

from __future__ import annotations

from collections.abc import Callable

from kernlint.cost.estimate import Estimate
from kernlint.errors import KernlintError
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.rewrite.effects import Rewriting
from kernlint.rewrite.text import apply_edits
from kernlint.syntax.tree import parse_module
from kernlint.verdict.candidate import Candidate
from kernlint.workload import Workload


def written(change: Candidate, price: Callable[[Workload], Estimate]) -> Estimate | None:
    """The times of the kernels written anew for ``change``; None where edits make it, or none can be written and priced."""
    program = change.program
    for way in change.ways() if program is not None else ():
        if way.rewriting is None or not way.automatic:
            continue
        workload = _read(program, change.entry, way.rewriting) if way.anew and program is not None else None
        found = price(workload) if workload is not None else None
        return found if found is not None and found.gpu_us is not None else None
    return None


def _read(program: Program, entry: str, made: Rewriting) -> Workload | None:
    """What ``entry`` does once it is ``made``; None where that cannot be followed to its end."""
    try:
        module = parse_module(apply_edits(program.kernel.text, made.edits), program.kernel.path)
        found = Program(module, program.reference, program.question).workload(entry, NO_EDITS)
    except KernlintError:
        return None
    complete = found is not None and all(launch.kernel.complete for launch in found.launches())
    return found if complete else None
