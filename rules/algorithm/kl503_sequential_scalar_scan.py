from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from kernlint.headroom.causes import Cause
from kernlint.records import dataclass
from kernlint.rules.algorithm.cascade import Cascade, cascade
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.proofs.source_text import node_at
from kernlint.workload import (
    Atomic,
    Branch,
    Dot,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Reduce,
    Scan,
    Store,
    concrete,
)
from kernlint.workload.expr import simplify
from kernlint.workload.synthesis import power_of_two

#: Elements that one program scans at a time: four warps with 16 each.
_BLOCK = 2048
#: Rows a program may handle beside each other for the loop still to count as one element per row.
_MAX_ROWS = 128
#: Below this many iterations there is nothing to scan.
_LEAST_TRIP = 16
#: Elements this far apart are fetched in the same sector, two by two at least.
_NEAR_BYTES = 16

_NAMES = {
    "sum": "running sum",
    "product": "running product",
    "extremum": "running extremum",
    "linear": "linear recurrence",
}


@dataclass(frozen=True)
class ScalarScan:
    """A loop that reads and accumulates one element (of each of ``rows`` rows) per iteration. ``stores`` write one in each
    iteration; where there are none, ``results`` behind the loop write what it came to."""

    loop: Loop
    loads: tuple[Load, ...]
    stores: tuple[Store, ...]
    results: tuple[Store | Atomic, ...]
    rows: int


class SequentialScalarScan(Rule):
    code = "KL503"
    name = "sequential-scalar-scan"
    operator = "generate"
    summary = "a running sum or recurrence is computed one element per loop iteration"
    what_it_does = """
        Finds kernel loops that in each iteration load one element, update a carried value with it by a sum, product, extremum
        or first-order linear recurrence, and store one element at the next address, or the result when the loop is done. The
        update is read from the values that flow around the loop. There may be several carried values, one needing the other
        in turn: the transmittance along a ray and the colours that it weights, a running maximum and the sum scaled by it.
        """
    why = """
        Each iteration waits for a load before the next, moves 4 bytes of a 32-byte sector, and leaves all lanes but one of
        its warps idle. These updates are associative: a block of the row can be scanned at once in log steps
        (`tl.cumsum`, `tl.associative_scan`), with one carried value between blocks.
        """
    when_not = """
        Non-linear recurrences (an activation inside), and values that wait for each other. Loops whose lanes already run
        along contiguous memory, one time step of many channels per iteration: there each iteration moves whole sectors.
        """
    evidence = """
        H100, 512 rows of 1024 fp32: 41.7 us one element at a time with 4 warps, 2.1 us in blocks of 1024; 32 rows of 1024: 40.2 us
        and 1.7 us (`calibration/facts/h100-micro-2.csv`, scalar_scan and block_scan_carry). Pattern row PERF-069.
        """

    bad = """
        @triton.jit
        def decay(x, y, n, a):
            row = tl.program_id(0) * n
            h = 0.0
            for i in range(n):
                h = a * h + tl.load(x + row + i)
                tl.store(y + row + i, h)
        """
    good = """
        @triton.jit
        def combine(a1, b1, a2, b2):
            return a1 * a2, b1 * a2 + b2

        @triton.jit
        def decay(x, y, n, a, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            row = tl.program_id(0) * n
            b = tl.load(x + row + i, mask=i < n, other=0.0)
            _, h = tl.associative_scan((tl.full((BLOCK,), a, tl.float32), b), 0, combine)
            tl.store(y + row + i, h, mask=i < n)
        """
    launch = "decay[(x.shape[0],)](x, y, x.shape[1], 0.9)"
    good_launch = "decay[(x.shape[0],)](x, y, x.shape[1], 0.9, BLOCK=4096)"
    inputs = "torch.randn(512, 4096)"
    example = "for i in range(n):\n    total += tl.load(x + i)\n    tl.store(y + i, total)"
    use_instead = """
        for start in range(0, n, BLOCK):
            block = tl.load(x + start + offsets)
            tl.store(y + start + offsets, tl.cumsum(block) + carry)
            carry += tl.sum(block)
        """

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for found in scalar_scans(launch):
                place = (launch.span, found.loop.span)
                statement = node_at(context, found.loop.span, cst.For) or node_at(context, found.loop.span, cst.While)
                if place in seen or statement is None:
                    continue
                updates = cascade(launch.kernel, found.loop)
                if updates is None:
                    continue
                seen.add(place)
                for cause in causes_at(context, launch.kernel.name):
                    # One that only ends in a result may be over few elements, such as the lengths of a batch.
                    if cause is not None or not found.results:
                        yield self._finding(launch, found, updates, cause)

    def _finding(self, launch: Launch, found: ScalarScan, cascade: Cascade, cause: Cause | None) -> Finding:
        updates = cascade.kinds
        kernel = launch.kernel.name
        trip = concrete(found.loop.trip)
        block = _block_size(found)
        what = _named(updates)
        linear = any(kind in ("linear", "product", "extremum") for kind in updates.values())
        scans = "tl.associative_scan" if linear else "tl.cumsum"
        source = launch.name_of(found.loads[0].base)
        written = (*found.stores, *found.results)[0]
        target = launch.name_of(written.base)
        times = f"{trip:,} times" if trip is not None else "once per element"
        one = f"one element{' per row' * (found.rows > 1)} per iteration"
        iterations = (
            f"{-(-trip // block)} iterations instead of {trip:,}." if trip is not None else "one iteration a block."
        )
        if found.stores or cascade.each:
            carry = "the last state" if linear else "the running total"
            method = f"Scan a block of {block} elements at a time with `{scans}` and carry {carry} between blocks."
            store = f"store the block to `{target}`" if found.stores else "add up the block"
            plan = (
                f"Load `{source}` in blocks of {block} (masked tail), apply `{scans}` along the row, combine with the carry, {store}, "
                f"and take the carry of the next block from its end: {iterations}"
            )
        else:
            method = f"Reduce a block of {block} elements at a time and combine the results of the blocks."
            plan = f"Load `{source}` in blocks of {block} (masked tail) and reduce each along the row: {iterations}"
        stored = f"stored {one} at consecutive addresses" if found.stores else "stored once the loop is done"
        return self.finding(
            f"`{kernel}` computes the {what} one element per iteration, {times}",
            found.loop.span,
            kernel,
            (
                Evidence(f"`{source}` is loaded {one} at consecutive addresses", found.loads[0].span),
                Evidence(f"the {what} is handed from one iteration to the next", found.loop.span),
                Evidence(f"`{target}` is {stored}", written.span),
            ),
            Change(
                None,
                f"The loop at line {found.loop.span.line} runs {times}, each time waiting for a scalar load before it can go on, "
                f"so one lane of {launch.num_warps} warps works and the row takes the latency of every iteration.",
                method,
                plan,
            ),
            cause,
        )


