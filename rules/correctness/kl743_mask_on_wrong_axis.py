from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.proofs.readings import found_however_read
from kernlint.rules.repair import mending
from kernlint.workload import Launch, Span
from kernlint.workload.access import Access
from kernlint.workload.expr import Expr, Lane, lift


class MaskOnWrongAxis(Rule):
    code = "KL743"
    name = "mask-on-wrong-axis"
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
        No automatic fix: whether `mask[:, None]` or `mask[None, :]` is meant is for the author to say.
        """
    evidence = """
        The row's TTIR and run (Triton 3.9.0): the mask is broadcast along columns when the tile is square; other
        shapes are refused. Pattern row BUG-014. No gain: wrong results have no speed.
        """
    references = ("https://github.com/ByteDance-Seed/Triton-distributed/issues/202",)

    bad = """
        @triton.jit
        def k(x, o, M, BM: tl.constexpr, BN: tl.constexpr):
            m = tl.arange(0, BM)
            n = tl.arange(0, BN)
            rows = m < M
            p = m[:, None] * BN + n[None, :]
            tl.store(o + p, tl.load(x + p, mask=rows, other=0.0), mask=rows)
        """
    good = bad.replace("m < M", "(m < M)[:, None]")

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            square = found_however_read(context, launch, _stretched)
            for place, (access, row) in _stretched(launch).items():
                if (launch.kernel.name, place) in seen or not access.mask:
                    continue
                seen.add((launch.kernel.name, place))
                yield self.finding(
                    f"the one-dimensional mask of this {access.shape[0]}x{access.shape[1]} tile is aligned with its columns",
                    place,
                    launch.kernel.name,
                    (Evidence(f"the mask bounds the column by {access.mask[0][1]}, rows are {row} elements apart"),),
                    mending(
                        context,
                        None,
                        "the one-dimensional mask is aligned with the columns of the tile",
                        "Write `mask[:, None]` for a mask of rows, `mask[None, :]` where the columns are meant.",
                    ),
                    doubts=doubted(place not in square, "the tile is square only as its constants are assumed"),
                )


def _stretched(launch: Launch) -> dict[Span, tuple[Access, Expr]]:
    """The accesses of ``launch`` to square tiles under a mask of one dimension, each by its place and with the distance of its
    rows, which the mask does not bound."""
    found: dict[Span, tuple[Access, Expr]] = {}
    for site in sites(launch.kernel):
        access = site.access
        if not access.stretched or len(access.shape) != 2 or access.shape[0] != access.shape[1]:
            continue
        row = access.offset.coefficient(Lane(0)) if access.offset is not None and access.mask else None
        if row is not None and row.terms and not any(lift(right) == row for _, right in access.mask or ()):
            found.setdefault(access.span, (access, row))
    return found
