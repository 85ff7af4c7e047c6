"""Where the values of a JSON text stand in it: for changing one and leaving every other byte alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()

#: Start and end (exclusive) of a value in the text.
Span = tuple[int, int]


def members(text: str, start: int) -> dict[str, Span]:
    """The values of the object at ``start`` by their names; of equal names the last counts, as in ``json.loads``."""
    found: dict[str, Span] = {}
    position = _expect(text, start, "{")
    if text[position] == "}":
        return found
    while True:
        name, position = _DECODER.raw_decode(text, position)
        position = _expect(text, _skip(text, position), ":")
        end = _DECODER.raw_decode(text, position)[1]
        found[name] = (position, end)
        position = _skip(text, end)
        if text[position] != ",":
            return found
        position = _skip(text, position + 1)


def elements(text: str, start: int) -> Iterator[Span]:
    """The elements of the array at ``start``."""
    position = _expect(text, start, "[")
    while text[position] != "]":
        end = _DECODER.raw_decode(text, position)[1]
        yield position, end
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)


def top(text: str) -> int:
    """Where the value of the whole text begins."""
    return _skip(text, 0)


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    assert space is not None
    return space.end()


def _expect(text: str, position: int, mark: str) -> int:
    """The place behind ``mark``, which stands at ``position``, and the space behind it."""
    if text[position] != mark:
        raise ValueError(f"{mark!r} expected at {position}")
    return _skip(text, position + 1)
