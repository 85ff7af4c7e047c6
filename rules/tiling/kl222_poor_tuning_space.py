from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from kernlint.cost.comparing import speedup
from kernlint.cost.estimate import Estimate
from kernlint.operators.operator import WhyNot
from kernlint.operators.product_tiles import TileChoice, TileNames, may_gain, tile_names
from kernlint.operators.retile import stages_for
from kernlint.records import replace
from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, Variant
from kernlint.rules.proofs.counterparts import dot_at, launches_at
from kernlint.rules.proofs.dot_tiles import Tile, main_dot
from kernlint.rules.tiling.tuned_tiles import UNSURE
from kernlint.rules.tiling.tuning_lists import (
    MoreConfigurations,
    all_followed,
    alone,
    configured,
    set_by_configurations,
    written,
)
from kernlint.workload import Dot, Launch, Span
from kernlint.workload.steps import map_launch

#: Tiles to add: the model does not know for sure which of the best few wins.
_ADDED = 3
#: How much slower than the best tile another one may be that is added with it.
_NEAR = 1.1


class PoorTuningSpace(Rule):
    code = "KL222"
    name = "poor-tuning-space"
    tuning = True
    summary = "a matmul kernel is autotuned among tiles that are all far slower than one that is not in the list"
    what_it_does = """
        Finds autotuned matmul-like kernels (one `tl.dot` in a loop) whose configurations are all followed and all predicted to
        be at least 1.3 times slower than another tile, at the given sizes on this device, with no loss within the interval of
        the prediction.
        """
    why = """
        The autotuner only finds the best of what it is offered. Among tiles of 16 or 32 the best one still loads one value for
        every 8 to 16 products and leaves Hopper's wgmma (64 rows, four warps) unused.
        """
    when_not = """
        Lists with a configuration near the best tile. Configurations that a pruning function narrows, that carry hooks, or that
        could not be followed. Products of fp32 in `ieee` precision, which run on the FMA units. Grids that do not follow the
        tile. Kernels with several dots, such as attention.
        """
    fix_safety = """
        Safe: adds up to three configurations to a list that is written out; the old ones stay, so that the autotuner still
        takes one of them where it is faster. The order of a K sum changes with BLOCK_K.
        """
    evidence = """
        H200, fp16 linear layer at 4096 x 4096 x 2048: the best of four tiles of 16 and 32 takes 4.7 times as long as the best of
        four tiles of 64 to 256 (`evals/2026-11-28-third`, case linear-autotuned-small). H100 at 2048^3: 32x32x32 133 us,
        128x128x64 29 us (`calibration/facts/h100-gemm.csv`). Pattern rows PERF-011, PERF-012.
        """

    bad = MATMUL.replace(
        "@triton.jit",
        """@triton.autotune(
            configs=[
                triton.Config({"BM": 16, "BN": 32, "BK": 32}, num_warps=1, num_stages=2),
                triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=2, num_stages=2),
            ],
            key=["N", "K"],
        )
        @triton.jit""",
    )
    good = bad.replace(
        '"BM": 32, "BN": 32, "BK": 32}, num_warps=2, num_stages=2',
        '"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=3',
    )
    launch = (
        'grid = lambda meta: (4096 // meta["BM"], 4096 // meta["BN"])\n'
        "                matmul[grid](a, b, c, 4096, 4096)"
    )
    takes, makes = "a, b", "c = torch.empty(4096, 4096, device=a.device, dtype=torch.float16)"
    inputs = "torch.randn(4096, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)"
    example = '@triton.autotune([triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=4)], key=["M", "N", "K"])'
    use_instead = 'triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=3)  # in the list too'

    def check(self, context: Context) -> Iterable[Finding]:
        old = context.estimate(context.workload)
        if old.gpu_us is None:
            return
        seen: set[Span] = set()
        for launch in context.distinct_launches():
            found = main_dot(launch)
            if launch.span in seen or found is None or not found[1] or not all_followed(launch):
                continue
            seen.add(launch.span)
            dot = found[0]
            if dot.precision == "ieee" and dot.a.dtype.bits >= 32:
                # On the FMA units, where the facts hold few large tiles; the remedy is another precision (KL104).
                continue
            stages = stages_for(max(launch.configurations, key=lambda one: one.num_stages))
            if not may_gain(context, launch, dot, stages, UNSURE):
                continue
            # Whatever a configuration says, the what-if sets for all of them at the launch.
            bare = replace(launch, literals={})
            names = tile_names(context, bare, dot)
            if not isinstance(names, TileNames) or not {names.m, names.n, names.k} <= set_by_configurations(launch):
                continue
            choice = TileChoice(context, bare, dot, names, stages).free()
            if isinstance(choice, WhyNot):
                continue
            variant, tiles = _added(choice, launch)
            after = context.after(variant) if variant is not None else None
            if variant is None or after is None:
                continue
            new = context.estimate(after)
            if new.gpu_us is None or _launches_us(old, launch) < UNSURE * _launches_us(new, launch):
                continue
            if speedup(old, new, "gpu")[1] <= 1.0:
                continue
            yield self._finding(launch, dot, tiles, variant)

    def _finding(self, launch: Launch, dot: Dot, tiles: Sequence[Tile], variant: Variant) -> Finding:
        kernel, tuning = launch.kernel.name, launch.tuning
        assert tuning is not None
        change = next(one for one in variant.transforms if isinstance(one, MoreConfigurations))
        listed = ", ".join(map(written, change.configurations))
        count = len(launch.configurations)
        dots = [dot_at(one, dot.span) or dot for one in launch.configurations]
        extents = sorted({(one.m, one.n) for one in dots}, key=lambda t: t[0] * t[1])
        tried = ", ".join(f"{m}x{n}" for m, n in extents[-4:])
        listing, lose = ("one configuration", "loses") if count == 1 else (f"{count} configurations", "all lose")
        return self.finding(
            f"`{kernel}` is tuned among {listing} that {lose} to {tiles[0]}",
            launch.span,
            kernel,
            (Evidence(f"{listing}, the largest output tiles {tried}", tuning.span),),
            Change(
                variant,
                f"The autotuner of `{kernel}` is offered {listing}, output tiles {tried} at most, that {lose} to {tiles[0]} by "
                "prediction.",
                f"Offer the autotuner of `{kernel}` the tile {tiles[0]} too.",
                f"At line {tuning.span.line} add {listed} to the configurations.",
            ),
        )


