"""Who calls the functions of a module, with what: the module itself, and other files of its project.

Callers are followed like any program, not run: fixtures, helpers and constants of a test count as far as they can be followed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import libcst as cst

from kernlint.interpret.calling import calling_files, only_tries, starts, statements_using
from kernlint.interpret.calls_of_tests import call_methods, call_test
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.host.autograd import backward_pass
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.host.objects import layer_of
from kernlint.interpret.program import Program
from kernlint.interpret.project import is_alone, is_uncalled, module_of, origin
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.question import Question
from kernlint.interpret.reading.entries import Reading
from kernlint.interpret.reading.launching import may_launch
from kernlint.interpret.torch import layers
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.interpret.values import Class, Config, Function, Instance, Jit, Namespace, Presumed, Unknown
from kernlint.records import dataclass, replace
from kernlint.syntax.testing import is_guarded_main
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Tensor, Workload, concrete
from kernlint.workload import dtype as dt
from kernlint.workload.tensor import Expected

#: Calls that are kept of each function, and files that tell types of what they call it with beyond which no more are followed.
_MOST_CALLS, _ENOUGH = 12, 3
#: Nodes that one function of a caller, one file and all of them may take.
_BUDGET, _FILE_BUDGET, _ALL_BUDGET = 30_000, 120_000, 300_000
#: Types of what counts and points: of other integers, which are data, a call tells no more than the type.
_COUNTING = (dt.INT32, dt.INT64)
#: Items of a list that a call may give.
_MOST_ITEMS = 64


@dataclass(frozen=True)
class CallSite:
    """A call of a function: what each parameter gets, as far as it can be followed, with what the object was made with where it is a
    method. ``tried`` where that shows or tests the
    function and nobody measures it, so that its sizes may be any; not ``made`` where nothing in view calls what makes it."""

    function: str
    path: str
    line: int
    arguments: Mapping[str, Any]
    tried: bool = False
    made: bool = True

    @property
    def owner(self) -> str:
        """The function, or the class of the method, whose arguments these are."""
        return self.function.partition(".")[0]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    def types_of(self, name: str) -> list[Dtype]:
        """The element types of what the call gives for ``name``, an argument or a part of one (``x[][0]``)."""
        argument, *keys = name.replace("]", "").split("[")
        found = [self.arguments.get(argument)]
        for key in keys:
            lists = [value.known for value in found if isinstance(value, Items)]
            found = [item for items in lists for item in (items if key == "" else items[int(key) : int(key) + 1])]
        return [value[0] for value in found if isinstance(value, tuple) and value[0] is not None]

    @property
    def tells(self) -> bool:
        """Whether it tells the type of anything."""
        return any(isinstance(one, Items) or (isinstance(one, tuple) and one[0]) for one in self.arguments.values())

    @property
    def is_of_types(self) -> bool:
        """Whether it tells nothing but types."""
        return all(isinstance(one, tuple) and one[1] is None for one in self.arguments.values())

    @property
    def largest(self) -> int:
        """The elements of its largest tensor, as far as they are known."""
        return max(map(_elements, self.arguments.values()), default=0)


def sites_in(program: Program, workloads: Iterable[Workload], project: bool) -> list[CallSite]:
    """The calls of the entries of ``workloads`` that ``program`` makes itself, as a script say, and those in its project if asked."""
    passes = [workload.entry for workload in workloads]
    entries = [entry.replace(".backward", ".forward") for entry in (*passes, *map(program.called_by, passes))]
    return call_sites(program.kernel, entries, may_launch(program.kernel), program.question.host, project)


def of_entry(sites: Iterable[CallSite], entry: str, program: Program) -> list[CallSite]:
    """Those of ``sites`` that call ``entry``, another method of its class, or the function that a backward pass is behind."""
    owner = program.called_by(entry).partition(".")[0]
    return [site for site in sites if site.owner == owner]


def call_sites(
    module: Module, functions: Sequence[str], ways: Iterable[str], host: Any, project: bool = True
) -> list[CallSite]:
    """The calls of the ``functions`` of ``module`` (names, or ``Class.forward``, which ``Class.apply`` of an autograd function and
    calls of a layer get to), directly or by the names ``ways`` of that module: its own, in tests, benchmarks and what it does as
    a script, and those elsewhere in its ``project``, if that is to be asked."""
    names = {name.partition(".")[0] for name in functions} | set(ways)
    path, wanted = module.path, frozenset(functions)
    own = frozenset(names)
    found, _ = _calls_in(module, path, wanted, own, host)
    callers = [*(calling_files(path, names) if project else ()), (module, own)]
    budget, telling = _ALL_BUDGET, 0
    # Functions that are only called with what others give them tell at least what they cast that to.
    for tensors_given in (False, True):
        for other, called in callers:
            untold = wanted - {site.function for site in found if site.tells}
            if budget < 0 or (not untold and (tensors_given or telling >= _ENOUGH)):
                break
            if tensors_given != (other is not module and any(map(starts, statements_using(other, called)))):
                more, spent = _calls_in(other, path, wanted, called, host, tensors_given)
                budget, telling = budget - spent, telling + any(site.tells for site in more)
                found += more if other is not module else [_of_types(site) for site in more if site.tells]
    kept: dict[str, list[CallSite]] = {}
    for site in [*_of_new_kinds(found), *_ends_first(found)]:
        same = kept.setdefault(site.function, [])
        if len(same) < _MOST_CALLS and all(site.arguments != other.arguments for other in same):
            same.append(site)
    return [site for sites in kept.values() for site in sites]


def _of_types(site: CallSite) -> CallSite:
    """The types alone of ``site``: beside an argument that is passed on, sizes of the others may not go with its own."""
    tensors = {name: one for name, one in site.arguments.items() if isinstance(one, tuple) and one[0] is not None}
    return replace(site, arguments={name: (one[0], None) for name, one in tensors.items()})


def _of_new_kinds(sites: Iterable[CallSite]) -> Iterable[CallSite]:
    """The first of ``sites`` with each set of types, flags and arguments that are left out."""
    kinds = {
        (site.function, *((name, _kind(one)) for name, one in site.arguments.items())): site
        for site in reversed([*sites])
    }
    return reversed(kinds.values())


def _ends_first(sites: Sequence[CallSite]) -> Iterable[CallSite]:
    """``sites`` with the largest and the smallest first, as sizes decide which way a program goes."""
    rising, falling = (sorted(sites, key=lambda site: site.largest, reverse=turned) for turned in (False, True))
    return (site for pair in zip(falling, rising) for site in pair)


def _kind(value: Any) -> object:
    return value[0] if isinstance(value, tuple) else value if isinstance(value, (bool, str, Dtype)) else type(value)


class _Watching(HostEvaluator):
    """A host evaluator that notes the calls of functions of one file."""

    #: The file with the functions ``wanted``, and the one that is followed, with the line of its last call.
    about = ""
    caller = ""
    line = 0
    #: What is followed of that file, and whether its calls are tries.
    trying = ""
    tries = False
    wanted: frozenset[str] = frozenset()
    sites: list[CallSite]
    #: The objects of the classes of ``wanted`` methods, with what their constructors were given, by class and identity.
    constructed: dict[tuple[str, int], tuple[Any, dict[str, Any]]]

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if self.module.path == self.caller:
            self.line = self.span(node).line
        if isinstance(function, Namespace):
            # What measures (``do_bench(lambda: ...)``) calls what it is given.
            for given in (*args, *kwargs.values()):
                if isinstance(given, Function) and isinstance(given.node, cst.Lambda) and not given.node.params.params:
                    self.invoke(given, [], {})
        return super().call(function, args, kwargs, node)

    def launch(self, kernel: Jit, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        return Unknown("launch")  # nobody asks about them

    def invoke(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        cls, _, method = function.symbol.rpartition(".")
        own = (cls or method) == self.trying and self.caller == function.module.path
        ours = function.symbol in self.wanted or (method == "__init__" and f"{cls}.forward" in self.wanted)
        if ours and not own and os.path.realpath(function.module.path) == self.about:
            # A method, or the forward pass of an autograd function, has its object or context first.
            given = self._told(function, args, kwargs, skip=int(bool(cls)))
            if method == "__init__":
                self.constructed[cls, id(args[0])] = args[0], given
            else:
                self._add(function, {**(self._made(cls, args[0]) if args else {}), **given})
        return super().invoke(function, args, kwargs)

    def _made(self, cls: str, instance: Any) -> dict[str, Any]:
        """What ``instance`` was made with, by the constructor of ``cls`` or of a layer of torch."""
        if (cls, id(instance)) in self.constructed:
            return self.constructed[cls, id(instance)][1]
        known = isinstance(instance, Instance) and instance.cls is not None
        names = layers.settings(layer_of(instance.cls)) if known else {}
        weight = instance.attrs.get("weight") if names else None
        held = {name: instance.attrs.get(name) for name in names}
        held |= {"dtype": weight.dtype} if isinstance(weight, Tensor) else {}
        return {name: plain for name, value in held.items() if value is not None and (plain := _plain(self, value))}

    def _told(self, function: Function, args: list[Any], kwargs: dict[str, Any], skip: int) -> dict[str, Any]:
        """What is known of the arguments of a call behind the first ``skip``, by the names of the parameters."""
        params = function.node.params
        names = [p.name.value for p in (*params.posonly_params, *params.params)][skip:]
        given = {
            **dict(zip(names, args[skip:])),
            **{name: value for name, value in kwargs.items() if isinstance(name, str)},
        }
        return {name: known for name, value in given.items() if (known := _plain(self, value)) is not None}

    def _add(self, function: Function, plain: dict[str, Any]) -> None:
        known = [site.arguments for site in self.sites if site.function == function.symbol]
        if not isinstance(function.node, cst.FunctionDef) or len(known) > 4 * _MOST_CALLS or plain in known:
            return
        if any(not isinstance(value, Nothing) for value in plain.values()):
            self.sites.append(CallSite(function.symbol, _shown(self.caller), self.line, plain, self.tries))


@dataclass(frozen=True)
class Nothing:
    """``None`` as an argument."""


@dataclass(frozen=True)
class Items:
    """A list or a tuple as an argument: what is known of each item."""

    known: tuple[Any, ...]


def _plain(host: HostEvaluator, value: Any) -> Any:
    """What is known of an argument: its type and shape, with its strides (None: dense) and what integers it holds where there is more to
    know, or its value; None where nothing is."""
    if value is None:
        return Nothing()
    if isinstance(value, Tensor):
        value = host.current(value)
        shape = tuple(concrete(extent) for extent in value.shape) if value.shape is not None else None
        strides = tuple(map(concrete, value.strides)) if value.strides is not None and shape is not None else (None,)
        if shape is not None and None not in shape:
            told = None if None in strides or _is_dense(shape, strides) else strides
            held = host.held_by(value) if value.dtype in _COUNTING else Expected()
            if told is not None or held != Expected():
                return value.dtype, shape, told, held
        return (value.dtype, shape) if value.dtype is not None or shape is not None else None
    if type(value) in (list, tuple):
        known = tuple(_plain(host, item) for item in value[: _MOST_ITEMS + 1])
        return Items(known) if 0 < len(known) <= _MOST_ITEMS and None not in known else None
    if isinstance(value, Presumed):
        return None
    return (
        value if isinstance(value, (bool, int, float, str, Dtype, Config)) and not isinstance(value, Unknown) else None
    )


def _is_dense(shape: tuple[Any, ...], strides: tuple[Any, ...]) -> bool:
    """Whether the elements lie side by side, row by row."""
    usual = contiguous_strides(shape)
    return all(extent == 1 or stride == dense for extent, stride, dense in zip(shape, strides, usual))


def _elements(value: Any) -> int:
    if isinstance(value, Items):
        return max(map(_elements, value.known), default=0)
    sized = isinstance(value, tuple) and value[1] is not None and None not in value[1]
    return math.prod(value[1]) if sized else 0


def _shown(path: str) -> str:
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return path
    return path if relative.startswith("..") else relative


class _CallerReading(Reading):
    """A caller, whose imports are looked for in the whole project."""

    evaluator: ClassVar[type[HostEvaluator]] = _Watching

    def _find(self, importer: Module, package: str, level: int) -> Callable[[str], Any] | None:
        asked, found = (importer.path, package, level), self.program._found
        path = found[asked] if asked in found else found.setdefault(asked, module_of(*asked))
        if path is None:
            return None
        program, start = self.program, path  # and not this reading, which may be over when the name is looked up

        def look_up(name: str) -> Any:
            where, bound = origin(str(start), name)
            return program._reading.imported(Path(where), bound)

        return look_up


def _calls_in(
    module: Module, target: str, functions: frozenset[str], names: frozenset[str], host: Any, passing: bool = False
) -> tuple[list[CallSite], int]:
    """The calls of ``functions`` of the file ``target`` that ``module``, which may be that file, makes, and the nodes that it took to
    see them. In that file itself, those of what passes on what it is given count where ``passing`` says so."""
    sites: list[CallSite] = []
    own = module.path == target
    using = statements_using(module, names)
    starting = [node for node in using if starts(node)] if own and not passing else using
    if not starting:
        return [], 0
    program = Program(module, None, Question(host=host))
    try:
        reading = _CallerReading(program, NO_EDITS, {})
        watching = reading.host
        assert isinstance(watching, _Watching)
        watching.about, watching.wanted, watching.sites = os.path.realpath(target), functions, sites
        watching.constructed = {}
        watching.caller = module.path
        budget = watching.budget = min(watching.budget, _FILE_BUDGET)
        for statement in starting:
            watching.tries = only_tries(statement, module, own)
            watching.trying = statement.name.value if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) else ""
            known = len(sites)
            _try(reading, statement)
            if own and is_alone(module) and is_uncalled(module, watching.trying):
                sites[known:] = (replace(site, made=False) for site in sites[known:])
        return sites, budget - watching.budget
    finally:
        program.close(of_module=not own)


def _try(reading: Reading, node: cst.CSTNode) -> None:
    """Follow what ``node`` defines as somebody would call it."""
    host = reading.host
    if host.budget < 1000:
        return
    kept = max(0, host.budget - _BUDGET)
    host.budget -= kept
    try:
        with host.recording():
            if isinstance(node, cst.FunctionDef):
                function = reading.scope.get(node.name.value)
                if isinstance(function, Function):
                    call_test(reading, function)
            elif isinstance(node, cst.ClassDef):
                cls = reading.scope.get(node.name.value)
                if isinstance(cls, Class):
                    call_methods(reading, cls)
            else:
                host.modules.append(reading.kernel_module)
                try:
                    guarded = isinstance(node, cst.If) and is_guarded_main(node)
                    host.run(node.body.body if guarded else [node], reading.scope)  # type: ignore[attr-defined]
                finally:
                    host.modules.pop()
            for cls, context, _, result in reversed(host.passes):
                backward_pass(host, cls, context, result)
    except (Raised, Break, Continue, Return, OutOfBudget, RecursionError):
        pass
    finally:
        host.passes.clear()
        host.budget = kept + max(0, host.budget)
