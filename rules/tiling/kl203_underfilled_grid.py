from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.headroom import kernels
from kernlint.records import dataclass, replace
from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant
from kernlint.rules.proofs.dot_tiles import main_dot
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.tiling.persistent import Shares, shares
from kernlint.workload import (
    Compute,
    Dot,
    Kernel,
    Launch,
    Load,
    Loop,
    Size,
    Span,
    Step,
    Storage,
    Store,
    Tensor,
    Workload,
    concrete,
)
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, Expr, LoopIndex, ProgramId, ceildiv
from kernlint.workload.kernel import Node, rewrite
from kernlint.workload.steps import map_launch

_SPLITS = (2, 4, 8, 16, 32)
#: Items that each program of a persistent kernel has at least where more programs pay.
_LEAST_ROUNDS = 2


class UnderfilledGrid(Rule):
    code = "KL203"
    name = "underfilled-grid"
    operator = "generate"
    tuning = True
    summary = "a long-K matmul has fewer tiles, or a persistent kernel fewer programs, than the device has SMs"
    what_it_does = """
        Finds matmul-like kernels whose grid has fewer programs than the device has SMs while each program walks a long
        K loop alone, and persistent kernels of any kind (each program works through its share of tiles or rows) that are launched
        with fewer programs than the device has SMs although there are more items.
        """
    why = """
        SMs without a program do nothing, and the few that work are bound by the latency and bandwidth of one SM each.
        Splitting K over several programs (and adding the partial sums) puts the whole device to work; of a persistent
        kernel, which shares its items out among as many programs as there are, more programs do.
        """
    when_not = (
        "Grids that fill the device. Short K loops. Results that must be bitwise reproducible, if split with atomics. "
        "Persistent kernels whose programs wait for each other, or do something that depends on which program they are."
    )
    evidence = """
        H100, M=16, N=768..6144, K up to 24,576: split-K micro-benchmarks (`calibration/facts`). Pattern rows PERF-024,
        PERF-025.
        """

    good = MATMUL.replace("matmul", "skinny").replace(
        "b + (start + k)[:, None] * N + n", "b + (start + k)[:, None] + K * n"
    )
    bad = good.replace("m = tl.program_id(0) * BM + tl", "m = tl").replace("program_id(1)", "program_id(0)")
    launch = "skinny[(8,)](x, w, y, 1024, 16384, BM=16, BN=128, BK=64)"
    good_launch = "skinny[(32, 32)](x, w, y, 4096, 1024, BM=128, BN=128, BK=64)"
    takes = "x, w"
    makes = "y = torch.empty(16, 1024, device=x.device, dtype=torch.float16)"
    good_makes = makes.replace("16, 1024", "4096, 4096", 1)
    inputs = "torch.randn(16, 16384, dtype=torch.float16), torch.randn(1024, 16384, dtype=torch.float16)"
    good_inputs = "torch.randn(4096, 1024, dtype=torch.float16), torch.randn(4096, 1024, dtype=torch.float16)"
    example = "skinny[(N // 128,)](...)  # 8 programs, K = 16384"
    use_instead = "skinny[(N // 128, SPLIT_K)](...)  # partial sums, added by a second kernel"

    def check(self, context: Context) -> Iterable[Finding]:
        device = context.device
        persistent: set[Span] = set()
        for launch in context.distinct_launches():
            found = main_dot(launch)
            counts = [one.programs for one in launch.configurations]
            if any(n is None or n >= device.sm_count for n in counts):
                continue
            share = shares(launch)
            if share is not None:
                if launch.span not in persistent and share.items >= _LEAST_ROUNDS * share.programs:
                    persistent.add(launch.span)
                    yield from self._few_persistent(context, launch, share)
                continue
            if found is None or not found[1]:
                continue
            # Tuning among tiles that all leave SMs idle does not help.
            programs = max(n for n in counts if n is not None)
            some = (
                f"{programs} programs"
                if len(set(counts)) == 1
                else f"at most {programs} programs, in any configuration,"
            )
            dot = found[0]
            loop = next(loops[-1] for node, loops in launch.kernel.walk(Dot) if node is dot)
            trip = concrete(loop.trip)
            if trip is None or trip < 8 or launch.kernel.dims > 2:
                continue
            best = _best_split(context, launch, trip)
            if best is None:
                continue
            split, variant = best
            change = Change(
                variant,
                f"Only {some} run on {device.sm_count} SMs, and each walks {trip} K-steps alone, so most of the device "
                "idles while the few are bound by the latency of their own loads.",
                f"Split K over {split} programs per tile ({programs * split} programs) and add the fp32 partial sums.",
                f"Add a grid axis of {split}; let each program sum K/{split} and store its fp32 tile to a scratch buffer; add the "
                f"{split} partial tiles, with the epilogue, in a second kernel.",
            )
            yield self.finding(
                f"`{launch.kernel.name}` runs {some} on {device.sm_count} SMs while each walks {trip} K-steps",
                launch.span,
                launch.kernel.name,
                (
                    Evidence(f"grid {' x '.join(map(str, launch.grid))}", launch.span),
                    Evidence(f"K loop of {trip} iterations", loop.span),
                ),
                change,
            )

    def _few_persistent(self, context: Context, launch: Launch, share: Shares) -> Iterator[Finding]:
        """The finding on a persistent kernel that is launched with few programs for its items."""
        sms, kernel = context.device.sm_count, launch.kernel.name
        change = Change(
            None,
            f"Only {launch.programs} programs run on {sms} SMs, each with {-(-share.items // share.programs)} of {share.items} items one "
            "after another, so most of the device idles.",
            f"Launch as many programs along axis {share.axis} of the grid as fill the device in place of {share.programs}; the kernel "
            "shares the items out among as many as there are.",
            f"At line {launch.span.line} take the number of programs, min(items, SMs), from "
            "`torch.cuda.get_device_properties(device).multi_processor_count` (asked for once), in place of a constant.",
        )
        for cause in causes_at(context, kernel, names=(kernels.FEW, kernels.TILE)):
            if cause is not None:
                yield self.finding(
                    f"`{kernel}` works off {share.items} items in {launch.programs} programs on {sms} SMs", launch.span, kernel,
                    (
                        Evidence(f"grid {' x '.join(map(str, launch.grid))}", launch.span),
                        Evidence(f"each program walks through its share of {share.items} items, one after another", share.span),
                    ),
                    change, cause, kernel=kernel,
                )  # fmt: skip


