"""Globs, matched in time that grows with the length of pattern times name: a regular expression tries every way to divide a
name among the stars, which for twelve of them takes minutes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "a-fA-F0-9",
}
_POSIX_CLASS = re.compile(r"\[:([^\]\[:]*):\]")

#: What can be told from a literal in a path that may be a glob.
_MAGIC = re.compile(r"[*?\[]")


class Segment:
    """A pattern for one name, as gitignore has it: ``*``, ``?``, ``[...]``, and a backslash before what is meant literally.

    Between its stars are pieces of fixed length, and the leftmost place for each leaves the most for those behind it. Raises
    ``ValueError`` for a range that runs backwards.
    """

    def __init__(self, text: str) -> None:
        pieces = _pieces(text)
        #: None where nothing can match, as after a bracket that is never closed.
        self._pieces = None if pieces is None else [(re.compile("".join(p), re.DOTALL), len(p)) for p in pieces]

    def matches(self, name: str) -> bool:
        if self._pieces is None:
            return False
        first, length = self._pieces[0]
        if len(self._pieces) == 1:
            return len(name) == length and first.match(name) is not None
        if not first.match(name):
            return False
        place = length
        for piece, _ in self._pieces[1:-1]:
            found = piece.search(name, place)
            if not found:
                return False
            place = found.end()
        last, length = self._pieces[-1]
        return len(name) - length >= place and last.match(name, len(name) - length) is not None


class Folders:
    """Stands between segments for any number of folders, none too: ``**``."""


ANY_FOLDERS = Folders()

Step = Segment | Folders


def split_pattern(text: str) -> list[str]:
    """``text`` divided at its slashes, but for those in brackets."""
    parts = [""]
    place = 0
    while place < len(text):
        end = _end_of_class(text, place) if text[place] == "[" else place + (2 if text[place] == "\\" else 1)
        if text[place:end] in ("/", "\\/"):
            parts.append("")
        else:
            parts[-1] += text[place:end]
        place = end
    return parts


def steps_of(parts: Sequence[str]) -> list[Step]:
    """What to match a path with, from a pattern that was split."""
    steps: list[Step] = [ANY_FOLDERS if len(part) > 1 and part == "*" * len(part) else Segment(part) for part in parts]
    # At the end it stands for what is inside, however deep, not for the folder itself.
    return [*steps, Segment("*")] if steps and steps[-1] is ANY_FOLDERS else steps


def reaches(steps: Sequence[Step], names: Sequence[str]) -> bool:
    """Whether ``steps`` match the path of ``names``."""
    step = place = 0
    back: tuple[int, int] | None = None
    while place < len(names):
        here = steps[step] if step < len(steps) else None
        if isinstance(here, Folders):
            step += 1
            back = (step, place)
        elif here is not None and here.matches(names[place]):
            step += 1
            place += 1
        elif back is not None:
            step, place = back[0], back[1] + 1
            back = (step, place)
        else:
            return False
    return all(isinstance(rest, Folders) for rest in steps[step:])


def is_glob(path: str) -> bool:
    """Whether ``path`` has characters that a pattern is made of."""
    return _MAGIC.search(path) is not None


def expand(path: str) -> list[str]:
    """The files and folders that the glob ``path`` means, in order, as a shell has it: names that begin with a dot are matched
    only by a pattern that does, and ``**`` is any number of folders, links not followed."""
    drive, rest = os.path.splitdrive(path)
    root = drive + os.sep if rest[:1] in (os.sep, os.altsep or os.sep) else drive
    parts = [part for part in re.split(r"[/\\]" if os.sep == "\\" else "/", rest) if part]
    found: dict[str, None] = {}
    # Each place of the pattern in each folder once, by whatever way: two `**` side by side lead there by many.
    seen: set[tuple[str, int]] = set()
    waiting = [(root, 0)]
    while waiting:
        folder, step = waiting.pop()
        if (folder, step) in seen:
            continue
        seen.add((folder, step))
        if step == len(parts):
            found[folder] = None
            continue
        part = parts[step]
        if part == "**":
            waiting.append((folder, step + 1))
            shown = [entry for entry in _entries(folder) if entry.name[0] != "."]
            waiting += [(os.path.join(folder, e.name), step) for e in shown if e.is_dir(follow_symlinks=False)]
            if step + 1 == len(parts):
                found.update({os.path.join(folder, e.name): None for e in shown})
        elif not is_glob(part):
            if os.path.lexists(os.path.join(folder, part)):
                waiting.append((os.path.join(folder, part), step + 1))
        else:
            segment = Segment(part.replace("\\", "\\\\"))
            last = step + 1 == len(parts)
            for entry in _entries(folder):
                hidden = entry.name[0] == "." and part[0] != "."
                if not hidden and segment.matches(entry.name) and (last or os.path.isdir(entry.path)):
                    waiting.append((os.path.join(folder, entry.name), step + 1))
    return sorted(path for path in found if path)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder or os.curdir) as entries:
            yield from entries
    except OSError:
        return


def _pieces(text: str) -> list[list[str]] | None:
    """Regular expressions for the characters between the stars of ``text``; None where nothing matches it."""
    pieces: list[list[str]] = [[]]
    place = 0
    while place < len(text):
        character = text[place]
        end = place + 1
        if character == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append([])
        elif character == "?":
            pieces[-1].append(".")
        elif character == "[":
            end = _end_of_class(text, place)
            one = _class(text[place + 1 : end - 1]) if text[end - 1] == "]" and end - place > 2 else None
            if one is None:
                return None
            pieces[-1].append(one)
        else:
            if character == "\\":
                end += 1
            if end > len(text):
                return None
            pieces[-1].append(re.escape(text[end - 1]))
        place = end
    return pieces


def _end_of_class(text: str, place: int) -> int:
    """The place behind the bracket that closes the one at ``place``, else behind the whole text."""
    place += 1
    if text[place : place + 1] in ("!", "^"):
        place += 1
    first = True
    while place < len(text):
        posix = _POSIX_CLASS.match(text, place)
        if posix:
            place = posix.end()
        elif text[place] == "]" and not first:
            return place + 1
        else:
            place += 2 if text[place] == "\\" else 1
        first = False
    return len(text)


def _class(text: str) -> str | None:
    """The regular expression for a class of characters, given what is in its brackets; None for one that git knows not."""
    negated = text[:1] in ("!", "^")
    place = int(negated)
    members: list[str] = []
    while place < len(text):
        posix = _POSIX_CLASS.match(text, place)
        if posix:
            if posix[1] not in _POSIX:
                return None
            members.append(_POSIX[posix[1]])
            place = posix.end()
            continue
        low, place = _member(text, place)
        if text[place : place + 1] == "-" and place + 1 < len(text):
            high, place = _member(text, place + 1)
            if low > high:
                raise ValueError(f"the range {low}-{high} runs backwards")
            members.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            members.append(re.escape(low))
    return f"[{'^' * negated}{''.join(members)}]"


def _member(text: str, place: int) -> tuple[str, int]:
    if text[place] == "\\" and place + 1 < len(text):
        place += 1
    return text[place], place + 1
