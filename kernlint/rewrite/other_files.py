"""Who reads a name of a module from another file of its project: by import, as an attribute, by a text, or looking through all of it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from kernlint.errors import SourceError
from kernlint.files import read_regular
from kernlint.interpret.project import LONGEST, files_below, project_root
from kernlint.rewrite.reflection import BY_TEXT, DYNAMIC_IMPORT, LOOKS_THROUGH
from kernlint.syntax.guard import check_depth
from kernlint.syntax.positions import python_tree
from kernlint.syntax.source import read_source
from kernlint.syntax.tree import Module

#: Notebooks and Markdown are searched as texts, as are files that are too long to be parsed here; none of more bytes than kernlint reads.
_MOST = 8_000_000
_SUFFIXES = (".py", ".ipynb", ".md")
_DEEPEST = 3


def reader(module: Module, name: str, rebound: bool = False) -> Path | None:
    """A file of the project, or beside ``module`` where there is none, that may read ``name`` of it; or, of a function, may put another
    one in its place (``rebound``), which sees what it is called with."""
    known = module.once(answers)
    if (name, rebound) not in known:
        known[name, rebound] = _reader(module.path, name, rebound)
    return known[name, rebound]


def answers(module: Module) -> dict[tuple[str, bool], Path | None]:
    """What :func:`reader` has said of ``module``: it holds until another file is written."""
    return {}


def _reader(path: str, name: str, rebound: bool, depth: int = 0) -> Path | None:
    own = Path(os.path.realpath(path))
    if own.suffix != ".py" or not own.is_file():
        return None
    for file, text in _candidates(own, name):
        tree = _parsed(file) if file.suffix == ".py" and len(text) <= LONGEST else None
        if tree is None:
            found = _in_text(text, name)
        else:
            reading = _Reading(tree, name, own, rebound)
            found = reading.any()
            if not found and reading.hands_all_on and depth < _DEEPEST:
                found = _reader(str(file), name, rebound, depth + 1) is not None
        if found:
            return file
    return None


def _candidates(own: Path, name: str) -> Iterator[tuple[Path, str]]:
    """The files that have ``name`` in them and may have the module, or that import it and take names from texts."""
    root = project_root(str(own))
    files = (
        files_below(root, _SUFFIXES)
        if root is not None
        else (one for one in sorted(own.parent.iterdir()) if one.suffix in _SUFFIXES)
    )
    # By its name, by that of a package around it, from which it may be handed on, or by a name that is computed.
    having = frozenset({_name(own), *_packages(own), *DYNAMIC_IMPORT})
    own_name = _word(_name(own))
    listed = r"import[ \t]*(?:\([^)]*|(?:[^\n(\\]|\\\n)*)"
    imports = re.compile(
        rf"^[ \t]*(?:{listed}|from[ \t]+[\w.]*|from[ \t]+[\w.]+[ \t]+{listed}){own_name}", re.MULTILINE
    )
    for file in files:
        try:
            if file == own or file.is_symlink():
                continue
            data = read_regular(str(file), _MOST + 1)
        except (OSError, ValueError):
            continue
        text = data.decode("utf-8", "replace") if len(data) <= _MOST else ""
        within = own.name == "__init__.py" and own.parent in file.parents
        if _has(text, [name]):
            wanted = within or _has(text, having)
        else:
            unnamed = any(one in text for one in _UNNAMED) and (within or _name(own) in text)
            wanted = unnamed and (within or imports.search(text) is not None)
        if wanted:
            yield file, text


#: What may read a name without having it.
_UNNAMED = ("import *", *BY_TEXT, *LOOKS_THROUGH)


def _has(text: str, words: Iterable[str]) -> bool:
    return any(word in text and re.search(_word(word), text) is not None for word in words)


def _word(name: str) -> str:
    return rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"


def _name(own: Path) -> str:
    return own.parent.name if own.name == "__init__.py" else own.stem


def _packages(own: Path) -> list[str]:
    """The names of the folder of the module, and of the packages around that."""
    around = takewhile(lambda folder: folder == own.parent or (folder / "__init__.py").is_file(), own.parents)
    return [folder.name for folder in around if folder.name]


def _in_text(text: str, name: str) -> bool:
    """Whether a line of ``text``, a notebook or Markdown, imports ``name`` or reads it as an attribute."""
    word, attribute = re.compile(_word(name)), re.compile(rf"\.{re.escape(name)}(?![A-Za-z0-9_])")
    listed = False
    for line in text.split("\n"):
        listed = listed or "import" in line
        if attribute.search(line) or (listed and word.search(line)):
            return True
        _, opened, behind = line.rpartition("(")
        listed = listed and ")" not in behind and (bool(opened) or "import" not in line)
    return False


def _parsed(file: Path) -> ast.Module | None:
    try:
        text = read_source(str(file)).text
        check_depth(text, str(file))
        return python_tree(text)
    except (SourceError, RecursionError):
        return None


class _Reading:
    """Whether one file may read ``name`` of the module at ``own``."""

    def __init__(self, tree: ast.Module, name: str, own: Path, rebound: bool) -> None:
        self.name, self.module, self.is_package, self.rebound = name, _name(own), own.name == "__init__.py", rebound
        self.word = re.compile(rf"\b{re.escape(name)}\b")
        self.nodes = [*ast.walk(tree)]
        self.starred = any(isinstance(node, ast.ImportFrom) and _is_starred(node) for node in self.nodes)
        #: Whether it imports all that the module has.
        self.hands_all_on = any(
            isinstance(node, ast.ImportFrom) and _is_starred(node) and self._is_ours(node) for node in self.nodes
        )
        self.ours, self.others = self._bound()
        self.handed_on = self._is_handed_on()
        texts = (node.value for node in self.nodes if isinstance(node, ast.Expr))
        #: Docstrings, but for those with examples, which doctest runs.
        self.prose = {id(one) for one in texts if isinstance(one, ast.Constant) and ">>>" not in str(one.value)}

    def any(self) -> bool:
        return any(map(self._reads, self.nodes))

    def _reads(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return id(node) not in self.prose and self.word.search(node.value) is not None
        if isinstance(node, ast.Attribute):
            named = node.attr == self.name and not (self.rebound and isinstance(node.ctx, ast.Load))
            return named or (node.attr in LOOKS_THROUGH and self._may_be_ours(node.value))
        if isinstance(node, ast.Call):
            return self._looks_through(node)
        if self.rebound:
            return False
        if isinstance(node, ast.alias):
            return node.name == self.name
        if isinstance(node, ast.MatchClass):
            return self.name in node.kwd_attrs
        return isinstance(node, ast.Name) and node.id == self.name and self.starred

    def _looks_through(self, call: ast.Call) -> bool:
        """Whether ``call`` asks an object, which may be the module or of it, for names that it computes, or for all."""
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if called in LOOKS_THROUGH:
            return any(map(self._may_be_ours, [*call.args, call.func]))
        if called not in BY_TEXT or not call.args:
            return False
        texts = [one for one in call.args[:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        keywords = any(word.arg == self.name for word in call.keywords)
        return keywords or (not texts and any(map(self._may_be_ours, call.args[:1])))

    def _bound(self) -> tuple[set[str], set[str]]:
        """The names that may stand for the module or what is made of it, and those that stand for other modules."""
        ours, others = set[str](), {"self", "cls"}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for one in node.names:
                    bound = (one.asname or one.name).partition(".")[0]
                    (ours if one.name.rpartition(".")[2] == self.module else others).add(bound)
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    imported = ours if self._is_ours(node) or one.name == self.module else others
                    imported.add(one.asname or one.name)
        given: dict[str, set[str]] = {}
        for node in self.nodes:
            value, targets = _binding(node)
            if value is not None:
                bound_to = {name for target in targets for name in _names(target)}
                ours |= bound_to if self._imports_it(value) else set()
                for name in _names(value):
                    given.setdefault(name, set()).update(bound_to)
        waiting = [*ours]
        while waiting:
            new = given.pop(waiting.pop(), set()) - ours
            ours |= new
            waiting += new
        return ours, others - ours

    def _is_handed_on(self) -> bool:
        """Whether the module, or something of it, is given to others as it is, which then may have it by any name."""
        called = {id(node.func) for node in self.nodes if isinstance(node, ast.Call)}
        called |= {id(node.value) for node in self.nodes if isinstance(node, (ast.Attribute, ast.Subscript))}
        chains = (node for node in self.nodes if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in called)
        return any(_root(node) in self.ours for node in chains if isinstance(getattr(node, "ctx", None), ast.Load))

    def _is_ours(self, node: ast.ImportFrom) -> bool:
        """Whether what ``node`` imports is of the module, as far as it says."""
        return self.is_package if node.module is None else node.module.rpartition(".")[2] == self.module

    def _imports_it(self, node: ast.AST) -> bool:
        """Whether ``node`` imports what has the name of the module in a text, or a name that is computed."""
        if not _names(node) & DYNAMIC_IMPORT:
            return False
        texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return not texts or any(self.module in text for text in texts)

    def _may_be_ours(self, node: ast.AST) -> bool:
        names = _names(node)
        return bool(names & self.ours) or self._imports_it(node) or (self.handed_on and not names <= self.others)


def _names(node: ast.AST) -> set[str]:
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _binding(node: ast.AST) -> tuple[ast.AST | None, list[ast.expr]]:
    """What a statement, a loop or a walrus binds, and to what."""
    if isinstance(node, ast.Assign):
        return node.value, node.targets
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        return node.value, [node.target]
    if isinstance(node, (ast.For, ast.comprehension)):
        return node.iter, [node.target]
    if isinstance(node, ast.withitem):
        return node.context_expr, [] if node.optional_vars is None else [node.optional_vars]
    return None, []


def _is_starred(node: ast.ImportFrom) -> bool:
    return any(one.name == "*" for one in node.names)
