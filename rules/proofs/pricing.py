"""What a change is predicted to gain, for rules whose advice is right or wrong by sizes."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.finding import Context, Variant


def gain(context: Context, variant: Variant) -> float | None:
    """Predicted device time now over that under ``variant``; None where sizes are open or it cannot be followed."""
    before, after = context.gpu_us(context.variant), context.gpu_us(variant)
    return before / after if before is not None and after else None


def cheapest(context: Context, variants: Iterable[Variant]) -> Variant | None:
    """The variant of least predicted time, the first of equals; None where none can be priced."""
    priced = [(time, i, variant) for i, variant in enumerate(variants) if (time := context.gpu_us(variant)) is not None]
    return min(priced, key=lambda option: option[:2])[2] if priced else None


def best_gain(context: Context, variants: Iterable[Variant], least: float) -> Variant | None:
    """The variant of least predicted time, where that is known to gain ``least`` or more."""
    best = cheapest(context, variants)
    expected = gain(context, best) if best is not None else None
    return best if expected is not None and expected >= least else None
