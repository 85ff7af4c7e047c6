from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from kernlint.headroom.causes import Cause
from kernlint.rules.algorithm.convolution import Convolution, convolution
from kernlint.rules.algorithm.outer_product import OuterProduct, outer_products
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.like_launches import found_in
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.proofs.sums_of_products import Contraction, contractions, product
from kernlint.workload import Launch, Span, concrete
from kernlint.workload.dtype import promote
from kernlint.workload.synthesis import power_of_two

#: The least extent of a tile that `tl.dot` takes without padding.
_LEAST = 16
#: Along K a tile of that many bytes fills a row of swizzled shared memory.
_DEPTH_BYTES = 128


class BroadcastMultiplySumMatmul(Rule):
    code = "KL502"
    name = "broadcast-multiply-sum-matmul"
    operator = "generate"
    summary = "a matrix product is written as a broadcast multiply and tl.sum instead of tl.dot"
    what_it_does = """
        Finds `tl.sum` over the shared axis of a three-dimensional product of two loaded tiles, each of which lacks one of the
        two axes that remain: a matrix product without tensor cores. Where one of these axes is shorter than 16, `tl.dot` needs
        padding, and the finding is made only where that is predicted to be faster.
        Likewise loops that add the outer product of two loaded vectors, a column and a row, to a tile in each iteration, and
        loops that add a loaded row times one loaded weight, where other programs read the same rows with other weights (a
        pointwise convolution with a program for each output channel), if `tl.dot` is predicted to be faster.
        """
    why = """
        The product of all three axes is formed element by element on the FMA units, in registers that hold rows x columns x
        depth values, and then added up. `tl.dot` does the same sum on tensor cores and holds only the operands and the result.
        """
    when_not = "One of the two remaining axes is 1, or so short that tensor cores would be mostly padding: a matrix-vector product."
    evidence = """
        H100, M=64, N=3072, K=768 in fp16: 6.3 us with a 32x32x32 broadcast product, 18.0 us with 16x16x16 and 12.6 us with 16x16x32
        (`calibration/facts/h100-micro-2.csv`); the same products as `tl.dot` are in `h100-gemm.csv`. Pattern row PERF-071.
        """

    bad = """
        @triton.jit
        def scores(q, k, s, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            n = tl.program_id(1) * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, D, BD):
                d = start + tl.arange(0, BD)
                a = tl.load(q + m[:, None] * D + d[None, :])
                b = tl.load(k + n[:, None] * D + d[None, :])
                acc += tl.sum(a[:, None, :].to(tl.float32) * b[None, :, :].to(tl.float32), axis=2)
            tl.store(s + m[:, None] * N + n[None, :], acc)
        """
    good = bad.replace(
        "acc += tl.sum(a[:, None, :].to(tl.float32) * b[None, :, :].to(tl.float32), axis=2)",
        "acc += tl.dot(a, tl.trans(b))",
    )
    launch = "scores[(q.shape[0] // 32, k.shape[0] // 32)](q, k, s, k.shape[0], q.shape[1], BM=32, BN=32, BD=32)"
    takes, makes = "q, k", "s = torch.empty(q.shape[0], k.shape[0], device=q.device, dtype=torch.float32)"
    inputs = "torch.randn(2048, 512, dtype=torch.float16), torch.randn(2048, 512, dtype=torch.float16)"
    example = "acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)"
    use_instead = "acc = tl.dot(a, b, acc)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for place, findings in found_in(context.launches(), partial(self._products, context)):
            if place not in seen:
                seen.add(place)
                yield from findings

    def _products(self, context: Context, launch: Launch) -> Iterator[tuple[tuple[Span, Span], Iterator[Finding]]]:
        """The products of ``launch`` by its place and theirs, with what is to be said of each."""

        def said(
            finding: Callable[[Launch, Any, Any], Finding], product: Any, known: bool = False
        ) -> Iterator[Finding]:
            for cause in causes_at(context, launch.kernel.name):
                if cause is not None or not known:
                    yield finding(launch, product, cause)

        for found in broadcast_products(launch):
            # Where rows or columns are fewer than `tl.dot` takes, it needs padding.
            padded = min(found.extents[:2]) < _LEAST
            yield (launch.span, found.total.span), said(self._finding, found, padded)
        for outer in outer_products(launch):
            yield (launch.span, outer.product.span), said(self._of_outer, outer)
        rows = None if launch.autotuned else convolution(launch)
        if rows is not None and rows.is_matrix:
            yield (launch.span, rows.total.terms[0].span), said(self._of_rows, rows, True)

    def _of_rows(self, launch: Launch, shape: Convolution, cause: Cause) -> Finding:
        kernel, (loop,), x, w = launch.kernel.name, shape.loops, shape.x, shape.w
        source, weight = tensor_name(shape.source, x.base), tensor_name(shape.weight, w.base)
        each = f", for each of {shape.images}" if shape.images > 1 else ""
        return self.finding(
            f"`{kernel}` makes the product of `{weight}` [{shape.channels}, {shape.depth}] and `{source}` [{shape.depth}, {shape.plane}] "
            "of rows times scalars",
            shape.total.terms[0].span,
            kernel,
            (
                Evidence(f"`{weight}` is loaded as one value in each of {shape.depth} iterations", w.span),
                Evidence(
                    f"`{source}` is loaded as {x.elements} values at an address without the index of the {shape.channels} output rows",
                    x.span,
                ),
                Evidence("their product is added to the sum", shape.total.total.span),
            ),
            Change(
                None,
                f"Each of {shape.channels} output rows loads `{source}` again and multiplies it on the FMA units, {shape.depth} "
                "multiply-adds an element, while the tensor cores idle.",
                f"A tiled matrix product, {shape.channels} x {shape.plane} x {shape.depth}{each}, with `tl.dot` on {w.dtype} tiles and "
                "an fp32 accumulator.",
                f"Give each program a tile of the output; let the loop at line {loop.span.line} advance by blocks of 64, load tiles of "
                f"`{weight}` and of `{source}`, masked at the ends, without casts to fp32, and accumulate with `acc = tl.dot(a, b, acc)`.",
            ),
            cause,
        )

    def _of_outer(self, launch: Launch, found: OuterProduct, cause: Cause | None) -> Finding:
        kernel, axis = launch.kernel.name, found.axis
        depth = max(_LEAST, min(_DEPTH_BYTES // found.dtype.bytes, power_of_two(concrete(axis.trip) or _DEPTH_BYTES)))
        names = [launch.name_of(load.base) for load in (found.column, found.row)]
        times = " x ".join(found.times)
        proof = [
            Evidence(f"{found.m} values of `{names[0]}` are loaded in each of {times} iterations", found.column.span),
            Evidence(f"{found.n} values of `{names[1]}` likewise", found.row.span),
            Evidence(f"their product is added to a {found.m} x {found.n} tile", found.total.span),
        ]
        if len(found.times) > 1 and axis.loop is not None:
            proof.append(Evidence(f"this loop moves both loads at fixed steps, {axis.trip} times", axis.loop.span))
        return self.finding(
            f"`{kernel}` sums up {times} outer products of a column and a row, one in each iteration",
            found.product.span,
            kernel,
            tuple(proof),
            Change(
                None,
                f"Each iteration loads {found.m} + {found.n} values and spends {found.m * found.n:,} multiply-adds of the FMA units on "
                "them, while the tensor cores idle.",
                f"Step through the sum in blocks of {depth} and multiply the tiles with `tl.dot` on {found.dtype} operands and an "
                "fp32 accumulator.",
                f"{_in_blocks(found, depth)}, load a [{found.m}, {depth}] tile of `{names[0]}` and a "
                f"[{depth}, {found.n}] tile of `{names[1]}`, masked at the end of the sum, without casts to fp32, and accumulate with "
                "`acc = tl.dot(a, b, acc)`.",
            ),
            cause,
        )

    def _finding(self, launch: Launch, found: Contraction, cause: Cause | None) -> Finding:
        kernel, loads, (m, n, k) = launch.kernel.name, found.tile.loads, found.extents
        dtype, depth = promote(loads[0].dtype, loads[1].dtype), max(k, _LEAST)
        names = [launch.name_of(load.base) for load in loads]
        return self.finding(
            f"`{kernel}` multiplies [{m}, {k}] and [{k}, {n}] tiles by a broadcast product and tl.sum",
            found.total.span,
            kernel,
            (
                Evidence(
                    f"tl.sum over axis {found.axis} of a {' x '.join(map(str, found.shape))} product",
                    found.total.span,
                ),
                *(
                    Evidence(
                        f"`{name}` is loaded as a {' x '.join(map(str, load.shape))} tile, without axis {axis}",
                        load.span,
                    )
                    for name, load, axis in zip(names, loads, reversed(found.kept))
                ),
            ),
            Change(
                None,
                f"Each step forms {math.prod(found.shape):,} products element by element on the FMA units and adds them up, so "
                "the tensor cores idle and the three-dimensional tile crowds the registers.",
                f"Multiply the tiles with `tl.dot` on {dtype} operands and an fp32 accumulator.",
                f"Replace the broadcast product and tl.sum at line {found.total.span.line} by `acc = tl.dot(a, b, acc)` with a "
                f"[{m}, {depth}] and b [{depth}, {n}] as {dtype}, without the casts to fp32"
                + (f", and raise the depth of the tile from {k} to {depth}." if depth != k else "."),
            ),
            cause,
        )


def _in_blocks(found: OuterProduct, depth: int) -> str:
    """What to do with the loops of ``found``."""
    loop = found.axis.loop
    if loop is None:
        return f"Instead of unrolling the {found.axis.trip} steps along the sum, loop over them in blocks of {depth}"
    if loop is found.nest[-1] and len(found.pairs) == 1:
        return f"Let the loop at line {loop.span.line} advance by {depth}"
    unrolled = (
        f"Loop over the {len(found.pairs)} taps instead of unrolling them, make" if len(found.pairs) > 1 else "Make"
    )
    return f"{unrolled} the loop at line {loop.span.line} the innermost one and let it advance by {depth}"


def broadcast_products(launch: Launch) -> Iterator[Contraction]:
    """The sums of a kernel over the axis that two loaded tiles share, of the product of both: matrix products."""
    for found in contractions(launch.kernel, product):
        short, long = sorted(found.extents[:2])
        types = [load.dtype for load in found.tile.loads]
        if short >= 2 and long >= _LEAST and all((one.is_float or one.bits == 8) and one.bits <= 32 for one in types):
            yield found
