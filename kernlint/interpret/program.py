"""From a kernel module and its reference to workloads: find the entry, make its arguments, follow the call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

import libcst as cst

from kernlint.errors import AnalysisError, UsageError
from kernlint.interpret.api import Target
from kernlint.interpret.earlier import Earlier, Readings
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.elsewhere import Elsewhere
from kernlint.interpret.host.annotations import argument
from kernlint.interpret.host.device import HostFacts
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.host.first_call import first_steps, later_steps
from kernlint.interpret.host.journal import Journal
from kernlint.interpret.host.launches import bare_launch
from kernlint.interpret.host.memoised import setup_functions
from kernlint.interpret.host.modules import elsewhere
from kernlint.interpret.host.objects import class_attribute, construct
from kernlint.interpret.imports import MAX_MODULES, ImportedFile, Part, imported_file, load_file
from kernlint.interpret.python import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.substituted import Substitution
from kernlint.interpret.swapped_kernels import KernelCalls, recoded
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.interpret.trace import Trace
from kernlint.interpret.values import (
    Class,
    Deferred,
    Function,
    Instance,
    Jit,
    Namespace,
    Scope,
    Unknown,
)
from kernlint.interpret.vendor import other_vendor, package_files
from kernlint.records import dataclass, replace
from kernlint.syntax.names import bound_by, dotted_name
from kernlint.syntax.patched import Patched
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import NESTED, walk_outside
from kernlint.workload import (
    Atomic,
    Dtype,
    Expr,
    Fault,
    Kernel,
    Launch,
    Size,
    Span,
    Step,
    Store,
    Symbol,
    Tensor,
    TorchOp,
    Workload,
)
from kernlint.workload.hints import Hints
from kernlint.workload.kernel import Access

_ROUNDS = 5

#: Functions that give the result of a test, or end one.
_ANSWERS = frozenset("bool isinstance hasattr all any allclose equal is_available skip xfail fail".split())

#: More inputs than an autograd function has, and what the host keeps of what checks tell.
_MOST_GRADIENTS = 64
_HINTS = ("size_names", "choices", "dtype_choices", "alike", "same_shape", "axes", "annotated")
#: Nodes that may be evaluated for one module-level statement, so that a test behind the kernels leaves something for them.
_OF_A_STATEMENT = 100_000


@dataclass(frozen=True)
class Fact:
    """One ``--assume``: the argument ``function.name`` is a tensor of this ``dtype`` and ``shape`` (None for what stays open); or it,
    or a local size, ``is_value``; or the size called ``name`` (``x.shape[0]``, ``grid[0]``) is ``size``."""

    name: str
    function: str = ""
    dtype: Dtype | None = None
    shape: tuple[int | None, ...] | None = None
    value: Any = None
    is_value: bool = False
    size: int | None = None
    #: Whether nothing else that is known of the argument counts, so that its sizes are open.
    opens: bool = False

    @property
    def is_tensor(self) -> bool:
        return not self.is_value and self.size is None


@dataclass(frozen=True)
class Question:
    """What to analyse: ``entry`` names a function or ``Class.method`` (None: the default), ``overrides`` module-level
    constants, ``facts`` what the user assumes, ``host`` what the program learns of its device, ``target`` the Triton release
    whose compiler and launcher are asked what they refuse, ``configuration`` which of the configurations of a tuner counts as
    its first, so that a change can be tried under each. Unless ``strict``, facts and constants may be about other programs.
    ``detailed`` keeps torch calls with their arguments and follows each round of a short loop on its own. Without ``kernels``
    nobody looks into these."""

    entry: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    facts: Sequence[Fact] = ()
    host: HostFacts = field(default_factory=HostFacts)
    target: Target | None = None
    configuration: int = 0
    strict: bool = True
    detailed: bool = False
    kernels: bool = True


class Program:
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
        self._kernels: dict[Any, Kernel] = {}
        self._refused: dict[Any, tuple[Fault, ...]] = {}
        self._kernel_calls: KernelCalls = {}
        self._earlier = None if earlier is None else Readings(earlier)
        #: By edits and the one entry that was followed, empty for all.
        self._read: dict[tuple[Edits, str], list[Workload]] = {}
        self._bare: dict[Edits, list[Workload]] = {}
        #: What numbers make of the workloads read, by the other edits and the one entry that was followed, and of an entry.
        self._substitution: dict[tuple[Edits, str], Substitution] = {}
        self._substituted: dict[tuple[Edits, str], Workload | None] = {}
        self._open: dict[Span, Kernel | None] = {}
        self._opening: _Reading | None = None
        self._resolved: dict[Symbol, Size] = {
            Symbol(fact.name): fact.size for fact in self.question.facts if fact.size is not None
        }
        self._imported: dict[Path, Scope | None] = {}
        #: The file of each import, by the path of who imports, the package and the level.
        self._found: dict[tuple[str, str, int], Path | None] = {}
        #: Whoever reads the program now, and so runs what was put off.
        self._reading: _Reading
        #: Whether only the entry that is asked about is followed: what others tell of its symbols is known.
        self._focused = False
        self._at: dict[Any, Program] = {}
        self._integers: set[str] = set()
        self._needed: set[tuple[str, str]] = set()
        self._asked_vendor = False
        self._readings: WeakSet[_Reading] = WeakSet()
        self._traces: dict[str, Trace] = {}
        self._tracing: _Reading | None = None
        self._under: dict[int, Program] = {}
        #: Why a reference that was given says nothing of the workloads; empty where it does.
        self._without_reference = ""
        #: The file that launches, where the question is about the kernels of another one; else empty.
        self.outside = ""

    @property
    def imported(self) -> Iterable[Path]:
        """The modules that were looked into so far for helpers, whether they could be read or not, and for the vendor."""
        around = package_files(self.kernel.path) if self._asked_vendor else ()
        return [*self._imported, *around]

    def elsewhere(self) -> Elsewhere:
        """What was read of other files so far, by this program and its variants."""
        return Elsewhere(dict(self._found), self.kernel.path if self._asked_vendor else "")

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
            reading = _Reading(self, edits, self._resolved) if edits else self._opened()
            self._bare[edits] = reading.bare_kernels(launched)
        return self._bare[edits]

    def open_kernel(self, kernel: Kernel) -> Kernel | None:
        """``kernel`` as it is for any arguments: sizes and strides are symbols called like the parameters, the extents of the
        grid ``grid[0]`` and so on. None for one that is not a module-level name of the analysed module."""
        if kernel.name_span not in self._open:
            self._open[kernel.name_span] = self._opened().open_kernel(kernel.name_span)
        return self._open[kernel.name_span]

    def _opened(self) -> _Reading:
        """What kernels are launched in that no call is followed to."""
        if self._opening is None:
            self._opening = _Reading(self, NO_EDITS, self._resolved)
        return self._opening

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
            return _Reading(self, edits, self._resolved).bare_kernel(entry)
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
        return before[0] if len(before) == 1 else None, self._substitution.get((base, only))

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
                self._tracing = _Reading(self, NO_EDITS, self._resolved)
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
        other._resolved = _close({**self._resolved, **(sizes or {})}) if not constants else {**told, **(sizes or {})}
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
            other._resolved, other._integers, other._needed = (
                dict(self._resolved),
                set(self._integers),
                set(self._needed),
            )
            self._under[configuration] = other
        return self._under[configuration]

    def variant(self, kernel: Module, question: Question) -> Program:
        """Another version of the kernel module, or another question, beside the same reference; closed with this one."""
        other = Program(kernel, self.reference, question)
        other._readings, other.outside, other._found = self._readings, self.outside, self._found
        mine = self.question
        if (question.overrides, question.facts, question.host) == (mine.overrides, mine.facts, mine.host):
            other._kernels = self._kernels  # which see the same constants
        return other

    def close(self) -> None:
        """Let go of all that was read; nothing can be asked of this program and its variants any more.

        Functions and the scopes that they see refer to one another: left alone, they and with them the trees stay until
        somebody looks for garbage, which costs a tenth of the time that checking takes.
        """
        for reading in list(self._readings):
            reading.close()

    def second_call(self) -> Workload | None:
        """The workload of calling ``forward`` again, on the same object and other tensors; None where there is no model.

        What the first call has left behind (an attribute, an entry of a dictionary) is there.
        """
        return _Reading(self, NO_EDITS, self._resolved).second_call()

    def settled(self, tensor: str) -> bool:
        """Whether a check of the program ties a size of ``tensor`` to another one."""
        return any(symbol.name.startswith((f"{tensor}.shape[", f"{tensor}.numel")) for symbol in self._resolved)

    def _follow(self, edits: Edits, only: str) -> list[Workload]:
        for last in (False,) * (_ROUNDS - 1) + (True,):
            reading = _Reading(self, edits, self._resolved, only=only, journal=edits == edits.base)
            if not edits and not last:
                reading.host.is_draft = partial(self._learns, reading)
            workloads = reading.workloads()
            reading.host.count()
            if edits or not self._learns(reading):
                break
            self._integers |= reading.host.integers
            self._needed |= reading.host.needed
            new = {symbol: value for symbol, value in reading.learned().items() if symbol not in self._resolved}
            self._resolved = _close({**self._resolved, **new})
        if not edits and not only:
            reading.check_used()
        if reading.host.journal is not None:
            self._substitution[edits, only] = Substitution(reading.host, reading.host.journal, self.kernel, edits)
            reading.host.journal = None
        return workloads

    def _learns(self, reading: _Reading) -> bool:
        """Whether ``reading`` has found out what was not known before: the program is then read once more."""
        host = reading.host
        return bool(
            reading.learned().keys() - self._resolved.keys()
            or host.integers - self._integers
            or host.needed - self._needed
        )


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


class _Reading:
    """One pass over the program with the symbols resolved so far. Where several functions are entries it follows all, or the
    one called ``only``."""

    evaluator: ClassVar[type[HostEvaluator]] = HostEvaluator

    def __init__(
        self, program: Program, edits: Edits, resolved: Mapping[Symbol, Size], only: str = "", journal: bool = False
    ) -> None:
        question, kernel, reference = program.question, program.kernel, program.reference
        self.question = question
        self.kernel_module = kernel
        self.edited = bool(edits)
        sizes = {
            f.name: f.value
            for f in question.facts
            if f.is_value and isinstance(f.value, int) and not isinstance(f.value, bool)
        }
        self.host = self.evaluator(question.host, question.overrides, sizes, resolved, edits, program._kernels)
        self.host.configuration, self.host.detailed = question.configuration, question.detailed
        self.host.reads_kernels, self.host.readings = question.kernels, program._earlier
        if not edits:
            self.host.target, self.host.refused = question.target, program._refused
            self.host.kernel_calls = program._kernel_calls
        if journal:
            self.host.journal = Journal()
        self.program = program
        self.only = only
        #: Where the values that are met when ``only`` is followed are kept, if they are.
        self.trace: Trace | None = None
        self.host.finder = self._find
        program._reading = self
        self.reference_scope = self._module_scope(reference) if reference is not None else None
        self.scope = self._module_scope(kernel)
        self.used_facts: set[str] = set()
        #: The names of the arguments that facts may be about.
        self.parameters: list[str] = []
        program._readings.add(self)

    def close(self) -> None:
        for scope in (*self.host.captured, *self.program._imported.values()):
            if scope is not None:
                scope.vars.clear()
        self.kernel_module.forget()
        vars(self.host).clear()
        vars(self).clear()

    def learned(self) -> dict[Symbol, Size]:
        return self.host.learned

    def _module_scope(self, module: Module) -> Scope:
        scope = Scope()
        self._run(module, scope)
        return scope

    def _run(self, module: Module, scope: Scope) -> None:
        """Follow the statements of a module, or of a part of one, into ``scope``."""
        self.host.modules.append(module)
        try:
            for statement in module.tree.body:
                if _guarded_main(statement):
                    continue
                self._run_statement(statement, scope)
        finally:
            self.host.modules.pop()

    def _run_statement(self, statement: cst.CSTNode, scope: Scope) -> None:
        """Follow one statement of a module; what it binds is unknown where that takes too long."""
        host = self.host
        kept = max(0, host.budget - _OF_A_STATEMENT)
        host.budget -= kept
        try:
            host.execute(statement, scope)
        except (Raised, Break, Continue, Return):
            pass
        except OutOfBudget:
            host.budget = 0
            bound = (name.value for node in walk_outside(statement, NESTED) for name in bound_by(node))
            scope.vars.update((name, Unknown(name)) for name in bound)
        finally:
            host.budget += kept

    def _find(self, importer: Module, package: str, level: int) -> Callable[[str], Any] | None:
        asked = importer.path, package, level
        found = self.program._found
        path = found[asked] if asked in found else found.setdefault(asked, imported_file(*asked))
        program = self.program  # and not this reading, which may be over when the name is looked up
        return None if path is None else lambda name: program._reading.imported(path, name)

    def imported(self, path: Path, name: str) -> Any:
        """The value of ``name`` in the module at ``path``. Raises ``KeyError`` where it is not known there. What is once
        read serves all what-ifs."""
        known = self.program._imported
        if path not in known:
            if len(known) >= MAX_MODULES:
                raise KeyError(name)
            file = load_file(path)
            scope = known[path] = None if file is None else Scope()
            if file is not None and scope is not None:
                self._open(file, scope)
        scope = known[path]
        if scope is None:
            raise KeyError(name)
        return scope.lookup(name)

    def _open(self, file: ImportedFile, scope: Scope) -> None:
        """Run what the module does when it is imported, and note in ``scope`` what it defines."""
        program = self.program
        for part in file.parts:
            for name in part.names:
                scope.vars[name] = Deferred(partial(_define, program, file, part, scope, name))
        for part in file.parts:
            if not part.names:
                self.define(file, part, scope)

    def define(self, file: ImportedFile, part: Part, scope: Scope, name: str = "") -> Any:
        """Run one part of an imported file; what ``name`` stands for then."""
        module = file.module(part)
        if module is not None:
            with elsewhere(self.host, self._put_off):
                self._run(module, scope)
        return scope.vars.get(name)

    def _put_off(self, module: Module, node: cst.BaseExpression, scope: Scope) -> Deferred:
        return Deferred(partial(_value, self.program, module, node, scope))

    def value(self, module: Module, node: cst.BaseExpression, scope: Scope) -> Any:
        """What an expression of another file gives in ``scope``."""
        with elsewhere(self.host, self._put_off):
            self.host.modules.append(module)
            try:
                return self.host.eval(node, scope)
            except (Raised, Break, Continue, Return):
                return Unknown("raised")
            finally:
                self.host.modules.pop()

    def check_used(self) -> None:
        """Complain of names the user gave that nothing has, and of facts that contradict the code."""
        if not self.question.strict:
            return
        for name in self.question.overrides:
            if name not in self.host.used_overrides:
                known = sorted(n for n in self.host.constants if n.isupper() or n[0].isupper())
                hint = f" (constants: {', '.join(known[:12])})" if known else ""
                raise UsageError(f"--set {name}: no module-level constant of that name{hint}")
        for fact in self.question.facts:
            if fact.name in self.used_facts or fact.name in self.host.used_sizes or fact.name in self.host.asked:
                continue
            open_ones = sorted(name for name in self.host.asked if not name.startswith("tensor."))[:8]
            known = [*dict.fromkeys(self.parameters), *open_ones]
            hint = f" (there are: {', '.join(known[:16])})" if known else ""
            raise UsageError(f"--assume {fact.name}: the analysed code has no argument or size of that name{hint}")
        if self.question.facts and self.host.contradictions:
            raise UsageError(f"--assume: {self.host.contradictions[0]}")

    # -- entries ----------------------------------------------------------------------------------------------------

    def workloads(self) -> list[Workload]:
        """Those that the question is about."""
        entry = self.question.entry
        if entry is not None:
            return [self._named(entry)]
        model = self._model("ModelNew")
        if model is None and (self.reference_scope is not None or self._is_replacement("Model")):
            model = self._model("Model")
        if model is not None:
            return [self._of_model(model)]
        launching = may_launch(self.kernel_module)
        candidates = [
            value
            for name, value in self.scope.vars.items()
            if name in launching and getattr(value, "module", None) is self.kernel_module
        ]
        fitting = self._fitting(candidates)
        if fitting is not None:
            workload = self._with_inputs(*fitting)
            if workload is not None:
                return [workload]
        if self.only:
            candidates = [value for value in candidates if self.only in _entries(value)]
        public = [w for value in candidates if not value.name.startswith("_") for w in self._launching(value)]
        return public or [w for value in candidates if value.name.startswith("_") for w in self._launching(value)]

    def traced(self, entry: str) -> Trace:
        """The values that are met when ``entry`` is followed."""
        # Nobody looks at the launches.
        self.host.target = self.host.kernel_calls = None
        self.program._reading = self
        self.only, self.trace = entry, Trace()
        budget = self.host.budget
        self.workloads()
        self.host.budget = budget
        return self.trace

    def _is_replacement(self, name: str) -> bool:
        """Whether the class ``name`` of the module launches kernels itself, on inputs that the module tells: in some
        benchmarks a replacement goes by the name of what it replaces."""
        return name in may_launch(self.kernel_module) and isinstance(self.scope.get("get_inputs"), Function)

    def bare_kernels(self, launched: set[Span]) -> list[Workload]:
        """A workload for each kernel of the module whose name is not at one of the places ``launched``, helpers of other
        kernels left out."""
        module = self.kernel_module
        bodies = [jit.function for jit in self._kernels()]
        called = {
            name.value
            for function in bodies
            for name in module.within(function.node, cst.Name)
            if name.value != function.name
        }
        # Only kernels can call one without a grid; those that are no module-level names, methods say, are among the callers.
        called |= {call.func.value for call in module.of(cst.Call) if isinstance(call.func, cst.Name)}
        free = [
            jit for jit in self._kernels()
            if jit.function.name not in called and module.span(_definition(jit).name) not in launched
        ]  # fmt: skip
        return list(self._open_launches(free))

    def bare_kernel(self, name: str) -> Workload | None:
        """That of the one kernel called ``name``."""
        named = [jit for jit in self._kernels() if jit.function.name == name]
        return next(self._open_launches(named[-1:]), None)

    def open_kernel(self, name_span: Span) -> Kernel | None:
        """The module-level kernel whose name stands at ``name_span``, on arguments of which nothing is known."""
        module = self.kernel_module
        named = [jit for jit in self._kernels() if module.span(_definition(jit).name) == name_span]
        return next((workload.launches()[0].kernel for workload in self._open_launches(named[-1:])), None)

    def _kernels(self) -> list[Jit]:
        """The module-level kernels, each once, in the order of their names' binding."""
        found = {
            id(v): v for v in self.scope.vars.values()
            if isinstance(v, Jit) and v.function.module is self.kernel_module and isinstance(v.function.node, cst.FunctionDef)
        }  # fmt: skip
        return list(found.values())

    def _open_launches(self, kernels: list[Jit]) -> Iterator[Workload]:
        for jit in kernels:
            launch = self._guard(partial(bare_launch, self.host, jit), None)
            if launch is not None:
                yield Workload(launch.kernel.name, self.kernel_module.path, (launch,), bare=True)

    def _launching(self, value: Function | Class) -> Iterator[Workload]:
        """The workload of a function or layer, if it launches anything."""
        workload = None
        if isinstance(value, Class):
            workload = self._of_class(value)
        elif isinstance(value.node, cst.FunctionDef):
            workload = self._of_function(value)
            once = value.name in setup_functions(self.kernel_module) or _is_test(value.node, self.kernel_module)
            if once or not self._has_effect(value.node, workload):
                # Code that fills a cache, warms up, tests or measures: no later call pays for it.
                workload = replace(workload, steps=(), first_steps=workload.first_call().steps)
        if workload is not None and workload.first_call().launches():
            yield workload
        if isinstance(value, Class) and _is_autograd(value) and isinstance(value.scope.vars.get("backward"), Function):
            backward = self._of_backward(value)
            if backward.first_call().launches():
                yield backward

    def _has_effect(self, node: cst.FunctionDef, workload: Workload) -> bool:
        """Whether the call may be part of what a program is there for. One that returns no tensor is not where it works on
        data that it makes up, or where nobody sees what it computes: it keeps no tensor, writes to none that it was given and
        hands none to code that is not followed. Nor is one that is given no tensor, draws its own at random or writes them
        out, and has other functions work on them, whatever it returns. Such a call tests, measures or warms up."""
        steps = [step for step, _ in workload.first_call().walk()]
        given = {tensor.storage.id for tensor in workload.inputs}
        made_up = not any(_touches(step, given) for step in steps)
        if not _returns_answers(node, self.kernel_module):
            own = made_up and any(_draws(step) for step in steps)
            return not own or any(isinstance(step, Launch) and step.function == workload.entry for step in steps)
        return not made_up and (self.host.escapes or any(_writes_to_others(step) for step in steps))

    def _with_inputs(self, function: Function, inputs: list[Any]) -> Workload | None:
        """The workload of ``function`` on what the reference's ``get_inputs`` gives; None where it launches nothing then."""
        # It may refuse their types: harnesses cast what get_inputs gives.
        for values in (inputs, [replace(x, dtype=None) if isinstance(x, Tensor) else x for x in inputs]):
            given = self._arguments(function, values, skip=0)
            workload = self._follow(function, given, function.symbol, given)
            if workload.first_call().launches():
                return replace(workload, reference=self._reference([], inputs))
        return None

    def _fitting(self, candidates: list[Any]) -> tuple[Function, list[Any]] | None:
        """The one public function that ``get_inputs`` (the reference's, or the module's own) can be meant for, with what that
        returns in the order of its parameters: the one whose parameters have the names of the reference's, else the only one
        that takes as many."""
        scope = self._inputs_scope() if self.reference_scope is None else self.reference_scope
        public = [c for c in candidates if isinstance(c, Function) and not c.name.startswith("_")]
        if scope is None or any(isinstance(c, Class) for c in candidates):
            self._left_out("the module has a class that is no ModelNew")
            return None
        inputs = self._call_list(scope, "get_inputs")
        if inputs is None:
            self._left_out("it has no get_inputs that can be followed")
            return None
        matched = [(function, self._matched(function, inputs)) for function in public]
        for way in ("name", "order"):
            found = [(function, match[1]) for function, match in matched if match is not None and match[0] == way]
            if len(found) == 1:
                return found[0]
            if found:
                self._left_out(
                    f"{', '.join(function.name for function, _ in found)} all fit its get_inputs; name one with --entry"
                )
                return None
        names = ", ".join(function.name for function in public) or "no public function"
        self._left_out(f"its get_inputs gives {len(inputs)} values, which {names} cannot take")
        return None

    def _left_out(self, why: str) -> None:
        """Say that the reference is of no use, where one was given."""
        if self.reference_scope is not None:
            self.program._without_reference = f"the reference is left out: {why}"

    def _matched(self, function: Function, inputs: list[Any]) -> tuple[str, list[Any]] | None:
        """``inputs`` in the order of the parameters of ``function``, and whether they are so by "name" or by "order"; None where
        they do not fit."""
        node = function.node
        if not isinstance(node, cst.FunctionDef):
            return None
        params = [*node.params.posonly_params, *node.params.params]
        names = [param.name.value for param in params]
        required = sum(param.default is None for param in params)
        model = self.reference_scope.get("Model") if self.reference_scope is not None else None
        forward = class_attribute(self.host, model, "forward", None) if isinstance(model, Class) else None
        if isinstance(forward, Function) and isinstance(forward.node, cst.FunctionDef):
            theirs = [p.name.value for p in (*forward.node.params.posonly_params, *forward.node.params.params)][1:]
            by_name = dict(zip(theirs, inputs))
            leading = [by_name[name] for name in itertools.takewhile(by_name.__contains__, names)]
            if len(theirs) >= len(inputs) and len(leading) >= max(1, required) and len(leading) == len(by_name):
                return "name", leading
        starred = isinstance(node.params.star_arg, cst.Param)
        if required <= len(inputs) and (starred or len(inputs) <= len(params)):
            return "order", inputs
        return None

    def _model(self, name: str) -> Class | None:
        """The class ``name`` of the module, if it is one with a ``forward``, its own or inherited."""
        value = self.scope.get(name)
        if isinstance(value, Class) and isinstance(class_attribute(self.host, value, "forward", None), Function):
            return value
        return None

    def _named(self, entry: str) -> Workload:
        head, _, method = entry.partition(".")
        value = self.scope.get(head)
        if isinstance(value, Class):
            if method in ("", "forward") and _is_autograd(value):
                found = self._of_class(value)
                if found is not None:
                    return found
            if method in ("", "forward"):
                return self._of_model(value)
            found = value.scope.vars.get(method)
            if isinstance(found, Function) and method == "backward" and _is_autograd(value):
                return self._of_backward(value)
            if isinstance(found, Function):
                return self._of_model(value, method)
        elif isinstance(value, Function) and not method:
            fitting = self._fitting([value]) if self.reference_scope is not None else None
            workload = self._with_inputs(*fitting) if fitting is not None else None
            return workload or self._of_function(value)
        elif isinstance(value, Jit):
            raise UsageError(f"--entry {entry}: is a kernel; name the function that launches it")
        names = [n for n, v in self.scope.vars.items() if isinstance(v, (Function, Class)) and not n.startswith("__")]
        raise UsageError(f"--entry {entry}: not found (there are: {', '.join(sorted(names)[:12]) or 'no functions'})")

    def _of_model(self, cls: Class, method: str = "forward") -> Workload:
        init, arguments, instance = self._instance(cls)
        workload = self._call(cls, method, instance, arguments)
        return replace(workload, reference=self._reference(init, arguments))

    def second_call(self) -> Workload | None:
        """That of the second of two calls of ``ModelNew.forward``."""
        model = self._model("ModelNew")
        if model is None:
            return None
        _, arguments, instance = self._instance(model)
        self._call(model, "forward", instance, arguments)
        return self._call(model, "forward", instance, self._inputs()).first_call()

    def _instance(self, cls: Class) -> tuple[list[Any], list[Any] | None, Any]:
        """The arguments of the constructor, those of ``forward`` where they are told, and an object of ``cls``."""
        scope = self._inputs_scope()
        init = (self._call_list(scope, "get_init_inputs") or []) if scope is not None else []
        arguments = self._inputs()
        return init, arguments, self._guard(lambda: construct(self.host, cls, list(init), {}), Unknown("model"))

    def _inputs(self) -> list[Any] | None:
        scope = self._inputs_scope()
        return self._call_list(scope, "get_inputs") if scope is not None else None

    def _call(self, cls: Class, method: str, instance: Any, arguments: list[Any] | None) -> Workload:
        forward = class_attribute(self.host, cls, method, None)
        if not isinstance(forward, Function):
            raise AnalysisError(f"{self.kernel_module.path}: {cls.name} has no {method}")
        given = self._arguments(forward, arguments, skip=1)
        return self._follow(forward, [instance, *given], f"{cls.name}.{method}", given)

    def _of_class(self, cls: Class) -> Workload | None:
        """A layer or autograd function that is no ``ModelNew``: its ``forward`` on unknown arguments."""
        forward = cls.scope.vars.get("forward")
        if not isinstance(forward, Function):
            return None
        first: Any = Instance(None, "torch.autograd.function.FunctionCtx")
        if not _is_autograd(cls):
            first = self._guard(lambda: construct(self.host, cls, [], {}), Unknown("layer"))
        given = self._arguments(forward, None, skip=1)
        return self._follow(forward, [first, *given], _entry(cls), given)

    def _of_backward(self, cls: Class) -> Workload:
        """The ``backward`` of an autograd function, after its ``forward``: on gradients like the results of that, and on what it has
        saved."""
        forward, backward = (class_attribute(self.host, cls, name, None) for name in ("forward", "backward"))
        context = Instance(None, "torch.autograd.function.FunctionCtx", {"needs_input_grad": (True,) * _MOST_GRADIENTS})
        results: list[Tensor] = []
        inputs: list[Any] = []
        if isinstance(forward, Function):
            inputs = self._arguments(forward, None, skip=1)
            with self.host.recording():  # whose steps another call makes
                results = list(
                    tensors_in([self._guard(partial(self.host.invoke, forward, [context, *inputs], {}), None)])
                )
        assert isinstance(backward, Function)
        asserted = {name: getattr(self.host, name) for name in _HINTS}
        gradients = self._arguments(backward, None, skip=1)
        for name, value in asserted.items():
            setattr(self.host, name, value)
        for place, gradient in enumerate(gradients):
            if isinstance(gradient, Tensor) and place < len(results):
                like = results[place]
                known = gradient.dtype or like.dtype, gradient.shape if gradient.shape is not None else like.shape
                strides = (
                    gradient.strides
                    if gradient.shape is not None
                    else contiguous_strides(known[1])
                    if known[1] is not None
                    else None
                )
                gradients[place] = replace(gradient, dtype=known[0], shape=known[1], strides=strides)
        # Its symbols are those of the forward pass, so what the user says of that counts here too.
        return self._follow(backward, [context, *gradients], f"{cls.name}.backward", [*gradients, *inputs])

    def _of_function(self, function: Function) -> Workload:
        given = self._arguments(function, None, skip=0)
        return self._follow(function, given, function.symbol, given)

    def _inputs_scope(self) -> Scope | None:
        for scope in (self.reference_scope, self.scope):
            if scope is not None and isinstance(scope.get("get_inputs"), Function):
                return scope
        return None

    def _call_list(self, scope: Scope, name: str) -> list[Any] | None:
        function = scope.get(name)
        if not isinstance(function, Function):
            return None
        with self.host.making():
            value = self._guard(lambda: self.host.invoke(function, [], {}), None)
        return [self.host.limited(item) for item in value] if isinstance(value, (list, tuple)) else None

    def _guard(self, action: Callable[[], Any], default: Any) -> Any:
        try:
            return action()
        except (Raised, Break, Continue, OutOfBudget):
            return default

    def _arguments(self, function: Function, values: list[Any] | None, skip: int) -> list[Any]:
        """The arguments of the entry: those of ``get_inputs``, else what annotations and the user tell."""
        host = self.host
        host.size_names, host.choices, host.dtype_choices, host.alike, host.same_shape = {}, {}, {}, [], []
        host.axes, host.annotated = {}, set()
        node = function.node
        assert isinstance(node, cst.FunctionDef)
        params = [*node.params.posonly_params, *node.params.params][skip:]
        facts = {
            f.name: f
            for f in self.question.facts
            if f.size is None and f.function in ("", function.name, function.symbol, function.symbol.partition(".")[0])
        }
        result: list[Any] = []
        for i, param in enumerate(params):
            name = param.name.value
            fact = facts.get(name)
            self.parameters.append(name)
            if fact is not None and fact.is_value:
                self.used_facts.add(name)
                result.append(fact.value)
                continue
            if values is not None and i < len(values):
                value = values[i]
                if isinstance(value, Tensor):
                    value = replace(value, name=name, storage=replace(value.storage, origin="input"))
            elif param.default is not None and fact is None and (function.symbol, name) not in self.program._needed:
                value = self._guard(partial(self.host.default, param, function), Unknown(name))
            else:
                value = self._from_annotation(param, function)
            if fact is not None:
                self.used_facts.add(name)
                value = self._with_fact(name, value, fact)
            result.append(value)
        if values is not None and isinstance(node.params.star_arg, cst.Param):
            result += values[len(params) :]  # what `*args` takes
        return result

    def _with_fact(self, name: str, value: Any, fact: Fact) -> Tensor:
        """The argument ``name`` as the user says, over what is known of it. Raises ``UsageError`` where that contradicts."""
        host = self.host
        known = value if isinstance(value, Tensor) and not fact.opens else host.unknown_tensor(name)
        if fact.dtype is not None:
            known = replace(known, dtype=fact.dtype)
        if fact.shape is None:
            return known
        if known.shape is not None and len(known.shape) != len(fact.shape):
            raise UsageError(
                f"--assume {name}: {len(fact.shape)} dimensions, but the code says that it has {len(known.shape)}"
            )
        shape = tuple(
            extent if extent is not None else known.shape[axis] if known.shape is not None
            else host.symbol_for(known, f"shape[{axis}]")
            for axis, extent in enumerate(fact.shape)
        )  # fmt: skip
        for axis, (extent, before) in enumerate(zip(shape, known.shape or ())):
            if (
                isinstance(extent, int)
                and isinstance(before, Expr)
                and before == Expr.atom(Symbol(f"{name}.shape[{axis}]"))
            ):
                host.learned.setdefault(Symbol(f"{name}.shape[{axis}]"), extent)
        return replace(known, shape=shape, strides=contiguous_strides(shape))

    def _from_annotation(self, param: cst.Param, function: Function) -> Any:
        name = param.name.value
        annotation = param.annotation.annotation if param.annotation is not None else None
        return argument(self.host, name, annotation, name in self.program._integers)

    def _follow(self, function: Function, args: list[Any], entry: str, given: list[Any]) -> Workload:
        host = self.host
        host.kept = []
        host.escapes = False
        host.bounds, host.zeros, host.untaken = [], [], set()
        host.open_choices = 0
        host.assumptions, host.unknowns = [], [u for u in host.unknowns if u.startswith("autotune")]
        result: Any = None
        if self.trace is not None and entry == self.only:
            host.seen, host.seen_kernels = self.trace.host, self.trace.kernels
        if host.journal is not None:
            host.journal.following = entry
        with host.recording() as steps:
            try:
                result = host.invoke(function, args, {})
            except OutOfBudget:
                host.unknown("the call is too long to follow to its end")
            except (Raised, Break, Continue):
                host.unknown(f"{entry} raises for these arguments")
        if host.journal is not None:
            host.journal.following = ""
        host.seen = None
        later, first = later_steps(steps), first_steps(steps)
        inputs = tuple(a for a in given if isinstance(a, Tensor))
        outputs = tensors_in([result, host.kept])
        host.escapes |= bool(tensors_in([result]))
        sizes = {n: v for n, v in host.constants.items() if isinstance(v, int) and not isinstance(v, bool)}
        workload = Workload(
            entry,
            self.kernel_module.path,
            later,
            tuple(host.current(t) for t in inputs),
            outputs,
            tuple(host.assumptions),
            tuple(host.unknowns),
            sizes=sizes,
            bounds=tuple(dict.fromkeys(host.bounds)),
            zeros=tuple(dict.fromkeys(host.zeros)),
            elsewhere=frozenset(host.untaken),
            read_sizes=dict(host.read_sizes),
            hints=Hints(
                {symbol: tuple(names) for symbol, names in host.size_names.items()},
                dict(host.choices),
                dict(host.dtype_choices),
                tuple(frozenset({one.name, other.name}) for one, other in host.alike),
                frozenset(host.annotated),
            ),
            first_steps=first if first != later else None,
            result=_tensors_of(result),
            arguments=_by_parameter(function, args),
            open_choices=host.open_choices,
            held=dict(_held(args[0])) if args and isinstance(args[0], Instance) else {},
            faults=tuple(host.host_faults.values()),
            made=first_steps(host.made),
        )
        return replace(workload, symbols=open_symbols(workload.first_call()))

    def _reference(self, init: list[Any], arguments: list[Any] | None) -> Workload | None:
        scope = self.reference_scope if self.reference_scope is not None else self.scope
        model = scope.get("Model")
        if scope is self.scope and self._is_replacement("Model") and not isinstance(scope.get("ModelNew"), Class):
            return None
        if self.edited or not isinstance(model, Class) or arguments is None:
            return None
        forward = model.scope.vars.get("forward")
        if not isinstance(forward, Function):
            return None
        instance = self._guard(lambda: construct(self.host, model, list(init), {}), Unknown("model"))
        try:
            return self._follow(forward, [instance, *arguments], f"{model.name}.forward", arguments)
        except OutOfBudget:
            return None


