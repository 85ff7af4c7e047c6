from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass, replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.folded_reductions import is_folded
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.rules.proofs.pricing import LEAST_GAIN, gain
from kernlint.rules.proofs.softmax_state import softmax_state
from kernlint.workload import Compute, Launch, Load, Loop, Node, Reduce, Span

_REDUCTIONS = frozenset({"sum", "max", "min"})
#: With more values per thread than these the compiler hides the reduction behind the loads, and it is the faster form.
_PER_THREAD = 8


class ScalarReductionPerIteration(Rule):
    code = "KL209"
    name = "scalar-reduction-per-iteration"
    silent_if_open = True
    summary = "a loop reduces its tile to a scalar in every iteration instead of once at the end"
    what_it_does = """
        Finds loops whose body ends with one `tl.sum`, `tl.max` or `tl.min` of a 1-D tile that is only accumulated into a scalar,
        where adding up tiles and reducing after the loop is predicted to be faster.
        """
    why = """
        A reduction to a scalar is shuffles in each warp, a trip through shared memory and two barriers, and no iteration can
        start its arithmetic before. A tile of partial results needs none of that until the end.
        """
    when_not = """
        The scalar is used inside the loop (online softmax). Blocks of more than 8 elements per thread, where the compiler
        hides the reduction behind the loads. Grids that fill the device: the estimate decides.
        """
    fix_safety = "No automatic fix. By hand safe for max and min; a sum is added in another order."
    evidence = """
        H100, 8 rows of 1 M columns, BLOCK 256: 1856 us with a reduction per iteration, 353 us without; with BLOCK 4096 it is the
        other way round (`row_loop_reduce_each` and `row_loop` in `calibration/facts/h100-micro.csv`). Pattern row PERF-052.
        """

    bad = """
        @triton.jit
        def row_sum(x, y, columns, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            lanes = tl.arange(0, BLOCK)
            total = 0.0
            for start in range(0, columns, BLOCK):
                total += tl.sum(tl.load(x + row * columns + start + lanes), axis=0)
            tl.store(y + row, total)
        """
    good = (
        bad.replace("total = 0.0", "total = tl.zeros((BLOCK,), tl.float32)").replace("row, total)", "row, tl.sum(total, axis=0))")
        .replace("tl.sum(tl.load(x + row * columns + start + lanes), axis=0)", "tl.load(x + row * columns + start + lanes)")
    )  # fmt: skip
    launch = "row_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=256)"
    makes = "y = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)"
    inputs = "torch.randn(64, 131072)"
    example = "for start in range(0, n, BLOCK):\n    total += tl.sum(tl.load(x + start + lanes), axis=0)"
    use_instead = "for start in range(0, n, BLOCK):\n    acc += tl.load(x + start + lanes)\ntotal = tl.sum(acc, axis=0)"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.distinct_launches():
            if launch.autotuned or not launch.kernel.complete or launch.kernel.assumed:
                continue  # a block that the source does not fix may hold the whole row
            threads = context.device.warp_size_threads * launch.num_warps
            for loop in launch.kernel.nodes(Loop):
                reduce = _accumulated(loop)
                if reduce is None or loop.trip is None or loop.trip == 1 or reduce.shape[0] > _PER_THREAD * threads:
                    continue
                if not _only_accumulates(launch, loop, reduce):
                    continue
                variant = context.variant.then(transform=ReducedOnce(launch.span, loop.span))
                expected = gain(context, variant)
                if expected is not None and expected < LEAST_GAIN:
                    continue
                kernel = launch.kernel.name
                times = f"each of {loop.trip} iterations"
                change = Change(
                    variant,
                    f"`{kernel}` reduces {reduce.shape[0]} values to one scalar in {times}: shuffles, shared memory and two "
                    "barriers before the next iteration can go on.",
                    f"Accumulate a tile of {reduce.shape[0]} partial results in the loop and call tl.{reduce.op} once after it.",
                    f"Start from a tile of {reduce.shape[0]} neutral values, combine the loaded tiles elementwise at line "
                    f"{reduce.span.line}, and reduce after the loop; masked lanes must load the neutral value.",
                )
                yield self.finding(
                    f"`{kernel}` calls tl.{reduce.op} to a scalar in {times} of its loop", reduce.span,
                    kernel,
                    (Evidence(f"the scalar of tl.{reduce.op} is only carried to the next iteration", reduce.span),), change,
                )  # fmt: skip


def _accumulated(loop: Loop) -> Reduce | None:
    """The one reduction to a scalar of ``loop``: after it comes at most one scalar operation, and the loop neither stores nor
    branches."""
    reduces = [i for i, node in enumerate(loop.body) if isinstance(node, Reduce)]
    if len(reduces) != 1 or not loop.carried or loop.kind == "while":
        return None
    position = reduces[0]
    reduce = loop.body[position]
    assert isinstance(reduce, Reduce)
    before, after = loop.body[:position], loop.body[position + 1 :]
    fits = reduce.scalar and len(reduce.shape) == 1 and reduce.op in _REDUCTIONS
    plain = all(isinstance(node, (Load, Compute)) for node in before)
    combined = len(after) <= 1 and all(
        isinstance(node, Compute) and node.elements == 1 and node.kind == "arith" for node in after
    )
    return reduce if fits and plain and combined else None


def _only_accumulates(launch: Launch, loop: Loop, reduce: Reduce) -> bool:
    """Whether ``loop`` does nothing with the scalar but join it to one variable, as it was reduced, and nothing else with that."""
    return softmax_state(launch.kernel, loop) is None and is_folded(launch.kernel, reduce, loop)


@dataclass(frozen=True)
class ReducedOnce(LaunchChange):
    """The workload with the reduction of one loop after the loop, on a tile accumulated in it."""

    loop: Span

    def _changed(self, launch: Launch) -> Launch:
        return replace(launch, kernel=replace(launch.kernel, body=self._body(launch.kernel.body)))

    def _body(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        result: list[Node] = []
        for node in body:
            if isinstance(node, Loop):
                reduce = _accumulated(node) if node.span == self.loop else None
                if reduce is not None:
                    kept = tuple(
                        n for n in node.body if isinstance(n, Load) or (isinstance(n, Compute) and n.elements > 1)
                    )
                    dtype = next((n.dtype for n in reversed(kept)), None)
                    tile = (Compute("arith", reduce.shape[0], dtype, reduce.span),) if dtype is not None else ()
                    result += [replace(node, body=(*kept, *tile)), reduce]
                    continue
                node = replace(node, body=self._body(node.body))
            result.append(node)
        return tuple(result)
