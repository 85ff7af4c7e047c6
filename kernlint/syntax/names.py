"""What a name in a module refers to, as far as its import statements tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst

from kernlint.syntax.walk import walk


def imports_among(nodes: Iterable[libcst.CSTNode]) -> dict[str, str]:
    """The dotted origin of each name that an import among ``nodes`` binds.

    ``import triton.language as tl`` binds tl to ``triton.language``, ``import a.b`` binds a to ``a``, ``from .x
    import y as z`` binds z to ``.x.y``. Where two imports bind one name (``try`` and ``except ImportError``) the
    first one counts.
    """
    table: dict[str, str] = {}
    for node in nodes:
        kind = type(node)
        if kind is not libcst.Import and kind is not libcst.ImportFrom:
            continue
        if type(node) is libcst.Import:
            for alias in node.names:
                origin = dotted_name(alias.name) or ""
                bound = alias.evaluated_alias
                if bound is None:
                    origin = bound = origin.split(".")[0]
                table.setdefault(bound, origin)
        elif type(node) is libcst.ImportFrom and not isinstance(node.names, libcst.ImportStar):
            package = "." * len(node.relative) + ((dotted_name(node.module) or "") if node.module else "")
            for alias in node.names:
                separator = "" if not package or package.endswith(".") else "."
                name = dotted_name(alias.name) or ""
                table.setdefault(alias.evaluated_alias or name, f"{package}{separator}{name}")
    return table


def dotted_name(node: libcst.CSTNode | None) -> str | None:
    """``a.b.c`` where ``node`` is a name or a chain of attributes of one, else None."""
    parts: list[str] = []
    while type(node) is libcst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not libcst.Name:
        return None
    parts.append(node.value)
    return ".".join(reversed(parts))


def origin_of(node: libcst.CSTNode, imports: Mapping[str, str]) -> str | None:
    """The dotted origin of the name or attribute chain ``node``: ``tl.dot`` gives ``triton.language.dot``.

    A call is looked through, as decorators with arguments need. A name that no import binds stands for itself.
    """
    while type(node) is libcst.Call:
        node = node.func
    name = dotted_name(node)
    if name is None:
        return None
    head, dot, rest = name.partition(".")
    return imports.get(head, head) + dot + rest


def variables(node: libcst.CSTNode) -> Iterator[libcst.Name]:
    """The names in ``node`` that stand for variables: not those of attributes and keyword arguments."""
    skipped: set[libcst.CSTNode] = set()
    for inner in walk(node):
        if type(inner) is libcst.Attribute:
            skipped.add(inner.attr)
        elif type(inner) is libcst.Arg and inner.keyword is not None:
            skipped.add(inner.keyword)
        elif type(inner) is libcst.Name and inner not in skipped:
            yield inner


_WITH_TARGET = frozenset({libcst.AnnAssign, libcst.AugAssign, libcst.For, libcst.NamedExpr})


def bound_by(node: libcst.CSTNode) -> Iterator[libcst.Name]:
    """The variables that ``node`` itself gives a value to, in the scope that it stands in: an assignment, a loop, ``:=``
    or ``as``; not a definition, an import or the loop of a comprehension."""
    if type(node) is libcst.Assign:
        for target in node.targets:
            yield from targets(target.target)
    elif type(node) in _WITH_TARGET:
        assert isinstance(node, (libcst.AnnAssign, libcst.AugAssign, libcst.For, libcst.NamedExpr))
        yield from targets(node.target)
    elif type(node) is libcst.AsName:
        yield from targets(node.name)


def targets(target: libcst.CSTNode) -> Iterator[libcst.Name]:
    """The variables in the target of an assignment; ``x[i]`` and ``x.y`` are none."""
    if type(target) is libcst.Name:
        yield target
    elif type(target) is libcst.Tuple or type(target) is libcst.List:
        for element in target.elements:
            yield from targets(element.value)
