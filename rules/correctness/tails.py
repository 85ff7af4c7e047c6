"""Accesses without a mask that leave their tensor in a partial tile: what the rules about loads and stores share."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.bounds import overruns, overshoots, sizes_told, witness
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Launch, Load, Span, Store


def unmasked_tails(rule: Rule, context: Context, kind: type[Load] | type[Store]) -> Iterator[Finding]:
    """Findings of ``rule`` on accesses of ``kind``: errors with a witness at the sizes in view, warnings where sizes are
    open and tiles are counted rounded up. One at a place."""
    noun, verb = ("load", "reads") if kind is Load else ("store", "writes")
    seen = set()
    for over in overruns(context.workload, kind):
        access, kernel = over.site.access, over.launch.kernel.name
        if access.mask is not None or over.launch.premises or (kernel, access.span) in seen:
            continue
        seen.add((kernel, access.span))
        yield Finding(
            rule,
            "error",
            f"`{access.base}` has {over.last + 1} elements and the {noun} {verb} element {over.reached}: it has no mask",
            access.span,
            kernel,
            kernel,
            witness(over.launch, over.point, f"{verb} element {over.reached} of `{access.base}`"),
            masking(context, over.launch, access.span, f"the {noun} has no mask"),
        )
    for shot in overshoots(context.workload, kind):
        access, kernel = shot.site.access, shot.launch.kernel.name
        if shot.launch.premises or (kernel, access.span) in seen:
            continue
        seen.add((kernel, access.span))
        partial = f"tiles of {shot.tile} cover {shot.count} rounded up: {sizes_told(shot.sizes)} leaves a partial tile"
        yield Finding(
            rule,
            "warning",
            f"the {noun} has no mask and {verb} past {shot.count} unless that is a multiple of {shot.tile}",
            access.span,
            kernel,
            kernel,
            (Evidence(partial), Evidence("launched here", shot.launch.span)),
            masking(context, shot.launch, access.span, f"the {noun} has no mask"),
        )


@dataclass(frozen=True)
class Masked(Repair):
    """The program with a mask at the access at ``place`` of the kernel that is launched at ``launch``."""

    launch: Span
    place: Span


def masking(context: Context, launch: Launch, place: Span, wrong: str) -> Change:
    """The change that masks an access of ``launch``."""
    return mending(
        context,
        Masked(launch.span, place),
        wrong,
        "Mask the access with the size that the tiles are counted for.",
        f"Add `mask=` at line {place.line}; a load that is reduced needs a fitting `other` too.",
    )
