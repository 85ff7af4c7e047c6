from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.dot_tiles import setting
from kernlint.rules.proofs.pricing import cheapest
from kernlint.workload import Dot, Launch, Loop

#: A thread has 255 registers of 32 bits, and needs some for addresses and operands beside the accumulator.
_REGISTERS = 256
_WARPS = (8, 16)


class SpillingAccumulator(Rule):
    code = "KL206"
    name = "spilling-accumulator"
    summary = "the accumulators of a dot loop need more registers than a thread has"
    what_it_does = """
        Finds dot loops whose accumulators (all that are carried through one loop together) come to 256 or more 32-bit registers
        per thread at the launch's `num_warps`.
        """
    why = """
        A thread has 255 registers. What does not fit is spilled to local memory and read back in every iteration, between the
        tensor-core instructions.
        """
    when_not = "Autotuned launches. Accumulators in tensor memory (compute capability 10.0 and above)."
    fix_safety = "Safe: the same arithmetic, spread over more threads."
    evidence = """
        Compiled for sm_90: a 128 x 256 fp32 accumulator with 4 warps (256 values per thread) spills 2.3 to 2.5 KB per thread,
        128 values per thread do not (facts on Triton's code generator). H100 rows with few warps per tile in
        `calibration/facts/h100-gemm.csv`. Pattern row PERF-018.
        """

    bad = MATMUL
    launch = "matmul[(32, 16)](a, b, c, 4096, 4096, BM=128, BN=256, BK=64, num_warps=4)"
    good_launch = "matmul[(32, 16)](a, b, c, 4096, 4096, BM=128, BN=256, BK=64, num_warps=8)"
    takes, makes = "a, b", "c = torch.empty(4096, 4096, device=a.device, dtype=torch.float16)"
    inputs = "torch.randn(4096, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)"
    example = "matmul[grid](a, b, c, N, K, BM=128, BN=256, BK=64, num_warps=4)"
    use_instead = "matmul[grid](a, b, c, N, K, BM=128, BN=256, BK=64, num_warps=8)"

    def check(self, context: Context) -> Iterable[Finding]:
        if not context.device.is_nvidia or (context.device.sm_major or 0) >= 10:
            return
        for launch in context.distinct_launches():
            dots = [] if launch.autotuned else _accumulators(launch)
            threads = context.device.warp_size_threads * launch.num_warps
            words = sum(dot.batch * dot.m * dot.n * dot.out.bits / 32 for dot in dots)
            if words / threads < _REGISTERS:
                continue
            enough = [w for w in _WARPS if words < _REGISTERS * w * context.device.warp_size_threads]
            variants = {context.variant.then(setting(launch, {"num_warps": warps})): warps for warps in enough}
            if not variants:
                continue
            best = cheapest(context, variants) or next(iter(variants))
            warps, kernel = variants[best], launch.kernel.name
            tiles = " and ".join(f"{dot.m}x{dot.n}" for dot in dots)
            left = words / warps / context.device.warp_size_threads
            change = Change(
                best,
                f"The {tiles} accumulator{'s' * (len(dots) > 1)} of `{kernel}` take{'s' * (len(dots) == 1)} "
                f"{words / threads:.0f} registers of each of {threads} threads, which have 255: the rest is spilled to local "
                "memory in every iteration.",
                f"Launch with num_warps={warps}: {left:.0f} registers per thread for the accumulator.",
                f"Set num_warps={warps} at line {launch.span.line}, or take a smaller tile.",
            )
            yield self.finding(
                f"the accumulator of `{kernel}` needs {words / threads:.0f} registers per thread and spills",
                launch.span, kernel,
                (
                    Evidence(f"launched with num_warps={launch.num_warps}, {threads} threads", launch.span),
                    *(Evidence(f"{dot.m}x{dot.n} {dot.out} accumulator", dot.span) for dot in dots),
                ),
                change,
            )  # fmt: skip


def _accumulators(launch: Launch) -> list[Dot]:
    """The dots of the loop that carries the most accumulator values."""
    by_loop: dict[int, list[Dot]] = {}
    for dot, loops in launch.kernel.walk(Dot):
        if loops and dot.accumulates:
            inner: Loop = loops[-1]
            by_loop.setdefault(inner.id, []).append(dot)
    return max(by_loop.values(), key=lambda dots: sum(d.batch * d.m * d.n for d in dots), default=[])
