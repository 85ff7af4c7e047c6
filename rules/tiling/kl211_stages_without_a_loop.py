from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.kernel_source import kernels_once
from kernlint.workload import Dot, Kernel, Loop


class StagesWithoutALoop(Rule):
    code = "KL211"
    name = "stages-without-a-loop"
    severity = "info"
    bare = True
    summary = "autotune tries several num_stages for a kernel that has no loop to pipeline"
    what_it_does = """
        Finds `triton.autotune` some of whose configurations differ in `num_stages` alone, on a kernel in which nothing is
        pipelined: no loop around a `tl.dot` and no `tl.range`, helpers included.
        """
    why = """
        `num_stages` says how many iterations of a loop are in flight. Without one the compiled kernels are the same, so that
        the tuner compiles and times each of them several times over.
        """
    when_not = "AMD targets, where num_stages also steers other schedules. Kernels that take num_stages as a parameter."
    fix_safety = "Safe: the compiled code does not depend on it."
    evidence = """
        No time of our own: num_stages parametrises Triton's software pipeliner, which works on loops only. The cost is tuning
        time. Pattern row PERF-017.
        """

    bad = """
        CONFIGS = [triton.Config({"BLOCK": b}, num_stages=s) for b in (512, 1024) for s in (1, 2, 3, 4)]
        """ + elementwise("double", "{} * 2.0").replace("@", '@triton.autotune(CONFIGS, key=["n"])\n        @')
    good = bad.replace(", num_stages=s)", ")").replace(" for s in (1, 2, 3, 4)", "")
    launch = 'double[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())'
    inputs = "torch.randn(1024, 1024)"
    example = 'CONFIGS = [triton.Config({"BLOCK": b}, num_stages=s) for b in (512, 1024) for s in (1, 2, 3, 4)]'
    use_instead = 'CONFIGS = [triton.Config({"BLOCK": b}) for b in (512, 1024)]'

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in kernels_once(context):
            tuning, kernel = launch.tuning, launch.kernel
            if tuning is None or "num_stages" not in tuning.repeating or not kernel.complete:
                continue
            if "num_stages" in launch.constexprs or _pipelined(kernel):
                continue
            yield self.finding(
                f"autotune varies num_stages of `{kernel.name}`, which has no loop to pipeline",
                tuning.span,
                kernel.name,
                (
                    Evidence(
                        f"{tuning.configurations or 'several'} configurations, some of which differ in num_stages alone",
                        tuning.span,
                    ),
                    Evidence("no loop around a tl.dot and no tl.range in the kernel", kernel.name_span),
                ),
                Change(
                    None,
                    f"The tuner compiles and times variants of `{kernel.name}` that are the same code.",
                    "Leave num_stages out of the configurations.",
                    f"Drop num_stages from the configurations given at line {tuning.span.line}.",
                    priced=False,
                ),
            )


def _pipelined(kernel: Kernel) -> bool:
    """Whether num_stages may matter to ``kernel``: any loop that is not a plain one, and any around a dot."""
    return any(loop.kind != "range" for loop in kernel.nodes(Loop)) or any(loops for _, loops in kernel.walk(Dot))
