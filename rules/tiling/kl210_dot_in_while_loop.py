from __future__ import annotations

from collections.abc import Iterable

from kernlint.operators.pipeline import PIPELINE
from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding


class DotInWhileLoop(Rule):
    code = "KL210"
    name = "dot-in-while-loop"
    operator = "pipeline"
    summary = "a tl.dot loop is a while loop, which Triton does not pipeline"
    what_it_does = """
        Finds `tl.dot` calls in a `while` loop that counts: its test is one bound on a variable that each iteration moves by the
        same step, so that a `range` loop would do the same.
        """
    why = """
        Triton's software pipeliner works on `for` loops. In a `while` loop no load is asynchronous: each K-step waits for memory
        before the tensor cores start, whatever `num_stages` says.
        """
    when_not = "Loops whose end depends on loaded values. Loops without loads. num_stages=1 (KL204 is about that)."
    fix_safety = "Safe: the same iterations in the same order."
    evidence = """
        Compiling the two loops for sm_90: `range` gives cp.async for every operand, `while` none. H100, fp16 128x128x64, 8
        warps: one stage takes 1.55 times as long as three (`calibration/facts/h100-gemm-2.csv`). The same loss as behind a branch (KL219).
        """

    bad = MATMUL.replace("for start in range(0, K, BK):", "start = 0\n            while start < K:").replace(
        "dot(x, y, acc)\n", "dot(x, y, acc)\n                start += BK\n"
    )
    good = MATMUL
    launch = "matmul[(8, 32)](a, b, c, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)"
    takes, makes = "a, b", "c = torch.empty(1024, 4096, device=a.device, dtype=torch.float16)"
    inputs = "torch.randn(1024, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)"
    example = "while start < K:\n    ...\n    start += BLOCK_K"
    use_instead = "for start in range(0, K, BLOCK_K):\n    ..."

    def check(self, context: Context) -> Iterable[Finding]:
        for proof in PIPELINE.proven(context):
            launch, loop, kernel = proof.launch, proof.loop, proof.kernel
            yield self.finding(
                f"`{kernel}` runs its tl.dot in a while loop, which is not pipelined",
                loop.span,
                kernel,
                (
                    Evidence(f"a while loop that counts {loop.trip} iterations", loop.span),
                    Evidence(f"tl.dot in it, launched with num_stages={launch.num_stages}", proof.dot.span),
                ),
                Change(
                    PIPELINE.apply(context, [proof]),
                    f"The tl.dot loop is a while loop of {loop.trip} iterations, which Triton does not pipeline: each of them "
                    "first waits for its loads and only then feeds the tensor cores.",
                    "Write it as a `for ... in range(...)` loop, so that the loads of later K-steps run during the dots.",
                    f"Replace the while loop at line {loop.span.line} by `for` over `range` with the same start, bound and step, "
                    "and drop the counter.",
                ),
            )
