"""Finds the file that an import names, next to the file that imports it: kernels call helpers from other modules.

Of such a file little is needed, often one function of thousands of lines. So it is cut into its statements, and those
are parsed when a name that they bind is looked up.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import libcst as cst

from kernlint.errors import SourceError
from kernlint.records import dataclass
from kernlint.syntax.guard import check_depth
from kernlint.syntax.names import dotted_name
from kernlint.syntax.positions import python_tree
from kernlint.syntax.source import read_source, split_lines
from kernlint.syntax.tree import Module, parse_module

#: More modules than this are not followed from one file.
MAX_MODULES = 24

#: Files kept in memory, for the next file that imports from them.
_KEPT_FILES = 64


@dataclass(frozen=True)
class Part:
    """Consecutive lines of a module: one statement that binds ``names`` and can wait until one of them is wanted, or
    (no names) statements to be run in their turn."""

    names: frozenset[str]
    first_line: int
    text: str


class ImportedFile:
    """A module's text, in ``parts``."""

    def __init__(self, path: str, text: str) -> None:
        """Raises ``SourceError`` where it cannot be parsed."""
        self.path = path
        check_depth(text, path)
        tree = python_tree(text)
        if tree is None:  # newer than the running Python, perhaps; LibCST may know better
            self.parts: tuple[Part, ...] = (Part(frozenset(), 1, text),)
        else:
            self.parts = tuple(_parts(tree, split_lines(text)))
        self._modules: dict[Part, Module | None] = {}

    def module(self, part: Part) -> Module | None:
        """The tree of one part, with the lines of the file; None where it cannot be parsed by itself."""
        if part not in self._modules:
            try:
                self._modules[part] = parse_module(part.text, self.path, part.first_line)
            except SourceError:
                self._modules[part] = None
        return self._modules[part]


def imported_file(importer: str, package: str, level: int) -> Path | None:
    """The file of module ``package`` as ``importer`` (a path) would import it, ``level`` dots relative; None where it is
    not part of the same source tree."""
    if not os.path.isfile(importer):
        return None
    parts = [part for part in package.split(".") if part]
    here = os.path.dirname(os.path.realpath(importer))
    if level:
        for _ in range(level - 1):
            here = os.path.dirname(here)
        return module_file(here, parts)
    # An absolute import: from the folder above the outermost package around the importer, or beside a plain script.
    while os.path.isfile(os.path.join(here, "__init__.py")) and os.path.dirname(here) != here:
        here = os.path.dirname(here)
    return module_file(here, parts) if parts else None


def load_file(path: Path) -> ImportedFile | None:
    """The module at ``path``; None where it cannot be read."""
    state = file_state(path)
    return None if state is None else _load_file(*state)


def file_state(path: Path) -> tuple[str, int, int] | None:
    """Path, time and size of the file at ``path``: another state is another file. None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return str(path), status.st_mtime_ns, status.st_size


@lru_cache(maxsize=_KEPT_FILES)
def _load_file(path: str, mtime_ns: int, size: int) -> ImportedFile | None:
    """As :func:`load_file`; time and size are there to tell apart what is not the same file any more."""
    try:
        source = read_source(path)
        return ImportedFile(source.path, source.text)
    except SourceError:
        return None


def module_file(base: str, parts: list[str]) -> Path | None:
    """The file of the module or package ``parts`` below ``base``."""
    target = os.path.join(base, *parts)
    for candidate in (f"{target}.py" if parts else "", os.path.join(target, "__init__.py")):
        if candidate and os.path.isfile(candidate):
            return Path(candidate)
    return None


def _parts(tree: ast.Module, lines: list[str]) -> Iterator[Part]:
    """The statements of a module as parts; neighbours that cannot wait, or that share a line, are one."""
    waiting = [_definition(statement) for statement in tree.body]
    # What a name stands for that several statements bind depends on their order.
    times = Counter(
        name for statement, names in zip(tree.body, waiting) for name in (names or _bound_inside(statement))
    )
    groups: list[tuple[int, int, frozenset[str]]] = []
    for statement, names in zip(tree.body, waiting):
        start = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        end = statement.end_lineno or start
        if any(times[name] > 1 for name in names):
            names = frozenset()
        if groups and (start <= groups[-1][1] or not (names or groups[-1][2])):
            groups[-1] = (groups[-1][0], end, frozenset())
        else:
            groups.append((start, end, names))
    for start, end, names in groups:
        yield Part(names, start, "\n".join(lines[start - 1 : end]) + "\n")


def _definition(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement binds and does nothing else; none where it may do more."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return frozenset({statement.name})
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return frozenset(names) if len(names) == len(targets) else frozenset()


def _bound_inside(statement: ast.stmt) -> set[str]:
    """The names that a statement may bind."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found


def imported_at_top(module: Module) -> Iterator[tuple[cst.CSTNode, cst.CSTNode, str]]:
    """The dotted path of each module or name that importing ``module`` imports, whatever the circumstances, behind the import and the
    part of it that asks for that."""
    for statement in module.tree.body:
        for part in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(part, cst.Import):
                for alias in part.names:
                    yield part, alias, dotted_name(alias.name) or ""
            elif isinstance(part, cst.ImportFrom) and not part.relative and part.module is not None:
                package = dotted_name(part.module) or ""
                yield part, part, package
                if not isinstance(part.names, cst.ImportStar):
                    for alias in part.names:
                        yield part, alias, f"{package}.{alias.evaluated_name}"
