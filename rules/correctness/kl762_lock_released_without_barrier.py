from __future__ import annotations

from collections.abc import Iterable

from kernlint.interpret.api import Target
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.workload import Loop
from kernlint.workload.access import Atomic, Store

#: The first release that puts a barrier before an atomic with release semantics, as those without `sem=` have.
_WAITS_BY_ITSELF = (3, 9)


class LockReleasedWithoutBarrier(Rule):
    code = "KL762"
    name = "lock-released-without-barrier"
    summary = "a spin lock is released before the stores of the program are known to be done"
    bare = True
    at_any_size = True
    what_it_does = """
        Finds a `while` loop that spins on an atomic, followed by stores and by an atomic on the same address that
        releases the lock, with no `tl.debug_barrier()` between the last store and the release. Triton 3.9 puts a barrier
        before an atomic with release semantics itself, so that only `sem="relaxed"` and `sem="acquire"` are more than a remark there.
        """
    why = """
        One thread releases the lock while others have not stored yet: the next program reads stale values. A spin
        lock also needs all programs that it waits for to be resident.
        """
    when_not = "Locks around values that the releasing atomic itself carries."
    fix_safety = "No automatic fix: put `tl.debug_barrier()` before the release."
    evidence = """
        Compiled for sm_90 by Triton 3.9: `bar.sync` stands before the exchange with `sem` acq_rel or release, not with
        relaxed or acquire; Triton 3.8 has none. Not run: it needs concurrent programs on a GPU. Triton's own layer-norm tutorial has the
        barrier. Pattern row BUG-034. No gain: wrong results have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/7125",
        "https://github.com/triton-lang/triton/issues/1452",
        "https://github.com/triton-lang/triton/issues/10594",
    )

    bad = """
        @triton.jit
        def k(lock, acc, x, B: tl.constexpr):
            v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
            while tl.atomic_cas(lock, 0, 1) == 1:
                pass
            c = tl.arange(0, B)
            tl.store(acc + c, tl.load(acc + c) + v)
            tl.atomic_xchg(lock, 0)
        """
    good = bad.replace(
        "tl.store(acc + c, tl.load(acc + c) + v)",
        "tl.store(acc + c, tl.load(acc + c) + v)\n            tl.debug_barrier()",
    )

    def check(self, context: Context) -> Iterable[Finding]:
        target = context.program.question.target or Target(named=False)
        for launch in context.workload.launches():
            places = sites(launch.kernel)
            spins = [
                s
                for s in places
                if isinstance(s.node, Atomic) and s.loops and s.loops[-1].kind == "while" and _only_waits(s.loops[-1])
            ]
            for spin in spins:
                after = places[places.index(spin) + 1 :]
                release = next((s for s in after if isinstance(s.node, Atomic) and s.access.base == spin.access.base
                                and s.access.offset == spin.access.offset and s.loops == spin.loops[:-1]), None)  # fmt: skip
                if release is None or release.access.span.file != context.program.kernel.path:
                    continue  # what a function of another file does is reported there
                releases = isinstance(release.node, Atomic) and release.node.releases
                waits = releases and target.version >= _WAITS_BY_ITSELF
                if waits and target.named:
                    continue
                until = ", and Triton puts none there before 3.9" if releases else ""
                stores = [s for s in after[: after.index(release)] if isinstance(s.node, Store)]
                if stores and stores[-1].access.barriers == release.access.barriers:
                    yield self.finding(
                        f"the lock `{spin.access.base}` is released with no barrier after the stores that it protects"
                        f"{until}",
                        release.access.span,
                        launch.kernel.name,
                        (
                            Evidence("the lock is taken here", spin.access.span),
                            Evidence("the last store under it", stores[-1].access.span),
                        ),
                        doubts=doubted(waits, "Triton 3.9 puts a barrier there"),
                    )
                    break


def _only_waits(loop: Loop) -> bool:
    """Whether ``loop`` goes round until another program lets go, and does no work meanwhile."""
    return not any(isinstance(node, Store) for node in loop.body)
