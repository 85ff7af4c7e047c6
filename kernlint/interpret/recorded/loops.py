"""Loops in a flat list of steps: stretches that the same places make again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Union

from kernlint.records import dataclass

#: Steps of one round.
_LONGEST = 512

#: A step, by its number, or a loop.
Item = Union[int, "Looped"]


@dataclass(frozen=True)
class Looped:
    """The ``rounds`` of a loop, each a list of steps; ``loop`` is what the source has there."""

    rounds: tuple[tuple[Item, ...], ...]
    loop: Any


def folded(keys: Sequence[Hashable], loop_of: Callable[[Sequence[int]], tuple[Any, int] | None]) -> tuple[Item, ...]:
    """The steps with the given ``keys`` (equal for those of one place) with loops told as such, inner ones first.

    ``loop_of`` says of the steps of a round which loop makes them, and how many rounds it takes at least; None where there is
    none in the source, so that the steps stay as they are.
    """
    items: list[Item] = list(range(len(keys)))
    marks: list[Hashable] = list(keys)
    asked: dict[Any, tuple[Any, int] | None] = {}
    # A round is at least twice as long as that of a loop within it, which is found before.
    longest = 1
    while longest <= _LONGEST:
        new_items, new_marks = _pass(items, marks, longest, loop_of, asked)
        if len(new_items) == len(items):
            longest *= 2
        items, marks = new_items, new_marks
    return tuple(items)


def _pass(
    items: list[Item],
    marks: list[Hashable],
    longest: int,
    loop_of: Callable[[Sequence[int]], tuple[Any, int] | None],
    asked: dict[Any, tuple[Any, int] | None],
) -> tuple[list[Item], list[Hashable]]:
    following = _next_alike(marks)
    found: list[Item] = []
    kept: list[Hashable] = []
    at = 0
    while at < len(items):
        stretch = _stretch(items, marks, at, longest, following, loop_of, asked)
        if stretch is None:
            found.append(items[at])
            kept.append(marks[at])
            at += 1
            continue
        period, rounds, loop = stretch
        found.append(Looped(tuple(tuple(items[at + i * period : at + (i + 1) * period]) for i in range(rounds)), loop))
        kept.append(("loop", *marks[at : at + period]))
        at += period * rounds
    return found, kept


def _next_alike(marks: list[Hashable]) -> list[int]:
    """For each mark the place of the next one that is equal; the end where there is none."""
    last: dict[Hashable, int] = {}
    following = [len(marks)] * len(marks)
    for at in range(len(marks) - 1, -1, -1):
        following[at] = last.get(marks[at], len(marks))
        last[marks[at]] = at
    return following


def _stretch(
    items: list[Item],
    marks: list[Hashable],
    at: int,
    longest: int,
    following: list[int],
    loop_of: Callable[[Sequence[int]], tuple[Any, int] | None],
    asked: dict[Any, tuple[Any, int] | None],
) -> tuple[int, int, Any] | None:
    """The period, the rounds and the loop of the shortest repetition that begins at a place."""
    other = following[at]
    while other < len(marks) and other - at <= longest:
        period = other - at
        if marks[at:other] == marks[other : other + period]:
            key = tuple(marks[at:other])
            if key not in asked:
                asked[key] = loop_of([step for item in items[at:other] for step in _steps(item)])
            loop = asked[key]
            if loop is not None:
                rounds = 2
                while marks[at + rounds * period : at + (rounds + 1) * period] == marks[at:other]:
                    rounds += 1
                if rounds >= loop[1]:
                    return period, rounds, loop[0]
        other = following[other]
    return None


def _steps(item: Item) -> list[int]:
    """The steps of an item, of a loop those of its first round."""
    if isinstance(item, Looped):
        return [step for inner in item.rounds[0] for step in _steps(inner)]
    return [item]