def _is_autograd(cls: Class) -> bool:
    return any(isinstance(base, Namespace) and base.path.endswith("autograd.Function") for base in cls.bases)


def _returns_answers(node: cst.FunctionDef, module: Module) -> bool:
    """Whether a function of ``module`` returns nothing but None, constants and the results of tests."""
    returned = module.own(node.body, cst.Return)
    return all(_is_answer(part.value) for part in returned) and not module.own(node.body, cst.Yield)


def _is_answer(value: cst.BaseExpression | None) -> bool:
    if value is None or isinstance(value, (cst.Comparison, cst.SimpleString, cst.Integer, cst.Float)):
        return True
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.operator, cst.Not)
    if isinstance(value, cst.BooleanOperation):
        return _is_answer(value.left) and _is_answer(value.right)
    if isinstance(value, cst.Call):
        name = (dotted_name(value.func) or "").rpartition(".")[2]
        return name in _ANSWERS
    return isinstance(value, cst.Name) and value.value in ("None", "True", "False")


def _is_test(node: cst.FunctionDef, module: Module) -> bool:
    """Whether pytest calls the function: by its name, as it collects tests, in a module that imports pytest."""
    collected = any(path.partition(".")[0] == "pytest" for path in module.imports.values())
    return collected and node.name.value.startswith("test") and _returns_answers(node, module)


