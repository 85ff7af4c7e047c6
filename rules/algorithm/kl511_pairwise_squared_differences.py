from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom.causes import Cause
from kernlint.rules.algorithm.squared_differences import SquaredDifferences, squared_differences
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.pricing import causes_at
from kernlint.workload import Launch
from kernlint.workload import dtype as dt


class PairwiseSquaredDifferences(Rule):
    code = "KL511"
    name = "pairwise-squared-differences"
    operator = "generate"
    summary = "squared distances of rows to rows are formed by subtracting element by element instead of from norms and tl.dot"
    what_it_does = """
        Finds sums of squared differences between each row of one loaded tile and each of another, over the axis that both share:
        `tl.sum(d * d, axis)` of a three-dimensional `d = x[:, None, :] - c[None, :, :]`, and loops that add
        `(x[:, None] - c[None, :]) ** 2` for one coordinate after the other. Nearest centroids, radial basis functions and
        Gaussian kernels are written so. Both remaining axes and the depth must have 16 elements or more, and the change must
        be predicted to be faster.
        """
    why = """
        Rows x columns x depth differences are formed, squared and added on the FMA units, while the tensor cores idle. With
        `|x - c|^2 = |x|^2 - 2 x.c + |c|^2` all that has three axes is a matrix product for `tl.dot`; a norm takes one
        multiply-add for each loaded element.
        """
    when_not = """
        Other distances: absolute differences and maxima are no product. Points whose distance is small beside their norms: the
        norms cancel, and what is left has few digits. Moving the origin to the mean of the points, which changes no distance,
        helps there.
        """
    fix_safety = """
        Unsafe: the sum is another one, and norms that nearly cancel leave an absolute error of about the rounding of the larger
        norm; a distance may come out slightly below zero, so that a root needs `tl.maximum(d2, 0.0)`. Products of operands of 16
        bits are exact in the accumulator; fp32 operands need `input_precision="tf32x3"`.
        """
    evidence = """
        H200, fp16: distances of 65,536 points to the nearest of 1,024 centroids in 128 dimensions, 3,117 us with differences one
        coordinate at a time and 65 us with norms and `tl.dot`; 4,096 points, 256 centroids and 64 dimensions: 76 us and 3.8 us
        (`evals/2026-11-28-fourth/kmeans-outer-difference`).
        """

    bad = """
        @triton.jit
        def distances(x, c, out, N, C, D: tl.constexpr, BN: tl.constexpr, BC: tl.constexpr):
            n = tl.program_id(0) * BN + tl.arange(0, BN)
            j = tl.program_id(1) * BC + tl.arange(0, BC)
            acc = tl.zeros((BN, BC), tl.float32)
            for d in range(D):
                a = tl.load(x + n * D + d).to(tl.float32)
                b = tl.load(c + j * D + d).to(tl.float32)
                diff = a[:, None] - b[None, :]
                acc += diff * diff
            tl.store(out + n[:, None] * C + j[None, :], acc)
        """
    good = bad.replace("acc += diff * diff", "acc += tl.abs(diff)")
    launch = (
        "distances[(x.shape[0] // 64, c.shape[0] // 64)](x, c, out, x.shape[0], c.shape[0], D=x.shape[1], BN=64, BC=64)"
    )
    takes, makes = "x, c", "out = torch.empty(x.shape[0], c.shape[0], device=x.device, dtype=torch.float32)"
    inputs = "torch.randn(8192, 128, dtype=torch.float16), torch.randn(1024, 128, dtype=torch.float16)"
    example = "for d in range(D):\n    diff = x_d[:, None] - c_d[None, :]\n    acc += diff * diff"
    use_instead = "acc = x_norms[:, None] + c_norms[None, :] - 2.0 * tl.dot(x, tl.trans(c))"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for found in squared_differences(launch):
                place = (launch.span, found.at)
                if place in seen:
                    continue
                seen.add(place)
                for cause in causes_at(context, launch.kernel.name):
                    # Of a tile whose extents nobody has given, and that cannot be priced, there is nothing to say.
                    if cause is not None or not launch.kernel.assumed:
                        yield self._finding(launch, found, cause)

    def _finding(self, launch: Launch, found: SquaredDifferences, cause: Cause | None) -> Finding:
        kernel, m, n = launch.kernel.name, found.m, found.n
        x, c = (launch.name_of(load.base) for load in (found.rows, found.columns))
        looped = found.loop is not None
        line = found.at.line
        exact = ', input_precision="tf32x3"' if found.dtype == dt.FLOAT32 else ""
        reads = (
            f"Let the loop at line {line} advance by blocks of the sum and load a tile of {m} rows of `{x}` and one of {n} rows of "
            f"`{c}`, masked at the end of the sum"
            if looped
            else f"At line {line} keep the tiles of `{x}` and `{c}` two-dimensional"
        )
        terms = f"{m} x {n} x {found.depth}"
        tile = f"{m} x {n}" if looped else terms
        return self.finding(
            f"`{kernel}` forms the squared distances of {m} rows to {n} rows difference by difference, {terms} of them in a tile",
            found.last, kernel,
            (
                Evidence(f"{m} rows of `{x}`, one {'coordinate' if looped else 'tile'} at a time", found.rows.span),
                Evidence(f"{n} rows of `{c}` likewise", found.columns.span),
                Evidence(f"a difference of {tile} elements times itself is added up", found.last),
            ),
            Change(
                None,
                f"Each tile of {m} x {n} distances takes {terms} subtractions and as many multiply-adds on the FMA units, while the "
                "tensor cores idle.",
                "Take squared distances as |x|^2 - 2 x.c + |c|^2, with the products from `tl.dot` and one norm for each row.",
                f"{reads}, without casts to fp32; add up `tl.sum(x * x, 1)` and `tl.sum(c * c, 1)` in fp32 and "
                f"`cross = tl.dot(x, tl.trans(c), cross{exact})`; the distances are `x_norms[:, None] + c_norms[None, :] - 2.0 * cross`. A "
                "minimum over the columns alone may leave the norms of the rows out until after it. Norms that nearly cancel cost "
                "digits: where points lie far from the origin beside their distances, subtract a common centre first, and clamp at zero "
                "before a root.",
            ),
            cause,
        )  # fmt: skip