def _launches_us(estimate: Estimate, launch: Launch) -> float:
    """What the launches at the place of ``launch`` take in one call, in microseconds."""
    rows = (row for row in estimate.steps if isinstance(row.step, Launch) and row.step.span == launch.span)
    return sum(row.total_gpu_us for row in rows)


def _added(choice: TileChoice, launch: Launch) -> tuple[Variant | None, list[Tile]]:
    """The program with the best tiles in the list of ``launch``, and those tiles, the best first."""
    context, priced = choice.context, choice.priced()
    if not priced or context.variant.transforms:
        return None, []
    ranked = sorted(priced, key=lambda tile: priced[tile][0])
    chosen: dict[tuple[int, int], Tile] = {}
    for tile in ranked:
        if priced[tile][0] <= _NEAR * priced[ranked[0]][0]:
            chosen.setdefault((tile.m, tile.n), tile)
    free = (tile for tile in chosen.values() if not choice.breaks(tile))
    tiles = list(islice(free, _ADDED))
    if not tiles:
        return None, []
    kept = _best_at_hand(context, launch)
    configurations, columns = [], []
    for tile in tiles:
        found = launches_at(context.after(priced[tile][1]), launch.span)
        # The parameters beside the tile stay those of the configuration that is the fastest now.
        same = [one.configurations[kept] for one in found if kept < len(one.configurations)]
        if len(same) != len(launches_at(context.workload, launch.span)) or not same:
            return None, []
        added = configured(launch, same[0], tile.num_warps, tile.num_stages)
        if added is None:
            return None, []
        configurations.append(added)
        columns.append([replace(one, alternatives=()) for one in same])
    assert launch.tuning is not None
    change = MoreConfigurations(launch.span, launch.tuning.span, tuple(configurations), tuple(zip(*columns)))
    return context.variant.then(transform=change), tiles


def _best_at_hand(context: Context, launch: Launch) -> int:
    """The place, among all configurations of ``launch``, of the one that is predicted to be the fastest."""
    every = launch.configurations
    times = [_alone_us(context, launch.span, i) for i in range(len(every))]
    return min(range(len(every)), key=lambda i: times[i])


def _alone_us(context: Context, span: Span, place: int) -> float:
    us = context.estimate(map_launch(context.workload, span, lambda launch: alone(launch, place))).gpu_us
    return us if us is not None else float("inf")
