"""The project around a module: where it begins, which of its files may matter, where its names are defined, who launches its kernels.

Files that may matter are found by the words in them: those that name the function and its module.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import libcst as cst

from kernlint.errors import SourceError
from kernlint.files import read_regular
from kernlint.interpret.imports import imported_file, module_file
from kernlint.syntax.guard import check_depth
from kernlint.syntax.names import dotted_name
from kernlint.syntax.positions import python_tree
from kernlint.syntax.source import read_source
from kernlint.syntax.testing import is_guarded_main, is_test_file
from kernlint.syntax.tree import Module, parse_module
from kernlint.syntax.walk import parameters

#: Files that show where a project begins, and those that stay in a copy of one without its history.
_MARKERS = (".git", "setup.py", "setup.cfg", "kernlint.toml")
_KEPT = (".gitignore", "LICENSE", "README.md", "requirements.txt", "pyproject.toml")
#: What a ``pyproject.toml`` has that does more than set tools up for a folder.
_PROJECT = ("[project]", "[build-system]", "[tool.poetry]", "[tool.kernlint")
#: What is raised where a module cannot be imported, and what that is derived from.
_FAILURES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_SKIPPED = frozenset({"node_modules", "build", "dist", "site-packages", "venv", "env", "__pycache__"})
#: Folders above a file among which its project begins.
HIGHEST = 8
#: Files that are looked through, and bytes of one that is read.
MOST_FILES, LONGEST = 4000, 400_000


def project_root(path: str) -> Path | None:
    """The folder of the project that the file at ``path`` is part of; None where nothing shows that there is one.

    A package needs no marker, and of the folders with files that copies keep the highest is meant: folders inside have them too.
    """
    if not os.path.isfile(path):
        return None
    here, home = Path(os.path.realpath(path)).parent, Path(os.path.realpath(os.path.expanduser("~")))
    root = None
    for _ in range(HIGHEST):
        if any((here / marker).exists() for marker in _MARKERS) or _is_of_project(here / "pyproject.toml"):
            return here
        if here in (here.parent, home):
            break
        if (here / "__init__.py").is_file():
            root = here.parent
        elif any((here / name).exists() for name in _KEPT):
            root = here
        here = here.parent
    return root


def _is_of_project(file: Path) -> bool:
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:
        return False
    return any(table in text for table in _PROJECT)


def is_alone(module: Module) -> bool:
    """Whether nothing shows a project that ``module`` is part of."""
    return module.once(_is_alone)


def _is_alone(module: Module) -> bool:
    return project_root(module.path) is None


def files_below(root: Path, suffixes: tuple[str, ...] = (".py",)) -> Iterator[Path]:
    """The Python files below ``root``, or those of other ``suffixes``, tests and benchmarks first, as many as are worth a look."""
    found: list[tuple[int, str]] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        found += [
            (interest(folder, name), os.path.join(folder, name)) for name in sorted(names) if name.endswith(suffixes)
        ]
        if len(found) > MOST_FILES:
            break
    return (Path(path) for _, path in sorted(found))


def interest(folder: str, name: str) -> int:
    """The place of a file among those of a project that may call a function: benchmarks, tests, the others."""
    words = f"{folder}/{name}".lower()
    return 0 if "bench" in words else 1 if "test" in words else 2


def mentioning(sought: Mapping[str, Iterable[str]]) -> Iterator[Path]:
    """The files of one project, but for those of ``sought``, that have the name of a module of that, or of its package, and one of the
    words that are sought of it."""
    root = project_root(next(iter(sought)))
    if root is None:
        return
    wanted = []
    for path, words in sought.items():
        own = Path(os.path.realpath(path))
        module = (own.parent.name if own.name == "__init__.py" else own.stem).encode()
        wanted.append((own, (module, own.parent.name.encode()), [word.encode() for word in words]))
    # `dequantize` in hundreds of files says nothing of `dequant`.
    whole = {word: re.compile(rb"\b%s\b" % re.escape(word)) for _, *both in wanted for some in both for word in some}
    for file in files_below(root):
        try:
            if any(file == own for own, _, _ in wanted) or file.is_symlink():
                continue
            data = read_regular(str(file), LONGEST + 1)
        except (OSError, ValueError):
            continue
        if len(data) > LONGEST:
            continue
        found = {word for word, pattern in whole.items() if word in data and pattern.search(data)}
        if any(not found.isdisjoint(words) and not found.isdisjoint(places) for _, places, words in wanted):
            yield file


def answers(module: Module) -> dict[tuple[str, ...], bool]:
    """What the other files of the project have told of ``module`` so far: it holds until one of them is written."""
    return {}


def asked_once(ask: Callable[..., bool]) -> Callable[..., bool]:
    """``ask``, a question about a module or a function of it, whose answers are kept."""

    def answer(module: Module, *function: str) -> bool:
        if is_alone(module):
            return ask(module, *function)
        known, asked = module.once(answers), (ask.__name__, *function)
        if asked not in known:
            known[asked] = ask(module, *function)
        return known[asked]

    return answer


@asked_once
def is_left(module: Module, function: str) -> bool:
    """Whether nothing of the project that ``module`` is part of mentions its ``function``; of a file alone that launches kernels itself,
    whether the file does not."""
    if _is_mentioned(module, function):
        return False
    if is_alone(module):
        return any(isinstance(call.func, cst.Subscript) for call in module.of(cst.Call))
    own = re.compile(rf"^\s*def {function}\b", re.MULTILINE)  # a file that has one of that name means its own
    return all(own.search(file.read_text("utf-8", "replace")) for file in mentioning({module.path: [function]}))


def _is_mentioned(module: Module, function: str) -> bool:
    """Whether ``module`` names its ``function`` where it does not define it."""
    defined = sum(node.name.value == function for node in module.of(cst.FunctionDef))
    return module.once(_named)[function] + module.text.count(f'"{function}"') > defined


def _named(module: Module) -> Counter[str]:
    """How often each name stands in ``module``."""
    return Counter(node.value for node in module.of(cst.Name))


def is_uncalled(module: Module, function: str) -> bool:
    """Whether ``function`` of ``module`` takes no argument that it needs, so that it could be run as it is, and nothing in view does."""
    found = [node for node in module.tree.body if isinstance(node, cst.FunctionDef) and node.name.value == function]
    ready = [node for node in found if not node.decorators and all(p.default is not None for p in parameters(node))]
    tried = function.startswith("test") or _is_mentioned(module, function)
    return bool(ready) and not tried and is_left(module, function)


@asked_once
def is_tried_alone(module: Module, function: str) -> bool:
    """Whether notebooks of the project mention ``function`` of ``module``, and nothing else does."""
    word = re.compile(rb"\b%s\b" % function.encode())
    asked = not is_alone(module) and is_left(module, function)
    for file in files_below(project_root(module.path) or Path(), (".ipynb",)) if asked else ():
        with suppress(OSError, ValueError):
            if word.search(read_regular(str(file), 8 * LONGEST)):
                return True
    return False


@asked_once
def is_helper(module: Module, function: str) -> bool:
    """Whether other files of the project that ``module`` is part of call its ``function`` as a part of their own and launch it nowhere."""
    call, launch = (re.compile(rf"(?<!def )\b{function}\s*{bracket}") for bracket in (r"\(", r"\["))
    others = [file.read_text("utf-8", "replace") for file in mentioning({module.path: [function]})]
    return any(map(call.search, others)) and not any(map(launch.search, (module.text, *others)))


@asked_once
def is_imported(module: Module) -> bool:
    """Whether a file of the project that ``module`` is part of imports it."""
    return any(True for _ in _importers(module.path))


def is_unused(module: Module) -> bool:
    """Whether ``module`` is part of a project in which no other file imports or names it, and runs nothing itself, as scripts, tests and
    notebooks do: a copy that is kept as it was, perhaps."""
    asks = module.path.endswith(".ipynb") or is_test_file(module.path) or runs_itself(module)
    return not (is_alone(module) or asks or is_imported(module) or is_named(module))


def runs_itself(module: Module) -> bool:
    """Whether ``module`` calls something for its effect, as scripts do."""
    return any(map(_runs, module.tree.body))


#: Files of a project that are no Python and may name modules: pages, scripts, settings.
NAMING = (".md", ".rst", ".txt", ".sh", ".toml", ".cfg", ".yml", ".yaml")


@asked_once
def is_named(module: Module) -> bool:
    """Whether files of the project that ``module`` is part of name it: pages and scripts its file or its place in a package, modules in a
    string, as those do that import it when it is asked for."""
    name, root = re.escape(Path(module.path).stem), project_root(module.path) or Path()
    sought = {(".py",): rf"""["'][\w.]*\b{name}["']""", NAMING: rf"\b{name}\.py\b|\w\.{name}\b"}
    for suffixes, text in sought.items():
        pattern = re.compile(text.encode())
        for file in files_below(root, suffixes):
            with suppress(OSError, ValueError):
                if pattern.search(read_regular(str(file), LONGEST)):
                    return True
    return False


def _runs(statement: cst.CSTNode) -> bool:
    """Whether a statement of a module calls something for its effect."""
    parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
    called = any(isinstance(part, cst.Expr) and isinstance(part.value, cst.Call) for part in parts)
    return called or isinstance(statement, (cst.For, cst.While, cst.With)) or is_guarded_main(statement)


@asked_once
def is_optional(module: Module) -> bool:
    """Whether some file of the project imports ``module``, and each that does catches what that raises."""
    caught = list(_importers(module.path))
    return bool(caught) and all(caught)


def _importers(path: str) -> Iterator[bool]:
    """For each import of the module at ``path`` by a file of its project, whether it stands in a ``try`` that catches its failure."""
    own = os.path.realpath(path)
    called = Path(own).stem
    lasts = {Path(own).parent.name, ""} if called == "__init__" else {called}  # what an import of it ends in
    for file in map(str, mentioning({path: ["import"]})):
        for statement in statements_of(file):
            named = [(part, *one) for part in ast.walk(statement) for one in _modules_named(part)]
            ending = [one for one in named if one[1].rpartition(".")[2] in lasts]
            found = [(part, module_of(file, package, level)) for part, package, level in ending]
            parts = [part for part, module in found if module is not None and os.path.realpath(module) == own]
            tries = [one for one in ast.walk(statement) if isinstance(one, ast.Try)] if parts else ()
            caught = [inner for one in tries if any(map(_catches, one.handlers)) for inner in one.body]
            guarded = {id(part) for inner in caught for part in ast.walk(inner)}
            yield from (id(part) in guarded for part in parts)


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether ``handler`` is for imports that fail, and goes on."""
    if any(isinstance(statement, ast.Raise) for statement in handler.body):
        return False
    named = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else _FAILURES
    return bool(named & _FAILURES)


def _modules_named(node: ast.AST) -> Iterator[tuple[str, int]]:
    """What may be modules in an import: their dotted name, and the level that it is relative to."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, 0) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = node.module or ""
        yield package, node.level
        yield from ((f"{package}.{alias.name}".lstrip("."), node.level) for alias in node.names)


#: Folders of a project that packages stand in.
_ROOTS = ("", "src", "python", "lib")
_DEEPEST = 5


def module_of(importer: str, package: str, level: int) -> Path | None:
    """The file of a module as ``importer``, somewhere in its project, imports it."""
    found = imported_file(importer, package, level)
    if found is not None or level:
        return found
    root = project_root(importer)
    parts = [part for part in package.split(".") if part]
    bases = _ROOTS if root is not None and parts else ()
    return next(filter(None, (module_file(os.path.join(str(root), base), parts) for base in bases)), None)


def origin(path: str, name: str, depth: int = 0) -> tuple[str, str]:
    """Where ``name`` of the module at ``path`` is defined, through re-exports, and what it is called there."""
    exported, starred = _exports(path)
    if name in exported and depth < _DEEPEST:
        package, level, theirs = exported[name]
        found = module_of(path, package, level)
        if found is not None:
            return origin(str(found), theirs, depth + 1)
    for package, level in starred if depth < _DEEPEST else ():
        found = module_of(path, package, level)
        if found is not None and (name in defined(str(found)) or name in _exports(str(found))[0]):
            return origin(str(found), name, depth + 1)
    return path, name


@lru_cache(maxsize=256)
def _exports(path: str) -> tuple[dict[str, tuple[str, int, str]], list[tuple[str, int]]]:
    """What a module imports from others: by name the package, the level and the name there; and what it imports all of."""
    named: dict[str, tuple[str, int, str]] = {}
    starred: list[tuple[str, int]] = []
    for node in statements_of(path):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    starred.append((node.module or "", node.level))
                else:
                    named[alias.asname or alias.name] = (node.module or "", node.level, alias.name)
    return named, starred


@lru_cache(maxsize=256)
def defined(path: str) -> frozenset[str]:
    """The names that a module defines itself."""
    nodes = statements_of(path)
    named = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    named |= {t.id for n in nodes if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    return frozenset(named)


def statements_of(path: str) -> list[ast.stmt]:
    """The statements of a module; none where it is none."""
    try:
        text = read_source(path).text
        check_depth(text, path)
        tree = python_tree(text)
    except (SourceError, RecursionError):
        return []
    return [] if tree is None else list(tree.body)


# -- who launches ------------------------------------------------------------------------------------------------------


def launchers(path: str, kernels: Sequence[str]) -> Iterator[Module]:
    """The modules of the project that import one of the ``kernels`` of the module at ``path`` and may launch it."""
    own = os.path.realpath(path)
    for file in mentioning({path: kernels}):
        try:
            module = parse_module(read_source(str(file)).text, str(file))
        except (SourceError, RecursionError):
            continue
        # A tuner around a kernel, or one of several that a variable holds, has another name where it is launched.
        if not any(isinstance(call.func, cst.Subscript) for call in module.of(cst.Call)):
            continue
        for node in module.of(cst.ImportFrom):
            package = (dotted_name(node.module) or "") if node.module else ""
            found = module_of(str(file), package, len(node.relative))
            aliases = () if isinstance(node.names, cst.ImportStar) else node.names
            names = [dotted_name(alias.name) or "" for alias in aliases]
            if found is not None and any(os.path.realpath(origin(str(found), name)[0]) == own for name in names):
                yield module
                break
