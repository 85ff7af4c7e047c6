from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom.causes import Cause
from kernlint.rules.algorithm.variance import MeanThenVariance, two_pass_variances
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.pricing import causes_at
from kernlint.workload import (
    Launch,
    concrete,
)


class TwoPassVariance(Rule):
    code = "KL504"
    name = "two-pass-variance"
    operator = "generate"
    silent_if_open = True
    summary = "a row is read once for its mean and a second time for its variance"
    what_it_does = """
        Finds two loops of a kernel that sweep the same addresses of global memory, where the first ends in a sum and the second
        sums squares of differences from what came of the first.
        """
    why = """
        The row is read twice. Where it does not stay in a cache until the second sweep, that is twice the memory traffic; where
        it does, it is still twice the loads and a second ramp-up of the loop.
        """
    when_not = """
        Rows that one tile holds: load them once and keep them. Plain sums of squares lose digits where the mean is large
        against the spread; Welford's update does not.
        """
    evidence = """
        H100, 64 rows of 131,072 fp32 in blocks of 1024: 19.5 us with one pass, 47.8 us with two, 4096-element blocks 24.3 and
        26.8 us (`calibration/facts/h100-micro.csv`, row_loop). Pattern row PERF-070.
        """
    references = ("https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance",)

    bad = """
        @triton.jit
        def spread(x, out, N, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            total = tl.zeros((BLOCK,), tl.float32)
            for start in range(0, N, BLOCK):
                total += tl.load(x + row * N + start + cols, mask=start + cols < N, other=0.0)
            mean = tl.sum(total, axis=0) / N
            squares = tl.zeros((BLOCK,), tl.float32)
            for start in range(0, N, BLOCK):
                v = tl.load(x + row * N + start + cols, mask=start + cols < N, other=0.0)
                d = tl.where(start + cols < N, v - mean, 0.0)
                squares += d * d
            tl.store(out + row, tl.sum(squares, axis=0) / N)
        """
    good = """
        @triton.jit
        def spread(x, out, N, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            total = tl.zeros((BLOCK,), tl.float32)
            squares = tl.zeros((BLOCK,), tl.float32)
            for start in range(0, N, BLOCK):
                v = tl.load(x + row * N + start + cols, mask=start + cols < N, other=0.0)
                total += v
                squares += v * v
            mean = tl.sum(total, axis=0) / N
            tl.store(out + row, tl.sum(squares, axis=0) / N - mean * mean)
        """
    launch = "spread[(x.shape[0],)](x, out, x.shape[1], BLOCK=2048)"
    makes = "out = torch.empty(x.shape[0], device=x.device)"
    inputs = "torch.randn(512, 131072)"
    example = "for ...: total += load(x)\nmean = sum(total) / N\nfor ...: squares += (load(x) - mean) ** 2"
    use_instead = "for ...: count, mean, m2 = welford(count, mean, m2, load(x))"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for found in two_pass_variances(launch):
                place = (launch.span, found.sweep.second.span)
                if place in seen:
                    continue
                seen.add(place)
                yield from (self._finding(launch, found, cause) for cause in causes_at(context, launch.kernel.name))

    def _finding(self, launch: Launch, found: MeanThenVariance, cause: Cause | None) -> Finding:
        kernel = launch.kernel.name
        first, second = found.sweep.first, found.sweep.second
        load = found.sweep.pairs[0][1]
        tensor = launch.tensor(load.base)
        name = tensor_name(tensor, load.base)
        trip = concrete(first.trip)
        row = f"{trip * load.elements:,} elements a program" if trip is not None else "the whole row"
        # A row that one tile holds is read again from L1, which costs little.
        severity = "info" if trip == 1 else self.severity
        return self.finding(
            f"`{kernel}` reads `{name}` twice, for the mean at line {first.span.line} and the variance at line {second.span.line}",
            second.span,
            kernel,
            (
                Evidence(
                    f"the loop at line {first.span.line} loads `{name}` ({row}) and its sum gives the mean",
                    found.sweep.pairs[0][0].span,
                ),
                Evidence(
                    f"the loop at line {second.span.line} loads the same addresses again and sums squared "
                    "differences from it",
                    load.span,
                ),
            ),
            Change(
                None,
                f"Every row of `{name}` ({row}) is loaded a second time only to subtract the mean before squaring.",
                "Accumulate the mean and the sum of squared deviations together in one pass (Welford's update per "
                "lane, merged at the end).",
                f"In the loop at line {first.span.line} keep (count, mean, M2) per lane and update them with each block; after it merge "
                f"the lanes into mean and variance; drop the loop at line {second.span.line}.",
            ),
            cause,
            severity=severity,
        )
