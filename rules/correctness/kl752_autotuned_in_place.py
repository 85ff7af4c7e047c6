"""KL752."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.bounds import followed
from kernlint.rules.correctness.sharing import partners
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Span
from kernlint.workload.kernel import Load, Store


@dataclass(frozen=True)
class Restored(Repair):
    """The program whose autotuner at ``tuner`` restores ``parameter`` between its runs."""

    tuner: Span
    parameter: str


class AutotunedInPlace(Rule):
    code = "KL752"
    name = "autotuned-in-place"
    category = "correctness"
    severity = "error"
    summary = "an autotuned kernel updates a buffer in place, and tuning runs it many times"
    bare = True
    what_it_does = """
        Finds autotuned kernels with more than one configuration that store to a buffer a value computed from what
        they load from it (the same parameter, or the same tensor passed twice), where neither `restore_value` nor a
        hook puts it back.
        """
    why = """
        The autotuner runs each configuration many times on the real arguments. Each run updates the buffer again, so
        the first call with a new key returns a wrong result, and leaves no trace.
        """
    when_not = """
        A single configuration, which is not timed. Stores that do not depend on what was loaded, or put it back as it was
        where they do not replace it (`tl.where(mask, value, x)`). Buffers listed in `reset_to_zero`.
        """
    fix_safety = "Safe: the parameter joins `restore_value`; it costs a copy while tuning only."
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-023. No gain: wrong results
        have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/6547",
        "https://github.com/triton-lang/triton/issues/781",
        "https://github.com/triton-lang/triton/issues/2549",
    )

    bad = """
        import torch
        import triton
        import triton.language as tl


        @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"])
        @triton.jit
        def k(x, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            m = a < n
            tl.store(x + a, tl.load(x + a, mask=m, other=0.0) * 0.5, mask=m)
        def run(x):
            k[lambda M: (triton.cdiv(x.numel(), M["B"]),)](x, x.numel())
        """
    good = """
        import torch
        import triton
        import triton.language as tl


        @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"], restore_value=["x"])
        @triton.jit
        def k(x, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            m = a < n
            tl.store(x + a, tl.load(x + a, mask=m, other=0.0) * 0.5, mask=m)
        def run(x):
            k[lambda M: (triton.cdiv(x.numel(), M["B"]),)](x, x.numel())
        """

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            tuning = launch.tuning
            if tuning is None or tuning.hooked or tuning.configurations == 1:
                continue
            places = sites(launch.kernel)
            loads = {s.access.id: s.node for s in places if isinstance(s.node, Load)}
            for site in places:
                store = site.node
                if not isinstance(store, Store) or not store.base:
                    continue
                same = partners(launch, store.base)
                if same & (tuning.restored | tuning.zeroed) or (launch.kernel.name, store.base) in seen:
                    continue
                # What the program stored itself before it loads it is no state that a further run would update again.
                first = min(
                    (i for i, s in enumerate(places) if isinstance(s.node, Store) and s.access.base in same), default=0
                )
                earlier = {s.access.id for s in places[:first]}
                read = [loads[i] for i in sorted(store.depends & earlier) if i in loads and loads[i].base in same]
                # Elements that are only read may be others than those that are written.
                read = [load for load in read if load.offset is None or load.offset == store.offset]
                read = [load for load in read if load.offset is None or load.id not in store.kept]
                if not read:
                    continue
                seen.add((launch.kernel.name, store.base))
                yield Finding(
                    self,
                    # A flag that is only assumed may keep the store out of the program.
                    self.severity if followed(launch) else "info",
                    f"autotuning runs this in-place update of `{store.base}` many times: it is not in restore_value",
                    store.span,
                    launch.kernel.name,
                    launch.kernel.name,
                    (
                        Evidence(f"what is stored depends on this load of `{read[0].base}`", read[0].span),
                        Evidence("the autotuner times several configurations on the real buffers", tuning.span),
                    ),
                    mending(
                        context,
                        Restored(tuning.span, store.base),
                        f"autotuning updates `{store.base}` in place many times",
                        f'Add "{store.base}" to `restore_value` of the autotuner.',
                    ),
                )
