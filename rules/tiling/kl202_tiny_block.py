"""KL202."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant
from kernlint.rules.proofs.coarsening import Widened, can_widen, rows_of
from kernlint.rules.proofs.counterparts import counterpart
from kernlint.rules.proofs.dot_tiles import editable, setting
from kernlint.rules.proofs.grid_literals import joined
from kernlint.rules.proofs.indices import program_indices
from kernlint.rules.proofs.pricing import cheapest, gain
from kernlint.rules.tiling.row_chunks import row_chunks
from kernlint.workload import Access, Atomic, Branch, Dot, Kernel, Launch, Load, Loop, ProgramId, Reduce, Scan, concrete

#: The widest load or store of one thread.
_VECTOR_BYTES = 16
_BLOCKS = (256, 512, 1024, 2048, 4096)
_WARPS = (4, 8)
#: Rows per program with their warps.
_ROWS = ((4, 4), (8, 4), (16, 4), (32, 4), (32, 8))
#: Predicted gain below which rows are better left to a program each.
_LEAST_GAIN = 1.2


class TinyBlock(Rule):
    code = "KL202"
    name = "tiny-block"
    category = "tiling"
    severity = "warning"
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
        added in another order.
        """
    evidence = """
        H100, copy of 16.8 M halves: BLOCK 32 takes 317 us, 128 80 us, 512 and above 24.4 us (`copy_block` in
        `calibration/facts/h100-micro.csv`). Pattern rows PERF-019, PERF-026.
        H200, entropies of 2,048 rows of 128,256 halves with an online softmax: 1532 us in chunks of 128, 268 us in chunks of 4096
        (`evals/2026-11-28-sixth/entropy-narrow-chunks`).
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def relu(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty_like(x)
                grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
                relu[grid](x, y, x.numel(), BLOCK=64)
                return y

        def get_inputs():
            return [torch.randn(4096, 4096, dtype=torch.float16)]
        """
    good = bad.replace("BLOCK=64", "BLOCK=1024")
    example = "relu[grid](x, y, n, BLOCK=64)"
    use_instead = "relu[grid](x, y, n, BLOCK=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.distinct_launches():
            if launch.autotuned:
                continue
            tile = _streamed_tile(launch)
            threads = context.device.warp_size_threads * launch.num_warps
            if tile is not None and tile * _widest(launch.kernel, 2) >= _VECTOR_BYTES * threads:
                continue  # neither a tiny block nor a short row
            if tile is not None:
                launch = joined(context, launch)
            name = _block_name(context, launch, tile) if tile is not None else None
            if tile is None or name is None:
                yield from self._rows(context, launch)
                yield from self._chunks(context, launch)
                continue
            widest = _widest(launch.kernel)
            if tile * widest >= _VECTOR_BYTES * threads:
                continue
            if launch.programs is None and (tile >= threads or len(launch.grid) > 1):
                continue  # vectors matter to long streams; how long this one is nobody says
            block, warps, variant = _best(context, launch, name, tile, widest)
            per_thread = tile * widest / threads
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
            yield Finding(
                self, severity,
                f"`{launch.kernel.name}` streams in blocks of {tile} elements, {per_thread:g} bytes per thread",
                launch.span, launch.function, launch.kernel.name,
                (Evidence(f"{name}={tile} with num_warps={launch.num_warps}{programs}", launch.literals.get(name, (launch.span,))[0]),),
                change,
            )  # fmt: skip

    def _rows(self, context: Context, launch: Launch) -> Iterator[Finding]:
        """The finding for a kernel of one short row per program."""
        row = _short_row(launch, context.device.warp_size_threads)
        if row is None:
            return
        axis, width = row
        options = {
            context.variant.then(transform=Widened(launch.span, axis, rows, width, warps)): (rows, warps)
            for rows, warps in _ROWS
            if rows * width <= _BLOCKS[-1]
        }
        best = cheapest(context, options) if options else None
        expected = gain(context, best) if best is not None else None
        if best is None or expected is None or expected < _LEAST_GAIN:
            return
        rows, warps = options[best]
        kernel = launch.kernel.name
        change = Change(
            best,
            f"Each of {launch.programs} programs of `{kernel}` handles one row of {width} elements with {launch.num_warps} warps: "
            "starting programs, not memory, sets the pace.",
            f"Let each program handle {rows} rows as a [{rows}, {width}] tile with num_warps={warps}.",
            f"Take `rows = tl.program_id(0) * {rows} + tl.arange(0, {rows})`, address `rows[:, None] * stride + columns[None, :]`, "
            f"reduce over axis 1, mask the last rows, and launch a grid {rows} times smaller.",
        )
        yield Finding(
            self, self.severity, f"`{kernel}` starts a program for each row of {width} elements", launch.span, launch.function,
            kernel, (Evidence(f"{launch.programs} programs of one {width}-element tile", launch.span),), change,
        )  # fmt: skip

    def _chunks(self, context: Context, launch: Launch) -> Iterator[Finding]:
        """The finding for a kernel that reduces its rows in narrow chunks."""
        if launch.programs is None or not any(True for _ in launch.kernel.walk(Reduce)):
            return
        chunks = row_chunks(context, launch)
        threads = context.device.warp_size_threads * launch.num_warps
        if chunks is None or chunks.width * _widest(launch.kernel, 2) >= _VECTOR_BYTES * threads:
            return
        name, width = chunks.name, chunks.width
        options = {
            context.variant.then(setting(launch, {name: block, "num_warps": warps})): (block, warps)
            for warps in _WARPS
            for block in _BLOCKS
            if width < block < 2 * chunks.columns and (chunks.masked or chunks.columns % block == 0)
        }
        best = cheapest(context, options) if options else None
        expected = gain(context, best) if best is not None else None
        after = counterpart(context, best, launch) if best is not None else None
        if best is None or expected is None or expected < _LEAST_GAIN or after is None or after.grid != launch.grid:
            return
        block, warps = options[best]
        kernel, reductions = launch.kernel.name, f"{chunks.reductions} reduction{'s' * (chunks.reductions > 1)}"
        change = Change(
            best,
            f"`{kernel}` walks each row in {chunks.trip} chunks of {width} elements, each with a load that nothing else hides and "
            f"{reductions} across the {launch.num_warps} warps.",
            f"Walk the rows in chunks of {block}: launch `{kernel}` with {name}={block} and num_warps={warps}.",
            f"Set {name}={block} and num_warps={warps} at line {launch.span.line}; nothing else depends on {name}.",
        )
        yield Finding(
            self, self.severity, f"`{kernel}` reduces its rows in chunks of {width} elements, {chunks.trip} for each row", launch.span,
            launch.function, kernel,
            (Evidence(f"{name}={width} with num_warps={launch.num_warps}, {reductions} in each chunk",
                      launch.literals.get(name, (launch.span,))[0]),),
            change,
        )  # fmt: skip


