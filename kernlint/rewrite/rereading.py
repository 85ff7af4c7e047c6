"""A program read again with edits made: what a codemod asks where the choice of its text depends on the outcome."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import libcst as cst

from kernlint.errors import KernlintError
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.question import Question
from kernlint.records import dataclass
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.syntax.patched import patched
from kernlint.syntax.tree import Module, parse_module
from kernlint.workload import Workload

#: Functions that whoever reads a program asks for by name.
_ASKED_FOR = ("get_inputs", "get_init_inputs")
#: What a blank stands for.
_CHARACTER = re.compile(r"[^\r\n]")


@dataclass(frozen=True)
class Changed:
    """What a program does after edits (``workload``), and its ``source`` then."""

    workload: Workload
    source: Source


def reread(site: Site, edits: Iterable[TextEdit], checked: bool = True) -> Changed:
    """The program of ``site`` with ``edits`` made; of autotuned launches, the first configuration. Unless ``checked``, what the
    compiler's front end refuses of changed kernels may be missing. Raises :class:`CannotRewrite` where the program can no longer
    be followed."""
    edits = list(edits)
    module = patched(site.module, apply_edits(site.module.text, edits))
    workload = site.program.with_kernels(site.workload, module, checked) if module is not None else None
    if module is not None and workload is not None:
        return Changed(workload, Source(module))
    return _followed(site, edits)


def _followed(site: Site, edits: Sequence[TextEdit]) -> Changed:
    """The same with the host code followed again."""
    before = site.workload
    try:
        module = parsed(apply_edits(_without_others(site, edits), edits), site.module)
        program = site.program.variant(module, _narrowed(site))
        workload = program.workload(before.entry, NO_EDITS, before.bare)
    except KernlintError as error:
        raise CannotRewrite(f"the changed program cannot be followed ({error})") from None
    if workload is None:
        raise CannotRewrite("the changed program cannot be followed")
    return Changed(workload, Source(module))


def _narrowed(site: Site) -> Question:
    """The question of the program, about the one function alone where that is all there is to it: the others of a large module
    take most of the time."""
    program, entry = site.program, site.workload.entry
    question = program.question
    plain = program.reference is None and not question.facts and not question.overrides
    return replace(question, entry=entry) if plain and not site.workload.bare and "." not in entry else question


def _without_others(site: Site, edits: Sequence[TextEdit]) -> str:
    """The module's text with blanks for the functions without ``edits`` that the entry cannot reach by the names that it, and all
    that is no function, uses: to parse those would be in vain. What is left stays where it is."""
    module, source = site.module, site.source
    functions = {node: node.name.value for node in module.tree.body if isinstance(node, cst.FunctionDef)}
    open_ends: list[cst.CSTNode] = [node for node in module.tree.body if node not in functions]
    open_ends += [node for node, name in functions.items() if name in (site.workload.entry, *_ASKED_FOR)]
    left = dict(functions)
    while open_ends:
        node = open_ends.pop()
        left.pop(node, None)  # type: ignore[call-overload]
        used = {name.value for name in module.within(node, cst.Name)}
        open_ends += [other for other, name in left.items() if name in used]
    text = module.text
    for node in left:
        start, end = source.line_start(source.first_line(node)), source.end(node)
        if not any(start <= edit.end and edit.start <= end for edit in edits):
            text = text[:start] + _CHARACTER.sub(" ", text[start:end]) + text[end:]
    return text


def parsed(text: str, like: Module) -> Module:
    """``text`` in the place of the module ``like``. The last ones are kept: one change is often asked for in several ways."""
    return _parsed(text, like.path, like.first_line)


@lru_cache(maxsize=4)
def _parsed(text: str, path: str, first_line: int) -> Module:
    return parse_module(text, path, first_line)
