"""Which routines of a module, and which of their statements, run on every call of an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TypeVar

import libcst as cst

from kernlint.interpret.host.memoised import SETUP_METHODS, is_memoised, run_once
from kernlint.interpret.project import is_imported, project_root
from kernlint.records import dataclass
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk_until

_T = TypeVar("_T")
_Node = TypeVar("_Node", bound=cst.CSTNode)

#: Where kernels and autotuners are made.
MAKERS = frozenset({"triton.jit", "triton.autotune", "triton.runtime.jit.jit", "triton.runtime.autotuner.autotune"})


@dataclass(frozen=True)
class Routine:
    """A function or method of ``module``: its name as the source calls it, ``Class.method`` for a method."""

    symbol: str
    node: cst.FunctionDef
    module: Module = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.node.name.value

    @cached_property
    def once(self) -> frozenset[cst.CSTNode]:
        """Those of its statements that run once because what they make is kept."""
        return run_once(self.node, self.module)

    @cached_property
    def each_time(self) -> tuple[cst.CSTNode, ...]:
        """The nodes of its body that run whenever it does (:func:`each_time`)."""
        return tuple(each_time(self))


#: Whether the body of an ``if`` counts as run by every call.
Enters = Callable[[cst.If], bool]


def never(branch: cst.If) -> bool:
    """Nothing behind a condition counts."""
    return False


def per_call(module: Module, entry: str, enters: Enters = never) -> list[Routine]:
    """The routines that every call of ``entry`` may run."""
    if enters is not never:
        return _reached(module.once(routines), entry, module.imports, enters)
    known = module.once(_known)
    if entry not in known:
        known[entry] = _reached(module.once(routines), entry, module.imports, enters)
    return known[entry]


def run_each_time(module: Module, entry: str, sought: Mapping[_Node, _T]) -> Iterator[tuple[Routine, cst.CSTNode, _T]]:
    """Those of the nodes ``sought`` that every call of ``entry`` may run: the routine that it stands in, the node, and what
    ``sought`` says of it."""
    for routine in per_call(module, entry) if sought else ():
        for node in routine.each_time:
            if node in sought:
                yield routine, node, sought[node]  # type: ignore[index]


def called_once(module: Module, entry: str) -> bool:
    """Whether the file is a script that calls its function ``entry`` at one place, outside functions and loops, and nobody else can."""
    mentions = [node for node in module.of(cst.Name) if node.value == entry]
    calls = [node for node in module.of(cst.Call) if type(node.func) is cst.Name and node.func.value == entry]
    if len(calls) != 1 or len(mentions) != 2:  # its definition and its call
        return False
    behind = (*_AGAIN, cst.If)
    if any(node is calls[0] for node in walk_until(module.tree, lambda node: type(node) in behind)):
        return True  # who imports the file makes the call
    run = any(node is calls[0] for node in walk_until(module.tree, lambda node: type(node) in _AGAIN))
    return run and project_root(module.path) is not None and not is_imported(module)


#: What code stands in that runs more often than the code around it, or later.
_AGAIN = (
    cst.FunctionDef,
    cst.ClassDef,
    cst.Lambda,
    cst.For,
    cst.While,
    cst.ListComp,
    cst.GeneratorExp,
    cst.SetComp,
    cst.DictComp,
)


def _known(module: Module) -> dict[str, list[Routine]]:
    """What :func:`per_call` has found for entries of ``module`` so far."""
    return {}


def routines(module: Module) -> list[Routine]:
    """The functions of ``module`` and the methods of its classes."""
    return list(_routines(module, module.tree.body, ""))


def _routines(module: Module, body: Iterable[cst.CSTNode], owner: str) -> Iterator[Routine]:
    for node in body:
        if isinstance(node, cst.FunctionDef):
            symbol = f"{owner}.{node.name.value}" if owner else node.name.value
            yield Routine(symbol, node, module)
        elif isinstance(node, cst.ClassDef):
            yield from _routines(module, node.body.body, node.name.value)
        elif isinstance(node, (cst.If, cst.Try)):
            yield from _routines(module, node.body.body, owner)


def _reached(routines: list[Routine], entry: str, imports: Mapping[str, str], enters: Enters) -> list[Routine]:
    """The routines that every call of ``entry`` may run, found by the names that they call."""
    found = [r for r in routines if r.symbol == entry]
    for routine in found:
        called = {
            (dotted_name(node.func) or "").rsplit(".", 1)[-1]
            for node in (routine.each_time if enters is never else each_time(routine, enters))
            if type(node) is cst.Call
        }  # fmt: skip
        found += [r for r in routines if r.name in called and r not in found and not _runs_once(r, imports)]
    return found


def _runs_once(routine: Routine, imports: Mapping[str, str]) -> bool:
    made = any(origin_of(d.decorator, imports) in MAKERS for d in routine.node.decorators)
    return made or routine.name in SETUP_METHODS or is_memoised(routine.node, imports)


_ELSEWHERE = frozenset({cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.ExceptHandler})


def each_time(routine: Routine, enters: Enters = never) -> Iterator[cst.CSTNode]:
    """The nodes of its body that run whenever ``routine`` does: not those of nested functions, nor what stands behind a
    condition (unless ``enters`` says so), in an exception handler, or behind the return of what a cache holds."""

    def stops(node: cst.CSTNode) -> bool:
        return node in routine.once or type(node) in _ELSEWHERE or (type(node) is cst.If and not enters(node))

    return (node for node in walk_until(routine.node.body, stops) if node not in routine.once)
