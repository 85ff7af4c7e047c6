from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.launch.sizes import sizes_in_keys
from kernlint.rules.proofs.iteration_domain import extents_of


class UnbucketedAutotuneKey(Rule):
    code = "KL757"
    name = "unbucketed-autotune-key"
    severity = "info"
    summary = "the autotune key holds a size that may change on every call"
    default = False
    what_it_does = """
        Finds autotune keys whose launch argument is an extent of an input tensor as it is, not rounded to a bucket.
        """
    why = "Every new value tunes again: seconds of stall each time the number of tokens changes."
    when_not = """
        Off by default: training with fixed shapes. Values rounded with `triton.next_power_of_2` or `triton.cdiv`.
        """
    fix_safety = "No automatic fix: round the value, or drop it from the key."
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-029. No gain: wrong results
        have no speed.
        """
    references = (
        "https://github.com/fangwei123456/spikingjelly/issues/690",
        "https://github.com/vllm-project/vllm/issues/45631",
    )

    bad = """
        @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=["T"])
        @triton.jit
        def k(x, T, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(x + a, 1.0, mask=a < T)
        def run(x):
            k[lambda M: (triton.cdiv(x.shape[0], M["B"]),)](x, x.shape[0])
        """
    good = (
        bad.replace('"T"]', '"TB"]')
        .replace("k(x, T,", "k(x, T, TB,")
        .replace("x, x.shape[0])", "x, x.shape[0], triton.next_power_of_2(x.shape[0]))")
    )

    def check(self, context: Context) -> Iterable[Finding]:
        for launch, tuning, name, value in sizes_in_keys(context):
            if len(value.atoms()) == 1 and extents_of(value):
                yield self.finding(
                    f"`{name}` in the autotune key is {value}: each new value tunes again",
                    tuning.span,
                    launch.kernel.name,
                    (Evidence(f"`{name}` is {value} here", launch.span),),
                )
