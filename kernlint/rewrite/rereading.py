"""A program read again with edits made: what a codemod asks where the choice of its text depends on the outcome."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.errors import KernlintError
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.syntax.tree import parse_module


def reread(site: Site, edits: Iterable[TextEdit]) -> Site:
    """The program of ``site`` with ``edits`` made. Raises :class:`CannotRewrite` where it can no longer be followed."""
    try:
        module = parse_module(apply_edits(site.module.text, edits), site.module.path)
        program = Program(module, site.program.reference, site.program.question)
        workload = program.workload(site.workload.entry, NO_EDITS, site.workload.bare)
    except KernlintError as error:
        raise CannotRewrite(f"the changed program cannot be followed ({error})") from None
    if workload is None:
        raise CannotRewrite("the changed program cannot be followed")
    return Site(program, workload)
