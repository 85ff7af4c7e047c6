"""How much has been worked out, counted so that a limit on it is the same on every machine.

A unit is about what evaluating one node of a program takes. Following hosts, reading kernels, pricing launches and asking what-ifs
count; what-ifs are what is left out where there has been enough of it. Counted by thread. Where work is counted, it can also be
given up.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class OutOfWork(Exception):
    """What is asked would take more work than there is to be."""


class GivenUp(BaseException):
    """Nobody waits for the answer any more. No ``Exception``, as nobody but who does the work is to catch it."""


class _Count(threading.local):
    spent = 0
    limit = math.inf
    #: Tells whether to give up, and the time to ask it next.
    given_up: Callable[[], bool] | None = None
    next_look = 0.0


_count = _Count()

#: Units for a launch that is priced, for a step of a workload that is looked at, and for a change that is made to the source.
LAUNCH, STEP, REWRITE = 150, 1, 2_000

#: A limit under which no what-if is asked.
NO_WORK = -math.inf

#: Seconds between two looks whether to give up.
_LOOK_S = 0.002


def spend(units: int) -> None:
    """Note that ``units`` of work have been done."""
    _count.spent += units
    look()


def look() -> None:
    """Raises :class:`GivenUp` where nobody waits any more for what is being done."""
    if _count.given_up is not None:
        now = time.monotonic()
        if now >= _count.next_look:
            _count.next_look = now + _LOOK_S
            if _count.given_up():
                raise GivenUp


@contextmanager
def until(given_up: Callable[[], bool]) -> Iterator[None]:
    """Do what is inside until ``given_up()``, which is asked now and then; ends in :class:`GivenUp` then."""
    _count.given_up = given_up
    try:
        yield
    finally:
        _count.given_up = None


def spent() -> int:
    """The work done so far by this thread."""
    return _count.spent


def check() -> None:
    """Before a what-if is asked. Raises :class:`OutOfWork` where there has been enough."""
    look()
    if _count.spent >= _count.limit:
        raise OutOfWork


def check_haste() -> None:
    """Before what takes long although it is no what-if. Raises :class:`OutOfWork` where only what is told at once is asked
    (:data:`NO_WORK`)."""
    if _count.limit == NO_WORK:
        raise OutOfWork


@contextmanager
def uncounted() -> Iterator[None]:
    """Do not count the work inside: what is remembered from one program to the next must not change what limits leave out."""
    before = _count.spent
    try:
        yield
    finally:
        _count.spent = before


@contextmanager
def limited(units: float) -> Iterator[None]:
    """Let what is asked inside take ``units`` of work, or what an outer limit leaves of them."""
    before = _count.limit
    _count.limit = min(before, _count.spent + units)
    try:
        yield
    finally:
        _count.limit = before
