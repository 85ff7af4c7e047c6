from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.bounds import followed
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.proofs.whole_tiles import whole_tiles
from kernlint.workload.access import Access, Load
from kernlint.workload.expr import Expr, Lane, LoopIndex
from kernlint.workload.kernel import Coarse


class GroupOfTheFirstLane(Rule):
    code = "KL797"
    name = "group-of-the-first-lane"
    severity = "error"
    summary = "a tile spans several groups, but the value of the first group only is loaded for it"
    what_it_does = """
        Finds loops that walk an axis in tiles of `BLOCK_K` and load one scale for each tile at `k // GROUP`, where the tile is
        several groups long: the scales of the groups between are never read.
        """
    why = """
        Three of four groups (for a tile of 128 and groups of 32) are scaled by their neighbour's value: a wrong result that no
        shape check sees.
        """
    when_not = """
        Loads that span the groups of a tile with lanes of their own, and quotients that some load spans so. Kernels whose tile
        and group size no launch fixes.
        """
    fix_safety = "No automatic fix: a smaller tile is correct but slower than one scale for each row of the tile."
    evidence = """
        A rebuilt report of a serving engine: relative error 0.70 with a tile of 128 over groups of 32, none with a tile of 32
        (measured on an H100).
        """
    references = ("https://github.com/vllm-project/vllm/pull/39705",)

    bad = """
        @triton.jit
        def matmul(a, b, s, c, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            n = tl.program_id(1) * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for k0 in range(0, K, BK):
                k = k0 + tl.arange(0, BK)
                x = tl.load(a + m[:, None] * K + k[None, :])
                w = tl.load(b + k[:, None] * N + n[None, :])
                scale = tl.load(s + (k0 // GROUP) * N + n)
                acc = tl.dot(x, w * scale[None, :], acc)
            tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))
        """
    launch = "matmul[(16, 16)](a, b, s, c, 1024, 4096, GROUP=32, BM=64, BN=64, BK=128)"
    good_launch = "matmul[(16, 16)](a, b, s, c, 1024, 4096, GROUP=32, BM=64, BN=64, BK=32)"
    takes = "a, b, s"
    makes = "c = torch.empty(1024, 1024, device=a.device, dtype=torch.float16)"
    inputs = "*(torch.randn(*size, dtype=torch.float16) for size in ((1024, 4096), (4096, 1024), (128, 1024)))"
    example = "scale = tl.load(s + (k0 // GROUP) * N + n)  # GROUP=32, BK=128"
    use_instead = "scale = tl.load(s + (k0 // GROUP) * N + n)  # GROUP=32, BK=32"

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.workload.distinct_launches():
            seen = set()
            for one in launch.configurations:
                if not one.kernel.coarse or not followed(one):
                    continue
                loads = [site.access for site in sites(one.kernel, Load)]
                for coarse in one.kernel.coarse:
                    if any(_is_walked(t, coarse, coarse.step // coarse.divisor) for t in loads):
                        continue  # the quotients between are some load's lanes: what else moves as fast may be no quotient
                    for access in loads:
                        if access.span in seen or not _is_picked(access, coarse):
                            continue
                        if any(t.base == access.base and t.offset != access.offset for t in loads):
                            continue  # the other groups are read one by one
                        tile = next((t for t in loads if t is not access and _is_walked(t, coarse, coarse.step)), None)
                        if tile is None:
                            continue
                        seen.add(access.span)
                        yield self.finding(
                            f"a tile of {coarse.step} spans {coarse.step // coarse.divisor} groups of {coarse.divisor}; "
                            f"`{access.base}` is read for the first of them only",
                            access.span,
                            one.kernel.name,
                            (
                                Evidence(
                                    f"the index moves by {coarse.step} and is divided by {coarse.divisor}", coarse.span
                                ),
                                Evidence(
                                    f"`{tile.base}` is read in tiles of {coarse.step} along that index", tile.span
                                ),
                            ),
                        )


def _is_picked(access: Access, coarse: Coarse) -> bool:
    """Whether ``access`` moves with the quotient, and no lane of it reaches the quotients between."""
    if access.offset is None or access.checked:
        return False
    groups = coarse.step // coarse.divisor
    factor = access.offset.coefficient(LoopIndex(coarse.loop))
    if factor is None or not factor.terms or any(count % groups for count in factor.terms.values()):
        return False
    if any(isinstance(atom, LoopIndex) and atom.loop != coarse.loop for atom in access.offset.atoms()):
        return False  # an inner loop may go through the groups
    stride = Expr({term: count // groups for term, count in factor.terms.items()})
    if any(True for _ in whole_tiles(access, LoopIndex(coarse.loop))):
        return False
    return not any(
        extent >= groups and access.offset.coefficient(Lane(dim)) == stride for dim, extent in enumerate(access.shape)
    )


def _is_walked(access: Access, coarse: Coarse, tile: int) -> bool:
    """Whether ``access`` reads with its lanes the ``tile`` elements by which one iteration moves it on."""
    return any(access.shape[dim] == tile for dim in whole_tiles(access, LoopIndex(coarse.loop)))
