"""Programs on a terminal."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import warm


def shown(
    arguments: Sequence[object], streams: Sequence[str] = ("stdout", "stderr"), width: int = 80, **env: str
) -> tuple[str, int]:
    """What a terminal of ``width`` columns gets on ``streams`` of the Python with ``arguments``, and its status; the other
    stream leads nowhere. Skips the test on systems without such terminals."""
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    terminal, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    said = b""
    with ThreadPoolExecutor(1) as beside:
        ended = beside.submit(_run, arguments, dict.fromkeys(streams, other_end), {**os.environ, **env})
        while chunk := _read(terminal):
            said += chunk
    os.close(terminal)
    return said.decode(), ended.result()


def _run(arguments: Sequence[object], streams: Mapping[str, int], env: Mapping[str, str]) -> int:
    try:
        return warm.run(arguments, env=env, **streams).returncode
    finally:
        os.close(next(iter(streams.values())))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""
