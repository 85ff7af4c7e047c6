"""A change of the source that writes the computation anew: the remedy where no local edit is known."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from kernlint.errors import SourceError
from kernlint.generate.edits import edits
from kernlint.generate.program import rewritten
from kernlint.generate.values import CannotGenerate
from kernlint.interpret.program import Program
from kernlint.rewrite.edits import Attempt
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.text import CannotRewrite, apply_edits
from kernlint.syntax.tree import check_syntax

#: What everybody is told who takes generated kernels.
UNPROVEN = "the kernels are written anew from the reference and not proven (kernlint verify does it)"

#: And who takes those that are written for some extents alone.
FIXED = "they serve only the extents that they assert"


def written_anew(program: Program, entry: str) -> Attempt:
    """``entry`` with kernels of known good forms in the place of what it does; asked once for each."""
    made = _ATTEMPTS.setdefault(program, {})
    if entry not in made:
        made[entry] = _attempt(program, entry)
    return made[entry]


_ATTEMPTS: WeakKeyDictionary[Program, dict[str, Attempt]] = WeakKeyDictionary()


def _attempt(program: Program, entry: str) -> Attempt:
    module = program.kernel
    try:
        made = rewritten(program, entry)
        changes = edits(module.text, entry, [kernel.source for kernel in made.kernels], made.body)
        check_syntax(module, apply_edits(module.text, changes))
    except (CannotGenerate, CannotRewrite) as error:
        return Attempt(None, f"no kernels can be written for it: {error}")
    except SourceError as error:
        return Attempt(None, f"the kernels written for it would not parse ({error})")
    notes = (UNPROVEN, *((FIXED,) if any(line.startswith("assert ") for line in made.body) else ()))
    return Attempt(Rewriting(tuple(changes), Effects("unsafe", "reordered", "same", notes)))