def _draws(step: Step) -> bool:
    """Whether ``step`` draws a tensor at random, or works on one that the program writes out."""
    if isinstance(step, TorchOp):
        return step.kind == "random" or any(t.storage.origin == "constant" for t in step.reads)
    given = step.arguments.values() if isinstance(step, Launch) else ()
    return any(isinstance(t, Tensor) and t.storage.origin == "constant" for t in given)


def _touches(step: Step, storages: set[int]) -> bool:
    """Whether ``step`` reads or writes one of ``storages``, or perhaps does."""
    if isinstance(step, TorchOp):
        return any(t.storage.id in storages for t in (*step.reads, *step.writes))
    if isinstance(step, Launch):
        accessed = [step.arguments.get(a.base) for a, _ in step.kernel.walk(Access)]  # type: ignore[union-attr]
        unseen = any(not isinstance(t, Tensor) or t.storage.id in storages for t in accessed)
        return unseen or not step.kernel.complete
    return False


def _writes_to_others(step: Step) -> bool:
    """Whether ``step`` writes to a tensor that the call was given, or perhaps does."""
    if isinstance(step, TorchOp):
        written: list[Any] = [] if step.kind == "alloc" else list(step.writes)
    elif isinstance(step, Launch) and step.kernel.complete:
        written = [step.arguments.get(a.base) for a, _ in step.kernel.walk((Store, Atomic))]  # type: ignore[union-attr]
    else:
        return isinstance(step, Launch)
    # What the call makes itself knows where that happened.
    return any(not isinstance(t, Tensor) or t.storage.span is None for t in written)


