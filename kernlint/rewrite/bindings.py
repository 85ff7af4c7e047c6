"""Which reads of a variable see which of its bindings, inside one function."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.records import dataclass
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite
from kernlint.syntax.names import bound_by, targets, variables
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk


@dataclass(frozen=True)
class Variable:
    """All that happens to ``name`` in ``function``: ``bindings`` (statements, loops, parameters) and ``reads``, each in
    source order."""

    name: str
    function: cst.FunctionDef
    bindings: tuple[cst.CSTNode, ...]
    reads: tuple[cst.Name, ...]


def variable(source: Source, name: str, function: cst.FunctionDef) -> Variable:
    """What happens to ``name`` in ``function``."""
    known = source.module.once(_known)
    if function not in known:
        known[function] = _Occurrences(function)
    bindings = known[function].bindings.get(name, [])
    bound = {target for _, target in bindings}
    reads = [node for node in known[function].uses.get(name, ()) if node not in bound]
    # `x += 1` reads what it binds.
    return Variable(
        name,
        function,
        tuple(sorted(dict.fromkeys(node for node, _ in bindings), key=lambda node: _begins(source, node))),
        tuple(sorted(reads, key=source.start)),
    )


def _begins(source: Source, binding: cst.CSTNode) -> int:
    # Where a parameter as a whole stands is dear to ask.
    return source.start(binding.name if isinstance(binding, cst.Param) else binding)


def _known(module: Module) -> dict[cst.FunctionDef, _Occurrences]:
    """What :func:`variable` has looked up in functions of ``module`` so far."""
    return {}


class _Occurrences:
    """By name, the ``bindings`` of each variable of ``function``, with the place of the name in it, and its ``uses``."""

    def __init__(self, function: cst.FunctionDef) -> None:
        self.bindings: dict[str, list[tuple[cst.CSTNode, cst.Name]]] = {}
        self.uses: dict[str, list[cst.Name]] = {}
        for node, target in _targets(function):
            self.bindings.setdefault(target.value, []).append((node, target))
        for name in _names(function):
            self.uses.setdefault(name.value, []).append(name)


def reached(source: Source, binding: cst.CSTNode, found: Variable) -> list[cst.Name]:
    """The reads that see ``binding`` and no other. Raises :class:`CannotRewrite` where that depends on the path taken."""
    others = [one for one in found.bindings if one is not binding]
    if not others:
        return list(found.reads)
    block = suite(source, binding)
    if any(suite(source, one) is not block for one in others if not isinstance(one, cst.Param)):
        raise CannotRewrite(f"`{found.name}` is assigned on several paths")
    if any(isinstance(one, (cst.AugAssign, cst.For)) for one in found.bindings):
        raise CannotRewrite(f"`{found.name}` is updated in place")
    first = next(one for one in found.bindings if suite(source, one) is block)
    loop = source.around(binding, (cst.For, cst.While))
    if loop is not None and any(source.start(loop) <= source.start(r) < source.end(first) for r in found.reads):
        raise CannotRewrite(f"`{found.name}` is carried from one iteration to the next")
    begin = source.end(binding)
    later = [one for one in others if not isinstance(one, cst.Param) and source.start(one) > begin]
    end = source.end(later[0]) if later else len(source.text)
    return [read for read in found.reads if begin <= source.start(read) < end]


def suite(source: Source, node: cst.CSTNode) -> cst.CSTNode | None:
    """The block of statements that the statement of ``node`` stands in."""
    if type(node) is cst.Param:
        return None
    statement = source.statement(node)
    above = source.parent(statement)
    return source.parent(above) if isinstance(above, cst.SimpleStatementLine) else above


def loop_around(source: Source, node: cst.CSTNode, outside: cst.CSTNode) -> cst.For | cst.While | None:
    """The outermost loop around ``node`` that ``outside`` does not stand in."""
    others = {id(one) for one in source.above(outside)}
    loops = [one for one in source.above(node) if isinstance(one, (cst.For, cst.While)) and id(one) not in others]
    return loops[-1] if loops else None


def _targets(function: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, cst.Name]]:
    """Every (binding, name bound) in ``function``."""
    for node in walk(function):
        if type(node) is cst.Param:
            yield node, node.name
        elif type(node) is cst.CompFor:
            yield from ((node, name) for name in targets(node.target))
        else:
            yield from ((node, name) for name in bound_by(node))


def _names(function: cst.FunctionDef) -> Iterator[cst.Name]:
    """Every name in ``function`` that is a variable: no attribute, keyword or parameter name."""
    own = {function.name, *(node.name for node in walk(function) if isinstance(node, cst.Param))}
    return (node for node in variables(function) if node not in own)


def keeps_value(source: Source, name: str, binding: cst.CSTNode, reads: list[cst.Name]) -> bool:
    """Whether variable ``name`` still holds, at each of ``reads``, what it holds at the statement ``binding``."""
    function = source.function(binding)
    if function is None:
        return False
    begin, last = source.end(binding), max((source.start(read) for read in reads), default=0)
    return not any(begin <= source.start(one) < last for one in variable(source, name, function).bindings)
