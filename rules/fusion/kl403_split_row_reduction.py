from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding
from kernlint.rules.fusion.chains import chains
from kernlint.rules.fusion.fused import chain_finding
from kernlint.rules.wording import described, listed, step_name


class SplitRowReduction(Rule):
    code = "KL403"
    name = "split-row-reduction"
    operator = "generate"
    summary = "a softmax or norm is split over kernels that each fetch the same rows"
    what_it_does = """
        Finds launches of which one reduces whole rows to statistics (maximum, sum, mean, variance) and stores
        them, and the next reads the statistics and the same rows again, or what the first made of them. Each
        program holds the whole row.
        """
    why = """
        The row is on chip when its statistics are ready: reading it again doubles the traffic, and each kernel
        is a launch.
        """
    when_not = """
        Rows too long for one tile, which have to be walked twice in any case. Statistics of other rows than the
        program's own.
        """
    evidence = """
        H100, 64 rows of 131,072 fp32 values, BLOCK 1024: 19 us with one pass over the row, 48 us with two, 61
        us with three (`calibration/facts/h100-micro.csv`, `row_loop`). Pattern rows PERF-040, PERF-062.
        """

    bad = """
        @triton.jit
        def row_sum(x, total, N, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            i = tl.arange(0, BLOCK)
            tl.store(total + row, tl.sum(tl.load(x + row * N + i, mask=i < N, other=0.0), axis=0))

        @triton.jit
        def divide(x, total, y, N, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            i = tl.arange(0, BLOCK)
            value = tl.load(x + row * N + i, mask=i < N, other=0.0)
            tl.store(y + row * N + i, value / tl.load(total + row), mask=i < N)

        """
    good = """
        @triton.jit
        def normalise(x, y, N, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            i = tl.arange(0, BLOCK)
            value = tl.load(x + row * N + i, mask=i < N, other=0.0)
            tl.store(y + row * N + i, value / tl.sum(value, axis=0), mask=i < N)

        """
    launch = """total = torch.empty(8192, device=x.device)
                row_sum[(8192,)](x, total, 4000, BLOCK=4096)
                divide[(8192,)](x, total, y, 4000, BLOCK=4096)"""
    good_launch = "normalise[(8192,)](x, y, 4000, BLOCK=4096)"
    inputs = "torch.randn(8192, 4000)"
    example = "row_sum[(rows,)](x, total, N, BLOCK)\ndivide[(rows,)](x, total, y, N, BLOCK)"
    use_instead = "normalise[(rows,)](x, y, N, BLOCK)"

    def check(self, context: Context) -> Iterable[Finding]:
        for chain in context.workload.once(chains):
            if chain.has_dot or not chain.by_row:
                continue
            names = [step_name(step) for step in chain.steps]
            gone = listed([f"`{described(t)[0]}`" for t in (*chain.passed, *chain.kept)])
            finding = chain_finding(
                self, context, chain,
                f"{listed(names)} work on the same rows one after another, handing {gone} on through global memory",
                f"Do {listed(names)} in one kernel: a program holds its whole row, so the row is read once and "
                f"{gone} stay{'s' * (gone.count('`') == 2)} in registers.",
                f"Load the row once, reduce it and use the result at once, as {listed(names)} do in turn; store only "
                "what is used afterwards; launch one program per row.",
            )  # fmt: skip
            if finding is not None:
                yield finding
