"""Reads ``--set NAME=VALUE``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from kernlint.errors import UsageError

Value = int | float | bool

#: Sizes of one sweep: each is a whole analysis.
MAX_SWEEP = 64


def parse_overrides(settings: Iterable[str]) -> dict[str, Value]:
    """``["M=128", "EPS=1e-5"]`` as a dictionary.

    Raises ``UsageError``: not NAME=VALUE, a value that is no int, float or bool literal, one name with two values.
    """
    overrides: dict[str, Value] = {}
    for setting in settings:
        name, literal = _split(setting)
        value = _parse_literal(literal)
        if value is None:
            hint = "; `kernlint explain` takes a list of them" if "," in literal else ""
            raise UsageError(f"--set {setting}: {literal!r} is not an int, float or bool{hint}")
        before = overrides.setdefault(name, value)
        # True == 1 and 2 == 2.0, but they are different things to set.
        if (type(before), before) != (type(value), value):
            raise UsageError(f"--set {name}: given twice, as {before} and as {value}")
    return overrides


def parse_sweep(settings: Iterable[str]) -> list[dict[str, Value]]:
    """``["M=16,128", "N=64"]`` as one dictionary for each size, ``[{M: 16, N: 64}, {M: 128, N: 64}]``, in the order
    given; of several lists every combination, the last one fastest.

    Raises ``UsageError`` as :func:`parse_overrides`, and for an empty place in a list or too many sizes.
    """
    single: list[str] = []
    lists: dict[str, list[str]] = {}
    for setting in settings:
        name, literal = _split(setting)
        if "," not in literal:
            single.append(setting)
        elif name in lists:
            raise UsageError(f"--set {name}: given twice")
        else:
            lists[name] = list(dict.fromkeys(part.strip() for part in literal.split(",")))
    count = math.prod(len(values) for values in lists.values())
    if count > MAX_SWEEP:
        raise UsageError(f"--set asks for {count} sizes; a sweep takes {MAX_SWEEP} at most")
    sizes = itertools.product(*([f"{name}={value}" for value in values] for name, values in lists.items()))
    return [parse_overrides([*size, *single]) for size in sizes]


def _split(setting: str) -> tuple[str, str]:
    name, equals, literal = (part.strip() for part in setting.partition("="))
    if not equals or not name.isidentifier():
        raise UsageError(f"--set {setting}: expected NAME=VALUE, such as M=4096")
    return name, literal


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
