from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.launch.sizes import exact, per_call_sizes, sizes_in_keys
from kernlint.rules.proofs.iteration_domain import symbols_of


class PerCallSizeInTuningKey(Rule):
    code = "KL608"
    name = "per-call-size-in-tuning-key"
    severity = "info"
    summary = "the autotune key holds an exact size of the call, so that each new size is tuned from scratch"
    what_it_does = """
        Finds `triton.autotune` keys with an argument that a launch fills with a number of rows or elements of the tensors at
        hand, not rounded to a bucket. Sizes are told by where they come from, not by their names: the first
        extent of what the kernel writes, and its number of elements.
        """
    why = """
        The tuner times all configurations again whenever a value of the key is new: seconds for each new batch size or sequence
        length, in the middle of serving.
        """
    when_not = """
        Training and inference at a few fixed shapes, where exact keys are common. Widths of the model. Results that outlive the
        process for a closed set of shapes (`cache_results`).
        """
    fix_safety = "Safe: another configuration computes the same; one bucket of sizes shares a winner."
    evidence = "No time of our own: configurations x (compilation + timing) for each new size. Pattern row PERF-014."

    bad = """
        @triton.autotune([triton.Config({"BT": b}) for b in (16, 32, 64)], key=["T", "D"])
        @triton.jit
        def norm(x, y, T, D: tl.constexpr, BT: tl.constexpr):
            t, d = tl.program_id(0) * BT + tl.arange(0, BT), tl.arange(0, D)
            o = t[:, None] * D + d[None, :]
            tl.store(y + o, tl.load(x + o, mask=t[:, None] < T), mask=t[:, None] < T)

        def run(x):
            T, D = x.shape
            y = torch.empty_like(x)
            norm[lambda meta: (triton.cdiv(T, meta["BT"]),)](x, y, T, D)
            return y
        """
    good = (
        bad.replace('key=["T", "D"]', 'key=["BUCKET", "D"]')
        .replace("x, y, T, D: tl", "x, y, T, BUCKET, D: tl")
        .replace("(x, y, T, D)", "(x, y, T, triton.next_power_of_2(T), D)")
    )
    example = '@triton.autotune(CONFIGS, key=["T", "D"])'
    use_instead = '@triton.autotune(CONFIGS, key=["T_BUCKET", "D"])  # triton.next_power_of_2(T)'

    def check(self, context: Context) -> Iterable[Finding]:
        varying = per_call_sizes(context)
        for launch, tuning, name, value in sizes_in_keys(context):
            if exact(value) and symbols_of(value) & varying:
                kernel = launch.kernel
                yield self.finding(
                    f"`{kernel.name}` is tuned again for each value of `{name}`, here {value}",
                    tuning.span,
                    kernel.name,
                    (
                        Evidence(f"the key of the tuner is {', '.join(tuning.key)}", tuning.span),
                        Evidence(f"`{name}` gets {value}", launch.span),
                    ),
                    Change(
                        None,
                        f"Every new value of `{name}` makes the tuner time all configurations of `{kernel.name}` again.",
                        "Key on a bucket of the size, such as its next power of two.",
                        f"Pass `triton.next_power_of_2` of the size as a further argument of `{kernel.name}` and put that into "
                        f"`key` at line {tuning.span.line} in the place of `{name}`.",
                        priced=False,
                    ),
                )