def _entry(value: Function | Class) -> str:
    """What the workload of a function, or of a layer that is no ``ModelNew``, is called."""
    return value.symbol if isinstance(value, Function) else f"{value.name}.forward"


def _entries(value: Function | Class) -> tuple[str, ...]:
    """What the workloads of a function, or of both passes of an autograd function, are called."""
    return (_entry(value), f"{value.name}.backward") if isinstance(value, Class) else (_entry(value),)


def _definition(jit: Jit) -> cst.FunctionDef:
    assert isinstance(jit.function.node, cst.FunctionDef)
    return jit.function.node


def _define(program: Program, file: ImportedFile, part: Part, scope: Scope, name: str) -> Any:
    """By whoever reads the program when ``name`` is looked up."""
    return program._reading.define(file, part, scope, name)


def _value(program: Program, module: Module, node: cst.BaseExpression, scope: Scope) -> Any:
    """By whoever reads the program when the value is asked for."""
    return program._reading.value(module, node, scope)


def may_launch(module: Module) -> frozenset[str]:
    """Names of module-level functions and classes from which a kernel launch can be reached by the names they use: a
    cheap bound that spares reading the many functions of a large module that launch nothing."""
    return module.once(_may_launch)


def _may_launch(module: Module) -> frozenset[str]:
    definitions: list[tuple[str, cst.CSTNode]] = []
    decorated: set[str] = set()
    for statement in _statements(module.tree.body):
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            definitions.append((statement.name.value, statement))
            if statement.decorators:
                decorated.add(statement.name.value)
        elif isinstance(statement, cst.SimpleStatementLine):
            # `launch = partial(run, block=512)`: what uses `launch` uses `run`.
            definitions += [(name, statement) for part in statement.body for name in _assigned(part)]
    uses: dict[str, set[str]] = {}
    found: set[str] = set()
    for name, definition in definitions:
        names = uses.setdefault(name, set())
        names.update(used.value for used in module.within(definition, cst.Name))
        calls, subscripts = module.within(definition, cst.Call), module.within(definition, cst.Subscript)
        if any(_is_launch(node, decorated) for node in (*calls, *subscripts)):
            found.add(name)
    while more := {name for name, used in uses.items() if name not in found and used & found}:
        found |= more
    return frozenset(found)


