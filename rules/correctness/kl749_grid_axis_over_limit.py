from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.workload.expr import concrete


class GridAxisOverLimit(Rule):
    code = "KL749"
    name = "grid-axis-over-limit"
    severity = "error"
    refused = True
    summary = "the second or third grid extent is larger than CUDA allows"
    what_it_does = "Finds launches whose grid extent 1 or 2 is more than 65535 at the sizes in view."
    why = "The launch fails with an invalid argument."
    when_not = "AMD devices, which allow more."
    fix_safety = "No automatic fix: make the axis program id 0, or fold it into axis 0."
    evidence = """
        The limit is CUDA's (programming guide, technical specifications per compute capability). Pattern row BUG-019.
        No gain: wrong results have no speed.
        """
    references = (
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications-technical-specifications-per-compute-capability",
    )

    bad = """
        @triton.jit
        def k(x, o, D: tl.constexpr):
            bh = tl.program_id(1)
            c = tl.arange(0, D)
            tl.store(o + bh * D + c, tl.load(x + bh * D + c))
        """
    good = bad.replace("tl.program_id(1", "tl.program_id(0")
    launch, good_launch = "k[(1, x.shape[0])](x, o, D=64)", "k[(x.shape[0],)](x, o, D=64)"
    makes = "o = torch.empty_like(x)"
    inputs = "torch.randn(100000, 64)"

    def check(self, context: Context) -> Iterable[Finding]:
        if context.device.vendor != "nvidia":
            return
        for launch in context.workload.launches():
            for axis, extent in enumerate(launch.grid[1:], 1):
                number = concrete(extent)
                if number is not None and number > 65535:
                    yield self.finding(
                        f"grid extent {axis} is {number} at these sizes, more than the 65535 that CUDA allows",
                        launch.span,
                        launch.function,
                        (Evidence(f"the grid is ({', '.join(map(str, launch.grid))})", launch.span),),
                        kernel=launch.kernel.name,
                    )
