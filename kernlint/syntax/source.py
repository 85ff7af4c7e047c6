"""From a path, or standard input, to text that the parser may be shown."""

from __future__ import annotations

import io
import re
import sys
import tokenize

from kernlint.errors import SourceError, missing
from kernlint.files import NotRegular, read_regular
from kernlint.records import dataclass

#: No hand-written kernel file comes near this; generated tables do, and are not worth minutes of parsing.
MAX_BYTES = 8_000_000

#: How standard input is called in messages and in ``file`` fields.
STDIN_NAME = "<stdin>"

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class SourceText:
    """Decoded source.

    ``text`` keeps its line ends as they were (so that positions hold) and has lost its byte-order mark;
    ``path`` is the name for messages; ``encoding`` and ``bom`` are what it takes to write the bytes back.
    """

    text: str
    path: str
    encoding: str = "utf-8"
    bom: bool = False


def read_source(path: str) -> SourceText:
    """Read the file at ``path``, or standard input where it is ``-``.

    Raises ``SourceError``: missing, unreadable, no regular file, larger than ``MAX_BYTES``, binary, undecodable, empty.
    """
    if path == "-":
        return decode_source(sys.stdin.buffer.read(MAX_BYTES + 1), STDIN_NAME)
    try:
        return decode_source(read_regular(path, MAX_BYTES + 1), path)
    except NotRegular as error:
        raise SourceError(f"{path}: {error.reason}{error.hint}") from None
    except FileNotFoundError:
        raise SourceError(missing(path)) from None
    except PermissionError:
        raise SourceError(f"{path}: permission denied") from None
    except ValueError:
        raise SourceError(f"{path!r}: not a file name") from None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from None


def decode_source(data: bytes, path: str) -> SourceText:
    """Decode ``data`` as Python does: byte-order mark, else coding line, else UTF-8. Raises ``SourceError``."""
    if len(data) > MAX_BYTES:
        raise SourceError(f"{path}: larger than {MAX_BYTES // 1_000_000} MB, not analysed")
    if b"\0" in data:
        raise SourceError(f"{path}: a binary file, not source")
    encoding = _encoding(data, path)
    bom = data.startswith(_BOM)
    try:
        text = data[len(_BOM) if bom else 0 :].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{path}:{line}: not {encoding} text: byte 0x{data[error.start]:02x}") from None
    except (LookupError, UnicodeError) as error:
        raise SourceError(f"{path}: cannot be decoded as {encoding}: {error}") from None
    if not text.strip():
        raise SourceError(f"{path}: the file is empty")
    return SourceText(text, path, encoding, bom)


def _encoding(data: bytes, path: str) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        if "invalid or missing" in str(error.msg):
            return "utf-8"  # so that decoding fails at the byte that is to blame
        raise SourceError(f"{path}: {str(error.msg).removesuffix(f' for {path!r}')}") from None
    except LookupError as error:  # from Python 3.14 on: a coding, but none of text
        raise SourceError(f"{path}: cannot be decoded: {error}") from None
    return "utf-8" if encoding == "utf-8-sig" else encoding


LINE_END = re.compile(r"\r\n|\r|\n")


def line_starts(text: str) -> list[int]:
    """The offset at which each line of ``text`` begins."""
    return [0, *(match.end() for match in LINE_END.finditer(text))]


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends, divided where Python divides them: LF, CRLF and CR, nothing else."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
