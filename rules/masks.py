"""Whether a store runs, and writes all that its known bounds allow: what the source says beyond the workload.

The workload keeps the ``left < right`` bounds of a mask, and drops conditions that are not of that form; it also follows a
kernel past a conditional ``return``. A proof that a store reaches every element has to rule both out.
"""

from __future__ import annotations

import libcst as cst

from kernlint.rules.finding import Context
from kernlint.rules.source import node_at
from kernlint.syntax.walk import walk
from kernlint.workload import Launch, Store

_BOUNDS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


def writes_all_in_bounds(context: Context, launch: Launch, store: Store) -> bool:
    """Whether no program of ``launch`` returns before ``store`` by a condition, and its mask is nothing but the bounds
    that the workload knows."""
    function = node_at(context, launch.kernel.span, cst.FunctionDef)
    call = node_at(context, store.span, cst.Call)
    if function is None or call is None or _returns_early(function):
        return False
    if store.mask is None:
        return True
    home = next((one for one in _functions(context) if any(node is call for node in walk(one))), function)
    given = next((a.value for a in call.args if a.keyword is not None and a.keyword.value == "mask"), None)
    if given is None and len(call.args) > 2 and call.args[2].keyword is None:
        given = call.args[2].value
    return given is not None and _bounds(given, home, frozenset()) == {len(store.mask)}


def _returns_early(function: cst.FunctionDef) -> bool:
    return any(
        isinstance(inner, cst.Return)
        for branch in walk(function)
        if isinstance(branch, (cst.If, cst.While, cst.For))
        for inner in walk(branch)
    )


def _functions(context: Context) -> list[cst.FunctionDef]:
    return [node for node in walk(context.program.kernel.tree) if isinstance(node, cst.FunctionDef)]


def _bounds(mask: cst.BaseExpression, home: cst.FunctionDef, names: frozenset[str]) -> set[int] | None:
    """In how many bounds ``mask`` consists, one number for each way that its variables are assigned in ``home``; None
    where anything but a conjunction of bounds is in it."""
    if isinstance(mask, cst.Subscript):  # mask[:, None]
        return _bounds(mask.value, home, names)
    if isinstance(mask, cst.BinaryOperation) and isinstance(mask.operator, cst.BitAnd):
        left, right = _bounds(mask.left, home, names), _bounds(mask.right, home, names)
        return None if left is None or right is None else {a + b for a in left for b in right}
    if isinstance(mask, cst.Comparison):
        plain = len(mask.comparisons) == 1 and isinstance(mask.comparisons[0].operator, _BOUNDS)
        return {1} if plain else None
    if not isinstance(mask, cst.Name) or mask.value in names:
        return None
    found: set[int] = set()
    for node in walk(home):
        if isinstance(node, cst.AugAssign) and isinstance(node.target, cst.Name) and node.target.value == mask.value:
            return None
        if isinstance(node, cst.Assign) and any(_is_name(target.target, mask.value) for target in node.targets):
            inner = _bounds(node.value, home, names | {mask.value})
            if inner is None:
                return None
            found |= inner
    return found or None


def _is_name(target: cst.BaseExpression, name: str) -> bool:
    """Whether an assignment to ``target`` binds ``name``."""
    return any(isinstance(node, cst.Name) and node.value == name for node in walk(target))
