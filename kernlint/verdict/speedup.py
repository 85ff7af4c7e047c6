"""How numbers of the verdict are rounded and worded: once, here, so that output is the same to the byte everywhere."""

from __future__ import annotations


def round_us(value: float | None) -> float | None:
    """Microseconds with two decimals: finer than any clock that could confirm them."""
    return None if value is None else round(float(value), 2)


def round_ratio(value: float | None) -> float | None:
    """A ratio with three significant digits: 1.03, 4.89, 12.3, 0.0124."""
    return None if value is None else float(f"{float(value):.3g}")


def format_speedup(low: float | None, high: float | None) -> str:
    """The interval ``low`` to ``high`` of a speedup (1.0: no change) as people write it.

    "30-40%" while ``high`` is below 2 (percent is speedup minus one), "3.9-5.6x" from there on, whole numbers from
    10x; a single number where both ends read alike. ``low`` is never below "no gain". Empty without an interval.
    """
    if low is None or high is None:
        return ""
    low, high = max(1.0, min(low, high)), max(1.0, low, high)
    if high < 2:
        return _interval(f"{(low - 1) * 100:.0f}", f"{(high - 1) * 100:.0f}", "%")
    return _interval(_times(low), _times(high), "x")


def _times(ratio: float) -> str:
    # 9.96 would read "10.0" beside "12".
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def _interval(low: str, high: str, unit: str) -> str:
    return f"{low}{unit}" if low == high else f"{low}-{high}{unit}"
