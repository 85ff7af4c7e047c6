"""Products of rules with ways to write them: a part of each, with every rule and every way in it, runs by default; all are `slow`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar
from zlib import crc32

import pytest

One = TypeVar("One")
Other = TypeVar("Other")


def in_turn(name: str, ways: Sequence[One]) -> tuple[One, ...]:
    """All of ``ways``, from a first one on that ``name`` decides, in each run and on each machine alike."""
    first = crc32(name.encode()) % len(ways)
    return (*ways[first:], *ways[:first])


def product(
    ones: Iterable[One], others: Sequence[Other], name: Callable[[One], str], way: Callable[[Other], str]
) -> list[object]:
    """The parameters of a test that takes one of each: of ``others``, each one of ``ones`` has one by default, in turn."""
    cases: list[object] = []
    taken: set[str] = set()
    for one in ones:
        first, *rest = in_turn(name(one), others)
        taken.add(way(first))
        cases.append(pytest.param(one, first, id=f"{name(one)}-{way(first)}", marks=pytest.mark.product))
        marks = (pytest.mark.product, pytest.mark.slow)
        cases += [pytest.param(one, other, id=f"{name(one)}-{way(other)}", marks=marks) for other in rest]
    assert taken == {way(other) for other in others}, "a way that no case has by default"
    return cases
