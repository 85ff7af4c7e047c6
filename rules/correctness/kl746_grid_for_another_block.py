from __future__ import annotations

from kernlint.rules.correctness.shortfalls import ShortfallRule
from kernlint.rules.proofs.bounds import Shortfall
from kernlint.rules.proofs.overshoots import rounded_up


class GridForAnotherBlock(ShortfallRule):
    code = "KL746"
    name = "grid-for-another-block"
    severity = "error"
    any_size = True
    summary = "the grid counts tiles of another size than the kernel steps by"
    what_it_does = """
        Computes how far the masked index of the kernel gets over the whole grid, for each autotune configuration, and
        finds grids of `cdiv(n, T)` programs whose kernel steps by a smaller tile, so that it stops short of n:
        an error where it does so under every configuration, else a warning.
        """
    why = """
        Elements behind the last tile are never computed: the output keeps what was there before. The autotuner may
        even prefer the small tile, since it does less work.
        """
    when_not = "Kernels that loop over further tiles (persistent, grid-stride), which are followed."
    fix_safety = """
        Unsafe, as a part of the elements may be left out on purpose: the grid divides by the tile that the kernel steps by,
        of an autotuned kernel by that of the configuration (`lambda meta: ...`). Refused where several constexprs have the
        size of the tile.
        """
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) leaves elements untouched. Pattern row BUG-017. No gain:
        wrong results have no speed.
        """
    references = (
        "https://github.com/intel/intel-xpu-backend-for-triton/issues/7776",
        "https://github.com/NVIDIA/TransformerEngine/issues/2975",
        "https://github.com/pytorch/pytorch/issues/136550",
    )

    bad = """
        @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"])
        @triton.jit
        def k(x, o, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(o + a, tl.load(x + a, mask=a < n, other=0.0) + 1.0, mask=a < n)
        def run(x, o):
            k[(triton.cdiv(x.numel(), 64),)](x, o, x.numel())
        """
    good = bad.replace("(triton.cdiv(x.numel(), 64", 'lambda meta: (triton.cdiv(x.numel(), meta["B"]')

    def is_ours(self, short: Shortfall) -> bool:
        """Whether the grid follows the size, with a tile of its own."""
        counted = [rounded_up(extent) for extent in short.launch.grid]
        return short.from_programs and any(pair is not None and pair[0] == short.bound for pair in counted)

    def message(self, short: Shortfall) -> str:
        reached = f"only {short.reached} of {short.needed} are reached{short.where}"
        return f"the grid does not cover the kernel's index: {reached}"
