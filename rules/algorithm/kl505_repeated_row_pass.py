from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom.causes import Cause
from kernlint.records import dataclass
from kernlint.rules.algorithm.row_sweeps import Sweep, sweeps
from kernlint.rules.algorithm.variance import two_pass_variances
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.proofs.whole_tiles import whole_tiles
from kernlint.rules.wording import listed
from kernlint.workload import (
    Atomic,
    Branch,
    Dot,
    Expr,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    Reduce,
    Scan,
    Size,
    Store,
    concrete,
)
from kernlint.workload.expr import Atom
from kernlint.workload.synthesis import power_of_two

#: Longest row that one program keeps: 64 KB of fp32, a quarter of an SM's registers, spread over up to 16 warps.
MAX_ROW = 16_384


@dataclass(frozen=True)
class RowPasses:
    """Loops among the same statements that sweep one row of ``row`` elements in tiles of ``tile``.

    ``again`` are the loads of later loops that repeat one of an earlier loop. ``depth`` is 0 where the tiles are pieces of
    the row; else they lie beside each other, ``depth`` of them: each lane walks down a column.
    """

    loops: tuple[Loop, ...]
    again: tuple[Load, ...]
    tile: int
    row: int
    depth: int = 0

    @property
    def whole(self) -> int:
        """The elements of the tile that holds the row: powers of two, as tl.arange demands."""
        return power_of_two(self.depth) * self.tile if self.depth else power_of_two(self.row)

    def __str__(self) -> str:
        return f"{self.depth} x {self.tile} tile" if self.depth else f"{self.row:,}-element row"


class RepeatedRowPass(Rule):
    code = "KL505"
    name = "repeated-row-pass"
    operator = "generate"
    summary = "a row that would fit on chip is read from memory in several loops"
    what_it_does = """
        Finds kernels in which several loops, one after the other, load the same tiles of a row in pieces, although the whole row
        has at most 16,384 elements and could stay in registers.
        """
    why = """
        Each pass loads the row again and starts its loop with empty pipelines. One masked tile of the whole row, loaded once,
        serves the maximum, the sums and the normalised output alike.
        """
    when_not = "Longer rows. Rows whose length varies so much between calls that one tile size cannot serve them."
    evidence = """
        H100, 5000 rows of 1500 fp32 in blocks of 1024: 6.3 us with one pass, 11.6 us with two (`calibration/facts/h100-micro-2.csv`,
        row_loop_masked). Pattern row PERF-040.
        """

    bad = """
        @triton.jit
        def softmax(x, y, N, BLOCK: tl.constexpr):
            row = tl.program_id(0) * N
            cols = tl.arange(0, BLOCK)
            top = tl.full((BLOCK,), float("-inf"), tl.float32)
            for start in range(0, N, BLOCK):
                top = tl.maximum(top, tl.load(x + row + start + cols, mask=start + cols < N, other=float("-inf")))
            high = tl.max(top, axis=0)
            total = tl.zeros((BLOCK,), tl.float32)
            for start in range(0, N, BLOCK):
                total += tl.exp(tl.load(x + row + start + cols, mask=start + cols < N, other=float("-inf")) - high)
            norm = tl.sum(total, axis=0)
            for start in range(0, N, BLOCK):
                v = tl.load(x + row + start + cols, mask=start + cols < N, other=float("-inf"))
                tl.store(y + row + start + cols, tl.exp(v - high) / norm, mask=start + cols < N)
        """
    good = """
        @triton.jit
        def softmax(x, y, N, BLOCK: tl.constexpr):
            row = tl.program_id(0) * N
            cols = tl.arange(0, BLOCK)
            v = tl.load(x + row + cols, mask=cols < N, other=float("-inf"))
            e = tl.exp(v - tl.max(v, axis=0))
            tl.store(y + row + cols, e / tl.sum(e, axis=0), mask=cols < N)
        """
    launch = "softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=256)"
    good_launch = "softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=8192, num_warps=8)"
    inputs = "torch.randn(8192, 8192)"
    example = "for ...: m = max(load(x))\nfor ...: s += exp(load(x) - m)\nfor ...: store(exp(load(x) - m) / s)"
    use_instead = "v = tl.load(x + cols, mask=cols < N)  # the whole row, once"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            # What stands in for a constexpr of open size is no length of a tile or of a row.
            found = None if launch.open_constexprs else row_passes(launch)
            if found is None or launch.span in seen:
                continue
            if len(found.loops) > 2 or not any(two_pass_variances(launch)):
                # A mean and a variance alone need one pass whatever the row's length: KL504.
                seen.add(launch.span)
                yield from (self._finding(launch, found, cause) for cause in causes_at(context, launch.kernel.name))

    def _finding(self, launch: Launch, found: RowPasses, cause: Cause | None) -> Finding:
        kernel = launch.kernel.name
        load = found.again[0]
        name = launch.name_of(load.base)
        lines = listed([str(loop.span.line) for loop in found.loops])
        count = len(found.loops)
        return self.finding(
            f"`{kernel}` sweeps the same {found} of `{name}` in {count} loops",
            load.span,
            kernel,
            (
                Evidence(
                    f"the loops at lines {lines} load the same addresses of `{name}`, {found.tile} at a time",
                    found.loops[0].span,
                ),
                Evidence(f"it has {found.row:,} elements, so one tile of {found.whole:,} holds it", load.span),
            ),
            Change(
                None,
                f"Each program loads its {found} of `{name}` {count} times, {found.tile} elements at a time, waiting for "
                "memory in every pass.",
                "Load all of it once into one masked tile and do all passes on it in registers.",
                f"{_how(found)}, with warps enough for it, drop the loops at lines {lines}, load `{name}` once with a mask, and "
                "reduce and write from that tile.",
            ),
            cause,
        )


