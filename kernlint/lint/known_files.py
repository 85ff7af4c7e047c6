"""What files held when they were last read, told by their times, so that a run on files that did not change reads none of them."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from typing import Any

from kernlint.files import read_regular
from kernlint.lint.reading import MAX_BYTES, concerns_us
from kernlint.records import dataclass

#: A file that changed so shortly before it was read may change again at what counts as the same time.
_SETTLED_NS = 2_000_000_000

#: More files than this are remembered only as long as they are asked about.
_MOST = 100_000


@dataclass(frozen=True)
class Content:
    """The ``digest`` of what a file holds, and whether that can concern us (:func:`~kernlint.lint.reading.concerns_us`)."""

    digest: str
    ours: bool


def content_of(data: bytes) -> Content:
    """What there is to say of a file that holds ``data``."""
    return Content(hashlib.blake2b(data, digest_size=16).hexdigest(), concerns_us(data))


def digest_of(path: str) -> str:
    """A hash of the file at ``path``; empty where it cannot be read."""
    try:
        return content_of(read_regular(path, MAX_BYTES + 1)).digest
    except (OSError, ValueError):
        return ""


#: Size, times and number of a file: where all of these are as they were nobody has written to it.
_Stamp = tuple[int, ...]

#: What a record of a file consists of.
_KINDS = [str, int, int, int, int, str, bool]


class KnownFiles:
    """The content of files by path, from what an earlier run has noted (:meth:`to_records`), and what this one adds."""

    def __init__(self, records: Iterable[Any] = ()) -> None:
        self.changed = False
        self._known: dict[str, tuple[_Stamp, Content]] = {}
        self._looked_at: set[str] = set()
        for record in records:
            if isinstance(record, list) and [type(item) for item in record] == _KINDS:  # else not written by us
                path, *stamp, digest, ours = record
                self._known[path] = tuple(stamp), Content(digest, ours)

    def to_records(self) -> list[list[Any]]:
        """What the next run is to know."""
        known = self._known.items()
        if len(known) > _MOST:
            known = {path: self._known[path] for path in self._looked_at if path in self._known}.items()
        return [[path, *stamp, content.digest, content.ours] for path, (stamp, content) in known]

    def look(self, path: str, read: Callable[[], bytes]) -> Content:
        """What the file at ``path`` holds, which :func:`read` tells where it is not known. Raises what that raises."""
        self._looked_at.add(path)
        stamp = _stamp(path)
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        content = content_of(read())
        if stamp is not None and time.time_ns() - max(stamp[1], stamp[2]) > _SETTLED_NS:
            self._known[path] = stamp, content
            self.changed = True
        return content

    def digest_of(self, path: str) -> str:
        """:func:`digest_of` the file, which is read where it is not known."""
        try:
            return self.look(path, lambda: read_regular(path, MAX_BYTES + 1)).digest
        except (OSError, ValueError):
            return ""


def _stamp(path: str) -> _Stamp | None:
    """What tells the present state of the regular file at ``path``; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
