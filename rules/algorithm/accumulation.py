"""Steps of a recurrence that only add to their state: the terms are independent, and one pass adds them all up."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from kernlint.rules.algorithm.step_loops import StateLoop
from kernlint.rules.finding import Context
from kernlint.rules.kernel_source import definition
from kernlint.rules.source import bound_names, names_in, node_at, statements
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk


def only_adds(context: Context, found: StateLoop) -> bool:
    """Whether each step of ``found`` stores the state that it loaded with something added that does not depend on it, and
    stores nothing else: the value of a statement list without branches is followed."""
    function = definition(context, found.launch.kernel)
    if function is None or not found.elementwise or len(found.states) != 1 or not found.in_registers:
        return False
    (state,) = found.states
    stores = list(found.launch.kernel.stores())
    load = node_at(context, state.load.span, cst.Call)
    store = node_at(context, stores[0].span, cst.Call) if len(stores) == 1 else None
    if load is None or store is None or stores[0] is not state.store or len(store.args) < 2:
        return False
    kinds: dict[str, str] = {}
    for statement in statements(function.body):
        if isinstance(statement, (cst.Assign, cst.AnnAssign, cst.AugAssign)):
            if statement.value is None:
                continue
            kind = _kind(statement.value, load, kinds)
            names = bound_names(statement)
            if isinstance(statement, cst.AugAssign):
                (name,) = names if len(names) == 1 else ("",)
                kind = _sum(kinds.get(name, ""), kind, statement.operator)
            kinds.update(dict.fromkeys(names, kind))
        elif isinstance(statement, cst.Expr) and statement.value is store:
            named = [one.value for one in store.args if one.keyword is not None and one.keyword.value == "value"]
            return _kind((named or [store.args[1].value])[0], load, kinds) == "sum"
        elif isinstance(statement, (cst.If, cst.For, cst.While, cst.With)):
            return False
    return False


def _kind(node: cst.BaseExpression, load: cst.Call, kinds: Mapping[str, str]) -> str:
    """What ``node`` is to the state: empty where it does not depend on it, ``state``, ``sum`` (it with something added) or
    ``other``."""
    if node is load:
        return "state"
    name = dotted_name(node)
    if name is not None and name in kinds:
        return kinds[name]
    if not any(inner is load for inner in walk(node)) and not any(kinds.get(one) for one in names_in(node)):
        return ""
    if isinstance(node, cst.BinaryOperation):
        return _sum(_kind(node.left, load, kinds), _kind(node.right, load, kinds), node.operator)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "to":
        # A conversion: of rounding on the way the loop has more than one pass.
        return _kind(node.func.value, load, kinds)
    return "other"


def _sum(left: str, right: str, operator: cst.CSTNode) -> str:
    if not left and not right:
        return ""
    added = isinstance(operator, (cst.Add, cst.AddAssign))
    return "sum" if added and {left, right} in ({"state", ""}, {"sum", ""}) else "other"
