"""Where a module speaks of one of its own functions."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.syntax.names import bound_by
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import children, walk


def mentions(module: Module, name: str) -> Iterator[cst.CSTNode]:
    """The places that mean the module-level function ``name``, its definition left out: names (not those of local
    variables, attributes and keywords) and strings of that text, as in ``__all__``."""
    for statement in module.once(_statements).get(name, ()):
        yield from _in(statement, name)


def _statements(module: Module) -> dict[str, list[cst.CSTNode]]:
    """The statements of ``module`` by the names and strings in them."""
    found: dict[str, list[cst.CSTNode]] = {}
    for statement in children(module.tree):
        words = {name.value for name in module.within(statement, cst.Name)}
        for word in words | {text.raw_value for text in module.within(statement, cst.SimpleString)}:
            found.setdefault(word, []).append(statement)
    return found


def _in(node: cst.CSTNode, name: str) -> Iterator[cst.CSTNode]:
    if isinstance(node, (cst.FunctionDef, cst.Lambda)) and name in _local_names(node):
        return
    if (isinstance(node, cst.Name) and node.value == name) or (
        isinstance(node, cst.SimpleString) and node.raw_value == name
    ):
        yield node
    for child in children(node):
        own_name = isinstance(node, (cst.FunctionDef, cst.ClassDef)) and child is node.name
        keyword = isinstance(node, cst.Arg) and child is node.keyword
        attribute = isinstance(node, cst.Attribute) and child is node.attr
        if not own_name and not keyword and not attribute:
            yield from _in(child, name)


def _local_names(function: cst.FunctionDef | cst.Lambda) -> set[str]:
    """The parameters of a function and the plain variables that it binds, nested functions included."""
    found = {node.name.value for node in walk(function.params) if isinstance(node, cst.Param)}
    return found | {name.value for node in walk(function.body) for name in bound_by(node)}
