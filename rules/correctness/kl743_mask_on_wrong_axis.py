"""KL743."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Span
from kernlint.workload.expr import Lane, lift


@dataclass(frozen=True)
class MaskOfRows(Repair):
    """The program whose access at ``place`` is masked by rows."""

    place: Span


class MaskOnWrongAxis(Rule):
    code = "KL743"
    name = "mask-on-wrong-axis"
    category = "correctness"
    severity = "warning"
    summary = "a mask of fewer dimensions is stretched along the wrong axis of a tile"
    bare = True
    what_it_does = """
        Finds a one-dimensional mask on a square two-dimensional tile: it is aligned with the last axis. Silent where
        its bound is the row stride of the tile, so that it does mean the columns.
        """
    why = """
        A mask over rows, `rows < M` without `[:, None]`, masks the columns instead. With a square tile nothing
        complains; rows past the end are read and written.
        """
    when_not = "A mask over columns for rows that are exact by construction."
    fix_safety = """
        Unsafe: `mask[:, None]`, where the address takes the index that the mask tests for its rows. Elsewhere by
        hand, and `mask[None, :]` where the columns are meant.
        """
    evidence = """
        The row's TTIR and run (Triton 3.9.0): the mask is broadcast along columns when the tile is square; other
        shapes are refused. Pattern row BUG-014. No gain: wrong results have no speed.
        """
    references = ("https://github.com/ByteDance-Seed/Triton-distributed/issues/202",)

    bad = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(x, o, M, BM: tl.constexpr, BN: tl.constexpr):
            m = tl.arange(0, BM)
            n = tl.arange(0, BN)
            rows = m < M
            p = m[:, None] * BN + n[None, :]
            tl.store(o + p, tl.load(x + p, mask=rows, other=0.0), mask=rows)
        """
    good = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(x, o, M, BM: tl.constexpr, BN: tl.constexpr):
            m = tl.arange(0, BM)
            n = tl.arange(0, BN)
            rows = (m < M)[:, None]
            p = m[:, None] * BN + n[None, :]
            tl.store(o + p, tl.load(x + p, mask=rows, other=0.0), mask=rows)
        """

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            for site in sites(launch.kernel):
                access = site.access
                if not access.stretched or len(access.shape) != 2 or access.shape[0] != access.shape[1]:
                    continue
                if access.offset is None or not access.mask or (launch.kernel.name, access.span) in seen:
                    continue
                row = access.offset.coefficient(Lane(0))
                if row is None or not row.terms or any(lift(right) == row for _, right in access.mask):
                    continue
                seen.add((launch.kernel.name, access.span))
                square = len(launch.kernel.assumed) < 2  # else the extents are equal only because both were assumed
                yield Finding(
                    self,
                    self.severity if square else "info",
                    f"the one-dimensional mask of this {access.shape[0]}x{access.shape[1]} tile is aligned with its columns",
                    access.span,
                    launch.kernel.name,
                    launch.kernel.name,
                    (Evidence(f"the mask bounds the column by {access.mask[0][1]}, rows are {row} elements apart"),),
                    mending(
                        context,
                        MaskOfRows(access.span),
                        "the one-dimensional mask is aligned with the columns of the tile",
                        "Write `mask[:, None]` for a mask of rows, `mask[None, :]` where the columns are meant.",
                    ),
                )
