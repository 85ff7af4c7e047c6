"""Where in the source something stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

_T = TypeVar("_T")


class Span(NamedTuple):
    """A half-open source range: lines from 1, columns from 1, as editors and SARIF count them.

    In a Markdown task file the lines are those of the Markdown file. A tuple, as so much is looked up by it.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def contains(self, other: Span) -> bool:
        """Whether ``other`` lies within this range."""
        return (
            self.file == other.file
            and (self.line, self.column) <= (other.line, other.column)
            and (other.end_line, other.end_column) <= (self.end_line, self.end_column)
        )


class Nest(Generic[_T]):
    """Things by their places, which lie in one another or apart, as those of the nodes of a tree do: what is around a place is
    found without looking at all of them."""

    def __init__(self, placed: Iterable[tuple[Span, _T]]) -> None:
        # Of two that begin together the one around the other comes first.
        self._placed = sorted(placed, key=lambda one: (*_start(one[0]), -one[0].end_line, -one[0].end_column))
        self._starts = [_start(span) for span, _ in self._placed]
        #: For each the number of the innermost other one around it, -1 where there is none.
        self._outer: list[int] = []
        for number, (span, _) in enumerate(self._placed):
            outer = number - 1
            while outer >= 0 and not self._placed[outer][0].contains(span):
                outer = self._outer[outer]
            self._outer.append(outer)

    def around(self, span: Span) -> list[_T]:
        """Those whose places contain ``span``, outermost first."""
        found: list[_T] = []
        number = bisect_right(self._starts, _start(span)) - 1
        while number >= 0:
            place, thing = self._placed[number]
            if place.contains(span):
                found.append(thing)
            number = self._outer[number]
        return found[::-1]


def _start(span: Span) -> tuple[str, int, int]:
    return span.file, span.line, span.column
