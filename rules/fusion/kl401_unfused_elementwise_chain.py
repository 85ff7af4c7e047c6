from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule, elementwise, mapped
from kernlint.rules.finding import Context, Finding
from kernlint.rules.fusion.chains import chains
from kernlint.rules.fusion.fused import chain_finding
from kernlint.rules.wording import listed, step_name


class UnfusedElementwiseChain(Rule):
    code = "KL401"
    name = "unfused-elementwise-chain"
    operator = "generate"
    summary = "launches hand a tensor on element by element through global memory"
    what_it_does = """
        Finds launches (and torch elementwise calls before or after them) of which one writes a tensor that the
        next reads back at the same elements, while nothing else reads it: elementwise kernels behind each
        other, an elementwise step behind a reduction kernel, or one in front of a kernel that reads each
        element once. Launches of one grid that need nothing of each other belong to it where a later step reads the
        results of all of them at the same elements (two stencils of one image, then the length of the gradient).
        """
    why = """
        Such kernels are bound by memory, so each step costs a full read and write of the tensor, and a launch.
        One kernel reads the inputs once and writes the result once.
        """
    when_not = """
        The intermediate is returned, kept or read by something else. The consumer reads other elements than the
        producer's program wrote (stencils, transposes, reductions over other tiles). An elementwise step in
        front of a matmul, which would be repeated for every tile of columns.
        """
    evidence = """
        H100: one elementwise pass over 16,777,216 fp16 values takes 27 us cold
        (`calibration/facts/h100-stream.csv`), each Triton launch 21 us of host time (`h100-overheads.json`);
        both fall away with each kernel that is fused. Pattern rows PERF-058, PERF-059.
        """

    bad = (
        elementwise("double", "{} * 2.0")
        + mapped("v * v").replace("kernel", "square")
        + """
        class ModelNew(torch.nn.Module):
            def forward(self, x):
                h = torch.empty_like(x)
                double[(triton.cdiv(x.numel(), 1024),)](x, h, x.numel(), BLOCK=1024)
                y = torch.empty_like(x)
                square[(triton.cdiv(x.numel(), 2048),)](h, y, x.numel(), BLOCK=2048)
                return y

        def get_inputs():
            return [torch.randn(4096, 4096)]
        """
    )
    good = bad.replace("return y\n", "return y, h\n")
    example = "double[grid](x, h, n, BLOCK=1024)\nsquare[grid](h, y, n, BLOCK=1024)  # `h` is used nowhere else"
    use_instead = "double_and_square[grid](x, y, n, BLOCK=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        for chain in context.workload.once(chains):
            if chain.has_dot or chain.by_row:
                continue
            names = [step_name(step) for step in chain.steps]
            finding = chain_finding(
                self, context, chain,
                f"{listed(names)} hand their results on element by element through global memory",
                f"Do the work of {listed(names)} in one kernel that keeps the intermediate in registers.",
                f"Move the arithmetic of {listed(names[1:])} behind that of {names[0]}, load the inputs once, "
                "store the final result alone, and launch it once.",
            )  # fmt: skip
            if finding is not None:
                yield finding
