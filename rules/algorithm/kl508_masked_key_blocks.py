from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.headroom.causes import Cause
from kernlint.headroom.kernels import IDLE
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.pricing import causes_at
from kernlint.workload import Atomic, Compute, Dot, Expr, Lane, Launch, Loop, LoopIndex, ProgramId, Size, Store
from kernlint.workload.expr import ceildiv, concrete


class MaskedKeyBlocks(Rule):
    code = "KL508"
    name = "masked-key-blocks"
    operator = "generate"
    bare = True
    summary = "a causal attention loop computes key blocks that its mask removes completely"
    what_it_does = """
        Finds loops whose scores (a `tl.dot`) are masked by a comparison of the row index, which moves with the program, with
        the column index, which moves with the loop, while the loop runs to the same end in every program: from some iteration
        on the mask removes whole tiles. The bound is computed from the index arithmetic, so names do not matter.
        """
    why = """
        With a causal mask half of all score tiles are empty. Their loads, both products and the exponentials are done for
        nothing.
        """
    when_not = """
        The mask has an offset that the source leaves open (chunked prefill), or the loop also adds something that is not masked:
        then the rule is silent. Sequences of one query tile have no empty blocks.
        """
    evidence = """
        Half of the tiles of a square causal score matrix are empty: the work to save follows from the shape; the cost model
        prices it with the trip counts of all programs. Pattern row PERF-068.
        """

    bad = """
        @triton.jit
        def attend(Q, K, V, O, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
            base = tl.program_id(1) * N * D
            m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
            q = tl.load(Q + base + m[:, None] * D + d[None, :])
            total, acc = tl.zeros([BM], tl.float32), tl.zeros([BM, D], tl.float32)
            for start in range(0, N, BN):
                n = start + tl.arange(0, BN)
                s = tl.dot(q, tl.load(K + base + n[None, :] * D + d[:, None]))
                p = tl.where(m[:, None] >= n[None, :], tl.exp2(s), 0.0)
                total += tl.sum(p, 1)
                acc = tl.dot(p.to(tl.float16), tl.load(V + base + n[:, None] * D + d[None, :]), acc)
            tl.store(O + base + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))
        """
    good = bad.replace("range(0, N, BN)", "range(0, (tl.program_id(0) + 1) * BM, BN)")
    launch = "attend[(4096 // 64, 32)](q, k, v, o, 4096, BM=64, BN=64, D=64, num_warps=4)"
    takes, makes = "q, k, v", "o = torch.empty_like(q)"
    inputs = "torch.randn(32, 4096, 64, dtype=torch.float16) for _ in range(3)"
    example = "for start in range(0, N, BN):\n    p = tl.where(m[:, None] >= n[None, :], ..., 0.0)"
    use_instead = "for start in range(0, tl.minimum(N, (pid + 1) * BM), BN):\n    ..."

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for found in _masked_loops(launch):
                if found.loop.span in seen:
                    continue
                seen.add(found.loop.span)
                # The blocks that the mask removes are lanes that idle.
                for cause in causes_at(context, launch.kernel.name, names=(IDLE,)):
                    yield self._finding(launch, found, cause)

    def _finding(self, launch: Launch, found: _Masked, cause: Cause | None) -> Finding:
        kernel = launch.kernel.name
        return self.finding(
            f"the loop of `{kernel}` goes through key blocks that its mask removes completely",
            found.loop.span,
            kernel,
            (
                Evidence(f"every program runs {found.loop.trip} iterations", found.loop.span),
                Evidence(f"the mask leaves something only in the first {found.live} of them", found.mask.span),
            ),
            Change(
                None,
                f"Every program of `{kernel}` loads and multiplies all key blocks, and the mask at line "
                f"{found.mask.span.line} then removes those past its diagonal: about half of the work.",
                "End the loop at the last key block that the mask lets through.",
                f"At line {found.loop.span.line} bound the loop by the last row of the query tile, as in "
                "`tl.minimum(N, (pid + 1) * BLOCK_M)`; the mask itself is then needed on the diagonal blocks only.",
            ),
            cause,
        )


@dataclass(frozen=True)
class _Masked:
    """A loop of which only the first ``live`` iterations, fewer than its trip count in some program, do anything."""

    loop: Loop
    mask: Compute
    live: Size


def _masked_loops(launch: Launch) -> Iterator[_Masked]:
    for loop, around in launch.kernel.walk(Loop):
        trip = loop.trip
        if trip is None or loop.kind == "while" or (isinstance(trip, Expr) and _programs(trip)) or around:
            continue
        if any(isinstance(node, (Store, Atomic, Loop)) for node in loop.body):
            continue
        scores = _scores(loop)
        for mask in loop.body:
            if not isinstance(mask, Compute) or scores is None or mask.elements != scores.m * scores.n:
                continue
            for left, right in mask.keeps:
                live = _live(right - left, loop.id, (scores.m, scores.n))
                if live is not None and _fewer(live, trip):
                    yield _Masked(loop, mask, live)


def _scores(loop: Loop) -> Dot | None:
    """The product whose result the rest of the loop is computed from, where there is one: every other dot takes an operand
    that contains it."""
    dots = [node for node in loop.body if isinstance(node, Dot)]
    first = next((d for d in dots if not d.accumulates), None)
    if first is None or len(dots) < 2 or not (first.a.loads and first.b.loads):
        return None
    contained = first.a.loads | first.b.loads
    others = [d for d in dots if d is not first]
    return first if all(contained <= d.a.loads or contained <= d.b.loads for d in others) else None


def _live(room: Expr, loop: int, extents: tuple[int, int]) -> Size | None:
    """How many iterations of ``loop`` have a lane with ``room`` above zero, as an expression over program ids; None where
    room does not grow with a program id and shrink from iteration to iteration, by constants."""
    step = room.coefficient(LoopIndex(loop))
    if step is None or step.value is None or step.value >= 0:
        return None
    most = room - Expr.atom(LoopIndex(loop)) * step.value
    for dim, extent in enumerate(extents):
        slope = most.coefficient(Lane(dim))
        if slope is None or slope.value is None:
            return None
        most = most - Expr.atom(Lane(dim)) * slope.value + max(0, slope.value) * (extent - 1)
    programs = _programs(most)
    if len(programs) != 1 or most.atoms() != programs:
        return None
    slope = most.coefficient(next(iter(programs)))
    if slope is None or slope.value is None or slope.value <= 0:
        return None
    return ceildiv(most, -step.value)


def _programs(expr: Expr) -> set[ProgramId]:
    return {atom for atom in expr.atoms() if isinstance(atom, ProgramId)}


def _fewer(live: Size, trip: Size) -> bool:
    """Whether the first program has fewer live iterations than its trip count; open trip counts may be of any size."""
    first = live.evaluate(dict.fromkeys(_programs(live), 0)) if isinstance(live, Expr) else live
    whole = concrete(trip)
    return first is not None and (whole is None or first < whole)
