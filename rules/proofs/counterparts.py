"""Launches and dots found again by their places in the source: in another version of the program, or in what it becomes."""

from __future__ import annotations

from kernlint.rules.finding import Context, Variant
from kernlint.workload import Dot, Launch, Span, Workload


def launches_at(workload: Workload | None, span: Span) -> list[Launch]:
    """The launches that the source writes at ``span``, in order."""
    return workload.launches_at(span) if workload is not None else []


def dot_at(launch: Launch | None, span: Span) -> Dot | None:
    """The dot of ``launch`` that stands at ``span``."""
    return next((dot for dot in launch.kernel.dots() if dot.span == span), None) if launch is not None else None


def find_dot(workload: Workload | None, launch: Span, dot: Span) -> tuple[Launch, Dot] | None:
    """The first launch at ``launch`` that has a dot at ``dot``, with it."""
    pairs = ((one, dot_at(one, dot)) for one in launches_at(workload, launch))
    return next(((one, found) for one, found in pairs if found is not None), None)


def counterpart(context: Context, variant: Variant, launch: Launch) -> Launch | None:
    """What becomes of ``launch`` under ``variant``, where one place may launch several times; None where it is gone."""
    # Whoever knows more of a launch keeps its arguments.
    now = launches_at(context.workload, launch.span)
    place = next((i for i, one in enumerate(now) if one.arguments is launch.arguments), 0)
    return _launch_under(context, variant, launch.span, place)


def dot_under(context: Context, variant: Variant, launch: Span, dot: Span) -> tuple[Launch, Dot] | None:
    """What :func:`find_dot` finds in the program under ``variant``."""
    for place in range(len(launches_at(context.workload, launch))):
        found = _launch_under(context, variant, launch, place)
        same = dot_at(found, dot)
        if found is not None and same is not None:
            return found, same
    return None


def _launch_under(context: Context, variant: Variant, span: Span, place: int) -> Launch | None:
    """The launch number ``place`` of those at ``span`` under ``variant``."""
    found = context.launch_after(variant, span, place)
    if found is None:
        launches = launches_at(context.after(variant), span)
        found = launches[place] if place < len(launches) else None
    return found
