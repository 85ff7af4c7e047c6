"""Loops in kernels: what they carry from one iteration to the next must keep its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.branches import demand_scalar_condition, differ, joined, type_text
from kernlint.interpret.frontend.language.ranges import MAX_UNROLLED, Range
from kernlint.interpret.frontend.values import Constexpr, Typed
from kernlint.interpret.jit_source import assignment
from kernlint.interpret.python.operators import same
from kernlint.interpret.values import Scope, Unknown

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


def follow_for(f: FrontEnd, node: cst.For, scope: Scope) -> None:
    if not isinstance(node.iter, cst.Call):
        if not isinstance(f.eval(node.iter, scope), Unknown):
            text = "a kernel loops only over range, tl.range or tl.static_range"
            f.fault("unsupported-syntax", node.iter, text, "For")
        _carry(f, node.body.body, scope, node.target, Unknown("item"))
        return
    iterable = f.eval(node.iter, scope)
    if isinstance(iterable, Range):
        if iterable.static:
            _unrolled(f, node, iterable, scope)
        else:
            _carry(f, node.body.body, scope, node.target, Typed(iterable.dtype))
    else:
        if isinstance(iterable, (tuple, Typed)):
            text = "a kernel loops only over range, tl.range or tl.static_range"
            f.fault("unsupported-syntax", node.iter, text, "For")
        with f.doubt():
            _carry(f, node.body.body, scope, node.target, Unknown("item"))
    if node.orelse is not None:
        f.fault("unsupported-syntax", node.orelse, "`else` after a loop is not supported in a kernel", "For.orelse")


def follow_while(f: FrontEnd, node: cst.While, scope: Scope) -> None:
    test = f.eval(node.test, scope)
    if isinstance(test, (bool, int)):
        text = "the condition of `while` is a compile-time constant; it must be a run-time value"
        f.fault("constant-while", node.test, text)
    elif isinstance(test, Typed):
        demand_scalar_condition(f, test, node.test, "while")
    _carry(f, node.body.body, scope, None, None)


def _unrolled(f: FrontEnd, node: cst.For, iterable: Range, scope: Scope) -> None:
    values = iterable.values()
    if values is None:
        # At least one iteration, at most any number: twice shows what the second finds different.
        with f.doubt():
            f.assign(node.target, Constexpr(True), scope)
            f.round(node.body.body, scope)
        return
    for value in values[:MAX_UNROLLED]:
        f.assign(node.target, value, scope)
        f.round(node.body.body, scope)


def _carry(f: FrontEnd, body: Any, scope: Scope, target: cst.BaseExpression | None, item: Any) -> None:
    """A loop that the compiler keeps: what it assigns must have one type, before it and after each iteration."""
    before = dict(scope.vars)
    if target is not None:
        f.assign(target, item, scope)
        before = dict(scope.vars)
    f.round(body, scope)
    end = scope.vars
    start = dict(before)
    for name, value in end.items():
        if name not in before or value is before[name]:
            continue
        first = before[name]
        if differ(first, value):
            _carried_fault(f, name, first, value, body)
            start[name] = Unknown("carried")
        elif isinstance(first, Typed) and isinstance(value, Typed):
            start[name] = joined(first, value)
        elif not same(first, value):
            start[name] = Unknown("carried")
    if any(start[name] is not before[name] and start[name] != before[name] for name in start):
        scope.vars = dict(start)
        f.round(body, scope)
    scope.vars = start


def _carried_fault(f: FrontEnd, name: str, first: Any, value: Any, body: Any) -> None:
    node = assignment(body, name) or body[0]
    if isinstance(first, Typed):
        text = f"`{name}` is {type_text(first)} before the loop and {type_text(value)} after an iteration; it must keep one type"
    else:
        text = f"`{name}` is a tl.constexpr; a loop cannot reassign it"
    f.fault("loop-carried-type", node, text, name)
