"""Faults of a kernel or its launch, mended: each kind by the function that is registered for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, Union

from kernlint.rewrite.effects import Rewriting
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.faults import MendedFault

#: From a site and the fault to the edits that mend it; a list of edits is safe, and exact as nothing was computed before.
Mender = Callable[[Site, MendedFault], Union[list[TextEdit], Rewriting]]

_MENDERS: dict[str, Mender] = {}

_M = TypeVar("_M", bound=Mender)


def mends(*kinds: str) -> Callable[[_M], _M]:
    """Register the decorated function as what mends faults of ``kinds``; it raises :class:`CannotRewrite` where it
    cannot."""

    def register(function: _M) -> _M:
        for kind in kinds:
            assert kind not in _MENDERS, f"two ways to mend {kind}"
            _MENDERS[kind] = function
        return function

    return register


@codemod(MendedFault)
def mended_fault(site: Site, transform: MendedFault) -> Rewriting:
    """The program without the fault."""
    if transform.kind not in _MENDERS:
        raise CannotRewrite(f"no automatic rewrite for {transform.kind}")
    made = _MENDERS[transform.kind](site, transform)
    return made if isinstance(made, Rewriting) else Rewriting(tuple(made))
