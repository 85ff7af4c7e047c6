"""What files are called in relation to a folder."""

from __future__ import annotations

import os


def relative_name(path: str, folder: str) -> str:
    """``path`` relative to ``folder`` with forward slashes; the absolute one where no relative one leads there, as from one
    drive of Windows to another."""
    try:
        name = os.path.relpath(path, folder)
    except ValueError:
        name = os.path.abspath(path)
    return name.replace(os.sep, "/")


def is_outside(name: str) -> bool:
    """Whether the :func:`relative_name` of a file leads out of the folder."""
    return name == ".." or name.startswith("../") or os.path.isabs(name)
