from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.headroom import kernels
from kernlint.operators.retile import (
    BLOCKS,
    VECTOR_BYTES,
    WARPS,
    Streamed,
    best_block,
    block_name,
    streamed_tile,
    widest,
)
from kernlint.records import dataclass
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant
from kernlint.rules.proofs.counterparts import counterpart
from kernlint.rules.proofs.dot_tiles import editable, setting
from kernlint.rules.proofs.grid_literals import joined
from kernlint.rules.proofs.indices import program_indices
from kernlint.rules.proofs.pricing import best_gain, causes_at
from kernlint.rules.proofs.tile_independence import difference
from kernlint.workload import Access, Atomic, Branch, Dot, Launch, Loop, Reduce, Scan, concrete
from kernlint.workload.expr import Lane, lift


class TinyBlock(Rule):
    code = "KL202"
    name = "tiny-block"
    operator = "retile"
    summary = "a streaming kernel has blocks with less than 16 bytes for each thread"
    what_it_does = """
        Finds elementwise kernels (one 1-D tile, no loop, no dot, no reduction) whose block holds less than 16 bytes per thread
        in every access and is set by a constant that the grid is computed from, so that a larger one leaves the result as it
        is. Finds also kernels that walk their rows in chunks of that size and reduce each, where the width of a chunk is a
        constant and proven to mean nothing: sums, extrema and online softmax states that are carried from chunk to chunk.
        Finds also kernels without a loop whose block of that size is a whole row of the problem, one per program, where
        several rows per program are predicted to be faster.
        """
    why = """
        The card starts a program every 0.6 to 0.8 ns, whatever it does. A block of 32 halves is 64 bytes: programs cannot be
        started fast enough to keep the memory busy, most threads of the four warps are masked off, and none uses a 16-byte
        vector load. In a loop, each such chunk waits for its own load, and each reduction of it is a trip through shared memory
        and two barriers, whatever the width.
        """
    when_not = """
        Autotuned launches. Chunks that are groups, with a scale or a result of their own. Grids so small that a launch costs more than the
        work: the estimate decides.
        """
    fix_safety = """
        Safe: every element is computed alone; the grid follows the block and the mask bounds the tail. Sums over chunks are
        added in another order. Where several rows go into one program kernels are written anew, which is unsafe.
        """
    evidence = """
        H100, copy of 16.8 M halves: BLOCK 32 takes 317 us, 128 80 us, 512 and above 24.4 us (`copy_block` in
        `calibration/facts/h100-micro.csv`). Pattern rows PERF-019, PERF-026.
        H200, entropies of 2,048 rows of 128,256 halves with an online softmax: 1532 us in chunks of 128, 268 us in chunks of 4096
        (`evals/2026-11-28-sixth/entropy-narrow-chunks`).
        """

    bad = elementwise("relu", "tl.maximum({}, 0.0)")
    launch = """grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
                relu[grid](x, y, x.numel(), BLOCK=64)"""
    good_launch = """grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
                relu[grid](x, y, x.numel(), BLOCK=1024)"""
    inputs = "torch.randn(4096, 4096, dtype=torch.float16)"
    example = "relu[grid](x, y, n, BLOCK=64)"
    use_instead = "relu[grid](x, y, n, BLOCK=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.distinct_launches():
            if launch.autotuned:
                continue
            tile = streamed_tile(launch)
            threads = context.device.warp_size_threads * launch.num_warps
            if tile is not None and tile * widest(launch, 2) >= VECTOR_BYTES * threads:
                continue  # neither a tiny block nor a short row
            if tile is not None:
                launch = joined(context, launch)
            name = block_name(context, launch, tile) if tile is not None else None
            if tile is None or not isinstance(name, str):
                yield from self._rows(context, launch)
                yield from self._chunks(context, launch)
                continue
            element = widest(launch)
            if tile * element >= VECTOR_BYTES * threads:
                continue
            if launch.programs is None and (tile >= threads or len(launch.grid) > 1):
                continue  # vectors matter to long streams; how long this one is nobody says
            block, warps, variant = best_block(context, Streamed(launch, name, tile))
            per_thread = tile * element / threads
            programs = "" if launch.programs is None else f", in {launch.programs} programs"
            fewer = _programs(context, variant, launch)
            then = "" if fewer is None else f": {fewer} programs"
            change = Change(
                variant,
                f"{name}={tile} gives each of the {threads} threads of a program {per_thread:g} bytes{programs}: starting "
                "programs, not memory, sets the pace.",
                f"Launch `{launch.kernel.name}` with {name}={block} and num_warps={warps}{then}, "
                "with 16-byte vectors for every thread.",
                f"Set {name}={block} and num_warps={warps} at line {launch.span.line}; the grid follows from {name}.",
            )
            # A grid of unknown size may be a small one, which no block makes faster.
            severity = self.severity if launch.programs is not None else "info"
            yield self.finding(
                f"`{launch.kernel.name}` streams in blocks of {tile} elements, {per_thread:g} bytes per thread",
                launch.span, launch.function,
                (Evidence(f"{name}={tile} with num_warps={launch.num_warps}{programs}", launch.literals.get(name, (launch.span,))[0]),),
                change, kernel=launch.kernel.name, severity=severity,
            )  # fmt: skip

    def _rows(self, context: Context, launch: Launch) -> Iterator[Finding]:
        """The finding for a kernel of one short row per program."""
        width = _short_row(launch, context.device.warp_size_threads)
        kernel = launch.kernel.name
        for cause in causes_at(context, kernel, names=(kernels.MANY,)) if width is not None else ():
            change = Change(
                None,
                f"Each of {launch.programs} programs of `{kernel}` handles one row of {width} elements with {launch.num_warps} warps: "
                "starting programs, not memory, sets the pace.",
                f"Let each program handle several rows as a [ROWS, {width}] tile, of some {BLOCKS[2]} elements.",
                "Take `rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)`, address `rows[:, None] * stride + columns[None, :]`, "
                "reduce over axis 1, mask the last rows, and launch a grid ROWS times smaller.",
            )
            yield self.finding(
                f"`{kernel}` starts a program for each row of {width} elements", launch.span, launch.function,
                (Evidence(f"{launch.programs} programs of one {width}-element tile", launch.span),), change, cause, kernel=kernel,
            )  # fmt: skip

    def _chunks(self, context: Context, launch: Launch) -> Iterator[Finding]:
        """The findings for a kernel that reduces its rows in narrow chunks: of one whose width a constant sets that means nothing else."""
        chunks = _row_chunks(launch)
        threads = context.device.warp_size_threads * launch.num_warps
        if chunks is None or chunks.width * widest(launch, 2) >= VECTOR_BYTES * threads:
            return
        width, kernel = chunks.width, launch.kernel.name
        for name, value in launch.constexprs.items():
            if value != width or isinstance(value, bool) or not editable(launch, name):
                continue
            options = {
                context.variant.then(setting(launch, {name: block, "num_warps": warps})): (block, warps)
                for warps in WARPS
                for block in BLOCKS
                if width < block < 2 * chunks.trip * width and _means_the_same(context, launch, name, block)
            }
            best = best_gain(context, options)
            if best is None:
                continue
            block, warps = options[best]
            reductions = f"{chunks.reductions} reduction{'s' * (chunks.reductions > 1)}"
            change = Change(
                best,
                f"`{kernel}` walks each row in {chunks.trip} chunks of {width} elements, each with a load that nothing else hides and "
                f"{reductions} across the {launch.num_warps} warps.",
                f"Walk the rows in chunks of {block}: launch `{kernel}` with {name}={block} and num_warps={warps}.",
                f"Set {name}={block} and num_warps={warps} at line {launch.span.line}; nothing else depends on {name}.",
            )
            yield self.finding(
                f"`{kernel}` reduces its rows in chunks of {width} elements, {chunks.trip} for each row", launch.span,
                launch.function,
                (Evidence(f"{name}={width} with num_warps={launch.num_warps}, {reductions} in each chunk",
                          launch.literals.get(name, (launch.span,))[0]),),
                change, kernel=kernel,
            )  # fmt: skip


