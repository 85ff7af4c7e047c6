"""A module with other code in some of its functions, of which only those are parsed again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import libcst as cst

from kernlint.errors import SourceError
from kernlint.syntax.source import split_lines
from kernlint.syntax.tree import Module, parse_module
from kernlint.syntax.walk import walk
from kernlint.workload import Span


class Patched(Module):
    """``before`` with the text ``text``, in which the statements that ``new`` maps to others stand as those.

    All other nodes are those of ``before``, and each stands where it stood. The tree is there to be followed, not to be
    written out: the comments above the new statements are not in it.
    """

    def __init__(self, before: Module, text: str, new: Mapping[cst.FunctionDef, Module]) -> None:
        #: The new definition in the place of each old one.
        self.new = {old: _definition(part) for old, part in new.items()}
        body = [self.new.get(node, node) for node in before.tree.body]  # type: ignore[call-overload]
        super().__init__(before.tree.with_changes(body=body), text, before.path, before.first_line, before._light)
        self._before = before
        self._parts = tuple(new.values())

    @cached_property
    def _statements(self) -> dict[cst.CSTNode, list[cst.CSTNode]]:
        known = self._before._statements
        return {node: known.get(node) or list(walk(node)) for node in self.tree.body}

    def _near_span(self, node: cst.CSTNode) -> Span | None:
        for part in self._parts:
            span = part._near_span(node)
            if span is not None:
                return span
        return self._before._near_span(node)

    def _far_span(self, node: cst.CSTNode) -> Span:
        return next((part for part in self._parts if part.has(node)), self._before)._far_span(node)


def patched(module: Module, text: str) -> Patched | None:
    """``module`` with the text ``text``, where that differs in lines of the bodies of module-level functions only, has as many
    lines and parses; else None."""
    if isinstance(module, Patched):
        return None
    old, new = module.lines, split_lines(text)
    changed = [number for number, (before, after) in enumerate(zip(old, new)) if before != after]
    if len(old) != len(new) or not changed:
        return None
    parts: dict[cst.FunctionDef, Module] = {}
    for node in module.tree.body:
        if not isinstance(node, cst.FunctionDef) or not isinstance(node.body, cst.IndentedBlock):
            continue
        first, start, last = _lines_of(module, node)
        within = [number for number in changed if first <= number <= last]
        if within:
            part = _parsed("\n".join(new[first : last + 1]) + "\n", module, first)
            if part is None or within[0] < start:
                return None
            parts[node] = part
            changed = [number for number in changed if number not in within]
    return None if changed else Patched(module, text, parts)


def _lines_of(module: Module, node: cst.FunctionDef) -> tuple[int, int, int]:
    """The indices of a function's first line, its decorators included, of the first one of its body, and of its last."""
    lines = module.first_line_of(node), module.first_line_of(node.body.body[0]), module.span(node).end_line
    first, start, last = (line - module.first_line for line in lines)
    return first, start, last


def _parsed(text: str, module: Module, first: int) -> Module | None:
    """The one function that ``text``, from line ``first`` of ``module``, consists of; None where that is not what it is."""
    try:
        part = parse_module(text, module.path, module.first_line + first)
    except SourceError:
        return None
    return part if len(part.tree.body) == 1 and isinstance(part.tree.body[0], cst.FunctionDef) else None


def _definition(part: Module) -> cst.FunctionDef:
    (definition,) = part.tree.body
    assert isinstance(definition, cst.FunctionDef)
    return definition
