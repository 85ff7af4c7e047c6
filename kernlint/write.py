"""Writing a file whole or not at all, with its permissions; a source file in its own encoding."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kernlint.errors import UsageError

if TYPE_CHECKING:
    from kernlint.syntax.source import SourceText

_BOM = b"\xef\xbb\xbf"


def encoded(text: str, like: SourceText) -> bytes:
    """``text`` as the bytes of a file like the one that ``like`` was read from. Raises ``UsageError`` where its encoding cannot
    hold it."""
    try:
        return (_BOM if like.bom else b"") + text.encode(like.encoding)
    except UnicodeError as error:
        raise UsageError(f"{like.path}: cannot be written as {like.encoding}: {error}") from None


def re_encoded(text: str, source: SourceText, data: bytes) -> bytes:
    """``text`` as the bytes of the file that ``source`` was read from, which held ``data``.

    Raises ``UsageError`` as :func:`encoded` does, and where the encoding reads what it would not write (``unicode_escape``):
    bytes that are none of the change would change too.
    """
    if encoded(source.text, source) != data:
        raise UsageError(f"{source.path}: in {source.encoding} it would not be written as it was read")
    return encoded(text, source)


def write_whole(path: str, data: bytes, expected: bytes | None = None) -> None:
    """Make ``data`` the content of the file at ``path``, in one step: whoever reads it, and whatever interrupts this, sees
    the old content or the new. A symbolic link stays one; permissions are kept.

    ``expected`` is what an existing file must still hold. Raises ``UsageError`` where it does not, and where the file
    cannot be written.
    """
    with replacing(path, expected) as temporary, open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing(path: str, expected: bytes | None = None) -> Iterator[str]:
    """The name of an empty file for the block to fill, which then takes the place of the one at ``path``; raises as, and is otherwise
    like, :func:`write_whole`."""
    target = os.path.realpath(path)
    temporary = ""
    try:
        mode = _mode(target)
        if mode is not None and not mode & 0o222:
            raise UsageError(f"{path}: is read-only")
        if expected is not None:
            with open(target, "rb") as file:
                if file.read() != expected:
                    raise UsageError(f"{path}: has changed since it was read; nothing was written")
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".kernlint-", suffix=".tmp")
        os.close(handle)
        yield temporary
        os.chmod(temporary, mode if mode is not None else 0o666 & ~_umask())
        os.replace(temporary, target)
        temporary = ""
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)


def write_output(path: str, data: bytes) -> None:
    """:func:`write_whole`, but a device or a pipe is written to as it is, as a shell would.

    Raises ``UsageError`` where it cannot be written.
    """
    if not _is_stream(path):
        write_whole(path, data)
        return
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def link_out_of(path: str, *folders: str) -> str:
    """The file that the link at ``path`` leads to, where it is in none of ``folders``; empty where it is, and of no link.

    Who names a folder, or a file in it, to be changed does not mean what a link in it happens to lead to.
    """
    if not os.path.islink(path):
        return ""
    target = os.path.realpath(path)
    above = (os.path.join(os.path.realpath(folder), "") for folder in folders)
    return "" if any(target.startswith(folder) for folder in above) else target


def refuse_link_out_of(path: str, *folders: str) -> None:
    """Raise ``UsageError`` where :func:`link_out_of` has an answer."""
    target = link_out_of(path, *folders)
    if target:
        raise UsageError(f"{path}: {leads_out(target)}")


def leads_out(target: str) -> str:
    """What to say of a file that is such a link."""
    return f"is a link out of its folder and is not changed; name {target} to change that"


def require_folder(path: str) -> None:
    """Raise ``UsageError`` where no file can be written at ``path``, as its folder does not exist: better said before all is
    analysed."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise UsageError(f"{path}: cannot be written: there is no such folder")


def _is_stream(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _mode(path: str) -> int | None:
    """The permissions of an existing regular file. Raises ``UsageError`` for something else."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{path}: is not a regular file")
    return stat.S_IMODE(found.st_mode)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
