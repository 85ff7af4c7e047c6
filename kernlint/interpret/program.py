"""From a kernel module and its reference to workloads: a program and a question about it, read as often as what-ifs need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import libcst as cst

from kernlint.asked_once import AskedOnce
from kernlint.interpret.dependencies import Dependencies
from kernlint.interpret.earlier import Earlier, Readings
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.host.open_kernels import KernelsRead
from kernlint.interpret.question import Fact, Question
from kernlint.interpret.reading.entries import Followed, Reading
from kernlint.interpret.reading.modules import ModuleReading
from kernlint.interpret.substituted import Substitution
from kernlint.interpret.swapped_kernels import KernelCalls, recoded
from kernlint.interpret.trace import Trace
from kernlint.interpret.values import Function, Scope
from kernlint.interpret.vendor import files_around, other_vendor
from kernlint.records import replace
from kernlint.syntax.patched import Patched
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Expr, Fault, Kernel, Launch, Size, Span, Symbol, Workload

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator

_T = TypeVar("_T")

_ROUNDS = 5


class Program(AskedOnce):
    """A kernel module, its reference and a question about them, ready to be read as often as what-ifs need.

    Raises :class:`UsageError` for an unknown entry, override or fact; :class:`AnalysisError` where the model has no method
    that is called.
    """

    def __init__(
        self,
        kernel: Module,
        reference: Module | None = None,
        question: Question | None = None,
        earlier: Earlier | None = None,
    ) -> None:
        self.kernel = kernel
        self.reference = reference
        self.question = question or Question()
        self._kernels = KernelsRead()
        self._refused: dict[Any, tuple[Fault, ...]] = {}
        self._kernel_calls: KernelCalls = {}
        self._earlier = None if earlier is None else Readings(earlier, self.question.overrides)
        #: The functions that apply private autograd functions, by the entry that is the backward pass of these.
        self._callers: dict[str, str] = {}
        #: What each comparison of sizes on the host came to wherever it was met (``HostState.outcomes``).
        self.outcomes: dict[cst.CSTNode, set[bool | None]] = {}
        #: By edits and the one entry that was followed, empty for all.
        self._read: dict[tuple[Edits, str], list[Workload]] = {}
        self._bare: dict[Edits, list[Workload]] = {}
        #: What numbers make of each workload read, by the other edits and the one entry that was followed, and of an entry.
        self._substitution: dict[tuple[Edits, str], dict[str, Substitution]] = {}
        self._substituted: dict[tuple[Edits, str], Workload | None] = {}
        self._open: dict[Span, Kernel | None] = {}
        self._resolved: dict[Symbol, Size] = {
            Symbol(name): fact.size
            for fact in self.question.facts
            if fact.size is not None
            for name in (fact.name, f"{fact.function}.{fact.name}")
        }
        self._imported: dict[Path, Scope | None] = {}
        self._operators: dict[str, Function | None] = {}
        #: The file of each import, by the path of who imports, the package and the level.
        self._found: dict[tuple[str, str, int], Path | None] = {}
        #: Whoever reads the program now, and so runs what was put off.
        self._reading: ModuleReading
        #: Whether only the entry that is asked about is followed: what others tell of its symbols is known.
        self._focused = False
        self._at: dict[Any, Program] = {}
        #: What reading has shown of the arguments of each function or class, beside what was said.
        self._learned: dict[str, dict[Symbol, Size]] = {}
        self._integers: set[tuple[str, str]] = set()
        self._needed: set[tuple[str, str]] = set()
        self._asked_vendor = False
        self._readings: WeakSet[ModuleReading] = WeakSet()
        self._traces: dict[str, Trace] = {}
        self._tracing: Reading | None = None
        self._under: dict[int, Program] = {}
        #: Why a reference that was given says nothing of the workloads; empty where it does.
        self._without_reference = ""
        #: The file that launches, where the question is about the kernels of another one; else empty.
        self.outside = ""

    @property
    def imported(self) -> Iterable[Path]:
        """The modules that were looked into so far for helpers, whether they could be read or not, and for the vendor."""
        around = files_around(self.kernel.path) if self._asked_vendor else ()
        return [*self._imported, *around]

    def dependencies(self) -> Dependencies:
        """What was read of other files so far, by this program and its variants."""
        return Dependencies(dict(self._found), self.kernel.path if self._asked_vendor else "")

    @property
    def without_reference(self) -> str:
        """Why a reference that was given says nothing; empty where it does, and where there is none."""
        return self._without_reference

    @property
    def contradictions(self) -> Sequence[str]:
        """What the code says against the facts that it was given."""
        return self._reading.host.contradictions

    @property
    def constants(self) -> dict[str, Any]:
        """What the modules give names to at their top level, as far as these are plain data."""
        return dict(self._reading.host.constants)

    @property
    def other_vendor(self) -> str:
        """Why a fork of Triton compiles the kernels, not Triton itself; empty where nothing says so."""
        self._asked_vendor = True
        return other_vendor(self.kernel)

    def workloads(self, edits: Edits = NO_EDITS, only: str = "") -> list[Workload]:
        """The workload of the entry, else of ``ModelNew.forward``, else of each public launching function (of the one called
        ``only``, if given)."""
        if (edits, only) not in self._read:
            self._read[edits, only] = self._follow(edits, only)
        return self._read[edits, only]

    def bare_kernels(self, edits: Edits = NO_EDITS) -> list[Workload]:
        """One workload for each kernel of the module that no followed call launches and no other kernel calls: a single
        launch of it on arguments of which nothing is known."""
        if edits not in self._bare:
            launched = {launch.kernel.name_span for w in self.workloads() for launch in w.first_call().launches()}
            reading = Reading(self, edits, self._resolved) if edits else self._opened
            self._bare[edits] = reading.bare_kernels(launched)
        return self._bare[edits]

    def open_kernel(self, kernel: Kernel) -> Kernel | None:
        """``kernel`` as it is for any arguments: sizes and strides are symbols called like the parameters, the extents of the
        grid ``grid[0]`` and so on. None for one that is not a module-level name of the analysed module."""
        if kernel.name_span not in self._open:
            self._open[kernel.name_span] = self._opened.open_kernel(kernel.name_span)
        return self._open[kernel.name_span]

    @cached_property
    def _opened(self) -> Reading:
        """What kernels are launched in that no call is followed to."""
        return Reading(self, NO_EDITS, self._resolved)

    @property
    def source_alone(self) -> Workload:
        """The workload without steps that rules about the source alone are asked about."""
        return Workload("", self.kernel.path, (), bare=True)

    def workload(self, entry: str, edits: Edits, bare: bool = False) -> Workload | None:
        """That of one entry (a kernel's name where ``bare``, :attr:`source_alone` for no name) under ``edits``; None when the
        edited program no longer gets there."""
        if bare and not entry:
            return self.source_alone
        if bare and edits not in self._bare:
            return Reading(self, edits, self._resolved).bare_kernel(entry)
        if edits and not bare:
            found = self._exchanged(entry, edits)
            if found is not None:
                return found
        # A what-if is about one entry: to follow the others again would be in vain.
        workloads = self.bare_kernels(edits) if bare else self.workloads(edits, entry if edits else self._only(entry))
        return next((w for w in workloads if w.entry == entry), None)

    def launch(self, entry: str, launch: Span, place: int, edits: Edits) -> Launch | None:
        """The launch number ``place`` of those that ``entry`` makes at ``launch`` under ``edits``, where that can be told without
        following the rest of the program; else None, which says nothing."""
        if not edits or self._substituted.get((edits, entry), launch) is None:
            return None
        before, substitution = self._base(entry, edits)
        launches = before.launches_at(launch) if before is not None else ()
        if substitution is None or place >= len(launches):
            return None
        return substitution.launch(launches[place], entry, edits)

    def _only(self, entry: str) -> str:
        """What is followed for the sake of ``entry``: all, where they tell something of one another."""
        return entry if self._focused else ""

    def _base(self, entry: str, edits: Edits) -> tuple[Workload | None, Substitution | None]:
        """The one workload of ``entry`` that ``edits`` change numbers of, and what tells how; None where there is none."""
        base = edits.base
        if base == edits:
            return None, None
        only = entry if base else self._only(entry)
        before = [workload for workload in self.workloads(base, only) if workload.entry == entry]
        return before[0] if len(before) == 1 else None, self._substitution.get((base, only), {}).get(entry)

    def _exchanged(self, entry: str, edits: Edits) -> Workload | None:
        """The workload of ``entry`` with the launches that ``edits`` change exchanged; None where that does not do."""
        if (edits, entry) not in self._substituted:
            before, substitution = self._base(entry, edits)
            known = before is not None and substitution is not None
            self._substituted[edits, entry] = substitution.workload(before, edits) if known else None  # type: ignore[union-attr, arg-type]
        return self._substituted[edits, entry]

    def with_kernels(self, workload: Workload, module: Patched, checked: bool = True) -> Workload | None:
        """What ``workload``, one of this program as it stands, is with the kernels of ``module``, a version of its own; launches
        have their first configurations only, and unless ``checked`` the front end is not asked about changed kernels. None
        where it takes following the host again to tell."""
        return recoded(workload, self._kernel_calls, self.kernel, module, checked)

    def trace(self, entry: str) -> Trace:
        """What each expression stands for when ``entry`` is followed, as the program stands."""
        if entry not in self._traces:
            self.workloads()  # so that the symbols that reading resolves are known
            if self._tracing is None:
                self._tracing = Reading(self, NO_EDITS, self._resolved)
            self._traces[entry] = self._tracing.traced(entry)
        return self._traces[entry]

    def at(
        self,
        sizes: Mapping[Symbol, Size] | None = None,
        constants: Mapping[str, int] | None = None,
        dtypes: Mapping[str, Dtype] | None = None,
        opens: bool = False,
    ) -> Program:
        """The same source asked about another call: open sizes get the values ``sizes``, module-level constants those of
        ``constants``, and arguments that are tensors of unknown element type the ``dtypes``, by name; with ``opens`` nothing else
        is known of these, so that their sizes are open."""
        key = None if constants else (tuple((sizes or {}).items()), tuple((dtypes or {}).items()), opens)
        if key in self._at:
            return self._at[key]
        facts = (
            *self.question.facts,
            *(Fact(name, dtype=dtype, opens=opens) for name, dtype in (dtypes or {}).items()),
        )
        overrides = {**self.question.overrides, **(constants or {})}
        other = self.variant(self.kernel, replace(self.question, overrides=overrides, facts=facts))
        told = other._resolved  # what the user says of sizes
        if constants:
            other._resolved = {**told, **(sizes or {})}
        else:
            other._resolved = _close({**self._resolved, **(sizes or {})})
            other._learned = {owner: _close({**known, **(sizes or {})}) for owner, known in self._learned.items()}
        other._callers = self._callers
        # The types of arguments that reading has shown are the same in any call.
        other._integers, other._needed = set(self._integers), set(self._needed)
        if key is not None:
            other._focused = True
            self._at[key] = other
        return other

    def under(self, configuration: int) -> Program:
        """The same program where every tuner takes its configuration of this number."""
        if configuration not in self._under:
            other = self.variant(self.kernel, replace(self.question, configuration=configuration))
            other._resolved, other._learned, other._integers, other._needed = (
                dict(self._resolved),
                dict(self._learned),
                set(self._integers),
                set(self._needed),
            )
            self._under[configuration] = other
        return self._under[configuration]

    def about(self, question: Question) -> Program:
        """The same source with a question about one entry, of several that there may be."""
        other = self.variant(self.kernel, question)
        other._focused, other._callers = True, self._callers
        return other

    def variant(self, kernel: Module, question: Question, reference: Module | None = None) -> Program:
        """Another version of the kernel module or of the ``reference``, or another question; closed with this one."""
        earlier = self._earlier.earlier if self._earlier is not None and kernel is self.kernel else None
        other = Program(kernel, reference or self.reference, question, earlier)
        other._readings, other.outside, other._found = self._readings, self.outside, self._found
        mine = self.question
        if (question.overrides, question.facts, question.host) == (mine.overrides, mine.facts, mine.host):
            other._kernels = self._kernels  # which see the same constants
        return other

    def recalled(self, what: str, about: Any, find_out: Callable[[], _T]) -> _T:
        """``find_out()``, which rests on what ``about`` says alone: as it was in an earlier version where that said the same."""
        return find_out() if self._earlier is None else self._earlier.earlier.recalled(what, about, find_out)

    def called_by(self, entry: str) -> str:
        """What people call to get to ``entry``: the function that applies a private autograd function where it is the backward pass of
        that, else itself."""
        return self._callers.get(entry, entry)

    def close(self, of_module: bool = True) -> None:
        """Let go of all that was read; nothing can be asked of this program and its variants any more. What is known ``of_module`` stays
        where others still ask it.

        Functions and the scopes that they see refer to one another: left alone, they and with them the trees stay until
        somebody looks for garbage, which costs a tenth of the time that checking takes.
        """
        for reading in list(self._readings):
            if of_module:
                reading.kernel_module.forget()
            reading.close()
        self._answers.clear()

    def second_call(self) -> Workload | None:
        """The workload of calling ``forward`` again, on the same object and other tensors; None where there is no model.

        What the first call has left behind (an attribute, an entry of a dictionary) is there.
        """
        return Reading(self, NO_EDITS, self._resolved).second_call()

    def settled(self, tensor: str) -> bool:
        """Whether a check of the program ties a size of ``tensor`` to another one."""
        sizes = (f"{tensor}.shape[", f"{tensor}.numel")
        return any(s.name.startswith(sizes) for known in (self._resolved, *self._learned.values()) for s in known)

    def resolved_of(self, owner: str) -> Mapping[Symbol, Size]:
        """What is known so far of the sizes of arguments of the function or class ``owner``."""
        return self._learned.get(owner, self._resolved)

    def _follow(self, edits: Edits, only: str) -> list[Workload]:
        """Each round follows again what the one before has shown something of."""
        settled: dict[int, Followed] = {}
        substitution: dict[str, Substitution] = {}
        for last in (False,) * (_ROUNDS - 1) + (True,):
            reading = Reading(self, edits, self._resolved, only=only, journal=edits == edits.base)
            reading.settled = settled
            if not edits and not last:
                reading.host.is_draft = partial(self._is_draft, reading)
            workloads = reading.workloads()
            reading.host.count()
            if reading.host.journal is not None:
                told = Substitution(reading.host, reading.host.journal, self.kernel, edits)
                kept = {id(workload) for one in settled.values() for workload in one.workloads}
                substitution.update((workload.entry, told) for workload in workloads if id(workload) not in kept)
                reading.host.journal = None
            shown = self._shown(reading)
            if edits or not shown:
                break
            self._integers |= reading.host.integers
            self._needed |= reading.host.needed
            for owner, found in reading.host.learned_of.items():
                self._learned[owner] = _close({**found, **self.resolved_of(owner)})
            # What the user has said must have been of use in the last round.
            asked = bool(self.question.facts or self.question.overrides) or "" in shown
            settled = {} if asked else {n: one for n, one in reading.followed.items() if not one.owners & shown}
        if not edits and not only:
            reading.check_used()
        self._substitution[edits, only] = substitution
        return workloads

    def hand_on(self, host: HostEvaluator, owner: str, copy: str) -> None:
        """Take for known of the arguments of ``copy`` what ``host`` has shown of those of ``owner``."""
        if found := host.learned_of.get(owner):
            self._learned[copy] = _close({**found, **self.resolved_of(copy)})
        self._integers |= {(copy, name) for one, name in host.integers if one == owner}
        self._needed |= {(copy, name) for one, name in host.needed if one == owner}

    def _shown(self, reading: Reading) -> set[str]:
        """The functions and classes of whose arguments ``reading`` has shown what was not known before."""
        host = reading.host
        shown = {owner for owner in host.learned_of if self._has_learned(reading, owner)}
        return shown.union(self._counted(reading))

    def _has_learned(self, reading: Reading, owner: str) -> bool:
        return not reading.host.learned_of.get(owner, {}).keys() <= self.resolved_of(owner).keys()

    def _counted(self, reading: Reading) -> Iterator[str]:
        """The functions and classes of whose arguments ``reading`` has shown that they are numbers, or are needed."""
        host = reading.host
        yield from (owner for owner, _ in host.integers - self._integers)
        yield from (symbol.partition(".")[0] for symbol, _ in host.needed - self._needed)

    def _is_draft(self, reading: Reading) -> bool:
        """Whether what is followed now is sure to be followed again."""
        owner = reading.host.owner
        return self._has_learned(reading, owner) or owner in self._counted(reading)


def _close(facts: dict[Symbol, Size]) -> dict[Symbol, Size]:
    """``facts`` with symbols inside the values replaced too (no chain is longer than there are facts)."""
    closed: dict[Symbol, Size] = {}
    for symbol, value in facts.items():
        seen = {symbol}
        while isinstance(value, Expr):
            atoms = [a for a in value.atoms() if isinstance(a, Symbol) and a in facts]
            if not atoms or any(a in seen for a in atoms):
                break
            seen.update(atoms)
            value = _plain(value.substitute({a: facts[a] for a in atoms}))
        if not (isinstance(value, Expr) and symbol in value.atoms()):
            closed[symbol] = value
    return closed


def _plain(value: Expr) -> Size:
    number = value.value
    return value if number is None else number
