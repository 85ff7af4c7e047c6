"""Who calls the functions of a module, with what: the module itself, and other files of its project.

Callers are followed like any program, not run: fixtures, helpers and constants of a test count as far as they can be followed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import libcst as cst

from kernlint.interpret.calling import calling_files, only_tries, starts, statements_using, tried_by, uses
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.host.objects import class_attribute
from kernlint.interpret.program import Program
from kernlint.interpret.project import module_of, origin
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.question import Question
from kernlint.interpret.reading.entries import Reading
from kernlint.interpret.reading.launching import may_launch
from kernlint.interpret.reading.modules import is_guarded_main
from kernlint.interpret.values import Class, Function, Instance, Jit, Namespace, Presumed, Scope, Unknown
from kernlint.records import dataclass
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Tensor, Workload, concrete

#: Calls that are kept of each function, and files that tell types of what they call it with beyond which no more are followed.
_MOST_CALLS, _ENOUGH = 12, 3
#: Nodes that one function of a caller, and one file, may take.
_BUDGET, _FILE_BUDGET = 30_000, 120_000
#: Items of a list that a call may give.
_MOST_ITEMS = 64
#: Sets of arguments of a parametrized test, or a benchmark, that are tried.
_MOST_CASES = 4


@dataclass(frozen=True)
class CallSite:
    """A call of a function: what each parameter gets, as far as it can be followed. ``tried`` where that shows or tests the
    function and nobody measures it, so that its sizes may be any."""

    function: str
    path: str
    line: int
    arguments: Mapping[str, Any]
    tried: bool = False

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
    def largest(self) -> int:
        """The elements of its largest tensor, as far as they are known."""
        return max(map(_elements, self.arguments.values()), default=0)


def sites_in(program: Program, workloads: Iterable[Workload], project: bool) -> list[CallSite]:
    """The calls of the entries of ``workloads`` that ``program`` makes itself, as a script say, and those in its project if asked."""
    entries = [workload.entry.replace(".backward", ".forward") for workload in workloads]
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
    path = module.path
    found = _calls_in(module, path, frozenset(functions), frozenset(names), host)
    callers, ways = calling_files(path, names) if project else ([], frozenset(names))
    # Functions that are only called with what others give them tell at least what they cast that to.
    for tensors_given in (False, True):
        if tensors_given and any(map(_tells, found)):
            break
        telling = 0
        for other in callers:
            if telling < _ENOUGH and tensors_given != any(starts(node) for node in statements_using(other, ways)):
                more = _calls_in(other, path, frozenset(functions), ways, host)
                telling += any(map(_tells, more))
                found += more
    kept: dict[str, list[CallSite]] = {}
    for site in found:
        same = kept.setdefault(site.function, [])
        if len(same) < _MOST_CALLS and all(site.arguments != other.arguments for other in same):
            same.append(site)
    return [site for sites in kept.values() for site in sites]


def _tells(site: CallSite) -> bool:
    """Whether a call tells the type of anything."""
    return any(isinstance(value, Items) or (isinstance(value, tuple) and value[0]) for value in site.arguments.values())


class _Watching(HostEvaluator):
    """A host evaluator that notes the calls of functions of one file."""

    about = ""
    own = False
    wanted: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    sites: list[CallSite]

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, Namespace) and function.path.rpartition(".")[2] in self.called:
            package, _, name = function.path.rpartition(".")
            find = self.finder(self.module, package, 0) if self.finder is not None and package else None
            with suppress(KeyError):
                function = find(name) if find is not None else function
        if isinstance(function, Namespace):
            # What measures (``do_bench(lambda: ...)``) calls what it is given.
            for given in (*args, *kwargs.values()):
                if isinstance(given, Function) and isinstance(given.node, cst.Lambda) and not given.node.params.params:
                    self.invoke(given, [], {})
        if isinstance(function, Function) and self._concerns(function):
            self._add(function, args, kwargs, 0, self.span(node).line)
            return Unknown("result")
        return super().call(function, args, kwargs, node)

    def launch(self, kernel: Jit, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
        return Unknown("launch")  # nobody asks about them

    def invoke(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if function.symbol in self.wanted and "." in function.symbol and self._is_target(function):
            # A method, or the forward pass of an autograd function, behind its object or context.
            self._add(function, args[1:], kwargs, 1, self.line)
            return Unknown("result")
        return super().invoke(function, args, kwargs)

    #: The last call outside that file, and whether calls are tries now.
    line = 0
    caller = ""
    tries = False

    def eval_Call(self, node: cst.Call, scope: Scope) -> Any:
        if self.own or os.path.realpath(self.module.path) != self.about:
            self.line, self.caller = self.span(node).line, self.module.path
        return super().eval_Call(node, scope)

    def _concerns(self, function: Function) -> bool:
        """Whether ``function`` is one of those that are asked about, called by one that is not."""
        wanted = function.symbol in self.wanted and "." not in function.symbol
        outside = self.own or os.path.realpath(self.module.path) != self.about
        return wanted and outside and self._is_target(function)

    def _is_target(self, function: Function) -> bool:
        return os.path.realpath(function.module.path) == self.about

    def _add(self, function: Function, args: list[Any], kwargs: dict[str, Any], skip: int, line: int) -> None:
        node = function.node
        if not isinstance(node, cst.FunctionDef) or len(self.sites) > 4 * _MOST_CALLS:
            return
        names = [p.name.value for p in (*node.params.posonly_params, *node.params.params)][skip:]
        given = {**dict(zip(names, args)), **{name: value for name, value in kwargs.items() if isinstance(name, str)}}
        plain = {name: known for name, value in given.items() if (known := _plain(self, value)) is not None}
        if any(not isinstance(value, Nothing) for value in plain.values()):
            self.sites.append(CallSite(function.symbol, _shown(self.caller), line, plain, self.tries))


@dataclass(frozen=True)
class Nothing:
    """``None`` as an argument."""


@dataclass(frozen=True)
class Items:
    """A list or a tuple as an argument: what is known of each item."""

    known: tuple[Any, ...]


def _plain(host: HostEvaluator, value: Any) -> Any:
    """What is known of an argument: its type and shape, or its value; None where nothing is."""
    if value is None:
        return Nothing()
    if isinstance(value, Tensor):
        value = host.current(value)
        shape = tuple(concrete(extent) for extent in value.shape) if value.shape is not None else None
        return (value.dtype, shape) if value.dtype is not None or shape is not None else None
    if type(value) in (list, tuple):
        known = tuple(_plain(host, item) for item in value[: _MOST_ITEMS + 1])
        return Items(known) if 0 < len(known) <= _MOST_ITEMS and None not in known else None
    if isinstance(value, Presumed):
        return None
    return value if isinstance(value, (bool, int, float, str)) and not isinstance(value, Unknown) else None


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
    follows_any = True

    def _find(self, importer: Module, package: str, level: int) -> Callable[[str], Any] | None:
        path = module_of(importer.path, package, level)
        if path is None:
            return None
        program, start = self.program, path  # and not this reading, which may be over when the name is looked up

        def look_up(name: str) -> Any:
            where, bound = origin(str(start), name)
            return program._reading.imported(Path(where), bound)

        return look_up


def _calls_in(
    module: Module, target: str, functions: frozenset[str], names: frozenset[str], host: Any
) -> list[CallSite]:
    """The calls of ``functions`` of the file ``target`` that ``module``, which may be that file, makes."""
    sites: list[CallSite] = []
    own = module.path == target
    using = [node for node in module.tree.body if uses(node, names, module)] if own else statements_using(module, names)
    starting = [node for node in using if starts(node)] if own else using
    if not starting:
        return []
    program = Program(module, None, Question(host=host))
    try:
        reading = _CallerReading(program, NO_EDITS, {})
        watching = reading.host
        assert isinstance(watching, _Watching)
        watching.about, watching.wanted, watching.sites = os.path.realpath(target), functions, sites
        watching.called, watching.own = names, own
        watching.budget = min(watching.budget, _FILE_BUDGET)
        for statement in starting:
            watching.tries = only_tries(statement, module, own)
            _try(reading, statement)
    finally:
        program.close()
    return sites


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
                    _call_test(reading, function)
            elif isinstance(node, cst.ClassDef):
                cls = reading.scope.get(node.name.value)
                if isinstance(cls, Class):
                    _call_methods(reading, cls)
            else:
                host.modules.append(reading.kernel_module)
                try:
                    guarded = isinstance(node, cst.If) and is_guarded_main(node)
                    host.run(node.body.body if guarded else [node], reading.scope)  # type: ignore[attr-defined]
                finally:
                    host.modules.pop()
    except (Raised, Break, Continue, Return, OutOfBudget, RecursionError):
        pass
    finally:
        host.budget = kept + max(0, host.budget)


def _call_test(reading: Reading, function: Function, first: Sequence[Any] = ()) -> None:
    """Call ``function``, once for each of the first sets of values that its parametrization gives."""
    for case in _cases(reading, function):
        given = [
            case.get(name, value)
            for name, value in zip(_names(function)[len(first) :], reading._arguments(function, None, skip=len(first)))
        ]
        try:
            reading.host.invoke(function, [*first, *given], {})
        except (Raised, Break, Continue):
            continue


def _names(function: Function) -> list[str]:
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    return [p.name.value for p in (*node.params.posonly_params, *node.params.params)]


def _cases(reading: Reading, function: Function) -> list[dict[str, Any]]:
    """Values by parameter from ``pytest.mark.parametrize`` or ``triton.testing.perf_report``; one empty set where there is
    neither."""
    host = reading.host
    columns: list[tuple[list[str], list[Any]]] = []
    for decorator in getattr(function.node, "decorators", ()):
        host.modules.append(function.module)
        try:
            pairs = _columns(reading, decorator) if tried_by(decorator) else []
        finally:
            host.modules.pop()
        for names, values in pairs:
            listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
            taken = host.iterate(values)
            if isinstance(listed, (list, tuple)) and taken:
                columns.append(([str(name) for name in listed], taken))
    cases: list[dict[str, Any]] = []
    for index in range(min(_MOST_CASES, max((len(values) for _, values in columns), default=1))):
        case: dict[str, Any] = {}
        for names, values in columns:
            # The last sets are the larger ones, as people write them.
            value = values[-1 - index % len(values)]
            items = value if len(names) > 1 and isinstance(value, (tuple, list)) else (value,)
            case.update(zip(names, items))
        cases.append(case)
    return cases


def _columns(reading: Reading, decorator: cst.Decorator) -> list[tuple[Any, Any]]:
    """Names of parameters, and the values that ``decorator`` has them take."""
    host, call = reading.host, decorator.decorator
    assert isinstance(call, cst.Call)
    if tried_by(decorator) == "parametrize":
        given = [host.eval(argument.value, reading.scope) for argument in call.args if argument.keyword is None]
        return [(given[0], given[1])] if len(given) > 1 else []
    benchmark = call.args[0].value if call.args else None
    for each in benchmark.elements if isinstance(benchmark, (cst.List, cst.Tuple)) else ():
        benchmark = each.value  # one of several
    if not isinstance(benchmark, cst.Call):
        return []
    told = {a.keyword.value: host.eval(a.value, reading.scope) for a in benchmark.args if a.keyword is not None}
    names, values = told.get("x_names"), host.iterate(told.get("x_vals")) or []
    several = len(names) if isinstance(names, list) else 1
    rows = [value if isinstance(value, (tuple, list)) else (value,) * several for value in values]
    fixed = told.get("args")
    swept = rows if several > 1 else [row[0] for row in rows if row]
    constant = [(name, [value]) for name, value in fixed.items()] if isinstance(fixed, dict) else []
    return [(names, swept), (told.get("line_arg"), told.get("line_vals")), *constant]


def _call_methods(reading: Reading, cls: Class) -> None:
    """Make an object of ``cls`` and call the methods that say something."""
    host = reading.host
    instance: Any = Instance(cls)
    init = class_attribute(host, cls, "__init__", None)
    if isinstance(init, Function):
        host.invoke(init, [instance, *reading._arguments(init, None, skip=1)], {})
    for value in list(cls.scope.vars.values()):
        if isinstance(value, Function) and value.name != "__init__":
            _call_test(reading, value, (instance,))
