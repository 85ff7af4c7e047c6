"""What a standard stream can hold and show."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from kernlint.report.look import Look

_WIDTH = 80


def encodable(text: str, stream: TextIO) -> str:
    """``text`` with what the encoding of ``stream`` does not hold as escapes: a file name may hold anything."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def is_screen(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal on which the cursor can be moved."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """The characters of a line of the terminal ``stream``; what the user says in COLUMNS counts."""
    try:
        return int(os.environ.get("COLUMNS", "")) or _WIDTH
    except ValueError:
        pass
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


def look_of(stream: TextIO) -> Look:
    """What text looks like on ``stream``: plain where it is no terminal. NO_COLOR and FORCE_COLOR decide about colours
    (no-color.org, force-color.org); links, which few other readers understand, are for terminals alone."""
    from kernlint.report.look import Look

    screen = is_screen(stream)
    colour = not os.environ.get("NO_COLOR") and (screen or bool(os.environ.get("FORCE_COLOR")))
    return Look(
        colour=colour,
        links=colour and screen,
        blocks=screen and (stream.encoding or "").lower().replace("-", "") == "utf8",
        width=width_of(stream) if stream.isatty() else None,
    )
