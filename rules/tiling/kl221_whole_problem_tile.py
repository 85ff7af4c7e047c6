from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import libcst as cst

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.called_functions import names_with_helpers
from kernlint.rules.proofs.jit_functions import keyword
from kernlint.rules.proofs.kernel_source import definition
from kernlint.rules.proofs.source_text import names_in
from kernlint.syntax.names import origin_of
from kernlint.workload import Dot, Launch, Symbol, concrete

_ARANGE = "triton.language.arange"


class WholeProblemTile(Rule):
    code = "KL221"
    name = "whole-problem-tile"
    summary = "the tile of a product is as large as the matrices, so that one program does it all"
    what_it_does = """
        Finds kernels with `tl.dot` whose tile extents are given the sizes of the tensors, with a grid that is one program whatever
        the sizes.
        """
    why = """
        One program runs on one SM; all others idle. The tile grows with the matrices until it fits neither registers nor shared
        memory, sizes that are no power of two do not compile at all, and each new size compiles the kernel again.
        """
    when_not = "A batch of small matrices with a program each: then the grid grows with the batch."
    fix_safety = "Safe: the same sums in blocks of another size; the order of a K sum changes with BLOCK_K."
    evidence = """
        H100 at 2048^3 in fp16: 29 us with 256 programs of a 128x128x64 tile (`calibration/facts/h100-gemm.csv`), a tile that one
        SM holds; one program would take its turn at each of the 256.
        """

    bad = """
        @triton.jit
        def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            n, k = tl.arange(0, BN), tl.arange(0, BK)
            acc = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]))
            tl.store(c + m[:, None] * N + n[None, :], acc)

        def run(a, b):
            M, K = a.shape
            _, N = b.shape
            c = torch.empty(M, N, device=a.device)
            matmul[lambda meta: (triton.cdiv(M, meta["BM"]),)](a, b, c, N, K, BM=M, BN=N, BK=K)
            return c
        """
    good = bad.replace("BM=M", "BM=64")
    example = "kernel[(1,)](a, b, c, ..., BLOCK_M=M, BLOCK_N=N, BLOCK_K=K)"
    use_instead = "kernel[(cdiv(M, 128) * cdiv(N, 128),)](a, b, c, ..., BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.distinct_launches():
            alone = all(concrete(extent) == 1 for extent in launch.grid)
            if not alone or launch.span in seen or not launch.kernel.has(Dot):
                continue
            whole = list(_whole(context, launch))
            if len(whole) < 2:
                continue
            seen.add(launch.span)
            kernel = launch.kernel.name
            sizes = [f"{name} = {launch.open_constexprs[name]}" for name in whole]
            yield self.finding(
                f"one program of `{kernel}` multiplies whole matrices: its tile has their sizes",
                launch.span,
                kernel,
                (
                    Evidence(f"tile extents are sizes of tensors: {', '.join(sizes)}", launch.span),
                    Evidence("the grid is one program for all sizes", launch.span),
                ),
                Change(
                    None,
                    f"`{kernel}` runs as one program on one SM, with a tile that grows with the matrices.",
                    "Launch a tile of fixed size for each block of the result, with masks at the edges.",
                    f"Give {', '.join(f'`{name}`' for name in whole)} constants (128, 128, 64 for 16-bit operands) at line "
                    f"{launch.span.line}, mask loads and stores by the sizes, and let the grid be the number of tiles.",
                    priced=False,
                ),
            )


def _whole(context: Context, launch: Launch) -> Iterator[str]:
    """The constexprs that get the very size of a tensor and that `tl.arange` makes a tile axis of."""
    function = definition(context, launch.kernel) if launch.open_constexprs else None
    if function is None:
        return
    module = context.program.kernel

    def extents(function: cst.FunctionDef, calls: Collection[cst.Call]) -> set[str]:
        ranges = (c for c in module.within(function.body, cst.Call) if origin_of(c.func, module.imports) == _ARANGE)
        ends = (keyword(call, "end", 1) for call in ranges)
        return {name for end in ends if end is not None for name in names_in(end)}

    axes = names_with_helpers(function, module, extents)
    for name, value in launch.open_constexprs.items():
        if (
            name in axes
            and len(value.terms) == 1
            and any(value.coefficient(a) == 1 for a in value.atoms() if type(a) is Symbol)
        ):
            yield name
