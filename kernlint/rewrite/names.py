"""Names for what a rewrite adds."""

from __future__ import annotations


def fresh_name(wish: str, taken: set[str]) -> str:
    """``wish``, or with a number behind it where it is ``taken``; taken from now on."""
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}_{number}", number + 1
    taken.add(name)
    return name
