"""Loops in kernels. A body is evaluated twice, first to see how each variable changes from one iteration to the next, then with
every variable that advances by a constant step written as ``start + step * iteration``: so a pointer that walks along K is an index
expression like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.triton.conditions import arm_bounds
from kernlint.interpret.triton.ranges import Range
from kernlint.interpret.triton.recorder import LoopRecord
from kernlint.interpret.triton.tiles import align, broadcast
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Scope
from kernlint.records import replace
from kernlint.workload import Expr, Loop, LoopIndex, Node, Span
from kernlint.workload import expr as ex
from kernlint.workload.access import Bounds

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


MAX_STATIC_UNROLL = 16
_Begun = tuple[ex.Size | None, Bounds | None]


def follow_for(k: KernelEvaluator, node: cst.For, iterable: Any, scope: Scope) -> bool:
    """Follow a loop; False where it was left by a ``break``."""
    if isinstance(iterable, (tuple, list)):
        for item in iterable:
            k.assign(node.target, item, scope)
            if not k.round(node.body.body, scope):
                return False
        return True
    if not isinstance(iterable, Range):
        k.give_up("loop over an unknown iterable")
        iterable = Range("range", 0, None, 1)
    trip = iterable.trip
    if iterable.kind == "tl.static_range" and isinstance(trip, int) and trip <= MAX_STATIC_UNROLL:
        step, start = ex.concrete(iterable.step), ex.concrete(iterable.start)
        if step is not None and start is not None:
            for i in range(trip):
                k.assign(node.target, start + i * step, scope)
                if not k.round(node.body.body, scope):
                    return False
            return True
    if trip == 0:
        return True
    span = k.span(node)

    def begin(id: int) -> _Begun:
        index = ex.lift(iterable.start) + ex.lift(iterable.step) * Expr.atom(LoopIndex(id))
        k.assign(node.target, k.noted("index", iterable.given, Block(iterable.dtype, expr=index), node), scope)
        return None, ()

    _follow_loop(k, iterable.kind, trip, iterable.num_stages, node, begin, scope, span)
    return True


def follow_while(k: KernelEvaluator, node: cst.While, scope: Scope) -> bool:
    """The same of a ``while``."""
    mark = k.recorder.mark
    with k.recording():
        test = k.eval(node.test, scope)
    k.recorder.forget(mark)
    if k.truth(test) is False:
        return True

    def begin(id: int) -> _Begun:
        test = k.eval(node.test, scope)
        k.recorder.note("while", (test,), None, node, k.module, id=id)
        trip = _trips(test, id) if isinstance(test, Block) else None
        return trip, () if trip is not None or k.truth(test) else arm_bounds(test)[0]

    _follow_loop(k, "while", None, None, node, begin, scope, k.span(node))
    return True


def _follow_loop(
    k: KernelEvaluator,
    kind: str,
    trip: ex.Size | None,
    num_stages: int | None,
    node: cst.For | cst.While,
    begin: Callable[[int], _Begun],
    scope: Scope,
    span: Span,
) -> None:
    """Record a loop; ``begin`` starts an iteration, and gives the trip count where that is first known there, or else what holds
    in each round."""
    id = k.new_id()
    index = Expr.atom(LoopIndex(id))
    entry = dict(scope.vars)
    first_id = k.next_id
    counted: ex.Size | None = None
    held: Bounds | None = ()
    carrying = LoopRecord(k.recorder, id, node, k.module)

    def once(start: dict[str, Any]) -> tuple[dict[str, Any], tuple[Node, ...]]:
        nonlocal counted, held
        # The same node gets the same id each time, so that what depends on it stays right.
        k.next_id = first_id
        scope.vars = carrying.begin(dict(start), entry)
        k.loops.append(id)
        with k.recording() as nodes, carrying.inside():
            try:
                counted, held = begin(id)
                if not k.round(node.body.body, scope):
                    k.lose_track()
            finally:
                k.loops.pop()
        return scope.vars, tuple(nodes)

    marked = {n: replace(v, carried=v.carried | {id}) if isinstance(v, Block) else v for n, v in entry.items()}
    end, _ = once(marked)
    start, steps, carried = _generalise(k, marked, end, id, index)
    carrying.found(marked, start, end)
    start |= {n: _steady(entry[n], id) for n, value in marked.items() if end.get(n) is value}
    nodes: tuple[Node, ...] = ()
    for _ in range(3):
        end, nodes = once(start)
        wrong = [
            name
            for name, step in steps.items()
            if not (isinstance(end.get(name), Block) and _advance(start[name], end[name]) == step)
        ]
        if not wrong:
            break
        for name in wrong:
            start[name] = replace(start[name], expr=k.unknown_index())
            del steps[name]
    trip = counted if trip is None else trip
    k.emit(Loop(id, kind, trip, nodes, span, num_stages, carried, held))
    final = dict(end)
    for name, step in steps.items():
        begun = entry[name]
        block = k.lift(begun)
        assert block is not None and block.expr is not None
        if trip is None:
            after = block.expr if step == 0 else k.unknown_index()
        else:
            after = block.expr + step * ex.lift(trip)
        final[name] = replace(end[name], expr=after)
    scope.vars = carrying.close({name: _leave(value, id) for name, value in final.items()}, entry, end)


def _generalise(
    k: KernelEvaluator, entry: dict[str, Any], end: dict[str, Any], id: int, index: Expr
) -> tuple[dict[str, Any], dict[str, Expr], int]:
    """The variables at the start of iteration ``index``: those that advance by a fixed step, the rest, and the words of these.

    Blocks in ``entry`` are marked as carried by loop ``id``: what bears the mark at the end came from there.
    """
    start = dict(entry)
    steps: dict[str, Expr] = {}
    carried = 0
    for name, after in end.items():
        if name not in entry or after is entry[name]:
            continue
        before = k.lift(entry[name])
        after = k.lift(after)
        if before is None or after is None:
            continue
        step = _advance(before, after)
        if step is not None and not _mentions(step, id):
            expr = before.expr + step * index if before.expr is not None else None
            start[name] = replace(after, expr=expr, shape=after.shape)
            steps[name] = step
            continue
        is_index = after.base != "" or (after.dtype is not None and after.dtype.is_integer and not after.loads)
        if not is_index and (id in after.carried or not isinstance(entry[name], Block)):
            carried += math.prod(after.shape) * (2 if after.dtype is not None and after.dtype.bits == 64 else 1)
        start[name] = replace(
            after,
            expr=k.unknown_index() if is_index else None,
            loads=before.loads | after.loads,
            carried=after.carried | {id},
            casts=(),
            source=None,
            scaled=None,
            order=(),
            constant=None,
            product=None,
            shadow=None,
            pads=(),
            growth="",
        )
    return start, steps, carried


def _advance(before: Block, after: Block) -> Expr | None:
    """``after - before`` where both are index expressions into the same thing, else None."""
    if before.expr is None or after.expr is None or before.base != after.base:
        return None
    if before.shape != after.shape:
        shape = broadcast(before.shape, after.shape)
        if shape != after.shape:
            return None
        before = align(before, after.shape)
    if before.expr is None or after.expr is None:
        return None
    difference = after.expr - before.expr
    return None if any(isinstance(a, ex.Opaque) and a.op == "unknown" for a in difference.atoms()) else difference


def _trips(test: Block, loop: int) -> ex.Size | None:
    """How often a ``while`` loop runs whose test is one bound that the loop moves by a fixed step; else None."""
    if test.partly or not test.bounds or len(test.bounds) != 1:
        return None
    left, right = test.bounds[0]
    distance = right - left
    slope = distance.coefficient(LoopIndex(loop))
    step = -slope.value if slope is not None and slope.value is not None else 0
    if step <= 0:
        return None
    room = ex.ceildiv(distance + Expr.atom(LoopIndex(loop)) * step, step)
    return max(room, 0) if isinstance(room, int) else room


def _mentions(expr: Expr, loop: int) -> bool:
    return LoopIndex(loop) in expr.atoms()


def _steady(value: Any, loop: int) -> Any:
    """``value``, which ``loop`` does not change."""
    return replace(value, steady=value.steady | {loop}) if isinstance(value, Block) else value


def _leave(value: Any, loop: int) -> Any:
    """``value`` after its loop: an index that still names the iteration stands for its last one, which is unknown."""
    if isinstance(value, Block) and value.expr is not None and _mentions(value.expr, loop):
        value = replace(value, expr=ex.opaque("unknown", key=-loop))
    if isinstance(value, Block) and loop in value.carried:
        value = replace(value, carried=value.carried - {loop})
    return value
