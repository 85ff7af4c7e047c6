"""Which lines changed since a commit, from git: for findings on changed lines only."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kernlint.errors import UsageError
from kernlint.lint.model import Finding
from kernlint.lint.names import relative_name

_HUNK = re.compile(r"@@ -\S+ \+(?P<start>\d+)(?:,(?P<count>\d+))? @@")

#: What is said of a file whose attributes forbid to show its lines, as some do of notebooks.
_BINARY = re.compile(r'Binary files .* and (?P<new>b/.*|"b/.*") differ')

#: The lines of a file that is new as a whole.
_ALL = [(1, 1 << 60)]

#: The mode of a submodule in an index.
_SUBMODULE = "160000"

_OF_ONE_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"})


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
    here = _Git()
    top = here.said("rev-parse", "--show-toplevel").rstrip("\n")
    if not base or base.startswith("-"):
        raise UsageError(f"--diff-base {base}: not a commit")
    commit = here.commit(base)
    if commit is None:
        shallow = here.said("rev-parse", "--is-shallow-repository", check=False).strip() == "true"
        raise UsageError(f"--diff-base {base}: not a commit{' of this shallow clone; fetch it first' * shallow}")
    start = here.said("merge-base", commit, "HEAD", check=False).strip() or commit
    ranges: dict[str, list[tuple[int, int]]] = {}
    tracked: set[str] = set()
    trees = [("", _Git(top), start)]
    while trees:
        prefix, git, start = trees.pop()
        ranges |= {prefix + name: lines for name, lines in _ranges(git.diff(start)).items()}
        for mode, name in git.tracked():
            if mode != _SUBMODULE:
                tracked.add(prefix + name)
                continue
            submodule = git.submodule(name)
            before = git.said("rev-parse", "--verify", "--quiet", f"{start}:{name}", check=False).strip()
            if submodule is not None and submodule.commit(before) is not None:
                trees.append((f"{prefix}{name}/", submodule, before))
    return ChangedLines(top, ranges, tracked)


class _Git:
    """Asks git about the work tree that ``folder`` is in, by default the working one."""

    def __init__(self, folder: str = "", environment: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._environment = environment

    def said(self, *arguments: str, check: bool = True) -> str:
        """What git answers, as text. Raises ``UsageError`` where it fails, unless ``check`` is false."""
        import subprocess  # takes longer than all that is needed of this module without --diff-base

        command = ["git", *(["-C", self._folder] if self._folder else []), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, check=False, env=self._environment)
        except FileNotFoundError:
            raise UsageError("--diff-base needs git, which is not installed") from None
        if check and done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("fatal: ")
            raise UsageError(f"--diff-base: git: {said}")
        return done.stdout.decode("utf-8", "surrogateescape")

    def commit(self, name: str) -> str | None:
        """The hash of the commit called ``name``."""
        return self.said("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False).strip() or None

    def diff(self, start: str) -> str:
        """What changed since ``start``, whatever the user's configuration says of diffs, and the attributes of a file of
        showing it."""
        return self.said("-c", "core.quotepath=off", "diff", "--unified=0", "--inter-hunk-context=0", "--no-color",
                         "--no-ext-diff", "--no-textconv", "--no-relative", "--find-renames", "--src-prefix=a/",
                         "--dst-prefix=b/", "--ignore-submodules", start)  # fmt: skip

    def tracked(self) -> Iterator[tuple[str, str]]:
        """Mode and name of everything in the index."""
        for entry in self.said("ls-files", "--stage", "-z").split("\0"):
            if entry:
                described, _, name = entry.partition("\t")
                yield described.split(" ")[0], name

    def submodule(self, name: str) -> _Git | None:
        """The work tree of a submodule, where it is there."""
        folder = os.path.join(self._folder, name)
        if not os.path.exists(os.path.join(folder, ".git")):
            return None
        # In a hook these are about the repository around it.
        environment = {key: value for key, value in os.environ.items() if key not in _OF_ONE_REPOSITORY}
        return _Git(folder, environment)


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
