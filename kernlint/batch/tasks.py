"""One row of a batch as a question: what it holds, checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from kernlint.lint.config import device_id
from kernlint.records import dataclass
from kernlint.request import DEFAULT_DEVICE

#: The columns that a batch is asked by; ``source`` is the one that it must have.
COLUMNS = ("id", "source", "reference", "device", "set")


_SCOPES = ("gpu", "call")

#: As of files.
_MOST_TEXT = 8_000_000


@dataclass(frozen=True)
class RowTask:
    """A program to judge; ``problem`` says why it cannot be, empty where it can."""

    id: str
    source: str = ""
    reference: str | None = None
    device: str = DEFAULT_DEVICE
    scope: str = "gpu"
    overrides: tuple[tuple[str, int | float | bool], ...] = ()
    timeout_s: float = 60.0
    problem: str = ""


def row_task(row: Mapping[str, Any], number: int, device: str | None, scope: str, timeout_s: float) -> RowTask:
    """The task that ``row``, the one with this ``number``, describes; ``device`` is for rows that name none. Never raises."""
    name = row.get("id")
    name = str(number) if _missing(name) else _text(name)
    try:
        if scope not in _SCOPES:
            raise ValueError(f"unknown scope {scope!r}; it is gpu or call")
        return RowTask(
            name,
            _source(row.get("source")),
            _optional_text(row.get("reference"), "reference"),
            device_id(_optional_text(row.get("device"), "device") or device or DEFAULT_DEVICE),
            scope,
            tuple(_overrides(row.get("set")).items()),
            timeout_s,
        )
    except Exception as error:  # whatever objects a row may hold
        return RowTask(name, scope=scope, timeout_s=timeout_s, problem=_line(error))


def _source(value: Any) -> str:
    if _missing(value):
        raise ValueError("the row has no source")
    if not isinstance(value, str):
        raise ValueError(f"source is a {type(value).__name__}, not text")
    if len(value) > _MOST_TEXT:
        raise ValueError(f"source is larger than {_MOST_TEXT // 1_000_000} MB")
    return str(value)


def _optional_text(value: Any, column: str) -> str | None:
    if _missing(value) or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError(f"{column} is a {type(value).__name__}, not text")
    if len(value) > _MOST_TEXT:
        raise ValueError(f"{column} is larger than {_MOST_TEXT // 1_000_000} MB")
    return str(value)


def _overrides(value: Any) -> dict[str, int | float | bool]:
    """Of ``set``: an object of names and numbers, or the same as JSON text. A name without a value says nothing: tables have
    one for every row."""
    if _missing(value) or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError(f"set is not a JSON object: {value[:80]!r}") from None
    if not isinstance(value, Mapping):
        raise ValueError(f"set is a {type(value).__name__}, not an object of names and numbers")
    found: dict[str, int | float | bool] = {}
    for name, number in value.items():
        if number is None:
            continue
        number = number.item() if hasattr(number, "item") else number  # numpy's own scalars
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"set: {name!r} is no name")
        if not isinstance(number, (int, float)) or not math.isfinite(number):
            raise ValueError(f"set: {name} is {number!r}, not a number")
        found[name] = number
    return found


def _missing(value: Any) -> bool:
    """None, or the NaN that tables hold in its place."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__}>"


def _line(error: Exception) -> str:
    return " ".join(_text(error).split()) or type(error).__name__
