from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.workload.expr import Opaque, Symbol, lift


class UnboundedGridAxis(Rule):
    code = "KL748"
    name = "unbounded-grid-axis"
    summary = "a size that nothing bounds is the second or third extent of the grid"
    default = False
    what_it_does = """
        Finds launches whose grid extent 1 or 2, which CUDA limits to 65535, is an open size, or a product of open
        sizes, not divided into tiles.
        """
    why = "A launch with a larger extent fails with an invalid argument. Axis 0 may have 2^31 - 1 programs."
    when_not = """
        Off by default: heads, splits and the like are open too, and never that large. Sizes that are asserted.
        """
    fix_safety = """
        No automatic fix: make the axis program id 0, or fold it into axis 0; either changes the order of programs.
        """
    evidence = """
        The limit is CUDA's (programming guide, technical specifications per compute capability). Pattern row BUG-019.
        No gain: wrong results have no speed.
        """
    references = (
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications-technical-specifications-per-compute-capability",
    )

    bad = """
        @triton.jit
        def k(x, o, H, D: tl.constexpr):
            bh = tl.program_id(2)
            c = tl.arange(0, D)
            tl.store(o + bh * D + c, tl.load(x + bh * D + c))
        def run(x, o):
            B, H, D = x.shape
            k[(1, 1, B * H)](x, o, H, D=D)
        """
    good = bad.replace("tl.program_id(2", "tl.program_id(0").replace("1, 1, B * H", "B * H, 1, 1")

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.workload.launches():
            for axis, extent in enumerate(launch.grid[1:], 1):
                atoms = lift(extent).atoms()
                divided = any(isinstance(a, Opaque) and a.op in ("floordiv", "min") for a in atoms)
                unknown = any(isinstance(a, Symbol) and a.name.startswith("grid[") for a in atoms)
                bounded = any(lift(extent) == left for left, _ in context.workload.bounds)
                if atoms and not divided and not unknown and not bounded:
                    yield self.finding(
                        f"grid extent {axis} is {extent}, which nothing keeps below 65536",
                        launch.span,
                        launch.function,
                        (Evidence("CUDA allows 65535 programs along this axis", launch.span),),
                        kernel=launch.kernel.name,
                    )
