"""Workloads of calls that were traced: what a child process reported of a program on fake tensors, in the terms of the analysis.

The report is plain data, and believed as far as it is well formed. Kernels are read from source as ever, with the arguments
that they were given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

import libcst as cst

from kernlint.errors import AnalysisError
from kernlint.interpret.aten import translated
from kernlint.interpret.edits import NO_EDITS, Edits, Literal
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.host.first_call import bare
from kernlint.interpret.host.launches import launch_one
from kernlint.interpret.host.tuners import repeating, swept
from kernlint.interpret.host.values import HostDescriptor
from kernlint.interpret.imports import load_file
from kernlint.interpret.loops import Looped, folded
from kernlint.interpret.program import Program
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.question import Question
from kernlint.interpret.reading.calls import open_symbols
from kernlint.interpret.reading.entries import Reading
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.functions import torch_function
from kernlint.interpret.values import Config, Function, Jit, Scope, Unknown
from kernlint.records import dataclass, replace
from kernlint.syntax.counters import counter
from kernlint.syntax.tree import Module
from kernlint.workload import (
    HostSync,
    Launch,
    Repeat,
    Span,
    Step,
    Storage,
    Tensor,
    TorchOp,
    Tuning,
    Workload,
)
from kernlint.workload import dtype as dt

#: Stands for the place of the step at hand, where no node of the tree does.
_HERE = cst.Name("here")
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
#: What a report that is not well formed raises when it is looked into.
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
_FILLED = frozenset(
    "zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full arange linspace eye".split()
)
_EMPTY = frozenset("empty empty_like empty_strided new_empty new_empty_strided".split())
#: A loop over anything but numbers is unrolled in source analysis too, unless it is as long as this.
_IN_TURN = 9


@dataclass(frozen=True)
class Recording:
    """What was traced: for ``kernel`` and ``reference`` the two calls and the tables that their steps refer to; ``notes`` say
    what was not."""

    traces: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...] = ()

    @classmethod
    def of_events(cls, events: Iterable[Mapping[str, Any]]) -> Recording:
        """That of a child's events, those of versions that were not traced to the end left out."""
        calls: dict[str, list[Mapping[str, Any]]] = {}
        traces: dict[str, Mapping[str, Any]] = {}
        for event in events:
            version = event.get("version")
            if not isinstance(version, str):
                continue
            if event.get("event") == "call":
                calls.setdefault(version, []).append(event)
            elif event.get("event") == "tables" and version in calls:
                traces[version] = {"calls": calls[version], "tables": event}
        return cls(traces)

    def noting(self, note: str) -> Recording:
        return replace(self, notes=(*self.notes, note))


class RecordedProgram(Program):
    """A program of which one entry was traced: where source analysis does not come to the same workload, the traced one counts.

    What-ifs about a traced workload are made by reading its kernels again; those that change what the host does cannot be.
    """

    def __init__(self, kernel: Module, reference: Module | None, question: Question, recording: Recording) -> None:
        super().__init__(kernel, reference, question)
        self.recording = recording
        #: The entry whose traced workload stands in the place of the one from source.
        self.replaced = ""
        #: Why, in words.
        self.differences: tuple[str, ...] = ()

    def _follow(self, edits: Edits, only: str) -> list[Workload]:
        if edits and self.replaced:
            again = self.traced_workload(edits)
            return [again] if again is not None else []
        found = super()._follow(edits, only)
        if edits:
            return found
        from kernlint.interpret.agreement import differences  # which compares what this module makes

        traced = self.traced_workload(NO_EDITS)
        assert traced is not None
        static = next((workload for workload in found if workload.entry == traced.entry), None)
        self.differences = ("the entry was not found in the source",) if static is None else differences(static, traced)
        if static is None or self.differences:
            self.replaced = traced.entry
            self._substitution.pop((edits, only), None)
            return [traced, *(workload for workload in found if workload.entry != traced.entry)]
        return [_confirmed(static, traced), *(workload for workload in found if workload is not static)]

    def _exchanged(self, entry: str, edits: Edits) -> Workload | None:
        return None if entry == self.replaced else super()._exchanged(entry, edits)

    def variant(self, kernel: Module, question: Question) -> Program:
        if kernel is not self.kernel or question.overrides != self.question.overrides:
            return super().variant(kernel, question)
        other = RecordedProgram(kernel, self.reference, question, self.recording)
        other._readings = self._readings
        return other

    def traced_workload(self, edits: Edits) -> Workload | None:
        """The workload that was traced, under ``edits``; None where those change what the host does. Raises ``AnalysisError``
        where the report is not well formed."""
        if edits.skipped or edits.unfilled:
            return None
        try:
            return _Replay(self, edits, self._resolved).workload()
        except _NotTold:
            return None
        except _MALFORMED as error:
            raise AnalysisError(
                f"{self.kernel.path}: the trace cannot be read ({type(error).__name__}: {error})"
            ) from error


