from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.headroom.causes import Cause
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.fusion.row_stages import RowStages, row_stages
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.proofs.step_graph import blamed
from kernlint.rules.wording import described, listed
from kernlint.workload import Launch


class RowStagesThroughMemory(Rule):
    code = "KL407"
    name = "row-stages-through-memory"
    operator = "generate"
    summary = "stages of one computation on rows are launches of their own, though a row fits on chip"
    what_it_does = """
        Finds launches behind each other, often of one kernel with another stride, that read what the ones before wrote at other
        elements of the same row: butterflies (Hadamard, Fourier), compare-and-swap stages of a sort, scans by doubling. That no
        stage reads beyond its row is proven from the addresses of every lane. A row must fit into the registers of a program, and
        there must be a row for each multiprocessor.
        """
    why = """
        Each stage reads and writes everything. A program that holds a row can do all stages one after the other and exchange
        elements through shared memory: one read and one write in all, and one launch.
        """
    when_not = """
        A stage reads elements of other rows (a transpose, a stencil across rows), rows are too long for a program, or there are so
        few of them that most of the device would idle.
        """
    evidence = """
        H200, Walsh-Hadamard transform of 32,768 rows of 1,024 fp32 numbers: 861 us with ten launches in place, 215 us with one
        program a row; 1,024 rows of 512: 21.7 us and 5.5 us (`evals/2026-11-28-fourth/hadamard-stage-launches`).
        """

    bad = """
        @triton.jit
        def butterfly(x, pairs, half, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            at = (i // half) * (2 * half) + i % half
            a = tl.load(x + at, mask=i < pairs)
            b = tl.load(x + at + half, mask=i < pairs)
            tl.store(x + at, a + b, mask=i < pairs)
            tl.store(x + at + half, a - b, mask=i < pairs)
        """
    launch = """pairs, half = y.numel() // 2, 1
                while half < y.shape[1]:
                    butterfly[(triton.cdiv(pairs, 1024),)](y, pairs, half, BLOCK=1024)
                    half *= 2"""
    good_launch = launch.replace("y.shape[1]:", "2:")
    makes = "y = x.clone()"
    inputs = "torch.randn(16384, 512)"
    example = "while half < D:\n    butterfly[grid](y, pairs, half, BLOCK=1024)  # reads what the last one wrote\n    half *= 2"
    use_instead = "all_stages[(rows,)](x, y, D=D)  # a program holds its row and exchanges elements on chip"

    def check(self, context: Context) -> Iterable[Finding]:
        for found in row_stages(context.workload):
            # With fewer rows than processors most of the device would idle.
            filled = found.rows >= context.device.sm_count
            for cause in causes_at(context, steps=found.steps) if filled else ():
                if cause is not None:
                    yield self._finding(context, found, cause)

    def _finding(self, context: Context, found: RowStages, cause: Cause) -> Finding:
        steps, first = found.steps, found.steps[0]
        names = listed([f"`{name}`" for name in dict.fromkeys(step.kernel.name for step in steps)])
        between = listed([f"`{described(tensor)[0]}` {described(tensor)[1]}" for tensor in found.between])
        moved = sum(tensor.nbytes or 0 for tensor in found.between) / len(found.between) * 2 * (len(steps) - 1) / 1e6
        return self.finding(
            f"{names} in {len(steps)} launches take {found.rows} rows of {found.row} elements from stage to stage through memory",
            first.span, _blamed(context, steps),
            (
                Evidence(f"{len(steps)} launches, each of which reads what those before it wrote", first.span),
                Evidence(f"{between} is written and read back between them"),
                Evidence(f"every lane of every stage stays in one row of {found.row} elements", first.kernel.name_span),
            ),
            Change(
                None,
                f"Each of {len(steps)} launches reads and writes all of {between}: {moved:.1f} MB between the stages, though no row of "
                f"{found.row} elements needs anything of another.",
                f"Do all {len(steps)} stages in one launch with a program for each of {found.rows} rows, which stays on chip.",
                f"Launch one kernel with grid ({found.rows},). Let it load its row once, go through the {len(steps)} stages in a "
                "`tl.static_range` loop, pairing elements with `tl.reshape`, `tl.permute`, `tl.split` and `tl.join` (or as products with "
                "small constant matrices by `tl.dot`, where the stages are linear), and store the row once. Drop the host loop.",
            ),
            cause, kernel=first.kernel.name,
        )  # fmt: skip


def _blamed(context: Context, steps: Sequence[Launch]) -> str:
    """The host function that strings the stages together: the one with the loop, where that stands around the launch."""
    module, launched = context.program.kernel, {(step.span, step.function) for step in steps}
    ((span, function), *others) = launched
    if others or span.file != module.path:
        return blamed(context.workload, steps)
    loops = [module.span(loop) for kind in (cst.While, cst.For) for loop in module.of(kind)]
    around = any(loop.line <= span.line and span.end_line <= loop.end_line for loop in loops)
    return function if around else blamed(context.workload, steps)
