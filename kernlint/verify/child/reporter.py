"""The child's side of the result file: one JSON object a line, written through at once."""

from __future__ import annotations

import json
import math
import os
import traceback
from typing import Any


class Reporter:
    """Appends events to the file at ``path``. The descriptor is the child's own, whatever the code under test does to
    standard output."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def event(self, event: str, **values: Any) -> None:
        line = json.dumps({"event": event, **_plain(values)}, default=str) + "\n"
        os.write(self._file, line.encode("utf-8", "backslashreplace"))


def _plain(value: Any) -> Any:
    """``value`` without the numbers that JSON does not have: they become strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def describe(error: BaseException, limit: int = 400) -> dict[str, str]:
    """The type and text of ``error`` in one line, and the place in the code under test where it came from."""
    text = " ".join(str(error).split())
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        name = os.path.basename(os.path.dirname(frame.filename))
        if name in ("before", "after", "reference"):
            place = f"line {frame.lineno}, in {frame.name}"
    internal = any("interpreter.py" in frame.filename for frame in traceback.extract_tb(error.__traceback__)[-1:])
    return {"type": type(error).__name__, "text": text, "place": place, "inside": "interpreter" if internal else ""}
