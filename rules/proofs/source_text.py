"""Questions that only the source answers: which statement makes a Python loop, which operator stands at a place."""

from __future__ import annotations

from typing import TypeVar

import libcst as cst

from kernlint.rules.finding import Context
from kernlint.syntax.counters import counter
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk
from kernlint.workload import Span

Kind = TypeVar("Kind", bound=cst.CSTNode)


def node_at(context: Context, span: Span, kind: type[Kind]) -> Kind | None:
    """The node of ``kind`` at ``span`` in the analysed module; None where it stands in another file."""
    return context.program.kernel.at(span, kind)


def text_at(context: Context, span: Span) -> str:
    """The source text at ``span``, white space closed up; empty where it stands in another file."""
    module = context.program.kernel
    if span.file != module.path:
        return ""
    lines = module.excerpt(span)
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return " ".join(" ".join(lines).split())


def names_in(node: cst.CSTNode) -> set[str]:
    """The names and attribute chains (``self.h``) that stand in ``node``."""
    found: set[str] = set()
    for inner in walk(node):
        if type(inner) is cst.Name or type(inner) is cst.Attribute:
            name = dotted_name(inner)
            if name is not None:
                found.add(name)
    return found


def loop_statement(context: Context, span: Span) -> cst.For | cst.While | None:
    """The ``for`` at ``span``, or the ``while`` that only counts; None where it stands in another file or does more."""
    loop = node_at(context, span, cst.For)
    if loop is not None:
        return loop
    other = node_at(context, span, cst.While)
    return other if other is not None and counter(other) is not None else None


def loop_variables(loop: cst.For | cst.While) -> set[str]:
    """The names that the ``for`` statement itself binds, or the counter of a ``while``."""
    if isinstance(loop, cst.For):
        return names_in(loop.target)
    found = counter(loop)
    return {found.name.value} if found is not None else set()
