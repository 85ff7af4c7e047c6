from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import is_hooked, written_before
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Span
from kernlint.workload.access import Atomic


@dataclass(frozen=True)
class ZeroedBefore(Repair):
    """The program that zeroes the buffer given as ``parameter`` before the ``launch``."""

    launch: Span
    parameter: str


class ZeroedWhileTuningOnly(Rule):
    code = "KL753"
    name = "zeroed-while-tuning-only"
    severity = "error"
    at_any_size = True
    summary = "an accumulator relies on reset_to_zero, which only runs while tuning"
    what_it_does = """
        Finds buffers in the `reset_to_zero` of an autotuned kernel that adds to them with atomics, where nothing
        before the launch zeroes them: an error for `torch.empty`, a remark for an argument, which callers may zero.
        """
    why = """
        `reset_to_zero` acts between the runs of the autotuner. Once the configuration is cached, the kernel adds to
        whatever the buffer holds.
        """
    when_not = "Hooks on the configurations, which run on every call. Callers that zero the buffer."
    fix_safety = """
        A buffer that the call allocates becomes a `torch.zeros`, which is safe. One that the caller passes is set to
        zero before the launch, which is unsafe: it loses what it held.
        """
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-024. No gain: wrong results
        have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/7181",
        "https://github.com/triton-lang/triton/issues/2183",
    )

    bad = """
        @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"], reset_to_zero=["y"])
        @triton.jit
        def k(x, y, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.atomic_add(y, tl.sum(tl.load(x + a, mask=a < n, other=0.0), axis=0))
        def run(x, y):
            k[lambda M: (triton.cdiv(x.numel(), M["B"]),)](x, y, x.numel())
            return y
        """
    good = bad.replace("def run(x, y):", "def run(x, y):\n            y.zero_()")

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in context.workload.launches():
            tuning = launch.tuning
            if tuning is None or is_hooked(launch, context.program.kernel):
                continue
            for site in sites(launch.kernel, Atomic):
                base = site.access.base
                tensor = launch.tensor(base)
                if base not in tuning.zeroed or tensor is None or written_before(context.workload, launch, tensor):
                    continue
                if tensor.storage.origin not in ("empty", "input"):
                    continue
                yield self.finding(
                    f"`{tensor.name or base}` is only zeroed while tuning: later calls add to what it holds",
                    launch.span,
                    launch.function,
                    (
                        Evidence(f"the kernel adds to `{base}` with atomics", site.access.span),
                        Evidence("reset_to_zero runs between the runs of the autotuner only", tuning.span),
                    ),
                    mending(
                        context,
                        ZeroedBefore(launch.span, base),
                        f"`{tensor.name or base}` is only zeroed while tuning",
                        "Zero the buffer before each launch: allocate it with `torch.zeros`, or call `zero_()`.",
                    ),
                    doubts=doubted(tensor.storage.origin == "input", "callers may zero it"),
                    kernel=launch.kernel.name,
                )
                break
