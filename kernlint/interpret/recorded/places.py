"""Where traced steps stand in the source: files, functions, calls, loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.host.loops import VIEWS_IN_TURN
from kernlint.interpret.imports import load_file
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.reading.entries import Reading
from kernlint.interpret.values import Function, Jit, Scope, Unknown
from kernlint.records import dataclass, replace
from kernlint.syntax.counters import counter
from kernlint.syntax.tree import Module
from kernlint.workload import Span, Tensor

if TYPE_CHECKING:
    from kernlint.interpret.recorded.program import RecordedProgram


#: Stands for the place of the step at hand, where no node of the tree does.
HERE = cst.Name("here")


class _Host(HostEvaluator):
    """The host evaluator with the places of traced steps."""

    place: Span | None = None

    def span(self, node: cst.CSTNode) -> Span:
        return self.place if node is HERE and self.place is not None else super().span(node)


@dataclass(frozen=True)
class Place:
    """Where a step stands: the function and, where one was found, the call; ``span`` in the file."""

    module: Module
    span: Span
    function: Function | None
    call: cst.Call | None


@dataclass
class Version:
    """One traced program while it is made into a workload."""

    trace: Mapping[str, Any]
    tensors: list[Any]
    places: list[Any]
    stacks: list[Any]
    names: dict[int, str] = field(default_factory=dict)
    origins: dict[int, tuple[str, Span | None]] = field(default_factory=dict)
    made: dict[int, Tensor] = field(default_factory=dict)


class NotTold(Exception):
    """The trace does not say what the host does under these edits."""


class Places(Reading):
    """Finds the code of what was traced."""

    evaluator: ClassVar[type[HostEvaluator]] = _Host

    def __init__(self, program: RecordedProgram, edits: Edits, resolved: Mapping[Any, Any]) -> None:
        super().__init__(program, edits, resolved)
        self.edits = edits
        self.recording = program.recording
        self.reference_module = program.reference
        self.host.next_storage = 1 << 40
        self.version: Version
        self._places: dict[Any, Place] = {}
        self._functions: dict[int, Function] = {}
        self._looked_up: dict[Any, Any] = {}

    def _place(self, step: Mapping[str, Any]) -> Place:
        stack = self.version.stacks[step["stack"]]
        return self._place_of(stack[0]) if stack else self._nowhere()

    def _nowhere(self) -> Place:
        return Place(self.kernel_module, Span(self.kernel_module.path, 1, 1, 1, 1), None, None)

    def _place_of(self, index: int) -> Place:
        key = id(self.version), index
        if key not in self._places:
            label, _, line, end_line, column, end_column = self.version.places[index]
            module = self._module(str(label), int(line))
            if module is None:
                self._places[key] = replace(self._nowhere(), span=Span(str(label), int(line), 1, int(line), 1))
            else:
                span = _span(module, int(line), end_line, column, end_column)
                call = module.at(span, cst.Call) if column is not None else _only_call(module, int(line))
                span = module.span(call) if call is not None else span
                self._places[key] = Place(module, span, self._function_around(module, span), call)
        return self._places[key]

    def _module(self, label: str, line: int) -> Module | None:
        if label == self.kernel_module.path:
            return self.kernel_module
        reference = self.reference_module
        if reference is not None and label in (reference.path, f"{reference.path}#reference"):
            return reference
        file = load_file(Path(label))
        if file is None:
            return None
        part = max((one for one in file.parts if one.first_line <= line), key=lambda one: one.first_line, default=None)
        return None if part is None else file.module(part)

    def _function_around(self, module: Module, span: Span) -> Function | None:
        around = [node for node in module.of(cst.FunctionDef) if module.span(node).contains(span)]
        if not around:
            return None
        node = around[-1]
        if id(node) not in self._functions:
            owners = [one for one in module.of(cst.ClassDef) if module.span(one).contains(module.span(node))]
            owner = owners[-1].name.value if owners else around[-2].name.value if len(around) > 1 else ""
            closure = self.scope if module is self.kernel_module else self.reference_scope or self.scope
            self._functions[id(node)] = Function(node.name.value, node, module, closure, owner)
        return self._functions[id(node)]

    def _function(self, found: Mapping[str, Any]) -> Any:
        """The kernel, or the function that one is given, that was reported as ``found``."""
        name, label, line = str(found["name"]), str(found["file"]), int(found["line"])
        key = name, label, line, str(found["closure"])
        if key not in self._looked_up:
            self._looked_up[key] = self._find_function(name, label, line, found["closure"])
        return self._looked_up[key]

    def _find_function(self, name: str, label: str, line: int, closure: Mapping[str, Any]) -> Any:
        module = self._module(label, line)
        if module is None:
            return Unknown(f"function {name}")
        scope = self._scope_of(module, label, name)
        for value in [scope.get(name), *scope.vars.values()]:
            function = value.function if isinstance(value, Jit) else value
            if not isinstance(function, Function) or not isinstance(function.node, cst.FunctionDef):
                continue
            if function.name == name and function.module is module and module.first_line_of(function.node) == line:
                return value if isinstance(value, Jit) else Jit(function)
        for node in module.of(cst.FunctionDef):
            if node.name.value == name and module.first_line_of(node) == line:
                inner = Scope(scope, {str(n): self._value(v) for n, v in closure.items()})
                return Jit(Function(name, node, module, inner))
        return Unknown(f"function {name}")

    def _value(self, value: Any) -> Any:
        """What a value that the trace tells of is here."""
        raise NotImplementedError

    def _scope_of(self, module: Module, label: str, name: str) -> Scope:
        if module is self.kernel_module:
            return self.scope
        if module is self.reference_module and self.reference_scope is not None:
            return self.reference_scope
        path = Path(label)
        with suppress(KeyError, Raised, Break, Continue, Return, OutOfBudget):
            self.imported(path, name)
        return self.program._imported.get(path) or Scope()

    def _loop_around(self, body: Sequence[Mapping[str, Any]]) -> tuple[tuple[Span, str], int] | None:
        """The loop that makes the steps of ``body`` again and again, with the least number of rounds that make it one; None
        where the source has none there."""
        stacks = [self.version.stacks[step["stack"]] for step in body]
        if not all(stacks):
            return None
        shared = 0
        while all(len(stack) > shared for stack in stacks) and len({self._frame(s[-1 - shared]) for s in stacks}) == 1:
            shared += 1
        for depth in range(shared - 1, -1, -1):
            places = [self._place_of(stack[-1 - depth]) for stack in stacks]
            module = places[0].module
            every: list[cst.For | cst.While] = [*module.of(cst.For), *module.of(cst.While)]
            loops = [
                node for node in every
                if all(place.module is module and module.span(node).contains(place.span) for place in places)
            ]  # fmt: skip
            function = places[0].function
            if function is not None:
                outer = module.span(function.node)
                loops = [node for node in loops if outer.contains(module.span(node))]
            if loops:
                node = max(loops, key=lambda one: (module.span(one).line, module.span(one).column))
                return (module.span(node), function.symbol if function else "<module>"), _least(node)
        return None

    def _frame(self, place: int) -> tuple[Any, Any]:
        """The function that a place stands in."""
        return self.version.places[place][0], self.version.places[place][1]

    @contextmanager
    def _at(self, place: Place) -> Iterator[None]:
        host = self.host
        assert isinstance(host, _Host)
        host.modules.append(place.module)
        if place.function is not None:
            host.calls.append(place.function)
        host.place = place.span
        try:
            yield
        finally:
            host.place = None
            host.modules.pop()
            if place.function is not None:
                host.calls.pop()


def _least(loop: cst.For | cst.While) -> int:
    """The rounds from which a loop is told as one, as where source is read: those that count always are, others where they are long."""
    if isinstance(loop, cst.While):
        return 2 if counter(loop) is not None else VIEWS_IN_TURN
    over = loop.iter.func if isinstance(loop.iter, cst.Call) else None
    return 2 if isinstance(over, cst.Name) and over.value == "range" else VIEWS_IN_TURN


def _span(module: Module, line: int, end_line: Any, column: Any, end_column: Any) -> Span:
    if column is None or end_line is None or end_column is None:
        return Span(module.path, line, 1, line, 1)
    return Span(
        module.path,
        line,
        _character(module, line, int(column)),
        int(end_line),
        _character(module, int(end_line), int(end_column)),
    )


def _character(module: Module, line: int, column: int) -> int:
    """The column, counted in characters from 1, that is ``column`` bytes into the line."""
    number = line - module.first_line
    text = module.lines[number] if 0 <= number < len(module.lines) else ""
    return len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace")) + 1


def _only_call(module: Module, line: int) -> cst.Call | None:
    """The launch, else the call, that alone begins on a line."""
    calls = [node for node in module.of(cst.Call) if module.span(node).line == line]
    launches = [node for node in calls if isinstance(node.func, cst.Subscript)]
    found = launches or calls
    return found[0] if len(found) == 1 else None


def bound_name(place: Place) -> str:
    """The name that the result of the step is given: ``y`` of ``y = torch.empty(...)``."""
    if place.function is None:
        return ""
    module = place.module
    for node in module.within(place.function.node, cst.Assign):
        target = node.targets[0].target
        if len(node.targets) == 1 and isinstance(target, cst.Name) and module.span(node.value) == place.span:
            return target.value
    return ""
