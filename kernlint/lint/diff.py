"""Which lines changed since a commit, from git: for findings on changed lines only."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable

from kernlint.errors import UsageError
from kernlint.lint.model import Finding

_HUNK = re.compile(r"@@ -\S+ \+(?P<start>\d+)(?:,(?P<count>\d+))? @@")

#: What is said of a file whose attributes forbid to show its lines, as some do of notebooks.
_BINARY = re.compile(r'Binary files .* and (?P<new>b/.*|"b/.*") differ')

#: The lines of a file that is new as a whole.
_ALL = [(1, 1 << 60)]


class ChangedLines:
    """The line ranges (inclusive) of each file that differ between the work tree and where it left ``base``."""

    def __init__(self, ranges: dict[str, list[tuple[int, int]]]) -> None:
        self._ranges = ranges

    def touch(self, finding: Finding) -> bool:
        """Whether ``finding`` stands on a changed line. In a notebook lines are those of cells, and any change
        counts."""
        ranges = self._ranges.get(os.path.realpath(finding.file), ())
        if finding.place.cell is not None:
            return bool(ranges)
        return any(start <= finding.place.end_line and finding.place.line <= end for start, end in ranges)

    def select(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings on changed lines."""
        return [finding for finding in findings if self.touch(finding)]


def changed_lines(base: str) -> ChangedLines:
    """What changed since the last common commit of HEAD and ``base``, uncommitted and untracked files included.

    Raises ``UsageError`` where git is missing, this is no repository, or ``base`` no commit.
    """
    top = _git("rev-parse", "--show-toplevel").strip()
    if not base or base.startswith("-"):
        raise UsageError(f"--diff-base {base}: not a commit")
    shallow = _git("rev-parse", "--is-shallow-repository", check=False).strip() == "true"
    what = f"--diff-base {base}: not a commit{' of this shallow clone; fetch it first' * shallow}"
    commit = _git("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}", what=what)
    start = _git("merge-base", commit.strip(), "HEAD", what="", check=False).strip() or commit.strip()
    # Whatever the user's configuration says of diffs, and what the attributes of a file say of showing it.
    diff = _git("-c", "core.quotepath=off", "diff", "--unified=0", "--inter-hunk-context=0", "--no-color", "--no-ext-diff",
                "--no-textconv", "--no-relative", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/",
                "--ignore-submodules", start)  # fmt: skip
    ranges = {os.path.realpath(os.path.join(top, name)): lines for name, lines in _ranges(diff).items()}
    untracked = _git("-C", top, "ls-files", "--others", "--exclude-standard", "-z")
    ranges |= {os.path.realpath(os.path.join(top, name)): _ALL for name in untracked.split("\0") if name}
    return ChangedLines(ranges)


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


def _git(*arguments: str, what: str = "", check: bool = True) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError("--diff-base needs git, which is not installed") from None
    if check and done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("fatal: ")
        raise UsageError(what or f"--diff-base: git: {said}")
    return done.stdout.decode("utf-8", "surrogateescape")