def _assigned(part: cst.CSTNode) -> list[str]:
    """The names that a simple statement gives what a call makes, or an attribute (``norm = Norm.apply``)."""
    if not isinstance(part, cst.Assign) or not isinstance(part.value, (cst.Call, cst.Attribute)):
        return []
    return [target.target.value for target in part.targets if isinstance(target.target, cst.Name)]


def _is_launch(node: cst.CSTNode, decorated: set[str]) -> bool:
    """``kernel[grid](...)``, ``kernel.run(...)`` or ``kernel[grid]`` to be called later, by their looks."""
    if type(node) is cst.Call:
        function = node.func
        return type(function) is cst.Subscript or (
            type(function) is cst.Attribute and function.attr.value in ("run", "warmup")
        )
    return isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and node.value.value in decorated


def _statements(body: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """Module-level statements, those under ``if`` and ``try`` included."""
    for statement in body:
        yield statement
        if isinstance(statement, (cst.If, cst.Try, cst.Else)):
            yield from _statements(statement.body.body)
        if isinstance(statement, (cst.If, cst.Try)) and statement.orelse is not None:
            yield from _statements([statement.orelse])


def open_symbols(workload: Workload) -> tuple[str, ...]:
    """Names of the sizes that are still open in the launches, in order of appearance."""
    found: dict[str, None] = {}

    def add(value: Any) -> None:
        if isinstance(value, Expr):
            for atom in value.atoms():
                if isinstance(atom, Symbol):
                    found[atom.name] = None

    for launch in workload.launches():
        for extent in launch.grid:
            add(extent)
        for value in launch.arguments.values():
            if isinstance(value, Tensor):
                for extent in value.shape or ():
                    add(extent)
            else:
                add(value)
    return tuple(sorted(found))


def _guarded_main(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.If)
        and isinstance(node.test, cst.Comparison)
        and isinstance(node.test.left, cst.Name)
        and node.test.left.value == "__name__"
    )