def _confirmed(static: Workload, traced: Workload) -> Workload:
    """``static``, which the trace agrees with: nothing in it is assumed any more."""
    assumed = tuple(text for text in traced.assumptions if text not in static.assumptions)
    reference = static.reference if traced.reference is None else traced.reference
    return replace(static, assumptions=assumed, unknowns=traced.unknowns, reference=reference, traced=True)


class _NotTold(Exception):
    """The trace does not say what the host does under these edits."""


class _Host(HostEvaluator):
    """The host evaluator with the places of traced steps."""

    place: Span | None = None

    def span(self, node: cst.CSTNode) -> Span:
        return self.place if node is _HERE and self.place is not None else super().span(node)


@dataclass(frozen=True)
class _Place:
    """Where a step stands: the function and, where one was found, the call; ``span`` in the file."""

    module: Module
    span: Span
    function: Function | None
    call: cst.Call | None


@dataclass
class _Version:
    """One traced program while it is made into a workload."""

    trace: Mapping[str, Any]
    tensors: list[Any]
    places: list[Any]
    stacks: list[Any]
    names: dict[int, str] = field(default_factory=dict)
    origins: dict[int, tuple[str, Span | None]] = field(default_factory=dict)
    made: dict[int, Tensor] = field(default_factory=dict)


