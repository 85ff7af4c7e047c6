"""Generate: the computation written anew, from the reference or from what the program does itself, in kernels of known good forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from kernlint.errors import SourceError
from kernlint.generate.edits import edits
from kernlint.generate.kernel import Kernel
from kernlint.generate.program import rewritten
from kernlint.generate.tiles import Chosen
from kernlint.generate.values import CannotGenerate
from kernlint.generate.writing import Rewritten
from kernlint.headroom.causes import ORDER
from kernlint.interpret.program import Program
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.rewrite.edits import Attempt
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.rules.finding import Context
from kernlint.syntax.tree import check_syntax

#: What everybody is told who takes generated kernels.
UNPROVEN = "the kernels are written anew from the reference and not proven (kernlint verify does it)"
FROM_ITSELF = "the kernels are written anew from what the program computes and not proven (kernlint verify does it)"

#: And who takes those that are written for some extents alone.
FIXED = "they serve only the extents that they assert"

#: And who takes sums over one side of a diagonal that are made from those over both.
CANCELS = "what stands on a diagonal is added and taken away again, which loses digits where that is much larger than the rest"


class _Generate(Operator[Place, Rewriting]):
    """Whatever holds a call back, kernels of another form do not have it; so it may be tried for every cause."""

    name: ClassVar[str] = "generate"
    causes: ClassVar[frozenset[str]] = frozenset(ORDER)

    def sites(self, context: Context) -> Iterator[Place]:
        entry, steps = context.workload.entry, context.workload.steps
        if steps:
            yield Place(f"all that `{entry}` computes", steps[0].span, "", "")

    def check(self, context: Context, site: Place) -> Rewriting | WhyNot:
        made = first_way(context.program, context.workload.entry)
        return made.rewriting if made.rewriting is not None else WhyNot(made.reason)

    def apply(self, context: Context, proofs: Sequence[Rewriting]) -> None:
        """What it takes then is the achievable time of the headroom: no what-if of the interpreter says it."""

    def emit(self, context: Context, proofs: Sequence[Rewriting]) -> Attempt:
        return first_way(context.program, context.workload.entry)


GENERATE = _Generate()


def written_anew(program: Program, entry: str, itself: bool = False) -> Attempt:
    """``entry`` with kernels of known good forms in the place of what it does: by the reference, or where there is none or ``itself`` is
    asked for by what the program computes. Asked once for each."""
    return program.once(_written, entry, itself or program.reference is None)


def ways_to_write(program: Program, entry: str) -> Iterator[Attempt]:
    """Each way to write ``entry`` anew, the one that is made for other sizes too first."""
    yield written_anew(program, entry)
    if program.reference is not None:
        yield written_anew(program, entry, True)


def first_way(program: Program, entry: str) -> Attempt:
    """The first of the ways in which it can be written; why not in the first, where it cannot in any."""
    first = written_anew(program, entry)
    return next((way for way in ways_to_write(program, entry) if way.rewriting is not None), first)


def _with_helpers(kernels: Sequence[Kernel], text: str) -> list[str]:
    """The sources of ``kernels`` behind those of the functions that they call, under names that ``text`` does not have."""
    helpers = {name: source for kernel in kernels for name, source in kernel.helpers.items()}
    sources = [*helpers.values(), *(kernel.source for kernel in kernels)]
    for name in helpers:
        new = name
        while re.search(rf"\b{new}\b", text):
            new += "_"
        sources = [re.sub(rf"\b{name}\b", new, source) for source in sources]
    return sources


def text_of(program: Program, entry: str, itself: bool, chosen: Chosen) -> tuple[Rewritten, list[TextEdit]]:
    """``entry`` written anew, and what that changes in the source. Raises where it cannot be, or would not parse."""
    module = program.kernel
    made = rewritten(program, entry, itself, chosen)
    changes = edits(module.text, entry, _with_helpers(made.kernels, module.text), made.body)
    check_syntax(module, apply_edits(module.text, changes))
    return made, changes


def _written(program: Program, entry: str, itself: bool) -> Attempt:
    try:
        made, changes = text_of(program, entry, itself, {})
    except (CannotGenerate, CannotRewrite) as error:
        return Attempt(None, f"no kernels can be written for it: {error}")
    except SourceError as error:
        return Attempt(None, f"the kernels written for it would not parse ({error})")
    unproven = FROM_ITSELF if itself else UNPROVEN
    notes = (unproven, *((FIXED,) if made.fixed else ()), *((CANCELS,) if made.cancels else ()))
    numerics = "changed" if made.narrowed or made.cancels else "reordered"
    return Attempt(Rewriting(tuple(changes), Effects("unsafe", numerics, "same", notes)), anew=True)
