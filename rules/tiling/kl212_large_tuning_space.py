from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Option, Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.kernel_source import kernels_once

#: A tuner that tries more than this many configurations takes many seconds per key.
MOST = 32


class LargeTuningSpace(Rule):
    code = "KL212"
    name = "large-tuning-space"
    severity = "info"
    bare = True
    options = (Option("most-configurations", MOST, "How many configurations are not too many.", 1),)
    summary = "autotune tries a large product of configurations, unpruned and forgotten at exit"
    what_it_does = f"""
        Counts the configurations given to `triton.autotune`, comprehensions and helper functions included, and reports more
        than {MOST} of them without `prune_configs_by` and without `cache_results=True`.
        """
    why = """
        Each configuration is compiled and then timed for every new key and in every new process: a few tenths of a second
        apiece, before the first call returns.
        """
    when_not = "Offline tuners and benchmark scripts."
    fix_safety = "Safe for results; the configurations that stay should include today's winner."
    evidence = """
        Compiling one matmul configuration takes 0.5 to 2 s (Triton 3.9, sm_90), so that 1,200 of them take most of an hour.
        Pattern row PERF-016.
        """

    bad = """
        CONFIGS = [
            triton.Config({"BLOCK": b}, num_warps=w)
            for b in (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
            for w in (1, 2, 4, 8)
        ]
        """ + elementwise("double", "{} * 2.0").replace("@", '@triton.autotune(CONFIGS, key=["n"])\n        @')
    good = bad.replace('key=["n"])', 'key=["n"], cache_results=True)')
    launch = 'double[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())'
    inputs = "torch.randn(1024, 1024)"
    example = '@triton.autotune(CONFIGS, key=["n"])  # 36 configurations'
    use_instead = (
        '@triton.autotune(CONFIGS, key=["n"], prune_configs_by={"early_config_prune": keep}, cache_results=True)'
    )

    def check(self, context: Context) -> Iterable[Finding]:
        most = context.option(self, "most-configurations")
        for launch in kernels_once(context):
            tuning, kernel = launch.tuning, launch.kernel
            count = tuning.configurations if tuning is not None else None
            if tuning is None or count is None or count <= most or tuning.pruned or tuning.kept:
                continue
            yield self.finding(
                f"autotune compiles and times {count} configurations of `{kernel.name}` for every new key",
                tuning.span,
                kernel.name,
                (Evidence(f"{count} configurations, no prune_configs_by, no cache_results", tuning.span),),
                Change(
                    None,
                    f"The first call with each key compiles and times {count} variants of `{kernel.name}`, in every process.",
                    "Prune the configurations by the sizes at hand and keep the result.",
                    f"At line {tuning.span.line} pass `prune_configs_by` (drop what overflows shared memory or exceeds the sizes) and "
                    "`cache_results=True`, or list only the few configurations that ever win.",
                    priced=False,
                ),
            )
