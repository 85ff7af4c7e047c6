from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.dot_tiles import setting
from kernlint.rules.proofs.pricing import best_gain
from kernlint.workload import Dot, Launch, Load

#: Registers of a thread on every NVIDIA GPU; a loaded tile that takes them all leaves none for anything else.
_REGISTERS = 255
_WARPS = (4, 8, 16, 32)


class OversizedTile(Rule):
    code = "KL218"
    name = "oversized-tile"
    tuning = True
    summary = "a loaded tile alone takes more registers than the threads of a program have"
    what_it_does = """
        Finds loads of a tile that, spread over the threads of the program, needs at least 255 registers of each, in kernels without
        a `tl.dot` and without autotune.
        """
    why = "What does not fit the registers goes to local memory, which is device memory behind the L1: the tile is written and read again."
    when_not = "Operands of a dot, which go to shared memory (KL206 is about accumulators). AMD devices, which have more registers."
    fix_safety = "Safe: more warps or a smaller tile change the order of a sum at most."
    evidence = """
        H100, tiles that do not fit: `calibration/facts/h100-spilling.csv`. Pattern row PERF-018 (for accumulators).
        """

    bad = """
        @triton.jit
        def row_spreads(x, y, N, BM: tl.constexpr, BN: tl.constexpr):
            m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
            tile = tl.load(x + m[:, None] * N + n[None, :])
            tile -= (tl.sum(tile, axis=1) / N)[:, None]
            tl.store(y + m, tl.sum(tile * tile, axis=1))
        """
    launch = "row_spreads[(x.shape[0] // 128,)](x, y, 512, BM=128, BN=512, num_warps=4)"
    good_launch = "row_spreads[(x.shape[0] // 8,)](x, y, 512, BM=8, BN=512, num_warps=4)"
    makes = "y = torch.empty(x.shape[0], device=x.device)"
    inputs = "torch.randn(131072, 512)"
    example = "kernel[grid](..., BM=128, BN=512, num_warps=4)  # 65,536 values for 128 threads"
    use_instead = "kernel[grid](..., BM=8, BN=512, num_warps=4)"

    def check(self, context: Context) -> Iterable[Finding]:
        if not context.device.is_nvidia:
            return
        seen = set()
        for launch in context.distinct_launches():
            load = _largest(launch)
            threads = context.device.warp_size_threads * launch.num_warps
            if load is None or launch.autotuned or launch.span in seen or launch.kernel.has(Dot):
                continue
            needed = _registers(load, threads)
            if needed < _REGISTERS or launch.kernel.assumed:
                continue
            warps = [w for w in _WARPS if w > launch.num_warps]
            variants = {context.variant.then(setting(launch, {"num_warps": count})): count for count in warps}
            best = best_gain(context, variants)
            if best is None:
                continue
            seen.add(launch.span)
            kernel, count = launch.kernel.name, variants[best]
            tile = "x".join(map(str, load.shape))
            yield self.finding(
                f"the {tile} tile that `{kernel}` loads needs {needed:.0f} registers per thread and spills",
                launch.span,
                kernel,
                (
                    Evidence(f"a {tile} tile of {load.dtype} from `{load.base}`", load.span),
                    Evidence(
                        f"launched with num_warps={launch.num_warps}, {threads} threads of {_REGISTERS} registers",
                        launch.span,
                    ),
                ),
                Change(
                    best,
                    f"The {tile} tile takes {needed:.0f} registers of each of {threads} threads, which have {_REGISTERS}: it lives in "
                    "local memory.",
                    f"Launch with num_warps={count}, or take a smaller tile in a loop.",
                    f"Set num_warps={count} at line {launch.span.line}, or cut the tile so that a thread holds at most 64 values of it.",
                ),
            )


def _largest(launch: Launch) -> Load | None:
    return max(launch.kernel.loads(), key=lambda load: load.elements, default=None)


def _registers(load: Load, threads: int) -> float:
    """32-bit registers per thread for the tile, which is computed with in at least 32 bits."""
    return load.elements * max(1.0, load.dtype.bits / 32) / threads
