"""What a loop's carried variables become in one iteration: sums, and first-order linear recurrences."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.rules.proofs.source_text import assignments, bound_names, carried_names, names_in
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import children, walk

#: Calls that are associative in a carried operand, so that a scan can do them.
_ASSOCIATIVE = frozenset({"maximum", "minimum", "max", "min"})


def associative_updates(loop: cst.For | cst.While, sums: bool = False) -> dict[str, str] | None:
    """The variables that ``loop`` carries (the counter that a ``while`` tests left out), each with its kind: ``sum`` (added
    to), ``product``, ``extremum``, or ``linear`` (``h = a * h + b`` with ``a`` and ``b`` free of carried variables).

    None where a variable is updated in another way, twice, under a condition, or from another carried one: then no scan
    is known to do it. With ``sums`` several additions to a variable are one sum, for loops that nobody looks into.
    """
    carried = carried_names(loop)
    if isinstance(loop, cst.While):
        carried -= names_in(loop.test)
    kinds: dict[str, str] = {}
    for name in sorted(carried):
        updates = [u for u in assignments(loop.body) if name in bound_names(u)]
        if not updates or any(_conditional(loop, update) for update in updates):
            return None
        found = {_kind(update, name, carried) for update in updates}
        kind = found.pop()
        if kind is None or found or (len(updates) > 1 and not (sums and kind == "sum")):
            return None
        kinds[name] = kind
    return kinds or None


def _conditional(loop: cst.For | cst.While, update: cst.CSTNode) -> bool:
    blocks = (
        node
        for node in walk(loop.body)
        if isinstance(node, (cst.If, cst.While, cst.For)) and not (isinstance(node, cst.For) and _unrolled(node))
    )
    return any(inner is update for block in blocks for inner in walk(block))


def _unrolled(loop: cst.For) -> bool:
    """Whether the iterations of ``loop`` are so many statements one after the other."""
    return isinstance(loop.iter, cst.Call) and (dotted_name(loop.iter.func) or "").rsplit(".", 1)[-1] == "static_range"


def _kept(value: cst.BaseExpression, name: str) -> cst.BaseExpression:
    """``x`` where ``value`` is ``tl.where(mask, x, name)``: the lanes that the mask leaves out do not change."""
    if isinstance(value, cst.Call) and (dotted_name(value.func) or "").rsplit(".", 1)[-1] == "where":
        arms = [argument.value for argument in value.args if argument.keyword is None]
        if len(arms) == 3 and dotted_name(arms[2]) == name and name not in names_in(arms[0]):
            return arms[1]
    return value


def _kind(update: cst.Assign | cst.AnnAssign | cst.AugAssign, name: str, carried: set[str]) -> str | None:
    value = update.value
    if value is None:
        return None
    if isinstance(update, cst.AugAssign):
        if names_in(value) & carried:
            return None
        if isinstance(update.operator, (cst.AddAssign, cst.SubtractAssign)):
            return "sum"
        return "product" if isinstance(update.operator, cst.MultiplyAssign) else None
    value = _kept(value, name)
    if names_in(value) & (carried - {name}):
        return None
    path = list(_path(value, name))
    if (
        len([node for node in walk(value) if dotted_name(node) == name and isinstance(node, (cst.Name, cst.Attribute))])
        != 1
    ):
        return None
    return _path_kind(path)


def _path(value: cst.CSTNode, name: str) -> Iterator[cst.CSTNode]:
    """The nodes from ``value`` down to the occurrence of ``name``, that one left out."""
    node: cst.CSTNode | None = value
    while node is not None and dotted_name(node) != name:
        yield node
        node = next((child for child in children(node) if name in names_in(child)), None)


def _path_kind(path: list[cst.CSTNode]) -> str | None:
    kinds = set()
    for node in path:
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, (cst.Add, cst.Subtract)):
                kinds.add("sum")
            elif isinstance(node.operator, cst.Multiply):
                kinds.add("product")
            else:
                return None
        elif isinstance(node, cst.Call):
            function = (dotted_name(node.func) or "").rsplit(".", 1)[-1]
            if function not in _ASSOCIATIVE:
                return None
            kinds.add("extremum")
        elif not isinstance(node, cst.Arg):
            return None
    if not kinds:
        return None
    if kinds == {"sum", "product"}:
        return "linear"
    return kinds.pop() if len(kinds) == 1 else None
