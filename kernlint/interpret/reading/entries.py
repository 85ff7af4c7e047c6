"""The entries of a program: which of them are followed, and in what order they are looked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import libcst as cst

from kernlint.errors import UsageError
from kernlint.interpret.host.memoised import setup_functions, tries, untested_setup_functions
from kernlint.interpret.reading.effects import has_effect
from kernlint.interpret.reading.kernels import KernelReading
from kernlint.interpret.reading.launching import handed_out, may_launch
from kernlint.interpret.reading.models import entry_names, is_autograd
from kernlint.interpret.trace import Trace
from kernlint.interpret.values import Class, Function, Jit
from kernlint.records import dataclass, replace
from kernlint.syntax.copies import form_of
from kernlint.syntax.testing import is_test, is_test_case, is_test_file
from kernlint.workload import Workload


@dataclass(frozen=True)
class Followed:
    """The ``workloads`` of a function or class that is an entry, and the ``owners`` of the arguments that were made for it."""

    workloads: tuple[Workload, ...]
    owners: frozenset[str]


class Reading(KernelReading):
    """One pass over the program with the symbols resolved so far. Where several functions are entries it follows all, or the
    one called ``only``."""

    #: What a pass before has told of entries of which it has left nothing to learn, and what this one tells, by the identity of
    #: their nodes.
    settled: Mapping[int, Followed] = MappingProxyType({})
    followed: dict[int, Followed]
    #: The first of the functions followed that are copies of one another, by what these have in common.
    firsts: dict[object, str]

    def workloads(self) -> list[Workload]:
        """Those that the question is about."""
        self.followed, self.firsts = {}, {}
        entry = self.question.entry
        if entry is not None:
            return [self._named(entry)]
        model = self._model("ModelNew")
        if model is None and (self.reference_scope is not None or self._model_replaces):
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
            caller = self.program._callers.get(self.only)
            candidates = [v for v in candidates if self.only in _entries(v) or caller in entry_names(v)]
        public = [w for value in candidates if self._is_public(value.name) for w in self._followed(value)]
        return public or [w for value in candidates if not self._is_public(value.name) for w in self._followed(value)]

    def _is_public(self, name: str) -> bool:
        return not name.startswith("_") or name in handed_out(self.kernel_module)

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

    def _followed(self, value: Function | Class) -> tuple[Workload, ...]:
        """The workloads of an entry, as a pass before has found them where nothing was left to learn."""
        found = self.settled.get(id(value.node))
        if found is None:
            self._hand_on(value)
            self.host.owners.clear()
            workloads = tuple(self._launching(value))
            found = Followed(workloads, frozenset(self.host.owners))
        self.followed[id(value.node)] = found
        return found.workloads

    def _hand_on(self, value: Function | Class) -> None:
        """Have known of the arguments of a function what following a copy of it has shown of that one's."""
        if self.edited or self.question.facts or not isinstance(value, Function):
            return
        form = form_of(self.kernel_module, value.name)
        first = self.firsts.setdefault(form, value.name) if form is not None else value.name
        if first != value.name:
            self.program.hand_on(self.host, first, value.name)

    def _launching(self, value: Function | Class) -> Iterator[Workload]:
        """The workload of a function or layer, if it launches anything."""
        workloads: list[Workload | None] = []
        passes = len(self.host.passes)
        if isinstance(value, Class):
            workloads = [self._of_class(value, name.partition(".")[2]) for name in entry_names(value)]
            if _is_test_case(value):
                workloads = [one and _called_once(one) for one in workloads]
        elif isinstance(value.node, cst.FunctionDef):
            workload = self._of_function(value)
            once = value.name in self._setup or is_test(value.node, self.kernel_module)
            if once or not has_effect(value.node, workload, self.kernel_module, self.host.escapes):
                workload = _called_once(workload)
            workloads = [workload]
        yield from (one for one in workloads if one is not None and one.first_call().launches())
        if isinstance(value, Class) and is_autograd(value) and isinstance(value.scope.vars.get("backward"), Function):
            backward = self._of_backward(value)
            if backward.first_call().launches():
                yield backward
        if isinstance(value, Function):
            yield from self._behind(value, {one[0].name: one for one in reversed(self.host.passes[passes:])})

    @cached_property
    def _setup(self) -> frozenset[str]:
        """The functions that run once. Where tests and benchmarks are all that calls what launches the kernels of the module, they call
        what the module is for, unless it is a file of tests itself."""
        module = self.kernel_module
        setup = setup_functions(module)
        defined = self.scope.vars.values()
        kernels = any(isinstance(one, Jit) and one.function.module is module for one in defined)
        launching = [
            one
            for one in defined
            if isinstance(one, (Function, Class)) and one.module is module and one.name in may_launch(module)
        ]
        asked = any(
            one.name not in setup and not (isinstance(one.node, cst.FunctionDef) and tries(module, one.node))
            for one in launching
            if not one.name.startswith("_")
        )
        if asked or is_test_file(module.path) or not kernels:
            return setup
        return untested_setup_functions(module)

    def _behind(
        self, function: Function, passes: Mapping[str, tuple[Class, Any, Sequence[Any], Any]]
    ) -> Iterator[Workload]:
        """The backward passes of the private autograd functions of the module that ``function`` has applied, which nobody can call
        but through it."""
        for name, (cls, _, arguments, _) in passes.items():
            ours = cls.module is self.kernel_module and not self._is_public(name) and "backward" in cls.scope.vars
            if ours and self.program._callers.setdefault(f"{name}.backward", function.symbol) == function.symbol:
                backward = self._of_backward(cls, [*arguments])
                if backward.first_call().launches():
                    yield backward

    def _named(self, entry: str) -> Workload:
        head, _, method = entry.partition(".")
        value = self.scope.get(head)
        if isinstance(value, Class):
            method = method or (*entry_names(value), "forward")[0].rpartition(".")[2]
            alone = self.reference_scope is None and self._inputs_scope() is None
            if method == "forward" and (is_autograd(value) or alone):
                found = self._of_class(value, "forward")
                if found is not None:
                    return found
            if method == "forward":
                return self._of_model(value)
            found = value.scope.vars.get(method)
            if isinstance(found, Function) and method == "backward" and is_autograd(value):
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
        passes = {name: _passes(self.scope.vars[name]) for name in names}
        owners = [name for name, methods in passes.items() if entry in methods]
        if len(owners) == 1:
            return self._named(f"{owners[0]}.{entry}")
        names = [f"{name}.{method}" if method else name for name in names for method in passes[name] or ("",)]
        raise UsageError(f"--entry {entry}: not found (there are: {', '.join(sorted(names)[:12]) or 'no functions'})")


def _passes(value: Function | Class) -> tuple[str, ...]:
    """The methods of a class that may be asked for: what a model does, or both passes of an autograd function."""
    methods = value.scope.vars if isinstance(value, Class) else {}
    return tuple(name for name in ("forward", "backward") if isinstance(methods.get(name), Function))


def _entries(value: Function | Class) -> tuple[str, ...]:
    """What the workloads of a function, or of both passes of an autograd function, are called."""
    return (*entry_names(value), f"{value.name}.backward") if isinstance(value, Class) else entry_names(value)


def _is_test_case(cls: Class) -> bool:
    """Whether a library calls the methods of ``cls`` as tests."""
    return is_test_case(cls.node, cls.module) or any(
        _is_test_case(base) for base in cls.bases if isinstance(base, Class)
    )


def _called_once(workload: Workload) -> Workload:
    """The workload of code that fills a cache, warms up, tests or measures: no later call pays for it."""
    return replace(workload, steps=(), first_steps=workload.first_call().steps)
