"""From the paths on the command line to the files that are meant: folders searched, globs expanded, ignores heeded."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import field, replace

from kernlint.errors import UsageError, missing
from kernlint.files import read_regular
from kernlint.lint.config import Configurations
from kernlint.lint.git_ignores import own_ignore_files
from kernlint.lint.globs import expand, is_glob
from kernlint.lint.model import Finding
from kernlint.lint.patterns import Patterns
from kernlint.lint.reading import MAX_BYTES, unreadable
from kernlint.lint.settings import Settings
from kernlint.records import dataclass
from kernlint.write import link_out_of


@dataclass(frozen=True, order=True)
class Target:
    """A file to check: its absolute ``path``, the name ``shown`` for it, and whether it was named on the command line
    (``explicit``) rather than found in a folder. ``outside`` is the file that it is a link to, where that is in none of the
    folders that whoever named the paths can have meant: it is read, and not written."""

    path: str
    shown: str
    explicit: bool = False
    outside: str = ""


@dataclass
class Found:
    """The files, in order, and a finding for each folder that could not be read."""

    targets: list[Target] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def find_files(paths: Iterable[str], configurations: Configurations) -> Found:
    """Every file that ``paths`` (files, folders, globs) mean, each once, whatever links lead to it.

    A named file is taken whatever it is called and whatever ignores it, unless ``force-exclude`` is set. Folders are
    searched below, without following links to folders, so that a cycle cannot arise.

    Raises ``UsageError`` for a path that does not exist and a glob that matches nothing.
    """
    finder = _Finder(configurations)
    for path in paths:
        finder.add(path)
    finder.drop_links()
    return Found(list(finder.targets.values()), finder.findings)


def is_left_out(path: str, configurations: Configurations) -> bool:
    """Whether the file at the absolute ``path`` is not to be checked although it is named."""
    return _Finder(configurations).leaves_out(path)


def is_excluded(path: str, configurations: Configurations) -> bool:
    """Whether the settings exclude the file at the absolute ``path``, or a folder that it is in, by a pattern."""
    return _Finder(configurations).excludes(path)


def shown_name(path: str) -> str:
    """``path`` as findings show it: relative to the working folder where it is below, with forward slashes."""
    return _shown(os.path.abspath(path), os.getcwd())


def _shown(absolute: str, here: str) -> str:
    return absolute.removeprefix(here.rstrip(os.sep) + os.sep).replace(os.sep, "/")


class _Finder:
    def __init__(self, configurations: Configurations) -> None:
        self.configurations = configurations
        self.targets: dict[str, Target] = {}
        self.findings: list[Finding] = []
        #: The targets that may be the same file as another one.
        self._links: list[str] = []
        self._excludes: dict[tuple[int, str | None], list[Patterns]] = {}

    def add(self, path: str) -> None:
        if "\0" in path or not path:
            raise UsageError(f"{path!r}: not a file name")
        if os.path.isdir(path):
            self._search(os.path.abspath(path))
        elif os.path.lexists(path):
            self._take(os.path.abspath(path))
        elif is_glob(path):
            matches = _expanded(path)
            if not matches:
                raise UsageError(f"{path}: no such file, and as a pattern it matches none")
            for match in matches:
                # A folder that `**` matches too would bring in what the rest of the pattern leaves out.
                if not os.path.isdir(match):
                    self._take(os.path.abspath(match))
        else:
            raise UsageError(missing(path, "no such file or folder"))

    def drop_links(self) -> None:
        """Leave out links to files that are targets themselves, by whatever path: what is wrong there is wrong once, and to
        mend once."""
        others = set(self.targets) - set(self._links)
        for path in self._links:
            real = os.path.realpath(path)
            if real in others:
                self.targets.pop(path, None)
            others.add(real)

    def _take(self, path: str) -> None:
        if self.leaves_out(path):
            return
        if path not in self.targets and os.path.realpath(path) != path:
            self._links.append(path)
        outside = link_out_of(path, os.getcwd(), os.path.dirname(path))
        self.targets[path] = Target(path, shown_name(path), explicit=True, outside=outside)

    def leaves_out(self, path: str) -> bool:
        """Whether ``force-exclude`` is set and the file excluded or ignored."""
        settings = self.configurations.of(os.path.dirname(path))
        return settings.force_exclude and self._excluded_above(path, settings)

    def excludes(self, path: str) -> bool:
        """Whether a pattern of the settings excludes the file, whatever git ignores."""
        settings = self.configurations.of(os.path.dirname(path))
        return self._excluded_above(path, replace(settings, respect_gitignore=False))

    def _excluded_above(self, path: str, settings: Settings) -> bool:
        """Whether the file or a folder that it is in is excluded or ignored."""
        folder = os.path.dirname(path)
        ignores = _ignores_above(folder) + _ignore_file(folder) if settings.respect_gitignore else []
        while path != os.path.dirname(path):
            is_folder = os.path.isdir(path)
            if self._excluded(path, settings, is_folder) or _ignored(path, ignores, is_folder):
                return True
            path = os.path.dirname(path)
        return False

    def _search(self, top: str) -> None:
        behind_link, here = os.path.realpath(top) != top, os.getcwd()
        # A stack, not recursion: folders can be nested deeper than Python calls.
        stack = [(top, [ignores.reaching_into(top) for ignores in _ignores_above(top)])]
        while stack:
            folder, ignores = stack.pop()
            settings = self.configurations.of(folder)
            if settings.respect_gitignore:
                ignores = [*ignores, *_ignore_file(folder)]
            folders = []
            for entry in self._entries(folder, settings):
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and not settings.includes(entry.path):
                    continue
                if self._excluded(entry.path, settings, is_folder, top):
                    continue
                if settings.respect_gitignore and _ignored(entry.path, ignores, is_folder):
                    continue
                if is_folder:
                    folders.append(entry.path)
                elif entry.path not in self.targets and _is_file(entry):
                    outside = link_out_of(entry.path, top) if entry.is_symlink() else ""
                    self.targets[entry.path] = Target(entry.path, _shown(entry.path, here), outside=outside)
                    if behind_link or entry.is_symlink():
                        self._links.append(entry.path)
            stack += [(path, ignores) for path in reversed(folders)]

    def _entries(self, folder: str, settings: Settings) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            reason = f"the folder cannot be read: {error.strerror or error}"
            self.findings += unreadable(shown_name(folder), reason, settings.of_file(folder))
            return []

    def _excluded(self, path: str, settings: Settings, is_folder: bool, top: str | None = None) -> bool:
        """Whether the settings exclude ``path``, which was found in the search of ``top``."""
        key = (id(settings), top)
        patterns = self._excludes.get(key)
        if patterns is None:
            patterns = [Patterns(root, lines) for root, lines in settings.exclude if lines]
            if top is not None:
                patterns = [pattern.reaching_into(top) for pattern in patterns]
            self._excludes[key] = patterns
        return any(pattern.decides(path, is_folder) for pattern in patterns)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a link to one."""
    try:
        return entry.is_file()
    except OSError:  # a link that leads in a circle
        return False


