"""Conditions in kernels: both arms are followed, and what they leave is merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.control import Break, Continue, Raised, Return
from kernlint.interpret.triton.conditions import arm_bounds
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Scope
from kernlint.workload import Branch, Node

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


def follow_branches(k: KernelEvaluator, node: cst.If, test: Any, scope: Scope) -> None:
    before = dict(scope.vars)
    arms: list[tuple[Node, ...]] = []
    conditions = arm_bounds(test)
    ends: list[dict[str, Any]] = []
    returned: list[Return] = []
    arms_returned: list[bool] = []
    for arm in (node.body, node.orelse):
        scope.vars = dict(before)
        with (
            k.recording() as body,
            k.occupying(test if arm is node.body else None),
            k.where(test, arm is node.body),
        ):
            try:
                k.run_arm(arm, scope)
                ends.append(scope.vars)
                arms_returned.append(False)
            except Return as result:
                returned.append(result.with_traceback(None))
                arms_returned.append(True)
            except (Raised, Break, Continue):
                arms_returned.append(False)
                k.lose_track()
        arms.append(tuple(body))
    if returned and ends and k.at_top:
        # The rest of the kernel runs only where this did not return: it is the other arm.
        k.guards.append((arms, 1 if arms_returned == [True, False] else 0, k.span(node), conditions))
        k.stack.append(list(arms[k.guards[-1][1]]))
        k.recorder.region = k.arm(test, arms_returned == [False, True])
    else:
        if returned and not (len(k.calls) == 1 and not ends):
            k.lose_track()
        # In a helper a return only ends the helper.
        k.may_leave |= bool(returned and ends) and len(k.calls) == 1
        if any(arms):
            k.emit(Branch(tuple(arms), k.span(node), conditions, isinstance(test, Block)))
    if not ends:
        scope.vars = before
        if returned:
            raise Return(returned[0].value)
        return
    merged = dict(ends[0])
    for other in ends[1:]:
        for name in set(merged) | set(other):
            if name not in merged:
                merged[name] = other[name]
            elif name in other:
                merged[name] = k.merge(merged[name], other[name], test, node)
    scope.vars = merged


def follow_choice(k: KernelEvaluator, node: cst.IfExp, scope: Scope) -> Any:
    """Both arms, each of which only runs where its condition holds."""
    test = k.eval(node.test, scope)
    truth = k.truth(test)
    if truth is not None:
        return k.eval(node.body if truth else node.orelse, scope)
    values: list[Any] = []
    arms: list[tuple[Node, ...]] = []
    for arm in (node.body, node.orelse):
        with k.recording() as nodes, k.where(test, arm is node.body):
            values.append(k.eval(arm, scope))
        arms.append(tuple(nodes))
    if any(arms):
        k.emit(Branch(tuple(arms), k.span(node), arm_bounds(test)))
    return k.merge(values[0], values[1], test, node)
