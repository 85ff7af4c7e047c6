from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.dot_tiles import setting
from kernlint.rules.proofs.shared_memory import kept_stages, overflowing, stages_of
from kernlint.workload import Launch


class SharedMemoryOverflow(Rule):
    code = "KL207"
    name = "shared-memory-overflow"
    severity = "error"
    refused = True
    summary = "the pipelined operand tiles exceed the shared memory of a program, so the launch fails"
    what_it_does = """
        Finds launches whose dot loop keeps more bytes of operand tiles in shared memory than one program may have on the
        device: stages times the tiles loaded in the loop (one stage less on compute capability 8.x).
        """
    why = "Triton raises `OutOfResources` when such a kernel is launched; the code has never run on this device."
    when_not = """
        Autotuned launches of which one configuration fits (the tuner drops the others). Loads under a run-time `if` in the loop,
        which Triton does not pipeline. Operands that are loaded synchronously and so not staged
        (8-bit operands that are not K-major, on Hopper). Other architectures than 8.x and 9.0.
        """
    fix_safety = "Safe: the same arithmetic with fewer tiles in flight."
    evidence = """
        Compiled: the shared memory of a pipelined dot loop is (stages - 1) x tile bytes on sm_80 and stages x tile bytes on sm_90
        (facts on Triton's code generator); limits per program in `kernlint/cost/data/devices.json`.
        """

    bad = MATMUL
    launch = "matmul[(32, 16)](a, b, c, 4096, 4096, BM=128, BN=256, BK=128, num_warps=8, num_stages=4)"
    good_launch = "matmul[(32, 16)](a, b, c, 4096, 4096, BM=128, BN=256, BK=128, num_warps=8, num_stages=2)"
    takes, makes = "a, b", "c = torch.empty(4096, 4096, device=a.device, dtype=torch.float16)"
    inputs = "torch.randn(4096, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)"
    example = "matmul[grid](a, b, c, N, K, BM=128, BN=256, BK=128, num_stages=4)"
    use_instead = "matmul[grid](a, b, c, N, K, BM=128, BN=256, BK=128, num_stages=2)"

    def check(self, context: Context) -> Iterable[Finding]:
        device = context.device
        limit = device.shared_memory_max_bytes_per_block
        for launch in context.distinct_launches():
            if launch.autotuned:
                yield from self._tuned(context, launch)
                continue
            for loop, tiles in overflowing(launch, device):
                stages, kept = stages_of(launch, loop), kept_stages(device) or 0
                size = sum(load.bytes for load in tiles)
                fitting = max(1, limit // size + kept)
                kernel = launch.kernel.name
                listed = " + ".join("x".join(map(str, load.shape)) + f" {load.dtype}" for load in tiles)
                # A loop's own num_stages stands in the kernel, where a launch option does not reach it.
                change = None if loop.num_stages is not None else Change(
                    context.variant.then(setting(launch, {"num_stages": fitting})),
                    f"{stages} stages keep {(stages - kept) * size} bytes of operand tiles in shared memory; {device.name} gives "
                    f"a program {limit}, so the launch fails.",
                    f"Launch with num_stages={fitting}, or a tile with a shorter K.",
                    f"Set num_stages={fitting} at line {launch.span.line}.",
                    priced=False,
                )  # fmt: skip
                yield self.finding(
                    f"`{kernel}` needs {(stages - kept) * size} bytes of shared memory; a program may have {limit}",
                    launch.span, kernel,
                    (
                        Evidence(f"num_stages={stages}", launch.span if loop.num_stages is None else loop.span),
                        Evidence(f"{listed} = {size} bytes per stage", tiles[0].span),
                    ),
                    change,
                )  # fmt: skip

    def _tuned(self, context: Context, launch: Launch) -> Iterator[Finding]:
        """A finding where no configuration of the tuner fits: the one that it picks then fails like the others."""
        device, limit = context.device, context.device.shared_memory_max_bytes_per_block
        if not launch.all_followed:
            return
        needs: list[tuple[int, Launch]] = []
        for one in launch.configurations:
            sizes = [
                (stages_of(one, loop) - (kept_stages(device) or 0)) * sum(load.bytes for load in tiles)
                for loop, tiles in overflowing(one, device)
            ]
            if not sizes:
                return
            needs.append((max(sizes), one))
        least, smallest = min(needs, key=lambda need: need[0])
        kernel = launch.kernel.name
        settings = ", ".join(f"{name}={value}" for name, value in smallest.constexprs.items())
        yield self.finding(
            f"`{kernel}` needs {least} bytes of shared memory or more under each of its {len(needs)} configurations; "
            f"a program may have {limit}",
            launch.span,
            kernel,
            (Evidence(f"the least is that of {settings}, num_stages={smallest.num_stages}", launch.span),),
        )
