"""Faults of a kernel or its launch, mended: each kind by the function that is registered for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, Union

from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.other_elements import other_elements
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.faults import MendedFault
from kernlint.rules.finding import Variant
from kernlint.workload import Workload

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


def only_mends(variant: Variant) -> bool:
    """Whether ``variant`` is the program without some faults, and nothing else."""
    return not variant.edits and all(isinstance(one, MendedFault) for one in variant.transforms)


@codemod(MendedFault)
def mended_fault(site: Site, transform: MendedFault) -> Rewriting:
    """The program without the fault."""
    if transform.kind not in _MENDERS:
        raise CannotRewrite(f"no automatic rewrite for {transform.kind}")
    made = _MENDERS[transform.kind](site, transform)
    rewriting = made if isinstance(made, Rewriting) else Rewriting(tuple(made))
    return rewriting | Rewriting((), _of_other_elements(site, transform))


def _of_other_elements(site: Site, fault: MendedFault) -> Effects:
    """Unsafe where the program takes elements with which there is no such fault: right as it is, it would be changed."""
    for other in other_elements(site.program, site.workload.entry, site.workload.bare, tuned=True):
        if not _has(other.workload, fault):
            return Effects("unsafe", notes=(f"with {other.names} elements the code is right as it is",))
    return Effects()


def _has(workload: Workload, fault: MendedFault) -> bool:
    found = (one for launch in workload.launches() for one in (*launch.faults, *launch.kernel.faults))
    return any((one.kind, one.span) == (fault.kind, fault.place) for one in found)
