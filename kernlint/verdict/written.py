"""What a call takes in the kernels that ``fix`` would write for a change: their source, read and priced like any other, and with the tiles
that take the least."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from kernlint.cost.comparing import Comparison
from kernlint.cost.device import Device
from kernlint.cost.estimate import Estimate, Estimator
from kernlint.errors import KernlintError, SourceError
from kernlint.generate.tiles import alternatives
from kernlint.generate.values import CannotGenerate
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.operators.generate import text_of, written_anew
from kernlint.records import replace
from kernlint.rewrite.edits import Attempt
from kernlint.rewrite.effects import Rewriting
from kernlint.rewrite.text import CannotRewrite, apply_edits
from kernlint.rules.finding import Context
from kernlint.syntax.tree import parse_module
from kernlint.verdict.candidate import Candidate, Gains, Priced
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


def gains_of_written(change: Candidate, device: Device) -> Mapping[str, Priced]:
    """What the kernels written anew for ``change`` gain, by scope; empty where that is not known."""
    price, program = Estimator(device).estimate, change.program
    before = program.workload(change.entry, NO_EDITS, change.bare) if program is not None else None
    after = written(change, price)
    return {} if before is None or after is None else Gains(Comparison(price(before), after))


#: Other tiles that are priced for a program, and the part of its time that one has to come to.
_MOST_TRIED, _CLEARLY_LESS = 24, 0.95


def with_best_tiles(program: Program, way: Attempt, context: Context, scope: str) -> Rewriting:
    """``way``, kernels written anew, with the tiles that take the least of those tried, one kernel after the other, the one with the most
    elements first, and one step after the other. As it is where nothing says what it takes; ``context`` is that of the program before."""

    entry = context.workload.entry

    def us_of(made: Rewriting) -> float:
        workload = _read(program, entry, made)
        return (context.price(workload).total_us(scope) if workload is not None else None) or math.inf

    best, tried = way.rewriting, set[str]()
    assert best is not None
    least = us_of(best)
    if math.isinf(least):
        return best
    itself = program.reference is None or way is not written_anew(program, entry)
    tiles = dict(sorted(text_of(program, entry, itself, {})[0].tiles.items(), key=lambda one: -one[0].elements))
    before = math.inf
    while least < before:
        before = least
        for form, tile in tiles.items():
            found = [(least * _CLEARLY_LESS, tile, best)]
            for other in alternatives(form, tile):
                if len(tried) == _MOST_TRIED:
                    break
                try:
                    changes = text_of(program, entry, itself, {**tiles, form: other})[1]
                except (CannotGenerate, CannotRewrite, SourceError):
                    continue
                text = "".join(one.text for one in changes)
                if text not in tried:
                    tried.add(text)
                    made = replace(best, edits=tuple(changes))
                    found.append((us_of(made), other, made))
            us, tiles[form], made = min(found, key=lambda one: one[0])
            least, best = (least, best) if made is best else (us, made)
    return best


def _read(program: Program, entry: str, made: Rewriting) -> Workload | None:
    """What ``entry`` does once it is ``made``; None where that cannot be followed to its end."""
    try:
        module = parse_module(apply_edits(program.kernel.text, made.edits), program.kernel.path)
        found = Program(module, program.reference, program.question).workload(entry, NO_EDITS)
    except KernlintError:
        return None
    complete = found is not None and all(launch.kernel.complete for launch in found.launches())
    return found if complete else None
