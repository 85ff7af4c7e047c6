"""Kernels that are copies of others in their module, text for text but for their names: what was read of one holds for all.

Generated programs have a kernel for each layer. At the top of one module the same text means the same, so that what a copy does
on like arguments is told by moving the places of what was read of the first.
"""

from __future__ import annotations

import re

import libcst as cst

from kernlint.interpret.moved import Moves
from kernlint.interpret.values import Function
from kernlint.records import replace
from kernlint.syntax.tree import Module
from kernlint.workload import Kernel, Span


def form_of(function: Function) -> tuple[Module, str] | None:
    """What ``function`` has in common with its copies: the text without the name. None where it is not at the top of its module, or
    calls itself."""
    node = function.node
    if function.closure.parent is not None or not isinstance(node, cst.FunctionDef):
        return None
    forms = function.module.once(_forms)
    if id(node) not in forms:
        name, text = re.escape(node.name.value), "\n".join(function.module.excerpt(_lines(function)))
        whole = isinstance(node.body, cst.IndentedBlock)
        nameless, count = re.subn(rf"\bdef\s+{name}\b", "def ", text) if whole else (text, 0)
        forms[id(node)] = nameless if count == 1 and not re.search(rf"\b{name}\b", nameless) else None
    form = forms[id(node)]
    return None if form is None else (function.module, form)


def copied(kernel: Kernel, read: Function, function: Function) -> Kernel | None:
    """``kernel``, which was ``read``, as one of its copy ``function``; None where words in it may tell of its places."""
    moves = Moves()
    if kernel.notes or kernel.faults or not moves.note(_lines(read), _lines(function)):
        return None
    names = (one.module.span(one.node.name) for one in (read, function) if isinstance(one.node, cst.FunctionDef))
    moves.rename(*names)
    copy = replace(moves.made(kernel), name=function.name)
    vars(copy)["original"] = kernel.original
    return copy


def _forms(module: Module) -> dict[int, str | None]:
    """The forms of functions by the identity of their nodes."""
    return {}


def _lines(function: Function) -> Span:
    """Where ``function`` stands, with its decorators."""
    span = function.module.span(function.node)
    assert isinstance(function.node, cst.FunctionDef)
    return Span(span.file, function.module.first_line_of(function.node), 1, span.end_line, span.end_column)
