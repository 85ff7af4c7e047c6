"""Reading regular files only: a named pipe would be waited for, a device never ends."""

from __future__ import annotations

import errno
import os
import stat

#: Opening a pipe that somebody puts in place of the file meanwhile must not wait either.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class NotRegular(OSError):
    """What is there is no regular file; ``reason`` says what it is, ``hint`` what to do instead where input was meant."""

    def __init__(self, path: str, kind: str) -> None:
        self.reason = f"is {kind}, not a file"
        self.hint = "; - reads standard input" if kind == "a named pipe" else ""
        super().__init__(errno.EINVAL, self.reason, path)


def open_regular(path: str) -> int:
    """A descriptor to read the regular file at ``path`` from. Raises ``OSError``, of which :class:`NotRegular` is one."""
    _require_regular(path, os.stat(path).st_mode)  # to open some devices is to use them
    descriptor = os.open(path, _FLAGS)
    try:
        _require_regular(path, os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: str, most: int) -> bytes:
    """The first ``most`` bytes of the regular file at ``path``. Raises ``OSError``."""
    with open(open_regular(path), "rb") as file:
        return file.read(most)


def _require_regular(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((kind for is_kind, kind in _KINDS if is_kind(mode)), "something else")
        raise NotRegular(path, kind)
