"""Which lines changed since a commit, from git: for findings on changed lines only."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence

from kernlint.errors import UsageError
from kernlint.lint.git import Git
from kernlint.lint.model import Finding
from kernlint.lint.names import is_outside, relative_name

_HUNK = re.compile(r"@@ -\S+ \+(?P<start>\d+)(?:,(?P<count>\d+))? @@")

#: What is said of a file whose attributes forbid to show its lines, as some do of notebooks.
_BINARY = re.compile(r'Binary files .* and (?P<new>b/.*|"b/.*") differ')

#: The lines of a file that is new as a whole.
_ALL = [(1, 1 << 60)]

#: The mode of a submodule in an index.
_SUBMODULE = "160000"


class ChangedLines:
    """The line ranges (inclusive) that differ between the work tree at ``top`` and where it left ``base``, by the name of each
    ``tracked`` file from there. Of a file that git does not track every line is new."""

    def __init__(self, top: str, ranges: Mapping[str, Sequence[tuple[int, int]]], tracked: Collection[str]) -> None:
        self._top = os.path.realpath(top)
        self._ranges = ranges
        self._tracked = tracked

    def touch(self, finding: Finding) -> bool:
        """Whether ``finding`` stands on a changed line. In a notebook lines are those of cells, and any change
        counts."""
        name = relative_name(os.path.realpath(finding.file), self._top)
        ranges = self._ranges.get(name, ()) if name in self._tracked else _ALL
        if finding.place.cell is not None:
            return bool(ranges)
        return any(start <= finding.place.end_line and finding.place.line <= end for start, end in ranges)

    def select(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings on changed lines."""
        return [finding for finding in findings if self.touch(finding)]


def changed_lines(base: str) -> ChangedLines:
    """What changed since the last common commit of HEAD and ``base``, uncommitted changes included; in a submodule, since the
    commit of it that belongs to that one.

    Raises ``UsageError`` where git is missing, this is no repository, or ``base`` no commit.
    """
    here = Git()
    top = here.top
    if not base or base.startswith("-") or "\0" in base:
        raise UsageError(f"--diff-base {base}: not a commit")
    commit = here.commit(base)
    if commit is None:
        raise UsageError(
            f"--diff-base {base}: not a commit{' of this shallow clone; fetch it first' * here.is_shallow}"
        )
    ranges: dict[str, list[tuple[int, int]]] = {}
    tracked: set[str] = set()
    trees = [("", here, here.fork_point(commit))]
    seen = {os.path.realpath(top)}
    with tempfile.TemporaryDirectory(prefix="kernlint-") as scratch:
        while trees:
            prefix, git, start = trees.pop()
            tree = git.work_tree(tempfile.mkdtemp(dir=scratch))
            ranges |= {prefix + name: lines for name, lines in _ranges(tree.diff(start)).items()}
            for mode, name in tree.tracked():
                if mode != _SUBMODULE:
                    tracked.add(prefix + name)
                    continue
                folder = os.path.realpath(os.path.join(tree.top, name))
                # One that is not here, or that an index only pretends to be.
                if folder in seen or is_outside(relative_name(folder, top)) or not os.path.lexists(f"{folder}/.git"):
                    continue
                seen.add(folder)
                submodule, before = Git(folder, inside=True), git.entry(start, name)
                if before and submodule.commit(before) is not None:
                    trees.append((f"{prefix}{name}/", submodule, before))
    return ChangedLines(top, ranges, tracked)


def _ranges(diff: str) -> dict[str, list[tuple[int, int]]]:
    """The changed lines of each file, by its name from the top of the repository, in what `git diff --unified=0` prints."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    current: list[tuple[int, int]] = []
    inside = False  # a hunk, where any line may look like a head: each begins with + or -
    for line in diff.split("\n"):
        hunk = _HUNK.match(line)
        binary = _BINARY.fullmatch(line)
        if line.startswith("diff --git "):
            inside = False
        elif hunk:
            inside = True
            count = int(hunk["count"] or 1)
            first = int(hunk["start"])
            # Lines that only went leave a change between two lines.
            current.append((first, first + max(count, 1) - 1))
        elif not inside and line.startswith("+++ "):
            current = []
            name = _unquoted(line[4:].rstrip("\t"))
            if name.startswith("b/"):
                ranges[name[2:]] = current
        elif not inside and binary and _unquoted(binary["new"]).startswith("b/"):
            ranges[_unquoted(binary["new"])[2:]] = _ALL
    return ranges


def repository_root(folder: str) -> str | None:
    """The top of the repository that ``folder`` is in, told by its ``.git``; None outside of one."""
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _unquoted(name: str) -> str:
    """A file name as git prints it; one with quotes, backslashes or control characters is a C string."""
    if not name.startswith('"'):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape")
    return raw.decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "surrogateescape")