def _expanded(pattern: str) -> list[str]:
    try:
        return expand(pattern)
    except ValueError as error:
        raise UsageError(f"{pattern}: not a pattern: {error}") from None


def _ignored(path: str, ignores: list[Patterns], is_folder: bool) -> bool:
    """Whether git would ignore ``path``: the innermost .gitignore that says anything of it decides."""
    for patterns in reversed(ignores):
        decision = patterns.decides(path, is_folder)
        if decision is not None:
            return decision
    return False


def _ignores_above(folder: str) -> list[Patterns]:
    """What the repository around ``folder`` says from above it, the outermost first; nothing outside of one."""
    found: list[list[Patterns]] = []
    here = folder
    while True:
        if here != folder:
            found.append(_ignore_file(here))
        if os.path.exists(os.path.join(here, ".git")):
            found += [_ignore_file(here, path) for path in own_ignore_files(here)]
            return [patterns for level in reversed(found) for patterns in level]
        parent = os.path.dirname(here)
        if parent == here:
            return []
        here = parent


def _ignore_file(folder: str, name: str = ".gitignore") -> list[Patterns]:
    """The patterns of a file, whose name may be relative to ``folder``, for what is in that."""
    try:
        text = read_regular(os.path.join(folder, name), MAX_BYTES).decode("utf-8-sig", "surrogateescape")
    except (OSError, ValueError):
        return []
    return [Patterns.lenient(folder, text.replace("\r\n", "\n").split("\n"))]