@dataclass(frozen=True)
class _RowChunks:
    """Tiles of ``width`` elements, of which the longest loop takes ``trip``; one takes part in up to ``reductions`` reductions."""

    width: int
    trip: int
    reductions: int


def _row_chunks(launch: Launch) -> _RowChunks | None:
    """The chunks that loops of ``launch`` reduce rows in; None where they are of several widths or of none."""
    kernel = launch.kernel
    if launch.programs is None or not kernel.complete or kernel.assumed or kernel.has(Dot):
        return None
    walking = kernel.nodes(Loop)
    widths = {access.elements for access in kernel.nodes(Access) if access.shape}
    trips = [trip for loop in walking if (trip := concrete(loop.trip)) is not None]
    reductions = max((sum(isinstance(node, Reduce) for node in loop.body) for loop in walking), default=0)
    if len(widths) != 1 or not reductions or len(trips) != len(walking):
        return None
    return _RowChunks(widths.pop(), max(trips), reductions)


def _means_the_same(context: Context, launch: Launch, name: str, block: int) -> bool:
    """Whether it is proven that ``launch`` does the same in chunks of ``block``."""
    edits = setting(launch, {name: block})
    before = context.after(context.variant)
    return before is not None and difference(before, context.after(context.variant.then(edits)), edits) is None


def _short_row(launch: Launch, warp_threads: int) -> int | None:
    """The elements of a row of a kernel that handles a row of less than 16 bytes per thread in each program, without a loop; None
    for any other."""
    kernel = launch.kernel
    if not kernel.complete or kernel.assumed or launch.programs is None:
        return None
    if kernel.has((Loop, Atomic, Dot, Scan, Branch)):
        return None
    accesses = kernel.nodes(Access)
    widths = {access.elements for access in accesses if access.elements > 1}
    if len(widths) != 1 or any(len(access.shape) > 1 for access in accesses):
        return None
    (width,) = widths
    # Where the row would fill four warps, the default, fewer warps are the nearer remedy.
    if width * widest(launch, 2) >= VECTOR_BYTES * warp_threads * min(launch.num_warps, WARPS[0]):
        return None
    indices = program_indices(launch)
    counted = [atom for atom, extent in indices.extents.items() if extent != 1]
    if len(counted) != 1 or any(access.offset is None for access in accesses):
        return None
    steps = {
        access: (offset.coefficient(counted[0]), offset.coefficient(Lane(0)))
        for access in accesses
        for offset in [indices.rewrite(lift(access.offset or 0))]
    }
    if not kernel.stores() or any(concrete(steps[store][0]) in (None, 0) for store in kernel.stores()):
        return None
    # Where every access goes on by the tile it is a block of one long row.
    streams = all(step is not None and lane is not None and step == lane * width for step, lane in steps.values())
    return None if streams else width


def _programs(context: Context, variant: Variant, launch: Launch) -> int | None:
    found = counterpart(context, variant, launch)
    return None if found is None else found.programs
