"""Which files of a project may call functions of one of them, and in which of their statements.

They are found by the words in them: the names of the functions, and those of whatever passes on to these what it is given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Set
from pathlib import Path

import libcst as cst

from kernlint.errors import SourceError
from kernlint.interpret.project import interest, mentioning
from kernlint.interpret.reading.launching import assigned
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.source import read_source
from kernlint.syntax.testing import is_guarded_main, measures
from kernlint.syntax.tree import Module, parse_module
from kernlint.syntax.walk import parameters

#: Files that are read and followed, and functions that a call may pass through on its way to one.
_MOST_READ, _MOST_CALLERS, _MOST_WAYS = 32, 12, 3


#: Packages whose functions have the names of many others.
_OF_OTHERS = frozenset({"torch", "triton", "numpy", "math", "jax", "transformers"})


def calling_files(path: str, names: Iterable[str]) -> list[tuple[Module, frozenset[str]]]:
    """The files of the project that may call functions of the one at ``path`` by their ``names``, or by those of functions and classes
    that pass on what they are given, tests and benchmarks first; each with what it calls all those."""
    known = set(names)
    sought: dict[str, set[str]] = {path: known.copy()}
    read: dict[Path, Module | None] = {}
    passing: dict[Path, set[str]] = {}
    for _ in range(_MOST_WAYS):
        through: dict[str, set[str]] = {}
        for file in mentioning(sought):
            if file not in read and len(read) < _MOST_READ:
                try:
                    read[file] = parse_module(read_source(str(file)).text, str(file))
                except (SourceError, RecursionError):
                    read[file] = None
            module = read.get(file)
            passing[file] = _passing(module, known) if module is not None else set()
            if passing[file]:
                through[str(file)] = passing[file]
        if not through:
            break
        known.update(*through.values())
        sought = through
    found = []
    for file, module in sorted(read.items(), key=lambda one: interest(str(one[0].parent), one[0].name)):
        called = _aliases(module, known) | passing.get(file, set()) if module is not None else frozenset[str]()
        if module is not None and statements_using(module, called):
            found.append((module, called))
    return found[:_MOST_CALLERS]


def _passing(module: Module, names: Set[str]) -> set[str]:
    """The functions and classes of ``module`` that pass on what they are given to those called ``names``, by one another too, and
    what it imports those as that others may import from it."""
    aliases = _aliases(module, names)
    found = {name for name in aliases if name in module.imports and name not in names}
    for _ in range(_MOST_WAYS):
        more = {name for node in statements_using(module, aliases | found) for name in _passing_names(node)}
        if more <= found:
            break
        found |= more
    return found


def statements_using(module: Module, called: Set[str]) -> list[cst.CSTNode]:
    """The statements of ``module`` that may call what it calls one of ``called``."""
    return [node for node in module.tree.body if uses(node, called, module)] if called else []


def _passing_names(statement: cst.CSTNode) -> list[str]:
    """What a statement defines that others call with tensors of theirs: a function, a class, or another name for one
    (``norm = Norm.apply``)."""
    if isinstance(statement, cst.SimpleStatementLine):
        return [name for part in statement.body for name in assigned(part)]
    defines = isinstance(statement, (cst.FunctionDef, cst.ClassDef)) and not starts(statement)
    name = statement.name.value if defines else ""  # type: ignore[attr-defined]
    return [] if not name or name.startswith(("test", "bench")) else [name]


def _aliases(module: Module, names: Set[str]) -> frozenset[str]:
    """What ``module`` may call functions of those ``names`` of other modules."""
    imported = {name for name, path in module.imports.items() if path.split(".")[-1] in names and not _is_others(path)}
    chains = [node for node in module.of(cst.Attribute) if node.attr.value in names]
    roots = module.imports.keys() | {"self", "torch"}
    used = {
        node.attr.value
        for node in chains
        if (path := dotted_name(node)) is not None
        and path.split(".")[0] in roots
        and not _is_others(origin_of(node, module.imports) or "")
    }
    by_name = any(isinstance(call.func, cst.Name) and call.func.value == "getattr" for call in module.of(cst.Call))
    written = {node.raw_value for node in module.of(cst.SimpleString)} & names if by_name else set()
    return frozenset(imported | used | written)


def _is_others(path: str) -> bool:
    return path.split(".")[0] in _OF_OTHERS and not path.startswith("torch.ops.")


def uses(statement: cst.CSTNode, aliases: Set[str], module: Module) -> bool:
    """Whether one of ``aliases`` may be called in a statement of ``module``, once that is run or what it defines is called."""
    words = {node.value for node in module.within(statement, cst.Name)}
    words |= {node.attr.value for node in module.within(statement, cst.Attribute)}
    words |= {node.raw_value for node in module.within(statement, cst.SimpleString)}
    kinds = (cst.FunctionDef, cst.ClassDef, cst.For, cst.With)
    runs = isinstance(statement, kinds) or is_guarded_main(statement) or bool(module.own(statement, cst.Call))
    runs = runs or bool(_passing_names(statement))
    return runs and not words.isdisjoint(aliases)


def starts(statement: cst.CSTNode) -> bool:
    """Whether a statement calls others on tensors that it makes itself, and is not there to be called with some."""
    if isinstance(statement, cst.ClassDef):
        return statement.name.value.startswith("Test")
    if not isinstance(statement, cst.FunctionDef):
        return True
    needed = [p for p in parameters(statement) if p.default is None]
    return (
        not needed
        or statement.name.value.startswith("test")
        or any(tried_by(decorator) for decorator in statement.decorators)
    )


def only_tries(statement: cst.CSTNode, module: Module, own: bool) -> bool:
    """Whether calls in a ``statement`` of ``module`` show or test what it does (that file's ``own``, most of them), not how fast."""
    file = os.path.basename(module.path).lower()
    if "bench" in file or measures(statement, module):
        return False
    return own or is_guarded_main(statement) or "test" in file


#: What decorators are called that say what a test, or a benchmark, is to be tried with: those of pytest, absl and Triton.
_TRYING = frozenset({"parametrize", "parameters", "named_parameters", "expand", "perf_report"})


def tried_by(decorator: cst.Decorator) -> str:
    """The last name of ``decorator`` where it says what is to be tried with a test; else empty."""
    call = decorator.decorator
    name = (dotted_name(call.func) or "").rpartition(".")[2] if isinstance(call, cst.Call) else ""
    return name if name in _TRYING else ""
