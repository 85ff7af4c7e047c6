from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Context, Evidence, Finding


class TooManyWarps(Rule):
    code = "KL805"
    name = "too-many-warps"
    severity = "error"
    refused = True
    summary = "num_warps that the device cannot launch, or that is no power of two"
    what_it_does = """
        Finds launches and autotune configurations whose `num_warps` is not a power of two, or makes programs of more threads
        than the device (`--device`) allows: 32 warps are 1,024 threads on NVIDIA and 2,048 on an AMD device with wavefronts
        of 64.
        """
    why = """
        The compiler refuses a count that is no power of two. Too many threads compile and fail at launch: `HIP invalid
        argument`.
        """
    when_not = "Counts that are chosen from the device's warp size at run time."
    fix_safety = """
        No automatic fix: the tile has to shrink with the number of warps, and a smaller one may be slower.
        """
    evidence = """
        Compiled on Triton 3.9: `num_warps must be a power of 2` for sm_90; num_warps=32 for gfx942 compiles ahead of time and
        fails only at launch. Pattern row BUG-074.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/4128",
        "https://github.com/triton-lang/triton/issues/6125",
    )

    bad = elementwise("kernel", "{}")
    launch = "kernel[(1,)](x, y, x.numel(), BLOCK=8192, num_warps=12)"
    good_launch = "kernel[(1,)](x, y, x.numel(), BLOCK=8192, num_warps=8)"
    inputs = "torch.randn(8192)"
    example = "kernel[grid](x, y, n, BLOCK=8192, num_warps=12)"
    use_instead = "kernel[grid](x, y, n, BLOCK=8192, num_warps=8)"

    def check(self, context: Context) -> Iterable[Finding]:
        device = context.device
        most = device.max_threads_per_block // device.warp_size_threads
        for launch in context.launches():
            for one in launch.configurations:
                warps, kernel = one.num_warps, one.kernel.name
                if warps & (warps - 1):
                    text = f"num_warps={warps} of `{kernel}` is not a power of two"
                elif warps > most:
                    threads = warps * device.warp_size_threads
                    text = f"num_warps={warps} of `{kernel}` makes {threads} threads; {device.name} allows {device.max_threads_per_block}"
                else:
                    continue
                proof = Evidence(f"num_warps={warps}", one.span)
                yield self.finding(text, one.span, one.function, (proof,), kernel=kernel)
                break
