"""Retile: a launch with another tile or block, other warps or stages, that computes what it did.

Which numbers set the tile is found by changing each and reading the program again: nothing but the tile may change with it. Of the
tiles that fit the cost model takes the cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Union

from kernlint.headroom import kernels
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.operators.product_tiles import STAGES, TileChoice, TileNames, named
from kernlint.records import dataclass, replace
from kernlint.rules.finding import Context, Variant
from kernlint.rules.proofs.counterparts import counterpart
from kernlint.rules.proofs.dot_tiles import editable, main_dot, setting
from kernlint.rules.proofs.grid_literals import joined
from kernlint.rules.proofs.kernel_copies import Form, form_of
from kernlint.rules.proofs.same_elements import same_elements
from kernlint.workload import Access, Branch, Dot, Launch, Loop, Reduce, Scan

#: Blocks of kernels that stream, with warps that share them.
BLOCKS = (256, 512, 1024, 2048, 4096)
WARPS = (4, 8)
#: The widest access of one thread.
VECTOR_BYTES = 16


@dataclass(frozen=True)
class Launched(Place):
    """A kernel launch, as its first configuration."""

    launch: Launch


@dataclass(frozen=True)
class Tiled:
    """A matmul-like ``launch`` whose ``dot`` has a tile that the constexprs ``names`` set; copies of one ``form`` are alike."""

    launch: Launch
    dot: Dot
    names: TileNames
    form: Form | None


@dataclass(frozen=True)
class Streamed:
    """A ``launch`` that streams in blocks of ``tile`` elements, which the constexpr ``name`` sets."""

    launch: Launch
    name: str
    tile: int


class _Retile(Operator[Launched, Union[Tiled, Streamed]]):
    name: ClassVar[str] = "retile"
    no_gain: ClassVar[str] = "no other tile that fits is predicted to be faster"
    causes: ClassVar[frozenset[str]] = frozenset(
        {kernels.TILE, kernels.FEW, kernels.MANY, kernels.LATENCY, kernels.IDLE, kernels.SPILLS}
    )

    def sites(self, context: Context) -> Iterator[Launched]:
        for launch in context.distinct_launches():
            kernel = launch.kernel.name
            yield Launched(f"the tile of `{kernel}`", launch.span, launch.function, kernel, launch)

    def check(self, context: Context, site: Launched) -> Tiled | Streamed | WhyNot:
        launch = site.launch
        if launch.autotuned:
            return WhyNot("triton.autotune chooses its tile")
        tile = streamed_tile(launch)
        if tile is not None:
            launch = joined(context, launch)
            name = block_name(context, launch, tile)
            return name if isinstance(name, WhyNot) else Streamed(launch, name, tile)
        found = product(context, launch)
        if isinstance(found, WhyNot):
            return found
        free = TileChoice(context, found.launch, found.dot, found.names, form=found.form).free()
        return free if isinstance(free, WhyNot) else replace(found, names=free.names)

    def apply(self, context: Context, proofs: Sequence[Tiled | Streamed]) -> Variant | None:
        """The program with the cheapest tile at each place; None where no other is cheaper."""
        variant = context.variant
        for proof in proofs:
            if isinstance(proof, Streamed):
                variant = variant.then(best_block(context, proof)[2].edits)
                continue
            choice = TileChoice(context, proof.launch, proof.dot, proof.names, stages_for(proof.launch), proof.form)
            best = choice.best()
            if best is not None:
                variant = variant.then(choice.edits(best.tile))
        before, after = context.gpu_us(context.variant), context.gpu_us(variant)
        return variant if before is not None and after is not None and after < before else None


RETILE = _Retile()


def product(context: Context, launch: Launch) -> Tiled | WhyNot:
    """``launch`` as one whose tile is set at the launch, where it is built around one product; whether it is free is not asked."""
    if launch.autotuned:
        return WhyNot("triton.autotune chooses its tile")
    found = main_dot(launch)
    if found is None or not found[1]:
        return WhyNot(
            "it does not only stream, nor is it built around one tl.dot in a loop: no number is its tile alone"
        )
    form = form_of(context, launch)
    launch, names = named(context, launch, found[0], form)
    return names if isinstance(names, WhyNot) else Tiled(launch, found[0], names, form)


def stages_for(launch: Launch) -> tuple[int, ...]:
    """The stages to try: a source that asks for no pipelining has another problem (KL204)."""
    return (launch.num_stages,) if launch.num_stages < 2 else STAGES


# -- kernels that stream ----------------------------------------------------------------------------------------------


def streamed_tile(launch: Launch) -> int | None:
    """The tile of a kernel that only streams: every access is that many neighbouring elements, or one."""
    kernel = launch.kernel
    if not kernel.complete or kernel.has((Loop, Dot, Reduce, Scan, Branch)):
        return None
    tiles = set()
    for access in kernel.nodes(Access):
        if len(access.shape) > 1:
            return None
        if access.elements > 1:
            if access.offset is not None and access.stride(0) not in (0, 1):
                return None
            tiles.add(access.elements)
    return tiles.pop() if len(tiles) == 1 else None


def block_name(context: Context, launch: Launch, tile: int) -> str | WhyNot:
    """The constexpr that is the tile of a kernel that streams, and nothing else: doubling it doubles the tile and halves the grid."""
    why = f"no number at the launch is the block of {tile}"
    for name, value in launch.constexprs.items():
        if value != tile or isinstance(value, bool):
            continue
        if not editable(launch, name):
            why = f"`{name}` is no number at the launch from which the grid is computed"
            continue
        twice = counterpart(context, context.variant.then(setting(launch, {name: 2 * tile})), launch)
        if twice is None or streamed_tile(twice) != 2 * tile:
            why = f"more than the block depends on `{name}`"
        elif not _halved(launch, twice):
            why = f"the grid does not follow from `{name}`"
        elif not same_elements(launch, twice, tile, 2 * tile):
            why = f"what it stores depends on the number of a block of {tile}, or on the block"
        else:
            return name
    return WhyNot(why)


def _halved(launch: Launch, twice: Launch) -> bool:
    """Whether ``twice`` has half as many programs, as far as that is known."""
    if launch.programs is None or twice.programs is None:
        return launch.grid != twice.grid
    return twice.programs <= (launch.programs + 1) // 2


def widest(launch: Launch, least: int = 1) -> int:
    """The bytes of the widest element that accesses of ``least`` or more elements at a time move."""
    accesses = launch.kernel.nodes(Access)
    return max(access.dtype.bytes for access in accesses if access.elements >= least)


def best_block(context: Context, found: Streamed) -> tuple[int, int, Variant]:
    """The block and warps of least predicted time, with the program that has them; those that fill 16-byte vectors of four warps
    where no time is known."""
    least = VECTOR_BYTES * context.device.warp_size_threads // widest(found.launch)
    priced: list[tuple[float, int, int, Variant]] = []
    # No block closes a size that is open.
    known = context.estimate(context.workload).gpu_us is not None
    choices = [(block, warps) for warps in WARPS for block in BLOCKS if block > found.tile and block >= least * warps]
    for block, warps in choices if known else ():
        variant = context.variant.then(setting(found.launch, {found.name: block, "num_warps": warps}))
        time = context.gpu_us(variant)
        if time is not None:
            priced.append((time, block, warps, variant))
    if priced:
        return min(priced, key=lambda option: option[:3])[1:]
    block = least * WARPS[0]
    return block, WARPS[0], context.variant.then(setting(found.launch, {found.name: block, "num_warps": WARPS[0]}))
