"""Which statements of a straight block are needed for some of its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.rewrite.function import FunctionSource, Line
from kernlint.syntax.walk import walk


def names_bound(function: FunctionSource, statement: cst.CSTNode) -> set[str]:
    """Variables that ``statement``, or one inside it, gives a value to."""
    return {n.value for n in _variables(function, statement) if function.binding(n) is not None}


def names_read(function: FunctionSource, node: cst.CSTNode) -> set[str]:
    """Variables that are read in ``node``; ``x += 1`` reads x."""
    found = set()
    for name in _variables(function, node):
        bound = function.binding(name)
        if bound is None or isinstance(bound, cst.AugAssign):
            found.add(name.value)
    return found


def returns(statement: cst.CSTNode) -> bool:
    """Whether the function may end in ``statement``."""
    return any(isinstance(node, cst.Return) for node in walk(statement))


def needed_for(function: FunctionSource, statements: Sequence[Line], names: Iterable[str]) -> list[Line]:
    """Those of ``statements`` that ``names`` depend on at their end, and early returns with what those depend on."""
    wanted = set(names)
    kept: list[Line] = []
    for statement in reversed(statements):
        bound = names_bound(function, statement)
        if not bound & wanted and not returns(statement):
            continue
        kept.append(statement)
        if isinstance(statement, cst.SimpleStatementLine):
            # A statement in a loop or branch may leave the value from before.
            wanted -= bound
        wanted |= names_read(function, statement)
    return kept[::-1]


def _variables(function: FunctionSource, node: cst.CSTNode) -> list[cst.Name]:
    return [n for n in walk(node) if isinstance(n, cst.Name) and n in function and function.is_variable(n)]
