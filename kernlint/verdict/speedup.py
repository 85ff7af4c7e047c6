"""How numbers of the verdict are rounded and worded: once, here, so that output is the same to the byte everywhere."""

from __future__ import annotations


def round_us(value: float | None) -> float | None:
    """Microseconds with two decimals: finer than any clock that could confirm them."""
    return None if value is None else round(float(value), 2)


def round_ratio(value: float | None) -> float | None:
    """A ratio with three significant digits: 1.03, 4.89, 12.3, 0.0124."""
    return None if value is None else float(f"{float(value):.3g}")


def format_us(value: float | None) -> str:
    """Microseconds as people read them, "-" for none: 4.52, 67.1, 1,158."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 999.95 else f"{value:,.0f}"


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
    return _interval(format_factor(low).removesuffix("x"), format_factor(high).removesuffix("x"), "x")


def faster(scope: str) -> str:
    """What a speedup in ``scope`` is one of, behind its number."""
    return "faster on the device" if scope == "gpu" else "faster"


def format_factor(ratio: float) -> str:
    """One speedup as a factor: 5.6x, 12x."""
    # 9.96 would read "10.0" beside "12".
    return f"{ratio:.1f}x" if ratio < 9.95 else f"{ratio:.0f}x"


def _interval(low: str, high: str, unit: str) -> str:
    return f"{low}{unit}" if low == high else f"{low}-{high}{unit}"
