"""Conditions that nobody can decide: which arm is followed, and what is known after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host import checks
from kernlint.interpret.host.first_call import Recorded, bare
from kernlint.interpret.host.values import ContiguityTest
from kernlint.interpret.python.control import Break, Continue, Raised, Return
from kernlint.interpret.values import Comparison, Scope
from kernlint.workload import Launch, Repeat, Tensor, TorchOp

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


#: What an arm leaves: the variables, the steps, and how it left the block.
_Outcome = tuple[dict[str, Any], list[Recorded], Return | Continue | Break | None]


def follow_branches(h: HostEvaluator, node: cst.If, test: Any, scope: Scope) -> None:
    if isinstance(test, ContiguityTest):
        # `if x.is_contiguous(): fast path` and its negation: take the path of a contiguous tensor.
        h.assume(f"{test.tensor.name} is contiguous")
        checks.make_contiguous(h, test.tensor)
        h.run(node.body.body, scope)
        return
    if _only_raises(node.body):
        if node.orelse is not None:
            h.execute(node.orelse, scope)
        checks.fails(h, node.test, scope)
        return
    allowed = _else_raises(node) if not h.doubts else ()
    checks.one_holds(h, allowed, scope)
    if len(allowed) == 1:
        h.run(node.body.body, scope)
        return
    first = not h.doubts and len(h.calls) == 1 and not any(map(_launches, h.sinks))
    before = dict(scope.vars)
    outcomes, narrowed = _arms(h, node, scope)
    scope.vars = before
    if not outcomes:
        raise Raised
    # Follow the arm that launches more; of two alike, the one that falls through.
    weight = [_launches(steps) for _, steps, _ in outcomes]
    best = max(range(len(outcomes)), key=lambda i: (weight[i], outcomes[i][2] is None, i))
    vars, steps, leaves = outcomes[best]
    if len(outcomes) > 1 and (weight[0] or weight[1]):
        taken = "holds" if best == 0 else "does not hold"
        h.assume(f"line {h.span(node.test).line}: `{h.code(node.test)}` {taken}")
        known = len(h.bounds)
        checks.delimit(h, node.test, scope, best == 0)
        h.ways += h.bounds[known:]
    elif first and leaves is None and isinstance(outcomes[1 - best][2] if len(outcomes) > 1 else None, Return):
        # What returns before anything is launched is no call that launches.
        (checks.holds if best == 0 else checks.fails)(h, node.test, scope)
    if leaves is None and h.ways_out:
        h.ways_out[-1] += [
            (way.value, _way_out(h, node, arm, skipped))
            for arm, (_, skipped, way) in enumerate(outcomes)
            if arm != best and isinstance(way, Return)
        ]
    for step in steps:
        h.record(step)
    left_out = [steps for index, (_, steps, _) in enumerate(outcomes) if index != best]
    h.untaken |= {storage for untaken in left_out for step in untaken for storage in _written(step)}
    if leaves is not None:
        try:
            raise leaves
        finally:
            del leaves, outcomes  # a frame that holds what it raises, and so itself, stays with all it knows
    others = [o for i, o in enumerate(outcomes) if i != best and o[2] is None]
    merged = dict(vars)
    holds = test.denied if best and isinstance(test, Comparison) else test
    if not weight[best]:
        for other, _, _ in others:
            for name, value in other.items():
                merged[name] = h.merge(merged[name], value, holds, node) if name in merged else value
            for name in narrowed:
                if getattr(other.get(name), "dtype", None) != getattr(vars.get(name), "dtype", None):
                    merged.pop(name, None)  # its type is known on one way alone
                    merged |= {name: before[name]} if name in before else {}
    scope.vars = merged


def follow_past(h: HostEvaluator, node: cst.If, scope: Scope) -> None:
    """A guard that the way which was chosen leads past tells that what it guards against is not the case."""
    if _only_raises(node.body):
        checks.fails(h, node.test, scope)


def _way_out(h: HostEvaluator, node: cst.If, arm: int, steps: list[Recorded]) -> Callable[[], None]:
    """What follows one arm of ``node``, which leaves the function."""
    line, code = h.span(node.test).line, h.code(node.test)

    def follow() -> None:
        h.assume(f"line {line}: `{code}` {'holds' if arm == 0 else 'does not hold'}")
        for step in steps:
            h.record(step)

    return follow


def _arms(h: HostEvaluator, node: cst.If, scope: Scope) -> tuple[list[_Outcome], set[str]]:
    """What each arm leaves that does not raise, and the names that the test tells more of in an arm."""
    before = dict(scope.vars)
    outcomes: list[_Outcome] = []
    narrowed: set[str] = set()
    for arm in (node.body, node.orelse):
        scope.vars = dict(before)
        known = checks.narrowed(h, node.test, scope, arm is node.body)
        narrowed.update(known)
        scope.vars |= known
        leaves: Return | Continue | Break | None = None
        with h.recording() as steps, h.doubt():
            try:
                h.run_arm(arm, scope)
            except (Return, Continue, Break) as way:
                leaves = way.with_traceback(None)
            except Raised:
                continue
        outcomes.append((scope.vars, steps, leaves))
    return outcomes, narrowed


def _only_raises(body: cst.BaseSuite) -> bool:
    """Whether a suite ends in ``raise`` (a guard)."""
    if not body.body:
        return False
    last = body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], cst.Raise)
    return isinstance(last, cst.Raise)


def _else_raises(node: cst.If) -> tuple[cst.BaseExpression, ...]:
    """The conditions of an ``if`` and its ``elif`` of which one has to hold, since what is left raises; empty where it does not."""
    tests = [node.test]
    last = node.orelse
    while isinstance(last, cst.If):
        tests.append(last.test)
        last = last.orelse
    return tuple(tests) if isinstance(last, cst.Else) and _only_raises(last.body) else ()


def _launches(steps: Iterable[Recorded]) -> int:
    """How many of ``steps`` launch kernels, a loop once."""
    return sum(
        isinstance(one, Launch) or (isinstance(one, Repeat) and _launches(one.body) > 0) for one in map(bare, steps)
    )


def _written(recorded: Recorded) -> Iterator[int]:
    """The storages that a step may give contents to."""
    step = bare(recorded)
    if isinstance(step, TorchOp) and step.kind != "alloc":
        yield from (tensor.storage.id for tensor in step.writes)
    elif isinstance(step, Launch):
        yield from (value.storage.id for value in step.arguments.values() if isinstance(value, Tensor))
    elif isinstance(step, Repeat):
        for inner in step.body:
            yield from _written(inner)
