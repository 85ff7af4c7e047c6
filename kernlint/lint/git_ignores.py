"""Where git keeps what it ignores besides ``.gitignore``: in a repository for itself, and at home for all of a user's."""

from __future__ import annotations

import os
import re

from kernlint.files import read_regular
from kernlint.lint.reading import MAX_BYTES

#: The setting as people write it; includes and conditions are not followed.
_EXCLUDES_FILE = re.compile(r"^\s*excludesfile\s*=\s*\"?(?P<path>[^\"\n#;]+)", re.IGNORECASE | re.MULTILINE)


def own_ignore_files(top: str) -> list[str]:
    """The files with patterns for the whole repository at ``top``, the more important first; they need not exist."""
    return [os.path.join(_common_folder(os.path.join(top, ".git")), "info", "exclude"), _of_the_user()]


def _common_folder(git: str) -> str:
    """The folder of a repository's own files, of which ``git`` names another one in a worktree and in a submodule."""
    pointer = _text(git)
    if not pointer.startswith("gitdir:"):
        return git
    folder = os.path.join(os.path.dirname(git), pointer.removeprefix("gitdir:").strip())
    return os.path.join(folder, _text(os.path.join(folder, "commondir")).strip())


def _of_the_user() -> str:
    home = os.path.expanduser("~")
    settings = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git")
    for name in (os.path.join(home, ".gitconfig"), os.path.join(settings, "config")):
        found = _EXCLUDES_FILE.findall(_text(name))
        if found:
            return os.path.expanduser(found[-1].strip())
    return os.path.join(settings, "ignore")


def _text(path: str) -> str:
    """What a text file holds; nothing where it cannot be read."""
    try:
        return read_regular(path, MAX_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""
