"""What all tests have in common."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

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


_products = pytest.StashKey[dict[str, list[int]]]()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Count of each product of rules and ways how many cases were asked for, of how many."""
    every = _cases(items)
    yield
    chosen = _cases(items)
    counts = {name: [chosen[name], count] for name, count in every.items()}
    config.stash[_products] = getattr(config, "workeroutput", {})["products"] = counts


def _cases(items: list[pytest.Item]) -> Counter[str]:
    return Counter(item.location[0] for item in items if item.get_closest_marker("product") is not None)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker of xdist counted; each counts all."""
    node.config.stash[_products] = getattr(node, "workeroutput", {}).get("products", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for name, (chosen, count) in sorted(config.stash.get(_products, {}).items()):
        terminalreporter.write_line(f"{chosen} of {count} cases of the product in {name}")


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
