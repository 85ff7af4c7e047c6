"""Questions that only the source answers: what flows around a Python loop, which operator stands at a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


def carried_names(loop: cst.For | cst.While) -> set[str]:
    """The variables that one iteration of ``loop`` hands to the next: bound in its body, and read there before that."""
    flow = _Flow(loop_variables(loop) if isinstance(loop, cst.For) else set())
    flow.suite(loop.body)
    return flow.exposed & flow.assigned


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
        if type(inner) is cst.Assign or type(inner) is cst.AnnAssign or type(inner) is cst.AugAssign:
            yield inner


class _Flow:
    """Follows a suite in order: ``exposed`` are names read before they are surely bound, ``assigned`` all that are bound."""

    def __init__(self, bound: set[str]) -> None:
        self.bound = set(bound)
        self.exposed: set[str] = set()
        self.assigned: set[str] = set()

    def suite(self, body: cst.BaseSuite) -> None:
        for statement in statements(body):
            self._statement(statement)

    def _statement(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Assign):
            self._assign([target.target for target in node.targets], node.value)
        elif isinstance(node, cst.AnnAssign):
            if node.value is not None:
                self._assign([node.target], node.value)
        elif isinstance(node, cst.AugAssign):
            self._read(node.target)
            self._assign([node.target], node.value)
        elif isinstance(node, cst.For):
            self._read(node.iter)
            self._perhaps(node.body, loop_variables(node))
        elif isinstance(node, (cst.If, cst.While)):
            self._read(node.test)
            self._perhaps(node.body, set())
        elif isinstance(node, cst.With):
            self._read(*node.items)
            self.suite(node.body)
        else:
            # Other compound statements count as reading all their names and binding nothing for certain.
            self._read(node)
            self.assigned |= {name for one in assignments(node) for name in bound_names(one)}
        orelse = getattr(node, "orelse", None)
        if isinstance(orelse, cst.If):
            self._statement(orelse)
        elif isinstance(orelse, cst.Else):
            self._perhaps(orelse.body, set())

    def _perhaps(self, body: cst.BaseSuite, bound: set[str]) -> None:
        """A suite that may not run: what it binds is bound inside it only."""
        before = set(self.bound)
        self.bound |= bound
        self.suite(body)
        self.bound = before

    def _read(self, *nodes: cst.CSTNode) -> None:
        for node in nodes:
            self.exposed |= names_in(node) - self.bound

    def _assign(self, targets: Iterable[cst.CSTNode], value: cst.CSTNode) -> None:
        self._read(value)
        names, read = _targets(targets)
        self._read(*read)
        self.assigned |= names
        self.bound |= names


def bound_names(update: cst.Assign | cst.AnnAssign | cst.AugAssign) -> set[str]:
    """The names and attribute chains that an assignment binds."""
    return _targets([t.target for t in update.targets] if isinstance(update, cst.Assign) else [update.target])[0]


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
