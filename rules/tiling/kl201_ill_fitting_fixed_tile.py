from __future__ import annotations

from collections.abc import Iterable

from kernlint.operators.product_tiles import TileChoice, TileNames
from kernlint.operators.retile import RETILE, Tiled, product, stages_for
from kernlint.records import replace
from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.counterparts import launches_at
from kernlint.rules.proofs.dot_tiles import Tile, current_tile
from kernlint.rules.proofs.pricing import LEAST_GAIN
from kernlint.rules.tiling.other_sizes import Call, scaled_calls
from kernlint.rules.tiling.tuned_tiles import Tuned, autotune_words, tuned_tiles
from kernlint.work import OutOfWork
from kernlint.workload import Dot, Launch

#: How much less the whole call must take with a tile for each of several launches than with one for all.
_WORTH_TUNING = 0.95
#: Configurations where the user asked for an autotuner, if so many are near the best.
_ASKED_FOR = 4


class IllFittingFixedTile(Rule):
    code = "KL201"
    name = "ill-fitting-fixed-tile"
    operator = "retile"
    tuning = True
    summary = "a matmul kernel is launched with one hard-coded tile that fits neither device nor problem"
    what_it_does = """
        Finds matmul-like kernels (one `tl.dot` in a loop) that are launched with constant tile sizes and no
        autotuning, where another tile is predicted to run faster on this device for these sizes.
        """
    why = """
        A tile reads BLOCK_M + BLOCK_N values per BLOCK_M x BLOCK_N results and K-step, so a small one asks several
        times more of the L2 and issues smaller tensor-core instructions (Hopper's wgmma needs 64 rows and four warps).
        A large one leaves most SMs idle when the problem has few tiles.
        """
    when_not = "Autotuned kernels. Tiles bound to the problem (a head dimension). Kernels with several dots, such as attention."
    fix_safety = """
        Safe for a named device where every access is proven to touch the same elements with the new tile, and where the host
        makes and passes the same: the same sums in blocks of another size; the order of a K sum changes with BLOCK_K. A tile
        that something else depends on, such as a scale for each group of K that a step reads once, stays; one that is too large
        for wider elements, which the program takes as well, asks for consent.
        """
    evidence = """
        H100, fp16 at 2048^3: tile 32x32x32 with 4 warps 133 us, 128x128x64 with 8 warps 29 us
        (`calibration/facts/h100-gemm.csv`). int8 at M=128, N=K=2048: 64x64x32 13.1 us, 64x32x128 5.2 us
        (`h100-seed.txt`). Pattern rows PERF-011, PERF-012.
        """

    bad = MATMUL
    good = bad.replace(
        "@triton.jit",
        """TILES = [(128, 128, 8), (64, 128, 4), (64, 64, 4)]

        @triton.autotune([triton.Config({"BM": m, "BN": n, "BK": 64}, num_warps=w) for m, n, w in TILES], key=["N", "K"])
        @triton.jit""",
    )
    launch = (
        'grid = lambda meta: (4096 // meta["BM"], 4096 // meta["BN"])\n'
        "                matmul[grid](a, b, c, 4096, 4096, BM=16, BN=16, BK=32)"
    )
    good_launch = (
        'grid = lambda meta: (4096 // meta["BM"], 4096 // meta["BN"])\n'
        "                matmul[grid](a, b, c, 4096, 4096)"
    )
    takes, makes = "a, b", "c = torch.empty(4096, 4096, device=a.device, dtype=torch.float16)"
    inputs = "torch.randn(4096, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)"
    example = "matmul[grid](a, b, c, N, K, BM=16, BN=16, BK=32)"
    use_instead = "matmul[grid](a, b, c, N, K, BM=128, BN=128, BK=64, num_warps=8)  # or autotune"

    def check(self, context: Context) -> Iterable[Finding]:
        #: What an autotuner would gain at a place, by the place and the tile there.
        tunable: dict[object, Tuned | None] = {}
        for site in RETILE.sites(context):
            found = product(context, site.launch) if site.launch.programs is not None else None
            if not isinstance(found, Tiled):
                continue
            launch, dot = found.launch, found.dot
            choice = TileChoice(context, launch, dot, found.names, stages_for(launch), form=found.form)
            best = choice.best()
            before = context.gpu_us(context.variant)
            if best is None or before is None:
                continue
            tile, variant, choice = best.tile, best.variant, replace(choice, names=best.names)
            after = context.gpu_us(variant)
            old = current_tile(launch, dot)
            if after is None:
                continue
            better = after < before and (tile.m, tile.n, tile.k) != (old.m, old.n, old.k)
            enough: OutOfWork | None = None
            try:
                tuned = _tuned(choice, after, tunable) if better or context.autotune else None
            except OutOfWork as error:  # one tile is something, too
                tuned, enough = None, error
            if not better and (tuned is None or max(tuned.gains) < LEAST_GAIN):
                continue
            why = _why(context, launch, dot) if better else (
                f"The fixed tile {dot.m}x{dot.n}x{dot.k} suits these sizes, but not larger or smaller ones."
            )  # fmt: skip
            if tuned is not None:
                change = Change(tuned.variant, why, *autotune_words(launch, tuned))
            else:
                change = Change(variant, why, *_words(launch, best.names, tile))
            grid = " x ".join(map(str, launch.grid))
            yield self.finding(
                f"`{launch.kernel.name}` runs with the fixed tile {old}",
                launch.span,
                launch.kernel.name,
                (Evidence(f"grid {grid} = {launch.programs} programs of tile {dot.m}x{dot.n}x{dot.k}", launch.span),),
                change,
            )
            if enough is not None:
                raise enough


