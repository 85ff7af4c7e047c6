"""One pass over a program: its modules, and what they import, followed for what they define."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.host.journal import Journal
from kernlint.interpret.host.modules import in_other_module
from kernlint.interpret.imports import MAX_MODULES, ImportedFile, Part, imported_file, load_file
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.trace import Trace
from kernlint.interpret.values import Deferred, Guess, Scope, Unknown
from kernlint.syntax.names import bound_by
from kernlint.syntax.scopes import outdated_variables
from kernlint.syntax.testing import is_guarded_main
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import NESTED, walk_outside
from kernlint.workload import Size, Symbol, Tensor

if TYPE_CHECKING:
    from kernlint.interpret.program import Program


#: Nodes that may be evaluated for one module-level statement, so that a test behind the kernels leaves something for them.
_OF_A_STATEMENT = 100_000


class ModuleReading:
    """Follows the statements of modules. One that imports another one looks up what it needs there, when it needs it."""

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
        self.host.modules.append(kernel)  # an entry is called from outside of all functions
        self.host.configuration, self.host.detailed = question.configuration, question.detailed
        self.host.unrolled, self.host.other_vendor = question.unrolled, lambda: program.other_vendor
        self.host.reads_kernels, self.host.follows_tuners = question.kernels, question.tuners
        self.host.readings = program._earlier
        self.host.resolved_of, self.host.outcomes = program.resolved_of, program.outcomes
        if not edits:
            self.host.target, self.host.refused = question.target, program._refused
            self.host.kernel_calls = program._kernel_calls
        if journal:
            self.host.journal = Journal()
        self.program = program
        self.only = only
        #: Where the values that are met when ``only`` is followed are kept, if they are.
        self.trace: Trace | None = None
        self.host.finder, self.host.find_operator = self._find, self._find_operator
        self.host.operators_elsewhere = program._operators
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
        vars(self.host).clear()
        vars(self).clear()

    def _module_scope(self, module: Module) -> Scope:
        scope = Scope()
        self._run(module, scope)
        for name in module.once(outdated_variables):
            if isinstance(scope.vars.get(name), Tensor):
                scope.vars[name] = Unknown(name)
        for name in {
            item.name.value for node in module.of(cst.Global) for item in node.names
        } - self.question.overrides.keys():
            value = scope.vars.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                scope.vars[name] = Guess(value)  # until a function sets it that is followed
        return scope

    def _run(self, module: Module, scope: Scope) -> None:
        """Follow the statements of a module, or of a part of one, into ``scope``."""
        with self.host.within(module):
            for statement in module.tree.body:
                if is_guarded_main(statement):
                    continue
                self._run_statement(statement, scope)

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

    def _find_operator(self, name: str) -> None:
        """Follow what the imported files that were looked into define that may register an operator of torch called ``name``."""
        for path, scope in [*self.program._imported.items()]:
            file = load_file(path) if scope is not None else None
            for part in file.parts if file is not None else ():
                if part.names and name in part.text and ("_op(" in part.text or "impl(" in part.text):
                    scope.get(next(iter(part.names)))  # type: ignore[union-attr]

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
            with in_other_module(self.host, self._put_off):
                self._run(module, scope)
        return scope.vars.get(name)

    def _put_off(self, module: Module, node: cst.BaseExpression, scope: Scope) -> Deferred:
        return Deferred(partial(_value, self.program, module, node, scope))

    def value(self, module: Module, node: cst.BaseExpression, scope: Scope) -> Any:
        """What an expression of another file gives in ``scope``."""
        with in_other_module(self.host, self._put_off), self.host.within(module):
            try:
                return self.host.eval(node, scope)
            except (Raised, Break, Continue, Return):
                return Unknown("raised")

    def _guard(self, action: Callable[[], Any], default: Any) -> Any:
        try:
            return action()
        except (Raised, Break, Continue, OutOfBudget):
            return default


def _define(program: Program, file: ImportedFile, part: Part, scope: Scope, name: str) -> Any:
    """By whoever reads the program when ``name`` is looked up."""
    return program._reading.define(file, part, scope, name)


def _value(program: Program, module: Module, node: cst.BaseExpression, scope: Scope) -> Any:
    """By whoever reads the program when the value is asked for."""
    return program._reading.value(module, node, scope)
