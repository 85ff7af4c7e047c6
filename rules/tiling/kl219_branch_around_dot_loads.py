from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.iteration import iteration
from kernlint.workload import Branch, Dot, Launch, Load, Loop


class BranchAroundDotLoads(Rule):
    code = "KL219"
    name = "branch-around-dot-loads"
    bare = True
    summary = "a run-time if that does not change in the loop stands around the loads of a tl.dot"
    what_it_does = """
        Finds dot loops in which an operand is loaded inside an `if` whose condition is known at run time only and involves nothing
        that the loop changes.
        """
    why = """
        Triton's software pipeliner moves loads that stand in the loop's own body. Behind a branch they are synchronous: every
        iteration waits for memory before the tensor cores start.
        """
    when_not = "Conditions on `tl.constexpr`, which are decided at compile time. Conditions that change from iteration to iteration."
    fix_safety = "Safe: the condition has one value for the whole loop."
    evidence = """
        H100, fp16 128x128x64, 8 warps: a dot loop without pipelining takes 1.55 times as long as with three stages
        (`calibration/facts/h100-gemm-2.csv`). Pattern row PERF-053.
        """

    bad = """
        @triton.jit
        def matmul(a, b, c, K, flag, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                if flag == 1:
                    x = tl.load(a + m[:, None] * K + (start + k)[None, :])
                else:
                    x = tl.load(a + K * BM + m[:, None] * K + (start + k)[None, :])
                y = tl.load(b + (start + k)[:, None] * BN + n[None, :])
                acc = tl.dot(x, y, acc)
            tl.store(c + m[:, None] * BN + n[None, :], acc)
        """
    good = bad.replace("flag,", "flag: tl.constexpr,")
    example = "for start in range(0, K, BK):\n    if flag == 1:\n        x = tl.load(...)"
    use_instead = "base = a if flag == 1 else a + offset\nfor start in range(0, K, BK):\n    x = tl.load(base + ...)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.distinct_launches():
            for loop, branch, load in _branched(launch):
                if branch.span in seen or not _invariant(launch, loop, load):
                    continue
                seen.add(branch.span)
                kernel = launch.kernel.name
                yield self.finding(
                    f"an if that does not change stands around the loads of the tl.dot loop of `{kernel}`",
                    branch.span,
                    kernel,
                    (
                        Evidence("the condition is a run-time value that nothing in the loop changes", branch.span),
                        Evidence(f"`{load.base}` is loaded behind it and feeds the tl.dot", load.span),
                    ),
                    Change(
                        None,
                        f"The loads of `{kernel}` stand behind a branch, so Triton does not pipeline them: each "
                        "iteration waits for memory.",
                        "Decide before the loop, or make the condition a tl.constexpr.",
                        f"Choose the pointer in front of the loop at line {loop.span.line} (`tl.where` on an offset, or two loops), so "
                        "that the loads stand in the loop's own body.",
                        # The cost model prices the loop as pipelined.
                        priced=False,
                    ),
                )


def _branched(launch: Launch) -> Iterator[tuple[Loop, Branch, Load]]:
    """The branches of loops with a dot that hold a load which feeds it."""
    for loop in launch.kernel.nodes(Loop):
        fed = {id for node in loop.body if isinstance(node, Dot) for id in (*node.a.loads, *node.b.loads)}
        for branch in loop.body:
            if isinstance(branch, Branch) and branch.run_time and fed:
                tiles = [
                    n for arm in branch.arms for n in arm if isinstance(n, Load) and n.id in fed and len(n.shape) == 2
                ]
                if tiles:
                    yield loop, branch, tiles[0]


def _invariant(launch: Launch, loop: Loop, load: Load) -> bool:
    """Whether the condition that ``load`` stands under is the same in each iteration of ``loop``."""
    steps, values = iteration(launch.kernel, loop), launch.kernel.values
    value = values.at_node(load.id) if values is not None else None
    tests = [region.test for region in value.region.around() if region.test] if value is not None else []
    return steps is not None and values is not None and bool(tests) and steps.is_steady(values[tests[0]])
