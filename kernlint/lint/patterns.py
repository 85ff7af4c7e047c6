"""Glob patterns as gitignore reads them: for excludes, per-file ignores and references."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from kernlint.errors import UsageError
from kernlint.lint.globs import Segment, Step, reaches, split_pattern, steps_of
from kernlint.lint.names import is_outside, relative_name
from kernlint.records import dataclass

#: Spaces at the end of a line, without one that a backslash keeps.
_TRAILING = re.compile(r"(?<!\\) +\Z")

#: What makes a pattern more than the name that it means.
_MAGIC = re.compile(r"[*?\[\\]")


class Patterns:
    """``lines`` of gitignore syntax, relative to ``root``. Raises ``UsageError`` for a pattern that is none."""

    def __init__(self, root: str, lines: Iterable[str]) -> None:
        self.root = root
        self._lines = list(lines)
        self._patterns = [pattern for pattern in map(_compiled, self._lines) if pattern is not None]
        #: The only names that any of them means, in whatever folder; None where that cannot be told.
        self._names = _plain_names(self._patterns)
        #: Whether all that is in a folder matches, as the folder does or one that it is in.
        self._whole: dict[str, bool] = {"": False}

    @classmethod
    def lenient(cls, root: str, lines: Iterable[str]) -> Patterns:
        """These without the lines that are no patterns, as git does."""
        return cls(root, [line for line in lines if _is_pattern(line)])

    def decides(self, path: str, is_folder: bool = False) -> bool | None:
        """Whether the absolute ``path`` matches: True, False where a ``!`` pattern takes it back, None where nothing
        is said of it, as outside the root."""
        if not self._patterns:
            return None
        # What is found in a folder begins with its name; `relpath` takes longer than all patterns.
        prefix = self.root.rstrip(os.sep) + os.sep
        inside = path.startswith(prefix)
        name = path[len(prefix) :].replace(os.sep, "/") if inside else relative_name(path, self.root)
        if not inside and (name == os.curdir or is_outside(name)):
            return None
        return True if self._holds_all_of(name.rpartition("/")[0]) else self._last(name, is_folder)

    def reaching_into(self, folder: str) -> Patterns:
        """These without the ones that match the absolute ``folder`` itself, or one that it is in: whoever asks for a
        folder means what is in it."""
        if not self.decides(folder, is_folder=True):
            return self
        kept = [line for line in self._lines if not Patterns(self.root, [line]).decides(folder, is_folder=True)]
        return Patterns(self.root, kept)

    def match(self, path: str) -> bool:
        """Whether the file ``path`` or a folder that it is in matches."""
        return self.decides(path) is True

    def _holds_all_of(self, folder: str) -> bool:
        """Whether everything in ``folder`` matches: what is in a folder cannot be taken back."""
        above = []
        while folder not in self._whole:
            above.append(folder)
            folder = folder.rpartition("/")[0]
        whole = self._whole[folder]
        for folder in reversed(above):
            whole = self._whole[folder] = whole or self._last(folder, True) is True
        return whole

    def _last(self, name: str, is_folder: bool) -> bool | None:
        """What the last of the patterns that match ``name`` itself says."""
        if self._names is not None and name.rpartition("/")[2] not in self._names:
            return None
        names = name.split("/")
        for pattern in reversed(self._patterns):
            if pattern.matches(names, is_folder):
                return not pattern.negative
        return None


@dataclass(frozen=True)
class _Pattern:
    """One line: ``steps`` from the root to what it means, or, where it has no slash, the ``name`` of that in any folder, written
    ``text``."""

    negative: bool
    folders_only: bool
    name: Segment | None
    steps: tuple[Step, ...] = ()
    text: str = ""

    def matches(self, names: list[str], is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        return self.name.matches(names[-1]) if self.name is not None else reaches(self.steps, names)


def _plain_names(patterns: Iterable[_Pattern]) -> frozenset[str] | None:
    """The names that ``patterns`` consist of; None where one is more than a name."""
    texts = [pattern.text for pattern in patterns]
    return None if any(not text or _MAGIC.search(text) for text in texts) else frozenset(texts)


def _is_pattern(line: str) -> bool:
    try:
        _compiled(line)
    except UsageError:
        return False
    return True


def _compiled(line: str) -> _Pattern | None:
    """The pattern that is in a line; None where it is empty or a comment. Raises ``UsageError``."""
    if line.startswith(("./", "../")):  # which match nothing, as git has it
        raise UsageError(f"not a pattern: {line!r}; patterns are as in .gitignore, where /x is the one in this folder")
    text = "" if line.startswith("#") else _TRAILING.sub("", line)
    negative = text.startswith("!")
    text = text[negative:]
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        return None
    try:
        if "/" not in text:
            return _Pattern(negative, folders_only, Segment(text), text=text)
        return _Pattern(negative, folders_only, None, tuple(steps_of(split_pattern(text.removeprefix("/")))))
    except ValueError as error:
        raise UsageError(f"not a pattern: {line!r}: {error}") from None
