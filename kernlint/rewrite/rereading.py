"""A program read again with edits made: what a codemod asks where the choice of its text depends on the outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from kernlint.errors import KernlintError
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program, Question
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.syntax.tree import Module, parse_module


def reread(site: Site, edits: Iterable[TextEdit]) -> Site:
    """The program of ``site`` with ``edits`` made. Raises :class:`CannotRewrite` where it can no longer be followed."""
    before = site.workload
    try:
        module = parsed(apply_edits(site.module.text, edits), site.module.path)
        program = Program(module, site.program.reference, _narrowed(site))
        workload = program.workload(before.entry, NO_EDITS, before.bare)
    except KernlintError as error:
        raise CannotRewrite(f"the changed program cannot be followed ({error})") from None
    if workload is None:
        raise CannotRewrite("the changed program cannot be followed")
    return Site(program, workload)


def _narrowed(site: Site) -> Question:
    """The question of the program, about the one function alone where that is all there is to it: the others of a large module
    take most of the time."""
    program, entry = site.program, site.workload.entry
    question = program.question
    plain = program.reference is None and not question.facts and not question.overrides
    return replace(question, entry=entry) if plain and not site.workload.bare and "." not in entry else question


@lru_cache(maxsize=4)
def parsed(text: str, path: str) -> Module:
    """``text`` as a module; the last ones are kept, as what is read again is often what is made in the end."""
    return parse_module(text, path)
