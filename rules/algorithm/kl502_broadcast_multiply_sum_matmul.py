"""KL502."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import libcst as cst

from kernlint.headroom.causes import Cause
from kernlint.records import dataclass
from kernlint.rules.algorithm.outer_product import OuterProduct, is_outer_product, outer_products
from kernlint.rules.algorithm.scaled_rows import ScaledRows, is_multiplied, scaled_rows
from kernlint.rules.base import WRITTEN_ANEW, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.proofs.source_text import node_at
from kernlint.rules.proofs.whole_tiles import whole_tiles
from kernlint.workload import (
    Branch,
    Compute,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    ProgramId,
    Reduce,
    Span,
    concrete,
)
from kernlint.workload.dtype import promote
from kernlint.workload.synthesis import power_of_two

#: The least extent of a tile that `tl.dot` takes without padding.
_LEAST = 16
#: Along K a tile of that many bytes fills a row of swizzled shared memory.
_DEPTH_BYTES = 128


@dataclass(frozen=True)
class Factor:
    """A loaded tile of the product; ``axis`` is the kept axis of the product."""

    load: Load
    axis: int


@dataclass(frozen=True)
class BroadcastProduct:
    """``sum(a[:, :, None] * b[None, :, :], axis)``: ``a`` and ``b`` in the order of the kept axes."""

    reduce: Reduce
    a: Factor
    b: Factor
    product: tuple[Compute, ...]

    @property
    def m(self) -> int:
        return self.reduce.shape[self.a.axis]

    @property
    def n(self) -> int:
        return self.reduce.shape[self.b.axis]

    @property
    def padded(self) -> bool:
        """Whether `tl.dot` needs rows or columns beside those that there are."""
        return min(self.m, self.n) < _LEAST

    @property
    def k(self) -> int:
        assert self.reduce.axis is not None
        return self.reduce.shape[self.reduce.axis]


class BroadcastMultiplySumMatmul(Rule):
    code = "KL502"
    name = "broadcast-multiply-sum-matmul"
    category = "algorithm"
    operator = "generate"
    severity = "warning"
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
    fix_safety = WRITTEN_ANEW
    evidence = """
        H100, M=64, N=3072, K=768 in fp16: 6.3 us with a 32x32x32 broadcast product, 18.0 us with 16x16x16 and 12.6 us with 16x16x32
        (`calibration/facts/h100-micro-2.csv`); the same products as `tl.dot` are in `h100-gemm.csv`. Pattern row PERF-071.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

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

        class ModelNew(torch.nn.Module):
            def forward(self, q, k):
                s = torch.empty(q.shape[0], k.shape[0], device=q.device, dtype=torch.float32)
                scores[(q.shape[0] // 32, k.shape[0] // 32)](q, k, s, k.shape[0], q.shape[1], BM=32, BN=32, BD=32)
                return s

        def get_inputs():
            return [torch.randn(2048, 512, dtype=torch.float16), torch.randn(2048, 512, dtype=torch.float16)]
        """
    good = bad.replace(
        "acc += tl.sum(a[:, None, :].to(tl.float32) * b[None, :, :].to(tl.float32), axis=2)",
        "acc += tl.dot(a, tl.trans(b))",
    )
    example = "acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)"
    use_instead = "acc = tl.dot(a, b, acc)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for found in broadcast_products(launch):
                place = (launch.span, found.reduce.span)
                if place in seen or not _multiplies(context, found.product[-1].span):
                    continue
                seen.add(place)
                yield from (
                    self._finding(launch, found, cause)
                    for cause in causes_at(context, launch.kernel.name)
                    if not found.padded or cause is not None
                )
            for outer in outer_products(launch):
                place = (launch.span, outer.product.span)
                if place not in seen and is_outer_product(context, launch, outer):
                    seen.add(place)
                    yield from (
                        self._of_outer(launch, outer, cause) for cause in causes_at(context, launch.kernel.name)
                    )
            rows = scaled_rows(launch)
            if rows is not None and (launch.span, rows.product.span) not in seen and is_multiplied(context, rows):
                seen.add((launch.span, rows.product.span))
                for cause in causes_at(context, launch.kernel.name):
                    if cause is not None:
                        yield self._of_rows(launch, rows, cause)

    def _of_rows(self, launch: Launch, found: ScaledRows, cause: Cause) -> Finding:
        shape, kernel = found.shape, launch.kernel.name
        (loop,), ((x, w),) = shape.loops, shape.pairs
        source, weight = tensor_name(shape.source, x.base), tensor_name(shape.weight, w.base)
        each = f", for each of {shape.images}" if shape.images > 1 else ""
        return Finding(
            self,
            self.severity,
            f"`{kernel}` makes the product of `{weight}` [{shape.channels}, {shape.depth}] and `{source}` [{shape.depth}, {shape.plane}] "
            "of rows times scalars",
            found.product.span,
            kernel,
            kernel,
            (
                Evidence(f"`{weight}` is loaded as one value in each of {shape.depth} iterations", w.span),
                Evidence(
                    f"`{source}` is loaded as {x.elements} values at an address without the index of the {shape.channels} output rows",
                    x.span,
                ),
                Evidence("their product is added to the sum", found.total.span),
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
        names = [tensor_name(launch.tensor(load.base), load.base) for load in (found.column, found.row)]
        times = " x ".join(found.times)
        proof = [
            Evidence(f"{found.m} values of `{names[0]}` are loaded in each of {times} iterations", found.column.span),
            Evidence(f"{found.n} values of `{names[1]}` likewise", found.row.span),
            Evidence(f"their product is added to a {found.m} x {found.n} tile", found.total.span),
        ]
        if len(found.times) > 1 and axis.loop is not None:
            proof.append(Evidence(f"this loop moves both loads at fixed steps, {axis.trip} times", axis.loop.span))
        return Finding(
            self,
            self.severity,
            f"`{kernel}` sums up {times} outer products of a column and a row, one in each iteration",
            found.product.span,
            kernel,
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

    def _finding(self, launch: Launch, found: BroadcastProduct, cause: Cause | None) -> Finding:
        kernel = launch.kernel.name
        dtype, depth = promote(found.a.load.dtype, found.b.load.dtype), max(found.k, _LEAST)
        names = [tensor_name(launch.tensor(factor.load.base), factor.load.base) for factor in (found.a, found.b)]
        return Finding(
            self,
            self.severity,
            f"`{kernel}` multiplies [{found.m}, {found.k}] and [{found.k}, {found.n}] tiles by a broadcast product and tl.sum",
            found.reduce.span,
            kernel,
            kernel,
            (
                Evidence(
                    f"tl.sum over axis {found.reduce.axis} of a {' x '.join(map(str, found.reduce.shape))} product",
                    found.reduce.span,
                ),
                *(
                    Evidence(
                        f"`{name}` is loaded as a {' x '.join(map(str, factor.load.shape))} tile, without axis "
                        f"{other.axis}",
                        factor.load.span,
                    )
                    for name, factor, other in zip(names, (found.a, found.b), (found.b, found.a))
                ),
            ),
            Change(
                None,
                f"Each step forms {math.prod(found.reduce.shape):,} products element by element on the FMA units and adds them up, so "
                "the tensor cores idle and the three-dimensional tile crowds the registers.",
                f"Multiply the tiles with `tl.dot` on {dtype} operands and an fp32 accumulator.",
                f"Replace the broadcast product and tl.sum at line {found.reduce.span.line} by `acc = tl.dot(a, b, acc)` with a "
                f"[{found.m}, {depth}] and b [{depth}, {found.n}] as {dtype}, without the casts to fp32"
                + (f", and raise the depth of the tile from {found.k} to {depth}." if depth != found.k else "."),
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


#: The arithmetic on all three axes of a product, but for casts.
_PRODUCT = frozenset({("arith",)})


def broadcast_products(launch: Launch, arithmetic: frozenset[tuple[str, ...]] = _PRODUCT) -> Iterator[BroadcastProduct]:
    """Every sum of a kernel over the axis that two loaded tiles share, of what ``arithmetic`` makes of them: by default a
    matrix product."""
    for body, loops, outer in _bodies(launch.kernel.body, (), ()):
        loads = [*outer, *(node for node in body if isinstance(node, Load))]
        for index, node in enumerate(body):
            if isinstance(node, Reduce) and node.op == "sum" and len(node.shape) == 3 and node.axis is not None:
                tiles = [load for load in loads if load.id in node.depends and len(load.shape) > 1]
                found = _product(node, body[:index], tiles, loops, arithmetic)
                if found is not None:
                    yield found


def _bodies(
    body: tuple[Node, ...], loops: tuple[Loop, ...], outer: tuple[Load, ...]
) -> Iterator[tuple[tuple[Node, ...], tuple[Loop, ...], tuple[Load, ...]]]:
    """Each body with the loops around it and the loads in front of these."""
    yield body, loops, outer
    for index, node in enumerate(body):
        if isinstance(node, Loop):
            before = tuple(load for load in body[:index] if isinstance(load, Load))
            yield from _bodies(node.body, (*loops, node), (*outer, *before))
        elif isinstance(node, Branch):
            before = tuple(load for load in body[:index] if isinstance(load, Load))
            for arm in node.arms:
                yield from _bodies(arm, loops, (*outer, *before))


def _product(
    reduce: Reduce,
    before: tuple[Node, ...],
    loads: list[Load],
    loops: tuple[Loop, ...],
    arithmetic: frozenset[tuple[str, ...]],
) -> BroadcastProduct | None:
    kept = [axis for axis in range(3) if axis != reduce.axis]
    short, long = sorted(reduce.shape[axis] for axis in kept)
    if len(loads) != 2 or long < _LEAST or short < 2:
        return None
    if any(not (load.dtype.is_float or load.dtype.bits == 8) or load.dtype.bits > 32 for load in loads):
        return None
    whole = math.prod(reduce.shape)
    wide = tuple(node for node in before if isinstance(node, Compute) and node.elements == whole)
    if tuple(node.kind for node in wide if node.kind != "cast") not in arithmetic:
        return None
    for first, second in (kept, kept[::-1]):
        a, b = _factor(loads[0], reduce, first, loops), _factor(loads[1], reduce, second, loops)
        if a is not None and b is not None:
            a, b = sorted((a, b), key=lambda factor: factor.axis)
            return BroadcastProduct(reduce, a, b, wide)
    return None


def _factor(load: Load, reduce: Reduce, axis: int, loops: tuple[Loop, ...]) -> Factor | None:
    """``load`` as a tile over the reduced axis and the kept ``axis``; None where it cannot be that.

    A tile loaded in three dimensions says so itself, and one of two that is not square. In a square one the dimension that
    the loop walks along is the reduced one; without a loop, the dimension that a program id selects is the kept one.
    """
    assert reduce.axis is not None
    depth, extent = reduce.shape[reduce.axis], reduce.shape[axis]
    if len(load.shape) == 3:
        other = 3 - reduce.axis - axis
        fits = load.shape[reduce.axis] == depth and load.shape[axis] == extent and load.shape[other] == 1
        return Factor(load, axis) if fits else None
    if len(load.shape) != 2 or load.offset is None:
        return None
    for reduced in (0, 1):
        kept = 1 - reduced
        if load.shape[reduced] != depth or load.shape[kept] != extent:
            continue
        if depth != extent:
            return Factor(load, axis)  # its shape leaves no choice
        if loops:
            if reduced in whole_tiles(load, LoopIndex(loops[-1].id)):
                return Factor(load, axis)
        elif any(kept in whole_tiles(load, ProgramId(one)) for one in range(3)):
            return Factor(load, axis)
    return None


def _multiplies(context: Context, span: Span) -> bool:
    """Whether the operator at ``span`` is a multiplication (a difference or a sum of tiles is no matrix product)."""
    node = node_at(context, span, cst.BinaryOperation)
    return node is not None and isinstance(node.operator, cst.Multiply)
