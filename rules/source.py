"""Questions that only the source answers: what flows around a Python loop, which operator stands at a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import libcst as cst

from kernlint.rules.finding import Context
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk
from kernlint.workload import Span

Kind = TypeVar("Kind", bound=cst.CSTNode)


def node_at(context: Context, span: Span, kind: type[Kind]) -> Kind | None:
    """The node of ``kind`` at ``span`` in the analysed module; None where it stands in another file."""
    module = context.program.kernel
    if span.file != module.path:
        return None
    for node in walk(module.tree):
        if isinstance(node, kind) and module.span(node) == span:
            return node
    return None


def names_in(node: cst.CSTNode) -> set[str]:
    """The names and attribute chains (``self.h``) that stand in ``node``."""
    found: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, (cst.Name, cst.Attribute)):
            name = dotted_name(inner)
            if name is not None:
                found.add(name)
    return found


def loop_variables(loop: cst.For) -> set[str]:
    """The names that the ``for`` statement itself binds."""
    return names_in(loop.target)


def carried_names(loop: cst.For) -> set[str]:
    """The variables that one iteration of ``loop`` hands to the next: bound in its body, and read there before that."""
    bound: set[str] = set(loop_variables(loop))
    exposed: set[str] = set()
    assigned: set[str] = set()
    for statement in statements(loop.body):
        targets, values, certain = _effects(statement)
        exposed |= {name for value in values for name in names_in(value)} - bound
        assigned |= targets
        if certain:
            bound |= targets
    return exposed & assigned


def statements(body: cst.BaseSuite) -> Iterator[cst.CSTNode]:
    """The statements of a suite, those on one line apart."""
    for statement in body.body:
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        else:
            yield statement


def assignments(node: cst.CSTNode) -> Iterator[cst.Assign | cst.AnnAssign | cst.AugAssign]:
    """Every assignment statement in ``node``."""
    for inner in walk(node):
        if isinstance(inner, (cst.Assign, cst.AnnAssign, cst.AugAssign)):
            yield inner


def _effects(statement: cst.CSTNode) -> tuple[set[str], Iterable[cst.CSTNode], bool]:
    """(names bound, expressions read, whether the names are bound for certain) of one statement."""
    if isinstance(statement, cst.Assign):
        plain, read = _targets(target.target for target in statement.targets)
        return plain, [statement.value, *read], True
    if isinstance(statement, cst.AnnAssign):
        plain, read = _targets([statement.target])
        return plain, [*read, *([statement.value] if statement.value is not None else [])], statement.value is not None
    if isinstance(statement, cst.AugAssign):
        plain, _ = _targets([statement.target])
        return plain, [statement.target, statement.value], True
    inner: set[str] = set()
    for one in assignments(statement):
        targets = [t.target for t in one.targets] if isinstance(one, cst.Assign) else [one.target]
        inner |= _targets(targets)[0]
    for node in walk(statement):
        if isinstance(node, cst.For):
            inner |= loop_variables(node)
    return inner, [statement], False


def _targets(targets: Iterable[cst.CSTNode]) -> tuple[set[str], list[cst.CSTNode]]:
    """The names that assignment targets bind, and those targets that read instead (``x[i] = ...`` reads x)."""
    names: set[str] = set()
    read: list[cst.CSTNode] = []
    for target in targets:
        if isinstance(target, (cst.Tuple, cst.List)):
            more, also = _targets(element.value for element in target.elements)
            names |= more
            read += also
        elif (name := dotted_name(target)) is not None:
            names.add(name)
        else:
            read.append(target)
    return names, read
