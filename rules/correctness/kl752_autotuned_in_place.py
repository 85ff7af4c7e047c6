from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.sharing import is_hooked, partners
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.bounds import followed_or_open
from kernlint.rules.proofs.iteration_domain import extents_of, sites, symbols_of
from kernlint.rules.proofs.readings import found_however_read
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Launch, Span, Tuning
from kernlint.workload.access import Atomic, Load, Store


@dataclass(frozen=True)
class Restored(Repair):
    """The program whose autotuner at ``tuner`` restores ``parameter`` between its runs."""

    tuner: Span
    parameter: str


class AutotunedInPlace(Rule):
    code = "KL752"
    name = "autotuned-in-place"
    severity = "error"
    at_any_size = True
    summary = "an autotuned kernel updates a buffer in place, and tuning runs it many times"
    bare = True
    what_it_does = """
        Finds autotuned kernels with more than one configuration that store to a buffer a value computed from what
        they load from it (the same parameter, or the same tensor passed twice), or add to floats there with atomics, where neither
        `restore_value` nor `reset_to_zero` nor a hook puts it back.
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
        @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"])
        @triton.jit
        def k(x, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            m = a < n
            tl.store(x + a, tl.load(x + a, mask=m, other=0.0) * 0.5, mask=m)
        def run(x):
            k[lambda M: (triton.cdiv(x.numel(), M["B"]),)](x, x.numel())
        """
    good = bad.replace('"n"]', '"n"], restore_value=["x"]')

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            tuning = launch.tuning
            if tuning is None or tuning.configurations == 1 or is_hooked(launch, context.program.kernel):
                continue
            updates = _updates(launch)
            sizes = launch.open_constexprs.values()
            told = followed_or_open(launch) and symbols_of(*sizes) <= extents_of(*sizes)
            sure = found_however_read(context, launch, _updates) if told else {}
            for place, (write, read) in updates.items():
                if (launch.kernel.name, write.base) not in seen:
                    seen.add((launch.kernel.name, write.base))
                    yield self._found(context, launch, tuning, write, read, place in sure)

    def _found(
        self, context: Context, launch: Launch, tuning: Tuning, write: Store | Atomic, read: Load | None, sure: bool
    ) -> Finding:
        """``write`` updates what ``read`` loads, which it is ``sure`` to do whatever is assumed; an atomic adds to what is there."""
        what, least = (
            ("in-place update of", "it is")
            if read is not None
            else ("sum into", "the first call adds to it again, as it is")
        )
        first = (
            (Evidence(f"what is stored depends on this load of `{read.base}`", read.span),) if read is not None else ()
        )
        return self.finding(
            f"autotuning runs this {what} `{write.base}` many times: {least} not in restore_value",
            write.span,
            launch.kernel.name,
            (*first, Evidence("the autotuner times several configurations on the real buffers", tuning.span)),
            mending(
                context,
                Restored(tuning.span, write.base),
                f"autotuning updates `{write.base}` in place many times",
                f'Add "{write.base}" to `restore_value` of the autotuner.',
            ),
            doubts=doubted(not sure, "a flag whose value is assumed may keep the write out of the program"),
        )


def _updates(launch: Launch) -> dict[Span, tuple[Store | Atomic, Load | None]]:
    """The writes by place that another run of ``launch`` would make again to what it wrote, each with the load that tells; an atomic
    needs none."""
    places = sites(launch.kernel)
    loads = {s.access.id: s.node for s in places if isinstance(s.node, Load)}
    kept = launch.tuning.restored | launch.tuning.zeroed if launch.tuning is not None else frozenset()
    found: dict[Span, tuple[Store | Atomic, Load | None]] = {}
    for store in (site.node for site in places):
        if not isinstance(store, (Store, Atomic)) or not store.base:
            continue
        same = partners(launch, store.base)
        if same & kept:
            continue
        if isinstance(store, Atomic):
            if store.op == "add" and store.dtype.is_float:
                found.setdefault(store.span, (store, None))
            continue
        # What the program stored itself before it loads it is no state that a further run would update again.
        first = min((i for i, s in enumerate(places) if isinstance(s.node, Store) and s.access.base in same), default=0)
        earlier = {s.access.id for s in places[:first]}
        read = [loads[i] for i in sorted(store.depends & earlier) if i in loads and loads[i].base in same]
        # Elements that are only read may be others than those that are written.
        read = [load for load in read if load.offset is None or load.offset == store.offset]
        read = [load for load in read if load.offset is None or load.id not in store.kept]
        if read:
            found.setdefault(store.span, (store, read[0]))
    return found
