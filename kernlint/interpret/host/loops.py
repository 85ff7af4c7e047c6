"""Loops of host code: what makes device work becomes one Repeat, the rest is unrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host.first_call import Once, Recorded
from kernlint.interpret.host.rounds import rounds_of
from kernlint.interpret.host.values import LongList, OpenItems
from kernlint.interpret.python.control import Break, Continue, Raised, Return
from kernlint.interpret.python.environment import MAX_UNROLL
from kernlint.interpret.python.operators import same
from kernlint.interpret.triton.ranges import Range
from kernlint.interpret.values import Scope, Unknown
from kernlint.records import replace
from kernlint.syntax.counters import counter
from kernlint.workload import Expr, HostSync, Launch, Repeat, Size, Span, Tensor, TorchOp
from kernlint.workload import expr as ex
from kernlint.workload.steps import allocates

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


UNROLL_LAUNCHES = 1


#: A loop over at least that many views of a tensor in turn is one over its steps, not over the parts of something.
VIEWS_IN_TURN = 9


#: Steps that a loop over a list, of a model's layers say, or an endless one may make before the rest of it is taken to be
#: like the next time round; the latter may not go round more often, either.
_UNROLLED = 256
#: Nodes that the rounds of a `while` may take before that: a generator of batches ends with its files, which nobody knows.
_OF_ROUNDS = 20_000


def follow_for(h: HostEvaluator, node: cst.For, iterable: Any, scope: Scope) -> bool:
    """Follow a loop; False where it was left by a ``break``."""
    items = h.iterate(iterable)
    span = iterable if isinstance(iterable, Range) else None
    short = h.detailed and items is not None and len(items) <= h.unrolled
    alike = span is not None or (items and _views_in_turn(items))
    given = span or items
    if h.detailed and not short and given and _followed_at_once(h, node, node.target, given, scope):
        return True
    if not short and alike and _looped(h, node, node.target, items, span, scope):
        return True
    if items is None:
        opened = iterable if isinstance(iterable, OpenItems) else h.open_items(iterable)
        item, count = (opened.item, opened.length) if opened is not None else (Unknown("loop item"), None)
        _repeat(h, node, node.target, count, item, item, scope)
        return True
    before = _recorded(h)
    for number, item in enumerate(items):
        if _recorded(h) - before > _UNROLLED and _rest(h, node, items[number:], scope):
            return True
        if not _iteration(h, node, node.target, item, scope):
            return False
    return True


def follow_comprehension(h: HostEvaluator, node: cst.ListComp | cst.GeneratorExp, scope: Scope) -> LongList | None:
    """A comprehension over arguments of which nothing is known, or a range of open length, as one round of it; None for another."""
    clause = node.for_in
    called = clause.iter.func if isinstance(clause.iter, cst.Call) else clause.iter
    names = ("zip", "enumerate", "range")
    if not isinstance(called, cst.Name) or (called is not clause.iter and called.value not in names):
        return None  # what else is called there is followed once alone
    if clause.ifs or clause.inner_for_in is not None:
        return None
    iterable = h.eval(clause.iter, scope)
    opened = iterable if isinstance(iterable, OpenItems) else h.open_items(iterable)
    if isinstance(iterable, Range) and h.iterate(iterable) is None and iterable.trip is not None:
        opened = OpenItems(Unknown("index"), iterable.trip)
    if opened is None:
        return None
    inner = Scope(scope)
    with h.recording() as body, h.one_round_for_all():
        h.assign(clause.target, opened.item, inner)
        value = h.eval(node.elt, inner)
    if body:
        h.record(_loop(opened.length, body, h.span(node), h.symbol))
    return LongList([value], opened.length)


def follow_while(h: HostEvaluator, node: cst.While, scope: Scope) -> bool:
    """The same of a ``while``."""
    if _counted(h, node, scope):
        return True
    endless = isinstance(node.test, cst.Integer) or (isinstance(node.test, cst.Name) and node.test.value == "True")
    before, least = _recorded(h), h.budget - _OF_ROUNDS
    for number in range(MAX_UNROLL):
        test = h.eval(node.test, scope)
        truth = h.truth(test)
        if truth is False:
            return True
        if h.budget < least or (endless and (number == _UNROLLED or _recorded(h) - before > _UNROLLED)):
            truth = None  # what ends it depends on what is not known
        if truth is None:
            entry = dict(scope.vars)
            with h.recording() as body, h.one_round_for_all(), suppress(Break, Continue):
                h.run(node.body.body, scope)
            _forget(scope, entry)
            if body:
                h.unknown(f"trip count of the loop at line {h.span(node).line}")
                h.record(_loop(None, body, h.span(node), h.symbol))
            return True
        if not h.round(node.body.body, scope):
            return False
    return True


def _counted(h: HostEvaluator, node: cst.While, scope: Scope) -> bool:
    """A ``while`` that counts, as the ``for`` over a range that it is; False where it is none or makes no device work."""
    found = counter(node)
    if found is None or not h.sinks:
        return False
    start, bound, step = (h.eval(part, scope) for part in (found.name, found.bound, found.step))
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in (start, bound, step)) or step <= 0:
        return False
    step = step if found.up else -step
    span = Range("range", start, bound + (step // abs(step) if found.inclusive else 0), step)
    at_once = h.detailed and _followed_at_once(h, node, found.name, span, scope)
    if not at_once and not _looped(h, node, found.name, h.iterate(span), span, scope):
        return False
    h.assign(found.name, start + (span.trip or 0) * step, scope)
    return True


def _recorded(h: HostEvaluator) -> int:
    """How many steps the innermost recording has; none where nothing is recorded."""
    return len(h.sinks[-1]) if h.sinks else 0


def _rest(h: HostEvaluator, node: cst.For, items: list[Any], scope: Scope) -> bool:
    """The last ``items`` of a list as one Repeat, if the first of them makes device work: a list that long holds the
    candidates of a search. False where it makes none, which changes nothing."""
    put_back = _putting_back(scope)
    with h.recording() as body, h.one_round_for_all():
        _iteration(h, node, node.target, items[0], scope)
    if not _works(body):
        put_back()
        return False
    h.record(_loop(len(items), body, h.span(node), h.symbol))
    return True


def _looped(
    h: HostEvaluator,
    node: cst.For | cst.While,
    target: cst.BaseExpression,
    items: list[Any] | None,
    span: Range | None,
    scope: Scope,
) -> bool:
    """A loop over a range, or over views of a tensor in turn, with device work in its body becomes one Repeat; False when
    there is none, to be unrolled."""
    if not h.sinks or (items is not None and len(items) <= UNROLL_LAUNCHES):
        return False
    before, budget, initial, put_back = dict(scope.vars), h.budget, _lengths(scope), _putting_back(scope)
    if items is not None:
        with h.recording() as steps:
            _iteration(h, node, target, items[0], scope)
        if not _works(steps):
            put_back()
            if len(items) <= MAX_UNROLL:
                h.budget = max(h.budget, budget - 1000)
                return False
    if items:
        middle = len(items) // 2
        _repeat(h, node, target, len(items), items[max(0, middle - 1)], items[middle], scope, initial, before, steps)
    elif span is not None:
        first = ex.simplify(ex.lift(span.start))
        _repeat(h, node, target, span.trip, first, ex.simplify(ex.lift(first) + span.step), scope)
    return True


def _followed_at_once(
    h: HostEvaluator, node: cst.For | cst.While, target: cst.BaseExpression, iterable: Range | list[Any], scope: Scope
) -> bool:
    """A loop whose items follow one law, as a round at a place that is a symbol and the one after it; False where there is no
    such law, or where the rounds make no device work."""
    h.loops_at_once += 1
    rounds, before = (rounds_of(iterable, f"round_{h.loops_at_once}{which}") for which in ("", "_before"))
    if rounds is None or before is None or not h.sinks:
        return False
    entry, lengths, put_back = dict(scope.vars), _lengths(scope), _putting_back(scope)
    grown: dict[str, int] = {}
    found: list[list[Recorded]] = []
    met = [_held(scope)]
    whole = True
    for item in (before.item, rounds.item):
        grown = _lengths(scope)
        h.rounds += 1
        try:
            with h.recording() as steps, h.one_round_for_all():
                whole = _iteration(h, node, target, item, scope) and whole
        finally:
            h.rounds -= 1
        if not _works(steps):
            put_back()
            return False
        found.append(steps)
        met.append(_held(scope))
    if _comes_late(*met):
        put_back()
        return False
    _lengthen(scope, grown, rounds.count, lengths)
    _forget(scope, entry)
    if not whole:
        h.unknown(f"when the loop at line {h.span(node).line} ends")
    made = _loop(rounds.count, found[1], h.span(node), h.symbol, found[0])
    h.record(replace(made, round=rounds.place, before=before.place, backwards=rounds.backwards))
    return True


def _repeat(
    h: HostEvaluator,
    node: cst.For | cst.While,
    target: cst.BaseExpression,
    count: Size | None,
    before: Any,
    item: Any,
    scope: Scope,
    initial: dict[str, int] | None = None,
    start: Mapping[str, Any] | None = None,
    entered: Sequence[Recorded] = (),
) -> None:
    """Record the iteration for ``item``, after one for ``before`` that settles loop-carried variables. ``entered`` are the
    steps of a first iteration that was followed before that, from the variables ``start``."""
    entry = dict(scope.vars)
    lengths = _lengths(scope) if initial is None else initial
    with h.recording() as earlier, h.one_round_for_all():
        try:
            whole = _iteration(h, node, target, before, scope)
        except (Raised, Return):
            return
    second = dict(scope.vars)
    grown = _lengths(scope)
    with h.recording() as body, h.one_round_for_all():
        whole = _iteration(h, node, target, item, scope) and whole
    _lengthen(scope, grown, count, lengths)
    _forward(scope, entry if start is None else start, entry, second, count if whole else None)
    if body:
        if count is None:
            h.unknown(f"trip count of the loop at line {h.span(node).line}")
        h.record(_loop(count, body, h.span(node), h.symbol, earlier, entered))


def _iteration(
    h: HostEvaluator, node: cst.For | cst.While, target: cst.BaseExpression, item: Any, scope: Scope
) -> bool:
    h.assign(target, item, scope)
    return h.round(node.body.body, scope)


def _lengthen(scope: Scope, before: dict[str, int], count: Size | None, initial: dict[str, int]) -> None:
    """Give lists that one iteration appended to (``before`` it they had so many items, ``initial`` ones before the loop) the
    length they have after ``count`` iterations."""
    for name, value in scope.vars.items():
        if isinstance(value, list) and name in before and len(value) > before[name]:
            grown = ex.lift(count) * (len(value) - before[name]) if count is not None else None
            held = value.length if isinstance(value, LongList) else len(value)
            begun = None if held is None else ex.lift(held) - len(value) + initial.get(name, 0)
            length = ex.simplify(grown + begun) if grown is not None and begun is not None else None
            # What a round before the last has appended comes from steps that the loop stands for.
            values = [*value[: initial.get(name, 0)], *value[before[name] :]]
            scope.vars[name] = LongList(values, length, of_rounds=not isinstance(value, LongList))


def _forward(
    scope: Scope,
    start: Mapping[str, Any],
    entry: Mapping[str, Any],
    second: Mapping[str, Any],
    count: Size | None,
) -> None:
    """Give the numbers of ``scope`` the values that they have after ``count`` iterations from ``start``, of which some were
    followed: to ``entry``, if that is another one, to ``second`` and on to what they are now. What does not advance evenly is
    unknown."""
    for name, last in scope.vars.items():
        middle = second.get(name)
        if (
            isinstance(last, bool)
            or not isinstance(last, (int, float, Expr))
            or name not in start
            or same(middle, last)
        ):
            continue
        scope.vars[name] = Unknown(f"{name} after a loop")
        met = [start[name], *([] if entry is start else [entry.get(name)]), middle, last]
        numbers = [ex.lift(v) for v in met if isinstance(v, (int, Expr)) and not isinstance(v, bool)]
        steps = [b - a for a, b in pairwise(numbers)]
        if len(numbers) == len(met) and count is not None and all(step == steps[0] for step in steps):
            scope.vars[name] = ex.simplify(numbers[0] + steps[0] * count)


def _forget(scope: Scope, entry: Mapping[str, Any]) -> None:
    """Make unknown what a loop of unknown length has changed since ``entry`` and what is no tensor: one iteration was
    followed, and its numbers are those of no other."""
    for name, value in scope.vars.items():
        if name in entry and not same(entry[name], value) and not isinstance(value, (Tensor, LongList)):
            scope.vars[name] = Unknown(f"{name} after a loop")


def _loop(
    count: Size | None,
    body: list[Recorded],
    span: Span,
    function: str,
    earlier: Sequence[Recorded] = (),
    entered: Sequence[Recorded] = (),
) -> Repeat:
    return Repeat(count, tuple(body), span, function, tuple(earlier), tuple(entered))  # type: ignore[arg-type]  # what runs once is taken out at the end


def _views_in_turn(items: Sequence[Any]) -> bool:
    """Whether ``items`` are many views of a tensor that lie apart by one distance (or tuples of such and of numbers that
    count), as of time steps."""
    if len(items) < VIEWS_IN_TURN:
        return False
    if all(isinstance(item, tuple) for item in items):
        columns = list(zip(*items)) if len({len(item) for item in items}) == 1 else []
        return any(_views_in_turn(column) for column in columns) and all(
            _views_in_turn(column) or _counts(column) for column in columns
        )
    first = items[0]
    if not isinstance(first, Tensor):
        return False
    alike = all(
        isinstance(item, Tensor) and replace(item, offset=first.offset, name=first.name) == first for item in items
    )
    return alike and _counts([item.offset for item in items])


def _counts(numbers: Sequence[Any]) -> bool:
    """Whether ``numbers`` are integers, each as far from the one before as the second from the first."""
    if not all(isinstance(number, int) for number in numbers):
        return False
    return all(b - a == numbers[1] - numbers[0] for a, b in pairwise(numbers))


def _lengths(scope: Scope) -> dict[str, int]:
    """The lengths of the lists of a scope, by name."""
    return {name: len(value) for name, value in scope.vars.items() if isinstance(value, list)}


def _putting_back(scope: Scope) -> Callable[[], None]:
    """What gives the variables of ``scope`` the values that they have now, and the lists among these their items."""
    entry = dict(scope.vars)
    lists = [(value, [*value]) for value in entry.values() if isinstance(value, list)]

    def put_back() -> None:
        scope.vars = dict(entry)
        for value, items in lists:
            value[:] = items

    return put_back


def _held(scope: Scope) -> dict[str, list[Any]]:
    """What the variables of ``scope`` hold, lists and tuples item by item; what a tensor is called does not count."""

    def items(value: Any) -> list[Any]:
        if isinstance(value, (list, tuple)):
            return [item for one in value for item in items(one)]
        return [replace(value, name="") if isinstance(value, Tensor) else value]

    return {name: items(value) for name, value in scope.vars.items()}


def _comes_late(*met: Mapping[str, list[Any]]) -> bool:
    """Whether one round leaves what the next one changes: that is handed on over two rounds, and what a third one gets two do not
    show. ``met`` is what variables hold before a round, after it, and after the next."""
    entry, first, second = met
    return any(
        same(a, b) and not same(b, c)
        for name in entry.keys() & first.keys() & second.keys()
        for a, b, c in zip(entry[name], first[name], second[name])
    )


def _works(steps: Iterable[Recorded]) -> bool:
    """Whether any of ``steps`` gives the device something to do or waits for it."""
    return any(isinstance(s, (Launch, TorchOp, HostSync, Repeat, Once)) and not allocates(s) for s in steps)
