"""Which routines of a module, and which of their statements, run on every call of an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

import libcst as cst

from kernlint.records import dataclass
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk_until

#: Where kernels and autotuners are made.
MAKERS = frozenset({"triton.jit", "triton.autotune", "triton.runtime.jit.jit", "triton.runtime.autotuner.autotune"})
_CACHES = frozenset({"lru_cache", "cache", "cached_property"})
#: Methods that run once per object, not per call.
_ONCE = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})


@dataclass(frozen=True)
class Routine:
    """A function or method of the module: its name as the source calls it, ``Class.method`` for a method."""

    symbol: str
    node: cst.FunctionDef

    @property
    def name(self) -> str:
        return self.node.name.value

    @cached_property
    def each_time(self) -> tuple[cst.CSTNode, ...]:
        """The nodes of its body that run whenever it does (:func:`each_time`)."""
        return tuple(each_time(self.node.body))


#: Whether the body of an ``if`` counts as run by every call.
Enters = Callable[[cst.If], bool]


def never(branch: cst.If) -> bool:
    """Nothing behind a condition counts."""
    return False


def per_call(module: Module, entry: str, enters: Enters = never) -> tuple[list[Routine], Mapping[str, str]]:
    """The routines that every call of ``entry`` may run, and what the imports of the module bind."""
    if enters is not never:
        return _reached(module.once(routines), entry, module.imports, enters), module.imports
    known = module.once(_known)
    if entry not in known:
        known[entry] = _reached(module.once(routines), entry, module.imports, enters)
    return known[entry], module.imports


def _known(module: Module) -> dict[str, list[Routine]]:
    """What :func:`per_call` has found for entries of ``module`` so far."""
    return {}


def routines(module: Module) -> list[Routine]:
    """The functions of ``module`` and the methods of its classes."""
    return list(_routines(module.tree.body, ""))


def _routines(body: Iterable[cst.CSTNode], owner: str) -> Iterator[Routine]:
    for node in body:
        if isinstance(node, cst.FunctionDef):
            yield Routine(f"{owner}.{node.name.value}" if owner else node.name.value, node)
        elif isinstance(node, cst.ClassDef):
            yield from _routines(node.body.body, node.name.value)
        elif isinstance(node, (cst.If, cst.Try)):
            yield from _routines(node.body.body, owner)


def _reached(routines: list[Routine], entry: str, imports: Mapping[str, str], enters: Enters) -> list[Routine]:
    """The routines that every call of ``entry`` may run, found by the names that they call."""
    found = [r for r in routines if r.symbol == entry]
    for routine in found:
        called = {
            (dotted_name(node.func) or "").rsplit(".", 1)[-1]
            for node in (routine.each_time if enters is never else each_time(routine.node.body, enters))
            if type(node) is cst.Call
        }  # fmt: skip
        found += [r for r in routines if r.name in called and r not in found and not _runs_once(r, imports)]
    return found


def _runs_once(routine: Routine, imports: Mapping[str, str]) -> bool:
    decorators = [origin_of(d.decorator, imports) for d in routine.node.decorators]
    return routine.name in _ONCE or any(
        d is not None and (d in MAKERS or d.rsplit(".", 1)[-1] in _CACHES) for d in decorators
    )


_ELSEWHERE = frozenset({cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.ExceptHandler})


def each_time(body: cst.CSTNode, enters: Enters = never) -> Iterator[cst.CSTNode]:
    """The nodes of a function's body that run whenever it does: not those of nested functions, nor what stands behind a
    condition (unless ``enters`` says so) or in an exception handler, where caches are filled."""
    return walk_until(
        body,
        lambda node: type(node) in _ELSEWHERE or (type(node) is cst.If and not enters(node)),
    )
