"""A workload with a few launches exchanged for what edits make of them, without following the program again.

Where an edit is a number in a function, or an option of a launch, the calls of that function (or the launch alone) are
followed again as they were, see :mod:`~kernlint.interpret.host.journal`. That answers for the program if each call gives back what it
gave before, learns nothing else, changes nothing that outlives it, and makes the same steps but for launches of the same
kernels on the same arguments. Calls on arguments that look alike are followed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.asked_once import AskedOnce
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.host.first_call import Recorded, bare
from kernlint.interpret.host.journal import Entry, Journal, OutOfReach, alike
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised
from kernlint.records import dataclass, replace
from kernlint.syntax.tree import Module
from kernlint.workload import Expr, Launch, Repeat, Span, Step, Workload
from kernlint.workload.span import Nest

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator

#: What an evaluation may add to, by the names of the host's attributes.
_LEARNED = (
    "learned", "refined", "contiguous", "hosted", "perhaps", "read_sizes", "integers", "needed", "untaken", "bounds",
    "zeros", "assumptions", "unknowns", "kept", "expected", "numbers_read",
)  # fmt: skip
#: Nodes evaluated for one call that is followed again.
_BUDGET = 100_000


@dataclass(frozen=True)
class _Outcome:
    """What one evaluation gave and recorded, and what the host had learned behind it that it had not before."""

    result: Any
    steps: tuple[Recorded, ...]
    launches: tuple[Launch, ...]
    learned: tuple[Any, ...]


class Substitution(AskedOnce):
    """What edits of numbers make of the workloads that ``host`` has followed under the edits ``base``, as told by its ``journal``."""

    def __init__(self, host: HostEvaluator, journal: Journal, module: Module, base: Edits = NO_EDITS) -> None:
        self.host = host
        self.journal = journal
        self.module = module
        self.base = base
        #: By the identity of an entry: what it is like, and what it gives as the program stands, None where it is not the same.
        self._kinds: dict[int, int] = {}
        self._numbered: dict[Any, int] = {}
        self._outcomes: dict[int, _Outcome | None] = {}
        #: By what an entry is like: what becomes of its launches under edits, None where that cannot be told.
        self._afters: dict[tuple[int, Edits], tuple[Launch, ...] | None] = {}

    def workload(self, before: Workload, edits: Edits) -> Workload | None:
        """``before`` under ``edits``; None where it takes following the program again to tell."""
        exchanged: dict[int, Launch] = {}
        nodes = self._nodes(edits)
        if None in nodes or not all(
            self._exchange(n, nodes, before.entry, edits, exchanged) for n in nodes.values() if n
        ):
            return None
        steps, first = _with(before.steps, exchanged), before.first_steps
        first = _with(first, exchanged) if first is not None else None
        changed = replace(before, steps=steps, first_steps=first, reference=None)
        if before.symbols or any(_is_open(launch) for launch in exchanged.values()):
            from kernlint.interpret.reading.calls import open_symbols

            changed = replace(changed, symbols=open_symbols(changed.first_call()))
        return changed

    def launch(self, launch: Launch, entry_point: str, edits: Edits) -> Launch | None:
        """What becomes of ``launch`` alone, one of the program as it stands, under ``edits``: of several calls that they are in
        the one around it is followed again. None where it takes following the program again to tell."""
        nodes = self._nodes(edits)
        if None in nodes:
            return None
        around = [entry for entry in self._entries.get(id(launch), ()) if id(entry.node) in nodes]
        elsewhere = nodes.keys() - {id(entry.node) for entry in around}
        # What others give must stay, and where they launch something else too, that is not asked about.
        if not all(self._exchange(nodes[n], nodes, entry_point, edits, {}) for n in elsewhere):  # type: ignore[arg-type]
            return None
        outer = [entry for entry in around if not entry.around & nodes.keys()]
        if len(outer) != 1 or outer[0].following not in ("", entry_point):
            return None if around else launch
        after = self._after(outer[0], edits)
        if after is None:
            return None
        place = next(i for i, one in enumerate(outer[0].launches) if one is launch)
        return _placed(launch, after[place])

    @cached_property
    def _entries(self) -> dict[int, list[Entry]]:
        """By the identity of a launch the evaluations that it was part of."""
        found: dict[int, list[Entry]] = {}
        for entries in self.journal.entries.values():
            for entry in entries:
                for launch in entry.launches:
                    found.setdefault(id(launch), []).append(entry)
        return found

    # -- what is to be followed again ----------------------------------------------------------------------------------

    def _nodes(self, edits: Edits) -> dict[int | None, cst.CSTNode | None]:
        """The launches and functions that ``edits`` are in by their identity; with None where one is elsewhere."""
        nodes = (self.once(Substitution._home, span) for span in (*edits.new_literals, *edits.new_options))
        return {None if node is None else id(node): node for node in nodes}

    def _home(self, span: Span) -> cst.CSTNode | None:
        """The innermost launch whose expression holds ``span``, else the outermost function that does; None where none is known
        to have been evaluated."""
        function = next(iter(self._functions.around(span)), None)
        if function is None or any(self.module.span(one).contains(span) for one in function.decorators):
            return None
        calls = self._evaluated_calls.around(span)
        if calls:
            return calls[-1]
        return function if id(function) in self.journal.entries else None

    @cached_property
    def _evaluated_calls(self) -> Nest[cst.Call]:
        """The launches of the module that are known to have been evaluated."""
        calls = (call for call in self.module.of(cst.Call) if id(call) in self.journal.entries)
        return Nest((self.module.span(call), call) for call in calls)

    @cached_property
    def _functions(self) -> Nest[cst.FunctionDef]:
        """The functions and methods of the module."""
        return Nest((self.module.span(node), node) for node in self.module.of(cst.FunctionDef))

    # -- following again -----------------------------------------------------------------------------------------------

    def _exchange(
        self,
        node: cst.CSTNode,
        others: Mapping[int | None, Any],
        entry_point: str,
        edits: Edits,
        exchanged: dict[int, Launch],
    ) -> bool:
        """Add to ``exchanged`` what becomes of the launches in the evaluations of ``node``, by their identity; those that come
        with the evaluation of one of the ``others`` are left to that. False where it cannot be told."""
        for entry in self.journal.entries[id(node)]:
            if entry.following not in ("", entry_point) or entry.around & others.keys():
                continue
            after = self._after(entry, edits)
            if after is None:
                return False
            exchanged.update((id(old), _placed(old, new)) for old, new in zip(entry.launches, after))
        return True

    def _after(self, entry: Entry, edits: Edits) -> tuple[Launch, ...] | None:
        """The launches of ``entry`` under ``edits``, on the memory of one like it; None where the rest of the program may notice."""
        asked = self._kind(entry), edits
        if asked not in self._afters:
            self._afters[asked] = self._changed(entry, edits)
        return self._afters[asked]

    def _kind(self, entry: Entry) -> int:
        """A number for all that decides what ``entry`` gives but for the identity of memory."""
        if id(entry) not in self._kinds:
            storages: dict[int, int] = {}
            given = tuple(alike(value, storages, entry.scope) for value in entry.given())
            launches = tuple(_kind(launch, storages) for launch in entry.launches)
            state = entry.silent, entry.depth_once, entry.guarded, tuple(entry.numbers.items())
            kind = given, launches, state, alike(entry.result, storages)
            self._kinds[id(entry)] = self._numbered.setdefault(kind, len(self._numbered))
        return self._kinds[id(entry)]

    def _changed(self, entry: Entry, edits: Edits) -> tuple[Launch, ...] | None:
        """The launches of ``entry`` under ``edits``; None where the rest of the program may notice."""
        if id(entry) not in self._outcomes:
            now = self._again(entry, self.base) if entry.ended else None
            if now is not None and not (
                _same(now.result, entry.result)
                and len(now.launches) == len(entry.launches)
                and all(map(_is_same, now.launches, entry.launches))
            ):
                now = None
            self._outcomes[id(entry)] = now
        now = self._outcomes[id(entry)]
        after = self._again(entry, edits) if now is not None else None
        if now is None or after is None or not _same(now.result, after.result) or now.learned != after.learned:
            return None
        if len(after.launches) != len(entry.launches) or not all(map(_replaces, entry.launches, after.launches)):
            return None
        return after.launches if _alike_but_for_launches(now.steps, after.steps) else None

    def _again(self, entry: Entry, edits: Edits) -> _Outcome | None:
        steps: list[Recorded] = []
        with self._as_it_was(entry, edits) as learned:
            self.host.sinks = [] if entry.silent else [steps]
            try:
                result = entry.again()
            except (Raised, Break, Continue, OutOfBudget, OutOfReach):
                return None
            finally:
                self.host.count()
            launches = tuple(step for step in _walk(steps) if isinstance(step, Launch))
            return _Outcome(result, tuple(steps), launches, learned())

    @contextmanager
    def _as_it_was(self, entry: Entry, edits: Edits) -> Iterator[Callable[[], tuple[Any, ...]]]:
        """The host as it was when ``entry`` was evaluated, with ``edits`` in force and nobody to ask what is refused. What is
        yielded tells what it has learned since."""
        host = self.host
        saved = dict(vars(host))
        if entry.following:
            host.turn_to(entry.following)
        known = {name: getattr(host, name) for name in _LEARNED}
        vars(host).update({name: value.copy() for name, value in known.items()})
        host.numbers = {entry.function: dict(entry.numbers)} if entry.function is not None else {}
        host.constants, host.captured, host.seen_kernels = dict(host.constants), [*host.captured], {}
        host.modules, host.calls, host.sinks = [*entry.modules], [*entry.calls], []
        host.depth_once, (host.guarded, host.tried) = entry.depth_once, entry.guarded
        host.next_storage = entry.storage
        host.budget = host._budget_counted = _BUDGET
        host.frozen, host.journal, host.seen = True, None, None
        host.target = host.kernel_calls = None
        host.force(edits)

        def learned() -> tuple[Any, ...]:
            news = tuple(None if getattr(host, n) == known[n] else _news(getattr(host, n), known[n]) for n in _LEARNED)
            return (*news, host.escapes)

        host.escapes = False
        try:
            yield learned
        finally:
            vars(host).clear()
            vars(host).update(saved)


def _news(after: Any, before: Any) -> Any:
    """What the container ``after`` holds beyond what it held ``before``."""
    if isinstance(after, list):
        return after[len(before) :]
    if isinstance(after, set):
        return after - before
    return {key: value for key, value in after.items() if key not in before or before[key] != value}


def _walk(steps: Iterable[Recorded]) -> Iterator[Step]:
    for recorded in steps:
        step = bare(recorded)
        yield step
        if isinstance(step, Repeat):
            yield from _walk(step.earlier)
            yield from _walk(step.body)


def _kind(launch: Launch, storages: dict[int, int]) -> Any:
    """A key of ``launch`` that others have too which differ in nothing but the identity of memory."""
    return (
        id(launch.kernel.body),
        launch.kernel.name_span,
        launch.grid,
        tuple((name, alike(value, storages)) for name, value in launch.arguments.items()),
        tuple((name, alike(value, storages)) for name, value in launch.constexprs.items()),
        (launch.num_warps, launch.num_stages, launch.span, launch.function, launch.grid_follows, launch.explicit),
        tuple(launch.literals.items()),
        tuple(launch.numbers.items()),
        tuple(_kind(one, storages) for one in launch.alternatives),
    )


def _replaces(old: Launch, new: Launch) -> bool:
    """Whether ``new`` launches the same kernel as ``old`` at the same place on the same arguments, but for the identity of
    memory."""
    if old.span != new.span or old.kernel.name_span != new.kernel.name_span or old.function != new.function:
        return False
    if old.arguments.keys() != new.arguments.keys() or len(old.alternatives) != len(new.alternatives):
        return False
    storages: dict[int, int] = {}
    others: dict[int, int] = {}
    same = (alike(value, storages) == alike(new.arguments[name], others) for name, value in old.arguments.items())
    return all(same) and all(map(_replaces, old.alternatives, new.alternatives))


def _placed(old: Launch, new: Launch) -> Launch:
    """``new`` on the memory of ``old``."""
    alternatives = tuple(map(_placed, old.alternatives, new.alternatives))
    placed = replace(new, arguments=old.arguments, alternatives=alternatives)
    # What differs in nothing but memory looks alike; the answer is worked out once.
    vars(placed)["shapes"] = new.shapes
    return placed


def _same(a: Any, b: Any) -> bool:
    storages: dict[int, int] = {}
    others: dict[int, int] = {}
    return bool(a is b or a == b or alike(a, storages) == alike(b, others))


def _is_same(now: Launch, then: Launch) -> bool:
    """Whether two launches are the same but for what was refused of them."""
    return _kind(now, {}) == _kind(then, {}) and now.arguments == then.arguments


def _alike_but_for_launches(now: Iterable[Recorded], after: Iterable[Recorded]) -> bool:
    """Whether two recordings are the same steps in the same loops, launches left aside."""
    one, other = list(now), list(after)
    if len(one) != len(other):
        return False
    for a, b in zip(one, other):
        if type(a) is not type(b):
            return False
        x, y = bare(a), bare(b)
        if isinstance(x, Launch) and isinstance(y, Launch):
            continue
        if isinstance(x, Repeat) and isinstance(y, Repeat):
            parts = ((x.body, y.body), (x.earlier, y.earlier))
            if replace(x, body=(), earlier=()) != replace(y, body=(), earlier=()):
                return False
            if not all(_alike_but_for_launches(*pair) for pair in parts):
                return False
        elif x != y:
            return False
    return True


def _with(steps: tuple[Step, ...], exchanged: Mapping[int, Launch]) -> tuple[Step, ...]:
    """``steps`` with launches exchanged; steps that stay are the same objects."""
    result = list(map(exchanged.get, map(id, steps), steps))
    for number, step in enumerate(steps) if Repeat in map(type, steps) else ():
        if type(step) is Repeat:
            body, earlier = _with(step.body, exchanged), _with(step.earlier, exchanged)
            unchanged = all(a is b for a, b in zip((*body, *earlier), (*step.body, *step.earlier)))
            result[number] = step if unchanged else replace(step, body=body, earlier=earlier)
    return tuple(result)


def _is_open(launch: Launch) -> bool:
    """Whether a size is open in what a launch can change: its grid."""
    return any(isinstance(extent, Expr) and extent.value is None for extent in launch.grid)
