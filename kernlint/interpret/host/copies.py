"""Kernels that are copies of others in their module, text for text but for their names: what was read of one holds for all.

Generated programs have a kernel for each layer. At the top of one module the same text means the same, so that what a copy does
on like arguments is told by moving the places of what was read of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import libcst as cst

from kernlint.interpret.moved import placed
from kernlint.interpret.values import Function
from kernlint.records import replace
from kernlint.syntax.copies import top_functions
from kernlint.workload import Kernel, Span


def wording(function: Function, edited: Collection[Span] = ()) -> object:
    """What ``function`` has in common with its copies: the text without the name. Itself where it is not at the top of its module,
    tells its name, or holds one of the places that are ``edited``."""
    node, module = function.node, function.module
    known = module.once(top_functions).get(function.name)
    if known is None or known.node is not node or any(known.lines.contains(span) for span in edited):
        return node
    return node if known.nameless is None else (module, known.nameless)


def copied(known: Mapping[cst.CSTNode, Kernel], function: Function) -> Kernel | None:
    """What was read first of the functions ``known``, as read of their copy ``function``; None where there is none, or words in it may
    tell of its places."""
    node, module = function.node, function.module
    for first, kernel in known.items():
        assert isinstance(first, cst.FunctionDef) and isinstance(node, cst.FunctionDef)
        functions = module.once(top_functions)
        before, now = functions[first.name.value].lines, functions[node.name.value].lines
        if kernel.notes or kernel.faults or before.end_column != now.end_column:
            return None
        by, longer = now.line - before.line, len(node.name.value) - len(first.name.value)
        copy = replace(placed(kernel, _moving(before, by, module.span(first.name), longer)), name=function.name)
        vars(copy)["original"] = kernel.original
        return copy
    return None


def _moving(before: Span, by: int, name: Span, longer: int) -> Callable[[Span], Span]:
    """What moves places in the lines ``before`` down by so many, where the ``name`` is so much longer."""

    def column(line: int, column: int) -> int:
        return column + longer if line == name.line and column >= name.end_column else column

    def place(span: Span) -> Span:
        first, last = column(span.line, span.column), column(span.end_line, span.end_column)
        inside = span.file == before.file and before.line <= span.line <= before.end_line
        return Span(span.file, span.line + by, first, span.end_line + by, last) if inside else span

    return place