class _Replay(Reading):
    """Makes workloads of what was traced."""

    evaluator: ClassVar[type[HostEvaluator]] = _Host

    def __init__(self, program: RecordedProgram, edits: Edits, resolved: Mapping[Any, Any]) -> None:
        super().__init__(program, edits, resolved)
        self.edits = edits
        self.recording = program.recording
        self.reference_module = program.reference
        self.host.next_storage = 1 << 40
        self.version: _Version
        self._places: dict[Any, _Place] = {}
        self._functions: dict[int, Function] = {}
        self._looked_up: dict[Any, Any] = {}

    def workload(self) -> Workload:
        kernel = self._of(self.recording.traces["kernel"])
        if "reference" not in self.recording.traces or self.edits:
            return kernel
        host, assumptions = self.host, kernel.assumptions
        host.assumptions, host.unknowns = [], []
        return replace(kernel, reference=self._of(self.recording.traces["reference"]), assumptions=assumptions)

    def _of(self, trace: Mapping[str, Any]) -> Workload:
        tables = trace["tables"]
        self.version = _Version(trace, tables["tensors"], tables["places"], tables["stacks"])
        first, later = trace["calls"][0], trace["calls"][-1]
        for name, value in [*tables["parameters"], *later["inputs"]]:
            self._note_given(str(name), value, "parameter" if [name, value] in tables["parameters"] else "input")
        for call in (first, later):
            for step in call["steps"]:
                self._note_made(step)
        steps = self._steps(later)
        same = _shape_of(first) == _shape_of(later)
        inputs = [self._value(value) for _, value in later["inputs"]]
        unknown = [*map(str, later["unknown"]), *self.host.unknowns]
        assumed = [*map(str, later["assumed"]), *self.host.assumptions, *self.recording.notes]
        constants = {n: v for n, v in self.host.constants.items() if isinstance(v, int) and not isinstance(v, bool)}
        workload = Workload(
            str(later["entry"]),
            self.kernel_module.path,
            steps,
            tuple(value for value in inputs if isinstance(value, Tensor)),
            tensors_in([self._value(value) for value in later["outputs"]]),
            tuple(dict.fromkeys(assumed)),
            tuple(dict.fromkeys(unknown)),
            sizes=constants,
            traced=True,
            first_steps=None if same else self._steps(first),
        )
        return replace(workload, symbols=open_symbols(workload.first_call()))

    # -- tensors ----------------------------------------------------------------------------------------------------

    def _note_given(self, name: str, value: Any, origin: str) -> None:
        if isinstance(value, dict) and "tensor" in value:
            storage = self.version.tensors[value["tensor"]][0]
            self.version.names.setdefault(storage, name.rpartition(".")[2])
            self.version.origins.setdefault(storage, (origin, None))
        elif isinstance(value, dict) and "list" in value:
            for item in value["list"]:
                self._note_given(name, item, origin)

    def _note_made(self, step: Mapping[str, Any]) -> None:
        """The storages that ``step`` makes, where they come from and what they are called."""
        if step["kind"] != "op":
            return
        for index in _indices(step["result"]):
            storage = self.version.tensors[index][0]
            if storage not in self.version.origins:
                base = str(step["name"]).partition(".")[0]
                origin = "filled" if base in _FILLED else "empty" if base in _EMPTY else "result"
                origin = "constant" if base in ("tensor", "copy") else origin
                place = self._place(step)
                self.version.origins[storage] = origin, place.span
                name = _bound_name(place)
                if name:
                    self.version.names.setdefault(storage, name)

    def _tensor(self, index: int) -> Tensor:
        version = self.version
        if index not in version.made:
            number, dtype, shape, strides, offset = version.tensors[index]
            if not all(isinstance(n, int) for n in (number, offset, *shape, *strides)) or len(shape) != len(strides):
                raise ValueError("a tensor without a shape")
            origin, span = version.origins.get(number, ("constant", None))
            storage = Storage(number + 1, origin, span)
            name = version.names.get(number, "")
            version.made[index] = Tensor(name, dt.find(str(dtype)), tuple(shape), tuple(strides), storage, offset)
        return version.made[index]

    def _value(self, value: Any) -> Any:
        """A value as the analysis has it."""
        if isinstance(value, str):
            return _NUMBERS.get(value, value)
        if not isinstance(value, dict):
            return [self._value(item) for item in value] if isinstance(value, list) else value
        if "tensor" in value:
            tensor = self._tensor(value["tensor"])
            return replace(tensor, dtype=dt.find(str(value["as"]))) if "as" in value else tensor
        if "dtype" in value:
            return dt.find(str(value["dtype"])) or Unknown(f"type {value['dtype']}")
        if "list" in value:
            return [self._value(item) for item in value["list"]]
        if "slice" in value:
            return slice(*map(self._value, value["slice"]))
        if "descriptor" in value:
            base = self._value(value["descriptor"])
            shape, strides, block = (tuple(self._value(value[n])) for n in ("shape", "strides", "block_shape"))
            return HostDescriptor(base, shape, strides, tuple(map(int, block)))
        if "function" in value:
            return self._function(value["function"])
        return Unknown(str(value.get("unknown", "value")))

    # -- steps ------------------------------------------------------------------------------------------------------

    def _steps(self, call: Mapping[str, Any]) -> tuple[Step, ...]:
        steps = call["steps"]
        found = folded([step["key"] for step in steps], lambda body: self._loop_around([steps[i] for i in body]))
        return tuple(self._made(found, steps))

    def _made(self, items: Iterable[int | Looped], steps: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
        for item in items:
            if isinstance(item, Looped):
                span, function = item.loop
                middle = len(item.rounds) // 2
                body, earlier = (tuple(self._made(item.rounds[i], steps)) for i in (middle, max(0, middle - 1)))
                if body:
                    yield Repeat(len(item.rounds), body, span, function, earlier)
                continue
            step = self._step(steps[item])
            if step is not None:
                yield step

    def _step(self, step: Mapping[str, Any]) -> Step | None:
        place = self._place(step)
        symbol = place.function.symbol if place.function is not None else "<module>"
        if step["kind"] == "sync":
            reads = self._tensor(step["reads"]) if step["reads"] is not None else None
            return HostSync(str(step["what"]), place.span, symbol, reads)
        with self._at(place):
            if step["kind"] == "launch":
                return None if step["warmup"] else self._launch(step, place)
            return self._op(step, place.span, symbol)

    @contextmanager
    def _at(self, place: _Place) -> Iterator[None]:
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

    def _op(self, step: Mapping[str, Any], span: Span, symbol: str) -> TorchOp | None:
        base = str(step["name"]).partition(".")[0]
        args = [self._value(value) for value in step["args"]]
        kwargs = {name: self._value(value) for name, value in step["kwargs"].items()}
        result = [self._tensor(index) for index in _indices(step["result"])]
        written = [self._tensor(index) for value in step.get("written") or () for index in _indices(value)]
        writes = tuple(written or result[:1])
        name, args, kwargs = translated(base, args, kwargs)
        with self.host.recording() as recorded, suppress(Raised, OutOfBudget):
            torch_function(self.host, name, args, kwargs, _HERE)
        self.host.unknowns = [text for text in self.host.unknowns if not text.endswith(f"torch function {name}")]
        known = next((one for one in map(bare, recorded) if isinstance(one, TorchOp) and one.kind != "unknown"), None)
        given = tensors_in([args, *kwargs.values()])
        if known is None:
            reads = tuple(t for t in given if t not in written)
            kind = "elementwise" if step.get("pointwise") else "unknown" if reads else "fill"
            count = sum(t.numel or 0 for t in writes[:1]) if kind != "unknown" else None
            return TorchOp(name, kind, reads, writes, span, symbol, count)
        reads = known.reads if known.reads and set(known.reads) <= set(given) else given if known.reads else ()
        # How many elements there are is known now, whatever the table of functions made of the arguments.
        flops = known.flops if known.flops is not None else writes[0].numel if writes else 0
        return TorchOp(known.name, known.kind, reads, writes, span, symbol, flops, known.dims)

    # -- launches ---------------------------------------------------------------------------------------------------

    def _launch(self, step: Mapping[str, Any], place: _Place) -> Launch:
        variants = [step, *step.get("alternatives", ())]
        shift = self.host.configuration % len(variants)
        variants = [*variants[shift:], *variants[:shift]]
        tuner = step.get("tuner")
        jit = self._function(step["kernel"])
        if not isinstance(jit, Jit):
            raise ValueError(f"no kernel {step['kernel']['name']}")
        tuned = [str(name) for config in (tuner or {}).get("configurations", ()) for name in config["kwargs"]]
        aside = {*tuned, *jit.heuristics} | ({"num_warps", "num_stages", "num_ctas", "maxnreg"} if tuner else set())
        tuning = self._tuning(tuner, jit, place.span) if tuner else None
        plain = replace(jit, configs=(), heuristics={}, autotuned=bool(tuner), tuning=tuning)
        launches = [self._variant(variant, plain, aside, place) for variant in variants]
        return replace(launches[0], alternatives=tuple(launches[1:]))

    def _variant(self, step: Mapping[str, Any], jit: Jit, aside: set[str], place: _Place) -> Launch:
        values = {str(name): self._value(value) for name, value in step["values"].items()}
        options = {str(name): self._value(value) for name, value in step["options"].items()}
        given = {str(name) for name in step["given"]} - aside
        literals = self._literals(place, jit, values, options)
        changed = False
        for name, literal in literals.items():
            if name in given:
                new = self.host.new_literals.get(literal.span, int(literal))
                changed |= new != literal
                (values if name in values else options)[name] = Literal(new, literal.span)
        hidden = {name: value for name, value in values.items() if name not in given}
        warps, stages = (options.get(name, values.get(name)) for name in ("num_warps", "num_stages"))
        config = Config(hidden, warps, stages)
        kwargs = {name: value for name, value in {**values, **options}.items() if name in given}
        grid = tuple(self._value(extent) for extent in step["grid"])
        edited = self.edits.literals or self.edits.options
        if edited and (changed or self.host.new_options.get(place.span)) and self._grid_hangs_on(step):
            raise _NotTold
        node: Any = place.call if place.call is not None else _HERE
        return launch_one(self.host, jit, config, grid, [], kwargs, node)

    def _grid_hangs_on(self, step: Mapping[str, Any]) -> bool:
        """Whether the grid may be computed from what an edit changes: from what the call passes on, all that is known is how
        it came out."""
        return True

    def _literals(
        self, place: _Place, jit: Jit, values: Mapping[str, Any], options: Mapping[str, Any]
    ) -> dict[str, Literal]:
        """The arguments that the call writes out as integers."""
        found: dict[str, Literal] = {}
        for argument in place.call.args if place.call is not None else ():
            if argument.keyword is not None and isinstance(argument.value, cst.Integer):
                name, number = argument.keyword.value, int(argument.value.value.replace("_", ""), 0)
                if {**options, **values}.get(name) == number:
                    found[name] = Literal(number, place.module.span(argument.value))
        return found

    def _tuning(self, tuner: Mapping[str, Any], jit: Jit, span: Span) -> Tuning:
        found = tuple(
            Config(dict(one["kwargs"]), one["num_warps"], one["num_stages"], bool(one["hooked"]))
            for one in tuner["configurations"]
        )
        known = jit.tuning
        return Tuning(
            tuple(map(str, tuner["key"])),
            len(found),
            swept(found),
            bool(tuner["pruned"]),
            known.kept if known is not None else False,
            known.span if known is not None else span,
            repeating(found),
            frozenset(str(name) for one in found for name in one.kwargs),
            frozenset(map(str, tuner["restored"])),
            frozenset(map(str, tuner["zeroed"])),
            any(one.hooked for one in found),
        )

    # -- places and functions ---------------------------------------------------------------------------------------

    def _place(self, step: Mapping[str, Any]) -> _Place:
        stack = self.version.stacks[step["stack"]]
        return self._place_of(stack[0]) if stack else self._nowhere()

    def _nowhere(self) -> _Place:
        return _Place(self.kernel_module, Span(self.kernel_module.path, 1, 1, 1, 1), None, None)

    def _place_of(self, index: int) -> _Place:
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
                self._places[key] = _Place(module, span, self._function_around(module, span), call)
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


def _least(loop: cst.For | cst.While) -> int:
    """The rounds from which a loop is told as one: those that count always are, as where source is read."""
    if isinstance(loop, cst.While):
        return 2 if counter(loop) is not None else _IN_TURN
    over = loop.iter.func if isinstance(loop.iter, cst.Call) else None
    return 2 if isinstance(over, cst.Name) and over.value == "range" else _IN_TURN


def _shape_of(call: Mapping[str, Any]) -> list[Any]:
    """What two calls agree in that do the same."""
    return [(step["kind"], step["key"], step.get("name"), step.get("grid")) for step in call["steps"]]


def _indices(value: Any) -> list[int]:
    """The tensors in a reported value."""
    if isinstance(value, dict):
        if "tensor" in value:
            return [int(value["tensor"])]
        return [index for item in value.get("list", ()) for index in _indices(item)]
    return [index for item in value for index in _indices(item)] if isinstance(value, list) else []


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


def _bound_name(place: _Place) -> str:
    """The name that the result of the step is given: ``y`` of ``y = torch.empty(...)``."""
    if place.function is None:
        return ""
    module = place.module
    for node in module.within(place.function.node, cst.Assign):
        target = node.targets[0].target
        if len(node.targets) == 1 and isinstance(target, cst.Name) and module.span(node.value) == place.span:
            return target.value
    return ""
