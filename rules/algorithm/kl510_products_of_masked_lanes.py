from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.algorithm.masked_products import SortedByPhase, Sparse, sparse_operands
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.workload import Launch, Loop


class ProductsOfMaskedLanes(Rule):
    code = "KL510"
    name = "products-of-masked-lanes"
    bare = True
    summary = "a loop multiplies tiles whose rows are masked out unless an index is a multiple of a stride"
    what_it_does = """
        Finds `tl.dot` in a loop with an operand whose load is masked by `index % stride == 0` (or another remainder), where the
        index changes from row to row of the tile: of `stride` neighbouring rows one is live.
        """
    why = """
        Masked rows are multiplied all the same. A transposed convolution that asks each output point which taps reach it
        spends `stride` times the arithmetic per axis that is strided: eight times in three dimensions of stride 2.
        """
    when_not = "A stride of 1, for which the test is always true."
    fix_safety = "Safe: the same products; those that are left out are zero."
    evidence = """
        H100, transposed convolution in 3-D, stride 2, 27 taps in bf16: 28.7 ms with such masks, 7.8 ms with the output points
        sorted by phase (published by the authors of the kernel; `docs/labels.md`). No time of our own.
        """

    bad = """
        @triton.jit
        def transposed(x, w, y, L, OL, C, S, TAPS, BM: tl.constexpr, BN: tl.constexpr, BC: tl.constexpr):
            o = tl.program_id(0) * BM + tl.arange(0, BM)
            n, c = tl.arange(0, BN), tl.arange(0, BC)
            acc = tl.zeros((BM, BN), tl.float32)
            for tap in range(0, TAPS):
                t = o - tap
                i = t // S
                live = (t >= 0) & (t % S == 0) & (i < L)
                a = tl.load(x + i[:, None] * C + c[None, :], mask=live[:, None], other=0.0)
                b = tl.load(w + tap * C * BN + c[:, None] * BN + n[None, :])
                acc = tl.dot(a, b, acc)
            tl.store(y + o[:, None] * BN + n[None, :], acc.to(tl.float16), mask=(o < OL)[:, None])

        """
    good = (
        bad.replace("o = tl.program_id(0) * BM", "phase = tl.program_id(1)\n            q = tl.program_id(0) * BM")
        .replace("range(0, TAPS)", "range(phase, TAPS, S)")
        .replace("t = o - tap\n                i = t // S\n", "i = q - tap // S\n")
        .replace("(t >= 0) & (t % S == 0)", "(i >= 0)")
        .replace("            tl.store", "            o = q * S + phase\n            tl.store")
    )
    launch = """length = 2 * (x.shape[0] - 1) + w.shape[0]
                transposed[(triton.cdiv(length, 64),)](x, w, y, x.shape[0], length, 64, 2, w.shape[0], BM=64, BN=64, BC=64)"""
    good_launch = """length = 2 * (x.shape[0] - 1) + w.shape[0]
                grid = (triton.cdiv(length, 128), 2)
                transposed[grid](x, w, y, x.shape[0], length, 64, 2, w.shape[0], BM=64, BN=64, BC=64)"""
    takes = "x, w"
    makes = "y = torch.empty(length, 64, device=x.device, dtype=x.dtype)"
    inputs = "torch.randn(65536, 64, dtype=torch.float16), torch.randn(5, 64, 64, dtype=torch.float16)"
    example = "live = (t % stride == 0) & ...\na = tl.load(x + (t // stride) * C, mask=live[:, None])\nacc = tl.dot(a, b, acc)"
    use_instead = "for tap in range(phase, TAPS, stride):  # the taps that reach outputs of this phase"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for found in sparse_operands(launch):
                if found.load.span in seen:
                    continue
                seen.add(found.load.span)
                yield self._finding(context, launch, found)

    def _finding(self, context: Context, launch: Launch, found: Sparse) -> Finding:
        kernel, load, share = launch.kernel.name, found.load, found.share
        divisors = list(dict.fromkeys(map(str, found.divisors)))
        strides = ", ".join(f"`{d}`" for d in divisors)
        live = f"one row in {share}"
        if share is None:
            live = f"one row in {strides}" if len(divisors) == 1 else f"one row in the product of {strides}"
        fewer = found.fewer()
        priced = fewer is not None
        variant = context.variant.then(transform=SortedByPhase(launch.span, load.span)) if priced else None
        loops = [loop for loop in found.loops if loop.id in (fewer or {found.loops[-1].id: 1})]
        above = "" if share is not None else ": most of the work is lost once that is above 1"
        return self.finding(
            f"`{kernel}` multiplies tiles of which {live} is not masked out{above}",
            load.span,
            kernel,
            (
                Evidence(
                    f"the mask of `{load.base}` holds where indices of its rows leave a given remainder by {strides}",
                    load.span,
                ),
                Evidence("tl.dot multiplies all rows of the tile", found.dot.span),
            ),
            Change(
                variant,
                f"The mask lets {live} of `{load.base}` through, and `tl.dot` multiplies the others as zeros.",
                "Sort the outputs by phase, so that in each program all rows use the same taps and none is masked.",
                f"Add a grid axis for each phase (index modulo {strides}), let the rows of a program be outputs of one phase, and step the "
                f"{_loops_at(loops)} over the taps of that phase only; the test at line {load.span.line} is then always true.",
                priced=priced,
            ),
        )


def _loops_at(loops: list[Loop]) -> str:
    lines = list(dict.fromkeys(loop.span.line for loop in loops))
    return f"loop at line {lines[0]}" if len(lines) == 1 else f"loops at lines {' and '.join(map(str, lines))}"