def _named(updates: Mapping[str, str]) -> str:
    """The variables by kind: "running product `t`, running sums `a` and `b`"."""
    found = []
    for kind in dict.fromkeys(updates.values()):
        names = [f"`{name}`" for name, other in updates.items() if other == kind]
        what = _NAMES[kind] if len(names) == 1 else {"extremum": "running extrema"}.get(kind, f"{_NAMES[kind]}s")
        found.append(f"{what} {', '.join(names[:-1])}{' and ' if names[1:] else ''}{names[-1]}")
    return ", ".join(found[:-1]) + (" and " if found[1:] else "") + found[-1]


def scalar_scans(launch: Launch) -> Iterator[ScalarScan]:
    """The loops of a kernel that carry a value and move one element per row and iteration along contiguous memory."""
    if not launch.kernel.complete:
        return
    for node in launch.kernel.nodes(Loop):
        found = _scalar_scan(launch, node)
        if found is not None:
            yield found


def _scalar_scan(launch: Launch, loop: Loop) -> ScalarScan | None:
    trip = concrete(loop.trip)
    if not loop.carried or (trip is not None and trip < _LEAST_TRIP) or loop.trip is None:
        return None
    if any(isinstance(node, (Loop, Branch, Dot, Reduce, Scan, Atomic)) for node in loop.body):
        return None
    loads = tuple(n for n in loop.body if isinstance(n, Load))
    stores = tuple(n for n in loop.body if isinstance(n, Store))
    moving = tuple(n for n in loads if _one_by_one(n, loop))
    if not moving or not all(_one_by_one(store, loop) for store in stores):
        return None
    ids = frozenset(load.id for load in moving)
    if {s.base for s in stores} & {load.base for load in loads}:
        return None
    behind = tuple(node for node, loops in launch.kernel.walk((Store, Atomic)) if loop not in loops)
    results = tuple(n for n in behind if isinstance(n, (Store, Atomic)) and n.depends & ids) if not stores else ()
    if not any(store.depends & ids for store in (*stores, *results)):
        return None
    return ScalarScan(loop, moving, stores, results, moving[0].elements)


def _one_by_one(access: Load | Store, loop: Loop) -> bool:
    """One element per row and iteration, in the same sector as the one before or the next."""
    if access.offset is None or access.elements > _MAX_ROWS:
        return False
    coefficient = access.offset.coefficient(LoopIndex(loop.id))
    step = concrete(simplify(coefficient)) if coefficient is not None else None
    if not step or (abs(step) != 1 and abs(step) * access.dtype.bytes > _NEAR_BYTES):
        return False
    return all(extent == 1 or access.stride(dim) not in (0, 1, None) for dim, extent in enumerate(access.shape))


def _block_size(found: ScalarScan) -> int:
    """Elements to scan at a time; no more than the row has, where that is known."""
    trip = concrete(found.loop.trip)
    block = max(_LEAST_TRIP, _BLOCK // power_of_two(found.rows))
    return min(block, power_of_two(trip)) if trip is not None else block
