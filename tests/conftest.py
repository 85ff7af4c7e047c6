"""What all tests have in common."""

from __future__ import annotations

import gc
import os

import pytest

from kernlint import crew

#: Objects made and not freed between two looks for garbage, as in the process of the command line.
_GARBAGE = 100_000


gc.disable()  # nothing that is imported or collected is garbage


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """A worker more than processors for `-n auto`: tests of servers, of time limits and of terminals wait, on the whole for a tenth of
    the time."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else crew.processors() + 1


def pytest_collection_finish() -> None:
    """What was imported stays to the end: to look through it again and again for garbage takes a tenth of the time of the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    gc.enable()
    _forks_beside_xdist()


def _forks_beside_xdist() -> None:
    """Let workers be forked from a process of the tests as from one of the command line. Of several threads a new interpreter is
    started for each, and xdist has one, which waits for messages while a test runs; those that a test starts count."""
    threads = crew._threads
    others = threads() - 1
    crew._threads = lambda: threads() - others