def _best_split(context: Context, launch: Launch, trip: int) -> tuple[int, Variant] | None:
    """Into how many parts a loop of ``trip`` K-steps is best split, with the program where it is; None where none is faster."""
    before = context.gpu_us(context.variant)
    options: list[tuple[float, int, Variant]] = []
    for split in _SPLITS:
        variant = context.variant.then(transform=SplitK(launch.span, split))
        time = context.gpu_us(variant) if trip >= 2 * split else None
        # More parts take longer still where there are enough of them.
        if time is None or (options and time > options[-1][0]):
            break
        options.append((time, split, variant))
    if not options or before is None or min(options)[0] >= before:
        return None
    return min(options)[1:]


@dataclass(frozen=True)
class SplitK:
    """The workload with one launch split over K: partial sums in fp32, then a kernel that adds them."""

    launch: Span
    split: int

    def __call__(self, workload: Workload) -> Workload:
        return map_launch(workload, self.launch, self._split)

    def _split(self, step: Launch) -> Step | tuple[Step, ...]:
        # The kernel that adds the parts stands at the same place in the source, but has no dot.
        if not step.kernel.dots() or not step.kernel.stores():
            return step
        output = step.tensor(step.kernel.stores()[-1].base)
        count = output.numel if output is not None else None
        if output is None or count is None:
            return step
        scratch = Tensor("partial", dt.FLOAT32, (self.split, count), (count, 1), Storage(-1, "empty"))
        parts = [self._parts(one, scratch, count) for one in step.configurations]
        return (replace(parts[0], alternatives=tuple(parts[1:])), self._add(step, output, scratch))

    def _parts(self, step: Launch, scratch: Tensor, count: int) -> Launch:
        """``step`` with ``split`` programs for each tile, which store their sums to ``scratch``, ``count`` elements apart."""
        axis, kernel = len(step.grid), step.kernel
        part = Expr.atom(ProgramId(axis))
        loop = next(loops[-1] for _, loops in kernel.walk(Dot))
        steps = ceildiv(loop.trip or 1, self.split)
        # Each program of a tile walks its own part of K.
        shifted: dict[Atom, Size] = {LoopIndex(loop.id): Expr.atom(LoopIndex(loop.id)) + part * steps}

        def change(node: Node) -> Node:
            if isinstance(node, Loop) and node.id == loop.id:
                return replace(node, trip=steps)
            if isinstance(node, Load) and node.offset is not None:
                return node.moved(Expr.substitution(shifted))
            if isinstance(node, Store):
                offset = node.offset + part * count if node.offset is not None else None
                return replace(node, base="partial", dtype=dt.FLOAT32, offset=offset)
            return node

        known = kernel.launched
        key = "split", self.split, axis, count
        if key not in known:  # one object for all layers, so that it is priced once
            moved = {id(node) for node in _epilogue(kernel)}
            body = tuple(node for node in kernel.body if id(node) not in moved)
            known[key] = replace(kernel, body=rewrite(body, change), dims=axis + 1)
        return replace(
            step,
            kernel=known[key],
            grid=(*step.grid, self.split),
            arguments={**step.arguments, "partial": scratch},
        )

    def _add(self, step: Launch, output: Tensor, scratch: Tensor) -> Launch:
        """The launch that adds the parts, a program for each tile of the output, and does what stood behind the loop."""
        store, count, span = step.kernel.stores()[-1], output.numel or 1, step.span
        offset = store.offset
        parts = [
            Load(
                -i - 1,
                "partial",
                dt.FLOAT32,
                store.shape,
                None if offset is None else offset + i * count,
                store.mask,
                span,
            )
            for i in range(self.split)
        ]
        body: tuple[Node, ...] = (
            *parts,
            Compute("arith", store.elements * self.split, dt.FLOAT32, span),
            *_epilogue(step.kernel),
            replace(store, base="out"),
        )
        known = step.kernel.launched
        key = "added", span, self.split, count, output.dtype
        if key not in known:
            known[key] = Kernel("add_partial_sums", body, span, span, step.kernel.file, dims=len(step.grid))
        kernel = known[key]
        arguments = {**step.arguments, "partial": scratch, "out": output}
        return Launch(kernel, step.grid, arguments, {}, 4, 3, span, step.function)


def _epilogue(kernel: Kernel) -> list[Node]:
    """What a kernel only does to the finished sum: the loads that its result needs and its product does not, and the
    arithmetic behind the loop."""
    operands = {load for dot in kernel.dots() for load in (*dot.a.loads, *dot.b.loads)}
    needed = {load for store in kernel.stores() for load in store.depends} - operands
    loop = max((i for i, node in enumerate(kernel.body) if isinstance(node, Loop)), default=len(kernel.body))
    return [
        node
        for i, node in enumerate(kernel.body)
        if (isinstance(node, Load) and node.id in needed) or (isinstance(node, Compute) and i > loop)
    ]