def row_passes(launch: Launch) -> RowPasses | None:
    """The loops of a kernel that could be one tile; None where they do other things or the row is too long."""
    kernel = launch.kernel
    if not kernel.complete or kernel.has((Dot, Atomic, Scan, Branch)):
        return None
    found = [s for s in sweeps(kernel) if s.first in kernel.body and s.second in kernel.body]
    loops = [node for node in kernel.body if isinstance(node, Loop)]
    if not found or {id(n) for s in found for n in (s.first, s.second)} != {id(n) for n in loops}:
        return None
    trip = concrete(loops[0].trip)
    if trip is None or trip < 2 or any(loop.trip != loops[0].trip for loop in loops):
        return None
    tile = found[0].pairs[0][0].elements
    nodes = [(node, loop) for loop in loops for node in loop.body]
    depth = 0
    if all(_walks(node, loop, tile) for node, loop in nodes):
        row = _length(found[0].pairs[0][0], loops[0], tile * trip)
    elif all(_walks_down(node, loop, tile) for node, loop in nodes):
        row, depth = tile * trip, trip
    else:
        return None
    again = tuple({b.id: b for s in found for a, b in s.pairs if _same_lanes(s, a, b)}.values())
    if not again:
        return None
    passes = RowPasses(tuple(loops), again, tile, row, depth)
    return passes if max(row, passes.whole) <= MAX_ROW else None


def _same_lanes(sweep: Sweep, first: Load, second: Load) -> bool:
    """Whether the two loads at one address leave out the same lanes: then one tile serves both."""
    index: dict[Atom, Size] = {LoopIndex(sweep.second.id): Expr.atom(LoopIndex(sweep.first.id))}

    def slack(load: Load) -> list[Expr]:
        return sorted(((right - left).substitute(index) for left, right in load.mask or ()), key=str)

    return (first.mask is None) == (second.mask is None) and slack(first) == slack(second)


def _walks(node: Node, loop: Loop, tile: int) -> bool:
    """A load or store of one tile that moves on by its own length each iteration; anything that is not a memory access."""
    if isinstance(node, Loop):
        return False
    if not isinstance(node, (Load, Store)) or node.elements == 1:
        return True
    return node.shape == (tile,) and 0 in whole_tiles(node, LoopIndex(loop.id))


def _walks_down(node: Node, loop: Loop, tile: int) -> bool:
    """A load or store of one tile whose next iteration lies beside it, each lane at the head of a column; anything that is
    no memory access, as long as it is lane by lane."""
    if isinstance(node, (Loop, Reduce)):
        return False
    if not isinstance(node, (Load, Store)) or node.elements == 1:
        return True
    if node.offset is None or node.shape != (tile,):
        return False
    step, stride = concrete(node.offset.coefficient(LoopIndex(loop.id))), concrete(node.stride(0))
    return step is not None and stride is not None and abs(step) >= tile * abs(stride) > 0


def _how(found: RowPasses) -> str:
    if found.depth:
        return f"Add an axis of {power_of_two(found.depth)} to the tile of {found.tile}"
    return f"Set the block to {found.whole:,} (next power of two of the row)"


def _length(load: Load, loop: Loop, padded: int) -> int:
    """The row's length: the mask's bound on the position in the row, else all that the tiles cover."""
    tile = load.elements
    position = Expr.atom(Lane(0)) + Expr.atom(LoopIndex(loop.id)) * tile
    for left, right in load.mask or ():
        if left == position and right.value is not None:
            return min(padded, right.value)
    return padded
