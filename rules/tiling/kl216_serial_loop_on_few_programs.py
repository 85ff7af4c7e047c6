from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.records import dataclass, replace
from kernlint.rules.algorithm.cascade import cascade
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant
from kernlint.rules.proofs.dot_tiles import main_dot
from kernlint.rules.proofs.iteration import iteration
from kernlint.rules.proofs.pricing import best_gain
from kernlint.rules.proofs.softmax_state import softmax_state
from kernlint.workload import Atomic, Dot, Launch, Loop, Span, Store, Tensor, TorchOp, Workload
from kernlint.workload.expr import ceildiv, concrete
from kernlint.workload.kernel import Node
from kernlint.workload.steps import Step, map_launch

#: A grid that leaves more than this part of the SMs idle is not mended by a better tile.
_SHARE = 0.25
_LEAST_TRIP = 8
_SPLITS = (4, 8, 16, 32, 64, 128)


class SerialLoopOnFewPrograms(Rule):
    code = "KL216"
    name = "serial-loop-on-few-programs"
    summary = "a few programs walk through a long sum or online softmax that the idle SMs could share"
    what_it_does = """
        Finds launches that fill less than a quarter of the SMs under every configuration, whose programs run a long loop in the
        kernel's own body that only adds up: each variable it carries is a sum, so that parts of the loop can run elsewhere and
        be added. So can those of an online softmax (attention over a long context): it carries a running maximum and sums of
        weights `exp(s - maximum)`, which are rescaled as the maximum grows. A change is only advised where the cost model
        finds it faster with the partial results counted.
        """
    why = "A program runs on one SM. Two programs on 132 SMs leave 98 % of the device idle for as long as their loops run."
    when_not = """
        Loops whose iterations depend on each other in another way. A single `tl.dot` loop in a fixed tile is the matter of
        KL203 and KL201.
        """
    fix_safety = "Unsafe: partial sums are added in another order, and need a buffer and a second launch."
    evidence = """
        H100, few programs with long loops: `calibration/facts/h100-micro.csv`. Of 15 labelled LLM-written kernels two are of this
        kind, 40 and 28 times slower than PyTorch. Pattern rows PERF-024 and PERF-025 (their reductions without a tl.dot).
        """

    bad = """
        @triton.jit
        def row_sums(x, y, N, BM: tl.constexpr, BN: tl.constexpr):
            m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
            acc = tl.zeros((BM,), tl.float32)
            for start in range(0, N, BN):
                acc += tl.sum(tl.load(x + m[:, None] * N + start + n[None, :]), axis=1)
            tl.store(y + m, acc)
        """
    launch = "row_sums[(x.shape[0] // 128,)](x, y, x.shape[1], BM=128, BN=256)"
    makes = "y = torch.empty(x.shape[0], device=x.device)"
    inputs, good_inputs = "torch.randn(1024, 262144)", "torch.randn(65536, 4096)"
    example = "kernel[(M // 128,)](...)  # 8 programs, each a loop over 262,144 columns"
    use_instead = "kernel[(M // 128, 32)](...)  # each a part of the columns; the parts are added afterwards"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.distinct_launches():
            programs = max(p.programs or 1 << 40 for p in launch.configurations)
            if programs > _SHARE * context.device.sm_count or launch.span in seen or not launch.kernel.complete:
                continue
            for loop in _top_loops(launch):
                trip = concrete(loop.trip)
                if trip is None or trip < _LEAST_TRIP:
                    continue
                carried = _carried(launch, loop)
                if carried is None:
                    continue
                variants = {
                    context.variant.then(transform=Shared(launch.span, loop.span, parts)): parts
                    for parts in _SPLITS
                    if 2 * parts <= trip
                }
                best = best_gain(context, variants)
                if best is None:
                    continue
                seen.add(launch.span)
                yield self._finding(context, launch, loop, best, variants[best], carried)
                break

    def _finding(
        self, context: Context, launch: Launch, loop: Loop, best: Variant, parts: int, carried: _Carried
    ) -> Finding:
        kernel, sms = launch.kernel.name, context.device.sm_count
        return self.finding(
            f"`{kernel}` runs {launch.programs} programs on {sms} SMs, each a loop of {loop.trip} iterations {carried.message}",
            loop.span,
            kernel,
            (
                Evidence(f"a grid of {launch.programs} programs on {sms} SMs", launch.span),
                Evidence(f"the loop of {loop.trip} iterations carries {carried.evidence}", loop.span),
            ),
            Change(
                best,
                f"Only {launch.programs} of {sms} SMs work, each through {loop.trip} iterations in a row.",
                f"Share the loop out over {parts} programs on a further grid axis and {carried.method}.",
                f"Add grid axis {len(launch.grid)} of {parts}, let program p run its part of the loop at line {loop.span.line}, "
                f"{carried.plan}",
            ),
        )


