"""What a standard stream can hold."""

from __future__ import annotations

from typing import TextIO


def encodable(text: str, stream: TextIO) -> str:
    """``text`` with what the encoding of ``stream`` does not hold as escapes: a file name may hold anything."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
