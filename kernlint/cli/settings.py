"""Reads ``--set NAME=VALUE``."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kernlint.errors import UsageError

Value = int | float | bool


def parse_overrides(settings: Iterable[str]) -> dict[str, Value]:
    """``["M=128", "EPS=1e-5"]`` as a dictionary.

    Raises ``UsageError``: not NAME=VALUE, a value that is no int, float or bool literal, one name with two values.
    """
    overrides: dict[str, Value] = {}
    for setting in settings:
        name, equals, literal = (part.strip() for part in setting.partition("="))
        if not equals or not name.isidentifier():
            raise UsageError(f"--set {setting}: expected NAME=VALUE, such as M=4096")
        value = _parse_literal(literal)
        if value is None:
            raise UsageError(f"--set {setting}: {literal!r} is not an int, float or bool")
        before = overrides.setdefault(name, value)
        # True == 1 and 2 == 2.0, but they are different things to set.
        if (type(before), before) != (type(value), value):
            raise UsageError(f"--set {name}: given twice, as {before} and as {value}")
    return overrides


def _parse_literal(text: str) -> Value | None:
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
