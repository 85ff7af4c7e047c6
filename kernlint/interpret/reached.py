"""What of a cloned repository something gets to: what it runs, exports or tells of, and all that this calls. The rest is left from earlier.

Functions are followed by their names, so that what may be called counts as called; only a whole clone says that nothing else does.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from kernlint.files import read_regular
from kernlint.interpret.imports import file_state
from kernlint.interpret.project import (
    HIGHEST,
    LONGEST,
    MOST_FILES,
    NAMING,
    asked_once,
    files_below,
    is_imported,
    is_named,
    origin,
    runs_itself,
    statements_of,
)
from kernlint.syntax.testing import is_test_file
from kernlint.syntax.tree import Module

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
#: Decorators that leave a function to be called by its name: of these packages, but for registers.
_PLAIN = re.compile(r"(?:triton|torch(?!\.library)|functools)\.")


def is_abandoned(module: Module, function: str) -> bool:
    """Whether nothing in the clone that ``module`` is in gets to its ``function``, or class of that name, though the clone would: the
    file is imported, or runs something itself, or nothing names it where others of its kind are imported."""
    if not module.path.endswith(".py") or is_test_file(module.path) or _clone(module.path) is None:
        return False  # no other file was asked, so that what a check finds may be remembered
    return _is_left_in_clone(module, function)


@asked_once
def _is_left_in_clone(module: Module, function: str) -> bool:
    root = _clone(module.path) or Path()
    files = tuple(filter(None, map(file_state, files_below(root, (".py", *NAMING, ".ipynb")))))
    if len(files) > MOST_FILES or _is_reached(os.path.realpath(module.path), function, files):
        return False
    return runs_itself(module) or is_imported(module) or (_is_among_imported(module, root) and not is_named(module))


def _is_among_imported(module: Module, root: Path) -> bool:
    """Whether ``module`` is one of a package, or files of ``root`` import other modules with kernels from its folder."""
    folder = Path(os.path.realpath(module.path)).parent
    if (folder / "__init__.py").is_file():
        return True
    beside = {file.stem for file in folder.glob("*.py") if b"triton" in read_regular(str(file), LONGEST)}
    names = "|".join(map(re.escape, sorted(beside - {Path(module.path).stem})))
    imports = re.compile(rf"^[ \t]*(?:from|import)\b.*\b(?:{names})\b".encode(), re.M)
    return bool(names) and any(imports.search(read_regular(str(file), LONGEST)) for file in files_below(root))


def _clone(path: str) -> Path | None:
    """The folder of the repository that the file at ``path`` was cloned with; what a home holds beside others is none."""
    folders = Path(os.path.realpath(path)).parents[:HIGHEST] if os.path.isfile(path) else ()
    return next((folder for folder in folders if (folder / ".git").exists() and folder != Path.home()), None)


@lru_cache(maxsize=256)
def _is_reached(path: str, name: str, files: tuple[tuple[str, int, int], ...]) -> bool:
    """Whether something in ``files``, as they were at these times, gets to ``name`` of the module at ``path``, through however many
    functions: an editor asks at each edit."""
    seen, asked = {(path, name)}, {(path, name)}
    while asked:
        if any(_is_starred(*one) for one in asked):
            return True
        callers: set[tuple[str, str]] = set()
        for mention in _mentions(asked, [file for file, _, _ in files]):
            if mention is None:
                return True
            callers.add(mention)
        asked = callers - seen
        seen |= asked
    return False


def _is_starred(path: str, name: str) -> bool:
    """Whether a package around the module at ``path`` exports its ``name`` with all that it has."""
    packages = [folder / "__init__.py" for folder in Path(path).parents[:HIGHEST]]
    return any(origin(str(one), name) == (path, name) for one in packages if one.is_file() and str(one) != path)


def _mentions(asked: set[tuple[str, str]], files: Sequence[str]) -> Iterator[tuple[str, str] | None]:
    """The functions and classes that mention one of those ``asked`` about, by the paths of their files; None for what is run, exported
    or told of."""
    words = re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(name.encode()) for _, name in sorted(asked)))
    for file in files:
        with suppress(OSError, ValueError):
            found = {word.decode() for word in words.findall(read_regular(file, 8 * LONGEST))}
            if found and not file.endswith(".py"):
                yield None
            elif found:
                yield from _in_module(os.path.realpath(file), found, asked)


def _in_module(path: str, names: set[str], asked: set[tuple[str, str]]) -> Iterator[tuple[str, str] | None]:
    parts = [*_parts(statements_of(path))]
    own = {part.name for part in parts if isinstance(part, _Definition)}
    meant = {name for name in names if not {(path, name), origin(path, name)}.isdisjoint(asked)}
    meant |= {name for name in names - own if origin(path, name) == (path, name)}  # a part of what it imports, perhaps
    if meant and not parts:
        yield None  # not Python of this release
    for part in parts:
        if not isinstance(part, _Definition):
            if _exports(part, meant, path) if isinstance(part, ast.ImportFrom) else _names(part, meant):
                yield None
        elif any(_names(one, meant) for one in part.decorator_list):
            yield None
        elif _names(part, meant):
            yield None if _is_called_by_others(part, path) else (path, part.name)
        elif part.name in meant and _is_called_by_others(part, path):
            yield None


def _parts(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt | ast.expr]:
    """The definitions in a module, those under conditions too, and all that it runs itself."""
    for one in statements:
        if isinstance(one, (ast.If, ast.Try, ast.With)):
            yield from (node for node in ast.iter_child_nodes(one) if isinstance(node, ast.expr))
            handlers = [handler.body for handler in getattr(one, "handlers", ())]
            for body in (one.body, *handlers, getattr(one, "orelse", []), getattr(one, "finalbody", [])):
                yield from _parts(body)
        else:
            yield one


def _names(part: ast.AST, names: set[str]) -> bool:
    """Whether ``part`` reads one of ``names``, or has it as a string."""
    for node in ast.walk(part):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)) if name in names:
                return True
    return False


def _exports(part: ast.ImportFrom, names: set[str], path: str) -> bool:
    """Whether an import makes one of ``names`` one of a package, or gives it another name."""
    package = os.path.basename(path) == "__init__.py"
    return any(alias.name in names and (package or alias.asname not in (None, alias.name)) for alias in part.names)


def _is_called_by_others(part: _Definition, path: str) -> bool:
    """Whether something outside of the clone may call ``part``: what collects tests, or what a decorator hands it to."""
    plain = all(_PLAIN.match(ast.unparse(one)) for one in part.decorator_list)
    return not plain or (is_test_file(path) and part.name.lower().startswith("test"))
