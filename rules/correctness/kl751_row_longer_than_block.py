from __future__ import annotations

from kernlint.rules.correctness.shortfalls import ShortfallRule
from kernlint.rules.proofs.bounds import Shortfall, walked_in_tiles
from kernlint.workload.expr import Symbol


class RowLongerThanBlock(ShortfallRule):
    code = "KL751"
    name = "row-longer-than-block"
    severity = "error"
    summary = "a kernel with one tile per row gets a tile that can be shorter than the row"
    what_it_does = """
        Finds masked indices made of lanes alone, without a loop over further tiles, whose bound is larger than the
        tile: at the sizes in view, or for sizes that nothing in view rules out and that give the tile its capped or
        fixed size.
        """
    why = "Columns behind the tile are ignored: reductions miss them and outputs keep what was there before."
    when_not = "Wrappers that refuse longer rows. Tiles of `triton.next_power_of_2(n)` without a cap."
    fix_safety = "No automatic fix: a loop over the row, or a block that is large enough, are two kernels."
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) leaves elements untouched. Pattern row BUG-021. No gain:
        wrong results have no speed.
        """
    references = (
        "https://github.com/facebookresearch/xformers/issues/785",
        "https://github.com/RL-Align/RL-Kernel/issues/215",
        "https://github.com/unslothai/unsloth/issues/7",
    )

    bad = """
        @triton.jit
        def k(x, o, N, B: tl.constexpr):
            c = tl.arange(0, B)
            v = tl.load(x + tl.program_id(0) * N + c, mask=c < N, other=0.0)
            tl.store(o + tl.program_id(0), tl.sum(v, axis=0))
        def run(x, o):
            k[(x.shape[0],)](x, o, x.shape[1], B=min(64, triton.next_power_of_2(x.shape[1])))
        """
    good = bad.replace("min(64, triton.next_power_of_2(x.shape[1]))", "triton.next_power_of_2(x.shape[1])")

    def is_ours(self, short: Shortfall) -> bool:
        """Whether nothing but lanes moves the index."""
        if short.from_programs or short.from_loops or walked_in_tiles(short):
            return False
        # A scalar of the caller's may well be small; the extent of a tensor is as large as the data.
        return all(isinstance(a, Symbol) and "." in a.name for a in short.bound.atoms())

    def message(self, short: Shortfall) -> str:
        held = f"the tile holds {short.reached} of {short.needed} columns{short.where}"
        return f"{held}, and no loop goes over the rest, which is left out"
