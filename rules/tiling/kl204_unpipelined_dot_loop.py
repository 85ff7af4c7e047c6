"""KL204."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.tiles import fits, setting
from kernlint.workload import Dot, Launch

#: Launch options that only AMD's back end knows.
_OF_AMD = frozenset({"waves_per_eu", "matrix_instr_nonkdim", "kpack"})


class UnpipelinedDotLoop(Rule):
    code = "KL204"
    name = "unpipelined-dot-loop"
    category = "tiling"
    severity = "warning"
    silent_if_open = True
    summary = "num_stages=1 switches software pipelining of a dot loop off"
    what_it_does = """
        Finds launches with `num_stages=1` of kernels whose `tl.dot` sits in a `range` loop and whose operands are
        loaded in it.
        """
    why = """
        With one stage each K-step waits for its own loads: memory latency and tensor work add up instead of
        overlapping. The compiled code has no `cp.async` at all.
        """
    when_not = "Autotuned launches. Loops of one iteration. Kernels whose shared memory allows one stage only, or tuned for AMD."
    fix_safety = "Safe: the same arithmetic in the same order; more shared memory."
    evidence = """
        H100, fp16 micro-benchmarks of one to five stages (`benchmarks/facts`). Pattern row PERF-020; compiled code
        without cp.async: `triton.compile` for sm_90.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            n = tl.program_id(1) * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                x = tl.load(a + m[:, None] * K + (start + k)[None, :])
                y = tl.load(b + (start + k)[:, None] * N + n[None, :])
                acc = tl.dot(x, y, acc)
            tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))

        class ModelNew(torch.nn.Module):
            def forward(self, a, b):
                c = torch.empty(1024, 4096, device=a.device, dtype=torch.float16)
                matmul[(8, 32)](a, b, c, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8, num_stages=1)
                return c

        def get_inputs():
            return [torch.randn(1024, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)]
        """
    good = bad.replace("num_stages=1", "num_stages=3")
    example = "matmul[grid](a, b, c, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=1)"
    use_instead = "matmul[grid](a, b, c, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.launches():
            # A tuner with one configuration has nothing to choose.
            if (launch.autotuned and launch.alternatives) or launch.num_stages != 1:
                continue
            looped = [
                (dot, loops[-1])
                for dot, loops in launch.kernel.walk(Dot)
                if loops and loops[-1].kind != "while" and loops[-1].num_stages is None
            ]
            if not looped:
                continue
            dot, loop = looped[0]
            assert isinstance(dot, Dot)
            variants = {s: context.variant.then(setting(launch, {"num_stages": s})) for s in (2, 3, 4)}
            variants = {s: variant for s, variant in variants.items() if fits(context, variant, launch, dot)}
            if not variants:
                continue
            timed = {s: time for s, v in variants.items() if (time := context.gpu_us(v)) is not None}
            if not timed and _for_amd(launch):
                continue
            stages = min(timed, key=lambda s: timed[s]) if timed else min(max(variants), 3)
            variant = variants[stages]
            before = context.gpu_us(context.variant)
            if timed and before is not None and timed[stages] >= before:
                continue
            where = f"at line {launch.span.line}"
            if launch.tuning is not None:
                where = f"in the configuration at line {launch.tuning.span.line}"
            change = Change(
                variant,
                f"num_stages=1 turns software pipelining off: each of the {loop.trip} K-steps first waits for its loads from "
                "memory and only then feeds the tensor cores.",
                f"Launch with num_stages={stages}, so that the loads of the next K-steps run while the tensor cores work.",
                f"Set num_stages={stages} {where}; shared memory grows to {stages} operand tiles, which fits.",
            )
            yield Finding(
                self,
                # Without sizes it may well be one of few K-steps, or tuned that way.
                self.severity if timed else "info",
                f"`{launch.kernel.name}` runs its tl.dot loop with num_stages=1",
                launch.span,
                launch.kernel.name,
                launch.kernel.name,
                (
                    Evidence("launched with num_stages=1", launch.span),
                    Evidence("tl.dot in a loop that could be pipelined", dot.span),
                ),
                change,
            )


def _for_amd(launch: Launch) -> bool:
    """Whether the launch or its tuner sets options of AMD's back end, whose pipelining is another matter."""
    set_by_tuner = launch.tuning.parameters if launch.tuning is not None else frozenset[str]()
    return bool(_OF_AMD & (launch.explicit | launch.constexprs.keys() | set_by_tuner))
