"""Conditions in kernels: those that the compiler decides, and those that it compiles both arms of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.values import Constexpr, Typed, is_constant, same_type, shape_text, tensor
from kernlint.interpret.python.control import Break, Continue, Raised, Return
from kernlint.interpret.python.operators import same
from kernlint.interpret.values import Scope, Unknown

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


def demand_scalar_condition(f: FrontEnd, test: Typed, node: cst.CSTNode, what: str) -> None:
    if any(extent != 1 for extent in test.shape):
        text = f"the condition of `{what}` is a block of shape {shape_text(test.shape)}; it must be one value"
        f.fault("block-condition", node, text)


def run_time_if(f: FrontEnd, node: cst.If, scope: Scope) -> None:
    before = dict(scope.vars)
    ends = _arms(f, node, scope, before)
    (then, then_returned), (other, other_returned) = ends
    if then_returned and other_returned:
        scope.vars = before
        raise Return(Unknown("branch"))
    merged = dict(before)
    for name in {**then, **other}:
        a, b = then.get(name), other.get(name)
        if name in before:
            start = before[name]
            for value, returned in ((a, then_returned), (b, other_returned)):
                if value is not start and not returned and differ(start, value):
                    text = f"`{name}` is {type_text(start)} before the run-time `if`, and {type_text(value)} after one branch of it"
                    f.fault("branch-type", node, text, name)
            if then_returned or other_returned:
                merged[name] = b if then_returned else a
            else:
                merged[name] = joined(a, b)
        elif then_returned or other_returned:
            # The code generator forgets what only the arm that goes on defines; some releases keep it.
            value = b if then_returned else a
            if value is not None or name in (other if then_returned else then):
                merged[name] = value
        elif name in then and name in other:
            if differ(a, b):
                text = f"`{name}` is {type_text(a)} after one branch of the run-time `if`, and {type_text(b)} after the other"
                f.fault("branch-type", node, text, name)
            merged[name] = joined(a, b)
    scope.vars = merged


def compile_time_if(f: FrontEnd, node: cst.If, test: Any, scope: Scope) -> None:
    """Only one arm is compiled, and it is not known which."""
    before = dict(scope.vars)
    switch = test.switch if isinstance(test, Constexpr) else ""
    with f.doubt():
        ends = [(vars, returned) for vars, returned in _arms(f, node, scope, before, switch) if not returned]
    if not ends:
        scope.vars = before
        raise Return(Unknown("branch"))
    merged = dict(ends[0][0])
    for other, _ in ends[1:]:
        for name, value in other.items():
            merged[name] = _either(merged[name], value) if name in merged else value
    for name in merged:
        if any(name not in vars for vars, _ in ends):
            merged[name] = Unknown("maybe defined")
    scope.vars = merged


def conditional_expression(f: FrontEnd, node: cst.IfExp, scope: Scope) -> Any:
    test = f.eval(node.test, scope)
    truth = f.truth(test)
    if truth is not None:
        return f.eval(node.body if truth else node.orelse, scope)
    if not isinstance(test, Typed):
        with f.doubt():
            return _either(f.eval(node.body, scope), f.eval(node.orelse, scope))
    demand_scalar_condition(f, test, node.test, "a conditional expression")
    a, b = tensor(f.eval(node.body, scope)), tensor(f.eval(node.orelse, scope))
    if isinstance(a, Typed) and isinstance(b, Typed) and same_type(a, b) is False and not any(test.shape):
        text = f"the two values of a conditional expression on a run-time condition have types {a} and {b}"
        return f.fault("branch-type", node, text)
    return joined(a, b) if isinstance(a, Typed) and isinstance(b, Typed) else Unknown("choice")


def _arms(
    f: FrontEnd, node: cst.If, scope: Scope, before: dict[str, Any], switch: str = ""
) -> list[tuple[dict[str, Any], bool]]:
    """The variables at the end of each arm, and whether it returned; the first is compiled only where ``switch`` is set."""
    ends = []
    around = f.switch
    for arm in (node.body, node.orelse):
        scope.vars = dict(before)
        returned = False
        f.switch = around or (switch if arm is node.body else "")
        try:
            f.run_arm(arm, scope)
        except (Return, Raised, Break, Continue):
            returned = True
        ends.append((scope.vars, returned))
    f.switch = around
    return ends


def differ(a: Any, b: Any) -> bool:
    """Whether two values of a variable surely have two types."""
    if isinstance(a, Typed) and isinstance(b, Typed):
        return same_type(a, b) is False
    number, run_time = (a, b) if isinstance(b, Typed) else (b, a)
    # A tl.constexpr that becomes a run-time value.
    return isinstance(run_time, Typed) and is_constant(number)


def joined(a: Any, b: Any) -> Any:
    if a is b:
        return a
    if isinstance(a, Typed) and isinstance(b, Typed):
        agreed = same_type(a, b)
        if agreed is None:
            return _loose(a, b)
        return a if agreed else Unknown("branches")
    return a if same(a, b) else Unknown("branches")


def _either(a: Any, b: Any) -> Any:
    """One of two values, one of which the compiler sees."""
    if isinstance(a, Typed) and isinstance(b, Typed) and len(a.shape) == len(b.shape):
        return a if a == b else _loose(a, b)
    if is_constant(a) and is_constant(b):
        return a if same(a, b) else Constexpr(True)
    return a if same(a, b) else Unknown("either")


def _loose(a: Typed, b: Typed) -> Typed:
    """What two values of one rank surely have in common."""
    return Typed(
        a.dtype if a.dtype == b.dtype else None,
        tuple(x if x == y else None for x, y in zip(a.shape, b.shape)),
        a.pointer if a.pointer == b.pointer else None,
    )


def type_text(value: Any) -> str:
    return (
        str(value) if isinstance(value, Typed) else f"the constant {value!r}" if is_constant(value) else "another type"
    )
