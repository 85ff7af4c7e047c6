"""What the project around a module tells of it: who calls its functions, with what; who launches its kernels.

Only files that may matter are read, found by the words in them: those that name the function and its module. They are followed
like any program, not run: fixtures, helpers and constants of a test count as far as they can be followed.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import libcst as cst

from kernlint.errors import SourceError
from kernlint.files import read_regular
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.host.objects import class_attribute
from kernlint.interpret.imports import imported_file, module_file
from kernlint.interpret.program import Program
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.question import Question
from kernlint.interpret.reading.entries import Reading
from kernlint.interpret.reading.modules import is_guarded_main
from kernlint.interpret.values import Class, Function, Instance, Jit, Namespace, Presumed, Scope, Unknown
from kernlint.records import dataclass
from kernlint.syntax.guard import check_depth
from kernlint.syntax.names import dotted_name
from kernlint.syntax.positions import python_tree
from kernlint.syntax.source import read_source
from kernlint.syntax.tree import Module, parse_module
from kernlint.workload import Tensor, concrete

#: Files that show where a project begins.
_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "kernlint.toml")
_SKIPPED = frozenset({"node_modules", "build", "dist", "site-packages", "venv", "env", "__pycache__"})
#: Folders above a file among which its project begins.
_HIGHEST = 8
#: Files that are looked through, bytes of one that is read, callers that are followed, and calls that are kept of each function.
_MOST_FILES, _LONGEST, _MOST_CALLERS, _MOST_CALLS = 4000, 400_000, 12, 12
#: Nodes that one function of a caller, and one file, may take.
_BUDGET, _FILE_BUDGET = 30_000, 120_000
#: Sets of arguments of a parametrized test that are tried.
_MOST_CASES = 4


@dataclass(frozen=True)
class CallSite:
    """A call of a function in another file: what each parameter gets, as far as it can be followed."""

    function: str
    path: str
    line: int
    arguments: Mapping[str, Any]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def project_root(path: str) -> Path | None:
    """The folder of the project that the file at ``path`` is part of; None where nothing shows that there is one."""
    if not os.path.isfile(path):
        return None
    here = Path(os.path.realpath(path)).parent
    package = here
    for _ in range(_HIGHEST):
        if any((here / marker).exists() for marker in _MARKERS):
            return here
        if (here / "__init__.py").is_file():
            package = here.parent
        if here.parent == here:
            break
        here = here.parent
    return package if package != Path(os.path.realpath(path)).parent else None


def python_files(root: Path) -> Iterator[Path]:
    """The Python files below ``root``, tests and benchmarks first, as many as are worth a look."""
    found: list[tuple[int, str]] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        found += [
            (_interest(folder, name), os.path.join(folder, name)) for name in sorted(names) if name.endswith(".py")
        ]
        if len(found) > _MOST_FILES:
            break
    return (Path(path) for _, path in sorted(found))


def _interest(folder: str, name: str) -> int:
    words = f"{folder}/{name}".lower()
    return 0 if "bench" in words else 1 if "test" in words else 2


def mentioning(path: str, words: Iterable[str]) -> Iterator[Path]:
    """The files of the project around ``path``, itself left out, that have one of ``words`` and the name of its module or package."""
    root = project_root(path)
    if root is None:
        return
    own = Path(os.path.realpath(path))
    module = (own.parent.name if own.name == "__init__.py" else own.stem).encode()
    package = own.parent.name.encode()
    wanted = [word.encode() for word in words]
    for file in python_files(root):
        try:
            if file == own or file.is_symlink():
                continue
            data = read_regular(str(file), _LONGEST + 1)
        except (OSError, ValueError):
            continue
        if len(data) > _LONGEST:
            continue
        if any(word in data for word in wanted) and (module in data or package in data):
            yield file


# -- who calls ---------------------------------------------------------------------------------------------------------


def call_sites(path: str, functions: Sequence[str], ways: Iterable[str], host: Any) -> list[CallSite]:
    """The calls, elsewhere in the project, of the ``functions`` of the module at ``path`` (names, or ``Class.forward``, which
    ``Class.apply`` of an autograd function and calls of a layer get to), directly or by the names ``ways`` of that module."""
    names = {name.partition(".")[0] for name in functions} | set(ways)
    found: list[CallSite] = []
    callers = 0
    for file in mentioning(path, names):
        callers += 1
        if callers > _MOST_CALLERS:
            break
        try:
            module = parse_module(read_source(str(file)).text, str(file))
        except (SourceError, RecursionError):
            continue
        found += _calls_in(module, os.path.realpath(path), frozenset(functions), frozenset(names), host)
    kept: dict[str, list[CallSite]] = {}
    for site in found:
        same = kept.setdefault(site.function, [])
        if len(same) < _MOST_CALLS and all(site.arguments != other.arguments for other in same):
            same.append(site)
    return [site for sites in kept.values() for site in sites]


class _Watching(HostEvaluator):
    """A host evaluator that notes the calls of functions of one file."""

    about = ""
    wanted: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    sites: list[CallSite]

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        if isinstance(function, Namespace) and function.path.rpartition(".")[2] in self.called:
            package, _, name = function.path.rpartition(".")
            find = self.finder(self.module, package, 0) if self.finder is not None and package else None
            with suppress(KeyError):
                function = find(name) if find is not None else function
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

    #: The last call outside that file.
    line = 0
    caller = ""

    def eval_Call(self, node: cst.Call, scope: Scope) -> Any:
        if os.path.realpath(self.module.path) != self.about:
            self.line, self.caller = self.span(node).line, self.module.path
        return super().eval_Call(node, scope)

    def _concerns(self, function: Function) -> bool:
        """Whether ``function`` is one of those that are asked about, called from another file."""
        wanted = function.symbol in self.wanted and "." not in function.symbol
        return wanted and self._is_target(function) and os.path.realpath(self.module.path) != self.about

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
            self.sites.append(CallSite(function.symbol, _shown(self.caller), line, plain))


@dataclass(frozen=True)
class Nothing:
    """``None`` as an argument."""


def _plain(host: HostEvaluator, value: Any) -> Any:
    """What is known of an argument: its type and shape, or its value; None where nothing is."""
    if value is None:
        return Nothing()
    if isinstance(value, Tensor):
        value = host.current(value)
        shape = tuple(concrete(extent) for extent in value.shape) if value.shape is not None else None
        return (value.dtype, shape) if value.dtype is not None or shape is not None else None
    if isinstance(value, Presumed):
        return None
    return value if isinstance(value, (bool, int, float, str)) and not isinstance(value, Unknown) else None


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
        path = _module_of(importer.path, package, level)
        if path is None:
            return None
        program, start = self.program, path  # and not this reading, which may be over when the name is looked up

        def look_up(name: str) -> Any:
            where, bound = _origin(str(start), name)
            return program._reading.imported(Path(where), bound)

        return look_up


#: Folders of a project that packages stand in.
_ROOTS = ("", "src", "python", "lib")
_DEEPEST = 5


def _module_of(importer: str, package: str, level: int) -> Path | None:
    """The file of a module as ``importer``, somewhere in its project, imports it."""
    found = imported_file(importer, package, level)
    if found is not None or level:
        return found
    root = project_root(importer)
    parts = [part for part in package.split(".") if part]
    for base in _ROOTS if root is not None and parts else ():
        found = module_file(os.path.join(str(root), base), parts)
        if found is not None:
            return found
    return None


def _origin(path: str, name: str, depth: int = 0) -> tuple[str, str]:
    """Where ``name`` of the module at ``path`` is defined, through re-exports, and what it is called there."""
    exported, starred = _exports(path)
    if name in exported and depth < _DEEPEST:
        package, level, theirs = exported[name]
        found = _module_of(path, package, level)
        if found is not None:
            return _origin(str(found), theirs, depth + 1)
    for package, level in starred if depth < _DEEPEST else ():
        found = _module_of(path, package, level)
        if found is not None and name in _defined(str(found)):
            return _origin(str(found), name, depth + 1)
    return path, name


@lru_cache(maxsize=256)
def _exports(path: str) -> tuple[dict[str, tuple[str, int, str]], list[tuple[str, int]]]:
    """What a module imports from others: by name the package, the level and the name there; and what it imports all of."""
    named: dict[str, tuple[str, int, str]] = {}
    starred: list[tuple[str, int]] = []
    for node in _statements_of(path):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    starred.append((node.module or "", node.level))
                else:
                    named[alias.asname or alias.name] = (node.module or "", node.level, alias.name)
    return named, starred


@lru_cache(maxsize=256)
def _defined(path: str) -> frozenset[str]:
    """The names that a module defines or imports."""
    nodes = _statements_of(path)
    named = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    named |= {t.id for n in nodes if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    return frozenset(named | _exports(path)[0].keys())


def _statements_of(path: str) -> list[ast.stmt]:
    try:
        text = read_source(path).text
        check_depth(text, path)
        tree = python_tree(text)
    except (SourceError, RecursionError):
        return []
    return [] if tree is None else list(tree.body)


def _calls_in(
    module: Module, target: str, functions: frozenset[str], names: frozenset[str], host: Any
) -> list[CallSite]:
    """The calls of ``functions`` of the file ``target`` that ``module`` makes."""
    sites: list[CallSite] = []
    aliases = _aliases(module, names)
    if not aliases:
        return []
    program = Program(module, None, Question(host=host))
    try:
        reading = _CallerReading(program, NO_EDITS, {})
        watching = reading.host
        assert isinstance(watching, _Watching)
        watching.about, watching.wanted, watching.sites = target, functions, sites
        watching.called = names
        watching.budget = min(watching.budget, _FILE_BUDGET)
        for statement in module.tree.body:
            for node in _uses(statement, aliases, module):
                _try(reading, node)
    finally:
        program.close()
    return sites


def _aliases(module: Module, names: frozenset[str]) -> frozenset[str]:
    """What ``module`` may call functions of those ``names``."""
    found = {name for name, path in module.imports.items() if path.split(".")[-1] in names}
    used = {node.attr.value for node in module.of(cst.Attribute)}
    return frozenset(found | (names & used))


def _uses(statement: cst.CSTNode, aliases: frozenset[str], module: Module) -> Iterator[cst.CSTNode]:
    """Functions, classes and blocks behind ``if __name__ == "__main__"`` in which one of ``aliases`` is called."""
    nodes = (*module.within(statement, cst.Name), *(a.attr for a in module.within(statement, cst.Attribute)))
    calls = any(node.value in aliases for node in nodes)
    if calls and (isinstance(statement, (cst.FunctionDef, cst.ClassDef)) or is_guarded_main(statement)):
        yield statement


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
            elif isinstance(node, cst.If):
                host.modules.append(reading.kernel_module)
                try:
                    host.run(node.body.body, reading.scope)
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
    """Values by parameter from ``pytest.mark.parametrize``; one empty set where there is none."""
    host = reading.host
    columns: list[tuple[list[str], list[Any]]] = []
    for decorator in getattr(function.node, "decorators", ()):
        call = decorator.decorator
        if not isinstance(call, cst.Call) or (dotted_name(call.func) or "").split(".")[-1] != "parametrize":
            continue
        positional = [argument.value for argument in call.args if argument.keyword is None][:2]
        if len(positional) < 2:
            continue
        host.modules.append(function.module)
        try:
            names, values = (
                host.eval(positional[0], reading.scope),
                host.iterate(host.eval(positional[1], reading.scope)),
            )
        finally:
            host.modules.pop()
        listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        if isinstance(listed, (list, tuple)) and values:
            columns.append(([str(name) for name in listed], list(values)))
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


# -- who launches ------------------------------------------------------------------------------------------------------


def launchers(path: str, kernels: Sequence[str]) -> Iterator[Module]:
    """The modules of the project that import one of the ``kernels`` of the module at ``path`` and may launch it."""
    own = os.path.realpath(path)
    for file in mentioning(path, kernels):
        try:
            module = parse_module(read_source(str(file)).text, str(file))
        except (SourceError, RecursionError):
            continue
        subscripted = {
            (dotted_name(node.value) or "").split(".")[-1] for node in module.of(cst.Subscript)
        }  # `kernel[grid]`
        if not subscripted & set(kernels):
            continue
        for node in module.of(cst.ImportFrom):
            package = (dotted_name(node.module) or "") if node.module else ""
            found = _module_of(str(file), package, len(node.relative))
            names = (
                []
                if isinstance(node.names, cst.ImportStar)
                else [dotted_name(alias.name) or "" for alias in node.names]
            )
            if found is not None and any(os.path.realpath(_origin(str(found), name)[0]) == own for name in names):
                yield module
                break