#: Parts of a result, those of parts counted each time they stand there, up to which its nesting is kept.
_MOST_PARTS = 256


def _tensors_of(result: Any) -> Any:
    """``result`` as tuples, lists and dictionaries of tensors, None for anything else in it; None for one of too many parts: lists
    that hold a list twice grow without end."""
    left = _MOST_PARTS

    def nested(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise OverflowError
        if isinstance(value, Tensor):
            return value
        if isinstance(value, (tuple, list)):
            return type(value)(map(nested, value))
        if isinstance(value, dict):
            return {key: nested(one) for key, one in value.items()}
        return None

    try:
        return nested(result)
    except OverflowError:
        return None


def _by_parameter(function: Function, args: Sequence[Any]) -> dict[str, Any]:
    """The tensors and numbers among ``args``, by the name of the parameter."""
    if not isinstance(function.node, cst.FunctionDef):
        return {}
    params = [*function.node.params.posonly_params, *function.node.params.params]
    return {p.name.value: v for p, v in zip(params, args) if isinstance(v, (Tensor, int, float, Expr))}


#: Attributes of an object, and objects inside objects, that are looked at.
_MOST_HELD, _DEEPEST_HELD = 512, 4


def _held(instance: Instance, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The tensors and numbers that ``instance`` and the objects in it have, by dotted path."""
    items = [(f"{path}{name}", value) for name, value in instance.attrs.items() if not name.startswith("_")]
    items += [(f"{path}{i}", value) for i, value in enumerate(instance.attrs.get("_items", ()))]
    for name, value in items[:_MOST_HELD]:
        if isinstance(value, (Tensor, int, float, Expr)) and not isinstance(value, bool):
            yield name, value
        elif isinstance(value, Instance) and depth < _DEEPEST_HELD:
            yield from _held(value, f"{name}.", depth + 1)
