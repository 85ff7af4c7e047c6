from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Context, Finding
from kernlint.rules.fusion.chains import chains
from kernlint.rules.fusion.fused import chain_finding
from kernlint.rules.wording import listed, step_name


class UnfusedMatmulEpilogue(Rule):
    code = "KL402"
    name = "unfused-matmul-epilogue"
    operator = "generate"
    summary = "a matmul's result goes through memory only to be scaled, shifted or activated"
    what_it_does = """
        Finds kernels with `tl.dot` whose output is read back by elementwise launches or torch calls (bias,
        activation, residual, scale, cast), and by nothing else.
        """
    why = """
        The tile of results is in registers when the matmul ends; storing it, reading it and storing it again
        moves the whole M x N output several times and costs more launches.
        """
    when_not = """
        The raw product is returned or used elsewhere (a backward pass). Split-K kernels, whose partial sums are
        not final yet.
        """
    evidence = """
        H100, [4096, 4096] fp16 output, warm: the best Triton matmul with K = 4096 takes 195 us
        (`calibration/facts/h100-gemm.csv`), and each torch activation or bias behind it 24 to 35 us more
        (`h100-torch-ops.csv`, `relu`, `gelu`, `add`). Pattern row PERF-058.
        """

    bad = (
        MATMUL
        + """
        class ModelNew(torch.nn.Module):
            def forward(self, a, b, bias):
                c = torch.empty(2048, 4096, device=a.device, dtype=torch.float16)
                matmul[(16, 32)](a, b, c, 4096, 1024, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
                return torch.relu(c + bias)

        def get_inputs():
            half = dict(dtype=torch.float16)
            return [torch.randn(2048, 1024, **half), torch.randn(1024, 4096, **half), torch.randn(4096, **half)]
        """
    )
    good = bad.replace("return torch.relu(c + bias)", "return c")
    example = "matmul[grid](a, b, c, ...)\nreturn torch.relu(c + bias)"
    use_instead = "matmul_bias_relu[grid](a, b, bias, c, ...)\nreturn c"

    def check(self, context: Context) -> Iterable[Finding]:
        for chain in context.workload.once(chains):
            if not chain.has_dot:
                continue
            kernel = next(launch for launch in chain.launches if launch.kernel.dots())
            rest = [step_name(step) for step in chain.steps if step is not kernel]
            name = step_name(kernel)
            finding = chain_finding(
                self, context, chain,
                f"{name} stores its product only for {listed(rest)} to read it back",
                f"Fold {listed(rest)} into the epilogue of {name}, on the fp32 accumulator before `tl.store`.",
                f"Load the operands of {listed(rest)} by the tile's rows and columns behind the K loop, apply the "
                "arithmetic to the accumulator, cast once and store the final result; drop the other launches.",
            )  # fmt: skip
            if finding is not None:
                yield finding
