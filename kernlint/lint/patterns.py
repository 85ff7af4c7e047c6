"""Glob patterns as gitignore reads them: for excludes, per-file ignores and references."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernlint.errors import UsageError
from kernlint.lint.names import is_outside, relative_name

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Patterns:
    """``lines`` of gitignore syntax, relative to ``root``. Raises ``UsageError`` for a pattern that is none."""

    def __init__(self, root: str, lines: Iterable[str]) -> None:
        self.root = root
        self._lines = list(lines)
        self._spec = _compiled(self._lines) if self._lines else None

    @classmethod
    def lenient(cls, root: str, lines: Iterable[str]) -> Patterns:
        """These without the lines that are no patterns, as git does."""
        lines = list(lines)
        try:
            return cls(root, lines)
        except UsageError:
            return cls(root, [line for line in lines if _is_pattern(line)])

    def decides(self, path: str, is_folder: bool = False) -> bool | None:
        """Whether the absolute ``path`` matches: True, False where a ``!`` pattern takes it back, None where nothing
        is said of it, as outside the root."""
        if self._spec is None:
            return None
        # What is found in a folder begins with its name; `relpath` takes longer than all patterns.
        prefix = self.root.rstrip(os.sep) + os.sep
        inside = path.startswith(prefix)
        name = path[len(prefix) :].replace(os.sep, "/") if inside else relative_name(path, self.root)
        if not inside and (name == os.curdir or is_outside(name)):
            return None
        return self._spec.check_file(f"{name}/" if is_folder else name).include

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


def _is_pattern(line: str) -> bool:
    try:
        _compiled([line])
    except UsageError:
        return False
    return True


def _compiled(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # imported here: a run on one named file needs none

    for line in lines:
        if line.startswith(("./", "../")):  # which match nothing, as git has it
            raise UsageError(
                f"not a pattern: {line!r}; patterns are as in .gitignore, where /x is the one in this folder"
            )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what its regular expressions may mean in a later Python
            return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error) as error:
        raise UsageError(f"not a pattern: {error}") from None
