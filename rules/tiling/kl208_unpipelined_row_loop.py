from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass, replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.rules.proofs.pricing import gain
from kernlint.workload import Access, Branch, Dot, Load, Loop, Node, Span, concrete

_STAGES = 3
#: Iterations that a pipeline of three stages needs to run more than fill.
_LEAST_TRIP = 4
#: Predicted gain below which the advice is not given. Of the 226 loops of `calibration/facts/h100-row-stages.csv` that go round four
#: times or more, four of the five with more gain 1.5x at least and the fifth loses nothing; of the 29 from 1.5 on with less, seven lose.
_LEAST_GAIN = 2.0


class UnpipelinedRowLoop(Rule):
    code = "KL208"
    name = "unpipelined-row-loop"
    tuning = True
    summary = "a memory-bound range loop of few programs waits for each of its loads"
    what_it_does = """
        Finds `range` loops without a dot that load a tile per iteration at addresses known in advance, in grids of at
        most one program per SM, where
        `tl.range(..., num_stages=3)` is predicted to be faster on this device for these sizes.
        """
    why = """
        Triton pipelines loads of dot loops by itself, those of other loops only where `tl.range` asks for it. With few programs
        on an SM nothing else hides the latency, and each iteration waits for memory.
        """
    when_not = """
        Grids that fill the device (other programs hide the latency). Loops of one or two iterations, small blocks: pipelining
        makes them slower, as it does large blocks whose rows are not aligned, which are copied 4 bytes at a time; elements
        of 2 bytes are then not pipelined at all. Open sizes: the advice depends on them.
        """
    fix_safety = "Safe: the same loads, issued earlier; more shared memory."
    evidence = """
        H100: 8 rows with BLOCK 4096 run 4.3x faster, 64 rows 2.6x, about 1,000 rows no faster; a loop of one iteration runs
        slower (`row_loop` and `row_loop_pipelined` in `calibration/facts/h100-micro.csv`). With three stages and rows that
        the L2 holds, blocks of 256 run 2x slower, unaligned ones of 2,048 and more up to 1.7x slower, two stages 1.2x to 4x
        slower (`h100-row-stages.csv`, with registers, spills and shared memory). Pattern row PERF-051.
        """

    bad = """
        @triton.jit
        def row_sum(x, y, columns, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            lanes = tl.arange(0, BLOCK)
            acc = tl.zeros((BLOCK,), tl.float32)
            for start in range(0, columns, BLOCK):
                acc += tl.load(x + row * columns + start + lanes)
            tl.store(y + row, tl.sum(acc, axis=0))
        """
    launch = "row_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=4096, num_warps=8)"
    makes = "y = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)"
    inputs, good_inputs = "torch.randn(8, 1 << 20)", "torch.randn(4096, 4096)"
    example = "for start in range(0, columns, BLOCK):\n    acc += tl.load(...)"
    use_instead = "for start in tl.range(0, columns, BLOCK, num_stages=3):\n    acc += tl.load(...)"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.distinct_launches():
            if launch.autotuned or not launch.kernel.complete or launch.kernel.has(Dot):
                continue
            # One program per SM at most: with more of them the hardware overlaps loads by itself.
            if launch.programs is None or launch.programs > context.device.sm_count:
                continue
            for loop in launch.kernel.nodes(Loop):
                trip = concrete(loop.trip)
                if trip is None or trip < _LEAST_TRIP or not _pipelines(loop):
                    continue
                variant = context.variant.then(transform=Pipelined(launch.span, loop.span, _STAGES))
                expected = gain(context, variant)
                if expected is None or expected < _LEAST_GAIN:
                    continue
                kernel = launch.kernel.name
                change = Change(
                    variant,
                    f"{launch.programs} programs on {context.device.sm_count} SMs cannot hide memory latency, and the range loop "
                    f"of `{kernel}` waits for its loads in each of {loop.trip} iterations.",
                    f"Use tl.range with num_stages={_STAGES}, so that the loads of the next iterations are on their way.",
                    f"Replace `range(...)` at line {loop.span.line} by `tl.range(..., num_stages={_STAGES})`.",
                )
                yield self.finding(
                    f"the loop of `{kernel}` waits for its loads in each of {loop.trip} iterations", loop.span, kernel,
                    (Evidence(f"{launch.programs} programs, {loop.trip} iterations, no tl.dot, plain range", loop.span),), change,
                )  # fmt: skip


def _pipelines(loop: Loop) -> bool:
    """Whether Triton could issue the loads of ``loop`` ahead: tiles at addresses that arithmetic gives, no nested loop."""
    loads = [node for node in loop.body if isinstance(node, Load)]
    only = not any(isinstance(node, (Loop, Branch)) for node in loop.body)
    stored = {node.base for node in loop.body if isinstance(node, Access) and not isinstance(node, Load)}
    plain = all(load.offset is not None and load.elements > 1 and load.base not in stored for load in loads)
    return loop.kind == "range" and loop.num_stages is None and bool(loads) and only and plain


@dataclass(frozen=True)
class Pipelined(LaunchChange):
    """The workload with one loop of a launch as ``tl.range(..., num_stages=stages)``."""

    loop: Span
    stages: int

    def _node(self, node: Node) -> Node:
        if isinstance(node, Loop) and node.span == self.loop:
            return replace(node, kind="tl.range", num_stages=self.stages)
        return node