def _why(context: Context, launch: Launch, dot: Dot) -> str:
    """What holds the launch back with the tile of ``dot``."""
    tile, programs, sms = f"The fixed tile {dot.m}x{dot.n}x{dot.k}", launch.programs, context.device.sm_count
    if programs is not None and programs < sms:
        return (
            f"{tile} gives {programs} programs for {sms} SMs, so part of the device idles while few programs walk the "
            "whole K loop."
        )
    return (
        f"{tile} loads {dot.m + dot.n} values per K-step for {dot.m * dot.n} results and keeps the tensor cores waiting for "
        "operands."
    )


def _words(launch: Launch, names: TileNames, tile: Tile) -> tuple[str, str]:
    """(method, plan) of a change to one tile."""
    return (
        f"Launch `{launch.kernel.name}` with the tile {tile}.",
        f"Set {names.settings(tile)} at line {launch.span.line}, or autotune over tiles near it with the sizes as key.",
    )


def _tuned(choice: TileChoice, fixed_us: float, known: dict[object, Tuned | None]) -> Tuned | None:
    """The tile left to the autotuner: where the user wants it so, or where the place launches at several sizes and no one
    tile (``fixed_us`` is the time of the call with the best) suits them all."""
    context, launch, dot = choice.context, choice.launch, choice.dot
    several = len(launches_at(context.workload, launch.span)) > 1
    if not context.autotune and not several:
        return None
    # All launches of a place are looked at for each of them.
    place, types = (launch.span, launch.kernel.name_span, dot.span), (dot.a.dtype, dot.b.dtype)
    key = place, current_tile(launch, dot), types, choice.names, choice.stages
    if key not in known or context.autotune:
        calls = [Call(one) for one in (scaled_calls(context, launch) if context.autotune else [context])]
        count = _ASKED_FOR if context.autotune else 2
        known[key] = tuned_tiles(choice, calls, count)
    tuned = known[key]
    if tuned is None or len(tuned.tiles) < 2 or context.autotune:
        return tuned if tuned is not None and len(tuned.tiles) > 1 else None
    after = context.gpu_us(tuned.variant)
    return tuned if after is not None and after < _WORTH_TUNING * fixed_us else None
