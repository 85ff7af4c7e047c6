"""How much has been worked out, counted so that a limit on it is the same on every machine.

A unit is about what evaluating one node of a program takes. Following hosts, reading kernels, pricing launches and asking what-ifs
count; what-ifs are what is left out where there has been enough of it. Counted by thread.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfWork(Exception):
    """What is asked would take more work than there is to be."""


class _Count(threading.local):
    spent = 0
    limit = math.inf


_count = _Count()

#: Units for a launch that is priced, for a step of a workload that is looked at, and for a change that is made to the source.
LAUNCH, STEP, REWRITE = 150, 1, 2_000


def spend(units: int) -> None:
    """Note that ``units`` of work have been done."""
    _count.spent += units


def spent() -> int:
    """The work done so far by this thread."""
    return _count.spent


def check() -> None:
    """Before a what-if is asked. Raises :class:`OutOfWork` where there has been enough."""
    if _count.spent >= _count.limit:
        raise OutOfWork


@contextmanager
def uncounted() -> Iterator[None]:
    """Do not count the work inside: what is remembered from one program to the next must not change what limits leave out."""
    before = _count.spent
    try:
        yield
    finally:
        _count.spent = before


class limited:
    """Let what is asked inside take ``units`` of work, or what an outer limit leaves of them."""

    def __init__(self, units: float) -> None:
        self._units = units

    def __enter__(self) -> None:
        self._before = _count.limit
        _count.limit = min(self._before, _count.spent + self._units)

    def __exit__(self, *_: object) -> bool | None:
        _count.limit = self._before
        return None