@dataclass(frozen=True)
class _Carried:
    """What a loop carries from one iteration to the next, in the words of a finding."""

    message: str
    evidence: str
    method: str
    plan: str


_SUMS = _Carried(
    "that only adds up",
    "sums only",
    "add their partial sums",
    "store partial sums to a buffer with that extent in front, and sum it in a second launch or with `.sum(0)`.",
)


def _carried(launch: Launch, loop: Loop) -> _Carried | None:
    """What parts of ``loop`` that run elsewhere leave to be combined; None where it is not known how."""
    carried, steps = cascade(launch.kernel, loop), iteration(launch.kernel, loop)
    if carried is not None and steps is not None and set(carried.kinds.values()) == {"sum"}:
        others = [phi for phi in steps.carried if phi.name not in carried.kinds and not steps.moves_evenly(phi)]
        if not carried.coupled and not others:
            return _SUMS
    state = softmax_state(launch.kernel, loop)
    if state is None:
        return None
    maximum, sums = state.maximum, ", ".join(f"`{name}`" for name in sorted(state.sums))
    return _Carried(
        "with an online softmax",
        f"the running maximum `{maximum}` and sums of weights relative to it ({sums}), nothing else",
        "combine their softmax states",
        f"from a maximum of -inf and sums of zero, and store its `{maximum}`, {sums} in fp32 to buffers with that extent. A second "
        f"kernel takes m, the maximum of the parts, adds up each sum times {state.exponential}(part's `{maximum}` - m), and goes on "
        "behind the loop.",
    )


def _top_loops(launch: Launch) -> Iterator[Loop]:
    """The counted loops of the kernel's own body, where nothing is stored inside them, but for the one loop over K of a
    product, which is the matter of KL203."""
    product = main_dot(launch) is not None
    for node in launch.kernel.body:
        if not isinstance(node, Loop) or node.kind == "while" or not node.carried:
            continue
        if product and any(isinstance(inner, Dot) for inner in node.body):
            continue
        if not any(isinstance(inner, (Store, Atomic)) for inner in _inside(node)):
            yield node


def _inside(loop: Loop) -> Iterator[Node]:
    for node in loop.body:
        yield node
        if isinstance(node, Loop):
            yield from _inside(node)


@dataclass(frozen=True)
class Shared:
    """The workload with one loop of a launch shared out over ``parts`` programs each, and a launch that adds the parts.

    The parts are stored where the result would be, which moves as many bytes; the sum over them is a torch reduction.
    """

    launch: Span
    loop: Span
    parts: int

    def __call__(self, workload: Workload) -> Workload:
        return map_launch(workload, self.launch, self._split)

    def _split(self, launch: Launch) -> tuple[Step, ...]:
        split = [replace(one.rewritten(self._node), grid=(*one.grid, self.parts)) for one in launch.configurations]
        first = replace(split[0], alternatives=tuple(split[1:]))
        written = {node.base for node in launch.kernel.stores()}
        outputs = [t for base in sorted(written) if (t := launch.tensor(base)) is not None]
        return first, *(self._sum(tensor, launch) for tensor in outputs)

    def _node(self, node: Node) -> Node:
        if not isinstance(node, Loop) or node.span != self.loop or node.trip is None:
            return node
        # What a part reads begins where it begins; in which program that is makes no difference to traffic.
        return replace(node, trip=ceildiv(node.trip, self.parts))

    def _sum(self, tensor: Tensor, launch: Launch) -> TorchOp:
        partial = replace(tensor, shape=(self.parts, *(tensor.shape or ())), strides=None)
        return TorchOp("sum", "reduce", (partial,), (tensor,), launch.span, launch.function, dims={"axis": 0})
