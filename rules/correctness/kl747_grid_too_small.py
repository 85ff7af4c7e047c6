from __future__ import annotations

from kernlint.rules.correctness.shortfalls import ShortfallRule
from kernlint.rules.proofs.bounds import Shortfall
from kernlint.workload.expr import Expr, Opaque, ProgramId, lift


class GridTooSmall(ShortfallRule):
    code = "KL747"
    name = "grid-too-small"
    severity = "error"
    summary = "the grid is too small for the size that the mask bounds"
    what_it_does = """
        Computes how far the masked index of the kernel gets over the whole grid, and finds grids of a fixed number of
        programs, or of `n // BLOCK`, that stop short of the bound of the mask. An error where they do so at the sizes in view
        under every configuration of the autotuner, else a warning.
        """
    why = "Elements behind the last tile are never computed: the output keeps what was there before."
    when_not = "Launches that mean to process a part only. Kernels that loop over further tiles, which are followed."
    fix_safety = """
        Unsafe, as a part of the elements may be left out on purpose: the extent becomes `triton.cdiv(size, BLOCK)` of the
        size that the mask bounds and of the kernel's own tile, as the launch writes them. Refused where several arguments
        have that size.
        """
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) leaves elements untouched. Pattern row BUG-018. No gain:
        wrong results have no speed.
        """
    references = ("https://github.com/pytorch/pytorch/issues/195546",)

    bad = """
        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(o + a, tl.load(x + a, mask=a < n, other=0.0), mask=a < n)
        def run(x, o):
            k[(4,)](x, o, 128, B=16)
        """
    good = bad.replace("k[(4", "k[(triton.cdiv(128, 16)")

    def is_ours(self, short: Shortfall) -> bool:
        """Whether the grid is a fixed number of programs, or one that rounds the bound down to whole tiles."""
        fixed = all(lift(extent).value is not None for extent in short.launch.grid)
        return short.from_programs and (fixed or _rounds_down(short))

    def message(self, short: Shortfall) -> str:
        whole = " in whole tiles" if _rounds_down(short) else ""
        return f"the grid reaches {short.reached} of {short.needed} elements{whole}{short.where}"


def _rounds_down(short: Shortfall) -> bool:
    """Whether an axis of the grid that moves the index counts ``bound // tile`` programs."""
    counts = [
        short.launch.grid[a.axis]
        for a in short.index.atoms()
        if isinstance(a, ProgramId) and a.axis < len(short.launch.grid)
    ]
    floors = [a for count in counts for a in lift(count).atoms() if isinstance(a, Opaque) and a.op == "floordiv"]
    return any(lift(count) == Expr.atom(a) and a.args[0] == short.bound for count in counts for a in floors)
