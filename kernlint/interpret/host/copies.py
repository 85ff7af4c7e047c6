"""Kernels that are copies of others in their module, text for text but for their names: what was read of one holds for all.

Generated programs have a kernel for each layer. At the top of one module the same text means the same, so that what a copy does
on like arguments is told by moving the places of what was read of the first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import libcst as cst

from kernlint.interpret.moved import Moves
from kernlint.interpret.values import Function
from kernlint.records import replace
from kernlint.syntax.tree import Module
from kernlint.workload import Kernel, Span


def wording(function: Function, edited: Collection[Span] = ()) -> object:
    """What ``function`` has in common with its copies: the text without the name. Itself where it is not at the top of its module,
    names itself, or holds one of the places that are ``edited``."""
    node, module = function.node, function.module
    if function.closure.parent is not None or not isinstance(node, cst.FunctionDef):
        return node
    if any(_lines(node, module).contains(span) for span in edited):
        return node
    known = module.once(_wordings)
    if id(node) not in known:
        name, text = re.escape(node.name.value), "\n".join(module.excerpt(_lines(node, module)))
        whole = isinstance(node.body, cst.IndentedBlock)
        nameless, count = re.subn(rf"\bdef\s+{name}\b", "def ", text) if whole else (text, 0)
        own = count == 1 and not re.search(rf"\b{name}\b", nameless)
        known[id(node)] = (module, nameless) if own else node
    return known[id(node)]


def copied(known: Mapping[cst.CSTNode, Kernel], function: Function) -> Kernel | None:
    """What was read first of the functions ``known``, as read of their copy ``function``; None where there is none, or words in it may
    tell of its places."""
    node, module, moves = function.node, function.module, Moves()
    for first, kernel in known.items():
        assert isinstance(first, cst.FunctionDef) and isinstance(node, cst.FunctionDef)
        if kernel.notes or kernel.faults or not moves.note(_lines(first, module), _lines(node, module)):
            return None
        moves.rename(module.span(first.name), module.span(node.name))
        copy = replace(moves.made(kernel), name=function.name)
        vars(copy)["original"] = kernel.original
        return copy
    return None


def _wordings(module: Module) -> dict[int, object]:
    """Those of functions by the identity of their nodes."""
    return {}


def _lines(node: cst.FunctionDef, module: Module) -> Span:
    """Where a function stands, with its decorators."""
    span = module.span(node)
    return Span(span.file, module.first_line_of(node), 1, span.end_line, span.end_column)
