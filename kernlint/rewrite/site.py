"""Where a change is made, and which codemod makes it."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, TypeVar, Union

from kernlint.interpret.edits import Edits
from kernlint.interpret.program import Program
from kernlint.records import dataclass
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.proofs.counterparts import launches_at
from kernlint.syntax.tree import Module
from kernlint.workload import Launch, Span, Workload

#: Why a change that no codemod makes is not made.
NO_REWRITE = "no automatic rewrite for this change"


@dataclass(frozen=True)
class Site:
    """The program to change: ``workload`` is what its ``program.kernel`` module does as it stands."""

    program: Program
    workload: Workload

    @property
    def module(self) -> Module:
        """The module whose text the edits refer to."""
        return self.program.kernel

    @property
    def source(self) -> Source:
        """Its text, with where things stand in it."""
        return _source_of(self.module)

    def launch(self, span: Span) -> Launch:
        """The first launch that the source writes at ``span``; raises :class:`CannotRewrite` where none was followed."""
        found = launches_at(self.workload, span)
        if not found:
            raise CannotRewrite(f"the launch at line {span.line} was not followed")
        return found[0]

    def after(self, edits: Edits) -> Workload | None:
        """What the program would do under what-if ``edits``; None where that cannot be followed."""
        return self.program.workload(self.workload.entry, edits, self.workload.bare)


@lru_cache(maxsize=8)
def _source_of(module: Module) -> Source:
    return Source(module)


#: From a site and the transform (a dataclass that a rule put in its Variant) to the edits that make it. A codemod whose
#: effects depend on the case returns a ``Rewriting``, others a list of edits, for the effects they were registered with.
Codemod = Callable[[Site, Any], Union[list[TextEdit], Rewriting]]

_CODEMODS: dict[type, tuple[Codemod, Effects]] = {}

_C = TypeVar("_C", bound=Codemod)


def codemod(kind: type, effects: Effects = Effects()) -> Callable[[_C], _C]:  # noqa: B008 (immutable)
    """Register the decorated function as what makes transforms of type ``kind``; it raises :class:`CannotRewrite` with
    the reason where it cannot. ``effects`` are those of the edits it returns. A module of this package, or an operator, that
    registers one is found by itself."""

    def register(function: _C) -> _C:
        assert kind not in _CODEMODS, f"two codemods for {kind.__name__}"
        _CODEMODS[kind] = (function, effects)
        return function

    return register


def rewriting_of(site: Site, transform: object) -> Rewriting:
    """The rewriting that makes ``transform``. Raises :class:`CannotRewrite`."""
    kind = type(transform)
    _load_codemods("kernlint.rewrite")  # all of it: what mends faults is registered by kind, too
    if kind not in _CODEMODS:
        _load_codemods("kernlint.operators")  # which few changes take, with all that writes kernels
    if kind not in _CODEMODS:
        raise CannotRewrite(NO_REWRITE)
    make, effects = _CODEMODS[kind]
    made = make(site, transform)
    return made if isinstance(made, Rewriting) else Rewriting(tuple(made), effects)


@cache
def _load_codemods(package: str) -> None:
    """Import every module of ``package``, so that each can register its codemods."""
    for info in pkgutil.iter_modules(import_module(package).__path__):
        import_module(f"{package}.{info.name}")
