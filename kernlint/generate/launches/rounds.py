"""What loops in kernels carry from one round to the next: places that move by a step, sums, extremes, and sums scaled by the largest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kernlint.generate.launches.graph import NEUTRAL
from kernlint.generate.launches.places import Place, Pointer, looked_at
from kernlint.generate.launches.running import after_all_rounds
from kernlint.generate.values import CannotGenerate, View
from kernlint.records import dataclass
from kernlint.workload import Expr, LoopIndex, Opaque
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift
from kernlint.workload.values import Value

if TYPE_CHECKING:
    from kernlint.generate.launches.kernels import Lanes


def at_round(lanes: Lanes, phi: Value, place: Place) -> Any:
    """What ``phi`` holds at the beginning of the round at hand."""
    if (phi.id, place) in lanes.carried:
        return lanes.carried[phi.id, place]
    if phi.node not in lanes.rounds:
        raise CannotGenerate("a value of a loop outside of it")
    before, _ = lanes.values.operands(phi)
    with lanes.outside(phi.node):
        start = lanes.operand(before, place)
    step = _step(lanes, phi, place, start)
    if step is not None:
        return _advanced(start, step * lanes.rounds[phi.node])
    if any(key[0] == phi.id for key in lanes.carried):
        raise CannotGenerate("a loop whose lanes need one another's values")
    made = View(lanes.graph.carried(phi.dtype or dt.FLOAT32), ())
    lanes.carried[phi.id, place] = made
    return made


def _advanced(start: Any, by: Expr) -> Any:
    return Pointer(start.base, start.offset + by) if isinstance(start, Pointer) else start + by


@contextmanager
def _inside(lanes: Lanes, loop: int, round: Expr) -> Iterator[None]:
    outer = lanes.rounds.get(loop)
    lanes.rounds[loop] = round
    try:
        yield
    finally:
        if outer is None:
            del lanes.rounds[loop]
        else:
            lanes.rounds[loop] = outer


def _step(lanes: Lanes, phi: Value, place: Place, start: Any) -> Expr | None:
    """How far a place or an address moves in each round; None for what is neither."""
    if not isinstance(start, (Expr, Pointer)):
        return None
    atom = Opaque("unknown", (), phi.id)
    probe = _advanced(start, Expr.atom(atom))
    kept = lanes.carried
    lanes.carried = {**kept, (phi.id, place): probe}
    try:
        _, end = lanes.values.operands(phi)
        after = lanes.operand(end, place)
    finally:
        lanes.carried = kept
    if type(after) is not type(start) or getattr(after, "base", "") != getattr(start, "base", ""):
        raise CannotGenerate("an address that a loop changes in other ways than by a step")
    step = after.offset - probe.offset if isinstance(after, Pointer) else after - probe
    moving = {atom, *(one for one in step.atoms() if isinstance(one, LoopIndex) and one.loop == phi.node)}
    if moving & step.atoms() or lanes.rounds[phi.node].atoms() & step.atoms():
        raise CannotGenerate("an address that a loop changes in other ways than by a step")
    return step


# -- after all rounds --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rounds:
    """All rounds of the loop ``node``: ``at`` is the lane that tells them apart."""

    lanes: Lanes
    node: int
    at: Expr
    count: int


def after_rounds(lanes: Lanes, value: Value, place: Place) -> Any:
    """What a value of a loop is when it is over."""
    inside, loop = lanes.values.operands(value)[0], value.node
    count = lanes.trip(loop)
    carried = inside.op == "phi" and inside.node == loop
    if count == 0:
        if not carried:
            raise CannotGenerate("a value of a loop that makes no round")
        return lanes.operand(lanes.values.operands(inside)[0], place)
    if not carried:
        with _inside(lanes, loop, lift(count - 1)):
            return _without_carried(lanes.operand(inside, place))
    before, _ = lanes.values.operands(inside)
    start = lanes.operand(before, place)
    if isinstance(start, (Expr, Pointer)):
        with _inside(lanes, loop, lift(0)):
            step = _step(lanes, inside, place, start)
        if step is not None:
            return _advanced(start, step * count)
    at = lanes.graph.lane(count)
    return _accumulated(_Rounds(lanes, loop, at, count), inside, place)


def _without_carried(made: Any) -> Any:
    if isinstance(made, View) and any(one.op == "carried" for one in made.value.walk()):
        raise CannotGenerate("the last round of a loop")
    return made


def _accumulated(rounds: _Rounds, phi: Value, place: Place) -> View:
    """The value of ``phi`` after all rounds."""
    lanes, graph = rounds.lanes, rounds.lanes.graph
    before, end = lanes.values.operands(phi)
    start = lanes.elements(before, place)
    kept, lanes.carried = lanes.carried, dict(lanes.carried)
    own = View(graph.carried(phi.dtype or dt.FLOAT32), ())
    lanes.carried[phi.id, place] = own
    try:
        with _inside(lanes, rounds.node, rounds.at):
            after = lanes.elements(end, place)
            open_ = {
                id(made.value)
                for key, made in lanes.carried.items()
                if isinstance(made, View) and key not in kept and lanes.values[key[0]].node == rounds.node
            }
            for kind, op in (("sum", "add"), ("max", "maximum"), ("min", "minimum")):
                rest = _rest(rounds, op, kind, after, own)
                if rest is not None and not _depends(rest, open_):
                    return _with_start(rounds, op, kind, rest, start)
            if _depends(after, open_):
                return after_all_rounds(lanes, phi, place, rounds.at, rounds.count)
    finally:
        lanes.carried = kept
    return graph.look(after, {atom: lift(rounds.count - 1) for atom in rounds.at.atoms()})


def _with_start(rounds: _Rounds, op: str, kind: str, rest: View, start: View) -> View:
    """What all rounds make, and what was there before."""
    graph = rounds.lanes.graph
    made = graph.reduce(kind, rest, (rounds.at,), rest.value.dtype)
    return graph.map(op, start.value.dtype, start, made)


def _rest(rounds: _Rounds, op: str, kind: str, after: View, own: View) -> View | None:
    """``rest`` where ``after`` is ``own`` and the rest put together by ``op``."""
    graph, value = rounds.lanes.graph, after.value
    if value.op == "cast" and value.dtype.is_float:
        return _rest(rounds, op, kind, graph.operands(after)[0], own)
    if value.op == "choose" and len(value.operands) == 2:
        inside, outside = graph.operands(after)
        if outside.value is own.value:
            rest = _rest(rounds, op, kind, inside, own)
            neutral = graph.number(NEUTRAL[kind], value.dtype)
            return None if rest is None else graph.look(graph.choose(_case(after), rest, neutral), {})
    if value.op != op:
        return None
    first, second = graph.operands(after)
    for one, other in ((first, second), (second, first)):
        if one.value is own.value:
            return other
        inner = _rest(rounds, op, kind, one, own) if _depends(one, {id(own.value)}) else None
        if inner is not None:
            return graph.map(op, value.dtype, inner, other)
    return None


def _case(view: View) -> Sequence[Any]:
    (case, _) = view.value.attributes["cases"]
    return [looked_at(bound, view.index) for bound in case]


def _depends(view: View, values: set[int]) -> bool:
    return any(id(one) in values for one in view.value.walk())
