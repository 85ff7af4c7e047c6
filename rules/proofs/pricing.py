"""What a change is predicted to gain, for rules whose advice is right or wrong by sizes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from kernlint.records import replace
from kernlint.rules.finding import Context, Variant
from kernlint.workload import Repeat, Step
from kernlint.workload.steps import walk_steps

if TYPE_CHECKING:
    from kernlint.headroom.causes import Cause

#: A change that is predicted to gain less is not worth a word: the one gate of rules whose advice is right or wrong by sizes.
LEAST_GAIN = 1.2


def causes_at(
    context: Context, kernel: str = "", steps: Collection[Step] = (), names: Collection[str] = ()
) -> list[Cause | None]:
    """What a finding that asks for kernels written anew is the name of: the cause of the headroom that promises most in ``kernel``, or
    of those that hold two or more of ``steps`` (or one of a loop's), as one that can be removed, which the rule has proven; inside a
    kernel the reference tells better how far that goes, and what each round of a loop reads it may have to read again. It is one of
    ``names``, where there are any. None in its place where sizes are open; nothing where next to nothing is lost there."""
    headroom = context.headroom
    if headroom is None:
        return [None]
    loops = {step.span for step in steps if isinstance(step, Repeat)}
    wanted = {id(step) for step, _ in walk_steps(tuple(steps))}
    alone = context.workload.reference is None
    # What the rounds of a loop pass on is told by a reference alone.
    by_steps = not (loops and alone)
    found = [
        replace(cause, reachable=not (cause.kernel or loops) or alone)
        for cause in headroom.causes
        if (
            (kernel and cause.kernel == kernel)
            or (by_steps and sum(id(step) in wanted for step in cause.steps) >= (1 if loops else 2))
            or (cause.span in loops and not cause.steps)
        )
        and (not names or cause.name in names)
    ]
    best = max(found, key=lambda cause: headroom.without(cause)[0], default=None)
    return [best] if best is not None and headroom.without(best)[0] >= LEAST_GAIN else []


def gain(context: Context, variant: Variant) -> float | None:
    """Predicted device time now over that under ``variant``; None where sizes are open or it cannot be followed."""
    before, after = context.gpu_us(context.variant), context.gpu_us(variant)
    return before / after if before is not None and after else None


def cheapest(context: Context, variants: Iterable[Variant]) -> Variant | None:
    """The variant of least predicted time, the first of equals; None where none can be priced."""
    priced = [(time, i, variant) for i, variant in enumerate(variants) if (time := context.gpu_us(variant)) is not None]
    return min(priced, key=lambda option: option[:2])[2] if priced else None


def best_gain(context: Context, variants: Iterable[Variant], least: float = LEAST_GAIN) -> Variant | None:
    """The variant of least predicted time, where that is known to gain ``least`` or more."""
    best = cheapest(context, variants)
    expected = gain(context, best) if best is not None else None
    return best if expected is not None and expected >= least else None
