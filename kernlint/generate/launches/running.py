"""What a kernel's loop carries, in all of its rounds: a recurrence over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernlint.generate.launches.graph import Graph
from kernlint.generate.launches.places import Place, looked_at
from kernlint.generate.scans import State, after_the_loop, carried, depends, last_of
from kernlint.generate.values import CannotGenerate, Value, View, lane, lanes_of
from kernlint.records import dataclass
from kernlint.workload import Expr, Lane
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom
from kernlint.workload.values import Value as KernelValue

if TYPE_CHECKING:
    from kernlint.generate.launches.kernels import Lanes

_UNFINISHED = "a store of what a loop has not finished"


@dataclass(frozen=True)
class _Carried:
    """What stands ``before`` for a value that a loop carries, the view that it has ``first``, and that ``after`` the round at hand."""

    before: View
    first: View
    after: View


def at_all_rounds(lanes: Lanes, view: View) -> View:
    """``view``, made of what a loop carries at the round at hand, made of what it carries in all rounds."""
    if not depends(view.value):
        return view
    nodes = {lanes.values[phi].node for phi, _ in lanes.carried}
    node = nodes.pop()
    if nodes or node not in lanes.rounds:
        raise CannotGenerate(_UNFINISHED)
    found, at = _all_carried(lanes, node), lanes.final(lanes.rounds[node])
    made = _exchanged(lanes.graph, view, _recurrence(lanes.graph, list(found.values()), at, lanes.trip(node)))
    if depends(made.value):
        raise CannotGenerate(_UNFINISHED)
    return made


def after_all_rounds(lanes: Lanes, phi: KernelValue, place: Place, at: Expr, count: int) -> View:
    """What ``phi``, of whose loop the round at hand is the lane ``at``, is after ``count`` rounds."""
    found = _all_carried(lanes, phi.node)
    new = _recurrence(lanes.graph, list(found.values()), at, count)
    _, scan = new[id(found[phi.id, place].after.value)]
    return View(last_of(scan.value), scan.index[:-1])


def _all_carried(lanes: Lanes, node: int) -> dict[tuple[int, Place], _Carried]:
    """What the values at hand are made of that the loop ``node`` carries, and what that is made of in its turn."""
    found: dict[tuple[int, Place], _Carried] = {}
    while left := [key for key in lanes.carried if key not in found and lanes.values[key[0]].node == node]:
        phi, place = lanes.values[left[0][0]], left[0][1]
        stand = lanes.carried[left[0]]
        if not isinstance(stand, View):
            raise CannotGenerate(_UNFINISHED)
        before, end = lanes.values.operands(phi)
        after, dtype = lanes.elements(end, place), phi.dtype or dt.FLOAT32
        with lanes.outside(phi.node):
            first = lanes.graph.map("cast", dtype, lanes.elements(before, place))
        found[left[0]] = _Carried(stand, first, lanes.graph.map("cast", dtype, after))
    return found


def _recurrence(graph: Graph, found: list[_Carried], at: Expr, count: int) -> dict[int, tuple[View, View]]:
    """By identity the views before and after each round, and what they are in all of ``count`` rounds; ``at`` is the place of a round."""
    (time,) = lanes_of((at,)) if len(lanes_of((at,))) == 1 else (-1,)
    backwards = at == (count - 1) - lane(time)
    if time < 0 or (at != lane(time) and not backwards) or graph.box[Lane(time)] != (0, count - 1):
        raise CannotGenerate("a loop whose rounds are not the places along an axis")
    over = {dim for one in found for view in (one.first, one.after) for dim in lanes_of(view.index)}
    space = [*sorted(over - {time}), time]
    if any(time in lanes_of(one.first.index) for one in found):
        raise CannotGenerate(_UNFINISHED)
    shape, index = tuple(map(graph.extent, space)), tuple(map(lane, space))
    places: dict[Atom, Expr] = {Lane(dim): lane(number) for number, dim in enumerate(space)}

    def seen(view: View) -> View:
        return View(view.value, tuple(place.substitute(places) for place in view.index))

    befores = [carried(shape, one.before.value.dtype) for one in found]
    open_ = {id(one.before.value): (one.before, View(before, index)) for one, before in zip(found, befores)}
    states = []
    for one, before in zip(found, befores):
        update = seen(_exchanged(graph, one.after, open_))
        states.append(State(before, seen(one.first), Value("cast", shape, before.dtype, (update,))))
    made = after_the_loop(states, backwards)
    new = {id(one.before.value): (one.before, View(made[id(s.before)], index)) for one, s in zip(found, states)}
    return new | {id(one.after.value): (one.after, View(made[id(s.update)], index)) for one, s in zip(found, states)}


def _exchanged(graph: Graph, view: View, new: Mapping[int, tuple[View, View]]) -> View:
    """``view`` made of what ``new`` has for the views that it is made of."""
    value = view.value
    if not depends(value):
        return view
    if id(value) in new:
        old, made = new[id(value)]
        if old.index != view.index:
            raise CannotGenerate("a loop whose lanes need one another's values")
        return made
    operands = [_exchanged(graph, one, new) for one in graph.operands(view)]
    if value.op == "choose" and len(operands) == 2:
        (case, _) = value.attributes["cases"]
        return graph.choose([looked_at(bound, view.index) for bound in case], *operands)
    if not operands or value.attributes:
        raise CannotGenerate(_UNFINISHED)
    return graph.map(value.op, value.dtype, *operands)
