"""Which routines of a module, and which of their statements, run on every call of an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import children

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


#: Whether the body of an ``if`` counts as run by every call.
Enters = Callable[[cst.If], bool]


def never(branch: cst.If) -> bool:
    """Nothing behind a condition counts."""
    return False


def per_call(module: Module, entry: str, enters: Enters = never) -> tuple[list[Routine], Mapping[str, str]]:
    """The routines that every call of ``entry`` may run, and what the imports of the module bind."""
    return _reached(module.once(routines), entry, module.imports, enters), module.imports


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
            for node in each_time(routine.node.body, enters) if isinstance(node, cst.Call)
        }  # fmt: skip
        found += [r for r in routines if r.name in called and r not in found and not _runs_once(r, imports)]
    return found


def _runs_once(routine: Routine, imports: Mapping[str, str]) -> bool:
    decorators = [origin_of(d.decorator, imports) for d in routine.node.decorators]
    return routine.name in _ONCE or any(
        d is not None and (d in MAKERS or d.rsplit(".", 1)[-1] in _CACHES) for d in decorators
    )


def each_time(body: cst.CSTNode, enters: Enters = never) -> Iterator[cst.CSTNode]:
    """The nodes of a function's body that run whenever it does: not those of nested functions, nor what stands behind a
    condition (unless ``enters`` says so) or in an exception handler, where caches are filled."""
    stack: list[cst.CSTNode] = [body]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.ExceptHandler)):
            continue
        if isinstance(node, cst.If) and not enters(node):
            continue
        stack += reversed(children(node))
