"""Tells the form that performance data is in, and reads it."""

from __future__ import annotations

import json
import re
import sys
import zlib
from typing import Any

from kernlint.errors import SourceError
from kernlint.files import NotRegular, read_regular
from kernlint.perf.latency import read_latencies
from kernlint.perf.model import Performance
from kernlint.perf.nsight import is_nsight, read_nsight
from kernlint.perf.proton import is_proton, read_proton
from kernlint.perf.torch_table import is_table, read_table
from kernlint.perf.torch_trace import is_trace, read_trace
from kernlint.records import dataclass

#: Traces are long, but a trace of this size holds more than one task.
MAX_BYTES = 64_000_000

_NOTHING = re.compile(
    r"^\W*(?:(?:there\s+(?:is|are)\s+)?no\s+(?:performance|profiling|profile|latency|measured)?\s*(?:data|numbers|profile|metrics)\b"
    r"|n/?a\b|none\b|not\s+(?:available|measured|provided)\b)",
    re.IGNORECASE,
)
_FORMS = (
    "latencies (`0.063 ms`, `my_kernel: 12.3 us`), `ncu --csv`, a torch profiler trace or table, or a Proton profile"
)


@dataclass(frozen=True)
class PerformanceFile:
    """The text of a file with performance data, and what it is called."""

    path: str
    text: str


def read_performance_file(path: str) -> PerformanceFile:
    """The file at ``path`` (``-``: standard input), unpacked where it is gzipped.

    Raises ``SourceError`` for a file that is missing, too large or not text.
    """
    shown = "<stdin>" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            data = read_regular(path, MAX_BYTES + 1)
    except NotRegular as error:
        raise SourceError(f"{shown}: {error.reason}{error.hint}") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"{shown}: {getattr(error, 'strerror', None) or error}") from None
    if data.startswith(b"\x1f\x8b") and len(data) <= MAX_BYTES:
        try:
            data = zlib.decompressobj(31).decompress(data, MAX_BYTES + 1)
        except zlib.error as error:
            raise SourceError(f"{shown}: broken gzip file: {error}") from None
    if len(data) > MAX_BYTES:
        raise SourceError(f"{shown}: larger than {MAX_BYTES // 10**6} MB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError(f"{shown}: not text; of a report file print `ncu --import FILE --csv --page raw`") from None
    return PerformanceFile(shown, text)


def read_performance(text: str, name: str) -> Performance:
    """What was measured, from ``text`` in any of the forms that kernlint knows; ``name`` is what to call it in errors.

    An empty :class:`~kernlint.perf.model.Performance` where the text says that there is no data. Raises ``SourceError``
    for data in no known form and for data that is broken.
    """
    if not text.strip():
        raise SourceError(f"{name}: empty")
    if len(text) < 1000 and _NOTHING.match(text):
        return Performance()
    start = text.lstrip()[:1]
    if start and start in "{[":
        return _read_json(text, name)
    if is_nsight(text):
        return read_nsight(text, name)
    if is_table(text):
        return read_table(text, name)
    if "Section: GPU Speed Of Light" in text:
        raise SourceError(f"{name}: Nsight Compute's table for people; print it with --csv")
    performance = read_latencies(text[:1_000_000], name)
    if not performance:
        raise SourceError(f"{name}: no performance data that kernlint reads: {_FORMS}")
    return performance


def _read_json(text: str, name: str) -> Performance:
    data: Any
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply or not a number"
        raise SourceError(f"{name}: broken JSON: {reason}") from None
    if is_proton(data):
        return read_proton(data, name)
    if is_trace(data):
        return read_trace(data, name)
    raise SourceError(f"{name}: JSON that is neither a torch profiler trace nor a Proton profile")