def _widest(kernel: Kernel, least: int = 1) -> int:
    """The bytes of the widest element that accesses of ``least`` or more elements at a time move."""
    accesses = (node for node, _ in kernel.walk(Access) if isinstance(node, Access))
    return max(access.dtype.bytes for access in accesses if access.elements >= least)


def _short_row(launch: Launch, warp_threads: int) -> tuple[ProgramId, int] | None:
    """(program index that counts the rows, elements of a row) of a kernel that handles a row of less than 16 bytes per
    thread in each program, without a loop; None for any other."""
    kernel = launch.kernel
    if not can_widen(kernel) or any(True for _ in kernel.walk((Loop, Atomic))) or launch.programs is None:
        return None
    accesses = [access for access, _ in kernel.walk(Access)]
    tiles = {(access.elements, access.dtype.bytes) for access in accesses if access.elements > 1}  # type: ignore[union-attr]
    if len({elements for elements, _ in tiles}) != 1:
        return None
    width = max(elements for elements, _ in tiles)
    # Where the row would fill four warps, the default, fewer warps are the nearer remedy.
    if width * max(size for _, size in tiles) >= _VECTOR_BYTES * warp_threads * min(launch.num_warps, _WARPS[0]):
        return None
    indices = program_indices(launch)
    counted = [atom for atom, extent in indices.extents.items() if extent != 1]
    along = rows_of(launch, indices)
    if len(counted) != 1 or along is None or along.step is not None:
        return None
    strides = [
        indices.rewrite(store.offset).coefficient(counted[0]) for store in kernel.stores() if store.offset is not None
    ]
    apart = all(stride is not None and concrete(stride) not in (None, 0) for stride in strides)
    return (counted[0], width) if strides and apart else None


