"""Accesses without a mask that leave their tensor in a partial tile: what the rules about loads and stores share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import libcst as cst

from kernlint.interpret.project import is_uncalled
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, doubted
from kernlint.rules.proofs.bounds import overruns, sizes_told, witness
from kernlint.rules.proofs.iteration_domain import last_element, sites, symbols_of
from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.rules.proofs.overshoots import Overshoot, overshoots
from kernlint.rules.proofs.readings import found_however_read
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Launch, Load, Span, Store
from kernlint.workload.access import Access
from kernlint.workload.expr import Lane, ProgramId
from kernlint.workload.size_names import is_product

#: What both rules say of themselves.
WHY = """
    The lanes past the end read or overwrite whatever lies behind the tensor: wrong results, corruption of other
    tensors, or an illegal address, depending on the allocator. Sizes that are multiples of the tile never show
    it.
    """
WHEN_NOT = """
    Buffers that are padded to whole tiles, as an allocation in view shows or `assert n % BLOCK == 0` tells.
    Offsets wrapped by `% n`. A remark only where sizes are open and it is a loop whose index no other access of the kernel masks
    (callers may only ever pass multiples), or some function of the module tests for multiples of the tile.
    """
FIX_SAFETY = """
    Safe: the access gets the mask of another one at the same offsets, or `index < size` where one parameter of
    the kernel holds the size that the tiles are counted for; a load also the `other` that leaves its reductions
    as they are. Unsafe where the kernel has launches that were not followed, here or in another file of the project: whoever
    pads the tensors wants no mask. Refused where no such mask or size is in view.
    """


def unmasked_tails(rule: Rule, context: Context, kind: type[Load] | type[Store]) -> Iterator[Finding]:
    """Findings of ``rule`` on accesses of ``kind``: errors with a witness at the sizes in view, where sizes are open and
    tiles are counted rounded up warnings or remarks. One at a place."""
    noun, verb = ("load", "reads") if kind is Load else ("store", "writes")
    seen, entry = set(), context.workload.entry
    for over in overruns(context.workload, kind):
        access, kernel = over.site.access, over.launch.kernel.name
        if access.mask is not None or over.sizes or over.launch.premises or (kernel, access.span) in seen:
            continue
        seen.add((kernel, access.span))
        yield rule.finding(
            f"`{access.base}` has {over.last + 1} elements and the {noun} {verb} element {over.reached}: it has no mask",
            access.span,
            kernel,
            witness(over.launch, over.point, f"{verb} element {over.reached} of `{access.base}`"),
            masking(context, over.launch, access.span, f"the {noun} has no mask"),
            doubts=doubted(
                is_uncalled(context.program.kernel, entry), f"nothing in view calls `{entry}`, which has such sizes"
            ),
            at_any_size=True,
            severity="error",
        )
    for shot in overshoots(context.workload, kind):
        access, kernel = shot.site.access, shot.launch.kernel.name
        if shot.launch.premises or (kernel, access.span) in seen:
            continue
        seen.add((kernel, access.span))
        masked = _is_masked_elsewhere(shot)
        expected = (masked or isinstance(shot.index, ProgramId)) and not _tests_divisibility(context, shot.tile)
        # A product of however many extents is one where there are none, or no batch: no whole tile.
        batched = any(is_product(size) for size in symbols_of(shot.count))
        partial = f"tiles of {shot.tile} cover {shot.count} rounded up: {sizes_told(shot.sizes)} leaves a partial tile"
        yield rule.finding(
            f"the {noun} has no mask and {verb} past {shot.count} unless that is a multiple of {shot.tile}",
            access.span,
            kernel,
            (Evidence(partial), Evidence("launched here", shot.launch.span)),
            masking(context, shot.launch, access.span, f"the {noun} has no mask"),
            doubts=doubted(not expected, "callers may only ever pass whole tiles"),
            at_any_size=masked or batched,
            severity="warning",
        )
    yield from _asymmetric(rule, context, kind, {place for _, place in seen})


def _asymmetric(rule: Rule, context: Context, kind: type[Load] | type[Store], found: set[Span]) -> Iterator[Finding]:
    """Accesses of ``kind`` without a mask at the very offsets at which a load of the same kernel has one, where no size says more.
    Of loads those of one tensor, and as remarks: what is read past its end may be dropped."""
    what, level = ("load of", "info") if kind is Load else ("store to", "warning")
    for launch in context.workload.launches():
        twins = found_however_read(context, launch, partial(_masked_twins, kind=kind))
        whole = found_however_read(context, launch, partial(_masked_twins, kind=kind, full=True))
        for place, (bare, twin) in twins.items():
            if place not in found and place not in whole:
                yield rule.finding(
                    f"the {what} `{bare.base}` has no mask, the load of `{twin.base}` at the same offsets has one",
                    place,
                    launch.kernel.name,
                    (Evidence(f"`{twin.base}` is read under a mask at the same offsets", twin.span),),
                    masking(context, launch, place, f"the {what.split()[0]} has no mask"),
                    severity=level,
                )


def _masked_twins(
    launch: Launch, kind: type[Load] | type[Store], full: bool = False
) -> dict[Span, tuple[Access, Access]]:
    """The accesses of ``kind`` of ``launch`` without a mask to tensors of open size, each by its place and with a masked load at its
    offsets; those alone whose mask is ``full``."""

    def key(access: Access) -> object:
        lanes = access.offset.atoms() if access.offset is not None else ()
        extents = [(dim, extent) for dim, extent in enumerate(access.shape) if kind is Store or Lane(dim) in lanes]
        return access.offset, tuple(extents), access.base if kind is Load else ""

    masked = {
        key(site.access): site.access
        for site in sites(launch.kernel, Load)
        if site.access.mask and site.access.offset is not None and not site.open and site.access.elements > 1
    }
    found = {}
    for site in sites(launch.kernel, kind):
        bare, tensor = site.access, launch.tensor(site.access.base)
        twin = masked.get(key(bare))
        if twin is None or bare.mask is not None or bare.checked or site.guards or (full and not _is_full(twin)):
            continue
        if tensor is None or last_element(tensor) is None:
            found[bare.span] = bare, twin
    return found


def _is_full(access: Access) -> bool:
    """Whether the mask holds for each lane of a tile or for none: its bounds are numbers, and tiles divide them."""
    limits = [right.value for _, right in access.mask or ()]
    return bool(limits) and all(limit is not None and limit % access.elements == 0 for limit in limits)


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


def _is_masked_elsewhere(shot: Overshoot) -> bool:
    """Whether the kernel itself expects partial tiles: another access masks the index. Where none does, the sizes are often packed
    in whole tiles by code that is not in view."""
    masks = (site.access.mask or () for site in sites(shot.launch.kernel))
    return any(shot.index in left.atoms() for mask in masks for left, _ in mask)


def _tests_divisibility(context: Context, tile: int) -> bool:
    """Whether the module tests anywhere whether something is a multiple of ``tile``, or of a multiple of it: what keeps other
    sizes away may then stand before the call, in a function that says which sizes are supported."""
    module = context.program.kernel
    in_kernels = {part for one in jit_functions(module) for part in module.within(one.node, cst.BinaryOperation)}
    tests = (
        one for one in module.of(cst.BinaryOperation) if isinstance(one.operator, cst.Modulo) and one not in in_kernels
    )
    divisors = (_constant(one.right, context.workload.sizes) for one in tests)
    return any(divisor is not None and divisor > 0 and divisor % tile == 0 for divisor in divisors)


def _constant(node: cst.BaseExpression, sizes: Mapping[str, int]) -> int | None:
    """The integer that an expression is, as a literal or by the name of a constant of the module."""
    if isinstance(node, cst.Integer):
        return node.evaluated_value
    return sizes.get(node.value) if isinstance(node, cst.Name) else None
