from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.workload import Dot, Launch, Load, Loop, Operand


class ManualPrefetch(Rule):
    code = "KL217"
    name = "manual-prefetch"
    summary = "the tiles of a tl.dot are loaded one iteration ahead by hand, into registers"
    what_it_does = """
        Finds dot loops that consume the tile loaded in the iteration before: a first tile is loaded in front of the loop, each
        iteration loads the next one into a variable and hands it on. Told by where the operand's values come from, not by
        names such as `a_next`.
        """
    why = """
        Triton pipelines loads that feed a dot by copying them asynchronously into shared memory, several iterations ahead. A tile that is
        carried from one iteration to the next lives in registers instead: its load is synchronous, its values go
        through registers into shared memory, and two tiles of each operand are live at once.
        """
    when_not = (
        "Loops whose tiles are transformed before the dot (dequantised weights), where registers are in the way anyhow."
    )
    fix_safety = "Safe: the same products in the same order."
    evidence = """
        One labelled LLM-written kernel of this kind runs 16 times slower than PyTorch (RTX 4090, from its repository). H100: a
        dot loop without pipelining takes 1.55 times as long (`calibration/facts/h100-gemm-2.csv`). Pattern row PERF-020.
        """

    bad = """
        @triton.jit
        def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            n = tl.program_id(1) * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            x = tl.load(a + m[:, None] * K + k[None, :])
            y = tl.load(b + k[:, None] * N + n[None, :])
            for start in range(BK, K, BK):
                x_next = tl.load(a + m[:, None] * K + (start + k)[None, :])
                y_next = tl.load(b + (start + k)[:, None] * N + n[None, :])
                acc += tl.dot(x, y)
                x, y = x_next, y_next
            acc += tl.dot(x, y)
            tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))
        """
    good = MATMUL
    launch = "matmul[(16, 32)](a, b, c, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8)"
    takes, makes = "a, b", "c = torch.empty(2048, 4096, device=a.device, dtype=torch.float16)"
    inputs = "torch.randn(2048, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)"
    example = "x_next = tl.load(a_ptrs)\nacc += tl.dot(x, y)\nx = x_next"
    use_instead = "x = tl.load(a_ptrs)\nacc = tl.dot(x, y, acc)  # num_stages pipelines the load"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.distinct_launches():
            for dot, ahead in _prefetched(launch):
                if dot.span in seen:
                    continue
                seen.add(dot.span)
                kernel = launch.kernel.name
                names = " and ".join(dict.fromkeys(f"`{load.base}`" for load in ahead.values()))
                yield self.finding(
                    f"`{kernel}` loads the next tile of {names} by hand, one iteration ahead of its tl.dot",
                    dot.span,
                    kernel,
                    (
                        *(
                            Evidence(f"the tile of `{load.base}` is for the next iteration", load.span)
                            for load in ahead.values()
                        ),
                        Evidence("the dot takes the tile of the iteration before", dot.span),
                    ),
                    Change(
                        None,
                        f"The operands of the dot are carried through registers, so Triton cannot pipeline their loads: every iteration of "
                        f"`{kernel}` waits for memory.",
                        "Load the tiles at the top of the loop and let num_stages pipeline them.",
                        f"Move the loads in front of the dot at line {dot.span.line}, start the loop one tile earlier, and drop "
                        "the dot after it.",
                        # The cost model does not know by how much carried tiles defeat the pipeliner.
                        priced=False,
                    ),
                )


def _prefetched(launch: Launch) -> Iterator[tuple[Dot, dict[str, Load]]]:
    """The dots whose operands were loaded in the iteration before, with the load in the loop of each side."""
    outside = {node.id: node for node, loops in launch.kernel.walk(Load)}
    for loop in launch.kernel.nodes(Loop):
        inside = {node.id: node for node in loop.body if isinstance(node, Load)}
        if not loop.carried:
            continue
        for dot in loop.body:
            if not isinstance(dot, Dot):
                continue
            sides = {
                "a": _ahead(dot.a, (dot.m, dot.k), inside, outside),
                "b": _ahead(dot.b, (dot.k, dot.n), inside, outside),
            }
            ahead = {side: load for side, load in sides.items() if load is not None}
            if ahead and all(load is not None for load in sides.values()):
                yield dot, ahead


def _ahead(operand: Operand, shape: tuple[int, int], inside: dict[int, Load], every: dict[int, Load]) -> Load | None:
    """The load in the loop that ``operand`` will be in the next iteration: it is that and one before the loop, no more."""
    if operand.direct or len(operand.loads) != 2:
        return None
    here = [inside[id] for id in operand.loads if id in inside]
    before = [every[id] for id in operand.loads if id in every and id not in inside]
    if len(here) != 1 or len(before) != 1:
        return None
    load, first = here[0], before[0]
    same = (load.base, load.dtype) == (first.base, first.dtype) and load.shape == first.shape
    return load if same and sorted(load.shape) == sorted(shape) and operand.dtype == load.dtype else None
