"""Where a change is made, and which codemod makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kernlint.interpret.program import Program
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.syntax.tree import Module
from kernlint.workload import Workload


@dataclass(frozen=True)
class Site:
    """The program to change: ``workload`` is what its ``program.kernel`` module does as it stands."""

    program: Program
    workload: Workload

    @property
    def module(self) -> Module:
        """The module whose text the edits refer to."""
        return self.program.kernel


#: From a site and the transform (a dataclass that a rule put in its Variant) to the edits that make it.
Codemod = Callable[[Site, Any], list[TextEdit]]

_CODEMODS: dict[type, Codemod] = {}

_C = TypeVar("_C", bound=Codemod)


def codemod(kind: type) -> Callable[[_C], _C]:
    """Register the decorated function as what makes transforms of type ``kind``; it raises :class:`CannotRewrite` with
    the reason where it cannot."""

    def register(function: _C) -> _C:
        assert kind not in _CODEMODS, f"two codemods for {kind.__name__}"
        _CODEMODS[kind] = function
        return function

    return register


def edits_of(site: Site, transform: object) -> list[TextEdit]:
    """The text edits that make ``transform``. Raises :class:`CannotRewrite`."""
    found = _CODEMODS.get(type(transform))
    if found is None:
        raise CannotRewrite("no automatic rewrite for this change")
    return found(site, transform)
