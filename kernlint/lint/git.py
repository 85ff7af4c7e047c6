"""The one place that starts git, so that nothing which a repository says starts anything else.

A repository may be planted: unpacked from an archive, or a folder inside another one. Its configuration, and with it attributes,
hooks and submodules, can name programs for git to run: monitors, filters, drivers of diffs, transports. A list of the settings
to switch off would have to know all of them, those of later releases too. So what reads its configuration are commands that only
look names up; what compares files does so under a configuration of our own.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import field

from kernlint.errors import UsageError
from kernlint.records import dataclass

#: Against a named pipe in place of a file that git itself opens, not against slowness.
_PATIENCE_S = 300

#: What git tells the programs that it starts, a hook that we run in for one, about where it is at work, and what its user says of
#: configuration and of where to look. The rest of its variables name programs, or write traces.
_ABOUT_PLACES = frozenset(
    f"GIT_{name}"
    for name in (
        "DIR COMMON_DIR WORK_TREE INDEX_FILE PREFIX OBJECT_DIRECTORY ALTERNATE_OBJECT_DIRECTORIES NAMESPACE "
        "CEILING_DIRECTORIES DISCOVERY_ACROSS_FILESYSTEM CONFIG_GLOBAL CONFIG_SYSTEM CONFIG_NOSYSTEM CONFIG_PARAMETERS "
        "CONFIG_COUNT"
    ).split()
)
_CONFIG = re.compile(r"GIT_CONFIG_(KEY|VALUE)_\d+")

#: Those of them that are about one repository, and not about another one inside of it.
_OF_ONE_REPOSITORY = frozenset(
    f"GIT_{name}"
    for name in "DIR COMMON_DIR WORK_TREE INDEX_FILE PREFIX OBJECT_DIRECTORY ALTERNATE_OBJECT_DIRECTORIES".split()
)

#: For every call. An object that a partial clone lacks is not fetched: a transport is a program, and so is its proxy.
_ALWAYS = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

#: The settings on which it depends whether a file of the work tree differs, and what they can be; none of them is a name.
_COMPARING = {
    f"core.{name.lower()}": re.compile(values)
    for names, values in (
        ("autocrlf", "input|true|false|yes|no|on|off|1|0"),
        ("eol", "lf|crlf|native"),
        ("fileMode ignoreCase symlinks trustCtime precomposeUnicode longPaths", "true|false|yes|no|on|off|1|0"),
        ("checkStat", "default|minimal"),
    )
    for name in names.split()
}


class Git:
    """Asks git about the work tree that ``folder`` is in, by default the working one. ``inside`` another repository, what
    the environment says is about that one."""

    def __init__(self, folder: str = "", inside: bool = False) -> None:
        self.folder = folder
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_")
            or _CONFIG.fullmatch(name)
            or (name in _ABOUT_PLACES and not (inside and name in _OF_ONE_REPOSITORY))
        }

    def line(self, *arguments: str, check: bool = True) -> str:
        """What ``git rev-parse`` or another command that only looks names up answers, without the end of its line. Raises
        ``UsageError`` where it fails, unless ``check`` is false."""
        place = ["-C", self.folder] if self.folder else []
        # None of these commands comes to need them; that they are off does not hang on it.
        off = ["-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"]
        return _said([*place, *off, *arguments], self._environment, check).removesuffix("\n")

    @property
    def top(self) -> str:
        """The folder of the work tree. Raises ``UsageError`` where there is none."""
        return self.line("rev-parse", "--show-toplevel")

    @property
    def is_shallow(self) -> bool:
        return self.line("rev-parse", "--is-shallow-repository", check=False) == "true"

    def commit(self, name: str) -> str | None:
        """The hash of the commit called ``name``."""
        return self.line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False) or None

    def entry(self, commit: str, name: str) -> str:
        """The hash of what is at ``name`` in ``commit``; empty where nothing is."""
        return self.line("rev-parse", "--verify", "--quiet", f"{commit}:{name}", check=False)

    def fork_point(self, commit: str) -> str:
        """The last common commit of HEAD and ``commit``, else ``commit``."""
        return self.line("merge-base", commit, "HEAD", check=False) or commit

    def work_tree(self, scratch: str) -> WorkTree:
        """The work tree and its index, to be compared with commits, with the empty folder ``scratch`` as the repository."""
        settings = self._settings()
        partial = any(name == "extensions.partialclone" or name.endswith(".promisor") for name in settings)
        os.makedirs(os.path.join(scratch, "refs"))
        os.makedirs(os.path.join(scratch, "objects"))
        _write(os.path.join(scratch, "HEAD"), "ref: refs/heads/none\n")
        kind = self.line("rev-parse", "--show-object-format", check=False)
        version, extension = (1, "[extensions]\n\tobjectFormat = sha256\n") if kind == "sha256" else (0, "")
        values = "".join(
            f"\t{name.partition('.')[2]} = {value}\n"
            for name, value in settings.items()
            if name in _COMPARING and _COMPARING[name].fullmatch(value.lower())
        )
        text = f"[core]\n\trepositoryFormatVersion = {version}\n{values}{extension}"
        _write(os.path.join(scratch, "config"), text)
        self._share_index(scratch)
        environment = {name: value for name, value in self._environment.items() if not name.startswith("GIT_")}
        environment |= {
            "HOME": scratch,
            "XDG_CONFIG_HOME": scratch,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": os.path.abspath(scratch),
            "GIT_WORK_TREE": os.path.abspath(self.top),
            "GIT_INDEX_FILE": self._path("index"),
            "GIT_OBJECT_DIRECTORY": self._path("objects"),
        }
        alternates = self._environment.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
        if alternates is not None:  # of what is being received, in a hook
            environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = alternates
        return WorkTree(environment["GIT_WORK_TREE"], environment, partial)

    def _path(self, name: str) -> str:
        """The absolute path of a file of the repository, wherever the environment has it."""
        return os.path.abspath(os.path.join(self.folder, self.line("rev-parse", "--git-path", name)))

    def _settings(self) -> dict[str, str]:
        """All that the user and the repository have set, by name in lower case, files that they include read too."""
        entries = (entry.partition("\n") for entry in self.line("config", "--list", "-z", check=False).split("\0"))
        # A name without a value is true.
        return {name.lower(): value if equals else "true" for name, equals, value in entries if name}

    def _share_index(self, scratch: str) -> None:
        """The rest of an index that is split: it is looked for in the repository."""
        folder = os.path.dirname(self._path("sharedindex"))
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if name.startswith("sharedindex.") and os.path.isfile(path):
                shutil.copyfile(path, os.path.join(scratch, name))


@dataclass(frozen=True)
class WorkTree:
    """The work tree at ``top``, which git sees in ``environment``; of a ``partial`` clone objects may be missing."""

    top: str
    environment: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False

    def diff(self, start: str) -> str:
        """What changed since the commit ``start``, no line around it and whole files for those of which the attributes forbid to
        show lines. Raises ``UsageError``."""
        try:
            # With the automatic refresh the index is written, locks or not.
            return self._said("-c", "core.quotePath=false", "-c", "diff.autoRefreshIndex=false", "diff", "--unified=0",
                              "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative",
                              "--find-renames", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules",
                              start, "--")  # fmt: skip
        except UsageError as error:
            hint = "; this clone is partial: `git diff` fetches what it lacks" if self.partial else ""
            raise UsageError(f"{error}{hint}") from None

    def tracked(self) -> Iterator[tuple[str, str]]:
        """Mode and name of everything in the index."""
        for entry in self._said("ls-files", "--stage", "-z").split("\0"):
            if entry:
                described, _, name = entry.partition("\t")
                yield described.split(" ")[0], name

    def _said(self, *arguments: str) -> str:
        return _said(["-C", self.top, *arguments], self.environment, check=True)


def _said(arguments: list[str], environment: Mapping[str, str], check: bool) -> str:
    """What git prints, as text. Raises ``UsageError`` where it fails, unless ``check`` is false."""
    import subprocess  # takes longer than all that is needed of this module without --diff-base

    try:
        done = subprocess.run(
            [_program(), "--no-pager", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={**environment, **_ALWAYS},
            timeout=_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"--diff-base: git {arguments[-1]} has not ended after {_PATIENCE_S} seconds") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"--diff-base: git cannot be started: {error}") from None
    if check and done.returncode != 0:
        said = (
            done.stderr.decode("utf-8", "replace")
            .strip()
            .split("\n")[0]
            .removeprefix("fatal: ")
            .removeprefix("error: ")
        )
        raise UsageError(f"--diff-base: git: {said}")
    return done.stdout.decode("utf-8", "surrogateescape")


def _program() -> str:
    """Where git is installed. Folders of PATH that are relative are left out, and with them, on Windows, the working folder that
    is searched first: a repository may hold a program of that name."""
    name = "git.exe" if os.name == "nt" else "git"
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise UsageError("--diff-base needs git, which is not installed")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
