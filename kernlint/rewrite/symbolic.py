"""Expressions of straight code as trees in which variables are written out, so that equal ones compare equal."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import libcst as cst

from kernlint.rewrite.source import Source

#: A tree: the kind of expression, then its parts.
Tree = tuple[Any, ...]

#: Order of the arguments that people pass by name or by position as they like.
_SIGNATURES = {
    "triton.language.load": ("pointer", "mask", "other"),
    "triton.language.where": ("condition", "x", "y"),
    "triton.language.sum": ("input", "axis"),
    "triton.language.max": ("input", "axis"),
    "triton.language.min": ("input", "axis"),
}


def tree(source: Source, node: cst.CSTNode, known: Mapping[str, Tree]) -> Tree:
    """``node`` with the variables in ``known`` replaced by what they stand for."""
    if isinstance(node, cst.Name):
        return known.get(node.value, ("name", node.value))
    if isinstance(node, cst.BinaryOperation):
        operator = type(node.operator).__name__
        return (operator, tree(source, node.left, known), tree(source, node.right, known))
    if isinstance(node, cst.UnaryOperation):
        return (type(node.operator).__name__, tree(source, node.expression, known))
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        (one,) = node.comparisons
        return (
            type(one.operator).__name__,
            tree(source, node.left, known),
            tree(source, one.comparator, known),
        )
    if isinstance(node, (cst.Integer, cst.Float)):
        return ("number", node.evaluated_value)  # 1 equals 1.0, and a float has no room for every integer
    if isinstance(node, cst.Attribute):
        origin = source.origin(node) or ""
        if origin.startswith(("triton.", "torch.")):
            return ("name", origin)
        return ("attribute", node.attr.value, tree(source, node.value, known))
    if isinstance(node, cst.Call):
        return _call(source, node, known)
    if isinstance(node, cst.Arg):
        return tree(source, node.value, known)
    return ("other", type(node).__name__, *(tree(source, child, known) for child in node.children), _words(node))


def _words(node: cst.CSTNode) -> str:
    text = getattr(node, "value", None)
    return text if isinstance(text, str) else ""


def _call(source: Source, node: cst.Call, known: Mapping[str, Tree]) -> Tree:
    function = tree(source, node.func, known)
    names = _SIGNATURES.get(function[1], ()) if function[0] == "name" else ()
    arguments: dict[str, Tree] = {}
    for position, arg in enumerate(node.args):
        keyword = arg.keyword.value if arg.keyword is not None else ""
        if not keyword:
            keyword = names[position] if position < len(names) else f"{arg.star}{position}"
        arguments[keyword] = tree(source, arg.value, known)
    return ("call", function, tuple(sorted(arguments.items())))


def argument_of(call: Tree, name: str) -> Tree | None:
    """The argument ``name`` of a call's tree."""
    return dict(call[2]).get(name)


def calls(one: Tree, function: str) -> bool:
    """Whether a tree is a call of ``triton.language.<function>``."""
    return one[0] == "call" and one[1] == ("name", f"triton.language.{function}")


def assign(source: Source, statement: cst.CSTNode, known: MutableMapping[str, Tree]) -> None:
    """Note what an assignment gives its variables."""
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
        if isinstance(target, cst.Name):
            known[target.value] = tree(source, statement.value, known)
    elif isinstance(statement, cst.AugAssign) and isinstance(statement.target, cst.Name):
        operator = type(statement.operator).__name__.removesuffix("Assign")
        name = statement.target.value
        before = known.get(name, ("name", name))
        known[name] = (operator, before, tree(source, statement.value, known))


def contains(one: Tree, part: Tree) -> bool:
    """Whether ``part`` stands somewhere in ``one``."""
    return one == part or any(isinstance(inner, tuple) and contains(inner, part) for inner in one)
