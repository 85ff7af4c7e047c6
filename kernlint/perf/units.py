"""Units of time, as the tools spell them."""

from __future__ import annotations

import math

_MICROSECONDS = {
    "ns": 1e-3, "nsec": 1e-3, "nsecond": 1e-3, "nanosecond": 1e-3,
    "us": 1.0, "usec": 1.0, "usecond": 1.0, "microsecond": 1.0, "\u00b5s": 1.0, "\u03bcs": 1.0,
    "ms": 1e3, "msec": 1e3, "msecond": 1e3, "millisecond": 1e3,
    "s": 1e6, "sec": 1e6, "second": 1e6,
}  # fmt: skip


def microseconds(unit: str) -> float | None:
    """Microseconds in one ``unit``; None where it is no unit of time."""
    unit = unit.strip().lower()
    return _MICROSECONDS.get(unit) or _MICROSECONDS.get(unit.removesuffix("s"))


def number(text: str) -> float | None:
    """``text`` as a number, thousands separated by commas or not; None where it is none. May be infinite or NaN."""
    try:
        return float(text.strip().replace(",", ""))
    except ValueError:
        return None


def finite(value: object) -> float | None:
    """``value`` where it is a finite number and no bool, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        result = float(value)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None