def _streamed_tile(launch: Launch) -> int | None:
    """The tile of a kernel that only streams: every access is that many neighbouring elements, or one."""
    kernel = launch.kernel
    if not kernel.complete or any(True for _ in kernel.walk((Loop, Dot, Reduce, Scan, Branch))):
        return None
    tiles = set()
    for access, _ in kernel.walk(Access):
        assert isinstance(access, Access)
        if len(access.shape) > 1:
            return None
        if access.elements > 1:
            if access.offset is not None and access.stride(0) not in (0, 1):
                return None
            tiles.add(access.elements)
    return tiles.pop() if len(tiles) == 1 else None


def _block_name(context: Context, launch: Launch, tile: int) -> str | None:
    """The constexpr that is the tile and nothing else: doubling it doubles the tile and halves the grid."""
    for name, value in launch.constexprs.items():
        if value != tile or isinstance(value, bool) or not editable(launch, name):
            continue
        twice = counterpart(context, context.variant.then(setting(launch, {name: 2 * tile})), launch)
        if twice is None or _streamed_tile(twice) != 2 * tile or _value_a_block(launch, twice, tile):
            continue
        old, new = launch.programs, twice.programs
        if old is None or new is None:
            if launch.grid != twice.grid:
                return name
        elif new <= (old + 1) // 2:
            return name
    return None


def _value_a_block(launch: Launch, twice: Launch, tile: int) -> bool:
    """Whether a program loads a single value by the number of its block (a scale for each), which a larger block would use for
    elements that have another; ``twice`` is the launch with blocks of twice the ``tile``."""
    axes = [ProgramId(axis) for axis in range(3)]

    def blocks(one: Launch, width: int) -> set[ProgramId]:
        tiles = [node for node, _ in one.kernel.walk(Access) if isinstance(node, Access) and node.elements == width]
        return {
            axis for node in tiles if node.offset is not None for axis in axes if node.offset.coefficient(axis) == width
        }

    counted = blocks(launch, tile) & blocks(twice, 2 * tile)
    before, after = ([n for n, _ in one.kernel.walk(Load) if isinstance(n, Load)] for one in (launch, twice))
    return any(
        old.elements == 1 and old.offset is not None and old.offset == new.offset and counted & old.offset.atoms()
        for old, new in zip(before, after)
    )


def _best(context: Context, launch: Launch, name: str, tile: int, widest: int) -> tuple[int, int, Variant]:
    """The block and warps of least predicted time; those that fill 16-byte vectors of four warps where none is known."""
    priced = []
    least = _VECTOR_BYTES * context.device.warp_size_threads // widest
    # No block closes a size that is open.
    known = context.estimate(context.workload).gpu_us is not None
    for block, warps in _options(tile, least) if known else ():
        variant = context.variant.then(setting(launch, {name: block, "num_warps": warps}))
        time = context.gpu_us(variant)
        if time is not None:
            priced.append((time, block, warps, variant))
    if priced:
        return min(priced, key=lambda option: option[:3])[1:]
    block = least * _WARPS[0]
    return block, _WARPS[0], context.variant.then(setting(launch, {name: block, "num_warps": _WARPS[0]}))


def _options(tile: int, least: int) -> Iterator[tuple[int, int]]:
    """Blocks with their warps; ``least`` elements are a 16-byte vector for each thread of one warp."""
    return ((block, warps) for warps in _WARPS for block in _BLOCKS if block > tile and block >= least * warps)


def _programs(context: Context, variant: Variant, launch: Launch) -> int | None:
    found = counterpart(context, variant, launch)
    return None if found is None else found.programs
