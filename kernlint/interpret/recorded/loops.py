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
    folding = _Folding(keys, loop_of)
    # A round is at least twice as long as that of a loop within it, which is found before.
    longest = 1
    while longest <= _LONGEST:
        if not folding.folds(longest):
            longest *= 2
    return tuple(folding.items)


class _Folding:
    """The ``items`` that are left of steps, and the ``marks`` that are equal for those of one place."""

    def __init__(self, keys: Sequence[Hashable], loop_of: Callable[[Sequence[int]], tuple[Any, int] | None]) -> None:
        self.items: list[Item] = list(range(len(keys)))
        self.marks: list[Hashable] = list(keys)
        self.loop_of = loop_of
        self.asked: dict[Any, tuple[Any, int] | None] = {}

    def folds(self, longest: int) -> bool:
        """Tell the loops whose rounds have at most ``longest`` items, if there are any."""
        items, marks = self.items, self.marks
        following = _next_alike(marks)
        found: list[Item] = []
        kept: list[Hashable] = []
        at = 0
        while at < len(items):
            period, rounds, loop = self._stretch(at, longest, following)
            if not rounds:
                found.append(items[at])
                kept.append(marks[at])
            else:
                found.append(
                    Looped(tuple(tuple(items[at + i * period : at + (i + 1) * period]) for i in range(rounds)), loop)
                )
                kept.append(("loop", *marks[at : at + period]))
            at += period * max(1, rounds)
        self.items, self.marks = found, kept
        return len(found) != len(items)

    def _stretch(self, at: int, longest: int, following: list[int]) -> tuple[int, int, Any]:
        """The period, the rounds and the loop of the shortest repetition that begins at a place; one item and no rounds without any."""
        items, marks = self.items, self.marks
        other = following[at]
        while other < len(marks) and other - at <= longest:
            period = other - at
            if marks[at:other] == marks[other : other + period]:
                key = tuple(marks[at:other])
                if key not in self.asked:
                    self.asked[key] = self.loop_of([step for item in items[at:other] for step in _steps(item)])
                loop = self.asked[key]
                if loop is not None:
                    rounds = 2
                    while marks[at + rounds * period : at + (rounds + 1) * period] == marks[at:other]:
                        rounds += 1
                    if rounds >= loop[1]:
                        return period, rounds, loop[0]
            other = following[other]
        return 1, 0, None


def _next_alike(marks: list[Hashable]) -> list[int]:
    """For each mark the place of the next one that is equal; the end where there is none."""
    last: dict[Hashable, int] = {}
    following = [len(marks)] * len(marks)
    for at in range(len(marks) - 1, -1, -1):
        following[at] = last.get(marks[at], len(marks))
        last[marks[at]] = at
    return following


def _steps(item: Item) -> list[int]:
    """The steps of an item, of a loop those of its first round."""
    if isinstance(item, Looped):
        return [step for inner in item.rounds[0] for step in _steps(inner)]
    return [item]
