"""Bytes of a file, read once and whole, and the cheap question whether it concerns us."""

from __future__ import annotations

import os
import re

from kernlint.errors import SourceError
from kernlint.files import NotRegular, open_regular
from kernlint.lint.diagnostics import UNREADABLE
from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings

#: That of ``kernlint.syntax.source``, which would import LibCST: a run from the cache has no time for it.
MAX_BYTES = 8_000_000

_TRIES = 3


def read_bytes(path: str) -> bytes:
    """What the regular file at ``path`` holds.

    Raises ``SourceError`` (its message without the path): no regular file, unreadable, larger than ``MAX_BYTES``, or
    still changing after three tries.
    """
    try:
        for _ in range(_TRIES):
            with open(open_regular(path), "rb") as file:
                before = os.fstat(file.fileno())
                data = file.read(MAX_BYTES + 1)
                after = os.fstat(file.fileno())
            if len(data) > MAX_BYTES:
                raise SourceError(f"larger than {MAX_BYTES // 1_000_000} MB, not analysed")
            if (
                (before.st_size, before.st_mtime_ns)
                == (after.st_size, after.st_mtime_ns)
                == (len(data), before.st_mtime_ns)
            ):
                return data
    except NotRegular as error:
        raise SourceError(error.reason) from None
    except FileNotFoundError:
        raise SourceError("no such file") from None
    except PermissionError:
        raise SourceError("permission denied") from None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}") from None
    raise SourceError("changes while it is being read")


def unreadable(shown: str, reason: str, settings: FileSettings) -> list[Finding]:
    """What to report of a file or folder that cannot be read: a finding, unless ``settings`` leave it out."""
    if UNREADABLE.code not in settings.codes:
        return []
    return [UNREADABLE.at(shown, reason, severity=settings.severity.get(UNREADABLE.code))]


#: `jit` as the name of a decorator or function, or the module of Triton's runtime where it lives; not a package called
#: so. In a notebook the end of a line may stand before it as two characters.
_JIT = re.compile(rb"(?:\b|\\n)jit\b(?!\s*\.)|\bruntime\b")


def concerns_us(data: bytes) -> bool:
    """Whether there can be a finding in a file of these bytes: a kernel needs both words, a comment of ours its own.

    Code in UTF-16 is none that Python reads.
    """
    return (b"triton" in data and b"jit" in data and _JIT.search(data) is not None) or b"kernlint:" in data
